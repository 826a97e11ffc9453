//! Executes launches that try the instructions of `sm_90a`, and compares their results with a GPU's.
//! `golden/hopper/launches.jsonl.gz` has the launches, written by `hopper.py`. `golden/hopper/gpu.jsonl.gz` has the
//! results of a GPU, written by `hopper_gpu.py`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, HostTensorMap, Kernel, Launch, LaunchOutcome, parse};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// The numbers of `CUtensorMapDataType` for those of `tensormap.replace`.
const CUDA_TYPES: [u32; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12];

fn read_lines(name: &str) -> impl Iterator<Item = Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/hopper")
        .join(name);
    let file = BufReader::new(MultiGzDecoder::new(File::open(path).expect("a golden file")));
    file.lines()
        .map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
}

/// Decodes base64.
fn decode_bytes(text: &Value) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let text = text.as_str().expect("a text").trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for chunk in text.chunks(4) {
        let bits = chunk.iter().fold(0, |bits, &byte| bits << 6 | digit(byte)) << (6 * (4 - chunk.len()));
        bytes.extend(&bits.to_be_bytes()[1..chunk.len()]);
    }
    bytes
}

fn numbers<T: TryFrom<u64>>(value: &Value) -> Vec<T> {
    let all = value.as_array().expect("a list").iter();
    all.filter_map(|one| T::try_from(one.as_u64()?).ok()).collect()
}

fn encode_map(spec: &Value, address: u64) -> Result<[u8; 128], String> {
    let number = |name: &str| spec[name].as_u64().expect("a number") as u32;
    let map = HostTensorMap {
        address,
        data_type: CUDA_TYPES[number("type") as usize],
        sizes: &numbers(&spec["dims"]),
        strides: &numbers(&spec["strides"]),
        box_sizes: &numbers(&spec["box"]),
        steps: &numbers(&spec["steps"]),
        interleave: 0,
        swizzle: number("swizzle"),
        fill: number("fill"),
    };
    map.encode().map_err(|error| error.to_string())
}

/// Executes a launch. Returns the bytes of its results.
fn execute_launch(
    kernel: &Kernel,
    launch: &Value,
    pools: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<Vec<u8>>, String> {
    let arguments = launch["arguments"].as_array().expect("arguments");
    let mut storages = Storages::new();
    let mut outs = Vec::new();
    for argument in arguments {
        let kind = argument[0].as_str().expect("a kind");
        if kind != "in" && kind != "out" {
            continue;
        }
        let (from, size) = (
            argument[2].as_u64().unwrap_or(0) as usize,
            argument[3].as_u64().unwrap_or(0) as usize,
        );
        let pool = &pools[argument[1].as_str().expect("a pool")];
        let id = storages.add("buffer", size as u64).expect("it fits");
        let bytes: Vec<u8> = pool[from..].iter().cycle().take(size).copied().collect();
        storages.write(id, 0, &bytes);
        if kind == "out" {
            outs.push(id);
        }
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let mut parameters = Vec::new();
    let mut buffers = 0;
    for (argument, parameter) in arguments.iter().zip(kernel.parameters()) {
        parameters.resize(parameter.offset as usize, 0);
        match argument[0].as_str() {
            Some("map") => {
                let buffer = StorageId(argument[2].as_u64().unwrap_or(0) as u32);
                parameters.extend(encode_map(&argument[1], memory.address(buffer))?);
            }
            Some("u32" | "u64") => {
                let value = argument[1].as_u64().expect("a number").to_le_bytes();
                parameters.extend(&value[..parameter.size as usize]);
            }
            _ => {
                parameters.extend(memory.address(StorageId(buffers)).to_le_bytes());
                buffers += 1;
            }
        }
    }
    let blocks = launch["blocks"].as_u64().unwrap_or(1) as u32;
    let launched = Launch {
        grid: [blocks, 1, 1],
        threads: [launch["threads"].as_u64().unwrap_or(0) as u32, 1, 1],
        cluster: [blocks, 1, 1],
        shared: 0,
        parameters: &parameters,
        scratch: 0,
    };
    match kernel.launch(&launched, &mut memory, &Config::default()) {
        LaunchOutcome::Finished(finished) if finished.findings.is_empty() => {}
        other => return Err(format!("{other:?}").chars().take(300).collect()),
    }
    Ok(outs.iter().map(|&id| memory.bytes(id).to_vec()).collect())
}

/// Instructions whose results PTX doesn't define exactly, and how far apart two results may be as numbers of 16 bits.
/// The ISA bounds the errors of the approximate ones by 2^-7 to 2^-11.
/// One subnormal sum of 8-bit products in `f16` is rounded differently, for a reason that is not known.
const BOUNDED: [(&str, u16); 4] = [
    ("wgmma f16.e5m2.e5m2 n8 tiny tiny", 1),
    ("ex2.approx", 1),
    ("tanh.approx.f16", 2),
    ("tanh.approx.bf16", 1),
];

/// Instructions that have any NaN as result for a NaN.
const ANY_NAN: [&str; 2] = ["abs.bf16", "neg.bf16"];

/// Launches without a comparison: copies between two blocks' shared memory are unsupported; `steps of both` expects too
/// few bytes, because the unit ignores the first element stride.
const SKIPPED: [&str; 4] = [
    "bulk shared",
    "cluster bulk copy",
    "cluster bulk reduce",
    "tensor load 7 steps of both",
];

/// Whether PTX admits both results of an instruction with results of 16 bits.
fn is_admitted(name: &str, ours: u32, theirs: u32) -> bool {
    let halves = |word: u32| [word as u16, (word >> 16) as u16];
    halves(ours)
        .into_iter()
        .zip(halves(theirs))
        .all(|(ours, theirs)| {
            let is_nan = |bits: u16| bits & 0x7fff > 0x7f80;
            let bound = BOUNDED.iter().find(|(start, _)| name.starts_with(start));
            ours == theirs
                || ANY_NAN.iter().any(|start| name.starts_with(start)) && is_nan(ours) && is_nan(theirs)
                || bound.is_some_and(|&(_, units)| ours.abs_diff(theirs) <= units)
        })
}

/// Compares bytes. Describes the first differences.
fn compare(name: &str, ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let mut text = String::new();
    for (nth, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let (ours, _) = ours.as_chunks::<4>();
        let (theirs, _) = theirs.as_chunks::<4>();
        let words = ours.iter().zip(theirs).enumerate();
        let apart: Vec<(usize, u32, u32)> = words
            .map(|(at, (&ours, &theirs))| (at, u32::from_le_bytes(ours), u32::from_le_bytes(theirs)))
            .filter(|&(_, ours, theirs)| !is_admitted(name, ours, theirs))
            .collect();
        if apart.is_empty() {
            continue;
        }
        let _ = write!(text, " result {nth}: {} of {} words", apart.len(), ours.len());
        for (at, ours, theirs) in apart.iter().take(4) {
            let _ = write!(text, ", [{at}] {ours:08x} not {theirs:08x}");
        }
    }
    (!text.is_empty()).then_some(text)
}

#[test]
fn every_launch_gives_what_a_gpu_gave() {
    let mut lines = read_lines("launches.jsonl.gz");
    let head = lines.next().expect("texts and pools");
    let pools: BTreeMap<String, Vec<u8>> = head["pools"]
        .as_object()
        .expect("pools")
        .iter()
        .map(|(name, text)| (name.clone(), decode_bytes(text)))
        .collect();
    let kernels: Vec<Result<Kernel, String>> = head["texts"]
        .as_array()
        .expect("texts")
        .iter()
        .map(|text| {
            let module = parse(text.as_str().expect("a text")).map_err(|error| error.to_string())?;
            Kernel::new(&Arc::new(module), "one").map_err(|error| error.to_string())
        })
        .collect();
    let mut theirs = read_lines("gpu.jsonl.gz");
    theirs.next();
    let mut wrong = String::new();
    let (mut count, mut failed) = (0, 0);
    for (launch, theirs) in lines.zip(theirs) {
        assert_eq!(launch["name"], theirs["name"]);
        count += 1;
        let name = launch["name"].as_str().expect("a name");
        if SKIPPED.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let theirs: Option<Vec<Vec<u8>>> = theirs["results"]
            .as_array()
            .map(|results| results.iter().map(decode_bytes).collect());
        let kernel = &kernels[launch["text"].as_u64().expect("a number") as usize];
        let ours = match kernel {
            Ok(kernel) => execute_launch(kernel, &launch, &pools),
            Err(error) => Err(error.clone()),
        };
        let problem = match (ours, theirs) {
            (Ok(ours), Some(theirs)) => compare(name, &ours, &theirs),
            (Ok(_), None) => Some("the GPU fails".to_owned()),
            (Err(error), Some(_)) => Some(error),
            // A trap here is an error of the GPU.
            (Err(_), None) => None,
        };
        if let Some(problem) = problem {
            failed += 1;
            let _ = writeln!(wrong, "\"{name}\": {problem}");
        }
    }
    assert!(wrong.is_empty(), "{failed} of {count} launches differ\n{wrong}");
}

/// Forms of instructions that the assembler accepts for `sm_90a`, and that are unsupported here: nothing that Triton
/// emits.
const UNSUPPORTED: [&str; 24] = [
    "atom.global.cas.b128",
    "atom.global.exch.b128",
    "atom.global.v2",
    "atom.global.v4",
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col",
    "cp.async.bulk.shared::cluster.shared::cta",
    "cp.reduce.async.bulk.shared::cluster.shared::cta",
    "cvt.rn.f32.bf16",
    "cvt.rn.satfinite.bf16x2.f32",
    "cvt.rna.satfinite.tf32.f32",
    "cvt.sat.f16.f16",
    "dp4a",
    "fma.rn.oob",
    "fma.rn.sat",
    "max.NaN.xorsign",
    "max.xorsign",
    "min.xorsign",
    "mul.sat.f16",
    "multimem",
    "red.global.v2",
    "red.global.v4",
    "vabsdiff4",
    "wgmma.mma_async.sp",
    "wgmma.mma_async.sync.aligned.m64n8k256",
];

/// Forms that the assembler rejects, and that are decoded here, because earlier instructions are decoded so leniently.
const LENIENT: [&str; 3] = ["cvt.rn.bf16.bf16", "cvt.rn.bf16.s8", "cvt.rzi.s8.bf16"];

#[test]
fn the_assembler_and_the_decoder_accept_the_same_forms() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hopper/forms.txt");
    let forms = std::fs::read_to_string(path).expect("the forms");
    let mut wrong = String::new();
    for form in forms.lines() {
        let (expected, instruction) = form.split_at(4);
        let text = format!(
            ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %d<16>; .reg .pred %p<4>; .reg .f32 %f<8>;\n\
             .shared .align 1024 .b8 sm[1024];\n{instruction}\nret; }}\n"
        );
        let accepted = parse(&text)
            .map_err(|error| error.to_string())
            .and_then(|module| Kernel::new(&Arc::new(module), "k").map_err(|error| error.to_string()));
        let expected = expected == "yes ";
        let exceptions: &[&str] = if expected { &UNSUPPORTED } else { &LENIENT };
        let is_exception = exceptions.iter().any(|name| instruction.starts_with(name));
        if accepted.is_ok() != (expected != is_exception) {
            let _ = writeln!(wrong, "{form}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
