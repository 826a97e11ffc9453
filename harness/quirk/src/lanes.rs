//! Models of scans and reductions whose compiled code exchanges elements with the wrong lanes ([`Form`]).
//! Which lanes hold an element depends on the layout, which a compiler chooses. So a model has an alternative for each kind of layout, and
//! a difference is explained only if one alternative leaves exactly these bytes.
//!
//! Sources: `lib/Conversion/TritonGPUToLLVM/{ScanOpToLLVM,ReduceOpToLLVM}.cpp` and `lib/Analysis/Utility.cpp` of Triton 3.0 to 3.6, and
//! records of an H200.

use std::collections::HashSet;

use cerith_tile::ir::{Block, Function, OpKind, Operation, Type, ValueId};
use cerith_tile::quirk::signature::Form;
use cerith_tile::rules::Version;
use smallvec::smallvec;

use crate::build::Builder;
use crate::form::OperationForms;

/// Lanes of a warp.
const WARP: usize = 32;

/// Maximum bytes that a thread loads at once. Lanes of a warp hold the same element only if the warp can load more than
/// the block.
const VECTOR: usize = 16;

/// Maximum registers of one thread with copies of one element.
const MAX_REGISTERS: usize = 16;

/// Maximum warps along an axis.
const MAX_WARPS: usize = 8;

/// Maximum lanes of a modelled operation.
const MAX_LANES: usize = 1 << 13;

/// Maximum alternatives for one kernel.
const MAX_ALTERNATIVES: usize = 256;

/// The first version whose scans and reductions take any linear layout, and compute distances between lanes from it.
const LINEAR_LAYOUTS: Version = Version::new(3, 3, 0);

/// How an operation's elements lie in lanes, and how the code exchanges them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Placement {
    /// Each element of a scan is in `copies` neighbouring lanes. The code shuffles as if it were in one lane
    /// (`getAxisThreadStride` up to 3.6 doesn't count lanes that repeat before the axis). Each of the `warps` along the
    /// axis adds the totals of the earlier ones. All copies of a total are stored to one address, and the copy `total`
    /// remains.
    Repeated {
        copies: usize,
        warps: usize,
        total: usize,
    },
    /// A scan's axis is repeated in the lanes after it. The code lets these lanes go on accumulating (up to 3.2, `laneIdAxis` isn't
    /// reduced modulo the axis).
    Wrapped,
    /// A scan's axis is this many times in the registers of one thread. The code accumulates all of them (up to 3.2).
    InRegisters(usize),
    /// A reduction's index has bits in lanes. The code combines lanes by other bits: instead of the bits `left`, by `combined` (`None` is a bit
    /// of lanes that repeat). `getThreadOffsetOnReductionAxis` of 3.3 to 3.6 has only the lowest lane bit of the axis, and the code
    /// takes the following bits for those of the axis.
    Swapped {
        left: Vec<u32>,
        combined: Vec<Option<u32>>,
    },
}

/// One alternative of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    placement: Placement,
    /// The only operation that it applies to, by its number among those of the form.
    operation: Option<usize>,
    /// The copy of the results that is used everywhere. If there is none, each use of an element may be of another copy.
    copy: Option<usize>,
}

/// Combines lanes: `accumulated[lane]` with `accumulated[from[lane]]`, where `on`.
struct Step {
    from: Vec<u32>,
    /// All lanes if empty.
    on: Vec<bool>,
    /// Whether a lane's own value is the first operand.
    own_first: bool,
}

/// How an operation is executed lane by lane.
struct Exchange {
    /// The element in each lane, in row-major order.
    elements: Vec<u32>,
    steps: Vec<Step>,
    /// For each copy of the result: the lane of each element.
    copies: Vec<Vec<u32>>,
}

/// The extents around an axis.
#[derive(Clone, Copy)]
struct Extents {
    outer: usize,
    count: usize,
    inner: usize,
}

impl Extents {
    fn new(shape: &[usize], axis: usize) -> Option<Self> {
        let count = *shape.get(axis)?;
        let outer = shape.iter().take(axis).product();
        let inner = shape.iter().skip(axis + 1).product();
        let is_modelled = shape.iter().all(|extent| extent.is_power_of_two());
        (is_modelled && outer * count * inner <= MAX_LANES).then_some(Self { outer, count, inner })
    }

    /// The row-major number of an element: its row is a pair of outer and inner index.
    const fn number_element(self, row: usize, along: usize) -> usize {
        (row / self.inner * self.count + along) * self.inner + row % self.inner
    }

    const fn rows(self) -> usize {
        self.outer * self.inner
    }

    /// The bits of a row-major number that are of the axis.
    const fn axis_bits(self) -> std::ops::Range<u32> {
        let low = self.inner.trailing_zeros();
        low..low + self.count.trailing_zeros()
    }
}

impl Placement {
    fn place_scan(&self, extents: Extents, reverse: bool) -> Option<Exchange> {
        let n = extents.count;
        // For each step, the lane that each lane of a row takes its other operand from, if it takes part.
        let steps_of = |lanes: usize, distances: &[usize], takes: &dyn Fn(usize, usize) -> bool| {
            let step = |&distance: &usize| {
                let lanes = 0..lanes;
                let from = lanes.map(|lane| takes(lane, distance).then(|| lane.saturating_sub(distance)));
                from.collect::<Vec<_>>()
            };
            distances.iter().map(step).collect::<Vec<_>>()
        };
        let (lanes_per_row, steps) = match *self {
            Self::Repeated { copies, warps, total }
                if n > 1 && n.is_multiple_of(warps) && n / warps * copies <= WARP =>
            {
                let (lanes, along) = (n * copies, n / warps);
                let distances: Vec<usize> = list_doublings(along / 2).collect();
                // A shuffle by `distance` lanes, where `distance` elements are meant.
                let mut steps = steps_of(lanes, &distances, &|lane, distance| {
                    lane / copies % along >= distance
                });
                for warp in 1..warps {
                    let before = (warp * along - 1) * copies + total;
                    let in_warp = |lane: usize| lane / (copies * along) == warp;
                    steps.push((0..lanes).map(|lane| in_warp(lane).then_some(before)).collect());
                }
                (lanes, steps)
            }
            Self::Wrapped if n > 1 && n < WARP => {
                let distances: Vec<usize> = list_doublings(n / 2).collect();
                let takes = |lane, distance| lane >= distance;
                (2 * n, steps_of(2 * n, &distances, &takes))
            }
            Self::InRegisters(copies) if n * copies <= MAX_REGISTERS => {
                let all = n * copies;
                let step = |to: usize| (0..all).map(|at| (at == to).then(|| at - 1)).collect();
                (all, (1..all).map(step).collect())
            }
            _ => return None,
        };
        let rows = extents.rows();
        if rows * lanes_per_row > MAX_LANES {
            return None;
        }
        let copies = lanes_per_row / n;
        // Scans from the end are turned around, executed, and turned back.
        let place = |along: usize| if reverse { n - 1 - along } else { along };
        let along_of = |lane: usize| match self {
            Self::Repeated { .. } => lane / copies,
            _ => lane % n,
        };
        let lane_of = |along: usize, copy: usize| match self {
            Self::Repeated { .. } => along * copies + copy,
            _ => copy * n + along,
        };
        let each = |value: &dyn Fn(usize, usize) -> usize| -> Vec<u32> {
            let lanes = (0..rows).flat_map(|row| (0..lanes_per_row).map(move |lane| (row, lane)));
            lanes.map(|(row, lane)| value(row, lane) as u32).collect()
        };
        let elements = each(&|row, lane| extents.number_element(row, place(along_of(lane))));
        let steps = steps.into_iter().map(|from| Step {
            from: each(&|row, lane| row * lanes_per_row + from[lane].unwrap_or(lane)),
            on: (0..rows).flat_map(|_| from.iter().map(Option::is_some)).collect(),
            own_first: false,
        });
        let results = (0..copies).map(|copy| {
            let mut lanes = vec![0; rows * n];
            for row in 0..rows {
                for along in 0..n {
                    let lane = row * lanes_per_row + lane_of(place(along), copy);
                    lanes[extents.number_element(row, along)] = lane as u32;
                }
            }
            lanes
        });
        Some(Exchange {
            elements,
            steps: steps.collect(),
            copies: results.collect(),
        })
    }

    fn place_reduction(&self, extents: Extents) -> Option<Exchange> {
        let Self::Swapped { left, combined } = self else {
            return None;
        };
        let bits = extents.axis_bits();
        let lanes = extents.rows() * extents.count;
        let within = |bit: &u32| !bits.contains(bit) && 1usize << bit < lanes;
        if !left.iter().all(|bit| bits.contains(bit)) || !combined.iter().flatten().all(within) {
            return None;
        }
        let own = bits.clone().rev().filter(|bit| !left.contains(bit)).map(Some);
        let steps = own.chain(combined.iter().copied()).map(|bit| Step {
            from: (0..lanes as u32)
                .map(|lane| lane ^ bit.map_or(0, |bit| 1 << bit))
                .collect(),
            on: Vec::new(),
            own_first: true,
        });
        let copies = (0..1u32 << left.len()).map(|copy| {
            let set = left.iter().enumerate().filter(|(nth, _)| copy >> nth & 1 == 1);
            let offset: u32 = set.map(|(_, bit)| 1 << bit).sum();
            let first = (0..extents.rows()).map(|row| extents.number_element(row, 0) as u32);
            first.map(|lane| lane + offset).collect()
        });
        Some(Exchange {
            elements: (0..lanes as u32).collect(),
            steps: steps.collect(),
            copies: copies.collect(),
        })
    }

    /// Number of lanes with a copy of each element of a result.
    fn copies(&self) -> usize {
        match self {
            Self::Repeated { copies, .. } | Self::InRegisters(copies) => *copies,
            Self::Wrapped => 2,
            Self::Swapped { left, .. } => 1 << left.len(),
        }
    }

    fn exchange(&self, kind: &OpKind, ty: &Type) -> Option<Exchange> {
        match kind {
            OpKind::Scan { axis, reverse, .. } => self.place_scan(Extents::new(&ty.shape, *axis)?, *reverse),
            OpKind::Reduce { axis, .. } => self.place_reduction(Extents::new(&ty.shape, *axis)?),
            _ => None,
        }
    }
}

/// 1, 2, 4 and so on, up to the last.
fn list_doublings(last: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |&distance| Some(distance * 2))
        .take_while(move |&distance| distance <= last)
}

/// The type of the operand with the largest elements.
fn find_widest<'a>(function: &'a Function, op: &Operation) -> &'a Type {
    let types = op.operands.iter().map(|&operand| function.ty(operand));
    types
        .max_by_key(|ty| ty.elem.size())
        .unwrap_or_else(|| function.ty(op.results[0]))
}

/// The placements that a version's compiler may choose for an operation on blocks of this type.
fn list_placements(kind: &OpKind, ty: &Type, version: Version) -> Vec<Placement> {
    let linear = version >= LINEAR_LAYOUTS;
    match kind {
        OpKind::Scan { .. } if linear => {
            let pairs = list_doublings(WARP)
                .skip(1)
                .flat_map(|copies| list_doublings(MAX_WARPS).map(move |warps| (copies, warps)));
            let repeated = pairs.flat_map(|(copies, warps)| {
                let totals: &[usize] = if warps > 1 { &[0, copies - 1] } else { &[0] };
                let totals = totals.to_vec();
                totals
                    .into_iter()
                    .map(move |total| Placement::Repeated { copies, warps, total })
            });
            repeated.collect()
        }
        OpKind::Scan { .. } => std::iter::once(Placement::Wrapped)
            .chain(list_doublings(MAX_REGISTERS).skip(1).map(Placement::InRegisters))
            .collect(),
        OpKind::Reduce { axis, .. } if linear => {
            let extents = Extents::new(&ty.shape, *axis);
            let bytes = ty.numel() * ty.elem.size();
            extents
                .map(|extents| list_swaps(extents, WARP * VECTOR / bytes.max(1)))
                .unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Every exchange of some bits of the axis for as many others, the fewest bits first. At most `repeated` lanes hold the same element.
fn list_swaps(extents: Extents, repeated: usize) -> Vec<Placement> {
    let repeating = repeated.checked_ilog2().unwrap_or(0) as usize;
    let axis: Vec<u32> = extents.axis_bits().collect();
    let all = 0..(extents.rows() * extents.count).trailing_zeros();
    let others: Vec<u32> = all.filter(|bit| !axis.contains(bit)).collect();
    let mut swaps = Vec::new();
    for count in 1..=axis.len().min(WARP.trailing_zeros() as usize) {
        for left in list_subsets(&axis, count) {
            for real in (count.saturating_sub(repeating)..=count.min(others.len())).rev() {
                for taken in list_subsets(&others, real) {
                    let repeating = std::iter::repeat_n(None, count - real);
                    swaps.push(Placement::Swapped {
                        left: left.clone(),
                        combined: taken.iter().copied().map(Some).chain(repeating).collect(),
                    });
                    if swaps.len() >= MAX_ALTERNATIVES {
                        return swaps;
                    }
                }
            }
        }
    }
    swaps
}

/// The subsets of so many elements, in order.
fn list_subsets(of: &[u32], count: usize) -> Vec<Vec<u32>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let firsts = of.iter().enumerate();
    let sets = firsts.flat_map(|(at, &first)| {
        let rest = list_subsets(of.get(at + 1..).unwrap_or(&[]), count - 1);
        rest.into_iter()
            .map(move |rest| std::iter::once(first).chain(rest).collect())
    });
    sets.collect()
}

/// The alternatives of a form's model for a kernel that so many lanes execute. `version` is the compiler's.
pub fn list_alternatives(
    function: &Function,
    form: Form,
    lanes: usize,
    version: Version,
) -> Vec<Alternative> {
    let forms = OperationForms::new(function, form, lanes);
    let mut operations = Vec::new();
    let mut spread = false;
    let mut results = HashSet::new();
    function.body.visit_operations(&mut |op| {
        if forms.has(op) {
            operations.push(list_placements(&op.kind, find_widest(function, op), version));
            results.extend(op.results.iter().copied());
        } else if op.operands.iter().any(|operand| results.contains(operand)) {
            // Lanes that repeat an element of a result become elements of their own.
            spread |= op.kind == OpKind::Broadcast;
            results.extend(op.results.iter().copied());
        }
    });
    let all = operations.iter().flatten().map(|placement| (placement, None));
    let numbered = operations.iter().enumerate().filter(|_| operations.len() > 1);
    let each = numbered.flat_map(|(nth, placements)| placements.iter().map(move |one| (one, Some(nth))));
    let mut alternatives: Vec<Alternative> = Vec::new();
    for (placement, operation) in all.chain(each) {
        let copies = if spread { 1 } else { placement.copies() };
        for copy in 0..copies {
            let alternative = Alternative {
                placement: placement.clone(),
                operation,
                copy: (!spread).then_some(copy),
            };
            if !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
            if alternatives.len() >= MAX_ALTERNATIVES {
                return alternatives;
            }
        }
    }
    alternatives
}

/// The kernel with results of a form's operations that have no value, or `None` if it has no such operation.
pub fn without_values(function: &Function, form: Form, lanes: usize) -> Option<Function> {
    let forms = OperationForms::new(function, form, lanes);
    let mut function = function.clone();
    replace_by_poison(&mut function.body, &forms).then_some(function)
}

fn replace_by_poison(block: &mut Block, forms: &OperationForms) -> bool {
    let mut replaced = false;
    let mut ops = Vec::with_capacity(block.ops.len());
    for mut op in std::mem::take(&mut block.ops) {
        if forms.has(&op) {
            replaced = true;
            let results = op.results.iter();
            ops.extend(results.map(|&result| Operation {
                kind: OpKind::Poison,
                operands: smallvec![],
                results: smallvec![result],
                loc: op.loc,
            }));
            continue;
        }
        for region in op.kind.regions_mut() {
            replaced |= replace_by_poison(region, forms);
        }
        ops.push(op);
    }
    block.ops = ops;
    replaced
}

/// The kernel under an alternative, once for each copy of the operations' results that may be used. Empty if the alternative doesn't apply
/// to any operation of the kernel.
pub fn follow_alternative(
    function: &Function,
    form: Form,
    lanes: usize,
    alternative: &Alternative,
) -> Vec<Function> {
    let first = alternative.copy.unwrap_or(0);
    let first = Rewriter::rewrite(function, form, lanes, alternative, first);
    let Some((first, copies)) = first else {
        return Vec::new();
    };
    let copies = if alternative.copy.is_some() { 1 } else { copies };
    let others = (1..copies).filter_map(|copy| Rewriter::rewrite(function, form, lanes, alternative, copy));
    let others = others.map(|(function, _)| function);
    std::iter::once(first).chain(others).collect()
}

struct Rewriter<'a> {
    function: Function,
    forms: OperationForms,
    alternative: &'a Alternative,
    copy: usize,
    /// Operations of the form so far.
    count: usize,
    /// Maximum copies of a rewritten operation's result; 0 if nothing was rewritten.
    copies: usize,
}

impl<'a> Rewriter<'a> {
    fn rewrite(
        function: &Function,
        form: Form,
        lanes: usize,
        alternative: &'a Alternative,
        copy: usize,
    ) -> Option<(Function, usize)> {
        let mut rewriter = Self {
            forms: OperationForms::new(function, form, lanes),
            function: function.clone(),
            alternative,
            copy,
            count: 0,
            copies: 0,
        };
        let body = std::mem::take(&mut rewriter.function.body);
        rewriter.function.body = rewriter.block(body);
        (rewriter.copies > 0).then_some((rewriter.function, rewriter.copies))
    }

    fn block(&mut self, block: Block) -> Block {
        let mut ops = Vec::with_capacity(block.ops.len());
        for mut op in block.ops {
            for region in op.kind.regions_mut() {
                let inner = std::mem::take(region);
                *region = self.block(inner);
            }
            match self.exchange(&op) {
                Some(exchange) => self.rewrite_operation(&op, &exchange, &mut ops),
                None => ops.push(op),
            }
        }
        Block { ops, ..block }
    }

    fn exchange(&mut self, op: &Operation) -> Option<Exchange> {
        if !self.forms.has(op) {
            return None;
        }
        let nth = self.count;
        self.count += 1;
        if self.alternative.operation.is_some_and(|only| only != nth) {
            return None;
        }
        let ty = self.function.ty(*op.operands.first()?);
        self.alternative.placement.exchange(&op.kind, ty)
    }

    fn rewrite_operation(&mut self, op: &Operation, exchange: &Exchange, ops: &mut Vec<Operation>) {
        let (OpKind::Scan { region, combine, .. } | OpKind::Reduce { region, combine, .. }) = &op.kind else {
            return;
        };
        self.copies = self.copies.max(exchange.copies.len());
        let mut build = Builder {
            function: &mut self.function,
            ops,
            loc: op.loc,
        };
        let elements = build.make_table(&exchange.elements);
        let mut lanes: Vec<ValueId> = Vec::new();
        for &operand in &op.operands {
            let flat = build.reshape(operand, &[build.function.ty(operand).numel()]);
            lanes.push(build.gather(flat, elements));
        }
        for step in &exchange.steps {
            let from = build.make_table(&step.from);
            let pairs: Vec<ValueId> = lanes
                .iter()
                .map(|&own| {
                    let other = build.gather(own, from);
                    let pair = if step.own_first {
                        [own, other]
                    } else {
                        [other, own]
                    };
                    build.join(pair)
                })
                .collect();
            let kind = OpKind::Reduce {
                axis: 1,
                combine: *combine,
                region: build.clone_region(region),
            };
            let combined: Vec<ValueId> = lanes
                .iter()
                .map(|&own| build.function.add_value(build.function.ty(own).clone()))
                .collect();
            build.push(kind, &pairs, &combined);
            lanes = if step.on.is_empty() {
                combined
            } else {
                let on = build.make_mask(&step.on);
                let both = combined.into_iter().zip(lanes);
                both.map(|(combined, own)| build.select(on, combined, own))
                    .collect()
            };
        }
        let copy = self.copy % exchange.copies.len();
        let places = build.make_table(&exchange.copies[copy]);
        for (&value, &result) in lanes.iter().zip(&op.results) {
            let found = build.gather(value, places);
            build.push(OpKind::Reshape { reorder: false }, &[found], &[result]);
        }
    }
}
