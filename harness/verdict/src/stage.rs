//! Finds the wrong stage of Triton's compiler: compares the result of executing each stage's output with the reference. It does
//! not run the stages.

use std::fmt;

use cerith_engine::CompilerStage;
use serde::{Deserialize, Serialize};

use crate::verdict::Standing;

/// The stage that is wrong, or the first and the last candidate if those between them have no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blamed {
    /// The first that may be wrong.
    pub first: CompilerStage,
    /// The first that is known to leave what is wrong.
    pub last: CompilerStage,
}

impl Blamed {
    /// The stage, if it is one.
    pub fn single_stage(self) -> Option<CompilerStage> {
        (self.first == self.last).then_some(self.first)
    }
}

/// In words: `the TTGIR passes`.
impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return f.write_str(self.last.description());
        }
        let between = CompilerStage::ALL
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
pub fn find_blamed(standings: &[(CompilerStage, Standing)]) -> Option<Blamed> {
    let standing = |stage: CompilerStage| {
        let found = standings.iter().find(|&&(of, _)| of == stage);
        found.map_or(Standing::Silent, |&(_, standing)| standing)
    };
    let is = |wanted: Standing| move |stage: &CompilerStage| standing(*stage) == wanted;
    let right = CompilerStage::ALL.into_iter().rev().find(is(Standing::Agrees));
    let suspects = CompilerStage::ALL
        .into_iter()
        .filter(|&stage| right.is_none_or(|right| stage > right));
    let last = suspects.clone().find(is(Standing::Differs))?;
    suspects.min().map(|first| Blamed { first, last })
}

#[cfg(test)]
mod tests {
    use cerith_engine::CompilerStage;

    use super::find_blamed;
    use crate::verdict::Standing;

    /// `r` is right, `w` is wrong, `-` has no outcome.
    fn check(standings: &str, expected: &str) {
        let standings: Vec<(CompilerStage, Standing)> = CompilerStage::ALL
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
