//! The reference's launches again, with the lanes of `cat`, `reshape` and `view` in the other orders that Triton leaves them
//! ([`cerith_tile::ir::LaneOrder`]). Bytes that then differ have no one value: they are poison from then on, and the reference
//! says where the order comes from. A result that only rounds differently does not count: intervals allow for it.
//!
//! The diagnostic names the first of several such operations, even if another one caused the difference.

use cerith_accept::{AcceptanceMap, Accepted};
use cerith_memory::{ByteState, Memory, StorageId, Tensor};
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

/// Bytes that depend on an order of lanes.
#[derive(Debug, Default)]
pub(crate) struct Dependent(Vec<(StorageId, Vec<bool>)>);

impl Dependent {
    /// Adds the bytes in which two orders differ by more than an interval allows. An element depends on the order as a whole.
    pub fn add(&mut self, first: &Memory, other: &Memory, map: &AcceptanceMap) {
        for id in first.ids() {
            let (a, b) = (first.bytes(id), other.bytes(id));
            let (known, now) = (first.states(id), other.states(id));
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
                let (start, accepted) = map.accepted_at(id, at);
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
            widen(first, id, &mut bytes);
            self.merge(id, bytes);
        }
    }

    fn merge(&mut self, id: StorageId, bytes: Vec<bool>) {
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => {
                for (known, byte) in known.iter_mut().zip(bytes) {
                    *known |= byte;
                }
            }
            None if bytes.contains(&true) => self.0.push((id, bytes)),
            None => {}
        }
    }

    /// The number of bytes.
    pub fn count(&self) -> usize {
        self.0
            .iter()
            .flat_map(|(_, bytes)| bytes)
            .filter(|&&byte| byte)
            .count()
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
        self.0.iter().map(|&(id, _)| id)
    }

    /// Makes poison of them. Gives back how many had a value.
    pub fn poison_bytes(&self, memory: &mut Memory) -> u64 {
        let mut changed = 0;
        for (id, bytes) in &self.0 {
            let (_, states) = memory.parts_mut(*id);
            for (state, _) in states.iter_mut().zip(bytes).filter(|(_, dependent)| **dependent) {
                changed += u64::from(*state != ByteState::Poison);
                *state = ByteState::Poison;
            }
        }
        changed
    }
}

/// Whether a launch left something other than it found, and defined.
pub(crate) fn has_changes(before: &Memory, after: &Memory) -> bool {
    after.ids().any(|id| {
        let now = after.bytes(id).iter().zip(after.states(id));
        let then = before.bytes(id).iter().zip(before.states(id));
        now.zip(then)
            .any(|(now, then)| *now.1 == ByteState::Init && now != then)
    })
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
