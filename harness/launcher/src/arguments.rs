//! The arguments of a call.

use super::value::Value;

/// The arguments of a call.
#[derive(Clone, Default)]
pub(super) struct Arguments<'a> {
    pub positional: Vec<Value<'a>>,
    pub keywords: Vec<(String, Value<'a>)>,
}

impl<'a> Arguments<'a> {
    pub fn of(positional: Vec<Value<'a>>) -> Self {
        Self {
            positional,
            keywords: Vec::new(),
        }
    }

    pub fn keyword(&self, name: &str) -> Option<Value<'a>> {
        let found = self.keywords.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value.clone())
    }

    pub fn keyword_values(&self) -> impl Iterator<Item = &Value<'a>> {
        self.keywords.iter().map(|(_, value)| value)
    }

    /// An argument by position or by name.
    pub fn get(&self, at: usize, name: &str) -> Option<Value<'a>> {
        self.positional.get(at).cloned().or_else(|| self.keyword(name))
    }
}
