//! What a child gives up between fork and exec. All of it is made ready before
//! the fork; the child only hands it to the kernel.

use std::io;
use std::os::fd::OwnedFd;

/// One instruction of a seccomp filter, as the kernel takes it (`struct sock_filter`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Jump if true.
    pub jt: u8,
    /// Jump if false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// A resource that can be limited. Limits are inherited, and no child can raise them again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Processes and threads of the user, whoever started them. The kernel doesn't hold root to it.
    Processes,
    /// Bytes of one file that is written; what goes beyond gets SIGXFSZ.
    FileSize,
    /// Descriptors that one process has open.
    OpenFiles,
    /// Bytes of address space of one process.
    Memory,
}

/// What a child gives up before it becomes its program. Nothing if it is
/// [`Confinement::default`], but that it can gain no privileges (setuid) and
/// inherits no descriptor other than its standard streams.
///
/// Linux only; elsewhere a child with a confinement doesn't start.
#[derive(Debug, Default)]
pub struct Confinement {
    /// A Landlock ruleset.
    pub ruleset: Option<OwnedFd>,
    /// Seccomp filters, installed in this order.
    pub filters: Vec<Vec<Instruction>>,
    /// Soft and hard limit alike.
    pub limits: Vec<(Resource, u64)>,
    /// A network of its own, if there is to be one.
    pub own_network: Option<OwnNetwork>,
    /// Root keeps its say over files and ids, and loses what changes the machine or
    /// looks into others' processes. Nothing for anybody else.
    pub fewer_privileges: bool,
    /// Descriptors that the program inherits under their own numbers.
    pub keep: Vec<OwnedFd>,
}

/// A network namespace in which there is nothing but loopback. Whoever isn't
/// root gets a user namespace with it, in which they keep their ids.
#[derive(Debug, Default)]
pub struct OwnNetwork {
    /// The child listens on this port of its loopback, and sends the listening
    /// socket over this Unix socket (one byte with SCM_RIGHTS) before it becomes
    /// its program: who accepts there is outside, and reached from inside.
    pub listen: Option<(u16, OwnedFd)>,
}

/// What the child needs, in a form that takes no allocation to use.
#[cfg(target_os = "linux")]
pub(crate) struct Ready {
    with: std::sync::Arc<Confinement>,
    namespace: Option<linux::Namespace>,
}

#[cfg(target_os = "linux")]
impl Ready {
    /// Before the fork.
    pub(crate) fn new(with: std::sync::Arc<Confinement>) -> Ready {
        let namespace = with.own_network.is_some().then(linux::Namespace::new);
        Ready { with, namespace }
    }

    /// In the child. Only system calls; nothing here allocates or takes a lock.
    pub(crate) fn enter(&self) -> io::Result<()> {
        linux::close_others()?;
        for fd in &self.with.keep {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
        }
        for (resource, most) in &self.with.limits {
            linux::limit(*resource, *most)?;
        }
        if let Some(namespace) = &self.namespace {
            namespace.enter()?;
        }
        if let Some((port, to)) = self
            .with
            .own_network
            .as_ref()
            .and_then(|n| n.listen.as_ref())
        {
            linux::listen(*port, to)?;
        }
        if self.with.fewer_privileges {
            linux::lose_privileges()?;
        }
        rustix::thread::set_no_new_privs(true)?;
        if let Some(ruleset) = &self.with.ruleset {
            linux::restrict(ruleset)?;
        }
        for filter in &self.with.filters {
            linux::install(filter)?;
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct Ready;

#[cfg(not(target_os = "linux"))]
impl Ready {
    pub(crate) fn new(_: std::sync::Arc<Confinement>) -> Ready {
        Ready
    }

    pub(crate) fn enter(&self) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

#[cfg(target_os = "linux")]
#[path = "confine_linux.rs"]
mod linux;
