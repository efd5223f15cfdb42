//! Each of them as a reviewer: it looks around, and may change nothing.

use std::path::Path;

use ralph_tests::model::{Asked, Model, Step, Tool};

use crate::cli::{Bench, Cli, installed};

const LOOK: &str = "echo \"seen: $(cat one.txt)\"; echo changed >>one.txt; echo new >left.txt";

/// The work is one file; a review looks at it and tries to change it.
fn answer(asked: &Asked) -> Step {
    let review = asked.prompt.contains("SHIP");
    match (review, asked.results) {
        (false, 0) => Step::call(Tool::Write("one.txt".into(), "by a model\n".into())),
        (false, _) => Step::Say("Done.\n\nEXIT_SIGNAL: true".into()),
        (true, 0) => Step::call(Tool::Shell(LOOK.into())),
        (true, _) => Step::Say("It is what was asked for.\n\nSHIP".into()),
    }
}

#[test]
fn a_reviewer_reads_and_changes_nothing() {
    for cli in installed() {
        let name = cli.name();
        let toml = format!("[review]\nenabled = true\nagent = \"{name}\"\n");
        let bench = Bench::new(cli, Model::start(answer), "", &toml);
        let p = &bench.project;
        p.write("PRD.md", "## Tasks\n- [ ] Write one.txt\n");
        p.commit_all("one task");
        bench
            .start(&["run"])
            .wait()
            .expect(0)
            .says("complete: 1 of 1 tasks done");
        assert_eq!(p.read("one.txt"), "by a model\n", "{name}");
        assert!(!p.exists("left.txt"), "{name}");
        // claude and copilot refuse the command itself; what codex runs, the system holds.
        if cli == Cli::Codex {
            let seen = everything(&p.root().join(".ralph/logs"));
            assert!(seen.contains("seen: by a model"), "{seen}");
        }
    }
}

/// What all files below it hold.
fn everything(dir: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => all += &everything(&entry.path()),
            false => {
                all += &String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap());
            }
        }
    }
    all
}
