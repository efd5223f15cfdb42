//! What a driver and the host tell each other about whether a program is fit to work.

use serde::Serialize;

use crate::bindings::exports::ralph::plugin::agent_check as wit;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::plugin::{Answer as PluginAnswer, Plugin};
use crate::services::CallContext;
use crate::weight::Weight;
use crate::world::{self, f};

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// As in [`Launch::program`](crate::Launch::program).
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Laid over the environment which the host gives.
    pub env: Vec<(String, String)>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// `None` if a signal ended it, its time was over, or it could not be started.
    pub code: Option<i32>,
    /// The end of its standard output.
    pub stdout: Vec<u8>,
    /// The end of its standard error, or what kept it from being started.
    pub stderr: Vec<u8>,
}

/// Is there a login?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Login {
    /// There is.
    Yes,
    /// There is none.
    No,
    /// The program doesn't tell before it works.
    Unknown,
}

/// How an agent program stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// As the program says it.
    pub version: Option<String>,
    /// Is there a login?
    pub login: Login,
    /// How it is logged in, or what to do about it.
    pub login_detail: String,
    /// What else keeps it from working.
    pub problems: Vec<String>,
}

impl Plugin {
    /// Does this driver export `agent-check`?
    pub fn can_check(&self) -> bool {
        self.kind() == Kind::AgentDriver
            && world::export_of(world::CHECK, self.component().exports()).is_some()
    }

    /// Has a driver say by which commands its program is checked.
    pub async fn probes(&self, ctx: &CallContext) -> Result<Vec<Probe>, PluginError> {
        let mut live = self.start(ctx, Kind::AgentDriver).await?;
        let answer: PluginAnswer<Vec<wit::Probe>> = live.call(f::PROBES, ()).await?;
        let probes = self.accept(answer)?;
        Ok(probes
            .into_iter()
            .map(|p| Probe {
                program: p.program,
                args: p.args,
                env: p.env,
            })
            .collect())
    }

    /// Has a driver read what came of them.
    pub async fn read_condition(
        &self,
        ctx: &CallContext,
        answers: Vec<Answer>,
        env_names: &[String],
    ) -> Result<Condition, PluginError> {
        let mut live = self.start(ctx, Kind::AgentDriver).await?;
        let answers: Vec<wit::Answer> = answers
            .into_iter()
            .map(|a| wit::Answer {
                code: a.code,
                stdout: a.stdout,
                stderr: a.stderr,
            })
            .collect();
        let answer: PluginAnswer<wit::Condition> =
            live.call(f::READ, (answers.as_slice(), env_names)).await?;
        let c = self.accept(answer)?;
        Ok(Condition {
            version: c.version,
            login: match c.login {
                wit::Login::Yes => Login::Yes,
                wit::Login::No => Login::No,
                wit::Login::Unknown => Login::Unknown,
            },
            login_detail: c.login_detail,
            problems: c.problems,
        })
    }
}

impl Weight for wit::Probe {
    fn weight(&self) -> u64 {
        self.program.weight() + crate::weight::list(&self.args) + crate::weight::list(&self.env)
    }
}

impl Weight for Vec<wit::Probe> {
    fn weight(&self) -> u64 {
        crate::weight::list(self)
    }
}

impl Weight for wit::Condition {
    fn weight(&self) -> u64 {
        self.version.weight() + self.login_detail.weight() + crate::weight::list(&self.problems)
    }
}
