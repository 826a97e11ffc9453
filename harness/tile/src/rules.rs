//! Language rules that changed between Triton versions, each a row with the version that introduced it and where
//! that is written down. Left out: bugs. A bug is an expectation in a case file; a rule is what a version promises.

use std::fmt;
use std::str::FromStr;

/// A Triton release, `3.9.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub patch: u16,
}

impl Version {
    /// The newest version whose rules are known here.
    pub const NEWEST: Self = Self::new(3, 9, 0);

    /// `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version like 3.9.0")]
pub struct BadVersion(pub String);

impl FromStr for Version {
    type Err = BadVersion;

    /// Reads `3.9.0`, and `3.9` or `3` with zeros for what is missing.
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let mut parts = [0u16; 3];
        let mut count = 0;
        for piece in text.split('.') {
            let digits = !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_digit());
            let (true, Some(slot), Ok(number)) = (digits, parts.get_mut(count), piece.parse()) else {
                return Err(BadVersion(text.to_owned()));
            };
            *slot = number;
            count += 1;
        }
        Ok(Self::new(parts[0], parts[1], parts[2]))
    }
}

macro_rules! rules {
    ($( $(#[doc = $doc:literal])+ $name:ident: since ($major:literal, $minor:literal, $patch:literal), $source:literal; )+) => {
        /// A rule of the language that holds from some version on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $( $(#[doc = $doc])+ $name, )+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$( Self::$name, )+];

            /// The first version in which the rule holds.
            pub const fn since(self) -> Version {
                match self { $( Self::$name => Version::new($major, $minor, $patch), )+ }
            }

            /// Where the change is written down.
            pub const fn source(self) -> &'static str {
                match self { $( Self::$name => $source, )+ }
            }

            /// What the rule says.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$name => concat!($($doc),+), )+ }
            }
        }
    };
}

rules! {
    /// `%` on floats is C's `fmod` (sign of the dividend), not Python's floored remainder.
    FloatRemainderIsFmod: since (3, 3, 1), "triton#4955; wheels 3.2.0 and 3.3.1";
    /// `-x` on floats flips the sign bit, so that `-(+0.0)` is `-0.0`; before, it was `0 - x`.
    NegationFlipsSign: since (3, 8, 0), "triton#10270, commit 153b63547f";
    /// A Python scalar operand takes the dtype of the tensor beside it when the kinds fit.
    WeakPythonScalars: since (3, 2, 0), "triton#4613, commit e14ee2d70e";
    /// A module's `X: tl.constexpr = 1` no longer makes `X` a constexpr; only `X = tl.constexpr(1)` does.
    AnnotatedGlobalsAreNoConstexprs: since (3, 3, 0), "wheels 3.2.0 and 3.3.1, code_generator.py";
    /// Parameters annotated with float types, `int` or `float` have that type; before, only integer widths and `bool`.
    FloatAnnotationsAreTypes: since (3, 4, 0), "wheels 3.3.1 and 3.4.0, runtime/jit.py";
    /// `a < b < c` is accepted and evaluates `b` once.
    ChainedComparisons: since (3, 9, 0), "wheels 3.8.0 and 3.9.0, code_generator.py";
}

/// The rules of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The version whose language is meant.
    pub version: Version,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            version: Version::NEWEST,
        }
    }
}

impl Rules {
    /// The rules of a version.
    pub const fn of(version: Version) -> Self {
        Self { version }
    }

    /// Whether a rule holds.
    pub fn holds(self, rule: Rule) -> bool {
        self.version >= rule.since()
    }

    /// The rules that hold in exactly one of the two versions.
    pub fn changed(self, other: Self) -> impl Iterator<Item = Rule> {
        Rule::ALL
            .iter()
            .copied()
            .filter(move |&rule| self.holds(rule) != other.holds(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!("3.9".parse(), Ok(Version::new(3, 9, 0)));
        assert!("3.10.0".parse::<Version>().is_ok_and(|v| v > Version::NEWEST));
        for wrong in ["", "3.", "3.x", "3.9.0.1", "+3", "99999999"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rule_holds_from_its_version_on() {
        let old = Rules::of(Version::new(3, 2, 0));
        assert!(!old.holds(Rule::FloatRemainderIsFmod));
        assert!(Rules::default().holds(Rule::FloatRemainderIsFmod));
        assert!(
            old.changed(Rules::default())
                .any(|rule| rule == Rule::FloatRemainderIsFmod)
        );
    }
}
