//! How much the checks of shared memory notice: `races VERSION KERNELS FILTER…` compiles cases of the corpus for `sm_80`, takes each
//! barrier and each wait for copies out of their PTX in turn, and says in how many the executor tells, in how many only the
//! result is another, and in how many nothing is seen.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use cerith_case::{Corpus, Input};
use cerith_engine::cuda::compile::{Compiler, Compiling};
use cerith_engine::{Outcome, Ptx};
use cerith_toolchain::compiled::{Compiled, Kernel, Target};
use cerith_toolchain::{Cache, Compilers, Home};

/// What is taken out.
const TAKEN: [&str; 2] = ["bar.sync", "cp.async.wait_group"];

fn files(root: &Path, folder: &Path, inputs: &mut Vec<Input>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(root, &path, inputs);
        } else if let (Ok(text), Ok(name)) = (std::fs::read_to_string(&path), path.strip_prefix(root)) {
            inputs.push(Input::text(name.display().to_string(), text));
        }
    }
}

/// The compilation with one line of one kernel taken out.
fn without(compiled: &Compiled, kernel: usize, line: usize) -> Compiled {
    let mut altered = compiled.clone();
    let old = &compiled.kernels[kernel];
    let ptx = old
        .ptx
        .lines()
        .enumerate()
        .map(|(at, text)| if at == line { "" } else { text })
        .collect::<Vec<_>>()
        .join("\n");
    altered.kernels[kernel] = Arc::new(Kernel {
        ptx,
        ..Kernel::clone(old)
    });
    altered
}

fn main() {
    let mut words = std::env::args().skip(1);
    let version = words.next().unwrap_or_default();
    let most: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(50);
    let filters: Vec<String> = words.collect();
    let home = Home::discover().expect("a home");
    let id = version.parse().expect("a version");
    let toolchain = home.resolve_compiler(&id).expect("an installed toolchain");
    let root = Path::new("cases");
    let compilers = Compilers::new(toolchain, 2, Cache::open(&home).ok())
        .expect("compilers")
        .reading(root);
    let compiler = Compiler::new(compilers, Target::HOPPER, Compilers::LIMITS).targeting(Ptx::TARGET);
    let mut inputs = Vec::new();
    files(root, root, &mut inputs);
    let corpus = Corpus::load(inputs);
    let mut seen = BTreeSet::new();
    let (mut told, mut differs, mut same) = (0, 0, 0);
    for entry in corpus.entries() {
        if seen.len() >= most {
            break;
        }
        let Ok(case) = entry.resolve() else { continue };
        if !filters.iter().any(|filter| case.id.starts_with(filter.as_str())) {
            continue;
        }
        let Ok(Compiling::Ready(job)) = compiler.job(&case) else {
            continue;
        };
        let Ok(Outcome::Finished(whole)) = Ptx::execute(&case, job.compiled.clone()) else {
            continue;
        };
        for (nth, kernel) in job.compiled.kernels.iter().enumerate() {
            if !kernel.ptx.contains("bar.sync") || !seen.insert(kernel.ptx.clone()) {
                continue;
            }
            for (line, text) in kernel.ptx.lines().enumerate() {
                if !TAKEN.iter().any(|taken| text.trim_start().starts_with(taken)) {
                    continue;
                }
                match Ptx::execute(&case, without(&job.compiled, nth, line)) {
                    Ok(Outcome::Trapped(..)) => told += 1,
                    Ok(Outcome::Finished(left)) if left.memory.arena().0 == whole.memory.arena().0 => {
                        same += 1;
                        println!("{}: line {}: {}: nothing is seen", case.id, line + 1, text.trim());
                    }
                    Ok(other) => {
                        differs += 1;
                        println!("{}: line {}: {:?}", case.id, line + 1, other.kind());
                    }
                    Err(failure) => println!("{}: {failure}", case.id),
                }
            }
        }
    }
    println!(
        "{} kernels: {told} told, {differs} differ without being told, {same} nothing is seen",
        seen.len()
    );
}
