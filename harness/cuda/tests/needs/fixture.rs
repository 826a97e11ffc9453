//! Jobs made by hand from compiled kernels, for the tests and the benchmark of the GPU's side.

use std::path::PathBuf;
use std::sync::Arc;

use cerith_engine::job::{Job, Ran};
use cerith_memory::{GUARD, GUARD_BYTE};
use cerith_toolchain::compiled::{Compiled, Invocation, Kernel, Metadata, Param};

/// A kernel that `kernels/compile.py` compiled. The files are looked for in `CERITH_KERNELS` first, because a GPU's host may have
/// no checkout.
pub fn read_kernel(name: &str) -> Arc<Kernel> {
    let folder = std::env::var_os("CERITH_KERNELS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"),
        PathBuf::from,
    );
    let cubin = std::fs::read(folder.join(format!("{name}.cubin"))).expect("a cubin");
    let metadata = std::fs::read(folder.join(format!("{name}.json"))).expect("its metadata");
    let metadata: Metadata = serde_json::from_slice(&metadata).expect("good metadata");
    Arc::new(Kernel {
        cubin: cubin.into(),
        ptx: String::new(),
        ttir: String::new(),
        metadata,
    })
}

/// A job that launches kernels over these storages.
pub fn build_job(storages: &[Vec<u8>], launches: &[(&Arc<Kernel>, [u32; 3], Vec<Param>)]) -> Job {
    let mut arena = Vec::new();
    let mut places = Vec::new();
    for storage in storages {
        arena.resize(arena.len() + GUARD, GUARD_BYTE);
        places.push((arena.len(), storage.len()));
        arena.extend_from_slice(storage);
        arena.resize(arena.len().next_multiple_of(512), GUARD_BYTE);
    }
    arena.resize(arena.len() + GUARD, GUARD_BYTE);
    let mut kernels: Vec<Arc<Kernel>> = Vec::new();
    let mut invocations = Vec::new();
    for (launch, (kernel, grid, params)) in launches.iter().enumerate() {
        let at = kernels.iter().position(|one| Arc::ptr_eq(one, kernel));
        let index = at.unwrap_or(kernels.len());
        if at.is_none() {
            kernels.push(Arc::clone(kernel));
        }
        invocations.push(Invocation {
            launch,
            kernel: index,
            grid: *grid,
            params: params.clone(),
            clears: Vec::new(),
        });
    }
    Job {
        arena,
        storages: places,
        addresses: Vec::new(),
        may_hold_addresses: Vec::new(),
        compiled: Compiled { kernels, invocations },
    }
}

/// The beginning of a storage.
pub fn pass_storage(storage: usize) -> Param {
    Param::Address { storage, offset: 0 }
}

/// The bytes of numbers.
pub fn encode_floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// A storage after a job that finished, without a difference between its repetitions.
pub fn read_storage<'a>(job: &Job, ran: &'a Ran, index: usize) -> &'a [u8] {
    let Ran::Finished {
        arena,
        different_arena: None,
        ..
    } = ran
    else {
        panic!("{ran:?}");
    };
    let (start, len) = job.storages[index];
    &arena[start..start + len]
}

/// `x + y` of 128 numbers.
pub fn add(kernel: &Arc<Kernel>, seed: f32) -> Job {
    let x = encode_floats((0..128).map(|i| i as f32 + seed));
    let y = encode_floats((0..128).map(|i| 2.0 * i as f32));
    let n = Param::Bytes(128i32.to_le_bytes().to_vec());
    let out = vec![0xFF; 512];
    build_job(
        &[x, y, out],
        &[(
            kernel,
            [1, 1, 1],
            vec![pass_storage(0), pass_storage(1), pass_storage(2), n],
        )],
    )
}

/// Whether a job of [`add`] came out right.
pub fn is_sum(job: &Job, ran: &Ran, seed: f32) -> bool {
    read_storage(job, ran, 2) == encode_floats((0..128).map(|i| 3.0 * i as f32 + seed))
}
