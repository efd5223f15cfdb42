//! Is an agent fit to work? Its program's version and login, by commands that ask no model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_plugins::{Answer, Condition, Kind, Login, Probe};
use ralph_process::{EndedBy, Spawn, Stdin};
use serde::Serialize;

use crate::bus::Bus;
use crate::control::Control;
use crate::error::Error;
use crate::program;
use crate::project::Project;
use crate::registry::BoundAgent;
use crate::services::CallServices;

/// One command may take this long.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Of each stream this much is kept, its end.
const TAIL: usize = 256 * 1024;
/// A driver may have this many commands run.
const PROBES: usize = 8;

/// How an agent stands.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// `[agents.<name>]`
    pub agent: String,
    /// Its driver or agent component.
    pub plugin: String,
    /// The file that is started; `None` if there is none, or none is needed.
    pub program: Option<PathBuf>,
    /// Its own settings and login, if they aren't those of the user.
    pub home: Option<PathBuf>,
    /// What its driver says of it; `None` if the driver can't tell.
    pub condition: Option<Condition>,
    /// What keeps it from working, one line each.
    pub problems: Vec<String>,
}

impl Standing {
    /// Can it work, as far as that can be told?
    pub fn fit(&self) -> bool {
        self.problems.is_empty()
    }

    /// In one line, without its name.
    pub fn summary(&self) -> String {
        if !self.fit() {
            return self.problems.join("; ");
        }
        let mut parts = Vec::new();
        match &self.program {
            Some(program) => parts.push(program.display().to_string()),
            None => parts.push("works in the sandbox; needs no program".into()),
        }
        if let Some(condition) = &self.condition {
            if let Some(version) = &condition.version {
                parts.push(format!("version {version}"));
            }
            let login = match condition.login {
                Login::Yes => "logged in",
                Login::No => "not logged in",
                Login::Unknown => "login not known",
            };
            parts.push(match condition.login_detail.as_str() {
                "" => login.to_owned(),
                detail => format!("{login} ({detail})"),
            });
        }
        if let Some(home) = &self.home {
            parts.push(format!("home {}", home.display()));
        }
        parts.join(", ")
    }
}

/// Looks for the agent's program and, with `ask`, runs the commands by which its driver checks it.
///
/// # Errors
/// The driver refuses its configuration, or is broken.
pub async fn check(project: &Project, agent: &BoundAgent, ask: bool) -> Result<Standing, Error> {
    let plugin = &agent.bound.plugin;
    let mut standing = Standing {
        agent: agent.name.clone(),
        plugin: plugin.name().to_owned(),
        program: None,
        home: agent.home.clone(),
        condition: None,
        problems: Vec::new(),
    };
    if plugin.kind() == Kind::Agent {
        return Ok(standing);
    }
    let root = project.ws.root();
    let env = program::environment(agent, &[]);
    let wanted = match agent.agent.argv.first() {
        Some(wanted) => wanted.as_str(),
        None => plugin.name(),
    };
    if program::find(root, wanted, &env).is_none() {
        standing.problems.push(format!(
            "there is no program `{wanted}`; install it, or name another in [agents.{}] argv",
            agent.name
        ));
        return Ok(standing);
    }
    standing.program = Some(program::resolve(root, wanted, &env).into());
    if !ask || !plugin.can_check() {
        return Ok(standing);
    }
    program::make_home(agent)?;
    let (_control, stopping) = Control::new();
    let services = Arc::new(CallServices::plain(
        plugin.name(),
        &Bus::default(),
        &stopping,
    ));
    let ctx = services.context(&agent.bound.config, None, "check");
    let empty = tempfile::tempdir().map_err(|e| Error::io("a temporary directory", e))?;
    let mut answers = Vec::new();
    for probe in plugin.probes(&ctx).await?.into_iter().take(PROBES) {
        answers.push(run(project, agent, probe, empty.path()).await);
    }
    let names: Vec<String> = env
        .iter()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    let condition = plugin.read_condition(&ctx, answers, &names).await?;
    let line = |text: &str| ralph_engine::text::one_line(text, 400);
    standing
        .problems
        .extend(condition.problems.iter().map(|p| line(p)));
    if condition.login == Login::No {
        standing.problems.push(line(&condition.login_detail));
    }
    standing.condition = Some(Condition {
        version: condition.version.map(|v| line(&v)),
        login_detail: line(&condition.login_detail),
        ..condition
    });
    Ok(standing)
}

async fn run(project: &Project, agent: &BoundAgent, probe: Probe, dir: &std::path::Path) -> Answer {
    let env = program::environment(agent, &probe.env);
    let spawn = Spawn {
        program: program::resolve(project.ws.root(), &probe.program, &env),
        args: probe.args.iter().map(Into::into).collect(),
        env,
        stdin: Stdin::Empty,
        timeout: Some(TIMEOUT),
        ..Spawn::new("", dir)
    };
    match ralph_process::run(spawn, TAIL).await {
        Ok(out) if out.finished.ended_by == EndedBy::Timeout => Answer {
            code: None,
            stdout: out.stdout,
            stderr: format!("not over after {} seconds", TIMEOUT.as_secs()).into_bytes(),
        },
        Ok(out) => Answer {
            code: out.finished.code,
            stdout: out.stdout,
            stderr: out.stderr,
        },
        Err(e) => Answer {
            code: None,
            stdout: Vec::new(),
            stderr: e.to_string().into_bytes(),
        },
    }
}
