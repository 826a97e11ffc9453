//! The result of compiling a case: kernels as machine code, and the launches that Triton's own launcher would have made,
//! with every parameter resolved. See [`crate::Compilers::compile`] for requests, [`crate::Cache`] for the files, and
//! `cerith-engine` for execution.
//!
//! One launch of a case may become any number of [`Invocation`]s: none (an empty grid), one, or several (an autotuned
//! kernel whose hooks launch others).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Machine code for a CUDA GPU of compute capability `major.minor`, written as Triton does: 80, 90, 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub u32);

impl Target {
    /// Compute capability 8.0: A100.
    pub const AMPERE: Self = Self(80);
    /// Compute capability 9.0: H100 and H200.
    pub const HOPPER: Self = Self(90);

    /// Whether a GPU of this capability can execute code compiled for `code`: PTX runs on every later GPU, but
    /// from 9.0 on Triton uses instructions of a single architecture (`sm_90a`).
    pub const fn can_execute(self, code: Self) -> bool {
        code.0 == self.0 || (code.0 < self.0 && code.0 < Self::HOPPER.0)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("sm_{}", self.0))
    }
}

/// The text is not a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a compute capability, such as sm_80 or sm_90")]
pub struct BadTarget;

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let digits = text.strip_prefix("sm_").ok_or(BadTarget)?;
        let number = digits.parse().map_err(|_| BadTarget)?;
        // Only texts that `Display` prints are accepted.
        if digits.starts_with(['0', '+']) || number < 10 {
            return Err(BadTarget);
        }
        Ok(Self(number))
    }
}

/// A stage after which the compiler stops. Its result is IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The frontend's result from the kernel's Python.
    Source,
    /// After the passes on Triton's dialect.
    Ttir,
    /// After the passes on the GPU dialect.
    Ttgir,
}

/// Everything that the launches of one case need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Distinct kernels, in the order in which they are first invoked.
    pub kernels: Vec<Arc<Kernel>>,
    /// The invocations, in order.
    pub invocations: Vec<Invocation>,
}

/// One compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Machine code, as `cuModuleLoadData` takes it; empty if the compiler stopped at a [`Stage`].
    pub cubin: Arc<[u8]>,
    /// The PTX; empty if not requested.
    pub ptx: String,
    /// Triton's IR: of the last stage, if one was requested ([`Stage`]), or before each pass; otherwise the TTIR. Empty if not
    /// requested.
    pub ttir: String,
    /// The parameters of its launch.
    pub metadata: Metadata,
}

/// The parameters of a kernel's launch, from the metadata that Triton's compiler writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Metadata {
    /// The function's name in the cubin.
    pub name: String,
    /// Warps of a program; a warp is 32 threads.
    pub num_warps: u32,
    /// Thread blocks of a cluster that share a program (`num_ctas`).
    pub num_ctas: u32,
    /// The arrangement of a cluster's thread blocks, if the compiler decides it (`cluster_dims`, up to 3.5); otherwise
    /// they lie along the first axis. Launchers use this and not `num_ctas`, except if `num_ctas` is 1.
    #[serde(default)]
    pub cluster_dims: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Global scratch memory (a separate parameter from 3.3), or `None` if the version has no such parameter.
    pub global_scratch: Option<Scratch>,
    /// Profile scratch memory (a separate parameter from 3.6), or `None` if the version has no such parameter.
    pub profile_scratch: Option<Scratch>,
    /// Whether all programs must be resident at once (`launch_cooperative_grid`).
    pub cooperative: bool,
    /// Programmatic dependent launch (`launch_pdl`).
    pub pdl: bool,
}

/// Memory that a kernel needs for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scratch {
    /// Bytes for each program and CTA; if 0, a null pointer is passed.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
}

/// One launch of a compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invocation {
    /// The case's launch it belongs to, from 0.
    pub launch: usize,
    /// Index into [`Compiled::kernels`].
    pub kernel: usize,
    /// Programs along each axis, each at least 1.
    pub grid: [u32; 3],
    /// The kernel's parameters in order, without scratch pointers.
    pub params: Vec<Param>,
    /// Memory that the host sets to zero before the launch, for hooks of a tuner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clears: Vec<Cleared>,
}

/// Bytes of a storage that the host sets to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cleared {
    /// Index of the storage.
    pub storage: usize,
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub len: usize,
}

/// One parameter of a compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Param {
    /// An address in a storage; 8 bytes.
    Address {
        /// Index of the storage.
        storage: usize,
        /// The byte offset; may be out of bounds.
        offset: i64,
    },
    /// A number, as the bytes that the kernel reads: little endian, 1, 2, 4 or 8 bytes, aligned to their size.
    /// (A null pointer is eight zeros.)
    Bytes(Vec<u8>),
    /// A tensor descriptor for the TMA unit, encoded with `cuTensorMapEncodeTiled` at launch; 128 bytes, aligned to 64.
    TensorMap(TensorMap),
}

/// The arguments of `cuTensorMapEncodeTiled`. Innermost dimension last, as Triton writes shapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TensorMap {
    /// Index of the storage.
    pub storage: usize,
    /// The byte offset at which the tensor begins.
    pub offset: i64,
    /// `CUtensorMapDataType`'s number.
    pub data_type: u32,
    /// Bytes of an element.
    pub element_size: u32,
    /// Elements along each dimension.
    pub shape: Vec<u64>,
    /// Strides in bytes; the last one is the element's size.
    pub strides: Vec<u64>,
    /// Elements of a block along each dimension, as the hardware loads it.
    pub block: Vec<u32>,
    /// `CUtensorMapSwizzle`'s number.
    pub swizzle: u32,
    /// `CUtensorMapInterleave`'s number.
    pub interleave: u32,
    /// `CUtensorMapFloatOOBfill`'s number: 0 zeros, 1 NaN.
    pub fill: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_as_it_is_printed() {
        let check = |text: &str, expected: Result<Target, BadTarget>| {
            assert_eq!(text.parse(), expected, "{text}");
            if let Ok(target) = expected {
                assert_eq!(target.to_string(), text);
            }
        };
        check("sm_80", Ok(Target(80)));
        check("sm_121", Ok(Target(121)));
        for text in [
            "",
            "80",
            "sm_",
            "sm_8",
            "sm_080",
            "sm_+80",
            "sm_80a",
            "sm_-80",
            "sm_4294967296",
        ] {
            check(text, Err(BadTarget));
        }
    }

    #[test]
    fn a_gpu_executes_what_is_compiled_for_an_earlier_one_up_to_ampere() {
        let check =
            |gpu, code, expected| assert_eq!(Target(gpu).can_execute(Target(code)), expected, "{gpu} {code}");
        check(90, 90, true);
        check(90, 80, true);
        check(100, 89, true);
        check(86, 80, true);
        check(80, 86, false);
        check(100, 90, false);
        check(90, 100, false);
    }
}
