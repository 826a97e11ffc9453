//! The tools that clients call. Each has its schema and its work; see `server` for limits and cancellation.

mod answer_size;
mod arguments;
mod check;
mod error;
mod explain;
mod judge;
mod list;
mod reduce;

use std::path::Path;
use std::time::{Duration, Instant};

use cerith_runner::Host;
use cerith_submission::service::JudgeService;
use rmcp::model::JsonObject;
use serde_json::Value;

pub use self::error::ToolError;

/// A tool.
pub struct ToolEntry {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its purpose, and when to call it.
    pub description: &'static str,
    /// The description if it is off, and starts with an option of the server.
    pub when_off: Option<&'static str>,
    /// The JSON schema of its arguments.
    pub build_schema: fn() -> Value,
    /// Its work.
    pub run: fn(&Request<'_>, JsonObject) -> Result<Answer, ToolError>,
}

/// The tools, in the order of their use.
pub const TOOLS: [ToolEntry; 5] = [check::TOOL, explain::TOOL, reduce::TOOL, list::TOOL, judge::TOOL];

/// A call of a tool.
pub struct Request<'a> {
    /// The real path of the folder that may be read.
    pub root: &'a Path,
    /// The console for messages, and the request to stop.
    pub host: Host<'a>,
    /// The deadline of the call.
    pub deadline: Instant,
    /// How many launches run at once.
    pub jobs: Option<u16>,
    /// The process that judges submissions.
    pub judge: Option<&'a JudgeService>,
    /// Hears how many steps are done, and how many there are.
    pub progress: &'a dyn Fn(usize, usize),
}

impl Request<'_> {
    /// The time that is left: the requested seconds, or less.
    fn measure_remaining(&self, seconds: Option<u64>) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        seconds.map_or(left, |seconds| left.min(Duration::from_secs(seconds)))
    }
}

/// The result of a call.
#[derive(Debug, Default)]
pub struct Answer {
    /// The text, in blocks.
    pub blocks: Vec<String>,
    /// The data of the text.
    pub data: Value,
}
