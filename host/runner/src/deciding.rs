//! What in the project decides whether work is accepted: an attempt that changes it would rule on
//! itself, unless its task is about it.

use std::collections::BTreeSet;

use ralph_config::Config;
use ralph_engine::types::{FileChange, Task};

use crate::project::Project;

/// Programs whose first file is what really runs; a version may follow (`python3.12`).
const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "node", "deno", "bun", "ruby",
    "perl", "php", "pwsh", "env",
];

/// Paths relative to the root: the scripts that gates run, plugins' files, the texts that open
/// prompts and questions, and what `[[gates]] protect` names. A directory stands for all below it.
pub(crate) fn paths(project: &Project) -> BTreeSet<String> {
    let config = &project.config;
    let is_file = |path: &str| {
        let path = plain(path);
        let meta = project.ws.dir().metadata(path);
        (!path.starts_with('/') && meta.is_ok_and(|m| m.is_file())).then(|| path.to_owned())
    };
    let scripts = config
        .gates
        .iter()
        .filter_map(|gate| script(&gate.run, &is_file));
    let protected = config.gates.iter().flat_map(|gate| &gate.protect);
    scripts
        .chain(protected.map(|path| plain(path).to_owned()))
        .chain(plugin_files(config))
        .chain(project.prompt_path())
        .chain(config.files.template.clone())
        .chain(
            [&config.judge, &config.review]
                .iter()
                .filter_map(|j| j.prompt.clone()),
        )
        .collect()
}

fn plain(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

fn plugin_files(config: &Config) -> impl Iterator<Item = String> {
    let own = config.plugins.values().filter(|p| p.is_file());
    own.map(|p| plain(&p.source).to_owned())
}

/// The file of the project that a command runs, if it does.
fn script(run: &[String], is_file: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (program, args) = run.split_first()?;
    if program.contains('/')
        && let Some(path) = is_file(program)
    {
        return Some(path);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&name) {
        return None;
    }
    // Of `sh -c "…"` the text may name files; what it runs can't be told without running it.
    args.iter()
        .filter(|arg| !arg.starts_with('-'))
        .find_map(|arg| is_file(arg))
}

/// Those of an attempt's changes that it had no business with.
pub(crate) fn rigged(
    deciding: &BTreeSet<String>,
    files: &[FileChange],
    task: &Task,
) -> Vec<String> {
    files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| decides(deciding, path) && !is_about(task, path))
        .map(str::to_owned)
        .collect()
}

fn decides(deciding: &BTreeSet<String>, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()])
        .any(|end| deciding.contains(&path[..end]))
}

/// Does the task name the file?
fn is_about(task: &Task, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let texts = [&task.title, &task.description];
    texts
        .into_iter()
        .chain(&task.acceptance)
        .any(|text| text.contains(name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn found(run: &[&str]) -> Option<String> {
        let run: Vec<String> = run.iter().map(ToString::to_string).collect();
        let there = ["ci/check.sh", "check.py", "Cargo.toml"];
        script(&run, &|path| {
            let path = plain(path);
            there.contains(&path).then(|| path.to_owned())
        })
    }

    #[test]
    fn a_gate_s_script_is_its_program_or_what_an_interpreter_is_given() {
        for (run, want) in [
            (&["./ci/check.sh"][..], Some("ci/check.sh")),
            (&["ci/check.sh", "--all"], Some("ci/check.sh")),
            (&["sh", "-eu", "ci/check.sh"], Some("ci/check.sh")),
            (&["/usr/bin/python3.12", "./check.py"], Some("check.py")),
            (&["env", "A=1", "bash", "ci/check.sh"], Some("ci/check.sh")),
            (&["cargo", "test", "--manifest-path", "Cargo.toml"], None),
            (&["sh", "-c", "ci/check.sh && true"], None),
            (&["check.py"], None),
            (&["./gone.sh"], None),
        ] {
            assert_eq!(found(run).as_deref(), want, "{run:?}");
        }
    }

    #[test]
    fn what_decides_is_a_file_or_all_below_a_directory() {
        let deciding: BTreeSet<String> = ["ci".into(), "check.py".into()].into();
        for (path, want) in [
            ("ci/check.sh", true),
            ("ci/deep/x", true),
            ("check.py", true),
            ("cicada", false),
            ("src/check.py", false),
            ("src/ci/x", false),
        ] {
            assert_eq!(decides(&deciding, path), want, "{path}");
        }
    }
}
