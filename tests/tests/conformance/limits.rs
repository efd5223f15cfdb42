//! How long, how deep, how many: at the bound and one beyond. What breaks one ends its own connection.

use serde_json::{Value, json};

use crate::wire::{Served, Wire, code, over_each};

const FRAME_MAX: usize = 1 << 20;
const DEPTH_MAX: usize = 64;
const BATCH_MAX: usize = 100;

/// A frame of that many bytes.
fn long(served: &Served, bytes: usize) -> String {
    let frame = served.kind.frame("1");
    format!("{{{}{}", " ".repeat(bytes - frame.len()), &frame[1..])
}

/// A frame nested that deep.
fn deep(served: &Served, levels: usize) -> String {
    let frame = served.kind.frame("1");
    let (open, close) = ("[".repeat(levels - 2), "]".repeat(levels - 2));
    let rest = &frame[..frame.len() - 1];
    format!("{rest},\"params\":{{\"x\":{open}{close}}}}}")
}

/// The refusal, and then the end; others go on.
fn refused(mut wire: Wire, other: &mut Wire) {
    let said = wire.answer().unwrap();
    assert_eq!((code(&said), &said["id"]), (-32600, &Value::Null), "{said}");
    wire.ends();
    other.lives();
}

/// E05
#[test]
fn a_frame_of_a_mebibyte_passes_and_one_byte_more_ends_the_connection() {
    over_each(|served| {
        let mut other = served.connect();
        let mut wire = served.connect();
        wire.send(format!("{}\n", long(served, FRAME_MAX)));
        assert_eq!(wire.answer().unwrap()["id"], 1);
        // The CR isn't the frame's, also when the LF hasn't come yet.
        wire.send(format!("{}\r", long(served, FRAME_MAX)));
        other.lives();
        wire.send("\n");
        assert_eq!(wire.answer().unwrap()["id"], 1);
        wire.send(long(served, FRAME_MAX));
        wire.end_input();
        assert_eq!(wire.answer().unwrap()["id"], 1);
        wire.ends();
        for end in ["\n", "\r\n", ""] {
            let mut wire = served.connect();
            let _ = wire.try_send(format!("{}{end}", long(served, FRAME_MAX + 1)));
            if end.is_empty() {
                wire.end_input();
            }
            refused(wire, &mut other);
        }
    });
}

/// E05
#[test]
fn sixty_four_levels_pass_and_one_more_ends_the_connection() {
    over_each(|served| {
        let mut other = served.connect();
        let mut wire = served.connect();
        wire.send(format!("{}\n", deep(served, DEPTH_MAX)));
        assert_eq!(wire.answer().unwrap()["id"], 1);
        wire.send(format!("{}\n", deep(served, DEPTH_MAX + 1)));
        refused(wire, &mut other);
        for bomb in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            let mut wire = served.connect();
            wire.send(format!("{bomb}\n"));
            refused(wire, &mut other);
        }
        // Brackets within strings are none.
        other.send(format!(
            "{}\n",
            served.kind.frame(&format!("\"{}\"", "[".repeat(99)))
        ));
        assert!(other.answer().unwrap()["result"].is_object());
    });
}

/// An answer of each of a million numbers would be a hundred times what was asked.
#[test]
fn a_batch_has_a_hundred_requests_at_most() {
    over_each(|served| {
        let mut wire = served.connect();
        let batch = |n: usize| format!("[{}]\n", vec!["1"; n].join(","));
        wire.send(batch(BATCH_MAX));
        let said = wire.answer().unwrap();
        assert_eq!(said.as_array().unwrap().len(), BATCH_MAX);
        for n in [BATCH_MAX + 1, FRAME_MAX / 2 - 1] {
            wire.send(batch(n));
            let said = wire.raw_answer().unwrap();
            assert!(said.len() < 1000, "{} bytes", said.len());
            let said: Value = serde_json::from_str(&said).unwrap();
            assert_eq!((code(&said), &said["id"]), (-32600, &Value::Null), "{said}");
        }
        wire.lives();
    });
}

/// What is refused isn't sent back whole.
#[test]
fn an_error_is_short_whatever_was_asked() {
    over_each(|served| {
        let mut wire = served.connect();
        let long = "x".repeat(FRAME_MAX / 2);
        for (method, params) in [
            (long.as_str(), json!({})),
            ("subscribe", json!({ "events": long })),
            ("stop", json!({ "force": long })),
            ("hello", json!({ "pid": long })),
            ("tools/call", json!({ "name": long })),
        ] {
            wire.ask(method, params);
            let said = wire.raw_answer().unwrap();
            assert!(
                said.contains("\"error\"") && said.len() < 2000,
                "{} bytes",
                said.len()
            );
        }
        wire.lives();
    });
}

/// Half a frame is held for as long as its client likes, and nobody else notices.
#[test]
fn many_who_never_finish_a_frame_hold_up_nobody() {
    over_each(|served| {
        let mut slow: Vec<Wire> = (0..8).map(|_| served.connect()).collect();
        for wire in &mut slow {
            wire.send("{\"jsonrpc\":\"2.0\",");
        }
        let mut other = served.connect();
        other.lives();
        let rest = format!("\"id\":3,\"method\":\"{}\"}}\n", served.kind.quick());
        for wire in &mut slow {
            wire.send(&rest);
            assert_eq!(wire.answer().unwrap()["id"], 3);
        }
    });
}
