//! Phrases for counts of bytes, and for bytes that a trial did not compare.

use std::fmt::Write as _;

use crate::event::{Bytes, Undefined};

/// How many bytes were judged, accepted, undecided and undefined, on one line.
pub fn in_words(bytes: Bytes) -> String {
    let mut text = format!("{} bytes compared", bytes.compared);
    for (count, what) in [
        (bytes.accepted, "with other bits accepted"),
        (bytes.undecided, "undecided"),
        (bytes.undefined, "left out as undefined"),
    ] {
        if count > 0 {
            // Writing to a string does not fail.
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}

/// The bytes that were not compared, a line for each storage.
pub fn left_out(left_out: &[Undefined]) -> Vec<String> {
    left_out
        .iter()
        .map(|one| {
            let Undefined {
                storage,
                bytes,
                of,
                whole,
            } = one;
            let whole = match whole.as_slice() {
                [] => String::new(),
                [tensor] => format!(": nothing of `{tensor}` was compared"),
                tensors => format!(": nothing of `{}` was compared", tensors.join("`, `")),
            };
            format!("left out of `{storage}`: {bytes} of {of} bytes, which have no defined value{whole}")
        })
        .collect()
}
