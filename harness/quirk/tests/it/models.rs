//! Tests each model on numbers from NumPy. The corpus tests the models against the engines: an expectation that names a
//! quirk requires the engine's bytes.

use cerith_gen::kernel::{Kernel, World};
use cerith_interp::{Config, LaunchOutcome, Program};
use cerith_memory::StorageId;
use cerith_quirk::follow;
use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, CastKind, Combine, Elem, Function, OpKind, Rounding, TernaryOp, UnaryOp, ValueId,
};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;

const NEW: Version = Version::new(3, 9, 0);
const OLD: Version = Version::new(3, 2, 0);

/// Checks the result of a kernel of four elements with a quirk. `inputs` are bits of `from`; the output has one element
/// of `to` for each lane of `body`'s result.
#[track_caller]
fn check(
    quirk: Quirk,
    version: Version,
    (from, inputs): (DType, [u64; 4]),
    (to, expected): (DType, &[u64]),
    body: impl FnOnce(&mut Kernel, ValueId) -> ValueId,
) {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (k.add_pointer_param("x", from), k.add_pointer_param("out", to));
    let lanes = k.arange(4);
    let addresses = k.offset_pointer(x, lanes);
    let block = k.load(addresses, None, None);
    let result = body(&mut k, block);
    let result = if k.shape(result).is_empty() {
        result
    } else {
        let places = k.offset_pointer(out, lanes);
        k.store(places, result, None);
        return run(&k.finish(), quirk, version, (from, inputs), (to, expected));
    };
    k.store(out, result, None);
    run(&k.finish(), quirk, version, (from, inputs), (to, expected));
}

#[track_caller]
fn run(
    function: &Function,
    quirk: Quirk,
    version: Version,
    (from, inputs): (DType, [u64; 4]),
    (to, expected): (DType, &[u64]),
) {
    let followed = follow(function, Quirks::NONE.with_quirk(quirk), version).expect("it changes the kernel");
    followed.verify().expect("what a model makes verifies");
    let program = Program::prepare(followed).expect("it can be run");
    let mut world = World::default();
    let bytes = |values: &[u64], dtype: DType| -> Vec<u8> {
        values
            .iter()
            .flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size()))
            .collect()
    };
    world.tensor("x", from, 4, Some(&bytes(&inputs, from)));
    world.tensor("out", to, 4, None);
    let (mut memory, args) = world.finish();
    let outcome = program.launch([1, 1, 1], &args, &mut memory, &Config::default());
    assert!(matches!(outcome, Ok(LaunchOutcome::Finished(_))), "{outcome:?}");
    let left = &memory.bytes(StorageId(1))[..expected.len() * to.size()];
    assert_eq!(left, bytes(expected, to), "{quirk}");
}

const BF16: DType = DType::BF16;
const F32: DType = DType::F32;
const I32: DType = DType::I32;
const BF16_ONE: u64 = 0x3f80;

#[test]
fn bf16_is_an_unsigned_integer() {
    check(
        Quirk::Bf16IsBits,
        NEW,
        (BF16, [BF16_ONE, 0, 0xffff, 2]),
        (BF16, &[0x7f00, 0, 0xfffe, 4]),
        |k, x| k.add(x, x),
    );
    check(
        Quirk::Bf16IsBits,
        NEW,
        (BF16, [BF16_ONE, 0, 1, 0x8000]),
        (BF16, &[0xc080, 0, 0xffff, 0x8000]),
        |k, x| k.add_unary(UnaryOp::Neg, x),
    );
}

#[test]
fn f32_is_cut_off_to_bf16() {
    check(
        Quirk::Bf16Truncates,
        NEW,
        (F32, [0x3f80_ffff, 0x7f80_0001, 0x8000_0000, 0xbf81_8000]),
        (BF16, &[0x3f80, 0x7f80, 0x8000, 0xbf81]),
        |k, x| k.cast(x, BF16),
    );
}

#[test]
fn subnormal_bf16_loses_bits_when_it_widens() {
    check(
        Quirk::Bf16WidensShort,
        NEW,
        (BF16, [1, BF16_ONE, 0x8000, 0x7f80]),
        (F32, &[0, 0x3f80_0000, 0x8000_0000, 0x7f80_0000]),
        |k, x| k.cast(x, F32),
    );
}

#[test]
fn an_integer_becomes_the_bits_of_bf16() {
    check(
        Quirk::Bf16FromInteger,
        NEW,
        (I32, [1, 0x1_0002, u64::from(u32::MAX), 0]),
        (BF16, &[1, 2, 0xffff, 0]),
        |k, x| k.cast(x, BF16),
    );
}

#[test]
fn an_8_bit_float_loses_its_carry() {
    // 1.9375 is between 1.875 and 2: the carry out of the fraction is lost, as the exponent's lowest bit is set.
    check(
        Quirk::Fp8ConvertsByParts,
        NEW,
        (DType::F16, [0x3fc0, 0x3c00, 0x7c00, 0x7e00]),
        (DType::F8E4NV, &[0x38, 0x38, 0x78, 0x7c]),
        |k, x| k.cast(x, DType::F8E4NV),
    );
}

#[test]
fn a_nan_is_let_through() {
    const NAN: u64 = 0x7fc0_0000;
    check(
        Quirk::ExtremaLetNanThrough,
        OLD,
        (F32, [0, 0x3f80_0000, 0xbf80_0000, 0]),
        (F32, &[NAN; 4]),
        |k, x| {
            let nan = k.add_full(F32, NAN, &[4]);
            k.add_binary(BinaryOp::Max, x, nan)
        },
    );
    check(
        Quirk::ReductionsLetNanThrough,
        OLD,
        (F32, [0, NAN, 0x3f80_0000, 0]),
        (F32, &[NAN]),
        |k, x| k.reduce(x, 0, Combine::Max, BinaryOp::Max),
    );
}

#[test]
fn negative_zeros_add_up_to_a_positive_one() {
    check(
        Quirk::SumBeginsWithZero,
        NEW,
        (F32, [0x8000_0000; 4]),
        (F32, &[0]),
        |k, x| k.reduce(x, 0, Combine::Add, BinaryOp::Add),
    );
}

#[test]
fn fma_rounds_the_product() {
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, and 0 where the product is rounded.
    check(
        Quirk::FmaRoundsTwice,
        OLD,
        (F32, [0x3f80_0800; 4]),
        (F32, &[0; 4]),
        |k, x| {
            let less = k.add_full(F32, 0xbf80_1000, &[4]);
            k.apply_op(OpKind::Ternary(TernaryOp::Fma), &[x, x, less])
        },
    );
}

#[test]
fn the_high_half_of_a_product_is_signed() {
    check(
        Quirk::MulhiIsSigned,
        OLD,
        (I32, [u64::from(u32::MAX), 2, 0x8000_0000, 0]),
        (I32, &[0, 0, 0x4000_0000, 0]),
        |k, x| k.add_binary(BinaryOp::MulHi, x, x),
    );
}

#[test]
fn what_is_cut_past_the_largest_half_is_a_nan() {
    check(
        Quirk::CutsConvertByParts,
        NEW,
        (DType::F32, [0x477f_ff00, 0x4780_0000, 0x4788_b800, 0x3f80_1fff]),
        (DType::F16, &[0x7bff, 0x7c00, 0x7c45, 0x3c00]),
        |k, x| {
            let ty = k.b.ty(x).with_elem(Elem::Num(DType::F16));
            let cut = OpKind::Cast {
                kind: CastKind::Value,
                rounding: Rounding::TowardZero,
            };
            k.b.add_op(cut, &[x], ty)
        },
    );
}

#[test]
fn bools_add_up_as_an_or() {
    check(
        Quirk::BoolsAddAsOr,
        OLD,
        (DType::I1, [1, 0, 1, 0]),
        (DType::I1, &[1, 0, 1, 0]),
        |k, x| k.add(x, x),
    );
}

#[test]
fn a_kernel_without_the_operation_is_left_alone() {
    let mut k = Kernel::new("kernel\n");
    let out = k.add_pointer_param("out", I32);
    let one = k.add_int(1);
    k.store(out, one, None);
    let function = k.finish();
    for &quirk in Quirk::ALL {
        assert_eq!(
            follow(&function, Quirks::NONE.with_quirk(quirk), NEW),
            None,
            "{quirk}"
        );
    }
}

#[test]
fn a_quotient_of_bits_is_cut_off() {
    // 6 / 2, 7 / 2, and by zero what no integer is.
    check(
        Quirk::Bf16IsBits,
        NEW,
        (BF16, [6, 7, 0, 2]),
        (BF16, &[3, 3, 0, 1]),
        |k, x| {
            let two = k.add_full(BF16, 2, &[4]);
            k.add_binary(BinaryOp::Div, x, two)
        },
    );
}

#[test]
fn the_high_half_of_64_bits_is_signed_too() {
    check(
        Quirk::MulhiIsSigned,
        OLD,
        (DType::I64, [u64::MAX, 1 << 63, 2, 0]),
        (DType::I64, &[0, 1 << 62, 0, 0]),
        |k, x| k.add_binary(BinaryOp::MulHi, x, x),
    );
}

#[test]
fn specials_of_fp8_are_numbers() {
    check(
        Quirk::Fp8SpecialsAreNumbers,
        NEW,
        (DType::F8E5, [0x7c, 0xfe, 0x3c, 1]),
        // 65536, -98304, 1, and the least subnormal number.
        (BF16, &[0x4780, 0xc7c0, BF16_ONE, 0x3780]),
        |k, x| k.cast(x, BF16),
    );
}

#[test]
fn what_fp8e5_cannot_hold_wraps() {
    // A half between two numbers, infinity, NaN, and the least number that is too large.
    let quirk = Quirk::NarrowingToFp8e5Wraps;
    for from in [
        (DType::F16, [0x3c80, 0x7c00, 0x7fff, 0x7b80]),
        (DType::F32, [0x3f90_0000, 0x7f80_0000, 0x7fc0_0000, 0x4770_0000]),
    ] {
        let left: (DType, &[u64]) = (DType::F8E5, &[0x3d, 0x7c, 0x80, 0x7c]);
        check(quirk, OLD, from, left, |k, x| k.cast(x, DType::F8E5));
    }
}

#[test]
fn what_is_beyond_fp8e5_is_cut_at_the_ends_of_another_format() {
    check(
        Quirk::NarrowingToFp8e5Wraps,
        OLD,
        (BF16, [0x3f90, 0x7f80, 0x7fff, 0x4800]),
        (DType::F8E5, &[0x3d, 0xff, 0xff, 0x80]),
        |k, x| k.cast(x, DType::F8E5),
    );
}

#[test]
fn the_nan_of_padding_is_a_number() {
    for (quirk, bits) in [(Quirk::PaddingNanIsZero, 0), (Quirk::PaddingNanIsANumber, 0x7c)] {
        let from = (DType::F8E4NV, [0; 4]);
        let mut k = Kernel::new("kernel\n");
        let (x, out) = (
            k.add_pointer_param("x", DType::F8E4NV),
            k.add_pointer_param("out", DType::F8E4NV),
        );
        let lanes = k.arange(4);
        let (none, nan) = (
            k.add_full(DType::I1, 0, &[4]),
            k.add_full(DType::F8E4NV, 0x7f, &[4]),
        );
        let addresses = k.offset_pointer(x, lanes);
        let value = k.load(addresses, Some(none), Some(nan));
        let places = k.offset_pointer(out, lanes);
        k.store(places, value, None);
        run(&k.finish(), quirk, NEW, from, (DType::F8E4NV, &[bits; 4]));
    }
}

#[test]
fn a_false_mask_of_a_scalar_is_ignored() {
    let mut k = Kernel::new("kernel\n");
    let (_, out) = (k.add_pointer_param("x", I32), k.add_pointer_param("out", I32));
    let (seven, no) = (k.add_int(7), k.add_full(DType::I1, 0, &[]));
    k.store(out, seven, Some(no));
    let function = k.finish();
    run(
        &function,
        Quirk::FalseMasksAreIgnored,
        OLD,
        (I32, [0; 4]),
        (I32, &[7]),
    );
}

#[test]
fn what_is_added_to_a_product_stops_at_the_ends() {
    let mut k = Kernel::new("kernel\n");
    let (x, out) = (
        k.add_pointer_param("x", DType::I8),
        k.add_pointer_param("out", I32),
    );
    let lanes = k.arange(4);
    let matrix = k.reshape(lanes, &[2, 2]);
    let addresses = k.offset_pointer(x, matrix);
    let block = k.load(addresses, None, None);
    let greatest = k.add_full(I32, 0x7fff_ffff, &[2, 2]);
    let sum = k.dot(block, block, greatest);
    let places = k.offset_pointer(out, matrix);
    k.store(places, sum, None);
    run(
        &k.finish(),
        Quirk::DotSaturates,
        NEW,
        // 1 0 times itself, and the second row is 0 1 beside a negative number: -1 times the greatest stays below it.
        (DType::I8, [1, 0, 0xff, 1]),
        (I32, &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_fffd, 0x7fff_ffff]),
    );
}
