//! Ctrl-C: the first ends the run in order, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cerith_verdict::Panel;

static STOP: AtomicBool = AtomicBool::new(false);
/// Weak, because what a static holds is never dropped, and engines leave files behind that way.
static PANEL: Mutex<Weak<Panel>> = Mutex::new(Weak::new());

/// Listens for Ctrl-C, and for being told to terminate. The flag is set from then on.
pub fn listen() -> &'static AtomicBool {
    let listening = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        let panel = PANEL.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
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
    *PANEL.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(panel);
    if STOP.load(Ordering::Relaxed) {
        panel.stop();
    }
}
