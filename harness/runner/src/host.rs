//! The program around a command: where text goes, and how the user stops it.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use cerith_report::Palette;
use cerith_toolchain::Event;
use cerith_verdict::Panel;

use crate::interrupt::Interrupt;

/// The interval of checks whether the user has asked to stop.
const LOOKED_EVERY: Duration = Duration::from_millis(50);

/// Prints the text of a command. Commands of this crate print nothing themselves.
pub trait Console: Sync {
    /// The colours of standard output.
    fn palette(&self) -> Palette;

    /// Prints to standard output. No line of the text becomes a command of a workflow.
    fn print(&self, text: &str);

    /// Prints commands of a workflow, which `cerith_report` wrote.
    fn print_commands(&self, text: &str);

    /// Prints a page, whose own text may begin a line with `::`.
    fn print_page(&self, text: &str);

    /// Prints a line to standard error.
    fn note(&self, text: &str);

    /// Begins to show progress over this many cases.
    fn begin(&self, total: u64);

    /// Shows that one more case is done, and how many have failed.
    fn advance(&self, failed: u64);

    /// Ends the progress.
    fn end(&self);

    /// Shows a step in the installation of a toolchain.
    fn show_installation(&self, toolchain: &str, event: Event);

    /// Ends the progress of an installation.
    fn end_installation(&self);

    /// Whether a person reads the output and answers questions.
    fn is_interactive(&self) -> bool;

    /// Reads the user's next line; `None` at the end of the input.
    fn read_line(&self) -> Option<String>;
}

/// Prints nothing.
pub struct SilentConsole;

impl Console for SilentConsole {
    fn palette(&self) -> Palette {
        Palette { colour: false }
    }

    fn print(&self, _: &str) {}

    fn print_commands(&self, _: &str) {}

    fn print_page(&self, _: &str) {}

    fn note(&self, _: &str) {}

    fn begin(&self, _: u64) {}

    fn advance(&self, _: u64) {}

    fn end(&self) {}

    fn show_installation(&self, _: &str, _: Event) {}

    fn end_installation(&self) {}

    fn is_interactive(&self) -> bool {
        false
    }

    fn read_line(&self) -> Option<String> {
        None
    }
}

/// The program around a command.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Prints the text of the command.
    pub console: &'a dyn Console,
    /// The user's request to stop.
    pub interrupt: &'a Interrupt,
}

impl Host<'_> {
    /// Whether the user has asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.interrupt.is_requested()
    }

    /// Does work that `stop` ends when the user asks to stop, or after `limit`.
    pub fn run_stoppable<T>(
        &self,
        limit: Option<Duration>,
        stop: impl Fn() + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        let deadline = limit.map(|limit| Instant::now() + limit);
        std::thread::scope(|scope| {
            let (working, ended) = mpsc::channel::<()>();
            let interrupt = self.interrupt;
            scope.spawn(move || {
                while ended.recv_timeout(LOOKED_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if is_late || interrupt.is_requested() {
                        stop();
                        return;
                    }
                }
            });
            let result = work();
            drop(working);
            result
        })
    }

    /// Stops these engines when the user asks to stop.
    pub fn stop_on_interrupt(&self, panel: &Arc<Panel>) {
        self.interrupt.watch(panel);
    }
}
