//! What is answered while something takes long, in which order, and how that is cancelled.

use ralph_tests::{below, go};
use serde_json::{Value, json};

use crate::wire::{Kind, Served, Wire, code};

/// The transports that carry an iteration out for whoever asks.
const STEPPERS: [Kind; 2] = [Kind::Stdio, Kind::Tools];

/// A bridge's method; over TCP it is a tool.
fn request(kind: Kind, method: &str, id: &str) -> Value {
    match kind {
        Kind::Tools => json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": method, "arguments": {}}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}}),
    }
}

fn ask(wire: &mut Wire, method: &str, id: &str) {
    let frame = request(wire.kind, method, id);
    wire.send(format!("{frame}\n"));
}

/// The next answer, which has to be to this.
fn answer(wire: &mut Wire, id: &str) -> Value {
    let said = wire.answer().unwrap();
    assert_eq!(said["id"], id, "{said}");
    said
}

#[test]
fn others_are_answered_while_a_step_is_on_and_its_answer_comes_at_its_end() {
    for kind in STEPPERS {
        let served = Served::of(kind);
        let mut wire = served.connect();
        ask(&mut wire, "step", "s");
        assert_eq!(served.p.hear("here"), "1");
        for _ in 0..3 {
            wire.lives();
        }
        ask(&mut wire, "status", "q");
        assert_eq!(answer(&mut wire, "q")["result"]["running"], true);
        for second in ["step", "run"] {
            ask(&mut wire, second, "b");
            let said = answer(&mut wire, "b");
            assert_eq!(code(&said), -32000, "{kind:?} {said}");
            assert_eq!(said["error"]["message"], "A run is already active");
            assert!(said["error"]["data"].is_object());
        }
        go(&served.p);
        let said = answer(&mut wire, "s");
        assert_eq!(said["result"]["task_id"], "T1", "{said}");
        wire.lives();
    }
}

#[test]
fn stop_cancels_a_step_on_its_own_connection() {
    for kind in STEPPERS {
        let served = Served::of(kind);
        let mut wire = served.connect();
        ask(&mut wire, "step", "s");
        assert_eq!(served.p.hear("here"), "1");
        ask(&mut wire, "stop", "x");
        let both = [wire.answer().unwrap(), wire.answer().unwrap()];
        let of = |id: &str| both.iter().find(|said| said["id"] == id).unwrap();
        assert_eq!(of("x")["result"]["stopped"], true);
        assert_eq!(of("s")["result"]["status"], "interrupted", "{both:?}");
        assert_eq!(of("s")["result"]["progress_made"], false);
        assert_eq!(below(&served.p.root()).len(), 1, "only the server is left");
        ask(&mut wire, "stop", "y");
        assert_eq!(answer(&mut wire, "y")["result"]["stopped"], false);
    }
}

#[test]
fn a_batch_with_a_step_is_answered_whole_and_holds_up_nothing_behind_it() {
    for kind in STEPPERS {
        let served = Served::of(kind);
        let mut wire = served.connect();
        let batch = json!([
            {"jsonrpc": "2.0", "id": "p", "method": "ping"},
            request(kind, "step", "s"),
            {"jsonrpc": "2.0", "id": "q", "method": "ping"},
        ]);
        wire.send(format!("{batch}\n"));
        assert_eq!(served.p.hear("here"), "1");
        wire.lives();
        go(&served.p);
        let said = wire.answer().unwrap();
        let ids: Vec<&Value> = said.as_array().unwrap().iter().map(|a| &a["id"]).collect();
        assert_eq!(ids, ["p", "s", "q"], "{said}");
        assert_eq!(said[1]["result"]["task_id"], "T1");
    }
}

/// Half-closed: what was asked is still answered.
#[test]
fn a_client_that_has_said_all_gets_the_answer_of_what_is_on() {
    let served = Served::of(Kind::Tools);
    let mut wire = served.connect();
    ask(&mut wire, "step", "s");
    assert_eq!(served.p.hear("here"), "1");
    wire.end_input();
    go(&served.p);
    assert_eq!(answer(&mut wire, "s")["result"]["task_id"], "T1");
    wire.ends();
}

/// The answer to a request is written before any event which that request caused.
#[test]
fn an_answer_comes_before_what_its_request_caused() {
    let served = Served::of(Kind::Socket);
    let mut wire = served.connect();
    wire.call("subscribe", json!({"events": ["*"]}));
    for (method, key, want) in [
        ("pause", "pause_requested", true),
        ("resume", "pause_requested", false),
        ("pause", "pause_requested", true),
        ("resume", "pause_requested", false),
    ] {
        wire.ask(method, json!({}));
        let first = wire.any().unwrap();
        assert!(first["result"].is_object(), "{first}");
        let then = wire.any().unwrap();
        assert_eq!(then["params"]["data"][key], want, "{then}");
    }
    let served = Served::of(Kind::Stdio);
    let mut wire = served.connect();
    wire.ask("run", json!({}));
    assert!(wire.any().unwrap()["result"]["runId"].is_string());
    assert_eq!(wire.any().unwrap()["params"]["type"], "run_started");
}
