//! Steering: out of a few kernels, a campaign runs the one with the most features that few others had. The same seed produces the
//! same cases on every machine, with any number of jobs, in one run or in several, because features count by whole epochs. See
//! `cerith_gen::case` for a kernel's features and their weights.
//!
//! The choice goes by the epochs before the last one. So a job waits for the end of an epoch only if there are more jobs than an
//! epoch has cases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cerith_gen::case::{Coverage, Generated};
use serde::{Deserialize, Serialize};

/// How many kernels an epoch has.
pub const EPOCH: u64 = 32;

/// How many kernels there are to choose from.
pub const CANDIDATES: u64 = 3;

/// The features that a campaign has seen, as stored in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoverageHistory {
    /// In how many kernels each feature was, of the epochs that are settled: all but the last two.
    pub settled: BTreeMap<String, u64>,
    /// The last whole epoch.
    pub last: BTreeMap<String, u64>,
    /// The one under way.
    pub current: BTreeMap<String, u64>,
    /// The number of the one under way.
    pub epoch: u64,
}

impl CoverageHistory {
    /// In how many kernels each feature was, over all.
    pub fn all(&self) -> Coverage {
        let mut all = Coverage::from_counts(self.settled.clone());
        all.merge(&Coverage::from_counts(self.last.clone()));
        all.merge(&Coverage::from_counts(self.current.clone()));
        all
    }
}

/// The coverage of a campaign, updated in the order of kernels.
struct Book {
    history: CoverageHistory,
    current: Coverage,
    /// For each epoch that may be requested, the features seen two epochs before it.
    known_coverage: BTreeMap<u64, Arc<Coverage>>,
    /// The kernels that were chosen but not yet generated, with their features.
    chosen: BTreeMap<u64, (u64, BTreeSet<String>)>,
    /// Whether no more kernels are generated.
    ended: bool,
}

/// Chooses kernels. Shared by the jobs of a run.
pub struct Steer {
    book: Mutex<Book>,
    moved: Condvar,
}

impl Steer {
    /// Continues from the coverage of a campaign.
    pub fn new(seen: CoverageHistory) -> Self {
        let mut known = BTreeMap::new();
        let settled = Coverage::from_counts(seen.settled.clone());
        let mut next = settled.clone();
        next.merge(&Coverage::from_counts(seen.last.clone()));
        // The epoch under way knows what is settled; the next one knows the last one too.
        known.insert(seen.epoch, Arc::new(settled));
        known.insert(seen.epoch + 1, Arc::new(next));
        let current = Coverage::from_counts(seen.current.clone());
        Self {
            book: Mutex::new(Book {
                history: seen,
                current,
                known_coverage: known,
                chosen: BTreeMap::new(),
                ended: false,
            }),
            moved: Condvar::new(),
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which of some kernels to run, by their features; `None` if the run ended before the choice.
    pub fn choose(&self, kernel: u64, candidate: impl Fn(u64) -> Option<Generated>) -> Option<u64> {
        if let Some(chosen) = self.book().chosen.get(&kernel) {
            return Some(chosen.0);
        }
        let known = self.wait_for_coverage(kernel)?;
        let candidates: Vec<Option<Generated>> = (0..CANDIDATES).map(candidate).collect();
        let keys = |one: &Option<Generated>| one.as_ref().map(Generated::feature_keys).unwrap_or_default();
        let best = known.find_best(&candidates.iter().map(keys).collect::<Vec<_>>());
        let features = candidates
            .get(best)
            .and_then(Option::as_ref)
            .map(Generated::features);
        let chosen = (best as u64, features.unwrap_or_default());
        self.book().chosen.insert(kernel, chosen);
        Some(best as u64)
    }

    /// Waits for the coverage by which kernels of this kernel's epoch are chosen. `None` if the campaign ended.
    fn wait_for_coverage(&self, kernel: u64) -> Option<Arc<Coverage>> {
        let epoch = kernel / EPOCH;
        let mut book = self.book();
        loop {
            if let Some(known) = book.known_coverage.get(&epoch) {
                return Some(Arc::clone(known));
            }
            if book.ended {
                return None;
            }
            book = self.moved.wait(book).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the campaign: no job waits for further results.
    pub fn end(&self) {
        self.book().ended = true;
        self.moved.notify_all();
    }

    /// A kernel that was chosen is out. Kernels come in order.
    pub fn note(&self, kernel: u64) {
        let mut book = self.book();
        while book.history.epoch < kernel / EPOCH {
            book.turn();
            self.moved.notify_all();
        }
        // Previous kernels are not requested again.
        book.chosen = book.chosen.split_off(&kernel);
        let features = book.chosen.get(&kernel).map(|(_, features)| features.clone());
        book.current.add(features.iter().flatten());
    }

    /// The observed features, for saving.
    pub fn history(&self) -> CoverageHistory {
        let book = self.book();
        CoverageHistory {
            current: book.current.counts().clone(),
            ..book.history.clone()
        }
    }
}

impl Book {
    /// Ends the epoch under way.
    fn turn(&mut self) {
        let ended = std::mem::take(&mut self.current);
        let mut settled = Coverage::from_counts(std::mem::take(&mut self.history.settled));
        settled.merge(&Coverage::from_counts(std::mem::take(&mut self.history.last)));
        let mut next = settled.clone();
        next.merge(&ended);
        self.history = CoverageHistory {
            settled: settled.counts().clone(),
            last: ended.counts().clone(),
            current: BTreeMap::new(),
            epoch: self.history.epoch + 1,
        };
        self.known_coverage.insert(self.history.epoch + 1, Arc::new(next));
        // Pending requests belong to the epoch that has just ended, or to a later one.
        let oldest = self.history.epoch.saturating_sub(2);
        self.known_coverage.retain(|&epoch, _| epoch >= oldest);
    }
}

#[cfg(test)]
mod tests {
    use arbitrary::Unstructured;
    use cerith_gen::case::Detail;
    use cerith_gen::seeded;

    use super::*;

    fn generate_candidate(kernel: u64, candidate: u64) -> Option<Generated> {
        let bytes = seeded::generate_candidate(3, kernel, candidate);
        Generated::new("k", Detail::Chosen, &mut Unstructured::new(&bytes)).ok()
    }

    /// Lets a kernel out: what it was chosen by, and what was chosen.
    fn release_kernel(steer: &Steer, kernel: u64) -> (Arc<Coverage>, u64) {
        let known = steer.wait_for_coverage(kernel).expect("it is known");
        let chosen = steer.choose(kernel, |at| generate_candidate(kernel, at));
        assert_eq!(chosen, steer.choose(kernel, |_| None), "a choice stays");
        steer.note(kernel);
        (known, chosen.expect("it is known"))
    }

    fn run_campaign(count: u64) -> Vec<(Arc<Coverage>, u64)> {
        let steer = Steer::new(CoverageHistory::default());
        (0..count).map(|kernel| release_kernel(&steer, kernel)).collect()
    }

    #[test]
    fn an_epoch_knows_all_but_the_one_before_it() {
        let known = run_campaign(3 * EPOCH);
        let epoch = |nth: u64| &*known[(nth * EPOCH) as usize].0;
        assert_eq!((epoch(0), epoch(1)), (&Coverage::default(), &Coverage::default()));
        let mut first = Coverage::default();
        for kernel in 0..EPOCH {
            let chosen = generate_candidate(kernel, known[kernel as usize].1).expect("a kernel");
            first.add(&chosen.features());
        }
        assert_eq!(epoch(2), &first);
    }

    #[test]
    fn a_campaign_in_parts_chooses_the_same() {
        let expected = run_campaign(4 * EPOCH);
        for part in [1, EPOCH - 1, EPOCH, EPOCH + 5, 3 * EPOCH + 1] {
            let mut steer = Steer::new(CoverageHistory::default());
            for kernel in 0..4 * EPOCH {
                if kernel % part == 0 {
                    let text = serde_json::to_string(&steer.history()).expect("JSON");
                    steer = Steer::new(serde_json::from_str(&text).expect("what was written"));
                }
                assert_eq!(
                    release_kernel(&steer, kernel),
                    expected[kernel as usize],
                    "{part} {kernel}"
                );
            }
        }
    }

    #[test]
    fn who_asks_too_early_waits_and_goes_when_the_run_ends() {
        let steer = Steer::new(CoverageHistory::default());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| steer.choose(2 * EPOCH, |_| None));
            steer.end();
            assert!(waiting.join().expect("no panic").is_none());
        });
        assert!(steer.choose(EPOCH, |_| None).is_some());
    }
}
