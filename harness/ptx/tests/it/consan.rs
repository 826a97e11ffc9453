//! Kernels of the tests of Triton's own sanitizer, compiled for `sm_90a` without it (`golden/hopper/consan.jsonl.gz`): each
//! kernel that the sanitizer must reject is reported, and no kernel that it must accept. `two_cta_barrier` is like them.

use std::io::Read;
use std::sync::Arc;

use cerith_memory::{Memory, Storages};
use cerith_ptx::{Config, HostTensorMap, Kernel, Launch, LaunchOutcome, Schedule, parse};
use serde_json::Value;

use crate::compiled::list_kinds;

/// Kernels that Triton's sanitizer accepts, and the defects that it does not look for.
const ACCEPTED: [(&str, &str); 2] = [
    // Two copies to the same bytes are in flight at once, and nothing orders them.
    (
        "tma_wait_does_not_publish_overwritten_row WAIT_LATEST=True",
        "copy-in-flight",
    ),
    // Two copies to the same global bytes are in flight at once, and their sources are uninitialised.
    ("tma_store FAILURE=False", "global-race uninitialised-register"),
];

fn read_cases() -> Vec<Value> {
    let bytes = std::fs::read("tests/golden/hopper/consan.jsonl.gz").expect("a golden file");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*bytes)
        .read_to_string(&mut text)
        .expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn read_number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn read_numbers(value: &Value) -> Vec<u64> {
    let all = value.as_array().expect("a list");
    all.iter().map(read_number).collect()
}

/// Adds a storage for each argument, and returns the bytes of the parameters.
fn list_parameters(case: &Value) -> (Memory, Vec<Vec<u8>>) {
    let arguments = case["arguments"].as_array().expect("a list");
    let mut storages = Storages::new();
    let mut ids = Vec::new();
    for (nth, argument) in arguments.iter().enumerate() {
        let each = read_number(&argument["bytes"]);
        let bytes = read_numbers(&argument["shape"]).iter().product::<u64>() * each;
        let id = storages.add(format!("s{nth}"), bytes).expect("it fits");
        // Numbers near 1.
        let encode = |at: u64| if at % each == each - 1 { 0x3c } else { at as u8 };
        storages.write(id, 0, &(0..bytes).map(encode).collect::<Vec<u8>>());
        ids.push(id);
    }
    let memory = Memory::new(&storages, Vec::new());
    let mut given = Vec::new();
    for (argument, id) in arguments.iter().zip(ids) {
        let address = memory.address(id);
        if argument["box"].is_null() {
            given.push(address.to_le_bytes().to_vec());
            continue;
        }
        let (shape, sizes) = (read_numbers(&argument["shape"]), read_numbers(&argument["box"]));
        let map = HostTensorMap {
            address,
            data_type: 6,
            sizes: &[shape[1], shape[0]],
            strides: &[shape[1] * 2],
            box_sizes: &[sizes[1] as u32, sizes[0] as u32],
            steps: &[],
            interleave: 0,
            swizzle: 3,
            fill: 0,
        };
        given.push(map.encode().expect("a tensor map").to_vec());
        given.extend([shape[0], shape[1], shape[1], 1].map(|value| value.to_le_bytes().to_vec()));
    }
    // Scratch memory, which none of the kernels uses.
    given.extend([vec![0; 8], vec![0; 8]]);
    (memory, given)
}

fn launch(case: &Value, schedule: Schedule) -> LaunchOutcome {
    let module = Arc::new(parse(case["ptx"].as_str().expect("a text")).expect("PTX"));
    let entry = module.functions.iter().find(|function| function.entry);
    let kernel = Kernel::new(&module, entry.map_or("", |entry| &entry.name)).expect("a kernel");
    let (mut memory, given) = list_parameters(case);
    let mut parameters = Vec::new();
    assert_eq!(given.len(), kernel.parameters().len());
    for (parameter, mut given) in kernel.parameters().iter().zip(given) {
        parameters.resize(parameter.offset as usize, 0);
        given.resize(parameter.size as usize, 0);
        parameters.extend(given);
    }
    let blocks = read_number(&case["blocks"]) as u32;
    let launch = Launch {
        grid: [blocks, 1, 1],
        threads: [read_number(&case["warps"]) as u32 * 32, 1, 1],
        cluster: [blocks, 1, 1],
        shared: read_number(&case["shared"]) as u32,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        schedule,
        fuel: 1 << 23,
        ..Config::default()
    };
    kernel.launch(&launch, &mut memory, &config)
}

#[test]
fn rejected_kernels_are_reported_and_accepted_ones_are_not() {
    let mut wrongs = Vec::new();
    let mut table = Vec::new();
    for case in read_cases() {
        let name = case["name"].as_str().expect("a name");
        let fails = case["fails"] == true;
        let listed = ACCEPTED.iter().find(|(prefix, _)| name.starts_with(prefix));
        for schedule in [Schedule::Latest, Schedule::Random(1)] {
            let outcome = launch(&case, schedule);
            let codes = list_kinds(&outcome).join(" ");
            let is_expected = match listed {
                Some((_, expected)) => codes == *expected,
                None => codes.is_empty() != fails,
            };
            if !is_expected {
                wrongs.push(format!("{name}, {schedule:?}: `{codes}`: {outcome:?}"));
            }
            if schedule == Schedule::Latest {
                let codes = if codes.is_empty() { "nothing" } else { &codes };
                let verdict = if fails { "rejected" } else { "accepted" };
                table.push(format!("{name}: {verdict}: {codes}"));
            }
        }
    }
    assert!(wrongs.is_empty(), "{wrongs:#?}");
    insta::assert_snapshot!(table.join("\n"));
}
