//! The integration tests of this crate, as one binary: a module for each topic.

#[path = "../../../interp/tests/kernels/mod.rs"]
mod kernels;

mod acceptance;
mod blocks;
mod bounded;
mod combine;
mod doubt;
mod fused;
mod laws;
mod orders;
