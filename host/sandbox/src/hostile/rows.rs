//! The table: what is tried, and where it may succeed.

use std::io;

use super::acts as a;
use super::escapes as e;
use super::stage::Stage;
use crate::policy::{Layer, Profile};

/// What it takes to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    Always,
    /// Landlock at all.
    Files,
    Refer,
    Truncate,
    Scopes,
    /// Root, whom file modes don't keep.
    Root,
    /// Root who can become somebody else.
    Ids,
    Disk,
    Interfaces,
}

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) act: fn(&Stage) -> io::Result<()>,
    /// Looked at from outside afterwards, where success inside says nothing.
    pub(super) seen: Option<fn(&Stage) -> bool>,
    /// For read-only, workspace-write, custom under Landlock, then the same under
    /// bubblewrap: `x` is refused, `o` succeeds, `-` isn't looked at.
    pub(super) expected: &'static str,
    pub(super) needs: Feature,
}

impl Row {
    /// Does it succeed? `None`: nobody says.
    pub(super) fn expected(&self, profile: Profile, layer: Layer) -> Option<bool> {
        let column = match profile {
            Profile::ReadOnly => 0,
            Profile::WorkspaceWrite => 1,
            _ => 2,
        } + if layer == Layer::Bubblewrap { 4 } else { 0 };
        match self.expected.as_bytes().get(column) {
            Some(b'x') => Some(false),
            Some(b'o') => Some(true),
            _ => None,
        }
    }
}

const fn row(
    name: &'static str,
    expected: &'static str,
    needs: Feature,
    act: fn(&Stage) -> io::Result<()>,
) -> Row {
    Row {
        name,
        act,
        seen: None,
        expected,
        needs,
    }
}

const fn seen(
    name: &'static str,
    expected: &'static str,
    needs: Feature,
    act: fn(&Stage) -> io::Result<()>,
    seen: fn(&Stage) -> bool,
) -> Row {
    Row {
        name,
        act,
        seen: Some(seen),
        expected,
        needs,
    }
}

use Feature::{Always, Disk, Files, Ids, Interfaces, Refer, Root, Scopes, Truncate};

pub(super) const ROWS: &[Row] = &[
    // What must go on working.
    row("write-into-scratch", "ooo ooo", Always, |s| {
        a::create(&s.scratch().join("new"))
    }),
    row("write-its-own-state", "ooo ooo", Always, |s| {
        a::create(&s.home().join(".codex/new"))
    }),
    row("write-into-the-project", "xox xox", Files, |s| {
        a::create(&s.project().join("new"))
    }),
    row("read-the-project", "oox oox", Files, |s| {
        a::read(&s.project().join("file"))
    }),
    row("write-a-git-object", "xox xox", Files, |s| {
        a::create(&s.git().join("objects/new"))
    }),
    row("make-an-index-lock", "xox xox", Files, |s| {
        a::create(&s.own_git().join("index.lock"))
    }),
    row("write-a-cache", "xox xox", Files, |s| {
        a::create(&s.home().join(".cache/tool/new"))
    }),
    row("move-inside-the-project", "xox xox", Refer, |s| {
        a::rename(&s.project().join("inner"), &s.project().join("dir/inner"))
    }),
    row("make-it-executable", "-oo xox", Files, |s| {
        a::chmod(&s.project().join("file"), 0o755)
    }),
    row("open-a-terminal", "ooo ooo", Always, |_| {
        e::open_a_terminal()
    }),
    row("run-a-program", "ooo ooo", Always, |_| a::run("/bin/true")),
    // Secrets.
    row("read-a-secret", "xxx xxx", Files, |s| a::read(&s.secret())),
    row("read-a-secret-through-a-link", "xxx xxx", Files, |s| {
        a::read(&s.project().join("to-secret"))
    }),
    row("link-a-secret-in", "xxx xxx", Files, |s| {
        a::link(&s.secret(), &s.project().join("linked"))
    }),
    row("move-a-secret-in", "xxx xxx", Files, |s| {
        a::rename(&s.secret(), &s.project().join("moved"))
    }),
    row("names-of-secrets", "oox xxx", Files, |s| {
        a::finds(&s.home().join(".ssh"), "id")
    }),
    row("write-over-what-is-hidden", "xxx xxx", Files, |s| {
        a::create(&s.home().join(".ssh/authorized_keys"))
    }),
    row("state-of-another-agent", "xxx xxx", Files, |s| {
        a::read(&s.home().join(".claude/token"))
    }),
    row("read-shadow", "xxx xxx", Root, |_| {
        a::read("/etc/shadow".as_ref())
    }),
    row("read-a-raw-disk", "xxx xxx", Disk, |_| a::read_disk()),
    row("secret-through-the-root-of-others", "xxx xxx", Files, |s| {
        let root = format!("/proc/{}/root", s.victim());
        a::read(
            &std::path::Path::new(&root).join(s.secret().strip_prefix("/").unwrap_or(&s.secret())),
        )
    }),
    row("inherited-descriptor", "xxx xxx", Always, |s| {
        a::read_descriptor(s.leaked())
    }),
    // Files outside.
    row("write-into-home", "xxx xxx", Files, |s| {
        a::create(&s.home().join("new"))
    }),
    row("append-to-a-shell-file", "xxx xxx", Files, |s| {
        a::append(&s.home().join(".bashrc"))
    }),
    row("append-through-a-link", "xxx xxx", Files, |s| {
        a::append(&s.project().join("to-bashrc"))
    }),
    row("overwrite-elsewhere", "xxx xxx", Files, |s| {
        a::overwrite(&s.other().join("file"))
    }),
    row("truncate-elsewhere", "xxx xxx", Truncate, |s| {
        a::truncate(&s.other().join("whole"))
    }),
    row("remove-elsewhere", "xxx xxx", Files, |s| {
        std::fs::remove_file(s.other().join("doomed"))
    }),
    row("make-a-directory-elsewhere", "xxx xxx", Files, |s| {
        std::fs::create_dir(s.other().join("new"))
    }),
    row("make-a-link-elsewhere", "xxx xxx", Files, |s| {
        std::os::unix::fs::symlink("/", s.other().join("link"))
    }),
    row("make-a-pipe-elsewhere", "xxx xxx", Files, |s| {
        a::fifo(&s.other().join("pipe"))
    }),
    row("move-out", "xxx xxx", Files, |s| {
        a::rename(&s.project().join("file2"), &s.home().join("moved"))
    }),
    row("link-out", "xxx xxx", Files, |s| {
        a::link(&s.project().join("file"), &s.home().join("linked"))
    }),
    row("exchange-with-outside", "xxx xxx", Files, |s| {
        a::exchange(&s.project().join("file3"), &s.other().join("file"))
    }),
    row("plant-a-program", "xxx xxx", Files, |s| {
        a::create(&s.home().join(".cargo/bin/evil"))
    }),
    row("read-a-token-of-the-service", "xxx xxx", Files, |s| {
        a::read(&s.home().join(".config/ralph/console.token"))
    }),
    row("write-beside-it", "xxx xxx", Files, |s| {
        a::create(&s.home().join(".config/ralph/serve.toml"))
    }),
    row("read-which-signatures-count", "oox oox", Files, |s| {
        a::read(&s.home().join(".config/ralph/config.toml"))
    }),
    row("write-the-trust-store", "xxx xxx", Files, |s| {
        a::create(&s.home().join(".local/state/ralph/trusted/evil"))
    }),
    row("poison-the-component-cache", "xxx xxx", Files, |s| {
        a::create(&s.home().join(".cache/ralph/evil"))
    }),
    seen(
        "leave-a-file-in-tmp",
        "xox xxx",
        Files,
        |s| a::create(&s.in_tmp()),
        |s| s.in_tmp().exists(),
    ),
    row("make-a-device", "xxx xxx", Files, |s| {
        a::device(&s.project().join("disk"))
    }),
    row("write-a-kernel-setting", "xxx xxx", Root, |_| {
        a::opens_for_writing("/proc/sys/kernel/core_pattern")
    }),
    row("write-into-sys", "xxx xxx", Root, |_| {
        a::opens_for_writing("/sys/kernel/mm/ksm/run")
    }),
    // Landlock doesn't see these three; a filter does where nothing is to be written at all.
    row("chmod-elsewhere", "xoo xxx", Always, |s| {
        a::chmod(&s.home().join(".bashrc"), 0o777)
    }),
    row("chown-elsewhere", "xoo xxx", Always, |s| {
        a::chown(&s.home().join(".bashrc"))
    }),
    row("touch-elsewhere", "xoo xxx", Always, |s| {
        a::touch(&s.home().join(".bashrc"))
    }),
    // What decides what runs here: Landlock can't take it out of the tree, the hashes find it.
    row("plant-a-hook", "xox xxx", Files, |s| {
        a::create(&s.git().join("hooks/pre-commit"))
    }),
    row("change-git-config", "xox xxx", Files, |s| {
        a::append(&s.git().join("config"))
    }),
    row("change-ralph-toml", "xox xxx", Files, |s| {
        a::append(&s.project().join("ralph.toml"))
    }),
    row("change-the-journal", "xox xxx", Files, |s| {
        a::append(&s.project().join(".ralph/journal.jsonl"))
    }),
    row("change-an-editor-file", "xox xxx", Files, |s| {
        a::append(&s.project().join(".vscode/tasks.json"))
    }),
    row("swap-ralph-s-directory", "xox xxx", Files, |s| {
        e::there_and_back(&s.project().join(".ralph"))
    }),
    row("swap-git-s-directory", "xox xxx", Files, |s| {
        e::there_and_back(&s.git())
    }),
    // Other processes.
    row("kill-others", "xxx xxx", Scopes, |s| e::signal(s.victim())),
    row("kill-others-by-pidfd", "xxx xxx", Scopes, |s| {
        e::signal_by_pidfd(s.victim())
    }),
    row("kill-the-host", "xxx xxx", Scopes, |s| {
        e::may_signal(s.host())
    }),
    row("trace-others", "xxx xxx", Files, |s| e::trace(s.victim())),
    row("read-the-memory-of-others", "xxx xxx", Files, |s| {
        e::read_memory(s.victim())
    }),
    row("open-the-memory-of-others", "xxx xxx", Files, |s| {
        a::opens_for_writing(&format!("/proc/{}/mem", s.victim()))
    }),
    row("read-the-environment-of-others", "xxx xxx", Files, |s| {
        a::read(format!("/proc/{}/environ", s.victim()).as_ref())
    }),
    row("descriptors-of-others", "xxx xxx", Files, |s| {
        std::fs::read_link(format!("/proc/{}/fd/0", s.victim())).map(drop)
    }),
    row("command-lines-of-others", "ooo xxx", Always, |s| {
        a::read(format!("/proc/{}/cmdline", s.victim()).as_ref())
    }),
    // Network, which is closed here.
    seen("tcp-to-outside", "xxx xxx", Always, e::tcp, Stage::tcp_came),
    seen("udp-to-outside", "xxx xxx", Always, e::udp, Stage::udp_came),
    row("see-interfaces", "xxx xxx", Interfaces, |_| {
        e::sees_interfaces()
    }),
    row("abstract-socket", "xxx xxx", Always, e::abstract_socket),
    row("socket-with-a-path", "ooo oox", Always, e::path_socket),
    row("join-the-network-of-others", "xxx xxx", Always, |s| {
        e::join(s.victim(), "net")
    }),
    row("raw-socket", "--- ---", Always, |_| {
        e::socket(libc::AF_INET, libc::SOCK_RAW, 1)
    }),
    row("netlink-socket", "--- ---", Always, |_| {
        e::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0)
    }),
    row("packet-socket", "--- ---", Always, |_| {
        e::socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0)
    }),
    row("multipath-tcp", "--- ---", Always, |_| {
        e::socket(libc::AF_INET, libc::SOCK_STREAM, 262)
    }),
    seen(
        "tcp-without-connect",
        "xxx xxx",
        Always,
        e::fast_open,
        Stage::fast_open_came,
    ),
    row("connect-through-the-proxy", "--- ---", Always, |s| {
        e::proxied("localhost", s.tcp_port())
    }),
    row("connect-to-another-host", "xxx xxx", Always, |s| {
        e::proxied("127.0.0.1", s.tcp_port())
    }),
    // The kernel.
    row("mount", "xxx xxx", Always, |s| e::mount(&s.project())),
    row("user-namespace", "xxx ooo", Always, |_| {
        e::in_a_child(|| e::unshare(libc::CLONE_NEWUSER))
    }),
    row("undo-a-read-only-mount", "xxx xxx", Always, |_| {
        e::in_a_child(e::remount)
    }),
    row("uncover-a-secret", "xxx xxx", Files, e::uncover),
    row("chroot", "xxx xxx", Always, |s| {
        e::in_a_child({
            let dir = a::c(&s.project());
            move || e::chroot(&dir)
        })
    }),
    row("io-uring", "xxx xxx", Always, |_| e::io_uring()),
    row("load-a-bpf-program", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_bpf, [0, 0, 0])
    }),
    row("userfaultfd", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_userfaultfd, [1, 0, 0])
    }),
    row("perf-events", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_perf_event_open, [0, 0, -1])
    }),
    row("kernel-keyring", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_keyctl, [0, -3, 1])
    }),
    row("load-a-module", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_init_module, [0, 0, 0])
    }),
    row("replace-the-kernel", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_kexec_load, [0, 1 << 20, 0])
    }),
    row("set-the-clock", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_clock_settime, [999, 0, 0])
    }),
    row("restart-the-machine", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_reboot, [1, 1, 1])
    }),
    row("open-by-handle", "xxx xxx", Always, |_| {
        e::passes(libc::SYS_open_by_handle_at, [-1, 0, 0])
    }),
    row("type-into-a-terminal", "xxx xxx", Always, |_| {
        e::type_into_a_terminal()
    }),
    row("gain-privileges", "xxx xxx", Always, |_| {
        e::may_gain_privileges()
    }),
    // Resources, which are limited here.
    row("fork-bomb", "xxx ---", Ids, |_| e::fork_bomb()),
    row("raise-a-limit", "xxx xxx", Always, |_| e::raise_a_limit()),
    row("open-many-files", "xxx xxx", Always, |_| e::many_files()),
    row("write-a-huge-file", "xxx xxx", Always, |s| {
        e::huge_file(&s.scratch().join("huge"))
    }),
    row("take-much-memory", "xxx xxx", Always, |_| e::much_memory()),
];
