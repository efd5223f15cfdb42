//! Asking an iteration's components again, with what they were given then.
//!
//! The canonicaliser, drivers, judges and gates get their recorded input and
//! must give the same bytes. No program runs, nothing on disk changes. What
//! can't be asked again is named, with the reason.
//!
//! - [`tape`]: what is kept of each call; [`output`]: what an agent's program printed
//! - `driver`, `rulers`: who is asked again
//! - `services`: the host's side of a gate that is asked again

mod driver;
pub mod output;
mod rulers;
mod services;
pub mod tape;

use std::collections::BTreeMap;
use std::sync::Arc;

use ralph_engine::Fact;
use ralph_engine::types::Role;
use ralph_plugins::{CallContext, Host, Services};
use ralph_workspace::{Workspace, sha256_hex};
use serde::Serialize;

use crate::audit::files;
use crate::audit::history::{self, Record};
use crate::error::Error;
use crate::names::Places;
use crate::project::Project;
use crate::registry::{Bound, Registry};
use services::Nothing;
use tape::Given;

/// A prompt is read to this size.
const PROMPT_MAX: u64 = 64 << 20;

/// What came of a replay.
#[derive(Debug, Clone, Serialize)]
pub struct Replay {
    /// The iteration.
    pub iteration: u32,
    /// Names its attempt in every record.
    pub attempt_id: String,
    /// Did everything that could be asked again answer as it did then?
    pub same: bool,
    /// One by one.
    pub items: Vec<Item>,
}

/// One component's.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Which call.
    pub what: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What asking one component again came to.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The same bytes.
    Same {
        /// What was asked again, in a few words.
        note: String,
    },
    /// Something else, or its recorded input isn't what the journal says.
    Differs {
        /// What.
        why: String,
    },
    /// It can't be asked again.
    NotReplayed {
        /// Why.
        why: String,
    },
}

fn same(note: impl Into<String>) -> Outcome {
    Outcome::Same { note: note.into() }
}

fn differs(why: impl Into<String>) -> Outcome {
    Outcome::Differs { why: why.into() }
}

fn not(why: impl Into<String>) -> Outcome {
    Outcome::NotReplayed { why: why.into() }
}

/// Why a step ended before its comparison.
type Early = Outcome;

/// Replays an iteration that has ended.
///
/// # Errors
/// There is no such iteration, its records were removed, or the journal can't be read.
pub async fn replay(project: &Project, host: Host, number: u32) -> Result<Replay, Error> {
    let record = history::find(&project.ws, number)?;
    let Some(prepared) = &record.current.prepared else {
        return Err(Error::Usage(format!(
            "iteration {number} never had a prompt; there is nothing to replay"
        )));
    };
    let player = Player {
        project,
        registry: Registry::new(host, project),
        places: Places::of(&record.current.task.id, &prepared.attempt_id),
        recorded: record.recorded().cloned().unwrap_or_default(),
        record: &record,
    };
    let mut items = vec![player.prompt().await];
    items.push(player.agent().await);
    for answer in record.gates() {
        items.push(
            player
                .gate(&answer.name, &answer.verdict, &answer.plugin)
                .await,
        );
    }
    for role in [Role::Judge, Role::Review] {
        let answered = record
            .current_lines()
            .iter()
            .rev()
            .find_map(|l| match &l.fact {
                Fact::Answered {
                    role: who, verdict, ..
                } if *who == role => Some(verdict.clone()),
                _ => None,
            });
        if let Some(verdict) = answered {
            player.judge(role, &verdict, &mut items).await;
        }
    }
    let attempt_id = prepared.attempt_id.clone();
    Ok(Replay {
        iteration: number,
        attempt_id,
        same: !items
            .iter()
            .any(|i| matches!(i.outcome, Outcome::Differs { .. })),
        items,
    })
}

struct Player<'a> {
    project: &'a Project,
    registry: Registry,
    places: Places,
    recorded: BTreeMap<String, String>,
    record: &'a Record,
}

impl Player<'_> {
    fn ws(&self) -> &Workspace {
        &self.project.ws
    }

    /// The input is what the journal says it was.
    fn intact(&self, path: &str) -> Result<(), Early> {
        let Some(then) = self.recorded.get(&self.places.short(path)) else {
            return Err(not(format!("{path} was never recorded")));
        };
        match files::hash(self.ws(), path) {
            Ok(Some(now)) if now == *then => Ok(()),
            Ok(Some(_)) => Err(differs(format!("{path} isn't what the journal recorded"))),
            Ok(None) => Err(differs(format!("{path} is gone"))),
            Err(e) => Err(differs(e.to_string())),
        }
    }

    /// A tape, if it is there and intact.
    fn tape<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, Early> {
        if !self.recorded.contains_key(&self.places.short(path)) {
            return Err(not(
                "what it was given was too long to be kept, or it never answered",
            ));
        }
        self.intact(path)?;
        match tape::load(self.ws(), path) {
            Ok(Some(tape)) => Ok(tape),
            Ok(None) => Err(differs(format!("{path} is gone"))),
            Err(why) => Err(differs(why)),
        }
    }

    async fn prompt(&self) -> Item {
        let outcome = self.canonical().await.unwrap_or_else(|early| early);
        Item {
            what: "prompt fingerprint".into(),
            outcome,
        }
    }

    async fn canonical(&self) -> Result<Outcome, Early> {
        let Some(prepared) = &self.record.current.prepared else {
            return Err(not("there was no prompt"));
        };
        let path = format!("{}/prompt.md", self.places.context);
        self.intact(&path)?;
        let bytes = self
            .ws()
            .read(&path, PROMPT_MAX)
            .map_err(|e| differs(e.to_string()))?
            .unwrap_or_default();
        let bound = self
            .registry
            .canonicaliser("text")
            .await
            .map_err(|e| not(e.to_string()))?;
        let ctx = CallContext {
            services: Arc::<Nothing>::default(),
            config: bound.config.clone(),
            root: None,
            now: std::time::SystemTime::UNIX_EPOCH,
            seed: prepared.attempt_id.clone(),
        };
        let plugin = &bound.plugin;
        let algorithm = plugin
            .algorithm(&ctx)
            .await
            .map_err(|e| differs(e.to_string()))?;
        if algorithm != prepared.algorithm {
            return Err(not(format!(
                "it was made with {}; now there is {algorithm}",
                prepared.algorithm
            )));
        }
        let canonical = plugin
            .canonicalise(&ctx, &path, &bytes)
            .await
            .map_err(|e| differs(e.to_string()))?;
        let now = format!("sha256:{}", sha256_hex(&canonical));
        Ok(if now == prepared.fingerprint {
            same(now)
        } else {
            differs(format!("{now}, where it was {}", prepared.fingerprint))
        })
    }
}

/// The component is the one that was asked then.
fn digest(bound: &Bound, given: &Given) -> Result<(), Early> {
    let now = bound.plugin.digest();
    if now == given.plugin {
        return Ok(());
    }
    let short = |d: &str| d.get(..12).unwrap_or(d).to_owned();
    Err(not(format!(
        "the component is another one now ({}, then {})",
        short(now),
        short(&given.plugin)
    )))
}

fn context(given: &Given, services: Arc<dyn Services>) -> CallContext {
    CallContext {
        services,
        config: given.config.clone(),
        root: None,
        now: given.time(),
        seed: given.seed.clone(),
    }
}
