//! Jobs on a real GPU: every kind of parameter and launch, and planted faults, which a run survives and names. Without
//! a GPU for which the kernels are compiled, they are ignored.
//!
//! The child process that opens the GPU is this binary again: `main` calls [`serve`] first.

use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cerith_engine::cuda::job::{Job, Ran};
use cerith_engine::cuda::{Executor, Options, child};
use cerith_memory::ORIGIN;
use cerith_needs::{Tests, named};
use cerith_toolchain::compiled::{Param, TensorMap};

use crate::fixture::{add, at, floats, is_sum, job, kernel, storage};

/// Serves jobs if this process was started as a child for one GPU.
pub fn serve() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, gpu] = arguments.as_slice()
        && child == child::ARGUMENT
    {
        return Some(child::serve(gpu.parse().expect("an index")));
    }
    None
}

pub fn tests() -> Tests {
    Tests::new()
        .one_at_a_time()
        .anywhere(&named![a_child_that_does_not_start])
        .unless(
            executor().as_ref().err(),
            &named![
                parameters_and_memory,
                addresses,
                several_launches,
                shared_memory,
                clusters_and_cooperation,
                tensor_maps,
                nondeterminism,
                refusals,
                planted_faults,
                a_neighbours_memory,
                many_threads
            ],
        )
}

/// The executor that the tests share, or why there is none.
fn executor() -> &'static Result<Executor, String> {
    static EXECUTOR: LazyLock<Result<Executor, String>> = LazyLock::new(|| {
        let executor = Executor::start(options()).map_err(|unavailable| unavailable.to_string())?;
        match executor.gpus() {
            [gpu, ..] if gpu.capability == 90 => Ok(executor),
            gpus => Err(format!(
                "the kernels here are compiled for sm_90, and the GPUs are {gpus:?}"
            )),
        }
    });
    &EXECUTOR
}

fn gpu() -> &'static Executor {
    executor().as_ref().expect("a test that needs a GPU says so")
}

fn options() -> Options {
    Options {
        time: Duration::from_secs(2),
        ..Options::default()
    }
}

fn int(value: i32) -> Param {
    Param::Bytes(value.to_le_bytes().to_vec())
}

fn long(value: i64) -> Param {
    Param::Bytes(value.to_le_bytes().to_vec())
}

fn one(executor: &Executor, job: &Job) -> Ran {
    executor
        .execute(Arc::new(job.clone()))
        .expect("no failure of ours")
}

/// The address that a byte of a job's storage has in its layout.
fn address(job: &Job, storage: usize, offset: usize) -> u64 {
    ORIGIN + (job.storages[storage].0 + offset) as u64
}

fn a_child_that_does_not_start() {
    let wrong = Options {
        program: "/nowhere/cerith".into(),
        ..options()
    };
    let message = Executor::start(wrong).expect_err("there is none").to_string();
    assert!(
        message.contains("/nowhere/cerith") && !message.contains('\n'),
        "{message}"
    );
    let silent = Options {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), "echo nonsense >&2; exit 3".into()],
        ..options()
    };
    let message = Executor::start(silent).expect_err("it says nothing").to_string();
    assert!(message.contains("exit code 3 nonsense"), "{message}");
}

fn parameters_and_memory() {
    let executor = gpu();
    let kernel = kernel("add");
    let job = add(&kernel, 1.0);
    let ran = one(executor, &job);
    assert!(is_sum(&job, &ran, 1.0), "{ran:?}");
    let Ran::Finished {
        arena, repetitions, ..
    } = &ran
    else {
        panic!("{ran:?}")
    };
    assert_eq!(*repetitions, 3);
    // Guard zones and inputs are as they were.
    assert_eq!(arena[..job.storages[2].0], job.arena[..job.storages[2].0]);
    assert_eq!(
        arena[job.storages[2].0 + 512..],
        job.arena[job.storages[2].0 + 512..]
    );
    // A kernel that writes less leaves what was there.
    let mut short = add(&kernel, 0.0);
    short.compiled.invocations[0].params[3] = int(3);
    let ran = one(executor, &short);
    let out = storage(&short, &ran, 2);
    assert_eq!(out[..12], floats([0.0, 3.0, 6.0]));
    assert!(out[12..].iter().all(|&byte| byte == 0xFF));
}

fn addresses() {
    let executor = gpu();
    let kernel = kernel("follow");
    let mut job = job(
        &[floats([5.0, 6.0]), vec![0; 16], floats([0.0])],
        &[(&kernel, [1, 1, 1], vec![at(1), at(2)])],
    );
    let table = job.storages[1].0;
    let target = address(&job, 0, 4);
    job.arena[table..table + 8].copy_from_slice(&target.to_le_bytes());
    job.addresses = vec![table];
    job.may_hold_addresses = vec![1];
    let ran = one(executor, &job);
    assert_eq!(storage(&job, &ran, 2), floats([7.0]));
    let words: Vec<u64> = storage(&job, &ran, 1)
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    assert_eq!(words, [target, target + 4]);
    assert!(words[0] > ORIGIN);
}

fn several_launches() {
    let executor = gpu();
    let kernel = kernel("add");
    let n = int(128);
    let storages = [floats([1.0; 128]), floats([0.0; 128])];
    let again = (&kernel, [1, 1, 1], vec![at(0), at(1), at(1), n]);
    let job = job(&storages, &[again.clone(), again.clone(), again]);
    let ran = one(executor, &job);
    assert_eq!(storage(&job, &ran, 1), floats([3.0; 128]));
}

fn shared_memory() {
    let executor = gpu();
    let kernel = kernel("matmul");
    assert!(kernel.metadata.shared > 48 << 10);
    let n = 128;
    let identity = floats((0..n * n).map(|i| f32::from(u8::from(i / n == i % n))));
    let b = floats((0..n * n).map(|i| (i % 64) as f32));
    let job = job(
        &[identity, b.clone(), vec![0; n * n * 4]],
        &[(&kernel, [1, 1, 1], vec![at(0), at(1), at(2)])],
    );
    let ran = one(executor, &job);
    assert_eq!(storage(&job, &ran, 2), b);
}

fn clusters_and_cooperation() {
    let executor = gpu();
    let clusters = kernel("matmul_clusters");
    assert_eq!(clusters.metadata.num_ctas, 2);
    let n = 64;
    let identity = floats((0..n * n).map(|i| f32::from(u8::from(i / n == i % n))));
    let b = floats((0..n * n).map(|i| (i % 32) as f32));
    let product = job(
        &[identity, b.clone(), vec![0; n * n * 4]],
        &[(&clusters, [1, 1, 1], vec![at(0), at(1), at(2)])],
    );
    let ran = one(executor, &product);
    assert_eq!(storage(&product, &ran, 2), b);
    let cooperative = kernel("cooperative");
    assert!(cooperative.metadata.cooperative);
    let mut sum = add(&cooperative, 2.0);
    sum.compiled.invocations[0].grid = [2, 1, 1];
    let ran = one(executor, &sum);
    assert!(is_sum(&sum, &ran, 2.0), "{ran:?}");
    // More programs than fit at once.
    sum.compiled.invocations[0].grid = [1 << 20, 1, 1];
    let ran = one(executor, &sum);
    assert!(
        matches!(&ran, Ran::Refused { name, .. } if name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
        "{ran:?}"
    );
}

fn tensor_maps() {
    let executor = gpu();
    // 20 columns of 32 are inside; the others are filled with zeros.
    let (n, columns) = (32u64, 20u64);
    let x = floats((0..n * n).map(|i| i as f32 + 1.0));
    let expected = floats((0..n * n).map(|i| if i % n < columns { i as f32 + 1.0 } else { 0.0 }));
    let map = TensorMap {
        storage: 0,
        offset: 0,
        data_type: 7,
        element_size: 4,
        shape: vec![n, columns],
        strides: vec![n * 4, 4],
        block: vec![32, 32],
        swizzle: 3,
        interleave: 0,
        fill: 0,
    };
    let host = kernel("described");
    let params = vec![
        Param::TensorMap(map.clone()),
        int(n as i32),
        int(columns as i32),
        long(n as i64),
        long(1),
        at(1),
    ];
    let described = job(&[x.clone(), vec![0xFF; 4096]], &[(&host, [1, 1, 1], params)]);
    let ran = one(executor, &described);
    assert_eq!(storage(&described, &ran, 1), expected);
    // The kernel makes the map itself, in its scratch memory.
    let here = kernel("described_here");
    assert!(
        here.metadata
            .global_scratch
            .is_some_and(|scratch| scratch.size == 128)
    );
    let params = vec![at(0), at(1), int(32), int(32)];
    let described = job(&[x.clone(), vec![0xFF; 4096]], &[(&here, [1, 1, 1], params)]);
    let ran = one(executor, &described);
    assert_eq!(storage(&described, &ran, 1), x);
    // A stride that is no multiple of 16.
    let bad = Param::TensorMap(TensorMap {
        strides: vec![36, 4],
        ..map
    });
    let params = vec![bad, int(32), int(9), long(9), long(1), at(1)];
    let ran = one(executor, &job(&[x, vec![0; 4096]], &[(&host, [1, 1, 1], params)]));
    assert!(
        matches!(&ran, Ran::Refused { name, .. } if name == "CUDA_ERROR_INVALID_VALUE"),
        "{ran:?}"
    );
}

fn nondeterminism() {
    let executor = gpu();
    let kernel = kernel("order");
    let programs = 2000;
    let job = job(
        &[vec![0; 8 + programs * 4]],
        &[(
            &kernel,
            [programs as u32, 1, 1],
            vec![at(0), int(programs as i32)],
        )],
    );
    let ran = one(executor, &job);
    assert!(
        matches!(&ran, Ran::Finished { arena, other: Some(other), .. } if arena != other),
        "the order of 2000 programs was the same every time"
    );
}

fn refusals() {
    let executor = gpu();
    let good = kernel("add");
    let refused = |job: &Job, wanted: &str| match one(executor, job) {
        Ran::Refused { name, message } => assert!(name == wanted && !message.is_empty(), "{name}: {message}"),
        other => panic!("{wanted}: {other:?}"),
    };
    let mut other_parameters = add(&good, 0.0);
    other_parameters.compiled.invocations[0].params.pop();
    refused(&other_parameters, "other-parameters");
    let mut no_cubin = add(&good, 0.0);
    Arc::make_mut(&mut no_cubin.compiled.kernels[0]).cubin = b"no cubin".as_slice().into();
    refused(&no_cubin, "not-a-cubin");
    let mut no_function = add(&good, 0.0);
    Arc::make_mut(&mut no_function.compiled.kernels[0])
        .metadata
        .name
        .push('s');
    refused(&no_function, "CUDA_ERROR_NOT_FOUND");
    let mut too_much_shared = add(&good, 0.0);
    Arc::make_mut(&mut too_much_shared.compiled.kernels[0])
        .metadata
        .shared = 1 << 20;
    refused(&too_much_shared, "out-of-shared-memory");
    let mut too_many_threads = add(&good, 0.0);
    Arc::make_mut(&mut too_many_threads.compiled.kernels[0])
        .metadata
        .num_warps = 64;
    refused(&too_many_threads, "CUDA_ERROR_INVALID_VALUE");
}

/// A batch with three kinds of faults among good jobs: each is named, and the others are as if nothing had been.
fn planted_faults() {
    let executor = gpu();
    let (good, far) = (kernel("add"), kernel("far_store"));
    let out_of_bounds = job(&[floats([0.0])], &[(&far, [1, 1, 1], vec![at(0), long(1 << 40)])]);
    let endless = job(&[vec![0; 4]], &[(&kernel("endless"), [1, 1, 1], vec![at(0)])]);
    let negative = job(
        &[(0..32i32).flat_map(|i| (i - 3).to_le_bytes()).collect()],
        &[(&kernel("trap"), [1, 1, 1], vec![at(0)])],
    );
    let mut jobs: Vec<Arc<Job>> = (0..40).map(|i| Arc::new(add(&good, i as f32))).collect();
    jobs[5] = Arc::new(out_of_bounds);
    jobs[17] = Arc::new(endless);
    jobs[30] = Arc::new(negative);
    let lost = executor.children_lost();
    let ran = executor.run(&jobs).expect("no failure of ours");
    for (index, (job, ran)) in jobs.iter().zip(&ran).enumerate() {
        match (index, ran) {
            (5, Ran::Faulted { name, message }) => {
                assert_eq!(name, "CUDA_ERROR_ILLEGAL_ADDRESS", "{message}");
            }
            (17, Ran::TimedOut { limit }) => assert_eq!(*limit, Duration::from_secs(2)),
            (30, Ran::Faulted { name, message }) => {
                assert_eq!(name, "CUDA_ERROR_ASSERT");
                assert!(message.contains("negative"), "{message}");
            }
            (5 | 17 | 30, other) => panic!("{index}: {other:?}"),
            _ => assert!(is_sum(job, ran, index as f32), "{index}: {ran:?}"),
        }
    }
    println!("  {} children lost", executor.children_lost() - lost);
}

/// A job that writes into the gap between arenas, and one that jumps over it into its neighbour.
fn a_neighbours_memory() {
    let executor = gpu();
    let (good, far) = (kernel("add"), kernel("far_store"));
    for bytes in [2048, 4096 + 512 + 3000] {
        let mut jobs: Vec<Arc<Job>> = (0..12).map(|i| Arc::new(add(&good, i as f32))).collect();
        jobs[4] = Arc::new(job(
            &[floats([0.0])],
            &[(&far, [1, 1, 1], vec![at(0), long(bytes / 4)])],
        ));
        let ran = executor.run(&jobs).expect("no failure of ours");
        for (index, (job, ran)) in jobs.iter().zip(&ran).enumerate() {
            match (index, ran) {
                (4, Ran::Faulted { name, message }) => {
                    assert_eq!(name, "WROTE_OUTSIDE");
                    assert!(message.contains("bytes behind the last guard zone"), "{message}");
                }
                (4, Ran::Finished { .. }) => panic!("{bytes} bytes: nobody noticed"),
                (4, other) => panic!("{bytes} bytes: {other:?}"),
                _ => assert!(is_sum(job, ran, index as f32), "{bytes} bytes, {index}: {ran:?}"),
            }
        }
    }
}

fn many_threads() {
    let executor = gpu();
    let kernel = kernel("add");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let kernel = &kernel;
            scope.spawn(move || {
                for i in 0..50 {
                    let seed = (thread * 50 + i) as f32;
                    let job = add(kernel, seed);
                    assert!(is_sum(&job, &one(executor, &job), seed));
                }
            });
        }
    });
}
