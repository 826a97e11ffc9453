//! The order in which the programs of a launch run. Triton promises none, so a program with a defined result has the same
//! one in every order. See [`crate::checks`] for the effects of an order (races, atomics that meet).

/// An order of programs. A program's number is its place when the first axis of the grid is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    /// By number.
    #[default]
    Ascending,
    /// By number, the last first.
    Descending,
    /// By number, from this one on, and those before it at the end.
    Turned(u64),
    /// A permutation that this number names. The same one for the same number of programs, on every machine.
    Shuffled(u64),
}

/// Rounds of the permutation: enough that neighbours part.
const ROUNDS: u64 = 6;

impl Order {
    /// The number of the program that runs as the `nth` of `programs`, from 0. Needs `nth < programs`.
    pub fn program_at(self, nth: u64, programs: u64) -> u64 {
        match self {
            Self::Ascending => nth,
            Self::Descending => programs.saturating_sub(1).saturating_sub(nth),
            Self::Turned(by) => (nth + by % programs.max(1)) % programs.max(1),
            Self::Shuffled(seed) => {
                // A Feistel network permutes the numbers below a power of four; what falls outside goes round again.
                let bits = 64 - programs.saturating_sub(1).leading_zeros();
                let half = bits.div_ceil(2).max(1);
                let mut at = nth;
                loop {
                    at = apply_feistel(at, half, seed);
                    if at < programs || programs == 0 {
                        return at;
                    }
                }
            }
        }
    }
}

/// A permutation of the numbers of `2 * half` bits.
fn apply_feistel(number: u64, half: u32, seed: u64) -> u64 {
    let mask = (1u64 << half.min(32)) - 1;
    let (mut left, mut right) = (number >> half & mask, number & mask);
    for round in 0..ROUNDS {
        let mixed = mix(right ^ seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        (left, right) = (right, left ^ (mixed & mask));
    }
    left << half | right
}

/// The finaliser of splitmix64.
pub(crate) const fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_runs_every_program_once() {
        for programs in (1..70).chain([255, 256, 257, 1000, 4097]) {
            for order in [
                Order::Ascending,
                Order::Descending,
                Order::Turned(1),
                Order::Turned(100),
                Order::Shuffled(1),
                Order::Shuffled(u64::MAX),
            ] {
                let mut seen: Vec<u64> = (0..programs).map(|nth| order.program_at(nth, programs)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..programs).collect::<Vec<_>>(), "{order:?} of {programs}");
            }
        }
    }

    #[test]
    fn seeds_name_different_orders() {
        let all = |order: Order| (0..100).map(|nth| order.program_at(nth, 100)).collect::<Vec<_>>();
        assert_ne!(all(Order::Shuffled(1)), all(Order::Shuffled(2)));
        assert_ne!(all(Order::Shuffled(1)), all(Order::Ascending));
        assert_eq!(all(Order::Descending)[..3], [99, 98, 97]);
    }
}
