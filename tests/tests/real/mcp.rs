//! `ralph mcp` as a server of the real programs: they find its tools, and call one.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use ralph_tests::model::{Asked, Model, Step, Tool};
use serde_json::json;

use crate::cli::{Bench, Cli, installed, program};

/// Calls `tasks`, then says what came back.
fn ask(seen: &Mutex<String>, asked: &Asked) -> Step {
    if asked.results == 0 {
        return Step::call(Tool::Other("mcp__ralph__tasks".into(), json!({})));
    }
    seen.lock().unwrap().clone_from(&asked.result);
    Step::Say("That is all.".into())
}

#[test]
fn an_agent_asks_for_the_tasks() {
    let programs = installed();
    for cli in [Cli::Claude, Cli::Codex] {
        if !programs.contains(&cli) {
            continue;
        }
        let seen = Arc::new(Mutex::new(String::new()));
        let theirs = seen.clone();
        let model = Model::start(move |asked| ask(&theirs, asked));
        let bench = Bench::new(cli, model, "", "");
        let p = &bench.project;
        let ralph = bench.command(&["mcp"]);
        let mut agent = std::process::Command::new(program(cli));
        agent
            .env_clear()
            .envs(
                ralph
                    .get_envs()
                    .filter_map(|(key, value)| Some((key, value?))),
            )
            .current_dir(p.root())
            .stdin(Stdio::null());
        let binary = ralph.get_program().to_str().unwrap();
        match cli {
            Cli::Claude => {
                let servers =
                    json!({"mcpServers": {"ralph": {"command": binary, "args": ["mcp"]}}});
                agent.args(["-p", "Which tasks are there?", "--strict-mcp-config"]);
                agent.args(["--mcp-config", &servers.to_string()]);
                agent.args(["--allowedTools", "mcp__ralph__tasks"]);
            }
            _ => {
                agent.args(["exec", "--skip-git-repo-check", "-c"]);
                agent.arg(format!("mcp_servers.ralph.command={binary:?}"));
                agent.args(["-c", "mcp_servers.ralph.args=[\"mcp\"]"]);
                agent.args([
                    "-c",
                    "mcp_servers.ralph.default_tools_approval_mode=\"approve\"",
                ]);
                agent.arg("Which tasks are there?");
            }
        }
        let ran = p.start_command(agent).wait();
        let seen = seen.lock().unwrap().clone();
        assert!(
            seen.contains("Write one.txt") && seen.contains("T2"),
            "{}: {seen:?}\n{}\n{}",
            cli.name(),
            ran.stdout,
            ran.stderr
        );
        ran.expect(0).says("That is all.");
    }
}
