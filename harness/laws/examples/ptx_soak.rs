//! Many changed PTX texts without a fuzzing engine: `ptx_soak TRIALS [SEED]`. A fault or a panic is written to `soak-ptx-N`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use arbitrary::Unstructured;
use cerith_gen::Ended;
use cerith_laws::ptx::{SEEDS, check, mutate};

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse::<u64>().ok());
    let trials = words.next().unwrap_or(1000);
    let mut state = words.next().unwrap_or(0);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let (mut ends, mut faults, mut slowest) = ([0u64; 3], 0, Duration::ZERO);
    let begin = Instant::now();
    // A change of a change goes further from the seed.
    let mut text = SEEDS[0].to_owned();
    for _ in 0..trials {
        if next() % 5 == 0 {
            SEEDS[next() as usize % SEEDS.len()].clone_into(&mut text);
        }
        let bytes: Vec<u8> = (0..64).flat_map(|_| next().to_le_bytes()).collect();
        text = mutate(&text, &mut Unstructured::new(&bytes)).unwrap_or_default();
        let start = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| check(text.as_bytes()))) {
            Ok(Ok(ended)) => ends[Ended::ALL.iter().position(|&of| of == ended).unwrap_or(0)] += 1,
            other => {
                faults += 1;
                let name = format!("soak-ptx-{faults}");
                fs::write(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
                println!("{name}: {:?}", other.ok());
            }
        }
        slowest = slowest.max(start.elapsed());
    }
    let [refused, stopped, finished] = ends;
    println!(
        "{trials} trials in {:?}: {refused} refused, {stopped} stopped, {finished} finished, {faults} faults, slowest {slowest:?}",
        begin.elapsed()
    );
}
