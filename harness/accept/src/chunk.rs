//! Operations on [`LANES`] lanes of a block at once, in loops without branches, so that the compiler vectorises them. Each loop
//! marks the lanes that it cannot compute: infinities, numbers that are subnormal in the dtype, and products plus zero, which stay
//! products. The caller computes each of these lanes with [`super::float`].
//!
//! Invariant: results equal those of [`super::float`] to the bit.

#![expect(
    clippy::inline_always,
    clippy::needless_bitwise_bool,
    clippy::needless_range_loop,
    reason = "loops over several arrays at once, which calls and branches keep from being vectorised"
)]

use cerith_tile::DType;

use super::ends::{NORMAL, add_ulps, fma_to_odd, is_ordinary, max, min, step_down, step_up};
use super::rounding::{Brain, Half, Round, Single};
use super::wide::{BITS, INTERVAL, PRODUCT, Tag, Wide};

/// The number of lanes in a chunk.
pub(super) const LANES: usize = 32;

/// A number for each lane.
pub(super) type Ends = [f64; LANES];

/// Adjacent lanes of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a> {
    pub low: &'a Ends,
    pub high: &'a Ends,
    pub tags: &'a [Tag; LANES],
    pub factors: Option<[&'a Ends; 2]>,
}

/// The kinds of lanes in a chunk.
#[derive(Clone, Copy, Debug)]
struct Kinds(Tag);

impl Kinds {
    /// Whether all lanes are exact numbers or products.
    const fn is_exact(self) -> bool {
        self.0 & !PRODUCT == BITS
    }

    const fn has_products(self) -> bool {
        self.0 & PRODUCT != 0
    }
}

/// A chunk of a value that is the same in all lanes. It is not part of a block.
#[derive(Clone, Debug)]
pub(super) struct UniformChunk {
    low: Ends,
    high: Ends,
    tags: [Tag; LANES],
    factors: Option<[Ends; 2]>,
}

impl UniformChunk {
    /// Copies one lane to all lanes.
    pub(super) fn new(low: f64, high: f64, tag: Tag, factors: [f64; 2]) -> Self {
        Self {
            low: [low; LANES],
            high: [high; LANES],
            tags: [tag; LANES],
            factors: (tag == PRODUCT).then(|| factors.map(|factor| [factor; LANES])),
        }
    }

    pub(super) fn chunk(&self) -> Chunk<'_> {
        Chunk {
            low: &self.low,
            high: &self.high,
            tags: &self.tags,
            factors: self.factors.as_ref().map(|[x, y]| [x, y]),
        }
    }
}

impl Wide {
    /// The `nth` chunk of lanes. `None` if fewer lanes than a chunk are left.
    #[inline]
    pub(super) fn chunk(&self, nth: usize) -> Option<Chunk<'_>> {
        let factors = match &self.factors {
            Some(factors) => Some([
                factors[0].as_chunks().0.get(nth)?,
                factors[1].as_chunks().0.get(nth)?,
            ]),
            None => None,
        };
        Some(Chunk {
            low: self.low.as_chunks().0.get(nth)?,
            high: self.high.as_chunks().0.get(nth)?,
            tags: self.tags.as_chunks().0.get(nth)?,
            factors,
        })
    }
}

impl Chunk<'_> {
    #[inline]
    fn kinds(&self) -> Kinds {
        Kinds(self.tags.iter().fold(BITS, |any, &tag| any | tag))
    }

    /// Whether all lanes are finite numbers, intervals of them or products.
    pub(super) fn is_finite(&self) -> bool {
        let ends = self.low.iter().zip(self.high);
        self.kinds().0 & !(INTERVAL | PRODUCT) == BITS
            && ends.fold(0, |any, (&low, &high)| {
                any | flag_infinite(low) | flag_infinite(high)
            }) == 0
    }

    /// The ends of the terms of a sum, and whether each term is one number.
    pub(super) fn terms(&self) -> Terms {
        let mut room = [[0.0; LANES]; 2];
        let [&low, &high] = self.compute_unrounded::<false>(&mut room);
        let exact = std::array::from_fn(|lane| self.tags[lane] != INTERVAL && low[lane] == high[lane]);
        Terms { low, high, exact }
    }

    /// The ends of the terms of a sum, negated if `NEGATIVE`. The ends of a product include its value before rounding.
    #[inline(always)]
    fn compute_unrounded<'b, const NEGATIVE: bool>(&'b self, room: &'b mut [Ends; 2]) -> [&'b Ends; 2] {
        let products = if self.kinds().has_products() {
            self.factors
        } else {
            None
        };
        if products.is_none() && !NEGATIVE {
            return [self.low, self.high];
        }
        let [low, high] = room;
        (*low, *high) = (*self.low, *self.high);
        if let Some([x, y]) = products {
            for lane in 0..LANES {
                let exact = x[lane] * y[lane];
                let product = self.tags[lane] == PRODUCT;
                low[lane] = if product { min(low[lane], exact) } else { low[lane] };
                high[lane] = if product {
                    max(high[lane], exact)
                } else {
                    high[lane]
                };
            }
        }
        if NEGATIVE {
            for lane in 0..LANES {
                (low[lane], high[lane]) = (-high[lane], -low[lane]);
            }
        }
        [low, high]
    }
}

/// Terms of a sum.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub low: Ends,
    pub high: Ends,
    pub exact: [bool; LANES],
}

/// The destination of a chunk of a result.
#[derive(Debug)]
pub(super) struct Out<'a> {
    pub low: &'a mut Ends,
    pub high: &'a mut Ends,
    pub tags: &'a mut [Tag; LANES],
    /// The factors, if some lanes are products.
    pub factors: Factors<'a>,
    /// Not zero if the loop cannot compute the lane, so that [`super::float`] must.
    pub odd: &'a mut [u64; LANES],
}

/// Returns the factors of a block, and creates them if there are none. Lanes that are not products have meaningless factors.
pub(super) fn ensure_factors<'a>(
    to: &'a mut Option<Box<[Vec<f64>; 2]>>,
    spare: &mut Option<Box<[Vec<f64>; 2]>>,
    lanes: usize,
) -> &'a mut [Vec<f64>; 2] {
    let none = || Box::new([vec![0.0; lanes], vec![0.0; lanes]]);
    to.get_or_insert_with(|| spare.take().unwrap_or_else(none))
}

/// The destination of a chunk's factors.
#[derive(Debug)]
pub(super) struct Factors<'a> {
    pub to: &'a mut Option<Box<[Vec<f64>; 2]>>,
    /// Vectors to reuse.
    pub spare: &'a mut Option<Box<[Vec<f64>; 2]>>,
    pub first: usize,
    pub lanes: usize,
}

impl Factors<'_> {
    /// Writes the factors of the chunk's products.
    fn write_factors(&mut self, factors: [&Ends; 2]) {
        let all = ensure_factors(self.to, self.spare, self.lanes);
        for (all, factors) in all.iter_mut().zip(factors) {
            if let Some(to) = all.get_mut(self.first..self.first + LANES) {
                to.copy_from_slice(factors);
            }
        }
    }
}

impl Out<'_> {
    /// Marks lanes as odd that are not exact numbers, intervals of numbers or products.
    #[inline]
    fn exclude_special(&mut self, x: Chunk<'_>) {
        for lane in 0..LANES {
            self.odd[lane] |= u64::from(x.tags[lane] & !(INTERVAL | PRODUCT));
        }
    }

    /// Marks lanes as odd that are exact in both operands.
    #[inline]
    fn exclude_exact(&mut self, x: Chunk<'_>, y: Chunk<'_>) {
        for lane in 0..LANES {
            self.odd[lane] |= u64::from(!(x.tags[lane] | y.tags[lane]) & INTERVAL);
        }
    }

    /// Replaces the lanes that are exact in both operands by those that `exact` computes.
    #[inline(always)]
    fn merge_exact(&mut self, x: Chunk<'_>, y: Chunk<'_>, exact: impl Fn(&mut Out<'_>)) {
        let both = |lane: usize| (x.tags[lane] | y.tags[lane]) & INTERVAL == 0;
        if !(0..LANES).any(both) {
            return;
        }
        let (mut low, mut high, mut tags, mut odd) = ([0.0; LANES], [0.0; LANES], [BITS; LANES], [0; LANES]);
        exact(&mut Out {
            low: &mut low,
            high: &mut high,
            tags: &mut tags,
            factors: Factors {
                to: self.factors.to,
                spare: self.factors.spare,
                first: self.factors.first,
                lanes: self.factors.lanes,
            },
            odd: &mut odd,
        });
        for lane in 0..LANES {
            let both = both(lane);
            self.low[lane] = if both { low[lane] } else { self.low[lane] };
            self.high[lane] = if both { high[lane] } else { self.high[lane] };
            self.tags[lane] = if both { tags[lane] } else { self.tags[lane] };
            let plain = u64::from((x.tags[lane] | y.tags[lane]) & !(INTERVAL | PRODUCT));
            self.odd[lane] = if both { odd[lane] | plain } else { self.odd[lane] };
        }
    }
}

/// Converts a condition to the form of [`Out::odd`].
#[inline(always)]
fn flag_odd(is: bool) -> u64 {
    u64::from(is)
}

#[inline(always)]
fn flag_infinite(value: f64) -> u64 {
    const EXPONENT: u64 = 0x7ff << 52;
    flag_odd(value.to_bits() & EXPONENT == EXPONENT)
}

/// Tags lanes by their ends: exact numbers if both ends are equal and not zero, otherwise intervals.
#[inline]
fn tag_intervals(out: &mut Out<'_>) {
    let mut open = [0; LANES];
    for lane in 0..LANES {
        let (low, high) = (out.low[lane], out.high[lane]);
        open[lane] = flag_odd((low != high) | (low == 0.0));
    }
    pack(&open, out.tags);
}

/// Narrows words to tags. A function of its own, because the compiler does not vectorise a loop that has both types.
#[inline(never)]
fn pack(words: &[u64; LANES], tags: &mut [Tag; LANES]) {
    for (tag, &word) in tags.iter_mut().zip(words) {
        *tag = word as Tag;
    }
}

/// Computes `x + y`, or `x - y` if `NEGATIVE`. Returns false if the dtype is unsupported.
pub(super) fn add<const NEGATIVE: bool>(dtype: DType, x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) -> bool {
    match dtype {
        DType::F32 => add_in::<Single, NEGATIVE>(x, y, out),
        DType::F16 => add_in::<Half, NEGATIVE>(x, y, out),
        DType::BF16 => add_in::<Brain, NEGATIVE>(x, y, out),
        _ => return false,
    }
    true
}

/// Negates lanes. Only lanes that are not numbers, intervals or products are odd.
pub(super) fn negate(x: Chunk<'_>, out: &mut Out<'_>) -> bool {
    out.exclude_special(x);
    for lane in 0..LANES {
        (out.low[lane], out.high[lane]) = (-x.high[lane], -x.low[lane]);
    }
    *out.tags = *x.tags;
    if let Some([first, second]) = x.factors {
        out.factors.write_factors([&first.map(|factor| -factor), second]);
    }
    true
}

fn add_in<R: Round, const NEGATIVE: bool>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) {
    if x.kinds().is_exact() && y.kinds().is_exact() {
        return add_exact::<R, NEGATIVE>(x, y, out);
    }
    out.exclude_special(x);
    out.exclude_special(y);
    let mut rooms = [[[0.0; LANES]; 2]; 2];
    let [room, other] = &mut rooms;
    let ([x_low, x_high], [y_low, y_high]) = (
        x.compute_unrounded::<false>(room),
        y.compute_unrounded::<NEGATIVE>(other),
    );
    for lane in 0..LANES {
        let (low, odd) = R::round(step_down(x_low[lane] + y_low[lane]));
        let (high, strange) = R::round(step_up(x_high[lane] + y_high[lane]));
        out.odd[lane] |= flag_odd(odd | strange) | flag_infinite(low) | flag_infinite(high);
        (out.low[lane], out.high[lane]) = (low, high);
    }
    tag_intervals(out);
    out.merge_exact(x, y, |out| add_exact::<R, NEGATIVE>(x, y, out));
}

/// Adds lanes that are exact numbers or products.
#[inline(always)]
fn add_exact<R: Round, const NEGATIVE: bool>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) {
    let (one, other) = (x.kinds().has_products(), y.kinds().has_products());
    match (one, other) {
        (false, false) => add_bits::<R, NEGATIVE>(x, y, out),
        (true, false) => add_product::<R, NEGATIVE, true, false>(x, y, out),
        (false, true) => add_product::<R, NEGATIVE, false, true>(x, y, out),
        (true, true) => add_product::<R, NEGATIVE, true, true>(x, y, out),
    }
}

fn add_bits<R: Round, const NEGATIVE: bool>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) {
    for lane in 0..LANES {
        let q = if NEGATIVE { -y.low[lane] } else { y.low[lane] };
        let (sum, odd) = R::round(x.low[lane] + q);
        out.odd[lane] |= flag_odd(odd) | flag_odd(sum.is_nan());
        (out.low[lane], out.high[lane]) = (sum, sum);
    }
    out.tags.fill(BITS);
}

/// Adds exact numbers. Some lanes of `x` are products if `FIRST`, and some of `y` if `SECOND`.
fn add_product<R: Round, const NEGATIVE: bool, const FIRST: bool, const SECOND: bool>(
    x: Chunk<'_>,
    y: Chunk<'_>,
    out: &mut Out<'_>,
) {
    let [a, b] = x.factors.unwrap_or([x.low; 2]);
    let [c, d] = y.factors.unwrap_or([y.low; 2]);
    for lane in 0..LANES {
        let (p, q) = (x.low[lane], if NEGATIVE { -y.low[lane] } else { y.low[lane] });
        let (sum, odd) = R::round(p + q);
        let mut bad = flag_odd(odd | (p == 0.0) | (q == 0.0));
        let (mut low, mut high, mut same) = (sum, sum, true);
        if FIRST {
            let (value, strange) = R::round(fma_to_odd(a[lane], b[lane], q));
            let value = if x.tags[lane] == PRODUCT { value } else { sum };
            bad |= flag_odd(strange);
            (low, high) = (min(low, value), max(high, value));
            same &= value.to_bits() == sum.to_bits();
        }
        if SECOND {
            let factor = if NEGATIVE { -c[lane] } else { c[lane] };
            let (value, strange) = R::round(fma_to_odd(factor, d[lane], p));
            let value = if y.tags[lane] == PRODUCT { value } else { sum };
            bad |= flag_odd(strange);
            (low, high) = (min(low, value), max(high, value));
            same &= value.to_bits() == sum.to_bits();
        }
        out.odd[lane] |= bad | flag_infinite(low) | flag_infinite(high) | flag_odd(!same & (low == high));
        (out.low[lane], out.high[lane]) = (low, high);
    }
    let mut open = [0; LANES];
    for lane in 0..LANES {
        open[lane] = flag_odd(out.low[lane].to_bits() != out.high[lane].to_bits());
    }
    pack(&open, out.tags);
}

/// Computes `x * y`, and writes the factors of products to `out`. Returns false if the dtype is unsupported.
pub(super) fn multiply(dtype: DType, x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) -> bool {
    match dtype {
        DType::F32 => multiply_in::<Single>(x, y, out),
        DType::F16 => multiply_in::<Half>(x, y, out),
        DType::BF16 => multiply_in::<Brain>(x, y, out),
        _ => return false,
    }
    true
}

fn multiply_in<R: Round>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) {
    if x.kinds().is_exact() && y.kinds().is_exact() {
        return multiply_exact::<R>(x, y, out);
    }
    out.exclude_special(x);
    out.exclude_special(y);
    for lane in 0..LANES {
        let (a, b, c, d) = (x.low[lane], x.high[lane], y.low[lane], y.high[lane]);
        let corners = [a * c, a * d, b * c, b * d];
        let low = step_down(min(min(corners[0], corners[1]), min(corners[2], corners[3])));
        let high = step_up(max(max(corners[0], corners[1]), max(corners[2], corners[3])));
        let ((below, odd), (above, strange)) = (R::round(low), R::round(high));
        let (low, high) = (min(low, below), max(high, above));
        let sum = corners[0] + corners[1] + corners[2] + corners[3];
        out.odd[lane] |=
            flag_odd(odd | strange) | flag_infinite(low) | flag_infinite(high) | flag_infinite(sum);
        (out.low[lane], out.high[lane]) = (low, high);
    }
    tag_intervals(out);
    out.merge_exact(x, y, |out| multiply_exact::<R>(x, y, out));
}

/// Multiplies exact numbers.
#[inline(always)]
fn multiply_exact<R: Round>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) {
    for lane in 0..LANES {
        let (a, b) = (x.low[lane], y.low[lane]);
        let (product, odd) = R::round(a * b);
        out.odd[lane] |= flag_odd(odd) | flag_infinite(a) | flag_infinite(b);
        (out.low[lane], out.high[lane]) = (product, product);
    }
    // A product multiplied by 1 or -1 stays a product of its own factors, which `float` computes.
    for (product, by) in [(x, y), (y, x)] {
        if product.kinds().has_products() {
            for lane in 0..LANES {
                out.odd[lane] |= flag_odd((product.tags[lane] == PRODUCT) & (by.low[lane].abs() == 1.0));
            }
        }
    }
    out.tags.fill(PRODUCT);
    out.factors.write_factors([x.low, y.low]);
}

/// The maximum of two, or the minimum if `LESS`.
pub(super) fn pick<const LESS: bool>(x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) -> bool {
    out.exclude_special(x);
    out.exclude_special(y);
    let pick = |a: f64, b: f64| if LESS { min(a, b) } else { max(a, b) };
    for lane in 0..LANES {
        let (a, b) = (x.low[lane], y.low[lane]);
        let (low, high) = (pick(a, b), pick(x.high[lane], y.high[lane]));
        let infinities =
            flag_infinite(a) | flag_infinite(b) | flag_infinite(x.high[lane]) | flag_infinite(y.high[lane]);
        // `min` and `max` do not distinguish the signs of zeros.
        out.odd[lane] |= infinities | flag_odd((a == 0.0) & (b == 0.0));
        (out.low[lane], out.high[lane]) = (low, high);
    }
    tag_intervals(out);
    for lane in 0..LANES {
        out.tags[lane] &= (x.tags[lane] | y.tags[lane]) & INTERVAL;
    }
    true
}

/// Computes `x / y` of `f32`, with an error of up to `units` in the last place.
pub(super) fn divide(x: Chunk<'_>, y: Chunk<'_>, units: f64, out: &mut Out<'_>) -> bool {
    if x.kinds().is_exact() && y.kinds().is_exact() {
        for lane in 0..LANES {
            let (a, b) = (x.low[lane], y.low[lane]);
            let value = f64::from((a / b) as f32);
            let (low, high) = (add_ulps(value, -units), add_ulps(value, units));
            let well =
                is_ordinary(a) & is_ordinary(b) & is_ordinary(value) & is_ordinary(low) & is_ordinary(high);
            out.odd[lane] |= flag_odd(!well);
            (out.low[lane], out.high[lane]) = (low, high);
        }
        tag_intervals(out);
        return true;
    }
    out.exclude_special(x);
    out.exclude_special(y);
    out.exclude_exact(x, y);
    for lane in 0..LANES {
        let (a, b, c, d) = (x.low[lane], x.high[lane], y.low[lane], y.high[lane]);
        let well = is_ordinary(a) & is_ordinary(b) & is_ordinary(c) & is_ordinary(d);
        let signs = ((c < 0.0) != (d < 0.0)) | ((a < 0.0) != (b < 0.0));
        let corners = [a / c, a / d, b / c, b / d];
        let low = step_down(min(min(corners[0], corners[1]), min(corners[2], corners[3])));
        let high = step_up(max(max(corners[0], corners[1]), max(corners[2], corners[3])));
        let well = well & is_ordinary(low) & is_ordinary(high);
        let single = |value: f64| f64::from(value as f32);
        let (low, high) = (
            min(single(add_ulps(low, -units)), single(add_ulps(high, -units))),
            max(single(add_ulps(low, units)), single(add_ulps(high, units))),
        );
        out.odd[lane] |= flag_odd(signs | !(well & is_ordinary(low) & is_ordinary(high)));
        (out.low[lane], out.high[lane]) = (low, high);
    }
    tag_intervals(out);
    true
}

/// Applies a monotone function of `f32`. `units` returns the maximum error for the magnitude of an operand, in units of the last
/// place. `function` returns NaN outside of its domain.
#[inline(always)]
pub(super) fn apply_monotone(
    x: Chunk<'_>,
    units: impl Fn(f64) -> f64,
    function: impl Fn(f64) -> f64,
    out: &mut Out<'_>,
) -> bool {
    out.exclude_special(x);
    let single = |value: f64| f64::from(value as f32);
    for lane in 0..LANES {
        let (low, high) = (x.low[lane], x.high[lane]);
        // An engine may flush a subnormal operand to zero.
        let subnormal = (low < NORMAL) & (high > -NORMAL) & !((low == 0.0) & (high == 0.0));
        let value = function(low);
        let units = units(low.abs());
        let (below, above) = (single(add_ulps(value, -units)), single(add_ulps(value, units)));
        out.odd[lane] |=
            flag_odd(subnormal | !is_ordinary(value) | !is_ordinary(below) | !is_ordinary(above));
        (out.low[lane], out.high[lane]) = (below, above);
    }
    if !x.kinds().is_exact() {
        for lane in 0..LANES {
            let end = x.high[lane];
            let value = function(end);
            let units = units(end.abs());
            let (below, above) = (single(add_ulps(value, -units)), single(add_ulps(value, units)));
            out.odd[lane] |= flag_odd(!is_ordinary(value) | !is_ordinary(below) | !is_ordinary(above));
            (out.low[lane], out.high[lane]) = (min(out.low[lane], below), max(out.high[lane], above));
        }
    }
    tag_intervals(out);
    true
}

/// Casts lanes to a dtype. If it is wider, products lose their factors. Otherwise products are odd.
pub(super) fn cast(dtype: DType, widens: bool, x: Chunk<'_>, out: &mut Out<'_>) -> bool {
    match dtype {
        DType::F32 => cast_to::<Single>(widens, x, out),
        DType::F16 => cast_to::<Half>(widens, x, out),
        DType::BF16 => cast_to::<Brain>(widens, x, out),
        _ => return false,
    }
    true
}

fn cast_to<R: Round>(widens: bool, x: Chunk<'_>, out: &mut Out<'_>) {
    let taken = if widens { INTERVAL | PRODUCT } else { INTERVAL };
    for lane in 0..LANES {
        let ((low, odd), (high, strange)) = (R::round(x.low[lane]), R::round(x.high[lane]));
        out.odd[lane] |= flag_odd(odd | strange) | flag_infinite(low) | flag_infinite(high);
        (out.low[lane], out.high[lane]) = (low, high);
    }
    tag_intervals(out);
    for lane in 0..LANES {
        out.tags[lane] &= x.tags[lane] & INTERVAL;
        out.odd[lane] |= u64::from(x.tags[lane] & !taken);
    }
}

/// Selects the lane of `x` if the lowest bit of the lane's byte is set, otherwise that of `y`.
pub(super) fn select(bits: &[u8; LANES], x: Chunk<'_>, y: Chunk<'_>, out: &mut Out<'_>) -> bool {
    for lane in 0..LANES {
        let first = bits[lane] & 1 == 1;
        out.low[lane] = if first { x.low[lane] } else { y.low[lane] };
        out.high[lane] = if first { x.high[lane] } else { y.high[lane] };
        out.tags[lane] = if first { x.tags[lane] } else { y.tags[lane] };
    }
    if x.factors.is_some() || y.factors.is_some() {
        let none = [0.0; LANES];
        let (one, other) = (x.factors.unwrap_or([&none; 2]), y.factors.unwrap_or([&none; 2]));
        let chosen = [0, 1].map(|nth: usize| {
            let mut factors = [0.0; LANES];
            for lane in 0..LANES {
                let first = bits[lane] & 1 == 1;
                factors[lane] = if first { one[nth][lane] } else { other[nth][lane] };
            }
            factors
        });
        out.factors.write_factors([&chosen[0], &chosen[1]]);
    }
    true
}

/// Whether each lane of `x` is above that of `y`. `None` if some overlap, or if a lane is not a number or an interval.
pub(super) fn compare_disjoint(x: Chunk<'_>, y: Chunk<'_>) -> Option<[u8; LANES]> {
    if (x.kinds().0 | y.kinds().0) & !INTERVAL != BITS {
        return None;
    }
    let mut result = [0; LANES];
    let mut open = 0;
    for lane in 0..LANES {
        let (above, below) = (x.low[lane] > y.high[lane], x.high[lane] < y.low[lane]);
        open |= flag_odd(!(above | below));
        result[lane] = u8::from(above);
    }
    (open == 0).then_some(result)
}
