#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::testing::{Host, iteration, replay_cut_anywhere};
use ralph_plugin::{Event, Exit, Outcome, Role, Session as _};
use serde_json::{Value, json};

use session::Conversation;

fn host() -> Host {
    Host::new()
        .config(r#"{"argv": ["agent", "--acp"]}"#)
        .prompt("do it")
}

#[test]
fn the_program_is_told_the_protocol_and_its_input_stays_open() {
    let it = iteration();
    let l = host().run(|| Acp::prepare(&it, "x")).0.unwrap();
    assert_eq!(
        (l.program.as_str(), &l.args[..]),
        ("agent", &["--acp".to_owned()][..])
    );
    assert!(l.keep_stdin);
    let first: Value = serde_json::from_slice(&l.stdin.unwrap()).unwrap();
    assert_eq!(first["method"], "initialize");
    assert_eq!(
        first["params"]["clientCapabilities"]["fs"]["writeTextFile"],
        false
    );
    for (config, key) in [
        ("{}", "argv"),
        (r#"{"argv": ["a"], "model": "m"}"#, "model"),
        (r#"{"argv": ["a", "{model}"]}"#, "model"),
    ] {
        let e = Host::new().config(config).run(|| Acp::prepare(&it, "x")).0;
        assert!(format!("{:?}", e.unwrap_err()).contains(key), "{config}");
    }
    let config = r#"{"argv": ["a", "-m={model}"], "model": "big"}"#;
    let l = Host::new()
        .config(config)
        .run(|| Acp::prepare(&it, "x"))
        .0
        .unwrap();
    assert_eq!(l.args, ["-m=big"]);
}

const STREAM: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s7"}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm "}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"漢."}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"First."}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Edit a.txt","kind":"edit","status":"pending"}}}
{"jsonrpc":"2.0","id":"p1","method":"session/request_permission","params":{"toolCall":{"title":"Edit a.txt","kind":"edit"},"options":[{"optionId":"yes","kind":"allow_once"}]}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"written"}}]}}}
{"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done: "}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a.txt 🦀"}}}}
{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":2,"cachedReadTokens":3,"totalTokens":15}}}
"#;

#[test]
fn a_whole_call_reads_the_same_wherever_it_was_cut() {
    let exit = Exit::with_code(0);
    let (events, outcome) = host()
        .run(|| replay_cut_anywhere::<Conversation>(STREAM.as_bytes(), &exit))
        .0;
    assert_eq!(outcome, Outcome::Finished("Done: a.txt 🦀".into()));
    let shown: Vec<String> = events.iter().map(|e| format!("{e:?}")).collect();
    assert_eq!(events.len(), 7, "{shown:#?}");
    assert_eq!(events[0], Event::Notice("session s7".into()));
    assert_eq!(events[1], Event::Thinking("Hm 漢.".into()));
    assert_eq!(events[3], Event::ToolUse("Edit a.txt".into()));
    assert_eq!(events[4], Event::ToolResult("written".into()));
    assert!(matches!(&events[6], Event::Usage(u) if u.cached_tokens == 3));
}

/// What it writes to the agent, as messages.
fn told(role: Role) -> (Vec<Value>, bool) {
    let it = Iteration {
        role,
        ..iteration()
    };
    host()
        .run(|| {
            let mut session = Conversation::start(&it);
            let (mut all, mut closed) = (Vec::new(), false);
            for line in STREAM.split_inclusive('\n') {
                let reaction = session.feed(line.as_bytes());
                all.extend(reaction.stdin);
                closed |= reaction.close_stdin;
            }
            let text = String::from_utf8(all).unwrap();
            let messages = text.lines().map(|l| serde_json::from_str(l).unwrap());
            (messages.collect(), closed)
        })
        .0
}

#[test]
fn it_asks_for_a_session_sends_the_prompt_and_answers_what_is_asked() {
    let (messages, closed) = told(Role::Work);
    assert!(closed, "nothing more is wanted of it");
    assert_eq!(messages.len(), 4, "{messages:#?}");
    assert_eq!(messages[0]["method"], "session/new");
    assert_eq!(messages[0]["params"]["cwd"], iteration().workspace);
    assert_eq!(messages[1]["params"]["sessionId"], "s7");
    assert_eq!(messages[1]["params"]["prompt"][0]["text"], "do it");
    assert_eq!(messages[2]["id"], "p1");
    assert_eq!(messages[2]["result"]["outcome"]["optionId"], "yes");
    assert_eq!(messages[3]["error"]["code"], -32601);
    let (messages, _) = told(Role::Judge);
    assert_eq!(messages[2]["result"]["outcome"]["outcome"], "cancelled");
}

#[test]
fn endings_are_told_apart() {
    let hello = json!({"id": 0, "result": {"protocolVersion": 1}});
    let new = json!({"id": 1, "result": {"sessionId": "s"}});
    let stop = |why: &str| json!({"id": 2, "result": {"stopReason": why}});
    let error = |id: u64, code: i64, words: &str| json!({"id": id, "error": {"code": code, "message": words}});
    for (messages, code, expected) in [
        (
            vec![hello.clone(), new.clone(), stop("end_turn")],
            Some(0),
            "finished",
        ),
        // The host ends an agent that doesn't go by itself.
        (
            vec![hello.clone(), new.clone(), stop("end_turn")],
            None,
            "finished",
        ),
        (
            vec![hello.clone(), new.clone(), stop("end_turn")],
            Some(1),
            "failed",
        ),
        (
            vec![hello.clone(), new.clone(), stop("max_tokens")],
            Some(0),
            "failed",
        ),
        (
            vec![hello.clone(), new.clone(), stop("refusal")],
            Some(0),
            "failed",
        ),
        (
            vec![hello.clone(), new.clone(), stop("cancelled")],
            Some(0),
            "interrupted",
        ),
        (
            vec![hello.clone(), error(1, -32000, "Authentication required")],
            Some(0),
            "login",
        ),
        (
            vec![
                hello.clone(),
                new.clone(),
                error(2, -32603, "Usage limit reached"),
            ],
            Some(0),
            "limited",
        ),
        (
            vec![hello.clone(), new.clone(), error(2, -32603, "fetch failed")],
            Some(0),
            "limited",
        ),
        (
            vec![
                hello.clone(),
                new.clone(),
                error(2, -32603, "Internal error"),
            ],
            Some(0),
            "failed",
        ),
        (
            vec![json!({"id": 0, "result": {"protocolVersion": 9}})],
            Some(0),
            "failed",
        ),
        (vec![hello.clone(), new.clone()], Some(0), "failed"),
        (vec![hello, new], None, "interrupted"),
        (vec![], Some(2), "failed"),
    ] {
        let stream: String = messages.iter().map(|m| format!("{m}\n")).collect();
        let exit = Exit {
            code,
            signal: code.is_none().then_some(15),
            ..Exit::with_code(0)
        };
        let replayed = host().run(|| replay_cut_anywhere::<Conversation>(stream.as_bytes(), &exit));
        let kind = match replayed.0.1 {
            Outcome::Limited(_) => "limited",
            Outcome::Unauthenticated(_) => "login",
            Outcome::Failed(_) => "failed",
            Outcome::Interrupted => "interrupted",
            Outcome::Finished(_) => "finished",
        };
        assert_eq!(kind, expected, "{stream} {code:?}");
    }
}
