#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::testing::{Host, iteration, replay_cut_anywhere};
use ralph_plugin::{Event, Exit, Outcome, Role, Usage};
use serde_json::{Value, json};

type Session = <Copilot as AgentDriver>::Session;

fn prepare(config: &str, role: Role) -> Launch {
    let it = Iteration {
        role,
        ..iteration()
    };
    Host::new()
        .config(config)
        .run(|| Copilot::prepare(&it, "the prompt"))
        .0
        .unwrap()
}

#[test]
fn the_command_line_follows_sandbox_and_role() {
    let l = prepare("{}", Role::Work);
    assert_eq!(
        (l.program.as_str(), l.collect.as_slice()),
        ("copilot", &["usage.json".to_owned()][..])
    );
    assert_eq!(l.stdin.as_deref(), Some(&b"the prompt"[..]));
    assert!(
        !l.args.iter().any(|a| a == "-p"),
        "with -p standard input is ignored"
    );
    assert_eq!(
        l.args[..5],
        [
            "--output-format",
            "json",
            "--usage-output-file",
            "/scratch/usage.json",
            "--session-id",
        ]
    );
    assert_eq!(l.args[6..], ["--allow-all-tools", "--disallow-temp-dir"]);
    let config = r#"{"argv":["fake"],"sandbox":"off","model":"m","effort":"low","args":["--x"]}"#;
    let l = prepare(config, Role::Work);
    assert_eq!(l.program, "fake");
    assert_eq!(
        l.args[6..],
        [
            "--allow-all",
            "--model",
            "m",
            "--reasoning-effort",
            "low",
            "--x"
        ]
    );
    let l = prepare(r#"{"max-ai-credits":30}"#, Role::Work);
    assert_eq!(l.args[8..], ["--max-ai-credits", "30"]);
    for role in [Role::Judge, Role::Review] {
        let l = prepare(config, role);
        assert_eq!(
            l.args[6..9],
            [
                "--allow-all-tools",
                "--deny-tool=write",
                "--deny-tool=shell"
            ]
        );
    }
}

const STREAM: &str = r#"{"type":"session.skills_loaded","data":{"skills":[]},"id":"1"}
{"type":"user.message","data":{"content":"do it; say TOKEN"},"id":"2"}
{"type":"assistant.message_delta","data":{"deltaContent":"First "},"ephemeral":true}
{"type":"assistant.reasoning","data":{"content":"Hm 漢."},"id":"3"}
{"type":"assistant.message","data":{"messageId":"a","content":"First I write a.txt.","toolRequests":[{"name":"create"}]},"id":"4"}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"create","arguments":{"path":"/w/a.txt","file_text":"A\n"}},"id":"5"}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"Created file /w/a.txt"}},"id":"6"}
{"type":"assistant.message","data":{"messageId":"b","content":"","toolRequests":[{"name":"bash"}]},"id":"7"}
{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"apply_patch","arguments":"*** Begin Patch\n+x"},"id":"8"}
{"type":"tool.execution_complete","data":{"success":false,"error":{"message":"Permission denied.","code":"denied"}},"id":"9"}
{"type":"model.call_failure","data":{"statusCode":429,"errorMessage":"slow down"},"ephemeral":true}
{"type":"assistant.turn_retry","data":{"reason":"rate_limit"},"ephemeral":true}
{"type":"assistant.message","data":{"messageId":"s","content":"sub-agent","parentToolCallId":"c9"},"id":"a"}
{"type":"assistant.message","data":{"messageId":"c","content":"Done: two files. 🦀","toolRequests":[]},"id":"b"}
{"type":"result","timestamp":"2026","sessionId":"7956","exitCode":0,"usage":{"premiumRequests":0}}"#;

const USAGE: &str = r#"{"modelMetrics":{
    "m1":{"usage":{"inputTokens":4600,"outputTokens":200,"cacheReadTokens":800,"cacheWriteTokens":0}},
    "m2":{"usage":{"inputTokens":10,"outputTokens":1,"cacheReadTokens":0}}}}"#;

#[test]
fn a_whole_call_reads_the_same_wherever_it_was_cut() {
    let exit = Exit {
        collected: vec![("usage.json".into(), USAGE.into())],
        ..Exit::with_code(0)
    };
    let (events, outcome) = replay_cut_anywhere::<Session>(STREAM.as_bytes(), &exit);
    assert_eq!(outcome, Outcome::Finished("Done: two files. 🦀".into()));
    let usage = Usage {
        input_tokens: 3810,
        output_tokens: 201,
        cached_tokens: 800,
        cost_usd: None,
    };
    assert_eq!(
        events,
        [
            Event::Notice(format!("copilot session {}", session::id(&iteration()))),
            Event::Thinking("Hm 漢.".into()),
            Event::Text("First I write a.txt.".into()),
            Event::ToolUse("create /w/a.txt".into()),
            Event::ToolResult("Created file /w/a.txt".into()),
            Event::ToolUse("apply_patch *** Begin Patch +x".into()),
            Event::Notice("refused: Permission denied.".into()),
            Event::Notice("a model call failed (429): slow down".into()),
            Event::Notice("retry: rate_limit".into()),
            Event::Thinking("sub-agent".into()),
            Event::Text("Done: two files. 🦀".into()),
            Event::Usage(usage),
        ]
    );
}

fn ended(objects: &[Value], code: Option<i32>, signal: Option<i32>, stderr: &str) -> Outcome {
    let stream: String = objects.iter().map(|o| format!("{o}\n")).collect();
    let exit = Exit {
        code,
        signal,
        stderr_tail: stderr.into(),
        collected: Vec::new(),
    };
    replay_cut_anywhere::<Session>(stream.as_bytes(), &exit).1
}

fn message(text: &str) -> Value {
    json!({"type": "assistant.message", "data": {"content": text}})
}

fn result(code: i32) -> Value {
    json!({"type": "result", "sessionId": "s", "exitCode": code})
}

fn error(kind: &str, status: Option<u32>, message: &str) -> Value {
    json!({"type": "session.error", "data": {"errorType": kind, "statusCode": status, "message": message}})
}

#[test]
fn endings_are_told_apart() {
    let abort = json!({"type": "abort", "data": {}});
    let idle = json!({"type": "assistant.idle", "data": {"aborted": true}});
    let no_login = "Error: No authentication information found.\n\nCopilot can be …";
    for (objects, code, stderr, expected) in [
        (vec![message("Done."), result(0)], 0, "", "finished"),
        (
            vec![message("You've hit your limit · resets 5pm"), result(0)],
            0,
            "",
            "limited",
        ),
        (
            vec![message("I read the 429 rate limit code."), result(0)],
            0,
            "",
            "finished",
        ),
        (
            vec![error("rate_limit", Some(429), "Last error: 429"), result(1)],
            1,
            "",
            "limited",
        ),
        (
            vec![error("query", Some(529), "x"), result(1)],
            1,
            "",
            "limited",
        ),
        (
            vec![error("query", Some(503), "x"), result(1)],
            1,
            "",
            "limited",
        ),
        (
            vec![error("authentication", Some(401), "x"), result(1)],
            1,
            "",
            "login",
        ),
        (vec![error("authentication", None, "x")], 1, "", "login"),
        (
            vec![error("query", Some(400), "at line 529"), result(1)],
            1,
            "",
            "failed",
        ),
        (
            vec![error("query", None, "too long"), result(0)],
            0,
            "",
            "failed",
        ),
        (vec![message("x"), result(1)], 0, "", "failed"),
        (vec![message("x"), result(0)], 1, "", "failed"),
        (vec![message("x")], 0, "", "failed"),
        (vec![], 1, no_login, "login"),
        (
            vec![],
            1,
            "the tool printed: No authentication information found",
            "failed",
        ),
        (vec![message("x"), abort, result(0)], 0, "", "interrupted"),
        (
            vec![idle],
            0,
            "Cannot invoke native session after disposal",
            "interrupted",
        ),
        (vec![], 130, "", "interrupted"),
    ] {
        let kind = match ended(&objects, Some(code), None, stderr) {
            Outcome::Limited(_) => "limited",
            Outcome::Unauthenticated(_) => "login",
            Outcome::Failed(_) => "failed",
            Outcome::Interrupted => "interrupted",
            Outcome::Finished(_) => "finished",
        };
        assert_eq!(kind, expected, "{objects:?} {code} {stderr}");
    }
    assert_eq!(ended(&[result(0)], None, Some(2), ""), Outcome::Interrupted);
}

#[test]
fn a_usage_file_that_is_damaged_or_missing_is_no_failure() {
    for file in [&b""[..], b"{", b"[]", b"{\"modelMetrics\":7}"] {
        assert_eq!(usage::read(file), None);
    }
    assert_eq!(
        ended(&[message("x"), result(0)], Some(0), None, ""),
        Outcome::Finished("x".into())
    );
}
