//! Case files that try a kernel: sizes at and around its blocks, layouts, dtypes, aliases. See
//! [`cerith_module::usage`] for how a kernel uses its parameters. Running the case files is up to the caller.
//!
//! One thing is varied at a time, from a launch in which every size is a little more than a block. A failure of one
//! variant only shows its cause. A survey proves nothing.

mod alternatives;
mod draft;
mod formula;
mod hosts;
mod imported;
mod place;
mod plan;
mod reading;
mod scaled;
mod storages;
mod survey;
mod written;

pub use self::draft::{Draft, build_drafts, list_kernels};
pub use self::reading::Reading;
pub use self::scaled::{Scaling, Shortage};
pub use self::survey::{Attempt, Condition, NotTried, RejectedLaunches, Survey, Unmasked, UnusedLauncher};
pub use cerith_launcher::{Change, ELEMENTS_OF, InputChoice, THE_GRID, is_of_callers};
