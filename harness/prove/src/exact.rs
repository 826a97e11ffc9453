//! The kernel with exact integers: a wrap of 32 bits that decides an address, a mask or a loop doesn't happen in it.
//!
//! Sums, products, quotients, comparisons, offsets and loops are computed in 64 bits. Everything else (stored values, bits,
//! remainders, reductions) has the low bits that it had before, so hashes and random numbers stay as they are.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, Block, CastKind, Elem, Function, LocId, OpKind, Operation, Rounding, TernaryOp, Type, UnaryOp,
    ValueId,
};

/// Rewrites a kernel so that its integers don't wrap, except those that an operation computes. It takes the same arguments.
pub fn widen_integers(function: &Function, except: Option<LocId>) -> Function {
    let mut widened = function.clone();
    let body = std::mem::take(&mut widened.body);
    let mut widener = Widener {
        function: &mut widened,
        wide: HashMap::new(),
        replaced: HashMap::new(),
        ops: Vec::new(),
        loc: LocId(0),
        except,
    };
    let body = widener.rewrite_block(body);
    widened.body = body;
    widened
}

/// Whether integers of this type are computed in 64 bits.
fn is_narrow(ty: &Type) -> bool {
    matches!(ty.elem, Elem::Num(dtype) if dtype.is_int() && dtype != DType::I1 && dtype.bits() < 64)
}

struct Widener<'a> {
    function: &'a mut Function,
    /// Exact values of narrow ones.
    wide: HashMap<ValueId, ValueId>,
    /// Values of 64 bits that are another one now.
    replaced: HashMap<ValueId, ValueId>,
    ops: Vec<Operation>,
    loc: LocId,
    /// The operation that stays as it is.
    except: Option<LocId>,
}

impl Widener<'_> {
    fn push(&mut self, kind: OpKind, operands: &[ValueId], results: &[ValueId]) {
        self.ops.push(Operation {
            kind,
            operands: operands.into(),
            results: results.into(),
            loc: self.loc,
        });
    }

    fn is_narrow(&self, id: ValueId) -> bool {
        is_narrow(self.function.ty(id))
    }

    fn add_wide(&mut self, like: ValueId) -> ValueId {
        let ty = self.function.ty(like).with_elem(Elem::Num(DType::I64));
        self.function.add_value(ty)
    }

    fn cast(&mut self, from: ValueId, to: ValueId) {
        let kind = OpKind::Cast {
            kind: CastKind::Value,
            rounding: Rounding::NearestEven,
        };
        self.push(kind, &[from], &[to]);
    }

    /// The exact value of a narrow one. One that isn't computed exactly is what it is.
    fn widen(&mut self, id: ValueId) -> ValueId {
        if let Some(&wide) = self.wide.get(&id) {
            return wide;
        }
        let wide = self.add_wide(id);
        self.cast(id, wide);
        wide
    }

    /// The value in an operation that is exact: wide if it is a narrow integer.
    fn read(&mut self, id: ValueId) -> ValueId {
        if self.is_narrow(id) {
            self.widen(id)
        } else {
            self.replaced.get(&id).copied().unwrap_or(id)
        }
    }

    /// An argument or a result of a region in place of a narrow one. Its low bits are defined by [`Self::define_narrow`].
    fn replace_carried(&mut self, id: ValueId) -> ValueId {
        if !self.is_narrow(id) {
            return id;
        }
        let wide = self.add_wide(id);
        self.wide.insert(id, wide);
        wide
    }

    fn define_narrow(&mut self, ids: &[ValueId]) {
        for &id in ids {
            if let Some(&wide) = self.wide.get(&id).filter(|_| self.is_narrow(id)) {
                self.cast(wide, id);
            }
        }
    }

    /// A region whose arguments and yields are exact.
    fn rewrite_region(&mut self, mut region: Block) -> Block {
        let args = region.args.clone();
        region.args = args.iter().map(|&arg| self.replace_carried(arg)).collect();
        let outer = std::mem::take(&mut self.ops);
        self.define_narrow(&args);
        for op in region.ops {
            self.rewrite(op);
        }
        region.ops = std::mem::replace(&mut self.ops, outer);
        region
    }

    fn rewrite_block(&mut self, mut block: Block) -> Block {
        for op in std::mem::take(&mut block.ops) {
            self.rewrite(op);
        }
        block.ops = std::mem::take(&mut self.ops);
        block
    }

    fn rewrite(&mut self, mut op: Operation) {
        self.loc = op.loc;
        match std::mem::replace(&mut op.kind, OpKind::Yield) {
            OpKind::Yield => {
                let operands: Vec<ValueId> = op.operands.iter().map(|&id| self.read(id)).collect();
                self.push(OpKind::Yield, &operands, &[]);
            }
            OpKind::For { body } => {
                let operands = self.read_all(&op);
                let body = self.rewrite_region(body);
                self.push_carrying(OpKind::For { body }, &operands, &op);
            }
            OpKind::While { before, after } => {
                let operands = self.read_all(&op);
                let before = self.rewrite_region(before);
                let after = self.rewrite_region(after);
                self.push_carrying(OpKind::While { before, after }, &operands, &op);
            }
            OpKind::If {
                then_block,
                else_block,
            } => {
                let operands = self.read_all(&op);
                let then_block = self.rewrite_region(then_block);
                let else_block = self.rewrite_region(else_block);
                let kind = OpKind::If {
                    then_block,
                    else_block,
                };
                self.push_carrying(kind, &operands, &op);
            }
            kind => {
                op.kind = kind;
                self.rewrite_simple(op);
            }
        }
    }

    fn read_all(&mut self, op: &Operation) -> Vec<ValueId> {
        op.operands.iter().map(|&id| self.read(id)).collect()
    }

    fn push_carrying(&mut self, kind: OpKind, operands: &[ValueId], op: &Operation) {
        self.loc = op.loc;
        let results: Vec<ValueId> = op.results.iter().map(|&id| self.replace_carried(id)).collect();
        self.push(kind, operands, &results);
        self.define_narrow(&op.results);
    }

    fn rewrite_simple(&mut self, mut op: Operation) {
        let result = op.results.first().copied();
        let is_exact = match (&op.kind, result) {
            (OpKind::Compare(_), _) => op.operands.first().is_some_and(|&id| self.is_narrow(id)),
            (OpKind::AddPtr, _) => true,
            (kind, Some(result)) => {
                let stays =
                    self.except == Some(op.loc) && matches!(kind, OpKind::Binary(_) | OpKind::Unary(_));
                self.is_narrow(result) && is_exact(kind) && !stays
            }
            (_, None) => false,
        };
        if is_exact {
            let operands = self.read_all(&op);
            return self.push_carrying(op.kind.clone(), &operands, &op);
        }
        if let (OpKind::Cast { kind, .. }, Some(&from), Some(to)) = (&op.kind, op.operands.first(), result)
            && *kind == CastKind::Value
            && self.is_narrow(from)
            && self.rewrite_widening(from, to)
        {
            return;
        }
        let narrow = op
            .operands
            .iter()
            .map(|id| self.replaced.get(id).copied().unwrap_or(*id));
        op.operands = narrow.collect();
        // A promise about a value changes nothing in it.
        if let (OpKind::Hint { .. }, Some(result), Some(from)) = (&op.kind, result, op.operands.first())
            && let Some(&wide) = self.wide.get(from)
        {
            self.wide.insert(result, wide);
        }
        for region in op.kind.regions_mut() {
            replace_in_region(region, &self.replaced);
        }
        self.ops.push(op);
    }

    /// A cast of an integer to a wider one of the same sign, or to 64 bits. False if it is another cast.
    fn rewrite_widening(&mut self, from: ValueId, to: ValueId) -> bool {
        let dtypes = [from, to].map(|id| self.function.ty(id).elem.num());
        let [Some(source), Some(target)] = dtypes else {
            return false;
        };
        if !target.is_int() || target == DType::I1 || target.bits() <= source.bits() {
            return false;
        }
        let wide = self.widen(from);
        match target {
            DType::I64 => {
                self.replaced.insert(to, wide);
            }
            DType::U64 => self.cast(wide, to),
            _ if target.is_signed_int() == source.is_signed_int() => {
                self.wide.insert(to, wide);
                self.cast(wide, to);
            }
            _ => return false,
        }
        true
    }
}

/// Whether an operation is computed with exact operands.
const fn is_exact(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Unary(UnaryOp::Neg | UnaryOp::Abs)
            | OpKind::Binary(
                BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::IntDiv
                    | BinaryOp::Min
                    | BinaryOp::Max
            )
            | OpKind::Ternary(TernaryOp::Clamp)
            | OpKind::Select
            | OpKind::Splat
            | OpKind::Broadcast
            | OpKind::Reshape { .. }
            | OpKind::Trans { .. }
    )
}

fn replace_in_region(region: &mut Block, replaced: &HashMap<ValueId, ValueId>) {
    for op in &mut region.ops {
        for id in &mut op.operands {
            if let Some(&other) = replaced.get(id) {
                *id = other;
            }
        }
        for inner in op.kind.regions_mut() {
            replace_in_region(inner, replaced);
        }
    }
}
