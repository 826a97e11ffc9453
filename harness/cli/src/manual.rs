//! `cerith completions`, `cerith man`, `cerith schema`: descriptions of the command line and of case files for shells, `man` and
//! editors, generated from the code. See [`crate::help`] for help in a terminal.

use std::io;
use std::path::Path;

use cerith_case::format::json_schema;
use cerith_runner::Exit;
use clap::{Command, CommandFactory as _};
use clap_complete::generate;
use clap_mangen::Man;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::help::{command_of, describe_unknown};
use crate::terminal::Terminal;

/// Prints a completion script, and returns the exit code.
pub fn print_completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    generate(args.shell, &mut build_command(), "cerith", &mut script);
    print(&script)
}

/// Prints one manual page or writes all, and returns the exit code.
pub fn print_manual(args: &ManArgs) -> Exit {
    let root = build_command();
    if let Some(folder) = &args.out {
        return match write(root, folder) {
            Ok(pages) => {
                let terminal = Terminal::new();
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
        Terminal::new().note(&describe_unknown(&root, &args.command));
        return Exit::Wrong;
    };
    let mut page = Vec::new();
    // Nothing fails to be written into memory.
    let written = Man::new(command.clone()).render(&mut page);
    written.map_or(Exit::Wrong, |()| print(&page))
}

/// Prints the JSON schema of case files, and returns the exit code.
pub fn print_schema() -> Exit {
    print(format!("{:#}\n", json_schema()).as_bytes())
}

/// Writes the pages of all commands, and says how many there are.
fn write(root: Command, folder: &Path) -> io::Result<usize> {
    cerith_files::create_folders(folder)?;
    let mut count = 0;
    let mut left = vec![root.disable_help_subcommand(true)];
    while let Some(command) = left.pop() {
        left.extend(
            command
                .get_subcommands()
                .filter(|inner| !inner.is_hide_set())
                .cloned(),
        );
        let page = Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text)?;
        cerith_files::write(folder.join(page.get_filename()), text)?;
        count += 1;
    }
    Ok(count)
}

/// The command line.
fn build_command() -> Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn print(bytes: &[u8]) -> Exit {
    let terminal = Terminal::new();
    terminal.print_page(&String::from_utf8_lossy(bytes));
    Exit::AsExpected
}
