//! Ends what a host leaves behind when it is killed.
//!
//! A host that gets SIGKILL can do nothing any more. Its own children get a
//! signal from the kernel, but what these have started does not. So a host
//! posts a warden: a copy of itself, in a session of its own, with nothing to do
//! but to wait at a pipe for the host's end, and then to end everything that
//! bears one of the host's marks ([`crate::mark`]).

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::mark;
use crate::procfs::Process;
use crate::tree::{Deaths, Found, Purpose, descend, kill, terminate};

/// What a warden is called by those who list processes, or end them by name.
const NAME: &std::ffi::CStr = c"ralph-warden";

/// Between SIGTERM and SIGKILL: nobody of a dead host's is alive two seconds later.
const GRACE: Duration = Duration::from_millis(500);

/// So long after the host's death what it ran for itself may finish.
const FINISH: Duration = Duration::from_millis(1500);

/// A host that ends in good order says so with this.
const DISMISSED: u8 = b'.';

#[derive(Debug)]
enum Post {
    None,
    /// The one that goes between is still to be buried.
    Coming(Pid, PipeWriter),
    There(PipeWriter),
}

static POST: Mutex<Post> = Mutex::new(Post::None);

/// Posts one. From here on this process and all it starts bear its mark. To be
/// called first in a program, before it has threads or files of its own, once.
///
/// # Errors
/// There is none: should this process be killed, what its agents have started may stay.
pub fn post_warden() -> io::Result<()> {
    let mut post = lock();
    if !matches!(*post, Post::None) {
        return Ok(());
    }
    let host = mark::host()
        .ok_or_else(|| io::Error::other("the limit on file locks leaves no room for a mark"))?;
    mark::bear(host);
    let (between, pipe) = come(host)?;
    *post = Post::Coming(between, pipe);
    Ok(())
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
    *post = match std::mem::replace(&mut *post, Post::None) {
        Post::Coming(between, pipe) => {
            // Where children are buried unseen (SIGCHLD is ignored) this is an error, once it has ended.
            while waitpid(Some(between), WaitOptions::empty()).is_err_and(|e| e == Errno::INTR) {}
            Post::There(pipe)
        }
        other => other,
    };
}

fn lock() -> MutexGuard<'static, Post> {
    POST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Splits off one that splits off the warden and ends at once: so the warden is nobody's child.
fn come(host: u64) -> io::Result<(Pid, PipeWriter)> {
    let (theirs, ours) = io::pipe()?;
    // SAFETY: the caller's process has one thread, of which the copy is whole; it doesn't return.
    #[allow(unsafe_code)]
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Once this one is gone, the warden is no more in the host's directory, nor called as it was.
            let _ = std::env::set_current_dir("/");
            rename();
            // SAFETY: the same. Nothing in a copy is left to be tidied up.
            unsafe {
                if libc::fork() == 0 {
                    let _ = catch_unwind(AssertUnwindSafe(|| stand(host, &theirs)));
                }
                libc::_exit(0)
            }
        }
        between => Pid::from_raw(between)
            .map(|between| (between, ours))
            .ok_or_else(|| io::Error::other("no process id")),
    }
}

/// What the warden does, with nothing of the host's but its code.
fn stand(host: u64, pipe: &PipeReader) {
    // A signal to the host's group or terminal is not for this one.
    let _ = rustix::process::setsid();
    if rustix::stdio::dup2_stdin(pipe).is_err() {
        return;
    }
    if let Ok(null) = fs::File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    close_others();
    watch(host);
}

/// The pipe's other end among them, or its end would never be seen.
fn close_others() {
    let Ok(open) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open = open.flatten().map(|entry| entry.file_name());
    let open: Vec<i32> = open.filter_map(|n| n.to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: whose they were is gone with the host's other threads and functions; nothing in here uses them.
        #[allow(unsafe_code)]
        unsafe {
            libc::close(fd);
        }
    }
}

/// Who ends all that is called `ralph`, or was called as the host was, isn't to end this one too.
fn rename() {
    let _ = rustix::thread::set_name(NAME);
    let area = || {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // Fields 48 and 49 (proc(5)); the third is the first behind the name.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(45);
        let (start, end): (usize, usize) =
            (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (start != 0 && end > start).then_some((start, end - start))
    };
    if let Some((start, length)) = area() {
        let name = NAME.to_bytes();
        // SAFETY: the kernel says that the arguments stand there; they are this process's own, can be
        // written, and nobody in this process reads them any more.
        #[allow(unsafe_code)]
        unsafe {
            let start = start as *mut u8;
            std::ptr::write_bytes(start, 0, length);
            std::ptr::copy_nonoverlapping(name.as_ptr(), start, name.len().min(length - 1));
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
