//! What scripts rely on: one envelope for all commands, completions, `init`.

use ralph_tests::{Project, tree};
use serde_json::Value;

fn envelope(p: &Project, args: &[&str], code: i32) -> Value {
    let ran = p.run(&[args, &["--json"]].concat()).expect(code);
    let json = ran.json();
    assert_eq!(ran.stdout.lines().count(), 1, "{args:?}");
    let keys: Vec<_> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let last = if json.get("error").is_some() {
        "error"
    } else {
        "result"
    };
    assert_eq!(
        keys,
        ["schema_version", "cmd", "exit_code", "timestamp", last],
        "{args:?}"
    );
    assert_eq!(json["schema_version"], "ralph.cli.v1");
    assert_eq!(json["exit_code"], code, "{args:?}");
    let at = json["timestamp"].as_str().unwrap();
    assert!(
        at.len() >= 20 && at.ends_with('Z') && at.as_bytes()[10] == b'T',
        "{at}"
    );
    if last == "error" {
        assert!(!json["error"]["message"].as_str().unwrap().is_empty());
    }
    json
}

#[test]
fn every_reporting_command_answers_with_the_same_envelope() {
    let p = Project::build().gate("g", "true\n").untrusted();
    for (args, code, cmd) in [
        (&["run"][..], 3, "run"),
        (&["trust"], 1, "trust"),
        (&["trust", "--yes"], 0, "trust"),
        (&["status"], 0, "status"),
        (&["step"], 0, "step"),
        (&["run"], 0, "run"),
        (&["plugin", "list"], 0, "plugin"),
        (&["plugin", "inspect", "no-secrets"], 0, "plugin"),
        (&["plugin", "inspect", "nobody"], 3, "plugin"),
        (&["log"], 0, "log"),
        (&["show", "1"], 0, "show"),
        (&["show", "77"], 3, "show"),
        (&["explain", "T1"], 0, "explain"),
        (&["explain"], 3, "explain"),
        (&["blocked"], 0, "blocked"),
        (&["stats"], 0, "stats"),
        (&["verify"], 0, "verify"),
        (&["fingerprint", "verify"], 0, "fingerprint"),
        (&["fingerprint", "compute", "nothing"], 1, "fingerprint"),
        (&["replay", "1"], 0, "replay"),
        (&["prompt", "T1"], 0, "prompt"),
        (&["run", "--dry-run"], 0, "run"),
        (&["clean"], 0, "clean"),
        (&["stop"], 1, "stop"),
        (&["pause"], 1, "pause"),
        (&["resume"], 1, "resume"),
        (&["checkpoint"], 1, "checkpoint"),
        (&["inject", "x"], 1, "inject"),
        (&["ps"], 0, "ps"),
        (&["tail"], 1, "tail"),
        (&["skip", "T1"], 1, "skip"),
        (&["attach"], 3, "attach"),
        (&["rpc", "schema"], 0, "rpc"),
        (&["doctor"], 0, "doctor"),
        (&["schema"], 0, "schema"),
        (&["schema", "prompt-set"], 0, "schema"),
        (&["completions", "bash"], 0, "completions"),
        (&["init"], 0, "init"),
        (&["trust", "--revoke"], 0, "trust"),
    ] {
        assert_eq!(envelope(&p, args, code)["cmd"], cmd);
    }
    envelope(&p, &["run", "--frobnicate"], 3);
    p.write("ralph.toml", "[loop]\nx = 1\n");
    for args in [&["status"][..], &["run"], &["step"], &["plugin", "list"]] {
        let message = envelope(&p, args, 3)["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.starts_with("ralph.toml:2:1: "), "{message}");
    }
}

#[test]
fn the_envelope_of_a_run_says_how_it_went_and_its_lines_go_to_stderr() {
    let p = Project::build()
        .agent(
            "cat >/dev/null; echo 'words on stdout'; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n",
        )
        .ready();
    let ran = p.run(&["run", "--json"]).expect(0);
    let result = &ran.json()["result"];
    assert_eq!(result["end"]["reason"], "complete");
    for (key, want) in [
        ("iterations", 2),
        ("accepted", 2),
        ("done", 2),
        ("total", 2),
    ] {
        assert_eq!(result[key], want, "{key}");
    }
    assert!(ran.stderr.contains("words on stdout"), "{}", ran.stderr);
    assert!(result["run_id"].as_str().unwrap().starts_with("run-"));
}

#[test]
fn the_schema_is_one_and_knows_every_table() {
    let p = Project::bare();
    let schema: Value = serde_json::from_str(&p.run(&["schema"]).expect(0).stdout).unwrap();
    for table in [
        "loop", "files", "agents", "gates", "judge", "review", "plugins", "git",
    ] {
        assert!(schema["properties"].get(table).is_some(), "{table}");
    }
}

#[test]
fn there_are_completions_for_bash_zsh_and_fish() {
    let p = Project::bare();
    for shell in ["bash", "zsh", "fish"] {
        let script = p.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("RALPH_COMPLETE"), "{shell}");
    }
    let script = p.run(&["completions", "bash"]).stdout;
    std::fs::write(p.side("ralph.bash"), script).unwrap();
    let checked = std::process::Command::new("bash")
        .arg("-n")
        .arg(p.side("ralph.bash"))
        .status()
        .unwrap();
    assert!(checked.success());
}

#[test]
fn what_init_writes_runs() {
    let p = Project::bare();
    p.write(
        "check.sh",
        "count=$(cat work.txt | wc -l); [ \"$count\" -ge 1 ]\n",
    );
    p.write("script.toml", "[[step]]\nsay = \"working\"\nanswer = \"EXIT_SIGNAL: true\"\n[[step.edit]]\npath = \"work.txt\"\nwrite = \"done\\n\"\n");
    p.commit_all("start");
    let said = p.run(&["init", "--agent", "scripted"]).expect(0).stdout;
    for path in [
        "ralph.toml",
        "PRD.md",
        ".ralph/PROMPT.md",
        ".ralph/PROMPT_judge.md",
        ".ralph/PROMPT_review.md",
        ".ralph/.gitignore",
    ] {
        assert!(
            p.exists(path) && said.contains(&format!("wrote {path}")),
            "{path}\n{said}"
        );
    }
    let toml = p.read("ralph.toml");
    assert!(
        toml.contains("run = [\"sh\", \"check.sh\"]"),
        "it found the checks: {toml}"
    );
    p.write(
        "ralph.toml",
        format!("{toml}\n[agents.scripted.config]\nscript = \"script.toml\"\n"),
    );
    p.trust();
    let ran = p.run(&["run"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert_eq!(p.commits(), ["ralph: T1 Replace this with your first task"]);
}

#[test]
fn init_never_overwrites() {
    let p = Project::bare();
    p.run(&["init"]).expect(0);
    for path in ["ralph.toml", "PRD.md", ".ralph/PROMPT.md"] {
        p.write(path, format!("# mine: {path}\n"));
    }
    let before = tree(&p.root());
    let again = p.run(&["init", "--agent", "claude"]).expect(0).stdout;
    assert!(before == tree(&p.root()), "{again}");
    assert!(!again.contains("wrote"), "{again}");
    // Whatever of it is there under another name stays alone.
    let p = Project::bare();
    p.write("prd.json", "{\"userStories\":[]}");
    p.write(".ralph/ralph.toml", "[loop]\nmax_attempts = 2\n");
    p.write("PROMPT.md", "mine\n");
    p.run(&["init"]).expect(0);
    assert!(!p.exists("PRD.md") && !p.exists("ralph.toml") && !p.exists(".ralph/PROMPT.md"));
}

#[test]
fn doctor_says_what_is_missing_and_what_is_there() {
    let p = Project::build().gate("g", "true\n").ready();
    let good = p.run(&["doctor"]).expect(0).stdout;
    for name in [
        "git",
        "configuration",
        "trust",
        "task file",
        "agent fake",
        "components",
    ] {
        assert!(good.contains(name), "{name}\n{good}");
    }
    std::fs::remove_file(p.root().join("PRD.md")).unwrap();
    p.run(&["doctor"]).expect(2).says("FAIL task file");
}
