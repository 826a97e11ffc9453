//! Operators and subscripts.

use ruff_python_ast::Operator;

use super::machine::{Eval, Halt, Machine};
use super::plan::Kind;
use super::tensor::{Fill, Tensor};
use super::value::{Dtype, Number, Slice, Source, Value, bit, is_equal};

impl<'a> Machine<'a> {
    pub fn binary(&mut self, left: &Value<'a>, op: Operator, right: &Value<'a>) -> Eval<'a> {
        for one in [left, right] {
            self.decide_number(one)?;
        }
        if let Some(reason) = left.reason().or(right.reason())
            && !matches!((left, right), (Value::Tensor(_), _) | (_, Value::Tensor(_)))
        {
            return Ok(Value::unknown(reason));
        }
        if matches!(left, Value::Tensor(_)) || matches!(right, Value::Tensor(_)) {
            return self.elementwise(left, right);
        }
        if let (Some(a), Some(b)) = (left.number(), right.number()) {
            if op == Operator::FloorDiv {
                self.divide_evenly(a, b, false)?;
            }
            return Ok(self.integers(a, op, b));
        }
        if let (Some(a), Some(b)) = (left.float(), right.float()) {
            return Ok(floats(a, op, b));
        }
        if let (Some(mut a), Some(b), Operator::Add) = (left.elements(), right.elements(), op) {
            a.extend(b);
            return Ok(if matches!(left, Value::List(_)) {
                Value::list(a)
            } else {
                Value::tuple(a)
            });
        }
        if let (Some(a), Some(b), Operator::Mult) = (left.elements(), right.number(), op) {
            let count = b.value.clamp(0, 64) as usize;
            let all: Vec<Value<'a>> = (0..count).flat_map(|_| a.iter().cloned()).collect();
            return Ok(if matches!(left, Value::List(_)) {
                Value::list(all)
            } else {
                Value::tuple(all)
            });
        }
        if let (Value::Str(..), _) = (left, op) {
            return Ok(Value::str("text"));
        }
        Ok(Value::unknown(format!(
            "an operation on {} and {}",
            left.kind(),
            right.kind()
        )))
    }

    /// Changes sizes so that a division has no remainder: callers pass sizes that fit (`channels // groups`,
    /// `x.numel() // n_cols`). A number is not divided evenly by a block, unless the quotient is the size of parts.
    pub(super) fn divide_evenly(&mut self, a: Number, b: Number, is_parts: bool) -> Eval<'a, ()> {
        let is_exact = a.value < 1 || b.value < 2 || a.value % b.value == 0;
        if is_exact || !self.is_product(a) || !is_parts && self.is_block(b) {
            return Ok(());
        }
        let change = (0..self.plan.sizes.len().min(63))
            .filter(|size| a.sizes & bit(*size) != 0)
            .find_map(|size| {
                let now = self.plan.size(size);
                let larger = (now / b.value).checked_add(1)?.checked_mul(b.value)?;
                self.plan.set_free_size(size, larger)
            });
        if change.is_some() {
            return Err(Halt::Restart);
        }
        if let Source::Size(size) = b.source
            && a.sizes & bit(size) == 0
        {
            let divisor = (1..=b.value).rev().find(|one| a.value % one == 0);
            let change = divisor.and_then(|divisor| self.plan.set_free_size(size, divisor));
            if change.is_some() {
                return Err(Halt::Restart);
            }
        }
        self.is_uneven = true;
        Ok(())
    }

    /// Whether a number is the product of the sizes that it depends on.
    fn is_product(&self, number: Number) -> bool {
        let mut sizes = (0..self.plan.sizes.len().min(63)).filter(|size| number.sizes & bit(*size) != 0);
        let product = sizes.try_fold(1_i64, |all, size| all.checked_mul(self.plan.size(size)));
        number.sizes != 0 && product == Some(number.value)
    }

    /// Whether a number may be the size of a block.
    fn is_block(&self, number: Number) -> bool {
        match number.source {
            Source::Size(_) => false,
            Source::Param(input) => self
                .plan
                .inputs
                .get(input)
                .is_none_or(|input| input.is_default || input.name.to_lowercase().contains("block")),
            Source::Computed => number.value.count_ones() == 1,
            Source::Rank(_) | Source::Stride { .. } => true,
        }
    }

    fn integers(&mut self, a: Number, op: Operator, b: Number) -> Value<'a> {
        let sizes = a.sizes | b.sizes;
        if matches!(op, Operator::FloorDiv | Operator::Mod) && b.is_constant() {
            self.note_block(a, b.value);
        }
        let result = match op {
            Operator::Add => a.value.checked_add(b.value),
            Operator::Sub => a.value.checked_sub(b.value),
            Operator::Mult => a.value.checked_mul(b.value),
            Operator::FloorDiv => floor_div(a.value, b.value),
            Operator::Mod => floor_div(a.value, b.value)
                .map(|quotient| a.value.wrapping_sub(quotient.wrapping_mul(b.value))),
            Operator::Div => {
                return if b.value == 0 {
                    Value::unknown("a division by zero")
                } else {
                    Value::Float(a.value as f64 / b.value as f64)
                };
            }
            Operator::Pow => match u32::try_from(b.value) {
                Ok(exponent) => a.value.checked_pow(exponent),
                Err(_) => return Value::Float((a.value as f64).powf(b.value as f64)),
            },
            Operator::LShift => match u32::try_from(b.value) {
                Ok(shift) if shift < 62 => a.value.checked_mul(1 << shift),
                _ => None,
            },
            Operator::RShift => u32::try_from(b.value)
                .ok()
                .and_then(|shift| a.value.checked_shr(shift)),
            Operator::BitAnd => Some(a.value & b.value),
            Operator::BitOr => Some(a.value | b.value),
            Operator::BitXor => Some(a.value ^ b.value),
            Operator::MatMult => None,
        };
        let Some(value) = result else {
            return Value::unknown("arithmetic that overflows or divides by zero");
        };
        // `size * 1`, `size + 0` are the size.
        let source = if a.value == value && b.is_constant() && a.sizes != 0 && !matches!(op, Operator::Mod) {
            a.source
        } else {
            Source::Computed
        };
        Value::Int(Number { value, source, sizes })
    }

    /// A tensor that torch computes of others, element by element.
    pub fn elementwise(&mut self, left: &Value<'a>, right: &Value<'a>) -> Eval<'a> {
        let shape = |value: &Value<'a>| match value {
            Value::Tensor(tensor) => tensor.shape.clone(),
            _ => Vec::new(),
        };
        let dtype = match (left, right) {
            (Value::Tensor(a), Value::Tensor(b)) => {
                let wider = b.dtype.is_float() && (!a.dtype.is_float() || b.dtype.bytes() > a.dtype.bytes());
                if wider { b.dtype.clone() } else { a.dtype.clone() }
            }
            (Value::Tensor(one), _) | (_, Value::Tensor(one)) => one.dtype.clone(),
            _ => Dtype::torch("f32"),
        };
        let (a, b) = (shape(left), shape(right));
        let rank = a.len().max(b.len());
        let mut result = Vec::new();
        for at in 0..rank {
            let pick = |shape: &[Number]| {
                let at = (at + shape.len()).checked_sub(rank)?;
                shape.get(at).copied()
            };
            result.push(match (pick(&a), pick(&b)) {
                (Some(a), Some(b)) if a.value == 1 => b,
                (Some(a), Some(b)) if b.value == 1 || a.value == b.value => a,
                (Some(one), None) | (None, Some(one)) => one,
                (Some(a), Some(b)) => {
                    if let (Source::Size(a), Source::Size(b)) = (a.source, b.source) {
                        let change = self.plan.unify(a, b);
                        if change.is_some() {
                            return self.restart(change, "");
                        }
                    }
                    return Ok(Value::unknown("tensors that do not broadcast"));
                }
                (None, None) => return Ok(Value::unknown("tensors that do not broadcast")),
            });
        }
        Ok(self.allocate(result, &dtype, Fill::Computed))
    }

    /// An operation on the elements of a tensor.
    pub fn unary_of(&mut self, value: Value<'a>) -> Value<'a> {
        match value {
            Value::Tensor(tensor) => self.allocate(tensor.shape.clone(), &tensor.dtype, Fill::Computed),
            Value::Unknown(reason) => Value::Unknown(reason),
            other => Value::unknown(format!("an operation on {}", other.kind())),
        }
    }

    pub fn subscript(&mut self, object: &Value<'a>, key: Value<'a>) -> Eval<'a> {
        Ok(match object {
            Value::Kernel(def) => Value::Launcher(def, key.into()),
            Value::Unknown(reason) => Value::Unknown(reason.clone()),
            Value::Tuple(values, input) => {
                if let (Some(input), Some(at)) = (*input, key.number()) {
                    let rank = values.len() as i64;
                    let needed = if at.value < 0 {
                        at.value.saturating_neg()
                    } else {
                        at.value.saturating_add(1)
                    };
                    self.need_rank(input, needed, at.value < 0)?;
                    let dim = if at.value < 0 { at.value + rank } else { at.value };
                    self.observed.insert((input, dim.max(0) as usize));
                }
                if let (Some(input), Value::Slice(slice)) = (*input, &key) {
                    // `x.shape[:-1]`, `x.shape[-2:]`: some dimensions before, or after.
                    let ends = || [slice.lower, slice.upper].into_iter().flatten();
                    let needed = ends()
                        .map(|bound| {
                            bound
                                .value
                                .saturating_abs()
                                .saturating_add(i64::from(bound.value < 0))
                        })
                        .max();
                    if let Some(needed) = needed {
                        let is_from_end = ends().any(|bound| bound.value < 0);
                        self.need_rank_of_part(input, needed.min(4), is_from_end)?;
                    }
                }
                pick(values, &key, false)
            }
            Value::List(values) => {
                let values = values.borrow().clone();
                pick(&values, &key, true)
            }
            Value::Dict(items) => {
                let items = items.borrow();
                self.note_texts(&key, items.iter().map(|(one, _)| one));
                let found = items.iter().find(|(one, _)| is_equal(one, &key) == Some(true));
                found.map_or_else(
                    || Value::unknown("a key that a dict does not have"),
                    |(_, value)| value.clone(),
                )
            }
            Value::Input(input) => {
                let is_text = matches!(key, Value::Str(..));
                if is_text {
                    return self.input_field(*input, &text_of(&key));
                }
                match self.input_tensor(*input) {
                    Some(tensor) => self.index(&tensor, &key)?,
                    None => Value::unknown("an element of a parameter"),
                }
            }
            Value::Tensor(tensor) => self.index(tensor, &key)?,
            Value::Object(fields) => match &key {
                Value::Str(name, _) => {
                    let fields = fields.borrow();
                    fields
                        .get(&**name)
                        .cloned()
                        .unwrap_or_else(|| Value::unknown(format!("no key `{name}`")))
                }
                _ => Value::unknown("a subscript of an object"),
            },
            Value::Closure(_) => {
                // `decorated_kernel[grid]` of a decorator that is not evaluated.
                Value::unknown("a subscript of a function")
            }
            other => Value::unknown(format!("a subscript of {}", other.kind())),
        })
    }

    /// Requires that an input has so many dimensions.
    pub fn need_rank(&mut self, input: usize, needed: i64, is_from_end: bool) -> Eval<'a, ()> {
        let Some(Kind::Tensor(tensor)) = self.plan.kind(input) else {
            return Ok(());
        };
        if is_from_end {
            return self.need_rank_of_part(input, needed, true);
        }
        if (tensor.dims.len() as i64) < needed {
            let change = self.raise_rank(input, needed.clamp(1, 8) as usize, false);
            return match change {
                Some(()) => self.restart(change, ""),
                None => self.raise("a dimension that a tensor does not have"),
            };
        }
        Ok(())
    }

    /// As [`Self::need_rank`], for dimensions from the end or a part of them, which a tensor of a known rank may lack.
    fn need_rank_of_part(&mut self, input: usize, needed: i64, is_from_end: bool) -> Eval<'a, ()> {
        let Some(Kind::Tensor(tensor)) = self.plan.kind(input) else {
            return Ok(());
        };
        let (rank, is_known) = (tensor.dims.len() as i64, tensor.has_rank);
        let needed = if is_known { needed } else { needed.max(2) };
        if rank < needed {
            if !is_known {
                let change = self.raise_rank(input, needed.clamp(1, 8) as usize, is_from_end);
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
            return self.raise("a dimension that a tensor does not have");
        }
        Ok(())
    }

    /// Indexing of a tensor with integers, slices, `None` and `...`.
    fn index(&mut self, tensor: &Tensor, key: &Value<'a>) -> Eval<'a> {
        let keys = match key {
            Value::Tuple(keys, _) => keys.to_vec(),
            one => vec![one.clone()],
        };
        let counted = keys
            .iter()
            .filter(|key| !matches!(key, Value::None(_) | Value::Ellipsis))
            .count();
        if let Some(input) = tensor.input
            && counted > tensor.shape.len()
        {
            self.need_rank(input, counted as i64, false)?;
        }
        let mut view = tensor.clone();
        view.input = None;
        let mut dim = 0;
        for key in &keys {
            let next = match key {
                Value::None(_) => {
                    dim += 1;
                    view.unsqueeze(dim - 1)
                }
                Value::Ellipsis => {
                    let rest = tensor.shape.len().saturating_sub(counted) as i64;
                    dim += rest;
                    Some(view)
                }
                Value::Slice(slice) => {
                    dim += 1;
                    view.dim(dim - 1).and_then(|at| {
                        if is_whole(slice) {
                            Some(view.clone())
                        } else {
                            view.slice(at, slice)
                        }
                    })
                }
                Value::Int(number) => view.dim(dim).and_then(|at| view.select(at, number.value)),
                Value::Tensor(indices) if keys.len() == 1 && !matches!(indices.dtype.name, "i1") => {
                    let mut shape = indices.shape.clone();
                    shape.extend(tensor.shape.iter().skip(1));
                    return Ok(self.allocate(shape, &tensor.dtype, Fill::Computed));
                }
                Value::Unknown(reason) => return Ok(Value::Unknown(reason.clone())),
                other => return Ok(Value::unknown(format!("a tensor indexed with {}", other.kind()))),
            };
            match next {
                Some(next) => view = next,
                None => return Ok(Value::unknown("an index outside of a tensor")),
            }
        }
        Ok(Value::Tensor(view))
    }
}

fn is_whole(slice: &Slice) -> bool {
    slice.lower.is_none() && slice.upper.is_none() && slice.step == 1
}

fn text_of(value: &Value<'_>) -> String {
    match value {
        Value::Str(text, _) => text.to_string(),
        _ => String::new(),
    }
}

fn pick<'a>(values: &[Value<'a>], key: &Value<'a>, is_list: bool) -> Value<'a> {
    match key {
        Value::Int(number) => {
            let at = if number.value < 0 {
                number.value + values.len() as i64
            } else {
                number.value
            };
            let found = usize::try_from(at).ok().and_then(|at| values.get(at));
            found
                .cloned()
                .unwrap_or_else(|| Value::unknown("an index past the end"))
        }
        Value::Slice(slice) => {
            let count = values.len() as i64;
            let bound = |bound: Option<Number>, or: i64| {
                let value = bound.map_or(or, |bound| bound.value);
                (if value < 0 { value + count } else { value }).clamp(0, count) as usize
            };
            let (lower, upper, reversed) = match slice.step {
                -1 => (0, values.len(), true),
                _ => (bound(slice.lower, 0), bound(slice.upper, count), false),
            };
            let mut all: Vec<Value<'a>> = values.get(lower..upper.max(lower)).unwrap_or_default().to_vec();
            if reversed {
                all.reverse();
            } else if slice.step > 1 {
                all = all.into_iter().step_by(slice.step as usize).collect();
            }
            if is_list {
                Value::list(all)
            } else {
                Value::tuple(all)
            }
        }
        Value::Unknown(reason) => Value::Unknown(reason.clone()),
        other => Value::unknown(format!("an element at {}", other.kind())),
    }
}

pub(super) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    })
}

fn floats<'a>(a: f64, op: Operator, b: f64) -> Value<'a> {
    Value::Float(match op {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div if b != 0.0 => a / b,
        Operator::FloorDiv if b != 0.0 => (a / b).floor(),
        Operator::Mod if b != 0.0 => a - (a / b).floor() * b,
        Operator::Pow => a.powf(b),
        _ => return Value::unknown("an operation on floats"),
    })
}
