//! The address space of a launch: every storage of a case between guard zones, and the way back from an address.
//!
//! One arena of bytes holds `guard | storage | guard` for every storage. A slot's size is a multiple of
//! [`ALIGNMENT`], so one table entry per 512 bytes names the storage that an address belongs to: [`Memory::find`] and
//! [`Memory::resolve_access`] take constant time, without a cache and without `&mut`. Addresses are [`ORIGIN`] plus the index
//! in the arena, so an interpreter may also go through [`Memory::arena`] directly.
//!
//! Races, alignment and masks are checked in `cerith-interp`.

mod arena;

use std::sync::Arc;

use arena::Arena;
use cerith_tile::fault::{self, is_planted};

use crate::guard::{GUARD, GUARD_BYTE};
use crate::storage::{ALIGNMENT, ByteState, ORIGIN, Pointer, StorageId, Storages};
use crate::tensor::{Dims, Tensor};

/// A byte of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The storage.
    pub storage: StorageId,
    /// The byte of it, from 0.
    pub offset: usize,
}

/// Why bytes at an address cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The access begins in the guard zone before a storage, `distance` bytes before its first byte.
    Before {
        /// The storage after the guard zone.
        storage: StorageId,
        /// At least 1.
        distance: u64,
    },
    /// The access begins in the guard zone after a storage, `distance` bytes past its end.
    Behind {
        /// The storage before the guard zone.
        storage: StorageId,
        /// 0 for the first byte past the end.
        distance: u64,
    },
    /// The access begins inside a storage, at `offset`, and `inside` of its bytes still fit.
    Straddles {
        /// The storage.
        storage: StorageId,
        /// First byte of the access.
        offset: usize,
        /// Bytes of the access that are inside.
        inside: usize,
    },
    /// No storage and no guard zone is there.
    Outside,
}

/// A tensor with its name in the case file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTensor {
    /// As in the case file.
    pub name: String,
    /// The view.
    pub tensor: Tensor,
}

#[derive(Debug, PartialEq, Eq)]
struct Region {
    name: String,
    start: usize,
    len: usize,
    pointers: Vec<Pointer>,
}

/// The part that doesn't change between launches: shared by every clone.
#[derive(Debug, PartialEq, Eq)]
struct Map {
    regions: Vec<Region>,
    /// For every [`ALIGNMENT`] bytes of the arena, the region they belong to.
    owners: Vec<u32>,
    tensors: Vec<NamedTensor>,
}

/// The laid-out storages of a case. A clone copies the bytes and shares the map; [`Memory::restore`] copies the bytes
/// into memory that is already there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    map: Arc<Map>,
    arena: Arena,
}

impl Memory {
    /// Lays the storages out at the addresses that [`Storages::address`] promised. `tensors` are the names for
    /// diagnostics.
    pub fn new(storages: &Storages, tensors: Vec<NamedTensor>) -> Self {
        let (starts, end) = storages.layout();
        let mut arena = Arena::with_capacity(end);
        let mut owners = vec![0; end / ALIGNMENT];
        let mut regions = Vec::with_capacity(storages.len());
        for ((id, storage), &start) in storages.iter().zip(starts) {
            let len = storage.bytes().len();
            arena.bytes.resize(start, GUARD_BYTE);
            arena.bytes.extend_from_slice(storage.bytes());
            arena.states.resize(start, ByteState::Uninit);
            arena.states.extend_from_slice(storage.states());
            let last = starts.get(id.0 as usize + 1).map_or(end, |next| next - GUARD);
            if let Some(slot) = owners.get_mut((start - GUARD) / ALIGNMENT..last / ALIGNMENT) {
                slot.fill(id.0);
            }
            regions.push(Region {
                name: storage.name().to_owned(),
                start,
                len,
                pointers: storage.pointers().to_vec(),
            });
        }
        arena.bytes.resize(end, GUARD_BYTE);
        arena.states.resize(end, ByteState::Uninit);
        Self {
            map: Arc::new(Map {
                regions,
                owners,
                tensors,
            }),
            arena,
        }
    }

    /// Copies the bytes of `from` over these, without allocating when both were laid out alike.
    pub fn restore(&mut self, from: &Self) {
        self.map = Arc::clone(&from.map);
        self.arena.clone_from(&from.arena);
    }

    /// Number of storages.
    pub fn len(&self) -> usize {
        self.map.regions.len()
    }

    /// Whether there are no storages.
    pub fn is_empty(&self) -> bool {
        self.map.regions.is_empty()
    }

    /// The ids of all storages.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = StorageId> + use<> {
        (0..self.map.regions.len()).map(|at| StorageId(at as u32))
    }

    /// The storage and byte at `address`; `None` in guard zones and outside.
    #[inline]
    pub fn find(&self, address: u64) -> Option<Place> {
        self.resolve_access(address, 1).ok()
    }

    /// The place of `len` bytes from `address`, all of which are inside one storage. With `len` 0, only the address
    /// itself must be inside.
    #[inline]
    pub fn resolve_access(&self, address: u64, len: usize) -> Result<Place, Fault> {
        let at = address.wrapping_sub(ORIGIN) as usize;
        let Some(&owner) = self.map.owners.get(at / ALIGNMENT) else {
            return Err(Fault::Outside);
        };
        let Some(region) = self.map.regions.get(owner as usize) else {
            return Err(Fault::Outside);
        };
        let storage = StorageId(owner);
        let offset = at.wrapping_sub(region.start);
        if offset < region.len && len <= region.len - offset {
            return Ok(Place { storage, offset });
        }
        Err(if at < region.start {
            Fault::Before {
                storage,
                distance: (region.start - at) as u64,
            }
        } else if offset < region.len {
            Fault::Straddles {
                storage,
                offset,
                inside: region.len - offset,
            }
        } else {
            Fault::Behind {
                storage,
                distance: (offset - region.len) as u64,
            }
        })
    }

    /// The address of a storage's first byte; 0 for an id of another memory.
    pub fn address(&self, id: StorageId) -> u64 {
        self.find_region(id)
            .map_or(0, |region| ORIGIN + region.start as u64)
    }

    /// `x.data_ptr()`.
    pub fn address_of(&self, tensor: &Tensor) -> u64 {
        self.address(tensor.storage)
            .wrapping_add_signed(tensor.byte_offset())
    }

    /// Bytes of a storage; 0 for an id of another memory.
    pub fn size(&self, id: StorageId) -> usize {
        self.find_region(id).map_or(0, |region| region.len)
    }

    /// The name of a storage; empty for an id of another memory.
    pub fn name(&self, id: StorageId) -> &str {
        self.find_region(id).map_or("", |region| &region.name)
    }

    /// Where a storage held addresses when it was laid out.
    pub fn pointers(&self, id: StorageId) -> &[Pointer] {
        self.find_region(id).map_or(&[], |region| &region.pointers)
    }

    /// The named tensors.
    pub fn tensors(&self) -> &[NamedTensor] {
        &self.map.tensors
    }

    /// The named tensors that cover a byte, with the index of the covering element.
    pub fn tensors_at(&self, place: Place) -> impl Iterator<Item = (&NamedTensor, Dims)> {
        self.map
            .tensors
            .iter()
            .filter(move |named| named.tensor.storage == place.storage)
            .filter_map(move |named| {
                let byte = i64::try_from(place.offset).ok()?;
                Some((named, named.tensor.index_of_byte(byte)?))
            })
    }

    /// The content of a storage; empty for an id of another memory.
    #[inline]
    pub fn bytes(&self, id: StorageId) -> &[u8] {
        self.find_region(id)
            .and_then(|region| self.arena.bytes.get(region.start..region.start + region.len))
            .unwrap_or(&[])
    }

    /// Returns the state of each byte of a storage.
    #[inline]
    pub fn states(&self, id: StorageId) -> &[ByteState] {
        self.find_region(id)
            .and_then(|region| self.arena.states.get(region.start..region.start + region.len))
            .unwrap_or(&[])
    }

    /// Content and states of a storage, to be changed.
    #[inline]
    pub fn parts_mut(&mut self, id: StorageId) -> (&mut [u8], &mut [ByteState]) {
        let Some(region) = self.map.regions.get(id.0 as usize) else {
            return (&mut [], &mut []);
        };
        let range = region.start..region.start + region.len;
        (
            self.arena.bytes.get_mut(range.clone()).unwrap_or(&mut []),
            self.arena.states.get_mut(range).unwrap_or(&mut []),
        )
    }

    /// The whole arena, guard zones included: byte `i` has address [`ORIGIN`] `+ i`.
    #[inline]
    pub fn arena(&self) -> (&[u8], &[ByteState]) {
        (&self.arena.bytes, &self.arena.states)
    }

    /// The whole arena, to be changed. Which indices may be written is for [`Self::resolve_access`] to say.
    #[inline]
    pub fn arena_mut(&mut self) -> (&mut [u8], &mut [ByteState]) {
        (&mut self.arena.bytes, &mut self.arena.states)
    }

    /// The guard zones before and after a storage.
    pub fn guards(&self, id: StorageId) -> (&[u8], &[u8]) {
        let Some(region) = self.find_region(id) else {
            return (&[], &[]);
        };
        let end = region.start + region.len;
        let next = self
            .map
            .regions
            .get(id.0 as usize + 1)
            .map_or(self.arena.bytes.len(), |next| next.start - GUARD);
        let next = if is_planted(fault::Fault::GuardsBehindUnseen) {
            end
        } else {
            next
        };
        (
            self.arena
                .bytes
                .get(region.start - GUARD..region.start)
                .unwrap_or(&[]),
            self.arena.bytes.get(end..next).unwrap_or(&[]),
        )
    }

    #[inline]
    fn find_region(&self, id: StorageId) -> Option<&Region> {
        self.map.regions.get(id.0 as usize)
    }
}

#[cfg(test)]
mod tests;
