//! Names and texts from outside on one line: control characters, and marks that reorder or hide text, as numbers.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text of one line.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    replace(text, |c| is_unsafe(c) || matches!(c, '\n' | '\r' | '\t'))
}

/// Control characters, marks that reorder text or hide in it, and the two characters that XML does not allow.
pub const fn is_unsafe(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(
            c,
            '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{fff9}'..='\u{fffb}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Writes each unwanted character as its number: `\u{1b}`.
pub fn replace(text: &str, unwanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&unwanted) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if unwanted(c) {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}
