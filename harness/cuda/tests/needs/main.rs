//! The tests of this crate that need something of the machine, as one binary: a module for each topic.

mod cuda;
mod fixture;

use std::process::ExitCode;

use cerith_needs::{Tests, modules};

fn main() -> ExitCode {
    if let Some(code) = cuda::serve() {
        return code;
    }
    Tests::join(modules![cuda]).run()
}
