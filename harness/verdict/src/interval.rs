//! Checks the reference against its own intervals: it must accept its own bytes.
//!
//! See `cerith-interp` for the source of intervals.

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_memory::{ByteState, Memory};
use cerith_tile::{DType, numeric};

/// An element whose own bytes the reference does not accept: a bug of ours.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the reference does not hold to its own intervals: storage `{storage}`, element {element} ({dtype}, byte {byte}): the \
     reference gives {} (0x{bits:0width$x}), outside of {low:?} to {high:?}, which is what it accepts there{}",
    numeric::format(*dtype, *bits),
    describe_others(*other_count),
    width = size * 2
)]
pub(crate) struct OutsideInterval {
    storage: String,
    element: usize,
    dtype: DType,
    /// The element's first byte.
    byte: usize,
    /// Its bytes.
    size: usize,
    bits: u64,
    low: f64,
    high: f64,
    /// How many more elements are not accepted.
    other_count: usize,
}

fn describe_others(others: usize) -> String {
    if others > 0 {
        format!(" (and {others} more)")
    } else {
        String::new()
    }
}

/// The accepted values of an element under either of two sets of rules: from the lower to the upper end of both.
pub(crate) fn merge_accepted(one: (usize, Accepted), other: (usize, Accepted)) -> (usize, Accepted) {
    match (one.1, other.1) {
        (
            Accepted::Within {
                dtype,
                low,
                high,
                infinities,
                nan,
            },
            Accepted::Within {
                dtype: other_dtype,
                low: other_low,
                high: other_high,
                infinities: other_infinities,
                nan: other_nan,
            },
        ) if dtype == other_dtype => {
            // A range whose ends are the wrong way round has nothing in it.
            let (low, high) = if low > high {
                (other_low, other_high)
            } else if other_low > other_high {
                (low, high)
            } else {
                (low.min(other_low), high.max(other_high))
            };
            let both = Accepted::Within {
                dtype,
                low,
                high,
                infinities: [0, 1].map(|end| infinities[end] || other_infinities[end]),
                nan: nan || other_nan,
            };
            (one.0, both)
        }
        (Accepted::Exact, _) => other,
        (_, Accepted::Exact) => one,
        // Elements of two dtypes lie there, or one of them is not known.
        _ => (one.0, Accepted::Unknown),
    }
}

/// Checks that the reference's own bytes lie inside the intervals that it accepts, in every element with an interval.
///
/// # Errors
/// They do not, which is a bug of ours.
pub(crate) fn holds(own: &Memory, map: &AcceptanceMap) -> Result<(), OutsideInterval> {
    let unsettled = map.without_held(|storage| own.bytes(storage));
    let mut outside = unsettled.filter_map(|(storage, byte, size, accepted)| {
        let Accepted::Within { dtype, low, high, .. } = accepted else {
            return None;
        };
        let bytes = own.bytes(storage).get(byte..byte + size)?;
        let states = own.states(storage).get(byte..byte + size)?;
        if states.iter().any(|&state| state != ByteState::Init) {
            return None;
        }
        let bits = bytes
            .iter()
            .rev()
            .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
        (accepted.check_bits(bits) == Some(false)).then(|| OutsideInterval {
            storage: own.name(storage).to_owned(),
            element: byte / size.max(1),
            dtype,
            byte,
            size,
            bits,
            low,
            high,
            other_count: 0,
        })
    });
    let Some(first) = outside.next() else {
        return Ok(());
    };
    Err(OutsideInterval {
        other_count: outside.count(),
        ..first
    })
}
