//! A kernel that is ready to be launched.

use std::sync::Arc;

use cerith_frontend::Traced;
use cerith_interp::Program;
use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, Combine, Function, LocId, OpKind, ValueId};
use cerith_tile::numeric::numpy;

use super::traces::Rewritten;
use crate::combine_orders;
use crate::engine::Failure;

/// A kernel that was traced for one specialisation.
#[derive(Debug)]
pub struct Kernel {
    /// The traced kernel.
    pub traced: Arc<Traced>,
    pub(super) program: Program,
    /// Whether an operation does something with lanes that may come in any order.
    pub(super) lanes_open: bool,
    /// Operations that combine elements, in any order, by a function that is not well known.
    pub(super) combines: Vec<LocId>,
}

impl Kernel {
    /// A traced kernel, made ready.
    pub(super) fn new(traced: Arc<Traced>) -> Result<Self, Failure> {
        Ok(Self {
            program: prepare(traced.function.clone())?,
            lanes_open: !traced.function.open_lane_orders().is_empty(),
            combines: combine_orders::open(&traced.function),
            traced,
        })
    }

    /// Whether all conforming implementations leave the same bits: it has no floats, and no order of atomics shows.
    pub(super) fn is_exact(&self) -> bool {
        let function = &self.program.function;
        let is_used = |id: &ValueId| self.program.used.get(id.0 as usize) != Some(&false);
        let mut is_ordered = false;
        function.body.visit_operations(&mut |op| {
            is_ordered |= match op.kind {
                OpKind::AtomicCas { .. } | OpKind::AtomicPoll { .. } => true,
                OpKind::AtomicRmw { op: atomic, .. } => {
                    atomic == AtomicOp::Xchg || op.results.iter().any(is_used)
                }
                _ => false,
            };
        });
        let mut dtypes = function.values.iter().filter_map(|value| value.ty.elem.num());
        !is_ordered && !dtypes.any(DType::is_float)
    }

    /// Another function in place of the traced one, which takes the same arguments.
    pub(crate) fn with_function(&self, function: Function) -> Result<Self, Failure> {
        let rewritten = Rewritten {
            traced: Arc::clone(&self.traced),
            followed: Some(function),
        };
        Self::new(rewritten.into_traced())
    }

    /// The program to execute.
    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }
}

/// Whether NumPy may compute something else in a function than the interpreter does.
pub(super) fn differs_as_numpy(function: &Function) -> bool {
    let mut differs = false;
    function.body.visit_operations(&mut |op| {
        let operand = op.operands.first();
        let dtype = operand
            .and_then(|id| function.values.get(id.0 as usize))
            .and_then(|value| value.ty.elem.num());
        differs |= match op.kind {
            OpKind::Reduce {
                combine: Some(Combine::Add),
                ..
            } => dtype.is_some_and(numpy::has_sums),
            OpKind::Unary(op) => dtype == Some(DType::F32) && numpy::find_function(op).is_some(),
            _ => false,
        };
    });
    differs
}

/// Whether a function multiplies matrices of floats.
pub(super) fn has_float_dot(function: &Function) -> bool {
    let mut multiplies = false;
    function.body.visit_operations(&mut |op| {
        let result = op.results.first();
        let value = result.and_then(|id| function.values.get(id.0 as usize));
        let dtype = value.and_then(|value| value.ty.elem.num());
        multiplies |= matches!(op.kind, OpKind::Dot { .. }) && dtype.is_some_and(DType::is_float);
    });
    multiplies
}

/// The program of a function.
pub(super) fn prepare(function: Function) -> Result<Program, Failure> {
    let name = function.name.clone();
    Program::prepare(function).map_err(|error| Failure::internal(format!("prepare `{name}`"), error))
}
