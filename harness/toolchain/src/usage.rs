//! What a worker and the processes that it started use, read from `/proc`. Left out: what becomes of one that uses too
//! much ([`crate::worker`]). Where there is no `/proc`, nothing is known, and nothing is too much.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

/// What a process group uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processes.
    pub processes: usize,
    /// Threads of them all.
    pub threads: u64,
    /// Bytes of memory that they have touched; shared ones count for each.
    pub resident: u64,
    /// Bytes of files that have no name (any more) and are open.
    pub nameless: u64,
}

/// Bytes of a process's address space, and those of it that were touched.
pub(crate) fn memory(pid: Pid) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let mut pages = text.split(' ').map_while(|word| word.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some((pages.next()? * page, pages.next()? * page))
}

/// What a process uses; with `group`, it and all others of the process group that it leads.
pub(crate) fn of(leader: Pid, group: bool) -> Usage {
    let id = leader.as_raw_nonzero().get();
    let mut usage = Usage::default();
    let mut add = |pid: i32, sure: bool| {
        let Some(process) = Process::read(pid).filter(|process| sure || process.group == id) else {
            return;
        };
        usage.processes += 1;
        usage.threads += process.threads;
        usage.resident += process.resident;
        usage.nameless += nameless(pid);
    };
    if group {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            add(pid, false);
        }
    } else {
        add(id, true);
    }
    usage
}

/// How many threads a process has.
pub(crate) fn threads(pid: Pid) -> Option<u64> {
    Process::read(pid.as_raw_nonzero().get()).map(|process| process.threads)
}

/// What `/proc/PID/stat` says.
struct Process {
    group: i32,
    threads: u64,
    resident: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // A name may hold anything, parentheses included; the third field comes after the last one.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        let field = |number: usize| fields.get(number - 3);
        Some(Self {
            group: field(5)?.parse().ok()?,
            threads: field(20)?.parse().ok()?,
            resident: field(24)?.parse::<u64>().ok()? * rustix::param::page_size() as u64,
        })
    }
}

fn nameless(pid: i32) -> u64 {
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    open.filter_map(|entry| fs::metadata(entry.path()).ok())
        .filter(|data| data.is_file() && data.nlink() == 0)
        .map(|data| data.blocks() * 512)
        .sum()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn this_process_is_seen() {
        let us = rustix::process::getpid();
        let before = of(us, false);
        assert_eq!(before.processes, 1);
        assert!(before.threads >= 1 && before.resident > 100_000, "{before:?}");
        let (space, touched) = memory(us).expect("known");
        assert!(space >= touched && touched > 100_000);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[1; 1 << 20]).expect("written");
        file.sync_all().expect("on disk");
        assert!(of(us, false).nameless >= before.nameless + (1 << 20));
    }
}
