use cerith_tile::DType;
use proptest::prelude::*;

use super::ByteState::{Init, Uninit};
use super::*;

fn of_sizes(sizes: &[u64]) -> Memory {
    let mut storages = Storages::new();
    for (nth, &size) in sizes.iter().enumerate() {
        storages.add(format!("s{nth}"), size).expect("a small storage");
    }
    Memory::new(&storages, Vec::new())
}

#[test]
fn every_address_is_a_byte_a_guard_zone_or_outside() {
    let memory = of_sizes(&[10, 0, 512]);
    let first = memory.address(StorageId(0));
    let at = |offset: i64, len| memory.resolve_access(first.wrapping_add_signed(offset), len);
    let place = |offset| {
        Ok(StorageByte {
            storage: StorageId(0),
            offset,
        })
    };
    assert_eq!(at(0, 10), place(0));
    assert_eq!(at(9, 1), place(9));
    assert_eq!(at(9, 0), place(9));
    assert_eq!(
        at(8, 4),
        Err(Fault::Straddles {
            storage: StorageId(0),
            offset: 8,
            inside: 2
        })
    );
    assert_eq!(
        at(10, 0),
        Err(Fault::Behind {
            storage: StorageId(0),
            distance: 0
        })
    );
    assert_eq!(
        at(13, 1),
        Err(Fault::Behind {
            storage: StorageId(0),
            distance: 3
        })
    );
    assert_eq!(
        at(-1, 4),
        Err(Fault::Before {
            storage: StorageId(0),
            distance: 1
        })
    );
    assert_eq!(
        at(-(GUARD as i64), 1),
        Err(Fault::Before {
            storage: StorageId(0),
            distance: GUARD as u64
        })
    );
    assert_eq!(at(-(GUARD as i64) - 1, 1), Err(Fault::Outside));
    assert_eq!(
        at(0, usize::MAX),
        Err(Fault::Straddles {
            storage: StorageId(0),
            offset: 0,
            inside: 10
        })
    );
    for address in [
        0,
        16,
        u64::MAX,
        ORIGIN - 1,
        ORIGIN + memory.arena().0.len() as u64,
    ] {
        assert_eq!(
            memory.resolve_access(address, 1),
            Err(Fault::Outside),
            "{address:#x}"
        );
    }
    assert_eq!(
        memory.resolve_access(memory.address(StorageId(1)), 1),
        Err(Fault::Behind {
            storage: StorageId(1),
            distance: 0
        })
    );
    assert_eq!(
        Memory::new(&Storages::new(), Vec::new()).resolve_access(ORIGIN, 1),
        Err(Fault::Outside)
    );
}

#[test]
fn ids_of_another_memory_have_no_bytes() {
    let mut memory = of_sizes(&[4]);
    let other = StorageId(7);
    assert_eq!(
        (memory.address(other), memory.size(other), memory.name(other)),
        (0, 0, "")
    );
    assert_eq!(
        (memory.bytes(other), memory.states(other), memory.guards(other)),
        (&[][..], &[][..], (&[][..], &[][..]))
    );
    assert!(memory.parts_mut(other).0.is_empty());
}

#[test]
fn contents_states_and_addresses_arrive_where_they_were_promised() {
    let mut storages = Storages::new();
    let data = storages.allocate("data", DType::I16, &[3]).expect("small");
    let table = storages.allocate("table", DType::I64, &[2]).expect("small");
    assert!(storages.write(data.storage, 2, &[1, 2]));
    assert!(storages.write_pointer(table.storage, 8, data.storage, 2));
    let memory = Memory::new(&storages, Vec::new());
    for id in memory.ids() {
        assert_eq!(memory.address(id), storages.address(id));
        assert_eq!(memory.address(id) % ALIGNMENT as u64, 0);
        assert_eq!(memory.bytes(id), storages.get(id).expect("known").bytes());
        let (before, behind) = memory.guards(id);
        assert!(before.len() >= GUARD && behind.len() >= GUARD);
        assert!(before.iter().chain(behind).all(|&byte| byte == GUARD_BYTE));
    }
    assert_eq!(
        memory.states(data.storage),
        [Uninit, Uninit, Init, Init, Uninit, Uninit]
    );
    let stored = u64::from_le_bytes(memory.bytes(table.storage)[8..].try_into().expect("eight bytes"));
    assert_eq!(
        memory.resolve_access(stored, 2),
        Ok(StorageByte {
            storage: data.storage,
            offset: 2
        })
    );
    assert_eq!(
        memory.pointers(table.storage),
        [Pointer {
            offset: 8,
            target: data.storage,
            target_offset: 2
        }]
    );
}

#[test]
fn an_address_that_is_overwritten_is_none_any_more() {
    let mut storages = Storages::new();
    let table = storages.allocate("table", DType::I64, &[3]).expect("small");
    let id = table.storage;
    for at in [16, 0, 8] {
        assert!(storages.write_pointer(id, at, id, 0));
    }
    assert!(storages.write(id, 15, &[0]));
    let offsets = |storages: &Storages| -> Vec<usize> {
        storages
            .get(id)
            .expect("known")
            .pointers()
            .iter()
            .map(|pointer| pointer.offset)
            .collect()
    };
    assert_eq!(offsets(&storages), [0, 16]);
    assert!(
        storages.write_pointer(id, 4, id, 0),
        "an unaligned address is a pointer too"
    );
    assert_eq!(offsets(&storages), [4, 16]);
    assert!(!storages.write_pointer(id, 17, id, 0), "it does not fit");
    assert!(!storages.write_pointer(id, 0, StorageId(9), 0), "no such storage");
    assert_eq!(offsets(&storages), [4, 16]);
}

#[test]
fn a_byte_is_named_by_every_tensor_that_covers_it() {
    let mut storages = Storages::new();
    let x = storages.allocate("x", DType::F32, &[4, 6]).expect("small");
    let named = |name: &str, tensor| NamedTensor {
        name: name.to_owned(),
        tensor,
    };
    let right = x.narrow(1, 2, 4).expect("in range");
    let memory = Memory::new(&storages, vec![named("x", x.clone()), named("right", right)]);
    let names = |offset| -> Vec<String> {
        let place = StorageByte {
            storage: x.storage,
            offset,
        };
        memory
            .tensors_at(place)
            .map(|(named, index)| format!("{}{:?}", named.name, &index[..]))
            .collect()
    };
    assert_eq!(names(0), ["x[0, 0]"]);
    assert_eq!(names(4 * 9 + 3), ["x[1, 3]", "right[1, 1]"]);
    assert!(names(4 * 24).is_empty());
}

#[test]
fn storages_that_are_too_large_together_are_refused() {
    let mut storages = Storages::new();
    assert!(storages.add("half", crate::MAX_BYTES / 2).is_ok());
    let error = storages
        .add("rest", crate::MAX_BYTES / 2 + 1)
        .expect_err("too large");
    assert_eq!(
        error.to_string(),
        "storage `rest` of 134217729 bytes brings the case to more than 268435456 bytes"
    );
    assert!(storages.add("huge", u64::MAX).is_err());
    assert_eq!(storages.len(), 1);
}

proptest! {
    #[test]
    fn an_access_is_found_exactly_where_the_layout_has_it(
        sizes in prop::collection::vec(0u64..1100, 0..5),
        at in 0u64..9000,
        len in 0usize..1200,
    ) {
        let memory = of_sizes(&sizes);
        let address = (ORIGIN - 200) + at;
        let mut expected = None;
        for id in memory.ids() {
            let (start, size) = (memory.address(id), memory.size(id) as u64);
            if address >= start && address < start + size && len as u64 <= start + size - address {
                expected = Some(StorageByte { storage: id, offset: (address - start) as usize });
            }
        }
        prop_assert_eq!(memory.resolve_access(address, len).ok(), expected);
    }

    #[test]
    fn restored_memory_is_as_it_was(byte in 0usize..64, value in any::<u8>()) {
        let original = of_sizes(&[64]);
        let mut memory = original.clone();
        let (bytes, states) = memory.parts_mut(StorageId(0));
        bytes[byte] = value;
        states[byte] = Init;
        memory.restore(&original);
        prop_assert_eq!(memory, original);
    }
}
