//! The instructions that an engine executed on this machine, by how closely the results follow a GPU's.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Instructions of PTX that were executed here, by how closely the results follow a GPU's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The first words of those with the bits that the ISA defines.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub exact: BTreeSet<String>,
    /// Those with results within the bounds of the ISA.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub bounded: BTreeSet<String>,
    /// Those with results or effects that the ISA leaves open, by a model.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub modelled: BTreeSet<String>,
}

impl Instructions {
    /// Adds the instructions of another case.
    pub fn add(&mut self, other: &Self) {
        for (all, more) in [
            (&mut self.exact, &other.exact),
            (&mut self.bounded, &other.bounded),
            (&mut self.modelled, &other.modelled),
        ] {
            for name in more {
                if !all.contains(name) {
                    all.insert(name.clone());
                }
            }
        }
    }

    /// Whether nothing was executed.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.bounded.is_empty() && self.modelled.is_empty()
    }
}

/// Describes executed instructions in a line: how many are exact, and the names of the others.
impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} exact", self.exact.len())?;
        for (names, word) in [(&self.bounded, "bounded"), (&self.modelled, "modelled")] {
            let mut shown = names.iter();
            let Some(first) = shown.next() else {
                continue;
            };
            write!(f, ", {} {word} ({first}", names.len())?;
            match names.len() {
                1 => f.write_str(")")?,
                count => write!(f, " and {} more)", count - 1)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(exact: &[&str], bounded: &[&str], modelled: &[&str]) -> Instructions {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Instructions {
            exact: names(exact),
            bounded: names(bounded),
            modelled: names(modelled),
        }
    }

    #[test]
    fn a_line_counts_the_exact_ones_and_names_others() {
        let one = build(&["add", "ld"], &[], &[]);
        assert_eq!(one.to_string(), "2 exact");
        let mut all = build(&["add"], &["ex2.approx.f32"], &[]);
        all.add(&build(&["ld"], &["ex2.approx.f32"], &["mma.a", "mma.b", "wgmma"]));
        assert_eq!(
            all.to_string(),
            "2 exact, 1 bounded (ex2.approx.f32), 3 modelled (mma.a and 2 more)"
        );
        assert!(!all.is_empty() && Instructions::default().is_empty());
    }
}
