//! Operations that move lanes, and those that make one lane of many.

use cerith_tile::ir::{BinaryOp, CmpPredicate, Combine, Elem, InputPrecision, OpKind, Type, ValueId};
use cerith_tile::{DType, numeric};

use super::{Choice, Maker};

impl Maker {
    /// A value of one dimension.
    fn pick_row(&self, nth: u16) -> Option<ValueId> {
        self.pick(nth, |ty| ty.shape.len() == 1 && ty.elem.num().is_some())
    }

    pub(super) fn move_lanes(&mut self, choice: Choice) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        match choice.op % 8 {
            0 => {
                let x = self.pick(a, |ty| ty.shape.as_slice() == [32])?;
                let value = self.k.reshape(x, &[4, 8]);
                self.put(value)
            }
            1 => {
                let x = self.pick(a, |ty| ty.shape.len() == 2)?;
                let ty = self.k.b.ty(x).clone();
                let turned: Vec<usize> = ty.shape.iter().rev().copied().collect();
                let order = [1, 0].as_slice().into();
                let turned = self
                    .k
                    .b
                    .add_op(OpKind::Trans { order }, &[x], Type::block(ty.elem, turned));
                let value = self.k.reshape(turned, &ty.shape);
                self.put(value)
            }
            2 | 3 => {
                let x = self.pick(a, |ty| ty.shape.len() == 2 && ty.elem.num().is_some())?;
                let axis = b as usize % 2;
                let (combine, op) = [
                    (Combine::Add, BinaryOp::Add),
                    (Combine::Max, BinaryOp::Max),
                    (Combine::Xor, BinaryOp::Xor),
                    (Combine::Min, BinaryOp::Min),
                    (Combine::Mul, BinaryOp::Mul),
                    (Combine::Or, BinaryOp::Or),
                ][c as usize % 6];
                numeric::binary_defined(op, self.dtype(x)?).then_some(())?;
                let reduced = self.k.reduce(x, axis, combine, op);
                let n = self.k.shape(reduced)[0];
                let reduced = if axis == 0 {
                    self.k.reshape(reduced, &[1, n])
                } else {
                    self.k.expand_column(reduced)
                };
                let shape = self.k.shape(x);
                let value = self.k.spread(reduced, &shape);
                self.put(value)
            }
            4 => {
                let x = self.pick(a, |ty| ty.shape.as_slice() == [16])?;
                let y = self.pick_like(b, x);
                let elem = self.k.b.ty(x).elem;
                if c % 2 == 0 {
                    let kind = OpKind::Cat { reorder: c % 16 == 0 };
                    let value = self.k.b.add_op(kind, &[x, y], Type::block(elem, [32].as_slice()));
                    return self.put(value);
                }
                let value = self
                    .k
                    .b
                    .add_op(OpKind::Join, &[x, y], Type::block(elem, [16, 2].as_slice()));
                self.put(value)
            }
            5 => {
                let x = self.pick(a, |ty| ty.shape.len() > 1 && ty.shape.last() == Some(&2))?;
                let ty = self.k.b.ty(x).clone();
                let half = Type::block(ty.elem, &ty.shape[..ty.shape.len() - 1]);
                let halves = self.k.b.op_multi(OpKind::Split, &[x], &[half.clone(), half]);
                self.pool.extend(halves);
                Some(())
            }
            6 => {
                let source = self.pick_row(a)?;
                let index = self.pick(b, |ty| ty.shape.len() == 1 && ty.elem == Elem::Num(DType::I32))?;
                let index = if c.is_multiple_of(8) {
                    index
                } else {
                    let last = self.k.add_int(self.k.shape(source)[0] as i32 - 1);
                    self.k.add_binary(BinaryOp::And, index, last)
                };
                let ty = self.k.b.ty(index).with_elem(self.k.b.ty(source).elem);
                let value = self.k.b.add_op(OpKind::Gather { axis: 0 }, &[source, index], ty);
                self.put(value)
            }
            _ => {
                let x = self.pick(a, |ty| {
                    ty.shape.len() == 1 && ty.elem.num().is_some_and(DType::is_int)
                })?;
                let mask = self.mask(b, &self.k.shape(x)).filter(|_| c % 2 == 0);
                let operands: Vec<ValueId> = [Some(x), mask].into_iter().flatten().collect();
                let kind = OpKind::Histogram { mask: mask.is_some() };
                let ty = Type::block(Elem::Num(DType::I32), [16].as_slice());
                let value = self.k.b.add_op(kind, &operands, ty);
                self.put(value)
            }
        }
    }

    /// A scan or reduction whose region is not a well-known operation: the larger one and its index.
    pub(super) fn combine(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick_row(a)?;
        let n = self.k.shape(x)[0];
        let index = self.k.arange(n as i32);
        let types = [x, index].map(|v| Type::scalar(self.k.b.ty(v).elem));
        let args: Vec<ValueId> = types
            .iter()
            .chain(&types)
            .map(|ty| self.k.b.add_value(ty.clone()))
            .collect();
        self.k.b.open_block(&args);
        let greater = self.k.compare(CmpPredicate::Gt, args[2], args[0]);
        let value = self.k.select(greater, args[2], args[0]);
        let place = self.k.select(greater, args[3], args[1]);
        // A sum of indices does not change, however it is associated; a difference does.
        let adds = c % 3 == 0
            && self
                .dtype(x)
                .is_some_and(|d| d.is_float() && numeric::binary_defined(BinaryOp::Add, d));
        let value = if adds { self.k.add(args[0], args[2]) } else { value };
        let region = self.k.b.close_block(&[value, place]);
        if b % 2 == 0 {
            let tys = [x, index].map(|v| self.k.b.ty(v).clone());
            let kind = OpKind::Scan {
                axis: 0,
                reverse: c % 2 == 0,
                combine: None,
                region,
            };
            let results = self.k.b.op_multi(kind, &[x, index], &tys);
            self.pool.extend(results);
        } else {
            let kind = OpKind::Reduce {
                axis: 0,
                combine: None,
                region,
            };
            let results = self.k.b.op_multi(kind, &[x, index], &types);
            for result in results {
                let value = self.k.spread(result, &[n]);
                self.pool.extend([result, value]);
            }
        }
        Some(())
    }

    pub(super) fn dot(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick(a, |ty| {
            ty.shape.as_slice() == [16, 16] && ty.elem.num().is_some_and(|d| d.is_float() || d == DType::I8)
        })?;
        let y = self.pick_like(b, x);
        let of = match self.dtype(x)? {
            DType::I8 => DType::I32,
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        let ty = Type::block(Elem::Num(of), [16, 16].as_slice());
        let accumulator = match self.pick(c, |other| *other == ty) {
            Some(accumulator) => accumulator,
            None => self.k.add_full(of, 0, &[16, 16]),
        };
        let kind = OpKind::Dot {
            precision: InputPrecision::ALL[c as usize % InputPrecision::ALL.len()],
            max_imprecise: 0,
        };
        let value = self.k.b.add_op(kind, &[x, y, accumulator], ty);
        self.put(value)
    }
}
