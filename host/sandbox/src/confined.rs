//! What stands beside a confined child: its way to the hosts it may reach.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use ralph_config::HostPattern;

use crate::enforced::Enforced;
use crate::plan::SandboxError;
use crate::proxy::Proxy;

/// What stands beside a child while it runs. Its proxy ends when this is dropped.
#[derive(Debug)]
pub struct Confined {
    pub(crate) enforced: Enforced,
    pub(crate) listener: Option<(OwnedFd, Vec<HostPattern>)>,
    pub(crate) proxy: Option<Proxy>,
}

impl Confined {
    /// To be called once the child has started: serves the socket on which it reaches the hosts it may reach.
    ///
    /// # Errors
    /// The child hasn't handed its socket over. It then reaches nobody.
    pub fn started(&mut self) -> Result<(), SandboxError> {
        if let Some((from, hosts)) = self.listener.take() {
            self.proxy = Some(Proxy::serve(handed_over(&from)?, hosts)?);
        }
        Ok(())
    }

    /// What holds the child.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// Hosts it asked for and may not reach, at most 32.
    pub fn refused_hosts(&self) -> Vec<String> {
        self.proxy.as_ref().map(Proxy::refused).unwrap_or_default()
    }
}

fn handed_over(from: &OwnedFd) -> Result<TcpListener, SandboxError> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::net::recvmsg(
        from,
        &mut [io::IoSliceMut::new(&mut byte)],
        &mut with,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(io::Error::from)?;
    for message in with.drain() {
        if let RecvAncillaryMessage::ScmRights(mut sockets) = message
            && let Some(socket) = sockets.next()
        {
            return Ok(socket.into());
        }
    }
    Err(SandboxError("the child has handed no socket over".into()))
}

pub(crate) fn set(env: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    env.retain(|(n, _)| n != name);
    env.push((name.into(), value));
}

/// Says where the proxy is, in all the ways that programs look for it.
pub(crate) fn proxied(env: &mut Vec<(OsString, OsString)>, port: u16) {
    let url = format!("http://127.0.0.1:{port}");
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ] {
        set(env, name, url.clone().into());
    }
    for name in ["NO_PROXY", "no_proxy"] {
        env.retain(|(n, _)| n != name);
    }
    // Node's own fetch looks at them only then.
    set(env, "NODE_USE_ENV_PROXY", "1".into());
}
