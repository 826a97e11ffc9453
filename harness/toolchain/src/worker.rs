//! One worker process: starting it, talking to it within a time limit, ending it. See [`crate::pool`] for the workers'
//! tasks.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use blake3::Hash;
use rustix::process::{Pid, Resource, Rlimit, Signal};

use crate::containment::{self, ALLOW_READ, Containment, Reach};
use crate::conversation::frame::FrameLimits;
use crate::conversation::{Conversation, Silence, StderrPart};
use crate::failure::{Exit, WorkerFailure};
use crate::mode::Mode;
use crate::pool::Limits;
use crate::request::Module;
use crate::response::{Location, Raised};
use crate::scratch::Scratch;
use crate::wire::{self, BadAnswer, Hello};
use crate::{Toolchain, usage};

/// How long a worker may take to import Triton: cold disks are slow.
const START_LIMIT: Duration = Duration::from_mins(2);

/// The worker ends itself at the time limit and says where it was. This is how much longer it gets to do so.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a process whose pipe is closed gets to be gone by itself, so that its own exit status is seen.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// The interval of checks whether a program's processes have ended.
const LOOKED_EVERY: Duration = Duration::from_millis(1);

/// Bytes of stderr that are kept, from the end.
const STDERR_KEPT: usize = 16 * 1024;

/// The interval of checks of a worker's usage.
const WATCHED_EVERY: Duration = Duration::from_millis(100);

/// The maximum size of all files of a worker, in its folder or open without a name, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The maximum size of one file, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// The maximum number of files, links and folders in a worker's folder.
const MAX_ENTRIES: usize = 20_000;

/// The maximum numbers of processes and threads of a worker, including the processes that it starts.
const MAX_PROCESSES: usize = 64;
const MAX_THREADS: u64 = 512;

/// The maximum number of open files of each process.
const MAX_OPEN: u64 = 1024;

/// The growth of memory, in bytes, after which a worker is replaced. Triton, NumPy or the user's modules cause it.
const MAX_GROWTH: u64 = 1 << 30;
const GROWTH_EVERY: u32 = 64;

/// Limits that no valid answer reaches.
const LIMITS: FrameLimits = FrameLimits {
    header: 64 << 20,
    blobs: 1 << 46,
};

/// The problem of two answers to one request.
const TWICE: &str = "more than one answer";

/// The maximum length of an answer: a multiple of the request's, and additional bytes.
const ANSWER_TIMES: u64 = 16;
const MAX_ANSWER: u64 = 256 << 20;

/// The setup of a new worker.
#[derive(Debug)]
pub(crate) struct WorkerSetup {
    /// The folder that our Python package is in.
    pub package: PathBuf,
    /// Its own folder.
    pub scratch: Scratch,
    /// The folders that it may read.
    pub read: Vec<PathBuf>,
}

/// Handles a frame that comes before the answer: returns the frame that goes back, or `None` if it is not a question.
pub(crate) type BetweenFrames<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<Option<Vec<u8>>, BadAnswer>;

/// A type that a frame is decoded into.
pub(crate) trait WorkerAnswer: Sized {
    /// The exception in it.
    fn raised(&self) -> Option<&Raised>;
}

/// A running worker. Killed and reaped when dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    // Before its folder: what is ended first writes no more.
    conversation: Conversation,
    mode: Mode,
    scratch: Scratch,
    /// Bytes of address space and of touched memory that it began with.
    at_start: (u64, u64),
    /// Threads that it began with.
    threads: Option<u64>,
    /// Bytes of memory that a request may use, and how many were answered.
    memory: u64,
    answered_requests: u32,
    watched: Instant,
    /// Whose files the last request was of, where that matters.
    source: Option<Hash>,
    /// Bytes that an answer may have.
    max_answer: u64,
    /// Whether processes that it forks one after the other could leave each other something.
    is_shared: bool,
}

/// The reason why there is no answer.
enum Stop {
    /// The process is gone, or late, or sends no frames.
    Silence(Silence),
    /// The received bytes are not an answer.
    Garbled(BadAnswer),
    /// More than one came.
    Twice,
    /// It has more than this.
    Excess(String),
    /// It has more memory than a request may use.
    Memory,
}

impl From<Silence> for Stop {
    fn from(silence: Silence) -> Self {
        Self::Silence(silence)
    }
}

impl Worker {
    /// Starts a worker.
    pub(crate) fn start(
        toolchain: &Toolchain,
        place: WorkerSetup,
        mode: Mode,
    ) -> Result<Self, WorkerFailure> {
        let failed = |reason: String| WorkerFailure::Start {
            toolchain: toolchain.id.to_string(),
            reason,
        };
        let mut worker = Self::spawn(&toolchain.python(), place, mode)
            .map_err(|error| failed(format!("{}: {error}", toolchain.python().display())))?;
        let hello: Hello = match worker.receive(Instant::now() + START_LIMIT) {
            Ok((header, _)) => serde_json::from_slice(&header)
                .map_err(|error| WorkerFailure::Protocol(format!("its first words: {error}")))?,
            Err(Stop::Silence(Silence::Gone)) => {
                let how = worker.end();
                return Err(failed(with_hint(&format!(
                    "{how}\n{}",
                    worker.conversation.stderr_text()
                ))));
            }
            Err(Stop::Silence(Silence::Late)) => {
                return Err(failed(format!("nothing heard within {START_LIMIT:?}")));
            }
            Err(Stop::Silence(Silence::Noise(noise))) => {
                return Err(WorkerFailure::Protocol(noise.to_string()));
            }
            Err(Stop::Garbled(bad)) => return Err(WorkerFailure::Protocol(bad.to_string())),
            Err(Stop::Twice) => return Err(WorkerFailure::Protocol(TWICE.to_owned())),
            Err(Stop::Excess(most)) => return Err(failed(format!("it has more than {most}"))),
            Err(Stop::Memory) => return Err(failed("it needs more memory than there may be".to_owned())),
        };
        if hello.protocol != cerith_worker::PROTOCOL {
            return Err(WorkerFailure::Protocol(format!(
                "it has protocol version {}",
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
            worker.at_start = usage::read_memory(pid).unwrap_or_default();
            worker.threads = usage::count_threads(pid);
            worker.is_shared = worker.mode == Mode::Program && usage::has_shared_state(pid);
        }
        Ok(worker)
    }

    fn spawn(python: &Path, place: WorkerSetup, mode: Mode) -> io::Result<Self> {
        let folder = place.scratch.path().to_owned();
        let reach = Reach {
            read: place.read,
            write: folder.clone(),
            gpu: mode.has_gpu(),
        };
        let mut command = Command::new(python);
        // -s: without packages that the user installed for themselves. -I would also ignore PYTHONHASHSEED; the environment has no
        // other variables of Python's, and the program itself removes the working folder from `sys.path`.
        command
            .args(["-s", "-c", cerith_worker::ENTRY])
            .arg(&place.package);
        mode.set_environment(&mut command, &folder);
        if let Some(places) = containment::late_writable_paths(&reach) {
            command.env("CERITH_WRITES", places);
        }
        if let Some(program) = Containment::of_this_system().late_filter(mode.has_gpu()) {
            command.env("CERITH_AFTERWARDS", program);
        }
        command.current_dir(&folder);
        let conversation = Conversation::start(command, StderrPart::Last(STDERR_KEPT), LIMITS, |command| {
            containment::spawn(command, &reach)
        })?;
        let worker = Self {
            conversation,
            mode,
            scratch: place.scratch,
            at_start: (0, 0),
            threads: None,
            memory: 0,
            answered_requests: 0,
            watched: Instant::now(),
            source: None,
            max_answer: MAX_ANSWER,
            is_shared: false,
        };
        if let Some(pid) = worker.group() {
            let kept = mode.has_gpu();
            limit(pid, Resource::Core, 0)?;
            limit(pid, Resource::Fsize, MAX_FILE)?;
            limit(pid, Resource::Nofile, if kept { 4 * MAX_OPEN } else { MAX_OPEN })?;
        }
        Ok(worker)
    }

    /// Whether it sent nothing unasked.
    pub(crate) fn is_quiet(&self) -> bool {
        self.conversation.is_quiet()
    }

    /// Whether it may get another request: it has sent nothing unasked, and has left no thread or process that could. This
    /// empties its folder, except for what its mode keeps.
    pub(crate) fn settle(&mut self) -> bool {
        if self.mode == Mode::Program {
            // The next program would read the rest of an answer that this one did not wait for.
            let is_alone = !self.is_shared && self.is_childless() && !self.conversation.has_unread_input();
            if !is_alone {
                return false;
            }
        }
        // torch's own threads come and go.
        let counted = matches!(self.mode, Mode::Interpret | Mode::Compile);
        let threads = || self.group().and_then(usage::count_threads) <= self.threads;
        // Both have users' files executed by a process that they started. While a compiler's goes on, so may its threads.
        let left = || match (self.group(), self.mode) {
            (None, _) => false,
            (Some(pid), Mode::Compile) => usage::has_descendants(pid, 1),
            (Some(pid), _) => usage::has_descendants(pid, 1) || usage::has_threaded_child(pid),
        };
        let alone = !counted || (threads() && !left());
        self.answered_requests += 1;
        let grown = self.answered_requests.is_multiple_of(GROWTH_EVERY)
            && (self.has_grown() || self.excess().is_err());
        self.is_quiet() && alone && !grown && self.scratch.clear(self.mode.kept_folders()).is_ok()
    }

    /// Waits for the processes that executed a program to end. They could answer the next request.
    fn is_childless(&self) -> bool {
        let Some(pid) = self.group() else { return false };
        let deadline = Instant::now() + LAST_BREATH;
        while usage::has_descendants(pid, 0) {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOKED_EVERY);
        }
        // A process that the program left keeps the pipes open when the worker ends itself for that reason.
        usage::is_running(pid)
    }

    fn has_grown(&self) -> bool {
        let now = self
            .group()
            .map(|pid| usage::measure_group(pid, self.scratch.path()).resident);
        now.is_some_and(|touched| touched.saturating_sub(self.at_start.1) > MAX_GROWTH)
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
        if matches!(self.mode, Mode::Compile | Mode::Interpret)
            && !self.group().is_some_and(usage::end_others)
        {
            // Its limit is its parent's when it was started.
            return Err(io::Error::other("what it started does not end"));
        }
        match (self.group(), self.at_start.0) {
            (Some(pid), space @ 1..) if !self.mode.has_gpu() => limit(pid, Resource::As, space + most),
            _ => Ok(()),
        }
    }

    /// Sees that it uses no more than it may.
    fn excess(&self) -> Result<(), Stop> {
        let excess = |most: String| Err(Stop::Excess(most));
        let contents = self.scratch.measure(MAX_ENTRIES);
        if contents.cut {
            return excess(format!(
                "{MAX_ENTRIES} files, or folders in each other without end"
            ));
        }
        let usage = self
            .group()
            .map(|pid| usage::measure_group(pid, self.scratch.path()))
            .unwrap_or_default();
        let beside = if self.mode.has_gpu() {
            Limits::MAX_GPU_MEMORY
        } else {
            0
        };
        let most = self.at_start.1 + self.memory + beside;
        // Processes that were forked share most of their memory. The sum is an upper bound; the exact number takes longer.
        let shares = self.group().filter(|_| usage.processes > 1);
        let has_touched_more =
            || usage.resident > most && shares.is_none_or(|pid| usage::shared_out(pid) > most);
        if contents.bytes + usage.nameless > MAX_FILE_BYTES {
            excess(format!("{MAX_FILE_BYTES} bytes of files"))
        } else if usage.processes > MAX_PROCESSES {
            excess(format!("{MAX_PROCESSES} processes"))
        } else if usage.threads > MAX_THREADS {
            excess(format!("{MAX_THREADS} threads"))
        } else if self.at_start.1 > 0 && has_touched_more() {
            Err(Stop::Memory)
        } else {
            Ok(())
        }
    }

    /// The process group's id, which is the process's.
    pub(crate) fn group(&self) -> Option<Pid> {
        self.conversation.group()
    }

    /// Sends a frame made for a module, waits for the answer and has it read (header, blobs, what came on stderr). With
    /// it, whether the worker asks to be replaced. Frames that the worker sends meanwhile are answered by `between`, with
    /// the clock running. After an error the worker is of no more use.
    pub(crate) fn ask<A: WorkerAnswer>(
        &mut self,
        frame: &[u8],
        module: &Module,
        limits: Limits,
        between: BetweenFrames<'_>,
        read: impl FnOnce(&[u8], &[u8], &str) -> Result<(A, bool), BadAnswer>,
    ) -> Result<(A, bool), WorkerFailure> {
        self.conversation.forget_said();
        self.max_answer = (frame.len() as u64).saturating_mul(ANSWER_TIMES) + MAX_ANSWER;
        let deadline = Instant::now() + limits.time + GRACE;
        let limited = self.limit_memory(limits.memory);
        limited.map_err(|error| WorkerFailure::Protocol(format!("its memory cannot be limited: {error}")))?;
        match self.exchange_frames(frame, deadline, between) {
            Ok((header, blobs)) => {
                let said = self.conversation.stderr_text();
                let (answer, worn) =
                    read(&header, &blobs, &said).map_err(|bad| self.fail_garbled(bad.to_string()))?;
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
            Err(Stop::Silence(Silence::Noise(noise))) => Err(self.fail_garbled(noise.to_string())),
            Err(Stop::Garbled(bad)) => Err(self.fail_garbled(bad.to_string())),
            Err(Stop::Twice) => Err(self.fail_garbled(TWICE.to_owned())),
            Err(Stop::Excess(most)) => Err(WorkerFailure::Excess {
                limit: most,
                stderr: self.conversation.stderr_text(),
            }),
            Err(Stop::Memory) => Err(WorkerFailure::OutOfMemory {
                limit: limits.memory,
                stderr: self.conversation.stderr_text(),
            }),
            Err(Stop::Silence(Silence::Late)) => Err(self.timed_out(module, limits)),
            Err(Stop::Silence(Silence::Gone)) => {
                let how = self.end();
                let stderr = self.conversation.stderr_text();
                // Python's watchdog says so before it looks at the frames of a thread that goes on running, which may
                // cost it a segmentation fault or a bus error.
                if matches!(how, Exit::Code(1) | Exit::Signal(7 | 11)) && stderr.contains("Timeout (") {
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
                    exit: how,
                    stderr,
                    location,
                })
            }
        }
    }

    fn timed_out(&mut self, module: &Module, limits: Limits) -> WorkerFailure {
        let stderr = self.conversation.stderr_text();
        let location = fault_location(&stderr, module);
        WorkerFailure::TimedOut {
            limit: limits.time,
            stderr,
            location,
        }
    }

    fn fail_garbled(&mut self, problem: String) -> WorkerFailure {
        WorkerFailure::Garbled {
            problem,
            stderr: self.conversation.stderr_text(),
        }
    }

    /// Sends a frame, answers the questions that come first, and returns the frame that is not a question.
    fn exchange_frames(
        &mut self,
        frame: &[u8],
        deadline: Instant,
        between: BetweenFrames<'_>,
    ) -> Result<(Vec<u8>, Vec<u8>), Stop> {
        self.send(frame, deadline)?;
        loop {
            let (header, blobs) = self.receive(deadline)?;
            match between(&header, &blobs).map_err(Stop::Garbled)? {
                Some(reply) => self.send(&reply, deadline)?,
                None => return Ok((header, blobs)),
            }
        }
    }

    fn send(&mut self, frame: &[u8], deadline: Instant) -> Result<(), Stop> {
        let (mut rest, most) = (frame, self.max_answer);
        self.wait_in_slices(deadline, |conversation, slice| {
            conversation.send(&mut rest, most, slice)
        })
    }

    /// The next frame; an error if a second one came with it, because a worker waits for each answer.
    fn receive(&mut self, deadline: Instant) -> Result<(Vec<u8>, Vec<u8>), Stop> {
        let most = self.max_answer;
        let frame = self.wait_in_slices(deadline, |conversation, slice| conversation.receive(most, slice))?;
        if self.conversation.has_more() {
            return Err(Stop::Twice);
        }
        Ok(frame)
    }

    /// Goes on with something until it is done or late, and looks in between at what the worker uses.
    fn wait_in_slices<T>(
        &mut self,
        deadline: Instant,
        mut go_on: impl FnMut(&mut Conversation, Instant) -> Result<T, Silence>,
    ) -> Result<T, Stop> {
        loop {
            let now = Instant::now();
            match go_on(&mut self.conversation, deadline.min(now + WATCHED_EVERY)) {
                Err(Silence::Late) if Instant::now() < deadline => self.watch()?,
                done => return Ok(done?),
            }
        }
    }

    /// Sees, once in a while, that it uses no more than it may.
    fn watch(&mut self) -> Result<(), Stop> {
        if self.watched.elapsed() < WATCHED_EVERY {
            return Ok(());
        }
        let excess = self.excess();
        self.watched = Instant::now();
        excess
    }

    /// Waits for a process with a closed pipe, and returns how it ended, or the signal that killed it.
    fn end(&mut self) -> Exit {
        let killed = Exit::Signal(Signal::KILL.as_raw());
        self.conversation.end(LAST_BREATH).unwrap_or(killed)
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

/// Other systems cannot limit another process; the worker limits itself.
#[cfg(not(target_os = "linux"))]
fn limit(_: Pid, _: Resource, _: u64) -> io::Result<()> {
    Ok(())
}

/// The reason why a worker did not start, with a hint for a fix.
fn with_hint(reason: &str) -> String {
    let reason = reason.trim_end();
    if reason.contains("Permission denied") || reason.contains("Operation not permitted") {
        return format!(
            "{reason}\nworkers are contained: {ALLOW_READ}=/a/folder:/another lets them read more (docs/containment.md)"
        );
    }
    reason.to_owned()
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
        file: wire::restore_path(file, asked),
        line,
        function: function.to_owned(),
    })
}
