//! Where the events of a run go: the terminal, and a folder with the stream and the reports made of it.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cerith_case::Problems;
use cerith_report::event::{Event, Once, Severity, Summary};
use cerith_report::{Digest, Html, Human, Junit, Writer, describe, markdown, read};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Sources;

use crate::args::{Reports, RunFormat};
use crate::corpus::ReportFolder;
use crate::exit::Exit;
use crate::gate::Held;
use crate::pipeline::in_order;
use crate::terminal::Terminal;

/// Where the events of a run go: the terminal, and the stream on disk.
pub struct Output {
    /// The terminal.
    pub terminal: Terminal,
    shown: Shown,
    summary: Summary,
    store: Option<Store>,
    /// What decides whether the run passes.
    pub held: Held,
}

/// What the terminal hears of events.
enum Shown {
    /// Text for people.
    Human(Box<Human>),
    /// A line of JSON for each.
    Lines,
    /// Nothing: the command prints what it made of them.
    Nothing,
}

/// Another run writes into the folder.
#[derive(Debug, thiserror::Error)]
#[error(
    "another run is writing its reports into {}\n  = help: wait for its end, or give this run a folder of its own: \
     `--out DIR`",
    folder.display()
)]
pub struct Taken {
    folder: PathBuf,
}

/// The stream on disk.
struct Store {
    folder: PathBuf,
    writer: Writer<File>,
}

/// The result of one case.
pub enum Done {
    /// It was judged.
    Events(Vec<Event>),
    /// There is no such case: its file is wrong at this point of the matrix.
    Wrong(String, Vec<Diagnostic>),
}

impl Output {
    /// Does `work` on every task, of so many, with so many jobs. Shows and keeps the results in order. Errors of case files come
    /// last, each once. `work` answers `None` where the run was stopped.
    pub fn follow<T: Send>(
        &mut self,
        (tasks, total): (impl Iterator<Item = T> + Send, u64),
        jobs: usize,
        stop: &AtomicBool,
        sources: &Sources,
        work: impl Fn(T) -> Option<Done> + Sync,
    ) {
        let mut wrong = Problems::default();
        let mut once = Once::default();
        let enough = AtomicBool::new(false);
        let mut done_with = 0;
        in_order(
            tasks,
            jobs,
            |task| {
                if stop.load(Ordering::Relaxed) || enough.load(Ordering::Relaxed) {
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
                    Done::Events(mut events) => {
                        for event in &mut events {
                            once.event(event);
                            self.held.hold(event);
                        }
                        self.events(&events);
                    }
                    Done::Wrong(id, problems) => {
                        self.terminal.advance(0);
                        wrong.add(&id, problems);
                    }
                }
                let failures = self.summary.failures();
                enough.store(
                    self.held.enough.is_some_and(|enough| failures >= enough),
                    Ordering::Relaxed,
                );
            },
        );
        let enough = enough.into_inner();
        for problem in wrong.finish() {
            self.event(&Event::Problem(describe::problem(&problem, sources)));
        }
        if enough {
            self.summary.not_run = total.saturating_sub(done_with);
        }
        let stream = self.store.as_ref().map(|store| store.folder.join(STREAM));
        let mended = self.held.mended(&stream.unwrap_or_default());
        let stopped = self.held.stopped(self.summary.not_run, total);
        for problem in mended.into_iter().chain(stopped) {
            self.event(&Event::Problem(problem));
        }
    }

    /// Output into the folder that the arguments name, or else into the given one. Removes what an earlier run left there.
    ///
    /// # Errors
    /// Another run writes there.
    pub fn new(args: &Reports, otherwise: &ReportFolder, terminal: Terminal) -> Result<Self, Taken> {
        let shown = match args.format {
            RunFormat::Human => {
                let mut human = Human::new(terminal.palette);
                human.verbose = args.verbose;
                human.known = args.known.into();
                // `cerith expect --cases DIR` does not look into the folder of a corpus that was named as a filter.
                let elsewhere = otherwise.own.is_some().then_some(&otherwise.path);
                let named = args
                    .out
                    .as_ref()
                    .or(elsewhere)
                    .map(|out| out.display().to_string());
                human.kept = Some(named.unwrap_or_default());
                Shown::Human(Box::new(human))
            }
            RunFormat::Jsonl => Shown::Lines,
        };
        Self::showing(shown, args.out.as_deref(), otherwise, terminal)
    }

    /// The same, which shows nothing but the progress.
    ///
    /// # Errors
    /// Another run writes there.
    pub fn quiet(out: Option<&Path>, otherwise: &ReportFolder, terminal: Terminal) -> Result<Self, Taken> {
        Self::showing(Shown::Nothing, out, otherwise, terminal)
    }

    fn showing(
        shown: Shown,
        out: Option<&Path>,
        otherwise: &ReportFolder,
        terminal: Terminal,
    ) -> Result<Self, Taken> {
        let asked = out.is_some();
        let mut summary = Summary::default();
        let (folder, own) = match out {
            Some(folder) => (folder, None),
            None => (&*otherwise.path, otherwise.own.as_deref()),
        };
        let store = match Store::create(folder, own) {
            Ok(store) => Some(store),
            Err(NoStore::Taken) => {
                return Err(Taken {
                    folder: folder.to_owned(),
                });
            }
            Err(NoStore::Io(error)) => {
                terminal.note(&format!(
                    "{}: no report is written: {}: {error}{}",
                    if asked { Severity::Error } else { Severity::Warning },
                    folder.display(),
                    if asked {
                        ""
                    } else {
                        "; `--out DIR` names a folder that can be written"
                    }
                ));
                // Where nobody asked for reports, a place without room for any is as good as none.
                summary.unwritten += u64::from(asked);
                None
            }
        };
        Ok(Self {
            terminal,
            shown,
            summary,
            store,
            held: Held::default(),
        })
    }

    /// Shows and keeps events.
    pub fn events(&mut self, events: &[Event]) {
        for event in events {
            self.event(event);
        }
    }

    /// Shows and keeps an event.
    pub fn event(&mut self, event: &Event) {
        self.summary.count(event);
        self.show(event);
        if matches!(event, Event::Verdict(_) | Event::Sweep(_)) {
            self.terminal.advance(self.summary.failures());
        }
        let Some(store) = &mut self.store else { return };
        if let Err(error) = store.writer.event(event) {
            self.give_up(&error);
        }
    }

    fn show(&mut self, event: &Event) {
        let text = match &mut self.shown {
            Shown::Nothing => return,
            Shown::Human(human) => human.event(event),
            Shown::Lines => {
                let mut line = Vec::new();
                match Writer::new(&mut line).event(event) {
                    Ok(()) => String::from_utf8(line).unwrap_or_default(),
                    Err(_) => String::new(),
                }
            }
        };
        self.terminal.print(&text);
    }

    /// The disk is full, or gone. Events that are not shown yet are shown on the terminal.
    fn give_up(&mut self, error: &io::Error) {
        let Some(store) = self.store.take() else { return };
        self.terminal.note(&format!(
            "error: write {}: {error}; the run goes on, and its results are only printed here",
            store.folder.join(STREAM).display()
        ));
        self.summary.unwritten += 1;
        let (file, whole) = store.writer.into_parts();
        // A part of a line is of no use. What has no length, such as a pipe, keeps it.
        let _ = file.set_len(whole);
    }

    /// Ends the stream, writes the reports, and answers with the exit code. The summary is shown last, when all is written.
    pub fn finish(self, began: Instant, interrupted: bool) -> Exit {
        self.finish_after(began.elapsed().as_secs_f64(), interrupted)
    }

    /// The same for a run that took so many seconds.
    pub fn finish_after(mut self, seconds: f64, interrupted: bool) -> Exit {
        self.summary.seconds = seconds;
        self.summary.interrupted = interrupted;
        self.summary.exit = self.summary.exit_code();
        let event = Event::Summary(self.summary.clone());
        if let Some(store) = &mut self.store
            && let Err(error) = store.writer.event(&event)
        {
            self.give_up(&error);
        }
        let mut written = None;
        if let Some(store) = self.store.take() {
            match store.reports() {
                Ok(()) => written = Some(store.folder),
                Err(error) => {
                    self.terminal.note(&format!(
                        "error: write the reports in {}: {error}; `cerith report {}` prints them again",
                        store.folder.display(),
                        store.folder.join(STREAM).display()
                    ));
                    self.summary.unwritten += 1;
                }
            }
        }
        self.summary.exit = self.summary.exit_code();
        let exit = Exit::from(self.summary.exit);
        self.show(&Event::Summary(self.summary.clone()));
        if let Some(folder) = written.filter(|_| matches!(self.shown, Shown::Human(_))) {
            self.terminal.print(&format!(
                "reports: {}, report.md, junit.xml, {STREAM}\n",
                folder.join("report.html").display()
            ));
        }
        if self.terminal.failed() && matches!(exit, Exit::AsExpected | Exit::Nothing) {
            Exit::Wrong
        } else {
            exit
        }
    }
}

/// The stream's file in a report's folder.
pub const STREAM: &str = "events.jsonl";

/// The pages made of it.
const PAGES: [&str; 3] = ["report.html", "report.md", "junit.xml"];

/// Why there is no stream on disk.
enum NoStore {
    /// Another run writes it.
    Taken,
    /// The place cannot be written.
    Io(io::Error),
}

impl From<io::Error> for NoStore {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Store {
    /// Begins a stream in a folder. `own` is a folder of Cerith's own around it, which git is told to leave out.
    fn create(folder: &Path, own: Option<&Path>) -> Result<Self, NoStore> {
        fs::create_dir_all(folder)?;
        if let Some(ignored) = own.map(|own| own.join(".gitignore"))
            && !ignored.exists()
        {
            fs::write(ignored, "*\n")?;
        }
        // Nothing that is there is touched before it is known that no run is writing it.
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join(STREAM))?;
        let lasting = file.metadata()?.is_file();
        // The system drops the lock with the process. A file system without locks is as good as any.
        if lasting && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(NoStore::Taken);
        }
        // A run that is killed must not leave behind what a run before it said.
        for page in PAGES {
            match fs::remove_file(folder.join(page)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        if lasting {
            file.set_len(0)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            writer: Writer::new(file),
        })
    }

    /// Prints the stored stream as every other format.
    fn reports(&self) -> Result<(), String> {
        let mut digest = Digest::default();
        let mut junit = Junit::default();
        let mut html = Html::default();
        let file = File::open(self.folder.join(STREAM)).map_err(|error| error.to_string())?;
        read(BufReader::new(file), |event| {
            digest.event(&event);
            junit.event(&event);
            html.event(&event);
        })
        .map_err(|error| error.to_string())?;
        // One after the other: of a long run each is large.
        let digest = digest.finish();
        self.page("report.html", html.finish().map_err(|error| error.to_string()))?;
        self.page("report.md", Ok(markdown(&digest)))?;
        self.page("junit.xml", junit.finish().map_err(|error| error.to_string()))
    }

    /// Writes a page.
    fn page(&self, name: &str, page: Result<String, String>) -> Result<(), String> {
        write_whole(&self.folder.join(name), &page?).map_err(|error| format!("{name}: {error}"))
    }
}

/// Writes a file beside its place and moves it there, so that nobody finds half of it.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let written = File::create(&partial)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // What is left of it is of no use; the first error is the one to report.
        let _ = fs::remove_file(&partial);
    }
    written
}
