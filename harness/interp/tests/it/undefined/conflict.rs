use cerith_interp::TrapKind;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, ValueId};

use super::trap;
use crate::kernels::{self, Kernel, World};

/// Stores lane numbers where `place` says.
fn build_kernel(
    place: impl FnOnce(&mut Kernel, ValueId) -> ValueId,
    value: impl FnOnce(&mut Kernel, ValueId) -> ValueId,
) -> Kernel {
    let mut k = Kernel::new("tl.store(out_ptr + offsets % 4, offsets)\n");
    let out = k.add_pointer_param("out_ptr", DType::I32);
    let offsets = k.arange(8);
    let at = place(&mut k, offsets);
    let p = k.offset_pointer(out, at);
    let stored = value(&mut k, offsets);
    k.set_location("tl.store(out_ptr + offsets % 4, offsets)")
        .store(p, stored, None);
    k
}

fn build_world() -> (cerith_memory::Memory, Vec<cerith_interp::ParamValue>) {
    let mut world = World::default();
    world.add_ints("out", &[0; 8]);
    world.finish()
}

fn modulo_4(k: &mut Kernel, x: ValueId) -> ValueId {
    let four = k.add_int(4);
    k.add_binary(BinaryOp::Rem, x, four)
}

#[test]
fn two_lanes_write_differently() {
    let (mut memory, args) = build_world();
    let k = build_kernel(modulo_4, |_, x| x);
    insta::assert_snapshot!(trap(TrapKind::ConflictingLanes, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[conflicting-lanes]: lanes 0 and 4 of one store write different values to the same bytes
     --> kernel.py:1:1
      |
    1 | tl.store(out_ptr + offsets % 4, offsets)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 4
      |
      = note: the bytes are at byte 0 of storage `out`, in `out[0]`
      = help: let one lane write, or use an atomic
    ");
}

#[test]
fn all_lanes_write_to_one_place() {
    let (mut memory, args) = build_world();
    let k = build_kernel(
        |k, x| {
            let zero = k.add_int(0);
            k.mul(x, zero)
        },
        |_, x| x,
    );
    let shown = trap(
        TrapKind::ConflictingLanes,
        &k.finish(),
        [1, 1, 1],
        &args,
        &mut memory,
    );
    assert!(shown.contains("lanes 0 and 1"), "{shown}");
}

#[test]
fn lanes_that_write_the_same_do_not_conflict() {
    let (mut memory, args) = build_world();
    let k = build_kernel(modulo_4, modulo_4);
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [0, 1, 2, 3, 0, 0, 0, 0]);
}

#[test]
fn a_permutation_does_not_conflict() {
    let (mut memory, args) = build_world();
    let k = build_kernel(
        |k, x| {
            let seven = k.add_int(7);
            k.add_binary(BinaryOp::Xor, x, seven)
        },
        |_, x| x,
    );
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_ints(&memory, 0), [7, 6, 5, 4, 3, 2, 1, 0]);
}
