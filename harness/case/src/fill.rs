//! The first contents of a storage. See `schema` for fills in a file's text.

mod computed;
mod element;
mod literal;
mod random;
mod recorded;

use std::collections::HashSet;

use cerith_memory::{MAX_BYTES, Storage, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{encode, encode_int};
use cerith_tile::source::Span;

pub(crate) use self::computed::render_content;
use self::computed::{Computed, Elements};
use self::element::{append, count_problem, reject_type, takes_addresses, to_address};
use self::literal::{Element, Literal, Nested};
use self::random::Random;
pub(crate) use self::recorded::{ArchiveLookup, RecordedBytes};
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};
use cerith_expression::{Names, Value};
use cerith_python::nearest::suggest_spelling;

/// A fill as written in the file.
#[derive(Clone, Debug)]
pub(crate) enum Fill {
    /// `zeros`, `ones`, `arange`, `random`, `uninit`; the word may have placeholders.
    Word(Template),
    /// `"[i * i for i in range(8)]"`; it may also give a word at some points.
    Expression(ValueTemplate),
    /// `{ full: 3 }`.
    Full(Literal),
    /// `{ arange: { start: 1, step: 2 } }`.
    Arange {
        start: Option<Literal>,
        step: Option<Literal>,
        span: Span,
    },
    /// `{ random: 7 }`, `{ random: { seed: 7, low: 0, high: 9, edges: true } }`.
    Random {
        seed: Option<ValueTemplate>,
        low: Option<ValueTemplate>,
        high: Option<ValueTemplate>,
        edges: Option<ValueTemplate>,
        span: Span,
    },
    /// `[[1, 2], [3, 4]]`.
    Values(Nested, Span),
    /// `{ addresses: [x, y[1:]] }`.
    Addresses(Vec<ValueTemplate>, Span),
    /// `{ bytes: data.zip/3fa9c2 }`.
    RecordedRun(RecordedBytes),
}

pub(crate) const WORDS: [&str; 5] = ["zeros", "ones", "arange", "random", "uninit"];
/// The keys of `{ arange: { … } }`.
pub(crate) const ARANGE_KEYS: [&str; 2] = ["start", "step"];
/// The keys of `{ random: { … } }`.
pub(crate) const RANDOM_KEYS: [&str; 4] = ["seed", "low", "high", "edges"];
const MAPPINGS: [&str; 5] = ["full", "arange", "random", "addresses", "bytes"];

impl Fill {
    /// Reads `fill:`.
    pub fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Yaml::Str(text) => {
                let read = if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    known_word(text, node.span)
                        .and_then(|()| Template::parse(text, node.span, node.text_at))
                        .map(Self::Word)
                } else {
                    ValueTemplate::parse_text(text, node.span, node.text_at).map(Self::Expression)
                };
                read.map_err(|problem| problems.push(problem)).ok()
            }
            Yaml::Seq(_) => Some(Self::Values(Nested::parse(node, problems)?, node.span)),
            Yaml::Map(pairs) if pairs.iter().any(|(key, _)| key.name == "bytes") => {
                RecordedBytes::parse(node, problems).map(Self::RecordedRun)
            }
            Yaml::Map(pairs) => {
                if let [(key, value)] = &pairs[..] {
                    return Self::parse_mapping(key, value, problems);
                }
                problems.push(
                    Diagnostic::error(
                        "wrong-type",
                        node.span,
                        "a fill that is not one key with its value",
                    )
                    .help("write one of `full`, `arange`, `random`, `addresses` and `bytes`"),
                );
                None
            }
            other => {
                problems.push(
                    Diagnostic::error("wrong-type", node.span, format!("`fill` is {}", other.kind()))
                        .help("write `zeros`, `ones`, `arange`, `random`, `uninit`, `{ full: 3 }` or a list of values"),
                );
                None
            }
        }
    }

    fn parse_mapping(key: &Key, value: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let settings = |keys: &[&str], problems: &mut Vec<Diagnostic>| -> Option<Vec<Option<Node>>> {
            let Yaml::Map(pairs) = &value.value else {
                return None;
            };
            for (name, _) in pairs {
                if !keys.contains(&name.name.as_str()) {
                    problems.push(name.reject_unknown(&format!("fill `{}`", key.name), keys));
                }
            }
            let find = |wanted: &&str| {
                pairs
                    .iter()
                    .find(|(name, _)| name.name == **wanted)
                    .map(|(_, node)| node.clone())
            };
            Some(keys.iter().map(find).collect())
        };
        match key.name.as_str() {
            "full" => Literal::parse(value, problems).map(Self::Full),
            "arange" => {
                let Some(found) = settings(&ARANGE_KEYS, problems) else {
                    let start = Some(Literal::parse(value, problems)?);
                    return Some(Self::Arange {
                        start,
                        step: None,
                        span: value.span,
                    });
                };
                let mut found = found
                    .into_iter()
                    .map(|node| node.and_then(|node| Literal::parse(&node, problems)));
                Some(Self::Arange {
                    start: found.next()?,
                    step: found.next()?,
                    span: value.span,
                })
            }
            "random" => {
                let Some(found) = settings(&RANDOM_KEYS, problems) else {
                    let seed = Some(ValueTemplate::parse(value, problems)?);
                    return Some(Self::Random {
                        seed,
                        low: None,
                        high: None,
                        edges: None,
                        span: value.span,
                    });
                };
                let mut found = found
                    .into_iter()
                    .map(|node| node.and_then(|node| ValueTemplate::parse(&node, problems)));
                Some(Self::Random {
                    seed: found.next()?,
                    low: found.next()?,
                    high: found.next()?,
                    edges: found.next()?,
                    span: value.span,
                })
            }
            "addresses" => {
                let Yaml::Seq(items) = &value.value else {
                    problems.push(
                        Diagnostic::error(
                            "wrong-type",
                            value.span,
                            format!("`addresses` is {}", value.value.kind()),
                        )
                        .help("write a list of tensors: `{ addresses: [x, y[1:]] }`"),
                    );
                    return None;
                };
                let read: Vec<_> = items
                    .iter()
                    .filter_map(|item| ValueTemplate::parse(item, problems))
                    .collect();
                (read.len() == items.len()).then_some(Self::Addresses(read, value.span))
            }
            other => {
                let mut problem =
                    Diagnostic::error("unknown-fill", key.span, format!("unknown fill `{other}`"));
                problem.help = if WORDS.contains(&other) {
                    Some(format!("write `fill: {other}`, without a value"))
                } else {
                    suggest_spelling(other, WORDS.into_iter().chain(["full", "addresses", "bytes"]))
                };
                problems.push(problem);
                None
            }
        }
    }

    /// Whether the fill needs tensors that are not named yet.
    pub fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::Expression(value) => find_word(value, names).is_some() || value.is_known(names),
            Self::Addresses(items, _) => items.iter().all(|item| item.is_known(names)),
            Self::Values(nested, _) => nested.is_known(names),
            Self::Full(value) => value.is_known(names),
            Self::RecordedRun(bytes) => bytes.is_known(names),
            _ => true,
        }
    }

    /// Whether the fill needs any of these names.
    pub fn mentions_any(&self, names: &Names, wanted: &HashSet<String>) -> bool {
        match self {
            Self::Expression(value) | Self::Full(Literal::Value(value) | Literal::Bits(value)) => {
                value.mentions_any(names, wanted)
            }
            Self::Addresses(items, _) => items.iter().any(|item| item.mentions_any(names, wanted)),
            Self::RecordedRun(bytes) => bytes.mentions_any(names, wanted),
            Self::Values(nested, _) => {
                let mut leaves = Vec::new();
                nested.collect_leaves(&mut leaves);
                leaves.into_iter().any(|leaf| match leaf {
                    Literal::Value(value) | Literal::Bits(value) => value.mentions_any(names, wanted),
                })
            }
            _ => false,
        }
    }

    /// A description of the fill at a point.
    pub fn describe(&self, names: &Names) -> Result<String, Diagnostic> {
        let optional = |literal: &Option<Literal>, default: &str| -> Result<String, Diagnostic> {
            literal
                .as_ref()
                .map_or_else(|| Ok(default.to_owned()), |literal| literal.describe(names))
        };
        Ok(match self {
            Self::Word(word) => word.render(names)?.into_owned(),
            Self::Expression(value) => value.render_text(names)?,
            Self::Full(value) => format!("full {}", value.describe(names)?),
            Self::Arange { start, step, .. } => {
                format!(
                    "arange from {} by {}",
                    optional(start, "0")?,
                    optional(step, "1")?
                )
            }
            Self::Random {
                seed,
                low,
                high,
                edges,
                ..
            } => {
                let mut text = "random".to_owned();
                for (key, value) in [("seed", seed), ("low", low), ("high", high), ("edges", edges)] {
                    if let Some(value) = value {
                        for part in [" ", key, " ", &value.render_text(names)?] {
                            text.push_str(part);
                        }
                    }
                }
                text
            }
            Self::Values(..) => "values".to_owned(),
            Self::Addresses(items, _) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| item.render_text(names))
                    .collect::<Result<_, _>>()?;
                format!("addresses of {}", items.join(", "))
            }
            Self::RecordedRun(bytes) => bytes.describe(names)?,
        })
    }

    /// The contents that follow from elements' indices alone.
    fn read_contents(
        &self,
        dtype: DType,
        names: &Names,
        storages: &mut Storages,
    ) -> Result<Contents, Diagnostic> {
        Ok(match self {
            Self::Word(template) => {
                let text = template.render(names)?;
                known_word(&text, template.span)?;
                read_word(&text, dtype)
            }
            Self::Expression(value) => match find_word(value, names) {
                Some(word) => read_word(&word, dtype),
                None => Contents::Other,
            },
            Self::Full(value) => match value.evaluate(dtype, names, storages)? {
                Element::Bits(bits) => Contents::Computed(Elements::Constant(bits)),
                Element::Uninit => Contents::Uninit,
                Element::Address(target, offset) => Contents::Address(target, offset),
            },
            Self::Arange { start, step, span } => Contents::Computed(Elements::Arange {
                start: evaluate_number(start.as_ref(), 0, *span, names, storages)?,
                step: evaluate_number(step.as_ref(), 1, *span, names, storages)?,
            }),
            Self::Random {
                seed,
                low,
                high,
                edges,
                span,
            } => Contents::Computed(Elements::Random(Random::read(
                dtype,
                names,
                seed.as_ref(),
                low.as_ref(),
                high.as_ref(),
                edges.as_ref(),
                *span,
            )?)),
            Self::Values(..) | Self::Addresses(..) | Self::RecordedRun(_) => Contents::Other,
        })
    }

    /// Sets the content of a sparse storage. A fill that isn't computed is an error at `span`.
    pub fn write_sparse(
        &self,
        tensor: &Tensor,
        names: &Names,
        storages: &mut Storages,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let (id, dtype) = (tensor.storage, tensor.dtype);
        match self.read_contents(dtype, names, storages)? {
            Contents::Uninit => Ok(()),
            Contents::Computed(elements) => {
                storages.set_content(id, Computed { dtype, elements }.into_content());
                Ok(())
            }
            Contents::Address(..) | Contents::Other => {
                let name = storages.get(id).map_or("?", Storage::name);
                let message = format!(
                    "storage `{name}` of {} bytes has a fill that takes memory for every element",
                    storages.size(id)
                );
                Err(Diagnostic::error("too-large", span, message).help(format!(
                    "make the shapes smaller ({MAX_BYTES} bytes together), or use a fill that is computed: `uninit`, `zeros`, \
                     `ones`, `{{ full: … }}`, `arange` or `random`"
                )))
            }
        }
    }

    /// Writes the elements of a storage's tensor, wherever in the storage they are. The storage isn't sparse.
    pub fn write(
        &self,
        tensor: &Tensor,
        names: &Names,
        storages: &mut Storages,
        beside: ArchiveLookup<'_>,
    ) -> Result<(), Diagnostic> {
        let (id, dtype, shape) = (tensor.storage, tensor.dtype, &tensor.shape[..]);
        let count = usize::try_from(tensor.numel()).unwrap_or_default();
        match self.read_contents(dtype, names, storages)? {
            Contents::Uninit => return Ok(()),
            Contents::Address(target, offset) => {
                for start in tensor.element_starts() {
                    storages.write_pointer(id, start, target, offset);
                }
                return Ok(());
            }
            Contents::Computed(elements) => {
                let mut bytes = Vec::with_capacity(count.saturating_mul(dtype.size()));
                Computed { dtype, elements }.append(&mut bytes, 0, count);
                if tensor.offset == 0 && tensor.is_contiguous() {
                    storages.write(id, 0, &bytes);
                } else {
                    for (start, element) in tensor.element_starts().zip(bytes.chunks_exact(dtype.size())) {
                        storages.write(id, start, element);
                    }
                }
                return Ok(());
            }
            Contents::Other => {}
        }
        match self {
            Self::Expression(value) => {
                let list = value.evaluate(names, storages)?;
                let span = value.span();
                let nested = match &list {
                    Value::List(_) | Value::Tuple(_) => Nested::from_value(&list, span),
                    other => {
                        return Err(reject_type(span, other, "a list of values")
                            .help("write a fill such as `zeros`, or an expression that gives a list"));
                    }
                };
                nested.write(tensor, names, storages, span)
            }
            Self::Values(nested, span) => nested.write(tensor, names, storages, *span),
            Self::Addresses(items, span) => {
                takes_addresses(dtype, *span)?;
                if items.len() != count {
                    return Err(count_problem(*span, items.len(), shape, count));
                }
                for (start, item) in tensor.element_starts().zip(items) {
                    match to_address(&item.evaluate(names, storages)?) {
                        Some(Some((target, offset))) => {
                            storages.write_pointer(id, start, target, offset);
                        }
                        Some(None) => {
                            storages.write(id, start, &[0; 8]);
                        }
                        None => {
                            return Err(Diagnostic::error(
                                "wrong-type",
                                item.span(),
                                "an address of something that is not a tensor",
                            )
                            .help("name a tensor, `x.data_ptr() + 4`, or null"));
                        }
                    }
                }
                Ok(())
            }
            Self::RecordedRun(recorded) => recorded.write(tensor, names, storages, beside),
            // Their contents follow from indices.
            Self::Word(_) | Self::Full(_) | Self::Arange { .. } | Self::Random { .. } => Ok(()),
        }
    }
}

/// A number of an `arange`.
fn evaluate_number(
    literal: Option<&Literal>,
    default: i128,
    span: Span,
    names: &Names,
    storages: &mut Storages,
) -> Result<Value, Diagnostic> {
    match literal {
        None => Ok(Value::Int(default)),
        Some(Literal::Value(value)) => match value.evaluate(names, storages)? {
            value @ (Value::Int(_) | Value::Float(_)) => Ok(value),
            other => Err(reject_type(value.span(), &other, "a number")),
        },
        Some(Literal::Bits(_)) => {
            Err(Diagnostic::error("wrong-type", span, "`bits` in an `arange`").help("write a number"))
        }
    }
}

/// The word that an expression is at a point, if it is one.
fn find_word(value: &ValueTemplate, names: &Names) -> Option<String> {
    value
        .render_text(names)
        .ok()
        .filter(|text| WORDS.contains(&text.as_str()))
}

/// The contents of a storage before they are written.
enum Contents {
    /// None.
    Uninit,
    /// Each element follows from its index.
    Computed(Elements),
    /// The same address in every element.
    Address(StorageId, i64),
    /// A list, or bytes.
    Other,
}

/// The contents that a known word means.
fn read_word(word: &str, dtype: DType) -> Contents {
    Contents::Computed(match word {
        "uninit" => return Contents::Uninit,
        "zeros" => Elements::Constant(0),
        "ones" => Elements::Constant(encode_int(dtype, 1)),
        "arange" => Elements::Arange {
            start: Value::Int(0),
            step: Value::Int(1),
        },
        _ => Elements::Random(Random::new(dtype, 0)),
    })
}

fn known_word(word: &str, span: Span) -> Result<(), Diagnostic> {
    if WORDS.contains(&word) {
        return Ok(());
    }
    let mut problem = Diagnostic::error("unknown-fill", span, format!("unknown fill `{word}`"));
    problem.help = if MAPPINGS.contains(&word) {
        Some(format!("write it with its value: `{{ {word}: … }}`"))
    } else {
        suggest_spelling(word, WORDS.into_iter().chain(["full", "addresses", "bytes"]))
    };
    Err(problem)
}

/// `start + i * step`: integers wrap as the dtype does, floats are rounded once.
/// Elements from the `first` on.
fn arange(bytes: &mut Vec<u8>, dtype: DType, first: u64, count: usize, start: &Value, step: &Value) {
    let number = |value: &Value| match value {
        Value::Int(value) => *value as f64,
        Value::Float(value) => *value,
        _ => 0.0,
    };
    let mut at = first;
    append(bytes, dtype, count, || {
        let index = at;
        at = at.wrapping_add(1);
        if let (Value::Int(start), Value::Int(step)) = (start, step) {
            let value = start.wrapping_add(step.wrapping_mul(i128::from(index)));
            return encode_int(dtype, if dtype == DType::I1 { value & 1 } else { value });
        }
        let value = number(start) + number(step) * index as f64;
        if dtype.is_float() {
            encode(dtype, value, Rounding::NearestEven)
        } else {
            encode_int(dtype, value as i128)
        }
    });
}
