//! Standard input and output of those who serve one client over them.
//!
//! Reading and writing files takes a thread, and each request two changes of threads. A pipe can be
//! waited for; but whether it blocks is a property that all who have it open share, so it is opened
//! once more, which only Linux can.

use std::fs::File;

use tokio::io::{AsyncRead, AsyncWrite};

/// What the client sends.
pub fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    #[cfg(target_os = "linux")]
    if let Ok(pipe) = again().open_receiver("/proc/self/fd/0") {
        return Box::new(pipe);
    }
    Box::new(tokio::io::stdin())
}

/// Where what it is sent goes.
pub fn output(file: File) -> Box<dyn AsyncWrite + Send + Unpin> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(pipe) = again().open_sender(path) {
            return Box::new(pipe);
        }
    }
    Box::new(tokio::fs::File::from_std(file))
}

/// Fails for what is no pipe, or somebody else's.
#[cfg(target_os = "linux")]
fn again() -> tokio::net::unix::pipe::OpenOptions {
    tokio::net::unix::pipe::OpenOptions::new()
}
