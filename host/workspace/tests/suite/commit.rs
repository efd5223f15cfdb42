//! Commits: what is in them, how often they are made, on top of what.

use ralph_workspace::{Commit, Git, GitError};

use crate::support::{TEN, TestRepo};

#[tokio::test]
async fn a_commit_on_a_clean_base_costs_one_process_and_leaves_a_clean_tree() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", "work");
    repo.rm("b.txt");
    repo.put("new/file", "new");
    let now = repo.snap().await;
    let before = repo.git.processes_started();
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.git.processes_started(), before + 1);
    assert_eq!(repo.committed(&sha), ["M a.txt", "D b.txt", "A new/file"]);
    assert_eq!(repo.status(), Vec::<String>::new());
    // The index that was put in place says so to the next snapshot as well.
    let after = repo.snap().await;
    assert!(after.clean && after.head.as_deref() == Some(&sha));
    assert_eq!(
        std::fs::read_dir(repo.path(".git/ralph")).unwrap().count(),
        0
    );
    repo.sh(&["fsck", "--strict"]);
}

#[tokio::test]
async fn the_extra_path_is_committed_as_it_is_by_then_and_costs_nothing_more_the_second_time() {
    let repo = TestRepo::new();
    let extra = ["PRD.md".to_owned()];
    repo.put("PRD.md", "- [ ] 1\n- [ ] 2\n");
    repo.commit_all("tasks");
    for (n, tasks) in ["- [x] 1\n- [ ] 2\n", "- [x] 1\n- [x] 2\n"]
        .into_iter()
        .enumerate()
    {
        let base = repo.snap().await;
        repo.put("work", n.to_string());
        let now = repo.snap().await;
        repo.put("PRD.md", tasks);
        let before = repo.git.processes_started();
        repo.git
            .commit(&base, &now, &extra, "m", &n.to_string())
            .await
            .unwrap();
        assert_eq!(
            repo.git.processes_started() - before,
            if n == 0 { 2 } else { 1 }
        );
        assert_eq!(repo.show("HEAD:PRD.md"), tasks);
        assert_eq!(repo.committed("HEAD").len(), 2);
        assert_eq!(repo.status(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn an_extra_path_that_git_ignores_or_that_is_not_there_is_left_out() {
    let repo = TestRepo::new();
    repo.put(".gitignore", "PRD.md\n");
    repo.commit_all("ignore");
    let extra: Vec<String> = [
        "PRD.md",
        "absent",
        ".git/config",
        ".ralph/state.json",
        "../x",
        "-n",
        "dir",
    ]
    .map(Into::into)
    .into();
    for clean in [true, false] {
        repo.put("PRD.md", "- [ ] 1\n");
        repo.put("dir/x", clean.to_string());
        repo.commit_all("dir");
        if !clean {
            repo.put("users", "u");
        }
        let base = repo.snap().await;
        repo.put("work", clean.to_string());
        let now = repo.snap().await;
        repo.git
            .commit(&base, &now, &extra, "m", &clean.to_string())
            .await
            .unwrap();
        assert_eq!(
            repo.committed("HEAD"),
            [if clean { "A work" } else { "M work" }]
        );
    }
}

#[tokio::test]
async fn an_extra_path_that_is_no_longer_tracked_is_no_refusal_of_a_hook() {
    let repo = TestRepo::new();
    let extra = ["PRD.md".to_owned()];
    repo.put("PRD.md", "1");
    repo.commit_all("tasks");
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.git
        .commit(&base, &now, &extra, "m", "1")
        .await
        .unwrap();
    let base = repo.snap().await;
    repo.put(".gitignore", "PRD.md\n");
    repo.sh(&["rm", "-q", "--cached", "PRD.md"]);
    let now = repo.snap().await;
    repo.git
        .commit(&base, &now, &extra, "m", "2")
        .await
        .unwrap();
    assert_eq!(repo.committed("HEAD"), ["A .gitignore", "D PRD.md"]);
    assert_eq!(repo.get("PRD.md"), "1");
}

#[tokio::test]
async fn only_the_extra_path_changed_is_a_commit_and_nothing_changed_is_none() {
    let repo = TestRepo::new();
    let extra = ["PRD.md".to_owned()];
    repo.put("PRD.md", "1");
    repo.commit_all("tasks");
    let base = repo.snap().await;
    assert_eq!(
        repo.git
            .commit(&base, &base, &extra, "m", "1")
            .await
            .unwrap(),
        Commit::Nothing
    );
    assert_eq!(
        repo.git.commit(&base, &base, &[], "m", "1").await.unwrap(),
        Commit::Nothing
    );
    repo.put("PRD.md", "2");
    let done = repo
        .git
        .commit(&base, &base, &extra, "m", "1")
        .await
        .unwrap();
    assert!(matches!(done, Commit::Done { .. }));
    assert_eq!(repo.committed("HEAD"), ["M PRD.md"]);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn a_kept_snapshot_whose_extra_went_back_is_nothing_to_commit() {
    let repo = TestRepo::new();
    let extra = ["PRD.md".to_owned()];
    repo.put("PRD.md", "1");
    repo.commit_all("tasks");
    let base = repo.snap().await;
    repo.put("PRD.md", "2");
    let now = repo.snap().await;
    repo.put("PRD.md", "1");
    assert_eq!(
        repo.git
            .commit(&base, &now, &extra, "m", "1")
            .await
            .unwrap(),
        Commit::Nothing
    );
}

#[tokio::test]
async fn what_was_judged_is_committed_and_not_what_came_after() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", "judged");
    let now = repo.snap().await;
    repo.put("a.txt", "later");
    repo.put("stray", "later");
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M a.txt"]);
    assert_eq!(repo.show("HEAD:a.txt"), "judged");
    assert_eq!(repo.status(), [" M a.txt", "?? stray"]);
}

#[tokio::test]
async fn the_message_carries_the_attempt_and_is_taken_literally() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    let subject = "--amend `x` $(touch pwned) \"q\" 'q' ; | & > ünï";
    let message = format!("{subject}\n\n# kept\nbody\n\nRefs: #1");
    repo.git
        .commit(&base, &now, &[], &message, "r-1/T 1/2")
        .await
        .unwrap();
    let text = repo.sh(&["log", "-1", "--format=%B"]);
    assert_eq!(
        text.trim_end(),
        format!("{message}\nRalph-Attempt: r-1/T 1/2")
    );
    assert!(!repo.path("pwned").exists());
}

#[tokio::test]
async fn a_second_call_for_the_same_attempt_finds_the_first_ones_commit() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    // As a new process would after a crash, also with the index not yet brought up to date.
    repo.sh(&["read-tree", base.head.as_ref().unwrap()]);
    assert_eq!(repo.status(), ["D  work", "?? work"]);
    let again = Git::open(&repo.ws).unwrap();
    let second = again
        .commit(&base, &now, &[], "work", "run-1/1")
        .await
        .unwrap();
    assert_eq!(second, Commit::Done { sha: sha.clone() });
    assert_eq!(repo.status(), Vec::<String>::new());
    assert_eq!(
        again.find_commit("run-1/1", None).await.unwrap().as_deref(),
        Some(&*sha)
    );
    assert_eq!(
        again
            .find_commit("run-1/1", base.head.as_deref())
            .await
            .unwrap()
            .as_deref(),
        Some(&*sha)
    );
    assert_eq!(
        again.find_commit("run-1/1", Some(&sha)).await.unwrap(),
        None
    );
    assert_eq!(again.find_commit("run-1/11", None).await.unwrap(), None);
    assert_eq!(again.find_commit("run-1", None).await.unwrap(), None);
}

#[tokio::test]
async fn an_attempt_named_in_the_body_is_not_its_commit() {
    let repo = TestRepo::empty();
    assert_eq!(repo.git.find_commit("1", None).await.unwrap(), None);
    repo.put("x", "1");
    repo.sh(&["add", "-A"]);
    repo.sh(&[
        "commit",
        "-qm",
        "s\n\nRalph-Attempt: 1\nand prose\n\nlast paragraph",
    ]);
    assert_eq!(repo.git.find_commit("1", None).await.unwrap(), None);
}

#[tokio::test]
async fn after_a_crash_the_commit_is_made_from_the_snapshots_alone() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", "work");
    repo.put("dir/new", "n");
    repo.rm("b.txt");
    repo.chmod("a.txt", 0o755);
    repo.link("a.txt", "link");
    let now = repo.snap().await;
    let fresh = Git::open(&repo.ws).unwrap();
    let done = fresh.commit(&base, &now, &[], "work", "1").await.unwrap();
    assert!(matches!(done, Commit::Done { .. }));
    assert_eq!(repo.sh(&["rev-parse", "HEAD^{tree}"]).trim(), now.tree);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_agent_left_is_committed_on_top_of_what_it_committed() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", TEN.replace('3', "three"));
    repo.put("own", "1");
    repo.commit_all("the agent's own");
    let agents = repo.sh(&["rev-parse", "HEAD"]).trim().to_owned();
    repo.put("a.txt", TEN.replace('3', "THREE"));
    repo.rm("own");
    repo.put("b.txt", "left");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M a.txt", "M b.txt", "D own"]);
    assert_eq!(repo.sh(&["rev-parse", "HEAD^"]).trim(), agents);
    assert_eq!(repo.sh(&["rev-parse", "HEAD^{tree}"]).trim(), now.tree);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_that_committed_all_leaves_nothing_but_the_extra() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", "x");
    repo.commit_all("the agent's own");
    let now = repo.snap().await;
    assert!(now.clean);
    assert_eq!(repo.try_commit(&base, &now).await.unwrap(), Commit::Nothing);
    repo.put("PRD.md", "task");
    let extra = ["PRD.md".to_owned()];
    repo.git
        .commit(&base, &now, &extra, "m", "1")
        .await
        .unwrap();
    assert_eq!(repo.committed("HEAD"), ["A PRD.md"]);
}

#[tokio::test]
async fn a_commit_of_the_user_after_the_snapshot_is_built_upon() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", TEN.replace("9\n", "nine\n"));
    let now = repo.snap().await;
    repo.put("a.txt", TEN.replace("1\n2\n", "one\n2\n"));
    repo.sh(&["commit", "-qm", "user", "a.txt"]);
    repo.commit(&base, &now).await;
    assert_eq!(
        repo.show("HEAD:a.txt"),
        TEN.replace("1\n2\n", "one\n2\n").replace("9\n", "nine\n")
    );
}

#[tokio::test]
async fn a_head_that_went_elsewhere_is_refused_and_both_places_are_named() {
    let repo = TestRepo::new();
    repo.put("c", "c");
    repo.commit_all("second");
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.sh(&["checkout", "-q", "-b", "x"]);
    let error = repo.try_commit(&base, &now).await.unwrap_err();
    assert!(matches!(error, GitError::HeadMoved { .. }), "{error}");
    assert!(
        error.to_string().contains("`main`") && error.to_string().contains("`x`"),
        "{error}"
    );
    repo.sh(&["checkout", "-q", "main"]);
    repo.sh(&["reset", "-q", "--soft", "HEAD^"]);
    let error = repo.try_commit(&base, &now).await.unwrap_err();
    assert!(matches!(error, GitError::HeadMoved { .. }), "{error}");
}

#[tokio::test]
async fn an_unfinished_merge_is_not_committed_along() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.put(
        ".git/MERGE_HEAD",
        format!("{}\n", base.head.as_ref().unwrap()),
    );
    let error = repo.try_commit(&base, &now).await.unwrap_err();
    assert!(matches!(error, GitError::InProgress { .. }), "{error}");
    assert!(error.to_string().contains("a merge"), "{error}");
}

#[tokio::test]
async fn packed_refs_are_read() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.sh(&["pack-refs", "--all"]);
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.commit(&base, &now).await;
}

#[tokio::test]
async fn the_futures_may_move_between_threads() {
    let repo = TestRepo::new();
    let git = repo.git.clone();
    let task = tokio::spawn(async move {
        let base = git.snapshot().await?;
        git.changes(&base, &base, &[]).await?;
        git.diff(&base, &base, &[], 1).await?;
        git.commit(&base, &base, &[], "m", "1").await?;
        git.find_commit("1", None).await
    });
    assert_eq!(task.await.unwrap().unwrap(), None);
}
