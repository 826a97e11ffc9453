//! Inputs of a launcher: which of its parameters are tensors, their shapes and layouts, and the values of the others. Sizes that
//! must be equal are one size.

use std::collections::BTreeMap;

use super::device::MULTIPROCESSORS;
use super::name_hint::names_integers;
use super::value::{Dtype, Value};

/// Maximum number of inputs, including the parts of lists and objects.
const MAX_INPUTS: usize = 200;

/// Maximum number of dimensions of an input.
const MAX_RANK: usize = 8;

/// Elements between the rows of a padded tensor.
pub(super) const PADDING: i64 = 5;

/// How an input lies in its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row-major.
    Dense,
    /// Rows have a few more elements than the input shows.
    Padded,
    /// Column-major.
    Transposed,
}

/// A tensor that a caller passes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TensorInput {
    /// The sizes of its dimensions, as indices into [`Plan::sizes`].
    pub dims: Vec<usize>,
    /// Its dtype, if the launcher or the kernel requires one. Others are the plan's float.
    pub dtype: Option<Dtype>,
    pub layout: Layout,
    /// Whether the launcher shows how many dimensions it has.
    pub has_rank: bool,
}

/// A value that is not a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Dtype(Dtype),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Undecided,
    Tensor(TensorInput),
    Scalar(Scalar),
    /// The inputs that a list or tuple has.
    Items(Vec<usize>),
    /// The inputs that are attributes of an object.
    Object(BTreeMap<String, usize>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Input {
    pub name: String,
    pub kind: Kind,
    /// Whether the value is its parameter's default.
    pub is_default: bool,
    /// Whether its kind may not change: a variant is about it.
    pub is_pinned: bool,
    /// Whether a layer computes it, whose result's shape nothing shows.
    pub is_result: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub value: i64,
    /// Whether a condition of the launcher, or the kernel, decided it.
    pub is_fixed: bool,
    /// Whether it may not change: a variant is about it.
    pub is_pinned: bool,
    /// Whether the kernel's accesses decided it, because nothing else does.
    pub is_fitted: bool,
    /// The number that divides it, if that is all that conditions ask for; otherwise 1.
    pub divisor: i64,
}

/// The inputs of a launcher's call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub inputs: Vec<Input>,
    pub sizes: Vec<Size>,
    /// The dtype of tensors that no condition decides.
    pub float: &'static str,
    /// Whether a variant is about the dtype: no condition may decide it.
    pub is_float_pinned: bool,
    /// Which of the kernel's configurations is launched.
    pub config: usize,
    /// Where a default is, in the text, that is turned: `recompute=False` of a function that the root calls.
    pub turned: Option<usize>,
    /// Multiprocessors of the GPU.
    pub multiprocessors: i64,
    /// Whether inputs of indices have values with which the kernel compares them, and which are none.
    pub has_sentinels: bool,
}

/// Sizes by their distance from the last dimension. Each distance has several, so that sizes are equal only if they
/// must be.
const SIZES: [&[i64]; 4] = [
    &[49, 37, 57, 41, 61, 45],
    &[33, 29, 35, 39, 43],
    &[3, 5, 6, 7],
    &[2, 3, 5],
];

impl Plan {
    pub fn new() -> Self {
        Self {
            inputs: Vec::new(),
            sizes: Vec::new(),
            float: "f32",
            is_float_pinned: false,
            config: 0,
            turned: None,
            multiprocessors: MULTIPROCESSORS,
            has_sentinels: false,
        }
    }

    /// Adds an input; `None` if there are too many.
    pub fn add(&mut self, name: &str, kind: Kind) -> Option<usize> {
        if self.inputs.len() >= MAX_INPUTS {
            return None;
        }
        self.inputs.push(Input {
            name: name.to_owned(),
            kind,
            is_default: false,
            is_pinned: false,
            is_result: false,
        });
        Some(self.inputs.len() - 1)
    }

    pub fn kind(&self, input: usize) -> Option<&Kind> {
        self.inputs.get(input).map(|input| &input.kind)
    }

    pub fn tensor(&self, input: usize) -> Option<&TensorInput> {
        match self.kind(input)? {
            Kind::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    fn tensor_mut(&mut self, input: usize) -> Option<&mut TensorInput> {
        match &mut self.inputs.get_mut(input)?.kind {
            Kind::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    pub fn size(&self, size: usize) -> i64 {
        self.sizes.get(size).map_or(1, |size| size.value)
    }

    /// The sizes in a set of bits, as [`Number::sizes`] has it.
    ///
    /// [`Number::sizes`]: super::value::Number::sizes
    pub fn list_sizes(&self, bits: u64) -> impl DoubleEndedIterator<Item = usize> + use<> {
        (0..self.sizes.len().min(62)).filter(move |size| bits & (1 << size) != 0)
    }

    /// Adds a size for a dimension so far from the last one, of a tensor of this rank.
    fn add_size(&mut self, from_last: usize, rank: usize) -> usize {
        // Each of four dimensions is one axis of a grid or a loop: many programs take long, and show no more than some.
        let row = if from_last == 1 && rank > 3 { 2 } else { from_last };
        let candidates = SIZES.get(row).or(SIZES.last()).copied().unwrap_or_default();
        let is_used = |value: &&i64| self.sizes.iter().any(|size| size.value == **value);
        let free = candidates.iter().find(|value| !is_used(value));
        let value = free.or(candidates.last()).copied().unwrap_or(5);
        self.sizes.push(Size {
            value,
            is_fixed: false,
            is_pinned: false,
            is_fitted: false,
            divisor: 1,
        });
        self.sizes.len() - 1
    }

    /// Makes an input a tensor.
    pub fn make_tensor(&mut self, input: usize) -> Option<()> {
        if self.tensor(input).is_some() {
            return Some(());
        }
        let size = self.add_size(0, 1);
        let is_whole = self.has_whole_name(input);
        let one = self.inputs.get_mut(input)?;
        one.kind = Kind::Tensor(TensorInput {
            dims: vec![size],
            dtype: is_whole.then(|| Dtype::torch("i64")),
            layout: Layout::Dense,
            has_rank: false,
        });
        let siblings = self.list_siblings(input).into_iter();
        let rank = siblings
            .filter_map(|one| Some(self.tensor(one)?.dims.len()))
            .max()?;
        // `None` if it has as many already.
        let _ = self.raise_rank(input, rank);
        Some(())
    }

    /// Sets how many dimensions an input has; `None` if it has as many already.
    pub fn set_rank(&mut self, input: usize, rank: usize) -> Option<()> {
        self.raise_rank(input, rank)?;
        self.tensor_mut(input)?.has_rank = true;
        Some(())
    }

    /// Keeps the number of dimensions that an input has.
    pub fn confirm_rank(&mut self, input: usize) {
        if let Some(tensor) = self.tensor_mut(input) {
            tensor.has_rank = true;
        }
    }

    /// Gives an input these sizes after its first dimensions; `None` if it has too many then.
    pub fn replace_dims(&mut self, input: usize, kept: usize, sizes: &[usize]) -> Option<()> {
        let tensor = self.tensor_mut(input)?;
        if kept + sizes.len() > MAX_RANK || kept > tensor.dims.len() || tensor.layout != Layout::Dense {
            return None;
        }
        tensor.dims.truncate(kept);
        tensor.dims.extend(sizes);
        tensor.has_rank = true;
        Some(())
    }

    /// Sets how many dimensions an input has at least.
    pub fn raise_rank(&mut self, input: usize, rank: usize) -> Option<()> {
        let tensor = self.tensor(input)?;
        if rank > MAX_RANK || tensor.dims.len() == rank || tensor.layout != Layout::Dense {
            return None;
        }
        // The last dimensions stay as they are.
        let kept: Vec<usize> = tensor.dims.iter().rev().take(rank).rev().copied().collect();
        let mut dims = Vec::new();
        for at in 0..rank - kept.len() {
            dims.push(self.add_size(rank - 1 - at, rank));
        }
        dims.extend(kept);
        if rank > 3
            && let Some(size) = dims.len().checked_sub(2).and_then(|at| dims.get(at))
        {
            self.reduce_size(*size);
        }
        let tensor = self.tensor_mut(input)?;
        tensor.dims = dims;
        Some(())
    }

    /// The items of the list that an input is an item of, or the input alone.
    pub fn list_siblings(&self, input: usize) -> Vec<usize> {
        let mut lists = self.inputs.iter().filter_map(|one| match &one.kind {
            Kind::Items(items) if items.contains(&input) => Some(items.clone()),
            _ => None,
        });
        lists.next().unwrap_or_else(|| vec![input])
    }

    /// Whether more than one dimension has a size.
    pub fn is_shared(&self, size: usize) -> bool {
        let tensors = (0..self.inputs.len()).filter_map(|input| self.tensor(input));
        let dims = tensors.flat_map(|tensor| &tensor.dims);
        dims.filter(|dim| **dim == size).count() > 1
    }

    /// Makes the last dimension of an input its first.
    pub fn rotate_dims(&mut self, input: usize) {
        if let Some(tensor) = self.tensor_mut(input) {
            tensor.dims.rotate_right(1);
        }
    }

    /// Makes a size that nothing decides one of a dimension of many: its tensor had fewer dimensions before.
    fn reduce_size(&mut self, size: usize) {
        let [_, rows, many, ..] = SIZES;
        let is_used = |value: &&i64| self.sizes.iter().any(|size| size.value == **value);
        let free = many.iter().find(|value| !is_used(value)).or(many.last()).copied();
        if let (Some(one), Some(free)) = (self.sizes.get_mut(size), free)
            && rows.contains(&one.value)
            && !one.is_fixed
            && !one.is_pinned
        {
            one.value = free;
        }
    }

    /// Whether the name of an input is that of a tensor of integers. The target of another input is like it: `target_x`.
    pub fn has_whole_name(&self, input: usize) -> bool {
        let Some(name) = self.inputs.get(input).map(|one| one.name.to_lowercase()) else {
            return false;
        };
        let aims_at = |other: &Input| name.strip_prefix("target_") == Some(&other.name.to_lowercase());
        names_integers(&name) && !self.inputs.iter().any(aims_at)
    }

    /// The input with one dimension that may have more, if it is the only one.
    pub fn find_rankless(&self) -> Option<usize> {
        let inputs = self.inputs.iter().enumerate();
        let mut found = inputs.filter_map(|(nth, input)| match &input.kind {
            Kind::Tensor(tensor) if !tensor.has_rank && tensor.dims.len() == 1 => Some(nth),
            _ => None,
        });
        let first = found.next();
        first.filter(|_| found.next().is_none())
    }

    /// Makes two sizes equal; `None` if they are pinned to different values, or are equal already.
    pub fn unify(&mut self, a: usize, b: usize) -> Option<()> {
        let (one, other) = (*self.sizes.get(a)?, *self.sizes.get(b)?);
        if a == b {
            return None;
        }
        let is_strong = |size: Size| size.is_pinned || size.is_fixed;
        let (keep, drop) = if is_strong(other) && !is_strong(one) {
            (b, a)
        } else {
            (a, b)
        };
        let (kept, dropped) = if keep == a { (one, other) } else { (other, one) };
        if kept.is_pinned && dropped.is_pinned && kept.value != dropped.value {
            return None;
        }
        if dropped.is_pinned && !kept.is_pinned {
            self.unify_into(drop, keep);
        } else {
            self.unify_into(keep, drop);
        }
        Some(())
    }

    fn unify_into(&mut self, keep: usize, drop: usize) {
        for input in &mut self.inputs {
            if let Kind::Tensor(tensor) = &mut input.kind {
                for dim in &mut tensor.dims {
                    if *dim == drop {
                        *dim = keep;
                    }
                }
            }
        }
    }

    /// Sets a size that a condition decides; `None` if it is pinned, or already has that value.
    pub fn set_size(&mut self, size: usize, value: i64) -> Option<()> {
        let one = self.sizes.get_mut(size)?;
        if one.is_pinned || one.value == value || !(0..=1 << 20).contains(&value) {
            return None;
        }
        one.value = value;
        one.is_fixed = true;
        one.divisor = 1;
        Some(())
    }

    /// Sets a size. A condition decides only that a number divides it.
    pub fn set_multiple(&mut self, size: usize, value: i64, divisor: i64) -> Option<()> {
        let known = self.sizes.get(size)?.divisor;
        self.set_size(size, value)?;
        let one = self.sizes.get_mut(size)?;
        one.divisor = if divisor % known == 0 { divisor } else { 1 };
        Some(())
    }

    /// The least multiple of a size's divisor from this number.
    pub fn round_up(&self, size: usize, value: i64) -> i64 {
        let divisor = self.sizes.get(size).map_or(1, |size| size.divisor).max(1);
        let rest = value.checked_rem(divisor).unwrap_or(0);
        if rest == 0 {
            value
        } else {
            value.saturating_add(divisor - rest)
        }
    }

    /// Makes strides of two inputs equal, from a dimension of each on: their later sizes, and their layouts. `None` if these are equal.
    pub fn match_strides(
        &mut self,
        (one, first): (usize, usize),
        (other, second): (usize, usize),
    ) -> Option<()> {
        let (a, b) = (self.tensor(one)?.layout, self.tensor(other)?.layout);
        let layout = if a == Layout::Dense { b } else { a };
        if one == other || b != Layout::Dense && b != layout {
            return None;
        }
        // The strides of columns depend on the first sizes.
        let skipped = if layout == Layout::Transposed {
            (0, 0)
        } else {
            (first + 1, second + 1)
        };
        let count_dims = |plan: &Self, input| Some(plan.tensor(input)?.dims.len());
        let wanted = (count_dims(self, one)? + skipped.1).checked_sub(skipped.0)?;
        let mut changed = (a != b).then_some(());
        if count_dims(self, other)? != wanted {
            // The lower rank is more often the one that nothing has shown yet.
            let change = if count_dims(self, other)? < wanted {
                self.set_rank(other, wanted)
            } else {
                self.set_rank(
                    one,
                    (count_dims(self, other)? + skipped.0).checked_sub(skipped.1)?,
                )
            };
            changed = Some(change?);
        }
        let count = count_dims(self, one)?.checked_sub(skipped.0)?;
        for dim in 0..count {
            let own = self.tensor(one)?.dims.get(skipped.0 + dim).copied()?;
            let others = self.tensor(other)?.dims.get(skipped.1 + dim).copied()?;
            changed = self.unify(own, others).or(changed);
        }
        self.tensor_mut(one)?.layout = layout;
        self.tensor_mut(other)?.layout = layout;
        changed
    }

    /// Sets a size to what the kernel accesses.
    pub fn fit_size(&mut self, size: usize, value: i64) -> Option<()> {
        self.set_size(size, value)?;
        self.sizes.get_mut(size)?.is_fitted = true;
        Some(())
    }

    /// Sets a size that no condition has decided yet.
    pub fn set_free_size(&mut self, size: usize, value: i64) -> Option<()> {
        let is_free = self.sizes.get(size).is_some_and(|one| !one.is_fixed);
        if is_free { self.set_size(size, value) } else { None }
    }

    pub fn set_dtype(&mut self, input: usize, dtype: &Dtype) -> Option<()> {
        if self.is_float_pinned && dtype.is_float() {
            return None;
        }
        let tensor = self.tensor_mut(input)?;
        if tensor.dtype.as_ref() == Some(dtype) {
            return None;
        }
        tensor.dtype = Some(Dtype::torch(dtype.name));
        Some(())
    }

    /// Sets the dtype of tensors that no condition decides.
    pub fn set_float(&mut self, name: &'static str) -> Option<()> {
        let is_float = Dtype::torch(name).is_float();
        if self.is_float_pinned || self.float == name || !is_float {
            return None;
        }
        self.float = name;
        Some(())
    }

    pub fn set_scalar(&mut self, input: usize, scalar: Scalar) -> Option<()> {
        let one = self.inputs.get_mut(input)?;
        let kind = Kind::Scalar(scalar);
        if one.is_pinned || one.kind == kind {
            return None;
        }
        one.kind = kind;
        one.is_default = false;
        Some(())
    }

    /// Lets an input that is `None` be something else.
    pub fn set_given(&mut self, input: usize) -> Option<()> {
        let one = self.inputs.get_mut(input)?;
        if one.is_pinned || !matches!(one.kind, Kind::Scalar(_)) {
            return None;
        }
        one.kind = Kind::Undecided;
        one.is_default = false;
        Some(())
    }

    /// Gives an input the shape of another one; `None` if it already has that shape.
    pub fn adopt(&mut self, input: usize, other: usize) -> Option<()> {
        let (dims, has_rank) = self
            .tensor(other)
            .map(|other| (other.dims.clone(), other.has_rank))?;
        let own = self.tensor_mut(input)?;
        if own.dims == dims || own.layout != Layout::Dense {
            return None;
        }
        own.dims = dims;
        own.has_rank = has_rank;
        Some(())
    }

    /// Gives an input the dtype of another one; `None` if one of them is not a tensor.
    pub fn adopt_dtype(&mut self, input: usize, other: usize) -> Option<()> {
        let dtype = self.tensor(other)?.dtype.clone();
        self.tensor_mut(input)?.dtype = dtype;
        Some(())
    }

    /// Sets the dimensions before the last one.
    pub fn set_leading(&mut self, input: usize, leading: &[usize]) -> Option<()> {
        let own = self.tensor_mut(input)?;
        let last = *own.dims.last()?;
        if own.layout != Layout::Dense {
            return None;
        }
        own.dims = leading.iter().copied().chain([last]).collect();
        own.has_rank = true;
        Some(())
    }

    /// The dtype of an input.
    pub fn dtype(&self, tensor: &TensorInput) -> Dtype {
        tensor.dtype.clone().unwrap_or(Dtype::torch(self.float))
    }

    /// The dimensions of all inputs.
    pub fn count_dims(&self) -> usize {
        let tensors = self.inputs.iter().map(|input| match &input.kind {
            Kind::Tensor(tensor) => tensor.dims.len(),
            _ => 0,
        });
        tensors.sum()
    }

    /// The sizes that inputs have, in the order of the inputs.
    pub fn used_sizes(&self) -> Vec<usize> {
        let mut used = Vec::new();
        for input in &self.inputs {
            if let Kind::Tensor(tensor) = &input.kind {
                for dim in &tensor.dims {
                    if !used.contains(dim) {
                        used.push(*dim);
                    }
                }
            }
        }
        used
    }

    /// Whether exactly one input is a tensor, and no other may be one.
    pub fn has_one_tensor(&self) -> bool {
        let mut tensors = 0;
        for input in &self.inputs {
            match input.kind {
                Kind::Undecided => return false,
                Kind::Tensor(_) => tensors += 1,
                Kind::Scalar(_) | Kind::Items(_) | Kind::Object(_) => {}
            }
        }
        tensors == 1
    }

    /// Whether another size that inputs have is as large as this one. Items of a list are alike, as callers pass them.
    pub fn is_repeated(&self, size: usize) -> bool {
        let sizes_of = |input: &usize| self.tensor(*input).map_or(&[][..], |tensor| &tensor.dims);
        let lists = self.inputs.iter().filter_map(|input| match &input.kind {
            Kind::Items(items) => Some(items.iter().flat_map(sizes_of).collect::<Vec<_>>()),
            _ => None,
        });
        let alike: Vec<&usize> = lists.filter(|sizes| sizes.contains(&&size)).flatten().collect();
        let mut others = self.used_sizes().into_iter();
        others.any(|other| other != size && !alike.contains(&&other) && self.size(other) == self.size(size))
    }

    /// The sizes of the last dimensions of inputs.
    pub fn list_last_sizes(&self) -> Vec<usize> {
        let lasts = self.inputs.iter().filter_map(|input| match &input.kind {
            Kind::Tensor(tensor) => tensor.dims.last().copied(),
            _ => None,
        });
        lasts.collect()
    }

    /// Whether the tensors of both plans have as many dimensions.
    pub fn has_same_ranks(&self, other: &Self) -> bool {
        let all = 0..self.inputs.len().min(other.inputs.len());
        all.into_iter()
            .all(|input| match (self.tensor(input), other.tensor(input)) {
                (Some(one), Some(other)) => one.dims.len() == other.dims.len(),
                _ => true,
            })
    }

    /// Elements of all inputs.
    pub fn elements(&self) -> i64 {
        let tensors = self.inputs.iter().filter_map(|input| match &input.kind {
            Kind::Tensor(tensor) => Some(tensor),
            _ => None,
        });
        tensors.fold(0, |all: i64, tensor| {
            let dims = tensor.dims.iter();
            all.saturating_add(dims.fold(1, |all: i64, dim| all.saturating_mul(self.size(*dim))))
        })
    }
}

/// A value as one that a parameter may have.
pub(super) fn to_scalar(value: &Value<'_>) -> Option<Scalar> {
    Some(match value {
        Value::None(_) => Scalar::None,
        Value::Bool(value, _) => Scalar::Bool(*value),
        Value::Int(number) => Scalar::Int(number.value),
        Value::Float(float) => Scalar::Float(*float),
        Value::Str(text, _) => Scalar::Str(text.to_string()),
        Value::Dtype(dtype, _) => Scalar::Dtype(dtype.clone()),
        _ => return None,
    })
}
