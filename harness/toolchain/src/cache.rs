//! Compilations kept on disk, keyed by the request, the folder of the kernels and the toolchain's files. See [`crate::Compilers`] for
//! asking for one.
//!
//! An answer has the state of every file that its worker read ([`crate::dependencies`]), and counts as missing once one of them is not
//! as it was. An answer is a file named by its key. It names its kernels' machine code and texts by their hashes; each of those is a file
//! too, so that cases with equal kernels share them. Files are written beside their place and renamed into it, so that an
//! interrupted run leaves no half-written file and parallel runs do not collide. A file whose hash is wrong counts as missing:
//! its kernel is compiled and written again.

use std::fs::{self, File, FileTimes};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use blake3::{Hash, Hasher};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::compilation::{Compilation, CompileRequest};
use crate::compiled::{Compiled, Invocation, Kernel, Metadata};
use crate::dependencies::{Dependencies, Mark, States};
use crate::response::Raised;
use crate::wire::{self, BadRequest};
use crate::{Home, Toolchain, environment};

/// Compilations on disk. Shared between threads and processes.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    states: States,
}

/// The name of a cached compilation: its toolchain's folder, and the hash of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    toolchain: String,
    hash: Hash,
}

/// The size of a cache's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Files.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
}

/// Temporary files older than this are left over from interrupted runs.
const ABANDONED: Duration = Duration::from_hours(1);
const PARTIAL: &str = ".partial-";

/// The content of an answer's file, after the hash of its bytes.
#[derive(Serialize, Deserialize)]
struct CachedAnswer {
    result: Result<Kernels, Box<Raised>>,
    configs: usize,
    stdout: String,
    stderr: String,
    seconds: f64,
    files: Vec<Mark>,
}

#[derive(Serialize, Deserialize)]
struct Kernels {
    kernels: Vec<KernelFiles>,
    invocations: Vec<Invocation>,
}

/// Hashes of cubin, PTX and TTIR.
#[derive(Serialize, Deserialize)]
struct KernelFiles {
    files: [String; 3],
    metadata: Metadata,
}

impl Cache {
    /// Bytes that a user's cache keeps.
    pub const MAX_BYTES: u64 = 2 << 30;

    /// Opens a user's cache, and removes the oldest entries beyond [`Self::MAX_BYTES`] bytes.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(home: &Home) -> io::Result<Self> {
        Self::open_folder(home.compiled_folder(), Self::MAX_BYTES)
    }

    /// Opens the cache in a folder, and removes the oldest entries beyond `most` bytes.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open_folder(root: impl Into<PathBuf>, most: u64) -> io::Result<Self> {
        let cache = Self {
            root: root.into(),
            states: States::default(),
        };
        fs::create_dir_all(&cache.root)?;
        cache.remove_old_layout();
        cache.shrink(most);
        Ok(cache)
    }

    /// The size of its contents.
    pub fn size(&self) -> CacheSize {
        self.files()
            .iter()
            .fold(CacheSize::default(), |held, (_, bytes, _)| CacheSize {
                files: held.files + 1,
                bytes: held.bytes + bytes,
            })
    }

    /// Removes the least recently used files until at most so many bytes are left.
    pub fn shrink(&self, most: u64) {
        let mut files = self.files();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (used, size, path) in &files {
            let partial = name_of(path).starts_with(PARTIAL);
            let abandoned = partial && used.elapsed().is_ok_and(|age| age > ABANDONED);
            // Files that are being written stay.
            if abandoned || (bytes > most && !partial) {
                // Another process may have been faster; a kernel that is missing is compiled again.
                let _ = fs::remove_file(path);
                bytes -= size;
            }
        }
    }

    /// Removes what versions before 0.2 kept, in folders of two digits and not by toolchain. Nothing asks for it.
    fn remove_old_layout(&self) {
        for folder in list_entries(&self.root) {
            let name = name_of(&folder);
            if name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                // Another process may have been faster.
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// Removes what a toolchain compiled.
    pub(crate) fn remove(root: &Path, toolchain: &str) -> io::Result<()> {
        match fs::remove_dir_all(root.join(toolchain)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// When each file was last used, its bytes, its path.
    fn files(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        list_entries(&self.root)
            .flat_map(|toolchain| list_entries(&toolchain))
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flat_map(Iterator::flatten)
            .filter_map(|entry| {
                let data = entry.metadata().ok()?;
                Some((data.modified().ok()?, data.len(), entry.path()))
            })
            .collect()
    }

    fn entry_path(&self, toolchain: &str, name: &str) -> PathBuf {
        let folder = name.get(..2).unwrap_or_default();
        self.root.join(toolchain).join(folder).join(name)
    }

    /// The compilation of a key, if all of it is there and whole, and what it depends on is as it was.
    pub(crate) fn get(&self, key: &Key, request: &CompileRequest) -> Option<Compilation> {
        let text = self.read(&key.toolchain, &key.hash.to_hex())?;
        let (hash, text) = text.split_first_chunk::<32>()?;
        if blake3::hash(text) != *hash {
            return None;
        }
        let answer: CachedAnswer = serde_json::from_slice(text).ok()?;
        if !answer.files.iter().all(|mark| self.states.hold(mark)) {
            return None;
        }
        let result = match answer.result {
            Err(raised) => Err(raised),
            Ok(Kernels { kernels, invocations }) => {
                let kernels = kernels
                    .into_iter()
                    .map(|kernel| self.read_kernel(&key.toolchain, kernel))
                    .collect::<Option<_>>()?;
                let compiled = Compiled { kernels, invocations };
                wire::check_invocations(&compiled, request).ok()?;
                Ok(compiled)
            }
        };
        Some(Compilation {
            result,
            configs: answer.configs,
            stdout: answer.stdout,
            stderr: answer.stderr,
            seconds: Duration::try_from_secs_f64(answer.seconds).unwrap_or_default(),
        })
    }

    fn read_kernel(&self, toolchain: &str, kernel: KernelFiles) -> Option<Arc<Kernel>> {
        let [cubin, ptx, ttir] = kernel.files.each_ref().map(|name| {
            let bytes = self.read(toolchain, name)?;
            (blake3::hash(&bytes).to_hex().as_str() == name).then_some(bytes)
        });
        Some(Arc::new(Kernel {
            cubin: cubin?.into(),
            ptx: String::from_utf8(ptx?).ok()?,
            ttir: String::from_utf8(ttir?).ok()?,
            metadata: kernel.metadata,
        }))
    }

    /// A file's bytes; it counts as used now.
    fn read(&self, toolchain: &str, name: &str) -> Option<Vec<u8>> {
        let path = self.entry_path(toolchain, name);
        let bytes = fs::read(&path).ok()?;
        // A cache that cannot be written is still good for reading.
        let _ = File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_times(FileTimes::new().set_modified(SystemTime::now())));
        Some(bytes)
    }

    /// Drops the answer of a key.
    pub(crate) fn forget(&self, key: &Key) {
        // One that is not there is dropped.
        let _ = fs::remove_file(self.entry_path(&key.toolchain, &key.hash.to_hex()));
    }

    /// Keeps a compilation, unless it depends on something that can't be compared later.
    ///
    /// # Errors
    /// A full disk and the like. Nothing half-written is left.
    pub(crate) fn put(
        &self,
        key: &Key,
        compilation: &Compilation,
        dependencies: &Dependencies,
    ) -> io::Result<()> {
        let Some(files) = dependencies.read_marks(&self.states) else {
            return Ok(());
        };
        let toolchain = &key.toolchain;
        let result = match &compilation.result {
            Err(raised) => Err(raised.clone()),
            Ok(compiled) => Ok(Kernels {
                kernels: compiled
                    .kernels
                    .iter()
                    .map(|kernel| {
                        Ok(KernelFiles {
                            files: [
                                self.keep(toolchain, &kernel.cubin)?,
                                self.keep(toolchain, kernel.ptx.as_bytes())?,
                                self.keep(toolchain, kernel.ttir.as_bytes())?,
                            ],
                            metadata: kernel.metadata.clone(),
                        })
                    })
                    .collect::<io::Result<_>>()?,
                invocations: compiled.invocations.clone(),
            }),
        };
        let answer = CachedAnswer {
            result,
            configs: compilation.configs,
            stdout: compilation.stdout.clone(),
            stderr: compilation.stderr.clone(),
            seconds: compilation.seconds.as_secs_f64(),
            files,
        };
        let text = serde_json::to_vec(&answer)?;
        self.write(
            toolchain,
            &key.hash.to_hex(),
            &[blake3::hash(&text).as_bytes(), &text],
        )
    }

    /// Keeps bytes by their hash, which it returns.
    fn keep(&self, toolchain: &str, bytes: &[u8]) -> io::Result<String> {
        let name = blake3::hash(bytes).to_hex().to_string();
        // One that is there may be damaged.
        if self.read(toolchain, &name).as_deref() != Some(bytes) {
            self.write(toolchain, &name, &[bytes])?;
        }
        Ok(name)
    }

    fn write(&self, toolchain: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let path = self.entry_path(toolchain, name);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(PARTIAL).tempfile_in(folder)?;
        for part in parts {
            file.write_all(part)?;
        }
        persist(file, &path)
    }
}

fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Lists the entries of a folder, or nothing if it can't be read.
fn list_entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

/// The key of a compilation: the request, the folders that its worker reads, the toolchain by its files (`stamp`), our own Python
/// files and the environment. Other files that decide it are noted beside the answer.
pub(crate) fn compute_key(
    toolchain: &Toolchain,
    stamp: &Hash,
    folders: &[PathBuf],
    request: &CompileRequest,
) -> Result<Key, BadRequest> {
    let contents = &toolchain.contents;
    let mut hasher = Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    for version in [&contents.id, &contents.triton, &contents.numpy, &contents.python] {
        add(version.as_bytes());
    }
    add(stamp.as_bytes());
    for (name, text) in cerith_worker::FILES {
        add(name.as_bytes());
        add(text.as_bytes());
    }
    for (name, value) in environment::passed_variables(false) {
        add(name.as_bytes());
        add(value.as_encoded_bytes());
    }
    for folder in folders {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        add(folder.as_os_str().as_encoded_bytes());
    }
    // A message names a file as the request does, and its traceback with the whole path.
    for path in [wire::Paths::Given, wire::Paths::Absolute] {
        add(&wire::compile_words(request, path)?);
    }
    for sibling in &request.siblings {
        add(sibling.as_bytes());
    }
    Ok(Key {
        toolchain: contents.id.clone(),
        hash: hasher.finalize(),
    })
}
