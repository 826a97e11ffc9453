//! Files as modules: loading them, imports, functions and their decorators, and attributes of modules. The prelude is
//! loaded here too. See [`super::statement`] for other statements.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use cerith_python::math;
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Rule;
use cerith_tile::source::{SourceFile, SourceId, Span};
use ruff_python_ast as ast;
use ruff_text_size::Ranged;

use super::class::field_of;
use super::names::{canonicalize_module, is_module};
use super::{Runner, decorator};
use crate::text::{TopLevel, parse, span_of, with_stack};
use cerith_language::builtin::{self, PRELUDE};
use cerith_language::constant::{Constant, TypeValue};
use cerith_language::stop::{Stop, Traced};
use cerith_language::value::Value;
use cerith_language::value::callable::{JitOptions, UserFunction};
use cerith_language::value::plain::{Native, Plain, PlainFunction, ScopeId};

/// A parsed file.
struct ParsedFile {
    file: Arc<SourceFile>,
    body: Rc<Vec<TopLevel>>,
}

thread_local! {
    /// The prelude's modules, by name: every trace uses the same ones.
    static PARSED_PRELUDE: RefCell<HashMap<&'static str, Rc<ParsedFile>>> = RefCell::new(HashMap::new());
    /// Files of late.
    static PARSED: RefCell<Vec<ParsedFile>> = const { RefCell::new(Vec::new()) };
}

/// The number of parsed files that a thread keeps. A kernel is traced repeatedly, with other arguments and other quirks.
const MAX_PARSED_FILES: usize = 8;

/// Parses a file, or finds it among those of late.
fn parse_cached(source: SourceId, file: &Arc<SourceFile>) -> Result<Rc<Vec<TopLevel>>, Box<Diagnostic>> {
    let found = PARSED.with_borrow(|files| {
        let same = files.iter().find(|kept| Arc::ptr_eq(&kept.file, file));
        same.map(|kept| Rc::clone(&kept.body))
    });
    if let Some(body) = found {
        return Ok(body);
    }
    let body = Rc::new(with_stack(|| parse(source, &file.text))?);
    PARSED.with_borrow_mut(|files| {
        if files.len() >= MAX_PARSED_FILES {
            files.remove(0);
        }
        files.push(ParsedFile {
            file: Arc::clone(file),
            body: Rc::clone(&body),
        });
    });
    Ok(body)
}

/// Methods of strings that module-level code calls.
const STRING_METHODS: [&str; 7] = ["format", "join", "lower", "replace", "split", "strip", "upper"];

impl Runner<'_, '_> {
    /// Parses and runs a file as a module.
    pub fn load(&mut self, module: &str, file: &Arc<SourceFile>) -> Traced<ScopeId> {
        let source = self.lo.builder.sources().add(Arc::clone(file));
        let body = parse_cached(source, file).map_err(|diagnostic| {
            if diagnostic.code == "exhausted" {
                Stop::Exhausted(diagnostic)
            } else {
                Stop::Rejected(diagnostic)
            }
        })?;
        self.run_module(module, source, &body)
    }

    fn run_module(&mut self, module: &str, source: SourceId, body: &[TopLevel]) -> Traced<ScopeId> {
        let scope = self.modules.new_scope(None, source, module);
        self.modules.by_name.insert(module.into(), scope);
        for statement in body {
            match statement {
                TopLevel::Function(def) => {
                    let function = self.define(scope, def)?;
                    self.modules.bind(scope, def.name.as_str(), function);
                }
                TopLevel::Other(statement) => {
                    // A diagnostic about the statement as a whole, for example that it takes too long, points here.
                    let before = std::mem::replace(&mut self.lo.span, span_of(source, statement.range()));
                    self.run_statement(scope, statement)?;
                    self.lo.span = before;
                }
            }
        }
        Ok(scope)
    }

    /// A function of the prelude, by the module (`standard`, `random`, …) and name it has there.
    pub fn find_in_prelude(&mut self, module: &str, name: &str) -> Option<Value> {
        let key = format!("triton prelude/{module}");
        let scope = match self.modules.by_name.get(key.as_str()) {
            Some(&scope) => scope,
            None => self.load_prelude(module, &key)?,
        };
        match self.modules.scopes.get(scope)?.names.get(name)? {
            Plain::Jit(function) => Some(Value::Function(Rc::clone(function))),
            Plain::Constexpr(value) => Some((**value).clone()),
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
            let parsed = Rc::new(ParsedFile { file, body });
            cache.insert(name, Rc::clone(&parsed));
            Some(parsed)
        })?;
        let source = self.lo.builder.sources().add(Arc::clone(&parsed.file));
        self.lo.library.insert(source);
        self.run_module(key, source, &parsed.body).ok()
    }

    /// Makes the value of a `def`: a kernel, or a plain Python function.
    pub(super) fn define(&mut self, scope: ScopeId, def: &Rc<ast::StmtFunctionDef>) -> Traced<Plain> {
        let source = self.modules.source_of(scope);
        let defaults = self.eval_defaults(scope, &def.parameters)?;
        let mut value = Plain::Function(Rc::new(PlainFunction::from_def(Rc::clone(def), scope, defaults)));
        for decorator in def.decorator_list.iter().rev() {
            let span = span_of(source, decorator.range());
            let applied = self.eval_expression(scope, &decorator.expression)?;
            value = self.decorate(value, applied, span)?;
        }
        Ok(value)
    }

    pub(super) fn eval_defaults(
        &mut self,
        scope: ScopeId,
        parameters: &ast::Parameters,
    ) -> Traced<Vec<(Rc<str>, Plain)>> {
        let mut defaults = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default() {
                let value = self.eval_expression(scope, default)?;
                defaults.push((parameter.name().as_str().into(), value));
            }
        }
        Ok(defaults)
    }

    fn decorate(&mut self, value: Plain, decorator: Plain, span: Span) -> Traced<Plain> {
        Ok(match (decorator, value) {
            (_, unknown @ Plain::Unknown(_)) => unknown,
            (Plain::Symbol(module, name), value) => match (Native::find(&module, &name), value) {
                (Some(Native::Jit), Plain::Function(function)) => {
                    Plain::Jit(Rc::new(UserFunction::new(&function, JitOptions::default())))
                }
                (Some(Native::ConstexprFunction), Plain::Function(function)) => {
                    if !self.lo.rules.holds(Rule::ConstexprFunctions)
                        && !self.lo.library.contains(&span.source)
                    {
                        return Err(decorator::reject_unknown_name(self.lo, &name, span));
                    }
                    Plain::ConstexprFunction(function)
                }
                (Some(Native::Constexpr), function @ Plain::Function(_)) => {
                    decorator::wrap_in_constexpr(Some(&function))
                }
                (None, _)
                    if &*module == "tl" && builtin::find_symbol(self.lo.rules, &module, &name).is_none() =>
                {
                    self.lo.span = span;
                    return Err(self.lo.reject_with(
                        "unknown-attribute",
                        format!("the module `triton.language` has no attribute `{name}`"),
                    ));
                }
                _ => Plain::new_unknown(span, format!("the result of the decorator `{name}`")),
            },
            (Plain::Decorator(decorator), value) => {
                decorator::apply_decorator(&decorator, Some(&value), span)
            }
            _ => Plain::new_unknown(span, "the result of the decorator"),
        })
    }

    /// `import a.b as c`, `import a.b`.
    pub(super) fn import(&mut self, scope: ScopeId, statement: &ast::StmtImport) -> Traced<()> {
        for alias in &statement.names {
            let path = alias.name.as_str();
            if let Some(asname) = &alias.asname {
                let module = self.import_module(path)?;
                self.modules.bind(scope, asname.as_str(), module);
            } else {
                let root = path.split('.').next().unwrap_or(path);
                let module = self.import_module(root)?;
                self.modules.bind(scope, root, module);
            }
        }
        Ok(())
    }

    /// `from a.b import c as d`.
    pub(super) fn import_from(&mut self, scope: ScopeId, statement: &ast::StmtImportFrom) -> Traced<()> {
        let source = self.modules.source_of(scope);
        let path = statement.module.as_ref().map_or("", |module| module.as_str());
        for alias in &statement.names {
            let name = alias.name.as_str();
            let bound = alias.asname.as_ref().map_or(name, |asname| asname.as_str());
            let value = if path.is_empty() {
                self.import_module(name)?
            } else {
                let module = self.import_module(path)?;
                if name == "*" {
                    self.import_star(scope, &module);
                    continue;
                }
                self.get_attribute(&module, name, span_of(source, alias.range()))
            };
            self.modules.bind(scope, bound, value);
        }
        Ok(())
    }

    fn import_star(&mut self, scope: ScopeId, module: &Plain) {
        if let Plain::File(from) = module {
            let names: Vec<(Rc<str>, Plain)> = self.modules.scopes.get(*from).map_or_else(Vec::new, |from| {
                let public = from.names.iter().filter(|(name, _)| !name.starts_with('_'));
                public
                    .map(|(name, value)| (Rc::clone(name), value.clone()))
                    .collect()
            });
            for (name, value) in names {
                self.modules.bind(scope, &name, value);
            }
        }
    }

    /// Resolves an import of `path`: one of the request's files, or a module known by name.
    fn import_module(&mut self, path: &str) -> Traced<Plain> {
        if let Some(&scope) = self.modules.by_name.get(path) {
            return Ok(Plain::File(scope));
        }
        let request = self.modules.request;
        if let Some((name, file)) = request.modules.iter().find(|(name, _)| name == path) {
            return self.load(name, file).map(Plain::File);
        }
        Ok(Plain::Module(canonicalize_module(path).into()))
    }

    /// `value.name` at module level.
    pub(super) fn get_attribute(&mut self, value: &Plain, name: &str, span: Span) -> Plain {
        match value {
            Plain::File(scope) => match self
                .modules
                .scopes
                .get(*scope)
                .and_then(|scope| scope.names.get(name))
            {
                Some(value) => value.clone(),
                None => Plain::new_unknown(span, format!("the name `{name}`, which its module lacks")),
            },
            Plain::Module(module) if &**module == "triton" && name == "__version__" => {
                Plain::from_text(&self.lo.rules.version.to_string())
            }
            Plain::Module(module) if &**module == "math" && math::find_constant(name).is_some() => {
                Plain::Constant(Constant::Float(math::find_constant(name).unwrap_or_default()))
            }
            Plain::Module(module) => {
                let path = format!("{module}.{name}");
                if let Some(&scope) = self.modules.by_name.get(path.as_str()) {
                    return Plain::File(scope);
                }
                if is_module(&path) {
                    Plain::Module(canonicalize_module(&path).into())
                } else {
                    Plain::new_symbol(module, name)
                }
            }
            Plain::Constexpr(inner) if name == "value" => Plain::from_value(inner),
            Plain::Config(config) => match name {
                "kwargs" => Plain::Dict(Rc::new(
                    config
                        .kwargs
                        .iter()
                        .map(|(k, v)| (Plain::from_text(k), v.clone()))
                        .collect(),
                )),
                _ => match config.options.iter().find(|(key, _)| &**key == name) {
                    Some((_, value)) => value.clone(),
                    None => Plain::new_unknown(span, format!("the attribute `{name}`")),
                },
            },
            Plain::Named(fields, items) => match fields.iter().position(|field| &**field == name) {
                Some(at) => items.get(at).cloned().unwrap_or(Plain::NONE),
                None => Plain::new_unknown(span, format!("the attribute `{name}`")),
            },
            Plain::Enum(class) => match class.members.iter().find(|(member, _)| &**member == name) {
                Some((member, value)) => {
                    Plain::Member(Rc::clone(class), Rc::clone(member), Box::new(value.clone()))
                }
                None => Plain::new_unknown(span, format!("the attribute `{name}`")),
            },
            Plain::Member(_, _, value) if name == "value" => (**value).clone(),
            Plain::Member(_, member, _) if name == "name" => Plain::from_text(member),
            Plain::Constant(Constant::Str(_)) if STRING_METHODS.contains(&name) => {
                Plain::Bound(Rc::new(value.clone()), name.into())
            }
            Plain::Traced(Value::Aggregate(instance)) => field_of(instance, name, span),
            Plain::Tensor(elem) if name == "dtype" => match elem.num().and_then(DType::torch_name) {
                Some(dtype) => Plain::Symbol("torch".into(), dtype.into()),
                None => Plain::new_unknown(span, "the dtype of a tensor"),
            },
            Plain::Constant(Constant::Type(ty)) => self.attribute_of_type(ty, name, span),
            Plain::Symbol(module, symbol) if &**module == "tl" => {
                match builtin::find_symbol(self.lo.rules, module, symbol) {
                    Some(Value::Constant(Constant::Type(ty))) => self.attribute_of_type(&ty, name, span),
                    _ => Plain::new_unknown(span, format!("the attribute `{name}`")),
                }
            }
            Plain::Unknown(_) => value.clone(),
            _ => Plain::new_unknown(span, format!("the attribute `{name}`")),
        }
    }

    /// `dtype.name`: what a dtype says, or a question that it answers when it is called.
    fn attribute_of_type(&mut self, ty: &TypeValue, name: &str, span: Span) -> Plain {
        match builtin::types::type_attribute(self.lo, ty, name) {
            Ok(Value::Constant(value)) => Plain::Constant(value),
            Ok(value @ Value::Method(..)) => Plain::Traced(value),
            _ => Plain::new_unknown(span, format!("the attribute `{name}`")),
        }
    }
}
