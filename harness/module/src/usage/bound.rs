//! The bounds of an index: comparisons, loops, blocks of lanes and axes of the grid. See [`super::tensor`] for what that says
//! about a tensor.

use super::access::Access;
use super::facts::{AxisUse, Bound};
use super::polynomial::{Atom, Polynomial};
use super::reader::{Reader, find_sizes};

/// Finds the bound of an index.
pub(super) fn find_bound(index: &Polynomial, reader: &Reader<'_>) -> Bound {
    if let Some(size) = find_size(index, reader) {
        return Bound::Size(size);
    }
    // Only the caller knows a tensor whose size is a number: `rows < 83`.
    if is_compared_with_number(index, reader) {
        return Bound::Unknown;
    }
    let terms: Vec<_> = index.terms().filter(|(product, _)| !product.is_empty()).collect();
    let lane = terms
        .iter()
        .find_map(|(product, factor)| match product.as_slice() {
            [Atom::Lane(extent)] if *factor == 1 => Some(extent.clone()),
            _ => None,
        });
    let programs = index.programs();
    match (terms.len(), lane, programs.first()) {
        (1, Some(extent), _) => Bound::Lanes(extent),
        (1, None, Some(&axis)) => match terms[0].0.as_slice() {
            [Atom::Program(_)] => Bound::Programs(axis),
            [
                Atom::Other {
                    part: Some(axis),
                    below: None,
                    ..
                },
            ] if terms[0].1 == 1 => Bound::Quotient(*axis),
            _ => Bound::Unknown,
        },
        (2, Some(extent), Some(&axis)) => Bound::Blocks(axis, extent),
        _ => Bound::Unknown,
    }
}

/// The parameter that an index is compared with, counted to, or cut off at.
pub(super) fn find_size(index: &Polynomial, reader: &Reader<'_>) -> Option<String> {
    let index = index.without_number();
    if let [(product, 1)] = index.terms().collect::<Vec<_>>().as_slice()
        && let [
            Atom::Other {
                below: Some(below), ..
            },
        ] = product.as_slice()
        && let Some(size) = below.as_param()
    {
        return Some(size.to_owned());
    }
    for compared in &reader.compared {
        for size in find_sizes(compared) {
            let as_index = compared.plus(&Polynomial::from_atom(Atom::Param(size.clone())));
            if as_index.is_some_and(|one| one.without_number() == index || one.without_offset() == index) {
                return Some(size);
            }
        }
    }
    // A loop counts to it: `for k in range(0, K, BLOCK)`, or `for i in range(n)`.
    index.atoms().find_map(|atom| match atom {
        Atom::Turn(number) => {
            let counted = reader.loops.get(*number)?.as_ref()?;
            (index.factor_of(atom) == counted.step).then(|| counted.size.clone())
        }
        _ => None,
    })
}

/// Whether an index is compared with a number: `rows < 83`.
fn is_compared_with_number(index: &Polynomial, reader: &Reader<'_>) -> bool {
    let index = index.without_number();
    let mut compared = reader.compared.iter();
    compared.any(|compared| compared.number_term() < -1 && compared.without_number() == index)
}

/// Whether the text bounds every index of an access by a size, or by the grid.
pub(super) fn is_bounded(access: &Access, reader: &Reader<'_>) -> bool {
    access
        .dimensions
        .iter()
        .all(|(_, _, index): &(_, _, Polynomial)| {
            index.number_term() <= 0
                && matches!(
                    find_bound(index, reader),
                    Bound::Size(_) | Bound::Programs(_) | Bound::Lanes(_) | Bound::Blocks(..)
                )
        })
}

/// The use of an axis, over all accesses.
pub(super) fn read_axis(axis: u8, reader: &Reader<'_>) -> AxisUse {
    let mut found = AxisUse {
        persistent: reader.persistent.contains(&axis),
        ..AxisUse::default()
    };
    let indices = || reader.accesses.iter().flat_map(|access| &access.dimensions);
    // A size of the whole number of a program is the number of programs: `pid < M` beside `pid % C`.
    let whole = Polynomial::from_atom(Atom::Program(axis));
    let is_whole = |index: &Polynomial| index.without_number() == whole;
    let count = indices().find_map(|(_, _, index)| is_whole(index).then(|| find_size(index, reader))?);
    for (_, _, index) in indices() {
        if !index.programs().contains(&axis) || count.is_some() && !is_whole(index) && is_part(index) {
            continue;
        }
        if let Some(Atom::Other {
            part: Some(of),
            below,
            ..
        }) = index.without_number().as_atom()
            && *of == axis
        {
            match below.as_deref().and_then(Polynomial::as_param) {
                Some(size) if !found.sizes.iter().any(|known| known == size) => {
                    found.sizes.push(size.to_owned());
                }
                None if below.is_none() => found.quotient = true,
                _ => {}
            }
            continue;
        }
        let Some(size) = find_size(index, reader) else {
            continue;
        };
        let lane = index.atoms().find_map(|atom| match atom {
            Atom::Lane(extent) => Some(extent.clone()),
            _ => None,
        });
        match lane {
            Some(extent) => {
                if !found.blocks.iter().any(|(known, _)| *known == size) {
                    found.blocks.push((size, extent));
                }
            }
            // An index that wraps at a size (`% M`) does not show the number of programs.
            None if is_cut_off(index) || found.sizes.contains(&size) => {}
            None => found.sizes.push(size),
        }
    }
    found
}

/// Whether an index is the quotient or the remainder of a program's number.
fn is_part(index: &Polynomial) -> bool {
    matches!(
        index.without_number().as_atom(),
        Some(Atom::Other { part: Some(_), .. })
    )
}

fn is_cut_off(index: &Polynomial) -> bool {
    index
        .atoms()
        .any(|atom| matches!(atom, Atom::Other { below: Some(_), .. }))
}
