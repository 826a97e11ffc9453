//! Reads an argument: a value, or a mapping that describes a tensor descriptor. See `resolve` for its value at a
//! point of the matrix.

use std::collections::HashSet;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::reader::Reader;
use crate::matrix::is_python_name;
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Node, Yaml};
use cerith_expression::Names;

/// An argument of a launch.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentSchema {
    /// A value.
    Value(ValueTemplate),
    /// `{ descriptor: x, block_shape: [16, 16] }`.
    Descriptor(Box<DescriptorSchema>),
    /// `{ global: relu }`.
    Global(Template),
    /// `{ constexpr: 4 }`.
    Constexpr(Box<ArgumentSchema>),
    /// A list with any of these in it.
    Tuple(Vec<ArgumentSchema>, Span),
    /// `{ namedtuple: { rows: 4, out: x } }`.
    NamedTuple(Vec<(String, ArgumentSchema)>, Span),
}

/// A tensor descriptor.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorSchema {
    pub span: Span,
    pub base: ValueTemplate,
    pub block_shape: ValueTemplate,
    /// Another shape than the tensor's.
    pub shape: Option<ValueTemplate>,
    /// Other strides than the tensor's.
    pub strides: Option<ValueTemplate>,
    pub padding: Option<Template>,
    pub round_f32_to_tf32: Option<ValueTemplate>,
}

pub(crate) const DESCRIPTOR_KEYS: [&str; 6] = [
    "descriptor",
    "block_shape",
    "shape",
    "strides",
    "padding",
    "round_f32_to_tf32",
];

impl ArgumentSchema {
    /// Its location.
    pub fn span(&self) -> Span {
        match self {
            Self::Value(value) => value.span(),
            Self::Descriptor(descriptor) => descriptor.span,
            Self::Global(name) => name.span,
            Self::Constexpr(inner) => inner.span(),
            Self::Tuple(_, span) | Self::NamedTuple(_, span) => *span,
        }
    }
}

impl DescriptorSchema {
    /// Whether it takes any of these names.
    pub fn mentions_any(&self, names: &Names, wanted: &HashSet<String>) -> bool {
        [&self.base, &self.block_shape]
            .into_iter()
            .chain(&self.shape)
            .chain(&self.strides)
            .chain(&self.round_f32_to_tf32)
            .any(|value| value.mentions_any(names, wanted))
    }
}

/// Whether a value contains a mapping, so that it is not a plain value.
fn has_mapping(node: &Node) -> bool {
    match &node.value {
        Yaml::Map(_) => true,
        Yaml::Seq(items) => items.iter().any(has_mapping),
        _ => false,
    }
}

impl Reader<'_> {
    pub(super) fn parse_argument(&mut self, node: &Node) -> Option<ArgumentSchema> {
        match &node.value {
            Yaml::Map(pairs) if matches!(&pairs[..], [(key, _)] if key.name == "global") => {
                let (_, name) = pairs.first()?;
                self.parse_template(name, "global").map(ArgumentSchema::Global)
            }
            Yaml::Map(pairs) if matches!(&pairs[..], [(key, _)] if key.name == "constexpr") => {
                let (_, value) = pairs.first()?;
                let inner = self.parse_argument(value)?;
                Some(ArgumentSchema::Constexpr(Box::new(inner)))
            }
            Yaml::Map(pairs) if matches!(&pairs[..], [(key, _)] if key.name == "namedtuple") => {
                let (_, fields) = pairs.first()?;
                self.parse_named_tuple(fields, node.span)
            }
            Yaml::Seq(items) if items.iter().any(has_mapping) => {
                let read: Vec<_> = items.iter().map(|item| self.parse_argument(item)).collect();
                let items = read.into_iter().collect::<Option<_>>()?;
                Some(ArgumentSchema::Tuple(items, node.span))
            }
            Yaml::Map(_) => self
                .parse_descriptor(node)
                .map(Box::new)
                .map(ArgumentSchema::Descriptor),
            _ => self.parse_value(node).map(ArgumentSchema::Value),
        }
    }

    fn parse_named_tuple(&mut self, node: &Node, span: Span) -> Option<ArgumentSchema> {
        let Yaml::Map(pairs) = &node.value else {
            self.problems.push(
                Diagnostic::error("wrong-type", node.span, "a named tuple without its fields")
                    .help("write the fields and their values: `{ namedtuple: { rows: 4, out: x } }`"),
            );
            return None;
        };
        let mut complete = true;
        let mut fields = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            // `collections.namedtuple` takes no others.
            if !is_python_name(&key.name) || key.name.starts_with('_') {
                let message = format!("`{}` is not a name for a field of a named tuple", key.name);
                self.problems
                    .push(Diagnostic::error("bad-name", key.span, message).help(
                        "use letters, digits and `_`, beginning with a letter, and no keyword of Python's",
                    ));
                complete = false;
            }
            match self.parse_argument(value) {
                Some(value) => fields.push((key.name.clone(), value)),
                None => complete = false,
            }
        }
        complete.then_some(ArgumentSchema::NamedTuple(fields, span))
    }

    fn parse_descriptor(&mut self, node: &Node) -> Option<DescriptorSchema> {
        let what = "an argument that is a mapping";
        if let Yaml::Map(pairs) = &node.value
            && !pairs
                .iter()
                .any(|(key, _)| DESCRIPTOR_KEYS.contains(&key.name.as_str()))
        {
            self.problems.push(
                Diagnostic::error("wrong-type", node.span, "a mapping where a value belongs").help(
                    "write a number, an expression or a list; text is an expression, so quote it twice: \"'relu'\"; \
                     a tensor descriptor is `{ descriptor: x, block_shape: [16, 16] }`, a function of the kernel's module \
                     `{ global: relu }`, a named tuple `{ namedtuple: { rows: 4 } }`",
                ),
            );
            return None;
        }
        let fields = self.parse_fields(node, what, &DESCRIPTOR_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let what = "a tensor descriptor";
        let base = self.require_field(
            &fields,
            "descriptor",
            what,
            start,
            "name the tensor: `descriptor: x`",
        );
        let base = base.and_then(|node| self.parse_value(node));
        let help = "give the block's: `block_shape: [16, 16]`";
        let block_shape = self.require_field(&fields, "block_shape", what, start, help);
        let block_shape = block_shape.and_then(|node| self.parse_value(node));
        let mut optional = |key| match fields.get(key) {
            None => Some(None),
            Some(node) => self.parse_value(node).map(Some),
        };
        let (shape, strides, round) = (
            optional("shape"),
            optional("strides"),
            optional("round_f32_to_tf32"),
        );
        let padding = match fields.get("padding") {
            None => Some(None),
            Some(node) => self.parse_template(node, "padding").map(Some),
        };
        Some(DescriptorSchema {
            span: node.span,
            base: base?,
            block_shape: block_shape?,
            shape: shape?,
            strides: strides?,
            padding: padding?,
            round_f32_to_tf32: round?,
        })
    }
}
