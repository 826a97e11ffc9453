//! The memory of a case in another layout, compared with the unchanged case. Every element is moved back to its place
//! there. The bytes between the elements are padding, which no launch may touch.
//!
//! If memory (storages of `i64` and `u64`) holds addresses of the other layout, they become addresses of the same
//! elements. See [`crate::variant`] for the layouts.

use cerith_memory::{ByteState, Fault, GUARD_BYTE, Memory, ORIGIN, StorageId, UNINIT_BYTE};
use cerith_tile::DType;

use crate::case::Case;

/// How the memory of a case in another layout becomes that of the case.
#[derive(Clone, Debug)]
pub struct Relayout<'a> {
    as_is: &'a Case,
    /// For every storage that the file names.
    storages: Vec<Placed>,
}

/// The positions of the elements of a storage, in both layouts.
#[derive(Clone, Debug)]
struct Placed {
    dtype: DType,
    /// First bytes: as it is, and in the other layout.
    elements: Vec<[usize; 2]>,
    /// For every byte in the other layout, its offset in the unchanged case; [`PADDING`] for bytes between elements.
    home: Vec<usize>,
}

const PADDING: usize = usize::MAX;

/// The memory of another layout, moved back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedBack {
    /// In the layout of the case as it is.
    pub memory: Memory,
    /// Bytes of padding that have changed.
    pub touched: u64,
}

impl<'a> Relayout<'a> {
    /// Between a case as it is and the same case in another layout. Nothing if they are not the same case.
    pub fn new(as_is: &'a Case, other: &Case) -> Option<Self> {
        let same = as_is.storages.len() == other.storages.len()
            && as_is.named_storages == other.named_storages
            && as_is.declared.len() == as_is.named_storages;
        if !same {
            return None;
        }
        let storages = (0..as_is.named_storages).map(|at| {
            let id = StorageId(u32::try_from(at).ok()?);
            // A storage is a tensor by the same name, and first.
            let (from, to) = (&as_is.tensors.get(at)?.tensor, &other.tensors.get(at)?.tensor);
            if [from.storage, to.storage] != [id; 2] || from.shape != to.shape || from.dtype != to.dtype {
                return None;
            }
            let size = from.element_size();
            let elements: Vec<[usize; 2]> = from
                .element_starts()
                .zip(to.element_starts())
                .map(|(from, to)| [from, to])
                .collect();
            let mut home = vec![PADDING; other.storages.size(id)];
            for [from, to] in &elements {
                for byte in 0..size {
                    *home.get_mut(to + byte)? = from + byte;
                }
            }
            Some(Placed {
                dtype: from.dtype,
                elements,
                home,
            })
        });
        Some(Self {
            as_is,
            storages: storages.collect::<Option<_>>()?,
        })
    }

    /// Moves memory of the other layout back.
    pub fn move_back(&self, other: &Memory) -> MovedBack {
        let mut memory = self.as_is.memory();
        let mut touched = 0;
        for id in memory.ids() {
            let (from, from_states) = (other.bytes(id), other.states(id));
            match self.storages.get(id.0 as usize) {
                None => {
                    let (bytes, states) = memory.parts_mut(id);
                    if bytes.len() == from.len() {
                        bytes.copy_from_slice(from);
                        states.copy_from_slice(from_states);
                    }
                }
                Some(placed) => {
                    let addresses = matches!(placed.dtype, DType::I64 | DType::U64);
                    let size = placed.dtype.size();
                    for &[to, at] in &placed.elements {
                        let (Some(element), Some(known)) =
                            (from.get(at..at + size), from_states.get(at..at + size))
                        else {
                            continue;
                        };
                        let moved = addresses
                            .then(|| self.translate_address(&memory, other, element))
                            .flatten();
                        let (bytes, states) = memory.parts_mut(id);
                        if let Some(bytes) = bytes.get_mut(to..to + size) {
                            match moved {
                                Some(address) => bytes.copy_from_slice(&address.to_le_bytes()),
                                None => bytes.copy_from_slice(element),
                            }
                        }
                        if let Some(states) = states.get_mut(to..to + size) {
                            states.copy_from_slice(known);
                        }
                    }
                    let padding = placed.home.iter().zip(from.iter().zip(from_states));
                    touched += padding
                        .filter(|&(&home, (&byte, &state))| {
                            home == PADDING && (byte != UNINIT_BYTE || state != ByteState::Uninit)
                        })
                        .count() as u64;
                }
            }
            touched += copy_guards(&mut memory, other, id);
        }
        MovedBack { memory, touched }
    }

    /// The same element's address in the unchanged case, if the eight bytes are an address of the other layout.
    fn translate_address(&self, memory: &Memory, other: &Memory, element: &[u8]) -> Option<u64> {
        let address = u64::from_le_bytes(*element.first_chunk()?);
        match other.resolve_access(address, 1) {
            Ok(place) => {
                let home = match self.storages.get(place.storage.0 as usize) {
                    Some(placed) => *placed.home.get(place.offset).filter(|&&home| home != PADDING)?,
                    None => place.offset,
                };
                Some(memory.address(place.storage).wrapping_add(home as u64))
            }
            // One past the end of a storage, and what else is meant by its end or its beginning.
            Err(Fault::Behind { storage, distance }) => Some(
                memory
                    .address(storage)
                    .wrapping_add(memory.size(storage) as u64)
                    .wrapping_add(distance),
            ),
            Err(Fault::Before { storage, distance }) => Some(memory.address(storage).wrapping_sub(distance)),
            Err(_) => None,
        }
    }
}

/// Copies the guard zones of a storage, up to the shorter one's length. Returns the number of changed bytes beyond
/// that in the back zone of `other`.
fn copy_guards(memory: &mut Memory, other: &Memory, id: StorageId) -> u64 {
    let (front, behind) = other.guards(id);
    let room = memory.guards(id).1.len();
    let start = (memory.address(id) - ORIGIN) as usize;
    let end = start + memory.size(id);
    let (copied, rest) = behind.split_at(behind.len().min(room));
    let (arena, _) = memory.arena_mut();
    for (at, zone) in [(start.saturating_sub(front.len()), front), (end, copied)] {
        if let Some(to) = arena.get_mut(at..at + zone.len()) {
            to.copy_from_slice(zone);
        }
    }
    rest.iter().filter(|&&byte| byte != GUARD_BYTE).count() as u64
}
