//! The text of answers: bounded, with a mark where it is cut.

/// The maximum number of bytes of text about one finding, with its suggested edit.
pub const MAX_FINDING: usize = 2 << 10;

/// The maximum number of bytes of all text of an answer.
pub const MAX_ANSWER: usize = 48 << 10;

/// Printed at the end of a text that is cut.
const CUT: &str = "…\n";

/// A text of at most so many bytes, cut after a whole line.
pub fn cut_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(CUT.len());
    let end = (0..=room)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let kept = text.get(..end).unwrap_or_default();
    let line = kept.rfind('\n').map_or(end, |at| at + 1);
    format!("{}{CUT}", kept.get(..line).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, limit: usize, expected: &str) {
        let cut = cut_text(text, limit);
        assert_eq!(cut, expected);
        assert!(cut.len() <= limit);
    }

    #[test]
    fn texts_are_cut_after_lines() {
        check("one\ntwo\n", 8, "one\ntwo\n");
        check("one\ntwo\nthree\n", 13, "one\ntwo\n…\n");
        check("one long line", 9, "one l…\n");
        check("ééééé", 8, "éé…\n");
    }
}
