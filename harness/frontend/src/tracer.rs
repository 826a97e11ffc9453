//! The tracer: Python statements and expressions to values and IR.
//!
//! [`Tracer`] holds what is the same for a whole trace; [`Frame`] what belongs to one Python function that is being
//! run. The operations of the language are not here: `semantic` gives operators their types, `builtin` lowers calls.

mod access;
mod aggregate;
mod call;
mod control;
mod decorator;
mod dependencies;
mod evaluate;
mod expression;
mod frame;
mod function;
pub(crate) mod gap;
mod host;
mod host_call;
mod host_operator;
mod launch;
mod loops;
mod module;
mod passes;
mod python;
mod returns;
mod statement;
mod uses;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Builder, LocId, OpKind, Type, ValueId};
use cerith_tile::rules::{Rule, Rules};
use cerith_tile::source::{SourceId, Span};
use ruff_text_size::TextRange;
use rustc_hash::FxHashMap;

pub(crate) use self::aggregate::Aggregate;
pub(crate) use self::function::{JitOptions, Parameter, UserFunction, Wrapper};
pub(crate) use self::host::Host;
pub(crate) use self::launch::trace;

use self::frame::Frame;
use self::module::{Scope, ScopeId};
use crate::semantic::shape::{MAX_NUMEL, oversized};
use crate::{Arg, Request};

/// What evaluating may cost in steps before the trace is given up.
const FUEL: u64 = 2_000_000;
/// Expressions, statements and calls inside of each other.
const MAX_DEPTH: usize = 4000;
/// Regions inside of each other.
const MAX_REGIONS: usize = 128;
/// Items that a tuple or list may have.
const MAX_ITEMS: usize = 1 << 12;
/// Operations a trace may make, thrown away ones included.
const MAX_OPERATIONS: usize = 250_000;
/// How a module that is a file goes by in [`crate::value::Value::Module`], followed by its scope.
const FILE_PREFIX: &str = "file ";

/// Why tracing ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Triton's compiler rejects the program.
    Rejected(Box<Diagnostic>),
    /// The reference does not know the construct.
    Unsupported(Box<Diagnostic>),
    /// A limit of ours was reached.
    Exhausted(Box<Diagnostic>),
}

/// What tracing a piece of Python gives.
pub(crate) type Traced<T> = Result<T, Stop>;

/// Something of Python's that compile-time code may call.
#[derive(Debug)]
pub(crate) struct PythonCallable {
    /// A `@constexpr_function`, the class of a named tuple or of aggregates.
    pub callable: Host,
}

/// A trace in progress.
pub(crate) struct Tracer<'a> {
    /// Where operations go.
    pub builder: Builder,
    /// Whose language it is.
    pub rules: Rules,
    /// What was asked for.
    pub request: &'a Request,
    /// Launch options, those of an autotuner's configuration included.
    options: Vec<(Rc<str>, Arg)>,
    span: Span,
    caller: Option<LocId>,
    frame: Frame,
    /// Functions whose bodies are being run, outermost first, with the calls' places and arguments.
    calls: Vec<call::ActiveCall>,
    locs: FxHashMap<(Span, Option<LocId>), LocId>,
    scopes: Vec<Scope>,
    modules: HashMap<Rc<str>, ScopeId>,
    prelude_sources: HashSet<SourceId>,
    host_depth: usize,
    depth: usize,
    regions: usize,
    /// Arguments of the call at hand that are tensors inside of constexprs.
    held_arguments: Vec<ValueId>,
    /// How many loop bodies are being run only to learn what they carry.
    discovering: usize,
    uses: uses::Uses,
    /// Pointers of the kernel that nothing is stored through.
    pub read_only: HashSet<ValueId>,
    /// Values that are ints of Python's, known only at run time; none but where a quirk is followed.
    pub python_ints: HashSet<ValueId>,
    /// Values that are floats of Python's, chosen at run time and held in `f64`; none but where a quirk is followed.
    pub python_floats: HashSet<ValueId>,
    /// What is wrong with the first block that got too many elements for Triton to hold.
    oversized: Option<Box<Diagnostic>>,
    fuel: u64,
}

impl Tracer<'_> {
    /// The piece of text that is being evaluated.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Whether the text at hand is of a language with this rule. The prelude is written in the newest, whichever version's
    /// library it stands for.
    pub fn speaks(&self, rule: Rule) -> bool {
        self.rules.holds(rule) || self.prelude_sources.contains(&self.span.source)
    }

    /// A rejection at the current place, in the words that a user reads: lower case, no full stop.
    pub fn reject(&self, message: impl Into<String>) -> Stop {
        self.reject_with("rejected", message)
    }

    /// A rejection with a stable code of its own.
    pub fn reject_with(&self, code: &'static str, message: impl Into<String>) -> Stop {
        Stop::Rejected(Box::new(self.diagnostic(code, message)))
    }

    /// A construct (`tl.make_tensor_descriptor`, `a lambda`) that the reference does not know yet.
    pub fn unsupported(&self, construct: impl AsRef<str>) -> Stop {
        let message = format!("the reference does not support {} yet", construct.as_ref());
        Stop::Unsupported(Box::new(self.diagnostic("unsupported", message)))
    }

    /// A limit of ours that the program reached: how many of what.
    fn exhausted(&self, limit: impl fmt::Display, what: &str) -> Stop {
        let message = format!("the limit of {limit} {what} was reached");
        Stop::Exhausted(Box::new(self.diagnostic("exhausted", message)))
    }

    /// A diagnostic at the current place with the calls that lead there. In Triton's own library the place is the
    /// call that entered it.
    pub fn diagnostic(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        const SHOWN: usize = 4;
        let mut places: Vec<Span> = self.calls.iter().map(|call| call.span).collect();
        places.push(self.span);
        let own = places
            .iter()
            .rposition(|span| !self.prelude_sources.contains(&span.source))
            .unwrap_or(0);
        let library = places.get(own + 1..).and_then(<[Span]>::last).copied();
        places.truncate(own + 1);
        let here = places.pop().unwrap_or(self.span);
        let mut diagnostic = Diagnostic::error(code, here, message);
        if let Some(library) = library {
            diagnostic = diagnostic.label(library, "in Triton's library");
        }
        let callers = places
            .iter()
            .filter(|span| **span != Span::default())
            .rev()
            .take(SHOWN);
        callers.fold(diagnostic, |diagnostic, span| {
            diagnostic.label(*span, "called here")
        })
    }

    /// The value of a launch option (`num_warps`, `debug`), if the launch or the kernel's configuration gave it.
    pub fn option(&self, name: &str) -> Option<&Arg> {
        self.options
            .iter()
            .rev()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        self.builder.ty(value)
    }

    /// Whether a value is a block, not a scalar.
    pub fn is_block(&self, value: ValueId) -> bool {
        self.ty(value).block
    }

    /// The number type of a value's lanes; `None` for pointers.
    pub fn dtype(&self, value: ValueId) -> Option<DType> {
        self.ty(value).elem.num()
    }

    /// Appends an operation with one result at the current place.
    pub fn op(&mut self, kind: OpKind, operands: &[ValueId], result: Type) -> ValueId {
        if result.numel() as i128 > MAX_NUMEL && self.oversized.is_none() {
            let stop = oversized(self, result.numel() as i128);
            self.oversized = Some(Box::new(stop.into_diagnostic()));
        }
        self.builder.op(kind, operands, result)
    }

    /// Appends a constant (its bits) at the current place.
    pub fn constant(&mut self, bits: u64, ty: Type) -> ValueId {
        self.builder.constant(bits, ty)
    }

    /// Counts a step.
    fn burn(&mut self) -> Traced<()> {
        self.check_sizes()?;
        if self.fuel == 0 {
            return Err(self.exhausted(FUEL, "steps of tracing a kernel"));
        }
        if self.builder.work() > MAX_OPERATIONS {
            return Err(self.exhausted(MAX_OPERATIONS, "operations of a kernel, unrolled loops included"));
        }
        self.fuel -= 1;
        Ok(())
    }

    /// Rejects the program if it made a block with too many elements. Triton does when it makes the type; no operation is
    /// far behind.
    fn check_sizes(&mut self) -> Traced<()> {
        self.oversized
            .take()
            .map_or(Ok(()), |diagnostic| Err(Stop::Rejected(diagnostic)))
    }

    /// Counts the making of so many values.
    fn charge(&mut self, items: usize) -> Traced<()> {
        self.fuel = self.fuel.saturating_sub(items as u64);
        self.burn()
    }

    /// Runs `work`, which makes an operation with regions.
    fn region<T>(&mut self, work: impl FnOnce(&mut Self) -> Traced<T>) -> Traced<T> {
        if self.regions >= MAX_REGIONS {
            return Err(self.exhausted(MAX_REGIONS, "branches and loops inside of each other"));
        }
        self.regions += 1;
        let result = work(self);
        self.regions -= 1;
        result
    }

    /// Runs `work` one level deeper, with stack enough.
    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Traced<T>) -> Traced<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.exhausted(MAX_DEPTH, "expressions and statements inside of each other"));
        }
        self.depth += 1;
        let result = module::with_stack(|| work(self));
        self.depth -= 1;
        result
    }

    /// Makes a piece of the current function's text the current place; gives back the place before.
    fn enter(&mut self, range: TextRange) -> (Span, LocId) {
        let span = module::span_of(self.frame.source, range);
        let before = (self.span, self.builder.loc());
        self.span = span;
        let (builder, caller) = (&mut self.builder, self.caller);
        let loc = *self
            .locs
            .entry((span, caller))
            .or_insert_with(|| builder.add_loc(span, caller));
        self.builder.set_loc(loc);
        before
    }

    fn leave(&mut self, (span, loc): (Span, LocId)) {
        self.span = span;
        self.builder.set_loc(loc);
    }
}
