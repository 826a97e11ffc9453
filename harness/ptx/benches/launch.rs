//! How long parsing and launches take. The kernels are Triton 3.9.0's own PTX, in `golden`.

use std::io::Read;
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, HostTensorMap, Kernel, Launch, LaunchOutcome, Module, parse};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// `out[i] = x[i] + y[i]`, 128 elements a program.
const ADD: &str = include_str!("golden/add.ptx");
/// `c = a @ b` of 128 x 128 matrices of `f16`, one program of 64 x 64 elements of the result.
const MATMUL: &str = include_str!("golden/matmul.ptx");
/// 100 products of a warp group, of 64 x 128 x 16.
const WGMMA: &str = include_str!("golden/wgmma.ptx");
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
        cluster: [1; 3],
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

#[divan::bench]
fn wgmma_100(bencher: Bencher<'_, '_>) {
    run(bencher, WGMMA, [1, 1, 1], 128, 0, &[512]);
}

/// `c = a @ b` by TMA and `wgmma`, one program of 128 x 128 elements of the result.
const HOPPER: &[u8] = include_bytes!("../tests/golden/hopper/mm_host-3.9.0.ptx.gz");
/// `c = a @ b` for 64 x 64 elements, with one warp that loads and a warp group that multiplies.
const SPECIALISED: &[u8] = include_bytes!("../tests/golden/hopper/mm_ws-3.9.0.ptx.gz");

/// A kernel that multiplies matrices through tensor maps, and the size of its launch.
struct Product<'a> {
    packed: &'a [u8],
    /// Rows and columns of a program's result.
    tile: u64,
    /// Threads of a block.
    threads: u32,
    shared: u32,
    k: u64,
    /// Programs along each of two axes.
    programs: u32,
}

/// Multiplies matrices, on so many threads of this machine. An item is a step of the loop over `k`, of 64.
fn run_hopper(bencher: Bencher<'_, '_>, product: &Product<'_>, workers: u32) {
    let &Product {
        packed,
        tile,
        threads,
        shared,
        k,
        programs,
    } = product;
    let side = tile * u64::from(programs);
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .expect("text");
    let kernel = parse_kernel(&text);
    let sizes = [[side, k], [k, side], [side, side]];
    let bytes = sizes.map(|[rows, columns]| (rows * columns * 2) as usize);
    let mut storages = Storages::new();
    for (nth, size) in bytes.into_iter().enumerate() {
        storages.add(format!("s{nth}"), size as u64).expect("it fits");
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let mut given: Vec<Vec<u8>> = Vec::new();
    for (nth, [rows, columns]) in sizes.into_iter().enumerate() {
        let map = HostTensorMap {
            address: memory.address(StorageId(nth as u32)),
            data_type: 6,
            sizes: &[columns, rows],
            strides: &[columns * 2],
            box_sizes: &[64, rows.min(if nth == 1 { 64 } else { tile }) as u32],
            steps: &[],
            interleave: 0,
            swizzle: 3,
            fill: 0,
        };
        given.push(map.encode().expect("a tensor map").to_vec());
        for value in [rows, columns, columns, 1] {
            given.push(value.to_le_bytes().to_vec());
        }
    }
    given.extend([side, side, k, 0, 0].map(|value| value.to_le_bytes().to_vec()));
    let mut parameters = Vec::new();
    for (parameter, mut given) in kernel.parameters().iter().zip(given) {
        parameters.resize(parameter.offset as usize, 0);
        given.resize(parameter.size as usize, 0);
        parameters.extend(given);
    }
    let launch = Launch {
        grid: [programs, programs, 1],
        threads: [threads, 1, 1],
        cluster: [1; 3],
        shared,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        threads: workers,
        ..Config::default()
    };
    let once = || match kernel.launch(&launch, &mut memory, &config) {
        LaunchOutcome::Finished(finished) => assert!(finished.findings.is_empty(), "{finished:?}"),
        other => panic!("{other:?}"),
    };
    let steps = k / 64 * u64::from(programs * programs);
    bencher.counter(ItemsCount::new(steps)).bench_local(once);
}

/// One program of 128 x 128 elements.
const ONE_TILE: Product<'_> = Product {
    packed: HOPPER,
    tile: 128,
    threads: 128,
    shared: 98328,
    k: 1024,
    programs: 1,
};

#[divan::bench(sample_count = 20)]
fn hopper_matmul(bencher: Bencher<'_, '_>) {
    run_hopper(bencher, &ONE_TILE, 1);
}

#[divan::bench(sample_count = 20)]
fn hopper_matmul_specialised(bencher: Bencher<'_, '_>) {
    let product = Product {
        packed: SPECIALISED,
        tile: 64,
        threads: 256,
        shared: 57404,
        k: 1024,
        programs: 1,
    };
    run_hopper(bencher, &product, 1);
}

/// 16 programs, on so many threads. The results are the same.
#[divan::bench(sample_count = 10, args = [1, 2, 4])]
fn hopper_matmul_16_programs(bencher: Bencher<'_, '_>, workers: u32) {
    let product = Product {
        k: 256,
        programs: 4,
        ..ONE_TILE
    };
    run_hopper(bencher, &product, workers);
}
