//! Reductions and scans in a random order that a number names: any tree over a reduction's elements, any brackets of a scan's.

use smallvec::SmallVec;

use super::{Axis, Elements, Rows};
use crate::machine::Machine;
use crate::order::mix;
use crate::outcome::Stop;
use crate::program::{Code, Region};

/// Random numbers, the same ones for the same seed on every machine (splitmix64).
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The numbers of a seed.
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed))
    }

    /// A number below `count`, which must not be 0.
    pub fn draw_below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % count.max(1) as u64) as usize
    }

    /// Two different places of `count`, which must be at least 2: what is combined, left and right.
    pub fn draw_pair(&mut self, count: usize) -> (usize, usize) {
        let left = self.draw_below(count);
        (left, (left + 1 + self.draw_below(count - 1)) % count)
    }
}

/// The steps of a scan with random brackets: `(middle, from, to)` combines the row before `middle` with each row of `from..to`,
/// inner steps first.
pub fn draw_brackets(count: usize, seed: u32) -> Vec<(usize, usize, usize)> {
    fn split(draws: &mut Draws, from: usize, to: usize, steps: &mut Vec<(usize, usize, usize)>) {
        if to - from < 2 {
            return;
        }
        // Splits far from the middle make deep trees; a third of the rows on either side bounds the depth.
        let third = (to - from) / 3;
        let middle = from + third.max(1) + draws.draw_below((to - from - 2 * third.max(1)).max(1));
        split(draws, from, middle, steps);
        split(draws, middle, to, steps);
        steps.push((middle, middle, to));
    }
    let mut steps = Vec::new();
    split(&mut Draws::new(seed), 0, count, &mut steps);
    steps
}

impl<'a> Machine<'a> {
    /// Combines random pairs of rows until one is left.
    pub(super) fn reduce_random(
        &mut self,
        along: Axis,
        operands: SmallVec<[Rows; 2]>,
        region: Region,
        seed: u32,
        code: &'a Code,
    ) -> Result<Elements, Stop> {
        let width = along.width();
        let layouts: SmallVec<[_; 2]> = operands.iter().map(|operand| operand.layout).collect();
        let mut rows = Vec::with_capacity(along.count);
        for nth in 0..along.count {
            rows.push(self.copy_rows(along, &operands, nth, 1)?);
        }
        self.release(operands);
        let mut draws = Draws::new(seed);
        while rows.len() > 1 {
            let (left, right) = draws.draw_pair(rows.len());
            let one = std::mem::take(&mut rows[left]);
            let other = std::mem::take(&mut rows[right]);
            let mut combined = self.combine(width, region, one, other, code)?;
            for (value, layout) in combined.iter_mut().zip(&layouts) {
                let owned = std::mem::take(value);
                *value = self.fit_lanes(owned, width, *layout)?;
            }
            rows[left] = combined;
            rows.swap_remove(right);
        }
        rows.pop().ok_or(Stop::malformed("a reduction"))
    }

    /// Scans rows with random brackets.
    pub(super) fn scan_random(
        &mut self,
        along: Axis,
        operands: &mut SmallVec<[Rows; 2]>,
        region: Region,
        reverse: bool,
        seed: u32,
        code: &'a Code,
    ) -> Result<(), Stop> {
        let width = along.width();
        let place = |nth: usize| if reverse { along.count - 1 - nth } else { nth };
        for (middle, from, to) in draw_brackets(along.count, seed) {
            for nth in from..to {
                let left = self.copy_rows(along, operands, place(middle - 1), 1)?;
                let right = self.copy_rows(along, operands, place(nth), 1)?;
                let combined = self.combine(width, region, left, right, code)?;
                for (value, operand) in combined.into_iter().zip(operands.iter_mut()) {
                    let value = self.fit_lanes(value, width, operand.layout)?;
                    self.put_lanes(operand, place(nth) * width, width, &value)?;
                    self.state.pool.recycle(value);
                }
            }
        }
        Ok(())
    }
}
