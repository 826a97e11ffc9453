//! A lowering in progress: the IR that is being made, the place in the text that it is made for, and what may go wrong there.
//!
//! Everything that makes operations ([`crate::semantic`], [`crate::builtin`]) uses this and nothing above it. The
//! tracer has Python's names, frames and calls.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::hash::BuildHasher;
use std::rc::Rc;

use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Builder, LocId, OpKind, Type, ValueId};
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::{Rule, Rules};
use cerith_tile::source::{SourceId, Sources, Span};
use rustc_hash::FxHashMap;

use crate::clears::Clears;
use crate::constant::Failure;
use crate::gap::Gap;
use crate::request::{Request, RequestArg};
use crate::stop::{Stop, Traced};

/// Maximum steps of a trace.
const FUEL: u64 = 2_000_000;
/// Expressions, statements and calls inside of each other.
const MAX_DEPTH: usize = 4000;
/// Operations that a trace may make, those that are thrown away included.
const MAX_OPERATIONS: usize = 250_000;
/// The maximum number of lanes that a block may have.
pub(crate) const MAX_NUMEL: i128 = 1 << 20;

/// Uses of Triton's language: the module of a name, the name, and on which dtype.
pub type Uses = HashSet<(&'static str, &'static str, Option<DType>)>;

/// A lowering in progress.
#[derive(Debug)]
pub struct Lowering {
    /// Collects the operations.
    pub builder: Builder,
    /// The version of the language. See [`Lowering::has_quirk`] for quirks.
    pub rules: Rules,
    /// Launch options, those of an autotuner's configuration included; the last of a name counts.
    pub options: Vec<(Rc<str>, RequestArg)>,
    /// The piece of text that is being evaluated.
    pub span: Span,
    /// The call that entered the function at hand.
    pub caller: Option<LocId>,
    /// The spans of the active calls, outermost first.
    pub calls: Vec<Span>,
    /// The files of Triton's own library.
    pub library: HashSet<SourceId>,
    /// The names of Triton's language used so far.
    pub uses: Uses,
    /// Pointers of the kernel that nothing is stored through.
    pub read_only: HashSet<ValueId>,
    /// Values that are ints of Python's, known only at run time; none but where a quirk is followed.
    pub python_ints: HashSet<ValueId>,
    /// Values that are floats of Python's, chosen at run time and held in `f64`; none but where a quirk is followed.
    pub python_floats: HashSet<ValueId>,
    /// The tensors that the kernel's tuner sets to zero.
    pub clears: Clears,
    locs: FxHashMap<(Span, Option<LocId>), LocId>,
    /// The rejection of the first block that has too many elements for Triton.
    oversized: Option<Box<Diagnostic>>,
    depth: usize,
    fuel: u64,
    /// The quirks that were checked.
    consulted_quirks: Cell<Quirks>,
}

impl Lowering {
    /// A lowering for a request, with no operation yet.
    pub fn new(request: &Request) -> Self {
        let name = request.kernel.rsplit('.').next().unwrap_or(&request.kernel);
        Self {
            builder: Builder::new(name, Sources::default(), Span::default()),
            rules: request.rules,
            options: request
                .options
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.clone()))
                .collect(),
            span: Span::default(),
            caller: None,
            calls: Vec::new(),
            library: HashSet::new(),
            uses: Uses::new(),
            read_only: HashSet::new(),
            python_ints: HashSet::new(),
            python_floats: HashSet::new(),
            clears: Clears::default(),
            locs: FxHashMap::default(),
            oversized: None,
            depth: 0,
            fuel: FUEL,
            consulted_quirks: Cell::new(Quirks::NONE),
        }
    }

    /// The value of a launch option (`num_warps`, `debug`), if the launch or the kernel's configuration gave it.
    pub fn find_option(&self, name: &str) -> Option<&RequestArg> {
        self.options
            .iter()
            .rev()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    }

    /// Whether device asserts are compiled in: the launch option `debug`.
    pub fn asserts(&self) -> bool {
        matches!(self.find_option("debug"), Some(RequestArg::Bool(true)))
    }

    /// Whether an assertion follows each integer operation that may overflow: the launch options `debug` and
    /// `sanitize_overflow`, which is on by default.
    pub fn checks_overflow(&self) -> bool {
        let off = matches!(
            self.find_option("sanitize_overflow"),
            Some(RequestArg::Bool(false) | RequestArg::Int(0) | RequestArg::None)
        );
        self.asserts() && !off && self.rules.holds(Rule::OverflowIsChecked)
    }

    /// Notes that the kernel does something by which a known bug is recognised.
    pub fn record_use(&mut self, what: &'static str) {
        self.uses.insert(("", what, None));
    }
}

/// The language at hand.
impl Lowering {
    /// Whether the text at hand is of Triton's own library.
    pub fn in_library(&self) -> bool {
        self.library.contains(&self.span.source)
    }

    /// Whether the current text follows this rule. The prelude is written in the newest version, also if it replaces the library of
    /// an older one.
    pub fn has_rule(&self, rule: Rule) -> bool {
        self.rules.holds(rule) || self.in_library()
    }

    /// Whether a quirk is followed.
    pub fn has_quirk(&self, quirk: Quirk) -> bool {
        self.consulted_quirks
            .set(self.consulted_quirks.get().with_quirk(quirk));
        self.rules.has_quirk(quirk)
    }

    /// The quirks that decided anything: with or without the others, the trace is the same.
    pub const fn consulted_quirks(&self) -> Quirks {
        self.consulted_quirks.get()
    }

    /// Whether the version's compiler refuses this.
    pub fn has_gap(&self, gap: Gap) -> bool {
        gap.holds(self.rules.version) && !self.in_library()
    }
}

/// Refusals.
impl Lowering {
    /// A rejection at the current location. Messages are in lower case, without a full stop.
    pub fn reject(&self, message: impl Into<String>) -> Stop {
        self.reject_with("rejected", message)
    }

    /// A rejection by a pass of the compiler, after its front end accepted the program.
    pub fn reject_by_pass(&self, message: impl Into<String>) -> Stop {
        Stop::Rejected(Box::new(self.build_diagnostic("rejected", message).by_pass()))
    }

    /// A rejection with a stable code of its own.
    pub fn reject_with(&self, code: &'static str, message: impl Into<String>) -> Stop {
        Stop::Rejected(Box::new(self.build_diagnostic(code, message)))
    }

    /// The rejection of a name that a module or a value does not have; `near` is what it may have been meant to be.
    pub fn unknown_attribute(
        &self,
        message: impl Into<String>,
        module: Option<&str>,
        name: &str,
        near: Option<&str>,
    ) -> Stop {
        let write = |name: &str| module.map_or_else(|| name.to_owned(), |module| format!("{module}.{name}"));
        let diagnostic = self
            .build_diagnostic("unknown-attribute", message)
            .misspelling(write(name), near.map(write));
        Stop::Rejected(Box::new(match near {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }))
    }

    /// A construct (`tl.make_tensor_descriptor`, `a lambda`) that the reference does not know yet.
    pub fn report_unsupported(&self, construct: impl AsRef<str>) -> Stop {
        let message = format!("the reference does not support {} yet", construct.as_ref());
        Stop::Unsupported(Box::new(self.build_diagnostic("unsupported", message)))
    }

    /// The program reached a limit of ours: `limit` of `what`.
    pub fn report_exhausted(&self, limit: impl fmt::Display, what: &str) -> Stop {
        let message = format!("the limit of {limit} {what} was reached");
        Stop::Exhausted(Box::new(self.build_diagnostic("exhausted", message)))
    }

    /// A computation of constants that failed.
    pub fn report_failure(&self, failure: Failure) -> Stop {
        match failure {
            Failure::Raises(text) => self.reject(text),
            Failure::Unsupported(what) => self.report_unsupported(what),
            Failure::Exhausted(limit, what) => self.report_exhausted(limit, what),
        }
    }

    /// The rejection of a block with too many elements.
    pub fn too_large(&self, numel: i128) -> Stop {
        Stop::Rejected(Box::new(self.oversized_block(numel)))
    }

    fn oversized_block(&self, numel: i128) -> Diagnostic {
        self.build_diagnostic(
            "rejected",
            format!("a block of {numel} elements exceeds Triton's maximum of {MAX_NUMEL}"),
        )
    }

    /// A diagnostic at the current place with the calls that lead there.
    pub fn build_diagnostic(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let mut places = self.calls.clone();
        places.push(self.span);
        diagnostic_at(places, &self.library, code, message)
    }
}

/// A diagnostic at the last of these places, to which the others are the calls that lead there. In Triton's own library the place
/// is the call that entered it.
pub fn diagnostic_at(
    mut places: Vec<Span>,
    library: &HashSet<SourceId, impl BuildHasher>,
    code: &'static str,
    message: impl Into<String>,
) -> Diagnostic {
    const MAX_SHOWN_CALLS: usize = 4;
    let own = places
        .iter()
        .rposition(|span| !library.contains(&span.source))
        .unwrap_or(0);
    let inside = places.get(own + 1..).and_then(<[Span]>::last).copied();
    places.truncate(own + 1);
    let here = places.pop().unwrap_or_default();
    let mut diagnostic = Diagnostic::error(code, here, message);
    if let Some(inside) = inside {
        diagnostic = diagnostic.label(inside, "in Triton's library");
    }
    let callers = places
        .iter()
        .filter(|span| **span != Span::default())
        .rev()
        .take(MAX_SHOWN_CALLS);
    callers.fold(diagnostic, |diagnostic, span| {
        diagnostic.label(*span, "called here")
    })
}

/// Values and operations.
impl Lowering {
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
    pub fn emit_op(&mut self, kind: OpKind, operands: &[ValueId], result: Type) -> ValueId {
        let numel = result.numel() as i128;
        if numel > MAX_NUMEL && self.oversized.is_none() {
            self.oversized = Some(Box::new(self.oversized_block(numel)));
        }
        self.builder.add_op(kind, operands, result)
    }

    /// Appends a constant (its bits) at the current place.
    pub fn emit_constant(&mut self, bits: u64, ty: Type) -> ValueId {
        self.builder.add_constant(bits, ty)
    }
}

/// Limits.
impl Lowering {
    /// Counts a step.
    pub fn burn(&mut self) -> Traced<()> {
        self.check_sizes()?;
        if self.fuel == 0 {
            return Err(self.report_exhausted(FUEL, "steps of tracing a kernel"));
        }
        if self.builder.work() > MAX_OPERATIONS {
            return Err(
                self.report_exhausted(MAX_OPERATIONS, "operations of a kernel, unrolled loops included")
            );
        }
        self.fuel -= 1;
        Ok(())
    }

    /// Counts the making of so many values.
    pub fn charge(&mut self, items: usize) -> Traced<()> {
        self.fuel = self.fuel.saturating_sub(items as u64);
        self.burn()
    }

    /// Rejects the program if it made a block with too many elements. Triton does so when it makes the type, and an operation
    /// follows soon.
    pub fn check_sizes(&mut self) -> Traced<()> {
        self.oversized
            .take()
            .map_or(Ok(()), |diagnostic| Err(Stop::Rejected(diagnostic)))
    }

    /// Goes into an expression, a statement or a call inside of another. [`Lowering::ascend`] goes out of it.
    pub fn descend(&mut self) -> Traced<()> {
        if self.depth >= MAX_DEPTH {
            return Err(self.report_exhausted(MAX_DEPTH, "expressions and statements inside of each other"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves the scope that [`Lowering::descend`] entered.
    pub fn ascend(&mut self) {
        self.depth -= 1;
    }
}

/// Places.
impl Lowering {
    /// Makes a part of the text the current location. Returns the previous location.
    pub fn enter(&mut self, span: Span) -> (Span, LocId) {
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

    /// Goes back to the place before.
    pub fn leave(&mut self, (span, loc): (Span, LocId)) {
        self.span = span;
        self.builder.set_loc(loc);
    }
}
