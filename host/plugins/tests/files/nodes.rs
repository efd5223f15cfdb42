//! What stands in a granted directory and is no file: it can't be opened, and holds nothing up.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Limits};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;

use crate::common::{bind, context, host, iteration};
use crate::guest::{Opens, reads, writes};

/// Opens it to read and to write; both are refused, and the call didn't wait.
async fn refused(root: &Path, path: &str) {
    for create in [false, true] {
        let opens = Opens {
            create,
            touch: true,
            ..Opens::once(path)
        };
        let grants = if create { writes("src") } else { reads("src") };
        // Whoever waits for the other end of a pipe meets this limit, and the test fails.
        let limits = Limits {
            wait: Duration::from_secs(20),
            ..Limits::default()
        };
        let gate = bind(&host(), &opens.bytes(), grants, limits).await.unwrap();
        let ctx = CallContext {
            root: Some(root.into()),
            ..context()
        };
        let verdict = gate.check(&ctx, &iteration()).await.unwrap();
        assert_eq!(verdict.status, Status::Fail, "{path}, create: {create}");
        assert_eq!(verdict.findings[0].line, Some(0), "{path}");
    }
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    dir
}

#[tokio::test]
async fn a_fifo_is_refused_at_once_also_behind_a_link() {
    let dir = project();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, dir.path().join("src/pipe"), FileType::Fifo, mode, 0).unwrap();
    symlink("pipe", dir.path().join("src/link")).unwrap();
    refused(dir.path(), "pipe").await;
    refused(dir.path(), "link").await;
}

#[tokio::test]
async fn a_socket_is_refused() {
    let dir = project();
    let _listens = UnixListener::bind(dir.path().join("src/socket")).unwrap();
    refused(dir.path(), "socket").await;
}

/// Made by whoever may: as another user there is none to meet.
#[tokio::test]
async fn a_device_is_refused() {
    let dir = project();
    let zero = rustix::fs::makedev(1, 5);
    let mode = Mode::from_raw_mode(0o666);
    let node = dir.path().join("src/zero");
    match mknodat(CWD, &node, FileType::CharacterDevice, mode, zero) {
        Ok(()) => refused(dir.path(), "zero").await,
        Err(Errno::PERM | Errno::ACCESS) => {
            eprintln!("SKIPPED: this user can't make a device node");
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn nothing_of_proc_is_reached_through_links() {
    let dir = project();
    for (name, to) in [
        ("self", "/proc/self"),
        ("fd", "/proc/self/fd"),
        ("root", "/proc/self/root"),
        ("environ", "/proc/self/environ"),
        ("stdin", "/dev/stdin"),
        ("tty", "/dev/tty"),
        ("up", "../../../../../../../../proc/self"),
    ] {
        symlink(to, dir.path().join("src").join(name)).unwrap();
    }
    for path in [
        "self/environ",
        "self/mem",
        "fd/0",
        "root/etc/passwd",
        "environ",
        "stdin",
        "tty",
        "up/environ",
        "/proc/self/environ",
        "/dev/null",
    ] {
        refused(dir.path(), path).await;
    }
}
