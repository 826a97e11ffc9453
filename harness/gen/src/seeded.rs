//! The bytes that a numbered case is made from: the same on every machine. Fuzzing engines make their own bytes.

/// The maximum number of bytes that a case is made from.
const BYTES: usize = 4096;

/// The bytes of a case: splitmix64, from a state that seed and number give.
pub fn generate_bytes(seed: u64, number: u64) -> Vec<u8> {
    let mut state = scramble(seed).wrapping_add(number);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(state)
    };
    (0..BYTES / 8).flat_map(|_| next().to_le_bytes()).collect()
}

/// The bytes of one of several cases that a number may have; of the first one, those of [`generate_bytes`].
pub fn generate_candidate(seed: u64, number: u64, candidate: u64) -> Vec<u8> {
    generate_bytes(seed ^ scramble(candidate), number)
}

/// The output function of splitmix64, which gives 0 for 0.
const fn scramble(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_number_are_the_same_bytes_everywhere() {
        assert_eq!(generate_bytes(0, 0)[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_eq!(generate_bytes(0, 7), generate_bytes(0, 7));
        assert_ne!(generate_bytes(0, 7), generate_bytes(0, 8));
        assert_ne!(generate_bytes(1, 7), generate_bytes(0, 7));
        assert_eq!(generate_candidate(1, 7, 0), generate_bytes(1, 7));
        assert_ne!(generate_candidate(1, 7, 1), generate_candidate(1, 7, 2));
    }
}
