//! Common parts of the targets: randomness for structured mutations from libFuzzer's seed, and the conversion of a
//! fault to a crash.

pub mod interpreter;

use arbitrary::Unstructured;
use cerith_gen::TrialResult;

/// Random bytes for a mutation.
const RANDOM: usize = 1024;

/// Panics on a fault, so that libFuzzer keeps the input.
pub fn hold(trial: TrialResult) {
    if let Err(fault) = trial {
        panic!("{fault}");
    }
}

/// Mutates the text in libFuzzer's buffer, and returns its new length. Text that doesn't fit is truncated.
pub fn change(
    data: &mut [u8],
    size: usize,
    room: usize,
    seed: u32,
    mutate: impl FnOnce(&str, &mut Unstructured<'_>) -> arbitrary::Result<String>,
) -> usize {
    // splitmix64: libFuzzer's seed is 32 bits.
    let mut state = u64::from(seed);
    let random: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    })
    .take(RANDOM / 8)
    .flatten()
    .collect();
    let Some(text) = data.get(..size) else { return size };
    let text = String::from_utf8_lossy(text).into_owned();
    let Ok(made) = mutate(&text, &mut Unstructured::new(&random)) else {
        return size;
    };
    let length = made.len().min(room).min(data.len());
    data[..length].copy_from_slice(&made.as_bytes()[..length]);
    length
}
