//! Which programs the host runs for a plugin, and how it is told that one isn't.

use ralph_engine::programs::{ProgramPattern, Unlike};

use crate::error::{PluginError, Who};
use crate::grants::Grants;
use crate::manifest::Manifest;
use crate::services::Command;

/// No list has more patterns.
const MAX_PATTERNS: usize = 256;

/// A refused command is told to this many characters.
const SHOWN: usize = 200;

/// What one plugin may have run.
#[derive(Debug)]
pub(crate) struct Programs {
    granted: Vec<ProgramPattern>,
    /// What its manifest asks for, if it has one.
    asked: Option<Vec<ProgramPattern>>,
    /// Where more could be granted.
    table: String,
}

impl Programs {
    pub(crate) fn new(
        who: &Who,
        grants: &Grants,
        manifest: Option<&Manifest>,
    ) -> Result<Programs, PluginError> {
        let table = who.table("allow");
        let granted = read(&grants.process).map_err(|reason| PluginError::BadGrant {
            who: who.clone(),
            key: "process",
            table: table.clone(),
            reason,
        })?;
        // Read before without an error.
        let asked = manifest.and_then(|it| read(&it.capabilities.process).ok());
        Ok(Programs {
            granted,
            asked,
            table,
        })
    }

    pub(crate) fn is_none(&self) -> bool {
        self.granted.is_empty()
    }

    /// What it may not do and which side keeps it from that; `None` if it may.
    pub(crate) fn refusal(&self, command: &Command) -> Option<String> {
        let unlike = closest(&self.granted, command).err()?;
        let asked = self.asked.as_ref().map(|asked| closest(asked, command));
        let said = match unlike {
            Unlike::Env(name) => {
                let short: String = name.escape_debug().take(SHOWN).collect();
                format!("set {short} for {}", shown(command))
            }
            Unlike::Program | Unlike::Args => format!("run {}", shown(command)),
        };
        let advice = match (asked, unlike) {
            (Some(Err(_)), _) => {
                "its manifest doesn't ask for it, so that ralph.toml can't grant it; its author has to"
                    .to_owned()
            }
            (_, Unlike::Program) => format!("add it to `process` in {}", self.table),
            (_, Unlike::Args) => {
                let same = |it: &&ProgramPattern| {
                    it.admits(&command.program, &command.args, &[]) == Err(Unlike::Args)
                };
                let near: Vec<_> = self.granted.iter().filter(same).take(8).collect();
                let near: Vec<_> = near.iter().map(|it| format!("`{it}`")).collect();
                format!(
                    "add it to `process` in {}, which has {} of this program",
                    self.table,
                    near.join(", ")
                )
            }
            (_, Unlike::Env(_)) => format!(
                "name it before the program in `process` in {}, as in `NAME=* program`",
                self.table
            ),
        };
        Some(format!("{said}: {advice}"))
    }
}

/// Reads a list of patterns.
pub(crate) fn read(list: &[String]) -> Result<Vec<ProgramPattern>, String> {
    if list.len() > MAX_PATTERNS {
        return Err(format!("has more than {MAX_PATTERNS} entries"));
    }
    list.iter()
        .map(|text| ProgramPattern::parse(text).map_err(|why| format!("{text:?} {why}")))
        .collect()
}

/// What both lists stand for. One that can't be read stands for nothing.
pub(crate) fn met(ours: &[String], theirs: &[String]) -> Vec<String> {
    let (ours, theirs) = (read(ours), read(theirs));
    let mut found = Vec::new();
    for a in ours.iter().flatten() {
        for b in theirs.iter().flatten() {
            let both = a.met(b).map(|both| both.to_string());
            found.extend(both.filter(|both| !found.contains(both)));
        }
    }
    // As many as there can be in a list; more come of such as overlap in many ways.
    found.truncate(MAX_PATTERNS);
    found
}

/// Is it granted? If not, what is unlike in what comes the closest.
fn closest<'a>(patterns: &[ProgramPattern], command: &'a Command) -> Result<(), Unlike<'a>> {
    let mut closest = Unlike::Program;
    for pattern in patterns {
        match pattern.admits(&command.program, &command.args, &command.env) {
            Ok(()) => return Ok(()),
            Err(it @ Unlike::Env(_)) => closest = it,
            Err(Unlike::Args) if closest == Unlike::Program => closest = Unlike::Args,
            Err(_) => {}
        }
    }
    Err(closest)
}

/// As it would be typed, on one line and not too long.
fn shown(command: &Command) -> String {
    let words = std::iter::once(&command.program).chain(&command.args);
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend(word.chars().take(SHOWN).flat_map(char::escape_debug));
        if text.len() > SHOWN {
            break;
        }
    }
    let more = if text.chars().count() > SHOWN {
        "…"
    } else {
        ""
    };
    let short: String = text.chars().take(SHOWN).collect();
    format!("`{short}{more}`")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn programs(allow: &[&str], asked: Option<&[&str]>) -> Programs {
        let list = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let allow = list(allow);
        let process = match asked {
            Some(asked) => met(&allow, &list(asked)),
            None => allow,
        };
        let who = Who {
            kind: None,
            name: "p".into(),
        };
        let grants = Grants {
            process,
            ..Grants::default()
        };
        let mut programs = Programs::new(&who, &grants, None).unwrap();
        programs.asked = asked.map(|asked| read(&list(asked)).unwrap());
        programs
    }

    fn refused(programs: &Programs, words: &[&str], env: &[(&str, &str)]) -> Option<String> {
        let own = |(a, b): &(&str, &str)| (a.to_string(), b.to_string());
        programs.refusal(&Command {
            program: words[0].into(),
            args: words[1..].iter().map(ToString::to_string).collect(),
            env: env.iter().map(own).collect(),
            stdin: None,
            timeout_ms: None,
        })
    }

    #[test]
    fn a_refusal_names_what_and_the_side_that_refuses() {
        let own = programs(&["git diff *", "cargo"], None);
        assert_eq!(refused(&own, &["git", "diff", "HEAD"], &[]), None);
        let push = refused(&own, &["git", "push"], &[]).unwrap();
        assert_eq!(
            push,
            "run `git push`: add it to `process` in [plugins.p.allow], which has `git diff *` of this program"
        );
        let rm = refused(&own, &["rm", "a\nb"], &[]).unwrap();
        assert_eq!(
            rm,
            "run `rm a\\nb`: add it to `process` in [plugins.p.allow]"
        );
        let path = refused(&own, &["cargo"], &[("PATH", "evil")]).unwrap();
        assert!(
            path.contains("set PATH for `cargo`") && path.contains("[plugins.p.allow]"),
            "{path}"
        );
        let long = "x".repeat(1000);
        assert!(refused(&own, &["git", &long], &[]).unwrap().len() < 500);
        let both = programs(&["git"], Some(&["git diff"]));
        let text = refused(&both, &["git", "push"], &[]).unwrap();
        assert!(text.contains("its manifest doesn't ask"), "{text}");
        let both = programs(&["git diff"], Some(&["git"]));
        let text = refused(&both, &["git", "push"], &[]).unwrap();
        assert!(text.contains("[plugins.p.allow]"), "{text}");
    }

    #[test]
    fn lists_have_in_common_what_their_patterns_have() {
        let list = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let common = met(
            &list(&["git", "npm run *"]),
            &list(&["git diff", "git log **", "npm run lint"]),
        );
        assert_eq!(common, ["git diff", "git log **", "npm run lint"]);
        assert_eq!(met(&list(&["a'"]), &list(&["*"])), Vec::<String>::new());
        assert!(read(&list(&["x"; 257])).is_err());
    }
}
