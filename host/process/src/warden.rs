//! Ends what a host leaves behind when it is killed.
//!
//! A host that gets SIGKILL can do nothing any more. Its own children get a
//! signal from the kernel, but what these have started does not. So a host
//! posts a warden: this same program once more, in a session of its own, with
//! nothing to do but to wait at a pipe for the host's end, and then to end
//! everything that bears one of the host's marks ([`crate::mark`]).

use std::ffi::{CString, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Mutex, PoisonError};
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

/// The pipe at whose other end the warden waits.
static POST: Mutex<Option<PipeWriter>> = Mutex::new(None);

/// To be called first in `main` of a program that posts wardens. True if this
/// process was one; its work is done then.
pub fn stand_guard() -> bool {
    let Ok(order) = std::env::var(ORDER) else {
        return false;
    };
    let Ok(host) = order.parse::<u64>() else {
        return false;
    };
    watch(host);
    true
}

/// Posts one. `args` are what the program is called with then; it has to come to
/// [`stand_guard`] with them. From here on this process and all it starts bear its
/// mark. To be called before the first [`crate::start`], once.
pub fn post_warden(args: Vec<OsString>) {
    let mut post = POST.lock().unwrap_or_else(PoisonError::into_inner);
    if post.is_some() {
        return;
    }
    let Some(host) = mark::host() else {
        tracing::warn!("no warden: the limit on file locks leaves no room for a mark");
        return;
    };
    mark::bear(host);
    match Errand::new(args, host).and_then(|(errand, pipe)| errand.run().map(|()| pipe)) {
        Ok(pipe) => *post = Some(pipe),
        Err(error) => {
            tracing::warn!(%error, "no warden: should this process be killed, what its agents have started may stay");
        }
    }
}

/// Sends it away: this process ends in good order, and what still runs may run on.
pub fn dismiss_warden() {
    let post = POST.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(mut pipe) = post {
        // It may have been killed; then there is nobody to send away.
        let _ = pipe.write_all(&[DISMISSED]);
    }
}

/// All that the warden's first steps need, made before them: between `fork` and
/// `execve` nothing may be allocated.
struct Errand {
    args: Vec<CString>,
    env: Vec<CString>,
    pipe: PipeReader,
    null: File,
}

impl Errand {
    fn new(args: Vec<OsString>, host: u64) -> io::Result<(Errand, PipeWriter)> {
        let c = |text: OsString| CString::new(text.into_vec()).map_err(io::Error::other);
        let mut all = vec![c"ralph-warden".to_owned()];
        for arg in args {
            all.push(c(arg)?);
        }
        let mut env = Vec::new();
        for (name, value) in std::env::vars_os().filter(|(name, _)| name != ORDER) {
            let mut pair = name;
            pair.push("=");
            pair.push(value);
            env.push(c(pair)?);
        }
        env.push(c(format!("{ORDER}={host}").into())?);
        let (theirs, ours) = io::pipe()?;
        let null = OpenOptions::new().write(true).open("/dev/null")?;
        let errand = Errand {
            args: all,
            env,
            pipe: theirs,
            null,
        };
        Ok((errand, ours))
    }

    /// Makes the warden. It is nobody's child when this returns: an orphan of ours
    /// that comes later is adopted, and the warden must not be.
    fn run(self) -> io::Result<()> {
        let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
            let all = list.iter().map(|text| text.as_ptr());
            all.chain([std::ptr::null()]).collect()
        };
        let (args, env) = (pointers(&self.args), pointers(&self.env));
        let (pipe, null) = (self.pipe.as_raw_fd(), self.null.as_raw_fd());
        // SAFETY: the children of both forks only make calls that are allowed after a
        // fork and end in `execve` or `_exit`; what the pointers name lives in `self`.
        #[allow(unsafe_code)]
        let first = unsafe {
            match libc::fork() {
                0 => match libc::fork() {
                    0 => {
                        // A signal to the host's group or terminal is not for this one.
                        libc::setsid();
                        libc::dup2(pipe, 0);
                        libc::dup2(null, 1);
                        libc::dup2(null, 2);
                        libc::chdir(c"/".as_ptr());
                        // Also right when the file was replaced meanwhile.
                        libc::execve(c"/proc/self/exe".as_ptr(), args.as_ptr(), env.as_ptr());
                        libc::_exit(127)
                    }
                    second => libc::_exit((second < 0).into()),
                },
                first => first,
            }
        };
        let first = rustix::process::Pid::from_raw(first).filter(|_| first > 0);
        let first = first.ok_or_else(io::Error::last_os_error)?;
        loop {
            let options = rustix::process::WaitOptions::empty();
            match rustix::process::waitpid(Some(first), options) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(Some((_, status))) if status.exit_status() != Some(0) => {
                    return Err(io::Error::other("the second fork failed"));
                }
                // A host that was started with SIGCHLD ignored is told of an error here,
                // once the child has ended, which is what counts.
                _ => return Ok(()),
            }
        }
    }
}

/// Waits for the host's end, and ends what is left unless it was sent away.
fn watch(host: u64) {
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
