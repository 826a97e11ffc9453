//! Static analysis of a kernel's values: equal expressions, changes between iterations of a loop, and dependences on loads.
//! It runs only for kernels that access one storage in several ways ([`crate::checks::footprint`]).
//!
//! [`Text`] numbers values: pure operations of one kind, with equal operands and equal types, get one number, so that an address
//! written twice is known to be the same. A set of loops beside each value says where that holds in one iteration only.
//! [`find_need`] and [`Reach`] raise a property of each value until nothing changes, because a loop hands values back to
//! operations that were visited before. A need is one of three steps ([`Need`]), which keeps the number of rounds small.

use std::collections::HashMap;

use cerith_tile::ir::{Block, Function, LocId, OpKind, Operation, ValueId};

/// An access to memory, by its place in the kernel's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessSite {
    pub loc: LocId,
    pub pointer: ValueId,
    /// The loops around it, a bit each; of more than 64 the last bit is shared.
    pub loops: u64,
    /// Whether it is of a scalar, or of a block of one.
    pub scalar: bool,
}

/// The dataflow of a kernel's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Accesses, in the order of the text.
    pub places: Vec<AccessSite>,
    /// The number of the expression that a value is.
    expressions: Vec<u32>,
    /// The loops in which a value may change.
    varies: Vec<u64>,
}

impl Text {
    pub(crate) fn from_function(function: &Function) -> Self {
        let count = function.values.len();
        let mut reader = Reader {
            function,
            text: Self {
                places: Vec::new(),
                expressions: (0..count as u32).collect(),
                varies: vec![0; count],
            },
            expression_ids: HashMap::new(),
            loops: 0,
        };
        reader.block(&function.body, 0);
        reader.text
    }

    /// Whether two accesses have equal addresses in each lane, in any two iterations of the loops around both.
    pub(crate) fn same_addresses(&self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.places.get(a), self.places.get(b)) else {
            return false;
        };
        let of = |place: &AccessSite| self.expressions.get(place.pointer.0 as usize);
        let varies = self.varies.get(a.pointer.0 as usize).copied().unwrap_or(u64::MAX);
        of(a) == of(b) && varies & a.loops & b.loops == 0
    }
}

struct Reader<'a> {
    function: &'a Function,
    text: Text,
    expression_ids: HashMap<String, u32>,
    loops: u32,
}

impl Reader<'_> {
    fn block(&mut self, block: &Block, inside: u64) {
        for op in &block.ops {
            if op.kind.accesses_memory()
                && let Some(&pointer) = op.operands.first()
            {
                let ty = self.function.values.get(pointer.0 as usize).map(|info| &info.ty);
                self.text.places.push(AccessSite {
                    loc: op.loc,
                    pointer,
                    loops: inside,
                    scalar: ty.is_none_or(|ty| ty.shape.iter().product::<usize>() <= 1),
                });
            }
            // Loops after the 63rd share a bit: a value may then seem to change in more loops than it does.
            let looping = matches!(op.kind, OpKind::For { .. } | OpKind::While { .. });
            let within = if looping {
                let bit = 1 << self.loops.min(63);
                self.loops += 1;
                inside | bit
            } else {
                inside
            };
            for region in op.kind.regions() {
                for arg in &region.args {
                    if let Some(to) = self.text.varies.get_mut(arg.0 as usize) {
                        *to = within;
                    }
                }
                self.block(region, within);
            }
            self.number_results(op, inside);
        }
    }

    fn number_results(&mut self, op: &Operation, inside: u64) {
        // Two loads of one address may differ, and a poison value equals nothing: such results keep a number of their own.
        let pure = op.kind.regions().next().is_none()
            && !op.kind.accesses_memory()
            && !matches!(op.kind, OpKind::Poison | OpKind::Unsupported(_));
        let varies = op
            .operands
            .iter()
            .map(|operand| self.text.varies.get(operand.0 as usize).copied().unwrap_or(0))
            .fold(0, |all, one| all | one);
        for (nth, result) in op.results.iter().enumerate() {
            if let Some(to) = self.text.varies.get_mut(result.0 as usize) {
                *to = if pure { varies } else { inside };
            }
            if !pure {
                continue;
            }
            let numbers: Vec<u32> = op
                .operands
                .iter()
                .map(|operand| {
                    let number = self.text.expressions.get(operand.0 as usize);
                    number.copied().unwrap_or(u32::MAX)
                })
                .collect();
            let ty = self.function.values.get(result.0 as usize).map(|info| &info.ty);
            let key = format!("{:?} {numbers:?} {nth} {ty:?}", op.kind);
            let number = *self.expression_ids.entry(key).or_insert(result.0);
            if let Some(to) = self.text.expressions.get_mut(result.0 as usize) {
                *to = number;
            }
        }
    }
}

/// The dependence of a later access on a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// It may come first.
    #[default]
    None,
    /// Each lane needs what the load read in the same lane.
    Lane,
    /// Each lane needs what the load read in all of them.
    All,
}

/// Returns the dependence of the access `later` on the load `load`; both by their place in the text.
pub(crate) fn find_need(function: &Function, load: usize, later: usize) -> Need {
    let mut flow = Flow {
        function,
        needs: vec![Need::None; function.values.len()],
        load,
        later,
        access_index: 0,
        found_need: Need::None,
    };
    // Values that loops carry arrive after some iterations.
    for _ in 0..4 {
        let before = flow.needs.clone();
        flow.access_index = 0;
        flow.block(&function.body, Need::None);
        if flow.needs == before {
            break;
        }
    }
    flow.found_need
}

struct Flow<'a> {
    function: &'a Function,
    needs: Vec<Need>,
    load: usize,
    later: usize,
    access_index: usize,
    found_need: Need,
}

impl Flow<'_> {
    fn get(&self, value: ValueId) -> Need {
        self.needs.get(value.0 as usize).copied().unwrap_or_default()
    }

    fn raise(&mut self, value: ValueId, need: Need) {
        if let Some(to) = self.needs.get_mut(value.0 as usize) {
            *to = need.max(*to);
        }
    }

    fn count_lanes(&self, value: ValueId) -> usize {
        self.function
            .values
            .get(value.0 as usize)
            .map_or(1, |info| info.ty.shape.iter().product())
    }

    fn block(&mut self, block: &Block, decided: Need) {
        for op in &block.ops {
            let strongest = op
                .operands
                .iter()
                .map(|&operand| self.get(operand))
                .max()
                .unwrap_or_default();
            if op.kind.accesses_memory() {
                if self.access_index == self.later {
                    self.found_need = self.found_need.max(strongest).max(decided);
                }
                // Every thread loads a scalar for itself.
                if self.access_index == self.load
                    && let Some(&result) = op.results.first()
                    && self.count_lanes(result) > 1
                {
                    self.raise(result, Need::Lane);
                }
                self.access_index += 1;
            }
            self.follow_regions(op, decided);
            let kept = self.propagate_need(op, strongest);
            for &result in &op.results {
                self.raise(result, kept);
            }
        }
    }

    fn follow_regions(&mut self, op: &Operation, decided: Need) {
        let yields = |block: &Block| -> Vec<ValueId> {
            let last = block.ops.last().filter(|op| matches!(op.kind, OpKind::Yield));
            last.map_or_else(Vec::new, |op| op.operands.to_vec())
        };
        let join = |flow: &mut Self, to: &[ValueId], from: &[ValueId]| {
            for (&to, &from) in to.iter().zip(from) {
                let need = flow.get(from);
                flow.raise(to, need);
            }
        };
        match &op.kind {
            OpKind::For { body } => {
                let (bounds, initial) = op.operands.split_at(3.min(op.operands.len()));
                let carried: Vec<ValueId> = body.args.iter().skip(1).copied().collect();
                let trips = bounds.iter().map(|&bound| self.get(bound)).max();
                join(self, &carried, initial);
                self.block(body, decided.max(trips.unwrap_or_default()));
                join(self, &carried, &yields(body));
                join(self, &op.results, initial);
                join(self, &op.results, &yields(body));
            }
            OpKind::If {
                then_block,
                else_block,
            } => {
                let condition = op.operands.first().map(|&condition| self.get(condition));
                for block in [then_block, else_block] {
                    self.block(block, decided.max(condition.unwrap_or_default()));
                    join(self, &op.results, &yields(block));
                }
            }
            OpKind::While { before, after } => {
                join(self, &before.args, &op.operands);
                self.block(before, decided);
                let passed = yields(before);
                let condition = passed.first().map(|&condition| self.get(condition));
                let passed = passed.get(1..).unwrap_or(&[]).to_vec();
                join(self, &after.args, &passed);
                join(self, &op.results, &passed);
                self.block(after, decided.max(condition.unwrap_or_default()));
                join(self, &before.args, &yields(after));
            }
            _ => {}
        }
    }

    /// The rest of the need after an operation.
    fn propagate_need(&self, op: &Operation, strongest: Need) -> Need {
        if strongest != Need::Lane {
            return match op.kind {
                OpKind::For { .. } | OpKind::If { .. } | OpKind::While { .. } => Need::None,
                _ => strongest,
            };
        }
        let single = op
            .results
            .first()
            .is_none_or(|&result| self.count_lanes(result) == 1);
        match op.kind {
            OpKind::Reduce { .. } if single => Need::All,
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Ternary(_)
            | OpKind::Library(_)
            | OpKind::Foreign(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Cast { .. }
            | OpKind::AddPtr
            | OpKind::Hint { .. }
            | OpKind::Scan { .. }
            | OpKind::Load { .. }
            | OpKind::AtomicRmw { .. }
            | OpKind::AtomicCas { .. }
            // One more dimension changes no lane's number.
            | OpKind::Reshape { reorder: false } => Need::Lane,
            _ => Need::None,
        }
    }
}

/// The sources of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    /// The result of the load in question.
    pub load: bool,
    /// The product of matrices.
    pub product: bool,
}

impl std::ops::BitOrAssign for Sources {
    fn bitor_assign(&mut self, other: Self) {
        self.load |= other.load;
        self.product |= other.product;
    }
}

/// The values, branches and further accesses that the result of one load reaches: everything that may be computed from it.
#[derive(Debug)]
pub(crate) struct Reach {
    sources: Vec<Sources>,
    /// For each access, by its place in the text, what its operands and the branches around it are computed from.
    pub accesses: Vec<Accessed>,
    load: usize,
    access_index: usize,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accessed {
    /// Its address.
    pub pointer: ValueId,
    /// The sources of the value that it stores.
    pub value: Sources,
    /// The sources of its operands and of the branches around it.
    pub any: Sources,
    /// Whether it changes memory.
    pub changes: bool,
}

impl Reach {
    /// Follows the load with this place in the text.
    pub(crate) fn from_load(function: &Function, load: usize) -> Self {
        let mut reach = Self {
            sources: vec![Sources::default(); function.values.len()],
            accesses: Vec::new(),
            load,
            access_index: 0,
        };
        loop {
            let before = reach.sources.clone();
            reach.accesses.clear();
            reach.access_index = 0;
            reach.block(&function.body, Sources::default());
            if reach.sources == before {
                return reach;
            }
        }
    }

    fn get(&self, value: ValueId) -> Sources {
        self.sources.get(value.0 as usize).copied().unwrap_or_default()
    }

    fn join_sources(&self, values: &[ValueId]) -> Sources {
        let mut all = Sources::default();
        for &value in values {
            all |= self.get(value);
        }
        all
    }

    fn raise(&mut self, values: &[ValueId], sources: Sources) {
        for value in values {
            if let Some(to) = self.sources.get_mut(value.0 as usize) {
                *to |= sources;
            }
        }
    }

    fn block(&mut self, block: &Block, around: Sources) {
        for op in &block.ops {
            let mut sources = self.join_sources(&op.operands);
            sources |= around;
            sources.product |= matches!(op.kind, OpKind::Dot { .. });
            if op.kind.accesses_memory() {
                self.accesses.push(Accessed {
                    pointer: op.operands.first().copied().unwrap_or(ValueId(u32::MAX)),
                    value: op
                        .operands
                        .get(1)
                        .map_or_else(Sources::default, |&value| self.get(value)),
                    any: sources,
                    changes: !matches!(op.kind, OpKind::Load { .. }),
                });
                sources.load |= self.access_index == self.load;
                self.access_index += 1;
            }
            for region in op.kind.regions() {
                // The values that a loop carries, and the condition of a branch.
                self.raise(&region.args, sources);
                self.block(region, sources);
                if let Some(last) = region.ops.last() {
                    sources |= self.join_sources(&last.operands);
                }
            }
            self.raise(&op.results, sources);
        }
    }
}
