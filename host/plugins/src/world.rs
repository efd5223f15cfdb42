//! Reads what a component imports and exports, by name.

use std::fmt;

use crate::error::{PluginError, Who};
use crate::grants::Grants;
use crate::kind::Kind;

/// Version of `ralph:plugin` in `wit/`.
pub const CONTRACT_VERSION: &str = "0.2.1";

/// The versions this host serves, the newest first: this one and the one before. Of those
/// that differ in their last number only the newest is named; it serves them all.
pub const SERVED: [&str; 2] = [CONTRACT_VERSION, "0.1.0"];

/// Interfaces that came after the oldest served version, with the version that brought them.
const SINCE: [(&str, &str); 5] = [
    ("tool", "0.2.0"),
    ("notifier", "0.2.0"),
    ("tracker", "0.2.0"),
    ("state", "0.2.1"),
    ("notify", "0.2.1"),
];

/// An interface that plugins export, and a function of it.
pub(crate) type Function = (&'static str, &'static str);

/// All functions that the host calls.
pub(crate) const FUNCTIONS: [Function; 19] = [
    f::GATE,
    f::AGENT,
    f::PREPARE,
    f::SESSION,
    f::FEED,
    f::FINISH,
    f::PROBES,
    f::READ,
    f::QUESTION,
    f::DECIDE,
    f::ALGORITHM,
    f::CANONICALISE,
    f::TOOLS,
    f::TOOL,
    f::NOTIFY,
    f::LOAD,
    f::BEGIN,
    f::APPLY,
    f::ADD,
];

/// Their names.
pub(crate) mod f {
    use super::Function;

    pub(crate) const GATE: Function = ("gate", "check");
    pub(crate) const AGENT: Function = ("agent", "run");
    pub(crate) const PREPARE: Function = ("agent-driver", "prepare");
    pub(crate) const SESSION: Function = ("agent-driver", "[constructor]session");
    pub(crate) const FEED: Function = ("agent-driver", "[method]session.feed");
    pub(crate) const FINISH: Function = ("agent-driver", "[method]session.finish");
    pub(crate) const PROBES: Function = (super::CHECK, "probes");
    pub(crate) const READ: Function = (super::CHECK, "read");
    pub(crate) const QUESTION: Function = ("judge", "prompt");
    pub(crate) const DECIDE: Function = ("judge", "decide");
    pub(crate) const ALGORITHM: Function = ("canonicaliser", "algorithm");
    pub(crate) const CANONICALISE: Function = ("canonicaliser", "canonicalise");
    pub(crate) const TOOLS: Function = ("tool", "tools");
    pub(crate) const TOOL: Function = ("tool", "call");
    pub(crate) const NOTIFY: Function = ("notifier", "notify");
    pub(crate) const LOAD: Function = ("tracker", "load");
    pub(crate) const BEGIN: Function = ("tracker", "begin");
    pub(crate) const APPLY: Function = ("tracker", "apply");
    pub(crate) const ADD: Function = ("tracker", "add");
}

/// A function's name as messages tell it: without its resource.
pub(crate) fn label(function: Function) -> &'static str {
    function.1.rsplit([']', '.']).next().unwrap_or(function.1)
}

/// The export that is this interface, in the newest version that is served.
pub(crate) fn export_of<'a>(interface: &str, exports: &'a [String]) -> Option<&'a str> {
    let found = exports.iter().filter_map(|full| {
        let name =
            Name::parse(full).filter(|n| n.package == PACKAGE && n.interface == interface)?;
        let version = name.version.filter(|v| serves(interface, v))?;
        Some((track(version), full.as_str()))
    });
    found
        .max_by_key(|(version, _)| *version)
        .map(|(_, full)| full)
}

const PACKAGE: &str = "ralph:plugin";

/// What a driver may export beside its own interface.
pub(crate) const CHECK: &str = "agent-check";

/// Interfaces of WASI 0.2 packages that are linked (all of `wasi:cli/imports`).
const WASI: [&str; 7] = [
    "wasi:io",
    "wasi:clocks",
    "wasi:random",
    "wasi:cli",
    "wasi:filesystem",
    "wasi:sockets",
    "wasi:http",
];

/// `package/interface@version`
#[derive(Clone, Copy)]
struct Name<'a> {
    package: &'a str,
    interface: &'a str,
    version: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Option<Name<'a>> {
        let (path, version) = match name.split_once('@') {
            Some((path, version)) => (path, Some(version)),
            None => (name, None),
        };
        let (package, interface) = path.split_once('/')?;
        Some(Name {
            package,
            interface,
            version,
        })
    }
}

/// The part of a version which has to be the same: the first that isn't zero, and
/// what stands before it.
fn track(version: &str) -> Option<(u64, u64, u64)> {
    let version = version.split('+').next().unwrap_or(version);
    if version.contains('-') {
        return None;
    }
    let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor, patch) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    Some(match (major, minor) {
        (0, 0) => (0, 0, patch),
        (0, minor) => (0, minor, 0),
        (major, _) => (major, 0, 0),
    })
}

/// Is this version of the contract served, and does it have the interface?
fn serves(interface: &str, version: &str) -> bool {
    let since = SINCE.iter().find(|(name, _)| *name == interface);
    let track = track(version);
    let served = SERVED.iter().any(|ours| self::track(ours) == track);
    track.is_some() && served && since.is_none_or(|(_, since)| track >= self::track(since))
}

/// An error which says what to do on either side about a contract of another version.
fn other_version(who: &Who, interface: &str, version: Option<&str>) -> PluginError {
    let newest = CONTRACT_VERSION;
    let advice = match version.and_then(track) {
        Some(theirs) if Some(theirs) > track(newest) => format!(
            "use a newer ralph, which has it; or, as the plugin's author, build it against wit/released/{newest} too"
        ),
        Some(_) if version.is_some_and(|v| serves("types", v)) => format!(
            "as the plugin's author, build it against wit/released/{newest}, which has `{interface}`; as its user, look for a newer plugin"
        ),
        Some(_) => format!(
            "as the plugin's author, build it against wit/released/{newest}; as its user, look for a newer plugin, or keep the ralph that it was made for"
        ),
        None => format!("as the plugin's author, build it against wit/released/{newest}"),
    };
    PluginError::Version {
        who: who.clone(),
        theirs: version.unwrap_or("without a version").into(),
        ours: SERVED.join(" and "),
        advice,
    }
}

/// The kinds of plugin a component with these exports is, with the exports' full
/// names. Exports that are nothing to ralph don't matter: tool chains add some.
pub(crate) fn kinds<'a>(
    who: &Who,
    exports: &'a [String],
) -> Result<Vec<(Kind, &'a str)>, PluginError> {
    let mut kinds: Vec<(Kind, &str)> = Vec::new();
    let mut other = None;
    for full in exports {
        let Some(name) = Name::parse(full).filter(|name| name.package == PACKAGE) else {
            continue;
        };
        let Some(kind) = Kind::from_interface(name.interface) else {
            continue;
        };
        match export_of(name.interface, exports) {
            // One that has an interface in several versions is of that kind once.
            Some(newest) if newest == full => kinds.push((kind, newest)),
            Some(_) => {}
            None => other = Some((name.interface, name.version)),
        }
    }
    if !kinds.is_empty() {
        return Ok(kinds);
    }
    if let Some((interface, version)) = other {
        return Err(other_version(who, interface, version));
    }
    let expected: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| format!("{PACKAGE}/{kind}@{CONTRACT_VERSION}"))
        .collect();
    Err(PluginError::WrongWorld {
        who: who.clone(),
        expected: format!("one of {}", expected.join(", ")),
        found: Listed(exports).to_string(),
    })
}

/// A short list of names for a message.
pub(crate) struct Listed<'a, S>(pub(crate) &'a [S]);

impl<S: AsRef<str>> fmt::Display for Listed<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (i, name) in self.0.iter().take(SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{:.200}", name.as_ref())?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Is everything that is imported linked at all? Grants aren't looked at here.
pub(crate) fn check_imports(who: &Who, imports: &[String]) -> Result<(), PluginError> {
    for full in imports {
        let unknown = |reason: String| PluginError::UnknownImport {
            who: who.clone(),
            import: full.clone(),
            reason,
        };
        let Some(name) = Name::parse(full) else {
            return Err(unknown(
                "ralph has only interfaces of ralph:plugin and of WASI 0.2".into(),
            ));
        };
        if name.package == PACKAGE {
            match name.version {
                Some(version) if serves(name.interface, version) => {}
                version => return Err(other_version(who, name.interface, version)),
            }
            let linked = [
                "types", "log", "config", "changes", "process", "events", "call", "state", "notify",
            ];
            // Interfaces which plugins export may be imported for their types alone;
            // whether it is only that, the linker finds out.
            if !linked.contains(&name.interface) && Kind::from_interface(name.interface).is_none() {
                return Err(unknown(format!(
                    "there is no such interface in {PACKAGE} {CONTRACT_VERSION}"
                )));
            }
        } else if WASI.contains(&name.package) {
            if !name
                .version
                .is_some_and(|version| version.starts_with("0.2."))
            {
                return Err(unknown("ralph has WASI 0.2 only".into()));
            }
        } else {
            return Err(unknown(
                "ralph has only interfaces of ralph:plugin and of WASI 0.2".into(),
            ));
        }
    }
    Ok(())
}

/// Is everything that is imported there for this kind of plugin, and granted?
pub(crate) fn check_grants(
    who: &Who,
    kind: Kind,
    imports: &[String],
    grants: &Grants,
) -> Result<(), PluginError> {
    for full in imports {
        let Some(name) = Name::parse(full).filter(|name| match name.package {
            PACKAGE => true,
            // Its types alone can do nothing.
            "wasi:http" => name.interface == "outgoing-handler",
            _ => false,
        }) else {
            continue;
        };
        let (fits, owner) = match name.interface {
            "changes" => (kind == Kind::Gate, "gate"),
            "process" => (kind.acts(), "gate, tool, notifier or tracker"),
            "events" => (kind == Kind::Agent, "agent"),
            "call" => (kind == Kind::AgentDriver, "agent-driver"),
            "state" => (kind.keeps(), "gate, agent, tool, notifier or tracker"),
            "notify" => (kind.notifies(), "gate, tool or tracker"),
            "outgoing-handler" => (kind.keeps(), "gate, agent, tool, notifier or tracker"),
            _ => continue,
        };
        let import = format!("{}/{}", name.package, name.interface);
        if !fits {
            let reason = format!("only a plugin of kind {owner} can have it");
            return Err(PluginError::UnknownImport {
                who: who.clone(),
                import,
                reason,
            });
        }
        let missing = match name.interface {
            "changes" if !grants.changes => "changes = true",
            "process" if grants.process.is_empty() => "process = [\"PROGRAM\"]",
            "state" if !grants.state => "state = true",
            "notify" if !grants.notify => "notify = true",
            "outgoing-handler" if grants.http.is_empty() => "http = [\"HOST\"]",
            _ => continue,
        };
        return Err(PluginError::MissingGrant {
            who: who.clone(),
            import,
            key: missing.into(),
            table: who.table("allow"),
        });
    }
    Ok(())
}

/// Does it import any of WASI?
pub(crate) fn needs_wasi(imports: &[String]) -> bool {
    imports.iter().any(|import| import.starts_with("wasi:"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn who() -> Who {
        Who {
            kind: None,
            name: "p".into(),
        }
    }

    fn imports(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn additions_of_tool_chains_and_compatible_versions_are_taken() {
        let exports = imports(&["init", "exports", "memory", "ralph:plugin/gate@0.1.7"]);
        assert_eq!(
            kinds(&who(), &exports).unwrap(),
            [(Kind::Gate, "ralph:plugin/gate@0.1.7")]
        );
        let both = imports(&["ralph:plugin/gate@0.1.0", "ralph:plugin/gate@0.2.3"]);
        assert_eq!(
            kinds(&who(), &both).unwrap(),
            [(Kind::Gate, "ralph:plugin/gate@0.2.3")]
        );
        check_imports(
            &who(),
            &imports(&["wasi:cli/stderr@0.2.6", "ralph:plugin/log@0.1.3"]),
        )
        .unwrap();
    }

    #[test]
    fn another_contract_version_is_told_to_both_sides() {
        for (name, says) in [
            ("gate@0.3.0", ["use a newer ralph", "wit/released/0.2.1"]),
            ("gate@1.0.0", ["use a newer ralph", "wit/released/0.2.1"]),
            (
                "gate@0.0.9",
                ["the ralph that it was made for", "wit/released/0.2.1"],
            ),
            ("gate", ["without a version", "wit/released/0.2.1"]),
            // It came later than the version that is named.
            ("tool@0.1.0", ["which has `tool`", "wit/released/0.2.1"]),
        ] {
            let name = format!("ralph:plugin/{name}");
            let text = kinds(&who(), &imports(&[&name])).unwrap_err().to_string();
            let text2 = check_imports(&who(), &imports(&[&name]))
                .unwrap_err()
                .to_string();
            assert_eq!(text, text2);
            for words in ["this ralph serves 0.2.1 and 0.1.0", says[0], says[1]] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    }

    #[test]
    fn imports_that_nobody_links_are_named() {
        for name in [
            "wasi:http/outgoing-handler@0.3.0",
            "wasi:cli/stdout@0.3.0",
            "env",
            "ralph:plugin/secrets@0.1.0",
        ] {
            let text = check_imports(&who(), &imports(&[name]))
                .unwrap_err()
                .to_string();
            assert!(text.contains(name), "{text}");
        }
    }

    #[test]
    fn grants_are_asked_for_by_key_and_table() {
        let who = Who {
            kind: Some(Kind::Gate),
            name: "no-secrets".into(),
        };
        let wanted = imports(&["ralph:plugin/changes@0.1.0"]);
        let text = check_grants(&who, Kind::Gate, &wanted, &Grants::default())
            .unwrap_err()
            .to_string();
        assert_eq!(
            text,
            "gate \"no-secrets\": imports ralph:plugin/changes, which ralph.toml does not grant; \
             add `changes = true` to [plugins.no-secrets.allow]"
        );
        let all = Grants {
            changes: true,
            ..Grants::default()
        };
        check_grants(&who, Kind::Gate, &wanted, &all).unwrap();
        let asking = imports(&["wasi:http/types@0.2.6", "wasi:http/outgoing-handler@0.2.6"]);
        let text = check_grants(&who, Kind::Gate, &asking, &all)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("add `http = [\"HOST\"]` to [plugins.no-secrets.allow]"),
            "{text}"
        );
        assert!(check_grants(&who, Kind::Judge, &wanted, &all).is_err());
        assert!(check_grants(&who, Kind::Tool, &wanted, &all).is_err());
    }
}
