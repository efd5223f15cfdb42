//! What is done to processes, to the network and to the kernel. Calls that no
//! library would make for us are made by number; where a success would do harm,
//! the arguments are such that only a filter's own refusal is told apart.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::stage::{self, Stage};

fn done(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn call(number: libc::c_long, args: [libc::c_long; 3]) -> io::Result<libc::c_long> {
    // SAFETY: those who call this pass numbers, or null where the kernel looks for memory.
    done(unsafe { libc::syscall(number, args[0], args[1], args[2], 0, 0) })
}

/// Anything but a filter's or a capability's refusal means that the kernel has looked at the call.
pub(super) fn passes(number: libc::c_long, args: [libc::c_long; 3]) -> io::Result<()> {
    match call(number, args) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => Err(e),
        _ => Ok(()),
    }
}

/// In a child of one thread, as some calls want it.
pub(super) fn in_a_child(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the child makes system calls and leaves; it returns to nobody.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = act().err().map_or(0, |e| e.raw_os_error().unwrap_or(255));
        // SAFETY: always.
        unsafe { libc::_exit(code) };
    }
    done(pid.into())?;
    let mut status = 0;
    // SAFETY: the status lives through the call.
    done(unsafe { libc::waitpid(pid, &raw mut status, 0) }.into())?;
    match libc::WEXITSTATUS(status) {
        0 if libc::WIFEXITED(status) => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn pid(of: u32) -> io::Result<Pid> {
    Pid::from_raw(of.cast_signed()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// One that does nothing: whether it may be sent is what counts.
pub(super) fn signal(to: u32) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid(to)?, Signal::URG)?)
}

pub(super) fn may_signal(to: u32) -> io::Result<()> {
    Ok(rustix::process::test_kill_process(pid(to)?)?)
}

pub(super) fn signal_by_pidfd(to: u32) -> io::Result<()> {
    let fd = rustix::process::pidfd_open(pid(to)?, rustix::process::PidfdFlags::empty())?;
    Ok(rustix::process::pidfd_send_signal(fd, Signal::URG)?)
}

pub(super) fn trace(whom: u32) -> io::Result<()> {
    call(
        libc::SYS_ptrace,
        [libc::PTRACE_SEIZE.into(), whom.into(), 0],
    )?;
    call(
        libc::SYS_ptrace,
        [libc::PTRACE_DETACH.into(), whom.into(), 0],
    )
    .ok();
    Ok(())
}

pub(super) fn read_memory(of: u32) -> io::Result<()> {
    // Nothing is read from nowhere; the right to read is looked at first.
    let mut byte = 0u8;
    let here = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let there = libc::iovec {
        iov_base: 0x1000 as *mut _,
        iov_len: 1,
    };
    // SAFETY: one byte is written, into `byte`, at most.
    let read = unsafe {
        libc::process_vm_readv(of.cast_signed(), &raw const here, 1, &raw const there, 1, 0)
    };
    match done(read as libc::c_long) {
        Err(e) if e.raw_os_error() == Some(libc::EFAULT) => Ok(()),
        other => other.map(drop),
    }
}

fn hear(mut stream: TcpStream, word: &[u8; 4]) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(word)?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer)
}

pub(super) fn tcp(stage: &Stage) -> io::Result<()> {
    hear(
        TcpStream::connect(("127.0.0.1", stage.tcp_port()))?,
        b"tcp.",
    )
}

pub(super) fn udp(stage: &Stage) -> io::Result<()> {
    UdpSocket::bind("127.0.0.1:0")?
        .send_to(b"evil", ("127.0.0.1", stage.udp_port()))
        .map(drop)
}

/// A connection that is made by sending.
pub(super) fn fast_open(stage: &Stage) -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType};
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let there = SocketAddrV4::new(Ipv4Addr::LOCALHOST, stage.tcp_port());
    let flags = rustix::net::SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
    rustix::net::sendto(&socket, b"fast", flags, &there)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.read_exact(&mut [0; 4])
}

pub(super) fn sees_interfaces() -> io::Result<()> {
    (stage::interfaces() > 1)
        .then_some(())
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

pub(super) fn abstract_socket(stage: &Stage) -> io::Result<()> {
    let name = std::os::unix::net::SocketAddr::from_abstract_name(stage.abstract_name())?;
    UnixStream::connect_addr(&name).map(drop)
}

pub(super) fn path_socket(stage: &Stage) -> io::Result<()> {
    UnixStream::connect(stage.socket()).map(drop)
}

pub(super) fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<()> {
    let fd = call(
        libc::SYS_socket,
        [family.into(), kind.into(), protocol.into()],
    )?;
    // SAFETY: it was just made, and belongs to nobody else.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Ok(())
}

/// What a program does that knows of the proxy.
pub(super) fn proxied(host: &str, port: u16) -> io::Result<()> {
    let proxy = std::env::var("HTTPS_PROXY").map_err(|_| io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head);
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(io::Error::other(
            head.lines().next().unwrap_or_default().to_owned(),
        ));
    }
    hear(stream, b"prox")
}

pub(super) fn join(whom: u32, namespace: &str) -> io::Result<()> {
    let file = File::open(format!("/proc/{whom}/ns/{namespace}"))?;
    call(libc::SYS_setns, [file.as_raw_fd().into(), 0, 0]).map(drop)
}

/// Of a kind that no kernel knows: who may mount is told so.
pub(super) fn mount(over: &Path) -> io::Result<()> {
    let over = super::acts::c(over);
    // SAFETY: all pointers are to texts that end with a NUL, or null.
    let result = unsafe {
        libc::mount(
            c"none".as_ptr(),
            over.as_ptr(),
            c"no-such-kind".as_ptr(),
            0,
            std::ptr::null(),
        )
    };
    match done(result.into()) {
        Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        other => other.map(drop),
    }
}

pub(super) fn raise_a_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum.map(|m| m + 1);
    let new = Rlimit {
        current: most,
        maximum: most,
    };
    Ok(setrlimit(Resource::Nofile, new)?)
}

pub(super) fn unshare(kinds: libc::c_int) -> io::Result<()> {
    call(libc::SYS_unshare, [kinds.into(), 0, 0]).map(drop)
}

/// `/` writable again, from a namespace in which one may mount.
pub(super) fn remount() -> io::Result<()> {
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    let flags = libc::MS_REMOUNT | libc::MS_BIND;
    // SAFETY: as above.
    let result = unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            std::ptr::null(),
            flags,
            std::ptr::null(),
        )
    };
    done(result.into()).map(drop)
}

/// What lies over a secret taken away, from a namespace in which one may unmount.
pub(super) fn uncover(stage: &Stage) -> io::Result<()> {
    let (dir, secret) = (super::acts::c(&stage.home().join(".ssh")), stage.secret());
    in_a_child(move || {
        unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
        // SAFETY: as above.
        done(unsafe { libc::umount2(dir.as_ptr(), libc::MNT_DETACH) }.into())?;
        super::acts::read(&secret)
    })
}

pub(super) fn chroot(dir: &CStr) -> io::Result<()> {
    // SAFETY: as above.
    done(unsafe { libc::chroot(dir.as_ptr()) }.into()).map(drop)
}

pub(super) fn io_uring() -> io::Result<()> {
    let mut parameters = [0u8; 256];
    // SAFETY: `io_uring_params` is 120 bytes, all zeros a valid one.
    let fd = done(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })?;
    // SAFETY: it was just made, and belongs to nobody else.
    drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
    Ok(())
}

pub(super) fn type_into_a_terminal() -> io::Result<()> {
    let byte = b'x';
    // SAFETY: one byte is read. Standard input is no terminal: past a filter it is ENOTTY.
    let result = unsafe { libc::ioctl(0, libc::TIOCSTI, &raw const byte) };
    match done(result.into()) {
        Err(e) if e.raw_os_error() == Some(libc::EPERM) => Err(e),
        _ => Ok(()),
    }
}

/// A pair of one's own, as agents use it for commands.
pub(super) fn open_a_terminal() -> io::Result<()> {
    let (mut one, mut other) = (0, 0);
    let (name, attributes, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: the two numbers live through the call, the rest may be null.
    done(unsafe { libc::openpty(&raw mut one, &raw mut other, name, attributes, size) }.into())?;
    for fd in [one, other] {
        // SAFETY: they were just made, and belong to nobody else.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    Ok(())
}

pub(super) fn may_gain_privileges() -> io::Result<()> {
    match rustix::thread::no_new_privs()? {
        true => Err(io::Error::from_raw_os_error(libc::EPERM)),
        false => Ok(()),
    }
}

/// A directory that another may take the place of.
pub(super) fn there_and_back(dir: &Path) -> io::Result<()> {
    let aside = dir.with_extension("aside");
    std::fs::rename(dir, &aside)?;
    std::fs::rename(&aside, dir)
}

/// Two hundred at once, as somebody whom the limit holds.
pub(super) fn fork_bomb() -> io::Result<()> {
    in_a_child(|| {
        call(libc::SYS_setresuid, [65_432, 65_432, 65_432])?;
        let mut children = Vec::new();
        let mut result = Ok(());
        for _ in 0..200 {
            // SAFETY: the child only waits to be killed, at most for a minute.
            match unsafe { libc::fork() } {
                0 => unsafe {
                    libc::sleep(60);
                    libc::_exit(0)
                },
                -1 => {
                    result = Err(io::Error::last_os_error());
                    break;
                }
                child => children.push(child),
            }
        }
        for child in children {
            // SAFETY: they are this process's own, and not yet waited for.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
        result
    })
}

pub(super) fn many_files() -> io::Result<()> {
    let files: Result<Vec<File>, _> = (0..300).map(|_| File::open("/dev/null")).collect();
    files.map(drop)
}

pub(super) fn huge_file(path: &Path) -> io::Result<()> {
    // Else the signal would end this process.
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut file = File::create(path)?;
    let piece = vec![0; 1 << 20];
    (0..9).try_for_each(|_| file.write_all(&piece))
}

pub(super) fn much_memory() -> io::Result<()> {
    let mut bytes = Vec::<u8>::new();
    bytes
        .try_reserve_exact(8 << 30)
        .map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))
}
