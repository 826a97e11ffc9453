//! The accesses of a kernel: each one's tensor, and its address as indices and strides. See [`super::bound`] for how large
//! the indices get.

use std::collections::{BTreeMap, BTreeSet};

use super::polynomial::{Atom, Extent, Polynomial, Product, divide_product};

/// An access of a tensor, as written in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) tensor: String,
    /// The stride and the index of each dimension.
    pub(super) dimensions: Vec<(Product, i64, Polynomial)>,
    /// Whether the address is moved by something other than an index: by a number of elements, or by a size.
    pub(super) moved: bool,
    pub(super) stores: bool,
    /// The address without its tensor.
    pub(super) offset: Polynomial,
    /// Where the access is in the kernel's module, in bytes; `None` in a function that the kernel calls.
    pub(super) at: Option<u32>,
}

/// The dimensions of an address without its tensor: for each stride, the index.
pub(super) fn find_dimensions(rest: &Polynomial) -> Vec<(Product, i64, Polynomial)> {
    let is_index = |atom: &Atom| !matches!(atom, Atom::Param(_));
    let mut found: Vec<(Product, i64, Polynomial)> = Vec::new();
    // The factors of lanes are strides.
    for (product, factor) in rest.terms() {
        let Some(lane) = product.iter().find(|atom| matches!(atom, Atom::Lane(_))) else {
            continue;
        };
        let stride = divide_product(product, std::slice::from_ref(lane)).unwrap_or_default();
        if stride.iter().any(is_index) {
            continue;
        }
        let index = Polynomial::from_atom(lane.clone());
        match found
            .iter_mut()
            .find(|(known, times, _)| *known == stride && *times == factor)
        {
            Some((_, _, sum)) => {
                if let Some(both) = sum.plus(&index) {
                    *sum = both;
                }
            }
            None => found.push((stride, factor, index)),
        }
    }
    for (product, factor) in rest.terms() {
        if product.iter().any(|atom| matches!(atom, Atom::Lane(_))) || !product.iter().any(is_index) {
            continue;
        }
        // Rows of their own, if others are as far apart.
        let is_apart = rest.terms().any(|(other, times)| {
            let params = |product: &Product| -> Product {
                product.iter().filter(|atom| !is_index(atom)).cloned().collect()
            };
            other != product && times == factor && params(other).len() > 1 && params(other) == params(product)
        });
        let home = found.iter().position(|(stride, times, index)| {
            !is_apart
                && *times != 0
                && factor % *times == 0
                && divide_product(product, stride).is_some_and(|rest| steps_by(&rest, factor / *times, index))
        });
        if let Some((stride, times, index)) = home.and_then(|at| found.get_mut(at)) {
            let part =
                divide_product(product, stride).map(|rest| Polynomial::from_terms([(rest, factor / *times)]));
            if let Some(sum) = part.and_then(|part| index.plus(&part)) {
                *index = sum;
                continue;
            }
        }
        let (index, stride): (Product, Product) = product.iter().cloned().partition(is_index);
        found.push((stride, factor, Polynomial::from_terms([(index, 1)])));
    }
    found
}

/// Whether a term goes from block to block of an index's lanes: as many elements each as there are lanes.
fn steps_by(term: &[Atom], factor: i64, index: &Polynomial) -> bool {
    let (counted, width): (Vec<&Atom>, Vec<&Atom>) =
        term.iter().partition(|atom| !matches!(atom, Atom::Param(_)));
    if counted.is_empty() {
        return false;
    }
    // Which block it is may be computed: `(group * GROUP_SIZE + nth) * BLOCK`.
    let computed = counted
        .iter()
        .any(|atom| matches!(atom, Atom::Other { programs, .. } if !programs.is_empty()));
    index.atoms().any(|atom| match atom {
        Atom::Lane(Extent::Param(name)) => {
            let block = |atom: &&&Atom| matches!(atom, Atom::Param(one) if one == name);
            factor == 1 && width.iter().any(|atom| block(&atom)) && (width.len() == 1 || computed)
        }
        Atom::Lane(Extent::Number(number)) => width.is_empty() && factor == *number,
        _ => false,
    })
}

pub(super) fn is_moved_by_size(access: &Access) -> bool {
    let mut terms = access.offset.terms();
    terms.any(|(product, _)| !product.is_empty() && product.iter().all(|atom| matches!(atom, Atom::Param(_))))
}

/// The tensors whose loaded values the address of an access depends on.
pub(super) fn list_placing(access: &Access) -> impl Iterator<Item = String> {
    access.offset.atoms().filter_map(|atom| match atom {
        Atom::Other { loaded, .. } => loaded.clone(),
        _ => None,
    })
}

pub(super) fn has_lanes(access: &Access) -> bool {
    access.offset.atoms().any(|atom| matches!(atom, Atom::Lane(_)))
}

/// The access without the number of elements that moves it.
pub(super) fn without_number(access: &Access) -> Access {
    let offset = access.offset.without_number();
    Access {
        moved: false,
        dimensions: access
            .dimensions
            .iter()
            .map(|(product, factor, index)| (product.clone(), *factor, index.without_number()))
            .collect(),
        offset,
        ..access.clone()
    }
}

/// Whether an index counts in two dimensions: `row * (n + 1) + column` has rows of `n + 1` elements, not of `n`.
pub(super) fn counts_twice(access: &Access) -> bool {
    let mut seen = BTreeSet::new();
    let indices = access.dimensions.iter().map(|(_, _, index)| index);
    indices
        .flat_map(|index| index.atoms().collect::<BTreeSet<_>>())
        .any(|atom| {
            let counts = matches!(atom, Atom::Program(_) | Atom::Lane(_) | Atom::Turn(_));
            counts && !seen.insert(atom)
        })
}

/// The tensors that are loaded from wherever this one is stored to.
pub(super) fn find_mirrors(name: &str, accesses: &[Access]) -> BTreeSet<String> {
    // Strides that are parameters have other names in another tensor. Numbers must be the same.
    let indices = |access: &Access| -> (BTreeSet<(i64, Polynomial)>, i64) {
        let dimensions = access.dimensions.iter();
        let all = dimensions.map(|(_, factor, index)| (*factor, index.clone()));
        (all.collect(), access.offset.number_term())
    };
    let stored: Vec<_> = accesses
        .iter()
        .filter(|access| access.stores && access.tensor == name)
        .map(indices)
        .collect();
    let mut loaded: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for access in accesses
        .iter()
        .filter(|access| !access.stores && access.tensor != name)
    {
        loaded.entry(&access.tensor).or_default().push(indices(access));
    }
    let is_gradient = |name: &str| {
        let lower = name.to_lowercase();
        lower.contains("grad")
            || name.starts_with('d') && name.chars().nth(1).is_some_and(|c| c.is_uppercase() || c == '_')
            || lower
                .split('_')
                .next()
                .is_some_and(|word| word.len() == 2 && word.starts_with('d'))
    };
    loaded
        .into_iter()
        .filter(|(other, indices)| {
            is_gradient(other) == is_gradient(name) && stored.iter().all(|at| indices.contains(at))
        })
        .map(|(other, _)| other.to_owned())
        .collect()
}
