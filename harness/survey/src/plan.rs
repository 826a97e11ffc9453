//! The launches that a kernel is tried with: the sizes, layouts, dtypes, flags and aliases of each. See
//! [`super::written`] for their text.

use std::collections::{BTreeMap, BTreeSet};

use super::formula::Amount;
use super::place::{self, Layout, ROW_PADDING};
use super::reading::Reading;
use super::scaled::{DOT_BLOCK, SCALES, depends_on_blocks, scale_block};
use super::survey::Attempt;
use cerith_launcher::skeleton::{guess_of, required_parameters};
use cerith_launcher::{Change, evaluate_heuristics, is_same_launch};
use cerith_module::excerpt::tuning::Config;
use cerith_module::kernel::{Function, Parameter};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Flags, Stride, TensorUse, Usage};

/// Maximum number of elements of a tensor: larger sizes are not tried.
pub(super) const MAX_ELEMENTS: i64 = 1 << 20;

/// Lanes of a block whose size is a parameter.
pub(super) const BLOCK: i64 = 32;

/// Programs of an axis that any number will do for.
const PERSISTENT: i64 = 2;

/// The variant in which all indices are equal.
pub const REPEATED: &str = "all indices equal";

/// Maximum number of flags that are each flipped alone.
const FLAGS_MOST: usize = 8;

/// Lists the settings of a kernel's flags in its launches: all equal, or all but one.
pub(super) fn list_settings(usage: &Usage) -> Vec<Flags> {
    let is_size = |name: &String| usage.blocks.contains(name) || usage.factors.contains(name);
    let names: Vec<&String> = usage.flags.iter().filter(|name| !is_size(name)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut settings: Vec<Flags> = Vec::new();
    for value in [true, false] {
        let all: Flags = names.iter().map(|name| ((*name).clone(), value)).collect();
        if names.len() <= FLAGS_MOST {
            settings.extend(names.iter().map(|name| {
                let mut flags = all.clone();
                flags.insert((*name).clone(), !value);
                flags
            }));
        }
        settings.push(all);
    }
    settings.sort();
    settings.dedup();
    settings
}

/// One launch.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four choices that do not depend on each other"
)]
pub(super) struct Plan {
    pub variant: String,
    pub change: Change,
    pub sizes: BTreeMap<String, i64>,
    pub layouts: BTreeMap<String, Layout>,
    pub dtype: &'static str,
    pub flags: bool,
    /// The flag that is not as the others.
    pub turned: Option<String>,
    /// A tensor that is passed for another one.
    pub alias: Option<(String, String)>,
    /// Programs of an axis that any number will do for.
    pub persistent: i64,
    /// Whether all indices that the kernel loads are equal.
    pub repeats: bool,
    /// Whether the first and last indices are values that the kernel compares with them, and that are none.
    pub has_sentinels: bool,
    /// Whether every size is a multiple of its block.
    pub even: bool,
    /// Whether sizes, and the padding of rows, are variables of a matrix. They are written by name then.
    pub is_matrix: bool,
}

impl Plan {
    /// A size, by its name where that is a variable.
    pub fn to_amount(&self, name: &str, value: i64) -> Amount {
        if self.is_matrix {
            Amount::from_variable(name, value)
        } else {
            Amount::from_number(value)
        }
    }

    /// Elements between rows that are padded.
    pub fn row_padding(&self) -> Amount {
        self.to_amount(PADDING, ROW_PADDING)
    }
}

/// The value of a parameter whose name says that indices which equal it are ignored.
pub(super) const IGNORED: i64 = -100;

/// The values that are none of a tensor's indices. That of a parameter follows from its name.
pub(super) fn list_sentinels(tensor: &TensorUse) -> BTreeSet<i64> {
    let sentinels = tensor.list_sentinels(|name| names_ignored(name).then_some(IGNORED));
    sentinels.into_iter().collect()
}

/// Whether indices that equal a parameter are ignored, by its name.
pub(super) fn names_ignored(name: &str) -> bool {
    name.to_lowercase().contains("ignore")
}

/// The matrix variable for the number of elements between rows.
pub(super) const PADDING: &str = "padding";

pub(super) struct Planner<'a> {
    pub function: &'a Function,
    pub usage: &'a Usage,
    pub by_flags: &'a [(Flags, Vec<TensorUse>)],
    pub path: &'a str,
    /// The module.
    pub text: &'a str,
    /// The parameters that the kernel's heuristics compute.
    pub computed: &'a [String],
    pub config: Config,
    pub reading: &'a Reading,
}

impl Planner<'_> {
    /// The planner with the blocks that heuristics compute for a launch. Returns `None` if they compute none, or the same ones.
    pub fn with_heuristics(&self, plan: &Plan) -> Option<Self> {
        if !self.computed.iter().any(|name| self.usage.blocks.contains(name)) {
            return None;
        }
        let mut args = self.build_launch_text(plan)?.args;
        let config = self
            .config
            .iter()
            .filter(|(name, _)| !self.computed.contains(name));
        args.extend(config.filter_map(|(name, value)| Some((name.clone(), value.clone()?))));
        let mut config = self.config.clone();
        for (name, value) in evaluate_heuristics(self.text, &self.function.name, &args) {
            config.insert(name, Some(value));
        }
        (config != self.config).then_some(Self { config, ..*self })
    }

    /// Adds a launch with a size that the kernel's heuristics compare with others.
    pub fn add_threshold(&self, size: &str, number: i64, tried: &mut Vec<Attempt>) {
        if !self.base().sizes.contains_key(size) || !(1..=MAX_ELEMENTS).contains(&number) {
            return;
        }
        for value in [number, number + 1] {
            let mut reading = self.reading.clone();
            if self
                .block_of(size)
                .is_some_and(|(lanes, covers)| covers && lanes < value)
            {
                reading.block = Some(value.unsigned_abs().next_power_of_two() as i64);
            }
            let set = |plan: Plan| {
                let mut plan = Plan {
                    variant: format!("{size}={value}"),
                    ..plan
                };
                plan.sizes.insert(size.to_owned(), value);
                plan
            };
            let planner = Planner {
                reading: &reading,
                config: self.config.clone(),
                ..*self
            };
            let computed = planner.with_heuristics(&set(planner.base()));
            let planner = computed.unwrap_or(planner);
            planner.add(set(planner.base()), tried);
        }
    }

    /// The plain launch.
    pub fn first(&self) -> Option<Attempt> {
        let plan = self.base();
        let text = self.render_case(&plan)?;
        Some(Attempt {
            variant: plan.variant,
            change: plan.change,
            text,
        })
    }

    /// The plain launch with blocks of other sizes, and otherwise the same sizes. Empty if the size of a tensor depends on a
    /// block.
    pub fn list_block_attempts(&self) -> Vec<Attempt> {
        let usage = self.usage;
        if depends_on_blocks(usage, false) {
            return Vec::new();
        }
        let base = self.base();
        let attempts = SCALES.into_iter().filter_map(|(words, times, by)| {
            let mut config = self.config.clone();
            let mut is_changed = false;
            let blocks = required_parameters(self.function).filter(|one| usage.blocks.contains(&one.name));
            for parameter in blocks {
                let name = &parameter.name;
                let lanes = self.count_lanes(&Extent::Param(name.clone()))?;
                if let Some(lanes) = scale_block(usage, name, lanes, (times, by)) {
                    config.insert(name.clone(), Some(lanes.to_string()));
                    is_changed = true;
                }
            }
            let planner = Planner { config, ..*self };
            let text = is_changed.then(|| planner.render_case(&base))??;
            Some(Attempt {
                variant: format!("blocks {words} as large"),
                change: Change::Other,
                text,
            })
        });
        attempts.collect()
    }

    pub fn add_all(&self, tried: &mut Vec<Attempt>) {
        for plan in self.plans() {
            self.add(plan, tried);
        }
    }

    /// Only the plain launch, with a configuration that others do not have.
    pub fn add_plain(&self, tried: &mut Vec<Attempt>) {
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

    /// The parameters whose values the text does not determine. This includes parameters that are omitted from an
    /// expression of sizes, or that decide how many programs share the work.
    pub fn guessed(&self) -> Vec<String> {
        let sizes = self.sizes();
        let known = |name: &String| {
            let usage = self.usage;
            let mut dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
            usage.tensors.iter().any(|tensor| tensor.name == *name)
                || sizes.contains(name)
                || usage.blocks.contains(name)
                || usage.factors.contains(name)
                || usage.flags.contains(name)
                || usage.unused.contains(name)
                || usage.assigned.contains_key(name)
                || usage.dtypes.contains(name)
                || usage.texts.iter().any(|(one, _)| one == name)
                || dimensions.any(|dimension| dimension.stride == Stride::Param(name.clone()))
        };
        required_parameters(self.function)
            .filter(|parameter| self.is_number(parameter))
            .map(|parameter| parameter.name.clone())
            .filter(|name| !known(name) && self.usage.control.contains(name))
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
        if let Some(text) = self.render_case(&plan)
            && !tried.iter().any(|known| is_same_launch(&known.text, &text))
        {
            tried.push(Attempt {
                variant: plan.variant,
                change: plan.change,
                text,
            });
        }
    }

    /// The block that a size is cut into, or that has to cover it.
    pub fn block_of(&self, size: &str) -> Option<(i64, bool)> {
        let lanes = |(name, extent): &(String, Extent)| {
            if name == size {
                self.count_lanes(extent)
            } else {
                None
            }
        };
        let covered = self.usage.covered_sizes.iter().find_map(lanes);
        let cut = self.usage.axes.iter().flat_map(|axis| &axis.blocks);
        covered.map(|lanes| (lanes, true)).or_else(|| {
            let mut cut = cut.chain(&self.usage.cut_sizes);
            cut.find_map(lanes).map(|lanes| (lanes, false))
        })
    }

    pub fn count_lanes(&self, extent: &Extent) -> Option<i64> {
        let lanes = match extent {
            Extent::Number(number) => Some(*number),
            Extent::Param(name) => Some(
                self.find_config_value(name)
                    .or_else(|| self.default_of(name))
                    .or(self.reading.block)
                    .unwrap_or(if self.usage.has_dots { DOT_BLOCK } else { BLOCK }),
            ),
            // Computed, from a size most likely.
            Extent::Text(_) => Some(BLOCK),
        };
        lanes.filter(|lanes| (1..=MAX_ELEMENTS).contains(lanes))
    }

    /// The number that the configuration gives for a parameter.
    pub fn find_config_value(&self, name: &str) -> Option<i64> {
        self.config.get(name)?.as_ref()?.parse().ok()
    }

    /// The number that a parameter has by default.
    pub fn default_of(&self, name: &str) -> Option<i64> {
        let parameter = self.function.parameters.iter().find(|one| one.name == name)?;
        let number = parameter.default.as_ref()?.parse().ok()?;
        (0..=MAX_ELEMENTS).contains(&number).then_some(number)
    }

    pub fn sizes(&self) -> Vec<String> {
        let mut sizes: Vec<String> = Vec::new();
        let with_flags = self.by_flags.iter().flat_map(|(_, tensors)| tensors);
        let tensors = self.usage.tensors.iter().chain(with_flags);
        for dimension in tensors.flat_map(|tensor| &tensor.dimensions) {
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

    pub fn base(&self) -> Plan {
        let sizes = self.sizes().into_iter().map(|size| {
            let chosen = self
                .reading
                .values
                .get(&size)
                .and_then(|value| value.parse().ok());
            let value = chosen.unwrap_or_else(|| match self.block_of(&size) {
                _ if self.reading.even => self.choose_even_size(&size),
                Some((lanes, true)) => (lanes - 3).max(1),
                // A size of 2 blocks would be even.
                Some((2, false)) => 3,
                Some((lanes, false)) => lanes + lanes / 2 + 1,
                None => 5,
            });
            (size, value)
        });
        Plan {
            variant: String::new(),
            change: Change::Other,
            sizes: sizes.collect(),
            layouts: BTreeMap::new(),
            dtype: self.reading.dtype,
            flags: self.reading.flags,
            turned: None,
            alias: None,
            persistent: PERSISTENT,
            repeats: false,
            has_sentinels: false,
            even: self.reading.even,
            is_matrix: false,
        }
    }

    /// A multiple of the block of a size.
    fn choose_even_size(&self, size: &str) -> i64 {
        self.block_of(size)
            .map_or(16, |(lanes, covered)| if covered { lanes } else { 2 * lanes })
    }

    fn plans(&self) -> Vec<Plan> {
        let base = self.base();
        let mut plans = vec![base.clone()];
        self.add_size_plans(&base, &mut plans);
        self.add_layout_plans(&base, &mut plans);
        if base.dtype == "f32" {
            for dtype in ["f16", "bf16"] {
                plans.push(Plan {
                    variant: format!("tensors of {dtype}"),
                    change: Change::Dtype,
                    dtype,
                    ..base.clone()
                });
            }
        }
        let word = if base.flags { "off" } else { "on" };
        if !self.usage.flags.is_empty() {
            plans.push(Plan {
                variant: format!("flags {word}"),
                change: Change::Flag,
                flags: !base.flags,
                ..base.clone()
            });
        }
        if (2..=FLAGS_MOST).contains(&self.usage.flags.len()) {
            plans.extend(self.usage.flags.iter().map(|flag| Plan {
                variant: format!("{flag} {word}"),
                change: Change::Flag,
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
        if self.usage.tensors.iter().any(|tensor| tensor.indexes) {
            plans.push(Plan {
                variant: REPEATED.to_owned(),
                change: Change::EqualIndices,
                repeats: true,
                ..base.clone()
            });
        }
        for tensor in &self.usage.tensors {
            if !list_sentinels(tensor).is_empty() {
                plans.push(Plan {
                    variant: format!("{} with ignored elements", tensor.name),
                    has_sentinels: true,
                    ..base.clone()
                });
            }
        }
        self.add_alias_plans(&base, &mut plans);
        plans
    }

    /// Each size at and around its block, and all of them multiples of their blocks.
    fn add_size_plans(&self, base: &Plan, plans: &mut Vec<Plan>) {
        for size in base.sizes.keys() {
            let values = match self.block_of(size) {
                Some((lanes, true)) => vec![0, 1, lanes - 1, lanes],
                Some((lanes, false)) => vec![0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes, 3 * lanes + 7],
                None => vec![1, 2, 16],
            };
            for value in values {
                let mut plan = base.clone();
                plan.variant = format!("{size}={value}");
                if value == 0 {
                    plan.change = Change::EmptySize;
                }
                plan.sizes.insert(size.clone(), value);
                plans.push(plan);
            }
        }
        let mut plan = base.clone();
        "every size a multiple of its block".clone_into(&mut plan.variant);
        plan.even = true;
        for (size, value) in &mut plan.sizes {
            *value = self.choose_even_size(size);
        }
        plans.push(plan);
    }

    fn add_layout_plans(&self, base: &Plan, plans: &mut Vec<Plan>) {
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

    fn add_alias_plans(&self, base: &Plan, plans: &mut Vec<Plan>) {
        let outputs = self.usage.tensors.iter();
        for out in outputs.filter(|tensor| tensor.written && !tensor.read) {
            let like = self
                .usage
                .tensors
                .iter()
                .filter(|tensor| {
                    tensor.read && !tensor.written && !tensor.indexes && place::has_same_bounds(tensor, out)
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

    /// A tensor, and those that share all of its strides, or have only strides of its. If two tensors share some
    /// strides and differ in others, or have a stride of their own that nothing uses, one of them is more likely a
    /// mistake.
    fn with_strides_of<'a>(&'a self, tensor: &'a TensorUse) -> impl Iterator<Item = &'a str> {
        let shares = move |other: &&TensorUse| {
            let (own, theirs) = (place::collect_strides(tensor), place::collect_strides(other));
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
}
