//! `cerith report`: prints stored streams again.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use cerith_report::event::Event;
use cerith_report::{
    Digest, Html, HtmlError, Human, Joined, Junit, JunitError, Palette, Remarks, read, render_markdown, safe,
};
use cerith_runner::Exit;
use cerith_runner::mistyped::describe_read_error;

use crate::args::{ReportArgs, ReportFormat};
use crate::terminal::Terminal;

/// Prints, and returns the exit code: the stored run's own, or 2 when there is no stream to print or it is not whole.
pub fn report(args: &ReportArgs) -> Exit {
    let mut terminal = Terminal::new();
    let mut joined = Joined::default();
    let mut printer = Printer::new(args, terminal.palette);
    for path in &args.files {
        let mut open = match open(path) {
            Ok(open) => open,
            Err(error) => {
                let help = "name a stream; `cerith run` writes one: `cerith report reports/run/events.jsonl`";
                terminal.note(&format!("error: {}", describe_read_error(path, &error, help)));
                return Exit::Wrong;
            }
        };
        joined.begin(path.display().to_string());
        let result = read(&mut open, |event| {
            printer.print_events(joined.add_event(event), &mut terminal);
        });
        match result {
            Ok(end) => printer.print_events(joined.end(&end), &mut terminal),
            Err(error) => {
                terminal.note(&format!("error: {}: failed to {error}", path.display()));
                return Exit::Wrong;
            }
        }
    }
    let ended = joined.finish();
    printer.print_events(ended.events, &mut terminal);
    if args.format != ReportFormat::Human {
        // The other formats go into a file that the user may not read.
        for fault in &ended.faults {
            terminal.note(&safe::escape_lines(&fault.rendered));
        }
    }
    // A page without a summary says that the run was cut short.
    let exit = Exit::from(ended.summary.exit);
    if !ended.cut || !matches!(args.format, ReportFormat::Html | ReportFormat::Markdown) {
        printer.print_events([Event::Summary(ended.summary)], &mut terminal);
    }
    match printer.finish() {
        Ok(text) => match args.format {
            ReportFormat::Github => terminal.print_commands(&text),
            ReportFormat::Html => terminal.print_page(&text),
            _ => terminal.print(&text),
        },
        Err(error) => {
            terminal.note(&format!("error: failed to {error}"));
            return Exit::Wrong;
        }
    }
    exit
}

/// One format.
enum Printer {
    Human(Box<Human>),
    Html(Box<Html>),
    Markdown(Box<Digest>),
    Junit(Junit),
    Github(Remarks),
    Sarif(Remarks),
}

impl Printer {
    fn new(args: &ReportArgs, palette: Palette) -> Self {
        match args.format {
            ReportFormat::Human => {
                let mut human = Human::new(palette);
                human.verbose = args.verbose;
                human.known_detail = args.known_args.into();
                Self::Human(Box::new(human))
            }
            ReportFormat::Html => Self::Html(Box::default()),
            ReportFormat::Markdown => Self::Markdown(Box::default()),
            ReportFormat::Junit => Self::Junit(Junit::default()),
            ReportFormat::Github => Self::Github(Remarks::default()),
            ReportFormat::Sarif => Self::Sarif(Remarks::default()),
        }
    }

    fn print_events(&mut self, events: impl IntoIterator<Item = Event>, terminal: &mut Terminal) {
        for event in events {
            match self {
                Self::Human(human) => terminal.print(&human.render_event(&event)),
                Self::Html(html) => html.add_event(&event),
                Self::Markdown(digest) => digest.add_event(&event),
                Self::Junit(junit) => junit.add_event(&event),
                Self::Github(remarks) | Self::Sarif(remarks) => remarks.add_event(&event),
            }
        }
    }

    /// The text that is printed at the end.
    fn finish(self) -> Result<String, Unprinted> {
        Ok(match self {
            Self::Human(_) => String::new(),
            Self::Html(html) => html.finish()?,
            Self::Markdown(digest) => render_markdown(&digest.finish()),
            Self::Junit(junit) => junit.finish()?,
            Self::Github(remarks) => remarks.github(),
            Self::Sarif(remarks) => remarks.sarif()?,
        })
    }
}

/// A report cannot be written down.
#[derive(Debug, thiserror::Error)]
enum Unprinted {
    #[error(transparent)]
    Html(#[from] HtmlError),
    #[error(transparent)]
    Junit(#[from] JunitError),
    #[error("write SARIF: {0}")]
    Sarif(#[from] serde_json::Error),
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path)?;
    if file.metadata()?.file_type().is_char_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device"));
    }
    Ok(Box::new(BufReader::new(file)))
}
