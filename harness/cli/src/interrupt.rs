//! Ctrl-C: the first ends the run in order, the second ends the process.

use conch_verdict::Panel;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static STOP: AtomicBool = AtomicBool::new(false);
static PANEL: Mutex<Option<Arc<Panel>>> = Mutex::new(None);

/// Listens for Ctrl-C, and for being told to terminate. The flag is set from then on.
pub fn listen() -> &'static AtomicBool {
    let listening = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let panel = PANEL.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(panel) = panel {
            panel.stop();
        }
    });
    if listening.is_err() {
        // Without a handler Ctrl-C ends the process at once, which is what it does anyway.
        STOP.store(false, Ordering::Relaxed);
    }
    &STOP
}

/// Has these engines stopped when Ctrl-C is pressed.
pub fn on_interrupt(panel: &Arc<Panel>) {
    *PANEL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(panel));
    if STOP.load(Ordering::Relaxed) {
        panel.stop();
    }
}
