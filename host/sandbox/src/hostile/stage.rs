//! What is there to be reached: a home with secrets, a project, another one, a
//! process that belongs to nobody here, and sockets that notice who comes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

use crate::policy::Place;

const NAME: &str = "RALPH_HOSTILE_STAGE";

/// Seen from outside, where everything is held open, or from inside, where only its description is known.
pub(super) struct Stage {
    top: PathBuf,
    tcp: u16,
    udp: u16,
    victim: u32,
    host: u32,
    leaked: i32,
    worktree: bool,
    outside: Option<Outside>,
}

struct Outside {
    _dir: TempDir,
    victim: Child,
    /// What those who connected have said.
    came: Arc<Mutex<BTreeSet<String>>>,
    udp: UdpSocket,
    _sockets: (UnixListener, UnixListener),
    _leaked: OwnedFd,
}

impl Stage {
    pub(super) fn new() -> Stage {
        Stage::set(false)
    }

    /// The project is a worktree of a repository elsewhere.
    pub(super) fn with_worktree() -> Stage {
        Stage::set(true)
    }

    fn set(worktree: bool) -> Stage {
        let exe = std::env::current_exe().unwrap();
        let dir = tempfile::Builder::new()
            .prefix("hostile-")
            .tempdir_in(ground(&exe))
            .unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let victim = Command::new("sleep")
            .arg("600")
            .env("TOKEN", "secret")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut stage = Stage {
            top,
            tcp: listener.local_addr().unwrap().port(),
            udp: udp.local_addr().unwrap().port(),
            victim: victim.id(),
            host: std::process::id(),
            leaked: 0,
            worktree,
            outside: None,
        };
        stage.furnish();
        // Without close-on-exec, as a shell may hand down.
        let secret = fs::File::open(stage.secret()).unwrap();
        let leaked = rustix::io::dup(&secret).unwrap();
        stage.leaked = leaked.as_raw_fd();
        let path_socket = UnixListener::bind(stage.socket()).unwrap();
        let name = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(stage.abstract_name()).unwrap();
        let abstract_socket = UnixListener::bind_addr(&name).unwrap();
        let came = Arc::<Mutex<BTreeSet<String>>>::default();
        let heard = came.clone();
        // Ends with the test process.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut word = [0; 4];
                let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
                if stream.read_exact(&mut word).is_ok() {
                    heard
                        .lock()
                        .unwrap()
                        .insert(String::from_utf8_lossy(&word).into_owned());
                    let _ = stream.write_all(b"hear");
                }
            }
        });
        stage.outside = Some(Outside {
            _dir: dir,
            victim,
            came,
            udp,
            _sockets: (path_socket, abstract_socket),
            _leaked: leaked,
        });
        stage
    }

    fn furnish(&self) {
        let file = |path: PathBuf| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text\n").unwrap();
        };
        let home = [
            ".ssh/id",
            ".bashrc",
            ".codex/auth",
            ".claude/token",
            ".cargo/bin/cargo",
            ".cache/tool/old",
            ".cache/ralph/component",
            ".local/state/ralph/trusted/x",
            ".local/share/ralph/sockets/x",
            ".config/ralph/console.token",
            ".config/ralph/config.toml",
            "other/file",
            "other/whole",
            "other/doomed",
        ];
        home.iter().for_each(|name| file(self.home().join(name)));
        let project = [
            "file",
            "file2",
            "file3",
            "inner",
            "dir/x",
            "ralph.toml",
            ".ralph/journal.jsonl",
            ".ralph/tmp/agent-1/x",
            ".vscode/tasks.json",
        ];
        project
            .iter()
            .for_each(|name| file(self.project().join(name)));
        for name in ["config", "hooks/x", "objects/x", "refs/x", "logs/x"] {
            file(self.git().join(name));
        }
        file(self.own_git().join("HEAD"));
        fs::create_dir_all(self.top.join("bin")).unwrap();
        let exe = std::env::current_exe().unwrap();
        if fs::hard_link(&exe, self.program()).is_err() {
            fs::copy(&exe, self.program()).unwrap();
        }
        std::os::unix::fs::symlink(self.secret(), self.project().join("to-secret")).unwrap();
        std::os::unix::fs::symlink(
            self.home().join(".bashrc"),
            self.project().join("to-bashrc"),
        )
        .unwrap();
    }

    /// For the confined program.
    pub(super) fn env(&self) -> Vec<(OsString, OsString)> {
        let Stage {
            top,
            tcp,
            udp,
            victim,
            host,
            leaked,
            worktree,
            ..
        } = self;
        let text = format!(
            "{tcp} {udp} {victim} {host} {leaked} {worktree} {}",
            top.display()
        );
        vec![
            (NAME.into(), text.into()),
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), self.home().into()),
        ]
    }

    /// In the confined program.
    pub(super) fn from_env() -> Option<Stage> {
        let text = std::env::var(NAME).ok()?;
        let mut parts = text.splitn(7, ' ');
        let mut next = || parts.next().unwrap();
        Some(Stage {
            tcp: next().parse().unwrap(),
            udp: next().parse().unwrap(),
            victim: next().parse().unwrap(),
            host: next().parse().unwrap(),
            leaked: next().parse().unwrap(),
            worktree: next().parse().unwrap(),
            top: next().into(),
            outside: None,
        })
    }

    pub(super) fn place(&self) -> Place {
        Place {
            root: self.project(),
            git: Some((self.own_git(), self.git())),
            scratch: Some(self.scratch()),
            home: self.home(),
            state: vec![self.home().join(".codex")],
            foreign: vec![self.home().join(".claude")],
            own: [".local/state/ralph", ".local/share/ralph", ".cache/ralph"]
                .map(|d| self.home().join(d))
                .to_vec(),
            sealed: vec![
                self.git().join("hooks"),
                self.git().join("config"),
                self.project().join("ralph.toml"),
                self.project().join(".ralph/journal.jsonl"),
                self.project().join(".vscode"),
            ],
            kept: vec![self.home().join(".config/ralph")],
            shown: vec![self.home().join(".config/ralph/config.toml")],
            caches: Vec::new(),
            tmp: None,
        }
    }

    /// This very test binary.
    pub(super) fn program(&self) -> PathBuf {
        self.top.join("bin/act")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.home().join("src/project")
    }

    pub(super) fn other(&self) -> PathBuf {
        self.home().join("other")
    }

    /// What all work trees share.
    pub(super) fn git(&self) -> PathBuf {
        if self.worktree {
            self.home().join("src/main/.git")
        } else {
            self.project().join(".git")
        }
    }

    pub(super) fn own_git(&self) -> PathBuf {
        if self.worktree {
            self.git().join("worktrees/w")
        } else {
            self.git()
        }
    }

    pub(super) fn scratch(&self) -> PathBuf {
        self.project().join(".ralph/tmp/agent-1")
    }

    pub(super) fn secret(&self) -> PathBuf {
        self.home().join(".ssh/id")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.home().join("socket")
    }

    pub(super) fn abstract_name(&self) -> String {
        format!("ralph-hostile-{}-{}", self.host, self.tcp)
    }

    pub(super) fn in_tmp(&self) -> PathBuf {
        Path::new("/tmp").join(self.abstract_name())
    }

    pub(super) fn victim(&self) -> u32 {
        self.victim
    }

    pub(super) fn host(&self) -> u32 {
        self.host
    }

    pub(super) fn leaked(&self) -> i32 {
        self.leaked
    }

    pub(super) fn tcp_port(&self) -> u16 {
        self.tcp
    }

    pub(super) fn udp_port(&self) -> u16 {
        self.udp
    }

    /// Has anybody connected directly? It is told before the other side hears of it.
    pub(super) fn tcp_came(&self) -> bool {
        self.heard("tcp.")
    }

    pub(super) fn fast_open_came(&self) -> bool {
        self.heard("fast")
    }

    fn heard(&self, word: &str) -> bool {
        self.outside
            .as_ref()
            .unwrap()
            .came
            .lock()
            .unwrap()
            .contains(word)
    }

    pub(super) fn udp_came(&self) -> bool {
        self.outside
            .as_ref()
            .unwrap()
            .udp
            .recv(&mut [0; 16])
            .is_ok()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(outside) = &mut self.outside {
            let _ = outside.victim.kill();
            let _ = outside.victim.wait();
            let _ = fs::remove_file(
                Path::new("/tmp").join(format!("ralph-hostile-{}-{}", self.host, self.tcp)),
            );
        }
    }
}

/// Above the binary, or at home: not below /tmp, which may be written and has another content in a view.
fn ground(exe: &Path) -> PathBuf {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let passing = |p: &&Path| p.starts_with("/tmp") || p.starts_with("/var/tmp");
    // The directory above it: the binary's own may hold more files than a sandbox takes apart.
    let above = exe.ancestors().nth(2).unwrap();
    let places = [above, home.as_path()];
    let found = places.into_iter().find(|p| p.is_dir() && !passing(p));
    found
        .expect("a build directory or a home that isn't below /tmp")
        .to_owned()
}

/// A block device of this machine.
pub(super) fn disk() -> Option<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let names = fs::read_dir("/dev").ok()?.flatten();
    let is_block = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_block_device());
    names
        .filter(is_block)
        .map(|e| e.path())
        .find(|p| fs::File::open(p).is_ok())
}

/// Network interfaces that can be seen.
pub(super) fn interfaces() -> usize {
    let text = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    text.lines().filter(|l| l.contains(':')).count()
}
