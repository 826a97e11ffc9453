//! Arguments of `cerith mcp`.

use clap::Args;

/// Arguments of `cerith mcp`.
#[derive(Debug, Args)]
#[command(
    after_help = "A client starts it in the folder of a project, with the command `cerith mcp` and no further settings.

The tools are `check`, `explain`, `reduce` and `list`. They run the reference in this process. The server reads only files of the folder \
that it was started in, writes nothing, and starts no other process. With `--judge`, it also has the tool `judge`, for which a second \
process starts contained ones. Only messages of the protocol are printed to standard output.

Exit codes: 0 the client closed the input; 2 the server cannot start; 130 interrupted."
)]
pub struct McpArgs {
    /// The maximum number of seconds for a call of a tool.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,

    /// How many launches of a call run at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Add the tool `judge`, which executes files of the folder in contained processes of the newest toolchain.
    #[arg(long)]
    pub judge: bool,
}
