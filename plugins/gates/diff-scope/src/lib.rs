//! Gate `diff-scope`: only certain paths may change.
//!
//! ```toml
//! [[gates]]
//! name = "scope"
//! plugin = "diff-scope"
//! config = { allow = ["src/**", "*.md"], deny = ["src/generated/"] }
//! ```
//! Needs `allow.changes = true`.
//!
//! Every path that the iteration changed must match a pattern of `allow`, if
//! there are any, and none of `deny`. How patterns are read: [`path_globs`].
//! Whatever the lists say, a `.git` at any depth and `.ralph` at the root may
//! not change, in any spelling of upper and lower case. Nothing changed: skipped.

use path_globs::PathGlobs;
use ralph_plugin::{Error, FileChange, Finding, Gate, Iteration, Verdict, changes, config};

/// So many paths are listed one by one.
const MAX_FINDINGS: usize = 100;

/// `config`
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// A changed path must match one of these, if there are any.
    pub allow: Vec<String>,
    /// A changed path must match none of these.
    pub deny: Vec<String>,
}

/// The gate.
pub struct DiffScope;

impl Gate for DiffScope {
    fn check(_: &Iteration) -> Result<Verdict, Error> {
        let config: Config = config()?;
        let scope = Scope {
            allow: globs("allow", &config.allow)?,
            deny: globs("deny", &config.deny)?,
        };
        Ok(scope.judge(&changes::files()))
    }
}

ralph_plugin::gate!(DiffScope);
ralph_plugin::manifest!(kinds: ["gate"], capabilities: { "changes": true });

fn globs(key: &str, patterns: &[String]) -> Result<PathGlobs, Error> {
    PathGlobs::new(patterns).map_err(|why| Error::invalid_config(format!("`{key}`: {why}")))
}

struct Scope {
    allow: PathGlobs,
    deny: PathGlobs,
}

impl Scope {
    fn judge(&self, files: &[FileChange]) -> Verdict {
        if files.is_empty() {
            return Verdict::skip("nothing changed");
        }
        let mut findings: Vec<_> = files
            .iter()
            .filter_map(|file| self.objection(&file.path))
            .collect();
        if findings.is_empty() {
            return Verdict::pass(format!("{} within the scope", count(files.len())));
        }
        let summary = format!(
            "{} of {} outside the scope: {}",
            findings.len(),
            count(files.len()),
            some(&findings)
        );
        let more = findings.len().saturating_sub(MAX_FINDINGS);
        findings.truncate(MAX_FINDINGS);
        let rest = (more > 0)
            .then(|| Finding::new(format!("and {more} more paths")).rule("diff-scope/more"));
        Verdict::fail(summary).with(findings).with(rest)
    }

    fn objection(&self, path: &str) -> Option<Finding> {
        let (rule, why) = if is_protected(path) {
            (
                "diff-scope/protected",
                "belongs to git or to ralph and may never be changed".to_owned(),
            )
        } else if let Some(pattern) = self.deny.find(path) {
            (
                "diff-scope/denied",
                format!("may not be changed: it matches `{pattern}` in `deny`"),
            )
        } else if !self.allow.is_empty() && self.allow.find(path).is_none() {
            (
                "diff-scope/outside",
                "may not be changed: it matches nothing in `allow`".to_owned(),
            )
        } else {
            return None;
        };
        Some(
            Finding::new(format!("`{path}` {why}; undo this change"))
                .in_file(path)
                .rule(rule),
        )
    }
}

fn is_protected(path: &str) -> bool {
    let mut parts = path.split('/').peekable();
    parts
        .peek()
        .is_some_and(|first| first.eq_ignore_ascii_case(".ralph"))
        || parts.any(|part| part.eq_ignore_ascii_case(".git"))
}

fn count(files: usize) -> String {
    if files == 1 {
        "1 changed file".into()
    } else {
        format!("{files} changed files")
    }
}

/// The first few paths, for the one line that people see.
fn some(findings: &[Finding]) -> String {
    let mut paths: Vec<_> = findings
        .iter()
        .filter_map(|f| f.path.as_deref())
        .take(3)
        .collect();
    if findings.len() > paths.len() {
        paths.push("…");
    }
    paths.join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ralph_plugin::Status;
    use ralph_plugin::testing::{Host, iteration};

    fn check(config: &str, paths: &[&str]) -> Result<Verdict, Error> {
        let host = paths
            .iter()
            .fold(Host::new().config(config), |host, path| host.changed(path));
        host.run(|| DiffScope::check(&iteration())).0
    }

    /// Path and rule of each finding.
    fn found(config: &str, paths: &[&str]) -> Vec<(String, String)> {
        let verdict = check(config, paths).unwrap();
        assert_eq!(verdict.passed(), verdict.findings.is_empty());
        verdict
            .findings
            .into_iter()
            .map(|f| (f.path.unwrap_or_default(), f.rule.unwrap_or_default()))
            .collect()
    }

    fn pair(path: &str, rule: &str) -> (String, String) {
        (path.into(), format!("diff-scope/{rule}"))
    }

    #[test]
    fn only_what_allow_names_may_change() {
        let config = r#"{"allow": ["src/**", "*.md"]}"#;
        assert_eq!(found(config, &["src/a.rs", "x/README.md"]), []);
        assert_eq!(
            found(config, &["Cargo.toml", "src/a.rs", "tests/b.rs"]),
            [pair("Cargo.toml", "outside"), pair("tests/b.rs", "outside")]
        );
    }

    #[test]
    fn deny_wins_over_allow() {
        let config = r#"{"allow": ["**"], "deny": ["*.lock"]}"#;
        assert_eq!(
            found(config, &["a/Cargo.lock", "a/b"]),
            [pair("a/Cargo.lock", "denied")]
        );
    }

    #[test]
    fn without_lists_only_git_and_ralph_are_closed() {
        assert_eq!(
            found(
                "{}",
                &[
                    "anything",
                    "a/.ralph/x",
                    ".gitignore",
                    ".github/x",
                    ".ralphx"
                ]
            ),
            []
        );
    }

    #[test]
    fn git_and_ralph_are_closed_even_if_allowed() {
        let config = r#"{"allow": ["**", ".git/**", ".ralph/"]}"#;
        let paths = [
            ".git/config",
            ".GIT/hooks/pre-commit",
            "sub/.git/config",
            "sub/.git",
            ".ralph/x",
            ".Ralph/PROMPT.md",
        ];
        assert_eq!(found(config, &paths), paths.map(|p| pair(p, "protected")));
    }

    #[test]
    fn nothing_changed_is_skipped() {
        assert_eq!(
            check(r#"{"allow": ["a"]}"#, &[]).unwrap().status,
            Status::Skip
        );
    }

    #[test]
    fn a_bad_pattern_or_key_is_a_configuration_error_even_if_nothing_changed() {
        for (config, named) in [
            (r#"{"allow": ["[a"]}"#, "`[a`"),
            (r#"{"deny": ["a", "{b"]}"#, "`{b`"),
            (r#"{"alow": []}"#, "alow"),
            (r#"{"deny": "a"}"#, "deny"),
        ] {
            let error = check(config, &[]).unwrap_err();
            assert!(
                matches!(&error, Error::InvalidConfig(text) if text.contains(named)),
                "{config}: {error:?}"
            );
        }
    }

    #[test]
    fn a_thousand_paths_make_a_bounded_report() {
        let paths: Vec<_> = (0..1000).map(|i| format!("x/{i}")).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let verdict = check(r#"{"allow": ["src/"]}"#, &paths).unwrap();
        assert_eq!(verdict.findings.len(), 101);
        assert_eq!(
            verdict.findings.last().unwrap().message,
            "and 900 more paths"
        );
        assert_eq!(
            verdict.summary,
            "1000 of 1000 changed files outside the scope: x/0, x/1, x/2, …"
        );
    }
}
