//! What other programs can have done in a project, over whatever transport they come.
//!
//! - here: carrying a tool out
//! - [`own`]: the host's own tools; [`roots`]: where they may be called; [`caller`]: who waits for one

mod caller;
mod own;
mod roots;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_engine::state::Stop;
use ralph_plugins::Host;
use ralph_runner::tools::Refused;
use ralph_runner::{Bus, Control, Error, Project, RunOptions, Setup, Trust, audit, tasks, watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use crate::bridge::Bridge;
use crate::message::{INTERNAL_ERROR, METHOD_NOT_FOUND, NOT_NOW, PATH_DENIED, Params, RpcError};
use crate::server::Client;

pub(crate) use caller::{Caller, Waits};
pub(crate) use own::Tool;
use own::{LogArguments, RunArguments, StepArguments, StopArguments, Where, object, own};
pub use roots::{OutsideRoots, Roots};

/// Projects that runs may be on in at once.
const PROJECTS_MAX: usize = 64;

/// What a tool answers.
pub(crate) struct Done {
    /// As it gave them.
    pub(crate) fields: Map<String, Value>,
    /// It did what was asked.
    pub(crate) success: bool,
}

impl Done {
    /// All of it, for those who read text.
    pub(crate) fn text(&self) -> String {
        let mut whole = self.fields.clone();
        whole.insert("success".to_owned(), json!(self.success));
        Value::Object(whole).to_string()
    }
}

/// What carries them out.
pub(crate) struct Tools {
    roots: Roots,
    host: Host,
    version: &'static str,
    bridges: Mutex<HashMap<PathBuf, Arc<Bridge>>>,
    /// Nobody: what a run tells goes nowhere.
    nobody: Arc<Client>,
}

impl Tools {
    pub(crate) fn new(roots: Roots, host: Host, version: &'static str) -> Tools {
        Tools {
            roots,
            host,
            version,
            bridges: Mutex::default(),
            nobody: Arc::new(Client::deaf()),
        }
    }

    /// Calls one. Whoever doesn't wait any more has what takes long ended.
    pub(crate) async fn call(
        &self,
        name: &str,
        arguments: Value,
        caller: &Caller,
    ) -> Result<Done, RpcError> {
        let answer = match name {
            // These end what they have begun themselves; a run isn't the caller's any more.
            "step" | "check" | "run" => self.answer(name, arguments, caller).await?,
            _ => tokio::select! {
                answer = self.answer(name, arguments, caller) => answer?,
                () = caller.gone() => return Err(Caller::cancelled()),
            },
        };
        let Value::Object(fields) = answer else {
            return Err(RpcError::new(NOT_NOW, "the tool gave no object"));
        };
        let success = fields.get("ok").and_then(Value::as_bool).unwrap_or(true);
        Ok(Done { fields, success })
    }

    async fn answer(
        &self,
        name: &str,
        arguments: Value,
        caller: &Caller,
    ) -> Result<Value, RpcError> {
        match name {
            "status" | "pause" | "resume" => {
                let Where { workspace } = read(arguments)?;
                let bridge = self.bridge(workspace.as_deref())?;
                self.ask(&bridge, name, &json!({})).await
            }
            "step" => {
                let a: StepArguments = read(arguments)?;
                let bridge = self.bridge(a.workspace.as_deref())?;
                let step = bridge.step(&self.nobody, a.agent, caller);
                shown(&step.await.map_err(fault)?)
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
                self.check(workspace.as_deref(), caller).await
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
    pub(crate) async fn list(&self) -> Vec<Tool> {
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
            input_schema: object(tool.schema.json().clone()),
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
        answer.await.map_err(fault)
    }

    async fn check(&self, workspace: Option<&str>, caller: &Caller) -> Result<Value, RpcError> {
        let project = self.project(workspace)?;
        Trust::of(&project)
            .and_then(|trust| trust.demand())
            .map_err(failed)?;
        let setup = Setup::new(project, self.host.clone(), RunOptions::default());
        let setup = tokio::select! {
            setup = setup => setup.map_err(failed)?,
            () = caller.leaves() => return Err(Caller::cancelled()),
        };
        let (control, stopping) = Control::new();
        let bus = Bus::new(caller.views());
        let mut check = std::pin::pin!(watch::check(&setup, &bus, &stopping, None));
        let checked = tokio::select! {
            checked = &mut check => checked.map_err(failed)?,
            () = caller.leaves() => {
                control.stop(Stop::Force);
                let _ = check.await;
                return Err(Caller::cancelled());
            }
        };
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
    pub(crate) async fn end(&self) {
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

/// What the bridge calls a fault is a tool's failure here.
fn fault(e: RpcError) -> RpcError {
    let code = match e.code {
        INTERNAL_ERROR => NOT_NOW,
        code => code,
    };
    RpcError { code, ..e }
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
