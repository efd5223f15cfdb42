#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use ralph_plugin::Role;
use ralph_plugin::testing::{Host, Record, iteration};

struct Sandbox {
    dir: tempfile::TempDir,
    it: Iteration,
}

fn sandbox(script: &str) -> Sandbox {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("script.toml"), script).unwrap();
    let mut it = iteration();
    it.workspace = dir.path().to_str().unwrap().into();
    Sandbox { dir, it }
}

impl Sandbox {
    fn run(&self, prompt: &str) -> (Outcome, Record) {
        let (outcome, record) = Host::new().run(|| Scripted::run(&self.it, prompt));
        (outcome.unwrap(), record)
    }
    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).unwrap()
    }
}

fn failure(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed(m) => m,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_step_edits_talks_and_reports_as_an_agent_would() {
    let s = sandbox(
        r#"
        [[step]]
        task = "T1"
        say = "First\nsecond"
        answer = "All done."
        [[step.edit]]
        path = "src/deep/a.sh"
        write = "echo old\n"
        [[step.edit]]
        path = "src/deep/a.sh"
        replace = "old"
        with = "new"
        [[step.edit]]
        path = "notes"
        append = "one\n"
        [[step.edit]]
        path = "notes"
        append = "two\n"
        [[step.edit]]
        path = "gone"
        write = "x"
        [[step.edit]]
        path = "gone"
        delete = true
        "#,
    );
    let (outcome, record) = s.run("please do it");
    assert_eq!(outcome, Outcome::Finished("All done.".into()));
    assert_eq!(
        (s.read("src/deep/a.sh"), s.read("notes")),
        ("echo new\n".into(), "one\ntwo\n".into())
    );
    assert!(!s.dir.path().join("gone").exists());
    assert_eq!(record.events[0], Event::Text("First".into()));
    assert_eq!(record.events[1], Event::Text("second".into()));
    assert_eq!(
        record.events[2],
        Event::ToolUse("edit src/deep/a.sh".into())
    );
    let [.., Event::Text(last), Event::Usage(usage)] = &record.events[..] else {
        panic!()
    };
    assert_eq!(last, "All done.");
    assert_eq!((usage.input_tokens, usage.output_tokens), (3, 4));
}

#[test]
fn the_first_step_that_matches_is_performed() {
    let mut s = sandbox(
        r#"
        step = [
          { task = "T1", attempt = 1, say = "first try" },
          { task = "T1", prompt_contains = "gate says no", say = "second try" },
          { role = "judge", say = "JUDGE_SIGNAL: true" },
          { role = "review", task = "T2", say = "SHIP" },
        ]"#,
    );
    let says = |s: &Sandbox, prompt: &str| match s.run(prompt).0 {
        Outcome::Finished(text) => text,
        Outcome::Failed(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(says(&s, "go"), "first try");
    s.it.attempt = 2;
    assert_eq!(says(&s, "the gate says no"), "second try");
    assert_eq!(
        says(&s, "go"),
        "`script.toml` has no step for role work, task T1, attempt 2; \
         one would fit if the prompt held \"gate says no\""
    );
    s.it.role = Role::Judge;
    assert_eq!(says(&s, ""), "JUDGE_SIGNAL: true");
    s.it.role = Role::Review;
    assert_eq!(
        says(&s, ""),
        "`script.toml` has no step for role review, task T1, attempt 2"
    );
}

#[test]
fn paths_that_leave_the_workspace_or_touch_records_are_refused_before_any_edit() {
    for (path, why) in [
        ("/etc/passwd", "must be relative"),
        ("../x", "must not contain `..`"),
        ("a/../../x", "must not contain `..`"),
        (".git/config", "is below .git"),
        ("sub/.Git/hooks/pre-commit", "is below .git"),
        (".ralph/journal.jsonl", "is below .ralph"),
        ("./.ralph/state.json", "is below .ralph"),
        ("", "names no file"),
        (".", "names no file"),
        ("dir/", "names no file"),
        ("link/x", "leads through a link"),
        ("filelink", "leads through a link"),
    ] {
        let s = sandbox(&format!(
            "[[step]]\nedit = [{{path='ok',write='x'}}, {{path='{path}',write='x'}}]"
        ));
        std::fs::create_dir(s.dir.path().join(".git")).unwrap();
        std::os::unix::fs::symlink(".git", s.dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(".git/x", s.dir.path().join("filelink")).unwrap();
        let (outcome, _) = s.run("");
        assert_eq!(failure(&outcome), format!("`{path}` {why}"));
        assert!(
            !s.dir.path().join("ok").exists(),
            "{path}: edited all the same"
        );
        assert!(!s.dir.path().join(".git/x").exists());
    }
}

#[test]
fn a_replacement_needs_exactly_one_occurrence() {
    for (content, why) in [
        ("none", "`f` does not hold the text to replace: \"old\""),
        ("old old", "`f` holds the text to replace 2 times: \"old\""),
    ] {
        let s = sandbox("[[step]]\nedit = [{path='f',replace='old',with='new'}]");
        std::fs::write(s.dir.path().join("f"), content).unwrap();
        let (outcome, record) = s.run("");
        assert_eq!(failure(&outcome), why);
        assert_eq!(s.read("f"), content);
        assert!(matches!(record.events.last(), Some(Event::Usage(_))));
    }
    let s = sandbox("[[step]]\nedit = [{path='f',replace='old',with='new'}]");
    assert!(failure(&s.run("").0).starts_with("can't read `f`"));
}

#[test]
fn a_stop_ends_it_between_two_edits() {
    let s = sandbox("[[step]]\nedit = [{path='a',write='x'}, {path='b',write='x'}]");
    // The first edit emits two events.
    let (outcome, _) = Host::new().stop_after(2).run(|| Scripted::run(&s.it, ""));
    assert_eq!(outcome.unwrap(), Outcome::Interrupted);
    assert!(s.dir.path().join("a").exists() && !s.dir.path().join("b").exists());
}

#[test]
fn each_outcome_can_be_played() {
    for (key, expected) in [
        ("finished", Outcome::Finished("w".into())),
        (
            "limited",
            Outcome::Limited(Limit {
                message: "w".into(),
                resets_at: Some("2030".into()),
            }),
        ),
        ("unauthenticated", Outcome::Unauthenticated("w".into())),
        ("failed", Outcome::Failed("w".into())),
    ] {
        let s = sandbox(&format!(
            "[[step]]\nsay='w'\noutcome='{key}'\nresets_at='2030'"
        ));
        assert_eq!(s.run("").0, expected);
    }
}

#[test]
fn a_wrong_script_is_a_configuration_error_that_says_where() {
    for (script, part) in [
        ("[[step]]\nsya = 'x'", "unknown field `sya`"),
        (
            "[[step]]\n[[step.edit]]\npath='a'\nwrite='x'\nanswer='x'",
            "stand above its `[[step.edit]]`",
        ),
        ("[[step]]\nattempt = 'x'", "line 2"),
        (
            "[[step]]\nedit=[{path='a'}]",
            "step 1, edit of `a`: give exactly one of",
        ),
        (
            "[[step]]\nedit=[{path='a',write='x',delete=true}]",
            "give exactly one of",
        ),
        ("[[step]]\nedit=[{path='a',with='x'}]", "belong together"),
        (
            "[[step]]\nedit=[{path='a',replace='',with='x'}]",
            "`replace` is empty",
        ),
    ] {
        let s = sandbox(script);
        let (result, _) = Host::new().run(|| Scripted::run(&s.it, ""));
        match result {
            Err(Error::InvalidConfig(m)) => {
                assert!(
                    m.starts_with("`script`: `script.toml`: ") && m.contains(part),
                    "{m}"
                );
            }
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn a_script_that_is_not_there_names_the_key() {
    let s = sandbox("");
    for (config, part) in [
        (r#"{"script":"no.toml"}"#, "`script`: can't read `no.toml`"),
        (
            r#"{"script":"../no.toml"}"#,
            "`script`: `../no.toml` must not contain `..`",
        ),
        (r#"{"scirpt":"x"}"#, "unknown field `scirpt`"),
    ] {
        let (result, _) = Host::new().config(config).run(|| Scripted::run(&s.it, ""));
        match result {
            Err(Error::InvalidConfig(m)) => assert!(m.contains(part), "{m}"),
            other => panic!("{other:?}"),
        }
    }
}
