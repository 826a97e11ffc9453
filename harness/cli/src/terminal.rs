//! Standard output and standard error, the progress bar included. The only place in Cerith that prints.

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anstream::AutoStream;
use cerith_report::{Palette, safe};
use cerith_runner::Console;
use cerith_toolchain::Event;
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

/// Prints text to the terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Colours of standard output.
    pub palette: Palette,
    progress: Mutex<Progress>,
    /// The progress of an installation, while there is one.
    installation: Mutex<Option<ProgressBar>>,
    is_broken: AtomicBool,
    /// How many lines of a screen were printed, by both outputs.
    lines: AtomicUsize,
}

/// How far a run is.
#[derive(Debug)]
struct Progress {
    bar: ProgressBar,
    completed: u64,
    total: u64,
    last: Instant,
}

impl Terminal {
    /// Uses colours on request, or by default if a terminal shows them ([`use_colours`]).
    pub fn new() -> Self {
        Self {
            palette: Palette {
                colour: AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            },
            progress: Mutex::new(Progress {
                bar: ProgressBar::hidden(),
                completed: 0,
                total: 0,
                last: Instant::now(),
            }),
            installation: Mutex::new(None),
            is_broken: AtomicBool::new(false),
            lines: AtomicUsize::new(0),
        }
    }

    /// Whether a progress bar is visible to a user.
    pub fn is_interactive() -> bool {
        io::stderr().is_terminal() && std::env::var_os("CI").is_none_or(|value| value.is_empty())
    }

    /// Shows the progress of the run: a bar on a terminal, and an occasional line elsewhere.
    pub fn begin(&self, total: u64) {
        let mut progress = self.progress();
        (progress.completed, progress.total, progress.last) = (0, total, Instant::now());
        if Self::is_interactive() {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} cases {msg} {eta} left") {
                bar.set_style(style);
            }
            progress.bar = bar;
        }
    }

    /// One more case is done.
    pub fn advance(&self, failed: u64) {
        let mut progress = self.progress();
        progress.completed += 1;
        progress.bar.set_position(progress.completed);
        if failed > 0 {
            progress.bar.set_message(format!("{failed} not as expected"));
        }
        if progress.bar.is_hidden() && progress.last.elapsed() >= HEARTBEAT {
            progress.last = Instant::now();
            let line = format!("{}/{} cases", progress.completed, progress.total);
            drop(progress);
            self.note(&line);
        }
    }

    /// The run is over.
    pub fn end(&self) {
        let mut progress = self.progress();
        progress.bar.finish_and_clear();
        progress.bar = ProgressBar::hidden();
    }

    /// Prints to standard output: no character in it moves the cursor, and no line in it is a command of a workflow. If standard
    /// output is closed, the run continues, and [`output_failed`] says so at the end.
    pub fn print(&self, text: &str) {
        self.write(&safe::escape_log(text, self.palette.colour));
    }

    /// Prints commands of a workflow, each of which `cerith_report` wrote.
    pub fn print_commands(&self, text: &str) {
        self.write(&safe::escape_screen(text, false));
    }

    /// Prints a page, whose own text may begin a line with `::`; words from outside were made safe when it was written.
    pub fn print_page(&self, text: &str) {
        self.write(&safe::escape_screen(text, false));
    }

    fn write(&self, text: &str) {
        if text.is_empty() || self.is_gone() {
            return;
        }
        self.lines.fetch_add(count_lines(text), Ordering::Relaxed);
        let bar = self.progress().bar.clone();
        let result = bar.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        if let Err(error) = result {
            if error.kind() != io::ErrorKind::BrokenPipe {
                OUTPUT_FAILED.store(true, Ordering::Relaxed);
                self.note(&format!("error: write to standard output: {error}"));
            }
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }

    /// Prints a line to standard error.
    pub fn note(&self, text: &str) {
        let text = safe::escape_log(text, self.palette.colour);
        let lines = count_lines(&format!("{text}\n"));
        self.lines.fetch_add(lines, Ordering::Relaxed);
        let bar = self.progress().bar.clone();
        bar.suspend(|| {
            // If standard error is closed, there is nowhere to report it.
            let _ = writeln!(io::stderr().lock(), "{text}");
        });
    }

    /// Removes everything that was printed so far from the screen, as far as it is still there. Outside of a terminal it stays.
    pub fn erase(&self) {
        let lines = self.lines.swap(0, Ordering::Relaxed);
        if lines > 0 && io::stdout().is_terminal() && io::stderr().is_terminal() {
            // Up so many lines, and clear from there to the end of the screen.
            let _ = write!(io::stderr().lock(), "\x1b[{lines}F\x1b[0J");
        }
    }

    /// Whether standard output was closed by its reader.
    pub fn is_gone(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn installation(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.installation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many lines of a screen a text fills: its lines, and more for those that are wider than the screen.
fn count_lines(text: &str) -> usize {
    let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    let count = |line: &str| match width {
        0 => 1,
        width => count_columns(line).div_ceil(width).max(1),
    };
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(count)
        .sum()
}

/// The columns of a line, without colours. Characters that are wider than others count as one.
fn count_columns(line: &str) -> usize {
    let mut parts = line.trim_end().split('\x1b');
    let first = parts.next().unwrap_or_default().chars().count();
    let rest = parts.map(|part| part.split_once('m').map_or(0, |(_, text)| text.chars().count()));
    first + rest.sum::<usize>()
}

impl Console for Terminal {
    fn palette(&self) -> Palette {
        self.palette
    }

    fn print(&self, text: &str) {
        self.print(text);
    }

    fn print_commands(&self, text: &str) {
        self.print_commands(text);
    }

    fn print_page(&self, text: &str) {
        self.print_page(text);
    }

    fn note(&self, text: &str) {
        self.note(text);
    }

    fn begin(&self, total: u64) {
        self.begin(total);
    }

    fn advance(&self, failed: u64) {
        self.advance(failed);
    }

    fn end(&self) {
        self.end();
    }

    /// A bar on a terminal, a line per step elsewhere.
    fn show_installation(&self, toolchain: &str, event: Event) {
        if !Self::is_interactive() {
            if let Event::Step(step) = event {
                self.note(&format!("toolchain {toolchain}: {step}"));
            }
            return;
        }
        let mut installation = self.installation();
        let bar = installation.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        match event {
            Event::Step(step) => bar.set_message(format!("toolchain {toolchain}: {step}")),
            Event::Bytes { received, total } => {
                if let Some(total) = total {
                    bar.set_length(total);
                    if let Ok(style) = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}") {
                        bar.set_style(style);
                    }
                }
                bar.set_position(received);
            }
            Event::Line(_) => {}
        }
    }

    fn end_installation(&self) {
        if let Some(bar) = self.installation().take() {
            bar.finish_and_clear();
        }
    }

    fn is_interactive(&self) -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    fn read_line(&self) -> Option<String> {
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: usize) {
        assert_eq!(count_columns(line), expected, "{line:?}");
    }

    #[test]
    fn colours_have_no_columns() {
        check("", 0);
        check("abc\n", 3);
        check("\x1b[1ma\x1b[0mbc", 3);
        check("é…", 2);
    }
}
