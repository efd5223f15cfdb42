//! What a component says of itself in its custom section `ralph-plugin`: read from the
//! bytes, before anything of it is compiled.

use serde::{Deserialize, Serialize};

use crate::grants::Grants;
use crate::kind::Kind;
use ralph_engine::hosts::{self, HostList};

use crate::programs;
use crate::world::SERVED;

/// The custom section's name. A language's linker puts it into the core module within
/// the component; a tool may put it at the top.
pub const SECTION: &str = "ralph-plugin";

/// No manifest is longer, in bytes.
const MAX_SIZE: usize = 64 << 10;

/// How deep components are looked into, and how many sections in all.
const MAX_DEPTH: u8 = 4;
const MAX_SECTIONS: u32 = 100_000;

/// Longest name, version, license or contract, in bytes.
const MAX_WORD: usize = 200;

/// The section's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What its author calls it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What kinds of plugin it is; just those that it exports.
    pub kinds: Vec<Kind>,
    /// What it asks for. It gets no more than that, whatever `ralph.toml` allows.
    #[serde(default)]
    pub capabilities: Grants,
    /// Versions of `ralph:plugin` that it works with, as Cargo writes ranges.
    pub contract: String,
    /// SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
}

impl Manifest {
    /// Looks for the section in a component's bytes and reads it. `None` if there is none,
    /// and also if the bytes are no component: whoever compiles them says so.
    ///
    /// # Errors
    /// What is wrong with the manifest, for people.
    pub fn find(bytes: &[u8]) -> Result<Option<Manifest>, String> {
        let mut search = Search {
            top: Vec::new(),
            inner: Vec::new(),
            left: MAX_SECTIONS,
        };
        if search.within(bytes, 0).is_none() {
            return Ok(None);
        }
        // What a tool has put on top speaks for the whole.
        let found = if search.top.is_empty() {
            search.inner
        } else {
            search.top
        };
        match found.as_slice() {
            [] => Ok(None),
            [one] => Manifest::parse(one).map(Some),
            more => Err(format!("it has {} sections `{SECTION}`", more.len())),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Manifest, String> {
        if bytes.len() > MAX_SIZE {
            return Err(format!(
                "it is longer than {} KiB ({} bytes)",
                MAX_SIZE >> 10,
                bytes.len()
            ));
        }
        let mut manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        // A package that names none.
        manifest.license = manifest.license.filter(|license| !license.is_empty());
        for (what, word) in [
            ("name", manifest.name.as_str()),
            ("version", &manifest.version),
            ("contract", &manifest.contract),
            ("license", manifest.license.as_deref().unwrap_or("-")),
        ] {
            if word.trim().is_empty() || word.len() > MAX_WORD || word.chars().any(char::is_control)
            {
                return Err(format!(
                    "`{what}` should be 1 to {MAX_WORD} visible characters"
                ));
            }
        }
        HostList::parse(&manifest.capabilities.http).map_err(|why| format!("`http`: {why}"))?;
        programs::read(&manifest.capabilities.process).map_err(|why| format!("`process` {why}"))?;
        if manifest.kinds.is_empty() {
            return Err("`kinds` is empty".into());
        }
        Ok(manifest)
    }

    /// What is wrong with it for this ralph.
    pub(crate) fn misfit(&self) -> Option<String> {
        let Ok(range) = semver::VersionReq::parse(&self.contract) else {
            return Some(format!(
                "`contract` is {:?}, which is no range of versions",
                self.contract
            ));
        };
        let served = SERVED
            .iter()
            .filter_map(|ours| semver::Version::parse(ours).ok())
            .any(|ours| range.matches(&ours));
        (!served).then(|| {
            format!(
                "{} {} works with ralph:plugin {}, this ralph has {}; use another ralph, or \
                 rebuild the plugin",
                self.name,
                self.version,
                self.contract,
                SERVED.join(" and ")
            )
        })
    }

    /// What is wrong with it for a component of these kinds.
    pub(crate) fn mismatch(&self, kinds: &[Kind]) -> Option<String> {
        let same = |a: &[Kind], b: &[Kind]| a.iter().all(|kind| b.contains(kind));
        if !same(&self.kinds, kinds) || !same(kinds, &self.kinds) {
            let words = |kinds: &[Kind]| {
                let words: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
                words.join(", ")
            };
            return Some(format!(
                "it says {}, the component exports {}",
                words(&self.kinds),
                words(kinds)
            ));
        }
        None
    }

    /// Does it ask for what this interface of `ralph:plugin` needs?
    pub(crate) fn asks_for(&self, import: &str) -> bool {
        match import.rsplit('/').next() {
            Some("changes") => self.capabilities.changes,
            Some("process") => !self.capabilities.process.is_empty(),
            Some("state") => self.capabilities.state,
            Some("notify") => self.capabilities.notify,
            Some("outgoing-handler") => !self.capabilities.http.is_empty(),
            _ => true,
        }
    }
}

struct Search<'a> {
    top: Vec<&'a [u8]>,
    inner: Vec<&'a [u8]>,
    left: u32,
}

impl<'a> Search<'a> {
    /// Goes through the sections of a component or a module; `None` if the bytes are neither.
    fn within(&mut self, bytes: &'a [u8], depth: u8) -> Option<()> {
        let (head, mut rest) = bytes.split_first_chunk::<8>()?;
        let component = match head {
            [0, b'a', b's', b'm', 0x0d, 0, 1, 0] => true,
            [0, b'a', b's', b'm', 1, 0, 0, 0] => false,
            _ => return None,
        };
        while let Some((id, after)) = rest.split_first() {
            self.left = self.left.checked_sub(1)?;
            rest = after;
            let size = usize::try_from(number(&mut rest)?).ok()?;
            let (mut section, after) = rest.split_at_checked(size)?;
            rest = after;
            match id {
                0 => {
                    let size = usize::try_from(number(&mut section)?).ok()?;
                    let (name, content) = section.split_at_checked(size)?;
                    if name == SECTION.as_bytes() {
                        let found = if depth == 0 {
                            &mut self.top
                        } else {
                            &mut self.inner
                        };
                        found.push(content);
                    }
                }
                // A core module, or a component.
                1 | 4 if component && depth < MAX_DEPTH => self.within(section, depth + 1)?,
                _ => {}
            }
        }
        Some(())
    }
}

/// LEB128, of 32 bits at most.
fn number(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

impl Grants {
    /// What is granted to a plugin that asks for `asked` where these are allowed: what stands
    /// on both sides.
    #[must_use]
    pub fn met(&self, asked: &Grants) -> Grants {
        let words = |ours: &[String], theirs: &[String]| -> Vec<String> {
            let any = |list: &[String]| list.iter().any(|word| word == "*");
            let wider = if any(ours) { theirs } else { ours };
            let other = if any(ours) { ours } else { theirs };
            let in_both = |word: &&String| any(other) || other.contains(word);
            wider.iter().filter(in_both).cloned().collect()
        };
        let write = dirs(&[&self.write], &[&asked.write]);
        let mut read = dirs(&[&self.read, &self.write], &[&asked.read, &asked.write]);
        read.retain(|dir| !write.iter().any(|other| within(dir, other)));
        Grants {
            changes: self.changes && asked.changes,
            process: programs::met(&self.process, &asked.process),
            read,
            write,
            http: hosts::met(&self.http, &asked.http),
            env: words(&self.env, &asked.env),
            clock: self.clock && asked.clock,
            random: self.random && asked.random,
            state: self.state && asked.state,
            notify: self.notify && asked.notify,
        }
    }
}

/// Directories and files that both sides hold: of two that lie in each other, the inner one.
fn dirs(ours: &[&Vec<String>], theirs: &[&Vec<String>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for a in ours.iter().copied().flatten() {
        for b in theirs.iter().copied().flatten() {
            let inner = if within(a, b) {
                a
            } else if within(b, a) {
                b
            } else {
                continue;
            };
            if !found.contains(inner) {
                found.push(inner.clone());
            }
        }
    }
    found
}

/// Is this directory the other, or below it?
fn within(dir: &str, other: &str) -> bool {
    let parts = |path: &'_ str| -> Vec<String> {
        let parts = path.split('/').filter(|p| !p.is_empty() && *p != ".");
        parts.map(str::to_owned).collect()
    };
    parts(dir).starts_with(&parts(other))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const GOOD: &str = r#"{"name":"n","version":"1.0.0","kinds":["gate"],"contract":"^0.1"}"#;

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![id];
        let mut size = content.len();
        loop {
            let byte = (size & 0x7f) as u8;
            size >>= 7;
            out.push(if size == 0 { byte } else { byte | 0x80 });
            if size == 0 {
                break;
            }
        }
        out.extend_from_slice(content);
        out
    }

    fn custom(name: &str, json: &str) -> Vec<u8> {
        let mut content = vec![u8::try_from(name.len()).unwrap()];
        content.extend_from_slice(name.as_bytes());
        content.extend_from_slice(json.as_bytes());
        section(0, &content)
    }

    fn with(head: [u8; 4], sections: &[Vec<u8>]) -> Vec<u8> {
        let mut out = b"\0asm".to_vec();
        out.extend_from_slice(&head);
        out.extend(sections.iter().flatten());
        out
    }

    fn component(sections: &[Vec<u8>]) -> Vec<u8> {
        with([0x0d, 0, 1, 0], sections)
    }

    fn module(sections: &[Vec<u8>]) -> Vec<u8> {
        section(1, &with([1, 0, 0, 0], sections))
    }

    #[test]
    fn it_is_found_on_top_and_in_the_module_and_on_top_it_counts() {
        let inner = module(&[section(1, b"\0"), custom("ralph-plugin", GOOD)]);
        let found = Manifest::find(&component(&[custom("other", "x"), inner.clone()]));
        assert_eq!(found.unwrap().unwrap().name, "n");
        let top = custom("ralph-plugin", &GOOD.replace("\"n\"", "\"top\""));
        let both = component(&[inner.clone(), top.clone()]);
        assert_eq!(Manifest::find(&both).unwrap().unwrap().name, "top");
        assert_eq!(Manifest::find(&component(&[custom("x", GOOD)])), Ok(None));
        for twice in [
            component(&[top.clone(), top]),
            component(&[inner.clone(), inner]),
        ] {
            assert!(Manifest::find(&twice).unwrap_err().contains("2 sections"));
        }
    }

    #[test]
    fn bytes_cut_anywhere_or_nested_for_ever_do_no_harm() {
        let whole = component(&[module(&[custom("ralph-plugin", GOOD)])]);
        for end in 0..whole.len() {
            assert_ne!(
                Manifest::find(&whole[..end]).ok().flatten().map(|m| m.name),
                Some("n".into()),
                "{end}"
            );
        }
        let mut deep = custom("ralph-plugin", GOOD);
        for _ in 0..50 {
            deep = section(4, &component(&[deep]));
        }
        assert_eq!(Manifest::find(&component(&[deep])), Ok(None));
        let many = component(&vec![vec![9, 0]; 200_000]);
        assert_eq!(Manifest::find(&many), Ok(None));
    }

    #[test]
    fn it_is_read_strictly() {
        let of = |json: &str| Manifest::find(&component(&[custom("ralph-plugin", json)]));
        assert!(of(GOOD).unwrap().is_some());
        for (bad, says) in [
            ("", "EOF"),
            ("{}", "missing field"),
            (&GOOD.replace("{", "{\"x\":1,"), "unknown field"),
            (&GOOD.replace("[\"gate\"]", "[]"), "`kinds` is empty"),
            (&GOOD.replace("gate", "gates"), "unknown variant"),
            (&GOOD.replace("\"n\"", "\"\\u001b[31m\""), "`name`"),
            (&GOOD.replace("\"n\"", "\" \""), "`name`"),
            (
                &GOOD.replace("{", "{\"capabilities\":{\"network\":[\"*\"]},"),
                "unknown field",
            ),
            (&format!("{GOOD}{GOOD}"), "trailing"),
            (
                &format!("{GOOD}{}", " ".repeat(MAX_SIZE)),
                "longer than 64 KiB",
            ),
        ] {
            let error = of(bad).unwrap_err();
            assert!(error.contains(says), "{bad}: {error}");
        }
    }

    #[test]
    fn another_contract_or_other_kinds_are_told() {
        let mut manifest: Manifest = serde_json::from_str(GOOD).unwrap();
        assert_eq!(manifest.mismatch(&[Kind::Gate]), None);
        assert!(
            manifest
                .mismatch(&[Kind::Judge])
                .unwrap()
                .contains("exports judge")
        );
        assert!(manifest.mismatch(&[Kind::Gate, Kind::Judge]).is_some());
        assert_eq!(manifest.misfit(), None);
        manifest.contract = "^0.2".into();
        assert_eq!(manifest.misfit(), None);
        manifest.contract = ">=7".into();
        assert!(manifest.misfit().unwrap().contains("rebuild"));
        manifest.contract = "newest".into();
        assert!(manifest.misfit().unwrap().contains("no range"));
    }

    #[test]
    fn granted_is_what_stands_on_both_sides() {
        let list = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let allow = Grants {
            process: list(&["cargo", "git"]),
            read: list(&["src", "docs/a"]),
            write: list(&["out"]),
            http: list(&["api.example.org", "*.example.com"]),
            env: list(&["HOME"]),
            changes: true,
            clock: true,
            random: false,
            state: true,
            notify: true,
        };
        let asked = Grants {
            process: list(&["*"]),
            read: list(&["."]),
            write: list(&["out/deep", "src"]),
            http: list(&["*.example.org", "b.example.com", "other.org"]),
            env: list(&["PATH"]),
            changes: false,
            clock: true,
            random: true,
            state: true,
            notify: false,
        };
        let met = allow.met(&asked);
        assert_eq!(met.process, ["cargo", "git"]);
        assert_eq!(met.write, ["out/deep"]);
        assert_eq!(met.read, ["src", "docs/a", "out"]);
        assert_eq!(met.http, ["api.example.org", "b.example.com"]);
        assert_eq!(
            (met.env.len(), met.changes, met.clock, met.random),
            (0, false, true, false)
        );
        assert_eq!((met.state, met.notify), (true, false));
        assert_eq!(allow.met(&Grants::default()), Grants::default());
        assert_eq!(Grants::default().met(&asked), Grants::default());
        let any = Grants {
            process: list(&["*"]),
            ..Grants::default()
        };
        assert_eq!(any.met(&allow).process, ["cargo", "git"]);
        assert_eq!(any.met(&any).process, ["*"]);
        assert_eq!(
            dirs(&[&list(&["srcs"])], &[&list(&["src"])]),
            Vec::<String>::new()
        );
    }
}
