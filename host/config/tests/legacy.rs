//! Files written for the Python loop load, mean what they meant where there is an equivalent, and
//! say once what has none.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, lines, loaded, source};
use ralph_config::types::PromptBy;
use ralph_config::{Config, load};

/// What `init` of the Python loop wrote, in the order of its tables.
const TEMPLATE: &str = r#"
[loop]
max_iterations = 20
no_progress_limit = 3
rate_limit_per_hour = 0
sleep_seconds_between_iters = 2
runner_timeout_seconds = 300
max_attempts_per_task = 4
skip_blocked_tasks = true
mode = "speed"
[loop.modes.speed]
max_iterations = 20
runner_timeout_seconds = 300
[loop.modes.quality]
max_iterations = 50
[loop.adaptive]
enabled = false
high_risk_threshold = 0.8
[files]
prd = ".ralph/PRD.md"
progress = ".ralph/progress.md"
prompt = ".ralph/PROMPT_build.md"
plan = ".ralph/PROMPT_plan.md"
judge = ".ralph/PROMPT_judge.md"
review = ".ralph/PROMPT_review.md"
agents = ".ralph/AGENTS.md"
specs_dir = ".spec"
feedback = ".ralph/FEEDBACK.md"
[runners.codex]
argv = ["codex", "exec", "--full-auto", "-"]
[runners.claude]
argv = ["claude", "-p"]
[runners.claude-zai]
argv = ["claude-zai", "-p"]
[runners.copilot]
argv = ["gh", "copilot", "suggest", "--type", "shell", "--prompt"]
[gates]
commands = ["uv run pytest -q", "uv run pytest -q", "ruff check . && echo $HOME", "&&"]
precommit_hook = true
fail_fast = true
output_mode = "summary"
max_output_lines = 50
[gates.llm_judge]
enabled = true
agent = "claude"
prompt = ".ralph/PROMPT_judge.md"
max_diff_chars = 30000
[gates.review]
enabled = true
backend = "repoprompt"
agent = "codex"
required_token = "SHIP"
[gates.prek]
enabled = false
argv = ["prek", "run", "--all-files"]
[gates.smart]
enabled = true
skip_gates_for = ["md", "docs/**"]
[git]
branch_strategy = "none"
auto_commit = true
commit_message_template = "ralph: {story_id} {title}"
amend_if_needed = true
[tracker]
kind = "auto"
[tracker.github]
repo = ""
[parallel]
enabled = false
merge_policy = "manual"
[authorization]
enabled = false
[adaptive_timeout]
timeout_multiplier_per_failure = 1.5
[watch]
patterns = ["**/*.py"]
[output]
verbosity = "normal"
[diagnostics]
anything = { at = "all" }
"#;

#[test]
fn the_template_of_the_python_loop_loads_and_means_the_same() {
    let all = loaded(TEMPLATE);
    let c = &all.config;
    assert_eq!(
        (c.run.max_iterations, c.run.max_attempts, c.run.fail_fast),
        (20, 4, true)
    );
    assert_eq!(c.run.sleep.to_string(), "2s");
    assert_eq!(c.files.tasks.as_deref(), Some(".ralph/PRD.md"));
    assert_eq!(c.files.agents, ".ralph/AGENTS.md");
    let gates: Vec<_> = c
        .gates
        .iter()
        .map(|g| (g.name.as_str(), g.run.join(" ")))
        .collect();
    assert_eq!(
        gates[0],
        ("uv-run-pytest-q", "sh -c uv run pytest -q".to_owned())
    );
    assert_eq!(gates[1].0, "uv-run-pytest-q-2");
    assert_eq!(c.gates[2].run, ["sh", "-c", "ruff check . && echo $HOME"]);
    assert_eq!(gates[3].0, "command");
    assert!(c.judge.enabled && c.review.enabled);
    assert_eq!(c.judge.agent.as_deref(), Some("claude"));
    assert_eq!(c.judge.max_diff.bytes(), 30_000);
    assert_eq!(c.review.prompt.as_deref(), Some(".ralph/PROMPT_review.md"));
    assert_eq!(c.review.config["required_token"], "SHIP");
    let speed = &c.modes["speed"];
    assert_eq!(speed.timeout.map(|t| t.to_string()).as_deref(), Some("5m"));
    assert_eq!(c.modes["quality"].max_iterations, Some(50));
    assert!(c.run.mode.is_some() && c.files.specs.is_some());
    assert_eq!(c.git.commit_message, "ralph: {task_id} {title}");
    for (name, driver) in [
        ("codex", "codex"),
        ("claude", "claude"),
        ("copilot", "copilot"),
        ("claude-zai", "command"),
        ("scripted", "scripted"),
    ] {
        assert_eq!(c.agent_plugin(name).unwrap(), driver);
        assert_eq!(c.agents[name].timeout.to_string(), "5m", "{name}");
    }
}

#[test]
fn what_has_no_effect_is_said_in_one_warning() {
    let warnings = loaded(TEMPLATE).warnings;
    assert_eq!(
        warnings,
        [
            "ralph.toml: written for the Python loop; these have no effect here: [adaptive_timeout], [authorization], [diagnostics], files.judge, files.plan, gates.max_output_lines, gates.output_mode, gates.precommit_hook, gates.prek.argv, gates.prek.enabled, gates.review.backend, gates.smart.enabled, gates.smart.skip_gates_for, git.amend_if_needed, git.branch_strategy, loop.adaptive.enabled, loop.adaptive.high_risk_threshold, loop.skip_blocked_tasks, [output], parallel.enabled, parallel.merge_policy, [watch]"
        ]
    );
    assert!(
        loaded("[loop]\nmax_attempts_per_task = 2\n[gates]\ncommands = []")
            .warnings
            .is_empty(),
        "all of it has an effect"
    );
}

#[test]
fn runners_hand_over_the_prompt_as_they_did() {
    for (name, argv, want, by) in [
        ("x", "['x', '-']", &["x", "-"][..], PromptBy::Stdin),
        (
            "x",
            "['x', '{prompt}', '-y']",
            &["x", "{prompt}", "-y"],
            PromptBy::Argument,
        ),
        ("x", "['x', '-y']", &["x", "-y"], PromptBy::Argument),
        (
            "codex",
            "['codex', 'exec', '-m', 'o']",
            &["codex", "exec", "-m", "o", "-"],
            PromptBy::Stdin,
        ),
        (
            "claude",
            "['claude', '-p', '--model', 'm']",
            &["claude", "-p", "{prompt}", "--model", "m"],
            PromptBy::Argument,
        ),
        (
            "claude",
            "['claude', '-p', 'old', '-v']",
            &["claude", "-p", "{prompt}", "-v"],
            PromptBy::Argument,
        ),
        (
            "claude-kimi",
            "['kimi']",
            &["kimi", "-p", "{prompt}"],
            PromptBy::Argument,
        ),
        (
            "copilot",
            "['gh', '--prompt']",
            &["gh", "--prompt", "{prompt}"],
            PromptBy::Argument,
        ),
    ] {
        let c = config(&format!("[runners.{name}]\nargv = {argv}"));
        assert_eq!(
            (c.agents[name].argv.as_slice(), c.agents[name].prompt),
            (
                want.iter()
                    .map(|s| (*s).to_owned())
                    .collect::<Vec<_>>()
                    .as_slice(),
                by
            ),
            "{argv}"
        );
        assert_eq!(c.agent_plugin(name).unwrap(), "command");
    }
    assert_eq!(
        config("[runners.other]\nargv = ['claude', '-p']")
            .agent_plugin("other")
            .unwrap(),
        "claude"
    );
    assert!(
        lines("[runners.x]\nargv = []")[0]
            .starts_with("ralph.toml:2:8: the agent `x` has no `argv`")
    );
}

#[test]
fn other_spellings_are_read() {
    let c = config(
        "[gates]\nfailFast = true\nllm_judge_enabled = true\n[git]\nautoCommit = false\ncommitMessageTemplate = 'x {story_id}'",
    );
    assert!(c.run.fail_fast && c.judge.enabled && !c.git.auto_commit);
    assert_eq!(c.git.commit_message, "x {task_id}");
    assert_eq!(
        loaded("[files]\nspecsDir = 'x'\n[repo_prompt]\nenabled = false")
            .warnings
            .len(),
        1
    );
}

#[test]
fn a_timeout_of_its_own_beats_the_one_for_all() {
    let a = source(
        "a",
        "[loop]\nrunner_timeout_seconds = 60\n[files]\nreview = 'old.md'",
    );
    let b = source(
        "b",
        "[agents.x]\nargv = ['x']\n[agents.claude]\ntimeout = '2m'\n[review]\nprompt = 'new.md'",
    );
    for sources in [[a.clone(), b.clone()], [b, a]] {
        let c = load(&sources).unwrap().config;
        let timeout = |name: &str| c.agents[name].timeout.to_string();
        assert_eq!(
            [timeout("x"), timeout("claude"), timeout("codex")],
            ["1m", "2m", "1m"]
        );
        assert_eq!(c.review.prompt.as_deref(), Some("new.md"));
    }
}

#[test]
fn wrong_values_of_old_keys_are_errors_at_the_value() {
    for (text, want) in [
        (
            "[loop]\nmax_attempts_per_task = 0",
            "2:25: `max_attempts_per_task` should be from 1 to 100 and is 0",
        ),
        (
            "[loop]\nsleep_seconds_between_iters = '1'",
            "2:31: `sleep_seconds_between_iters` should be a whole number and is a string",
        ),
        (
            "[loop]\nmode = 'fast'",
            "2:8: there is no mode `fast`; there are exploration, quality, speed",
        ),
        (
            "[loop.modes.fast]\nmax_iterations = 0",
            "2:18: `max_iterations` should be from 1 to 1000 and is 0",
        ),
        (
            "[gates]\ncommands = 'x'",
            "2:12: `commands` should be an array of strings and is a string",
        ),
        (
            "[gates]\ncommands = ['x', 3]",
            "2:18: an entry of `commands` should be a string and is a whole number",
        ),
        (
            "[gates.prek]\nenabled = 'yes'",
            "2:11: `enabled` should be true or false and is a string",
        ),
        (
            "[parallel]\nmax_workers = 0",
            "2:15: `max_workers` should be at least 1 and is 0",
        ),
        (
            "[adaptive_timeout]\ntimeout_multiplier_per_failure = -1.0",
            "2:34: `timeout_multiplier_per_failure` should not be less than 0",
        ),
        (
            "watch = 3",
            "1:9: `watch` should be a table and is a whole number",
        ),
        (
            "stats = 3",
            "1:9: `stats` should be a table and is a whole number",
        ),
        (
            "runners = 3",
            "1:11: `runners` should be a table and is a whole number",
        ),
        (
            "[runners]\nx = 3",
            "2:5: `x` should be a table and is a whole number",
        ),
        (
            "[loop]\nmodes = 3",
            "2:9: `modes` should be a table and is a whole number",
        ),
        (
            "[gates]\nllm_judge = true",
            "2:13: `llm_judge` should be a table and is true or false",
        ),
        (
            "[gates.llm_judge]\nagent = 'nobody'",
            "2:9: there is no agent `nobody`; there are claude, codex, copilot, scripted",
        ),
        (
            "[files]\nprd = '/etc/x'",
            "2:7: the path `/etc/x` is absolute; write it relative to the project's root",
        ),
    ] {
        assert_eq!(lines(text), [format!("ralph.toml:{want}")], "{text}");
    }
}

#[test]
fn an_old_and_a_new_name_for_the_same_contradict_each_other() {
    for (text, want) in [
        (
            "[loop]\nmax_attempts = 1\nmax_attempts_per_task = 2",
            "`loop.max_attempts_per_task` and `loop.max_attempts` mean the same; keep one",
        ),
        (
            "[gates]\nfail_fast = true\nfailFast = true",
            "`gates.failFast` and `loop.fail_fast` mean the same; keep one",
        ),
        (
            "[agents.x]\nargv = ['x']\n[runners.x]\nargv = ['x']",
            "`runners.x.argv` and `agents.x` mean the same; keep one",
        ),
    ] {
        assert!(lines(text)[0].ends_with(want), "{}", lines(text)[0]);
    }
}

#[test]
fn todays_gates_and_an_older_file_s_gates_replace_each_other() {
    let old = source("old", "[gates]\ncommands = ['make']\nfail_fast = true");
    let new = source("new", "[[gates]]\nname = 'n'\nrun = ['n']");
    let names = |c: &Config| c.gates.iter().map(|g| g.name.clone()).collect::<Vec<_>>();
    let both = load(&[old.clone(), new.clone()]).unwrap().config;
    assert_eq!(
        (names(&both), both.run.fail_fast),
        (vec!["n".to_owned()], true)
    );
    assert_eq!(names(&load(&[new.clone(), old]).unwrap().config), ["make"]);
    let only_flags = source("f", "[gates]\nfail_fast = true");
    assert_eq!(
        names(&load(&[new, only_flags]).unwrap().config),
        ["n"],
        "no `commands`, so nothing to replace them with"
    );
}
