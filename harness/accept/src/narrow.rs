//! Sums that are computed in the dtype that their result is rounded to.
//!
//! If two numbers were widened from `f16` and their sum is rounded to `f16`, LLVM adds them with an `fadd` of `f16`
//! (`InstCombine`, `visitFPTrunc`). The result is the same number, because `f32` has more than twice the bits. But if one
//! of the two is a product that was widened, LLVM then fuses it into the narrow sum: `((a * b).to(f32) + c.to(f32)).to(f16)`
//! is one `fma.rn.f16` in Triton 3.0 to 3.9. If the sum stays wide, the product is rounded first.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Rounding};
use cerith_tile::numeric::{decode, encode};

use super::float;
use super::lane::Lane;
use super::lanes::Lanes;
use super::state::Machine;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Slot, Step};

/// Converts a lane to a narrower dtype. `None` if this changes its number, or if the lane is not exact.
fn narrow_exactly(from: DType, to: DType, lane: Lane) -> Option<Lane> {
    let value = decode(from, lane.bits()?);
    let bits = encode(to, value, Rounding::NearestEven);
    (decode(to, bits) == value).then_some(Lane::Bits(bits))
}

impl Machine<'_> {
    /// Keeps the operand of a cast to a wider dtype, if it has products.
    pub(super) fn keep_narrow(&mut self, step: &Step) {
        let (source, out) = (step.ins[0], step.outs[0]);
        let (from, to) = (
            compute_dtype(self.layout(source).elem),
            compute_dtype(self.layout(out).elem),
        );
        self.narrow.0.remove(&out);
        let wider = matches!(
            (from, to),
            (DType::F16 | DType::BF16, DType::F32 | DType::F64) | (DType::F32, DType::F64)
        );
        let products = match self.value(source) {
            Lanes::Uniform(lane) => matches!(lane, Lane::Product { .. }),
            Lanes::Each(lanes) => lanes.iter().any(|lane| matches!(lane, Lane::Product { .. })),
            Lanes::Wide(wide) => wide.factors.is_some(),
            Lanes::Plain => false,
        };
        if wider && products {
            let lanes = self.value(source).clone();
            self.narrow.0.insert(out, (from, lanes));
        }
    }

    /// Computes a sum also in the dtype from which its operands were widened, and keeps the result.
    pub(super) fn narrowed_sum(&mut self, op: BinaryOp, step: &Step) {
        let out = step.outs[0];
        if self.narrow.0.is_empty() {
            return;
        }
        self.narrow.0.remove(&out);
        let [x, y] = [step.ins[0], step.ins[1]];
        let Some(&(to, _)) = self.narrow.0.get(&x).or_else(|| self.narrow.0.get(&y)) else {
            return;
        };
        let from = compute_dtype(self.layout(out).elem);
        let narrow = |slot: Slot, lane: usize| match self.narrow.0.get(&slot) {
            Some((dtype, lanes)) if *dtype == to => Some(lanes.lane_at(lane)),
            _ => narrow_exactly(from, to, self.value(slot).lane_at(lane)),
        };
        let sums: Option<Vec<Lane>> = (0..self.layout(out).lanes)
            .map(|lane| Some(float::apply_binary(op, to, narrow(x, lane)?, narrow(y, lane)?)))
            .collect();
        if let Some(sums) = sums {
            self.narrow.0.insert(out, (to, Lanes::Each(sums)));
        }
    }

    /// Extends the interval of a cast to a narrower dtype by the kept result of its operand in this dtype.
    pub(super) fn narrowed_cast(&mut self, step: &Step) {
        let (source, out) = (step.ins[0], step.outs[0]);
        let to = compute_dtype(self.layout(out).elem);
        let Some((_, lanes)) = self.narrow.0.get(&source).filter(|(dtype, _)| *dtype == to) else {
            return;
        };
        let hulls = (0..self.layout(out).lanes)
            .map(|lane| self.value(out).lane_at(lane).hull(lanes.lane_at(lane), Some(to)))
            .collect();
        self.set(out, Lanes::Each(hulls));
    }
}
