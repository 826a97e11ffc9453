//! Results of operations other than plain arithmetic.

mod control;
mod effects;
mod grids;
mod limits;
mod memory;
mod products;
mod reductions;
mod shapes;
mod threads;

use crate::kernels::{self, Kernel, World};
use cerith_interp::ParamValue;
use cerith_tile::DType;
use cerith_tile::ir::ValueId;

/// Runs a kernel that computes one value, and returns its lanes as `i32` (floats by value).
#[track_caller]
fn run_lanes(make: impl FnOnce(&mut Kernel) -> ValueId) -> Vec<i32> {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", DType::I32);
    let value = make(&mut k);
    let count = k.shape(value).iter().product::<usize>();
    let whole = k.cast(value, DType::I32);
    if k.shape(whole).is_empty() {
        k.store(out, whole, None);
    } else {
        let flat = k.reshape(whole, &[count]);
        let index = k.arange(count as i32);
        let place = k.offset_pointer(out, index);
        k.store(place, flat, None);
    }
    let mut world = World::default();
    world.add_ints("out", &vec![0; count]);
    let (mut memory, args) = world.finish();
    kernels::finish(&k.finish(), [1, 1, 1], &args, &mut memory);
    kernels::read_ints(&memory, 0)
}

fn build_number(value: i32) -> ParamValue {
    ParamValue::Number(u64::from(value as u32))
}
