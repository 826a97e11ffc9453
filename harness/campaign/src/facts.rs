//! The facts about a finding, as its folder keeps them. Left out: the folder (`finding`).

use cerith_report::event::Stage;
use serde::{Deserialize, Serialize};

use crate::signature::Signature;

/// The script's file.
pub const REPRO: &str = "repro.py";

/// The facts about a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The version of this form.
    pub format: u32,
    /// What it is called.
    pub signature: Signature,
    /// The verdict in one word.
    pub verdict: String,
    /// The engines that are blamed.
    pub blame: Vec<String>,
    /// Where it came from: case and seed.
    pub origin: String,
    /// The lines of the kernel that it was found with, before it was reduced.
    pub lines: usize,
    /// Which stage of Triton's compiler is wrong, of a finding in a compiled engine; none where the stages were not asked, and empty
    /// where they are all right as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<Stage>>,
    /// What is expected.
    pub expected: String,
    /// What there is in place of it.
    pub got: String,
    /// What Cerith says of the trial.
    pub observed: String,
    /// What the engine runs in, a line each.
    pub environment: Vec<String>,
    /// What other versions do with it, where they were asked.
    pub range: Vec<VersionResult>,
}

/// What one engine did with a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionResult {
    /// Who.
    pub engine: String,
    /// Whether it differs as the finding does: in the same way, and with words of the same kind.
    pub same: bool,
    /// The verdict of the case with it and the reference.
    pub verdict: String,
    /// What it did, in one word.
    pub outcome: String,
    /// What the reference did, by its rules.
    pub reference: String,
    /// Its message.
    pub message: Option<String>,
}
