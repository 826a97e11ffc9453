//! `jit@V`: Triton's compiler, tuner and launcher on a GPU with torch's own tensors, in the Python workers of a toolchain
//! that has torch.
//!
//! Requests and answers are the interpreter's. A fault of the GPU has CUDA's message, and ends the worker. See `cuda@V` for
//! compiling without a GPU and launching without Python.

use std::sync::Arc;

use cerith_case::Case;
use cerith_tile::rules::Rules;
use cerith_toolchain::Pool;
use cerith_toolchain::pool::Limits;
use cerith_toolchain::request::Device;

use crate::EngineId;
use crate::compile::list_capabilities;
use crate::engine::{Capabilities, Engine, Failure, Preparation};
use crate::interpret::{Shared, prepare_case};

/// `jit@V`.
#[derive(Debug)]
pub struct Jit {
    id: EngineId,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

impl Jit {
    /// The Triton of a pool whose workers launch on a GPU ([`Pool::new_jit`]).
    pub fn new(pool: Pool, limits: Limits) -> Self {
        let version = pool.toolchain().triton();
        Self {
            id: EngineId::Jit { version },
            capabilities: list_capabilities(version, true),
            shared: Arc::new(Shared {
                pool,
                limits,
                device: Device::Cuda,
            }),
        }
    }
}

impl Engine for Jit {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Triton compiles when it launches, so there is nothing to prepare.
    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        Ok(prepare_case(&self.shared, case))
    }

    fn stop(&self) {
        self.shared.pool.stop();
    }
}
