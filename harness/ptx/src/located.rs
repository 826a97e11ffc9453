//! Source lines of PTX instructions, for messages. [`crate::parse`] reads them; the compiler's caller knows which files
//! of a user they are in.

use std::fmt;

use crate::outcome::InstructionLocation;
use crate::syntax::{Function, Instruction, Location, Module};

/// Maximum depth of inlined calls that is followed.
const MOST_CALLS: usize = 64;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// The file, as the PTX names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, as the compiler counts it; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

impl Module {
    /// The lines that an instruction was compiled from: its own, then those of the calls that it was inlined at. Empty
    /// if the PTX doesn't contain them.
    pub(crate) fn source_lines(&self, instruction: &Instruction) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut next = instruction.source;
        while let Some(source) = next.filter(|_| lines.len() < MOST_CALLS) {
            if let Some(file) = self.file_name(source.file) {
                lines.push(Line {
                    file: file.to_owned(),
                    line: source.line,
                    column: source.column,
                });
            }
            next = source
                .inlined
                .and_then(|number| self.callers.get(number as usize).copied());
        }
        lines
    }

    /// Locates an instruction for messages.
    pub(crate) fn locate_instruction(&self, instruction: &Instruction) -> InstructionLocation {
        InstructionLocation {
            instruction: instruction.name(),
            place: instruction.place,
            lines: self.source_lines(instruction),
        }
    }

    /// The source lines of the instruction at `place`, from another PTX with the same instructions. Empty if its
    /// instructions differ.
    pub fn lines_in(&self, other: &Self, place: Location) -> Vec<Line> {
        if !self.has_code_of(other) {
            return Vec::new();
        }
        let both = self.functions.iter().zip(&other.functions);
        both.flat_map(|(own, other)| own.body.iter().zip(&other.body))
            .find(|(own, _)| own.place == place)
            .map(|(_, instruction)| other.source_lines(instruction))
            .unwrap_or_default()
    }

    /// Whether both have the same functions with the same instructions.
    fn has_code_of(&self, other: &Self) -> bool {
        let same = |(own, other): (&Function, &Function)| {
            let bodies = || own.body.iter().zip(&other.body);
            own.name == other.name
                && own.registers == other.registers
                && own.variables == other.variables
                && own.labels == other.labels
                && own.body.len() == other.body.len()
                && bodies().all(|(one, other)| {
                    one.guard == other.guard && one.opcode == other.opcode && one.operands == other.operands
                })
        };
        self.variables == other.variables
            && self.functions.len() == other.functions.len()
            && self.functions.iter().zip(&other.functions).all(same)
    }
}
