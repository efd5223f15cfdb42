//! What differs between two snapshots.

use ralph_workspace::{ChangeKind, Snapshot};

use crate::support::{TEN, TestRepo, kinds};

#[tokio::test]
async fn two_identical_snapshots_start_no_process() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    let before = repo.git.processes_started();
    assert!(repo.changes(&base, &base.clone()).await.is_empty());
    assert_eq!(
        repo.git.diff(&base, &base, &[], 1000).await.unwrap().text,
        ""
    );
    assert_eq!(repo.git.processes_started(), before);
}

#[tokio::test]
async fn each_kind_of_change_is_told_with_its_lines() {
    let repo = TestRepo::new();
    repo.put("mode", "x\n");
    repo.put("bin", b"\0\x01");
    repo.put("moved", "some\nlonger\ntext\nthat\nmoves\n");
    repo.put("to-link", "x\n");
    repo.commit_all("more");
    let base = repo.snap().await;
    repo.put("a.txt", TEN.replace("3\n", "three\n3.5\n"));
    repo.rm("b.txt");
    repo.put("new", "1\n2\n");
    repo.chmod("mode", 0o755);
    repo.put("bin", b"\0\x02");
    std::fs::rename(repo.path("moved"), repo.path("target")).unwrap();
    repo.rm("to-link");
    repo.link("a.txt", "to-link");
    let now = repo.snap().await;
    let changes = repo.changes(&base, &now).await;
    let found: Vec<_> = changes
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.kind, f.added_lines, f.deleted_lines))
        .collect();
    use ChangeKind::{Added, Deleted, Modified, Renamed};
    assert_eq!(
        found,
        [
            ("a.txt", Modified, 2, 1),
            ("b.txt", Deleted, 0, 1),
            ("bin", Modified, 0, 0),
            ("mode", Modified, 0, 0),
            // Both ends of a move: a rule about paths must see what went.
            ("moved", Deleted, 0, 0),
            ("new", Added, 2, 0),
            ("target", Renamed, 0, 0),
            ("to-link", Modified, 1, 1),
        ]
    );
    assert!(!changes.head_moved && !changes.branch_changed && changes.protected.is_empty());
}

#[tokio::test]
async fn the_users_own_uncommitted_work_is_no_change() {
    let repo = TestRepo::new();
    repo.put("a.txt", "users");
    repo.put("untracked", "users");
    let base = repo.snap().await;
    repo.put("work", "agent");
    let now = repo.snap().await;
    assert_eq!(kinds(&repo.changes(&base, &now).await), ["work Added"]);
}

#[tokio::test]
async fn what_the_agent_committed_by_itself_is_a_change_like_any_other() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("a.txt", "committed");
    repo.commit_all("the agent's own");
    repo.put("b.txt", "left");
    let now = repo.snap().await;
    let changes = repo.changes(&base, &now).await;
    assert_eq!(kinds(&changes), ["a.txt Modified", "b.txt Modified"]);
    assert!(changes.head_moved);
}

#[tokio::test]
async fn a_changed_branch_is_told() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.sh(&["checkout", "-q", "-b", "x"]);
    let now = repo.snap().await;
    let changes = repo.changes(&base, &now).await;
    assert!(changes.branch_changed && !changes.head_moved && changes.is_empty());
}

#[tokio::test]
async fn ignored_files_and_records_are_left_out_of_changes_and_diff() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("PRD.md", "secret-task");
    repo.put("gen/deep/x", "secret-gen");
    repo.put("gen2", "kept");
    repo.put(".ralph/journal.jsonl", "secret-journal");
    // Even if the agent stages or commits one.
    repo.sh(&["add", "-f", ".ralph/journal.jsonl"]);
    let ignore = [
        "PRD.md".to_owned(),
        "gen/".to_owned(),
        "../x".to_owned(),
        String::new(),
    ];
    let now = repo.snap().await;
    let changes = repo.git.changes(&base, &now, &ignore).await.unwrap();
    assert_eq!(kinds(&changes), ["gen2 Added"]);
    let diff = repo.git.diff(&base, &now, &ignore, 1 << 20).await.unwrap();
    assert!(
        diff.text.contains("+kept") && !diff.text.contains("secret"),
        "{}",
        diff.text
    );
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["A PRD.md", "A gen/deep/x", "A gen2"]);
    assert_eq!(repo.status(), ["A  .ralph/journal.jsonl"]);
}

#[tokio::test]
async fn protected_files_are_told_though_git_does_not_record_them() {
    let repo = TestRepo::new();
    repo.put(".gitignore", "/.ralph/\n/ralph.toml\n");
    repo.commit_all("ignore");
    repo.put(".ralph/ralph.toml", "a");
    repo.put(".ralph/PRD.md", "a");
    repo.put("ralph.toml", "a");
    repo.hook("commit-msg", "exit 0");
    let base = repo.snap().await;
    assert!(base.clean);
    repo.put(".ralph/ralph.toml", "b");
    repo.put(".ralph/PRD.md", "b");
    repo.rm("ralph.toml");
    repo.hook("pre-commit", "exit 0");
    repo.chmod(".git/hooks/commit-msg", 0o644);
    repo.sh(&["config", "core.editor", "evil"]);
    repo.put(".ralph/logs/x", "a record");
    let now = repo.snap().await;
    let ignore = [".ralph/PRD.md".to_owned()];
    let changes = repo.git.changes(&base, &now, &ignore).await.unwrap();
    assert_eq!(
        kinds(&changes),
        [
            ".git/config Modified",
            ".git/hooks/commit-msg Modified",
            ".git/hooks/pre-commit Added",
            ".ralph/ralph.toml Modified",
            "ralph.toml Deleted",
        ]
    );
    assert_eq!(changes.protected.len(), 5);
}

#[tokio::test]
async fn a_protected_file_put_back_within_the_same_tick_is_still_hashed() {
    let repo = TestRepo::new();
    repo.hook("pre-commit", "exit 1");
    let base = repo.snap().await;
    for _ in 0..20 {
        repo.hook("pre-commit", "exit 0");
        assert_ne!(repo.snap().await.protected, base.protected);
        repo.hook("pre-commit", "exit 1");
        assert_eq!(repo.snap().await.protected, base.protected);
    }
}

#[tokio::test]
async fn a_snapshot_survives_being_written_down_and_read_again() {
    let repo = TestRepo::new();
    repo.put("a.txt", "x");
    let snap = repo.snap().await;
    let text = serde_json::to_string(&snap).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snap);
}

#[tokio::test]
async fn a_damaged_snapshot_cannot_become_an_option_of_git() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    let evil = Snapshot {
        tree: "--output=/tmp/pwned".into(),
        ..base.clone()
    };
    assert!(repo.git.changes(&base, &evil, &[]).await.is_err());
    assert!(repo.git.diff(&evil, &base, &[], 1).await.is_err());
    assert!(repo.git.commit(&evil, &base, &[], "m", "1").await.is_err());
    assert!(repo.git.find_commit("1", Some("--all")).await.is_err());
}

#[tokio::test]
async fn a_long_diff_leaves_whole_files_out_and_says_how_much() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    repo.put("Cargo.lock", "x\n".repeat(100_000));
    repo.put("ünï.rs", "fn main() {}\n");
    let now = repo.snap().await;
    let diff = repo.git.diff(&base, &now, &[], 10_000).await.unwrap();
    assert!(diff.text.len() <= 10_000 && diff.omitted_bytes > 200_000);
    assert!(diff.text.contains("bytes left out)\n"));
    assert!(
        diff.text.contains("b/ünï.rs\n") && diff.text.contains("+fn main() {}\n"),
        "{}",
        diff.text
    );
}

#[tokio::test]
async fn the_diff_is_plain_whatever_the_users_settings() {
    let repo = TestRepo::new();
    for (key, value) in [
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
    ] {
        repo.sh(&["config", key, value]);
    }
    let base = repo.snap().await;
    repo.put("b.txt", "c\n");
    let now = repo.snap().await;
    let text = repo.git.diff(&base, &now, &[], 10_000).await.unwrap().text;
    assert!(
        text.starts_with("diff --git a/b.txt b/b.txt\n") && text.ends_with("-b\n+c\n"),
        "{text}"
    );
}
