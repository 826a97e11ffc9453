//! The stages of Triton's compiler, in order. See `cerith-verdict` for finding the wrong one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A stage of Triton's compiler, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompilerStage {
    /// Python to TTIR; `ttir@V:source` executes what it leaves.
    Frontend,
    /// The passes on TTIR; `ttir@V`.
    Ttir,
    /// To TTGIR, and the passes on it; `ttgir@V`.
    Ttgir,
    /// To LLVM's IR, through LLVM, to PTX; `ptx@V`.
    Llvm,
    /// NVIDIA's assembler, and the GPU; `cuda@V`.
    Ptxas,
}

impl CompilerStage {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Frontend, Self::Ttir, Self::Ttgir, Self::Llvm, Self::Ptxas];

    /// The word for it in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frontend => "frontend",
            Self::Ttir => "ttir",
            Self::Ttgir => "ttgir",
            Self::Llvm => "llvm",
            Self::Ptxas => "ptxas",
        }
    }

    /// A description, as the subject of a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Frontend => "the frontend",
            Self::Ttir => "the TTIR passes",
            Self::Ttgir => "the TTGIR passes",
            Self::Llvm => "LLVM and below, to PTX",
            Self::Ptxas => "ptxas or the hardware",
        }
    }
}

impl fmt::Display for CompilerStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
