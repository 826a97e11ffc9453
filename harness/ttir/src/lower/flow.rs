//! Lowers regions and functions: blocks with branches become `if`s, and the values that a function returns become the
//! result of its call. Branches never go back: Triton's loops are operations. See `control` and `reduce` for operations
//! with regions.

use cerith_tile::ir::{Block, OpKind, Type, ValueId};
use rustc_hash::FxHashMap;

use super::{Bundle, Lowered, Lowering, stop};
use crate::syntax::{Attr, Operand, Operation, Region};

/// The terminator of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// `tt.return`.
    Function,
    /// `scf.yield`, `tt.reduce.return`, ….
    Region,
}

/// Maximum blocks of a region: finding the joins needs a table of all pairs.
const MOST_BLOCKS: usize = 1024;

/// The control-flow graph of a region.
struct Graph<'m> {
    region: &'m Region,
    labels: FxHashMap<&'m str, usize>,
    /// The immediate post-dominator of each block; `None`: the region's end.
    joins: Vec<Option<usize>>,
    ends: Ends,
}

/// The end of a sequence of blocks.
enum Ended {
    /// The region ends with these values.
    Done(Vec<Bundle>),
    /// The requested block was reached with these values.
    Reached(Vec<Bundle>),
}

impl<'m> Graph<'m> {
    fn new(region: &'m Region, ends: Ends) -> Lowered<Self> {
        if region.blocks.len() > MOST_BLOCKS {
            return stop(format!("a region with more than {MOST_BLOCKS} blocks"));
        }
        let labels: FxHashMap<&str, usize> = region
            .blocks
            .iter()
            .enumerate()
            .map(|(at, block)| (block.label.as_str(), at))
            .collect();
        let mut graph = Self {
            region,
            labels,
            joins: Vec::new(),
            ends,
        };
        if region.blocks.len() > 1 {
            graph.joins = graph.nearest_joins()?;
        }
        Ok(graph)
    }

    fn find_block(&self, label: &str) -> Lowered<usize> {
        match self.labels.get(label) {
            Some(&at) => Ok(at),
            None => stop(format!("there is no block `^{label}`")),
        }
    }

    /// Computes the immediate post-dominator of each block.
    fn nearest_joins(&self) -> Lowered<Vec<Option<usize>>> {
        let count = self.region.blocks.len();
        let mut after = Vec::with_capacity(count);
        for block in &self.region.blocks {
            let mut targets = Vec::new();
            if let Some(op) = block.ops.last() {
                for (label, _) in &op.successors {
                    targets.push(self.find_block(label).map_err(|stop| stop.or_at(op.offset))?);
                }
            }
            after.push(targets);
        }
        // A block's set contains the blocks on every path from it. Without loops, a block's set is final once its
        // successors' are.
        let words = count.div_ceil(64);
        let mut through = vec![vec![u64::MAX; words]; count];
        let mut changed = true;
        while changed {
            changed = false;
            for at in (0..count).rev() {
                let mut set = match after[at].as_slice() {
                    [] => vec![0; words],
                    [first, rest @ ..] => {
                        let mut set = through[*first].clone();
                        for &other in rest {
                            for (word, other) in set.iter_mut().zip(&through[other]) {
                                *word &= other;
                            }
                        }
                        set
                    }
                };
                set[at / 64] |= 1 << (at % 64);
                if set != through[at] {
                    through[at] = set;
                    changed = true;
                }
            }
        }
        let size = |at: usize| through[at].iter().map(|word| word.count_ones()).sum::<u32>();
        Ok((0..count)
            .map(|at| {
                (0..count)
                    .filter(|&other| other != at && through[at][other / 64] >> (other % 64) & 1 == 1)
                    .max_by_key(|&other| size(other))
            })
            .collect())
    }
}

impl<'m> Lowering<'m> {
    /// Lowers a region in place with these arguments for its entry. Returns the values that it ends with.
    pub(super) fn region_of(
        &mut self,
        region: &'m Region,
        args: Vec<Bundle>,
        ends: Ends,
    ) -> Lowered<Vec<Bundle>> {
        let graph = Graph::new(region, ends)?;
        let since = self.scope.hidden.len();
        let ended = self.nest(|this| this.lower_blocks(&graph, 0, args, None))?;
        self.forget(since);
        match ended {
            Ended::Done(values) => Ok(values),
            Ended::Reached(_) => stop("a region that ends at a block"),
        }
    }

    /// Lowers a block and its successors, to the end or to the block `until`.
    fn lower_blocks(
        &mut self,
        graph: &Graph<'m>,
        mut at: usize,
        mut args: Vec<Bundle>,
        until: Option<usize>,
    ) -> Lowered<Ended> {
        // Without loops, no block occurs twice.
        for _ in 0..=graph.region.blocks.len() {
            if Some(at) == until {
                return Ok(Ended::Reached(args));
            }
            let Some(block) = graph.region.blocks.get(at) else {
                return stop("a region without blocks");
            };
            if block.args.len() != args.len() {
                return stop(format!(
                    "a block takes {} values and gets {}",
                    block.args.len(),
                    args.len()
                ));
            }
            for (arg, value) in block.args.iter().zip(args) {
                self.define(&arg.name, 0, value);
            }
            let Some((last, ops)) = block.ops.split_last() else {
                // A region without results is printed without its `scf.yield`.
                return Ok(Ended::Done(Vec::new()));
            };
            for op in ops {
                self.lower_operation(op)?;
            }
            match self
                .lower_terminator(graph, last, at, until)
                .map_err(|stop| stop.or_at(last.offset))?
            {
                Next::Ended(ended) => return Ok(ended),
                Next::Block(next, values) => (at, args) = (next, values),
            }
        }
        stop("branches that go back are not supported yet")
    }

    /// Lowers the terminator of a block.
    fn lower_terminator(
        &mut self,
        graph: &Graph<'m>,
        op: &'m Operation,
        at: usize,
        until: Option<usize>,
    ) -> Lowered<Next> {
        let is_end = match graph.ends {
            Ends::Function => op.name == "tt.return",
            Ends::Region => matches!(
                op.name.as_str(),
                "scf.yield"
                    | "tt.reduce.return"
                    | "tt.scan.return"
                    | "tt.map_elementwise.return"
                    | "ttg.warp_return"
            ),
        };
        if is_end {
            return Ok(Next::Ended(Ended::Done(self.read_values(&op.operands)?)));
        }
        match (op.name.as_str(), op.successors.as_slice()) {
            ("cf.br", [(label, passed)]) => {
                let passed = if passed.is_empty() { &op.operands } else { passed };
                Ok(Next::Block(graph.find_block(label)?, self.read_values(passed)?))
            }
            ("cf.cond_br", [(one, to_one), (other, to_other)]) => {
                self.locations.enter(&mut self.builder, &op.place, op.offset);
                let condition = self.single_operand(op, 0)?;
                let mut ways = [(one.as_str(), to_one.as_slice()), (other, to_other)];
                // In the generic form all passed values are in one list.
                if let Some(&[_, count, _]) = op
                    .find_attr("operandSegmentSizes")
                    .and_then(Attr::ints)
                    .as_deref()
                {
                    let row = op.operands.get(1..).unwrap_or_default();
                    let count = usize::try_from(count).unwrap_or(usize::MAX).min(row.len());
                    (ways[0].1, ways[1].1) = row.split_at(count);
                }
                self.lower_branch(graph, condition, ways, at, until)
            }
            _ => {
                self.lower_operation(op)?;
                Ok(Next::Ended(Ended::Done(Vec::new())))
            }
        }
    }

    /// Lowers a conditional branch, up to the block where both paths join.
    fn lower_branch(
        &mut self,
        graph: &Graph<'m>,
        condition: ValueId,
        ways: [(&str, &[Operand]); 2],
        at: usize,
        until: Option<usize>,
    ) -> Lowered<Next> {
        let join = graph.joins.get(at).copied().flatten();
        let mut blocks: Vec<Block> = Vec::with_capacity(2);
        let mut results: Option<Vec<Vec<Type>>> = None;
        let before = self.memories.clone();
        for (label, operands) in ways {
            let target = graph.find_block(label)?;
            let values = self.read_values(operands)?;
            self.memories.clone_from(&before);
            self.builder.open_block(&[]);
            let since = self.scope.hidden.len();
            let ended = self.nest(|this| this.lower_blocks(graph, target, values, join.or(until)))?;
            let ((Ended::Done(mut values), None) | (Ended::Reached(mut values), Some(_))) =
                (ended, join.or(until))
            else {
                return stop("a branch with one path that ends and one that continues");
            };
            values.push(self.memories[..before.len()].into());
            let types: Vec<Vec<Type>> = values
                .iter()
                .map(|bundle| bundle.iter().map(|&value| self.ty(value)).collect())
                .collect();
            self.forget(since);
            let flat: Vec<ValueId> = values.into_iter().flatten().collect();
            blocks.push(self.builder.close_block(&flat));
            if results.get_or_insert_with(|| types.clone()) != &types {
                return stop("two ways that end with values of different types");
            }
        }
        let shape = results.unwrap_or_default();
        let (Some(else_block), Some(then_block)) = (blocks.pop(), blocks.pop()) else {
            return stop("a branch without ways");
        };
        let types: Vec<Type> = shape.iter().flatten().cloned().collect();
        let kind = OpKind::If {
            then_block,
            else_block,
        };
        let mut flat = self.builder.op_multi(kind, &[condition], &types).into_iter();
        let mut values: Vec<Bundle> = shape
            .iter()
            .map(|parts| flat.by_ref().take(parts.len()).collect())
            .collect();
        self.memories = values.pop().unwrap_or_default();
        Ok(match join.or(until) {
            Some(join) => Next::Block(join, values),
            None => Next::Ended(Ended::Done(values)),
        })
    }

    pub(super) fn read_values(&self, operands: &[Operand]) -> Lowered<Vec<Bundle>> {
        operands.iter().map(|operand| self.bundle(operand)).collect()
    }
}

/// The successor of a block.
enum Next {
    Ended(Ended),
    Block(usize, Vec<Bundle>),
}
