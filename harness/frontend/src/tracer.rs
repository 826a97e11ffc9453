//! The tracer: a kernel's statements and expressions to values and IR.
//!
//! [`Tracer`] holds what is the same for a whole trace; [`Frame`] what belongs to one function that is being run. Each
//! module is one part of the walk, which is recursive as Python's tree is: an expression may be a call, and a call runs
//! statements. Left out: operations of the language (`semantic` gives operators their types, `builtin` lowers calls; both
//! work on the tracer's [`Lowering`]), and the plain Python around kernels, which a [`Runner`] runs.

mod access;
mod aggregate;
mod arguments;
mod call;
mod control;
mod dependencies;
mod expression;
mod frame;
mod function;
mod hook;
pub(crate) mod launch;
mod liveness;
mod loops;
mod operator;
mod passes;
mod returns;
mod specialise;
mod statement;
mod uses;

use cerith_tile::ir::{LocId, ValueId};
use cerith_tile::source::Span;
use ruff_text_size::TextRange;

use self::frame::{ActiveCall, Frame};
pub(crate) use self::passes::find_refusal_if_used;
use crate::plain::{Modules, Runner};
use crate::text::{span_of, with_stack};
use cerith_language::lowering::Lowering;
use cerith_language::request::Request;
use cerith_language::stop::Traced;
use cerith_language::value::Value;
use cerith_language::value::callable::Caller;

/// Regions inside of each other.
const MAX_REGIONS: usize = 128;
/// Items that a tuple or list may have.
const MAX_ITEMS: usize = 1 << 12;

/// A trace in progress.
pub(crate) struct Tracer<'a> {
    /// The IR that is being made.
    lo: Lowering,
    /// The modules around the kernel.
    modules: Modules<'a>,
    request: &'a Request,
    frame: Frame,
    /// Functions whose bodies are being run, outermost first.
    calls: Vec<ActiveCall>,
    regions: usize,
    /// Arguments of the call at hand that are tensors inside of constexprs.
    held_arguments: Vec<ValueId>,
    /// How many loop bodies are being run only to learn what they carry.
    discovering: usize,
}

impl<'a> Tracer<'a> {
    /// What runs plain Python.
    fn plain(&mut self) -> Runner<'_, 'a> {
        Runner {
            lo: &mut self.lo,
            modules: &mut self.modules,
        }
    }

    /// Runs `work`, which makes an operation with regions.
    fn run_region<T>(&mut self, work: impl FnOnce(&mut Self) -> Traced<T>) -> Traced<T> {
        if self.regions >= MAX_REGIONS {
            return Err(self
                .lo
                .report_exhausted(MAX_REGIONS, "branches and loops inside of each other"));
        }
        self.regions += 1;
        let result = work(self);
        self.regions -= 1;
        result
    }

    /// Runs `work` one level deeper, with stack enough.
    fn run_nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Traced<T>) -> Traced<T> {
        self.lo.descend()?;
        let result = with_stack(|| work(self));
        self.lo.ascend();
        result
    }

    /// Makes a piece of the current function's text the current place; gives back the place before.
    fn enter(&mut self, range: TextRange) -> (Span, LocId) {
        self.lo.enter(span_of(self.frame.source, range))
    }
}

impl Caller for Tracer<'_> {
    fn lo(&mut self) -> &mut Lowering {
        &mut self.lo
    }

    fn call(&mut self, callee: &Value, positional: Vec<Value>) -> Traced<Value> {
        Tracer::call(self, callee, positional, Vec::new())
    }

    fn get_attribute(&mut self, value: &Value, name: &str) -> Traced<Value> {
        Tracer::get_attribute(self, value, name)
    }

    fn find_in_prelude(&mut self, module: &str, name: &str) -> Option<Value> {
        self.plain().find_in_prelude(module, name)
    }

    fn is_of_prelude(&self, value: &Value) -> bool {
        matches!(value, Value::Function(function) if self.in_library(function))
    }
}
