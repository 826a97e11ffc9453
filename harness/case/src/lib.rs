//! case
pub mod expr;
