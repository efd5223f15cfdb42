//! What ends a frame, and what doesn't; however the bytes come.

use serde_json::{Value, json};

use crate::wire::{Kind, code, over_each};

/// E08
#[test]
fn frames_may_come_byte_by_byte_and_glued_together_with_blank_lines_between() {
    over_each(|served| {
        let (mut wire, kind) = (served.connect(), served.kind);
        for byte in format!("{}\r\n", kind.frame("\"bytes\"")).bytes() {
            wire.send([byte]);
        }
        assert_eq!(wire.answer().unwrap()["id"], "bytes");
        let glued: Vec<String> = (0..12).map(|n| kind.frame(&n.to_string())).collect();
        wire.send(format!("\n\r\n \t \n{}\n", glued.join("\n\n\r\n")));
        for n in 0..12 {
            assert_eq!(wire.answer().unwrap()["id"], n, "in their order");
        }
        // Half of one, with the rest and the next in another write.
        let (one, two) = (kind.frame("21"), kind.frame("22"));
        let (head, tail) = one.split_at(one.len() / 2);
        wire.send(head);
        wire.send(format!("{tail}\n{two}\n"));
        assert_eq!(wire.answer().unwrap()["id"], 21);
        assert_eq!(wire.answer().unwrap()["id"], 22);
    });
}

#[test]
fn only_a_line_feed_ends_a_frame() {
    over_each(|served| {
        let mut wire = served.connect();
        for id in ["\"a\u{2028}b\"", "\"\u{2029}\u{85}\"", "\"\\u000b\\f\\r\""] {
            wire.send(format!("{}\n", served.kind.frame(id)));
            let said = wire.raw_answer().unwrap();
            assert!(said.contains(&format!("\"id\":{id},")), "{said}");
        }
        // JSON allows none of these within a string: one frame, one error.
        for odd in ["\u{b}", "\u{c}", "\r", "\u{0}", "\t"] {
            wire.send(format!("{}\n", served.kind.frame(&format!("\"{odd}\""))));
            let said = wire.answer().unwrap();
            assert_eq!(
                (code(&said), &said["id"]),
                (-32700, &Value::Null),
                "{odd:?}"
            );
            wire.lives();
        }
    });
}

/// Streams of some platforms begin with one.
#[test]
fn a_byte_order_mark_is_passed_over_at_the_start_and_is_no_json_elsewhere() {
    over_each(|served| {
        let mut wire = served.silent();
        let frame = served.kind.frame("1");
        wire.send(format!("\u{feff}{frame}\r\n{frame}\n"));
        for _ in 0..2 {
            assert_eq!(wire.answer().unwrap()["id"], 1);
        }
        let mut wire = served.connect();
        wire.send(format!("{frame}\n\u{feff}{frame}\n"));
        assert_eq!(wire.answer().unwrap()["id"], 1);
        assert_eq!(code(&wire.answer().unwrap()), -32700);
    });
}

#[test]
fn the_last_frame_may_lack_its_line_feed() {
    over_each(|served| {
        let mut wire = served.connect();
        wire.send(format!(
            "{}\n{}",
            served.kind.frame("1"),
            served.kind.frame("2")
        ));
        wire.end_input();
        assert_eq!(wire.answer().unwrap()["id"], 1);
        assert_eq!(wire.answer().unwrap()["id"], 2);
        wire.ends();
        // What is no frame gets its answer too, or none if it is blank.
        let mut wire = served.connect();
        wire.send("{\"jsonrpc\":");
        wire.end_input();
        assert_eq!(code(&wire.answer().unwrap()), -32700);
        wire.ends();
        let mut wire = served.connect();
        wire.send(" \t\r");
        wire.end_input();
        wire.ends();
    });
}

#[test]
fn bytes_that_are_no_utf8_are_no_json_and_the_stream_lives_on() {
    over_each(|served| {
        let mut wire = served.connect();
        for bytes in [
            &b"\xff\xfe{}"[..],
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\",\"method\":\"ping\"}",
            // A surrogate, an overlong slash, a character beyond the last.
            b"\"\xed\xa0\x80\"",
            b"\"\xc0\xaf\"",
            b"\"\xf4\x90\x80\x80\"",
            // UTF-16
            b"{\0}\0",
        ] {
            wire.send([bytes, b"\n"].concat());
            let said = wire.answer().unwrap();
            assert_eq!((code(&said), &said["id"]), (-32700, &Value::Null));
        }
        wire.lives();
    });
}

#[test]
fn what_is_pretty_printed_is_several_frames_and_none_of_them_is_carried_out() {
    over_each(|served| {
        let mut wire = served.connect();
        let frame: Value = serde_json::from_str(&served.kind.frame("1")).unwrap();
        let pretty = serde_json::to_string_pretty(&frame).unwrap();
        wire.send(format!("{pretty}\n"));
        for line in pretty.lines() {
            assert_eq!(code(&wire.answer().unwrap()), -32700, "{line}");
        }
        wire.lives();
    });
}

/// A web page can have a browser post lines to a port of this machine; nothing that a page can send
/// begins with JSON.
#[test]
fn whoever_begins_with_something_else_than_json_is_not_listened_to_over_tcp() {
    over_each(|served| {
        let mut wire = served.silent();
        let frame = served.kind.frame("5");
        wire.send(format!(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n{frame}\n"
        ));
        assert_eq!(code(&wire.answer().unwrap()), -32700);
        match served.kind {
            Kind::Tools | Kind::Commands => wire.ends(),
            Kind::Socket | Kind::Stdio => {
                assert_eq!(code(&wire.answer().unwrap()), -32700);
                assert_eq!(wire.answer().unwrap()["id"], json!(5));
            }
        }
    });
}
