//! The integration tests of this crate, as one binary: a module for each topic.

mod broken;
mod case;
mod files;
mod ptx;
mod regressions;
