//! `ralph init`

use std::path::Path;
use std::process::ExitCode;

use ralph_config::templates::Found;
use ralph_runner::records::IGNORE;
use ralph_runner::{Error, Project, Trust};
use ralph_workspace::Workspace;
use serde_json::json;

use crate::args::InitArgs;
use crate::out::Out;

const TASKS: &str = include_str!("../../templates/PRD.md");
const PROMPT: &str = include_str!("../../templates/PROMPT.md");
const PROMPT_JUDGE: &str = include_str!("../../templates/PROMPT_judge.md");
const PROMPT_REVIEW: &str = include_str!("../../templates/PROMPT_review.md");

/// What shows that a project has checks of its own, and how they are run.
const CHECKS: [(&str, &str, &[&str]); 6] = [
    ("Cargo.toml", "tests", &["cargo", "test"]),
    ("package.json", "tests", &["npm", "test"]),
    ("go.mod", "tests", &["go", "test", "./..."]),
    ("pyproject.toml", "tests", &["python3", "-m", "pytest"]),
    ("Makefile", "tests", &["make", "test"]),
    ("check.sh", "tests", &["sh", "check.sh"]),
];

pub fn init(dir: &Path, args: &InitArgs, out: &Out) -> Result<ExitCode, Error> {
    let ws = Workspace::open(&ralph_workspace::find_root(dir)?)?;
    let check = CHECKS.iter().find(|(file, ..)| ws.exists(file));
    let gates: Vec<Found> = check
        .map(|(_, name, run)| Found {
            name: (*name).to_owned(),
            run: run.iter().map(ToString::to_string).collect(),
        })
        .into_iter()
        .collect();
    let toml = ralph_config::templates::init_toml(&args.agent, &gates);
    let configured = ralph_runner::project::CONFIG_PATHS
        .iter()
        .find(|p| ws.exists(p));
    let tasks = ralph_runner::project::TASK_PATHS
        .iter()
        .find(|p| ws.exists(p));
    let prompt = ralph_runner::project::PROMPT_PATHS
        .iter()
        .find(|p| ws.exists(p));
    let wanted = [
        ("ralph.toml", toml.as_str(), configured),
        ("PRD.md", TASKS, tasks),
        (".ralph/PROMPT.md", PROMPT, prompt),
        (".ralph/PROMPT_judge.md", PROMPT_JUDGE, None),
        (".ralph/PROMPT_review.md", PROMPT_REVIEW, None),
        (IGNORE.0, IGNORE.1, None),
    ];
    let (mut written, mut kept) = (Vec::new(), Vec::new());
    for (path, text, instead) in wanted {
        let there = instead.copied().or_else(|| ws.exists(path).then_some(path));
        match there {
            Some(there) => kept.push(there),
            None => {
                ws.write(path, text.as_bytes())?;
                written.push(path);
            }
        }
    }
    for path in &written {
        out.text(format!("wrote {path}"));
    }
    for path in &kept {
        out.text(format!("kept  {path}"));
    }
    // What ralph wrote itself needs nobody's eyes; what it found here does.
    if configured.is_none() {
        let project = Project::open(dir)?;
        Trust::of(&project)?.give(&project)?;
    } else {
        out.text("the configuration that was here isn't trusted by this; see `ralph trust`");
    }
    out.text("next: put your tasks into the task file, look at ralph.toml, then `ralph doctor` and `ralph run`");
    Ok(out.done(0, &json!({ "written": written, "kept": kept })))
}
