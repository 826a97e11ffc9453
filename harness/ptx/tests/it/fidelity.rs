//! The instructions that a launch reports as executed, and the fidelity of instructions.

use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, ExecutedInstructions, Fidelity, Finished, Kernel, Launch, LaunchOutcome, parse};

fn launch(body: &str) -> Finished {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n.reg .pred %p<4>;\n\
         .reg .f32 %f<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\nld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nmov.f32 %f0, 0f3f800000;\nmov.f32 %f1, %f0;\n{body}\n\
         st.global.f32 [%d0], %f1;\nret;\n}}"
    );
    let kernel = Kernel::new(&Arc::new(parse(&text).expect("PTX")), "k").expect("a kernel");
    let mut storages = Storages::new();
    storages.add("out", 128).expect("it fits");
    let mut memory = Memory::new(&storages, Vec::new());
    let parameters = memory.address(StorageId(0)).to_le_bytes();
    let launch = Launch {
        grid: [1; 3],
        threads: [32, 1, 1],
        cluster: [1; 3],
        shared: 0,
        parameters: &parameters,
        scratch: 0,
    };
    match kernel.launch(&launch, &mut memory, &Config::default()) {
        LaunchOutcome::Finished(finished) => finished,
        other => panic!("{other:?}"),
    }
}

fn check(body: &str, bounded: &[&str], modelled: &[&str]) -> ExecutedInstructions {
    let executed = launch(body).executed;
    assert_eq!(executed.bounded.iter().collect::<Vec<_>>(), bounded, "{body}");
    assert_eq!(executed.modelled.iter().collect::<Vec<_>>(), modelled, "{body}");
    executed
}

#[test]
fn only_executed_instructions_are_reported() {
    let executed = check("ex2.approx.ftz.f32 %f1, %f0;", &["ex2.approx.ftz.f32"], &[]);
    let exact: Vec<&str> = executed.exact.iter().map(String::as_str).collect();
    assert_eq!(exact, ["add", "ld", "mov", "mul", "ret", "st"]);
    // No lane reaches it, or its predicate is false.
    check("bra after;\nex2.approx.f32 %f1, %f0;\nafter:", &[], &[]);
    let guarded =
        "setp.eq.u32 %p1, %r0, 99;\n@%p1 lg2.approx.f32 %f1, %f0;\n@!%p1 div.full.f32 %f1, %f0, %f0;";
    check(guarded, &["div.full.f32"], &[]);
    let scheduled =
        "activemask.b32 %r1;\nsetp.eq.u32 %p1, %r0, 7;\n@%p1 sqrt.approx.f32 %f1, %f0;\ngriddepcontrol.wait;";
    check(
        scheduled,
        &["sqrt.approx.f32"],
        &["activemask.b32", "griddepcontrol.wait"],
    );
}

#[test]
fn sums_of_floats_are_modelled_and_sums_of_integers_exact() {
    let check = |instruction: &str, expected: Fidelity| {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n\
             {instruction};\nret;\n}}"
        );
        let module = parse(&text).expect("PTX");
        let instruction = &module.functions[0].body[0];
        assert_eq!(Fidelity::from_instruction(instruction), expected, "{text}");
    };
    let operands = "{%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1, %r2, %r3}";
    let floats = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    let integers = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
    check(&format!("{floats} {operands}"), Fidelity::Modelled);
    check(&format!("{integers} {operands}"), Fidelity::Exact);
    check("wgmma.fence.sync.aligned", Fidelity::Exact);
    check("fma.rn.f32 %f0, %f1, %f2, %f3", Fidelity::Exact);
    check("rcp.approx.ftz.f32 %f0, %f1", Fidelity::Bounded);
}
