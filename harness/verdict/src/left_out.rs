//! The memory that a trial leaves out because it has no defined value, so that reports can say so.
//!
//! The reference's byte states determine those bytes.

use cerith_memory::{ByteState, Memory};

/// The undefined bytes of one storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The storage's name.
    pub storage: String,
    /// How many bytes have no defined value.
    pub bytes: u64,
    /// The number of bytes that were written, before the launches or in them.
    pub written_bytes: u64,
    /// Tensors without one byte of a defined value: whole outputs that were not compared.
    pub undefined_tensors: Vec<String>,
}

/// The undefined bytes in the reference's memory, by storage. Storages without such bytes are omitted.
pub(crate) fn left_out(memory: &Memory) -> Vec<LeftOut> {
    memory
        .ids()
        .filter_map(|id| {
            let count = |wanted: ByteState| {
                let parts = memory.parts(id);
                parts
                    .map(|part| part.states.iter().filter(|&&state| state == wanted).count() as u64)
                    .sum::<u64>()
            };
            let bytes = count(ByteState::Poison);
            if bytes == 0 {
                return None;
            }
            // Views of a sparse storage have more elements than can be visited. Only touched pages are counted there.
            let states = memory.states(id);
            let is_whole = |tensor: &cerith_memory::Tensor| {
                if states.is_empty() {
                    return false;
                }
                let size = tensor.element_size();
                let mut seen = tensor
                    .element_starts()
                    .filter_map(|start| states.get(start..start + size))
                    .flatten()
                    .peekable();
                seen.peek().is_some() && {
                    let (mut poison, mut init) = (false, false);
                    for state in seen {
                        poison |= *state == ByteState::Poison;
                        init |= *state == ByteState::Init;
                    }
                    poison && !init
                }
            };
            let views = memory.tensors().iter();
            let whole = views
                .filter(|view| view.tensor.storage == id && is_whole(&view.tensor))
                .map(|view| view.name.clone());
            Some(LeftOut {
                storage: memory.name(id).to_owned(),
                bytes,
                written_bytes: bytes + count(ByteState::Init),
                undefined_tensors: whole.collect(),
            })
        })
        .collect()
}

/// Merges several references: takes, for each storage, the one that omits most.
pub(crate) fn merge_left_out<'m>(memories: impl Iterator<Item = &'m Memory>) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for one in memories.flat_map(left_out) {
        match all.iter_mut().find(|known| known.storage == one.storage) {
            Some(known) if known.bytes < one.bytes => *known = one,
            Some(_) => {}
            None => all.push(one),
        }
    }
    all
}
