//! The codes of findings, and the page of each (`docs/findings.md`).

use cerith_python::nearest::nearest_within;

/// A section for each code.
const PAGES: &str = include_str!("../../../docs/findings.md");

/// The most wrong letters of a misspelt code.
const MAX_WRONG: usize = 3;

/// The codes with their pages, in the order of the document.
fn list_pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES.split("\n### `").skip(1).filter_map(|section| {
        let (code, text) = section.split_once("`\n")?;
        // The heading of the next group is not part of the page.
        let text = text.split("\n## ").next().unwrap_or_default();
        Some((code, text.trim()))
    })
}

/// Whether findings may have this code.
pub fn is_known(code: &str) -> bool {
    find_page(code).is_some()
}

/// The page of a code.
pub fn find_page(code: &str) -> Option<&'static str> {
    list_pages()
        .find(|(known, _)| *known == code)
        .map(|(_, text)| text)
}

/// All codes, in the order of the document.
pub fn list_codes() -> impl Iterator<Item = &'static str> {
    list_pages().map(|(code, _)| code)
}

/// "did you mean …?", if a code is close to a word.
pub fn suggest(word: &str) -> Option<String> {
    let near = nearest_within(word, list_codes(), MAX_WRONG);
    near.map(|near| format!("did you mean `{near}`?"))
}
