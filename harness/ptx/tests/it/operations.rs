//! Executes kernels of one operation each, compiled by Triton 3.9.0 for `sm_80`, and compares them with an H200's
//! results of the same operations (`snapshots/tile`). If the language leaves a choice (approximate functions, payloads
//! of NaN), `cerith_tile` decides which results are admitted.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, parse};
use cerith_tile::DType;
use cerith_tile::numeric;
use flate2::read::GzDecoder;
use serde_json::Value;

/// Bytes between two operands in a kernel's memory.
const OPERAND_STRIDE: usize = 1 << 12;

/// Bits by lane.
type Lanes = Vec<u64>;

/// The operands of each dtype, and the results by kind, operation and dtypes.
#[derive(Default)]
struct Tables {
    operands: BTreeMap<(String, String), Lanes>,
    results: BTreeMap<[String; 4], Lanes>,
}

fn read_tables() -> Tables {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/tile");
    let mut tables = Tables::default();
    for name in ["h200-3.9.0.txt", "h200-more-3.9.0.txt"] {
        let text = fs::read_to_string(folder.join(name)).expect("a table");
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let bits = |from: usize| -> Lanes {
                let words = words.get(from..).unwrap_or_default().iter();
                words
                    .map(|word| u64::from_str_radix(word, 16).expect("a number"))
                    .collect()
            };
            match words.as_slice() {
                ["operands", of, name, ..] => {
                    tables
                        .operands
                        .insert(((*of).to_owned(), (*name).to_owned()), bits(3));
                }
                ["result", kind, name, of, to, ..] => {
                    let key = [kind, name, of, to].map(|word| (*word).to_owned());
                    tables.results.entry(key).or_insert_with(|| bits(5));
                }
                _ => {}
            }
        }
    }
    for of in ["fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16"] {
        let one = (of.to_owned(), "one".to_owned());
        tables.operands.entry(one).or_insert_with(|| (0..256).collect());
    }
    tables
}

fn parse_dtype(name: &str) -> DType {
    let all = DType::ALL.iter().copied();
    all.into_iter()
        .find(|dtype| dtype.name() == name)
        .unwrap_or_else(|| panic!("no dtype {name}"))
}

/// The bytes of an element, `i1` one of them.
fn element_bytes(name: &str) -> usize {
    parse_dtype(name).size()
}

/// The result of the kernel of one operation.
fn execute_operation(one: &Value, given: &[&Lanes], of: &str, to: &str) -> Result<Lanes, String> {
    let module = parse(one["ptx"].as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
    let module = Arc::new(module);
    let entry = module
        .functions
        .iter()
        .find(|function| function.entry && function.defined);
    let name = entry.map(|entry| entry.name.clone()).unwrap_or_default();
    let kernel = Kernel::new(&module, &name).map_err(|error| error.to_string())?;
    let mut storages = Storages::new();
    let all = storages.add("all", 4 * OPERAND_STRIDE as u64).expect("it fits");
    storages.write(all, 0, &vec![0; 4 * OPERAND_STRIDE]);
    for (nth, column) in given.iter().enumerate() {
        for (lane, bits) in column.iter().enumerate() {
            let at = nth * OPERAND_STRIDE + lane * element_bytes(of);
            storages.write(all, at, &bits.to_le_bytes()[..element_bytes(of)]);
        }
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let first = memory.address(StorageId(0));
    let mut parameters = Vec::new();
    for (nth, _) in kernel.parameters().iter().enumerate() {
        let at = if nth < 4 {
            first + (nth * OPERAND_STRIDE) as u64
        } else {
            0
        };
        parameters.extend(at.to_le_bytes());
    }
    let launch = Launch {
        grid: [1; 3],
        threads: [128, 1, 1],
        cluster: [1; 3],
        shared: one["shared"].as_u64().unwrap_or(0) as u32,
        parameters: &parameters,
        scratch: 0,
    };
    match kernel.launch(&launch, &mut memory, &Config::default()) {
        LaunchOutcome::Finished(finished) if finished.findings.is_empty() => {}
        other => return Err(format!("{other:?}")),
    }
    let start = if one["kind"] == "atomic" {
        0
    } else {
        3 * OPERAND_STRIDE
    };
    let bytes = memory.bytes(all);
    let lanes = given.first().map_or(0, |column| column.len());
    Ok((0..lanes)
        .map(|lane| {
            let at = start + lane * element_bytes(to);
            let element = bytes.get(at..at + element_bytes(to)).unwrap_or_default();
            element
                .iter()
                .rev()
                .fold(0, |bits, &byte| bits << 8 | u64::from(byte))
        })
        .collect())
}

/// Operations whose PTX has approximate instructions, or for `sm_80` others than for `sm_90`; with how many units in the last
/// place of the result they may be apart.
fn allowed_units(name: &str, to: &str) -> u64 {
    let few = [
        "exp",
        "exp2",
        "log",
        "log2",
        "div",
        "fdiv",
        "fdiv_approx",
        "rsqrt",
        "sqrt",
        "rem",
    ];
    let more = [
        "erf", "pow", "atan2", "tan", "sin", "cos", "asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1",
        "log1p", "log10",
    ];
    match to {
        "f64" => 2,
        "f32" if more.contains(&name) => 4,
        "f32" if few.contains(&name) => 2,
        _ => 0,
    }
}

fn is_close(name: &str, to: &str, ours: u64, theirs: u64) -> bool {
    let dtype = parse_dtype(to);
    if ours == theirs || numeric::is_nan(dtype, ours) && numeric::is_nan(dtype, theirs) {
        return true;
    }
    let apart = ours.abs_diff(theirs);
    dtype.is_float() && apart <= allowed_units(name, to)
}

#[test]
fn operations_give_what_a_gpu_gave() {
    let tables = read_tables();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/operations.jsonl.gz");
    let file = fs::File::open(path).expect("the kernels");
    let mut wrong = String::new();
    let mut tried = 0;
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let one: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let key = ["kind", "name", "of", "to"].map(|word| one[word].as_str().unwrap_or_default().to_owned());
        let Some(theirs) = tables.results.get(&key) else {
            panic!("{key:?} is in no table")
        };
        let [kind, name, of, to] = &key;
        let names: &[&str] = match kind.as_str() {
            "unary" | "cast" => &["one"],
            _ => &["a", "b", "c"],
        };
        let given: Vec<&Lanes> = names
            .iter()
            .filter_map(|name| tables.operands.get(&(of.clone(), (*name).to_owned())))
            .collect();
        tried += 1;
        match execute_operation(&one, &given, of, to) {
            Ok(ours) => {
                let apart: Vec<usize> = (0..theirs.len().min(ours.len()))
                    .filter(|&lane| !is_close(name, to, ours[lane], theirs[lane]))
                    .collect();
                if let Some(&lane) = apart.first() {
                    let operands: Vec<String> = given.iter().map(|of| format!("{:x}", of[lane])).collect();
                    let _ = writeln!(
                        wrong,
                        "{key:?}: {} lanes, {operands:?} give {:x}, not {:x}",
                        apart.len(),
                        ours[lane],
                        theirs[lane]
                    );
                }
            }
            Err(why) => {
                let _ = writeln!(wrong, "{key:?}: {why}");
            }
        }
    }
    assert!(tried > 400, "{tried}");
    assert!(wrong.is_empty(), "{wrong}");
}
