//! The host decides: claimed, something changed, every check agrees.

use ralph_tests::Project;

fn reasons(p: &Project) -> Vec<String> {
    p.facts("iteration_ended")
        .iter()
        .map(|f| f["reason"].as_str().unwrap().to_owned())
        .collect()
}

fn rejected_once(agent: &str, why: &str) -> Project {
    let p = Project::build()
        .agent(agent)
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert_eq!(reasons(&p).len(), 1);
    assert!(
        reasons(&p)[0].contains(why),
        "wanted {why}, got {:?}",
        reasons(&p)
    );
    assert_eq!(p.commits(), [""; 0]);
    assert_eq!(p.read("PRD.md"), ralph_tests::TWO_TASKS);
    p
}

/// A01
#[test]
fn an_echo_of_the_prompt_claims_nothing() {
    rejected_once(
        "cat; echo x >>work.txt; echo working on it\n",
        "did not claim",
    );
    rejected_once(
        "echo x >>work.txt; echo 'you said:'; sed 's/^/> /'\n",
        "did not claim",
    );
    rejected_once(
        "echo x >>work.txt; echo '```'; cat; echo '```'\n",
        "did not claim",
    );
}

/// A02
#[test]
fn a_claim_without_a_change_is_refused() {
    rejected_once(
        "cat >/dev/null; echo 'EXIT_SIGNAL: true'\n",
        "nothing had changed",
    );
}

/// A14
#[test]
fn a_change_to_ralph_s_own_records_or_the_task_file_is_no_work() {
    rejected_once(
        "cat >/dev/null; echo x >>.ralph/notes.md; echo 'EXIT_SIGNAL: true'\n",
        "nothing had changed",
    );
    let p = Project::build()
        .agent("cat >/dev/null; sed -i 's/\\[ \\] First/[x] First/' PRD.md; echo 'EXIT_SIGNAL: true'\n")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(
        reasons(&p)[0].contains("nothing had changed"),
        "{:?}",
        reasons(&p)
    );
    assert!(p.read("PRD.md").contains("[ ] First"));
}

#[test]
fn no_claim_is_no_acceptance_even_with_green_gates() {
    rejected_once(
        "cat >/dev/null; echo x >>work.txt; echo 'all done, complete, finished, ready to merge'\n",
        "did not claim",
    );
}

/// A07
#[test]
fn an_explicit_no_beats_every_yes() {
    rejected_once(
        "cat >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: false'; echo 'phase complete'; echo 'EXIT_SIGNAL: true'\n",
        "did not claim",
    );
    let p = Project::build()
        .agent("cat >/dev/null; echo x >>work.txt; sed -i 's/\\[ \\] First/[x] First/' PRD.md; echo 'EXIT_SIGNAL: false'\n")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(
        p.read("PRD.md").contains("[ ] First"),
        "a tick doesn't beat it either"
    );
}

/// A05
#[test]
fn a_claim_in_each_usual_dress_counts() {
    for line in [
        "**EXIT_SIGNAL: true**",
        "EXIT_SIGNAL: true.",
        "`exit_signal : TRUE`",
        "EXIT_SIGNAL: true\\r",
        "7. EXIT_SIGNAL: true",
        "<promise>COMPLETE</promise>",
        "\\033[32mEXIT_\\033[1mSIGNAL: true\\033[0m",
    ] {
        let p = Project::build()
            .agent(&format!(
                "cat >/dev/null; echo x >>work.txt; printf '%b\\n\\n' '{line}'\n"
            ))
            .ready();
        let ran = p.run(&["step"]);
        assert_eq!(ran.code, 0, "{line}\n{}", ran.stdout);
    }
}

/// A06
#[test]
fn one_claim_is_for_one_task_and_the_rest_is_gone_on_with() {
    let p = Project::build().agent("cat >/dev/null; n=$(count agent); echo $n >>work.txt; echo 'everything is done'; echo '<promise>COMPLETE</promise>'\n").ready();
    let ran = p.run(&["run", "-n", "1"]).expect(1);
    assert!(ran.stdout.contains("1 of 2 tasks done"), "{}", ran.stdout);
    assert!(p.status()["next"]["id"] == "T2");
}

/// A17
#[test]
fn a_task_that_was_accepted_is_never_worked_on_again() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent); echo $n >>work.txt; [ $n -gt 1 ] || sed -i 's/\\[ \\] First/[x] First/' PRD.md\n")
        .in_loop("max_attempts = 2")
        .ready();
    p.run(&["run"]).expect(1);
    let tasks: Vec<_> = p
        .facts("selected")
        .iter()
        .map(|f| f["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        tasks,
        ["T1", "T2", "T2"],
        "a tick is a claim; T1 is promoted once"
    );
    assert_eq!(p.commits(), ["ralph: T1 First thing"]);
}

/// A13
#[test]
fn the_gate_s_output_is_in_the_next_prompt_and_the_counter_stays_at_the_task() {
    let p = Project::build()
        .gate(
            "g",
            "[ $(count gate) != 1 ] || { echo 'expected 3, got 4' >&2; exit 1; }\n",
        )
        .ready();
    let ran = p.run(&["run"]).expect(0);
    assert_eq!(
        ran.stdout.matches("[0 of 2 done] T1 First thing").count(),
        2,
        "{}",
        ran.stdout
    );
    assert!(!p.noted("prompt.1").contains("expected 3"));
    assert!(
        p.noted("prompt.2").contains("expected 3, got 4"),
        "{}",
        p.noted("prompt.2")
    );
    assert!(p.noted("prompt.2").contains("Attempt 2 of 3"));
    assert!(
        !p.noted("prompt.3").contains("expected 3"),
        "T2 starts without T1's troubles"
    );
    assert_eq!(p.commits().len(), 2);
}

/// F14
#[test]
fn attempts_used_up_block_the_task_and_what_depends_on_it() {
    let json = r#"{"userStories":[
{"id":"A","title":"a","passes":false,"priority":1},
{"id":"B","title":"b","passes":false,"priority":2,"depends_on":["A"]},
{"id":"C","title":"c","passes":false,"priority":3}]}
"#;
    let p = Project::build()
        .tasks("prd.json", json)
        .gate("g", "n=$(count gate); [ $n -gt 2 ]\n")
        .in_loop("max_attempts = 2")
        .ready();
    let ran = p.run(&["run"]).expect(1);
    assert!(
        ran.stdout.contains("nothing can run:") && ran.stdout.contains("B ("),
        "{}",
        ran.stdout
    );
    assert_eq!(p.count("agent"), 3, "A twice, C once, B never");
    assert_eq!(p.commits(), ["ralph: C c"]);
    let status = p.status();
    assert_eq!(status["blocked"], serde_json::json!(["A"]), "{status}");
    assert_eq!(
        (status["last_end"].as_str(), &status["next"]),
        (Some("blocked"), &serde_json::Value::Null)
    );
    assert!(
        p.read(".ralph/progress.md").contains("BLOCKED task A"),
        "{}",
        p.read(".ralph/progress.md")
    );
    // No polling for ever: nothing runs, at once.
    p.run(&["run"]).expect(1);
    assert_eq!(p.count("agent"), 3);
}

#[test]
fn a_blocked_markdown_task_is_marked_and_can_be_opened_again_by_a_person() {
    let p = Project::build()
        .gate("g", "n=$(count gate); [ $n -gt 1 ]\n")
        .in_loop("max_attempts = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(
        p.read("PRD.md").contains("- [-] First thing"),
        "{}",
        p.read("PRD.md")
    );
    assert!(
        p.read("PRD.md").contains("- [x] Second thing"),
        "{}",
        p.read("PRD.md")
    );
    p.write("PRD.md", p.read("PRD.md").replace("[-]", "[ ]"));
    p.run(&["run"]).expect(0);
}

/// A15
#[test]
fn the_judge_s_criticism_is_in_the_next_prompt_and_no_other_task_starts_before_it_agrees() {
    let p = Project::build()
        .toml("[judge]\nenabled = true\nagent = \"wise\"")
        .other_agent("wise", "n=$(count judge); cat >\"$SIDE/question.$n\"\nif [ $n -lt 3 ]; then echo \"{\\\"verdict\\\": \\\"fail\\\", \\\"summary\\\": \\\"complaint number $n\\\", \\\"findings\\\": []}\"; else echo 'JUDGE_SIGNAL: true'; fi\n")
        .ready();
    p.run(&["run"]).expect(0);
    let tasks: Vec<_> = p
        .facts("selected")
        .iter()
        .map(|f| f["task"]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(tasks, ["T1", "T1", "T1", "T2"]);
    assert!(
        p.noted("prompt.2").contains("complaint number 1"),
        "{}",
        p.noted("prompt.2")
    );
    assert!(p.noted("prompt.3").contains("complaint number 2"));
    assert!(
        p.noted("question.1").contains("+work 1"),
        "the judge sees the diff: {}",
        p.noted("question.1")
    );
}

#[test]
fn a_judge_whose_answer_cannot_be_read_is_asked_once_more_and_then_counts_as_no() {
    let p = Project::build()
        .toml("[review]\nenabled = true\nagent = \"wise\"")
        .other_agent(
            "wise",
            "count judge >/dev/null; cat >/dev/null; echo 'I am not sure what you want.'\n",
        )
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert_eq!(p.count("judge"), 2);
    assert!(reasons(&p)[0].contains("review"), "{:?}", reasons(&p));
}
