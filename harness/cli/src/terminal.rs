//! Standard output and standard error, the progress bar included. The only place in Cerith that prints.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anstream::AutoStream;
use cerith_report::{Palette, safe};
use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often progress is written to a log without a bar.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Says for the whole process when there are colours. `Auto` asks the environment (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`,
/// `TERM`) and whether standard output is a terminal.
pub fn use_colours(choice: ColorChoice) {
    let choice = match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

static OUTPUT_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether standard output failed for any [`Terminal`] of this process. A reader that went away is not a failure.
pub fn output_failed() -> bool {
    OUTPUT_FAILED.load(Ordering::Relaxed)
}

/// Where text goes.
#[derive(Debug)]
pub struct Terminal {
    /// Colours of standard output.
    pub palette: Palette,
    bar: ProgressBar,
    completed: u64,
    total: u64,
    last: Instant,
    is_broken: bool,
}

impl Terminal {
    /// Colours where they were asked for, and by themselves where a terminal shows them ([`use_colours`]).
    pub fn new() -> Self {
        Self {
            palette: Palette {
                colour: AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            },
            bar: ProgressBar::hidden(),
            completed: 0,
            total: 0,
            last: Instant::now(),
            is_broken: false,
        }
    }

    /// Whether anybody sees a bar.
    pub fn is_interactive() -> bool {
        io::stderr().is_terminal() && std::env::var_os("CI").is_none_or(|value| value.is_empty())
    }

    /// Shows how far the run is, as a bar on a terminal and as a line now and then elsewhere.
    pub fn begin(&mut self, total: u64) {
        (self.completed, self.total, self.last) = (0, total, Instant::now());
        if Self::is_interactive() {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} cases {msg} {eta} left") {
                bar.set_style(style);
            }
            self.bar = bar;
        }
    }

    /// One more case is done.
    pub fn advance(&mut self, failed: u64) {
        self.completed += 1;
        self.bar.set_position(self.completed);
        if failed > 0 {
            self.bar.set_message(format!("{failed} not as expected"));
        }
        if self.bar.is_hidden() && self.last.elapsed() >= HEARTBEAT {
            self.last = Instant::now();
            self.note(&format!("{}/{} cases", self.completed, self.total));
        }
    }

    /// The run is over.
    pub fn end(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }

    /// Prints to standard output: no character in it moves the cursor, and no line in it is a command of a workflow. If standard
    /// output is closed, the run continues, and [`output_failed`] says so at the end.
    pub fn print(&mut self, text: &str) {
        self.write(&safe::escape_log(text, self.palette.colour));
    }

    /// Prints commands of a workflow, each of which `cerith_report` wrote.
    pub fn print_commands(&mut self, text: &str) {
        self.write(&safe::escape_screen(text, false));
    }

    /// Prints a page, whose own text may begin a line with `::`; words from outside were made safe when it was written.
    pub fn print_page(&mut self, text: &str) {
        self.write(&safe::escape_screen(text, false));
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() || self.is_broken {
            return;
        }
        let result = self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        if let Err(error) = result {
            if error.kind() != io::ErrorKind::BrokenPipe {
                OUTPUT_FAILED.store(true, Ordering::Relaxed);
                self.note(&format!("error: write to standard output: {error}"));
            }
            self.is_broken = true;
        }
    }

    /// Prints a line to standard error.
    pub fn note(&self, text: &str) {
        let text = safe::escape_log(text, self.palette.colour);
        self.bar.suspend(|| {
            // Nothing is left to tell when standard error is gone.
            let _ = writeln!(io::stderr().lock(), "{text}");
        });
    }

    /// Whether standard output was closed by its reader.
    pub fn is_gone(&self) -> bool {
        self.is_broken
    }
}
