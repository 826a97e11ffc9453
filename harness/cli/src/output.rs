//! Where the events of a run go: the terminal, and a folder with the stream and the reports made of it.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use conch_case::Problems;
use conch_report::event::{Event, Summary};
use conch_report::{Digest, Human, Junit, Writer, describe, html, markdown, read};
use conch_tile::diagnostic::Diagnostic;
use conch_tile::source::Sources;

use crate::args::{Reports, RunFormat};
use crate::corpus::ReportFolder;
use crate::pipeline::in_order;
use crate::terminal::Terminal;

/// Where the events of a run go: the terminal, and the stream on disk.
pub struct Output {
    /// The terminal.
    pub terminal: Terminal,
    human: Option<Human>,
    summary: Summary,
    store: Option<Store>,
    /// Whether the folder was asked for, so that failing to write there is an error.
    asked: bool,
    failed: u64,
}

/// The stream on disk.
struct Store {
    folder: PathBuf,
    writer: Writer<File>,
}

/// What came of one case.
pub enum Done {
    /// It was judged.
    Events(Vec<Event>),
    /// There is no such case: its file is wrong at this point of the matrix.
    Wrong(String, Vec<Diagnostic>),
}

impl Output {
    /// Does `work` on every task with so many jobs, and shows and keeps what comes of it, in order; what is wrong with case
    /// files comes last, each thing once. `work` answers `None` where the run was stopped.
    pub fn follow<T: Send>(
        &mut self,
        tasks: impl Iterator<Item = T> + Send,
        jobs: usize,
        stop: &AtomicBool,
        sources: &Sources,
        work: impl Fn(T) -> Option<Done> + Sync,
    ) {
        let mut wrong = Problems::default();
        in_order(
            tasks,
            jobs,
            |task| {
                if stop.load(Ordering::Relaxed) {
                    None
                } else {
                    work(task)
                }
            },
            |done| match done {
                Done::Events(events) => self.events(&events),
                Done::Wrong(id, problems) => {
                    self.terminal.advance(0);
                    wrong.add(&id, problems);
                }
            },
        );
        for problem in wrong.finish() {
            self.event(&Event::Problem(describe::problem(&problem, sources)));
        }
    }

    /// Output into the folder that the arguments name, or else into another one.
    pub fn new(args: &Reports, otherwise: &ReportFolder, terminal: Terminal) -> Self {
        let asked = args.out.is_some();
        let mut failed = 0;
        let (folder, own) = match &args.out {
            Some(folder) => (folder, None),
            None => (&otherwise.path, otherwise.own.as_deref()),
        };
        let store = match Store::create(folder, own) {
            Ok(store) => Some(store),
            Err(error) => {
                terminal.note(&format!(
                    "{}: no report is written: {}: {error}{}",
                    if asked { "error" } else { "warning" },
                    folder.display(),
                    if asked {
                        ""
                    } else {
                        "; `--out DIR` names a folder that can be written"
                    }
                ));
                failed += u64::from(asked);
                None
            }
        };
        let human = (args.format == RunFormat::Human).then(|| {
            let mut human = Human::new(terminal.palette);
            human.verbose = args.verbose;
            human
        });
        Self {
            terminal,
            human,
            summary: Summary::default(),
            store,
            asked,
            failed,
        }
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
        let text = if let Some(human) = &mut self.human {
            human.event(event)
        } else {
            let mut line = Vec::new();
            match Writer::new(&mut line).event(event) {
                Ok(()) => String::from_utf8(line).unwrap_or_default(),
                Err(_) => String::new(),
            }
        };
        self.terminal.print(&text);
    }

    /// The disk is full, or gone. The run goes on, on the terminal.
    fn give_up(&mut self, error: &io::Error) {
        let Some(store) = self.store.take() else { return };
        self.terminal.note(&format!(
            "{}: write {}: {error}; the run goes on, its results are printed here only",
            if self.asked { "error" } else { "warning" },
            store.folder.join(STREAM).display()
        ));
        self.failed += u64::from(self.asked);
        let (file, whole) = store.writer.into_parts();
        // A part of a line is of no use. What has no length, such as a pipe, keeps it.
        let _ = file.set_len(whole);
    }

    /// Ends the stream, writes the reports, and answers with the exit code.
    pub fn finish(mut self, began: Instant, interrupted: bool) -> u8 {
        self.summary.seconds = began.elapsed().as_secs_f64();
        self.summary.interrupted = interrupted;
        self.summary.problems += self.failed;
        self.summary.exit = self.summary.exit_code();
        let event = Event::Summary(self.summary.clone());
        self.show(&event);
        if let Some(store) = &mut self.store
            && let Err(error) = store.writer.event(&event)
        {
            self.give_up(&error);
        }
        if let Some(store) = self.store.take() {
            match store.reports() {
                Ok(()) if self.human.is_some() => {
                    self.terminal
                        .print(&format!("reports: {}\n", store.folder.display()));
                }
                Ok(()) => {}
                Err(error) => {
                    self.terminal.note(&format!(
                        "warning: write the reports in {}: {error}; `conch report {}` prints them again",
                        store.folder.display(),
                        store.folder.join(STREAM).display()
                    ));
                    self.failed += u64::from(self.asked);
                }
            }
        }
        let broken = self.terminal.failed() || self.failed > 0;
        if broken && matches!(self.summary.exit, 0 | 3) {
            2
        } else {
            self.summary.exit
        }
    }
}

/// The stream's file in a report's folder.
const STREAM: &str = "events.jsonl";

impl Store {
    /// Begins a stream in a folder. `own` is a folder of Conch's own around it, which git is told to leave out.
    fn create(folder: &Path, own: Option<&Path>) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        if let Some(ignored) = own.map(|own| own.join(".gitignore"))
            && !ignored.exists()
        {
            fs::write(ignored, "*\n")?;
        }
        let writer = Writer::new(File::create(folder.join(STREAM))?);
        Ok(Self {
            folder: folder.to_owned(),
            writer,
        })
    }

    /// Prints the stored stream as every other format.
    fn reports(&self) -> Result<(), String> {
        let mut digest = Digest::default();
        let mut junit = Junit::default();
        let file = File::open(self.folder.join(STREAM)).map_err(|error| error.to_string())?;
        read(BufReader::new(file), |event| {
            digest.event(&event);
            junit.event(&event);
        })
        .map_err(|error| error.to_string())?;
        let digest = digest.finish();
        let pages = [
            ("report.html", html(&digest).map_err(|error| error.to_string())?),
            ("report.md", markdown(&digest)),
            ("junit.xml", junit.finish().map_err(|error| error.to_string())?),
        ];
        for (name, page) in pages {
            write_whole(&self.folder.join(name), &page).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
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
