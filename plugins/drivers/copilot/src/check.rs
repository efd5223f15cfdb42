//! Version and login of the copilot that would run.

use crate::{Config, Copilot};
use ralph_plugin::{AgentCheck, Answer, Condition, Error, Login, Probe, config, first_of};

/// Each of these is a login, in the order in which the CLI looks for them.
const TOKENS: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
/// With a provider of one's own there is no login at GitHub.
const PROVIDER: [&str; 1] = ["COPILOT_PROVIDER_BASE_URL"];

impl AgentCheck for Copilot {
    fn probes() -> Result<Vec<Probe>, Error> {
        let config: Config = config()?;
        Ok(vec![Probe::new(config.program(), ["--version"])])
    }

    fn read(answers: &[Answer], env_names: &[String]) -> Result<Condition, Error> {
        let [version] = answers else {
            return Err(Error::failed("one answer was expected"));
        };
        let mut condition = Condition::of(version, "copilot --version");
        if !condition.problems.is_empty() {
            return Ok(condition);
        }
        if let Some(name) = first_of(&PROVIDER, env_names) {
            let model: Config = config()?;
            if model.model.is_none() && first_of(&["COPILOT_MODEL"], env_names).is_none() {
                condition.problems.push(format!(
                    "{name} is set, so a model has to be named: `model` of the agent, or COPILOT_MODEL"
                ));
            }
            return Ok(condition.login(Login::Yes, format!("a provider of its own, by {name}")));
        }
        Ok(match first_of(&TOKENS, env_names) {
            Some(name) => condition.login(Login::Yes, format!("{name} is set")),
            None => condition.login(
                Login::Unknown,
                "no token in the environment; whether it is logged in, copilot tells only when it works",
            ),
        })
    }
}
