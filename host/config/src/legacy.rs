//! The keys of the Python loop's `ralph.toml`, as data: what each may hold and what becomes of it.
//! Keys that mean the same here and there (`loop.max_iterations`, `files.progress`, …) are not in
//! the table. To map another key, change its row.

/// What a key may hold. A range is inclusive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Bool,
    Int(i64, i64),
    /// A number from 0, whole or not.
    Number,
    Text,
    Word(&'static [&'static str]),
    Texts,
    /// A table nobody ever read.
    Any,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// It has no effect here; that is said once.
    Nothing,
    /// The same value under another name.
    Key(&'static str),
    /// Seconds, as a duration.
    Seconds(&'static str),
    /// Characters, as bytes.
    Bytes(&'static str),
    /// A template in which `{story_id}` is now `{task_id}`.
    Template(&'static str),
    /// Shell lines, a gate each.
    Gates,
    /// `[runners.<name>]` is an agent.
    Agent,
    /// The timeout of every agent that has none of its own.
    AgentTimeout,
    /// Where tasks come from, if that is a tracker that is here too.
    Tracker,
    /// The review's prompt, unless it has one of its own.
    ReviewPrompt,
}

/// A key: its path (`*` is any name), its other spellings, what it holds, what becomes of it.
pub(crate) struct Old {
    pub path: &'static str,
    pub also: &'static [&'static str],
    pub shape: Shape,
    pub becomes: Becomes,
}

const fn old(
    path: &'static str,
    also: &'static [&'static str],
    shape: Shape,
    becomes: Becomes,
) -> Old {
    Old {
        path,
        also,
        shape,
        becomes,
    }
}

const fn dead(path: &'static str, shape: Shape) -> Old {
    old(path, &[], shape, Becomes::Nothing)
}

/// Tables that only the Python loop has. What is in them and not in [`KEYS`] is an unknown key.
pub(crate) const TABLES: &[&str] = &[
    "runners",
    "gates",
    "tracker",
    "repoprompt",
    "repo_prompt",
    "authorization",
    "adaptive_timeout",
    "watch",
    "supervisor",
    "state",
    "interventions",
    "harness",
    "output",
    "ux",
    "diagnostics",
    "stats",
    "progress",
    "templates",
    "unblock",
    "init",
];

use Becomes::{
    Agent, AgentTimeout, Bytes, Gates, Key, Nothing, ReviewPrompt, Seconds, Template, Tracker,
};
use Shape::{Any, Bool, Int, Number, Text, Texts, Word};

const COUNT: Shape = Int(0, i64::MAX);

/// The table.
#[rustfmt::skip]
pub(crate) const KEYS: &[Old] = &[
    old("loop.max_attempts_per_task", &[], Int(1, 100), Key("loop.max_attempts")),
    old("loop.sleep_seconds_between_iters", &[], Int(0, 3600), Seconds("loop.sleep")),
    old("loop.runner_timeout_seconds", &[], Int(1, 86_400), AgentTimeout),
    old("loop.rate_limit_per_hour", &[], Int(0, 1000), Key("budget.iterations_per_hour")),
    dead("loop.skip_blocked_tasks", Bool),
    dead("loop.batch_enabled", Bool),
    old("loop.modes.*.max_iterations", &[], Int(1, 1000), Key("modes.*.max_iterations")),
    old("loop.modes.*.no_progress_limit", &[], Int(1, 100), Key("modes.*.no_progress_limit")),
    dead("loop.modes.*.rate_limit_per_hour", Int(0, 1000)),
    old("loop.modes.*.sleep_seconds_between_iters", &[], Int(0, 3600), Seconds("modes.*.sleep")),
    old("loop.modes.*.runner_timeout_seconds", &[], Int(1, 86_400), Seconds("modes.*.timeout")),
    old("loop.modes.*.max_attempts_per_task", &[], Int(1, 100), Key("modes.*.max_attempts")),
    dead("loop.modes.*.skip_blocked_tasks", Bool),
    dead("loop.modes.*.batch_enabled", Bool),
    dead("loop.adaptive.enabled", Bool),
    dead("loop.adaptive.high_risk_threshold", Number),
    dead("loop.adaptive.medium_risk_threshold", Number),

    old("files.prd", &[], Text, Key("files.tasks")),
    old("files.review", &[], Text, ReviewPrompt),
    dead("files.prompt_docs", Text),
    dead("files.prompt_hotfix", Text),
    dead("files.prompt_exploration", Text),
    dead("files.plan", Text),
    dead("files.judge", Text),
    old("files.specs_dir", &["files.specsDir"], Text, Key("files.specs")),

    old("runners.*.argv", &[], Texts, Agent),

    old("gates.commands", &[], Texts, Gates),
    old("gates.fail_fast", &["gates.failFast"], Bool, Key("loop.fail_fast")),
    old("gates.precommit_hook", &["gates.precommitHook"], Bool, Nothing),
    old("gates.output_mode", &["gates.outputMode"], Word(&["full", "summary", "errors_only"]), Nothing),
    old("gates.max_output_lines", &["gates.maxOutputLines"], COUNT, Nothing),
    old("gates.llm_judge.enabled", &["gates.llm_judge_enabled"], Bool, Key("judge.enabled")),
    old("gates.llm_judge.agent", &["gates.llm_judge_agent"], Text, Key("judge.agent")),
    old("gates.llm_judge.prompt", &["gates.llm_judge_prompt"], Text, Key("judge.prompt")),
    old("gates.llm_judge.max_diff_chars", &["gates.llm_judge_max_diff_chars"], COUNT, Bytes("judge.max_diff")),
    old("gates.review.enabled", &[], Bool, Key("review.enabled")),
    old("gates.review.agent", &[], Text, Key("review.agent")),
    old("gates.review.prompt", &[], Text, Key("review.prompt")),
    old("gates.review.max_diff_chars", &[], COUNT, Bytes("review.max_diff")),
    old("gates.review.required_token", &[], Text, Key("review.config.required_token")),
    dead("gates.review.backend", Word(&["runner", "repoprompt"])),
    dead("gates.prek.enabled", Bool),
    dead("gates.prek.argv", Texts),
    old("gates.smart.enabled", &["gates.smart_enabled"], Bool, Nothing),
    old("gates.smart.skip_gates_for", &["gates.smart.skipGatesFor"], Texts, Nothing),
    dead("gates.prd_update.enabled", Bool),
    dead("gates.prd_update.require_checkbox_change", Bool),
    dead("gates.prd_update.allow_auto_mark", Bool),
    dead("gates.syntax_check.enabled", Bool),
    dead("gates.syntax_check.check_python", Bool),
    dead("gates.syntax_check.check_typescript", Bool),
    dead("gates.syntax_check.python_command", Text),
    dead("gates.syntax_check.typescript_command", Text),

    old("git.autoCommit", &[], Bool, Key("git.auto_commit")),
    old("git.commit_message_template", &["git.commitMessageTemplate"], Text, Template("git.commit_message")),
    old("git.branch_strategy", &["git.branchStrategy"], Word(&["none", "per_prd", "task"]), Nothing),
    old("git.base_branch", &["git.baseBranch"], Text, Nothing),
    old("git.branchPrefix", &[], Text, Key("git.branch_prefix")),
    old("git.amend_if_needed", &["git.amendIfNeeded"], Bool, Nothing),

    old("tracker.kind", &[], Word(&["auto", "markdown", "md", "json", "file", "yaml", "yml", "beads", "bd", "github_issues", "github", "web_analysis", "web"]), Tracker),
    old("tracker.plugin", &["tracker.plugin_path"], Text, Nothing),
    old("tracker.github.repo", &[], Text, Key("tasks.repo")),
    dead("tracker.github.auth_method", Word(&["gh_cli", "token"])),
    dead("tracker.github.token_env", Text),
    old("tracker.github.label_filter", &[], Text, Key("tasks.label")),
    old("tracker.github.exclude_labels", &[], Texts, Key("tasks.exclude_labels")),
    dead("tracker.github.cache_ttl_seconds", COUNT),
    dead("tracker.github.close_on_done", Bool),
    dead("tracker.github.comment_on_done", Bool),
    dead("tracker.github.add_labels_on_start", Texts),
    dead("tracker.github.add_labels_on_done", Texts),
    dead("tracker.web.base_url", Text),
    dead("tracker.web.sitemap_url", Text),
    dead("tracker.web.crawl_depth", COUNT),
    dead("tracker.web.max_pages", COUNT),
    dead("tracker.web.api_discovery", Bool),
    dead("tracker.web.js_analysis", Bool),
    dead("tracker.web.normalize_hashes", Bool),
    dead("tracker.web.headless_nav", Bool),
    dead("tracker.web.cache_ttl_seconds", COUNT),
    dead("tracker.web.output_path", Text),

    dead("parallel.enabled", Bool),
    dead("parallel.max_workers", Int(1, i64::MAX)),
    dead("parallel.worktree_root", Text),
    dead("parallel.strategy", Word(&["queue", "group"])),
    dead("parallel.merge_policy", Word(&["manual", "auto_merge"])),

    old("repoprompt.enabled", &["repo_prompt.enabled"], Bool, Nothing),
    old("repoprompt.required", &["repo_prompt.required"], Bool, Nothing),
    old("repoprompt.cli", &["repo_prompt.cli"], Text, Nothing),
    old("repoprompt.window_id", &["repo_prompt.window_id"], COUNT, Nothing),
    old("repoprompt.tab", &["repo_prompt.tab"], Text, Nothing),
    old("repoprompt.workspace", &["repo_prompt.workspace"], Text, Nothing),
    old("repoprompt.builder_type", &["repo_prompt.builder_type"], Text, Nothing),
    old("repoprompt.copy_preset", &["repo_prompt.copy_preset"], Text, Nothing),
    old("repoprompt.timeout_seconds", &["repo_prompt.timeout_seconds"], COUNT, Nothing),
    old("repoprompt.fail_open", &["repo_prompt.fail_open"], Bool, Nothing),

    dead("authorization.permissions_file", Text),
    dead("authorization.enforcement_mode", Word(&["warn", "block"])),
    dead("authorization.enabled", Bool),
    dead("authorization.fallback_to_full_auto", Bool),

    dead("adaptive_timeout.enabled", Bool),
    dead("adaptive_timeout.enable_complexity_scaling", Bool),
    dead("adaptive_timeout.enable_failure_scaling", Bool),
    dead("adaptive_timeout.max_timeout", COUNT),
    dead("adaptive_timeout.min_timeout", COUNT),
    dead("adaptive_timeout.timeout_multiplier_per_failure", Number),
    dead("adaptive_timeout.default_mode_timeout", COUNT),

    dead("prompt.enable_limits", Bool),
    dead("prompt.max_specs_files", COUNT),
    old("prompt.max_specs_chars", &[], COUNT, Bytes("prompt.specs_max")),
    dead("prompt.max_single_spec_chars", COUNT),
    dead("prompt.truncate_long_specs", Bool),
    dead("prompt.specs_inclusion_order", Word(&["sorted", "recency"])),
    dead("prompt.context_total_budget", Int(10_000, 200_000)),
    dead("prompt.context_progress_max_lines", Int(10, 1000)),
    old("prompt.context_progress_max_chars", &[], Int(1000, i64::MAX), Bytes("prompt.progress_max")),
    dead("prompt.context_prune_on_build", Bool),
    dead("prompt.context_archive_old_entries", Bool),
    dead("prompt.context_archive_dir", Text),

    dead("watch.enabled", Bool),
    dead("watch.patterns", Texts),
    dead("watch.debounce_ms", COUNT),
    dead("watch.auto_commit", Bool),

    dead("supervisor.heartbeat_seconds", COUNT),
    dead("supervisor.sleep_seconds_between_runs", COUNT),
    dead("supervisor.max_runtime_seconds", COUNT),
    dead("supervisor.on_no_progress_limit", Word(&["stop", "continue"])),
    dead("supervisor.on_rate_limit", Word(&["wait", "stop"])),
    dead("supervisor.notify_enabled", Bool),
    dead("supervisor.notify_events", Texts),
    dead("supervisor.notify_backend", Text),
    dead("supervisor.notify_command_argv", Texts),

    dead("state.validate_on_startup", Bool),
    dead("state.protect_recent_hours", Number),
    dead("state.auto_cleanup_stale", Bool),
    dead("state.warn_on_prd_modified", Bool),
    dead("state.protect_current_task", Bool),

    dead("interventions.enabled", Bool),
    dead("interventions.lookback_iterations", COUNT),
    dead("interventions.confidence_threshold", Text),
    dead("interventions.policy_mode", Text),
    dead("interventions.dedupe_window_iterations", COUNT),
    dead("interventions.max_recommendations_per_task", COUNT),
    dead("interventions.retention_days", COUNT),

    dead("harness.enabled", Bool),
    dead("harness.owner", Text),
    dead("harness.dataset_path", Text),
    dead("harness.pinned_dataset_path", Text),
    dead("harness.runs_dir", Text),
    dead("harness.baseline_run_path", Text),
    dead("harness.append_pinned_by_default", Bool),
    dead("harness.max_cases_per_task", COUNT),
    dead("harness.default_days", COUNT),
    dead("harness.default_limit", COUNT),
    dead("harness.regression_threshold", Number),
    dead("harness.buckets.small_max_seconds", Number),
    dead("harness.buckets.medium_max_seconds", Number),
    dead("harness.ci.enabled", Bool),
    dead("harness.ci.execution_mode", Text),
    dead("harness.ci.max_cases", COUNT),
    dead("harness.ci.enforce_regression_threshold", Bool),
    dead("harness.ci.require_baseline", Bool),
    dead("harness.ci.baseline_missing_policy", Text),
    dead("harness.replay.default_isolation", Text),
    dead("harness.replay.max_case_timeout_seconds", COUNT),
    dead("harness.retention.cases_days", COUNT),
    dead("harness.retention.runs_days", COUNT),
    dead("harness.retention.keep_last_runs", COUNT),
    dead("harness.retention.pinned_days", COUNT),

    dead("output.verbosity", Text),
    dead("output.format", Text),
    dead("ux.mode", Word(&["simple", "expert"])),
    dead("diagnostics", Any),
    dead("stats", Any),
    dead("progress", Any),
    dead("templates", Any),
    dead("unblock", Any),
    dead("init", Any),
];

/// An agent by its whole command line: the ones the Python loop had from the start.
pub(crate) const KNOWN_ARGV: &[(&[&str], &str)] = &[
    (&["codex", "exec", "--full-auto", "-"], "codex"),
    (&["claude", "-p"], "claude"),
    (
        &["gh", "copilot", "suggest", "--type", "shell", "--prompt"],
        "copilot",
    ),
];

/// Runners whose prompt follows a switch.
pub(crate) const PROMPT_SWITCH: &[(&str, &str)] = &[
    ("claude", "-p"),
    ("claude-zai", "-p"),
    ("claude-kimi", "-p"),
    ("copilot", "--prompt"),
];

/// Names a key of `table` may have had; for "did you mean".
pub(crate) fn names_in(table: &str) -> impl Iterator<Item = &'static str> + use<> {
    let paths = KEYS
        .iter()
        .flat_map(|k| std::iter::once(k.path).chain(k.also.iter().copied()));
    let start = if table.is_empty() {
        String::new()
    } else {
        format!("{table}.")
    };
    paths
        .filter_map(move |p| p.strip_prefix(start.as_str()))
        .filter_map(|rest| rest.split('.').next())
}
