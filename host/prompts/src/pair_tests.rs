#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

const PATH: &str = "prompts/deep/a.yaml";
const OLD: (&str, &str) = ("old\n", "sha256:old\n");
const NEW: (&str, &str) = ("new and longer\n", "sha256:new\n");
const STEPS: [Step; 6] = [
    Step::Staged,
    Step::Intended,
    Step::Content,
    Step::Sidecar,
    Step::Synced,
    Step::Done,
];

fn pair(of: Option<(&str, &str)>) -> Pair {
    Pair {
        content: of.map(|of| of.0.as_bytes().to_vec()),
        sidecar: of.map(|of| of.1.as_bytes().to_vec()),
    }
}

fn workspace(before: Option<(&str, &str)>) -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let ws = Workspace::open(dir.path()).unwrap();
    ws.create_dir_all("prompts").unwrap();
    if let Some((content, sidecar)) = before {
        ws.write(PATH, content.as_bytes()).unwrap();
        ws.write(&format!("{PATH}{SIDECAR}"), sidecar.as_bytes())
            .unwrap();
    }
    (dir, ws)
}

fn make(
    ws: &Workspace,
    before: Option<(&str, &str)>,
    after: Option<(&str, &str)>,
    at: &mut dyn FnMut(Step),
) -> Result<bool, PromptError> {
    change(ws, PATH, &pair(before), after, &mut || Ok(()), at)
}

/// Run by the tests below in a process of its own, which it ends at the step that it is told.
#[test]
#[ignore = "is a part of other tests"]
fn child() {
    let Some(root) = std::env::var_os("PAIR_ROOT") else {
        return;
    };
    let step: usize = std::env::var("PAIR_STEP").unwrap().parse().unwrap();
    let words = std::env::var("PAIR_KIND").unwrap();
    let (before, after) = kind(&words);
    let ws = Workspace::open(Path::new(&root)).unwrap();
    make(&ws, before, after, &mut |at| {
        if at == STEPS[step] {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
                .unwrap();
        }
    })
    .unwrap();
    unreachable!("it should have been killed");
}

type Side = Option<(&'static str, &'static str)>;

fn kind(words: &str) -> (Side, Side) {
    match words {
        "create" => (None, Some(NEW)),
        "replace" => (Some(OLD), Some(NEW)),
        _ => (Some(OLD), None),
    }
}

fn killed_at(ws: &Workspace, words: &str, step: usize) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pair::tests::child", "--ignored", "--nocapture"])
        .env("PAIR_ROOT", ws.root())
        .env("PAIR_STEP", step.to_string())
        .env("PAIR_KIND", words)
        .output()
        .unwrap();
    assert_eq!(status.status.signal(), Some(9), "{status:?}");
}

#[test]
fn a_death_at_any_step_leaves_the_old_pair_or_what_repair_makes_the_new_one_of() {
    for words in ["create", "replace", "delete"] {
        let (before, after) = kind(words);
        for (step, at) in STEPS.iter().enumerate() {
            let (_dir, ws) = workspace(before);
            killed_at(&ws, words, step);
            let (now, cut_off) = read(&ws, PATH).unwrap();
            match at {
                Step::Staged => assert_eq!((&now, cut_off), (&pair(before), false), "{words}"),
                Step::Done => assert_eq!((&now, cut_off), (&pair(after), false), "{words}"),
                _ => assert!(cut_off, "{words} {at:?}"),
            }
            let mended = repair(&ws, None).unwrap();
            let want = if *at == Step::Staged { before } else { after };
            assert_eq!(
                read(&ws, PATH).unwrap(),
                (pair(want), false),
                "{words} {at:?}"
            );
            assert_eq!(
                mended.iter().any(|m| m.finished && m.path == PATH),
                cut_off,
                "{words} {at:?} {mended:?}"
            );
            assert_eq!(repair(&ws, None).unwrap(), [], "{words} {at:?}");
            let left = ws.list("prompts/deep").unwrap();
            assert_eq!(left.len(), if want.is_some() { 2 } else { 0 }, "{left:?}");
            // And the next edit goes on from there.
            assert!(make(&ws, want, Some(("x", "y")), &mut |_| ()).unwrap());
        }
    }
}

#[test]
fn what_somebody_wrote_after_a_death_is_not_overwritten() {
    for step in 1..5 {
        let (_dir, ws) = workspace(Some(OLD));
        killed_at(&ws, "replace", step);
        ws.write(PATH, b"by hand\n").unwrap();
        let mended = mend(&ws, PATH, None).unwrap().unwrap();
        assert!(!mended.finished, "{mended:?}");
        let (now, cut_off) = read(&ws, PATH).unwrap();
        assert_eq!(now.content.as_deref(), Some(&b"by hand\n"[..]));
        assert!(!cut_off);
    }
}

#[test]
fn an_intent_of_somebody_elses_making_leads_nowhere() {
    let (_dir, ws) = workspace(Some(OLD));
    ws.write("Makefile", b"all:\n").unwrap();
    let forged = |path: &str| {
        serde_json::to_vec(&Intent {
            schema: SCHEMA.into(),
            path: path.into(),
            content: Some("forged".into()),
            sidecar: None,
            content_before: Some(sha256_hex(b"all:\n")),
            sidecar_before: None,
        })
        .unwrap()
    };
    for path in ["Makefile", "prompts/../Makefile", "promptsx", "/etc/passwd"] {
        ws.write(&intent_path(path), &forged(path)).unwrap();
        let done = repair(&ws, None);
        let refused = done
            .as_ref()
            .map_or(true, |m| m.iter().all(|m| !m.finished));
        assert!(refused, "{path}: {done:?}");
        let _ = ws.remove_file(&intent_path(path));
    }
    ws.write(&format!("{EDITS}/00.json"), b"{").unwrap();
    assert_eq!(repair(&ws, None).unwrap().len(), 1);
    assert_eq!(ws.read("Makefile", 99).unwrap().unwrap(), b"all:\n");
    assert_eq!(read(&ws, PATH).unwrap(), (pair(Some(OLD)), false));
}

#[test]
fn nothing_changes_where_the_pair_is_not_as_it_was_or_the_audit_fails() {
    let (_dir, ws) = workspace(Some(OLD));
    assert!(!make(&ws, None, Some(NEW), &mut |_| ()).unwrap());
    let mut audit = || Err(PromptError::Audit("full".into()));
    let before = pair(Some(OLD));
    let refused = change(&ws, PATH, &before, Some(NEW), &mut audit, &mut |_| ());
    assert!(matches!(refused, Err(PromptError::Audit(_))));
    assert_eq!(read(&ws, PATH).unwrap(), (before, false));
    assert_eq!(ws.list("prompts/deep").unwrap(), ["a.yaml", "a.yaml.fp"]);
}

/// As soon as the lock can be had.
fn patiently<T>(mut work: impl FnMut() -> Result<T, PromptError>) -> T {
    loop {
        match work() {
            Err(PromptError::Guard(ralph_workspace::GuardError::Held { .. })) => {
                std::thread::yield_now();
            }
            done => return done.unwrap(),
        }
    }
}

#[test]
fn an_edit_that_is_mended_is_told_once_and_what_was_only_being_written_is_swept() {
    for (by_hand, finished) in [(false, true), (true, false)] {
        let (_dir, ws) = workspace(Some(OLD));
        killed_at(&ws, "replace", 2);
        if by_hand {
            ws.write(PATH, b"by hand\n").unwrap();
        }
        let stray = format!("{EDITS}/.ralph-tmp-1-1");
        std::fs::write(ws.root().join(&stray), b"half").unwrap();
        let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let hears = heard.clone();
        let root = ws.root().to_owned();
        let told: Told = std::sync::Arc::new(move |mended: &Mended| {
            // Whoever dies while it is told tells it again.
            assert!(root.join(intent_path(PATH)).exists());
            hears
                .lock()
                .unwrap()
                .push((mended.path.clone(), mended.finished));
        });
        let mended = repair(&ws, Some(&told)).unwrap();
        assert_eq!(*heard.lock().unwrap(), [(PATH.to_owned(), finished)]);
        assert!(mended.iter().any(|m| m.path == stray), "{mended:?}");
        assert!(!ws.root().join(&stray).exists());
        assert_eq!(repair(&ws, Some(&told)).unwrap(), []);
        assert_eq!(heard.lock().unwrap().len(), 1);
    }
}

#[test]
fn two_writers_at_once_and_a_reader_never_meet_half_of_a_pair() {
    let (_dir, ws) = workspace(Some(("0", "0")));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|who| {
                let ws = ws.clone();
                scope.spawn(move || {
                    let mut made = 0;
                    for n in 0.. {
                        if made == 20 {
                            break;
                        }
                        let (now, _) = patiently(|| read(&ws, PATH));
                        let text = format!("{who}-{n}");
                        let after = Some((text.as_str(), text.as_str()));
                        made += usize::from(patiently(|| {
                            change(&ws, PATH, &now, after, &mut || Ok(()), &mut |_| ())
                        }));
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let (now, cut_off) = patiently(|| read(&ws, PATH));
                assert_eq!(now.content, now.sidecar);
                assert!(!cut_off);
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
}
