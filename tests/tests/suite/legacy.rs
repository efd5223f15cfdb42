//! Configurations of the Python loop load, and what has no effect here is said once.

use ralph_tests::Project;

/// What its `init` wrote, shortened, in three shapes.
const OLD: [(&str, &str); 3] = [
    (
        "solo",
        r#"
[loop]
max_iterations = 20
no_progress_limit = 3
rate_limit_per_hour = 0
sleep_seconds_between_iters = 0
runner_timeout_seconds = 120
max_attempts_per_task = 3
skip_blocked_tasks = true
mode = "speed"

[loop.modes.quality]
max_iterations = 50
runner_timeout_seconds = 900

[files]
prd = "PRD.md"
progress = ".ralph/progress.md"
prompt = ".ralph/PROMPT_build.md"

[runners.codex]
argv = ["sh", "SIDE/agent.sh"]

[gates]
commands = ["test -e work.txt"]
fail_fast = true
output_mode = "summary"

[git]
auto_commit = true
commit_message_template = "old: {story_id} {title}"
"#,
    ),
    (
        "template",
        r#"
[runners.codex]
argv = ["sh", "SIDE/agent.sh"]
[runners.claude]
argv = ["claude", "-p"]
[gates]
commands = []
precommitHook = false
[gates.llm_judge]
enabled = false
agent = "claude"
max_diff_chars = 30000
[gates.smart]
enabled = true
skip_gates_for = ["*.md"]
[gates.prd_update]
enabled = true
[gates.syntax_check]
enabled = true
check_python = true
[tracker]
kind = "auto"
[tracker.github]
repo = ""
label_filter = "ready"
[parallel]
enabled = false
max_workers = 3
[git]
auto_commit = true
"#,
    ),
    (
        "dead tables",
        r#"
[runners.codex]
argv = ["sh", "SIDE/agent.sh"]
[adaptive_timeout]
enabled = true
timeout_multiplier_per_failure = 1.5
[prompt]
max_specs_files = 5
context_total_budget = 50000
[watch]
enabled = false
patterns = ["**/*.py"]
[supervisor]
heartbeat_seconds = 60
[state]
validate_on_startup = true
[diagnostics]
enabled = true
[stats]
x = 1
[output]
verbosity = "normal"
[git]
auto_commit = true
"#,
    ),
];

#[test]
fn configurations_of_the_python_loop_load_with_one_warning_and_run() {
    for (name, toml) in OLD {
        let p = Project::build()
            .agent("cat >\"$SIDE/prompt\"; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
            .untrusted();
        p.write(".ralph/PROMPT_build.md", "Old words open the prompt.\n");
        let side = p.side("").display().to_string();
        p.write("ralph.toml", toml.replace("SIDE/", &side));
        p.commit_all("old");
        p.trust();
        let ran = p.run(&["run"]).expect(0);
        let warnings: Vec<_> = ran
            .stderr
            .lines()
            .filter(|l| l.starts_with("warning:"))
            .collect();
        assert_eq!(warnings.len(), 1, "{name}: {}", ran.stderr);
        assert!(warnings[0].contains("no effect"), "{name}: {}", warnings[0]);
        assert!(p.noted("prompt").starts_with("Old words"), "{name}");
        assert_eq!(p.commits().len(), 3, "{name}: {:?}", p.commits());
    }
}

#[test]
fn an_older_file_s_gate_decides_and_its_message_is_used() {
    let p = Project::build().untrusted();
    let side = p.side("").display().to_string();
    p.write(
        "ralph.toml",
        OLD[0]
            .1
            .replace("SIDE/", &side)
            .replace("test -e work.txt", "grep -q 'work 2' work.txt"),
    );
    p.write(".ralph/PROMPT_build.md", "Build.\n");
    p.commit_all("old");
    p.trust();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.facts("gate_answered")[0]["result"]["verdict"]["status"],
        "fail"
    );
    assert_eq!(
        p.commits()[1..],
        ["old: T1 First thing", "old: T2 Second thing"]
    );
}
