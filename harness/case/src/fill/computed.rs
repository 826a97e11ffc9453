//! Fills that are computed element by element, for storages that hold no bytes. See `cerith-memory` for sparse storages.

use std::sync::Arc;

use cerith_memory::{ByteState, Content, Rule};
use cerith_tile::DType;

use super::arange;
use super::element::append;
use super::random::Random;
use cerith_expression::Value;

/// The first content of a sparse storage.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    pub dtype: DType,
    pub elements: Elements,
}

/// How an element follows from its index.
#[derive(Clone, Debug)]
pub(super) enum Elements {
    /// All of them have these bits.
    Constant(u64),
    /// `start + i * step`.
    Arange { start: Value, step: Value },
    /// Seeded.
    Random(Random),
}

impl Computed {
    pub(super) fn into_content(self) -> Content {
        Content::new(Arc::new(self))
    }

    /// Appends elements from the `first` on.
    pub(super) fn append(&self, bytes: &mut Vec<u8>, first: u64, count: usize) {
        match &self.elements {
            Elements::Constant(0) => bytes.resize(bytes.len() + count * self.dtype.size(), 0),
            Elements::Constant(bits) => append(bytes, self.dtype, count, || *bits),
            Elements::Arange { start, step } => arange(bytes, self.dtype, first, count, start, step),
            Elements::Random(random) => random.fill(bytes, first, count),
        }
    }
}

impl Rule for Computed {
    fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]) {
        states.fill(ByteState::Init);
        if let Elements::Constant(0) = self.elements {
            return bytes.fill(0);
        }
        let size = self.dtype.size();
        let first = offset / size as u64;
        let skipped = (offset % size as u64) as usize;
        let count = (skipped + bytes.len()).div_ceil(size);
        let mut elements = Vec::with_capacity(count * size);
        self.append(&mut elements, first, count);
        if let Some(elements) = elements.get(skipped..skipped + bytes.len()) {
            bytes.copy_from_slice(elements);
        }
    }

    /// The dtype, and the fill as a case file writes it.
    fn describe(&self) -> String {
        let fill = match &self.elements {
            Elements::Constant(0) => "zeros".to_owned(),
            Elements::Constant(bits) => format!("{{ full: bits({bits:#x}) }}"),
            Elements::Arange { start, step } => format!(
                "{{ arange: {{ start: {}, step: {} }} }}",
                render_number(start),
                render_number(step)
            ),
            Elements::Random(random) => random.render(),
        };
        format!("{} {fill}", self.dtype)
    }
}

/// A number as a case file writes it.
pub(super) fn render_number(value: &Value) -> String {
    match value {
        Value::Float(number) if number.is_nan() => "nan".to_owned(),
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// The fill of a sparse storage as a case file writes it.
pub(crate) fn render_content(content: &Content) -> String {
    let text = content.to_string();
    match text.split_once(' ') {
        Some((_, fill)) => fill.to_owned(),
        None => text,
    }
}
