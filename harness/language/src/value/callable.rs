//! The functions that a kernel can call: those of its own file, and the table's ([`crate::builtin`]).

use std::rc::Rc;

use cerith_tile::source::Span;
use ruff_python_ast as ast;

use super::Value;
use super::plain::{Plain, PlainBody, PlainFunction, ScopeId};
use crate::constant::{self, Constant};
use crate::lowering::Lowering;
use crate::stop::Traced;

/// A function that is implemented here, not by Python text.
#[derive(Debug)]
pub struct Builtin {
    /// Its canonical name and Python signature: `tl.load(pointer, mask=None, other=None)`; methods are
    /// `tensor.to(self, dtype, …)`. Python's own are `range(…)`, `len(…)`.
    pub signature: &'static str,
    /// The lowering of a call.
    pub lower: Lower,
}

/// The lowering of a call. Arguments are bound to the signature's parameters, in its order, with defaults filled in; the
/// arguments that `*args` collected are one tuple.
#[derive(Clone, Copy, Debug)]
pub enum Lower {
    /// To operations.
    Operations(fn(&mut Lowering, &[Value]) -> Traced<Value>),
    /// To calls as well: of a function that is an argument, or of the prelude's.
    Calls(fn(&mut dyn Caller, &[Value]) -> Traced<Value>),
}

/// Runs functions while a kernel is lowered. The tracer implements it; a builtin that is lowered to calls receives one.
pub trait Caller {
    /// The lowering, which collects the operations.
    fn lo(&mut self) -> &mut Lowering;

    /// Calls a function, builtin or method.
    fn call(&mut self, callee: &Value, positional: Vec<Value>) -> Traced<Value>;

    /// `value.name`.
    fn get_attribute(&mut self, value: &Value, name: &str) -> Traced<Value>;

    /// A function of the prelude, by the module (`standard`, `random`, …) and name it has there.
    fn find_in_prelude(&mut self, module: &str, name: &str) -> Option<Value>;

    /// Whether a value is a function of the prelude.
    fn is_of_prelude(&self, value: &Value) -> bool;
}

impl Builtin {
    /// One that is lowered to operations.
    pub const fn of_operations(
        signature: &'static str,
        lower: fn(&mut Lowering, &[Value]) -> Traced<Value>,
    ) -> Self {
        Self {
            signature,
            lower: Lower::Operations(lower),
        }
    }

    /// One that is lowered to calls too.
    pub const fn of_calls(
        signature: &'static str,
        lower: fn(&mut dyn Caller, &[Value]) -> Traced<Value>,
    ) -> Self {
        Self {
            signature,
            lower: Lower::Calls(lower),
        }
    }

    /// The canonical name: `tl.load`, `tensor.to`, `range`.
    pub fn name(&self) -> &'static str {
        self.signature.split('(').next().unwrap_or(self.signature)
    }

    /// The name after the last dot: `load`.
    pub fn short_name(&self) -> &'static str {
        self.name().rsplit('.').next().unwrap_or(self.signature)
    }

    /// Whether a call of it has an effect and no value.
    pub fn is_void(&self) -> bool {
        matches!(
            self.name(),
            "tl.store"
                | "tl.device_print"
                | "tl.debug_barrier"
                | "tl.assume"
                | "tl.store_tensor_descriptor"
                | "tensor_descriptor.store"
        )
    }

    /// Whether its first argument is a pointer.
    pub fn takes_pointer(&self) -> bool {
        let name = self.name();
        matches!(name, "tl.load" | "tl.store") || name.starts_with("tl.atomic_")
    }
}

/// Options of `@triton.jit(…)`.
#[derive(Clone, Debug, Default)]
pub struct JitOptions {
    /// Whether calls stay calls; such a function takes no blocks.
    pub noinline: bool,
    /// Whether device asserts are on; `None` if the decorator has no such option.
    pub debug: Option<bool>,
    /// Parameters, by place or name, whose values are never made constants.
    pub do_not_specialize: Vec<Constant>,
    /// Parameters, by place or name, whose alignment is never looked at. The IR here has no alignment, so this decides only
    /// what is accepted.
    pub do_not_specialize_on_alignment: Vec<Constant>,
}

/// Whether a parameter is in a list of places and names.
pub fn is_listed(list: &[Constant], place: usize, name: &str) -> bool {
    list.iter().any(|entry| match entry {
        Constant::Str(entry) => **entry == *name,
        _ => constant::as_int(entry) == Some(place as i128),
    })
}

/// The arguments of `@triton.autotune`.
#[derive(Debug)]
pub struct Autotuner {
    /// Its configurations.
    pub configs: Plain,
    /// The parameters that distinguish its runs.
    pub key: Plain,
    /// `prune_configs_by`.
    pub prune: Plain,
    /// `reset_to_zero`.
    pub reset: Plain,
    /// `pre_hook` and `post_hook`.
    pub hooks: [(&'static str, Plain); 2],
    /// Its location.
    pub span: Span,
}

/// A wrapper around a kernel that adds arguments at launch.
#[derive(Debug)]
pub enum Wrapper {
    /// `@triton.autotune`.
    Autotune(Box<Autotuner>),
    /// `@triton.heuristics`: functions of the arguments, by parameter.
    Heuristics(Rc<Vec<(Plain, Plain)>>),
}

/// A `@triton.jit` function of the user or of the prelude.
#[derive(Debug)]
pub struct UserFunction {
    /// Its name.
    pub name: Rc<str>,
    /// Its text.
    pub def: Rc<ast::StmtFunctionDef>,
    /// The names it sees.
    pub scope: ScopeId,
    /// Defaults of its parameters.
    pub defaults: Vec<(Rc<str>, Plain)>,
    /// The options of its decorator.
    pub options: JitOptions,
    /// Its wrappers, outermost first.
    pub wrappers: Vec<Rc<Wrapper>>,
}

impl UserFunction {
    /// The jitted function of a plain one. (A lambda has no body to compile; it becomes a function without statements.)
    pub fn new(function: &PlainFunction, options: JitOptions) -> Self {
        let def = match &function.body {
            PlainBody::Def(def) => Rc::clone(def),
            PlainBody::Lambda(lambda) => Rc::new(ast::StmtFunctionDef {
                node_index: ast::AtomicNodeIndex::default(),
                range: lambda.range,
                is_async: false,
                decorator_list: Vec::new().into(),
                name: ast::Identifier::new("lambda", lambda.range),
                type_params: None,
                parameters: lambda.parameters.clone().unwrap_or_default(),
                returns: None,
                body: Vec::new().into(),
            }),
        };
        Self {
            name: Rc::clone(&function.name),
            def,
            scope: function.scope,
            defaults: function.defaults.clone(),
            options,
            wrappers: Vec::new(),
        }
    }

    /// Adds an outer wrapper.
    #[must_use]
    pub fn with_wrapper(&self, wrapper: Rc<Wrapper>) -> Self {
        let wrappers = std::iter::once(wrapper)
            .chain(self.wrappers.iter().cloned())
            .collect();
        Self {
            name: Rc::clone(&self.name),
            def: Rc::clone(&self.def),
            scope: self.scope,
            defaults: self.defaults.clone(),
            options: self.options.clone(),
            wrappers,
        }
    }

    /// The default of a parameter.
    pub fn default_of(&self, name: &str) -> Option<&Plain> {
        self.defaults
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| value)
    }
}
