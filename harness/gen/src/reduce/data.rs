//! Candidates with simpler data: fewer launches, programs and options, contiguous tensors, smaller storages with simpler elements
//! and dtypes, rounder numbers as arguments. The kernel stays unchanged, except for names of dtypes.

use std::sync::Arc;

use cerith_case::{ArgValue, Descriptor, Launch, Padding};
use cerith_memory::{ByteState, Tensor};
use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric;
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use super::candidate::{Candidate, CandidateStorage, Change, Content, Edit, StorageBytes};
use super::numbers::{shrink_float, shrink_int};
use super::tree::Tree;

/// Storages with more elements than this are not simplified element by element.
const MAX_ELEMENTWISE: usize = 32;

/// Removes launches: half of them, a quarter, and so on down to each one.
pub(super) fn remove_launches(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    let all = &candidate.launches;
    let mut changes = Vec::new();
    let mut length = all.len() / 2;
    while length > 0 {
        for first in (0..all.len()).step_by(length) {
            let mut fewer = all.clone();
            fewer.drain(first..(first + length).min(all.len()));
            if !fewer.is_empty() {
                changes.push(of_launches(fewer));
            }
        }
        length /= 2;
    }
    changes
}

fn of_launches(launches: Vec<Launch>) -> Change {
    Change {
        launches: Some(launches),
        ..Change::default()
    }
}

/// Collects the changes of one launch at a time.
fn each_launch(candidate: &Candidate, mut change: impl FnMut(&Launch) -> Vec<Launch>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, launch) in candidate.launches.iter().enumerate() {
        for other in change(launch) {
            let mut launches = candidate.launches.clone();
            launches.splice(at..=at, [other]);
            changes.push(of_launches(launches));
        }
    }
    changes
}

/// Removes all options, then each one.
pub(super) fn remove_options(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if candidate.launches.iter().any(|launch| !launch.options.is_empty()) {
        let mut launches = candidate.launches.clone();
        for launch in &mut launches {
            launch.options.clear();
        }
        changes.push(of_launches(launches));
    }
    changes.extend(each_launch(candidate, |launch| {
        (0..launch.options.len())
            .map(|at| {
                let mut fewer = launch.clone();
                fewer.options.remove(at);
                fewer
            })
            .collect()
    }));
    changes
}

/// Shrinks grids, and removes host functions.
pub(super) fn shrink_grids(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    each_launch(candidate, |launch| {
        let mut found = Vec::new();
        let mut with = |grid: [u32; 3], dims: u8| {
            if grid != launch.grid || dims != launch.grid_dims {
                let mut smaller = launch.clone();
                (smaller.grid, smaller.grid_dims) = (grid, dims);
                found.push(smaller);
            }
        };
        let largest = launch.grid.iter().copied().max().unwrap_or(0);
        if largest > 0 {
            with([1, 1, 1], 1);
        }
        for dim in 0..3 {
            let mut grid = launch.grid;
            for smaller in [1, launch.grid[dim] / 2, launch.grid[dim].saturating_sub(1)] {
                if (1..launch.grid[dim]).contains(&smaller) {
                    grid[dim] = smaller;
                    with(grid, launch.grid_dims);
                }
            }
        }
        if launch.host.is_some() {
            let mut plain = launch.clone();
            plain.host = None;
            found.push(plain);
        }
        found
    })
}

/// Collects the tensors among the arguments.
fn collect_tensors(launches: &mut [Launch]) -> Vec<&mut Tensor> {
    fn collect_from_value<'t>(value: &'t mut ArgValue, found: &mut Vec<&'t mut Tensor>) {
        match value {
            ArgValue::Tensor { tensor, .. } => found.push(tensor),
            ArgValue::Constexpr(inner) => collect_from_value(inner, found),
            ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
                for item in items {
                    collect_from_value(item, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for launch in launches {
        let values = launch
            .positional
            .iter_mut()
            .chain(launch.keyword.iter_mut().map(|(_, arg)| arg));
        values.for_each(|arg| collect_from_value(&mut arg.value, &mut found));
    }
    found
}

/// Collects the descriptors among the arguments.
fn collect_descriptors(launches: &mut [Launch]) -> Vec<&mut Descriptor> {
    let args = launches.iter_mut().flat_map(|launch| {
        let named = launch.keyword.iter_mut().map(|(_, arg)| arg);
        launch.positional.iter_mut().chain(named)
    });
    args.filter_map(|arg| match &mut arg.value {
        ArgValue::Descriptor(descriptor) => Some(&mut **descriptor),
        _ => None,
    })
    .collect()
}

/// Simplifies descriptors: shrinks tensors to one block, shrinks blocks, and removes padding and rounding.
pub(super) fn simplify_descriptors(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let literals: Vec<TextRange> = tree
        .all_expressions()
        .into_iter()
        .filter(|expr| matches!(expr, Expr::NumberLiteral(_)))
        .map(Ranged::range)
        .collect();
    let mut launches = candidate.launches.clone();
    let mut changes = Vec::new();
    for at in 0..collect_descriptors(&mut launches).len() {
        let with = |change: &dyn Fn(&mut Descriptor)| {
            let mut launches = candidate.launches.clone();
            if let Some(descriptor) = collect_descriptors(&mut launches).into_iter().nth(at) {
                change(descriptor);
                if !descriptor.is_whole() && descriptor.base.shape.len() == descriptor.shape.len() {
                    // The tensor is what is described.
                    descriptor.base.shape = descriptor.shape.as_slice().into();
                }
            }
            of_launches(launches)
        };
        changes.push(with(&|descriptor| descriptor.padding = Padding::Zero));
        changes.push(with(&|descriptor| descriptor.round_f32_to_tf32 = false));
        changes.push(with(&|descriptor| {
            let both = descriptor.shape.iter_mut().zip(&descriptor.block_shape);
            both.for_each(|(extent, block)| *extent = (*extent).min(*block));
        }));
        let blocks = collect_descriptors(&mut launches)
            .get(at)
            .map_or_else(Vec::new, |descriptor| descriptor.block_shape.clone());
        for (dim, extent) in blocks.into_iter().enumerate().filter(|(_, extent)| *extent > 1) {
            let halved = with(&|descriptor| {
                if let Some(slot) = descriptor.block_shape.get_mut(dim) {
                    *slot = extent / 2;
                }
            });
            // The kernel contains the extent too.
            let places = literals
                .iter()
                .filter(|range| tree.slice(**range) == extent.to_string());
            let edits: Vec<Edit> = places
                .map(|&range| Edit::new(range, (extent / 2).to_string()))
                .collect();
            if !edits.is_empty() {
                changes.push(Change {
                    edits,
                    ..halved.clone()
                });
            }
            changes.push(halved);
        }
    }
    changes
}

/// Simplifies views: replaces tensors by whole storages, sets offsets to 0, gives storages the dtype of their tensors, and flattens
/// storages.
pub(super) fn simplify_layouts(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    let whole = |tensor: &mut Tensor| {
        if let Some(held) = candidate.storages.get(tensor.storage.0 as usize) {
            *tensor = Tensor::new_contiguous(tensor.storage, held.dtype, &held.shape);
        }
    };
    let mut changes = Vec::new();
    let mut all = candidate.launches.clone();
    collect_tensors(&mut all).into_iter().for_each(whole);
    changes.push(of_launches(all));
    let mut seen: Vec<(usize, DType)> = Vec::new();
    let mut launches = candidate.launches.clone();
    let count = collect_tensors(&mut launches).len();
    for at in 0..count {
        let mut each = candidate.launches.clone();
        if let Some(tensor) = collect_tensors(&mut each).into_iter().nth(at) {
            seen.push((tensor.storage.0 as usize, tensor.dtype));
            whole(tensor);
        }
        changes.push(of_launches(each));
        let mut each = candidate.launches.clone();
        if let Some(tensor) = collect_tensors(&mut each).into_iter().nth(at) {
            tensor.offset = 0;
        }
        changes.push(of_launches(each));
    }
    for (at, dtype) in seen {
        let Some(held) = candidate.storages.get(at) else {
            continue;
        };
        let bytes = held.count() * held.dtype.size();
        let content = match &held.content {
            Content::Own(own) => Some(Content::Own(Arc::clone(own))),
            _ => held.to_bytes().map(|own| Content::Own(Arc::new(own))),
        };
        if let Some(content) = content
            && held.dtype != dtype
            && bytes % dtype.size() == 0
        {
            changes.push(with_storage(
                candidate,
                at,
                CandidateStorage {
                    dtype,
                    shape: vec![(bytes / dtype.size()) as i64],
                    content,
                    ..held.clone()
                },
            ));
        }
    }
    for (at, held) in candidate.storages.iter().enumerate() {
        if held.shape.len() != 1 {
            let shape = vec![held.count() as i64];
            changes.push(with_storage(
                candidate,
                at,
                CandidateStorage {
                    shape,
                    ..held.clone()
                },
            ));
        }
    }
    changes
}

/// Replaces a storage, and the tensors that cover all of it.
fn with_storage(candidate: &Candidate, at: usize, held: CandidateStorage) -> Change {
    let mut storages = candidate.storages.clone();
    let mut launches = candidate.launches.clone();
    if let Some(old) = candidate.storages.get(at) {
        for tensor in collect_tensors(&mut launches) {
            let all = Tensor::new_contiguous(tensor.storage, old.dtype, &old.shape);
            if tensor.storage.0 as usize == at && *tensor == all {
                *tensor = Tensor::new_contiguous(tensor.storage, held.dtype, &held.shape);
            }
        }
    }
    storages.splice(at..=at, [held]);
    Change {
        storages: Some(storages),
        launches: Some(launches),
        ..Change::default()
    }
}

/// Shrinks storages.
pub(super) fn shrink_storages(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, held) in candidate.storages.iter().enumerate() {
        let count = held.count();
        for smaller in shrink_int(count as i128) {
            let smaller = usize::try_from(smaller).unwrap_or(0);
            let bytes = smaller * held.dtype.size();
            let cut = match &held.content {
                Content::Own(own) if own.pointers.iter().any(|pointer| pointer.offset + 8 > bytes) => {
                    continue;
                }
                Content::Own(own) => Content::Own(Arc::new(StorageBytes {
                    bytes: own.bytes.iter().take(bytes).copied().collect(),
                    states: own.states.iter().take(bytes).copied().collect(),
                    pointers: own.pointers.clone(),
                })),
                plain => plain.clone(),
            };
            if smaller == 0 {
                continue;
            }
            let change = with_storage(
                candidate,
                at,
                CandidateStorage {
                    shape: vec![smaller as i64],
                    content: cut,
                    ..held.clone()
                },
            );
            // A case with a view of removed elements is invalid.
            let mut launches = change.launches.clone().unwrap_or_default();
            let mut views: Vec<Tensor> = collect_tensors(&mut launches)
                .into_iter()
                .map(|tensor| tensor.clone())
                .collect();
            views.extend(
                collect_descriptors(&mut launches)
                    .into_iter()
                    .map(|descriptor| descriptor.base.clone()),
            );
            let fits = views.iter().all(|tensor| {
                tensor.storage.0 as usize != at
                    || tensor.byte_range().is_none_or(|(_, end)| end <= bytes as i64)
            });
            if fits {
                changes.push(change);
            }
        }
    }
    changes
}

/// Simplifies the elements of storages.
pub(super) fn simplify_fills(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, held) in candidate.storages.iter().enumerate() {
        if held.content.has_pointers() {
            continue;
        }
        let plainer: &[Content] = match &held.content {
            Content::Own(_) => &[Content::Zeros, Content::Ones, Content::Arange],
            Content::Arange => &[Content::Zeros, Content::Ones],
            Content::Ones => &[Content::Zeros],
            Content::Zeros => &[],
        };
        let with = |content: Content| {
            with_storage(
                candidate,
                at,
                CandidateStorage {
                    content,
                    ..held.clone()
                },
            )
        };
        changes.extend(plainer.iter().cloned().map(with));
        let Content::Own(own) = &held.content else {
            continue;
        };
        let (size, count) = (held.dtype.size(), held.count());
        let one = if held.dtype.is_float() {
            numeric::encode(held.dtype, 1.0, Rounding::NearestEven)
        } else {
            1
        };
        let mut length = count / 2;
        while length > 0 && (count <= MAX_ELEMENTWISE || length * 8 >= count) {
            for first in (0..count).step_by(length) {
                for value in [0, one] {
                    let bits = value.to_le_bytes();
                    let mut plain = (**own).clone();
                    let mut changed = false;
                    for element in first..(first + length).min(count) {
                        let place = element * size..(element + 1) * size;
                        let (Some(bytes), Some(states), Some(bits)) = (
                            plain.bytes.get_mut(place.clone()),
                            plain.states.get_mut(place),
                            bits.get(..size),
                        ) else {
                            continue;
                        };
                        // A 0 is as simple as a 1, so it stays.
                        if bytes != bits && bytes.iter().any(|&byte| byte != 0) {
                            bytes.copy_from_slice(bits);
                            states.fill(ByteState::Init);
                            changed = true;
                        }
                    }
                    if changed {
                        changes.push(with(Content::Own(Arc::new(plain))));
                    }
                }
            }
            length /= 2;
        }
    }
    changes
}

/// Replaces numbers among the arguments by rounder ones.
pub(super) fn simplify_scalars(candidate: &Candidate, _: &Tree<'_>) -> Vec<Change> {
    each_launch(candidate, |launch| {
        let mut found = Vec::new();
        for (at, (_, arg)) in launch.keyword.iter().enumerate() {
            let values: Vec<ArgValue> = match &arg.value {
                ArgValue::Int(value) => shrink_int(*value).into_iter().map(ArgValue::Int).collect(),
                ArgValue::Float(value) => shrink_float(*value).into_iter().map(ArgValue::Float).collect(),
                ArgValue::Bool(true) => vec![ArgValue::Bool(false)],
                _ => Vec::new(),
            };
            for value in values {
                let mut rounder = launch.clone();
                if let Some((_, arg)) = rounder.keyword.get_mut(at) {
                    arg.value = value;
                    found.push(rounder);
                }
            }
        }
        found
    })
}

/// Replaces float dtypes by f32 and integer dtypes by i32: everywhere, only in storages, and only in the kernel.
pub(super) fn simplify_dtypes(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut named: Vec<(DType, TextRange)> = Vec::new();
    for expr in tree.all_expressions() {
        if let Expr::Call(call) = expr {
            let args = call.arguments.args.iter();
            for arg in args.chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)) {
                named.extend(dtype_of(arg).map(|dtype| (dtype, arg.range())));
            }
        }
    }
    let mut used: Vec<DType> = candidate.storages.iter().map(|held| held.dtype).collect();
    used.extend(named.iter().map(|(dtype, _)| *dtype));
    used.sort_unstable_by_key(|dtype| dtype.name());
    used.dedup();
    let mut changes = Vec::new();
    for from in used {
        let to = if from.is_float() { DType::F32 } else { DType::I32 };
        if from == to {
            continue;
        }
        let edit = |range: TextRange| Edit::new(range, format!("tl.{}", to.triton_name()));
        let places: Vec<TextRange> = named
            .iter()
            .filter(|(dtype, _)| *dtype == from)
            .map(|(_, range)| *range)
            .collect();
        let holding: Vec<usize> = (0..candidate.storages.len())
            .filter(|&at| {
                candidate
                    .storages
                    .get(at)
                    .is_some_and(|held| held.dtype == from && !held.content.has_pointers())
            })
            .collect();
        let edits: Vec<Edit> = places.iter().map(|&range| edit(range)).collect();
        if !holding.is_empty() {
            let all = retype_storages(candidate, &holding, from, to);
            if !edits.is_empty() {
                changes.push(Change {
                    edits: edits.clone(),
                    ..all.clone()
                });
            }
            changes.push(all);
            if holding.len() > 1 {
                changes.extend(
                    holding
                        .iter()
                        .map(|&at| retype_storages(candidate, &[at], from, to)),
                );
            }
        }
        changes.extend(edits.into_iter().map(|edit| Change::from_edits(vec![edit])));
    }
    changes
}

/// The dtype that an expression names: `tl.float16`.
fn dtype_of(expr: &Expr) -> Option<DType> {
    let Expr::Attribute(attribute) = expr else {
        return None;
    };
    DType::ALL
        .into_iter()
        .find(|dtype| dtype.triton_name() == attribute.attr.as_str())
}

/// Changes the dtype of storages and of their tensors, and rounds each element to the nearest value.
fn retype_storages(candidate: &Candidate, holding: &[usize], from: DType, to: DType) -> Change {
    let mut storages = candidate.storages.clone();
    let mut launches = candidate.launches.clone();
    for &at in holding {
        let Some(held) = storages.get_mut(at) else {
            continue;
        };
        held.dtype = to;
        if let Content::Own(own) = &held.content {
            let mut cast = StorageBytes {
                bytes: Vec::new(),
                states: Vec::new(),
                pointers: Vec::new(),
            };
            let elements = own
                .bytes
                .chunks_exact(from.size())
                .zip(own.states.chunks_exact(from.size()));
            for (bytes, states) in elements {
                let bits = bytes
                    .iter()
                    .rev()
                    .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
                let value = numeric::cast(from, to, Rounding::NearestEven, bits).bits();
                let bits = value.unwrap_or(0).to_le_bytes();
                cast.bytes.extend(bits.iter().take(to.size()));
                let state = states.first().copied().unwrap_or_default();
                cast.states.extend(std::iter::repeat_n(state, to.size()));
            }
            held.content = Content::Own(Arc::new(cast));
        }
    }
    let retype = |tensor: &mut Tensor| {
        if holding.contains(&(tensor.storage.0 as usize)) && tensor.dtype == from {
            tensor.dtype = to;
        }
    };
    collect_tensors(&mut launches).into_iter().for_each(retype);
    let described = collect_descriptors(&mut launches).into_iter();
    described.for_each(|descriptor| retype(&mut descriptor.base));
    Change {
        storages: Some(storages),
        launches: Some(launches),
        ..Change::default()
    }
}
