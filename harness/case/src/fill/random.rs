//! Seeded random contents and edge values. See [`super::Fill`] for their syntax.

use cerith_memory::Storages;
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{encode, encode_int};
use cerith_tile::source::Span;

use super::computed::render_number;
use super::element::{append, reject_type};
use crate::template::ValueTemplate;
use cerith_expression::{Names, Value};

/// Seeded numbers, the same on every machine and in every version of Cerith: `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random {
    dtype: DType,
    state: u64,
    /// From the first up to, and without, the second; floats without one are of any magnitude near 1.
    range: Option<(Value, Value)>,
    edges: bool,
}

impl Random {
    /// Integers of the whole range, floats of many magnitudes, edge values.
    pub(super) fn new(dtype: DType, seed: u64) -> Self {
        let range = (!dtype.is_float()).then(|| {
            let bits = dtype.bits();
            let low = if dtype.is_signed_int() && dtype != DType::I1 {
                -(1i128 << (bits - 1))
            } else {
                0
            };
            (Value::Int(low), Value::Int(low + (1i128 << bits)))
        });
        Self {
            dtype,
            state: seed,
            range,
            edges: true,
        }
    }

    pub(super) fn read(
        dtype: DType,
        names: &Names,
        seed: Option<&ValueTemplate>,
        low: Option<&ValueTemplate>,
        high: Option<&ValueTemplate>,
        edges: Option<&ValueTemplate>,
        span: Span,
    ) -> Result<Self, Diagnostic> {
        let evaluate = |template: &ValueTemplate| template.evaluate(names, &mut Storages::new());
        let seed = match seed {
            None => 0,
            Some(template) => match evaluate(template)? {
                Value::Int(seed) if u64::try_from(seed).is_ok() => seed as u64,
                other => return Err(reject_type(template.span(), &other, "a seed from 0 to 2^64 - 1")),
            },
        };
        let mut random = Self::new(dtype, seed);
        let bound = |template: Option<&ValueTemplate>, default: Value| -> Result<Value, Diagnostic> {
            let Some(template) = template else {
                return Ok(default);
            };
            match evaluate(template)? {
                Value::Int(value) if dtype.is_float() => Ok(Value::Float(value as f64)),
                value @ Value::Int(_) => Ok(value),
                Value::Float(value) if dtype.is_float() && value.is_finite() => Ok(Value::Float(value)),
                other => Err(reject_type(
                    template.span(),
                    &other,
                    if dtype.is_float() {
                        "a number"
                    } else {
                        "an integer"
                    },
                )),
            }
        };
        if low.is_some() || high.is_some() {
            random.edges = false;
            let whole = random.range.take();
            let (least, most) = whole.clone().unwrap_or((Value::Float(-1.0), Value::Float(1.0)));
            let (low, high) = (bound(low, least)?, bound(high, most)?);
            let ordered = match (&low, &high, &whole) {
                (Value::Int(low), Value::Int(high), Some((Value::Int(least), Value::Int(most)))) => {
                    least <= low && low < high && high <= most
                }
                (Value::Float(low), Value::Float(high), _) => low < high,
                _ => false,
            };
            if !ordered {
                return Err(Diagnostic::error(
                    "out-of-range",
                    span,
                    format!("random numbers from {low} to {high} for {dtype}"),
                )
                .help("`low` is included and `high` is not; both must fit the dtype"));
            }
            random.range = Some((low, high));
        }
        if let Some(template) = edges {
            match evaluate(template)? {
                Value::Bool(value) => random.edges = value,
                other => return Err(reject_type(template.span(), &other, "true or false")),
            }
        }
        Ok(random)
    }

    /// The fill as a case file writes it.
    pub(super) fn render(&self) -> String {
        let range = self.range.as_ref().map_or_else(String::new, |(low, high)| {
            format!(", low: {}, high: {}", render_number(low), render_number(high))
        });
        format!(
            "{{ random: {{ seed: {}{range}, edges: {} }} }}",
            self.state, self.edges
        )
    }

    /// Elements from the `first` on. With edge values, one element in four is one.
    pub(super) fn fill(&self, bytes: &mut Vec<u8>, first: u64, count: usize) {
        match &self.range {
            Some((Value::Int(low), Value::Int(high))) => {
                let width = (high - low).max(1) as u128;
                self.append_drawn(bytes, first, count, |draw| {
                    // The high part of the product is uniform up to one part in 2^64 / width.
                    let offset = (u128::from(draw) * width) >> 64;
                    encode_int(self.dtype, low + offset as i128)
                });
            }
            Some((Value::Float(low), Value::Float(high))) => {
                self.append_drawn(bytes, first, count, |draw| {
                    let unit = (draw >> 11) as f64 / (1u64 << 53) as f64;
                    encode_float(self.dtype, low + (high - low) * unit)
                });
            }
            _ => self.append_drawn(bytes, first, count, |draw| {
                // Sign, 52 bits of mantissa, and an exponent from -8 to 7.
                let exponent = 1023 - 8 + (draw >> 2 & 15);
                let value = f64::from_bits(draw & 1 << 63 | exponent << 52 | (draw >> 11 & ((1 << 52) - 1)));
                encode_float(self.dtype, value)
            }),
        }
    }

    /// Elements from the `first` on: an edge value, or the bits that `convert` makes of a number.
    fn append_drawn(&self, bytes: &mut Vec<u8>, first: u64, count: usize, convert: impl Fn(u64) -> u64) {
        // Each element takes one number, whose state follows from the element's index.
        let mut state = self.state.wrapping_add(first.wrapping_mul(STEP));
        if !self.edges {
            return append(bytes, self.dtype, count, || convert(next(&mut state)));
        }
        let edges = list_edges(self.dtype);
        append(bytes, self.dtype, count, || {
            let draw = next(&mut state);
            if !draw.is_multiple_of(4) {
                return convert(draw);
            }
            let at = (draw >> 2) as usize % edges.len().max(1);
            edges.get(at).copied().unwrap_or(0)
        });
    }
}

/// The nearest value of a dtype. Most tensors are `f32`, which the processor rounds to.
fn encode_float(dtype: DType, value: f64) -> u64 {
    match dtype {
        DType::F32 => u64::from((value as f32).to_bits()),
        _ => encode(dtype, value, Rounding::NearestEven),
    }
}

/// The step of a state from one number to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(STEP);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bits of values at which arithmetic changes its ways: zeros, ones, ends of the range, subnormals, infinities
/// and a NaN where the dtype has them.
fn list_edges(dtype: DType) -> Vec<u64> {
    let bits = dtype.bits();
    if dtype.is_int() {
        let ones = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        let half = 1u64 << (bits / 2);
        let mut all = vec![
            0,
            1,
            ones,
            ones ^ 1,
            top,
            top.wrapping_sub(1),
            top | 1,
            half,
            half.wrapping_sub(1),
        ];
        for value in &mut all {
            *value &= ones;
        }
        all.sort_unstable();
        all.dedup();
        return all;
    }
    let sign = 1u64 << (bits - 1);
    let mantissa = match dtype {
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F64 => 52,
        DType::F8E5 | DType::F8E5B16 => 2,
        DType::F8E4NV | DType::F8E4B8 | DType::F8E4B15 => 3,
        _ => 23,
    };
    let largest_subnormal = (1u64 << mantissa) - 1;
    let one = encode(dtype, 1.0, Rounding::NearestEven);
    let mut all = vec![0, one, one + 1, 1, largest_subnormal, largest_subnormal + 1];
    let ieee = matches!(
        dtype,
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E5
    );
    let infinity = sign - (1u64 << mantissa);
    match dtype {
        _ if ieee => all.extend([infinity - 1, infinity, infinity | 1u64 << (mantissa - 1)]),
        DType::F8E4NV => all.extend([0x7e, 0x7f]),
        _ => all.push(0x7f),
    }
    let has_negative_zero = !matches!(dtype, DType::F8E4B8 | DType::F8E5B16);
    let negative: Vec<u64> = all
        .iter()
        .filter(|&&value| value != 0 || has_negative_zero)
        .map(|value| value | sign)
        .collect();
    all.extend(negative);
    if !has_negative_zero {
        all.push(sign);
    }
    all
}
