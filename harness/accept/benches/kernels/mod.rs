//! The kernels of `acceptance.py`, and what they are launched on: for the benchmark, and for the test that compares blocks with
//! single lanes.

use std::sync::Arc;

use cerith_frontend::{Request, trace};
use cerith_gen::kernel::World;
use cerith_interp::{ParamValue, Program};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::Rules;
use cerith_tile::source::SourceFile;

const TEXT: &str = include_str!("../acceptance.py");

/// A kernel whose tensors have so many elements of a dtype.
pub fn build_program(kernel: &str, dtype: DType, count: usize, block: usize) -> Program {
    let pointer = || cerith_frontend::RequestArg::Pointer(Elem::Num(dtype));
    let number = |value: usize| cerith_frontend::RequestArg::Int(value as i128);
    let traced = trace(&Request {
        file: Arc::new(SourceFile::new("acceptance.py", TEXT)),
        modules: Vec::new(),
        kernel: kernel.to_owned(),
        positional: vec![pointer(), pointer(), pointer(), number(count), number(block)],
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::default(),
    })
    .unwrap_or_else(|refused| panic!("{kernel}: {refused:?}"));
    Program::prepare(traced.function).expect("verified")
}

/// Its tensors, and the arguments that point to them. `bits` gives an element by its place and its tensor's number.
pub fn build_tensors(
    dtype: DType,
    count: usize,
    bits: impl Fn(usize, usize) -> u64,
) -> (Memory, Vec<ParamValue>) {
    let mut world = World::default();
    for (nth, name) in ["out", "x", "y"].into_iter().enumerate() {
        let bytes: Vec<u8> = (0..count)
            .flat_map(|i| bits(i, nth).to_le_bytes().into_iter().take(dtype.size()))
            .collect();
        world.tensor(name, dtype, count, Some(&bytes));
    }
    world.finish()
}
