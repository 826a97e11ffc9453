//! Finds the valid spelling that is nearest to a misspelled word.

/// Maximum wrong letters of a word of any length.
const MAX_TYPOS: usize = 3;

/// The candidate that differs from `word` by typing errors: at most one letter in three is wrong, missing, superfluous,
/// or swapped with its neighbour. Case is ignored. The first of equally near candidates wins.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    find_closest(word, candidates, |candidate| {
        (length.max(candidate.chars().count()) / 3).min(MAX_TYPOS)
    })
}

/// The candidate with the fewest wrong letters, at most `allowed`. The first of equally near candidates wins.
pub fn nearest_within<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    allowed: usize,
) -> Option<&'a str> {
    find_closest(word, candidates, |_| allowed)
}

fn find_closest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    allowed: impl Fn(&str) -> usize,
) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, candidate)| distance <= allowed(candidate))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean …?", or the candidates themselves if there are few.
pub fn suggest_spelling<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(near) = find_nearest(word, candidates.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    match candidates.len() {
        1 => Some(format!("there is only {}", list(&candidates))),
        2..=24 => Some(format!("there are {}", list(&candidates))),
        _ => None,
    }
}

/// `a`, `b` and `c`, in backticks.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    let mut text = String::new();
    for (nth, word) in words.iter().enumerate() {
        if nth > 0 {
            text.push_str(if nth + 1 == words.len() { " and " } else { ", " });
        }
        text.push('`');
        text.push_str(word.as_ref());
        text.push('`');
    }
    text
}
#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(
            find_nearest(word, ["storages", "tensors", "launches", "f16", "f32", "bf16"]),
            expected,
            "{word}"
        );
    }

    #[test]
    fn a_typing_error_is_recognised_and_another_word_is_not() {
        check("storage", Some("storages"));
        check("tesnors", Some("tensors"));
        check("Launches", Some("launches"));
        check("f61", Some("f16"));
        check("bf61", Some("bf16"));
        check("grid", None);
        check("", None);
        assert_eq!(find_nearest("y", ["x", "n"]), None);
        assert_eq!(find_nearest("N", ["x", "n"]), Some("n"));
    }

    #[test]
    fn few_candidates_are_listed() {
        assert_eq!(
            suggest_spelling("zzz", ["a", "b", "c"]).as_deref(),
            Some("there are `a`, `b` and `c`")
        );
        assert_eq!(suggest_spelling("zzz", []), None);
    }
}
