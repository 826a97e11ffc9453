//! The engines of one torch, which execute the launches that its Inductor generates. See [`crate::engines`] for the other
//! engines.

use std::sync::Arc;

use cerith_cuda::Cuda;
use cerith_cuda::Executor;
use cerith_engine::compile::Compiler;
use cerith_engine::{Engine, Inductor, Interpret, LaunchExecutor, Reference};
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::Target;
use cerith_toolchain::pool::Limits;
use cerith_toolchain::{Cache, Compilers, Home, Inductors, Pool, Toolchain, ToolchainId};

use crate::engines::{check_readable, find_or_add};
use crate::host::Host;
use crate::open_error::OpenError;
use crate::worker_files::Readable;

/// The requirements for creating the engines of a torch.
pub struct Means<'a> {
    /// The reference of the run.
    pub reference: &'a Arc<Reference>,
    /// GPUs, if there are any.
    pub gpus: Option<&'a Arc<Executor>>,
    /// How many workers of each kind there may be.
    pub jobs: usize,
    /// The files of the kernels' folder that workers may read.
    pub corpus: &'a Readable,
    /// Set when the run is interrupted.
    pub host: Host<'a>,
}

/// Creates the engines of `inductor@V`: the reference, the interpreter and, if there is a GPU, CUDA execute the launches; or only
/// the requested executor.
pub fn build_inductors(
    torch: Version,
    by: LaunchExecutor,
    means: &Means<'_>,
) -> Result<Vec<Inductor>, OpenError> {
    check_readable(means.corpus)?;
    let id = ToolchainId::of_torch(torch).ok_or(OpenError::UnknownTorch(torch))?;
    let toolchain = find_or_add(&id, true, means.host)?;
    let mut executing: Vec<(LaunchExecutor, Arc<dyn Engine>)> = Vec::new();
    if by == LaunchExecutor::Reference {
        executing.push((
            LaunchExecutor::Reference,
            Arc::clone(means.reference) as Arc<dyn Engine>,
        ));
    }
    // An interpreter with a NumPy that it does not work with would be blamed for that.
    if by == LaunchExecutor::Interpret || (by == LaunchExecutor::Reference && toolchain.numpy_fits()) {
        let pool = Pool::new(toolchain.clone(), means.jobs)
            .map_err(OpenError::start("workers"))?
            .with_readable_files(means.corpus.root(), means.corpus.files());
        executing.push((
            LaunchExecutor::Interpret,
            Arc::new(Interpret::new(pool, true, Limits::INTERPRETER)),
        ));
    }
    if by != LaunchExecutor::Interpret {
        match open_cuda(&toolchain, means)? {
            Some(engine) => executing.push((LaunchExecutor::Cuda, Arc::new(engine))),
            None if by == LaunchExecutor::Cuda => return Err(OpenError::NoGpu),
            None => {}
        }
    }
    let inductors = Inductors::new(toolchain, means.jobs)
        .map_err(OpenError::start("workers with torch"))?
        .with_readable_files(means.corpus.root(), means.corpus.files());
    Ok(Inductor::build_engines(inductors, executing, Limits::INDUCTOR))
}

/// The GPUs of this machine, with the toolchain's own Triton as the compiler; `None` if there is no GPU.
fn open_cuda(toolchain: &Toolchain, means: &Means<'_>) -> Result<Option<Cuda>, OpenError> {
    let Some((executor, gpu)) = means
        .gpus
        .and_then(|executor| Some((executor, executor.gpus().first()?)))
    else {
        return Ok(None);
    };
    let cache = Home::discover().ok().and_then(|home| Cache::open(&home).ok());
    let compilers = Compilers::new(toolchain.clone(), means.jobs, cache)
        .map_err(OpenError::start("compilers"))?
        .with_readable_files(means.corpus.root(), means.corpus.files());
    let compiler = Compiler::new(compilers, Target(gpu.capability), Limits::COMPILER);
    Ok(Some(Cuda::from_executor(compiler, Arc::clone(executor))))
}
