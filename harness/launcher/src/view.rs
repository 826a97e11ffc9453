//! Methods of tensors that need more than their shape: copies, splits, sums, and views that decide sizes of inputs.

use super::arguments::Arguments;
use super::machine::{Eval, Machine};
use super::plan::TensorInput;
use super::tensor::{Fill, Tensor, dense};
use super::value::{Dtype, Number, Source, Value};

/// The reason for values that depend on elements.
pub(super) const ELEMENTS: &str = "a value of a tensor's elements";

/// The size of a filter, and of its input.
pub(super) const FILTER: i64 = 3;
const FILTERED: i64 = 7;

impl<'a> Machine<'a> {
    /// Changes an input so that a view of other sizes has as many elements.
    pub fn fit_view(&mut self, tensor: &Tensor, shape: &[Number]) -> Eval<'a, ()> {
        // `x.view(x.shape[0], groups, width)`: the last dimension is cut into the others.
        let is_same = |(one, own): &(&Number, &Number)| match own.source {
            Source::Size(_) => one.source == own.source && one.value == own.value,
            _ => false,
        };
        let kept = shape.iter().zip(&tensor.shape).take_while(is_same).count();
        let rank = tensor.shape.len();
        if let Some(input) = tensor.input
            && kept == rank
            && kept < shape.len()
        {
            let change = self.set_rank(input, rank + 1);
            if change.is_some() {
                return self.restart(change, "");
            }
        }
        let cut = shape.get(kept..).unwrap_or_default();
        let product = cut.iter().try_fold(1_i64, |all, one| {
            all.checked_mul(one.value).filter(|all| *all > 0)
        });
        if let (Some(Source::Size(size)), Some(wanted)) =
            (tensor.shape.last().map(|last| last.source), product)
            && kept + 1 == rank
            && cut.len() > 1
        {
            let change = self.plan.set_size(size, wanted);
            if change.is_some() {
                return self.restart(change, "");
            }
        }
        // `b.view(-1, n_cols)`: the last sizes are equal.
        for (own, wanted) in tensor.shape.iter().rev().zip(shape.iter().rev()) {
            match (own.source, wanted.source) {
                _ if wanted.value == -1 => break,
                (Source::Size(own), Source::Size(wanted)) if own != wanted => {
                    let change = self.plan.unify(wanted, own);
                    if change.is_some() {
                        return self.restart(change, "");
                    }
                }
                (Source::Size(size), Source::Computed) if own.value != wanted.value && wanted.value > 0 => {
                    let change = self.plan.set_size(size, wanted.value);
                    if change.is_some() {
                        return self.restart(change, "");
                    }
                }
                _ => {}
            }
        }
        // `x.view(batch, groups, -1)`: the channels are a multiple of the groups.
        for wanted in shape.iter().filter(|wanted| wanted.value > 1) {
            let dims = tensor.shape.iter().skip(usize::from(tensor.shape.len() > 2));
            for own in dims {
                if let Source::Size(size) = own.source
                    && own.value % wanted.value != 0
                    && own.source != wanted.source
                {
                    let change = self
                        .plan
                        .set_size(size, (own.value / wanted.value + 1).saturating_mul(wanted.value));
                    if change.is_some() {
                        return self.restart(change, "");
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the file takes a shape, a stride or a dtype of an input's name.
    pub fn is_used_as_tensor(&self, input: usize) -> bool {
        let Some(name) = self.plan.inputs.get(input).map(|one| one.name.as_str()) else {
            return false;
        };
        let text = self.module.text;
        text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let rest = text.get(at + name.len()..).unwrap_or_default();
            before.is_none_or(|one| !one.is_alphanumeric() && one != '_' && one != '.')
                && [".shape", ".stride(", ".dtype", ".device", ".numel("]
                    .iter()
                    .any(|part| rest.starts_with(part))
        })
    }

    /// A new tensor of a launcher. If it would have less than one element, sizes of inputs change: a convolution's input is larger than its
    /// filter, for example.
    pub fn allocate_fitting(&mut self, shape: Vec<Number>, dtype: &Dtype, fill: Fill) -> Eval<'a> {
        let sizes = |number: &Number| -> Vec<usize> { self.plan.list_sizes(number.sizes).collect() };
        let is_short = |number: &&Number| {
            number.source == Source::Computed
                && number.value <= 0
                && sizes(number).iter().all(|size| self.plan.size(*size) > 0)
        };
        let short = shape.iter().find(is_short).map(sizes);
        let Some(short) = short.filter(|sizes| sizes.len() > 1) else {
            return Ok(self.allocate(shape, dtype, fill));
        };
        // A filter is a later input than what it is applied to.
        let plan = &mut self.plan;
        let mut filters = short.iter().rev();
        let change = filters
            .find_map(|&size| {
                if plan.size(size) > FILTER {
                    plan.set_free_size(size, FILTER)
                } else {
                    None
                }
            })
            .or_else(|| short.iter().find_map(|&size| plan.set_free_size(size, FILTERED)));
        match change {
            Some(()) => self.restart(change, ""),
            None => Ok(self.allocate(shape, dtype, fill)),
        }
    }

    /// A contiguous copy. A copy of an input with its dtype is a tensor that a caller could have passed.
    pub fn copy(&mut self, tensor: &Tensor, dtype: Option<Dtype>) -> Value<'a> {
        let source = self.storages.get(tensor.storage).cloned();
        let fill = match source.as_ref().map(|source| &source.fill) {
            Some(
                fill @ (Fill::Zeros
                | Fill::Ones
                | Fill::Uninit
                | Fill::Full(_)
                | Fill::Elements(_)
                | Fill::Given),
            ) => fill.clone(),
            _ => Fill::Computed,
        };
        let dtype = dtype.unwrap_or_else(|| tensor.dtype.clone());
        let mut copy = self.allocate(tensor.shape.clone(), &dtype, fill);
        if let (Value::Tensor(copy), Some(source)) = (&mut copy, source)
            && let Some(storage) = self.storages.get_mut(copy.storage)
        {
            storage.input = source.input;
            copy.base = tensor.base;
            if self.ordered.contains(&tensor.storage) {
                self.ordered.insert(copy.storage);
            }
        }
        copy
    }

    pub fn view_dtype(&mut self, tensor: &Tensor, dtype: &Dtype) -> Value<'a> {
        if dtype.bytes() != tensor.dtype.bytes() {
            return Value::unknown("a view with a dtype of another size");
        }
        // Only what was allocated for it: the storage takes the dtype.
        let Some(storage) = self.storages.get_mut(tensor.storage) else {
            return Value::unknown("a view with another dtype");
        };
        if dtype.name != storage.dtype.name {
            storage.dtype = Dtype::torch(dtype.name);
            if storage.fill == Fill::Given {
                storage.fill = Fill::Computed;
            }
        }
        Value::Tensor(Tensor {
            dtype: Dtype::torch(dtype.name),
            input: None,
            ..tensor.clone()
        })
    }

    #[expect(clippy::unused_self, reason = "a method of tensors, as others")]
    pub fn split(&self, tensor: &Tensor, name: &str, count: Option<i64>, dim: i64) -> Value<'a> {
        let Some(at) = tensor.dim(dim) else {
            return Value::unknown("a dimension that a tensor does not have");
        };
        let size = tensor.shape.get(at).map_or(0, |size| size.value);
        if name == "unbind" {
            let all = (0..size.min(64))
                .filter_map(|index| tensor.select(at, index))
                .map(Value::Tensor);
            return Value::tuple(all.collect());
        }
        let step = match (name, count) {
            ("chunk", Some(count)) if count > 0 => size.saturating_add(count - 1) / count,
            ("split", Some(step)) => step,
            _ => return Value::unknown("a split of unknown sizes"),
        };
        if step < 1 || size / step > 64 {
            return Value::unknown("a split of unknown sizes");
        }
        let mut parts = Vec::new();
        let mut start = 0;
        while start < size {
            let slice = super::value::Slice {
                lower: Some(Number::plain(start)),
                upper: Some(Number::plain(start.saturating_add(step).min(size))),
                step: 1,
            };
            parts.extend(tensor.slice(at, &slice).map(Value::Tensor));
            start = start.saturating_add(step);
        }
        Value::tuple(parts)
    }

    pub fn reduce(&mut self, tensor: &Tensor, args: &Arguments<'a>) -> Value<'a> {
        let keep = matches!(args.get(1, "keepdim"), Some(Value::Bool(true, _)));
        let dims: Vec<usize> = match args.get(0, "dim") {
            None | Some(Value::None(_)) => (0..tensor.shape.len()).collect(),
            Some(dims) => match dims.numbers() {
                Some(dims) => dims.iter().filter_map(|dim| tensor.dim(dim.value)).collect(),
                None => return Value::unknown("a sum over unknown dimensions"),
            },
        };
        let shape = tensor.shape.iter().enumerate().filter_map(|(at, size)| {
            if dims.contains(&at) {
                keep.then_some(Number::plain(1))
            } else {
                Some(*size)
            }
        });
        let shape = shape.collect();
        self.allocate(shape, &tensor.dtype, Fill::Computed)
    }

    /// A tensor like another one: dense tensors keep their order of dimensions, others are contiguous.
    pub fn like(&mut self, tensor: &Tensor, dtype: &Dtype, fill: Fill) -> Value<'a> {
        let sizes = tensor.sizes();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(tensor.strides.get(*at).copied().unwrap_or(0)));
        let sorted: Vec<i64> = order.iter().filter_map(|at| sizes.get(*at).copied()).collect();
        let steps = dense(&sorted);
        let is_dense = order
            .iter()
            .zip(&steps)
            .all(|(at, step)| sizes.get(*at) == Some(&1) || tensor.strides.get(*at) == Some(step));
        if !is_dense || tensor.is_contiguous() {
            return self.allocate(tensor.shape.clone(), dtype, fill);
        }
        self.allocate_strided(tensor.shape.clone(), tensor.strides.clone(), dtype, fill)
    }

    /// The number of dimensions. A launcher that reads it does not only take vectors, so an input gets rows if nothing else
    /// decides how many dimensions it has.
    pub fn rank_of(&mut self, tensor: &Tensor) -> Eval<'a, Value<'a>> {
        if let Some(input) = tensor.input {
            self.read_rank(input)?;
        }
        Ok(Value::Int(Number {
            value: tensor.shape.len() as i64,
            source: tensor.input.map_or(Source::Computed, Source::Rank),
            sizes: 0,
        }))
    }

    /// Notes that the launcher reads how many dimensions an input has.
    pub fn read_rank(&mut self, input: usize) -> Eval<'a, ()> {
        self.ranked.insert(input);
        let is_vector = |tensor: &TensorInput| !tensor.has_rank && tensor.dims.len() == 1;
        if self.plan.tensor(input).is_some_and(is_vector) {
            // Items of a list have as many dimensions as one of them.
            let changes: Vec<Option<()>> = self
                .plan
                .list_siblings(input)
                .into_iter()
                .map(|one| self.raise_rank(one, 2, false))
                .collect();
            if let Some(change) = changes.into_iter().find(Option::is_some) {
                return self.restart(change, "");
            }
        }
        Ok(())
    }
}

/// The stride of a dimension, with its storage.
pub(super) fn stride_of<'a>(tensor: &Tensor, dim: usize) -> Value<'a> {
    let value = tensor.strides.get(dim).copied().unwrap_or(0);
    let inner = tensor
        .shape
        .iter()
        .skip(dim + 1)
        .fold(0, |all, size| all | size.sizes);
    Value::Int(Number {
        value,
        source: Source::Stride {
            storage: tensor.storage,
            dim,
        },
        sizes: inner,
    })
}

/// An attribute of a kernel, or of its compiled form.
pub(super) fn kernel_attribute<'a>(kernel: Value<'a>, name: &str) -> Value<'a> {
    match name {
        "fn" => kernel,
        "n_regs" => Value::int(32),
        "n_spills" => Value::int(0),
        "metadata" => Value::build_object(vec![("shared", Value::int(1024)), ("num_warps", Value::int(4))]),
        _ => Value::Method(std::rc::Rc::new((kernel, name.to_owned()))),
    }
}
