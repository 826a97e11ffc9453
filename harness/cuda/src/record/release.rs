//! The compiler of a record: a release of Triton, and its target if a GPU of another kind executed. `3.9.0`, `3.9.0:sm_80`.
//! Builds have no records.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use cerith_tile::rules::{BadVersion, Version};
use cerith_toolchain::compiled::{BadTarget, Target};

/// The compiler of a record. `Display` and `FromStr` are inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release {
    /// The Triton.
    pub triton: Version,
    /// The target; `None` if it compiled for the GPU that executed.
    pub target: Option<Target>,
}

/// The text is not a release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRelease {
    /// The text before the colon is not a version.
    #[error(transparent)]
    Version(#[from] BadVersion),
    /// The text after the colon is not a target.
    #[error(transparent)]
    Target(#[from] BadTarget),
}

impl Release {
    /// A Triton that compiled for this target, executed by this GPU.
    pub fn new(triton: Version, target: Option<Target>, gpu: Target) -> Self {
        let target = target.filter(|&target| target != gpu);
        Self { triton, target }
    }

    /// The sort key in a file: the newest Triton first, and within a version, code for the GPU that executed first.
    pub(super) fn order(self) -> (Reverse<Version>, Option<Target>) {
        (Reverse(self.triton), self.target)
    }
}

impl From<Version> for Release {
    fn from(triton: Version) -> Self {
        Self { triton, target: None }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            None => write!(f, "{}", self.triton),
            Some(target) => write!(f, "{}:{target}", self.triton),
        }
    }
}

impl FromStr for Release {
    type Err = BadRelease;

    fn from_str(text: &str) -> Result<Self, BadRelease> {
        let (triton, target) = match text.split_once(':') {
            Some((triton, target)) => (triton, Some(target.parse()?)),
            None => (text, None),
        };
        let triton = triton.parse()?;
        Ok(Self { triton, target })
    }
}
