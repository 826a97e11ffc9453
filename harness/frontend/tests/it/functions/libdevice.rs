//! Every function of `tl.extra.libdevice` with every dtype.

use super::{find_mismatches, read_golden};

#[test]
fn libdevice_of_3_9() {
    let setup = include_str!("../../golden/libdevice.txt")
        .lines()
        .filter(|line| line.starts_with("    "))
        .fold(String::new(), |text, line| text + line + "\n");
    let golden = read_golden(include_str!("../../golden/libdevice_3.9.0.json"), "{}");
    assert!(golden.len() > 1_400, "{} expressions", golden.len());
    let wrong = find_mismatches(&setup, &golden, "3.9.0");
    // The one function that the reference does not know.
    let (unknown, wrong): (Vec<&String>, Vec<&String>) = wrong
        .iter()
        .partition(|text| text.starts_with("libdevice.rcp64h("));
    assert_eq!(wrong, Vec::<&String>::new());
    assert!(!unknown.is_empty());
}
