//! Which quirks touch a case, against asking every one of them.

use std::path::Path;

use cerith_case::{Case, Corpus};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::{Rules, Version};

use super::is_copied_apart;
use crate::reference::Reference;

/// Finds the quirks that change the kernel's IR, by trying each one.
fn try_each_quirk(reference: &Reference, case: &Case, rules: Rules) -> Quirks {
    let kernels = |rules| {
        let of = case
            .launches
            .iter()
            .map(|launch| reference.rewrite_launch(launch, rules));
        of.collect::<Vec<_>>()
    };
    let unchanged = kernels(rules);
    let touches = |quirk: &Quirk| match quirk {
        Quirk::ArgumentsAreCopiedApart => case.launches.iter().any(is_copied_apart),
        &quirk => kernels(rules.with_quirks(Quirks::NONE.with_quirk(quirk))) != unchanged,
    };
    Quirk::ALL.iter().copied().filter(touches).collect()
}

#[track_caller]
fn check(reference: &Reference, case: &Case, version: Version) {
    let rules = Rules::from_version(version);
    let all = Quirk::ALL.iter().copied().collect();
    let found = reference.find_touching(case, rules, all);
    assert_eq!(
        found,
        try_each_quirk(reference, case, rules),
        "{} {version}",
        case.id
    );
}

#[test]
fn quirks_that_touch_a_case_are_those_that_change_it() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let (corpus, reference) = (Corpus::read(&cases).expect("a folder"), Reference::default());
    let mut of_float_arguments = 0;
    for (nth, entry) in corpus.entries().enumerate() {
        let arguments = entry.id.starts_with("scalar/float_argument");
        of_float_arguments += usize::from(arguments);
        if nth % 400 == 0 || arguments && of_float_arguments <= 8 {
            let case = entry.resolve().expect("a case");
            check(&reference, &case, Version::new(3, 2, 0));
            check(&reference, &case, Version::new(3, 9, 0));
        }
    }
    assert!(of_float_arguments > 0);
}
