//! Literal values of a fill: numbers, raw bits, addresses. See [`super::Fill`] for fills by a rule.

use cerith_memory::{StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode_int, encode, encode_int};
use cerith_tile::source::Span;

use super::element::{count_problem, push, reject_type};
use crate::template::ValueTemplate;
use crate::yaml::{Node, Yaml};
use cerith_expression::{Names, Value};

/// Literal values as nested as the storage's shape, or flat.
#[derive(Clone, Debug)]
pub(crate) enum Nested {
    One(Literal),
    Many(Vec<Nested>),
}

/// One element.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    Value(ValueTemplate),
    /// `bits(0x7fc00001)`.
    Bits(ValueTemplate),
}

/// The bits of one element in memory.
pub(super) enum Element {
    Bits(u64),
    Uninit,
    Address(StorageId, i64),
}

impl Literal {
    pub(super) fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Yaml::Str(text) = &node.value
            && let Some(inner) = text
                .trim()
                .strip_prefix("bits(")
                .and_then(|rest| rest.strip_suffix(')'))
        {
            let at = node
                .text_at
                .zip(text.find(inner))
                .map(|(at, skipped)| at + skipped as u32);
            return match ValueTemplate::parse_text(inner, node.span, at) {
                Ok(value) => Some(Self::Bits(value)),
                Err(problem) => {
                    problems.push(problem);
                    None
                }
            };
        }
        ValueTemplate::parse(node, problems).map(Self::Value)
    }

    pub(super) fn describe(&self, names: &Names) -> Result<String, Diagnostic> {
        match self {
            Self::Value(value) => value.render_text(names),
            Self::Bits(value) => Ok(format!("bits({})", value.render_text(names)?)),
        }
    }

    pub(super) fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::Value(value) | Self::Bits(value) => value.is_known(names),
        }
    }

    pub(super) fn evaluate(
        &self,
        dtype: DType,
        names: &Names,
        storages: &mut Storages,
    ) -> Result<Element, Diagnostic> {
        let out_of_range = |value: &Value, span| {
            Diagnostic::error(
                "out-of-range",
                span,
                format!("{value} is out of range for {dtype}"),
            )
            .help("write a value that the dtype holds, or its bits as `bits(0x…)`")
        };
        match self {
            Self::Bits(template) => {
                let value = template.evaluate(names, storages)?;
                let Value::Int(bits) = value else {
                    return Err(reject_type(template.span(), &value, "an integer"));
                };
                let limit = 1i128 << if dtype == DType::I1 { 8 } else { dtype.bits() };
                if !(0..limit).contains(&bits) {
                    return Err(out_of_range(&value, template.span())
                        .help(format!("{dtype} has {} bits", dtype.bits())));
                }
                Ok(Element::Bits(bits as u64))
            }
            Self::Value(template) => {
                let value = template.evaluate(names, storages)?;
                let span = template.span();
                let integer = match &value {
                    Value::None => return Ok(Element::Uninit),
                    Value::Bool(value) => i128::from(*value),
                    Value::Int(value) => *value,
                    Value::Float(value) if dtype.is_float() => {
                        return Ok(Element::Bits(encode(dtype, *value, Rounding::NearestEven)));
                    }
                    Value::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => *float as i128,
                    Value::Float(_) => return Err(out_of_range(&value, span)),
                    Value::Address(at) if matches!(dtype, DType::I64 | DType::U64) => {
                        return Ok(Element::Address(at.storage, at.offset));
                    }
                    Value::Address(_) => {
                        return Err(Diagnostic::error(
                            "wrong-dtype",
                            span,
                            format!("an address in a storage of {dtype}"),
                        )
                        .help("give the storage the dtype i64 or u64"));
                    }
                    Value::Tensor(_) => {
                        return Err(reject_type(span, &value, "a number")
                            .help("for its address write `{ addresses: […] }`, or `x.data_ptr()`"));
                    }
                    other => return Err(reject_type(span, other, "a number")),
                };
                let bits = encode_int(dtype, integer);
                if dtype.is_int() && decode_int(dtype, bits) != integer {
                    return Err(out_of_range(&value, span));
                }
                Ok(Element::Bits(bits))
            }
        }
    }
}

impl Nested {
    pub(super) fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let Yaml::Seq(items) = &node.value else {
            return Literal::parse(node, problems).map(Self::One);
        };
        let read: Vec<_> = items
            .iter()
            .filter_map(|item| Self::parse(item, problems))
            .collect();
        (read.len() == items.len()).then_some(Self::Many(read))
    }

    /// The values of a list.
    pub(super) fn from_value(value: &Value, span: Span) -> Self {
        match value {
            Value::List(items) | Value::Tuple(items) => {
                Self::Many(items.iter().map(|item| Self::from_value(item, span)).collect())
            }
            other => Self::One(Literal::Value(ValueTemplate::Constant(other.clone(), span))),
        }
    }

    pub(super) fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::One(literal) => literal.is_known(names),
            Self::Many(items) => items.iter().all(|item| item.is_known(names)),
        }
    }

    pub(super) fn collect_leaves<'a>(&'a self, out: &mut Vec<&'a Literal>) {
        match self {
            Self::One(literal) => out.push(literal),
            Self::Many(items) => items.iter().for_each(|item| item.collect_leaves(out)),
        }
    }

    fn has_shape(&self, shape: &[i64]) -> bool {
        match (self, shape) {
            (Self::One(_), []) => true,
            (Self::Many(items), [first, rest @ ..]) => {
                i64::try_from(items.len()) == Ok(*first) && items.iter().all(|item| item.has_shape(rest))
            }
            _ => false,
        }
    }

    pub(super) fn write(
        &self,
        tensor: &Tensor,
        names: &Names,
        storages: &mut Storages,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let (id, dtype, shape) = (tensor.storage, tensor.dtype, &tensor.shape[..]);
        let mut leaves = Vec::new();
        self.collect_leaves(&mut leaves);
        let count = usize::try_from(tensor.numel()).unwrap_or_default();
        let flat = matches!(self, Self::Many(items) if items.iter().all(|item| matches!(item, Self::One(_))));
        if leaves.len() != count || !(flat || self.has_shape(shape)) {
            return Err(count_problem(span, leaves.len(), shape, count));
        }
        for (offset, literal) in tensor.element_starts().zip(leaves) {
            match literal.evaluate(dtype, names, storages)? {
                Element::Bits(bits) => {
                    let mut bytes = Vec::with_capacity(8);
                    push(&mut bytes, dtype, bits);
                    storages.write(id, offset, &bytes);
                }
                Element::Uninit => {}
                Element::Address(target, target_offset) => {
                    storages.write_pointer(id, offset, target, target_offset);
                }
            }
        }
        Ok(())
    }
}
