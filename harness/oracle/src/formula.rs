//! Rewrites a kernel to its formula: every float becomes an `f64`, and each operation that rounds is followed by its error.
//!
//! Only memory keeps its dtypes: a load widens, and a store rounds. So the formula runs in place of the kernel, on the same arguments.
//! An operation that has no form on `f64` (a cast of bits, a function of a model) is computed in its own dtype, from rounded operands.
//!
//! The error of a sum of many terms depends on their magnitudes, not on the result. So `sum(x)` becomes `sum(x)` with the bound
//! `n u sum(|x|)`, and a dot likewise. See `rounding` for the errors.

use std::collections::HashMap;

use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, Block, CastKind, Combine, Elem, Foreign, Function, InputPrecision, LocId, OpKind, Operation,
    Rounding, TernaryOp, Type, UnaryOp, ValueId,
};
use cerith_tile::numeric::{Accuracy, decode, encode};

use super::contract::Contract;
use super::rounding;

/// Constants of no more bits are meant as they are: `0.5`, `127.0`. Longer ones stand for a number that the dtype lacks: `1e-5`.
const SHORT: i32 = 16;

/// The formula of a kernel, which takes the same arguments.
pub fn rewrite(function: &Function, contract: Contract) -> Function {
    let mut formula = function.clone();
    formula.body = Block::default();
    for (nth, value) in formula.values.iter_mut().enumerate() {
        let is_param = function.params.iter().any(|param| param.value.0 as usize == nth);
        if let Some(dtype) = value.ty.elem.num()
            && dtype.is_float()
            && !is_param
        {
            value.ty.elem = Elem::Num(DType::F64);
        }
    }
    let mut rewriter = Rewriter {
        original: function,
        formula,
        contract,
        renamed: HashMap::new(),
        stored: find_stored(&function.body),
        narrowest: contract
            .narrowest
            .map_or_else(|| find_narrowest(function), rounding::count_bits),
        ops: Vec::new(),
        loc: LocId(0),
    };
    rewriter.widen_params();
    let body = rewriter.rewrite_ops(&function.body);
    let mut formula = rewriter.formula;
    formula.body = body;
    formula
}

/// Values that are only stored, with whether that holds for each value that is stored.
fn find_stored(body: &Block) -> HashMap<ValueId, bool> {
    let mut stored = HashMap::new();
    body.visit_operations(&mut |op| {
        for (nth, &operand) in op.operands.iter().enumerate() {
            let by_store = nth == 1 && matches!(op.kind, OpKind::Store { .. });
            *stored.entry(operand).or_insert(true) &= by_store;
        }
    });
    stored
}

/// Bits of the narrowest float that a parameter points to. A kernel that casts to a narrower one rounds more than its data.
fn find_narrowest(function: &Function) -> i32 {
    let pointee = |value| function.ty(value).elem.pointee()?.num();
    let floats = function.params.iter().filter_map(|param| pointee(param.value));
    let bits = floats.filter(|dtype| dtype.is_float()).map(rounding::count_bits);
    bits.min().unwrap_or(0)
}

struct Rewriter<'a> {
    original: &'a Function,
    formula: Function,
    contract: Contract,
    /// Values of the formula in place of the kernel's.
    renamed: HashMap<ValueId, ValueId>,
    stored: HashMap<ValueId, bool>,
    /// Bits of the narrowest float of the data.
    narrowest: i32,
    /// The operations of the block so far.
    ops: Vec<Operation>,
    loc: LocId,
}

const EXACT_CAST: OpKind = OpKind::Cast {
    kind: CastKind::Value,
    rounding: Rounding::NearestEven,
};

impl Rewriter<'_> {
    fn push(&mut self, kind: OpKind, operands: &[ValueId], results: &[ValueId]) {
        self.ops.push(Operation {
            kind,
            operands: operands.into(),
            results: results.into(),
            loc: self.loc,
        });
    }

    fn make(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        let result = self.formula.add_value(ty);
        self.push(kind, operands, &[result]);
        result
    }

    fn ty(&self, value: ValueId) -> Type {
        self.formula.ty(value).clone()
    }

    /// A value of the same shape, of another dtype.
    fn make_like(&mut self, kind: OpKind, operands: &[ValueId], like: ValueId, dtype: DType) -> ValueId {
        let ty = self.ty(like).with_elem(Elem::Num(dtype));
        self.make(kind, operands, ty)
    }

    /// The dtype that a value has in the kernel, if it is a float.
    fn float(&self, value: ValueId) -> Option<DType> {
        let dtype = self.original.ty(value).elem.num()?;
        dtype.is_float().then_some(dtype)
    }

    fn rename(&self, value: ValueId) -> ValueId {
        self.renamed.get(&value).copied().unwrap_or(value)
    }

    /// The formula's operands of an operation.
    fn operands(&self, op: &Operation) -> Vec<ValueId> {
        op.operands.iter().map(|&operand| self.rename(operand)).collect()
    }

    /// A float of the formula as a number of a dtype.
    fn narrow(&mut self, value: ValueId, dtype: DType) -> ValueId {
        let rounded = OpKind::Foreign(rounding::round_to(
            self.round_cast(dtype),
            Rounding::NearestEven,
            1,
        ));
        let rounded = self.make_like(rounded, &[value], value, DType::F64);
        if dtype == DType::F64 {
            return rounded;
        }
        // A cast to fp8 saturates, and a store keeps an infinity.
        let kind = if self.round_cast(dtype) != dtype {
            OpKind::Foreign(rounding::keep_bounds(dtype))
        } else if dtype.is_fp8() {
            OpKind::Foreign(rounding::to_dtype(dtype))
        } else {
            EXACT_CAST
        };
        self.make_like(kind, &[rounded], value, dtype)
    }

    /// An operation on `f64`, and the error of its result. `err` takes the result, and after it the operands if it is to.
    fn push_rounded(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        result: ValueId,
        err: Foreign,
        with_operands: bool,
    ) {
        let exact = self.make_like(kind, operands, result, DType::F64);
        let mut taken = vec![exact];
        if with_operands {
            taken.extend(operands);
        }
        self.push(OpKind::Foreign(err), &taken, &[result]);
    }

    /// Parameters keep their dtypes.
    fn widen_params(&mut self) {
        for param in &self.original.params {
            if let Some(dtype) = self.float(param.value) {
                let wide = if dtype == DType::F64 {
                    param.value
                } else {
                    self.make_like(EXACT_CAST, &[param.value], param.value, DType::F64)
                };
                let meant = OpKind::Foreign(rounding::stand_for(dtype, SHORT));
                let meant = self.make_like(meant, &[wide], wide, DType::F64);
                self.renamed.insert(param.value, meant);
            }
        }
    }

    /// A block with its operations rewritten; parameters that were widened before come first.
    fn rewrite_ops(&mut self, block: &Block) -> Block {
        for op in &block.ops {
            self.loc = op.loc;
            self.rewrite_op(op);
        }
        Block {
            args: block.args.clone(),
            ops: std::mem::take(&mut self.ops),
        }
    }

    fn rewrite_region(&mut self, region: &Block) -> Block {
        let outer = std::mem::take(&mut self.ops);
        let block = self.rewrite_ops(region);
        self.ops = outer;
        block
    }

    fn rewrite_op(&mut self, op: &Operation) {
        let operands = self.operands(op);
        let result = op.results.first().copied();
        let float = result.and_then(|result| self.float(result));
        match (&op.kind, result, float) {
            (OpKind::Constant(bits), Some(result), Some(dtype)) => {
                let bits = encode(DType::F64, decode(dtype, *bits), Rounding::NearestEven);
                let meant = rounding::stand_for(dtype, SHORT);
                self.push_rounded(OpKind::Constant(bits), &[], result, meant, false);
            }
            (OpKind::Unary(unary), Some(result), Some(dtype)) => {
                let dtype = self.contract.widen_dtype(dtype);
                if Accuracy::of_unary(*unary, dtype).is_exact()
                    || matches!(unary, UnaryOp::Floor | UnaryOp::Ceil)
                {
                    self.push(op.kind.clone(), &operands, &[result]);
                } else {
                    let err = rounding::err_unary(*unary, dtype);
                    self.push_rounded(op.kind.clone(), &operands, result, err, true);
                }
            }
            (OpKind::Binary(binary), Some(result), Some(dtype)) => {
                self.rewrite_binary(*binary, &operands, result, dtype);
            }
            (OpKind::Ternary(ternary), Some(result), Some(dtype)) => {
                if *ternary == TernaryOp::Fma {
                    let err = rounding::round_to(self.contract.widen_dtype(dtype), Rounding::NearestEven, 1);
                    self.push_rounded(op.kind.clone(), &operands, result, err, false);
                } else {
                    self.push(op.kind.clone(), &operands, &[result]);
                }
            }
            (OpKind::Cast { kind, rounding }, Some(result), _) => {
                self.rewrite_cast(op, *kind, *rounding, operands[0], result);
            }
            // Memory keeps its dtypes. The library for `f32` flushes subnormal operands, and has the bounds of acceptance.
            (
                OpKind::Library(_)
                | OpKind::Foreign(_)
                | OpKind::Load { .. }
                | OpKind::Store { .. }
                | OpKind::AtomicRmw { .. }
                | OpKind::AtomicCas { .. }
                | OpKind::AtomicPoll { .. },
                ..,
            ) => self.push_narrowed(op, &operands),
            (
                OpKind::Dot {
                    precision,
                    max_imprecise: _,
                },
                Some(result),
                Some(dtype),
            ) => self.rewrite_dot(*precision, op, &operands, result, dtype),
            (OpKind::Reduce { .. } | OpKind::Scan { .. }, ..) => self.rewrite_fold(op, &operands),
            _ => {
                let mut kind = op.kind.clone();
                for region in kind.regions_mut() {
                    *region = self.rewrite_region(&region.clone());
                    self.loc = op.loc;
                }
                self.push(kind, &operands, &op.results);
            }
        }
    }

    fn rewrite_binary(&mut self, op: BinaryOp, operands: &[ValueId], result: ValueId, dtype: DType) {
        let dtype = self.contract.widen_dtype(dtype);
        let kind = OpKind::Binary(op);
        match op {
            BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::MinPropagateNan
            | BinaryOp::MaxPropagateNan
            | BinaryOp::CopySign
            | BinaryOp::Rem => self.push(kind, operands, &[result]),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::DivRn => {
                let err = rounding::round_to(dtype, Rounding::NearestEven, 1);
                self.push_rounded(kind, operands, result, err, false);
            }
            _ => self.push_rounded(kind, operands, result, rounding::err_binary(op, dtype), true),
        }
    }

    /// An operation in its own dtypes.
    fn push_narrowed(&mut self, op: &Operation, operands: &[ValueId]) {
        let narrow: Vec<ValueId> = op
            .operands
            .iter()
            .zip(operands)
            .map(|(&own, &operand)| match self.float(own) {
                Some(dtype) => self.narrow(operand, dtype),
                None => operand,
            })
            .collect();
        let mut results = Vec::new();
        let mut widened = Vec::new();
        for &result in &op.results {
            match self.float(result) {
                Some(dtype) if dtype != DType::F64 => {
                    let ty = self.ty(result).with_elem(Elem::Num(dtype));
                    let own = self.formula.add_value(ty);
                    results.push(own);
                    widened.push((own, result));
                }
                _ => results.push(result),
            }
        }
        self.push(op.kind.clone(), &narrow, &results);
        for (own, result) in widened {
            self.push(EXACT_CAST, &[own], &[result]);
        }
    }

    /// The dtype whose rounding a cast to `to` may have.
    fn round_cast(&self, to: DType) -> DType {
        if rounding::count_bits(to) < self.narrowest {
            self.contract.widen_dtype(to)
        } else {
            to
        }
    }

    fn rewrite_cast(
        &mut self,
        op: &Operation,
        kind: CastKind,
        rounding: Rounding,
        operand: ValueId,
        result: ValueId,
    ) {
        let (from, to) = (self.float(op.operands[0]), self.float(result));
        match (kind, from, to) {
            (CastKind::Bits, from, to) if from.is_some() || to.is_some() => {
                self.push_narrowed(op, &[operand]);
            }
            // It saturates.
            (CastKind::Value, Some(_), Some(to)) if to.is_fp8() && self.round_cast(to) == to => {
                self.push_narrowed(op, &[operand]);
            }
            (CastKind::Value, Some(from), Some(to)) => {
                let to = self.round_cast(to);
                // A value that is only stored is rounded by the store.
                let is_nearest = rounding == Rounding::NearestEven;
                let only_stored = is_nearest && self.stored.get(&result).copied().unwrap_or(false);
                if only_stored || rounding::is_wider(from, to) {
                    self.renamed.insert(result, operand);
                } else {
                    let err = OpKind::Foreign(rounding::round_to(to, rounding, 1));
                    self.push(err, &[operand], &[result]);
                }
            }
            (CastKind::Value, None, Some(to)) => {
                let err = rounding::round_to(self.round_cast(to), rounding, 1);
                self.push_rounded(EXACT_CAST, &[operand], result, err, false);
            }
            _ => self.push(op.kind.clone(), &[operand], &[result]),
        }
    }

    fn apply_unary(&mut self, op: UnaryOp, value: ValueId) -> ValueId {
        self.make_like(OpKind::Unary(op), &[value], value, DType::F64)
    }

    fn lowest_bit(&mut self, value: ValueId) -> ValueId {
        self.make_like(
            OpKind::Foreign(rounding::lowest_bit()),
            &[value],
            value,
            DType::F64,
        )
    }

    /// A region that applies an operation to two scalars.
    fn make_region(&mut self, op: BinaryOp) -> Block {
        let scalar = Type::num(DType::F64);
        let [left, right, result] = [(); 3].map(|()| self.formula.add_value(scalar.clone()));
        let operation = |kind, operands: &[ValueId], results: &[ValueId]| Operation {
            kind,
            operands: operands.into(),
            results: results.into(),
            loc: self.loc,
        };
        Block {
            args: [left, right].as_slice().into(),
            ops: vec![
                operation(OpKind::Binary(op), &[left, right], &[result]),
                operation(OpKind::Yield, &[result], &[]),
            ],
        }
    }

    fn reduce(&mut self, op: BinaryOp, combine: Combine, value: ValueId, axis: usize) -> ValueId {
        let mut ty = self.ty(value);
        ty.shape.remove(axis);
        let ty = Type::block(ty.elem, ty.shape);
        let region = self.make_region(op);
        let kind = OpKind::Reduce {
            axis,
            combine: Some(combine),
            region,
        };
        self.make(kind, &[value], ty)
    }

    fn rewrite_dot(
        &mut self,
        precision: InputPrecision,
        op: &Operation,
        operands: &[ValueId],
        result: ValueId,
        dtype: DType,
    ) {
        let &[mut a, mut b, start] = operands else {
            self.push(op.kind.clone(), operands, &[result]);
            return;
        };
        let kind = OpKind::Dot {
            precision: InputPrecision::Ieee,
            max_imprecise: 0,
        };
        if self.float(op.operands[0]) == Some(DType::F32)
            && let Some(err) = self.round_operand(precision)
        {
            a = self.make_like(OpKind::Foreign(err.clone()), &[a], a, DType::F64);
            b = self.make_like(OpKind::Foreign(err), &[b], b, DType::F64);
        }
        let exact = self.make_like(kind.clone(), &[a, b, start], result, DType::F64);
        let [large_a, large_b, large_start] =
            [a, b, start].map(|value| self.apply_unary(UnaryOp::Abs, value));
        let magnitude = self.make_like(kind, &[large_a, large_b, large_start], result, DType::F64);
        // The least bit of the terms in each row and column: a bound for that of their products.
        let shape = self.ty(a).shape;
        let inner = shape.len().saturating_sub(1);
        let count = shape.last().copied().unwrap_or(1) + 1;
        let lowest = [(a, inner), (b, inner.saturating_sub(1))].map(|(value, axis)| {
            let bits = self.lowest_bit(value);
            let least = self.reduce(BinaryOp::Min, Combine::Min, bits, axis);
            let mut ty = self.ty(value);
            ty.shape[axis] = 1;
            let column = self.make(OpKind::Reshape { reorder: false }, &[least], ty);
            let ty = self.ty(result);
            self.make(OpKind::Broadcast, &[column], ty)
        });
        let product = self.make_like(OpKind::Binary(BinaryOp::Mul), &lowest, result, DType::F64);
        let of_start = self.lowest_bit(start);
        let bits = self.make_like(
            OpKind::Binary(BinaryOp::Min),
            &[product, of_start],
            result,
            DType::F64,
        );
        let err = rounding::err_sum(self.contract.widen_dtype(dtype), count);
        self.push(OpKind::Foreign(err), &[exact, magnitude, bits], &[result]);
    }

    /// The error of an `f32` operand of a dot.
    fn round_operand(&self, precision: InputPrecision) -> Option<Foreign> {
        match precision {
            InputPrecision::Tf32 => self.contract.tf32.then(rounding::round_to_tf32),
            // The smallest products of the parts are left out: see `region` of `cerith-accept`.
            InputPrecision::Tf32x3 => Some(rounding::err_relatively(2f64.powi(-20))),
            InputPrecision::Bf16x3 => Some(rounding::err_relatively(2f64.powi(-15))),
            InputPrecision::Bf16x6 => Some(rounding::err_relatively(2f64.powi(-22))),
            InputPrecision::Ieee => None,
        }
    }

    /// A reduction or a scan.
    fn rewrite_fold(&mut self, op: &Operation, operands: &[ValueId]) {
        let (axis, combine) = match &op.kind {
            OpKind::Reduce { axis, combine, .. } | OpKind::Scan { axis, combine, .. } => (*axis, *combine),
            _ => return,
        };
        let single = match (operands, op.results.as_slice()) {
            (&[operand], &[result]) => self.float(result).map(|dtype| (operand, result, dtype)),
            _ => None,
        };
        let Some((operand, result, dtype)) = single.filter(|_| combine.is_some()) else {
            // Each operation of the region rounds.
            let mut kind = op.kind.clone();
            for region in kind.regions_mut() {
                *region = self.rewrite_region(&region.clone());
                self.loc = op.loc;
            }
            self.push(kind, operands, &op.results);
            return;
        };
        let count = self.ty(operand).shape.get(axis).copied().unwrap_or(1);
        let dtype = self.contract.widen_dtype(dtype);
        match combine {
            Some(Combine::Add) if count > 1 => {
                let exact = self.fold_like(op, BinaryOp::Add, Combine::Add, operand, result);
                let magnitude = self.apply_unary(UnaryOp::Abs, operand);
                let magnitude = self.fold_like(op, BinaryOp::Add, Combine::Add, magnitude, result);
                let bits = self.lowest_bit(operand);
                let bits = self.fold_like(op, BinaryOp::Min, Combine::Min, bits, result);
                let err = rounding::err_sum(dtype, count);
                self.push(OpKind::Foreign(err), &[exact, magnitude, bits], &[result]);
            }
            Some(Combine::Mul) if count > 1 => {
                let exact = self.fold_like(op, BinaryOp::Mul, Combine::Mul, operand, result);
                // Half a unit of the product may be half of a factor's relative error.
                let err = rounding::round_to(dtype, Rounding::NearestEven, 2 * count);
                self.push(OpKind::Foreign(err), &[exact], &[result]);
            }
            // Extrema are exact.
            _ => {
                let kind = op.kind.clone();
                self.push(kind, &[operand], &[result]);
            }
        }
    }

    /// The reduction or scan of an operation, by another well-known function.
    fn fold_like(
        &mut self,
        op: &Operation,
        by: BinaryOp,
        combine: Combine,
        operand: ValueId,
        like: ValueId,
    ) -> ValueId {
        let mut kind = op.kind.clone();
        let own = self.make_region(by);
        if let OpKind::Reduce { combine: known, .. } | OpKind::Scan { combine: known, .. } = &mut kind {
            *known = Some(combine);
        }
        for region in kind.regions_mut() {
            *region = own.clone();
        }
        self.make_like(kind, &[operand], like, DType::F64)
    }
}
