//! Findings and seeds of fuzzing: every input in `fuzz/regressions` obeys the laws, through the function that its target
//! calls. A folder is named after its target; a file's name says what it once showed.

use std::fs;
use std::path::Path;
use std::thread;

use cerith_gen::{TrialResult, case_file, program, text, view};

/// Bytes of all inputs together.
const MAX_TOTAL_BYTES: u64 = 1 << 20;

fn check(target: &str, check: fn(&[u8]) -> TrialResult) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/regressions")
        .join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut faults = Vec::new();
    let mut size = 0;
    for file in files {
        let path = file.expect("a file").path();
        let input = fs::read(&path).expect("its bytes");
        size += input.len() as u64;
        // A panic is reported with the input that caused it.
        let trial = thread::scope(|scope| {
            let trial = thread::Builder::new()
                .spawn_scoped(scope, || check(&input))
                .expect("a thread");
            trial.join()
        });
        match trial {
            Ok(Ok(_)) => {}
            Ok(Err(fault)) => faults.push(format!("{}: {fault}", path.display())),
            Err(_) => faults.push(format!("{}: a panic", path.display())),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(size > 0, "{} is empty", folder.display());
    assert!(
        size < MAX_TOTAL_BYTES / 4,
        "{} has {size} bytes",
        folder.display()
    );
}

#[test]
fn frontend_text() {
    check("frontend_text", text::check);
}

#[test]
fn interp_program() {
    check("interp_program", program::check);
}

#[test]
fn memory_views() {
    check("memory_views", view::check);
}

#[test]
fn case_file() {
    check("case_file", case_file::check);
}
