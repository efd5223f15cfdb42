//! The system calls behind a confinement that no safe binding has. All are made
//! in a child that was just forked, so none of them may allocate or lock.

use std::ffi::CStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Rlimit;
use rustix::thread::CapabilitySet;

use super::{Instruction, Resource};

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        // Builds the error from a number.
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Descriptors from 3 on are closed at exec.
pub(super) fn close_others() -> io::Result<()> {
    let (first, last, at_exec): (libc::c_uint, libc::c_uint, libc::c_uint) = (3, u32::MAX, 4);
    // SAFETY: takes numbers; closes nothing now, so nobody's descriptor becomes invalid here.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, at_exec) };
    match done(result) {
        // Before Linux 5.11. What this process opened itself closes at exec all the same.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
        other => other,
    }
}

pub(super) fn limit(resource: Resource, most: u64) -> io::Result<()> {
    use rustix::process::Resource as Kernel;
    let resource = match resource {
        Resource::Processes => Kernel::Nproc,
        Resource::FileSize => Kernel::Fsize,
        Resource::OpenFiles => Kernel::Nofile,
        Resource::Memory => Kernel::As,
    };
    // A limit that is lower already stays.
    let old = rustix::process::getrlimit(resource);
    let most = old.maximum.map_or(most, |max| max.min(most));
    let new = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(rustix::process::setrlimit(resource, new)?)
}

/// What root has no need of to work on files. The program gets at most what is left of
/// the bounding set when it is executed.
pub(super) fn lose_privileges() -> io::Result<()> {
    const LOST: [CapabilitySet; 19] = [
        CapabilitySet::AUDIT_CONTROL,
        CapabilitySet::AUDIT_READ,
        CapabilitySet::BPF,
        CapabilitySet::CHECKPOINT_RESTORE,
        CapabilitySet::DAC_READ_SEARCH,
        CapabilitySet::LINUX_IMMUTABLE,
        CapabilitySet::MAC_ADMIN,
        CapabilitySet::MAC_OVERRIDE,
        CapabilitySet::NET_ADMIN,
        CapabilitySet::PERFMON,
        CapabilitySet::SYSLOG,
        CapabilitySet::SYS_ADMIN,
        CapabilitySet::SYS_BOOT,
        CapabilitySet::SYS_MODULE,
        CapabilitySet::SYS_PTRACE,
        CapabilitySet::SYS_RAWIO,
        CapabilitySet::SYS_RESOURCE,
        CapabilitySet::SYS_TIME,
        CapabilitySet::SYS_TTY_CONFIG,
    ];
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for capability in LOST {
        match rustix::thread::capability_is_in_bounding_set(capability) {
            Ok(true) => rustix::thread::remove_capability_from_bounding_set(capability)?,
            // Not there, or not known to this kernel.
            Ok(false) | Err(Errno::INVAL) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

pub(super) fn restrict(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes a descriptor, which lives as long as the borrow, and a number.
    #[allow(unsafe_code)]
    done(unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            ruleset.as_raw_fd(),
            0 as libc::c_uint,
        )
    })
}

pub(super) fn install(filter: &[Instruction]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?,
        // `Instruction` has the layout of `sock_filter`; the kernel only reads it.
        filter: filter.as_ptr().cast_mut().cast(),
    };
    let flags: libc::c_ulong = 0;
    // SAFETY: the kernel copies `len` instructions, which are all there, and keeps no pointer.
    #[allow(unsafe_code)]
    done(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    })
}

/// A network namespace, and what a user who isn't root needs to make one.
pub(super) struct Namespace {
    /// `uid_map` and `gid_map`; none for root.
    maps: Option<(Line, Line)>,
}

impl Namespace {
    pub(super) fn new() -> Namespace {
        let uid = rustix::process::geteuid();
        let maps = (!uid.is_root()).then(|| {
            let gid = rustix::process::getegid().as_raw();
            (Line::of(uid.as_raw()), Line::of(gid))
        });
        Namespace { maps }
    }

    pub(super) fn enter(&self) -> io::Result<()> {
        let mut kinds = libc::CLONE_NEWNET;
        if self.maps.is_some() {
            kinds |= libc::CLONE_NEWUSER;
        }
        // SAFETY: takes a number. The child has one thread, shares no memory with
        // anybody, and holds no descriptor whose meaning depends on a namespace.
        #[allow(unsafe_code)]
        done(unsafe { libc::unshare(kinds) }.into())?;
        if let Some((uid, gid)) = &self.maps {
            write(c"/proc/self/setgroups", b"deny")?;
            write(c"/proc/self/uid_map", uid.text())?;
            write(c"/proc/self/gid_map", gid.text())?;
        }
        loopback_up()
    }
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, bytes)?;
    Ok(())
}

fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: all zeros is a valid `ifreq`; it has room for the name and its end.
    #[allow(unsafe_code)]
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (at, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *at = *byte as libc::c_char;
    }
    // SAFETY: both calls are given an `ifreq` that lives through them; the first
    // fills in the flags, which the second reads.
    #[allow(unsafe_code)]
    unsafe {
        done(libc::ioctl(fd, libc::SIOCGIFFLAGS, &raw mut request).into())?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        done(libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request).into())
    }
}

/// Listens on loopback and hands the socket over.
pub(super) fn listen(port: u16, to: &OwnedFd) -> io::Result<()> {
    use rustix::net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
        SocketType,
    };
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    rustix::net::bind(&socket, &here)?;
    rustix::net::listen(&socket, 64)?;
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let sockets = [socket.as_fd()];
    if !with.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
    }
    rustix::net::sendmsg(to, &[io::IoSlice::new(b"l")], &mut with, SendFlags::empty())?;
    Ok(())
}

/// `ID ID 1`, on the stack.
struct Line {
    bytes: [u8; 32],
    len: usize,
}

impl Line {
    fn of(id: u32) -> Line {
        use std::io::Write;
        let mut bytes = [0; 32];
        let mut rest = bytes.as_mut_slice();
        // Two numbers of ten digits at most fit in.
        let _ = write!(rest, "{id} {id} 1");
        let len = 32 - rest.len();
        Line { bytes, len }
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
