#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::testing::{Host, iteration, replay, replay_cut_anywhere};
use ralph_plugin::{Event, Exit, Limit, Outcome, Role, Usage};

type Session = <Codex as AgentDriver>::Session;

fn prepare(config: &str, role: Role) -> Launch {
    let it = Iteration {
        role,
        ..iteration()
    };
    Host::new()
        .config(config)
        .run(|| Codex::prepare(&it, "the prompt"))
        .0
        .unwrap()
}

#[test]
fn the_command_line_is_headless_with_the_prompt_on_standard_input() {
    let l = prepare("{}", Role::Work);
    assert_eq!(l.program, "codex");
    assert_eq!(
        l.args,
        ["exec", "--json", "--sandbox", "workspace-write", "-"]
    );
    assert_eq!(l.stdin.as_deref(), Some(&b"the prompt"[..]));
    assert!(!l.keep_stdin && !l.pty && l.collect.is_empty());

    let config = r#"{"argv":["/x/fake","ignored"],"prompt":"stdin","model":"m","effort":"hi\"gh",
                     "args":["-c","a=1"],"sandbox":"off"}"#;
    let l = prepare(config, Role::Work);
    assert_eq!(l.program, "/x/fake");
    assert_eq!(
        l.args,
        [
            "exec",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "--model",
            "m",
            "-c",
            r#"model_reasoning_effort="hi\"gh""#,
            "-c",
            "a=1",
            "-"
        ]
    );
}

#[test]
fn judge_and_reviewer_never_write() {
    for role in [Role::Judge, Role::Review] {
        assert_eq!(
            prepare(r#"{"sandbox":"off"}"#, role).args[2..4],
            ["--sandbox", "read-only"]
        );
    }
    assert_eq!(
        prepare(r#"{"sandbox":"read-only"}"#, Role::Work).args[2..4],
        ["--sandbox", "read-only"]
    );
}

#[test]
fn an_unknown_key_is_refused_by_name() {
    let (r, _) = Host::new()
        .config(r#"{"modle":"x"}"#)
        .run(|| Codex::prepare(&iteration(), ""));
    assert!(matches!(r, Err(Error::InvalidConfig(m)) if m.contains("`modle`")));
}

const STREAM: &str = r#"Welcome to the {wrapper}
{"type":"thread.started","thread_id":"01a21f08"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"**Planning** I will write 漢字 🦀."}}
{"type":"item.started","item":{"id":"item_1","type":"file_change","changes":[{"path":"/w/a.txt","kind":"add"}],"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"file_change","changes":[{"path":"/w/a.txt","kind":"add"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'echo oops >&2; exit 3'","aggregated_output":"oops\n","exit_code":3,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"First words."}}
{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: x)"}
{"type":"item.completed","item":{"id":"item_9","type":"todo_list","items":[]}}
{"type":"item.comp
{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"Done: two files. 🦀"}}
{"type":"turn.completed","usage":{"input_tokens":4600,"cached_input_tokens":800,"cache_write_input_tokens":0,"output_tokens":200,"reasoning_output_tokens":40}}"#;

#[test]
fn a_whole_call_reads_the_same_wherever_it_was_cut() {
    let (events, outcome) = replay_cut_anywhere::<Session>(STREAM.as_bytes(), &Exit::with_code(0));
    assert_eq!(outcome, Outcome::Finished("Done: two files. 🦀".into()));
    let [
        lead_in,
        thread,
        thinking,
        edit,
        edited,
        shell,
        failed,
        first,
        retry,
        broken,
        last,
        usage,
    ] = &events[..]
    else {
        panic!("{events:#?}")
    };
    assert_eq!(
        *lead_in,
        Event::Notice("before the first event: Welcome to the {wrapper}".into())
    );
    assert_eq!(*thread, Event::Notice("codex session 01a21f08".into()));
    assert_eq!(
        *thinking,
        Event::Thinking("**Planning** I will write 漢字 🦀.".into())
    );
    assert_eq!(*edit, Event::ToolUse("edit add /w/a.txt".into()));
    assert_eq!(*edited, Event::ToolResult("completed".into()));
    assert_eq!(
        *shell,
        Event::ToolUse("shell /bin/bash -lc 'echo oops >&2; exit 3'".into())
    );
    assert_eq!(*failed, Event::ToolResult("exit code 3\noops".into()));
    assert_eq!(*first, Event::Text("First words.".into()));
    assert!(matches!(retry, Event::Notice(m) if m.starts_with("Reconnecting")));
    assert!(matches!(broken, Event::Notice(m) if m.starts_with("a line that is no event")));
    assert_eq!(*last, Event::Text("Done: two files. 🦀".into()));
    let expected = Usage {
        input_tokens: 3800,
        output_tokens: 200,
        cached_tokens: 800,
        cost_usd: None,
    };
    assert_eq!(*usage, Event::Usage(expected));
}

/// The outcome of a call that ends like this.
fn ended(tail: &str, exit: &Exit) -> Outcome {
    let head = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    replay_cut_anywhere::<Session>(format!("{head}{tail}").as_bytes(), exit).1
}

fn exit(code: Option<i32>, signal: Option<i32>, stderr: &str) -> Exit {
    Exit {
        code,
        signal,
        stderr_tail: stderr.into(),
        collected: Vec::new(),
    }
}

#[test]
fn what_a_failed_turn_says_decides_what_it_was() {
    let limited = |m: &str| {
        Outcome::Limited(Limit {
            message: m.into(),
            resets_at: None,
        })
    };
    let login = |m: &str| Outcome::Unauthenticated(m.into());
    let failed = |m: &str| Outcome::Failed(m.into());
    type Make<'a> = &'a dyn Fn(&str) -> Outcome;
    let cases: [(&str, Make); 11] = [
        (
            "exceeded retry limit, last status: 429 Too Many Requests, request id: r",
            &limited,
        ),
        (
            "Quota exceeded. Check your plan and billing details.",
            &limited,
        ),
        ("You've hit your usage limit. Try again at 5pm.", &limited),
        (
            "We\u{2019}re currently experiencing high demand, which may cause temporary errors.",
            &limited,
        ),
        (
            "unexpected status 401 Unauthorized: mock error 401, url: http://x/429",
            &login,
        ),
        ("unexpected status 403 Forbidden: no", &login),
        ("Missing environment variable: `MOCK_API_KEY`.", &login),
        (
            "Codex ran out of room in the model's context window.",
            &failed,
        ),
        (
            "unexpected status 404 Not Found, url: http://x/s/529/v1",
            &failed,
        ),
        ("bad request at line 529", &failed),
        ("error on port 4290", &failed),
    ];
    for (message, expected) in cases {
        let quoted = serde_json::Value::from(message);
        let tail = format!(
            "{{\"type\":\"error\",\"message\":{quoted}}}\n{{\"type\":\"turn.failed\",\"error\":{{\"message\":{quoted}}}}}\n"
        );
        assert_eq!(ended(&tail, &exit(Some(1), None, "")), expected(message));
    }
}

const COMPLETED: &str = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}\n";

fn says(text: &str) -> String {
    let item = serde_json::json!({"type": "agent_message", "text": text});
    format!(
        "{}\n",
        serde_json::json!({"type": "item.completed", "item": item})
    )
}

#[test]
fn success_needs_both_the_exit_code_and_the_last_event() {
    let done = says("Done.");
    let failure = |o: Outcome| match o {
        Outcome::Failed(m) => m,
        other => panic!("{other:?}"),
    };
    let complete = format!("{done}{COMPLETED}");
    assert_eq!(
        ended(&complete, &exit(Some(0), None, "")),
        Outcome::Finished("Done.".into())
    );
    assert!(failure(ended(&complete, &exit(Some(1), None, "boom"))).contains("boom"));
    let m = failure(ended(&done, &exit(Some(0), None, "")));
    assert!(
        m.contains("without completing its turn: exit code 0"),
        "{m}"
    );
    let m = failure(ended(
        "{\"type\":\n",
        &exit(Some(1), None, "Error: no such thread"),
    ));
    assert!(
        m.contains("no such thread") && m.contains("1 lines of its output were no events"),
        "{m}"
    );
    // B04: a limit in place of an answer.
    let limit = format!("{}{COMPLETED}", says("You've hit your limit · resets 5pm"));
    assert!(matches!(
        ended(&limit, &exit(Some(0), None, "")),
        Outcome::Limited(_)
    ));
    // B01: words about limits in the answer.
    let talk = format!(
        "{}{COMPLETED}",
        says("The rate limit of 429 requests is now checked.")
    );
    assert!(matches!(
        ended(&talk, &exit(Some(0), None, "")),
        Outcome::Finished(_)
    ));
}

#[test]
fn a_signal_is_an_interruption_and_no_failure() {
    assert_eq!(
        ended(COMPLETED, &exit(None, Some(15), "")),
        Outcome::Interrupted
    );
    assert_eq!(ended("", &exit(Some(130), None, "")), Outcome::Interrupted);
}

#[test]
fn a_write_that_only_standard_error_tells_of_becomes_a_notice() {
    let e = exit(
        Some(0),
        None,
        "x\n2026 ERROR codex_core: patch rejected: writing outside\n",
    );
    let (events, _) = replay::<Session>(&[COMPLETED.as_bytes()], &e);
    assert!(matches!(events.last(), Some(Event::Notice(m)) if m.contains("patch rejected")));
}

#[test]
fn a_line_without_end_is_dropped_and_the_rest_is_read() {
    // E01
    let junk = vec![b'x'; 3 << 20];
    let rest = format!("\n{}{COMPLETED}", says("TOKEN"));
    let pieces = [
        &b"{\"type\":\"thread.started\"}\n{\"type\":\""[..],
        &junk,
        rest.as_bytes(),
    ];
    let (events, outcome) = replay::<Session>(&pieces, &Exit::with_code(0));
    assert_eq!(outcome, Outcome::Finished("TOKEN".into()));
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::Notice(m) if m.contains("more than a line may have")))
    );
}

#[test]
fn a_huge_message_is_cut_to_what_the_host_takes() {
    let big = "é".repeat(200_000);
    let stream = format!("{}{COMPLETED}", says(&big));
    let (events, outcome) = replay::<Session>(&[stream.as_bytes()], &Exit::with_code(0));
    let Outcome::Finished(words) = outcome else {
        panic!()
    };
    assert!(words.len() <= 256 * 1024);
    assert!(matches!(&events[0], Event::Text(t) if t.len() < 33 * 1024));
}
