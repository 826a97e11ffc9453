//! Expressions of a launcher. See `operator` for arithmetic, `method` for tensors and `builtin` for torch.

use std::rc::Rc;

use ruff_python_ast::{self as ast, BoolOp, CmpOp, Expr, Number as Literal, UnaryOp};

use super::machine::{Eval, Machine};
use super::module::Global;
use super::name_hint::guess_number;
use super::plan::{Kind, Scalar, to_scalar};
use super::tensor::Fill;
use super::value::{Body, Closure, Dtype, Frame, Number, Scope, Slice, Value, is_equal, module_value};

/// Maximum number of elements of a comprehension.
const MAX_ELEMENTS: usize = 256;

/// Why a comparison has no known result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ComparisonError {
    /// A parameter cannot have the other value.
    #[error("a comparison with a parameter")]
    Parameter,
    /// A value is not known, for this reason.
    #[error("{0}")]
    Unknown(String),
    /// Values of these kinds are not compared.
    #[error("a comparison of {0} with {1}")]
    Kinds(&'static str, &'static str),
}

impl<'a> Machine<'a> {
    pub fn eval(&mut self, expr: &'a Expr, scope: &Scope<'a>) -> Eval<'a> {
        self.step()?;
        Ok(match expr {
            Expr::NumberLiteral(number) => match &number.value {
                Literal::Int(int) => int
                    .as_i64()
                    .map_or_else(|| Value::unknown("a large integer"), Value::int),
                Literal::Float(float) => Value::Float(*float),
                Literal::Complex { .. } => Value::unknown("a complex number"),
            },
            Expr::BooleanLiteral(one) => Value::bool(one.value),
            Expr::NoneLiteral(_) => Value::NONE,
            Expr::StringLiteral(text) => Value::str(text.value.to_str()),
            Expr::EllipsisLiteral(_) => Value::Ellipsis,
            Expr::Name(name) => match scope.find(name.id.as_str()) {
                Some(Value::Input(input)) => self.input(input),
                Some(value) => value,
                None => self.global(name.id.as_str())?,
            },
            Expr::Tuple(tuple) => Value::tuple(self.elements(&tuple.elts, scope)?),
            Expr::List(list) => Value::list(self.elements(&list.elts, scope)?),
            Expr::Set(set) => Value::list(self.elements(&set.elts, scope)?),
            Expr::Dict(dict) => {
                let mut items = Vec::new();
                for item in &dict.items {
                    let value = self.eval(&item.value, scope)?;
                    match &item.key {
                        Some(key) => {
                            let key = self.eval(key, scope)?;
                            items.push((key, value));
                        }
                        None => {
                            if let Value::Dict(more) = value {
                                items.extend(more.borrow().iter().cloned());
                            }
                        }
                    }
                }
                Value::dict(items)
            }
            Expr::Lambda(lambda) => Value::Closure(Rc::new(Closure {
                parameters: lambda.parameters.as_deref(),
                body: Body::Expr(&lambda.body),
                scope: Some(Rc::clone(scope)),
            })),
            Expr::Named(named) => {
                let value = self.eval(&named.value, scope)?;
                self.assign(&named.target, value.clone(), scope)?;
                value
            }
            Expr::If(choice) => {
                let test = self.eval(&choice.test, scope)?;
                if let Some(is_true) = self.truth(&test)? {
                    let (taken, other) = if is_true {
                        (&choice.body, &choice.orelse)
                    } else {
                        (&choice.orelse, &choice.body)
                    };
                    // `kernel = a if flag else b`.
                    if self.module.mentions_kernel(other) && !self.module.mentions_kernel(taken) {
                        self.missed.push(super::machine::Condition {
                            test: &choice.test,
                            wanted: !is_true,
                            scope: Rc::clone(scope),
                        });
                    }
                    self.eval(taken, scope)?
                } else {
                    // As in an `if` statement: the second branch, if that is known.
                    match self.eval(&choice.orelse, scope)? {
                        Value::Unknown(_) => self.eval(&choice.body, scope)?,
                        value => value,
                    }
                }
            }
            Expr::BoolOp(operation) => {
                let is_or = operation.op == BoolOp::Or;
                let mut last = Value::NONE;
                let mut unknown = None;
                for one in &operation.values {
                    last = self.eval(one, scope)?;
                    match self.truth(&last)? {
                        Some(is_true) if is_true == is_or => return Ok(last),
                        Some(_) => {}
                        None => unknown = Some(last.clone()),
                    }
                }
                unknown.unwrap_or(last)
            }
            Expr::UnaryOp(operation) => {
                let value = self.eval(&operation.operand, scope)?;
                match operation.op {
                    UnaryOp::Not => match self.truth(&value)? {
                        Some(is_true) => Value::bool(!is_true),
                        None => value,
                    },
                    UnaryOp::USub => match (&value, value.number()) {
                        (Value::Float(float), _) => Value::Float(-float),
                        (_, Some(number)) => {
                            Value::Int(Number::computed(number.value.saturating_neg(), number.sizes))
                        }
                        _ => self.unary_of(value),
                    },
                    UnaryOp::UAdd => value,
                    UnaryOp::Invert => match value.number() {
                        Some(number) => Value::Int(Number::computed(!number.value, number.sizes)),
                        None => self.unary_of(value),
                    },
                }
            }
            Expr::BinOp(operation) => {
                let left = self.eval(&operation.left, scope)?;
                let right = self.eval(&operation.right, scope)?;
                self.binary(&left, operation.op, &right)?
            }
            Expr::Compare(compare) => {
                let mut left = self.eval(&compare.left, scope)?;
                let mut all = Value::bool(true);
                for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                    let right = self.eval(right, scope)?;
                    if let Some(mask) = self.compare_elements(&left, *op, &right)? {
                        return Ok(mask);
                    }
                    match self.compare(&left, *op, &right)? {
                        Ok(true) => {}
                        Ok(false) => return Ok(Value::bool(false)),
                        Err(error) => all = Value::unknown(error.to_string()),
                    }
                    left = right;
                }
                all
            }
            Expr::Call(call) => self.call(call, scope)?,
            Expr::Attribute(attribute) => {
                let object = self.eval(&attribute.value, scope)?;
                self.attribute(object, attribute.attr.as_str())?
            }
            Expr::Subscript(subscript) => {
                let object = self.eval(&subscript.value, scope)?;
                let key = self.eval(&subscript.slice, scope)?;
                self.subscript(&object, key)?
            }
            Expr::Slice(slice) => {
                let mut bounds = [None, None, None];
                let parts = [&slice.lower, &slice.upper, &slice.step];
                for (bound, part) in bounds.iter_mut().zip(parts) {
                    if let Some(part) = part {
                        match self.eval(part, scope)? {
                            Value::Int(number) => *bound = Some(number),
                            Value::None(_) => {}
                            Value::Unknown(reason) => return Ok(Value::Unknown(reason)),
                            _ => return Ok(Value::unknown("a slice of something other than integers")),
                        }
                    }
                }
                let [lower, upper, step] = bounds;
                Value::Slice(Slice {
                    lower,
                    upper,
                    step: step.map_or(1, |step| step.value),
                })
            }
            Expr::ListComp(list) => {
                let mut found = Vec::new();
                self.comprehend(&list.elt, None, &list.generators, scope, &mut found)?;
                Value::list(found.into_iter().map(|(value, _)| value).collect())
            }
            Expr::SetComp(list) => {
                let mut found = Vec::new();
                self.comprehend(&list.elt, None, &list.generators, scope, &mut found)?;
                Value::list(found.into_iter().map(|(value, _)| value).collect())
            }
            Expr::Generator(list) => {
                let mut found = Vec::new();
                self.comprehend(&list.elt, None, &list.generators, scope, &mut found)?;
                Value::list(found.into_iter().map(|(value, _)| value).collect())
            }
            Expr::Yield(yielded) => {
                let value = match &yielded.value {
                    Some(value) => self.eval(value, scope)?,
                    None => Value::NONE,
                };
                if let Some(values) = self.yielded.last_mut() {
                    values.push(value);
                }
                Value::NONE
            }
            Expr::YieldFrom(yielded) => {
                let all = self.eval(&yielded.value, scope)?;
                let all = self.iterate(&all)?;
                if let Some(values) = self.yielded.last_mut() {
                    values.extend(all.unwrap_or_else(|error| vec![Value::unknown(error.to_string())]));
                }
                Value::NONE
            }
            Expr::Starred(starred) => self.eval(&starred.value, scope)?,
            Expr::FString(_) => Value::str("text"),
            _ => Value::unknown("an expression that is not evaluated"),
        })
    }

    fn elements(&mut self, elts: &'a [Expr], scope: &Scope<'a>) -> Eval<'a, Vec<Value<'a>>> {
        let mut values = Vec::new();
        for one in elts {
            let value = self.eval(one, scope)?;
            if one.is_starred_expr() {
                if let Value::Tuple(sizes, Some(input)) = &value {
                    self.observed.extend((0..sizes.len()).map(|dim| (*input, dim)));
                    self.spread = Some((*input, 0));
                }
                match self.iterate(&value)? {
                    Ok(more) => values.extend(more),
                    Err(error) => values.push(Value::unknown(error.to_string())),
                }
            } else {
                values.push(value);
            }
        }
        if let Some((_, length @ 0)) = &mut self.spread {
            *length = values.len();
        }
        Ok(values)
    }

    fn comprehend(
        &mut self,
        elt: &'a Expr,
        value: Option<&'a Expr>,
        generators: &'a [ast::Comprehension],
        scope: &Scope<'a>,
        found: &mut Vec<(Value<'a>, Value<'a>)>,
    ) -> Eval<'a, ()> {
        let Some((first, rest)) = generators.split_first() else {
            if found.len() < MAX_ELEMENTS {
                let one = self.eval(elt, scope)?;
                let other = match value {
                    Some(value) => self.eval(value, scope)?,
                    None => Value::NONE,
                };
                found.push((one, other));
            }
            return Ok(());
        };
        let iterated = self.eval(&first.iter, scope)?;
        let values = match self.iterate(&iterated)? {
            Ok(values) => values,
            Err(error) => vec![Value::unknown(error.to_string())],
        };
        let inner = Rc::new(Frame {
            names: std::cell::RefCell::default(),
            outer: Some(Rc::clone(scope)),
        });
        for value_of in values {
            self.assign(&first.target, value_of, &inner)?;
            let mut is_kept = true;
            for test in &first.ifs {
                let test = self.eval(test, &inner)?;
                is_kept &= self.truth(&test)? != Some(false);
            }
            if is_kept {
                self.comprehend(elt, value, rest, &inner, found)?;
            }
        }
        Ok(())
    }

    /// A name of the module.
    pub fn global(&mut self, name: &str) -> Eval<'a> {
        let Some((key, global)) = self.module.globals.get_key_value(name) else {
            return Ok(super::builtin::builtin(name)
                .unwrap_or_else(|| Value::unknown(format!("`{name}` is not defined in the file"))));
        };
        if let Some(known) = self.globals.get(name) {
            return Ok(known.clone());
        }
        let (key, global) = (*key, *global);
        self.globals
            .insert(key, Value::unknown(format!("`{name}` depends on itself")));
        let value = match global {
            Global::Function(def) => self.function_value(def, None),
            Global::Class(def) => Value::Class(def),
            Global::Import(path) => module_value(path),
            Global::ImportFrom(module, name) => module_value(&format!("{module}.{name}")),
            Global::Assigned(expr) => {
                let scope = self.enter(name, None)?;
                let value = self.eval(expr, &scope);
                self.leave();
                value?
            }
            Global::Part(expr, at) => {
                let scope = self.enter(name, None)?;
                let value = self.eval(expr, &scope);
                self.leave();
                let elements = value?.elements();
                elements
                    .and_then(|elements| elements.get(at).cloned())
                    .unwrap_or_else(|| Value::unknown(format!("`{name}` is not known")))
            }
        };
        self.globals.insert(key, value.clone());
        Ok(value)
    }

    /// Whether a value is true; `None` if unknown. A parameter that is tested is a flag.
    pub fn truth(&mut self, value: &Value<'a>) -> Eval<'a, Option<bool>> {
        Ok(match value {
            Value::None(_) => Some(false),
            Value::Bool(value, _) => Some(*value),
            Value::Int(number) => Some(number.value != 0),
            Value::Float(float) => Some(*float != 0.0),
            Value::Str(text, _) => Some(!text.is_empty()),
            Value::Tuple(values, _) => Some(!values.is_empty()),
            Value::List(values) => Some(!values.borrow().is_empty()),
            Value::Dict(items) => Some(!items.borrow().is_empty()),
            Value::Input(input) => {
                if self.plan.kind(*input) == Some(&Kind::Undecided) {
                    let change = self.plan.set_scalar(*input, Scalar::Bool(true));
                    return self.restart(change, "a flag of an unknown value");
                }
                Some(true)
            }
            Value::Tensor(_) | Value::Unknown(_) | Value::Module(_) => None,
            _ => Some(true),
        })
    }

    /// Decides that a parameter is a number.
    pub fn decide_number(&mut self, value: &Value<'a>) -> Eval<'a, ()> {
        if let Value::Input(input) = value
            && self.plan.kind(*input) == Some(&Kind::Undecided)
        {
            let name = self.plan.inputs.get(*input).map_or("", |one| one.name.as_str());
            let scalar = guess_number(name);
            let change = self.plan.set_scalar(*input, scalar);
            return self.restart(change, "a parameter of an unknown value");
        }
        Ok(())
    }

    /// A comparison of a tensor's elements, which is a tensor too; `None` if the values are compared as wholes.
    fn compare_elements(
        &mut self,
        left: &Value<'a>,
        op: CmpOp,
        right: &Value<'a>,
    ) -> Eval<'a, Option<Value<'a>>> {
        let is_by_element = matches!(
            op,
            CmpOp::Eq | CmpOp::NotEq | CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE
        );
        // `labels != -100`: a parameter of such a name is a tensor.
        if let (true, Value::Input(input), Value::Int(_)) = (is_by_element, left, right)
            && self.plan.kind(*input) == Some(&Kind::Undecided)
            && self.plan.has_whole_name(*input)
            && let Some(tensor) = self.input_tensor(*input)
        {
            return self.compare_elements(&Value::Tensor(tensor), op, right);
        }
        let is_number = |value: &Value<'a>| match value {
            Value::Int(_) | Value::Bool(..) | Value::Float(_) => true,
            Value::Tensor(tensor) => !self.known_elements.contains_key(&tensor.storage),
            _ => false,
        };
        let has_tensor = matches!(left, Value::Tensor(_)) || matches!(right, Value::Tensor(_));
        if !is_by_element || !has_tensor || !is_number(left) || !is_number(right) {
            return Ok(None);
        }
        Ok(Some(match self.elementwise(left, right)? {
            Value::Tensor(tensor) => self.allocate(tensor.shape, &Dtype::torch("i1"), Fill::Computed),
            other => other,
        }))
    }

    pub fn compare(
        &mut self,
        left: &Value<'a>,
        op: CmpOp,
        right: &Value<'a>,
    ) -> Eval<'a, Result<bool, ComparisonError>> {
        for (one, other) in [(left, right), (right, left)] {
            if let Value::Input(input) = one
                && self.plan.kind(*input) == Some(&Kind::Undecided)
            {
                let example = match (op, other) {
                    (CmpOp::Is | CmpOp::IsNot, _) => return Ok(Ok(op == CmpOp::IsNot)),
                    // `"_" in name`: a text without it is as good as any.
                    (CmpOp::In | CmpOp::NotIn, Value::Str(..)) if matches!(right, Value::Input(_)) => {
                        return Ok(Ok(op == CmpOp::NotIn));
                    }
                    (CmpOp::In | CmpOp::NotIn, other) => other
                        .elements()
                        .and_then(|all| all.first().cloned())
                        .unwrap_or(Value::NONE),
                    (_, other) => other.clone(),
                };
                let change = match to_scalar(&example) {
                    Some(scalar) => self.plan.set_scalar(*input, scalar),
                    None => return Ok(Err(ComparisonError::Parameter)),
                };
                return self.restart(change, "a comparison with a parameter");
            }
        }
        let unknown = || {
            let reason = left.reason().or(right.reason());
            reason.map_or_else(
                || ComparisonError::Kinds(left.kind(), right.kind()),
                |reason| ComparisonError::Unknown(reason.to_owned()),
            )
        };
        if op == CmpOp::In || op == CmpOp::NotIn {
            self.note_texts(left, &right.elements().unwrap_or_default());
        } else {
            self.note_texts(left, [right]);
            self.note_texts(right, [left]);
        }
        if matches!(op, CmpOp::Eq | CmpOp::NotEq) {
            self.note_number(left, right);
            self.note_number(right, left);
        }
        self.observe_shapes(left);
        self.observe_shapes(right);
        let equal = is_equal(left, right);
        let ordered = |wanted: fn(f64, f64) -> bool| match (left.float(), right.float()) {
            (Some(a), Some(b)) => Ok(wanted(a, b)),
            _ => match (left.elements(), right.elements()) {
                // Versions.
                (Some(a), Some(b)) => {
                    let floats =
                        |all: &[Value<'a>]| all.iter().map(Value::float).collect::<Option<Vec<f64>>>();
                    match (floats(&a), floats(&b)) {
                        (Some(a), Some(b)) => {
                            let order = a.partial_cmp(&b).map_or(0.0, |order| f64::from(order as i8));
                            Ok(wanted(order, 0.0))
                        }
                        _ => Err(unknown()),
                    }
                }
                _ => Err(unknown()),
            },
        };
        Ok(match op {
            CmpOp::Eq => equal.ok_or_else(unknown),
            CmpOp::NotEq => equal.map(|equal| !equal).ok_or_else(unknown),
            CmpOp::Lt => ordered(|a, b| a < b),
            CmpOp::LtE => ordered(|a, b| a <= b),
            CmpOp::Gt => ordered(|a, b| a > b),
            CmpOp::GtE => ordered(|a, b| a >= b),
            CmpOp::Is | CmpOp::IsNot => {
                let same = match (left, right) {
                    (Value::Unknown(_), _) | (_, Value::Unknown(_)) => None,
                    (Value::None(_), Value::None(_)) => Some(true),
                    (Value::None(_), _) | (_, Value::None(_)) => Some(false),
                    (Value::Tensor(a), Value::Tensor(b)) => Some(
                        a.storage == b.storage
                            && a.sizes() == b.sizes()
                            && a.strides == b.strides
                            && a.offset == b.offset,
                    ),
                    _ => equal,
                };
                same.map(|same| same == (op == CmpOp::Is)).ok_or_else(unknown)
            }
            CmpOp::In | CmpOp::NotIn => {
                let found = match (left, right) {
                    (Value::Str(a, _), Value::Str(b, _)) => Some(b.contains(&**a)),
                    (key, Value::Dict(items)) => find(items.borrow().iter().map(|(one, _)| one), key),
                    (one, many) => many.elements().and_then(|all| find(all.iter(), one)),
                };
                found.map(|found| found == (op == CmpOp::In)).ok_or_else(unknown)
            }
        })
    }

    /// A shape that is compared is read.
    fn observe_shapes(&mut self, value: &Value<'a>) {
        if let Value::Tuple(values, Some(input)) = value {
            self.observed.extend((0..values.len()).map(|dim| (*input, dim)));
        }
    }
}

/// Whether one of the values is equal; `None` if unknown.
fn find<'v, 'a: 'v>(all: impl Iterator<Item = &'v Value<'a>>, wanted: &Value<'a>) -> Option<bool> {
    let mut found = Some(false);
    for one in all {
        match is_equal(one, wanted) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => found = None,
        }
    }
    found
}
