//! The tests of this crate that need something of the machine, as one binary: a module for each topic.

mod inductor;
mod ptx;
mod ttir;

use std::process::ExitCode;

use cerith_needs::{Tests, modules};

fn main() -> ExitCode {
    Tests::join(modules![inductor, ptx, ttir]).run()
}
