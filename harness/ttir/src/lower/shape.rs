//! Lowers operations that create or move lanes, and hints about them.

use cerith_tile::ir::{Combine, OpKind, Promise, Shape, Type, ValueId};
use smallvec::SmallVec;

use super::{Bundle, Lowered, Lowering, result_type, stop};
use crate::syntax::{Attr, Operation};

impl<'m> Lowering<'m> {
    pub(super) fn lower_shape(&mut self, op: &'m Operation) -> Lowered<Option<SmallVec<[ValueId; 2]>>> {
        let kind = match op.name.as_str() {
            "tt.get_program_id" => OpKind::ProgramId(axis_of_grid(op)?),
            "tt.get_num_programs" => OpKind::NumPrograms(axis_of_grid(op)?),
            "tt.make_range" => OpKind::Range {
                start: int_attr(op, "start")?,
                end: int_attr(op, "end")?,
            },
            "tt.splat" => {
                let [value] = self.single_operands(op)?;
                let ty = result_type(op)?;
                let splat = if ty.is_scalar() {
                    value
                } else {
                    self.push_op(OpKind::Splat, &[value], ty)
                };
                if let Some(&number) = self.numbers.get(&value) {
                    self.numbers.insert(splat, number);
                }
                return Ok(Some(smallvec::smallvec![splat]));
            }
            "tt.unsplat" => {
                let [value] = self.single_operands(op)?;
                return Ok(Some(smallvec::smallvec![self.only_lane(value)?]));
            }
            "tt.broadcast" => OpKind::Broadcast,
            "tt.expand_dims" => OpKind::Reshape { reorder: false },
            "tt.reshape" | "tt.view" => OpKind::Reshape {
                reorder: op.name == "tt.view"
                    || op.has_word("allow_reorder")
                    || op.find_attr("allow_reorder") == Some(&Attr::Bool(true)),
            },
            "tt.trans" | "tt.permute" => OpKind::Trans { order: order(op)? },
            "tt.join" => OpKind::Join,
            "tt.cat" => OpKind::Cat { reorder: true },
            "tt.gather" => OpKind::Gather {
                axis: int_attr::<usize>(op, "axis")?,
            },
            "tt.histogram" => OpKind::Histogram {
                mask: op.operands.len() == 2,
            },
            "tt.split" => {
                let [value] = self.single_operands(op)?;
                let ty = result_type(op)?;
                return Ok(Some(self.builder.op_multi(
                    OpKind::Split,
                    &[value],
                    &[ty.clone(), ty],
                )));
            }
            _ => return Ok(None),
        };
        let ty = result_type(op)?;
        let mut operands: SmallVec<[ValueId; 2]> = SmallVec::new();
        for nth in 0..op.operands.len() {
            operands.push(self.single_operand(op, nth)?);
        }
        Ok(Some(smallvec::smallvec![self.push_op(kind, &operands, ty)]))
    }

    /// Returns the scalar of a block with one lane.
    pub(super) fn only_lane(&mut self, value: ValueId) -> Lowered<ValueId> {
        let ty = self.ty(value);
        if ty.numel() != 1 {
            return stop(format!("`tt.unsplat` of {ty}"));
        }
        let element = Type::scalar(ty.elem);
        let mut value = value;
        for left in (0..ty.shape.len()).rev() {
            // A single lane needs no combination.
            let args = [
                self.builder.add_value(element.clone()),
                self.builder.add_value(element.clone()),
            ];
            self.builder.open_block(&args);
            let region = self.builder.close_block(&[args[0]]);
            let kind = OpKind::Reduce {
                axis: 0,
                combine: None::<Combine>,
                region,
            };
            let rest: Shape = ty.shape.iter().skip(ty.shape.len() - left).copied().collect();
            value = self.push_op(kind, &[value], Type::block(ty.elem, rest));
        }
        Ok(value)
    }

    /// Applies the hints of attributes to results: `tl.multiple_of` and similar in Python.
    pub(super) fn apply_promises(&mut self, op: &Operation, bundles: Vec<Bundle>) -> Lowered<Vec<Bundle>> {
        let [bundle] = bundles.as_slice() else {
            return Ok(bundles);
        };
        let &[mut value] = bundle.as_slice() else {
            return Ok(bundles);
        };
        let before = value;
        for (name, promise) in [
            ("tt.divisibility", Promise::MultipleOf),
            ("tt.contiguity", Promise::MaxContiguous),
            ("tt.constancy", Promise::MaxConstancy),
        ] {
            let Some(attr) = op.find_attr(name) else { continue };
            let ty = self.ty(value);
            let rank = ty.shape.len().max(1);
            let numbers = match (attr, attr.ints()) {
                (_, Some(numbers)) => numbers,
                (Attr::Dense(one), None) if one.int().is_some() => vec![one.int().unwrap_or(1); rank],
                (Attr::Int(one), None) => vec![*one; rank],
                _ => return stop(format!("`{name}` that promises {attr:?}")),
            };
            let values: Option<Shape> = numbers
                .iter()
                .map(|&number| usize::try_from(number).ok())
                .collect();
            match values {
                Some(values) if values.len() == rank => {
                    value = self.push_op(OpKind::Hint { promise, values }, &[value], ty);
                }
                _ => return stop(format!("`{name}` that promises {attr:?} of {ty}")),
            }
        }
        if value == before {
            return Ok(bundles);
        }
        Ok(vec![Bundle::from_slice(&[value])])
    }
}

/// Reads a required integer attribute.
pub(super) fn int_attr<T: TryFrom<i128>>(op: &Operation, name: &str) -> Lowered<T> {
    op.find_attr(name)
        .and_then(Attr::int)
        .and_then(|number| T::try_from(number).ok())
        .map_or_else(|| stop(format!("`{}` without `{name}`", op.name)), Ok)
}

fn axis_of_grid(op: &Operation) -> Lowered<u8> {
    match op.nth_word(0) {
        Some("x") => Ok(0),
        Some("y") => Ok(1),
        Some("z") => Ok(2),
        _ => int_attr(op, "axis"),
    }
}

pub(super) fn order(op: &Operation) -> Lowered<Shape> {
    op.find_attr("order")
        .and_then(Attr::ints)
        .and_then(|order| order.into_iter().map(|at| usize::try_from(at).ok()).collect())
        .map_or_else(|| stop(format!("`{}` without an order", op.name)), Ok)
}
