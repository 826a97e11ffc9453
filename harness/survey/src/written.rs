//! The case file of a launch: storages, views and arguments. See [`super::plan`] for the variations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::formula::{Amount, quote_expression};
use super::place::{self, Layout, place_tensor};
use super::plan::{BLOCK, IGNORED, MAX_ELEMENTS, Plan, Planner, list_sentinels, names_ignored};
use cerith_launcher::skeleton::{guess_of, required_parameters, storage_name};
use cerith_module::kernel::Parameter;
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Dimension, Sentinel, Stride, TensorUse, Usage};

/// Elements of a dimension that nothing bounds: programs on an axis.
const ROWS: i64 = 3;

/// Elements of a tensor whose size the text does not determine: enough for any index that small sizes lead to.
const ROOM: i64 = 1 << 16;

/// How many parts a block has, if a parameter decides that.
const FACTOR: i64 = 4;

/// Maximum number of elements that a case file lists.
const MAX_LISTED: i64 = 1024;

/// The parts of a launch, as written in a case file.
pub(super) struct LaunchText {
    /// The lines of `storages`.
    pub storages: String,
    /// Views that have names, and their expressions.
    pub tensors: Vec<(String, String)>,
    pub grid: Vec<Amount>,
    /// Parameters, and what is passed.
    pub args: Vec<(String, String)>,
}

impl Planner<'_> {
    /// Programs on an axis.
    fn count_programs(&self, axis: usize, plan: &Plan) -> Amount {
        let Some(found) = self.usage.axes.get(axis) else {
            return Amount::from_number(1);
        };
        if found.persistent {
            return Amount::from_number(plan.persistent);
        }
        let mut programs = Amount::from_number(1);
        for (size, extent) in &found.blocks {
            let lanes = self.count_lanes(extent).unwrap_or(1);
            programs = programs.times(&self.compute_size(size, plan).blocks_of(lanes));
        }
        for size in &found.sizes {
            programs = programs.times(&self.compute_size(size, plan));
        }
        if found.quotient {
            programs = programs.times(&Amount::from_number(ROWS));
        } else if found.blocks.is_empty() && found.sizes.is_empty() && self.is_counted(axis) {
            programs = Amount::from_number(ROWS);
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

    fn compute_size(&self, name: &str, plan: &Plan) -> Amount {
        if let Some(value) = plan.sizes.get(name) {
            return plan.to_amount(name, *value);
        }
        let number = self
            .find_config_value(name)
            .or_else(|| self.default_of(name))
            .or_else(|| {
                self.usage
                    .blocks
                    .contains(name)
                    .then(|| self.count_lanes(&Extent::Param(name.to_owned())))?
            })
            .unwrap_or(ROWS);
        Amount::from_number(number)
    }

    fn compute_extent(&self, dimension: &Dimension, plan: &Plan) -> Option<Amount> {
        Some(match &dimension.bound {
            Bound::Size(name) => self.compute_size(name, plan),
            Bound::Programs(axis) => self.count_programs(usize::from(*axis), plan),
            Bound::Quotient(axis) => {
                let sizes = self.usage.axes.get(usize::from(*axis)).map(|axis| &axis.sizes);
                let of_sizes = sizes
                    .into_iter()
                    .flatten()
                    .fold(Amount::from_number(1), |all, size| {
                        all.times(&self.compute_size(size, plan))
                    });
                self.count_programs(usize::from(*axis), plan).divide_by(&of_sizes)
            }
            Bound::Lanes(extent) => Amount::from_number(self.count_lanes(extent)?),
            Bound::Blocks(axis, extent) => self
                .count_programs(usize::from(*axis), plan)
                .times(&Amount::from_number(self.count_lanes(extent)?)),
            Bound::Unknown => Amount::from_number(ROWS * BLOCK),
        })
    }

    /// Elements from one index of a dimension to the next; `None` if a parameter decides.
    fn compute_step(&self, dimension: &Dimension, plan: &Plan) -> Option<Amount> {
        match &dimension.stride {
            Stride::Number(number) => Some(Amount::from_number(*number)),
            Stride::Param(_) => None,
            Stride::Sizes(names, factor) => {
                Some(names.iter().fold(Amount::from_number(*factor), |all, name| {
                    all.times(&self.compute_size(name, plan))
                }))
            }
        }
    }

    /// The shape of a tensor. One that has no stride parameters and is not dense is flat.
    fn compute_shape(&self, tensor: &TensorUse, plan: &Plan) -> Option<Vec<Amount>> {
        let shape: Vec<Amount> = tensor
            .dimensions
            .iter()
            .map(|dimension| self.compute_extent(dimension, plan))
            .collect::<Option<_>>()?;
        let shape = if shape.is_empty() {
            vec![Amount::from_number(1)]
        } else {
            shape
        };
        let doublings = self.reading.rooms.get(&tensor.name).copied().unwrap_or(0);
        let steps: Option<Vec<Amount>> = tensor
            .dimensions
            .iter()
            .map(|one| self.compute_step(one, plan))
            .collect();
        let Some(steps) = steps else {
            // Every second element of a row: the row has twice as many.
            let shape: Vec<Amount> = (shape.into_iter().zip(&tensor.dimensions))
                .map(|(extent, dimension)| match dimension.stride {
                    Stride::Number(number) => extent.times(&Amount::from_number(number.max(1))),
                    _ => extent,
                })
                .collect();
            if tensor.certain || tensor.stated {
                return Some(shape);
            }
            let least = match shape.len() {
                0..=2 => 64,
                3 => 24,
                _ => 8,
            } << doublings;
            let extents = shape.into_iter().zip(&tensor.dimensions);
            let roomy = extents.map(|(extent, dimension)| match dimension.bound {
                Bound::Unknown => Amount::from_number(least),
                // Rows of uncertain length may end with a whole block: `batch * n_rounded + offsets`.
                _ => extent.blocks_of(least).times(&Amount::from_number(least)),
            });
            return Some(roomy.collect());
        };
        if !tensor.certain && !tensor.stated {
            return Some(vec![Amount::from_number(ROOM << (2 * doublings).min(4))]);
        }
        let spans = shape.iter().zip(&steps).map(|(extent, step)| extent.times(step));
        let span = spans
            .max_by_key(Amount::value)
            .unwrap_or_else(|| Amount::from_number(1));
        // Rows that overlap end after the last one begins.
        let steps = shape.iter().zip(&steps);
        let last: i64 = steps
            .map(|(extent, step)| extent.value().saturating_sub(1).saturating_mul(step.value()))
            .fold(1, i64::saturating_add);
        let elements = if last > span.value() {
            Amount::from_number(last)
        } else {
            span
        };
        let dense = (shape.iter()).try_fold(1_i64, |all, one| all.checked_mul(one.value()))?;
        Some(if dense == elements.value() {
            shape
        } else {
            vec![elements]
        })
    }

    /// The case file of a launch; `None` if it would be too large, or needs something that the text does not
    /// determine.
    pub fn render_case(&self, plan: &Plan) -> Option<String> {
        if let Some(planner) = self.with_heuristics(plan) {
            return planner.render_launch(plan);
        }
        self.render_launch(plan)
    }

    fn render_launch(&self, plan: &Plan) -> Option<String> {
        let mut written = self.build_launch_text(plan)?;
        if let Some(usage) = self.find_usage(&written.args) {
            let planner = Planner {
                usage: &usage,
                config: self.config.clone(),
                ..*self
            };
            written = planner.build_launch_text(plan)?;
        }
        let about = if plan.variant.is_empty() {
            "a little more than a block of everything".to_owned()
        } else {
            plan.variant.replace(['"', '\\'], "'")
        };
        let args = written.args.iter().fold(String::new(), |all, (name, value)| {
            all + &format!("\n      {name}: {value}")
        });
        Some(format!(
            "about: \"{}: {about}\"\nkernel: {}:{}\nstorages:\n{}launches:\n  - grid: {}\n    args:{args}\n",
            self.function.name,
            self.path,
            self.function.name,
            written.storages,
            render_list(&written.grid)
        ))
    }

    /// Finds how the kernel indexes its tensors with these arguments, if flags among them decide it.
    fn find_usage(&self, args: &[(String, String)]) -> Option<Usage> {
        let is_set = |(name, value): (&String, &bool)| {
            let mut args = args.iter();
            args.any(|(one, text)| one == name && *text == value.to_string())
        };
        let mut settings = self.by_flags.iter();
        let (_, tensors) = settings.find(|(flags, _)| flags.iter().all(is_set))?;
        let mut usage = self.usage.clone();
        for tensor in &mut usage.tensors {
            // A tensor that is not accessed is still an argument.
            let Some(known) = tensors.iter().find(|one| one.name == tensor.name) else {
                continue;
            };
            (tensor.read, tensor.written) = (known.read, known.written);
            if known.dimensions != tensor.dimensions {
                tensor.dimensions.clone_from(&known.dimensions);
                tensor.certain = known.certain && !self.reading.rooms.contains_key(&tensor.name);
                tensor.stated = known.stated && !self.reading.rooms.contains_key(&tensor.name);
            }
        }
        Some(usage)
    }

    /// The fill of a tensor of indices. They are distinct, unless a tensor that they only load from has too few elements for that.
    fn fill_indices(&self, tensor: &TensorUse, shape: &[Amount], plan: &Plan) -> String {
        let distinct = || "arange".to_owned();
        let count = shape
            .iter()
            .fold(1_i64, |all, one| all.saturating_mul(one.value()));
        if plan.repeats {
            return "zeros".to_owned();
        }
        if plan.has_sentinels && (2..=MAX_LISTED).contains(&count) {
            let mut elements: Vec<Amount> = (0..count).map(Amount::from_number).collect();
            for (nth, sentinel) in list_sentinels(tensor).into_iter().enumerate() {
                let last = elements.len().saturating_sub(nth + 1);
                for at in [nth, last] {
                    if let Some(element) = elements.get_mut(at) {
                        *element = Amount::from_number(sentinel);
                    }
                }
            }
            return render_list(&elements);
        }
        let mut placed = self.usage.tensors.iter().filter(|tensor| tensor.is_placed());
        if plan.is_matrix || placed.clone().any(|tensor| tensor.written) {
            return distinct();
        }
        let sizes = placed
            .by_ref()
            .filter_map(|tensor| self.compute_shape(tensor, plan));
        let least = sizes
            .flatten()
            .map(|size| size.value())
            .filter(|size| *size > 0)
            .min();
        match least {
            Some(high) if high < count => {
                format!("{{ random: {{ seed: 1, low: 0, high: {high}, edges: false }} }}")
            }
            _ => distinct(),
        }
    }

    /// Builds the parts of a launch for a case file.
    pub fn build_launch_text(&self, plan: &Plan) -> Option<LaunchText> {
        let mut storages = String::new();
        let mut tensors = Vec::new();
        let mut views: BTreeMap<&str, String> = BTreeMap::new();
        for (nth, tensor) in self.usage.tensors.iter().enumerate() {
            let shape = self.compute_shape(tensor, plan)?;
            if (shape.iter()).try_fold(1_i64, |all, one| all.checked_mul(one.value()))? > MAX_ELEMENTS {
                return None;
            }
            let layout = plan.layouts.get(&tensor.name).copied().unwrap_or(Layout::Tight);
            let storage = storage_name(&tensor.name);
            let (declared, view) = place_tensor(&storage, &shape, layout, &plan.row_padding());
            let chosen = self.reading.dtypes.get(&tensor.name).copied();
            let (dtype, fill) = if let Some(dtype) = chosen {
                (dtype, choose_fill(dtype, tensor, nth))
            } else if tensor.is_lock {
                ("i32", "zeros".to_owned())
            } else if tensor.indexes {
                ("i64", self.fill_indices(tensor, &shape, plan))
            } else if tensor.is_whole {
                ("i32", "ones".to_owned())
            } else if tensor.read && plan.dtype.starts_with('i') {
                (plan.dtype, "arange".to_owned())
            } else if tensor.read {
                (
                    plan.dtype,
                    format!("{{ random: {{ seed: {}, edges: false }} }}", nth + 1),
                )
            } else {
                // An access whose tensor is unknown may read it.
                let fill = if self.usage.lost > 0 { "zeros" } else { "uninit" };
                (plan.dtype, fill.to_owned())
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                storages,
                "  {storage}: {{ dtype: {dtype}, shape: {}, fill: {fill} }}",
                render_list(&declared)
            );
            // A view that is written once has a name where a case file is to be read.
            let view = if plan.is_matrix && view != storage {
                let name = format!("{storage}_view");
                tensors.push((name.clone(), view));
                name
            } else {
                view
            };
            views.insert(&tensor.name, view);
        }
        if let Some((out, other)) = &plan.alias {
            let view = views.get(other.as_str()).cloned()?;
            views.insert(out, view);
        }
        let grid: Vec<Amount> = (0..self.usage.axes.len().max(1))
            .map(|axis| self.count_programs(axis, plan))
            .collect();
        if grid.iter().any(|programs| programs.value() > MAX_ELEMENTS) {
            return None;
        }
        let mut args = Vec::new();
        let strides: BTreeSet<&str> = self
            .usage
            .tensors
            .iter()
            .flat_map(place::collect_strides)
            .collect();
        let is_stride = |parameter: &&Parameter| strides.contains(parameter.name.as_str());
        let by_default = self
            .function
            .parameters
            .iter()
            .filter(|one| one.default.is_some());
        for parameter in required_parameters(self.function).chain(by_default.filter(is_stride)) {
            let value = self.render_argument(parameter, plan, &views)?;
            args.push((parameter.name.clone(), value));
        }
        Some(LaunchText {
            storages,
            tensors,
            grid,
            args,
        })
    }

    fn render_argument(
        &self,
        parameter: &Parameter,
        plan: &Plan,
        views: &BTreeMap<&str, String>,
    ) -> Option<String> {
        let name = &parameter.name;
        let is_size = plan.sizes.contains_key(name);
        if let Some(value) = self.reading.values.get(name).filter(|_| !is_size) {
            return Some(value.clone());
        }
        if let Some(view) = views.get(name.as_str()) {
            return Some(if plan.is_matrix {
                quote_expression(view)
            } else {
                format!("\"{view}\"")
            });
        }
        if let Some(Some(value)) = self.config.get(name) {
            return Some(value.clone());
        }
        for tensor in &self.usage.tensors {
            for (at, dimension) in tensor.dimensions.iter().enumerate() {
                if dimension.stride == Stride::Param(name.clone()) {
                    let view = views.get(tensor.name.as_str())?;
                    let stride = if plan.is_matrix {
                        format!("{view}.stride({at})")
                    } else {
                        format!("\"({view}).stride({at})\"")
                    };
                    return Some(stride);
                }
            }
        }
        if let Some(value) = plan.sizes.get(name) {
            return Some(plan.to_amount(name, *value).yaml());
        }
        if self.usage.blocks.contains(name) {
            return self
                .count_lanes(&Extent::Param(name.clone()))
                .map(|lanes| lanes.to_string());
        }
        if self.usage.factors.contains(name) {
            let is_block = name.to_lowercase().contains("block");
            let lanes = if is_block {
                self.count_lanes(&Extent::Param(name.clone()))?
            } else {
                FACTOR
            };
            return Some(lanes.to_string());
        }
        if is_promise(name) {
            return Some(plan.even.to_string());
        }
        if self.usage.flags.contains(name) {
            let turned = plan.turned.as_ref() == Some(name);
            return Some((plan.flags != turned).to_string());
        }
        let is_sentinel = |tensor: &TensorUse| tensor.sentinels.contains(&Sentinel::Param(name.clone()));
        if plan.has_sentinels && names_ignored(name) && self.usage.tensors.iter().any(is_sentinel) {
            return Some(IGNORED.to_string());
        }
        Some(guess_of(parameter, self.usage))
    }
}

/// The fill of a tensor with a dtype of its own. Integers may be indices, and a flag that is 0 may end everything.
fn choose_fill(dtype: &str, tensor: &TensorUse, nth: usize) -> String {
    let is_float = dtype.starts_with('f') || dtype == "bf16";
    match (tensor.read && !tensor.indexes, is_float) {
        (false, _) if tensor.indexes => "arange".to_owned(),
        (false, _) => "uninit".to_owned(),
        (true, true) => format!("{{ random: {{ seed: {}, edges: false }} }}", nth + 1),
        (true, false) => "ones".to_owned(),
    }
}

/// Whether a flag promises that sizes are multiples of blocks, by its name.
fn is_promise(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["even", "divis", "aligned"]
        .into_iter()
        .any(|word| lower.contains(word))
}

/// A list of a case file.
pub(super) fn render_list(amounts: &[Amount]) -> String {
    let texts: Vec<String> = amounts.iter().map(Amount::yaml).collect();
    format!("[{}]", texts.join(", "))
}
