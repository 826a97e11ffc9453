//! Storages: runs of bytes that own their memory, and the growing set of them that a case is built in.
//! See [`crate::Tensor`] for the meaning of bytes, and [`crate::Memory`] for the address space at run time.

use std::borrow::Cow;
use std::ops::Range;

use crate::guard::GUARD;
use crate::sparse::{Content, MAX_SPARSE_BYTES};

/// Every storage begins at a multiple of this many bytes, as memory from torch's CUDA allocator does.
pub const ALIGNMENT: usize = 512;

/// The address of the arena's first byte, which is in the first storage's guard zone.
pub const ORIGIN: u64 = 0x7f20_0000_0000;

/// Maximum bytes of the storages of one set that are held as bytes (256 MiB). Larger ones must be sparse; otherwise a case that
/// needs more is an error and allocates nothing.
pub const MAX_BYTES: u64 = 1 << 28;

/// The distance from [`ORIGIN`] at which the addresses of sparse storages begin. All others are below.
const SPARSE_START: usize = 1 << 36;

/// The content of an uninitialised byte. No result may depend on it.
pub const UNINIT_BYTE: u8 = 0xA9;

/// Names a storage of a [`Storages`] and of the [`crate::Memory`] laid out from it: its index in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(pub u32);

/// The state of one byte. It takes one byte in memory, so a run of them is filled with `memset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum ByteState {
    /// Uninitialised.
    #[default]
    Uninit = 0,
    /// It holds a defined value.
    Init = 1,
    /// It was written with an undefined value.
    Poison = 2,
}

/// Eight bytes of a storage with the address of byte `target_offset` of `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    /// First of the eight bytes, little-endian.
    pub offset: usize,
    /// The storage pointed to.
    pub target: StorageId,
    /// The byte of it; may be outside (a case may ask for a wild pointer).
    pub target_offset: i64,
}

/// A run of bytes that owns its memory (`torch.UntypedStorage`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) states: Vec<ByteState>,
    pub(crate) pointers: Vec<Pointer>,
    sparse: Option<Sparse>,
}

/// Bytes and as many states, which were read or computed.
pub type ReadBytes<'s> = (Cow<'s, [u8]>, Cow<'s, [ByteState]>);

/// The size and content of a storage that has no bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sparse {
    len: usize,
    content: Content,
}

impl Storage {
    /// The name that messages use; for a copy, the expression that made it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.sparse.as_ref().map_or(self.bytes.len(), |sparse| sparse.len)
    }

    /// Its first content, if it is sparse.
    pub fn content(&self) -> Option<&Content> {
        self.sparse.as_ref().map(|sparse| &sparse.content)
    }

    /// Whether its content is computed, and [`Self::bytes`] has nothing.
    pub const fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// A part of the content, and its states; `None` if it is not inside. Computed for a sparse storage.
    pub fn read(&self, range: Range<usize>) -> Option<ReadBytes<'_>> {
        let Some(sparse) = &self.sparse else {
            return Some((
                self.bytes.get(range.clone())?.into(),
                self.states.get(range)?.into(),
            ));
        };
        if range.start > range.end || range.end > sparse.len {
            return None;
        }
        let (bytes, states) = sparse.content.compute(range.start as u64, range.len());
        Some((bytes.into(), states.into()))
    }

    /// The content, as long as [`Self::size`]; nothing for a sparse storage. Addresses are those of [`Storages::address`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The state of each byte; as long as [`Self::bytes`].
    pub fn states(&self) -> &[ByteState] {
        &self.states
    }

    /// The addresses in the content, by ascending offset. An engine with another memory layout writes its own addresses
    /// there.
    pub fn pointers(&self) -> &[Pointer] {
        &self.pointers
    }
}

/// The set of storages would be larger than [`MAX_BYTES`], or [`MAX_SPARSE_BYTES`] if the storage is sparse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("storage `{name}` of {bytes} bytes brings the case to more than {limit} bytes")]
pub struct TooLarge {
    /// The storage that does not fit.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The limit.
    pub limit: u64,
}

/// The storages of one case, in order of creation. Storages are only added, so every storage's address is known from
/// the moment it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storages {
    all: Vec<Storage>,
    starts: Vec<usize>,
    /// The end of the arena, without pages of sparse storages.
    end: usize,
    /// The end of the addresses of sparse storages; 0 if there are none.
    sparse_end: usize,
    /// A storage of more bytes doesn't fit, if there is such a limit.
    dense_limit: Option<u64>,
}

/// The end of the addresses of a storage with its guard zone.
pub(crate) fn slot_end(start: usize, len: usize) -> Option<usize> {
    start
        .checked_add(len)?
        .checked_next_multiple_of(ALIGNMENT)?
        .checked_add(GUARD)
}

impl Storages {
    /// No storages.
    pub fn new() -> Self {
        Self::default()
    }

    /// No storages, and those of more than so many bytes have to be sparse.
    pub fn with_dense_limit(limit: u64) -> Self {
        Self {
            dense_limit: Some(limit),
            ..Self::default()
        }
    }

    /// Adds a storage of `bytes` uninitialised bytes.
    pub fn add(&mut self, name: impl Into<String>, bytes: u64) -> Result<StorageId, TooLarge> {
        let name = name.into();
        let start = self.end.saturating_add(GUARD);
        let end = usize::try_from(bytes)
            .ok()
            .filter(|_| self.fits(bytes))
            .and_then(|len| slot_end(start, len))
            .filter(|&end| end <= SPARSE_START);
        let Some(end) = end else {
            return Err(TooLarge {
                name,
                bytes,
                limit: MAX_BYTES,
            });
        };
        let len = bytes as usize;
        let storage = Storage {
            name,
            bytes: vec![UNINIT_BYTE; len],
            states: vec![ByteState::Uninit; len],
            pointers: Vec::new(),
            sparse: None,
        };
        let id = self.push(storage, start, MAX_BYTES)?;
        self.end = end;
        Ok(id)
    }

    /// Adds a sparse storage of `bytes` uninitialised bytes, which takes no memory here.
    pub fn add_sparse(&mut self, name: impl Into<String>, bytes: u64) -> Result<StorageId, TooLarge> {
        let name = name.into();
        let start = self.sparse_end.max(SPARSE_START).saturating_add(GUARD);
        let len = usize::try_from(bytes)
            .ok()
            .filter(|_| self.sparse_total().saturating_add(bytes) <= MAX_SPARSE_BYTES);
        let (Some(len), Some(end)) = (len, len.and_then(|len| slot_end(start, len))) else {
            return Err(TooLarge {
                name,
                bytes,
                limit: MAX_SPARSE_BYTES,
            });
        };
        let storage = Storage {
            name,
            sparse: Some(Sparse {
                len,
                content: Content::UNINIT,
            }),
            ..Storage::default()
        };
        let id = self.push(storage, start, MAX_SPARSE_BYTES)?;
        self.sparse_end = end;
        Ok(id)
    }

    fn push(&mut self, storage: Storage, start: usize, limit: u64) -> Result<StorageId, TooLarge> {
        let Ok(id) = u32::try_from(self.all.len()) else {
            let bytes = storage.size() as u64;
            return Err(TooLarge {
                name: storage.name,
                bytes,
                limit,
            });
        };
        self.all.push(storage);
        self.starts.push(start);
        Ok(StorageId(id))
    }

    /// Whether another storage of `bytes` bytes can be added that is not sparse.
    pub fn fits(&self, bytes: u64) -> bool {
        self.dense_limit.is_none_or(|limit| bytes <= limit) && self.total().saturating_add(bytes) <= MAX_BYTES
    }

    /// Sets the first content of a sparse storage. Returns false, and does nothing, for any other storage.
    pub fn set_content(&mut self, id: StorageId, content: Content) -> bool {
        let sparse = self
            .all
            .get_mut(id.0 as usize)
            .and_then(|storage| storage.sparse.as_mut());
        sparse.map(|sparse| sparse.content = content).is_some()
    }

    /// The same storages at the same addresses, all of them sparse. Everything that is computed with these must be the same as
    /// with the others.
    #[must_use]
    pub fn to_sparse(&self) -> Self {
        let sparse = self.all.iter().map(|storage| Storage {
            name: storage.name.clone(),
            pointers: storage.pointers.clone(),
            sparse: Some(Sparse {
                len: storage.size(),
                content: Content::from_storage(storage),
            }),
            ..Storage::default()
        });
        Self {
            all: sparse.collect(),
            ..self.clone()
        }
    }

    /// The first sparse storage.
    pub fn first_sparse(&self) -> Option<&Storage> {
        self.all.iter().find(|storage| storage.is_sparse())
    }

    /// The storage of an id, if it is of this set.
    pub fn get(&self, id: StorageId) -> Option<&Storage> {
        self.all.get(id.0 as usize)
    }

    /// All storages with their ids, in order of creation.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (StorageId, &Storage)> {
        self.all
            .iter()
            .enumerate()
            .map(|(at, storage)| (StorageId(at as u32), storage))
    }

    /// Number of storages.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Bytes of all storages that are not sparse together, without guard zones.
    pub fn total(&self) -> u64 {
        self.all.iter().map(|storage| storage.bytes.len() as u64).sum()
    }

    fn sparse_total(&self) -> u64 {
        let sparse = self.all.iter().filter_map(|storage| storage.sparse.as_ref());
        sparse
            .map(|sparse| sparse.len as u64)
            .fold(0, u64::saturating_add)
    }

    /// The address of a storage's first byte; 0 for an id of another set. Always a multiple of [`ALIGNMENT`].
    pub fn address(&self, id: StorageId) -> u64 {
        self.starts
            .get(id.0 as usize)
            .map_or(0, |&start| ORIGIN + start as u64)
    }

    /// Bytes of a storage; 0 for an id of another set.
    pub fn size(&self, id: StorageId) -> usize {
        self.get(id).map_or(0, Storage::size)
    }

    /// Writes defined bytes at `offset`. Returns false, and writes nothing, when they do not fit or the storage is sparse.
    pub fn write(&mut self, id: StorageId, offset: usize, bytes: &[u8]) -> bool {
        let Some(storage) = self.all.get_mut(id.0 as usize) else {
            return false;
        };
        let Some(range) = offset.checked_add(bytes.len()).map(|end| offset..end) else {
            return false;
        };
        let (Some(to), Some(states)) = (
            storage.bytes.get_mut(range.clone()),
            storage.states.get_mut(range.clone()),
        ) else {
            return false;
        };
        to.copy_from_slice(bytes);
        states.fill(ByteState::Init);
        // A partly overwritten address is no longer an address.
        let first = storage
            .pointers
            .partition_point(|pointer| pointer.offset.saturating_add(8) <= range.start);
        let last = storage
            .pointers
            .partition_point(|pointer| pointer.offset < range.end);
        if first < last {
            storage.pointers.drain(first..last);
        }
        true
    }

    /// Writes the address of byte `target_offset` of `target` at `offset`, and remembers that it is one. Returns
    /// false, and writes nothing, when it does not fit, the storage is sparse, or `target` is of another set.
    pub fn write_pointer(
        &mut self,
        id: StorageId,
        offset: usize,
        target: StorageId,
        target_offset: i64,
    ) -> bool {
        if self.get(target).is_none() {
            return false;
        }
        let address = self.address(target).wrapping_add_signed(target_offset);
        if !self.write(id, offset, &address.to_le_bytes()) {
            return false;
        }
        if let Some(storage) = self.all.get_mut(id.0 as usize) {
            let at = storage
                .pointers
                .partition_point(|pointer| pointer.offset < offset);
            storage.pointers.insert(
                at,
                Pointer {
                    offset,
                    target,
                    target_offset,
                },
            );
        }
        true
    }

    pub(crate) fn get_mut(&mut self, id: StorageId) -> Option<&mut Storage> {
        self.all.get_mut(id.0 as usize)
    }

    /// The distance of each storage from [`ORIGIN`], and the size of the arena without pages.
    pub(crate) fn layout(&self) -> (&[usize], usize) {
        (&self.starts, self.end)
    }
}
