//! The findings in the launches of a kernel, each once, with the launches that show it.
//!
//! A trap of an honest launch is the kernel's mistake. Arguments are inferred from the kernel's text, so there is doubt: if the
//! kernel accesses memory outside a tensor whose size the text does not determine, or a number is guessed, it is not judged. If
//! it finishes with other arguments only, these are a precondition.

use std::fmt::Write as _;

use cerith_report::event::{
    Difference, EngineOutcome, Event, Kind, Misspelling, OutcomeKind, Position, Verdict, VerdictKind,
};
use cerith_survey::{Change, Condition, Survey, Unmasked};

use super::covered::Uncovered;
use super::dependent::Dependent;
use super::doubt::{
    BROKEN_BY_HOSTS, describe_elements, describe_guess, is_certain, is_conditional, is_free_of_guesses,
    is_of_sizes, list_changes,
};
use super::fitting::Unwritten;
use super::launch::wrap;
use super::overflow_launch::{OVERFLOW, Overflow};
use super::relations::Relation;
use super::report::{KernelReport, Standing};
use super::subject::format_case_id;

/// The code of a finding of an engine other than the reference.
const ENGINE_DIFFERS: &str = "engine-differs";

const OUT_OF_BOUNDS: (OutcomeKind, &str) = (OutcomeKind::Trapped, "out-of-bounds");

/// The properties that two launches share if they show the same finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The engine that shows it.
    pub engine: String,
    /// The kind of outcome, if an outcome shows it.
    pub outcome: Option<OutcomeKind>,
    /// The kind of error, or in what way engines differ.
    pub code: String,
    /// The file and the line, if they are known.
    pub place: String,
}

impl Key {
    /// The kind of outcome and of error, or in what way engines differ.
    pub fn kind(&self) -> String {
        self.outcome
            .map_or_else(|| self.code.clone(), |outcome| format!("{outcome} {}", self.code))
    }

    /// The code that has a page.
    pub fn code(&self) -> &str {
        match self.engine.as_str() {
            "" | "reference" if self.code.is_empty() => self.outcome.map_or("", OutcomeKind::name),
            "" | "reference" => &self.code,
            _ => ENGINE_DIFFERS,
        }
    }

    pub(crate) fn is_one_of(&self, all: &[(OutcomeKind, &str)]) -> bool {
        all.iter()
            .any(|&(outcome, code)| self.outcome == Some(outcome) && self.code == code)
    }
}

/// A finding in the launches of a kernel.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its identity.
    pub key: Key,
    /// Its message, from the first launch that shows it.
    pub text: String,
    /// Its message on one line, and its position, for reports that show it next to the line.
    pub summary: Summary,
    /// The kind of outcome; `None` if it is not an outcome.
    pub(crate) outcome: Option<OutcomeKind>,
    /// Whether it stays if the numbers that its launch guesses are others.
    pub(crate) is_independent: bool,
    /// The launches that show it; an empty name means all launches of the file.
    cases: Vec<String>,
    /// The launch that shows it on some lines, if it is none of the kernel's.
    pub(crate) own_launch: Option<Vec<String>>,
}

/// The error of launches that a launcher makes.
pub struct LauncherError {
    /// The error of the plain launch.
    pub outcome: EngineOutcome,
    /// Whether every launch has this error, whatever the sizes and dtypes of its inputs.
    pub is_definite: bool,
    /// The plain launch, on some lines.
    pub launch: Vec<String>,
}

/// A finding on one line.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Engine, kind and message.
    pub message: String,
    /// The kernel's line.
    pub position: Option<Position>,
    /// The storages that it is about.
    pub storages: Vec<String>,
    /// The name that the kernel uses and nothing defines, if that is the fault.
    pub misspelling: Option<Misspelling>,
}

impl Summary {
    fn new(engine: &str, outcome: &EngineOutcome) -> Self {
        let kind = if outcome.error.is_empty() {
            outcome.outcome.name()
        } else {
            &outcome.error
        };
        let message = outcome.message.lines().next().unwrap_or_default();
        Self {
            message: format!("{engine}: {kind}: {message}"),
            position: outcome.position.clone(),
            storages: outcome.storages.clone(),
            misspelling: outcome.misspelling.clone(),
        }
    }

    fn of_text(text: &str) -> Self {
        Self {
            message: text.lines().next().unwrap_or_default().to_owned(),
            ..Self::default()
        }
    }
}

impl Finding {
    /// The verdict that it amounts to: the reference trapped or rejected, or an engine differs.
    pub const fn verdict(&self) -> VerdictKind {
        match self.outcome {
            Some(_) => VerdictKind::Undefined,
            None => VerdictKind::Differ,
        }
    }

    /// Whether it is an error of the kernel's launcher, and the kernel is judged by other launches.
    pub(crate) fn is_of_launcher(&self) -> bool {
        self.own_launch.is_some() && self.outcome == Some(OutcomeKind::Rejected)
    }

    pub(crate) fn is_of(&self, case: &str) -> bool {
        self.cases.iter().any(|one| one.is_empty() || one == case)
    }
}

/// All findings of a file, in the order in which they came.
#[derive(Default)]
pub struct Findings {
    pub(crate) entries: Vec<Finding>,
    /// The warnings about launches without findings.
    pub(crate) warned: Vec<Finding>,
    /// The preconditions of kernels, by their names.
    pub(crate) preconditions: Vec<(String, Precondition)>,
}

/// A condition under which a kernel is defined.
#[derive(Clone, Debug)]
pub struct Precondition {
    /// The properties that the finishing launches share.
    pub unless: Vec<String>,
    /// The failure of the honest launch.
    pub finding: Finding,
    /// The honest launch on some lines, if it is known.
    pub launch: Vec<String>,
}

impl Findings {
    /// The number of findings so far.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Notes what an event of a launch shows.
    pub fn add(&mut self, case: &str, event: &Event) {
        let (what, text, position) = match event {
            Event::Verdict(verdict) => return self.add_verdict(case, verdict),
            Event::Problem(problem) => (
                problem.code.clone(),
                problem.rendered.clone(),
                problem.position.clone(),
            ),
            Event::Internal(internal) => (
                "internal".to_owned(),
                format!("internal error: {}\n", internal.message),
                None,
            ),
            _ => return,
        };
        let key = Key {
            engine: String::new(),
            outcome: None,
            code: what,
            place: String::new(),
        };
        let summary = Summary {
            position,
            ..Summary::of_text(&text)
        };
        self.note(case, key, None, text, summary);
    }

    fn add_verdict(&mut self, case: &str, verdict: &Verdict) {
        if let Some(warning) = &verdict.warning {
            let key = build_key("reference", warning);
            let summary = Summary::new("reference", warning);
            let shown = match warning.error.as_str() {
                "undefined-value" => true,
                // A compiler's code shows that the barrier which the kernel relies on is missing.
                "unordered-write" => verdict.verdict == VerdictKind::Undefined,
                _ => false,
            };
            let all = if shown {
                &mut self.entries
            } else {
                &mut self.warned
            };
            let outcome = shown.then_some(OutcomeKind::Trapped);
            note(all, case, key, outcome, describe_outcome(warning), summary);
        }
        if let Some(outcome) = verdict.outcomes.get("reference") {
            self.add_outcome(case, outcome);
            return;
        }
        for difference in verdict.differences.iter().filter(|one| one.explained.is_empty()) {
            if let Some(outcome) = verdict.outcomes.get(&difference.engine) {
                let text = format!("{}: {}", difference.engine, describe_outcome(outcome));
                let summary = Summary::new(&difference.engine, outcome);
                self.note(case, build_key(&difference.engine, outcome), None, text, summary);
            } else {
                let key = Key {
                    engine: difference.engine.clone(),
                    outcome: None,
                    code: difference.kind.to_string(),
                    place: String::new(),
                };
                let text = describe_difference(difference, &verdict.notes);
                let summary = Summary::of_text(&text);
                self.note(case, key, None, text, summary);
            }
        }
    }

    /// Notes that the reference did not finish a launch.
    fn add_outcome(&mut self, case: &str, outcome: &EngineOutcome) {
        self.note(
            case,
            build_key("reference", outcome),
            Some(outcome.outcome),
            describe_outcome(outcome),
            Summary::new("reference", outcome),
        );
    }

    /// The launches of a kernel that end with an access out of bounds and no guess to explain it, by their positions: one for each
    /// line.
    pub fn list_out_of_bounds(&self, survey: &Survey) -> Vec<usize> {
        let found = self.entries.iter().filter(|finding| {
            finding.key.is_one_of(&[OUT_OF_BOUNDS])
                && finding.outcome.is_some()
                && is_certain(finding, survey)
        });
        let first = |finding: &Finding| {
            (0..survey.attempts.len()).find(|nth| finding.is_of(&format_case_id(survey, *nth)))
        };
        let mut launches: Vec<usize> = found.filter_map(first).collect();
        launches.sort_unstable();
        launches.dedup();
        launches
    }

    /// Notes an access out of bounds that an earlier one hides, unless a guess may explain it or its line is known.
    pub fn add_hidden(&mut self, survey: &Survey, launch: usize, outcome: &EngineOutcome) {
        let mut found = Self::default();
        found.add_outcome(&format_case_id(survey, launch), outcome);
        let is_known = |finding: &Finding| self.entries.iter().any(|known| known.key == finding.key);
        found
            .entries
            .retain(|finding| is_certain(finding, survey) && !is_known(finding));
        self.entries.append(&mut found.entries);
    }

    /// Replaces the findings of a kernel with those of other launches.
    pub fn replace(&mut self, survey: &Survey, other: Self) {
        let ids: Vec<String> = (0..survey.attempts.len())
            .map(|nth| format_case_id(survey, nth))
            .collect();
        for finding in self.entries.iter_mut().chain(&mut self.warned) {
            finding.cases.retain(|case| !ids.contains(case));
        }
        self.entries.retain(|finding| !finding.cases.is_empty());
        self.warned.retain(|finding| !finding.cases.is_empty());
        self.warned.extend(other.warned);
        for finding in other.entries {
            match self.entries.iter_mut().find(|known| known.key == finding.key) {
                Some(known) => known.cases.extend(finding.cases),
                None => self.entries.push(finding),
            }
        }
    }

    /// The failure of the honest plain launch of a kernel that is not judged, if it is a trap.
    pub fn find_trap(&self, survey: &Survey) -> Option<Finding> {
        let plain = format_case_id(survey, 0);
        let is_trap =
            |finding: &&Finding| finding.outcome == Some(OutcomeKind::Trapped) && finding.is_of(&plain);
        self.entries.iter().find(is_trap).cloned()
    }

    /// Notes that the plain launch of a kernel leaves elements of an output unwritten.
    pub fn add_unwritten(&mut self, survey: &Survey, unwritten: &Unwritten) {
        let Unwritten {
            storage,
            elements: (missing, all),
            first,
            launch,
        } = unwritten;
        let message = format!(
            "{missing} of the {all} elements of `{storage}` are never written, the first is number {first}"
        );
        let key = Key {
            engine: "reference".to_owned(),
            outcome: Some(OutcomeKind::Finished),
            code: "never-written".to_owned(),
            place: storage.clone(),
        };
        let text = format!("warning[never-written]: {message}\n");
        let summary = Summary {
            message: format!("reference: never-written: {message}"),
            ..Summary::default()
        };
        note(
            &mut self.warned,
            &format_case_id(survey, *launch),
            key,
            None,
            text,
            summary,
        );
    }

    /// Notes a launch of the kernel's launcher with too few programs.
    pub fn add_uncovered(&mut self, survey: &Survey, uncovered: &Uncovered) {
        let (programs, needed) = uncovered.programs;
        let host = survey.host.as_deref().unwrap_or_default();
        let message = format!(
            "`{host}` launches too few programs on axis {} of the grid: {programs}, and {} needs {needed}",
            uncovered.axis, uncovered.text
        );
        let key = Key {
            engine: "reference".to_owned(),
            outcome: Some(OutcomeKind::Finished),
            code: "uncovered-size".to_owned(),
            place: format!("axis {}", uncovered.axis),
        };
        let text = format!("warning[uncovered-size]: {message}\n");
        let summary = Summary {
            message: format!("reference: uncovered-size: {message}"),
            ..Summary::default()
        };
        note(
            &mut self.warned,
            &format_case_id(survey, uncovered.launch),
            key,
            None,
            text,
            summary,
        );
    }

    /// Notes an integer that wraps in a launch with large sizes, which is none of the kernel's.
    pub fn add_overflow(&mut self, survey: &Survey, overflow: &Overflow) {
        let place = format!("{}:{}", overflow.file, overflow.line);
        let key = Key {
            engine: "reference".to_owned(),
            outcome: Some(OutcomeKind::Finished),
            code: OVERFLOW.to_owned(),
            place,
        };
        if self.warned.iter().any(|known| known.key == key) {
            return;
        }
        let position = Position {
            line: overflow.line,
            ..to_position(&overflow.file, 0)
        };
        self.warned.push(Finding {
            key,
            text: overflow.text.clone(),
            summary: Summary {
                message: format!("reference: {OVERFLOW}: {}", overflow.message),
                position: Some(position),
                ..Summary::default()
            },
            outcome: None,
            is_independent: false,
            cases: vec![format_case_id(survey, 0)],
            own_launch: Some(wrap("  = launch: ", overflow.launch.iter().cloned())),
        });
    }

    /// Notes that the launches of the kernel's launcher are rejected.
    pub fn add_launcher_error(&mut self, survey: &Survey, error: LauncherError) {
        let finding = Finding {
            key: build_key("reference", &error.outcome),
            text: describe_outcome(&error.outcome),
            summary: Summary::new("reference", &error.outcome),
            outcome: Some(error.outcome.outcome),
            is_independent: error.is_definite,
            cases: vec![format_case_id(survey, 0)],
            own_launch: Some(error.launch),
        };
        // If it is not definite, it is why the kernel is not judged.
        self.entries.insert(0, finding);
    }

    /// Whether a launch of a kernel shows something.
    pub fn is_shown(&self, survey: &Survey, nth: usize) -> bool {
        let id = format_case_id(survey, nth);
        let mut all = self.entries.iter().chain(&self.warned);
        all.any(|finding| finding.is_of(&id))
    }

    /// Notes a value that two launches on the same data don't leave alike.
    pub fn add_dependent(&mut self, file: &str, survey: &Survey, dependent: &Dependent) {
        let code = dependent.relation.code();
        let message = &dependent.difference.text;
        let failure = dependent.difference.failure.as_ref();
        let failed_at = failure.filter(|at| at.file == file).map(|at| at.line as usize);
        let stored_at = || survey.stores.get(&dependent.difference.parameter).copied();
        let line = failed_at.or_else(stored_at);
        let place = line.map_or_else(String::new, |line| format!("{file}:{line}"));
        let arrow = if place.is_empty() {
            String::new()
        } else {
            format!(" --> {place}\n")
        };
        let key = Key {
            engine: "reference".to_owned(),
            outcome: Some(OutcomeKind::Finished),
            code: code.to_owned(),
            place,
        };
        let summary = Summary {
            message: format!("reference: {code}: {message}"),
            position: line.map(|line| to_position(file, line)),
            storages: dependent.difference.moved.clone(),
            ..Summary::default()
        };
        let mut text = format!(
            "error[{code}]: {message}\n{arrow}  = note: both launches have the same elements in all tensors\n"
        );
        for storage in &dependent.difference.moved {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "  = note: storage `{storage}` is laid out in another way in the second"
            );
        }
        let case = format_case_id(survey, dependent.launch);
        if dependent.relation != Relation::Strides {
            self.note(&case, key, Some(OutcomeKind::Trapped), text, summary);
            return;
        }
        // The launcher passes other strides. That its input has to be contiguous is known from `add_layouts`.
        let is_known = |(kernel, known): &(String, Precondition)| {
            let storages = &known.finding.summary.storages;
            *kernel == survey.kernel
                && dependent
                    .difference
                    .moved
                    .iter()
                    .all(|one| storages.contains(one))
        };
        if self.preconditions.iter().any(is_known) {
            return;
        }
        let tensors = dependent.difference.moved.join("`, `");
        let unless = vec![format!("`{tensors}` has no gaps between its elements")];
        let finding = Finding {
            key,
            text,
            summary,
            outcome: Some(OutcomeKind::Trapped),
            is_independent: false,
            cases: vec![case],
            own_launch: None,
        };
        self.add_unless(survey, unless, finding);
    }

    /// Notes a condition that the kernel's text states.
    pub fn add_condition(&mut self, file: &str, survey: &Survey, condition: &Condition) {
        let finding = build_stated(file, condition.line, condition.kind, &condition.message);
        self.add_unless(survey, vec![condition.demand.clone()], finding);
    }

    /// Notes traps of some launches of a judged kernel that a guess may cause: the guess is the condition.
    pub fn add_doubtful(&mut self, file: &str, survey: &Survey) {
        let report = KernelReport::new(self, file, survey);
        if !matches!(report.standing(), Standing::Clean | Standing::Found(_)) {
            return;
        }
        let known: Vec<Key> = report
            .preconditions
            .iter()
            .map(|one| one.precondition.finding.key.clone())
            .collect();
        // The launcher has the numbers that are guessed.
        if survey.is_launched && !survey.guessed.is_empty() {
            return;
        }
        let doubtful = report
            .findings
            .iter()
            .filter(|one| is_conditional(one, survey) && !known.contains(&one.finding.key));
        let doubtful = doubtful.filter(|one| survey.host.is_none() || is_of_sizes(one.finding, survey));
        let conditions: Vec<(String, Finding)> = doubtful
            .map(|one| {
                let guess = match &survey.host {
                    Some(_) => format!("callers avoid the sizes `{}`", one.launches.join("`, `")),
                    None => describe_guess(one.finding, survey),
                };
                (guess, one.finding.clone())
            })
            .collect();
        for (guess, finding) in conditions {
            self.add_unless(survey, vec![guess], finding);
        }
    }

    /// Notes the accesses of a kernel that no launch judges which leave a tensor whose size its other accesses determine. The kernel
    /// needs a larger tensor than these accesses show.
    pub fn add_stated(&mut self, survey: &Survey) {
        let plain = format_case_id(survey, 0);
        let is_known = |storage: &String| survey.certain.contains(storage) || survey.stated.contains(storage);
        let is_stated = |finding: &&Finding| {
            finding.key.is_one_of(&[OUT_OF_BOUNDS])
                && finding.is_of(&plain)
                && is_free_of_guesses(finding, survey)
                && !finding.summary.storages.is_empty()
                && finding.summary.storages.iter().all(is_known)
        };
        let Some(finding) = self.entries.iter().find(is_stated).cloned() else {
            return;
        };
        let storages = finding.summary.storages.iter();
        let unless = storages
            .map(|storage| describe_elements(storage, survey))
            .collect();
        self.add_unless(survey, unless, finding);
    }

    /// Notes that nothing but a block bounds accesses of a kernel: the block must divide the number of elements.
    pub fn add_unmasked(&mut self, file: &str, survey: &Survey, unmasked: &Unmasked) {
        let tensors = unmasked.tensors.join("`, `");
        let message = format!("nothing but the grid bounds accesses of `{tensors}`");
        let finding = build_stated(file, unmasked.line, "unmasked", &message);
        let demand = format!("`{}` divides the number of their elements", unmasked.block);
        self.add_unless(survey, vec![demand], finding);
    }

    /// Notes that a kernel's launcher passes inputs on that have to be contiguous: the only launches that fail have an input with
    /// padding. Kernels that take the last stride for 1 are many, and their callers know it.
    pub fn add_layouts(&mut self, survey: &Survey) {
        if survey.host.is_none() {
            return;
        }
        let mut inputs: Vec<&str> = Vec::new();
        let mut first: Option<Finding> = None;
        for finding in self.entries.iter().chain(&self.warned) {
            let is_trap = finding.outcome == Some(OutcomeKind::Trapped);
            let is_excused = list_changes(finding, survey).all(Change::is_of_layout);
            if !(is_trap || finding.key.is_one_of(&BROKEN_BY_HOSTS))
                || !is_excused
                || !is_certain(finding, survey)
            {
                continue;
            }
            let attempts = survey.attempts.iter().enumerate();
            for (nth, tried) in attempts.filter(|(_, tried)| tried.change == Change::PaddedInput) {
                if !finding.is_of(&format_case_id(survey, nth)) {
                    continue;
                }
                let input = tried.variant.strip_prefix("padded ").unwrap_or(&tried.variant);
                if !inputs.contains(&input) {
                    inputs.push(input);
                }
                first.get_or_insert_with(|| finding.clone());
            }
        }
        let Some(finding) = first else { return };
        let verb = if inputs.len() == 1 { "is" } else { "are" };
        let unless = vec![format!("`{}` {verb} contiguous", inputs.join("`, `"))];
        self.add_unless(survey, unless, finding);
    }

    /// Notes that a kernel is defined only under some conditions, without a launch that shows it.
    pub(crate) fn add_unless(&mut self, survey: &Survey, unless: Vec<String>, finding: Finding) {
        let launch = Vec::new();
        self.add_precondition(
            survey,
            Precondition {
                unless,
                finding,
                launch,
            },
        );
    }

    /// Notes that a kernel finishes only if something holds.
    pub fn add_precondition(&mut self, survey: &Survey, precondition: Precondition) {
        self.preconditions.push((survey.kernel.clone(), precondition));
    }

    fn note(&mut self, case: &str, key: Key, outcome: Option<OutcomeKind>, text: String, summary: Summary) {
        note(&mut self.entries, case, key, outcome, text, summary);
    }
}

fn note(
    all: &mut Vec<Finding>,
    case: &str,
    key: Key,
    outcome: Option<OutcomeKind>,
    text: String,
    summary: Summary,
) {
    match all.iter_mut().find(|finding| finding.key == key) {
        Some(finding) => finding.cases.push(case.to_owned()),
        None => all.push(Finding {
            key,
            text,
            summary,
            outcome,
            is_independent: false,
            cases: vec![case.to_owned()],
            own_launch: None,
        }),
    }
}

/// A finding that a line of the kernel's text shows without a launch.
fn build_stated(file: &str, line: usize, code: &str, message: &str) -> Finding {
    let place = format!("{file}:{line}");
    Finding {
        text: format!("precondition[{code}]: {message}\n --> {place}\n"),
        key: Key {
            engine: "reference".to_owned(),
            outcome: None,
            code: code.to_owned(),
            place,
        },
        summary: Summary {
            message: format!("reference: {code}: {message}"),
            position: Some(to_position(file, line)),
            ..Summary::default()
        },
        outcome: Some(OutcomeKind::Trapped),
        is_independent: false,
        cases: Vec::new(),
        own_launch: None,
    }
}

fn to_position(file: &str, line: usize) -> Position {
    Position {
        file: file.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: 0,
        text: String::new(),
    }
}

fn build_key(engine: &str, outcome: &EngineOutcome) -> Key {
    Key {
        engine: engine.to_owned(),
        outcome: Some(outcome.outcome),
        code: outcome.error.clone(),
        place: outcome.position.as_ref().map_or_else(String::new, |position| {
            format!("{}:{}", position.file, position.line)
        }),
    }
}

fn describe_outcome(outcome: &EngineOutcome) -> String {
    outcome
        .detail
        .clone()
        .unwrap_or_else(|| format!("{}: {}", outcome.outcome, outcome.message))
}

fn describe_difference(difference: &Difference, notes: &[String]) -> String {
    if difference.kind == Kind::Nondeterminism {
        let engine = &difference.engine;
        let is_its = |note: &&String| {
            note.strip_prefix(engine.as_str())
                .is_some_and(|rest| rest.starts_with(": "))
        };
        // A note names both schedules.
        return match notes.iter().find(is_its) {
            Some(note) => format!("{note}\n"),
            None => format!(
                "{engine} does not produce the same result twice: {} elements differ\n",
                difference.elements
            ),
        };
    }
    let first = difference.first.first().map_or_else(String::new, |element| {
        format!("; the first is in `{}` at byte {}", element.storage, element.byte)
    });
    format!(
        "{} differs from {} in {} elements{first}\n",
        difference.engine, difference.baseline, difference.elements
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_depends_on_the_schedule_is_described_by_its_note() {
        let difference = Difference {
            baseline: "ptx@3.9.0".to_owned(),
            engine: "ptx@3.9.0".to_owned(),
            kind: Kind::Nondeterminism,
            elements: 4,
            ..Difference::default()
        };
        let check = |notes: &[&str], expected: &str| {
            let notes: Vec<String> = notes.iter().map(|&note| note.to_owned()).collect();
            assert_eq!(describe_difference(&difference, &notes), expected);
        };
        check(
            &[
                "ptx@3.9.0:sm_90a: other",
                "ptx@3.9.0: `x[1]` is 1 in one, and 2 in another",
            ],
            "ptx@3.9.0: `x[1]` is 1 in one, and 2 in another\n",
        );
        check(
            &["ptx@3.9.0:sm_90a: other"],
            "ptx@3.9.0 does not produce the same result twice: 4 elements differ\n",
        );
    }
}
