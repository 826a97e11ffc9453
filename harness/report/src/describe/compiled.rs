//! The figures of a compiled case, as an event. See [`crate::bump`] for comparing two versions.

use cerith_case::Case;
use cerith_engine::stats::{self, CompileStats, KernelStats, Passed};

use crate::event::{Compiled, CompiledKernel, Scratch};

/// The figures of a compiled case.
pub fn to_compiled(case: &Case, made: &CompileStats) -> Compiled {
    Compiled {
        file: case.module.file.name.clone(),
        target: made.target.to_string(),
        seconds: (made.time.as_secs_f64() * 1e7).round() / 1e7,
        kernels: made.kernels.iter().map(to_compiled_kernel).collect(),
    }
}

fn to_compiled_kernel(made: &KernelStats) -> CompiledKernel {
    let how = &made.metadata;
    let code = made.code.unwrap_or_default();
    let scratch = |given: Option<stats::Scratch>| {
        given.map(|given| Scratch {
            size: given.size,
            align: given.align,
        })
    };
    let param = |passed: &Passed| match passed {
        Passed::Pointer => "pointer".to_owned(),
        Passed::Number(1) => "1 byte".to_owned(),
        Passed::Number(bytes) => format!("{bytes} bytes"),
        Passed::TensorMap => "tensor map".to_owned(),
    };
    CompiledKernel {
        name: how.name.clone(),
        launches: made.launches,
        params: made.params.iter().map(param).collect(),
        num_warps: how.num_warps,
        num_ctas: how.num_ctas,
        cluster: how.cluster_dims.map_or_else(Vec::new, |dims| dims.to_vec()),
        shared: how.shared,
        global_scratch: scratch(how.global_scratch),
        profile_scratch: scratch(how.profile_scratch),
        cooperative: how.cooperative,
        pdl: how.pdl,
        cubin: made.cubin,
        code: code.bytes,
        registers: code.registers,
        stack: code.stack,
    }
}
