//! Gates: all answer, what they say is told, and no program outlives its time.

use ralph_tests::{Project, below};

/// D06
#[test]
fn every_failing_gate_is_reported() {
    let p = Project::build()
        .gate(
            "lint",
            "n=$(count lint); [ $n -gt 1 ] || { echo 'lint: bad style'; exit 1; }\n",
        )
        .gate("fine", "count fine >/dev/null\n")
        .gate(
            "test",
            "n=$(count test); [ $n -gt 1 ] || { echo 'test: wrong sum' >&2; exit 7; }\n",
        )
        .ready();
    let ran = p.run(&["run"]).expect(0);
    assert!(
        ran.stdout.contains("gates failed: lint, test")
            || ran.stdout.contains("gates failed: test, lint"),
        "{}",
        ran.stdout
    );
    let prompt = p.noted("prompt.2");
    assert!(
        prompt.contains("lint: bad style") && prompt.contains("test: wrong sum"),
        "{prompt}"
    );
    assert_eq!(
        (p.count("lint"), p.count("fine"), p.count("test")),
        (3, 3, 3)
    );
}

#[test]
fn with_fail_fast_no_further_gate_starts() {
    let p = Project::build()
        .gate("one", "count one >/dev/null\n")
        .gate("two", "count two >/dev/null; exit 1\n")
        .gate("three", "count three >/dev/null\n")
        .in_loop("fail_fast = true\nmax_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1).says("gate failed: two");
    assert_eq!(
        (p.count("one"), p.count("two"), p.count("three")),
        (1, 1, 0)
    );
}

#[test]
fn gates_run_side_by_side() {
    // Each waits for the other; one after another they would never end.
    let p = Project::build()
        .gate(
            "a",
            "echo x >\"$SIDE/b.fifo\"; cat \"$SIDE/a.fifo\" >/dev/null\n",
        )
        .gate(
            "b",
            "cat \"$SIDE/b.fifo\" >/dev/null; echo x >\"$SIDE/a.fifo\"\n",
        )
        .ready();
    p.fifo("a");
    p.fifo("b");
    p.run(&["step"]).expect(0);
}

#[test]
fn a_gate_that_hangs_is_ended_with_all_it_started() {
    let p = Project::build()
        .toml("[[gates]]\nname = \"slow\"\nrun = [\"sh\", \"SIDE/slow.sh\"]\ntimeout = \"1s\"")
        .in_loop("max_iterations = 1")
        .ready();
    p.script(
        "slow.sh",
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &\necho 'began to wait'\nhang\n",
    );
    let ran = p.run(&["run"]).expect(1);
    assert_eq!(below(&p.root()), [], "{}", ran.stdout);
    let verdict = p.facts("gate_answered")[0]["result"]["verdict"].clone();
    assert_eq!(verdict["status"], "fail");
    let text = verdict.to_string();
    assert!(
        text.contains("1 s") || text.contains("1s") || text.contains("1000"),
        "{text}"
    );
    assert!(
        text.contains("began to wait"),
        "what it had printed is told: {text}"
    );
}

#[test]
fn a_gate_s_program_that_is_not_there_fails_the_gate_with_its_name() {
    let p = Project::build()
        .toml("[[gates]]\nname = \"g\"\nrun = [\"no-such-tool-anywhere\"]")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1).says("no-such-tool-anywhere");
    assert_eq!(p.commits(), [""; 0]);
}

#[test]
fn a_gate_s_long_output_is_cut_and_its_end_is_told() {
    let p = Project::build()
        .gate("g", "n=$(count gate); [ $n -gt 1 ] && exit 0; yes 'noise noise noise' | head -c 5000000; echo; echo 'the last word: broken'; exit 1\n")
        .ready();
    p.run(&["step"]).expect(1);
    p.run(&["step"]).expect(0);
    let prompt = p.noted("prompt.2");
    assert!(prompt.contains("the last word: broken"), "{prompt}");
    assert!(prompt.len() < 64 * 1024, "{}", prompt.len());
    let journal = std::fs::metadata(p.root().join(".ralph/journal.jsonl"))
        .unwrap()
        .len();
    assert!(journal < 1 << 20, "{journal}");
}

#[test]
fn diff_scope_and_no_secrets_say_path_and_line() {
    let p = Project::build()
        .agent("n=$(count agent); cat >\"$SIDE/prompt.$n\"\necho x >>src.txt\nif [ $n = 1 ]; then echo 'key = \"AKIAIOSFODNN7EXAMPLF\"' >>src.txt; echo y >other.txt; else rm -f other.txt; echo clean >src.txt; fi\necho 'EXIT_SIGNAL: true'\n")
        .toml("[[gates]]\nname = \"scope\"\nplugin = \"diff-scope\"\nconfig = { allow = [\"src.txt\"] }\n[[gates]]\nname = \"secrets\"\nplugin = \"no-secrets\"")
        .ready();
    p.run(&["run", "-n", "2"]).expect(1);
    let prompt = p.noted("prompt.2");
    assert!(
        prompt.contains("other.txt") && prompt.contains("src.txt:2"),
        "{prompt}"
    );
    assert!(
        !prompt.contains("AKIAIOSFODNN7EXAMPLF"),
        "the secret itself is shown to nobody: {prompt}"
    );
    assert_eq!(p.commits(), ["ralph: T1 First thing"]);
}

#[test]
fn a_gate_s_wrong_configuration_ends_the_run_and_costs_no_attempt() {
    let p = Project::build()
        .toml("[[gates]]\nname = \"scope\"\nplugin = \"diff-scope\"\nconfig = { alow = [] }")
        .ready();
    let ran = p.run(&["run"]);
    assert!([2, 3].contains(&ran.code), "{}", ran.code);
    assert!(
        ran.stdout.contains("alow") || ran.stderr.contains("alow"),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    assert_eq!(p.status()["next"]["attempts"], 0);
}
