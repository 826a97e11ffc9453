//! `cerith toolchain add`, `adopt`, `list`, `newest`, `repair`, `remove`, `cache`.

use std::fmt::Display;

use cerith_report::Tone;
use cerith_runner::engines;
use cerith_runner::{Exit, Host};
use cerith_tile::rules::Version;
use cerith_toolchain::{
    AddError, Cache, Containment, Contents, Home, Repaired, Toolchain, ToolchainId, published,
};

use crate::args::{ToolchainArgs, ToolchainCommand};
use crate::terminal::Terminal;

/// Does it, and returns the exit code.
pub fn manage_toolchains(args: &ToolchainArgs, host: Host<'_>) -> Exit {
    let mut terminal = Terminal::new();
    let home = match Home::discover() {
        Ok(home) => home,
        Err(error) => {
            terminal.note(&format!("error: failed to {error}"));
            return Exit::Wrong;
        }
    };
    match &args.command {
        ToolchainCommand::Add { ids } => add(&mut terminal, &home, ids, host),
        ToolchainCommand::Adopt { python, name } => {
            let adopted = engines::adopt(&home, python, name.as_deref(), host);
            print_result(&mut terminal, adopted, |terminal, toolchain| {
                let what = format!(
                    "adopted as {}: {}\n",
                    toolchain.id,
                    describe_contents(&toolchain.contents)
                );
                terminal.print(&what);
            })
        }
        ToolchainCommand::List => {
            let all = home.list();
            print_result(&mut terminal, all, |terminal, all| list(terminal, &home, &all))
        }
        ToolchainCommand::Newest { known: true } => {
            terminal.print(&format!("{}\n", Version::NEWEST));
            Exit::AsExpected
        }
        ToolchainCommand::Newest { known: false } => print_result(
            &mut terminal,
            published::fetch_releases(),
            |terminal, releases| {
                print_newest(terminal, &releases);
            },
        ),
        ToolchainCommand::Repair { ids } => repair_toolchains(&mut terminal, &home, ids, host),
        ToolchainCommand::Remove { ids } => {
            let mut exit = Exit::AsExpected;
            for id in ids {
                let removed = print_result(&mut terminal, home.remove(id), |terminal, ()| {
                    terminal.print(&format!("removed {id}\n"));
                });
                if removed != Exit::AsExpected {
                    exit = removed;
                }
            }
            exit
        }
        ToolchainCommand::Cache { clear } => cache(&mut terminal, &home, *clear),
    }
}

/// Prints a result, or the error.
fn print_result<T, E: Display>(
    terminal: &mut Terminal,
    result: Result<T, E>,
    print: impl FnOnce(&mut Terminal, T),
) -> Exit {
    match result {
        Ok(value) => {
            print(terminal, value);
            Exit::AsExpected
        }
        Err(error) => {
            terminal.note(&format!("error: failed to {error}"));
            Exit::Wrong
        }
    }
}

fn add(terminal: &mut Terminal, home: &Home, ids: &[ToolchainId], host: Host<'_>) -> Exit {
    let mut exit = Exit::AsExpected;
    for id in ids {
        let there = home.find(id).is_some();
        match engines::install(home, id, host) {
            Ok(toolchain) => {
                let what = if there { "already installed:" } else { "installed:" };
                terminal.print(&format!("{what} {}\n", describe_contents(&toolchain.contents)));
            }
            Err(AddError::Cancelled { .. }) => {
                terminal.note("cancelled; nothing was left behind");
                return Exit::Interrupted;
            }
            Err(error) => {
                terminal.note(&format!("error: failed to {error}"));
                exit = Exit::Wrong;
            }
        }
        if host.is_stopped() {
            return Exit::Interrupted;
        }
    }
    exit
}

fn repair_toolchains(terminal: &mut Terminal, home: &Home, ids: &[ToolchainId], host: Host<'_>) -> Exit {
    let mut exit = Exit::AsExpected;
    for id in ids {
        let repaired = print_result(
            terminal,
            engines::repair_toolchain(home, id, host),
            |terminal, (toolchain, how)| {
                let what = match how {
                    Repaired::Whole => "not damaged:",
                    Repaired::Python => "made its environment again:",
                    Repaired::Installed => "installed again:",
                };
                terminal.print(&format!("{what} {}\n", describe_contents(&toolchain.contents)));
            },
        );
        if host.is_stopped() {
            return Exit::Interrupted;
        }
        if repaired != Exit::AsExpected {
            exit = repaired;
        }
    }
    exit
}

/// Lists what is installed and adopted, what is broken, and how far workers are contained.
fn list(terminal: &mut Terminal, home: &Home, all: &[Toolchain]) {
    let broken = home.broken();
    if all.is_empty() && broken.is_empty() {
        terminal.print("nothing is installed; `cerith toolchain add 3.9.0` installs Triton 3.9.0\n");
        return;
    }
    let width = all.iter().map(|one| one.id.to_string().len()).max().unwrap_or(0);
    for toolchain in all.iter().filter(|one| one.explain_missing().is_none()) {
        let contents = &toolchain.contents;
        let name = format!("{:width$}", toolchain.id.to_string());
        let size = match &contents.adopted {
            None => format!(", {} MB", toolchain.size() / 1_000_000),
            Some(_) => String::new(),
        };
        let line = format!(
            "{}  {}{size}\n",
            terminal.palette.paint(Tone::Name, &name),
            describe_contents(contents),
        );
        terminal.print(&line);
    }
    for (id, why) in broken {
        let name = terminal.palette.paint(Tone::Bad, &id.to_string());
        terminal.print(&format!("{name}  cannot be used: {why}\n"));
    }
    terminal.print(&format!("in {}\n", home.root().display()));
    let containment = Containment::of_this_system();
    if containment.is_whole() {
        terminal.print("workers are contained; docs/containment.md lists the restrictions and the gaps\n");
    } else {
        let missing = containment.missing.join("; ");
        terminal.print(&format!("workers are not contained in full: {missing}\n"));
    }
}

/// Prints the newest release, and warns about one whose language is not known yet.
fn print_newest(terminal: &mut Terminal, releases: &[Version]) {
    let Some(newest) = releases.last() else { return };
    terminal.print(&format!("{newest}\n"));
    if *newest > Version::NEWEST {
        terminal.note(&format!(
            "warning: Triton {newest} is newer than {0}, the newest whose language Cerith \
             knows: it is judged by the rules of {0}, and a rule that has changed looks like \
             a bug",
            Version::NEWEST
        ));
    }
}

fn cache(terminal: &mut Terminal, home: &Home, clear: bool) -> Exit {
    let cache = match Cache::open(home) {
        Ok(cache) => cache,
        Err(error) => {
            terminal.note(&format!("error: failed to open the compiled kernels: {error}"));
            return Exit::Wrong;
        }
    };
    if clear {
        cache.shrink(0);
    }
    let held = cache.size();
    terminal.print(&format!(
        "{} files of compiled kernels, {} MB of at most {} MB\n",
        held.files,
        held.bytes / 1_000_000,
        Cache::MAX_BYTES / 1_000_000
    ));
    Exit::AsExpected
}

/// Describes the contents of a toolchain.
fn describe_contents(contents: &Contents) -> String {
    let Contents {
        triton,
        numpy,
        python,
        ..
    } = contents;
    let torch = contents
        .torch
        .as_ref()
        .map_or(String::new(), |torch| format!("torch {torch}, "));
    let adopted = contents.adopted.as_ref().map_or(String::new(), |adopted| {
        let gpu = if adopted.gpu { " that sees a GPU" } else { "" };
        format!(", adopted: {}{gpu}", adopted.python.display())
    });
    format!("{torch}triton {triton}, numpy {numpy}, Python {python}{adopted}")
}
