//! What a plugin may do and how much it may use.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use ralph_engine::hosts::HostList;
use serde::{Deserialize, Serialize};

use crate::error::{PluginError, Who};
use crate::kind::Kind;

/// `[plugins.<name>.allow]`. The default grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    /// The iteration's changes. For gates.
    pub changes: bool,
    /// Programs the host runs for it: patterns as [`ralph_engine::programs`] reads them. For
    /// gates, tools, notifiers and trackers.
    pub process: Vec<String>,
    /// Directories and files below the project's root it may read; `.` is all of it. For
    /// all but pure kinds. An agent with neither `read` nor `write` has the whole
    /// project to read and change.
    pub read: Vec<String>,
    /// Directories and files below the project's root it may read and change. For all but
    /// pure kinds.
    pub write: Vec<String>,
    /// Hosts it may send HTTP requests to: patterns as [`ralph_engine::hosts`] reads them. For all but
    /// pure kinds.
    pub http: Vec<String>,
    /// Names of environment variables it sees.
    pub env: Vec<String>,
    /// The real clock instead of one that stands still.
    pub clock: bool,
    /// Real randomness instead of a sequence that the seed fixes.
    pub random: bool,
    /// Values that it keeps from one call to the next. For all but pure kinds.
    pub state: bool,
    /// Telling people something while it works. For gates, tools and trackers.
    pub notify: bool,
}

/// `[plugins.<name>.limits]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Computing time of one call (of one `feed` for a driver), waiting for the
    /// host left out. Looked at every 10 ms.
    pub time: Duration,
    /// Computing time of the start of an instance.
    pub start: Duration,
    /// Waiting in one call, or in a start, for the host: for programs, changes, files
    /// and clocks.
    pub wait: Duration,
    /// All linear memories together, in bytes.
    pub memory: u64,
    /// Everything one call gives back, in bytes; also one event of an agent.
    pub output: u64,
    /// What it may log in one call, in bytes; and print as much again.
    pub log: u64,
    /// What one call of a host's function may copy out of it, in bytes.
    pub crossing: u64,
    /// Elements of all tables together.
    pub table_elements: u64,
    /// Core instances within the component.
    pub instances: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Duration::from_secs(5),
            start: Duration::from_secs(5),
            wait: Duration::from_secs(15 * 60),
            memory: 128 << 20,
            output: 1 << 20,
            log: 64 << 10,
            crossing: 16 << 20,
            table_elements: 100_000,
            instances: 256,
        }
    }
}

/// One directory or file of the project that a plugin gets; which it is shows when it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantedPlace {
    /// Relative to the root, of plain names only; empty for the root itself.
    pub(crate) path: PathBuf,
    /// May it be changed?
    pub(crate) write: bool,
}

/// Names which no plugin gets by name, wherever they stand in a path.
const RESERVED: [&str; 2] = [".git", ".ralph"];

/// Checks the grants of one plugin and returns the directories and files, and the hosts.
pub(crate) fn check(
    who: &Who,
    kind: Kind,
    grants: &Grants,
) -> Result<(Vec<GrantedPlace>, HostList), PluginError> {
    let bad = |key: &'static str, reason: String| PluginError::BadGrant {
        who: who.clone(),
        key,
        table: who.table("allow"),
        reason,
    };
    const ACTING: &str = "gates, tools, notifiers and trackers";
    const WITH_FILES: &str = "gates, agents, tools, notifiers and trackers";
    let files = kind.acts() || kind == Kind::Agent;
    let given = [
        ("changes", grants.changes, kind == Kind::Gate, "gates"),
        ("process", !grants.process.is_empty(), kind.acts(), ACTING),
        ("read", !grants.read.is_empty(), files, WITH_FILES),
        ("write", !grants.write.is_empty(), files, WITH_FILES),
        ("http", !grants.http.is_empty(), kind.keeps(), WITH_FILES),
        ("state", grants.state, kind.keeps(), WITH_FILES),
        (
            "notify",
            grants.notify,
            kind.notifies(),
            "gates, tools and trackers",
        ),
    ];
    for (key, given, fits, who) in given {
        if given && !fits {
            return Err(bad(
                key,
                format!("only {who} can have it, this is of kind {kind}"),
            ));
        }
    }
    let hosts = HostList::parse(&grants.http).map_err(|reason| bad("http", reason))?;
    if kind == Kind::Agent && grants.read.is_empty() && grants.write.is_empty() {
        let all = GrantedPlace {
            path: PathBuf::new(),
            write: true,
        };
        return Ok((vec![all], hosts));
    }
    let mut dirs: Vec<GrantedPlace> = Vec::new();
    // Those to write come first, so that one which stands in both lists is writable.
    let entries = grants
        .write
        .iter()
        .map(|entry| ("write", entry, true))
        .chain(grants.read.iter().map(|entry| ("read", entry, false)));
    for (key, entry, write) in entries {
        let path = relative(entry).map_err(|reason| bad(key, format!("{entry:?} {reason}")))?;
        if !dirs.iter().any(|dir| dir.path == path) {
            dirs.push(GrantedPlace { path, write });
        }
    }
    Ok((dirs, hosts))
}

fn relative(entry: &str) -> Result<PathBuf, &'static str> {
    if entry.is_empty() {
        return Err("is empty; use \".\" for the whole project");
    }
    let mut path = PathBuf::new();
    for component in Path::new(entry).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => {
                if RESERVED
                    .iter()
                    .any(|reserved| name.eq_ignore_ascii_case(reserved))
                {
                    return Err("leads into .git or .ralph, which are never granted");
                }
                path.push(name);
            }
            Component::ParentDir => return Err("has `..` in it"),
            Component::RootDir | Component::Prefix(_) => {
                return Err("is absolute; name a directory or file relative to the project's root");
            }
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn who() -> Who {
        Who {
            kind: Some(Kind::Gate),
            name: "g".into(),
        }
    }

    fn dirs(read: &[&str], write: &[&str]) -> Result<Vec<(String, bool)>, String> {
        let grants = Grants {
            read: read.iter().map(|s| s.to_string()).collect(),
            write: write.iter().map(|s| s.to_string()).collect(),
            ..Grants::default()
        };
        check(&who(), Kind::Gate, &grants)
            .map(|(places, _)| places)
            .map(|dirs| {
                dirs.into_iter()
                    .map(|d| (d.path.display().to_string(), d.write))
                    .collect()
            })
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_directory_in_both_lists_is_writable_once() {
        let found = dirs(&["src/./a/", "."], &["src/a"]).unwrap();
        assert_eq!(found, [("src/a".to_string(), true), (String::new(), false)]);
    }

    #[test]
    fn paths_out_of_the_project_or_into_its_records_are_refused() {
        for entry in [
            "..",
            "src/../..",
            "/etc",
            "",
            ".git",
            "sub/.git/hooks",
            ".ralph/logs",
            ".GIT",
            "./.git",
        ] {
            let error = dirs(&[entry], &[]).unwrap_err();
            assert!(
                error.contains("`read` in [plugins.g.allow]"),
                "{entry:?}: {error}"
            );
            assert!(dirs(&[], &[entry]).is_err(), "{entry:?}");
        }
    }

    #[test]
    fn what_a_kind_cannot_use_is_refused() {
        let changes = Grants {
            changes: true,
            ..Grants::default()
        };
        let process = Grants {
            process: vec!["*".into()],
            ..Grants::default()
        };
        let write = Grants {
            write: vec!["src".into()],
            ..Grants::default()
        };
        for kind in Kind::ALL {
            let gate = kind == Kind::Gate;
            let acts = kind.acts();
            assert_eq!(check(&who(), kind, &changes).is_ok(), gate, "{kind}");
            assert_eq!(check(&who(), kind, &process).is_ok(), acts, "{kind}");
            assert_eq!(
                check(&who(), kind, &write).is_ok(),
                acts || kind == Kind::Agent,
                "{kind}"
            );
        }
    }

    #[test]
    fn an_agent_has_the_whole_project_unless_it_is_given_less() {
        let whole = vec![GrantedPlace {
            path: PathBuf::new(),
            write: true,
        }];
        assert_eq!(
            check(&who(), Kind::Agent, &Grants::default()).unwrap().0,
            whole
        );
        let less = Grants {
            write: vec!["src".into()],
            ..Grants::default()
        };
        let dir = GrantedPlace {
            path: "src".into(),
            write: true,
        };
        assert_eq!(check(&who(), Kind::Agent, &less).unwrap().0, [dir]);
    }
}
