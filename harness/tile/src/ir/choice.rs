//! Combine functions that choose one of two elements by comparing a key, such as those of `tl.argmax` and `tl.argmin`.
//! See [`super::Combine`] for functions that compute a new element.

use smallvec::SmallVec;

use super::{BinaryOp, Block, CmpPredicate, OpKind, UnaryOp, ValueId};

/// A combine function that returns the left or the right element as a whole, and that a NaN key on either side decides by
/// position alone: every comparison with a NaN is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The operand that is compared.
    pub key: usize,
    /// Whether equal keys are decided by a second comparison, as with `tie_break_left`. Then the order in which elements without
    /// NaN are combined changes nothing.
    pub breaks_ties: bool,
}

/// The value of a condition if one of the keys is NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Truth {
    Known(bool),
    Open,
}

impl Truth {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(false), _) | (_, Self::Known(false)) => Self::Known(false),
            (Self::Known(true), Self::Known(true)) => Self::Known(true),
            _ => Self::Open,
        }
    }

    const fn not(self) -> Self {
        match self {
            Self::Known(truth) => Self::Known(!truth),
            Self::Open => Self::Open,
        }
    }
}

/// The comparisons of a region.
#[derive(Default)]
struct Comparisons {
    keys: SmallVec<[usize; 2]>,
    equal: bool,
    second: bool,
}

impl Block {
    /// Finds the choice of a combine region, if it chooses by a float key.
    pub fn find_choice(&self, is_float: impl Fn(ValueId) -> bool) -> Option<Choice> {
        let count = self.args.len() / 2;
        let (end, operations) = self.ops.split_last()?;
        if count == 0 || end.operands.len() != count {
            return None;
        }
        let position = |id: ValueId| self.args.iter().position(|&arg| arg == id);
        // Returns the operand whose elements two values are.
        let pair = |operands: &[ValueId]| match operands {
            &[x, y] => {
                let (x, y) = (position(x)?, position(y)?);
                (x != y && x % count == y % count).then_some(x % count)
            }
            _ => None,
        };
        let mut known: SmallVec<[(ValueId, Truth); 8]> = SmallVec::new();
        let mut selections: SmallVec<[(ValueId, &[ValueId]); 4]> = SmallVec::new();
        let mut comparisons = Comparisons::default();
        for op in operations {
            let &[result] = op.results.as_slice() else {
                return None;
            };
            let truth = |nth: usize| {
                let operand = op.operands.get(nth);
                let found = known.iter().find(|(id, _)| Some(id) == operand);
                found.map_or(Truth::Open, |&(_, truth)| truth)
            };
            let value = match &op.kind {
                OpKind::Constant(bits) => Truth::Known(bits & 1 == 1),
                OpKind::Compare(predicate) => match pair(&op.operands) {
                    Some(key) if op.operands.iter().all(|&id| is_float(id)) => {
                        comparisons.keys.push(key);
                        comparisons.equal |= *predicate == CmpPredicate::Eq;
                        Truth::Known(*predicate == CmpPredicate::Ne)
                    }
                    Some(_) => {
                        comparisons.second = true;
                        Truth::Open
                    }
                    None => Truth::Open,
                },
                OpKind::Binary(BinaryOp::And) => truth(0).and(truth(1)),
                OpKind::Binary(BinaryOp::Or) => truth(0).not().and(truth(1).not()).not(),
                OpKind::Unary(UnaryOp::Not) => truth(0).not(),
                OpKind::Select => {
                    selections.push((result, op.operands.as_slice()));
                    match (truth(0), truth(1), truth(2)) {
                        (Truth::Known(true), chosen, _) | (Truth::Known(false), _, chosen) => chosen,
                        (Truth::Open, one, other) if one == other => one,
                        _ => Truth::Open,
                    }
                }
                _ => Truth::Open,
            };
            known.push((result, value));
        }
        let mut condition = None;
        for (nth, &yielded) in end.operands.iter().enumerate() {
            let (_, operands) = selections.iter().find(|(id, _)| *id == yielded)?;
            let &[chooser, left, right] = *operands else {
                return None;
            };
            let whole = left == self.args[nth] && right == self.args[count + nth];
            if !whole || *condition.get_or_insert(chooser) != chooser {
                return None;
            }
        }
        let settled = known.iter().find(|(id, _)| Some(*id) == condition)?.1;
        let &key = comparisons.keys.first()?;
        let single = comparisons.keys.iter().all(|&other| other == key);
        (settled != Truth::Open && single).then_some(Choice {
            key,
            breaks_ties: comparisons.equal && comparisons.second,
        })
    }
}
