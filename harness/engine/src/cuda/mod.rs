//! `cuda@V` on a machine without a GPU: the outcome recorded for the case, or none.
//!
//! Left out: compiling and launching. Nothing is recorded yet, so every outcome is `unavailable`, and says so.

pub mod bundle;
pub mod child;
pub mod compile;
mod device;
mod driver;
mod executor;
pub mod job;
mod process;
mod wire;

pub use executor::{Executor, Options, Unavailable};
pub use wire::GpuHeader;

use conch_case::Case;
use conch_tile::DType;
use conch_tile::rules::{Rules, Version};
use conch_toolchain::ToolchainId;

use crate::engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation};
use crate::{Complaint, EngineId, Outcome};

/// `cuda@V`.
#[derive(Debug)]
pub struct Cuda {
    id: EngineId,
    capabilities: Capabilities,
}

impl Cuda {
    /// The compiler of a version.
    pub fn new(version: Version) -> Self {
        Self {
            id: EngineId::Cuda { version },
            capabilities: Capabilities {
                dtypes: DType::ALL.to_vec(),
                features: vec![
                    Feature::StridedArguments,
                    Feature::PointersInMemory,
                    Feature::Bf16Arithmetic,
                ],
                needs: Needs {
                    toolchain: Some(ToolchainId::of(version)),
                    gpu: true,
                },
            },
        }
    }
}

impl Engine for Cuda {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        Ok(Preparation::Ended(Outcome::Unavailable(Box::new(
            Complaint::new(
                "no-recording",
                format!(
                    "no GPU is used yet, and no outcome of {} is recorded for `{}`",
                    self.id, case.id
                ),
            ),
        ))))
    }
}
