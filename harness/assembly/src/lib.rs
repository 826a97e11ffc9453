//! PTX inside of kernels (`tl.inline_asm_elementwise`, `tt.elementwise_inline_asm`) as operations of the IR.
//!
//! `text` parses a snippet, and `machine` executes it on registers whose values are blocks of lanes. Instructions have
//! the meaning of the PTX ISA. Elements are packed into registers as in Triton's compiler
//! (`ElementwiseInlineAsmOpConversion`): elements of less than 32 bits share a register, up to the pack size. An
//! unsupported instruction rejects the kernel, with its text.
//!
//! Triton doesn't define which elements form a pack ("exactly which elements a piece of assembly processes is
//! unspecified"). Here packs consist of neighbours, and a kernel is rejected if a result depends on any element except
//! its own.
//!
//! Unsupported: branches and loops, memory, special registers, and communication between threads (`shfl`, `redux`).
//!
//! Invariants: no IO; depends on no engine; no panic on any input; the output is linear in the text.
#![warn(missing_docs)]

mod constraint;
mod convert;
mod float;
mod integer;
mod machine;
mod packs;
mod refusal;
mod text;
mod word;

use cerith_tile::DType;
use cerith_tile::ir::{Builder, Elem, OpKind, ValueId};

use self::constraint::{Constraints, OperandKind};
use self::machine::{Machine, bitcast, element_dtype};
use self::packs::Packs;
use self::refusal::Assembled;
pub use self::refusal::Refusal;
use self::text::Instruction;
use self::word::{Word, unsigned_dtype};

/// Maximum elements of one instance of a snippet.
pub const MOST_PACKED: usize = 16;

/// An argument of a snippet.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The tensor.
    pub value: ValueId,
    /// Its bits, if it is a constant.
    pub known_bits: Option<u64>,
}

/// A call of `tl.inline_asm_elementwise`.
#[derive(Clone, Debug)]
pub struct Snippet<'s> {
    /// The assembly.
    pub asm: &'s str,
    /// Its constraints.
    pub constraints: &'s str,
    /// The number of elements of one instance.
    pub pack: usize,
    /// The dtypes of its results.
    pub dtypes: Vec<DType>,
}

impl Snippet<'_> {
    /// Returns an upper bound on the number of statements.
    pub fn statements(&self) -> usize {
        self.asm.matches(';').count()
    }
}

/// Appends a snippet's operations. The arguments have one shape.
///
/// # Errors
/// The snippet has an unsupported part, or does not fit its arguments and results.
pub fn assemble(
    builder: &mut Builder,
    snippet: &Snippet<'_>,
    arguments: &[Argument],
) -> Result<Vec<ValueId>, Refusal> {
    let constraints = constraint::parse(snippet.constraints).map_err(Refusal::unknown)?;
    let statements = text::parse(snippet.asm).map_err(Refusal::unknown)?;
    let whole = arguments
        .first()
        .map(|argument| builder.ty(argument.value).clone())
        .filter(|ty| ty.block)
        .map(|ty| ty.shape);
    let packs = Packs::new(whole.as_ref(), snippet.pack);
    let mut inputs = Vec::new();
    for argument in arguments {
        let elements = packs.split_block(builder, argument.value)?;
        inputs.push((argument, elements));
    }
    let mut machine = Machine::new(builder, packs.shape(), Vec::new());
    let outputs = registers_of_results(snippet, &constraints)?;
    let mut registers: Vec<(u32, Option<Word>)> = outputs.iter().map(|&bits| (bits, None)).collect();
    let mut places = constraints.inputs.iter();
    for (argument, elements) in inputs {
        for word in machine.load_argument(argument, &elements, snippet.pack)? {
            let Some(place) = places.next() else {
                return Err(refuse_mismatch());
            };
            match *place {
                OperandKind::Register(bits) => {
                    let word = machine.extend_argument(&word, bits)?;
                    registers.push((bits, Some(word)));
                }
                OperandKind::Number if word.known_bits.is_some() => {
                    let bits = word.bits.max(32);
                    let word = machine.resize_word(&word, bits, false)?;
                    registers.push((bits, Some(word)));
                }
                OperandKind::Number => {
                    return Err(Refusal::Wrong(
                        "the constraint `n` needs a number that is known".to_owned(),
                    ));
                }
                OperandKind::Tied(nth) => {
                    let Some(&bits) = outputs.get(nth) else {
                        return Err(refuse_mismatch());
                    };
                    let word = machine.extend_argument(&word, bits)?;
                    if let Some(register) = registers.get_mut(nth) {
                        register.1 = Some(word);
                    }
                }
            }
        }
    }
    if places.next().is_some() {
        return Err(refuse_mismatch());
    }
    machine.arguments = registers;
    machine.run(&statements)?;
    let results = machine.collect_results(snippet, &outputs)?;
    let mut blocks = Vec::with_capacity(results.len());
    for elements in results {
        blocks.push(packs.join_block(builder, elements)?);
    }
    Ok(blocks)
}

fn refuse_mismatch() -> Refusal {
    Refusal::Wrong("the constraints of the assembly do not fit its arguments and results".to_owned())
}

/// Returns the widths of the result registers.
fn registers_of_results(snippet: &Snippet<'_>, constraints: &Constraints) -> Assembled<Vec<u32>> {
    let wanted: usize = snippet
        .dtypes
        .iter()
        .map(|dtype| snippet.pack / count_per_register(dtype.bits(), snippet.pack))
        .sum();
    let widths: Vec<u32> = constraints
        .outputs
        .iter()
        .filter_map(|place| match place {
            OperandKind::Register(bits) => Some(*bits),
            _ => None,
        })
        .collect();
    if widths.len() != wanted {
        return Err(refuse_mismatch());
    }
    Ok(widths)
}

/// Returns the number of elements in a register.
fn count_per_register(bits: u32, pack: usize) -> usize {
    if bits < 32 {
        (32 / bits as usize).min(pack)
    } else {
        1
    }
}

impl Machine<'_> {
    /// Loads an argument into registers.
    fn load_argument(
        &mut self,
        argument: &Argument,
        elements: &[ValueId],
        pack: usize,
    ) -> Assembled<Vec<Word>> {
        let mut words = Vec::with_capacity(pack);
        for place in 0..pack {
            let value = if let Some(&value) = elements.get(place) {
                self.as_bits(value)?
            } else {
                let first = elements.first().map_or(32, |&value| self.bits_of_element(value));
                self.emit_operation(OpKind::Poison, &[], unsigned_dtype(first))
            };
            let bits = self.bits_of_element(value);
            // A constant is the same in every element.
            let from = if argument.known_bits.is_some() {
                0
            } else {
                1 << place
            };
            let mut word = Word::from_value(value, bits, from);
            word.known_bits = argument.known_bits;
            words.push(word);
        }
        let bits = words.first().map_or(32, |word| word.bits);
        if bits == 1 {
            return Err(Refusal::unknown("a boolean argument"));
        }
        let mut registers = Vec::new();
        for words in words.chunks(count_per_register(bits, pack)) {
            registers.push(self.join(words)?);
        }
        Ok(registers)
    }

    fn bits_of_element(&self, value: ValueId) -> u32 {
        element_dtype(self.builder, value).map_or(64, DType::bits)
    }

    /// Converts a pointer to its address; keeps numbers.
    fn as_bits(&mut self, value: ValueId) -> Assembled<ValueId> {
        if self.builder.ty(value).elem.is_ptr() {
            return bitcast(self.builder, value, Elem::Num(DType::U64));
        }
        Ok(value)
    }

    /// Extends an argument to the register of its constraint. The compiler fills the high bits with zeros.
    fn extend_argument(&mut self, word: &Word, bits: u32) -> Assembled<Word> {
        if word.bits > bits {
            return Err(Refusal::unknown("an argument that is wider than its register"));
        }
        self.resize_word(word, bits, false)
    }

    /// Collects the results, by position in the pack.
    fn collect_results(&mut self, snippet: &Snippet<'_>, widths: &[u32]) -> Assembled<Vec<Vec<ValueId>>> {
        let mut registers = Vec::with_capacity(widths.len());
        for (nth, &bits) in widths.iter().enumerate() {
            let word = self.arguments.get(nth).and_then(|register| register.1.clone());
            registers.push(match word {
                Some(word) => word,
                None => self.emit_poison(bits),
            });
        }
        let mut registers = registers.into_iter();
        let mut results = Vec::with_capacity(snippet.dtypes.len());
        for &dtype in &snippet.dtypes {
            let bits = dtype.bits();
            let shared = count_per_register(bits, snippet.pack);
            let mut elements = Vec::with_capacity(snippet.pack);
            for _ in 0..snippet.pack / shared {
                let Some(register) = registers.next() else {
                    return Err(refuse_mismatch());
                };
                if register.bits < bits * shared as u32 || bits == 1 {
                    return Err(Refusal::unknown(format_args!("a result of {}", dtype.name())));
                }
                let parts = self.split(&register, (register.bits / bits) as usize)?;
                for part in parts.into_iter().take(shared) {
                    let own = 1 << elements.len();
                    if part.all() & !own != 0 {
                        return Err(Refusal::unknown(
                            "an element that depends on others of its pack, which are not defined,",
                        ));
                    }
                    elements.push(self.convert_dtype(&part, dtype)?);
                }
            }
            results.push(elements);
        }
        Ok(results)
    }

    /// Executes an instruction. Returns `None` if it is unsupported.
    fn execute(&mut self, i: &Instruction) -> Assembled<Option<()>> {
        let stem = i.name.first().map_or("", String::as_str);
        match stem {
            "mov" => return self.lower_mov(i),
            "cvt" => return self.lower_cvt(i),
            "setp" => return self.lower_setp(i),
            // Every thread's earlier operations come before every thread's later ones here, so a barrier has no effect.
            "bar" | "barrier"
                if i.operands == [text::Operand::Int(0)]
                    && i.name.get(1).is_some_and(|how| how == "sync") =>
            {
                self.builder.add_effect(OpKind::Barrier, &[]);
                return Ok(Some(()));
            }
            // The launcher decides whether launches overlap.
            "griddepcontrol" if i.operands.is_empty() => return Ok(Some(())),
            _ => {}
        }
        let word = match self.lower_integer(i)? {
            Some(word) => Some(word),
            None => self.lower_float(i)?,
        };
        match word {
            Some(word) => self.write_result(i, word),
            None => Ok(None),
        }
    }
}
