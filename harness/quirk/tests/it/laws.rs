//! Laws of every kernel: rewritten kernels verify and can be prepared, and no quirks change nothing.

use cerith_gen::program::Program;
use cerith_quirk::{find_quirks, follow, follow_alternative, list_alternatives, without_values};
use cerith_tile::quirk::signature::Form;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Version;
use proptest::prelude::*;

/// The quirks whose bits are set.
fn chosen_of(chosen: u64) -> Quirks {
    let all = Quirk::ALL.iter().copied();
    all.filter(|&quirk| chosen >> (quirk as u8) & 1 == 1).collect()
}

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
        let function = Program::from_bytes(&bytes).function();
        let quirks = chosen_of(chosen);
        prop_assert_eq!(follow(&function, Quirks::NONE, Version::new(3, minor, 0)), None);
        if let Some(followed) = follow(&function, quirks, Version::new(3, minor, 0)) {
            if let Err(error) = followed.verify() {
                return Err(TestCaseError::fail(format!("{quirks:?}: {error}\n{followed}")));
            }
            prop_assert!(cerith_interp::Program::prepare(followed).is_ok());
        }
    }

    #[test]
    fn what_models_of_lanes_make_verifies(
        bytes in proptest::collection::vec(any::<u8>(), 0..7 * 30),
        old in any::<bool>(),
        form in prop_oneof![Just(Form::ScanOfFewLanes), Just(Form::ReductionOfReshaped)],
    ) {
        let function = Program::from_bytes(&bytes).function();
        let version = Version::new(3, if old { 2 } else { 6 }, 0);
        let alternatives = list_alternatives(&function, form, 128, version);
        let of_alternatives = alternatives
            .iter()
            .step_by(7)
            .flat_map(|alternative| follow_alternative(&function, form, 128, alternative));
        for followed in of_alternatives.chain(without_values(&function, form, 128)) {
            if let Err(error) = followed.verify() {
                return Err(TestCaseError::fail(format!("{form:?}: {error}\n{followed}")));
            }
            prop_assert!(cerith_interp::Program::prepare(followed).is_ok());
        }
    }

    #[test]
    fn quirks_that_are_not_asked_for_change_nothing(
        bytes in proptest::collection::vec(any::<u8>(), 0..7 * 30),
        chosen in any::<u64>(),
        minor in 0u16..10,
    ) {
        let version = Version::new(3, minor, 0);
        let function = Program::from_bytes(&bytes).function();
        let quirks = chosen_of(chosen);
        let asked = find_quirks(&function, quirks, version);
        let followed = follow(&function, quirks, version);
        for &quirk in Quirk::ALL.iter().filter(|&&quirk| !asked.has(quirk)) {
            prop_assert_eq!(&follow(&function, quirks.with_quirk(quirk), version), &followed, "{}", quirk);
        }
    }
}
