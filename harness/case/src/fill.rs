//! The first contents of a storage. Left out: where fills are written in a file's text (`schema`).

use std::collections::HashSet;

use conch_memory::{StorageId, Storages};
use conch_tile::DType;
use conch_tile::diagnostic::Diagnostic;
use conch_tile::ir::Rounding;
use conch_tile::numeric::{decode_int, encode, encode_int};
use conch_tile::source::Span;

use crate::expr::{Names, Value};
use crate::nearest::suggestion;
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};

/// A fill as the file has it.
#[derive(Clone, Debug)]
pub(crate) enum Fill {
    /// `zeros`, `ones`, `arange`, `random`, `uninit`; the word may have placeholders.
    Word(Template),
    /// `"[i * i for i in range(8)]"`; it may also give a word at some points.
    Expression(ValueTemplate),
    /// `{ full: 3 }`.
    Full(Literal),
    /// `{ arange: { start: 1, step: 2 } }`.
    Arange { start: Option<Literal>, step: Option<Literal>, span: Span },
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
}

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

const WORDS: [&str; 5] = ["zeros", "ones", "arange", "random", "uninit"];
const MAPPINGS: [&str; 4] = ["full", "arange", "random", "addresses"];

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
            Yaml::Map(pairs) => match &pairs[..] {
                [(key, value)] => Self::mapping(key, value, problems),
                _ => {
                    problems.push(
                        Diagnostic::error("wrong-type", node.span, "a fill with several keys")
                            .help("write one of `full`, `arange`, `random` and `addresses`"),
                    );
                    None
                }
            },
            other => {
                problems.push(
                    Diagnostic::error("wrong-type", node.span, format!("`fill` is {}", other.kind()))
                        .help("write `zeros`, `ones`, `arange`, `random`, `uninit`, `{ full: 3 }` or a list of values"),
                );
                None
            }
        }
    }

    fn mapping(key: &Key, value: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let settings = |keys: &[&str], problems: &mut Vec<Diagnostic>| -> Option<Vec<Option<Node>>> {
            let Yaml::Map(pairs) = &value.value else { return None };
            for (name, _) in pairs {
                if !keys.contains(&name.name.as_str()) {
                    problems.push(unknown_key(name, &format!("fill `{}`", key.name), keys));
                }
            }
            let find = |wanted: &&str| pairs.iter().find(|(name, _)| name.name == **wanted).map(|(_, node)| node.clone());
            Some(keys.iter().map(find).collect())
        };
        match key.name.as_str() {
            "full" => Literal::parse(value, problems).map(Self::Full),
            "arange" => {
                let Some(found) = settings(&["start", "step"], problems) else {
                    let start = Some(Literal::parse(value, problems)?);
                    return Some(Self::Arange { start, step: None, span: value.span });
                };
                let mut found =
                    found.into_iter().map(|node| node.and_then(|node| Literal::parse(&node, problems)));
                Some(Self::Arange { start: found.next()?, step: found.next()?, span: value.span })
            }
            "random" => {
                let Some(found) = settings(&["seed", "low", "high", "edges"], problems) else {
                    let seed = Some(ValueTemplate::parse(value, problems)?);
                    return Some(Self::Random { seed, low: None, high: None, edges: None, span: value.span });
                };
                let mut found =
                    found.into_iter().map(|node| node.and_then(|node| ValueTemplate::parse(&node, problems)));
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
                        Diagnostic::error("wrong-type", value.span, format!("`addresses` is {}", value.value.kind()))
                            .help("write a list of tensors: `{ addresses: [x, y[1:]] }`"),
                    );
                    return None;
                };
                let read: Vec<_> = items.iter().filter_map(|item| ValueTemplate::parse(item, problems)).collect();
                (read.len() == items.len()).then_some(Self::Addresses(read, value.span))
            }
            other => {
                let mut problem = Diagnostic::error("unknown-fill", key.span, format!("unknown fill `{other}`"));
                problem.help = if WORDS.contains(&other) {
                    Some(format!("write `fill: {other}`, without a value"))
                } else {
                    suggestion(other, WORDS.into_iter().chain(["full", "addresses"]))
                };
                problems.push(problem);
                None
            }
        }
    }

    /// Whether the fill needs tensors that are not named yet.
    pub fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::Expression(value) => word(value, names).is_some() || value.is_known(names),
            Self::Addresses(items, _) => items.iter().all(|item| item.is_known(names)),
            Self::Values(nested, _) => nested.is_known(names),
            Self::Full(value) => value.is_known(names),
            _ => true,
        }
    }

    /// Whether the fill needs any of these names.
    pub fn mentions(&self, names: &Names, wanted: &HashSet<String>) -> bool {
        match self {
            Self::Expression(value) => value.mentions(names, wanted),
            Self::Addresses(items, _) => items.iter().any(|item| item.mentions(names, wanted)),
            Self::Values(nested, _) => {
                let mut leaves = Vec::new();
                nested.leaves(&mut leaves);
                leaves.into_iter().any(|leaf| match leaf {
                    Literal::Value(value) | Literal::Bits(value) => value.mentions(names, wanted),
                })
            }
            Self::Full(Literal::Value(value) | Literal::Bits(value)) => value.mentions(names, wanted),
            _ => false,
        }
    }

    /// The fill in words at a point.
    pub fn describe(&self, names: &Names) -> Result<String, Diagnostic> {
        let optional = |literal: &Option<Literal>, default: &str| -> Result<String, Diagnostic> {
            literal.as_ref().map_or_else(|| Ok(default.to_owned()), |literal| literal.describe(names))
        };
        Ok(match self {
            Self::Word(word) => word.render(names)?.into_owned(),
            Self::Expression(value) => value.text(names)?,
            Self::Full(value) => format!("full {}", value.describe(names)?),
            Self::Arange { start, step, .. } => {
                format!("arange from {} by {}", optional(start, "0")?, optional(step, "1")?)
            }
            Self::Random { seed, low, high, edges, .. } => {
                let mut text = "random".to_owned();
                for (key, value) in [("seed", seed), ("low", low), ("high", high), ("edges", edges)] {
                    if let Some(value) = value {
                        text.push_str(&format!(" {key} {}", value.text(names)?));
                    }
                }
                text
            }
            Self::Values(..) => "values".to_owned(),
            Self::Addresses(items, _) => {
                let items: Vec<_> = items.iter().map(|item| item.text(names)).collect::<Result<_, _>>()?;
                format!("addresses of {}", items.join(", "))
            }
        })
    }

    /// Writes the contents of a storage of `dtype` and `shape`.
    pub fn write(
        &self,
        id: StorageId,
        dtype: DType,
        shape: &[i64],
        names: &Names,
        storages: &mut Storages,
    ) -> Result<(), Diagnostic> {
        let count = storages.size(id) / dtype.size().max(1);
        let mut bytes = Vec::with_capacity(count.saturating_mul(dtype.size()));
        match self {
            Self::Word(template) => {
                let text = template.render(names)?;
                known_word(&text, template.span)?;
                if text == "uninit" {
                    return Ok(());
                }
                plain(&text, &mut bytes, dtype, count);
            }
            Self::Expression(value) => {
                let text = word(value, names);
                match text.as_deref() {
                    Some("uninit") => return Ok(()),
                    Some(text) => plain(text, &mut bytes, dtype, count),
                    None => {
                        let list = value.evaluate(names, storages)?;
                        let span = value.span();
                        let nested = match &list {
                            Value::List(_) | Value::Tuple(_) => Nested::of(&list, span),
                            other => {
                                return Err(wrong(span, other, "a list of values")
                                    .help("write a fill such as `zeros`, or an expression that gives a list"));
                            }
                        };
                        return nested.write(id, dtype, shape, names, storages, span);
                    }
                }
            }
            Self::Full(value) => match value.bits(dtype, names, storages)? {
                Element::Bits(bits) => (0..count).for_each(|_| push(&mut bytes, dtype, bits)),
                Element::Uninit => return Ok(()),
                Element::Address(target, offset) => {
                    for at in 0..count {
                        storages.write_pointer(id, at * 8, target, offset);
                    }
                    return Ok(());
                }
            },
            Self::Arange { start, step, span } => {
                let mut number = |literal: &Option<Literal>, default| match literal {
                    None => Ok(Value::Int(default)),
                    Some(Literal::Value(value)) => match value.evaluate(names, storages)? {
                        value @ (Value::Int(_) | Value::Float(_)) => Ok(value),
                        other => Err(wrong(value.span(), &other, "a number")),
                    },
                    Some(Literal::Bits(_)) => {
                        Err(Diagnostic::error("wrong-type", *span, "`bits` in an `arange`").help("write a number"))
                    }
                };
                let (start, step) = (number(start, 0)?, number(step, 1)?);
                arange(&mut bytes, dtype, count, &start, &step);
            }
            Self::Random { seed, low, high, edges, span } => {
                let random = Random::read(dtype, names, seed.as_ref(), low.as_ref(), high.as_ref(), edges.as_ref(), *span)?;
                random.fill(&mut bytes, count);
            }
            Self::Values(nested, span) => return nested.write(id, dtype, shape, names, storages, *span),
            Self::Addresses(items, span) => {
                if !matches!(dtype, DType::I64 | DType::U64) {
                    return Err(Diagnostic::error("wrong-dtype", *span, format!("addresses in a storage of {dtype}"))
                        .help("give the storage the dtype i64 or u64"));
                }
                if items.len() != count {
                    return Err(count_problem(*span, items.len(), shape, count));
                }
                for (at, item) in items.iter().enumerate() {
                    match address(&item.evaluate(names, storages)?) {
                        Some(Some((target, offset))) => {
                            storages.write_pointer(id, at * 8, target, offset);
                        }
                        Some(None) => {
                            storages.write(id, at * 8, &[0; 8]);
                        }
                        None => {
                            return Err(Diagnostic::error("wrong-type", item.span(), "an address of something that is no tensor")
                                .help("name a tensor, `x.data_ptr() + 4`, or null"));
                        }
                    }
                }
                return Ok(());
            }
        }
        storages.write(id, 0, &bytes);
        Ok(())
    }
}

/// The place that a value points to; `Some(None)` for the null pointer, `None` for what is no address.
#[allow(clippy::option_option)]
fn address(value: &Value) -> Option<Option<(StorageId, i64)>> {
    match value {
        Value::Tensor(tensor) => Some(Some((tensor.storage, tensor.byte_offset()))),
        Value::Address(address) => Some(Some((address.storage, address.offset))),
        Value::None => Some(None),
        _ => None,
    }
}

/// The word that an expression is at a point, if it is one.
fn word(value: &ValueTemplate, names: &Names) -> Option<String> {
    value.text(names).ok().filter(|text| WORDS.contains(&text.as_str()))
}

/// The contents that a word other than `uninit` means.
fn plain(word: &str, bytes: &mut Vec<u8>, dtype: DType, count: usize) {
    match word {
        "zeros" => bytes.resize(count * dtype.size(), 0),
        "ones" => (0..count).for_each(|_| push(bytes, dtype, encode_int(dtype, 1))),
        "arange" => arange(bytes, dtype, count, &Value::Int(0), &Value::Int(1)),
        _ => Random::new(dtype, 0).fill(bytes, count),
    }
}

fn known_word(word: &str, span: Span) -> Result<(), Diagnostic> {
    if WORDS.contains(&word) {
        return Ok(());
    }
    let mut problem = Diagnostic::error("unknown-fill", span, format!("unknown fill `{word}`"));
    problem.help = if MAPPINGS.contains(&word) {
        Some(format!("write it with its value: `{{ {word}: … }}`"))
    } else {
        suggestion(word, WORDS.into_iter().chain(["full", "addresses"]))
    };
    Err(problem)
}

/// An unknown key, with the nearest known one.
pub(crate) fn unknown_key(key: &Key, what: &str, known: &[&str]) -> Diagnostic {
    let mut problem = Diagnostic::error("unknown-key", key.span, format!("unknown key `{}` in {what}", key.name));
    problem.help = suggestion(&key.name, known.iter().copied());
    problem
}

fn wrong(span: Span, value: &Value, wanted: &str) -> Diagnostic {
    Diagnostic::error("wrong-type", span, format!("{value}, of type {}, where {wanted} belongs", value.kind()))
        .help(format!("write {wanted}"))
}

fn count_problem(span: Span, found: usize, shape: &[i64], count: usize) -> Diagnostic {
    Diagnostic::error("wrong-count", span, format!("{found} values for a storage of shape {shape:?}"))
        .help(format!("give {count} values, flat or as nested as the shape"))
}

/// The bits of one element in memory.
enum Element {
    Bits(u64),
    Uninit,
    Address(StorageId, i64),
}

impl Literal {
    fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Yaml::Str(text) = &node.value
            && let Some(inner) = text.trim().strip_prefix("bits(").and_then(|rest| rest.strip_suffix(')'))
        {
            let at = node.text_at.zip(text.find(inner)).map(|(at, skipped)| at + skipped as u32);
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

    fn describe(&self, names: &Names) -> Result<String, Diagnostic> {
        match self {
            Self::Value(value) => value.text(names),
            Self::Bits(value) => Ok(format!("bits({})", value.text(names)?)),
        }
    }

    fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::Value(value) | Self::Bits(value) => value.is_known(names),
        }
    }

    fn bits(&self, dtype: DType, names: &Names, storages: &mut Storages) -> Result<Element, Diagnostic> {
        let out_of_range = |value: &Value, span| {
            Diagnostic::error("out-of-range", span, format!("{value} is out of range for {dtype}"))
                .help("write a value that the dtype holds, or its bits as `bits(0x…)`")
        };
        match self {
            Self::Bits(template) => {
                let value = template.evaluate(names, storages)?;
                let Value::Int(bits) = value else { return Err(wrong(template.span(), &value, "an integer")) };
                let limit = 1i128 << if dtype == DType::I1 { 8 } else { dtype.bits() };
                if !(0..limit).contains(&bits) {
                    return Err(out_of_range(&value, template.span()).help(format!("{dtype} has {} bits", dtype.bits())));
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
                        return Err(Diagnostic::error("wrong-dtype", span, format!("an address in a storage of {dtype}"))
                            .help("give the storage the dtype i64 or u64"));
                    }
                    Value::Tensor(_) => {
                        return Err(wrong(span, &value, "a number")
                            .help("for its address write `{ addresses: […] }`, or `x.data_ptr()`"));
                    }
                    other => return Err(wrong(span, other, "a number")),
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
    fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let Yaml::Seq(items) = &node.value else { return Literal::parse(node, problems).map(Self::One) };
        let read: Vec<_> = items.iter().filter_map(|item| Self::parse(item, problems)).collect();
        (read.len() == items.len()).then_some(Self::Many(read))
    }

    /// The values of a list.
    fn of(value: &Value, span: Span) -> Self {
        match value {
            Value::List(items) | Value::Tuple(items) => Self::Many(items.iter().map(|item| Self::of(item, span)).collect()),
            other => Self::One(Literal::Value(ValueTemplate::Constant(other.clone(), span))),
        }
    }

    fn is_known(&self, names: &Names) -> bool {
        match self {
            Self::One(literal) => literal.is_known(names),
            Self::Many(items) => items.iter().all(|item| item.is_known(names)),
        }
    }

    fn leaves<'a>(&'a self, out: &mut Vec<&'a Literal>) {
        match self {
            Self::One(literal) => out.push(literal),
            Self::Many(items) => items.iter().for_each(|item| item.leaves(out)),
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

    fn write(
        &self,
        id: StorageId,
        dtype: DType,
        shape: &[i64],
        names: &Names,
        storages: &mut Storages,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let mut leaves = Vec::new();
        self.leaves(&mut leaves);
        let count = storages.size(id) / dtype.size().max(1);
        let flat = matches!(self, Self::Many(items) if items.iter().all(|item| matches!(item, Self::One(_))));
        if leaves.len() != count || !(flat || self.has_shape(shape)) {
            return Err(count_problem(span, leaves.len(), shape, count));
        }
        for (at, literal) in leaves.into_iter().enumerate() {
            let offset = at * dtype.size();
            match literal.bits(dtype, names, storages)? {
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

fn push(bytes: &mut Vec<u8>, dtype: DType, bits: u64) {
    bytes.extend(bits.to_le_bytes().into_iter().take(dtype.size()));
}

/// `start + i * step`: integers wrap as the dtype does, floats are rounded once.
fn arange(bytes: &mut Vec<u8>, dtype: DType, count: usize, start: &Value, step: &Value) {
    for at in 0..count {
        let bits = match (start, step) {
            (Value::Int(start), Value::Int(step)) => {
                let value = start.wrapping_add(step.wrapping_mul(at as i128));
                encode_int(dtype, if dtype == DType::I1 { value & 1 } else { value })
            }
            _ => {
                let number = |value: &Value| match value {
                    Value::Int(value) => *value as f64,
                    Value::Float(value) => *value,
                    _ => 0.0,
                };
                let value = number(start) + number(step) * at as f64;
                if dtype.is_float() {
                    encode(dtype, value, Rounding::NearestEven)
                } else {
                    encode_int(dtype, value as i128)
                }
            }
        };
        push(bytes, dtype, bits);
    }
}

/// Seeded numbers, the same on every machine and in every version of Conch: SplitMix64.
struct Random {
    dtype: DType,
    state: u64,
    /// From the first up to, and without, the second; floats without one are of any magnitude near 1.
    range: Option<(Value, Value)>,
    edges: bool,
}

impl Random {
    /// Integers of the whole range, floats of many magnitudes, edge values.
    fn new(dtype: DType, seed: u64) -> Self {
        let range = (!dtype.is_float()).then(|| {
            let bits = dtype.bits();
            let low = if dtype.is_signed_int() && dtype != DType::I1 { -(1i128 << (bits - 1)) } else { 0 };
            (Value::Int(low), Value::Int(low + (1i128 << bits)))
        });
        Self { dtype, state: seed, range, edges: true }
    }

    fn read(
        dtype: DType,
        names: &Names,
        seed: Option<&ValueTemplate>,
        low: Option<&ValueTemplate>,
        high: Option<&ValueTemplate>,
        edges: Option<&ValueTemplate>,
        span: Span,
    ) -> Result<Self, Diagnostic> {
        let evaluate = |template: &ValueTemplate| template.evaluate(names, &mut Storages::new());
        let seed = match seed {
            None => 0,
            Some(template) => match evaluate(template)? {
                Value::Int(seed) if u64::try_from(seed).is_ok() => seed as u64,
                other => return Err(wrong(template.span(), &other, "a seed from 0 to 2^64 - 1")),
            },
        };
        let mut random = Self::new(dtype, seed);
        let bound = |template: Option<&ValueTemplate>, default: Value| -> Result<Value, Diagnostic> {
            let Some(template) = template else { return Ok(default) };
            match evaluate(template)? {
                Value::Int(value) if dtype.is_float() => Ok(Value::Float(value as f64)),
                value @ Value::Int(_) => Ok(value),
                Value::Float(value) if dtype.is_float() && value.is_finite() => Ok(Value::Float(value)),
                other => Err(wrong(template.span(), &other, if dtype.is_float() { "a number" } else { "an integer" })),
            }
        };
        if low.is_some() || high.is_some() {
            random.edges = false;
            let whole = random.range.take();
            let (least, most) = whole.clone().unwrap_or((Value::Float(-1.0), Value::Float(1.0)));
            let (low, high) = (bound(low, least)?, bound(high, most)?);
            let ordered = match (&low, &high, &whole) {
                (Value::Int(low), Value::Int(high), Some((Value::Int(least), Value::Int(most)))) => {
                    least <= low && low < high && high <= most
                }
                (Value::Float(low), Value::Float(high), _) => low < high,
                _ => false,
            };
            if !ordered {
                return Err(Diagnostic::error("out-of-range", span, format!("random numbers from {low} to {high} for {dtype}"))
                    .help("`low` is included and `high` is not; both must fit the dtype"));
            }
            random.range = Some((low, high));
        }
        if let Some(template) = edges {
            match evaluate(template)? {
                Value::Bool(value) => random.edges = value,
                other => return Err(wrong(template.span(), &other, "true or false")),
            }
        }
        Ok(random)
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One in four elements is an edge value when those are asked for.
    fn fill(mut self, bytes: &mut Vec<u8>, count: usize) {
        let edges = if self.edges { edges(self.dtype) } else { Vec::new() };
        for _ in 0..count {
            let draw = self.next();
            if !edges.is_empty() && draw % 4 == 0 {
                let at = (draw >> 2) as usize % edges.len();
                push(bytes, self.dtype, edges.get(at).copied().unwrap_or(0));
                continue;
            }
            let bits = match &self.range {
                Some((Value::Int(low), Value::Int(high))) => {
                    let width = (high - low).max(1) as u128;
                    // The high part of the product is uniform up to one part in 2^64 / width.
                    let offset = (u128::from(draw) * width) >> 64;
                    encode_int(self.dtype, low + offset as i128)
                }
                Some((Value::Float(low), Value::Float(high))) => {
                    let unit = (draw >> 11) as f64 / (1u64 << 53) as f64;
                    encode(self.dtype, low + (high - low) * unit, Rounding::NearestEven)
                }
                _ => {
                    // Sign, 52 bits of mantissa, and an exponent from -8 to 7.
                    let exponent = 1023 - 8 + (draw >> 2 & 15);
                    let value = f64::from_bits(draw & 1 << 63 | exponent << 52 | (draw >> 11 & ((1 << 52) - 1)));
                    encode(self.dtype, value, Rounding::NearestEven)
                }
            };
            push(bytes, self.dtype, bits);
        }
    }
}

/// The bits of values at which arithmetic changes its ways: zeros, ones, ends of the range, subnormals, infinities
/// and a NaN where the dtype has them.
fn edges(dtype: DType) -> Vec<u64> {
    let bits = dtype.bits();
    if dtype.is_int() {
        let ones = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        let half = 1u64 << (bits / 2);
        let mut all = vec![0, 1, ones, ones ^ 1, top, top.wrapping_sub(1), top | 1, half, half.wrapping_sub(1)];
        all.iter_mut().for_each(|value| *value &= ones);
        all.sort_unstable();
        all.dedup();
        return all;
    }
    let sign = 1u64 << (bits - 1);
    let mantissa = match dtype {
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F64 => 52,
        DType::F8E5 | DType::F8E5B16 => 2,
        DType::F8E4NV | DType::F8E4B8 | DType::F8E4B15 => 3,
        _ => 23,
    };
    let largest_subnormal = (1u64 << mantissa) - 1;
    let one = encode(dtype, 1.0, Rounding::NearestEven);
    let mut all = vec![0, one, one + 1, 1, largest_subnormal, largest_subnormal + 1];
    let ieee = matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E5);
    let infinity = sign - (1u64 << mantissa);
    match dtype {
        _ if ieee => all.extend([infinity - 1, infinity, infinity | 1u64 << (mantissa - 1)]),
        DType::F8E4NV => all.extend([0x7e, 0x7f]),
        _ => all.push(0x7f),
    }
    let has_negative_zero = !matches!(dtype, DType::F8E4B8 | DType::F8E5B16);
    let negative: Vec<u64> =
        all.iter().filter(|&&value| value != 0 || has_negative_zero).map(|value| value | sign).collect();
    all.extend(negative);
    if !has_negative_zero {
        all.push(sign);
    }
    all
}
