//! The streams of a run's shards as the one stream that the run without shards writes: one start, the cases in the order of the
//! corpus, one summary. A fault of a stream (missing, given twice, of another run, damaged, or without its end) becomes an error
//! among the events; its sound part stays.
//!
//! Streams are read side by side, so that memory does not grow with them, except for the names of their cases.
//!
//! See [`crate::Joined`] for several runs in one report, which demands less of its streams.

mod kin;
mod lines;
mod source;

use std::collections::HashSet;
use std::io::{self, BufRead};

use self::kin::{build_command, describe_differences, shard_of};
use self::lines::Line;
use self::source::{Source, Turned};
use crate::event::{Deduplicator, Event, Position, Problem, Severity, Start, Summary};
use crate::stream;

/// The maximum number of cases and shards that a message names.
const MAX_NAMED: usize = 8;

/// Up to this many streams, each is read by a thread of its own.
const THREADS: usize = 64;

/// Streams that are opened and not merged yet.
#[derive(Debug)]
pub struct Merge<R> {
    sources: Vec<Source<R>>,
    start: Start,
    /// How many shards there should be.
    count: u64,
    faults: Vec<Problem>,
}

/// The result of merging.
#[derive(Debug)]
pub struct Merged {
    /// The summary of all that was merged.
    pub summary: Summary,
    /// The faults of the streams, all of which were among the events.
    pub faults: Vec<Problem>,
}

/// There is nothing to merge: no stream has a beginning.
#[derive(Debug, thiserror::Error)]
#[error("no stream has a beginning")]
pub struct NothingToMerge {
    /// The problems of each stream.
    pub faults: Vec<Problem>,
}

impl<R: BufRead + Send + 'static> Merge<R> {
    /// Reads the first lines of streams, and decides which belong together: those of the run that most of them are shards of. The
    /// others are left out and reported.
    ///
    /// # Errors
    /// None has a beginning.
    pub fn open(streams: impl IntoIterator<Item = (String, io::Result<R>)>) -> Result<Self, NothingToMerge> {
        let mut faults = Vec::new();
        let mut opened = Vec::new();
        for (name, input) in streams {
            match Source::open(name, input) {
                Ok(source) => opened.push(source),
                Err(fault) => faults.push(*fault),
            }
        }
        let akin = |one: &Source<R>| {
            let same = opened
                .iter()
                .filter(|other| describe_differences(&one.start, &other.start).is_empty());
            same.count()
        };
        // If several models have equally many matching streams, take the first.
        let most = opened.iter().map(akin).max().unwrap_or_default();
        let Some(model) = opened.iter().find(|one| akin(one) == most) else {
            return Err(NothingToMerge { faults });
        };
        let mut start = model.start.clone();
        let model_name = model.name.clone();
        let count = shard_of(&start).1;
        let mut sources: Vec<Source<R>> = Vec::new();
        for source in opened {
            let other = describe_differences(&start, &source.start);
            let index = shard_of(&source.start).0;
            let before = sources.iter().find(|before| shard_of(&before.start).0 == index);
            if !other.is_empty() {
                faults.push(build_error(
                    "foreign-stream",
                    &source.name,
                    source.line,
                    format!(
                        "{} belongs to a different run than {model_name}, and is left out: {}",
                        source.name,
                        other.join("; ")
                    ),
                    "merge the shards of one run: same corpus, same engines, same options, same cerith; `cerith report` \
                     prints streams of several runs as one",
                ));
            } else if let Some(before) = before {
                faults.push(build_error(
                    "shards",
                    &source.name,
                    source.line,
                    format!(
                        "shard {index}/{count} is given twice: {} is used, and {} is left out",
                        before.name, source.name
                    ),
                    "give each shard once",
                ));
            } else {
                if source.start.corpus_hash.is_empty() && source.start.shard.is_some() {
                    faults.push(build_warning(
                        &source.name,
                        source.line,
                        format!(
                            "{} does not name its corpus: an older cerith wrote it",
                            source.name
                        ),
                        "make sure that all shards ran on the same files",
                    ));
                }
                sources.push(source);
            }
        }
        sources.sort_by_key(|source| shard_of(&source.start).0);
        combine_starts(&mut start, sources.iter().map(|source| &source.start));
        Ok(Self {
            sources,
            start,
            count,
            faults,
        })
    }

    /// Merges, and passes on every event, the summary last. If there is a line, it has the whole event, and the event itself may
    /// lack its exhibit.
    ///
    /// # Errors
    /// An event could not be passed on.
    pub fn run(
        mut self,
        mut emit: impl FnMut(&Event, Option<&[u8]>) -> io::Result<()>,
    ) -> io::Result<Merged> {
        let mut sink = Sink {
            emit: &mut emit,
            summary: Summary::default(),
            seen_messages: HashSet::new(),
            deduplicator: Deduplicator::default(),
            cases: HashSet::new(),
            twice: Vec::new(),
        };
        sink.hand_over(&Event::Start(self.start.clone()), None)?;
        if self.sources.len() <= THREADS {
            self.sources.iter_mut().for_each(Source::ahead);
        }
        // A turn of each: shard I has every Nth case from the Ith on.
        let mut going = true;
        while going {
            going = false;
            for (at, source) in self.sources.iter_mut().enumerate() {
                going |= source.turn(|event, number, line| sink.add_event((at, number), &event, line))?
                    == Turned::More;
            }
        }
        let mut faults = std::mem::take(&mut self.faults);
        for source in &mut self.sources {
            faults.append(&mut source.faults());
        }
        faults.extend(self.overlaps(&sink.twice));
        faults.extend(self.missing());
        for fault in &faults {
            sink.hand_over(&Event::Problem(fault.clone()), None)?;
        }
        let mut summary = sink.summary;
        for ended in self.sources.iter().filter_map(|source| source.summary.as_ref()) {
            summary.seconds += ended.seconds;
            summary.interrupted |= ended.interrupted;
            summary.not_run += ended.not_run;
        }
        summary.exit = summary.exit_code();
        emit(&Event::Summary(summary.clone()), None)?;
        Ok(Merged { summary, faults })
    }

    /// Shards that are not there, with the command that makes each.
    fn missing(&self) -> Option<Problem> {
        let there: HashSet<u64> = self
            .sources
            .iter()
            .map(|source| shard_of(&source.start).0)
            .collect();
        let missing: Vec<u64> = (1..=self.count).filter(|index| !there.contains(index)).collect();
        let first = *missing.first()?;
        let (noun, verb) = if missing.len() == 1 {
            ("shard", "is")
        } else {
            ("shards", "are")
        };
        let named: Vec<String> = missing
            .iter()
            .map(|index| format!("{index}/{}", self.count))
            .collect();
        let message = format!(
            "{noun} {} {verb} missing: their cases are not judged",
            shorten_names(&named)
        );
        let message = if missing.len() == 1 {
            message.replace("their", "its")
        } else {
            message
        };
        Some(Problem::new(
            Severity::Error,
            "shards",
            message,
            &format!(
                "give all; or run them (`{}`), and merge all streams again",
                build_command(&self.start, first, self.count)
            ),
        ))
    }

    /// Cases that two shards have.
    fn overlaps(&self, twice: &[(usize, usize, String)]) -> Option<Problem> {
        let (at, line, _) = twice.first()?;
        let source = self.sources.get(*at)?;
        let named: Vec<String> = twice.iter().map(|(.., case)| case.clone()).collect();
        let (noun, verb) = if twice.len() == 1 {
            ("case", "is")
        } else {
            ("cases", "are")
        };
        Some(build_error(
            "overlap",
            &source.name,
            *line,
            format!(
                "{} {noun} {verb} in more than one shard, and used from the first only: {}",
                twice.len(),
                shorten_names(&named)
            ),
            "the streams are not what `cerith run --shard` wrote; run the shards again",
        ))
    }
}

/// The destination of merged events, with counts of them.
struct Sink<'a, E> {
    emit: &'a mut E,
    summary: Summary,
    /// Problems and failures that are of no case: each shard says them.
    seen_messages: HashSet<String>,
    deduplicator: Deduplicator,
    /// The judged cases, with the stream of each.
    cases: HashSet<String>,
    /// Cases that came a second time: the stream, the line, the case.
    twice: Vec<(usize, usize, String)>,
}

impl<E: FnMut(&Event, Option<&[u8]>) -> io::Result<()>> Sink<'_, E> {
    /// An event of a stream, with its place and its line.
    fn add_event(&mut self, (source, number): (usize, usize), event: &Event, line: &Line) -> io::Result<()> {
        match event {
            // Each shard says what it did not run.
            Event::Problem(problem) if problem.code == "stopped" => {}
            Event::Problem(problem) if !self.seen_messages.insert(problem.rendered.clone()) => return Ok(()),
            Event::Internal(internal) if internal.case.is_none() => {
                let engine = internal.engine.as_deref().unwrap_or_default();
                if !self
                    .seen_messages
                    .insert(format!("{engine}\0{}", internal.message))
                {
                    return Ok(());
                }
            }
            Event::Verdict(verdict) | Event::Sweep(verdict) => {
                let engine = verdict.sweep.as_ref().map_or("", |sweep| sweep.engine.as_str());
                if !self.cases.insert(format!("{}\0{engine}", verdict.case)) {
                    self.twice.push((source, number, verdict.case.clone()));
                    return Ok(());
                }
                if !line.exhibit_names.is_empty()
                    && let Ok(mut whole) = stream::read_event(&line.text)
                {
                    let before = whole.clone();
                    self.deduplicator.remove_repeats(&mut whole);
                    let same = (whole == before).then_some(line.text.as_slice());
                    return self.hand_over(&whole, same);
                }
            }
            _ => {}
        }
        self.hand_over(event, Some(&line.text))
    }

    fn hand_over(&mut self, event: &Event, line: Option<&[u8]>) -> io::Result<()> {
        self.summary.count(event);
        (self.emit)(event, line)
    }
}

/// The common facts of all shards, in the first one's start.
fn combine_starts<'a>(start: &mut Start, all: impl Iterator<Item = &'a Start>) {
    start.shard = None;
    let mut cases = 0;
    for one in all {
        cases += one.cases;
        for left_out in &one.left_out {
            if start.left_out.iter().all(|known| known.engine != left_out.engine) {
                start.left_out.push(left_out.clone());
            }
        }
        for engine in &one.engines {
            if !start.engines.contains(engine) {
                start.engines.push(engine.clone());
            }
        }
        for recorded in &one.recorded {
            if !start.recorded.contains(recorded) {
                start.recorded.push(recorded.clone());
            }
        }
    }
    // Older streams do not say how many cases the whole run has.
    start.cases = if start.total > 0 { start.total } else { cases };
}

/// Some names of many.
fn shorten_names(names: &[String]) -> String {
    let shown = names.get(..MAX_NAMED).unwrap_or(names).join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown}, {more} more"),
    }
}

/// An error in a line of a stream; line 0 is the stream as a whole.
fn build_error(code: &str, file: &str, line: usize, message: String, help: &str) -> Problem {
    build_problem(Severity::Error, code, file, line, message, help)
}

fn build_warning(file: &str, line: usize, message: String, help: &str) -> Problem {
    build_problem(Severity::Warning, "older-stream", file, line, message, help)
}

fn build_problem(
    severity: Severity,
    code: &str,
    file: &str,
    line: usize,
    message: String,
    help: &str,
) -> Problem {
    let mut problem = Problem::new(severity, code, message, help);
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    problem.rendered = format!(
        "{severity}[{code}]: {}\n  --> {file}:{}\n  = help: {help}",
        problem.message,
        line.max(1)
    );
    problem.position = Some(Position {
        file: file.to_owned(),
        line: line.max(1),
        column: 0,
        text: String::new(),
    });
    problem
}
