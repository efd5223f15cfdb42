//! `ralph bridge`, driven as an editor does: the documents' methods, events and errors.

use ralph_tests::{Bridge, Client, Project, below, go, ready, waiting};
use serde_json::{Value, json};

fn fields(of: &Value, names: &[&str]) {
    for name in names {
        assert!(of.get(name).is_some(), "no {name} in {of}");
    }
}

fn code(said: &Value) -> i64 {
    said["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn ping_and_status_have_the_documents_fields() {
    let p = Project::build().ready();
    let mut b = Bridge::of(&p);
    let ping = b.result("ping", json!({}));
    assert_eq!(ping["ok"], true);
    assert_eq!(ping["cwd"], json!(p.root()));
    fields(&ping, &["version", "time", "protocol"]);
    let status = b.result("status", json!({}));
    fields(
        &status,
        &[
            "version",
            "cwd",
            "progress",
            "agents",
            "prompt",
            "activeRunId",
            "last",
        ],
    );
    assert_eq!(status["prd"], "PRD.md");
    assert_eq!(status["done"], 0);
    assert_eq!(status["total"], 2);
    assert_eq!(status["next"]["task_id"], "T1");
    assert_eq!(status["next"]["id"], "T1");
    assert_eq!(status["next"]["title"], "First thing");
    assert_eq!(status["next"]["kind"], "md");
    assert_eq!(status["running"], false);
    assert_eq!(status["paused"], false);
    let agents = status["agents"].as_array().unwrap();
    for name in ["codex", "claude", "copilot"] {
        assert!(agents.contains(&json!(name)), "{agents:?}");
    }
    let ended = b.close();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.events(), ["bridge_stopped"]);
}

#[test]
fn a_run_is_told_from_its_start_to_its_end() {
    let p = Project::build().ready();
    let mut b = Bridge::of(&p);
    let answer = b.call("run", json!({"maxIterations": 5}));
    let run = answer["result"]["runId"].clone();
    assert!(run.is_string(), "{answer}");
    // The answer precedes what it caused.
    assert_eq!(b.seen(), [""; 0]);
    let started = b.event("run_started");
    assert_eq!(started["runId"], run);
    assert_eq!(started["maxIterations"], 5);
    assert_eq!(started["startIteration"], 1);
    for (n, task) in [(1, "T1"), (2, "T2")] {
        let begun = b.event("iteration_started");
        assert_eq!(begun["runId"], run);
        assert_eq!(begun["iteration"], n);
        assert_eq!(begun["task_id"], task);
        assert_eq!(begun["storyId"], task);
        let done = b.event("iteration_finished");
        assert_eq!(done["iteration"], n);
        assert_eq!(done["task_id"], task);
        assert_eq!(done["storyId"], task);
        assert_eq!(done["exitSignal"], true);
        assert_eq!(done["returnCode"], 0);
        assert_eq!(done["repoClean"], true);
        assert_eq!(done["blocked"], false);
        assert_eq!(done["judgeOk"], Value::Null);
        assert!(done["durationSeconds"].is_number());
        for path in ["receiptsDir", "contextDir", "logPath"] {
            assert!(p.exists(done[path].as_str().unwrap()), "{path}: {done}");
        }
        let status = b.result("status", json!({}));
        assert_eq!(status["last"]["attempt_id"], done["attemptId"]);
        fields(
            &status["last"],
            &[
                "iteration_id",
                "task_id",
                "status",
                "exit_code",
                "started_at",
                "finished_at",
            ],
        );
    }
    assert_eq!(b.event("run_stopped")["reason"], "complete");
    let status = b.result("status", json!({}));
    assert_eq!(status["running"], false);
    assert_eq!(status["activeRunId"], Value::Null);
    assert_eq!(status["next"], Value::Null);
    assert_eq!((&status["done"], &status["total"]), (&json!(2), &json!(2)));
    assert_eq!(p.commits().len(), 2);
    b.close();
    p.run(&["verify"]).expect(0);
}

#[test]
fn a_step_is_one_iteration_and_others_are_answered_meanwhile() {
    let p = ready(waiting().gate("g", "exit 0\n"));
    let mut b = Bridge::of(&p);
    let step = b.ask("step", json!({}));
    assert_eq!(p.hear("here"), "1");
    assert_eq!(b.result("ping", json!({}))["ok"], true);
    assert_eq!(b.result("status", json!({}))["running"], true);
    let second = b.call("step", json!({}));
    assert_eq!(code(&second), -32000);
    assert_eq!(second["error"]["message"], "A run is already active");
    assert!(second["error"]["data"].is_object());
    assert_eq!(code(&b.call("run", json!({}))), -32000);
    go(&p);
    let answer = b.answer(step);
    let result = &answer["result"];
    assert_eq!(result["iteration"], 1, "{answer}");
    assert_eq!(result["task_id"], "T1");
    assert_eq!(result["story_id"], "T1");
    assert_eq!(result["task_title"], "First thing");
    assert_eq!(result["exit_signal"], true);
    assert_eq!(result["return_code"], 0);
    assert_eq!(result["progress_made"], true);
    assert_eq!(result["no_progress_streak"], 0);
    assert_eq!(result["gates_ok"], true);
    assert_eq!(result["repo_clean"], true);
    assert_eq!(result["blocked"], false);
    fields(
        result,
        &[
            "agent",
            "log_path",
            "judge_ok",
            "review_ok",
            "attempt_id",
            "receipts_dir",
            "context_dir",
        ],
    );
    assert_eq!(p.count("agent"), 1);
    // No run was told of: an iteration alone.
    b.event("iteration_started");
    b.event("iteration_finished");
    assert_eq!(b.seen(), [""; 0]);
    assert_eq!(b.result("status", json!({}))["running"], false);
}

#[test]
fn a_step_is_cancelled_by_stop() {
    let p = ready(waiting());
    let mut b = Bridge::of(&p);
    let step = b.ask("step", json!({}));
    assert_eq!(p.hear("here"), "1");
    let stopped = b.result("stop", json!({}));
    assert_eq!(stopped, json!({"ok": true, "stopped": true}));
    let answer = b.answer(step);
    assert_eq!(answer["result"]["status"], "interrupted", "{answer}");
    assert_eq!(answer["result"]["progress_made"], false);
    b.event("iteration_started");
    assert_eq!(b.event("iteration_finished")["status"], "interrupted");
    assert_eq!(below(p.all()).len(), 1, "only the bridge is left");
    assert_eq!(
        b.result("stop", json!({})),
        json!({"ok": true, "stopped": false})
    );
    // What it had begun is taken up by the next one.
    let step = b.ask("step", json!({}));
    assert_eq!(p.hear("here"), "2");
    go(&p);
    assert_eq!(b.answer(step)["result"]["task_id"], "T1");
}

#[test]
fn pause_resume_and_stop_are_answered_truthfully() {
    let p = ready(waiting());
    let mut b = Bridge::of(&p);
    let nothing = json!({"ok": false, "runId": null, "paused": false});
    assert_eq!(b.result("pause", json!({})), nothing);
    assert_eq!(b.result("resume", json!({})), nothing);
    let run = b.result("run", json!({}))["runId"].clone();
    assert_eq!(p.hear("here"), "1");
    let paused = json!({"ok": true, "runId": run, "paused": true});
    assert_eq!(b.result("pause", json!({})), paused);
    assert_eq!(b.result("pause", json!({})), paused);
    assert_eq!(b.event("run_paused")["runId"], run);
    assert_eq!(b.result("status", json!({}))["paused"], true);
    go(&p);
    b.event("iteration_finished");
    let resumed = json!({"ok": true, "runId": run, "paused": false});
    assert_eq!(b.result("resume", json!({})), resumed);
    assert_eq!(b.event("run_resumed")["runId"], run);
    assert_eq!(p.hear("here"), "2");
    b.result("pause", json!({}));
    // Paused in its last iteration, when nothing is left to wait for.
    go(&p);
    b.event("iteration_finished");
    assert_eq!(b.event("run_stopped")["reason"], "complete");
    assert_eq!(b.result("stop", json!({}))["stopped"], false);
    let status = b.result("status", json!({}));
    assert_eq!(status["paused"], false);
    assert_eq!(status["running"], false);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn stop_while_paused_runs_nothing_more() {
    let p = ready(waiting());
    let mut b = Bridge::of(&p);
    b.result("run", json!({}));
    assert_eq!(p.hear("here"), "1");
    b.result("pause", json!({}));
    go(&p);
    b.event("iteration_finished");
    assert_eq!(b.result("stop", json!({}))["stopped"], true);
    assert_eq!(b.event("run_stopped")["reason"], "stopped");
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn stop_twice_ends_the_agent() {
    let p = ready(waiting());
    let mut b = Bridge::of(&p);
    b.result("run", json!({}));
    assert_eq!(p.hear("here"), "1");
    for _ in 0..2 {
        assert_eq!(b.result("stop", json!({}))["stopped"], true);
    }
    b.event("iteration_finished");
    assert_eq!(b.event("run_stopped")["reason"], "stopped");
    assert_eq!(below(p.all()).len(), 1);
}

/// E06
#[test]
fn standard_output_is_the_protocols_alone_whatever_is_printed() {
    let p = Project::build()
        .agent("cat >/dev/null\nprintf 'loud\\n\\033[2J{\\n' | tee /dev/stderr\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .gate("g", "echo gate out; echo gate err >&2\n")
        .ready();
    p.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho hook says; echo hook errs >&2\n",
    );
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(p.root().join(".git/hooks/pre-commit"), mode).unwrap();
    let env = [
        ("RALPH_LOG", "trace"),
        ("RUST_BACKTRACE", "1"),
        ("RALPH_FORMAT", "json"),
    ];
    let mut b = Bridge::with(&p, &env);
    b.result(
        "subscribe",
        json!({"events": ["output", "agent_event", "gate_finished"]}),
    );
    b.result("run", json!({}));
    assert!(b.event("output")["line"].is_string());
    assert_eq!(b.event("gate_finished")["name"], "g");
    b.event("agent_event");
    assert_eq!(b.event("run_stopped")["reason"], "complete");
    let ended = b.close();
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("TRACE"), "{}", ended.stderr);
}

/// Children never read what is the client's.
#[test]
fn an_agent_that_reads_its_input_takes_none_of_the_requests() {
    let p = ready(
        waiting()
            .gate("g", "cat >/dev/null\n")
            .in_agent("prompt = \"argument\""),
    );
    let mut b = Bridge::of(&p);
    let step = b.ask("step", json!({}));
    assert_eq!(p.hear("here"), "1");
    let ids: Vec<u64> = (0..5).map(|_| b.ask("ping", json!({}))).collect();
    go(&p);
    for id in ids {
        assert_eq!(b.answer(id)["result"]["ok"], true);
    }
    assert_eq!(b.answer(step)["result"]["gates_ok"], true);
}

#[test]
fn extra_events_come_only_to_who_asked() {
    let p = Project::build().gate("g", "exit 0\n").ready();
    let mut b = Bridge::of(&p);
    b.result("run", json!({"maxIterations": 1}));
    assert_eq!(b.event("run_stopped")["reason"], "max_iterations");
    b.event("run_started");
    b.event("iteration_started");
    b.event("iteration_finished");
    assert_eq!(b.seen(), [""; 0]);
    let odd = b.call("subscribe", json!({"events": ["output", "nope"]}));
    assert_eq!(code(&odd), -32602);
    let got = b.result("subscribe", json!({"events": ["output", "gate_finished"]}));
    assert_eq!(got, json!({"subscribed": ["gate_finished", "output"]}));
    let got = b.result("unsubscribe", json!({"events": ["output"]}));
    assert_eq!(got, json!({"subscribed": ["gate_finished"]}));
}

#[test]
fn a_flood_of_requests_is_refused_one_by_one() {
    let p = Project::build().ready();
    let mut b = Bridge::of(&p);
    let ids: Vec<u64> = (0..200).map(|_| b.ask("ping", json!({}))).collect();
    let answers: Vec<Value> = ids.into_iter().map(|id| b.answer(id)).collect();
    let refused: Vec<_> = answers.iter().filter(|a| code(a) == -32001).collect();
    assert!(
        !refused.is_empty() && refused.len() < 180,
        "{}",
        refused.len()
    );
    assert!(refused.iter().all(|r| r["error"]["data"].is_object()));
    assert!(answers.iter().take(20).all(|a| a["result"]["ok"] == true));
}

#[test]
fn what_is_wrong_with_the_project_is_told_and_can_be_mended_meanwhile() {
    let p = Project::build().untrusted();
    let mut b = Bridge::of(&p);
    let said = b.call("run", json!({}));
    assert_eq!(code(&said), -32603);
    assert_eq!(said["error"]["data"]["kind"], "untrusted", "{said}");
    assert_eq!(b.seen(), [""; 0]);
    p.trust();
    let toml = p.read("ralph.toml");
    p.write("ralph.toml", format!("{toml}\n[nope]\n"));
    let said = b.call("status", json!({}));
    assert_eq!(said["error"]["data"]["kind"], "config", "{said}");
    p.write("ralph.toml", toml);
    b.result("run", json!({}));
    assert_eq!(b.event("run_stopped")["reason"], "complete");
    // Once more: there is nothing to do, and that is known.
    let step = b.result("step", json!({}));
    assert_eq!(step["task_id"], Value::Null);
    assert_eq!(
        (&step["return_code"], &step["exit_signal"]),
        (&json!(0), &json!(true))
    );
}

#[test]
fn a_run_of_another_process_is_seen_and_is_in_the_way() {
    let p = ready(waiting());
    let run = p.start(&["run", "-n", "1"]);
    assert_eq!(p.hear("here"), "1");
    let mut b = Bridge::of(&p);
    let status = b.result("status", json!({}));
    assert_eq!(status["running"], true);
    assert!(status["activeRunId"].is_string());
    let said = b.call("run", json!({}));
    assert_eq!(code(&said), -32000, "{said}");
    assert_eq!(b.result("stop", json!({}))["stopped"], false);
    go(&p);
    run.wait().expect(1);
    let step = b.ask("step", json!({}));
    assert_eq!(p.hear("here"), "2");
    go(&p);
    assert_eq!(b.answer(step)["result"]["task_id"], "T2");
}

#[test]
fn what_an_agent_does_wrong_is_a_finished_iteration_and_an_error_an_event() {
    let p = Project::build()
        .agent("cat >/dev/null; count agent >/dev/null; exit 7\n")
        .in_loop("max_attempts = 9")
        .ready();
    let mut b = Bridge::of(&p);
    let step = b.result("step", json!({}));
    assert_eq!(step["return_code"], 7);
    assert_eq!(step["progress_made"], false);
    assert_eq!(step["no_progress_streak"], 1);
    b.result("run", json!({}));
    assert_eq!(b.event("run_stopped")["reason"], "no_progress");
    std::fs::rename(p.side("agent"), p.side("agent.gone")).unwrap_or_default();
    let toml = p.read("ralph.toml");
    assert!(toml.contains("argv"), "{toml}");
    let gone = toml.replacen("argv = [\"", "argv = [\"/nowhere", 1);
    p.write("ralph.toml", gone);
    p.trust();
    b.result("run", json!({}));
    let error = b.event("error");
    assert!(
        error["message"].as_str().unwrap().contains("nowhere"),
        "{error}"
    );
    assert_eq!(b.event("run_stopped")["reason"], "error");
}

#[test]
fn a_run_of_the_bridge_has_its_socket() {
    let p = ready(waiting());
    let mut b = Bridge::of(&p);
    b.result("run", json!({"maxIterations": 1}));
    assert_eq!(p.hear("here"), "1");
    p.run(&["ps"]).expect(0).says("T1");
    p.run(&["pause"]).expect(0);
    b.event("run_paused");
    p.run(&["resume"]).expect(0);
    b.event("run_resumed");
    go(&p);
    b.event("run_stopped");
}

#[test]
fn parallel_iterations_are_told_each_with_its_task() {
    let p = Project::build().toml("[parallel]\nworkers = 2\n").ready();
    let mut b = Bridge::of(&p);
    b.result("run", json!({}));
    assert_eq!(b.event("run_stopped")["reason"], "complete");
    let mut tasks: Vec<Value> = (0..2)
        .map(|_| b.event("iteration_finished")["task_id"].clone())
        .collect();
    tasks.sort_by_key(|t| t.to_string());
    assert_eq!(tasks, ["T1", "T2"]);
    for _ in 0..2 {
        b.event("iteration_started");
    }
}

#[test]
fn a_gate_that_only_warns_says_so_wherever_a_run_is_watched() {
    let gate = |name: &str, more: &str| {
        format!("[[gates]]\nname = \"{name}\"\nrun = [\"sh\", \"-c\", \"exit 1\"]\n{more}\n")
    };
    let toml = gate("lint", "severity = \"warn\"") + &gate("tests", "");
    let p = ready(waiting().toml(&toml).in_loop("max_iterations = 1"));
    let mut b = Bridge::of(&p);
    b.result("subscribe", json!({"events": ["gate_finished"]}));
    b.result("run", json!({}));
    p.hear("here");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["state_change"]}));
    let tail = p.start(&["tail", "--json"]);
    tail.first_line();
    let plain = p.start(&["tail"]);
    plain.first_words();
    go(&p);
    let mut ruled: Vec<_> = (0..2).map(|_| b.event("gate_finished")).collect();
    ruled.sort_by_key(|e| e["name"].to_string());
    for (event, (name, severity)) in ruled.iter().zip([("lint", "warn"), ("tests", "block")]) {
        assert_eq!(
            (&event["name"], &event["severity"]),
            (&json!(name), &json!(severity))
        );
        assert_eq!(event["status"], "fail", "as the document has it");
    }
    let done = loop {
        let said = client.line().unwrap();
        let gates = said["params"]["data"]["gates"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if gates.len() == 2 && gates.iter().all(|g| g["status"] == "fail") {
            break gates;
        }
        let at_work = |g: &&Value| g["status"] == "running";
        assert!(
            gates
                .iter()
                .filter(at_work)
                .all(|g| g["severity"].is_null())
        );
    };
    for gate in done {
        let want = if gate["name"] == "lint" {
            "warn"
        } else {
            "block"
        };
        assert_eq!(gate["severity"], want, "{gate}");
    }
    b.event("run_stopped");
    tail.wait().expect(1);
    let plain = plain.wait().expect(1).stdout;
    assert!(
        plain.contains("# gate lint warn ") && plain.contains("# gate tests fail "),
        "{plain}"
    );
}
