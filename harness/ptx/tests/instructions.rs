//! Every instruction that Triton emits for `sm_80` is known and runs: `golden/instructions.jsonl`, made by `instructions.py` beside
//! this file. What they give is held to a GPU in whole kernels (`operations.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, parse};
use serde_json::Value;

const THREADS: usize = 64;

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    fs::read_to_string(path).expect("a golden file")
}

fn words(value: &Value) -> Vec<u64> {
    let numbers = value.as_array().expect("a list").iter();
    numbers
        .map(|text| u64::from_str_radix(text.as_str().expect("a text"), 16).expect("a number"))
        .collect()
}

/// What four results of each thread are.
fn executed(body: &str, operands: [&[u64]; 3]) -> Result<Vec<Vec<u64>>, String> {
    let text = golden("kernel.ptx").replace("// BODY", body);
    let module = parse(&text).map_err(|error| error.to_string())?;
    let kernel = Kernel::new(&Arc::new(module), "one").map_err(|error| error.to_string())?;
    let mut storages = Storages::new();
    for (name, operand) in ["a", "b", "c"].into_iter().zip(operands) {
        let id = storages.add(name, (THREADS * 8 + 64) as u64).expect("it fits");
        let bytes: Vec<u8> = operand.iter().flat_map(|word| word.to_le_bytes()).collect();
        storages.write(id, 0, &bytes);
    }
    let out = storages.add("out", (THREADS * 32) as u64).expect("it fits");
    storages.write(out, 0, &[0; THREADS * 32]);
    let mut memory = Memory::new(&storages, Vec::new());
    let parameters: Vec<u8> = (0..4)
        .flat_map(|id| memory.address(StorageId(id)).to_le_bytes())
        .collect();
    let launch = Launch {
        grid: [1; 3],
        threads: [THREADS as u32, 1, 1],
        shared: 0,
        parameters: &parameters,
        scratch: 0,
    };
    match kernel.launch(&launch, &mut memory, &Config::default()) {
        LaunchOutcome::Finished(finished) if finished.findings.is_empty() => {}
        other => return Err(format!("{other:?}")),
    }
    let (words, _) = memory.bytes(out).as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    Ok((0..4)
        .map(|nth| words.iter().skip(nth).step_by(4).copied().collect())
        .collect())
}

#[test]
fn every_instruction_is_known_and_runs() {
    let file = golden("instructions.jsonl");
    let mut lines = file.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap_or_default()).expect("JSON");
    let sets: BTreeMap<&String, Vec<u64>> = head["operands"]
        .as_object()
        .expect("operands")
        .iter()
        .map(|(name, values)| (name, words(values)))
        .collect();
    let mut wrong = String::new();
    let mut tried = BTreeSet::new();
    for line in lines {
        let one: Value = serde_json::from_str(line).expect("JSON");
        let opcode = one["opcode"].as_str().expect("a text");
        let operands = one["operands"].as_array().expect("a list");
        let operand = |nth: usize| sets[&operands[nth].as_str().expect("a name").to_owned()].as_slice();
        let all = [operand(0), operand(1), operand(2)];
        tried.insert(opcode.to_owned());
        match executed(one["body"].as_str().expect("a text"), all) {
            // Something must come of it, and not the same for all.
            Ok(results) if results.iter().any(|of| of.iter().any(|&word| word != of[0])) => {}
            Ok(_) if SAME.iter().any(|name| opcode.starts_with(name)) => {}
            Ok(results) => {
                let _ = writeln!(wrong, "{opcode}: {:x} from every thread", results[0][0]);
            }
            Err(why) => {
                let _ = writeln!(wrong, "{opcode}: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let listed = golden("opcodes.txt");
    let untried: Vec<&str> = listed.lines().filter(|&opcode| !tried.contains(opcode)).collect();
    assert_eq!(untried, UNTRIED);
}

/// Instructions whose result is one for a whole warp.
const SAME: [&str; 3] = ["vote.", "redux.", "ld.param."];

/// Instructions that need more than operands: `semantics.rs` has them.
const UNTRIED: [&str; 6] = [
    "bra",
    "bra.uni",
    "call.uni",
    "st.param.b32",
    "st.param.b64",
    "st.param.f64",
];
