//! Steering: of a few random candidates, choosing the kernel with the rarest features covers more than taking the first.

use std::collections::BTreeSet;

use arbitrary::Unstructured;
use cerith_gen::case::{Coverage, Detail, Generated};
use cerith_gen::seeded;

/// The number of candidates for each kernel.
const CANDIDATES: u64 = 3;

/// The coverage that steers the choice is updated after this many kernels.
const EPOCH: u64 = 64;

fn generate_kernel(number: u64, candidate: u64) -> Generated {
    let bytes = seeded::generate_candidate(5, number, candidate);
    let generated = Generated::new("k", Detail::Chosen, &mut Unstructured::new(&bytes));
    generated.expect("any bytes are a case")
}

/// Measures the features of this many kernels, each chosen among this many candidates.
fn measure_coverage(kernels: u64, candidates: u64) -> Coverage {
    let (mut known, mut all) = (Coverage::default(), Coverage::default());
    for number in 0..kernels {
        if number % EPOCH == 0 {
            known = all.clone();
        }
        let choice: Vec<Generated> = (0..candidates).map(|at| generate_kernel(number, at)).collect();
        let keys: Vec<Vec<u64>> = choice.iter().map(Generated::feature_keys).collect();
        all.add(&choice[known.find_best(&keys)].features());
    }
    all
}

#[test]
fn steering_covers_more_in_as_many_kernels() {
    let (plain, steered) = (measure_coverage(512, 1), measure_coverage(512, CANDIDATES));
    let (plain, steered) = (plain.counts().len(), steered.counts().len());
    println!("512 kernels have {plain} features without steering, and {steered} with it");
    assert!(steered > plain, "{steered} are no more than {plain}");
}

#[test]
fn each_feature_has_a_key() {
    for number in 0..64 {
        let kernel = generate_kernel(number, 0);
        assert_eq!(kernel.features().len(), kernel.feature_keys().len());
    }
}

#[test]
fn a_kernel_has_the_features_that_it_is_made_of() {
    let all: BTreeSet<String> = (0..64)
        .flat_map(|number| generate_kernel(number, 0).features())
        .collect();
    for part in [
        "op load f32 ",
        "op store ",
        " loop",
        " branch",
        " helper",
        "after ",
        "layout strided ",
        "idiom ",
    ] {
        assert!(all.iter().any(|feature| feature.contains(part)), "no {part:?}");
    }
}
