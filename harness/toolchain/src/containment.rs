//! Containing what a worker's Python does: which files it reaches, which system calls it may make, how much it may use. See
//! `reach` for a toolchain's files, and `usage` for limits at run time.
//!
//! A recording is untrusted code, and an interpreter or a compiler executes it. So a worker is started by a thread that has
//! restricted itself, for good, and the worker inherits that: Landlock for files, signals and device controls, seccomp for system
//! calls, no capabilities. `docs/containment.md` lists the attacks that this prevents, and those that it does not. If a system
//! lacks a part, workers run with the rest, and [`Containment`] lists the missing parts for the user.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;

use serde::Serialize;

#[cfg(target_os = "linux")]
mod allowed;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod linux;

/// Switches containment off where it is `off`.
const SWITCH: &str = "CERITH_CONTAINMENT";

/// More folders and files that workers may read and execute from, separated by colons.
pub(crate) const ALLOW_READ: &str = "CERITH_ALLOW_READ";

/// How far this system lets workers be contained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containment {
    /// The missing parts, a clause each: `no Landlock, so workers reach every file that you do`.
    pub missing: Vec<String>,
    off: bool,
    calls: bool,
}

impl Containment {
    /// This system's, found out when it is first asked for.
    pub fn of_this_system() -> &'static Self {
        static DETECTED: OnceLock<Containment> = OnceLock::new();
        DETECTED.get_or_init(|| {
            if std::env::var_os(SWITCH).is_some_and(|value| value == OsStr::new("off")) {
                return Self {
                    missing: vec![format!("{SWITCH}=off")],
                    off: true,
                    calls: false,
                };
            }
            probe()
        })
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }

    /// Why workers may not read this folder as a whole, with a fix: it is the user's home, or holds it. `None` if they
    /// may, and if nothing is contained.
    pub fn explain_refusal(&self, folder: &Path) -> Option<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = real(folder);
        let named = user_allowed_paths()
            .iter()
            .any(|allowed| folder.starts_with(real(allowed)));
        (!self.off && !named && is_too_much(&folder)).then(|| {
            format!(
                "workers would read all of {}, which is your home or holds it: put the cases into a folder of their own, or \
                 allow it with {ALLOW_READ}={}",
                folder.display(),
                folder.display()
            )
        })
    }

    /// The seccomp program that a worker applies to itself once it has started, as hexadecimal digits. It denies system
    /// calls that only the start needs, except those of a GPU's driver. `None` without seccomp.
    pub(crate) fn late_filter(&self, gpu: bool) -> Option<String> {
        if !self.calls {
            return None;
        }
        #[cfg(target_os = "linux")]
        return calls::late_filter(gpu).ok();
        #[cfg(not(target_os = "linux"))]
        {
            let _ = gpu;
            None
        }
    }
}

/// The folders in which a worker with a GPU may still write once it runs; `None` if there is nothing to give up.
pub(crate) fn late_writable_paths(reach: &Reach) -> Option<std::ffi::OsString> {
    #[cfg(target_os = "linux")]
    if reach.gpu && !Containment::of_this_system().off {
        return std::env::join_paths(linux::late_writable_paths(reach)).ok();
    }
    let _ = reach;
    None
}

/// The files within a worker's reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Folders and files that it may read and execute from. Missing ones do not matter.
    pub read: Vec<PathBuf>,
    /// The folder that it may change.
    pub write: PathBuf,
    /// Whether it has a GPU: its devices, what the driver reads of `/proc` and `/sys`, local sockets.
    pub gpu: bool,
}

/// Rules of a process that a worker forks, in addition to the worker's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ProgramRules {
    /// Files and folders, and the rights to them, in Landlock's bits.
    pub paths: Vec<(String, u64)>,
    /// The rights to the worker's folder.
    pub folder: u64,
}

/// The rules of a program that reads these files, its toolchain's included. `None` if nothing is contained.
pub(crate) fn list_rules(read: &[PathBuf]) -> Option<ProgramRules> {
    #[cfg(target_os = "linux")]
    if !Containment::of_this_system().off {
        return Some(linux::list_rules(read));
    }
    let _ = read;
    None
}

/// Starts a program that reaches no more than that, as far as the system can.
pub(crate) fn spawn(mut command: Command, reach: &Reach) -> io::Result<Child> {
    let containment = Containment::of_this_system();
    if containment.off {
        return command.spawn();
    }
    // A thread restricts itself for good, and its children inherit the restrictions.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("cerith-contained".to_owned())
            .spawn_scoped(scope, move || {
                confine(reach, containment).map_err(io::Error::other)?;
                command.spawn()
            })?
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that starts a worker panicked")))
    })
}

/// Restricts the calling thread and the threads that it starts, for good: they read files of one folder, write none, execute none, and
/// open no network connection. Returns whether the system can do it; without Landlock nothing is restricted.
pub fn restrict_to_reading(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return linux::restrict_to_reading(folder);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}

#[cfg(target_os = "linux")]
fn probe() -> Containment {
    let (files, calls) = std::thread::spawn(|| {
        // Calls last: after them nothing more can be tried.
        (linux::missing_of_files(), calls::try_restrict())
    })
    .join()
    .unwrap_or_else(|_| (vec!["it could not be found out".to_owned()], None));
    let mut missing = files;
    missing.extend(
        calls
            .as_ref()
            .map(|why| format!("no seccomp ({why}), so workers reach the network and other processes")),
    );
    Containment {
        missing,
        off: false,
        calls: calls.is_none(),
    }
}

/// A thread that cannot give up what it should.
#[cfg(target_os = "linux")]
#[derive(Debug, thiserror::Error)]
enum Unconfined {
    #[error("contain its files: {0}")]
    Files(landlock::RulesetError),
    #[error("contain its system calls: {0}")]
    Calls(seccompiler::Error),
}

#[cfg(target_os = "linux")]
fn confine(reach: &Reach, containment: &Containment) -> Result<(), Unconfined> {
    linux::drop_capabilities();
    linux::confine_files(reach).map_err(Unconfined::Files)?;
    if containment.calls {
        calls::confine(reach.gpu).map_err(Unconfined::Calls)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn probe() -> Containment {
    Containment {
        missing: vec!["this system is not Linux, so workers do whatever you may do".to_owned()],
        off: true,
        calls: false,
    }
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &Reach, _: &Containment) -> io::Result<()> {
    Ok(())
}

/// Paths that the user allows besides.
pub(crate) fn user_allowed_paths() -> Vec<PathBuf> {
    std::env::var_os(ALLOW_READ)
        .map(|list| {
            std::env::split_paths(&list)
                .filter(|path| path.is_absolute())
                .collect()
        })
        .unwrap_or_default()
}

/// Whether to let a whole folder be read would be to let everything be read, or all that is the user's.
pub(crate) fn is_too_much(folder: &Path) -> bool {
    let is_within = |home: PathBuf| {
        home.starts_with(folder) || home.canonicalize().is_ok_and(|home| home.starts_with(folder))
    };
    folder.parent().is_none() || home_folders().into_iter().any(is_within)
}

/// The user's home folders: `$HOME` and the password database may differ, for example in a container.
fn home_folders() -> Vec<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let numbers = [rustix::process::getuid(), rustix::process::geteuid()].map(rustix::process::Uid::as_raw);
    let mut homes = homes_of(&users, &numbers);
    // Without `HOME`, this asks every database of users that the system has.
    homes.extend(std::env::home_dir());
    homes.retain(|home| home.is_absolute() && home.parent().is_some());
    homes
}

/// The home folders that a password file has for users.
fn homes_of(users: &str, numbers: &[u32]) -> Vec<PathBuf> {
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    fields
        .filter(|fields| {
            fields
                .get(2)
                .and_then(|id| id.parse().ok())
                .is_some_and(|id| numbers.contains(&id))
        })
        .filter_map(|fields| fields.get(5).map(PathBuf::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folders_are_those_of_the_password_file() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a comment\nme:x:1000:1000:Me,,,:/home/me:/bin/sh\nshort:x:1000\n";
        assert_eq!(homes_of(users, &[1000, 7]), [PathBuf::from("/home/me")]);
        assert_eq!(homes_of(users, &[0, 1000]).len(), 2);
    }
}
