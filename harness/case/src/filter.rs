//! Selects cases of a corpus by patterns over ids.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};

/// Patterns for a case's id, at least one of which must match. Without patterns, everything matches.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    patterns: Vec<Pattern>,
}

/// `path` or `path:condition,condition`.
#[derive(Clone, Debug)]
struct Pattern {
    /// The id or the path as given. An id always matches itself, even if it contains special characters of globs.
    literal: String,
    path: GlobMatcher,
    conditions: Vec<GlobMatcher>,
}

/// The text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {reason}")]
pub struct BadPattern {
    /// The text as given.
    pub pattern: String,
    /// The error in it.
    pub reason: String,
}

impl Filter {
    /// Reads patterns. `root` is the corpus as a user would write it: a path may begin with it, as when a shell
    /// completes it.
    ///
    /// The part before `:` is a glob for the path or for any folder that the case is in. The parts after it are globs
    /// for `variable=value`, all of which must match one.
    pub fn parse<S: AsRef<str>>(patterns: &[S], root: &str) -> Result<Self, BadPattern> {
        let patterns = patterns
            .iter()
            .map(|text| Pattern::parse(text.as_ref(), root))
            .collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// Whether a case of this id is meant.
    pub fn matches(&self, id: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id))
    }

    /// Whether a case of the file with this id may be meant.
    pub(crate) fn may_match_file(&self, file: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches_path(file))
    }
}

impl Pattern {
    fn parse(text: &str, root: &str) -> Result<Self, BadPattern> {
        let bad = |reason: String| BadPattern {
            pattern: text.to_owned(),
            reason,
        };
        let (path, conditions) = match text.split_once(':') {
            Some((path, conditions)) => (path, Some(conditions)),
            None => (text, None),
        };
        let path = strip_root(path, root).trim_end_matches('/');
        let path = path
            .strip_suffix(".yaml")
            .or_else(|| path.strip_suffix(".yml"))
            .unwrap_or(path);
        if path.is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        let glob = |text: &str| {
            GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .map(|glob| glob.compile_matcher())
                .map_err(|error| bad(error.kind().to_string()))
        };
        let literal = conditions.map_or_else(|| path.to_owned(), |text| format!("{path}:{text}"));
        let conditions = match conditions {
            None => Vec::new(),
            Some(conditions) => split_conditions(conditions)
                .into_iter()
                .map(glob)
                .collect::<Result<_, _>>()?,
        };
        Ok(Self {
            literal,
            path: glob(path)?,
            conditions,
        })
    }

    fn matches_path(&self, path: &str) -> bool {
        let named = self.literal.split(':').next();
        if named == Some(path) {
            return true;
        }
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter()
            .any(|end| path.get(..end).is_some_and(|folder| self.path.is_match(folder)))
    }

    fn matches(&self, id: &str) -> bool {
        if self.literal == id {
            return true;
        }
        let (path, labels) = id.split_once(':').unwrap_or((id, ""));
        self.matches_path(path)
            && self
                .conditions
                .iter()
                .all(|condition| labels.split(',').any(|label| condition.is_match(label)))
    }
}

/// A path relative to the corpus: without the corpus itself in front.
pub(crate) fn strip_root<'a>(path: &'a str, root: &str) -> &'a str {
    let path = path.strip_prefix("./").unwrap_or(path);
    let root = root.strip_prefix("./").unwrap_or(root).trim_end_matches('/');
    match path.strip_prefix(root).filter(|_| !root.is_empty()) {
        Some("" | "/") => "**",
        Some(rest) => rest.strip_prefix('/').unwrap_or(path),
        None => path,
    }
}

/// The first of a pattern's conditions that no label meets.
pub(crate) fn find_unmet<'a>(conditions: &'a str, labels: &BTreeSet<&str>) -> Option<&'a str> {
    split_conditions(conditions).into_iter().find(|condition| {
        let glob = GlobBuilder::new(condition).literal_separator(true).build();
        glob.is_ok_and(|glob| {
            let glob = glob.compile_matcher();
            !labels.iter().any(|label| glob.is_match(label))
        })
    })
}

/// Splits at commas that are not inside of `{a,b}`.
fn split_conditions(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, id: &str, expected: bool) {
        let filter = Filter::parse(&[pattern], "cases").expect(pattern);
        assert_eq!(filter.matches(id), expected, "{pattern} {id}");
        let file = id.split(':').next().unwrap_or_default();
        assert!(filter.may_match_file(file) || !expected, "{pattern} {file}");
    }

    #[test]
    fn a_pattern_names_areas_files_and_points() {
        check("alias", "alias/same_twice:dtype=f32", true);
        check("alias/", "alias/same_twice", true);
        check("alia", "alias/same_twice", false);
        check("al*", "alias/same_twice:dtype=f32", true);
        check("cases/", "alias/same_twice:dtype=f32", true);
        check("a/[x]", "a/[x]:n=1", true);
        check("a/[x]:n=1", "a/[x]:n=1", true);
        check("a/[x]:n=1", "a/[x]:n=2", false);
        check("a/b{c,d}", "a/b{c,d}", true);
        check("a\\u{3a}b", "a\\u{3a}b", true);
        check("alias/*:dtype=bf16", "alias/same_twice:dtype=bf16", true);
        check("alias/*:dtype=bf16", "alias/same_twice:n=4,dtype=bf16", true);
        check("alias/*:dtype=bf16", "alias/same_twice:dtype=f16", false);
        check("alias/*:dtype=bf16,n=4", "alias/same_twice:n=4,dtype=bf16", true);
        check("alias/*:dtype=bf16,n=4", "alias/same_twice:n=5,dtype=bf16", false);
        check("alias:dtype={f16,bf16}", "alias/same_twice:dtype=bf16", true);
        check("alias:dtype=*16", "alias/same_twice:dtype=f32", false);
        check("*/same_*", "alias/same_twice", true);
        check("cases/alias/same_twice.yaml", "alias/same_twice:dtype=f32", true);
        check("./cases/alias", "alias/same_twice", true);
        check("cases", "alias/same_twice", true);
        check("**", "alias/same_twice:dtype=f32", true);
        check("alias/same_twice:dtype=f32", "alias/same_twice", false);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in ["", "/", "a[", "a:{", "a:[z-a]"] {
            assert!(Filter::parse(&[wrong], "cases").is_err(), "{wrong}");
        }
        assert!(Filter::default().matches("anything"));
    }
}
