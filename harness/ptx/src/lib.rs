//! PTX, executed without a GPU.

mod alu;
mod lanes;
mod lex;
pub mod parse;
pub mod syntax;
