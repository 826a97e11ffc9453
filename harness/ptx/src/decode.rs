//! Decodes instructions: opcode, modifiers and operands to an operation. An unknown modifier makes the instruction
//! unsupported, so that nothing is ignored silently.

mod arithmetic;
mod bulk;
mod control;
mod fence;
mod matrix;
mod mbarrier;
mod memory;
mod tensormap;
mod wgmma;

use smallvec::SmallVec;

use crate::alu::float::Round;
use crate::link::Linker;
use crate::op::{Flag, Op, Order, Scope, Slot};
use crate::syntax::{Instruction, Kind, Operand, Space, Type, VariableId};

/// Any 32 bits.
const WORD: Type = Type {
    kind: Kind::Bits,
    bits: 32,
    pair: false,
};

/// Any 64 bits: a matrix descriptor, the state of an mbarrier object, or a cache policy.
const LONG: Type = Type {
    kind: Kind::Bits,
    bits: 64,
    pair: false,
};

/// The modifiers of an instruction that are not decoded yet.
struct Words<'i> {
    left: SmallVec<[&'i str; 10]>,
}

impl Words<'_> {
    /// Removes a modifier. Returns whether it was there.
    fn take(&mut self, word: &str) -> bool {
        match self.left.iter().position(|&left| left == word) {
            Some(at) => {
                self.left.remove(at);
                true
            }
            None => false,
        }
    }

    /// Removes the first of these modifiers that is there.
    fn take_one<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        words
            .iter()
            .find(|(word, _)| self.take(word))
            .map(|&(_, meaning)| meaning)
    }

    /// Removes the first type. `None` if few instructions have it: pairs of integers and 8-bit floats.
    fn ty(&mut self) -> Option<Type> {
        self.any_ty().filter(|ty| match ty.kind {
            Kind::E4m3 | Kind::E5m2 => false,
            Kind::Signed | Kind::Unsigned => !ty.pair,
            _ => true,
        })
    }

    /// Removes the first type, whatever it is.
    fn any_ty(&mut self) -> Option<Type> {
        let at = self
            .left
            .iter()
            .position(|word| Type::from_word(word).is_some())?;
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

    /// Drops hints that affect only performance, such as cache levels.
    fn drop_hints(&mut self) {
        self.left.retain(|word| {
            !(word.starts_with("L1::")
                || word.starts_with("L2::")
                || matches!(*word, "ca" | "cg" | "cs" | "cv" | "lu" | "wb" | "wt" | "nc"))
        });
    }

    /// Removes a memory order and a scope, if there are any. `volatile` accesses are relaxed.
    fn order(&mut self) -> (Option<Order>, Option<Scope>) {
        let order = self.take_one(&[
            ("weak", Order::Weak),
            ("volatile", Order::Relaxed),
            ("relaxed", Order::Relaxed),
            ("acquire", Order::Acquire),
            ("release", Order::Release),
            ("acq_rel", Order::AcquireRelease),
            ("sc", Order::Sequential),
        ]);
        self.take("mmio");
        (order, self.scope())
    }

    fn scope(&mut self) -> Option<Scope> {
        self.take_one(&[
            ("cta", Scope::Block),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ])
    }

    fn space(&mut self) -> Space {
        self.take_one(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::Cluster),
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

/// Decodes one instruction; `None` if it is unsupported.
pub(crate) fn decode(linker: &mut Linker<'_>, instruction: &Instruction) -> Option<Op> {
    let mut all = instruction.opcode.iter().map(|word| &**word);
    let name = all.next()?;
    let mut words = Words { left: all.collect() };
    let operands = &instruction.operands;
    let decoders = [
        arithmetic::decode,
        memory::decode,
        matrix::decode,
        control::decode,
        mbarrier::decode,
        bulk::decode,
        tensormap::decode,
        fence::decode,
        wgmma::decode,
    ];
    let op = decoders.into_iter().find_map(|decode| {
        // An earlier decoder may have removed some modifiers.
        words.left = instruction.opcode.iter().skip(1).map(|word| &**word).collect();
        decode(linker, name, &mut words, operands)
    })?;
    words.is_empty().then_some(op)
}

impl Linker<'_> {
    /// Returns the register, or the constant's register.
    fn source_slot(&mut self, operand: &Operand, ty: Type) -> Option<Slot> {
        match *operand {
            Operand::Register(number) => self.register(number),
            Operand::Single(bits) => Some(self.constant(bits.into())),
            Operand::Double(bits) if ty.kind == Kind::Float && ty.bits == 32 => {
                Some(self.constant((f64::from_bits(bits) as f32).to_bits().into()))
            }
            Operand::Int(bits) | Operand::Double(bits) => Some(self.constant(bits)),
            Operand::Special(special) => Some(self.special(special)),
            // The 32-bit address of a parameter is its offset.
            Operand::Symbol(named, offset)
                if ty.bits == 32 && self.variable(named).is_none_or(|of| of.space != Space::Shared) =>
            {
                let address = self.address_of(named)?.wrapping_add_signed(offset);
                Some(self.constant(address & 0xffff_ffff))
            }
            Operand::Symbol(named, offset) => self.address_slot(named, offset),
            Operand::Vector(ref all) if all.len() == 1 => self.source_slot(all.first()?, ty),
            _ => None,
        }
    }

    /// Returns the destination register.
    fn target_slot(&mut self, operand: &Operand) -> Option<Slot> {
        match *operand {
            Operand::Register(number) => self.register(number),
            Operand::Nothing => Some(Self::SINK),
            Operand::Vector(ref all) if all.len() == 1 => self.target_slot(all.first()?),
            _ => None,
        }
    }

    /// Returns the predicate that the instruction reads.
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

    /// Returns the predicate that the instruction writes.
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

/// Returns the elements of a vector operand, or the operand itself.
fn vector_elements(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(all) => all,
        one => std::slice::from_ref(one),
    }
}

const fn is_predicate(operand: &Operand) -> bool {
    matches!(operand, Operand::Predicate { .. })
}

/// Returns the callee.
const fn called_function(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Symbol(VariableId::Function(number), 0) => Some(*number),
        _ => None,
    }
}
