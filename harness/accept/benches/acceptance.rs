//! Launches with intervals beside the plain ones of the same kernels on the same memory: how many times as long they take.
//! Each time is the least of a few. Words after the options pick kernels by part of their name.

mod kernels;

use std::time::{Duration, Instant};

use cerith_accept::{Acceptance, AcceptanceMap};
use cerith_interp::{Config, LaunchOutcome};
use cerith_tile::ir::Rounding;
use cerith_tile::{DType, numeric};

/// A kernel, the dtype of its tensors, its block and its grid.
const ROWS: [(&str, DType, usize, [u32; 3]); 20] = [
    ("add", DType::F32, 1024, [64, 1, 1]),
    ("integers", DType::I32, 1024, [64, 1, 1]),
    ("dropout", DType::F32, 1024, [64, 1, 1]),
    ("chain", DType::F32, 1024, [64, 1, 1]),
    ("chain", DType::F16, 1024, [64, 1, 1]),
    ("swiglu", DType::F32, 1024, [64, 1, 1]),
    ("swiglu", DType::BF16, 1024, [64, 1, 1]),
    ("geglu", DType::F32, 1024, [64, 1, 1]),
    ("rope", DType::F32, 128, [64, 1, 1]),
    ("softmax", DType::F32, 1024, [64, 1, 1]),
    ("log_mixture", DType::F32, 1024, [64, 1, 1]),
    ("softmax_loop", DType::F32, 4096, [16, 1, 1]),
    ("layer_norm", DType::F32, 1024, [64, 1, 1]),
    ("rms_norm", DType::F16, 1024, [64, 1, 1]),
    ("cross_entropy", DType::F32, 4096, [16, 1, 1]),
    ("cumulative", DType::F32, 256, [64, 1, 1]),
    ("argmax", DType::F32, 256, [64, 1, 1]),
    ("matmul", DType::F16, 128, [2, 2, 1]),
    ("matmul", DType::F32, 128, [2, 2, 1]),
    ("attention", DType::F16, 128, [2, 1, 1]),
];

/// Elements of each tensor.
const COUNT: usize = 1 << 16;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let test = !std::env::args().any(|arg| arg == "--bench");
    println!(
        "{:<24} {:>12} {:>12} {:>8}",
        "launch", "plain", "intervals", "times"
    );
    let mut total = [Duration::ZERO; 2];
    for (kernel, dtype, block, grid) in ROWS {
        let name = format!("{kernel} {}", dtype.name());
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let times = if test { 1 } else { 15 };
        let both = measure_kernel(kernel, dtype, block, grid, times);
        println!(
            "{name:<24} {:>12.2?} {:>12.2?} {:>8.2}",
            both[0],
            both[1],
            both[1].as_secs_f64() / both[0].as_secs_f64()
        );
        total[0] += both[0];
        total[1] += both[1];
    }
    println!(
        "{:<24} {:>12.2?} {:>12.2?} {:>8.2}",
        "all",
        total[0],
        total[1],
        total[1].as_secs_f64() / total[0].as_secs_f64()
    );
}

fn measure_kernel(kernel: &str, dtype: DType, block: usize, grid: [u32; 3], times: usize) -> [Duration; 2] {
    let program = kernels::build_program(kernel, dtype, COUNT, block);
    let (memory, args) = kernels::build_tensors(dtype, COUNT, |i, nth| {
        let value = ((i * 7919 + nth * 104_729) % 65_521) as f64 / 16_380.0 - 2.0;
        if dtype.is_float() {
            numeric::encode(dtype, value, Rounding::NearestEven)
        } else {
            (value * 1000.0) as i64 as u64
        }
    });
    let config = Config::default();
    let mut best = [Duration::MAX; 2];
    for _ in 0..times {
        let mut plain = memory.clone();
        let start = Instant::now();
        let outcome = program
            .launch(grid, &args, &mut plain, &config)
            .expect("no bug of ours");
        best[0] = best[0].min(start.elapsed());
        assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
        let (mut other, mut map) = (memory.clone(), AcceptanceMap::default());
        let start = Instant::now();
        let end = cerith_accept::accept(&program, grid, &args, &mut other, &mut map, &config)
            .expect("no bug of ours");
        best[1] = best[1].min(start.elapsed());
        assert_eq!(end, Acceptance::Known, "{kernel}");
    }
    best
}
