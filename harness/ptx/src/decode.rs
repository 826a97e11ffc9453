//! Which instruction is which: opcode, modifiers and operands to an operation. A word that is not known makes the instruction
//! unsupported, so that nothing is left out silently.

mod arithmetic;
mod control;
mod matrix;
mod memory;

use smallvec::SmallVec;

use crate::alu::float::Round;
use crate::link::Linker;
use crate::op::{Flag, Op, Slot};
use crate::syntax::{Instruction, Kind, VariableId, Operand, Space, Type};

/// The modifiers of an instruction that nobody has looked at yet.
struct Words<'i> {
    left: SmallVec<[&'i str; 10]>,
}

impl Words<'_> {
    /// Whether a modifier is there, which is then looked at.
    fn take(&mut self, word: &str) -> bool {
        match self.left.iter().position(|&left| left == word) {
            Some(at) => {
                self.left.remove(at);
                true
            }
            None => false,
        }
    }

    /// The first of some modifiers that is there.
    fn take_one<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        words
            .iter()
            .find(|(word, _)| self.take(word))
            .map(|&(_, meaning)| meaning)
    }

    /// The first type.
    fn ty(&mut self) -> Option<Type> {
        let at = self.left.iter().position(|word| Type::from_word(word).is_some())?;
        Type::from_word(self.left.remove(at))
    }

    fn round(&mut self) -> Option<Round> {
        self.take_one(&[
            ("rn", Round::Nearest),
            ("rz", Round::Zero),
            ("rm", Round::Down),
            ("rp", Round::Up),
        ])
    }

    /// Hints that change nothing but the time, levels of caches for example.
    fn drop_hints(&mut self) {
        self.left.retain(|word| {
            !(word.starts_with("L1::")
                || word.starts_with("L2::")
                || matches!(*word, "ca" | "cg" | "cs" | "cv" | "lu" | "wb" | "wt" | "nc"))
        });
    }

    /// How an access is ordered. All accesses of a launch happen one after the other here.
    fn drop_order(&mut self) {
        self.left.retain(|word| {
            !matches!(
                *word,
                "weak"
                    | "volatile"
                    | "relaxed"
                    | "acquire"
                    | "release"
                    | "acq_rel"
                    | "sc"
                    | "cta"
                    | "gpu"
                    | "sys"
                    | "cluster"
                    | "mmio"
            )
        });
    }

    fn space(&mut self) -> Space {
        self.take_one(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("local", Space::Local),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
            ("const", Space::Const),
        ])
        .unwrap_or(Space::Generic)
    }

    fn is_empty(&self) -> bool {
        self.left.is_empty()
    }
}

/// Decodes one instruction; `None` where it is not known.
pub(crate) fn decode(linker: &mut Linker<'_>, instruction: &Instruction) -> Option<Op> {
    let mut all = instruction.opcode.iter().map(|word| &**word);
    let name = all.next()?;
    let mut words = Words { left: all.collect() };
    let operands = &instruction.operands;
    let op = arithmetic::decode(linker, name, &mut words, operands)
        .or_else(|| {
            // The first try may have looked at some.
            words.left = instruction.opcode.iter().skip(1).map(|word| &**word).collect();
            memory::decode(linker, name, &mut words, operands)
        })
        .or_else(|| {
            words.left = instruction.opcode.iter().skip(1).map(|word| &**word).collect();
            matrix::decode(linker, name, &mut words, operands)
        })
        .or_else(|| {
            words.left = instruction.opcode.iter().skip(1).map(|word| &**word).collect();
            control::decode(linker, name, &mut words, operands)
        })?;
    words.is_empty().then_some(op)
}

impl Linker<'_> {
    /// A register, or a number in one.
    fn source_slot(&mut self, operand: &Operand, ty: Type) -> Option<Slot> {
        match *operand {
            Operand::Register(number) => self.register(number),
            Operand::Single(bits) => Some(self.constant(bits.into())),
            Operand::Double(bits) if ty.kind == Kind::Float && ty.bits == 32 => {
                Some(self.constant((f64::from_bits(bits) as f32).to_bits().into()))
            }
            Operand::Int(bits) | Operand::Double(bits) => Some(self.constant(bits)),
            Operand::Special(special) => Some(self.special(special)),
            Operand::Symbol(named, offset) => self
                .address_of(named)
                .map(|address| self.constant(address.wrapping_add_signed(offset))),
            Operand::Vector(ref all) if all.len() == 1 => self.source_slot(all.first()?, ty),
            _ => None,
        }
    }

    /// A register to be written.
    fn target_slot(&mut self, operand: &Operand) -> Option<Slot> {
        match *operand {
            Operand::Register(number) => self.register(number),
            Operand::Nothing => Some(Self::SINK),
            Operand::Vector(ref all) if all.len() == 1 => self.target_slot(all.first()?),
            _ => None,
        }
    }

    /// A predicate that is read.
    fn find_flag(&self, operand: &Operand) -> Option<Flag> {
        match *operand {
            Operand::Predicate { number, negated } => Some(Flag {
                slot: self.predicate(number)?,
                negated,
            }),
            Operand::Int(0) => Some(Flag::FALSE),
            Operand::Int(_) => Some(Flag::TRUE),
            _ => None,
        }
    }

    /// A predicate that is written.
    fn flag_target(&mut self, operand: &Operand) -> Option<Slot> {
        match *operand {
            Operand::Predicate {
                number,
                negated: false,
            } => self.predicate(number),
            Operand::Nothing => Some(Self::FLAG_SINK),
            _ => None,
        }
    }
}

/// The elements of a vector operand, or the one operand.
fn vector_elements(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// Whether an operand is a predicate.
const fn is_predicate(operand: &Operand) -> bool {
    matches!(operand, Operand::Predicate { .. })
}

/// The function that is called.
const fn called_function(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Symbol(VariableId::Function(number), 0) => Some(*number),
        _ => None,
    }
}
