//! The findings in the launches of a kernel, each once, with the launches that show it.
//!
//! A trap of an honest launch is the kernel's mistake. Arguments are inferred from the kernel's text, so there is doubt: if the
//! kernel accesses memory outside a tensor whose size the text does not determine, or a number is guessed, it is not judged. If
//! it finishes with other arguments only, these are a precondition.

use std::fmt::Write as _;

use cerith_report::event::{Difference, EngineOutcome, Event, OutcomeKind, Position, Verdict, VerdictKind};
use cerith_report::{Palette, Tone};
use cerith_survey::{Change, Condition, NotTried, Survey, Unmasked};
use cerith_tile::rules::Version;

use super::baseline::{Baseline, Entry, Ids};
use super::config::Config;
use super::fitting::{Dependent, Unwritten};
use super::hidden::{self, Filter, Hidden};
use super::launch::{Coverage, wrap};
use super::subject::{Subject, format_case_id};

/// The most bytes of a finding's text.
const MAX_TEXT: usize = 1400;

/// The code of a finding of an engine other than the reference.
const ENGINE_DIFFERS: &str = "engine-differs";

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

    fn is_one_of(&self, all: &[(OutcomeKind, &str)]) -> bool {
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
    outcome: Option<OutcomeKind>,
    /// The launches that show it; an empty name means all launches of the file.
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
    /// The warnings about launches without findings.
    warned: Vec<Finding>,
    /// The preconditions of kernels, by their names.
    preconditions: Vec<(String, Precondition)>,
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

/// The overall result for a kernel.
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
            .map(|one| one.precondition.finding.key.clone())
            .collect();
        let doubtful = report
            .findings
            .iter()
            .filter(|one| is_conditional(one, survey) && !known.contains(&one.finding.key));
        let conditions: Vec<Precondition> = doubtful
            .map(|one| Precondition {
                unless: vec![describe_guess(one.finding, survey)],
                finding: one.finding.clone(),
                launch: Vec::new(),
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
            cases: vec![case.to_owned()],
        }),
    }
}

/// The report about a kernel.
pub struct KernelReport<'a> {
    /// The file as the user names it.
    pub file: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// How many launches there were.
    pub launches: usize,
    /// The findings of the launches.
    pub findings: Vec<KernelFinding<'a>>,
    /// The warnings about the launches.
    pub warned: Vec<KernelFinding<'a>>,
    /// The conditions under which the kernel is defined.
    pub preconditions: Vec<KernelPrecondition<'a>>,
    not_tried: Option<NotTried>,
    guessed: &'a [String],
    /// The arguments that differ from the kernel's text, described.
    pub changed: &'a [String],
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: &'a [&'static str],
    /// The function of the file whose launches these are.
    pub host: Option<&'a str>,
    /// The inputs of that function that nothing decides.
    assumed: &'a [String],
    /// The version of Triton by whose language the kernel is judged, if not the newest.
    pub version: Option<Version>,
    /// How many launches showed nothing.
    passed: usize,
    /// Findings that comments, the configuration or the baseline hide.
    pub hidden: Vec<Hidden>,
    /// The launches that were not made, because there was no time left.
    pub untried: Vec<String>,
    /// The lines that describe what was covered.
    pub covered: Vec<String>,
    /// Each launch on some lines, and what it showed.
    listed: Vec<String>,
    /// Suggested edits, as a diff.
    pub edits: String,
}

/// A finding, and the launches of the kernel that show it.
pub struct KernelFinding<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// The special properties of the launches.
    pub launches: Vec<&'a str>,
    /// Whether it is the kernel's mistake.
    pub wrong: bool,
    /// The number of the first launch that shows it.
    first: usize,
    /// Its stable id.
    pub id: String,
    /// The first launch that shows it, on some lines.
    pub launch: Vec<String>,
    /// Other findings of the same line.
    pub others: Vec<Self>,
}

/// A precondition with its stable id.
pub struct KernelPrecondition<'a> {
    /// The precondition.
    pub precondition: &'a Precondition,
    /// Its stable id.
    pub id: String,
}

/// Everything that a report needs besides findings.
pub struct Context<'a> {
    /// The kernel's file.
    pub subject: &'a Subject,
    /// The configuration.
    pub config: &'a Config,
    /// Known findings.
    pub baseline: &'a Baseline,
    /// Comments that hide findings.
    pub filter: &'a Filter,
    /// The launches that were judged.
    pub coverage: &'a Coverage,
    /// The launches that were not made.
    pub untried: &'a [String],
    /// Whether each launch is listed.
    pub is_verbose: bool,
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
        let first_of = |finding: &Finding| variants.iter().position(|(id, _)| finding.is_of(id));
        let of_kernel = |all: &'a [Finding]| -> Vec<(&'a Finding, Vec<&'a str>)> {
            let all = all.iter().map(|finding| (finding, launches(finding)));
            all.filter(|(_, launches)| !launches.is_empty()).collect()
        };
        let warned = of_kernel(&findings.warned).into_iter();
        // A number that was guessed may not fit the tensors.
        let warned = warned.filter(|(finding, _)| is_certain(finding, survey));
        let warned = warned.map(|(finding, launches)| KernelFinding {
            wrong: survey.host.is_some()
                && finding.key.is_one_of(&BROKEN_BY_HOSTS)
                && !list_changes(finding, survey).all(Change::is_of_layout),
            first: first_of(finding).unwrap_or_default(),
            finding,
            launches,
            id: String::new(),
            launch: Vec::new(),
            others: Vec::new(),
        });
        let preconditions: Vec<&Precondition> = (findings.preconditions.iter())
            .filter(|(kernel, _)| *kernel == survey.kernel)
            .map(|(_, one)| one)
            .collect();
        let is_condition = |finding: &Finding| preconditions.iter().any(|one| one.finding.key == finding.key);
        let warned = warned.filter(|one| one.wrong || !is_condition(one.finding));
        let (broken, warned): (Vec<_>, Vec<_>) = warned.partition(|one| one.wrong);
        let of_kernel = of_kernel(&findings.entries);
        let passes = |(id, _): &&(String, &str)| {
            let mut shown = of_kernel.iter();
            !shown.any(|(finding, _)| finding.is_of(id))
        };
        let passed = variants.iter().filter(passes).count();
        let shown = of_kernel.into_iter().map(|(finding, launches)| KernelFinding {
            wrong: is_wrong(finding, survey, &launches, passed),
            first: first_of(finding).unwrap_or_default(),
            finding,
            launches,
            id: String::new(),
            launch: Vec::new(),
            others: Vec::new(),
        });
        Self {
            file,
            kernel: &survey.kernel,
            launches: variants.len(),
            findings: shown
                .filter(|one| one.wrong || !is_condition(one.finding))
                .chain(broken)
                .collect(),
            warned,
            preconditions: (preconditions.into_iter())
                .map(|precondition| KernelPrecondition {
                    precondition,
                    id: String::new(),
                })
                .collect(),
            not_tried: survey.not_tried,
            guessed: &survey.guessed,
            changed: &survey.changed,
            omitted: &survey.omitted,
            host: survey.host.as_deref(),
            assumed: &survey.assumed,
            version: survey.version,
            passed,
            hidden: Vec::new(),
            untried: Vec::new(),
            covered: Vec::new(),
            listed: Vec::new(),
            edits: String::new(),
        }
    }

    /// Adds ids, launches and coverage, removes hidden findings, and joins those of one line.
    pub fn complete(&mut self, context: &Context<'_>, survey: &Survey) {
        let mut ids = Ids::default();
        let mut hidden = Vec::new();
        self.untried = context.untried.to_vec();
        let mut retain = |finding: &Finding, id: &mut String| {
            let place = Place::new(context.subject, self.kernel, finding);
            *id = ids.next(
                context.subject.stable_path(),
                self.kernel,
                finding.key.code(),
                &place.text,
            );
            let found = context.filter.find(
                &hidden::Subject {
                    file: self.file,
                    relative: context.subject.relative.as_deref(),
                    kernel: self.kernel,
                    code: finding.key.code(),
                    line: place.line.map(|line| (place.file, line)),
                    id,
                },
                context.config,
                context.baseline,
            );
            let is_shown = found.is_none();
            hidden.extend(found);
            is_shown
        };
        let mut findings = std::mem::take(&mut self.findings);
        findings.retain_mut(|one| !one.wrong || retain(one.finding, &mut one.id));
        let mut warned = std::mem::take(&mut self.warned);
        warned.retain_mut(|one| retain(one.finding, &mut one.id));
        let mut preconditions = std::mem::take(&mut self.preconditions);
        preconditions.retain_mut(|one| retain(&one.precondition.finding, &mut one.id));
        self.hidden = hidden;
        for one in findings.iter_mut().chain(&mut warned) {
            let facts = context.coverage.launches.get(one.first).and_then(Option::as_ref);
            one.launch = facts.map_or_else(Vec::new, |facts| facts.render("  = launch: "));
        }
        if context.is_verbose {
            self.listed = list_launches(context, survey, &findings);
        }
        self.findings = join_lines(findings);
        self.warned = warned;
        self.preconditions = preconditions;
        self.covered = context.coverage.render(survey);
        let requirements: Vec<String> = context
            .subject
            .list_requirements(self.kernel)
            .map(|one| format!("`{}`", one.text()))
            .collect();
        self.covered
            .extend(wrap("  = declared: ", requirements.into_iter()));
    }

    /// Its findings and preconditions as entries of a baseline.
    pub fn list_entries(&self, subject: &Subject) -> Vec<Entry> {
        let entry = |finding: &Finding, id: &str, unless: &[String]| Entry {
            id: id.to_owned(),
            file: subject.stable_path().to_owned(),
            kernel: self.kernel.to_owned(),
            code: finding.key.code().to_owned(),
            line: finding.summary.position.as_ref().map_or(0, |at| at.line),
            text: finding.summary.message.clone(),
            unless: unless.to_vec(),
            reason: String::new(),
        };
        let wrong = self.list_wrong();
        let findings = wrong
            .chain(&self.warned)
            .map(|one| entry(one.finding, &one.id, &[]));
        let preconditions = self.preconditions.iter();
        findings
            .chain(
                preconditions.map(|one| entry(&one.precondition.finding, &one.id, &one.precondition.unless)),
            )
            .collect()
    }

    /// The kernel's mistakes, those of one line each by itself.
    pub fn list_wrong(&self) -> impl Iterator<Item = &KernelFinding<'a>> {
        let wrong = self.findings.iter().filter(|one| one.wrong);
        wrong.flat_map(|one| std::iter::once(one).chain(&one.others))
    }

    /// The overall result for the kernel.
    pub fn standing(&self) -> Standing {
        if let Some(why) = self.not_tried {
            return Standing::NotTried(why);
        }
        let wrong = self.findings.iter().filter(|one| one.wrong);
        match wrong.count() + self.preconditions.len() {
            // Launches that show a hidden finding were judged.
            0 if !self.hidden.is_empty() => Standing::Clean,
            0 if self.launches > 0 && self.passed * 2 >= self.launches => Standing::Clean,
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
            Standing::Clean if self.hidden.is_empty() => palette.paint(Tone::Good, "nothing found"),
            Standing::Clean => palette.paint(Tone::Good, "nothing new found"),
            Standing::Found(1) => palette.paint(Tone::Bad, "1 thing found"),
            Standing::Found(found) => palette.paint(Tone::Bad, &format!("{found} things found")),
        };
        // Writing to a string does not fail.
        let warned = match self.warned.len() {
            0 => String::new(),
            1 => format!(", {}", palette.paint(Tone::Warn, "1 warning")),
            count => format!(", {}", palette.paint(Tone::Warn, &format!("{count} warnings"))),
        };
        let hidden = match self.hidden.len() {
            0 => String::new(),
            count => format!(", {count} hidden"),
        };
        let _ = writeln!(text, "{name}  {launches}: {result}{warned}{hidden}");
        for shown in self.findings.iter().filter(|one| one.wrong).chain(&self.warned) {
            add_text(&mut text, &shown.finding.text);
            let launched = describe_launches(&shown.launches);
            let _ = writeln!(text, "  = in {} of {launches}: {launched}", shown.launches.len());
            add_lines(&mut text, &shown.launch);
            for other in &shown.others {
                let first = other.finding.text.lines().next().unwrap_or_default();
                let launched = describe_launches(&other.launches);
                let count = other.launches.len();
                let _ = writeln!(
                    text,
                    "  = also here: {first}\n    in {count} of {launches}: {launched}"
                );
            }
        }
        for one in &self.preconditions {
            add_text(&mut text, &one.precondition.finding.text);
            let unless = one.precondition.unless.join(", ");
            let _ = writeln!(text, "  = precondition: unless {unless}");
            add_lines(&mut text, &one.precondition.launch);
        }
        if !self.untried.is_empty() {
            let names: Vec<&str> = self.untried.iter().map(String::as_str).collect();
            let _ = writeln!(
                text,
                "  = not tried, because no time was left: {} launches: {}",
                names.len(),
                describe_launches(&names)
            );
        }
        // If nothing compiles, nothing is covered.
        if self.standing() == Standing::Clean && self.passed > 0 {
            add_lines(&mut text, &self.covered);
        }
        add_lines(&mut text, &self.listed);
        if let Some(host) = self.host {
            let assumed = match self.assumed {
                [] => String::new(),
                names => format!(", with assumed values of `{}`", names.join("`, `")),
            };
            let _ = writeln!(text, "  = note: launched as `{host}` launches it{assumed}");
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

/// Each launch on some lines, and the codes of its findings.
fn list_launches(context: &Context<'_>, survey: &Survey, findings: &[KernelFinding<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (nth, attempt) in survey.attempts.iter().enumerate() {
        let id = format_case_id(survey, nth);
        let shown = findings.iter().filter(|one| one.finding.is_of(&id));
        let codes: Vec<&str> = shown.map(|one| one.finding.key.code()).collect();
        let result = if codes.is_empty() {
            "nothing found".to_owned()
        } else {
            codes.join(", ")
        };
        lines.push(format!(
            "  {:>3} {}: {result}",
            nth + 1,
            describe_variant(&attempt.variant)
        ));
        let facts = context.coverage.launches.get(nth).and_then(Option::as_ref);
        lines.extend(facts.into_iter().flat_map(|facts| facts.render("      ")));
    }
    lines
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

/// Whether it is the kernel's mistake. `passed` launches showed nothing. A finding only with empty tensors is not a mistake,
/// because kernels are not launched on them. A kernel may support only some flags and sizes, so a compile error with others is
/// not a mistake. A kernel that compiles with none of the tried arguments is a mistake.
fn is_wrong(finding: &Finding, survey: &Survey, launches: &[&str], passed: usize) -> bool {
    let is_all = |change: Change| list_changes(finding, survey).all(|one| one == change);
    if is_all(Change::EmptySize) {
        return false;
    }
    if survey.host.is_some() && list_changes(finding, survey).all(Change::is_of_layout) {
        return false;
    }
    if !survey.assumed.is_empty() && is_all(Change::InputSize) {
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
            // Flags may exclude each other, and the text does not say which flag belongs to which dtype.
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
    let named = shown
        .iter()
        .take(MAX_LAUNCHES)
        .map(|variant| describe_variant(variant));
    let mut words: Vec<&str> = named.collect();
    if shown.len() > MAX_LAUNCHES {
        words.push("…");
    }
    words.join(", ")
}

fn describe_variant(variant: &str) -> &str {
    if variant.is_empty() {
        "the plain launch"
    } else {
        variant
    }
}

fn add_lines(text: &mut String, lines: &[String]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

/// Adds a diagnostic, which is cut if it is too long.
fn add_text(text: &mut String, diagnostic: &str) {
    let mut length = 0;
    for line in diagnostic.trim_end().lines() {
        length += line.len() + 3;
        if length > MAX_TEXT {
            let end = line
                .char_indices()
                .map(|(at, _)| at)
                .take_while(|at| *at <= 160)
                .last();
            let start = line.get(..end.unwrap_or_default()).unwrap_or_default();
            let _ = writeln!(text, "  {start}…");
            return;
        }
        let _ = writeln!(text, "  {line}");
    }
}

/// Joins the kernel's mistakes on one line. The first one represents the others.
fn join_lines(findings: Vec<KernelFinding<'_>>) -> Vec<KernelFinding<'_>> {
    let mut joined: Vec<KernelFinding<'_>> = Vec::new();
    for one in findings {
        let place = &one.finding.key.place;
        let same = joined
            .iter_mut()
            .find(|first| first.wrong && one.wrong && !place.is_empty() && first.finding.key.place == *place);
        match same {
            Some(first) => first.others.push(one),
            None => joined.push(one),
        }
    }
    joined
}

/// The line of a finding.
struct Place<'a> {
    file: &'a str,
    line: Option<u32>,
    text: String,
}

impl<'a> Place<'a> {
    /// The finding's own line; the kernel's first line if it has none.
    fn new(subject: &'a Subject, kernel: &str, finding: &'a Finding) -> Self {
        if let Some(at) = &finding.summary.position {
            let text = subject.find_line(&at.file, at.line).unwrap_or_default();
            return Self {
                file: &at.file,
                line: Some(at.line),
                text: text.to_owned(),
            };
        }
        Self {
            file: &subject.display_name,
            line: subject.find_kernel_line(kernel),
            text: finding.key.place.clone(),
        }
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

fn describe_difference(difference: &Difference) -> String {
    let first = difference.first.first().map_or_else(String::new, |element| {
        format!("; the first is in `{}` at byte {}", element.storage, element.byte)
    });
    format!(
        "{} differs from {} in {} elements{first}\n",
        difference.engine, difference.baseline, difference.elements
    )
}
