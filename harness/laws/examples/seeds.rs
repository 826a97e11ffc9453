//! Inputs for fuzz targets to begin with, and their dictionary: `seeds OUT` writes a folder for each target below OUT, made
//! from `cases/`, and keeps `fuzz/triton.dict`. What a target's folder holds already stays. `fuzz/regressions` has the
//! findings.

use std::fs;
use std::path::Path;

use cerith_laws::seeds::{Seed, TARGETS, build_dictionary, build_seeds};

/// The files below a folder, by names without folders in them.
fn collect_files(folder: &Path, prefix: &str, found: &mut Vec<Seed>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            collect_files(&path, &format!("{name}_"), found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.push((name, bytes));
        }
    }
}

fn main() {
    let Some(out) = std::env::args().nth(1) else {
        eprintln!("seeds OUT");
        std::process::exit(2);
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut corpus = Vec::new();
    collect_files(&root.join("cases"), "", &mut corpus);
    let write = |path: &Path, bytes: &[u8]| {
        fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    for target in TARGETS.iter().chain(&["case_interpreter"]) {
        let folder = Path::new(&out).join(target);
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for (name, bytes) in build_seeds(target, &corpus).unwrap_or_default() {
            write(&folder.join(name), &bytes);
        }
    }
    let listed = root.join("harness/frontend/tests/golden/coverage_3.9.0.txt");
    let listed = fs::read_to_string(&listed).unwrap_or_else(|error| panic!("{}: {error}", listed.display()));
    write(
        &root.join("fuzz/triton.dict"),
        build_dictionary(&listed).as_bytes(),
    );
}
