//! The tools: the host's own operations on a project.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_plugins::Host;
use ralph_runner::tools::Refused;
use ralph_runner::{Bus, Control, Error, Project, RunOptions, Setup, Trust, audit, tasks, watch};
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::calls::{CallTool, Called, TextBlock};
use super::roots::Roots;
use crate::bridge::Bridge;
use crate::message::{INTERNAL_ERROR, METHOD_NOT_FOUND, NOT_NOW, PATH_DENIED, Params, RpcError};
use crate::schema::Call;
use crate::server::Client;

/// Projects that runs may be on in at once.
const PROJECTS_MAX: usize = 64;

/// The directory of the project, absolute or relative to the server's first root; that root if it
/// is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Where {
    #[serde(default)]
    workspace: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogArguments {
    #[serde(default)]
    workspace: Option<String>,
    /// So many iterations, the newest; 20 if it is left out.
    #[serde(default)]
    newest: Option<u32>,
    /// Only of this task.
    #[serde(default)]
    task: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepArguments {
    #[serde(default)]
    workspace: Option<String>,
    /// The agent that works; that of the configuration if it is left out.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    #[serde(default)]
    workspace: Option<String>,
    /// The agent that works; that of the configuration if it is left out.
    #[serde(default)]
    agent: Option<String>,
    /// Iterations of this run, 1 to 100000.
    #[serde(default)]
    max_iterations: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopArguments {
    #[serde(default)]
    workspace: Option<String>,
    /// End the agent too, at once.
    #[serde(default)]
    force: bool,
}

/// One tool, as a client is told of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tool {
    name: String,
    description: String,
    #[serde(rename = "inputSchema")]
    #[schemars(with = "Map<String, Value>")]
    input_schema: Value,
}

/// The host's own.
fn own() -> Vec<Tool> {
    fn tool<A: JsonSchema>(name: &'static str, description: &'static str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: schema_for!(A).into(),
        }
    }
    vec![
        tool::<Where>(
            "status",
            "Where a project stands: tasks done, the next one, the run that is on",
        ),
        tool::<Where>("tasks", "All tasks with their states, attempts and notes"),
        tool::<LogArguments>("log", "The newest iterations and what they came to"),
        tool::<Where>(
            "check",
            "Ask the gates about what differs from the last commit",
        ),
        tool::<StepArguments>("step", "Run one iteration and wait for its end"),
        tool::<RunArguments>("run", "Start the loop; it goes on by itself"),
        tool::<StopArguments>(
            "stop",
            "End the run that was started here, after its iteration",
        ),
        tool::<Where>("pause", "Let no new iteration start"),
        tool::<Where>("resume", "Let new iterations start again"),
        tool::<Where>("plugins", "The components that are built in"),
    ]
}

/// What carries them out.
pub(super) struct Tools {
    roots: Roots,
    host: Host,
    version: &'static str,
    bridges: Mutex<HashMap<PathBuf, Arc<Bridge>>>,
    /// Nobody: what a run tells goes nowhere.
    nobody: Arc<Client>,
}

impl Tools {
    pub(super) fn new(roots: Roots, host: Host, version: &'static str) -> Tools {
        Tools {
            roots,
            host,
            version,
            bridges: Mutex::default(),
            nobody: Arc::new(Client::deaf()),
        }
    }

    /// Calls one. The result is flat, and once more as text for those who read that.
    pub(super) async fn call(&self, name: &str, arguments: Value) -> Result<Value, RpcError> {
        let Value::Object(mut fields) = self.answer(name, arguments).await? else {
            return Err(RpcError::new(NOT_NOW, "the tool gave no object"));
        };
        let success = fields.get("ok").and_then(Value::as_bool).unwrap_or(true);
        let mut whole = fields.clone();
        whole.insert("success".to_owned(), json!(success));
        let text = Value::Object(whole).to_string();
        // These have a meaning of their own here; what a component's tool says by them is in the text.
        for taken in ["success", "content"] {
            fields.shift_remove(taken);
        }
        CallTool::done(Called {
            fields,
            success,
            content: [TextBlock { kind: "text", text }],
        })
    }

    async fn answer(&self, name: &str, arguments: Value) -> Result<Value, RpcError> {
        match name {
            "status" | "pause" | "resume" => {
                let Where { workspace } = read(arguments)?;
                let bridge = self.bridge(workspace.as_deref())?;
                self.ask(&bridge, name, &json!({})).await
            }
            "step" => {
                let a: StepArguments = read(arguments)?;
                let bridge = self.bridge(a.workspace.as_deref())?;
                let params = json!({ "agent": a.agent });
                self.ask(&bridge, name, &params).await
            }
            "run" => {
                let a: RunArguments = read(arguments)?;
                let bridge = self.bridge(a.workspace.as_deref())?;
                let params = json!({ "agent": a.agent, "maxIterations": a.max_iterations });
                self.ask(&bridge, name, &params).await
            }
            "stop" => {
                let a: StopArguments = read(arguments)?;
                let bridge = self.bridge(a.workspace.as_deref())?;
                let params = json!({ "force": a.force });
                self.ask(&bridge, name, &params).await
            }
            "tasks" => {
                let Where { workspace } = read(arguments)?;
                let mut project = self.project(workspace.as_deref())?;
                project.accepted = Trust::of(&project).map_err(failed)?.given;
                shown(&tasks::list(&project).await.map_err(failed)?)
            }
            "log" => {
                let a: LogArguments = read(arguments)?;
                let project = self.project(a.workspace.as_deref())?;
                let newest = usize::try_from(a.newest.unwrap_or(20)).unwrap_or(usize::MAX);
                let entries = audit::log::log(&project, newest.min(10_000), a.task.as_deref());
                Ok(json!({ "iterations": entries.map_err(failed)? }))
            }
            "check" => {
                let Where { workspace } = read(arguments)?;
                self.check(workspace.as_deref()).await
            }
            "plugins" => {
                let Where { .. } = read(arguments)?;
                let all = ralph_plugins::builtins().iter();
                let named = all.map(|found| {
                    json!({ "name": found.name, "kind": found.kind.to_string(), "bytes": found.size })
                });
                Ok(json!({ "plugins": named.collect::<Vec<_>>() }))
            }
            _ if name.contains('.') => self.of_plugin(name, arguments).await,
            _ => {
                let name = ralph_engine::text::one_line(name, 60);
                let there: Vec<_> = own().into_iter().map(|t| t.name).collect();
                let text = format!("there is no tool `{name}`; there are {}", there.join(", "));
                Err(RpcError::new(METHOD_NOT_FOUND, text))
            }
        }
    }

    /// All tools: the host's own, and those of plugins of the project in the first root.
    pub(super) async fn list(&self) -> Vec<Tool> {
        let mut tools = own();
        // Where no project is, or none that can be read, there are no others.
        let Ok(project) = self.project(None) else {
            return tools;
        };
        let (offered, problems) = ralph_runner::tools::offered(&project).await;
        for problem in problems {
            tracing::warn!("{problem}");
        }
        tools.extend(offered.into_iter().map(|tool| Tool {
            name: tool.name,
            description: tool.description,
            input_schema: tool.schema.json().clone(),
        }));
        tools
    }

    async fn of_plugin(&self, name: &str, arguments: Value) -> Result<Value, RpcError> {
        let project = self.project(None)?;
        let called = ralph_runner::tools::call(&project, name, arguments).await;
        called.map(Value::Object).map_err(|refused| match refused {
            Refused::Failed(error) => failed(error),
            Refused::Arguments(why) => RpcError::bad_params(&why),
            Refused::Unknown => {
                let name = ralph_engine::text::one_line(name, 160);
                let text =
                    format!("there is no tool `{name}`: no plugin of [tools] plugins offers it");
                RpcError::new(METHOD_NOT_FOUND, text)
            }
        })
    }

    async fn ask(&self, bridge: &Bridge, method: &str, params: &Value) -> Result<Value, RpcError> {
        let raw = to_raw_value(params).map_err(|e| RpcError::new(NOT_NOW, e.to_string()))?;
        let answer = bridge.carry_out(&self.nobody, method, Params::of(&raw));
        // What the bridge calls a fault is a tool's failure here.
        answer.await.map_err(|e| RpcError {
            code: if e.code == INTERNAL_ERROR {
                NOT_NOW
            } else {
                e.code
            },
            ..e
        })
    }

    async fn check(&self, workspace: Option<&str>) -> Result<Value, RpcError> {
        let project = self.project(workspace)?;
        Trust::of(&project)
            .and_then(|trust| trust.demand())
            .map_err(failed)?;
        let setup = Setup::new(project, self.host.clone(), RunOptions::default());
        let setup = setup.await.map_err(failed)?;
        let (_control, stopping) = Control::new();
        let checked = watch::check(&setup, &Bus::default(), &stopping, None).await;
        let checked = checked.map_err(failed)?;
        Ok(json!({
            "passed": checked.passed, "files": checked.files, "gates": checked.results,
        }))
    }

    fn directory(&self, workspace: Option<&str>) -> Result<PathBuf, RpcError> {
        self.roots.directory(workspace).map_err(|e| {
            let data = json!({ "path": e.path, "roots": e.roots });
            RpcError::new(PATH_DENIED, format!("Path access denied: {e}")).with(data)
        })
    }

    fn project(&self, workspace: Option<&str>) -> Result<Project, RpcError> {
        let project = Project::open(&self.directory(workspace)?).map_err(failed)?;
        // The root that was found may lie above what was named.
        self.directory(Some(&project.ws.root().to_string_lossy()))?;
        Ok(project)
    }

    fn bridge(&self, workspace: Option<&str>) -> Result<Arc<Bridge>, RpcError> {
        let root = self.project(workspace)?.ws.root().to_owned();
        let mut bridges = self.bridges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bridge) = bridges.get(&root) {
            return Ok(bridge.clone());
        }
        bridges.retain(|_, bridge| bridge.is_busy());
        if bridges.len() >= PROJECTS_MAX {
            let text = format!("runs are on in {PROJECTS_MAX} projects already");
            return Err(RpcError::new(NOT_NOW, text));
        }
        let bridge = Arc::new(Bridge::new(root.clone(), self.host.clone(), self.version));
        bridges.insert(root, bridge.clone());
        Ok(bridge)
    }

    /// Ends all runs that were started here.
    pub(super) async fn end(&self) {
        let bridges: Vec<Arc<Bridge>> = {
            let bridges = self.bridges.lock().unwrap_or_else(PoisonError::into_inner);
            bridges.values().cloned().collect()
        };
        for bridge in &bridges {
            bridge.ask_to_end();
        }
        for bridge in bridges {
            bridge.end().await;
        }
    }
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, RpcError> {
    serde_json::from_value(arguments).map_err(|e| RpcError::bad_params(&e))
}

fn shown(value: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(value).map_err(|e| RpcError::new(NOT_NOW, e.to_string()))
}

/// A tool failed.
fn failed(e: Error) -> RpcError {
    let data = json!({ "exitCode": e.exit_code() });
    RpcError::new(NOT_NOW, e.with_advice()).with(data)
}
