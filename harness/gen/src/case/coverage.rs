//! The features of all kernels of a campaign, and which of some kernels has the most features that few others have. See
//! [`super::Generated::features`] for the features of one kernel.

use std::collections::{BTreeMap, HashMap};

use super::observed::hash_parts;

/// A feature that was seen this often is common: more of it is worth nothing.
const COMMON: u64 = 12;

/// The worth of a feature that no kernel had.
const WORTH: u64 = 1_000_000;

/// How many kernels have each feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
    /// The counts by the features' numbers.
    by_key: HashMap<u64, u64>,
}

impl Coverage {
    /// The coverage that these counts say.
    pub fn from_counts(counts: BTreeMap<String, u64>) -> Self {
        let by_key = counts
            .iter()
            .map(|(feature, &count)| (hash_feature(feature), count))
            .collect();
        Self { counts, by_key }
    }

    /// How many kernels have each feature.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Counts one more kernel.
    pub fn add<'a>(&mut self, features: impl IntoIterator<Item = &'a String>) {
        for feature in features {
            self.add_count(feature, 1);
        }
    }

    /// Counts all kernels of another one.
    pub fn merge(&mut self, other: &Self) {
        for (feature, &count) in &other.counts {
            self.add_count(feature, count);
        }
    }

    fn add_count(&mut self, feature: &str, more: u64) {
        if let Some(count) = self.counts.get_mut(feature) {
            *count += more;
        } else {
            self.counts.insert(feature.to_owned(), more);
        }
        *self.by_key.entry(hash_feature(feature)).or_default() += more;
    }

    /// The value of a kernel with these features ([`super::Generated::feature_keys`]): the rarer they are, the more.
    pub fn score_features(&self, features: &[u64]) -> u64 {
        let worth = |feature: &u64| match self.by_key.get(feature) {
            Some(&count) if count >= COMMON => 0,
            count => WORTH / (1 + count.copied().unwrap_or_default()),
        };
        features.iter().map(worth).sum()
    }

    /// The kernel that is worth most; the first among equals.
    pub fn find_best(&self, kernels: &[Vec<u64>]) -> usize {
        let mut best = (0, 0);
        for (at, features) in kernels.iter().enumerate() {
            let worth = self.score_features(features);
            if worth > best.1 {
                best = (at, worth);
            }
        }
        best.0
    }
}

/// The number of a feature.
fn hash_feature(feature: &str) -> u64 {
    hash_parts(&feature.split(' ').collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_is_worth_more_and_what_is_common_nothing() {
        let mut coverage = Coverage::default();
        let (seen, new) = (vec![hash_feature("op a")], vec![hash_feature("op b")]);
        assert_eq!(
            coverage.find_best(&[seen.clone(), new.clone()]),
            0,
            "of equals the first"
        );
        for _ in 0..COMMON {
            coverage.add(&["op a".to_owned()]);
            assert_eq!(coverage.find_best(&[seen.clone(), new.clone()]), 1);
        }
        assert_eq!(coverage.score_features(&seen), 0);
        assert_eq!(coverage.score_features(&new), WORTH);
    }

    #[test]
    fn merged_counts_are_sums() {
        let mut one = Coverage::default();
        one.add(&["a".to_owned(), "b".to_owned()]);
        let mut two = one.clone();
        two.merge(&one);
        assert_eq!(two.counts().get("a"), Some(&2));
        assert_eq!(Coverage::from_counts(two.counts().clone()), two);
    }
}
