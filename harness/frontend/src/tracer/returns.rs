//! Return values of functions with several reachable `return`s: one type for all of them, and the value of the `return`
//! that was reached.
//!
//! Triton's compiler branches to the end of the function. IR here is structured, so a `return` inside of an `if` puts the
//! rest of the function into the other branch. If that is not possible, a flag records whether the function has returned,
//! and the rest runs only if it has not.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{OpKind, Type, ValueId};

use super::Tracer;
use super::frame::{collect_leaves, rebuild};
use cerith_language::constant::Constant;
use cerith_language::semantic;
use cerith_language::semantic::types::{same_type, triton_type, type_text};
use cerith_language::stop::Traced;
use cerith_language::value::Value;

/// The way a sequence of statements ended.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    /// Execution continues.
    Falls,
    /// It returned this.
    Returned(Value),
    /// It returned `value` if the `i1` scalar `flag` holds; otherwise execution continues.
    Maybe {
        /// Whether it returned.
        flag: ValueId,
        /// The returned value; poison if it didn't return.
        value: Value,
    },
}

impl Flow {
    /// The returned value, if any.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Falls => None,
            Self::Returned(value) | Self::Maybe { value, .. } => Some(value),
        }
    }
}

/// The type that several returned values have in common.
#[derive(Clone, Debug)]
pub(super) enum Common {
    /// The same compile-time value everywhere.
    Known(Value),
    /// A tensor.
    Tensor(Type),
    /// A value that contains tensors, for example a block pointer, and their types.
    Made(Value, Vec<Type>),
    /// A tuple.
    Tuple(Vec<Common>, Rc<[Rc<str>]>),
}

impl Common {
    /// The types of the tensors in it.
    pub fn collect_types(&self, found: &mut Vec<Type>) {
        match self {
            Self::Known(_) => {}
            Self::Tensor(ty) => found.push(ty.clone()),
            Self::Made(_, types) => found.extend(types.iter().cloned()),
            Self::Tuple(items, _) => items.iter().for_each(|item| item.collect_types(found)),
        }
    }

    /// The value that has these tensors.
    pub fn build(&self, tensors: &mut impl Iterator<Item = ValueId>) -> Value {
        match self {
            Self::Known(value) => value.clone(),
            Self::Tensor(_) => tensors.next().map_or(Value::NONE, Value::Tensor),
            Self::Made(value, _) => rebuild(value, tensors),
            Self::Tuple(items, names) => Value::Tuple {
                items: items.iter().map(|item| item.build(tensors)).collect(),
                names: Rc::clone(names),
            },
        }
    }
}

impl Tracer<'_> {
    /// The type of one returned value.
    pub(super) fn common_of(&self, value: &Value) -> Common {
        match value {
            Value::Tensor(id) => Common::Tensor(self.lo.ty(*id).clone()),
            Value::BlockPointer(_) | Value::Descriptor(_) | Value::Aggregate(_) => {
                let types = collect_leaves(value)
                    .iter()
                    .map(|id| self.lo.ty(*id).clone())
                    .collect();
                Common::Made(value.clone(), types)
            }
            Value::Tuple { items, names } => Common::Tuple(
                items.iter().map(|item| self.common_of(item)).collect(),
                Rc::clone(names),
            ),
            _ => Common::Known(value.clone()),
        }
    }

    /// The type that two returns have in common, or a rejection.
    pub(super) fn unify_types(&self, a: &Common, b: &Common) -> Traced<Common> {
        match (a, b) {
            (Common::Known(x), Common::Known(y)) | (Common::Made(x, _), Common::Made(y, _))
                if same_type(&self.lo, x, y) =>
            {
                return Ok(a.clone());
            }
            (Common::Tuple(x, m), Common::Tuple(y, n)) if x.len() == y.len() && m == n => {
                let items = x
                    .iter()
                    .zip(y)
                    .map(|(x, y)| self.unify_types(x, y))
                    .collect::<Traced<_>>()?;
                return Ok(Common::Tuple(items, Rc::clone(m)));
            }
            _ => {}
        }
        match (tensor_type(a), tensor_type(b)) {
            (Some(x), Some(y)) if x == y => Ok(Common::Tensor(x)),
            _ => {
                let (a, b) = (self.common_text(a), self.common_text(b));
                Err(self.lo.reject_with(
                    "return-type-mismatch",
                    format!("return type mismatch: {a} and {b}"),
                ))
            }
        }
    }

    fn common_text(&self, common: &Common) -> String {
        match common {
            Common::Known(value) | Common::Made(value, _) => type_text(&self.lo, value),
            Common::Tensor(ty) => triton_type(ty),
            Common::Tuple(items, _) => {
                let items: Vec<String> = items.iter().map(|item| self.common_text(item)).collect();
                format!("({})", items.join(", "))
            }
        }
    }

    /// The tensors of a returned value in the common type, made in the open block; poison when nothing was returned.
    pub(super) fn conform(
        &mut self,
        value: Option<&Value>,
        common: &Common,
        out: &mut Vec<ValueId>,
    ) -> Traced<()> {
        match (common, value) {
            (Common::Known(_), _) => {}
            (Common::Tensor(_), Some(Value::Tensor(id))) => out.push(*id),
            (Common::Tensor(ty), Some(Value::Constant(constant))) => {
                let dtype = ty.elem.num().unwrap_or(DType::I32);
                out.push(semantic::scalar_constant(&mut self.lo, constant, dtype)?);
            }
            (Common::Tensor(ty), _) => out.push(self.lo.builder.add_op(OpKind::Poison, &[], ty.clone())),
            (Common::Made(..), Some(value)) => out.extend(collect_leaves(value)),
            (Common::Made(_, types), None) => {
                for ty in types {
                    out.push(self.lo.builder.add_op(OpKind::Poison, &[], ty.clone()));
                }
            }
            (Common::Tuple(items, _), Some(Value::Tuple { items: values, .. })) => {
                for (item, value) in items.iter().zip(values.iter()) {
                    self.conform(Some(value), item, out)?;
                }
            }
            (Common::Tuple(items, _), _) => {
                for item in items {
                    self.conform(None, item, out)?;
                }
            }
        }
        Ok(())
    }

    /// The value of a call of the current function, after its body has run.
    pub(super) fn result_of(&mut self, flow: Flow) -> Traced<Value> {
        let value = match flow {
            Flow::Falls => Value::NONE,
            Flow::Returned(value) | Flow::Maybe { value, .. } => value,
        };
        let dead = std::mem::take(&mut self.frame.dead_returns);
        if dead.is_empty() {
            return Ok(value);
        }
        let mut common = self.common_of(&value);
        for other in &dead {
            common = self.unify_types(&common, &self.common_of(other))?;
        }
        let mut tensors = Vec::new();
        self.conform(Some(&value), &common, &mut tensors)?;
        Ok(common.build(&mut tensors.into_iter()))
    }
}

/// The tensor type that a return has or, being a number, would have.
fn tensor_type(common: &Common) -> Option<Type> {
    match common {
        Common::Tensor(ty) => Some(ty.clone()),
        Common::Known(Value::Constant(constant)) if !matches!(constant, Constant::None) => {
            semantic::tensor_dtype(constant).map(Type::num)
        }
        _ => None,
    }
}
