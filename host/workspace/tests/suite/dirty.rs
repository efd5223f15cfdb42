//! The user's own work is neither committed nor changed.

use ralph_workspace::Commit;

use crate::support::{TEN, TestRepo};

/// Staged, modified, both, deleted, untracked: all but what the agent touches.
fn users_work(repo: &TestRepo) {
    for name in ["staged", "modified", "both", "deleted", "removed", "mode"] {
        repo.put(name, "old\n");
    }
    repo.commit_all("files");
    repo.put("staged", "users staged\n");
    repo.put("both", "users staged\n");
    repo.put("added", "users added\n");
    repo.sh(&["add", "staged", "both", "added"]);
    repo.put("both", "users more\n");
    repo.put("modified", "users modified\n");
    repo.rm("deleted");
    repo.sh(&["rm", "-q", "removed"]);
    repo.put("untracked/deep", "users untracked\n");
    repo.sh(&["add", "-N", "untracked/deep"]);
    repo.put("loose", "users loose\n");
    repo.chmod("mode", 0o755);
    repo.sh(&["stash", "list"]);
}

fn picture(repo: &TestRepo) -> (Vec<String>, String, String) {
    (
        repo.status(),
        repo.sh(&["diff", "--binary"]),
        repo.sh(&["diff", "--cached", "--binary"]),
    )
}

#[tokio::test]
async fn staged_modified_and_untracked_work_is_the_same_before_and_after() {
    let repo = TestRepo::new();
    users_work(&repo);
    let before = picture(&repo);
    let base = repo.snap().await;
    repo.put("a.txt", "work");
    repo.rm("b.txt");
    repo.put("new", "work");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M a.txt", "D b.txt", "A new"]);
    assert_eq!(picture(&repo), before);
    // And again, in the next iteration.
    let base = repo.snap().await;
    repo.put("new", "more");
    let now = repo.snap().await;
    let done = repo.git.commit(&base, &now, &[], "m", "2").await.unwrap();
    assert!(matches!(done, Commit::Done { .. }));
    assert_eq!(picture(&repo), before);
}

#[tokio::test]
async fn nothing_of_the_users_is_committed_when_the_agent_did_nothing() {
    let repo = TestRepo::new();
    users_work(&repo);
    let before = picture(&repo);
    let base = repo.snap().await;
    let now = repo.snap().await;
    assert_eq!(repo.try_commit(&base, &now).await.unwrap(), Commit::Nothing);
    assert_eq!(picture(&repo), before);
}

#[tokio::test]
async fn in_a_file_that_both_changed_only_the_agents_lines_are_committed() {
    let repo = TestRepo::new();
    let users = TEN.replace("1\n2\n", "users\n2\n");
    repo.put("a.txt", &users);
    let base = repo.snap().await;
    repo.put("a.txt", users.replace("9\n", "agents\n"));
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(
        repo.show(&format!("{sha}:a.txt")),
        TEN.replace("9\n", "agents\n")
    );
    assert_eq!(repo.get("a.txt"), users.replace("9\n", "agents\n"));
    assert_eq!(repo.status(), [" M a.txt"]);
    let left = repo.sh(&["diff", "--", "a.txt"]);
    assert!(
        left.contains("+users") && !left.contains("agents\n+"),
        "{left}"
    );
}

#[tokio::test]
async fn a_staged_version_of_a_file_that_the_agent_changed_stays_staged() {
    let repo = TestRepo::new();
    let users = TEN.replace("1\n2\n", "users\n2\n");
    repo.put("a.txt", &users);
    repo.sh(&["add", "a.txt"]);
    let base = repo.snap().await;
    repo.put("a.txt", users.replace("9\n", "agents\n"));
    let now = repo.snap().await;
    repo.commit(&base, &now).await;
    assert_eq!(repo.show(":a.txt"), users);
    assert_eq!(repo.show("HEAD:a.txt"), TEN.replace("9\n", "agents\n"));
}

#[tokio::test]
async fn what_cannot_be_told_apart_is_left_out_and_named_and_the_rest_is_committed() {
    let repo = TestRepo::new();
    repo.put("bin", b"\0\x01");
    repo.put("gone", "x\n");
    repo.commit_all("more");
    repo.put("a.txt", TEN.replace('5', "users"));
    repo.put("bin", b"\0\x02");
    repo.put("gone", "users\n");
    repo.put("untracked", "users\n");
    repo.put("removed-by-agent", "users\n");
    let base = repo.snap().await;
    repo.put("a.txt", TEN.replace('5', "agents"));
    repo.put("bin", b"\0\x03");
    repo.rm("gone");
    repo.put("untracked", "users\nagents\n");
    repo.rm("removed-by-agent");
    repo.put("b.txt", "agents\n");
    let now = repo.snap().await;
    let index = repo.sh(&["diff", "--cached"]);
    let Commit::Conflict {
        sha: Some(sha),
        paths,
    } = repo.try_commit(&base, &now).await.unwrap()
    else {
        panic!("no conflict");
    };
    assert_eq!(paths, ["a.txt", "bin", "gone", "untracked"]);
    assert_eq!(repo.committed(&sha), ["M b.txt"]);
    assert_eq!(repo.sh(&["diff", "--cached"]), index);
    assert_eq!(
        repo.status(),
        [" M a.txt", " M bin", " D gone", "?? untracked"]
    );
}

#[tokio::test]
async fn a_conflict_alone_commits_nothing() {
    let repo = TestRepo::new();
    repo.put("a.txt", TEN.replace('5', "users"));
    let base = repo.snap().await;
    repo.put("a.txt", TEN.replace('5', "agents"));
    let now = repo.snap().await;
    let outcome = repo.try_commit(&base, &now).await.unwrap();
    assert_eq!(
        outcome,
        Commit::Conflict {
            sha: None,
            paths: vec!["a.txt".into()]
        }
    );
    assert_eq!(repo.sh(&["rev-parse", "HEAD"]).trim(), base.head.unwrap());
}

#[tokio::test]
async fn an_agent_that_took_the_users_change_back_leaves_nothing_to_commit() {
    let repo = TestRepo::new();
    repo.put("a.txt", "users");
    let base = repo.snap().await;
    repo.put("a.txt", TEN);
    let now = repo.snap().await;
    assert_eq!(repo.try_commit(&base, &now).await.unwrap(), Commit::Nothing);
}

#[tokio::test]
async fn an_untracked_task_file_is_committed_whole_and_other_untracked_files_stay() {
    let repo = TestRepo::new();
    repo.put("PRD.md", "- [ ] 1\n");
    repo.put("notes", "users");
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    repo.put("PRD.md", "- [x] 1\n");
    let extra = ["PRD.md".to_owned()];
    repo.git
        .commit(&base, &now, &extra, "m", "1")
        .await
        .unwrap();
    assert_eq!(repo.committed("HEAD"), ["A PRD.md", "A work"]);
    assert_eq!(repo.status(), ["?? notes"]);
}

#[tokio::test]
async fn the_users_work_survives_in_a_repository_without_commits() {
    let repo = TestRepo::empty();
    repo.put("staged", "users");
    repo.sh(&["add", "staged"]);
    repo.put("untracked", "users");
    let base = repo.snap().await;
    repo.put("work", "1");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["A work"]);
    assert_eq!(repo.status(), ["A  staged", "?? untracked"]);
}

#[tokio::test]
async fn a_file_mode_alone_is_committed_onto_the_users_content() {
    let repo = TestRepo::new();
    repo.put("a.txt", TEN.replace('5', "users"));
    let base = repo.snap().await;
    repo.chmod("a.txt", 0o755);
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert!(repo.sh(&["ls-tree", &sha, "a.txt"]).starts_with("100755"));
    assert_eq!(repo.show("HEAD:a.txt"), TEN);
    assert_eq!(repo.status(), [" M a.txt"]);
}

#[tokio::test]
async fn the_users_work_in_other_files_costs_one_process_more() {
    for staged in [false, true] {
        let repo = TestRepo::new();
        repo.put("tracked", "old\n");
        repo.put("d/f", "old\n");
        repo.commit_all("more");
        repo.put("tracked", "users\n");
        repo.put("loose", "users\n");
        repo.rm("d/f");
        if staged {
            repo.sh(&["add", "tracked"]);
        }
        // Files must be older than a tick for their times to prove anything.
        tokio::time::sleep(std::time::Duration::from_millis(120)).await;
        let before = picture(&repo);
        let base = repo.snap().await;
        repo.put("a.txt", "work");
        repo.put("new", "work");
        let now = repo.snap().await;
        let started = repo.git.processes_started();
        let sha = repo.commit(&base, &now).await;
        let cost = repo.git.processes_started() - started;
        assert!(if staged { cost <= 5 } else { cost == 2 }, "{cost}");
        assert_eq!(repo.committed(&sha), ["M a.txt", "A new"]);
        assert_eq!(picture(&repo), before);
    }
}

#[tokio::test]
async fn a_file_of_the_users_that_the_agent_made_a_directory_is_noticed() {
    let repo = TestRepo::new();
    repo.rm("a.txt");
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    let base = repo.snap().await;
    repo.put("a.txt/work", "agents");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert!(repo.committed(&sha).contains(&"A a.txt/work".to_owned()));
    assert_eq!(repo.status(), Vec::<String>::new());
}
