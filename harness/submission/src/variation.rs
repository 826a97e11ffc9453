//! Whether results vary with the data. A constant agrees with a reference whose results do not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::encode;

use crate::trial::{Expected, Trial};
use cerith_runner::oracle::session::ExpectedValues;

/// Elements of integers and booleans, in all trials together, that a wrong formula may have by chance.
const MAX_CHANCE: usize = 128;

/// A hash of the elements of one result.
pub(super) type Digest = blake3::Hash;

/// The results of one function in calls that differ only in their data.
#[derive(Debug, Default)]
pub(super) struct Variation {
    /// The first result for each key and number of the output.
    first: HashMap<(String, usize), Digest>,
    varied: BTreeSet<usize>,
}

impl Variation {
    /// Adds an output of a call, with the key of its trial.
    pub fn add(&mut self, key: &str, output: usize, digest: Digest) {
        let first = self.first.entry((key.to_owned(), output)).or_insert(digest);
        if *first != digest {
            self.varied.insert(output);
        }
    }

    /// Whether two calls with the same key have different results.
    pub fn is_varied(&self, output: usize) -> bool {
        self.varied.contains(&output)
    }
}

/// How the results of the reference vary.
#[derive(Debug)]
pub(super) struct ReferenceVariation {
    variation: Variation,
    /// The outputs that depend on the data, with their names.
    dependent: BTreeMap<usize, String>,
    /// The elements in all trials of the outputs of integers.
    discrete: BTreeMap<usize, usize>,
}

impl ReferenceVariation {
    /// The variation in these trials.
    pub fn new(trials: &[Trial]) -> Self {
        let mut found = Self {
            variation: Variation::default(),
            dependent: BTreeMap::new(),
            discrete: BTreeMap::new(),
        };
        for trial in trials {
            for (at, output) in trial.outputs.iter().enumerate() {
                found.variation.add(&trial.key, at, hash_expected(output));
                if output.depends {
                    found.dependent.entry(at).or_insert_with(|| output.name.clone());
                }
                if !output.dtype.is_float() {
                    *found.discrete.entry(at).or_default() += output.count_elements();
                }
            }
        }
        found
    }

    /// The outputs that depend on the data, and are constant in the trials or in the results of a submission: number and name.
    pub fn list_constant(&self, own: Option<&Variation>) -> impl Iterator<Item = &str> {
        let is_constant =
            move |at: usize| !self.variation.is_varied(at) || own.is_some_and(|own| !own.is_varied(at));
        let dependent = self.dependent.iter();
        dependent.filter_map(move |(&at, name)| is_constant(at).then_some(name.as_str()))
    }

    /// Whether more trials may refuse what these accept: an output is constant, or has so few integers that chance may explain them.
    pub fn needs_more(&self) -> bool {
        let few = |at: &usize| self.discrete.get(at).is_some_and(|&count| count < MAX_CHANCE);
        self.list_constant(None).next().is_some() || self.dependent.keys().any(few)
    }
}

/// A hash of expected values as their dtype holds them.
fn hash_expected(output: &Expected) -> Digest {
    let mut hasher = blake3::Hasher::new();
    match &output.values {
        ExpectedValues::Numbers(bytes) if output.dtype.is_float() => {
            for value in bytes.as_chunks::<8>().0 {
                hasher.update(&round(output.dtype, f64::from_le_bytes(*value)).to_le_bytes());
            }
        }
        ExpectedValues::Numbers(bytes) => {
            hasher.update(bytes);
        }
        ExpectedValues::Ranges(ranges) => {
            for value in ranges.as_flattened() {
                hasher.update(&round(output.dtype, *value).to_le_bytes());
            }
        }
    }
    hasher.finalize()
}

fn round(dtype: DType, value: f64) -> u64 {
    // Zeros of both signs are one value.
    encode(dtype, value + 0.0, Rounding::NearestEven)
}
