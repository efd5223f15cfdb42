//! Reads what a component imports and exports, by name.

use std::fmt;

use crate::error::{PluginError, Who};
use crate::grants::Grants;
use crate::kind::Kind;

/// Version of `ralph:plugin` this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";

const PACKAGE: &str = "ralph:plugin";

/// What a driver may export beside its own interface.
pub(crate) const CHECK: &str = "agent-check";

/// Is this export that interface, in a version this host speaks?
pub(crate) fn is_check(full: &str) -> bool {
    Name::parse(full).is_some_and(|name| {
        name.package == PACKAGE && name.interface == CHECK && name.version.is_some_and(fits)
    })
}

/// Interfaces of WASI 0.2 packages that are linked (all of `wasi:cli/imports`).
const WASI: [&str; 6] = [
    "wasi:io",
    "wasi:clocks",
    "wasi:random",
    "wasi:cli",
    "wasi:filesystem",
    "wasi:sockets",
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

fn fits(version: &str) -> bool {
    version == CONTRACT_VERSION
        || matches!((track(version), track(CONTRACT_VERSION)), (Some(a), Some(b)) if a == b)
}

/// An error which says what to do about a contract of another version.
fn other_version(who: &Who, version: Option<&str>) -> PluginError {
    let ours = track(CONTRACT_VERSION);
    let advice = match version.and_then(track) {
        Some(theirs) if Some(theirs) > ours => "use a newer ralph, or rebuild the plugin",
        Some(_) => "rebuild the plugin against this ralph's wit/",
        None => "rebuild the plugin against a released version of wit/",
    };
    PluginError::Version {
        who: who.clone(),
        theirs: version.unwrap_or("without a version").into(),
        ours: CONTRACT_VERSION.into(),
        advice: advice.into(),
    }
}

/// The kinds of plugin a component with these exports is, with the exports' full
/// names. Exports that are nothing to ralph don't matter: tool chains add some.
pub(crate) fn kinds<'a>(
    who: &Who,
    exports: &[&'a str],
) -> Result<Vec<(Kind, &'a str)>, PluginError> {
    let mut kinds = Vec::new();
    let mut other = None;
    for full in exports {
        let Some(name) = Name::parse(full).filter(|name| name.package == PACKAGE) else {
            continue;
        };
        let Some(kind) = Kind::from_interface(name.interface) else {
            continue;
        };
        match name.version {
            Some(version) if fits(version) => kinds.push((kind, *full)),
            version => other = Some(version),
        }
    }
    if !kinds.is_empty() {
        return Ok(kinds);
    }
    if let Some(version) = other {
        return Err(other_version(who, version));
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
                Some(version) if fits(version) => {}
                version => return Err(other_version(who, version)),
            }
            let linked = [
                "types", "log", "config", "changes", "process", "events", "call",
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
        let Some(name) = Name::parse(full).filter(|name| name.package == PACKAGE) else {
            continue;
        };
        let owner = match name.interface {
            "changes" | "process" => Kind::Gate,
            "events" => Kind::Agent,
            "call" => Kind::AgentDriver,
            _ => continue,
        };
        let import = format!("{PACKAGE}/{}", name.interface);
        if kind != owner {
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
        let exports = ["init", "exports", "memory", "ralph:plugin/gate@0.1.7"];
        assert_eq!(
            kinds(&who(), &exports).unwrap(),
            [(Kind::Gate, "ralph:plugin/gate@0.1.7")]
        );
        check_imports(
            &who(),
            &imports(&["wasi:cli/stderr@0.2.6", "ralph:plugin/log@0.1.3"]),
        )
        .unwrap();
    }

    #[test]
    fn another_contract_version_is_told_with_both_sides() {
        for (version, advice) in [
            ("@0.2.0", "newer ralph"),
            ("@0.0.9", "rebuild"),
            ("", "rebuild"),
        ] {
            let name = format!("ralph:plugin/gate{version}");
            let text = kinds(&who(), &[name.as_str()]).unwrap_err().to_string();
            assert!(
                text.contains("this ralph has 0.1.0") && text.contains(advice),
                "{text}"
            );
            let text = check_imports(&who(), &[name]).unwrap_err().to_string();
            assert!(text.contains("this ralph has 0.1.0"), "{text}");
        }
    }

    #[test]
    fn imports_that_nobody_links_are_named() {
        for name in [
            "wasi:http/outgoing-handler@0.2.6",
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
        assert!(check_grants(&who, Kind::Judge, &wanted, &all).is_err());
    }
}
