//! Laws of the view operations for every tensor and every argument, including huge and negative ones. A model defines
//! the result of each operation (`cerith_gen::view::check`); `fuzz/` compares many more.

use cerith_gen::view::{self, Chain};
use cerith_memory::{ByteState, Storages, Tensor};
use proptest::prelude::*;

/// Mostly small numbers, and those where arithmetic overflows.
fn any_number() -> impl Strategy<Value = i64> {
    prop_oneof![12 => -4i64..7, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => Just(1 << 40), 1 => any::<i64>()]
}

fn any_numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(any_number(), 0..4)
}

/// A storage of numbered bytes and a tensor that some operations were applied to.
fn any_view() -> impl Strategy<Value = (Storages, Tensor)> {
    prop::collection::vec(any::<u8>(), 0..100).prop_map(|bytes| Chain::from_bytes(&bytes).tensor())
}

/// The bytes of every element in order of indices.
fn collect_elements(storages: &Storages, x: &Tensor) -> Vec<Vec<u8>> {
    if x.numel() == 0 {
        return Vec::new();
    }
    let mut starts = vec![x.offset];
    for (&size, &stride) in x.shape.iter().zip(&x.strides) {
        starts = starts
            .iter()
            .flat_map(|&start| (0..size).map(move |nth| start + nth * stride))
            .collect();
    }
    let width = x.element_size();
    let bytes = storages.get(x.storage).expect("its storage").bytes();
    starts
        .into_iter()
        .map(|start| bytes[start as usize * width..][..width].to_vec())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn operations_are_what_the_model_says(bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        if let Err(fault) = view::check(&bytes) {
            return Err(TestCaseError::fail(fault.0));
        }
    }

    #[test]
    fn transposing_twice_changes_nothing((_, x) in any_view(), a in -4i64..4, b in -4i64..4) {
        if let Ok(y) = x.transpose(a, b) {
            prop_assert_eq!(y.transpose(b, a), Ok(x.clone()));
        }
        prop_assert_eq!(x.reversed().reversed(), x);
    }

    #[test]
    fn copies_hold_the_same_elements((mut storages, x) in any_view()) {
        let expected = collect_elements(&storages, &x);
        let cloned = storages.clone_tensor(&x, "clone").expect("a small copy");
        prop_assert_eq!(&collect_elements(&storages, &cloned), &expected);
        prop_assert!(cloned.is_non_overlapping_and_dense());
        prop_assert_ne!(cloned.storage, x.storage);
        let contiguous = storages.contiguous(&x, "contiguous").expect("a small copy");
        prop_assert_eq!(&collect_elements(&storages, &contiguous), &expected);
        prop_assert!(contiguous.is_contiguous());
        let flat = storages.reshape(&x, &[x.numel()], "reshape").expect("as many elements");
        prop_assert_eq!(&collect_elements(&storages, &flat), &expected);
        prop_assert!(storages.get(cloned.storage).expect("its storage").states().iter().all(|&s| s == ByteState::Init));
    }

    #[test]
    fn flipping_twice_changes_no_element((mut storages, x) in any_view(), dim in -3i64..3) {
        if let Ok(once) = storages.flip(&x, &[dim], "flip") {
            let twice = storages.flip(&once, &[dim], "flip").expect("the same dimension");
            prop_assert_eq!(collect_elements(&storages, &twice), collect_elements(&storages, &x));
            let last = once.select(dim, 0).ok().map(|first| collect_elements(&storages, &first));
            prop_assert_eq!(last, x.select(dim, -1).ok().map(|last| collect_elements(&storages, &last)));
        }
    }

    #[test]
    fn pieces_of_a_split_make_up_the_whole((storages, x) in any_view(), size in 1i64..4, dim in -3i64..3) {
        let Ok(pieces) = x.split(size, dim) else { return Ok(()) };
        let at = dim.rem_euclid(x.dim() as i64);
        let rows = |t: &Tensor| collect_elements(&storages, &t.movedim(&[at], &[0]).expect("a dimension"));
        let joined: Vec<Vec<u8>> = pieces.iter().flat_map(rows).collect();
        prop_assert_eq!(joined, rows(&x));
    }

    #[test]
    fn a_view_shows_the_elements_of_a_reshape((mut storages, x) in any_view(), shape in any_numbers()) {
        let copied = storages.reshape(&x, &shape, "reshape");
        if let Ok(view) = x.view(&shape) {
            prop_assert_eq!(Ok(&view), copied.as_ref());
            prop_assert_eq!(collect_elements(&storages, &view), collect_elements(&storages, &x));
        }
    }
}
