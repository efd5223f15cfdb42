//! What the real copilot printed while it worked against the tests' model service, and how it ended
//! (recorded by `RALPH_RECORD=DIR` in `tests/tests/real`), replayed cut at every byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::Copilot;
use ralph_plugin::testing::recorded;
use ralph_plugin::{AgentDriver, Event, Outcome};

type Session = <Copilot as AgentDriver>::Session;

macro_rules! replayed {
    ($name:literal) => {
        recorded::<Session>(
            include_str!(concat!("../recorded/", $name, ".jsonl")),
            include_str!(concat!("../recorded/", $name, ".exit.json")),
        )
    };
}

#[test]
fn a_task_with_several_tools_is_finished_and_counted() {
    let (events, outcome) = replayed!("work");
    let Outcome::Finished(words) = outcome else {
        unreachable!("{outcome:?}");
    };
    assert!(words.ends_with("EXIT_SIGNAL: true"), "{words}");
    let of = |wanted: fn(&Event) -> bool| events.iter().filter(|e| wanted(e)).count();
    assert_eq!(of(|e| matches!(e, Event::ToolUse(_))), 3);
    assert_eq!(of(|e| matches!(e, Event::ToolResult(_))), 3);
    assert!(of(|e| matches!(e, Event::Thinking(t) if t.contains("漢"))) > 0);
    assert!(of(|e| matches!(e, Event::Text(t) if t.contains("🦀"))) > 0);
    let usage = events.iter().rev().find_map(|e| match e {
        Event::Usage(usage) => Some((usage.input_tokens, usage.cached_tokens, usage.output_tokens)),
        _ => None,
    });
    assert_eq!(usage, Some(USAGE));
    let session = |e: &Event| matches!(e, Event::Notice(n) if n.contains(SESSION));
    assert_eq!(events.iter().filter(|e| session(e)).count(), 1);
}

#[test]
fn trouble_is_told_apart() {
    let kinds = [
        replayed!("401").1,
        replayed!("429").1,
        replayed!("quota").1,
        replayed!("500").1,
        replayed!("cut").1,
        replayed!("context").1,
        replayed!("refusal").1,
        replayed!("429-then-good").1,
    ];
    let names = kinds.map(|outcome| match outcome {
        Outcome::Finished(_) => "finished",
        Outcome::Limited(_) => "limited",
        Outcome::Unauthenticated(_) => "login",
        Outcome::Failed(_) => "failed",
        Outcome::Interrupted => "interrupted",
    });
    let (login, limited, failed) = ("login", "limited", "failed");
    let wanted = [
        login, limited, limited, limited, limited, failed, failed, "finished",
    ];
    assert_eq!(names, wanted);
}

/// Input, cached, output: four answers of the model. Copilot counts the cached ones as input.
const USAGE: (u64, u64, u64) = (3200, 800, 200);
const SESSION: &str = "copilot session ";
