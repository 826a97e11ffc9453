//! Launches with any number of threads have the same result.

use std::sync::Arc;

use cerith_memory::{Memory, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, Schedule, parse};

/// Programs of a launch. Each has 64 threads.
const PROGRAMS: u32 = 13;
/// Bytes of the storage.
const SIZE: usize = 8192;

/// A kernel. `%word` is the address of the thread's word, `%out` the storage, `%program` the block, `%own` the number of the thread in
/// the grid.
fn kernel_text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.global .u32 counter;\n.extern .shared .align 128 .b8 bytes[];\n\
         .visible .entry k(.param .u64 out) {{\n.reg .pred %p<4>;\n.reg .b32 %r<8>, %own, %program, %at;\n\
         .reg .b64 %d<8>, %out, %word;\nld.param.u64 %out, [out];\nmov.u32 %program, %ctaid.x;\nmov.u32 %r0, %tid.x;\n\
         mad.lo.u32 %own, %program, 64, %r0;\nmul.wide.u32 %d0, %own, 4;\nadd.u64 %word, %out, %d0;\nmov.u32 %at, bytes;\n\
         shl.b32 %r1, %r0, 2;\nadd.u32 %at, %at, %r1;\n{body}\nret;\n}}"
    )
}

/// The outcome and the storage.
fn launch(kernel: &Kernel, threads: u32, schedule: Schedule) -> (LaunchOutcome, Vec<u8>) {
    let mut storages = Storages::new();
    let out = storages.add("out", SIZE as u64).expect("it fits");
    let content: Vec<u8> = (0..SIZE as u32 / 4).flat_map(u32::to_le_bytes).collect();
    storages.write(out, 0, &content);
    let mut memory = Memory::new(&storages, Vec::new());
    let parameters = memory.address(out).to_le_bytes();
    let launch = Launch {
        grid: [PROGRAMS, 1, 1],
        threads: [64, 1, 1],
        cluster: [1; 3],
        shared: 512,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        threads,
        schedule,
        share_work: 0,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    (outcome, memory.bytes(out).to_vec())
}

/// Checks that a program has one result with any number of threads. Returns it.
fn check(body: &str) -> (LaunchOutcome, Vec<u32>) {
    let text = kernel_text(body);
    let kernel = Kernel::new(&Arc::new(parse(&text).expect("PTX")), "k").expect("a kernel");
    for schedule in [Schedule::Latest, Schedule::Random(7)] {
        let alone = launch(&kernel, 1, schedule);
        for threads in [2, 3, 12, 64] {
            assert_eq!(
                launch(&kernel, threads, schedule),
                alone,
                "{threads} threads:\n{text}"
            );
        }
    }
    let (outcome, bytes) = launch(&kernel, 4, Schedule::Latest);
    let words = bytes.as_chunks::<4>().0;
    (
        outcome,
        words.iter().map(|&word| u32::from_le_bytes(word)).collect(),
    )
}

#[test]
fn programs_that_keep_apart() {
    let (outcome, words) =
        check("ld.global.u32 %r2, [%word];\nmul.lo.u32 %r2, %r2, 3;\nst.global.u32 [%word], %r2;");
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    let expected: Vec<u32> = (0..64 * PROGRAMS).map(|at| at * 3).collect();
    assert_eq!(words[..expected.len()], expected);
}

#[test]
fn programs_that_read_what_earlier_ones_write() {
    // Each program adds one to the word of the program before it.
    let body = "setp.eq.u32 %p1, %program, 0;\n@%p1 ret;\nld.global.u32 %r2, [%word+-256];\nadd.u32 %r2, %r2, 1;\n\
                st.global.u32 [%word], %r2;";
    let (_, words) = check(body);
    assert_eq!(words[64 * (PROGRAMS as usize - 1)], PROGRAMS - 1);
}

#[test]
fn programs_that_write_the_same_bytes() {
    let (_, words) = check("st.global.u32 [%out+4096], %program;");
    assert_eq!(words[1024], PROGRAMS - 1);
    // Halves of one word.
    let (_, words) =
        check("mul.wide.u32 %d1, %program, 2;\nadd.u64 %d1, %d1, %out;\nst.global.u16 [%d1], %program;");
    assert_eq!(words[..2], [0x1_0000, 0x3_0002]);
}

#[test]
fn programs_that_take_turns_by_an_atomic() {
    let body = "setp.eq.u32 %p1, %r0, 0;\n@!%p1 ret;\natom.global.add.u32 %r2, [%out+8000], 1;\nst.global.u32 [%word], %r2;";
    let (_, words) = check(body);
    assert_eq!(words[2000], 2000 + PROGRAMS);
    assert_eq!(words[64 * 5], 2005);
}

#[test]
fn a_variable_of_the_module() {
    let body = "setp.eq.u32 %p1, %r0, 0;\n@!%p1 ret;\natom.global.add.u32 %r2, [counter], 1;\nst.global.u32 [%word], %r2;";
    let (_, words) = check(body);
    assert_eq!(words[64 * 9], 9);
}

#[test]
fn a_trap_of_one_program() {
    let body = "st.global.u32 [%word], %own;\nsetp.eq.u32 %p1, %program, 7;\n@%p1 trap;\nst.global.u32 [%word], %program;";
    let (outcome, words) = check(body);
    assert!(matches!(outcome, LaunchOutcome::Trapped(_)), "{outcome:?}");
    // Blocks after the trap did not run.
    assert_eq!(words[64 * 8..64 * 9], (512..576).collect::<Vec<u32>>());
}

#[test]
fn findings_of_several_programs() {
    // Each program has a race in shared memory, the odd ones at another instruction.
    let body = "setp.eq.u32 %p1, %program, 3;\nst.shared.u32 [%at], %own;\n@%p1 ld.shared.u32 %r2, [%at+128];\n\
                @!%p1 ld.shared.u32 %r2, [%at+64];\nst.global.u32 [%word], %own;";
    let (outcome, _) = check(body);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(finished.findings.len() > 1, "{:?}", finished.findings);
}

#[test]
fn an_uninitialised_register_keeps_the_value_of_the_block_before() {
    let (outcome, _) = check("st.global.u32 [%word], %r5;\nmov.u32 %r5, %own;");
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(finished.findings.len(), 1);
}

#[test]
fn a_race_of_warps_in_global_memory() {
    let body = "st.global.u32 [%out+4096], %r0;\nbar.sync 0;\nld.global.u32 %r2, [%out+4096];\nmul.wide.u32 %d1, %program, 4;\n\
                add.u64 %d1, %d1, %out;\nst.global.u32 [%d1], %r2;";
    check(body);
}
