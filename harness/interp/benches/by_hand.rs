//! Compares large launches with the same loops written by hand in Rust, in the same run on the same memory. Prints the
//! ratio of times for the reference with all checks, with the fast ones, and with all of them in as many threads as there
//! are cores. Each time is the minimum of several, which a busy machine changes little. The load is printed with them.

#[path = "../tests/kernels/mod.rs"]
mod kernels;

use std::hint::black_box;
use std::time::{Duration, Instant};

use cerith_interp::{Checks, Config, LaunchOutcome, ParamValue, Program};
use cerith_memory::{Memory, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::Function;
use kernels::World;

fn main() {
    // `cargo test --benches` runs this too: then one iteration on little data is enough.
    let test = !std::env::args().any(|arg| arg == "--bench");
    let (elements, size, times) = if test {
        (1 << 12, 128, 1)
    } else {
        (1 << 24, 1024, 5)
    };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}", load.split(' ').next().unwrap_or("unknown"));
    println!(
        "{:<36} {:>12} {:>12} {:>12} {:>12} {:>8} {:>12}",
        "launch", "by hand", "full", "fast", "in threads", "times", "full / fast"
    );
    for block in [1024, 4096] {
        vector_add(elements, block, times);
    }
    for columns in [1024, 4096] {
        softmax(elements, columns, times);
    }
    matmul(size, 128.min(size), times.min(2));
}

/// The minimum time of several runs.
fn measure_least(times: usize, mut work: impl FnMut()) -> Duration {
    (0..times)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

/// One row: the loop by hand, which writes what storage `out` has to hold up to rounding, and the launch.
fn print_row(
    name: &str,
    times: usize,
    function: Function,
    grid: [u32; 3],
    (mut memory, args): (Memory, Vec<ParamValue>),
    out: u32,
    mut by_hand: impl FnMut(&mut [f32]),
) {
    let mut expected = vec![0.0; memory.size(StorageId(out)) / 4];
    let hand = measure_least(times, || by_hand(black_box(&mut expected)));
    let program = Program::prepare(function).expect("verified");
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let [full, fast, shared] =
        [(Checks::Full, 1), (Checks::Fast, 1), (Checks::Full, cores)].map(|(checks, threads)| {
            let config = Config {
                checks,
                threads,
                ..Config::default()
            };
            measure_least(times, || {
                let outcome = program
                    .launch(grid, &args, &mut memory, &config)
                    .expect("no bug of ours");
                assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
            })
        });
    let got = memory.bytes(StorageId(out)).as_chunks::<4>().0;
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().map(|bytes| f32::from_le_bytes(*bytes)).zip(&expected) {
        assert!(
            (got - expected).abs() <= 1e-5 * expected.abs(),
            "{name}: {got} and {expected}"
        );
    }
    println!(
        "{name:<36} {hand:>12.2?} {full:>12.2?} {fast:>12.2?} {shared:>12.2?} {:>8.2} {:>12.2}",
        full.as_secs_f64() / hand.as_secs_f64(),
        full.as_secs_f64() / fast.as_secs_f64()
    );
}

/// Numbers of few bits, whose products and sums are exact in every order and precision of a `dot`.
fn generate_values(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (((i * 37 + seed) % 101) as f32 - 50.0) / 64.0)
        .collect()
}

fn vector_add(n: usize, block: usize, times: usize) {
    let (x, y) = (generate_values(n, 1), generate_values(n, 2));
    let mut world = World::default();
    world.add_floats("x", &x);
    world.add_floats("y", &y);
    world.tensor("out", DType::F32, n, None);
    let (memory, mut args) = world.finish();
    args.push(ParamValue::Number(n as u64));
    print_row(
        &format!("vector add of {n}, block {block}"),
        times,
        kernels::vector_add(block as i32),
        [(n / block) as u32, 1, 1],
        (memory, args),
        2,
        |out| {
            for ((out, x), y) in out.iter_mut().zip(&x).zip(&y) {
                *out = x + y;
            }
        },
    );
}

fn softmax(n: usize, columns: usize, times: usize) {
    let x = generate_values(n, 3);
    let mut world = World::default();
    world.tensor("out", DType::F32, n, None);
    world.add_floats("x", &x);
    let (memory, mut args) = world.finish();
    args.extend([columns as u64, columns as u64].map(ParamValue::Number));
    let by_hand = |out: &mut [f32]| {
        for (row, out) in x.chunks_exact(columns).zip(out.chunks_exact_mut(columns)) {
            let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for (&x, out) in row.iter().zip(out.iter_mut()) {
                *out = (x - most).exp();
                sum += *out;
            }
            for out in out {
                *out /= sum;
            }
        }
    };
    print_row(
        &format!("softmax of {n}, rows of {columns}"),
        times,
        kernels::softmax(columns as i32),
        [(n / columns) as u32, 1, 1],
        (memory, args),
        0,
        by_hand,
    );
}

fn matmul(size: usize, tile: usize, times: usize) {
    let (a, b) = (generate_values(size * size, 4), generate_values(size * size, 5));
    let mut world = World::default();
    world.add_floats("a", &a);
    world.add_floats("b", &b);
    world.tensor("c", DType::F32, size * size, None);
    let by_hand = |c: &mut [f32]| {
        c.fill(0.0);
        for (a, c) in a.chunks_exact(size).zip(c.chunks_exact_mut(size)) {
            for (&a, b) in a.iter().zip(b.chunks_exact(size)) {
                for (c, &b) in c.iter_mut().zip(b) {
                    *c += a * b;
                }
            }
        }
    };
    let programs = (size / tile) as u32;
    print_row(
        &format!("matmul of {size}^3, tile {tile}"),
        times,
        kernels::matmul(size as i32, tile as i32, DType::F32),
        [programs, programs, 1],
        world.finish(),
        2,
        by_hand,
    );
}
