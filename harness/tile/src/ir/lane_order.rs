//! Lane orders that Triton leaves open: `cat` and `reshape` with `can_reorder=True`, and `view`, may order their lanes
//! in any way. The interpreter executes them as written. [`Function::in_lane_order`] builds the same kernel with
//! another order, to detect results that depend on it.
//!
//! Operations of one kind between the same shapes use one order, as in compiled code, where it follows from the
//! layouts; the language's own reductions of several operands rely on that. Most orders are the same for all
//! operations, and [`LaneOrder::Apart`] covers the others. Reduction orders are not lane orders.

use smallvec::smallvec;

use super::{BinaryOp, Block, Elem, Function, LocId, OpKind, Operation, Shape, Type, ValueId, ValueInfo};
use crate::DType;

/// An order that the lanes of an operation may come in, where Triton leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneOrder {
    /// The last first.
    Reversed,
    /// Those from this lane on, and then the first ones.
    Rotated(u32),
    /// As [`LaneOrder::Rotated`], each kind of operation between the same shapes by another number of lanes.
    Apart,
    /// Runs of this many in turn with their neighbours; a power of two.
    Swapped(u32),
    /// Alternating between the first and the second half, like threads that own some of each.
    Interleaved,
}

impl LaneOrder {
    /// Enough to see whether a result depends on the order.
    pub const BASIC: [Self; 3] = [Self::Reversed, Self::Interleaved, Self::Apart];

    /// More, to see which lanes of it do: equal values of lanes hide it in any one order.
    pub const EXTRA: [Self; 12] = [
        Self::Swapped(1),
        Self::Swapped(2),
        Self::Swapped(4),
        Self::Swapped(8),
        Self::Swapped(16),
        Self::Swapped(32),
        Self::Rotated(2),
        Self::Rotated(3),
        Self::Rotated(5),
        Self::Rotated(7),
        Self::Rotated(13),
        Self::Rotated(29),
    ];
}

impl Function {
    /// Where the operations are whose lanes may come in any order, and that do something with it. One that only a
    /// reduction of all its lanes reads does not.
    pub fn open_lane_orders(&self) -> Vec<LocId> {
        let mut open = Vec::new();
        let mut read = vec![false; self.values.len()];
        self.body.visit_operations(&mut |op| {
            if let Some(result) = find_reordered(op, &self.values) {
                open.push((result, op.loc));
            }
            for &operand in &op.operands {
                if let Some(read) = read.get_mut(operand.0 as usize) {
                    *read |= !reduces_all(op, operand, &self.values);
                }
            }
        });
        open.retain(|(result, _)| read.get(result.0 as usize).is_some_and(|&read| read));
        open.into_iter().map(|(_, loc)| loc).collect()
    }

    /// The kernel with another order of lanes wherever Triton leaves it open.
    #[must_use]
    pub fn in_lane_order(&self, order: LaneOrder) -> Self {
        let mut function = self.clone();
        let mut values = std::mem::take(&mut function.values);
        rewrite(&mut function.body, &mut values, order, &mut Vec::new());
        function.values = values;
        function
    }
}

/// The result of an operation whose lanes may come in any order, if it has more than one.
fn find_reordered(op: &Operation, values: &[ValueInfo]) -> Option<ValueId> {
    let (OpKind::Reshape { reorder: true } | OpKind::Cat { reorder: true }) = op.kind else {
        return None;
    };
    let result = *op.results.first()?;
    (values.get(result.0 as usize)?.ty.numel() > 1).then_some(result)
}

/// Whether an operation makes one number of all lanes of an operand by a well-known operation.
fn reduces_all(op: &Operation, operand: ValueId, values: &[ValueInfo]) -> bool {
    matches!(op.kind, OpKind::Reduce { combine: Some(_), .. })
        && values
            .get(operand.0 as usize)
            .is_some_and(|value| value.ty.shape.len() == 1)
}

/// A kind of operation, and the shapes that it is between.
type ReorderKind = (bool, Shape, Shape);

fn rewrite(block: &mut Block, values: &mut Vec<ValueInfo>, order: LaneOrder, seen: &mut Vec<ReorderKind>) {
    let mut ops = Vec::with_capacity(block.ops.len());
    for mut op in std::mem::take(&mut block.ops) {
        for region in op.kind.regions_mut() {
            rewrite(region, values, order, seen);
        }
        match find_reordered(&op, values) {
            Some(result) => {
                let order = match order {
                    LaneOrder::Apart => {
                        LaneOrder::Rotated(2 * find_kind_index(&op, result, values, seen) + 1)
                    }
                    order => order,
                };
                permute(op, result, &mut ops, values, order);
            }
            None => ops.push(op),
        }
    }
    block.ops = ops;
}

/// Which of the kinds of operations between shapes it is.
fn find_kind_index(
    op: &Operation,
    result: ValueId,
    values: &[ValueInfo],
    seen: &mut Vec<ReorderKind>,
) -> u32 {
    let shape = |value: ValueId| values.get(value.0 as usize).map(|value| value.ty.shape.clone());
    let between = (
        matches!(op.kind, OpKind::Cat { .. }),
        op.operands
            .first()
            .and_then(|&operand| shape(operand))
            .unwrap_or_default(),
        shape(result).unwrap_or_default(),
    );
    let known = seen.iter().position(|one| *one == between);
    known.unwrap_or_else(|| {
        seen.push(between);
        seen.len() - 1
    }) as u32
}

/// The operation, followed by a gather of its lanes in another order, whose result replaces the old one.
fn permute(
    mut op: Operation,
    result: ValueId,
    ops: &mut Vec<Operation>,
    values: &mut Vec<ValueInfo>,
    order: LaneOrder,
) {
    let loc = op.loc;
    let make = |values: &mut Vec<ValueInfo>, ty: Type| {
        values.push(ValueInfo { ty, name: None });
        ValueId(values.len() as u32 - 1)
    };
    let ty = values[result.0 as usize].ty.clone();
    let lanes = ty.numel();
    let row = Type::block(ty.elem, smallvec![lanes]);
    let number = Type::block(Elem::Num(DType::I32), smallvec![lanes]);
    let written = make(values, row.clone());
    op.results = smallvec![written];
    if let OpKind::Reshape { reorder } = &mut op.kind {
        *reorder = false;
    }
    ops.push(op);

    let mut push = |kind: OpKind, operands: &[ValueId], result: ValueId| {
        ops.push(Operation {
            kind,
            operands: operands.into(),
            results: smallvec![result],
            loc,
        });
        result
    };
    let last = lanes as u64 - 1;
    let mut index = |values: &mut Vec<ValueInfo>, kind: OpKind, operands: &[ValueId]| {
        let result = make(values, number.clone());
        push(kind, operands, result)
    };
    let range = OpKind::Range {
        start: 0,
        end: lanes as i32,
    };
    let lane = index(values, range, &[]);
    let from = match order {
        LaneOrder::Reversed => {
            let last = index(values, OpKind::Constant(last), &[]);
            index(values, OpKind::Binary(BinaryOp::Sub), &[last, lane])
        }
        LaneOrder::Apart => lane,
        LaneOrder::Rotated(by) => {
            let by = index(values, OpKind::Constant(u64::from(by) & last), &[]);
            let last = index(values, OpKind::Constant(last), &[]);
            let next = index(values, OpKind::Binary(BinaryOp::Add), &[lane, by]);
            index(values, OpKind::Binary(BinaryOp::And), &[next, last])
        }
        LaneOrder::Swapped(run) => {
            let run = index(values, OpKind::Constant(u64::from(run) & last), &[]);
            index(values, OpKind::Binary(BinaryOp::Xor), &[lane, run])
        }
        LaneOrder::Interleaved => {
            let one = index(values, OpKind::Constant(1), &[]);
            let half = index(values, OpKind::Constant(lanes as u64 / 2), &[]);
            let odd = index(values, OpKind::Binary(BinaryOp::And), &[lane, one]);
            let behind = index(values, OpKind::Binary(BinaryOp::Mul), &[odd, half]);
            let within = index(values, OpKind::Binary(BinaryOp::LShr), &[lane, one]);
            index(values, OpKind::Binary(BinaryOp::Add), &[within, behind])
        }
    };
    if ty.shape.len() == 1 {
        push(OpKind::Gather { axis: 0 }, &[written, from], result);
    } else {
        let gathered = make(values, row);
        push(OpKind::Gather { axis: 0 }, &[written, from], gathered);
        push(OpKind::Reshape { reorder: false }, &[gathered], result);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;
    use crate::source::{Sources, Span};

    /// A kernel of 8 lanes under another shape, in any order.
    fn build_view_kernel(shape: &[usize]) -> Function {
        let mut b = Builder::new("k", Sources::default(), Span::default());
        let number = |shape: &[usize]| Type::block(Elem::Num(DType::I32), Shape::from_slice(shape));
        let x = b.add_op(OpKind::Range { start: 0, end: 8 }, &[], number(&[8]));
        let y = b.add_op(OpKind::Reshape { reorder: true }, &[x], number(shape));
        b.add_effect(
            OpKind::Print {
                prefix: String::new(),
                hex: false,
            },
            &[y],
        );
        b.finish()
    }

    #[test]
    fn a_kernel_in_another_order_is_a_kernel() {
        for shape in [&[8][..], &[2, 4], &[2, 2, 2]] {
            let function = build_view_kernel(shape);
            assert_eq!(function.open_lane_orders().len(), 1);
            for order in LaneOrder::BASIC.into_iter().chain(LaneOrder::EXTRA) {
                let other = function.in_lane_order(order);
                other.verify().expect("a kernel");
                assert_eq!(other.open_lane_orders(), [], "{order:?}");
                assert!(other.body.ops.len() > function.body.ops.len());
            }
        }
    }
}
