//! What `ralph.toml` can say about prompts, claims and modes.

use std::collections::BTreeMap;

use ralph_engine::claim;
use ralph_engine::prompt::Budget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::types::{Agent, Config};
use crate::units::{Size, Span};

/// `[prompt]`: how long the parts of a prompt may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prompt {
    /// All specifications together.
    pub specs_max: Size,
    /// The notes for agents.
    pub agents_max: Size,
    /// The newest lines of the progress file.
    pub progress_max: Size,
    /// What a person says.
    pub feedback_max: Size,
}

impl Default for Prompt {
    fn default() -> Self {
        let default = Budget::default();
        let size = |bytes: usize| Size::from_bytes(bytes as u64);
        Prompt {
            specs_max: size(default.specs),
            agents_max: size(default.agents),
            progress_max: size(default.progress),
            feedback_max: size(default.feedback),
        }
    }
}

impl Prompt {
    /// The same in bytes.
    pub fn budget(&self) -> Budget {
        let bytes = |size: Size| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        Budget {
            agents: bytes(self.agents_max),
            specs: bytes(self.specs_max),
            feedback: bytes(self.feedback_max),
            progress: bytes(self.progress_max),
        }
    }
}

/// `[claims]`: how an agent says whether the task is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Claims {
    /// A last line that is one of these claims the task done. Empty: only the task file does.
    pub done: Vec<String>,
    /// A line that is one of these says that it isn't, whatever else is said.
    pub not_done: Vec<String>,
}

impl Default for Claims {
    fn default() -> Self {
        let tokens = claim::Tokens::default();
        Claims {
            done: tokens.done,
            not_done: tokens.not_done,
        }
    }
}

impl Claims {
    /// The same for the rule.
    pub fn tokens(&self) -> claim::Tokens {
        claim::Tokens {
            done: self.done.clone(),
            not_done: self.not_done.clone(),
        }
    }
}

/// `[modes.<name>]`: what is laid over the rest while this mode is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Mode {
    /// Instead of `[loop] agent`.
    pub agent: Option<String>,
    /// Instead of `[loop] max_iterations`.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_iterations: Option<u32>,
    /// Instead of `[loop] max_attempts`.
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: Option<u32>,
    /// Instead of `[loop] no_progress_limit`.
    #[schemars(range(min = 1, max = 100))]
    pub no_progress_limit: Option<u32>,
    /// Instead of `[loop] sleep`.
    pub sleep: Option<Span>,
    /// Instead of the `timeout` of the agents that work.
    pub timeout: Option<Span>,
    /// Instead of `[files] prompt`.
    pub prompt: Option<String>,
    /// Instead of `[judge] enabled`.
    pub judge: Option<bool>,
    /// Instead of `[review] enabled`.
    pub review: Option<bool>,
}

/// The modes that are there without a table, those of the Python loop's template.
pub fn built_in_modes() -> BTreeMap<&'static str, Mode> {
    let mode = |iterations, no_progress, seconds| Mode {
        max_iterations: Some(iterations),
        no_progress_limit: Some(no_progress),
        timeout: Some(Span::from_secs(seconds)),
        ..Mode::default()
    };
    BTreeMap::from([
        ("speed", mode(20, 3, 300)),
        ("quality", mode(50, 5, 900)),
        ("exploration", mode(30, 4, 300)),
    ])
}

impl Config {
    /// The mode of this name.
    pub fn mode(&self, name: &str) -> Option<Mode> {
        let own = self.modes.get(name).cloned();
        own.or_else(|| built_in_modes().remove(name))
    }

    /// Names of all modes.
    pub fn mode_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.modes.keys().map(String::as_str).collect();
        names.extend(built_in_modes().into_keys());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Lays a mode over the rest. `agent` works if it is given, whatever the mode says.
    pub fn apply(&mut self, mode: Mode, agent: Option<&str>) {
        let run = &mut self.run;
        let or = |new: Option<u32>, old: &mut u32| *old = new.unwrap_or(*old);
        or(mode.max_iterations, &mut run.max_iterations);
        or(mode.max_attempts, &mut run.max_attempts);
        or(mode.no_progress_limit, &mut run.no_progress_limit);
        run.sleep = mode.sleep.unwrap_or(run.sleep);
        if let Some(agent) = mode.agent {
            run.agent = agent;
        }
        if let Some(timeout) = mode.timeout {
            let mut names = vec![agent.unwrap_or(&self.run.agent).to_owned()];
            names.extend(self.run.fallback.iter().cloned());
            for name in names {
                if let Some(agent) = self.agent(&name) {
                    self.agents.insert(name, Agent { timeout, ..agent });
                }
            }
        }
        if mode.prompt.is_some() {
            self.files.prompt = mode.prompt;
        }
        self.judge.enabled = mode.judge.unwrap_or(self.judge.enabled);
        self.review.enabled = mode.review.unwrap_or(self.review.enabled);
    }
}
