//! The integration tests of this crate, as one binary: a module for each topic.

mod files;
mod laws;
mod models;
