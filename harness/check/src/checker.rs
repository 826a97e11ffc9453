//! Checks the kernels of one file: drafts launches, judges them with the caller's engines, and completes the report of each kernel.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_case::Shard;
use cerith_engine::{Reference, catch_panic};
use cerith_interp::{Config as Limits, Leaving};
use cerith_report::describe;
use cerith_report::event::{Event, Verdict};
use cerith_runner::corpus::Selected;
use cerith_runner::host::Host;
use cerith_runner::judge::{CaseResult, Judge};
use cerith_runner::pipeline;
use cerith_survey::Survey;
use cerith_tile::rules::Version;
use cerith_verdict::Panel;

use super::baseline::Baseline;
use super::config::Config;
use super::contract::Relations;
use super::dependent::find_dependent;
use super::edit;
use super::error::SubjectError;
use super::finding::{Findings, Precondition};
use super::fitting::{FUEL_OF_USED, Fitter};
use super::hidden::Filter;
use super::independent::mark_independent;
use super::launch::{Coverage, LaunchFacts};
use super::proof::{Effort, KernelProof, find_source, prove_launches};
use super::rejected::find_launcher_error;
use super::report::{Context, KernelReport, Standing};
use super::subject::{FilesRead, Subject, format_case_id};
use super::target::CheckTarget;
use super::text::STDIN;

/// The most programs of a launch that is kept as a case file.
const MAX_PROGRAMS: u64 = 1 << 16;

/// The most edits of one kernel that uncover each other.
const MAX_EDITS: usize = 8;

/// The most launches of a kernel that are resumed after an access out of bounds.
const MAX_RESUMED: usize = 4;

/// The reference for launches of a check.
pub fn build_reference() -> Reference {
    Reference::new(Limits {
        fuel: FUEL_OF_USED,
        program_fuel: FUEL_OF_USED,
        leaving: Leaving::Remarked,
        ..Limits::default()
    })
}

/// Checks the kernels of files.
pub struct Checker<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Known findings.
    pub baseline: &'a Baseline,
    /// The most time for each kernel.
    pub timeout: Option<Duration>,
    /// How many launches run at once.
    pub jobs: Option<u16>,
    /// Whether each launch is listed.
    pub is_verbose: bool,
    /// Where progress goes, and the request to stop.
    pub host: Host<'a>,
    /// Opens the engines for the launches of a kernel; `None` if a requested engine is missing.
    pub open_panel: &'a mut dyn FnMut(&Selected) -> Option<Arc<Panel>>,
}

/// A file after its kernels were checked.
pub struct CheckedFile {
    /// The file.
    pub subject: Subject,
    /// Comments that hide findings.
    pub filter: Filter,
    /// The text of the file.
    pub before: String,
    /// The text with the suggested edits.
    pub after: String,
    /// Whether edits are suggested: not for cells of a notebook, whose lines are elsewhere, nor for standard input, which was read.
    is_editable: bool,
    /// Whether every kernel was checked: nothing stopped it, and no engine is missing.
    pub is_whole: bool,
}

impl Checker<'_> {
    /// Checks the kernels of a file in their order, and hands over the report of each. `text` replaces the text of the file. The
    /// files that are read for it are added to `read`. `None` if the file was found in a folder and has no kernels.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn check_file(
        &mut self,
        asked: &CheckTarget,
        text: Option<&str>,
        read: &FilesRead,
        report: &mut dyn FnMut(&Subject, &Survey, &KernelReport<'_>),
    ) -> Result<Option<CheckedFile>, SubjectError> {
        let Some(mut subject) = Subject::open(asked, self.config, text, read)? else {
            return Ok(None);
        };
        let filter = Filter::new(std::mem::take(&mut subject.comments));
        let before = subject
            .find_text(&subject.display_name)
            .unwrap_or_default()
            .to_owned();
        let mut file = CheckedFile {
            after: before.clone(),
            before,
            filter,
            is_whole: true,
            is_editable: subject.cells.is_empty() && (text.is_some() || asked.file != Path::new(STDIN)),
            subject,
        };
        for nth in 0..file.subject.count_kernels() {
            if self.host.is_stopped() {
                file.is_whole = false;
                break;
            }
            file.subject.deadline = self.timeout.map(|limit| Instant::now() + limit);
            file.subject.draft_kernel(nth)?;
            if self.check_kernel(&mut file, nth, asked, report).is_none() {
                file.is_whole = false;
                break;
            }
        }
        Ok(Some(file))
    }

    /// Checks one kernel. `None` if an engine that was requested is missing.
    fn check_kernel(
        &mut self,
        file: &mut CheckedFile,
        nth: usize,
        asked: &CheckTarget,
        hand_over: &mut dyn FnMut(&Subject, &Survey, &KernelReport<'_>),
    ) -> Option<()> {
        let subject = &mut file.subject;
        let survey = subject.surveys.get(nth)?;
        let selected = Selected::from_corpus(
            subject.build_launch_corpus(std::iter::once(survey)),
            subject.root(),
        );
        let panel = (self.open_panel)(&selected)?;
        let mut findings = Findings::default();
        let mut coverage = self.judge(subject, survey, &panel, &mut findings);
        let mut untried = remove_untried(subject, nth, &coverage);
        if untried.is_empty()
            && let Some(other) = self.find_preconditions(subject, nth, &coverage, &mut findings, &panel)
        {
            coverage = other;
            untried = remove_untried(subject, nth, &coverage);
        }
        if let Some(survey) = subject.surveys.get(nth) {
            let is_open = |findings: &Findings| {
                let report = KernelReport::new(findings, &subject.display_name, survey);
                report.standing() == Standing::NotJudged
            };
            if is_open(&findings) {
                mark_independent(subject, survey, &mut findings);
            }
            if is_open(&findings) {
                findings.add_stated(survey);
            }
            add_hidden(subject, survey, &mut findings);
            findings.add_layouts(survey);
        }
        coverage.related = add_contracts(subject, nth, &mut findings);
        coverage.proof = add_overflows(subject, nth, &coverage, &mut findings);
        let survey = subject.surveys.get(nth)?;
        if let Some(error) = find_launcher_error(subject, survey) {
            findings.add_launcher_error(survey, error);
        }
        let mut report = KernelReport::new(&findings, &subject.display_name, survey);
        report.complete(
            &Context {
                subject,
                config: self.config,
                baseline: self.baseline,
                filter: &file.filter,
                coverage: &coverage,
                untried: &untried,
                is_verbose: self.is_verbose,
            },
            survey,
        );
        if file.is_editable
            && let Some(after) = edit::suggest_edits(&report, &file.after)
            && let Some(after) = complete_edits(asked, self.config, &survey.kernel, after)
        {
            report.edits = edit::render_diff(&subject.display_name, &file.after, &after);
            file.after = after;
        }
        hand_over(subject, survey, &report);
        Some(())
    }

    /// Looks for preconditions of a kernel that honest launches do not judge.
    fn find_preconditions(
        &self,
        subject: &mut Subject,
        nth: usize,
        honest: &Coverage,
        findings: &mut Findings,
        panel: &Arc<Panel>,
    ) -> Option<Coverage> {
        let survey = subject.surveys.get(nth)?;
        let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
        if standing != Standing::NotJudged || self.host.is_stopped() {
            return None;
        }
        let other = subject.find_passing(survey)?;
        let trap = findings.find_trap(survey);
        let mut found = Findings::default();
        let coverage = self.judge(subject, &other, panel, &mut found);
        if KernelReport::new(&found, &subject.display_name, &other).standing() == Standing::NotJudged {
            return None;
        }
        findings.replace(survey, found);
        if let Some(finding) = trap {
            let is_new = |word: &&String| !survey.changed.contains(*word);
            let unless = other.changed.iter().filter(is_new).cloned().collect();
            let plain = honest.launches.first().and_then(Option::as_ref);
            let launch = plain.map_or_else(Vec::new, |facts| facts.render("  = launch: "));
            findings.add_precondition(
                survey,
                Precondition {
                    unless,
                    finding,
                    launch,
                },
            );
        }
        *subject.surveys.get_mut(nth)? = other;
        Some(coverage)
    }

    /// Adds what the launches of a kernel show. Launches for which no time is left are not made.
    fn judge(
        &self,
        subject: &Subject,
        survey: &Survey,
        panel: &Arc<Panel>,
        findings: &mut Findings,
    ) -> Coverage {
        let selected = Selected::from_corpus(
            subject.build_launch_corpus(std::iter::once(survey)),
            subject.root(),
        );
        let panel = &in_language(panel, survey.version);
        let sources = selected.corpus.sources();
        let host = self.host;
        let console = host.console;
        for problem in selected.corpus.problems() {
            findings.add("", &Event::Problem(describe::to_problem(problem, sources)));
        }
        let mut coverage = Coverage {
            relations: Relations::new(find_source(survey)),
            ..Coverage::default()
        };
        let plain = format_case_id(survey, 0);
        let deadline = subject.deadline;
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        console.begin(selected.entries(Shard::ALL).count() as u64);
        let judge = Judge {
            panel,
            sources,
            blaming: None,
            oracle: None,
        };
        pipeline::in_order(
            selected.entries(Shard::ALL),
            pipeline::count_jobs(self.jobs),
            |entry| {
                if host.is_stopped() || is_late() {
                    return None;
                }
                let mut facts = None;
                let mut own = Relations::default();
                let mut first = None;
                let result = judge.judge_entry_with(&entry, |case, _| {
                    facts = LaunchFacts::from_case(case);
                    own.add(&survey.kernel, case);
                    first = (entry.id == plain).then(|| case.clone());
                    Some(())
                })?;
                Some((entry, result, facts, own, first))
            },
            |(entry, result, facts, own, first)| {
                coverage.relations.extend(own);
                coverage.plain = coverage.plain.take().or(first);
                let mut events = match result {
                    CaseResult::Events(events) => events,
                    CaseResult::Wrong(_, problems) => problems
                        .iter()
                        .map(|problem| Event::Problem(describe::to_problem(problem, sources)))
                        .collect(),
                };
                for event in &mut events {
                    subject.cells.relocate_event(&subject.display_name, event);
                    if let Event::Verdict(verdict) = event {
                        for engine in list_finished(verdict) {
                            *coverage.engines.entry(engine.clone()).or_default() += 1;
                        }
                    }
                    findings.add(&entry.id, event);
                }
                coverage.launches.push(facts);
                console.advance(findings.count() as u64);
            },
        );
        console.end();
        for case in subject.list_sized_cases(survey) {
            coverage.relations.add(&survey.kernel, &case);
        }
        // A case file with an error has no entry; nothing is missing then.
        if !is_late() {
            coverage.launches.resize(survey.attempts.len(), None);
        }
        coverage
    }
}

/// Adds the accesses out of bounds that an earlier one hides, in launches that end with one.
fn add_hidden(subject: &Subject, survey: &Survey, findings: &mut Findings) {
    let Some(draft) = subject.find_draft(&survey.kernel) else {
        return;
    };
    let fitter = Fitter::new(subject, draft, survey.version);
    for launch in findings.list_out_of_bounds(survey).into_iter().take(MAX_RESUMED) {
        if subject.is_late() {
            return;
        }
        let attempt = survey.attempts.get(launch);
        for outcome in attempt.map_or_else(Vec::new, |attempt| fitter.list_out_of_bounds(&attempt.text)) {
            let mut outcome = describe::to_outcome(&outcome);
            subject
                .cells
                .relocate_outcome(&subject.display_name, &mut outcome);
            findings.add_hidden(survey, launch, &outcome);
        }
    }
}

/// Adds what the launches of a judged kernel leave open: elements that nothing writes, sizes that only blocks bound, conditions that
/// the text states, and values that layouts and blocks change.
fn add_contracts(subject: &Subject, nth: usize, findings: &mut Findings) -> usize {
    let Some(survey) = subject.surveys.get(nth) else {
        return 0;
    };
    if survey.not_tried.is_some() || subject.is_late() {
        return 0;
    }
    for condition in &survey.contracts {
        findings.add_condition(&subject.display_name, survey, condition);
    }
    // A launch that shows something has its line already.
    let is_clean = |nth: usize| !findings.is_shown(survey, nth);
    let comparison = find_dependent(subject, survey, is_clean);
    for dependent in comparison.differences {
        findings.add_dependent(&subject.display_name, survey, &dependent);
    }
    let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
    if !matches!(standing, Standing::Clean | Standing::Found(_)) {
        return comparison.launches;
    }
    let unwritten = subject.find_unwritten(survey);
    for one in &unwritten {
        findings.add_unwritten(survey, one);
    }
    // Elements that no program writes show the same mistake.
    if unwritten.is_empty()
        && let Some(uncovered) = subject.find_uncovered(survey)
    {
        findings.add_uncovered(survey, &uncovered);
    }
    if let Some(unmasked) = &survey.unmasked {
        findings.add_unmasked(&subject.display_name, survey, unmasked);
    }
    findings.add_doubtful(&subject.display_name, survey);
    comparison.launches
}

/// Proves what can be proved of a judged kernel, and adds the integers that wrap in launches with large sizes.
fn add_overflows(
    subject: &mut Subject,
    nth: usize,
    coverage: &Coverage,
    findings: &mut Findings,
) -> Option<KernelProof> {
    let survey = subject.surveys.get(nth)?;
    let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
    if !matches!(standing, Standing::Clean | Standing::Found(_)) || subject.is_late() {
        return None;
    }
    let plain = coverage.plain.as_slice();
    let prove = || prove_launches(subject, survey, &coverage.relations, plain, Effort::SMALL);
    let proof = catch_panic(prove).ok()?;
    for overflow in proof.list_overflows() {
        findings.add_overflow(survey, overflow);
    }
    let kept = proof.list_overflows().filter(|one| one.programs <= MAX_PROGRAMS);
    let kept = kept.map(|one| {
        (
            format!("{}-overflow-{}", survey.kernel.replace('.', "_"), one.line),
            one.case.clone(),
        )
    });
    let kept: Vec<(String, String)> = kept.collect();
    subject.overflows.extend(kept);
    proof.not_proved.is_none().then_some(proof)
}

/// Removes the launches of a kernel for which no time was left, and returns what was special about them.
fn remove_untried(subject: &mut Subject, nth: usize, coverage: &Coverage) -> Vec<String> {
    let Some(survey) = subject.surveys.get_mut(nth) else {
        return Vec::new();
    };
    let judged = coverage.launches.len().min(survey.attempts.len());
    let untried = survey.attempts.split_off(judged);
    untried.into_iter().map(|attempt| attempt.variant).collect()
}

/// The text of a file, edited until a kernel compiles: an edit may uncover the next error. `None` if that has no certain edit.
fn complete_edits(asked: &CheckTarget, config: &Config, kernel: &str, mut text: String) -> Option<String> {
    let one = CheckTarget {
        file: asked.file.clone(),
        kernels: vec![kernel.to_owned()],
        explicit: true,
    };
    for _ in 0..MAX_EDITS {
        let subject = Subject::open(&one, config, Some(&text), &FilesRead::default()).ok()??;
        match subject.compile(kernel) {
            Ok(()) => return Some(text),
            Err(complaint) => text = edit::fix_error(complaint?.as_ref(), kernel, &text)?,
        }
    }
    None
}

/// The engines, with the reference in the language of a version.
fn in_language(panel: &Arc<Panel>, version: Option<Version>) -> Arc<Panel> {
    version.map_or_else(
        || Arc::clone(panel),
        |version| Arc::new(panel.with_language(version)),
    )
}

/// The engines that finished a launch.
fn list_finished(verdict: &Verdict) -> impl Iterator<Item = &String> {
    let engines = verdict.engines.iter();
    engines.filter(|engine| !verdict.outcomes.contains_key(*engine) && !verdict.silent.contains(engine))
}
