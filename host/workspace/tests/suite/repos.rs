//! Repositories of every make.

use std::path::Path;

use ralph_workspace::{Git, GitError, Workspace};

use crate::snapshot::listing;
use crate::support::{TestRepo, git_ok, init};

#[tokio::test]
async fn a_repository_without_commits_works() {
    let repo = TestRepo::empty();
    let empty = repo.snap().await;
    assert_eq!(
        (empty.head.as_deref(), empty.branch.as_deref()),
        (None, Some("main"))
    );
    assert!(empty.clean);
    assert_eq!(empty.tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    repo.put("first", "1");
    let now = repo.snap().await;
    assert_eq!(repo.changes(&empty, &now).await.files.len(), 1);
    let sha = repo.commit(&empty, &now).await;
    assert_eq!(repo.committed(&sha), ["A first"]);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn a_sha256_repository_works() {
    let dir = tempfile::tempdir().unwrap();
    git_ok(
        dir.path(),
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    init(dir.path());
    let repo = TestRepo::open(dir, "");
    let empty = repo.snap().await;
    repo.put("users", "u");
    let base = repo.snap().await;
    repo.put("first", "1");
    let now = repo.snap().await;
    assert_eq!(now.tree.len(), 64);
    assert_eq!(repo.changes(&empty, &now).await.files.len(), 2);
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["A first"]);
    assert_eq!(repo.status(), ["?? users"]);
}

#[tokio::test]
async fn reftable_repositories_work_at_the_price_of_two_processes() {
    let dir = tempfile::tempdir().unwrap();
    let made = crate::support::git_in(
        dir.path(),
        &["init", "-q", "-b", "main", "--ref-format=reftable"],
    );
    if !made.status.success() {
        eprintln!("SKIPPED: this git knows no reftables");
        return;
    }
    init(dir.path());
    let repo = TestRepo::open(dir, "");
    repo.put("a", "1");
    repo.commit_all("first");
    let base = repo.snap().await;
    repo.put("a", "2");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.sh(&["rev-parse", "HEAD"]).trim(), sha);
}

#[tokio::test]
async fn nested_repositories_are_links_and_an_empty_one_is_left_out() {
    let repo = TestRepo::new();
    let base = repo.snap().await;
    init(&repo.path("empty"));
    init(&repo.path("full"));
    repo.put("full/f", "1");
    git_ok(&repo.path("full"), &["add", "f"]);
    git_ok(&repo.path("full"), &["commit", "-qm", "inner"]);
    repo.put("a.txt", "work");
    let now = repo.snap().await;
    assert_eq!(listing(&repo, &now.tree), ["a.txt", "b.txt", "full"]);
    // A link that `.gitmodules` doesn't name would break every clone.
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M a.txt"]);
}

#[tokio::test]
async fn a_submodule_changes_when_its_commit_does() {
    let repo = TestRepo::new();
    let lib = tempfile::tempdir().unwrap();
    init(lib.path());
    std::fs::write(lib.path().join("l"), "1").unwrap();
    git_ok(lib.path(), &["add", "l"]);
    git_ok(lib.path(), &["commit", "-qm", "lib"]);
    let url = lib.path().to_str().unwrap();
    repo.sh(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url,
        "lib",
    ]);
    repo.commit_all("with a submodule");
    let base = repo.snap().await;
    assert!(base.clean);
    repo.put("lib/l", "2");
    assert!(
        repo.snap().await.clean,
        "what is uncommitted in a submodule is its own affair"
    );
    for args in [
        &["config", "user.name", "T"][..],
        &["config", "user.email", "t@e.invalid"],
        &["commit", "-qam", "2"],
    ] {
        git_ok(&repo.path("lib"), args);
    }
    let now = repo.snap().await;
    assert_eq!(
        crate::support::kinds(&repo.changes(&base, &now).await),
        ["lib Modified"]
    );
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M lib"]);
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn a_linked_work_tree_and_a_detached_head_work() {
    let main = TestRepo::new();
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    main.sh(&["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let repo = TestRepo::open(dir, "tree");
    let base = repo.snap().await;
    assert_eq!(base.branch, None);
    assert!(
        base.protected.contains_key(".git/config"),
        "the config of the main repository"
    );
    repo.put("a.txt", "in the tree");
    let now = repo.snap().await;
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.sh(&["rev-parse", "HEAD"]).trim(), sha);
    assert_eq!(repo.status(), Vec::<String>::new());
    assert_eq!(main.get("b.txt"), "b\n");
    assert_ne!(
        main.sh(&["rev-parse", "HEAD"]).trim(),
        sha,
        "the main work tree's HEAD must stay"
    );
}

#[tokio::test]
async fn a_project_in_a_directory_of_the_work_tree_sees_and_commits_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    init(dir.path());
    std::fs::create_dir_all(dir.path().join("app")).unwrap();
    std::fs::write(dir.path().join("app/x"), "1").unwrap();
    std::fs::write(dir.path().join("other"), "1").unwrap();
    git_ok(dir.path(), &["add", "-A"]);
    git_ok(dir.path(), &["commit", "-qm", "first"]);
    let repo = TestRepo::open(dir, "app");
    let base = repo.snap().await;
    std::fs::write(repo.path("../other"), "2").unwrap();
    assert!(repo.snap().await.clean);
    repo.put("x", "2");
    repo.put("PRD.md", "task");
    let now = repo.snap().await;
    let changes = repo
        .git
        .changes(&base, &now, &["PRD.md".into()])
        .await
        .unwrap();
    assert_eq!(crate::support::kinds(&changes), ["x Modified"]);
    let diff = repo
        .git
        .diff(&base, &now, &["PRD.md".into()], 1000)
        .await
        .unwrap();
    assert!(
        diff.text.starts_with("diff --git a/x b/x") && !diff.text.contains("PRD"),
        "{}",
        diff.text
    );
    let extra = ["PRD.md".to_owned()];
    repo.git
        .commit(&base, &now, &extra, "m", "1")
        .await
        .unwrap();
    assert_eq!(repo.committed("HEAD"), ["A app/PRD.md", "M app/x"]);
    assert_eq!(repo.sh(&["status", "--porcelain", ":/"]), " M other\n");
}

#[test]
fn what_is_no_working_tree_is_refused_without_starting_git() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &Path| Git::open(&Workspace::open(path).unwrap());
    git_ok(dir.path(), &["init", "-q", "--bare", "bare.git"]);
    init(&dir.path().join("repo"));
    assert!(matches!(
        open(&dir.path().join("bare.git")),
        Err(GitError::NoWorkTree { .. })
    ));
    assert!(matches!(
        open(&dir.path().join("bare.git/refs")),
        Err(GitError::NoWorkTree { .. })
    ));
    assert!(matches!(
        open(&dir.path().join("repo/.git/hooks")),
        Err(GitError::NoWorkTree { .. })
    ));
    std::fs::create_dir(dir.path().join("plain")).unwrap();
    if let Err(error) = open(&dir.path().join("plain")) {
        assert!(error.to_string().contains("git init"), "{error}");
    }
    std::fs::write(dir.path().join("plain/.git"), "nonsense").unwrap();
    assert!(matches!(
        open(&dir.path().join("plain")),
        Err(GitError::Io { .. })
    ));
}

#[tokio::test]
async fn what_a_killed_process_left_is_swept_away_and_what_a_living_one_has_stays() {
    let repo = TestRepo::new();
    let alive = format!(".git/ralph/{}-9", std::process::id());
    repo.put(".git/ralph/999999999-1", "left");
    repo.put(".git/ralph/999999999-1.lock", "left");
    repo.put(&alive, "in use");
    Git::open(&repo.ws).unwrap();
    assert!(!repo.path(".git/ralph/999999999-1").exists());
    assert!(!repo.path(".git/ralph/999999999-1.lock").exists());
    assert!(repo.path(&alive).exists());
}
