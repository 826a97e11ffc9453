//! Changes of inputs that a launcher's conditions ask for: `assert a.shape[1] == b.shape[0]` makes two sizes one.

use std::rc::Rc;

use ruff_python_ast::{BoolOp, CmpOp, Expr, ExprBinOp, Operator, UnaryOp};

use super::machine::{Condition, Machine};
use super::plan::to_scalar;
use super::plan::{Plan, Scalar};
use super::value::{GUESSED, Number, Scope, Source, Value};

/// Maximum number of plans that a condition suggests.
const MAX_PLANS: usize = 40;

impl<'a> Machine<'a> {
    /// Plans under which a condition may hold, the most likely first.
    pub fn repair(&mut self, condition: &Condition<'a>) -> Vec<Plan> {
        let mut plans = Vec::new();
        self.satisfy(condition.test, condition.wanted, &condition.scope, &mut plans, 0);
        let mut sizes = 0;
        let mut constants = Vec::new();
        self.list_operands(condition.test, &condition.scope, &mut sizes, &mut constants, 0);
        for size in self.plan.list_sizes(sizes).rev() {
            let now = self.plan.size(size);
            let mut values = Vec::new();
            for constant in constants
                .iter()
                .copied()
                .filter(|constant| (2..=1 << 16).contains(constant))
            {
                values.extend([
                    constant,
                    (now / constant + 1) * constant,
                    // More than a limit, and no multiple of it: blocks of its size are cut off.
                    constant + constant / 2 + 1,
                    constant * 2,
                    constant + 1,
                    constant - 1,
                ]);
            }
            values.extend([16, 64, 1, 128, 32, 256, 8, 1024]);
            for value in values {
                self.suggest(&mut plans, |plan| plan.set_size(size, value));
            }
        }
        plans.truncate(MAX_PLANS);
        plans
    }

    /// How many parts of a condition do not hold.
    pub fn count_failing(&mut self, condition: &Condition<'a>) -> usize {
        match condition.test {
            Expr::BoolOp(operation) if (operation.op == BoolOp::And) == condition.wanted => {
                let parts = operation.values.iter();
                parts
                    .filter(|one| self.is(one, &condition.scope) == Some(!condition.wanted))
                    .count()
            }
            _ => 1,
        }
    }

    /// Notes the orders of two independent sizes in a condition that the inputs turn around. Equal sizes do not: the branch is for the
    /// others.
    pub fn note_orders(&mut self, test: &'a Expr, scope: &Scope<'a>) {
        let parts = match test {
            Expr::BoolOp(operation) if operation.op == BoolOp::And => &operation.values[..],
            one => std::slice::from_ref(one),
        };
        for part in parts {
            let Expr::Compare(compare) = part else { continue };
            let (&[op], [right]) = (&*compare.ops, &*compare.comparators) else {
                continue;
            };
            let (Some(a), Some(b)) = (
                self.value_of(&compare.left, scope).number(),
                self.value_of(right, scope).number(),
            ) else {
                continue;
            };
            let is_turned = match op {
                CmpOp::Lt | CmpOp::LtE => a.value > b.value,
                CmpOp::Gt | CmpOp::GtE => a.value < b.value,
                _ => false,
            };
            if is_turned && !a.is_constant() && !b.is_constant() && a.sizes & b.sizes & !GUESSED == 0 {
                self.turned_orders.push(Condition {
                    test: part,
                    wanted: true,
                    scope: Rc::clone(scope),
                });
            }
        }
    }

    fn suggest(&self, plans: &mut Vec<Plan>, change: impl FnOnce(&mut Plan) -> Option<()>) {
        let mut plan = self.plan.clone();
        if change(&mut plan).is_some() && plans.len() < MAX_PLANS && !plans.contains(&plan) {
            plans.push(plan);
        }
    }

    /// Evaluates an expression again, for its value only.
    fn value_of(&mut self, expr: &'a Expr, scope: &Scope<'a>) -> Value<'a> {
        let plan = self.plan.clone();
        let value = self.eval(expr, scope);
        self.plan = plan;
        value.unwrap_or(Value::unknown("a condition"))
    }

    fn is(&mut self, expr: &'a Expr, scope: &Scope<'a>) -> Option<bool> {
        let value = self.value_of(expr, scope);
        let plan = self.plan.clone();
        let truth = self.truth(&value);
        self.plan = plan;
        truth.ok().flatten()
    }

    fn satisfy(
        &mut self,
        expr: &'a Expr,
        wanted: bool,
        scope: &Scope<'a>,
        plans: &mut Vec<Plan>,
        depth: usize,
    ) {
        if depth > 16 {
            return;
        }
        match expr {
            Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => {
                self.satisfy(&operation.operand, !wanted, scope, plans, depth + 1);
            }
            Expr::BoolOp(operation) => {
                let needs_all = (operation.op == BoolOp::And) == wanted;
                for one in &operation.values {
                    let holds = self.is(one, scope) == Some(wanted);
                    if !holds {
                        self.satisfy(one, wanted, scope, plans, depth + 1);
                        if needs_all {
                            break;
                        }
                    }
                }
            }
            Expr::Compare(compare) => {
                let mut left: &'a Expr = &compare.left;
                for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                    let op = if wanted { *op } else { negate(*op) };
                    self.satisfy_pair(left, op, right, scope, plans);
                    left = right;
                }
            }
            // `if n % 2: raise`
            Expr::BinOp(operation) if operation.op == Operator::Mod && !wanted => {
                self.satisfy_division(operation, scope, plans);
            }
            _ => {
                let value = self.value_of(expr, scope);
                if let Some(input) = value.from() {
                    match value {
                        Value::Bool(..) => {
                            self.suggest(plans, |plan| plan.set_scalar(input, Scalar::Bool(wanted)));
                        }
                        Value::None(_) if wanted => self.suggest(plans, |plan| plan.set_given(input)),
                        Value::Int(_) => self.suggest(plans, |plan| {
                            plan.set_scalar(input, Scalar::Int(i64::from(wanted)))
                        }),
                        Value::Tensor(_) if !wanted => {
                            self.suggest(plans, |plan| plan.set_scalar(input, Scalar::None));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn satisfy_pair(
        &mut self,
        left: &'a Expr,
        op: CmpOp,
        right: &'a Expr,
        scope: &Scope<'a>,
        plans: &mut Vec<Plan>,
    ) {
        let (a, b) = (self.value_of(left, scope), self.value_of(right, scope));
        // `if n % 2 == 1: raise` asks for a multiple, too.
        let is_division = match (op, b.number()) {
            (CmpOp::Eq, _) => true,
            (CmpOp::NotEq, Some(rest)) => rest.value != 0,
            _ => false,
        };
        if let Expr::BinOp(operation) = left
            && operation.op == Operator::Mod
            && is_division
        {
            self.satisfy_division(operation, scope, plans);
        }
        match op {
            CmpOp::In => {
                for one in b.elements().unwrap_or_default().iter().take(4) {
                    self.equate(&a, one, plans);
                }
            }
            CmpOp::Is => {
                if let (Some(input), Value::None(_)) = (a.from(), &b) {
                    self.suggest(plans, |plan| plan.set_scalar(input, Scalar::None));
                }
                self.equate(&a, &b, plans);
            }
            CmpOp::IsNot => {
                if let (Some(input), Value::None(_)) = (a.from(), &b) {
                    self.suggest(plans, |plan| plan.set_given(input));
                }
            }
            CmpOp::Eq => {
                self.extend_sliced(left, (&a, &b), scope, plans);
                self.extend_sliced(right, (&b, &a), scope, plans);
                self.equate(&a, &b, plans);
            }
            CmpOp::NotEq => {
                if let (Some(a), Some(b)) = (a.number(), b.number()) {
                    self.make_number(a, b.value.saturating_add(1), plans);
                }
                if let (Some(input), Value::Str(text, _)) = (a.from(), &b) {
                    let other = if &**text == "other" { "another" } else { "other" };
                    self.suggest(plans, |plan| {
                        plan.set_scalar(input, Scalar::Str(other.to_owned()))
                    });
                }
                if let (Some(input), Value::Bool(value, _)) = (a.from(), &b) {
                    let value = !*value;
                    self.suggest(plans, |plan| plan.set_scalar(input, Scalar::Bool(value)));
                }
            }
            CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE => {
                if let (Some(a), Some(b)) = (a.number(), b.number()) {
                    let (below, above) = match op {
                        CmpOp::Lt => (b.value.saturating_sub(1), a.value.saturating_add(1)),
                        CmpOp::Gt => (b.value.saturating_add(1), a.value.saturating_sub(1)),
                        _ => (b.value, a.value),
                    };
                    self.make_number(a, below, plans);
                    self.make_number(b, above, plans);
                }
            }
            CmpOp::NotIn => {}
        }
    }

    /// Makes the left operand of `%` a multiple of the right one.
    fn satisfy_division(&mut self, operation: &'a ExprBinOp, scope: &Scope<'a>, plans: &mut Vec<Plan>) {
        let value = self.value_of(&operation.left, scope).number();
        let factor = self.value_of(&operation.right, scope).number();
        if let (Some(value), Some(factor)) = (value, factor) {
            self.make_multiple(value, factor, plans);
        }
    }

    fn make_number(&self, number: Number, value: i64, plans: &mut Vec<Plan>) {
        match number.source {
            Source::Size(size) => self.suggest(plans, |plan| plan.set_size(size, value)),
            Source::Rank(input) => {
                if let Ok(rank) = usize::try_from(value) {
                    self.suggest(plans, |plan| plan.set_rank(input, rank));
                }
            }
            Source::Param(input) => self.suggest(plans, |plan| plan.set_scalar(input, Scalar::Int(value))),
            Source::Stride { .. } | Source::Computed => {}
        }
    }

    fn make_multiple(&self, number: Number, factor: Number, plans: &mut Vec<Plan>) {
        if factor.value <= 0 {
            return;
        }
        if let Source::Param(input) = number.source {
            self.suggest(plans, |plan| plan.set_scalar(input, Scalar::Int(factor.value)));
        }
        for size in self.plan.list_sizes(number.sizes).rev() {
            let now = self.plan.size(size);
            let multiple_of = |value: i64| {
                (value / factor.value + i64::from(value % factor.value != 0))
                    .max(1)
                    .saturating_mul(factor.value)
            };
            // Half of the size, for example: `x.shape[-1] // 2`.
            let ratio = now.checked_div(number.value).unwrap_or(0);
            let is_constant = factor.is_constant();
            if ratio > 1 && now / ratio == number.value {
                let value = multiple_of(number.value).saturating_mul(ratio);
                let divisor = factor.value.saturating_mul(ratio);
                self.suggest(plans, |plan| {
                    if is_constant && now % ratio == 0 {
                        plan.set_multiple(size, value, divisor)
                    } else {
                        plan.set_size(size, value)
                    }
                });
            }
            let value = multiple_of(now);
            self.suggest(plans, |plan| {
                if is_constant && number.source == Source::Size(size) {
                    plan.set_multiple(size, value, factor.value)
                } else {
                    plan.set_size(size, value)
                }
            });
        }
        if let Source::Size(size) = factor.source {
            // `heads % groups == 0`.
            for value in [number.value, 1, 2] {
                self.suggest(plans, |plan| plan.set_size(size, value));
            }
        }
        if let Source::Param(input) = factor.source {
            for value in [number.value, 1, 2] {
                self.suggest(plans, |plan| plan.set_scalar(input, Scalar::Int(value)));
            }
        }
    }

    fn equate(&mut self, a: &Value<'a>, b: &Value<'a>, plans: &mut Vec<Plan>) {
        if let (Some(one), Some(other)) = (a.elements(), b.elements()) {
            self.equate_shapes(a, b, &one, &other, plans);
            return;
        }
        if let (Some(a), Some(b)) = (a.number(), b.number())
            && a.value != b.value
        {
            if let (Source::Size(a), Source::Size(b)) = (a.source, b.source) {
                self.suggest(plans, |plan| plan.unify(a, b));
            }
            self.equate_strides(a, b, plans);
            self.make_number(a, b.value, plans);
            self.make_number(b, a.value, plans);
        }
        for (one, other) in [(a, b), (b, a)] {
            match (one, other) {
                (Value::Dtype(_, Some(input)), Value::Dtype(dtype, _)) => {
                    self.suggest(plans, |plan| plan.set_dtype(*input, dtype));
                    // Other conditions may require one dtype of several tensors.
                    self.suggest(plans, |plan| plan.set_float(dtype.name));
                }
                (Value::Tensor(_) | Value::Unknown(_), _) => {}
                _ => {
                    if let (Some(input), Some(scalar)) = (one.from(), to_scalar(other)) {
                        self.suggest(plans, |plan| plan.set_scalar(input, scalar));
                    }
                }
            }
        }
    }

    /// Gives two inputs the same strides from a dimension of each on. Conditions of launchers that pass the strides of one tensor for
    /// several ask for it.
    fn equate_strides(&self, a: Number, b: Number, plans: &mut Vec<Plan>) {
        let find = |number: Number| match number.source {
            Source::Stride { storage, dim } => Some((self.storages.get(storage)?.input?, dim)),
            _ => None,
        };
        if let (Some(one), Some(other)) = (find(a), find(b)) {
            self.suggest(plans, |plan| plan.match_strides(one, other));
        }
    }

    /// Gives an input more dimensions, if a part of its shape (`x.shape[1:]`) has fewer than another shape.
    fn extend_sliced(
        &mut self,
        expr: &'a Expr,
        (own, other): (&Value<'a>, &Value<'a>),
        scope: &Scope<'a>,
        plans: &mut Vec<Plan>,
    ) {
        let Expr::Subscript(part) = expr else { return };
        let Expr::Slice(slice) = &*part.slice else {
            return;
        };
        let (Some(own), Some(other)) = (own.elements(), other.elements()) else {
            return;
        };
        let Value::Tuple(all, Some(input)) = self.value_of(&part.value, scope) else {
            return;
        };
        if own.len() >= other.len() {
            return;
        }
        let kept = all.len().saturating_sub(own.len());
        let sizes = other.iter().map(|one| match one.number()?.source {
            Source::Size(size) => Some(size),
            _ => None,
        });
        let is_end = slice.lower.is_some();
        if let Some(sizes) = sizes.collect::<Option<Vec<usize>>>().filter(|_| is_end) {
            self.suggest(plans, |plan| plan.replace_dims(input, kept, &sizes));
            return;
        }
        // `x.shape[:-2]`
        let after = slice.upper.as_deref().map(|upper| self.value_of(upper, scope));
        let after = after.and_then(|after| usize::try_from(after.number()?.value.checked_neg()?).ok());
        let rank = other.len() + after.unwrap_or(kept);
        self.suggest(plans, |plan| plan.set_rank(input, rank));
    }

    /// The input whose strides a tuple has.
    fn find_strided(&self, value: &Value<'a>) -> Option<usize> {
        match value.elements()?.first()?.number()?.source {
            Source::Stride { storage, .. } => self.storages.get(storage)?.input,
            _ => None,
        }
    }

    /// Makes all sizes of two shapes equal at once.
    fn equate_shapes(
        &mut self,
        a: &Value<'a>,
        b: &Value<'a>,
        one: &[Value<'a>],
        other: &[Value<'a>],
        plans: &mut Vec<Plan>,
    ) {
        if one.len() != other.len() {
            // The lower rank is more often the one that nothing has shown yet.
            let mut ranks = [(a, other.len()), (b, one.len())];
            ranks.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
            for (value, rank) in ranks {
                let input = match value {
                    Value::Tuple(_, Some(input)) => Some(*input),
                    _ => self.find_strided(value),
                };
                if let Some(input) = input {
                    self.suggest(plans, |plan| plan.set_rank(input, rank));
                }
            }
            return;
        }
        for (a, b) in one.iter().zip(other) {
            if let (Some(a), Some(b)) = (a.number(), b.number())
                && a.value != b.value
            {
                self.equate_strides(a, b, plans);
            }
        }
        self.suggest(plans, |plan| {
            let mut changed = None;
            for (a, b) in one.iter().zip(other) {
                let (Some(a), Some(b)) = (a.number(), b.number()) else {
                    continue;
                };
                let now = |plan: &Plan, number: Number| match number.source {
                    Source::Size(size) => plan.size(size),
                    _ => number.value,
                };
                if now(plan, a) == now(plan, b)
                    && !matches!((a.source, b.source), (Source::Size(_), Source::Size(_)))
                {
                    continue;
                }
                let change = match (a.source, b.source) {
                    (Source::Size(a), Source::Size(b)) => plan.unify(a, b),
                    (Source::Size(size), _) => plan.set_size(size, b.value),
                    (_, Source::Size(size)) => plan.set_size(size, a.value),
                    _ => None,
                };
                changed = changed.or(change);
            }
            changed
        });
    }

    /// The sizes and constants in a condition.
    fn list_operands(
        &mut self,
        expr: &'a Expr,
        scope: &Scope<'a>,
        sizes: &mut u64,
        constants: &mut Vec<i64>,
        depth: usize,
    ) {
        if depth > 8 {
            return;
        }
        let mut parts: Vec<&'a Expr> = Vec::new();
        match expr {
            Expr::BoolOp(operation) => parts.extend(&operation.values),
            Expr::UnaryOp(operation) => parts.push(&operation.operand),
            Expr::Compare(compare) => {
                parts.push(&compare.left);
                parts.extend(&compare.comparators);
            }
            Expr::BinOp(operation) => parts.extend([&*operation.left, &*operation.right]),
            _ => {
                let value = self.value_of(expr, scope);
                *sizes |= value.sizes();
                let numbers = value.numbers().unwrap_or_default();
                constants.extend(
                    numbers
                        .iter()
                        .filter(|one| one.is_constant())
                        .map(|one| one.value)
                        .take(4),
                );
                return;
            }
        }
        for part in parts {
            self.list_operands(part, scope, sizes, constants, depth + 1);
        }
    }
}

const fn negate(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Eq => CmpOp::NotEq,
        CmpOp::NotEq => CmpOp::Eq,
        CmpOp::Lt => CmpOp::GtE,
        CmpOp::LtE => CmpOp::Gt,
        CmpOp::Gt => CmpOp::LtE,
        CmpOp::GtE => CmpOp::Lt,
        CmpOp::Is => CmpOp::IsNot,
        CmpOp::IsNot => CmpOp::Is,
        CmpOp::In => CmpOp::NotIn,
        CmpOp::NotIn => CmpOp::In,
    }
}
