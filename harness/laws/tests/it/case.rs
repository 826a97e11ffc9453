//! Generated cases obey the laws, for any input bytes.

use cerith_gen::{Ended, seeded};
use cerith_laws::case::check;

#[test]
fn generated_cases_are_steady_and_have_their_twins() {
    let mut finished = 0;
    for seed in 0..120 {
        let bytes = seeded::generate_bytes(4, seed);
        // Some that end early.
        let some = if seed % 4 == 0 {
            &bytes[..2 * seed as usize]
        } else {
            &bytes[..]
        };
        let ended = check(some).unwrap_or_else(|fault| panic!("{fault}"));
        finished += usize::from(ended == Ended::Finished);
    }
    assert!(finished > 110, "{finished} of 120 finish");
}
