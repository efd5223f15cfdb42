//! One git process: its environment, its streams, its end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::GitError;

/// Bytes of standard output that are collected at most.
pub(super) const MAX_OUTPUT: u64 = 64 << 20;
/// Bytes of standard error that are kept, the last ones.
const MAX_STDERR: usize = 64 << 10;
/// How long the pipes may stay open after git itself has ended: a hook may
/// have left a background process that holds them.
const DRAIN: Duration = Duration::from_millis(500);

/// Says whose the git is, and in which repository.
pub(super) const SIGNATURE: &str = "RALPH_GIT";

/// Variables that would make git look at another repository, index or
/// work tree than the one at hand, or read paths differently. They are set
/// whenever ralph itself is started from a hook.
const FOREIGN: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Takes no lock that could get into a user's way.
    Read,
    /// Writes objects or an index.
    Write,
    /// Runs the user's hooks, and so in the user's locale.
    Commit,
}

/// A git command about to be run. No shell, no pager, no terminal.
#[derive(Debug)]
pub(super) struct Cmd {
    name: &'static str,
    args: Vec<OsString>,
    index: Option<PathBuf>,
    stdin: Option<Vec<u8>>,
    kind: Kind,
}

impl Cmd {
    fn new(kind: Kind, name: &'static str) -> Self {
        Cmd {
            name,
            args: vec![name.into()],
            index: None,
            stdin: None,
            kind,
        }
    }

    pub(super) fn read(name: &'static str) -> Self {
        Cmd::new(Kind::Read, name)
    }

    pub(super) fn write(name: &'static str) -> Self {
        Cmd::new(Kind::Write, name)
    }

    pub(super) fn commit() -> Self {
        Cmd::new(Kind::Commit, "commit")
    }

    /// `-c key=value` before the sub-command.
    pub(super) fn config(mut self, setting: &str) -> Self {
        self.args.splice(0..0, ["-c".into(), setting.into()]);
        self
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Another index than the user's; absolute.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }
}

/// How a git process ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) name: &'static str,
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    /// The last 64 KiB, lossy.
    pub(super) stderr: String,
}

impl Ended {
    /// Makes an error of any exit code but 0.
    pub(super) fn ok(self) -> Result<Vec<u8>, GitError> {
        if self.code == Some(0) {
            Ok(self.stdout)
        } else {
            Err(self.failure())
        }
    }

    pub(super) fn failure(self) -> GitError {
        GitError::Failed {
            command: self.name.to_owned(),
            code: self.code,
            stderr: self.stderr.trim().to_owned(),
        }
    }
}

impl Ended {
    /// The lock file that git found taken, if that is why it failed.
    pub(super) fn taken_lock(&self) -> Option<PathBuf> {
        if self.code != Some(128) {
            return None;
        }
        let end = self.stderr.find(".lock")? + ".lock".len();
        let before = self.stderr.get(..end)?;
        // Absolute or not, it stands in quotes of some kind.
        let start = before.rfind(['\'', '"', '«', '»', '‘', '’', '“', '„', '\n'])?;
        let quote = before.get(start..)?.chars().next()?.len_utf8();
        before.get(start + quote..).map(PathBuf::from)
    }
}

/// Runs git in one directory and counts how often it did.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) cwd: PathBuf,
    pub(super) limit: Duration,
    pub(super) started: AtomicU64,
    /// By which a later host finds what this one left at work; see [`Git::settle`](super::Git::settle).
    pub(super) signature: Option<OsString>,
}

impl Runner {
    /// Runs to the end and collects the output.
    pub(super) async fn run(&self, cmd: Cmd) -> Result<Ended, GitError> {
        let name = cmd.name;
        let mut stdout = Vec::new();
        let mut over = false;
        let (code, stderr) = self
            .stream(cmd, |chunk| {
                over = (stdout.len() + chunk.len()) as u64 > MAX_OUTPUT;
                if !over {
                    stdout.extend_from_slice(chunk);
                }
                !over
            })
            .await?;
        if over {
            return Err(GitError::TooMuchOutput {
                command: name.to_owned(),
                max: MAX_OUTPUT,
            });
        }
        Ok(Ended {
            name,
            code,
            stdout,
            stderr,
        })
    }

    /// Runs to the end and hands standard output on as it comes, until `sink`
    /// says `false`; then git finds its output closed.
    pub(super) async fn stream(
        &self,
        cmd: Cmd,
        mut sink: impl FnMut(&[u8]) -> bool,
    ) -> Result<(Option<i32>, String), GitError> {
        let name = cmd.name;
        let failed = |e: io::Error| GitError::io("talk to", format!("git {name}"), e);
        let mut child = self.command(&cmd).spawn().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if self.cwd.is_dir() => GitError::NoGit,
            _ => GitError::io("start", "git", e),
        })?;
        self.started.fetch_add(1, Ordering::Relaxed);
        let mut group = Group {
            id: child.id(),
            gently: cmd.kind != Kind::Read,
        };
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut errors = Vec::new();

        let pumps = async {
            let feed = async move {
                if let (Some(mut pipe), Some(bytes)) = (stdin, cmd.stdin) {
                    // git may have ended early; its exit code says why.
                    let _ = pipe.write_all(&bytes).await;
                }
            };
            let out = pump(stdout, &mut sink);
            let err = pump(stderr, |chunk| {
                errors.extend_from_slice(chunk);
                if errors.len() > 2 * MAX_STDERR {
                    errors.drain(..errors.len() - MAX_STDERR);
                }
                true
            });
            let ((), out, err) = tokio::join!(feed, out, err);
            out.and(err)
        };
        let whole = async {
            tokio::pin!(pumps);
            tokio::select! {
                biased;
                ended = &mut pumps => { ended?; child.wait().await }
                status = child.wait() => {
                    // An open pipe after the end isn't git's any more: what came is what counts.
                    if let Ok(ended) = timeout(DRAIN, &mut pumps).await { ended?; }
                    status
                }
            }
        };
        let status = timeout(self.limit, whole)
            .await
            .map_err(|_| GitError::TimedOut {
                command: name.to_owned(),
                seconds: self.limit.as_secs(),
            })?;
        group.id = None;
        let status = status.map_err(failed)?;
        let tail = errors.len().saturating_sub(MAX_STDERR);
        let stderr = String::from_utf8_lossy(errors.get(tail..).unwrap_or_default()).into_owned();
        tracing::trace!(command = name, code = ?status.code(), "git ended");
        Ok((status.code(), stderr))
    }

    fn command(&self, cmd: &Cmd) -> Command {
        let mut command = Command::new("git");
        command.args(&cmd.args).current_dir(&self.cwd);
        for name in FOREIGN {
            command.env_remove(name);
        }
        // One that is asked from a hook has another's.
        command.env_remove(SIGNATURE);
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat");
        if cmd.kind != Kind::Commit {
            command.env("LC_ALL", "C");
        }
        if cmd.kind == Kind::Read {
            command.env("GIT_OPTIONAL_LOCKS", "0");
        }
        if cmd.kind != Kind::Read
            && let Some(signature) = &self.signature
        {
            command.env(SIGNATURE, signature);
        }
        if let Some(index) = &cmd.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command
            .stdin(if cmd.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that hooks and filters end with it.
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

async fn pump(
    from: Option<impl AsyncRead + Unpin>,
    mut sink: impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let mut buffer = vec![0_u8; 32 << 10];
    loop {
        let n = from.read(&mut buffer).await?;
        if n == 0 || !sink(buffer.get(..n).unwrap_or_default()) {
            return Ok(());
        }
    }
}

/// Ends a process group that was not seen to end by itself.
struct Group {
    id: Option<u32>,
    /// It may hold locks of git's, which it removes if it is asked to end.
    gently: bool,
}

/// How long a git that writes may take to remove its locks, in steps of [`STEP`].
const STEPS: u32 = 200;
const STEP: Duration = Duration::from_millis(5);

/// Does anything of the group still run? Where there is no `/proc` that can't be told.
fn others_live(group: Pid) -> bool {
    let group = group.as_raw_nonzero().to_string();
    let of_it = |stat: &str| {
        // Behind the name, which may hold anything: state, parent, group.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        Some(!matches!(state, "Z" | "X") && fields.nth(1)? == group)
    };
    let Ok(all) = std::fs::read_dir("/proc") else {
        return false;
    };
    all.flatten().any(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat"));
        stat.is_ok_and(|stat| of_it(&stat) == Some(true))
    })
}

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self
            .id
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let Some(pid) = pid else { return };
        if self.gently && kill_process_group(pid, Signal::TERM).is_ok() {
            // Blocks, but briefly and only when a commit is given up: a lock
            // left behind would stop every later one.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            for _ in 0..STEPS {
                let ended = !matches!(waitid(WaitId::Pid(pid), options), Ok(None));
                // git itself is gone at once; a hook may be putting things in order.
                if ended && !others_live(pid) {
                    break;
                }
                std::thread::sleep(STEP);
            }
        }
        // Whatever is left of it: hooks and filters that did not listen.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
