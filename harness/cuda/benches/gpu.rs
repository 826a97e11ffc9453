//! How many small cases a GPU does in a second, with the isolation that a run has: cold, where every case brings a
//! kernel of its own that must be loaded, and prepared, where all launch the same one. Times are from the first job's
//! arena to the last result's, three repetitions of each job counted as one case and three launches. At last, a bundle
//! of cold cases from its first byte to the last byte of the bundle of results.

#[path = "../tests/needs/fixture.rs"]
mod fixture;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cerith_cuda::bundle::{CaseEntry, Label, Provenance, Reader, ResultEntry, Writer};
use cerith_cuda::{Executor, Options, child};
use cerith_engine::job::Job;
use cerith_toolchain::compiled::{Kernel, Target};

use crate::fixture::{add, is_sum, read_kernel};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, gpu] = arguments.as_slice()
        && child == child::ARGUMENT
    {
        return child::serve(gpu.parse().expect("an index"));
    }
    let test = !arguments.iter().any(|argument| argument == "--bench");
    let count = if test { 100 } else { 20_000 };
    for repetitions in [1, 3] {
        let options = Options {
            repetitions,
            ..Options::default()
        };
        let began = Instant::now();
        let executor = match Executor::start(options) {
            Ok(executor) => executor,
            Err(unavailable) => {
                println!("left out: {unavailable}");
                return ExitCode::SUCCESS;
            }
        };
        println!(
            "{repetitions} repetitions; {}, started in {:.2?}",
            executor.gpus()[0].name,
            began.elapsed()
        );
        let first = read_kernel("add");
        measure(
            &executor,
            "warm",
            repetitions,
            &build_jobs(100, |_| Arc::clone(&first)),
        );
        measure(
            &executor,
            "cold",
            repetitions,
            &build_jobs(count, |index| copy_kernel(&first, index)),
        );
        let same = build_jobs(count, |_| Arc::clone(&first));
        measure(&executor, "prepared", repetitions, &same);
        measure_bundle(
            &executor,
            repetitions,
            &build_jobs(count / 4, |index| copy_kernel(&first, index)),
        );
    }
    ExitCode::SUCCESS
}

fn build_jobs(count: usize, kernel: impl Fn(usize) -> Arc<Kernel>) -> Vec<Arc<Job>> {
    (0..count)
        .map(|index| Arc::new(add(&kernel(index), index as f32)))
        .collect()
}

/// The same machine code in a file of its own, with unused bytes after its end.
fn copy_kernel(kernel: &Arc<Kernel>, index: usize) -> Arc<Kernel> {
    let mut kernel = Kernel::clone(kernel);
    kernel.cubin = [&kernel.cubin[..], &index.to_le_bytes()].concat().into();
    Arc::new(kernel)
}

fn measure(executor: &Executor, name: &str, repetitions: u32, jobs: &[Arc<Job>]) {
    let began = Instant::now();
    let ran = executor.run(jobs).expect("no failure of ours");
    let seconds = began.elapsed().as_secs_f64();
    for (index, (job, ran)) in jobs.iter().zip(&ran).enumerate() {
        assert!(is_sum(job, ran, index as f32), "{index}: {ran:?}");
    }
    let rate = jobs.len() as f64 / seconds;
    println!(
        "{name:<9} {:>6} cases in {seconds:.3} s: {rate:>7.0} cases/s, {:>7.0} launches/s",
        jobs.len(),
        rate * f64::from(repetitions)
    );
}

fn measure_bundle(executor: &Executor, repetitions: u32, jobs: &[Arc<Job>]) {
    let label = |index: usize| Label {
        case: format!("bench/add:i={index}"),
        variant: None,
        engine: "cuda@3.6.0".parse().expect("an engine"),
        target: Target::HOPPER,
        source: String::new(),
        layout: String::new(),
        cubins: Vec::new(),
    };
    let mut writer = Writer::begin_cases(Vec::new()).expect("it is memory");
    for (index, job) in jobs.iter().enumerate() {
        let entry = CaseEntry {
            label: label(index),
            job: Job::clone(job),
        };
        writer.add_case(&entry).expect("it is memory");
    }
    let cases = writer.finish().expect("it is memory");
    let began = Instant::now();
    let mut reader = Reader::begin_cases(cases.as_slice()).expect("a good bundle");
    let provenance = Provenance {
        gpu: executor.gpus()[0].clone(),
        repetitions,
        time_limit: 10_000,
    };
    let mut writer = Writer::begin_results(Vec::new(), provenance).expect("it is memory");
    let read = std::iter::from_fn(|| reader.next_case().expect("a good bundle"));
    let done = executor.stream(read.map(|entry| Arc::new(entry.job)), |index, ran| {
        let label = label(index);
        writer
            .add_result(&ResultEntry { label, ran })
            .expect("it is memory");
        true
    });
    done.expect("no failure of ours");
    let results = writer.finish().expect("it is memory");
    println!(
        "a bundle of {} cases, {} bytes, in {:.2?}, {} bytes of results",
        jobs.len(),
        cases.len(),
        began.elapsed(),
        results.len()
    );
}
