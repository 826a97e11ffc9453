//! The tracer: a kernel's statements and expressions to values and IR.
//!
//! [`Tracer`] holds the state of a whole trace, [`Frame`] that of one running function. Each module is one part of the
//! walk, which is recursive like Python's tree: an expression may be a call, and a call runs statements. `semantic` gives
//! operators their types and `builtin` lowers calls; both work on the tracer's [`Lowering`]. A [`Runner`] runs the plain
//! Python around kernels.

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
mod refusal;
mod returns;
mod specialise;
mod statement;
mod uses;

use cerith_tile::ir::{LocId, ValueId};
use cerith_tile::source::Span;
use ruff_text_size::TextRange;

use self::frame::{ActiveCall, Frame};
pub(crate) use self::refusal::find_refusal_if_used;
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
    /// The number of loop bodies that are running only to find their carried variables.
    discovering: usize,
}

impl<'a> Tracer<'a> {
    /// Returns a runner for plain Python.
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

    /// Makes a part of the current function's text the current location. Returns the previous location.
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
