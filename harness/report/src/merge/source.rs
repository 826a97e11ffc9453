//! One stream of several: read line by line, with its faults.

use std::io::{self, BufRead};

use super::build_error;
use super::kin::{build_command, shard_of};
use super::lines::{Line, Lines, Read};
use crate::event::{Event, Problem, SWEEPS, Start, Summary};

/// The most damaged lines that are reported one by one.
const MAX_DAMAGED: usize = 8;

/// A stream whose beginning was read.
#[derive(Debug)]
pub struct Source<R> {
    /// The file.
    pub name: String,
    /// How it begins.
    pub start: Start,
    /// How it ends.
    pub summary: Option<Summary>,
    /// The number of the line that was read last, from 1.
    pub line: usize,
    lines: Option<Lines<R>>,
    /// The event that was read and not given yet, with its line.
    next: Option<(Event, Line)>,
    is_done: bool,
    judged: u64,
    /// How its lines differ from its start and its summary.
    gaps: Vec<String>,
    damaged: Vec<(usize, String)>,
    /// How the stream ends, where that is wrong: the line and the words.
    wrong_end: Option<(usize, String)>,
}

/// Whether a stream has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    More,
    Done,
}

impl<R: BufRead + Send + 'static> Source<R> {
    /// Has a thread read it.
    pub fn ahead(&mut self) {
        self.lines = self.lines.take().map(Lines::ahead);
    }
}

impl<R: BufRead> Source<R> {
    /// Reads the first event, which must be a start.
    pub fn open(name: String, input: io::Result<R>) -> Result<Self, Box<Problem>> {
        let wrong = |code: &str, line: usize, words: String| {
            Box::new(build_error(
                code,
                &name,
                line,
                format!("{name} {words}, so its run is not known, and it is left out"),
                "give the whole stream that `cerith run` wrote, or run its shard again; then merge all \
                 streams again",
            ))
        };
        let mut lines = match input {
            Ok(input) => Lines::new(input),
            Err(error) => {
                let message = format!("{name} cannot be read: {error}");
                let help = "give streams that exist: `events.jsonl` in the folders of the shards' reports";
                return Err(Box::new(build_error(
                    "unreadable-stream",
                    &name,
                    0,
                    message,
                    help,
                )));
            }
        };
        let (line, first) = lines.next();
        let start = match first {
            Read::Event(event, _) => match *event {
                Event::Start(start) if start.format > SWEEPS => {
                    let words = format!(
                        "has format {}, and this cerith knows formats up to {SWEEPS}",
                        start.format
                    );
                    return Err(wrong("foreign-stream", line, words));
                }
                Event::Start(start) => start,
                _ => return Err(wrong("damaged-stream", line, "has no beginning".to_owned())),
            },
            Read::Damaged(reason) => {
                let words = format!("begins with a line that is not an event ({reason})");
                return Err(wrong("damaged-stream", line, words));
            }
            Read::Cut => {
                return Err(wrong(
                    "cut-stream",
                    line,
                    "ends in the middle of its first line".to_owned(),
                ));
            }
            Read::End => return Err(wrong("cut-stream", line, "holds no run".to_owned())),
            Read::Failed(error) => {
                return Err(wrong("damaged-stream", line, format!("cannot be read ({error})")));
            }
        };
        Ok(Self {
            name,
            start,
            summary: None,
            line,
            lines: Some(lines),
            next: None,
            is_done: false,
            judged: 0,
            gaps: Vec::new(),
            damaged: Vec::new(),
            wrong_end: None,
        })
    }

    /// Gives the events up to the end of the next case.
    pub fn turn(
        &mut self,
        mut give: impl FnMut(Event, usize, &Line) -> io::Result<()>,
    ) -> io::Result<Turned> {
        let mut of: Option<String> = None;
        loop {
            if self.next.is_none() && !self.is_done {
                self.advance();
            }
            let Some((event, _)) = &self.next else {
                return Ok(Turned::Done);
            };
            match (case_of(event), &of) {
                (Some(case), Some(of)) if case != of => return Ok(Turned::More),
                (Some(case), None) => of = Some(case.to_owned()),
                _ => {}
            }
            if let Some((event, line)) = self.next.take() {
                self.judged += u64::from(matches!(event, Event::Verdict(_) | Event::Sweep(_)));
                give(event, self.line, &line)?;
            }
        }
    }

    /// Reads up to the next event.
    fn advance(&mut self) {
        loop {
            let Some(lines) = &mut self.lines else {
                self.is_done = true;
                return;
            };
            let (line, read) = lines.next();
            self.line = self.line.max(line);
            match read {
                Read::Event(..) | Read::Cut if self.summary.is_some() => {
                    let second = matches!(&read, Read::Event(event, _) if matches!(**event, Event::Start(_)));
                    return self.end(if second {
                        "has a second run in it, which is left out"
                    } else {
                        "goes on after its summary; that part is left out"
                    });
                }
                Read::Event(event, line) => match *event {
                    Event::Summary(summary) => {
                        self.summary = Some(summary);
                        self.gaps = line.gaps;
                    }
                    Event::Start(_) => return self.end("has a second run in it, which is left out"),
                    event => {
                        self.next = Some((event, line));
                        return;
                    }
                },
                Read::Damaged(reason) => self.damaged.push((self.line, reason)),
                Read::Cut => return self.end("ends in the middle of a line"),
                Read::End => {
                    self.is_done = true;
                    return;
                }
                Read::Failed(error) => return self.end(&format!("cannot be read to its end ({error})")),
            }
        }
    }

    fn end(&mut self, words: &str) {
        self.is_done = true;
        self.wrong_end = Some((self.line, words.to_owned()));
    }

    /// Its problems, after it was read completely.
    pub fn faults(&mut self) -> Vec<Problem> {
        let Self { name, judged, .. } = &*self;
        let (index, count) = shard_of(&self.start);
        let cases = self.start.cases;
        let again = format!(
            "what could be read of it is merged; run it again (`{}`), and merge all streams again",
            build_command(&self.start, index, count)
        );
        let mut faults: Vec<Problem> = (self.damaged.iter().take(MAX_DAMAGED))
            .map(|(line, reason)| {
                let message = format!("line {line} of {name} is not an event, and is skipped: {reason}");
                build_error("damaged-stream", name, *line, message, &again)
            })
            .collect();
        if self.damaged.len() > MAX_DAMAGED {
            let message = format!(
                "{} more lines of {name} are not events, and are skipped",
                self.damaged.len() - MAX_DAMAGED
            );
            faults.push(build_error("damaged-stream", name, self.line, message, &again));
        }
        match (&self.wrong_end, &self.summary) {
            (Some((line, words)), None) => {
                let message =
                    format!("{name} {words}, without its summary: {judged} of {cases} cases were judged");
                faults.push(build_error("cut-stream", name, *line, message, &again));
            }
            (Some((line, words)), Some(_)) => {
                faults.push(build_error(
                    "damaged-stream",
                    name,
                    *line,
                    format!("{name} {words}"),
                    &again,
                ));
            }
            (None, None) => {
                let message = format!(
                    "{name} ends without its summary: its run was killed or is still running, with {judged} \
                     of {cases} \
                     cases judged"
                );
                faults.push(build_error("cut-stream", name, self.line, message, &again));
            }
            // Lines that are not events have been reported.
            (None, Some(_)) if !self.gaps.is_empty() && self.damaged.is_empty() => {
                let message = format!("{name} is not whole: {}", self.gaps.join("; "));
                faults.push(build_error("damaged-stream", name, self.line, message, &again));
            }
            (None, Some(summary)) if summary.interrupted => {
                let message =
                    format!("{name} is of a run that was interrupted: {judged} of {cases} cases were judged");
                faults.push(build_error("cut-stream", name, self.line, message, &again));
            }
            (None, Some(_)) => {}
        }
        faults
    }
}

fn case_of(event: &Event) -> Option<&str> {
    match event {
        Event::Verdict(verdict) | Event::Sweep(verdict) => Some(&verdict.case),
        Event::Internal(internal) => internal.case.as_deref(),
        _ => None,
    }
}
