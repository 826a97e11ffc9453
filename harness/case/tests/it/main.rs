//! The integration tests of this crate, as one binary: a module for each topic.

mod cases;
mod catalogue;
mod common;
mod corpus;
mod diagnostics;
mod excerpt;
mod hostile;
mod launcher;
mod read;
mod recorded;
mod schema;
mod skeleton;
mod torch_views;
mod usage;
mod variants;
