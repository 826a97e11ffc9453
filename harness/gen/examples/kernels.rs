//! Random cases as a corpus: `kernels OUT N SEED [every]` writes N case files and their kernels, 10 to a module, for
//! `cerith run --cases OUT`. With `every`, each kernel stores every value that it makes.

use std::fs;
use std::path::Path;

use arbitrary::Unstructured;
use cerith_gen::case::{Detail, Generated, render_module};
use cerith_gen::seeded::generate_bytes;

/// Kernels of a module.
const KERNELS_PER_MODULE: u64 = 10;
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (Some(out), Some(Ok(count)), Some(Ok(seed))) = (
        words.first(),
        words.get(1).map(|word| word.parse::<u64>()),
        words.get(2).map(|word| word.parse::<u64>()),
    ) else {
        eprintln!("kernels OUT N SEED [every]");
        std::process::exit(2);
    };
    let detail = match words.get(3).map(String::as_str) {
        Some("every") => Detail::Every,
        _ => Detail::Chosen,
    };
    let write = |path: &Path, text: &str| {
        fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    };
    for first in (seed..seed + count).step_by(KERNELS_PER_MODULE as usize) {
        let folder = Path::new(out).join(format!("g{first:08}"));
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let cases: Vec<(u64, Generated)> = (first..(first + KERNELS_PER_MODULE).min(seed + count))
            .map(|at| {
                let bytes = generate_bytes(0, at);
                let case = Generated::new(&format!("k{at}"), detail, &mut Unstructured::new(&bytes));
                (at, case.expect("any bytes are a case"))
            })
            .collect();
        let texts: Vec<Generated> = cases.iter().map(|(_, case)| case.clone()).collect();
        write(&folder.join("kernels.py"), &render_module(&texts));
        for (at, case) in &cases {
            write(&folder.join(format!("k{at}.yaml")), &case.case_file("kernels.py"));
        }
    }
}
