//! A campaign's state, stored in its folder so that it can resume. See `finding` for the findings.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use cerith_engine::EngineId;
use cerith_files::MAX_FILE;
use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use serde::{Deserialize, Serialize};

use crate::steer::CoverageHistory;

/// The file that makes a folder a campaign's.
const FILE: &str = "campaign.json";

/// The version of the file's form.
const FORMAT: u32 = 1;

/// A campaign as far as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    format: u32,
    /// The seed of the cases.
    pub seed: u64,
    /// The engines, the reference among them.
    pub engines: Vec<String>,
    /// Whether its cases break a rule on purpose.
    #[serde(default)]
    pub broken: bool,
    /// How many cases are done, which is the next one's number.
    pub done: u64,
    /// The number after the last case that is in a bundle, if a compiler ran without a GPU.
    #[serde(default)]
    pub bundled: u64,
    /// How many ended in each verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// How many differences each known bug explains; one may need several.
    pub explained: BTreeMap<String, u64>,
    /// Each finding's signature with how often it was seen.
    pub findings: BTreeMap<String, u64>,
    /// Signatures that became the same as another one when they were reduced, with that one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub merged: BTreeMap<String, String>,
    /// How many cases Cerith itself failed at.
    pub failed: u64,
    /// The features of the kernels so far, by which the next ones are chosen; `None` if kernels are not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<CoverageHistory>,
    /// The features of kernels in bundles, which are chosen before their results are known; `None` if kernels are not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<CoverageHistory>,
}

/// The reason why a folder cannot be a campaign's.
#[derive(Debug, thiserror::Error)]
pub enum BadFolder {
    /// A campaign is there already.
    #[error(
        "{0} already has a campaign\n  = help: `--resume` goes on with it; `--out DIR` names another folder"
    )]
    Taken(String),
    /// Something else is there.
    #[error(
        "{0} contains something other than a campaign\n  = help: `--out DIR` names a folder that is empty or new"
    )]
    Foreign(String),
    /// There is none to go on with.
    #[error("{0} has no campaign\n  = help: leave `--resume` out to begin one")]
    Missing(String),
    /// The existing campaign cannot be read.
    #[error("the campaign in {0} cannot be read: {1}")]
    Unreadable(String, String),
    /// It is one of another seed or of other engines.
    #[error("the campaign in {0} has {1}, not {2}\n  = help: leave that out to go on with it as it was")]
    Other(String, String, String),
}

impl Campaign {
    fn new(seed: u64, engines: Vec<String>) -> Self {
        Self {
            format: FORMAT,
            seed,
            engines,
            broken: false,
            done: 0,
            bundled: 0,
            verdicts: BTreeMap::new(),
            explained: BTreeMap::new(),
            findings: BTreeMap::new(),
            merged: BTreeMap::new(),
            failed: 0,
            seen: Some(CoverageHistory::default()),
            sent: Some(CoverageHistory::default()),
        }
    }

    /// Sets whether cases break a rule on purpose.
    #[must_use]
    pub fn with_broken_cases(self, broken: bool) -> Self {
        Self { broken, ..self }
    }

    /// A new campaign for a folder that is empty or not there yet. Nothing is written.
    pub fn begin(folder: &Path, seed: u64, engines: Vec<String>) -> Result<Self, BadFolder> {
        let shown = folder.display().to_string();
        if folder.join(FILE).exists() {
            return Err(BadFolder::Taken(shown));
        }
        let occupied = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if occupied || folder.is_file() {
            return Err(BadFolder::Foreign(shown));
        }
        Ok(Self::new(seed, engines))
    }

    /// Sets whether kernels are chosen by the features of previous kernels.
    #[must_use]
    pub fn with_steering(mut self, steered: bool) -> Self {
        self.seen = steered.then(CoverageHistory::default);
        self.sent = self.seen.clone();
        self
    }

    /// The campaign of a folder, which must be one of this seed and these engines where they are given.
    pub fn resume(folder: &Path, seed: Option<u64>, engines: &[String]) -> Result<Self, BadFolder> {
        let shown = folder.display().to_string();
        let text = match cerith_files::read_text(folder.join(FILE), MAX_FILE) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(BadFolder::Missing(shown)),
            Err(error) => return Err(BadFolder::Unreadable(shown, error.to_string())),
        };
        let campaign: Self = serde_json::from_str(&text)
            .map_err(|error| BadFolder::Unreadable(shown.clone(), error.to_string()))?;
        if campaign.format != FORMAT {
            let form = format!(
                "its format is {}, and this Cerith reads {FORMAT}",
                campaign.format
            );
            return Err(BadFolder::Unreadable(shown, form));
        }
        if let Some(seed) = seed.filter(|&seed| seed != campaign.seed) {
            return Err(BadFolder::Other(
                shown,
                format!("seed {}", campaign.seed),
                seed.to_string(),
            ));
        }
        if !engines.is_empty() && engines != campaign.engines {
            return Err(BadFolder::Other(
                shown,
                campaign.engines.join(", "),
                engines.join(", "),
            ));
        }
        Ok(campaign)
    }

    /// Keeps it: the file is the old one or the new one, whatever happens in between.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        cerith_files::write(folder.join(FILE), text + "\n")
    }

    /// Takes one finding for another one.
    pub fn merge(&mut self, gone: String, first: &str) {
        let seen = self.findings.remove(&gone).unwrap_or_default();
        *self.findings.entry(first.to_owned()).or_default() += seen;
        self.merged.insert(gone, first.to_owned());
    }

    /// The signature that this signature is counted as.
    pub fn counted_as(&self, signature: String) -> String {
        self.merged.get(&signature).cloned().unwrap_or(signature)
    }

    /// How many findings there are, each signature once.
    pub fn distinct(&self) -> usize {
        self.findings.len()
    }
}

/// The requested engines and the reference, which is needed to explain differences; by default, the reference and the newest
/// interpreter.
pub fn with_reference(asked: &[EngineId]) -> Vec<EngineId> {
    let newest = EngineId::interpreter(ToolchainId::from_triton(Version::NEWEST));
    // The reference alone is compared with itself.
    let others = if asked.is_empty() {
        std::slice::from_ref(&newest)
    } else {
        asked
    };
    let others = others.iter().filter(|id| **id != EngineId::Reference);
    std::iter::once(&EngineId::Reference)
        .chain(others)
        .cloned()
        .collect()
}
