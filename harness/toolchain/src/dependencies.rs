//! The files on which a compilation depends: what its worker reported, and whether they are still as they were. The Python side is
//! `cerith_worker/tracked.py`.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use blake3::Hasher;
use serde::{Deserialize, Serialize};

use crate::wire::BadAnswer;

/// Bytes of the trailer's length.
const LENGTH: usize = 4;

/// Bytes of a file that is hashed.
const MAX_FILE: u64 = 256 << 20;

/// Nanoseconds by which the system's times of change may be late against its clock: a tick.
const TICK: i64 = 20_000_000;

/// Folders whose files the system generates on each read.
const VIRTUAL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The way in which a compilation depends on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DependencyKind {
    /// It was opened, or looked for: whether it is there, and its contents.
    #[serde(rename = "s")]
    Seen,
    /// A folder was listed: the names in it.
    #[serde(rename = "d")]
    Listed,
    /// A link was read: its target.
    #[serde(rename = "l")]
    Link,
    /// A module was searched for: the names in the folder that could be the module.
    #[serde(rename = "m")]
    Module,
}

/// The trailer of an answer to a compilation.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependencies {
    /// When the process started that runs user code, in nanoseconds since 1970. A file that changed later may not be what it read.
    since: i64,
    /// The reason why the files are not all that the compilation depends on.
    untracked: Option<String>,
    files: Vec<(DependencyKind, PathBuf)>,
}

/// A path, and what was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark(DependencyKind, PathBuf, String);

impl Dependencies {
    /// Divides blobs into those of the answer and the dependencies after them.
    ///
    /// # Errors
    /// There is no trailer.
    pub(crate) fn split(blobs: &[u8]) -> Result<(&[u8], Self), BadAnswer> {
        let (rest, length) = blobs.split_last_chunk::<LENGTH>().ok_or(BadAnswer::Short)?;
        let length = u32::from_le_bytes(*length) as usize;
        let at = rest.len().checked_sub(length).ok_or(BadAnswer::Short)?;
        let (rest, text) = rest.split_at_checked(at).ok_or(BadAnswer::Short)?;
        let dependencies = serde_json::from_slice(text).map_err(BadAnswer::Header)?;
        Ok((rest, dependencies))
    }

    /// The state of every file, to compare with later; `None` if something is not tracked, or changed since it may have been read.
    pub(crate) fn read_marks(&self, states: &States) -> Option<Vec<Mark>> {
        if self.untracked.is_some() {
            return None;
        }
        let mark = |(kind, path): &(DependencyKind, PathBuf)| {
            let is_settled = latest_change(*kind, path) + TICK < self.since;
            let state = states.read(*kind, path).filter(|_| is_settled)?;
            Some(Mark(*kind, path.clone(), state))
        };
        self.files.iter().map(mark).collect()
    }
}

/// States of paths, with the hashes of files that did not change while this process runs. Shared between clones.
#[derive(Clone, Debug, Default)]
pub(crate) struct States {
    hashes: Arc<Mutex<HashMap<PathBuf, (Stamp, String)>>>,
}

/// Numbers of a file that change with its contents: size, inode, times of change in nanoseconds.
pub(crate) type Stamp = (u64, u64, i64, i64);

/// The numbers of a file.
pub(crate) fn stamp_of(metadata: &Metadata) -> Stamp {
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    (
        metadata.len(),
        metadata.ino(),
        nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    )
}

impl States {
    /// Whether a path is as it was.
    pub(crate) fn hold(&self, Mark(kind, path, state): &Mark) -> bool {
        self.read(*kind, path).as_ref() == Some(state)
    }

    /// The state of a path; `None` if it has none that can be compared.
    fn read(&self, kind: DependencyKind, path: &Path) -> Option<String> {
        if VIRTUAL.iter().any(|root| path.starts_with(root)) {
            return (path == Path::new("/dev/null")).then(String::new);
        }
        match kind {
            DependencyKind::Seen => self.hash_contents(path),
            DependencyKind::Listed => hash_names(path, |_| true),
            DependencyKind::Link => match fs::read_link(path) {
                Ok(target) => Some(to_hex(target.as_os_str().as_encoded_bytes())),
                Err(error) => describe_absence(&error),
            },
            DependencyKind::Module => {
                let module = path.file_name()?.to_str()?;
                hash_names(path.parent()?, |name| is_module(name, module))
            }
        }
    }

    fn hash_contents(&self, path: &Path) -> Option<String> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return describe_absence(&error),
        };
        if metadata.is_dir() {
            return Some("folder".to_owned());
        }
        if !metadata.is_file() || metadata.len() > MAX_FILE {
            return None;
        }
        let stamp = stamp_of(&metadata);
        let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, hash)) = hashes.get(path).filter(|(known, _)| *known == stamp) {
            return Some(hash.clone());
        }
        let hash = to_hex(&fs::read(path).ok()?);
        hashes.insert(path.to_owned(), (stamp, hash.clone()));
        Some(hash)
    }
}

fn to_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The state of a missing path. A path that can't be read for another reason has no state.
fn describe_absence(error: &io::Error) -> Option<String> {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput).then(|| "absent".to_owned())
}

/// Whether an entry of a folder could be what a module is loaded from: `x`, `x.py`, `x.cpython-311-x86_64-linux-gnu.so`.
fn is_module(name: &str, module: &str) -> bool {
    name.strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A hash of some names of a folder. `__pycache__` doesn't count: Python writes it when it likes, and workers ignore it.
fn hash_names(folder: &Path, wanted: impl Fn(&str) -> bool) -> Option<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return describe_absence(&error),
    };
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()
        .ok()?;
    names.retain(|name| name != "__pycache__" && wanted(&name.to_string_lossy()));
    names.sort();
    let mut hasher = Hasher::new();
    for name in names {
        hasher.update(name.as_encoded_bytes()).update(b"\0");
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// The latest time of change of the files that a state depends on, in nanoseconds since 1970. Folders and missing files count as old.
fn latest_change(kind: DependencyKind, path: &Path) -> i64 {
    let changed = |metadata: &Metadata| stamp_of(metadata).3;
    let of = |found: io::Result<Metadata>| found.as_ref().map_or(i64::MIN / 2, changed);
    match kind {
        DependencyKind::Seen => match fs::metadata(path) {
            Ok(metadata) if !metadata.is_dir() => changed(&metadata),
            _ => i64::MIN / 2,
        },
        DependencyKind::Listed => of(fs::metadata(path)),
        DependencyKind::Link => of(fs::symlink_metadata(path)),
        DependencyKind::Module => {
            let module = path.file_name().unwrap_or_default().to_string_lossy();
            let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
            entries
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| is_module(&entry.file_name().to_string_lossy(), &module))
                .filter_map(|entry| entry.metadata().ok())
                .filter(|metadata| !metadata.is_dir())
                .map(|metadata| changed(&metadata))
                .max()
                .unwrap_or(i64::MIN / 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;

    fn depend_on(files: Vec<(DependencyKind, PathBuf)>, since: SystemTime) -> Dependencies {
        let since = since.duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        Dependencies {
            since: i64::try_from(since).expect("before 2262"),
            untracked: None,
            files,
        }
    }

    #[test]
    fn a_change_of_what_was_read_is_noticed_and_no_other() {
        let check = |kind: DependencyKind, name: &str, change: &dyn Fn(&Path), expected: bool| {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path();
            fs::create_dir_all(root.join("package/__pycache__")).expect("folders");
            fs::write(root.join("package/last.py"), "x = 1\n").expect("a file");
            symlink("package/last.py", root.join("link")).expect("a link");
            let later = SystemTime::now() + Duration::from_secs(9);
            let states = States::default();
            let marks = depend_on(vec![(kind, root.join(name))], later).read_marks(&states);
            change(root);
            let [mark] = &marks.expect("tracked")[..] else {
                panic!("one path")
            };
            assert_eq!(states.hold(mark), expected, "{kind:?} {name}");
            assert_eq!(States::default().hold(mark), expected, "{kind:?} {name}");
        };
        let write =
            |name: &'static str| move |root: &Path| fs::write(root.join(name), "x = 2\n").expect("written");
        let last = "package/last.py";
        check(DependencyKind::Seen, last, &|_| {}, true);
        check(DependencyKind::Seen, last, &write(last), false);
        check(DependencyKind::Seen, last, &write("package/other.py"), true);
        check(DependencyKind::Seen, "link", &write(last), false);
        check(DependencyKind::Seen, "package", &write("package/other.py"), true);
        check(
            DependencyKind::Seen,
            "package/flag",
            &write("package/flag"),
            false,
        );
        check(DependencyKind::Seen, "package/last.py/x", &|_| {}, true);
        check(DependencyKind::Listed, "package", &write(last), true);
        check(
            DependencyKind::Listed,
            "package",
            &write("package/other.py"),
            false,
        );
        check(
            DependencyKind::Listed,
            "package",
            &write("package/__pycache__/last.pyc"),
            true,
        );
        check(
            DependencyKind::Module,
            "package/last",
            &write("package/other.py"),
            true,
        );
        check(
            DependencyKind::Module,
            "package/last",
            &write("package/last.so"),
            false,
        );
        check(
            DependencyKind::Module,
            "package/numpy",
            &write("package/numpy.py"),
            false,
        );
        let relink = |root: &Path| {
            fs::remove_file(root.join("link")).expect("removed");
            symlink("package", root.join("link")).expect("a link");
        };
        check(DependencyKind::Link, "link", &relink, false);
        check(DependencyKind::Link, "link", &write(last), true);
    }

    #[test]
    fn what_cannot_be_compared_or_changed_meanwhile_is_not_tracked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.py");
        let before = SystemTime::now() - Duration::from_secs(1);
        fs::write(&file, "x = 1\n").expect("a file");
        let states = States::default();
        for kind in [DependencyKind::Seen, DependencyKind::Module] {
            let path = if kind == DependencyKind::Module {
                folder.path().join("x")
            } else {
                file.clone()
            };
            assert_eq!(
                depend_on(vec![(kind, path)], before).read_marks(&states),
                None,
                "{kind:?}"
            );
        }
        assert_eq!(
            depend_on(vec![(DependencyKind::Listed, folder.path().into())], before).read_marks(&states),
            None
        );
        let later = SystemTime::now() + Duration::from_secs(9);
        for path in ["/proc/self/maps", "/dev/zero", "/sys"] {
            assert_eq!(
                depend_on(vec![(DependencyKind::Seen, path.into())], later).read_marks(&states),
                None,
                "{path}"
            );
        }
        let mut untracked = depend_on(Vec::new(), later);
        assert_eq!(untracked.read_marks(&states), Some(Vec::new()));
        untracked.untracked = Some("ctypes.dlopen".to_owned());
        assert_eq!(untracked.read_marks(&states), None);
    }

    #[test]
    fn a_trailer_is_divided_from_the_blobs() {
        let text = br#"{"since":5,"untracked":null,"files":[["s","/a"],["m","/b/c"]]}"#;
        let length = (text.len() as u32).to_le_bytes();
        let whole = [b"blobs", &text[..], &length[..]].concat();
        let (blobs, dependencies) = Dependencies::split(&whole).expect("a trailer");
        assert_eq!(blobs, b"blobs");
        let files = [
            (DependencyKind::Seen, "/a".into()),
            (DependencyKind::Module, "/b/c".into()),
        ];
        assert_eq!((dependencies.since, dependencies.files), (5, files.to_vec()));
        for bad in [&b""[..], b"abc", &[255, 255, 255, 255], &whole[..whole.len() - 1]] {
            assert!(Dependencies::split(bad).is_err(), "{bad:?}");
        }
    }
}
