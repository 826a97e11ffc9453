//! Why an engine cannot run.

use std::io;

use cerith_tile::rules::Version;
use cerith_toolchain::compiled::Target;
use cerith_toolchain::{AddError, Damage, HomeError, ToolchainId, WorkerFailure};

/// The reason why an engine cannot run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Workers must not read the corpus.
    #[error("{0}")]
    Unreadable(String),
    /// The toolchains cannot be listed.
    #[error("failed to {0}")]
    Home(#[from] HomeError),
    /// Its processes have no folder for their files.
    #[error("failed to start {processes}: {error}")]
    Start {
        /// The kind of processes.
        processes: &'static str,
        /// The cause.
        error: io::Error,
    },
    /// Its first worker cannot be started.
    #[error("failed to {0}")]
    Worker(Box<WorkerFailure>),
    /// The engine needs torch beside its Triton.
    #[error(
        "no toolchain holds torch beside Triton {0}; `cerith toolchain adopt PYTHON` registers an environment that does, and \
         `cerith toolchain list` shows what there is"
    )]
    NoTorch(ToolchainId),
    /// The torch is not a known release.
    #[error("torch {0} is not known")]
    UnknownTorch(Version),
    /// The torch is not installed. It is large, so that only the user installs it.
    #[error("torch {torch} is not installed; `cerith toolchain add {id}` installs it (about 5 GB)")]
    TorchMissing {
        /// The torch.
        torch: Version,
        /// Its toolchain.
        id: ToolchainId,
    },
    /// The Triton is not installed.
    #[error(
        "Triton {0} is not installed, and --offline forbids to install it; `cerith toolchain add {0}` installs it"
    )]
    Missing(ToolchainId),
    /// The toolchain cannot be used.
    #[error("{0}")]
    Broken(String),
    /// Its files are not those that were installed.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// Its environment cannot be made again.
    #[error("{reason} (failed to {error})")]
    Renew {
        /// The reason why it cannot be used.
        reason: String,
        /// The cause.
        error: Box<AddError>,
    },
    /// It cannot be installed.
    #[error("failed to {0}")]
    Install(Box<AddError>),
    /// The engine has no compiler.
    #[error("only `cuda@VERSION` and `ptx@VERSION` compile")]
    NoCompiler,
    /// The GPU cannot execute the compiled code.
    #[error("a GPU of {gpu} cannot execute what is compiled for {target}")]
    WrongTarget {
        /// The GPU.
        gpu: Target,
        /// The GPU that the code is compiled for.
        target: Target,
    },
    /// The engine needs a GPU.
    #[error("there is no GPU here")]
    NoGpu,
}

impl OpenError {
    /// These processes have no folder for their files.
    pub fn start(processes: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Start { processes, error }
    }
}

impl From<AddError> for OpenError {
    fn from(error: AddError) -> Self {
        Self::Install(Box::new(error))
    }
}

impl From<WorkerFailure> for OpenError {
    fn from(failure: WorkerFailure) -> Self {
        Self::Worker(Box::new(failure))
    }
}
