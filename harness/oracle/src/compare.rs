//! The elements of an output, compared with the values of a reference function.

use cerith_accept::Accepted;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};
use cerith_tile::{DType, numeric};

use super::contract::Contract;
use super::rounding::{find_largest, last_place};

/// The part of a value by which a reference function may be off in `f64`: its functions are not correctly rounded, and their errors
/// add up. It is 2^-16 of a unit of `f32`.
const REFERENCE_ERROR: f64 = 1.0 / (1u64 << 40) as f64;

/// The part of an output's largest value by which a reference function may be off where it cancels.
const CANCELLATION_ERROR: f64 = 1.0 / (1u64 << 44) as f64;

/// The part of an output's largest value that bounds may excuse. None of 219 correct kernels was off by more than 1/25 with any of 11
/// kinds of data. A kernel that adds a large number and subtracts it again has bounds that contain everything.
const MOST_EXCUSED: f64 = 1.0 / 16.0;

/// The part of an output's largest value above which an excuse is large. 52 of 2962 outputs of the correct kernels were off by more
/// with some kind of data, none of them narrower than `f32`.
const LARGE_EXCUSE: f64 = 1.0 / 1024.0;

/// A distance that bounds may excuse even if all of an output is smaller, as a part of the inputs: such an output is the rounding error
/// of greater numbers.
const LEAST_EXCUSED: f64 = 1.0 / (1u64 << 20) as f64;

/// A tolerance that the caller gives, which replaces the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The part of the expected value.
    pub relative: f64,
    /// The distance for every value.
    pub absolute: f64,
}

/// One element of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// The values that the formula may have, as it was stored.
    pub bounds: Accepted,
    /// The bits of the formula's value in memory.
    pub formula: u64,
    /// The bits of the kernel's own value.
    pub kernel: u64,
    /// The reference function's value.
    pub expected: f64,
    /// The reference function's integer, since an `f64` lacks integers beyond 2^53. An unsigned one wraps.
    pub integer: Option<i64>,
}

/// A difference between a kernel and its reference function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The formula has no bounds, or such wide ones that they say nothing about the kernel's value.
    Undecided,
    /// The formula is right, and the kernel's value less accurate than the contract.
    Inaccurate,
    /// No order of the contracted computation has the reference's value.
    Wrong,
}

/// The element of the gravest finding with the largest difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The finding.
    pub finding: Finding,
    /// The element, counted from 0 in row-major order.
    pub index: usize,
    /// The kernel's value.
    pub kernel: f64,
    /// The reference's value.
    pub expected: f64,
    /// The least and the greatest value of the formula.
    pub bounds: Option<[f64; 2]>,
}

/// The comparison of an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Elements that were compared.
    pub elements: usize,
    /// Elements that are wrong.
    pub wrong: usize,
    /// Elements that are less accurate than the contract.
    pub inaccurate: usize,
    /// Elements whose formula has no bounds, or too wide ones.
    pub undecided: usize,
    /// The undecided elements whose value is far from the reference's.
    pub distant: usize,
    /// The largest distance of a kernel's value from the reference's, in units of the output's last place.
    pub worst_ulps: f64,
    /// The largest distance that the bounds admit.
    pub allowed_ulps: f64,
    /// The element to show.
    pub worst: Option<Worst>,
    /// Elements that agree only because their bounds excuse a large distance, counted from 0. Bounds that cover both sides of an
    /// unknown decision excuse too much: see [`cerith_accept::AcceptanceMap::with_separate_sides`].
    pub excused: Vec<usize>,
}

impl Comparison {
    /// The gravest finding.
    pub fn finding(&self) -> Option<Finding> {
        self.worst.map(|worst| worst.finding)
    }
}

/// A range of numbers, NaN and infinities.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: f64,
    high: f64,
    infinities: [bool; 2],
    nan: bool,
}

impl Bounds {
    /// The values of an element. `None` if nothing bounds it.
    fn from_element(element: &Element, dtype: DType) -> Option<Self> {
        match element.bounds {
            Accepted::Unknown => None,
            Accepted::Exact => {
                let value = decode(dtype, element.formula);
                Some(Self {
                    low: value,
                    high: value,
                    infinities: [false; 2],
                    nan: value.is_nan(),
                })
            }
            Accepted::Within {
                low,
                high,
                infinities,
                nan,
                ..
            } => Some(Self {
                low,
                high,
                infinities,
                nan,
            }),
        }
    }

    fn contains(&self, value: f64) -> bool {
        if value.is_nan() {
            return self.nan;
        }
        let beside =
            value == f64::NEG_INFINITY && self.infinities[0] || value == f64::INFINITY && self.infinities[1];
        beside || self.low <= value && value <= self.high
    }

    /// Whether the reference's value is in the range, up to its own error.
    fn admits(&self, expected: f64, scale: f64, dtype: DType) -> bool {
        let stored = decode(dtype, encode(dtype, expected, Rounding::NearestEven));
        let error = (expected.abs() * REFERENCE_ERROR).max(scale * CANCELLATION_ERROR);
        self.contains(expected)
            || self.contains(stored)
            || error.is_finite() && self.low <= expected + error && expected - error <= self.high
    }

    /// The distance of a value from the farther end, in units of its last place.
    fn reach(&self, value: f64, dtype: DType) -> f64 {
        let distance = (self.high - value).max(value - self.low);
        if distance.is_finite() {
            distance / last_place(value, dtype)
        } else {
            0.0
        }
    }
}

/// The distance of a value from the reference's that bounds may excuse.
#[derive(Clone, Copy, Debug)]
struct Excuse(f64);

impl Excuse {
    /// The excuse for an output with this largest value, computed from inputs of this size.
    fn new(scale: f64, inputs: f64) -> Self {
        // An input of 1e30 is a mask's constant rather than a number that the result is computed from.
        let least = LEAST_EXCUSED * inputs.clamp(1.0, 1024.0);
        Self((scale * MOST_EXCUSED).max(least))
    }

    /// Whether bounds may excuse this value. Values that overflow are not measured.
    fn covers(self, kernel: f64, expected: f64, dtype: DType) -> bool {
        !kernel.is_finite()
            || !expected.is_finite()
            || (kernel - expected).abs() <= self.0 + last_place(expected, dtype)
    }
}

/// The rules of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// The contract.
    pub contract: Contract,
    /// A tolerance in place of the bounds.
    pub tolerance: Option<Tolerance>,
    /// The largest input.
    pub inputs: f64,
}

/// Compares the elements of an output of this dtype with the reference's.
pub fn compare(dtype: DType, elements: impl IntoIterator<Item = Element>, terms: Terms) -> Comparison {
    let mut comparison = Comparison::default();
    let mut gravest = None;
    let elements: Vec<Element> = elements.into_iter().collect();
    let finite = elements
        .iter()
        .map(|element| element.expected.abs())
        .filter(|x| x.is_finite());
    let scale = finite.fold(0.0, f64::max);
    let excuse = Excuse::new(scale, terms.inputs);
    for (index, element) in elements.into_iter().enumerate() {
        comparison.elements += 1;
        let (kernel, expected) = (read_number(dtype, element.kernel), element.expected);
        let bounds = Bounds::from_element(&element, dtype);
        let distance = measure_distance(kernel, expected, dtype);
        if distance.is_finite() {
            comparison.worst_ulps = comparison.worst_ulps.max(distance);
        }
        if let Some(bounds) = bounds.filter(|_| dtype.is_float() && expected.is_finite()) {
            comparison.allowed_ulps = comparison.allowed_ulps.max(bounds.reach(expected, dtype));
        }
        let Some(finding) = find(dtype, &element, (kernel, scale), bounds, terms, excuse) else {
            if dtype.is_float()
                && terms.tolerance.is_none()
                && (kernel - expected).abs() > scale * LARGE_EXCUSE + 2.0 * last_place(expected, dtype)
            {
                comparison.excused.push(index);
            }
            continue;
        };
        if finding == Finding::Undecided && !(dtype.is_float() && excuse.covers(kernel, expected, dtype)) {
            comparison.distant += 1;
        }
        *match finding {
            Finding::Wrong => &mut comparison.wrong,
            Finding::Inaccurate => &mut comparison.inaccurate,
            Finding::Undecided => &mut comparison.undecided,
        } += 1;
        let grave = (
            finding,
            if distance.is_nan() {
                f64::INFINITY
            } else {
                distance
            },
        );
        if gravest.is_none_or(|gravest| grave > gravest) {
            gravest = Some(grave);
            comparison.worst = Some(Worst {
                finding,
                index,
                kernel,
                expected,
                bounds: bounds.map(|bounds| [bounds.low, bounds.high]),
            });
        }
    }
    comparison
}

fn find(
    dtype: DType,
    element: &Element,
    (kernel, scale): (f64, f64),
    bounds: Option<Bounds>,
    terms: Terms,
    excuse: Excuse,
) -> Option<Finding> {
    let expected = element.expected;
    let stored = if dtype.is_float() {
        decode(dtype, encode(dtype, expected, Rounding::NearestEven))
    } else {
        expected
    };
    let same = match element.integer {
        // A byte that is neither 0 nor 1 is not a bool of torch.
        Some(integer) if dtype == DType::I1 => i64::try_from(element.kernel) == Ok(integer),
        Some(integer) => numeric::decode_int(dtype, element.kernel) as i64 == integer,
        None => kernel == stored || kernel.is_nan() && stored.is_nan(),
    };
    if let Some(Tolerance { relative, absolute }) = terms.tolerance {
        let near = (kernel - expected).abs() <= absolute + relative * expected.abs();
        return (!same && !near).then_some(Finding::Wrong);
    }
    let Some(bounds) = bounds else {
        // It overflowed on the way, which leaves no bounds either.
        let overflowed = dtype.is_float() && !kernel.is_finite() && stored.is_finite();
        let finding = if overflowed {
            Finding::Inaccurate
        } else {
            Finding::Undecided
        };
        return (!same).then_some(finding);
    };
    if !dtype.is_float() {
        return (!same).then_some(Finding::Wrong);
    }
    if !bounds.admits(expected, scale, dtype) {
        Some(Finding::Wrong)
    } else if !kernel.is_finite() && expected.abs() <= find_largest(dtype) / 2.0 {
        // It overflowed on the way: its bounds have an infinity, and the reference a number.
        Some(Finding::Inaccurate)
    } else if same {
        None
    } else if !bounds.contains(kernel) {
        Some(Finding::Inaccurate)
    } else {
        // Sums of a narrow dtype may be off by any part.
        let is_meaningful = !terms.contract.is_precise() || excuse.covers(kernel, expected, dtype);
        (!is_meaningful).then_some(Finding::Undecided)
    }
}

/// The number in an element: of integers beyond 2^53, the nearest `f64`.
fn read_number(dtype: DType, bits: u64) -> f64 {
    if dtype.is_float() {
        decode(dtype, bits)
    } else {
        numeric::decode_int(dtype, bits) as f64
    }
}

/// In units of the expected value's last place; of integers, the difference.
fn measure_distance(kernel: f64, expected: f64, dtype: DType) -> f64 {
    if kernel == expected || kernel.is_nan() && expected.is_nan() {
        return 0.0;
    }
    let distance = (kernel - expected).abs();
    if dtype.is_float() && expected.is_finite() {
        distance / last_place(expected, dtype)
    } else {
        distance
    }
}
