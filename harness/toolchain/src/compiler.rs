//! Compiling the launches of a case with a toolchain's Triton, ahead of time and without a GPU. See [`crate::compiled`] for
//! the result.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blake3::Hash;

use crate::cache::{self, Cache, Key};
pub use crate::compilation::{Compilation, CompileRequest, Tuning};
use crate::dependencies::Dependencies;
use crate::installed::Toolchain;
use crate::limits::Limits;
use crate::mode::Mode;
use crate::pool::Pool;
use crate::response::Raised;
use crate::single_flight::Turns;
use crate::stamp::stamp;
use crate::worker::WorkerAnswer;
use crate::{WorkerFailure, wire};

impl WorkerAnswer for (Compilation, Dependencies) {
    fn raised(&self) -> Option<&Raised> {
        self.0.result.as_ref().err().map(AsRef::as_ref)
    }
}

/// Up to so many processes that compile with one toolchain, started when they are first needed. Shared between threads
/// by reference; dropping it ends them.
#[derive(Debug)]
pub struct Compilers {
    pool: Pool,
    /// The compilations that are kept, and the stamp of the toolchain's files.
    cache: Option<(Cache, Hash)>,
    turns: Turns,
    /// The requests that were answered, and whether the first answer came out of the cache: from an earlier run.
    hits: Mutex<HashMap<Key, bool>>,
}

/// The hash of the files that a request executes, and of their GPU for assembly: Triton names its cache by the target
/// of the compilation.
fn hash_source(request: &CompileRequest) -> Hash {
    let hosts = request.launches.iter().filter_map(|launch| launch.host.as_ref());
    let modules = std::iter::once(&request.module).chain(hosts.map(|host| &host.module));
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    for module in modules {
        add(module.path.as_os_str().as_encoded_bytes());
        add(module.text.as_bytes());
    }
    for sibling in &request.siblings {
        add(sibling.as_bytes());
    }
    add(format!("{:?} {} {}", request.assembled, request.lines, request.passes).as_bytes());
    hasher.finalize()
}

impl Compilers {
    /// At most `size` processes (at least 1). Their compilations are kept in `cache`, if there is one, for as long as the toolchain's
    /// files stay the same.
    ///
    /// # Errors
    /// The folder for their private files cannot be made, or an adopted environment has no Triton any more.
    pub fn new(toolchain: Toolchain, size: usize, cache: Option<Cache>) -> io::Result<Self> {
        let cache = match cache {
            Some(cache) => stamp(&toolchain)?.map(|stamp| (cache, stamp)),
            None => None,
        };
        Pool::with_mode(toolchain, size, Mode::Compile).map(|pool| Self {
            pool,
            cache,
            turns: Turns::default(),
            hits: Mutex::default(),
        })
    }

    /// Lets them read a folder ([`Pool::with_readable`]).
    #[must_use]
    pub fn with_readable(mut self, folder: &Path) -> Self {
        self.pool = self.pool.with_readable(folder);
        self
    }

    /// Lets them read files ([`Pool::with_readable_files`]).
    #[must_use]
    pub fn with_readable_files(mut self, root: &Path, files: &[PathBuf]) -> Self {
        self.pool = self.pool.with_readable_files(root, files);
        self
    }

    /// The toolchain.
    pub const fn toolchain(&self) -> &Toolchain {
        self.pool.toolchain()
    }

    /// The most compilations that run at once.
    pub const fn size(&self) -> usize {
        self.pool.size()
    }

    /// Compiles, waiting for a process to be free, or answers from the cache. Safe to call from many threads. A crash
    /// and the like is not kept: the next time may fare better.
    ///
    /// # Errors
    /// The process died, hung, ran out of memory, or could not be started. The next request gets a fresh one.
    pub fn compile(&self, request: &CompileRequest, limits: Limits) -> Result<Compilation, WorkerFailure> {
        self.pool.check()?;
        let Some((cache, stamp)) = &self.cache else {
            return self
                .compile_now(request, limits)
                .map(|(compilation, _)| compilation);
        };
        let key = cache::compute_key(self.toolchain(), stamp, self.pool.roots(), request)?;
        if let Some(compilation) = self.get(cache, &key, request) {
            return Ok(compilation);
        }
        // Cases of one kernel come together, and differ in bytes that no compiler sees.
        let _turn = self.turns.take(key.clone());
        if let Some(compilation) = self.get(cache, &key, request) {
            return Ok(compilation);
        }
        let (compilation, dependencies) = self.compile_now(request, limits)?;
        self.note(&key, false);
        // A compilation that cannot be kept, for example on a full disk, is repeated.
        let _ = cache.put(&key, &compilation, &dependencies);
        Ok(compilation)
    }

    fn get(&self, cache: &Cache, key: &Key, request: &CompileRequest) -> Option<Compilation> {
        let compilation = cache.get(key, request)?;
        self.note(key, true);
        Some(compilation)
    }

    fn note(&self, key: &Key, is_cached: bool) {
        let mut answered = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        answered.entry(key.clone()).or_insert(is_cached);
    }

    /// Drops what the cache has for a request, so that it is compiled again; whether an answer of an earlier run was taken from there.
    ///
    /// # Errors
    /// The request is none.
    pub fn forget(&self, request: &CompileRequest) -> Result<bool, WorkerFailure> {
        let Some((cache, stamp)) = &self.cache else {
            return Ok(false);
        };
        let key = cache::compute_key(self.toolchain(), stamp, self.pool.roots(), request)?;
        let mut answered = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_cached = answered.remove(&key).unwrap_or_default();
        drop(answered);
        if is_cached {
            cache.forget(&key);
        }
        Ok(is_cached)
    }

    fn compile_now(
        &self,
        request: &CompileRequest,
        limits: Limits,
    ) -> Result<(Compilation, Dependencies), WorkerFailure> {
        let frame = wire::compile_frame(request, limits)?;
        self.pool.exchange(
            &frame,
            &request.module,
            limits,
            &mut |_, _| Ok(None),
            Some(hash_source(request)),
            |header, blobs, stderr| wire::decode_compilation(header, blobs, stderr, request),
        )
    }

    /// Kills every process and fails what runs or waits with [`WorkerFailure::Stopped`], now and from now on.
    pub fn stop(&self) {
        self.pool.stop();
    }
}
