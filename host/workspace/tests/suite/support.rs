//! A repository to work in.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ralph_workspace::{Changes, Commit, Git, GitError, Snapshot, Workspace};
use tempfile::TempDir;

pub struct TestRepo {
    pub ws: Workspace,
    pub git: Git,
    _dir: TempDir,
}

/// `git` as a user would call it, without the machine's settings.
pub fn git_in(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output()
        .expect("git runs")
}

pub fn git_ok(dir: &Path, args: &[&str]) -> String {
    let out = git_in(dir, args);
    assert!(
        out.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub fn init(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    git_ok(dir, &["init", "-q", "-b", "main"]);
    for (key, value) in [
        ("user.name", "Tester"),
        ("user.email", "tester@example.invalid"),
        ("commit.gpgSign", "false"),
        ("core.autocrlf", "false"),
        ("core.hooksPath", ".git/hooks"),
        ("core.excludesFile", "/dev/null"),
        ("core.quotePath", "true"),
        ("gc.auto", "0"),
    ] {
        git_ok(dir, &["config", key, value]);
    }
}

impl TestRepo {
    /// Without a commit.
    pub fn empty() -> TestRepo {
        let dir = tempfile::tempdir().unwrap();
        init(dir.path());
        TestRepo::open(dir, "")
    }

    /// One commit with `a.txt`, ten lines long, and `b.txt`.
    pub fn new() -> TestRepo {
        let repo = TestRepo::empty();
        repo.put("a.txt", TEN);
        repo.put("b.txt", "b\n");
        repo.commit_all("first");
        repo
    }

    pub fn open(dir: TempDir, below: &str) -> TestRepo {
        let ws = Workspace::open(&dir.path().join(below)).unwrap();
        let git = Git::open(&ws).unwrap();
        TestRepo { ws, git, _dir: dir }
    }

    pub fn path(&self, rel: &str) -> PathBuf {
        self.ws.root().join(rel)
    }

    pub fn put(&self, rel: &str, content: impl AsRef<[u8]>) {
        let path = self.path(rel);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn get(&self, rel: &str) -> String {
        std::fs::read_to_string(self.path(rel)).unwrap()
    }

    pub fn rm(&self, rel: &str) {
        std::fs::remove_file(self.path(rel)).unwrap();
    }

    pub fn link(&self, to: &str, rel: &str) {
        symlink(to, self.path(rel)).unwrap();
    }

    pub fn chmod(&self, rel: &str, mode: u32) {
        std::fs::set_permissions(self.path(rel), PermissionsExt::from_mode(mode)).unwrap();
    }

    pub fn hook(&self, name: &str, script: &str) {
        let rel = format!(".git/hooks/{name}");
        self.put(&rel, format!("#!/bin/sh\n{script}\n"));
        self.chmod(&rel, 0o755);
    }

    pub fn sh(&self, args: &[&str]) -> String {
        git_ok(self.ws.root(), args)
    }

    pub fn commit_all(&self, message: &str) {
        self.sh(&["add", "-A"]);
        self.sh(&["commit", "-q", "-m", message]);
    }

    /// `XY path` lines, as the user sees them.
    pub fn status(&self) -> Vec<String> {
        let out = self.sh(&[
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        ]);
        out.split('\0')
            .filter(|l| !l.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// `status` letters and paths of one commit against its parent.
    pub fn committed(&self, sha: &str) -> Vec<String> {
        let out = self.sh(&[
            "diff-tree",
            "-r",
            "-z",
            "--root",
            "--no-commit-id",
            "--name-status",
            sha,
        ]);
        let mut fields = out.split('\0').filter(|l| !l.is_empty());
        let mut found = Vec::new();
        while let (Some(letter), Some(path)) = (fields.next(), fields.next()) {
            found.push(format!("{letter} {path}"));
        }
        found
    }

    /// A file as a commit has it.
    pub fn show(&self, what: &str) -> String {
        self.sh(&["show", what])
    }

    pub async fn snap(&self) -> Snapshot {
        self.git.snapshot().await.unwrap()
    }

    pub async fn changes(&self, base: &Snapshot, now: &Snapshot) -> Changes {
        self.git.changes(base, now, &[]).await.unwrap()
    }

    pub async fn try_commit(&self, base: &Snapshot, now: &Snapshot) -> Result<Commit, GitError> {
        self.git.commit(base, now, &[], "work", "run-1/1").await
    }

    /// Commits and gives the commit's id.
    pub async fn commit(&self, base: &Snapshot, now: &Snapshot) -> String {
        match self.try_commit(base, now).await.unwrap() {
            Commit::Done { sha } => sha,
            other => panic!("{other:?}"),
        }
    }
}

pub const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// `path kind` of each change.
pub fn kinds(changes: &Changes) -> Vec<String> {
    changes
        .files
        .iter()
        .map(|f| format!("{} {:?}", f.path, f.kind))
        .collect()
}
