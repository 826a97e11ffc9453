use cerith_interp::{ParamValue, TrapKind};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{CastKind, Elem, OpKind, Rounding, Type};

use super::trap;
use crate::kernels::{Kernel, World};

#[test]
fn an_address_between_elements() {
    let mut k = Kernel::new("x = tl.load(x_ptr + offsets)\n");
    let x = k.add_pointer_param("x_ptr", DType::F32);
    let offsets = k.arange(4);
    let p = k.offset_pointer(x, offsets);
    k.set_location("tl.load(x_ptr + offsets)").load(p, None, None);
    let mut world = World::default();
    world.add_floats("x", &[1.0; 8]);
    let (mut memory, _) = world.finish();
    let address = memory.address(StorageId(0)) + 2;
    let args = [ParamValue::Pointer {
        address,
        storage: Some(StorageId(0)),
        name: Some("x_odd".into()),
        tensor: None,
    }];
    insta::assert_snapshot!(trap(TrapKind::Misaligned, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[misaligned]: load of 4 bytes at an address that is not a multiple of 4
     --> kernel.py:1:5
      |
    1 | x = tl.load(x_ptr + offsets)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 0
      |
      = note: the address is 0x7f2000000202, byte 2 of storage `x`, in `x[0]`
      = note: the pointer was made from tensor `x_odd` in storage `x` of 32 bytes
    ");
}

#[test]
fn only_some_lanes_between_elements() {
    // A byte offset through an int8 pointer, seen as int16: the second lane is the first that is misaligned.
    let mut k = Kernel::new("tl.load(p)\n");
    let x = k.add_pointer_param("x_ptr", DType::I8);
    let offsets = k.arange(4);
    let p = k.offset_pointer(x, offsets);
    let wide = Type::block(Elem::ptr_to(DType::I16), [4].as_slice());
    let p = k.b.add_op(
        OpKind::Cast {
            kind: CastKind::Bits,
            rounding: Rounding::NearestEven,
        },
        &[p],
        wide,
    );
    k.set_location("tl.load(p)").load(p, None, None);
    let mut world = World::default();
    world.tensor("x", DType::I8, 8, Some(&[0; 8]));
    let (mut memory, args) = world.finish();
    let shown = trap(TrapKind::Misaligned, &k.finish(), [1, 1, 1], &args, &mut memory);
    assert!(shown.contains("lane 1"), "{shown}");
}
