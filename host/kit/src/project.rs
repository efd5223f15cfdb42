//! A plugin's project: `plugin.toml`, or for Rust the package's `Cargo.toml`.

use std::path::{Path, PathBuf};

use ralph_engine::text::strip_escapes;
use ralph_plugins::{Grants, Kind, Manifest};
use serde::Deserialize;

use crate::error::Error;
use crate::lang::Lang;
use crate::pack;

/// By what a plugin sends requests. The oldest version, which each tool chain knows and raises to its own.
const HTTP: &str = "wasi:http/outgoing-handler@0.2.0";

/// What a project's file may have.
const FILE_MAX: u64 = 1 << 20;

/// A plugin's project.
#[derive(Debug, Clone)]
pub struct Project {
    /// Its folder.
    pub dir: PathBuf,
    /// What it is called; so is the component.
    pub name: String,
    /// What it is written in.
    pub lang: Lang,
    /// What goes into the component. `None` for Rust: its tool chain puts it there itself.
    pub manifest: Option<Manifest>,
}

/// `plugin.toml`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    version: String,
    lang: Lang,
    kinds: Vec<Kind>,
    contract: String,
    license: Option<String>,
    #[serde(default)]
    capabilities: Grants,
}

#[derive(Deserialize)]
struct Cargo {
    package: Option<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

impl Project {
    /// Reads the project in a folder.
    ///
    /// # Errors
    /// There is none, or its file can't be used.
    pub fn open(dir: &Path) -> Result<Project, Error> {
        // Without the `.` of `build .`: it is shown.
        let dir = &dir.components().collect::<PathBuf>();
        let wrong = |file: &str, why: String| {
            Error::Usage(format!("{}: {}", dir.join(file).display(), why.trim_end()))
        };
        if let Some(text) = read(&dir.join("plugin.toml"))? {
            let file: File = toml::from_str(&text)
                .map_err(|e| wrong("plugin.toml", strip_escapes(&e.to_string())))?;
            check_name(&file.name).map_err(|why| wrong("plugin.toml", why))?;
            if file.kinds.is_empty() {
                return Err(wrong("plugin.toml", "`kinds` is empty".into()));
            }
            let manifest = Manifest {
                name: file.name.clone(),
                version: file.version,
                kinds: file.kinds,
                capabilities: file.capabilities,
                contract: file.contract,
                license: file.license,
            };
            return Ok(Project {
                dir: dir.to_owned(),
                name: file.name,
                lang: file.lang,
                manifest: Some(manifest),
            });
        }
        if let Some(text) = read(&dir.join("Cargo.toml"))? {
            let cargo: Cargo = toml::from_str(&text)
                .map_err(|e| wrong("Cargo.toml", strip_escapes(&e.to_string())))?;
            let Some(package) = cargo.package else {
                return Err(wrong("Cargo.toml", "there is no [package] in it".into()));
            };
            return Ok(Project {
                dir: dir.to_owned(),
                name: package.name,
                lang: Lang::Rust,
                manifest: None,
            });
        }
        Err(Error::Usage(format!(
            "{} is no plugin's project: there is neither a plugin.toml nor a Cargo.toml in it; `ralph plugin new` makes one",
            dir.display()
        )))
    }

    /// Where its component is put.
    pub fn component(&self) -> PathBuf {
        self.dir.join(format!("{}.wasm", self.name))
    }

    /// Where its cases are.
    pub fn cases(&self) -> PathBuf {
        self.dir.join("cases")
    }
}

/// A component's file: the one that is named, or that of the project in a folder.
///
/// # Errors
/// There is none.
pub fn component(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = Project::open(path)?.component();
    if file.is_file() {
        return Ok(file);
    }
    Err(Error::Usage(format!(
        "{} isn't there yet; `ralph plugin build` makes it",
        file.display()
    )))
}

/// The contract that a project has in `wit/deps`: an older one than ours stays what its SDK speaks.
///
/// # Errors
/// It cannot be read.
pub(crate) fn contract(dir: &Path) -> Result<String, Error> {
    let path = dir.join("wit/deps/ralph-plugin/config.wit");
    let text = read(&path)?.unwrap_or_default();
    let named = text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("package ralph:plugin@")?;
        rest.strip_suffix(';')
    });
    Ok(named.unwrap_or(pack::CONTRACT).to_owned())
}

/// The world for tool chains that read one: it has to import no more than what is asked for.
pub(crate) fn world(manifest: &Manifest, contract: &str) -> String {
    let mut text = String::from(
        "// Written by `ralph plugin build` from plugin.toml.\npackage local:plugin;\n\nworld plugin {\n",
    );
    if !manifest.capabilities.http.is_empty() {
        text += &format!("    import {HTTP};\n");
    }
    let mut line = |verb: &str, interface: &str| {
        text += &format!("    {verb} ralph:plugin/{interface}@{contract};\n");
    };
    line("import", "log");
    line("import", "config");
    let asked = &manifest.capabilities;
    if asked.changes {
        line("import", "changes");
    }
    if !asked.process.is_empty() {
        line("import", "process");
    }
    if asked.state {
        line("import", "state");
    }
    if asked.notify {
        line("import", "notify");
    }
    for kind in &manifest.kinds {
        match kind {
            Kind::AgentDriver => line("import", "call"),
            Kind::Agent => line("import", "events"),
            _ => {}
        }
    }
    for kind in &manifest.kinds {
        line("export", kind.as_str());
    }
    text + "}\n"
}

/// A name is also that of a folder, a file, a package and a table in `ralph.toml`.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let first = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let rest = name
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if first && rest && name.len() <= 64 && !name.ends_with('-') && !name.contains("--") {
        return Ok(());
    }
    Err(format!(
        "{name:?} is no name for a plugin: 1 to 64 small letters, digits and single `-`, a letter first, like `small-change`"
    ))
}

/// Reads a text; `None` if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Error> {
    let bytes = match bytes(path, FILE_MAX)? {
        Some(bytes) => bytes,
        None => return Ok(None),
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| Error::Usage(format!("{} isn't UTF-8", path.display())))
}

/// Reads a file up to a size; `None` if there is none.
pub(crate) fn bytes(path: &Path, max: u64) -> Result<Option<Vec<u8>>, Error> {
    use std::io::Read;
    // Looked at before it is opened: a FIFO would hold us up, a device has no end.
    match std::fs::metadata(path) {
        Ok(kind) if kind.is_file() => {}
        Ok(_) => return Err(Error::Usage(format!("{} is no file", path.display()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    }
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut bytes = Vec::new();
    file.take(max + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Error::io(path, e))?;
    if bytes.len() as u64 > max {
        return Err(Error::Usage(format!(
            "{} is longer than {} MiB",
            path.display(),
            max >> 20
        )));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn names_that_are_none_are_refused() {
        for good in ["a", "small-change", "x9"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        let long = "a".repeat(65);
        for bad in [
            "", "9a", "-a", "a-", "a--b", "A", "a_b", "a.b", "a/b", "..", "ä", "a b", "a\n", &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_world_imports_what_is_asked_for_and_no_more() {
        let mut manifest = Manifest {
            name: "n".into(),
            version: "1".into(),
            kinds: vec![Kind::Gate],
            capabilities: Grants::default(),
            contract: "^0.2".into(),
            license: None,
        };
        assert!(!world(&manifest, "0.2.1").contains("changes"));
        assert!(world(&manifest, "0.2.0").contains("export ralph:plugin/gate@0.2.0;"));
        manifest.capabilities.changes = true;
        manifest.capabilities.process = vec!["git".into()];
        let text = world(&manifest, "0.2.1");
        assert!(text.contains("import ralph:plugin/changes@0.2.1;"));
        assert!(text.contains("import ralph:plugin/process@0.2.1;"));
        assert!(!text.contains("wasi:http"));
        manifest.capabilities.http = vec!["example.org".into()];
        assert!(world(&manifest, "0.2.1").contains("import wasi:http/outgoing-handler@0.2.0;"));
    }

    #[test]
    fn a_project_made_by_an_older_ralph_keeps_its_contract() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(contract(dir.path()).unwrap(), pack::CONTRACT);
        let deps = dir.path().join("wit/deps/ralph-plugin");
        std::fs::create_dir_all(&deps).unwrap();
        std::fs::write(
            deps.join("config.wit"),
            "/// What.\npackage ralph:plugin@0.2.0;\n",
        )
        .unwrap();
        assert_eq!(contract(dir.path()).unwrap(), "0.2.0");
    }

    #[test]
    fn a_folder_without_a_project_and_a_wrong_key_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let why = Project::open(dir.path()).unwrap_err().to_string();
        assert!(why.contains("ralph plugin new"), "{why}");
        std::fs::write(dir.path().join("plugin.toml"), "name = \"x\"\ncolour = 1\n").unwrap();
        let why = Project::open(dir.path()).unwrap_err().to_string();
        assert!(
            why.contains("plugin.toml") && why.contains("colour"),
            "{why}"
        );
    }
}
