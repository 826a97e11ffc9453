//! Small programs whose results are worked out by hand: control flow, calls, barriers, what lanes exchange, traps.

use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, FindingKind, Kernel, Launch, LaunchOutcome, TrapKind, parse};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// Launches the only kernel of a module with one storage of so many words; the outcome and the words.
fn launch_module(text: &str, words: usize, threads: u32, config: &Config<'_>) -> (LaunchOutcome, Vec<u32>) {
    let (outcome, bytes) = launched_on(&vec![0; words * 4], text, threads, config);
    let words = bytes.as_chunks::<4>().0;
    (
        outcome,
        words.iter().map(|&word| u32::from_le_bytes(word)).collect(),
    )
}

/// Launches the only kernel of a module with one storage; the outcome and what the storage holds then.
fn launched_on(content: &[u8], text: &str, threads: u32, config: &Config<'_>) -> (LaunchOutcome, Vec<u8>) {
    let module = Arc::new(parse(&format!("{HEAD}{text}")).expect("PTX"));
    let kernel = Kernel::new(&module, "k").expect("a kernel");
    let mut storages = Storages::new();
    let out = storages.add("out", content.len() as u64).expect("it fits");
    storages.write(out, 0, content);
    let mut memory = Memory::new(&storages, Vec::new());
    let parameters = memory.address(StorageId(0)).to_le_bytes();
    let launch = Launch {
        grid: [1; 3],
        threads: [threads, 1, 1],
        cluster: [1; 3],
        shared: 256,
        parameters: &parameters,
        scratch: 0,
    };
    let outcome = kernel.launch(&launch, &mut memory, config);
    (outcome, memory.bytes(out).to_vec())
}

/// A kernel whose body leaves `%result` of each thread in its word.
fn kernel_text(declarations: &str, body: &str) -> String {
    format!(
        "{declarations}
        .extern .shared .align 16 .b8 dynamic[];
        .visible .entry k(.param .u64 out) {{
            .reg .pred %p<4>;
            .reg .b32 %r<8>, %result, %own, %at;
            .reg .b64 %d<4>, %out;
            ld.param.u64 %out, [out];
            mov.u32 %own, %tid.x;
            mul.wide.u32 %d0, %own, 4;
            add.u64 %out, %out, %d0;
            mov.u32 %at, dynamic;
            shl.b32 %r0, %own, 2;
            add.u32 %at, %at, %r0;
            {body}
            st.global.u32 [%out], %result;
            ret;
        }}"
    )
}

fn run_body(declarations: &str, body: &str, threads: u32) -> Vec<u32> {
    let text = kernel_text(declarations, body);
    let (outcome, words) = launch_module(&text, threads as usize, threads, &Config::default());
    match outcome {
        LaunchOutcome::Finished(finished) => {
            assert_eq!(finished.findings, Vec::new());
            words
        }
        other => panic!("{other:?}"),
    }
}

fn trap(declarations: &str, body: &str, threads: u32) -> TrapKind {
    let text = kernel_text(declarations, body);
    match launch_module(&text, threads as usize, threads, &Config::default()).0 {
        LaunchOutcome::Trapped(trap) => trap.kind,
        other => panic!("{other:?}"),
    }
}

fn find_hazards(body: &str, threads: u32) -> Vec<FindingKind> {
    let text = kernel_text("", body);
    match launch_module(&text, threads as usize, threads, &Config::default()).0 {
        LaunchOutcome::Finished(finished) => finished.findings.iter().map(|finding| finding.kind).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lanes_that_part_meet_again() {
    // Each thread counts down from its number; then all of a warp are there for the shuffle.
    let body = "
            mov.u32 %r1, %own;
            mov.u32 %result, 0;
        again:
            setp.eq.u32 %p0, %r1, 0;
            @%p0 bra done;
            add.u32 %result, %result, %r1;
            sub.u32 %r1, %r1, 1;
            bra again;
        done:
            shfl.sync.bfly.b32 %result, %result, 1, 31, -1;";
    let expected: Vec<u32> = (0..64u32)
        .map(|tid| tid ^ 1)
        .map(|tid| tid * (tid + 1) / 2)
        .collect();
    assert_eq!(run_body("", body, 64), expected);
}

#[test]
fn a_product_of_24_bits_has_48() {
    let body = |how: &str| {
        format!(
            "
            mov.u32 %r1, 0xff800001;
            mov.u32 %r2, 0x12345678;
            mul24.{how} %result, %r1, %r2;"
        )
    };
    let (low, high) = (
        0x80_0001_u64 * 0x34_5678,
        (0x80_0001_i64 - 0x100_0000) * 0x34_5678,
    );
    assert_eq!(run_body("", &body("lo.u32"), 1), [low as u32]);
    assert_eq!(run_body("", &body("hi.u32"), 1), [(low >> 16) as u32]);
    assert_eq!(run_body("", &body("lo.s32"), 1), [high as u32]);
    assert_eq!(run_body("", &body("hi.s32"), 1), [(high >> 16) as u32]);
}

#[test]
fn a_number_may_end_with_its_point() {
    let body = "
            .reg .f32 %f0;
            add.f32 %f0, 0f3F800000, 20.;
            mov.b32 %result, %f0;";
    assert_eq!(run_body("", body, 1), [21f32.to_bits()]);
}

#[test]
fn lanes_take_the_target_that_they_count_and_meet_again() {
    let body = "
            and.b32 %r1, %own, 3;
            targets: .branchtargets
                first,
                second,
                third;
            setp.gt.u32 %p0, %r1, 2;
            @%p0 bra none;
            brx.idx %r1, targets;
        first:
            mov.u32 %result, 10;
            bra.uni done;
        second:
            mov.u32 %result, 20;
            bra.uni done;
        third:
            mov.u32 %result, 30;
            bra.uni done;
        none:
            mov.u32 %result, 40;
        done:
            shfl.sync.bfly.b32 %result, %result, 1, 31, -1;";
    let expected: Vec<u32> = (0..64u32).map(|tid| ((tid ^ 1) & 3) * 10 + 10).collect();
    assert_eq!(run_body("", body, 64), expected);
}

#[test]
fn a_target_beyond_the_last_is_none() {
    let body = "
            mov.u32 %result, 0;
            targets: .branchtargets first;
            brx.idx.uni %own, targets;
        first:";
    assert_eq!(run_body("", body, 1), [0]);
    assert_eq!(trap("", body, 2), TrapKind::NoStep);
}

#[test]
fn a_call_takes_and_gives_and_calls_on() {
    let declarations = "
        .func (.param .b32 back) twice(.param .b32 x) {
            .reg .b32 %r<2>;
            ld.param.b32 %r0, [x];
            add.u32 %r1, %r0, %r0;
            st.param.b32 [back], %r1;
            ret;
        }
        .func (.param .b32 back) odd(.param .b32 x) {
            .reg .b32 %r<3>;
            .reg .pred %p<1>;
            ld.param.b32 %r0, [x];
            setp.gt.u32 %p0, %r0, 3;
            @%p0 ret;
            {
                .param .b32 a;
                .param .b32 b;
                st.param.b32 [a], %r0;
                call.uni (b), twice, (a);
                ld.param.b32 %r1, [b];
            }
            add.u32 %r2, %r1, 1;
            st.param.b32 [back], %r2;
            ret;
        }";
    let body = "
            {
                .param .b32 a;
                .param .b32 b;
                st.param.b32 [b], 77;
                and.b32 %r1, %own, 3;
                st.param.b32 [a], %r1;
                call (b), odd, (a);
                ld.param.b32 %result, [b];
            }";
    let expected: Vec<u32> = (0..32u32).map(|tid| (tid & 3) * 2 + 1).collect();
    assert_eq!(run_body(declarations, body, 32), expected);
}

#[test]
fn the_address_of_a_parameter_may_be_in_a_register() {
    let body = "
            mov.b64 %d1, out;
            ld.param.u64 %d2, [%d1];
            add.u64 %d2, %d2, %d0;
            setp.eq.u64 %p0, %d2, %out;
            selp.b32 %result, 1, 0, %p0;";
    assert_eq!(run_body("", body, 32), [1; 32]);
}

#[test]
fn a_function_that_may_call_itself_is_not_supported() {
    let text = format!(
        "{HEAD}.func f() {{ call.uni f; ret; }}
         .visible .entry k() {{ call.uni f; ret; }}"
    );
    let module = Arc::new(parse(&text).expect("PTX"));
    let error = Kernel::new(&module, "k").expect_err("recursion");
    assert_eq!(
        error.to_string(),
        "`call.uni` in line 4 of the PTX is not supported"
    );
}

#[test]
fn warps_exchange_behind_a_barrier() {
    let body = "
            st.shared.u32 [%at], %own;
            bar.sync 0;
            xor.b32 %r1, %r0, 128;
            mov.u32 %r2, dynamic;
            add.u32 %r2, %r2, %r1;
            ld.shared.u32 %result, [%r2];";
    let expected: Vec<u32> = (0..64u32).map(|tid| tid ^ 32).collect();
    assert_eq!(run_body("", body, 64), expected);
}

#[test]
fn a_missing_barrier_is_a_race() {
    let body = "
            st.shared.u32 [%at], %own;
            xor.b32 %r1, %r0, 128;
            mov.u32 %r2, dynamic;
            add.u32 %r2, %r2, %r1;
            ld.shared.u32 %result, [%r2];";
    // The first warp reads uninitialised memory; the second reads the first warp's values.
    assert_eq!(
        find_hazards(body, 64),
        [
            FindingKind::WriteAfterRead,
            FindingKind::ReadAfterWrite,
            FindingKind::Uninitialised
        ]
    );
    // Neither equal values from both warps nor accesses separated by a barrier of these two warps are a race.
    let same = "
            mov.u32 %r1, dynamic;
            mov.u32 %result, 5;
            st.shared.u32 [%r1], %result;";
    assert_eq!(find_hazards(same, 64), []);
    let named = "
            st.shared.u32 [%at], %own;
            bar.sync 3, 64;
            xor.b32 %r1, %r0, 128;
            mov.u32 %r2, dynamic;
            add.u32 %r2, %r2, %r1;
            ld.shared.u32 %result, [%r2];";
    assert_eq!(find_hazards(named, 64), []);
}

/// Each thread reads the word of the other warp's thread, and then writes its own.
const NEIGHBOUR: &str = "
            xor.b32 %r1, %own, 32;
            mul.wide.u32 %d1, %r1, 4;
            sub.u64 %d2, %out, %d0;
            add.u64 %d2, %d2, %d1;
            ld.global.u32 %result, [%d2];
            add.u32 %result, %result, 1;";

#[test]
fn a_race_in_global_memory_counts_if_the_result_depends_on_it() {
    let raced = trap("", NEIGHBOUR, 64);
    assert_eq!(raced.code(), "global-race");
    assert!(
        raced
            .to_string()
            .starts_with("a data race: a read of bytes in global memory that another warp wrote"),
        "{raced}"
    );
    // There is no race with a barrier between them, in one warp, or if the value that was read is unused.
    assert_eq!(run_body("", &format!("{NEIGHBOUR} bar.sync 0;"), 64), [1; 64]);
    assert_eq!(
        run_body("", &NEIGHBOUR.replace("%own, 32", "%own, 1"), 32),
        [1; 32]
    );
    assert_eq!(
        run_body("", &format!("{NEIGHBOUR} mov.u32 %result, 7;"), 64),
        [7; 64]
    );
}

#[test]
fn a_trap_behind_a_race_is_the_races() {
    // All threads read a flag that the first one sets: later warps trap.
    let body = "
            sub.u64 %d1, %out, %d0;
            ld.global.u32 %result, [%d1];
            setp.eq.u32 %p0, %own, 0;
            mov.u32 %r1, 1;
            @%p0 st.global.u32 [%d1], %r1;
            setp.ne.u32 %p1, %result, 0;
            @%p1 trap;
            mov.u32 %result, 1;";
    assert_eq!(trap("", body, 64).code(), "global-race");
    assert_eq!(trap("", "trap;", 64).code(), "trap");
}

#[test]
fn an_order_of_atomics_is_no_race() {
    let body = "
            sub.u64 %d1, %out, %d0;
            atom.global.add.u32 %result, [%d1], 0;
            ld.global.u32 %r1, [%d1];
            mov.u32 %result, 3;";
    assert_eq!(run_body("", body, 64), [3; 64]);
}

#[test]
fn a_copy_lands_when_it_is_waited_for() {
    let copy = "
            st.global.u32 [%out], %own;
            cp.async.ca.shared.global [%at], [%out], 4;
            cp.async.commit_group;";
    let waited =
        format!("{copy} cp.async.wait_group 0; ld.shared.u32 %result, [%at]; add.u32 %result, %result, 1;");
    let expected: Vec<u32> = (1..=32).collect();
    assert_eq!(run_body("", &waited, 32), expected);
    let early = format!("{copy} cp.async.wait_group 1; ld.shared.u32 %result, [%at];");
    assert_eq!(find_hazards(&early, 32), [FindingKind::InFlight]);
    // Fewer bytes are read than are written: the rest is zeros.
    let short = "
            mov.u32 %r1, 0x01020304;
            st.global.u32 [%out], %r1;
            mov.u32 %r2, 2;
            cp.async.ca.shared.global [%at], [%out], 4, %r2;
            cp.async.wait_all;
            ld.shared.u32 %result, [%at];";
    assert_eq!(run_body("", short, 32), [0x0304; 32]);
}

#[test]
fn what_nothing_was_written_to_is_found_where_it_counts() {
    assert_eq!(
        find_hazards("add.u32 %result, %r3, 1;", 32),
        [FindingKind::Uninitialised]
    );
    // No bit of it is in the result.
    assert_eq!(find_hazards("and.b32 %result, %r3, 0;", 32), []);
    assert_eq!(
        find_hazards("ld.shared.u32 %result, [%at];", 32),
        [FindingKind::Uninitialised]
    );
}

#[test]
fn a_register_may_be_called_as_a_run_of_registers_is() {
    // Triton 3.6 writes this where it casts bf16 to fp8e5.
    let body = "
        { .reg .b32 sign, sign<2>;
          mov.u32 sign0, 1; mov.u32 sign1, 20; add.u32 sign, sign0, sign1; mov.u32 %result, sign; }";
    assert_eq!(run_body("", body, 1), [21]);
}

#[test]
fn the_word_of_an_atomic_may_reach_behind_a_storage() {
    // How LLVM adds to 16 bits: it loads the word around them, and compares and swaps that.
    let body = |swapped: &str| {
        format!(
            ".visible .entry k(.param .u64 out) {{
                .reg .b32 %r<4>;
                .reg .b64 %d<2>;
                ld.param.u64 %d0, [out];
                add.u64 %d1, %d0, 4;
                ld.global.b32 %r0, [%d0];
                and.b32 %r1, %r0, 0xffff0000;
                or.b32 %r1, %r1, 7;
                atom.acq_rel.gpu.global.cas.b32 %r2, [{swapped}], %r0, %r1;
                ret;
            }}"
        )
    };
    let (outcome, bytes) = launched_on(&[5, 0], &body("%d0"), 1, &Config::default());
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    assert_eq!(bytes, [7, 0]);
    // Any other load of a word is one too long.
    let (outcome, _) = launched_on(&[5, 0], &body("%d1"), 1, &Config::default());
    assert!(
        matches!(&outcome, LaunchOutcome::Trapped(trap) if matches!(trap.kind, TrapKind::OutOfBounds { .. })),
        "{outcome:?}"
    );
}

#[test]
fn threads_that_cannot_go_on_are_trapped() {
    let some =
        "setp.lt.u32 %p0, %own, 5; @%p0 bra here; bra there; here: bar.sync 0; there: mov.u32 %result, 0;";
    assert!(matches!(
        trap("", some, 32),
        TrapKind::DivergentBarrier {
            arrived: 0x1f,
            running: u32::MAX
        }
    ));
    // A group at a barrier waits for lanes that are later in the text and on their way to it.
    let late = "setp.lt.u32 %p0, %own, 5; mov.u32 %result, 1; @%p0 bra late; here: bar.sync 0; \
                shfl.sync.bfly.b32 %r1, %result, 1, 31, -1; add.u32 %result, %result, %r1; bra there; \
                late: mov.u32 %result, 7; bra here; there: mov.u32 %r1, 0;";
    assert_eq!(run_body("", late, 32)[..8], [14, 14, 14, 14, 8, 8, 2, 2]);
    let never = "setp.lt.u32 %p0, %own, 5; @%p0 bra late; bar.sync 0; bra there; late: bar.sync 0; there: mov.u32 %result, 0;";
    assert!(matches!(
        trap("", never, 32),
        TrapKind::DivergentBarrier {
            running: u32::MAX,
            ..
        }
    ));
    let apart = "setp.lt.u32 %p0, %own, 32; @%p0 bra here; bar.sync 1; bra there; here: bar.sync 2; there: mov.u32 %result, 0;";
    assert_eq!(
        trap("", apart, 64).to_string(),
        "deadlock: warp 0 waits for barrier 2, which 32 of 64 threads reached with `bar.sync` in line 17 of the PTX; warp 1 waits \
         for barrier 1, which 32 of 64 threads reached with `bar.sync` in line 17 of the PTX"
    );
    let inactive = "setp.lt.u32 %p0, %own, 5; @%p0 shfl.sync.bfly.b32 %result, %own, 1, 31, -1;";
    assert!(matches!(
        trap("", inactive, 32),
        TrapKind::Inactive { arrived: 0x1f, .. }
    ));
    assert_eq!(trap("", "trap; mov.u32 %result, 0;", 32), TrapKind::Trap);
    assert!(matches!(
        trap("", "add.u64 %d1, %out, 2; ld.global.u32 %result, [%d1];", 32),
        TrapKind::Misaligned { align: 4, .. }
    ));
    assert!(matches!(
        trap("", "ld.global.u32 %result, [%out+4];", 32),
        TrapKind::OutOfBounds { .. }
    ));
    assert!(matches!(
        trap("", "mov.u32 %r1, 256; ld.shared.u32 %result, [%r1];", 32),
        TrapKind::OutsideOf {
            offset: 256,
            size: 256,
            ..
        }
    ));
    assert_eq!(
        trap("", "st.param.u32 [out], %own; mov.u32 %result, 0;", 32),
        TrapKind::ReadOnly {
            memory: "the parameters"
        }
    );
}

#[test]
fn asserts_and_prints_are_told() {
    let declarations = r"
        .extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
        .extern .func (.param .b32 x) vprintf(.param .b64 a, .param .b64 b);
        .global .align 1 .b8 message[4] = {110, 111, 33, 0};
        .global .align 1 .b8 format[16] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 108, 108, 120, 10, 0};";
    let assert = "{
            .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
            mov.b64 %d1, message;
            st.param.b64 [a], %d1; st.param.b64 [b], %d1; st.param.b32 [c], 7; st.param.b64 [d], %d1; st.param.b64 [e], 1;
            call.uni __assertfail, (a, b, c, d, e);
        }";
    assert_eq!(
        trap(declarations, assert, 32),
        TrapKind::Assert {
            message: "no!".to_owned(),
            file: "no!".to_owned(),
            line: 7
        }
    );
    let print = "
            .local .align 8 .b8 room[24];
            setp.gt.u32 %p0, %own, 1;
            @%p0 bra quiet;
            st.local.u32 [room], %own;
            mov.b64 %d1, 0d3FF8000000000000;
            st.local.b64 [room+8], %d1;
            st.local.b64 [room+16], 0x1ffffffff;
            mov.b64 %d2, room;
            cvta.local.u64 %d2, %d2;
            {
                .param .b64 a; .param .b64 b; .param .b32 x;
                mov.b64 %d1, format;
                st.param.b64 [a], %d1; st.param.b64 [b], %d2;
                call.uni (x), vprintf, (a, b);
            }
        quiet:
            mov.u32 %result, 0;";
    match launch_module(&kernel_text(declarations, print), 32, 32, &Config::default()).0 {
        LaunchOutcome::Finished(finished) => {
            assert_eq!(finished.prints, ["0  1.50 1ffffffff", "1  1.50 1ffffffff"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_end_a_launch() {
    let endless = kernel_text("", "again: bra again;");
    let config = Config {
        fuel: 10_000,
        ..Config::default()
    };
    match launch_module(&endless, 32, 32, &config).0 {
        LaunchOutcome::Exhausted(exhausted) => {
            assert_eq!(
                exhausted.to_string(),
                "the limit of 10000 instructions of warps was reached"
            );
        }
        other => panic!("{other:?}"),
    }
    let large = Config {
        memory_limit: 1000,
        ..Config::default()
    };
    assert!(matches!(
        launch_module(&endless, 32, 32, &large).0,
        LaunchOutcome::Exhausted(_)
    ));
}

#[test]
fn the_texts_of_traps_and_findings_name_both_lines() {
    let text = kernel_text(
        "",
        "
            .loc 1 17 3
            st.shared.u32 [%at], %own;
            xor.b32 %r1, %r0, 128;
            mov.u32 %r2, dynamic;
            add.u32 %r2, %r2, %r1;
            .loc 1 18 3
            // begin inline asm
            .loc 1 19 3
            // end inline asm
            .loc 2 216 16, function_name $L__info_string0, inlined_at 1 18 3
            .loc 2 196 12, function_name $L__info_string0+8, inlined_at 2 216 16 // standard.py:196:12
            ld.shared.u32 %result, [%r2];
            .loc 1 0 0",
    );
    // Triton emits `.file` after the functions.
    let text = text + "\t.file\t1 \"/home/me/k.py\"\n.file 2 \"/triton/standard.py\", 1700000000, 64\n";
    match launch_module(&text, 64, 64, &Config::default()).0 {
        LaunchOutcome::Finished(finished) => {
            let said: Vec<String> = finished.findings.iter().map(ToString::to_string).collect();
            insta::assert_snapshot!(said.join("\n"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_ptx_is_refused_with_its_place() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    };
    check("add", "1:1: a directive is expected here, not `add`");
    check(
        ".version 8.0\n.visible .entry k(",
        "2:19: `.param` is expected here, not the end",
    );
    check(
        ".entry k() {\n  mov.u32 %r1, 0;\n}",
        "2:11: `%r1` is not declared",
    );
    check(
        ".entry k() {\n  bra nowhere;\n}",
        "2:7: `nowhere` is not declared",
    );
    check(
        ".entry k() {\n  .reg .b32 %r<9999999>;\n}",
        "2:24: a function has at most 262144 registers here",
    );
    check(
        ".global .b8 x[4] = {1, y};",
        "1:24: a number (addresses as initial values are unsupported) is expected here, not `y`",
    );
    check(".address_size 32\n", "2:1: only 64-bit addresses are supported");
}

/// Results of `.ftz` on an H100 that are the smallest normal `f32` number, or would be without rounding.
#[test]
fn flushing_looks_at_a_result_with_24_bits() {
    let check = |instruction: &str, [a, b]: [u32; 2], expected: u32| {
        let addend = if instruction.starts_with("fma") {
            ", 0f00000000"
        } else {
            ""
        };
        let body = format!("{instruction} %result, 0f{a:08x}, 0f{b:08x}{addend};");
        assert_eq!(
            run_body("", &body, 1),
            [expected],
            "{instruction} of {a:x} and {b:x}"
        );
    };
    // 1 + 2^-23 and 1 - 2^-23, times 2^-63: their product is 2^-126 less 2^-172.
    let nearly = [0x2000_0001, 0x1fff_fffe];
    // 1 less 2^-24, and the smallest normal number: the product has 24 bits.
    let below = [0x0080_0000, 0x3f7f_ffff];
    for name in ["mul", "fma"] {
        check(&format!("{name}.rn.ftz.f32"), nearly, 0x0080_0000);
        check(&format!("{name}.rm.ftz.f32"), nearly, 0);
        check(&format!("{name}.rn.ftz.f32"), below, 0);
        check(&format!("{name}.rn.f32"), below, 0x0080_0000);
    }
}
