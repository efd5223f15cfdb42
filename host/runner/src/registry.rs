//! Plugin names, as the configuration uses them, made into bound components.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ralph_config::Config;
use ralph_config::types::{self, Agent, Gate, Home, Plugin as PluginConfig, Table};
use ralph_config::units::Span;
use ralph_engine::gates::When;
use ralph_engine::programs::ProgramPattern;
use ralph_engine::types::{Role, Severity};
use ralph_plugins::{Component, Grants, Host, Kind, Limits, Manifest, Plugin, builtin};
use ralph_workspace::Workspace;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::error::Error;
use crate::holding::Hold;
use crate::plugins::blocking;
use crate::program;
use crate::project::Project;
use crate::sourcing::Sourcing;

/// A gate may wait for the host this much longer than its programs may take.
pub(crate) const GATE_SLACK: Duration = Duration::from_secs(30);
/// What a component gives back that passes a prompt on may be this big.
const PROMPT_MAX: u64 = 16 << 20;

/// A plugin and the JSON that is its configuration.
#[derive(Clone)]
pub struct Bound {
    /// The component with its grants and limits.
    pub plugin: Plugin,
    /// What `config.get` answers.
    pub config: String,
}

/// A gate, ready to be asked.
#[derive(Clone)]
pub struct BoundGate {
    /// `[[gates]]`
    pub gate: Gate,
    /// What checks.
    pub bound: Bound,
    /// What holds its programs.
    pub hold: Arc<Hold>,
    /// What its failure does.
    pub severity: Severity,
    /// Which changes it is about.
    pub when: Arc<When>,
    /// Is it to let work pass when its plugin fails?
    pub open: bool,
    /// Held while it runs, if it is exclusive: shared by the gates with the same words, and by all workers.
    pub turn: Option<Arc<tokio::sync::Mutex<()>>>,
}

impl BoundGate {
    /// What its failure does when it could not rule.
    pub(crate) fn unable(&self, severity: Severity) -> Severity {
        if self.open { Severity::Warn } else { severity }
    }
}

/// An agent, ready to work.
#[derive(Clone)]
pub struct BoundAgent {
    /// `[agents.<name>]`
    pub name: String,
    /// Its table.
    pub agent: Agent,
    /// Driver or agent component.
    pub bound: Bound,
    /// What holds its program.
    pub hold: Arc<Hold>,
    /// Its program's own settings and login, if they aren't the user's.
    pub home: Option<std::path::PathBuf>,
}

/// Loads each component once.
pub struct Registry {
    host: Host,
    ws: Workspace,
    config: Config,
    loaded: Mutex<BTreeMap<String, Arc<Component>>>,
    /// Where components come from, or why that can't be told.
    sourcing: Result<Arc<Sourcing>, String>,
}

/// Agents that can be named: those of `[agents]`, and the built-in ones that need no table.
pub fn agent_names(config: &Config) -> Vec<String> {
    let built_in = ralph_plugins::builtins()
        .iter()
        .filter(|found| matches!(found.kind, Kind::AgentDriver | Kind::Agent))
        .filter(|found| found.name != "command")
        .map(|found| found.name.to_owned());
    let mut names: Vec<String> = built_in.chain(config.agents.keys().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

impl Registry {
    /// For one project.
    pub fn new(host: Host, project: &Project) -> Registry {
        Registry {
            host,
            ws: project.ws.clone(),
            config: project.config.clone(),
            loaded: Mutex::new(BTreeMap::new()),
            sourcing: Sourcing::of(project)
                .map(Arc::new)
                .map_err(|e| e.to_string()),
        }
    }

    /// # Errors
    /// The lock file or the user's configuration can't be used, or `--locked` isn't kept.
    pub fn sourcing(&self) -> Result<&Arc<Sourcing>, Error> {
        self.sourcing.as_ref().map_err(|e| Error::Usage(e.clone()))
    }

    /// Loads a component by its configured or built-in name.
    pub async fn component(&self, kind: Kind, name: &str) -> Result<Arc<Component>, Error> {
        let table = self.config.plugins.get(name);
        let source = table.map(|p| p.source.as_str());
        let key = match source {
            Some(source) => format!("{name} {source}"),
            None => format!("builtin:{kind}:{name}"),
        };
        // Not held while loading: a run's components are loaded side by side, and
        // the host sees to it that none is compiled twice.
        if let Some(component) = self.loaded.lock().await.get(&key) {
            return Ok(component.clone());
        }
        let component = match source.map(|s| s.strip_prefix("builtin:").ok_or(s)) {
            None => self.built_in(kind, name, name, &key).await?,
            Some(Ok(built_in)) => {
                let origin = format!("builtin:{built_in}");
                self.built_in(kind, built_in, name, &origin).await?
            }
            Some(Err(path)) => {
                let sourcing = self.sourcing()?.clone();
                let plugin = table.cloned();
                let own = name.to_owned();
                let compile = table.map_or_else(
                    || types::Limits::default().compile,
                    |plugin| plugin.limits.compile,
                );
                let artifact = blocking(move || match plugin {
                    Some(plugin) => sourcing.load(&own, &plugin),
                    None => Err(Error::Usage(format!("there is no plugin `{own}`"))),
                });
                self.host
                    .load_within(name, path, &artifact.await?.bytes, compile.get())
                    .await?
            }
        };
        self.loaded.lock().await.insert(key, component.clone());
        Ok(component)
    }

    async fn built_in(
        &self,
        kind: Kind,
        built_in: &str,
        name: &str,
        origin: &str,
    ) -> Result<Arc<Component>, Error> {
        let found = self.host.load_builtin(kind, built_in, name, origin).await?;
        found.ok_or_else(|| {
            Error::Usage(format!(
                "there is no {kind} plugin `{built_in}`: neither built in nor in [plugins]"
            ))
        })
    }

    async fn bind(
        &self,
        kind: Kind,
        name: &str,
        own: Grants,
        config: Table,
        wait: Option<Duration>,
    ) -> Result<Bound, Error> {
        let component = self.component(kind, name).await?;
        let table = self.config.plugins.get(name);
        let grants = grants(kind, table, own, component.manifest())?;
        let limits = table.map_or_else(|| own_limits(kind), |p| limits(&p.limits));
        let own = table.and_then(|p| p.limits.wait).map(Span::get);
        let limits = Limits {
            wait: own.or(wait).unwrap_or(limits.wait),
            ..limits
        };
        let mut merged = table.map(|p| p.config.clone()).unwrap_or_default();
        merged.extend(config);
        Ok(Bound {
            plugin: Plugin::bind(component, name, kind, grants, limits)?,
            config: Value::Object(merged).to_string(),
        })
    }

    /// A gate. Built-in ones have the grants they need; others what `allow` gives.
    pub async fn gate(&self, gate: &Gate) -> Result<BoundGate, Error> {
        let name = gate.plugin.as_deref().unwrap_or("command");
        let mut config = gate.config.clone();
        let built_in = match self.config.plugins.get(name) {
            Some(table) => table.source.strip_prefix("builtin:"),
            None => Some(name),
        };
        let mut grants = Grants {
            changes: matches!(built_in, Some("diff-scope" | "no-secrets")),
            ..Grants::default()
        };
        if !gate.run.is_empty() {
            config.insert("run".into(), json!(gate.run));
        }
        if built_in == Some("command") {
            let program = config
                .get("run")
                .and_then(|r| r.get(0))
                .and_then(Value::as_str);
            // Its variables are the project's, and may be any.
            let tables = [
                Some(&gate.config),
                self.config.plugins.get(name).map(|table| &table.config),
            ];
            let env = tables
                .into_iter()
                .flatten()
                .filter_map(|t| t.get("env")?.as_object());
            let env: Vec<&str> = env.flat_map(|t| t.keys().map(String::as_str)).collect();
            let pattern = program.map(|p| ProgramPattern::of_program(p, env).to_string());
            grants.process = pattern.into_iter().collect();
            config.insert(
                "timeout_ms".into(),
                json!(gate.timeout.get().as_millis() as u64),
            );
        }
        let wait = Some(gate.timeout.get() + GATE_SLACK);
        let bound = self.bind(Kind::Gate, name, grants, config, wait).await?;
        let when = When::new(&gate.when.changed).map_err(Error::Usage)?;
        let table = self.config.plugins.get(name);
        Ok(BoundGate {
            severity: match gate.severity {
                types::Severity::Block => Severity::Block,
                types::Severity::Warn => Severity::Warn,
            },
            when: Arc::new(when),
            open: table.is_some_and(|t| t.on_failure == types::OnFailure::Open),
            hold: Arc::new(Hold::of_gate(&self.config, self.ws.root(), gate)?),
            gate: gate.clone(),
            bound,
            turn: None,
        })
    }

    /// An agent by its name, for a role.
    pub async fn agent(
        &self,
        role: Role,
        name: &str,
        table: Option<&Agent>,
    ) -> Result<BoundAgent, Error> {
        let agent = table.cloned().unwrap_or_default();
        let plugin = match &agent.plugin {
            Some(plugin) => plugin.clone(),
            None if self.config.plugins.contains_key(name) || self.agent_kind(name).is_some() => {
                name.to_owned()
            }
            None if table.is_some() => "command".to_owned(),
            None => {
                return Err(Error::Usage(format!(
                    "there is no agent `{name}`; [agents.{name}] in ralph.toml would make one"
                )));
            }
        };
        let kind = match self.config.plugins.get(&plugin) {
            Some(p) if !p.source.starts_with("builtin:") => {
                self.component(Kind::AgentDriver, &plugin).await?.kind()
            }
            Some(p) => self
                .agent_kind(p.source.trim_start_matches("builtin:"))
                .unwrap_or(Kind::AgentDriver),
            None => self.agent_kind(&plugin).unwrap_or(Kind::AgentDriver),
        };
        let home = match agent.home {
            Home::Project if kind == Kind::AgentDriver => {
                Some(program::project_home(self.ws.root(), name)?)
            }
            _ => None,
        };
        let root = self.ws.root();
        let hold = Hold::of_agent(&self.config, root, &agent, role, &plugin, home.as_deref())?;
        let mut config = agent.config.clone();
        if kind == Kind::AgentDriver {
            for (key, value) in [
                ("argv", json!(agent.argv)),
                ("prompt", json!(agent.prompt)),
                ("model", json!(agent.model)),
                ("effort", json!(agent.effort)),
                ("args", json!(agent.args)),
                ("sandbox", hold.cli_sandbox(agent.sandbox).await),
            ] {
                config.entry(key).or_insert(value);
            }
        }
        let wait = (kind == Kind::Agent).then(|| agent.timeout.get());
        let bound = self
            .bind(kind, &plugin, Grants::default(), config, wait)
            .await?;
        Ok(BoundAgent {
            name: name.to_owned(),
            agent,
            bound,
            hold: Arc::new(hold),
            home,
        })
    }

    fn agent_kind(&self, name: &str) -> Option<Kind> {
        [Kind::AgentDriver, Kind::Agent]
            .into_iter()
            .find(|k| builtin(*k, name).is_some())
    }

    /// Judge or reviewer.
    pub async fn judge(
        &self,
        role: Role,
        table: &ralph_config::types::Judge,
        preamble: Option<String>,
    ) -> Result<Bound, Error> {
        let name = table.plugin.as_deref().unwrap_or(if role == Role::Review {
            "review"
        } else {
            "judge"
        });
        let mut config = table.config.clone();
        if let Some(preamble) = preamble {
            config.insert("preamble".into(), preamble.into());
        }
        self.bind(Kind::Judge, name, Grants::default(), config, None)
            .await
    }

    /// A tool, a notifier or a tracker, and what holds its programs.
    pub(crate) async fn acting(&self, kind: Kind, name: &str) -> Result<(Bound, Hold), Error> {
        let bound = self
            .bind(kind, name, Grants::default(), Table::new(), None)
            .await?;
        Ok((bound, Hold::of_plugin(&self.config, self.ws.root())?))
    }

    /// A canonicaliser.
    pub async fn canonicaliser(&self, name: &str) -> Result<Bound, Error> {
        self.bind(
            Kind::Canonicaliser,
            name,
            Grants::default(),
            Table::new(),
            None,
        )
        .await
    }
}

impl BoundAgent {
    /// It is to work soon: what its sandbox takes time for is begun in the background.
    pub(crate) async fn foresee(&self, ws: &Workspace) {
        if self.bound.plugin.kind() != Kind::Agent {
            let env = program::environment(self, &[]);
            self.hold.foresee(ws, &env).await;
        }
    }
}

fn limits(table: &types::Limits) -> Limits {
    Limits {
        time: table.time.get(),
        start: table.start.get(),
        memory: table.memory.bytes(),
        output: table.output.bytes(),
        log: table.log.bytes(),
        crossing: table.crossing.bytes(),
        table_elements: table.table_elements.into(),
        instances: table.instances,
        ..Limits::default()
    }
}

/// What `[plugins.<name>.allow]` allows, but for variables that are this process's alone.
pub fn allowed(table: &PluginConfig) -> Grants {
    let allow = &table.allow;
    let env = allow.env.iter();
    let env = env.filter(|name| !ralph_process::is_withheld(name.as_ref()));
    Grants {
        changes: allow.changes,
        process: allow.process.clone(),
        read: allow.read.clone(),
        write: allow.write.clone(),
        env: env.cloned().collect(),
        clock: allow.clock,
        random: allow.random,
        http: allow.http.clone(),
        state: allow.state,
        notify: allow.notify,
    }
}

/// What a plugin may do: what its table allows, and of that what its manifest asks for, if it has
/// one. A built-in one keeps what it needs for its work, so that a table which only sets its limits
/// takes nothing away.
///
/// # Errors
/// An agent is left without any directory; having none would mean to have all.
pub fn grants(
    kind: Kind,
    table: Option<&PluginConfig>,
    own: Grants,
    manifest: Option<&Manifest>,
) -> Result<Grants, Error> {
    let Some(table) = table else { return Ok(own) };
    let mut grants = allowed(table);
    if let Some(manifest) = manifest {
        let nowhere = |g: &Grants| g.read.is_empty() && g.write.is_empty();
        if kind == Kind::Agent && nowhere(&grants) {
            grants.write = vec![".".into()];
        }
        grants = grants.met(&manifest.capabilities);
        if kind == Kind::Agent && nowhere(&grants) {
            return Err(Error::Usage(format!(
                "the agent plugin from {} has no directory: what its manifest asks for and what ralph.toml allows have none in common",
                table.source
            )));
        }
    }
    if table.source.starts_with("builtin:") {
        grants.changes |= own.changes;
        grants.process.extend(own.process);
    }
    Ok(grants)
}

/// What a plugin without a table may use. A driver, a judge and a canonicaliser
/// give back the prompt, which is as long as the task's description makes it.
fn own_limits(kind: Kind) -> Limits {
    let limits = Limits::default();
    match kind {
        Kind::Gate | Kind::Tool | Kind::Notifier => limits,
        _ => Limits {
            output: PROMPT_MAX,
            ..limits
        },
    }
}
