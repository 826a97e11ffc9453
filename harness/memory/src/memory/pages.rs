//! The pages of sparse storages: which are resident, and where in the arena. Pages are appended to the arena after all
//! other storages, in the order of their first touch.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::Memory;
use crate::sparse::{Content, MAX_RESIDENT_BYTES, PAGE};
use crate::storage::{ByteState, ORIGIN, StorageId, UNINIT_BYTE};

/// Identifies a page: a storage, and the page's number in it.
type Key = (StorageId, usize);

/// The resident pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// For each resident page, how many became resident before it.
    slots: HashMap<Key, usize>,
    /// The pages in the order of the arena.
    keys: Vec<Key>,
}

impl Clone for Pages {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            keys: self.keys.clone(),
        }
    }

    fn clone_from(&mut self, from: &Self) {
        self.slots.clone_from(&from.slots);
        self.keys.clone_from(&from.keys);
    }
}

/// More pages would be resident than [`MAX_RESIDENT_BYTES`] allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_RESIDENT_BYTES} bytes of sparse storages are touched")]
pub struct TooManyPages;

/// Consecutive bytes of a storage with their states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'m> {
    /// The first byte, from the start of the storage.
    pub offset: usize,
    /// The bytes.
    pub bytes: Cow<'m, [u8]>,
    /// As many states.
    pub states: Cow<'m, [ByteState]>,
}

/// Consecutive bytes of a storage with their states, to be changed.
pub type PartMut<'m> = (&'m mut [u8], &'m mut [ByteState]);

impl Part<'_> {
    /// The bytes of the storage that it has.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes.len()
    }
}

impl Memory {
    /// Whether any storage is sparse.
    #[inline]
    pub fn has_sparse(&self) -> bool {
        !self.map.sparse.is_empty()
    }

    /// Whether a storage is sparse: [`Self::bytes`] has nothing of it.
    pub fn is_sparse(&self, id: StorageId) -> bool {
        self.find_content(id).is_some()
    }

    /// The first content of a storage, if it is sparse.
    pub(super) fn find_content(&self, id: StorageId) -> Option<&Content> {
        self.find_region(id)?.content.as_ref()
    }

    /// Bytes of all resident pages.
    pub fn resident_bytes(&self) -> usize {
        self.pages.keys.len() * PAGE
    }

    /// The arena index of the byte at `address`. `None` outside of the arena, and for a page that is not resident.
    #[inline]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let at = address.wrapping_sub(ORIGIN) as usize;
        if at < self.map.dense_end {
            return Some(at);
        }
        self.find_resident(address)
    }

    #[cold]
    fn find_resident(&self, address: u64) -> Option<usize> {
        let place = self.find(address)?;
        let slot = self.pages.slots.get(&(place.storage, place.offset / PAGE))?;
        Some(self.map.dense_end + slot * PAGE + place.offset % PAGE)
    }

    /// The address of a byte of the arena, the inverse of [`Self::index_of`].
    pub fn address_at(&self, index: usize) -> u64 {
        let page = index.checked_sub(self.map.dense_end);
        let key = page.and_then(|inside| Some((inside % PAGE, *self.pages.keys.get(inside / PAGE)?)));
        match key {
            Some((inside, (id, number))) => self.address(id).wrapping_add((number * PAGE + inside) as u64),
            None => ORIGIN.wrapping_add(index as u64),
        }
    }

    /// The addresses of the page that has a byte, as far as the page is inside its storage. `None` if the byte is not in a
    /// sparse storage.
    pub fn page_around(&self, address: u64) -> Option<Range<u64>> {
        if !self.has_sparse() {
            return None;
        }
        let place = self.find(address)?;
        self.find_content(place.storage)?;
        let first = place.offset - place.offset % PAGE;
        let end = first.saturating_add(PAGE).min(self.size(place.storage));
        let start = self.address(place.storage);
        Some(start + first as u64..start + end as u64)
    }

    /// Makes the page of a byte resident, with its first content. Returns whether the arena grew; nothing happens if the byte is
    /// not in a sparse storage.
    pub fn make_resident(&mut self, address: u64) -> Result<bool, TooManyPages> {
        if !self.has_sparse() {
            return Ok(false);
        }
        let Some(place) = self.find(address) else {
            return Ok(false);
        };
        self.make_page_resident(place.storage, place.offset / PAGE)
    }

    fn make_page_resident(&mut self, id: StorageId, number: usize) -> Result<bool, TooManyPages> {
        let key = (id, number);
        if self.pages.slots.contains_key(&key) {
            return Ok(false);
        }
        let Some((content, len)) = self
            .map
            .regions
            .get(id.0 as usize)
            .and_then(|region| Some((region.content.as_ref()?, region.len)))
        else {
            return Ok(false);
        };
        if (self.resident_bytes() + PAGE) as u64 > MAX_RESIDENT_BYTES {
            return Err(TooManyPages);
        }
        let start = self.arena.bytes.len();
        self.arena.bytes.resize(start + PAGE, UNINIT_BYTE);
        self.arena.states.resize(start + PAGE, ByteState::Uninit);
        let first = number * PAGE;
        let end = start + len.saturating_sub(first).min(PAGE);
        if let (Some(bytes), Some(states)) = (
            self.arena.bytes.get_mut(start..end),
            self.arena.states.get_mut(start..end),
        ) {
            content.write(first as u64, bytes, states);
        }
        self.pages.slots.insert(key, self.pages.keys.len());
        self.pages.keys.push(key);
        Ok(true)
    }

    /// One page of a sparse storage, computed if it is not resident.
    fn read_page(&self, id: StorageId, number: usize) -> Part<'_> {
        let offset = number * PAGE;
        let len = self.size(id).saturating_sub(offset).min(PAGE);
        let resident = self.pages.slots.get(&(id, number)).and_then(|slot| {
            let start = self.map.dense_end + slot * PAGE;
            Some((
                self.arena.bytes.get(start..start + len)?,
                self.arena.states.get(start..start + len)?,
            ))
        });
        if let Some((bytes, states)) = resident {
            return Part {
                offset,
                bytes: bytes.into(),
                states: states.into(),
            };
        }
        let content = self.find_content(id).unwrap_or(&Content::UNINIT);
        let (bytes, states) = content.compute(offset as u64, len);
        Part {
            offset,
            bytes: bytes.into(),
            states: states.into(),
        }
    }

    /// A part of a storage; `None` if it is not inside. Pages of a sparse storage that are not resident are computed.
    pub fn read(&self, id: StorageId, range: Range<usize>) -> Option<Part<'_>> {
        let region = self.find_region(id)?;
        let Range { start, end } = range;
        if start > end || end > region.len {
            return None;
        }
        if region.content.is_none() {
            return Some(Part {
                offset: start,
                bytes: self.bytes(id).get(start..end)?.into(),
                states: self.states(id).get(start..end)?.into(),
            });
        }
        let first = self.read_page(id, start / PAGE);
        if start == first.offset && end == first.offset + first.bytes.len() {
            return Some(first);
        }
        let (mut bytes, mut states) = (Vec::with_capacity(end - start), Vec::with_capacity(end - start));
        let mut at = start;
        while at < end {
            let page = self.read_page(id, at / PAGE);
            let inside = at - page.offset..(end - page.offset).min(page.bytes.len());
            at = page.offset + inside.end;
            bytes.extend_from_slice(page.bytes.get(inside.clone())?);
            states.extend_from_slice(page.states.get(inside)?);
        }
        Some(Part {
            offset: start,
            bytes: bytes.into(),
            states: states.into(),
        })
    }

    /// The bytes of a storage that may differ from its first content: all of it, or the resident pages of a sparse storage, in
    /// ascending order. Nothing for an id of another memory.
    pub fn parts(&self, id: StorageId) -> impl Iterator<Item = Part<'_>> {
        self.parts_of(list_ranges(&[self], id), id)
    }

    /// The bytes of a storage in both memories: all of it, or the pages of a sparse storage that are resident in one of the two.
    /// A page that is resident in one only has its first content in the other.
    pub fn pair_parts<'m>(
        &'m self,
        other: &'m Self,
        id: StorageId,
    ) -> impl Iterator<Item = (Part<'m>, Part<'m>)> {
        let ranges = list_ranges(&[self, other], id);
        self.parts_of(ranges.clone(), id).zip(other.parts_of(ranges, id))
    }

    /// These parts of a storage.
    fn parts_of(&self, ranges: Vec<Range<usize>>, id: StorageId) -> impl Iterator<Item = Part<'_>> {
        ranges.into_iter().filter_map(move |range| self.read(id, range))
    }

    /// Content and states of a part of a storage, to be changed. The part must be inside of the storage, and of one page if the
    /// storage is sparse; that page is made resident. `None` otherwise.
    pub fn part_mut(
        &mut self,
        id: StorageId,
        range: Range<usize>,
    ) -> Result<Option<PartMut<'_>>, TooManyPages> {
        let (Some(len), false) = (self.find_region(id).map(|region| region.len), range.is_empty()) else {
            return Ok(None);
        };
        if range.end > len || self.is_sparse(id) && range.start / PAGE != (range.end - 1) / PAGE {
            return Ok(None);
        }
        let address = self.address(id).wrapping_add(range.start as u64);
        self.make_resident(address)?;
        let Some(start) = self.index_of(address) else {
            return Ok(None);
        };
        let range = start..start + range.len();
        let (bytes, states) = (
            self.arena.bytes.get_mut(range.clone()),
            self.arena.states.get_mut(range),
        );
        Ok(bytes.zip(states))
    }

    /// Whether a storage holds the same bytes and states in both memories.
    pub fn has_same(&self, other: &Self, id: StorageId) -> bool {
        let begins_alike = match (self.find_content(id), other.find_content(id)) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        begins_alike
            && self.size(id) == other.size(id)
            && self
                .pair_parts(other, id)
                .all(|(a, b)| a.bytes == b.bytes && a.states == b.states)
    }
}

/// The parts of a storage that may differ from its first content in one of the memories: all of it as one part, or pages if it
/// is sparse in any of them.
fn list_ranges(memories: &[&Memory], id: StorageId) -> Vec<Range<usize>> {
    let len = memories.iter().map(|memory| memory.size(id)).min().unwrap_or(0);
    if !memories.iter().any(|memory| memory.is_sparse(id)) {
        let known = memories.iter().all(|memory| memory.find_region(id).is_some());
        return std::iter::once(0..len).filter(|_| known).collect();
    }
    let mut numbers: Vec<usize> = Vec::new();
    for memory in memories {
        if memory.is_sparse(id) {
            let own = memory.pages.keys.iter().filter(|(storage, _)| *storage == id);
            numbers.extend(own.map(|&(_, number)| number));
        } else {
            numbers.extend(0..memory.size(id).div_ceil(PAGE));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let pages = numbers.into_iter().map(|number| {
        let start = number * PAGE;
        start..start.saturating_add(PAGE).min(len)
    });
    pages.filter(|page| page.start < page.end).collect()
}
