//! Ctrl-C: the first ends the run in order, the second ends the process.

use cerith_runner::{Console, Host, Interrupt};

static INTERRUPT: Interrupt = Interrupt::new();

/// Listens for Ctrl-C and for `SIGTERM`.
pub fn listen() {
    // Without a handler, Ctrl-C ends the process at once, which is an acceptable result.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPT.request() {
            std::process::exit(130);
        }
    });
}

/// This program, as a command sees it.
pub fn build_host(console: &dyn Console) -> Host<'_> {
    Host {
        console,
        interrupt: &INTERRUPT,
    }
}
