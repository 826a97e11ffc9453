//! PTX: whatever the text, it is refused with a place, or its kernels are launched, each twice, and do the same both times,
//! within their limits. The tests of `cerith-ptx` check their results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arbitrary::{Result, Unstructured};
use cerith_gen::{Ended, Fault, TrialResult};
use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, parse};

use crate::{check_message, ensure};

/// Texts to begin with.
pub const SEEDS: [&str; 3] = [
    include_str!("ptx/loop.ptx"),
    include_str!("ptx/shared.ptx"),
    include_str!("ptx/call.ptx"),
];

/// Instructions of warps that a launch may take.
const FUEL: u64 = 20_000;
/// Bytes that it may take.
const MEMORY: u64 = 16 << 20;
/// Bytes of the storage that all parameters point to.
const STORAGE: usize = 4096;
/// No launch of so little work takes so long.
const LONG: Duration = Duration::from_secs(20);

/// Checks one text.
///
/// # Errors
/// A law did not hold.
pub fn check(data: &[u8]) -> TrialResult {
    let text = String::from_utf8_lossy(data);
    let module = match parse(&text) {
        Ok(module) => Arc::new(module),
        Err(error) => {
            check_message(&error)?;
            ensure(error.place.line >= 1, || format!("no line: {error}"))?;
            return Ok(Ended::Refused);
        }
    };
    let mut ended = Ended::Refused;
    for function in module
        .functions
        .iter()
        .filter(|of| of.entry && of.defined)
        .take(4)
    {
        let kernel = match Kernel::new(&module, &function.name) {
            Ok(kernel) => kernel,
            Err(error) => {
                check_message(&error)?;
                continue;
            }
        };
        let start = Instant::now();
        let (first, memory) = launch_kernel(&kernel);
        let (second, again) = launch_kernel(&kernel);
        ensure(start.elapsed() < LONG, || {
            format!("{:?} for {FUEL} instructions", start.elapsed())
        })?;
        ensure(first == second && memory == again, || {
            format!("two launches differ: {first:?} and {second:?}")
        })?;
        ended = match first {
            LaunchOutcome::Finished(_) => Ended::Finished,
            LaunchOutcome::Trapped(trap) => {
                check_message(&trap.kind)?;
                Ended::Stopped
            }
            LaunchOutcome::Exhausted(exhausted) => {
                check_message(&exhausted)?;
                Ended::Stopped
            }
            LaunchOutcome::Stopped => return Err(Fault("it stopped without a request".to_owned())),
        };
    }
    Ok(ended)
}

fn launch_kernel(kernel: &Kernel) -> (LaunchOutcome, Vec<u8>) {
    let mut storages = Storages::new();
    if let Ok(id) = storages.add("all", STORAGE as u64) {
        let bytes: Vec<u8> = (0..STORAGE).map(|at| (at * 7) as u8).collect();
        storages.write(id, 0, &bytes);
    }
    let mut memory = Memory::new(&storages, Vec::new());
    let address = memory.address(StorageId(0));
    let mut parameters = Vec::new();
    for parameter in kernel.parameters().iter().take(64) {
        // Kernels with larger parameters than that read past them, which is a trap.
        parameters.resize((parameter.offset as usize).min(STORAGE), 0);
        parameters.extend_from_slice(&address.to_le_bytes());
    }
    let launch = Launch {
        grid: [2, 1, 1],
        threads: [64, 1, 1],
        cluster: [1; 3],
        shared: 512,
        parameters: &parameters,
        scratch: 256,
    };
    let config = Config {
        fuel: FUEL,
        memory_limit: MEMORY,
        print_limit: 1 << 16,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    let left = memory.bytes(StorageId(0)).to_vec();
    (outcome, left)
}

/// Changes a text: lines and words of it, and numbers.
///
/// # Errors
/// There are no more choices to make.
pub fn mutate(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..u.int_in_range(1..=4)? {
        if lines.is_empty() {
            break;
        }
        let at = u.choose_index(lines.len())?;
        let other = u.choose_index(lines.len())?;
        match u.int_in_range(0..=6u8)? {
            0 => {
                lines.remove(at);
            }
            1 => {
                let line = lines.get(other).cloned().unwrap_or_default();
                lines.insert(at, line);
            }
            2 => lines.swap(at, other),
            3 => {
                let number = [
                    u64::from(u.arbitrary::<u8>()?),
                    u.arbitrary::<u64>()?,
                    0,
                    u64::MAX,
                ];
                let number = number.get(u.choose_index(4)?).copied().unwrap_or(0).to_string();
                if let Some(line) = lines.get_mut(at) {
                    *line = replace_number(line, &number);
                }
            }
            4 => {
                let source = lines.get(other).cloned().unwrap_or_default();
                let words: Vec<&str> = source.split(WORDS).filter(|word| !word.is_empty()).collect();
                let word = if words.is_empty() {
                    ""
                } else {
                    words.get(u.choose_index(words.len())?).copied().unwrap_or("")
                };
                if let Some(line) = lines.get_mut(at) {
                    *line = replace_word(line, word, u)?;
                }
            }
            5 => {
                if let Some(line) = lines.get_mut(at) {
                    let cut = u.choose_index(line.len() + 1)?;
                    if line.is_char_boundary(cut) {
                        line.truncate(cut);
                    }
                }
            }
            _ => {
                let modifiers = [
                    ".ftz", ".sat", ".f64", ".s16", ".shared", ".v4", ".rz", ".cc", ".sync", ".b8",
                ];
                let modifier = modifiers
                    .get(u.choose_index(modifiers.len())?)
                    .copied()
                    .unwrap_or("");
                if let Some(line) = lines.get_mut(at)
                    && let Some(dot) = line.find('.')
                {
                    line.insert_str(dot, modifier);
                }
            }
        }
    }
    Ok(lines.join("\n"))
}

/// Characters between words.
const WORDS: [char; 9] = [' ', '\t', ',', ';', '[', ']', '{', '}', '.'];

/// The line with its first number replaced.
fn replace_number(line: &str, number: &str) -> String {
    let Some(from) = line.find(|letter: char| letter.is_ascii_digit()) else {
        return format!("{line} {number}");
    };
    let rest = line.get(from..).unwrap_or_default();
    let behind = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{}{number}{behind}", line.get(..from).unwrap_or_default())
}

/// The line with one of its words replaced.
fn replace_word(line: &str, by: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let words: Vec<&str> = line.split(WORDS).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(by.to_owned());
    }
    let word = words
        .get(u.choose_index(words.len())?)
        .copied()
        .unwrap_or_default();
    Ok(line.replacen(word, by, 1))
}
