use conch_interp::{Arg, TrapKind};
use conch_tile::DType;
use conch_tile::ir::BinaryOp;

use crate::kernels::{Kernel, World};
use crate::trap;

#[test]
fn a_lane_divided_by_zero() {
    let mut k = Kernel::new("y = x // tl.load(d_ptr + offsets)\n");
    let d = k.pointer("d_ptr", DType::I32);
    let offsets = k.arange(4);
    let p = k.offset(d, offsets);
    let divisor = k.load(p, None, None);
    k.at("x // tl.load(d_ptr + offsets)")
        .binary(BinaryOp::IntDiv, offsets, divisor);
    let mut world = World::default();
    world.ints("d", &[1, 2, 0, 4]);
    let (mut memory, args) = world.finish();
    insta::assert_snapshot!(trap(TrapKind::DivisionByZero, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[division-by-zero]: an integer is divided by zero
     --> kernel.py:1:5
      |
    1 | y = x // tl.load(d_ptr + offsets)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 2
      |
      = note: this is undefined even where the quotient is not used, in masked-off lanes too
      = help: keep the divisor from being zero: `tl.where(divisor == 0, 1, divisor)`
    ");
}

#[test]
fn a_scalar_remainder_by_zero() {
    let mut k = Kernel::new("tl.program_id(0) % n");
    let n = k.number("n", DType::I32);
    let pid = k.program_id(0);
    k.at("tl.program_id(0) % n").binary(BinaryOp::Rem, pid, n);
    let (mut memory, _) = World::default().finish();
    let shown = trap(
        TrapKind::DivisionByZero,
        &k.finish(),
        [2, 1, 1],
        &[Arg::Number(0)],
        &mut memory,
    );
    insta::assert_snapshot!(shown, @r"
    error[division-by-zero]: an integer is divided by zero
     --> kernel.py:1:1
      |
    1 | tl.program_id(0) % n
      | ^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: this is undefined even where the quotient is not used, in masked-off lanes too
      = help: keep the divisor from being zero: `tl.where(divisor == 0, 1, divisor)`
    ");
}
