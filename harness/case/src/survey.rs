//! Case files that try a kernel: sizes at and around its blocks, layouts, dtypes, aliases. Left out: what a kernel does with its
//! parameters ([`crate::usage`]), and what engines say to it.
//!
//! One thing is varied at a time, from a launch in which every size is a little more than a block: what fails with one variant and
//! not with the others says what it takes. A survey is no proof.

mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::SourceId;

use self::place::{Layout, placed, same_but_about};
use crate::excerpt::Part;
use crate::excerpt::tuning::{self, Config, Found};
use crate::kernel::{Function, Parameter, ParameterKind};
use crate::module;
use crate::skeleton::{guess_of, storage_name, wanted};
use crate::usage::library::{Library, Texts};
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

/// Elements of a tensor of which the text does not tell how many it has: enough for any index that small sizes lead to.
const ROOM: i64 = 1 << 16;

/// The most flags that are each turned over alone.
const FLAGS_MOST: usize = 8;

/// The most configurations of an autotuner that are tried.
const CONFIGS_MOST: usize = 4;

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
    pub not_tried: Option<NotTried>,
    /// The storages of tensors of which the text tells how many elements they have. Of others there are more than enough, which
    /// says nothing about the kernel.
    pub certain: BTreeSet<String>,
    /// Parameters whose values are guessed: numbers that are neither sizes, strides nor blocks, as far as the text tells.
    pub guessed: Vec<String>,
}

/// Why a kernel is not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotTried {
    /// Other kernels call it, or it returns a value, and nothing in its file launches it.
    #[error("it is a function that kernels call")]
    Function,
    /// It has no tensor among its parameters, as far as its text tells.
    #[error("its text shows no tensor that it accesses")]
    NoTensor,
    /// Nothing that it does could be seen.
    #[error("its text shows no tensor that it stores to")]
    NoStore,
    /// A tensor descriptor is among its parameters.
    #[error("it takes a tensor descriptor that the host makes")]
    Descriptor,
    /// It is written in Gluon.
    #[error("it is written in Gluon, not in Triton")]
    Gluon,
    /// Its launches would be too large, or take something that the text does not tell.
    #[error("no launch of a reasonable size can be made of what its text tells")]
    TooLarge,
    /// It has parameters of any number.
    #[error("it takes any number of arguments")]
    Variadic,
}

/// What the plain launch of a kernel passes, where its text leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The dtype of its tensors.
    pub dtype: &'static str,
    /// Whether its flags are on.
    pub flags: bool,
}

impl Reading {
    /// All that are worth a try, the likeliest first.
    pub const ALL: [Self; 6] = [
        Self::new("f32", true),
        Self::new("f32", false),
        Self::new("f16", true),
        Self::new("f16", false),
        Self::new("i32", true),
        Self::new("i32", false),
    ];

    const fn new(dtype: &'static str, flags: bool) -> Self {
        Self { dtype, flags }
    }
}

/// The kernels of an excerpt's first module and launches to try them with. `original` is the text that it was taken from; `only`
/// names the kernels that are meant, all if it is empty.
///
/// # Errors
/// The module has a syntax error.
pub fn surveys(
    source: SourceId,
    parts: &[Part],
    original: &str,
    only: &[&str],
    reading: Reading,
) -> Result<Vec<Survey>, Vec<Diagnostic>> {
    let Some(main) = parts.first() else {
        return Ok(Vec::new());
    };
    let contents = module::parse(source, &main.text)?;
    let found = tuning::found(original);
    let texts = Texts::new(parts.iter().map(|part| (part.path.as_str(), part.text.as_str())));
    let library = Library::new(&texts);
    let stem = main.path.trim_end_matches(".py");
    let kernels = contents
        .functions
        .iter()
        .filter(|function| function.jit && (only.is_empty() || only.contains(&function.name.as_str())));
    Ok(kernels
        .map(|function| {
            let nothing = Found::default();
            let found = found.get(&function.name).unwrap_or(&nothing);
            let usage = usage(&library, stem, function);
            survey(function, &usage, found, &main.path, reading, !only.is_empty())
        })
        .collect())
}

/// The kernels of a module's text, to be taken out of it.
///
/// # Errors
/// The module has a syntax error.
pub fn kernels(source: SourceId, text: &str) -> Result<Vec<String>, Vec<Diagnostic>> {
    let contents = module::parse(source, text)?;
    let kernels = contents.functions.into_iter().filter(|function| function.jit);
    Ok(kernels.map(|function| function.name).collect())
}

fn survey(
    function: &Function,
    usage: &Usage,
    found: &Found,
    path: &str,
    reading: Reading,
    is_named: bool,
) -> Survey {
    let mut not_tried = if found.is_gluon {
        Some(NotTried::Gluon)
    } else if found.is_function && !is_named {
        Some(NotTried::Function)
    } else if function
        .parameters
        .iter()
        .any(|one| matches!(one.kind, ParameterKind::VarPositional | ParameterKind::VarKeyword))
    {
        Some(NotTried::Variadic)
    } else if !usage.descriptors.is_empty() {
        Some(NotTried::Descriptor)
    } else if usage.tensors.is_empty() {
        Some(NotTried::NoTensor)
    } else if usage.tensors.iter().all(|tensor| !tensor.written) {
        Some(NotTried::NoStore)
    } else {
        None
    };
    let mut tried = Vec::new();
    let mut guessed = Vec::new();
    if not_tried.is_none() {
        let mut configs = found.configs.clone();
        // The smallest blocks first: they take the least time, and sizes around them are small.
        configs.sort_by_key(volume);
        let planner = |config: Config| Planner {
            function,
            usage,
            path,
            config,
            reading,
        };
        let first = planner(configs.first().cloned().unwrap_or_default());
        first.all(&mut tried);
        guessed = first.guessed();
        let others = configs.iter().skip(1);
        let step = (others.len() / (CONFIGS_MOST - 1)).max(1);
        for config in others.rev().step_by(step).take(CONFIGS_MOST - 1) {
            planner(config.clone()).plain(&mut tried);
        }
    }
    if not_tried.is_none() && tried.is_empty() {
        not_tried = Some(NotTried::TooLarge);
    }
    let is_computed = |bound: &Bound| match bound {
        Bound::Lanes(extent) | Bound::Blocks(_, extent) => match extent {
            Extent::Number(_) => false,
            Extent::Param(name) => function.given_by_decorators.contains(name),
            Extent::Text(_) => true,
        },
        _ => false,
    };
    let certain = usage.tensors.iter().filter(|tensor| {
        tensor.certain
            && !tensor
                .dimensions
                .iter()
                .any(|dimension| is_computed(&dimension.bound))
    });
    Survey {
        kernel: function.name.clone(),
        tried,
        not_tried,
        certain: certain.map(|tensor| storage_name(&tensor.name)).collect(),
        guessed,
    }
}

/// The product of the numbers of a configuration.
fn volume(config: &Config) -> i64 {
    let numbers = config.values().flatten().filter_map(|value| value.parse().ok());
    numbers.fold(1_i64, |all, one: i64| all.saturating_mul(one.max(1)))
}

/// One launch.
#[derive(Clone, Debug)]
struct Plan {
    variant: String,
    sizes: BTreeMap<String, i64>,
    layouts: BTreeMap<String, Layout>,
    dtype: &'static str,
    flags: bool,
    /// The flag that is not as the others.
    turned: Option<String>,
    /// A tensor that is passed for another one.
    alias: Option<(String, String)>,
    /// Programs of an axis that any number will do for.
    persistent: i64,
    /// Whether every size is a multiple of its block.
    even: bool,
}

struct Planner<'a> {
    function: &'a Function,
    usage: &'a Usage,
    path: &'a str,
    config: Config,
    reading: Reading,
}

impl Planner<'_> {
    fn all(&self, tried: &mut Vec<Attempt>) {
        for plan in self.plans() {
            self.add(plan, tried);
        }
    }

    /// Only the plain launch, with a configuration that others do not have.
    fn plain(&self, tried: &mut Vec<Attempt>) {
        let values = self
            .config
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
        let plan = Plan {
            variant: values.collect::<Vec<_>>().join(" "),
            ..self.base()
        };
        self.add(plan, tried);
    }

    /// The parameters whose values nothing in the text tells. What is left out of an expression of sizes, or decides how many programs
    /// share the work, is among them.
    fn guessed(&self) -> Vec<String> {
        let sizes = self.sizes();
        let known = |name: &String| {
            let usage = self.usage;
            let mut dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
            usage.tensors.iter().any(|tensor| tensor.name == *name)
                || sizes.contains(name)
                || usage.blocks.contains(name)
                || usage.flags.contains(name)
                || usage.unused.contains(name)
                || usage.dtypes.contains(name)
                || usage.texts.iter().any(|(one, _)| one == name)
                || dimensions.any(|dimension| dimension.stride == Stride::Param(name.clone()))
        };
        wanted(self.function)
            .filter(|parameter| self.is_number(parameter))
            .map(|parameter| parameter.name.clone())
            .filter(|name| !known(name))
            .collect()
    }

    /// Whether a parameter is passed an integer.
    fn is_number(&self, parameter: &Parameter) -> bool {
        let name = &parameter.name;
        let unused_stride = name.to_lowercase().contains("stride");
        !unused_stride
            && (self.config.contains_key(name) || guess_of(parameter, self.usage).parse::<i64>().is_ok())
    }

    fn add(&self, plan: Plan, tried: &mut Vec<Attempt>) {
        if let Some(text) = self.text(&plan)
            && !tried.iter().any(|known| same_but_about(&known.text, &text))
        {
            tried.push(Attempt {
                variant: plan.variant,
                text,
            });
        }
    }

    /// The block that a size is cut into, or that has to cover it.
    fn block_of(&self, size: &str) -> Option<(i64, bool)> {
        let lanes = |(name, extent): &(String, Extent)| if name == size { self.lanes(extent) } else { None };
        let covered = self.usage.within.iter().find_map(lanes);
        let cut = self.usage.axes.iter().flat_map(|axis| &axis.blocks);
        covered.map(|lanes| (lanes, true)).or_else(|| {
            let mut cut = cut.chain(&self.usage.cut);
            cut.find_map(lanes).map(|lanes| (lanes, false))
        })
    }

    fn lanes(&self, extent: &Extent) -> Option<i64> {
        let lanes = match extent {
            Extent::Number(number) => Some(*number),
            Extent::Param(name) => Some(
                self.configured(name)
                    .or_else(|| self.default_of(name))
                    .unwrap_or(if self.usage.has_dots { DOT_BLOCK } else { BLOCK }),
            ),
            // Computed, from a size most likely.
            Extent::Text(_) => Some(BLOCK),
        };
        lanes.filter(|lanes| (1..=ELEMENTS_MOST).contains(lanes))
    }

    /// The number that the configuration gives for a parameter.
    fn configured(&self, name: &str) -> Option<i64> {
        self.config.get(name)?.as_ref()?.parse().ok()
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
                Stride::Sizes(names, _) => names.as_slice(),
                _ => &[],
            };
            let bound = match &dimension.bound {
                Bound::Size(name) => Some(name),
                _ => None,
            };
            for name in bound.into_iter().chain(strides) {
                let is_block = self.usage.blocks.contains(name);
                let is_given = self.function.given_by_decorators.contains(name)
                    || self.config.contains_key(name)
                    || self.default_of(name).is_some();
                if !sizes.contains(name) && !is_block && !is_given {
                    sizes.push(name.clone());
                }
            }
        }
        sizes
    }

    fn base(&self) -> Plan {
        let sizes = self.sizes().into_iter().map(|size| {
            let value = match self.block_of(&size) {
                Some((lanes, true)) => (lanes - 3).max(1),
                Some((lanes, false)) => lanes + lanes / 2 + 1,
                None => 5,
            };
            (size, value)
        });
        Plan {
            variant: String::new(),
            sizes: sizes.collect(),
            layouts: BTreeMap::new(),
            dtype: self.reading.dtype,
            flags: self.reading.flags,
            turned: None,
            alias: None,
            persistent: PERSISTENT,
            even: false,
        }
    }

    fn plans(&self) -> Vec<Plan> {
        let base = self.base();
        let mut plans = vec![base.clone()];
        self.sized(&base, &mut plans);
        self.laid_out(&base, &mut plans);
        if base.dtype == "f32" {
            for dtype in ["f16", "bf16"] {
                plans.push(Plan {
                    variant: format!("tensors of {dtype}"),
                    dtype,
                    ..base.clone()
                });
            }
        }
        let word = if base.flags { "off" } else { "on" };
        if !self.usage.flags.is_empty() {
            plans.push(Plan {
                variant: format!("flags {word}"),
                flags: !base.flags,
                ..base.clone()
            });
        }
        if (2..=FLAGS_MOST).contains(&self.usage.flags.len()) {
            plans.extend(self.usage.flags.iter().map(|flag| Plan {
                variant: format!("{flag} {word}"),
                turned: Some(flag.clone()),
                ..base.clone()
            }));
        }
        if self.usage.axes.iter().any(|axis| axis.persistent) {
            plans.extend([1, 5].map(|persistent| Plan {
                variant: format!("{persistent} programs"),
                persistent,
                ..base.clone()
            }));
        }
        self.aliased(&base, &mut plans);
        plans
    }

    /// Each size at and around its block, and all of them multiples of their blocks.
    fn sized(&self, base: &Plan, plans: &mut Vec<Plan>) {
        for size in base.sizes.keys() {
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
        let mut plan = base.clone();
        "every size a multiple of its block".clone_into(&mut plan.variant);
        plan.even = true;
        for (size, value) in &mut plan.sizes {
            *value = self
                .block_of(size)
                .map_or(16, |(lanes, covered)| if covered { lanes } else { 2 * lanes });
        }
        plans.push(plan);
    }

    fn laid_out(&self, base: &Plan, plans: &mut Vec<Plan>) {
        for tensor in &self.usage.tensors {
            let strided = tensor
                .dimensions
                .iter()
                .filter(|one| matches!(one.stride, Stride::Param(_)));
            let layouts: &[Layout] = match (strided.count(), tensor.dimensions.len()) {
                (1, 1) => &[Layout::Stepped, Layout::Offset],
                (0, _) | (_, 0 | 1) => &[Layout::Offset],
                (2, 2) => &[Layout::Padded, Layout::Transposed, Layout::Split, Layout::Offset],
                _ => &[Layout::Padded, Layout::Split, Layout::Offset],
            };
            for &layout in layouts {
                let mut plan = base.clone();
                // Tensors with the same stride lie in the same way.
                let names: Vec<&str> = self.with_strides_of(tensor).collect();
                let is_flat = |name: &&&str| {
                    let mut tensors = self.usage.tensors.iter();
                    tensors.any(|one| one.name == **name && one.dimensions.len() == 1)
                };
                if layout == Layout::Stepped && !names.iter().all(|name| is_flat(&name)) {
                    continue;
                }
                plan.variant = format!("{} {}", names.join(" and "), layout.words());
                plan.layouts
                    .extend(names.into_iter().map(|name| (name.to_owned(), layout)));
                plans.push(plan);
            }
        }
    }

    fn aliased(&self, base: &Plan, plans: &mut Vec<Plan>) {
        let outputs = self.usage.tensors.iter();
        for out in outputs.filter(|tensor| tensor.written && !tensor.read) {
            let like = self
                .usage
                .tensors
                .iter()
                .filter(|tensor| {
                    tensor.read && !tensor.written && !tensor.indexes && place::alike(tensor, out)
                })
                .filter(|tensor| out.mirrors.contains(&tensor.name));
            for tensor in like {
                plans.push(Plan {
                    variant: format!("{} is {}", out.name, tensor.name),
                    alias: Some((out.name.clone(), tensor.name.clone())),
                    ..base.clone()
                });
            }
        }
    }

    /// A tensor, and those that share all of its strides, or have only strides of its. Where two tensors share some and differ in
    /// others, or have a stride of their own that nothing uses, one of them is more likely a mistake.
    fn with_strides_of<'a>(&'a self, tensor: &'a TensorUse) -> impl Iterator<Item = &'a str> {
        let shares = move |other: &&TensorUse| {
            let (own, theirs) = (place::strides(tensor), place::strides(other));
            let both = !own.is_empty() && !theirs.is_empty();
            let forgotten = self.has_unused_stride(tensor) || self.has_unused_stride(other);
            other.name == tensor.name
                || both && !forgotten && (own.is_subset(&theirs) || theirs.is_subset(&own))
        };
        self.usage
            .tensors
            .iter()
            .filter(shares)
            .map(|other| other.name.as_str())
    }

    /// Whether a parameter is a stride of this tensor by its name, and of none by the text.
    fn has_unused_stride(&self, tensor: &TensorUse) -> bool {
        let lower = tensor.name.to_lowercase();
        let root = lower.trim_end_matches("ptr").trim_end_matches('_');
        if root.is_empty() {
            return false;
        }
        let mut strides = self.function.parameters.iter().filter_map(|parameter| {
            let name = parameter.name.to_lowercase();
            let of = name.replace("stride", "").replace('_', "");
            (name.contains("stride") && of.starts_with(root)).then_some(&parameter.name)
        });
        strides.any(|name| {
            let mut dimensions = self.usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
            !dimensions.any(|dimension| matches!(&dimension.stride, Stride::Param(one) if one == name))
        })
    }

    /// Programs on an axis.
    fn programs(&self, axis: usize, plan: &Plan) -> i64 {
        let Some(found) = self.usage.axes.get(axis) else {
            return 1;
        };
        if found.persistent {
            return plan.persistent;
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
        if found.quotient {
            programs = programs.saturating_mul(ROWS);
        } else if found.blocks.is_empty() && found.sizes.is_empty() && self.is_counted(axis) {
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
            .or_else(|| self.configured(name))
            .or_else(|| self.default_of(name))
            .or_else(|| {
                self.usage
                    .blocks
                    .contains(name)
                    .then(|| self.lanes(&Extent::Param(name.to_owned())))?
            })
            .unwrap_or(ROWS)
    }

    fn extent(&self, dimension: &Dimension, plan: &Plan) -> Option<i64> {
        Some(match &dimension.bound {
            Bound::Size(name) => self.size(name, plan),
            Bound::Programs(axis) => self.programs(usize::from(*axis), plan),
            Bound::Quotient(axis) => {
                let sizes = self.usage.axes.get(usize::from(*axis)).map(|axis| &axis.sizes);
                let of_sizes: i64 = sizes
                    .into_iter()
                    .flatten()
                    .map(|size| self.size(size, plan))
                    .fold(1, i64::saturating_mul);
                self.programs(usize::from(*axis), plan) / of_sizes.max(1)
            }
            Bound::Lanes(extent) => self.lanes(extent)?,
            Bound::Blocks(axis, extent) => self
                .programs(usize::from(*axis), plan)
                .saturating_mul(self.lanes(extent)?),
            Bound::Unknown => ROWS * BLOCK,
        })
    }

    /// Elements from one index of a dimension to the next; none where a parameter says.
    fn step(&self, dimension: &Dimension, plan: &Plan) -> Option<i64> {
        match &dimension.stride {
            Stride::Number(number) => Some(*number),
            Stride::Param(_) => None,
            Stride::Sizes(names, factor) => Some(
                names
                    .iter()
                    .map(|name| self.size(name, plan))
                    .fold(*factor, i64::saturating_mul),
            ),
        }
    }

    /// The shape of a tensor. One that has no stride parameters and is not dense is flat.
    fn shape(&self, tensor: &TensorUse, plan: &Plan) -> Option<Vec<i64>> {
        let shape: Vec<i64> = tensor
            .dimensions
            .iter()
            .map(|dimension| self.extent(dimension, plan))
            .collect::<Option<_>>()?;
        let shape = if shape.is_empty() { vec![1] } else { shape };
        let steps: Option<Vec<i64>> = tensor.dimensions.iter().map(|one| self.step(one, plan)).collect();
        let Some(steps) = steps else {
            if tensor.certain {
                return Some(shape);
            }
            let least = match shape.len() {
                0..=2 => 64,
                3 => 24,
                _ => 8,
            };
            let extents = shape.into_iter().zip(&tensor.dimensions);
            let roomy = extents.map(|(extent, dimension)| match dimension.bound {
                Bound::Unknown => least,
                _ => extent.max(least),
            });
            return Some(roomy.collect());
        };
        if !tensor.certain {
            return Some(vec![ROOM]);
        }
        let elements = shape
            .iter()
            .zip(&steps)
            .map(|(extent, step)| extent.saturating_mul(*step));
        let elements = elements.max().unwrap_or(1);
        let dense = shape.iter().try_fold(1_i64, |all, one| all.checked_mul(*one))?;
        Some(if dense == elements { shape } else { vec![elements] })
    }

    fn text(&self, plan: &Plan) -> Option<String> {
        let mut storages = String::new();
        let mut views: BTreeMap<&str, String> = BTreeMap::new();
        for (nth, tensor) in self.usage.tensors.iter().enumerate() {
            let shape = self.shape(tensor, plan)?;
            if shape.iter().try_fold(1_i64, |all, one| all.checked_mul(*one))? > ELEMENTS_MOST {
                return None;
            }
            let layout = plan.layouts.get(&tensor.name).copied().unwrap_or(Layout::Tight);
            let (declared, view) = placed(&storage_name(&tensor.name), &shape, layout);
            let (dtype, fill) = if tensor.indexes {
                ("i64", "zeros".to_owned())
            } else if tensor.is_whole {
                ("i32", "ones".to_owned())
            } else if tensor.read && plan.dtype.starts_with('i') {
                (plan.dtype, "ones".to_owned())
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
            plan.variant.replace(['"', '\\'], "'")
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
        if let Some(Some(value)) = self.config.get(name) {
            return Some(value.clone());
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
        if is_promise(name) {
            return Some(plan.even.to_string());
        }
        if self.usage.flags.contains(name) {
            let turned = plan.turned.as_ref() == Some(name);
            return Some((plan.flags != turned).to_string());
        }
        Some(guess_of(parameter, self.usage))
    }
}

/// Whether a flag promises that sizes are multiples of blocks, by its name.
fn is_promise(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["even", "divis", "aligned"]
        .into_iter()
        .any(|word| lower.contains(word))
}
