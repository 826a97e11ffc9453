//! Child processes that execute jobs, one for every GPU, so that a kernel can break nothing but its own case.
//!
//! Jobs of many threads meet in one queue and run in batches. A launch that faults ends the child, which reports the job at
//! fault; a new child runs the other jobs of the batch again. If a batch takes too long, or its child exits without a message,
//! its jobs run again one by one, to find the job at fault. They also do if one job wrote out of bounds and may have changed
//! another job's result.
//!
//! See `super::batch` for the GPU, and `super::wire` and `cerith_toolchain::conversation` for bytes and pipes.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cerith_toolchain::compiled::Kernel;
use cerith_toolchain::conversation::frame::encode_frame;
use cerith_toolchain::conversation::{Conversation, Silence, StderrPart};
use cerith_toolchain::failure::Exit;

use super::child;
use super::limits::{
    BATCH_BYTES, BATCH_LIMIT, IN_FLIGHT, KNOWN_BYTES, LAST_BREATH, MAX_BATCH, SPARES, START_LIMIT,
    STDERR_KEPT,
};
use super::wire::{self, Answer, Batch, GpuHeader, JobHeader, KernelHeader};
use cerith_engine::Failure;
use cerith_engine::job::{Job, Ran};

/// Settings for running jobs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of times that each job runs, at least 1.
    pub repetitions: u32,
    /// Time limit of a job, for all repetitions together.
    pub time: Duration,
    /// The child's program; the index of the GPU is appended to its arguments. It calls [`child::serve`].
    pub program: PathBuf,
    /// Its arguments before that.
    pub arguments: Vec<OsString>,
}

impl Default for Options {
    /// Three times, ten seconds, this binary again with [`child::ARGUMENT`].
    fn default() -> Self {
        Self {
            repetitions: 3,
            time: Duration::from_secs(10),
            program: std::env::current_exe().unwrap_or_else(|_| "cerith".into()),
            arguments: vec![child::ARGUMENT.into()],
        }
    }
}

/// The reason why no GPU can be used here, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Children with GPUs, and the queue before them. Dropping it ends them.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
    feeders: Vec<JoinHandle<()>>,
    gpus: Vec<GpuHeader>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    queue: Mutex<Queue>,
    filled: Condvar,
    stopped: AtomicBool,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// No more will come.
    closed: bool,
    /// Feeders that work.
    feeders: usize,
    /// The reason why no feeder works any more.
    ended: Option<Failure>,
}

/// A job, and where its answer goes.
#[derive(Debug)]
struct Task {
    key: usize,
    job: Arc<Job>,
    runs_alone: bool,
    repetitions: u32,
    answer: Sender<(usize, Result<Ran, Failure>)>,
}

impl Executor {
    /// Starts a child for every GPU.
    pub fn start(options: Options) -> Result<Self, Unavailable> {
        let shared = Arc::new(Shared {
            options,
            queue: Mutex::default(),
            filled: Condvar::new(),
            stopped: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        });
        let mut executor = Self {
            shared,
            feeders: Vec::new(),
            gpus: Vec::new(),
        };
        let first = executor.start_feeder(0)?;
        let more: Vec<_> = (1..first.count)
            .map(|index| executor.start_feeder(index))
            .collect();
        executor.gpus = std::iter::once(Ok(first)).chain(more).collect::<Result<_, _>>()?;
        Ok(executor)
    }

    /// A thread with the child of one GPU. The thread starts the child, so that all it does is in one place.
    fn start_feeder(&mut self, index: usize) -> Result<GpuHeader, Unavailable> {
        let shared = Arc::clone(&self.shared);
        let (hello, heard) = channel();
        let thread = std::thread::spawn(move || {
            let mut feeder = match Feeder::start(Arc::clone(&shared), index) {
                Ok((feeder, gpu)) => {
                    shared.queue().feeders += 1;
                    if hello.send(Ok(gpu)).is_err() {
                        return;
                    }
                    feeder
                }
                Err(unavailable) => {
                    let _ = hello.send(Err(unavailable));
                    return;
                }
            };
            feeder.work();
        });
        self.feeders.push(thread);
        heard
            .recv()
            .unwrap_or_else(|_| Err(Unavailable("the thread of a GPU ended".to_owned())))
    }

    /// The GPUs, in CUDA's order.
    pub fn gpus(&self) -> &[GpuHeader] {
        &self.gpus
    }

    /// The number of children lost so far.
    pub fn children_lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Does one job, and waits for it. From many threads at once, jobs share batches.
    pub fn execute(&self, job: Arc<Job>) -> Result<Ran, Failure> {
        let (sender, receiver) = channel();
        self.shared.push(vec![self.shared.build_task(0, job, &sender)]);
        drop(sender);
        receiver
            .recv()
            .map_or(Err(Failure::Stopped), |(_, result)| result)
    }

    /// Runs jobs as they come, and reports each result as soon as it is known, in any order, with its number in the sequence from
    /// 0. It takes few more jobs than it can work on. It ends early when `done` says no more, or with the first failure of
    /// Cerith's.
    pub fn stream(
        &self,
        jobs: impl IntoIterator<Item = Arc<Job>>,
        mut done: impl FnMut(usize, Ran) -> bool,
    ) -> Result<(), Failure> {
        let (sender, receiver) = channel();
        let most = MAX_BATCH * (IN_FLIGHT + 2) * self.feeders.len().max(1);
        let mut jobs = jobs.into_iter().enumerate().peekable();
        let mut waiting = 0usize;
        loop {
            // In whole batches: a job at a time would be done a job at a time.
            while waiting + MAX_BATCH <= most && jobs.peek().is_some() {
                let batch = jobs.by_ref().take(MAX_BATCH);
                let batch: Vec<_> = batch
                    .map(|(key, job)| self.shared.build_task(key, job, &sender))
                    .collect();
                waiting += batch.len();
                self.shared.push(batch);
            }
            if waiting == 0 {
                return Ok(());
            }
            let (key, result) = receiver.recv().map_err(|_| Failure::Stopped)?;
            waiting -= 1;
            if !done(key, result?) {
                return Ok(());
            }
        }
    }

    /// Runs jobs, and answers with their results in order.
    pub fn run(&self, jobs: &[Arc<Job>]) -> Result<Vec<Ran>, Failure> {
        let mut all: Vec<Option<Ran>> = jobs.iter().map(|_| None).collect();
        self.stream(jobs.iter().cloned(), |key, ran| {
            if let Some(slot) = all.get_mut(key) {
                *slot = Some(ran);
            }
            true
        })?;
        all.into_iter().collect::<Option<_>>().ok_or(Failure::Stopped)
    }

    /// Ends what is being done: every job that waits fails with [`Failure::Stopped`].
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.shared.filled.notify_all();
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.filled.notify_all();
        for thread in self.feeders.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn build_task(&self, key: usize, job: Arc<Job>, answer: &Sender<(usize, Result<Ran, Failure>)>) -> Task {
        Task {
            key,
            job,
            runs_alone: false,
            repetitions: self.options.repetitions.max(1),
            answer: answer.clone(),
        }
    }

    fn push(&self, tasks: Vec<Task>) {
        let mut queue = self.queue();
        if let Some(end) = queue.ended.clone() {
            drop(queue);
            refuse(tasks, &end);
        } else {
            queue.tasks.extend(tasks);
            drop(queue);
            self.filled.notify_all();
        }
    }

    /// The next batch. Waits for one if `wait`; none then means that there will be no more.
    fn pull(&self, wait: bool) -> Vec<Task> {
        let mut queue = self.queue();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return Vec::new();
            }
            if !queue.tasks.is_empty() || queue.closed || !wait {
                break;
            }
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let mut batch: Vec<Task> = Vec::new();
        let mut bytes = 0usize;
        while let Some(task) = queue.tasks.front() {
            bytes = bytes.saturating_add(task.job.arena.len().saturating_mul(task.repetitions as usize));
            let fits = batch.len() < MAX_BATCH && bytes <= BATCH_BYTES;
            let alike = batch.first().is_none_or(|first| {
                !first.runs_alone && !task.runs_alone && first.repetitions == task.repetitions
            });
            if batch.is_empty() || (fits && alike) {
                batch.extend(queue.tasks.pop_front());
            } else {
                break;
            }
        }
        batch
    }
}

/// The loss of a child.
struct Loss {
    /// The result for the job at fault.
    ran: Ran,
    /// The index of that job in the oldest batch, if known.
    job: Option<usize>,
}

/// Feeds one GPU's child with batches, and hands its answers on.
struct Feeder {
    shared: Arc<Shared>,
    index: usize,
    child: Conversation,
    /// Children that are being started, to take the place of one that is lost.
    spares: VecDeque<JoinHandle<Result<(Conversation, GpuHeader), Unavailable>>>,
    /// Kernels that the child knows, by where they are here; kept, so that the place stays theirs.
    known_kernels: HashMap<*const Kernel, (usize, Arc<Kernel>)>,
    known_bytes: usize,
    /// Batches sent, oldest first.
    sent: VecDeque<Vec<Task>>,
    /// The start time of the oldest of them.
    since: Instant,
}

impl Feeder {
    fn start(shared: Arc<Shared>, index: usize) -> Result<(Self, GpuHeader), Unavailable> {
        let (child, gpu) = open(&shared.options, index)?;
        let feeder = Self {
            shared,
            index,
            child,
            spares: VecDeque::new(),
            known_kernels: HashMap::new(),
            known_bytes: 0,
            sent: VecDeque::new(),
            since: Instant::now(),
        };
        Ok((feeder, gpu))
    }

    /// Works until there is no more to do, or no GPU.
    fn work(&mut self) {
        let end = loop {
            if self.shared.stopped.load(Ordering::Relaxed) {
                break Failure::Stopped;
            }
            let mut lost: Option<Loss> = None;
            while lost.is_none() && self.sent.len() < IN_FLIGHT {
                let batch = self.shared.pull(self.sent.is_empty());
                if batch.is_empty() {
                    break;
                }
                lost = self.send(batch).err();
            }
            if self.sent.is_empty() {
                break Failure::Stopped;
            }
            if let Some(loss) = lost.or_else(|| self.receive().err())
                && let Err(unavailable) = self.requeue_tasks(&loss)
            {
                break Failure::internal("start a child for the GPU", unavailable);
            }
        };
        let mut queue = self.shared.queue();
        queue.feeders -= 1;
        let mut rest: Vec<Task> = self.sent.drain(..).flatten().collect();
        if queue.feeders == 0 {
            rest.extend(queue.tasks.drain(..));
            queue.ended = Some(end.clone());
        } else if end != Failure::Stopped {
            // Another GPU can do it.
            queue.tasks.extend(rest.drain(..));
        }
        drop(queue);
        refuse(rest, &end);
    }

    /// Sends a batch. If the child is lost, the error is the outcome of the oldest batch.
    fn send(&mut self, batch: Vec<Task>) -> Result<(), Loss> {
        if self.sent.is_empty() {
            self.since = Instant::now();
        }
        let forget = self.known_bytes > KNOWN_BYTES;
        if forget {
            self.known_kernels.clear();
            self.known_bytes = 0;
        }
        let mut blobs: Vec<&[u8]> = Vec::new();
        let mut kernels = Vec::new();
        let mut jobs = Vec::with_capacity(batch.len());
        for task in &batch {
            let mut numbers = Vec::with_capacity(task.job.compiled.kernels.len());
            for kernel in &task.job.compiled.kernels {
                let next = self.known_kernels.len();
                let (number, _) = self.known_kernels.entry(Arc::as_ptr(kernel)).or_insert_with(|| {
                    blobs.push(&kernel.cubin);
                    kernels.push(KernelHeader {
                        cubin: kernel.cubin.len(),
                        metadata: kernel.metadata.clone(),
                    });
                    self.known_bytes += kernel.cubin.len();
                    (next, Arc::clone(kernel))
                });
                numbers.push(*number);
            }
            jobs.push(JobHeader::from_job(&task.job, numbers));
        }
        blobs.extend(batch.iter().map(|task| task.job.arena.as_slice()));
        let header = Batch {
            forget,
            is_isolated: batch.first().is_some_and(|task| task.runs_alone),
            repetitions: batch.first().map_or(1, |task| task.repetitions),
            kernels,
            jobs,
        };
        let frame = encode_frame(&header, blobs);
        self.sent.push_back(batch);
        let frame = frame.map_err(|error| self.handle_noise(&error))?;
        let deadline = self.deadline();
        match self.child.send(&mut &frame[..], u64::MAX, deadline) {
            // It may have said why before it went, and that is still to be read.
            Ok(()) | Err(Silence::Gone) => Ok(()),
            Err(silence) => Err(self.handle_silence(silence)),
        }
    }

    /// The deadline of the oldest batch.
    fn deadline(&self) -> Instant {
        let alone = self
            .sent
            .front()
            .and_then(|batch| batch.first())
            .is_some_and(|task| task.runs_alone);
        let time = self.shared.options.time;
        let limit = if alone { time } else { time.min(BATCH_LIMIT) };
        // Starting and moving bytes takes its time too.
        self.since + limit + Duration::from_millis(500)
    }

    /// Waits for the oldest batch's answer. If the child is lost, the error is the outcome of the batch.
    fn receive(&mut self) -> Result<(), Loss> {
        let deadline = self.deadline();
        let (header, blobs) = loop {
            // In slices, so that a stop is heard.
            let slice = Instant::now() + Duration::from_millis(100);
            match self.child.receive(u64::MAX, deadline.min(slice)) {
                Ok(frame) => break frame,
                Err(Silence::Late) if Instant::now() < deadline => {
                    if self.shared.stopped.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                }
                Err(silence) => return Err(self.handle_silence(silence)),
            }
        };
        let (ran, touched) = match serde_json::from_slice(&header) {
            Ok(Answer::Done { ran, touched }) => (ran, touched),
            Ok(Answer::Fault { name, message, job }) => {
                self.child.end(LAST_BREATH);
                let said = self.child.stderr_text();
                let ran = Ran::Faulted {
                    name,
                    message: format!("{message}\n{said}").trim_end().to_owned(),
                };
                return Err(Loss { ran, job });
            }
            Ok(other) => return Err(self.handle_noise(&format_args!("{other:?}"))),
            Err(error) => return Err(self.handle_noise(&error)),
        };
        let mut blobs = blobs.as_slice();
        let ran: Option<Vec<Ran>> = ran.into_iter().map(|ran| ran.into_ran(&mut blobs)).collect();
        let count = self.sent.front().map_or(0, Vec::len);
        let Some(ran) = ran.filter(|ran| ran.len() == count) else {
            return Err(self.handle_noise(&"an answer cut short"));
        };
        let batch = self.sent.pop_front().unwrap_or_default();
        self.since = Instant::now();
        let mut again = Vec::new();
        for (mut task, ran) in batch.into_iter().zip(ran) {
            if touched && !task.runs_alone {
                task.runs_alone = true;
                again.push(task);
            } else {
                let _ = task.answer.send((task.key, Ok(ran)));
            }
        }
        self.shared.push(again);
        Ok(())
    }

    /// No answer, and what that means for the oldest batch. The process is over.
    fn handle_silence(&mut self, silence: Silence) -> Loss {
        let ran = match silence {
            Silence::Late => {
                self.child.kill();
                Ran::TimedOut {
                    limit: self.shared.options.time,
                }
            }
            Silence::Gone => {
                let how = describe_exit(&mut self.child);
                let said = self.child.stderr_text();
                Ran::Died {
                    ending: format!("{how}\n{said}").trim_end().to_owned(),
                }
            }
            Silence::Noise(noise) => return self.handle_noise(&noise),
        };
        Loss { ran, job: None }
    }

    /// Handles an invalid answer: kills the child, and returns the outcome of the oldest batch.
    fn handle_noise(&mut self, noise: &dyn Display) -> Loss {
        self.child.kill();
        let ran = Ran::Died {
            ending: format!("it answered with {noise}"),
        };
        Loss { ran, job: None }
    }

    /// Replaces a lost child. A job that ran alone, or that is known to be at fault, gets its result. The other jobs run again;
    /// jobs of the oldest batch run alone if the job at fault is unknown.
    fn requeue_tasks(&mut self, loss: &Loss) -> Result<(), Unavailable> {
        self.shared.lost.fetch_add(1, Ordering::Relaxed);
        let mut again = Vec::new();
        for (age, batch) in self.sent.drain(..).enumerate() {
            for (number, mut task) in batch.into_iter().enumerate() {
                if age == 0 && (task.runs_alone || loss.job == Some(number)) {
                    let _ = task.answer.send((task.key, Ok(loss.ran.clone())));
                } else {
                    task.runs_alone |= age == 0 && loss.job.is_none();
                    again.push(task);
                }
            }
        }
        let spare = self.spares.pop_front().and_then(|spare| spare.join().ok());
        while self.spares.len() < SPARES {
            let (shared, index) = (Arc::clone(&self.shared), self.index);
            self.spares
                .push_back(std::thread::spawn(move || open(&shared.options, index)));
        }
        let opened = spare
            .and_then(Result::ok)
            .map_or_else(|| open(&self.shared.options, self.index), Ok);
        self.shared.push(again);
        (self.child, _) = opened?;
        self.known_kernels.clear();
        self.known_bytes = 0;
        self.since = Instant::now();
        Ok(())
    }
}

/// Reports the failure to all waiting callers.
fn refuse(tasks: Vec<Task>, end: &Failure) {
    for task in tasks {
        // An error means that the caller no longer waits.
        let _ = task.answer.send((task.key, Err(end.clone())));
    }
}

/// Sees a child off that ended by itself, and says how it did.
fn describe_exit(child: &mut Conversation) -> String {
    match child.end(LAST_BREATH) {
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        Some(Exit::Code(code)) => format!("exit code {code}"),
        None => "it closed its pipes".to_owned(),
    }
}

/// Starts a child and hears its first words.
fn open(options: &Options, index: usize) -> Result<(Conversation, GpuHeader), Unavailable> {
    let program = std::path::absolute(&options.program).unwrap_or_else(|_| options.program.clone());
    let mut command = Command::new(program);
    command
        // Relative entries of LD_LIBRARY_PATH would be folders of a checkout.
        .current_dir("/")
        .args(&options.arguments)
        .arg(index.to_string())
        // A kernel is loaded on request, not in the middle of a batch.
        .env("CUDA_MODULE_LOADING", "EAGER")
        .env("CUDA_CACHE_DISABLE", "1");
    let failed = |reason: String| Unavailable(format!("the child process for a GPU did not start: {reason}"));
    let mut child = Conversation::start(
        command,
        StderrPart::First(STDERR_KEPT),
        wire::MAX_FRAME,
        |mut command| command.spawn(),
    )
    .map_err(|error| failed(format!("{}: {error}", options.program.display())))?;
    let (header, _) = match child.receive(u64::MAX, Instant::now() + START_LIMIT) {
        Ok(frame) => frame,
        Err(silence) => {
            let how = match silence {
                Silence::Gone => describe_exit(&mut child),
                Silence::Late => format!("nothing heard within {START_LIMIT:?}"),
                Silence::Noise(noise) => noise.to_string(),
            };
            let said = child.stderr_text();
            return Err(failed(format!("{how} {said}").trim_end().to_owned()));
        }
    };
    match serde_json::from_slice(&header) {
        Ok(Answer::Hello(gpu)) => Ok((child, gpu)),
        Ok(Answer::Unavailable(reason)) => Err(Unavailable(reason)),
        Ok(other) => Err(failed(format!("it began with {other:?}"))),
        Err(error) => Err(failed(error.to_string())),
    }
}
