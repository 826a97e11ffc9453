//! Inputs for which a launcher reaches its launch: evaluates it, changes what its conditions refuse, and evaluates it again.

use std::collections::BTreeSet;

use ruff_text_size::Ranged;

use super::assumed::CALLERS_OF;
use super::host::{Change, HostLaunch, HostTensor, is_same_launch};
use super::launched::Launched;
use super::machine::{Condition, Cut, Eval, Halt, Machine};
use super::module::{HostModule, Root, is_guarded};
use super::name_hint::guess_number;
use super::plan::{Kind, Plan, Scalar};
use super::roots::{find_outer, first_plan};
use super::variants::{self, Variant};
use super::view::FILTER;

/// Maximum number of evaluations for the plain launch.
const MAX_EVALUATIONS: usize = 200;

/// Maximum number of evaluations for a variant.
const MAX_VARIANT_EVALUATIONS: usize = 24;

/// Maximum number of plans that are tried for the order of two sizes.
const MAX_ORDERS: usize = 6;

/// Maximum number of elements of all inputs.
const MAX_ELEMENTS: i64 = 1 << 18;

/// Maximum number of launches of a launcher that are also made after those before them.
const MAX_SEQUENCES: usize = 8;

/// A block of this size is passed more than once, even by small inputs.
const SMALL_BLOCK: i64 = 64;

/// The reason for an evaluation that ends without a launch.
pub(super) const UNREACHED: &str = "the evaluation does not reach the launch";

/// Why no inputs reach the launches of a launcher.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoInputs {
    #[error("no inputs were found that the launcher accepts")]
    Spent,
    /// The evaluation stopped, for this reason.
    #[error("{0}")]
    Halted(String),
}

pub(super) struct Solver<'a> {
    pub module: &'a HostModule<'a>,
    pub root: Root<'a>,
    /// Whether other functions of the module call it, with arguments that can't be guessed.
    pub is_called: bool,
}

impl<'a> Solver<'a> {
    /// The launches of a root, the plain one first; or why there are none.
    pub fn find_launches(&self, most: usize) -> Result<Vec<HostLaunch>, Box<HostLaunch>> {
        let base = self.find_base()?;
        let mut found = Vec::new();
        let mut of_line = 2;
        self.visit_plans(&base, &mut |machine, variant, change| {
            self.collect(machine, (variant, change), of_line, &mut found);
            of_line = 1;
            found.len() < most
        });
        found.extend(self.find_sized_launches(&base));
        Ok(found)
    }

    /// Finds the launches of a root with the inputs that the file states.
    pub fn find_stated_launches(&self) -> Vec<HostLaunch> {
        let mut machine = Machine::new(self.module, Plan::new());
        let mut found = Vec::new();
        if matches!(machine.run_stated(self.root), Ok(Some(()))) {
            self.collect(&machine, ("", Change::Other), 1, &mut found);
        }
        found
    }

    /// The evaluation of a root with the plain inputs. Fails if they reach no launch.
    pub fn find_base(&self) -> Result<Machine<'a>, Box<HostLaunch>> {
        let mut budget = MAX_EVALUATIONS;
        let mut first = first_plan(self.module, self.root);
        if self.module.choice.is_half {
            first.float = "f16";
        }
        let base = match self.solve(first, &mut budget) {
            Ok(machine) if !machine.launches.is_empty() => machine,
            Ok(machine) => {
                let line = machine.unknown.first().map(|(line, _)| *line);
                let mut reasons: Vec<String> =
                    machine.unknown.iter().map(|(_, reason)| reason.clone()).collect();
                reasons.dedup();
                if reasons.is_empty() {
                    reasons.push(UNREACHED.to_owned());
                }
                return Err(self.failure(line, reasons));
            }
            Err(error) => return Err(self.failure(None, vec![error.to_string()])),
        };
        let choice = self.module.choice;
        let mut base = self.order(self.narrow(self.add_rows(self.resize(base))));
        if choice.is_uniform {
            base = self.align(base);
        }
        if choice.is_small {
            base = self.shrink(base);
        }
        Ok(base)
    }

    /// Visits the evaluation with the plain inputs, then those with their variants, as long as `visit` wants more.
    pub fn visit_plans(&self, base: &Machine<'a>, visit: &mut dyn FnMut(&Machine<'a>, &str, Change) -> bool) {
        let choice = self.module.choice;
        let is_small = |plan: &Plan| plan.elements() <= base.plan.elements().saturating_mul(2);
        let mut goes_on = visit(base, "", Change::Other);
        let has_layouts = !is_guarded(find_outer(self.root));
        for Variant { name, change, plan } in variants::list_variants(self.module, base, has_layouts) {
            if !goes_on {
                break;
            }
            if choice.is_small && !is_small(&plan) {
                continue;
            }
            let mut budget = MAX_VARIANT_EVALUATIONS;
            // Callers do not pass sizes that do not divide each other.
            if let Ok(machine) = self.solve(plan.clone(), &mut budget)
                && machine.is_uneven == base.is_uneven
                && has_same_orders(&machine, base)
                && machine.plan.has_same_ranks(&plan)
            {
                goes_on = visit(&machine, &name, change);
            }
        }
    }

    fn failure(&self, line: Option<u32>, unknown: Vec<String>) -> Box<HostLaunch> {
        Box::new(HostLaunch {
            host: self.root.name(),
            line: line.unwrap_or_else(|| self.module.line_of(self.root.def())),
            variant: String::new(),
            change: Change::Other,
            text: String::new(),
            tensors: Vec::new(),
            is_of_one_tensor: false,
            unknown,
            assumed: Vec::new(),
            numbers: BTreeSet::new(),
            made: BTreeSet::new(),
        })
    }

    /// Adds the launches of an evaluation, some of each line.
    pub fn collect(
        &self,
        machine: &Machine<'a>,
        (variant, change): (&str, Change),
        of_line: usize,
        found: &mut Vec<HostLaunch>,
    ) {
        let mut counts: Vec<u32> = Vec::new();
        for launched in &machine.launches {
            if counts.iter().filter(|line| **line == launched.line).count() >= of_line {
                continue;
            }
            counts.push(launched.line);
            let nth = counts.iter().filter(|line| **line == launched.line).count();
            let mut variant = variant.to_owned();
            if nth > 1 {
                variant.push_str(if variant.is_empty() {
                    "launched again"
                } else {
                    ", launched again"
                });
            }
            let what = if variant.is_empty() {
                "the plain launch"
            } else {
                variant.as_str()
            };
            let host = &launched.host;
            let about = format!("{host}, line {}: {what}", launched.line).replace(['"', '\\', '{', '}'], "'");
            let about = format!("about: \"{about}\"\n");
            let text = format!("{about}{}", launched.text);
            let after = format!("{what} after those before it");
            let tensors = launched.tensors.iter().filter_map(|tensor| {
                let storage = machine.storages.get(tensor.index)?;
                Some(HostTensor {
                    storage: tensor.name.clone(),
                    origin: tensor.origin,
                    is_returned: storage.is_returned,
                    is_result: storage.is_result,
                    is_placed: tensor.is_placed,
                    is_sized: !launched.roomy.contains(&tensor.index),
                    is_fitted: launched.fitted.contains(&tensor.index),
                    is_measured: launched.measured.contains(&tensor.index),
                    divided_input: launched.divided.contains(&tensor.index).then(|| {
                        let input = storage.input.and_then(|input| machine.plan.inputs.get(input));
                        input.map_or_else(|| tensor.name.clone(), |input| input.name.clone())
                    }),
                })
            });
            let launch = HostLaunch {
                host: host.clone(),
                line: launched.line,
                variant,
                change,
                text,
                tensors: tensors.collect(),
                is_of_one_tensor: machine.plan.has_one_tensor(),
                unknown: Vec::new(),
                assumed: launched
                    .assumed
                    .iter()
                    .cloned()
                    .chain(
                        self.is_called
                            .then(|| format!("{CALLERS_OF}`{}`", self.root.name())),
                    )
                    .collect(),
                numbers: launched.numbers.clone(),
                made: launched.made.clone(),
            };
            let is_new = |found: &[HostLaunch], launch: &HostLaunch| {
                !found
                    .iter()
                    .any(|known| is_same_launch(&known.text, &launch.text))
            };
            let sequence = launched.sequence.as_ref();
            // Other dtypes and layouts change little about which elements are stored.
            let is_sized = change == Change::InputSize || launch.variant.is_empty();
            let has_room =
                is_sized && found.iter().filter(|one| one.change == Change::Sequence).count() < MAX_SEQUENCES;
            let sequence = sequence.filter(|_| has_room).map(|sequence| HostLaunch {
                variant: after,
                change: Change::Sequence,
                text: format!("{about}{sequence}"),
                ..launch.clone()
            });
            for one in std::iter::once(launch).chain(sequence) {
                if is_new(found, &one) {
                    found.push(one);
                }
            }
        }
    }

    /// Makes sizes that are cut into blocks a little more than a block.
    fn resize(&self, base: Machine<'a>) -> Machine<'a> {
        let cuts = base.blocks.iter().filter(|(_, cut)| cut.is_alone || cut.is_short);
        let mut blocks: Vec<(usize, Cut)> = cuts.map(|(size, cut)| (*size, *cut)).collect();
        blocks.sort_by_key(|(_, cut)| cut.block);
        let mut plan = base.plan.clone();
        for (size, cut) in blocks {
            let (block, factor) = (cut.block, cut.factor.max(1));
            let mut larger = plan.clone();
            let value = larger.round_up(size, (block + block / 2 + 1).saturating_mul(factor));
            let Some(one) = larger
                .sizes
                .get_mut(size)
                .filter(|one| cut.is_of_blocks(one.divisor))
            else {
                continue;
            };
            let (number, is_decided) = (one.value / factor, one.is_fixed && one.divisor == 1);
            // Several blocks, the last one partly, are there already.
            if is_decided || number > block && number % block != 0 && number / block < 8 {
                continue;
            }
            let step = if one.divisor > 1 { one.divisor } else { 2 };
            one.value = value;
            // Sizes with equal blocks differ too, so that a mask with the wrong one shows.
            while larger.is_repeated(size)
                && let Some(one) = larger.sizes.get_mut(size)
            {
                one.value += step;
            }
            if larger.elements() <= MAX_ELEMENTS {
                plan = larger;
            }
        }
        if plan == base.plan {
            return base;
        }
        self.solve_or(plan, base)
    }

    /// Makes filters as small as callers' are.
    fn narrow(&self, base: Machine<'a>) -> Machine<'a> {
        let mut plan = base.plan.clone();
        for at in &base.filters {
            if let Some(size) = plan
                .sizes
                .get_mut(*at)
                .filter(|size| !size.is_fixed && !size.is_pinned)
            {
                size.value = size.value.min(FILTER);
            }
        }
        if plan == base.plan {
            return base;
        }
        self.solve_or(plan, base)
    }

    /// Gives sizes the order that a branch asks for. A launcher that says `if 2 * rotated < head` has another way for equal sizes, and
    /// callers do not pass more.
    fn order(&self, base: Machine<'a>) -> Machine<'a> {
        let mut base = base;
        for condition in base.turned_orders.clone() {
            let at = condition.test.range();
            let is_turned =
                |machine: &Machine<'a>| machine.turned_orders.iter().any(|one| one.test.range() == at);
            if !is_turned(&base) {
                continue;
            }
            for plan in base.repair(&condition).into_iter().take(MAX_ORDERS) {
                let mut budget = MAX_VARIANT_EVALUATIONS;
                if let Ok(machine) = self.solve(plan, &mut budget)
                    && !machine.launches.is_empty()
                    && !is_turned(&machine)
                {
                    base = machine;
                    break;
                }
            }
        }
        base
    }

    /// Makes sizes smaller that no condition decides.
    fn shrink(&self, base: Machine<'a>) -> Machine<'a> {
        let mut plan = base.plan.clone();
        let used = plan.used_sizes();
        let lasts: Vec<usize> = plan.list_last_sizes();
        for (nth, at) in used.into_iter().enumerate() {
            let cut = base.blocks.get(&at).filter(|cut| cut.is_alone);
            let block = cut.map(|cut| cut.block);
            let is_last = lasts.contains(&at);
            let Some(size) = plan.sizes.get_mut(at) else {
                continue;
            };
            if size.is_fixed || size.is_pinned {
                continue;
            }
            let odd = nth as i64 % 2;
            size.value = size.value.min(match block {
                Some(block) if block <= SMALL_BLOCK || !self.module.choice.is_tiny => block + 1 + odd,
                Some(block) => block / 2 + 1 + odd,
                None if is_last => 17 + 2 * odd,
                None => 2 + odd,
            });
        }
        self.solve_or(plan, base)
    }

    /// Makes the leading sizes of inputs equal that have as many dimensions as the first one with three or more, or one less, and all
    /// sizes of inputs whose names say that they are alike.
    fn align(&self, base: Machine<'a>) -> Machine<'a> {
        let mut plan = base.plan.clone();
        align_namesakes(&mut plan);
        split_last_size(&mut plan);
        Self::align_leading(&base, &mut plan);
        if plan == base.plan {
            return base;
        }
        self.solve_or(plan, base)
    }

    fn align_leading(base: &Machine<'a>, plan: &mut Plan) {
        let tensors: Vec<(usize, Vec<usize>)> = (0..plan.inputs.len())
            .filter_map(|input| Some((input, plan.tensor(input)?.dims.clone())))
            .collect();
        let Some((first, dims)) = tensors.iter().find(|(_, dims)| dims.len() > 2) else {
            return;
        };
        for (input, others) in tensors.iter().filter(|(input, _)| input != first) {
            let is_alike = others.len() == dims.len();
            if !is_alike && others.len() + 1 != dims.len() {
                continue;
            }
            for (dim, (a, b)) in dims.iter().zip(others).enumerate() {
                let is_last = dim + 1 == dims.len();
                if !is_last || !base.observed.contains(&(*input, dim)) {
                    // `None` if they are equal already.
                    let _ = plan.unify(*a, *b);
                }
            }
        }
    }

    /// The evaluation with a plan, if it reaches a launch.
    fn solve_or(&self, plan: Plan, base: Machine<'a>) -> Machine<'a> {
        let mut budget = MAX_VARIANT_EVALUATIONS;
        match self.solve(plan, &mut budget) {
            Ok(machine) if !machine.launches.is_empty() => machine,
            _ => base,
        }
    }

    /// Adds a dimension to the only input whose number of dimensions nothing shows, if the launch has one program otherwise and its
    /// programs are rows then: those of a softmax, for example.
    fn add_rows(&self, base: Machine<'a>) -> Machine<'a> {
        let Some(input) = base.plan.find_rankless() else {
            return base;
        };
        let mut plan = base.plan.clone();
        let is_alone = base.launches.iter().all(|launched| launched.programs == 1);
        if !is_alone || plan.raise_rank(input, 2).is_none() || plan.elements() > MAX_ELEMENTS {
            return base;
        }
        let mut budget = MAX_VARIANT_EVALUATIONS;
        let Ok(machine) = self.solve(plan, &mut budget) else {
            return base;
        };
        let rows = machine.plan.tensor(input).and_then(|tensor| tensor.dims.first());
        let rows = rows.map_or(1, |size| machine.plan.size(*size)).max(2);
        let has_rows = |launched: &Launched| launched.programs > 0 && launched.programs % rows == 0;
        if !machine.launches.is_empty() && machine.launches.iter().all(has_rows) {
            self.resize(machine)
        } else {
            base
        }
    }

    fn evaluate(&self, plan: Plan) -> (Machine<'a>, Eval<'a, ()>) {
        let mut machine = Machine::new(self.module, plan);
        let result = machine.run_root(self.root);
        (machine, result)
    }

    /// Evaluates until the inputs are decided.
    fn settle(&self, mut plan: Plan, budget: &mut usize) -> Option<(Machine<'a>, Eval<'a, ()>)> {
        loop {
            *budget = budget.checked_sub(1)?;
            let (machine, result) = self.evaluate(plan);
            if matches!(result, Err(Halt::Restart)) {
                plan = machine.plan.clone();
            } else {
                return Some((machine, result));
            }
        }
    }

    /// Finds inputs with which the launcher reaches its launches.
    pub fn solve(&self, plan: Plan, budget: &mut usize) -> Result<Machine<'a>, NoInputs> {
        let (mut machine, mut result) = self.settle(plan, budget).ok_or(NoInputs::Spent)?;
        let mut refused = 0;
        loop {
            let (conditions, reason) = match &result {
                Ok(()) => {
                    if !machine.launches.is_empty()
                        || !machine.unknown.is_empty()
                        || machine.missed.is_empty()
                    {
                        return Ok(machine);
                    }
                    (machine.missed.iter().rev().cloned().collect(), NoInputs::Spent)
                }
                Err(Halt::Raised(Some(condition), reason)) => {
                    (vec![condition.clone()], NoInputs::Halted(reason.clone()))
                }
                Err(Halt::Raised(None, reason) | Halt::Stopped(reason)) => {
                    if machine.launches.is_empty() {
                        return Err(NoInputs::Halted(reason.clone()));
                    }
                    return Ok(machine);
                }
                Err(Halt::Restart) => return Err(NoInputs::Spent),
            };
            refused += 1;
            if refused > 40 {
                return Err(reason);
            }
            match self.pass(&mut machine, &conditions, budget) {
                Some(next) => (machine, result) = next,
                // The launch was reached before what the stand-ins do not pass.
                None => return Err(reason),
            }
        }
    }

    /// Finds a plan that passes one of these conditions.
    fn pass(
        &self,
        machine: &mut Machine<'a>,
        conditions: &[Condition<'a>],
        budget: &mut usize,
    ) -> Option<(Machine<'a>, Eval<'a, ()>)> {
        for condition in conditions {
            let at = condition.test.range();
            let failing = machine.count_failing(condition);
            for plan in machine.repair(condition) {
                let (mut next, result) = self.settle(plan, budget)?;
                let is_same = match &result {
                    Err(Halt::Raised(Some(other), _)) => {
                        other.test.range() == at
                            && next.plan.count_dims() <= machine.plan.count_dims()
                            && next.count_failing(other) >= failing
                    }
                    Err(_) => true,
                    Ok(()) => {
                        let has_launch = !next.launches.is_empty() || !next.unknown.is_empty();
                        !has_launch && next.missed.iter().any(|other| other.test.range() == at)
                    }
                };
                if !is_same {
                    return Some((next, result));
                }
            }
        }
        None
    }
}

/// Whether an evaluation turns around no order of sizes that another one keeps.
fn has_same_orders(machine: &Machine<'_>, base: &Machine<'_>) -> bool {
    let is_turned = |at| base.turned_orders.iter().any(|one| one.test.range() == at);
    machine
        .turned_orders
        .iter()
        .all(|one| is_turned(one.test.range()))
}

/// Makes the product of two guessed numbers the last size of the first tensor: heads, and elements of a head.
fn split_last_size(plan: &mut Plan) {
    let is_guessed = |input: &usize| {
        let input = plan.inputs.get(*input);
        input.is_some_and(|input| {
            let name = input.name.to_lowercase();
            let counts_heads = name.len() <= 2 || name.contains("head");
            let guess = guess_number(&name);
            !input.is_default && counts_heads && input.kind == Kind::Scalar(guess)
        })
    };
    let numbers: Vec<usize> = (0..plan.inputs.len()).filter(is_guessed).collect();
    let last = (0..plan.inputs.len()).find_map(|input| plan.tensor(input)?.dims.last().copied());
    if let ([heads, elements], Some(last)) = (numbers.as_slice(), last) {
        let last = plan.size(last);
        // `None` if a condition decides it.
        let _ = plan.set_scalar(*heads, Scalar::Int(1));
        let _ = plan.set_scalar(*elements, Scalar::Int(last));
    }
}

/// Gives inputs the shape and the dtype of the input that their name ends with: `target_x` that of `x`, `dout` that of `out`.
fn align_namesakes(plan: &mut Plan) {
    let names: Vec<String> = plan.inputs.iter().map(|input| input.name.clone()).collect();
    let is_named_after = |longer: &str, shorter: &str| {
        let prefix = longer.strip_suffix(shorter);
        prefix.is_some_and(|prefix| prefix == "d" || prefix.len() > 1 && prefix.ends_with('_'))
    };
    for (input, name) in names.iter().enumerate() {
        let Some(other) = names.iter().position(|other| is_named_after(name, other)) else {
            continue;
        };
        let rank = |input: usize| plan.tensor(input).map(|tensor| tensor.dims.len());
        let is_open = plan.tensor(input).is_some_and(|tensor| !tensor.has_rank);
        if is_open || rank(input) == rank(other) {
            // `None` if they are alike already.
            let _ = plan.adopt(input, other);
            let _ = plan.adopt_dtype(input, other);
        }
    }
}
