//! Figures of the code that compilers make from a case. See [`crate::describe`] for making them, and [`crate::bump`]
//! for comparing two versions.

use serde::{Deserialize, Serialize};

use super::skip::is_default;

/// The figures of a case's compiled code, ahead of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compiled {
    /// The file that the kernels are in.
    pub file: String,
    /// For what GPU: `sm_90`.
    pub target: String,
    /// Seconds in the compiler's process, with loading and tuning, when it was compiled: that may have been in another run.
    pub seconds: f64,
    /// The kernels, in the order in which they are first launched. The same function with other constants is another kernel.
    pub kernels: Vec<CompiledKernel>,
}

/// A compiled kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompiledKernel {
    /// The function's name in the machine code.
    pub name: String,
    /// How often it is launched.
    pub launches: u64,
    /// The parameters that remain after constants are folded: `pointer`, `4 bytes`, `tensor map`. Scratch memory is not
    /// among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<String>,
    /// Warps of a program.
    pub num_warps: u32,
    /// Thread blocks that share a program.
    pub num_ctas: u32,
    /// The shape of the cluster, where the compiler decides it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster: Vec<u32>,
    /// Bytes of dynamic shared memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared: u32,
    /// Global scratch memory, where the version has a parameter for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_scratch: Option<Scratch>,
    /// Profile scratch memory, where the version has a parameter for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_scratch: Option<Scratch>,
    /// Whether all programs must be resident at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cooperative: bool,
    /// Whether it is launched with programmatic dependent launch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pdl: bool,
    /// Bytes of the file with the machine code, debug information included.
    pub cubin: u64,
    /// Bytes of instructions; left out, as the next two, where the file is not read.
    #[serde(default, skip_serializing_if = "is_default")]
    pub code: u64,
    /// Registers of a thread.
    #[serde(default, skip_serializing_if = "is_default")]
    pub registers: u32,
    /// Bytes of local memory of a thread, which is where registers are spilled to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stack: u32,
}

/// Memory that a kernel needs for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// Bytes for each program and thread block; 0 where it needs none.
    pub size: u64,
    /// Their alignment in bytes.
    pub align: u64,
}
