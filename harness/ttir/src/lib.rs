//! Converts Triton's IR from text to the IR that the reference executes: a second front end for `cerith-interp`, next
//! to Cerith's own.
//!
//! [`parse`] reads the MLIR that any Triton from 3.0 to 3.9 prints, straight from its frontend or after its passes.
//! [`lower`] converts a kernel to a [`cerith_tile::ir::Function`]: calls are inlined, blocks with branches become
//! `if`s, block pointers and tensor descriptors become pointers and masks, and integers get a sign if an operation
//! needs one. Locations are the Python lines that `loc` names if the caller has that file, otherwise lines of the MLIR.
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
//! let function = cerith_ttir::lower(&module, &cerith_ttir::Origin::from_text(text)).unwrap();
//! assert_eq!(function.name, "double");
//! assert!(function.verify().is_ok());
//! ```
//!
//! Operations have the meaning of MLIR's documentation of `arith`, `math`, `scf`, `cf` and Triton's of `tt`
//! (`TritonOps.td`).
//!
//! Not modelled: layouts, which change no value; the promises of `nsw` and similar flags, which are not checked.
//! `cerith-engine` launches the result.
//!
//! Invariants: no IO; depends on no engine; no panic on any input; limits bound work and memory.
#![warn(missing_docs)]

mod dump;
mod lower;
mod parse;
pub mod syntax;

pub use dump::{FailedPass, Pass, find_failed_pass, split_passes};
pub use lower::{Origin, Refused, lower};
pub use parse::{SyntaxError, parse_module as parse, verifies};
