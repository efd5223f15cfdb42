//! A whole run of two tasks: files, several tools, one that fails, commits, gates, usage.

use ralph_tests::model::{Asked, CACHED, INPUT, Model, OUTPUT, Step, Tool};
use serde_json::json;

use crate::cli::{Bench, Cli, installed};
use crate::record;

/// What the model does for a task, one step after each answer of a tool.
fn work(asked: &Asked) -> Step {
    // The second task's prompt tells of the first as well.
    let file = match asked.prompt.contains("Write two.txt") {
        true => "two.txt",
        false => "one.txt",
    };
    let shell = |command: &str| Step::call(Tool::Shell(command.into()));
    match asked.results {
        0 => Step::Call {
            think: Some("**Planning** One file is wanted. 漢".into()),
            say: Some(format!("First I write {file}. 🦀")),
            tools: vec![Tool::Write(file.into(), "written by a model\n".into())],
        },
        1 => shell("printf 'sl\\303\\244ow\\n'; sleep 2; echo end >>log.txt"),
        2 => shell("echo oops >&2; exit 3"),
        _ => Step::Say(format!("Done: {file} is there.\n\nEXIT_SIGNAL: true")),
    }
}

/// Four answers of the model for each task.
const ANSWERS: u64 = 4;

#[test]
fn a_run_of_two_tasks_is_committed_gated_and_counted() {
    let runs: Vec<_> = installed()
        .into_iter()
        .map(|cli| std::thread::spawn(move || run(cli)))
        .collect();
    // All of them come to their end before one's failure is told.
    let ended: Vec<_> = runs
        .into_iter()
        .map(std::thread::JoinHandle::join)
        .collect();
    if let Some(panic) = ended.into_iter().find_map(Result::err) {
        std::panic::resume_unwind(panic);
    }
}

fn run(cli: Cli) {
    let bench = Bench::new(
        cli,
        Model::start(work),
        "",
        "[[gates]]\nname = \"written\"\nrun = [\"sh\", \"-c\", \"grep -q 'by a model' one.txt && test -s log.txt\"]\n",
    );
    let (p, name) = (&bench.project, cli.name());
    let ran = bench.start(&["run"]).wait();
    record::keep(p, cli, "work");
    let ran = ran.expect(0).says("complete: 2 of 2 tasks done");
    assert_eq!(p.commits().len(), 2, "{name}: {}", ran.stdout);
    for file in ["one.txt", "two.txt"] {
        assert_eq!(p.read(file), "written by a model\n", "{name}");
    }
    assert_eq!(p.read("log.txt"), "end\nend\n", "{name}");
    let gates = p.facts("gate_answered");
    assert_eq!(gates.len(), 2, "{name}");
    assert!(
        gates
            .iter()
            .all(|g| g["result"]["verdict"]["status"] == "pass"),
        "{name}: {gates:?}"
    );
    for ended in p.facts("agent_ended") {
        assert_eq!(ended["outcome"]["type"], "finished", "{name}: {ended:?}");
        let session = ended["session"].as_str().unwrap_or_default();
        assert_eq!(session.len(), 36, "{name}: a UUID, not `{session}`");
        let usage = &ended["usage"];
        // Anthropic counts what came from its cache beside the input, OpenAI as part of it.
        let input = match cli {
            Cli::Claude => INPUT,
            Cli::Codex | Cli::Copilot => INPUT - CACHED,
        };
        for (key, each) in [
            ("input_tokens", input),
            ("cached_tokens", CACHED),
            ("output_tokens", OUTPUT),
        ] {
            assert_eq!(
                usage[key],
                json!(ANSWERS * each),
                "{name}: {key} in {usage}"
            );
        }
    }
    assert_eq!(u64::from(bench.model.requests()), 2 * ANSWERS, "{name}");
    assert_eq!(bench.model.complaints(), Vec::<String>::new(), "{name}");
    let session = p.facts("agent_ended")[0]["session"].clone();
    p.run(&["show", "1"])
        .expect(0)
        .says(session.as_str().unwrap());
    p.run(&["verify"]).expect(0);
    p.run(&["replay", "1"]).expect(0);
}
