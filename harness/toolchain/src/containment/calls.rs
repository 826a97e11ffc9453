//! The seccomp filter of system calls. Calls that workers and the programs that they start need pass ([`super::allowed`]). Calls
//! that reach beyond a worker fail with `EPERM`, so that a kernel's outcome names them. Any other call, even one of a newer
//! Linux, fails with `ENOSYS`, on which the C library does without. Calls that pass are not slower, because Linux caches which
//! ones do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::allowed;

/// Calls that no worker makes, whose refusal is to be seen.
const DENIED: &[i64] = &[
    // Other processes: their memory, their files, their being traced.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Calls that Landlock does not see: modes, owners, times and attributes of files anywhere, files by handle, and
    // queries for a file's users.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    // Memory and messages that processes share under a name that is not a file's.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_memfd_secret,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Parts of the kernel that programs do not need and attackers like.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Calls that are newer than the `libc` crate; the numbers are those of every processor.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const FILE_SETATTR: i64 = 469;

/// The older forms of some of them, and what this processor alone has.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// Controls of files and terminals that Landlock lets pass: flags of files (`FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR`),
/// typing for the user (`TIOCSTI`, `TIOCLINUX`), and whom to signal (`FIOSETOWN`, `SIOCSPGRP`).
const CONTROLS: &[u64] = &[0x4008_6602, 0x401c_5820, 0x5412, 0x541c, 0x8901, 0x8902];

/// Forbidden operations on an open file: choosing a process to signal (`F_SETOWN`, `F_SETOWN_EX`), blocking or watching
/// other processes (`F_SETLEASE`, `F_NOTIFY`), and enlarging a pipe, whose memory is charged to no process
/// (`F_SETPIPE_SZ`).
const FILE_CONTROLS: &[u64] = &[8, 15, 1024, 1026, 1031];

/// Calls that a process may make only for itself, as process 0: limits, scheduling. A thread may use only 0 too, because a
/// filter cannot know the numbers of its own threads.
const FOR_ITSELF: &[i64] = &[
    libc::SYS_prlimit64,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Those that say first what the number is that comes second, and what it is where that is a process.
const FOR_ITSELF_OF_A_KIND: &[(i64, u64)] = &[(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// Calls that send open files to others, or to oneself: a file in transit is in no list of open files. A filter cannot
/// see the contents of a message.
const SENDING: &[i64] = &[libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// The error of `connect` for a worker with a GPU, as if no service were there. The driver looks for a service that
/// shares GPUs, and works without it.
const CONNECTION_REFUSED: u32 = libc::ECONNREFUSED as u32;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts the calling thread.
pub(super) fn confine(gpu: bool) -> Result<(), seccompiler::Error> {
    for program in build_programs(gpu)? {
        apply_filter(&program)?;
    }
    Ok(())
}

/// Restricts the calling thread, to see whether that can be done; why it cannot.
pub(super) fn try_restrict() -> Option<seccompiler::Error> {
    confine(false).err()
}

fn build_programs(gpu: bool) -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let sending = if gpu { &[] } else { SENDING };
    let mut rules: Rules = DENIED
        .iter()
        .chain(DENIED_HERE)
        .chain(sending)
        .map(|&call| (call, vec![]))
        .collect();
    for (call, controls) in [(libc::SYS_ioctl, CONTROLS), (libc::SYS_fcntl, FILE_CONTROLS)] {
        let controls = controls.iter().map(|&control| require_all([is(1, control)]));
        rules.insert(call, controls.collect::<Result<_, _>>()?);
    }
    for &call in FOR_ITSELF {
        rules.insert(call, vec![require_all([is_not(0, 0)])?]);
    }
    for &(call, process) in FOR_ITSELF_OF_A_KIND {
        rules.insert(
            call,
            vec![require_all([is_not(0, process)])?, require_all([is_not(1, 0)])?],
        );
    }
    let local = libc::AF_UNIX as u64;
    let sockets = if gpu {
        // A socket that is not a stream could send to an address without being connected.
        vec![
            require_all([is_not(0, local)])?,
            require_all([is_kind(libc::SOCK_DGRAM)])?,
            require_all([is_kind(libc::SOCK_RAW)])?,
        ]
    } else {
        vec![]
    };
    rules.insert(libc::SYS_socket, sockets);
    rules.insert(
        libc::SYS_socketpair,
        vec![
            require_all([is_kind(libc::SOCK_DGRAM)])?,
            require_all([is_kind(libc::SOCK_RAW)])?,
        ],
    );
    // With a different parent, a process escapes the search for children.
    let flags = [
        libc::CLONE_PARENT,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let has = |flag: libc::c_int| require_all([match_masked(0, flag as u32 as u64, flag as u32 as u64)]);
    rules.insert(
        libc::SYS_clone,
        flags.into_iter().map(has).collect::<Result<_, _>>()?,
    );
    // If two programs return errors, the later one's is used.
    let mut programs = vec![allow_calls()?, deny_calls(rules, libc::EPERM as u32)?];
    if gpu {
        programs.push(deny_calls(
            [(libc::SYS_connect, vec![])].into(),
            CONNECTION_REFUSED,
        )?);
    }
    Ok(programs)
}

/// The filter of a worker that has started: it may not leave its process group, which is killed as a whole; and, except
/// for a GPU's driver, it may not make files in memory.
pub(super) fn late_filter(gpu: bool) -> Result<String, seccompiler::Error> {
    let mut rules: Rules = [(libc::SYS_setpgid, vec![]), (libc::SYS_setsid, vec![])].into();
    if !gpu {
        rules.insert(libc::SYS_memfd_create, vec![]);
    }
    let mut text = String::new();
    for instruction in deny_calls(rules, libc::EPERM as u32)? {
        let code = instruction.code.to_ne_bytes();
        let rest = instruction.k.to_ne_bytes();
        for byte in code
            .into_iter()
            .chain([instruction.jt, instruction.jf])
            .chain(rest)
        {
            let _ = write!(text, "{byte:02x}");
        }
    }
    Ok(text)
}

/// A program that answers some calls with an error.
fn deny_calls(rules: Rules, error: u32) -> Result<BpfProgram, seccompiler::Error> {
    build_program(rules, SeccompAction::Allow, SeccompAction::Errno(error))
}

/// A program that answers every call with `ENOSYS` but those that workers have a use for. Among what it does not know are
/// `clone3`, whose flags no program can read (the C library then takes `clone`), and the second set of numbers that x86-64
/// has for the same calls.
fn allow_calls() -> Result<BpfProgram, seccompiler::Error> {
    let rules: Rules = allowed::call_numbers().map(|call| (call, vec![])).collect();
    build_program(
        rules,
        SeccompAction::Errno(libc::ENOSYS as u32),
        SeccompAction::Allow,
    )
}

fn build_program(
    rules: Rules,
    others: SeccompAction,
    these: SeccompAction,
) -> Result<BpfProgram, seccompiler::Error> {
    let processor = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, others, these, processor)?;
    Ok(BpfProgram::try_from(filter)?)
}

fn require_all(
    conditions: impl IntoIterator<Item = Result<SeccompCondition, seccompiler::Error>>,
) -> Result<SeccompRule, seccompiler::Error> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
    Ok(SeccompRule::new(conditions)?)
}

fn build_condition(
    argument: u8,
    how: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::Error> {
    Ok(SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        how,
        value,
    )?)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    build_condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    build_condition(argument, SeccompCmpOp::Ne, value)
}

fn match_masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, seccompiler::Error> {
    build_condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// A socket's kind, without the flags beside it.
fn is_kind(kind: libc::c_int) -> Result<SeccompCondition, seccompiler::Error> {
    match_masked(1, 0xf, kind as u64)
}
