//! Variants of a launcher's inputs, one thing at a time: sizes, dtypes, layouts, flags and configurations.

use super::host::Change;
use super::machine::Machine;
use super::module::HostModule;
use super::plan::{Kind, Layout, Plan, Scalar};

/// Maximum number of configurations other than the first one.
const MAX_CONFIGS: usize = 3;

/// Maximum number of elements of all inputs.
const MAX_ELEMENTS: i64 = 1 << 18;

/// A variant of a launcher's inputs.
pub(super) struct Variant {
    /// A description of the difference.
    pub name: String,
    pub change: Change,
    pub plan: Plan,
}

impl Variant {
    const fn new(name: String, change: Change, plan: Plan) -> Self {
        Self { name, change, plan }
    }
}

/// Lists variants, the most different first.
pub(super) fn list_variants(module: &HostModule<'_>, base: &Machine<'_>, has_layouts: bool) -> Vec<Variant> {
    let plan = &base.plan;
    let mut all = Vec::new();
    if has_layouts {
        add_layouts(plan, &mut all);
    }
    add_relations(base, plan, &mut all);
    add_flags(plan, &mut all);
    add_dtypes(plan, &mut all);
    let name = module.kernel.rsplit('.').next().unwrap_or_default();
    let others = module.configs(name).len().saturating_sub(1);
    let step = (others / MAX_CONFIGS).max(1);
    for config in (1..=others).rev().step_by(step).take(MAX_CONFIGS) {
        let name = format!("configuration {config}");
        let plan = Plan {
            config,
            ..plan.clone()
        };
        all.push(Variant::new(name, Change::Other, plan));
    }
    // The same kind of value for each size in turn.
    for nth in 0..4 {
        for size in plan.used_sizes() {
            // The launcher does not read this size, so only the kernel limits its other values.
            if !is_read(base, size) {
                continue;
            }
            let now = plan.size(size);
            let block = base.blocks.get(&size).map(|cut| cut.block);
            let value = match (nth, block) {
                (0, _) => 1,
                (1, _) => 64,
                (2, Some(block)) => 2 * block,
                (2, None) => 16,
                (_, Some(block)) => 3 * block + 7,
                (_, None) => now * 2 + 1,
            };
            let mut plan = plan.clone();
            if value == now || set_pinned(&mut plan, size, value).is_none() || plan.elements() > MAX_ELEMENTS
            {
                continue;
            }
            all.push(Variant::new(describe(&plan, size), Change::InputSize, plan));
        }
    }
    all
}

/// Whether the launcher reads a size, perhaps of a tensor that it made.
fn is_read(base: &Machine<'_>, size: usize) -> bool {
    let is_passed = u32::try_from(size).is_ok_and(|size| base.passed.checked_shr(size).unwrap_or(0) & 1 == 1);
    is_passed
        || base.observed.iter().any(|(input, dim)| {
            let tensor = base.plan.tensor(*input);
            tensor.is_some_and(|tensor| tensor.dims.get(*dim) == Some(&size))
        })
}

fn set_pinned(plan: &mut Plan, size: usize, value: i64) -> Option<()> {
    let one = plan.sizes.get_mut(size)?;
    one.value = value;
    one.is_pinned = true;
    Some(())
}

/// The shape of the first input with a size: `x[33, 1]`.
fn describe(plan: &Plan, size: usize) -> String {
    let found = plan.inputs.iter().find_map(|input| match &input.kind {
        Kind::Tensor(tensor) if tensor.dims.contains(&size) => Some((input, tensor)),
        _ => None,
    });
    let Some((input, tensor)) = found else {
        return String::new();
    };
    let dims: Vec<String> = tensor
        .dims
        .iter()
        .map(|dim| plan.size(*dim).to_string())
        .collect();
    format!("{}[{}]", input.name, dims.join(", "))
}

fn add_layouts(plan: &Plan, all: &mut Vec<Variant>) {
    for layout in [Layout::Padded, Layout::Transposed] {
        for (at, input) in plan.inputs.iter().enumerate() {
            let Kind::Tensor(tensor) = &input.kind else {
                continue;
            };
            // Layers return contiguous tensors.
            if input.is_result {
                continue;
            }
            let fits = match layout {
                Layout::Padded => tensor.dims.len() >= 2,
                _ => tensor.dims.len() == 2,
            };
            let mut changed = plan.clone();
            if let Some(Kind::Tensor(one)) = changed.inputs.get_mut(at).map(|one| &mut one.kind)
                && fits
            {
                one.layout = layout;
                let (word, change) = if layout == Layout::Padded {
                    ("padded", Change::PaddedInput)
                } else {
                    ("transposed", Change::TransposedInput)
                };
                all.push(Variant::new(format!("{word} {}", input.name), change, changed));
            }
        }
    }
}

/// Swaps pairs of sizes, so that either is the larger one.
fn add_relations(base: &Machine<'_>, plan: &Plan, all: &mut Vec<Variant>) {
    let sizes: Vec<usize> = plan
        .used_sizes()
        .into_iter()
        .filter(|size| is_read(base, *size))
        .collect();
    let pairs = sizes.iter().zip(sizes.iter().skip(1)).take(4);
    for (a, b) in pairs {
        let (one, other) = (plan.size(*a), plan.size(*b));
        let mut changed = plan.clone();
        if one == other
            || set_pinned(&mut changed, *a, other).is_none()
            || set_pinned(&mut changed, *b, one).is_none()
        {
            continue;
        }
        all.push(Variant::new(describe(&changed, *a), Change::InputSize, changed));
    }
}

fn add_flags(plan: &Plan, all: &mut Vec<Variant>) {
    for (at, input) in plan.inputs.iter().enumerate() {
        let turned = match &input.kind {
            Kind::Scalar(Scalar::Bool(value)) => Kind::Scalar(Scalar::Bool(!value)),
            Kind::Scalar(Scalar::None) => Kind::Undecided,
            _ => continue,
        };
        let word = match &turned {
            Kind::Scalar(Scalar::Bool(value)) => format!("{}={value}", input.name),
            _ => format!("{} given", input.name),
        };
        let mut changed = plan.clone();
        if let Some(one) = changed.inputs.get_mut(at) {
            one.is_pinned = matches!(turned, Kind::Scalar(_));
            one.is_default = false;
            one.kind = turned;
            all.push(Variant::new(word, Change::Other, changed));
        }
    }
}

fn add_dtypes(plan: &Plan, all: &mut Vec<Variant>) {
    let is_free = plan.inputs.iter().any(|input| match &input.kind {
        Kind::Tensor(tensor) => tensor.dtype.is_none(),
        _ => false,
    });
    if is_free {
        for (name, float) in [("float16", "f16"), ("bfloat16", "bf16"), ("float32", "f32")] {
            if float == plan.float {
                continue;
            }
            let plan = Plan {
                float,
                is_float_pinned: true,
                ..plan.clone()
            };
            all.push(Variant::new(name.to_owned(), Change::Other, plan));
        }
    }
}
