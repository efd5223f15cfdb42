//! The working tree at one moment.

use crate::support::TestRepo;

/// What a snapshot's tree holds, as `git ls-tree` shows it.
pub fn listing(repo: &TestRepo, tree: &str) -> Vec<String> {
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

/// git tells by the index's own time whether a file may have been written in
/// the same tick: a copy that looked younger would hide such a change.
#[tokio::test]
async fn a_change_in_the_same_tick_as_the_index_is_not_missed() {
    let repo = TestRepo::new();
    repo.sh(&["config", "core.trustctime", "false"]);
    repo.sh(&["config", "core.checkStat", "minimal"]);
    let tick = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let at_tick = |rel: &str| {
        let file = std::fs::File::options()
            .write(true)
            .open(repo.path(rel))
            .unwrap();
        file.set_modified(tick).unwrap();
    };
    repo.put("b.txt", "aaaa\n");
    at_tick("b.txt");
    repo.sh(&["add", "b.txt"]);
    at_tick(".git/index");
    repo.put("b.txt", "bbbb\n");
    at_tick("b.txt");
    let snap = repo.snap().await;
    assert_eq!(repo.show(&format!("{}:b.txt", snap.tree)), "bbbb\n");
}
