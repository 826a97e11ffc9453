//! The file of known findings: `cerith check --write-baseline FILE` writes it, `--baseline FILE` hides its findings.
//!
//! See [`super::finding_id`] for the ids in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::BaselineError;

/// Maximum bytes of a baseline.
const MAX_BASELINE: u64 = 1 << 26;

/// The version of the format.
const FORMAT: u32 = 1;

const HEAD: &str = "# Known findings of `cerith check`. Write a reason for each, or fix it.\n\
    # `cerith check --write-baseline` updates this file and keeps the reasons.\n";

/// One known finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The id.
    pub id: String,
    /// The kernel's file, from the folder that imports start from.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// The code.
    pub code: String,
    /// The line when it was written. The id doesn't depend on it.
    #[serde(default)]
    pub line: u32,
    /// The message.
    pub text: String,
    /// The conditions under which the kernel is right; empty unless this is a precondition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<String>,
    /// Why it is accepted.
    pub reason: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    finding: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    precondition: Vec<Entry>,
}

/// Known findings.
#[derive(Default)]
pub struct Baseline {
    entries: BTreeMap<String, Entry>,
    used: RefCell<BTreeSet<String>>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a baseline of this version.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = || path.display().to_string();
        let text = cerith_files::read_text(path, MAX_BASELINE)
            .map_err(|error| BaselineError::Read { path: name(), error })?;
        let file: BaselineFile = toml::from_str(&text).map_err(|error| BaselineError::Parse {
            path: name(),
            error: Box::new(error),
        })?;
        if file.format != FORMAT {
            return Err(BaselineError::Format {
                path: name(),
                format: file.format,
                expected: FORMAT,
            });
        }
        let entries = file.finding.into_iter().chain(file.precondition);
        Ok(Self {
            entries: entries.map(|entry| (entry.id.clone(), entry)).collect(),
            used: RefCell::default(),
        })
    }

    /// The reason of a known finding. `None` if it is new.
    pub fn find(&self, id: &str) -> Option<&str> {
        let entry = self.entries.get(id)?;
        self.used.borrow_mut().insert(entry.id.clone());
        Some(&entry.reason)
    }

    /// Counts the known findings of these kernels that this check did not find.
    pub fn count_unused(&self, kernels: &BTreeSet<(String, String)>) -> usize {
        let used = self.used.borrow();
        let is_unused = |entry: &&Entry| {
            !used.contains(&entry.id) && kernels.contains(&(entry.file.clone(), entry.kernel.clone()))
        };
        self.entries.values().filter(is_unused).count()
    }
}

/// Writes findings. Keeps the reasons of an existing file, and its entries that `stays` accepts: those of kernels that this check did
/// not judge.
///
/// # Errors
/// The existing file is not a baseline, or the file cannot be written.
pub fn write_baseline(
    path: &Path,
    mut entries: Vec<Entry>,
    stays: impl Fn(&Entry) -> bool,
) -> Result<usize, BaselineError> {
    let is_missing =
        matches!(std::fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound);
    if !is_missing {
        // A file that is not a baseline is not replaced.
        let known = Baseline::read(path)?;
        for entry in &mut entries {
            if let Some(old) = known.entries.get(&entry.id) {
                entry.reason.clone_from(&old.reason);
            }
        }
        let mut others = known.entries.into_values().filter(stays).collect();
        entries.append(&mut others);
    }
    entries.sort_by(|a, b| (&a.file, &a.kernel, a.line, &a.id).cmp(&(&b.file, &b.kernel, b.line, &b.id)));
    let count = entries.len();
    let (precondition, finding) = entries.into_iter().partition(|entry| !entry.unless.is_empty());
    let file = BaselineFile {
        format: FORMAT,
        finding,
        precondition,
    };
    let name = || path.display().to_string();
    let text = toml::to_string(&file).map_err(|error| BaselineError::Serialize {
        path: name(),
        error: Box::new(error),
    })?;
    cerith_files::write(path, format!("{HEAD}{text}"))
        .map_err(|error| BaselineError::Write { path: name(), error })?;
    Ok(count)
}
