//! A row of the table of builtins: a function, and the versions that have it.

use cerith_tile::rules::{Rules, Version};

use crate::lowering::Lowering;
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::{Builtin, Caller};

/// A row of the table: a builtin, and its versions.
#[derive(Debug)]
pub struct Row {
    /// The function.
    pub builtin: Builtin,
    /// The first version that has it in this form.
    pub since: Version,
    /// The first version without this form.
    pub removed_in: Option<Version>,
    /// Whether it is also a method of tensors. The tensor is then the first parameter.
    pub method: bool,
}

/// A row for every version.
pub(super) const fn row(signature: &'static str, lower: fn(&mut Lowering, &[Value]) -> Traced<Value>) -> Row {
    Row::from_builtin(Builtin::of_operations(signature, lower))
}

/// A row for every version, of a function that is lowered to calls.
pub(super) const fn call_row(
    signature: &'static str,
    lower: fn(&mut dyn Caller, &[Value]) -> Traced<Value>,
) -> Row {
    Row::from_builtin(Builtin::of_calls(signature, lower))
}

impl Row {
    const fn from_builtin(builtin: Builtin) -> Self {
        Self {
            builtin,
            since: Version::new(0, 0, 0),
            removed_in: None,
            method: false,
        }
    }

    /// Limits it to this version and later ones.
    pub const fn since(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.since = Version::new(major, minor, patch);
        self
    }

    /// Limits it to versions before this one.
    pub const fn removed_in(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.removed_in = Some(Version::new(major, minor, patch));
        self
    }

    /// Makes it a method of tensors too.
    pub const fn method(mut self) -> Self {
        self.method = true;
        self
    }

    /// Whether a language has it.
    pub fn holds(&self, rules: Rules) -> bool {
        rules.version >= self.since && self.removed_in.is_none_or(|until| rules.version < until)
    }
}
