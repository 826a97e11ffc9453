//! Elements of memory that store the same value of the program. Rounding and order make a value uncertain, but the same
//! value has the same bits everywhere a launch stores it.
//!
//! Values are the same only if they are one value of the IR: two computations of the same expression may be compiled
//! differently. A lane keeps its identity through operations that move it, through `where`, casts of its bits, `x + 0.0`
//! and `x * 1.0`. `x + 0.0` changes the sign of a zero, which is recorded. Not tracked: identity through memory (a loaded
//! value is a new one), and launches with atomics whose order matters.

use std::collections::BTreeMap;
use std::rc::Rc;

use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CastKind, OpKind};
use cerith_tile::numeric::decode;

mod follow;

use cerith_interp::elementwise::compute_dtype;
use cerith_interp::program::{Code, Op, Program, Slot, Step};

/// The identity of a lane: a number from 1 on that no other value has. A lane without an identity has 0.
type Identity = u32;

/// A flag of an identity: the lane went through `x + 0.0`.
const ZERO_SIGN: Identity = 1 << 31;

/// The maximum number of recorded elements.
const MAX_ELEMENTS: usize = 1 << 20;

/// An element of memory that holds a value of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredElement {
    /// The storage.
    pub storage: StorageId,
    /// The element's first byte.
    pub byte: usize,
    /// The dtype of the store.
    pub dtype: DType,
    /// Whether the sign of a zero may differ from its sign in the other elements.
    pub any_zero: bool,
}

/// The stored elements that have an identity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Identities {
    next: Identity,
    elements: BTreeMap<(StorageId, usize), (Identity, DType)>,
}

impl Identities {
    fn clear(&mut self, storage: StorageId, byte: usize, size: usize) {
        let around = (storage, byte.saturating_sub(7))..(storage, byte + size);
        let over: Vec<_> = self
            .elements
            .range(around)
            .filter(|((_, start), (_, dtype))| start + dtype.size() > byte)
            .map(|(&at, _)| at)
            .collect();
        for at in over {
            self.elements.remove(&at);
        }
    }

    pub(super) fn clear_all(&mut self) {
        self.elements.clear();
    }
}

/// The origin of the identities of a slot's lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// They have no identities, or none that matter.
    None,
    /// They are new values.
    New,
    /// They are lanes of the operands.
    Moved,
}

/// The identities of a program's values.
#[derive(Debug)]
pub(super) struct Tracking {
    origins: Vec<Origin>,
    lanes: BTreeMap<Slot, Rc<[Identity]>>,
    /// Slots with the same constant number in all lanes, and that number.
    constants: BTreeMap<Slot, f64>,
}

/// The definition of a slot.
#[derive(Clone, Copy)]
struct Definition<'p> {
    step: &'p Step,
    depth: usize,
}

/// The parts of a program that determine identities.
#[derive(Default)]
struct Text<'p> {
    definitions: BTreeMap<Slot, Definition<'p>>,
    /// The stored values, each with the number of loops around its store.
    stores: Vec<(Slot, usize)>,
    constants: BTreeMap<Slot, f64>,
}

impl<'p> Text<'p> {
    fn read(&mut self, program: &Program, code: &'p Code, depth: usize) {
        for step in &code.steps {
            for &out in &step.outs {
                self.definitions.insert(out, Definition { step, depth });
            }
            match &step.op {
                Op::Plain(OpKind::Store { .. }) => {
                    self.stores.extend(step.ins.get(1).map(|&slot| (slot, depth)));
                }
                Op::For(body) => self.read(program, body, depth + 1),
                Op::If(one, other) => {
                    self.read(program, one, depth);
                    self.read(program, other, depth);
                }
                Op::While(one, other) => {
                    self.read(program, one, depth + 1);
                    self.read(program, other, depth + 1);
                }
                Op::Plain(kind) => {
                    let Some(&out) = step.outs.first() else {
                        continue;
                    };
                    let number = match kind {
                        OpKind::Constant(bits) => {
                            let dtype = program.layouts[out as usize].elem.num();
                            dtype
                                .filter(|dtype| dtype.is_float())
                                .map(|dtype| decode(dtype, *bits))
                        }
                        OpKind::Splat | OpKind::Broadcast | OpKind::Reshape { .. } => step
                            .ins
                            .first()
                            .and_then(|slot| self.constants.get(slot).copied()),
                        _ => None,
                    };
                    if let Some(number) = number {
                        self.constants.insert(out, number);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The operands whose lanes an operation moves, and whether it may copy one lane several times. `None` for any other operation.
fn find_moved<'p>(
    step: &'p Step,
    constants: &BTreeMap<Slot, f64>,
    program: &Program,
) -> Option<(&'p [Slot], bool)> {
    let size = |slot: Slot| program.layouts[slot as usize].size;
    let first = step.ins.get(..1)?;
    match &step.op {
        Op::Plain(OpKind::Splat | OpKind::Broadcast) => Some((first, true)),
        // An operation that may reorder lanes makes new values.
        Op::Plain(
            OpKind::Reshape { reorder: false } | OpKind::Trans { .. } | OpKind::Hint { .. } | OpKind::Split,
        ) => Some((first, false)),
        Op::Plain(OpKind::Join | OpKind::Cat { reorder: false }) => Some((step.ins.get(..2)?, false)),
        Op::Plain(OpKind::Select) => Some((step.ins.get(1..3)?, false)),
        Op::Plain(OpKind::Cast {
            kind: CastKind::Bits, ..
        }) if size(step.ins[0]) == size(*step.outs.first()?) => Some((first, false)),
        Op::Binary(_) => find_unchanged(step, constants).map(|(nth, _)| (&step.ins[nth..=nth], false)),
        _ => None,
    }
}

/// The operand that a sum or a product with a constant leaves unchanged, and whether the sign of a zero may change.
fn find_unchanged(step: &Step, constants: &BTreeMap<Slot, f64>) -> Option<(usize, bool)> {
    let [x, y] = *step.ins.as_slice() else {
        return None;
    };
    let constant = |slot: Slot| constants.get(&slot).copied();
    match step.op {
        Op::Binary(BinaryOp::Add) => match (constant(x), constant(y)) {
            (_, Some(0.0)) => Some((0, true)),
            (Some(0.0), _) => Some((1, true)),
            _ => None,
        },
        Op::Binary(BinaryOp::Sub) if constant(y) == Some(0.0) => Some((0, true)),
        Op::Binary(BinaryOp::Mul) => match (constant(x), constant(y)) {
            (_, Some(1.0)) => Some((0, false)),
            (Some(1.0), _) => Some((1, false)),
            _ => None,
        },
        _ => None,
    }
}

impl Tracking {
    /// The values to track, if a program may store one more than once.
    pub(super) fn from_program(program: &Program) -> Option<Self> {
        let mut prologue = Text::default();
        prologue.read(program, &program.prologue, 0);
        let mut text = Text {
            constants: prologue.constants,
            ..Text::default()
        };
        text.read(program, &program.body, 0);
        // The number of stores of each value, according to the program. Counting stops at two, because there are exponentially many
        // paths through operations with two operands.
        let mut stored: BTreeMap<Slot, usize> = BTreeMap::new();
        let mut origins = vec![Origin::None; program.layouts.len()];
        for &(value, depth) in &text.stores {
            let mut open = vec![(value, false)];
            while let Some((slot, several)) = open.pop() {
                let Some(definition) = text.definitions.get(&slot) else {
                    continue;
                };
                let several = several || depth > definition.depth;
                let times = stored.entry(slot).or_default();
                if *times >= 2 {
                    continue;
                }
                *times += if several { 2 } else { 1 };
                if let Some((from, copies)) = find_moved(definition.step, &text.constants, program) {
                    origins[slot as usize] = Origin::Moved;
                    open.extend(from.iter().map(|&slot| (slot, several || copies)));
                } else if compute_dtype(program.layouts[slot as usize].elem).is_float()
                    && !matches!(definition.step.op, Op::Plain(OpKind::Constant(_)))
                {
                    origins[slot as usize] = Origin::New;
                }
            }
        }
        for (slot, origin) in (0..).zip(&mut origins) {
            if *origin == Origin::New && stored.get(&slot).is_none_or(|&times| times < 2) {
                *origin = Origin::None;
            }
        }
        origins.contains(&Origin::New).then_some(Self {
            origins,
            lanes: BTreeMap::new(),
            constants: text.constants,
        })
    }
}
