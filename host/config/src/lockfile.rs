//! `ralph.lock`: which bytes each plugin's source stands for.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::error::ConfigError;
use crate::reference::{Reference, is_sha256};
use crate::show;
use crate::source::Source;

/// Its name, below the project's root.
pub const LOCK_FILE: &str = "ralph.lock";

/// The form that is read and written.
const VERSION: u32 = 1;

const HEAD: &str = "# Written by `ralph plugin lock`; keep it under version control.\n";

/// The whole file. Plugins are sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lock {
    plugins: Vec<Locked>,
}

/// One plugin.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// `[plugins.<name>]`
    pub name: String,
    /// What `source` said.
    pub source: String,
    /// What that stood for: of a tag the manifest, else the source itself.
    pub resolved: String,
    /// SHA-256 of the component.
    pub sha256: String,
    /// What its manifest says, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    #[serde(default)]
    plugin: Vec<Locked>,
}

impl Lock {
    /// Reads it.
    ///
    /// # Errors
    /// No TOML, unknown keys, another version, a name twice, a digest that is none, a resolved
    /// reference that leads elsewhere than its source.
    pub fn parse(bytes: &[u8]) -> Result<Lock, ConfigError> {
        let source = Source::from_bytes(LOCK_FILE, bytes)?;
        source.check()?;
        let wrong = |message: String| ConfigError::new(LOCK_FILE, message);
        let file: File = toml::from_str(source.toml()).map_err(|e| {
            let error = wrong(show::said(e.message()));
            match e.span() {
                Some(span) => error.at(source.position(span.start)),
                None => error,
            }
        })?;
        if file.version != VERSION {
            return Err(wrong(format!(
                "it has version {}, this ralph knows {VERSION}; write it anew with `ralph plugin lock`",
                file.version
            )));
        }
        if let Some((entry, problem)) = file.plugin.iter().find_map(|p| Some((p, p.problem()?))) {
            let name = show::name(&entry.name);
            return Err(wrong(format!("plugin {name}: {problem}")));
        }
        let mut plugins = file.plugin;
        plugins.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some([entry, _]) = plugins.array_windows().find(|[a, b]| a.name == b.name) {
            let name = show::name(&entry.name);
            return Err(wrong(format!("plugin {name} is in it twice")));
        }
        Ok(Lock { plugins })
    }

    /// The plugin's entry.
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.plugins.iter().find(|p| p.name == name)
    }

    /// Puts an entry in, in the place of the one of that name.
    pub fn set(&mut self, entry: Locked) {
        self.remove(&entry.name);
        self.plugins.push(entry);
        self.plugins.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Takes an entry out. Was there one?
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.plugins.len();
        self.plugins.retain(|p| p.name != name);
        before != self.plugins.len()
    }

    /// All entries, by name.
    pub fn plugins(&self) -> &[Locked] {
        &self.plugins
    }

    /// The file's text, always the same for the same entries.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}version = {VERSION}\n");
        for entry in &self.plugins {
            text.push_str("\n[[plugin]]\n");
            let fields = [
                ("name", Some(&entry.name)),
                ("source", Some(&entry.source)),
                ("resolved", Some(&entry.resolved)),
                ("sha256", Some(&entry.sha256)),
                ("version", entry.version.as_ref()),
            ];
            for (key, value) in fields {
                if let Some(value) = value {
                    let value = toml_edit::Value::from(value.as_str());
                    let _ = writeln!(text, "{key} = {value}");
                }
            }
        }
        text
    }
}

impl Locked {
    fn problem(&self) -> Option<String> {
        let source = match Reference::parse(&self.source) {
            Ok(Reference::Builtin(_)) => return Some("a built-in plugin isn't locked".to_owned()),
            Ok(source) => source,
            Err(problem) => return Some(problem),
        };
        if !is_sha256(&self.sha256) {
            return Some("`sha256` should be 64 lower-case hexadecimal digits".to_owned());
        }
        if !source.allows(&self.resolved) {
            return Some(format!(
                "{} is not what {} can stand for",
                show::name(&self.resolved),
                show::name(&self.source)
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn entry(name: &str, source: &str) -> Locked {
        Locked {
            name: name.into(),
            source: source.into(),
            resolved: source.into(),
            sha256: "ab".repeat(32),
            version: None,
        }
    }

    fn oci(resolved: &str) -> String {
        format!(
            "version = 1\n[[plugin]]\nname = \"a\"\nsource = \"oci://h/a:1\"\nresolved = \"{resolved}\"\nsha256 = \"{}\"\n",
            "ab".repeat(32)
        )
    }

    #[test]
    fn what_is_written_is_read_back_and_always_in_the_same_order() {
        let mut one = Lock::default();
        one.set(entry("b", "b \"quoted\".wasm"));
        one.set(Locked {
            version: Some("1.2.0\n".into()),
            ..entry("a", "https://example.org/a.wasm")
        });
        let text = one.to_text();
        assert_eq!(Lock::parse(text.as_bytes()).unwrap(), one);
        let mut other = Lock::default();
        for entry in one.plugins().iter().rev() {
            other.set(entry.clone());
        }
        assert_eq!(other.to_text(), text);
        assert!(other.remove("a") && !other.remove("a"));
    }

    #[test]
    fn what_can_not_be_meant_is_refused() {
        let digest = "0".repeat(64);
        assert!(Lock::parse(oci(&format!("oci://h/a@sha256:{digest}")).as_bytes()).is_ok());
        let twice = format!(
            "{}{}",
            oci(&format!("oci://h/a@sha256:{digest}")),
            oci("x").replace("version = 1", "")
        );
        for bad in [
            String::new(),
            "version = 2".into(),
            "version = 1\nplugins = 3".into(),
            "version = 1\n[[plugin]]\nname = \"a\"".into(),
            oci(&format!("oci://evil/a@sha256:{digest}")),
            oci("oci://h/a:1"),
            oci(&format!("oci://h/a@sha256:{digest}")).replace("abab", "ABAB"),
            oci("builtin:x").replace("oci://h/a:1", "builtin:x"),
            oci(&format!("oci://h/a@sha256:{digest}")) + "extra = 1\n",
            twice,
            "\0".into(),
        ] {
            let error = Lock::parse(bad.as_bytes())
                .map(|_| ())
                .unwrap_err()
                .to_string();
            assert!(error.contains("ralph.lock"), "{bad}: {error}");
        }
        assert!(Lock::parse(b"\xff\xff").is_err());
    }
}
