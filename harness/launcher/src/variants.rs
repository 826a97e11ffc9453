//! Variants of a launcher's inputs, one thing at a time: sizes, dtypes, layouts, flags and configurations.

use super::host::Change;
use super::machine::Machine;
use super::module::HostModule;
use super::plan::{Kind, Layout, Plan, Scalar};

/// Maximum number of configurations other than the first one.
const MAX_CONFIGS: usize = 3;

/// Maximum number of flags that callers leave to their default.
const MAX_FLAGS: usize = 8;

/// Maximum number of elements of all inputs.
const MAX_ELEMENTS: i64 = 1 << 18;

/// The largest divisor of a size whose quotient is varied like a size.
const MAX_QUOTIENT: i64 = 4;

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

/// Lists variants, one of each kind in turn: few launchers get as many launches as there are variants.
pub(super) fn list_variants(module: &HostModule<'_>, base: &Machine<'_>, has_layouts: bool) -> Vec<Variant> {
    let plan = &base.plan;
    let kinds = [
        vary_relations(base, plan),
        if has_layouts {
            vary_layouts(plan)
        } else {
            Vec::new()
        },
        vary_sizes(base, plan),
        vary_flags(base, plan),
        vary_choices(base, plan),
        vary_ranks(base, plan),
        vary_dtypes(plan),
        vary_configs(module, plan),
        vary_sentinels(base, plan),
    ];
    let mut kinds = kinds.map(Vec::into_iter);
    let mut all = Vec::new();
    loop {
        let round: Vec<Variant> = kinds.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return all;
        }
        all.extend(round);
    }
}

fn vary_configs(module: &HostModule<'_>, plan: &Plan) -> Vec<Variant> {
    let name = module.kernel.rsplit('.').next().unwrap_or_default();
    let others = module.configs(name).len().saturating_sub(1);
    let step = (others / MAX_CONFIGS).max(1);
    let configs = (1..=others).rev().step_by(step).take(MAX_CONFIGS);
    let all = configs.map(|config| {
        let plan = Plan {
            config,
            ..plan.clone()
        };
        Variant::new(format!("configuration {config}"), Change::Other, plan)
    });
    all.collect()
}

/// The same kind of value for each size in turn.
fn vary_sizes(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let mut all: Vec<Variant> = base
        .limits
        .iter()
        .filter_map(|(size, limit)| exceed_limit(plan, *size, *limit))
        .collect();
    let has_sequences = base.launches.iter().any(|launched| launched.sequence.is_some());
    let order: &[u32] = if has_sequences {
        &[0, 4, 1, 2, 3]
    } else {
        &[0, 1, 2, 3]
    };
    for &nth in order {
        for size in plan.used_sizes() {
            // The launcher does not read this size, so only the kernel limits its other values.
            if !is_read(base, size) {
                continue;
            }
            let now = plan.size(size);
            let divisor = plan.sizes.get(size).map_or(1, |size| size.divisor);
            let block = base.blocks.get(&size).filter(|cut| cut.is_of_blocks(divisor));
            let value = match (nth, block) {
                (0, Some(cut)) => (3 * cut.block + 7) * cut.factor,
                (0, None) => enlarge_size(base, size, now, divisor),
                (1, _) => 1,
                (2, _) => 64,
                // Three blocks, as partial results of a first kernel: buffers for these have a power of two elements.
                (4, Some(cut)) => (2 * cut.block + 7) * cut.factor,
                (4, None) => continue,
                (_, Some(cut)) => 2 * cut.block * cut.factor,
                (_, None) => 16,
            };
            let value = plan.round_up(size, value);
            if value != now {
                all.extend(vary_size(plan, size, value));
            }
        }
    }
    all
}

/// A value of a size that no launcher cuts into blocks: more than a block of the kernel's loop.
fn enlarge_size(base: &Machine<'_>, size: usize, now: i64, divisor: i64) -> i64 {
    let twice = now * 2 + 1;
    let cut = base.looped_blocks.get(&size).filter(|cut| cut.is_alone);
    let looped = cut.map_or(0, |cut| {
        (cut.block + cut.block / 2 + 1).saturating_mul(cut.factor)
    });
    // The kernel may get the quotient.
    let quotient = if divisor <= MAX_QUOTIENT { divisor } else { 1 };
    looped.max(twice.saturating_mul(quotient))
}

/// Makes a size larger than the number that it is cut off at.
fn exceed_limit(plan: &Plan, size: usize, limit: i64) -> Option<Variant> {
    let value = limit.checked_add(limit / 2 + 1)?;
    if value <= plan.size(size) {
        return None;
    }
    vary_size(plan, size, value)
}

/// Changes a size, and makes others as small as the number of elements needs.
fn vary_size(plan: &Plan, size: usize, value: i64) -> Option<Variant> {
    let mut changed = plan.clone();
    set_pinned(&mut changed, size, value)?;
    for other in plan.used_sizes() {
        if changed.elements() <= MAX_ELEMENTS {
            break;
        }
        if other != size {
            // `None` if it is as small already.
            let _ = changed.set_free_size(other, 2);
        }
    }
    (changed.elements() <= MAX_ELEMENTS)
        .then(|| Variant::new(describe(&changed, size), Change::InputSize, changed))
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

fn vary_layouts(plan: &Plan) -> Vec<Variant> {
    let mut all = Vec::new();
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
    all
}

/// Swaps pairs of sizes, so that either is the larger one.
fn vary_relations(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let mut all = Vec::new();
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
    all
}

/// Adds and removes dimensions of inputs, if the launcher reads how many they have.
fn vary_ranks(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let mut all = Vec::new();
    for input in &base.ranked {
        let rank = plan.tensor(*input).map_or(0, |tensor| tensor.dims.len());
        let name = plan.inputs.get(*input).map_or("", |input| input.name.as_str());
        for other in [rank + 1, rank.saturating_sub(1)] {
            let mut changed = plan.clone();
            if other > 0 && changed.set_rank(*input, other).is_some() && changed.elements() <= MAX_ELEMENTS {
                let name = format!("{name} of rank {other}");
                all.push(Variant::new(name, Change::InputRank, changed));
            }
        }
    }
    all
}

fn vary_flags(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let mut all = Vec::new();
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
    for (at, (name, value)) in base.flags.iter().take(MAX_FLAGS) {
        let plan = Plan {
            turned: Some(*at),
            ..plan.clone()
        };
        all.push(Variant::new(format!("{name}={}", !value), Change::Other, plan));
    }
    all
}

/// Gives inputs of indices values that the kernel compares them with, and that are none: callers pass these for elements to ignore.
fn vary_sentinels(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let Some(input) = base.ignored.and_then(|input| plan.inputs.get(input)) else {
        return Vec::new();
    };
    let changed = Plan {
        has_sentinels: true,
        ..plan.clone()
    };
    let name = format!("{} with ignored elements", input.name);
    vec![Variant::new(name, Change::Other, changed)]
}

/// Gives inputs the other texts and integers that the launcher tests them for: `reduction="none"`, `dim=1`.
fn vary_choices(base: &Machine<'_>, plan: &Plan) -> Vec<Variant> {
    let texts = base.texts.iter();
    let texts = texts.flat_map(|(input, texts)| texts.iter().map(|text| (*input, Scalar::Str(text.clone()))));
    let numbers = base.numbers.iter();
    let numbers = numbers.flat_map(|(input, numbers)| {
        let now = plan.inputs.get(*input).map(|input| &input.kind);
        let other = numbers.iter().map(move |number| match now {
            // The input already is this number: any other one takes the other branch.
            Some(Kind::Scalar(Scalar::Int(now))) if now == number => step_from(*number),
            _ => *number,
        });
        other.map(|number| (*input, Scalar::Int(number)))
    });
    let all = texts.chain(numbers).filter_map(|(at, scalar)| {
        let word = match &scalar {
            Scalar::Str(text) => text.clone(),
            Scalar::Int(number) => number.to_string(),
            _ => return None,
        };
        let mut changed = plan.clone();
        changed.set_scalar(at, scalar)?;
        let input = changed.inputs.get_mut(at)?;
        input.is_pinned = true;
        let name = format!("{}={word}", input.name);
        Some(Variant::new(name, Change::Other, changed))
    });
    all.collect()
}

/// A neighbour of an integer, closer to 0 if there is one.
const fn step_from(number: i64) -> i64 {
    if number > 0 { number - 1 } else { number + 1 }
}

fn vary_dtypes(plan: &Plan) -> Vec<Variant> {
    let mut all = Vec::new();
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
    all
}
