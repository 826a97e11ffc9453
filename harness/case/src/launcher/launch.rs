//! A launch of a kernel: its arguments by parameter, its grid, and sizes of inputs that only the kernel decides.

use ruff_python_ast as ast;

use super::call::Arguments;
use super::machine::{Condition, Eval, Halt, Machine};
use super::plan::{Kind, Scalar};
use super::solve::origin_of;
use super::tensor::{Fill, Tensor};
use super::value::{Dtype, Number, Source, Value};
use super::{Origin, write};
use crate::excerpt::{called, is_autotune, is_heuristics};
use crate::kernel::{Function, ParameterKind};
use crate::skeleton::guess_of;
use crate::usage::polynomial::Extent;
use crate::usage::{Bound, Dimension, Stride, TensorUse, Usage};

/// Elements of an input of which nothing decides how many it has.
const ROOM: i64 = 1 << 14;

/// A launch that was evaluated.
pub(super) struct Launched {
    pub host: String,
    pub line: u32,
    /// The case file after its first line.
    pub text: String,
    /// Storages by their names, as indices into the machine's, and who made them.
    pub tensors: Vec<(String, usize, Origin)>,
}

/// The arguments of a launch, by parameter.
pub(super) struct Bindings<'a> {
    pub values: Vec<(String, Value<'a>)>,
    pub options: Vec<(String, Value<'a>)>,
    /// Parameters that the kernel's own decorators compute.
    pub given: Vec<String>,
    pub grid: Vec<Number>,
}

impl<'a> Bindings<'a> {
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let found = self.values.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value)
    }

    fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.number().map(|number| number.value)
    }
}

impl<'a> Machine<'a> {
    pub fn launch(
        &mut self,
        def: &'a ast::StmtFunctionDef,
        grid: &Value<'a>,
        args: &Arguments<'a>,
        line: u32,
    ) -> Eval<'a> {
        let name = def.name.as_str();
        let module = self.module;
        let (Some(function), Some(usage)) = (module.function(name), module.usage(name)) else {
            return Ok(Value::unknown(format!(
                "a launch of `{name}`, which is not in the file"
            )));
        };
        let is_target = module.is_target(def);
        let mut bindings = self.bind_parameters(def, function, &usage, args)?;
        self.decide_inputs(function, &usage, &bindings)?;
        self.decide_dtypes(&usage, &bindings)?;
        self.fit_ranks(&usage, &bindings)?;
        let grid = self.evaluate_grid(grid, def, &bindings)?;
        let mut reasons = Vec::new();
        match grid {
            Ok(grid) => bindings.grid = grid,
            Err(reason) => reasons.push(format!("the grid: {reason}")),
        }
        self.decide_powers(&usage, &bindings)?;
        if reasons.is_empty() {
            self.fit(&usage, &bindings)?;
        }
        if is_target {
            let host = self.functions.last().cloned().unwrap_or_default();
            reasons.extend(missing(function, &bindings));
            let written = if reasons.is_empty() {
                write::write(self, function, &usage, &bindings)
            } else {
                Err(reasons)
            };
            match written {
                Ok((text, tensors)) => {
                    let tensors = tensors.into_iter().map(|(name, at)| {
                        let origin = origin_of(self, at);
                        (name, at, origin)
                    });
                    let tensors = tensors.collect();
                    self.launches.push(Launched {
                        host,
                        line,
                        text,
                        tensors,
                    });
                }
                Err(reasons) => self
                    .unknown
                    .extend(reasons.into_iter().map(|reason| (line, reason))),
            }
        }
        for (name, value) in &bindings.values {
            let (Value::Tensor(tensor) | Value::Descriptor(tensor, _)) = value else {
                continue;
            };
            let known = usage.tensors.iter().find(|tensor| tensor.name == *name);
            if known.map_or(true, |known| known.written) {
                self.change(tensor.storage, Fill::Computed);
            }
        }
        Ok(Value::NONE)
    }

    fn bind_parameters(
        &mut self,
        def: &'a ast::StmtFunctionDef,
        function: &Function,
        usage: &Usage,
        args: &Arguments<'a>,
    ) -> Eval<'a, Bindings<'a>> {
        let mut bindings = Bindings {
            values: Vec::new(),
            options: Vec::new(),
            given: Vec::new(),
            grid: Vec::new(),
        };
        let parameters = || {
            function
                .parameters
                .iter()
                .filter(|one| !matches!(one.kind, ParameterKind::VarPositional | ParameterKind::VarKeyword))
        };
        for (parameter, value) in parameters().zip(&args.positional) {
            let value = self.refresh(value);
            bindings.values.push((parameter.name.clone(), value));
        }
        for (name, value) in &args.keywords {
            if parameters().any(|parameter| parameter.name == *name) {
                if bindings.get(name).is_none() {
                    let value = self.refresh(value);
                    bindings.values.push((name.clone(), value));
                }
            } else {
                bindings.options.push((name.clone(), value.clone()));
            }
        }
        let configs = self.module.configs(def.name.as_str());
        let index = if self.module.is_target(def) {
            self.plan.config
        } else {
            0
        };
        let config = configs
            .get(index)
            .or(configs.first())
            .cloned()
            .unwrap_or_default();
        for (name, words) in config {
            if bindings.get(&name).is_none() && parameters().any(|parameter| parameter.name == name) {
                let value = match words {
                    Some(words) => from_words(&words),
                    None => Value::unknown(format!("`{name}` of a configuration")),
                };
                bindings.values.push((name, value));
            }
        }
        // Heuristics see the arguments, and those below them in the text run first.
        for decorator in def.decorator_list.iter().rev() {
            let ast::Expr::Call(call) = &decorator.expression else {
                continue;
            };
            if !is_heuristics(&call.func) {
                continue;
            }
            let Some(values) = call.arguments.find_argument_value("values", 0) else {
                continue;
            };
            let is_literal = values.is_dict_expr();
            let scope = self.enter(def.name.as_str(), None)?;
            let dict = self.eval(values, &scope);
            self.leave();
            let Value::Dict(items) = dict? else { continue };
            let items = items.borrow().clone();
            for (key, heuristic) in items {
                let Value::Str(key, _) = key else { continue };
                let meta = self.meta(def, &bindings)?;
                let value = self.apply(&heuristic, &Arguments::of(vec![meta]))?;
                if is_literal {
                    bindings.given.push(key.to_string());
                }
                bindings.values.retain(|(name, _)| **name != *key);
                bindings.values.push((key.to_string(), value));
            }
        }
        // Configurations that are computed elsewhere: any block is one that the tuner may try.
        let is_tuned = def.decorator_list.iter().any(|one| {
            let is_opaque = || match &one.expression {
                ast::Expr::Call(call) if is_heuristics(&call.func) => {
                    let values = call.arguments.find_argument_value("values", 0);
                    values.is_some_and(|values| values.is_call_expr())
                }
                _ => false,
            };
            is_autotune(called(&one.expression)) && configs.is_empty() || is_opaque()
        });
        if is_tuned {
            let least = if usage.has_dots { 16 } else { 32 };
            for parameter in parameters().filter(|one| one.constexpr && one.default.is_none()) {
                let name = &parameter.name;
                if bindings.get(name).is_some() {
                    continue;
                }
                let is_block = usage.blocks.contains(name) || usage.factors.contains(name);
                let value = if is_block {
                    Value::int(least)
                } else if usage.flags.contains(name) {
                    Value::bool(false)
                } else {
                    from_words(&guess_of(parameter, usage))
                };
                bindings.values.push((name.clone(), value));
            }
        }
        Ok(bindings)
    }

    /// An argument, with what later arguments have decided about it.
    fn refresh(&mut self, value: &Value<'a>) -> Value<'a> {
        match value {
            Value::Input(input) => self.input(*input),
            other => other.clone(),
        }
    }

    /// The arguments as a grid's function gets them.
    fn meta(&mut self, def: &'a ast::StmtFunctionDef, bindings: &Bindings<'a>) -> Eval<'a> {
        let mut items: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        for (name, value) in bindings.values.iter().chain(&bindings.options) {
            items.push((Value::str(name), value.clone()));
        }
        for parameter in def.parameters.iter_non_variadic_params() {
            let name = parameter.parameter.name.as_str();
            if let Some(default) = &parameter.default
                && bindings.get(name).is_none()
            {
                let scope = self.enter(name, None)?;
                let value = self.eval(default, &scope);
                self.leave();
                items.push((Value::str(name), value?));
            }
        }
        Ok(Value::dict(items))
    }

    fn evaluate_grid(
        &mut self,
        grid: &Value<'a>,
        def: &'a ast::StmtFunctionDef,
        bindings: &Bindings<'a>,
    ) -> Eval<'a, Result<Vec<Number>, String>> {
        let mut grid = grid.clone();
        if let Value::Closure(_) = grid {
            let meta = self.meta(def, bindings)?;
            grid = self.apply(&grid, &Arguments::of(vec![meta]))?;
        }
        self.decide_number(&grid)?;
        let parts = match &grid {
            Value::Int(number) => return Ok(Ok(vec![*number])),
            Value::Unknown(reason) => return Ok(Err(reason.to_string())),
            other => other.elements(),
        };
        let Some(parts) = parts else {
            return Ok(Err(format!("{} is not a grid", grid.kind())));
        };
        let mut programs = Vec::new();
        for one in &parts {
            self.decide_number(one)?;
            match one
                .number()
                .or_else(|| one.float().map(|float| Number::plain(float as i64)))
            {
                Some(number) => programs.push(number),
                None => {
                    return Ok(Err(one
                        .reason()
                        .map_or_else(|| format!("{} in it", one.kind()), str::to_owned)));
                }
            }
        }
        if programs.is_empty() || programs.len() > 3 {
            return Ok(Err(format!("it has {} axes", programs.len())));
        }
        if programs.iter().any(|one| !(0..=1 << 20).contains(&one.value)) {
            return Ok(Err("it is too large".to_owned()));
        }
        Ok(Ok(programs))
    }

    /// Decides what parameters of the launcher are that it only passes on.
    fn decide_inputs(&mut self, function: &Function, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for parameter in &function.parameters {
            let Some(Value::Input(input)) = bindings.get(&parameter.name) else {
                continue;
            };
            let input = *input;
            if self.plan.kind(input) != Some(&Kind::Undecided) {
                continue;
            }
            let name = &parameter.name;
            let is_tensor = usage.tensors.iter().any(|tensor| tensor.name == *name)
                || usage.descriptors.contains(name)
                || !parameter.constexpr && {
                    let lower = name.to_lowercase();
                    lower.split('_').any(|word| word == "ptr" || word == "pointer")
                };
            let change = if is_tensor {
                self.plan.make_tensor(input)
            } else {
                let words = guess_of(parameter, usage);
                let scalar = if usage.blocks.contains(name) {
                    Scalar::Int(32)
                } else if usage.unused.contains(name) {
                    Scalar::Int(4)
                } else {
                    match super::eval::to_scalar(&from_words(&words)) {
                        Some(Scalar::Int(_)) if !parameter.constexpr => super::eval::guess_number(name),
                        Some(scalar) => scalar,
                        None => Scalar::Int(4),
                    }
                };
                self.plan.set_scalar(input, scalar)
            };
            return self.restart(change, "a parameter of an unknown kind");
        }
        Ok(())
    }

    /// Views of inputs with fewer elements than the kernel indexes: these inputs have the shape of another one with enough.
    fn adopt_shapes(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in &usage.tensors {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                continue;
            };
            let Some(input) = self
                .storages
                .get(tensor.storage)
                .and_then(|storage| storage.input)
            else {
                continue;
            };
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

    /// The dimensions before the last one of an earlier input with three or more.
    fn find_leading_dims(&self, input: usize) -> Option<Vec<usize>> {
        (0..input).find_map(|other| {
            let tensor = self.plan.tensor(other)?;
            let (_, leading) = tensor.dims.split_last()?;
            (tensor.has_rank && leading.len() > 1).then(|| leading.to_vec())
        })
    }

    /// The size of a dimension of an earlier input with as many dimensions, if the launcher reads it.
    fn find_same_dim(&self, input: usize, rank: usize, dim: usize) -> Option<usize> {
        (0..input).find_map(|other| {
            let dims = &self.plan.tensor(other)?.dims;
            let is_like = dims.len() == rank || rank > 2 && dims.len() > rank;
            let is_seen = is_like && self.observed.contains(&(other, dim));
            if is_seen { dims.get(dim).copied() } else { None }
        })
    }

    /// Inputs that the kernel uses as only integers can be are integers.
    fn decide_dtypes(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in usage.tensors.iter().filter(|one| one.indexes || one.is_whole) {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                continue;
            };
            let Some(input) = self
                .storages
                .get(tensor.storage)
                .and_then(|storage| storage.input)
            else {
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

    /// Sizes that ranges of lanes end at must be powers of two.
    fn decide_powers(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
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
    fn fit_ranks(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        for tensor_use in &usage.tensors {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                continue;
            };
            let Some(input) = tensor.input else { continue };
            let rank = tensor.shape.len();
            let is_seen = (0..rank).any(|dim| self.observed.contains(&(input, dim)));
            let has_rank = self.plan.tensor(input).is_some_and(|one| one.has_rank);
            let only_last = (0..rank.saturating_sub(1)).all(|dim| !self.observed.contains(&(input, dim)));
            if is_seen && only_last && !has_rank && rank == 2 {
                // `v.shape[-1]`: the dimensions before it are those of another input.
                let dims = self.find_leading_dims(input);
                let change = dims.and_then(|dims| self.plan.set_leading(input, &dims));
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
            if !is_seen && tensor_use.dimensions.len() > rank {
                let change = self.set_rank(input, tensor_use.dimensions.len());
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
    }

    /// Gives inputs whose sizes the launcher does not read the sizes that the kernel indexes.
    fn fit(&mut self, usage: &Usage, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        // A size that the launch passes is the kernel's to check. Callers make others fit.
        let passed = bindings
            .values
            .iter()
            .filter(|(_, value)| matches!(value, Value::Int(_)));
        let passed = passed.fold(0, |all, (_, value)| all | value.sizes());
        let passed = bindings.grid.iter().fold(passed, |all, one| all | one.sizes);
        self.adopt_shapes(usage, bindings)?;
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
                let wanted = match wanted {
                    Some(wanted) if tensor_use.certain || rank > 1 => wanted,
                    _ if is_read => continue,
                    _ if rank == 1 => Wanted::Value(ROOM),
                    _ => match self.find_same_dim(input, rank, dim) {
                        Some(size) => Wanted::Same(size),
                        None => continue,
                    },
                };
                let Some(size) = one.dims.get(dim).copied() else {
                    continue;
                };
                let change = match wanted {
                    Wanted::Same(other) => self.plan.unify(other, size),
                    Wanted::Value(value) if value != self.plan.size(size) => {
                        // A size of its own, unless others have it too.
                        self.plan.set_size(size, value)
                    }
                    Wanted::Value(_) => None,
                };
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Wanted {
    Same(usize),
    Value(i64),
}

/// How many elements a kernel indexes of a tensor, if its text tells.
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

/// The size of a dimension that the kernel indexes, as far as its text tells.
fn wanted_size(
    tensor: &Tensor,
    dim: usize,
    rank: usize,
    tensor_use: &TensorUse,
    usage: &Usage,
    bindings: &Bindings<'_>,
) -> Option<Wanted> {
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
        return Some(Wanted::Same(size));
    }
    let value = number.value;
    let step = match (&dimension.stride, rank) {
        (Stride::Number(step), 1) => (*step).max(1),
        _ => 1,
    };
    Some(Wanted::Value(value.checked_mul(step)?.max(1)))
}

/// How many elements of a dimension the kernel indexes.
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
            Number::plain(programs(*axis).checked_div(taken)?)
        }
        Bound::Unknown => return None,
    })
}

/// Why arguments are not known.
fn missing(function: &Function, bindings: &Bindings<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    for parameter in crate::skeleton::wanted(function) {
        let name = &parameter.name;
        match bindings.get(name) {
            Some(Value::Unknown(reason)) => reasons.push(format!("`{name}`: {reason}")),
            Some(_) => {}
            None => reasons.push(format!("`{name}`: no argument")),
        }
    }
    // Decorators' parameters are passed too where the launch has them.
    for (name, value) in &bindings.values {
        if let Value::Unknown(reason) = value
            && !bindings.given.contains(name)
            && !reasons
                .iter()
                .any(|known| known.starts_with(&format!("`{name}`")))
        {
            reasons.push(format!("`{name}`: {reason}"));
        }
    }
    reasons
}

/// A value of a case file's words.
fn from_words<'a>(words: &str) -> Value<'a> {
    match words {
        "true" => Value::bool(true),
        "false" => Value::bool(false),
        "null" => Value::NONE,
        _ => {
            if let Ok(number) = words.parse::<i64>() {
                return Value::int(number);
            }
            if let Ok(float) = words.parse::<f64>() {
                return Value::Float(float);
            }
            if let Some(dtype) = words.strip_prefix("tl.").and_then(|name| Dtype::find(name, true)) {
                return Value::Dtype(dtype, None);
            }
            match words
                .strip_prefix("\"'")
                .and_then(|rest| rest.strip_suffix("'\""))
            {
                Some(text) if !text.contains(['\\', '{', '}']) => Value::str(text),
                _ => Value::unknown("a value of a configuration"),
            }
        }
    }
}
