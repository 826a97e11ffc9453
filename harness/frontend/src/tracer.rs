//! The tracer: Python statements and expressions to values and IR.
//!
//! [`Tracer`] holds what is the same for a whole trace; a [`Frame`] what belongs to one Python function that is being
//! run. The operations of the language are not here: `semantic` gives operators their types, `builtin` lowers calls.

use std::rc::Rc;

use conch_tile::diagnostic::Diagnostic;
use conch_tile::ir::{Builder, LocId, OpKind, Type, ValueId};
use conch_tile::rules::Rules;
use conch_tile::source::Span;
use conch_tile::{DType, ir};

use crate::value::{Constant, Value};
use crate::{Refused, Request, Traced as TracedKernel};

/// Why tracing ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Triton's compiler rejects the program.
    Rejected(Box<Diagnostic>),
    /// The reference does not know the construct, or a limit was met.
    Unsupported(Box<Diagnostic>),
}

/// What tracing a piece of Python gives.
pub(crate) type Traced<T> = Result<T, Stop>;

/// A `@triton.jit` function of the user or of the prelude.
#[derive(Debug)]
pub(crate) struct UserFunction {
    /// Its name.
    pub name: Rc<str>,
}

/// Something of Python's that compile-time code may call.
#[derive(Debug)]
pub(crate) struct PythonCallable {
    /// Its name.
    pub name: Rc<str>,
}

/// A trace in progress.
pub(crate) struct Tracer<'a> {
    /// Where operations go.
    pub builder: Builder,
    /// Whose language it is.
    pub rules: Rules,
    /// What was asked for.
    pub request: &'a Request,
    span: Span,
}

impl Tracer<'_> {
    /// The piece of text that is being evaluated.
    pub fn span(&self) -> Span {
        self.span
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

    /// A diagnostic at the current place with the calls that lead there.
    pub fn diagnostic(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span, message)
    }

    /// The value of a launch option (`num_warps`, `debug`), if the launch or the kernel's configuration gave it.
    pub fn option(&self, name: &str) -> Option<&crate::Arg> {
        self.request.options.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Calls a function, builtin or method, as `callee(*positional, **keyword)`.
    pub fn call(
        &mut self,
        callee: &Value,
        positional: Vec<Value>,
        keyword: Vec<(Rc<str>, Value)>,
    ) -> Traced<Value> {
        let _ = (positional, keyword);
        Err(self.unsupported(format!("calling {callee:?}")))
    }

    /// A function of the prelude, by the module (`standard`, `random`, …) and name it has there.
    pub fn prelude(&mut self, module: &str, name: &str) -> Option<Value> {
        let _ = (module, name);
        None
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
        self.builder.op(kind, operands, result)
    }

    /// Appends a constant (its bits) at the current place.
    pub fn constant(&mut self, bits: u64, ty: Type) -> ValueId {
        self.builder.constant(bits, ty)
    }

    /// Where operations come from now.
    pub fn loc(&self) -> LocId {
        self.builder.loc()
    }
}

/// Traces a kernel for one specialisation.
pub(crate) fn trace(request: &Request) -> Result<TracedKernel, Refused> {
    let _ = (request, ir::Shape::new(), Constant::None);
    Err(Refused {
        refusal: crate::Refusal::Unsupported(Box::new(Diagnostic::error("unsupported", Span::default(), ""))),
        sources: conch_tile::source::Sources::default(),
    })
}
