//! The result of a run with intervals: for an element of memory, and for a launch.

use cerith_tile::ir::Rounding;
use cerith_tile::source::Span;
use cerith_tile::{DType, numeric};

use super::lane::Lane;
use cerith_interp::outcome::LaunchOutcome;

/// The values that a conforming implementation may store in an element of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accepted {
    /// The reference's bits, or any NaN for a NaN.
    Exact,
    /// A value of the dtype from `low` to `high`, or another that the flags accept. The signs of zeros do not count.
    Within {
        /// The dtype of the store.
        dtype: DType,
        /// The least value.
        low: f64,
        /// The greatest value. If it is below the least, there is no number in between.
        high: f64,
        /// Whether minus infinity and infinity are accepted too.
        infinities: [bool; 2],
        /// Whether a NaN is accepted too.
        nan: bool,
    },
    /// Any value: it depends on a decision that conforming implementations may take either way, or it has no bound.
    Unknown,
}

impl Accepted {
    /// Whether bits other than the reference's are accepted; `None` if that is unknown.
    pub fn check_bits(self, bits: u64) -> Option<bool> {
        match self {
            Self::Exact => Some(false),
            Self::Unknown => None,
            Self::Within {
                dtype,
                low,
                high,
                infinities: [below, above],
                nan,
            } => {
                let value = numeric::decode(dtype, bits);
                let beside = value == f64::NEG_INFINITY && below || value == f64::INFINITY && above;
                Some(value.is_nan() && nan || low <= value && value <= high || beside)
            }
        }
    }

    /// The accepted values of a lane that was stored as a dtype.
    pub(super) fn from_lane(lane: Lane, dtype: Option<DType>) -> Self {
        match (lane, dtype) {
            // An interval of all numbers does not bound the value.
            (Lane::Within { low, high, .. }, Some(dtype)) if is_everything(dtype, low, high) => Self::Unknown,
            (Lane::Within { low, high, nan, .. }, Some(dtype)) => Self::Within {
                dtype,
                low,
                high,
                infinities: [false; 2],
                nan,
            },
            (
                Lane::Apart {
                    low,
                    high,
                    below,
                    above,
                    nan,
                    ..
                },
                Some(dtype),
            ) => Self::Within {
                dtype,
                low,
                high,
                infinities: [below, above],
                nan,
            },
            (Lane::Bits(_) | Lane::Product { .. } | Lane::Poison, _) => Self::Exact,
            (Lane::Within { .. } | Lane::Apart { .. } | Lane::Guess(_) | Lane::Unknown, _) => Self::Unknown,
        }
    }
}

/// Whether every number of a dtype is between `low` and `high`.
fn is_everything(dtype: DType, low: f64, high: f64) -> bool {
    let end = |end: f64| numeric::decode(dtype, numeric::encode(dtype, end, Rounding::NearestEven));
    let (least, most) = (end(f64::NEG_INFINITY), end(f64::INFINITY));
    if least.is_nan() {
        let most = numeric::decode(dtype, numeric::encode(dtype, f64::MAX, Rounding::TowardZero));
        return low <= -most && high >= most;
    }
    low <= least && high >= most
}

/// The outcome of an execution with intervals.
#[derive(Clone, Debug, PartialEq)]
pub enum Acceptance {
    /// The map holds what is accepted.
    Known,
    /// The intervals can't follow conforming implementations, because `what` depends on a decision that they may take
    /// either way.
    Inconclusive {
        /// The behaviour that depends on the decision.
        decision: &'static str,
        /// The location of the operation.
        span: Span,
    },
    /// It did not finish; see [`LaunchOutcome`] for why.
    Stopped(LaunchOutcome),
}
