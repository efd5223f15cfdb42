//! Hooks, identity, locks, time: what stands between a snapshot and its commit.

use std::time::{Duration, Instant};

use ralph_workspace::{Commit, GitError};

use crate::support::TestRepo;

async fn refused(repo: &TestRepo) -> String {
    let base = repo.snap().await;
    repo.put("work", format!("{:?}", Instant::now()));
    let now = repo.snap().await;
    let head = repo.sh(&["rev-parse", "HEAD"]);
    let outcome = repo.try_commit(&base, &now).await.unwrap();
    assert_eq!(repo.sh(&["rev-parse", "HEAD"]), head);
    match outcome {
        Commit::HookRefused { output } => output,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refusing_hook_is_heard_once_and_leaves_the_index_alone() {
    for (name, dirty) in [
        ("pre-commit", false),
        ("pre-commit", true),
        ("commit-msg", false),
        ("prepare-commit-msg", true),
    ] {
        let repo = TestRepo::new();
        if dirty {
            repo.put("users", "u");
        }
        repo.hook(
            name,
            "echo x >> .git/calls; echo 'line 3: bad style'; echo more >&2; exit 1",
        );
        let output = refused(&repo).await;
        assert!(
            output.contains("line 3: bad style") && output.contains("more"),
            "{name}: {output}"
        );
        assert_eq!(repo.get(".git/calls"), "x\n", "{name}");
        let mut expected = vec!["?? work".to_owned()];
        if dirty {
            expected.insert(0, "?? users".to_owned());
        }
        assert_eq!(repo.status(), expected, "{name}");
    }
}

#[tokio::test]
async fn a_hook_may_be_asked_again_after_the_next_attempt() {
    let repo = TestRepo::new();
    repo.hook("pre-commit", "grep -q good work");
    let base = repo.snap().await;
    repo.put("work", "bad");
    let now = repo.snap().await;
    assert!(matches!(
        repo.try_commit(&base, &now).await.unwrap(),
        Commit::HookRefused { .. }
    ));
    // The same snapshot once more, now without the kept index.
    assert!(matches!(
        repo.try_commit(&base, &now).await.unwrap(),
        Commit::HookRefused { .. }
    ));
    repo.put("work", "good");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["A work"]);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn a_hook_that_edits_and_adds_gets_its_edit_committed() {
    for dirty in [false, true] {
        let repo = TestRepo::new();
        if dirty {
            repo.put("users", "u");
        }
        repo.hook(
            "pre-commit",
            "echo formatted > work; echo 1 > generated; git add work generated",
        );
        let base = repo.snap().await;
        repo.put("work", "raw");
        let now = repo.snap().await;
        let sha = repo.commit(&base, &now).await;
        assert_eq!(repo.committed(&sha), ["A generated", "A work"]);
        assert_eq!(repo.show("HEAD:work"), "formatted\n");
        assert_eq!(repo.status(), if dirty { vec!["?? users"] } else { vec![] });
    }
}

#[tokio::test]
async fn a_hook_that_edits_without_adding_leaves_its_edit_in_the_working_tree() {
    let repo = TestRepo::new();
    repo.hook("pre-commit", "echo formatted > work");
    let base = repo.snap().await;
    repo.put("work", "raw");
    let now = repo.snap().await;
    repo.commit(&base, &now).await;
    assert_eq!(repo.show("HEAD:work"), "raw");
    assert_eq!(repo.status(), [" M work"]);
}

#[tokio::test]
async fn a_hook_runs_in_the_users_locale_and_sees_the_pending_commit() {
    let repo = TestRepo::new();
    let script = "git diff --cached --name-only > .git/seen; echo \"${LC_ALL-unset}\" >> .git/seen";
    repo.hook("pre-commit", script);
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.commit(&base, &now).await;
    let locale = std::env::var("LC_ALL").unwrap_or_else(|_| "unset".into());
    assert_eq!(repo.get(".git/seen"), format!("work\n{locale}\n"));
}

#[tokio::test]
async fn a_background_process_left_by_a_hook_does_not_hold_the_commit_up() {
    let repo = TestRepo::new();
    repo.hook("post-commit", "sleep 30 & echo $! > .git/pid");
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    let begun = Instant::now();
    repo.commit(&base, &now).await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    let _ = std::process::Command::new("kill")
        .arg(repo.get(".git/pid").trim())
        .status();
}

#[tokio::test]
async fn a_hook_that_hangs_is_ended_with_its_children() {
    let repo = TestRepo::new();
    repo.hook("pre-commit", "sleep 61 & echo $! > .git/pid; wait");
    let git = repo.git.with_time_limit(Duration::from_secs(5));
    let base = repo.git.snapshot().await.unwrap();
    repo.put("work", "1");
    let now = repo.git.snapshot().await.unwrap();
    let error = git.commit(&base, &now, &[], "m", "1").await.unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    let pid = repo.get(".git/pid").trim().to_owned();
    for _ in 0..3000 {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if state.is_empty() || state.contains(") Z ") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the hook's child {pid} lives on");
}

/// Runs one of the helpers below in a process with other variables.
fn helper(name: &str, root: &std::path::Path, env: &[(&str, &std::path::Path)]) -> String {
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("hooks::{name}"), "--nocapture"])
        .env("RALPH_TEST_ROOT", root)
        .env_remove("EMAIL")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[tokio::test]
async fn without_a_name_to_commit_as_gits_own_advice_is_passed_on() {
    let repo = TestRepo::new();
    repo.sh(&["config", "--unset", "user.email"]);
    repo.sh(&["config", "user.useConfigOnly", "true"]);
    let nothing = std::path::Path::new("/dev/null");
    let env = [
        ("GIT_CONFIG_GLOBAL", nothing),
        ("GIT_CONFIG_SYSTEM", nothing),
    ];
    let text = helper("helper_that_commits", repo.ws.root(), &env);
    assert!(text.contains("error: NoIdentity"), "{text}");
    assert!(text.contains("git config --global user.email"), "{text}");
    assert_eq!(repo.status(), ["?? work"]);
}

/// Started as a helper by the test above; on its own it does nothing.
#[tokio::test]
async fn helper_that_commits() {
    let Ok(root) = std::env::var("RALPH_TEST_ROOT") else {
        return;
    };
    let ws = ralph_workspace::Workspace::open(root.as_ref()).unwrap();
    let git = ralph_workspace::Git::open(&ws).unwrap();
    let base = git.snapshot().await.unwrap();
    ws.write("work", b"1").unwrap();
    let now = git.snapshot().await.unwrap();
    let error = git.commit(&base, &now, &[], "m", "1").await.unwrap_err();
    println!("\nerror: {error:?}\n{error}");
}

#[tokio::test]
async fn a_commit_that_is_given_up_asks_git_to_end_and_leaves_nothing_behind() {
    let repo = TestRepo::new();
    let script = "trap 'echo asked > .git/term; exit 1' TERM; echo > .git/on; sleep 61 & wait";
    repo.hook("pre-commit", script);
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    {
        let commit = repo.try_commit(&base, &now);
        tokio::pin!(commit);
        while !repo.path(".git/on").exists() {
            let step = tokio::time::timeout(Duration::from_millis(20), &mut commit).await;
            assert!(step.is_err(), "{step:?}");
        }
    }
    assert_eq!(repo.get(".git/term"), "asked\n");
    assert_eq!(
        std::fs::read_dir(repo.path(".git/ralph")).unwrap().count(),
        0
    );
    repo.rm(".git/hooks/pre-commit");
    repo.commit(&base, &now).await;
}

#[tokio::test]
async fn a_lock_that_goes_away_is_waited_for() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    for name in ["index.lock", "HEAD.lock"] {
        let lock = repo.path(".git").join(name);
        std::fs::write(&lock, "").unwrap();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            std::fs::remove_file(lock).unwrap();
        });
        let sha = repo.commit(&base, &now).await;
        other.join().unwrap();
        assert_eq!(repo.committed(&sha), ["A work"]);
        repo.sh(&["reset", "-q", "--soft", "HEAD^"]);
        repo.sh(&["reset", "-q"]);
    }
}

#[tokio::test]
async fn a_lock_that_stays_is_named_and_nothing_is_committed() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    for name in ["index.lock", "HEAD.lock"] {
        repo.put(&format!(".git/{name}"), "");
        let error = repo.try_commit(&base, &now).await.unwrap_err();
        let GitError::Locked { path, .. } = &error else {
            panic!("{error}")
        };
        assert!(path.ends_with(name), "{error}");
        repo.rm(&format!(".git/{name}"));
        assert_eq!(
            repo.sh(&["rev-parse", "HEAD"]).trim(),
            base.head.as_deref().unwrap()
        );
    }
}

#[tokio::test]
async fn an_index_that_the_user_changed_meanwhile_is_not_replaced() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.put("users", "u");
    repo.sh(&["add", "users"]);
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["A work"]);
    assert_eq!(repo.status(), ["A  users"]);
}

#[tokio::test]
async fn variables_of_a_hook_that_ralph_runs_in_lead_nowhere_else() {
    // The variables are set for a helper process only: this one's are shared by all tests.
    let repo = TestRepo::new();
    let other = TestRepo::new();
    let (dir, index) = (other.path(".git"), other.path(".git/index"));
    let env = [
        ("GIT_DIR", dir.as_path()),
        ("GIT_WORK_TREE", other.ws.root()),
        ("GIT_INDEX_FILE", index.as_path()),
        ("GIT_LITERAL_PATHSPECS", std::path::Path::new("1")),
    ];
    let text = helper("helper_that_takes_a_snapshot", repo.ws.root(), &env);
    assert!(text.contains("changed: work Added"), "{text}");
}

/// Started again as a helper by the test above; on its own it does nothing.
#[tokio::test]
async fn helper_that_takes_a_snapshot() {
    let Ok(root) = std::env::var("RALPH_TEST_ROOT") else {
        return;
    };
    let ws = ralph_workspace::Workspace::open(root.as_ref()).unwrap();
    let git = ralph_workspace::Git::open(&ws).unwrap();
    let base = git.snapshot().await.unwrap();
    ws.write("work", b"1").unwrap();
    let now = git.snapshot().await.unwrap();
    let changes = git.changes(&base, &now, &[]).await.unwrap();
    println!("\nchanged: {}", crate::support::kinds(&changes).join(","));
}
