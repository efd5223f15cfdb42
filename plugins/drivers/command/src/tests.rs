#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::testing::{Host, iteration};
use ralph_plugin::{Ending, Event, Exit, Outcome, Session, Usage};

fn prepare(json: &str, prompt: &str) -> Result<Launch, Error> {
    Host::new()
        .config(json)
        .run(|| Command::prepare(&iteration(), prompt))
        .0
}

fn refusal(json: &str, prompt: &str) -> String {
    match prepare(json, prompt) {
        Err(Error::InvalidConfig(m)) => m,
        other => panic!("{json}: {other:?}"),
    }
}

/// Runs a whole call over these pieces.
fn call(json: &str, pieces: &[&[u8]], exit: &Exit) -> (Vec<Event>, Outcome) {
    let run = || {
        let mut session = output::Reader::start(&iteration());
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(session.feed(piece).events);
        }
        let Ending {
            events: late,
            outcome,
        } = session.finish(exit);
        events.extend(late);
        (events, outcome)
    };
    Host::new().config(json).run(run).0
}

#[test]
fn the_prompt_goes_where_the_configuration_says() {
    let l = prepare(r#"{"argv":["a","-x"],"args":["-y"]}"#, "P").unwrap();
    assert_eq!(
        (l.program.as_str(), &l.args[..]),
        ("a", &["-x".to_owned(), "-y".to_owned()][..])
    );
    assert_eq!(l.stdin.as_deref(), Some(&b"P"[..]));
    assert!(!l.keep_stdin && !l.pty);

    let l = prepare(r#"{"argv":["a","{prompt_file}"],"prompt":"file"}"#, "P").unwrap();
    assert_eq!(
        (&l.args[..], l.stdin),
        (&["/scratch/prompt.md".to_owned()][..], None)
    );

    let l = prepare(r#"{"argv":["a"],"prompt":"argument"}"#, "--P").unwrap();
    assert_eq!((&l.args[..], l.stdin), (&["--P".to_owned()][..], None));

    let l = prepare(
        r#"{"argv":["a","-p={prompt}","z"],"prompt":"argument"}"#,
        "P",
    )
    .unwrap();
    assert_eq!(l.args, ["-p=P", "z"]);
}

#[test]
fn placeholders_are_filled_once_and_as_data() {
    // G08
    let json = r#"{"argv":["a","{task_id}:{workspace}:{model}:{other}:{","{prompt}"],
                   "model":"m {prompt}","prompt":"argument"}"#;
    let prompt = "{task_id} '\"`$(x); | & >\n";
    let l = prepare(json, prompt).unwrap();
    assert_eq!(l.args, ["T1:/workspace:m {prompt}:{other}:{", prompt]);
}

#[test]
fn a_configuration_that_cannot_work_names_the_key_to_change() {
    for (json, start) in [
        (r#"{}"#, "`agents.test.argv`: the program"),
        (r#"{"argv":[""]}"#, "`agents.test.argv`: the program"),
        (
            r#"{"argv":["a","{prompt}"]}"#,
            "`agents.test.prompt`: {prompt} stands",
        ),
        (
            r#"{"argv":["a"],"prompt":"file"}"#,
            "`agents.test.prompt`: with \"file\"",
        ),
        (r#"{"argv":["a","{model}"]}"#, "`agents.test.model`: "),
        (
            r#"{"argv":["a"],"format":"json-lines"}"#,
            "`agents.test.config.fields`: ",
        ),
        (
            r#"{"argv":["a"],"fields":{"text":"/t"}}"#,
            "`agents.test.config.fields`: has no effect",
        ),
        (
            r#"{"argv":["a"],"format":"json-lines","fields":{"text":"t"}}"#,
            "`agents.test.config.fields.text`: `t` is no JSON pointer",
        ),
        (
            r#"{"argv":["a"],"prompt":"tty"}"#,
            "`prompt`: unknown variant `tty`",
        ),
        (
            r#"{"argv":["a"],"fromat":"text"}"#,
            "`fromat`: unknown field",
        ),
    ] {
        let m = refusal(json, "P");
        assert!(m.starts_with(start), "{m}");
    }
}

#[test]
fn a_prompt_too_long_for_an_argument_is_refused_and_the_way_out_told() {
    // B15
    let json = r#"{"argv":["a"],"prompt":"argument"}"#;
    assert!(prepare(json, &"x".repeat(100 * 1024)).is_ok());
    let m = refusal(json, &"x".repeat(100 * 1024 + 1));
    assert!(
        m.starts_with("`agents.test.prompt`") && m.contains("\"stdin\" or \"file\""),
        "{m}"
    );
    assert!(refusal(json, "a\0b").contains("NUL"));
    assert!(prepare(r#"{"argv":["a"]}"#, &"x".repeat(2 << 20)).is_ok());
}

const TEXT: &[u8] = "Working…\r\n10%\r50%\r100%\n\n\u{1b}[32mDone\u{1b}[0m 漢🦀\nend".as_bytes();

#[test]
fn text_does_not_depend_on_where_it_was_cut() {
    let json = r#"{"argv":["a"]}"#;
    let whole = call(json, &[TEXT], &Exit::with_code(0));
    let expected: Vec<_> = ["Working…", "100%", "Done 漢🦀", "end"]
        .map(|s| Event::Text(s.into()))
        .into();
    assert_eq!(whole.0, expected);
    assert_eq!(
        whole.1,
        Outcome::Finished("Working…\n100%\n\nDone 漢🦀\nend".into())
    );
    for at in 0..=TEXT.len() {
        let cut = call(json, &[&TEXT[..at], &TEXT[at..]], &Exit::with_code(0));
        assert_eq!(cut, whole, "cut at {at}");
    }
    let bytes: Vec<&[u8]> = TEXT.chunks(1).collect();
    assert_eq!(call(json, &bytes, &Exit::with_code(0)), whole);
}

#[test]
fn a_flood_of_output_keeps_its_end_and_stays_small() {
    // E01, E02
    let line = format!("{}\n", "x".repeat(99));
    let mega = line.repeat(10_000);
    let mut pieces = vec![mega.as_bytes(); 5];
    let long = vec![b'y'; 8 << 20];
    pieces.push(&long);
    pieces.push(b"\nTOKEN\n");
    let (events, outcome) = call(r#"{"argv":["a"]}"#, &pieces, &Exit::with_code(0));
    let Outcome::Finished(words) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        words.len() <= 256 * 1024 && words.ends_with("\nTOKEN"),
        "{}",
        words.len()
    );
    assert!(words.contains("… [8323072 bytes left out]"));
    assert!(events.len() <= 5 * 64 + 2, "{}", events.len());
}

const JSON: &[u8] = "banner\n\
    {\"a\":{\"say\":\"one\"}}\n\
    {\"a\":{\"say\":\"two 漢\"},\"n\":{\"in\":7}}\n\
    {\"fin\":\"the end\",\"n\":{\"out\":3.0}}"
    .as_bytes();
const JSON_CONFIG: &str = r#"{"argv":["a"],"format":"json-lines","fields":
    {"text":"/a/say","final":"/fin","input_tokens":"/n/in","output_tokens":"/n/out"}}"#;

#[test]
fn json_lines_are_read_by_their_pointers_wherever_they_were_cut() {
    let whole = call(JSON_CONFIG, &[JSON], &Exit::with_code(0));
    let usage = |input_tokens, output_tokens| {
        Event::Usage(Usage {
            input_tokens,
            output_tokens,
            cached_tokens: 0,
            cost_usd: None,
        })
    };
    assert_eq!(
        whole.0,
        [
            Event::Notice("before the first event: banner".into()),
            Event::Text("one".into()),
            Event::Text("two 漢".into()),
            usage(7, 0),
            usage(7, 3),
        ]
    );
    assert_eq!(whole.1, Outcome::Finished("the end".into()));
    for at in 0..=JSON.len() {
        assert_eq!(
            call(
                JSON_CONFIG,
                &[&JSON[..at], &JSON[at..]],
                &Exit::with_code(0)
            ),
            whole
        );
    }
    let bytes: Vec<&[u8]> = JSON.chunks(1).collect();
    assert_eq!(call(JSON_CONFIG, &bytes, &Exit::with_code(0)), whole);
}

#[test]
fn the_last_text_stands_in_for_final_words() {
    let (_, outcome) = call(
        JSON_CONFIG,
        &[b"{\"a\":{\"say\":\"x\"}}\n"],
        &Exit::with_code(0),
    );
    assert_eq!(outcome, Outcome::Finished("x".into()));
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
fn endings_are_told_apart() {
    let json = r#"{"argv":["a"]}"#;
    let ended = |out: &str, e: Exit| call(json, &[out.as_bytes()], &e).1;
    assert_eq!(ended("x", exit(None, Some(15), "")), Outcome::Interrupted);
    assert_eq!(ended("x", exit(Some(130), None, "")), Outcome::Interrupted);
    assert_eq!(
        ended("", exit(Some(0), None, "noise")),
        Outcome::Finished(String::new())
    );
    for (out, e, part) in [
        (
            "x",
            exit(Some(1), None, "a\nboom\n"),
            "exit code 1; standard error ended with:\na\nboom",
        ),
        (
            "said",
            exit(Some(3), None, ""),
            "exit code 3; standard output ended with:\nsaid",
        ),
        (
            "",
            exit(Some(127), None, "sh: a: not found"),
            "127 is how a shell says",
        ),
    ] {
        let Outcome::Failed(m) = ended(out, e) else {
            panic!()
        };
        assert!(m.contains(part), "{m}");
    }
}

#[test]
fn a_limit_is_a_limit_whatever_the_exit_code_and_talk_of_one_is_not() {
    // B01, B03, B04
    let ended = |out: &str, e: Exit| call(r#"{"argv":["a"]}"#, &[out.as_bytes()], &e).1;
    for e in [exit(Some(0), None, ""), exit(Some(1), None, "")] {
        let o = ended(
            "…\nYou’ve hit your limit · resets 5pm (Europe/Vilnius)\n",
            e,
        );
        assert!(matches!(o, Outcome::Limited(_)), "{o:?}");
    }
    assert!(matches!(
        ended("", exit(Some(1), None, "Usage limit reached\n")),
        Outcome::Limited(_)
    ));
    for out in [
        "I used @upstash/ratelimit; 429 Elm Street",
        "usage limit handling is done",
    ] {
        assert!(matches!(
            ended(out, exit(Some(0), None, "")),
            Outcome::Finished(_)
        ));
    }
    for stderr in ["error at line 529", "port 5290", "529 bytes"] {
        assert!(matches!(
            ended("", exit(Some(1), None, stderr)),
            Outcome::Failed(_)
        ));
    }
}

#[test]
fn rules_map_objects_by_what_they_are() {
    let config = r#"{"argv":["a"],"format":"json-lines","counts":"each",
        "fields":{"input_tokens":"/use/in","cost_usd":"/use/usd"},
        "rules":[
            {"when":{"/type":"say"},"fields":{"text":"/body"}},
            {"when":{"/type":"say","/private":true},"fields":{"thinking":"/body"}},
            {"when":{"/type":"tool"},"fields":{"tool_use":"/call","tool_result":"/gave"}},
            {"when":{"/type":"error"},"fields":{"failed":"/body"}}]}"#;
    let lines = [
        r#"{"type":"say","body":"Hello","use":{"in":5,"usd":0.5}}"#,
        r#"{"type":"hm","body":"not shown"}"#,
        r#"{"type":"tool","call":{"name":"sh"},"gave":"fine","use":{"in":2,"usd":0.25}}"#,
        r#"{"type":"say","private":true,"body":"psst"}"#,
    ];
    let stream = lines.join("\n");
    let (events, outcome) = call(config, &[stream.as_bytes()], &Exit::with_code(0));
    let usage = |input_tokens, usd| {
        Event::Usage(Usage {
            input_tokens,
            output_tokens: 0,
            cached_tokens: 0,
            cost_usd: Some(usd),
        })
    };
    let text = |t: &str| Event::Text(t.into());
    assert_eq!(
        events,
        [
            usage(5, 0.5),
            text("Hello"),
            usage(7, 0.75),
            Event::ToolUse(r#"{"name":"sh"}"#.into()),
            Event::ToolResult("fine".into()),
            text("psst"),
            Event::Thinking("psst".into()),
        ]
    );
    assert_eq!(outcome, Outcome::Finished("psst".into()));
    for (why, limited) in [("it broke", false), ("Usage limit reached", true)] {
        let stream = format!("{stream}\n{{\"type\":\"error\",\"body\":\"{why}\"}}\n");
        let (_, outcome) = call(config, &[stream.as_bytes()], &Exit::with_code(0));
        match outcome {
            Outcome::Limited(_) => assert!(limited),
            Outcome::Failed(m) => assert!(!limited && m == why, "{m}"),
            other => panic!("{other:?}"),
        }
    }
    for (rules, start) in [
        (
            r#"[{"fields":{"text":"t"}}]"#,
            "`agents.test.config.rules[0].fields.text`",
        ),
        (
            r#"[{"when":{"type":1},"fields":{"text":"/t"}}]"#,
            "`agents.test.config.rules[0].when`",
        ),
    ] {
        let json = format!(r#"{{"argv":["a"],"format":"json-lines","rules":{rules}}}"#);
        let m = refusal(&json, "P");
        assert!(m.starts_with(start), "{m}");
    }
}
