//! Triton's IR, as text, becomes the IR that the reference executes: a second way into `cerith-interp`, whose first is our own
//! frontend.
//!
//! [`parse`] reads the MLIR that any Triton from 3.0 to 3.9 prints, straight from its frontend or after its passes. [`lower`] makes a
//! kernel of it a [`cerith_tile::ir::Function`]: calls are inlined, blocks with branches become `if`s, block pointers and tensor
//! descriptors become pointers and masks, integers get a sign where an operation needs one. Operations come from the Python lines
//! that `loc` names, if the caller has that file, else from lines of the MLIR.
//!
//! ```
//! let text = "
//! module {
//!   tt.func public @double(%x: !tt.ptr<f32>) {
//!     %value = tt.load %x : !tt.ptr<f32>
//!     %sum = arith.addf %value, %value : f32
//!     tt.store %x, %sum : !tt.ptr<f32>
//!     tt.return
//!   }
//! }
//! ";
//! let module = cerith_ttir::parse(text).unwrap();
//! let function = cerith_ttir::lower(&module, &cerith_ttir::Origin::of(text)).unwrap();
//! assert_eq!(function.name, "double");
//! assert!(function.verify().is_ok());
//! ```
//!
//! The meaning of operations is MLIR's documentation of `arith`, `math`, `scf`, `cf` and Triton's of `tt` (`TritonOps.td`).
//!
//! Left out: layouts, which change no value; `nsw` and its like, whose promises are not checked; launching
//! (`cerith-engine`).
//!
//! Invariants: no IO, no engine is known, no input panics; work and memory are bounded by limits here.
#![warn(missing_docs)]

mod dump;
mod lower;
mod parse;
pub mod syntax;

pub use dump::{FailedPass, Pass, find_failed_pass, split_passes};
pub use lower::{Origin, Refused, lower};
pub use parse::{SyntaxError, parse_module as parse, verifies};
