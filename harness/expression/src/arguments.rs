//! Matches the arguments of a call to parameter names, and converts them to the types of the parameters.

use std::ops::Range;

use cerith_memory::Tensor;
use cerith_tile::DType;

use crate::error::ExprError;
use crate::value::Value;
use cerith_python::nearest::{list, suggest_spelling};

/// An evaluated argument and its location.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub value: Value,
    pub range: Range<usize>,
}

/// All arguments of one call.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The name of the called function in messages: `narrow`.
    pub callee: String,
    /// The whole call.
    pub range: Range<usize>,
    pub positional: Vec<Argument>,
    pub keywords: Vec<(String, Argument)>,
}

impl Arguments {
    /// An error about the whole call.
    pub fn to_error(&self, message: impl Into<String>) -> ExprError {
        ExprError::new(self.range.clone(), message)
    }

    /// The argument of each parameter. Every parameter may be omitted here. See [`Parameter`] for defaults.
    pub fn bind<const N: usize>(self, parameters: [&'static str; N]) -> Result<[Parameter; N], ExprError> {
        let call = self.range.clone();
        self.bind_all(&parameters)?
            .try_into()
            .map_err(|_| ExprError::new(call, "a wrong number of arguments"))
    }

    /// [`Self::bind`], of any number of parameters.
    pub fn bind_all(self, parameters: &[&'static str]) -> Result<Vec<Parameter>, ExprError> {
        if let Some(extra) = self.positional.get(parameters.len()) {
            return Err(ExprError::new(
                extra.range.clone(),
                format!(
                    "`{}` takes {}, not {}",
                    self.callee,
                    count(parameters.len()),
                    self.positional.len()
                ),
            ));
        }
        let Self {
            callee,
            range,
            positional,
            keywords,
        } = self;
        let mut bound: Vec<Parameter> = parameters
            .iter()
            .map(|name| Parameter {
                callee: callee.clone(),
                name,
                call: range.clone(),
                argument: None,
            })
            .collect();
        for (parameter, argument) in bound.iter_mut().zip(positional) {
            parameter.argument = Some(argument);
        }
        for (name, argument) in keywords {
            let Some(parameter) = bound.iter_mut().find(|parameter| parameter.name == name) else {
                return Err(
                    ExprError::new(argument.range, format!("`{callee}` has no parameter `{name}`"))
                        .help(suggest_spelling(&name, parameters.iter().copied())),
                );
            };
            if parameter.argument.is_some() {
                return Err(ExprError::new(
                    argument.range,
                    format!("`{callee}` gets `{name}` twice"),
                ));
            }
            parameter.argument = Some(argument);
        }
        Ok(bound)
    }

    /// The sizes of a call like `x.view(2, 3)`, `x.view((2, 3))` or `x.view(size=(2, 3))`.
    pub fn into_sizes(mut self, name: &'static str) -> Result<Vec<i64>, ExprError> {
        if self.positional.len() > 1
            || matches!(
                self.positional.first(),
                Some(Argument {
                    value: Value::Int(_) | Value::Bool(_),
                    ..
                })
            )
        {
            if let Some((keyword, argument)) = self.keywords.first() {
                return Err(ExprError::new(
                    argument.range.clone(),
                    format!("`{}` has no parameter `{keyword}` beside sizes", self.callee),
                ));
            }
            return self
                .positional
                .iter()
                .map(|argument| to_int64(&argument.value, &argument.range))
                .collect();
        }
        if self.positional.is_empty() && self.keywords.is_empty() {
            return Err(self.to_error(format!("`{}` needs its `{name}`", self.callee)));
        }
        // torch takes `dims` and `dim` for each other nowhere, but does not name them alike between methods either.
        for (keyword, _) in &mut self.keywords {
            if ["size", "shape", "sizes", "dims", "dim"].contains(&keyword.as_str()) {
                name.clone_into(keyword);
            }
        }
        let [sizes] = self.bind([name])?;
        sizes.required()?.ints()
    }
}

fn count(parameters: usize) -> String {
    match parameters {
        0 => "no arguments".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("at most {n} arguments"),
    }
}

/// A parameter with the argument it got.
#[derive(Debug)]
pub(crate) struct Parameter {
    callee: String,
    name: &'static str,
    call: Range<usize>,
    argument: Option<Argument>,
}

impl Parameter {
    pub const fn is_given(&self) -> bool {
        self.argument.is_some()
    }

    pub fn into_argument(self) -> Option<Argument> {
        self.argument
    }

    /// The argument, which must be there.
    pub fn required(self) -> Result<Argument, ExprError> {
        self.argument.ok_or_else(|| {
            ExprError::new(
                self.call,
                format!("`{}` needs its argument `{}`", self.callee, self.name),
            )
        })
    }

    /// An integer, which must be there.
    pub fn int(self) -> Result<i64, ExprError> {
        self.required()?.int()
    }

    /// An integer, or the default.
    pub fn int_or(self, default: i64) -> Result<i64, ExprError> {
        self.argument.map_or(Ok(default), |argument| argument.int())
    }
}

impl Argument {
    /// An error about this argument.
    pub fn to_error(&self, message: impl Into<String>) -> ExprError {
        ExprError::new(self.range.clone(), message)
    }

    fn reject_type(&self, what: &str) -> ExprError {
        self.to_error(format!(
            "expected {what}, found {} `{}`",
            self.value.kind(),
            self.value.to_short_text()
        ))
    }

    pub fn int(&self) -> Result<i64, ExprError> {
        to_int64(&self.value, &self.range)
    }

    /// A list or tuple of integers, or one integer alone.
    pub fn ints(&self) -> Result<Vec<i64>, ExprError> {
        match &self.value {
            Value::List(items) | Value::Tuple(items) => {
                items.iter().map(|item| to_int64(item, &self.range)).collect()
            }
            Value::Int(_) => Ok(vec![self.int()?]),
            _ => Err(self.reject_type("integers")),
        }
    }

    pub fn is_sequence(&self) -> bool {
        matches!(self.value, Value::List(_) | Value::Tuple(_))
    }

    /// A dtype, or the name of one.
    pub fn dtype(&self) -> Result<DType, ExprError> {
        match &self.value {
            Value::DType(dtype) => Ok(*dtype),
            Value::Str(name) => dtype_of(name).ok_or_else(|| {
                self.to_error(format!("unknown dtype `{name}`"))
                    .help(suggest_spelling(
                        name,
                        DType::ALL.iter().map(|dtype| dtype.name()),
                    ))
            }),
            _ => Err(self.reject_type("a dtype")),
        }
    }

    pub fn tensor(&self) -> Result<&Tensor, ExprError> {
        match &self.value {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(self.reject_type("a tensor")),
        }
    }
}

/// A dtype by any of its names: Triton's, torch's, or the short one.
pub(crate) fn dtype_of(name: &str) -> Option<DType> {
    let bare = name
        .strip_prefix("torch.")
        .or_else(|| name.strip_prefix("tl."))
        .unwrap_or(name);
    bare.parse().ok().or_else(|| DType::from_torch_name(bare))
}

/// A value as a 64-bit integer, as torch's arguments are.
pub(crate) fn to_int64(value: &Value, range: &Range<usize>) -> Result<i64, ExprError> {
    match value {
        Value::Int(int) => i64::try_from(*int)
            .map_err(|_| ExprError::new(range.clone(), format!("{int} does not fit 64 bits"))),
        Value::Bool(bool) => Ok(i64::from(*bool)),
        _ => Err(ExprError::new(
            range.clone(),
            format!(
                "expected an integer, found {} `{}`",
                value.kind(),
                value.to_short_text()
            ),
        )),
    }
}

/// For an unknown attribute or function: the near ones.
pub(crate) fn reject_unknown(
    range: Range<usize>,
    message: String,
    name: &str,
    known: &[&'static str],
) -> ExprError {
    let help = suggest_spelling(name, known.iter().copied())
        .or_else(|| (known.len() <= 40).then(|| format!("there are {}", list(known))));
    ExprError::new(range, message).help(help)
}
