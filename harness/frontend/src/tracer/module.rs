//! Files and their module-level code: what each global name is, as far as kernels need to know.
//!
//! Module-level code is plain Python and runs in full where it is simple (constants, arithmetic, conditions,
//! factories, configurations); whatever is not known becomes [`Host::Unknown`] and is an error only where a kernel
//! uses it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use cerith_tile::rules::Rule;
use cerith_tile::source::{SourceFile, SourceId, Span};
use ruff_python_ast::{self as ast};
use ruff_text_size::Ranged;

use super::Tracer;
use crate::builtin::PRELUDE;
use crate::constant;
use crate::stop::{Stop, Traced};
use crate::text::{TopLevel, parse, span_of, with_stack};
use crate::value::Value;
use crate::value::callable::{JitOptions, UserFunction};
use crate::value::host::{Decorator, Host, HostFunction, Native, ScopeId};

/// A name table: of a module, or of one call of a function that defines kernels.
#[derive(Debug)]
pub(crate) struct Scope {
    /// What the names are.
    pub names: HashMap<Rc<str>, Host>,
    /// Names that were annotated `: tl.constexpr`.
    pub annotated: HashSet<Rc<str>>,
    /// The scope around.
    pub parent: Option<ScopeId>,
    /// The file.
    pub source: SourceId,
    /// The module's name.
    pub module: Rc<str>,
}

/// A parsed module of the prelude, kept for the thread: every trace uses the same one.
struct PreludeModule {
    file: Arc<SourceFile>,
    body: Rc<Vec<TopLevel>>,
}

thread_local! {
    static PARSED_PRELUDE: RefCell<HashMap<&'static str, Rc<PreludeModule>>> = RefCell::new(HashMap::new());
}

impl Tracer<'_> {
    /// Parses and runs a file as a module.
    pub(super) fn load(&mut self, module: &str, file: &Arc<SourceFile>) -> Traced<ScopeId> {
        let source = self.lo.builder.sources().add(Arc::clone(file));
        let body = with_stack(|| parse(source, &file.text)).map_err(|diagnostic| {
            if diagnostic.code == "exhausted" {
                Stop::Exhausted(diagnostic)
            } else {
                Stop::Rejected(diagnostic)
            }
        })?;
        self.run_module(module, source, &body)
    }

    fn run_module(&mut self, module: &str, source: SourceId, body: &[TopLevel]) -> Traced<ScopeId> {
        let scope = self.new_scope(None, source, module);
        self.modules.insert(module.into(), scope);
        for statement in body {
            match statement {
                TopLevel::Function(def) => {
                    let function = self.define(scope, def)?;
                    self.bind(scope, def.name.as_str(), function);
                }
                TopLevel::Other(statement) => {
                    // What is told of the statement as a whole, that it takes too long say, is told of this place.
                    let before = std::mem::replace(&mut self.lo.span, span_of(source, statement.range()));
                    self.host_statement(scope, statement)?;
                    self.lo.span = before;
                }
            }
        }
        Ok(scope)
    }

    /// A function of the prelude, by the module (`standard`, `random`, …) and name it has there.
    pub fn prelude(&mut self, module: &str, name: &str) -> Option<Value> {
        let key = format!("triton prelude/{module}");
        let scope = match self.modules.get(key.as_str()) {
            Some(&scope) => scope,
            None => self.load_prelude(module, &key)?,
        };
        match self.scopes.get(scope)?.names.get(name)? {
            Host::Jit(function) => Some(Value::Function(Rc::clone(function))),
            Host::Constexpr(value) => Some((**value).clone()),
            _ => None,
        }
    }

    fn load_prelude(&mut self, module: &str, key: &str) -> Option<ScopeId> {
        let &(name, text) = PRELUDE.iter().find(|(name, _)| *name == module)?;
        let parsed = PARSED_PRELUDE.with_borrow_mut(|cache| {
            if let Some(parsed) = cache.get(name) {
                return Some(Rc::clone(parsed));
            }
            let file = Arc::new(SourceFile::new(format!("triton/language/{name}.py"), text));
            let body = Rc::new(parse(SourceId::default(), text).ok()?);
            let parsed = Rc::new(PreludeModule { file, body });
            cache.insert(name, Rc::clone(&parsed));
            Some(parsed)
        })?;
        let source = self.lo.builder.sources().add(Arc::clone(&parsed.file));
        self.lo.library.insert(source);
        self.run_module(key, source, &parsed.body).ok()
    }

    pub(super) fn new_scope(&mut self, parent: Option<ScopeId>, source: SourceId, module: &str) -> ScopeId {
        self.scopes.push(Scope {
            names: HashMap::new(),
            annotated: HashSet::new(),
            parent,
            source,
            module: module.into(),
        });
        self.scopes.len() - 1
    }

    pub(super) fn bind(&mut self, scope: ScopeId, name: &str, value: Host) {
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.names.insert(name.into(), value);
        }
    }

    pub(super) fn source_of(&self, scope: ScopeId) -> SourceId {
        self.scopes
            .get(scope)
            .map_or_else(SourceId::default, |scope| scope.source)
    }

    /// A name as code in `scope` sees it, Python's built-in names left out. Also says whether the name was annotated
    /// as `constexpr` where it is bound.
    pub(super) fn global(&self, mut scope: ScopeId, name: &str) -> Option<(&Host, bool)> {
        loop {
            let here = self.scopes.get(scope)?;
            if let Some(value) = here.names.get(name) {
                return Some((value, here.annotated.contains(name)));
            }
            scope = here.parent?;
        }
    }

    /// Makes the value of a `def`: a kernel, or a plain Python function.
    pub(super) fn define(&mut self, scope: ScopeId, def: &Rc<ast::StmtFunctionDef>) -> Traced<Host> {
        let source = self.source_of(scope);
        let defaults = self.defaults(scope, &def.parameters)?;
        let mut value = Host::Function(Rc::new(HostFunction::from_def(Rc::clone(def), scope, defaults)));
        for decorator in def.decorator_list.iter().rev() {
            let span = span_of(source, decorator.range());
            let applied = self.host_expression(scope, &decorator.expression)?;
            value = self.decorate(value, applied, span)?;
        }
        Ok(value)
    }

    pub(super) fn defaults(
        &mut self,
        scope: ScopeId,
        parameters: &ast::Parameters,
    ) -> Traced<Vec<(Rc<str>, Host)>> {
        let mut defaults = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                let value = self.host_expression(scope, default)?;
                defaults.push((parameter.name().as_str().into(), value));
            }
        }
        Ok(defaults)
    }

    fn decorate(&mut self, value: Host, decorator: Host, span: Span) -> Traced<Host> {
        Ok(match (decorator, value) {
            (_, unknown @ Host::Unknown(_)) => unknown,
            (Host::Symbol(module, name), value) => match (Native::find(&module, &name), value) {
                (Some(Native::Jit), Host::Function(function)) => {
                    Host::Jit(Rc::new(UserFunction::new(&function, JitOptions::default())))
                }
                (Some(Native::ConstexprFunction), Host::Function(function)) => {
                    if !self.lo.rules.holds(Rule::ConstexprFunctions)
                        && !self.lo.library.contains(&span.source)
                    {
                        return Err(super::decorator::absent(self, &name, span));
                    }
                    Host::ConstexprFunction(function)
                }
                (None, _) if &*module == "tl" && self.symbol(&module, &name).is_none() => {
                    self.lo.span = span;
                    return Err(self.lo.reject_with(
                        "unknown-attribute",
                        format!("the module `triton.language` has no attribute `{name}`"),
                    ));
                }
                _ => Host::unknown(span, format!("what the decorator `{name}` makes of it")),
            },
            (Host::Decorator(decorator), value) => match (&*decorator, value) {
                (Decorator::Jit(options), Host::Function(function)) => {
                    Host::Jit(Rc::new(UserFunction::new(&function, options.clone())))
                }
                (Decorator::Wrap(wrapper), Host::Jit(function)) => {
                    Host::Jit(Rc::new(function.wrapped(Rc::clone(wrapper))))
                }
                _ => Host::unknown(span, "what the decorator makes of it"),
            },
            _ => Host::unknown(span, "what the decorator makes of it"),
        })
    }

    /// `import a.b as c`, `import a.b`.
    pub(super) fn import(&mut self, scope: ScopeId, statement: &ast::StmtImport) -> Traced<()> {
        for alias in &statement.names {
            let path = alias.name.as_str();
            if let Some(asname) = &alias.asname {
                let module = self.module(path)?;
                self.bind(scope, asname.as_str(), module);
            } else {
                let root = path.split('.').next().unwrap_or(path);
                let module = self.module(root)?;
                self.bind(scope, root, module);
            }
        }
        Ok(())
    }

    /// `from a.b import c as d`.
    pub(super) fn import_from(&mut self, scope: ScopeId, statement: &ast::StmtImportFrom) -> Traced<()> {
        let source = self.source_of(scope);
        let path = statement.module.as_ref().map_or("", |module| module.as_str());
        for alias in &statement.names {
            let name = alias.name.as_str();
            let bound = alias.asname.as_ref().map_or(name, |asname| asname.as_str());
            let value = if path.is_empty() {
                self.module(name)?
            } else {
                let module = self.module(path)?;
                if name == "*" {
                    self.import_star(scope, &module);
                    continue;
                }
                self.host_attribute(&module, name, span_of(source, alias.range()))
            };
            self.bind(scope, bound, value);
        }
        Ok(())
    }

    fn import_star(&mut self, scope: ScopeId, module: &Host) {
        if let Host::File(from) = module {
            let names: Vec<(Rc<str>, Host)> = self.scopes.get(*from).map_or_else(Vec::new, |from| {
                let public = from.names.iter().filter(|(name, _)| !name.starts_with('_'));
                public
                    .map(|(name, value)| (Rc::clone(name), value.clone()))
                    .collect()
            });
            for (name, value) in names {
                self.bind(scope, &name, value);
            }
        }
    }

    /// The module that an import of `path` gives: one of the request's files, or one known by name.
    fn module(&mut self, path: &str) -> Traced<Host> {
        if let Some(&scope) = self.modules.get(path) {
            return Ok(Host::File(scope));
        }
        let request = self.request;
        if let Some((name, file)) = request.modules.iter().find(|(name, _)| name == path) {
            return self.load(name, file).map(Host::File);
        }
        Ok(Host::Module(canonical(path).into()))
    }

    /// `value.name` at module level.
    pub(super) fn host_attribute(&mut self, value: &Host, name: &str, span: Span) -> Host {
        match value {
            Host::File(scope) => match self.scopes.get(*scope).and_then(|scope| scope.names.get(name)) {
                Some(value) => value.clone(),
                None => Host::unknown(span, format!("the name `{name}`, which its module lacks")),
            },
            Host::Module(module) if &**module == "triton" && name == "__version__" => {
                Host::str(&self.lo.rules.version.to_string())
            }
            Host::Module(module) => {
                let path = format!("{module}.{name}");
                if let Some(&scope) = self.modules.get(path.as_str()) {
                    return Host::File(scope);
                }
                if is_module(&path) {
                    Host::Module(canonical(&path).into())
                } else {
                    Host::symbol(module, name)
                }
            }
            Host::Constexpr(inner) if name == "value" => Host::from_value(inner),
            Host::Config(config) => match name {
                "kwargs" => Host::Dict(Rc::new(
                    config
                        .kwargs
                        .iter()
                        .map(|(k, v)| (Host::str(k), v.clone()))
                        .collect(),
                )),
                _ => match config.options.iter().find(|(key, _)| &**key == name) {
                    Some((_, value)) => value.clone(),
                    None => Host::unknown(span, format!("the attribute `{name}`")),
                },
            },
            Host::Named(fields, items) => match fields.iter().position(|field| &**field == name) {
                Some(at) => items.get(at).cloned().unwrap_or(Host::NONE),
                None => Host::unknown(span, format!("the attribute `{name}`")),
            },
            Host::Traced(Value::Aggregate(instance)) => super::aggregate::host_field(instance, name, span),
            Host::Unknown(_) => value.clone(),
            _ => Host::unknown(span, format!("the attribute `{name}`")),
        }
    }
}

/// The name a module goes by in tables: `tl` for `triton.language`.
fn canonical(path: &str) -> String {
    let path = match path.strip_prefix("triton.language") {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("tl{rest}"),
        _ => path.to_owned(),
    };
    match path.as_str() {
        "tl.core" => "tl".to_owned(),
        "tl.extra.cuda.libdevice" | "tl.extra.libdevice" | "tl.libdevice" | "tl.extra.hip.libdevice" => {
            "tl.extra.libdevice".to_owned()
        }
        _ => path,
    }
}

/// Whether nothing is known of what a module holds, kernels maybe: it is neither Triton's nor one of those that hold Python's
/// plain values.
pub(super) fn is_foreign(path: &str) -> bool {
    let root = path.split('.').next().unwrap_or_default();
    !matches!(
        root,
        "tl" | "triton"
            | "torch"
            | "numpy"
            | "builtins"
            | "collections"
            | "dataclasses"
            | "enum"
            | "functools"
            | "itertools"
            | "math"
            | "operator"
            | "os"
            | "random"
            | "string"
            | "struct"
            | "sys"
            | "time"
            | "typing"
    )
}

/// Whether an attribute of a module is a module too.
pub(super) fn is_module(path: &str) -> bool {
    matches!(
        path,
        "triton.language"
            | "triton.testing"
            | "triton.runtime"
            | "triton.runtime.autotuner"
            | "triton.runtime.jit"
            | "triton.compiler"
            | "triton.tools"
            | "tl.math"
            | "tl.random"
            | "tl.standard"
            | "tl.core"
            | "tl.extra"
            | "tl.extra.cuda"
            | "tl.extra.cuda.libdevice"
            | "tl.extra.hip"
            | "tl.extra.hip.libdevice"
            | "tl.extra.libdevice"
            | "torch.nn"
            | "torch.cuda"
            | "os.path"
    )
}

/// The canonical name of the module that is the attribute `name` of `module`, if it is one.
pub(super) fn submodule(module: &str, name: &str) -> Option<Rc<str>> {
    let path = format!("{module}.{name}");
    is_module(&path).then(|| canonical(&path).into())
}

/// How to make a plain global one that kernels may use.
pub(super) fn mend(name: &str, value: &Host) -> Option<String> {
    match value {
        Host::Constant(value) => Some(format!(
            "make it `{name} = tl.constexpr({})`",
            constant::repr(value)
        )),
        Host::Tuple(_) | Host::List(_) => Some(format!("make it `{name} = tl.constexpr(…)`")),
        Host::Class(class) => Some(format!(
            "take what the kernel needs out of the class `{class}`, as a `tl.constexpr` of its own"
        )),
        Host::Function(_) => Some(format!("decorate `{name}` with `@triton.jit`")),
        _ => None,
    }
}
