//! Values of a kernel.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{LocId, ValueId};
use smallvec::SmallVec;

use crate::condition::Condition;
use crate::polynomial::Polynomial;

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its kind.
    pub kind: Kind,
    /// It is that only if these integers don't wrap.
    pub checks: Checks,
    /// The operation that computes it.
    pub loc: LocId,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// An integer, modulo two to the width of its dtype.
    Integer(Polynomial),
    /// An `i1`.
    Truth(Condition),
    /// The address so many bytes from the pointer of a parameter.
    Pointer {
        /// The index of the parameter.
        parameter: usize,
        /// In bytes.
        offset: Polynomial,
    },
    /// Anything else: floats, and pointers from memory.
    Unknown,
}

/// An integer that must be in the range of its dtype, because a result depends on more than its low bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeCheck {
    /// The integer.
    pub value: Polynomial,
    /// Its dtype.
    pub dtype: DType,
    /// The operation that computes it.
    pub loc: LocId,
    /// The value that it is, if it is one of the kernel's.
    pub id: Option<ValueId>,
}

/// A set of checks.
pub type Checks = SmallVec<[Rc<RangeCheck>; 2]>;

/// Adds checks that aren't there yet.
pub fn merge_checks(into: &mut Checks, from: &Checks) {
    for check in from {
        if !into.iter().any(|one| Rc::ptr_eq(one, check) || one == check) {
            into.push(Rc::clone(check));
        }
    }
}

/// Adds a check that isn't there yet.
pub fn add_check(into: &mut Checks, check: RangeCheck) {
    if !into.iter().any(|one| **one == check) {
        into.push(Rc::new(check));
    }
}

impl Value {
    /// A value without checks.
    pub fn new(kind: Kind, loc: LocId) -> Self {
        Self {
            kind,
            checks: Checks::new(),
            loc,
        }
    }
}

/// The least and the largest value of an integer dtype.
pub const fn find_dtype_range(dtype: DType) -> (i128, i128) {
    let bits = dtype.bits();
    if dtype.is_signed_int() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}
