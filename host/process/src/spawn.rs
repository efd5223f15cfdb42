//! From a description to a running child.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use crate::confine::{Confinement, Ready};
use crate::pty::{Pty, WindowSize};
use crate::running::Running;
use crate::secrets::Secrets;
use crate::tree::{self, Root};

/// Time between SIGTERM and SIGKILL if nothing else is said.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

/// An additional variable in every child's environment. It names the host and
/// the child, so that descendants are known again after they lost their
/// parents, even by another host.
pub(crate) const MARKER: &str = "RALPH_PROCESS";

/// How much of standard error [`Running`] keeps.
pub(crate) const STDERR_TAIL: usize = 64 * 1024;

/// What to start and how long it may take.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Looked up in the `PATH` of `env`; with a `/` in it, a path relative to `cwd`.
    pub program: OsString,
    /// Without the program's name.
    pub args: Vec<OsString>,
    /// Must exist.
    pub cwd: PathBuf,
    /// The complete environment; nothing else is inherited. See [`crate::environment`].
    pub env: Vec<(OsString, OsString)>,
    /// A terminal of its own. Standard output and error are that terminal then,
    /// one stream; so is standard input, unless it is [`Stdin::Bytes`].
    pub terminal: Option<WindowSize>,
    /// Taken out of its output.
    pub secrets: Secrets,
    /// What it reads. Never this process's own standard input.
    pub stdin: Stdin,
    /// From start to end.
    pub timeout: Option<Duration>,
    /// Without a byte on either stream.
    pub idle_timeout: Option<Duration>,
    /// From start to the first byte on either stream.
    pub startup_timeout: Option<Duration>,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// What it gives up before it becomes its program; nothing if there is none.
    pub confinement: Option<Arc<Confinement>>,
}

impl Spawn {
    /// `program` in `cwd`: no arguments, no environment, an empty standard
    /// input, no limits, [`DEFAULT_GRACE`].
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Spawn {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            terminal: None,
            secrets: Secrets::default(),
            stdin: Stdin::Empty,
            timeout: None,
            idle_timeout: None,
            startup_timeout: None,
            grace: DEFAULT_GRACE,
            confinement: None,
        }
    }
}

/// A child's standard input.
#[derive(Debug, Clone)]
pub enum Stdin {
    /// `/dev/null`.
    Empty,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// These bytes; then it stays open for [`Running::write_stdin`].
    Keep(Vec<u8>),
}

/// Why a child did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program in `PATH`, or at the given path.
    #[error("{program}: no such program{looked}; install it or correct its name", looked = looked(.searched))]
    NotFound {
        /// As it was asked for.
        program: String,
        /// The `PATH` that was searched, empty if the program was given as a path.
        searched: String,
    },
    /// It is there but cannot be run.
    #[error("{program}: {path} cannot be run: {reason}")]
    NotExecutable {
        /// As it was asked for.
        program: String,
        /// What was found.
        path: String,
        /// Why it cannot be run.
        reason: String,
    },
    /// Arguments and environment exceed what the system passes to a program.
    #[error(
        "{program}: {bytes} bytes of arguments and environment are more than the system allows; pass the prompt on stdin or in a file"
    )]
    TooLong {
        /// As it was asked for.
        program: String,
        /// Of all arguments and variables together.
        bytes: usize,
    },
    /// Anything else.
    #[error("{program}: cannot be started: {reason}")]
    Other {
        /// As it was asked for.
        program: String,
        /// In words.
        reason: String,
    },
}

fn looked(searched: &str) -> String {
    if searched.is_empty() {
        String::new()
    } else {
        format!(" in PATH ({searched})")
    }
}

/// Starts a child. To be called inside a tokio runtime with its I/O and time
/// drivers enabled; blocks until the child's exec, about a millisecond.
///
/// # Errors
/// See [`SpawnError`]; nothing is left running then.
pub fn start(spawn: Spawn) -> Result<Running, SpawnError> {
    start_with_tail(spawn, STDERR_TAIL)
}

pub(crate) fn start_with_tail(spawn: Spawn, tail: usize) -> Result<Running, SpawnError> {
    let other = |reason: String| SpawnError::Other {
        program: shown(&spawn.program),
        reason,
    };
    let runtime =
        Handle::try_current().map_err(|_| other("there is no tokio runtime here".into()))?;
    let (reply, answer) = mpsc::sync_channel(1);
    let inside = runtime.enter();
    let pty = spawn
        .terminal
        .map(Pty::open)
        .transpose()
        .map_err(|e| other(format!("there is no terminal for it: {e}")))?;
    drop(inside);
    let order = Order {
        command: command(&spawn, pty.as_ref()).map_err(|e| other(e.to_string()))?,
        terminal: pty.is_some(),
        confinement: spawn.confinement.clone().map(Ready::new),
        runtime,
        reply,
    };
    spawner()
        .ok_or_else(|| other("no thread could be made for it".into()))?
        .send(order)
        .map_err(|_| other("the thread that starts children has ended".into()))?;
    match answer.recv() {
        Ok(Ok((child, root))) => Ok(Running::new(child, root, spawn, pty.map(Pty::host), tail)),
        Ok(Err(error)) => Err(explain(&spawn, error)),
        Err(_) => Err(other("the thread that starts children has ended".into())),
    }
}

fn command(spawn: &Spawn, pty: Option<&Pty>) -> io::Result<std::process::Command> {
    let mut command = std::process::Command::new(&spawn.program);
    let stdin = if matches!(spawn.stdin, Stdin::Empty) {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    command
        .args(&spawn.args)
        .current_dir(&spawn.cwd)
        .env_clear()
        .envs(spawn.env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(pty) = pty {
        command.stdout(pty.child()?).stderr(pty.child()?);
        if !matches!(spawn.stdin, Stdin::Bytes(_)) {
            command.stdin(pty.child()?);
        }
    }
    Ok(command)
}

struct Order {
    command: std::process::Command,
    terminal: bool,
    confinement: Option<Ready>,
    runtime: Handle,
    reply: mpsc::SyncSender<io::Result<(Child, Root)>>,
}

/// The thread that starts all children. A parent-death signal is sent when the
/// *thread* that forked ends, and threads of a runtime's pool come and go; this
/// one stays as long as the process does.
fn spawner() -> Option<&'static mpsc::Sender<Order>> {
    static SPAWNER: OnceLock<Option<mpsc::Sender<Order>>> = OnceLock::new();
    SPAWNER
        .get_or_init(|| {
            let (orders, inbox) = mpsc::channel::<Order>();
            std::thread::Builder::new()
                .name("ralph-spawn".into())
                .spawn(move || {
                    tree::adopt_orphans();
                    for order in inbox {
                        let _ = order.reply.send(carry_out(
                            order.command,
                            order.terminal,
                            order.confinement,
                            &order.runtime,
                        ));
                    }
                })
                .ok()
                .map(|_| orders)
        })
        .as_ref()
}

fn carry_out(
    mut command: std::process::Command,
    terminal: bool,
    confinement: Option<Ready>,
    runtime: &Handle,
) -> io::Result<(Child, Root)> {
    let _inside = runtime.enter();
    keep_exit_codes();
    tree::Root::register(|marker, mark| {
        command.env(MARKER, marker);
        before_exec(&mut command, mark, terminal, confinement);
        let mut command = Command::from(command);
        let mut tries = 0;
        loop {
            match command.spawn() {
                // A script that was just written can still be open for writing in a
                // child which another thread forked and which is about to exec. It
                // is closed there in a moment, and there is no event to wait for.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < 200 => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
                Ok(child) => {
                    let pid = child
                        .id()
                        .ok_or_else(|| io::Error::other("it has no process id"))?;
                    return Ok((child, pid));
                }
            }
        }
    })
}

/// If this process was started with SIGCHLD ignored, the kernel throws away
/// the exit codes of its children. A handler of any kind puts that right.
fn keep_exit_codes() {
    use tokio::signal::unix::{SignalKind, signal};
    static ONCE: OnceLock<bool> = OnceLock::new();
    ONCE.get_or_init(|| signal(SignalKind::child()).is_ok());
}

/// Makes the child the leader of a session of its own, without a controlling
/// terminal or with the one that is its standard output, has it (on Linux) killed when
/// this process dies, and confined. Its keys' signals are what they are by default, also
/// where this process was started with them ignored, as in a script's background.
fn before_exec(
    command: &mut std::process::Command,
    mark: Option<u64>,
    terminal: bool,
    confinement: Option<Ready>,
) {
    #[cfg(target_os = "linux")]
    let host = rustix::process::getpid();
    #[cfg(not(target_os = "linux"))]
    let _ = mark;
    let before_exec = move || {
        rustix::process::setsid()?;
        if terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdout())?;
        }
        #[cfg(target_os = "linux")]
        {
            mark.into_iter().for_each(crate::mark::bear);
            let kill = rustix::process::Signal::KILL;
            rustix::process::set_parent_process_death_signal(Some(kill))?;
            // The host may have died before the line above took effect.
            if rustix::process::getppid() != Some(host) {
                return Err(io::Error::from(rustix::io::Errno::SRCH));
            }
        }
        for key in [libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: signal is async-signal-safe, and both signals exist.
            #[allow(unsafe_code)]
            unsafe {
                libc::signal(key, libc::SIG_DFL);
            }
        }
        confinement.as_ref().map_or(Ok(()), Ready::enter)
    };
    // SAFETY: the closure runs between fork and exec, where only
    // async-signal-safe calls are allowed. It makes the system calls setsid,
    // ioctl, prlimit, prctl, sigaction and getppid and those of `Ready::enter` directly,
    // builds its error from a number, and neither allocates nor takes a lock.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(before_exec);
    }
}

pub(crate) fn shown(program: &OsStr) -> String {
    program.to_string_lossy().into_owned()
}

/// Turns the errno of a failed spawn into words, looking at the disk to tell
/// apart what one errno stands for.
fn explain(spawn: &Spawn, error: io::Error) -> SpawnError {
    let program = shown(&spawn.program);
    if !spawn.cwd.is_dir() {
        let reason = format!("its working directory {} is not there", spawn.cwd.display());
        return SpawnError::Other { program, reason };
    }
    if error.kind() == io::ErrorKind::ArgumentListTooLong {
        let variables = spawn.env.iter().map(|(n, v)| n.len() + v.len() + 2);
        let args = spawn.args.iter().map(|a| a.len() + 1);
        return SpawnError::TooLong {
            program,
            bytes: variables.sum::<usize>() + args.sum::<usize>(),
        };
    }
    // A file that may not be executed is EACCES.
    if spawn.confinement.is_some()
        && error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
    {
        let reason = format!("it can't be confined: {error}");
        return SpawnError::Other { program, reason };
    }
    let kind = error.kind();
    if !matches!(
        kind,
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) && error.raw_os_error() != Some(rustix::io::Errno::NOEXEC.raw_os_error())
        && error.raw_os_error() != Some(rustix::io::Errno::NOTDIR.raw_os_error())
    {
        return SpawnError::Other {
            program,
            reason: error.to_string(),
        };
    }
    let (found, searched) = look_up(spawn);
    match found {
        None => SpawnError::NotFound { program, searched },
        Some(path) => {
            let reason = if path.is_dir() {
                "it is a directory".into()
            } else if kind == io::ErrorKind::NotFound {
                "the interpreter its first line names is not there".into()
            } else if kind == io::ErrorKind::PermissionDenied {
                match spawn.confinement {
                    None => "permission denied; chmod +x may be missing".into(),
                    Some(_) => "permission denied; chmod +x may be missing, or the sandbox keeps it from being read (`read` in [sandbox])".into(),
                }
            } else {
                error.to_string()
            };
            SpawnError::NotExecutable {
                program,
                path: path.display().to_string(),
                reason,
            }
        }
    }
}

/// What the program's name stands for on disk, and the `PATH` that was searched for it.
fn look_up(spawn: &Spawn) -> (Option<PathBuf>, String) {
    if spawn.program.as_bytes().contains(&b'/') {
        let path = spawn.cwd.join(&spawn.program);
        return (path.exists().then_some(path), String::new());
    }
    let path = spawn
        .env
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    let found = std::env::split_paths(path)
        .map(|dir| spawn.cwd.join(dir).join(Path::new(&spawn.program)))
        .find(|candidate| candidate.exists());
    (found, path.to_string_lossy().into_owned())
}
