//! The memory, files and threads of a worker and its processes, read from `/proc`. See [`crate::worker`] for the end of
//! a worker that uses too much. Without `/proc` the usage is unknown and unlimited.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How often, at most, is looked whether a group's processes have ended, and the time in between.
const END_ROUNDS: u32 = 500;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);

/// The usage of a process group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Processes.
    pub processes: usize,
    /// Threads of them all.
    pub threads: u64,
    /// Bytes of memory that they have touched; shared ones count for each.
    pub resident: u64,
    /// Bytes of files that have no name (any more) and are open or mapped.
    pub nameless: u64,
}

/// Bytes of a process's address space, and those of it that were touched.
pub(crate) fn read_memory(pid: Pid) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let mut pages = text.split(' ').map_while(|word| word.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some((pages.next()? * page, pages.next()? * page))
}

/// Measures a process and all others of its process group. Mapped files count if they were in `folder`.
pub(crate) fn measure_group(leader: Pid, folder: &Path) -> Usage {
    let id = leader.as_raw_nonzero().get();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut usage = Usage::default();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let Some(process) = Process::read(pid).filter(|process| process.group == id) else {
            continue;
        };
        usage.processes += 1;
        usage.threads += process.threads;
        usage.resident += process.resident;
        usage.nameless += measure_nameless(pid, &folder);
    }
    usage
}

/// Bytes of memory that a process group has touched, with each process's share of shared memory. Slower than
/// [`measure_group`].
pub(crate) fn shared_out(leader: Pid) -> u64 {
    let of = |pid: i32| {
        let process = Process::read(pid)?;
        let share = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
        let share = share.and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        });
        Some(share.map_or(process.resident, |kibibytes| kibibytes * 1024))
    };
    group_members(leader.as_raw_nonzero().get())
        .into_iter()
        .filter_map(of)
        .sum()
}

/// Whether processes that a process forks one after the other could leave each other something: memory that they share and may write,
/// or an open file other than its pipes, the null device and its file in memory for printed text.
pub(crate) fn has_shared_state(pid: Pid) -> bool {
    let id = pid.as_raw_nonzero();
    let Ok(maps) = fs::read_to_string(format!("/proc/{id}/maps")) else {
        return true;
    };
    let is_shared = |line: &str| {
        let rights = line.split(' ').nth(1).unwrap_or_default();
        rights.contains('w') && rights.ends_with('s')
    };
    let Ok(open) = fs::read_dir(format!("/proc/{id}/fd")) else {
        return true;
    };
    let is_known = |path: &Path| {
        let target = fs::read_link(path).unwrap_or_default();
        let target = target.to_string_lossy();
        target == "/dev/null" || target.starts_with("pipe:") || target.starts_with("/memfd:stdout")
    };
    let mut files = open.flatten().map(|entry| entry.path());
    maps.lines().any(is_shared) || files.any(|file| !is_known(&file))
}

/// Whether a process of one thread has more than so many children, or any that has children. Those whose parent is gone are
/// its own, if it takes them in, as workers do.
pub(crate) fn has_descendants(pid: Pid, most: usize) -> bool {
    let Some(children) = list_children(pid.as_raw_nonzero().get()) else {
        return measure_group(pid, Path::new("/")).processes > 1 + most;
    };
    children.len() > most
        || children
            .into_iter()
            .any(|child| list_children(child).is_none_or(|of| !of.is_empty()))
}

/// Whether a process's first thread has not ended. If it is true after [`has_descendants`] was false, there was no descendant: when the
/// thread ends, its children get another parent.
pub(crate) fn is_running(pid: Pid) -> bool {
    Process::read(pid.as_raw_nonzero().get()).is_some_and(|process| !process.has_ended)
}

/// Whether a child of a process of one thread has more than its first thread.
pub(crate) fn has_threaded_child(pid: Pid) -> bool {
    let children = list_children(pid.as_raw_nonzero().get()).unwrap_or_default();
    children
        .into_iter()
        .filter_map(Process::read)
        .any(|child| !child.is_zombie && child.threads > 1)
}

/// The children of a process's first thread. A kernel may be built without them.
fn list_children(id: i32) -> Option<Vec<i32>> {
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    Some(
        text.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect(),
    )
}

/// Ends all processes of a group but the one that leads it, also those that they start meanwhile. Whether none is left.
pub(crate) fn end_others(leader: Pid) -> bool {
    let id = leader.as_raw_nonzero().get();
    for round in 0..END_ROUNDS {
        let mut left = false;
        for pid in list_children(id)
            .unwrap_or_default()
            .into_iter()
            .chain(if round == 0 { Vec::new() } else { group_members(id) })
        {
            // A process that waits to be reaped has only its number.
            if pid == id || Process::read(pid).is_none_or(|process| process.group != id || process.is_zombie)
            {
                continue;
            }
            left = true;
            if let Some(pid) = Pid::from_raw(pid) {
                // An error means that it is gone.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if !left && round > 0 {
            return true;
        }
        std::thread::sleep(BETWEEN_ROUNDS);
    }
    false
}

/// The processes of a group.
fn group_members(group: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| Process::read(pid).is_some_and(|process| process.group == group))
        .collect()
}

/// How many threads a process has.
pub(crate) fn count_threads(pid: Pid) -> Option<u64> {
    Process::read(pid.as_raw_nonzero().get()).map(|process| process.threads)
}

/// The fields of `/proc/PID/stat`.
struct Process {
    /// Whether its first thread has ended.
    has_ended: bool,
    /// Whether it has ended, and waits for its parent to hear of it.
    is_zombie: bool,
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
        let threads = field(20)?.parse().ok()?;
        let has_ended = matches!(*field(3)?, "Z" | "X");
        Some(Self {
            has_ended,
            // A first thread that has ended proves nothing about the others: until they have ended, the process cannot be
            // reaped.
            is_zombie: has_ended && threads <= 1,
            group: field(5)?.parse().ok()?,
            threads,
            resident: field(24)?.parse::<u64>().ok()? * rustix::param::page_size() as u64,
        })
    }
}

fn measure_nameless(pid: i32, folder: &Path) -> u64 {
    let mut files = list_mapped(pid, folder);
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let nameless = open
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .filter(|data| data.is_file() && data.nlink() == 0);
    files.extend(nameless.map(|data| (data.ino(), data.blocks() * 512)));
    files.values().sum()
}

/// Files that a process has mapped and that have been removed from a folder: for each number its bytes. Only root can read
/// those; other users count the mapped part.
fn list_mapped(pid: i32, folder: &Path) -> BTreeMap<u64, u64> {
    let mut files = BTreeMap::new();
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let folder = folder.as_os_str().as_bytes();
    for line in text.split(|&byte| byte == b'\n') {
        if !line.ends_with(b" (deleted)") || !line.windows(folder.len().max(1)).any(|part| part == folder) {
            continue;
        }
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(Ok(number))) = (words.next(), words.nth(3).map(str::parse)) else {
            continue;
        };
        let bytes = files.entry(number).or_default();
        match fs::metadata(format!("/proc/{pid}/map_files/{range}")) {
            Ok(data) => *bytes = data.blocks() * 512,
            Err(_) => *bytes += parse_length(range).unwrap_or_default(),
        }
    }
    files
}

/// Bytes of a range of addresses: `7f00-7f01`.
fn parse_length(range: &str) -> Option<u64> {
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    number(end)?.checked_sub(number(start)?)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn this_process_is_seen() {
        let us = rustix::process::getpid();
        let leader = rustix::process::getpgrp();
        let before = measure_group(leader, Path::new("/tmp"));
        assert!(before.processes >= 1 && before.threads >= 1, "{before:?}");
        assert!(before.resident > 100_000, "{before:?}");
        let shared_out = shared_out(leader);
        assert!(
            shared_out > 100_000 && shared_out < 2 * before.resident,
            "{shared_out}"
        );
        assert!(count_threads(us) >= Some(1));
        let (space, touched) = read_memory(us).expect("known");
        assert!(space >= touched && touched > 100_000);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&vec![1; 1 << 20]).expect("written");
        file.sync_all().expect("on disk");
        assert!(measure_nameless(us.as_raw_nonzero().get(), Path::new("/tmp")) >= 1 << 20);
        assert_eq!(parse_length("7f0000-7f1000"), Some(4096));
    }
}
