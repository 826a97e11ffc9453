//! A baseline lists the known failures of a run, so that later runs fail only for new ones. It is read from the stream of
//! a run, or from a file with a line for each case.
//!
//! The failures of a case are split into parts ([`collect_failures`]): an engine and its behaviour, an expectation that no longer
//! happens. A case is as in the baseline if the baseline has every part of it; a part of the baseline that no longer happens is
//! fixed.
//!
//! A baseline does not excuse errors in the input and failures of Cerith.

use std::collections::BTreeSet;
use std::io::{self, BufRead};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::event::{Against, Event, OutcomeKind, State, Verdict, VerdictKind};
use crate::stream;

/// The version of a baseline's file. Version 1 had the kinds of failures alone.
const VERSION: u32 = 2;

/// The known failures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The engines of the run that it was made from.
    pub engines: Vec<String>,
    cases: IndexMap<String, Vec<String>>,
}

/// A baseline cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("read the baseline: {0}")]
    Io(#[from] io::Error),
    /// A line is wrong.
    #[error("read line {line} of the baseline: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// It is not whole.
    #[error("read the baseline: it is not whole: {0}")]
    Cut(String),
}

/// The first line of a baseline's file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    baseline: u32,
    #[serde(default)]
    engines: Vec<String>,
    cases: usize,
}

/// Any other line.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    case: String,
    wrong: Vec<String>,
}

impl Baseline {
    /// Reads one: the stream of a run, or a file that [`Self::text`] made.
    ///
    /// # Errors
    /// It is neither, or not whole.
    pub fn read(mut input: impl BufRead) -> Result<Self, BaselineError> {
        let mut line = Vec::new();
        input.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(BaselineError::Cut("it is empty".to_owned()));
        }
        if let Ok(header) = serde_json::from_slice::<Header>(&line) {
            return Self::read_file(&header, input);
        }
        Self::read_stream(&line, input)
    }

    fn read_file(header: &Header, input: impl BufRead) -> Result<Self, BaselineError> {
        if header.baseline != VERSION {
            let fix = if header.baseline > VERSION {
                "use a newer cerith"
            } else {
                "write it again, because it has no lines and storages"
            };
            return Err(BaselineError::Line {
                line: 1,
                reason: format!(
                    "it has version {}, and this cerith reads version {VERSION}: {fix}",
                    header.baseline
                ),
            });
        }
        let mut cases = IndexMap::new();
        for (at, line) in input.split(b'\n').enumerate() {
            let line = line?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let wrong = |reason: String| BaselineError::Line { line: at + 2, reason };
            let row: Row = serde_json::from_slice(&line).map_err(|error| wrong(error.to_string()))?;
            if cases.contains_key(&row.case) {
                return Err(wrong(format!("`{}` is there twice", row.case)));
            }
            cases.insert(row.case, row.wrong);
        }
        if cases.len() != header.cases {
            return Err(BaselineError::Cut(format!(
                "its first line counts {} cases, and {} are there",
                header.cases,
                cases.len()
            )));
        }
        Ok(Self {
            engines: header.engines.clone(),
            cases,
        })
    }

    fn read_stream(first: &[u8], input: impl BufRead) -> Result<Self, BaselineError> {
        let neither = |error: String| BaselineError::Line {
            line: 1,
            reason: format!("it begins neither a stream of events nor a baseline: {error}"),
        };
        let mut baseline = Self::default();
        match stream::read_event(first).map_err(|error| neither(error.to_string()))? {
            Event::Start(start) => baseline.engines = start.engines,
            _ => return Err(neither("a stream begins with `start`".to_owned())),
        }
        let end = stream::read(io::Read::chain(first, input), |event| {
            if let Event::Verdict(verdict) = &event {
                baseline.add(verdict);
            }
        })
        .map_err(|error| match error {
            stream::ReadError::Line { line, reason } => BaselineError::Line { line, reason },
            stream::ReadError::Io(error) => error.into(),
            error @ stream::ReadError::Format { .. } => BaselineError::Cut(error.to_string()),
        })?;
        match end.fault() {
            Some(fault) => Err(BaselineError::Cut(format!("the stream {fault}"))),
            None => Ok(baseline),
        }
    }

    /// Adds what is wrong with a case, if anything is.
    pub fn add(&mut self, verdict: &Verdict) {
        let wrong = collect_failures(verdict);
        if !wrong.is_empty() {
            self.cases.insert(verdict.case.clone(), wrong);
        }
    }

    /// The cases.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        self.cases.keys().map(String::as_str)
    }

    /// How a verdict compares with it; `None` if nothing is wrong, now or in the baseline.
    pub fn compare_verdict(&self, verdict: &Verdict, engines: &[String]) -> Option<Against> {
        let now = collect_failures(verdict);
        let none = Vec::new();
        let then = self.cases.get(&verdict.case).unwrap_or(&none);
        let (same, new): (Vec<String>, Vec<String>) = now.into_iter().partition(|one| then.contains(one));
        let all = self.engines.iter().all(|engine| engines.contains(engine));
        let tried = |one: &&String| match of_engine(one) {
            Some(engine) => verdict.engines.iter().any(|id| id == engine),
            // A failure without an engine may be the fault of one that is not here.
            None => all,
        };
        let mended = then
            .iter()
            .filter(|one| !same.contains(one))
            .filter(tried)
            .cloned()
            .collect();
        let against = Against { same, new, mended };
        (against != Against::default()).then_some(against)
    }

    /// Keeps what still happens, or was not tried, by the verdicts of a run.
    pub fn prune<'a>(&mut self, verdicts: impl IntoIterator<Item = &'a Verdict>, engines: &[String]) {
        for verdict in verdicts {
            let Some(Against { mended, .. }) = self.compare_verdict(verdict, engines) else {
                continue;
            };
            let left = self.cases.get_mut(&verdict.case).map(|wrong| {
                wrong.retain(|one| !mended.contains(one));
                wrong.len()
            });
            if left == Some(0) {
                self.cases.shift_remove(&verdict.case);
            }
        }
    }

    /// The text of its file: a line for each case, in an order that does not change when cases come and go.
    pub fn text(&self) -> String {
        let header = Header {
            baseline: VERSION,
            engines: self.engines.clone(),
            cases: self.cases.len(),
        };
        let mut rows: Vec<Row> = self
            .cases
            .iter()
            .map(|(case, wrong)| Row {
                case: case.clone(),
                wrong: wrong.clone(),
            })
            .collect();
        rows.sort_by(|one, other| one.case.cmp(&other.case));
        let lines =
            std::iter::once(serde_json::to_string(&header)).chain(rows.iter().map(serde_json::to_string));
        // Text, numbers and lists of them are always JSON.
        lines.flatten().flat_map(|line| [line, "\n".to_owned()]).collect()
    }
}

/// The engine that a part is about.
fn of_engine(part: &str) -> Option<&str> {
    part.split_once(": ").map(|(engine, _)| engine)
}

/// The failures of a case, part by part: `interpret@3.9.0: differ memory of y by bf16-is-bits`. An error has the text of its
/// line, which stays if the line moves. Values, messages and numbers of elements are omitted, because they may change from
/// run to run.
pub fn collect_failures(verdict: &Verdict) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(like) = verdict.like.as_deref().filter(|_| verdict.is_unlike()) {
        parts.push(format!("unlike {}: {}", like.function, like.verdict.name()));
    }
    for engine in &verdict.unexpected {
        let mut part = format!("{engine}: {}", verdict.verdict);
        let outcome = verdict.outcomes.get(engine);
        if let Some(outcome) = outcome {
            let end = match outcome.outcome {
                OutcomeKind::Finished => "",
                end => end.name(),
            };
            for word in [end, &outcome.error] {
                if !word.is_empty() {
                    part.push(' ');
                    part.push_str(word);
                }
            }
        }
        let mut kinds: Vec<&str> = Vec::new();
        let mut bugs: Vec<&str> = Vec::new();
        for difference in verdict.differences.iter().filter(|one| one.engine == *engine) {
            kinds.push(difference.kind.name());
            bugs.extend(difference.explained.iter().map(String::as_str));
        }
        kinds.sort_unstable();
        kinds.dedup();
        bugs.sort_unstable();
        bugs.dedup();
        for kind in kinds {
            part.push(' ');
            part.push_str(kind);
        }
        let storages = collect_storages(verdict, engine);
        if !storages.is_empty() {
            part.push_str(" of ");
            part.push_str(&storages.into_iter().collect::<Vec<_>>().join(", "));
        }
        if let Some(position) = outcome.and_then(|one| one.position.as_ref()) {
            let line = match position.text.trim() {
                "" => format!("{}:{}", position.file, position.line),
                text => format!("`{text}`"),
            };
            part.push_str(" at ");
            part.push_str(&line);
        }
        if !bugs.is_empty() {
            part.push_str(" by ");
            part.push_str(&bugs.join(", "));
        }
        parts.push(part);
    }
    for engine in &verdict.silent {
        let error = verdict.outcomes.get(engine).map_or("", |one| one.error.as_str());
        parts.push(format!("{engine}: silent {error}").trim_end().to_owned());
    }
    for stale in verdict
        .expectations
        .iter()
        .filter(|one| one.state == State::Stale)
    {
        let verdict = stale.verdict.map(VerdictKind::name);
        let what: Vec<&str> = verdict
            .into_iter()
            .chain(stale.outcome.map(OutcomeKind::name))
            .collect();
        parts.push(format!(
            "no longer happens, {} {}, {}",
            stale.engines.join(" "),
            stale.versions,
            what.join(" ")
        ));
    }
    if verdict.vacuous {
        parts.push("nothing was compared".to_owned());
    }
    parts.dedup();
    parts
}

/// The storages of an engine's error, and those in which it differs.
fn collect_storages<'a>(verdict: &'a Verdict, engine: &str) -> BTreeSet<&'a str> {
    let of_error = verdict
        .outcomes
        .get(engine)
        .into_iter()
        .flat_map(|one| &one.storages);
    let shown = verdict.differences.iter().filter(|one| one.engine == engine);
    let of_elements = shown.flat_map(|one| one.first.iter().map(|element| &element.storage));
    // An exhibit has all storages, a difference only those of its first elements.
    let differs = verdict.exhibit.iter().flat_map(|exhibit| &exhibit.differs);
    let of_exhibit = differs.filter(|one| one.engine == engine).map(|one| &one.storage);
    of_error
        .chain(of_elements)
        .chain(of_exhibit)
        .map(String::as_str)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Difference, Element, EngineOutcome, Position};

    fn build_verdict(case: &str, unexpected: &[&str]) -> Verdict {
        Verdict {
            case: case.to_owned(),
            engines: ["reference", "interpret@3.8.0", "interpret@3.9.0"]
                .map(str::to_owned)
                .into(),
            verdict: VerdictKind::Differ,
            expected: unexpected.is_empty(),
            unexpected: unexpected.iter().map(|&id| id.to_owned()).collect(),
            ..Verdict::default()
        }
    }

    #[test]
    fn a_part_is_the_same_new_or_mended() {
        let mut baseline = Baseline::default();
        baseline.add(&build_verdict("a", &["interpret@3.8.0"]));
        baseline.add(&build_verdict("fine", &[]));
        assert_eq!(baseline.cases().collect::<Vec<_>>(), ["a"]);
        let against = |unexpected: &[&str]| baseline.compare_verdict(&build_verdict("a", unexpected), &[]);
        let part = |engine: &str| vec![format!("{engine}: differ")];
        assert_eq!(
            against(&["interpret@3.8.0"]),
            Some(Against {
                same: part("interpret@3.8.0"),
                ..Against::default()
            })
        );
        assert_eq!(
            against(&["interpret@3.9.0"]),
            Some(Against {
                same: Vec::new(),
                new: part("interpret@3.9.0"),
                mended: part("interpret@3.8.0")
            })
        );
        assert_eq!(baseline.compare_verdict(&build_verdict("b", &[]), &[]), None);
        // An engine that did not run fixes nothing.
        let mut other = build_verdict("a", &[]);
        other.engines.remove(1);
        assert_eq!(baseline.compare_verdict(&other, &[]), None);
    }

    #[test]
    fn another_line_or_storage_is_a_new_failure() {
        let build = |text: &str, number: u32, storage: &str| {
            let mut verdict = build_verdict("a", &["reference"]);
            let outcome = EngineOutcome {
                outcome: OutcomeKind::Trapped,
                error: "out-of-bounds".to_owned(),
                position: Some(Position {
                    file: "k.py".to_owned(),
                    line: number,
                    column: 5,
                    text: text.to_owned(),
                }),
                storages: vec![storage.to_owned()],
                ..EngineOutcome::default()
            };
            verdict.outcomes.insert("reference".to_owned(), outcome);
            verdict
        };
        let known = build("    x = tl.load(p)", 3, "x");
        assert_eq!(
            collect_failures(&known),
            ["reference: differ trapped out-of-bounds of x at `x = tl.load(p)`"]
        );
        let mut baseline = Baseline::default();
        baseline.add(&known);
        let is_new = |verdict: &Verdict| {
            let against = baseline.compare_verdict(verdict, &[]).expect("a failure");
            !against.new.is_empty()
        };
        assert!(!is_new(&build("  x = tl.load(p)", 9, "x")), "the line moved");
        assert!(is_new(&build("tl.store(p, x)", 3, "x")));
        assert!(is_new(&build("    x = tl.load(p)", 3, "y")));
        let differ = |storages: &[&str]| {
            let mut verdict = build_verdict("b", &["interpret@3.9.0"]);
            let element = |storage: &&str| Element {
                storage: (*storage).to_owned(),
                ..Element::default()
            };
            verdict.differences = vec![Difference {
                engine: "interpret@3.9.0".to_owned(),
                first: storages.iter().map(element).collect(),
                ..Difference::default()
            }];
            collect_failures(&verdict)
        };
        assert_eq!(
            differ(&["y", "x", "y"]),
            ["interpret@3.9.0: differ memory of x, y"]
        );
        assert_ne!(differ(&["x"]), differ(&["y"]));
    }

    #[test]
    fn it_is_read_as_it_is_written_and_damage_is_an_error() {
        let mut baseline = Baseline {
            engines: vec!["reference".to_owned()],
            ..Baseline::default()
        };
        for case in ["b", "a"] {
            baseline.add(&build_verdict(case, &["interpret@3.9.0"]));
        }
        let text = baseline.text();
        let read = Baseline::read(text.as_bytes()).expect("a baseline");
        assert_eq!(read.text(), text);
        let lines: Vec<&str> = text.lines().collect();
        let check = |text: &str, wanted: &str| {
            let error = Baseline::read(text.as_bytes()).expect_err(wanted).to_string();
            assert!(error.contains(wanted), "{error}");
        };
        check("", "it is empty");
        check("x\n", "line 1 of the baseline: it begins neither");
        check(&lines[..2].join("\n"), "counts 2 cases, and 1 are there");
        check(&text[..text.len() - 9], "read line 3 of the baseline");
        check(
            &format!("{}\n{}\n{}\n", lines[0], lines[1], lines[1]),
            "line 3 of the baseline: `a` is there twice",
        );
        check(&text.replacen(":2,", ":7,", 1), "version 2: use a newer cerith");
        check(&text.replacen(":2,", ":1,", 1), "version 2: write it again");
        check(
            "{\"event\":\"start\",\"format\":3,\"cerith\":\"\",\"engines\":[],\"cases\":0}\n",
            "without its summary",
        );
    }

    #[test]
    fn pruning_takes_out_what_is_mended_and_nothing_else() {
        let mut baseline = Baseline::default();
        for case in ["a", "b", "c"] {
            baseline.add(&build_verdict(case, &["interpret@3.8.0", "interpret@3.9.0"]));
        }
        let now = [build_verdict("a", &[]), build_verdict("b", &["interpret@3.9.0"])];
        baseline.prune(&now, &[]);
        let engines = |case: &str| baseline.cases.get(case).map_or(0, Vec::len);
        assert_eq!([engines("a"), engines("b"), engines("c")], [0, 1, 2]);
    }
}
