//! What goes wrong at the model, and what comes of it: the attempt's outcome, and why the run ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_tests::model::{Asked, Model, Step, Tool, Trouble};

use crate::cli::{Bench, Cli, installed};
use crate::record;

/// Side by side: most of their time these programs wait before they try again.
const AT_A_TIME: usize = 5;

struct Case {
    name: &'static str,
    answer: fn(&Asked) -> Step,
    /// How the agent's call ends, by the name in the journal.
    outcome: &'static str,
    /// Of `ralph step`.
    code: i32,
    /// `last_end` of the status.
    end: &'static str,
}

/// Writes a file and claims its task.
fn good(asked: &Asked) -> Step {
    match asked.results {
        0 => Step::call(Tool::Write("one.txt".into(), "1\n".into())),
        _ => Step::Say("Done.\n\nEXIT_SIGNAL: true".into()),
    }
}

const CASES: [Case; 10] = [
    Case {
        name: "401",
        answer: |_| Step::Status(401, Trouble::Plain),
        outcome: "unauthenticated",
        code: 2,
        end: "unauthenticated",
    },
    Case {
        name: "429",
        answer: |_| Step::Status(429, Trouble::Plain),
        outcome: "limited",
        code: 1,
        end: "limited",
    },
    Case {
        name: "429-then-good",
        answer: |asked| match asked.number {
            0 => Step::Status(429, Trouble::RetryAfter(1)),
            _ => good(asked),
        },
        outcome: "finished",
        code: 0,
        end: "max_iterations",
    },
    Case {
        name: "500",
        answer: |_| Step::Status(500, Trouble::Plain),
        outcome: "limited",
        code: 1,
        end: "limited",
    },
    Case {
        name: "quota",
        answer: |_| Step::Status(429, Trouble::Quota),
        outcome: "limited",
        code: 1,
        end: "limited",
    },
    Case {
        name: "context",
        answer: |_| Step::Status(400, Trouble::Context),
        outcome: "failed",
        code: 1,
        end: "max_iterations",
    },
    Case {
        name: "cut",
        answer: |_| Step::Cut,
        outcome: "limited",
        code: 1,
        end: "limited",
    },
    Case {
        name: "cut-then-good",
        answer: |asked| match asked.number {
            0 => Step::Cut,
            _ => good(asked),
        },
        outcome: "finished",
        code: 0,
        end: "max_iterations",
    },
    Case {
        name: "hang",
        answer: |_| Step::Hang,
        outcome: "timed_out",
        code: 1,
        end: "max_iterations",
    },
    Case {
        name: "refusal",
        answer: |_| Step::Refuse("I can't help with that.".into()),
        outcome: "failed",
        code: 1,
        end: "max_iterations",
    },
];

#[test]
fn trouble_at_the_model_is_told_apart() {
    let jobs: Vec<(Cli, &Case)> = installed()
        .into_iter()
        // copilot waits longest before it gives up.
        .rev()
        .flat_map(|cli| CASES.iter().map(move |case| (cli, case)))
        .collect();
    let wrong = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((cli, case)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(what) = run(*cli, case) {
                        wrong.lock().unwrap().push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(cli: Cli, case: &Case) -> Result<(), String> {
    let in_agent = match case.name {
        "hang" => "idle_timeout = \"10s\"",
        _ => "",
    };
    let bench = Bench::new(cli, Model::start(case.answer), in_agent, "");
    let p = &bench.project;
    let ran = bench.start(&["step"]).wait();
    record::keep(p, cli, case.name);
    let ended = p.facts("agent_ended");
    let outcome = ended
        .last()
        .map(|e| e["outcome"].clone())
        .unwrap_or_default();
    let end = p.status()["last_end"].clone();
    if outcome["type"] == case.outcome && ran.code == case.code && end == case.end {
        return Ok(());
    }
    Err(format!(
        "{} {}: expected {}, {}, {}; got {outcome}, {}, {end}\n{}{}",
        cli.name(),
        case.name,
        case.outcome,
        case.code,
        case.end,
        ran.code,
        ran.stdout,
        ran.stderr,
    ))
}
