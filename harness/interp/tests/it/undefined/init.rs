use cerith_interp::{ParamValue, TrapKind};
use cerith_tile::DType;

use super::trap;
use crate::kernels::{self, World};

#[test]
fn a_load_of_what_was_never_written() {
    let mut world = World::default();
    world.add_floats("x", &[1.0; 64]);
    world.tensor("y", DType::F32, 64, None);
    world.tensor("out", DType::F32, 64, None);
    let (mut memory, mut args) = world.finish();
    args.push(ParamValue::Number(64));
    let shown = trap(
        TrapKind::Uninitialised,
        &kernels::vector_add(64),
        [1, 1, 1],
        &args,
        &mut memory,
    );
    insta::assert_snapshot!(shown, @r"
    error[uninitialised-read]: load of 4 bytes that nothing was written to
     --> kernel.py:6:9
      |
    6 |     y = tl.load(y_ptr + offsets, mask=mask)
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in program (0, 0, 0), lane 0
      |
      = note: the first of them is byte 0 of storage `y`, in `y[0]`
      = help: write the storage before it is read, or give it a fill other than `uninit`
    ");
}

#[test]
fn the_first_uninitialised_lane_is_named() {
    let mut world = World::default();
    world.add_floats("x", &[1.0; 8]);
    let y = world.tensor("y", DType::F32, 8, None);
    assert!(world.storages().write(y, 0, &[0; 22]));
    world.tensor("out", DType::F32, 8, None);
    let (mut memory, mut args) = world.finish();
    args.push(ParamValue::Number(8));
    let shown = trap(
        TrapKind::Uninitialised,
        &kernels::vector_add(8),
        [1, 1, 1],
        &args,
        &mut memory,
    );
    assert!(shown.contains("lane 5"), "{shown}");
    assert!(shown.contains("byte 22 of storage `y`"), "{shown}");
}

#[test]
fn writing_initialises() {
    let mut world = World::default();
    world.add_floats("x", &[1.0; 64]);
    world.add_floats("y", &[1.0; 64]);
    world.tensor("out", DType::F32, 64, None);
    let (mut memory, mut args) = world.finish();
    args.push(ParamValue::Number(64));
    kernels::finish(&kernels::vector_add(64), [1, 1, 1], &args, &mut memory);
    // The result is an input of the next launch.
    args.swap(0, 2);
    kernels::finish(&kernels::vector_add(64), [1, 1, 1], &args, &mut memory);
    assert_eq!(kernels::read_floats(&memory, 0), [3.0; 64]);
}
