//! Generated projects in a directory of their own, which is gone with them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Bench;
use crate::child;

/// The bench's own word for what ends a run that has reached its iterations.
pub const RAN: [i32; 2] = [0, 1];

/// What a project is made of.
pub struct Plan<'a> {
    /// Files beside ralph's own, 200 bytes each, 50 to a directory.
    pub files: usize,
    /// Open tasks.
    pub tasks: usize,
    /// `ralph.toml`
    pub config: &'a str,
}

/// A git repository that is a ralph project, with home, cache and state beside it.
pub struct Scratch {
    base: TempDir,
    ralph: PathBuf,
}

impl Scratch {
    /// Generates it. `ralph.toml` is accepted, as by `ralph trust`.
    pub fn new(bench: &Bench, plan: &Plan<'_>) -> Result<Scratch, String> {
        let base = tempfile::Builder::new()
            .prefix("ralph-bench-")
            .tempdir()
            .map_err(|e| format!("a scratch directory: {e}"))?;
        let scratch = Scratch {
            base,
            ralph: bench.ralph.clone(),
        };
        scratch.write("PRD.md", &tasks(plan.tasks))?;
        scratch.write("ralph.toml", plan.config)?;
        scratch.write("work.txt", "")?;
        for number in 0..plan.files {
            let text = format!("// file {number}\n").repeat(12);
            let path = format!("src/part{:02}/file{number:04}.rs", number / 50);
            scratch.write(&path, &text)?;
        }
        for dir in ["home", "cache", "state"] {
            let dir = scratch.path(dir);
            fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        scratch.git(&["init", "--quiet", "--template=", "--initial-branch=main"])?;
        for (name, value) in [
            ("user.name", "Bench"),
            ("user.email", "bench@localhost"),
            // Would begin in the midst of one measurement, in the background.
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            scratch.git(&["config", name, value])?;
        }
        scratch.git(&["add", "--all"])?;
        scratch.git(&["commit", "--quiet", "--message", "begin"])?;
        scratch.run(&["trust", "--yes"], &[0])?;
        Ok(scratch)
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.path("project")
    }

    /// Beside the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.root().join(path);
        let parent = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// A program in the project's root, in an environment that is the same everywhere.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C");
        command
    }

    /// `ralph …`
    pub fn ralph(&self, args: &[&str]) -> Command {
        self.command(&self.ralph, args)
    }

    /// Runs `ralph …` and returns the seconds it took.
    pub fn run(&self, args: &[&str], codes: &[i32]) -> Result<f64, String> {
        child::seconds(&mut self.ralph(args), codes)
    }

    /// Runs `git …` and returns the seconds it took.
    pub fn git(&self, args: &[&str]) -> Result<f64, String> {
        child::seconds(&mut self.command("git", args), &[0])
    }
}

fn tasks(count: usize) -> String {
    let mut text = String::from("# Tasks\n\n");
    for number in 1..=count {
        let _ = writeln!(text, "- [ ] Add line number {number} to work.txt");
        let _ = writeln!(text, "  - The file has one line more than before");
    }
    text
}
