//! Ends what a host leaves behind when it is killed.
//!
//! A host that gets SIGKILL can do nothing any more. Its own children get a
//! signal from the kernel, but what these have started does not. So a host
//! posts a warden: this same program once more, in a session of its own, with
//! nothing to do but to wait at a pipe for the host's end, and then to end
//! everything that bears one of the host's marks ([`crate::mark`]).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::mark;
use crate::procfs::Process;
use crate::tree::{Deaths, Found, Purpose, descend, kill, terminate};

/// Tells a program that it is to be a warden, and of which host.
const ORDER: &str = "RALPH_WARDEN";

/// Between SIGTERM and SIGKILL: nobody of a dead host's is alive two seconds later.
const GRACE: Duration = Duration::from_millis(500);

/// So long after the host's death what it ran for itself may finish.
const FINISH: Duration = Duration::from_millis(1500);

/// A host that ends in good order says so with this.
const DISMISSED: u8 = b'.';

#[derive(Debug)]
enum Post {
    None,
    Coming(JoinHandle<Option<ChildStdin>>),
    There(ChildStdin),
}

static POST: Mutex<Post> = Mutex::new(Post::None);

/// To be called first in `main` of a program that posts wardens, while it has one
/// thread. True if this process was told to be one; its work is done then.
pub fn stand_guard() -> bool {
    let Ok(order) = std::env::var(ORDER) else {
        return false;
    };
    let Ok(host) = order.parse::<u64>() else {
        return false;
    };
    // SAFETY: the child does its work on the one thread it has and doesn't return.
    #[allow(unsafe_code)]
    match unsafe { libc::fork() } {
        0 => {
            watch(host);
            // SAFETY: nothing is left to be tidied up.
            unsafe { libc::_exit(0) }
        }
        // Nobody is left to be told of a failure but the host, which sees the pipe close.
        _ => true,
    }
}

/// Posts one, in the background. `args` are what the program is called with
/// then; it has to come to [`stand_guard`] with them. From here on this process
/// and all it starts bear its mark. To be called before the first
/// [`crate::start`], once.
pub fn post_warden(args: Vec<OsString>) {
    let mut post = lock();
    if !matches!(*post, Post::None) {
        return;
    }
    let Some(host) = mark::host() else {
        tracing::warn!("no warden: the limit on file locks leaves no room for a mark");
        return;
    };
    mark::bear(host);
    let coming = std::thread::Builder::new()
        .name("ralph-warden".into())
        .spawn(move || come(args, host));
    match coming {
        Ok(coming) => *post = Post::Coming(coming),
        Err(error) => tracing::warn!(%error, "no warden: no thread could be made for it"),
    }
}

/// Sends it away: this process ends in good order, and what still runs may run on.
pub fn dismiss_warden() {
    settle();
    let post = std::mem::replace(&mut *lock(), Post::None);
    if let Post::There(mut pipe) = post {
        // It may have been killed; then there is nobody to send away.
        let _ = pipe.write_all(&[DISMISSED]);
    }
}

/// Waits until the warden is no child of this process any more: an orphan of
/// ours that comes later is adopted, and this one must not be.
pub(crate) fn settle() {
    let mut post = lock();
    if matches!(*post, Post::Coming(_))
        && let Post::Coming(coming) = std::mem::replace(&mut *post, Post::None)
        && let Ok(Some(pipe)) = coming.join()
    {
        *post = Post::There(pipe);
    }
}

fn lock() -> MutexGuard<'static, Post> {
    POST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn come(args: Vec<OsString>, host: u64) -> Option<ChildStdin> {
    let there = itself(args, host).and_then(|mut first| {
        let pipe = first.stdin.take();
        // A host that was started with SIGCHLD ignored is told of an error here,
        // once the child has ended, which is what counts.
        let _ = first.wait();
        pipe.ok_or_else(|| io::Error::other("it has no pipe"))
    });
    there
        .inspect_err(|error| {
            tracing::warn!(%error, "no warden: should this process be killed, what its agents have started may stay");
        })
        .ok()
}

fn itself(args: Vec<OsString>, host: u64) -> io::Result<Child> {
    // Also right when the file was replaced meanwhile.
    Command::new("/proc/self/exe")
        .arg0("ralph-warden")
        .args(args)
        .env(ORDER, host.to_string())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Waits for the host's end, and ends what is left unless it was sent away.
fn watch(host: u64) {
    // A signal to the host's group or terminal is not for this one.
    let _ = rustix::process::setsid();
    let mut byte = [0];
    loop {
        match io::stdin().read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(1) if byte[0] == DISMISSED => return,
            // Whatever else came, nobody will come and say so.
            Ok(1) => {}
            _ => break,
        }
    }
    let died = Instant::now();
    let children = |mark: u64| mark != host && mark::of_host(host).contains(&mark);
    let mut found = Found::new();
    walk(&mut found, Purpose::Look, children);
    terminate(&found, GRACE);
    kill(found, None, |found, purpose| walk(found, purpose, children));
    // What the host ran for itself is git, which leaves a repository in order only
    // if it may finish; a hook that hangs may not.
    let own = |mark: u64| mark == host;
    let mut found = Found::new();
    walk(&mut found, Purpose::Look, own);
    let _ = found.values().all(|p| p.wait(died + FINISH));
    kill(found, None, |found, purpose| walk(found, purpose, own));
}

/// All live processes that bear such a mark, and what comes from them, but for this one.
fn walk(found: &mut Found, purpose: Purpose, marked: impl Fn(u64) -> bool) -> Deaths {
    let own = std::process::id();
    let theirs = |p: &Process| p.pid != own && mark::on(p.pid).is_some_and(&marked);
    let dead = descend(found, purpose, theirs);
    found.remove(&own);
    Deaths { dead, buried: 0 }
}
