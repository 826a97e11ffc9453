//! The shadow against a model that keeps every access, byte by byte.

use super::*;
use proptest::prelude::*;

const BYTES: usize = 160;

/// A model of the shadow, byte by byte: all writers in order, and all readers.
#[derive(Default)]
struct Model {
    writers: Vec<Vec<u32>>,
    readers: Vec<Vec<u32>>,
}

impl Model {
    fn record_access(&mut self, me: u32, from: usize, len: usize, store: Option<bool>) -> bool {
        for at in from..from + len {
            let other_is_last = self.writers[at].last().is_some_and(|&w| w != me);
            let other_wrote = self.writers[at].iter().any(|&w| w != me);
            let other_read = self.readers[at].iter().any(|&r| r != me);
            match store {
                None if other_is_last => return false,
                None => self.readers[at].push(me),
                // Writing another program's value again is a store of the old value.
                Some(true) if other_is_last && other_read => return false,
                Some(true) if other_is_last => self.writers[at].push(me),
                // A store of the old value counts as a load, unless the program wrote that value itself.
                Some(true) if self.writers[at].is_empty() => self.readers[at].push(me),
                Some(true) => {}
                Some(false) if other_read || other_wrote => return false,
                Some(false) => self.writers[at].push(me),
            }
        }
        true
    }
}

proptest! {
    #[test]
    fn a_shadow_says_what_a_byte_by_byte_model_says(
        accesses in proptest::collection::vec(
            (0usize..BYTES, 1usize..100, 0u8..8, any::<bool>()), 1..40
        ),
        launches in 1usize..3,
    ) {
        let mut shadow = Shadow::default();
        for _ in 0..launches {
            shadow.begin(BYTES, 40);
            let mut model = Model { writers: vec![Vec::new(); BYTES], readers: vec![Vec::new(); BYTES] };
            let mut me = 0;
            for &(from, len, kind, next) in &accesses {
                if next {
                    me += 1;
                    shadow.enter(me);
                }
                let len = len.min(BYTES - from);
                let arena = [0; BYTES];
                let old = &arena[from..from + len];
                let value = u8::from(kind < 6);
                // Runs of elements 12 bytes apart, and long accesses.
                let elements = 1 + len / 12;
                let start = from / 4 * 4;
                let strided = kind % 2 == 0 && start + elements * 12 <= BYTES;
                let store = (kind / 2 >= 2).then_some(value == 0);
                let got = match (kind / 2 < 2, strided) {
                    (true, true) => shadow.load_elements(start, 4, 12, elements, false),
                    (true, false) => shadow.load(from, len, false),
                    (false, true) => shadow.store_elements(start, 4, 12, &arena, &vec![value; 4 * elements]),
                    (false, false) => shadow.store(from, old, &vec![value; len]),
                };
                let expected = if strided {
                    (0..elements).all(|nth| model.record_access(me as u32, start + nth * 12, 4, store))
                } else {
                    model.record_access(me as u32, from, len, store)
                };
                prop_assert_eq!(got.is_ok(), expected);
                if !expected {
                    break;
                }
            }
        }
    }
}
