//! The integration tests of this crate, as one binary: a module for each topic.

mod cases;
mod catalogue;
mod common;
mod corpus;
mod declared;
mod diagnostics;
mod hostile;
mod read;
mod recorded;
mod schema;
mod sparse;
mod variants;
