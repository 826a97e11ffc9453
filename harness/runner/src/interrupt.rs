//! The user's request to stop a command: it ends the run in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cerith_verdict::Panel;

/// Whether the user has asked to stop, and the engines that stop then.
pub struct Interrupt {
    requested: AtomicBool,
    /// Weak, because an interrupt is usually a static, and what a static holds is never dropped: engines would leave files behind.
    panel: Mutex<Weak<Panel>>,
}

impl Interrupt {
    /// No request.
    pub const fn new() -> Self {
        Self {
            requested: AtomicBool::new(false),
            panel: Mutex::new(Weak::new()),
        }
    }

    /// Asks to stop, and returns whether that is the second request.
    pub fn request(&self) -> bool {
        if self.requested.swap(true, Ordering::Relaxed) {
            return true;
        }
        let panel = self
            .panel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .upgrade();
        if let Some(panel) = panel {
            panel.stop();
        }
        false
    }

    /// Whether the user has asked to stop.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Set once the user has asked to stop.
    pub const fn flag(&self) -> &AtomicBool {
        &self.requested
    }

    /// Stops these engines on request.
    pub fn watch(&self, panel: &Arc<Panel>) {
        *self.panel.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(panel);
        if self.is_requested() {
            panel.stop();
        }
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}
