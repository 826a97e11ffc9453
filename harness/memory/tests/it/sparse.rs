//! Sparse storages: their contents, their pages, and their limits.

use std::sync::Arc;

use cerith_memory::{
    ByteState, Content, Fault, GUARD, MAX_BYTES, MAX_RESIDENT_BYTES, MAX_SPARSE_BYTES, Memory, ORIGIN, PAGE,
    Rule, StorageId, Storages, TooManyPages,
};

/// Each byte is its offset, without the higher digits.
#[derive(Debug)]
struct Offsets;

impl Rule for Offsets {
    fn write(&self, offset: u64, bytes: &mut [u8], states: &mut [ByteState]) {
        for (byte, at) in bytes.iter_mut().zip(offset..) {
            *byte = (at % 251) as u8;
        }
        states.fill(ByteState::Init);
    }

    fn describe(&self) -> String {
        "offsets".to_owned()
    }
}

const TERABYTE: u64 = 1 << 40;

/// A storage of 8 bytes, a sparse one of `bytes`, and another one of 8 bytes.
fn build(bytes: u64) -> Memory {
    let mut storages = Storages::new();
    storages.add("x", 8).expect("room");
    let id = storages.add_sparse("big", bytes).expect("room");
    assert!(storages.set_content(id, Content::new(Arc::new(Offsets))));
    storages.add("y", 8).expect("room");
    Memory::new(&storages, Vec::new())
}

const BIG: StorageId = StorageId(1);

#[test]
fn every_byte_has_an_address_and_its_content() {
    let mut memory = build(TERABYTE + 3);
    let end = memory.arena().0.len();
    let start = memory.address(BIG);
    for offset in [
        0,
        1,
        PAGE as u64 - 1,
        PAGE as u64,
        1 << 31,
        TERABYTE,
        TERABYTE + 2,
    ] {
        let address = start + offset;
        let place = memory.find(address).expect("a byte");
        assert_eq!((place.storage, place.offset as u64), (BIG, offset));
        let expected = (offset % 251) as u8;
        let part = memory.read(BIG, place.offset..place.offset + 1).expect("inside");
        assert_eq!(
            (&*part.bytes, &*part.states),
            (&[expected][..], &[ByteState::Init][..])
        );
        memory.make_resident(address).expect("room");
        let index = memory.index_of(address).expect("resident");
        assert_eq!(
            (memory.arena().0[index], memory.address_at(index)),
            (expected, address)
        );
        let page = memory.page_around(address).expect("sparse");
        assert!(page.contains(&address) && page.end <= start + TERABYTE + 3);
    }
    assert_eq!(memory.resident_bytes(), memory.arena().0.len() - end);
    assert_eq!(memory.index_of(start + (1 << 32)), None);
    // Behind the end and before the start.
    let beyond = memory.resolve_access(start + TERABYTE + 3, 1);
    assert_eq!(
        beyond,
        Err(Fault::Behind {
            storage: BIG,
            distance: 0
        })
    );
    let before = memory.resolve_access(start - 2, 1);
    assert_eq!(
        before,
        Err(Fault::Before {
            storage: BIG,
            distance: 2
        })
    );
    assert_eq!(
        memory.resolve_access(start - GUARD as u64 - 1, 1),
        Err(Fault::Outside)
    );
    let straddling = memory.resolve_access(start + TERABYTE, 8);
    assert_eq!(
        straddling,
        Err(Fault::Straddles {
            storage: BIG,
            offset: TERABYTE as usize,
            inside: 3
        })
    );
    assert_eq!(
        memory.find(ORIGIN + GUARD as u64).map(|place| place.storage),
        Some(StorageId(0))
    );
    assert!(memory.bytes(BIG).is_empty() && memory.parts_mut(BIG).0.is_empty());
}

#[test]
fn a_part_may_span_pages() {
    let mut memory = build(3 * PAGE as u64 - 5);
    memory
        .make_resident(memory.address(BIG) + PAGE as u64)
        .expect("room");
    let part = memory.read(BIG, PAGE - 3..2 * PAGE + 2).expect("inside");
    let expected: Vec<u8> = (PAGE - 3..2 * PAGE + 2).map(|at| (at % 251) as u8).collect();
    assert_eq!((part.offset, &*part.bytes), (PAGE - 3, &*expected));
    assert_eq!(memory.read(BIG, 3 * PAGE - 6..3 * PAGE - 4), None);
    let pages: Vec<_> = memory.parts(BIG).map(|part| part.range()).collect();
    assert_eq!((pages.len(), &pages[0]), (1, &(PAGE..2 * PAGE)));
    assert_eq!(memory.part_mut(BIG, PAGE - 1..PAGE + 1), Ok(None));
}

#[test]
fn pages_that_only_one_side_has_are_compared_with_the_first_content() {
    let first = build(TERABYTE);
    let mut other = first.clone();
    let address = first.address(BIG) + (1 << 33);
    other.make_resident(address).expect("room");
    assert!(first.has_same(&other, BIG) && other.has_same(&first, BIG) && first == other);
    let (bytes, _) = other
        .part_mut(BIG, 1 << 33..(1 << 33) + 1)
        .expect("room")
        .expect("inside");
    bytes[0] ^= 1;
    assert!(!first.has_same(&other, BIG) && !other.has_same(&first, BIG) && first != other);
    assert_eq!(first.pair_parts(&other, BIG).count(), 1);
    let mut restored = other.clone();
    restored.restore(&first);
    assert!(restored == first && restored.resident_bytes() == 0);
    assert_eq!(restored.index_of(address), None);
}

#[test]
fn storages_have_limits() {
    let mut storages = Storages::new();
    let error = storages.add("x", MAX_BYTES + 1).expect_err("too large");
    assert_eq!(
        error.to_string(),
        "storage `x` of 268435457 bytes brings the case to more than 268435456 bytes"
    );
    for bytes in [MAX_SPARSE_BYTES + 1, u64::MAX] {
        storages.add_sparse("x", bytes).expect_err("too large");
    }
    storages.add_sparse("x", MAX_SPARSE_BYTES).expect("room");
    let error = storages.add_sparse("y", 1).expect_err("too large together");
    assert_eq!(
        error.to_string(),
        "storage `y` of 1 bytes brings the case to more than 140737488355328 bytes"
    );
    assert!(!storages.write(StorageId(0), 0, &[1]));
    assert!(!storages.write_pointer(StorageId(0), 0, StorageId(0), 0));
    let mut memory = Memory::new(&storages, Vec::new());
    let start = memory.address(StorageId(0));
    assert!(start + MAX_SPARSE_BYTES < i64::MAX as u64);
    let pages = MAX_RESIDENT_BYTES / PAGE as u64;
    for page in 0..pages {
        assert_eq!(memory.make_resident(start + page * (1 << 31)), Ok(true));
    }
    assert_eq!(memory.make_resident(start), Ok(false));
    assert_eq!(
        memory.make_resident(start + MAX_SPARSE_BYTES - 1),
        Err(TooManyPages)
    );
    // Outside of storages there is nothing to do.
    assert_eq!(memory.make_resident(start + MAX_SPARSE_BYTES), Ok(false));
}

#[test]
fn sparse_storages_of_a_set_have_the_same_addresses_and_content() {
    let mut storages = Storages::new();
    let x = storages.add("x", 10_000).expect("room");
    let y = storages.add("y", 3).expect("room");
    storages.write(x, 5000, &[7; 100]);
    storages.write_pointer(x, 8, y, 1);
    let (dense, mut sparse) = [storages.clone(), storages.to_sparse()]
        .map(|storages| Memory::new(&storages, Vec::new()))
        .into();
    for id in [x, y] {
        assert_eq!(dense.address(id), sparse.address(id));
        assert_eq!(dense.pointers(id), sparse.pointers(id));
        assert!(dense.has_same(&sparse, id) && sparse.has_same(&dense, id));
    }
    let (bytes, _) = sparse.part_mut(x, 5001..5002).expect("room").expect("inside");
    bytes[0] = 0;
    assert!(!dense.has_same(&sparse, x) && !sparse.has_same(&dense, x));
}
