//! `cerith completions`, `cerith man`, `cerith schema`: what a shell, `man` and an editor want to know about the command line and
//! about case files. All of it is made of the code. Left out: help for reading in a terminal ([`crate::help`]).

use std::fs;
use std::io;
use std::path::Path;

use cerith_case::format::json_schema;
use clap::{Command, CommandFactory as _};
use clap_complete::generate;
use clap_mangen::Man;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Exit;
use crate::help::{command_of, unknown};
use crate::terminal::Terminal;

/// Prints a completion script, and answers with the exit code.
pub fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    generate(args.shell, &mut shown(), "cerith", &mut script);
    print(&script)
}

/// Prints one manual page or writes all, and answers with the exit code.
pub fn man(args: &ManArgs) -> Exit {
    let root = shown();
    if let Some(folder) = &args.out {
        return match write(root, folder) {
            Ok(pages) => {
                let mut terminal = Terminal::new();
                terminal.print(&format!("{pages} pages in {}\n", folder.display()));
                Exit::AsExpected
            }
            Err(error) => {
                Terminal::new().note(&format!("error: failed to write {}: {error}", folder.display()));
                Exit::Wrong
            }
        };
    }
    let Some(command) = command_of(&root, &args.command) else {
        Terminal::new().note(&unknown(&root, &args.command));
        return Exit::Wrong;
    };
    let mut page = Vec::new();
    // Nothing fails to be written into memory.
    let written = Man::new(command.clone()).render(&mut page);
    written.map_or(Exit::Wrong, |()| print(&page))
}

/// Prints the JSON schema of case files, and answers with the exit code.
pub fn schema() -> Exit {
    print(format!("{:#}\n", json_schema()).as_bytes())
}

/// Writes the pages of all commands, and says how many there are.
fn write(root: Command, folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let before = fs::read_dir(folder)?.count();
    clap_mangen::generate_to(root, folder)?;
    Ok(fs::read_dir(folder)?.count().saturating_sub(before))
}

/// The command line.
fn shown() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn print(bytes: &[u8]) -> Exit {
    let mut terminal = Terminal::new();
    terminal.print(&String::from_utf8_lossy(bytes));
    if terminal.failed() {
        Exit::Wrong
    } else {
        Exit::AsExpected
    }
}
