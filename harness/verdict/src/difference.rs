//! Compares what two engines left in memory, byte for byte, guard zones included.
//!
//! Bits are compared first. If they differ, the [`Tolerance`] decides whether a conforming implementation may give the other
//! value. A NaN equals any NaN of the dtype that the bytes are seen as. Bytes that are undefined in the reference are not
//! compared; bytes that are unwritten in it must be unwritten.
//!
//! See [`crate::trial`] for outcomes without memory.

use cerith_accept::{Accepted, StoredElement};
use cerith_memory::{ByteState, Dims, Memory, NamedTensor, StorageId};
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::{DType, numeric};

use crate::cover::Covers;

/// How many differing elements are kept for the report; all of them are counted.
pub const MAX_KEPT_ELEMENTS: usize = 8;

/// How many runs of differing bytes are kept.
pub const MAX_SPANS: usize = 4096;

/// Bytes of the largest element. The element of a byte, of any dtype, ends less than this before or after it.
const LARGEST: usize = 8;

/// Runs of bytes of storages.
pub type Spans = Vec<(StorageId, std::ops::Range<usize>)>;

/// Says what a conforming implementation may leave behind. Asked only where bits differ, so that an implementation
/// may do its work on the first question.
pub trait Tolerance {
    /// The first byte of the element that `byte` of `storage` belongs to, and what is accepted of the element.
    fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted);

    /// Whether a conforming implementation leaves these bytes in `storage` from `first` on, as far as an execution shows. Asked of all
    /// bytes that may be in one element with a byte that differs: before bounds are, or where they leave it open.
    fn can_leave(&self, _storage: StorageId, _first: usize, _bytes: &[u8]) -> bool {
        false
    }

    /// Whether bounds are computed first, because an execution would rarely decide anything.
    fn begins_with_bounds(&self) -> bool {
        false
    }

    /// The elements that hold one value of the program, value by value, as far as they are known. Asked after [`Self::find_accepted`].
    fn one_value(&self) -> Vec<Vec<StoredElement>> {
        Vec::new()
    }

    /// The reason why it is [`Accepted::Unknown`], if more is known.
    fn unknown_reason(&self) -> Option<String> {
        None
    }
}

/// Accepts only the same bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct BitForBit;

impl Tolerance for BitForBit {
    fn find_accepted(&self, _: StorageId, byte: usize) -> (usize, Accepted) {
        (byte, Accepted::Exact)
    }
}

/// The position of an element in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// In the storage.
    Inside,
    /// In the guard zone before it.
    Before,
    /// In the guard zone after it.
    Behind,
}

/// One element that two engines disagree about.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The storage's name.
    pub storage: String,
    /// The storage.
    pub id: StorageId,
    /// Whether it is in the storage or in a guard zone.
    pub zone: Zone,
    /// First byte, from the start of the zone.
    pub byte: usize,
    /// The size in bytes.
    pub size: usize,
    /// The dtype in which the bytes are seen; `None` for bytes that no tensor shows.
    pub dtype: Option<DType>,
    /// The first tensor that shows it, and the index into it.
    pub tensor: Option<(String, Dims)>,
    /// The bytes of each side, little-endian.
    pub bits: [u64; 2],
    /// Each side's value as a reader would write it.
    pub values: [String; 2],
    /// Whether must not be written.
    pub unwritten: bool,
    /// The least and greatest value that would have been accepted, where there is a range.
    pub accepted: Option<[f64; 2]>,
}

/// The bytes of two memories by the result of their comparison. No byte counts twice; unwritten bytes do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes with a defined value that were judged equal or different.
    pub compared: u64,
    /// Bytes with other bits that a conforming implementation may give.
    pub accepted: u64,
    /// Bytes with other bits, if it cannot be decided whether a conforming implementation may give them.
    pub undecided: u64,
    /// Left out, because they have no defined value.
    pub undefined: u64,
}

impl std::ops::AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.compared += other.compared;
        self.accepted += other.accepted;
        self.undecided += other.undecided;
        self.undefined += other.undefined;
    }
}

/// The result of comparing two memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The bytes, counted by result.
    pub bytes: Bytes,
    /// Elements that differ.
    pub differing: u64,
    /// The first of those.
    pub first: Vec<Element>,
    /// Which bytes of storages these are, in order; neighbours are one. [`MAX_SPANS`] at most.
    pub spans: Vec<(StorageId, std::ops::Range<usize>)>,
    /// Whether there are more spans.
    pub more_spans: bool,
    /// How many of those are in guard zones.
    pub guards: u64,
    /// If the two memories have different layouts: how.
    pub mismatched: Option<String>,
    /// If elements that hold one value of the program differ from each other: which ones.
    pub split: Option<String>,
    /// Which bytes of storages are undecided, in order.
    pub undecided: Spans,
}

impl Comparison {
    /// Whether nothing differs, as far as can be decided.
    pub const fn is_same(&self) -> bool {
        self.differing == 0 && self.mismatched.is_none()
    }

    /// The comparison of two memories without the reference. The values of `right` were compared with the bounds of
    /// their elements; those of `left` must be within them too.
    pub(crate) fn both_ways(
        self,
        left: &Memory,
        right: &Memory,
        tracked: Option<&Memory>,
        tolerance: &dyn Tolerance,
    ) -> Self {
        if !self.is_same() || self.bytes.accepted == 0 {
            return self;
        }
        let mut turned = compare(right, left, tracked, tolerance);
        if turned.is_same() {
            return self;
        }
        for element in &mut turned.first {
            element.bits.reverse();
            element.values.reverse();
        }
        turned
    }

    /// Notes that bytes of a storage differ.
    fn differ_at(&mut self, id: StorageId, bytes: std::ops::Range<usize>) {
        if let Some((last, span)) = self.spans.last_mut()
            && *last == id
            && span.end >= bytes.start
        {
            span.end = bytes.end;
        } else if self.spans.len() < MAX_SPANS {
            self.spans.push((id, bytes));
        } else {
            self.more_spans = true;
        }
    }

    /// Notes that an element differs, which was accepted or undecided so far.
    fn differ_in(&mut self, left: &Memory, right: &Memory, element: &StoredElement) {
        let StoredElement {
            storage: id,
            byte,
            dtype,
            ..
        } = *element;
        let bytes = byte..byte + dtype.size();
        if self
            .spans
            .iter()
            .any(|(known, span)| *known == id && span.contains(&byte))
        {
            return;
        }
        let size = bytes.len() as u64;
        let accepted = size.min(self.bytes.accepted);
        let undecided = (size - accepted).min(self.bytes.undecided);
        self.bytes.accepted -= accepted;
        self.bytes.undecided -= undecided;
        self.bytes.compared += accepted + undecided;
        self.differing += 1;
        self.differ_at(id, bytes.clone());
        if self.first.len() >= MAX_KEPT_ELEMENTS {
            return;
        }
        let bits = [left, right].map(|memory| {
            let part = memory.read(id, bytes.clone());
            part.map_or(0, |part| read_word(&part.bytes))
        });
        let covers = Covers::new(left.tensors(), id);
        let tensor = covers.find_view(byte).and_then(|nth| {
            let name = left.tensors().get(nth)?.name.clone();
            Some((name, covers.find_coordinates(nth, byte)?))
        });
        self.first.push(Element {
            storage: left.name(id).to_owned(),
            id,
            zone: Zone::Inside,
            byte,
            size: dtype.size(),
            dtype: Some(dtype),
            tensor,
            bits,
            values: bits.map(|bits| numeric::format(dtype, bits)),
            unwritten: false,
            accepted: None,
        });
    }

    /// Whether storages are the same and guard zones are not.
    pub(crate) const fn only_guards(&self) -> bool {
        self.guards > 0 && self.guards == self.differing && self.mismatched.is_none()
    }
}

/// Compares `right` with `left`. `tracked` is the memory whose byte states say which bytes have a defined value, as a
/// rule the reference's. `views` give the bytes their dtypes.
pub fn compare(
    left: &Memory,
    right: &Memory,
    tracked: Option<&Memory>,
    tolerance: &dyn Tolerance,
) -> Comparison {
    let mut result = Comparison::default();
    if left.len() != right.len() {
        result.mismatched = Some(format!("{} storages against {}", left.len(), right.len()));
        return result;
    }
    for id in left
        .ids()
        .filter(|id| id.0 == 0 || !is_planted(Fault::OneStorageCompared))
    {
        if left.size(id) != right.size(id) {
            result.mismatched = Some(format!(
                "storage `{}` of {} bytes against {}",
                left.name(id),
                left.size(id),
                right.size(id)
            ));
            return result;
        }
        let tracked = tracked.filter(|memory| memory.size(id) == left.size(id));
        for (one, other) in left.pair_parts(right, id) {
            let (a, b) = (&*one.bytes, &*other.bytes);
            let states = tracked.and_then(|memory| memory.read(id, one.range()));
            let states = states.as_ref().map(|part| &*part.states);
            if let Some(states) = states {
                let undefined = states.iter().filter(|&&state| state == ByteState::Poison).count() as u64;
                let unwritten = states.iter().filter(|&&state| state == ByteState::Uninit).count() as u64;
                result.bytes.undefined += undefined;
                result.bytes.compared += a.len() as u64 - undefined - unwritten;
            } else {
                result.bytes.compared += a.len() as u64;
            }
            if a != b {
                compare_storage(
                    &mut result,
                    &Sides {
                        id,
                        offset: one.offset,
                        name: left.name(id),
                        left,
                        a,
                        b,
                        states,
                        views: left.tensors(),
                        tolerance,
                    },
                );
            }
        }
        if !is_planted(Fault::GuardsNotCompared) {
            compare_guards(&mut result, left, right, id);
        }
    }
    if result.bytes.accepted + result.bytes.undecided > 0 {
        one_value(&mut result, left, right, tracked, tolerance);
    }
    result
}

/// Compares the elements of `right` that hold one value of the program with each other.
fn one_value(
    result: &mut Comparison,
    left: &Memory,
    right: &Memory,
    tracked: Option<&Memory>,
    tolerance: &dyn Tolerance,
) {
    let bits = |memory: &Memory, element: &StoredElement| {
        let range = element.byte..element.byte + element.dtype.size();
        let part = memory.read(element.storage, range)?;
        Some(read_word(&part.bytes))
    };
    let defined = |element: &StoredElement| {
        let range = element.byte..element.byte + element.dtype.size();
        tracked.is_none_or(|memory| {
            let part = memory.read(element.storage, range);
            part.is_none_or(|part| part.states.iter().all(|&state| state == ByteState::Init))
        })
    };
    for value in tolerance.one_value() {
        let mut defined = value.iter().filter(|element| defined(element));
        let Some(first) = defined.next() else {
            continue;
        };
        let Some(wanted) = bits(right, first) else {
            continue;
        };
        for other in defined {
            let Some(found) = bits(right, other) else {
                continue;
            };
            if are_one(first, wanted, other, found) {
                continue;
            }
            // The one that is not the reference's is shown.
            let shown = if bits(left, other) == Some(found) {
                first
            } else {
                other
            };
            let place = |element: &StoredElement| name_element(left, element.storage, element.byte);
            result.split.get_or_insert_with(|| {
                format!(
                    "{} and {} hold one value of the program, and are {} and {}",
                    place(first),
                    place(other),
                    numeric::format(first.dtype, wanted),
                    numeric::format(other.dtype, found),
                )
            });
            result.differ_in(left, right, shown);
        }
    }
}

/// Whether the bits of two elements are those of one value.
fn are_one(one: &StoredElement, bits: u64, other: &StoredElement, other_bits: u64) -> bool {
    let numbers = [(one.dtype, bits), (other.dtype, other_bits)];
    let is = |test: fn(f64) -> bool| {
        numbers
            .iter()
            .all(|&(dtype, bits)| dtype.is_float() && test(numeric::decode(dtype, bits)))
    };
    bits == other_bits || is(f64::is_nan) || (one.any_zero || other.any_zero) && is(|number| number == 0.0)
}

/// An element as a reader finds it: `once[3]`, or byte 12 of its storage.
fn name_element(memory: &Memory, id: StorageId, byte: usize) -> String {
    let covers = Covers::new(memory.tensors(), id);
    let seen = covers.find_view(byte).and_then(|nth| {
        let name = &memory.tensors().get(nth)?.name;
        Some(format!("`{name}`{:?}", covers.find_coordinates(nth, byte)?))
    });
    seen.unwrap_or_else(|| format!("byte {byte} of `{}`", memory.name(id)))
}

/// A part of a storage in both memories.
struct Sides<'a> {
    id: StorageId,
    /// The first byte of the part. Elements are never in two parts.
    offset: usize,
    name: &'a str,
    left: &'a Memory,
    a: &'a [u8],
    b: &'a [u8],
    states: Option<&'a [ByteState]>,
    views: &'a [NamedTensor],
    tolerance: &'a dyn Tolerance,
}

fn compare_storage(result: &mut Comparison, sides: &Sides<'_>) {
    let Sides {
        id,
        offset,
        a,
        b,
        states,
        ..
    } = *sides;
    let covers = Covers::new(sides.views, id);
    let mut at = 0;
    // The end of the last element, which one that is seen through another view may overlap.
    let mut done = 0;
    while at < a.len() {
        let undefined = states.is_some_and(|states| states[at] == ByteState::Poison);
        if a[at] == b[at] || undefined && !is_planted(Fault::UndefinedCompared) {
            at += 1;
            continue;
        }
        let seen = covers.find_view(offset + at);
        let unwritten = states.is_some_and(|states| states[at] == ByteState::Uninit);
        let (start, size, dtype) = match seen.and_then(|nth| sides.views.get(nth)) {
            Some(NamedTensor { tensor, .. }) => {
                let size = tensor.element_size();
                (at / size * size, size, Some(tensor.dtype))
            }
            // Bytes that nothing shows come in words, so that a stray store of a pointer reads as one element.
            None => (at, (8 - at % 8).min(a.len() - at), None),
        };
        let around = at.saturating_sub(LARGEST - 1)..(at + LARGEST).min(b.len());
        let first_around = offset + around.start;
        let leaves = || !unwritten && sides.tolerance.can_leave(id, first_around, &b[around.clone()]);
        let left_by_another = !sides.tolerance.begins_with_bounds() && leaves();
        let (first, accepted) = if left_by_another {
            (start, Accepted::Exact)
        } else {
            let (first, accepted) = sides.tolerance.find_accepted(id, offset + at);
            (first.saturating_sub(offset), accepted)
        };
        // An acceptance knows where and as what the element was stored, which is better than any view's word.
        let (start, size, dtype) = match accepted {
            Accepted::Within { dtype, .. } => (first, dtype.size(), Some(dtype)),
            Accepted::Exact | Accepted::Unknown => (start, size, dtype),
        };
        let end = (start + size).min(a.len());
        let bits = [read_word(&a[start..end]), read_word(&b[start..end])];
        let nan = !unwritten
            && covers.find_dtypes(offset + at).any(|dtype| {
                let size = dtype.size();
                let start = at / size * size;
                a.get(start..start + size)
                    .zip(b.get(start..start + size))
                    .is_some_and(|(a, b)| {
                        let [a, b] = [a, b].map(|bytes| numeric::is_nan(dtype, read_word(bytes)));
                        a && b || (a || b) && is_planted(Fault::NanEqualsAnything)
                    })
            });
        let range = match accepted {
            Accepted::Within { low, high, .. } if !unwritten => Some([low, high]),
            _ => None,
        };
        // An order of programs may decide where something is written.
        let admitted = if left_by_another {
            Some(true)
        } else if unwritten && accepted != Accepted::Unknown {
            Some(is_planted(Fault::UnwrittenNotCompared))
        } else {
            accepted
                .check_bits(bits[1])
                .map(|inside| inside || range.is_some() && is_planted(Fault::AnyBoundAdmits))
                .or_else(|| (sides.tolerance.begins_with_bounds() && leaves()).then_some(true))
        };
        // Bytes that were counted as compared do not count if they are not judged.
        let whole = start.max(done)..end.max(at + 1).min(a.len());
        done = end.max(at + 1);
        let written = |byte: &usize| states.is_none_or(|states| states[*byte] == ByteState::Init);
        let unjudged = whole.filter(written).count() as u64;
        match admitted {
            _ if nan => {}
            Some(true) => {
                result.bytes.compared -= unjudged;
                result.bytes.accepted += unjudged;
            }
            None => {
                result.bytes.compared -= unjudged;
                result.bytes.undecided += unjudged;
                match result.undecided.last_mut() {
                    Some((last, span)) if *last == id && span.end >= offset + at => {
                        span.end = span.end.max(offset + done);
                    }
                    _ => result.undecided.push((id, offset + at.min(start)..offset + done)),
                }
            }
            Some(false) => {
                result.differing += 1;
                result.differ_at(id, offset + start..offset + end);
                if result.first.len() < MAX_KEPT_ELEMENTS {
                    let pointer = is_pointer(sides, offset + start, size);
                    result.first.push(Element {
                        storage: sides.name.to_owned(),
                        id,
                        zone: Zone::Inside,
                        byte: offset + start,
                        size: end - start,
                        dtype,
                        tensor: seen.and_then(|nth| {
                            Some((
                                sides.views.get(nth)?.name.clone(),
                                covers.find_coordinates(nth, offset + start)?,
                            ))
                        }),
                        bits,
                        values: bits.map(|bits| show(sides, dtype, bits, end - start, pointer)),
                        unwritten,
                        accepted: range,
                    });
                }
            }
        }
        at = end.max(at + 1);
    }
}

fn read_word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .take(8)
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Whether the case put an address there, or the reference left one there.
fn is_pointer(sides: &Sides<'_>, start: usize, size: usize) -> bool {
    size == 8
        && sides
            .left
            .pointers(sides.id)
            .iter()
            .any(|pointer| pointer.offset == start)
}

fn show(sides: &Sides<'_>, dtype: Option<DType>, bits: u64, size: usize, pointer: bool) -> String {
    if pointer && let Some(shown) = show_address(sides.left, sides.views, bits) {
        return shown;
    }
    match dtype {
        Some(dtype) => numeric::format(dtype, bits),
        None => format!("0x{bits:0width$x}", width = size * 2),
    }
}

/// An address as the tensor it points into and an offset in bytes.
fn show_address(memory: &Memory, views: &[NamedTensor], address: u64) -> Option<String> {
    let place = memory.find(address)?;
    let tensor = views
        .iter()
        .filter(|view| {
            view.tensor.storage == place.storage && view.tensor.byte_offset() as usize <= place.offset
        })
        .max_by_key(|view| view.tensor.byte_offset());
    let (name, from) = tensor.map_or((memory.name(place.storage), 0), |view| {
        (&view.name, view.tensor.byte_offset() as usize)
    });
    Some(format!("&{name} + {}", place.offset - from))
}

fn compare_guards(result: &mut Comparison, left: &Memory, right: &Memory, id: StorageId) {
    let (left_before, left_behind) = left.guards(id);
    let (right_before, right_behind) = right.guards(id);
    for (zone, a, b) in [
        (Zone::Before, left_before, right_before),
        (Zone::Behind, left_behind, right_behind),
    ] {
        // An engine may keep a smaller guard zone than the layout has; only that part is compared.
        let len = a.len().min(b.len());
        let mut at = 0;
        while at < len {
            if a[at] == b[at] {
                at += 1;
                continue;
            }
            let end = (at / 8 * 8 + 8).min(len);
            result.guards += 1;
            result.differing += 1;
            if result.first.len() < MAX_KEPT_ELEMENTS {
                let bits = [read_word(&a[at..end]), read_word(&b[at..end])];
                result.first.push(Element {
                    storage: left.name(id).to_owned(),
                    id,
                    zone,
                    byte: at,
                    size: end - at,
                    dtype: None,
                    tensor: None,
                    bits,
                    values: bits.map(|bits| format!("0x{bits:0width$x}", width = (end - at) * 2)),
                    unwritten: true,
                    accepted: None,
                });
            }
            at = end;
        }
    }
}
