use cerith_interp::ParamValue;
use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{Elem, InputPrecision, OpKind, Rounding, Type};
use cerith_tile::numeric::{decode, encode};

use crate::kernels::{self, Kernel, World};

/// `c = a b + c` for `[batch,] m, k` and `[batch,] k, n`, whole numbers, so that every dtype is exact.
fn check(dtype: DType, result: DType, batch: Option<usize>, [m, n, k]: [usize; 3]) {
    let shape =
        |rows: usize, columns: usize| -> Vec<usize> { batch.into_iter().chain([rows, columns]).collect() };
    let mut kernel = Kernel::new("kernel\n");
    let loaded = |kernel: &mut Kernel, name: &str, dtype: DType, shape: &[usize]| {
        let pointer = kernel.add_pointer_param(name, dtype);
        let index = kernel.arange(shape.iter().product::<usize>() as i32);
        let index = kernel.reshape(index, shape);
        let place = kernel.offset_pointer(pointer, index);
        (place, kernel.load(place, None, None))
    };
    let (_, a) = loaded(&mut kernel, "a", dtype, &shape(m, k));
    let (_, b) = loaded(&mut kernel, "b", dtype, &shape(k, n));
    let (place, c) = loaded(&mut kernel, "c", result, &shape(m, n));
    let ty = Type::block(Elem::Num(result), shape(m, n).as_slice());
    let kind = OpKind::Dot {
        precision: InputPrecision::Ieee,
        max_imprecise: 0,
    };
    let product = kernel.b.add_op(kind, &[a, b, c], ty);
    kernel.store(place, product, None);

    let batches = batch.unwrap_or(1);
    let value = |i: usize| ((i * 7 + 3) % 5) as i64 - 2;
    let mut world = World::default();
    let mut tensor = |name: &str, dtype: DType, count: usize| {
        let bits = |i| encode(dtype, value(i) as f64, Rounding::NearestEven).to_le_bytes();
        let bytes: Vec<u8> = (0..count)
            .flat_map(|i| bits(i)[..dtype.size()].to_vec())
            .collect();
        world.tensor(name, dtype, count, Some(&bytes));
    };
    tensor("a", dtype, batches * m * k);
    tensor("b", dtype, batches * k * n);
    tensor("c", result, batches * m * n);
    let (mut memory, args): (_, Vec<ParamValue>) = world.finish();
    kernels::finish(&kernel.finish(), [1, 1, 1], &args, &mut memory);
    let got: Vec<f64> = memory
        .bytes(StorageId(2))
        .chunks(result.size())
        .map(|bytes| {
            decode(
                result,
                bytes.iter().rev().fold(0, |sum, &b| sum << 8 | u64::from(b)),
            )
        })
        .collect();
    let expected: Vec<f64> = (0..batches * m * n)
        .map(|lane| {
            let (row, j) = (lane / n, lane % n);
            let sum: i64 = (0..k)
                .map(|i| value(row * k + i) * value((row / m * k + i) * n + j))
                .sum();
            (sum + value(lane)) as f64
        })
        .collect();
    assert_eq!(got, expected, "{dtype} {m}x{n}x{k}");
}

#[test]
fn every_pair_of_dtypes() {
    for (dtype, result) in [
        (DType::F32, DType::F32),
        (DType::F16, DType::F32),
        (DType::F16, DType::F16),
        (DType::BF16, DType::F32),
        (DType::F8E5, DType::F32),
        (DType::F8E4NV, DType::F32),
        (DType::F64, DType::F64),
        (DType::I8, DType::I32),
    ] {
        check(dtype, result, None, [16, 16, 16]);
    }
}

#[test]
fn every_shape() {
    for extents in [
        [1, 1, 1],
        [4, 8, 2],
        [5, 9, 3],
        [3, 16, 4],
        [16, 4, 32],
        [7, 17, 1],
    ] {
        check(DType::F32, DType::F32, None, extents);
        check(DType::I8, DType::I32, Some(3), extents);
    }
}
