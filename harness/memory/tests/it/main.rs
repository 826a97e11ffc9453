//! The integration tests of this crate, as one binary: a module for each topic.

mod cpu_copies;
mod sparse;
mod view_laws;
