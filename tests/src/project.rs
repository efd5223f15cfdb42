//! A project in a temporary directory: a git repository, a home of its own, and
//! beside the repository a place for scripts and what they note.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{binary, cache};
use crate::ran::{LIMIT, Live, Ran};
use crate::records::{Fact, chain_is_whole};

/// A task file with two open tasks.
pub const TWO_TASKS: &str =
    "# Plan\n\n## Tasks\n\n- [ ] First thing\n  - it works\n- [ ] Second thing\n";

/// Keeps its prompt as `prompt.N`, changes a file, claims its task.
pub const GOOD_AGENT: &str = "n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\necho \"work $n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n";

/// What every script can use: `$SIDE`, the place beside the repository; `count
/// NAME`, which says how often it was called; `tell NAME TEXT`, which waits until
/// the test has heard it; `hang`, which never ends by itself.
const PREAMBLE: &str = r#"
count() { echo x >>"$SIDE/$1.count"; wc -l <"$SIDE/$1.count" | tr -d ' '; }
tell() { echo "$2" >"$SIDE/$1.fifo"; }
hang() { while :; do sleep 1; done; }
"#;

/// A project, removed when dropped.
pub struct Project {
    dir: TempDir,
    runs: AtomicU32,
}

/// What a project is made of.
pub struct Builder {
    tasks: (String, Vec<u8>),
    agent: String,
    in_loop: String,
    in_agent: String,
    toml: String,
    files: Vec<(String, String)>,
    outside_tmp: bool,
}

impl Builder {
    /// Another task file than [`TWO_TASKS`] in `PRD.md`.
    #[must_use]
    pub fn tasks(mut self, path: &str, bytes: impl AsRef<[u8]>) -> Builder {
        self.tasks = (path.into(), bytes.as_ref().to_vec());
        self
    }

    /// Another shell script as the agent than [`GOOD_AGENT`].
    #[must_use]
    pub fn agent(mut self, script: &str) -> Builder {
        self.agent = script.into();
        self
    }

    /// Further lines of `[loop]`.
    #[must_use]
    pub fn in_loop(mut self, lines: &str) -> Builder {
        self.in_loop.push_str(&format!("{lines}\n"));
        self
    }

    /// Further lines of `[agents.fake]`.
    #[must_use]
    pub fn in_agent(mut self, lines: &str) -> Builder {
        self.in_agent.push_str(&format!("{lines}\n"));
        self
    }

    /// Further tables; `SIDE` in it becomes the place beside the repository.
    #[must_use]
    pub fn toml(mut self, text: &str) -> Builder {
        self.toml.push_str(&format!("{text}\n"));
        self
    }

    /// A gate that is a shell script.
    #[must_use]
    pub fn gate(self, name: &str, script: &str) -> Builder {
        let mut with = self.toml(&format!(
            "[[gates]]\nname = \"{name}\"\nrun = [\"sh\", \"SIDE/{name}.sh\"]"
        ));
        with.files.push((format!("{name}.sh"), script.into()));
        with
    }

    /// A second agent that is a shell script, e.g. for the judge.
    #[must_use]
    pub fn other_agent(self, name: &str, script: &str) -> Builder {
        let mut with = self.toml(&format!(
            "[agents.{name}]\nargv = [\"sh\", \"SIDE/{name}.sh\"]"
        ));
        with.files.push((format!("{name}.sh"), script.into()));
        with
    }

    /// Not below `/tmp`, which a sandbox leaves writable or makes empty, but in the user's home.
    #[must_use]
    pub fn outside_tmp(mut self) -> Builder {
        self.outside_tmp = true;
        self
    }

    /// Writes it, commits it, trusts it.
    #[must_use]
    pub fn ready(self) -> Project {
        let project = self.untrusted();
        project.trust();
        project
    }

    /// Writes it and commits it.
    #[must_use]
    pub fn untrusted(self) -> Project {
        let project = if self.outside_tmp {
            Project::bare_in(Path::new(&std::env::var_os("HOME").expect("a home")))
        } else {
            Project::bare()
        };
        project.write(&self.tasks.0, &self.tasks.1);
        project.script("agent.sh", &self.agent);
        for (name, script) in &self.files {
            project.script(name, script);
        }
        let side = project.side("");
        let side = side.display().to_string();
        let side = side.trim_end_matches('/');
        let toml = format!(
            "[loop]\nagent = \"fake\"\n{}\n[agents.fake]\nargv = [\"sh\", \"{side}/agent.sh\"]\n{}\n{}",
            self.in_loop,
            self.in_agent,
            self.toml.replace("SIDE", side)
        );
        project.write("ralph.toml", toml);
        project.commit_all("start");
        project
    }
}

impl Project {
    /// With a fake agent, to be described further.
    #[must_use]
    pub fn build() -> Builder {
        Builder {
            tasks: ("PRD.md".into(), TWO_TASKS.into()),
            agent: GOOD_AGENT.into(),
            in_loop: String::new(),
            in_agent: String::new(),
            toml: String::new(),
            files: Vec::new(),
            outside_tmp: false,
        }
    }

    /// An empty repository.
    #[must_use]
    pub fn bare() -> Project {
        Project::bare_in(&std::env::temp_dir())
    }

    fn bare_in(dir: &Path) -> Project {
        let dir = tempfile::Builder::new()
            .prefix("ralph-test-")
            .tempdir_in(dir)
            .expect("a directory");
        for sub in ["repo", "home", "state", "side", "operator"] {
            fs::create_dir(dir.path().join(sub)).expect("a directory");
        }
        let project = Project {
            dir,
            runs: AtomicU32::new(0),
        };
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["config", "user.name", "Tess Ter"]);
        project.git(&["config", "user.email", "tess@example.org"]);
        project
    }

    /// Everything, the repository and what is beside it.
    pub fn all(&self) -> &Path {
        self.dir.path()
    }

    /// The repository.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    /// Beside both: what is a service's own, which no agent comes to.
    pub fn operator(&self, name: &str) -> PathBuf {
        self.dir.path().join("operator").join(name)
    }

    /// Beside the repository.
    pub fn side(&self, name: &str) -> PathBuf {
        self.dir.path().join("side").join(name)
    }

    /// Writes a file below the root.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    /// Reads a file below the root.
    #[track_caller]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Reads a file below the root as text.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("UTF-8")
    }

    /// Reads what a script has noted beside the repository.
    #[track_caller]
    pub fn noted(&self, name: &str) -> String {
        let bytes = fs::read(self.side(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How often a script called `count NAME`.
    pub fn count(&self, name: &str) -> usize {
        fs::read_to_string(self.side(&format!("{name}.count"))).map_or(0, |t| t.lines().count())
    }

    /// Is there such a path below the root?
    pub fn exists(&self, path: &str) -> bool {
        self.root().join(path).symlink_metadata().is_ok()
    }

    /// Writes a shell script beside the repository; its path.
    pub fn script(&self, name: &str, body: &str) -> String {
        let path = self.side(name);
        let side = self.side("").display().to_string();
        let text = format!(
            "#!/bin/sh\nSIDE='{}'\n{PREAMBLE}\n{body}",
            side.trim_end_matches('/')
        );
        fs::write(&path, text).expect("a script");
        path.display().to_string()
    }

    /// Runs git in the repository; what it prints.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        let out = self
            .isolated(git.args(args).current_dir(self.root()))
            .output()
            .expect("git");
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// Commits everything.
    pub fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Subjects of the commits since the first, oldest first.
    pub fn commits(&self) -> Vec<String> {
        let all = self.git(&["log", "--reverse", "--format=%s"]);
        all.lines().skip(1).map(str::to_owned).collect()
    }

    /// `ralph trust --yes`
    #[track_caller]
    pub fn trust(&self) {
        self.run(&["trust", "--yes"]).expect(0);
    }

    fn isolated<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let dir = self.dir.path();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir.join("home"))
            .env("XDG_CONFIG_HOME", dir.join("home/config"))
            .env("XDG_STATE_HOME", dir.join("state"))
            .env("XDG_CACHE_HOME", cache())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
    }

    /// The binary with these arguments, to be changed before it starts.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        self.isolated(command.args(args))
            .current_dir(self.root())
            .stdin(Stdio::null());
        command
    }

    /// Starts a command that [`Project::command`] made.
    pub fn start_command(&self, command: Command) -> Live {
        let n = self.runs.fetch_add(1, Ordering::Relaxed);
        Live::start(
            command,
            [
                self.side(&format!("stdout.{n}")),
                self.side(&format!("stderr.{n}")),
            ],
        )
    }

    /// Starts the binary.
    pub fn start(&self, args: &[&str]) -> Live {
        self.start_command(self.command(args))
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// Makes the pipe on which a script's `tell NAME` is heard.
    pub fn fifo(&self, name: &str) {
        let path = self.side(&format!("{name}.fifo"));
        let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success(), "{}", path.display());
    }

    /// Waits for a script's `tell NAME`; what it told.
    #[track_caller]
    pub fn hear(&self, name: &str) -> String {
        let path = self.side(&format!("{name}.fifo"));
        let (tx, rx) = channel();
        std::thread::spawn(move || {
            let _ = tx.send(fs::read_to_string(path));
        });
        match rx.recv_timeout(LIMIT) {
            Ok(text) => text.expect("a pipe").trim().to_owned(),
            Err(_) => panic!("nobody told `{name}`"),
        }
    }

    /// The journal, its chain checked.
    #[track_caller]
    pub fn journal(&self) -> Vec<Fact> {
        chain_is_whole(&self.read(".ralph/journal.jsonl"))
    }

    /// The journal's facts of one name.
    #[track_caller]
    pub fn facts(&self, name: &str) -> Vec<Fact> {
        self.journal()
            .into_iter()
            .filter(|f| f["fact"] == name)
            .collect()
    }

    /// `result` of `ralph status --json`.
    #[track_caller]
    pub fn status(&self) -> Value {
        self.run(&["status", "--json"]).expect(0).json()["result"].clone()
    }

    /// All records of one kind, e.g. `iteration`, of a task's attempts, oldest first.
    pub fn receipts(&self, task: &str, name: &str) -> Vec<Value> {
        let dir = self.root().join(".ralph/receipts").join(task);
        let mut attempts: Vec<_> = fs::read_dir(&dir)
            .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
            .flatten()
            .map(|e| e.path().join(format!("{name}.json")))
            .filter(|p| p.exists())
            .collect();
        attempts.sort();
        attempts
            .iter()
            .map(|p| serde_json::from_slice(&fs::read(p).unwrap()).unwrap())
            .collect()
    }
}
