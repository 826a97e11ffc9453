//! Control flow: branches and loops. The next choices determine the operations of their regions.

use cerith_tile::DType;
use cerith_tile::ir::{BinaryOp, CmpPredicate, Elem, OpKind, Type, ValueId};

use super::{Choice, Maker};

/// Maximum depth of nested regions.
const MAX_DEPTH: usize = 3;
/// A region uses fewer choices than this.
const CHOICE_LIMIT: u16 = 6;

impl Maker {
    /// Adds a region's operations from the next choices, and picks its result, a value of the type of `of`. The caller removes
    /// the region's values from the pool.
    fn build_region(
        &mut self,
        choices: &mut dyn Iterator<Item = Choice>,
        length: u16,
        of: ValueId,
        nth: u16,
    ) -> ValueId {
        self.add_operations(choices, usize::from(length % CHOICE_LIMIT));
        self.pick_like(nth, of)
    }

    fn run_nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        (self.depth < MAX_DEPTH).then_some(())?;
        self.depth += 1;
        let made = work(self);
        self.depth -= 1;
        made
    }

    /// Adds an `if` on a scalar. Both sides return a value of the same type.
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
            let (then_block, else_block) = (side(c), side(c / CHOICE_LIMIT));
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

    /// Adds a `for` with at most three iterations that carries one value. If the pool has an integer, its two lowest bits
    /// are the end of the range.
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

    /// Adds a `while` with at most four iterations that carries a counter and one more value.
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
