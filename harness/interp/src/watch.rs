//! Ends a launch from outside: a flag that the caller sets, or the clock. See `machine::fuel` for fuel, which ends a launch equally
//! on every machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::outcome::{InternalError, Resource, Stop};

/// Fuel that is used between two looks: that of a few thousand programs, or of some milliseconds of a long one.
pub const FUEL: u64 = 1 << 17;

/// Conditions that are checked while a launch runs; none by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch<'w> {
    /// Ends the launch with [`InternalError::Stopped`] once it is set.
    pub stop: Option<&'w AtomicBool>,
    /// The deadline of the launch, and its time limit.
    pub deadline: Option<(Instant, Duration)>,
}

impl Watch<'_> {
    /// Checks whether the launch may continue.
    #[cold]
    pub fn look(&self) -> Result<(), Stop> {
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Stop::Internal(InternalError::Stopped));
        }
        match self.deadline {
            Some((until, given)) if Instant::now() >= until => {
                Err(Stop::exhausted(Resource::Time, given.as_secs()))
            }
            _ => Ok(()),
        }
    }
}
