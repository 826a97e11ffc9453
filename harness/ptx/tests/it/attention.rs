//! Attention that Triton compiled for `sm_90a`, executed against softmax(QKᵀ)V in `f64`.

use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, Schedule, parse};

use crate::compiled::{element, encode_f16, encode_map, list_kinds, read_golden};

/// Queries, which are one block.
const QUERIES: usize = 128;
/// Keys, which are three blocks.
const KEYS: usize = 192;
/// Elements of a query, a key or a value.
const WIDTH: usize = 64;
/// The scale of the scores. The kernel uses powers of 2.
const SCALE: f64 = 0.125;

/// An element of the queries, keys or values: a quarter of a small whole number.
fn quarters(row: usize, column: usize, tensor: usize) -> i32 {
    element(row, column, tensor + 3)
}

/// A quarter of a whole number as `f16`.
fn encode_quarters(value: i32) -> u16 {
    let whole = encode_f16(value);
    if whole == 0 { 0 } else { whole - (2 << 10) }
}

fn decode_f16(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// An element of the result, and a bound on its error.
fn compute(weights: &[f64], total: f64, column: usize) -> (f64, f64) {
    let value = |key: usize| f64::from(quarters(key, column, 2)) / 4.0;
    let (mut sum, mut magnitude) = (0.0, 0.0);
    for (key, weight) in weights.iter().enumerate() {
        sum += weight * value(key);
        magnitude += weight * value(key).abs();
    }
    let (result, magnitude) = (sum / total, magnitude / total);
    // The kernel rounds weights to `f16`. The other term is for sums, scales and powers in `f32`.
    let relative = 2f64.powi(-11) + 2f64.powi(-14);
    // Small weights are subnormal. The values are at most 1, and the largest weight is 1.
    let absolute = KEYS as f64 * 2f64.powi(-25);
    let before = magnitude * relative + absolute;
    (
        result,
        before + (result.abs() + before) * 2f64.powi(-11) + 2f64.powi(-25),
    )
}

/// Returns the largest error, in parts of its bound.
fn measure_error(result: &[u8]) -> f64 {
    let mut largest: f64 = 0.0;
    let result = result.as_chunks::<2>().0;
    for query in 0..QUERIES {
        let score = |key: usize| -> f64 {
            let product = |at| quarters(query, at, 0) * quarters(key, at, 1);
            f64::from((0..WIDTH).map(product).sum::<i32>()) / 16.0 * SCALE
        };
        let scores: Vec<f64> = (0..KEYS).map(score).collect();
        let top = scores.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp2()).collect();
        let total = weights.iter().sum();
        for column in 0..WIDTH {
            let (expected, bound) = compute(&weights, total, column);
            let actual = decode_f16(u16::from_le_bytes(result[query * WIDTH + column]));
            let error = (actual - expected).abs() / bound;
            largest = if error.is_nan() {
                f64::INFINITY
            } else {
                largest.max(error)
            };
        }
    }
    largest
}

fn launch(text: &str, schedule: Schedule) -> (LaunchOutcome, f64) {
    let module = Arc::new(parse(text).expect("PTX"));
    let kernel = Kernel::new(&module, "attn").expect("a kernel");
    let tensors = [(QUERIES, 128), (KEYS, 64), (KEYS, 64), (QUERIES, 128)];
    let mut storages = Storages::new();
    for (nth, (rows, _)) in tensors.into_iter().enumerate() {
        let id = storages.add(format!("s{nth}"), (rows * WIDTH * 2) as u64);
        let content: Vec<u8> = (0..rows * WIDTH)
            .flat_map(|at| encode_quarters(quarters(at / WIDTH, at % WIDTH, nth)).to_le_bytes())
            .collect();
        storages.write(id.expect("it fits"), 0, &content);
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let mut given: Vec<Vec<u8>> = Vec::new();
    for (nth, (rows, block)) in tensors.into_iter().enumerate() {
        let address = memory.address(StorageId(nth as u32));
        given.push(encode_map(address, rows, WIDTH, [block, WIDTH], 3));
        given.extend([rows, WIDTH, WIDTH, 1].map(|value| (value as u64).to_le_bytes().to_vec()));
    }
    given.extend([KEYS as u64, 0, 0].map(|value| value.to_le_bytes().to_vec()));
    assert_eq!(given.len(), kernel.parameters().len());
    let mut parameters = Vec::new();
    for (parameter, mut given) in kernel.parameters().iter().zip(given) {
        parameters.resize(parameter.offset as usize, 0);
        given.resize(parameter.size as usize, 0);
        parameters.extend(given);
    }
    let launch = Launch {
        grid: [1, 1, 1],
        threads: [128, 1, 1],
        cluster: [1, 1, 1],
        shared: 65592,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        schedule,
        fuel: 1 << 22,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    let error = measure_error(memory.bytes(StorageId(3)));
    (outcome, error)
}

#[test]
fn attention_is_right_and_nothing_is_reported() {
    for version in ["3.9.0", "3.6.0"] {
        let text = read_golden("attn0", version).expect("a golden file");
        for schedule in [Schedule::Latest, Schedule::Random(1)] {
            let (outcome, error) = launch(&text, schedule);
            assert_eq!(
                list_kinds(&outcome),
                [""; 0],
                "{version}, {schedule:?}: {outcome:?}"
            );
            assert!(error <= 1.0, "{version}, {schedule:?}: {error} of the bound");
        }
    }
}
