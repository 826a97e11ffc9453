//! The tests of this crate that need something of the machine, as one binary: a module for each topic.

mod adopted;
mod cached;
mod common;
mod compiles;
mod contained;
mod damaged;
mod failures;
mod inductor;
mod launches;

use std::process::ExitCode;

use cerith_needs::{Tests, modules};

fn main() -> ExitCode {
    if failures::hang_if_asked() {
        return ExitCode::SUCCESS;
    }
    Tests::join(modules![
        adopted, cached, compiles, contained, damaged, failures, inductor, launches
    ])
    .run()
}
