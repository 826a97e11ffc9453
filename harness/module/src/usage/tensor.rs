//! The dimensions of a tensor, from all accesses to it, and whether they determine its number of elements.

use std::collections::BTreeSet;

use super::access::{
    Access, counts_twice, find_mirrors, has_lanes, is_moved_by_size, list_placing, without_number,
};
use super::bound::{find_bound, is_bounded, read_axis};
use super::facts::{Bound, Dimension, Stride, TensorUse, Usage};
use super::polynomial::{Atom, Extent, Polynomial, Product};
use super::reader::{Reader, find_sizes};

/// Infers the use of a tensor from its accesses; `None` if there are none.
pub(super) fn read_tensor(name: &str, reader: &Reader<'_>, parameters: &[String]) -> Option<TensorUse> {
    let accesses: Vec<&Access> = reader
        .accesses
        .iter()
        .filter(|access| access.tensor == name)
        .collect();
    // The access with the most dimensions shows the most about the tensor.
    let widest = accesses.iter().max_by_key(|access| access.dimensions.len())?;
    let mut dimensions = read_dimensions(widest, |product, factor, index| {
        let bound = find_bound(index, reader);
        if matches!(bound, Bound::Size(_)) {
            return bound;
        }
        // Another access of the same dimension may be bounded.
        let others = accesses.iter().flat_map(|access| &access.dimensions);
        let mut bounds = others
            .filter(|(other, times, _)| other == product && *times == factor)
            .map(|(_, _, index)| find_bound(index, reader));
        let size = bounds.find(|other| matches!(other, Bound::Size(_)));
        size.unwrap_or(bound)
    });
    let mut certain = is_certain(widest, &accesses, &dimensions, reader);
    dimensions.sort_by_key(|dimension| rank_stride(&dimension.stride, parameters));
    if let Some(size) = find_flat_size(&accesses, reader) {
        certain = true;
        dimensions = vec![Dimension {
            stride: Stride::Number(1),
            bound: Bound::Size(size),
        }];
    }
    let mut stated = certain;
    if !certain && let Some(other) = find_stated(&accesses, reader, parameters) {
        stated = true;
        dimensions = other;
    }
    let is_flat = matches!(dimensions.as_slice(), [only] if matches!(only.bound, Bound::Size(_)));
    let unmasked = if certain && !is_flat {
        find_unmasked(&accesses, reader)
    } else {
        None
    };
    let (stores, loads): (Vec<&Access>, Vec<&Access>) = accesses.iter().partition(|access| access.stores);
    Some(TensorUse {
        name: name.to_owned(),
        dimensions,
        read: !loads.is_empty(),
        written: !stores.is_empty(),
        indexes: reader.indexing.contains(name),
        is_whole: reader.integers.contains(name),
        mirrors: find_mirrors(name, &reader.accesses),
        certain,
        stated,
        placed_by: accesses.iter().flat_map(|access| list_placing(access)).collect(),
        is_segmented: reader.indexing.contains(name) && has_neighbours(&loads),
        is_lock: reader.locks.contains(name),
        sentinels: reader
            .sentinels
            .iter()
            .filter(|(tensor, _)| tensor == name)
            .map(|(_, sentinel)| sentinel.clone())
            .collect(),
        stored_at: stores.iter().find_map(|access| access.at),
        unmasked,
    })
}

/// Whether two loads of single elements are next to each other.
fn has_neighbours(loads: &[&Access]) -> bool {
    let scalars = || loads.iter().filter(|access| !has_lanes(access));
    let is_next = |one: &Access, other: &Access| {
        let distance = one.offset.minus(&other.offset);
        distance.and_then(|distance| distance.as_number()) == Some(1)
    };
    scalars().any(|one| scalars().any(|other| is_next(one, other)))
}

/// The dimensions of an access in its own order. The bound of an index is found from its stride, its factor and itself.
fn read_dimensions(
    access: &Access,
    find_bound: impl Fn(&Product, i64, &Polynomial) -> Bound,
) -> Vec<Dimension> {
    let dimensions = access.dimensions.iter();
    dimensions
        .map(|(product, factor, index)| Dimension {
            stride: to_stride(product, *factor),
            bound: find_bound(product, *factor, index),
        })
        .collect()
}

/// Finds the dimensions of a tensor from the accesses without a constant offset. If every access has one, the offsets
/// are ignored. `None` if these accesses don't determine the size, or if the kernel accesses several parts of the tensor
/// on purpose.
fn find_stated(accesses: &[&Access], reader: &Reader<'_>, parameters: &[String]) -> Option<Vec<Dimension>> {
    let is_shifted = |access: &&&Access| access.offset.number_term() > 0;
    if accesses.iter().any(|access| is_moved_by_size(access)) {
        return None;
    }
    let (shifted, plain): (Vec<&Access>, Vec<&Access>) =
        accesses.iter().copied().partition(|access| is_shifted(&access));
    if shifted.is_empty() && plain.len() < 2 {
        return None;
    }
    // Scalar accesses to neighbouring elements read one table, such as the offsets of sequences.
    if !shifted.is_empty() && !plain.is_empty() && !shifted.iter().any(|access| has_lanes(access)) {
        return None;
    }
    let unshifted: Vec<Access>;
    let stating: Vec<&Access> = if plain.is_empty() {
        unshifted = shifted.iter().map(|access| without_number(access)).collect();
        unshifted.iter().collect()
    } else {
        plain
    };
    let complete: Vec<&&Access> = stating
        .iter()
        .filter(|access| !counts_twice(access) && is_bounded(access, reader))
        .collect();
    let widest = complete.iter().max_by_key(|access| access.dimensions.len())?;
    // Accesses with other strides use another layout.
    let strides = |access: &Access| -> BTreeSet<(Vec<Atom>, i64)> {
        let dimensions = access.dimensions.iter();
        dimensions
            .map(|(product, factor, _)| (product.clone(), *factor))
            .collect()
    };
    let known = strides(widest);
    if stating.iter().any(|access| !strides(access).is_subset(&known)) {
        return None;
    }
    let mut dimensions = read_dimensions(widest, |_, _, index| find_bound(index, reader));
    dimensions.sort_by_key(|dimension| rank_stride(&dimension.stride, parameters));
    Some(dimensions)
}

/// Finds the parameter that whole offsets of all accesses are compared with: the number of elements of a flat tensor.
fn find_flat_size(accesses: &[&Access], reader: &Reader<'_>) -> Option<String> {
    let size_of = |access: &&Access| {
        let sizes = reader.compared.iter().flat_map(|compared| {
            let sizes = find_sizes(compared).into_iter();
            sizes.map(move |size| (compared, size))
        });
        sizes.into_iter().find_map(|(compared, size)| {
            let bounded = compared.plus(&Polynomial::from_atom(Atom::Param(size.clone())))?;
            (bounded == access.offset).then_some(size)
        })
    };
    let mut sizes = accesses.iter().map(size_of);
    let first = sizes.next()??;
    sizes.all(|size| size.as_ref() == Some(&first)).then_some(first)
}

/// Finds an access that nothing but the grid and a block bounds.
fn find_unmasked(accesses: &[&Access], reader: &Reader<'_>) -> Option<(Extent, u32)> {
    accesses.iter().find_map(|access| {
        let mut bounds = access
            .dimensions
            .iter()
            .filter(|(_, _, index)| !is_compared(index, reader))
            .map(|(_, _, index)| find_bound(index, reader));
        let block = bounds.find_map(|bound| match bound {
            Bound::Blocks(_, extent) if extent != Extent::Number(1) => Some(extent),
            _ => None,
        })?;
        Some((block, access.at?))
    })
}

/// Whether an index is compared with something, such as a loaded length.
fn is_compared(index: &Polynomial, reader: &Reader<'_>) -> bool {
    let index = index.without_number();
    let has = |compared: &Polynomial| index.terms().all(|term| compared.terms().any(|one| one == term));
    reader.compared.iter().any(has)
}

/// Whether the accesses of a tensor determine its number of elements: every index is bounded, with the same bound in
/// every access, and no other term moves an access.
fn is_certain(widest: &Access, accesses: &[&Access], dimensions: &[Dimension], reader: &Reader<'_>) -> bool {
    let has_columns = has_all_columns(accesses);
    let known = |access: &&Access| {
        (!access.moved || has_columns)
            && access.dimensions.iter().all(|(stride, factor, index)| {
                let mut of_widest = widest.dimensions.iter().zip(dimensions);
                of_widest.any(|((other, times, _), dimension)| {
                    other == stride && times == factor && find_bound(index, reader) == dimension.bound
                }) && (index.number_term() <= 0 || has_columns)
            })
    };
    accesses.iter().all(known)
        && !accesses.iter().any(|access| counts_twice(access))
        && dimensions.iter().all(|dimension| match &dimension.bound {
            Bound::Unknown => false,
            // If each block has one access, the last block may be partial.
            Bound::Programs(_) => !is_of_blocks(&dimension.stride, reader),
            // The quotient of a program's number may be split again.
            Bound::Quotient(axis) => {
                let counted = read_axis(*axis, reader);
                counted.blocks.is_empty()
                    && counted.sizes.len() <= 1
                    && !is_of_blocks(&dimension.stride, reader)
            }
            // If the size is compared by both `<` and `<=`, an output is meant to have one element more than the size.
            Bound::Size(name) => {
                let stores = accesses.iter().any(|access| access.stores);
                !(stores && reader.at_most.contains(name) && reader.below.contains(name))
            }
            Bound::Lanes(_) | Bound::Blocks(..) => true,
        })
}

/// Whether accesses are the columns of rows of a fixed width, and the last column is among them: `x + 3 * row`, `x + 3 * row + 1` and
/// `x + 3 * row + 2`.
fn has_all_columns(accesses: &[&Access]) -> bool {
    let widths = accesses.iter().flat_map(|access| &access.dimensions);
    let widths = widths
        .filter(|(stride, ..)| stride.is_empty())
        .map(|(_, factor, _)| *factor);
    let columns = || accesses.iter().map(|access| access.offset.number_term());
    let Some(width) = widths.min().filter(|width| *width > 1) else {
        return false;
    };
    !accesses.iter().any(|access| is_moved_by_size(access))
        && columns().all(|column| (0..width).contains(&column))
        && columns().max() == Some(width - 1)
}

/// Whether a stride is the size of a block.
fn is_of_blocks(stride: &Stride, reader: &Reader<'_>) -> bool {
    matches!(stride, Stride::Sizes(names, _) if names.iter().any(|name| reader.usage.blocks.contains(name)))
}

/// Turns a parameter that scales an index but bounds none into a stride, regardless of its name, and a parameter that
/// bounds an index into a size. Rows may be longer than the text shows, if such a stride separates them.
pub(super) fn separate_rows(usage: &mut Usage, reader: &Reader<'_>) {
    let dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
    let bounds: BTreeSet<String> = dimensions
        .filter_map(|dimension| match &dimension.bound {
            Bound::Size(size) | Bound::Lanes(Extent::Param(size)) => Some(size.clone()),
            _ => None,
        })
        .collect();
    let dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
    let free: BTreeSet<String> = dimensions
        .filter_map(|dimension| match &dimension.stride {
            Stride::Sizes(names, _) => Some(names),
            _ => None,
        })
        .flatten()
        .filter(|name| {
            !bounds.contains(*name) && !usage.blocks.contains(*name) && !usage.factors.contains(*name)
        })
        .cloned()
        .collect();
    let is_compared = |name: &String| reader.below.contains(name) || reader.at_most.contains(name);
    for tensor in &mut usage.tensors {
        for dimension in &mut tensor.dimensions {
            match &dimension.stride {
                Stride::Sizes(names, 1) if names.len() == 1 && free.contains(&names[0]) => {
                    dimension.stride = Stride::Param(names[0].clone());
                    (tensor.certain, tensor.stated) = (false, false);
                }
                Stride::Param(name) if is_compared(name) => {
                    tensor.certain &= bounds.contains(name);
                    tensor.stated &= bounds.contains(name);
                    dimension.stride = Stride::Sizes(vec![name.clone()], 1);
                }
                Stride::Sizes(names, _) => {
                    let is_bound = !names.iter().any(|name| free.contains(name));
                    tensor.certain &= is_bound;
                    tensor.stated &= is_bound;
                }
                _ => {}
            }
        }
    }
}

/// The sort key of a dimension. Stride parameters come first, in the order of the signature, then sizes, then numbers,
/// the largest first.
fn rank_stride(stride: &Stride, parameters: &[String]) -> usize {
    match stride {
        Stride::Param(name) => parameters
            .iter()
            .position(|parameter| parameter == name)
            .unwrap_or(0),
        Stride::Sizes(sizes, _) => (1 << 20) - sizes.len(),
        Stride::Number(number) => (1 << 40) - (*number).clamp(0, 1 << 30) as usize,
    }
}

fn to_stride(product: &Product, factor: i64) -> Stride {
    let names: Vec<String> = product
        .iter()
        .filter_map(|atom| match atom {
            Atom::Param(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        [] => Stride::Number(factor),
        [name] if factor == 1 && name.to_lowercase().contains("stride") => Stride::Param(name.clone()),
        _ => Stride::Sizes(names, factor),
    }
}
