//! `cerith check`: tries the kernels of files and packages, and says each thing that is found once.

mod reports;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cerith_case::Shard;
use cerith_check::{code, edit, text};
use cerith_engine::{EngineId, Reference};
use cerith_interp::{Config, Leaving};
use cerith_report::describe;
use cerith_report::event::{Event, Verdict};
use cerith_runner::Exit;
use cerith_runner::corpus::Selected;
use cerith_runner::engines::{Setup, set_up};
use cerith_runner::judge::{CaseResult, Judge};
use cerith_runner::pipeline;
use cerith_survey::Survey;
use cerith_tile::rules::Version;
use cerith_verdict::Panel;

use self::reports::Reports;
use crate::args::{CheckArgs, CheckFormat};
use crate::interrupt::{self, build_host};
use crate::terminal::Terminal;
use cerith_check::baseline::{Baseline, Entry, write_baseline};
use cerith_check::config::Config as Configuration;
use cerith_check::dependent::find_dependent;
use cerith_check::finding::{Findings, Precondition};
use cerith_check::hidden::{Filter, Hidden, HiddenBy};
use cerith_check::independent::mark_independent;
use cerith_check::launch::{Coverage, LaunchFacts};
use cerith_check::line::Line;
use cerith_check::report::{Context, KernelReport, Standing};
use cerith_check::subject::Subject;
use cerith_check::target::{CheckTarget, find_targets};

/// Operations and lanes of a launch. Sizes are those of few blocks: a launch that takes longer waits for something that never comes.
const FUEL: u64 = 1 << 25;

/// The most edits of one kernel that uncover each other.
const MAX_EDITS: usize = 8;

/// Checks, and answers with the exit code.
pub fn check(args: &CheckArgs, stop: &'static AtomicBool) -> Exit {
    let settings = match Settings::read(args) {
        Ok(settings) => settings,
        Err(message) => {
            Terminal::new().note(&message);
            return Exit::Wrong;
        }
    };
    let mut checking = Checking {
        args,
        stop,
        terminal: Terminal::new(),
        panel: None,
        count: Count::default(),
        reports: Reports::default(),
        settings,
        entries: Vec::new(),
        judged: BTreeSet::new(),
        first_code: None,
    };
    let exit = checking.check_all();
    if exit == Exit::Interrupted {
        return exit;
    }
    match checking.end(exit) {
        Ok(()) if args.write_baseline.is_some() && exit == Exit::Unexpected => Exit::AsExpected,
        Ok(()) => exit,
        Err(message) => {
            checking.terminal.note(&message);
            Exit::Wrong
        }
    }
}

/// Prints the page of a finding's code. `None` if the words are something else.
pub fn explain_code(words: &[String], terminal: &Terminal) -> Option<Exit> {
    let [word] = words else { return None };
    if let Some(page) = code::find_page(word) {
        terminal.print(&format!("{word}\n\n{page}\n"));
        return Some(Exit::AsExpected);
    }
    // Cases have an area, which is a folder.
    let help = code::suggest(word).filter(|_| word.contains('-') && !Path::new(word).exists())?;
    terminal.note(&format!(
        "error: no finding has the code `{word}`\n  = help: {help}"
    ));
    Some(Exit::Wrong)
}

/// Everything that the configuration and the command line decide together.
struct Settings {
    config: Configuration,
    baseline: Baseline,
    /// Files and kernels.
    kernels: Vec<String>,
    engines: Vec<EngineId>,
    timeout: Option<Duration>,
    is_strict: bool,
}

impl Settings {
    /// Fails with the message for the user.
    fn read(args: &CheckArgs) -> Result<Self, String> {
        let config = match &args.config {
            Some(path) => Configuration::read(path)?,
            None if args.no_config => Configuration::without_file(),
            None => Configuration::find()?,
        };
        let kernels = if args.kernels.is_empty() {
            let paths = config.paths.iter();
            paths.map(|path| config.resolve(path)).collect()
        } else {
            args.kernels.clone()
        };
        if kernels.is_empty() {
            return Err(
                "error: there is nothing to check\n  = help: name a file or a folder, `cerith check softmax.py`, or write `paths` \
                 into `cerith.toml`"
                    .to_owned(),
            );
        }
        // A baseline does not hide findings from the run that writes it.
        let baseline = match args.baseline.as_ref().or(config.baseline.as_ref()) {
            Some(path) if args.write_baseline.is_none() => Baseline::read(path)?,
            _ => Baseline::default(),
        };
        Ok(Self {
            engines: if args.engines.engines.is_empty() {
                config.engines.clone()
            } else {
                args.engines.engines.clone()
            },
            timeout: args.timeout.map(Duration::from_secs).or(config.timeout),
            is_strict: args.strict || config.is_strict,
            config,
            baseline,
            kernels,
        })
    }
}

/// The exit code of several files: bad input before findings, findings before none, anything before an empty result.
fn pick_worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Nothing => 0,
        Exit::AsExpected => 1,
        Exit::Unexpected => 2,
        Exit::Wrong => 3,
        Exit::Interrupted | Exit::Program(_) => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// The engines to ask: those that were named, and the reference. It alone knows what has no defined answer, and without it one engine
/// alone is compared with nothing.
fn add_reference(named: &[EngineId]) -> Vec<EngineId> {
    let reference = (!named.is_empty()).then_some(EngineId::Reference);
    reference.into_iter().chain(named.iter().cloned()).collect()
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
    for unwritten in subject.find_unwritten(survey) {
        findings.add_unwritten(survey, &unwritten);
    }
    if let Some(unmasked) = &survey.unmasked {
        findings.add_unmasked(&subject.display_name, survey, unmasked);
    }
    findings.add_doubtful(&subject.display_name, survey);
    comparison.launches
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
fn complete_edits(
    asked: &CheckTarget,
    config: &Configuration,
    kernel: &str,
    mut text: String,
) -> Option<String> {
    let one = CheckTarget {
        file: asked.file.clone(),
        kernels: vec![kernel.to_owned()],
        explicit: true,
    };
    for _ in 0..MAX_EDITS {
        let subject = Subject::open(&one, config, Some(&text)).ok()??;
        match subject.compile(kernel) {
            Ok(()) => return Some(text),
            Err(complaint) => text = edit::fix_error(complaint?.as_ref(), kernel, &text)?,
        }
    }
    None
}

/// Writes the edits of a file, unless the file has changed.
fn write_edits(file: &Path, before: &str, after: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("error: failed to edit {}: {error}", file.display());
    let present = cerith_files::read_text(file, cerith_case::MAX_TEXT as u64).map_err(failed)?;
    if present != before {
        return Err(format!(
            "error: failed to edit {}: it has changed",
            file.display()
        ));
    }
    cerith_files::write(file, after).map_err(failed)
}

/// The engines, with the reference in the language of a version.
fn in_language(panel: &Arc<Panel>, version: Option<Version>) -> Arc<Panel> {
    version.map_or_else(
        || Arc::clone(panel),
        |version| Arc::new(panel.with_language(version)),
    )
}

/// The number of kernels, by result.
#[derive(Default)]
struct Count {
    kernels: usize,
    clean: usize,
    with_findings: usize,
    not_judged: usize,
    not_tried: usize,
    hidden: BTreeMap<HiddenBy, usize>,
    without_reason: usize,
    /// Kernels for which no time was left.
    unfinished: usize,
    excluded: usize,
}

impl Count {
    fn add_hidden(&mut self, hidden: &[Hidden]) {
        for one in hidden {
            *self.hidden.entry(one.by).or_default() += 1;
            self.without_reason += usize::from(one.reason.trim().is_empty());
        }
    }

    fn add(&mut self, standing: Standing) {
        self.kernels += 1;
        match standing {
            Standing::Clean => self.clean += 1,
            Standing::Found(_) => self.with_findings += 1,
            Standing::NotJudged => self.not_judged += 1,
            Standing::NotTried(_) => self.not_tried += 1,
        }
    }

    /// The summary. `config` is the name of the configuration's file.
    fn describe(&self, config: &str) -> String {
        let mut text = format!(
            "{} kernels: {} with findings, {} with nothing found, {} not judged, {} not tried",
            self.kernels, self.with_findings, self.clean, self.not_judged, self.not_tried
        );
        let hidden = HiddenBy::ALL.into_iter().filter_map(|by| {
            let count = self.hidden.get(&by)?;
            Some(match by {
                HiddenBy::Config => format!("{count} by {config}"),
                HiddenBy::Comment | HiddenBy::Baseline => format!("{count} by {by}"),
            })
        });
        let hidden: Vec<String> = hidden.collect();
        // Writing to a string does not fail.
        if !hidden.is_empty() {
            let _ = write!(text, "\nhidden: {}", hidden.join(", "));
        }
        if self.without_reason > 0 {
            let _ = write!(text, " ({} without a reason)", self.without_reason);
        }
        if self.excluded > 0 {
            let _ = write!(text, "\nexcluded by {config}: {} of the files", self.excluded);
        }
        text
    }
}

/// The engines that finished a launch.
fn list_finished(verdict: &Verdict) -> impl Iterator<Item = &String> {
    let engines = verdict.engines.iter();
    engines.filter(|engine| !verdict.outcomes.contains_key(*engine) && !verdict.silent.contains(engine))
}

struct Checking<'a> {
    args: &'a CheckArgs,
    stop: &'static AtomicBool,
    terminal: Terminal,
    /// The engines, once the first kernel needs them.
    panel: Option<Arc<Panel>>,
    count: Count,
    reports: Reports,
    settings: Settings,
    /// The findings, for a baseline.
    entries: Vec<Entry>,
    /// The files and kernels that were judged.
    judged: BTreeSet<(String, String)>,
    /// The code of the first finding.
    first_code: Option<String>,
}

impl Checking<'_> {
    fn check_all(&mut self) -> Exit {
        let files = match find_targets(&self.settings.kernels) {
            Ok(files) => files,
            Err(message) => {
                self.terminal.note(&message);
                return Exit::Wrong;
            }
        };
        let mut exit = Exit::Nothing;
        let is_folder = files.iter().any(|asked| !asked.explicit);
        for asked in &files {
            if !asked.explicit && self.settings.config.is_excluded(&asked.file) {
                self.count.excluded += 1;
                continue;
            }
            let done = self.check_file(asked).unwrap_or_else(|message| {
                self.terminal.note(&message);
                self.reports.add_error(&asked.file.to_string_lossy(), &message);
                Exit::Wrong
            });
            exit = pick_worse(exit, done);
            if self.stop.load(Ordering::Relaxed) {
                return Exit::Interrupted;
            }
        }
        let count = &self.count;
        if is_folder || count.kernels > 1 || !count.hidden.is_empty() || count.excluded > 0 {
            self.terminal.note(&count.describe(&self.settings.config.name));
        }
        if count.kernels == 0 && exit == Exit::Nothing {
            self.terminal.note(&format!(
                "error: there is no kernel in {}\n  = help: a kernel is a function with `@triton.jit`",
                self.settings.kernels.join(", ")
            ));
            return Exit::Wrong;
        }
        if self.settings.is_strict && count.not_judged + count.not_tried + count.unfinished > 0 {
            exit = pick_worse(exit, Exit::Unexpected);
        }
        exit
    }

    /// Writes and prints everything that needs all kernels.
    fn end(&mut self, exit: Exit) -> Result<(), String> {
        let (text, has_commands) = std::mem::take(&mut self.reports).write(self.args)?;
        if has_commands {
            self.terminal.print_commands(&text);
        } else {
            self.terminal.print_page(&text);
        }
        let unused = self.settings.baseline.count_unused(&self.judged);
        if unused > 0 {
            self.terminal.note(&format!(
                "note: {unused} findings of the baseline are gone: `--write-baseline` removes them"
            ));
        }
        if let Some(path) = &self.args.write_baseline {
            if exit == Exit::Wrong {
                return Err(format!(
                    "error: did not write {}: not every file was checked",
                    path.display()
                ));
            }
            let entries = std::mem::take(&mut self.entries);
            let root = &self.settings.config.root;
            let stays = |entry: &Entry| {
                let is_judged = self.judged.contains(&(entry.file.clone(), entry.kernel.clone()));
                !is_judged && root.join(&entry.file).exists()
            };
            let count = write_baseline(path, entries, stays)?;
            self.terminal.note(&format!(
                "wrote {count} findings to {}: write a reason for each",
                path.display()
            ));
        } else if let Some(code) = self.first_code.take()
            && self.args.format == CheckFormat::Human
        {
            self.terminal
                .note(&format!("help: `cerith explain {code}` explains this finding"));
        }
        Ok(())
    }

    fn check_file(&mut self, asked: &CheckTarget) -> Result<Exit, String> {
        let Some(mut subject) = Subject::open(asked, &self.settings.config, None)? else {
            return Ok(Exit::Nothing);
        };
        let filter = Filter::new(std::mem::take(&mut subject.comments));
        let before = subject
            .find_text(&subject.display_name)
            .unwrap_or_default()
            .to_owned();
        let mut after = before.clone();
        let mut exit = Exit::Nothing;
        let mut judged = true;
        for nth in 0..subject.count_kernels() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Exit::Interrupted);
            }
            subject.deadline = self.settings.timeout.map(|limit| Instant::now() + limit);
            subject.draft_kernel(nth)?;
            let Some(done) = self.check_kernel(&mut subject, nth, asked, &filter, &mut after) else {
                judged = false;
                break;
            };
            exit = pick_worse(exit, done);
        }
        self.keep(&subject, asked)?;
        let is_whole = judged && asked.kernels.is_empty() && exit != Exit::Nothing;
        for (file, ignore) in filter.list_unused().into_iter().filter(|_| is_whole) {
            // Other files of a package may need this comment.
            if file == subject.display_name {
                self.terminal.note(&format!(
                    "note: {file}:{}: `# cerith: ignore[{}]` hides nothing",
                    ignore.line,
                    ignore.codes.join(", ")
                ));
            }
        }
        if self.args.fix && before != after {
            write_edits(&asked.file, &before, &after)?;
            self.terminal
                .note(&format!("edited {}: check it again", subject.display_name));
        }
        Ok(exit)
    }

    /// Checks one kernel. `None` if an engine that was requested is missing.
    fn check_kernel(
        &mut self,
        subject: &mut Subject,
        nth: usize,
        asked: &CheckTarget,
        filter: &Filter,
        edited: &mut String,
    ) -> Option<Exit> {
        let survey = subject.surveys.get(nth)?;
        let selected = Selected::from_corpus(
            subject.build_launch_corpus(std::iter::once(survey)),
            subject.root(),
        );
        let panel = self.open_panel(&selected)?;
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
            findings.add_layouts(survey);
        }
        coverage.related = add_contracts(subject, nth, &mut findings);
        let survey = subject.surveys.get(nth)?;
        let mut report = KernelReport::new(&findings, &subject.display_name, survey);
        report.complete(
            &Context {
                subject,
                config: &self.settings.config,
                baseline: &self.settings.baseline,
                filter,
                coverage: &coverage,
                untried: &untried,
                is_verbose: self.args.verbose,
            },
            survey,
        );
        if subject.cells.is_empty()
            && asked.file != Path::new(text::STDIN)
            && let Some(after) = edit::suggest_edits(&report, edited)
            && let Some(after) = complete_edits(asked, &self.settings.config, &survey.kernel, after)
        {
            report.edits = edit::render_diff(&subject.display_name, edited, &after);
            *edited = after;
        }
        self.entries.extend(report.list_entries(subject));
        Some(self.report_kernel(subject, &report))
    }

    /// Keeps the launches, if that is wished.
    fn keep(&self, subject: &Subject, asked: &CheckTarget) -> Result<(), String> {
        let Some(folder) = &self.args.keep else {
            return Ok(());
        };
        // Several files may have the same name.
        let folder = if asked.explicit {
            folder.clone()
        } else {
            let file = asked.file.with_extension("");
            folder.join(file.to_string_lossy().replace(['/', '\\'], "_"))
        };
        subject
            .keep(&folder)
            .map_err(|error| format!("error: failed to write {}: {error}", folder.display()))
    }

    /// Looks for preconditions of a kernel that honest launches do not judge.
    fn find_preconditions(
        &mut self,
        subject: &mut Subject,
        nth: usize,
        honest: &Coverage,
        findings: &mut Findings,
        panel: &Arc<Panel>,
    ) -> Option<Coverage> {
        let survey = subject.surveys.get(nth)?;
        let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
        if standing != Standing::NotJudged || self.stop.load(Ordering::Relaxed) {
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

    /// The engines; `None` if a requested engine is not available.
    fn open_panel(&mut self, selected: &Selected) -> Option<Arc<Panel>> {
        if let Some(panel) = &self.panel {
            return Some(Arc::clone(panel));
        }
        let total = selected.entries(Shard::ALL).count() as u64;
        let jobs = pipeline::count_jobs(self.args.jobs);
        let setup = if total == 0 {
            Setup::without_engines()
        } else {
            let limited = Reference::new(Config {
                fuel: FUEL,
                program_fuel: FUEL,
                leaving: Leaving::Remarked,
                ..Config::default()
            });
            let reference = limited.with_threads(pipeline::count_threads(jobs, total));

            set_up(
                reference,
                &add_reference(&self.settings.engines),
                self.args.engines.offline,
                jobs,
                selected,
                build_host(&self.terminal),
            )
        };
        for silent in setup.left_out.iter().chain(&setup.failed) {
            self.terminal
                .note(&format!("left out {}: {}", silent.engine, silent.why));
        }
        if !setup.failed.is_empty() {
            return None;
        }
        let panel = Arc::new(setup.panel);
        if total > 0 {
            interrupt::on_interrupt(&panel);
            self.panel = Some(Arc::clone(&panel));
        }
        Some(panel)
    }

    fn report_kernel(&mut self, subject: &Subject, report: &KernelReport<'_>) -> Exit {
        self.reports.add(report);
        match self.args.format {
            CheckFormat::Human => {
                self.terminal.print(&report.render(self.terminal.palette));
                self.print_hidden(&report.hidden);
                if !report.edits.is_empty() {
                    let help = if self.args.fix {
                        "edit"
                    } else {
                        "suggested edit, applied with `--fix`"
                    };
                    self.terminal.print(&format!("  = {help}:\n{}", report.edits));
                }
            }
            CheckFormat::Jsonl => self.terminal.print(&Line::new(report).text()),
            CheckFormat::Github | CheckFormat::Sarif | CheckFormat::Junit => {}
        }
        let standing = report.standing();
        self.count.add(standing);
        self.count.add_hidden(&report.hidden);
        self.count.unfinished += usize::from(!report.untried.is_empty());
        if matches!(standing, Standing::Clean | Standing::Found(_)) {
            let name = (subject.stable_path().to_owned(), report.kernel.to_owned());
            self.judged.insert(name);
        }
        let first = report.list_wrong().map(|one| one.finding);
        let conditions = report.preconditions.iter().map(|one| &one.precondition.finding);
        if let Some(finding) = first.chain(conditions).next() {
            let code = || finding.key.code().to_owned();
            self.first_code.get_or_insert_with(code);
        }
        match standing {
            Standing::Found(_) => Exit::Unexpected,
            Standing::Clean => Exit::AsExpected,
            Standing::NotJudged | Standing::NotTried(_) => Exit::Nothing,
        }
    }

    /// Lists hidden findings with their reasons, if that is requested.
    fn print_hidden(&mut self, hidden: &[Hidden]) {
        if !self.args.verbose {
            return;
        }
        for one in hidden {
            let reason = match one.reason.trim() {
                "" => "no reason given",
                reason => reason,
            };
            self.terminal.print(&format!(
                "  = hidden by {}: {} at {}: {reason}\n",
                one.by, one.code, one.place
            ));
        }
    }

    /// Adds what the launches of a kernel show. Launches for which no time is left are not made.
    fn judge(
        &mut self,
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
        let stop = self.stop;
        let terminal = &self.terminal;
        for problem in selected.corpus.problems() {
            findings.add("", &Event::Problem(describe::to_problem(problem, sources)));
        }
        let mut coverage = Coverage::default();
        let deadline = subject.deadline;
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        terminal.begin(selected.entries(Shard::ALL).count() as u64);
        let judge = Judge {
            panel,
            sources,
            blaming: None,
        };
        pipeline::in_order(
            selected.entries(Shard::ALL),
            pipeline::count_jobs(self.args.jobs),
            |entry| {
                if stop.load(Ordering::Relaxed) || is_late() {
                    return None;
                }
                let mut facts = None;
                let result = judge.judge_entry_with(&entry, |case, _| {
                    facts = LaunchFacts::from_case(case);
                    Some(())
                })?;
                Some((entry, result, facts))
            },
            |(entry, result, facts)| {
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
                terminal.advance(findings.count() as u64);
            },
        );
        terminal.end();
        // A case file with an error has no entry; nothing is missing then.
        if !is_late() {
            coverage.launches.resize(survey.attempts.len(), None);
        }
        coverage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(named: &[&str], expected: &[&str]) {
        let engines: Vec<EngineId> = named
            .iter()
            .map(|name| name.parse().expect("an engine"))
            .collect();
        let asked: Vec<String> = add_reference(&engines).iter().map(ToString::to_string).collect();
        assert_eq!(asked, expected);
    }

    #[test]
    fn the_reference_is_always_asked() {
        // Nothing named: the default engines, the reference among them.
        check(&[], &[]);
        check(&["interpret@3.9.0"], &["reference", "interpret@3.9.0"]);
        check(
            &["ptx@3.9.0", "cuda@3.9.0"],
            &["reference", "ptx@3.9.0", "cuda@3.9.0"],
        );
    }
}
