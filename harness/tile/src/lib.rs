//! The ground floor of Cerith: what every other crate speaks in.
//!
//! Here are Triton's dtypes and their exact arithmetic ([`numeric`]), the source positions and diagnostics that
//! every message is made of ([`source`], [`diagnostic`]), the releases of Triton and torch ([`releases`]), the language
//! rules that changed between Triton versions ([`rules`]), known bugs of engines ([`quirk`]), and the typed IR between the frontend and the interpreter ([`ir`]).
//!
//! ```
//! use cerith_tile::DType;
//! use cerith_tile::ir::{BinaryOp, Rounding};
//! use cerith_tile::numeric::{self, Computed};
//! use cerith_tile::rules::{Rule, Rules, Version};
//!
//! Arithmetic is on bits: 1 + 2^-11 is halfway between two numbers of f16, and rounds to the even one.
//! let dtype: DType = "float16".parse().unwrap();
//! let one = numeric::encode(dtype, 1.0, Rounding::NearestEven);
//! let half_a_step = numeric::parse(dtype, "0.00048828125").unwrap();
//! assert_eq!(numeric::apply_binary(BinaryOp::Add, dtype, one, half_a_step), Computed::Bits(one));
//!
//! What nothing defines is said, and not guessed.
//! assert_eq!(numeric::apply_binary(BinaryOp::Shl, DType::I32, 1, 32), Computed::Poison);
//!
//! What changed between two versions of the language, and since when.
//! let (old, new) = (Rules::from_version(Version::new(3, 1, 0)), Rules::from_version(Version::new(3, 2, 0)));
//! assert!(old.changed_rules(new).any(|rule| rule == Rule::WeakPythonScalars));
//! ```
//!
//! Left out: memory, execution, Python. This crate does no IO, knows no engine and never panics on any input.
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
