//! A secret of the environment is nowhere to be read afterwards.

use ralph_tests::{Project, Ran, tree};

/// With a quote, so that JSON writes it in another way.
const SECRET: &str = "tok-5e\"cr3t-0123456789";

fn run(p: &Project, args: &[&str]) -> Ran {
    let mut command = p.command(args);
    command
        .env("MY_API_TOKEN", SECRET)
        .env("HTTPS_PROXY", "http://me:pr0xy-passw0rd@127.0.0.1:9");
    p.start_command(command).wait()
}

#[track_caller]
fn nowhere(p: &Project, ran: &Ran) {
    let parts = ["tok-5e", "cr3t-0123456789", "pr0xy-passw0rd"];
    for part in parts {
        assert!(!ran.stdout.contains(part), "{part}\n{}", ran.stdout);
        assert!(!ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    for (path, (_, _, bytes)) in tree(&p.root().join(".ralph")) {
        let text = String::from_utf8_lossy(&bytes);
        for part in parts {
            assert!(!text.contains(part), "{part} in {path:?}\n{text}");
        }
    }
}

#[test]
fn what_agents_gates_and_judges_say_of_it_is_taken_out_also_when_it_is_cut() {
    let p = Project::build()
        .agent(
            "cat >/dev/null; n=$(count agent); echo \"work $n\" >>work.txt\n\
             echo \"whole: $MY_API_TOKEN, proxy $HTTPS_PROXY\"\n\
             printf 'cut: tok-5e'; sleep 0.3; printf '\"cr3t-0123456789\\n'\n\
             echo \"stderr $MY_API_TOKEN\" >&2\n\
             echo 'EXIT_SIGNAL: true'\n",
        )
        .in_agent("env = [\"MY_API_TOKEN\"]")
        .toml("[judge]\nenabled = true\nagent = \"wise\"\n")
        .other_agent(
            "wise",
            "cat >/dev/null; printf '{\"verdict\": \"fail\", \"reason\": \"saw tok-5e\\\\\"cr3t-0123456789\"}\\n'\n",
        )
        .gate("g", "echo \"gate tok-5e\\\"cr3t-0123456789\"; exit $(( $(count gate) % 2 ))\n")
        .in_loop("max_iterations = 3\nmax_attempts = 10")
        .ready();
    let ran = run(&p, &["run", "-vvv"])
        .expect(1)
        .says("[redacted MY_API_TOKEN]");
    nowhere(&p, &ran);
    let logs: Vec<u8> = tree(&p.root().join(".ralph/logs"))
        .into_iter()
        .flat_map(|(_, (_, _, bytes))| bytes)
        .collect();
    let logs = String::from_utf8_lossy(&logs).into_owned();
    for line in [
        "whole: [redacted MY_API_TOKEN], proxy http://me:[redacted HTTPS_PROXY]@",
        "cut: [redacted MY_API_TOKEN]",
        "stderr [redacted MY_API_TOKEN]",
    ] {
        assert!(logs.contains(line), "{line}\n{logs}");
    }
    run(&p, &["verify"]).expect(0);
    for iteration in ["1", "2", "3"] {
        nowhere(&p, &run(&p, &["replay", iteration]).expect(0));
        nowhere(&p, &run(&p, &["show", iteration]).expect(0));
    }
}

#[test]
fn what_a_person_or_a_task_says_of_it_is_in_no_prompt() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            format!("- [ ] Use {SECRET} here\n- [ ] Second\n"),
        )
        .agent("n=$(count agent); cat >\"$SIDE/prompt.$n\"; echo \"work $n\" >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.write(".ralph/FEEDBACK.md", format!("the token is {SECRET}\n"));
    let ran = run(&p, &["run"]).expect(0);
    std::fs::remove_file(p.root().join(".ralph/FEEDBACK.md")).unwrap();
    // The copy of the task file is the person's own text.
    for path in tree(&p.root().join(".ralph/context")).into_keys() {
        if path.ends_with("task-file") {
            std::fs::remove_file(p.root().join(".ralph/context").join(path)).unwrap();
        }
    }
    nowhere(&p, &ran);
    let prompt = p.noted("prompt.1");
    assert!(!prompt.contains("cr3t"), "{prompt}");
    assert!(
        prompt.contains("the token is [redacted MY_API_TOKEN]"),
        "{prompt}"
    );
    assert_eq!(p.commits().len(), 2);
}

#[test]
fn a_gate_that_looks_for_secrets_still_sees_the_diff_as_it_is_and_its_tape_does_not() {
    let key = "AKIAQ3EGRZ7XPLW2TNB4";
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null; echo 'key = \"{key}\"' >>work.txt; echo 'EXIT_SIGNAL: true'\n"
        ))
        .toml("[[gates]]\nname = \"no-secrets\"\nplugin = \"no-secrets\"\n")
        .in_loop("max_iterations = 1")
        .ready();
    let mut command = p.command(&["run"]);
    command.env("AWS_ACCESS_KEY", key);
    p.start_command(command).wait().expect(1);
    let gates = p.facts("gate_answered");
    assert_eq!(gates[0]["result"]["verdict"]["status"], "fail", "{gates:?}");
    for (path, (_, _, bytes)) in tree(&p.root().join(".ralph")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(key), "{path:?}");
    }
    p.run(&["replay", "1"]).says("a secret");
}
