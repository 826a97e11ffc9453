//! The folder of our Python packages, which workers import. It stays beside the toolchains, so that Python compiles a package once and not
//! in each command.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::scratch;

/// A package: its name, and its files with their texts.
pub(crate) type Package<'a> = (&'a str, &'a [(&'a str, &'a str)]);

const PREFIX: &str = "cerith-python-";

/// The file whose time is that of the last use.
const USED: &str = "used";

/// The folders of other versions of Cerith are removed if they were not used for this time.
const MAX_UNUSED: Duration = Duration::from_hours(24 * 30);

/// The folder of these packages in `run`, which only this user writes. It is made if it is missing. `None` if it cannot be made, or has
/// other contents.
pub(crate) fn find_kept(run: &Path, packages: &[Package<'_>]) -> Option<PathBuf> {
    let mut hasher = blake3::Hasher::new();
    for (file, text) in list_files(packages) {
        for part in [file.as_str(), text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    let name = format!("{PREFIX}{}", &hasher.finalize().to_hex()[..16]);
    let kept = run.join(&name);
    if fs::symlink_metadata(&kept).is_err() {
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(run).ok()?;
        write_packages(made.path(), packages).ok()?;
        // Another process may have made it meanwhile.
        if fs::rename(made.path(), &kept).is_ok() {
            let _ = made.keep();
        }
    }
    if !is_intact(&kept, packages) {
        return None;
    }
    fs::write(kept.join(USED), "").ok()?;
    remove_unused(run, &name);
    Some(kept)
}

/// Writes packages into a folder.
pub(crate) fn write_packages(folder: &Path, packages: &[Package<'_>]) -> io::Result<()> {
    for (file, text) in list_files(packages) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn list_files<'a>(packages: &'a [Package<'a>]) -> impl Iterator<Item = (String, &'a str)> {
    packages.iter().flat_map(|(name, files)| {
        files
            .iter()
            .map(move |(file, text)| (format!("{name}/{file}"), *text))
    })
}

/// Whether a folder is ours and has these packages, and no others that Python would import in place of a library's.
fn is_intact(folder: &Path, packages: &[Package<'_>]) -> bool {
    let is_own = fs::symlink_metadata(folder)
        .is_ok_and(|data| data.is_dir() && data.uid() == rustix::process::geteuid().as_raw());
    let known = |name: &str| name == USED || packages.iter().any(|(package, _)| *package == name);
    let is_alone = fs::read_dir(folder).is_ok_and(|entries| {
        entries
            .flatten()
            .all(|entry| entry.file_name().to_str().is_some_and(known))
    });
    is_own
        && is_alone
        && list_files(packages)
            .all(|(file, text)| fs::read(folder.join(file)).is_ok_and(|found| found == text.as_bytes()))
}

/// Removes the folders of versions of Cerith that are not used any more.
fn remove_unused(run: &Path, own: &str) {
    let Ok(entries) = fs::read_dir(run) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_other = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name != own);
        let path = entry.path();
        let used = fs::symlink_metadata(path.join(USED)).or_else(|_| fs::symlink_metadata(&path));
        let age = used
            .and_then(|data| data.modified())
            .map(|at| SystemTime::now().duration_since(at));
        if is_other && age.is_ok_and(|age| age.is_ok_and(|age| age > MAX_UNUSED)) {
            let _ = scratch::remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGES: &[Package<'_>] = &[("one", &[("a.py", "x = 1\n"), ("b/c.py", "")])];

    #[test]
    fn packages_are_written_once() {
        let run = tempfile::tempdir().expect("a folder");
        let kept = find_kept(run.path(), PACKAGES).expect("made");
        assert_eq!(
            fs::read_to_string(kept.join("one/a.py")).expect("read"),
            "x = 1\n"
        );
        fs::create_dir(kept.join("one/__pycache__")).expect("made");
        assert_eq!(find_kept(run.path(), PACKAGES), Some(kept.clone()));
        assert!(kept.join("one/__pycache__").is_dir());
        let other = find_kept(run.path(), &[("one", &[("a.py", "x = 2\n")])]);
        assert!(other.is_some_and(|other| other != kept));
    }

    #[test]
    fn a_changed_folder_is_not_used() {
        let check = |change: &dyn Fn(&Path), expected: bool| {
            let run = tempfile::tempdir().expect("a folder");
            let kept = find_kept(run.path(), PACKAGES).expect("made");
            change(&kept);
            assert_eq!(find_kept(run.path(), PACKAGES).is_some(), expected);
        };
        check(&|_| {}, true);
        check(
            &|kept| fs::write(kept.join("one/a.py"), "x = 2").expect("written"),
            false,
        );
        check(
            &|kept| fs::write(kept.join("torch.py"), "").expect("written"),
            false,
        );
        check(
            &|kept| fs::remove_file(kept.join("one/b/c.py")).expect("removed"),
            false,
        );
        let moved = |kept: &Path| {
            let aside = kept.with_extension("aside");
            fs::rename(kept, &aside).expect("moved");
            std::os::unix::fs::symlink(aside, kept).expect("linked");
        };
        check(&moved, false);
    }

    #[test]
    fn folders_of_old_versions_are_removed() {
        let run = tempfile::tempdir().expect("a folder");
        let old = find_kept(run.path(), PACKAGES).expect("made");
        let recent = find_kept(run.path(), &[("two", &[("a.py", "")])]).expect("made");
        let used = fs::File::options()
            .write(true)
            .open(old.join(USED))
            .expect("open");
        used.set_modified(SystemTime::now() - 2 * MAX_UNUSED)
            .expect("set");
        let new = find_kept(run.path(), &[("three", &[("a.py", "")])]).expect("made");
        assert_eq!(
            [&old, &recent, &new].map(|folder| folder.is_dir()),
            [false, true, true]
        );
    }
}
