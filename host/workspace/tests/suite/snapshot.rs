//! The working tree at one moment.

use std::path::Path;

use ralph_workspace::{Git, GitError, Workspace};

use crate::support::{TestRepo, git_ok, init};

/// What a snapshot's tree holds, as `git ls-tree` shows it.
fn listing(repo: &TestRepo, tree: &str) -> Vec<String> {
    let out = repo.sh(&["ls-tree", "-r", "-z", "--full-tree", "--name-only", tree]);
    out.split('\0')
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn a_clean_tree_costs_one_process_and_an_unchanged_dirty_one_too() {
    let repo = TestRepo::new();
    let clean = repo.snap().await;
    assert!(clean.clean && clean.head.as_ref() == Some(&clean.tree));
    assert_eq!(clean.branch.as_deref(), Some("main"));
    assert_eq!(repo.git.processes_started(), 1);
    repo.put("new.txt", "n");
    let dirty = repo.snap().await;
    assert!(!dirty.clean);
    assert_eq!(repo.git.processes_started(), 4);
    // Until the file is old enough for its time to prove anything.
    tokio::time::sleep(std::time::Duration::from_millis(120)).await;
    repo.snap().await;
    let before = repo.git.processes_started();
    assert_eq!(repo.snap().await, dirty);
    assert_eq!(repo.git.processes_started(), before + 1);
    repo.put("new.txt", "m");
    assert_ne!(repo.snap().await.tree, dirty.tree);
}

#[tokio::test]
async fn the_tree_is_what_git_add_all_would_record() {
    let repo = TestRepo::new();
    repo.put(".gitignore", "*.log\n");
    repo.put("x.log", "ignored");
    repo.put("a.txt", "changed");
    repo.rm("b.txt");
    repo.put("dir/deep/new", "new");
    repo.link("a.txt", "link");
    repo.put("run.sh", "#!/bin/sh\n");
    repo.chmod("run.sh", 0o755);
    let ours = repo.snap().await.tree;
    repo.sh(&["add", "-A"]);
    assert_eq!(ours, repo.sh(&["write-tree"]).trim());
    // What is staged counts as well, also if it is as it was in the working tree.
    assert_eq!(repo.snap().await.tree, ours);
}

#[tokio::test]
async fn names_of_all_kinds_are_recorded() {
    let repo = TestRepo::new();
    let names = [
        "-n",
        "--all",
        "q\"uote",
        "new\nline",
        "ünï cödé",
        "日本",
        "a\tb",
        ":(top)x",
        "*",
        "back\\s",
        "'",
        "$(x)",
    ];
    for name in names {
        repo.put(name, name);
    }
    let base = repo.snap().await;
    let listed = listing(&repo, &base.tree);
    for name in names {
        assert!(listed.iter().any(|l| l == name), "{name:?} in {listed:?}");
    }
    for name in names {
        repo.put(name, "other");
    }
    let now = repo.snap().await;
    let changes = repo.changes(&base, &now).await;
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    assert_eq!(
        changes
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect::<Vec<_>>(),
        sorted
    );
}

#[tokio::test]
async fn a_name_that_is_not_utf8_is_recorded_and_committed() {
    use std::os::unix::ffi::OsStrExt;
    let repo = TestRepo::new();
    let base = repo.snap().await;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(repo.ws.root().join(name), "x").unwrap();
    let now = repo.snap().await;
    assert_eq!(repo.changes(&base, &now).await.files[0].path, "caf\u{fffd}");
    repo.commit(&base, &now).await;
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn the_users_index_is_not_touched_byte_for_byte() {
    let repo = TestRepo::new();
    repo.put("a.txt", "staged");
    repo.sh(&["add", "a.txt"]);
    repo.put("a.txt", "and more");
    repo.put("untracked", "u");
    repo.rm("b.txt");
    let index = |r: &TestRepo| {
        let path = r.path(".git/index");
        (
            std::fs::read(&path).unwrap(),
            std::fs::metadata(&path).unwrap().modified().unwrap(),
        )
    };
    let before = index(&repo);
    repo.snap().await;
    assert_eq!(index(&repo), before);
    assert!(!repo.path(".git/index.lock").exists());
}

#[tokio::test]
async fn ralphs_own_records_are_in_no_snapshot_though_git_does_not_ignore_them() {
    let repo = TestRepo::new();
    for own in [
        "journal.jsonl",
        "journal-1.jsonl",
        "state.json",
        "lock",
        "progress.md",
        ".gitignore",
    ] {
        repo.put(&format!(".ralph/{own}"), "x");
    }
    for own in [
        "logs/l",
        "receipts/a/b.json",
        "attempts/a",
        "context/c",
        "tmp/t",
    ] {
        repo.put(&format!(".ralph/{own}"), "x");
    }
    repo.put("src/.ralph-tmp-1-1", "half-written");
    assert!(repo.snap().await.clean);
    repo.put(".ralph/PRD.md", "- [ ] task\n");
    let dirty = repo.snap().await;
    assert_eq!(
        listing(&repo, &dirty.tree),
        [".ralph/PRD.md", "a.txt", "b.txt"]
    );
    assert_eq!(
        dirty
            .protected
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>(),
        [".git/config", ".git/info/exclude", ".ralph/PRD.md"]
    );
}

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
async fn line_ending_noise_of_autocrlf_is_no_change() {
    let repo = TestRepo::new();
    repo.sh(&["config", "core.autocrlf", "true"]);
    repo.put("a.txt", repo.get("a.txt").replace('\n', "\r\n"));
    repo.put("b.txt", "b\r\nmore\r\n");
    let base = repo.snap().await;
    // a.txt differs in line endings only: git may list it, the tree must not.
    let head = repo.sh(&["rev-parse", "HEAD:a.txt"]);
    assert_eq!(
        repo.sh(&["rev-parse", &format!("{}:a.txt", base.tree)]),
        head
    );
    assert_eq!(repo.show(&format!("{}:b.txt", base.tree)), "b\nmore\n");
    repo.put("a.txt", repo.get("a.txt") + "11\r\n");
    let now = repo.snap().await;
    let changes = repo.changes(&base, &now).await;
    assert_eq!((changes.files.len(), changes.files[0].added_lines), (1, 1));
    let sha = repo.commit(&base, &now).await;
    assert_eq!(repo.committed(&sha), ["M a.txt"]);
    assert!(!repo.show(&format!("{sha}:a.txt")).contains('\r'));
}

#[tokio::test]
async fn a_directory_that_became_a_link_to_the_outside_is_recorded_as_a_link() {
    let repo = TestRepo::new();
    repo.put("d/f", "1");
    repo.put("e/f", "1");
    repo.commit_all("dirs");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "secret").unwrap();
    let base = repo.snap().await;
    std::fs::rename(repo.path("d"), outside.path().join("moved")).unwrap();
    repo.link(outside.path().to_str().unwrap(), "d");
    // The same, but with the link ignored: its former content is gone all the same.
    repo.put(".git/info/exclude", "/e\n");
    std::fs::rename(repo.path("e"), outside.path().join("moved2")).unwrap();
    repo.link(outside.path().to_str().unwrap(), "e");
    let now = repo.snap().await;
    assert_eq!(listing(&repo, &now.tree), ["a.txt", "b.txt", "d"]);
    let diff = repo.git.diff(&base, &now, &[], 1 << 20).await.unwrap();
    assert!(!diff.text.contains("secret"));
}

#[tokio::test]
async fn a_file_and_a_directory_may_change_places() {
    let repo = TestRepo::new();
    repo.put("d/f", "1");
    repo.commit_all("dir");
    let base = repo.snap().await;
    repo.rm("d/f");
    std::fs::remove_dir(repo.path("d")).unwrap();
    repo.put("d", "now a file");
    repo.rm("a.txt");
    repo.put("a.txt/x", "now a directory");
    let now = repo.snap().await;
    assert_eq!(listing(&repo, &now.tree), ["a.txt/x", "b.txt", "d"]);
    let sha = repo.commit(&base, &now).await;
    assert_eq!(
        repo.committed(&sha),
        ["D a.txt", "A a.txt/x", "A d", "D d/f"]
    );
    assert_eq!(repo.status(), Vec::<String>::new());
}

#[tokio::test]
async fn a_pipe_in_a_files_place_does_not_hold_anything_up() {
    let repo = TestRepo::new();
    repo.rm("b.txt");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(repo.path("b.txt"))
            .status()
            .unwrap()
            .success()
    );
    let now = repo.snap().await;
    assert_eq!(listing(&repo, &now.tree), ["a.txt"]);
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
