//! Seccomp filters: system calls that neither an agent nor a gate has any use for, and
//! sockets where the network is closed.

use std::collections::BTreeMap;

use ralph_process::Instruction;
use seccompiler::{
    BackendError, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// What a filter is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Nothing else keeps a program from looking into others.
    pub(crate) no_tracing: bool,
    /// The program may make namespaces, and mounts in them, e.g. for a sandbox of its own.
    pub(crate) namespaces: bool,
    /// Modes, owners, times and attributes of files stay as they are.
    pub(crate) no_metadata: bool,
    /// Which sockets it may make.
    pub(crate) sockets: Sockets,
}

/// Which sockets a program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// All.
    Any,
    /// Unix, and TCP over IP.
    Tcp,
    /// Unix.
    Unix,
}

/// Change the machine, or are a way around every other check.
const NEVER: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[i64] = &[];

const TRACING: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// Mounts and namespaces.
const NAMESPACES: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
];

const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    /* fchmodat2 */ 452,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

#[cfg(target_arch = "x86_64")]
const METADATA_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const METADATA_HERE: &[i64] = &[];

const ANY_NAMESPACE: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// The filters, to be installed in this order. Empty on a processor this program has no table for.
pub(crate) fn filters(filter: Filter) -> Result<Vec<Vec<Instruction>>, BackendError> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(Vec::new());
    };
    let mut deny = Denied(BTreeMap::new());
    deny.all(NEVER);
    deny.all(NEVER_HERE);
    // Characters put into a terminal's input as if they were typed.
    for command in [libc::TIOCSTI, libc::TIOCLINUX] {
        deny.when(libc::SYS_ioctl, &[at(1, SeccompCmpOp::Eq, command)?])?;
    }
    if filter.no_tracing {
        deny.all(TRACING);
    }
    if filter.no_metadata {
        deny.all(METADATA);
        deny.all(METADATA_HERE);
    }
    let mut absent = Denied(BTreeMap::new());
    if !filter.namespaces {
        deny.all(NAMESPACES);
        for bit in (0..64)
            .map(|n| 1u64 << n)
            .filter(|bit| ANY_NAMESPACE & bit != 0)
        {
            for call in [libc::SYS_unshare, libc::SYS_clone] {
                let set = SeccompCondition::new(
                    0,
                    SeccompCmpArgLen::Qword,
                    SeccompCmpOp::MaskedEq(bit),
                    bit,
                )?;
                deny.when(call, &[set])?;
            }
        }
        // Its flags are in memory, where a filter can't look. Without it, programs use clone.
        absent.all(&[libc::SYS_clone3]);
    }
    deny.sockets(filter.sockets)?;
    let mut filters = vec![deny.program(libc::EPERM, arch)?];
    if !absent.0.is_empty() {
        filters.push(absent.program(libc::ENOSYS, arch)?);
    }
    Ok(filters)
}

struct Denied(BTreeMap<i64, Vec<SeccompRule>>);

impl Denied {
    /// Whatever the arguments. Nothing that was said of one of them before counts any more.
    fn all(&mut self, calls: &[i64]) {
        self.0.extend(calls.iter().map(|call| (*call, Vec::new())));
    }

    /// If all of these hold.
    fn when(&mut self, call: i64, conditions: &[SeccompCondition]) -> Result<(), BackendError> {
        let rule = SeccompRule::new(conditions.to_vec())?;
        self.0.entry(call).or_default().push(rule);
        Ok(())
    }

    fn sockets(&mut self, sockets: Sockets) -> Result<(), BackendError> {
        use SeccompCmpOp::{Eq, MaskedEq, Ne};
        let (unix, ip4, ip6) = (
            libc::AF_UNIX as u64,
            libc::AF_INET as u64,
            libc::AF_INET6 as u64,
        );
        match sockets {
            Sockets::Any => {}
            Sockets::Unix => self.when(libc::SYS_socket, &[at(0, Ne, unix)?])?,
            Sockets::Tcp => {
                let other = [at(0, Ne, unix)?, at(0, Ne, ip4)?, at(0, Ne, ip6)?];
                self.when(libc::SYS_socket, &other)?;
                for family in [ip4, ip6] {
                    // All kinds but the stream; then all protocols of streams but TCP.
                    for kind in [
                        libc::SOCK_DGRAM,
                        libc::SOCK_RAW,
                        libc::SOCK_RDM,
                        libc::SOCK_SEQPACKET,
                        libc::SOCK_DCCP,
                        /* SOCK_PACKET */ 10,
                    ] {
                        let kind = at(1, MaskedEq(0xf), kind as u64)?;
                        self.when(libc::SYS_socket, &[at(0, Eq, family)?, kind])?;
                    }
                    let protocol = [
                        at(0, Eq, family)?,
                        at(2, Ne, 0)?,
                        at(2, Ne, libc::IPPROTO_TCP as u64)?,
                    ];
                    self.when(libc::SYS_socket, &protocol)?;
                }
                // Connects without the call that Landlock looks at.
                let fast = libc::MSG_FASTOPEN as u64;
                for (call, argument) in [
                    (libc::SYS_sendto, 3),
                    (libc::SYS_sendmsg, 2),
                    (libc::SYS_sendmmsg, 3),
                ] {
                    self.when(call, &[at(argument, MaskedEq(fast), fast)?])?;
                }
            }
        }
        Ok(())
    }

    fn program(self, errno: i32, arch: TargetArch) -> Result<Vec<Instruction>, BackendError> {
        let deny = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(self.0, SeccompAction::Allow, deny, arch)?;
        let program: seccompiler::BpfProgram = filter.try_into()?;
        let program = program.into_iter().map(|i| Instruction {
            code: i.code,
            jt: i.jt,
            jf: i.jf,
            k: i.k,
        });
        Ok(without_x32(arch).into_iter().chain(program).collect())
    }
}

fn at(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// On x86-64 a call can also be made with the numbers of x32, which no list here has.
fn without_x32(arch: TargetArch) -> Vec<Instruction> {
    if !matches!(arch, TargetArch::x86_64) {
        return Vec::new();
    }
    let step = |code: u32, jt, jf, k| Instruction {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let number = 0;
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, number),
        step(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            0,
            1,
            0x4000_0000,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, absent),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_filter_can_be_made() {
        for sockets in [Sockets::Any, Sockets::Tcp, Sockets::Unix] {
            for bits in 0..8 {
                let made = filters(Filter {
                    no_tracing: bits & 1 != 0,
                    namespaces: bits & 2 != 0,
                    no_metadata: bits & 4 != 0,
                    sockets,
                })
                .unwrap();
                assert!(!made.is_empty());
                assert!(made.iter().all(|f| f.len() < 4096), "the kernel's limit");
            }
        }
    }
}
