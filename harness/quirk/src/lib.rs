//! Models of known bugs ([`conch_tile::quirk`]) that are in what a kernel's operations do: its IR is rewritten to do what an engine
//! gets wrong.
//!
//! A model replaces operations where they stand, and leaves every value its type. So models do not know of each other, and any
//! set of them is followed at once. [`follow`] says nothing where none of a set has anything to change: then the quirks
//! cannot be what makes an engine differ.
//!
//! - `convert`: how the interpreter converts floats from sign, exponent and significand.
//! - `cast`, `arithmetic`, `reduction`: casts, elementwise operations, and reductions with `dot`.
//!
//! - `wide`: integers that become 64 bits wide and stay so. It comes last, as it follows them from value to value.
//!
//! Left out: bugs in what is passed to a kernel (`conch-engine`) and in how its Python is read (`conch-frontend`).
//!
//! Invariants: does no IO, knows no engine and never panics on any IR that verifies. What it makes verifies again.
#![warn(missing_docs)]

mod arithmetic;
mod cast;
mod convert;
mod model;
mod reduction;
mod wide;

use conch_tile::ir::Function;
use conch_tile::quirk::{Quirk, Quirks};
use conch_tile::rules::Version;

/// The kernel as an engine of this version gets it wrong; `None` where none of these quirks changes anything.
pub fn follow(function: &Function, quirks: Quirks, version: Version) -> Option<Function> {
    let rewritten = model::Model::new(function.clone(), quirks, version).follow();
    if !quirks.has(Quirk::IntegersWiden) && !quirks.has(Quirk::CountsWiden) {
        return rewritten;
    }
    wide::follow(rewritten.as_ref().unwrap_or(function), quirks).or(rewritten)
}
