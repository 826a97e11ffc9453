//! Several streams as one: the first start, every event, one summary. A fault of the streams themselves (a missing beginning
//! or end, missing or doubled shards) becomes an error among the events, so that every printer shows it. See [`crate::read`]
//! for reading streams.

use std::collections::BTreeMap;

use crate::completeness::StreamEnd;
use crate::event::{Event, Problem, Severity, Start, Summary};

/// The most shards that a message names.
const MAX_NAMED: usize = 8;

/// Joins streams: for each call [`Joined::begin`], its events, [`Joined::end`]; after the last [`Joined::finish`].
#[derive(Debug, Default)]
pub struct Joined {
    first: Option<Start>,
    summary: Summary,
    seconds: f64,
    interrupted: bool,
    unwritten: u64,
    not_run: u64,
    cut: bool,
    faults: Vec<Problem>,
    /// Runs that began, in all streams.
    runs: usize,
    stream: Stream,
    shards: BTreeMap<RunKey, BTreeMap<u64, Vec<String>>>,
}

/// The end of all streams.
#[derive(Debug)]
pub struct Ended {
    /// Events to print before the summary.
    pub events: Vec<Event>,
    /// The summary of all streams.
    pub summary: Summary,
    /// The faults of the streams, all of which were among the events.
    pub faults: Vec<Problem>,
    /// Whether a stream is not whole.
    pub cut: bool,
}

/// The stream that is being read.
#[derive(Debug, Default)]
struct Stream {
    name: String,
    runs: usize,
    /// The run that has no summary yet.
    open: Option<Open>,
    /// Whether events came that belong to no run.
    stray: bool,
}

#[derive(Debug)]
struct Open {
    cases: u64,
    judged: u64,
}

/// The identity of a shard's run: all its options, and the number of shards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunKey {
    filters: Vec<String>,
    engines: Vec<String>,
    axes: Vec<String>,
    checks: Option<String>,
    masked: Option<String>,
    schedules: u32,
    count: u64,
}

impl Joined {
    /// Another stream, of this name.
    pub fn begin(&mut self, name: impl Into<String>) {
        self.stream = Stream {
            name: name.into(),
            ..Stream::default()
        };
    }

    /// Adds an event of the stream, and returns the events to print for it.
    pub fn add_event(&mut self, event: Event) -> Vec<Event> {
        match event {
            Event::Start(start) => self.add_start(start),
            Event::Summary(summary) => {
                self.stream.stray |= self.stream.open.take().is_none();
                self.seconds += summary.seconds;
                self.interrupted |= summary.interrupted;
                self.unwritten += summary.unwritten;
                self.not_run += summary.not_run;
                Vec::new()
            }
            event => {
                match &mut self.stream.open {
                    Some(open) => {
                        open.judged += u64::from(matches!(event, Event::Verdict(_) | Event::Sweep(_)));
                    }
                    None => self.stream.stray = true,
                }
                self.summary.count(&event);
                vec![event]
            }
        }
    }

    fn add_start(&mut self, start: Start) -> Vec<Event> {
        let mut out: Vec<Event> = self.report_unfinished(false).into_iter().collect();
        self.runs += 1;
        self.stream.runs += 1;
        self.stream.open = Some(Open {
            cases: start.cases,
            judged: 0,
        });
        if let Some((whole, index)) = RunKey::from_start(&start) {
            let name = self.stream.name.clone();
            let shards = self.shards.entry(whole).or_default();
            shards.entry(index).or_default().push(name);
        }
        let event = Event::Start(start.clone());
        self.summary.count(&event);
        if self.first.is_none() {
            self.first = Some(start);
            out.push(event);
        }
        out
    }

    /// Ends the stream. Returns the events to print.
    pub fn end(&mut self, end: &StreamEnd) -> Vec<Event> {
        let cut = end.cut;
        let mut out: Vec<Event> = self.report_unfinished(cut).into_iter().collect();
        let name = &self.stream.name;
        let mended = "give the whole stream that `cerith run` wrote, or run it again";
        let wrong = if self.stream.runs == 0 {
            Some(format!(
                "{name} holds no run: the run that was to write it ended before its first event"
            ))
        } else if self.stream.stray {
            Some(format!(
                "{name} has events that belong to no run: a part of it is missing"
            ))
        } else if cut && out.is_empty() {
            Some(format!("{name} ends in the middle of a line"))
        } else {
            None
        };
        let gaps = end.gaps.iter().map(|gap| format!("{name} is not whole: {gap}"));
        for message in wrong.into_iter().chain(gaps).collect::<Vec<_>>() {
            out.push(self.cut(message, mended));
        }
        out
    }

    /// The error that the run before has no summary.
    fn report_unfinished(&mut self, cut: bool) -> Option<Event> {
        let Open { cases, judged } = self.stream.open.take()?;
        let name = &self.stream.name;
        let place = if cut {
            "ends in the middle of a line, without its summary"
        } else {
            "ends without its summary"
        };
        Some(self.cut(
            format!(
                "{name} {place}: its run was killed or is still running, with {judged} of {cases} cases judged"
            ),
            "the cases in the stream were judged, the others were not; run it again",
        ))
    }

    /// All streams were read.
    pub fn finish(mut self) -> Ended {
        let mut events = Vec::new();
        for (whole, present) in std::mem::take(&mut self.shards) {
            self.shards_of(&whole, &present, &mut events);
        }
        let mut summary = self.summary;
        summary.seconds = self.seconds;
        summary.interrupted = self.interrupted;
        summary.unwritten = self.unwritten;
        summary.not_run = self.not_run;
        summary.exit = summary.exit_code();
        Ended {
            events,
            summary,
            faults: self.faults,
            cut: self.cut,
        }
    }

    /// Says which shards of a run are missing and which are there more than once.
    fn shards_of(&mut self, whole: &RunKey, present: &BTreeMap<u64, Vec<String>>, out: &mut Vec<Event>) {
        let of = if whole.filters.is_empty() {
            String::new()
        } else {
            format!(" of the run of `{}`", whole.filters.join(" "))
        };
        for (index, names) in present.iter().filter(|(_, names)| names.len() > 1) {
            out.push(self.add_problem(
                Severity::Error,
                "shards",
                format!(
                    "shard {index}/{}{of} is there {} times, and its cases count as often: {}",
                    whole.count,
                    names.len(),
                    names.join(", ")
                ),
                "give each shard once",
            ));
        }
        let missing = whole.count.saturating_sub(present.len() as u64);
        if missing == 0 {
            return;
        }
        let mut named: Vec<String> = (1..=whole.count)
            .filter(|index| !present.contains_key(index))
            .take(MAX_NAMED)
            .map(|index| format!("{index}/{}", whole.count))
            .collect();
        let more = missing - named.len() as u64;
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let (noun, verb) = if missing == 1 {
            ("shard", "is")
        } else {
            ("shards", "are")
        };
        let message = format!("{noun} {}{of} {verb} missing", named.join(", "));
        let help = "give `cerith report` the streams of all shards";
        // The report of one shard alone is what a shard's own job prints.
        let severity = if self.runs > 1 {
            Severity::Error
        } else {
            Severity::Warning
        };
        out.push(self.add_problem(severity, "shards", message, help));
    }

    fn add_problem(&mut self, severity: Severity, code: &str, message: String, help: &str) -> Event {
        let problem = Problem::new(severity, code, message, help);
        self.faults.push(problem.clone());
        let event = Event::Problem(problem);
        self.summary.count(&event);
        event
    }

    fn cut(&mut self, message: String, help: &str) -> Event {
        self.cut = true;
        self.add_problem(Severity::Error, "cut-stream", message, help)
    }
}

impl RunKey {
    /// The run to which a shard's stream belongs, and the shard; `None` if the stream is not a shard.
    fn from_start(start: &Start) -> Option<(Self, u64)> {
        let (index, count) = start.shard.as_ref()?.split_once('/')?;
        let (index, count): (u64, u64) = (index.parse().ok()?, count.parse().ok()?);
        // An engine that one machine has not is left out of its shard, which is a shard of the same run.
        let left_out = start.left_out.iter().map(|left_out| &left_out.engine);
        let mut engines: Vec<String> = start.engines.iter().chain(left_out).cloned().collect();
        engines.sort();
        let whole = Self {
            filters: start.filters.clone(),
            engines,
            axes: start.axes.clone(),
            checks: start.checks.clone(),
            masked: start.masked.clone(),
            schedules: start.schedules,
            count,
        };
        (1..=count).contains(&index).then_some((whole, index))
    }
}
