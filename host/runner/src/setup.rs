//! Everything a run needs, found, loaded and checked before anything on disk changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ralph_config::Config;
use ralph_config::types::{Gate, Isolation, Judge, OnLimit};
use ralph_engine::fact::Rules;
use ralph_engine::pace::{Budget, Limits};
use ralph_engine::types::Role;
use ralph_plugins::{Host, Kind};
use ralph_workspace::Git;

use crate::ahead::Ahead;
use crate::branch;
use crate::deciding;
use crate::error::Error;
use crate::holding::protected;
use crate::project::Project;
use crate::registry::{Bound, BoundAgent, BoundGate, Registry};
use crate::sources::Source;
use crate::words::Words;
use crate::worker::Home;

/// What the command line lays over the configuration.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Instead of `[loop] agent`.
    pub agent: Option<String>,
    /// Instead of `[loop] max_iterations`.
    pub max_iterations: Option<u32>,
    /// Iterations of them that are gone already: the run was ended and is gone on with.
    pub spent: u32,
    /// Only this task.
    pub task: Option<String>,
    /// Commit nothing.
    pub no_commit: bool,
    /// Workers in worktrees, instead of `[parallel] workers`.
    pub parallel: Option<u32>,
    /// Instead of `[loop] mode`.
    pub mode: Option<String>,
    /// The run begins as soon as this is ready: what it needs first is asked meanwhile.
    pub at_once: bool,
}

/// A judge or reviewer with the agent that answers.
#[derive(Clone)]
pub struct Asker {
    /// Writes and reads.
    pub judge: Bound,
    /// Answers.
    pub agent: BoundAgent,
    /// Bytes of the diff that are shown.
    pub max_diff: u64,
}

/// A run, ready to go.
pub struct Setup {
    /// Root, configuration.
    pub project: Project,
    /// The repository.
    pub git: Git,
    /// The one that works.
    pub agent: BoundAgent,
    /// Those that work while its limit lasts.
    pub fallback: Vec<BoundAgent>,
    /// By name.
    pub gates: BTreeMap<String, BoundGate>,
    /// If asked for.
    pub judge: Option<Asker>,
    /// If asked for.
    pub review: Option<Asker>,
    /// For the prompt's fingerprint.
    pub canonicaliser: Bound,
    /// What holds for the run.
    pub rules: Rules,
    /// Where tasks come from.
    pub source: Arc<dyn Source>,
    /// What in the project decides whether work is accepted.
    pub deciding: BTreeSet<String>,
    /// What looks odd there, for people.
    pub warnings: Vec<String>,
    /// What an agent is told, and what its words mean.
    pub words: Words,
    /// Only this task.
    pub target: Option<String>,
    /// This many workers, each in a worktree of its own; `None`: in the project's own working tree.
    pub workers: Option<usize>,
    /// What git is asked already.
    pub(crate) ahead: Ahead,
    /// In a worktree: whose. Tells its attempts from those of others.
    pub worker: Option<String>,
}

impl Setup {
    pub(crate) fn home(&self) -> Home<'_> {
        Home {
            project: &self.project,
            git: &self.git,
        }
    }

    /// One of those that may work; the first if there is none of that name.
    pub fn worker_agent(&self, name: &str) -> &BoundAgent {
        let others = self.fallback.iter();
        others
            .chain([&self.agent])
            .find(|a| a.name == name)
            .unwrap_or(&self.agent)
    }

    /// The run is to begin: what its agent's sandbox takes time for is begun in the background.
    pub async fn foresee(&self) {
        self.agent.foresee(&self.project.ws).await;
    }

    /// Loads and checks. Changes nothing.
    pub async fn new(
        mut project: Project,
        host: Host,
        options: RunOptions,
    ) -> Result<Setup, Error> {
        if let Some(name) = options.mode.as_ref().or(project.config.run.mode.as_ref()) {
            let mode = project.config.mode(name).ok_or_else(|| {
                Error::Usage(format!(
                    "there is no mode `{name}`; there are {}",
                    project.config.mode_names().join(", ")
                ))
            })?;
            project.config.apply(mode, options.agent.as_deref());
        }
        project.config.git.branch = branch::wanted(&project)?;
        let config = &project.config;
        // A task can only be named once its id is known; without one, the journal isn't asked.
        let ids = match &options.task {
            Some(_) => crate::status::state(&project)?.ids,
            None => Default::default(),
        };
        let source = project.source()?;
        let loading = source.clone();
        let loading = tokio::spawn(async move { loading.load(&ids).await });
        let git = Git::open(&project.ws);
        let width = options.parallel.unwrap_or(config.parallel.workers);
        let isolated = config.git.isolation == Isolation::Worktree;
        let workers = (width > 1 || isolated || options.parallel.is_some())
            .then(|| usize::try_from(width).unwrap_or(1));
        // Not where the run itself changes files before its first iteration.
        let still = workers.is_none() && source.file().is_some() && config.git.branch.is_none();
        let ahead = match &git {
            Ok(git) if options.at_once && still => Ahead::begin(&project.ws, git),
            _ => Ahead::default(),
        };
        let words = Words::of(&project);
        let registry = Registry::new(host, &project);
        let name = options.agent.as_deref().unwrap_or(&config.run.agent);
        // Side by side; of several errors, the first in this order is told.
        let (tasks, agent, gates, judge, review, canonicaliser) = tokio::join!(
            loading,
            registry.agent(Role::Work, name, config.agents.get(name)),
            gates(&registry, &config.gates),
            asker(&project, &registry, Role::Judge, &config.judge, name),
            asker(&project, &registry, Role::Review, &config.review, name),
            registry.canonicaliser("text"),
        );
        let tasks = tasks
            .map_err(|e| Error::Internal(format!("reading the tasks ended oddly: {e}")))??
            .list;
        if let Some(target) = &options.task
            && tasks.get(target).is_none()
        {
            let ids: Vec<_> = tasks
                .entries()
                .iter()
                .take(20)
                .map(|e| e.task.id.as_str())
                .collect();
            return Err(Error::Usage(format!(
                "{} has no task `{target}`; it has {}",
                tasks.name(),
                ids.join(", ")
            )));
        }
        let (git, words) = (git?, words?);
        git.watch(protected(&config.sandbox));
        registry.sourcing()?;
        let (agent, gates, judge, review) = (agent?, gates?, judge?, review?);
        let canonicaliser = canonicaliser?;
        let rules = Rules {
            max_iterations: (options.max_iterations.unwrap_or(config.run.max_iterations))
                .saturating_sub(options.spent),
            max_attempts: config.run.max_attempts,
            no_progress_limit: config.run.no_progress_limit,
            gates: config.gates.iter().map(|g| g.name.clone()).collect(),
            groups: config.groups(),
            fail_fast: config.run.fail_fast,
            judge: judge.is_some(),
            review: review.is_some(),
            commit: config.git.auto_commit && !options.no_commit,
            mark_last: source.file().is_none(),
            budget: budget(config),
            limits: Limits {
                agents: std::iter::once(name)
                    .chain(config.run.fallback.iter().map(String::as_str))
                    .map(str::to_owned)
                    .collect(),
                wait: config.limits.on_limit == OnLimit::Wait,
                max_wait: config.limits.max_wait.get().as_secs(),
            },
        };
        let mut fallback = Vec::new();
        for name in &config.run.fallback {
            fallback.push(
                registry
                    .agent(Role::Work, name, config.agents.get(name))
                    .await?,
            );
        }
        let mut warnings = tasks.warnings().to_vec();
        let askers = judge.iter().chain(&review).map(|a: &Asker| &a.agent);
        for agent in [&agent].into_iter().chain(&fallback).chain(askers) {
            if agent.bound.plugin.kind() != Kind::Agent {
                agent
                    .hold
                    .demand(&format!("agent `{}`", agent.name))
                    .await?;
                warnings.extend(agent.hold.warning().await.filter(|w| !warnings.contains(w)));
            }
        }
        for (name, gate) in &gates {
            gate.hold.demand(&format!("gate `{name}`")).await?;
        }
        if workers.is_some() && !rules.commit {
            return Err(Error::Usage(
                "workers in worktrees hand their work over as commits: `--parallel`, [parallel] and [git] isolation \
                 don't go with `--no-commit` or [git] auto_commit = false"
                    .into(),
            ));
        }
        Ok(Setup {
            ahead,
            workers,
            worker: None,
            git,
            agent,
            fallback,
            gates,
            judge,
            review,
            canonicaliser,
            rules,
            source,
            warnings,
            words,
            target: options.task,
            deciding: deciding::paths(&project),
            project,
        })
    }
}

fn budget(config: &Config) -> Budget {
    let b = &config.budget;
    let micros = |usd: f64| (usd * 1e6).round() as u64;
    Budget {
        seconds: b.time.map(|t| t.get().as_secs()),
        tokens: b.tokens,
        cost_micros: b.cost_usd.map(micros),
        per_hour: b.iterations_per_hour,
        repeats: config.run.repeat_limit,
    }
}

async fn gates(registry: &Registry, tables: &[Gate]) -> Result<BTreeMap<String, BoundGate>, Error> {
    let mut gates = BTreeMap::new();
    let mut turns: BTreeMap<String, Arc<tokio::sync::Mutex<()>>> = BTreeMap::new();
    for gate in tables {
        let mut bound = registry.gate(gate).await?;
        let turn = |words: &String| turns.entry(words.clone()).or_default().clone();
        bound.turn = gate.exclusive.as_ref().map(turn);
        gates.insert(gate.name.clone(), bound);
    }
    Ok(gates)
}

async fn asker(
    project: &Project,
    registry: &Registry,
    role: Role,
    table: &Judge,
    worker: &str,
) -> Result<Option<Asker>, Error> {
    if !table.enabled {
        return Ok(None);
    }
    let preamble = match &table.prompt {
        None => None,
        Some(path) => project.text(path)?,
    };
    let name = table.agent.as_deref().unwrap_or(worker);
    Ok(Some(Asker {
        judge: registry.judge(role, table, preamble).await?,
        agent: registry
            .agent(role, name, project.config.agents.get(name))
            .await?,
        max_diff: table.max_diff.bytes(),
    }))
}
