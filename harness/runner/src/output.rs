//! The outputs of a run's events: the terminal, and a folder with the stream and its reports.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::Problems;
use cerith_report::event::{Deduplicator, Event, Severity, Summary};
use cerith_report::{Human, Writer, describe, safe};
use cerith_tile::source::Sources;

use crate::corpus::ReportFolder;
use crate::exit::Exit;
use crate::gate::PassCriteria;
use crate::judge::CaseResult;
use crate::pipeline::in_order;
use crate::report_folder::{NoStore, Plan, Store};

use crate::host::{Console, Host};
use crate::options::{PrintFormat, ReportOptions};
pub use crate::report_folder::{Blocked, PARTIAL, STREAM, find_latest_stream};

/// The outputs of a run's events: the terminal, and the stream on disk.
pub struct Output<'a> {
    /// The terminal.
    pub console: &'a dyn Console,
    printer: EventPrinter,
    summary: Summary,
    store: Option<Store>,
    /// The criteria by which the run passes.
    pub criteria: PassCriteria,
}

/// The format in which the terminal shows events.
enum EventPrinter {
    /// Text for people.
    Human(Box<Human>),
    /// A line of JSON for each.
    Lines(Box<Writer<Vec<u8>>>),
    /// Nothing: the command prints its own results.
    Nothing,
}

impl<'a> Output<'a> {
    /// Does `work` on every task, of so many, with so many jobs. Shows and keeps the results in order. Errors of case files come
    /// last, each once. `work` answers `None` where the run was stopped.
    pub fn follow<T: Send>(
        &mut self,
        (tasks, total): (impl Iterator<Item = T> + Send, u64),
        jobs: usize,
        host: Host<'_>,
        sources: &Sources,
        work: impl Fn(T) -> Option<CaseResult> + Sync,
    ) {
        let mut wrong = Problems::default();
        let mut once = Deduplicator::default();
        let enough = AtomicBool::new(false);
        let mut done_with = 0;
        in_order(
            tasks,
            jobs,
            |task| {
                if host.is_stopped() || enough.load(Ordering::Relaxed) {
                    None
                } else {
                    work(task)
                }
            },
            |done| {
                // With other jobs more may be done already; which cases are judged does not depend on that.
                if enough.load(Ordering::Relaxed) {
                    return;
                }
                done_with += 1;
                match done {
                    CaseResult::Events(mut events) => {
                        for event in &mut events {
                            once.remove_repeats(event);
                            self.criteria.compare_event(event);
                        }
                        self.emit_events(&events);
                    }
                    CaseResult::Wrong(id, problems) => {
                        self.console.advance(0);
                        wrong.add(&id, problems);
                    }
                }
                let failures = self.summary.failures();
                enough.store(
                    self.criteria.enough.is_some_and(|enough| failures >= enough),
                    Ordering::Relaxed,
                );
            },
        );
        let enough = enough.into_inner();
        for problem in wrong.finish() {
            self.emit_event(&Event::Problem(describe::to_problem(&problem, sources)));
        }
        if enough {
            self.summary.not_run = total.saturating_sub(done_with);
        }
        let whole = !host.is_stopped() && self.summary.not_run == 0;
        let stream = self
            .store
            .as_ref()
            .map(|store| store.final_folder(whole).join(STREAM));
        let mended = self.criteria.warn_fixed(&stream.unwrap_or_default());
        let stopped = self.criteria.warn_stopped(self.summary.not_run, total);
        for problem in mended.into_iter().chain(stopped) {
            self.emit_event(&Event::Problem(problem));
        }
    }

    /// Output into the folder that the arguments name, or into the given one. `partial` says whether the run excludes cases of the
    /// corpus: then its reports do not replace those of a run of all cases, unless the arguments name the folder.
    ///
    /// # Errors
    /// Another run writes there, or a link or something else is in the place of a file.
    pub fn new(
        options: &ReportOptions,
        otherwise: &ReportFolder,
        partial: bool,
        console: &'a dyn Console,
    ) -> Result<Self, Blocked> {
        let shown = match options.format {
            PrintFormat::Human => {
                let mut human = Human::new(console.palette());
                human.verbose = options.verbose;
                human.known_detail = options.known_detail;
                // `cerith expect --cases DIR` does not look into the folder of a corpus that was named as a filter.
                let elsewhere = otherwise.cerith_folder.is_some().then_some(&otherwise.path);
                let named = options
                    .out
                    .as_ref()
                    .or(elsewhere)
                    .map(|out| out.display().to_string());
                human.reports_folder = Some(named.unwrap_or_default());
                EventPrinter::Human(Box::new(human))
            }
            PrintFormat::Jsonl => EventPrinter::Lines(Box::new(Writer::new(Vec::new()))),
        };
        Self::with_printer(shown, options.out.as_deref(), otherwise, partial, console)
    }

    /// Creates an output that shows only the progress.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn new_quiet(
        out: Option<&Path>,
        otherwise: &ReportFolder,
        partial: bool,
        console: &'a dyn Console,
    ) -> Result<Self, Blocked> {
        Self::with_printer(EventPrinter::Nothing, out, otherwise, partial, console)
    }

    fn with_printer(
        shown: EventPrinter,
        out: Option<&Path>,
        otherwise: &ReportFolder,
        partial: bool,
        console: &'a dyn Console,
    ) -> Result<Self, Blocked> {
        let asked = out.is_some();
        let mut summary = Summary::default();
        let plan = Plan {
            folder: out.unwrap_or(&otherwise.path),
            cerith_folder: otherwise.cerith_folder.as_deref().filter(|_| !asked),
            keeps: !asked,
            partial,
        };
        let folder = plan.folder;
        let store = match Store::create(&plan) {
            Ok(store) => Some(store),
            Err(NoStore::Blocked(blocked)) => return Err(blocked),
            Err(NoStore::Io(error)) => {
                console.note(&format!(
                    "{}: no report is written: {}: {error}{}",
                    if asked { Severity::Error } else { Severity::Warning },
                    folder.display(),
                    if asked {
                        ""
                    } else {
                        "; `--out DIR` names a folder that can be written"
                    }
                ));
                // Unless the user asked for reports, a folder that cannot be written is not an error.
                summary.unwritten += u64::from(asked);
                None
            }
        };
        Ok(Self {
            console,
            printer: shown,
            summary,
            store,
            criteria: PassCriteria::default(),
        })
    }

    /// Shows and keeps events.
    pub fn emit_events(&mut self, events: &[Event]) {
        for event in events {
            self.emit_event(event);
        }
    }

    /// Shows and keeps an event.
    pub fn emit_event(&mut self, event: &Event) {
        self.summary.count(event);
        self.show(event);
        if matches!(event, Event::Verdict(_) | Event::Sweep(_)) {
            self.console.advance(self.summary.failures());
        }
        let Some(store) = &mut self.store else { return };
        if let Err(error) = store.writer.write_event(event) {
            self.give_up(&error);
        }
    }

    fn show(&mut self, event: &Event) {
        let text = match &mut self.printer {
            EventPrinter::Nothing => return,
            EventPrinter::Human(human) => human.render_event(event),
            EventPrinter::Lines(writer) => {
                // Nothing fails to be written into memory.
                let _ = writer.write_event(event);
                let lines = writer.take();
                return self.console.print(&String::from_utf8_lossy(&lines));
            }
        };
        self.console.print(&text);
    }

    /// The disk is full, or gone. Events that are not shown yet are shown on the terminal.
    fn give_up(&mut self, error: &io::Error) {
        let Some(store) = self.store.take() else { return };
        self.console.note(&format!(
            "error: write {}: {error}; the run goes on, and its results are only printed here",
            store.folder().join(STREAM).display()
        ));
        self.summary.unwritten += 1;
        store.give_up();
    }

    /// Ends the stream, writes the reports, and returns the exit code. The summary is shown last, when all is written.
    pub fn finish(self, began: Instant, interrupted: bool) -> Exit {
        self.finish_after(began.elapsed().as_secs_f64(), interrupted)
    }

    /// Finishes a run that took this number of seconds.
    pub fn finish_after(mut self, seconds: f64, interrupted: bool) -> Exit {
        self.summary.seconds = seconds;
        self.summary.interrupted = interrupted;
        self.summary.exit = self.summary.exit_code();
        let event = Event::Summary(self.summary.clone());
        if let Some(store) = &mut self.store
            && let Err(error) = store.writer.write_event(&event)
        {
            self.give_up(&error);
        }
        let mut written = None;
        if let Some(store) = self.store.take() {
            let whole = !interrupted && self.summary.not_run == 0;
            match store.write_reports().and_then(|()| store.finish(whole)) {
                Ok(kept) => written = Some((store.final_folder(whole), kept)),
                Err(error) => {
                    self.console.note(&format!(
                        "error: write the reports in {}: {error}; `cerith report {}` prints them again",
                        store.folder().display(),
                        store.folder().join(STREAM).display()
                    ));
                    self.summary.unwritten += 1;
                }
            }
        }
        self.summary.exit = self.summary.exit_code();
        let exit = Exit::from(self.summary.exit);
        if written.is_none()
            && let EventPrinter::Human(human) = &mut self.printer
        {
            // `cerith expect` reads the stream that was kept.
            human.reports_folder = None;
        }
        self.show(&Event::Summary(self.summary.clone()));
        if let Some((folder, kept)) = written.filter(|_| matches!(self.printer, EventPrinter::Human(_))) {
            self.console.print(&safe::escape_line(&format!(
                "reports: {}, report.md, junit.xml, {STREAM}",
                folder.join("report.html").display()
            )));
            self.console.print("\n");
            if let Some(kept) = kept {
                self.console.print(&safe::escape_line(&format!(
                    "the reports of the last run of all cases are still in {}",
                    kept.display()
                )));
                self.console.print("\n");
            }
        }
        exit
    }
}
