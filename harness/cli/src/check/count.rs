//! The number of checked kernels, by result, for the summary.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cerith_check::hidden::{Hidden, HiddenBy};
use cerith_check::proof::ProofCount;
use cerith_check::report::Standing;

/// The number of kernels, by result.
#[derive(Default)]
pub struct Count {
    pub kernels: usize,
    clean: usize,
    with_findings: usize,
    pub not_judged: usize,
    pub not_tried: usize,
    pub hidden: BTreeMap<HiddenBy, usize>,
    without_reason: usize,
    /// Kernels for which no time was left.
    pub unfinished: usize,
    pub excluded: usize,
    /// Accesses that are proved.
    pub proved: ProofCount,
}

impl Count {
    pub fn add_hidden(&mut self, hidden: &[Hidden]) {
        for one in hidden {
            *self.hidden.entry(one.by).or_default() += 1;
            self.without_reason += usize::from(one.reason.trim().is_empty());
        }
    }

    pub fn add(&mut self, standing: Standing) {
        self.kernels += 1;
        match standing {
            Standing::Clean => self.clean += 1,
            Standing::Found(_) => self.with_findings += 1,
            Standing::NotJudged => self.not_judged += 1,
            Standing::NotTried(_) => self.not_tried += 1,
        }
    }

    /// The summary. `config` is the name of the configuration's file.
    pub fn describe(&self, config: &str) -> String {
        let mut text = format!(
            "{} kernels: {} with findings, {} with nothing found, {} not judged, {} not tried",
            self.kernels, self.with_findings, self.clean, self.not_judged, self.not_tried
        );
        // Writing to a string does not fail.
        if let Some(proved) = self.proved.describe() {
            let _ = write!(text, "\nproved: {proved}");
        }
        let hidden = HiddenBy::ALL.into_iter().filter_map(|by| {
            let count = self.hidden.get(&by)?;
            Some(match by {
                HiddenBy::Config => format!("{count} by {config}"),
                HiddenBy::Comment | HiddenBy::Baseline => format!("{count} by {by}"),
            })
        });
        let hidden: Vec<String> = hidden.collect();
        if !hidden.is_empty() {
            let _ = write!(text, "\nhidden: {}", hidden.join(", "));
        }
        if self.without_reason > 0 {
            let _ = write!(text, " ({} without a reason)", self.without_reason);
        }
        if self.excluded > 0 {
            let _ = write!(text, "\nexcluded by {config}: {} of the files", self.excluded);
        }
        text
    }
}
