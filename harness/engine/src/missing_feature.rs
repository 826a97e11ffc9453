//! Compilers' messages about what a GPU lacks: a program that needs a dtype or an instruction of another GPU is unsupported
//! there, not wrongly refused.
//!
//! Other messages of compilers are not covered.

/// Parts of a line that says it, all of which are in it, with the source.
const SAYINGS: [(&[&str], &str); 10] = [
    // `type fp8e5b16 not supported in this architecture`: `dtype.to_ir` of `triton/language/core.py`, from 3.2 on.
    (&["not supported in this architecture"], "triton/language/core.py"),
    // `fail to convert fp8e4b8 to ir type`: the end of `dtype.to_ir`, there and in `interpreter.py` up to 3.7. No CUDA GPU has the
    // two dtypes.
    (&["fail to convert fp8e4b8 to ir type"], "triton/language/core.py"),
    (
        &["fail to convert fp8e5b16 to ir type"],
        "triton/language/core.py",
    ),
    // `out of resource: shared memory, Required: 262144, Hardware limit: 166912.`: `OutOfResources` of
    // `triton/runtime/errors.py`, raised by `CompiledKernel._init_handles`.
    (&["out of resource", "Hardware limit"], "triton/runtime/errors.py"),
    // `fp8e4nv data type is not supported on CUDA arch < 89`: `semantic.py` of 3.0 and 3.1.
    (&["not supp", "on CUDA arch <"], "triton/language/semantic.py"),
    // `num_ctas > 1 requires NVIDIA SM90+ (Hopper). Current target is sm_80.`: `CUDABackend.parse_options`, from 3.5 on.
    (
        &["requires NVIDIA SM", "Current target is"],
        "triton/backends/nvidia/compiler.py",
    ),
    // `16-bit float types require native tma support`: `semantic.py`, from 3.4 on.
    (&["require native tma support"], "triton/language/semantic.py"),
    // `Feature '%s' not supported on .target '%s'`, `Instruction '%s' not supported on .target '%s'`: strings of the ptxas
    // of every wheel.
    (&["not supported on .target"], "ptxas"),
    // `Instruction '%s' requires .target %s or higher`, and the same of features and modifiers.
    (&["requires .target", "or higher"], "ptxas"),
    // `Dot op does not support fp8e4nv on CUDA arch < 90`: `semantic.py` of 3.0 and 3.1.
    (
        &["does not support", "on CUDA arch <"],
        "triton/language/semantic.py",
    ),
];

/// The line of a compiler's words that says what the target lacks, if one does.
pub(crate) fn find_missing_feature(words: &str) -> Option<&str> {
    words
        .lines()
        .find(|line| {
            SAYINGS
                .iter()
                .any(|(parts, _)| parts.iter().all(|part| line.contains(part)))
        })
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_lacks_is_no_refusal_of_the_program() {
        let check = |words: &str, expected: Option<&str>| {
            assert_eq!(find_missing_feature(words), expected, "{words}");
        };
        let fp8 = "type fp8e5b16 not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)";
        check(fp8, Some(fp8));
        check(
            "PTXAS error\n`ptxas` stderr:\nptxas /tmp/a.ptx, line 30; error   : Feature '.tile::gather4' not supported on .target \
             'sm_90a'\nptxas fatal : aborted",
            Some(
                "ptxas /tmp/a.ptx, line 30; error   : Feature '.tile::gather4' not supported on .target 'sm_90a'",
            ),
        );
        check(
            "Instruction 'tcgen05.mma' requires .target sm_100a or higher",
            Some("Instruction 'tcgen05.mma' requires .target sm_100a or higher"),
        );
        check(
            "fp8e4nv data type is not supported on CUDA arch < 89",
            Some("fp8e4nv data type is not supported on CUDA arch < 89"),
        );
        check(
            "Dot op does not support fp8e4nv on CUDA arch < 90",
            Some("Dot op does not support fp8e4nv on CUDA arch < 90"),
        );
        let cluster = "num_ctas > 1 requires NVIDIA SM90+ (Hopper). Current target is sm_80. This configuration will fail.";
        check(cluster, Some(cluster));
        check(
            "16-bit float types require native tma support",
            Some("16-bit float types require native tma support"),
        );
        let shared = "out of resource: shared memory, Required: 262144, Hardware limit: 166912. Reducing block sizes or \
                      `num_stages` may help.";
        check(shared, Some(shared));
        check(
            "fail to convert fp8e4b8 to ir type",
            Some("fail to convert fp8e4b8 to ir type"),
        );
        check("fail to convert fp8e4nv to ir type", None);
        check("PassManager::run failed", None);
        check("unsupported AST node type: Break", None);
        check(
            "ptxas a.ptx, line 3; error : Arguments mismatch for instruction 'mov'",
            None,
        );
    }
}
