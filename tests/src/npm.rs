//! Tests that need packages of npm's: these are put below `target/`, once for each lock file.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{LIMIT, Project, Ran, target};

/// What the packages need.
const NODE: u32 = 20;

/// A package of this repository below `target/`, with what its lock file names installed.
pub struct Npm {
    dir: PathBuf,
    _lock: fs::File,
}

impl Npm {
    /// Copies `parts` (directories and files) of `source` into `target/NAME` and installs. `None`
    /// where that can't be, with the reason on standard error.
    pub fn install(p: &Project, source: &Path, name: &str, parts: &[&str]) -> Option<Npm> {
        let dir = target().join(name);
        fs::create_dir_all(&dir).unwrap();
        let lock = fs::File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let npm = Npm { dir, _lock: lock };
        let Some(reason) = npm.prepare(p, source, parts) else {
            return Some(npm);
        };
        // Past the capture of the test's output.
        let _ = writeln!(std::io::stderr(), "SKIPPED: the tests of {name}: {reason}");
        None
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs npm in it.
    #[track_caller]
    pub fn npm(&self, p: &Project, args: &[&str]) -> Ran {
        let mut npm = Command::new("npm");
        npm.args(args).current_dir(&self.dir).stdin(Stdio::null());
        p.start_command(npm).wait_at_most(3 * LIMIT)
    }

    /// Node, in the environment in which [`Project::command`] runs, with `RALPH_BIN` beside it.
    pub fn node(&self, p: &Project) -> Command {
        let ralph = p.command(&[]);
        let env = ralph.get_envs();
        let mut node = Command::new("node");
        node.current_dir(&self.dir)
            .env_clear()
            .envs(env.filter_map(|(key, value)| Some((key, value?))))
            .env("RALPH_BIN", ralph.get_program())
            .stdin(Stdio::null());
        node
    }

    /// Why not, if it can't be done here.
    fn prepare(&self, p: &Project, source: &Path, parts: &[&str]) -> Option<String> {
        let said = |program: &str| {
            let out = Command::new(program).arg("--version").output().ok()?;
            String::from_utf8(out.stdout).ok()
        };
        let node = said("node").unwrap_or_default();
        let major = node.trim().trim_start_matches('v').split('.').next()?;
        if major.parse().unwrap_or(0) < NODE {
            return Some(format!("node {NODE} is needed, there is {:?}", node.trim()));
        }
        if said("npm").is_none() {
            return Some("there is no npm".into());
        }
        for part in ["package.json", "package-lock.json"].iter().chain(parts) {
            let (from, to) = (source.join(part), self.dir.join(part));
            // What was there, and is no more, must not be tested.
            let _ = fs::remove_dir_all(&to);
            copy(&from, &to);
        }
        let (locked, stamp) = (
            self.dir.join("package-lock.json"),
            self.dir.join("installed"),
        );
        let locked = fs::read_to_string(locked).unwrap();
        if fs::read_to_string(&stamp).ok().as_ref() != Some(&locked) {
            let ping = ["ping", "--fetch-retries=1", "--fetch-timeout=20000"];
            if self.npm(p, &ping).code != 0 {
                return Some("npm's registry can't be reached".into());
            }
            self.npm(p, &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
                .expect(0);
            fs::write(stamp, locked).unwrap();
        }
        None
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}
