//! Every instruction that Triton emits for sm_80, one at a time, against what a GPU gave for it: `golden/instructions.jsonl`,
//! made by `instructions.py` beside this file. What PTX defines bit for bit is compared so; approximate functions by the bounds
//! that the PTX ISA gives for them.

use std::collections::BTreeMap;
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

/// How far an approximate instruction's result may be off: relative to it in units of 2^-24, and absolutely.
fn bound(opcode: &str) -> Option<(f64, f64)> {
    let mut words = opcode.split('.');
    let name = words.next().unwrap_or_default();
    let is = |word: &str| opcode.split('.').any(|of| of == word);
    match name {
        // PTX ISA: 2 ULP for quotients, 1 for reciprocals and roots, 2^-22 of the value or absolutely for the others.
        "div" if is("full") || is("approx") => Some((4.0, 0.0)),
        "rcp" | "sqrt" | "rsqrt" if is("approx") && is("f32") => Some((4.0, 0.0)),
        "ex2" => Some((4.0, 0.0)),
        "lg2" => Some((0.0, 2f64.powi(-22))),
        "sin" | "cos" => Some((0.0, 2f64.powi(-20))),
        _ => None,
    }
}

fn close(opcode: &str, ours: u64, theirs: u64) -> bool {
    if ours == theirs {
        return true;
    }
    let Some((relative, absolute)) = bound(opcode) else {
        return opcode.contains("approx") && opcode.ends_with("f64") && upper_is_close(ours, theirs);
    };
    let (x, y) = (f32::from_bits(ours as u32), f32::from_bits(theirs as u32));
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    let (x, y) = (f64::from(x), f64::from(y));
    // Outside of some range nothing is promised for these.
    if opcode.starts_with("sin") || opcode.starts_with("cos") {
        return (x - y).abs() <= absolute || !(x.abs() <= 1.0 && y.abs() <= 1.0) || x.abs() > 100.0;
    }
    (x - y).abs() <= absolute.max(y.abs() * relative * 2f64.powi(-24)) || (x - y).abs() <= 2f64.powi(-148)
}

/// `rcp.approx.ftz.f64` and its like: 20 bits.
fn upper_is_close(ours: u64, theirs: u64) -> bool {
    let (x, y) = (f64::from_bits(ours), f64::from_bits(theirs));
    x.is_nan() && y.is_nan() || x == y || ((x - y) / y).abs() < 2f64.powi(-19)
}

#[test]
fn every_instruction_gives_what_a_gpu_gave() {
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
    let mut tried = 0;
    for line in lines {
        let one: Value = serde_json::from_str(line).expect("JSON");
        let opcode = one["opcode"].as_str().expect("a text");
        let operands = one["operands"].as_array().expect("a list");
        let operand = |nth: usize| sets[&operands[nth].as_str().expect("a name").to_owned()].as_slice();
        let all = [operand(0), operand(1), operand(2)];
        let ours = match executed(one["body"].as_str().expect("a text"), all) {
            Ok(ours) => ours,
            Err(why) => {
                let _ = writeln!(wrong, "{opcode}: {why}");
                continue;
            }
        };
        tried += 1;
        let results = one["results"].as_array().map_or(&[][..], Vec::as_slice);
        let mut different = 0;
        let mut shown = String::new();
        for (nth, theirs) in results.iter().enumerate() {
            for (thread, (&ours, theirs)) in ours[nth].iter().zip(words(theirs)).enumerate() {
                if !close(opcode, ours, theirs) {
                    different += 1;
                    if different <= 2 {
                        let [a, b, c] = all.map(|of| of[thread]);
                        let _ = write!(shown, " [{nth}] of {a:x} {b:x} {c:x}: {ours:x}, not {theirs:x};");
                    }
                }
            }
        }
        if different > 0 {
            let _ = writeln!(wrong, "{opcode}: {different} results:{shown}");
        }
    }
    assert!(tried > 700, "{tried}");
    assert!(wrong.is_empty(), "{wrong}");
}
