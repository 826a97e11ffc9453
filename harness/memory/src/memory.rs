//! The address space of a launch: every storage of a case between guard zones, and the way back from an address.
//!
//! One arena of bytes holds `guard | storage | guard` for every storage. A slot's size is a multiple of
//! [`ALIGNMENT`], so one table entry per 512 bytes names the storage that an address belongs to: [`Memory::find`] and
//! [`Memory::resolve_access`] take constant time, without a cache and without `&mut`. Addresses are [`ORIGIN`] plus the index
//! in the arena, so an interpreter may also go through [`Memory::arena`] directly.
//!
//! Sparse storages have addresses after all others, and only their resident pages are in the arena: there
//! [`Memory::index_of`] and [`Memory::address_at`] translate (module `pages`).
//!
//! Races, alignment and masks are checked in `cerith-interp`.

mod arena;
mod pages;

use std::sync::Arc;

use arena::Arena;
use cerith_tile::fault::{self, is_planted};
use pages::Pages;
pub use pages::{Part, PartMut, TooManyPages};

use crate::guard::{GUARD, GUARD_BYTE};
use crate::sparse::Content;
use crate::storage::{ALIGNMENT, ByteState, ORIGIN, Pointer, StorageId, Storages, slot_end};
use crate::tensor::{Dims, Tensor};

/// A byte of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageByte {
    /// The storage.
    pub storage: StorageId,
    /// The byte of it, from 0.
    pub offset: usize,
}

/// The reason why bytes at an address cannot be accessed.
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
    /// The first content, if it is sparse.
    content: Option<Content>,
}

impl Region {
    /// The end of the guard zone after it.
    fn slot_end(&self) -> usize {
        slot_end(self.start, self.len).unwrap_or(usize::MAX)
    }
}

/// The part that doesn't change between launches: shared by every clone.
#[derive(Debug, PartialEq, Eq)]
struct Map {
    regions: Vec<Region>,
    /// For every [`ALIGNMENT`] bytes of the arena, the region they belong to.
    owners: Vec<u32>,
    /// The end of the storages that are not sparse. Pages follow in the arena.
    dense_end: usize,
    /// The sparse storages, by ascending address.
    sparse: Vec<StorageId>,
    tensors: Vec<NamedTensor>,
}

/// The laid-out storages of a case. A clone copies the bytes and shares the map; [`Memory::restore`] copies the bytes
/// into memory that is already there.
#[derive(Clone, Debug)]
pub struct Memory {
    map: Arc<Map>,
    arena: Arena,
    pages: Pages,
}

impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        let end = self.map.dense_end;
        self.map == other.map
            && self.arena.bytes.get(..end) == other.arena.bytes.get(..end)
            && self.arena.states.get(..end) == other.arena.states.get(..end)
            && self.map.sparse.iter().all(|&id| self.has_same(other, id))
    }
}

impl Eq for Memory {}

impl Memory {
    /// Lays the storages out at the addresses that [`Storages::address`] promised. `tensors` are the names for
    /// diagnostics.
    pub fn new(storages: &Storages, tensors: Vec<NamedTensor>) -> Self {
        let (starts, end) = storages.layout();
        let mut regions = Vec::with_capacity(storages.len());
        for ((_, storage), &start) in storages.iter().zip(starts) {
            regions.push(Region {
                name: storage.name().to_owned(),
                start,
                len: storage.size(),
                pointers: storage.pointers().to_vec(),
                content: storage.content().cloned(),
            });
        }
        let dense = |region: &Region| region.content.is_none();
        let dense_end = if regions.iter().any(dense) { end } else { 0 };
        let mut arena = Arena::with_capacity(dense_end);
        let mut owners = vec![0; dense_end / ALIGNMENT];
        for ((id, storage), region) in storages.iter().zip(&regions).filter(|(_, region)| dense(region)) {
            arena.bytes.resize(region.start, GUARD_BYTE);
            arena.bytes.extend_from_slice(storage.bytes());
            arena.states.resize(region.start, ByteState::Uninit);
            arena.states.extend_from_slice(storage.states());
            let slot = (region.start - GUARD) / ALIGNMENT..region.slot_end() / ALIGNMENT;
            if let Some(slot) = owners.get_mut(slot) {
                slot.fill(id.0);
            }
        }
        arena.bytes.resize(dense_end, GUARD_BYTE);
        arena.states.resize(dense_end, ByteState::Uninit);
        let sparse = storages.iter().zip(&regions).filter(|(_, region)| !dense(region));
        let mut sparse: Vec<StorageId> = sparse.map(|((id, _), _)| id).collect();
        sparse.sort_by_key(|&id| storages.address(id));
        Self {
            map: Arc::new(Map {
                regions,
                owners,
                dense_end,
                sparse,
                tensors,
            }),
            arena,
            pages: Pages::default(),
        }
    }

    /// Copies the bytes of `from` over these, without allocating when both were laid out alike.
    pub fn restore(&mut self, from: &Self) {
        self.map = Arc::clone(&from.map);
        self.arena.clone_from(&from.arena);
        self.pages.clone_from(&from.pages);
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
    pub fn find(&self, address: u64) -> Option<StorageByte> {
        self.resolve_access(address, 1).ok()
    }

    /// The place of `len` bytes from `address`, all of which are inside one storage. With `len` 0, only the address
    /// itself must be inside.
    #[inline]
    pub fn resolve_access(&self, address: u64, len: usize) -> Result<StorageByte, Fault> {
        let at = address.wrapping_sub(ORIGIN) as usize;
        let owner = match self.map.owners.get(at / ALIGNMENT) {
            Some(&owner) => owner,
            None => self.find_sparse_owner(at).ok_or(Fault::Outside)?,
        };
        let Some(region) = self.map.regions.get(owner as usize) else {
            return Err(Fault::Outside);
        };
        let storage = StorageId(owner);
        let offset = at.wrapping_sub(region.start);
        if offset < region.len && len <= region.len - offset {
            return Ok(StorageByte { storage, offset });
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

    /// The sparse storage that a distance from [`ORIGIN`] belongs to, guard zones included.
    fn find_sparse_owner(&self, at: usize) -> Option<u32> {
        let region = |id: &StorageId| self.find_region(*id);
        let after = self
            .map
            .sparse
            .partition_point(|id| region(id).is_some_and(|region| region.start - GUARD <= at));
        let id = self.map.sparse.get(after.checked_sub(1)?)?;
        (at < region(id)?.slot_end()).then_some(id.0)
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

    /// The positions of addresses in a storage when it was laid out.
    pub fn pointers(&self, id: StorageId) -> &[Pointer] {
        self.find_region(id).map_or(&[], |region| &region.pointers)
    }

    /// The named tensors.
    pub fn tensors(&self) -> &[NamedTensor] {
        &self.map.tensors
    }

    /// The named tensors that cover a byte, with the index of the covering element.
    pub fn tensors_at(&self, place: StorageByte) -> impl Iterator<Item = (&NamedTensor, Dims)> {
        self.map
            .tensors
            .iter()
            .filter(move |named| named.tensor.storage == place.storage)
            .filter_map(move |named| {
                let byte = i64::try_from(place.offset).ok()?;
                Some((named, named.tensor.index_of_byte(byte)?))
            })
    }

    /// The content of a storage; empty for an id of another memory, and for a sparse storage: [`Self::parts`] and
    /// [`Self::read`] have its content.
    #[inline]
    pub fn bytes(&self, id: StorageId) -> &[u8] {
        self.find_dense(id)
            .and_then(|region| self.arena.bytes.get(region.start..region.start + region.len))
            .unwrap_or(&[])
    }

    /// Returns the state of each byte of [`Self::bytes`].
    #[inline]
    pub fn states(&self, id: StorageId) -> &[ByteState] {
        self.find_dense(id)
            .and_then(|region| self.arena.states.get(region.start..region.start + region.len))
            .unwrap_or(&[])
    }

    /// [`Self::bytes`] and [`Self::states`], to be changed.
    #[inline]
    pub fn parts_mut(&mut self, id: StorageId) -> (&mut [u8], &mut [ByteState]) {
        let Some(region) = self
            .map
            .regions
            .get(id.0 as usize)
            .filter(|region| region.content.is_none())
        else {
            return (&mut [], &mut []);
        };
        let range = region.start..region.start + region.len;
        (
            self.arena.bytes.get_mut(range.clone()).unwrap_or(&mut []),
            self.arena.states.get_mut(range).unwrap_or(&mut []),
        )
    }

    /// The whole arena, guard zones included: byte `i` has address [`ORIGIN`] `+ i`, except in pages of sparse storages
    /// ([`Self::address_at`]).
    #[inline]
    pub fn arena(&self) -> (&[u8], &[ByteState]) {
        (&self.arena.bytes, &self.arena.states)
    }

    /// The whole arena, to be changed. Which indices may be written is for [`Self::resolve_access`] to say.
    #[inline]
    pub fn arena_mut(&mut self) -> (&mut [u8], &mut [ByteState]) {
        (&mut self.arena.bytes, &mut self.arena.states)
    }

    /// The guard zones before and after a storage. Those of a sparse storage have no bytes.
    pub fn guards(&self, id: StorageId) -> (&[u8], &[u8]) {
        let Some(region) = self.find_dense(id) else {
            return (&[], &[]);
        };
        let end = region.start + region.len;
        let next = region.slot_end();
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
    fn find_dense(&self, id: StorageId) -> Option<&Region> {
        self.find_region(id).filter(|region| region.content.is_none())
    }

    #[inline]
    fn find_region(&self, id: StorageId) -> Option<&Region> {
        self.map.regions.get(id.0 as usize)
    }
}

#[cfg(test)]
mod tests;
