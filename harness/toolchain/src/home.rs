//! Where toolchains live, and which are there. Left out: making one (`install`).

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerith_tile::rules::Version;
use etcetera::{AppStrategy, AppStrategyArgs};
use serde::{Deserialize, Serialize};

use crate::ToolchainId;
use crate::python::fits;

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
    /// A file system error.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done, `read` and the like.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// It is not installed.
    #[error("find the toolchain {id}: it is not installed; `cerith toolchain add {id}` installs it")]
    Missing {
        /// The one asked for.
        id: ToolchainId,
    },
}

pub use crate::adopt::AdoptError;
pub use crate::explain::AddError;
pub use crate::install::{Event, Observer};

/// What an installed toolchain holds, as its marker file says. The marker is the last thing an installation writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Version of this file's format.
    pub schema: u32,
    /// The toolchain's name.
    pub id: String,
    /// `triton.__version__`.
    pub triton: String,
    /// `numpy.__version__`.
    pub numpy: String,
    /// Python's version.
    pub python: String,
    /// `torch.__version__`, in one that holds torch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// Of one that was adopted and not installed: what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
}

/// A Python environment that somebody else made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// Its Python interpreter.
    pub python: PathBuf,
    /// Whether its torch saw a GPU when it was adopted.
    pub gpu: bool,
}

impl Contents {
    /// Triton's version without what a build puts behind it.
    pub(crate) fn version(&self) -> Option<Version> {
        crate::adopt::release(&self.triton)
    }

    /// Whether it holds this release, and not a build of it.
    fn is_of(&self, triton: Version) -> bool {
        self.version() == Some(triton) && self.build().is_none()
    }

    /// The name of the build, of a Triton that is no release.
    fn build(&self) -> Option<String> {
        let id: ToolchainId = self.id.parse().ok()?;
        id.build().map(str::to_owned)
    }

    /// Whether it holds the Triton of a name, its torch if it has one in it, and the NumPy that it asks for or else one
    /// that fits.
    fn satisfies(&self, id: &ToolchainId) -> bool {
        let torch = self.torch.as_ref().and_then(|torch| crate::adopt::release(torch));
        self.version() == Some(id.triton())
            && self.build().as_deref() == id.build()
            && (id.torch().is_none() || id.torch() == torch)
            && match id.numpy() {
                Some(wanted) => self
                    .numpy
                    .strip_prefix(wanted)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
                None => crate::adopt::release(&self.numpy).is_some_and(|numpy| fits(id.triton(), numpy)),
            }
    }
}

impl Contents {
    /// Whether a name asks for its torch and for no NumPy.
    fn is_asked_for_torch(&self, id: &ToolchainId) -> bool {
        let torch = self.torch.as_ref().and_then(|torch| crate::adopt::release(torch));
        id.torch().is_some() && id.torch() == torch && id.numpy().is_none() && self.is_of(id.triton())
    }
}

/// An installed toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name.
    pub id: ToolchainId,
    /// What is in it.
    pub contents: Contents,
    root: PathBuf,
}

impl Toolchain {
    /// The folder it is in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its Python interpreter.
    pub fn python(&self) -> PathBuf {
        self.contents.adopted.as_ref().map_or_else(
            || self.root.join("bin").join("python"),
            |adopted| adopted.python.clone(),
        )
    }

    /// Why it cannot be used, where its Python is gone, with the mend.
    pub fn gone(&self) -> Option<String> {
        let python = self.python();
        let again = match &self.contents.adopted {
            None => format!("`cerith toolchain add {}` makes it anew", self.id),
            Some(_) => "`cerith toolchain adopt PYTHON` registers another".to_owned(),
        };
        (!python.exists()).then(|| {
            format!(
                "its Python is gone: {}; `cerith toolchain remove {}` and {again}",
                python.display(),
                self.contents.id
            )
        })
    }

    /// Whether its NumPy is one that its Triton's interpreter works with, or the one that its name asks for.
    pub fn numpy_fits(&self) -> bool {
        self.contents.satisfies(&self.id)
    }

    /// Whether somebody else made it, and only its marker is ours.
    pub const fn is_adopted(&self) -> bool {
        self.contents.adopted.is_some()
    }

    /// Its Triton version.
    pub const fn triton(&self) -> Version {
        self.id.triton()
    }

    /// Bytes on disk that are ours (files shared with an installer's cache counted in full).
    pub fn size(&self) -> u64 {
        size_of(&self.root)
    }

    pub(crate) fn at(id: ToolchainId, contents: Contents, root: PathBuf) -> Self {
        Self { id, contents, root }
    }
}

/// Name of the marker file in a toolchain's folder.
pub(crate) const MARKER: &str = "cerith-toolchain.json";

/// The format of the marker file.
pub(crate) const SCHEMA: u32 = 1;

/// How often a lock that another process has is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes of all files under a folder. What cannot be read counts as nothing.
pub(crate) fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size_of(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

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
            return Ok(Self { root });
        }
        let strategy = etcetera::choose_app_strategy(AppStrategyArgs {
            top_level_domain: "org".to_owned(),
            author: "cerith".to_owned(),
            app_name: "cerith".to_owned(),
        })
        .map_err(|_| HomeError::Nowhere)?;
        Ok(Self {
            root: strategy.data_dir(),
        })
    }

    /// A given folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
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

    /// What is in the folder under a toolchain's name and cannot be used: the name, and why with the mend.
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

    /// Why the one of a name cannot be used, with the mend; nothing where it can, or is not there at all.
    pub fn why_broken(&self, id: &ToolchainId) -> Option<String> {
        if let Some(toolchain) = self.find(id) {
            return toolchain.gone();
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
        Some(format!(
            "{why}; `cerith toolchain remove {id}` and `cerith toolchain add {id}` make it anew"
        ))
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
            .or_else(|| self.among(|one| one.is_adopted() && one.contents.satisfies(id)))
            .or_else(|| self.among(|one| one.is_adopted() && one.contents.is_asked_for_torch(id)))
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
            let found = self.among(|one| one.is_adopted() && has(&one.contents))?;
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
        let found = self.among(|one| one.contents.torch.is_some() && fits(&one.contents))?;
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

    fn among(&self, wanted: impl Fn(&Toolchain) -> bool) -> Option<Toolchain> {
        self.list().ok()?.into_iter().find(wanted)
    }

    /// Registers the environment of a Python, made by somebody else, as a toolchain of the Triton, NumPy and torch that
    /// it holds. `python` is a path, or a name to be looked for on PATH. Nothing is installed; only a marker is written.
    /// A Triton whose version names a build (`3.10.0+git1a2b3c4`) is called by it; `name` is another name for the build.
    ///
    /// # Errors
    /// There is no such Python, it has no Triton, a worker does not run in it, or its name is taken.
    pub fn adopt(
        &self,
        python: &OsStr,
        name: Option<&str>,
        observer: &dyn Observer,
    ) -> Result<Toolchain, AdoptError> {
        crate::adopt::adopt(self, python, name, observer)
    }

    /// Installs a toolchain from PyPI with uv or pip, or returns it if it is already there.
    ///
    /// # Errors
    /// No Python that fits, no network, no such version, a full disk and the like; nothing half-made is left.
    pub fn add(&self, id: &ToolchainId, observer: &dyn Observer) -> Result<Toolchain, AddError> {
        crate::install::add(self, id, observer, std::env::var_os("PATH").as_deref())
    }

    /// Removes a toolchain. It is gone at once (renamed away), and then deleted.
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
        drop(lock);
        Ok(())
    }

    /// Waits for and takes the lock under which a toolchain is made or removed; none if `give_up` said so meanwhile.
    /// Released when the file and all its duplicates are closed, as the system does when processes end. An installer
    /// gets a duplicate, so that the lock outlives us for as long as one does that we were killed under.
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
        let home = Home::at(folder.path());
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
                && why.ends_with(
                    "`cerith toolchain remove 3.10.0` and `cerith toolchain add 3.10.0` make it anew"
                )),
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
