//! `cerith mcp`: a server of the Model Context Protocol on standard input and output, for agents and editors.
//!
//! It runs the reference in this process. It reads files of one folder, writes nothing, and starts no process. A process that judges
//! submissions is started before it, by its caller.

mod confinement;
mod frames;
mod message_line;
mod server;
mod tool;
mod transcript;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cerith_submission::service::JudgeService;
use rmcp::ServiceExt as _;

use self::confinement::confine;
use self::frames::Frames;
use self::server::Server;

/// The interval between two checks for the user's request to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Options of the server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The maximum time for a request.
    pub timeout: Duration,
    /// How many launches of a request run at once.
    pub jobs: Option<u16>,
    /// The process that judges submissions.
    pub judge: Option<Arc<JudgeService>>,
}

/// How the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed the input.
    Closed,
    /// The user stopped it.
    Interrupted,
}

/// The reason why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The folder cannot be opened.
    #[error("error: failed to confine reads to {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A thread or a timer is missing.
    #[error("error: failed to start the server: {0}")]
    Start(#[from] std::io::Error),
}

/// Serves one client, for the current folder, until the client closes the input or `stop` is set. The process is confined for good.
///
/// # Errors
/// The server cannot start.
pub fn serve(options: &ServeOptions, stop: &AtomicBool) -> Result<Ended, ServeError> {
    let folder = PathBuf::from(".");
    // Threads that start later inherit what this thread gives up.
    let folder = confine(&folder).map_err(|source| ServeError::Folder { folder, source })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let ended = runtime.block_on(async {
        let server = Server::new(folder, options.clone());
        let frames = Frames::start(options.timeout)?;
        let session = async {
            // If there is no session, the input was closed: everything else about the first request is answered.
            if let Ok(running) = server.clone().serve(frames).await {
                drop(running.waiting().await);
            }
            Ended::Closed
        };
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(PATIENCE).await;
            }
            Ended::Interrupted
        };
        let ended = tokio::select! {
            ended = session => ended,
            ended = stopped => ended,
        };
        server.stop();
        Ok::<Ended, std::io::Error>(ended)
    })?;
    // A thread may still wait for input.
    runtime.shutdown_background();
    Ok(ended)
}
