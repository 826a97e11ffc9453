//! Finds the live operations of a function: those that an effect depends on. Compilers drop the others before most of their
//! passes run.
//!
//! Results of a branch and values carried by a loop are followed one by one. The body of a loop needs a carried value only
//! if one of its live operations does, not if only the carried value's own next value is computed from it; older versions
//! drop such a cycle in a `for` but not in a `while` ([`Gap::WhileCarriesUnused`]).

use cerith_tile::ir::{Block, Function, OpKind, Operation, ValueId};
use cerith_tile::rules::Rules;

use cerith_language::gap::Gap;

/// An operation by its place in the text of the function.
type OpNumber = usize;

/// The origin of a value: an operation's result, or a parameter of one of its regions, by its position.
#[derive(Clone, Copy)]
enum Source {
    Result(OpNumber, usize),
    Parameter(OpNumber, usize, usize),
}

struct Numbered<'a> {
    operation: &'a Operation,
    /// The operation around this one.
    parent: Option<OpNumber>,
    /// The last operation of each region.
    yields: Vec<OpNumber>,
    is_live: bool,
}

struct Liveness<'a> {
    operations: Vec<Numbered<'a>>,
    /// By value.
    sources: Vec<Option<Source>>,
    /// Whether an operation other than a `yield` takes the value.
    is_taken: Vec<bool>,
    is_needed: Vec<bool>,
    /// Values that are needed and not followed yet.
    queue: Vec<ValueId>,
    keeps_while_cycles: bool,
}

/// The live operations. Those inside of a region follow the operation that has it.
pub(super) fn live_operations(function: &Function, rules: Rules) -> Vec<&Operation> {
    let count = function.values.len();
    let mut liveness = Liveness {
        operations: Vec::new(),
        sources: vec![None; count],
        is_taken: vec![false; count],
        is_needed: vec![false; count],
        queue: Vec::new(),
        keeps_while_cycles: Gap::WhileCarriesUnused.holds(rules.version),
    };
    liveness.number_operations(&function.body, None);
    for number in 0..liveness.operations.len() {
        if has_effect(&liveness.operations[number].operation.kind) {
            liveness.keep(number);
        }
    }
    while let Some(value) = liveness.queue.pop() {
        liveness.follow(value);
    }
    let live = liveness
        .operations
        .into_iter()
        .filter(|numbered| numbered.is_live);
    live.map(|numbered| numbered.operation).collect()
}

/// Whether an operation does something besides giving results; what its regions do does not count.
const fn has_effect(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Store { .. }
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. }
            | OpKind::AtomicPoll { .. }
            | OpKind::Assert { .. }
            | OpKind::Print { .. }
            | OpKind::Barrier
    )
}

impl<'a> Liveness<'a> {
    fn number_operations(&mut self, block: &'a Block, parent: Option<OpNumber>) {
        for operation in &block.ops {
            let number = self.operations.len();
            self.operations.push(Numbered {
                operation,
                parent,
                yields: Vec::new(),
                is_live: false,
            });
            for (place, result) in operation.results.iter().enumerate() {
                self.set_source(*result, Source::Result(number, place));
            }
            if !matches!(operation.kind, OpKind::Yield) {
                for operand in &operation.operands {
                    if let Some(is_taken) = self.is_taken.get_mut(operand.0 as usize) {
                        *is_taken = true;
                    }
                }
            }
            for (nth, region) in operation.kind.regions().enumerate() {
                for (place, parameter) in region.args.iter().enumerate() {
                    self.set_source(*parameter, Source::Parameter(number, nth, place));
                }
                self.number_operations(region, Some(number));
                let last = self.operations.len() - 1;
                self.operations[number].yields.push(last);
            }
        }
    }

    fn set_source(&mut self, value: ValueId, source: Source) {
        if let Some(slot) = self.sources.get_mut(value.0 as usize) {
            *slot = Some(source);
        }
    }

    /// Keeps an operation, the operations around it, and the values that control them.
    fn keep(&mut self, number: OpNumber) {
        let numbered = &mut self.operations[number];
        if std::mem::replace(&mut numbered.is_live, true) {
            return;
        }
        let (operation, parent) = (numbered.operation, numbered.parent);
        match &operation.kind {
            OpKind::Yield => {}
            OpKind::If { .. } => self.need_operand(number, 0),
            OpKind::For { .. } => (0..3).for_each(|place| self.need_operand(number, place)),
            OpKind::While { before, after } => {
                self.need_yielded(number, 0, 0);
                if self.keeps_while_cycles {
                    let carried = before.args.iter().chain(&after.args);
                    carried.for_each(|parameter| self.need_if_taken(*parameter));
                }
            }
            _ => (0..operation.operands.len()).for_each(|place| self.need_operand(number, place)),
        }
        if let OpKind::Reduce { .. } | OpKind::Scan { .. } = operation.kind {
            (0..operation.results.len()).for_each(|place| self.need_yielded(number, 0, place));
        }
        if let Some(parent) = parent {
            self.keep(parent);
        }
    }

    /// Keeps what a needed value comes from.
    fn follow(&mut self, value: ValueId) {
        let Some(source) = self.sources.get(value.0 as usize).copied().flatten() else {
            return;
        };
        let (Source::Result(number, _) | Source::Parameter(number, ..)) = source;
        self.keep(number);
        match (&self.operations[number].operation.kind, source) {
            (OpKind::If { .. }, Source::Result(_, place)) => {
                self.need_yielded(number, 0, place);
                self.need_yielded(number, 1, place);
            }
            // The first parameter is the induction variable.
            (OpKind::For { .. }, Source::Parameter(_, _, 0)) => {}
            (OpKind::For { .. }, Source::Result(_, place)) => self.need_carried(number, 3 + place, 0, place),
            (OpKind::For { .. }, Source::Parameter(_, _, place)) => {
                self.need_carried(number, 2 + place, 0, place - 1);
            }
            (OpKind::While { .. }, Source::Parameter(_, 0, place)) => {
                self.need_carried(number, place, 1, place);
            }
            (OpKind::While { .. }, Source::Result(_, place) | Source::Parameter(_, _, place)) => {
                self.need_yielded(number, 0, 1 + place);
            }
            _ => {}
        }
    }

    fn need_carried(&mut self, number: OpNumber, operand: usize, region: usize, place: usize) {
        self.need_operand(number, operand);
        self.need_yielded(number, region, place);
    }

    fn need_yielded(&mut self, number: OpNumber, region: usize, place: usize) {
        if let Some(&number) = self.operations[number].yields.get(region) {
            self.need_operand(number, place);
        }
    }

    fn need_operand(&mut self, number: OpNumber, place: usize) {
        if let Some(operand) = self.operations[number].operation.operands.get(place) {
            self.mark_needed(*operand);
        }
    }

    fn need_if_taken(&mut self, value: ValueId) {
        if self.is_taken.get(value.0 as usize) == Some(&true) {
            self.mark_needed(value);
        }
    }

    fn mark_needed(&mut self, value: ValueId) {
        if let Some(is_needed) = self.is_needed.get_mut(value.0 as usize)
            && !std::mem::replace(is_needed, true)
        {
            self.queue.push(value);
        }
    }
}
