//! `cerith exec`: a bundle of compiled cases in, a bundle of results out, on a machine that needs nothing but a GPU.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_cuda::bundle::{BundleError, Decided, Note, Provenance, Reader, ResultEntry, Writer};
use cerith_cuda::{Executor, GpuHeader, Options, Unavailable};
use cerith_engine::Failure;
use cerith_engine::job::Ran;

use crate::exit::Exit;
use crate::host::Host;
use crate::part::{Part, PartError};

/// Options for executing a bundle.
#[derive(Clone, Debug)]
pub struct ExecOptions {
    /// The bundle that `cerith bundle` wrote.
    pub cases: PathBuf,
    /// The path of the bundle of results.
    pub out: PathBuf,
    /// How often each case is launched, each time with its first memory.
    pub repeat: u32,
    /// How many seconds a case may take, all repetitions together.
    pub time_limit: Duration,
}

/// Executes, and returns the exit code.
pub fn exec(options: &ExecOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    match execute_bundle(options, host) {
        Ok(summary) => {
            console.print(&summary);
            Exit::AsExpected
        }
        Err(error) => {
            console.end();
            console.note(&error.to_string());
            error.exit()
        }
    }
}

/// The reason why there are no results.
#[derive(Debug, thiserror::Error)]
enum ExecError {
    #[error("error: failed to {0}")]
    Part(#[from] PartError),
    #[error("error: failed to {error}\n  --> {}", path.display())]
    Bundle { path: PathBuf, error: BundleError },
    #[error("error: failed to {0}")]
    Execute(Failure),
    #[error("nothing was executed: {} holds no cases", .0.display())]
    NoCases(PathBuf),
    #[error("nothing was executed: {0}")]
    Unavailable(#[from] Unavailable),
    #[error(
        "nothing was executed: there is no GPU; copy the bundle and `cerith` to a machine that has one, and run `cerith exec` there"
    )]
    NoGpu,
    #[error("interrupted; no results were written")]
    Interrupted,
}

impl ExecError {
    const fn exit(&self) -> Exit {
        match self {
            Self::Part(_) | Self::Bundle { .. } | Self::Execute(_) => Exit::Wrong,
            Self::NoCases(_) | Self::Unavailable(_) | Self::NoGpu => Exit::Nothing,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

fn execute_bundle(command: &ExecOptions, host: Host<'_>) -> Result<String, ExecError> {
    let console = host.console;
    // All of it is checked before anything is executed.
    let (total, rest) = count_cases(&command.cases).map_err(|error| locate_error(&command.cases, error))?;
    match (total, rest.is_empty()) {
        (0, true) => {
            return Err(ExecError::NoCases(command.cases.clone()));
        }
        (0, false) => return write_decided(command, &rest),
        _ => {}
    }
    let options = Options {
        repetitions: command.repeat,
        time: command.time_limit,
        ..Options::default()
    };
    let executor = Executor::start(options)?;
    let Some(gpu) = executor.gpus().first().cloned() else {
        return Err(ExecError::NoGpu);
    };
    let provenance = Provenance {
        gpu: gpu.clone(),
        repetitions: command.repeat,
        time_limit: command.time_limit.as_millis().try_into().unwrap_or(u64::MAX),
    };
    let part = Part::create(&command.out)?;
    let mut writer = Writer::begin_results(BufWriter::new(part.file()), provenance)
        .map_err(|error| locate_error(&command.out, error))?;
    console.begin(total);
    let began = Instant::now();
    let counts = execute_cases(command, &executor, host, &mut writer)?;
    let seconds = began.elapsed();
    console.end();
    let written = writer
        .finish()
        .map_err(|error| locate_error(&command.out, error))?;
    drop(written);
    part.keep()?;
    Ok(counts.describe(&gpu, executor.gpus().len(), command.repeat, seconds))
}

fn locate_error(path: &Path, error: BundleError) -> ExecError {
    ExecError::Bundle {
        path: path.to_owned(),
        error,
    }
}

fn open_bundle(path: &Path) -> Result<Reader<BufReader<File>>, BundleError> {
    Reader::begin_cases(BufReader::new(File::open(path).map_err(BundleError::Read)?))
}

/// The part of a bundle that needs no GPU.
struct DecidedPart {
    decided: Vec<Decided>,
    notes: Vec<Note>,
}

impl DecidedPart {
    fn from_reader(reader: &mut Reader<BufReader<File>>) -> Self {
        Self {
            decided: reader.take_decided(),
            notes: reader.take_notes(),
        }
    }

    const fn is_empty(&self) -> bool {
        self.decided.is_empty() && self.notes.is_empty()
    }

    fn write<W: Write>(&self, writer: &mut Writer<W>) -> Result<(), BundleError> {
        for decided in &self.decided {
            writer.add_decided(decided)?;
        }
        for note in &self.notes {
            writer.add_note(note)?;
        }
        Ok(())
    }
}

/// How many cases there are to execute, and what else.
fn count_cases(path: &Path) -> Result<(u64, DecidedPart), BundleError> {
    let mut reader = open_bundle(path)?;
    let mut count = 0;
    while reader.next_case()?.is_some() {
        count += 1;
    }
    Ok((count, DecidedPart::from_reader(&mut reader)))
}

/// The results of a bundle with nothing left to execute: the outcomes that were decided when it was compiled. This needs no GPU.
fn write_decided(options: &ExecOptions, rest: &DecidedPart) -> Result<String, ExecError> {
    let part = Part::create(&options.out)?;
    let written = Writer::begin_unexecuted(BufWriter::new(part.file())).and_then(|mut writer| {
        rest.write(&mut writer)?;
        writer.finish()
    });
    drop(written.map_err(|error| locate_error(&options.out, error))?);
    part.keep()?;
    let mut parts = vec![format!("{} decided when they were compiled", rest.decided.len())];
    if !rest.notes.is_empty() {
        parts.push(format!("{} variants that need no execution", rest.notes.len()));
    }
    Ok(format!("nothing is left to execute: {}\n", parts.join(", ")))
}

fn execute_cases(
    options: &ExecOptions,
    executor: &Executor,
    host: Host<'_>,
    writer: &mut Writer<BufWriter<&File>>,
) -> Result<Counts, ExecError> {
    let mut reader = open_bundle(&options.cases).map_err(|error| locate_error(&options.cases, error))?;
    let labels = RefCell::new(HashMap::new());
    let mut counts = Counts::default();
    let (mut unread, mut unwritten) = (None, None);
    let mut key = 0usize;
    let jobs = std::iter::from_fn(|| {
        if host.is_stopped() {
            return None;
        }
        match reader.next_case() {
            Ok(entry) => entry.map(|entry| {
                labels.borrow_mut().insert(key, entry.label);
                key += 1;
                Arc::new(entry.job)
            }),
            Err(error) => {
                unread = Some(error);
                None
            }
        }
    });
    let done = executor.stream(jobs, |key, ran| {
        counts.count(&ran);
        if let Some(label) = labels.borrow_mut().remove(&key)
            && let Err(error) = writer.add_result(&ResultEntry { label, ran })
        {
            unwritten = Some(error);
            return false;
        }
        host.console.advance(0);
        !host.is_stopped()
    });
    if host.is_stopped() {
        executor.stop();
        return Err(ExecError::Interrupted);
    }
    if let Some(error) = unread {
        return Err(locate_error(&options.cases, error));
    }
    if let Some(error) = unwritten {
        return Err(locate_error(&options.out, error));
    }
    let rest = DecidedPart::from_reader(&mut reader);
    counts.decided = rest.decided.len() as u64;
    rest.write(writer)
        .map_err(|error| locate_error(&options.out, error))?;
    match done {
        Ok(()) => Ok(counts),
        Err(Failure::Stopped) => Err(ExecError::Interrupted),
        Err(failure) => Err(ExecError::Execute(failure)),
    }
}

/// How many cases had each outcome.
#[derive(Default)]
struct Counts {
    cases: u64,
    finished: u64,
    nondeterministic: u64,
    faulted: u64,
    timed_out: u64,
    died: u64,
    refused: u64,
    /// Not executed: they ended when they were compiled.
    decided: u64,
}

impl Counts {
    fn count(&mut self, ran: &Ran) {
        self.cases += 1;
        *match ran {
            Ran::Finished {
                different_arena: None,
                ..
            } => &mut self.finished,
            Ran::Finished {
                different_arena: Some(_),
                ..
            } => &mut self.nondeterministic,
            Ran::Faulted { .. } => &mut self.faulted,
            Ran::TimedOut { .. } => &mut self.timed_out,
            Ran::Died { .. } => &mut self.died,
            Ran::Refused { .. } => &mut self.refused,
        } += 1;
    }

    fn describe(&self, gpu: &GpuHeader, gpus: usize, repetitions: u32, time: Duration) -> String {
        let parts = [
            (self.finished, "finished"),
            (self.nondeterministic, "nondeterministic"),
            (self.faulted, "faulted"),
            (self.timed_out, "timed out"),
            (self.died, "died"),
            (self.refused, "refused"),
        ];
        let decided = if self.decided > 0 {
            format!(
                " (and {} that were decided when they were compiled)",
                self.decided
            )
        } else {
            String::new()
        };
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|&(count, _)| count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        format!(
            "{} cases on {}{} (sm_{}, driver {}), {repetitions} times each: {}; {:.2} s, {:.0} cases/s\n",
            self.cases,
            if gpus > 1 {
                format!("{gpus} × ")
            } else {
                String::new()
            },
            gpu.name,
            gpu.capability,
            if gpu.driver.is_empty() {
                "unknown"
            } else {
                &gpu.driver
            },
            parts.join(", ") + &decided,
            time.as_secs_f64(),
            self.cases as f64 / time.as_secs_f64().max(1e-9)
        )
    }
}
