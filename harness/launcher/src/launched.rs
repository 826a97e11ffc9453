//! A launch that an evaluation reached, and what its parameters are bound to.

use std::collections::BTreeSet;

use super::host::Origin;
use super::value::{Number, Value};

/// A launch that was evaluated.
pub(super) struct Launched {
    pub host: String,
    pub line: u32,
    /// The case file after its first line.
    pub text: String,
    /// Storages by their names, as indices into the machine's, and who made them.
    pub tensors: Vec<(String, usize, Origin)>,
    /// Storages whose number of elements nothing decides.
    pub roomy: BTreeSet<usize>,
    /// The names of inputs that nothing decides.
    pub assumed: Vec<String>,
}

/// The arguments of a launch, by parameter.
pub(super) struct Bindings<'a> {
    pub values: Vec<(String, Value<'a>)>,
    pub options: Vec<(String, Value<'a>)>,
    /// Parameters that the kernel's own decorators compute.
    pub given: Vec<String>,
    pub grid: Vec<Number>,
}

impl<'a> Bindings<'a> {
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let found = self.values.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.number().map(|number| number.value)
    }
}
