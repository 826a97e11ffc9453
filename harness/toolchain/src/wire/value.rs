//! Values of arguments and options as JSON, there and back: JSON's own, or a list of a letter and its contents. The Python
//! side is `_Values` of `cerith_worker/serve.py`. See `wire` for the frames.

use cerith_tile::DType;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::error::BadView;
use crate::request::{Descriptor, Tensor, Value};

/// A value in wire format: JSON's own, or a list of a letter and its contents.
pub(crate) struct Wired<'a>(pub &'a Value);

impl Serialize for Wired<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::None => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Int(value) => match i64::try_from(*value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => ("i", value.to_string()).serialize(serializer),
            },
            Value::Float(value) => ("f", value.to_bits()).serialize(serializer),
            Value::DType(dtype) => ("d", dtype.triton_name()).serialize(serializer),
            Value::Constexpr(value) => ("c", Wired(value)).serialize(serializer),
            Value::Tuple(items) => ("u", items.iter().map(Wired).collect::<Vec<_>>()).serialize(serializer),
            Value::NamedTuple { fields, items } => {
                ("n", fields, items.iter().map(Wired).collect::<Vec<_>>()).serialize(serializer)
            }
            Value::Address { storage, offset } => ("a", storage, offset).serialize(serializer),
            Value::Global(name) => ("g", name).serialize(serializer),
            Value::Descriptor(descriptor) => {
                let Descriptor {
                    base,
                    shape,
                    strides,
                    block_shape,
                    padding,
                    round_f32_to_tf32,
                } = &**descriptor;
                let options = (padding, round_f32_to_tf32);
                ("b", TensorSpec(base), shape, strides, block_shape, options).serialize(serializer)
            }
            Value::Tensor(tensor) => {
                let mut seq = serializer.serialize_seq(Some(6))?;
                seq.serialize_element("t")?;
                tensor_elements(tensor, &mut seq)?;
                seq.end()
            }
        }
    }
}

struct TensorSpec<'a>(&'a Tensor);

impl Serialize for TensorSpec<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(5))?;
        tensor_elements(self.0, &mut seq)?;
        seq.end()
    }
}

fn tensor_elements<S: SerializeSeq>(tensor: &Tensor, seq: &mut S) -> Result<(), S::Error> {
    seq.serialize_element(&tensor.storage)?;
    seq.serialize_element(
        tensor
            .dtype
            .torch_name()
            .unwrap_or_else(|| tensor.dtype.triton_name()),
    )?;
    seq.serialize_element(&tensor.shape)?;
    seq.serialize_element(&tensor.strides)?;
    seq.serialize_element(&tensor.offset)
}

/// Reads a value, or returns `None` if the JSON is not one. The inverse of [`Wired`].
pub(crate) fn read(json: &Json) -> Option<Value> {
    let items = match json {
        Json::Null => return Some(Value::None),
        Json::Bool(flag) => return Some(Value::Bool(*flag)),
        Json::String(text) => return Some(Value::Str(text.clone())),
        Json::Number(number) => return number.as_i64().map(|number| Value::Int(number.into())),
        Json::Array(items) => items.as_slice(),
        Json::Object(_) => return None,
    };
    let (letter, rest) = items.split_first()?;
    match (letter.as_str()?, rest) {
        ("i", [number]) => number.as_str()?.parse().ok().map(Value::Int),
        ("f", [bits]) => bits.as_u64().map(|bits| Value::Float(f64::from_bits(bits))),
        ("d", [name]) => name.as_str()?.parse().ok().map(Value::DType),
        ("c", [inner]) => read(inner).map(|inner| Value::Constexpr(Box::new(inner))),
        ("g", [name]) => name.as_str().map(|name| Value::Global(name.to_owned())),
        ("u", [items]) => read_all(items).map(Value::Tuple),
        ("n", [fields, items]) => {
            let fields = fields.as_array()?.iter();
            let fields: Vec<String> = fields
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()?;
            let items = read_all(items)?;
            (fields.len() == items.len()).then_some(Value::NamedTuple { fields, items })
        }
        ("a", [storage, offset]) => Some(Value::Address {
            storage: storage.as_u64()?.try_into().ok()?,
            offset: offset.as_i64()?,
        }),
        ("t", tensor) => read_tensor(tensor).map(Value::Tensor),
        ("b", [base, shape, strides, block_shape, options]) => {
            let [padding, round] = options.as_array()?.as_slice() else {
                return None;
            };
            Some(Value::Descriptor(Box::new(Descriptor {
                base: read_tensor(base.as_array()?)?,
                shape: parse_numbers(shape)?,
                strides: parse_numbers(strides)?,
                block_shape: parse_numbers(block_shape)?,
                padding: match padding {
                    Json::Null => None,
                    named => Some(named.as_str()?.to_owned()),
                },
                round_f32_to_tf32: round.as_bool()?,
            })))
        }
        _ => None,
    }
}

fn read_all(items: &Json) -> Option<Vec<Value>> {
    items.as_array()?.iter().map(read).collect()
}

/// A tensor, without the letter in front.
fn read_tensor(parts: &[Json]) -> Option<Tensor> {
    let [storage, dtype, shape, strides, offset] = parts else {
        return None;
    };
    let name = dtype.as_str()?;
    Some(Tensor {
        storage: storage.as_u64()?.try_into().ok()?,
        dtype: DType::from_torch_name(name).or_else(|| name.parse().ok())?,
        shape: parse_numbers(shape)?,
        strides: parse_numbers(strides)?,
        offset: offset.as_i64()?,
    })
}

fn parse_numbers(json: &Json) -> Option<Vec<i64>> {
    json.as_array()?.iter().map(Json::as_i64).collect()
}

/// Whether tensors in a value are views of the storages that there are.
pub(crate) fn check_value(value: &Value, sizes: &[usize]) -> Result<(), BadView> {
    match value {
        Value::Descriptor(descriptor) => check_value(&Value::Tensor(descriptor.base.clone()), sizes),
        Value::Tensor(tensor) => {
            let Some(&size) = sizes.get(tensor.storage) else {
                return Err(BadView::NoStorage(tensor.storage));
            };
            if tensor.shape.len() != tensor.strides.len()
                || tensor
                    .shape
                    .iter()
                    .chain(&tensor.strides)
                    .any(|&number| number < 0)
                || tensor.offset < 0
            {
                return Err(BadView::Malformed(tensor.clone()));
            }
            let elements = tensor.shape.iter().zip(&tensor.strides).try_fold(
                i128::from(tensor.offset) + 1,
                |end, (&size, &stride)| {
                    i128::from(size.max(1) - 1)
                        .checked_mul(stride.into())?
                        .checked_add(end)
                },
            );
            let end = elements.map(|end| end.saturating_mul(tensor.dtype.size() as i128));
            if !tensor.shape.contains(&0) && end.is_none_or(|end| end > size as i128) {
                return Err(BadView::Outside {
                    size,
                    tensor: tensor.clone(),
                });
            }
            Ok(())
        }
        Value::Constexpr(value) => check_value(value, sizes),
        Value::Tuple(items) | Value::NamedTuple { items, .. } => {
            items.iter().try_for_each(|item| check_value(item, sizes))
        }
        Value::Address { storage, .. } if *storage >= sizes.len() => Err(BadView::NoStorage(*storage)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_are_sent() {
        let tensor = Tensor {
            storage: 1,
            dtype: DType::BF16,
            shape: vec![2, 3],
            strides: vec![3, 1],
            offset: 4,
        };
        for sent in [
            Value::None,
            Value::Bool(true),
            Value::Int(-7),
            Value::Int(1 << 70),
            Value::Float(f64::NEG_INFINITY),
            Value::Str("relu".into()),
            Value::DType(DType::F16),
            Value::Constexpr(Box::new(Value::Int(3))),
            Value::Tuple(vec![Value::Int(1), Value::Tuple(vec![Value::Float(0.5)])]),
            Value::NamedTuple {
                fields: vec!["rows".into(), "out".into()],
                items: vec![
                    Value::Int(4),
                    Value::Address {
                        storage: 1,
                        offset: -8,
                    },
                ],
            },
            Value::Global("relu".into()),
            Value::Descriptor(Box::new(Descriptor {
                base: tensor.clone(),
                shape: vec![2, 3],
                strides: vec![3, 1],
                block_shape: vec![2, 2],
                padding: Some("nan".into()),
                round_f32_to_tf32: true,
            })),
            Value::Tensor(tensor),
        ] {
            let json = serde_json::to_value(Wired(&sent)).expect("JSON");
            assert_eq!(read(&json), Some(sent), "{json}");
        }
        for wrong in [
            "1.5",
            "{}",
            "[]",
            r#"["t",0]"#,
            r#"["f","x"]"#,
            r#"["z",1]"#,
            r#"["n",["rows"],[]]"#,
            r#"["a",-1,0]"#,
            r#"["b",["t",0]]"#,
        ] {
            let json = serde_json::from_str(wrong).expect("JSON");
            assert!(read(&json).is_none(), "{wrong}");
        }
    }
}
