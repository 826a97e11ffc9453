//! An evaluation of a launcher: its state, and what stops it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use ruff_python_ast::Expr;

use super::arguments::Arguments;
use super::launched::{Launched, Stage};
use super::module::HostModule;
use super::plan::{Kind, Layout, PADDING, Plan, Scalar};
use super::tensor::{Fill, Storage, Tensor, dense, product};
use super::value::{Dtype, Frame, From, GUESSED, Number, Scope, Source, Value};

/// Maximum number of expressions and statements of one evaluation.
const MAX_STEPS: usize = 20_000;

/// Maximum depth of nested calls.
const MAX_DEPTH: usize = 24;

/// Maximum number of storages of one evaluation.
const MAX_STORAGES: usize = 400;

/// Maximum number of elements of a storage.
pub(super) const MAX_ELEMENTS: i64 = 1 << 22;

/// Maximum number of texts that an input is varied over.
const MAX_TEXTS: usize = 8;

/// Maximum number of integers that an input is varied over.
const MAX_NUMBERS: usize = 3;

/// A condition of the launcher: an expression that should be true, or false.
#[derive(Clone)]
pub(super) struct Condition<'a> {
    pub test: &'a Expr,
    pub wanted: bool,
    pub scope: Scope<'a>,
}

/// Ends an evaluation before its end.
#[derive(Clone)]
pub(super) enum Halt<'a> {
    /// The plan has changed: a new evaluation is needed.
    Restart,
    /// The launcher refuses the inputs, with the condition that would let them pass.
    Raised(Option<Condition<'a>>, String),
    /// A limit, or something that is not evaluated.
    Stopped(String),
}

pub(super) type Eval<'a, T = Value<'a>> = Result<T, Halt<'a>>;

/// How a size is cut into blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cut {
    /// The largest block.
    pub block: i64,
    /// Whether the size itself is cut, and not only a number that depends on others, too.
    pub is_alone: bool,
    /// Whether a number that is cut fits in one block.
    pub is_short: bool,
    /// The divisor of the size, if the quotient is cut; otherwise 1.
    pub factor: i64,
}

impl Cut {
    /// Whether it shows blocks of a size with this divisor. A launcher that halves a size, and requires that it is even, cuts it into no
    /// blocks of 2.
    pub const fn is_of_blocks(&self, divisor: i64) -> bool {
        divisor == 1 || self.factor > 1 || self.block > divisor
    }

    /// Adds what another number shows about the same size.
    fn join(&mut self, other: Self) {
        if other.block > self.block {
            (self.block, self.factor) = (other.block, other.factor);
        }
        self.is_alone |= other.is_alone;
        self.is_short |= other.is_short;
    }
}

pub(super) struct Machine<'a> {
    pub module: &'a HostModule<'a>,
    pub plan: Plan,
    pub storages: Vec<Storage>,
    pub launches: Vec<Launched>,
    /// The launches so far, of every kernel.
    pub stages: Vec<Stage>,
    /// Whether these launches are all, and nothing else has changed what they store: case files can repeat them.
    pub is_repeatable: bool,
    /// Conditions that the running statement is under.
    pub conditions: Vec<Condition<'a>>,
    /// Conditions that kept the evaluation from launches.
    pub missed: Vec<Condition<'a>>,
    /// Orders of two sizes that a branch asks for, and that the inputs turn around: `if 2 * rotated < head`, with more rotated.
    pub turned_orders: Vec<Condition<'a>>,
    /// How many unknown conditions and loops the running statement is under.
    pub doubts: usize,
    /// Dimensions of inputs whose sizes the launcher reads.
    pub observed: BTreeSet<(usize, usize)>,
    /// Inputs whose number of dimensions the launcher reads.
    pub ranked: BTreeSet<usize>,
    /// The sizes that integers of launches depend on: a set of bits.
    pub passed: u64,
    /// Inputs that nothing decides.
    pub assumed: BTreeSet<usize>,
    /// Storages of inputs whose number of elements nothing decides. They have more than a launch needs.
    pub roomy: BTreeSet<usize>,
    /// Storages whose elements torch ordered or searched: nothing knows their values.
    pub ordered: BTreeSet<usize>,
    /// The elements of small tensors that a launcher makes from numbers, by storage.
    pub known_elements: BTreeMap<usize, Vec<Number>>,
    /// The values that running generators have yielded, the innermost generator last.
    pub yielded: Vec<Vec<Value<'a>>>,
    /// Configurations that launchers tune kernels with, by the kernels' addresses.
    pub tuned: HashMap<usize, Vec<(String, Value<'a>)>>,
    /// The input whose shape the last tuple has among its elements (`*x.shape, n`), and the tuple's length.
    pub spread: Option<(usize, usize)>,
    /// Whether sizes were divided that callers would not pass together.
    pub is_uneven: bool,
    /// Sizes that are cut into blocks.
    pub blocks: BTreeMap<usize, Cut>,
    /// Sizes that loops of the kernel cut into blocks.
    pub looped_blocks: BTreeMap<usize, Cut>,
    /// The first input with indices that the kernel compares with values that are none.
    pub ignored: Option<usize>,
    /// Sizes of filters: a number that is cut is smaller with them.
    pub filters: BTreeSet<usize>,
    /// Numbers that a size is cut off at: `min(2048, n)`.
    pub limits: BTreeMap<usize, i64>,
    /// Whether the inputs are those that the file states.
    pub is_stated: bool,
    /// Flags of functions that lead to a launch, if their callers leave them to the default: where that is in the text, the flag's name
    /// and its default.
    pub flags: BTreeMap<usize, (String, bool)>,
    /// Texts that inputs are compared with, or that are keys of a dict beside them.
    pub texts: BTreeMap<usize, BTreeSet<String>>,
    /// Constants that inputs are tested for equality with.
    pub numbers: BTreeMap<usize, BTreeSet<i64>>,
    /// The arguments of each kernel's last `warmup`, by the address of its definition. A launch of the compiled kernel need not
    /// repeat the constants.
    pub warmed: HashMap<usize, Arguments<'a>>,
    /// Reasons why a launch could not be evaluated, with its line.
    pub unknown: Vec<(u32, String)>,
    pub functions: Vec<String>,
    /// The classes whose `apply` or `backward` is running.
    pub class_names: Vec<String>,
    pub globals: HashMap<&'a str, Value<'a>>,
    inputs: HashMap<usize, Tensor>,
    frames: Vec<Scope<'a>>,
    steps: usize,
}

impl<'a> Machine<'a> {
    pub fn new(module: &'a HostModule<'a>, plan: Plan) -> Self {
        Self {
            module,
            plan,
            storages: Vec::new(),
            launches: Vec::new(),
            stages: Vec::new(),
            is_repeatable: true,
            conditions: Vec::new(),
            missed: Vec::new(),
            turned_orders: Vec::new(),
            doubts: 0,
            observed: BTreeSet::new(),
            ranked: BTreeSet::new(),
            passed: 0,
            assumed: BTreeSet::new(),
            roomy: BTreeSet::new(),
            ordered: BTreeSet::new(),
            known_elements: BTreeMap::new(),
            yielded: Vec::new(),
            tuned: HashMap::new(),
            spread: None,
            is_uneven: false,
            blocks: BTreeMap::new(),
            looped_blocks: BTreeMap::new(),
            ignored: None,
            filters: BTreeSet::new(),
            limits: BTreeMap::new(),
            is_stated: false,
            flags: BTreeMap::new(),
            texts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            warmed: HashMap::new(),
            unknown: Vec::new(),
            functions: Vec::new(),
            class_names: Vec::new(),
            globals: HashMap::new(),
            inputs: HashMap::new(),
            frames: Vec::new(),
            steps: 0,
        }
    }

    pub fn step(&mut self) -> Eval<'a, ()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Halt::Stopped("the launcher takes too many steps".to_owned()));
        }
        Ok(())
    }

    /// Makes the names of a call.
    pub fn enter(&mut self, function: &str, outer: Option<Scope<'a>>) -> Eval<'a, Scope<'a>> {
        if self.functions.len() >= MAX_DEPTH {
            return Err(Halt::Stopped("calls nest too deeply".to_owned()));
        }
        self.functions.push(function.to_owned());
        let frame = Rc::new(Frame {
            names: RefCell::new(HashMap::new()),
            outer,
        });
        self.frames.push(Rc::clone(&frame));
        Ok(frame)
    }

    pub fn leave(&mut self) {
        self.functions.pop();
    }

    pub fn raise<T>(&self, reason: impl Into<String>) -> Eval<'a, T> {
        let condition = self.conditions.last().map(|condition| Condition {
            wanted: !condition.wanted,
            ..condition.clone()
        });
        Err(Halt::Raised(condition, reason.into()))
    }

    /// Changes the plan, and starts again.
    #[expect(clippy::unused_self, reason = "a verb of the machine, as `raise` is")]
    pub fn restart<T>(&self, change: Option<()>, otherwise: &str) -> Eval<'a, T> {
        match change {
            Some(()) => Err(Halt::Restart),
            None => Err(Halt::Stopped(otherwise.to_owned())),
        }
    }

    /// Notes that a number is cut into blocks.
    pub fn note_block(&mut self, number: Number, block: i64) {
        for (size, cut) in self.list_cuts(number, block) {
            self.blocks.entry(size).or_default().join(cut);
        }
    }

    /// Notes that a loop of the kernel cuts a number into blocks.
    pub fn note_looped_block(&mut self, number: Number, block: i64) {
        for (size, cut) in self.list_cuts(number, block) {
            self.looped_blocks.entry(size).or_default().join(cut);
        }
    }

    /// How a number that is cut into blocks cuts the sizes that it depends on.
    fn list_cuts(&mut self, number: Number, block: i64) -> Vec<(usize, Cut)> {
        if !(2..=1 << 16).contains(&block) {
            return Vec::new();
        }
        let inputs = &self.plan.inputs;
        let find_input = |size: usize| {
            let has_size = |kind: &Kind| matches!(kind, Kind::Tensor(tensor) if tensor.dims.contains(&size));
            inputs.iter().position(|input| has_size(&input.kind))
        };
        let sizes = self.plan.list_sizes(number.sizes);
        let sizes: Vec<(usize, Option<usize>)> = sizes.map(|size| (size, find_input(size))).collect();
        // The output's size of a convolution depends on the filter's, too.
        let first = sizes.iter().map(|(_, input)| *input).min().flatten();
        let count = sizes.len();
        let (own, others): (Vec<_>, Vec<_>) = sizes.into_iter().partition(|(_, input)| *input == first);
        let whole = own
            .iter()
            .fold(1_i64, |all, (size, _)| all.saturating_mul(self.plan.size(*size)));
        if number.value < whole {
            self.filters.extend(others.into_iter().map(|(size, _)| size));
        }
        let cuts = own.into_iter().map(|(size, _)| {
            let value = self.plan.size(size);
            // A sum or a difference, and not a product.
            let is_like = number.value <= value.saturating_mul(2);
            let divisor = self.plan.sizes.get(size).map_or(1, |size| size.divisor);
            let is_quotient = number.value.saturating_mul(divisor) == value;
            let cut = Cut {
                block,
                is_alone: count == 1 || is_like,
                is_short: number.value <= block,
                factor: if is_quotient { divisor } else { 1 },
            };
            (size, cut)
        });
        cuts.collect()
    }

    /// Notes the number that a size is cut off at, if these are a number and a size.
    pub fn note_limit(&mut self, values: &[Value<'a>]) {
        let numbers: Option<Vec<Number>> = values.iter().map(Value::number).collect();
        let (constants, sizes): (Vec<Number>, Vec<Number>) = numbers
            .unwrap_or_default()
            .into_iter()
            .partition(Number::is_constant);
        let ([constant], [size]) = (constants.as_slice(), sizes.as_slice()) else {
            return;
        };
        let mut own = self.plan.list_sizes(size.sizes);
        if let (Some(own), None) = (own.next(), own.next()) {
            let limit = self.limits.entry(own).or_default();
            *limit = constant.value.max(*limit);
        }
    }

    /// Notes other texts that an input could be, as many as are passed.
    pub fn note_texts<'b>(&mut self, own: &Value<'a>, others: impl IntoIterator<Item = &'b Value<'a>>)
    where
        'a: 'b,
    {
        let Value::Str(_, Some(input)) = own else { return };
        let known = self.texts.entry(*input).or_default();
        let others = others.into_iter().filter_map(|other| match other {
            Value::Str(text, None) => Some(text.to_string()),
            _ => None,
        });
        let room = MAX_TEXTS.saturating_sub(known.len());
        known.extend(others.take(room));
    }

    /// Notes a constant that an integer input is tested for equality with.
    pub fn note_number(&mut self, own: &Value<'a>, other: &Value<'a>) {
        let (Value::Int(own), Value::Int(other)) = (own, other) else {
            return;
        };
        let (Source::Param(input), Source::Computed, 0) = (own.source, other.source, other.sizes) else {
            return;
        };
        let known = self.numbers.entry(input).or_default();
        if known.len() < MAX_NUMBERS {
            known.insert(other.value);
        }
    }

    /// A new storage with a contiguous tensor over it.
    pub fn allocate(&mut self, shape: Vec<Number>, dtype: &Dtype, fill: Fill) -> Value<'a> {
        let strides = dense(&shape.iter().map(|size| size.value).collect::<Vec<_>>());
        self.allocate_strided(shape, strides, dtype, fill)
    }

    pub fn allocate_strided(
        &mut self,
        shape: Vec<Number>,
        strides: Vec<i64>,
        dtype: &Dtype,
        fill: Fill,
    ) -> Value<'a> {
        let sizes: Vec<i64> = shape.iter().map(|size| size.value).collect();
        if sizes.iter().any(|size| *size < 0) {
            return Value::unknown("a tensor of a negative size");
        }
        let is_dense = strides == dense(&sizes);
        let declared = if is_dense {
            sizes.clone()
        } else {
            // The elements from the first to the last one.
            let mut dims = sizes.iter().zip(&strides);
            let span = dims.try_fold(1_i64, |all, (size, stride)| {
                all.checked_add((size - 1).max(0).checked_mul((*stride).max(0))?)
            });
            vec![span.unwrap_or(i64::MAX)]
        };
        if product(&declared).is_none_or(|elements| elements > MAX_ELEMENTS)
            || self.storages.len() >= MAX_STORAGES
        {
            return Value::unknown("a tensor of too many elements");
        }
        self.storages.push(Storage {
            name: String::new(),
            dtype: dtype.clone(),
            shape: declared,
            fill,
            input: None,
            is_returned: false,
            is_result: false,
        });
        Value::Tensor(Tensor {
            storage: self.storages.len() - 1,
            shape,
            strides,
            offset: 0,
            dtype: Dtype::torch(dtype.name),
            input: None,
            base: None,
        })
    }

    /// The value of an input, if it is decided.
    pub fn input(&mut self, input: usize) -> Value<'a> {
        match self.plan.kind(input) {
            Some(Kind::Tensor(_)) => self
                .input_tensor(input)
                .map_or(Value::Input(input), Value::Tensor),
            Some(Kind::Scalar(scalar)) => {
                let value = from_scalar(scalar, Some(input));
                let is_default = self.plan.inputs.get(input).is_some_and(|one| one.is_default);
                match value {
                    Value::Int(number) if !is_default => Value::Int(Number {
                        sizes: number.sizes | GUESSED,
                        ..number
                    }),
                    other => other,
                }
            }
            Some(Kind::Items(items)) => {
                let items = items.clone();
                Value::list(items.into_iter().map(|item| self.input(item)).collect())
            }
            Some(Kind::Undecided | Kind::Object(_)) => Value::Input(input),
            None => Value::unknown("an input of too many"),
        }
    }

    /// Decides that an input is a tensor, and makes it.
    pub fn input_tensor(&mut self, input: usize) -> Option<Tensor> {
        if let Some(tensor) = self.inputs.get(&input) {
            return Some(tensor.clone());
        }
        self.plan.make_tensor(input)?;
        let one = self.plan.tensor(input)?.clone();
        let name = self.plan.inputs.get(input)?.name.clone();
        let dtype = self.plan.dtype(&one);
        let shape: Vec<Number> = one
            .dims
            .iter()
            .map(|dim| Number::of_size(self.plan.size(*dim), *dim))
            .collect();
        let sizes: Vec<i64> = shape.iter().map(|size| size.value).collect();
        let mut declared = sizes.clone();
        let mut strides = dense(&sizes);
        match one.layout {
            Layout::Dense => {}
            Layout::Padded => {
                if let Some(last) = declared.last_mut() {
                    *last += PADDING;
                }
                strides = dense(&declared);
            }
            Layout::Transposed => {
                declared.reverse();
                strides = dense(&declared);
                strides.reverse();
            }
        }
        if product(&declared).is_none_or(|elements| elements > MAX_ELEMENTS)
            || self.storages.len() >= MAX_STORAGES
        {
            return None;
        }
        self.storages.push(Storage {
            name,
            dtype: dtype.clone(),
            shape: declared,
            fill: Fill::Given,
            input: Some(input),
            is_returned: false,
            is_result: false,
        });
        let tensor = Tensor {
            storage: self.storages.len() - 1,
            shape,
            strides,
            offset: 0,
            dtype,
            input: Some(input),
            base: Some(input),
        };
        self.inputs.insert(input, tensor.clone());
        Some(tensor)
    }

    /// Adds an input that is a part of another one.
    pub fn add_part(&mut self, of: usize, part: &str) -> Option<usize> {
        let name = self.plan.inputs.get(of)?.name.clone();
        let name = if name.starts_with("self of ") {
            part.to_owned()
        } else {
            format!("{name}_{part}")
        };
        self.plan.add(&name, Kind::Undecided)
    }

    /// Decides that an input is a list of so many tensors or other values.
    pub fn make_items(&mut self, input: usize, count: usize) -> Option<()> {
        if self.plan.kind(input) != Some(&Kind::Undecided) || count > 16 {
            return None;
        }
        let items: Option<Vec<usize>> = (0..count)
            .map(|at| self.add_part(input, &at.to_string()))
            .collect();
        self.plan.inputs.get_mut(input)?.kind = Kind::Items(items?);
        Some(())
    }

    /// Notes that a tensor's elements have changed, not by a launch.
    pub fn change(&mut self, storage: usize, fill: Fill) {
        let has_storage = |stage: &Stage| stage.written.storages.iter().any(|(_, at)| *at == storage);
        self.is_repeatable &= !self.stages.iter().any(has_storage);
        self.fill(storage, fill);
    }

    /// Sets the content of a storage, as far as it is known.
    pub fn fill(&mut self, storage: usize, fill: Fill) {
        self.known_elements.remove(&storage);
        if let Some(storage) = self.storages.get_mut(storage) {
            storage.fill = fill;
        }
    }

    /// Names the storage of a new tensor by its variable.
    pub fn name_storage(&mut self, name: &str, value: &Value<'a>) {
        if let Value::Tensor(tensor) = value
            && let Some(storage) = self.storages.get_mut(tensor.storage)
            && storage.name.is_empty()
        {
            name.clone_into(&mut storage.name);
        }
    }

    /// Marks the storages of a value that a function of the launcher returns.
    pub fn mark_result(&mut self, value: &Value<'a>) {
        let parts = value.elements().unwrap_or_default();
        for one in parts.iter().chain(std::iter::once(value)) {
            if let Value::Tensor(tensor) = one
                && let Some(storage) = self.storages.get_mut(tensor.storage)
            {
                storage.is_result = true;
            }
        }
    }

    /// Marks the storages of a value that a launcher returns.
    pub fn mark_returned(&mut self, value: &Value<'a>, depth: usize) {
        if let Value::Tensor(tensor) = value
            && let Some(storage) = self.storages.get_mut(tensor.storage)
        {
            storage.is_returned = true;
        }
        if depth < 4 {
            for one in value.elements().unwrap_or_default() {
                self.mark_returned(&one, depth + 1);
            }
        }
    }
}

impl Drop for Machine<'_> {
    /// Closures and the names around them own each other.
    fn drop(&mut self) {
        for frame in &self.frames {
            frame.names.take();
        }
    }
}

pub(super) fn from_scalar<'a>(scalar: &Scalar, from: From) -> Value<'a> {
    match scalar {
        Scalar::None => Value::None(from),
        Scalar::Bool(value) => Value::Bool(*value, from),
        Scalar::Int(value) => Value::Int(Number {
            source: from.map_or(Source::Computed, Source::Param),
            ..Number::plain(*value)
        }),
        Scalar::Float(value) => Value::Float(*value),
        Scalar::Str(text) => Value::Str(text.as_str().into(), from),
        Scalar::Dtype(dtype) => Value::Dtype(dtype.clone(), from),
    }
}

/// The effect of a statement on those after it.
pub(super) enum Flow<'a> {
    Next,
    Return(Value<'a>),
    Break,
    Continue,
}
