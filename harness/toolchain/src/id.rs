//! Names of toolchains: which Triton with which NumPy. Left out: whether they are installed ([`crate::home`]).

use std::fmt;
use std::str::FromStr;

use conch_tile::rules::Version;

/// A pair of a Triton version and a NumPy, written `3.9.0` (with the NumPy that fits it) or `3.0.0+numpy2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolchainId {
    triton: Version,
    numpy: Option<String>,
}

/// Every Triton release on PyPI that this knows, oldest first; the last patch of a minor is what `3.9` means.
/// Source: `pip index versions triton`. Others are tried as they are named.
pub const KNOWN: &[Version] = &[
    Version::new(2, 3, 0),
    Version::new(2, 3, 1),
    Version::new(3, 0, 0),
    Version::new(3, 1, 0),
    Version::new(3, 2, 0),
    Version::new(3, 3, 0),
    Version::new(3, 3, 1),
    Version::new(3, 4, 0),
    Version::new(3, 5, 0),
    Version::new(3, 5, 1),
    Version::new(3, 6, 0),
    Version::new(3, 7, 0),
    Version::new(3, 7, 1),
    Version::new(3, 8, 0),
    Version::new(3, 9, 0),
];

/// The newest known Triton, which a run uses when none is named.
pub const NEWEST: Version = Version::new(3, 9, 0);

/// The text names no toolchain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the toolchain name `{name}`: {problem}")]
pub struct BadId {
    /// The text.
    pub name: String,
    /// What is wrong, and the mend.
    pub problem: String,
}

impl ToolchainId {
    /// A Triton with the NumPy that fits it.
    pub const fn of(triton: Version) -> Self {
        Self { triton, numpy: None }
    }

    /// The Triton version.
    pub const fn triton(&self) -> Version {
        self.triton
    }

    /// The NumPy asked for: a major (`2`), a series (`2.3`) or a release (`2.3.5`); none means the one that fits.
    pub fn numpy(&self) -> Option<&str> {
        self.numpy.as_deref()
    }

    /// The newest known patch of `major.minor`.
    pub fn newest_patch(major: u16, minor: u16) -> Option<Version> {
        KNOWN
            .iter()
            .rev()
            .copied()
            .find(|v| v.major == major && v.minor == minor)
    }
}

impl fmt::Display for ToolchainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.triton)?;
        self.numpy
            .as_ref()
            .map_or(Ok(()), |numpy| write!(f, "+numpy{numpy}"))
    }
}

impl FromStr for ToolchainId {
    type Err = BadId;

    /// Reads `3.9.0`, `3.9` (its newest known patch), and either with `+numpy2`, `+numpy2.3` or `+numpy2.3.5`.
    fn from_str(name: &str) -> Result<Self, BadId> {
        let bad = |problem: String| BadId {
            name: name.to_owned(),
            problem,
        };
        let (triton, extra) = match name.split_once('+') {
            Some((triton, extra)) => (triton, Some(extra)),
            None => (name, None),
        };
        let numpy = match extra {
            None => None,
            Some(extra) => {
                let numbers = extra.strip_prefix("numpy").ok_or_else(|| {
                    bad(format!(
                        "`+{extra}` is not a NumPy to pair it with; write `+numpy2` or `+numpy1.26.4`"
                    ))
                })?;
                numbers.parse::<Version>().map_err(|_| {
                    bad(format!(
                        "`{numbers}` is not a NumPy version; write `+numpy2` or `+numpy1.26.4`"
                    ))
                })?;
                Some(numbers.to_owned())
            }
        };
        let version: Version = triton.parse().map_err(|_| {
            bad(format!(
                "`{triton}` is not a Triton version; write one like `{NEWEST}`"
            ))
        })?;
        let version = match triton.split('.').count() {
            1 => {
                return Err(bad(format!(
                    "say which Triton {}, as in `{NEWEST}`",
                    version.major
                )));
            }
            2 => Self::newest_patch(version.major, version.minor).unwrap_or(version),
            _ => version,
        };
        Ok(Self {
            triton: version,
            numpy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let read = text
            .parse::<ToolchainId>()
            .map(|id| id.to_string())
            .map_err(|bad| bad.problem);
        assert_eq!(read.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn names_are_read_and_written() {
        check("3.9.0", Ok("3.9.0"));
        check("3.9", Ok("3.9.0"));
        check("3.3", Ok("3.3.1"));
        check("3.3.0", Ok("3.3.0"));
        check("3.10", Ok("3.10.0"));
        check("3.0+numpy2", Ok("3.0.0+numpy2"));
        check("3.0.0+numpy2.3.5", Ok("3.0.0+numpy2.3.5"));
        check("3", Err("say which Triton 3, as in `3.9.0`"));
        check(
            "latest",
            Err("`latest` is not a Triton version; write one like `3.9.0`"),
        );
        check(
            "3.9.0+torch",
            Err("`+torch` is not a NumPy to pair it with; write `+numpy2` or `+numpy1.26.4`"),
        );
        check(
            "3.9.0+numpy",
            Err("`` is not a NumPy version; write `+numpy2` or `+numpy1.26.4`"),
        );
        check(
            "3.9.0+numpy../x",
            Err("`../x` is not a NumPy version; write `+numpy2` or `+numpy1.26.4`"),
        );
    }

    #[test]
    fn known_versions_are_in_order() {
        assert!(KNOWN.is_sorted());
        assert_eq!(KNOWN.last(), Some(&NEWEST));
    }
}
