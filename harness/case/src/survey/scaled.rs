//! Launches with blocks of other sizes, on the same tensors. There are none if the size of a tensor depends on a block.

use super::Draft;
use super::plan::{DOT_BLOCK, MAX_BLOCK};
use crate::argument::ArgValue;
use crate::case::Launch;
use crate::usage::polynomial::Extent;
use crate::usage::{Bound, Stride, TensorUse, Usage};

/// The factors by which blocks are scaled: a description, and the fraction.
pub(super) const SCALES: [(&str, i64, i64); 2] = [("twice", 2, 1), ("half", 1, 2)];

/// Whether the size of a tensor depends on a block, or may.
pub(super) fn depends_on_blocks(usage: &Usage) -> bool {
    let has_blocks = |axis: u8| {
        let counted = usage.axes.get(usize::from(axis));
        counted.is_none_or(|axis| !axis.blocks.is_empty() || axis.persistent)
    };
    let depends = |tensor: &TensorUse| {
        tensor.dimensions.iter().any(|dimension| {
            let by_bound = match &dimension.bound {
                Bound::Size(_) => false,
                Bound::Programs(axis) | Bound::Quotient(axis) => has_blocks(*axis),
                Bound::Lanes(extent) => !matches!(extent, Extent::Number(_)),
                Bound::Blocks(..) => true,
                Bound::Unknown => tensor.written,
            };
            let by_stride = match &dimension.stride {
                Stride::Sizes(names, _) => names.iter().any(|name| usage.blocks.contains(name)),
                _ => false,
            };
            by_bound || by_stride
        })
    };
    usage.blocks.is_empty() || usage.lost > 0 || usage.tensors.iter().any(depends)
}

/// The lanes of a scaled block. `None` if it would be too small or too large.
pub(super) fn scale_block(usage: &Usage, name: &str, lanes: i64, (times, by): (i64, i64)) -> Option<i64> {
    let least = if usage.has_dots { DOT_BLOCK } else { 2 };
    let mut covered = usage.covered_sizes.iter();
    let covers = covered.any(|(_, extent)| *extent == Extent::Param(name.to_owned()));
    let other = lanes.checked_mul(times)? / by;
    // A block that covers a size cannot be smaller.
    let fits = times > by || !covers && other >= least;
    (fits && other != lanes && (1..=MAX_BLOCK).contains(&other)).then_some(other)
}

impl Draft {
    /// A launch with blocks that are twice and half as large, with descriptions. Its grid follows, and its tensors stay the same.
    pub fn scale_blocks(&self, launch: &Launch) -> Vec<(String, Launch)> {
        let usage = &self.usage;
        if depends_on_blocks(usage) {
            return Vec::new();
        }
        let integer = |launch: &Launch, name: &str| {
            let mut arguments = launch.arguments();
            arguments.find_map(|(one, arg)| match arg.value {
                ArgValue::Int(value) if one == Some(name) => i64::try_from(value).ok(),
                _ => None,
            })
        };
        let programs = |launch: &Launch, axis: usize| -> Option<i64> {
            let Some(counted) = usage.axes.get(axis) else {
                return Some(1);
            };
            let mut all = 1_i64;
            for (size, extent) in &counted.blocks {
                let lanes = match extent {
                    Extent::Number(number) => *number,
                    Extent::Param(name) => integer(launch, name)?,
                    Extent::Text(_) => return None,
                };
                let size = integer(launch, size)?;
                all = all.checked_mul(size.checked_add(lanes.checked_sub(1)?)?.checked_div(lanes)?)?;
            }
            for size in &counted.sizes {
                all = all.checked_mul(integer(launch, size)?)?;
            }
            Some(all)
        };
        let scaled = SCALES.into_iter().filter_map(|(words, times, by)| {
            let mut other = launch.clone();
            for parameter in self.function.parameters.iter().filter(|one| one.constexpr) {
                let name = &parameter.name;
                if !usage.blocks.contains(name) {
                    continue;
                }
                let lanes = integer(launch, name)?;
                if let Some(lanes) = scale_block(usage, name, lanes, (times, by)) {
                    set_integer(&mut other, name, lanes);
                }
            }
            for (axis, own) in other.grid.iter().copied().enumerate().collect::<Vec<_>>() {
                let counted = usage.axes.get(axis);
                if counted.is_none_or(|counted| counted.blocks.is_empty()) {
                    continue;
                }
                // The grid of the launch is known to follow the blocks.
                if counted.is_some_and(|counted| counted.persistent || counted.quotient)
                    || programs(launch, axis)? != i64::from(own)
                {
                    return None;
                }
                *other.grid.get_mut(axis)? = u32::try_from(programs(&other, axis)?).ok()?;
            }
            Some((format!("blocks {words} as large"), other))
        });
        scaled.collect()
    }
}

fn set_integer(launch: &mut Launch, name: &str, value: i64) {
    let parameters = launch.kernel.function().map(|function| &function.parameters);
    let at = parameters.and_then(|all| all.iter().position(|one| one.name == name));
    let named = launch.keyword.iter_mut().find(|(one, _)| one == name);
    let arg = match named {
        Some((_, arg)) => Some(arg),
        None => at.and_then(|at| launch.positional.get_mut(at)),
    };
    if let Some(arg) = arg {
        arg.value = ArgValue::Int(i128::from(value));
    }
}
