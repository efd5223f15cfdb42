//! Gate `no-secrets`: no keys and tokens in the lines that the iteration added.
//!
//! ```toml
//! [[gates]]
//! name = "secrets"
//! plugin = "no-secrets"
//! config = { allow_paths = ["tests/fixtures/"], allow = ["an exact string"], max_diff = "8MiB" }
//! ```
//! Needs `allow.changes = true`.
//!
//! Known by their shape ([`tokens`]): AWS access key ids, tokens of GitHub, GitLab,
//! Slack, npm and PyPI, keys of Google, Stripe, OpenAI and Anthropic, JSON Web
//! Tokens; and private key blocks ([`keys`]). Beside those any literal that looks
//! drawn at random ([`entropy`]) and is assigned to a name such as `password`
//! ([`assigned`]). Examples, placeholders and references to variables don't count.
//!
//! What is found is never shown, only its first four characters. The content of
//! binary files isn't looked at. A diff that is too large to be read whole, or
//! that can't be read ([`diff`]), is not accepted.

pub mod assigned;
pub mod config;
pub mod diff;
pub mod entropy;
pub mod keys;
pub mod tokens;

use path_globs::PathGlobs;
use ralph_plugin::changes::DiffText;
use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, changes};

use config::Config;
use tokens::Found;

/// So many are listed one by one.
const MAX_FINDINGS: usize = 100;

/// The gate.
pub struct NoSecrets;

impl Gate for NoSecrets {
    fn check(_: &Iteration) -> Result<Verdict, Error> {
        let config: Config = ralph_plugin::config()?;
        let allowed_paths = PathGlobs::new(&config.allow_paths)
            .map_err(|why| Error::invalid_config(format!("`allow_paths`: {why}")))?;
        inspect(&changes::diff(config.max_diff.0), &config, &allowed_paths)
    }
}

ralph_plugin::gate!(NoSecrets);
ralph_plugin::manifest!(kinds: ["gate"], capabilities: { "changes": true });

/// Rules on one diff.
///
/// # Errors
/// The diff can't be read.
pub fn inspect(
    diff: &DiffText,
    config: &Config,
    allowed_paths: &PathGlobs,
) -> Result<Verdict, Error> {
    if diff.omitted_bytes > 0 {
        let finding = Finding::new(format!(
            "{} bytes of the diff could not be looked at; make smaller steps, or raise `max_diff` (now {}) of this gate",
            diff.omitted_bytes, config.max_diff
        ));
        return Ok(Verdict::fail("the diff is too large to be read whole")
            .with([finding.rule("no-secrets/diff-too-large")]));
    }
    if diff.text.trim().is_empty() {
        return Ok(Verdict::skip("nothing changed"));
    }
    let mut report = Report::new(config, allowed_paths);
    // Asked once, because asking it of every line costs as much as all the rest.
    report.any_key = diff.text.contains(keys::BEGIN);
    diff::added_lines(&diff.text, |path, number, line| {
        report.look(path, number, line)
    })
    .map_err(|e| Error::failed(format!("the diff can't be read: {}", e.0)))?;
    Ok(report.verdict())
}

struct Report<'c> {
    config: &'c Config,
    allowed_paths: &'c PathGlobs,
    path: String,
    path_is_allowed: bool,
    path_is_bare: bool,
    any_key: bool,
    waiting: keys::Waiting,
    lines: usize,
    findings: Vec<Finding>,
    more: usize,
}

impl<'c> Report<'c> {
    fn new(config: &'c Config, allowed_paths: &'c PathGlobs) -> Self {
        Report {
            config,
            allowed_paths,
            path: String::new(),
            path_is_allowed: false,
            path_is_bare: false,
            any_key: true,
            waiting: keys::Waiting::default(),
            lines: 0,
            findings: Vec::new(),
            more: 0,
        }
    }

    fn look(&mut self, path: &str, number: u32, line: &str) {
        if self.lines == 0 || self.path != path {
            path.clone_into(&mut self.path);
            self.path_is_allowed = self.allowed_paths.find(path).is_some();
            self.path_is_bare = assigned::is_bare(path);
            self.waiting = keys::Waiting::default();
        }
        self.lines += 1;
        if self.path_is_allowed {
            return;
        }
        if self.any_key {
            let mut waiting = self.waiting;
            waiting.look(number, line, &mut |begin, found| self.add(begin, found));
            self.waiting = waiting;
        }
        let mut any = false;
        tokens::find(line, &mut |found| {
            any = true;
            self.add(number, found);
        });
        if !any {
            assigned::find(line, self.path_is_bare, &mut |found| {
                self.add(number, found)
            });
        }
    }

    fn add(&mut self, number: u32, found: Found<'_>) {
        if self
            .config
            .allow
            .iter()
            .any(|allowed| allowed == found.secret)
        {
            return;
        }
        if self.findings.len() == MAX_FINDINGS {
            self.more += 1;
            return;
        }
        let shown: String = found.secret.chars().take(4).collect();
        let message = format!(
            "this looks like {} (`{shown}…`); take it out, and revoke it if it is real",
            found.what
        );
        self.findings.push(
            Finding::new(message)
                .at(&self.path, number)
                .rule(format!("no-secrets/{}", found.rule)),
        );
    }

    fn verdict(mut self) -> Verdict {
        if self.findings.is_empty() {
            return Verdict::pass(match self.lines {
                1 => "no secrets in 1 added line".to_owned(),
                n => format!("no secrets in {n} added lines"),
            });
        }
        let count = self.findings.len() + self.more;
        if self.more > 0 {
            self.findings
                .push(Finding::new(format!("and {} more", self.more)).rule("no-secrets/more"));
        }
        Verdict::fail(match count {
            1 => "1 possible secret in the added lines".to_owned(),
            n => format!("{n} possible secrets in the added lines"),
        })
        .with(self.findings)
    }
}
