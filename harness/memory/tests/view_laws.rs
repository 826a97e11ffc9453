//! Laws of the view operations: what holds for every tensor and every argument, huge and negative ones included.

use conch_memory::{ByteState, Index, Storages, Tensor, TorchError, overlap};
use conch_tile::DType;
use proptest::prelude::*;

/// An operation with arbitrary arguments.
#[derive(Clone, Debug)]
enum Op {
    Transpose(i64, i64),
    Permute(Vec<i64>),
    Expand(Vec<i64>),
    View(Vec<i64>),
    Reshape(Vec<i64>),
    Flatten(i64, i64),
    Unflatten(i64, Vec<i64>),
    Narrow(i64, i64, i64),
    Select(i64, i64),
    Index(Vec<Index>),
    Unfold(i64, i64, i64),
    Diagonal(i64, i64, i64),
    AsStrided(Vec<i64>, Vec<i64>, Option<i64>),
    Dtype(DType),
    Squeeze(Option<Vec<i64>>),
    Unsqueeze(i64),
    Movedim(Vec<i64>, Vec<i64>),
    Split(i64, i64),
    Chunk(i64, i64),
    TensorSplit(i64, i64),
    Clone,
    Contiguous,
    Flip(Vec<i64>),
    Repeat(Vec<i64>),
}

fn apply(op: &Op, x: &Tensor, storages: &mut Storages) -> Result<Tensor, TorchError> {
    let bytes = storages.size(x.storage);
    let first = |pieces: Vec<Tensor>| pieces.into_iter().next_back().unwrap_or_else(|| x.clone());
    match op {
        Op::Transpose(a, b) => x.transpose(*a, *b),
        Op::Permute(dims) => x.permute(dims),
        Op::Expand(sizes) => x.expand(sizes),
        Op::View(shape) => x.view(shape),
        Op::Reshape(shape) => storages.reshape(x, shape, "copy"),
        Op::Flatten(a, b) => storages.flatten(x, *a, *b, "copy"),
        Op::Unflatten(dim, sizes) => x.unflatten(*dim, sizes),
        Op::Narrow(dim, start, length) => x.narrow(*dim, *start, *length),
        Op::Select(dim, index) => x.select(*dim, *index),
        Op::Index(items) => x.index(items),
        Op::Unfold(dim, size, step) => x.unfold(*dim, *size, *step),
        Op::Diagonal(offset, a, b) => x.diagonal(*offset, *a, *b),
        Op::AsStrided(size, stride, offset) => x.as_strided(size, stride, *offset, bytes),
        Op::Dtype(dtype) => x.view_dtype(*dtype),
        Op::Squeeze(None) => Ok(x.squeeze()),
        Op::Squeeze(Some(dims)) => x.squeeze_dims(dims),
        Op::Unsqueeze(dim) => x.unsqueeze(*dim),
        Op::Movedim(source, destination) => x.movedim(source, destination),
        Op::Split(size, dim) => x.split(*size, *dim).map(first),
        Op::Chunk(chunks, dim) => x.chunk(*chunks, *dim).map(first),
        Op::TensorSplit(sections, dim) => x.tensor_split(*sections, *dim).map(first),
        Op::Clone => storages.clone_tensor(x, "copy"),
        Op::Contiguous => storages.contiguous(x, "copy"),
        Op::Flip(dims) => storages.flip(x, dims, "copy"),
        Op::Repeat(sizes) => storages.repeat(x, sizes, "copy"),
    }
}

/// Mostly small numbers, and those where arithmetic overflows.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![12 => -4i64..7, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => Just(1 << 40), 1 => any::<i64>()]
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(number(), 0..4)
}

fn index() -> impl Strategy<Value = Index> {
    let bound = || prop::option::of(number());
    prop_oneof![
        number().prop_map(Index::At),
        (bound(), bound(), bound()).prop_map(|(start, end, step)| Index::Slice { start, end, step }),
        Just(Index::NewAxis),
        Just(Index::Ellipsis),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (number(), number()).prop_map(|(a, b)| Op::Transpose(a, b)),
        numbers().prop_map(Op::Permute),
        numbers().prop_map(Op::Expand),
        numbers().prop_map(Op::View),
        numbers().prop_map(Op::Reshape),
        (number(), number()).prop_map(|(a, b)| Op::Flatten(a, b)),
        (number(), numbers()).prop_map(|(dim, sizes)| Op::Unflatten(dim, sizes)),
        (number(), number(), number()).prop_map(|(a, b, c)| Op::Narrow(a, b, c)),
        (number(), number()).prop_map(|(a, b)| Op::Select(a, b)),
        prop::collection::vec(index(), 0..4).prop_map(Op::Index),
        (number(), number(), number()).prop_map(|(a, b, c)| Op::Unfold(a, b, c)),
        (number(), number(), number()).prop_map(|(a, b, c)| Op::Diagonal(a, b, c)),
        (numbers(), numbers(), prop::option::of(number())).prop_map(|(a, b, c)| Op::AsStrided(a, b, c)),
        prop::sample::select(DType::ALL.to_vec()).prop_map(Op::Dtype),
        prop::option::of(numbers()).prop_map(Op::Squeeze),
        number().prop_map(Op::Unsqueeze),
        (numbers(), numbers()).prop_map(|(a, b)| Op::Movedim(a, b)),
        (number(), number()).prop_map(|(a, b)| Op::Split(a, b)),
        (number(), number()).prop_map(|(a, b)| Op::Chunk(a, b)),
        (number(), number()).prop_map(|(a, b)| Op::TensorSplit(a, b)),
        Just(Op::Clone),
        Just(Op::Contiguous),
        numbers().prop_map(Op::Flip),
        numbers().prop_map(Op::Repeat),
    ]
}

/// A storage of numbered bytes and a tensor that some operations were applied to.
fn viewed() -> impl Strategy<Value = (Storages, Tensor)> {
    let dtype = prop::sample::select(DType::ALL.to_vec());
    let shape = prop::collection::vec(0i64..5, 0..4);
    (dtype, shape, prop::collection::vec(op(), 0..5)).prop_map(|(dtype, shape, ops)| {
        let mut storages = Storages::new();
        let mut x = storages.allocate("base", dtype, &shape).expect("a small storage");
        let bytes: Vec<u8> = (0..storages.size(x.storage)).map(|at| at as u8).collect();
        assert!(storages.write(x.storage, 0, &bytes));
        for op in ops {
            match apply(&op, &x, &mut storages) {
                Ok(next) if next.numel() <= 4096 => x = next,
                _ => {}
            }
        }
        (storages, x)
    })
}

/// The bytes of every element in order of indices.
fn elements(storages: &Storages, x: &Tensor) -> Vec<Vec<u8>> {
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
    fn no_operation_leaves_its_storage((mut storages, x) in viewed(), op in op()) {
        if let Ok(y) = apply(&op, &x, &mut storages) {
            prop_assert!(y.is_proper(), "{y:?}");
            prop_assert!(y.check_bounds(storages.size(y.storage)).is_ok(), "{op:?} of {x:?} is {y:?}");
            prop_assert!(overlap::covered(&y).is_some());
        }
    }

    #[test]
    fn transposing_twice_changes_nothing((_, x) in viewed(), a in -4i64..4, b in -4i64..4) {
        if let Ok(y) = x.transpose(a, b) {
            prop_assert_eq!(y.transpose(b, a), Ok(x.clone()));
        }
        prop_assert_eq!(x.reversed().reversed(), x);
    }

    #[test]
    fn copies_hold_the_same_elements((mut storages, x) in viewed()) {
        let expected = elements(&storages, &x);
        let cloned = storages.clone_tensor(&x, "clone").expect("a small copy");
        prop_assert_eq!(&elements(&storages, &cloned), &expected);
        prop_assert!(cloned.is_non_overlapping_and_dense());
        prop_assert_ne!(cloned.storage, x.storage);
        let contiguous = storages.contiguous(&x, "contiguous").expect("a small copy");
        prop_assert_eq!(&elements(&storages, &contiguous), &expected);
        prop_assert!(contiguous.is_contiguous());
        let flat = storages.reshape(&x, &[x.numel()], "reshape").expect("as many elements");
        prop_assert_eq!(&elements(&storages, &flat), &expected);
        prop_assert!(storages.get(cloned.storage).expect("its storage").states().iter().all(|&s| s == ByteState::Init));
    }

    #[test]
    fn flipping_twice_changes_no_element((mut storages, x) in viewed(), dim in -3i64..3) {
        if let Ok(once) = storages.flip(&x, &[dim], "flip") {
            let twice = storages.flip(&once, &[dim], "flip").expect("the same dimension");
            prop_assert_eq!(elements(&storages, &twice), elements(&storages, &x));
            let last = once.select(dim, 0).ok().map(|first| elements(&storages, &first));
            prop_assert_eq!(last, x.select(dim, -1).ok().map(|last| elements(&storages, &last)));
        }
    }

    #[test]
    fn pieces_of_a_split_make_up_the_whole((storages, x) in viewed(), size in 1i64..4, dim in -3i64..3) {
        let Ok(pieces) = x.split(size, dim) else { return Ok(()) };
        let at = dim.rem_euclid(x.dim() as i64);
        let rows = |t: &Tensor| elements(&storages, &t.movedim(&[at], &[0]).expect("a dimension"));
        let joined: Vec<Vec<u8>> = pieces.iter().flat_map(rows).collect();
        prop_assert_eq!(joined, rows(&x));
    }

    #[test]
    fn a_view_shows_the_elements_of_a_reshape((mut storages, x) in viewed(), shape in numbers()) {
        let copied = storages.reshape(&x, &shape, "reshape");
        if let Ok(view) = x.view(&shape) {
            prop_assert_eq!(Ok(&view), copied.as_ref());
            prop_assert_eq!(elements(&storages, &view), elements(&storages, &x));
        }
    }
}
