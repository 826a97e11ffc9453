//! Measures a prepared launch, checks included. The kernels and sizes are those of the comparison with Triton's
//! interpreter.

#[path = "../tests/kernels/mod.rs"]
mod kernels;

use cerith_interp::{Checks, Config, LaunchOutcome, ParamValue, Program};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::Function;
use divan::Bencher;
use kernels::World;

fn main() {
    divan::main();
}

const CHECKS: [Checks; 2] = [Checks::Full, Checks::Fast];

fn run(
    bencher: Bencher<'_, '_>,
    checks: Checks,
    function: Function,
    grid: [u32; 3],
    memory: (Memory, Vec<ParamValue>),
) {
    let program = Program::prepare(function).expect("verified");
    let (mut memory, args) = memory;
    let config = Config {
        checks,
        ..Config::default()
    };
    bencher.bench_local(|| {
        let outcome = program
            .launch(grid, &args, &mut memory, &config)
            .expect("no bug of ours");
        assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    });
}

fn vector_add(bencher: Bencher<'_, '_>, checks: Checks, programs: usize, block: usize) {
    let n = programs * block;
    let mut world = World::default();
    world.add_floats("x", &vec![1.5; n]);
    world.add_floats("y", &vec![2.5; n]);
    world.tensor("out", DType::F32, n, None);
    let (memory, mut args) = world.finish();
    args.push(ParamValue::Number(n as u64));
    run(
        bencher,
        checks,
        kernels::vector_add(block as i32),
        [programs as u32, 1, 1],
        (memory, args),
    );
}

#[divan::bench(args = CHECKS)]
fn vector_add_tiny(bencher: Bencher<'_, '_>, checks: Checks) {
    vector_add(bencher, checks, 1, 16);
}

#[divan::bench(args = CHECKS)]
fn vector_add_1x1024(bencher: Bencher<'_, '_>, checks: Checks) {
    vector_add(bencher, checks, 1, 1024);
}

#[divan::bench(args = CHECKS)]
fn vector_add_64x1024(bencher: Bencher<'_, '_>, checks: Checks) {
    vector_add(bencher, checks, 64, 1024);
}

#[divan::bench(args = CHECKS)]
fn vector_add_1024x128(bencher: Bencher<'_, '_>, checks: Checks) {
    vector_add(bencher, checks, 1024, 128);
}

#[divan::bench(args = CHECKS)]
fn add_one_strided_4x4_programs(bencher: Bencher<'_, '_>, checks: Checks) {
    let mut world = World::default();
    world.add_floats("x", &vec![0.0; 64 * 2 * 128]);
    let (memory, mut args) = world.finish();
    args.extend([64, 64, 128, 2].map(ParamValue::Number));
    run(
        bencher,
        checks,
        kernels::add_one(16, 16),
        [4, 4, 1],
        (memory, args),
    );
}

#[divan::bench(args = CHECKS)]
fn softmax_128x128(bencher: Bencher<'_, '_>, checks: Checks) {
    let mut world = World::default();
    world.tensor("out", DType::F32, 128 * 128, None);
    let values: Vec<f32> = (0..128 * 128).map(|i| (i * 37 % 101) as f32 / 10.0).collect();
    world.add_floats("x", &values);
    let (memory, mut args) = world.finish();
    args.extend([128, 128].map(ParamValue::Number));
    run(
        bencher,
        checks,
        kernels::softmax(128),
        [128, 1, 1],
        (memory, args),
    );
}

#[divan::bench(args = [32, 64, 128])]
fn matmul_128(bencher: Bencher<'_, '_>, tile: u32) {
    let mut world = World::default();
    let values: Vec<f32> = (0..128 * 128).map(|i| (i * 37 % 101) as f32 / 10.0).collect();
    world.add_floats("a", &values);
    world.add_floats("b", &values);
    world.tensor("c", DType::F32, 128 * 128, None);
    let programs = 128 / tile;
    let function = kernels::matmul(128, tile as i32, DType::F32);
    run(
        bencher,
        Checks::Full,
        function,
        [programs, programs, 1],
        world.finish(),
    );
}
