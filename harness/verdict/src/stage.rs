//! Finds the wrong stage of Triton's compiler: compares the result of executing each stage's output with the reference. It does
//! not run the stages.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::verdict::Standing;

/// A stage of Triton's compiler, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Python to TTIR; `ttir@V:source` executes what it leaves.
    Frontend,
    /// The passes on TTIR; `ttir@V`.
    Ttir,
    /// To TTGIR, and the passes on it; `ttgir@V`.
    Ttgir,
    /// To LLVM's IR, through LLVM, to PTX; `ptx@V`.
    Llvm,
    /// NVIDIA's assembler, and the GPU; `cuda@V`.
    Ptxas,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Frontend, Self::Ttir, Self::Ttgir, Self::Llvm, Self::Ptxas];

    /// The word for it in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frontend => "frontend",
            Self::Ttir => "ttir",
            Self::Ttgir => "ttgir",
            Self::Llvm => "llvm",
            Self::Ptxas => "ptxas",
        }
    }

    /// A description, as the subject of a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Frontend => "the frontend",
            Self::Ttir => "the TTIR passes",
            Self::Ttgir => "the TTGIR passes",
            Self::Llvm => "LLVM and below, to PTX",
            Self::Ptxas => "ptxas or the hardware",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The stage that is wrong, or the first and the last candidate if those between them have no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blamed {
    /// The first that may be wrong.
    pub first: Stage,
    /// The first that is known to leave what is wrong.
    pub last: Stage,
}

impl Blamed {
    /// The stage, if it is one.
    pub fn single_stage(self) -> Option<Stage> {
        (self.first == self.last).then_some(self.first)
    }
}

/// In words: `the TTGIR passes`.
impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return f.write_str(self.last.description());
        }
        let between = Stage::ALL
            .into_iter()
            .filter(|stage| (self.first..=self.last).contains(stage));
        for (nth, stage) in between.enumerate() {
            write!(f, "{}{}", if nth > 0 { " or " } else { "" }, stage.description())?;
        }
        Ok(())
    }
}

/// The wrong stage, by the standings of each stage's output. Absent stages have no outcome. `None` if the end is right or
/// unknown.
///
/// A stage that leaves what is right clears all before it: what those left may have stood badly for another reason, as that its
/// witness was wrong.
pub fn find_blamed(standings: &[(Stage, Standing)]) -> Option<Blamed> {
    let standing = |stage: Stage| {
        let found = standings.iter().find(|&&(of, _)| of == stage);
        found.map_or(Standing::Silent, |&(_, standing)| standing)
    };
    let is = |wanted: Standing| move |stage: &Stage| standing(*stage) == wanted;
    let right = Stage::ALL.into_iter().rev().find(is(Standing::Agrees));
    let suspects = Stage::ALL
        .into_iter()
        .filter(|&stage| right.is_none_or(|right| stage > right));
    let last = suspects.clone().find(is(Standing::Differs))?;
    suspects.min().map(|first| Blamed { first, last })
}

#[cfg(test)]
mod tests {
    use super::{Stage, find_blamed};
    use crate::verdict::Standing;

    /// `r` is right, `w` is wrong, `-` has no outcome.
    fn check(standings: &str, expected: &str) {
        let standings: Vec<(Stage, Standing)> = Stage::ALL
            .into_iter()
            .zip(standings.chars())
            .map(|(stage, letter)| {
                let standing = match letter {
                    'r' => Standing::Agrees,
                    'w' => Standing::Differs,
                    _ => Standing::Silent,
                };
                (stage, standing)
            })
            .collect();
        let said = find_blamed(&standings).map_or_else(String::new, |blamed| blamed.to_string());
        assert_eq!(said, expected, "{standings:?}");
    }

    #[test]
    fn the_first_stage_that_leaves_what_is_wrong_is_named() {
        check("wwwww", "the frontend");
        check("rwwww", "the TTIR passes");
        check("rrwww", "the TTGIR passes");
        check("rrrww", "LLVM and below, to PTX");
        check("rrrrw", "ptxas or the hardware");
    }

    #[test]
    fn silence_leaves_more_than_one() {
        check("rr-w", "the TTGIR passes or LLVM and below, to PTX");
        check("r-ww", "the TTIR passes or the TTGIR passes");
        check("-www", "the frontend or the TTIR passes");
        check("rrr-w", "LLVM and below, to PTX or ptxas or the hardware");
    }

    #[test]
    fn nothing_is_blamed_where_the_end_is_right_or_silent() {
        check("rrrrr", "");
        check("-----", "");
        check("rwrrr", "");
        check("", "");
    }

    #[test]
    fn what_is_right_clears_what_is_before_it() {
        check("rwrw", "LLVM and below, to PTX");
        check("wrrw-", "LLVM and below, to PTX");
    }
}
