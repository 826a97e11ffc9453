//! One worker process: starting it, talking to it within a time limit, ending it. Left out: which worker does what
//! ([`crate::pool`]).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use blake3::Hash;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group};

use crate::containment::{self, ALLOW_READ, Containment, Reach};
use crate::failure::{Exit, WorkerFailure};
use crate::pool::Limits;
use crate::request::{Device, Module};
use crate::response::{Location, Raised};
use crate::scratch::Scratch;
use crate::wire::{self, Hello};
use crate::{Toolchain, usage};

/// How long a worker may take to import Triton: cold disks are slow.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The worker ends itself at the time limit and says where it was. This is how much longer it gets to do so.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a process whose pipe is closed gets to be gone by itself, so that its own exit status is seen.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Bytes of stderr that are kept, from the end.
const STDERR_KEPT: usize = 16 * 1024;

/// Room made for every read of an answer: what a pipe holds.
const READ_AT_LEAST: usize = 64 * 1024;

/// How often is looked at what a worker uses while it is waited for.
const WATCHED_EVERY: Duration = Duration::from_millis(100);

/// Bytes of files that a worker may have: in its folder, and open without a name.
const FILES_MOST: u64 = 1 << 30;

/// Bytes of one file.
const FILE_MOST: u64 = 256 << 20;

/// Files, links and folders in a worker's folder.
const ENTRIES_MOST: usize = 20_000;

/// Processes and threads of a worker and of those that it starts.
const PROCESSES_MOST: usize = 64;
const THREADS_MOST: u64 = 512;

/// Open files of each.
const OPEN_MOST: u64 = 1024;

/// Bytes of memory that a worker with a GPU may touch beyond what one request may use: CUDA reserves more of the address
/// space than any limit on that would leave it, and keeps libraries of some gigabytes.
const BESIDE_A_GPU: u64 = 16 << 30;

/// Growth after which a worker is replaced. What grows is in Triton and NumPy, or in modules of the user's.
const GROWTH_MOST: u64 = 1 << 30;
const GROWTH_EVERY: u32 = 64;

/// Room made at once for an answer that says that it is so large.
const READ_AT_MOST: usize = 64 << 20;

/// The most that an answer may be: so many times what was asked, and so many bytes more.
const ANSWER_TIMES: u64 = 16;
const ANSWER_MOST: u64 = 256 << 20;

/// Variables of the environment that reach a worker. Others could change what Triton or Python do.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"];

/// Variables that reach a worker that has a GPU besides: which one, and what Triton builds its launchers with.
const PASSED_WITH_GPU: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CC",
    "TRITON_LIBCUDA_PATH",
];

/// What a worker's Triton does with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It interprets it.
    Interpret,
    /// It compiles it.
    Compile,
    /// torch is beside it, and launches go through `torch.compile`.
    Inductor,
    /// It interprets it, and tensors are torch's own.
    Torch(Device),
    /// It compiles and launches it on a GPU; tensors are torch's own.
    Jit,
}

impl Mode {
    /// Where torch's own tensors are, if it is those that are passed.
    pub(crate) const fn torch(self) -> Option<Device> {
        match self {
            Self::Interpret | Self::Compile | Self::Inductor => None,
            Self::Torch(device) => Some(device),
            Self::Jit => Some(Device::Cuda),
        }
    }

    fn has_gpu(self) -> bool {
        self.torch() == Some(Device::Cuda)
    }

    /// Whether a C compiler may be wanted: for what launches on a GPU, and by torch.
    pub(crate) const fn wants_c(self) -> bool {
        !matches!(self, Self::Interpret | Self::Torch(Device::Host))
    }

    /// Folders that a worker keeps from one request to the next: what Triton and NVIDIA's driver keep there. What it
    /// compiled is for the next request of the same file only ([`Worker::turn_to`]).
    const fn kept(self) -> &'static [&'static str] {
        match self {
            Self::Interpret | Self::Torch(Device::Host) | Self::Inductor => &[],
            Self::Compile => &["cache"],
            Self::Torch(Device::Cuda) | Self::Jit => &["cache", ".nv"],
        }
    }
}

/// Where a worker is started.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder that our Python package is in.
    pub package: PathBuf,
    /// Its own folder.
    pub scratch: Scratch,
    /// What it may read.
    pub read: Vec<PathBuf>,
}

/// The variables of our environment that a Python gets; with `gpu`, one that may see a GPU.
pub(crate) fn passed(gpu: bool) -> impl Iterator<Item = (&'static str, OsString)> {
    let more = if gpu { PASSED_WITH_GPU } else { &[] };
    PASSED
        .iter()
        .chain(more)
        .filter_map(|&name| std::env::var_os(name).map(|value| (name, value)))
}

/// What is done with a frame that comes before the answer: the frame that goes back, or none for one that is no question.
pub(crate) type Between<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<Option<Vec<u8>>, String>;

/// What is made of a frame.
pub(crate) trait Answer: Sized {
    /// The exception in it.
    fn raised(&self) -> Option<&Raised>;
}

/// A running worker. Killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    mode: Mode,
    scratch: Scratch,
    /// Bytes of address space and of touched memory that it began with.
    at_start: (u64, u64),
    /// Threads that it began with.
    threads: Option<u64>,
    /// Bytes of memory that a request may use, and how many were answered.
    memory: u64,
    answered: u32,
    watched: Instant,
    /// Whose files the last request was of, where that matters.
    source: Option<Hash>,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
    /// What came from stdout and is not yet a whole frame.
    incoming: Vec<u8>,
    /// The end of what came from stderr since the request began.
    said: Vec<u8>,
    stderr_open: bool,
    /// Bytes that an answer may have.
    answer_most: u64,
}

/// Why a frame did not come.
enum Silence {
    /// The process closed its pipe.
    Gone,
    /// The clock ran out.
    Late,
    /// What came is no frame.
    Noise(String),
    /// It has more than this.
    Excess(String),
    /// It has more memory than a request may use.
    Memory,
}

impl Worker {
    /// Starts a worker.
    pub(crate) fn start(toolchain: &Toolchain, place: Place, mode: Mode) -> Result<Self, WorkerFailure> {
        let failed = |reason: String| WorkerFailure::Start {
            toolchain: toolchain.id.to_string(),
            reason,
        };
        let mut worker = Self::spawn(&toolchain.python(), place, mode)
            .map_err(|error| failed(format!("{}: {error}", toolchain.python().display())))?;
        let hello: Hello = match worker.receive(Instant::now() + START_LIMIT) {
            Ok((header, _)) => serde_json::from_slice(&header)
                .map_err(|error| WorkerFailure::Protocol(format!("its first words: {error}")))?,
            Err(Silence::Gone) => {
                let how = worker.end();
                return Err(failed(with_hint(&format!("{how}\n{}", worker.stderr_text()))));
            }
            Err(Silence::Late) => return Err(failed(format!("nothing heard within {START_LIMIT:?}"))),
            Err(Silence::Noise(noise)) => return Err(WorkerFailure::Protocol(noise)),
            Err(Silence::Excess(most)) => return Err(failed(format!("it has more than {most}"))),
            Err(Silence::Memory) => return Err(failed("it needs more memory than there may be".to_owned())),
        };
        if hello.protocol != cerith_worker::PROTOCOL {
            return Err(WorkerFailure::Protocol(format!(
                "it speaks version {}",
                hello.protocol
            )));
        }
        let contents = &toolchain.contents;
        if (hello.triton.as_str(), hello.numpy.as_str())
            != (contents.triton.as_str(), contents.numpy.as_str())
        {
            return Err(failed(format!(
                "it was {} with triton {} and numpy {}, and has {} and {} (Python {}); remove and {} it again",
                if toolchain.is_adopted() {
                    "adopted"
                } else {
                    "installed"
                },
                contents.triton,
                contents.numpy,
                hello.triton,
                hello.numpy,
                hello.python,
                if toolchain.is_adopted() { "adopt" } else { "add" },
            )));
        }
        if let Some(pid) = worker.group() {
            worker.at_start = usage::memory(pid).unwrap_or_default();
            worker.threads = usage::threads(pid);
        }
        Ok(worker)
    }

    fn spawn(python: &Path, place: Place, mode: Mode) -> io::Result<Self> {
        let folder = place.scratch.path().to_owned();
        let reach = Reach {
            read: place.read,
            write: folder.clone(),
            gpu: mode.has_gpu(),
        };
        let mut command = Command::new(python);
        // -s: without what the user installed for themselves.
        command
            .args(["-s", "-c", cerith_worker::ENTRY])
            .arg(&place.package);
        command.env_clear();
        command.envs(passed(mode.has_gpu()));
        if let Some(places) = containment::writes(&reach) {
            command.env("CERITH_WRITES", places);
        }
        if let Some(program) = Containment::of_this_system().afterwards(mode.has_gpu()) {
            command.env("CERITH_AFTERWARDS", program);
        }
        if !mode.has_gpu() {
            // A machine without a GPU, also on one that has some.
            command.env("CUDA_VISIBLE_DEVICES", "-1");
        }
        match mode {
            Mode::Interpret | Mode::Torch(_) => {
                command.env("TRITON_INTERPRET", "1");
            }
            // Machine code does not say where its source lies.
            Mode::Compile | Mode::Jit => {
                command.env("TRITON_DISABLE_LINE_INFO", "1");
            }
            Mode::Inductor => {
                command
                    // Read when torch is imported; an older run's module would be taken again.
                    .env("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
                    .env("TORCHINDUCTOR_COMPILE_THREADS", "1")
                    .env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor"));
            }
        }
        match (mode, mode.torch()) {
            // There to be imported; arguments are what the mode makes of them.
            (Mode::Inductor, _) => {}
            (_, None) => {
                command.env("CERITH_TORCH", "hidden");
            }
            (_, Some(Device::Host)) => {
                command.env("CERITH_TORCH", "cpu");
            }
            (_, Some(Device::Cuda)) => {
                command.env("CERITH_TORCH", "cuda");
            }
        }
        command
            // BLAS sums in another order with several threads.
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("MKL_NUM_THREADS", "1")
            .env("PYTHONHASHSEED", "0")
            .env("PYTHONNOUSERSITE", "1")
            .env("HIP_VISIBLE_DEVICES", "-1")
            .env("HOME", &folder)
            // Or it would be looked up among the system's users.
            .env("USER", "cerith")
            .env("TMPDIR", &folder)
            .env("TRITON_HOME", &folder)
            .env("TRITON_CACHE_DIR", folder.join("cache"));
        command
            .current_dir(&folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = containment::spawn(command, &reach)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("no pipes"));
        };
        let worker = Self {
            child,
            mode,
            scratch: place.scratch,
            at_start: (0, 0),
            threads: None,
            memory: 0,
            answered: 0,
            watched: Instant::now(),
            source: None,
            stdin,
            stdout,
            stderr,
            incoming: Vec::new(),
            said: Vec::new(),
            stderr_open: true,
            answer_most: ANSWER_MOST,
        };
        set_nonblocking(&worker.stdin)?;
        set_nonblocking(&worker.stdout)?;
        set_nonblocking(&worker.stderr)?;
        if let Some(pid) = worker.group() {
            let kept = mode.has_gpu();
            limit(pid, Resource::Core, 0)?;
            limit(pid, Resource::Fsize, FILE_MOST)?;
            limit(
                pid,
                Resource::Nofile,
                if kept { 4 * OPEN_MOST } else { OPEN_MOST },
            )?;
        }
        Ok(worker)
    }

    /// Whether it sent nothing unasked.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(rustix::io::read(&self.stdout, &mut [0]), Err(Errno::AGAIN))
    }

    /// Whether it may get another request: it has sent nothing unasked, and has left no thread or process that could. This
    /// empties its folder, except for what its mode keeps.
    pub(crate) fn settle(&mut self) -> bool {
        self.drain_stderr();
        // torch's own threads come and go.
        let counted = matches!(self.mode, Mode::Interpret | Mode::Compile);
        let threads = || self.group().and_then(usage::threads) <= self.threads;
        // One that compiles has users' files executed by a process that it started.
        let own = usize::from(self.mode == Mode::Compile);
        let alone =
            !counted || (threads() && !self.group().is_some_and(|pid| usage::has_descendants(pid, own)));
        self.answered += 1;
        let grown =
            self.answered.is_multiple_of(GROWTH_EVERY) && (self.has_grown() || self.excess().is_err());
        self.is_quiet() && alone && !grown && self.scratch.clear(self.mode.kept()).is_ok()
    }

    fn has_grown(&self) -> bool {
        let now = self
            .group()
            .map(|pid| usage::of(pid, self.scratch.path()).resident);
        now.is_some_and(|touched| touched.saturating_sub(self.at_start.1) > GROWTH_MOST)
    }

    /// Ends what executed the files of the last request, and removes what was left for others of those files, where the next
    /// request is of other files. `source` is which files that are. Whether nothing is left.
    pub(crate) fn turn_to(&mut self, source: Hash) -> bool {
        if self.source.replace(source).is_none_or(|before| before == source) {
            return true;
        }
        self.group().is_some_and(usage::end_others) && self.scratch.clear(&[]).is_ok()
    }

    /// Lets a request use no more than this much memory.
    fn limit_memory(&mut self, most: u64) -> io::Result<()> {
        if most == self.memory {
            return Ok(());
        }
        self.memory = most;
        if self.mode == Mode::Compile && !self.group().is_some_and(usage::end_others) {
            // Its limit is its parent's when it was started.
            return Err(io::Error::other("what it started does not end"));
        }
        match (self.group(), self.at_start.0) {
            (Some(pid), space @ 1..) if !self.mode.has_gpu() => limit(pid, Resource::As, space + most),
            _ => Ok(()),
        }
    }

    /// Sees that it uses no more than it may.
    fn excess(&self) -> Result<(), Silence> {
        let excess = |most: String| Err(Silence::Excess(most));
        let contents = self.scratch.measure(ENTRIES_MOST);
        if contents.cut {
            return excess(format!(
                "{ENTRIES_MOST} files, or folders in each other without end"
            ));
        }
        let usage = self
            .group()
            .map(|pid| usage::of(pid, self.scratch.path()))
            .unwrap_or_default();
        let beside = if self.mode.has_gpu() { BESIDE_A_GPU } else { 0 };
        if contents.bytes + usage.nameless > FILES_MOST {
            excess(format!("{FILES_MOST} bytes of files"))
        } else if usage.processes > PROCESSES_MOST {
            excess(format!("{PROCESSES_MOST} processes"))
        } else if usage.threads > THREADS_MOST {
            excess(format!("{THREADS_MOST} threads"))
        } else if self.at_start.1 > 0 && usage.resident > self.at_start.1 + self.memory + beside {
            Err(Silence::Memory)
        } else {
            Ok(())
        }
    }

    /// The process group's id, which is the process's.
    pub(crate) fn group(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Sends a frame made for a module, waits for the answer and has it read (header, blobs, what came on stderr). With
    /// it, whether the worker asks to be replaced. Frames that the worker sends meanwhile are answered by `between`, with
    /// the clock running. After an error the worker is of no more use.
    pub(crate) fn ask<A: Answer>(
        &mut self,
        frame: &[u8],
        module: &Module,
        limits: Limits,
        between: Between<'_>,
        read: impl FnOnce(&[u8], &[u8], &str) -> Result<(A, bool), String>,
    ) -> Result<(A, bool), WorkerFailure> {
        self.said.clear();
        self.answer_most = (frame.len() as u64).saturating_mul(ANSWER_TIMES) + ANSWER_MOST;
        let deadline = Instant::now() + limits.time + GRACE;
        let limited = self.limit_memory(limits.memory);
        limited.map_err(|error| WorkerFailure::Protocol(format!("its memory cannot be limited: {error}")))?;
        match self.converse(frame, deadline, between) {
            Ok((header, blobs)) => {
                self.drain_stderr();
                let (answer, worn) =
                    read(&header, &blobs, &self.stderr_text()).map_err(|problem| self.garbled(problem))?;
                let out_of_memory = answer.raised().filter(|raised| {
                    raised
                        .chain
                        .iter()
                        .any(|error| error.kind.ends_with("MemoryError"))
                });
                match out_of_memory {
                    Some(raised) => Err(WorkerFailure::OutOfMemory {
                        limit: limits.memory,
                        stderr: raised.root().message.clone(),
                    }),
                    None => Ok((answer, worn)),
                }
            }
            Err(Silence::Noise(noise)) => Err(self.garbled(noise)),
            Err(Silence::Excess(most)) => Err(WorkerFailure::Excess {
                most,
                stderr: self.stderr_text(),
            }),
            Err(Silence::Memory) => Err(WorkerFailure::OutOfMemory {
                limit: limits.memory,
                stderr: self.stderr_text(),
            }),
            Err(Silence::Late) => Err(self.timed_out(module, limits)),
            Err(Silence::Gone) => {
                let how = self.end();
                let stderr = self.stderr_text();
                // Python's watchdog says so before it looks at the frames of a thread that goes on running, which may
                // cost it a segmentation fault.
                if matches!(how, Exit::Code(1) | Exit::Signal(11)) && stderr.contains("Timeout (") {
                    return Err(self.timed_out(module, limits));
                }
                if ["MemoryError", "std::bad_alloc", "Cannot allocate memory"]
                    .iter()
                    .any(|s| stderr.contains(s))
                {
                    return Err(WorkerFailure::OutOfMemory {
                        limit: limits.memory,
                        stderr,
                    });
                }
                let location = fault_location(&stderr, module);
                Err(WorkerFailure::Crashed {
                    how,
                    stderr,
                    location,
                })
            }
        }
    }

    fn timed_out(&self, module: &Module, limits: Limits) -> WorkerFailure {
        let stderr = self.stderr_text();
        let location = fault_location(&stderr, module);
        WorkerFailure::TimedOut {
            limit: limits.time,
            stderr,
            location,
        }
    }

    fn garbled(&self, problem: String) -> WorkerFailure {
        WorkerFailure::Garbled {
            problem,
            stderr: self.stderr_text(),
        }
    }

    fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.said).into_owned()
    }

    /// Sends a frame, answers what is asked in between, and gives the frame that is no question.
    fn converse(
        &mut self,
        frame: &[u8],
        deadline: Instant,
        between: Between<'_>,
    ) -> Result<(Vec<u8>, Vec<u8>), Silence> {
        self.send(frame, deadline)?;
        loop {
            let (header, blobs) = self.receive(deadline)?;
            match between(&header, &blobs).map_err(Silence::Noise)? {
                Some(reply) => self.send(&reply, deadline)?,
                None => return Ok((header, blobs)),
            }
        }
    }

    fn send(&mut self, frame: &[u8], deadline: Instant) -> Result<(), Silence> {
        let mut rest = frame;
        while !rest.is_empty() {
            match self.stdin.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(true, deadline)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Silence::Gone),
            }
            self.drain_stderr();
        }
        Ok(())
    }

    fn receive(&mut self, deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), Silence> {
        loop {
            if let Some((head, blobs)) = wire::lengths(&self.incoming).map_err(Silence::Noise)? {
                let end = wire::LENGTHS + head + blobs;
                if end as u64 > self.answer_most {
                    return Err(Silence::Noise(format!("an answer of {end} bytes")));
                }
                if self.incoming.len() > end {
                    return Err(Silence::Noise("more than one answer".to_owned()));
                }
                if self.incoming.len() == end {
                    let mut header = std::mem::take(&mut self.incoming);
                    let blobs = header.split_off(wire::LENGTHS + head);
                    header.drain(..wire::LENGTHS);
                    return Ok((header, blobs));
                }
                // Not all at once: what is said to come need not.
                let missing = end - self.incoming.len();
                self.incoming.reserve(missing.min(READ_AT_MOST));
            }
            self.incoming.reserve(READ_AT_LEAST);
            match rustix::io::read(&self.stdout, spare_capacity(&mut self.incoming)) {
                Ok(0) => return Err(Silence::Gone),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(false, deadline)?,
                Err(_) => return Err(Silence::Gone),
            }
        }
    }

    /// Waits until something can be read (or written, if `writing`), reading stderr meanwhile.
    fn wait(&mut self, writing: bool, deadline: Instant) -> Result<(), Silence> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Silence::Late);
        }
        let left = left.min(WATCHED_EVERY);
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let main = if writing {
            PollFd::new(&self.stdin, PollFlags::OUT)
        } else {
            PollFd::new(&self.stdout, PollFlags::IN)
        };
        let mut watched = vec![main];
        if self.stderr_open {
            watched.push(PollFd::new(&self.stderr, PollFlags::IN));
        }
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Silence::Gone),
        }
        self.drain_stderr();
        self.watch()
    }

    /// Sees, once in a while, that it uses no more than it may.
    fn watch(&mut self) -> Result<(), Silence> {
        if self.watched.elapsed() < WATCHED_EVERY {
            return Ok(());
        }
        let excess = self.excess();
        self.watched = Instant::now();
        excess
    }

    fn drain_stderr(&mut self) {
        let mut chunk = [0; 4096];
        while self.stderr_open {
            match self.stderr.read(&mut chunk) {
                Ok(0) => self.stderr_open = false,
                Ok(count) => self
                    .said
                    .extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stderr_open = false,
            }
            if self.said.len() > 4 * STDERR_KEPT {
                self.said.drain(..self.said.len() - STDERR_KEPT);
            }
        }
        if self.said.len() > STDERR_KEPT {
            self.said.drain(..self.said.len() - STDERR_KEPT);
        }
    }

    /// Sees the process off: gives it a moment to end by itself (its pipe is closed already), kills what is left of
    /// its group, reaps it, and reads the last of its stderr.
    fn end(&mut self) -> Exit {
        let deadline = Instant::now() + LAST_BREATH;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            self.drain_stderr();
            std::thread::sleep(Duration::from_millis(2));
        }
        let status = self.kill();
        self.drain_stderr();
        status.map_or(Exit::Code(-1), exit_of)
    }

    /// Kills the whole process group and reaps the worker.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(group) = self.group() {
            // An error means that nobody is left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, code) => Exit::Code(code.unwrap_or(-1)),
    }
}

/// Limits what a process may have of something, for good.
#[cfg(target_os = "linux")]
fn limit(pid: Pid, what: Resource, most: u64) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    rustix::process::prlimit(Some(pid), what, limit)?;
    Ok(())
}

/// Nobody limits another process here; the worker limits itself.
#[cfg(not(target_os = "linux"))]
fn limit(_: Pid, _: Resource, _: u64) -> io::Result<()> {
    Ok(())
}

/// Why a worker did not start, with what may mend it.
fn with_hint(reason: &str) -> String {
    let reason = reason.trim_end();
    if reason.contains("Permission denied") || reason.contains("Operation not permitted") {
        return format!(
            "{reason}\nworkers are contained: {ALLOW_READ}=/a/folder:/another lets them read more (docs/CONTAINMENT.md)"
        );
    }
    reason.to_owned()
}

fn set_nonblocking(pipe: &impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    Ok(fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?)
}

/// The innermost frame of the user's files in what Python's fault handler wrote, whose tracebacks begin with the
/// innermost frame: `  File "/k.py", line 6 in add`.
fn fault_location(stderr: &str, module: &Module) -> Option<Location> {
    let asked = &module.path;
    let path = std::path::absolute(asked).ok()?;
    let folder = path.parent()?;
    let frames = || {
        stderr.lines().filter_map(|line| {
            let (file, rest) = line.strip_prefix("  File \"")?.split_once("\", line ")?;
            let (line, function) = rest.split_once(" in ")?;
            Some((file, line.parse().ok()?, function))
        })
    };
    let beside = |file: &str| {
        let file = Path::new(file);
        file.starts_with(folder) && !file.components().any(|part| part.as_os_str() == "site-packages")
    };
    let (file, line, function) = frames().find(|(file, _, _)| beside(file))?;
    Some(Location {
        file: wire::asked_path(file, asked),
        line,
        function: function.to_owned(),
    })
}
