//! The known bugs that an engine may have, by its name. See `cerith-verdict` for using them to explain a difference.

use cerith_tile::quirk::{Family, Quirk, Quirks};
use cerith_tile::rules::Version;

use crate::id::EngineId;

/// The first compute capability with an instruction that narrows to 8-bit floats.
const NARROWS_TO_FP8: u32 = 89;

impl EngineId {
    /// The family whose known bugs the engine has. `None` if it has none, or executes with an unknown engine.
    pub const fn bug_family(&self) -> Option<Family> {
        match self {
            Self::Interpret { .. } => Some(Family::Interpreter),
            Self::Cuda { .. } | Self::Ptx { .. } | Self::Jit { .. } | Self::Ttir { .. } => {
                Some(Family::Compiler)
            }
            Self::Reference | Self::Inductor { .. } | Self::Recorded => None,
        }
    }

    /// The quirks that the engine may have as this version of Triton. `None` if it has no known bugs.
    pub fn possible_quirks(&self, version: Version) -> Option<Quirks> {
        let quirks = Quirks::from_version(self.bug_family()?, version);
        Some(match self {
            // Arguments on the host are not copied there.
            Self::Interpret { host: true, .. } => quirks.without_quirk(Quirk::ArgumentsAreCopiedApart),
            Self::Ptx { target, .. }
            | Self::Cuda {
                target: Some(target), ..
            } if target.0 < NARROWS_TO_FP8 => quirks,
            _ => quirks.without_quirk(Quirk::NarrowingToFp8e5Wraps),
        })
    }

    /// Whether the engine stops at a stage of the compiler after which a program may still be rejected.
    pub const fn is_before_rejection(&self) -> bool {
        matches!(self, Self::Ttir { .. })
    }
}
