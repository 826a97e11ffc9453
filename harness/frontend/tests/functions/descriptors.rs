//! Block pointers and tensor descriptors, version by version.

use super::{golden, mismatches};

/// Where the reference knowingly says something else than a version's compiler.
const DEVIATIONS: [(&str, &str); 0] = [];

fn check(version: &str, changes: &str) {
    let golden = golden(include_str!("../golden/descriptors_3.9.0.json"), changes);
    assert!(golden.len() > 190, "{} expressions", golden.len());
    let wrong = mismatches("", &golden, version);
    let wrong: Vec<&String> = wrong
        .iter()
        .filter(|text| !DEVIATIONS.iter().any(|(expression, _)| text.starts_with(expression)))
        .collect();
    assert!(wrong.is_empty(), "{version}: {wrong:#?}");
}

#[test]
fn descriptors_of_3_9() {
    check("3.9.0", "{}");
}

#[test]
fn descriptors_and_block_pointers_of_3_8() {
    check("3.8.0", include_str!("../golden/descriptors_3.8.0.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_7() {
    check("3.7.1", include_str!("../golden/descriptors_3.7.1.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_6() {
    check("3.6.0", include_str!("../golden/descriptors_3.6.0.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_5() {
    check("3.5.1", include_str!("../golden/descriptors_3.5.1.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_4() {
    check("3.4.0", include_str!("../golden/descriptors_3.4.0.json"));
}

#[test]
fn block_pointers_of_3_3() {
    check("3.3.1", include_str!("../golden/descriptors_3.3.1.json"));
}

#[test]
fn block_pointers_of_3_2() {
    check("3.2.0", include_str!("../golden/descriptors_3.2.0.json"));
}

#[test]
fn block_pointers_of_3_1() {
    check("3.1.0", include_str!("../golden/descriptors_3.1.0.json"));
}

#[test]
fn block_pointers_of_3_0() {
    check("3.0.0", include_str!("../golden/descriptors_3.0.0.json"));
}
