//! Infers dtypes, ranks and sizes of a launcher's inputs from the kernel's text, if the launcher does not determine them.

use super::launched::Bindings;
use super::machine::{Condition, Eval, Halt, Machine};
use super::plan::Kind;
use super::tensor::Tensor;
use super::value::{Dtype, Number, Source, Value};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Dimension, Stride, TensorUse, Usage};

/// Number of elements of an input whose size nothing determines.
const ROOM: i64 = 1 << 14;

/// Maximum number of elements of an input that is enlarged for the kernel.
const MAX_FITTED: i64 = 1 << 19;

impl<'a> Machine<'a> {
    /// The tensor that the kernel uses, and its input; `None` if the launcher made it.
    fn find_input<'b>(
        &self,
        tensor_use: &TensorUse,
        bindings: &'b Bindings<'a>,
    ) -> Option<(&'b Tensor, usize)> {
        let Value::Tensor(tensor) = bindings.get(&tensor_use.name)? else {
            return None;
        };
        Some((tensor, self.storages.get(tensor.storage)?.input?))
    }

    /// Gives an input the shape of another one, if a view of the input has fewer elements than the kernel indexes and the other has
    /// exactly as many. An input keeps its shape if the launcher reads all of its sizes and passes them to the kernel.
    fn adopt_shapes(&mut self, passed: u64, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in &usage.tensors {
            let Some((tensor, input)) = self.find_input(tensor_use, bindings) else {
                continue;
            };
            let is_passed = |(dim, size): (usize, &usize)| {
                passed & super::value::bit(*size) != 0 && self.observed.contains(&(input, dim))
            };
            let plan = self.plan.tensor(input);
            if plan.is_some_and(|one| one.dims.iter().enumerate().all(is_passed)) {
                continue;
            }
            let rank = tensor_use.dimensions.len();
            let Some(needed) = needed_elements(tensor, rank, tensor_use, usage, bindings) else {
                continue;
            };
            if rank < 2 || tensor.numel().value >= needed {
                continue;
            }
            let others = bindings.values.iter().filter_map(|(_, value)| match value {
                Value::Tensor(other) if other.numel().value == needed => {
                    self.storages.get(other.storage).and_then(|storage| storage.input)
                }
                _ => None,
            });
            let others: Vec<usize> = others.collect();
            for other in others {
                let change = self.plan.adopt(input, other);
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
    }

    /// All dimensions except the last one, of the first earlier input that has three or more.
    fn find_leading_dims(&self, input: usize) -> Option<Vec<usize>> {
        (0..input).find_map(|other| {
            let tensor = self.plan.tensor(other)?;
            let (_, leading) = tensor.dims.split_last()?;
            (tensor.has_rank && leading.len() > 1).then(|| leading.to_vec())
        })
    }

    /// The number of dimensions of the first other input for which the launcher shows this number.
    fn find_known_rank(&self, input: usize) -> Option<usize> {
        let others = (0..self.plan.inputs.len()).filter(|other| *other != input);
        let mut known = others.filter_map(|other| self.plan.tensor(other).filter(|one| one.has_rank));
        known.next().map(|one| one.dims.len())
    }

    /// The size of the same dimension of another input, if the launcher reads it. The other input has as many dimensions, or more if
    /// `rank` is over 2. Earlier inputs come first.
    fn find_same_dim(&self, input: usize, rank: usize, dim: usize) -> Option<usize> {
        let later = (input + 1..self.plan.inputs.len()).filter(|other| {
            let tensor = self.plan.tensor(*other);
            tensor.is_some_and(|one| one.has_rank && one.dims.len() == rank && rank > 2)
        });
        (0..input).chain(later).find_map(|other| {
            let dims = &self.plan.tensor(other)?.dims;
            let is_like = dims.len() == rank || rank > 2 && dims.len() > rank;
            let is_seen = is_like && self.observed.contains(&(other, dim));
            if is_seen { dims.get(dim).copied() } else { None }
        })
    }

    /// The size of a dimension of another input with as many dimensions and the same last size, if the launcher reads it.
    fn find_alike_dim(&self, input: usize, last: usize, rank: usize, dim: usize) -> Option<usize> {
        let mut others = (0..self.plan.inputs.len()).filter(|other| *other != input);
        others.find_map(|other| {
            let dims = &self.plan.tensor(other)?.dims;
            let is_alike = dims.len() == rank && dims.last() == Some(&last);
            (is_alike && self.observed.contains(&(other, dim)))
                .then(|| dims.get(dim).copied())
                .flatten()
        })
    }

    /// Gives inputs an integer dtype, if the kernel uses them as indices or in operations that only integers have.
    pub fn decide_dtypes(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        let is_whole = |one: &&TensorUse| one.indexes || one.is_whole || one.is_lock;
        for tensor_use in usage.tensors.iter().filter(is_whole) {
            let Some((tensor, input)) = self.find_input(tensor_use, bindings) else {
                continue;
            };
            let Some(Kind::Tensor(one)) = self.plan.kind(input) else {
                continue;
            };
            if one.dtype.is_none() && tensor.dtype.is_float() {
                let dtype = if tensor_use.indexes { "i64" } else { "i32" };
                let change = self.plan.set_dtype(input, &Dtype::torch(dtype));
                return self.restart(change, "a dtype");
            }
        }
        Ok(())
    }

    /// Sets sizes that are the ends of ranges of lanes to powers of two.
    pub fn decide_powers(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for name in &usage.blocks {
            let Some(Value::Int(number)) = bindings.get(name) else {
                continue;
            };
            if let Source::Size(size) = number.source
                && (number.value.count_ones() != 1 || usage.has_dots && number.value < 16)
            {
                let least = if usage.has_dots { 16 } else { 1 };
                let below = super::builtin::next_power_of_2(number.value.saturating_add(1)) / 2;
                let change = self.plan.set_size(size, below.max(least));
                return match change {
                    Some(()) => Err(Halt::Restart),
                    None => Err(Halt::Raised(
                        None::<Condition<'a>>,
                        format!("`{name}` is not a power of two"),
                    )),
                };
            }
        }
        Ok(())
    }

    /// Gives inputs whose shapes the launcher does not read as many dimensions as the kernel indexes.
    pub fn fit_ranks(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in &usage.tensors {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                continue;
            };
            let Some(input) = tensor.input.or(tensor.base) else {
                continue;
            };
            let rank = tensor.shape.len();
            let is_seen = (0..rank).any(|dim| self.observed.contains(&(input, dim)));
            let has_rank = self.plan.tensor(input).is_some_and(|one| one.has_rank);
            let only_last = (0..rank.saturating_sub(1)).all(|dim| !self.observed.contains(&(input, dim)));
            if is_seen && only_last && !has_rank && rank == 2 {
                // The launcher reads `v.shape[-1]`: the dimensions before it come from another input.
                let dims = self.find_leading_dims(input);
                let change = dims.and_then(|dims| self.plan.set_leading(input, &dims));
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
            let indexed = count_indices(&tensor_use.dimensions);
            let wanted = if indexed > rank {
                // A size that is a product has several terms.
                let most = self.find_known_rank(input).filter(|known| is_seen && *known > 2);
                Some(most.map_or(indexed, |most| indexed.min(most))).filter(|wanted| *wanted > rank)
            } else if is_seen && rank > 2 && indexed > 1 {
                // The launcher reads `v.shape[2]`, and `q` has four dimensions: so has `v`.
                self.find_known_rank(input).filter(|known| *known > rank)
            } else {
                None
            };
            let change = wanted.and_then(|wanted| self.set_rank(input, wanted));
            if change.is_some() {
                return self.restart(change, "");
            }
        }
        Ok(())
    }

    /// Sets sizes of inputs that the launcher does not read to the sizes that the kernel indexes.
    pub fn fit(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        // If the launch passes a size, the kernel must keep to it. Callers choose other sizes so that they fit.
        let passed = bindings
            .values
            .iter()
            .filter(|(_, value)| matches!(value, Value::Int(_) | Value::Tuple(..)));
        let passed = passed.fold(0, |all, (_, value)| all | value.sizes());
        self.adopt_shapes(passed, usage, bindings)?;
        let passed = bindings.grid.iter().fold(passed, |all, one| all | one.sizes);
        self.fit_views(passed, usage, bindings)?;
        for tensor_use in &usage.tensors {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                continue;
            };
            let Some(input) = tensor.input else { continue };
            let Some(Kind::Tensor(one)) = self.plan.kind(input).cloned() else {
                continue;
            };
            let rank = one.dims.len();
            for dim in 0..rank {
                let is_passed = one
                    .dims
                    .get(dim)
                    .is_some_and(|size| passed & super::value::bit(*size) != 0);
                let is_read = self.observed.contains(&(input, dim));
                if is_read && is_passed {
                    continue;
                }
                let wanted = wanted_size(tensor, dim, rank, tensor_use, usage, bindings);
                if wanted.is_none() && !is_read || is_read && !is_passed && wanted.is_none() {
                    let is_float = !tensor_use.indexes && !tensor_use.is_whole && tensor.dtype.is_float();
                    // A vector gets more elements than a launch needs, so that no size has to fit.
                    if rank == 1 && !is_read && is_float {
                        self.roomy.insert(tensor.storage);
                    } else {
                        self.assumed.insert(input);
                    }
                }
                let same = self.find_same_dim(input, rank, dim);
                let last = one.dims.last().copied();
                let wanted = match wanted {
                    // The number of programs says less about a size than the same dimension of a tensor like this one.
                    Some(WantedSize::Value(value)) if rank > 2 && !is_read => {
                        let alike = last.and_then(|last| self.find_alike_dim(input, last, rank, dim));
                        Some(alike.map_or(WantedSize::Value(value), WantedSize::Same))
                    }
                    wanted => wanted,
                };
                let wanted = match wanted {
                    Some(wanted) if tensor_use.certain || rank > 1 => wanted,
                    _ if is_read => continue,
                    _ if rank == 1 => WantedSize::Value(ROOM),
                    _ => match same {
                        Some(size) => WantedSize::Same(size),
                        None => continue,
                    },
                };
                let Some(size) = one.dims.get(dim).copied() else {
                    continue;
                };
                if let WantedSize::Value(value) = wanted {
                    let now =
                        tensor.numel().value / tensor.shape.get(dim).map_or(1, |size| size.value.max(1));
                    if now.saturating_mul(value) > MAX_FITTED {
                        continue;
                    }
                }
                let change = match wanted {
                    WantedSize::Same(other) => self.plan.unify(other, size),
                    WantedSize::Value(value) if value != self.plan.size(size) => {
                        // A size of its own, unless others have it too.
                        self.plan.fit_size(size, value)
                    }
                    WantedSize::Value(_) => None,
                };
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
    }
}

impl<'a> Machine<'a> {
    /// Sets sizes of views of inputs, such as `weight.t()`, to the sizes that the kernel indexes.
    fn fit_views(&mut self, passed: u64, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in &usage.tensors {
            let Some((tensor, input)) = self.find_input(tensor_use, bindings) else {
                continue;
            };
            if tensor.input.is_some() {
                continue;
            }
            let rank = tensor.shape.len();
            for (dim, own) in tensor.shape.iter().enumerate() {
                let Source::Size(size) = own.source else { continue };
                if passed & super::value::bit(size) != 0 && self.is_read(size) {
                    continue;
                }
                let change = match wanted_size(tensor, dim, rank, tensor_use, usage, bindings) {
                    Some(WantedSize::Same(other)) => self.plan.unify(other, size),
                    Some(WantedSize::Value(value)) if value <= MAX_FITTED => self.plan.set_size(size, value),
                    _ => {
                        self.assumed.insert(input);
                        None
                    }
                };
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
    }

    /// Whether the launcher reads a size.
    fn is_read(&self, size: usize) -> bool {
        self.observed.iter().any(|(input, dim)| {
            let tensor = self.plan.tensor(*input);
            tensor.is_some_and(|tensor| tensor.dims.get(*dim) == Some(&size))
        })
    }
}

/// The number of dimensions with an index of their own. `program * (T + OFFSET) * D` is one dimension with two strides.
fn count_indices(dimensions: &[Dimension]) -> usize {
    let is_repeated = |(nth, dimension): &(usize, &Dimension)| {
        let mut earlier = dimensions.iter().take(*nth);
        matches!(dimension.bound, Bound::Programs(_)) && earlier.any(|other| other.bound == dimension.bound)
    };
    let repeated = dimensions.iter().enumerate().filter(is_repeated).count();
    dimensions.len() - repeated
}

#[derive(Clone, Copy)]
enum WantedSize {
    Same(usize),
    Value(i64),
}

/// The number of elements of a tensor that a kernel indexes, if its text shows that.
fn needed_elements(
    tensor: &Tensor,
    rank: usize,
    tensor_use: &TensorUse,
    usage: &Usage,
    bindings: &Bindings<'_>,
) -> Option<i64> {
    (0..rank)
        .try_fold(1_i64, |all, dim| {
            let dimension = tensor_use.dimensions.get(dim)?;
            all.checked_mul(bound_number(dimension, usage, bindings)?.value)
        })
        .filter(|_| !tensor.shape.is_empty())
}

/// The size of a dimension that the kernel indexes, if its text shows that.
fn wanted_size(
    tensor: &Tensor,
    dim: usize,
    rank: usize,
    tensor_use: &TensorUse,
    usage: &Usage,
    bindings: &Bindings<'_>,
) -> Option<WantedSize> {
    let by_stride = tensor_use
        .dimensions
        .iter()
        .find(|dimension| match &dimension.stride {
            Stride::Param(name) => matches!(
                bindings.get(name),
                Some(Value::Int(Number { source: Source::Stride { storage, dim: of }, .. }))
                    if *storage == tensor.storage && *of == dim
            ),
            _ => false,
        });
    let dimension = by_stride.or_else(|| {
        let same = tensor_use.dimensions.len() == rank;
        same.then(|| tensor_use.dimensions.get(dim)).flatten()
    })?;
    let number = bound_number(dimension, usage, bindings)?;
    if let Source::Size(size) = number.source {
        return Some(WantedSize::Same(size));
    }
    let value = number.value;
    let step = match (&dimension.stride, rank) {
        (Stride::Number(step), 1) => (*step).max(1),
        _ => 1,
    };
    Some(WantedSize::Value(value.checked_mul(step)?.max(1)))
}

/// The number of elements of a dimension that the kernel indexes.
fn bound_number(dimension: &Dimension, usage: &Usage, bindings: &Bindings<'_>) -> Option<Number> {
    let lanes = |extent: &Extent| match extent {
        Extent::Number(number) => Some(Number::plain(*number)),
        Extent::Param(name) => bindings.get(name)?.number(),
        Extent::Text(_) => None,
    };
    let programs = |axis: u8| bindings.grid.get(usize::from(axis)).map_or(1, |one| one.value);
    Some(match &dimension.bound {
        Bound::Size(name) => bindings.get(name)?.number()?,
        Bound::Programs(axis) => *bindings.grid.get(usize::from(*axis))?,
        Bound::Lanes(extent) => lanes(extent)?,
        Bound::Blocks(axis, extent) => Number::plain(programs(*axis).checked_mul(lanes(extent)?.value)?),
        Bound::Quotient(axis) => {
            let of = usage.axes.get(usize::from(*axis))?;
            let taken = of
                .sizes
                .iter()
                .try_fold(1_i64, |all, size| all.checked_mul(bindings.integer(size)?))?;
            // Sizes that do not divide each other belong to different tensors.
            let programs = programs(*axis);
            if programs.checked_rem(taken)? != 0 {
                return None;
            }
            Number::plain(programs.checked_div(taken)?)
        }
        Bound::Unknown => return None,
    })
}
