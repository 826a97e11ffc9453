//! Divides an access into runs: its active lanes and their addresses. A block by rule has few runs; other addresses have as
//! many as they need. See [`crate::load`] and [`crate::store`] for the access itself.

use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::LocId;

use crate::affine::{Affine, BoxMask, Extents, RANK, visit_rows};
use crate::machine::Machine;
use crate::outcome::Stop;
use crate::program::Slot;
use crate::run::{Run, Spread};
use crate::value::Repr;

impl Machine<'_> {
    /// The runs of the active lanes of an access, and how they are spread. The runs are the machine's scratch: give
    /// them back.
    pub fn plan(
        &mut self,
        pointer: Slot,
        mask: Option<Slot>,
        loc: LocId,
        size: usize,
    ) -> Result<(Vec<Run>, Spread), Stop> {
        let layout = self.layout(pointer);
        let mut runs = std::mem::take(&mut self.state.runs);
        runs.clear();
        let everything = Repr::Uniform(1);
        let active = match mask {
            None => everything,
            Some(mask) => {
                let value = self.value(mask);
                if !value.poison.is_none()
                    && let Some(lane) = (0..layout.lanes).find(|&lane| value.poison.is_poison(lane))
                {
                    let mark = value.poison.mark(lane);
                    let site = self.site_of(pointer, loc);
                    return Err(self.trap_undefined(site, Some(lane), mark, "the mask of a memory access"));
                }
                value.repr
            }
        };
        let mut spread = Spread::Unknown;
        if matches!(active, Repr::Uniform(all) if all & 1 == 0) {
            return Ok((runs, spread));
        }
        let by_rule = match (self.value(pointer).repr, active) {
            (_, Repr::Dense) => None,
            (Repr::Uniform(address), _) => Some(Affine::constant(address as i64)),
            (Repr::Affine(affine), _) => Some(affine),
            _ => None,
        };
        if let Some(affine) = by_rule {
            let (lo, hi) = match active {
                Repr::Mask(BoxMask { lo, hi }) => (lo, hi),
                _ => ([0; RANK], layout.extents),
            };
            by_rows(&mut runs, affine, layout.extents, lo, hi);
            spread = Spread::Even(affine.strides, lo, hi);
        } else {
            self.write_out(pointer)?;
            if let Some(mask) = mask {
                self.write_out(mask)?;
            }
            let addresses = self.value(pointer);
            let uniform = match addresses.repr {
                Repr::Uniform(bits) => Some(bits),
                _ => None,
            };
            let addresses = addresses.lanes().unwrap_or(&[]).as_chunks::<8>().0;
            let active = mask.and_then(|mask| self.value(mask).lanes());
            for lane in 0..layout.lanes {
                let last = lane + 1 == layout.lanes && is_planted(Fault::LastLaneUnmasked);
                if !last && active.is_some_and(|active| active.get(lane) == Some(&0)) {
                    continue;
                }
                let address = uniform
                    .or_else(|| addresses.get(lane).map(|bytes| u64::from_le_bytes(*bytes)))
                    .unwrap_or(0);
                match runs.last_mut() {
                    Some(run)
                        if run.lane + run.count == lane
                            && run.address.wrapping_add((run.count * size) as u64) == address =>
                    {
                        run.count += 1;
                    }
                    _ => runs.push(Run {
                        lane,
                        count: 1,
                        address,
                        stride: size as i64,
                    }),
                }
            }
        }
        let addresses = self.value(pointer);
        if !addresses.poison.is_none()
            && let Some(lane) = runs
                .iter()
                .flat_map(|run| run.lane..run.lane + run.count)
                .find(|&lane| addresses.poison.is_poison(lane))
        {
            let mark = addresses.poison.mark(lane);
            let site = self.site_of(pointer, loc);
            return Err(self.trap_undefined(site, Some(lane), mark, "the pointer of a memory access"));
        }
        if self.memory.has_sparse() {
            self.split_at_pages(&mut runs, size, loc)?;
        }
        Ok((runs, spread))
    }
}

/// Plans the lanes of a box, merging dimensions that follow each other evenly.
fn by_rows(runs: &mut Vec<Run>, affine: Affine, extents: Extents, lo: Extents, hi: Extents) {
    let (mut extents, mut lo, mut hi, mut strides) = (extents, lo, hi, affine.strides);
    for d in (0..RANK - 1).rev() {
        let inner = RANK - 1;
        let whole = lo[inner] == 0 && hi[inner] == extents[inner];
        let alone = extents[d] == 1;
        let even = strides[d] == strides[inner].wrapping_mul(i64::from(extents[inner]));
        if !(alone || whole && even) {
            // A single column moves like the dimension it is in.
            if extents[inner] == 1 {
                strides[inner] = strides[d];
            } else {
                break;
            }
        }
        if !alone {
            let width = extents[inner];
            lo[inner] = lo[d] * width;
            hi[inner] = hi[d] * width;
            extents[inner] *= extents[d];
        }
        (extents[d], lo[d], hi[d], strides[d]) = (1, 0, 1, 0);
        // The remaining dimensions move inward, so that the next dimension is next to the merged one.
    }
    let count = (hi[RANK - 1] - lo[RANK - 1]) as usize;
    let _: Result<(), ()> = visit_rows(&extents, &lo, &hi, |lane, index| {
        let address = strides.iter().zip(index).fold(affine.base, |sum, (&stride, i)| {
            sum.wrapping_add(stride.wrapping_mul(i64::from(i)))
        });
        runs.push(Run {
            lane,
            count,
            address: address as u64,
            stride: strides[RANK - 1],
        });
        Ok(())
    });
}
