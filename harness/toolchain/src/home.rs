//! The folder of installed toolchains, and the list of them. See `install` and `adopt` for making one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerith_tile::rules::Version;
use etcetera::{AppStrategy, AppStrategyArgs};

use crate::cache::Cache;
use crate::checkout::{self, Tracking};
use crate::id::ToolchainId;
use crate::installed::{Contents, MARKER, SCHEMA, Toolchain};

/// The folder of everything Cerith keeps for a user: toolchains, what they compiled, and the workers' private files while
/// they run.
///
/// `$CERITH_HOME`, or `cerith` in the user's data directory (`$XDG_DATA_HOME`, `~/.local/share`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Toolchains cannot be looked up or removed.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No home directory and no `CERITH_HOME`.
    #[error("find the user's data directory: set CERITH_HOME to a folder for toolchains")]
    Nowhere,
    /// It has files that a checkout brought: a toolchain in it would be executed.
    #[error(
        "use {}: the git repository {} has files in it ({}), and a committed toolchain would be executed; set \
         CERITH_HOME to a folder outside of the checkout", home.display(), tree.display(), tracked.display()
    )]
    Tracked {
        /// The folder.
        home: PathBuf,
        /// The work tree that it lies in.
        tree: PathBuf,
        /// The first file in it that the repository has, from the work tree.
        tracked: PathBuf,
    },
    /// It lies in a work tree of a repository that can't be read.
    #[error(
        "use {}: it lies in the checkout {}, whose list of files cannot be read ({reason}); set CERITH_HOME to a folder outside of the \
         checkout", home.display(), tree.display()
    )]
    UnknownTree {
        /// The folder.
        home: PathBuf,
        /// The work tree that it lies in.
        tree: PathBuf,
        /// The reason why its index can't be read.
        reason: String,
    },
    /// A file system error.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// The operation: `read` and the like.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not installed.
    #[error("find the toolchain {id}: it is not installed; `cerith toolchain add {id}` installs it")]
    Missing {
        /// The one asked for.
        id: ToolchainId,
    },
}

/// How often a lock that another process has is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

impl Home {
    /// The user's: `$CERITH_HOME`, or `cerith` in the data directory.
    pub fn discover() -> Result<Self, HomeError> {
        if let Some(path) = std::env::var_os("CERITH_HOME").filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let root = std::path::absolute(&path).map_err(|source| HomeError::Io {
                doing: "find",
                path,
                source,
            })?;
            return Self { root }.outside_of_checkouts();
        }
        let strategy = etcetera::choose_app_strategy(AppStrategyArgs {
            top_level_domain: "org".to_owned(),
            author: "cerith".to_owned(),
            app_name: "cerith".to_owned(),
        })
        .map_err(|_| HomeError::Nowhere)?;
        let root = strategy.data_dir();
        Self { root }.outside_of_checkouts()
    }

    /// Itself, if no file in it came with a checkout.
    fn outside_of_checkouts(self) -> Result<Self, HomeError> {
        match checkout::find_tracked(&self.root) {
            Tracking::None => Ok(self),
            Tracking::File { tree, path } => Err(HomeError::Tracked {
                home: self.root,
                tree,
                tracked: path,
            }),
            Tracking::Unknown { tree, reason } => Err(HomeError::UnknownTree {
                home: self.root,
                tree,
                reason,
            }),
        }
    }

    /// A given folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn toolchains_folder(&self) -> PathBuf {
        self.root.join("toolchains")
    }

    pub(crate) fn compiled_folder(&self) -> PathBuf {
        self.root.join("compiled")
    }

    /// The installed toolchains by name. Half-made ones are not among them.
    pub fn list(&self) -> Result<Vec<Toolchain>, HomeError> {
        let folder = self.toolchains_folder();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => {
                return Err(HomeError::Io {
                    doing: "list",
                    path: folder,
                    source,
                });
            }
        };
        let mut found: Vec<Toolchain> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
            .filter_map(|id: ToolchainId| self.find(&id))
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found.dedup_by(|a, b| a.id == b.id);
        Ok(found)
    }

    /// The unusable toolchains in the folder: the name, and the reason with a fix.
    pub fn broken(&self) -> Vec<(ToolchainId, String)> {
        let entries = fs::read_dir(self.toolchains_folder())
            .into_iter()
            .flatten()
            .flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut found: Vec<(ToolchainId, String)> = ids
            .filter_map(|id| Some((self.why_broken(&id)?, id)))
            .map(|(why, id)| (id, why))
            .collect();
        found.sort();
        found.dedup_by(|a, b| a.0 == b.0);
        found
    }

    /// The reason why the toolchain of this name cannot be used, with a fix; `None` if it can, or is not installed.
    pub fn why_broken(&self, id: &ToolchainId) -> Option<String> {
        if let Some(toolchain) = self.find(id) {
            return toolchain.explain_missing();
        }
        let root = self.toolchains_folder().join(id.to_string());
        if !root.exists() {
            return None;
        }
        let path = root.join(MARKER);
        let why = match fs::read(&path).map(|text| serde_json::from_slice::<Contents>(&text)) {
            Err(error) => format!("{MARKER} cannot be read: {error}"),
            Ok(Err(error)) => format!("{MARKER} is damaged: {error}"),
            Ok(Ok(contents)) if contents.schema != SCHEMA => {
                format!(
                    "{MARKER} is of schema {}, and this Cerith knows {SCHEMA}",
                    contents.schema
                )
            }
            Ok(Ok(contents)) => format!("{MARKER} says that it is {}", contents.id),
        };
        Some(format!("{why}; run `cerith toolchain repair {id}`"))
    }

    /// An installed toolchain, if it is there.
    pub fn find(&self, id: &ToolchainId) -> Option<Toolchain> {
        let root = self.toolchains_folder().join(id.to_string());
        let text = fs::read(root.join(MARKER)).ok()?;
        let contents: Contents = serde_json::from_slice(&text).ok()?;
        (contents.schema == SCHEMA && contents.id == id.to_string()).then(|| Toolchain {
            id: id.clone(),
            contents,
            root,
        })
    }

    /// The toolchain that serves for a name, called by that name: the one that has it, or one that was adopted (whose
    /// name says its NumPy to the last digit) and holds that Triton with a NumPy such as the name means; of a torch, if
    /// there is none, one with any NumPy ([`Toolchain::numpy_fits`]).
    pub fn resolve(&self, id: &ToolchainId) -> Option<Toolchain> {
        self.find(id)
            .or_else(|| self.find_newest(|one| one.is_adopted() && one.contents.satisfies(id)))
            .or_else(|| self.find_newest(|one| one.is_adopted() && one.contents.is_asked_for_torch(id)))
            .map(|found| Toolchain {
                id: id.clone(),
                ..found
            })
    }

    /// One that has this Triton, or this build of it, to compile with, called as [`ToolchainId::compiler`] says: for
    /// machine code no NumPy matters.
    pub fn resolve_compiler(&self, id: &ToolchainId) -> Option<Toolchain> {
        let id = id.compiler();
        self.resolve(&id).or_else(|| {
            let has = |contents: &Contents| {
                contents.version() == Some(id.triton()) && contents.build().as_deref() == id.build()
            };
            let found = self.find_newest(|one| one.is_adopted() && has(&one.contents))?;
            Some(Toolchain {
                id: id.clone(),
                ..found
            })
        })
    }

    /// One that has torch beside this Triton and such a NumPy, called by the name asked for. With `any_numpy`, whatever
    /// the NumPy.
    pub fn resolve_torch(&self, id: &ToolchainId, any_numpy: bool) -> Option<Toolchain> {
        let fits = |contents: &Contents| contents.satisfies(id) || (any_numpy && contents.is_of(id.triton()));
        let found = self.find_newest(|one| one.contents.torch.is_some() && fits(&one.contents))?;
        Some(Toolchain {
            id: id.clone(),
            ..found
        })
    }

    /// The newest Triton that has torch beside it.
    pub fn newest_with_torch(&self) -> Option<Version> {
        let all = self.list().ok()?;
        all.iter()
            .filter(|one| one.contents.torch.is_some())
            .filter_map(|one| one.contents.version())
            .max()
    }

    fn find_newest(&self, wanted: impl Fn(&Toolchain) -> bool) -> Option<Toolchain> {
        self.list().ok()?.into_iter().find(wanted)
    }

    /// Removes a toolchain, with the kernels that it compiled. It is gone at once (renamed away), and then deleted.
    pub fn remove(&self, id: &ToolchainId) -> Result<(), HomeError> {
        let folder = self.toolchains_folder();
        let root = folder.join(id.to_string());
        if !root.exists() {
            return Err(HomeError::Missing { id: id.clone() });
        }
        let lock = self.lock(id, || false)?;
        let doomed = folder.join(format!(".partial-{id}"));
        let io = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| HomeError::Io { doing, path, source }
        };
        if doomed.exists() {
            fs::remove_dir_all(&doomed).map_err(io("remove", &doomed))?;
        }
        fs::rename(&root, &doomed).map_err(io("remove", &root))?;
        fs::remove_dir_all(&doomed).map_err(io("remove", &doomed))?;
        let compiled = self.compiled_folder();
        Cache::remove(&compiled, &id.to_string()).map_err(io("remove what it compiled in", &compiled))?;
        drop(lock);
        Ok(())
    }

    /// Waits for and takes the lock under which a toolchain is made or removed; `None` if `give_up` returns true
    /// meanwhile. Released when the file and all its duplicates are closed, as the system does when processes end. An
    /// installer gets a duplicate, so that the lock lasts as long as the installer, even if Cerith is killed before.
    pub(crate) fn lock(
        &self,
        id: &ToolchainId,
        give_up: impl Fn() -> bool,
    ) -> Result<Option<File>, HomeError> {
        let path = self.toolchains_folder().join(format!(".lock-{id}"));
        let failed = |source| HomeError::Io {
            doing: "lock",
            path: path.clone(),
            source,
        };
        let file = File::options()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if give_up() => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_toolchains_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::new(folder.path());
        assert_eq!(home.list().expect("a list"), []);
        let make = |name: &str, id: &str, schema: u32| {
            let root = home.toolchains_folder().join(name);
            fs::create_dir_all(&root).expect("made");
            let text = format!(
                r#"{{"schema":{schema},"id":"{id}","triton":"3.1.0","numpy":"1.26.4","python":"3.11.7"}}"#
            );
            fs::write(root.join(MARKER), text).expect("written");
        };
        make("3.9.0", "3.9.0", SCHEMA);
        make("3.10.0", "3.10.0", SCHEMA);
        make("3.1.0+numpy2", "3.1.0+numpy2", SCHEMA);
        make("torch2.5.1", "torch2.5.1", SCHEMA);
        make(".partial-3.2.0", "3.2.0", SCHEMA);
        make("3.3.1", "3.4.0", SCHEMA);
        make("3.5.1", "3.5.1", SCHEMA + 1);
        fs::create_dir(home.toolchains_folder().join("3.6.0")).expect("made");
        let names: Vec<String> = home
            .list()
            .expect("a list")
            .iter()
            .map(|one| one.id.to_string())
            .collect();
        assert_eq!(names, ["3.1.0+numpy2", "3.9.0", "3.10.0", "torch2.5.1"]);

        let broken: Vec<(String, String)> = home
            .broken()
            .into_iter()
            .map(|(id, why)| {
                (
                    id.to_string(),
                    why.split(';').next().unwrap_or_default().to_owned(),
                )
            })
            .collect();
        let damaged = |id: &str, text: &str| {
            let root = home.toolchains_folder().join(id);
            fs::write(root.join(MARKER), text).expect("written");
        };
        let why = |id: &str| {
            broken
                .iter()
                .find(|(one, _)| one == id)
                .map(|(_, why)| why.as_str())
        };
        assert_eq!(why("3.3.1"), Some("cerith-toolchain.json says that it is 3.4.0"));
        assert_eq!(
            why("3.5.1"),
            Some("cerith-toolchain.json is of schema 2, and this Cerith knows 1")
        );
        let unread = "cerith-toolchain.json cannot be read: No such file or directory (os error 2)";
        assert_eq!(why("3.6.0"), Some(unread));
        assert!(why("3.9.0").is_some_and(|why| why.starts_with("its Python is gone: ")));
        damaged("3.10.0", "{ \"schema\": 1, \"id\"");
        let found = home.broken();
        let text = found
            .iter()
            .find(|(id, _)| id.to_string() == "3.10.0")
            .map(|(_, why)| why);
        assert!(
            text.is_some_and(|why| why.starts_with("cerith-toolchain.json is damaged: ")
                && why.ends_with("; run `cerith toolchain repair 3.10.0`")),
            "{text:?}"
        );

        let id = "3.9.0".parse().expect("a toolchain");
        home.remove(&id).expect("removed");
        assert_eq!(home.find(&id), None);
        let error = home.remove(&id).expect_err("gone");
        let text = "find the toolchain 3.9.0: it is not installed; `cerith toolchain add 3.9.0` installs it";
        assert_eq!(error.to_string(), text);
    }
}
