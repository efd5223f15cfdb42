//! Version and login of the claude that would run.

use crate::{Claude, Config};
use ralph_plugin::json_lines::str_at;
use ralph_plugin::{AgentCheck, Answer, Condition, Error, Login, Probe, config};
use serde_json::Value;

impl AgentCheck for Claude {
    fn probes() -> Result<Vec<Probe>, Error> {
        let config: Config = config()?;
        Ok(vec![
            Probe::new(config.program(), ["--version"]),
            Probe::new(config.program(), ["auth", "status"]),
        ])
    }

    fn read(answers: &[Answer], _: &[String]) -> Result<Condition, Error> {
        let [version, auth] = answers else {
            return Err(Error::failed("two answers were expected"));
        };
        let condition = Condition::of(version, "claude --version");
        if !condition.problems.is_empty() {
            return Ok(condition);
        }
        let report = serde_json::from_slice::<Value>(&auth.stdout).unwrap_or_default();
        let of = |pointer| str_at(&report, pointer).unwrap_or("?");
        Ok(match report.get("loggedIn").and_then(Value::as_bool) {
            Some(true) => {
                let source = str_at(&report, "/apiKeySource");
                let how = source.unwrap_or_else(|| of("/authMethod"));
                condition.login(Login::Yes, format!("{how}, {}", of("/apiProvider")))
            }
            Some(false) => condition.login(
                Login::No,
                "not logged in; run `claude auth login`, or set ANTHROPIC_API_KEY",
            ),
            // An older one has no `auth`.
            None => condition.login(Login::Unknown, "this claude has no `auth status`"),
        })
    }
}
