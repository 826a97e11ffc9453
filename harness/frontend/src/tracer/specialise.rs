//! Specialisation by the launcher: arguments become parameters of the IR, or values known while tracing.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{Elem, Type};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rule;
use ruff_text_size::Ranged;

use super::Tracer;
use super::frame::Kind;
use crate::plain::annotation::Parameter;
use crate::text::span_of;
use crate::traced::{Binding, Part};
use cerith_language::constant::{Constant, TypeValue};
use cerith_language::request::{self, RequestArg};
use cerith_language::semantic;
use cerith_language::stop::Traced;
use cerith_language::value::callable::{UserFunction, is_listed};
use cerith_language::value::plain::ScopeId;
use cerith_language::value::{Descriptor, Value};

/// Each parameter's value and how it came to be.
type BoundParameters = Vec<(Rc<str>, Value, Kind)>;

impl Tracer<'_> {
    /// Makes each argument a parameter of the IR or a compile-time value.
    pub(super) fn specialise(
        &mut self,
        function: &Rc<UserFunction>,
        given: &[(Rc<str>, RequestArg)],
    ) -> Traced<(BoundParameters, Vec<Binding>)> {
        self.check_specialised(function)?;
        let parameters = &function.def.parameters;
        let places = parameters
            .args
            .iter()
            .map(|parameter| &parameter.parameter)
            .chain(parameters.vararg.iter().map(|parameter| &**parameter))
            .chain(parameters.kwonlyargs.iter().map(|parameter| &parameter.parameter));
        let mut bound = Vec::with_capacity(given.len());
        let mut bindings = Vec::new();
        for (nth, (parameter, (name, given))) in places.zip(given).enumerate() {
            let annotation = match &parameter.annotation {
                Some(annotation) => self.plain().read_annotation(function.scope, annotation),
                None => Parameter::Plain,
            };
            self.lo.span = span_of(self.modules.source_of(function.scope), parameter.range());
            if holds_function(given) && !self.lo.rules.holds(Rule::FunctionArguments) {
                return Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("`{name}` is a function, which no argument can be"),
                ));
            }
            if annotation == Parameter::Constexpr {
                if !is_constant(given) {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a constexpr and cannot take a tensor"),
                    ));
                }
                let value = constant_of(given, &mut |path| self.named_global(function.scope, path))?;
                // The fields have the values inside the constexpr.
                let kind = match given {
                    RequestArg::NamedTuple { .. } => Kind::Held,
                    _ => Kind::Plain,
                };
                bound.push((Rc::clone(name), value, kind));
                continue;
            }
            let specialised = !is_listed(&function.options.do_not_specialize, nth, name);
            let mut path = Vec::new();
            let place = ParameterKey {
                scope: function.scope,
                name,
            };
            let (value, kind) =
                self.bind_parameter(place, given, annotation, specialised, &mut path, &mut bindings)?;
            bound.push((Rc::clone(name), value, kind));
        }
        Ok((bound, bindings))
    }

    /// Binds an argument to parameters of the IR, or to a compile-time value.
    fn bind_parameter(
        &mut self,
        place: ParameterKey<'_>,
        arg: &RequestArg,
        annotation: Parameter,
        specialised: bool,
        path: &mut Vec<usize>,
        bindings: &mut Vec<Binding>,
    ) -> Traced<(Value, Kind)> {
        let ParameterKey { scope, name } = place;
        let typed = match annotation {
            Parameter::Typed(dtype) if !self.lo.has_quirk(Quirk::AnnotationsAreIgnored) => Some(dtype),
            _ => None,
        };
        let elem = match arg {
            RequestArg::None => return Ok((Value::NONE, Kind::Specialised)),
            RequestArg::Int(1)
                if specialised && typed.is_none() && !self.lo.has_quirk(Quirk::ArgumentsOfOneAreTensors) =>
            {
                return Ok((Value::from_int(1), Kind::Specialised));
            }
            RequestArg::Tuple(items) | RequestArg::NamedTuple { items, .. } => {
                if !self.lo.rules.holds(Rule::TupleVariables) {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a tuple, which no argument can be before 3.3"),
                    ));
                }
                let mut values = Vec::with_capacity(items.len());
                for (nth, item) in items.iter().enumerate() {
                    path.push(nth);
                    values.push(
                        self.bind_parameter(place, item, Parameter::Plain, true, path, bindings)?
                            .0,
                    );
                    path.pop();
                }
                let value = match arg {
                    RequestArg::NamedTuple { fields, .. } => Value::new_named_tuple(fields, values),
                    _ => Value::new_tuple(values),
                };
                return Ok((value, Kind::Plain));
            }
            RequestArg::Descriptor(descriptor) => {
                if typed.is_some() {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a scalar and cannot take a tensor descriptor"),
                    ));
                }
                let value = self.bind_descriptor(name, descriptor, path, bindings)?;
                return Ok((value, Kind::Plain));
            }
            RequestArg::Global(_) | RequestArg::Constexpr(_) if is_constant(arg) => {
                let value = constant_of(arg, &mut |path| self.named_global(scope, path))?;
                return Ok((value, Kind::Specialised));
            }
            RequestArg::Str(_) | RequestArg::DType(_) | RequestArg::Global(_) | RequestArg::Constexpr(_) => {
                return Err(self.lo.reject_with(
                    "bad-arguments",
                    format!("`{name}` is not a constexpr and cannot take {}", describe(arg)),
                ));
            }
            RequestArg::Pointer(elem) => {
                if typed.is_some() {
                    return Err(self.lo.reject_with(
                        "bad-arguments",
                        format!("`{name}` is a scalar and cannot take a tensor"),
                    ));
                }
                elem.pointer()
            }
            RequestArg::Int(_) | RequestArg::Address | RequestArg::Bool(_) | RequestArg::Float(_) => {
                Elem::Num(self.scalar_parameter(name, arg, typed)?)
            }
        };
        let shown = path
            .iter()
            .fold(name.to_string(), |shown, place| format!("{shown}.{place}"));
        let value = self.lo.builder.add_param(shown, Type::scalar(elem));
        bindings.push(Binding {
            name: name.to_string(),
            path: path.clone(),
            part: Part::Whole,
        });
        if annotation == Parameter::ReadOnly && elem.pointee().is_some() {
            self.lo.read_only.insert(value);
        }
        let value = match (typed, scalar_type(arg)) {
            (None, Some(dtype)) if self.held_as(arg).is_some() => semantic::cast(&mut self.lo, value, dtype)?,
            _ => value,
        };
        Ok((Value::Tensor(value), Kind::Plain))
    }

    /// The dtype of the parameter that a number becomes; `typed` is what the parameter is annotated as.
    fn scalar_parameter(&self, name: &str, arg: &RequestArg, typed: Option<DType>) -> Traced<DType> {
        let wrong = match (typed, scalar_type(arg)) {
            (Some(dtype), _) if dtype.is_int() && matches!(arg, RequestArg::Float(_)) => {
                format!("`{name}` is an integer and cannot take a float")
            }
            (Some(dtype), _) => match arg {
                RequestArg::Int(value) if !fits(*value, dtype) => {
                    format!("`{name}` is annotated as {dtype}, which cannot hold {value}")
                }
                RequestArg::Address if dtype.bits() < 64 => {
                    format!("`{name}` is annotated as {dtype}, which cannot hold an address")
                }
                _ => return Ok(dtype),
            },
            (None, Some(dtype)) => return Ok(self.held_as(arg).unwrap_or(dtype)),
            (None, None) => format!("`{name}` takes an int of at most 64 bits"),
        };
        Err(self.lo.reject_with("bad-arguments", wrong))
    }

    /// The dtype that holds a number whose own is another one.
    fn held_as(&self, arg: &RequestArg) -> Option<DType> {
        let short = (1 << 31)..(1 << 32);
        match arg {
            RequestArg::Int(value)
                if short.contains(value) && self.lo.has_quirk(Quirk::WideArgumentsAreShort) =>
            {
                Some(DType::U32)
            }
            RequestArg::Bool(_) if self.lo.has_quirk(Quirk::BoolArgumentsAreInts) => Some(DType::I32),
            _ => None,
        }
    }

    /// The parameters that a host's descriptor becomes.
    fn bind_descriptor(
        &mut self,
        name: &Rc<str>,
        given: &request::Descriptor,
        path: &[usize],
        bindings: &mut Vec<Binding>,
    ) -> Traced<Value> {
        if !self.lo.rules.holds(Rule::Descriptors) {
            return Err(self.lo.reject_with(
                "bad-arguments",
                format!("Triton {} has no tensor descriptors", self.lo.rules.version),
            ));
        }
        let extents: Vec<i128> = given.block_shape.iter().map(|&extent| extent.into()).collect();
        let block_shape = semantic::shape::block_shape(&self.lo, &extents)?;
        let last = extents.last().copied().unwrap_or(0);
        semantic::descriptor::wide_enough(&self.lo, given.dtype, last)?;
        let name = path
            .iter()
            .fold(name.to_string(), |shown, place| format!("{shown}.{place}"));
        let mut parameter = |tracer: &mut Self, part: Part, shown: String, ty: Type| {
            bindings.push(Binding {
                name: name.split('.').next().unwrap_or_default().to_owned(),
                path: path.to_vec(),
                part,
            });
            tracer.lo.builder.add_param(shown, ty)
        };
        let ty = Type::scalar(Elem::ptr_to(given.dtype));
        let base = parameter(self, Part::Base, name.clone(), ty);
        let rank = block_shape.len();
        let shape = (0..rank)
            .map(|at| {
                let shown = format!("{name}.shape.{at}");
                parameter(self, Part::Extent(at), shown, Type::num(DType::I32))
            })
            .collect();
        let strides = (0..rank)
            .map(|at| {
                let shown = format!("{name}.stride.{at}");
                parameter(self, Part::Stride(at), shown, Type::num(DType::I64))
            })
            .collect();
        Ok(Value::Descriptor(Rc::new(Descriptor {
            base,
            shape,
            strides,
            block_shape,
            nan: given.nan,
            round: given.round_f32_to_tf32,
        })))
    }
}

/// The type that a scalar argument has at run time.
fn scalar_type(arg: &RequestArg) -> Option<DType> {
    match arg {
        RequestArg::Bool(_) => Some(DType::I1),
        RequestArg::Float(_) => Some(DType::F32),
        RequestArg::Address => Some(DType::I64),
        RequestArg::Int(value) if i32::try_from(*value).is_ok() => Some(DType::I32),
        RequestArg::Int(value) if i64::try_from(*value).is_ok() => Some(DType::I64),
        RequestArg::Int(value) if u64::try_from(*value).is_ok() => Some(DType::U64),
        _ => None,
    }
}

/// Whether the launcher can pass an int as this type.
fn fits(value: i128, dtype: DType) -> bool {
    if dtype.is_float() || dtype == DType::I1 {
        return true;
    }
    let bits = dtype.bits();
    if dtype.is_signed_int() {
        (-(1i128 << (bits - 1))..1i128 << (bits - 1)).contains(&value)
    } else {
        (0..1i128 << bits).contains(&value)
    }
}

/// A parameter: the scope of its function, and its name.
#[derive(Clone, Copy)]
struct ParameterKey<'a> {
    scope: ScopeId,
    name: &'a Rc<str>,
}

fn holds_function(arg: &RequestArg) -> bool {
    match arg {
        RequestArg::Global(_) => true,
        RequestArg::Tuple(items) | RequestArg::NamedTuple { items, .. } => items.iter().any(holds_function),
        RequestArg::Constexpr(inner) => holds_function(inner),
        _ => false,
    }
}

fn is_constant(arg: &RequestArg) -> bool {
    match arg {
        RequestArg::Pointer(_) | RequestArg::Descriptor(_) | RequestArg::Address => false,
        RequestArg::Tuple(items) | RequestArg::NamedTuple { items, .. } => items.iter().all(is_constant),
        RequestArg::Constexpr(inner) => is_constant(inner),
        _ => true,
    }
}

/// The compile-time value of an argument; `global` looks up what the kernel's module has under a name.
fn constant_of(arg: &RequestArg, global: &mut dyn FnMut(&str) -> Traced<Value>) -> Traced<Value> {
    Ok(Value::Constant(match arg {
        RequestArg::Int(value) => Constant::Int(*value),
        RequestArg::Float(value) => Constant::Float(*value),
        RequestArg::Bool(value) => Constant::Bool(*value),
        RequestArg::None => Constant::None,
        RequestArg::Str(value) => Constant::Str(value.as_str().into()),
        RequestArg::DType(dtype) => (*dtype).into(),
        RequestArg::Pointer(elem) => Constant::Type(TypeValue::Elem(elem.pointer())),
        RequestArg::Descriptor(_) | RequestArg::Address => return Ok(Value::NONE),
        RequestArg::Global(path) => return global(path),
        RequestArg::Constexpr(inner) => return constant_of(inner, global),
        RequestArg::Tuple(items) => {
            let items: Vec<Value> = items
                .iter()
                .map(|item| constant_of(item, global))
                .collect::<Traced<_>>()?;
            return Ok(Value::new_tuple(items));
        }
        RequestArg::NamedTuple { fields, items } => {
            let items: Vec<Value> = items
                .iter()
                .map(|item| constant_of(item, global))
                .collect::<Traced<_>>()?;
            return Ok(Value::new_named_tuple(fields, items));
        }
    }))
}

const fn describe(arg: &RequestArg) -> &'static str {
    match arg {
        RequestArg::Str(_) => "a string",
        RequestArg::DType(_) => "a dtype",
        RequestArg::Global(_) => "a function",
        RequestArg::Constexpr(_) => "this constexpr",
        _ => "this",
    }
}
