//! Workers kept ready, handed out, and replaced when they die. See `worker` for talking to one.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blake3::Hash;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::containment::{self, Containment, ProgramRules};
use crate::installed::Toolchain;
pub use crate::limits::Limits;
use crate::mode::Mode;
use crate::packages::{self, Package};
use crate::request::{Device, Module};
use crate::response::Raised;
use crate::scratch::{self, Scratch};
use crate::visible;
use crate::wire::{self, BadAnswer, Group};
use crate::worker::{BetweenFrames, Worker, WorkerAnswer, WorkerSetup};
use crate::{Request, Response, WorkerFailure, reach};

/// Up to so many workers of one toolchain, started when they are first needed. Shared between threads by reference;
/// dropping it ends the workers.
#[derive(Debug)]
pub struct Pool {
    toolchain: Toolchain,
    mode: Mode,
    size: usize,
    state: Mutex<State>,
    freed: Condvar,
    private: Arc<Private>,
    /// Folders and files that workers may read by request of the caller.
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// These folders, and those that the files are in.
    roots: Vec<PathBuf>,
    /// The rule for requests that may share a process.
    group: Group,
    /// Folders that workers may read because of the toolchain, once known.
    toolchain_reach: Arc<Mutex<Option<Vec<PathBuf>>>>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    /// Workers that exist, the idle ones included, and places held for workers that are being started.
    places: usize,
    /// Process groups of the workers that exist and are not yet being reaped: those that may be killed by number.
    groups: Vec<Pid>,
    stopped: bool,
    /// How often in a row no worker started, and the last failure.
    failed: (u32, Option<WorkerFailure>),
}

impl Pool {
    /// A pool of at most `size` workers (at least 1).
    ///
    /// # Errors
    /// The folder for the workers' private files cannot be made.
    pub fn new(toolchain: Toolchain, size: usize) -> io::Result<Self> {
        Self::with_mode(toolchain, size, Mode::Interpret)
    }

    /// A pool whose workers interpret with tensors that are torch's own, on its CPU or on a GPU. On a GPU, at most
    /// [`Pool::MOST_ON_A_GPU`] workers.
    ///
    /// # Errors
    /// The folder for the workers' private files cannot be made.
    pub fn with_torch(toolchain: Toolchain, size: usize, device: Device) -> io::Result<Self> {
        let size = match device {
            Device::Cuda => size.min(Self::MOST_ON_A_GPU),
            Device::Host => size,
        };
        Self::with_mode(toolchain, size, Mode::Torch(device))
    }

    /// A pool whose workers compile and launch on a GPU, as users of Triton and torch do; at most
    /// [`Pool::MOST_ON_A_GPU`] workers.
    ///
    /// # Errors
    /// The folder for the workers' private files cannot be made.
    pub fn new_jit(toolchain: Toolchain, size: usize) -> io::Result<Self> {
        Self::with_mode(toolchain, size.min(Self::MOST_ON_A_GPU), Mode::Jit)
    }

    /// A pool starts no more workers after this many failed starts in a row.
    const MAX_FAILED_STARTS: u32 = 3;

    /// A process that has a GPU through torch takes some seconds and a core to start, a gigabyte of memory, and half
    /// of one of the GPU's, which serves one of them at a time.
    pub const MOST_ON_A_GPU: usize = 8;

    /// The device of torch's own tensors, if the workers pass those.
    pub const fn torch(&self) -> Option<Device> {
        self.mode.torch()
    }

    /// Starts a worker if there is none, to see that it can be.
    ///
    /// # Errors
    /// It cannot.
    pub fn start(&self) -> Result<(), WorkerFailure> {
        self.take().map(|worker| self.give_back(worker))
    }

    /// A pool whose workers do something else.
    pub(crate) fn with_mode(toolchain: Toolchain, size: usize, mode: Mode) -> io::Result<Self> {
        Self::with_package(toolchain, size, mode, None)
    }

    /// A pool whose workers find another Python package beside ours.
    pub(crate) fn with_package(
        toolchain: Toolchain,
        size: usize,
        mode: Mode,
        package: Option<Package<'_>>,
    ) -> io::Result<Self> {
        let own = (cerith_worker::PACKAGE, cerith_worker::FILES);
        let packages: Vec<Package<'_>> = std::iter::once(own).chain(package).collect();
        let private = Arc::new(Private::new(&toolchain, &packages)?);
        Ok(Self {
            toolchain,
            mode,
            size: size.max(1),
            state: Mutex::new(State::default()),
            freed: Condvar::new(),
            private,
            folders: Vec::new(),
            files: Vec::new(),
            roots: Vec::new(),
            group: Group::File,
            toolchain_reach: Arc::default(),
        })
    }

    /// A pool like this one, with the same private files, and with workers of its own.
    pub(crate) fn with_own_workers(&self) -> Self {
        Self {
            toolchain: self.toolchain.clone(),
            mode: self.mode,
            size: self.size,
            state: Mutex::default(),
            freed: Condvar::new(),
            private: Arc::clone(&self.private),
            folders: self.folders.clone(),
            files: self.files.clone(),
            roots: self.roots.clone(),
            group: self.group,
            toolchain_reach: Arc::clone(&self.toolchain_reach),
        }
    }

    /// Lets workers read a folder, except for hidden files and folders in it. They change nothing.
    #[must_use]
    pub fn with_readable(mut self, folder: &Path) -> Self {
        self.folders.push(folder.to_owned());
        self.roots.push(folder.to_owned());
        self
    }

    /// The folders that workers may read by request of the caller.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Lets workers read these files of the user's and nothing that lies beside them: the modules in `root` that kernels
    /// import.
    #[must_use]
    pub fn with_readable_files(mut self, root: &Path, files: &[PathBuf]) -> Self {
        self.roots.push(root.to_owned());
        self.files.extend_from_slice(files);
        self
    }

    /// Lets workers do all requests in the same process, because Cerith generated their files. Otherwise each file gets a process.
    #[must_use]
    pub const fn with_generated_files(mut self) -> Self {
        self.group = Group::Generated;
        self
    }

    /// The toolchain.
    pub const fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// The most requests that run at once.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Has a worker answer, waiting for one to be free. Safe to call from many threads.
    ///
    /// # Errors
    /// The worker died, hung, ran out of memory, or could not be started. The next request gets a fresh one.
    pub fn request(&self, request: &Request, limits: Limits) -> Result<Response, WorkerFailure> {
        let frame = wire::encode_request(request, self.group, limits)?;
        #[cfg(feature = "planted-faults")]
        let place = crate::answer_cache::place(&self.toolchain.id.to_string(), &frame);
        #[cfg(feature = "planted-faults")]
        if let Some((header, blobs, stderr)) = place.as_deref().and_then(crate::answer_cache::find)
            && let Ok((response, _)) = wire::decode_response(&header, &blobs, &stderr, request)
        {
            return Ok(response);
        }
        self.exchange(
            &frame,
            &request.module,
            limits,
            &mut |_, _| Ok(None),
            None,
            |header, blobs, stderr| {
                #[cfg(feature = "planted-faults")]
                crate::answer_cache::keep(place.as_deref(), header, blobs, stderr);
                wire::decode_response(header, blobs, stderr, request)
            },
        )
    }

    /// Sends a module's frame to a free worker, answers its questions, and reads its answer. A worker keeps on disk only the
    /// results for `files`, if they are given. A worker that was killed, for example by the user or by a system without memory,
    /// is replaced once, because the request need not be the reason.
    pub(crate) fn exchange<A: WorkerAnswer>(
        &self,
        frame: &[u8],
        module: &Module,
        limits: Limits,
        between: BetweenFrames<'_>,
        source: Option<Hash>,
        read: impl Fn(&[u8], &[u8], &str) -> Result<(A, bool), BadAnswer>,
    ) -> Result<A, WorkerFailure> {
        // A question in between is not answered twice: the answer may be counted.
        let asked = Cell::new(false);
        let mut between = |header: &[u8], blobs: &[u8]| {
            let reply = between(header, blobs);
            asked.set(asked.get() || !matches!(reply, Ok(None)));
            reply
        };
        let answer = self.exchange_once(frame, module, limits, &mut between, source, &read);
        match answer {
            Err(WorkerFailure::Crashed { exit: how, .. }) if how.may_be_from_outside() && !asked.get() => {
                self.exchange_once(frame, module, limits, &mut between, source, &read)
            }
            answer => answer,
        }
    }

    /// The same without a second attempt if the worker was killed.
    fn exchange_once<A: WorkerAnswer>(
        &self,
        frame: &[u8],
        module: &Module,
        limits: Limits,
        between: BetweenFrames<'_>,
        source: Option<Hash>,
        read: impl Fn(&[u8], &[u8], &str) -> Result<(A, bool), BadAnswer>,
    ) -> Result<A, WorkerFailure> {
        self.check()?;
        let mut worker = self.take()?;
        // Bytes that it sends between requests are not an answer.
        while !worker.is_quiet() {
            self.retire(worker);
            worker = self.take()?;
        }
        while source.is_some_and(|source| !worker.turn_to(source)) {
            self.retire(worker);
            worker = self.take()?;
        }
        match worker.ask(frame, module, limits, between, read) {
            Ok((response, false)) => {
                if worker.settle() {
                    self.give_back(worker);
                } else {
                    self.retire(worker);
                }
                Ok(response)
            }
            Ok((response, true)) => {
                self.retire(worker);
                Ok(response)
            }
            Err(failure) => {
                let stopped = self.retire(worker);
                Err(if stopped { WorkerFailure::Stopped } else { failure })
            }
        }
    }

    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// Kills every worker and fails what runs or waits with [`WorkerFailure::Stopped`], now and from now on. For
    /// Ctrl-C.
    pub fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        for &group in &state.groups {
            // An error means that the group is empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        for worker in idle {
            self.retire(worker);
        }
        self.freed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that touch it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Worker, WorkerFailure> {
        let mut state = self.state();
        loop {
            if state.stopped {
                return Err(WorkerFailure::Stopped);
            }
            if let Some(worker) = state.idle.pop() {
                return Ok(worker);
            }
            if let (Self::MAX_FAILED_STARTS.., Some(failure)) = &state.failed {
                return Err(failure.clone());
            }
            if state.places < self.size {
                state.places += 1;
                break;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        match self
            .place()
            .and_then(|place| Worker::start(&self.toolchain, place, self.mode))
        {
            Ok(worker) => {
                let mut state = self.state();
                state.groups.extend(worker.group());
                state.failed = (0, None);
                let stopped = state.stopped;
                drop(state);
                if stopped {
                    self.retire(worker);
                    return Err(WorkerFailure::Stopped);
                }
                Ok(worker)
            }
            Err(failure) => {
                let failure = self.explain(failure);
                let mut state = self.state();
                state.places -= 1;
                if matches!(failure, WorkerFailure::Start { .. }) {
                    state.failed = (state.failed.0 + 1, Some(failure.clone()));
                }
                drop(state);
                // All who wait, because none of them may try once there were too many failures.
                self.freed.notify_all();
                Err(failure)
            }
        }
    }

    /// The reason why no worker started: because the toolchain is damaged, if it is.
    fn explain(&self, failure: WorkerFailure) -> WorkerFailure {
        let WorkerFailure::Start { toolchain, reason } = failure else {
            return failure;
        };
        let checked = self
            .toolchain
            .check()
            .and_then(|()| self.toolchain.check_contents());
        let reason = checked.map_or_else(|damage| damage.to_string(), |()| reason);
        WorkerFailure::Start { toolchain, reason }
    }

    /// Fails if the toolchain is known to be damaged. A check that found it may be later than the start of a worker.
    pub(crate) fn check(&self) -> Result<(), WorkerFailure> {
        self.toolchain.check().map_err(|damage| WorkerFailure::Start {
            toolchain: self.toolchain.id.to_string(),
            reason: damage.to_string(),
        })
    }

    /// The setup of the next worker.
    fn place(&self) -> Result<WorkerSetup, WorkerFailure> {
        let failed = |reason: String| WorkerFailure::Start {
            toolchain: self.toolchain.id.to_string(),
            reason,
        };
        self.check()?;
        let containment = Containment::of_this_system();
        if let Some(why) = self
            .folders
            .iter()
            .find_map(|folder| containment.explain_refusal(folder))
        {
            return Err(failed(why));
        }
        let folder = self.private.folder();
        let needed = self.find_toolchain_reach()?;
        let folders = self
            .folders
            .iter()
            .flat_map(|folder| visible::without_hidden(folder, visible::Depth::All));
        let read = needed
            .into_iter()
            .chain(self.files.iter().cloned())
            .chain(folders)
            .collect();
        let number = self.private.count_worker();
        let scratch = Scratch::new(folder.join(format!("worker-{number}")))
            .map_err(|error| failed(format!("make its folder: {error}")))?;
        Ok(WorkerSetup {
            package: self.private.package.clone(),
            scratch,
            read,
        })
    }

    /// The folders that workers may read because of the toolchain.
    fn find_toolchain_reach(&self) -> Result<Vec<PathBuf>, WorkerFailure> {
        let mut needed = self
            .toolchain_reach
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = needed.as_ref() {
            return Ok(known.clone());
        }
        let package = &self.private.package;
        let found = reach::query_reach(&self.toolchain.python(), package, self.mode);
        let found = found.map_err(|error| WorkerFailure::Start {
            toolchain: self.toolchain.id.to_string(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        *needed = Some(found.clone());
        Ok(found)
    }

    /// The rules of a program that reads these files of the user's, and no others. `None` if nothing is contained.
    pub(crate) fn list_rules(&self, files: &[PathBuf]) -> Result<Option<ProgramRules>, WorkerFailure> {
        let mut read = self.find_toolchain_reach()?;
        read.extend_from_slice(files);
        Ok(containment::list_rules(&read))
    }

    fn give_back(&self, worker: Worker) {
        let mut state = self.state();
        if state.stopped {
            drop(state);
            self.retire(worker);
            return;
        }
        state.idle.push(worker);
        drop(state);
        self.freed.notify_one();
    }

    /// Ends a worker and frees its place; whether the pool is stopped.
    fn retire(&self, worker: Worker) -> bool {
        let group = worker.group();
        // Once it is reaped its number may be another process's.
        self.state().groups.retain(|&other| Some(other) != group);
        drop(worker);
        let mut state = self.state();
        state.places -= 1;
        let stopped = state.stopped;
        drop(state);
        self.freed.notify_one();
        stopped
    }
}

impl WorkerAnswer for Response {
    fn raised(&self) -> Option<&Raised> {
        self.result.as_ref().err().map(AsRef::as_ref)
    }
}

/// The folder for the workers' private files, removed with the pool. The next pool removes the folders of killed
/// processes: a living process holds its folder's lock.
#[derive(Debug)]
struct Private {
    folder: TempDir,
    /// The folder of our Python packages, which workers read and do not change.
    package: PathBuf,
    _lock: File,
    /// Workers started so far, which names their folders.
    workers: AtomicU64,
}

const LOCK: &str = "lock";
const PREFIX: &str = "cerith-workers-";
/// A folder younger than this may not have its lock taken yet.
const NEW: Duration = Duration::from_mins(1);

impl Private {
    /// Makes the folder beside the toolchains, or among the system's temporary files where that cannot be written.
    fn new(toolchain: &Toolchain, packages: &[Package<'_>]) -> io::Result<Self> {
        let beside = toolchain.root().ancestors().nth(2).map(|home| home.join("run"));
        let made = beside.and_then(|run| {
            fs::create_dir_all(&run).ok()?;
            Self::create_in(&run, packages::find_kept(&run, packages), packages).ok()
        });
        made.map_or_else(
            // Other users write there too, so nothing in it is used again.
            || Self::create_in(&std::env::temp_dir(), None, packages),
            Ok,
        )
    }

    fn create_in(run: &Path, kept: Option<PathBuf>, packages: &[Package<'_>]) -> io::Result<Self> {
        sweep(run);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(run)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        lock.lock()?;
        let package = if let Some(kept) = kept {
            kept
        } else {
            let own = folder.path().join("python");
            packages::write_packages(&own, packages)?;
            own
        };
        Ok(Self {
            folder,
            package,
            _lock: lock,
            workers: AtomicU64::new(0),
        })
    }

    /// The number of another worker.
    fn count_worker(&self) -> u64 {
        self.workers.fetch_add(1, Ordering::Relaxed)
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of processes that have ended. Folders that cannot be removed belong to other users.
fn sweep(run: &Path) {
    let Ok(entries) = fs::read_dir(run) else { return };
    let ours = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for folder in ours.map(|entry| entry.path()).collect::<Vec<PathBuf>>() {
        let old = |lock: &File| {
            lock.metadata()
                .and_then(|data| data.modified())
                .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > NEW))
        };
        if File::open(folder.join(LOCK)).is_ok_and(|lock| old(&lock) && lock.try_lock().is_ok()) {
            let _ = scratch::remove(&folder);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}
