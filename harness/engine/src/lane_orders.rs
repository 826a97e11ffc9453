//! The reference's launches again, with the lanes of `cat`, `reshape` and `view` in the other orders that Triton leaves them
//! ([`cerith_tile::ir::LaneOrder`]). Bytes that then differ have no one value: they are poison from then on, and the reference
//! says where the order comes from. A result that only rounds differently does not count: intervals allow for it.
//!
//! The diagnostic names the first of several such operations, even if another one caused the difference.

use std::collections::BTreeMap;

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_memory::{ByteState, Memory, StorageByte, StorageId, Tensor, TooManyPages};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::Function;

/// The diagnostic for a kernel whose result depends on an order of lanes.
pub(crate) fn build_diagnostic(function: &Function, dependent: &Dependent, memory: &Memory) -> Diagnostic {
    let open = function.open_lane_orders();
    let mut stack = open.first().into_iter().flat_map(|&loc| function.call_stack(loc));
    let span = stack.next().unwrap_or_default();
    let others = match open.len() {
        1 => String::new(),
        more => format!(" (one of {more} such operations)"),
    };
    let message = format!(
        "{} on an order of lanes that Triton leaves open",
        dependent.describe_bytes(memory)
    );
    let diagnostic = Diagnostic::warning("lane-order", span, message)
        .label_primary(format!("its lanes may come in any order{others}"))
        .note("they have no one value, and are not compared")
        .help("use it where the order does not matter, or ask for the order: `can_reorder=False`, `reshape` for `view`");
    stack.fold(diagnostic, |diagnostic, call| {
        diagnostic.label(call, "called here")
    })
}

/// Bytes that depend on an order of lanes: by storage and first byte, whether each byte of the part does.
#[derive(Debug, Default)]
pub(crate) struct Dependent(BTreeMap<(StorageId, usize), Vec<bool>>);

impl Dependent {
    /// Adds the bytes in which two orders differ by more than an interval allows. An element depends on the order as a whole.
    pub fn add(&mut self, first: &Memory, other: &Memory, map: &AcceptanceMap) {
        let parts = first.ids().flat_map(|id| {
            let parts = first.pair_parts(other, id);
            parts.map(move |(one, two)| (id, one, two))
        });
        for (id, one, two) in parts {
            let offset = one.offset;
            let (a, b, known, now) = (&one.bytes, &two.bytes, &one.states, &two.states);
            let same = |at: usize| {
                known.get(at) == now.get(at)
                    && (a.get(at) == b.get(at) || known.get(at) != Some(&ByteState::Init))
            };
            let mut bytes = vec![false; a.len()];
            let mut at = 0;
            while at < a.len() {
                if same(at) {
                    at += 1;
                    continue;
                }
                let (start, accepted) = map.accepted_at(id, offset + at);
                let start = start.saturating_sub(offset);
                match accepted {
                    Accepted::Within { dtype, .. } => {
                        let end = start + dtype.size();
                        if let Some(word) = b.get(start..end)
                            && known.get(start..end) == now.get(start..end)
                            && accepted.check_bits(little_endian(word)) == Some(true)
                        {
                            at = end;
                            continue;
                        }
                        bytes[at] = true;
                    }
                    // The difference may result from a comparison that goes either way.
                    Accepted::Unknown => {}
                    Accepted::Exact => bytes[at] = true,
                }
                at += 1;
            }
            if first.is_sparse(id) {
                widen_page(first, id, offset, &mut bytes);
            } else {
                widen(first, id, &mut bytes);
            }
            self.merge((id, offset), bytes);
        }
    }

    fn merge(&mut self, part: (StorageId, usize), bytes: Vec<bool>) {
        match self.0.get_mut(&part) {
            Some(known) => {
                for (known, byte) in known.iter_mut().zip(bytes) {
                    *known |= byte;
                }
            }
            None if bytes.contains(&true) => {
                self.0.insert(part, bytes);
            }
            None => {}
        }
    }

    /// The number of bytes.
    pub fn count(&self) -> usize {
        self.0.values().flatten().filter(|&&byte| byte).count()
    }

    /// `8 bytes of `out` depend`.
    pub fn describe_bytes(&self, memory: &Memory) -> String {
        let bytes = self.count();
        let names: Vec<String> = self
            .storages()
            .map(|id| format!("`{}`", memory.name(id)))
            .collect();
        format!(
            "{bytes} {} of {} depend",
            if bytes == 1 { "byte" } else { "bytes" },
            names.join(", ")
        )
    }

    fn storages(&self) -> impl Iterator<Item = StorageId> {
        let mut ids: Vec<StorageId> = self.0.keys().map(|&(id, _)| id).collect();
        ids.dedup();
        ids.into_iter()
    }

    /// Makes poison of them. Gives back how many had a value.
    pub fn poison_bytes(&self, memory: &mut Memory) -> Result<u64, TooManyPages> {
        let mut changed = 0;
        for (&(id, offset), bytes) in &self.0 {
            let Some((_, states)) = memory.part_mut(id, offset..offset + bytes.len())? else {
                continue;
            };
            for (state, _) in states.iter_mut().zip(bytes).filter(|(_, dependent)| **dependent) {
                changed += u64::from(*state != ByteState::Poison);
                *state = ByteState::Poison;
            }
        }
        Ok(changed)
    }
}

/// Whether a launch left something other than it found, and defined.
pub(crate) fn has_changes(before: &Memory, after: &Memory) -> bool {
    after.ids().any(|id| {
        after.pair_parts(before, id).any(|(after, before)| {
            let now = after.bytes.iter().zip(after.states.iter());
            let then = before.bytes.iter().zip(before.states.iter());
            now.zip(then)
                .any(|(now, then)| *now.1 == ByteState::Init && now != then)
        })
    })
}

/// The elements that have one of these bytes of a page, as the first tensor shows them that has the byte.
fn widen_page(memory: &Memory, storage: StorageId, offset: usize, bytes: &mut [bool]) {
    let dependent: Vec<usize> = (0..bytes.len())
        .filter(|&at| bytes.get(at) == Some(&true))
        .collect();
    for at in dependent {
        let place = StorageByte {
            storage,
            offset: offset + at,
        };
        // Elements begin at multiples of their size.
        let size = memory
            .tensors_at(place)
            .next()
            .map_or(1, |(named, _)| named.tensor.element_size());
        let start = at - (offset + at) % size.max(1);
        if let Some(element) = bytes.get_mut(start..start + size) {
            element.fill(true);
        }
    }
}

/// The elements that have a byte in it, as the tensor of the smallest ones shows them that has the byte.
fn widen(memory: &Memory, id: StorageId, bytes: &mut [bool]) {
    let mut left = bytes.to_vec();
    let mut views: Vec<Tensor> = memory
        .tensors()
        .iter()
        .filter(|named| named.tensor.storage == id)
        .map(|named| remove_repeats(&named.tensor))
        .collect();
    views.sort_by_key(Tensor::element_size);
    for view in views {
        let size = view.element_size();
        for start in view.element_starts() {
            let Some(element) = left.get_mut(start..start + size) else {
                continue;
            };
            if element.contains(&true)
                && let Some(whole) = bytes.get_mut(start..start + size)
            {
                element.fill(false);
                whole.fill(true);
            }
        }
    }
}

/// The tensor without what it shows again and again.
fn remove_repeats(tensor: &Tensor) -> Tensor {
    let mut once = tensor.clone();
    for (extent, &stride) in once.shape.iter_mut().zip(&tensor.strides) {
        if stride == 0 {
            *extent = (*extent).min(1);
        }
    }
    once
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}
