//! What was found in the launches of a kernel: each thing once, with the launches that show it.
//!
//! A trap of an honest launch is the kernel's mistake. Arguments are read off the kernel's text, so there is doubt: if the kernel
//! leaves a tensor of which the text does not tell the size, or a number is guessed, it is not judged. If it finishes with other
//! arguments only, these are a precondition.

use std::fmt::Write as _;

use cerith_report::event::{Difference, EngineOutcome, Event, OutcomeKind, Position, Verdict, VerdictKind};
use cerith_report::{Palette, Tone};
use cerith_survey::{Change, Condition, NotTried, Survey, Unmasked};
use cerith_tile::rules::Version;

use super::fitting::{Dependent, Unwritten};
use super::subject::format_case_id;

/// What two launches have in common if they show the same thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The engine that shows it.
    pub engine: String,
    /// The kind of outcome, if an outcome shows it.
    pub outcome: Option<OutcomeKind>,
    /// The kind of error, or in what way engines differ.
    pub code: String,
    /// The file and the line, where they are known.
    pub place: String,
}

impl Key {
    /// The kind of outcome and of error, or in what way engines differ.
    pub fn kind(&self) -> String {
        self.outcome
            .map_or_else(|| self.code.clone(), |outcome| format!("{outcome} {}", self.code))
    }

    fn is_one_of(&self, all: &[(OutcomeKind, &str)]) -> bool {
        all.iter()
            .any(|&(outcome, code)| self.outcome == Some(outcome) && self.code == code)
    }
}

/// Something that launches show.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is.
    pub key: Key,
    /// The words for it, of the first launch that shows it.
    pub text: String,
    /// The same on one line, and its position, for reports that show it beside the line.
    pub summary: Summary,
    /// The kind of outcome; none for anything else.
    outcome: Option<OutcomeKind>,
    /// The launches that show it; an empty name stands for all of the file.
    cases: Vec<String>,
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

    fn is_of(&self, case: &str) -> bool {
        self.cases.iter().any(|one| one.is_empty() || one == case)
    }
}

/// All findings of a file, in the order in which they came.
#[derive(Default)]
pub struct Findings {
    entries: Vec<Finding>,
    /// What launches are warned of that show nothing else.
    warned: Vec<Finding>,
    /// The preconditions of kernels, by their names.
    preconditions: Vec<(String, Precondition)>,
}

/// What must hold for a kernel to be defined.
#[derive(Clone, Debug)]
pub struct Precondition {
    /// What the launches that finish have in common.
    pub unless: Vec<String>,
    /// The failure of the honest launch.
    pub finding: Finding,
}

/// What came of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was found, and at least half of the launches were judged.
    Clean,
    /// So many things were.
    Found(usize),
    /// No launch says anything about it.
    NotJudged,
    /// It was not launched.
    NotTried(NotTried),
}

impl Findings {
    /// How many there are so far.
    pub fn len(&self) -> usize {
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
            self.note(
                case,
                build_key("reference", outcome),
                Some(outcome.outcome),
                describe_outcome(outcome),
                Summary::new("reference", outcome),
            );
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
                let text = describe_difference(difference);
                let summary = Summary::of_text(&text);
                self.note(case, key, None, text, summary);
            }
        }
    }

    /// Takes what other launches of a kernel show in place of what is known of it.
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
        let line = survey.stores.get(&dependent.difference.parameter);
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
            position: line.map(|line| to_position(file, *line)),
            storages: dependent.difference.moved.clone(),
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
        self.note(&case, key, Some(OutcomeKind::Trapped), text, summary);
    }

    /// Notes a condition that the kernel's text states.
    pub fn add_condition(&mut self, file: &str, survey: &Survey, condition: &Condition) {
        let Condition { kind, message, .. } = condition;
        let place = format!("{file}:{}", condition.line);
        let finding = Finding {
            text: format!("precondition[{kind}]: {message}\n --> {place}\n"),
            key: Key {
                engine: "reference".to_owned(),
                outcome: None,
                code: (*kind).to_owned(),
                place,
            },
            summary: Summary {
                message: format!("reference: {kind}: {message}"),
                position: Some(to_position(file, condition.line)),
                storages: Vec::new(),
            },
            outcome: Some(OutcomeKind::Trapped),
            cases: Vec::new(),
        };
        let unless = vec![condition.demand.clone()];
        self.add_precondition(survey, Precondition { unless, finding });
    }

    /// Notes traps of some launches of a judged kernel that a guess may cause: the guess is the condition.
    pub fn add_doubtful(&mut self, file: &str, survey: &Survey) {
        if survey.host.is_some() {
            return;
        }
        let report = KernelReport::new(self, file, survey);
        if !matches!(report.standing(), Standing::Clean | Standing::Found(_)) {
            return;
        }
        let known: Vec<Key> = report
            .preconditions
            .iter()
            .map(|one| one.finding.key.clone())
            .collect();
        let doubtful = report
            .findings
            .iter()
            .filter(|one| is_conditional(one, survey) && !known.contains(&one.finding.key));
        let conditions: Vec<Precondition> = doubtful
            .map(|one| Precondition {
                unless: vec![describe_guess(one.finding, survey)],
                finding: one.finding.clone(),
            })
            .collect();
        for precondition in conditions {
            self.add_precondition(survey, precondition);
        }
    }

    /// Notes that nothing but a block bounds accesses of a kernel: the block must divide the number of elements.
    pub fn add_unmasked(&mut self, file: &str, survey: &Survey, unmasked: &Unmasked) {
        let tensors = unmasked.tensors.join("`, `");
        let message = format!("nothing but the grid bounds accesses of `{tensors}`");
        let line = unmasked.line;
        let place = format!("{file}:{line}");
        let finding = Finding {
            text: format!("precondition[unmasked]: {message}\n --> {place}\n"),
            key: Key {
                engine: "reference".to_owned(),
                outcome: None,
                code: "unmasked".to_owned(),
                place,
            },
            summary: Summary {
                message: format!("reference: unmasked: {message}"),
                position: Some(to_position(file, line)),
                storages: Vec::new(),
            },
            outcome: Some(OutcomeKind::Trapped),
            cases: Vec::new(),
        };
        let unless = vec![format!(
            "`{}` divides the number of their elements",
            unmasked.block
        )];
        self.add_precondition(survey, Precondition { unless, finding });
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
            cases: vec![case.to_owned()],
        }),
    }
}

/// What is to be said about a kernel.
pub struct KernelReport<'a> {
    /// The file as the user names it.
    pub file: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// How many launches there were.
    pub launches: usize,
    /// What they show.
    pub findings: Vec<KernelFinding<'a>>,
    /// What they are warned of.
    pub warned: Vec<KernelFinding<'a>>,
    /// What must hold for the kernel to be defined.
    pub preconditions: Vec<&'a Precondition>,
    not_tried: Option<NotTried>,
    guessed: &'a [String],
    /// What is passed otherwise than the text suggests, in words.
    pub changed: &'a [String],
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: &'a [&'static str],
    /// The function of the file whose launches these are.
    pub host: Option<&'a str>,
    /// The version of Triton by whose language the kernel is judged, if not the newest.
    pub version: Option<Version>,
    /// How many launches showed nothing.
    passed: usize,
}

/// A finding, and the launches of the kernel that show it.
pub struct KernelFinding<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// What is special about the launches.
    pub launches: Vec<&'a str>,
    /// Whether it is the kernel's mistake.
    pub wrong: bool,
}

impl<'a> KernelReport<'a> {
    /// Sorts out what launches of a kernel show.
    pub fn new(findings: &'a Findings, file: &'a str, survey: &'a Survey) -> Self {
        let variants: Vec<(String, &'a str)> = survey
            .attempts
            .iter()
            .enumerate()
            .map(|(nth, tried)| (format_case_id(survey, nth), tried.variant.as_str()))
            .collect();
        let launches = |finding: &Finding| -> Vec<&'a str> {
            let own = variants.iter().filter(|(id, _)| finding.is_of(id));
            own.map(|&(_, variant)| variant).collect()
        };
        let of_kernel = |all: &'a [Finding]| -> Vec<(&'a Finding, Vec<&'a str>)> {
            let all = all.iter().map(|finding| (finding, launches(finding)));
            all.filter(|(_, launches)| !launches.is_empty()).collect()
        };
        let warned = of_kernel(&findings.warned).into_iter();
        // A number that was guessed may not fit the tensors.
        let warned = warned.filter(|(finding, _)| is_certain(finding, survey));
        let warned = warned.map(|(finding, launches)| KernelFinding {
            wrong: survey.host.is_some() && finding.key.is_one_of(&BROKEN_BY_HOSTS),
            finding,
            launches,
        });
        let (broken, warned): (Vec<_>, Vec<_>) = warned.partition(|one| one.wrong);
        let of_kernel = of_kernel(&findings.entries);
        let passes = |(id, _): &&(String, &str)| {
            let mut shown = of_kernel.iter();
            !shown.any(|(finding, _)| finding.is_of(id))
        };
        let passed = variants.iter().filter(passes).count();
        let shown = of_kernel.into_iter().map(|(finding, launches)| KernelFinding {
            wrong: is_wrong(finding, survey, &launches, passed),
            finding,
            launches,
        });
        let preconditions = findings.preconditions.iter();
        let preconditions = preconditions.filter(|(kernel, _)| *kernel == survey.kernel);
        let preconditions: Vec<&Precondition> = preconditions.map(|(_, one)| one).collect();
        // A precondition has the failure.
        let is_conditional = |one: &KernelFinding<'_>| {
            let mut conditions = preconditions.iter();
            !one.wrong && conditions.any(|condition| condition.finding.key == one.finding.key)
        };
        let shown = shown.filter(|one| !is_conditional(one));
        Self {
            file,
            kernel: &survey.kernel,
            launches: variants.len(),
            findings: shown.chain(broken).collect(),
            warned,
            preconditions: preconditions.clone(),
            not_tried: survey.not_tried,
            guessed: &survey.guessed,
            changed: &survey.changed,
            omitted: &survey.omitted,
            host: survey.host.as_deref(),
            version: survey.version,
            passed,
        }
    }

    /// What came of the kernel.
    pub fn standing(&self) -> Standing {
        if let Some(why) = self.not_tried {
            return Standing::NotTried(why);
        }
        let wrong = self.findings.iter().filter(|one| one.wrong);
        match wrong.count() + self.preconditions.len() {
            0 if self.passed * 2 >= self.launches => Standing::Clean,
            0 => Standing::NotJudged,
            count => Standing::Found(count),
        }
    }

    /// The text for the terminal.
    pub fn render(&self, palette: Palette) -> String {
        let (file, kernel) = (self.file, self.kernel);
        let name = palette.paint(Tone::Name, &format!("{file}:{kernel}"));
        let launches = format!("{} launches", self.launches);
        let mut text = String::new();
        let result = match self.standing() {
            Standing::NotTried(why) => return format!("{name}  not tried: {why}\n"),
            Standing::NotJudged => palette.paint(Tone::Warn, "not judged"),
            Standing::Clean => palette.paint(Tone::Good, "nothing found"),
            Standing::Found(1) => palette.paint(Tone::Bad, "1 thing found"),
            Standing::Found(found) => palette.paint(Tone::Bad, &format!("{found} things found")),
        };
        // Writing to a string does not fail.
        let warned = match self.warned.len() {
            0 => String::new(),
            1 => format!(", {}", palette.paint(Tone::Warn, "1 warning")),
            count => format!(", {}", palette.paint(Tone::Warn, &format!("{count} warnings"))),
        };
        let _ = writeln!(text, "{name}  {launches}: {result}{warned}");
        for shown in self.findings.iter().filter(|one| one.wrong).chain(&self.warned) {
            for line in shown.finding.text.trim_end().lines() {
                let _ = writeln!(text, "  {line}");
            }
            let launched = describe_launches(&shown.launches);
            let _ = writeln!(text, "  = in {} of {launches}: {launched}", shown.launches.len());
        }
        for precondition in &self.preconditions {
            for line in precondition.finding.text.trim_end().lines() {
                let _ = writeln!(text, "  {line}");
            }
            let _ = writeln!(
                text,
                "  = precondition: unless {}",
                precondition.unless.join(", ")
            );
        }
        if let Some(host) = self.host {
            let _ = writeln!(text, "  = note: launched as `{host}` launches it");
        }
        if !self.changed.is_empty() && self.preconditions.is_empty() {
            let _ = writeln!(
                text,
                "  = note: {}: the kernel does not compile, or does not finish, with other arguments",
                self.changed.join(", ")
            );
        }
        if let Some(version) = self.version {
            let _ = writeln!(
                text,
                "  = note: judged by the language of Triton {version}: newer versions reject the kernel"
            );
        }
        if !self.omitted.is_empty() {
            let _ = writeln!(
                text,
                "  = note: the launches omit `{}` of the autotuner: write a case to test it",
                self.omitted.join("`, `")
            );
        }
        let doubtful: Vec<&KernelFinding<'_>> = self.findings.iter().filter(|one| !one.wrong).collect();
        let Some(first) = doubtful.first() else {
            return text;
        };
        if self.standing() == Standing::NotJudged {
            for line in first.finding.text.trim_end().lines() {
                let _ = writeln!(text, "  {line}");
            }
            let guessed = match self.guessed {
                [] => "arguments are".to_owned(),
                names => format!(
                    "`{}` {}",
                    names.join("`, `"),
                    if names.len() == 1 { "is" } else { "are" }
                ),
            };
            let _ = writeln!(
                text,
                "  = note: {guessed} guessed, and the guess may not fit: `cerith import {file}:{kernel}` writes a case to edit"
            );
        } else {
            for shown in doubtful {
                let count = shown.launches.len();
                let why = shown.finding.text.lines().next().unwrap_or_default();
                let launched = describe_launches(&shown.launches);
                let _ = writeln!(text, "  = not judged: {count} of {launches}, {launched}: {why}");
            }
        }
        text
    }
}

/// Traps that no tensor of another size avoids.
const SIZELESS: [(OutcomeKind, &str); 5] = [
    (OutcomeKind::Trapped, "race"),
    (OutcomeKind::Trapped, "conflicting-lanes"),
    (OutcomeKind::Trapped, "unordered-read"),
    (OutcomeKind::Trapped, "unordered-write"),
    (OutcomeKind::Finished, "undefined-value"),
];

/// Warnings that are mistakes if the kernel's own launcher passes the arguments.
const BROKEN_BY_HOSTS: [(OutcomeKind, &str); 3] = [
    (OutcomeKind::Finished, "false-promise"),
    (OutcomeKind::Finished, "never-written"),
    (OutcomeKind::Finished, "outside-tensor"),
];

/// Rejections that do not depend on arguments.
const DEFINITE: [(OutcomeKind, &str); 2] = [
    (OutcomeKind::Rejected, "unknown-attribute"),
    (OutcomeKind::Rejected, "undefined-name"),
];

/// Whether it is the kernel's mistake. `passed` launches showed nothing. Nobody launches a kernel on nothing, and a kernel may be
/// meant for some flags and sizes only: that it does not compile with others is not a mistake. If it compiles with nothing that was
/// tried, it is one.
fn is_wrong(finding: &Finding, survey: &Survey, launches: &[&str], passed: usize) -> bool {
    let is_all = |change: Change| list_changes(finding, survey).all(|one| one == change);
    if is_all(Change::EmptySize) {
        return false;
    }
    // Kernels that take the last stride for 1 are many, and their callers know it.
    if survey.host.is_some() && is_all(Change::TransposedInput) {
        return false;
    }
    // Sizes of two inputs that the launcher does not relate may have to be equal, as its callers know.
    if survey.host.is_some() && launches.len() * 4 < survey.attempts.len() && is_all(Change::InputSize) {
        return false;
    }
    match finding.outcome {
        Some(OutcomeKind::Trapped) => {
            is_certain(finding, survey)
                && finding.key.code != "descriptor-demand"
                // How many times one size goes into another: each is chosen alone.
                && finding.key.code != "division-by-zero"
        }
        Some(OutcomeKind::Rejected) => {
            // Flags may exclude each other, and which of them belongs to which dtype is not told.
            let flags = survey
                .attempts
                .iter()
                .filter(|tried| tried.change == Change::Flag);
            if launches.len() == survey.attempts.len() {
                let is_searched =
                    survey.is_searched && survey.guessed.is_empty() && survey.changed.is_empty();
                return is_searched || finding.key.is_one_of(&DEFINITE);
            }
            passed > 0
                && survey.changed.is_empty()
                && flags.count() < 2
                && finding.key.code.ends_with("type-mismatch")
                && is_all(Change::Dtype)
        }
        Some(_) => false,
        None => passed > 0 && !finding.key.engine.is_empty(),
    }
}

/// Whether a failure depends on arguments that are guessed, or on the size or layout of a tensor that the text does not tell.
fn is_conditional(one: &KernelFinding<'_>, survey: &Survey) -> bool {
    let code = one.finding.key.code.as_str();
    let is_excused = |change: Change| matches!(change, Change::EmptySize | Change::Flag);
    !one.wrong
        && one.finding.outcome == Some(OutcomeKind::Trapped)
        && code != "descriptor-demand"
        && code != "division-by-zero"
        && !list_changes(one.finding, survey).all(is_excused)
}

/// The guess that a failure depends on.
fn describe_guess(finding: &Finding, survey: &Survey) -> String {
    if !survey.guessed.is_empty() {
        let names = survey.guessed.join("`, `");
        let verb = if survey.guessed.len() == 1 {
            "has another value"
        } else {
            "have other values"
        };
        return format!("`{names}` {verb}");
    }
    let is_open = |storage: &&String| !survey.certain.contains(*storage);
    match finding.summary.storages.iter().find(is_open) {
        Some(storage) if finding.key.code == "out-of-bounds" => {
            format!("`{storage}` has more elements than its other accesses tell")
        }
        Some(storage) => format!("`{storage}` has another layout"),
        None => "other arguments are passed".to_owned(),
    }
}

/// Whether no guess can be the reason: a guessed number, or a flag that promises something, may not fit the sizes.
fn is_certain(finding: &Finding, survey: &Survey) -> bool {
    let known = if finding.key.is_one_of(&SIZELESS) {
        &survey.distinct
    } else {
        &survey.certain
    };
    let certain = |storage: &String| known.contains(storage);
    survey.guessed.is_empty()
        && survey.changed.is_empty()
        && finding.summary.storages.iter().all(certain)
        && !list_changes(finding, survey).all(|change| change == Change::Flag)
}

/// The differences of the launches that show something.
fn list_changes(finding: &Finding, survey: &Survey) -> impl Iterator<Item = Change> {
    let attempts = survey.attempts.iter().enumerate();
    let shown = attempts.filter(|&(nth, _)| finding.is_of(&format_case_id(survey, nth)));
    shown.map(|(_, attempt)| attempt.change)
}

/// The launches that show something, in words.
fn describe_launches(shown: &[&str]) -> String {
    const MAX_LAUNCHES: usize = 4;
    let named = |variant: &&str| {
        if variant.is_empty() {
            "the plain launch".to_owned()
        } else {
            (*variant).to_owned()
        }
    };
    let mut words: Vec<String> = shown.iter().take(MAX_LAUNCHES).map(named).collect();
    if shown.len() > MAX_LAUNCHES {
        words.push("…".to_owned());
    }
    words.join(", ")
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

fn describe_difference(difference: &Difference) -> String {
    let first = difference.first.first().map_or_else(String::new, |element| {
        format!("; the first is in `{}` at byte {}", element.storage, element.byte)
    });
    format!(
        "{} differs from {} in {} elements{first}\n",
        difference.engine, difference.baseline, difference.elements
    )
}
