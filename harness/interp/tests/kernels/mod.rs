//! Kernels built by hand, for tests and benchmarks: the IR that the frontend would make of the text beside it.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each test and benchmark uses a part"
)]

use cerith_interp::{Config, LaunchOutcome, ParamValue, Program};
use cerith_memory::{Memory, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Combine, Function, OpKind, Type, UnaryOp};

pub use cerith_gen::kernel::{F32, I1, I32, I64, Kernel, World};

pub fn read_floats(memory: &Memory, storage: u32) -> Vec<f32> {
    memory
        .bytes(StorageId(storage))
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect()
}

pub fn read_ints(memory: &Memory, storage: u32) -> Vec<i32> {
    memory
        .bytes(StorageId(storage))
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| i32::from_le_bytes(*b))
        .collect()
}

/// Runs a kernel once.
pub fn launch(
    function: &Function,
    grid: [u32; 3],
    args: &[ParamValue],
    memory: &mut Memory,
) -> LaunchOutcome {
    let program = Program::prepare(function.clone()).expect("verified");
    program
        .launch(grid, args, memory, &Config::default())
        .expect("no bug of ours")
}

/// Runs a kernel that must finish.
pub fn finish(function: &Function, grid: [u32; 3], args: &[ParamValue], memory: &mut Memory) {
    match launch(function, grid, args, memory) {
        LaunchOutcome::Finished(_) => {}
        other => panic!("{}", render_outcome(function, &other)),
    }
}

/// An outcome as a user sees it.
pub fn render_outcome(function: &Function, outcome: &LaunchOutcome) -> String {
    match outcome {
        LaunchOutcome::Trapped(trap) => trap.diagnostic.render(&function.sources, false),
        LaunchOutcome::Exhausted(exhausted) => exhausted.to_string(),
        LaunchOutcome::Unsupported(unsupported) => {
            format!(
                "unsupported: {} at {}",
                unsupported.construct,
                function.sources.describe_position(unsupported.span)
            )
        }
        LaunchOutcome::Finished(finished) => finished.prints.join("\n"),
    }
}

pub const VECTOR_ADD: &str = "\
@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)
";

/// The sum of two vectors of `n` floats.
pub fn vector_add(block: i32) -> Function {
    let mut k = Kernel::new(VECTOR_ADD);
    let (x, y, out) = (
        k.add_pointer_param("x_ptr", DType::F32),
        k.add_pointer_param("y_ptr", DType::F32),
        k.add_pointer_param("out_ptr", DType::F32),
    );
    let n = k.add_number_param("n", DType::I32);
    let pid = k.set_location("tl.program_id(0)").program_id(0);
    let size = k.add_int(block);
    let start = k.set_location("tl.program_id(0) * BLOCK").mul(pid, size);
    let range = k.set_location("tl.arange(0, BLOCK)").arange(block);
    let offsets = k
        .set_location("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
        .add(start, range);
    let mask = k.set_location("offsets < n").compare_less(offsets, n);
    let px = k.set_location("x_ptr + offsets").offset_pointer(x, offsets);
    let vx = k
        .set_location("tl.load(x_ptr + offsets, mask=mask)")
        .load(px, Some(mask), None);
    let py = k.set_location("y_ptr + offsets").offset_pointer(y, offsets);
    let vy = k
        .set_location("tl.load(y_ptr + offsets, mask=mask)")
        .load(py, Some(mask), None);
    let po = k.set_location("out_ptr + offsets").offset_pointer(out, offsets);
    let sum = k.set_location("x + y").add(vx, vy);
    k.set_location("tl.store(out_ptr + offsets, x + y, mask=mask)")
        .store(po, sum, Some(mask));
    k.finish()
}

pub const ADD_ONE: &str = "\
@triton.jit
def add_one(ptr, rows, columns, stride_0, stride_1, BLOCK_0: tl.constexpr, BLOCK_1: tl.constexpr):
    i = tl.program_id(0) * BLOCK_0 + tl.arange(0, BLOCK_0)
    j = tl.program_id(1) * BLOCK_1 + tl.arange(0, BLOCK_1)
    p = ptr + i[:, None] * stride_0 + j[None, :] * stride_1
    mask = (i[:, None] < rows) & (j[None, :] < columns)
    tl.store(p, tl.load(p, mask=mask) + 1, mask=mask)
";

/// One more in every element of a strided matrix.
pub fn add_one(block_0: i32, block_1: i32) -> Function {
    let mut k = Kernel::new(ADD_ONE);
    let ptr = k.add_pointer_param("ptr", DType::F32);
    let [rows, columns, stride_0, stride_1] =
        ["rows", "columns", "stride_0", "stride_1"].map(|name| k.add_number_param(name, DType::I32));
    let index = |k: &mut Kernel, axis: u8, block: i32| {
        let pid = k.program_id(axis);
        let size = k.add_int(block);
        let start = k.mul(pid, size);
        let range = k.arange(block);
        k.add(start, range)
    };
    let i = index(&mut k, 0, block_0);
    let j = index(&mut k, 1, block_1);
    let (i, j) = (k.expand_column(i), k.expand_row(j));
    let down = k.set_location("i[:, None] * stride_0").mul(i, stride_0);
    let p = k
        .set_location("ptr + i[:, None] * stride_0")
        .offset_pointer(ptr, down);
    let right = k.set_location("j[None, :] * stride_1").mul(j, stride_1);
    let p = k
        .set_location("ptr + i[:, None] * stride_0 + j[None, :] * stride_1")
        .offset_pointer(p, right);
    let a = k.set_location("i[:, None] < rows").compare_less(i, rows);
    let b = k.set_location("j[None, :] < columns").compare_less(j, columns);
    let mask = k
        .set_location("(i[:, None] < rows) & (j[None, :] < columns)")
        .add_binary(BinaryOp::And, a, b);
    let x = k.set_location("tl.load(p, mask=mask)").load(p, Some(mask), None);
    let one = k.add_full(
        DType::F32,
        u64::from(1.0f32.to_bits()),
        &[block_0 as usize, block_1 as usize],
    );
    let sum = k.set_location("tl.load(p, mask=mask) + 1").add(x, one);
    k.set_location("tl.store(p, tl.load(p, mask=mask) + 1, mask=mask)")
        .store(p, sum, Some(mask));
    k.finish()
}

pub const SOFTMAX: &str = "\
@triton.jit
def softmax(out_ptr, in_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(in_ptr + row * stride + columns, mask=mask, other=-float('inf'))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + columns, x / tl.sum(x, axis=0), mask=mask)
";

/// The softmax of each row, a program each.
pub fn softmax(block: i32) -> Function {
    let mut k = Kernel::new(SOFTMAX);
    let (out, input) = (
        k.add_pointer_param("out_ptr", DType::F32),
        k.add_pointer_param("in_ptr", DType::F32),
    );
    let (stride, n) = (
        k.add_number_param("stride", DType::I32),
        k.add_number_param("n", DType::I32),
    );
    let row = k.program_id(0);
    let columns = k.arange(block);
    let mask = k.compare_less(columns, n);
    let start = k.mul(row, stride);
    let p = k.offset_pointer(input, start);
    let p = k.offset_pointer(p, columns);
    let low = k.add_full(
        DType::F32,
        u64::from(f32::NEG_INFINITY.to_bits()),
        &[block as usize],
    );
    let x = k.load(p, Some(mask), Some(low));
    let most = k.reduce(x, 0, Combine::Max, BinaryOp::Max);
    let shifted = k.add_binary(BinaryOp::Sub, x, most);
    let e = k.add_unary(UnaryOp::Exp, shifted);
    let sum = k.reduce(e, 0, Combine::Add, BinaryOp::Add);
    let q = k.add_binary(BinaryOp::Div, e, sum);
    let p = k.offset_pointer(out, start);
    let p = k.offset_pointer(p, columns);
    k.store(p, q, Some(mask));
    k.finish()
}

/// A product of square matrices of `size`, a program a tile, with a loop over `k`.
pub fn matmul(size: i32, tile: i32, dtype: DType) -> Function {
    let mut k = Kernel::new("c = a @ b\n");
    let (a, b, c) = (
        k.add_pointer_param("a", dtype),
        k.add_pointer_param("b", dtype),
        k.add_pointer_param("c", DType::F32),
    );
    let width = k.add_int(size);
    let length = k.add_int(tile);
    let range = k.arange(tile);
    let place = |k: &mut Kernel, axis: u8| {
        let pid = k.program_id(axis);
        let start = k.mul(pid, length);
        k.add(start, range)
    };
    let (i, j) = (place(&mut k, 0), place(&mut k, 1));
    let (i, j) = (k.expand_column(i), k.expand_row(j));
    let down = k.mul(i, width);
    let (ks_row, ks_column) = (k.expand_row(range), k.expand_column(range));
    let pa = k.offset_pointer(a, down);
    let pa = k.offset_pointer(pa, ks_row);
    let kd = k.mul(ks_column, width);
    let pb = k.offset_pointer(b, kd);
    let pb = k.offset_pointer(pb, j);
    let shape = [tile as usize, tile as usize];
    let zero = k.add_full(DType::F32, 0, &shape);
    let (ta, tb) = (k.b.ty(pa).clone(), k.b.ty(pb).clone());
    let tz = k.b.ty(zero).clone();
    let low = k.add_int(0);
    let iv = k.b.add_value(Type::num(DType::I32));
    let (arg_a, arg_b, arg_c) = (
        k.b.add_value(ta.clone()),
        k.b.add_value(tb.clone()),
        k.b.add_value(tz.clone()),
    );
    k.b.open_block(&[iv, arg_a, arg_b, arg_c]);
    let (x, y) = (k.load(arg_a, None, None), k.load(arg_b, None, None));
    let sum = k.dot(x, y, arg_c);
    let next_a = k.offset_pointer(arg_a, length);
    let rows = k.mul(width, length);
    let next_b = k.offset_pointer(arg_b, rows);
    let body = k.b.close_block(&[next_a, next_b, sum]);
    let results = k.b.op_multi(
        OpKind::For { body },
        &[low, width, length, pa, pb, zero],
        &[ta, tb, tz],
    );
    let pc = k.offset_pointer(c, down);
    let pc = k.offset_pointer(pc, j);
    k.store(pc, results[2], None);
    k.finish()
}
