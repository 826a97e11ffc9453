//! Jobs on a real GPU: every kind of parameter and launch, and planted faults, which a run survives and names. Without
//! a GPU for which the kernels are compiled, they are ignored.
//!
//! The child process that opens the GPU is this binary again: `main` calls [`serve`] first.

use std::process::ExitCode;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cerith_cuda::{Executor, Options, child};
use cerith_engine::job::{Job, Ran};
use cerith_memory::ORIGIN;
use cerith_needs::{Tests, named};
use cerith_toolchain::compiled::{Param, TensorMap};

use crate::fixture::{add, build_job, encode_floats, is_sum, pass_storage, read_kernel, read_storage};

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
        .without_needs(&named![a_child_that_does_not_start])
        .with_skip_reason(
            start_executor().as_ref().err(),
            &named![
                parameters_and_memory,
                follows_addresses,
                several_launches,
                shared_memory,
                clusters_and_cooperation,
                tensor_maps,
                keeps_differing_arena,
                refuses_bad_jobs,
                planted_faults,
                a_neighbours_memory,
                many_threads
            ],
        )
}

/// The executor that the tests share, or why there is none.
fn start_executor() -> &'static Result<Executor, String> {
    static EXECUTOR: LazyLock<Result<Executor, String>> = LazyLock::new(|| {
        let executor = Executor::start(build_options()).map_err(|unavailable| unavailable.to_string())?;
        match executor.gpus() {
            [gpu, ..] if gpu.capability == 90 => Ok(executor),
            gpus => Err(format!(
                "the kernels here are compiled for sm_90, and the GPUs are {gpus:?}"
            )),
        }
    });
    &EXECUTOR
}

fn require_executor() -> &'static Executor {
    start_executor()
        .as_ref()
        .expect("a test that needs a GPU says so")
}

fn build_options() -> Options {
    Options {
        time: Duration::from_secs(2),
        ..Options::default()
    }
}

fn pass_int(value: i32) -> Param {
    Param::Bytes(value.to_le_bytes().to_vec())
}

fn pass_long(value: i64) -> Param {
    Param::Bytes(value.to_le_bytes().to_vec())
}

fn execute_job(executor: &Executor, job: &Job) -> Ran {
    executor
        .execute(Arc::new(job.clone()))
        .expect("no failure of ours")
}

/// The address that a byte of a job's storage has in its layout.
fn compute_address(job: &Job, storage: usize, offset: usize) -> u64 {
    ORIGIN + (job.storages[storage].0 + offset) as u64
}

fn a_child_that_does_not_start() {
    let wrong = Options {
        program: "/nowhere/cerith".into(),
        ..build_options()
    };
    let message = Executor::start(wrong).expect_err("there is none").to_string();
    assert!(
        message.contains("/nowhere/cerith") && !message.contains('\n'),
        "{message}"
    );
    let silent = Options {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), "echo nonsense >&2; exit 3".into()],
        ..build_options()
    };
    let message = Executor::start(silent).expect_err("it has no answer").to_string();
    assert!(message.contains("exit code 3 nonsense"), "{message}");
}

fn parameters_and_memory() {
    let executor = require_executor();
    let kernel = read_kernel("add");
    let job = add(&kernel, 1.0);
    let ran = execute_job(executor, &job);
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
    short.compiled.invocations[0].params[3] = pass_int(3);
    let ran = execute_job(executor, &short);
    let out = read_storage(&short, &ran, 2);
    assert_eq!(out[..12], encode_floats([0.0, 3.0, 6.0]));
    assert!(out[12..].iter().all(|&byte| byte == 0xFF));
}

fn follows_addresses() {
    let executor = require_executor();
    let kernel = read_kernel("follow");
    let mut job = build_job(
        &[encode_floats([5.0, 6.0]), vec![0; 16], encode_floats([0.0])],
        &[(&kernel, [1, 1, 1], vec![pass_storage(1), pass_storage(2)])],
    );
    let table = job.storages[1].0;
    let target = compute_address(&job, 0, 4);
    job.arena[table..table + 8].copy_from_slice(&target.to_le_bytes());
    job.addresses = vec![table];
    job.may_hold_addresses = vec![1];
    let ran = execute_job(executor, &job);
    assert_eq!(read_storage(&job, &ran, 2), encode_floats([7.0]));
    let words: Vec<u64> = read_storage(&job, &ran, 1)
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    assert_eq!(words, [target, target + 4]);
    assert!(words[0] > ORIGIN);
}

fn several_launches() {
    let executor = require_executor();
    let kernel = read_kernel("add");
    let n = pass_int(128);
    let storages = [encode_floats([1.0; 128]), encode_floats([0.0; 128])];
    let again = (
        &kernel,
        [1, 1, 1],
        vec![pass_storage(0), pass_storage(1), pass_storage(1), n],
    );
    let job = build_job(&storages, &[again.clone(), again.clone(), again]);
    let ran = execute_job(executor, &job);
    assert_eq!(read_storage(&job, &ran, 1), encode_floats([3.0; 128]));
}

fn shared_memory() {
    let executor = require_executor();
    let kernel = read_kernel("matmul");
    assert!(kernel.metadata.shared > 48 << 10);
    let n = 128;
    let identity = encode_floats((0..n * n).map(|i| f32::from(u8::from(i / n == i % n))));
    let b = encode_floats((0..n * n).map(|i| (i % 64) as f32));
    let job = build_job(
        &[identity, b.clone(), vec![0; n * n * 4]],
        &[(
            &kernel,
            [1, 1, 1],
            vec![pass_storage(0), pass_storage(1), pass_storage(2)],
        )],
    );
    let ran = execute_job(executor, &job);
    assert_eq!(read_storage(&job, &ran, 2), b);
}

fn clusters_and_cooperation() {
    let executor = require_executor();
    let clusters = read_kernel("matmul_clusters");
    assert_eq!(clusters.metadata.num_ctas, 2);
    let n = 64;
    let identity = encode_floats((0..n * n).map(|i| f32::from(u8::from(i / n == i % n))));
    let b = encode_floats((0..n * n).map(|i| (i % 32) as f32));
    let product = build_job(
        &[identity, b.clone(), vec![0; n * n * 4]],
        &[(
            &clusters,
            [1, 1, 1],
            vec![pass_storage(0), pass_storage(1), pass_storage(2)],
        )],
    );
    let ran = execute_job(executor, &product);
    assert_eq!(read_storage(&product, &ran, 2), b);
    let cooperative = read_kernel("cooperative");
    assert!(cooperative.metadata.cooperative);
    let mut sum = add(&cooperative, 2.0);
    sum.compiled.invocations[0].grid = [2, 1, 1];
    let ran = execute_job(executor, &sum);
    assert!(is_sum(&sum, &ran, 2.0), "{ran:?}");
    // More programs than fit at once.
    sum.compiled.invocations[0].grid = [1 << 20, 1, 1];
    let ran = execute_job(executor, &sum);
    assert!(
        matches!(&ran, Ran::Refused { name, .. } if name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"),
        "{ran:?}"
    );
}

fn tensor_maps() {
    let executor = require_executor();
    // 20 columns of 32 are inside; the others are filled with zeros.
    let (n, columns) = (32u64, 20u64);
    let x = encode_floats((0..n * n).map(|i| i as f32 + 1.0));
    let expected = encode_floats((0..n * n).map(|i| if i % n < columns { i as f32 + 1.0 } else { 0.0 }));
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
    let host = read_kernel("described");
    let params = vec![
        Param::TensorMap(map.clone()),
        pass_int(n as i32),
        pass_int(columns as i32),
        pass_long(n as i64),
        pass_long(1),
        pass_storage(1),
    ];
    let described = build_job(&[x.clone(), vec![0xFF; 4096]], &[(&host, [1, 1, 1], params)]);
    let ran = execute_job(executor, &described);
    assert_eq!(read_storage(&described, &ran, 1), expected);
    // The kernel makes the map itself, in its scratch memory.
    let here = read_kernel("described_here");
    assert!(
        here.metadata
            .global_scratch
            .is_some_and(|scratch| scratch.size == 128)
    );
    let params = vec![pass_storage(0), pass_storage(1), pass_int(32), pass_int(32)];
    let described = build_job(&[x.clone(), vec![0xFF; 4096]], &[(&here, [1, 1, 1], params)]);
    let ran = execute_job(executor, &described);
    assert_eq!(read_storage(&described, &ran, 1), x);
    // A stride that is not a multiple of 16.
    let bad = Param::TensorMap(TensorMap {
        strides: vec![36, 4],
        ..map
    });
    let params = vec![
        bad,
        pass_int(32),
        pass_int(9),
        pass_long(9),
        pass_long(1),
        pass_storage(1),
    ];
    let ran = execute_job(
        executor,
        &build_job(&[x, vec![0; 4096]], &[(&host, [1, 1, 1], params)]),
    );
    assert!(
        matches!(&ran, Ran::Refused { name, .. } if name == "CUDA_ERROR_INVALID_VALUE"),
        "{ran:?}"
    );
}

fn keeps_differing_arena() {
    let executor = require_executor();
    let kernel = read_kernel("order");
    let programs = 2000;
    let job = build_job(
        &[vec![0; 8 + programs * 4]],
        &[(
            &kernel,
            [programs as u32, 1, 1],
            vec![pass_storage(0), pass_int(programs as i32)],
        )],
    );
    let ran = execute_job(executor, &job);
    assert!(
        matches!(&ran, Ran::Finished { arena, different_arena: Some(other), .. } if arena != other),
        "the order of 2000 programs was the same every time"
    );
}

fn refuses_bad_jobs() {
    let executor = require_executor();
    let good = read_kernel("add");
    let refused = |job: &Job, wanted: &str| match execute_job(executor, job) {
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
    let executor = require_executor();
    let (good, far) = (read_kernel("add"), read_kernel("far_store"));
    let out_of_bounds = build_job(
        &[encode_floats([0.0])],
        &[(&far, [1, 1, 1], vec![pass_storage(0), pass_long(1 << 40)])],
    );
    let endless = build_job(
        &[vec![0; 4]],
        &[(&read_kernel("endless"), [1, 1, 1], vec![pass_storage(0)])],
    );
    let negative = build_job(
        &[(0..32i32).flat_map(|i| (i - 3).to_le_bytes()).collect()],
        &[(&read_kernel("trap"), [1, 1, 1], vec![pass_storage(0)])],
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
    let executor = require_executor();
    let (good, far) = (read_kernel("add"), read_kernel("far_store"));
    for bytes in [2048, 4096 + 512 + 3000] {
        let mut jobs: Vec<Arc<Job>> = (0..12).map(|i| Arc::new(add(&good, i as f32))).collect();
        jobs[4] = Arc::new(build_job(
            &[encode_floats([0.0])],
            &[(&far, [1, 1, 1], vec![pass_storage(0), pass_long(bytes / 4)])],
        ));
        let ran = executor.run(&jobs).expect("no failure of ours");
        for (index, (job, ran)) in jobs.iter().zip(&ran).enumerate() {
            match (index, ran) {
                (4, Ran::Faulted { name, message }) => {
                    assert_eq!(name, "WROTE_OUTSIDE");
                    assert!(message.contains("bytes after the last guard zone"), "{message}");
                }
                (4, Ran::Finished { .. }) => panic!("{bytes} bytes: not detected"),
                (4, other) => panic!("{bytes} bytes: {other:?}"),
                _ => assert!(is_sum(job, ran, index as f32), "{bytes} bytes, {index}: {ran:?}"),
            }
        }
    }
}

fn many_threads() {
    let executor = require_executor();
    let kernel = read_kernel("add");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let kernel = &kernel;
            scope.spawn(move || {
                for i in 0..50 {
                    let seed = (thread * 50 + i) as f32;
                    let job = add(kernel, seed);
                    assert!(is_sum(&job, &execute_job(executor, &job), seed));
                }
            });
        }
    });
}
