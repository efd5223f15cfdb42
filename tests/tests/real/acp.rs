//! The Agent Client Protocol, spoken with the real copilot.

use ralph_tests::model::{Asked, Model, Step, Tool};

use crate::cli::{Bench, Cli, installed};

const AGENT: &str = "plugin = \"acp\"\nargv = [\"copilot\", \"--acp\"]\nenv = [\"COPILOT_*\"]\n";

fn write(asked: &Asked) -> Step {
    match asked.results {
        0 => Step::call(Tool::Write("one.txt".into(), "1\n".into())),
        1 => Step::call(Tool::Shell("echo ran >ran.txt".into())),
        _ => Step::Say("Done.\n\nEXIT_SIGNAL: true".into()),
    }
}

fn bench(more: &str) -> Option<Bench> {
    installed().contains(&Cli::Copilot).then(|| {
        let in_agent = format!("{AGENT}{more}");
        Bench::new(Cli::Copilot, Model::start(write), &in_agent, "")
    })
}

#[test]
fn its_work_is_allowed_and_accepted() {
    let Some(bench) = bench("") else { return };
    bench.start(&["step"]).wait().expect(0);
    assert_eq!(bench.project.read("one.txt"), "1\n");
    assert_eq!(bench.project.read("ran.txt"), "ran\n");
    assert_eq!(
        bench.project.facts("agent_ended")[0]["outcome"]["type"],
        "finished"
    );
}

#[test]
fn one_that_may_only_read_writes_nothing() {
    let Some(bench) = bench("sandbox = \"read-only\"\n") else {
        return;
    };
    bench.start(&["step"]).wait().expect(1).says("refused: ");
    assert!(!bench.project.exists("one.txt") && !bench.project.exists("ran.txt"));
}
