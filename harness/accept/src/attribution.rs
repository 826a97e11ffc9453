//! Finds the operation that widened a lane most, while steps run. See `cause` and `map` for the records.

use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, BinaryOp, Combine, OpKind};
use cerith_tile::source::Span;

use super::cause::Cause;
use super::lane::Lane;
use super::lanes::Lanes;
use super::state::{Halt, Machine};
use cerith_interp::program::{Code, Op, Program, Slot, Step};

/// The operation that computes a value: its name, and its location.
pub fn find_operation(program: &Program, value: u32) -> Option<(&'static str, Span)> {
    let step = find(&program.prologue, value).or_else(|| find(&program.body, value))?;
    Some((name_operation(&step.op), program.function.span(step.loc)))
}

fn find(code: &Code, value: Slot) -> Option<&Step> {
    code.steps.iter().find_map(|step| {
        let inner = match &step.op {
            Op::For(code) | Op::Reduce { code, .. } | Op::Scan { code, .. } => find(code, value),
            Op::If(one, other) | Op::While(one, other) => find(one, value).or_else(|| find(other, value)),
            Op::Plain(_) | Op::Binary(_) | Op::Unary(_) => None,
        };
        inner.or_else(|| step.outs.contains(&value).then_some(step))
    })
}

const fn name_operation(op: &Op) -> &'static str {
    match op {
        Op::Binary(op) => op.name(),
        Op::Unary(op) => op.name(),
        Op::Plain(OpKind::Ternary(op)) => op.name(),
        Op::Plain(OpKind::Cast { .. }) => "cast",
        Op::Plain(OpKind::Dot { .. }) => "dot",
        Op::Plain(OpKind::Select) => "select",
        Op::Plain(OpKind::AtomicRmw {
            op: AtomicOp::Add, ..
        }) => "atomic_add",
        Op::Plain(OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }) => "atomic",
        Op::Plain(_) => "operation",
        Op::Reduce { .. } => "reduce",
        Op::Scan { .. } => "scan",
        Op::For(_) | Op::While(..) => "loop",
        Op::If(..) => "branch",
    }
}

/// Whether operands are added up.
const fn is_additive(op: &Op) -> bool {
    matches!(
        op,
        Op::Binary(BinaryOp::Add | BinaryOp::Sub)
            | Op::Reduce {
                combine: Some(Combine::Add),
                ..
            }
            | Op::Scan {
                combine: Some(Combine::Add),
                ..
            }
            | Op::Plain(OpKind::AtomicRmw {
                op: AtomicOp::Add,
                ..
            })
    )
}

/// The largest magnitude of a lane that is not exact; none of another.
fn measure_magnitude(lane: Lane) -> Option<f64> {
    match lane {
        Lane::Within { low, high, .. } => Some(low.abs().max(high.abs())),
        Lane::Apart { .. } => Some(f64::INFINITY),
        _ => None,
    }
}

/// The width of a lane by its magnitude.
fn spread(lane: Lane) -> f32 {
    let (low, high, nan) = match lane {
        Lane::Within { low, high, nan, .. } => (low, high, nan),
        Lane::Apart { .. } => return f32::INFINITY,
        _ => return 0.0,
    };
    let magnitude = low.abs().max(high.abs());
    if nan || !magnitude.is_finite() {
        return f32::INFINITY;
    }
    if magnitude == 0.0 {
        return 0.0;
    }
    ((high - low) / magnitude) as f32
}

impl Machine<'_> {
    /// Returns a lane that a step just computed from others, with its cause.
    pub(super) fn assign_cause(&self, lane: Lane, step: &Step, from: impl Iterator<Item = Lane>) -> Lane {
        let (Some(book), Some(Cause { step: 0, .. })) = (&self.map.book, lane.cause()) else {
            return lane;
        };
        let (mut most, mut widest) = (Cause::default(), 0.0f32);
        let whole = measure_magnitude(lane).filter(|&whole| whole > 0.0 && is_additive(&step.op));
        for operand in from {
            let part = match (whole, measure_magnitude(operand)) {
                (Some(whole), Some(part)) if part < whole => (part / whole) as f32,
                _ => 1.0,
            };
            widest = widest.max(spread(operand) * part);
            if let Some(mut cause) = operand.cause() {
                cause.growth *= part;
                if cause.growth > most.growth {
                    most = cause;
                }
            }
        }
        let own = spread(lane);
        let growth = if own == f32::INFINITY && widest == f32::INFINITY {
            0.0
        } else {
            (own - widest).max(0.0)
        };
        let base = book.bases.last().copied().unwrap_or(0);
        let cause = match step.outs.first() {
            Some(&out) if growth >= most.growth => Cause {
                step: base.saturating_add(out).saturating_add(1),
                growth,
            },
            _ => most,
        };
        lane.with_cause(cause)
    }

    /// Says of the lanes that a step made what widened them most.
    pub(super) fn attribute_step(&mut self, step: &Step) -> Result<(), Halt> {
        if matches!(step.op, Op::For(_) | Op::While(..) | Op::If(..)) {
            return Ok(());
        }
        for &out in &step.outs {
            if !self.layout(out).elem.num().is_some_and(DType::is_float) {
                continue;
            }
            let mut lanes = std::mem::replace(&mut self.slots[out as usize], Lanes::Uniform(Lane::Poison));
            let told = match &mut lanes {
                Lanes::Uniform(lane) => self.attribute_lane(*lane, 0, step).map(|told| *lane = told),
                Lanes::Wide(_) | Lanes::Plain => Ok(()),
                Lanes::Each(lanes) => lanes.iter_mut().enumerate().try_for_each(|(nth, lane)| {
                    self.attribute_lane(*lane, nth, step).map(|told| *lane = told)
                }),
            };
            self.slots[out as usize] = lanes;
            told?;
        }
        Ok(())
    }

    /// One lane of a step's result, with the cause that widened it most.
    fn attribute_lane(&self, lane: Lane, nth: usize, step: &Step) -> Result<Lane, Halt> {
        if lane.cause().is_none() {
            return Ok(lane);
        }
        let at = |slot: Slot, lane: usize| self.value(slot).lane_at(lane);
        Ok(match &step.op {
            Op::Reduce { axis, .. } | Op::Scan { axis, .. } => {
                let along = self.find_axis(step.ins[0], *axis)?;
                let row = if matches!(step.op, Op::Scan { .. }) {
                    along.row(nth)
                } else {
                    nth
                };
                let operands = step.ins.iter();
                let from = operands
                    .flat_map(|&slot| (0..along.count).map(move |nth| (slot, along.lane_at(row, nth))));
                self.assign_cause(lane, step, from.map(|(slot, lane)| at(slot, lane)))
            }
            Op::Plain(OpKind::Dot { .. }) => {
                let [a, b, c] = [step.ins[0], step.ins[1], step.ins[2]];
                let extent = |slot: Slot, back: usize| {
                    let shape = &self.ty(slot).shape;
                    shape
                        .len()
                        .checked_sub(back)
                        .and_then(|at| shape.get(at))
                        .copied()
                        .unwrap_or(1)
                };
                let (k, n, m) = (extent(a, 1), extent(b, 1).max(1), extent(a, 2).max(1));
                let (row, column) = (nth / n, nth % n);
                let factors =
                    (0..k).flat_map(|i| [at(a, row * k + i), at(b, (row / m * k + i) * n + column)]);
                let from = factors.chain(std::iter::once(at(c, nth)));
                self.assign_cause(lane, step, from)
            }
            _ => self.assign_cause(lane, step, step.ins.iter().map(|&slot| at(slot, nth))),
        })
    }
}
