//! Executes every instruction that Triton emits for `sm_80`, and compares its results with a GPU's.
//! `golden/instructions.jsonl` has the instructions and their operands, written by `instructions.py`.
//! `golden/gpu.jsonl.gz` has the results of an H100, written by `gpu.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, parse};
use cerith_tile::{DType, numeric};
use flate2::read::GzDecoder;
use serde_json::Value;

const THREADS: usize = 64;

fn read_golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    fs::read_to_string(path).expect("a golden file")
}

fn parse_words(value: &Value) -> Vec<u64> {
    let numbers = value.as_array().expect("a list").iter();
    numbers
        .map(|text| u64::from_str_radix(text.as_str().expect("a text"), 16).expect("a number"))
        .collect()
}

/// The meaning of the four results of each thread.
fn execute_kernel(body: &str, operands: [&[u64]; 3]) -> Result<Vec<Vec<u64>>, String> {
    let text = read_golden("kernel.ptx").replace("// BODY", body);
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
        cluster: [1; 3],
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

/// One instruction, with its operands' names.
struct Instruction {
    opcode: String,
    body: String,
    operands: [String; 3],
}

/// The instructions, and the operands of each name: one for each thread.
struct Instructions {
    sets: BTreeMap<String, Vec<u64>>,
    all: Vec<Instruction>,
}

impl Instructions {
    fn read() -> Self {
        let file = read_golden("instructions.jsonl");
        let mut lines = file
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let head = lines.next().expect("the operands");
        let sets = head["operands"]
            .as_object()
            .expect("operands")
            .iter()
            .map(|(name, values)| (name.clone(), parse_words(values)));
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Self {
            sets: sets.collect(),
            all: lines
                .map(|one| Instruction {
                    opcode: text(&one["opcode"]),
                    body: text(&one["body"]),
                    operands: [0, 1, 2].map(|nth| text(&one["operands"][nth])),
                })
                .collect(),
        }
    }

    /// Executes an instruction with its second and third operand rotated by `by` threads. Returns four results of each
    /// thread.
    fn execute_rotated(&self, one: &Instruction, by: [usize; 2]) -> Result<Vec<Vec<u64>>, String> {
        let turned = |nth: usize, by: usize| {
            let mut set = self.sets[&one.operands[nth]].clone();
            set.rotate_left(by);
            set
        };
        let [a, b, c] = [turned(0, 0), turned(1, by[0]), turned(2, by[1])];
        execute_kernel(&one.body, [&a, &b, &c])
    }
}

#[test]
fn every_instruction_is_known_and_runs() {
    let instructions = Instructions::read();
    let mut wrong = String::new();
    for one in &instructions.all {
        let opcode = &one.opcode;
        match instructions.execute_rotated(one, [0, 0]) {
            // The results must exist, and differ between threads.
            Ok(results) if results.iter().any(|of| of.iter().any(|&word| word != of[0])) => {}
            Ok(_) if WARP_UNIFORM.iter().any(|name| opcode.starts_with(name)) => {}
            Ok(results) => {
                let _ = writeln!(wrong, "{opcode}: {:x} from every thread", results[0][0]);
            }
            Err(why) => {
                let _ = writeln!(wrong, "{opcode}: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let tried: BTreeSet<&str> = instructions.all.iter().map(|one| one.opcode.as_str()).collect();
    let listed = read_golden("opcodes.txt");
    let untried: Vec<&str> = listed.lines().filter(|opcode| !tried.contains(opcode)).collect();
    assert_eq!(untried, UNTRIED);
}

#[test]
fn every_instruction_gives_what_a_gpu_gave() {
    let instructions = Instructions::read();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/gpu.jsonl.gz");
    let file = BufReader::new(GzDecoder::new(fs::File::open(path).expect("the GPU's results")));
    let mut lines = file
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
    let head = lines.next().expect("the GPU");
    let rotations: Vec<[usize; 2]> = serde_json::from_value(head["rotations"].clone()).expect("pairs");
    let mut wrong = String::new();
    let mut held = 0;
    for (one, theirs) in instructions.all.iter().zip(lines) {
        assert_eq!(theirs["opcode"], one.opcode);
        let given = &instructions.sets[&one.operands[0]];
        for (&by, theirs) in rotations
            .iter()
            .zip(theirs["results"].as_array().expect("results"))
        {
            let ours = instructions.execute_rotated(one, by).expect("it runs");
            let theirs: Vec<Vec<u64>> = theirs
                .as_array()
                .expect("four results")
                .iter()
                .map(parse_words)
                .collect();
            assert_eq!(theirs.len(), ours.len());
            for (nth, thread) in (0..ours.len()).flat_map(|nth| (0..THREADS).map(move |thread| (nth, thread)))
            {
                let (ours, theirs) = (ours[nth][thread], theirs[nth][thread]);
                if !may_be(&one.opcode, given[thread], ours, theirs) {
                    let _ = writeln!(
                        wrong,
                        "{} {by:?}: result {nth} of thread {thread}, of {:x}: {ours:x}, not {theirs:x}",
                        one.opcode, given[thread]
                    );
                }
            }
        }
        held += 1;
    }
    assert_eq!(held, instructions.all.len());
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether PTX admits both results of an instruction. Nearly all instructions have one result; the ISA's exceptions are
/// the NaN computed from a NaN, and the errors of approximate instructions.
fn may_be(opcode: &str, operand: u64, ours: u64, theirs: u64) -> bool {
    let dtype = match opcode.rsplit('.').next() {
        Some("f64") => DType::F64,
        _ => DType::F32,
    };
    let nan = |bits| numeric::is_nan(dtype, bits);
    let any_nan = ANY_NAN.contains(&opcode) || opcode.contains(".approx.");
    if ours == theirs || any_nan && nan(ours) && nan(theirs) {
        return true;
    }
    let Some(&(_, error)) = ERRORS.iter().find(|(name, _)| opcode.starts_with(name)) else {
        return false;
    };
    let value = |bits: u64| match dtype {
        DType::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(bits as u32)),
    };
    let (ours_bits, theirs_bits) = (ours, theirs);
    let (of, ours, theirs) = (value(operand), value(ours), value(theirs));
    // Each of the two may be that far from the truth.
    let apart = (ours - theirs).abs() / 2.0;
    match error {
        Error::Units(count) => ours_bits.abs_diff(theirs_bits) <= count,
        Error::Logarithm(bound) if of > 0.5 && of < 2.0 => apart <= bound,
        Error::Relative(bound) | Error::Logarithm(bound) => apart <= bound * ours.abs(),
        Error::Circular if of.abs() <= std::f64::consts::TAU => apart <= 2.0_f64.powf(-20.5),
        Error::Circular if of.abs() <= 50.0 * std::f64::consts::TAU => apart <= 2.0_f64.powf(-14.7),
        Error::Circular => ours.abs() <= 1.0 && theirs.abs() <= 1.0,
    }
}

/// Instructions whose result is one for a whole warp.
const WARP_UNIFORM: [&str; 3] = ["vote.", "redux.", "ld.param."];

/// Instructions that need more than operands: `semantics.rs` has them.
const UNTRIED: [&str; 6] = [
    "bra",
    "bra.uni",
    "call.uni",
    "st.param.b32",
    "st.param.b64",
    "st.param.f64",
];

/// How far an approximate instruction's result may be from the truth.
#[derive(Clone, Copy)]
enum Error {
    /// By so much of the result.
    Relative(f64),
    /// Two results are so many numbers of their type apart.
    Units(u64),
    /// By so much, of an operand between one half and two; otherwise by so much of the result.
    Logarithm(f64),
    /// By more, the further the operand is from zero; beyond a hundred times pi, by anything between -1 and 1.
    Circular,
}

/// The errors that the document of the PTX ISA states, by how the opcode begins. It states none for `rsqrt.approx.f64`, and for
/// subnormal quotients of `div`.
const ERRORS: [(&str, Error); 9] = [
    ("cos.approx", Error::Circular),
    ("div.approx", Error::Units(2)),
    ("div.full", Error::Units(2)),
    ("ex2.approx", Error::Relative(SMALL)),
    ("lg2.approx", Error::Logarithm(SMALL)),
    ("rsqrt.approx.f64", Error::Units(2)),
    ("rsqrt.approx", Error::Relative(SMALL)),
    ("sin.approx", Error::Circular),
    ("sqrt.approx", Error::Relative(SMALL)),
];

/// 2 to the power of -22.
const SMALL: f64 = 1.0 / 4_194_304.0;

/// Instructions that are exact, and give any NaN for a NaN.
const ANY_NAN: [&str; 7] = [
    "abs.f64",
    "neg.f64",
    "atom.global.gpu.acq_rel.add.f64",
    "cvt.rmi.f64.f64",
    "cvt.rni.f64.f64",
    "cvt.rpi.f64.f64",
    "cvt.rzi.f64.f64",
];
