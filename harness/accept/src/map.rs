//! The elements of memory in which conforming implementations may leave different values. A storage with such elements has a
//! mark for each of its bytes (is the byte exact, or which element begins there?) and two arrays with the ends of intervals.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::Rounding;
use cerith_tile::numeric::{decode, encode};
use smallvec::SmallVec;

use super::accepted::Accepted;
use super::cause::{Book, Cause, Widening};
use super::identity::Identities;
use super::lane::{Lane, Sides};
use super::wide::{INTERVAL, Wide, encode_nearest};
use cerith_interp::value::{read, write};

/// The accepted values of an element that is not exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub dtype: Option<DType>,
    pub size: usize,
    pub lane: Lane,
}

impl Entry {
    /// The accepted values.
    pub(super) fn accepted(&self) -> Accepted {
        Accepted::from_lane(self.lane, self.dtype)
    }

    /// Whether both have the same values, whatever their causes.
    pub(super) fn is_equivalent(self, other: Self) -> bool {
        (self.dtype, self.size) == (other.dtype, other.size) && self.lane.is_equivalent(other.lane)
    }
}

/// The least number of a dtype that is no less than `low`, and the greatest that is no greater than `high`; `None` if one is
/// infinite, or no number is in between.
fn round_inward(dtype: DType, low: f64, high: f64) -> Option<[u64; 2]> {
    let inward = |end: f64, falls: bool| {
        let bits = encode_nearest(dtype, end);
        let value = decode(dtype, bits);
        if value == end {
            return Some(bits);
        }
        let past = if falls { value > end } else { value < end };
        if !past {
            return Some(bits);
        }
        // The neighbour, whose bits are one more or one less.
        let rises = !falls;
        let sign = 1u64 << (dtype.bits() - 1);
        match (value == 0.0, rises == (value > 0.0)) {
            (true, _) => Some(if rises { 1 } else { sign | 1 }),
            (false, true) => bits.checked_add(1),
            (false, false) => bits.checked_sub(1),
        }
    };
    let ends = [inward(low, false)?, inward(high, true)?];
    let values = ends.map(|bits| decode(dtype, bits));
    (values[0] <= values[1] && values.iter().all(|value| value.is_finite())).then_some(ends)
}

impl Entry {
    /// Rounds the ends of an interval inward to numbers of its dtype, if there are any.
    fn rounded(mut self) -> Self {
        if let (Lane::Within { low, high, .. }, Some(dtype)) = (&mut self.lane, self.dtype)
            && let Some(ends) = round_inward(dtype, *low, *high)
        {
            [*low, *high] = ends.map(|bits| decode(dtype, bits));
        }
        self
    }
}

/// The elements of memory in which conforming implementations may leave different values. All launches of a case use one map,
/// because a later launch reads the results of an earlier one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcceptanceMap {
    /// Indexed by the number of the storage.
    storages: Vec<Option<Box<InexactElements>>>,
    /// The bytes of each storage.
    sizes: Vec<usize>,
    /// Storages with unknown contents.
    pub(super) doubtful: BTreeSet<StorageId>,
    /// The causes of widening, if they are recorded.
    pub(super) book: Option<Book>,
    /// The treatment of decisions that are not known.
    pub(super) sides: Sides,
    /// Elements that hold the same value of the program.
    pub(super) identities: Identities,
}

/// Elements that are not exact, each with its first byte.
pub(super) type Overlapping = SmallVec<[(usize, Entry); 2]>;

/// The byte is exact.
const EXACT: u8 = 0;
/// An element begins here that is in [`InexactElements::irregular`].
const IRREGULAR: u8 = 0x7f;
/// The byte belongs to an element that begins before it.
const CONTINUATION: u8 = 0xff;
/// A flag beside the number of a dtype: the element may also be a NaN.
const NAN: u8 = 0x40;

/// The elements of one storage that are not exact. The vectors have all bytes of the storage if its size is known, otherwise its
/// bytes up to the end of the last such element.
#[derive(Clone, Debug, Default, PartialEq)]
struct InexactElements {
    /// For each byte [`EXACT`], [`IRREGULAR`], [`CONTINUATION`], or if an interval begins here, the number of its dtype from 1.
    marks: Vec<u8>,
    low: Vec<u8>,
    high: Vec<u8>,
    /// Entries that are not intervals with ends of their dtype.
    irregular: BTreeMap<usize, Entry>,
    /// The number of elements that are not exact.
    count: usize,
}

const fn encode_mark(dtype: DType) -> u8 {
    dtype as u8 + 1
}

impl InexactElements {
    /// The element that begins at a byte.
    fn entry_at(&self, start: usize) -> Option<Entry> {
        let mark = *self.marks.get(start)?;
        if matches!(mark, EXACT | CONTINUATION) {
            return None;
        }
        if mark == IRREGULAR {
            return self.irregular.get(&start).copied();
        }
        let dtype = *DType::ALL.get(usize::from(mark & !NAN).checked_sub(1)?)?;
        let size = dtype.size();
        let end = |ends: &[u8]| {
            ends.get(start..start + size)
                .map_or(0.0, |bytes| decode(dtype, read(bytes, 0, size)))
        };
        Some(Entry {
            dtype: Some(dtype),
            size,
            lane: Lane::Within {
                low: end(&self.low),
                high: end(&self.high),
                nan: mark & NAN != 0,
                cause: Cause::default(),
            },
        })
    }

    /// Whether a byte begins an interval that contains the number in memory, or begins no element that is not exact. Compares the
    /// bits of floats, which are in the order of the values after the bits of negative numbers are inverted. May return false for
    /// zeros and NaNs that the interval contains.
    fn holds(&self, start: usize, own: &[u8]) -> bool {
        let Some(&mark) = self.marks.get(start) else {
            return true;
        };
        if matches!(mark, EXACT | CONTINUATION) {
            return true;
        }
        let dtype = usize::from(mark)
            .checked_sub(1)
            .and_then(|nth| DType::ALL.get(nth));
        let size = match dtype {
            Some(DType::F16 | DType::BF16) => 2,
            Some(DType::F32) => 4,
            Some(DType::F64) => 8,
            _ => return false,
        };
        let key = |bytes: &[u8]| {
            let bits = read(bytes, 0, size) << (64 - 8 * size);
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        };
        let place = start..start + size;
        match (
            self.low.get(place.clone()),
            own.get(place.clone()),
            self.high.get(place),
        ) {
            (Some(low), Some(own), Some(high)) => (key(low)..=key(high)).contains(&key(own)),
            _ => false,
        }
    }

    /// The element that a byte belongs to, and the element's first byte.
    fn find_entry(&self, byte: usize) -> Option<(usize, Entry)> {
        if *self.marks.get(byte)? == EXACT {
            return None;
        }
        let start = (byte.saturating_sub(7)..=byte)
            .rev()
            .find(|&at| self.marks.get(at) != Some(&CONTINUATION))?;
        Some((start, self.entry_at(start)?))
    }

    fn insert(&mut self, start: usize, entry: Entry) {
        let entry = entry.rounded();
        let end = start + entry.size;
        if self.marks.len() < end {
            for bytes in [&mut self.marks, &mut self.low, &mut self.high] {
                bytes.resize(end, 0);
            }
        }
        let mut mark = IRREGULAR;
        if let (
            Lane::Within {
                low,
                high,
                nan,
                cause,
            },
            Some(dtype),
        ) = (entry.lane, entry.dtype)
        {
            let ends = [low, high].map(|end| encode(dtype, end, Rounding::NearestEven));
            // An end that overflows is not a number of the dtype.
            let same = [low, high]
                .iter()
                .zip(ends)
                .all(|(&end, bits)| decode(dtype, bits) == end);
            if same && cause == Cause::default() {
                mark = encode_mark(dtype) | if nan { NAN } else { 0 };
                for (bytes, bits) in [&mut self.low, &mut self.high].into_iter().zip(ends) {
                    if let Some(to) = bytes.get_mut(start..end) {
                        write(to, 0, entry.size, bits);
                    }
                }
            }
        }
        if mark == IRREGULAR {
            self.irregular.insert(start, entry);
        }
        if let Some(marks) = self.marks.get_mut(start..end) {
            marks.fill(CONTINUATION);
        }
        if let Some(to) = self.marks.get_mut(start) {
            *to = mark;
        }
        self.count += 1;
    }

    /// Inserts adjacent lanes. Their bytes must be exact in the map.
    fn insert_wide(&mut self, start: usize, wide: &Wide, lanes: Range<usize>) {
        let (dtype, size) = (wide.dtype, wide.dtype.size());
        let end = start + lanes.len() * size;
        if self.marks.len() < end {
            for bytes in [&mut self.marks, &mut self.low, &mut self.high] {
                bytes.resize(end, 0);
            }
        }
        let within = wide.tags.get(lanes.clone());
        if dtype == DType::F32
            && within.is_some_and(|tags| tags.iter().all(|&tag| tag == INTERVAL))
            && self.insert_singles(start, wide, &lanes)
        {
            return;
        }
        for (nth, lane) in lanes.enumerate() {
            let Some(parts) = wide.parts(lane).filter(|parts| parts.tag == INTERVAL) else {
                let lane = wide.lane_at(lane);
                if lane.is_open() {
                    let dtype = Some(dtype);
                    self.insert(start + nth * size, Entry { dtype, size, lane });
                }
                continue;
            };
            let at = start + nth * size;
            let Some(ends) = round_inward(dtype, parts.low, parts.high) else {
                let (dtype, lane) = (Some(dtype), wide.lane_at(lane));
                self.insert(at, Entry { dtype, size, lane });
                continue;
            };
            for (bytes, bits) in [&mut self.low, &mut self.high].into_iter().zip(ends) {
                if let Some(to) = bytes.get_mut(at..at + size) {
                    write(to, 0, size, bits);
                }
            }
            if let Some([first, rest @ ..]) = self.marks.get_mut(at..at + size) {
                *first = encode_mark(dtype);
                rest.fill(CONTINUATION);
            }
            self.count += 1;
        }
    }

    /// Inserts intervals of `f32` all at once. Returns false if an end cannot be stored; the stored ends are then invalid.
    fn insert_singles(&mut self, start: usize, wide: &Wide, lanes: &Range<usize>) -> bool {
        let bytes = start..start + lanes.len() * 4;
        let (Some(low), Some(high), Some(to_low), Some(to_high)) = (
            wide.low.get(lanes.clone()),
            wide.high.get(lanes.clone()),
            self.low.get_mut(bytes.clone()),
            self.high.get_mut(bytes.clone()),
        ) else {
            return false;
        };
        let mut stored = true;
        let ends = low.iter().zip(high);
        let to = to_low
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(to_high.as_chunks_mut::<4>().0);
        for ((&low, &high), (to_low, to_high)) in ends.zip(to) {
            let (below, above) = (low as f32, high as f32);
            let below = if f64::from(below) < low {
                below.next_up()
            } else {
                below
            };
            let above = if f64::from(above) > high {
                above.next_down()
            } else {
                above
            };
            stored &= below <= above && below.is_finite() && above.is_finite();
            (*to_low, *to_high) = (below.to_le_bytes(), above.to_le_bytes());
        }
        if !stored {
            return false;
        }
        if let Some(marks) = self.marks.get_mut(bytes) {
            for mark in marks.as_chunks_mut::<4>().0 {
                *mark = [encode_mark(DType::F32), CONTINUATION, CONTINUATION, CONTINUATION];
            }
        }
        self.count += lanes.len();
        true
    }

    /// Removes the element that begins at a byte.
    fn remove(&mut self, start: usize, size: usize) {
        if self.marks.get(start) == Some(&IRREGULAR) {
            self.irregular.remove(&start);
        }
        if let Some(marks) = self.marks.get_mut(start..start + size) {
            marks.fill(EXACT);
        }
        self.count -= 1;
    }

    fn clean(&self, range: Range<usize>) -> bool {
        let end = range.end.min(self.marks.len());
        self.marks
            .get(range.start.min(end)..end)
            .is_none_or(|marks| marks.iter().all(|&mark| mark == EXACT))
    }

    /// Makes bytes exact.
    fn clear(&mut self, range: Range<usize>) {
        let mut byte = range.start;
        while byte < range.end.min(self.marks.len()) {
            let Some((start, entry)) = self.find_entry(byte) else {
                byte += 1;
                continue;
            };
            self.remove(start, entry.size);
            // The rest of a partly overwritten element is no longer a number.
            let end = start + entry.size;
            for at in (start..end).filter(|at| !range.contains(at)) {
                let rest = Entry {
                    dtype: None,
                    size: 1,
                    lane: Lane::Unknown,
                };
                self.insert(at, rest);
            }
            byte = end.max(byte + 1);
        }
    }
}

impl AcceptanceMap {
    /// A map that records the operations that widen intervals, for [`AcceptanceMap::find_widening`]. Slower.
    pub fn with_book() -> Self {
        Self {
            book: Some(Book::default()),
            ..Self::default()
        }
    }

    /// A map in which an element has no bounds if a decision that is not known chooses between values that are apart. A kernel never
    /// stores a value between them.
    pub fn with_separate_sides() -> Self {
        Self {
            sides: Sides::Separate,
            ..Self::default()
        }
    }

    /// The operation that widened the element with this byte most. `None` if the element is exact or not an interval, or if
    /// causes are not recorded. An unbounded interval has such an operation, too.
    pub fn find_widening(&self, storage: StorageId, byte: usize) -> Option<Widening> {
        let (_, entry) = self.find_entry(storage, byte)?;
        let (Accepted::Within { .. } | Accepted::Unknown, Some(cause)) =
            (entry.accepted(), entry.lane.cause())
        else {
            return None;
        };
        let number = cause.step.checked_sub(1)?;
        let bases = &self.book.as_ref()?.bases;
        let launch = bases.partition_point(|&base| base <= number).checked_sub(1)?;
        Some(Widening {
            launch,
            value: number - bases.get(launch)?,
            growth: cause.growth,
        })
    }

    /// Starts a launch of a kernel with this number of values, on storages of these sizes.
    pub(super) fn begin(&mut self, values: usize, sizes: impl Iterator<Item = usize>) {
        self.sizes = sizes.collect();
        if let Some(book) = &mut self.book {
            book.bases.push(book.end);
            book.end = book.end.saturating_add(u32::try_from(values).unwrap_or(u32::MAX));
        }
    }

    /// Replaces the elements of storage `to` by those of `storage` in the map of another run. Both storages have the same bytes.
    pub fn copy_storage(&mut self, to: StorageId, from: &Self, storage: StorageId) {
        let nth = to.0 as usize;
        if self.storages.len() <= nth {
            self.storages.resize_with(nth + 1, || None);
        }
        if let Some(elements) = self.storages.get_mut(nth) {
            *elements = from.storages.get(storage.0 as usize).cloned().flatten();
        }
        if from.doubtful.contains(&storage) {
            self.doubtful.insert(to);
        }
    }

    fn find_inexact(&self, storage: StorageId) -> Option<&InexactElements> {
        let elements = self.storages.get(storage.0 as usize)?.as_deref()?;
        (elements.count > 0).then_some(elements)
    }

    /// Whether all memory is exact.
    pub fn is_empty(&self) -> bool {
        self.doubtful.is_empty() && self.storages.iter().flatten().all(|elements| elements.count == 0)
    }

    /// The elements that are not exact: storage, first byte, size in bytes, and accepted values.
    pub fn iter(&self) -> impl Iterator<Item = (StorageId, usize, usize, Accepted)> + '_ {
        let storages = self.storages.iter().enumerate();
        storages.flat_map(|(storage, elements)| {
            let elements = elements.as_deref();
            let starts = 0..elements.map_or(0, |elements| elements.marks.len());
            starts.filter_map(move |start| {
                let entry = elements?.entry_at(start)?;
                Some((StorageId(storage as u32), start, entry.size, entry.accepted()))
            })
        })
    }

    /// Like [`AcceptanceMap::iter`], without most intervals that contain the number in memory. `own` returns the bytes of a
    /// storage. Intervals with a zero or a NaN in memory may remain.
    pub fn without_held<'a>(
        &'a self,
        own: impl Fn(StorageId) -> &'a [u8] + 'a,
    ) -> impl Iterator<Item = (StorageId, usize, usize, Accepted)> + 'a {
        let storages = self.storages.iter().enumerate();
        storages.flat_map(move |(storage, elements)| {
            let elements = elements.as_deref();
            let storage = StorageId(storage as u32);
            let own = own(storage);
            let starts = 0..elements.map_or(0, |elements| elements.marks.len());
            starts.filter_map(move |start| {
                let elements = elements?;
                if elements.holds(start, own) {
                    return None;
                }
                let entry = elements.entry_at(start)?;
                Some((storage, start, entry.size, entry.accepted()))
            })
        })
    }

    /// The accepted values of the element that holds a byte, and the element's first byte.
    pub fn accepted_at(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        if self.doubtful.contains(&storage) {
            return (byte, Accepted::Unknown);
        }
        self.find_entry(storage, byte)
            .map_or((byte, Accepted::Exact), |(start, entry)| {
                (start, entry.accepted())
            })
    }

    /// The entry of the element that holds a byte, if it is not exact, and the element's first byte.
    pub(super) fn find_entry(&self, storage: StorageId, byte: usize) -> Option<(usize, Entry)> {
        self.find_inexact(storage)?.find_entry(byte)
    }

    /// The elements of a storage that are not exact, each with its first byte.
    pub(super) fn entries(&self, storage: StorageId) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let elements = self.find_inexact(storage);
        let starts = 0..elements.map_or(0, |elements| elements.marks.len());
        starts.filter_map(move |start| Some((start, elements?.entry_at(start)?)))
    }

    /// The elements that contain one of these bytes, each with its first byte.
    pub(super) fn find_overlapping(&self, storage: StorageId, byte: usize, len: usize) -> Overlapping {
        let mut found = Overlapping::new();
        let mut at = byte;
        while at < byte + len {
            match self.find_entry(storage, at) {
                Some((start, entry)) => {
                    found.push((start, entry));
                    at = (start + entry.size).max(at + 1);
                }
                None => at += 1,
            }
        }
        found
    }

    /// Inserts a removed element again. Its bytes must be exact in the map.
    pub(super) fn restore(&mut self, storage: StorageId, start: usize, entry: Entry) {
        self.inexact_mut(storage).insert(start, entry);
    }

    /// Removes an element.
    pub(super) fn take(&mut self, storage: StorageId, start: usize, entry: Entry) {
        self.inexact_mut(storage).remove(start, entry.size);
    }

    /// Whether a storage has elements that are not exact.
    pub(super) fn has_inexact(&self, storage: StorageId) -> bool {
        self.find_inexact(storage).is_some() || self.doubtful.contains(&storage)
    }

    /// Whether bytes of a storage are exact.
    pub(super) fn clean(&self, storage: StorageId, range: Range<usize>) -> bool {
        self.find_inexact(storage)
            .is_none_or(|elements| elements.clean(range))
    }

    /// The entry of an element; `None` if its bytes are exact.
    pub(crate) fn get(
        &self,
        storage: StorageId,
        byte: usize,
        size: usize,
        dtype: Option<DType>,
    ) -> Option<Lane> {
        let elements = self.find_inexact(storage)?;
        if elements.clean(byte..byte + size) {
            return None;
        }
        let whole = elements
            .entry_at(byte)
            .filter(|entry| entry.size == size && entry.dtype == dtype);
        Some(whole.map_or(Lane::Unknown, |entry| entry.lane))
    }

    /// Makes bytes of a storage exact.
    pub(super) fn clear(&mut self, storage: StorageId, range: Range<usize>) {
        if let Some(Some(elements)) = self.storages.get_mut(storage.0 as usize)
            && elements.count > 0
        {
            elements.clear(range);
        }
    }

    /// Replaces the entry of an element; exact bits are in memory and need no entry.
    pub(crate) fn set(
        &mut self,
        storage: StorageId,
        byte: usize,
        size: usize,
        dtype: Option<DType>,
        lane: Lane,
    ) {
        self.clear(storage, byte..byte + size);
        if lane.is_open() {
            self.inexact_mut(storage)
                .insert(byte, Entry { dtype, size, lane });
        }
    }

    /// Replaces the entries of adjacent elements.
    pub(super) fn set_wide(&mut self, storage: StorageId, byte: usize, wide: &Wide, lanes: Range<usize>) {
        self.clear(storage, byte..byte + lanes.len() * wide.dtype.size());
        self.inexact_mut(storage).insert_wide(byte, wide, lanes);
    }

    fn inexact_mut(&mut self, storage: StorageId) -> &mut InexactElements {
        let nth = storage.0 as usize;
        if self.storages.len() <= nth {
            self.storages.resize_with(nth + 1, || None);
        }
        // For all bytes at once: zeroed memory costs nothing until it is written.
        let size = self.sizes.get(nth).copied().unwrap_or(0);
        self.storages[nth].get_or_insert_with(|| {
            Box::new(InexactElements {
                marks: vec![0; size],
                low: vec![0; size],
                high: vec![0; size],
                ..InexactElements::default()
            })
        })
    }
}
