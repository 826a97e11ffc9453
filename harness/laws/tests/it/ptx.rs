//! The law of PTX: the seeds finish, and every mutation of them is rejected or executed, without a panic.

use arbitrary::Unstructured;
use cerith_gen::Ended;
use cerith_laws::ptx::{SEEDS, check, mutate};

#[test]
fn the_seeds_run_to_their_end() {
    for seed in SEEDS {
        assert_eq!(check(seed.as_bytes()), Ok(Ended::Finished), "{seed}");
    }
}

#[test]
fn changed_texts_hold_to_the_law() {
    // splitmix64
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut ends = [0; 3];
    for nth in 0..600 {
        let bytes: Vec<u8> = (0..64).flat_map(|_| next().to_le_bytes()).collect();
        let mut u = Unstructured::new(&bytes);
        let seed = SEEDS[nth % SEEDS.len()];
        let text = mutate(seed, &mut u).unwrap_or_default();
        match check(text.as_bytes()) {
            Ok(ended) => ends[Ended::ALL.iter().position(|&of| of == ended).unwrap_or(0)] += 1,
            Err(fault) => panic!("{fault}\n{text}"),
        }
    }
    // Changes are worth something only if they do not all end in one way.
    assert!(ends.iter().all(|&count| count >= 10), "{ends:?}");
}
