use std::collections::BTreeSet;

use cerith_tile::DType;
use proptest::prelude::*;

use super::*;
use crate::storage::StorageId;

fn tensor(dtype: DType, shape: &[i64], strides: &[i64], offset: i64) -> Tensor {
    Tensor {
        storage: StorageId(0),
        dtype,
        shape: shape.into(),
        strides: strides.into(),
        offset,
    }
}

/// First byte of every element, by index.
fn collect_starts(tensor: &Tensor) -> Vec<(Vec<i64>, i64)> {
    let mut all = vec![(Vec::new(), tensor.offset)];
    for (&size, &stride) in tensor.shape.iter().zip(&tensor.strides) {
        all = all
            .into_iter()
            .flat_map(|(index, at)| {
                (0..size).map(move |nth| ([index.clone(), vec![nth]].concat(), at + nth * stride))
            })
            .collect();
    }
    let width = tensor.element_size() as i64;
    all.into_iter().map(|(index, at)| (index, at * width)).collect()
}

fn collect_bytes(tensor: &Tensor) -> BTreeSet<i64> {
    let width = tensor.element_size() as i64;
    collect_starts(tensor)
        .into_iter()
        .flat_map(|(_, at)| at..at + width)
        .collect()
}

fn check(a: &Tensor, b: &Tensor, shared_bytes: u64) {
    assert_eq!(
        find_shared_bytes(a, b).map(|ranges| ranges.len()),
        Some(shared_bytes),
        "{a:?} {b:?}"
    );
    assert_eq!(overlaps(a, b), Some(shared_bytes > 0));
    assert_eq!(find_shared_bytes(a, b), find_shared_bytes(b, a));
}

#[test]
fn columns_of_a_split_matrix_are_apart_however_large_it_is() {
    let left = tensor(DType::F32, &[1 << 40, 2], &[6, 1], 0);
    let right = tensor(DType::F32, &[1 << 40, 4], &[6, 1], 2);
    check(&left, &right, 0);
    check(
        &tensor(DType::F32, &[4, 2], &[6, 1], 0),
        &tensor(DType::F32, &[4, 4], &[6, 1], 1),
        16,
    );
}

#[test]
fn the_same_bytes_under_two_dtypes_are_shared_in_part() {
    let halves = tensor(DType::F16, &[4], &[2], 1);
    let floats = tensor(DType::F32, &[4], &[1], 0);
    check(&halves, &floats, 8);
    check(
        &tensor(DType::F16, &[2], &[2], 1),
        &tensor(DType::F32, &[1], &[1], 1),
        2,
    );
    check(
        &tensor(DType::F16, &[2], &[2], 0),
        &tensor(DType::F16, &[2], &[2], 1),
        0,
    );
}

#[test]
fn expanded_and_empty_tensors_cover_what_they_show() {
    let row = tensor(DType::I8, &[1 << 50, 3], &[0, 1], 5);
    assert_eq!(find_covered_bytes(&row).map(|ranges| ranges.len()), Some(3));
    assert_eq!(overlaps_itself(&row), Some(true));
    check(&row, &tensor(DType::I8, &[1], &[1], 7), 1);
    check(&row, &tensor(DType::I8, &[1], &[1], 8), 0);
    check(&tensor(DType::I8, &[0, 9], &[9, 1], 0), &row, 0);
    let elsewhere = Tensor {
        storage: StorageId(1),
        ..row.clone()
    };
    check(&row, &elsewhere, 0);
}

#[test]
fn more_elements_than_bytes_are_no_more_work_than_the_bytes() {
    let windows = tensor(DType::U8, &[1000, 1000, 1000, 1000], &[7, 11, 13, 400], 0);
    let shown = find_covered_bytes(&windows).expect("a small span");
    assert_eq!(shown.ranges().first(), Some(&(0..1)));
    assert_eq!(overlaps_itself(&windows), Some(true));
    assert!(shown.contains(31) && !shown.contains(30));
}

#[test]
fn what_is_inside_no_storage_is_answered_or_refused_at_once() {
    let far = tensor(
        DType::F64,
        &[1 << 40, 1 << 40],
        &[1 << 20, (1 << 21) + 1],
        i64::MAX - 3,
    );
    assert_eq!(find_covered_bytes(&far), None);
    assert_eq!(overlaps(&far, &tensor(DType::F64, &[1], &[1], 0)), None);
    assert_eq!(far.index_of_byte(0), None);
    let wide = Tensor {
        offset: 16,
        ..far.clone()
    };
    assert_eq!(find_covered_bytes(&wide), None);
    assert_eq!(overlaps(&wide, &tensor(DType::F64, &[2], &[1], 14)), Some(false));
    assert_eq!(overlaps(&wide, &far), None);
    let negative = tensor(DType::I8, &[4], &[-1], 3);
    assert_eq!(
        (
            find_covered_bytes(&negative),
            overlaps_itself(&negative),
            negative.index_of_byte(2)
        ),
        (None, None, None)
    );
}

/// Small tensors of every kind of stride, the overlapping ones included.
fn any_tensor() -> impl Strategy<Value = Tensor> {
    let dtype = prop::sample::select(vec![DType::I8, DType::F16, DType::F32, DType::F64]);
    let dims = prop::collection::vec((0i64..5, 0i64..9), 0..4);
    (dtype, dims, 0i64..12).prop_map(|(dtype, dims, offset)| {
        let (shape, strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
        tensor(dtype, &shape, &strides, offset)
    })
}

proptest! {
    #[test]
    fn coverage_agrees_with_counting(t in any_tensor()) {
        let ranges = find_covered_bytes(&t).expect("a small tensor");
        let listed: BTreeSet<i64> = ranges.ranges().iter().cloned().flatten().collect();
        prop_assert_eq!(listed, collect_bytes(&t));
        prop_assert!(ranges.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
    }

    #[test]
    fn both_ways_to_list_runs_agree(t in any_tensor()) {
        if let Some(pattern) = Pattern::from_tensor(&t) {
            let span = pattern.end() - pattern.start;
            prop_assert_eq!(pattern.ranges(), Some(pattern.ranges_by_bits(span)));
        }
    }

    #[test]
    fn sharing_agrees_with_counting(a in any_tensor(), b in any_tensor()) {
        let both: BTreeSet<i64> = collect_bytes(&a).intersection(&collect_bytes(&b)).copied().collect();
        let ranges = find_shared_bytes(&a, &b).expect("small tensors");
        prop_assert_eq!(ranges.ranges().iter().cloned().flatten().collect::<BTreeSet<i64>>(), both.clone());
        prop_assert_eq!(overlaps(&a, &b), Some(!both.is_empty()));
    }

    #[test]
    fn self_overlap_agrees_with_counting(t in any_tensor()) {
        let all = collect_starts(&t);
        let distinct: BTreeSet<i64> = all.iter().map(|(_, at)| *at).collect();
        prop_assert_eq!(overlaps_itself(&t), Some(distinct.len() < all.len()));
    }

    #[test]
    fn a_byte_leads_back_to_an_element_that_covers_it(t in any_tensor(), byte in 0i64..400) {
        let width = t.element_size() as i64;
        match t.index_of_byte(byte) {
            Some(index) => prop_assert!(
                collect_starts(&t).iter().any(|(at, start)| at[..] == index[..] && (*start..start + width).contains(&byte))
            ),
            None => prop_assert!(!collect_bytes(&t).contains(&byte)),
        }
    }
}
