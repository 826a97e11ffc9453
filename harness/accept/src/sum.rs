//! Sums whose order is not defined. Whatever the order, a sum of `n` terms with each step rounded is within about
//! `n u Σ|x|` of the exact one (Higham, *Accuracy and Stability of Numerical Algorithms*, 4.2), `u` being half an ULP
//! of 1. Where all terms are multiples of one power of two and small enough, every order is exact.
//!
//! Products of small numbers have bits below the least of the dtype. Whether each is rounded before it is added, added as it is,
//! or cut off, is open: that is off by at most one least bit for each term.
//!
//! A partial sum may overflow where the whole does not, and is an infinity from then on; two opposite ones make a NaN. So
//! what a sum may be is a range of finite numbers, and beside it each of the two infinities and NaN, or not. A partial sum
//! overflows in some order if the terms of one sign, added up, do; in a scan, which keeps the terms' order and leaves only the
//! brackets open, if some terms that follow each other do.

use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};

use super::cause::Cause;
use super::chunk::{LANES, Terms};
use super::interval::{Interval, combine_corners, multiply_intervals};
use super::lane::{Lane, to_unrounded};
use super::precision::{self, power_of_two};

/// The precision of a product's operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// As they are.
    Whole,
    /// With the 11 bits of `tf32`, rounded either way or not at all.
    Tf32,
    /// As sums of numbers of so many bits, whose smallest products are left out: off by this part of the product.
    Split {
        /// Operands of at most this many bits are used as they are.
        bits: i32,
        /// The part.
        relative: f64,
    },
}

/// An operand of products, as it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor {
    interval: Interval,
    /// The exponent of its smallest bit, if it is an exact number that is used as it is.
    lowest: Option<i32>,
    /// Whether a product of its ends and another's is exact in `f64`.
    single: bool,
    /// Whether its product with any finite number is zero.
    zero: bool,
    poison: bool,
}

impl Factor {
    /// A lane of a dtype.
    pub(crate) fn from_lane(lane: Lane, dtype: DType, input: Input) -> Self {
        let poison = lane == Lane::Poison;
        let interval = if poison {
            Interval::NAN
        } else {
            lane.to_interval(dtype)
        };
        let interval = if input == Input::Tf32 {
            interval.to_tf32()
        } else {
            interval
        };
        Self {
            interval,
            lowest: lane
                .bits()
                .and_then(|bits| input.find_lowest_bit(decode(dtype, bits))),
            single: dtype != DType::F64 && [interval.low, interval.high].into_iter().all(is_single),
            zero: dtype != DType::F64 && interval.low == 0.0 && interval.high == 0.0 && !interval.nan,
            poison,
        }
    }

    /// Whether it is some finite number.
    fn is_finite(&self) -> bool {
        let Interval { low, high, nan } = self.interval;
        low.is_finite() && high.is_finite() && !nan
    }

    /// Whether a product of it may be poison, or nothing but a NaN or an infinity: then not even a sum that may be anything
    /// stays so.
    pub(crate) fn may_settle(&self) -> bool {
        let Interval { low, high, .. } = self.interval;
        self.poison || self.interval.only_nan() || low == f64::INFINITY || high == f64::NEG_INFINITY
    }
}

/// Terms that were added so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    /// The finite parts of the terms, added up; and a second time as multiples of [`SCALE`], where an `f64` overflows.
    total: [Interval; 2],
    /// Sum of the terms' largest magnitudes, likewise.
    magnitude: [f64; 2],
    /// The largest and the least that some of the terms may add up to, as multiples of [`SCALE`].
    reach: Reach,
    infinite: Infinite,
    count: f64,
    /// The most that a term is at least, while no term is negative: no order makes a sum less, as rounding keeps the order
    /// of numbers.
    floor: Option<f64>,
    /// Whether every term is exactly -0: then so is their sum, in every order (IEEE 754, 6.3).
    minus_zeros: bool,
    /// The exponent of the smallest bit that any term has, while all terms are exact numbers.
    quantum: Option<i32>,
    /// Whether terms are products, whose bits may be smaller than those of the dtype.
    has_products: bool,
    /// The only term so far, when it is one.
    single: Option<Lane>,
    /// Errors that come beside those of the steps: relative to the magnitude.
    inherited: f64,
    /// The bits of precision that these errors leave.
    inherited_bits: i32,
    poison: bool,
}

/// In which units sums are kept that may overflow in `f64`.
const SCALE: f64 = power_of_two(64);
const UNSCALE: f64 = power_of_two(-64);

/// The range of partial sums.
#[derive(Clone, Copy, Debug)]
enum Reach {
    /// Any terms may be added up before the others.
    Any { positive: f64, negative: f64 },
    /// Only terms that follow each other are added up before others. For each sign, the most that the last ones add up to,
    /// and the most that any do.
    Neighbours { ending: [f64; 2], greatest: [f64; 2] },
}

impl Reach {
    fn add(&mut self, low: f64, high: f64) {
        match self {
            Self::Any { positive, negative } => {
                *positive += high.max(0.0);
                *negative += (-low).max(0.0);
            }
            Self::Neighbours {
                ending,
                greatest: most,
            } => {
                for ((ending, most), term) in ending.iter_mut().zip(most).zip([high, -low]) {
                    *ending = ending.max(0.0) + term;
                    *most = most.max(*ending);
                }
            }
        }
    }

    /// The terms that follow have no finite neighbour on this side.
    fn part(&mut self) {
        if let Self::Neighbours { ending, .. } = self {
            *ending = [0.0; 2];
        }
    }

    /// The most upward and the most downward, before errors.
    const fn extremes(self) -> [f64; 2] {
        match self {
            Self::Any { positive, negative } => [positive, negative],
            Self::Neighbours { greatest: most, .. } => most,
        }
    }
}

/// Terms that are not finite.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Infinite {
    /// A term may be infinity.
    pub above: bool,
    /// A term may be minus infinity.
    pub below: bool,
    /// A term may be NaN.
    pub nan: bool,
    /// A term is infinity.
    pub surely_above: bool,
    /// A term is minus infinity.
    pub surely_below: bool,
    /// A term is NaN.
    pub surely_nan: bool,
}

impl Infinite {
    /// Takes a term in. Gives its finite values, if it has any.
    pub(super) fn take(&mut self, term: Interval) -> Option<(f64, f64)> {
        if term.only_nan() {
            self.nan = true;
            self.surely_nan = true;
            return None;
        }
        self.nan |= term.nan;
        self.above |= term.high == f64::INFINITY;
        self.below |= term.low == f64::NEG_INFINITY;
        self.surely_above |= term.low == f64::INFINITY && !term.nan;
        self.surely_below |= term.high == f64::NEG_INFINITY && !term.nan;
        (term.low < f64::INFINITY && term.high > f64::NEG_INFINITY)
            .then_some((term.low.max(f64::MIN), term.high.min(f64::MAX)))
    }
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            total: [Interval::point(0.0); 2],
            magnitude: [0.0; 2],
            reach: Reach::Any {
                positive: 0.0,
                negative: 0.0,
            },
            infinite: Infinite::default(),
            count: 0.0,
            floor: Some(0.0),
            minus_zeros: true,
            quantum: Some(i32::MAX),
            has_products: false,
            single: None,
            inherited: 0.0,
            inherited_bits: i32::MAX,
            poison: false,
        }
    }
}

/// The exponent of the smallest bit of a number; `None` of an infinity or NaN.
pub(super) fn lowest_bit(value: f64) -> Option<i32> {
    if value == 0.0 {
        return Some(i32::MAX);
    }
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let significand = if exponent == 0 {
        fraction
    } else {
        fraction | (1 << 52)
    };
    Some(exponent.max(1) - 1075 + significand.trailing_zeros() as i32)
}

fn is_minus_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// Bits of operands that are used as they are, and of `tf32`.
const WHOLE_BITS: i32 = 26;
const TF32: i32 = 11;

/// Whether a number is a finite one of `f32`.
pub(super) fn is_single(value: f64) -> bool {
    value.is_finite() && f64::from(value as f32) == value
}

/// The exponent of the smallest bit of a number that has at most so many.
fn narrow(value: f64, bits: i32) -> Option<i32> {
    let lowest = lowest_bit(value)?;
    if value == 0.0 {
        return Some(i32::MAX);
    }
    (value.abs() < power_of_two(lowest.saturating_add(bits).min(1023))).then_some(lowest)
}

impl Input {
    /// The exponent of the smallest bit of an operand, if it is used as it is.
    pub(super) fn find_lowest_bit(self, value: f64) -> Option<i32> {
        let (bits, is_whole) = match self {
            Self::Whole => (WHOLE_BITS, true),
            Self::Tf32 => (TF32, false),
            Self::Split { bits, .. } => (bits, false),
        };
        // A subnormal number of `f32` has bits that one with fewer bits and the same exponents lacks.
        narrow(value, bits).filter(|&lowest| is_whole || lowest >= least_part(bits))
    }
}

/// The exponent of the least bit of a number with the exponents of `f32` and so many bits.
const fn least_part(bits: i32) -> i32 {
    -125 - bits
}

/// Whether terms of these magnitudes, all of them multiples of a power of two, are added up without rounding where each
/// partial sum has so many bits.
pub(super) fn fits(magnitude: f64, quantum: i32, bits: i32) -> bool {
    quantum == i32::MAX || magnitude <= power_of_two(quantum.saturating_add(bits).min(1023))
}

impl Sum {
    /// The sum of so many products of moderate size, whose magnitudes are added up.
    pub(super) fn of_products(total: Interval, magnitude: f64, count: usize, quantum: Option<i32>) -> Self {
        let scaled = |interval: Interval| Interval {
            low: interval.low * UNSCALE,
            high: interval.high * UNSCALE,
            nan: interval.nan,
        };
        // No more than this is reached, and that is far from overflowing.
        let reached = magnitude * UNSCALE;
        Self {
            total: [total, scaled(total)],
            magnitude: [magnitude, reached],
            reach: Reach::Any {
                positive: reached,
                negative: reached,
            },
            // Not known; what is wider holds as well.
            floor: None,
            // The signs of zeros from a tensor core are not documented.
            minus_zeros: false,
            count: count as f64,
            quantum,
            has_products: true,
            ..Self::default()
        }
    }

    /// Says that there was more than one term.
    pub(super) fn clear_single(&mut self) {
        self.single = None;
    }

    /// Adds a term of several; `exact` is whether it has one value.
    pub(super) fn add_interval(&mut self, term: Interval, exact: bool) {
        self.add_term(term, if exact { lowest_bit(term.low) } else { None });
    }

    /// Adds terms that are finite, some of several.
    pub(super) fn add_terms(&mut self, terms: &Terms) {
        let Reach::Any { positive, negative } = &mut self.reach else {
            for lane in 0..LANES {
                let (low, high) = (terms.low[lane], terms.high[lane]);
                self.add_interval(
                    Interval {
                        low,
                        high,
                        nan: false,
                    },
                    terms.exact[lane],
                );
            }
            return;
        };
        let ([total, scaled], [magnitude, reached]) = (&mut self.total, &mut self.magnitude);
        for (&low, &high) in terms.low.iter().zip(&terms.high) {
            let most = low.abs().max(high.abs());
            total.low += low;
            total.high += high;
            *magnitude += most;
            scaled.low += low * UNSCALE;
            scaled.high += high * UNSCALE;
            *reached += most * UNSCALE;
            *positive += (high * UNSCALE).max(0.0);
            *negative += (-low * UNSCALE).max(0.0);
        }
        self.count += LANES as f64;
        let minus = |lane: usize| {
            terms.exact[lane] && is_minus_zero(terms.low[lane]) && is_minus_zero(terms.high[lane])
        };
        self.minus_zeros = self.minus_zeros && (0..LANES).all(minus);
        for (&low, &exact) in terms.low.iter().zip(&terms.exact) {
            let lowest = |_| if exact { lowest_bit(low) } else { None };
            self.quantum = self
                .quantum
                .and_then(|before| lowest(before).map(|own| own.min(before)));
        }
        let least = terms.low.iter().copied().fold(f64::INFINITY, f64::min);
        let floor = terms.low.iter().copied().fold(0.0, f64::max);
        self.floor = self
            .floor
            .filter(|_| least >= 0.0)
            .map(|before| before.max(floor));
    }

    /// A sum that may only add adjacent terms first.
    pub(crate) fn in_order() -> Self {
        Self {
            reach: Reach::Neighbours {
                ending: [0.0; 2],
                greatest: [0.0; 2],
            },
            ..Self::default()
        }
    }

    /// Adds a term.
    pub(crate) fn add(&mut self, lane: Lane, dtype: DType) {
        if lane == Lane::Poison {
            self.poison = true;
            return;
        }
        let term = to_unrounded(dtype, lane);
        let exact = if term.low == term.high {
            lowest_bit(term.low)
        } else {
            None
        };
        self.add_term(term, exact.filter(|_| lane.bits().is_some()));
        self.single = (self.count == 1.0).then_some(lane);
    }

    /// Adds the product of two factors of a dtype, which are used as `input` says.
    pub(crate) fn add_product(&mut self, x: &Factor, y: &Factor, dtype: DType, input: Input) {
        if x.poison || y.poison {
            self.poison = true;
            return;
        }
        self.has_products = true;
        if x.zero && y.is_finite() || y.zero && x.is_finite() {
            return self.add_zero(x.lowest.is_some() && y.lowest.is_some());
        }
        let (a, b) = (x.interval, y.interval);
        let exact = x
            .lowest
            .zip(y.lowest)
            .map(|(x, y)| x.saturating_add(y))
            .filter(|_| dtype != DType::F64);
        let mut product = if a.only_nan() || b.only_nan() {
            Interval::NAN
        } else if a.low == a.high && b.low == b.high && !a.nan && !b.nan {
            // Factors of at most 26 bits have an exact product.
            let value = a.low * b.low;
            if dtype == DType::F64 {
                Interval::point(value).outward()
            } else {
                Interval::point(value)
            }
        } else if x.single && y.single {
            // As are the ends.
            combine_corners(a, b, |x, y| x * y)
        } else {
            multiply_intervals(a, b)
        };
        if let Input::Split { bits, relative } = input
            && x.lowest.zip(y.lowest).is_none()
        {
            // The parts of an operand lack what is below their least bit.
            let parts = 2.0 * power_of_two(least_part(bits)) * (a.magnitude() + b.magnitude());
            product = product.widen(product.magnitude() * relative + parts);
        }
        self.minus_zeros = false;
        self.add_term(product, exact);
    }

    /// Adds a term that is zero, of either sign; `exact` is whether its factors are exact numbers. Blocks are often padded with these.
    fn add_zero(&mut self, exact: bool) {
        self.count += 1.0;
        self.minus_zeros = false;
        self.quantum = self.quantum.filter(|_| exact);
        self.floor = self.floor.map(|floor| floor.max(0.0));
        self.reach.add(0.0, 0.0);
    }

    /// Whether it may be any number of a dtype, whatever other numbers of it are added.
    pub(crate) fn is_anything(&self, dtype: DType) -> bool {
        dtype != DType::F64 && self.infinite.above && self.infinite.below && self.magnitude[0] >= f64::MAX
    }

    fn add_term(&mut self, term: Interval, lowest: Option<i32>) {
        self.floor = self
            .floor
            .filter(|_| term.low >= 0.0)
            .map(|floor| floor.max(term.low.min(f64::MAX)));
        self.count += 1.0;
        self.minus_zeros &= lowest.is_some() && is_minus_zero(term.low) && is_minus_zero(term.high);
        self.quantum = self.quantum.zip(lowest).map(|(a, b)| a.min(b));
        let Some((low, high)) = self.infinite.take(term) else {
            self.reach.part();
            return;
        };
        for ((total, magnitude), scale) in self.total.iter_mut().zip(&mut self.magnitude).zip([1.0, UNSCALE])
        {
            total.low += low * scale;
            total.high += high * scale;
            *magnitude += (low.abs().max(high.abs())) * scale;
        }
        self.reach.add(low * UNSCALE, high * UNSCALE);
    }

    /// Says that the sum is off by this part of the terms' magnitudes, unless `bits` bits hold every partial sum.
    pub(crate) fn inherit(&mut self, relative: f64, bits: i32) {
        self.inherited = relative;
        self.inherited_bits = bits;
    }

    /// The interval of the sum, if each step is rounded to `bits` bits and the result to `dtype`.
    pub(crate) fn bound_result(&self, dtype: DType, bits: i32) -> Lane {
        if self.poison {
            return Lane::Poison;
        }
        if let Some(single) = self.single {
            return single;
        }
        if self.minus_zeros && self.count > 0.0 {
            return Lane::Bits(encode(dtype, -0.0, Rounding::NearestEven));
        }
        let infinite = self.infinite;
        if infinite.surely_nan || infinite.surely_above && infinite.surely_below {
            return Interval::NAN.to_lane(dtype);
        }
        // The second part is the rounding of this computation itself.
        let relative =
            self.count * power_of_two(-bits) * 1.01 + self.inherited + self.count * power_of_two(-52);
        // If the bits hold every partial sum, no order rounds.
        let least_bit = precision::least_bit(dtype);
        let exact = self.quantum.is_some_and(|quantum| {
            quantum >= least_bit && fits(self.magnitude[0], quantum, bits.min(self.inherited_bits))
        });
        let underflow = if self.has_products && !exact {
            self.count * power_of_two(least_bit)
        } else {
            0.0
        };
        let [above, below] = self.reach.extremes().map(|most| {
            let error = if exact { 0.0 } else { self.magnitude[1] * relative };
            is_overflow((most + error) * SCALE, most + error, dtype)
        });
        let (above, below) = (above || infinite.above, below || infinite.below);
        let finite = if infinite.surely_above || infinite.surely_below {
            None
        } else if self.magnitude[0].is_finite() {
            let total = self.total[0];
            // A result that every order computes exactly is then rounded once, to the result's dtype.
            let error = if exact && total.low == total.high {
                0.0
            } else {
                self.magnitude[0] * relative + underflow
            };
            Some((total.low - error, total.high + error))
        } else {
            let (total, error) = (self.total[1], self.magnitude[1] * relative);
            Some(((total.low - error) * SCALE, (total.high + error) * SCALE))
        };
        // Steps that cut off lose some of the largest term as well.
        let kept = 1.0 - 2.0 * self.count * power_of_two(-bits) - self.inherited;
        let floor = self.floor.map_or(f64::NEG_INFINITY, |floor| {
            (floor * kept.max(0.0) - underflow).max(0.0)
        });
        let finite = finite.map(|(low, high)| (low.max(floor.min(high)), high));
        Outcomes {
            finite,
            above: above && !infinite.surely_below,
            below: below && !infinite.surely_above,
            // Opposite infinities met.
            nan: infinite.nan || above && below,
            rounded: exact || bits != precision::count_bits(dtype),
        }
        .to_lane(dtype)
    }

    /// The sum of one dtype, each step rounded to it.
    pub(crate) fn to_lane(self, dtype: DType) -> Lane {
        self.bound_result(dtype, precision::count_bits(dtype))
    }
}

/// The possible values of a float: some finite numbers, infinities and a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Outcomes {
    /// The least and the greatest number, before they are rounded to the dtype.
    pub finite: Option<(f64, f64)>,
    pub above: bool,
    pub below: bool,
    pub nan: bool,
    /// Whether the numbers are rounded once more to the dtype: its own roundings are in the range already.
    pub rounded: bool,
}

impl Outcomes {
    /// As a lane of a dtype.
    pub(super) fn to_lane(self, dtype: DType) -> Lane {
        let Self {
            finite,
            mut above,
            mut below,
            mut nan,
            rounded: again,
        } = self;
        let largest = find_largest(dtype);
        // The ends, rounded, to an infinity too.
        let mut end = |value: f64| {
            let rounded = decode(dtype, encode(dtype, value, Rounding::NearestEven));
            if rounded.is_finite() {
                return if again { rounded } else { value };
            }
            if value > 0.0 {
                above = true;
            } else {
                below = true;
            }
            f64::INFINITY.copysign(value)
        };
        let finite = finite
            .map(|(low, high)| (end(low), end(high)))
            .filter(|&(low, high)| low < f64::INFINITY && high > f64::NEG_INFINITY)
            .map(|(low, high)| (low.max(-largest), high.min(largest)));
        if decode(dtype, encode(dtype, f64::INFINITY, Rounding::NearestEven)).is_nan() {
            nan |= above || below;
            (above, below) = (false, false);
        }
        let whole = |low: f64, high: f64| Interval { low, high, nan }.to_lane(dtype);
        match (finite, below, above) {
            (None, false, false) => Interval::NAN.to_lane(dtype),
            (None, true, false) => whole(f64::NEG_INFINITY, f64::NEG_INFINITY),
            (None, false, true) => whole(f64::INFINITY, f64::INFINITY),
            (Some((low, high)), ..) if (!below || low == -largest) && (!above || high == largest) => {
                match (below, above) {
                    // Anything at all.
                    (true, true) => Lane::Unknown,
                    (true, false) => whole(f64::NEG_INFINITY, high),
                    (false, true) => whole(low, f64::INFINITY),
                    (false, false) => whole(low, high),
                }
            }
            _ => {
                let (low, high) = finite.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
                Lane::Apart {
                    low,
                    high,
                    below,
                    above,
                    nan,
                    cause: Cause::default(),
                }
            }
        }
    }
}

/// Whether a number is rounded to infinity. `scaled` is the number in multiples of [`SCALE`], in case it is infinite in `f64`.
pub(super) fn is_overflow(value: f64, scaled: f64, dtype: DType) -> bool {
    let bits = precision::count_bits(dtype);
    // Half a unit above the largest number.
    let half = 0.5 / (power_of_two(bits) - 1.0);
    if dtype == DType::F64 {
        let largest = f64::MAX * UNSCALE;
        return scaled >= largest + largest * half;
    }
    value >= find_largest(dtype) * (1.0 + half)
}

/// The largest finite number of a dtype.
pub(super) fn find_largest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MAX,
        DType::F32 => f64::from(f32::MAX),
        DType::BF16 => (2.0 - power_of_two(-7)) * power_of_two(127),
        DType::F16 => 65504.0,
        DType::F8E4NV => 448.0,
        DType::F8E5 | DType::F8E5B16 => 57344.0,
        _ => 240.0,
    }
}
