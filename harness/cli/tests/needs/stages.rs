//! Which stage and which pass of Triton's compiler is named for known bugs, without a GPU. These need installed Tritons.

use std::path::Path;
use std::process::Command;

use crate::command_output::CommandOutput;
use cerith_needs::{NEWEST, Need, Tests, named};

/// `explain --stages --pass` of a case of the corpus says all of this.
#[track_caller]
fn check(case: &str, engine: &str, says: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_cerith"))
        .args(["explain", case, "--engine", "reference", "--engine", engine])
        .args(["--stages", "--pass", "--offline"])
        .current_dir(root)
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env("CI", "1")
        .output()
        .expect("cerith starts");
    let done = CommandOutput::from_output(&output);
    let shown = format!("{case}\n--- out\n{}\n--- err\n{}", done.out, done.err);
    for part in says {
        assert!(done.out.contains(part), "no {part:?} in {shown}");
    }
}

fn a_stage_and_a_pass_are_named_for_wrong_results() {
    let pipelined = [
        "wrong: the TTGIR passes",
        "right before TritonGPUPipeline, wrong after it",
    ];
    check("control_flow/pipelined_store", "cuda@3.9.0", &pipelined);
    check("control_flow/pipelined_store", "ptx@3.9.0", &pipelined);
    check(
        "math/divide_every:dtype=f64,f=fdiv_ieee",
        "cuda@3.9.0",
        &["wrong: LLVM and below, to PTX"],
    );
}

/// The pass sets `allow_reorder`, which changes nothing as long as the lanes come in their own order.
fn a_pass_that_gives_up_an_order_is_named() {
    check(
        "reduction/place_of_reshaped:f=largest,shape=16x16",
        "cuda@3.9.0",
        &[
            "wrong: the TTIR passes",
            "right before TritonCombineOps, wrong after it",
            "allow_reorder",
        ],
    );
}

/// The PTX for Hopper is executed, so that the assembler is a stage of its own.
fn ptx_for_hopper_tells_llvm_from_ptxas() {
    check(
        "dot/wraps:how=added,block=small,end=greatest",
        "cuda@3.9.0",
        &[
            "llvm      ptx@3.9.0:sm_90a   wrong",
            "wrong: LLVM and below, to PTX\n",
        ],
    );
}

fn reductions_of_the_tma_unit_are_executed() {
    check(
        "descriptor/atomic:how=add_f16",
        "cuda@3.9.0",
        &[
            "ttgir     ttgir@3.9.0        right",
            "llvm      ptx@3.9.0:sm_90a   wrong         12 elements differ",
            "ptxas     cuda@3.9.0         wrong         12 elements differ",
        ],
    );
}

fn a_compiler_that_dies_is_wrong_where_it_dies() {
    check(
        "block_pointer/calls:backwards=0",
        "cuda@3.2.0",
        &[
            "wrong: the TTIR passes",
            "TritonRewriteTensorPointer fails (pass",
            "the IR before it:",
            "tt.make_tensor_ptr",
        ],
    );
    check(
        "dtype/fp8_to_fp8:pair=fp8e4nv+fp8e5",
        "cuda@3.2.0",
        &["wrong: LLVM and below, to PTX\n"],
    );
}

/// A module that MLIR's verifier rejects is a bug of the frontend, and is not the same as a program that the reference rejects.
fn invalid_ir_is_the_frontends() {
    check("control_flow/if_block", "cuda@3.2.0", &["wrong: the frontend\n"]);
}

pub fn tests() -> Tests {
    Tests::new()
        .with_toolchain(
            NEWEST,
            &named![
                a_stage_and_a_pass_are_named_for_wrong_results,
                a_pass_that_gives_up_an_order_is_named,
                ptx_for_hopper_tells_llvm_from_ptxas,
                reductions_of_the_tma_unit_are_executed
            ],
        )
        .with_needs(
            &[Need::Toolchain("3.2.0")],
            &named![
                a_compiler_that_dies_is_wrong_where_it_dies,
                invalid_ir_is_the_frontends
            ],
        )
}
