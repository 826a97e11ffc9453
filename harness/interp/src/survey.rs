//! Analyses a kernel's values before the first program of a launch runs: integers, pointers and masks that follow a rule of
//! the program id and the lane's index. Such operations are executed once for the whole grid, and a program only inserts
//! its id into the rules. If a rule shows that an access is in bounds for every program, or that programs can't meet in a
//! storage, no program checks it again.
//!
//! Operations whose result doesn't follow a rule are *due* in every program, as all operations are in a launch of few
//! programs.
//!
//! Invariants: a program sees in each slot the value that executing its operation would have stored; an omitted operation
//! could not have stopped the program; the used fuel is the same.

use cerith_memory::{Memory, ORIGIN, StorageId};
use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Elem, OpKind};
use smallvec::SmallVec;

use crate::affine::{Affine, Extents, MaskRule, RANK, decode_integer};
use crate::checks::{Home, conflicting_lanes, init};
use crate::movement::{permute_dimensions, same_extents};
use crate::program::{Accessed, Code, Op, Program, Slot, Step};
use crate::value::{Layout, Repr, Value};

/// The dimensions of a rule: three of the program id, then those of lanes.
const WIDE: usize = 3 + RANK;

type Wide = Affine<WIDE>;

/// A value that is known for all programs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum KnownValue {
    /// Integers or pointers.
    Rule(Wide),
    /// A truth value, the same in every lane of every program.
    All(bool),
}

/// An operation that every program has to execute.
#[derive(Debug)]
pub struct Due<'a> {
    /// The operation.
    pub step: &'a Step,
    /// Its work and that of the operations before it that are not due.
    pub cost: u64,
    /// Values that nothing after it uses.
    pub frees: SmallVec<[Slot; 4]>,
}

/// A known value that some program needs.
#[derive(Debug)]
pub struct Rule {
    /// The slot of the value.
    pub slot: Slot,
    /// The value in the program with id (0, 0, 0).
    first: Repr,
    /// The increment for a step along each axis of the grid.
    programs: [i64; 3],
    /// The bits of an element.
    element_mask: u64,
    /// For a pointer whose lanes are elements that follow each other, all of them aligned and inside of the pointer's
    /// storage, whatever the program: where in the arena they begin.
    index: Option<usize>,
}

impl Rule {
    /// A program's value, and the index of its first element if the elements are contiguous.
    #[inline]
    pub fn evaluate(&self, id: [u32; 3]) -> (Repr, Option<usize>) {
        let moved = self.programs.iter().zip(id).fold(0i64, |sum, (&stride, at)| {
            sum.wrapping_add(stride.wrapping_mul(i64::from(at)))
        });
        let repr = match self.first {
            Repr::Uniform(bits) => {
                Repr::Uniform((bits as i64).wrapping_add(moved) as u64 & self.element_mask)
            }
            Repr::Affine(rule) => Repr::Affine(Affine {
                base: rule.base.wrapping_add(moved),
                ..rule
            }),
            other => other,
        };
        (
            repr,
            self.index.map(|index| index.wrapping_add_signed(moved as isize)),
        )
    }
}

/// The work of a launch for each program.
#[derive(Debug, Default)]
pub struct Survey<'a> {
    /// Operations that every program executes.
    pub due: Vec<Due<'a>>,
    /// The work of the operations after the last that is due.
    pub trailing_cost: u64,
    /// Values that follow from the program's id.
    pub rules: Vec<Rule>,
    /// For each slot, whether it is a pointer to storages in which no two programs share a byte.
    pub(crate) disjoint: Vec<bool>,
    /// Whether all pointers are.
    pub(crate) all_disjoint: bool,
    /// For each slot, whether it is a pointer to bytes that are defined, whatever the launch has done so far.
    pub defined: Vec<bool>,
}

impl<'a> Survey<'a> {
    /// Looks at a kernel whose prologue was executed. `homes` are the storages that parameters point into.
    pub fn new<'h>(
        program: &'a Program,
        slots: &[Value],
        memory: &Memory,
        grid: [u32; 3],
        home: impl Fn(Slot) -> Option<&'h Home>,
    ) -> Self {
        let mut known = Knowledge {
            program,
            slots,
            grid,
            results: vec![None; program.layouts.len()],
        };
        let mut survey = Self::default();
        let mut needed = vec![false; program.layouts.len()];
        let mut frees = SmallVec::<[Slot; 4]>::new();
        for step in &program.body.steps {
            survey.trailing_cost = survey.trailing_cost.saturating_add(step.cost);
            frees.extend_from_slice(&step.frees);
            if let (&[out], Some(value)) = (step.outs.as_slice(), known.infer_result(step))
                && let Some(to) = known.results.get_mut(out as usize)
            {
                *to = Some(value);
                continue;
            }
            visit_uses(step, &mut |slot| {
                if let Some(needed) = needed.get_mut(slot as usize) {
                    *needed = true;
                }
            });
            survey.due.push(Due {
                step,
                cost: std::mem::take(&mut survey.trailing_cost),
                frees: std::mem::take(&mut frees),
            });
        }
        for (slot, (&value, needed)) in known.results.iter().zip(needed).enumerate() {
            if let (Some(value), true) = (value, needed) {
                let slot = slot as Slot;
                survey
                    .rules
                    .push(known.build_rule(slot, value, memory, home(slot)));
            }
        }
        let accesses: Vec<Meeting<'_>> = program
            .accesses
            .iter()
            .map(|access| Meeting {
                access,
                storage: home(access.pointer).map(|home| home.storage),
                rule: match known.find_value(access.pointer) {
                    Some(KnownValue::Rule(rule)) => Some(rule),
                    _ => None,
                },
                extents: known.extents(access.pointer),
            })
            .collect();
        survey.disjoint = vec![false; program.layouts.len()];
        survey.all_disjoint = true;
        for meeting in &accesses {
            let apart = meeting.is_disjoint(&accesses);
            survey.all_disjoint &= apart;
            if let Some(to) = survey.disjoint.get_mut(meeting.access.pointer as usize) {
                *to = apart;
            }
        }
        let programs = grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        survey.defined = find_defined(&accesses, program, memory, programs);
        survey
    }
}

/// Returns, for each slot, whether it is a pointer to a fully defined storage that the launch only reads. The check reads
/// the storage once, so it is limited to storages no larger than the programs' blocks together.
fn find_defined(accesses: &[Meeting<'_>], program: &Program, memory: &Memory, programs: u64) -> Vec<bool> {
    let mut defined = vec![false; program.layouts.len()];
    let written = |storage| {
        let changes = |one: &&Meeting<'_>| one.access.writes || one.access.atomic;
        let mut changed = accesses.iter().filter(changes);
        changed.any(|one| one.storage.is_none_or(|other| other == storage))
    };
    let mut asked: SmallVec<[(StorageId, bool); 4]> = SmallVec::new();
    for one in accesses
        .iter()
        .filter(|one| !one.access.writes && !one.access.atomic)
    {
        let slot = one.access.pointer as usize;
        let (Some(storage), Some(layout)) = (one.storage, program.layouts.get(slot)) else {
            continue;
        };
        let reach = (layout.lanes as u64)
            .saturating_mul(one.access.size as u64)
            .saturating_mul(programs);
        if (memory.size(storage) as u64) > reach || memory.is_sparse(storage) {
            continue;
        }
        let known = asked
            .iter()
            .find(|(id, _)| *id == storage)
            .map(|&(_, known)| known);
        let known = known.unwrap_or_else(|| {
            let known =
                !written(storage) && init::classify_bytes(memory.states(storage)) == init::InitState::All;
            asked.push((storage, known));
            known
        });
        if let Some(to) = defined.get_mut(slot) {
            *to = known;
        }
    }
    defined
}

/// An access of the kernel, with its known addresses.
struct Meeting<'a> {
    access: &'a Accessed,
    /// The only storage that it may reach.
    storage: Option<StorageId>,
    rule: Option<Wide>,
    extents: Extents<WIDE>,
}

impl Meeting<'_> {
    /// Whether no two programs can access one byte through this pointer, with at least one write.
    fn is_disjoint(&self, all: &[Self]) -> bool {
        let meets = |other: &&Self| match (self.storage, other.storage) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        if !all.iter().filter(meets).any(|other| other.access.writes) {
            return true;
        }
        let size = self.access.size;
        let Some(rule) = self.rule.filter(|_| self.storage.is_some()) else {
            return false;
        };
        let dimensions = rule.strides.iter().copied().zip(self.extents);
        !conflicting_lanes::may_overlap(dimensions, size)
            && all.iter().filter(meets).all(|other| {
                !other.access.atomic
                    && other.storage == self.storage
                    && (other.rule, other.extents, other.access.size) == (self.rule, self.extents, size)
            })
    }
}

/// Calls `f` with every slot that an operation may read.
fn visit_uses(step: &Step, f: &mut impl FnMut(Slot)) {
    fn visit_code(code: &Code, f: &mut impl FnMut(Slot)) {
        for step in &code.steps {
            visit_uses(step, f);
        }
        for yielded in &code.yields {
            f(yielded.slot);
        }
    }
    for &slot in &step.ins {
        f(slot);
    }
    match &step.op {
        Op::For(body) | Op::Reduce { code: body, .. } | Op::Scan { code: body, .. } => visit_code(body, f),
        Op::If(one, other) | Op::While(one, other) => {
            visit_code(one, f);
            visit_code(other, f);
        }
        Op::Plain(_) | Op::Binary(_) | Op::Unary(_) => {}
    }
}

struct Knowledge<'a, 's> {
    program: &'a Program,
    /// The values from the prologue.
    slots: &'s [Value],
    grid: [u32; 3],
    results: Vec<Option<KnownValue>>,
}

impl Knowledge<'_, '_> {
    fn layout(&self, slot: Slot) -> Layout {
        self.program
            .layouts
            .get(slot as usize)
            .copied()
            .unwrap_or(Layout::EMPTY)
    }

    fn extents(&self, slot: Slot) -> Extents<WIDE> {
        let ([x, y, z], [a, b, c, d]) = (self.grid, self.layout(slot).extents);
        [x, y, z, a, b, c, d]
    }

    /// A value, if it is known.
    fn find_value(&self, slot: Slot) -> Option<KnownValue> {
        if let Some(known) = self.results.get(slot as usize).copied().flatten() {
            return Some(known);
        }
        // Parameters and what the prologue computed.
        if !self
            .program
            .persistent
            .get(slot as usize)
            .is_some_and(|&kept| kept)
        {
            return None;
        }
        let value = self
            .slots
            .get(slot as usize)
            .filter(|value| value.poison.is_none())?;
        let elem = self.layout(slot).elem;
        match value.repr {
            Repr::Uniform(bits) if elem == Elem::Num(DType::I1) => Some(KnownValue::All(bits & 1 == 1)),
            Repr::Uniform(bits) => {
                decode_integer(bits, elem).map(|base| KnownValue::Rule(Affine::constant(base)))
            }
            Repr::Affine(rule) => Some(KnownValue::Rule(widen_rule(rule.base, rule.strides))),
            Repr::Mask(_) | Repr::Dense => None,
        }
    }

    fn find_number(&self, slot: Slot) -> Option<Wide> {
        match self.find_value(slot)? {
            KnownValue::Rule(rule) => Some(rule),
            KnownValue::All(_) => None,
        }
    }

    fn find_truth(&self, slot: Slot) -> Option<bool> {
        match self.find_value(slot)? {
            KnownValue::All(all) => Some(all),
            KnownValue::Rule(_) => None,
        }
    }

    /// The result of an operation in every program, if it is known.
    fn infer_result(&self, step: &Step) -> Option<KnownValue> {
        let out = *step.outs.first()?;
        let operand = |nth: usize| step.ins.get(nth).copied();
        let rule = match &step.op {
            Op::Binary(op) if self.layout(out).elem == Elem::Num(DType::I1) => {
                let (x, y) = (self.find_truth(operand(0)?)?, self.find_truth(operand(1)?)?);
                return match op {
                    BinaryOp::And => Some(KnownValue::All(x && y)),
                    BinaryOp::Or => Some(KnownValue::All(x || y)),
                    BinaryOp::Xor => Some(KnownValue::All(x != y)),
                    _ => None,
                };
            }
            Op::Binary(op) => {
                let (x, y) = (self.find_number(operand(0)?)?, self.find_number(operand(1)?)?);
                let constant = |rule: Wide| (rule.strides == [0; WIDE]).then_some(rule.base);
                match op {
                    BinaryOp::Add => x.add(y)?,
                    BinaryOp::Sub => x.sub(y)?,
                    BinaryOp::Mul => match (constant(x), constant(y)) {
                        (_, Some(by)) => x.scale(by)?,
                        (Some(by), _) => y.scale(by)?,
                        _ => return None,
                    },
                    // A shift by the width or more has no defined value.
                    BinaryOp::Shl => {
                        let width = i64::from(self.layout(out).elem.num()?.bits());
                        x.scale(1 << constant(y).filter(|by| (0..width.min(31)).contains(by))?)?
                    }
                    _ => return None,
                }
            }
            Op::Plain(OpKind::ProgramId(axis)) => {
                let mut strides = [0; WIDE];
                *strides.iter_mut().take(3).nth(usize::from(*axis))? = 1;
                Affine { base: 0, strides }
            }
            Op::Plain(OpKind::Compare(predicate)) => {
                let a = operand(0)?;
                let (x, y) = (self.find_number(a)?, self.find_number(operand(1)?)?);
                return match x.compare(*predicate, y, &self.extents(a))? {
                    MaskRule::Uniform(all) => Some(KnownValue::All(all)),
                    MaskRule::Box(_) => None,
                };
            }
            Op::Plain(OpKind::AddPtr) => {
                let size = self.layout(out).elem.pointee().map_or(1, Elem::size) as i64;
                self.find_number(operand(0)?)?
                    .add(self.find_number(operand(1)?)?.scale(size)?)?
            }
            Op::Plain(
                kind @ (OpKind::Splat | OpKind::Broadcast | OpKind::Reshape { .. } | OpKind::Trans { .. }),
            ) => {
                let a = operand(0)?;
                match self.find_value(a)? {
                    KnownValue::All(all) => return Some(KnownValue::All(all)),
                    KnownValue::Rule(rule) => Self::remap_rule(rule, self.map_dimensions(kind, a, out)?),
                }
            }
            // Within the range of both types, casts between integers and pointers change nothing.
            Op::Plain(OpKind::Cast { .. }) => self.find_number(operand(0)?)?,
            _ => return None,
        };
        let layout = self.layout(out);
        let rule = rule
            .check_range(layout.elem, &self.extents(out))
            .filter(|_| layout.ruled)?;
        Some(KnownValue::Rule(rule))
    }

    /// For each dimension of the result, the dimension of the operand.
    fn map_dimensions(&self, kind: &OpKind, from: Slot, to: Slot) -> Option<[Option<usize>; RANK]> {
        let (source, layout) = (self.layout(from), self.layout(to));
        if !source.ruled || !layout.ruled {
            return None;
        }
        match kind {
            OpKind::Trans { order } => Some(permute_dimensions(order)),
            OpKind::Reshape { .. } => same_extents(&source, &layout),
            _ => {
                let mut dimensions = [None; RANK];
                for (d, (to, &extent)) in dimensions.iter_mut().zip(&source.extents).enumerate() {
                    *to = (extent != 1).then_some(d);
                }
                Some(dimensions)
            }
        }
    }

    /// A rule seen through other extents.
    fn remap_rule(rule: Wide, from: [Option<usize>; RANK]) -> Wide {
        let [x, y, z, lanes @ ..] = rule.strides;
        let stride = |source: Option<usize>| source.and_then(|d| lanes.get(d)).copied().unwrap_or(0);
        let [a, b, c, d] = from.map(stride);
        Affine {
            base: rule.base,
            strides: [x, y, z, a, b, c, d],
        }
    }

    /// Builds the rule that computes a known value in each program.
    fn build_rule(&self, slot: Slot, value: KnownValue, memory: &Memory, home: Option<&Home>) -> Rule {
        let layout = self.layout(slot);
        let (first, programs, index) = match value {
            KnownValue::All(all) => (Repr::Uniform(u64::from(all)), [0; 3], None),
            KnownValue::Rule(rule) => {
                let [x, y, z, strides @ ..] = rule.strides;
                let lanes = Affine {
                    base: rule.base,
                    strides,
                };
                let first = match lanes.as_uniform(&layout.extents) {
                    Some(all) => Repr::Uniform(all as u64),
                    None => Repr::Affine(lanes),
                };
                (first, [x, y, z], self.index(slot, rule, memory, home))
            }
        };
        Rule {
            slot,
            first,
            programs,
            element_mask: layout.element_mask(),
            index,
        }
    }

    /// Returns the start of the elements of program (0, 0, 0), if every program's elements are consecutive, aligned, and
    /// inside of the storage that the pointer was made from.
    fn index(&self, slot: Slot, rule: Wide, memory: &Memory, home: Option<&Home>) -> Option<usize> {
        let layout = self.layout(slot);
        let size = layout.elem.pointee()?.size() as i64;
        let mut stride = size;
        for (&own, &extent) in rule.strides.iter().zip(&self.extents(slot)).skip(3).rev() {
            if extent != 1 && own != stride {
                return None;
            }
            stride = stride.checked_mul(i64::from(extent))?;
        }
        let aligned = |number: i64| number % size == 0;
        let (low, high) = rule.bounds(&self.extents(slot))?;
        let start = low.checked_sub(ORIGIN as i64)?;
        let end = high.checked_sub(ORIGIN as i64)?.checked_add(size)?;
        let home = home.filter(|home| !home.sparse)?;
        let inside =
            home.start as i64 <= start && end <= home.end as i64 && home.end <= memory.arena().0.len();
        let even = aligned(rule.base) && rule.strides.iter().take(3).copied().all(aligned);
        let index = rule.base.checked_sub(ORIGIN as i64)?;
        usize::try_from(index).ok().filter(|_| inside && even)
    }
}

/// A rule of lanes only.
fn widen_rule(base: i64, [a, b, c, d]: [i64; RANK]) -> Wide {
    Affine {
        base,
        strides: [0, 0, 0, a, b, c, d],
    }
}
