use cerith_interp::{ParamValue, TrapKind};
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, Elem, OpKind, Rounding, Type};

use super::{launch_twice, trap};
use crate::kernels::{self, Kernel, World};

const TEXT: &str = "\
@triton.jit
def get(x_ptr, i):
    return tl.load(x_ptr + i)

@triton.jit
def kernel(x_ptr, y_ptr, i):
    tl.store(y_ptr, get(x_ptr, i))
";

/// `y[0] = x[i]`, the load in a function of its own.
fn build_scalar_load() -> cerith_tile::ir::Function {
    let mut k = Kernel::new(TEXT);
    let (x, y) = (
        k.add_pointer_param("x_ptr", DType::F32),
        k.add_pointer_param("y_ptr", DType::F32),
    );
    let i = k.add_number_param("i", DType::I32);
    let p = k
        .set_inlined_location("x_ptr + i", "get(x_ptr, i))")
        .offset_pointer(x, i);
    let value = k
        .set_inlined_location("tl.load(x_ptr + i)", "get(x_ptr, i))")
        .load(p, None, None);
    k.set_location("tl.store(y_ptr, get(x_ptr, i))")
        .store(y, value, None);
    k.finish()
}

fn load_at(i: i64) -> String {
    let mut world = World::default();
    world.add_floats("x", &[1.0; 4]);
    world.add_floats("y", &[0.0; 4]);
    let (mut memory, mut args) = world.finish();
    args.push(ParamValue::Number(i as u64));
    trap(
        TrapKind::OutOfBounds,
        &build_scalar_load(),
        [1, 1, 1],
        &args,
        &mut memory,
    )
}

#[test]
fn past_the_end() {
    insta::assert_snapshot!(load_at(4), @r"
    error[out-of-bounds]: load of 4 bytes just past the end of storage `x`, where `x[4]` would be
     --> kernel.py:3:12
      |
    3 |     return tl.load(x_ptr + i)
      |            ^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
    ...
    7 |     tl.store(y_ptr, get(x_ptr, i))
      |                     -------------- called here
      |
      = note: the pointer was made from storage `x` of 16 bytes
      = note: the last element of `x` is `x[3]`
      = help: mask the load: `tl.load(ptr, mask=offsets < n, other=0)`
    ");
}

#[test]
fn before_the_start() {
    insta::assert_snapshot!(load_at(-1), @r"
    error[out-of-bounds]: load of 4 bytes that starts 4 bytes before storage `x`, 1 element before `x[0]`
     --> kernel.py:3:12
      |
    3 |     return tl.load(x_ptr + i)
      |            ^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
    ...
    7 |     tl.store(y_ptr, get(x_ptr, i))
      |                     -------------- called here
      |
      = note: the pointer was made from storage `x` of 16 bytes
      = note: the last element of `x` is `x[3]`
      = help: the offset is negative; mask the load: `tl.load(ptr, mask=offsets >= 0, other=0)`
    ");
}

#[test]
fn another_storage_is_out_of_bounds_too() {
    // The storages are 1024 bytes apart: 512 of data with padding, 512 of guard zones.
    insta::assert_snapshot!(load_at(384), @r"
    error[out-of-bounds]: load of 4 bytes that starts 1520 bytes past the end of storage `x`, where `x[384]` would be
     --> kernel.py:3:12
      |
    3 |     return tl.load(x_ptr + i)
      |            ^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
    ...
    7 |     tl.store(y_ptr, get(x_ptr, i))
      |                     -------------- called here
      |
      = note: the pointer was made from storage `x` of 16 bytes
      = note: the last element of `x` is `x[3]`
      = note: byte 0 of storage `y` lies there, which this pointer must not reach
      = help: mask the load: `tl.load(ptr, mask=offsets < n, other=0)`
    ");
}

#[test]
fn an_unmasked_tail_names_program_and_lane() {
    let mut world = World::default();
    for name in ["x", "y", "out"] {
        world.add_floats(name, &[1.0; 100]);
    }
    let (mut memory, mut args) = world.finish();
    // The kernel believes that there are 200 elements.
    args.push(ParamValue::Number(200));
    let shown = trap(
        TrapKind::OutOfBounds,
        &kernels::vector_add(64),
        [4, 1, 1],
        &args,
        &mut memory,
    );
    insta::assert_snapshot!(shown, @r"
    error[out-of-bounds]: load of 4 bytes just past the end of storage `x`, where `x[100]` would be
     --> kernel.py:5:9
      |
    4 |     mask = offsets < n
      |            ----------- true in lane 36: 100 < 200
    5 |     x = tl.load(x_ptr + offsets, mask=mask)
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (1, 0, 0), lane 36
      |
      = note: the pointer was made from storage `x` of 400 bytes
      = note: the last element of `x` is `x[99]`
      = help: mask the load: `tl.load(ptr, mask=offsets < n, other=0)`
    ");
}

#[test]
fn masked_off_lanes_may_point_anywhere() {
    let mut world = World::default();
    for name in ["x", "y", "out"] {
        world.add_floats(name, &[1.0; 100]);
    }
    let (mut memory, mut args) = world.finish();
    args.push(ParamValue::Number(100));
    kernels::finish(&kernels::vector_add(64), [4, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_floats(&memory, 2), [2.0; 100]);
}

#[test]
fn an_access_half_inside_is_out_of_bounds() {
    let mut k = Kernel::new("tl.store(x_ptr + 3, 1)");
    let x = k.add_pointer_param("x_ptr", DType::I16);
    let wide = k.b.add_op(
        OpKind::Cast {
            kind: CastKind::Bits,
            rounding: Rounding::NearestEven,
        },
        &[x],
        Type::scalar(Elem::ptr_to(DType::I64)),
    );
    let one = k.b.add_constant(1, Type::num(DType::I64));
    k.set_location("tl.store(x_ptr + 3, 1)").store(wide, one, None);
    let mut world = World::default();
    world.tensor("x", DType::I16, 3, Some(&[0; 6]));
    let (mut memory, args) = world.finish();
    insta::assert_snapshot!(trap(TrapKind::OutOfBounds, &k.finish(), [1, 1, 1], &args, &mut memory), @r"
    error[out-of-bounds]: store of 8 bytes with only 6 bytes inside of storage `x`
     --> kernel.py:1:1
      |
    1 | tl.store(x_ptr + 3, 1)
      | ^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: the pointer was made from storage `x` of 6 bytes
      = note: the last element of `x` is `x[2]`
      = help: mask the store: `tl.store(ptr, value, mask=offsets < n)`
    ");
}

#[test]
fn null_and_wild_pointers() {
    let function = build_scalar_load();
    for (address, expected) in [(0, "null pointer"), (0x1234_5678, "belongs to no storage")] {
        let mut world = World::default();
        world.add_floats("y", &[0.0]);
        let (mut memory, mut args) = world.finish();
        args.insert(
            0,
            ParamValue::Pointer {
                address,
                storage: None,
                name: None,
                tensor: None,
            },
        );
        args.push(ParamValue::Number(0));
        let shown = trap(TrapKind::OutOfBounds, &function, [1, 1, 1], &args, &mut memory);
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn a_loaded_pointer_may_reach_any_storage_but_no_gap() {
    let mut k = Kernel::new("tl.load(tl.load(table))");
    let table = k.b.add_param(
        "table",
        Type::scalar(Elem::Ptr {
            pointee: DType::F32,
            depth: 2,
        }),
    );
    let out = k.add_pointer_param("out", DType::F32);
    let i = k.add_number_param("i", DType::I32);
    let pointer = k.load(table, None, None);
    let pointer = k.offset_pointer(pointer, i);
    let value = k
        .set_location("tl.load(tl.load(table))")
        .load(pointer, None, None);
    k.store(out, value, None);
    let function = k.finish();
    let mut world = World::default();
    world.tensor("table", DType::I64, 1, Some(&[0; 8]));
    world.add_floats("out", &[0.0]);
    let x = world.add_floats("x", &[5.0, 6.0]);
    assert!(world.storages().write_pointer(StorageId(0), 0, x, 0));
    let (memory, mut args) = world.finish();
    args.truncate(2);
    args.push(ParamValue::Number(1));
    let mut first = memory.clone();
    kernels::finish(&function, [1, 1, 1], &args, &mut first);
    assert_eq!(kernels::read_floats(&first, 1), [6.0]);
    args[2] = ParamValue::Number(2);
    let mut second = memory;
    insta::assert_snapshot!(trap(TrapKind::OutOfBounds, &function, [1, 1, 1], &args, &mut second), @r"
    error[out-of-bounds]: load of 4 bytes just past the end of storage `x`
     --> kernel.py:1:1
      |
    1 | tl.load(tl.load(table))
      | ^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0)
      |
      = note: the address is 0x7f2000000e08
      = help: mask the load: `tl.load(ptr, mask=offsets < n, other=0)`
    ");
}

#[test]
fn a_wrapped_offset_is_found() {
    // pid * 2**30 * 4 wraps in 32 bits, and the kernel lands before its storage.
    let mut k = Kernel::new("tl.load(x + i * 3)");
    let (x, out) = (
        k.add_pointer_param("x", DType::F32),
        k.add_pointer_param("out", DType::F32),
    );
    let i = k.add_number_param("i", DType::I32);
    let three = k.add_int(3);
    let i = k.add_binary(BinaryOp::Mul, i, three);
    let p = k.offset_pointer(x, i);
    let value = k.set_location("tl.load(x + i * 3)").load(p, None, None);
    k.store(out, value, None);
    let mut world = World::default();
    world.add_floats("x", &[1.0; 4]);
    world.add_floats("out", &[1.0; 4]);
    let (memory, mut args) = world.finish();
    args.push(ParamValue::Number(0x4000_0000));
    let function = k.finish();
    let outcomes = launch_twice(&function, [1, 1, 1], &args, &memory);
    assert_eq!(outcomes[0], outcomes[1]);
    let shown = kernels::render_outcome(&function, &outcomes[0]);
    assert!(shown.contains("before storage `x`"), "{shown}");
}
