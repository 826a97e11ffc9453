//! The dots of a launch that may be merged with a sum: `dot(a, b, 0) + d` may become `dot(a, b, d)`. See `dot_addition` for the
//! results.

use std::collections::{BTreeMap, BTreeSet};

use cerith_tile::ir::OpKind;
use cerith_tile::numeric::decode;

use super::dots::Products;
use super::sum::Sum;
use cerith_interp::program::{Code, Op, Program, Slot};

/// The sums of a dot, kept until they are merged with an accumulator.
#[derive(Debug)]
pub(super) enum Open {
    /// For all lanes at once.
    Products(Box<Products>),
    /// A sum for each lane.
    Sums {
        sums: Vec<Sum>,
        /// The precision of each step of a sum, in bits.
        bits: i32,
    },
}

/// The dots of a launch that may be merged.
#[derive(Debug, Default)]
pub(super) struct Dots {
    /// The results of the dots.
    mergeable: BTreeSet<Slot>,
    open: BTreeMap<Slot, Open>,
}

/// The uses of a program's values that determine whether a dot may be merged.
#[derive(Default)]
struct Uses {
    /// The number of uses of each value.
    count: BTreeMap<Slot, usize>,
    /// Values that are zero in all lanes.
    zeros: BTreeSet<Slot>,
    /// The result and the accumulator of each dot without `max_imprecise`.
    dots: Vec<(Slot, Slot)>,
}

impl Uses {
    fn count_uses(&mut self, program: &Program, code: &Code) {
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
                Op::For(code) | Op::Reduce { code, .. } | Op::Scan { code, .. } => {
                    self.count_uses(program, code);
                }
                Op::If(one, other) | Op::While(one, other) => {
                    self.count_uses(program, one);
                    self.count_uses(program, other);
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
    pub(super) fn from_program(program: &Program) -> Self {
        let mut uses = Uses::default();
        uses.count_uses(program, &program.prologue);
        uses.count_uses(program, &program.body);
        let once = |dot: &Slot| uses.count.get(dot) == Some(&1);
        let zero = |start: &Slot| uses.zeros.contains(start);
        let mergeable = uses.dots.iter().filter(|(dot, start)| once(dot) && zero(start));
        Self {
            mergeable: mergeable.map(|&(dot, _)| dot).collect(),
            open: BTreeMap::new(),
        }
    }

    /// Whether this dot may be merged with a sum.
    pub(super) fn is_mergeable(&self, dot: Slot) -> bool {
        self.mergeable.contains(&dot)
    }

    pub(super) fn keep(&mut self, dot: Slot, open: Open) {
        self.open.insert(dot, open);
    }

    pub(super) fn take(&mut self, dot: Slot) -> Option<Open> {
        self.open.remove(&dot)
    }
}
