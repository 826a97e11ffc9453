//! `cerith mcp`: serves one client on standard input and output.

use std::time::Duration;

use cerith_mcp::{Ended, ServeOptions, serve};
use cerith_runner::{Exit, Host};

use crate::args::McpArgs;

/// Serves until the client closes the input, and answers with the exit code.
pub fn serve_client(args: &McpArgs, host: Host<'_>) -> Exit {
    let options = ServeOptions {
        timeout: Duration::from_secs(args.timeout),
        jobs: args.jobs,
    };
    match serve(&options, host.interrupt.flag()) {
        Ok(Ended::Closed) => Exit::AsExpected,
        Ok(Ended::Interrupted) => Exit::Interrupted,
        Err(error) => {
            host.console.note(&error.to_string());
            Exit::Wrong
        }
    }
}
