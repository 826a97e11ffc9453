//! The facts about a finding, as stored in its folder. See `finding` for the folder.

use cerith_report::event::Stage;
use serde::{Deserialize, Serialize};

use crate::signature::Signature;

/// The script's file.
pub const REPRO: &str = "repro.py";

/// The facts about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The version of this format.
    pub format: u32,
    /// Its signature.
    pub signature: Signature,
    /// The verdict in one word.
    pub verdict: String,
    /// The engines that are blamed.
    pub blame: Vec<String>,
    /// Its origin: case and seed.
    pub origin: String,
    /// The lines of the kernel that it was found with, before it was reduced.
    pub lines: usize,
    /// For a finding in a compiled engine: the wrong stages of Triton's compiler. `None` if the stages were not run, and empty if
    /// no stage is known to be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<Stage>>,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub got: String,
    /// The description of the trial.
    pub observed: String,
    /// The environment of the engine, a line each.
    pub environment: Vec<String>,
    /// The results of other versions, if they were run.
    pub range: Vec<VersionResult>,
}

/// The result of one engine for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionResult {
    /// The engine.
    pub engine: String,
    /// Whether its difference is the same as the finding's: the same kind, and the same kind of message.
    pub same: bool,
    /// The verdict of the case with it and the reference.
    pub verdict: String,
    /// Its outcome in one word.
    pub outcome: String,
    /// The outcome of the reference, by its rules.
    pub reference: String,
    /// Its message.
    pub message: Option<String>,
}
