//! Operations that move lanes: an index of the result is the index of the operand in other dimensions.

use cerith_tile::ir::{OpKind, Operation, Shape};

use super::Evaluator;
use crate::condition::Condition;
use crate::polynomial::Polynomial;
use crate::symbol::Alternative;
use crate::value::{Checks, Kind, RangeCheck, Value, add_check, merge_checks};

impl Evaluator<'_> {
    /// The lane along each dimension; 0 where there is only one.
    fn list_lanes(&mut self, shape: &Shape) -> Vec<Polynomial> {
        let lane = |(dim, &extent): (usize, &usize)| match extent {
            0 | 1 => Polynomial::default(),
            _ => Polynomial::from_symbol(self.symbols.lane(dim as u8)),
        };
        shape.iter().enumerate().map(lane).collect()
    }

    /// The result of an operation that moves lanes.
    pub(super) fn move_operand(&mut self, op: &Operation) -> Option<Value> {
        let operand = *op.operands.first()?;
        let result = *op.results.first()?;
        let (from, to) = (self.ty(operand).shape.clone(), self.ty(result).shape.clone());
        let map = match &op.kind {
            OpKind::Splat | OpKind::Broadcast => self.list_lanes(&from),
            OpKind::Trans { order } => {
                let lanes = self.list_lanes(&to);
                let mut map = vec![Polynomial::default(); from.len()];
                for (lane, &source) in lanes.into_iter().zip(order) {
                    *map.get_mut(source)? = lane;
                }
                map
            }
            OpKind::Reshape { reorder: false } => self.map_reshape(&from, &to)?,
            _ => return None,
        };
        let value = self.get(operand);
        self.move_value(&value, &map)
    }

    /// Seen from the dimensions of a reshaped block, the lane along each old dimension.
    fn map_reshape(&mut self, from: &Shape, to: &Shape) -> Option<Vec<Polynomial>> {
        let lanes = self.list_lanes(to);
        let mut map = vec![Polynomial::default(); from.len()];
        let (mut old, mut new) = (0, 0);
        while old < from.len() {
            // The fewest dimensions of both with as many lanes.
            let (first_old, first_new) = (old, new);
            let mut sizes = (*from.get(old)?, 1usize);
            old += 1;
            while sizes.0 != sizes.1 {
                if sizes.0 < sizes.1 {
                    sizes.0 = sizes.0.checked_mul(*from.get(old)?)?;
                    old += 1;
                } else {
                    sizes.1 = sizes.1.checked_mul(*to.get(new)?)?;
                    new += 1;
                }
            }
            let mut linear = Polynomial::default();
            for dim in first_new..new {
                linear = linear.scale(*to.get(dim)? as i128)?.add(lanes.get(dim)?)?;
            }
            // From the last old dimension on: remainder, then quotient.
            for dim in (first_old..old).rev() {
                let extent = Polynomial::from_number(*from.get(dim)? as i128);
                let quotient = if dim == first_old {
                    Polynomial::default()
                } else {
                    self.divide(&linear, &extent)?
                };
                *map.get_mut(dim)? = linear.sub(&quotient.mul(&extent)?)?;
                linear = quotient;
            }
        }
        Some(map)
    }

    /// A value seen from other dimensions.
    fn move_value(&mut self, value: &Value, map: &[Polynomial]) -> Option<Value> {
        let kind = match &value.kind {
            Kind::Integer(polynomial) => Kind::Integer(self.symbols.move_lanes(polynomial, map)?),
            Kind::Truth(condition) => Kind::Truth(condition.move_lanes(&mut self.symbols, map)),
            Kind::Pointer { parameter, offset } => Kind::Pointer {
                parameter: *parameter,
                offset: self.symbols.move_lanes(offset, map)?,
            },
            Kind::Unknown => Kind::Unknown,
        };
        let mut checks = Checks::new();
        for check in &value.checks {
            let moved = RangeCheck {
                value: self.symbols.move_lanes(&check.value, map)?,
                ..(**check).clone()
            };
            add_check(&mut checks, moved);
        }
        Some(Value {
            kind,
            checks,
            loc: value.loc,
        })
    }

    /// `tl.join`: the last lane chooses.
    pub(super) fn join_operands(&mut self, op: &Operation) -> Option<Value> {
        let &[a, b] = op.operands.as_slice() else {
            return None;
        };
        let last = self.ty(*op.results.first()?).shape.len().checked_sub(1)?;
        let lane = Polynomial::from_symbol(self.symbols.lane(u8::try_from(last).ok()?));
        let (left, right) = (self.get(a), self.get(b));
        let (Kind::Integer(x), Kind::Integer(y)) = (left.kind, right.kind) else {
            return None;
        };
        let one = Polynomial::from_number(1);
        let chosen = self.make_choice(vec![
            Alternative {
                condition: Condition::is_less(&lane, &one),
                value: x,
            },
            Alternative {
                condition: Condition::at_most(&one, &lane),
                value: y,
            },
        ]);
        let mut value = Value::new(Kind::Integer(chosen), op.loc);
        merge_checks(&mut value.checks, &left.checks);
        merge_checks(&mut value.checks, &right.checks);
        Some(value)
    }
}
