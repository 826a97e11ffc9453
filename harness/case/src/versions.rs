//! Ranges of Triton versions in expectations. See `cerith_tile::rules` for the changes of each version.

use std::fmt;
use std::str::FromStr;

use cerith_tile::releases;
use cerith_tile::rules::Version;

/// The releases of Triton that a range may name.
pub(crate) const RELEASED: &[Version] = &releases::TRITON;

/// The releases of torch that a range may name if the engine is `inductor`.
pub(crate) const TORCH_RELEASED: &[Version] = &releases::ALL_TORCH;

/// A set of versions: `<3.3`, `>=3.2,<3.6`, `3.0 - 3.4`, `3.1`, `*`, and several of them joined by `or`.
///
/// A version that leaves out its last numbers means all that begin so: `3.3` is 3.3.0 and 3.3.1, `<=3.3` takes 3.3.1
/// in, `>3.3` begins after it, and `3.0 - 3.4` holds both ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VersionRange {
    text: String,
    /// Half-open runs; a version is in the range when it is in any run.
    runs: Vec<(Version, Version)>,
}

const FIRST: Version = Version::new(0, 0, 0);
const LAST: Version = Version::new(u16::MAX, u16::MAX, u16::MAX);

impl VersionRange {
    /// Every version.
    pub fn any() -> Self {
        Self {
            text: "*".to_owned(),
            runs: vec![(FIRST, LAST)],
        }
    }

    /// Whether a version is in the range.
    pub fn contains(&self, version: Version) -> bool {
        self.runs
            .iter()
            .any(|&(from, to)| from <= version && version < to)
    }

    /// Whether any of these releases is in the range.
    pub(crate) fn matches_any(&self, releases: &[Version]) -> bool {
        releases.iter().any(|&version| self.contains(version))
    }
}

impl Default for VersionRange {
    fn default() -> Self {
        Self::any()
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text is not a range of versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version or a range of versions")]
pub struct BadRange(pub String);

impl FromStr for VersionRange {
    type Err = BadRange;

    fn from_str(text: &str) -> Result<Self, BadRange> {
        let runs = text
            .split(" or ")
            .map(|part| run(part.trim()).ok_or_else(|| BadRange(part.trim().to_owned())))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.trim().to_owned(),
            runs,
        })
    }
}

/// One run without `or`.
fn run(text: &str) -> Option<(Version, Version)> {
    if text == "*" {
        return Some((FIRST, LAST));
    }
    if let Some((from, to)) = text.split_once(" - ") {
        return Some((parse_bounds(from)?.0, parse_bounds(to)?.1));
    }
    let (mut from, mut to) = (FIRST, LAST);
    for part in text.split(',').map(str::trim) {
        let operator = part
            .find(|c: char| c.is_ascii_digit())
            .map_or("", |at| part[..at].trim_end());
        let (first, past) = parse_bounds(part.strip_prefix(operator)?)?;
        match operator {
            "<" => to = to.min(first),
            "<=" => to = to.min(past),
            ">" => from = from.max(past),
            ">=" => from = from.max(first),
            "" | "=" | "==" => (from, to) = (from.max(first), to.min(past)),
            _ => return None,
        }
    }
    Some((from, to))
}

/// The first version that begins like the text, and the first one after all that do.
fn parse_bounds(text: &str) -> Option<(Version, Version)> {
    let text = text.trim();
    let first: Version = text.parse().ok()?;
    let up = |number: u16| number.checked_add(1);
    let past = match text.split('.').count() {
        1 => Version::new(up(first.major)?, 0, 0),
        2 => Version::new(first.major, up(first.minor)?, 0),
        _ => Version::new(first.major, first.minor, up(first.patch)?),
    };
    Some((first, past))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: &str, expected: &str) {
        let range: VersionRange = range.parse().expect(range);
        let inside: Vec<_> = RELEASED
            .iter()
            .filter(|&&version| range.contains(version))
            .map(ToString::to_string)
            .collect();
        assert_eq!(inside.join(" "), expected, "{range}");
    }

    #[test]
    fn a_range_holds_the_releases_it_says() {
        check("<3", "2.0.0 2.1.0 2.2.0 2.3.0 2.3.1");
        check(">=3.2,<3.6", "3.2.0 3.3.0 3.3.1 3.4.0 3.5.0 3.5.1");
        check("3.0 - 3.3", "3.0.0 3.1.0 3.2.0 3.3.0 3.3.1");
        check("3.3", "3.3.0 3.3.1");
        check("==3.3.1", "3.3.1");
        check(">3.3, <=3.5", "3.4.0 3.5.0 3.5.1");
        check("3.1 or >=3.8", "3.1.0 3.8.0 3.9.0");
        check("3.6 - 3.7.0", "3.6.0 3.7.0");
        check(">3.9", "");
        check(">=3.6,<3.2", "");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in [
            "", "x", "<", "3.x", "~3.2", "3.2 -", "<3.2,", "!=3.2", "3.2 or", "99999", "<65535",
        ] {
            assert!(wrong.parse::<VersionRange>().is_err(), "{wrong}");
        }
    }
}
