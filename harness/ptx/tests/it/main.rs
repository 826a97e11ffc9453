//! The integration tests of this crate, as one binary: a module for each topic.

mod asynchrony;
mod attention;
mod compiled;
mod consan;
mod fidelity;
mod hopper;
mod instructions;
mod operations;
mod products;
mod semantics;
mod threads;
