//! Conditions on unknowns: masks, `if`, the bounds of loops.

use crate::polynomial::Polynomial;
use crate::symbol::Symbols;

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Always true.
    True,
    /// Never true.
    False,
    /// It may hold or not.
    Unknown,
    /// The polynomial is at least 0.
    AtLeastZero(Polynomial),
    /// All of them hold.
    All(Vec<Self>),
    /// At least one of them holds.
    Any(Vec<Self>),
}

/// Maximum number of conditions in a condition; a larger one is unknown.
const MAX_PARTS: usize = 24;

impl Condition {
    /// `a <= b`.
    pub fn at_most(a: &Polynomial, b: &Polynomial) -> Self {
        Self::from_difference(b.sub(a))
    }

    /// `a < b`, of integers.
    pub fn is_less(a: &Polynomial, b: &Polynomial) -> Self {
        Self::from_difference(b.sub(a).and_then(|difference| difference.add_number(-1)))
    }

    fn from_difference(difference: Option<Polynomial>) -> Self {
        let Some(difference) = difference else {
            return Self::Unknown;
        };
        match difference.as_number() {
            Some(number) if number >= 0 => Self::True,
            Some(_) => Self::False,
            None => Self::AtLeastZero(difference.tighten()),
        }
    }

    /// `a == b`.
    pub fn are_equal(a: &Polynomial, b: &Polynomial) -> Self {
        Self::at_most(a, b).and(Self::at_most(b, a))
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, other) | (other, Self::True) => other,
            (one, other) => {
                let mut parts = one.into_parts_of_all();
                for part in other.into_parts_of_all() {
                    if !parts.contains(&part) {
                        parts.push(part);
                    }
                }
                // Fewer parts are a weaker condition, which proves less.
                if parts.len() > MAX_PARTS {
                    Self::Unknown
                } else {
                    Self::All(parts)
                }
            }
        }
    }

    /// At least one of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::False, other) | (other, Self::False) => other,
            (one, other) => {
                let mut parts = one.into_parts_of_any();
                parts.extend(other.into_parts_of_any());
                if parts.len() > MAX_PARTS {
                    Self::Unknown
                } else {
                    Self::Any(parts)
                }
            }
        }
    }

    /// The opposite.
    #[must_use]
    pub fn negate(&self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::AtLeastZero(polynomial) => {
                Self::from_difference(polynomial.scale(-1).and_then(|negative| negative.add_number(-1)))
            }
            Self::All(parts) => parts.iter().fold(Self::False, |any, part| any.or(part.negate())),
            Self::Any(parts) => parts.iter().fold(Self::True, |all, part| all.and(part.negate())),
        }
    }

    fn into_parts_of_all(self) -> Vec<Self> {
        match self {
            Self::All(parts) => parts,
            other => vec![other],
        }
    }

    fn into_parts_of_any(self) -> Vec<Self> {
        match self {
            Self::Any(parts) => parts,
            other => vec![other],
        }
    }

    /// Whether a part of it is unknown.
    pub fn has_unknown(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::True | Self::False | Self::AtLeastZero(_) => false,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_unknown),
        }
    }

    /// Whether a proof can use it.
    pub fn is_known(&self) -> bool {
        match self {
            Self::Unknown => false,
            Self::True | Self::False | Self::AtLeastZero(_) => true,
            Self::All(parts) => parts.iter().any(Self::is_known),
            Self::Any(parts) => parts.iter().all(Self::is_known),
        }
    }

    /// The condition seen from other dimensions.
    #[must_use]
    pub fn move_lanes(&self, symbols: &mut Symbols, map: &[Polynomial]) -> Self {
        match self {
            Self::True | Self::False | Self::Unknown => self.clone(),
            Self::AtLeastZero(polynomial) => symbols
                .move_lanes(polynomial, map)
                .map_or(Self::Unknown, |moved| Self::from_difference(Some(moved))),
            Self::All(parts) => parts
                .iter()
                .fold(Self::True, |all, part| all.and(part.move_lanes(symbols, map))),
            Self::Any(parts) => parts
                .iter()
                .fold(Self::False, |any, part| any.or(part.move_lanes(symbols, map))),
        }
    }

    /// The condition with symbols replaced. A part that gets too large becomes unknown.
    #[must_use]
    pub fn substitute(&self, replace: &dyn Fn(crate::polynomial::SymbolId) -> Option<Polynomial>) -> Self {
        match self {
            Self::True | Self::False | Self::Unknown => self.clone(),
            Self::AtLeastZero(polynomial) => polynomial
                .substitute(replace)
                .map_or(Self::Unknown, |replaced| Self::from_difference(Some(replaced))),
            Self::All(parts) => parts
                .iter()
                .fold(Self::True, |all, part| all.and(part.substitute(replace))),
            Self::Any(parts) => parts
                .iter()
                .fold(Self::False, |any, part| any.or(part.substitute(replace))),
        }
    }
}
