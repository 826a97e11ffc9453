//! Control flow: branches and loops, whose regions are made from the choices that follow.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, Type, ValueId};

use super::{Choice, Maker};

/// Regions inside of each other, at most.
const DEEPEST: usize = 3;
/// Choices that a region takes, at most.
const LONGEST: u16 = 6;

impl Maker {
    /// Makes a region's operations of some choices; what they made is out of reach after it.
    fn build_region(
        &mut self,
        choices: &mut dyn Iterator<Item = Choice>,
        length: u16,
        of: ValueId,
        nth: u16,
    ) -> ValueId {
        self.add_operations(choices, usize::from(length % LONGEST));
        self.pick_like(nth, of)
    }

    fn run_nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        (self.depth < DEEPEST).then_some(())?;
        self.depth += 1;
        let made = work(self);
        self.depth -= 1;
        made
    }

    /// `if` on a scalar, with a value of one type from each side.
    pub(super) fn branch(&mut self, choice: Choice, more: &mut dyn Iterator<Item = Choice>) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        let results = self.run_nested(|maker| {
            let condition = maker.pick(a, |ty| *ty == Type::num(DType::I1));
            let condition = condition.unwrap_or_else(|| {
                let (pid, one) = (maker.k.program_id(0), maker.k.add_int(i32::from(a % 2 == 0)));
                maker.k.compare(CmpPredicate::Lt, pid, one)
            });
            let x = maker.pick(b, |_| true)?;
            let mut side = |length| {
                let known = maker.pool.len();
                maker.k.b.open_block(&[]);
                let value = maker.build_region(more, length, x, c);
                maker.pool.truncate(known);
                maker.k.b.close_block(&[value])
            };
            let (then_block, else_block) = (side(c), side(c / LONGEST));
            let ty = maker.k.b.ty(x).clone();
            let kind = OpKind::If {
                then_block,
                else_block,
            };
            Some(maker.k.b.op_multi(kind, &[condition], &[ty]))
        })?;
        self.pool.extend(results);
        Some(())
    }

    /// `for` with a few iterations, or as many as a value says, that carries one value.
    pub(super) fn count(&mut self, choice: Choice, more: &mut dyn Iterator<Item = Choice>) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        let results = self.run_nested(|maker| {
            let (low, step) = (maker.k.add_int(0), maker.k.add_int(1 + i32::from(c % 3)));
            let three = maker.k.add_int(3);
            let high = match maker.pick(a, |ty| *ty == Type::num(DType::I32)) {
                Some(high) => maker.k.add_binary(BinaryOp::And, high, three),
                None => three,
            };
            let x = maker.pick(b, |_| true)?;
            let ty = maker.k.b.ty(x).clone();
            let (index, carried) = (
                maker.k.b.add_value(Type::num(DType::I32)),
                maker.k.b.add_value(ty.clone()),
            );
            let known = maker.pool.len();
            maker.k.b.open_block(&[index, carried]);
            maker.pool.extend([index, carried]);
            let value = maker.build_region(more, c, carried, a);
            maker.pool.truncate(known);
            let body = maker.k.b.close_block(&[value]);
            Some(
                maker
                    .k
                    .b
                    .op_multi(OpKind::For { body }, &[low, high, step, x], &[ty]),
            )
        })?;
        self.pool.extend(results);
        Some(())
    }

    /// `while` with a counter, that carries one value besides.
    pub(super) fn repeat(&mut self, choice: Choice, more: &mut dyn Iterator<Item = Choice>) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        let results = self.run_nested(|maker| {
            let x = maker.pick(b, |_| true)?;
            let (start, end) = (maker.k.add_int(0), maker.k.add_int(i32::from(a % 5)));
            let tys = [Type::scalar(Elem::Num(DType::I32)), maker.k.b.ty(x).clone()];
            let before = tys.clone().map(|ty| maker.k.b.add_value(ty));
            maker.k.b.open_block(&before);
            let goes_on = maker.k.compare_less(before[0], end);
            let before = maker.k.b.close_block(&[goes_on, before[0], before[1]]);
            let after = tys.clone().map(|ty| maker.k.b.add_value(ty));
            let known = maker.pool.len();
            maker.k.b.open_block(&after);
            maker.pool.extend(after);
            let value = maker.build_region(more, c, after[1], a);
            let one = maker.k.add_int(1);
            let next = maker.k.add(after[0], one);
            maker.pool.truncate(known);
            let after = maker.k.b.close_block(&[next, value]);
            Some(
                maker
                    .k
                    .b
                    .op_multi(OpKind::While { before, after }, &[start, x], &tys),
            )
        })?;
        self.pool.extend(results);
        Some(())
    }
}
