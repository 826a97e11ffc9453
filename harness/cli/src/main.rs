//! The `cerith` command line: arguments in, exit code out, nothing else. The only place in Cerith that prints.

mod accept;
mod args;
mod bisect;
mod bump;
mod bundle;
mod check;
mod compare;
mod corpus;
mod coverage;
mod engines;
mod exec;
mod exit;
mod expect;
mod explain;
#[cfg(feature = "planted-faults")]
mod fault;
mod fuzz;
mod gate;
mod help;
mod import;
mod inductor;
mod interrupt;
mod judge;
mod judged;
mod kernels;
mod known;
mod list;
mod manual;
mod matrix;
mod merge;
mod mistyped;
mod noise;
mod output;
mod part;
mod picture;
mod pipeline;
mod preflight;
mod readable;
mod record;
mod reduce;
mod report;
mod run;
mod stages;
mod store;
mod sweep;
mod terminal;
mod toolchain;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

use cerith_cuda::child;
use cerith_engine::catch_panic;
use clap::Parser;
use mimalloc::MiMalloc;

use crate::args::{Cli, Command, FuzzCommand, ReportCommand};
use crate::exit::Exit;

/// Kernels, traces and cases are many small pieces: of a generated case's time, the system's allocator takes a fifth.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "planted-faults")]
    fault::plant();
    // The process that opens a GPU is started by Cerith itself, and is no command for people.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == child::ARGUMENT)
        && let Some(gpu) = words.next().and_then(|word| word.to_str()?.parse().ok())
    {
        return child::serve(gpu);
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    terminal::use_colours(cli.color);
    let stop = interrupt::listen();
    let done = catch_panic(|| match &cli.command {
        Command::Run(args) => run::run(args, stop),
        Command::Check(args) => check::check(args, stop),
        Command::Import(args) => import::import(args),
        Command::Record(args) => record::record(args, stop),
        Command::Preflight { part } => preflight::run_preflight(part),
        Command::List(args) => list::list(args),
        Command::Expect(args) => expect::expect(args),
        Command::Compare(args) => compare::compare(args, stop),
        Command::Bump(args) => bump::bump(args, stop),
        Command::Matrix(args) => matrix::run_matrix(args, stop),
        Command::Bisect(args) => bisect::bisect(args, stop),
        Command::Explain(args) => explain::explain(args, stop),
        Command::Coverage(args) => coverage::print_coverage(args),
        Command::Toolchain(args) => toolchain::manage_toolchains(args, stop),
        Command::Report(args) => match &args.command {
            None => report::report(args),
            Some(ReportCommand::Merge(args)) => merge::merge(args),
            Some(ReportCommand::Baseline(args)) => gate::make(args),
        },
        Command::Bundle(args) => bundle::bundle(args, stop),
        Command::Exec(args) => exec::exec(args, stop),
        Command::Sweep(args) => sweep::sweep(args, stop),
        Command::Accept(args) => accept::accept(args),
        Command::Fuzz(args) => match &args.command {
            None => fuzz::fuzz(args, stop),
            Some(FuzzCommand::Range(args)) => fuzz::find_ranges(args, stop),
            Some(FuzzCommand::Keep(args)) => fuzz::keep(args, stop),
            Some(FuzzCommand::Promote(args)) => fuzz::promote(args, stop),
            Some(FuzzCommand::Trophies(args)) => fuzz::update_trophies(args),
        },
        Command::Reduce(args) => reduce::reduce(args, stop),
        Command::Help(args) => help::help(args),
        Command::Completions(args) => manual::print_completions(args),
        Command::Man(args) => manual::print_manual(args),
        Command::Schema(_) => manual::print_schema(),
    });
    let exit = done.unwrap_or_else(|panic| {
        terminal::Terminal::new().note(&format!("internal error: {panic}\nThis is a bug in Cerith."));
        Exit::Unexpected
    });
    let exit = match exit {
        Exit::AsExpected | Exit::Nothing if terminal::output_failed() => Exit::Wrong,
        exit => exit,
    };
    ExitCode::from(exit.code())
}

/// Prints why the arguments are wrong, or the help that they ask for, and ends the process. Outside of a terminal no word of the
/// arguments becomes a command of a workflow.
fn refuse(error: &clap::Error) -> ! {
    if error.use_stderr() && !terminal::Terminal::is_interactive() {
        terminal::Terminal::new().note(error.render().to_string().trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}
