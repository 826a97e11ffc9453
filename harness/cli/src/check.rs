//! `cerith check`: tries the kernels of files and packages, and says each thing that is found once.

mod conformance;
mod count;
mod engines;
mod error;
mod reports;
mod settings;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;

use cerith_check::baseline::{Entry, write_baseline};
use cerith_check::checker::Checker;
use cerith_check::code;
use cerith_check::conformance::{ConformanceReport, ConformanceVerdict, LikeSource};
use cerith_check::hidden::Hidden;
use cerith_check::line::Line;
use cerith_check::report::{KernelReport, Standing};
use cerith_check::subject::{FilesRead, Subject};
use cerith_check::target::{CheckTarget, find_targets};
use cerith_runner::{Exit, Host};

use self::count::Count;
use self::engines::Engines;
use self::error::CheckError;
use self::reports::Reports;
use self::settings::Settings;
use crate::args::{CheckArgs, CheckFormat};
use crate::interrupt::build_host;
use crate::terminal::Terminal;

/// Checks, once or again after each change, and returns the exit code.
pub fn check(args: &CheckArgs, terminal: &Terminal) -> Exit {
    if args.watch {
        watch::watch(args, terminal)
    } else {
        check_once(args, terminal, &FilesRead::default())
    }
}

/// Checks once. The files that decide the result are added to `read`.
fn check_once(args: &CheckArgs, terminal: &Terminal, read: &FilesRead) -> Exit {
    let settings = match Settings::read(args, read) {
        Ok(settings) => settings,
        Err(error) => {
            terminal.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let mut checking = Checking {
        args,
        host: build_host(terminal),
        settings: &settings,
        read,
        output: Output {
            args,
            terminal,
            count: Count::default(),
            reports: Reports::default(),
            entries: Vec::new(),
            judged: BTreeSet::new(),
            first_code: None,
            has_unlike: false,
        },
    };
    let exit = checking.check_all();
    if exit == Exit::Interrupted {
        return exit;
    }
    let has_unlike = checking.output.has_unlike;
    match checking.end(exit) {
        Ok(()) if args.write_baseline.is_some() && exit == Exit::Unexpected && !has_unlike => {
            Exit::AsExpected
        }
        Ok(()) => exit,
        Err(error) => {
            terminal.note(&error.to_string());
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

/// Writes the edits of a file, unless the file has changed.
fn write_edits(file: &Path, before: &str, after: &str) -> Result<(), CheckError> {
    let failed = |error| CheckError::Edit {
        path: file.to_owned(),
        error,
    };
    let present = cerith_files::read_text(file, cerith_case::MAX_TEXT as u64).map_err(failed)?;
    if present != before {
        return Err(CheckError::Changed(file.to_owned()));
    }
    cerith_files::write(file, after).map_err(failed)
}

/// One check of all targets.
struct Checking<'a> {
    args: &'a CheckArgs,
    host: Host<'a>,
    settings: &'a Settings,
    read: &'a FilesRead,
    output: Output<'a>,
}

/// The reports of kernels, printed and counted.
struct Output<'a> {
    args: &'a CheckArgs,
    terminal: &'a Terminal,
    count: Count,
    reports: Reports,
    /// The findings, for a baseline.
    entries: Vec<Entry>,
    /// The files and kernels that were judged.
    judged: BTreeSet<(String, String)>,
    /// The code of the first finding.
    first_code: Option<String>,
    /// Whether a launcher was not found to compute its reference function. No baseline has that.
    has_unlike: bool,
}

impl Checking<'_> {
    fn check_all(&mut self) -> Exit {
        let files = match find_targets(&self.settings.kernels) {
            Ok(files) => files,
            Err(error) => {
                self.output.terminal.note(&error.to_string());
                return Exit::Wrong;
            }
        };
        for file in &files {
            self.read.add(&file.file);
        }
        let mut engines = Engines {
            requested: &self.settings.engines,
            is_offline: self.args.engines.offline,
            jobs: self.args.jobs,
            schedules: self.args.orders.schedules,
            host: self.host,
            panel: None,
        };
        let mut exit = Exit::Nothing;
        let is_folder = files.iter().any(|asked| !asked.explicit);
        for asked in &files {
            if !asked.explicit && self.settings.config.is_excluded(&asked.file) {
                self.output.count.excluded += 1;
                continue;
            }
            let done = self.check_file(asked, &mut engines).unwrap_or_else(|error| {
                let message = error.to_string();
                self.output.terminal.note(&message);
                self.output
                    .reports
                    .add_error(&asked.file.to_string_lossy(), &message);
                Exit::Wrong
            });
            exit = pick_worse(exit, done);
            if self.host.is_stopped() {
                return Exit::Interrupted;
            }
        }
        let count = &self.output.count;
        if is_folder || count.kernels > 1 || !count.hidden.is_empty() || count.excluded > 0 {
            self.output
                .terminal
                .note(&count.describe(&self.settings.config.name));
        }
        if count.kernels == 0 && exit == Exit::Nothing {
            self.output.terminal.note(&format!(
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
    fn end(&mut self, exit: Exit) -> Result<(), CheckError> {
        let (text, has_commands) = std::mem::take(&mut self.output.reports).write(self.args)?;
        if has_commands {
            self.output.terminal.print_commands(&text);
        } else {
            self.output.terminal.print_page(&text);
        }
        let unused = self.settings.baseline.count_unused(&self.output.judged);
        if unused > 0 {
            self.output.terminal.note(&format!(
                "note: {unused} findings of the baseline are gone: `--write-baseline` removes them"
            ));
        }
        if let Some(path) = &self.args.write_baseline {
            if exit == Exit::Wrong {
                return Err(CheckError::PartialBaseline(path.clone()));
            }
            let entries = std::mem::take(&mut self.output.entries);
            let root = &self.settings.config.root;
            let stays = |entry: &Entry| {
                let is_judged = self
                    .output
                    .judged
                    .contains(&(entry.file.clone(), entry.kernel.clone()));
                !is_judged && root.join(&entry.file).exists()
            };
            let count = write_baseline(path, entries, stays)?;
            self.output.terminal.note(&format!(
                "wrote {count} findings to {}: write a reason for each",
                path.display()
            ));
        } else if let Some(code) = self.output.first_code.take()
            && self.args.format == CheckFormat::Human
        {
            self.output
                .terminal
                .note(&format!("help: `cerith explain {code}` explains this finding"));
        }
        Ok(())
    }

    fn check_file(&mut self, asked: &CheckTarget, engines: &mut Engines<'_>) -> Result<Exit, CheckError> {
        let mut exit = Exit::Nothing;
        let output = &mut self.output;
        let mut checker = Checker {
            config: &self.settings.config,
            baseline: &self.settings.baseline,
            timeout: self.settings.timeout,
            jobs: self.args.jobs,
            is_verbose: self.args.verbose,
            host: self.host,
            open_panel: &mut |selected| engines.open(selected),
        };
        let checked = checker.check_file(asked, None, self.read, &mut |subject, _, report| {
            output.entries.extend(report.list_entries(subject));
            exit = pick_worse(exit, output.report_kernel(subject, report));
        })?;
        for entry in conformance::list_launchers(self.args, self.settings, &asked.file) {
            if let LikeSource::File(file) = &entry.like.source {
                self.read.add(file);
            }
            let report = conformance::compare(self.args, &asked.file, &entry, self.host)?;
            exit = pick_worse(exit, self.output.report_conformance(&report));
            if self.host.is_stopped() {
                return Ok(Exit::Interrupted);
            }
        }
        let Some(checked) = checked else {
            return Ok(exit);
        };
        if self.host.is_stopped() {
            return Ok(Exit::Interrupted);
        }
        let subject = &checked.subject;
        self.keep(subject, asked)?;
        let is_whole = checked.is_whole && asked.kernels.is_empty() && exit != Exit::Nothing;
        let unused = checked.filter.list_unused().into_iter();
        for (file, ignore) in unused.filter(|_| is_whole) {
            // Other files of a package may need this comment.
            if file == subject.display_name {
                self.output.terminal.note(&format!(
                    "note: {file}:{}: `# cerith: ignore[{}]` hides nothing",
                    ignore.line,
                    ignore.codes.join(", ")
                ));
            }
        }
        if self.args.fix && checked.before != checked.after {
            write_edits(&asked.file, &checked.before, &checked.after)?;
            self.output
                .terminal
                .note(&format!("edited {}: check it again", subject.display_name));
        }
        Ok(exit)
    }

    /// Keeps the launches, if that is wished.
    fn keep(&self, subject: &Subject, asked: &CheckTarget) -> Result<(), CheckError> {
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
            .map_err(|error| CheckError::Write { path: folder, error })
    }
}

impl Output<'_> {
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
        if let Some(proved) = report.proved {
            self.count.proved.add(proved);
        }
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

    fn report_conformance(&mut self, report: &ConformanceReport) -> Exit {
        self.reports.add_conformance(report);
        match self.args.format {
            CheckFormat::Human => self.terminal.print(&format!("{}\n", report.text.trim_end())),
            CheckFormat::Jsonl => self.terminal.print(&report.line()),
            CheckFormat::Github | CheckFormat::Sarif | CheckFormat::Junit => {}
        }
        self.count.not_judged += usize::from(report.is_partial());
        if report.is_failure() {
            self.has_unlike = true;
            return Exit::Unexpected;
        }
        match report.verdict {
            ConformanceVerdict::Agree => Exit::AsExpected,
            _ => Exit::Nothing,
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
}
