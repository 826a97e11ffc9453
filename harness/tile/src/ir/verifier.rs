//! Checks that IR is well-formed: every value is defined once and before its uses; every operation has the operands,
//! types and regions that it needs; every region yields the right types. A function that passes can be executed and
//! printed without further checks. It works on any function.
//!
//! The frontend checks the rules of Triton that execution doesn't need, such as extents that are powers of two.

use super::printer::DEEPEST;
use super::violation::{Check, Violation, copy, ensure};
use super::{Block, Elem, Function, LocId, OpKind, Operation, Type, ValueId};
use crate::DType;
use crate::source::Span;

/// Maximum lanes of a block (`TRITON_MAX_TENSOR_NUMEL`, `triton/language/core.py`).
pub const MAX_NUMEL: usize = 1 << 20;

/// A malformed function. It is a bug of its creator, not of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed IR at {position}: {violation}, in `{operation}`")]
pub struct VerifyError {
    /// The rule that it violates.
    pub violation: Violation,
    /// The operation as text, with values by number; the function's name outside of operations.
    pub operation: String,
    /// `file:line:column` of the Python source.
    pub position: String,
    /// The Python source that the operation came from.
    pub span: Span,
}

impl Function {
    /// Checks the whole function. Returns the first error.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let mut verifier = Verifier {
            function: self,
            state: vec![State::Undefined; self.values.len()],
        };
        verifier.header().map_err(|violation| VerifyError {
            violation,
            operation: format!("func @{}", self.name),
            position: self.sources.describe_position(self.span(LocId(0))),
            span: self.span(LocId(0)),
        })?;
        verifier.check_ops(&self.body, 0)?;
        match self
            .body
            .ops
            .iter()
            .find(|operation| operation.kind == OpKind::Yield)
        {
            Some(operation) => Err(verifier.build_error(operation, Violation::BodyYield)),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Visible,
    /// Defined in a region that has ended.
    Hidden,
}

struct Verifier<'a> {
    function: &'a Function,
    state: Vec<State>,
}

impl<'a> Verifier<'a> {
    fn build_error(&self, operation: &Operation, violation: Violation) -> VerifyError {
        let span = self.function.span(operation.loc);
        VerifyError {
            violation,
            operation: self.function.operation_text(operation),
            position: self.function.sources.describe_position(span),
            span,
        }
    }

    fn header(&mut self) -> Check {
        for (at, info) in self.function.values.iter().enumerate() {
            well_formed(&info.ty).map_err(|violation| Violation::Value(at, Box::new(violation)))?;
        }
        for (at, loc) in self.function.locs.iter().enumerate() {
            // Callers come first, so that following them ends.
            ensure(loc.caller.is_none_or(|caller| (caller.0 as usize) < at), || {
                Violation::CallOrder(at)
            })?;
        }
        for param in &self.function.params {
            self.define(param.value)?;
            let scalar = self.find_type(param.value)?.is_scalar();
            ensure(scalar, || Violation::BlockParameter(param.name.clone()))?;
        }
        ensure(self.function.body.args.is_empty(), || Violation::BodyArguments)
    }

    fn find_type(&self, value: ValueId) -> Check<&'a Type> {
        self.function
            .values
            .get(value.0 as usize)
            .map(|info| &info.ty)
            .ok_or(Violation::NoValue(value.0))
    }

    fn find_types(&self, values: &[ValueId]) -> Check<Vec<&'a Type>> {
        values.iter().map(|&value| self.find_type(value)).collect()
    }

    fn define(&mut self, value: ValueId) -> Check {
        let state = self
            .state
            .get_mut(value.0 as usize)
            .ok_or(Violation::NoValue(value.0))?;
        ensure(*state == State::Undefined, || Violation::DefinedTwice(value.0))?;
        *state = State::Visible;
        Ok(())
    }

    fn check_ops(&mut self, block: &'a Block, depth: usize) -> Result<(), VerifyError> {
        for operation in &block.ops {
            self.check_uses(operation)
                .map_err(|violation| self.build_error(operation, violation))?;
            self.check(operation)
                .map_err(|violation| self.build_error(operation, violation))?;
            for region in operation.kind.regions() {
                if depth >= DEEPEST {
                    return Err(self.build_error(operation, Violation::Nested));
                }
                self.check_region(operation, region, depth + 1)?;
            }
            for &result in &operation.results {
                self.define(result)
                    .map_err(|violation| self.build_error(operation, violation))?;
            }
        }
        Ok(())
    }

    fn check_region(
        &mut self,
        owner: &'a Operation,
        region: &'a Block,
        depth: usize,
    ) -> Result<(), VerifyError> {
        for &arg in &region.args {
            self.define(arg)
                .map_err(|violation| self.build_error(owner, violation))?;
        }
        self.check_ops(region, depth)?;
        let early = region
            .ops
            .iter()
            .rev()
            .skip(1)
            .find(|operation| operation.kind == OpKind::Yield);
        if let Some(operation) = early {
            return Err(self.build_error(operation, Violation::EarlyYield));
        }
        for &arg in &region.args {
            self.hide(arg);
        }
        for operation in &region.ops {
            for &result in &operation.results {
                self.hide(result);
            }
        }
        Ok(())
    }

    fn hide(&mut self, value: ValueId) {
        if let Some(state) = self.state.get_mut(value.0 as usize) {
            *state = State::Hidden;
        }
    }

    fn check_uses(&self, operation: &Operation) -> Check {
        ensure((operation.loc.0 as usize) < self.function.locs.len(), || {
            Violation::NoLocation
        })?;
        for &operand in &operation.operands {
            match self.state.get(operand.0 as usize) {
                None => return Err(Violation::NoValue(operand.0)),
                Some(State::Visible) => {}
                Some(State::Undefined) => {
                    return Err(Violation::UsedBefore(operand.0));
                }
                Some(State::Hidden) => {
                    return Err(Violation::UsedOutside(operand.0));
                }
            }
        }
        Ok(())
    }

    /// Types of operands, results and the boundaries of regions.
    fn check(&self, operation: &'a Operation) -> Check {
        let operands = self.find_types(&operation.operands)?;
        let results = self.find_types(&operation.results)?;
        let signature = Signature {
            operands: &operands,
            results: &results,
        };
        match &operation.kind {
            OpKind::Reduce { axis, region, .. } => {
                let wanted = reduce_types(signature, *axis)?;
                same_types("result", &results, &wanted)?;
                self.combine(signature, region)
            }
            OpKind::Scan { axis, region, .. } => {
                reduce_types(signature, *axis)?;
                let wanted: Vec<Type> = operands.iter().map(|&ty| ty.clone()).collect();
                same_types("result", &results, &wanted)?;
                self.combine(signature, region)
            }
            OpKind::For { body } => self.check_for(signature, body),
            OpKind::If {
                then_block,
                else_block,
            } => {
                let [condition] = operands[..] else {
                    return Err(count("operand", 1, operands.len()));
                };
                check_condition(condition)?;
                for region in [then_block, else_block] {
                    ensure(region.args.is_empty(), || Violation::BranchArguments)?;
                    check_types("yielded value", &self.find_yield_types(region)?, &results)?;
                }
                Ok(())
            }
            OpKind::While { before, after } => self.check_while(signature, before, after),
            kind => super::signature::check(kind, signature),
        }
    }

    fn find_yield_types(&self, region: &'a Block) -> Check<Vec<&'a Type>> {
        match region.ops.last() {
            Some(last) if last.kind == OpKind::Yield => self.find_types(&last.operands),
            _ => Err(Violation::NoYield),
        }
    }

    /// The region of a reduce or scan: two elements of each operand, to one of each.
    fn combine(&self, signature: Signature<'_>, region: &'a Block) -> Check {
        let elements: Vec<Type> = signature
            .operands
            .iter()
            .map(|ty| Type::scalar(ty.elem))
            .collect();
        let both: Vec<Type> = elements.iter().chain(&elements).cloned().collect();
        same_types("region argument", &self.find_types(&region.args)?, &both)?;
        same_types("yielded value", &self.find_yield_types(region)?, &elements)?;
        check_pure(region, 0)
    }

    fn check_for(&self, signature: Signature<'_>, body: &'a Block) -> Check {
        let [lower, upper, step, initial @ ..] = signature.operands else {
            return Err(count("operand", 3, signature.operands.len()));
        };
        let number = lower.is_scalar() && is_int(lower.elem);
        ensure(number && lower == upper && lower == step, || {
            Violation::Bounds(Box::new([lower, upper, step].map(|ty| (*ty).clone())))
        })?;
        let mut taken = vec![*lower];
        taken.extend(initial);
        check_types("region argument", &self.find_types(&body.args)?, &taken)?;
        check_types("yielded value", &self.find_yield_types(body)?, initial)?;
        check_types("result", signature.results, initial)
    }

    fn check_while(&self, signature: Signature<'_>, before: &'a Block, after: &'a Block) -> Check {
        check_types(
            "region argument",
            &self.find_types(&before.args)?,
            signature.operands,
        )?;
        let yields = self.find_yield_types(before)?;
        let [condition, passed @ ..] = &yields[..] else {
            return Err(Violation::NoCondition);
        };
        check_condition(condition)?;
        check_types("region argument", &self.find_types(&after.args)?, passed)?;
        check_types(
            "yielded value",
            &self.find_yield_types(after)?,
            signature.operands,
        )?;
        check_types("result", signature.results, passed)
    }
}

/// The types on both sides of an operation.
#[derive(Clone, Copy)]
pub(super) struct Signature<'a> {
    pub(super) operands: &'a [&'a Type],
    pub(super) results: &'a [&'a Type],
}

fn well_formed(ty: &Type) -> Check {
    ensure(ty.block != ty.shape.is_empty(), || Violation::Extents)?;
    let lanes = ty
        .shape
        .iter()
        .try_fold(1usize, |lanes, &extent| lanes.checked_mul(extent));
    ensure(
        lanes.is_some_and(|lanes| (1..=MAX_NUMEL).contains(&lanes)),
        || Violation::Lanes(copy(ty)),
    )?;
    ensure(!matches!(ty.elem, Elem::Ptr { depth: 0, .. }), || {
        Violation::NoPointee
    })
}

fn check_pure(region: &Block, depth: usize) -> Check {
    for operation in &region.ops {
        let touches =
            operation.kind.accesses_memory() || matches!(operation.kind, OpKind::Barrier | OpKind::Acquire);
        ensure(!touches, || Violation::ImpureCombine)?;
        if depth < DEEPEST {
            for inner in operation.kind.regions() {
                check_pure(inner, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// The types that a reduction leaves.
fn reduce_types(signature: Signature<'_>, axis: usize) -> Check<Vec<Type>> {
    let Some(first) = signature.operands.first() else {
        return Err(Violation::NoOperands);
    };
    for ty in signature.operands {
        ensure(ty.shape == first.shape, || {
            Violation::OperandLanes(copy(first), copy(ty))
        })?;
    }
    ensure(axis < first.shape.len(), || Violation::NoAxis(copy(first), axis))?;
    let mut shape = first.shape.clone();
    shape.remove(axis);
    Ok(signature
        .operands
        .iter()
        .map(|ty| Type::block(ty.elem, shape.clone()))
        .collect())
}

pub(super) const fn count(part: &'static str, expected: usize, actual: usize) -> Violation {
    Violation::Count {
        part,
        actual,
        expected,
    }
}

pub(super) fn same_types(part: &'static str, got: &[&Type], wanted: &[Type]) -> Check {
    check_types(part, got, &wanted.iter().collect::<Vec<_>>())
}

fn check_types(part: &'static str, got: &[&Type], wanted: &[&Type]) -> Check {
    ensure(got.len() == wanted.len(), || count(part, wanted.len(), got.len()))?;
    for (nth, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        ensure(got == wanted, || Violation::NthType {
            part,
            nth,
            actual: copy(got),
            expected: copy(wanted),
        })?;
    }
    Ok(())
}

pub(super) fn is_int(elem: Elem) -> bool {
    elem.num().is_some_and(DType::is_int)
}

fn check_condition(ty: &Type) -> Check {
    let expected = Type::num(DType::I1);
    ensure(*ty == expected, || Violation::Type {
        part: "the condition",
        actual: copy(ty),
        expected: Box::new(expected),
    })
}
