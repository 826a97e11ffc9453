//! The integration tests of this crate, as one binary: a module for each topic.

mod corpus;
mod formula;
mod numpy;
mod sparse;
