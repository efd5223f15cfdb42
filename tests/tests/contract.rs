//! The contract in `wit/` against what was released: a component built for a
//! released version must go on working with every later one.
//!
//! Released files in `wit/released/<version>/` are never edited, and `wit/` itself is
//! the newest of them; a change there begins a version. The host serves the versions
//! with one set of types, so between them there may be new interfaces, new worlds,
//! new functions in interfaces which the host provides, new imports in a world.
//! Anything else fails here: then the host needs a form of its own for the older one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wit_parser::{
    FunctionKind, Handle, InterfaceId, Resolve, Type, TypeDefKind, TypeId, WorldItem,
};

struct Contract {
    resolve: Resolve,
}

fn read(dir: &Path) -> Contract {
    let mut resolve = Resolve::default();
    resolve
        .push_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e:?}", dir.display()));
    Contract { resolve }
}

fn wit() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
}

impl Contract {
    fn interfaces(&self) -> BTreeMap<String, InterfaceId> {
        self.resolve
            .interfaces
            .iter()
            .filter_map(|(id, i)| i.name.clone().map(|n| (n, id)))
            .collect()
    }

    /// A type as text, with the names of named types, so that two contracts can be held side by side.
    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Id(id) => self.reference(*id),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn reference(&self, id: TypeId) -> String {
        match &self.resolve.types[id].name {
            Some(name) => name.clone(),
            None => self.shape(id),
        }
    }

    fn shape(&self, id: TypeId) -> String {
        let optional = |t: &Option<Type>| t.as_ref().map_or_else(|| "_".into(), |t| self.ty(t));
        match &self.resolve.types[id].kind {
            TypeDefKind::Record(r) => r
                .fields
                .iter()
                .map(|f| format!("{}: {}", f.name, self.ty(&f.ty)))
                .collect::<Vec<_>>()
                .join(", "),
            TypeDefKind::Variant(v) => v
                .cases
                .iter()
                .map(|c| format!("{}({})", c.name, optional(&c.ty)))
                .collect::<Vec<_>>()
                .join(" | "),
            TypeDefKind::Enum(e) => e
                .cases
                .iter()
                .map(|c| c.name.clone())
                .collect::<Vec<_>>()
                .join(" | "),
            TypeDefKind::Flags(f) => f
                .flags
                .iter()
                .map(|f| f.name.clone())
                .collect::<Vec<_>>()
                .join(" + "),
            TypeDefKind::Option(t) => format!("option<{}>", self.ty(t)),
            TypeDefKind::List(t) => format!("list<{}>", self.ty(t)),
            TypeDefKind::Tuple(t) => format!(
                "tuple<{}>",
                t.types
                    .iter()
                    .map(|t| self.ty(t))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            TypeDefKind::Result(r) => format!("result<{}, {}>", optional(&r.ok), optional(&r.err)),
            TypeDefKind::Handle(Handle::Own(id)) => format!("own<{}>", self.reference(*id)),
            TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", self.reference(*id)),
            TypeDefKind::Type(t) => self.ty(t),
            TypeDefKind::Resource => "resource".into(),
            other => format!("{other:?}"),
        }
    }

    fn functions(&self, id: InterfaceId) -> BTreeMap<String, String> {
        let functions = &self.resolve.interfaces[id].functions;
        functions
            .iter()
            .map(|(name, f)| {
                let params: Vec<_> = f
                    .params
                    .iter()
                    .map(|p| format!("{}: {}", p.name, self.ty(&p.ty)))
                    .collect();
                let result = f.result.as_ref().map_or_else(|| "_".into(), |t| self.ty(t));
                let kind = if matches!(f.kind, FunctionKind::Freestanding) {
                    ""
                } else {
                    "method "
                };
                (
                    name.clone(),
                    format!("{kind}({}) -> {result}", params.join(", ")),
                )
            })
            .collect()
    }

    fn types(&self, id: InterfaceId) -> BTreeMap<String, String> {
        self.resolve.interfaces[id]
            .types
            .iter()
            .map(|(name, t)| (name.clone(), self.shape(*t)))
            .collect()
    }

    /// World by name: imports and exports, by interface name.
    fn worlds(&self) -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
        let names = |items: &mut dyn Iterator<Item = &WorldItem>| {
            items
                .filter_map(|item| match item {
                    WorldItem::Interface { id, .. } => self.resolve.interfaces[*id].name.clone(),
                    _ => None,
                })
                .collect()
        };
        self.resolve
            .worlds
            .iter()
            .map(|(_, w)| {
                (
                    w.name.clone(),
                    (
                        names(&mut w.imports.values()),
                        names(&mut w.exports.values()),
                    ),
                )
            })
            .collect()
    }
}

/// Everything in which `now` breaks what `then` promised.
fn breaks(then: &Contract, now: &Contract) -> Vec<String> {
    let mut out = Vec::new();
    let exported: BTreeSet<String> = then
        .worlds()
        .into_values()
        .flat_map(|(_, exports)| exports)
        .collect();
    let current = now.interfaces();
    for (name, old) in then.interfaces() {
        let Some(new) = current.get(&name) else {
            out.push(format!("interface {name} is gone"));
            continue;
        };
        let (old_functions, new_functions) = (then.functions(old), now.functions(*new));
        for (function, shape) in &old_functions {
            match new_functions.get(function) {
                None => out.push(format!("{name}.{function} is gone")),
                Some(other) if other != shape => {
                    out.push(format!("{name}.{function}: {shape} became {other}"))
                }
                Some(_) => {}
            }
        }
        for added in new_functions
            .keys()
            .filter(|f| exported.contains(&name) && !old_functions.contains_key(*f))
        {
            out.push(format!(
                "{name}.{added}: components built before don't export it"
            ));
        }
        let new_types = now.types(*new);
        for (ty, shape) in then.types(old) {
            match new_types.get(&ty) {
                None => out.push(format!("type {name}.{ty} is gone")),
                Some(other) if *other != shape => {
                    out.push(format!("type {name}.{ty}: {shape} became {other}"))
                }
                Some(_) => {}
            }
        }
    }
    let worlds = now.worlds();
    for (name, (imports, exports)) in then.worlds() {
        match worlds.get(&name) {
            None => out.push(format!("world {name} is gone")),
            Some((now_imports, now_exports)) => {
                out.extend(
                    imports
                        .difference(now_imports)
                        .map(|i| format!("world {name} imports {i} no more")),
                );
                if exports != *now_exports {
                    out.push(format!(
                        "world {name} exported {exports:?}, now {now_exports:?}"
                    ));
                }
            }
        }
    }
    out
}

/// SHA-256 over the files of each released version: names, lengths and bytes.
const RELEASED: [(&str, &str); 3] = [
    (
        "0.1.0",
        "029e51b65bd2b2c0dda0bc235b72512789df7580df27270c930ca6c0cb334fe7",
    ),
    (
        "0.2.0",
        "8f3ceadd79d2d63b49ead306f8dc3b3a8af876b289faec2cf457bc95f74bc193",
    ),
    (
        "0.2.1",
        "af24cf72648e40146ecdbce1da934533164347d1cd588fe78aa9906013a39177",
    ),
];

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    entries
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn what_was_released_is_never_edited() {
    let mut versions: Vec<String> = std::fs::read_dir(wit().join("released"))
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    versions.sort();
    assert_eq!(versions, RELEASED.map(|(version, _)| version));
    for (version, digest) in RELEASED {
        let mut hash = Sha256::new();
        for (name, bytes) in files(&wit().join("released").join(version)) {
            hash.update(name.as_bytes());
            hash.update([0]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        assert_eq!(
            format!("{:x}", hash.finalize()),
            digest,
            "wit/released/{version} was edited"
        );
    }
}

#[test]
fn the_contract_is_the_newest_released_one_and_served_with_the_one_before() {
    let [.., newest] = RELEASED;
    // A component of another last number is served by the newest with the same first ones.
    let track = |version: &'static str| version.rsplit_once('.').unwrap().0;
    let others = RELEASED.iter().rev();
    let previous = others
        .copied()
        .find(|it| track(it.0) != track(newest.0))
        .unwrap();
    let released = wit().join("released").join(newest.0);
    assert!(
        files(&wit()) == files(&released),
        "wit/ is not wit/released/{}: a change begins a new version",
        newest.0
    );
    assert_eq!(ralph_plugins::CONTRACT_VERSION, newest.0);
    assert_eq!(ralph_plugins::SERVED, [newest.0, previous.0]);
}

#[test]
fn no_released_contract_is_broken() {
    let now = read(&wit());
    let mut seen = 0;
    for entry in std::fs::read_dir(wit().join("released")).unwrap() {
        let dir = entry.unwrap().path();
        let broken = breaks(&read(&dir), &now);
        assert!(
            broken.is_empty(),
            "against {}:\n{}",
            dir.display(),
            broken.join("\n")
        );
        seen += 1;
    }
    assert!(seen > 0, "no released contract was found");
}

#[test]
fn each_kind_of_break_is_seen() {
    let then = read(&wit().join("released/0.1.0"));
    for (file, from, to, what) in [
        (
            "types.wit",
            "added-lines: u32",
            "added-lines: u64",
            "type types.file-change",
        ),
        (
            "types.wit",
            "enum status {\n        pass,",
            "enum status {\n        maybe, pass,",
            "type types.status",
        ),
        (
            "gate.wit",
            "check: func(it: iteration)",
            "check: func(it: iteration, more: string)",
            "gate.check",
        ),
        (
            "gate.wit",
            "check: func",
            "extra: func();\n    check: func",
            "gate.extra",
        ),
        (
            "log.wit",
            "log: func(level: level, message: string);",
            "",
            "log.log is gone",
        ),
        (
            "worlds.wit",
            "import changes;",
            "",
            "imports changes no more",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(wit().join("released/0.1.0")).unwrap() {
            let path = entry.unwrap().path();
            let mut text = std::fs::read_to_string(&path).unwrap();
            if path.ends_with(file) {
                assert!(text.contains(from), "{file} has no {from:?}");
                text = text.replacen(from, to, 1);
            }
            std::fs::write(dir.path().join(path.file_name().unwrap()), text).unwrap();
        }
        let broken = breaks(&then, &read(dir.path()));
        assert!(
            broken.iter().any(|b| b.contains(what)),
            "{what}: {broken:?}"
        );
    }
}

#[test]
fn additions_on_the_hosts_side_are_no_break() {
    let then = read(&wit().join("released/0.1.0"));
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(wit().join("released/0.1.0")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path)
            .unwrap()
            .replace("log: func(", "flush: func();\n    log: func(");
        std::fs::write(dir.path().join(path.file_name().unwrap()), text).unwrap();
    }
    assert_eq!(breaks(&then, &read(dir.path())), Vec::<String>::new());
}
