//! Dots that are merged with a sum: `dot(a, b, 0) + d` becomes `dot(a, b, d)`.
//!
//! Triton's passes do this for a dot on either side of the sum, whether or not `enable_fp_fusion` is set (`Combine.td`,
//! `CombineDotAddFPattern` and `CombineDotAddFRevPattern`; in the TTIR of 3.0.0 to 3.9.0). Then the dot rounds at the
//! magnitude of `d`, not of the products. The passes require three properties of the dot: its accumulator is a constant zero,
//! nothing else uses it, and it has no `maxNumImpreciseAcc`. They do not change differences, or sums that a cast, a selection or
//! the next round of a loop separates from the dot.

use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::ir::BinaryOp;

use super::dots::Products;
use super::lane::Lane;
use super::lanes::Lanes;
use super::mergeable::Open;
use super::state::{Halt, Machine};
use super::sum::Sum;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Op, Slot, Step};

impl Machine<'_> {
    /// Whether a step is a sum that may be merged with a dot among its operands.
    pub(super) fn can_merge(&self, step: &Step) -> bool {
        matches!(step.op, Op::Binary(BinaryOp::Add))
            && step.ins.iter().any(|&slot| self.dots.is_mergeable(slot))
    }

    /// Widens the result of a sum to cover the results of merging it with the dots among its operands.
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
            let dtype = compute_dtype(self.layout(out).elem);
            let merged = sums.into_iter().enumerate().map(|(lane, sum)| {
                let apart = self.value(out).lane_at(lane);
                let merged = merge_lane(sum, self.value(other).lane_at(lane), dtype, bits);
                apart.hull(merged, Some(dtype))
            });
            let merged = merged.collect();
            self.set(out, Lanes::Each(merged));
        }
        Ok(())
    }

    fn merged_at_once(&mut self, products: &Products, other: Slot, step: &Step) -> Result<bool, Halt> {
        let out = step.outs[0];
        let (Lanes::Wide(apart), Some(start)) = (self.value(out).clone(), self.read_source(other)?) else {
            return Ok(false);
        };
        let Some(one) = products.add_accumulator(|lane| start.parts_at(lane)) else {
            return Ok(false);
        };
        let Some(hull) = apart.hull(&one) else {
            return Ok(false);
        };
        self.set(out, Lanes::Wide(Rc::new(hull)));
        Ok(true)
    }
}

/// A lane of a dot with this accumulator.
fn merge_lane(mut sum: Sum, accumulator: Lane, dtype: DType, bits: i32) -> Lane {
    sum.add(accumulator.plain(), dtype);
    sum.bound_result(dtype, bits)
}
