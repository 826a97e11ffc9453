//! Ctrl-C: the first ends the run in order, the second ends the process.

use std::sync::Arc;

use cerith_runner::{Console, Host, Interrupt};
use cerith_verdict::Panel;

static INTERRUPT: Interrupt = Interrupt::new();

/// Listens for Ctrl-C and for `SIGTERM`.
pub fn listen() -> &'static Interrupt {
    // Without a handler Ctrl-C ends the process at once, which is what it does anyway.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPT.request() {
            std::process::exit(130);
        }
    });
    &INTERRUPT
}

/// This program, as a command sees it.
pub fn build_host(console: &dyn Console) -> Host<'_> {
    Host {
        console,
        interrupt: &INTERRUPT,
    }
}

/// Stops these engines when Ctrl-C is pressed.
pub fn on_interrupt(panel: &Arc<Panel>) {
    INTERRUPT.watch(panel);
}
