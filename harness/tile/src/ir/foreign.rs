//! Elementwise functions outside of the language: the effect of a bug's model on lanes, or the bounds of a value. The frontend
//! never emits one.

use std::fmt;
use std::sync::Arc;

use crate::numeric::Range;

/// Computes a lane from one lane of each operand.
type Function = dyn Fn(&[u64]) -> u64 + Send + Sync;

/// Computes the values that a lane may have from those that each operand may have.
type Bounds = dyn Fn(&[Range]) -> Range + Send + Sync;

/// A function of the operands' bits, lane by lane. The result is truncated to the width of its element.
#[derive(Clone)]
pub struct Foreign {
    name: Arc<str>,
    function: Arc<Function>,
    bounds: Option<Arc<Bounds>>,
    rises: bool,
}

impl Foreign {
    /// Creates a function with its name in printed IR. Functions of the same name are considered equal.
    pub fn new(name: &str, function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            function: Arc::new(function),
            bounds: None,
            rises: false,
        }
    }

    /// With bounds: the values that a run with intervals has in place of the function's, for those of its operands.
    #[must_use]
    pub fn with_bounds(self, bounds: impl Fn(&[Range]) -> Range + Send + Sync + 'static) -> Self {
        Self {
            bounds: Some(Arc::new(bounds)),
            ..self
        }
    }

    /// Creates a non-decreasing function of one float.
    pub fn new_rising(name: &str, function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            rises: true,
            ..Self::new(name, function)
        }
    }

    /// Whether it is a non-decreasing function of floats.
    pub const fn rises(&self) -> bool {
        self.rises
    }

    /// Whether a run with intervals may have values different from those of [`Self::evaluate`].
    pub const fn has_bounds(&self) -> bool {
        self.bounds.is_some()
    }

    /// The values of a lane in a run with intervals. `None` if the function has no bounds of its own.
    pub fn bound(&self, operands: &[Range]) -> Option<Range> {
        self.bounds.as_ref().map(|bounds| bounds(operands))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Evaluates one lane.
    pub fn evaluate(&self, operands: &[u64]) -> u64 {
        (self.function)(operands)
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Foreign").field(&self.name).finish()
    }
}
