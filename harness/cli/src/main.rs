//! The `cerith` command line: arguments in, exit code out, nothing else. The only place in Cerith that prints. See
//! `cerith-runner` and `cerith-campaign` for the work of commands.

mod args;
mod check;
#[cfg(feature = "planted-faults")]
mod fault;
mod help;
mod interrupt;
mod list;
mod manual;
#[cfg(feature = "mcp")]
mod mcp;
mod options;
mod prove;
mod report;
mod terminal;
mod toolchain;
#[cfg(test)]
mod workflows;

use std::io;
use std::process::ExitCode;

use cerith_campaign::{covered, hunt, keep, promote, range, reduce, trophies};
use cerith_cuda::child;
use cerith_engine::catch_panic;
use cerith_runner::{
    Exit, accept, bisect, bump, bundle, compare, coverage, exec, expect, explain, gate, import, matrix,
    merge, oracle, preflight, record, run, sweep,
};
use clap::Parser;
use mimalloc::MiMalloc;

use crate::args::{Cli, Command, FuzzCommand, ReportCommand};
use crate::interrupt::build_host;
use crate::terminal::Terminal;

/// Kernels, traces and cases are many small pieces: of a generated case's time, the system's allocator takes a fifth.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "planted-faults")]
    fault::plant();
    // Cerith itself starts the process that opens a GPU, so it is not a public command.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == child::ARGUMENT)
        && let Some(gpu) = words.next().and_then(|word| word.to_str()?.parse().ok())
    {
        return child::serve(gpu);
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    terminal::use_colours(cli.color);
    interrupt::listen();
    let done = catch_panic(|| run_command(cli.command));
    let exit = done.unwrap_or_else(|panic| {
        Terminal::new().note(&format!("internal error: {panic}\nThis is a bug in Cerith."));
        Exit::Unexpected
    });
    let exit = match exit {
        Exit::AsExpected | Exit::Nothing if terminal::output_failed() => Exit::Wrong,
        exit => exit,
    };
    ExitCode::from(exit.code())
}

/// Runs a command, and returns how it ends.
fn run_command(command: Command) -> Exit {
    let terminal = Terminal::new();
    let host = build_host(&terminal);
    match command {
        Command::Run(args) => run::run(&args.into(), host),
        Command::Check(args) => check::check(&args, &terminal),
        Command::Prove(args) => prove::prove(&args, &terminal, host),
        Command::Judge(args) => cerith_submission::judge(&args.into(), host),
        Command::JudgeService => cerith_submission::service::serve(io::stdin(), io::stdout(), host),
        Command::Import(args) => import::import(&args.into(), &terminal),
        Command::Record(args) => record::record(&args.into(), host),
        Command::Preflight { part } => {
            preflight::answer_requests(&part, io::stdin().lock(), io::stdout().lock())
        }
        Command::Oracle { part } => oracle::answer_requests(&part, io::stdin().lock(), io::stdout().lock()),
        Command::List(args) => list::list(&args),
        Command::Expect(args) => expect::expect(&args.into(), &terminal),
        Command::Compare(args) => compare::compare(&args.into(), host),
        Command::Bump(args) => bump::bump(&args.into(), host),
        Command::Matrix(args) => matrix::run_matrix(&args.into(), host),
        Command::Bisect(args) => bisect::bisect(&args.into(), host),
        Command::Explain(args) => {
            check::explain_code(&args.case, &terminal).unwrap_or_else(|| explain::explain(&args.into(), host))
        }
        Command::Coverage(mut args) => match args.campaign.take() {
            Some(campaign) => covered::print_campaign_coverage(&campaign, &args.into(), &terminal),
            None => coverage::print_coverage(&args.into(), &terminal),
        },
        Command::Toolchain(args) => toolchain::manage_toolchains(&args, host),
        Command::Report(mut args) => match args.command.take() {
            None => report::report(&args),
            Some(ReportCommand::Merge(args)) => merge::merge(&args.into(), &terminal),
            Some(ReportCommand::Baseline(args)) => gate::write_baseline(&args.into(), &terminal),
        },
        Command::Bundle(args) => bundle::bundle(&args.into(), host),
        Command::Exec(args) => exec::exec(&args.into(), host),
        Command::Sweep(args) => sweep::sweep(&args.into(), host),
        Command::Accept(args) => accept::accept(&args.into(), &terminal),
        Command::Fuzz(mut args) => match args.command.take() {
            None => hunt::run_campaign(&args.into(), host),
            Some(FuzzCommand::Range(args)) => range::find_ranges(&args.into(), host),
            Some(FuzzCommand::Keep(args)) => keep::keep_finding(&args.into(), host),
            Some(FuzzCommand::Promote(args)) => promote::promote(&args.into(), host),
            Some(FuzzCommand::Trophies(args)) => trophies::update_trophies(&args.into(), &terminal),
        },
        Command::Reduce(args) => reduce::reduce(&args.into(), host),
        Command::Help(args) => help::help(&args),
        Command::Completions(args) => manual::print_completions(&args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::serve_client(&args, host),
        Command::Man(args) => manual::print_manual(&args),
        Command::Schema(_) => manual::print_schema(),
    }
}

/// Prints why the arguments are wrong, or the help that they ask for, and ends the process. Outside of a terminal no word of the
/// arguments becomes a command of a workflow.
fn refuse(error: &clap::Error) -> ! {
    if error.use_stderr() && !Terminal::is_interactive() {
        Terminal::new().note(error.render().to_string().trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}
