//! The integration tests of this crate, as one binary: a module for each topic.

#[macro_use]
mod common;

mod acceptance;
mod assembly;
mod coverage;
mod functions;
mod language;
mod limits;
mod modules;
mod promotion;
mod quirks;
mod rejected;
mod robustness;
mod versions;
