//! The integration tests of this crate, as one binary: a module for each topic.

mod coverage;
mod generated;
mod reduce;
mod regressions;
mod twins;
mod useful;
