//! Reads a Python module: its functions with their signatures and decorators, and its imports. Inside of functions,
//! only nested functions are read; see `cerith-frontend` for the rest.

use std::collections::HashMap;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, PySourceType, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::excerpt::{is_gluon, is_jit, is_static_kernel};
use crate::kernel::{Function, Parameter, ParameterKind};
use crate::piece::{Piece, read_pieces};

/// Longer files are refused: a kernel is written by hand.
const MAX_BYTES: usize = 256 * 1024;

/// Expressions and statements may nest this deep. Python's own compiler gives up at a similar depth.
const MAX_DEPTH: usize = 400;

/// Stack for the parser, the walk and the drop of the deepest tree that a byte of text can add to.
const STACK_OF_BYTE: usize = 1024;

/// Stack that any text may take.
const STACK: usize = 256 * 1024;

/// How many syntax errors of one file are shown.
const MAX_SYNTAX_ERRORS: usize = 5;

/// The functions and imports that [`parse`] finds in a module.
#[derive(Debug, Default)]
pub struct Contents {
    /// As [`crate::kernel::Module::functions`].
    pub functions: Vec<Function>,
    /// As [`crate::kernel::Module::pieces`].
    pub pieces: Vec<Piece>,
    /// The absolute names that are imported: `helpers`, `package.module`.
    pub imports: Vec<String>,
}

/// The body of a function by its dotted name; the last one of the name, as in Python.
pub fn body_of<'a>(body: &'a [Stmt], name: &str) -> Option<&'a [Stmt]> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(a, b)| (a, Some(b)));
    let found = body.iter().rev().find_map(|stmt| match stmt {
        Stmt::FunctionDef(def) if def.name.as_str() == first => Some(&def.body[..]),
        Stmt::ClassDef(def) if def.name.as_str() == first && rest.is_some() => Some(&def.body[..]),
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) => None,
        _ => {
            let mut found = None;
            crate::excerpt::visit_bodies(stmt, &mut |body| found = body_of(body, first).or(found));
            found
        }
    })?;
    rest.map_or(Some(found), |rest| body_of(found, rest))
}

/// Reads a module, or returns all errors in its syntax.
pub fn parse(source: SourceId, text: &str) -> Result<Contents, Vec<Diagnostic>> {
    let whole = Span::new(source, 0, 0);
    if text.len() > MAX_BYTES {
        let message = format!("kernel file of {} bytes, more than {MAX_BYTES}", text.len());
        return Err(vec![Diagnostic::error("kernel-syntax", whole, message)]);
    }
    with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        if !parsed.errors().is_empty() {
            let mut errors: Vec<_> = parsed.errors().iter().collect();
            errors.sort_by_key(|error| error.location.start());
            return Err(errors
                .into_iter()
                .take(MAX_SYNTAX_ERRORS)
                .map(|error| {
                    let message = format!(
                        "syntax error in a kernel file: {}",
                        lower_first(&error.error.to_string())
                    );
                    Diagnostic::error("kernel-syntax", to_span(source, error.location), message)
                        .help("fix the syntax error; Cerith only parses this file")
                })
                .collect());
        }
        let module = parsed.syntax();
        let mut depth = Depth {
            level: 0,
            deepest: None,
        };
        depth.visit_body(&module.body);
        if let Some(range) = depth.deepest {
            let message = format!("Python nested more than {MAX_DEPTH} levels deep");
            return Err(vec![Diagnostic::error(
                "kernel-syntax",
                to_span(source, range),
                message,
            )]);
        }
        let mut walk = Walk {
            source,
            text,
            prefix: String::new(),
            returned: HashMap::new(),
            contents: Contents::default(),
        };
        walk.read_body(&module.body);
        let mut contents = walk.contents;
        contents.pieces = read_pieces(&module.body);
        contents.imports.sort();
        contents.imports.dedup();
        Ok(contents)
    })
}

/// Does something to the tree of this text, with stack enough. A new stack costs more than a small kernel's text takes to
/// read, so there is one only where the thread's own may be too small.
pub fn with_stack<T>(text: &str, work: impl FnOnce() -> T) -> T {
    with_stack_of(text.len(), work)
}

/// As [`with_stack`], for a text of so many bytes.
pub fn with_stack_of<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let needed = STACK + STACK_OF_BYTE * bytes;
    stacker::maybe_grow(needed, needed, work)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn to_span(source: SourceId, range: TextRange) -> Span {
    Span::new(source, range.start().to_u32(), range.end().to_u32())
}

/// Finds the first place that is nested too deeply.
struct Depth {
    level: usize,
    deepest: Option<TextRange>,
}

impl<'a> Visitor<'a> for Depth {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.level += 1;
        if self.level > MAX_DEPTH {
            self.deepest.get_or_insert(stmt.range());
        } else {
            walk_stmt(self, stmt);
        }
        self.level -= 1;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.level += 1;
        if self.level > MAX_DEPTH {
            self.deepest.get_or_insert(expr.range());
        } else {
            walk_expr(self, expr);
        }
        self.level -= 1;
    }
}

struct Walk<'a> {
    source: SourceId,
    text: &'a str,
    /// `outer.` inside of the function `outer`.
    prefix: String,
    /// The kernel that a function defines and returns, by the function.
    returned: HashMap<String, String>,
    contents: Contents,
}

impl Walk<'_> {
    fn read_body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.read_statement(stmt);
        }
    }

    fn read_statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => self.read_function(def),
            Stmt::ClassDef(def) => self.read_class(def),
            Stmt::Import(import) => {
                self.contents
                    .imports
                    .extend(import.names.iter().map(|alias| alias.name.to_string()));
            }
            Stmt::ImportFrom(ast::StmtImportFrom {
                module: Some(module),
                names,
                level: 0,
                ..
            }) => {
                self.contents.imports.push(module.to_string());
                self.contents
                    .imports
                    .extend(names.iter().map(|alias| format!("{module}.{}", alias.name)));
            }
            Stmt::If(branch) => {
                self.read_body(&branch.body);
                for clause in &branch.elif_else_clauses {
                    self.read_body(&clause.body);
                }
            }
            Stmt::Try(attempt) => {
                self.read_body(&attempt.body);
                for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    self.read_body(&handler.body);
                }
                self.read_body(&attempt.orelse);
                self.read_body(&attempt.finalbody);
            }
            Stmt::With(with) => self.read_body(&with.body),
            Stmt::Assign(assign) => self.assign(assign),
            Stmt::Return(ast::StmtReturn {
                value: Some(value), ..
            }) => self.read_return(value),
            _ => {}
        }
    }

    /// `name = triton.jit(function)` makes a kernel as the decorator would, and `name = make(…)` names the kernel that
    /// `make` defines and returns.
    fn assign(&mut self, assign: &ast::StmtAssign) {
        let ([Expr::Name(target)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else {
            return;
        };
        let jit = last_name(&call.func) == Some("jit");
        let named = match (jit, &*call.func, call.arguments.args.first()) {
            (true, _, Some(Expr::Name(wrapped))) => self.find_in_scope(&wrapped.id),
            (false, Expr::Name(factory), _) => {
                let factory = format!("{}{}", self.prefix, factory.id);
                let returned = self.returned.get(&factory);
                returned.and_then(|kernel| self.function_named(kernel))
            }
            _ => None,
        };
        let Some(mut function) = named.cloned() else {
            return;
        };
        function.name = format!("{}{}", self.prefix, target.id);
        function.jit |= jit;
        self.add(function);
    }

    /// `return kernel` in a function that defines it.
    fn read_return(&mut self, value: &Expr) {
        let (Expr::Name(name), Some(factory)) = (value, self.prefix.strip_suffix('.')) else {
            return;
        };
        if let Some(function) = self.find_in_scope(&name.id).filter(|function| function.jit) {
            let kernel = function.name.clone();
            self.returned.insert(factory.to_owned(), kernel);
        }
    }

    /// The function that a name means here, at the level of the statement.
    fn find_in_scope(&self, name: &str) -> Option<&Function> {
        self.function_named(&format!("{}{name}", self.prefix))
    }

    fn function_named(&self, name: &str) -> Option<&Function> {
        self.contents
            .functions
            .iter()
            .find(|function| function.name == name)
    }

    /// Reads the kernels that are static methods of a class.
    fn read_class(&mut self, def: &ast::StmtClassDef) {
        let outer = format!("{}{}.", self.prefix, def.name);
        let outer = std::mem::replace(&mut self.prefix, outer);
        for stmt in &def.body {
            if let Stmt::FunctionDef(method) = stmt
                && is_static_kernel(method)
            {
                self.read_function(method);
            }
        }
        self.prefix = outer;
    }

    fn read_function(&mut self, def: &ast::StmtFunctionDef) {
        let name = format!("{}{}", self.prefix, def.name);
        let mut function = Function {
            name: name.clone(),
            span: to_span(self.source, def.name.range()),
            parameters: self.read_parameters(&def.parameters),
            jit: false,
            autotune: false,
            heuristics: false,
            given_by_decorators: Vec::new(),
            decorators_are_literal: true,
        };
        for decorator in &def.decorator_list {
            let (callee, call) = match &decorator.expression {
                Expr::Call(call) => (&*call.func, Some(call)),
                other => (other, None),
            };
            match last_name(callee) {
                Some("jit") => function.jit = is_jit(callee) || is_gluon(callee),
                Some("autotune") => {
                    function.autotune = true;
                    let configs = call.and_then(|call| call.arguments.find_argument_value("configs", 0));
                    Self::read_given_parameters(&mut function, configs, true);
                }
                Some("heuristics") => {
                    function.heuristics = true;
                    let values = call.and_then(|call| call.arguments.find_argument_value("values", 0));
                    Self::read_given_parameters(&mut function, values, false);
                }
                _ => {}
            }
        }
        self.add(function);
        self.returned.remove(&name);
        let outer = std::mem::replace(&mut self.prefix, format!("{name}."));
        self.read_body(&def.body);
        self.prefix = outer;
    }

    /// A later definition of a name takes the earlier one's place, as in Python.
    fn add(&mut self, function: Function) {
        self.contents
            .functions
            .retain(|earlier| earlier.name != function.name);
        self.contents.functions.push(function);
    }

    /// Notes the parameters that the `Config({…})`s of an autotuner, or the dict of heuristics, give.
    fn read_given_parameters(function: &mut Function, value: Option<&Expr>, configs: bool) {
        let mut keys = Keys {
            in_config: !configs,
            names: Vec::new(),
            has_dict: false,
        };
        if let Some(value) = value {
            keys.visit_expr(value);
        }
        function.decorators_are_literal &= keys.has_dict && !matches!(value, Some(Expr::Name(_)));
        function.given_by_decorators.extend(keys.names);
        function.given_by_decorators.sort();
        function.given_by_decorators.dedup();
    }

    fn read_parameters(&self, parameters: &ast::Parameters) -> Vec<Parameter> {
        let plain = |parameter: &ast::ParameterWithDefault, kind| {
            self.read_parameter(&parameter.parameter, kind, parameter.default.as_deref())
        };
        let variadic = |parameter: &Option<Box<ast::Parameter>>, kind| {
            parameter
                .as_deref()
                .map(|parameter| self.read_parameter(parameter, kind, None))
        };
        (parameters
            .posonlyargs
            .iter()
            .map(|p| plain(p, ParameterKind::PositionalOnly)))
        .chain(
            parameters
                .args
                .iter()
                .map(|p| plain(p, ParameterKind::PositionalOrKeyword)),
        )
        .chain(variadic(&parameters.vararg, ParameterKind::VarPositional))
        .chain(
            parameters
                .kwonlyargs
                .iter()
                .map(|p| plain(p, ParameterKind::KeywordOnly)),
        )
        .chain(variadic(&parameters.kwarg, ParameterKind::VarKeyword))
        .collect()
    }

    fn read_parameter(
        &self,
        parameter: &ast::Parameter,
        kind: ParameterKind,
        default: Option<&Expr>,
    ) -> Parameter {
        Parameter {
            name: parameter.name.to_string(),
            kind,
            constexpr: parameter
                .annotation
                .as_deref()
                .is_some_and(|annotation| match annotation {
                    Expr::StringLiteral(text) => text.value.to_str().rsplit('.').next() == Some("constexpr"),
                    other => last_name(other) == Some("constexpr"),
                }),
            annotation: parameter
                .annotation
                .as_deref()
                .map(|annotation| self.text_of(annotation)),
            default: default.map(|default| self.text_of(default)),
            span: to_span(self.source, parameter.name.range()),
        }
    }

    fn text_of(&self, expr: &Expr) -> String {
        let range = expr.range();
        self.text
            .get(range.start().to_usize()..range.end().to_usize())
            .unwrap_or_default()
            .to_owned()
    }
}

/// `c` of `a.b.c` and of `c`.
fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

/// String keys of dicts, either anywhere or only of the dict that is a `Config`'s first argument.
struct Keys {
    in_config: bool,
    names: Vec<String>,
    has_dict: bool,
}

impl<'a> Visitor<'a> for Keys {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) if last_name(&call.func) == Some("Config") => {
                if let Some(Expr::Dict(dict)) = call.arguments.find_argument_value("kwargs", 0) {
                    self.add_keys(dict);
                }
            }
            Expr::Dict(dict) if self.in_config => self.add_keys(dict),
            other => walk_expr(self, other),
        }
    }
}

impl Keys {
    fn add_keys(&mut self, dict: &ast::ExprDict) {
        self.has_dict = true;
        for item in &dict.items {
            if let Some(Expr::StringLiteral(text)) = &item.key {
                self.names.push(text.value.to_str().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match parse(SourceId(0), text) {
            Ok(contents) => contents
                .functions
                .iter()
                .map(|function| {
                    let parameters: Vec<_> = function
                        .parameters
                        .iter()
                        .map(|p| {
                            let default = p
                                .default
                                .as_ref()
                                .map_or(String::new(), |text| format!("={text}"));
                            format!(
                                "{:?} {}{}{default}",
                                p.kind,
                                p.name,
                                if p.constexpr { ":constexpr" } else { "" }
                            )
                        })
                        .collect();
                    let mut flags = String::new();
                    for (on, flag) in [
                        (function.jit, " jit"),
                        (function.autotune, " autotune"),
                        (function.heuristics, " heuristics"),
                        (!function.decorators_are_literal, " opaque"),
                    ] {
                        if on {
                            flags.push_str(flag);
                        }
                    }
                    let given = function.given_by_decorators.join(",");
                    format!("{}({}){flags} [{given}]", function.name, parameters.join(", "))
                })
                .chain(contents.imports.iter().map(|name| format!("import {name}")))
                .collect::<Vec<_>>()
                .join("\n"),
            Err(problems) => problems
                .iter()
                .map(|p| p.message.clone())
                .collect::<Vec<_>>()
                .join("\n"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn signatures_are_read() {
        check(
            "@triton.jit\ndef f(a, /, b: tl.constexpr = 4, *c, d: 'tl.constexpr', **e): pass\n",
            "f(PositionalOnly a, PositionalOrKeyword b:constexpr=4, VarPositional c, KeywordOnly d:constexpr, \
             VarKeyword e) jit []",
        );
    }

    #[test]
    fn functions_inside_of_functions_have_dotted_names() {
        check(
            "def make():\n  @triton.jit\n  def kernel(x): pass\n  return kernel\n",
            "make() []\nmake.kernel(PositionalOrKeyword x) jit []",
        );
    }

    #[test]
    fn a_later_definition_wins_and_a_call_of_jit_makes_a_kernel() {
        check(
            "def f(a): pass\ndef f(b): pass\ng = triton.jit(f)\n",
            "f(PositionalOrKeyword b) []\ng(PositionalOrKeyword b) jit []",
        );
    }

    #[test]
    fn a_call_of_a_factory_names_the_kernel_that_it_returns() {
        check(
            "def make(n):\n  @triton.jit\n  def kernel(x): pass\n  return kernel\nk = make(4)\n",
            "make(PositionalOrKeyword n) []\nmake.kernel(PositionalOrKeyword x) jit []\n\
             k(PositionalOrKeyword x) jit []",
        );
        // The returned function is not a kernel, or is unknown.
        for (inner, result) in [
            ("", "kernel"),
            ("  @triton.jit\n", "kernel()"),
            ("  @triton.jit\n", "other"),
        ] {
            check(
                &format!("def make():\n{inner}  def kernel(): pass\n  return {result}\nk = make()\n"),
                &format!(
                    "make() []\nmake.kernel(){} []",
                    if inner.is_empty() { "" } else { " jit" }
                ),
            );
        }
        check(
            "def make():\n  @triton.jit\n  def kernel(): pass\n  return kernel\ndef make(): pass\nk = make()\n",
            "make.kernel() jit []\nmake() []",
        );
    }

    #[test]
    fn decorators_say_which_parameters_they_give() {
        check(
            "@triton.autotune(configs=[triton.Config({'A': 1}, num_warps=4), triton.Config({'B': 2})], key=['n'])\n\
             @triton.heuristics({'C': lambda args: args['n'] % 2})\n@triton.jit\ndef f(n, A, B, C): pass\n",
            "f(PositionalOrKeyword n, PositionalOrKeyword A, PositionalOrKeyword B, PositionalOrKeyword C) \
             jit autotune heuristics [A,B,C]",
        );
        check(
            "@triton.autotune(configs, key=[])\n@triton.jit\ndef f(): pass\n",
            "f() jit autotune opaque []",
        );
    }

    #[test]
    fn imports_are_absolute_names() {
        check(
            "import a, b.c as d\nfrom e import f\nfrom . import g\ntry:\n  import h\nexcept ImportError:\n  pass\n",
            "import a\nimport b.c\nimport e\nimport e.f\nimport h",
        );
    }

    #[test]
    fn no_text_is_too_deep() {
        check(
            &format!("x = {}1\n", "-".repeat(100_000)),
            "Python nested more than 400 levels deep",
        );
        check(
            &format!("x = a{}\n", ".b".repeat(50_000)),
            "Python nested more than 400 levels deep",
        );
        check(
            &"#".repeat(MAX_BYTES + 1),
            "kernel file of 262145 bytes, more than 262144",
        );
        let open = format!("x = {}\n", "(".repeat(100_000));
        assert!(parse(SourceId(0), &open).is_err());
    }
}
