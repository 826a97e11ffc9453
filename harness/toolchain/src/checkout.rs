//! Whether files in a folder came with a checkout. For git, its index is read; no git is started, because a checkout may configure
//! what it runs. The lists of other systems are not read: whatever is in their checkouts may have come with them.
//!
//! Format: <https://git-scm.com/docs/index-format>.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Bytes of an index that is read.
const MAX_INDEX: u64 = 1 << 30;

/// Folders that mark checkouts of systems other than git.
const OTHER_SYSTEMS: [(&str, &str); 3] = [(".hg", "Mercurial"), (".jj", "Jujutsu"), (".svn", "Subversion")];

/// Whether a repository has files in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// None has, or the folder lies in no work tree.
    None,
    /// One has.
    File {
        /// Its work tree.
        tree: PathBuf,
        /// The first file in the folder, from the work tree.
        path: PathBuf,
    },
    /// It lies in a work tree, and nothing says which files that has.
    Unknown {
        /// The work tree.
        tree: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Looks for a file that a work tree around the folder has in it. The folder need not exist.
pub(crate) fn find_tracked(folder: &Path) -> Tracking {
    // By its real place, and by the place where it was named: a link to elsewhere may be what was committed.
    let real = resolve_links(folder);
    for folder in [&real, folder] {
        for tree in folder.ancestors() {
            let other = OTHER_SYSTEMS
                .iter()
                .find(|(mark, _)| tree.join(mark).symlink_metadata().is_ok());
            // An empty folder has nothing to execute.
            if let Some((_, system)) = other
                && !is_empty(folder)
                // Jujutsu keeps a git repository beside its own, with an index.
                && tree.join(".git").symlink_metadata().is_err()
            {
                return Tracking::Unknown {
                    tree: tree.to_owned(),
                    reason: format!("it is one of {system}"),
                };
            }
        }
        for tree in folder
            .ancestors()
            .filter(|tree| tree.join(".git").symlink_metadata().is_ok())
        {
            let Ok(inside) = folder.strip_prefix(tree) else {
                continue;
            };
            match first_tracked(tree, inside) {
                Ok(None) => {}
                Ok(Some(path)) => {
                    return Tracking::File {
                        tree: tree.to_owned(),
                        path,
                    };
                }
                // An empty folder has nothing to execute.
                Err(_) if is_empty(folder) => {}
                Err(error) => {
                    return Tracking::Unknown {
                        tree: tree.to_owned(),
                        reason: error.to_string(),
                    };
                }
            }
        }
    }
    Tracking::None
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Resolves links in a path, whose last parts need not exist.
fn resolve_links(path: &Path) -> PathBuf {
    let found = path
        .ancestors()
        .find_map(|parent| Some((parent, parent.canonicalize().ok()?)));
    match found {
        Some((parent, real)) => real.join(path.strip_prefix(parent).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}

/// The reason why the index of a work tree cannot be read.
#[derive(Debug, thiserror::Error)]
enum IndexError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("`.git` names no repository")]
    NoRepository,
    #[error("it is too long")]
    TooLong,
    #[error("it is not an index of version 2 to 4 with whole entries")]
    Format,
}

/// The first file of a work tree's index that lies in a folder of it, or is the folder or a link on the way to it.
fn first_tracked(tree: &Path, inside: &Path) -> Result<Option<PathBuf>, IndexError> {
    let dot_git = tree.join(".git");
    let git = if dot_git.is_dir() {
        dot_git
    } else {
        // A linked work tree, or a submodule.
        let text = fs::read_to_string(&dot_git)?;
        let named = text.strip_prefix("gitdir:").ok_or(IndexError::NoRepository)?;
        tree.join(named.trim())
    };
    let index = git.join("index");
    let metadata = match fs::metadata(&index) {
        // Nothing was added yet.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && git.is_dir() => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(metadata) => metadata,
    };
    if metadata.len() > MAX_INDEX {
        return Err(IndexError::TooLong);
    }
    let bytes = fs::read(&index)?;
    let prefix = inside
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.as_encoded_bytes()),
            _ => None,
        })
        .collect::<Vec<_>>()
        .join(&b'/');
    let mut found = None;
    visit_names(&bytes, |name| {
        let is_parent = |long: &[u8], short: &[u8]| {
            long.strip_prefix(short)
                .is_some_and(|rest| rest.is_empty() || short.is_empty() || rest.starts_with(b"/"))
        };
        if found.is_none() && (is_parent(name, &prefix) || is_parent(&prefix, name)) {
            found = Some(PathBuf::from(String::from_utf8_lossy(name).into_owned()));
        }
    })
    .ok_or(IndexError::Format)?;
    Ok(found)
}

/// Hands over the name of each entry of an index.
fn visit_names(bytes: &[u8], mut visit: impl FnMut(&[u8])) -> Option<()> {
    /// Numbers and times, and the object's name, before the flags.
    const NUMBERS: usize = 40;
    let number = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
    let rest = bytes.strip_prefix(b"DIRC")?;
    let (version, rest) = rest.split_at_checked(4)?;
    let (count, mut rest) = rest.split_at_checked(4)?;
    let version = number(version).filter(|version| (2..=4).contains(version))?;
    // The object's name is a SHA-1 or a SHA-256. The first entry's name ends with a zero byte after either; only one of them fits
    // all entries.
    let entries = rest;
    for object in [20, 32] {
        rest = entries;
        let mut names = Vec::new();
        if read_names(&mut rest, version, number(count)?, NUMBERS + object, &mut names).is_some() {
            if has_link(rest.get(..rest.len().checked_sub(object)?)?) {
                return None;
            }
            // A sparse index names folders, with a slash at the end, in place of their files.
            let names = names.iter().map(|name| name.strip_suffix(b"/").unwrap_or(name));
            names.for_each(&mut visit);
            return Some(());
        }
    }
    None
}

/// Whether an index refers to another file for most of its entries.
fn has_link(mut extensions: &[u8]) -> bool {
    while let Some((head, rest)) = extensions.split_first_chunk::<8>() {
        let [name @ .., a, b, c, d] = *head;
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        if name == *b"link" {
            return true;
        }
        extensions = rest.get(size..).unwrap_or_default();
    }
    false
}

fn read_names(
    rest: &mut &[u8],
    version: u32,
    count: u32,
    fixed: usize,
    names: &mut Vec<Vec<u8>>,
) -> Option<()> {
    const EXTENDED: u8 = 0x40;
    for _ in 0..count {
        let entry = *rest;
        let flags = *entry.get(fixed)?;
        let mut at = fixed + 2;
        if flags & EXTENDED != 0 && version >= 3 {
            at += 2;
        }
        let mut name = Vec::new();
        if version == 4 {
            // How many bytes of the name before are dropped.
            let mut byte = *entry.get(at)?;
            at += 1;
            let mut drop = usize::from(byte & 0x7F);
            while byte & 0x80 != 0 {
                byte = *entry.get(at)?;
                at += 1;
                drop = drop
                    .checked_add(1)?
                    .checked_mul(128)?
                    .checked_add(usize::from(byte & 0x7F))?;
            }
            name = names.last().cloned().unwrap_or_default();
            name.truncate(name.len().checked_sub(drop)?);
        }
        let tail = entry.get(at..)?;
        let length = tail.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(tail.get(..length)?);
        let end = at + length + 1;
        // Up to version 3, entries are padded to eight bytes with at least one zero.
        let end = if version == 4 {
            end
        } else {
            end.next_multiple_of(8)
        };
        if name.is_empty() || names.last().is_some_and(|before| *before > name) {
            return None;
        }
        *rest = entry.get(end..)?;
        names.push(name);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// Git in a folder; tests without git have nothing to read.
    fn run_git(folder: &Path, args: &[&str]) -> bool {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(folder)
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.output().is_ok_and(|output| output.status.success())
    }

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, "x").expect("written");
    }

    #[test]
    fn a_committed_file_in_the_folder_is_found() {
        for (version, format) in [
            ("2", "sha1"),
            ("3", "sha1"),
            ("4", "sha1"),
            ("2", "sha256"),
            ("4", "sha256"),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a folder");
            if !run_git(&root, &["init", "-q", &format!("--object-format={format}")]) {
                return;
            }
            let tracked = |inside: &str| match find_tracked(&root.join(inside)) {
                Tracking::None => None,
                Tracking::File { path, .. } => Some(path.to_string_lossy().into_owned()),
                Tracking::Unknown { reason, .. } => panic!("{version} {format}: {reason}"),
            };
            assert_eq!(tracked("home"), None);
            let names = [
                "a.py",
                "home/toolchains/3.9.0/bin/python",
                "home-made.py",
                "z/long/name/of/a/file.py",
            ];
            for name in names {
                write(&root.join(name));
            }
            assert!(run_git(&root, &["add", "."]));
            assert!(run_git(&root, &["update-index", "--index-version", version]));
            assert_eq!(tracked("home").as_deref(), Some(names[1]), "{version} {format}");
            assert_eq!(tracked("home/toolchains").as_deref(), Some(names[1]));
            assert_eq!(tracked("hom"), None);
            assert_eq!(tracked("homes"), None);
            assert_eq!(tracked("z").as_deref(), Some(names[3]));
            assert!(tracked("").is_some());
            // A file that is not committed is the user's own.
            write(&root.join("ignored/x"));
            assert_eq!(tracked("ignored"), None);
            // A committed link leads elsewhere.
            symlink("/tmp", root.join("link")).expect("a link");
            assert!(run_git(&root, &["add", "link"]));
            assert_eq!(tracked("link").as_deref(), Some("link"));
            assert_eq!(tracked("link/home").as_deref(), Some("link"));
        }
    }

    #[test]
    fn a_tree_that_cannot_be_read_is_refused_unless_the_folder_is_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir(root.join(".git")).expect("a folder");
        fs::write(root.join(".git/index"), "DIRC").expect("written");
        assert_eq!(find_tracked(&root.join("home")), Tracking::None);
        write(&root.join("home/x"));
        assert!(matches!(
            find_tracked(&root.join("home")),
            Tracking::Unknown { .. }
        ));
        assert_eq!(find_tracked(Path::new("/nowhere/at/all")), Tracking::None);
        for mark in [".hg", ".jj", ".svn"] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::create_dir(folder.path().join(mark)).expect("a folder");
            let home = folder.path().join("home");
            assert_eq!(find_tracked(&home), Tracking::None, "{mark}: it is empty");
            write(&home.join("x"));
            assert!(matches!(find_tracked(&home), Tracking::Unknown { .. }), "{mark}");
        }
    }
}
