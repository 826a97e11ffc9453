//! Arguments of the commands that help to type others: `help`, `completions`, `man`, `schema`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Arguments of `cerith help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith help run            the help of a command
  cerith help toolchain add
  cerith help cases | less   the format of case files")]
pub struct HelpArgs {
    /// A command, or `cases`: the format of case files.
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

/// Arguments of `cerith completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith completions bash > ~/.local/share/bash-completion/completions/cerith
  cerith completions zsh > ~/.zfunc/_cerith      with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  cerith completions fish > ~/.config/fish/completions/cerith.fish")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `cerith man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith man | man -l -                            read the first page
  cerith man run | man -l -                        read the page of a command
  cerith man --out ~/.local/share/man/man1         write all pages, for `man cerith-run`")]
pub struct ManArgs {
    /// A command. Without it, the page of `cerith` itself.
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Write the pages of all commands into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

/// Arguments of `cerith schema`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith schema > cases/schema.json

In VS Code, the YAML extension then completes and checks case files:
  \"yaml.schemas\": { \"cases/schema.json\": \"cases/**/*.yaml\" }
Any editor with yaml-language-server does the same for a file that begins with
  # yaml-language-server: $schema=../schema.json")]
pub struct SchemaArgs {}
