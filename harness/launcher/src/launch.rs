//! A launch of a kernel: its arguments by parameter, its grid, and sizes of inputs that only the kernel decides.

use std::collections::BTreeSet;

use ruff_python_ast as ast;

use super::arguments::Arguments;
use super::host::Origin;
use super::launched::{Bindings, Launched, LaunchedStorage, Stage, Written, list_sentinels};
use super::machine::{Eval, Machine};
use super::plan::{Kind, Scalar};
use super::tensor::Fill;
use super::value::{Dtype, Number, Value};
use super::write;
use crate::skeleton::guess_of;
use cerith_module::excerpt::{is_autotune, is_heuristics, strip_arguments};
use cerith_module::kernel::{Function, ParameterKind};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Flags, TensorUse, Usage};

/// Maximum number of launches that are made before another one.
const MAX_STAGES: usize = 6;

/// Why a grid is not numbers of programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum GridError {
    /// It is not known, for this reason.
    #[error("{0}")]
    Unknown(String),
    #[error("{0} is not a grid")]
    Kind(&'static str),
    #[error("{0} in it")]
    Element(&'static str),
    #[error("it has {0} axes")]
    Axes(usize),
    #[error("it is too large")]
    TooLarge,
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
            self.is_repeatable = false;
            return Ok(Value::unknown(format!(
                "a launch of `{name}`, which is not in the file"
            )));
        };
        let is_target = module.is_target(def);
        let mut bindings = self.bind_parameters(def, function, &usage, args)?;
        self.decide_inputs(function, &usage, &bindings)?;
        self.give_tensors(function, &bindings)?;
        self.decide_dtypes(&usage, &bindings)?;
        self.fit_ranks(&usage, &bindings)?;
        let grid = self.evaluate_grid(grid, def, &bindings)?;
        let mut reasons = Vec::new();
        match grid {
            Ok(grid) => bindings.grid = grid,
            Err(error) => reasons.push(format!("the grid: {error}")),
        }
        self.decide_powers(&usage, &bindings)?;
        if reasons.is_empty() {
            self.fit(&usage, &bindings)?;
        }
        if self.doubts > 0 {
            self.assume_written(&usage, &bindings);
        }
        reasons.extend(missing(function, &bindings));
        let is_written = is_target || self.is_repeatable && self.stages.len() < MAX_STAGES;
        let written = if reasons.is_empty() && is_written {
            write::write(self, function, &usage, &bindings)
        } else {
            Err(reasons)
        };
        if is_target {
            let host = self.functions.last().cloned().unwrap_or_default();
            match &written {
                Ok(written) => {
                    let tensors = written.storages.iter().map(|(name, at)| {
                        let (name, at) = (name.clone(), *at);
                        let origin = self.storages.get(at).map_or(Origin::Filled, Origin::from_storage);
                        let mut placed = usage.tensors.iter().filter(|tensor| tensor.is_placed());
                        let is_placed = placed.any(
                            |one| matches!(bindings.get(&one.name), Some(Value::Tensor(tensor)) if tensor.storage == at),
                        );
                        LaunchedStorage {
                            name,
                            index: at,
                            origin,
                            is_placed,
                        }
                    });
                    let tensors = tensors.collect();
                    let assumed = self.list_assumed(&usage, &bindings);
                    for value in bindings.values.iter().map(|(_, value)| value) {
                        if let Value::Int(number) = value {
                            self.passed |= number.sizes;
                        }
                    }
                    self.note_loops(&usage, &bindings);
                    self.note_ignored(&usage, &bindings);
                    let grid = bindings.grid.iter().map(|dim| dim.value);
                    self.launches.push(Launched {
                        host,
                        line,
                        programs: grid.fold(1, i64::saturating_mul),
                        text: written.render(&module.target()),
                        sequence: self.render_sequence(written, &usage, &bindings),
                        tensors,
                        divided: written.divided.clone(),
                        roomy: self.roomy.clone(),
                        fitted: self.list_fitted(&bindings),
                        measured: self.list_measured(&usage, &bindings, !assumed.is_empty()),
                        numbers: self.list_assumed_numbers(&assumed),
                        made: self.list_assumed_made(&assumed, &bindings),
                        assumed,
                    });
                }
                Err(reasons) => self
                    .unknown
                    .extend(reasons.iter().map(|reason| (line, reason.clone()))),
            }
        }
        let mut stored = BTreeSet::new();
        for (name, value) in &bindings.values {
            let (Value::Tensor(tensor) | Value::Descriptor(tensor, _)) = value else {
                continue;
            };
            let known = usage.tensors.iter().find(|tensor| tensor.name == *name);
            if known.is_none_or(|known| known.written) {
                stored.insert(tensor.storage);
                self.fill(tensor.storage, Fill::Computed);
            }
        }
        self.is_repeatable &= self.doubts == 0 && written.is_ok();
        if let Ok(written) = written {
            self.stages.push(Stage {
                kernel: function.name.clone(),
                written,
                stored,
            });
        }
        Ok(Value::NONE)
    }

    /// A launch with those before it, if one stores what it loads.
    fn render_sequence(&self, written: &Written, usage: &Usage, bindings: &Bindings<'a>) -> Option<String> {
        let is_loaded = |tensor: &&TensorUse| tensor.read;
        let loaded = usage.tensors.iter().filter(is_loaded);
        let mut loaded = loaded.filter_map(|tensor| match bindings.get(&tensor.name) {
            Some(Value::Tensor(tensor)) => Some(tensor.storage),
            _ => None,
        });
        let is_stored = |storage| self.stages.iter().any(|stage| stage.stored.contains(&storage));
        let is_sequence = self.is_repeatable && self.doubts == 0 && loaded.any(is_stored);
        is_sequence.then(|| written.render_after(&self.module.target(), &self.stages))?
    }

    /// Notes the sizes that loops of a kernel cut into blocks.
    fn note_loops(&mut self, usage: &Usage, bindings: &Bindings<'a>) {
        for (size, extent) in &usage.cut_sizes {
            let block = match extent {
                Extent::Number(number) => Some(*number),
                Extent::Param(name) => bindings.get(name).and_then(Value::number).map(|one| one.value),
                Extent::Text(_) => None,
            };
            if let (Some(size), Some(block)) = (bindings.get(size).and_then(Value::number), block) {
                self.note_looped_block(size, block);
            }
        }
    }

    /// Notes an input with indices that a kernel compares with values that are none.
    fn note_ignored(&mut self, usage: &Usage, bindings: &Bindings<'a>) {
        let mut inputs = usage.tensors.iter().filter_map(|tensor_use| {
            let Some(Value::Tensor(tensor)) = bindings.get(&tensor_use.name) else {
                return None;
            };
            let has_any = !list_sentinels(tensor_use, bindings).is_empty();
            let storage = self.storages.get(tensor.storage).filter(|_| has_any)?;
            storage.input.filter(|_| storage.fill == Fill::Given)
        });
        let found = inputs.next();
        self.ignored = self.ignored.or(found);
    }

    /// Takes tensors that a kernel reads for written: an earlier turn of a loop may have written them, or another branch.
    fn assume_written(&mut self, usage: &Usage, bindings: &Bindings<'a>) {
        for (name, value) in &bindings.values {
            let Value::Tensor(tensor) = value else { continue };
            let is_read = usage.tensors.iter().any(|one| one.name == *name && one.read);
            let is_new = self
                .storages
                .get(tensor.storage)
                .is_some_and(|one| one.fill == Fill::Uninit);
            if is_read && is_new {
                self.change(tensor.storage, Fill::Computed);
            }
        }
    }

    /// The storages of tensors with sizes that the kernel's accesses decide.
    fn list_fitted(&self, bindings: &Bindings<'a>) -> BTreeSet<usize> {
        let sizes = self.plan.sizes.iter().enumerate();
        let fitted = sizes
            .filter(|(_, size)| size.is_fitted)
            .fold(0, |all, (size, _)| all | super::value::bit(size));
        let tensors = bindings.values.iter().filter_map(|(_, value)| match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        });
        tensors
            .filter(|tensor| tensor.shape.iter().any(|size| size.sizes & fitted != 0))
            .map(|tensor| tensor.storage)
            .collect()
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
        let warmed = self.warmed.get(&(std::ptr::from_ref(def) as usize)).cloned();
        let warmed = warmed.unwrap_or_default();
        let by_place = parameters().map(|one| one.name.clone()).zip(warmed.positional);
        for (name, value) in by_place.chain(warmed.keywords) {
            let is_parameter = parameters().any(|parameter| parameter.name == name);
            if is_parameter && bindings.get(&name).is_none() {
                let value = self.refresh(&value);
                bindings.values.push((name, value));
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
        let is_new = |bindings: &Bindings<'a>, name: &str| {
            bindings.get(name).is_none() && parameters().any(|parameter| parameter.name == name)
        };
        let is_read = |(_, value): &(String, Value<'a>)| value.reason().is_none();
        if configs.is_empty() || !bindings.values.iter().all(is_read) {
            for (name, value) in self.evaluate_config(def)? {
                // The text of the configuration may not show the value.
                bindings.values.retain(|one| one.0 != name || is_read(one));
                if is_new(&bindings, &name) {
                    bindings.values.push((name, value));
                }
            }
        }
        self.apply_heuristics(def, &mut bindings)?;
        // Configurations that are computed elsewhere: any block is one that the tuner may try.
        let is_tuned = def.decorator_list.iter().any(|one| {
            let is_opaque = || match &one.expression {
                ast::Expr::Call(call) if is_heuristics(&call.func) => {
                    let values = call.arguments.find_argument_value("values", 0);
                    values.is_some_and(ruff_python_ast::Expr::is_call_expr)
                }
                _ => false,
            };
            is_autotune(strip_arguments(&one.expression)) && configs.is_empty() || is_opaque()
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
        // A number that only reaches values decides nothing about the launch.
        for (name, value) in &mut bindings.values {
            let is_elements = value.reason() == Some(super::view::ELEMENTS);
            let is_number = parameters().any(|one| one.name == *name && !one.constexpr);
            let is_tensor = usage.tensors.iter().any(|one| one.name == *name);
            if is_elements && is_number && !is_tensor && !usage.control.contains(name) {
                *value = super::machine::from_scalar(&super::name_hint::guess_number(name), None);
            }
        }
        Ok(bindings)
    }

    /// Adds what the kernel's heuristics compute.
    pub(super) fn apply_heuristics(
        &mut self,
        def: &'a ast::StmtFunctionDef,
        bindings: &mut Bindings<'a>,
    ) -> Eval<'a, ()> {
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
                let meta = self.meta(def, bindings)?;
                let value = self.apply(&heuristic, &Arguments::of(vec![meta]))?;
                if is_literal {
                    bindings.given.push(key.to_string());
                }
                bindings.values.retain(|(name, _)| **name != *key);
                bindings.values.push((key.to_string(), value));
            }
        }
        Ok(())
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
    ) -> Eval<'a, Result<Vec<Number>, GridError>> {
        let mut grid = grid.clone();
        if let Value::Closure(_) = grid {
            let meta = self.meta(def, bindings)?;
            grid = self.apply(&grid, &Arguments::of(vec![meta]))?;
        }
        self.decide_number(&grid)?;
        let parts = match &grid {
            Value::Int(number) => return Ok(Ok(vec![*number])),
            Value::Unknown(reason) => return Ok(Err(GridError::Unknown(reason.to_string()))),
            other => other.elements(),
        };
        let Some(parts) = parts else {
            return Ok(Err(GridError::Kind(grid.kind())));
        };
        let mut programs = Vec::new();
        for one in &parts {
            self.decide_number(one)?;
            let rounded = || one.float().map(|float| Number::plain(float as i64));
            let Some(number) = one.number().or_else(rounded) else {
                return Ok(Err(match one.reason() {
                    Some(reason) => GridError::Unknown(reason.to_owned()),
                    None => GridError::Element(one.kind()),
                }));
            };
            programs.push(number);
        }
        if programs.is_empty() || programs.len() > 3 {
            return Ok(Err(GridError::Axes(programs.len())));
        }
        if programs.iter().any(|one| !(0..=1 << 20).contains(&one.value)) {
            return Ok(Err(GridError::TooLarge));
        }
        Ok(Ok(programs))
    }

    /// Tensors that the kernel accesses under all conditions are passed, even if the launcher's default is `None`.
    fn give_tensors(&mut self, function: &Function, bindings: &Bindings<'a>) -> Eval<'a, ()> {
        let omitted: Vec<(&str, usize)> = bindings
            .values
            .iter()
            .filter_map(|(name, value)| match value {
                Value::None(Some(input)) => Some((name.as_str(), *input)),
                _ => None,
            })
            .collect();
        if omitted.is_empty() || !self.module.choice.is_complete {
            return Ok(());
        }
        let flags = bindings.values.iter().filter_map(|(name, value)| match value {
            Value::Bool(value, _) => Some((name.clone(), *value)),
            _ => None,
        });
        let flags: Flags = flags.collect();
        let Some(usage) = self.module.usage_by(&function.name, &flags) else {
            return Ok(());
        };
        for (name, input) in omitted {
            let is_used = usage.tensors.iter().any(|tensor| tensor.name == name);
            if is_used && !usage.flags.contains(name) && !usage.optional.contains(name) {
                let change = self.plan.set_given(input);
                if change.is_some() {
                    return self.restart(change, "");
                }
            }
        }
        Ok(())
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
                || usage.descriptors.contains_key(name)
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
                    match super::plan::to_scalar(&from_words(&words)) {
                        Some(Scalar::Int(_)) if !parameter.constexpr => super::name_hint::guess_number(name),
                        Some(Scalar::Int(number)) => match super::name_hint::guess_number(name) {
                            float @ Scalar::Float(_) if !usage.control.contains(name) => float,
                            _ => Scalar::Int(number),
                        },
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
}

/// Why arguments are not known.
fn missing(function: &Function, bindings: &Bindings<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    for parameter in crate::skeleton::required_parameters(function) {
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

/// Parses a value as written in a case file.
pub(super) fn from_words<'a>(words: &str) -> Value<'a> {
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
