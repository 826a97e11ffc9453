//! The text that commands print, kept for the answer to a request. Nothing is printed: standard output belongs to the protocol.

use std::sync::{Mutex, PoisonError};

use cerith_report::Palette;
use cerith_runner::Console;
use cerith_toolchain::Event;

/// The maximum number of bytes that are kept.
const MAX_TEXT: usize = 16 << 10;

/// The text of one request.
#[derive(Default)]
pub struct Transcript {
    notes: Mutex<String>,
}

impl Transcript {
    /// The messages for the user so far.
    pub fn take_notes(&self) -> String {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() + text.len() < MAX_TEXT {
            notes.push_str(text);
            notes.push('\n');
        }
    }
}

impl Console for Transcript {
    fn palette(&self) -> Palette {
        Palette::default()
    }

    fn print(&self, text: &str) {
        self.add(text);
    }

    fn print_commands(&self, text: &str) {
        self.add(text);
    }

    fn print_page(&self, text: &str) {
        self.add(text);
    }

    fn note(&self, text: &str) {
        self.add(text);
    }

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
