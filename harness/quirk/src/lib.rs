//! Models of known bugs ([`cerith_tile::quirk`]) that are in what a kernel's operations do: its IR is rewritten to do what an engine
//! gets wrong.
//!
//! A model replaces operations where they stand, and leaves every value its type. So models do not know of each other, and any
//! set of them is followed at once. [`follow`] says nothing where none of a set has anything to change: then the quirks
//! cannot be what makes an engine differ.
//!
//! - `cast`, `arithmetic`, `reduction`: casts, elementwise operations, and reductions with `dot`.
//! - `loads`: loads of a loop that pass stores.
//! - `passed`, `wide`: arguments that are held in another width, and integers that become 64 bits wide and stay so. They come last, as
//!   they follow values from operation to operation.
//!
//! Left out: bugs in what is passed to a kernel (`cerith-engine`) and in how its Python is read (`cerith-frontend`).
//!
//! Invariants: does no IO, knows no engine and never panics on any IR that verifies. What it makes verifies again.
#![warn(missing_docs)]

mod arithmetic;
mod cast;
mod form;
mod loads;
mod model;
mod passed;
mod reduction;
mod wide;

pub use self::form::has_form;
use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Version;

/// The kernel as an engine of this version gets it wrong; `None` where none of these quirks changes anything.
pub fn follow(function: &Function, quirks: Quirks, version: Version) -> Option<Function> {
    let rewritten = model::Model::new(function.clone(), quirks, version).follow();
    let rewritten = passed::follow(rewritten.as_ref().unwrap_or(function), quirks).or(rewritten);
    wide::follow(rewritten.as_ref().unwrap_or(function), quirks).or(rewritten)
}
