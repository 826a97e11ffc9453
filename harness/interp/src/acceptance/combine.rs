//! Dots whose sum is added to something: `dot(a, b, 0) + d` is `dot(a, b, d)`.
//!
//! Triton's own passes make that of it, on either side of the sum, whatever `enable_fp_fusion` says (`Combine.td`,
//! `CombineDotAddFPattern` and `CombineDotAddFRevPattern`; in the TTIR of 3.0.0 to 3.9.0). Then the dot rounds at the
//! magnitude of `d`, not of the products. They want of the dot that its accumulator is a constant zero, that nothing else
//! uses it, and that it has no `maxNumImpreciseAcc`. A difference is left alone, and so is a sum that a cast, a selection
//! or a loop's next round is between.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, OpKind};
use cerith_tile::numeric::decode;

use super::dots::Products;
use super::lane::{Lane, Lanes};
use super::machine::{Halt, Machine};
use super::sum::Sum;
use crate::elementwise::arithmetic;
use crate::program::{Code, Op, Program, Slot, Step};

/// The sums of a dot that may yet have an accumulator.
#[derive(Debug)]
pub(super) enum Open {
    /// All at once.
    Products(Box<Products>),
    /// One for each lane.
    Sums {
        sums: Vec<Sum>,
        /// Bits that every step of a sum keeps.
        bits: i32,
    },
}

/// What is known of the dots of a launch.
#[derive(Debug, Default)]
pub(super) struct Dots {
    /// Results of dots that a sum may be made the accumulator of.
    mergeable: BTreeSet<Slot>,
    open: BTreeMap<Slot, Open>,
}

/// How often each value is used, and which are constant zeros.
#[derive(Default)]
struct Uses {
    count: BTreeMap<Slot, usize>,
    zeros: BTreeSet<Slot>,
    dots: Vec<(Slot, Slot)>,
}

impl Uses {
    fn of(&mut self, program: &Program, code: &Code) {
        for step in &code.steps {
            for &slot in &step.ins {
                *self.count.entry(slot).or_default() += 1;
            }
            let (Some(&out), first) = (step.outs.first(), step.ins.first()) else {
                continue;
            };
            match &step.op {
                Op::Plain(OpKind::Constant(bits)) => {
                    let elem = program.layouts[out as usize].elem;
                    if elem
                        .num()
                        .is_some_and(|dtype| dtype.is_float() && decode(dtype, *bits) == 0.0)
                    {
                        self.zeros.insert(out);
                    }
                }
                Op::Plain(
                    OpKind::Splat
                    | OpKind::Broadcast
                    | OpKind::Reshape { .. }
                    | OpKind::Trans { .. }
                    | OpKind::Hint { .. },
                ) => {
                    if first.is_some_and(|slot| self.zeros.contains(slot)) {
                        self.zeros.insert(out);
                    }
                }
                Op::Plain(OpKind::Dot { max_imprecise: 0, .. }) => {
                    if let Some(&start) = step.ins.get(2) {
                        self.dots.push((out, start));
                    }
                }
                Op::For(code) | Op::Reduce { code, .. } | Op::Scan { code, .. } => self.of(program, code),
                Op::If(one, other) | Op::While(one, other) => {
                    self.of(program, one);
                    self.of(program, other);
                }
                Op::Plain(_) | Op::Binary(_) | Op::Unary(_) => {}
            }
        }
        for yielded in &code.yields {
            *self.count.entry(yielded.slot).or_default() += 1;
        }
    }
}

impl Dots {
    pub(super) fn of(program: &Program) -> Self {
        let mut uses = Uses::default();
        uses.of(program, &program.prologue);
        uses.of(program, &program.body);
        let once = |dot: &Slot| uses.count.get(dot) == Some(&1);
        let zero = |start: &Slot| uses.zeros.contains(start);
        let mergeable = uses.dots.iter().filter(|(dot, start)| once(dot) && zero(start));
        Self {
            mergeable: mergeable.map(|&(dot, _)| dot).collect(),
            open: BTreeMap::new(),
        }
    }

    /// Whether a sum may be made the accumulator of this dot.
    pub(super) fn is_mergeable(&self, dot: Slot) -> bool {
        self.mergeable.contains(&dot)
    }

    pub(super) fn keep(&mut self, dot: Slot, open: Open) {
        self.open.insert(dot, open);
    }

    fn take(&mut self, dot: Slot) -> Option<Open> {
        self.open.remove(&dot)
    }
}

impl Machine<'_> {
    /// Whether a step may be made the accumulator of a dot among its operands.
    pub(super) fn merges(&self, step: &Step) -> bool {
        matches!(step.op, Op::Binary(BinaryOp::Add))
            && step.ins.iter().any(|&slot| self.dots.is_mergeable(slot))
    }

    /// Widens a sum by what it is as the accumulator of a dot among its operands.
    pub(super) fn merge(&mut self, step: &Step) -> Result<(), Halt> {
        let [x, y] = [step.ins[0], step.ins[1]];
        for (dot, other) in [(x, y), (y, x)] {
            let (sums, bits) = match self.dots.take(dot) {
                None => continue,
                Some(Open::Sums { sums, bits }) => (sums, bits),
                Some(Open::Products(products)) => {
                    if self.merged_at_once(&products, other, step)? {
                        continue;
                    }
                    (products.sums(), products.bits())
                }
            };
            let out = step.outs[0];
            self.lift(other)?;
            self.lift(out)?;
            let dtype = arithmetic(self.layout(out).elem);
            let merged = sums.into_iter().enumerate().map(|(lane, sum)| {
                let apart = self.value(out).at(lane);
                let one = as_one(sum, self.value(other).at(lane), dtype, bits);
                apart.hull(one, Some(dtype))
            });
            let merged = merged.collect();
            self.set(out, Lanes::Each(merged));
        }
        Ok(())
    }

    fn merged_at_once(&mut self, products: &Products, other: Slot, step: &Step) -> Result<bool, Halt> {
        let out = step.outs[0];
        let (Lanes::Wide(apart), Some(start)) = (self.value(out).clone(), self.source(other)?) else {
            return Ok(false);
        };
        let Some(one) = products.onto(|lane| start.at(lane)) else {
            return Ok(false);
        };
        let Some(hull) = apart.hull(&one) else {
            return Ok(false);
        };
        self.set(out, Lanes::Wide(Rc::new(hull)));
        Ok(true)
    }
}

fn as_one(mut sum: Sum, accumulator: Lane, dtype: DType, bits: i32) -> Lane {
    sum.add(accumulator.plain(), dtype);
    sum.result(dtype, bits)
}
