//! The integration tests of this crate, as one binary: a module for each topic.

#[path = "../kernels/mod.rs"]
mod kernels;

mod semantics;
mod undefined;
