//! The files of an installed toolchain as they were installed, and whether they are still the same. See [`crate::install`] for making
//! a toolchain, and `repair` for one that is damaged.
//!
//! A file is hashed once, and again when its size, inode or times of change are others. Adopted environments are
//! not Cerith's: their files may change, and are not checked.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use blake3::{Hash, Hasher};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Toolchain;
use crate::dependencies::{Stamp, stamp_of};

/// Name of the manifest in a toolchain's folder.
const MANIFEST: &str = "cerith-manifest.json";

/// The format of the manifest.
const SCHEMA: u32 = 1;

/// The environment's own settings.
pub(crate) const SETTINGS: &str = "pyvenv.cfg";

/// Folders in folders that are looked into. Deeper ones are links into themselves.
const MAX_DEPTH: usize = 24;

/// Files that uv puts into an environment and that no package lists.
const OF_UV: &[&str] = &["_virtualenv.py", "_virtualenv.pth"];

/// A toolchain whose files are not those that were installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("toolchain damaged: {description}; run `cerith toolchain repair {id}`")]
pub struct Damage {
    /// The toolchain.
    pub id: String,
    /// The first damage, and how much more there is.
    pub description: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Manifest {
    schema: u32,
    /// By the path from the toolchain's folder.
    files: BTreeMap<String, Entry>,
}

/// SHA-256 in the alphabet of wheels' records, and what the file's numbers were when it had that hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry(String, Stamp);

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As much as in this process before, if there was a check.
    Once,
    /// Numbers of all files, and the contents of files whose numbers changed.
    Numbers,
    /// The contents of all files.
    Contents,
}

/// The results of this process's checks, by folder.
static CHECKED: LazyLock<Mutex<HashMap<PathBuf, Result<Hash, Damage>>>> = LazyLock::new(Mutex::default);

/// A hash of the installed files; an error if they have changed since.
///
/// # Errors
/// The files are not those that were installed.
pub(crate) fn check(toolchain: &Toolchain, depth: Depth) -> Result<Hash, Damage> {
    let root = toolchain.root();
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if depth == Depth::Once
        && let Some(result) = checked.get(root)
    {
        return result.clone();
    }
    let result = compare(root, depth).map_err(|error| Damage {
        id: toolchain.contents.id.clone(),
        description: error.to_string(),
    });
    checked.insert(root.to_owned(), result.clone());
    result
}

/// Forgets what was found out about a folder, which another toolchain takes.
pub(crate) fn forget(root: &Path) {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.remove(root);
}

/// Notes the environment's settings as they are now: they were made again.
pub(crate) fn renew_settings(root: &Path) {
    if let Some(mut manifest) = read(root) {
        manifest.files.remove(SETTINGS);
        let path = root.join(SETTINGS);
        if let (Ok(metadata), Ok(hash)) = (fs::metadata(&path), hash_file(&path)) {
            let entry = Entry(hash, stamp_of(&metadata));
            manifest.files.insert(SETTINGS.to_owned(), entry);
        }
        write(root, &manifest);
    }
    forget(root);
}

/// Why the files of a toolchain are not those that were installed. Paths start from the folder of the packages.
#[derive(Debug, thiserror::Error)]
enum CompareError {
    #[error("{first}{}", describe_others(*other_count))]
    Files {
        first: FileDamage,
        /// How many more files are damaged.
        other_count: usize,
    },
    #[error("`{path}` cannot be read: {error}")]
    Read { path: String, error: io::Error },
    #[error("its packages are gone")]
    NoPackages,
    #[error("`{path}`: {error}")]
    Record { path: String, error: io::Error },
    #[error("nothing says what was installed of {0}")]
    NoRecord(&'static str),
}

/// The damage of one file.
#[derive(Debug, thiserror::Error)]
enum FileDamage {
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("`{0}` was added")]
    Added(String),
    #[error("`{0}` was changed")]
    Changed(String),
}

fn describe_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and another file is not what was installed".to_owned(),
        others => format!(", and {others} more files are not what was installed"),
    }
}

fn compare(root: &Path, depth: Depth) -> Result<Hash, CompareError> {
    let found = list_files(root);
    let (mut manifest, is_new) = match read(root) {
        Some(manifest) => (manifest, false),
        // It was installed by a version that wrote none.
        None => (Manifest::default(), true),
    };
    let recorded = if is_new {
        read_records(root, &found)?
    } else {
        BTreeMap::new()
    };
    let expected = |path: &str| {
        let known = manifest.files.get(path).map(|entry| &entry.0);
        known.or_else(|| recorded.get(path))
    };
    let mut damage = Vec::new();
    let in_hand: Vec<&String> = manifest.files.keys().chain(recorded.keys()).collect();
    damage.extend(
        in_hand
            .into_iter()
            .filter(|path| !found.contains_key(*path) && !is_bytecode(path))
            .map(|path| FileDamage::Missing(shorten(path).to_owned())),
    );
    let unsure: Vec<(&String, &Stamp)> = found
        .iter()
        .filter(|(path, stamp)| {
            let known = manifest.files.get(*path).map(|entry| &entry.1);
            depth == Depth::Contents || known != Some(*stamp)
        })
        .collect();
    let mut updated: Vec<(String, Entry)> = Vec::new();
    for ((path, stamp), hash) in unsure.iter().zip(hash_files(root, &unsure)) {
        let may_be_new = is_new && (is_bytecode(path) || is_unlisted(path));
        let hash = hash.map_err(|error| CompareError::Read {
            path: shorten(path).to_owned(),
            error,
        })?;
        match expected(path) {
            Some(known) if *known == hash => {}
            None if may_be_new => {}
            // Python makes it again from the source, which is checked.
            _ if is_bytecode(path) && fs::remove_file(root.join(path)).is_ok() => continue,
            known => {
                let path = shorten(path).to_owned();
                damage.push(match known {
                    Some(_) => FileDamage::Changed(path),
                    None => FileDamage::Added(path),
                });
                continue;
            }
        }
        updated.push(((*path).clone(), Entry(hash, **stamp)));
    }
    let mut damage = damage.into_iter();
    if let Some(first) = damage.next() {
        return Err(CompareError::Files {
            first,
            other_count: damage.len(),
        });
    }
    if is_new || !updated.is_empty() {
        manifest.schema = SCHEMA;
        manifest.files.extend(updated);
        write(root, &manifest);
    }
    Ok(manifest.identity())
}

impl Manifest {
    /// A hash of the installed files, except those that Python makes from them.
    fn identity(&self) -> Hash {
        let mut hasher = Hasher::new();
        for (path, Entry(hash, _)) in self.files.iter().filter(|(path, _)| !is_bytecode(path)) {
            for part in [path, hash] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        hasher.finalize()
    }
}

fn read(root: &Path) -> Option<Manifest> {
    let manifest: Manifest = serde_json::from_slice(&fs::read(root.join(MANIFEST)).ok()?).ok()?;
    (manifest.schema == SCHEMA).then_some(manifest)
}

/// Writes a manifest. If that fails, the next process hashes the files again.
fn write(root: &Path, manifest: &Manifest) {
    let Ok(text) = serde_json::to_vec(manifest) else {
        return;
    };
    let _ = tempfile::Builder::new()
        .prefix(".partial-")
        .tempfile_in(root)
        .and_then(|mut file| {
            file.write_all(&text)?;
            file.persist(root.join(MANIFEST))
                .map(drop)
                .map_err(|error| error.error)
        });
}

fn is_bytecode(path: &str) -> bool {
    path.contains("/__pycache__/")
}

/// Whether installers add such a file without a hash: a record of the installation itself, or a part of the environment.
fn is_unlisted(path: &str) -> bool {
    let mut parts = shorten(path).split('/');
    let first = parts.next().unwrap_or_default();
    path == SETTINGS || first.ends_with(".dist-info") || (parts.next().is_none() && OF_UV.contains(&first))
}

/// A path as a user knows it: from the folder of the packages.
fn shorten(path: &str) -> &str {
    path.split_once("/site-packages/").map_or(path, |(_, rest)| rest)
}

/// The folder of the packages, from the toolchain's: `lib/python3.11/site-packages`.
fn find_packages(root: &Path) -> Option<String> {
    let mut found: Vec<String> = fs::read_dir(root.join("lib"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let folder = format!("lib/{name}/site-packages");
            root.join(&folder).is_dir().then_some(folder)
        })
        .collect();
    found.sort();
    found.pop()
}

/// Every file that a toolchain's Python may load, with its numbers.
fn list_files(root: &Path) -> BTreeMap<String, Stamp> {
    let mut found = BTreeMap::new();
    if let Ok(metadata) = fs::metadata(root.join(SETTINGS)) {
        found.insert(SETTINGS.to_owned(), stamp_of(&metadata));
    }
    if let Some(packages) = find_packages(root) {
        visit(root, &packages, MAX_DEPTH, &mut found);
    }
    found
}

fn visit(root: &Path, folder: &str, depth: usize, found: &mut BTreeMap<String, Stamp>) {
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        // A link counts as its target, and a dangling link does not count.
        let metadata = match entry.file_type() {
            Ok(kind) if !kind.is_symlink() => entry.metadata(),
            _ => fs::metadata(entry.path()),
        };
        match metadata {
            Ok(metadata) if metadata.is_dir() && depth > 0 => visit(root, &path, depth - 1, found),
            Ok(metadata) if metadata.is_file() => {
                found.insert(path, stamp_of(&metadata));
            }
            _ => {}
        }
    }
}

/// The hashes that the wheels' records have.
fn read_records(
    root: &Path,
    found: &BTreeMap<String, Stamp>,
) -> Result<BTreeMap<String, String>, CompareError> {
    let folder = find_packages(root).ok_or(CompareError::NoPackages)?;
    let mut recorded = BTreeMap::new();
    let mut packages = Vec::new();
    // Packages may have copies of others in them, whose records name files that were left out.
    let is_record =
        |path: &&String| shorten(path).matches('/').count() == 1 && path.ends_with(".dist-info/RECORD");
    for path in found.keys().filter(is_record) {
        let text = fs::read_to_string(root.join(path)).map_err(|error| CompareError::Record {
            path: path.clone(),
            error,
        })?;
        packages.extend(shorten(path).split('-').next());
        for line in text.lines() {
            let mut parts = line.rsplitn(3, ',');
            let (Some(_), Some(hash), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let name = name.trim_matches('"').replace("\"\"", "\"");
            // Programs beside Python are not loaded by it.
            if let Some(hash) = hash.strip_prefix("sha256=").filter(|_| !name.starts_with("../")) {
                recorded.insert(format!("{folder}/{name}"), hash.trim_end_matches('=').to_owned());
            }
        }
    }
    match ["triton", "numpy"].iter().find(|name| !packages.contains(name)) {
        Some(name) => Err(CompareError::NoRecord(name)),
        None => Ok(recorded),
    }
}

/// The hashes of files, in order. Large ones are begun first.
fn hash_files(root: &Path, paths: &[(&String, &Stamp)]) -> Vec<io::Result<String>> {
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&index| paths.get(index).map(|(_, stamp)| Reverse(stamp.0)));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some((path, _)) = paths.get(index) {
                done.push((index, hash_file(&root.join(path))));
            }
        }
        done
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut all: Vec<(usize, io::Result<String>)> = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(paths.len()))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut all = work();
        all.extend(
            others
                .into_iter()
                .flat_map(|other| other.join().unwrap_or_default()),
        );
        all
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, hash)| hash).collect()
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 1 << 18];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(BASE64_URL_SAFE_NO_PAD.encode(hasher.finalize())),
            count => hasher.update(chunk.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ToolchainId;
    use crate::installed::{Contents, SCHEMA as MARKER_SCHEMA};

    use super::*;

    const PACKAGES: &str = "lib/python3.11/site-packages";

    /// A toolchain of two packages whose records are right.
    fn make_toolchain() -> (tempfile::TempDir, Toolchain) {
        let folder = tempfile::tempdir().expect("a folder");
        let packages = folder.path().join(PACKAGES);
        for (name, module) in [("triton", "runtime/interpreter.py"), ("numpy", "core.py")] {
            let path = packages.join(name).join(module);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(&path, format!("x = '{name}'\n")).expect("a file");
            let cached = path.with_file_name("__pycache__");
            fs::create_dir(&cached).expect("a folder");
            fs::write(cached.join("x.cpython-311.pyc"), "bytes").expect("a file");
            let about = packages.join(format!("{name}-1.0.dist-info"));
            fs::create_dir(&about).expect("a folder");
            let line = format!("{name}/{module},sha256={},9\n", hash_file(&path).expect("a hash"));
            let vendored = format!("{name}/vendored-1.0.dist-info/RECORD");
            write(&packages.join(&vendored), "vendored/missing.py,sha256=abc,3\n");
            let vendored = format!(
                "{vendored},sha256={},3\n",
                hash_file(&packages.join(&vendored)).expect("a hash")
            );
            let record =
                format!("{line}{vendored}../../../bin/x,sha256=abc,3\n{name}-1.0.dist-info/RECORD,,\n");
            fs::write(about.join("RECORD"), record).expect("a file");
        }
        fs::write(folder.path().join(SETTINGS), "home = /usr/bin\n").expect("a file");
        let id: ToolchainId = "3.9.0".parse().expect("a toolchain");
        let contents = Contents {
            schema: MARKER_SCHEMA,
            id: id.to_string(),
            triton: "3.9.0".to_owned(),
            numpy: "2.3.5".to_owned(),
            python: "3.11.7".to_owned(),
            torch: None,
            adopted: None,
        };
        let root = folder.path().to_owned();
        (folder, Toolchain::new(id, contents, root))
    }

    /// Changes a toolchain, with and without a manifest, and compares the damage that is found.
    #[track_caller]
    fn check_after(change: impl Fn(&Path), expected: Result<(), &str>) {
        for has_manifest in [true, false] {
            let (_folder, toolchain) = make_toolchain();
            if has_manifest {
                check(&toolchain, Depth::Once).expect("as installed");
                assert!(toolchain.root().join(MANIFEST).exists());
            }
            change(&toolchain.root().join(PACKAGES));
            let found = check(&toolchain, Depth::Numbers)
                .map(drop)
                .map_err(|damage| damage.description);
            assert_eq!(found, expected.map_err(str::to_owned), "{has_manifest}");
        }
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn a_toolchain_is_what_was_installed_or_damaged() {
        let interpreter = "triton/runtime/interpreter.py";
        check_after(|_| {}, Ok(()));
        check_after(
            |root| write(&root.join(interpreter), "x = 'tritan'\n"),
            Err("`triton/runtime/interpreter.py` was changed"),
        );
        check_after(
            |root| fs::remove_file(root.join(interpreter)).expect("removed"),
            Err("`triton/runtime/interpreter.py` is missing"),
        );
        // Python takes a package before a module.
        check_after(
            |root| write(&root.join("triton/runtime/interpreter/__init__.py"), ""),
            Err("`triton/runtime/interpreter/__init__.py` was added"),
        );
        check_after(
            |root| {
                write(&root.join(interpreter), "");
                write(&root.join("sitecustomize.py"), "");
                write(&root.join("numpy/core.py"), "");
            },
            Err("`numpy/core.py` was changed, and 2 more files are not what was installed"),
        );
    }

    #[test]
    fn bytecode_that_changed_is_removed() {
        let (_folder, toolchain) = make_toolchain();
        let first = check(&toolchain, Depth::Once).expect("as installed");
        let cached = toolchain.root().join(PACKAGES).join("numpy/__pycache__");
        write(&cached.join("x.cpython-311.pyc"), "other bytes");
        write(&cached.join("new.cpython-311.pyc"), "bytes");
        assert_eq!(check(&toolchain, Depth::Numbers), Ok(first));
        assert_eq!(fs::read_dir(&cached).expect("a folder").count(), 0);
        assert_eq!(check(&toolchain, Depth::Numbers), Ok(first));
    }

    /// Times of change are what is compared at first; a file whose time is wrong is read, and is then known by its new time.
    #[test]
    fn a_file_that_was_only_touched_is_as_installed() {
        let (_folder, toolchain) = make_toolchain();
        let first = check(&toolchain, Depth::Once).expect("as installed");
        let path = toolchain.root().join(PACKAGES).join("numpy/core.py");
        let text = fs::read(&path).expect("a file");
        fs::write(&path, text).expect("written");
        let known = || read(toolchain.root()).expect("a manifest").files;
        let before = known();
        assert_eq!(check(&toolchain, Depth::Numbers), Ok(first));
        assert_ne!(known(), before);
        assert_eq!(check(&toolchain, Depth::Contents), Ok(first));
    }

    #[test]
    fn nothing_is_believed_of_packages_without_records() {
        let (_folder, toolchain) = make_toolchain();
        let about = toolchain.root().join(PACKAGES).join("triton-1.0.dist-info");
        fs::remove_dir_all(about).expect("removed");
        let damage = check(&toolchain, Depth::Once).expect_err("damaged");
        assert_eq!(
            damage.to_string(),
            "toolchain damaged: nothing says what was installed of triton; run `cerith toolchain repair 3.9.0`"
        );
    }
}
