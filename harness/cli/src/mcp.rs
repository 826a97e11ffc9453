//! `cerith mcp`: serves one client on standard input and output.

use std::sync::Arc;
use std::time::Duration;

use cerith_mcp::{Ended, ServeOptions, serve};
use cerith_runner::{Exit, Host};
use cerith_submission::service::JudgeService;

use crate::args::McpArgs;

/// Serves until the client closes the input, and returns the exit code.
pub fn serve_client(args: &McpArgs, host: Host<'_>) -> Exit {
    // This process may start none once it serves.
    let judge = args
        .judge
        .then(|| std::env::current_exe().and_then(|program| JudgeService::start(&program)));
    let judge = match judge.transpose() {
        Ok(judge) => judge.map(Arc::new),
        Err(error) => {
            host.console.note(&format!(
                "error: failed to start the process that judges: {error}"
            ));
            return Exit::Wrong;
        }
    };
    let options = ServeOptions {
        timeout: Duration::from_secs(args.timeout),
        jobs: args.jobs,
        judge,
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
