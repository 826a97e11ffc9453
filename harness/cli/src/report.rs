//! `conch report`: stored streams, printed again.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use conch_report::event::{Event, Start, Summary};
use conch_report::{Digest, Human, Junit, html, markdown, read};

use crate::args::{ReportArgs, ReportFormat};
use crate::terminal::Terminal;

/// Prints, and answers with the exit code: the stored run's own, or 2 when there is no stream to print.
pub fn report(args: &ReportArgs) -> u8 {
    let mut terminal = Terminal::new();
    let mut joined = Joined::default();
    let mut digest = Digest::default();
    let mut junit = Junit::default();
    let mut human = Human::new(terminal.palette);
    human.verbose = args.verbose;
    for path in &args.files {
        let mut open = match open(path) {
            Ok(open) => open,
            Err(error) => {
                terminal.note(&format!("error: read {}: {error}", path.display()));
                return 2;
            }
        };
        let mut each = |event: Event| {
            let Some(event) = joined.event(event) else { return };
            match args.format {
                ReportFormat::Human => terminal.print(&human.event(&event)),
                ReportFormat::Html | ReportFormat::Markdown => digest.event(&event),
                ReportFormat::Junit => junit.event(&event),
            }
        };
        let result = read(&mut open, &mut each);
        match result {
            Ok(false) => {}
            Ok(true) => terminal.note(&format!(
                "warning: {} ends in the middle of a line",
                path.display()
            )),
            Err(error) => {
                terminal.note(&format!("error: {}: failed to {error}", path.display()));
                return 2;
            }
        }
    }
    let (summary, cut) = joined.finish();
    if cut {
        terminal
            .note("warning: a stream ends without its summary: its run was killed; what is there was judged");
    }
    let event = Event::Summary(summary.clone());
    let text = match args.format {
        ReportFormat::Human => Ok(human.event(&event)),
        ReportFormat::Html | ReportFormat::Markdown => {
            if !cut {
                digest.event(&event);
            }
            let digest = digest.finish();
            if args.format == ReportFormat::Html {
                html(&digest).map_err(|e| e.to_string())
            } else {
                Ok(markdown(&digest))
            }
        }
        ReportFormat::Junit => {
            junit.event(&event);
            junit.finish().map_err(|error| error.to_string())
        }
    };
    match text {
        Ok(text) => terminal.print(&text),
        Err(error) => {
            terminal.note(&format!("error: failed to {error}"));
            return 2;
        }
    }
    if terminal.failed() { 2 } else { summary.exit }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

/// Several streams as one: the first start, the sum of the summaries.
#[derive(Default)]
struct Joined {
    start: Option<Start>,
    summary: Summary,
    seconds: f64,
    interrupted: bool,
    open: bool,
    cut: bool,
}

impl Joined {
    fn event(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Start(start) => {
                self.cut |= self.open;
                self.open = true;
                let first = self.start.is_none();
                if first {
                    self.start = Some(start.clone());
                }
                let event = Event::Start(start);
                self.summary.count(&event);
                first.then_some(event)
            }
            Event::Summary(summary) => {
                self.open = false;
                self.seconds += summary.seconds;
                self.interrupted |= summary.interrupted;
                None
            }
            event => {
                self.summary.count(&event);
                Some(event)
            }
        }
    }

    fn finish(mut self) -> (Summary, bool) {
        self.cut |= self.open;
        self.summary.seconds = self.seconds;
        self.summary.interrupted = self.interrupted;
        self.summary.exit = self.summary.exit_code();
        (self.summary, self.cut)
    }
}
