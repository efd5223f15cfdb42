//! `ralph doctor`: everything a run needs, looked at without starting one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_runner::{Error, Project, RunOptions, Setup, Trust};
use serde::Serialize;
use serde_json::json;

use crate::out::Out;

#[derive(Serialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
}

pub async fn doctor(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let mut checks = Vec::new();
    let mut add = |name: &str, result: Result<String, String>| {
        let (ok, detail) = match result {
            Ok(detail) => (true, detail),
            Err(detail) => (false, detail),
        };
        checks.push(Check {
            name: name.to_owned(),
            ok,
            detail,
        });
    };
    add(
        "git",
        program("git")
            .map(|p| p.display().to_string())
            .ok_or_else(|| "there is no `git` in PATH".into()),
    );
    match Project::open(dir) {
        Err(e) => add("configuration", Err(e.to_string())),
        Ok(project) => {
            let root = project.ws.root().display().to_string();
            let what = if project.configured {
                "read"
            } else {
                "none; defaults hold"
            };
            add("configuration", Ok(format!("{what}, root {root}")));
            for warning in &project.warnings {
                add("configuration", Ok(format!("warning: {warning}")));
            }
            let trust = Trust::of(&project).and_then(|t| t.demand());
            let trusted = trust.is_ok();
            add(
                "trust",
                trust.map(|()| "given".into()).map_err(|e| e.to_string()),
            );
            add("task file", tasks(&project).await);
            // What nobody has accepted yet is looked for, and not run.
            match super::agent::standings(&project, &super::agent::used(&project.config), trusted)
                .await
            {
                Err(e) => add("agents", Err(e.to_string())),
                Ok(list) => {
                    for agent in list {
                        let line = agent.summary();
                        let result = if agent.fit() { Ok(line) } else { Err(line) };
                        add(&format!("agent {}", agent.agent), result);
                    }
                }
            }
            for (name, result) in sandbox(&project).await {
                add(&name, result);
            }
            let setup = match super::host() {
                Ok(host) => Setup::new(project, host, RunOptions::default()).await,
                Err(e) => Err(e),
            };
            add(
                "components",
                setup
                    .map(|s| {
                        format!(
                            "{} gates and what else a run needs are loaded",
                            s.gates.len()
                        )
                    })
                    .map_err(|e| e.to_string()),
            );
        }
    }
    for check in &checks {
        let mark = if check.ok {
            out.paint(AnsiColor::Green, "ok  ")
        } else {
            out.paint(AnsiColor::Red, "FAIL")
        };
        out.text(format!("{mark} {:<16} {}", check.name, check.detail));
    }
    let bad = checks.iter().filter(|c| !c.ok).count();
    if bad > 0 {
        out.text(format!("{bad} of {} checks failed", checks.len()));
    }
    Ok(out.done(if bad > 0 { 2 } else { 0 }, &json!({ "checks": checks })))
}

async fn tasks(project: &Project) -> Result<String, String> {
    let ids = ralph_runner::status::state(project)
        .map(|s| s.ids)
        .unwrap_or_default();
    let tasks = project.tasks(&ids).await.map_err(|e| e.to_string())?.list;
    let path = tasks.name();
    let (done, total) = tasks.counts();
    let warnings = tasks
        .warnings()
        .iter()
        .map(|w| format!("; {w}"))
        .collect::<String>();
    Ok(format!("{path}, {done} of {total} tasks done{warnings}"))
}

/// What holds native programs here. Less than was asked for fails only where all of it is required.
async fn sandbox(project: &Project) -> Vec<(String, Result<String, String>)> {
    let root = project.ws.root();
    let all = match ralph_runner::holding::overview(&project.config, root).await {
        Ok(all) => all,
        Err(e) => return vec![("sandbox".into(), Err(e.to_string()))],
    };
    let required = project.config.sandbox.require;
    let check = |held: ralph_runner::holding::Held| {
        let mut line = held.enforced.line();
        if let Some(remark) = held.remark {
            line = format!("{line}; {remark}");
        }
        let ok = held.enforced.is_whole() || !required;
        (
            format!("sandbox {}", held.who),
            if ok { Ok(line) } else { Err(line) },
        )
    };
    all.into_iter().map(check).collect()
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(name))
        .find(|p| p.is_file())
}
