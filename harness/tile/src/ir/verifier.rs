//! Checks that IR is well-formed: every value is defined once and before its uses; every operation has the operands,
//! types and regions that it needs; every region yields the right types. A function that passes can be executed and
//! printed without further checks. It works on any function.
//!
//! The frontend checks the rules of Triton that execution doesn't need, such as extents that are powers of two.

use super::printer::DEEPEST;
use super::{Block, Elem, Function, LocId, OpKind, Operation, Type, ValueId};
use crate::DType;
use crate::source::Span;

/// Maximum lanes of a block (`TRITON_MAX_TENSOR_NUMEL`, `triton/language/core.py`).
pub const MAX_NUMEL: usize = 1 << 20;

/// A malformed function. It is a bug of its creator, not of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed IR at {position}: {message}, in `{operation}`")]
pub struct VerifyError {
    /// The message.
    pub message: String,
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
        verifier.header().map_err(|message| VerifyError {
            message,
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
            Some(operation) => Err(verifier.build_error(operation, "the function's body yields".to_owned())),
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

type Check = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

impl<'a> Verifier<'a> {
    fn build_error(&self, operation: &Operation, message: String) -> VerifyError {
        let span = self.function.span(operation.loc);
        VerifyError {
            message,
            operation: self.function.operation_text(operation),
            position: self.function.sources.describe_position(span),
            span,
        }
    }

    fn header(&mut self) -> Check {
        for (at, info) in self.function.values.iter().enumerate() {
            well_formed(&info.ty).map_err(|message| format!("value {at}: {message}"))?;
        }
        for (at, loc) in self.function.locs.iter().enumerate() {
            // Callers come first, so that following them ends.
            ensure(loc.caller.is_none_or(|caller| (caller.0 as usize) < at), || {
                format!("place {at} is called from a later one")
            })?;
        }
        for param in &self.function.params {
            self.define(param.value)?;
            let scalar = self.find_type(param.value)?.is_scalar();
            ensure(scalar, || format!("parameter `{}` is a block", param.name))?;
        }
        ensure(self.function.body.args.is_empty(), || {
            "the body takes arguments".to_owned()
        })
    }

    fn find_type(&self, value: ValueId) -> Result<&'a Type, String> {
        self.function
            .values
            .get(value.0 as usize)
            .map(|info| &info.ty)
            .ok_or_else(|| format!("there is no value {}", value.0))
    }

    fn find_types(&self, values: &[ValueId]) -> Result<Vec<&'a Type>, String> {
        values.iter().map(|&value| self.find_type(value)).collect()
    }

    fn define(&mut self, value: ValueId) -> Check {
        let state = self
            .state
            .get_mut(value.0 as usize)
            .ok_or_else(|| format!("there is no value {}", value.0))?;
        ensure(*state == State::Undefined, || {
            format!("value {} is defined twice", value.0)
        })?;
        *state = State::Visible;
        Ok(())
    }

    fn check_ops(&mut self, block: &'a Block, depth: usize) -> Result<(), VerifyError> {
        for operation in &block.ops {
            self.check_uses(operation)
                .map_err(|message| self.build_error(operation, message))?;
            self.check(operation)
                .map_err(|message| self.build_error(operation, message))?;
            for region in operation.kind.regions() {
                if depth >= DEEPEST {
                    return Err(
                        self.build_error(operation, format!("regions are nested more than {DEEPEST} deep"))
                    );
                }
                self.check_region(operation, region, depth + 1)?;
            }
            for &result in &operation.results {
                self.define(result)
                    .map_err(|message| self.build_error(operation, message))?;
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
                .map_err(|message| self.build_error(owner, message))?;
        }
        self.check_ops(region, depth)?;
        let early = region
            .ops
            .iter()
            .rev()
            .skip(1)
            .find(|operation| operation.kind == OpKind::Yield);
        if let Some(operation) = early {
            return Err(self.build_error(operation, "a yield is not the last of its region".to_owned()));
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
            "it has no place".to_owned()
        })?;
        for &operand in &operation.operands {
            match self.state.get(operand.0 as usize) {
                None => return Err(format!("there is no value {}", operand.0)),
                Some(State::Visible) => {}
                Some(State::Undefined) => {
                    return Err(format!("value {} is used before it is defined", operand.0));
                }
                Some(State::Hidden) => {
                    return Err(format!("value {} is used outside of its region", operand.0));
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
                is_scalar_bool("condition", condition)?;
                for region in [then_block, else_block] {
                    ensure(region.args.is_empty(), || "a branch takes arguments".to_owned())?;
                    check_types("yielded value", &self.find_yield_types(region)?, &results)?;
                }
                Ok(())
            }
            OpKind::While { before, after } => self.check_while(signature, before, after),
            kind => super::signature::check(kind, signature),
        }
    }

    fn find_yield_types(&self, region: &'a Block) -> Result<Vec<&'a Type>, String> {
        match region.ops.last() {
            Some(last) if last.kind == OpKind::Yield => self.find_types(&last.operands),
            _ => Err("a region does not end with a yield".to_owned()),
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
            format!("bounds and step are {lower}, {upper} and {step}, not scalar integers of one type")
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
            return Err("the test yields no condition".to_owned());
        };
        is_scalar_bool("condition", condition)?;
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
    ensure(ty.block != ty.shape.is_empty(), || {
        "a block has extents, and a scalar has none".to_owned()
    })?;
    let lanes = ty
        .shape
        .iter()
        .try_fold(1usize, |lanes, &extent| lanes.checked_mul(extent));
    ensure(
        lanes.is_some_and(|lanes| (1..=MAX_NUMEL).contains(&lanes)),
        || format!("{ty} does not have 1 to {MAX_NUMEL} lanes"),
    )?;
    ensure(!matches!(ty.elem, Elem::Ptr { depth: 0, .. }), || {
        "a pointer points to nothing".to_owned()
    })
}

fn check_pure(region: &Block, depth: usize) -> Check {
    for operation in &region.ops {
        let touches =
            operation.kind.accesses_memory() || matches!(operation.kind, OpKind::Barrier | OpKind::Acquire);
        ensure(!touches, || "a combine region touches memory".to_owned())?;
        if depth < DEEPEST {
            for inner in operation.kind.regions() {
                check_pure(inner, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// The types that a reduction leaves.
fn reduce_types(signature: Signature<'_>, axis: usize) -> Result<Vec<Type>, String> {
    let Some(first) = signature.operands.first() else {
        return Err("it has no operands".to_owned());
    };
    for ty in signature.operands {
        ensure(ty.shape == first.shape, || {
            format!("operands of {first} and {ty} lanes")
        })?;
    }
    ensure(axis < first.shape.len(), || format!("{first} has no axis {axis}"))?;
    let mut shape = first.shape.clone();
    shape.remove(axis);
    Ok(signature
        .operands
        .iter()
        .map(|ty| Type::block(ty.elem, shape.clone()))
        .collect())
}

pub(super) fn count(what: &str, wanted: usize, got: usize) -> String {
    format!("{got} {what}s where {wanted} belong")
}

pub(super) fn same_types(what: &str, got: &[&Type], wanted: &[Type]) -> Check {
    check_types(what, got, &wanted.iter().collect::<Vec<_>>())
}

fn check_types(what: &str, got: &[&Type], wanted: &[&Type]) -> Check {
    ensure(got.len() == wanted.len(), || count(what, wanted.len(), got.len()))?;
    for (nth, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        ensure(got == wanted, || format!("{what} {nth} is {got}, not {wanted}"))?;
    }
    Ok(())
}

pub(super) fn is_int(elem: Elem) -> bool {
    elem.num().is_some_and(DType::is_int)
}

fn is_scalar_bool(what: &str, ty: &Type) -> Check {
    ensure(*ty == Type::num(DType::I1), || {
        format!("the {what} is {ty}, not i1")
    })
}
