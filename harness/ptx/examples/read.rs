//! Parses PTX files and reports the unsupported ones with the reason: `cargo run --release -p cerith-ptx --example read
//! FILE…`. Skips files that are not PTX. A folder stands for all files in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cerith_ptx::{Kernel, parse};

fn collect_files(path: &Path, all: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => entries
            .flatten()
            .for_each(|entry| collect_files(&entry.path(), all)),
        Err(_) => all.push(path.to_owned()),
    }
}

fn main() {
    let mut all = Vec::new();
    for argument in std::env::args_os().skip(1) {
        collect_files(Path::new(&argument), &mut all);
    }
    let mut problems: BTreeMap<String, (u32, String)> = BTreeMap::new();
    let (mut modules, mut instructions, mut time) = (0u32, 0usize, Duration::ZERO);
    for file in all {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        if !text.contains(".address_size") || !text.contains(".target") {
            continue;
        }
        modules += 1;
        let start = Instant::now();
        let mut problem = |what: String| {
            let place = file.display().to_string();
            problems.entry(what).or_insert((0, place)).0 += 1;
        };
        match parse(&text) {
            Ok(module) => {
                let module = Arc::new(module);
                for function in module.functions.iter().filter(|of| of.entry && of.defined) {
                    instructions += function.body.len();
                    if let Err(error) = Kernel::new(&module, &function.name) {
                        problem(match error {
                            cerith_ptx::LinkError::Unsupported(at) => at.instruction,
                            other => other.to_string(),
                        });
                    }
                }
            }
            Err(error) => problem(error.message),
        }
        time += start.elapsed();
    }
    println!(
        "{modules} modules, {instructions} instructions, {:.3} ms for each module",
        time.as_secs_f64() * 1e3 / f64::from(modules.max(1))
    );
    for (what, (count, place)) in problems {
        println!("{count:6} {what}  ({place})");
    }
}
