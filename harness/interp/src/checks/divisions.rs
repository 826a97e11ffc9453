//! The integer divisions of a kernel: their locations, the values related to their divisors, and the undefined ones of a
//! launch. [`super::division`] reports them.

use std::collections::HashMap;

use cerith_tile::ir::{BinaryOp, Block, Function, LocId, OpKind, Operation};

use crate::program::Slot;
use crate::value::{MAX_STORABLE, Mark};

/// The reason why a division has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Zero,
    Undefined,
    Overflow,
}

impl Flaw {
    pub(super) const ALL: [Self; 3] = [Self::Zero, Self::Undefined, Self::Overflow];

    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Zero => "an integer is divided by zero",
            Self::Undefined => "an integer is divided by an undefined value, which may be zero",
            Self::Overflow => "the lowest integer is divided by -1",
        }
    }

    /// Help for avoiding it.
    pub(super) const fn help(self) -> &'static str {
        match self {
            Self::Zero => "keep the divisor from being zero: `a // tl.where(divisor == 0, 1, divisor)`",
            Self::Undefined => {
                "give the divisor a defined value in every lane: `tl.load(ptr, mask=mask, other=1)`"
            }
            Self::Overflow => {
                "the quotient overflows: divide in a wider type, `a.to(tl.int64) // divisor`, or exclude the lowest integer"
            }
        }
    }
}

/// An integer division of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    pub out: Slot,
    pub(super) divisor: Slot,
    pub(super) loc: LocId,
}

/// Divisions that have marks of their own; what follows shares the last one's.
pub(super) const MAX_MARKED: usize = (Mark::MAX as usize - MAX_STORABLE as usize - 1) / Flaw::ALL.len();

/// The integer divisions of a kernel, by result.
pub(crate) fn find_divisions(function: &Function) -> Vec<Division> {
    fn block(function: &Function, block_: &Block, to: &mut Vec<Division>) {
        for op in &block_.ops {
            if let (OpKind::Binary(BinaryOp::IntDiv | BinaryOp::Rem), &[out], &[_, divisor]) =
                (&op.kind, op.results.as_slice(), op.operands.as_slice())
                && function
                    .values
                    .get(out.0 as usize)
                    .and_then(|info| info.ty.elem.num())
                    .is_some_and(cerith_tile::DType::is_int)
            {
                to.push(Division {
                    out: out.0,
                    divisor: divisor.0,
                    loc: op.loc,
                });
            }
            for region in op.kind.regions() {
                block(function, region, to);
            }
        }
    }
    let mut found = Vec::new();
    block(function, &function.body, &mut found);
    found.sort_by_key(|division| division.out);
    found
}

/// A launch's divisions without a result.
#[derive(Debug, Default)]
pub(crate) struct Divisions {
    /// For a value and a division, whether the value and the divisor are computed from a common value.
    pub(super) related: HashMap<(Slot, usize), bool>,
    /// The first lane of each division and flaw that had no answer.
    pub(super) first_flaws: Vec<(Mark, [u32; 3], Option<usize>)>,
    /// Divisions whose result was kept from memory by a mask computed from their divisor.
    pub(super) masked: Vec<usize>,
}

impl Divisions {
    /// Adds what later programs found.
    pub(crate) fn join(&mut self, later: &Self) {
        for &found in &later.first_flaws {
            if !self.first_flaws.iter().any(|&(mark, ..)| mark == found.0) {
                self.first_flaws.push(found);
            }
        }
        for &number in &later.masked {
            if !self.masked.contains(&number) {
                self.masked.push(number);
            }
        }
    }
}

/// The division and the flaw that a mark is of.
pub(super) fn decode_mark(mark: Mark) -> Option<(usize, Flaw)> {
    let number = usize::from(mark.checked_sub(MAX_STORABLE + 1)?);
    let flaw = *Flaw::ALL.get(number % Flaw::ALL.len())?;
    Some((number / Flaw::ALL.len(), flaw))
}

/// Whether a value is computed from sources of a division's divisor. Values from memory have no sources: compilers don't
/// trace through it.
pub(super) fn is_related(function: &Function, value: Slot, division: Division) -> bool {
    let sources = collect_sources(function);
    let mut of_divisor = vec![false; sources.len()];
    // Indices and parameters that the divisor is computed from don't bound it, unless they are the divisor.
    let mut open = vec![(division.divisor, true)];
    of_divisor[..].fill(false);
    while let Some((at, itself)) = open.pop() {
        let Some(source) = sources.get(at as usize) else {
            continue;
        };
        let leaf = source.inputs.is_empty() && !source.memory;
        if leaf && !itself || of_divisor.get(at as usize) != Some(&false) {
            continue;
        }
        of_divisor[at as usize] = true;
        open.extend(
            source
                .inputs
                .iter()
                .map(|&from| (from, itself && source.same_number)),
        );
    }
    if let Some(out) = of_divisor.get_mut(division.out as usize) {
        *out = true;
    }
    let mut seen = vec![false; sources.len()];
    let mut open = vec![value];
    while let Some(at) = open.pop() {
        match seen.get_mut(at as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        if of_divisor.get(at as usize) == Some(&true) {
            return true;
        }
        open.extend(
            sources
                .get(at as usize)
                .into_iter()
                .flat_map(|source| &source.inputs),
        );
    }
    false
}

/// The inputs of a value.
#[derive(Clone, Debug, Default)]
struct Source {
    inputs: Vec<Slot>,
    /// Whether it is the same number in another shape or type.
    same_number: bool,
    /// Whether it was read from memory.
    memory: bool,
    constant: bool,
}

fn collect_sources(function: &Function) -> Vec<Source> {
    let mut sources = vec![Source::default(); function.values.len()];
    sources_of(&function.body, &mut sources);
    for at in 0..sources.len() {
        // A constant does not count as a common value.
        let constants: Vec<bool> = sources[at]
            .inputs
            .iter()
            .map(|&from| sources.get(from as usize).is_some_and(|source| source.constant))
            .collect();
        let mut constants = constants.into_iter();
        sources[at].inputs.retain(|_| !constants.next().unwrap_or(false));
    }
    sources
}

fn sources_of(block: &Block, to: &mut [Source]) {
    let join = |to: &mut [Source], into: &[cerith_tile::ir::ValueId], from: &[cerith_tile::ir::ValueId]| {
        for (into, from) in into.iter().zip(from) {
            if let Some(source) = to.get_mut(into.0 as usize) {
                source.inputs.push(from.0);
            }
        }
    };
    for op in &block.ops {
        for region in op.kind.regions() {
            sources_of(region, to);
        }
        match &op.kind {
            OpKind::For { body } => {
                let (bounds, initial) = op.operands.split_at(3.min(op.operands.len()));
                let (index, carried) = body.args.split_at(1.min(body.args.len()));
                for bound in bounds {
                    join(to, index, &[*bound]);
                }
                for from in [initial, find_yields(body)] {
                    join(to, carried, from);
                    join(to, &op.results, from);
                }
            }
            OpKind::If {
                then_block,
                else_block,
            } => {
                for block in [then_block, else_block] {
                    join(to, &op.results, find_yields(block));
                }
                for &result in &op.results {
                    join(to, &[result], &op.operands);
                }
            }
            OpKind::While { before, after } => {
                let passed = find_yields(before).get(1..).unwrap_or(&[]);
                for from in [op.operands.as_slice(), find_yields(after)] {
                    join(to, &before.args, from);
                }
                join(to, &after.args, passed);
                join(to, &op.results, passed);
            }
            _ => add_operands(op, to),
        }
    }
}

fn add_operands(op: &Operation, to: &mut [Source]) {
    let memory = op.kind.accesses_memory();
    let same = matches!(
        op.kind,
        OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape { .. }
            | OpKind::Trans { .. }
            | OpKind::Cast { .. }
            | OpKind::Hint { .. }
    );
    for result in &op.results {
        if let Some(source) = to.get_mut(result.0 as usize) {
            source.constant = matches!(op.kind, OpKind::Constant(_));
            source.memory = memory;
            source.same_number = same;
            if !memory {
                source.inputs.extend(op.operands.iter().map(|operand| operand.0));
            }
        }
    }
}

fn find_yields(block: &Block) -> &[cerith_tile::ir::ValueId] {
    block
        .ops
        .last()
        .filter(|op| matches!(op.kind, OpKind::Yield))
        .map_or(&[], |op| &op.operands)
}
