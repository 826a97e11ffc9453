//! Kernels that Triton compiled for `sm_90a` (`golden/hopper`), executed against a product that is computed here; and the same
//! kernels without one of their waits, fences, barriers or arrivals.

use std::fmt::Write as _;
use std::io::Read;
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, HostTensorMap, Kernel, Launch, LaunchOutcome, Schedule, parse};

/// A matrix product of `f16` matrices, compiled by Triton for blocks of the result.
struct Product {
    name: &'static str,
    size: [usize; 3],
    block: [usize; 3],
    warps: u32,
    shared: u32,
    /// Whether the host passes tensor maps; otherwise pointers.
    maps: bool,
    cluster: u32,
    /// Bytes of global scratch memory of a block.
    scratch: u64,
}

const PRODUCTS: [Product; 9] = [
    Product::new("mm_host", [256, 128, 320], [128, 128, 64], 98328).with_maps(),
    Product::new("mm_host8", [128, 256, 256], [128, 128, 64], 98328)
        .with_maps()
        .with_warps(8),
    Product::new("mm_host_s1", [64, 128, 192], [64, 64, 64], 16392).with_maps(),
    Product::new("mm_dev", [128, 128, 384], [128, 128, 64], 98328).with_scratch(384),
    Product::new("mm_ptr", [128, 128, 256], [128, 128, 64], 98304),
    Product::new("mm_ptr_cl", [128, 128, 192], [128, 128, 64], 73728).with_cluster(2),
    Product::new("mm_host_cl", [128, 256, 384], [128, 128, 64], 73752)
        .with_maps()
        .with_cluster(2),
    Product::new("mm_host", [200, 128, 96], [128, 128, 64], 98328).with_maps(),
    // Written in Gluon: warps 0 to 3 multiply, and warp 4 loads.
    Product::new("mm_ws", [64, 128, 512], [64, 64, 64], 57404)
        .with_maps()
        .with_warps(8),
];

impl Product {
    const fn new(name: &'static str, size: [usize; 3], block: [usize; 3], shared: u32) -> Self {
        Self {
            name,
            size,
            block,
            warps: 4,
            shared,
            maps: false,
            cluster: 1,
            scratch: 0,
        }
    }

    const fn with_maps(self) -> Self {
        Self { maps: true, ..self }
    }

    const fn with_warps(self, warps: u32) -> Self {
        Self { warps, ..self }
    }

    const fn with_scratch(self, scratch: u64) -> Self {
        Self { scratch, ..self }
    }

    const fn with_cluster(self, cluster: u32) -> Self {
        Self { cluster, ..self }
    }
}

/// The text of a kernel by a version of Triton, if that version compiled it.
pub(crate) fn read_golden(name: &str, version: &str) -> Option<String> {
    let path = format!("tests/golden/hopper/{name}-{version}.ptx.gz");
    let bytes = std::fs::read(&path).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*bytes)
        .read_to_string(&mut text)
        .expect("text");
    Some(text)
}

/// Small whole numbers, so that every sum is exact.
pub(crate) fn element(row: usize, column: usize, seed: usize) -> i32 {
    ((row * 7 + column * 13 + seed * 5 + row * column) % 9) as i32 - 4
}

/// A small whole number as `f16`.
pub(crate) fn encode_f16(value: i32) -> u16 {
    if value == 0 {
        return 0;
    }
    let sign = if value < 0 { 0x8000 } else { 0 };
    let magnitude = value.unsigned_abs();
    let top = magnitude.ilog2();
    assert!(top <= 10, "{value} is not exact");
    let exponent = (top + 15) << 10;
    let fraction = (magnitude << (10 - top)) & 0x3ff;
    (sign | exponent | fraction) as u16
}

pub(crate) fn encode_map(
    address: u64,
    rows: usize,
    columns: usize,
    boxes: [usize; 2],
    swizzle: u32,
) -> Vec<u8> {
    let map = HostTensorMap {
        address,
        data_type: 6,
        sizes: &[columns as u64, rows as u64],
        strides: &[columns as u64 * 2],
        box_sizes: &[boxes[1] as u32, boxes[0] as u32],
        steps: &[],
        interleave: 0,
        swizzle,
        fill: 0,
    };
    map.encode().expect("a tensor map").to_vec()
}

/// Launches a product. Returns the outcome, and how many elements are wrong.
fn launch(product: &Product, text: &str, schedule: Schedule) -> (LaunchOutcome, usize) {
    let module = Arc::new(parse(text).expect("PTX"));
    let name = module
        .functions
        .iter()
        .find(|function| function.entry)
        .map_or("", |function| &function.name);
    let kernel = Kernel::new(&module, name).expect("a kernel");
    let [m, n, k] = product.size;
    let mut storages = Storages::new();
    for (nth, (rows, columns)) in [(m, k), (k, n), (m, n)].into_iter().enumerate() {
        let id = storages
            .add(format!("s{nth}"), (rows * columns * 2) as u64)
            .expect("it fits");
        let content: Vec<u8> = (0..rows * columns)
            .flat_map(|at| encode_f16(element(at / columns, at % columns, nth)).to_le_bytes())
            .collect();
        storages.write(id, 0, &content);
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let [bm, bn, bk] = product.block;
    let mut given: Vec<Vec<u8>> = Vec::new();
    let tensors = [(m, k, [bm, bk]), (k, n, [bk, bn]), (m, n, [bm, bn])];
    for (nth, (rows, columns, block)) in tensors.into_iter().enumerate() {
        let address = memory.address(StorageId(nth as u32));
        if !product.maps {
            given.push(address.to_le_bytes().to_vec());
            continue;
        }
        // A box has 64 columns, the bytes that a swizzle covers.
        given.push(encode_map(address, rows, columns, [block[0], 64], 3));
        for size in [rows, columns] {
            given.push((size as u32).to_le_bytes().to_vec());
        }
        for stride in [columns as u64, 1] {
            given.push(stride.to_le_bytes().to_vec());
        }
    }
    for size in product.size {
        given.push((size as u32).to_le_bytes().to_vec());
    }
    given.push(
        if product.scratch > 0 {
            cerith_ptx::SCRATCH_WINDOW
        } else {
            0
        }
        .to_le_bytes()
        .to_vec(),
    );
    given.push(vec![0; 8]);
    let mut parameters = Vec::new();
    assert_eq!(given.len(), kernel.parameters().len());
    for (parameter, given) in kernel.parameters().iter().zip(given) {
        parameters.resize(parameter.offset as usize, 0);
        parameters.extend(given);
    }
    let grid = [m.div_ceil(bm) as u32 * product.cluster, n.div_ceil(bn) as u32, 1];
    let launch = Launch {
        grid,
        threads: [product.warps * 32, 1, 1],
        cluster: [product.cluster, 1, 1],
        shared: product.shared,
        parameters: &parameters,
        scratch: product.scratch * u64::from(grid[0] * grid[1]),
    };
    let config = Config {
        schedule,
        fuel: 1 << 22,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    let result = memory.bytes(StorageId(2)).as_chunks::<2>().0;
    let wrong = (0..m * n).filter(|&at| {
        let (row, column) = (at / n, at % n);
        let sum: i32 = (0..k)
            .map(|inner| element(row, inner, 0) * element(inner, column, 1))
            .sum();
        u16::from_le_bytes(result[at]) != encode_f16(sum)
    });
    let wrong = wrong.count();
    (outcome, wrong)
}

/// The findings of a finished launch, without repetitions of a kind.
pub(crate) fn list_kinds(outcome: &LaunchOutcome) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = match outcome {
        LaunchOutcome::Finished(finished) => finished
            .findings
            .iter()
            .map(|finding| finding.kind.code())
            .collect(),
        LaunchOutcome::Trapped(trap) => {
            let cause = trap.cause.iter().map(|finding| finding.kind.code());
            cause.chain([trap.kind.code()]).collect()
        }
        LaunchOutcome::Exhausted(_) => vec!["limit"],
        LaunchOutcome::Stopped => vec!["stopped"],
    };
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Triton 3.6.0 leaves the fence out between `cp.async` and the `wgmma` that reads the bytes. 3.9.0 has it.
const WITHOUT_FENCE: [(&str, &str); 2] = [("mm_ptr", "3.6.0"), ("mm_ptr_cl", "3.6.0")];

#[test]
fn products_of_triton_are_right_with_every_schedule() {
    let mut wrongs = Vec::new();
    for version in ["3.9.0", "3.6.0"] {
        for product in &PRODUCTS {
            let Some(text) = read_golden(product.name, version) else {
                continue;
            };
            let expected: &[&str] = if WITHOUT_FENCE.contains(&(product.name, version)) {
                &["proxy-fence-missing"]
            } else {
                &[]
            };
            for schedule in [
                Schedule::Latest,
                Schedule::Earliest,
                Schedule::Random(1),
                Schedule::Random(2),
            ] {
                let (outcome, wrong) = launch(product, &text, schedule);
                if list_kinds(&outcome) != expected || wrong != 0 {
                    let first = match &outcome {
                        LaunchOutcome::Finished(finished) => {
                            finished.findings.first().map(ToString::to_string)
                        }
                        LaunchOutcome::Trapped(trap) => Some(trap.kind.to_string()),
                        _ => None,
                    };
                    wrongs.push(format!(
                        "{} by {version}, {schedule:?}: {wrong} wrong, {:?}, {first:?}",
                        product.name,
                        list_kinds(&outcome)
                    ));
                }
            }
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
}

/// The instructions that order warps, copies and products, and the kinds that their absence may show.
const CONSTRUCTS: [&str; 14] = [
    "bar.sync",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "mbarrier.init",
    "mbarrier.arrive",
    "mbarrier.try_wait",
    "mbarrier.inval",
    "fence.proxy.async",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "cp.async.wait_group",
    "cp.async.commit_group",
    "barrier.cluster",
];

/// The text of a kernel without each of its synchronising instructions: the construct, its line, and the rest.
fn list_removals(text: &str) -> Vec<(&'static str, usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(construct) = CONSTRUCTS.into_iter().find(|construct| line.contains(construct)) else {
            continue;
        };
        let mut rest = lines.clone();
        // A wait is a loop: the branch that follows repeats it.
        rest[at] = if construct == "mbarrier.try_wait" {
            "setp.eq.u32 complete, 0, 0;"
        } else {
            ""
        };
        // Both halves of a cluster's barrier go.
        if construct == "barrier.cluster" {
            if line.contains("wait") {
                continue;
            }
            if let Some(next) = rest.get_mut(at + 1) {
                *next = "";
            }
        }
        all.push((construct, at + 1, rest.join("\n")));
    }
    all
}

#[test]
fn every_removal_is_reported_or_listed() {
    let mut report = String::new();
    for name in ["mm_ws", "mm_host_s1", "mm_host_cl"] {
        let product = PRODUCTS.iter().find(|product| product.name == name);
        let product = product.expect("a product");
        let text = read_golden(name, "3.9.0").expect("a golden file");
        for (construct, line, without) in list_removals(&text) {
            let (outcome, wrong) = launch(product, &without, Schedule::Latest);
            let kinds = list_kinds(&outcome).join(" ");
            let kinds = if kinds.is_empty() { "nothing" } else { &kinds };
            let wrong = if wrong > 0 { ", wrong" } else { "" };
            let _ = writeln!(report, "{name} {line} {construct}: {kinds}{wrong}");
        }
    }
    insta::assert_snapshot!(report);
}

/// Launches a kernel with one tensor of 64 x 64 `f16` through a tensor map, if it takes one, and 4096 elements of output.
fn launch_pair(text: &str, maps: bool, cluster: u32, schedule: Schedule) -> (LaunchOutcome, Vec<u8>) {
    let module = Arc::new(parse(text).expect("PTX"));
    let name = module.functions.iter().find(|function| function.entry);
    let kernel = Kernel::new(&module, name.map_or("", |function| &function.name)).expect("a kernel");
    let mut storages = Storages::new();
    for name in ["input", "out"] {
        let id = storages.add(name, 64 * 64 * 2).expect("it fits");
        let content: Vec<u8> = (0..64 * 64 * 2).map(|at| (at * 37 % 251) as u8).collect();
        if name == "input" {
            storages.write(id, 0, &content);
        }
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let mut given: Vec<Vec<u8>> = Vec::new();
    if maps {
        given.push(encode_map(memory.address(StorageId(0)), 64, 64, [64, 64], 3));
        given.extend([64u64, 64, 64, 1].map(|value| value.to_le_bytes().to_vec()));
    }
    given.push(memory.address(StorageId(1)).to_le_bytes().to_vec());
    given.extend([vec![0; 8], vec![0; 8]]);
    let mut parameters = Vec::new();
    assert_eq!(given.len(), kernel.parameters().len());
    for (parameter, mut given) in kernel.parameters().iter().zip(given) {
        parameters.resize(parameter.offset as usize, 0);
        given.resize(parameter.size as usize, 0);
        parameters.extend(given);
    }
    let launch = Launch {
        grid: [cluster, 1, 1],
        threads: [128, 1, 1],
        cluster: [cluster, 1, 1],
        shared: 8200,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        schedule,
        fuel: 1 << 20,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    (outcome, memory.bytes(StorageId(1)).to_vec())
}

/// Gluon kernels in pairs, after those of Triton's tests of its own sanitizer: the first of each pair reads before the wait,
/// or expects too many bytes.
#[test]
fn pairs_of_gluon_kernels_are_told_apart() {
    let check = |name: &str, maps: bool, cluster: u32, expected: &str| {
        for (half, expected) in [("0", expected), ("1", "")] {
            let text = read_golden(&format!("{name}{half}"), "3.9.0").expect("a golden file");
            for schedule in [
                Schedule::Latest,
                Schedule::Earliest,
                Schedule::Random(1),
                Schedule::Random(2),
            ] {
                let (outcome, _) = launch_pair(&text, maps, cluster, schedule);
                let kinds = list_kinds(&outcome).join(" ");
                let is_expected = if expected.is_empty() {
                    kinds.is_empty()
                } else {
                    kinds.split(' ').any(|kind| kind == expected)
                };
                assert!(is_expected, "{name}{half}, {schedule:?}: {outcome:?}");
            }
        }
    };
    check("cs_load", true, 1, "copy-in-flight");
    check("cs_multi", true, 2, "copy-in-flight");
    check("cs_stasync", false, 2, "deadlock");
}

/// Number of changed texts of each kernel.
const MUTANTS: u64 = 20;

/// Changes a text at one or two places: a line is removed, doubled or exchanged, or a digit becomes another one.
fn mutate(text: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random(2) {
        let (at, other) = (random(lines.len()), random(lines.len()));
        match random(4) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            _ => {
                let digits: Vec<usize> = lines[at]
                    .bytes()
                    .enumerate()
                    .filter_map(|(nth, byte)| byte.is_ascii_digit().then_some(nth))
                    .collect();
                if !digits.is_empty() {
                    let digit = digits[random(digits.len())];
                    let new = char::from(b'0' + random(10) as u8).to_string();
                    lines[at].replace_range(digit..=digit, &new);
                }
            }
        }
    }
    lines.join("\n")
}

#[test]
fn changed_texts_end_in_time() {
    let mut slowest = std::time::Duration::ZERO;
    for product in &PRODUCTS {
        let text = read_golden(product.name, "3.9.0").expect("a golden file");
        let mut state = 1u64;
        let mut random = |limit: usize| {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) as usize % limit.max(1)
        };
        for nth in 0..MUTANTS {
            let changed = mutate(&text, &mut random);
            let Ok(module) = parse(&changed) else { continue };
            let module = Arc::new(module);
            let entry = module.functions.iter().find(|function| function.entry);
            let Ok(kernel) = Kernel::new(&module, entry.map_or("", |entry| &entry.name)) else {
                continue;
            };
            let mut storages = Storages::new();
            storages.add("s", 1 << 17).expect("it fits");
            let mut memory = Memory::new(&storages, Vec::new());
            let mut parameters = Vec::new();
            for (nth, parameter) in kernel.parameters().iter().enumerate() {
                parameters.resize(parameter.offset as usize, 0);
                let value = match parameter.size {
                    128 => encode_map(memory.address(StorageId(0)), 128, 128, [64, 64], 3),
                    8 if nth < 3 => memory.address(StorageId(0)).to_le_bytes().to_vec(),
                    _ => vec![64, 0, 0, 0, 0, 0, 0, 0],
                };
                parameters.extend(value.into_iter().take(parameter.size as usize));
            }
            let launch = Launch {
                grid: [product.cluster, 1, 1],
                threads: [product.warps * 32, 1, 1],
                cluster: [product.cluster, 1, 1],
                shared: product.shared,
                parameters: &parameters,
                scratch: product.scratch * 2,
            };
            let config = Config {
                fuel: 1 << 14,
                schedule: Schedule::Random(nth),
                ..Config::default()
            };
            let before = std::time::Instant::now();
            kernel.launch(&launch, &mut memory, &config);
            slowest = slowest.max(before.elapsed());
        }
    }
    assert!(slowest.as_secs() < 20, "{slowest:?}");
}
