use cerith_interp::{Config, LaunchOutcome, ParamValue, Program, TrapKind};
use cerith_tile::DType;
use cerith_tile::ir::{AssertedBy, Demand, OpKind, Promise, Type, ValueId};

use super::trap;
use crate::kernels::{self, I32, Kernel, World};

fn build_empty() -> (cerith_memory::Memory, Vec<ParamValue>) {
    World::default().finish()
}

/// Returns the warning about a kernel that finishes.
#[track_caller]
fn expect_warning(
    function: &cerith_tile::ir::Function,
    args: &[ParamValue],
    memory: &mut cerith_memory::Memory,
) -> String {
    let outcome = kernels::launch(function, [1, 1, 1], args, memory);
    let LaunchOutcome::Finished(finished) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(finished.remarks.len(), 1);
    finished.remarks[0].render(&function.sources, false)
}

fn build_hinted(promise: Promise, number: usize, value: impl FnOnce(&mut Kernel) -> ValueId) -> Kernel {
    let mut k = Kernel::new("offsets = tl.multiple_of(tl.max_contiguous(x, 8), 8)\n");
    let x = value(&mut k);
    k.set_location("tl.max_contiguous(x, 8)").apply_op(
        OpKind::Hint {
            promise,
            values: [number].as_slice().into(),
        },
        &[x],
    );
    k
}

#[test]
fn a_false_assume() {
    let mut k = Kernel::new("tl.assume(n > 0)\n");
    let n = k.add_number_param("n", DType::I32);
    let zero = k.add_int(0);
    let positive = k.compare(cerith_tile::ir::CmpPredicate::Gt, n, zero);
    k.set_location("tl.assume(n > 0)")
        .b
        .add_effect(OpKind::Assume, &[positive]);
    let function = k.finish();
    let (mut memory, _) = build_empty();
    kernels::finish(&function, [1, 1, 1], &[ParamValue::Number(1)], &mut memory);
    let shown = trap(
        TrapKind::FalseAssume,
        &function,
        [1, 1, 1],
        &[ParamValue::Number(0)],
        &mut memory,
    );
    insta::assert_snapshot!(shown, @r"
    error[false-assume]: `tl.assume` of a condition that is false
     --> kernel.py:1:1
      |
    1 | tl.assume(n > 0)
      | ^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: the compiler may rely on the condition anywhere in the kernel
    ");
}

#[test]
fn a_descriptor_that_is_not_as_demanded() {
    let mut shown = String::new();
    for demand in Demand::ALL {
        let mut k = Kernel::new("tl.make_tensor_descriptor(x, [n], [1], [8])\n");
        let n = k.add_number_param("n", DType::I32);
        let zero = k.add_int(0);
        let kept = k.compare(cerith_tile::ir::CmpPredicate::Ge, n, zero);
        k.set_location("tl.make_tensor_descriptor(x, [n], [1], [8])")
            .b
            .add_effect(OpKind::Demand(*demand), &[kept]);
        let function = k.finish();
        let (mut memory, _) = build_empty();
        kernels::finish(&function, [1, 1, 1], &[ParamValue::Number(0)], &mut memory);
        let kind = TrapKind::DescriptorDemand;
        let below = [ParamValue::Number(0xFFFF_FFFF)];
        let text = trap(kind, &function, [1, 1, 1], &below, &mut memory);
        let said = text
            .lines()
            .filter(|line| line.starts_with("error") || line.contains("note"));
        for line in said {
            shown += line.trim();
            shown.push('\n');
        }
    }
    insta::assert_snapshot!(shown, @r"
    error[descriptor-demand]: a tensor descriptor whose base is not 16-byte aligned
    = note: descriptors are for the tensor memory accelerator, which takes multiples of 16 bytes
    error[descriptor-demand]: a tensor descriptor whose strides are not multiples of 16 bytes
    = note: every stride but the last has to be, and the last is 1 element
    error[descriptor-demand]: a tensor descriptor with a negative extent
    = note: `shape` is made of non-negative integers
    error[descriptor-demand]: a block of a tensor descriptor that does not begin at a multiple of 16 bytes
    = note: the last offset, in elements of this size, has to be a multiple of 16 bytes
    ");
}

#[test]
fn a_false_multiple() {
    let k = build_hinted(Promise::MultipleOf, 8, |k| {
        let (range, four) = (k.arange(16), k.add_int(4));
        k.add(range, four)
    });
    let (mut memory, args) = build_empty();
    insta::assert_snapshot!(expect_warning(&k.finish(), &args, &mut memory));
}

#[test]
fn runs_that_do_not_rise() {
    let k = build_hinted(Promise::MaxContiguous, 8, |k| {
        let (range, two) = (k.arange(16), k.add_int(2));
        k.mul(range, two)
    });
    let (mut memory, args) = build_empty();
    insta::assert_snapshot!(expect_warning(&k.finish(), &args, &mut memory));
}

#[test]
fn runs_that_are_not_constant() {
    let k = build_hinted(Promise::MaxConstancy, 4, |k| {
        let (range, two) = (k.arange(16), k.add_int(2));
        k.add_binary(cerith_tile::ir::BinaryOp::IntDiv, range, two)
    });
    let (mut memory, args) = build_empty();
    let shown = expect_warning(&k.finish(), &args, &mut memory);
    assert!(shown.contains("lane 2"), "{shown}");
}

#[test]
fn promises_that_hold() {
    for (promise, number) in [
        (Promise::MultipleOf, 16),
        (Promise::MaxContiguous, 16),
        (Promise::MaxConstancy, 1),
    ] {
        let k = build_hinted(promise, number, |k| {
            let (range, start) = (k.arange(16), k.add_int(32));
            k.add(range, start)
        });
        let (mut memory, args) = build_empty();
        kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    }
}

#[test]
fn a_device_assert_is_active_only_where_asked() {
    let mut k = Kernel::new("tl.device_assert(offsets < n, 'too many')\n");
    let n = k.add_number_param("n", DType::I32);
    let offsets = k.arange(8);
    let inside = k.compare_less(offsets, n);
    let kind = OpKind::Assert {
        message: "too many".into(),
        mask: false,
        check: AssertedBy::Kernel,
    };
    k.set_location("tl.device_assert(offsets < n, 'too many')")
        .b
        .add_effect(kind, &[inside]);
    let function = k.finish();
    let program = Program::prepare(function.clone()).expect("verified");
    let (mut memory, _) = build_empty();
    let mut run = |device_asserts| {
        let config = Config {
            device_asserts,
            ..Config::default()
        };
        program
            .launch([1, 1, 1], &[ParamValue::Number(6)], &mut memory, &config)
            .expect("no bug of ours")
    };
    assert!(matches!(run(false), LaunchOutcome::Finished(_)));
    let outcome = run(true);
    let LaunchOutcome::Trapped(trapped) = &outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((trapped.kind, trapped.lane), (TrapKind::AssertionFailed, Some(6)));
    assert!(!trapped.kind.is_undefined());
    insta::assert_snapshot!(kernels::render_outcome(&function, &outcome), @r"
    error[assertion-failed]: device assertion failed: too many
     --> kernel.py:1:1
      |
    1 | tl.device_assert(offsets < n, 'too many')
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 6
    ");
}

#[test]
fn an_index_outside_of_a_gather() {
    let mut k = Kernel::new("tl.gather(x, i, axis=0)\n");
    let x = k.arange(4);
    let (range, one) = (k.arange(4), k.add_int(1));
    let i = k.add(range, one);
    k.set_location("tl.gather(x, i, axis=0)")
        .apply_op(OpKind::Gather { axis: 0 }, &[x, i]);
    let (mut memory, args) = build_empty();
    insta::assert_snapshot!(trap(TrapKind::IndexOutOfRange, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[index-out-of-range]: `tl.gather` of index 4 from a dimension of 4
     --> kernel.py:1:1
      |
    1 | tl.gather(x, i, axis=0)
      | ^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 3
    ");
}

#[test]
fn a_loop_that_does_not_step() {
    let mut k = Kernel::new("for i in range(0, n, step): pass\n");
    let (n, step) = (
        k.add_number_param("n", DType::I32),
        k.add_number_param("step", DType::I32),
    );
    let zero = k.add_int(0);
    let i = k.b.add_value(Type::scalar(I32));
    k.b.open_block(&[i]);
    let body = k.b.close_block(&[]);
    k.set_location("for i in range(0, n, step): pass")
        .b
        .add_effect(OpKind::For { body }, &[zero, n, step]);
    let (mut memory, _) = build_empty();
    let args = [ParamValue::Number(4), ParamValue::Number(0xffff_ffff)];
    insta::assert_snapshot!(trap(TrapKind::LoopStep, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[loop-step]: the step of a loop is -1, which is not positive
     --> kernel.py:1:1
      |
    1 | for i in range(0, n, step): pass
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: Triton's compiled loops count upward and stop at the first value that is not below the end
    ");
}
