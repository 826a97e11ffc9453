//! Events that end a launch from outside: a flag, and the clock.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cerith_case::Case;
use cerith_interp::{Config, Watch};

/// Time limit of launches that are made one after the other, if their fuel lasts that long and the case has no larger limit.
const TIME: Duration = Duration::from_mins(2);

/// Limits with the two external conditions that end a launch: a flag, and the clock.
pub(crate) fn add_watch<'w>(config: Config<'static>, case: &Case, stop: &'w AtomicBool) -> Config<'w> {
    let given = case.timeout.map_or(TIME, |time| time.max(TIME));
    Config {
        watch: Watch {
            stop: Some(stop),
            deadline: Instant::now().checked_add(given).map(|until| (until, given)),
        },
        ..config
    }
}
