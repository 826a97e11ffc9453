//! The operations on whole blocks: tight loops over the stored elements, one after the other in memory, each in its
//! natural size and the host's byte order; `i1` is a byte that holds 0 or 1, a pointer a `u64`.
//!
//! An operand is either a buffer, or one element for all lanes. Buffers aligned to the element's size (as those of a
//! `Vec<u64>` always are) are read in place; others are copied first. If a buffer is shorter than the result, the lanes
//! beyond it keep their content.
//!
//! The two flaws a lane may have are listed, not stored: [`Flaws`] is empty, and has no memory, nearly always.

use std::borrow::Cow;

use bytemuck::allocation::pod_collect_to_vec;
use bytemuck::{Pod, try_cast_slice, try_cast_slice_mut};

use super::cast::visit_cast;
use super::element::{Element, Raw};
use super::elementwise::{
    Flaw, Visit1, Visit2, Visit3, unary_result, visit_binary, visit_compare, visit_ternary, visit_unary,
};
use crate::DType;
use crate::ir::{BinaryOp, CmpPredicate, Rounding, TernaryOp, UnaryOp};

/// The operand of an operation.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// The bits of one element, the same for every lane.
    Uniform(u64),
    /// The elements.
    Block(&'a [u8]),
}

/// Which lanes of a result have no value; the result holds zero bits there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flaws {
    /// The poison lanes, in order.
    pub poison: Vec<u32>,
    /// The lanes that divided an integer by zero, in order.
    pub division_by_zero: Vec<u32>,
}

impl Flaws {
    /// Whether every lane has a value.
    pub fn is_empty(&self) -> bool {
        self.poison.is_empty() && self.division_by_zero.is_empty()
    }

    /// Lists the flawed lanes among `results`.
    fn from_results<T>(results: impl Iterator<Item = Result<T, Flaw>>) -> Self {
        let mut flaws = Self::default();
        for (lane, result) in results.enumerate() {
            match result {
                Ok(_) => {}
                Err(Flaw::Poison) => flaws.poison.push(lane as u32),
                Err(Flaw::DivisionByZero) => flaws.division_by_zero.push(lane as u32),
            }
        }
        flaws
    }
}

/// An operation of one operand on every lane of `out`, whose elements are of [`super::unary_result`]'s dtype.
pub fn apply_unary(op: UnaryOp, dtype: DType, x: Operand<'_>, out: &mut [u8]) -> Flaws {
    visit_unary(
        op,
        dtype,
        Loop1 {
            x,
            out,
            size: unary_result(op, dtype).size(),
        },
    )
}

/// An operation of two operands on every lane of `out`.
pub fn apply_binary(op: BinaryOp, dtype: DType, x: Operand<'_>, y: Operand<'_>, out: &mut [u8]) -> Flaws {
    visit_binary(
        op,
        dtype,
        Loop2 {
            x,
            y,
            out,
            size: dtype.size(),
        },
    )
}

/// An operation of three operands on every lane of `out`.
pub fn apply_ternary(
    op: TernaryOp,
    dtype: DType,
    x: Operand<'_>,
    y: Operand<'_>,
    z: Operand<'_>,
    out: &mut [u8],
) -> Flaws {
    visit_ternary(
        op,
        dtype,
        Loop3 {
            x,
            y,
            z,
            out,
            size: dtype.size(),
        },
    )
}

/// A comparison on every lane; `out` holds one byte a lane.
pub fn compare(predicate: CmpPredicate, dtype: DType, x: Operand<'_>, y: Operand<'_>, out: &mut [u8]) {
    visit_compare(predicate, dtype, Loop2 { x, y, out, size: 1 });
}

/// A value cast on every lane.
pub fn cast(from: DType, to: DType, rounding: Rounding, x: Operand<'_>, out: &mut [u8]) -> Flaws {
    visit_cast(
        from,
        to,
        rounding,
        Loop1 {
            x,
            out,
            size: to.size(),
        },
    )
}

/// Picks `x` where the condition (one byte a lane) is set and `y` elsewhere; elements of `size` bytes (1, 2, 4 or 8).
pub fn select(size: usize, condition: Operand<'_>, x: Operand<'_>, y: Operand<'_>, out: &mut [u8]) {
    match size {
        1 => select_raw::<u8>(condition, x, y, out),
        2 => select_raw::<u16>(condition, x, y, out),
        4 => select_raw::<u32>(condition, x, y, out),
        _ => select_raw::<u64>(condition, x, y, out),
    }
}

/// Writes one element in every lane; elements of `size` bytes (1, 2, 4 or 8).
pub fn fill(size: usize, bits: u64, out: &mut [u8]) {
    fn fill_raw<T: Raw>(bits: u64, out: &mut [u8]) {
        write_all(out, |lanes: &mut [T]| lanes.fill(T::from_u64(bits)));
    }
    match size {
        1 => fill_raw::<u8>(bits, out),
        2 => fill_raw::<u16>(bits, out),
        4 => fill_raw::<u32>(bits, out),
        _ => fill_raw::<u64>(bits, out),
    }
}

fn select_raw<T: Raw>(condition: Operand<'_>, x: Operand<'_>, y: Operand<'_>, out: &mut [u8]) {
    // Masks instead of a condition, which the compiler would turn into a branch a lane.
    let pick = |set: u8, x: T, y: T| {
        let mask = T::from_u64(0u64.wrapping_sub(u64::from(set & 1)));
        (x & mask) | (y & !mask)
    };
    let (x, y) = (Source::<T>::from_operand(x), Source::<T>::from_operand(y));
    write_all(out, |out: &mut [T]| match (condition, &x, &y) {
        (Operand::Uniform(set), x, y) => {
            let chosen = if set & 1 == 1 { x } else { y };
            match chosen {
                Source::One(value) => out.fill(*value),
                Source::Many(values) => {
                    for (out, &value) in out.iter_mut().zip(values.iter()) {
                        *out = value;
                    }
                }
            }
        }
        (Operand::Block(set), Source::Many(x), Source::Many(y)) => {
            for (((out, &set), &x), &y) in out.iter_mut().zip(set).zip(x.iter()).zip(y.iter()) {
                *out = pick(set, x, y);
            }
        }
        (Operand::Block(set), Source::Many(x), &Source::One(y)) => {
            for ((out, &set), &x) in out.iter_mut().zip(set).zip(x.iter()) {
                *out = pick(set, x, y);
            }
        }
        (Operand::Block(set), &Source::One(x), Source::Many(y)) => {
            for ((out, &set), &y) in out.iter_mut().zip(set).zip(y.iter()) {
                *out = pick(set, x, y);
            }
        }
        (Operand::Block(set), &Source::One(x), &Source::One(y)) => {
            for (out, &set) in out.iter_mut().zip(set) {
                *out = pick(set, x, y);
            }
        }
    });
}

/// An operand's stored elements.
enum Source<'a, T: Pod> {
    One(T),
    Many(Cow<'a, [T]>),
}

impl<'a, T: Raw> Source<'a, T> {
    fn from_operand(operand: Operand<'a>) -> Self {
        match operand {
            Operand::Uniform(bits) => Self::One(T::from_u64(bits)),
            Operand::Block(bytes) => Self::Many(cast_elements(bytes)),
        }
    }

    /// The elements one after the other, a uniform one without end.
    fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let (one, many) = match self {
            Self::One(value) => (Some(*value), None),
            Self::Many(values) => (None, Some(values.iter().copied())),
        };
        one.into_iter().cycle().chain(many.into_iter().flatten())
    }
}

fn cast_elements<T: Raw>(bytes: &[u8]) -> Cow<'_, [T]> {
    try_cast_slice(bytes).map_or_else(
        |_| {
            let whole = bytes.len() - bytes.len() % size_of::<T>();
            Cow::Owned(pod_collect_to_vec(bytes.get(..whole).unwrap_or_default()))
        },
        Cow::Borrowed,
    )
}

/// Lets `write` fill the elements of `out`, in place where its alignment allows.
fn write_all<T: Raw, R>(out: &mut [u8], write: impl FnOnce(&mut [T]) -> R) -> R {
    if let Ok(lanes) = try_cast_slice_mut(out) {
        return write(lanes);
    }
    let mut lanes = cast_elements::<T>(out).into_owned();
    let result = write(&mut lanes);
    let bytes: &[u8] = bytemuck::cast_slice(&lanes);
    if let Some(out) = out.get_mut(..bytes.len()) {
        out.copy_from_slice(bytes);
    }
    result
}

/// Returns the stored value of a lane, and sets `flawed` if there is none. It has no branch, so that loops vectorise; a
/// second pass finds the flawed lanes, if there are any.
#[inline(always)]
fn settle<T: Element>(result: Result<T, Flaw>, flawed: &mut bool) -> T::Raw {
    *flawed |= result.is_err();
    result.map_or_else(|_| T::Raw::from_u64(0), Element::raw)
}

/// No meaning: every lane is poison.
fn all_poison(out: &mut [u8], size: usize) -> Flaws {
    out.fill(0);
    Flaws {
        poison: (0..(out.len() / size.max(1)) as u32).collect(),
        division_by_zero: Vec::new(),
    }
}

struct Loop1<'a, 'o> {
    x: Operand<'a>,
    out: &'o mut [u8],
    size: usize,
}

impl Visit1 for Loop1<'_, '_> {
    type Out = Flaws;

    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A) -> R) -> Flaws {
        let x = Source::<A::Raw>::from_operand(self.x);
        write_all(self.out, |out: &mut [R::Raw]| match x {
            Source::One(x) => out.fill(f(A::from_raw(x)).raw()),
            Source::Many(x) => {
                for (out, &x) in out.iter_mut().zip(x.iter()) {
                    *out = f(A::from_raw(x)).raw();
                }
            }
        });
        Flaws::default()
    }

    fn visit_partial<A: Element, R: Element>(self, f: impl Fn(A) -> Result<R, Flaw>) -> Flaws {
        let x = Source::<A::Raw>::from_operand(self.x);
        let mut flawed = false;
        let lanes = write_all(self.out, |out: &mut [R::Raw]| {
            match &x {
                Source::One(x) => out.fill(settle(f(A::from_raw(*x)), &mut flawed)),
                Source::Many(x) => {
                    for (out, &x) in out.iter_mut().zip(x.iter()) {
                        *out = settle(f(A::from_raw(x)), &mut flawed);
                    }
                }
            }
            out.len()
        });
        if flawed {
            Flaws::from_results(x.iter().take(lanes).map(|x| f(A::from_raw(x))))
        } else {
            Flaws::default()
        }
    }

    fn visit_undefined(self) -> Flaws {
        all_poison(self.out, self.size)
    }
}

struct Loop2<'a, 'o> {
    x: Operand<'a>,
    y: Operand<'a>,
    out: &'o mut [u8],
    size: usize,
}

impl Visit2 for Loop2<'_, '_> {
    type Out = Flaws;

    fn visit_total<A: Element, R: Element>(self, f: impl Fn(A, A) -> R) -> Flaws {
        let (x, y) = (
            Source::<A::Raw>::from_operand(self.x),
            Source::<A::Raw>::from_operand(self.y),
        );
        write_all(self.out, |out: &mut [R::Raw]| match (x, y) {
            (Source::Many(x), Source::Many(y)) => {
                for ((out, &x), &y) in out.iter_mut().zip(x.iter()).zip(y.iter()) {
                    *out = f(A::from_raw(x), A::from_raw(y)).raw();
                }
            }
            (Source::Many(x), Source::One(y)) => {
                let y = A::from_raw(y);
                for (out, &x) in out.iter_mut().zip(x.iter()) {
                    *out = f(A::from_raw(x), y).raw();
                }
            }
            (Source::One(x), Source::Many(y)) => {
                let x = A::from_raw(x);
                for (out, &y) in out.iter_mut().zip(y.iter()) {
                    *out = f(x, A::from_raw(y)).raw();
                }
            }
            (Source::One(x), Source::One(y)) => out.fill(f(A::from_raw(x), A::from_raw(y)).raw()),
        });
        Flaws::default()
    }

    fn visit_partial<A: Element>(self, f: impl Fn(A, A) -> Result<A, Flaw>) -> Flaws {
        let (x, y) = (
            Source::<A::Raw>::from_operand(self.x),
            Source::<A::Raw>::from_operand(self.y),
        );
        let mut flawed = false;
        let lanes = write_all(self.out, |out: &mut [A::Raw]| {
            match (&x, &y) {
                (Source::Many(x), Source::Many(y)) => {
                    for ((out, &x), &y) in out.iter_mut().zip(x.iter()).zip(y.iter()) {
                        *out = settle(f(A::from_raw(x), A::from_raw(y)), &mut flawed);
                    }
                }
                (Source::Many(x), Source::One(y)) => {
                    let y = A::from_raw(*y);
                    for (out, &x) in out.iter_mut().zip(x.iter()) {
                        *out = settle(f(A::from_raw(x), y), &mut flawed);
                    }
                }
                (Source::One(x), Source::Many(y)) => {
                    let x = A::from_raw(*x);
                    for (out, &y) in out.iter_mut().zip(y.iter()) {
                        *out = settle(f(x, A::from_raw(y)), &mut flawed);
                    }
                }
                (Source::One(x), Source::One(y)) => {
                    out.fill(settle(f(A::from_raw(*x), A::from_raw(*y)), &mut flawed));
                }
            }
            out.len()
        });
        if flawed {
            Flaws::from_results(
                x.iter()
                    .zip(y.iter())
                    .take(lanes)
                    .map(|(x, y)| f(A::from_raw(x), A::from_raw(y))),
            )
        } else {
            Flaws::default()
        }
    }

    fn visit_undefined(self) -> Flaws {
        all_poison(self.out, self.size)
    }
}

struct Loop3<'a, 'o> {
    x: Operand<'a>,
    y: Operand<'a>,
    z: Operand<'a>,
    out: &'o mut [u8],
    size: usize,
}

impl Visit3 for Loop3<'_, '_> {
    type Out = Flaws;

    fn visit_total<A: Element>(self, f: impl Fn(A, A, A) -> A) -> Flaws {
        self.visit_partial(|x: A, y: A, z: A| Ok(f(x, y, z)))
    }

    fn visit_partial<A: Element>(self, f: impl Fn(A, A, A) -> Result<A, Flaw>) -> Flaws {
        // Rarely uniform, except the limits of a clamp: a uniform operand is spread out.
        let lanes = self.out.len() / size_of::<A::Raw>();
        let spread = |operand| match Source::<A::Raw>::from_operand(operand) {
            Source::One(value) => Cow::Owned(vec![value; lanes]),
            Source::Many(values) => values,
        };
        let (x, y, z) = (spread(self.x), spread(self.y), spread(self.z));
        let mut flawed = false;
        write_all(self.out, |out: &mut [A::Raw]| {
            for (((out, &x), &y), &z) in out.iter_mut().zip(x.iter()).zip(y.iter()).zip(z.iter()) {
                *out = settle(f(A::from_raw(x), A::from_raw(y), A::from_raw(z)), &mut flawed);
            }
        });
        if !flawed {
            return Flaws::default();
        }
        let all = x.iter().zip(y.iter()).zip(z.iter());
        Flaws::from_results(all.map(|((&x, &y), &z)| f(A::from_raw(x), A::from_raw(y), A::from_raw(z))))
    }

    fn visit_undefined(self) -> Flaws {
        all_poison(self.out, self.size)
    }
}
