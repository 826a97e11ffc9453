//! The storages of a kernel's tensors about which its text says enough to blame the kernel for an access.

use std::collections::{BTreeMap, BTreeSet};

use cerith_launcher::skeleton::storage_name;
use cerith_module::kernel::Function;
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Stride, TensorUse, Usage};

/// Finds the storages of tensors whose number of elements the text determines.
pub(super) fn find_certain_storages(usage: &Usage, function: &Function) -> BTreeSet<String> {
    let is_computed = |bound: &Bound| match bound {
        Bound::Lanes(extent) | Bound::Blocks(_, extent) => match extent {
            Extent::Number(_) => false,
            Extent::Param(name) => function.given_by_decorators.contains(name),
            Extent::Text(_) => true,
        },
        _ => false,
    };
    let is_certain = |tensor: &&TensorUse| {
        let mut dimensions = tensor.dimensions.iter();
        tensor.certain && !dimensions.any(|dimension| is_computed(&dimension.bound))
    };
    let certain = usage.tensors.iter().filter(is_certain);
    certain.map(|tensor| storage_name(&tensor.name)).collect()
}

/// Finds the storages of tensors whose sizes only other accesses determine.
pub(super) fn find_stated_storages(usage: &Usage) -> BTreeSet<String> {
    let stated = usage
        .tensors
        .iter()
        .filter(|tensor| tensor.stated && !tensor.certain);
    stated.map(|tensor| storage_name(&tensor.name)).collect()
}

/// Finds the tensors whose values place accesses of other tensors, by the storages of the others.
pub(super) fn find_placing_tensors(usage: &Usage) -> BTreeMap<String, BTreeSet<String>> {
    let placed = usage.tensors.iter().filter(|tensor| tensor.is_placed());
    let names = placed.map(|tensor| (storage_name(&tensor.name), tensor.placed_by.clone()));
    names.collect()
}

/// Finds the storages of tensors that are only written, and whose size the text determines. A grid that decorators
/// compute may cover more than the survey's grid.
pub(super) fn find_output_storages(usage: &Usage, function: &Function) -> BTreeSet<String> {
    let is_computed = |extent: &Extent| match extent {
        Extent::Number(_) => false,
        Extent::Param(name) => function.given_by_decorators.contains(name),
        Extent::Text(_) => true,
    };
    let mut blocks = usage.axes.iter().flat_map(|axis| &axis.blocks);
    if blocks.any(|(_, extent)| is_computed(extent)) {
        return BTreeSet::new();
    }
    let is_output = |tensor: &&TensorUse| tensor.written && !tensor.read && tensor.certain;
    let outputs = usage.tensors.iter().filter(is_output);
    outputs.map(|tensor| storage_name(&tensor.name)).collect()
}

/// Finds the storages of tensors whose elements no wrong guess of an extent lets meet.
pub(super) fn find_distinct_storages(usage: &Usage) -> BTreeSet<String> {
    let is_distinct = |tensor: &&TensorUse| {
        let has_strides = tensor
            .dimensions
            .iter()
            .any(|dimension| matches!(dimension.stride, Stride::Param(_)));
        // Other indices come from the contents of tensors, which the survey makes up: segments may overlap.
        let is_ragged = tensor.is_placed() && tensor.dimensions.len() > 1;
        // A stride that a launch passes may have to follow from the sizes: `head * stride_h + row * DIM`.
        let is_mixed = has_strides
            && tensor
                .dimensions
                .iter()
                .any(|dimension| matches!(dimension.stride, Stride::Sizes(..)));
        let mut inner = tensor.dimensions.iter().skip(1);
        tensor.certain
            || !has_strides && !is_ragged
            || !is_mixed && inner.all(|dimension| dimension.bound != Bound::Unknown)
    };
    let tensors = usage.tensors.iter().filter(is_distinct);
    tensors.map(|tensor| storage_name(&tensor.name)).collect()
}
