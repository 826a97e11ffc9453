//! `cerith check`: tries the kernels of files and packages, and says each thing that is found once.

mod finding;
mod fitting;
mod line;
mod reports;
mod subject;
mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cerith_case::Shard;
use cerith_engine::{EngineId, Reference};
use cerith_interp::{Config, Leaving};
use cerith_report::describe;
use cerith_report::event::Event;
use cerith_runner::Exit;
use cerith_runner::corpus::Selected;
use cerith_runner::engines::{Setup, set_up};
use cerith_runner::judge::{CaseResult, Judge};
use cerith_runner::pipeline;
use cerith_survey::Survey;
use cerith_tile::rules::Version;
use cerith_verdict::Panel;

use self::finding::{Findings, KernelReport, Precondition, Standing};
use self::line::Line;
use self::reports::Reports;
use self::subject::Subject;
use self::target::{CheckTarget, find_targets};
use crate::args::{CheckArgs, CheckFormat};
use crate::interrupt::{self, build_host};
use crate::terminal::Terminal;

/// Operations and lanes of a launch. Sizes are those of few blocks: a launch that takes longer waits for something that never comes.
const FUEL: u64 = 1 << 25;

/// Checks, and answers with the exit code.
pub fn check(args: &CheckArgs, stop: &'static AtomicBool) -> Exit {
    let mut checking = Checking {
        args,
        stop,
        terminal: Terminal::new(),
        panel: None,
        count: Count::default(),
        reports: Reports::default(),
    };
    let files = match find_targets(&args.kernels) {
        Ok(files) => files,
        Err(message) => {
            checking.terminal.note(&message);
            return Exit::Wrong;
        }
    };
    let mut exit = Exit::Nothing;
    for asked in &files {
        let done = match checking.check_file(asked) {
            Ok(done) => done,
            Err(message) => {
                checking.terminal.note(&message);
                checking
                    .reports
                    .add_error(&asked.file.to_string_lossy(), &message);
                Exit::Wrong
            }
        };
        exit = pick_worse(exit, done);
        if stop.load(Ordering::Relaxed) {
            return Exit::Interrupted;
        }
    }
    if let Err(message) = std::mem::take(&mut checking.reports).write(args) {
        checking.terminal.note(&message);
        return Exit::Wrong;
    }
    if files.iter().any(|asked| !asked.explicit) || checking.count.kernels > 1 {
        checking.terminal.note(&checking.count.describe());
    }
    if checking.count.kernels == 0 && exit == Exit::Nothing {
        checking.terminal.note(&format!(
            "error: there is no kernel in {}\n  = help: a kernel is a function with `@triton.jit`",
            args.kernels.join(", ")
        ));
        return Exit::Wrong;
    }
    exit
}

/// What several files come to: bad input before findings, findings before none, anything before nothing at all.
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

/// Adds what the launches of judged kernels leave open: elements that nothing writes, and sizes that only blocks bound.
fn add_contracts(subject: &Subject, findings: &mut Findings) {
    for survey in &subject.surveys {
        let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
        if !matches!(standing, Standing::Clean | Standing::Found(_)) {
            continue;
        }
        for unwritten in subject.find_unwritten(survey) {
            findings.add_unwritten(survey, &unwritten);
        }
        if let Some(unmasked) = &survey.unmasked {
            findings.add_unmasked(&subject.display_name, survey, unmasked);
        }
    }
}

/// The engines, of which the reference speaks the language of a version.
fn in_language(panel: &Arc<Panel>, version: Option<Version>) -> Arc<Panel> {
    version.map_or_else(
        || Arc::clone(panel),
        |version| Arc::new(panel.with_language(version)),
    )
}

/// How many kernels there were, and what came of them.
#[derive(Default)]
struct Count {
    kernels: usize,
    clean: usize,
    with_findings: usize,
    not_judged: usize,
    not_tried: usize,
}

impl Count {
    fn add(&mut self, standing: Standing) {
        self.kernels += 1;
        match standing {
            Standing::Clean => self.clean += 1,
            Standing::Found(_) => self.with_findings += 1,
            Standing::NotJudged => self.not_judged += 1,
            Standing::NotTried(_) => self.not_tried += 1,
        }
    }

    fn describe(&self) -> String {
        format!(
            "{} kernels: {} with findings, {} with nothing found, {} not judged, {} not tried",
            self.kernels, self.with_findings, self.clean, self.not_judged, self.not_tried
        )
    }
}

struct Checking<'a> {
    args: &'a CheckArgs,
    stop: &'static AtomicBool,
    terminal: Terminal,
    /// The engines, once the first kernel needs them.
    panel: Option<Arc<Panel>>,
    count: Count,
    reports: Reports,
}

impl Checking<'_> {
    fn check_file(&mut self, asked: &CheckTarget) -> Result<Exit, String> {
        let Some(mut subject) = Subject::open(asked)? else {
            return Ok(Exit::Nothing);
        };
        let selected = Selected::from_corpus(
            subject.build_launch_corpus(subject.surveys.iter()),
            subject.root(),
        );
        let Some(panel) = self.open_panel(&selected) else {
            self.keep(&subject, asked)?;
            return Ok(Exit::Nothing);
        };
        let mut findings = Findings::default();
        let mut versions: Vec<Option<Version>> = subject.surveys.iter().map(|one| one.version).collect();
        versions.sort_unstable();
        versions.dedup();
        for version in versions {
            let surveys = subject.surveys.iter().filter(|survey| survey.version == version);
            self.judge(&subject, surveys, version, &panel, &mut findings);
        }
        self.find_preconditions(&mut subject, &mut findings, &panel);
        add_contracts(&subject, &mut findings);
        self.keep(&subject, asked)?;
        Ok(self.report_kernels(&subject, &findings))
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

    /// Looks for preconditions of the kernels that honest launches do not judge.
    fn find_preconditions(&mut self, subject: &mut Subject, findings: &mut Findings, panel: &Arc<Panel>) {
        for at in 0..subject.surveys.len() {
            let Some(survey) = subject.surveys.get(at) else {
                continue;
            };
            let standing = KernelReport::new(findings, &subject.display_name, survey).standing();
            if standing != Standing::NotJudged || self.stop.load(Ordering::Relaxed) {
                continue;
            }
            let Some(other) = subject.find_passing(survey) else {
                continue;
            };
            let trap = findings.find_trap(survey);
            let mut found = Findings::default();
            let surveys = std::iter::once(&other);
            self.judge(subject, surveys, other.version, panel, &mut found);
            if KernelReport::new(&found, &subject.display_name, &other).standing() == Standing::NotJudged {
                continue;
            }
            findings.replace(survey, found);
            if let Some(finding) = trap {
                let is_new = |word: &&String| !survey.changed.contains(*word);
                let unless = other.changed.iter().filter(is_new).cloned().collect();
                findings.add_precondition(survey, Precondition { unless, finding });
            }
            if let Some(survey) = subject.surveys.get_mut(at) {
                *survey = other;
            }
        }
    }

    /// The engines; none if one that was asked for cannot be had.
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
            let engines = &self.args.engines;
            set_up(
                reference,
                &add_reference(&engines.engines),
                engines.offline,
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

    fn report_kernels(&mut self, subject: &Subject, findings: &Findings) -> Exit {
        let (mut found, mut judged) = (false, false);
        for survey in &subject.surveys {
            let told = KernelReport::new(findings, &subject.display_name, survey);
            self.reports.add(&told);
            match self.args.format {
                CheckFormat::Human => self.terminal.print(&told.render(self.terminal.palette)),
                CheckFormat::Jsonl => self.terminal.print(&Line::new(&told).text()),
            }
            let standing = told.standing();
            self.count.add(standing);
            found |= matches!(standing, Standing::Found(_));
            judged |= matches!(standing, Standing::Found(_) | Standing::Clean);
        }
        match (judged, found) {
            (false, _) => Exit::Nothing,
            (_, false) => Exit::AsExpected,
            _ => Exit::Unexpected,
        }
    }

    /// Adds what the launches of some kernels show by the language of a version.
    fn judge<'s>(
        &mut self,
        subject: &Subject,
        surveys: impl Iterator<Item = &'s Survey>,
        version: Option<Version>,
        panel: &Arc<Panel>,
        findings: &mut Findings,
    ) {
        let selected = Selected::from_corpus(subject.build_launch_corpus(surveys), subject.root());
        let panel = &in_language(panel, version);
        let sources = selected.corpus.sources();
        let stop = self.stop;
        let terminal = &mut self.terminal;
        for problem in selected.corpus.problems() {
            findings.add("", &Event::Problem(describe::to_problem(problem, sources)));
        }
        terminal.begin(selected.entries(Shard::ALL).count() as u64);
        let judge = Judge {
            panel,
            sources,
            blaming: None,
        };
        judge.judge_entries(
            selected.entries(Shard::ALL),
            pipeline::count_jobs(self.args.jobs),
            || stop.load(Ordering::Relaxed),
            |entry, result| {
                let events = match result {
                    CaseResult::Events(events) => events,
                    CaseResult::Wrong(_, problems) => problems
                        .iter()
                        .map(|problem| Event::Problem(describe::to_problem(problem, sources)))
                        .collect(),
                };
                for event in &events {
                    findings.add(&entry.id, event);
                }
                terminal.advance(findings.len() as u64);
            },
        );
        terminal.end();
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
