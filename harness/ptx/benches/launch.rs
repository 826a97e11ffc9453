//! How long parsing and launches take. The kernels are Triton 3.9.0's own PTX, in `golden`.

use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, Module, parse};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// `out[i] = x[i] + y[i]`, 128 elements a program.
const ADD: &str = include_str!("golden/add.ptx");
/// `c = a @ b` of 128 x 128 matrices of `f16`, one program of 64 x 64 elements of the result.
const MATMUL: &str = include_str!("golden/matmul.ptx");
/// Integers in a loop, nothing else.
const LOOP: &str = include_str!("golden/loop.ptx");

fn parse_kernel(text: &str) -> Kernel {
    let module: Arc<Module> = Arc::new(parse(text).expect("PTX"));
    let name = module
        .functions
        .iter()
        .find(|function| function.entry)
        .map(|entry| entry.name.clone())
        .unwrap_or_default();
    Kernel::new(&module, &name).expect("a kernel")
}

/// Storages of so many bytes, and a parameter for each, zeros behind.
fn build_memory(kernel: &Kernel, sizes: &[usize]) -> (Memory, Vec<u8>) {
    let mut storages = Storages::new();
    for (nth, &size) in sizes.iter().enumerate() {
        let id = storages.add(format!("s{nth}"), size as u64).expect("it fits");
        storages.write(id, 0, &vec![0x11; size]);
    }
    let memory = Memory::new(&storages, Vec::new());
    let mut parameters = Vec::new();
    for (nth, parameter) in kernel.parameters().iter().enumerate() {
        parameters.resize(parameter.offset as usize, 0);
        let address = memory.address(StorageId(nth as u32));
        parameters.extend_from_slice(&address.to_le_bytes()[..parameter.size as usize]);
    }
    (memory, parameters)
}

fn run(bencher: Bencher<'_, '_>, text: &str, grid: [u32; 3], threads: u32, shared: u32, sizes: &[usize]) {
    let kernel = parse_kernel(text);
    let (mut memory, parameters) = build_memory(&kernel, sizes);
    let launch = Launch {
        grid,
        threads: [threads, 1, 1],
        shared,
        parameters: &parameters,
        scratch: 0,
    };
    let mut once = || match kernel.launch(&launch, &mut memory, &Config::default()) {
        LaunchOutcome::Finished(finished) => finished.steps,
        other => panic!("{other:?}"),
    };
    let steps = once();
    // Instructions of threads.
    bencher.counter(ItemsCount::new(steps * 32)).bench_local(once);
}

#[divan::bench]
fn parse_small(bencher: Bencher<'_, '_>) {
    bencher.bench(|| parse(divan::black_box(ADD)));
}

#[divan::bench]
fn link_small(bencher: Bencher<'_, '_>) {
    let module = Arc::new(parse(ADD).expect("PTX"));
    bencher.bench(|| Kernel::new(&module, "add"));
}

#[divan::bench]
fn add_one_program(bencher: Bencher<'_, '_>) {
    run(bencher, ADD, [1, 1, 1], 128, 0, &[512, 512, 512]);
}

#[divan::bench]
fn add_64_programs(bencher: Bencher<'_, '_>) {
    run(bencher, ADD, [64, 1, 1], 128, 0, &[1 << 15, 1 << 15, 1 << 15]);
}

#[divan::bench]
fn matmul_128(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        MATMUL,
        [2, 2, 1],
        128,
        49152,
        &[1 << 15, 1 << 15, 1 << 16],
    );
}

#[divan::bench]
fn bench_instructions(bencher: Bencher<'_, '_>) {
    run(bencher, LOOP, [1, 1, 1], 128, 0, &[512]);
}
