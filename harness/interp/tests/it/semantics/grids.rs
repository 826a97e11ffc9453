//! Launches of many programs: the analysis before the first program must not change any result.

use std::sync::Arc;

use cerith_frontend::{Request, trace};
use cerith_interp::{Config, LaunchOutcome, Order, ParamValue, Program, TrapKind};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rules;
use cerith_tile::source::SourceFile;

use crate::kernels::{World, read_ints};

/// Runs a kernel of two `i32` pointers and an `i32` number on two storages of so many elements, `x` counting up from 0.
fn run(
    body: &str,
    grid: [u32; 3],
    elements: usize,
    n: i32,
    order: Order,
    alias: bool,
) -> (LaunchOutcome, Memory) {
    let lines = body.replace('\n', "\n    ");
    let text = format!(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x, out, n):\n    pid = tl.program_id(0)\n    {lines}\n"
    );
    let pointer = || cerith_frontend::RequestArg::Pointer(Elem::Num(DType::I32));
    let traced = trace(&Request {
        file: Arc::new(SourceFile::new("kernel.py", text)),
        modules: Vec::new(),
        kernel: "kernel".to_owned(),
        positional: vec![
            pointer(),
            pointer(),
            cerith_frontend::RequestArg::Int(i128::from(n)),
        ],
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::default(),
    })
    .unwrap_or_else(|refused| panic!("{refused:?}"));
    let mut world = World::default();
    world.add_ints("x", &(0..elements as i32).collect::<Vec<_>>());
    world.add_ints("out", &vec![-1; elements]);
    let (mut memory, mut args) = world.finish();
    if alias {
        args[1] = args[0].clone();
    }
    args.push(ParamValue::Number(u64::from(n as u32)));
    args.truncate(traced.function.params.len());
    let program = Program::prepare(traced.function).expect("verified");
    let config = Config {
        order,
        ..Config::default()
    };
    let outcome = program
        .launch(grid, &args, &mut memory, &config)
        .expect("no bug of ours");
    (outcome, memory)
}

/// Checks that a kernel has this result in every order of programs.
#[track_caller]
fn check_result(body: &str, grid: [u32; 3], n: i32, expected: impl Fn(i32) -> i32) {
    for order in [Order::Ascending, Order::Descending, Order::Shuffled(7)] {
        let (outcome, memory) = run(body, grid, 64, n, order, false);
        assert!(
            matches!(outcome, LaunchOutcome::Finished(_)),
            "{body}: {outcome:?}"
        );
        assert_eq!(
            read_ints(&memory, 1),
            (0..64).map(&expected).collect::<Vec<_>>(),
            "{body} in {order:?}"
        );
    }
}

#[track_caller]
fn check_trap(body: &str, elements: usize, alias: bool, kind: TrapKind, program: [u32; 3]) {
    let (outcome, _) = run(body, [8, 1, 1], elements, 64, Order::Ascending, alias);
    let LaunchOutcome::Trapped(trap) = outcome else {
        panic!("{body}: {outcome:?}")
    };
    assert_eq!((trap.kind, trap.program), (kind, program), "{body}");
}

const COPY: &str = "\
i = pid * 8 + tl.arange(0, 8)
tl.store(out + i, tl.load(x + i, mask=i < n, other=-5), mask=i < n)";

#[test]
fn rows_of_all_programs_are_copied_up_to_the_mask() {
    check_result(COPY, [8, 1, 1], 64, |i| i);
    check_result(COPY, [8, 1, 1], 61, |i| if i < 61 { i } else { -1 });
    check_result(COPY, [8, 1, 1], 0, |_| -1);
    check_result(COPY, [3, 1, 1], 64, |i| if i < 24 { i } else { -1 });
}

#[test]
fn grids_of_three_axes_and_blocks_of_two_dimensions_follow_rules() {
    let body = "\
r = tl.program_id(1) * 2 + tl.arange(0, 2)
c = tl.program_id(2) * 4 + tl.arange(0, 4)
at = pid * 16 + r[:, None] * 8 + c[None, :]
tl.store(out + at, tl.load(x + at) * 2)";
    check_result(body, [4, 1, 2], 0, |i| i * 2);
}

#[test]
fn numbers_that_leave_their_type_wrap_in_each_program() {
    let body = "\
big = pid * 715827883
tl.store(out + pid, big)
tl.store(out + 8 + pid, (big.to(tl.int64) * 2).to(tl.int32))
tl.store(out + 16 + pid, (pid + 125).to(tl.int8).to(tl.int32))";
    check_result(body, [8, 1, 1], 0, |i| match i {
        0..8 => i.wrapping_mul(715_827_883),
        8..16 => (i - 8).wrapping_mul(715_827_883).wrapping_mul(2),
        16..24 => i32::from((i - 16 + 125) as i8),
        _ => -1,
    });
}

#[test]
fn what_no_rule_speaks_of_is_computed_by_each_program() {
    let body = "\
group = pid // 3
tl.store(out + pid, group * 100 + pid % 3)
if pid > 5:
    tl.store(out + 16 + pid, pid)
for k in range(pid):
    tl.store(out + 32 + pid, k)";
    check_result(body, [8, 1, 1], 0, |i| match i {
        0..8 => i / 3 * 100 + i % 3,
        22 | 23 => i - 16,
        33..40 => i - 33,
        _ => -1,
    });
}

#[test]
fn a_block_may_be_updated_in_place() {
    let body = "\
i = pid * 8 + tl.arange(0, 8)
tl.store(out + i, i)
tl.store(out + i, tl.load(out + i) + 1)";
    check_result(body, [8, 1, 1], 0, |i| i + 1);
}

#[test]
fn the_program_that_leaves_its_storage_is_named() {
    check_trap(COPY, 40, false, TrapKind::OutOfBounds, [5, 0, 0]);
    check_trap(
        "tl.store(out + 6 - pid, pid)",
        64,
        false,
        TrapKind::OutOfBounds,
        [7, 0, 0],
    );
}

#[test]
fn programs_that_meet_by_rule_race() {
    // One element too many, the same one for all, a row that another program reads, and two names for one storage.
    let overlapping = "tl.store(out + pid * 8 + tl.arange(0, 16), pid)";
    check_trap(overlapping, 128, false, TrapKind::Race, [1, 0, 0]);
    check_trap(
        "tl.store(out + tl.arange(0, 8), pid)",
        64,
        false,
        TrapKind::Race,
        [1, 0, 0],
    );
    let shifted = "tl.store(out + pid, pid)\ntl.store(x + pid, tl.load(out + pid + 1))";
    check_trap(shifted, 64, false, TrapKind::Race, [1, 0, 0]);
    let other_way = "tl.store(x + pid, tl.load(out + 7 - pid))\ntl.store(out + pid, pid)";
    check_trap(other_way, 64, false, TrapKind::Race, [4, 0, 0]);
    let aliased = "tl.store(out + pid, tl.load(x + pid + 1))";
    check_trap(aliased, 64, true, TrapKind::Race, [1, 0, 0]);
    let (outcome, _) = run(aliased, [8, 1, 1], 64, 64, Order::Ascending, false);
    assert!(matches!(outcome, LaunchOutcome::Finished(_)), "{outcome:?}");
    // By another rule, or through a pointer without known facts.
    let atomic = "tl.atomic_add(out + pid, 1)\ntl.store(out + 7 - pid, pid)";
    check_trap(atomic, 64, false, TrapKind::Race, [4, 0, 0]);
    let nested = "tl.store(out + pid, pid)\nfor k in range(0, n):\n    tl.store(x + k, tl.load(out + k))";
    check_trap(nested, 64, false, TrapKind::Race, [1, 0, 0]);
}
