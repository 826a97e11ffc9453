//! Launches with blocks of other sizes, on the same tensors. There are none if the size of a tensor depends on a block.

use std::collections::BTreeMap;

use cerith_module::kernel::Function;
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{AxisUse, Bound, Stride, TensorUse, Usage};

/// Lanes of a block of a kernel with products of matrices.
pub(super) const DOT_BLOCK: i64 = 16;

/// Maximum number of lanes of an enlarged block.
const MAX_BLOCK: i64 = 4096;

/// The factors by which blocks are scaled: a description, and the fraction.
pub(super) const SCALES: [(&str, i64, i64); 2] = [("twice", 2, 1), ("half", 1, 2)];

/// Whether the size of a tensor depends on a block, or may. Other kernels may have written a part of an input for each block.
pub(super) fn depends_on_blocks(usage: &Usage, is_after_others: bool) -> bool {
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
                Bound::Unknown => tensor.written || is_after_others,
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

/// A launch with blocks of other sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaling {
    /// A description: `blocks twice as large`.
    pub variant: String,
    /// The blocks.
    pub blocks: BTreeMap<String, i64>,
    /// The programs on each axis.
    pub grid: [u32; 3],
}

/// Blocks that are twice and half as large as those of a launch with a grid and these integers. Its tensors stay the same, and other
/// kernels may have written some.
pub(super) fn scale_blocks(
    usage: &Usage,
    function: &Function,
    (grid, is_after_others): ([u32; 3], bool),
    find_integer: impl Fn(&str) -> Option<i64>,
) -> Vec<Scaling> {
    if depends_on_blocks(usage, is_after_others) {
        return Vec::new();
    }
    let scaled = SCALES.into_iter().filter_map(|(words, times, by)| {
        let constants = function.parameters.iter().filter(|one| one.constexpr);
        let mut blocks = BTreeMap::new();
        for parameter in constants.filter(|one| usage.blocks.contains(&one.name) && is_block(&one.name)) {
            let lanes = find_integer(&parameter.name)?;
            if let Some(other) = scale_block(usage, &parameter.name, lanes, (times, by)) {
                if has_fitted_divisor(usage, &find_integer, (lanes, other)) {
                    return None;
                }
                blocks.insert(parameter.name.clone(), other);
            }
        }
        let find_scaled = |name: &str| blocks.get(name).copied().or_else(|| find_integer(name));
        let mut scaled = grid;
        for (axis, counted) in usage.axes.iter().enumerate() {
            if counted.blocks.is_empty() {
                continue;
            }
            let programs = scaled.get_mut(axis)?;
            // Only if the grid of the launch follows the blocks.
            if counted.persistent
                || counted.quotient
                || count_programs(counted, &find_integer)? != i64::from(*programs)
            {
                return None;
            }
            *programs = u32::try_from(count_programs(counted, find_scaled)?).ok()?;
        }
        Some(Scaling {
            variant: format!("blocks {words} as large"),
            blocks,
            grid: scaled,
        })
    });
    scaled.collect()
}

/// Whether the kernel divides by a number that is a multiple of a block and not of the scaled one: a block may have to lie within one
/// group of so many elements.
fn has_fitted_divisor(
    usage: &Usage,
    find_integer: impl Fn(&str) -> Option<i64>,
    (lanes, scaled): (i64, i64),
) -> bool {
    let divisors = usage.divisors.difference(&usage.blocks);
    let mut numbers = divisors.filter_map(|name| find_integer(name));
    numbers.any(|number| number > 1 && number % lanes == 0 && number % scaled != 0)
}

/// An axis of a grid with too few programs for the sizes that the kernel cuts into blocks on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The axis.
    pub axis: usize,
    /// The sizes, with their blocks.
    pub text: String,
    /// The programs that there are, and those that are needed.
    pub programs: (u32, i64),
}

/// The first axis of a grid with too few programs.
pub(super) fn find_shortage(
    usage: &Usage,
    grid: [u32; 3],
    find_integer: impl Fn(&str) -> Option<i64>,
) -> Option<Shortage> {
    // A block without an access in the text may be read through another address.
    if usage.lost > 0 {
        return None;
    }
    let mut axes = usage.axes.iter().zip(grid).enumerate();
    axes.find_map(|(axis, (counted, programs))| {
        if counted.blocks.is_empty() || counted.persistent || counted.quotient {
            return None;
        }
        let needed = count_programs(counted, &find_integer)?;
        let words = counted.blocks.iter().map(|(size, extent)| match extent {
            Extent::Number(number) => format!("`{size}` in blocks of {number}"),
            Extent::Param(name) | Extent::Text(name) => format!("`{size}` in blocks of `{name}`"),
        });
        let sizes = counted.sizes.iter().map(|size| format!("`{size}`"));
        (needed > i64::from(programs)).then(|| Shortage {
            axis,
            text: words.chain(sizes).collect::<Vec<_>>().join(" times "),
            programs: (programs, needed),
        })
    })
}

/// Whether a parameter of a launcher's launch is a block, according to its name: results depend on the size of a group.
fn is_block(name: &str) -> bool {
    let lower = name.to_lowercase();
    let is_short = lower.starts_with('b') && lower.len() <= 3;
    is_short || ["block", "tile", "chunk"].iter().any(|word| lower.contains(word))
}

/// The programs on an axis of a launch with these integers.
fn count_programs(counted: &AxisUse, find_integer: impl Fn(&str) -> Option<i64>) -> Option<i64> {
    let mut programs = 1_i64;
    for (size, extent) in &counted.blocks {
        let lanes = match extent {
            Extent::Number(number) => *number,
            Extent::Param(name) => find_integer(name)?,
            Extent::Text(_) => return None,
        };
        let rounded = find_integer(size)?.checked_add(lanes.checked_sub(1)?)?;
        programs = programs.checked_mul(rounded.checked_div(lanes)?)?;
    }
    for size in &counted.sizes {
        programs = programs.checked_mul(find_integer(size)?)?;
    }
    Some(programs)
}
