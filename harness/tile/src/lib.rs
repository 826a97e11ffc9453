//! The foundation of Cerith: the types that all other crates use.
//!
//! The crate contains Triton's dtypes and their exact arithmetic ([`numeric`]), source positions and diagnostics
//! ([`source`], [`diagnostic`]), the releases of Triton and torch ([`releases`]), the language
//! rules that changed between Triton versions ([`rules`]), known bugs of
//! engines ([`quirk`]), and the typed IR between the frontend and the interpreter ([`ir`]).
//!
//! ```
//! use cerith_tile::DType;
//! use cerith_tile::ir::{BinaryOp, Rounding};
//! use cerith_tile::numeric::{self, Computed};
//! use cerith_tile::rules::{Rule, Rules, Version};
//!
//! // Arithmetic is on bits: 1 + 2^-11 is halfway between two numbers of f16, and rounds to the even one.
//! let dtype: DType = "float16".parse().unwrap();
//! let one = numeric::encode(dtype, 1.0, Rounding::NearestEven);
//! let half_a_step = numeric::parse(dtype, "0.00048828125").unwrap();
//! assert_eq!(numeric::apply_binary(BinaryOp::Add, dtype, one, half_a_step), Computed::Bits(one));
//!
//! // Undefined results are poison, not a guess.
//! assert_eq!(numeric::apply_binary(BinaryOp::Shl, DType::I32, 1, 32), Computed::Poison);
//!
//! // The rules that changed between two versions of the language.
//! let (old, new) = (Rules::from_version(Version::new(3, 1, 0)), Rules::from_version(Version::new(3, 2, 0)));
//! assert!(old.changed_rules(new).any(|rule| rule == Rule::WeakPythonScalars));
//! ```
//!
//! Invariants: no IO; depends on no engine; no panic on any input.
#![warn(missing_docs)]

pub mod diagnostic;
pub mod dtype;
pub mod fault;
pub mod ir;
pub mod numeric;
pub mod printable;
pub mod quirk;
pub mod releases;
pub mod rules;
pub mod source;

pub use dtype::DType;
