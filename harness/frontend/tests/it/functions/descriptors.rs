//! Block pointers and tensor descriptors, version by version.

use super::{find_mismatches, read_golden};

/// Known differences between the reference and a version's compiler.
const DEVIATIONS: [(&str, &str); 7] = [
    (
        "tl.zeros((8,), tl.make_block_ptr(ph, (s,), (1,), (0,), (8,), (0,)).dtype.element_ty)",
        "a block's type is not a dtype until 3.7; the reference takes its element's",
    ),
    (
        "tl.load(tl.make_block_ptr(pf, (s,), (1,), (0,), (0,), (0,)))",
        "until 3.7 a block of no elements gets past this stage of the compiler",
    ),
    (
        "tl.make_tensor_descriptor(pf, [s, s], [w, 1], [0, 8]).load([0, 0])",
        "until 3.7 a block of no elements gets past this stage of the compiler",
    ),
    (
        "tl.load(tl.advance(tl.make_block_ptr(pf, (s,), (1,), (0,), (8,), (0,)), (8, 0)))",
        "until 3.7 the offsets are not counted",
    ),
    (
        "tl.load(tl.make_block_ptr(pf, (s,), (1,), (True,), (8,), (0,)))",
        "until 3.3 a bool is an offset",
    ),
    (
        "tl.zeros(tl.make_tensor_descriptor(ph, [s, 16], [w, 1], [4, 8]).block_shape, tl.int32)",
        "until 3.7 it is a Python list, which a function of Triton's cannot take",
    ),
    (
        "tl.make_tensor_descriptor(pf, [s], [1], [8]).atomic_add([0], tl.zeros((8,), tl.float16))",
        "until 3.6 the value's dtype is not checked",
    ),
];

fn check(version: &str, changes: &str) {
    let golden = read_golden(include_str!("../../golden/descriptors_3.9.0.json"), changes);
    assert!(golden.len() > 190, "{} expressions", golden.len());
    let wrong = find_mismatches("", &golden, version);
    let wrong: Vec<&String> = wrong
        .iter()
        .filter(|text| {
            !DEVIATIONS
                .iter()
                .any(|(expression, _)| text.starts_with(expression))
        })
        .collect();
    assert!(wrong.is_empty(), "{version}: {wrong:#?}");
}

#[test]
fn descriptors_of_3_9() {
    check("3.9.0", "{}");
}

#[test]
fn descriptors_and_block_pointers_of_3_8() {
    check("3.8.0", include_str!("../../golden/descriptors_3.8.0.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_7() {
    check("3.7.1", include_str!("../../golden/descriptors_3.7.1.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_6() {
    check("3.6.0", include_str!("../../golden/descriptors_3.6.0.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_5() {
    check("3.5.1", include_str!("../../golden/descriptors_3.5.1.json"));
}

#[test]
fn descriptors_and_block_pointers_of_3_4() {
    check("3.4.0", include_str!("../../golden/descriptors_3.4.0.json"));
}

#[test]
fn block_pointers_of_3_3() {
    check("3.3.1", include_str!("../../golden/descriptors_3.3.1.json"));
}

#[test]
fn block_pointers_of_3_2() {
    check("3.2.0", include_str!("../../golden/descriptors_3.2.0.json"));
}

#[test]
fn block_pointers_of_3_1() {
    check("3.1.0", include_str!("../../golden/descriptors_3.1.0.json"));
}

#[test]
fn block_pointers_of_3_0() {
    check("3.0.0", include_str!("../../golden/descriptors_3.0.0.json"));
}
