//! Lanes as text.

use super::*;

fn check(dtype: DType, bits: u64, expected: &str) {
    assert_eq!(format(dtype, bits), expected);
    assert!(
        parse(dtype, expected).is_ok_and(|read| is_same_lane(dtype, read, bits)),
        "{expected} of {dtype}"
    );
}

#[test]
fn numbers_read_as_people_write_them() {
    check(DType::I1, 1, "true");
    check(DType::I8, 0x80, "-128");
    check(DType::U64, u64::MAX, "18446744073709551615");
    check(DType::F32, 0.1f32.to_bits().into(), "0.1");
    check(DType::F32, 0x8000_0000, "-0.0");
    check(DType::F32, 1e30f32.to_bits().into(), "1e30");
    check(DType::F64, 0.1f64.to_bits(), "0.1");
    check(DType::F16, 0x2e66, "0.1");
    check(DType::F16, 0x7bff, "65504.0");
    check(DType::BF16, 0x3dcd, "0.1");
    check(DType::F8E4NV, 0x7e, "448.0");
    check(DType::F8E4B15, 0x7e, "1.75");
    check(DType::BF16, 0x3f81, "1.0078125");
    check(DType::F8E5, 0x7c, "inf");
    check(DType::F8E5, 0xfc, "-inf");
    check(DType::F16, 0x7e00, "nan");
}

#[test]
fn every_narrow_float_is_read_back() {
    for dtype in NARROW {
        for bits in 0..1u64 << dtype.bits() {
            let text = format(dtype, bits);
            assert!(
                parse(dtype, &text).is_ok_and(|read| is_same_lane(dtype, read, bits)),
                "{dtype} {bits:#x} {text}"
            );
        }
    }
    for dtype in [DType::F32, DType::F64, DType::I16, DType::U32, DType::I64] {
        for bits in sample_lanes(dtype) {
            let text = format(dtype, bits);
            assert!(
                parse(dtype, &text).is_ok_and(|read| is_same_lane(dtype, read, bits)),
                "{dtype} {bits:#x} {text}"
            );
        }
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for (dtype, text, expected) in [
        (DType::I8, "128", "`128` is out of range for i8"),
        (DType::U8, "-1", "`-1` is out of range for u8"),
        (DType::I1, "2", "`2` is out of range for i1"),
        (DType::I32, "1.5", "`1.5` is not a number"),
        (DType::I32, "", "`` is not a number"),
        (DType::I32, "--1", "`--1` is not a number"),
        (DType::F32, "0x", "`0x` is not a number"),
        (DType::F32, "one", "`one` is not a number"),
        (
            DType::I64,
            "99999999999999999999999999999999999999999999",
            "`99999999999999999999999999999999999999999999` is not a number",
        ),
    ] {
        assert_eq!(
            parse(dtype, text).map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }
    assert_eq!(parse(DType::I32, "0xff"), Ok(255));
    assert_eq!(parse(DType::I32, " -0b11 "), Ok(0xffff_fffd));
    assert_eq!(parse(DType::I32, "1_000"), Ok(1000));
    assert_eq!(parse(DType::F32, "3"), Ok(3f32.to_bits().into()));
    assert_eq!(parse(DType::F32, "-0"), Ok(0x8000_0000));
    assert_eq!(parse(DType::F32, "True"), Ok(1f32.to_bits().into()));
    assert_eq!(parse(DType::F8E4NV, "1e9"), Ok(0x7f));
}
