//! Compiles a verified function into a program: slots for its values, their last uses, the operations that run once per
//! launch, and the accesses to memory. See [`crate::program`] for the program and [`crate::machine`] for running it.

use std::sync::{Arc, Mutex, OnceLock};

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, Block, CastKind, Elem, Function, OpKind, Operation, Rounding, UnaryOp, ValueId,
};
use smallvec::SmallVec;

use crate::checks::{divisions, masked_loads};
use crate::origin::find_origins;
use crate::outcome::InternalError;
use crate::program::{Accessed, Code, Op, Program, Region, Slot, Step, Yielded};
use crate::value::Layout;

/// Blocks may be nested this deep.
const NESTING: usize = 256;

impl Program {
    /// Makes a verified function ready. Fails only for a function that the verifier refuses.
    pub fn prepare(function: impl Into<Arc<Function>>) -> Result<Self, InternalError> {
        let function = function.into();
        let mut oversized = false;
        let layouts: Vec<Layout> = function
            .values
            .iter()
            .map(|info| {
                Layout::from_type(&info.ty).unwrap_or_else(|| {
                    oversized = true;
                    Layout::EMPTY
                })
            })
            .collect();
        let mut compiler = Compiler {
            layouts: &layouts,
            owners: vec![None; layouts.len()],
            used: vec![false; layouts.len()],
            stack: Vec::new(),
            accesses: 0,
            blocks: 0,
        };
        let mut kept = vec![false; layouts.len()];
        for param in &function.params {
            kept[compiler.define(param.value, 0)? as usize] = true;
        }
        let body = compiler.block(&function.body, None)?;
        let used = compiler.used;
        let (prologue, body) = split(body, &mut kept);
        let origins = find_origins(&function);
        let mut found = Vec::new();
        collect_accesses(&body, &layouts, false, &mut found);
        let prints = has_prints(&function.body);
        let divisions = divisions::find_divisions(&function);
        let masked_loads = masked_loads::find_masked_loads(&function);
        Ok(Self {
            function,
            layouts,
            prologue,
            body,
            persistent: kept,
            accesses: found,
            text: OnceLock::new(),
            classes: Mutex::default(),
            divisions,
            masked_loads,
            prints,
            used,
            origins,
            oversized,
        })
    }
}

fn has_prints(block: &Block) -> bool {
    block
        .ops
        .iter()
        .any(|op| matches!(op.kind, OpKind::Print { .. }) || op.kind.regions().any(has_prints))
}

/// Lists the operations that access memory, those of nested blocks included.
fn collect_accesses(code: &Code, layouts: &[Layout], looped: bool, to: &mut Vec<Accessed>) {
    for step in &code.steps {
        match &step.op {
            Op::Plain(kind) => {
                let (writes, atomic) = match kind {
                    OpKind::Load { .. } => (false, false),
                    OpKind::Store { .. } => (true, false),
                    OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. } => (true, true),
                    OpKind::AtomicPoll { .. } => (false, true),
                    _ => continue,
                };
                let pointee = |slot: &Slot| layouts.get(*slot as usize)?.elem.pointee();
                to.extend(step.ins.first().map(|pointer| Accessed {
                    pointer: *pointer,
                    size: pointee(pointer).map_or(1, Elem::size),
                    writes,
                    atomic,
                    looped,
                }));
            }
            Op::Binary(_) | Op::Unary(_) => {}
            Op::If(one, other) => {
                collect_accesses(one, layouts, looped, to);
                collect_accesses(other, layouts, looped, to);
            }
            Op::While(one, other) => {
                collect_accesses(one, layouts, true, to);
                collect_accesses(other, layouts, true, to);
            }
            Op::For(code) => collect_accesses(code, layouts, true, to),
            Op::Reduce { code, .. } | Op::Scan { code, .. } => collect_accesses(code, layouts, looped, to),
        }
    }
}

/// Moves the operations that are the same for every program out of the body. `kept` are the parameters at first, and
/// in the end everything that has to outlive a program.
fn split(body: Code, kept: &mut [bool]) -> (Code, Code) {
    let mut prologue = Code {
        args: body.args.clone(),
        loc: body.loc,
        ..Code::default()
    };
    let mut rest = Code {
        args: body.args,
        yields: body.yields,
        loc: body.loc,
        ..Code::default()
    };
    for step in body.steps {
        let fixed = match &step.op {
            // A division could trap, and is left where it is.
            Op::Binary(op) => !matches!(op, BinaryOp::IntDiv | BinaryOp::Rem),
            Op::Unary(_) => true,
            Op::Plain(kind) => matches!(
                kind,
                OpKind::Constant(_)
                    | OpKind::NumPrograms(_)
                    | OpKind::Range { .. }
                    | OpKind::Ternary(_)
                    | OpKind::Library(_)
                    | OpKind::Foreign(_)
                    | OpKind::Compare(_)
                    | OpKind::Select
                    | OpKind::Cast { .. }
                    | OpKind::Splat
                    | OpKind::Broadcast
                    | OpKind::Reshape { .. }
                    | OpKind::Trans { .. }
                    | OpKind::AddPtr
                    | OpKind::Poison
            ),
            _ => false,
        };
        if fixed && step.ins.iter().all(|&slot| kept[slot as usize]) {
            for &slot in &step.outs {
                kept[slot as usize] = true;
            }
            prologue.steps.push(step);
        } else {
            rest.steps.push(step);
        }
    }
    for step in prologue.steps.iter_mut().chain(&mut rest.steps) {
        step.frees.retain(|slot| !kept[*slot as usize]);
    }
    (prologue, rest)
}

struct Compiler<'a> {
    layouts: &'a [Layout],
    used: Vec<bool>,
    /// The block that defines each value.
    owners: Vec<Option<u32>>,
    /// Open blocks, outermost first, each with where its values were used last so far.
    stack: Vec<Open>,
    /// Accesses to memory so far.
    accesses: u16,
    blocks: u32,
}

struct Open {
    id: u32,
    /// The operation that is being compiled.
    op_index: usize,
    /// For each use seen, the value and the operation; later uses overwrite.
    uses: Vec<(Slot, usize)>,
}

impl Compiler<'_> {
    fn define(&mut self, value: ValueId, block: u32) -> Result<Slot, InternalError> {
        let owner = self
            .owners
            .get_mut(value.0 as usize)
            .ok_or(InternalError::MalformedIr("a value"))?;
        if owner.is_some() {
            return Err(InternalError::MalformedIr("a value that is defined twice"));
        }
        *owner = Some(block);
        Ok(value.0)
    }

    fn use_value(&mut self, value: ValueId) -> Result<Slot, InternalError> {
        let owner = self.owners.get(value.0 as usize).copied().flatten();
        let owner = owner.ok_or(InternalError::MalformedIr("a value before it is defined"))?;
        let open = self.stack.iter_mut().find(|open| open.id == owner);
        let open = open.ok_or(InternalError::MalformedIr("a value of another block"))?;
        open.uses.push((value.0, open.op_index));
        self.used[value.0 as usize] = true;
        Ok(value.0)
    }

    fn block(&mut self, block: &Block, parent: Option<&Operation>) -> Result<Code, InternalError> {
        if self.stack.len() >= NESTING {
            return Err(InternalError::MalformedIr("blocks nested too deep"));
        }
        let id = self.blocks;
        self.blocks += 1;
        let mut code = Code {
            loc: parent.map(|op| op.loc),
            ..Code::default()
        };
        for &arg in &block.args {
            code.args.push(self.define(arg, id)?);
        }
        self.stack.push(Open {
            id,
            op_index: 0,
            uses: Vec::new(),
        });
        let mut yields = SmallVec::<[Slot; 4]>::new();
        for (at, op) in block.ops.iter().enumerate() {
            if let Some(open) = self.stack.last_mut() {
                open.op_index = at;
            }
            if matches!(op.kind, OpKind::Yield) {
                for &value in &op.operands {
                    yields.push(self.use_value(value)?);
                }
                break;
            }
            code.steps.push(self.step(op, id)?);
        }
        let open = self.stack.pop().ok_or(InternalError::MalformedIr("a block"))?;
        let mut last: Vec<(Slot, usize)> = open.uses;
        // The last use of each value in this block comes last in the list.
        last.reverse();
        last.sort_by_key(|&(slot, _)| slot);
        last.dedup_by_key(|&mut (slot, _)| slot);
        let end = code.steps.len();
        for &(slot, at) in &last {
            if at < end
                && let Some(step) = code.steps.get_mut(at)
            {
                step.frees.push(slot);
            }
        }
        for (nth, &slot) in yields.iter().enumerate() {
            let own = self.owners.get(slot as usize).copied().flatten() == Some(id);
            let again = yields.iter().skip(nth + 1).any(|&later| later == slot);
            code.yields.push(Yielded {
                slot,
                moves: own && !again,
            });
        }
        Ok(code)
    }

    fn step(&mut self, op: &Operation, block: u32) -> Result<Step, InternalError> {
        let mut ins = SmallVec::new();
        for &value in &op.operands {
            ins.push(self.use_value(value)?);
        }
        let compiled = match &op.kind {
            OpKind::For { body } => Op::For(self.block(body, Some(op))?),
            OpKind::If {
                then_block,
                else_block,
            } => Op::If(
                self.block(then_block, Some(op))?,
                self.block(else_block, Some(op))?,
            ),
            OpKind::While { before, after } => {
                Op::While(self.block(before, Some(op))?, self.block(after, Some(op))?)
            }
            OpKind::Reduce {
                axis,
                combine,
                region,
            } => Op::Reduce {
                axis: *axis,
                combine: *combine,
                region: self.classify_region(region),
                code: self.block(region, Some(op))?,
            },
            OpKind::Scan {
                axis,
                reverse,
                combine,
                region,
            } => Op::Scan {
                axis: *axis,
                reverse: *reverse,
                combine: *combine,
                region: self.classify_region(region),
                code: self.block(region, Some(op))?,
            },
            OpKind::Binary(op) => Op::Binary(*op),
            OpKind::Unary(op) => Op::Unary(*op),
            kind => Op::Plain(kind.clone()),
        };
        let mut outs = SmallVec::new();
        for &value in &op.results {
            outs.push(self.define(value, block)?);
        }
        check_arity(&op.kind, ins.len(), outs.len())?;
        let cost = self.compute_cost(&op.kind, &ins, &outs);
        let access = self.accesses;
        if op.kind.accesses_memory() {
            self.accesses = access.saturating_add(1);
        }
        Ok(Step {
            op: compiled,
            ins,
            outs,
            frees: SmallVec::new(),
            loc: op.loc,
            cost,
            access,
        })
    }

    fn layout(&self, slot: Slot) -> Option<&Layout> {
        self.layouts.get(slot as usize)
    }

    fn compute_cost(&self, kind: &OpKind, ins: &[Slot], outs: &[Slot]) -> u64 {
        let lanes = |slots: &[Slot]| {
            slots
                .iter()
                .filter_map(|&slot| self.layout(slot))
                .map(|layout| layout.lanes as u64)
                .max()
                .unwrap_or(1)
        };
        let most = lanes(ins).max(lanes(outs));
        let times = match kind {
            OpKind::Dot { .. } => {
                // m*k * k*n / k*k multiplications would need the shapes; k is at most the last extent of `a`.
                ins.first()
                    .and_then(|&a| self.layout(a))
                    .map_or(1, |a| u64::from(a.extents[3]))
            }
            _ => 1,
        };
        1 + most.saturating_mul(times)
    }

    fn classify_region(&self, block: &Block) -> Region {
        let scalar = |value: &ValueId| self.layout(value.0).is_some_and(|layout| layout.scalar);
        let wide = block.args.iter().all(scalar)
            && block.ops.iter().all(|op| {
                op.results.iter().all(scalar)
                    && op.operands.iter().all(scalar)
                    && matches!(
                        op.kind,
                        OpKind::Constant(_)
                            | OpKind::Unary(_)
                            | OpKind::Binary(_)
                            | OpKind::Ternary(_)
                            | OpKind::Library(_)
                            | OpKind::Foreign(_)
                            | OpKind::Compare(_)
                            | OpKind::Select
                            | OpKind::Cast { .. }
                            | OpKind::Poison
                            | OpKind::Yield
                    )
            });
        let float = |value: ValueId| {
            self.layout(value.0)
                .is_some_and(|layout| layout.elem.num().is_some_and(DType::is_float))
        };
        let exact = wide
            && block.ops.iter().all(|op| match op.kind {
                OpKind::Binary(op2) => match op2 {
                    BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor
                    | BinaryOp::Min
                    | BinaryOp::Max
                    | BinaryOp::MinPropagateNan
                    | BinaryOp::MaxPropagateNan => true,
                    BinaryOp::Add | BinaryOp::Mul => !op.operands.iter().copied().any(float),
                    _ => false,
                },
                OpKind::Unary(op1) => matches!(op1, UnaryOp::Not | UnaryOp::IsNan | UnaryOp::IsInf),
                OpKind::Cast { kind, rounding } => {
                    kind == CastKind::Bits || rounding == Rounding::NearestEven
                }
                OpKind::Ternary(_) | OpKind::Library(_) | OpKind::Foreign(_) => false,
                _ => true,
            });
        Region {
            wide,
            exact,
            choice: block.find_choice(float),
        }
    }
}

/// Whether an operation has the operands and results that executing it reads and writes.
fn check_arity(kind: &OpKind, ins: usize, outs: usize) -> Result<(), InternalError> {
    let (needs, makes) = match kind {
        OpKind::Constant(_)
        | OpKind::ProgramId(_)
        | OpKind::NumPrograms(_)
        | OpKind::Range { .. }
        | OpKind::Poison => (0, 1),
        OpKind::Unsupported(_) | OpKind::Yield | OpKind::Barrier | OpKind::Acquire | OpKind::Print { .. } => {
            (0, 0)
        }
        OpKind::Unary(_)
        | OpKind::Cast { .. }
        | OpKind::Splat
        | OpKind::Broadcast
        | OpKind::Hint { .. }
        | OpKind::Reshape { .. }
        | OpKind::Trans { .. } => (1, 1),
        OpKind::Split => (1, 2),
        OpKind::Binary(_)
        | OpKind::Compare(_)
        | OpKind::Join
        | OpKind::Cat { .. }
        | OpKind::Gather { .. }
        | OpKind::AddPtr
        | OpKind::AtomicPoll { .. } => (2, 1),
        OpKind::Ternary(_) | OpKind::Select | OpKind::Dot { .. } | OpKind::AtomicCas { .. } => (3, 1),
        OpKind::Library(symbol) => (symbol.operands.len(), 1),
        OpKind::Foreign(_) => (ins, 1),
        OpKind::Load {
            mask,
            has_other: other,
            ..
        } => (1 + usize::from(*mask) + usize::from(*other), 1),
        OpKind::Store { mask } => (2 + usize::from(*mask), 0),
        OpKind::AtomicRmw { mask, .. } => (2 + usize::from(*mask), 1),
        OpKind::Histogram { mask } => (1 + usize::from(*mask), 1),
        OpKind::Assert { mask, .. } => (1 + usize::from(*mask), 0),
        OpKind::Assume | OpKind::Demand(_) | OpKind::If { .. } => (1, 0),
        OpKind::Reduce { .. } | OpKind::Scan { .. } => {
            let fits = ins > 0 && ins == outs;
            return if fits {
                Ok(())
            } else {
                Err(InternalError::MalformedIr("a reduction"))
            };
        }
        OpKind::For { body } => {
            let carried = ins.checked_sub(3);
            let fits = carried == Some(outs) && body.args.len() == outs + 1;
            return if fits {
                Ok(())
            } else {
                Err(InternalError::MalformedIr("a loop"))
            };
        }
        OpKind::While { before, .. } => {
            let fits = before.args.len() == ins;
            return if fits {
                Ok(())
            } else {
                Err(InternalError::MalformedIr("a loop"))
            };
        }
    };
    if ins >= needs && outs >= makes {
        Ok(())
    } else {
        Err(InternalError::MalformedIr("an operation"))
    }
}
