//! The tests of this crate that need something of the machine, as one binary: a module for each topic.

mod checkout;
#[path = "../command_output/mod.rs"]
mod command_output;
mod compare;
mod compiled;
mod conformance;
mod coverage;
mod docs;
mod findings;
mod fuzz;
mod hostile;
mod judge;
mod judge_server;
mod loading;
mod page;
mod record;
mod reduce;
mod scenarios;
mod stages;
mod sweep;
mod toolchains;

use std::process::ExitCode;

use cerith_needs::{Tests, modules};

fn main() -> ExitCode {
    Tests::join(modules![
        checkout,
        compare,
        compiled,
        conformance,
        coverage,
        docs,
        findings,
        fuzz,
        hostile,
        judge,
        judge_server,
        loading,
        record,
        reduce,
        scenarios,
        stages,
        sweep,
        toolchains
    ])
    .run()
}
