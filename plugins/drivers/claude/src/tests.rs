#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::testing::{Host, iteration, replay_cut_anywhere};
use ralph_plugin::{Event, Exit, Outcome, Role, Usage};
use serde_json::{Value, json};

type Session = <Claude as AgentDriver>::Session;

fn args(config: &str, role: Role) -> Vec<String> {
    let it = Iteration {
        role,
        ..iteration()
    };
    let launch = Host::new()
        .config(config)
        .run(|| Claude::prepare(&it, "the prompt"))
        .0
        .unwrap();
    assert_eq!(launch.stdin.as_deref(), Some(&b"the prompt"[..]));
    let mut args = vec![launch.program];
    args.extend(launch.args);
    args
}

#[test]
fn the_command_line_follows_sandbox_and_role() {
    let head = [
        "claude",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
    ];
    let with = |tail: &[&str]| -> Vec<String> {
        head.iter().chain(tail).map(|s| (*s).to_owned()).collect()
    };
    let edits = ["--permission-mode", "acceptEdits", "--allowedTools=Bash"];
    let reads = ["--permission-mode", "dontAsk", "--tools=Read,Grep,Glob"];
    assert_eq!(args("{}", Role::Work), with(&edits));
    assert_eq!(
        args(r#"{"allowed-tools":[]}"#, Role::Work),
        with(&edits[..2])
    );
    assert_eq!(args(r#"{"sandbox":"read-only"}"#, Role::Work), with(&reads));
    assert_eq!(
        args(
            r#"{"sandbox":"off","model":"m","effort":"low","args":["--x"]}"#,
            Role::Work
        ),
        with(&[
            "--dangerously-skip-permissions",
            "--model",
            "m",
            "--effort",
            "low",
            "--x"
        ])
    );
    let budget = r#"{"allowed-tools":[],"max-turns":9,"max-budget-usd":2.5,"args":["--x"]}"#;
    let flags = ["--max-turns", "9", "--max-budget-usd", "2.5", "--x"];
    assert_eq!(
        args(budget, Role::Work),
        with(&[&edits[..2], &flags[..]].concat())
    );
    for role in [Role::Judge, Role::Review] {
        assert_eq!(args(r#"{"sandbox":"off"}"#, role), with(&reads));
    }
    assert_eq!(args(r#"{"argv":["./fake"]}"#, Role::Work)[0], "./fake");
}

const STREAM: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"eb10","tools":["Bash"],"model":"claude-sonnet-4-5","permissionMode":"acceptEdits"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"thinking","thinking":"Hm 漢."}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/w/a.txt","content":"A\n"}}]},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"File created"}]}}
{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":542,"error_status":529,"error":"overloaded"}
{"type":"assistant","message":{"id":"msg_2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"exit 3","description":"d"}}]},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"Exit code 3\noops"}],"is_error":true,"tool_use_id":"t2"}]}}
{"type":"system","subtype":"permission_denied","tool_name":"Write","message":"not granted"}
{"type":"assistant","message":{"id":"msg_s","role":"assistant","content":[{"type":"text","text":"sub-agent TOKEN"}]},"parent_tool_use_id":"t9"}
{"type":"assistant","message":{"id":"msg_3","role":"assistant","content":[{"type":"text","text":"Done: two files. 🦀"}]},"parent_tool_use_id":null}
{"num_turns":4,"result":"Done: two files. 🦀","is_error":false,"type":"result","subtype":"success","terminal_reason":"completed","api_error_status":null,"total_cost_usd":0.01704,"usage":{"input_tokens":4600,"cache_read_input_tokens":800,"cache_creation_input_tokens":30,"output_tokens":200},"permission_denials":[{"tool_name":"Write"}]}"#;

#[test]
fn a_whole_call_reads_the_same_wherever_it_was_cut() {
    let (events, outcome) = replay_cut_anywhere::<Session>(STREAM.as_bytes(), &Exit::with_code(0));
    // C05: a refusal is told, and no failure by itself.
    assert_eq!(outcome, Outcome::Finished("Done: two files. 🦀".into()));
    let usage = Usage {
        input_tokens: 4630,
        output_tokens: 200,
        cached_tokens: 800,
        cost_usd: Some(0.01704),
    };
    assert_eq!(
        events,
        [
            Event::Notice("claude session eb10, model claude-sonnet-4-5, acceptEdits".into()),
            Event::Thinking("Hm 漢.".into()),
            Event::ToolUse("Write /w/a.txt".into()),
            Event::ToolResult("File created".into()),
            Event::Notice("retry 1 of 10 in 542 ms: overloaded (529)".into()),
            Event::ToolUse("Bash exit 3".into()),
            Event::ToolResult("error: Exit code 3\noops".into()),
            Event::Notice("refused: Write: not granted".into()),
            Event::Thinking("sub-agent TOKEN".into()),
            Event::Text("Done: two files. 🦀".into()),
            Event::Notice("tool calls that were refused: Write".into()),
            Event::Usage(usage),
        ]
    );
}

fn ended(objects: &[Value], code: Option<i32>, signal: Option<i32>) -> (Vec<Event>, Outcome) {
    let stream: String = objects.iter().map(|o| format!("{o}\n")).collect();
    let exit = Exit {
        code,
        signal,
        stderr_tail: b"its stderr".into(),
        collected: Vec::new(),
    };
    replay_cut_anywhere::<Session>(stream.as_bytes(), &exit)
}

fn text(id: &str, text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": id, "content": [{"type": "text", "text": text}]}})
}

fn delta(text: &str) -> Value {
    let event =
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}});
    json!({"type": "stream_event", "event": event})
}

fn api_error(status: Option<u32>, kind: &str, words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
           "api_error_status": status, "api_error_type": kind, "result": words})
}

fn success(words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": words})
}

#[test]
fn errors_are_told_apart_by_their_codes() {
    let kind = |objects: &[Value]| match ended(objects, Some(1), None).1 {
        Outcome::Limited(_) => "limited",
        Outcome::Unauthenticated(_) => "login",
        Outcome::Failed(_) => "failed",
        Outcome::Interrupted => "interrupted",
        Outcome::Finished(_) => "finished",
    };
    let synthetic = |error: &str| {
        json!({"type": "assistant", "error": error,
               "message": {"id": "s", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}})
    };
    for (objects, expected) in [
        (
            vec![api_error(
                Some(429),
                "rate_limit_error",
                "API Error: Request rejected (429)",
            )],
            "limited",
        ),
        (
            vec![api_error(Some(529), "overloaded_error", "API Error: 529")],
            "limited",
        ),
        (
            vec![synthetic("rate_limit"), api_error(None, "", "API Error")],
            "limited",
        ),
        (vec![synthetic("rate_limit")], "limited"),
        (
            vec![api_error(
                None,
                "",
                "Claude AI usage limit reached|1764280000",
            )],
            "limited",
        ),
        (
            vec![api_error(
                Some(401),
                "authentication_error",
                "Failed to authenticate.",
            )],
            "login",
        ),
        (
            vec![api_error(None, "", "Not logged in · Please run /login")],
            "login",
        ),
        (
            vec![synthetic("authentication_failed"), api_error(None, "", "x")],
            "login",
        ),
        (
            vec![api_error(
                Some(404),
                "not_found_error",
                "API Error: 404, not 429",
            )],
            "failed",
        ),
        (
            vec![api_error(None, "", "Prompt is too long · resets nothing")],
            "failed",
        ),
        (
            vec![
                json!({"type": "result", "subtype": "error_max_turns", "terminal_reason": "max_turns"}),
            ],
            "failed",
        ),
        (
            vec![
                json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_tools"}),
            ],
            "interrupted",
        ),
        (vec![success("x")], "failed"),
        (vec![], "failed"),
    ] {
        assert_eq!(kind(&objects), expected, "{objects:?}");
    }
}

#[test]
fn an_error_without_words_still_says_what_happened() {
    let o = json!({"type": "result", "subtype": "error_max_turns", "is_error": true,
                   "terminal_reason": "max_turns", "errors": ["Reached maximum number of turns (1)"]});
    assert_eq!(
        ended(&[o], Some(1), None).1,
        Outcome::Failed(
            "claude ended with error_max_turns (max_turns)\nReached maximum number of turns (1)"
                .into()
        )
    );
    let Outcome::Failed(m) = ended(&[text("m", "half")], Some(1), None).1 else {
        panic!()
    };
    assert_eq!(
        m,
        "claude ended without a result: exit code 1; standard error ended with:\nits stderr"
    );
}

#[test]
fn a_limit_in_place_of_an_answer_is_a_limit_and_talk_of_one_is_not() {
    // B04
    let o = ended(
        &[success(
            "You've hit your limit · resets 5pm (Europe/Vilnius)",
        )],
        Some(0),
        None,
    )
    .1;
    assert!(matches!(o, Outcome::Limited(_)), "{o:?}");
    // B01, B02
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": "5-hour limit reached"}]}});
    let o = ended(
        &[result, success("Added @upstash/ratelimit (429).")],
        Some(0),
        None,
    )
    .1;
    assert!(matches!(o, Outcome::Finished(_)), "{o:?}");
}

#[test]
fn an_interruption_is_recognised_though_the_exit_code_is_zero() {
    let user = json!({"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
    assert_eq!(ended(&[user], Some(0), None).1, Outcome::Interrupted);
    assert_eq!(ended(&[], Some(143), None).1, Outcome::Interrupted);
    assert_eq!(
        ended(&[success("x")], None, Some(9)).1,
        Outcome::Interrupted
    );
}

#[test]
fn words_that_came_in_deltas_only_are_not_lost() {
    // A03
    let objects = [delta("all don"), delta("e TOK"), delta("EN"), success("")];
    let (events, outcome) = ended(&objects, Some(0), None);
    assert_eq!(outcome, Outcome::Finished("all done TOKEN".into()));
    assert_eq!(events, [Event::Text("all done TOKEN".into())]);
    // Deltas of a message that comes as a whole as well count once.
    let objects = [delta("Do"), delta("ne."), text("m", "Done."), success("")];
    let (events, outcome) = ended(&objects, Some(0), None);
    assert_eq!(outcome, Outcome::Finished("Done.".into()));
    assert_eq!(events, [Event::Text("Done.".into())]);
}

#[test]
fn a_last_message_without_text_leaves_the_words_before_it() {
    // A09
    let tool = json!({"type": "assistant", "message": {"id": "m2", "content": [{"type": "tool_use", "name": "Bash", "input": {}}]}});
    let o = ended(&[text("m1", "TOKEN"), tool, success("")], Some(0), None).1;
    assert_eq!(o, Outcome::Finished("TOKEN".into()));
    let o = ended(
        &[text("m1", "one"), text("m1", "two"), success("")],
        Some(0),
        None,
    )
    .1;
    assert_eq!(o, Outcome::Finished("one\ntwo".into()));
}
