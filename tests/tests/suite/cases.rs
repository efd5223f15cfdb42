//! Ways in which loops like this one have failed, one test each, where no other file of the
//! suite has one.

use ralph_tests::{Builder, Project};

fn reasons(p: &Project) -> Vec<String> {
    let ends = p.facts("iteration_ended");
    ends.iter()
        .map(|f| f["reason"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// An agent `cli` that prints what Claude's CLI prints.
fn stream(body: &str) -> Builder {
    Project::build()
        .other_agent("cli", &format!("cat >/dev/null\n{body}"))
        .toml("[agents.claude]\nargv = [\"SIDE/cli\"]\n")
}

/// With the script where the driver starts it.
fn as_program(builder: Builder) -> Project {
    let p = builder.ready();
    let (from, to) = (p.side("cli.sh"), p.side("cli"));
    std::fs::copy(from, &to).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&to, mode).unwrap();
    p
}

const RUN: [&str; 3] = ["run", "--agent", "claude"];

/// A08
#[test]
fn a_changelog_full_of_done_and_complete_ends_nothing() {
    let p = Project::build()
        .agent("cat >/dev/null; for w in done complete finished ready 'all tasks complete'; do echo \"- $w\" >>CHANGELOG.md; done; cat CHANGELOG.md\n")
        .in_loop("max_iterations = 2")
        .ready();
    p.run(&["run"]).expect(1).says("number of iterations");
    assert_eq!(p.commits(), [""; 0]);
    assert!(
        reasons(&p).iter().all(|r| r.contains("did not claim")),
        "{:?}",
        reasons(&p)
    );
}

/// B08
#[test]
fn a_run_whose_tasks_are_all_limited_or_blocked_says_how_many_of_each() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            "- [ ] One\n- [-] Two\n- [ ] Three (Depends on: T2)\n- [x] Four\n",
        )
        .agent("cat >/dev/null; echo \"You've hit your limit\"\n")
        .toml("[limits]\non_limit = \"stop\"\n")
        .ready();
    let ran = p.run(&["run", "--json"]).expect(1);
    let result = &ran.json()["result"];
    assert_eq!(
        (&result["done"], &result["total"]),
        (&1.into(), &4.into()),
        "{result}"
    );
    assert_eq!(p.status()["last_end"], "limited");
    assert_eq!(p.status()["blocked"], serde_json::json!(["T2"]));
}

/// C01
#[test]
fn words_about_errors_in_a_success_are_no_error() {
    let p = as_program(stream(
        "n=$(count agent); echo \"error handling $n\" >>work.txt\n\
         printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"s\",\"result\":\"Added error handling: \\\"error\\\": fatal exception caught.\\nEXIT_SIGNAL: true\"}'\n",
    )
    .tasks("PRD.md", "- [ ] A\n- [ ] B\n- [ ] C\n- [ ] D\n- [ ] E\n")
    );
    p.run(&RUN).expect(0);
    assert_eq!(p.commits().len(), 5);
}

/// C02
#[test]
fn an_agent_that_commits_itself_makes_progress() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent); echo $n >work.txt; git add work.txt; git -c user.name=a -c user.email=a@b commit -qm \"own $n\"\n")
        .in_loop("max_iterations = 4\nmax_attempts = 10\nno_progress_limit = 2")
        .ready();
    p.run(&["run"]).expect(1).says("number of iterations");
    assert_eq!(p.count("agent"), 4);
}

/// C03
#[test]
fn without_a_repository_it_is_said_that_nothing_can_be_measured() {
    let p = Project::build().untrusted();
    std::fs::rename(p.root().join(".git"), p.side("git")).unwrap();
    std::fs::create_dir(p.root().join("child")).unwrap();
    let made = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(p.root().join("child"))
        .status();
    assert!(made.unwrap().success());
    p.run(&["run", "--trust"])
        .expect(2)
        .says("is not in a git repository");
    assert!(!p.exists(".ralph/journal.jsonl"));
}

/// C04
#[test]
fn each_verdict_belongs_to_its_iteration() {
    let p = Project::build()
        .gate("second-time", "[ $(count gate) -gt 1 ]")
        .in_loop("max_iterations = 2")
        .ready();
    p.run(&["run"]).expect(1);
    let receipts = p.receipts("T1", "iteration");
    let passed: Vec<_> = receipts.iter().map(|r| r["result"].clone()).collect();
    assert_eq!(passed, ["rejected", "accepted"], "{receipts:?}");
    p.run(&["show", "1"]).expect(0).says("fail");
    p.run(&["show", "2"]).expect(0).says("accepted");
}

/// C06, E07
#[test]
fn a_banner_before_the_first_line_is_no_session_and_no_error() {
    let p = as_program(stream(
        "echo 'Welcome! session_id: 00000000-evil {not json'\n\
         echo '{broken'\n\
         echo x >>work.txt\n\
         printf '%s\\n' '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"2f1f6a0e-52a5-4d05-9f4c-6c5a0c1f7a11\"}'\n\
         printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"EXIT_SIGNAL: true\"}'\n",
    )
    .in_loop("max_iterations = 1")
    );
    p.run(&RUN).expect(1);
    assert_eq!(p.commits().len(), 1, "{:?}", reasons(&p));
    let receipts = format!("{:?}", p.receipts("T1", "iteration"));
    assert!(!receipts.contains("evil"), "{receipts}");
}

/// C07
#[test]
fn a_claim_within_json_is_read_from_the_decoded_text_and_told_once() {
    let p = as_program(stream(
        "echo x >>work.txt\n\
         printf '%s\\n' '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"half {\\\"EXIT_SIGNAL\\\": true}\\nEXIT_SIGNAL: true\"}]}}'\n\
         printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"half {\\\"EXIT_SIGNAL\\\": true}\\nEXIT_SIGNAL: true\"}'\n",
    )
    .in_loop("max_iterations = 1")
    );
    let ran = p.run(&RUN).expect(1);
    assert_eq!(p.commits().len(), 1, "{:?}", reasons(&p));
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!all.contains("\"type\""), "{all}");
    let ended = &p.facts("agent_ended")[0];
    assert_eq!(
        ended["outcome"]["text"]
            .as_str()
            .unwrap_or_default()
            .matches("half")
            .count(),
        1,
        "{ended}"
    );
}

/// E09
#[test]
fn raw_control_characters_in_a_judges_json_are_read_or_a_clean_judge_error() {
    let p = Project::build()
        .other_agent(
            "rules",
            "cat >/dev/null; printf '```json\\n{\"verdict\": \"fail\", \"reason\": \"a\\tb\\007c\\nd\"}\\n```\\n'\n",
        )
        .toml("[judge]\nenabled = true\nagent = \"rules\"\n")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    assert_eq!(p.commits(), [""; 0]);
    let reason = &reasons(&p)[0];
    assert!(reason.starts_with("judge: "), "{reason}");
    assert!(!reason.contains(['\t', '\u{7}', '\n']), "{reason:?}");
}

/// E06, for the one standard output that machines read today; a bridge has to have its own.
#[test]
fn whatever_else_prints_standard_output_is_one_json_object() {
    let p = Project::build()
        .agent("cat >/dev/null; echo NOISE; echo '{' >&2; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .gate("noisy", "echo NOISE; echo '{'")
        .ready();
    let hook = p.root().join(".git/hooks/post-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho NOISE; echo '{'\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let mut command = p.command(&["run", "--json"]);
    command.env("RALPH_LOG", "trace");
    let ran = p.start_command(command).wait().expect(0);
    assert_eq!(ran.json()["exit_code"], 0);
    assert!(!ran.stdout.contains("NOISE"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("TRACE"),
        "the log is on: {}",
        ran.stderr
    );
}
