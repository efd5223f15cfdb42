//! Asking an iteration's components again, with what they were given then.
//!
//! The canonicaliser, drivers, judges and gates get their recorded input and
//! must give the same bytes. No program runs, nothing on disk changes. What
//! can't be asked again is named, with the reason.
//!
//! - [`tape`]: what is kept of each call
//! - `services`: the host's side of a gate that is asked again

mod services;
pub mod tape;

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use ralph_engine::Fact;
use ralph_engine::types::{Role, Verdict};
use ralph_plugins::{CallContext, Host, Kind, PluginError, Services};
use ralph_workspace::{Workspace, sha256_hex};
use serde::Serialize;

use crate::agent;
use crate::audit::files;
use crate::audit::history::{self, Record};
use crate::error::Error;
use crate::names::Places;
use crate::project::Project;
use crate::registry::{Bound, Registry};
use services::{Again, Nothing};
use tape::{AgentTape, ChangesTape, GateTape, Given, JudgeTape};

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
        items.push(player.gate(&answer.name, &answer.verdict, &answer.plugin).await);
    }
    for role in [Role::Judge, Role::Review] {
        let answered = record.current_lines().iter().rev().find_map(|l| match &l.fact {
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
            return Err(not("what it was given was too long to be kept, or it never answered"));
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
            services: Arc::new(Nothing),
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

    async fn agent(&self) -> Item {
        let name = &self.record.current.agent;
        let outcome = match self
            .driver(name, &self.places.tape("work"), "prompt.md")
            .await
        {
            Ok((tape, _)) => {
                let journaled = self.record.current.ended.as_ref().map(|e| &e.outcome);
                match (&tape.outcome, journaled) {
                    (Some(kept), Some(told)) if kept != told => {
                        differs("the journal says that something else came of it")
                    }
                    _ => same("launch, events and outcome, from its recorded output"),
                }
            }
            Err(early) => early,
        };
        Item {
            what: format!("agent {name}"),
            outcome,
        }
    }

    /// A driver: what it launches, what it makes of the output, and of the end.
    async fn driver(
        &self,
        name: &str,
        path: &str,
        prompt: &str,
    ) -> Result<(AgentTape, String), Early> {
        let bound = self
            .registry
            .agent(name, self.project.config.agents.get(name))
            .await
            .map_err(|e| not(e.to_string()))?
            .bound;
        if bound.plugin.kind() == Kind::Agent {
            return Err(not(
                "it works in the workspace itself; asked again it would change that again",
            ));
        }
        let tape: AgentTape = self.tape(path)?;
        digest(&bound, &tape.given)?;
        let ctx = context(&tape.given, Arc::new(Nothing));
        let path = format!("{}/{prompt}", self.places.context);
        self.intact(&path)?;
        let text = self
            .ws()
            .read(&path, PROMPT_MAX)
            .map_err(|e| differs(e.to_string()))?
            .unwrap_or_default();
        let it = &tape.given.it;
        let launch = bound
            .plugin
            .prepare(&ctx, it, &String::from_utf8_lossy(&text))
            .await
            .map_err(|e| differs(format!("it refuses now: {e}")))?;
        if tape::launch_hash(&launch) != tape.launch {
            return Err(differs("it would launch something else"));
        }
        let Some(exit) = tape.exit.as_ref().and_then(tape::ExitTape::exit) else {
            return Err(not("the host had ended its program, so it never ruled"));
        };
        if !tape.whole {
            return Err(not("its output was longer than what is kept of it"));
        }
        self.intact(&tape.log)?;
        let mut again = AgentTape::new(tape.given.clone(), &launch, &tape.log, tape.from);
        let broke = |e: PluginError| differs(format!("it fails now: {e}"));
        let mut session = bound.plugin.session(&ctx, it).await.map_err(broke)?;
        let mut log = self
            .ws()
            .dir()
            .open(&tape.log)
            .map_err(|e| differs(format!("{}: {e}", tape.log)))?
            .into_std();
        log.seek(SeekFrom::Start(tape.from))
            .map_err(|e| differs(format!("{}: {e}", tape.log)))?;
        for len in &tape.chunks {
            let mut chunk = vec![0; *len as usize];
            log.read_exact(&mut chunk)
                .map_err(|e| differs(format!("{}: {e}", tape.log)))?;
            let reaction = session.feed(&chunk).await.map_err(broke)?;
            for event in &reaction.events {
                again.event(event);
            }
            again.wrote(&reaction.stdin, reaction.close_stdin);
        }
        // What the call itself said may be an error of the plugin, which is the same outcome then.
        let mut outcome = match session.finish(exit).await {
            Ok((outcome, events)) => {
                for event in &events {
                    again.event(event);
                }
                outcome
            }
            Err(e) => ralph_engine::types::AgentOutcome::Failed {
                message: e.to_string(),
            },
        };
        agent::shorten(&mut outcome);
        again.end(None, None);
        if again.events != tape.events {
            return Err(differs("it makes something else of the same output"));
        }
        if tape.outcome.as_ref() != Some(&outcome) {
            return Err(differs(format!("what came of it is now {outcome:?}")));
        }
        let answer = match outcome {
            ralph_engine::types::AgentOutcome::Finished { text } => text,
            _ => String::new(),
        };
        Ok((tape, answer))
    }

    async fn gate(&self, name: &str, then: &Verdict, plugin: &str) -> Item {
        let outcome = self
            .check(name, then, plugin)
            .await
            .unwrap_or_else(|early| early);
        Item {
            what: format!("gate {name}"),
            outcome,
        }
    }

    async fn check(&self, name: &str, then: &Verdict, plugin: &str) -> Result<Outcome, Early> {
        if plugin.is_empty() {
            return Err(not("it wasn't configured"));
        }
        let tape: GateTape = self.tape(&self.places.tape(&format!("gate {name}")))?;
        if !tape.answered {
            return Err(not("it had no answer in time, or asked more than is kept"));
        }
        if !tape.sees.is_empty() {
            return Err(not(format!(
                "it may see what isn't kept: {}",
                tape.sees.join(", ")
            )));
        }
        let Some(gate) = self.project.config.gates.iter().find(|g| g.name == name) else {
            return Err(not("it isn't configured any more"));
        };
        let bound = self
            .registry
            .gate(gate)
            .await
            .map_err(|e| not(e.to_string()))?
            .bound;
        digest(&bound, &tape.given)?;
        let changes: ChangesTape = self.tape(&self.places.tape("changes"))?;
        let programs: Vec<String> = tape.asked.runs.iter().map(|r| r.program.clone()).collect();
        let again = Arc::new(Again::new(tape.asked.clone(), changes.files));
        let ctx = context(&tape.given, again.clone());
        let now = match bound.plugin.check(&ctx, &tape.given.it).await {
            Ok(verdict) => verdict,
            Err(e) => Verdict::could_not(e.to_string()),
        };
        if let Some(why) = again.strayed() {
            return Err(differs(why));
        }
        if now != *then {
            return Err(differs(format!("it rules now: {}", now.summary)));
        }
        Ok(same(if programs.is_empty() {
            "its verdict, from the recorded changes".to_owned()
        } else {
            format!(
                "its verdict, from the recorded output of {}, which was not run again",
                programs.join(", ")
            )
        }))
    }

    /// Both turns, if there were two: the question, the agent's driver, the verdict.
    async fn judge(&self, role: Role, then: &Verdict, items: &mut Vec<Item>) {
        let word = if role == Role::Review { "review" } else { "judge" };
        for turn in 1..=2 {
            let name = format!("{word}-{turn}");
            let asked = format!("context/{name}.md");
            if !self.recorded.contains_key(&asked) {
                break;
            }
            let path = format!("{}/replay/{name}.json", self.places.context);
            let tape = self.tape::<JudgeTape>(&path);
            let (agent, last) = match &tape {
                Ok(tape) => (tape.given.it.agent.clone(), tape.verdict.is_some()),
                Err(_) => (String::new(), false),
            };
            let ruled = match tape {
                Ok(tape) => self
                    .rule(role, &tape, then, last)
                    .await
                    .unwrap_or_else(|early| early),
                Err(early) => early,
            };
            items.push(Item {
                what: format!("{word}, question {turn}"),
                outcome: ruled,
            });
            if !agent.is_empty() {
                let path = format!("{}/replay/{name}-agent.json", self.places.context);
                let outcome = match self.driver(&agent, &path, &format!("{name}.md")).await {
                    Ok(_) => same("launch, events and answer, from its recorded output"),
                    Err(early) => early,
                };
                items.push(Item {
                    what: format!("{word}'s agent {agent}, question {turn}"),
                    outcome,
                });
            }
        }
    }

    async fn rule(
        &self,
        role: Role,
        tape: &JudgeTape,
        then: &Verdict,
        last: bool,
    ) -> Result<Outcome, Early> {
        let config = &self.project.config;
        let table = if role == Role::Review {
            &config.review
        } else {
            &config.judge
        };
        // The recorded configuration is used, so no preamble has to be read.
        let bound = self
            .registry
            .judge(role, table, None)
            .await
            .map_err(|e| not(e.to_string()))?;
        digest(&bound, &tape.given)?;
        let ctx = context(&tape.given, Arc::new(Nothing));
        let broke = |e: PluginError| differs(format!("it fails now: {e}"));
        let question = bound
            .plugin
            .judge_prompt(&ctx, &tape.given.it, &tape.evidence)
            .await
            .map_err(broke)?;
        if sha256_hex(question.as_bytes()) != tape.question {
            return Err(differs("it asks something else now"));
        }
        let Some(answer) = &tape.answer else {
            return Ok(same("its question; there was no answer"));
        };
        match bound.plugin.judge_decide(&ctx, answer).await {
            Ok(verdict) if last && Some(&verdict) == tape.verdict.as_ref() => {
                Ok(if verdict == *then {
                    same("its question, and its verdict on the recorded answer")
                } else {
                    differs("the journal holds another verdict")
                })
            }
            Ok(verdict) => Err(differs(format!("it rules now: {}", verdict.summary))),
            Err(e) if Some(e.to_string()) == tape.refused => {
                Ok(same("its question; the answer can't be read, as then"))
            }
            Err(e) => Err(broke(e)),
        }
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
