//! Follows the identities of lanes through an execution, from the operation that computes a value to its stores. The parent
//! module selects the values to follow.

use std::collections::BTreeMap;
use std::rc::Rc;

use cerith_tile::ir::OpKind;

use super::{Identity, MAX_ELEMENTS, Origin, StoredElement, Tracking, ZERO_SIGN, find_moved, find_unchanged};
use crate::map::AcceptanceMap;
use crate::operation::movement_of;
use crate::state::Machine;
use crate::transfer::Reach;
use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Op, Slot, Step};

impl AcceptanceMap {
    /// The groups of elements that hold the same value of the program.
    pub fn one_value(&self) -> Vec<Vec<StoredElement>> {
        let mut values: BTreeMap<Identity, Vec<StoredElement>> = BTreeMap::new();
        for (&(storage, byte), &(identity, dtype)) in &self.identities.elements {
            if !self.doubtful.contains(&storage) {
                values
                    .entry(identity & !ZERO_SIGN)
                    .or_default()
                    .push(StoredElement {
                        storage,
                        byte,
                        dtype,
                        any_zero: identity & ZERO_SIGN != 0,
                    });
            }
        }
        values
            .into_values()
            .filter(|elements| elements.len() > 1)
            .collect()
    }
}

impl Machine<'_> {
    /// Follows the identities of lanes through a step that was just run.
    pub(crate) fn identify(&mut self, step: &Step) {
        let Some(mut tracking) = self.tracking.take() else {
            return;
        };
        match &step.op {
            Op::Plain(OpKind::Store { mask }) => self.identify_stored(&tracking, *mask, step),
            Op::Plain(OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }) => {
                // The written values have no identity; a search for their addresses is too expensive.
                self.map.identities.clear_all();
            }
            _ => {
                for (nth, &out) in step.outs.iter().enumerate() {
                    let lanes = match tracking.origins[out as usize] {
                        Origin::None => None,
                        Origin::New => self.identify_new(out),
                        Origin::Moved => self.identify_moved(&tracking, step, nth),
                    };
                    match lanes {
                        Some(lanes) => tracking.lanes.insert(out, lanes.into()),
                        None => tracking.lanes.remove(&out),
                    };
                }
            }
        }
        self.tracking = Some(tracking);
    }

    fn identify_new(&mut self, slot: Slot) -> Option<Vec<Identity>> {
        if self.exact[slot as usize] {
            return None;
        }
        let lanes = self.layout(slot).lanes;
        let end = self.map.identities.next.checked_add(u32::try_from(lanes).ok()?)?;
        if end >= ZERO_SIGN {
            return None;
        }
        let base = std::mem::replace(&mut self.map.identities.next, end);
        let identity = |lane: usize| {
            let open = self.read_lane(slot, lane).is_open();
            if open { base + lane as u32 + 1 } else { 0 }
        };
        Some((0..lanes).map(identity).collect())
    }

    fn identify_moved(&self, tracking: &Tracking, step: &Step, nth: usize) -> Option<Vec<Identity>> {
        let none: Rc<[Identity]> = Rc::new([]);
        let of = |slot: Slot| tracking.lanes.get(&slot).unwrap_or(&none);
        let (from, _) = find_moved(step, &tracking.constants, self.program)?;
        if from.iter().all(|&slot| of(slot).is_empty()) {
            return None;
        }
        let lanes = self.layout(step.outs[nth]).lanes;
        let at = |slot: Slot, lane: usize| of(slot).get(lane).copied().unwrap_or(0);
        let first = from[0];
        Some(match &step.op {
            Op::Plain(OpKind::Splat) => vec![at(first, 0); lanes],
            Op::Plain(OpKind::Broadcast | OpKind::Trans { .. }) => {
                let Op::Plain(kind) = &step.op else { return None };
                let mut to = vec![0; lanes];
                let movement = movement_of(kind, self.ty(step.ins[0]), self.ty(step.outs[nth]));
                movement.copy_elements(of(first), &mut to);
                to
            }
            Op::Plain(OpKind::Split) => (0..lanes).map(|lane| at(first, 2 * lane + nth)).collect(),
            Op::Plain(OpKind::Join) => (0..lanes).map(|lane| at(from[lane % 2], lane / 2)).collect(),
            Op::Plain(OpKind::Cat { .. }) => {
                let half = lanes / 2;
                (0..lanes)
                    .map(|lane| at(from[lane / half.max(1) % 2], lane % half.max(1)))
                    .collect()
            }
            Op::Plain(OpKind::Select) => {
                let chosen = |lane: usize| match self.read_lane(step.ins[0], lane).bits() {
                    Some(bits) => at(from[usize::from(bits & 1 == 0)], lane),
                    None => 0,
                };
                (0..lanes).map(chosen).collect()
            }
            Op::Binary(_) => {
                let (_, signs) = find_unchanged(step, &tracking.constants)?;
                let identity = |lane: usize| match at(first, lane) {
                    0 => 0,
                    identity if signs => identity | ZERO_SIGN,
                    identity => identity,
                };
                (0..lanes).map(identity).collect()
            }
            _ => (0..lanes).map(|lane| at(first, lane)).collect(),
        })
    }

    fn identify_stored(&mut self, tracking: &Tracking, mask: bool, step: &Step) {
        let (pointer, value) = (step.ins[0], step.ins[1]);
        let mask = if mask { step.ins.get(2).copied() } else { None };
        let layout = self.layout(value);
        let identities = tracking.lanes.get(&value);
        if identities.is_none() && self.map.identities.elements.is_empty() {
            return;
        }
        for lane in 0..layout.lanes {
            let (place, sure) = match self.place((pointer, mask), lane, layout.size) {
                Reach::Off => continue,
                Reach::At(place) => (place, self.trying == 0),
                Reach::Maybe(place, _) => (place, false),
                Reach::Anywhere => {
                    self.map.identities.clear_all();
                    continue;
                }
            };
            let noted = &mut self.map.identities;
            noted.clear(place.storage, place.offset, layout.size);
            let identity = identities.and_then(|lanes| lanes.get(lane).copied()).unwrap_or(0);
            if sure && identity != 0 && noted.elements.len() < MAX_ELEMENTS {
                let dtype = compute_dtype(layout.elem);
                noted
                    .elements
                    .insert((place.storage, place.offset), (identity, dtype));
            }
        }
    }
}
