//! Case files that try a kernel: sizes at and around its blocks, layouts, dtypes, aliases. Left out: what a kernel does with its
//! parameters ([`crate::usage`]), and what engines say to it.
//!
//! One thing is varied at a time, from a launch in which every size is a little more than a block: what fails with one variant and
//! not with the others says what it takes. A survey is no proof.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::SourceId;

use crate::kernel::{Function, Parameter};
use crate::module;
use crate::skeleton::{guess_of, storage_name, wanted};
use crate::usage::polynomial::Extent;
use crate::usage::{Bound, Dimension, Stride, TensorUse, Usage, usage};

/// Lanes of a block whose size is a parameter.
const BLOCK: i64 = 32;

/// Lanes of a block of a kernel with products of matrices.
const DOT_BLOCK: i64 = 16;

/// Elements of a dimension that nothing bounds: programs on an axis.
const ROWS: i64 = 3;

/// Programs of an axis that any number will do for.
const PERSISTENT: i64 = 2;

/// Elements between the rows of a padded tensor, and before the first of one with an offset.
const APART: i64 = 5;

/// The most elements of a tensor: larger sizes are not tried.
const ELEMENTS_MOST: i64 = 1 << 20;

/// A launch to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What is special about it: `n=33`, `x with padded rows`; empty for the launch that others differ from.
    pub variant: String,
    /// Its case file.
    pub text: String,
}

/// A kernel and the launches to try it with, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The kernel.
    pub kernel: String,
    /// The launches, the plain one first.
    pub tried: Vec<Attempt>,
    /// Why the kernel cannot be launched from what its text says.
    pub not_tried: Option<String>,
}

/// The kernels of a module and launches to try them with. `path` is the module's path as case files will have it; `only` names
/// the kernels that are meant, all if it is empty.
///
/// # Errors
/// The module has a syntax error.
pub fn surveys(
    source: SourceId,
    text: &str,
    path: &str,
    only: &[&str],
) -> Result<Vec<Survey>, Vec<Diagnostic>> {
    let contents = module::parse(source, text)?;
    let kernels = contents
        .functions
        .iter()
        .filter(|function| function.jit && (only.is_empty() || only.contains(&function.name.as_str())));
    Ok(kernels
        .map(|function| survey(function, &usage(text, &function.name, function), path))
        .collect())
}

fn survey(function: &Function, usage: &Usage, path: &str) -> Survey {
    let not_tried = if usage.tensors.iter().all(|tensor| !tensor.written) {
        Some(if usage.tensors.is_empty() {
            "it accesses no tensor by itself".to_owned()
        } else {
            "it stores to no tensor by itself".to_owned()
        })
    } else if function.autotune || !function.decorators_are_literal {
        Some("it is autotuned".to_owned())
    } else {
        None
    };
    let tried = if not_tried.is_some() {
        Vec::new()
    } else {
        Planner {
            function,
            usage,
            path,
        }
        .tried()
    };
    Survey {
        kernel: function.name.clone(),
        tried,
        not_tried,
    }
}

/// How a tensor lies in its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Tight,
    Padded,
    Transposed,
    Offset,
}

impl Layout {
    const fn words(self) -> &'static str {
        match self {
            Self::Tight => "tight",
            Self::Padded => "with padded rows",
            Self::Transposed => "transposed",
            Self::Offset => "with an offset",
        }
    }
}

/// One launch.
#[derive(Clone, Debug)]
struct Plan {
    variant: String,
    sizes: BTreeMap<String, i64>,
    layouts: BTreeMap<String, Layout>,
    dtype: &'static str,
    flags: bool,
    /// A tensor that is passed for another one.
    alias: Option<(String, String)>,
}

struct Planner<'a> {
    function: &'a Function,
    usage: &'a Usage,
    path: &'a str,
}

impl Planner<'_> {
    fn tried(&self) -> Vec<Attempt> {
        let mut texts: Vec<Attempt> = Vec::new();
        for plan in self.plans() {
            if let Some(text) = self.text(&plan)
                && !texts.iter().any(|known| same_but_about(&known.text, &text))
            {
                texts.push(Attempt {
                    variant: plan.variant,
                    text,
                });
            }
        }
        texts
    }

    /// The block that a size is cut into, or that has to cover it.
    fn block_of(&self, size: &str) -> Option<(i64, bool)> {
        let lanes = |(name, extent): &(String, Extent)| if name == size { self.lanes(extent) } else { None };
        let covered = self.usage.within.iter().find_map(lanes);
        let mut cut = self.usage.axes.iter().flat_map(|axis| &axis.blocks);
        covered
            .map(|lanes| (lanes, true))
            .or_else(|| cut.find_map(lanes).map(|lanes| (lanes, false)))
    }

    fn lanes(&self, extent: &Extent) -> Option<i64> {
        let lanes = match extent {
            Extent::Number(number) => Some(*number),
            Extent::Param(name) => {
                Some(
                    self.default_of(name)
                        .unwrap_or(if self.usage.has_dots { DOT_BLOCK } else { BLOCK }),
                )
            }
            Extent::Text(_) => None,
        };
        lanes.filter(|lanes| (1..=ELEMENTS_MOST).contains(lanes))
    }

    /// The number that a parameter has by default.
    fn default_of(&self, name: &str) -> Option<i64> {
        let parameter = self.function.parameters.iter().find(|one| one.name == name)?;
        let number = parameter.default.as_ref()?.parse().ok()?;
        (0..=ELEMENTS_MOST).contains(&number).then_some(number)
    }

    fn sizes(&self) -> Vec<String> {
        let mut sizes: Vec<String> = Vec::new();
        let dimensions = self.usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
        for dimension in dimensions {
            let strides = match &dimension.stride {
                Stride::Sizes(names) => names.as_slice(),
                _ => &[],
            };
            let bound = match &dimension.bound {
                Bound::Size(name) => Some(name),
                _ => None,
            };
            for name in bound.into_iter().chain(strides) {
                let is_block = self.usage.blocks.contains(name);
                if !sizes.contains(name) && !is_block && self.default_of(name).is_none() {
                    sizes.push(name.clone());
                }
            }
        }
        sizes
    }

    fn plans(&self) -> Vec<Plan> {
        let sizes = self.sizes();
        let plain: BTreeMap<String, i64> = sizes
            .iter()
            .map(|size| {
                let value = match self.block_of(size) {
                    Some((lanes, true)) => (lanes - 3).max(1),
                    Some((lanes, false)) => lanes + lanes / 2 + 1,
                    None => 5,
                };
                (size.clone(), value)
            })
            .collect();
        let base = Plan {
            variant: String::new(),
            sizes: plain,
            layouts: BTreeMap::new(),
            dtype: "f32",
            flags: true,
            alias: None,
        };
        let mut plans = vec![base.clone()];
        for size in &sizes {
            let values = match self.block_of(size) {
                Some((lanes, true)) => vec![0, 1, lanes - 1, lanes],
                Some((lanes, false)) => vec![0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes, 3 * lanes + 7],
                None => vec![1, 2, 16],
            };
            for value in values {
                let mut plan = base.clone();
                plan.variant = format!("{size}={value}");
                plan.sizes.insert(size.clone(), value);
                plans.push(plan);
            }
        }
        // Every size a multiple of its block.
        if sizes.len() > 1 {
            let mut plan = base.clone();
            "every size a multiple of its block".clone_into(&mut plan.variant);
            for (size, value) in &mut plan.sizes {
                *value = self
                    .block_of(size)
                    .map_or(16, |(lanes, covered)| if covered { lanes } else { 2 * lanes });
            }
            plans.push(plan);
        }
        for tensor in &self.usage.tensors {
            let strided = tensor
                .dimensions
                .iter()
                .filter(|one| matches!(one.stride, Stride::Param(_)));
            let layouts: &[Layout] = match (strided.count(), tensor.dimensions.len()) {
                (0, _) | (_, 0 | 1) => &[Layout::Offset],
                (2, 2) => &[Layout::Padded, Layout::Transposed, Layout::Offset],
                _ => &[Layout::Padded, Layout::Offset],
            };
            for &layout in layouts {
                let mut plan = base.clone();
                // Tensors with the same stride lie in the same way.
                let names: Vec<&str> = self.with_strides_of(tensor).collect();
                plan.variant = format!("{} {}", names.join(" and "), layout.words());
                plan.layouts
                    .extend(names.into_iter().map(|name| (name.to_owned(), layout)));
                plans.push(plan);
            }
        }
        for dtype in ["f16", "bf16"] {
            plans.push(Plan {
                variant: format!("tensors of {dtype}"),
                dtype,
                ..base.clone()
            });
        }
        if !self.usage.flags.is_empty() {
            plans.push(Plan {
                variant: "flags off".to_owned(),
                flags: false,
                ..base.clone()
            });
        }
        for out in self
            .usage
            .tensors
            .iter()
            .filter(|tensor| tensor.written && !tensor.read)
        {
            let like = self
                .usage
                .tensors
                .iter()
                .filter(|tensor| tensor.read && !tensor.written && !tensor.indexes && alike(tensor, out));
            for tensor in like {
                plans.push(Plan {
                    variant: format!("{} is {}", out.name, tensor.name),
                    alias: Some((out.name.clone(), tensor.name.clone())),
                    ..base.clone()
                });
            }
        }
        plans
    }

    /// A tensor, and those that share all of its strides, or have only strides of its. Where two tensors share some and differ in
    /// others, one of them is more likely a mistake.
    fn with_strides_of<'a>(&'a self, tensor: &'a TensorUse) -> impl Iterator<Item = &'a str> {
        let shares = move |other: &&TensorUse| {
            let (own, theirs) = (strides(tensor), strides(other));
            let both = !own.is_empty() && !theirs.is_empty();
            other.name == tensor.name || both && (own.is_subset(&theirs) || theirs.is_subset(&own))
        };
        self.usage
            .tensors
            .iter()
            .filter(shares)
            .map(|other| other.name.as_str())
    }

    /// Programs on an axis.
    fn programs(&self, axis: usize, plan: &Plan) -> i64 {
        let Some(found) = self.usage.axes.get(axis) else {
            return 1;
        };
        if found.persistent {
            return PERSISTENT;
        }
        let mut programs: i64 = 1;
        for (size, extent) in &found.blocks {
            let lanes = self.lanes(extent).unwrap_or(1);
            let size = self.size(size, plan);
            programs = programs.saturating_mul(size.div_euclid(lanes) + i64::from(size % lanes != 0));
        }
        for size in &found.sizes {
            programs = programs.saturating_mul(self.size(size, plan));
        }
        if found.blocks.is_empty() && found.sizes.is_empty() && self.is_counted(axis) {
            programs = ROWS;
        }
        programs
    }

    /// Whether a dimension has as many elements as the axis has programs.
    fn is_counted(&self, axis: usize) -> bool {
        let dimensions = self.usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
        dimensions.into_iter().any(|dimension| match &dimension.bound {
            Bound::Programs(one) | Bound::Blocks(one, _) => usize::from(*one) == axis,
            _ => false,
        })
    }

    fn size(&self, name: &str, plan: &Plan) -> i64 {
        plan.sizes
            .get(name)
            .copied()
            .or_else(|| self.default_of(name))
            .unwrap_or(ROWS)
    }

    fn extent(&self, dimension: &Dimension, plan: &Plan) -> Option<i64> {
        Some(match &dimension.bound {
            Bound::Size(name) => self.size(name, plan),
            Bound::Programs(axis) => self.programs(usize::from(*axis), plan),
            Bound::Lanes(extent) => self.lanes(extent)?,
            Bound::Blocks(axis, extent) => self
                .programs(usize::from(*axis), plan)
                .saturating_mul(self.lanes(extent)?),
            Bound::Unknown => ROWS * BLOCK,
        })
    }

    fn text(&self, plan: &Plan) -> Option<String> {
        let mut storages = String::new();
        let mut views: BTreeMap<&str, String> = BTreeMap::new();
        for (nth, tensor) in self.usage.tensors.iter().enumerate() {
            let shape: Vec<i64> = tensor
                .dimensions
                .iter()
                .map(|dimension| self.extent(dimension, plan))
                .collect::<Option<_>>()?;
            let shape = if shape.is_empty() { vec![1] } else { shape };
            if shape.iter().try_fold(1_i64, |all, one| all.checked_mul(*one))? > ELEMENTS_MOST {
                return None;
            }
            let layout = plan.layouts.get(&tensor.name).copied().unwrap_or(Layout::Tight);
            let (declared, view) = placed(&storage_name(&tensor.name), &shape, layout);
            let (dtype, fill) = if tensor.indexes {
                ("i64", "zeros".to_owned())
            } else if tensor.read {
                (
                    plan.dtype,
                    format!("{{ random: {{ seed: {}, edges: false }} }}", nth + 1),
                )
            } else {
                (plan.dtype, "zeros".to_owned())
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                storages,
                "  {}: {{ dtype: {dtype}, shape: {declared:?}, fill: {fill} }}",
                storage_name(&tensor.name)
            );
            views.insert(&tensor.name, view);
        }
        if let Some((out, other)) = &plan.alias {
            let view = views.get(other.as_str()).cloned()?;
            views.insert(out, view);
        }
        let grid: Vec<i64> = (0..self.usage.axes.len().max(1))
            .map(|axis| self.programs(axis, plan))
            .collect();
        if grid.iter().any(|programs| *programs > ELEMENTS_MOST) {
            return None;
        }
        let mut args = String::new();
        for parameter in wanted(self.function) {
            let value = self.argument(parameter, plan, &views)?;
            let _ = write!(args, "\n      {}: {value}", parameter.name);
        }
        let about = if plan.variant.is_empty() {
            "a little more than a block of everything".to_owned()
        } else {
            plan.variant.clone()
        };
        Some(format!(
            "about: \"{}: {about}\"\nkernel: {}:{}\nstorages:\n{storages}launches:\n  - grid: {grid:?}\n    args:{args}\n",
            self.function.name, self.path, self.function.name
        ))
    }

    fn argument(&self, parameter: &Parameter, plan: &Plan, views: &BTreeMap<&str, String>) -> Option<String> {
        let name = &parameter.name;
        if let Some(view) = views.get(name.as_str()) {
            return Some(format!("\"{view}\""));
        }
        for tensor in &self.usage.tensors {
            for (at, dimension) in tensor.dimensions.iter().enumerate() {
                if dimension.stride == Stride::Param(name.clone()) {
                    let view = views.get(tensor.name.as_str())?;
                    return Some(format!("\"({view}).stride({at})\""));
                }
            }
        }
        if let Some(value) = plan.sizes.get(name) {
            return Some(value.to_string());
        }
        if self.usage.blocks.contains(name) {
            return self
                .lanes(&Extent::Param(name.clone()))
                .map(|lanes| lanes.to_string());
        }
        if self.usage.flags.contains(name) {
            return Some(plan.flags.to_string());
        }
        Some(guess_of(parameter, self.usage))
    }
}

/// What is declared for a tensor of this shape, and the expression that is the tensor.
fn placed(name: &str, shape: &[i64], layout: Layout) -> (Vec<i64>, String) {
    match layout {
        Layout::Tight => (shape.to_vec(), name.to_owned()),
        Layout::Padded => {
            let mut declared = shape.to_vec();
            let width = shape.last().copied().unwrap_or(1);
            if let Some(last) = declared.last_mut() {
                *last += APART;
            }
            (declared, format!("{name}[..., :{width}]"))
        }
        Layout::Transposed => {
            let declared: Vec<i64> = shape.iter().rev().copied().collect();
            (declared, format!("{name}.t()"))
        }
        Layout::Offset => {
            let elements: i64 = shape.iter().product();
            let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
            (
                vec![elements + APART],
                format!("{name}[{APART}:].view({})", sizes.join(", ")),
            )
        }
    }
}

/// The parameters that are strides of a tensor.
fn strides(tensor: &TensorUse) -> BTreeSet<&str> {
    let dimensions = tensor.dimensions.iter();
    dimensions
        .filter_map(|dimension| match &dimension.stride {
            Stride::Param(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

/// Whether two tensors have the same bounds, so that one can be passed for the other.
fn alike(a: &TensorUse, b: &TensorUse) -> bool {
    let bounds = |tensor: &TensorUse| -> Vec<Bound> {
        tensor
            .dimensions
            .iter()
            .map(|dimension| dimension.bound.clone())
            .collect()
    };
    bounds(a) == bounds(b)
}

/// Whether two case files say the same but in `about`.
fn same_but_about(a: &str, b: &str) -> bool {
    let rest = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    rest(a) == rest(b)
}
