//! Options that several commands have.

use std::path::PathBuf;

use cerith_engine::{EngineId, Ptx};
use cerith_report::KnownDetail;
use cerith_toolchain::ToolchainId;

/// The corpus, and the selected part of it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Areas, case files, ids or patterns. Without any, all cases.
    pub filters: Vec<String>,
    /// The folder of case files. Without it, the one that the first filter names, or the nearest.
    pub cases: Option<PathBuf>,
}

/// The selected engines.
#[derive(Clone, Debug, Default)]
pub struct EngineChoice {
    /// The engines. Without any, the default ones of the corpus.
    pub engines: Vec<EngineId>,
    /// Whether toolchains are only used, and not installed.
    pub offline: bool,
}

/// Output format, and the folder of reports.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Output format.
    pub format: PrintFormat,
    /// The folder of the reports. Without it, one beside the corpus.
    pub out: Option<PathBuf>,
    /// Whether a line is printed for every case.
    pub verbose: bool,
    /// How much is printed about known differences.
    pub known_detail: KnownDetail,
}

/// The format of a run's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    /// Text for people.
    Human,
    /// One event per line.
    Jsonl,
}

/// The part of Triton that versions are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TritonPart {
    /// Its interpreter.
    Interpret,
    /// Its compiler, on a GPU or from the records.
    Cuda,
    /// Its compiler, its PTX for `sm_80` executed here: also for kernels without a record.
    Ptx,
}

impl TritonPart {
    /// The engine of this kind from a toolchain.
    pub fn to_engine_id(self, toolchain: &ToolchainId) -> EngineId {
        match self {
            Self::Interpret => EngineId::interpreter(toolchain.clone()),
            Self::Cuda => EngineId::compiler(toolchain),
            Self::Ptx => EngineId::Ptx {
                toolchain: toolchain.compiler(),
                target: Ptx::TARGET,
            },
        }
    }
}
