//! Restricts files, signals and devices by Landlock, and the capabilities of a worker that root starts. Both apply to
//! the calling thread and to its children.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
    make_bitflags,
};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::{ProgramRules, Reach};

/// The requested features; an older kernel applies those that it has.
const REQUESTED_ABI: ABI = ABI::V7;

/// Files that every program needs: libraries, their configuration, the time.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/run/opengl-driver",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
];

/// Files about the machine that allocators, BLAS and torch read. None is about a process: a rule for `/proc/self` would apply to
/// the process that creates the rule, not to the worker.
const MACHINE: &[&str] = &[
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Files that NVIDIA's driver reads. They show only public facts about other processes: Landlock hides their
/// environment, memory and open files from processes outside of their domain.
const GPU: &[&str] = &["/proc", "/sys"];

/// The folder in which NVIDIA's driver sets the names of its threads, without which it does not start. The worker needs only its
/// own folder in it, which is not known before it runs. Then it gives up the rest itself ([`late_writable_paths`]).
const THREADS: &str = "/proc";

/// Files that a worker with a GPU writes besides its own folder.
const SHARED_MEMORY: &str = "/dev/shm";

/// Drops all capabilities of the thread's children, except those to read and write files of any owner: a root without
/// them cannot use a toolchain in a user's home, and Landlock limits the files. A user other than root has none to drop.
pub(super) fn drop_capabilities() {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    for capability in CapabilitySet::all().difference(kept).iter() {
        // This fails for a user without capabilities.
        let _ = remove_capability_from_bounding_set(capability);
    }
}

/// Restricts the thread to the files within reach.
pub(super) fn confine_files(reach: &Reach) -> Result<(), RulesetError> {
    let mut ruleset = new_ruleset()?.create()?;
    for (paths, access) in list_readable(&reach.read) {
        ruleset = ruleset.add_rules(build_rules(paths, access))?;
    }
    ruleset = ruleset.add_rules(build_rules(vec![reach.write.clone()], change_rights()))?;
    if reach.gpu {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        ruleset = ruleset
            .add_rules(build_rules(to_paths(GPU), LOOK))?
            .add_rules(build_rules(
                to_paths(&[THREADS]),
                AccessFs::WriteFile | AccessFs::Truncate,
            ))?
            .add_rules(build_rules(nvidia_devices(), device | AccessFs::ReadDir))?
            .add_rules(build_rules(to_paths(&[SHARED_MEMORY]), change_rights()))?;
    }
    ruleset.restrict_self()?;
    Ok(())
}

/// The rights to read a file or folder, but not to execute it.
const LOOK: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// The rights to a folder that may be changed.
fn change_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}

/// The files of the system, and those of a worker, with the rights to them.
fn list_readable(read: &[PathBuf]) -> [(Vec<PathBuf>, BitFlags<AccessFs>); 4] {
    let all = AccessFs::from_read(REQUESTED_ABI);
    [
        (to_paths(SYSTEM), all),
        (to_paths(MACHINE), LOOK),
        (to_paths(&["/dev/null"]), AccessFs::ReadFile | AccessFs::WriteFile),
        (read.to_vec(), all),
    ]
}

fn to_paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

/// The rules of a program that reads these files, for a worker that restricts itself.
pub(super) fn list_rules(read: &[PathBuf]) -> ProgramRules {
    let rules = list_readable(read).into_iter().flat_map(|(paths, access)| {
        let known = paths
            .into_iter()
            .filter_map(|path| path.to_str().map(str::to_owned));
        known.map(move |path| (path, access.bits())).collect::<Vec<_>>()
    });
    ProgramRules {
        paths: rules.collect(),
        folder: change_rights().bits(),
    }
}

/// Restricts the thread to reading the files of a folder. Returns whether the kernel enforces it.
pub(super) fn restrict_to_reading(folder: &Path) -> bool {
    let look = AccessFs::ReadFile | AccessFs::ReadDir;
    let machine = MACHINE.iter().map(PathBuf::from);
    let restrict = || {
        new_ruleset()?
            .create()?
            .add_rules(build_rules(machine.collect(), look))?
            .add_rules(build_rules(vec![folder.to_owned()], look))?
            .restrict_self()
    };
    restrict().is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// The paths that a worker with a GPU may still write once it runs, except the names of its own threads.
pub(super) fn late_writable_paths(reach: &Reach) -> Vec<PathBuf> {
    let mut places = nvidia_devices();
    places.extend([
        reach.write.clone(),
        PathBuf::from("/dev/null"),
        PathBuf::from(SHARED_MEMORY),
    ]);
    places
}

fn new_ruleset() -> Result<Ruleset, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(REQUESTED_ABI))?
        .handle_access(AccessNet::from_all(REQUESTED_ABI))?
        .scope(Scope::from_all(REQUESTED_ABI))
}

/// A rule for each path that exists.
fn build_rules(
    paths: Vec<PathBuf>,
    access: impl Into<BitFlags<AccessFs>>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    let access = access.into();
    paths.into_iter().filter_map(move |path| {
        let there = PathFd::new(&path).ok()?;
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(REQUESTED_ABI)
        };
        Some(Ok(PathBeneath::new(there, access)))
    })
}

/// The devices of NVIDIA GPUs; in WSL, `/dev/dxg`.
fn nvidia_devices() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/dev") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("nvidia"))
        .map(|entry| entry.path())
        .chain([PathBuf::from("/dev/dxg")])
        .collect()
}

/// Denies the calling thread everything that Landlock can deny, to test the kernel. Returns a clause for each missing feature.
pub(super) fn missing_of_files() -> Vec<String> {
    let status = new_ruleset()
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match status {
        Ok(RestrictionStatus {
            landlock: LandlockStatus::Available { effective_abi, .. },
            ..
        }) => list_lacking(effective_abi),
        Ok(RestrictionStatus {
            landlock: LandlockStatus::NotEnabled,
            ..
        }) => vec!["Landlock is not switched on, so workers reach every file that you do".to_owned()],
        Ok(_) => vec!["no Landlock, so workers reach every file that you do".to_owned()],
        Err(error) => vec![format!(
            "no Landlock ({error}), so workers reach every file that you do"
        )],
    }
}

/// The features that a kernel's Landlock lacks.
fn list_lacking(abi: ABI) -> Vec<String> {
    [
        (ABI::V2, "workers cannot move files between folders (Linux 5.19)"),
        (
            ABI::V3,
            "workers may empty every file that you may write (Linux 6.2)",
        ),
        (
            ABI::V5,
            "workers with a GPU may control other devices (Linux 6.10)",
        ),
        (ABI::V6, "workers may send signals to your processes (Linux 6.12)"),
    ]
    .into_iter()
    .filter(|(since, _)| (abi as u8) < (*since as u8))
    .map(|(_, lack)| format!("an old Landlock: {lack}"))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_lacks_features() {
        let count = |abi| list_lacking(abi).len();
        assert_eq!(
            [ABI::V1, ABI::V2, ABI::V4, ABI::V5, ABI::V6, ABI::V7].map(count),
            [4, 3, 2, 1, 0, 0]
        );
    }
}
