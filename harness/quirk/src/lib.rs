//! Models of known bugs ([`cerith_tile::quirk`]) in a kernel's operations. A model rewrites the kernel's IR so that it does what an
//! engine gets wrong.
//!
//! A model replaces operations in place, and keeps every value's type. So models do not depend on each other, and any set of them can
//! be followed at once. If no quirk of a set changes anything, [`follow`] answers with nothing: these quirks cannot be the reason why
//! an engine differs.
//!
//! - `cast`, `arithmetic`, `reduction`: casts, elementwise operations, and reductions with `dot`.
//! - `loads`: loads of a loop that pass stores.
//! - `lanes`: scans and reductions whose code exchanges the wrong lanes, in `form`'s operations. These models have alternatives.
//! - `passed`, `wide`: arguments that are held in another width, and integers that become 64 bits wide and stay so. They come last, as
//!   they follow values from operation to operation.
//!
//! See `cerith-engine` for bugs in passing arguments, and `cerith-frontend` for bugs in reading Python.
//!
//! Invariants: does no IO, knows no engine and never panics on any IR that verifies. The rewritten IR verifies too.
#![warn(missing_docs)]

mod arithmetic;
mod build;
mod cast;
mod form;
mod lanes;
mod loads;
mod model;
mod passed;
mod reduction;
mod wide;

pub use self::lanes::{Alternative, follow_alternative, list_alternatives, without_values};
use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Version;

/// The kernel as an engine of this version gets it wrong; `None` where none of these quirks changes anything.
pub fn follow(function: &Function, quirks: Quirks, version: Version) -> Option<Function> {
    let rewritten = model::Model::new(function.clone(), quirks, version).follow();
    let rewritten = passed::follow(rewritten.as_ref().unwrap_or(function), quirks).or(rewritten);
    wide::follow(rewritten.as_ref().unwrap_or(function), quirks).or(rewritten)
}

/// The quirks that may change something about the kernel, besides those that are followed. No other does by itself.
pub fn find_quirks(function: &Function, followed: Quirks, version: Version) -> Quirks {
    let asked = model::Model::new(function.clone(), followed, version).find_quirks();
    let others = passed::find_quirks(function).chain(wide::QUIRKS);
    others.fold(asked, Quirks::with_quirk)
}
