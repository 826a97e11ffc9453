//! The report about a kernel: its findings, which of them are its mistakes, and what hides the others. See `render` for its text.

use std::borrow::Cow;

use cerith_report::event::OutcomeKind;
use cerith_survey::{Change, NotTried, Survey, UnusedLauncher};
use cerith_tile::rules::Version;

use super::baseline::{Baseline, Entry};
use super::config::Config;
use super::doubt::{BROKEN_BY_HOSTS, OtherLaunches, is_certain, is_of_assumption, is_wrong, list_changes};
use super::finding::{Finding, Findings, Precondition};
use super::finding_id::Ids;
use super::hidden::{self, Filter, Hidden};
use super::launch::{Coverage, describe_variant, wrap};
use super::proof::{KernelProof, ProofCount};
use super::subject::{Subject, format_case_id};

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
    pub(crate) guessed: &'a [String],
    /// The arguments that differ from the kernel's text, described.
    pub changed: &'a [String],
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: &'a [&'static str],
    /// The function of the file whose launches these are.
    pub host: Option<&'a str>,
    /// The inputs of that function that nothing decides.
    pub(crate) assumed: &'a [String],
    /// The version of Triton by whose language the kernel is judged, if not the newest.
    pub version: Option<Version>,
    /// How many launches showed nothing.
    pub(crate) passed: usize,
    /// Findings that comments, the configuration or the baseline hide.
    pub hidden: Vec<Hidden>,
    /// The launches that were not made, because there was no time left.
    pub untried: Vec<String>,
    /// The lines that describe what was covered.
    pub covered: Vec<String>,
    /// Whether all is shown.
    pub(crate) is_verbose: bool,
    /// Each launch on some lines, and what it showed.
    pub(crate) listed: Vec<String>,
    /// Suggested edits, as a diff.
    pub edits: String,
    /// How many accesses are proved, if that was looked at.
    pub proved: Option<ProofCount>,
    /// How many integers were not looked at for sizes with which they wrap.
    pub(crate) missed: usize,
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
    pub(crate) first: usize,
    /// Its stable id.
    pub id: String,
    /// The first launch that shows it, on some lines.
    pub launch: Vec<String>,
    /// Other findings of the same line.
    pub same_line: Vec<Self>,
}

impl KernelFinding<'_> {
    /// The id of the case of the first launch that shows it.
    pub fn case_id(&self, survey: &Survey) -> String {
        format_case_id(survey, self.first)
    }

    /// Whether its launches are among the kernel's.
    pub const fn has_cases(&self) -> bool {
        self.finding.own_launch.is_none()
    }

    /// Its message: an error if it fails the check, even if engines only warn of it.
    pub fn text(&self) -> Cow<'_, str> {
        if self.wrong {
            to_error(&self.finding.text)
        } else {
            Cow::Borrowed(&self.finding.text)
        }
    }
}

/// A message that fails the check.
fn to_error(text: &str) -> Cow<'_, str> {
    match text.strip_prefix("warning[") {
        Some(rest) => Cow::Owned(format!("error[{rest}")),
        None => Cow::Borrowed(text),
    }
}

/// A precondition with its stable id.
pub struct KernelPrecondition<'a> {
    /// The precondition.
    pub precondition: &'a Precondition,
    /// Its stable id.
    pub id: String,
}

impl KernelPrecondition<'_> {
    /// The message of the failure. It fails the check.
    pub fn text(&self) -> Cow<'_, str> {
        to_error(&self.precondition.finding.text)
    }
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
        let build = |finding: &'a Finding, launches: Vec<&'a str>, wrong: bool| KernelFinding {
            wrong,
            first: first_of(finding).unwrap_or_default(),
            finding,
            launches,
            id: String::new(),
            launch: Vec::new(),
            same_line: Vec::new(),
        };
        let of_kernel = |all: &'a [Finding]| -> Vec<(&'a Finding, Vec<&'a str>)> {
            let all = all.iter().map(|finding| (finding, launches(finding)));
            all.filter(|(_, launches)| !launches.is_empty()).collect()
        };
        let warned = of_kernel(&findings.warned).into_iter();
        // A number that was guessed may not fit the tensors.
        let warned = warned.filter(|(finding, _)| is_certain(finding, survey));
        let warned = warned.map(|(finding, launches)| {
            let wrong = survey.host.is_some()
                && finding.key.is_one_of(&BROKEN_BY_HOSTS)
                && !list_changes(finding, survey).all(Change::is_of_layout)
                && !is_of_assumption(finding, survey);
            build(finding, launches, wrong)
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
            !shown.any(|(finding, _)| !finding.is_of_launcher() && finding.is_of(id))
        };
        let passed = variants.iter().filter(passes).count();
        // Other launches that ended early may not have reached the line of a finding.
        let count_finished = |finding: &Finding| {
            let is_finished = |(id, _): &&(String, &str)| {
                let mut shown = of_kernel.iter().filter(|(other, _)| other.is_of(id));
                shown.all(|(other, _)| {
                    other.key != finding.key && other.outcome == Some(OutcomeKind::Finished)
                })
            };
            variants.iter().filter(is_finished).count()
        };
        let finished: Vec<usize> = of_kernel
            .iter()
            .map(|(finding, _)| count_finished(finding))
            .collect();
        let shown = of_kernel
            .into_iter()
            .zip(finished)
            .map(|((finding, launches), finished)| {
                let wrong = is_wrong(finding, survey, &launches, OtherLaunches { passed, finished });
                build(finding, launches, wrong)
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
            is_verbose: false,
            listed: Vec::new(),
            edits: String::new(),
            proved: None,
            missed: 0,
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
            one.launch = match &one.finding.own_launch {
                Some(lines) => lines.clone(),
                None => facts.map_or_else(Vec::new, |facts| facts.render("  = launch: ")),
            };
        }
        self.is_verbose = context.is_verbose;
        if context.is_verbose {
            self.listed = list_launches(context, survey, &findings);
        }
        self.listed.extend(survey.unused_launchers.iter().map(|one| {
            let place = locate_launcher(self.file, one);
            format!("  = launcher not used: `{}` at {place}: {}", one.host, one.reason)
        }));
        self.findings = join_lines(findings);
        self.warned = warned;
        self.preconditions = preconditions;
        self.covered = context.coverage.render(survey);
        let proof = context.coverage.proof.as_ref();
        self.proved = proof.map(KernelProof::count);
        self.missed = proof
            .filter(|_| context.is_verbose)
            .map_or(0, |proof| proof.missed);
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
        wrong.flat_map(|one| std::iter::once(one).chain(&one.same_line))
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
            // Other launches judge the kernel, and its launcher's may be wrong.
            0 if self.findings.iter().any(|one| one.finding.is_of_launcher()) => Standing::NotJudged,
            0 if self.launches > 0 && self.passed * 2 >= self.launches => Standing::Clean,
            0 => Standing::NotJudged,
            count => Standing::Found(count),
        }
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

/// The location of a launcher. One of another file of the folder has the file's name before its own.
fn locate_launcher(file: &str, launcher: &UnusedLauncher) -> String {
    match launcher.host.split_once(".py:") {
        Some((other, _)) => {
            let folder = file
                .rfind('/')
                .map_or("", |at| file.get(..=at).unwrap_or_default());
            format!("{folder}{other}.py:{}", launcher.line)
        }
        None => format!("{file}:{}", launcher.line),
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
            Some(first) => first.same_line.push(one),
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
