//! The case format for people and for editors: the text that specifies it, and a JSON schema.
//!
//! The text is `FORMAT.md`, which is also this crate's first page, a chapter of the documentation and
//! `cerith help cases`. The schema is built from the same lists of keys and words as the reader of case files, and
//! its descriptions are the rows of the text's tables.
//!
//! A schema checks less than the reader: it can't check names, expressions, views and other files.

mod schema;

pub use self::schema::json_schema;

/// The specification, in Markdown.
pub const TEXT: &str = include_str!("../FORMAT.md");

/// The description of a key in a table of the text, in the section with this heading.
fn find_description(section: &str, key: &str) -> Option<&'static str> {
    let mut here = false;
    for line in TEXT.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            here = heading.trim_start_matches('#').trim().trim_matches('`') == section;
        }
        if !here {
            continue;
        }
        let Some((keys, about)) = parse_row(line) else {
            continue;
        };
        if keys.split(", ").any(|name| name.trim_matches('`') == key) {
            return Some(about);
        }
    }
    None
}

/// The two cells of a row of a table.
fn parse_row(line: &str) -> Option<(&str, &str)> {
    let (keys, about) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    Some((keys, about))
}
