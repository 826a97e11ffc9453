//! Comparisons of two memories: memories in, bytes counted and elements shown out.

use cerith_accept::Accepted;
use cerith_memory::{ByteState, Memory, NamedTensor, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_verdict::{BitForBit, Tolerance, compare};

/// A storage of `bytes`, seen as these tensors.
fn build_byte_memory(content: &[u8], views: &[(&str, DType, i64)]) -> Memory {
    let mut storages = Storages::new();
    let id = storages.add("s", content.len() as u64).expect("small");
    assert!(storages.write(id, 0, content));
    let tensors = views
        .iter()
        .map(|&(name, dtype, offset)| {
            let mut tensor =
                Tensor::new_contiguous(id, dtype, &[content.len() as i64 / dtype.size() as i64 - offset]);
            tensor.offset = offset;
            NamedTensor {
                name: name.to_owned(),
                tensor,
            }
        })
        .collect();
    Memory::new(&storages, tensors)
}

#[test]
fn any_nan_equals_any_nan_of_the_dtype_that_shows_it() {
    let check = |dtype: DType, left: u64, right: u64, same: bool| {
        let word = |bits: u64| bits.to_le_bytes()[..dtype.size()].to_vec();
        let left_memory = build_byte_memory(&word(left), &[("x", dtype, 0)]);
        let right_memory = build_byte_memory(&word(right), &[("x", dtype, 0)]);
        let comparison = compare(&left_memory, &right_memory, None, &BitForBit);
        assert_eq!(comparison.is_same(), same, "{dtype} {left:#x} {right:#x}");
    };
    check(DType::F32, 0x7fc0_0000, 0xffc0_0001, true);
    check(DType::F32, 0x7f80_0000, 0x7fc0_0000, false);
    check(DType::F32, 0x8000_0000, 0, false);
    check(DType::I32, 0x7fc0_0000, 0xffc0_0001, false);
    check(DType::F16, 0x7e00, 0xfe01, true);
    check(DType::BF16, 0x7fc0, 0xffc1, true);
    check(DType::F64, 0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0001, true);
    check(DType::F8E5, 0x7f, 0xfe, true);
    check(DType::F8E4NV, 0x7f, 0xff, true);
    check(DType::F8E4B15, 0x7f, 0xff, false);
}

/// An execution left these bytes; nothing else has a bound.
struct OtherExecution<'a>(&'a [u8]);

impl Tolerance for OtherExecution<'_> {
    fn find_accepted(&self, _: StorageId, byte: usize) -> (usize, Accepted) {
        (byte, Accepted::Exact)
    }

    fn can_leave(&self, _: StorageId, first: usize, bytes: &[u8]) -> bool {
        self.0.get(first..first + bytes.len()) == Some(bytes)
    }
}

#[test]
fn what_another_execution_left_is_accepted() {
    let check = |places: &[(usize, u8, u8)], accepted: u64, differing: u64| {
        let [mut another, mut engine] = [[0; 32]; 2];
        for &(at, by_another, by_engine) in places {
            (another[at], engine[at]) = (by_another, by_engine);
        }
        // Which dtype an element was stored as is not known.
        for dtype in [DType::I8, DType::F16, DType::F64] {
            let views = [("x", dtype, 0)];
            let (left, right) = (
                build_byte_memory(&[0; 32], &views),
                build_byte_memory(&engine, &views),
            );
            let comparison = compare(&left, &right, None, &OtherExecution(&another));
            let got = (comparison.bytes.accepted, comparison.differing);
            let accepted = accepted * dtype.size() as u64;
            assert_eq!(got, (accepted, differing), "{dtype} {places:?}");
        }
    };
    check(&[(1, 9, 9)], 1, 0);
    check(&[(1, 9, 8)], 0, 1);
    check(&[(1, 9, 9), (18, 7, 7)], 2, 0);
    check(&[(1, 9, 9), (18, 7, 6)], 1, 1);
    // A byte of one and a byte of the other are not an element of either.
    check(&[(1, 9, 9), (2, 7, 0)], 0, 1);
    check(&[(2, 7, 0), (6, 9, 9)], 0, 1);
    // Unwritten bytes stay unwritten, even if an execution left values there.
    let mut unwritten = build_byte_memory(&[1, 2], &[("x", DType::F16, 0)]);
    unwritten.parts_mut(StorageId(0)).1.fill(ByteState::Uninit);
    let engine = build_byte_memory(&[1, 9], &[]);
    let comparison = compare(&unwritten, &engine, Some(&unwritten), &OtherExecution(&[1, 9]));
    assert_eq!(comparison.differing, 1);
}

#[test]
fn undefined_bytes_are_left_out_and_unwritten_ones_must_stay_so() {
    let reference = {
        let mut memory = build_byte_memory(&[1, 2, 3, 4, 5, 6, 7, 8], &[("x", DType::I8, 0)]);
        let states = memory.parts_mut(StorageId(0)).1;
        states[1] = ByteState::Poison;
        states[2] = ByteState::Uninit;
        memory
    };
    let other = build_byte_memory(&[1, 9, 3, 4, 5, 6, 7, 8], &[]);
    let comparison = compare(&reference, &other, Some(&reference), &BitForBit);
    assert!(comparison.is_same());
    assert_eq!((comparison.bytes.compared, comparison.bytes.undefined), (6, 1));

    let other = build_byte_memory(&[1, 9, 9, 4, 5, 6, 7, 8], &[]);
    let comparison = compare(&reference, &other, Some(&reference), &BitForBit);
    assert_eq!(comparison.differing, 1);
    assert!(comparison.first[0].unwritten);
}

#[test]
fn a_difference_names_storage_tensor_index_values_and_bits() {
    let left = build_byte_memory(
        &[0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 0, 0],
        &[("x", DType::F32, 0), ("y", DType::F32, 1)],
    );
    let right = build_byte_memory(&[0, 0, 128, 63, 0, 0, 0, 0, 0, 0, 128, 191], &[]);
    let comparison = compare(&left, &right, None, &BitForBit);
    let shown: Vec<String> = comparison
        .first
        .iter()
        .map(|e| {
            format!(
                "{} byte {} {:?} {} {:x?} {:?}",
                e.storage, e.byte, e.dtype, e.size, e.bits, e.values
            )
        })
        .collect();
    assert_eq!(comparison.differing, 2);
    assert_eq!(
        shown,
        [
            "s byte 4 Some(F32) 4 [40000000, 0] [\"2.0\", \"0.0\"]",
            "s byte 8 Some(F32) 4 [0, bf800000] [\"0.0\", \"-1.0\"]",
        ]
    );
    assert_eq!(
        comparison.first[0]
            .tensor
            .as_ref()
            .map(|(name, at)| (name.as_str(), at.to_vec())),
        Some(("x", vec![1]))
    );
}

#[test]
fn addresses_are_shown_as_tensor_and_offset() {
    let build = |target_offset: i64| {
        let mut storages = Storages::new();
        let table = storages.add("table", 8).expect("small");
        let x = storages.add("x", 64).expect("small");
        assert!(storages.write_pointer(table, 0, x, target_offset));
        let tensors = vec![
            NamedTensor {
                name: "table".into(),
                tensor: Tensor::new_contiguous(table, DType::I64, &[1]),
            },
            NamedTensor {
                name: "x".into(),
                tensor: Tensor::new_contiguous(x, DType::F32, &[16]),
            },
        ];
        Memory::new(&storages, tensors)
    };
    let comparison = compare(&build(0), &build(12), None, &BitForBit);
    assert_eq!(
        comparison.first[0].values,
        ["&x + 0".to_owned(), "&x + 12".to_owned()]
    );
}

/// One storage of four f32, seen as `x`.
fn build_memory(values: [f32; 4]) -> Memory {
    let mut storages = Storages::new();
    let id = storages.add("x", 16).expect("small");
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert!(storages.write(id, 0, &bytes));
    let tensor = Tensor::new_contiguous(id, DType::F32, &[4]);
    Memory::new(
        &storages,
        vec![NamedTensor {
            name: "x".to_owned(),
            tensor,
        }],
    )
}

/// Every element may be off by a tenth.
struct Tenth;

impl Tolerance for Tenth {
    fn find_accepted(&self, _: StorageId, byte: usize) -> (usize, Accepted) {
        let accepted = Accepted::Within {
            dtype: DType::F32,
            low: 0.9,
            high: 1.1,
            infinities: [false; 2],
            nan: false,
        };
        (byte / 4 * 4, accepted)
    }
}

#[test]
fn a_value_inside_the_bounds_is_accepted_and_counted() {
    let check = |value: f32, accepted: u64, differing: u64| {
        let comparison = compare(
            &build_memory([1.0; 4]),
            &build_memory([value, 1.0, 1.0, 1.0]),
            None,
            &Tenth,
        );
        assert_eq!(
            (comparison.bytes.accepted, comparison.differing),
            (accepted, differing),
            "{value}"
        );
        // No byte counts twice, and none is lost.
        assert_eq!(
            comparison.bytes.compared + comparison.bytes.accepted,
            16,
            "{value}"
        );
    };
    check(1.05, 4, 0);
    check(1.2, 0, 1);
    check(f32::NAN, 0, 1);
    check(1.0, 0, 0);
}

proptest::proptest! {
    #[test]
    fn a_memory_is_the_same_as_itself_and_a_changed_byte_is_found(
        content in proptest::collection::vec(0u8.., 1..64),
        at in 0usize..64,
        flip in 1u8..,
    ) {
        let views = [("x", DType::I8, 0)];
        let left = build_byte_memory(&content, &views);
        proptest::prop_assert!(compare(&left, &left.clone(), None, &BitForBit).is_same());
        let mut changed = content.clone();
        let at = at % content.len();
        changed[at] ^= flip;
        let comparison = compare(&left, &build_byte_memory(&changed, &views), None, &BitForBit);
        proptest::prop_assert_eq!(comparison.differing, 1);
        proptest::prop_assert_eq!(comparison.first[0].byte, at);
    }
}
