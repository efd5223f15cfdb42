//! Whatever comes from outside and is read by ralph itself, spoilt at random: no panic, no
//! hang, and what was understood is understood the same when it is written back.
//!
//! Each target runs for `RALPH_FUZZ_SECONDS` (2 if not set) and says its seed when it fails;
//! `RALPH_FUZZ_SEED` sets another one than the usual. For a long run: `RALPH_FUZZ_SECONDS=600 cargo test --test fuzz`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod mutate;
mod plugins;
mod rpc;

use std::time::{Duration, Instant, SystemTime};

use mutate::Mutator;
use ralph_config::Source;
use ralph_engine::claim::{self, Tokens};
use ralph_engine::tasks::TaskFile;
use ralph_engine::template::Template;
use ralph_engine::types::TaskState;
use ralph_engine::{Fact, State};
use ralph_tests::Project;

/// One input that takes longer hangs, also on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn seconds() -> u64 {
    let set = std::env::var("RALPH_FUZZ_SECONDS").ok();
    set.and_then(|s| s.parse().ok()).unwrap_or(2)
}

/// Feeds spoilt copies of `corpus` to `check` until the time is over.
fn fuzz(name: &str, corpus: &[&[u8]], words: &[&str], mut check: impl FnMut(&[u8])) {
    let set = std::env::var("RALPH_FUZZ_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    // The same each time, so that whoever changed nothing breaks nothing.
    let seed = set.unwrap_or(0x5eed);
    eprintln!("{name}: seed {seed}");
    let mut mutator = Mutator::new(seed, corpus, words);
    let end = Instant::now() + Duration::from_secs(seconds());
    let mut count = 0_u64;
    while Instant::now() < end {
        let input = mutator.next();
        let told = Told(&input);
        let begun = Instant::now();
        check(&input);
        assert!(
            begun.elapsed() < PATIENCE,
            "{name}: it took {:?}",
            begun.elapsed()
        );
        std::mem::forget(told);
        count += 1;
    }
    eprintln!("{name}: {count} inputs");
    assert!(count > 0);
}

/// Says the input when a check panics.
struct Told<'a>(&'a [u8]);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        eprintln!("the input was: {}", self.0.escape_ascii());
    }
}

const MARKDOWN: &[u8] = "\u{feff}# Plan\r\n\r\n## Tasks\r\n\r\n- [ ] One `x` é (Depends on: T2)\r\n  - acceptance\r\n    - [ ] nested\r\n- [x] **T2: Two**\r\n- [-] Three\r\n- [~] Four\r\n1. [ ] Five\r\n\r\n```md\r\n- [ ] not one\r\n```\r\n\r\n## Success criteria\r\n- [ ] all\r\n".as_bytes();
const JSON: &[u8] = br#"{ "projectName": "p", "userStories": [
  {"id": "US-001", "title": "a \u00e9\ud83d\ude00", "description": "d", "acceptanceCriteria": ["x", "y"], "priority": 1, "passes": false, "notes": "", "extra": [1, {"z": null}]},
  {"id": "US-002", "title": "b", "acceptanceCriteria": [], "priority": 2.5e0, "passes": true, "dependsOn": ["US-001"]} ] }
"#;
const JSON_PY: &[u8] = br#"{"tasks":[{"id":1,"title":"t","done":false,"priority":"high","acceptance":["a"],"depends_on":[2]},{"id":2,"title":"u","status":"done","passes":true}]}"#;
const YAML: &[u8] = b"# plan\ntasks:\n  - id: T1   # first\n    title: 'One: \"quoted\"'\n    acceptance:\n      - a\n      - b\n    depends_on: [T2]\n  - {id: T2, title: Two, completed: true}\n  - id: T3\n    title: |\n      block\n      text\n    blocked: false\n";
const TOML: &[u8] = include_bytes!("../../../ralph.toml.example");

fn task_file(name: &str, corpus: &[&[u8]], words: &[&str]) {
    fuzz(name, corpus, words, |bytes| {
        let Ok(file) = TaskFile::parse(name, bytes) else {
            return;
        };
        assert_eq!(file.bytes(), bytes);
        let ids: Vec<(String, TaskState)> = file
            .entries()
            .iter()
            .map(|e| (e.task.id.clone(), e.state))
            .take(4)
            .collect();
        for (id, _) in &ids {
            for to in [TaskState::Done, TaskState::Open, TaskState::Blocked] {
                let Ok(changed) = file.set_state(id, to) else {
                    continue;
                };
                let again = TaskFile::parse_known(name, &changed, file.ids())
                    .unwrap_or_else(|e| panic!("{id} {to:?}: {e}: {}", changed.escape_ascii()));
                let now = again.get(id).map(|e| e.state);
                assert_eq!(now, Some(to), "{id}: {}", changed.escape_ascii());
                for (other, was) in ids.iter().filter(|(other, _)| other != id) {
                    let now = again.get(other).map(|e| e.state);
                    assert_eq!(now, Some(*was), "{other}: {}", changed.escape_ascii());
                }
            }
        }
    });
}

#[test]
fn markdown_task_files() {
    let words = [
        "- [ ] ",
        "- [x] ",
        "* [-] ",
        "1. [ ]",
        "```",
        "~~~",
        "\t",
        "\r",
        "Depends on: ",
        "T1",
        "    ",
        "## ",
        "---\n",
        "\u{feff}",
        "> ",
        "<!--",
        "-->",
    ];
    task_file("PRD.md", &[MARKDOWN], &words);
}

#[test]
fn json_task_files() {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"passes\"",
        "true",
        "false",
        "null",
        "\"id\"",
        "\"userStories\"",
        "\\u",
        "\\ud83d",
        "1e999",
        "-0",
        "\"status\"",
        "\"depends_on\"",
    ];
    task_file("prd.json", &[JSON, JSON_PY], &words);
}

#[test]
fn yaml_task_files() {
    let words = [
        "- ",
        ": ",
        "  ",
        "\n  - id: ",
        "&a ",
        "*a",
        "<<: ",
        "|",
        ">-",
        "!!str ",
        "---\n",
        "...\n",
        "{",
        "}",
        "[",
        "]",
        "#",
        "'",
        "\"",
        "completed: true",
        "\t",
        "? ",
    ];
    task_file("tasks.yaml", &[YAML], &words);
}

#[test]
fn configurations() {
    let words = [
        "[",
        "]",
        "[[",
        "=",
        "\"",
        "'''",
        "\"\"\"",
        "loop",
        "agents",
        "gates",
        "plugins",
        ".",
        "\n",
        "1h",
        "999999999999999999999",
        "inf",
        "2026-01-01",
        "#",
        "{",
        "}",
    ];
    fuzz(
        "ralph.toml",
        &[
            TOML,
            b"[loop]\nagent = 'codex'\n[[gates]]\nname = 'a'\nrun = ['x']\n",
        ],
        &words,
        |bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let source = Source {
                name: "ralph.toml".into(),
                text,
            };
            if let Err(e) = ralph_config::load(&[source]) {
                let said = e.to_string();
                assert!(!said.is_empty() && !said.contains('\u{1b}'), "{said:?}");
            }
        },
    );
}

/// Of a real run, in which something of everything happened.
#[test]
fn journal_lines() {
    let p = Project::build()
        .gate("second-time", "[ $(count gate) -gt 1 ]")
        .other_agent("rules", "cat >/dev/null; echo 'JUDGE_SIGNAL: true'\n")
        .toml("[judge]\nenabled = true\nagent = \"rules\"\n")
        .ready();
    p.run(&["run"]).expect(0);
    let journal = p.bytes(".ralph/journal.jsonl");
    let lines: Vec<&[u8]> = journal
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .collect();
    let words = [
        "{",
        "}",
        ":",
        ",",
        "\"fact\"",
        "null",
        "\"prev\"",
        "-1",
        "18446744073709551615",
        "\"iteration_ended\"",
        "\"accepted\"",
    ];
    let mut state = State::default();
    let mut folded = 0;
    fuzz("journal", &lines, &words, |bytes| {
        let Ok(fact) = serde_json::from_slice::<Fact>(bytes) else {
            return;
        };
        let before = state.clone();
        if state.apply(&fact).is_err() {
            // Refused is refused whole or not at all; either way the loop can say what is next.
            state = before;
        }
        let _ = state.next();
        folded += 1;
        if folded % 64 == 0 {
            state = State::default();
        }
    });
}

#[test]
fn claims_and_templates() {
    let words = [
        "EXIT_SIGNAL: true",
        "EXIT_SIGNAL: false",
        "<promise>COMPLETE</promise>",
        "```",
        "> ",
        "**",
        "\u{1b}[31m",
        "\u{9b}",
        "?",
    ];
    fuzz(
        "claims",
        &[
            b"did it\n\n**EXIT_SIGNAL: true**\n",
            b"> EXIT_SIGNAL: true\n```\nx\n```\n",
        ],
        &words,
        |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let _ = (
                claim::read(&text, &Tokens::default()),
                claim::question(&text),
            );
        },
    );
    let words = [
        "{{",
        "}}",
        "{%",
        "%}",
        "for",
        "if",
        "endfor",
        "endif",
        "notes",
        "task",
        "|",
        "range(99999)",
        "set x =",
        "macro",
        "include",
        ".",
    ];
    fuzz(
        "templates",
        &[b"{{ header }}\n{% for n in notes %}{{ n.from }}{% endfor %}\n{{ ending }}"],
        &words,
        |bytes| {
            if let Err(e) = Template::parse(&String::from_utf8_lossy(bytes)) {
                assert!(!e.message.is_empty());
            }
        },
    );
}

#[test]
fn verdicts() {
    use ralph_plugins::{CallContext, Grants, Host, HostOptions, Kind, Limits, Plugin, builtin};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let plugin = runtime.block_on(async {
        let host = Host::new(HostOptions::default()).unwrap();
        let judge = builtin(Kind::Judge, "judge").unwrap().bytes();
        let component = host.load("judge", "built in", judge).await.unwrap();
        Plugin::bind(
            component,
            "judge",
            Kind::Judge,
            Grants::default(),
            Limits::default(),
        )
        .unwrap()
    });
    let ctx = CallContext {
        services: std::sync::Arc::new(mutate::Nothing),
        config: "{}".into(),
        root: None,
        now: SystemTime::UNIX_EPOCH,
        seed: "fuzz".into(),
    };
    let words = [
        "```json",
        "```",
        "{",
        "}",
        "\"verdict\"",
        "\"pass\"",
        "\"fail\"",
        "JUDGE_SIGNAL: true",
        "JUDGE_SIGNAL: false",
        "SHIP",
        "BLOCK",
        "\\u0000",
        "\u{feff}",
        "\"findings\"",
    ];
    fuzz("verdicts", &[b"I looked.\n```json\n{\"verdict\": \"pass\", \"reason\": \"ok\", \"findings\": [{\"path\": \"a\", \"line\": 3, \"message\": \"m\"}]}\n```\n", b"fine\nJUDGE_SIGNAL: true\n"], &words, |bytes| {
        let answer = String::from_utf8_lossy(bytes);
        // A refusal is what an answer that can't be read comes to; a trap is not.
        if let Err(e) = runtime.block_on(plugin.judge_decide(&ctx, &answer)) {
            let said = e.to_string();
            assert!(!said.contains("trap") && !said.contains("unreachable"), "{said}");
        }
    });
}
