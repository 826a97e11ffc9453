//! Laws of every kernel: what models make of it verifies and can be prepared, and following nothing changes nothing.

use cerith_gen::program::Program;
use cerith_quirk::follow;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(500),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_models_make_verifies(
        bytes in proptest::collection::vec(any::<u8>(), 0..7 * 30),
        chosen in any::<u64>(),
        minor in 0u16..10,
    ) {
        let function = Program::of(&bytes).function();
        let quirks: Quirks = Quirk::ALL
            .iter()
            .copied()
            .filter(|&quirk| chosen >> (quirk as u8) & 1 == 1)
            .collect();
        prop_assert_eq!(follow(&function, Quirks::NONE, Version::new(3, minor, 0)), None);
        if let Some(followed) = follow(&function, quirks, Version::new(3, minor, 0)) {
            if let Err(error) = followed.verify() {
                return Err(TestCaseError::fail(format!("{quirks:?}: {error}\n{followed}")));
            }
            prop_assert!(cerith_interp::Program::prepare(followed).is_ok());
        }
    }
}
