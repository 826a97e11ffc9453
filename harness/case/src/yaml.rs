//! YAML text to a tree in which every node knows its place.
//!
//! The values are `serde_yaml`'s; the places are `saphyr-parser`'s, which says where an event is and `serde_yaml` does not.
//! Both read the whole text and the two trees are laid over each other. `serde_yaml` is no longer maintained, so nothing
//! outside of this module knows of it.
//!
//! Left out: what the keys mean (`schema`), and of YAML: anchors and aliases, tags, several documents in a file, keys
//! that are not scalars. Those are errors, so the size of the tree is bounded by the size of the text.

use std::fmt;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use cerith_python::nearest::suggest_spelling;

/// How deep sequences and mappings may nest.
const MAX_DEPTH: usize = 32;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Where it is written.
    pub span: Span,
    /// For a scalar whose text stands in the file as it is: where the text begins, quotes left out.
    pub text_at: Option<u32>,
    /// What it is.
    pub value: Yaml,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Yaml {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Seq(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The text, also of a key that looks like a number.
    pub name: String,
    /// Where it is written.
    pub span: Span,
}

impl Key {
    /// That it is no key of `what`, with the nearest known one.
    pub fn reject_unknown(&self, what: &str, known: &[&str]) -> Diagnostic {
        let mut problem = Diagnostic::error(
            "unknown-key",
            self.span,
            format!("unknown key `{}` in {what}", self.name),
        );
        problem.help = suggest_spelling(&self.name, known.iter().copied());
        problem
    }
}

impl Yaml {
    /// What it is, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "text",
            Self::Seq(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

/// Reads one document. The first error ends it: behind it, nothing is certain.
pub(crate) fn parse(source: SourceId, text: &str) -> Result<Node, Diagnostic> {
    let place = Places::new(source, text);
    if let Some((at, c)) = text
        .char_indices()
        .find(|&(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        let span = place.to_byte_span(at, at + c.len_utf8());
        return Err(
            Diagnostic::error(CODE, span, format!("control character {c:?} in a case file"))
                .help("remove it; in a double-quoted string it can be written as an escape"),
        );
    }
    let outline = parse_outline(text, &place)?;
    let plain: Plain = serde_yaml::from_str(text).map_err(|error| {
        let at = error.location().map_or(0, |location| location.index());
        let words = error.to_string();
        let words = words
            .rsplit_once(" at line ")
            .map_or(words.as_str(), |(words, _)| words);
        Diagnostic::error(
            CODE,
            place.to_byte_span(at, at),
            format!("malformed YAML: {words}"),
        )
        .help(suggest_fix(words))
    })?;
    merge(outline, plain, text)
}

/// What to do about text that is no YAML.
fn suggest_fix(words: &str) -> &'static str {
    if words.contains("':'") || words.contains("mapping values") {
        "indent keys of one mapping alike, and put text that holds a colon and a space into quotes"
    } else if words.contains("recursion") {
        "nest it less deeply"
    } else if words.contains("tab") {
        "indent with spaces"
    } else {
        "indent each level alike, with spaces; close every bracket, brace and quote; put text that begins with a special \
         character into quotes"
    }
}

/// A span without the white space that it ends in.
fn trim_span(span: Span, text: &str) -> Span {
    let written = text
        .get(span.start as usize..span.end as usize)
        .unwrap_or_default();
    Span {
        end: span.start + written.trim_end().len() as u32,
        ..span
    }
}

const CODE: &str = "malformed-yaml";

/// Byte spans of one text from the character indices that saphyr counts.
struct Places {
    source: SourceId,
    /// Byte of every character, when some character takes several.
    bytes: Option<Vec<u32>>,
    len: u32,
}

impl Places {
    fn new(source: SourceId, text: &str) -> Self {
        let bytes = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at as u32).collect());
        Self {
            source,
            bytes,
            len: text.len() as u32,
        }
    }

    fn to_byte(&self, character: usize) -> u32 {
        let at = match &self.bytes {
            Some(bytes) => bytes.get(character).copied().unwrap_or(self.len),
            None => u32::try_from(character).unwrap_or(self.len),
        };
        at.min(self.len)
    }

    fn to_span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.to_byte(span.start.index());
        Span::new(self.source, start, self.to_byte(span.end.index()).max(start))
    }

    fn to_byte_span(&self, start: usize, end: usize) -> Span {
        let start = u32::try_from(start).unwrap_or(self.len).min(self.len);
        Span::new(
            self.source,
            start,
            u32::try_from(end).unwrap_or(self.len).clamp(start, self.len),
        )
    }
}

/// The shape of the document with places, without values.
struct Outline {
    span: Span,
    kind: OutlineKind,
}

enum OutlineKind {
    Scalar { text: String, style: ScalarStyle },
    Seq(Vec<Outline>),
    Map(Vec<(Outline, Outline)>),
}

/// A collection whose end has not come yet; `key` waits for its value.
struct Open {
    span: Span,
    map: bool,
    items: Vec<Outline>,
}

fn parse_outline(text: &str, place: &Places) -> Result<Outline, Diagnostic> {
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Outline> = None;
    let mut end = Span::default();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = place.to_byte(error.marker().index());
            Diagnostic::error(
                CODE,
                Span::new(place.source, at, at),
                format!("malformed YAML: {}", error.info()),
            )
            .help(suggest_fix(error.info()))
        })?;
        let span = place.to_span(span);
        let refuse = |what: &str, help: &str| {
            Err(Diagnostic::error(CODE, span, format!("{what} in a case file")).help(help))
        };
        if matches!(event, Event::Alias(_)) {
            return refuse("YAML alias", "write the value out, or make it a matrix variable");
        }
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag)
            | Event::SequenceStart(anchor, tag)
            | Event::MappingStart(anchor, tag) => (*anchor, tag.is_some()),
            _ => (0, false),
        };
        if anchor != 0 {
            return refuse("YAML anchor", "write the value out, or make it a matrix variable");
        }
        if tag {
            return refuse(
                "YAML tag",
                "leave the tag out: the format knows which type a key has",
            );
        }
        let done = match event {
            Event::DocumentStart(_) if root.is_some() => {
                return refuse("a second YAML document", "give every case a file of its own");
            }
            Event::Scalar(text, style, ..) => {
                let span = if span.start > span.end { end } else { span };
                Outline {
                    span,
                    kind: OutlineKind::Scalar {
                        text: text.into_owned(),
                        style,
                    },
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= MAX_DEPTH {
                    return refuse("YAML nested too deeply", "a case never needs so many levels");
                }
                open.push(Open {
                    span,
                    map: matches!(event, Event::MappingStart(..)),
                    items: Vec::new(),
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(closed) = open.pop() else { continue };
                close(closed, span, end)
            }
            _ => continue,
        };
        end = done.span;
        match open.last_mut() {
            Some(parent) => parent.items.push(done),
            None => root = Some(done),
        }
    }
    root.ok_or_else(|| {
        Diagnostic::error(CODE, place.to_byte_span(0, 0), "a case file with nothing in it")
            .help("begin with `about:`, `kernel:` and `launches:`")
    })
}

/// A collection of which the last item, and for the flow style the closing bracket, was seen.
fn close(open: Open, bracket: Span, last: Span) -> Outline {
    let end = if open.items.is_empty() {
        open.span.end
    } else {
        last.end
    };
    let span = Span {
        end: bracket.end.min(end.max(bracket.start + 1)).max(end),
        ..open.span
    };
    let kind = if open.map {
        let mut pairs = Vec::with_capacity(open.items.len() / 2);
        let mut items = open.items.into_iter();
        while let (Some(key), Some(value)) = (items.next(), items.next()) {
            pairs.push((key, value));
        }
        OutlineKind::Map(pairs)
    } else {
        OutlineKind::Seq(open.items)
    };
    Outline { span, kind }
}

/// Lays the values over the places. The recursion is as deep as [`MAX_DEPTH`] at most.
fn merge(outline: Outline, plain: Plain, text: &str) -> Result<Node, Diagnostic> {
    let span = trim_span(outline.span, text);
    let differently = || {
        Diagnostic::error(
            CODE,
            span,
            "YAML that its two versions, 1.1 and 1.2, read differently",
        )
        .help("quote the text, or write it another way")
    };
    let mut text_at = None;
    let value = match (outline.kind, plain) {
        (OutlineKind::Scalar { text: scalar, style }, plain) => {
            let value = match plain {
                Plain::Null => Yaml::Null,
                Plain::Bool(value) => Yaml::Bool(value),
                Plain::Int(value) => Yaml::Int(value),
                Plain::Float(_) if is_integer(&scalar) => {
                    return Err(Diagnostic::error(CODE, span, "an integer of more than 128 bits")
                        .help("no kernel takes such a number; write `1e40` for a float"));
                }
                Plain::Float(value) => Yaml::Float(value),
                Plain::Str(value) if value == scalar => Yaml::Str(value),
                Plain::Str(_) | Plain::Seq(_) | Plain::Map(_) => return Err(differently()),
            };
            let quote = u32::from(matches!(
                style,
                ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted
            ));
            let at = span.start + quote;
            let range = at as usize..at as usize + scalar.len();
            text_at = (text.get(range) == Some(scalar.as_str())).then_some(at);
            value
        }
        (OutlineKind::Seq(places), Plain::Seq(values)) if places.len() == values.len() => Yaml::Seq(
            places
                .into_iter()
                .zip(values)
                .map(|(outline, plain)| merge(outline, plain, text))
                .collect::<Result<_, _>>()?,
        ),
        (OutlineKind::Map(places), Plain::Map(values)) if places.len() == values.len() => {
            let mut pairs: Vec<(Key, Node)> = Vec::with_capacity(places.len());
            for ((key, value), (_, plain)) in places.into_iter().zip(values) {
                let OutlineKind::Scalar { text: name, .. } = key.kind else {
                    return Err(
                        Diagnostic::error(CODE, key.span, "a key that is not a plain word")
                            .help("quote text that begins with `[`, `{` or `?`"),
                    );
                };
                if let Some((first, _)) = pairs.iter().find(|(key, _)| key.name == name) {
                    return Err(Diagnostic::error(
                        "duplicate-key",
                        key.span,
                        format!("`{name}` is given twice"),
                    )
                    .label(first.span, "here first")
                    .help("leave one of them"));
                }
                pairs.push((Key { name, span: key.span }, merge(value, plain, text)?));
            }
            Yaml::Map(pairs)
        }
        _ => return Err(differently()),
    };
    Ok(Node { span, text_at, value })
}

/// Digits alone: YAML libraries read what does not fit as a float.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What `serde_yaml` makes of the text.
enum Plain {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Seq(Vec<Plain>),
    Map(Vec<(Plain, Plain)>),
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of at most 128 bits")
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
        Ok(Plain::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
        Ok(Plain::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
        Ok(Plain::Int(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Plain, E> {
        Ok(Plain::Int(value))
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Plain, E> {
        i128::try_from(value)
            .map(Plain::Int)
            .map_err(|_| E::custom("an integer of more than 128 bits"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
        Ok(Plain::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Plain, E> {
        Ok(Plain::Str(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Plain, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Plain::Seq(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Plain, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Plain::Map(pairs))
    }
}
