//! Parses YAML text to a tree in which every node has its location.
//!
//! `saphyr-parser` reads the text, and reports the location of each event. Scalars without quotes have the types of
//! YAML 1.2's core schema, and binary integers (`0b101`).
//!
//! Anchors and aliases, tags, several documents in a file, and keys that are not scalars are errors. So the size of
//! the tree is bounded by the size of the text. See `schema` for the meaning of keys.

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};

use cerith_python::nearest::suggest_spelling;

/// How deep sequences and mappings may nest.
const MAX_DEPTH: usize = 32;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Its location.
    pub span: Span,
    /// The start of the text, after any quotes; for scalars that the file has unescaped.
    pub text_at: Option<u32>,
    /// The node's value.
    pub value: Yaml,
}

/// The content of a node.
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
    /// Its location.
    pub span: Span,
}

impl Key {
    /// Reports that the key is unknown in `what`, with the nearest known one.
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
    /// Its kind, for messages.
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

/// Reads one document, up to the first error: after it, nothing is certain.
pub(crate) fn parse(source: SourceId, text: &str) -> Result<Node, Diagnostic> {
    let place = CharacterSpans::new(source, text);
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
    build_node(outline, text)
}

/// Suggests how to fix text that is not valid YAML.
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
struct CharacterSpans {
    source: SourceId,
    /// Byte of every character, when some character takes several.
    bytes: Option<Vec<u32>>,
    len: u32,
}

impl CharacterSpans {
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

fn parse_outline(text: &str, place: &CharacterSpans) -> Result<Outline, Diagnostic> {
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

/// Closes a collection after its last item and, in flow style, its closing bracket.
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

/// Reads the scalars of an outline. The recursion is as deep as [`MAX_DEPTH`] at most.
fn build_node(outline: Outline, text: &str) -> Result<Node, Diagnostic> {
    let span = trim_span(outline.span, text);
    let mut text_at = None;
    let value = match outline.kind {
        OutlineKind::Scalar { text: scalar, style } => {
            let quote = u32::from(matches!(
                style,
                ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted
            ));
            let at = span.start + quote;
            let range = at as usize..at as usize + scalar.len();
            text_at = (text.get(range) == Some(scalar.as_str())).then_some(at);
            if style == ScalarStyle::Plain {
                read_plain_scalar(scalar).ok_or_else(|| {
                    Diagnostic::error(CODE, span, "an integer of more than 128 bits")
                        .help("no kernel takes such a number; write `1e40` for a float")
                })?
            } else {
                Yaml::Str(scalar)
            }
        }
        OutlineKind::Seq(items) => Yaml::Seq(
            items
                .into_iter()
                .map(|item| build_node(item, text))
                .collect::<Result<_, _>>()?,
        ),
        OutlineKind::Map(entries) => {
            let mut pairs: Vec<(Key, Node)> = Vec::with_capacity(entries.len());
            for (key, value) in entries {
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
                pairs.push((Key { name, span: key.span }, build_node(value, text)?));
            }
            Yaml::Map(pairs)
        }
    };
    Ok(Node { span, text_at, value })
}

/// The value of a scalar without quotes; `None` if it is an integer that does not fit.
fn read_plain_scalar(text: String) -> Option<Yaml> {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Yaml::Null),
        "true" | "True" | "TRUE" => return Some(Yaml::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Yaml::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(&text);
    if let Some((digits, radix)) = find_digits(unsigned) {
        let sign = if text.starts_with('-') { "-" } else { "" };
        let value = i128::from_str_radix(&format!("{sign}{digits}"), radix);
        return value.ok().map(Yaml::Int);
    }
    let is_positive = !text.starts_with('-');
    Some(match unsigned {
        ".inf" | ".Inf" | ".INF" if is_positive => Yaml::Float(f64::INFINITY),
        ".inf" | ".Inf" | ".INF" => Yaml::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => Yaml::Float(f64::NAN),
        _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !is_digits(unsigned, 10) => {
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Yaml::Float(value),
                _ => Yaml::Str(text),
            }
        }
        _ => Yaml::Str(text),
    })
}

/// The digits of an integer and their radix. Decimal digits after a zero are text.
fn find_digits(unsigned: &str) -> Option<(&str, u32)> {
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = unsigned.strip_prefix(prefix) {
            return is_digits(digits, radix).then_some((digits, radix));
        }
    }
    let is_padded = unsigned.len() > 1 && unsigned.starts_with('0');
    (!is_padded && is_digits(unsigned, 10)).then_some((unsigned, 10))
}

fn is_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value as `serde_yaml` reads it, which wrote and read the corpus before.
    fn read_with_serde(text: &str) -> Option<Yaml> {
        use serde_yaml::Value;
        Some(match serde_yaml::from_str(text).ok()? {
            Value::Null => Yaml::Null,
            Value::Bool(value) => Yaml::Bool(value),
            Value::Number(number) if number.is_f64() => Yaml::Float(number.as_f64()?),
            Value::Number(number) => Yaml::Int(
                number
                    .as_i64()
                    .map_or_else(|| number.as_u64().map(i128::from), |value| Some(value.into()))?,
            ),
            Value::String(text) => Yaml::Str(text),
            _ => return None,
        })
    }

    #[test]
    fn scalars_have_the_types_that_serde_yaml_reads() {
        let stems = [
            "",
            "~",
            "null",
            "Null",
            "nULL",
            "true",
            "True",
            "tRUE",
            "yes",
            "no",
            "on",
            "false",
            "0",
            "1",
            "7",
            "00",
            "01",
            "0_1",
            "1_0",
            "12",
            "9223372036854775807",
            "18446744073709551615",
            "0x1F",
            "0xg",
            "0x",
            "0o17",
            "0o8",
            "0b101",
            "0b2",
            "1.5",
            "1.",
            ".5",
            ".",
            "..",
            "1e3",
            "1E-3",
            "1e",
            "e1",
            "1e400",
            "01.5",
            "1.5.2",
            ".inf",
            ".Inf",
            ".INF",
            ".iNF",
            ".nan",
            ".NaN",
            "inf",
            "nan",
            "infinity",
            "NaN",
            "n + 1",
            "f32",
            "1 2",
            "x",
            "0x1.8p3",
            "1:30",
            "2001-01-01",
            "٣",
        ];
        for stem in stems {
            for sign in ["", "-", "+", "--", "+-"] {
                let text = format!("{sign}{stem}");
                // `-` and `- x` are lists.
                let Some(expected) = read_with_serde(&text) else {
                    continue;
                };
                let actual = read_plain_scalar(text.clone());
                assert_eq!(format!("{actual:?}"), format!("{:?}", Some(expected)), "{text}");
            }
        }
    }

    #[test]
    fn integers_have_128_bits() {
        let largest = i128::MAX.to_string();
        assert_eq!(read_plain_scalar(largest.clone()), Some(Yaml::Int(i128::MAX)));
        assert_eq!(read_plain_scalar(format!("{largest}0")), None);
        assert_eq!(
            read_plain_scalar(i128::MIN.to_string()),
            Some(Yaml::Int(i128::MIN))
        );
        assert_eq!(read_plain_scalar(format!("0x{:x}", u128::MAX)), None);
    }
}
