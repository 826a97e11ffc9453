//! Names of toolchains: which Triton with which NumPy, or which torch. See [`crate::Home`] for the installed ones.

use std::fmt;
use std::str::FromStr;

use cerith_tile::releases::{self, NEWEST_TORCH};
use cerith_tile::rules::Version;

/// A pair of a Triton version and a NumPy, written `3.9.0` (with the NumPy that fits it) or `3.0.0+numpy2`; or a torch
/// with the Triton that it pins, written `torch2.11.0`. An unreleased Triton also has its build's name:
/// `3.10.0+git1a2b3c4`, `3.9.0+pr-1234`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolchainId {
    // First, so that in a sorted list those with torch come last.
    torch: Option<Version>,
    triton: Version,
    build: Option<String>,
    numpy: Option<String>,
}

/// The prefix of the name of a toolchain with torch, before torch's version.
const TORCH: &str = "torch";

/// The oldest Triton that a toolchain is made for.
const OLDEST: Version = Version::new(2, 3, 0);

/// The newest known Triton, which a run uses by default.
pub const NEWEST: Version = Version::NEWEST;

/// The Triton releases that toolchains are made for, oldest first. Others are tried as they are named.
pub(crate) fn known_tritons() -> &'static [Version] {
    releases::triton_since(OLDEST)
}

/// The text names no toolchain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the toolchain name `{name}`: {problem}")]
pub struct BadId {
    /// The text.
    pub name: String,
    /// The problem, and a fix.
    pub problem: String,
}

impl ToolchainId {
    /// A Triton with the NumPy that fits it.
    pub const fn from_triton(triton: Version) -> Self {
        Self {
            triton,
            build: None,
            numpy: None,
            torch: None,
        }
    }

    /// A torch with its Triton and the NumPy that fits, if that torch is known.
    pub fn of_torch(torch: Version) -> Option<Self> {
        let &(_, triton) = releases::TORCH.iter().find(|(known, _)| *known == torch)?;
        Some(Self {
            torch: Some(torch),
            ..Self::from_triton(triton)
        })
    }

    /// The Triton version; of one with torch, the Triton that this torch pins.
    pub const fn triton(&self) -> Version {
        self.triton
    }

    /// As compilers are called: its Triton alone, since no NumPy matters for machine code.
    #[must_use]
    pub fn compiler(&self) -> Self {
        Self {
            build: self.build.clone(),
            ..Self::from_triton(self.triton)
        }
    }

    /// The name of the build, if the Triton is not a release.
    pub fn build(&self) -> Option<&str> {
        self.build.as_deref()
    }

    /// The NumPy asked for: a major (`2`), a series (`2.3`) or a release (`2.3.5`); none means the one that fits.
    pub fn numpy(&self) -> Option<&str> {
        self.numpy.as_deref()
    }

    /// The torch in it, if it holds one.
    pub const fn torch(&self) -> Option<Version> {
        self.torch
    }

    /// The newest known patch of `major.minor`.
    fn newest_patch(major: u16, minor: u16) -> Option<Version> {
        known_tritons()
            .iter()
            .rev()
            .copied()
            .find(|v| v.major == major && v.minor == minor)
    }
}

impl fmt::Display for ToolchainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.torch {
            Some(torch) => write!(f, "{TORCH}{torch}")?,
            None => write!(f, "{}", self.triton)?,
        }
        if let Some(build) = &self.build {
            write!(f, "+{build}")?;
        }
        self.numpy
            .as_ref()
            .map_or(Ok(()), |numpy| write!(f, "+numpy{numpy}"))
    }
}

impl FromStr for ToolchainId {
    type Err = BadId;

    /// Reads `3.9.0`, `3.9` (its newest known patch) and `torch2.11.0`, each also with `+numpy2`, `+numpy2.3` or
    /// `+numpy2.3.5`, and before that with the name of a build: `3.9.0+pr-1234`.
    fn from_str(name: &str) -> Result<Self, BadId> {
        let bad = |problem: String| BadId {
            name: name.to_owned(),
            problem,
        };
        let (triton, extra) = match name.split_once('+') {
            Some((triton, extra)) => (triton, Some(extra)),
            None => (name, None),
        };
        let (mut build, mut numpy) = (None, None);
        for extra in extra.into_iter().flat_map(|extra| extra.split('+')) {
            match extra.strip_prefix("numpy") {
                Some(numbers) if numpy.is_none() => {
                    numbers.parse::<Version>().map_err(|_| {
                        bad(format!(
                            "`{numbers}` is not a NumPy version; write `+numpy2` or `+numpy1.26.4`"
                        ))
                    })?;
                    numpy = Some(numbers.to_owned());
                }
                None if is_build(extra) && build.is_none() && numpy.is_none() => {
                    build = Some(extra.to_owned());
                }
                _ => {
                    return Err(bad(format!(
                        "`+{extra}` is not a NumPy to pair it with; write `+numpy2` or `+numpy1.26.4`"
                    )));
                }
            }
        }
        if let Some(torch) = triton.strip_prefix(TORCH) {
            if let Some(build) = build {
                return Err(bad(format!("a torch has no builds, and `+{build}` would be one")));
            }
            return Ok(Self {
                numpy,
                ..known_torch(torch).map_err(|error| bad(error.to_string()))?
            });
        }
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
            build,
            numpy,
            torch: None,
        })
    }
}

/// Whether a word can name a build. A digit or a hyphen has to be in it, so that no mistyped word of an engine's name is one.
pub fn is_build(word: &str) -> bool {
    const MAX_LENGTH: usize = 64;
    word.len() <= MAX_LENGTH
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && word.contains(|c: char| c.is_ascii_digit() || c == '-')
        && !word.starts_with("numpy")
        && !word.starts_with(TORCH)
}

/// A torch that no toolchain can be made of.
#[derive(Debug, thiserror::Error)]
enum BadTorch {
    #[error("`{0}` is not a torch version; write one like `{TORCH}{NEWEST_TORCH}`")]
    NoVersion(String),
    #[error("of torch {0} it is not known which Triton it brings; there are {known}", known = known_torches())]
    Unknown(String),
}

fn known_torches() -> String {
    let all: Vec<String> = releases::TORCH
        .iter()
        .map(|(torch, _)| torch.to_string())
        .collect();
    all.join(", ")
}

/// The toolchain of a torch by its version, `2.11.0` or `2.11` (its newest known patch), or what is wrong.
fn known_torch(text: &str) -> Result<ToolchainId, BadTorch> {
    let version: Version = text.parse().map_err(|_| BadTorch::NoVersion(text.to_owned()))?;
    let parts = text.split('.').count();
    let meant = |known: Version| {
        known.major == version.major
            && (parts < 2 || known.minor == version.minor)
            && (parts < 3 || known.patch == version.patch)
    };
    let mut all = releases::TORCH.iter().rev().map(|&(torch, _)| torch);
    all.find(|&known| meant(known))
        .filter(|_| parts > 1)
        .and_then(ToolchainId::of_torch)
        .ok_or_else(|| BadTorch::Unknown(text.to_owned()))
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
        check("3.10.0+git1a2b3c4", Ok("3.10.0+git1a2b3c4"));
        check("3.9+pr-1234+numpy2.3.5", Ok("3.9.0+pr-1234+numpy2.3.5"));
        check(
            "3.9.0+numpy2+pr-1",
            Err("`+pr-1` is not a NumPy to pair it with; write `+numpy2` or `+numpy1.26.4`"),
        );
        check(
            "3.9.0+../x1",
            Err("`+../x1` is not a NumPy to pair it with; write `+numpy2` or `+numpy1.26.4`"),
        );
        check(
            "torch2.11.0+pr-1",
            Err("a torch has no builds, and `+pr-1` would be one"),
        );
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
    fn a_torch_brings_its_triton() {
        check("torch2.11.0", Ok("torch2.11.0"));
        check("torch2.5", Ok("torch2.5.1"));
        check("torch2.5.1+numpy1.26.4", Ok("torch2.5.1+numpy1.26.4"));
        check(
            "torch",
            Err("`` is not a torch version; write one like `torch2.15.0`"),
        );
        let all = "2.4.0, 2.4.1, 2.5.0, 2.5.1, 2.6.0, 2.7.0, 2.7.1, 2.8.0, 2.9.0, 2.9.1, 2.10.0, 2.11.0, \
                   2.12.0, 2.12.1, 2.13.0, 2.14.0, 2.14.1, 2.15.0";
        for unknown in ["2.3.1", "3", "2"] {
            check(
                &format!("torch{unknown}"),
                Err(&format!(
                    "of torch {unknown} it is not known which Triton it brings; there are {all}"
                )),
            );
        }
        let id: ToolchainId = "torch2.5.1".parse().expect("a toolchain");
        assert_eq!(
            (id.triton(), id.torch()),
            (Version::new(3, 1, 0), Some(Version::new(2, 5, 1)))
        );
        assert_ne!(id, ToolchainId::from_triton(Version::new(3, 1, 0)));
    }

    #[test]
    fn the_newest_triton_is_the_last_one() {
        assert_eq!(known_tritons().last(), Some(&NEWEST));
        assert_eq!(known_tritons().first(), Some(&OLDEST));
    }
}
