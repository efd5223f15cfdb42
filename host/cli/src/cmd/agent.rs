//! `ralph agent check`: can agents work? Their programs' versions and logins.

use std::path::Path;
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_config::Config;
use ralph_engine::types::Role;
use ralph_runner::agent_check::{self, Standing};
use ralph_runner::registry::Registry;
use ralph_runner::{Error, Project, Trust};
use serde_json::{Value, json};

use crate::args::{AgentArgs, AgentCommand};
use crate::out::Out;

pub async fn agent(dir: &Path, args: &AgentArgs, out: &Out) -> Result<ExitCode, Error> {
    let AgentCommand::Check { names } = &args.command;
    let project = Project::open(dir)?;
    Trust::of(&project)?.demand()?;
    let names = match names.as_slice() {
        [] => used(&project.config),
        names => names.to_vec(),
    };
    let list = standings(&project, &names, true).await?;
    for one in &list {
        let mark = if one.fit() {
            out.paint(AnsiColor::Green, "ok  ")
        } else {
            out.paint(AnsiColor::Red, "FAIL")
        };
        out.text(format!("{mark} {:<16} {}", one.agent, one.summary()));
    }
    let fit = list.iter().all(Standing::fit);
    let values: Vec<Value> = list
        .iter()
        .map(|one| {
            let mut value = json!(one);
            value["fit"] = one.fit().into();
            value
        })
        .collect();
    Ok(out.done(u8::from(!fit), &json!({ "agents": values })))
}

/// How these agents stand; with `ask` their programs are run.
pub async fn standings(
    project: &Project,
    names: &[String],
    ask: bool,
) -> Result<Vec<Standing>, Error> {
    let registry = Registry::new(super::host()?, project);
    let mut out = Vec::new();
    for name in names {
        let agent = registry
            .agent(Role::Work, name, project.config.agents.get(name))
            .await?;
        out.push(agent_check::check(project, &agent, ask).await?);
    }
    Ok(out)
}

/// The agents which a run would use, each once.
pub fn used(config: &Config) -> Vec<String> {
    let mut names = vec![config.run.agent.clone()];
    names.extend(config.run.fallback.iter().cloned());
    for judge in [&config.judge, &config.review] {
        names.extend(judge.agent.clone().filter(|_| judge.enabled));
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}
