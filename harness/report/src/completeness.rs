//! Checks that the lines of a run are all there: against its start, against the counts in its summary, and against the seal.
//! Streams before format 5 have no seal, and are checked by their counts alone.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::event::{Event, SEALED, Seal, Start, Summary, Verdict};

/// The maximum number of cases that are named as doubled.
const MAX_NAMED: usize = 3;

/// Counts and hashes the lines of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealer {
    lines: u64,
    hasher: blake3::Hasher,
}

impl Sealer {
    /// Takes in a line, with or without its line break.
    pub(crate) fn add_line(&mut self, line: &[u8]) {
        self.lines += 1;
        self.hasher.update(line.strip_suffix(b"\n").unwrap_or(line));
        self.hasher.update(b"\n");
    }

    /// The seal of all lines so far.
    pub(crate) fn seal(&self) -> Seal {
        Seal {
            lines: self.lines,
            hash: self.hasher.finalize().to_hex().to_string(),
        }
    }
}

/// Checks the runs of a stream, line by line.
#[derive(Debug, Default)]
pub(crate) struct Check {
    open: Option<Run>,
    end: StreamEnd,
}

/// A run whose summary has not come yet.
#[derive(Debug)]
struct Run {
    format: u32,
    cases: u64,
    is_sweep: bool,
    sealer: Sealer,
    counted: Summary,
    /// Hashes of the cases that were judged.
    case_hashes: HashSet<u64>,
    doubled: Vec<String>,
}

/// The end of a stream, and what is missing in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Whether the last line is not whole.
    pub cut: bool,
    /// How many runs began.
    pub runs: usize,
    /// Whether the last run has no summary.
    pub open: bool,
    /// Whether there are events outside of a run.
    pub stray: bool,
    /// How the lines of runs differ from their starts and summaries.
    pub gaps: Vec<String>,
}

impl StreamEnd {
    /// The reason why the stream is not whole, in words that follow its name; `None` if it is.
    pub fn fault(&self) -> Option<String> {
        if self.runs == 0 {
            Some("holds no run".to_owned())
        } else if self.open {
            Some("ends without its summary: its run was killed or is still running".to_owned())
        } else if self.cut {
            Some("ends in the middle of a line".to_owned())
        } else if self.stray {
            Some("has events that belong to no run".to_owned())
        } else if self.gaps.is_empty() {
            None
        } else {
            Some(format!("is not whole: {}", self.gaps.join("; ")))
        }
    }
}

impl Check {
    /// Adds an event and its line. Returns the problems of a run that ends here.
    pub(crate) fn check_event(&mut self, event: &Event, line: &[u8]) -> &[String] {
        let before = self.end.gaps.len();
        match event {
            Event::Start(start) => {
                self.end.runs += 1;
                let mut run = Run::new(start);
                run.sealer.add_line(line);
                if self.open.replace(run).is_some() {
                    let gap = "a run has no summary, because it was killed, and another follows it";
                    self.end.gaps.push(gap.to_owned());
                }
            }
            Event::Summary(summary) => match self.open.take() {
                Some(run) => self.end.gaps.extend(run.find_gaps(summary)),
                None => self.end.stray = true,
            },
            event => match &mut self.open {
                Some(run) => run.add_event(event, line),
                None => self.end.stray = true,
            },
        }
        self.end.gaps.get(before..).unwrap_or_default()
    }

    /// The stream is at its end, in the middle of a line if `cut`.
    pub(crate) fn finish(mut self, cut: bool) -> StreamEnd {
        self.end.cut = cut;
        self.end.open = self.open.is_some();
        self.end
    }
}

impl Run {
    fn new(start: &Start) -> Self {
        Self {
            format: start.format,
            cases: start.cases,
            is_sweep: !start.axes.is_empty(),
            sealer: Sealer::default(),
            counted: Summary::default(),
            case_hashes: HashSet::new(),
            doubled: Vec::new(),
        }
    }

    fn add_event(&mut self, event: &Event, line: &[u8]) {
        self.sealer.add_line(line);
        self.counted.count(event);
        if let Event::Verdict(verdict) | Event::Sweep(verdict) = event
            && !self.case_hashes.insert(hash_identity(verdict))
            && self.doubled.len() <= MAX_NAMED
        {
            self.doubled.push(verdict.case.clone());
        }
    }

    /// How the lines differ from the start and from the summary.
    fn find_gaps(&self, summary: &Summary) -> Vec<String> {
        let mut gaps = Vec::new();
        let differing: Vec<(&str, u64, u64)> = self
            .collect_counts(summary)
            .into_iter()
            .filter(|(_, counted, said)| counted != said)
            .collect();
        if !differing.is_empty() {
            let words: Vec<String> = differing
                .iter()
                .map(|(name, counted, said)| format!("{said} {name}, and {counted} in its lines"))
                .collect();
            gaps.push(format!("its summary counts {}", words.join("; ")));
        }
        if !self.doubled.is_empty() {
            let more = if self.doubled.len() > MAX_NAMED {
                " and more"
            } else {
                ""
            };
            let named = self.doubled.get(..MAX_NAMED).unwrap_or(&self.doubled).join(", ");
            gaps.push(format!("it has more than one verdict of {named}{more}"));
        }
        gaps.extend(self.find_unjudged(summary));
        gaps.extend(self.check_seal(summary));
        gaps
    }

    /// The counts to compare: a name, the count of lines, and the summary's count.
    fn collect_counts(&self, said: &Summary) -> Vec<(&'static str, u64, u64)> {
        let counted = &self.counted;
        let mut counts = vec![
            ("cases", counted.cases, said.cases),
            ("agree", counted.agree, said.agree),
            ("differ", counted.differ, said.differ),
            (
                "nondeterministic",
                counted.nondeterministic,
                said.nondeterministic,
            ),
            ("undefined", counted.undefined, said.undefined),
            ("inconclusive", counted.inconclusive, said.inconclusive),
            ("unexpected", counted.unexpected, said.unexpected),
        ];
        if self.format >= SEALED {
            counts.extend([
                ("silent", counted.silent, said.silent),
                ("stale", counted.stale, said.stale),
                ("vacuous", counted.vacuous, said.vacuous),
                ("in the baseline", counted.in_baseline, said.in_baseline),
                ("errors in the input", counted.problems, said.problems),
                ("internal errors", counted.internal, said.internal),
            ]);
        }
        counts
    }

    /// Cases that the start announces and nothing accounts for, or cases beyond those. Errors among the lines may account for them,
    /// and fail the run by themselves. A sweep judges a case once for each compiler.
    fn find_unjudged(&self, summary: &Summary) -> Option<String> {
        let judged = self.counted.cases;
        let excused = summary.interrupted || self.counted.problems + self.counted.internal > 0;
        let wrong = judged > self.cases || judged + summary.not_run < self.cases;
        (wrong && !excused && !self.is_sweep).then(|| {
            format!(
                "its start announces {} cases, and {judged} were judged",
                self.cases
            )
        })
    }

    /// How the seal differs.
    fn check_seal(&self, summary: &Summary) -> Option<String> {
        let own = self.sealer.seal();
        match &summary.seal {
            None if self.format >= SEALED => Some("its summary has no seal".to_owned()),
            Some(seal) if seal.lines != own.lines => Some(format!(
                "its summary was written after {} lines, and {} are there",
                seal.lines, own.lines
            )),
            Some(seal) if seal.hash != own.hash => {
                Some("its lines are not those that its run wrote, or are in another order".to_owned())
            }
            _ => None,
        }
    }
}

/// A hash of the case and of the compiler that it was swept with.
fn hash_identity(verdict: &Verdict) -> u64 {
    let mut hasher = DefaultHasher::new();
    verdict.case.hash(&mut hasher);
    verdict
        .sweep
        .as_ref()
        .map(|sweep| &sweep.engine)
        .hash(&mut hasher);
    hasher.finish()
}
