//! JSON-RPC 2.0, section by section, with methods that exist; each rule over each transport.

use serde_json::{Value, json};

use crate::wire::{Kind, Wire, code, over_each};

/// Sends one frame; its answer.
fn say(wire: &mut Wire, frame: &str) -> Value {
    wire.send(format!("{frame}\n"));
    wire.answer().unwrap()
}

/// An error that nobody can be told to have asked for.
fn nobodys(said: &Value, want: i64) {
    assert_eq!(said["jsonrpc"], "2.0", "{said}");
    assert_eq!((code(said), &said["id"]), (want, &Value::Null), "{said}");
    assert!(said.get("result").is_none() && said["error"]["message"].is_string());
}

/// Sections 4 and 5.
#[test]
fn an_answer_has_the_version_the_id_and_either_result_or_error() {
    over_each(|served| {
        let mut wire = served.connect();
        let quick = served.kind.quick();
        for (frame, want) in [
            (json!({"jsonrpc": "2.0", "method": quick, "id": 1}), 0),
            (
                json!({"jsonrpc": "2.0", "method": quick, "params": {}, "id": 1}),
                0,
            ),
            (
                json!({"id": 1, "params": {}, "method": quick, "jsonrpc": "2.0", "more": [1]}),
                0,
            ),
            (
                json!({"jsonrpc": "2.0", "method": "foobar", "id": 1}),
                -32601,
            ),
            (json!({"jsonrpc": "2.0", "method": "", "id": 1}), -32601),
            (
                json!({"jsonrpc": "2.0", "method": "rpc.foobar", "id": 1}),
                -32601,
            ),
            (json!({"jsonrpc": "2.0", "id": 1}), -32600),
            (json!({"method": quick, "id": 1}), -32600),
            (json!({"jsonrpc": "1.0", "method": quick, "id": 1}), -32600),
            (json!({"jsonrpc": 2.0, "method": quick, "id": 1}), -32600),
            (
                json!({"jsonrpc": "2.0", "method": 1, "params": "bar", "id": 1}),
                -32600,
            ),
        ] {
            let said = say(&mut wire, &frame.to_string());
            assert_eq!(
                (code(&said), &said["id"]),
                (want, &json!(1)),
                "{frame}: {said}"
            );
            let keys: Vec<&String> = said.as_object().unwrap().keys().collect();
            let last = if want == 0 { "result" } else { "error" };
            assert_eq!(keys, ["jsonrpc", "id", last], "{frame}");
            if want != 0 {
                assert!(
                    said["error"]["message"]
                        .as_str()
                        .is_some_and(|m| !m.is_empty())
                );
            }
        }
    });
}

/// Section 4.2: parameters are a structure; here by name, so there is nothing that positions could mean.
#[test]
fn parameters_are_named_and_what_is_no_structure_is_refused() {
    over_each(|served| {
        let mut wire = served.connect();
        // `ping` over TCP looks at nothing that it is given.
        let method = match served.kind {
            Kind::Socket => "get_status",
            Kind::Stdio => "status",
            Kind::Tools => "tools/call",
            Kind::Commands => "eval",
        };
        for params in ["[42, 23]", "3", "\"x\"", "true"] {
            let frame =
                format!(r#"{{"jsonrpc":"2.0","id":"p","method":"{method}","params":{params}}}"#);
            let said = say(&mut wire, &frame);
            assert_eq!(
                (code(&said), &said["id"]),
                (-32602, &json!("p")),
                "{params}: {said}"
            );
        }
        for none in ["{}", "[]", "[ ]", "null"] {
            let quick = served.kind.quick();
            let frame =
                format!(r#"{{"jsonrpc":"2.0","id":"n","method":"{quick}","params":{none}}}"#);
            assert!(say(&mut wire, &frame)["result"].is_object(), "{none}");
        }
    });
}

/// Section 4.1: never answered, whatever is wrong with it.
#[test]
fn a_notification_is_never_answered() {
    over_each(|served| {
        let mut wire = served.connect();
        let quick = served.kind.quick();
        for (method, params) in [
            (quick, json!({})),
            ("foobar", json!({})),
            ("subscribe", json!({"events": ["nope"]})),
            ("tools/call", json!({"name": 1})),
            (quick, json!([1, 2])),
        ] {
            let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
            wire.send(format!("{frame}\n"));
        }
        // An id of null is one, though, and is answered.
        let said = say(&mut wire, &served.kind.frame("null"));
        assert!(said["result"].is_object() && said["id"].is_null(), "{said}");
    });
}

#[test]
fn an_id_is_echoed_as_it_was_written() {
    over_each(|served| {
        let mut wire = served.connect();
        for id in [
            "0",
            "-0",
            "1.50",
            "1e3",
            "1E+400",
            "123456789012345678901234567890123456789012345678901234567890",
            "9007199254740993",
            "\"\"",
            "\"a\\u00e9\\/\"",
            "\"\\ud800\"",
            "\"\u{1f600}\"",
        ] {
            wire.send(format!("{}\n", served.kind.frame(&format!(" {id} "))));
            let said = wire.raw_answer().unwrap();
            assert!(said.contains(&format!("\"id\":{id},")), "{id}: {said}");
        }
        for odd in ["{}", "[]", "true", "false", "[1]"] {
            let said = say(&mut wire, &served.kind.frame(odd));
            nobodys(&said, -32600);
        }
    });
}

/// RFC 8259 leaves open what is meant, so nothing is done.
#[test]
fn a_request_that_says_something_twice_is_none() {
    over_each(|served| {
        let mut wire = served.connect();
        let quick = served.kind.quick();
        for frame in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":"{quick}"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{quick}","method":"{quick}"}}"#),
            format!(r#"{{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"{quick}"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{quick}","params":{{}},"params":{{}}}}"#),
        ] {
            nobodys(&say(&mut wire, &frame), -32600);
        }
        wire.lives();
    });
}

/// Section 7's rows about what is no request.
#[test]
fn what_is_no_request_has_its_code_and_the_connection_lives_on() {
    over_each(|served| {
        let mut wire = served.connect();
        for text in [
            r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#,
            r#"[{"jsonrpc": "2.0", "method": "foobar", "id": "1"}, {"jsonrpc": "2.0", "method""#,
            "{",
            "nonsense",
            "{}{}",
            "{},",
            "[1,]",
            "{\"a\":1,}",
            "{'jsonrpc':'2.0'}",
            "NaN",
            "01",
            "// no\t",
            "\"open",
        ] {
            nobodys(&say(&mut wire, text), -32700);
        }
        for text in [
            "[]",
            "[ ]",
            "1",
            "null",
            "\"x\"",
            "{}",
            r#"{"foo": "boo"}"#,
            r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#,
        ] {
            nobodys(&say(&mut wire, text), -32600);
        }
        wire.lives();
    });
}

/// Sections 6 and 7: batches.
#[test]
fn a_batch_is_answered_in_one_array_without_its_notifications() {
    over_each(|served| {
        let mut wire = served.connect();
        let quick = served.kind.quick();
        for n in [1, 3] {
            let said = say(&mut wire, &json!(vec![1; n]).to_string());
            let all = said.as_array().unwrap();
            assert_eq!(all.len(), n);
            all.iter().for_each(|one| nobodys(one, -32600));
        }
        let mixed = json!([
            {"jsonrpc": "2.0", "method": quick, "id": "1"},
            {"jsonrpc": "2.0", "method": quick},
            {"foo": "boo"},
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
            [{"jsonrpc": "2.0", "method": quick, "id": 6}],
            {"jsonrpc": "2.0", "method": quick, "id": "9"},
        ]);
        let said = say(&mut wire, &mixed.to_string());
        let all = said.as_array().unwrap();
        assert_eq!(all.len(), 5, "{said}");
        assert!(
            all[0]["id"] == "1" && all[0]["result"].is_object(),
            "{said}"
        );
        nobodys(&all[1], -32600);
        assert_eq!((code(&all[2]), &all[2]["id"]), (-32601, &json!("5")));
        nobodys(&all[3], -32600);
        assert!(
            all[4]["id"] == "9" && all[4]["result"].is_object(),
            "{said}"
        );
        // Nothing at all for notifications alone.
        let none = json!([
            {"jsonrpc": "2.0", "method": quick},
            {"jsonrpc": "2.0", "method": "foobar", "params": {}},
        ]);
        wire.send(format!("{none}\n"));
        wire.lives();
        // Its ids are its client's affair.
        let twice = json!([
            {"jsonrpc": "2.0", "method": quick, "id": 1},
            {"jsonrpc": "2.0", "method": quick, "id": 1},
        ]);
        let said = say(&mut wire, &twice.to_string());
        assert_eq!(said.as_array().unwrap().len(), 2);
    });
}
