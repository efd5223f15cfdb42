//! What `ralph.toml` can say, as types. Defaults stand in `Default` impls and
//! nowhere else; `ralph.toml.example` is checked against them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prompting::{Claims, Mode, Prompt};
pub use crate::types_fingerprints::{FingerprintHash, Fingerprints};
pub use crate::types_gates::{GateGroup, OnFailure, Severity, When};
pub use crate::types_limits::Limits;
pub use crate::types_sandbox::{Confine, Layer, OsSandbox, Profile, Rlimits};
pub use crate::types_tasks::{TaskSource, Tasks};
use crate::units::{Size, Span};

/// A free table that is handed to a plugin as JSON.
pub type Table = serde_json::Map<String, serde_json::Value>;

/// The whole of `ralph.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How long and how often.
    #[serde(rename = "loop")]
    pub run: Loop,
    /// Where things are, relative to the project's root.
    pub files: Files,
    /// Where tasks come from.
    pub tasks: Tasks,
    /// Agents by name; `codex`, `claude`, `copilot` and `scripted` are there without a table.
    pub agents: BTreeMap<String, Agent>,
    /// What the host checks, in this order in reports. All run side by side.
    pub gates: Vec<Gate>,
    /// Gates of which not each has to pass.
    pub gate_groups: Vec<GateGroup>,
    /// Another mind rules whether the task was met.
    pub judge: Judge,
    /// Another mind reviews the change.
    pub review: Judge,
    /// Components by name; the built-in ones are there without a table.
    pub plugins: BTreeMap<String, Plugin>,
    /// Tools of components, for other programs.
    pub tools: Tools,
    /// What the operating system lets native agents and gates' programs do.
    pub sandbox: OsSandbox,
    /// What becomes of accepted work.
    pub git: Git,
    /// Several tasks at a time.
    pub parallel: Parallel,
    /// Who is told that a run has ended.
    pub notify: Notify,
    /// When `ralph supervise` starts a run again.
    pub supervise: Supervise,
    /// What one run may spend. Looked at between two iterations.
    pub budget: Budget,
    /// What is done when a provider wants a pause.
    pub limits: ProviderLimits,
    /// How long the parts of a prompt may be.
    pub prompt: Prompt,
    /// How an agent says whether the task is done.
    pub claims: Claims,
    /// How files are fingerprinted.
    pub fingerprints: Fingerprints,
    /// Settings that are laid over the others by `--mode` or `[loop] mode`; `speed`, `quality`
    /// and `exploration` are there without a table.
    pub modes: BTreeMap<String, Mode>,
}

/// `[loop]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Loop {
    /// The agent that works, a name from `[agents]`.
    pub agent: String,
    /// Short for `agent` and `fallback`: who works, and who takes over in this order. Empty once
    /// the configuration is loaded: those two hold it then.
    pub agents: Vec<String>,
    /// Iterations of one `ralph run`.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_iterations: u32,
    /// Attempts at one task before it is blocked.
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: u32,
    /// Iterations in a row without any progress before the run ends.
    #[schemars(range(min = 1, max = 100))]
    pub no_progress_limit: u32,
    /// Pause between two iterations.
    pub sleep: Span,
    /// Start no further gate once one has failed.
    pub fail_fast: bool,
    /// Attempts in a row that fail in the same way before the run ends; 0: without limit.
    #[schemars(range(min = 0, max = 1000))]
    pub repeat_limit: u32,
    /// Agents that work, in this order, while the limit of those before them lasts.
    pub fallback: Vec<String>,
    /// The mode, a name from `[modes]`, unless `--mode` names another.
    pub mode: Option<String>,
}

impl Default for Loop {
    fn default() -> Self {
        Loop {
            agent: "codex".into(),
            agents: Vec::new(),
            max_iterations: 20,
            max_attempts: 3,
            no_progress_limit: 3,
            sleep: Span::from_secs(0),
            fail_fast: false,
            repeat_limit: 6,
            fallback: Vec::new(),
            mode: None,
        }
    }
}

/// `[files]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Files {
    /// The task file. Without it the first of `.ralph/PRD.md`, `PRD.md`, `prd.json`,
    /// `.ralph/prd.json`, `IMPLEMENTATION_PLAN.md`, `TASKS.md`, `tasks.yaml`, `tasks.yml`,
    /// `.ralph/tasks.yaml` that exists, then the one `tasks/*/prd.json`. A directory stands for
    /// the `prd.json` in it, and `progress.txt` there is then the default of `progress`.
    pub tasks: Option<String>,
    /// Text that opens every prompt. Without it the first of `.ralph/PROMPT_build.md`,
    /// `.ralph/PROMPT.md`, `PROMPT_build.md`, `PROMPT.md` that exists, else a built-in text.
    pub prompt: Option<String>,
    /// A Jinja template of the whole prompt, instead of the built-in order of its parts.
    pub template: Option<String>,
    /// A directory with specifications (`*.md`), shown in every prompt. Without it the first of
    /// `.ralph/specs` and `specs` that exists.
    pub specs: Option<String>,
    /// One line per iteration is appended here.
    pub progress: String,
    /// Notes for agents, shown in every prompt if it exists.
    pub agents: String,
    /// What a person wants the next attempt to know, shown in every prompt if it exists.
    pub feedback: String,
    /// Of what one agent call prints this much is kept in its raw log, the newest.
    pub log_size: Size,
}

impl Default for Files {
    fn default() -> Self {
        Files {
            tasks: None,
            prompt: None,
            template: None,
            specs: None,
            progress: ".ralph/progress.md".into(),
            agents: "AGENTS.md".into(),
            feedback: ".ralph/FEEDBACK.md".into(),
            log_size: Size::from_mib(64),
        }
    }
}

/// How the `command` driver hands over the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// On standard input, which is then closed.
    Stdin,
    /// In a file; `{prompt_file}` in `argv` is its path.
    File,
    /// As an argument in place of `{prompt}`, or at the end; refused above 100 KiB.
    Argument,
}

/// How much an agent program may do, for drivers whose CLI has such a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// The CLI's own restrictions are switched off.
    Off,
    /// It may write below the workspace.
    WorkspaceWrite,
    /// It may not write.
    ReadOnly,
}

/// Where an agent's program has its own settings and its login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// Where the user has them.
    User,
    /// In a directory for this project and this agent alone, outside the repository.
    Project,
}

/// `[agents.<name>]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// The driver or agent component. Without it: the agent's own name if a
    /// plugin has that name, else `command`.
    pub plugin: Option<String>,
    /// The program and its arguments; for the `command` driver, and to put
    /// another program in place of a driver's usual one (then only the first entry counts).
    pub argv: Vec<String>,
    /// For the `command` driver.
    pub prompt: PromptBy,
    /// Passed to the CLI as it is.
    pub model: Option<String>,
    /// Reasoning effort, passed to the CLI as it is.
    pub effort: Option<String>,
    /// Further arguments, put behind the driver's own.
    pub args: Vec<String>,
    /// What the CLI itself may do.
    pub sandbox: Sandbox,
    /// What the operating system lets it do, where that is different from `[sandbox]`.
    pub confine: Confine,
    /// Where it has its own settings and its login.
    pub home: Home,
    /// One call may take this long.
    pub timeout: Span,
    /// It may be silent this long; any byte counts as life. `0s`: for ever.
    pub idle_timeout: Span,
    /// Its first byte may take this long. `0s`: no such limit.
    pub startup_timeout: Span,
    /// Names of environment variables it gets beside the usual ones; a trailing `*` stands for any ending.
    pub env: Vec<String>,
    /// For the plugin.
    #[schemars(with = "Table")]
    pub config: Table,
}

impl Default for Agent {
    fn default() -> Self {
        Agent {
            plugin: None,
            argv: Vec::new(),
            prompt: PromptBy::Stdin,
            model: None,
            effort: None,
            args: Vec::new(),
            sandbox: Sandbox::WorkspaceWrite,
            confine: Confine::default(),
            home: Home::User,
            timeout: Span::from_secs(30 * 60),
            idle_timeout: Span::from_secs(0),
            startup_timeout: Span::from_secs(0),
            env: Vec::new(),
            config: Table::new(),
        }
    }
}

/// `[[gates]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Shown everywhere; unique.
    pub name: String,
    /// Short for the built-in `command` gate: program and arguments, no shell.
    #[serde(default)]
    pub run: Vec<String>,
    /// A gate component from `[plugins]` or a built-in one: `command`, `diff-scope`, `no-secrets`.
    #[serde(default)]
    pub plugin: Option<String>,
    /// What its failure does.
    #[serde(default)]
    pub severity: Severity,
    /// Which changes it is about.
    #[serde(default)]
    pub when: When,
    /// Programs it starts may take this long.
    #[serde(default = "Gate::default_timeout")]
    pub timeout: Span,
    /// What no two of its kind can share: a port, a database. Of the gates with the same words here,
    /// in whichever worker, one runs at a time; the wait doesn't count to its `timeout`.
    #[serde(default)]
    pub exclusive: Option<String>,
    /// Names of environment variables its programs get beside the usual ones.
    #[serde(default)]
    pub env: Vec<String>,
    /// Files and directories that decide what it says. An attempt that changes them is refused,
    /// unless its task names the file. The script that it runs is among them without being named.
    #[serde(default)]
    pub protect: Vec<String>,
    /// What the operating system lets its programs do, where that is different from `[sandbox.gates]`.
    #[serde(default)]
    pub confine: Confine,
    /// For the plugin.
    #[serde(default)]
    #[schemars(with = "Table")]
    pub config: Table,
}

impl Gate {
    /// Ten minutes.
    pub fn default_timeout() -> Span {
        Span::from_secs(600)
    }
}

/// `[judge]` and `[review]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Judge {
    /// Ask at all?
    pub enabled: bool,
    /// The component that writes the question and reads the answer; `judge` or `review` if not said.
    pub plugin: Option<String>,
    /// The agent that answers; the one that worked if not said.
    pub agent: Option<String>,
    /// A file whose text opens the question.
    pub prompt: Option<String>,
    /// More of the diff is not shown.
    pub max_diff: Size,
    /// For the plugin.
    #[schemars(with = "Table")]
    pub config: Table,
}

impl Default for Judge {
    fn default() -> Self {
        Judge {
            enabled: false,
            plugin: None,
            agent: None,
            prompt: None,
            max_diff: Size::from_kib(64),
            config: Table::new(),
        }
    }
}

/// `[plugins.<name>]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// A path relative to the project's root, `builtin:NAME`, `https://…`, or `oci://registry/repository:tag`.
    pub source: String,
    /// SHA-256 of the component; nothing else is used. What is fetched needs it here or in `ralph.lock`.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Use it only with a signature by one of the user's trusted keys.
    #[serde(default)]
    pub require_signature: bool,
    /// What it may do beyond computing; nothing if left out.
    #[serde(default)]
    pub allow: Allow,
    /// What it may use.
    #[serde(default)]
    pub limits: Limits,
    /// For a gate: what becomes of the work when the component fails (a crash, a limit, a refusal)
    /// instead of ruling.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Handed to it; a gate's or agent's own `config` is laid over this.
    #[serde(default)]
    #[schemars(with = "Table")]
    pub config: Table,
}

/// `[tools]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// Components that offer tools, names from `[plugins]`: `ralph listen` shows them as `<plugin>.<tool>`.
    pub plugins: Vec<String>,
}

/// `[plugins.<name>.allow]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Allow {
    /// Directories and files below the project's root it may read; `.` is all of it.
    pub read: Vec<String>,
    /// Directories and files below the project's root it may read and change.
    pub write: Vec<String>,
    /// Programs it may have the host run, alone or with arguments: `cargo`, `git diff *` (one
    /// argument that is no option), `git log **` (any further ones), `*` (any program).
    pub process: Vec<String>,
    /// May it see what the iteration changed?
    pub changes: bool,
    /// Hosts it may send HTTP requests to: `api.example.org`, `*.example.org`, with `:PORT` if it
    /// isn't 443. Over TLS; `http://` only to a port that is named.
    pub http: Vec<String>,
    /// Names of environment variables it sees.
    pub env: Vec<String>,
    /// The real clock instead of one that stands still.
    pub clock: bool,
    /// Real randomness instead of a sequence that the iteration's id fixes.
    pub random: bool,
    /// May it keep values from one call to the next? At most 1 MiB, below `.ralph/plugin-state/`.
    pub state: bool,
    /// May it tell people something while it works, over what `[notify]` names?
    pub notify: bool,
}

/// `[git]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Git {
    /// Commit accepted work.
    pub auto_commit: bool,
    /// `{task_id}`, `{title}`, `{iteration}`, `{agent}` are filled in.
    pub commit_message: String,
    /// Where agents work.
    pub isolation: Isolation,
    /// Switch to this branch when a run begins; it is made at HEAD if it isn't there.
    /// `{branch_name}` stands for the `branchName` of a `prd.json`.
    pub branch: Option<String>,
    /// Opens the names of workers' branches.
    pub branch_prefix: String,
    /// Keep what a rejected attempt changed as a commit on a branch of its own.
    pub wip: bool,
}

/// Where agents work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// In the project's own working tree.
    None,
    /// Each task in a git worktree of its own below `.ralph/worktrees/`; accepted work is merged.
    Worktree,
}

/// `[parallel]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Parallel {
    /// Tasks at a time, each in a worktree of its own; 1 is one after another.
    #[schemars(range(min = 1, max = 64))]
    pub workers: u32,
}

impl Default for Parallel {
    fn default() -> Self {
        Parallel { workers: 1 }
    }
}

impl Default for Git {
    fn default() -> Self {
        Git {
            auto_commit: true,
            commit_message: "ralph: {task_id} {title}".into(),
            isolation: Isolation::None,
            branch: None,
            branch_prefix: "ralph/".into(),
            wip: false,
        }
    }
}

/// `[notify]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// Only for these ends, as `status` names them (`complete`, `blocked`, `error`, …), and `plugin`
    /// for what plugins tell themselves; empty: for all.
    pub on: Vec<String>,
    /// On the desktop: `notify-send`, or `osascript` on macOS.
    pub desktop: bool,
    /// A program and its arguments, with `{event}`, `{project}` and `{text}` filled in; JSON on its standard input.
    pub command: Vec<String>,
    /// An address that gets the same JSON by POST.
    pub webhook: Option<String>,
    /// Notifier components, names from `[plugins]`.
    pub plugins: Vec<String>,
}

/// When a run is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Never.
    Never,
    /// When it failed, was killed, or met a provider's limit.
    OnFailure,
    /// Unless it is complete or the configuration is wrong.
    Always,
}

/// `[supervise]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Supervise {
    /// When to start a run again.
    pub restart: Restart,
    /// In a row; a run that lasted ten minutes begins the count anew.
    #[schemars(range(min = 0, max = 1000))]
    pub max_restarts: u32,
    /// Before the first restart; each further one waits twice as long, at most ten minutes.
    pub backoff: Span,
}

impl Default for Supervise {
    fn default() -> Self {
        Supervise {
            restart: Restart::OnFailure,
            max_restarts: 5,
            backoff: Span::from_secs(10),
        }
    }
}

/// `[budget]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Time at work, over restarts.
    pub time: Option<Span>,
    /// Tokens in and out, without those from a cache.
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// US dollars, as far as agents report them.
    #[schemars(range(min = 0.0))]
    pub cost_usd: Option<f64>,
    /// Iterations begun within any 60 minutes; when they are used up the run waits. 0: without limit.
    #[schemars(range(min = 0, max = 10_000))]
    pub iterations_per_hour: Option<u32>,
}

/// What is done when a provider wants a pause and no agent is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnLimit {
    /// Wait for its end.
    Wait,
    /// End the run.
    Stop,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderLimits {
    /// Once `[loop] fallback` has nobody left.
    pub on_limit: OnLimit,
    /// A limit that lasts longer ends the run.
    pub max_wait: Span,
    /// The first wait if the provider doesn't say how long; each further one in a row is twice as long.
    pub unknown_wait: Span,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        ProviderLimits {
            on_limit: OnLimit::Wait,
            max_wait: Span::from_secs(6 * 3600),
            unknown_wait: Span::from_secs(5 * 60),
        }
    }
}
