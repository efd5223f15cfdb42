//! Version and login of the codex that would run.

use crate::{Codex, Config};
use ralph_plugin::json_lines::str_at;
use ralph_plugin::{AgentCheck, Answer, Condition, Error, Login, Probe, config, first_of, text};
use serde_json::Value;

impl AgentCheck for Codex {
    fn probes() -> Result<Vec<Probe>, Error> {
        let config: Config = config()?;
        let settings = settings(&config.args);
        let with = |rest: &[&str]| {
            let rest = rest.iter().map(|s| (*s).to_owned());
            Probe::new(config.program(), settings.clone().into_iter().chain(rest))
        };
        Ok(vec![
            Probe::new(config.program(), ["--version"]),
            with(&["doctor", "--json"]),
            with(&["login", "status"]),
        ])
    }

    fn read(answers: &[Answer], env_names: &[String]) -> Result<Condition, Error> {
        let [version, doctor, status] = answers else {
            return Err(Error::failed("three answers were expected"));
        };
        let condition = Condition::of(version, "codex --version");
        if !condition.problems.is_empty() {
            return Ok(condition);
        }
        // It knows the provider that its own configuration names, and what that wants.
        if let Ok(report) = serde_json::from_slice::<Value>(&doctor.stdout)
            && let Some(found) = str_at(&report, "/checks/auth.credentials/status")
        {
            let of = |key: &str| {
                let pointer = format!("/checks/auth.credentials/{key}");
                str_at(&report, &pointer).unwrap_or_default().to_owned()
            };
            let (login, detail) = match (found, of("details/provider auth env var")) {
                ("ok", _) => (Login::Yes, of("summary")),
                (_, none) if none.is_empty() => {
                    (Login::No, format!("{}; run `codex login`", of("summary")))
                }
                (_, variable) => (Login::No, format!("{}: {variable}", of("summary"))),
            };
            let mut condition = condition.login(login, detail);
            if str_at(&report, "/checks/config.load/status") == Some("fail") {
                let summary = str_at(&report, "/checks/config.load/summary");
                let what = summary.unwrap_or("codex's own configuration can't be read");
                condition.problems.push(what.to_owned());
            }
            return Ok(condition);
        }
        // A codex without `doctor`.
        Ok(match first_of(&["CODEX_API_KEY"], env_names) {
            Some(name) => condition.login(Login::Yes, format!("{name} is set")),
            None if status.succeeded() => {
                condition.login(Login::Yes, text::last_lines(&status.stderr, 1))
            }
            None => condition.login(Login::No, "not logged in; run `codex login`"),
        })
    }
}

/// The settings among the arguments of `codex exec`; other commands take no more of them.
fn settings(args: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "-c" | "--config" => {
                if let Some(value) = rest.next() {
                    out.extend(["-c".to_owned(), value.clone()]);
                }
            }
            other => {
                if let Some(value) = other.strip_prefix("--config=") {
                    out.extend(["-c".to_owned(), value.to_owned()]);
                }
            }
        }
    }
    out
}
