//! Launches with intervals beside the plain ones of the same kernels on the same memory: how many times as long they take.
//! Each time is the least of a few. Words after the options pick kernels by part of their name.

use std::sync::Arc;
use std::time::{Duration, Instant};

use conch_frontend::{Request, trace};
use conch_gen::kernel::World;
use conch_interp::{Acceptance, AcceptanceMap, Config, Outcome, Program};
use conch_tile::ir::{Elem, Rounding};
use conch_tile::rules::Rules;
use conch_tile::source::SourceFile;
use conch_tile::{DType, numeric};

const TEXT: &str = include_str!("acceptance.py");

/// A kernel, the dtype of its tensors, its block and its grid.
const ROWS: [(&str, DType, usize, [u32; 3]); 19] = [
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
        let both = row(kernel, dtype, block, grid, times);
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

fn row(kernel: &str, dtype: DType, block: usize, grid: [u32; 3], times: usize) -> [Duration; 2] {
    let pointer = || conch_frontend::Arg::Pointer(Elem::Num(dtype));
    let number = |value: usize| conch_frontend::Arg::Int(value as i128);
    let traced = trace(&Request {
        file: Arc::new(SourceFile::new("acceptance.py", TEXT)),
        modules: Vec::new(),
        kernel: kernel.to_owned(),
        positional: vec![pointer(), pointer(), pointer(), number(COUNT), number(block)],
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::default(),
    })
    .unwrap_or_else(|refused| panic!("{kernel}: {refused:?}"));
    let program = Program::prepare(traced.function).expect("verified");
    let mut world = World::default();
    for (nth, name) in ["out", "x", "y"].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..COUNT)
            .flat_map(|i| {
                let value = ((i * 7919 + nth * 104_729) % 65_521) as f64 / 16_380.0 - 2.0;
                let bits = if dtype.is_float() {
                    numeric::encode(dtype, value, Rounding::NearestEven)
                } else {
                    (value * 1000.0) as i64 as u64
                };
                bits.to_le_bytes().into_iter().take(dtype.size())
            })
            .collect();
        world.tensor(name, dtype, COUNT, Some(&bytes));
    }
    let (memory, args) = world.finish();
    let config = Config::default();
    let mut best = [Duration::MAX; 2];
    for _ in 0..times {
        let mut plain = memory.clone();
        let start = Instant::now();
        let outcome = program
            .launch(grid, &args, &mut plain, &config)
            .expect("no bug of ours");
        best[0] = best[0].min(start.elapsed());
        assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
        let (mut other, mut map) = (memory.clone(), AcceptanceMap::default());
        let start = Instant::now();
        let end = program
            .accept(grid, &args, &mut other, &mut map, &config)
            .expect("no bug of ours");
        best[1] = best[1].min(start.elapsed());
        assert_eq!(end, Acceptance::Known, "{kernel}");
    }
    best
}
