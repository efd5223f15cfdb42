//! One call of a component, whatever its kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use ralph_engine::text::strip_escapes;
use ralph_engine::types::Verdict;
use ralph_plugins::{
    CallContext, Component, Exit, Grants, Kind, Launch, Level, Limits, NewTask, Notice, Plugin,
    PluginError, Tracked,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::input::{Given, Input, Track};
use crate::stage::Stage;

/// What came of a call.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// What it gave back, or why it gave nothing.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Where it asked the host for something else than the input has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
    /// Its log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// The most memory that it had, in bytes.
    #[serde(skip)]
    pub memory: u64,
}

/// Either.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// By kind: a verdict, a question, tools, …
    Answer(Value),
    /// It refused, or was ended.
    Error(String),
}

/// A component, ready to be asked.
pub struct Asker {
    plugin: Plugin,
    dirs: bool,
}

impl Asker {
    /// Grants it what it asks for in its manifest; without one, what it imports.
    ///
    /// # Errors
    /// It is of another kind, or asks for what can't be granted.
    pub fn new(component: Arc<Component>, kind: Option<Kind>) -> Result<Asker, Error> {
        let kind = kind.unwrap_or_else(|| component.kind());
        let imports = |name: &str| {
            let all = component.imports().iter();
            all.map(|i| i.split('@').next().unwrap_or_default())
                .any(|i| i.strip_prefix("ralph:plugin/") == Some(name))
        };
        let grants = match component.manifest() {
            Some(manifest) => manifest.capabilities.clone(),
            None => Grants {
                changes: imports("changes") && kind == Kind::Gate,
                process: imports("process")
                    .then(|| "*".to_owned())
                    .into_iter()
                    .collect(),
                ..Grants::default()
            },
        };
        let dirs = kind == Kind::Agent || !grants.read.is_empty() || !grants.write.is_empty();
        let name = match component.manifest() {
            Some(manifest) => manifest.name.clone(),
            None => component.name().to_owned(),
        };
        let plugin = Plugin::bind(component, &name, kind, grants, Limits::default())?;
        Ok(Asker { plugin, dirs })
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.plugin.kind()
    }

    /// SHA-256 of the component.
    pub fn digest(&self) -> &str {
        self.plugin.digest()
    }

    /// Asks it. What it answers, a refusal or a crash is all an answer.
    ///
    /// # Errors
    /// The input can't be used.
    pub async fn ask(&self, given: &Given) -> Result<Answer, Error> {
        let stage = Arc::new(Stage::new(given));
        let root = self.root(given)?;
        let ctx = CallContext {
            services: stage.clone(),
            config: given.input.config(),
            root: root.as_ref().map(|dir| dir.path().to_owned()),
            now: match &given.recorded {
                Some(recorded) => recorded.now,
                None => UNIX_EPOCH + Duration::from_secs(given.input.now),
            },
            seed: given.input.seed.clone(),
        };
        let answered = self.call(&ctx, given).await;
        let seen = stage.seen();
        let mut value = match answered {
            Ok(value) => value,
            Err(Failed::Input(e)) => return Err(e),
            Err(Failed::Plugin(e)) => {
                return Ok(Answer {
                    // Its own words may be in it.
                    outcome: Outcome::Error(strip_escapes(&e.to_string())),
                    strayed: seen.strayed,
                    log: lines(seen.log),
                    memory: seen.memory,
                });
            }
        };
        if self.kind() == Kind::Agent {
            value["events"] = json!(seen.events);
        }
        if let Some(dir) = root.as_ref().filter(|_| self.kind() == Kind::Agent) {
            value["files"] = json!(written(dir.path(), given.files.as_deref()));
        }
        Ok(Answer {
            outcome: Outcome::Answer(value),
            strayed: seen.strayed,
            log: lines(seen.log),
            memory: seen.memory,
        })
    }

    /// The project's files, in a copy: a call leaves no trace.
    fn root(&self, given: &Given) -> Result<Option<tempfile::TempDir>, Error> {
        if !self.dirs {
            return Ok(None);
        }
        let dir = tempfile::tempdir().map_err(|e| Error::io("a temporary directory", e))?;
        if let Some(files) = &given.files {
            copy(files, dir.path())?;
        }
        Ok(Some(dir))
    }

    async fn call(&self, ctx: &CallContext, given: &Given) -> Result<Value, Failed> {
        let (plugin, input) = (&self.plugin, &given.input);
        let it = match &given.recorded {
            Some(recorded) => recorded.it.clone(),
            None => input.iteration().map_err(Failed::Input)?,
        };
        let value = match self.kind() {
            Kind::Gate => verdict(&plugin.check(ctx, &it).await?),
            Kind::Judge => match &input.answer {
                Some(answer) => verdict(&plugin.judge_decide(ctx, answer).await?),
                None => {
                    let evidence = input.evidence.clone().unwrap_or_default();
                    json!({ "question": plugin.judge_prompt(ctx, &it, &evidence).await? })
                }
            },
            Kind::Canonicaliser => {
                let algorithm = plugin.algorithm(ctx).await?;
                let content = input.content.clone().unwrap_or_default();
                let path = input.path.as_deref().unwrap_or("document");
                let made = plugin.canonicalise(ctx, path, content.as_bytes()).await?;
                json!({ "algorithm": algorithm, "content": String::from_utf8_lossy(&made) })
            }
            Kind::Tool => match &input.tool {
                Some(name) => {
                    let arguments = input.arguments.clone().unwrap_or_else(|| json!({}));
                    let said = plugin.call_tool(ctx, name, &arguments.to_string()).await?;
                    json!({ "result": or_text(said) })
                }
                None => {
                    let tools = plugin.tools(ctx).await?;
                    let shown = tools.into_iter().map(|t| {
                        json!({ "name": t.name, "description": t.description, "input_schema": or_text(t.input_schema) })
                    });
                    json!({ "tools": shown.collect::<Vec<_>>() })
                }
            },
            Kind::Notifier => {
                plugin.notify(ctx, &notice(input)).await?;
                json!({ "told": true })
            }
            Kind::Tracker => self.track(ctx, input).await?,
            Kind::AgentDriver => self.drive(ctx, given).await?,
            Kind::Agent => {
                let prompt = input.prompt.as_deref().unwrap_or_default();
                json!({ "outcome": plugin.run_agent(ctx, &it, prompt).await? })
            }
        };
        Ok(value)
    }

    async fn track(&self, ctx: &CallContext, input: &Input) -> Result<Value, PluginError> {
        let plugin = &self.plugin;
        let (task, became) = match input.track.clone().unwrap_or(Track::Load) {
            Track::Load => {
                let tasks = plugin.tracked(ctx).await?.into_iter().map(|(task, state)| {
                    let mut shown = json!(task);
                    shown["state"] = json!(state);
                    shown
                });
                return Ok(json!({ "tasks": tasks.collect::<Vec<_>>() }));
            }
            Track::Begin(task) => {
                plugin.track_begin(ctx, &task).await?;
                return Ok(json!({}));
            }
            Track::Add {
                title,
                acceptance,
                depends_on,
            } => {
                let new = NewTask {
                    title,
                    acceptance,
                    depends_on,
                };
                return Ok(json!({ "id": plugin.track_new(ctx, &new).await? }));
            }
            Track::Open(task) => (task, Tracked::Open),
            Track::Done {
                task,
                commit,
                attempt,
            } => (task, Tracked::Done { commit, attempt }),
            Track::Blocked {
                task,
                reason,
                attempt,
            } => (task, Tracked::Blocked { reason, attempt }),
        };
        Ok(json!({ "known": plugin.track(ctx, &task, &became).await? }))
    }

    /// What it launches; and, if there is output, what it makes of that.
    async fn drive(&self, ctx: &CallContext, given: &Given) -> Result<Value, Failed> {
        let input = &given.input;
        let it = input.iteration().map_err(Failed::Input)?;
        let prompt = input.prompt.as_deref().unwrap_or_default();
        let launch = self.plugin.prepare(ctx, &it, prompt).await?;
        let mut value = json!({ "launch": launched(&launch) });
        if input.output.is_none() && input.exit.is_none() {
            return Ok(value);
        }
        let mut session = self.plugin.session(ctx, &it).await?;
        let (mut events, mut stdin) = (Vec::new(), Vec::new());
        for piece in input.output.iter().flatten() {
            let reaction = session.feed(piece.as_bytes()).await?;
            events.extend(reaction.events);
            stdin.extend(reaction.stdin);
        }
        let exit = input.exit.clone().unwrap_or(crate::input::Exit {
            code: Some(0),
            ..Default::default()
        });
        let collected = exit.collected.into_iter();
        let (outcome, late) = session
            .finish(Exit {
                code: exit.code,
                signal: exit.signal,
                stderr_tail: exit.stderr.into_bytes(),
                collected: collected
                    .map(|(name, text)| (name, text.into_bytes()))
                    .collect(),
            })
            .await?;
        events.extend(late);
        value["events"] = json!(events);
        value["outcome"] = json!(outcome);
        value["stdin"] = json!(String::from_utf8_lossy(&stdin));
        Ok(value)
    }
}

/// Whose fault it is that there is no answer.
enum Failed {
    Input(Error),
    Plugin(PluginError),
}

impl From<PluginError> for Failed {
    fn from(e: PluginError) -> Failed {
        Failed::Plugin(e)
    }
}

fn verdict(v: &Verdict) -> Value {
    // Without findings too there is a list, so that a case can say that there are none.
    json!({ "status": v.status, "summary": v.summary, "findings": v.findings })
}

fn notice(input: &Input) -> Notice {
    match &input.notice {
        Some(n) => Notice {
            event: n.event.clone(),
            project: n.project.clone(),
            text: n.text.clone(),
            details: n.details.to_string(),
        },
        None => Notice {
            event: "complete".into(),
            project: "project".into(),
            text: "complete: 1 of 1 tasks done".into(),
            details: "{}".into(),
        },
    }
}

fn launched(l: &Launch) -> Value {
    json!({
        "program": l.program, "args": l.args, "env": l.env,
        "stdin": l.stdin.as_deref().map(String::from_utf8_lossy),
        "keep_stdin": l.keep_stdin, "pty": l.pty, "collect": l.collect,
    })
}

/// JSON text as what it says; anything else as text.
fn or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn lines(log: Vec<(Level, String)>) -> Vec<String> {
    let word = |level| match level {
        Level::Trace => "trace",
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    log.into_iter()
        .map(|(level, text)| format!("{}: {}", word(level), strip_escapes(&text)))
        .collect()
}

/// Copies a tree of plain files and folders; links and the like are left out.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    for entry in std::fs::read_dir(from).map_err(|e| Error::io(from, e))? {
        let entry = entry.map_err(|e| Error::io(from, e))?;
        let kind = entry.file_type().map_err(|e| Error::io(entry.path(), e))?;
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            std::fs::create_dir(&to).map_err(|e| Error::io(&to, e))?;
            copy(&entry.path(), &to)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &to).map_err(|e| Error::io(&to, e))?;
        }
    }
    Ok(())
}

/// The files that are new or other than before, with their text.
fn written(now: &Path, before: Option<&Path>) -> std::collections::BTreeMap<String, String> {
    let mut found = std::collections::BTreeMap::new();
    let mut next = vec![PathBuf::new()];
    while let Some(below) = next.pop() {
        for entry in std::fs::read_dir(now.join(&below))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => next.push(path),
                Ok(kind) if kind.is_file() => {
                    let bytes = std::fs::read(entry.path()).unwrap_or_default();
                    let old = before.and_then(|dir| std::fs::read(dir.join(&path)).ok());
                    if old.as_ref() != Some(&bytes) {
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        found.insert(path.display().to_string(), text);
                    }
                }
                _ => {}
            }
        }
    }
    found
}
