//! How closely the results of instructions follow a GPU's, and which instructions a launch executed.

use std::collections::BTreeSet;

use crate::syntax::Instruction;

/// How closely the result of an instruction follows a GPU's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fidelity {
    /// The result is what the ISA defines, bit for bit.
    Exact,
    /// The ISA defines bounds; the result is within them, and its bits may differ from a GPU's.
    Bounded,
    /// The ISA leaves the result or the effect open. A model that agrees with measurements of an H200 computes a sum, and an
    /// instruction that only schedules has no effect.
    Modelled,
}

impl Fidelity {
    /// The fidelity of an instruction.
    pub fn from_instruction(instruction: &Instruction) -> Self {
        let mut words = instruction.opcode.iter().map(AsRef::as_ref);
        let first = words.next().unwrap_or_default();
        let has = |word: &str| instruction.opcode.iter().any(|part| **part == *word);
        match first {
            "mma" => Self::from_product(instruction),
            "wgmma" if has("mma_async") => Self::from_product(instruction),
            "setmaxnreg" | "griddepcontrol" | "activemask" => Self::Modelled,
            _ if has("approx") || has("full") => Self::Bounded,
            _ => Self::Exact,
        }
    }

    /// The fidelity of a product: sums of integers are exact.
    fn from_product(instruction: &Instruction) -> Self {
        let is_integer = instruction.opcode.iter().any(|part| **part == *"s32");
        if is_integer { Self::Exact } else { Self::Modelled }
    }
}

/// The instructions that a launch executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedInstructions {
    /// The first words of exact ones: `add`, `ld`.
    pub exact: BTreeSet<String>,
    /// Bounded ones, with all modifiers.
    pub bounded: BTreeSet<String>,
    /// Modelled ones, with all modifiers.
    pub modelled: BTreeSet<String>,
}

impl ExecutedInstructions {
    /// Adds an instruction.
    pub(crate) fn add(&mut self, instruction: &Instruction) {
        match Fidelity::from_instruction(instruction) {
            Fidelity::Exact => {
                let first = instruction.opcode.first().map_or("", AsRef::as_ref);
                if !self.exact.contains(first) {
                    self.exact.insert(first.to_owned());
                }
            }
            Fidelity::Bounded => {
                self.bounded.insert(instruction.name());
            }
            Fidelity::Modelled => {
                self.modelled.insert(instruction.name());
            }
        }
    }

    /// Adds the instructions of another launch.
    pub fn merge(&mut self, other: Self) {
        self.exact.extend(other.exact);
        self.bounded.extend(other.bounded);
        self.modelled.extend(other.modelled);
    }
}
