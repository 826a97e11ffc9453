//! Elementwise functions that the language does not have: what a model of somebody's bug does to lanes. The frontend never
//! makes one.

use std::fmt;
use std::sync::Arc;

/// What becomes of one lane of each operand.
type Function = dyn Fn(&[u64]) -> u64 + Send + Sync;

/// A function of the operands' bits, lane by lane. What it gives is cut to the width of the result's element.
#[derive(Clone)]
pub struct Foreign {
    name: Arc<str>,
    function: Arc<Function>,
    rises: bool,
}

impl Foreign {
    /// A function and its name in printed IR. Two of one name are taken for the same.
    pub fn new(name: &str, function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            function: Arc::new(function),
            rises: false,
        }
    }

    /// A function of one float that gives no smaller a float of a larger one.
    pub fn new_rising(name: &str, function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            rises: true,
            ..Self::new(name, function)
        }
    }

    /// Whether it gives no smaller a float of a larger one.
    pub const fn rises(&self) -> bool {
        self.rises
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it makes of one lane of each operand.
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
