//! Lowers reductions, scans and mapped functions, whose region runs on elements. The language leaves the order of
//! combination open.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, Block, CmpPredicate, Elem, OpKind, Shape, Type, ValueId};

use super::flow::Ends;
use super::shape::int_attr;
use super::types::one_type;
use super::{Bundle, Lowered, Lowering, stop};
use crate::syntax::{Attr, Operation, Region};

/// Maximum elements of a mapped function.
const MOST_MAPPED: usize = 1 << 13;

impl<'m> Lowering<'m> {
    pub(super) fn lower_reduce(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        let is_scan = match op.name.as_str() {
            "tt.reduce" => false,
            "tt.scan" => true,
            "tt.map_elementwise" => return self.lower_map(op).map(Some),
            _ => return Ok(None),
        };
        let axis: usize = int_attr(op, "axis")?;
        let operands = self.all_operands(op)?;
        let elements: Vec<Type> = operands
            .iter()
            .map(|&operand| Type::scalar(self.builder.ty(operand).elem))
            .collect();
        let region = self.lower_combination(op, &elements)?;
        let combine = region.combine();
        let types: Vec<Type> = op.result_types().iter().map(one_type).collect::<Lowered<_>>()?;
        let kind = if is_scan {
            OpKind::Scan {
                axis,
                reverse: op.find_attr("reverse") == Some(&Attr::Bool(true)),
                combine,
                region,
            }
        } else {
            OpKind::Reduce {
                axis,
                combine,
                region,
            }
        };
        let results = self.builder.op_multi(kind, &operands, &types);
        Ok(Some(
            results
                .into_iter()
                .map(|value| Bundle::from_slice(&[value]))
                .collect(),
        ))
    }

    /// Lowers the region of a reduction or scan, which combines two of each element.
    fn lower_combination(&mut self, op: &'m Operation, elements: &[Type]) -> Lowered<Block> {
        let Some(region) = op.regions.first() else {
            return stop(format!("`{}` without a region", op.name));
        };
        let args: Vec<ValueId> = elements
            .iter()
            .chain(elements)
            .map(|element| self.builder.add_value(element.clone()))
            .collect();
        self.builder.open_block(&args);
        let bundles = args.iter().map(|&arg| Bundle::from_slice(&[arg])).collect();
        let yields = self.region_of(region, bundles, Ends::Region)?;
        let yields: Vec<ValueId> = yields.into_iter().flatten().collect();
        Ok(self.builder.close_block(&yields))
    }

    /// Lowers `tt.map_elementwise`: a loop over groups of elements in row-major order. Each iteration extracts a group
    /// from the operands, and inserts the values of the region into the results.
    fn lower_map(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let [region] = op.regions.as_slice() else {
            return stop("`tt.map_elementwise` without a region");
        };
        let pack: usize = op.find_attr("pack").map_or(Ok(1), |_| int_attr(op, "pack"))?;
        let sources = self.all_operands(op)?;
        let shape = sources
            .first()
            .map(|&source| self.ty(source).shape)
            .unwrap_or_default();
        let lanes = shape.iter().product::<usize>();
        if pack == 0 || shape.is_empty() || lanes % pack != 0 || lanes > MOST_MAPPED {
            return stop(format!(
                "`tt.map_elementwise` of {lanes} elements, {pack} at a time"
            ));
        }
        let row: Shape = smallvec::smallvec![lanes];
        let mut flat = Vec::with_capacity(sources.len());
        for source in sources {
            let ty = Type::block(self.ty(source).elem, row.clone());
            flat.push(self.push_op(OpKind::Reshape { reorder: false }, &[source], ty));
        }
        let types: Vec<Type> = op.result_types().iter().map(one_type).collect::<Lowered<_>>()?;
        let rows: Vec<Type> = types.iter().map(|ty| Type::block(ty.elem, row.clone())).collect();
        let number = Type::num(DType::I32);
        let end = i32::try_from(lanes).unwrap_or(i32::MAX);
        let places = OpKind::Range { start: 0, end };
        let places = self.push_op(places, &[], Type::block(Elem::Num(DType::I32), row));
        let mut operands = vec![
            self.push_number(0, number.clone()),
            self.push_number(i64::from(end), number.clone()),
            self.push_number(pack as i64, number.clone()),
        ];
        for ty in &rows {
            operands.push(self.push_op(OpKind::Poison, &[], ty.clone()));
        }
        let first = self.builder.add_value(number);
        let carried: Vec<ValueId> = rows.iter().map(|ty| self.builder.add_value(ty.clone())).collect();
        let args: Vec<ValueId> = std::iter::once(first).chain(carried.iter().copied()).collect();
        self.builder.open_block(&args);
        let yields = self.lower_turn(region, &flat, places, (first, pack), carried)?;
        let body = self.builder.close_block(&yields);
        let results = self.builder.op_multi(OpKind::For { body }, &operands, &rows);
        Ok(results
            .into_iter()
            .zip(types)
            .map(|(result, ty)| {
                let value = self.push_op(OpKind::Reshape { reorder: false }, &[result], ty);
                Bundle::from_slice(&[value])
            })
            .collect())
    }

    /// Lowers one iteration of a mapped function: inserts the region's values into the results, starting at `first`.
    fn lower_turn(
        &mut self,
        region: &'m Region,
        sources: &[ValueId],
        places: ValueId,
        (first, pack): (ValueId, usize),
        mut results: Vec<ValueId>,
    ) -> Lowered<Vec<ValueId>> {
        let mut at = Vec::with_capacity(pack);
        for offset in 0..pack {
            let offset = self.push_number(offset as i64, self.ty(first));
            at.push(self.push_binary(BinaryOp::Add, first, offset));
        }
        let mut elements = Vec::with_capacity(sources.len() * pack);
        for &source in sources {
            for &place in &at {
                let index = Type::block(Elem::Num(DType::I32), [1].as_slice());
                let index = self.push_op(OpKind::Splat, &[place], index);
                let ty = Type::block(self.ty(source).elem, [1].as_slice());
                let element = self.push_op(OpKind::Gather { axis: 0 }, &[source, index], ty);
                elements.push(Bundle::from_slice(&[self.only_lane(element)?]));
            }
        }
        let given: Vec<ValueId> = self
            .region_of(region, elements, Ends::Region)?
            .into_iter()
            .flatten()
            .collect();
        if given.len() != results.len() * pack {
            return stop(format!(
                "`tt.map_elementwise` whose region returns {} values",
                given.len()
            ));
        }
        for (result, values) in results.iter_mut().zip(given.chunks(pack)) {
            for (&place, &value) in at.iter().zip(values) {
                let lane = self.push_op(OpKind::Splat, &[place], self.ty(places));
                let here = self.compare(CmpPredicate::Eq, places, lane);
                let ty = self.ty(*result);
                let value = self.push_op(OpKind::Splat, &[value], ty.clone());
                *result = self.push_op(OpKind::Select, &[here, value, *result], ty);
            }
        }
        Ok(results)
    }
}
