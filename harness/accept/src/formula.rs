//! A combine function as a formula on lanes. Besides the results of conforming implementations, a formula can compute a
//! range that also contains the exact result, so that ranges of different orders can be compared
//! ([`Formula::combine_loosely`]). See `combine_function` for orders.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, Combine, Elem, OpKind, TernaryOp, UnaryOp};
use cerith_tile::numeric::{decode, decode_int};
use smallvec::SmallVec;

use super::interval::Interval;
use super::lane::{Lane, Sides, to_unrounded};
use super::operation::cast_lane;
use super::precision::{self, power_of_two};
use super::state::Machine;
use super::{float, library};
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Code, Op, Slot, Step};

/// The lanes of one element, one for each operand of the reduction.
pub(super) type Element = SmallVec<[Lane; 4]>;

/// The source of a lane in a formula.
#[derive(Clone, Copy)]
enum Input {
    /// An argument or the result of an earlier step.
    Inner(usize),
    /// A value from outside of the region.
    Outer(Lane),
}

struct Instruction<'a> {
    op: &'a Op,
    ins: SmallVec<[Input; 4]>,
    from: SmallVec<[Elem; 4]>,
    to: Elem,
    sides: Sides,
}

/// A combine function without control flow.
pub(super) struct Formula<'a> {
    instructions: Vec<Instruction<'a>>,
    yields: SmallVec<[Input; 4]>,
    /// The operation of each operand that is combined by a well-known one, alone.
    pub combines: SmallVec<[Option<Combine>; 4]>,
    /// The dtype of each operand, if it is a float.
    pub floats: SmallVec<[Option<DType>; 4]>,
}

impl<'a> Formula<'a> {
    /// The formula of a region that has elementwise operations alone.
    pub(super) fn new(machine: &Machine<'a>, code: &'a Code) -> Option<Self> {
        let count = code.yields.len();
        if code.args.len() != 2 * count {
            return None;
        }
        let mut places: Vec<(Slot, usize)> = code.args.iter().copied().zip(0..).collect();
        let input = |places: &[(Slot, usize)], slot: Slot| {
            let inner = places.iter().rev().find(|(known, _)| *known == slot);
            inner.map_or_else(
                || Input::Outer(machine.read_lane(slot, 0)),
                |&(_, at)| Input::Inner(at),
            )
        };
        let mut instructions = Vec::with_capacity(code.steps.len());
        for (nth, step) in code.steps.iter().enumerate() {
            let (&[out], true) = (step.outs.as_slice(), is_elementwise(&step.op)) else {
                return None;
            };
            instructions.push(Instruction {
                op: &step.op,
                ins: step.ins.iter().map(|&slot| input(&places, slot)).collect(),
                from: step.ins.iter().map(|&slot| machine.layout(slot).elem).collect(),
                to: machine.layout(out).elem,
                sides: machine.map.sides,
            });
            places.push((out, 2 * count + nth));
        }
        let yields = code
            .yields
            .iter()
            .map(|yielded| input(&places, yielded.slot))
            .collect();
        let known = (0..count).map(|nth| find_combine(code, nth)).collect();
        let float = |&slot: &Slot| {
            let dtype = compute_dtype(machine.layout(slot).elem);
            dtype.is_float().then_some(dtype)
        };
        Some(Self {
            instructions,
            yields,
            combines: known,
            floats: code.args.iter().take(count).map(float).collect(),
        })
    }

    /// Combines two elements. Each result that rounds is a range that holds the exact result and every rounding of it.
    pub(super) fn combine_loosely(&self, left: &[Lane], right: &[Lane], room: &mut Vec<Lane>) -> Element {
        room.clear();
        room.extend(left.iter().chain(right));
        for instruction in &self.instructions {
            let read = |input: &Input| match *input {
                Input::Inner(at) => room.get(at).copied().unwrap_or(Lane::Unknown),
                Input::Outer(lane) => lane,
            };
            let ins: SmallVec<[Lane; 4]> = instruction.ins.iter().map(read).collect();
            let result = instruction.run(&ins);
            room.push(instruction.loosen_result(&ins, result));
        }
        let read = |input: &Input| match *input {
            Input::Inner(at) => room.get(at).copied().unwrap_or(Lane::Unknown).plain(),
            Input::Outer(lane) => lane,
        };
        self.yields.iter().map(read).collect()
    }
}

/// Whether an operation computes a lane from lanes.
fn is_elementwise(op: &Op) -> bool {
    match op {
        Op::Binary(_) | Op::Unary(_) => true,
        Op::Plain(kind) => matches!(
            kind,
            OpKind::Constant(_)
                | OpKind::Ternary(_)
                | OpKind::Library(_)
                | OpKind::Foreign(_)
                | OpKind::Compare(_)
                | OpKind::Select
                | OpKind::Cast { .. }
                | OpKind::Poison
        ),
        _ => false,
    }
}

/// The well-known operation that makes one of the results, from the same operand of both elements and nothing else.
fn find_combine(code: &Code, nth: usize) -> Option<Combine> {
    let count = code.yields.len();
    let slot = code.yields.get(nth)?.slot;
    let step: &Step = code.steps.iter().find(|step| step.outs.first() == Some(&slot))?;
    let (left, right) = (*code.args.get(nth)?, *code.args.get(count + nth)?);
    let [x, y] = *step.ins.as_slice() else {
        return None;
    };
    if (x, y) != (left, right) && (x, y) != (right, left) {
        return None;
    }
    match step.op {
        Op::Binary(BinaryOp::Add) => Some(Combine::Add),
        Op::Binary(BinaryOp::Mul) => Some(Combine::Mul),
        Op::Binary(BinaryOp::Min) => Some(Combine::Min),
        Op::Binary(BinaryOp::Max) => Some(Combine::Max),
        Op::Binary(BinaryOp::And) => Some(Combine::And),
        Op::Binary(BinaryOp::Or) => Some(Combine::Or),
        Op::Binary(BinaryOp::Xor) => Some(Combine::Xor),
        _ => None,
    }
}

impl Instruction<'_> {
    fn run(&self, ins: &[Lane]) -> Lane {
        let lane = |nth: usize| ins.get(nth).copied().unwrap_or(Lane::Unknown);
        let to = compute_dtype(self.to);
        let first = self.from.first().copied().map_or(to, compute_dtype);
        match self.op {
            Op::Binary(op) => float::apply_binary(*op, to, lane(0), lane(1)),
            Op::Unary(op) => float::apply_unary(*op, first, lane(0), self.sides),
            Op::Plain(OpKind::Constant(bits)) => Lane::Bits(*bits),
            Op::Plain(OpKind::Ternary(op)) => float::apply_ternary(*op, to, lane(0), lane(1), lane(2)),
            Op::Plain(OpKind::Library(symbol)) => library::apply_library(symbol, ins),
            Op::Plain(OpKind::Foreign(foreign)) => {
                let from: SmallVec<[Option<DType>; 4]> = self.from.iter().map(|elem| elem.num()).collect();
                library::apply_foreign(foreign, ins, &from, self.to.num())
            }
            Op::Plain(OpKind::Compare(predicate)) => float::compare(*predicate, first, lane(0), lane(1)),
            Op::Plain(OpKind::Select) => {
                float::select([lane(0), lane(1), lane(2)], self.to.num(), self.sides)
            }
            Op::Plain(OpKind::Cast { kind, rounding }) => {
                let from = self.from.first().copied().unwrap_or(self.to);
                cast_lane(*kind, *rounding, from, self.to, lane(0))
            }
            Op::Plain(OpKind::Poison) => Lane::Poison,
            _ => Lane::Unknown,
        }
    }

    /// A result with room for the exact one and every rounding of it, unless it is exact.
    fn loosen_result(&self, ins: &[Lane], result: Lane) -> Lane {
        let dtype = compute_dtype(self.to);
        if !dtype.is_float() || matches!(result, Lane::Unknown | Lane::Guess(_) | Lane::Poison) {
            return result;
        }
        if self.is_unrounded(ins, result) {
            return result.plain();
        }
        let interval = to_unrounded(dtype, result);
        if interval.only_nan() {
            return result.plain();
        }
        let by = rounding_of(dtype, interval.magnitude());
        interval.widen(by).to_lane(dtype)
    }

    /// Whether a result is exact, or nothing in it was rounded.
    fn is_unrounded(&self, ins: &[Lane], result: Lane) -> bool {
        let dtype = compute_dtype(self.to);
        let number = |nth: usize| {
            let from = self.from.get(nth).copied().map(compute_dtype)?;
            let bits = ins.get(nth)?.bits()?;
            from.is_float().then(|| decode(from, bits))
        };
        let exact = |f: fn(f64, f64, f64) -> bool| {
            let of = |x: f64, y: f64, bits: u64| {
                let result = decode(dtype, bits);
                // A result that is infinite or NaN for exact operands is so without rounding, unless it overflowed.
                let special = !x.is_finite() || !y.is_finite();
                special || result.is_finite() && f(x, y, result)
            };
            let operands = number(0).zip(number(1)).zip(result.bits());
            operands.is_some_and(|((x, y), bits)| of(x, y, bits))
        };
        match self.op {
            Op::Binary(op) => match op {
                BinaryOp::Add => exact(is_sum),
                BinaryOp::Sub => exact(|x, y, r| is_sum(x, -y, r)),
                BinaryOp::Mul => exact(is_product),
                BinaryOp::Div | BinaryOp::DivRn => exact(|x, y, r| y != 0.0 && is_product(r, y, x)),
                BinaryOp::Min
                | BinaryOp::Max
                | BinaryOp::MinPropagateNan
                | BinaryOp::MaxPropagateNan
                | BinaryOp::CopySign => true,
                _ => false,
            },
            Op::Unary(op) => matches!(
                op,
                UnaryOp::Neg
                    | UnaryOp::Abs
                    | UnaryOp::Floor
                    | UnaryOp::Ceil
                    | UnaryOp::Rint
                    | UnaryOp::Trunc
                    | UnaryOp::Round
            ),
            Op::Plain(OpKind::Ternary(op)) => *op != TernaryOp::Fma,
            // Its own bounds have room for both.
            Op::Plain(OpKind::Foreign(foreign)) => foreign.has_bounds(),
            Op::Plain(OpKind::Constant(_) | OpKind::Select) => true,
            Op::Plain(OpKind::Cast { kind, .. }) => {
                let Some(from) = self.from.first().copied().map(compute_dtype) else {
                    return false;
                };
                let (Some(before), Some(after)) = (ins.first().and_then(|lane| lane.bits()), result.bits())
                else {
                    return *kind == CastKind::Bits || from.is_float() && is_widening(from, dtype);
                };
                let after = decode(dtype, after);
                *kind == CastKind::Bits
                    || if from.is_float() {
                        let before = decode(from, before);
                        before == after || before.is_nan()
                    } else {
                        // No integer beyond 2^53 is looked at: it counts as rounded.
                        let before = decode_int(from, before);
                        before.unsigned_abs() <= 1 << 53 && before as f64 == after
                    }
            }
            _ => false,
        }
    }
}

/// Whether every number of a float dtype is one of another.
fn is_widening(from: DType, to: DType) -> bool {
    let wide = |dtype: DType| matches!(dtype, DType::F32 | DType::F64);
    from == to || to == DType::F64 || to == DType::F32 && !wide(from)
}

/// Whether a sum is exact (Knuth's two-sum).
fn is_sum(x: f64, y: f64, result: f64) -> bool {
    let sum = x + y;
    let other = sum - x;
    let lost = (x - (sum - other)) + (y - other);
    sum == result && lost == 0.0
}

/// Whether a product is exact.
fn is_product(x: f64, y: f64, result: f64) -> bool {
    let product = x * y;
    let vanished = product == 0.0 && x != 0.0 && y != 0.0;
    product == result && x.mul_add(y, -product) == 0.0 && !vanished
}

/// The greatest error of rounding a number of this magnitude: half a unit of its last place, plus the smallest number.
pub(super) fn rounding_of(dtype: DType, magnitude: f64) -> f64 {
    let smallest = match dtype {
        DType::F64 => f64::from_bits(1),
        DType::F16 => power_of_two(-24),
        // `bf16` has the exponents of `f32`, whose functions flush what is subnormal.
        _ => power_of_two(-126),
    };
    if magnitude.is_finite() {
        magnitude * power_of_two(-precision::count_bits(dtype)) + smallest
    } else {
        0.0
    }
}

/// The finite magnitude of a lane.
pub(super) fn measure_magnitude(lane: Lane, dtype: DType) -> f64 {
    let Interval { low, high, .. } = lane.to_interval(dtype);
    let finite = |end: f64| if end.is_finite() { end.abs() } else { 0.0 };
    finite(low).max(finite(high))
}
