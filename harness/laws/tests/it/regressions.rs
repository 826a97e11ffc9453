//! Findings and seeds of fuzzing: every input obeys the laws, through the function that its target calls. The targets of
//! `cerith_gen` are replayed there.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use cerith_gen::TrialResult;
use cerith_laws::seeds::{Seed, TARGETS, build_dictionary, build_seeds};
use cerith_laws::{broken, bundle, case, event_stream, mlir, ptx, recording};

/// Bytes of all regressions of a target together.
const MAX_REGRESSION_BYTES: usize = 1 << 18;

fn find_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The law of a target that is none of `cerith_gen`.
fn find_law(target: &str) -> Option<fn(&[u8]) -> TrialResult> {
    Some(match target {
        "bundle" => bundle::check,
        "case_broken" => broken::check,
        "case_reference" => case::check,
        "event_stream" => event_stream::check,
        "mlir" => mlir::check,
        "ptx_text" => ptx::check,
        "recording" => recording::check,
        _ => return None,
    })
}

/// A panic is reported with the input that caused it.
fn find_faults(law: fn(&[u8]) -> TrialResult, inputs: &[Seed]) -> Vec<String> {
    let fault = |(name, input): &Seed| {
        let trial = thread::scope(|scope| scope.spawn(|| law(input)).join());
        match trial {
            Ok(Ok(_)) => None,
            Ok(Err(fault)) => Some(format!("{name}: {fault}")),
            Err(_) => Some(format!("{name}: a panic")),
        }
    };
    inputs.iter().filter_map(fault).collect()
}

fn read_files(folder: &Path) -> Vec<Seed> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.map(|entry| {
        let bytes = fs::read(entry.path()).expect("its bytes");
        (entry.path().display().to_string(), bytes)
    });
    named.collect()
}

#[test]
fn what_was_found_stays_mended() {
    for target in TARGETS {
        let found = read_files(&find_root().join("fuzz/regressions").join(target));
        let size: usize = found.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(size < MAX_REGRESSION_BYTES, "{target} has {size} bytes");
        if let Some(law) = find_law(target) {
            let faults = find_faults(law, &found);
            assert!(faults.is_empty(), "{target}: {}", faults.join("\n"));
        }
    }
}

#[test]
fn inputs_to_begin_with_hold_to_the_laws() {
    let corpus = [
        (
            "kernels.py".to_owned(),
            cerith_gen::case_file::KERNEL.as_bytes().to_vec(),
        ),
        ("case.yaml".to_owned(), b"about: Nothing.\n".to_vec()),
    ];
    for target in TARGETS {
        let made =
            build_seeds(target, &corpus).unwrap_or_else(|| panic!("{target} has no inputs to begin with"));
        assert!(!made.is_empty(), "{target} has no inputs to begin with");
        if let Some(law) = find_law(target) {
            let faults = find_faults(law, &made);
            assert!(faults.is_empty(), "{target}: {}", faults.join("\n"));
        }
    }
    assert_eq!(build_seeds("nothing", &corpus), None);
}

#[test]
fn every_target_is_known() {
    let mut found: Vec<String> = read_files(&find_root().join("fuzz/fuzz_targets"))
        .iter()
        .filter_map(|(path, _)| Path::new(path).file_stem()?.to_str().map(str::to_owned))
        .filter(|target| target != "case_interpreter")
        .collect();
    found.sort();
    assert_eq!(found, TARGETS);
}

#[test]
fn the_dictionary_is_of_the_names_that_there_are() {
    let listed = fs::read_to_string(find_root().join("harness/frontend/tests/golden/coverage_3.9.0.txt"))
        .expect("the names");
    let kept = fs::read_to_string(find_root().join("fuzz/triton.dict")).expect("the dictionary");
    assert!(
        build_dictionary(&listed) == kept,
        "fuzz/triton.dict is not up to date: `cargo run -p cerith-laws --example seeds -- target/seeds` keeps it"
    );
    assert!(
        kept.contains("\"tl.exp\"\n") && kept.contains("\".sum\"\n"),
        "{kept}"
    );
}
