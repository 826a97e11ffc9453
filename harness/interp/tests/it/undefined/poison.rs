use cerith_interp::{ParamValue, TrapKind};
use cerith_memory::{ByteState, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, OpKind, Type, ValueId};

use super::trap;
use crate::kernels::{self, F32, I32, Kernel, World};

const TEXT: &str = "\
x = tl.load(x_ptr + offsets, mask=offsets < n)
if tl.sum(x) > 0: tl.store(out_ptr + offsets, x)
tl.store(out_ptr + x, 1)
tl.store(out_ptr + offsets, 1, mask=x > 0)
tl.store(out_ptr + offsets, offsets // x)
for i in range(tl.sum(x)): pass
while tl.sum(x) > 0: pass
";

/// Builds a kernel that has loaded 8 lanes, with the lanes from `n` on masked off.
fn build_kernel() -> (Kernel, [ValueId; 4]) {
    let mut k = Kernel::new(TEXT);
    let (x, out) = (
        k.add_pointer_param("x_ptr", DType::I32),
        k.add_pointer_param("out_ptr", DType::I32),
    );
    let n = k.add_number_param("n", DType::I32);
    let offsets = k.arange(8);
    let mask = k.compare_less(offsets, n);
    let p = k.offset_pointer(x, offsets);
    let value = k
        .set_location("tl.load(x_ptr + offsets, mask=offsets < n)")
        .load(p, Some(mask), None);
    (k, [value, out, offsets, mask])
}

fn build_world() -> (cerith_memory::Memory, Vec<ParamValue>) {
    let mut world = World::default();
    world.add_ints("x", &[1, 2, 3, 4, 5, 6, 7, 0]);
    world.add_ints("out", &[0; 8]);
    let (memory, mut args) = world.finish();
    args.push(ParamValue::Number(5));
    (memory, args)
}

fn check(k: Kernel) -> String {
    let (mut memory, args) = build_world();
    trap(TrapKind::PoisonUse, &k.finish(), [1, 1, 1], &args, &mut memory)
}

fn scalar_of(k: &mut Kernel, value: ValueId) -> ValueId {
    k.reduce(value, 0, cerith_tile::ir::Combine::Add, BinaryOp::Add)
}

#[test]
fn storing_poison_marks_the_bytes() {
    let (mut k, [value, out, offsets, _]) = build_kernel();
    let twice = k.add(value, value);
    let p = k.offset_pointer(out, offsets);
    k.store(p, twice, None);
    let (mut memory, args) = build_world();
    let function = k.finish();
    kernels::finish(&function, [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 1)[..5], [2, 4, 6, 8, 10]);
    let states: Vec<ByteState> = memory.states(StorageId(1)).iter().step_by(4).copied().collect();
    assert_eq!(
        states,
        [[ByteState::Init; 5].as_slice(), &[ByteState::Poison; 3]].concat()
    );
}

#[test]
fn masked_lanes_are_zero_where_that_is_asked_for() {
    let (mut k, [value, out, offsets, _]) = build_kernel();
    let p = k.offset_pointer(out, offsets);
    k.store(p, value, None);
    let function = k.finish();
    let program = cerith_interp::Program::prepare(function).expect("it prepares");
    for (masked_zero, undefined) in [(false, 12), (true, 0)] {
        let config = cerith_interp::Config {
            masked_zero,
            ..cerith_interp::Config::default()
        };
        let (mut memory, args) = build_world();
        memory.parts_mut(StorageId(1)).0.fill(0xff);
        program
            .launch([1, 1, 1], &args, &mut memory, &config)
            .expect("it runs");
        let states = memory.states(StorageId(1));
        let count = states.iter().filter(|&&state| state == ByteState::Poison).count();
        assert_eq!(count, undefined, "masked_zero {masked_zero}");
        assert_eq!(kernels::read_ints(&memory, 1)[..5], [1, 2, 3, 4, 5]);
        if masked_zero {
            assert_eq!(kernels::read_ints(&memory, 1)[5..], [0, 0, 0]);
        }
        // The run with intervals says the same of them.
        let (mut memory, args) = build_world();
        let mut map = cerith_accept::AcceptanceMap::default();
        cerith_accept::accept(&program, [1, 1, 1], &args, &mut memory, &mut map, &config).expect("it runs");
        let states = memory.states(StorageId(1));
        let count = states.iter().filter(|&&state| state == ByteState::Poison).count();
        assert_eq!(count, undefined, "masked_zero {masked_zero}, with intervals");
    }
}

#[test]
fn poison_goes_through_memory() {
    let (mut k, [value, out, offsets, _]) = build_kernel();
    let p = k.offset_pointer(out, offsets);
    k.store(p, value, None);
    let back = k.load(p, None, None);
    let zero = k.add_int(0);
    let positive = k.compare(CmpPredicate::Gt, back, zero);
    k.set_location("tl.store(out_ptr + offsets, 1, mask=x > 0)")
        .store(p, zero, Some(positive));
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the mask of a memory access has no defined value
     --> kernel.py:4:1
      |
    4 | tl.store(out_ptr + offsets, 1, mask=x > 0)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 5
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn in_a_pointer() {
    let (mut k, [value, out, ..]) = build_kernel();
    let p = k.offset_pointer(out, value);
    let one = k.add_int(1);
    k.set_location("tl.store(out_ptr + x, 1)").store(p, one, None);
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the pointer of a memory access has no defined value
     --> kernel.py:3:1
      |
    3 | tl.store(out_ptr + x, 1)
      | ^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 5
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn in_the_pointer_of_a_masked_off_lane() {
    let (mut k, [value, out, _, mask]) = build_kernel();
    let p = k.offset_pointer(out, value);
    let one = k.add_int(1);
    k.store(p, one, Some(mask));
    let (mut memory, args) = build_world();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 1), [0, 1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn in_a_mask() {
    let (mut k, [value, out, offsets, _]) = build_kernel();
    let (p, zero, one) = (k.offset_pointer(out, offsets), k.add_int(0), k.add_int(1));
    let positive = k.compare(CmpPredicate::Gt, value, zero);
    k.set_location("tl.store(out_ptr + offsets, 1, mask=x > 0)")
        .store(p, one, Some(positive));
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the mask of a memory access has no defined value
     --> kernel.py:4:1
      |
    4 | tl.store(out_ptr + offsets, 1, mask=x > 0)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 5
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn in_a_mask_that_is_false_anyway() {
    let (mut k, [value, out, offsets, mask]) = build_kernel();
    let (p, two, one) = (k.offset_pointer(out, offsets), k.add_int(2), k.add_int(1));
    let large = k.compare(CmpPredicate::Gt, value, two);
    let both = k.add_binary(BinaryOp::And, mask, large);
    k.store(p, one, Some(both));
    let (mut memory, args) = build_world();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 1), [0, 0, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn in_a_branch() {
    let (mut k, [value, ..]) = build_kernel();
    let sum = scalar_of(&mut k, value);
    let zero = k.add_int(0);
    let positive = k.compare(CmpPredicate::Gt, sum, zero);
    k.b.open_block(&[]);
    let then_block = k.b.close_block(&[]);
    k.b.open_block(&[]);
    let else_block = k.b.close_block(&[]);
    k.set_location("tl.sum(x) > 0").b.add_effect(
        OpKind::If {
            then_block,
            else_block,
        },
        &[positive],
    );
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the condition of `if` has no defined value
     --> kernel.py:2:4
      |
    2 | if tl.sum(x) > 0: tl.store(out_ptr + offsets, x)
      |    ^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn in_the_end_of_a_loop() {
    let (mut k, [value, ..]) = build_kernel();
    let sum = scalar_of(&mut k, value);
    let (zero, one) = (k.add_int(0), k.add_int(1));
    let i = k.b.add_value(Type::scalar(I32));
    k.b.open_block(&[i]);
    let body = k.b.close_block(&[]);
    k.set_location("for i in range(tl.sum(x)): pass")
        .b
        .add_effect(OpKind::For { body }, &[zero, sum, one]);
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the end of a loop has no defined value
     --> kernel.py:6:1
      |
    6 | for i in range(tl.sum(x)): pass
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn in_the_condition_of_while() {
    let (mut k, [value, ..]) = build_kernel();
    let sum = scalar_of(&mut k, value);
    let zero = k.add_int(0);
    k.b.open_block(&[]);
    let positive = k.compare(CmpPredicate::Gt, sum, zero);
    let before = k.b.close_block(&[positive]);
    k.b.open_block(&[]);
    let after = k.b.close_block(&[]);
    k.set_location("while tl.sum(x) > 0: pass")
        .b
        .add_effect(OpKind::While { before, after }, &[]);
    insta::assert_snapshot!(check(k), @r"
    error[poison-use]: the condition of `while` has no defined value
     --> kernel.py:7:1
      |
    7 | while tl.sum(x) > 0: pass
      | ^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: lanes of a masked load without `other`, shifts by the width or more, float to integer casts out of range and variables bound on other paths have none
      = help: give masked-off lanes a value: `tl.load(ptr, mask=mask, other=0)`
    ");
}

#[test]
fn a_shift_by_the_width_and_a_cast_out_of_range_are_poison() {
    let mut k = Kernel::new("");
    let out = k.add_pointer_param("out", DType::I32);
    let big = k.add_number_param("big", DType::F32);
    let count = k.add_number_param("count", DType::I32);
    let one = k.add_int(1);
    let shifted = k.add_binary(BinaryOp::Shl, one, count);
    k.store(out, shifted, None);
    let converted = k.cast(big, DType::I32);
    let p = k.offset_pointer(out, one);
    k.store(p, converted, None);
    let mut world = World::default();
    world.add_ints("out", &[0; 2]);
    let (mut memory, mut args) = world.finish();
    args.extend([
        ParamValue::Number(u64::from(3e9f32.to_bits())),
        ParamValue::Number(32),
    ]);
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(memory.states(StorageId(0)), [ByteState::Poison; 8]);
}

#[test]
fn a_selected_lane_is_as_defined_as_what_was_selected() {
    let (mut k, [value, out, offsets, mask]) = build_kernel();
    let zero = k.add_full(DType::I32, 0, &[8]);
    let clean = k.select(mask, value, zero);
    let p = k.offset_pointer(out, offsets);
    k.store(p, clean, None);
    let (mut memory, args) = build_world();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 1), [1, 2, 3, 4, 5, 0, 0, 0]);
    assert_eq!(memory.states(StorageId(1)), [ByteState::Init; 32]);
}

#[test]
fn an_unbound_variable_is_poison() {
    let mut k = Kernel::new("");
    let out = k.add_pointer_param("out", DType::F32);
    let nothing = k.b.add_op(OpKind::Poison, &[], Type::scalar(F32));
    k.store(out, nothing, None);
    let mut world = World::default();
    world.add_floats("out", &[0.0]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(memory.states(StorageId(0)), [ByteState::Poison; 4]);
}
