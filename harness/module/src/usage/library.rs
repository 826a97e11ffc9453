//! The functions and numbers that the modules of an excerpt define, by name: calls of a kernel are read
//! at the call. See the module `reader` for their meaning.

use std::collections::HashMap;

use ruff_python_ast::{self as ast, Expr, ModModule, Number, Operator, PySourceType, Stmt, UnaryOp};
use ruff_python_parser::Parsed;

use crate::excerpt::is_kernel;
use crate::module;

/// How deep a name may lead to others.
const DEPTH_MOST: usize = 8;

/// Modules as trees, by the name by which they import each other.
pub struct Texts(Vec<(String, Parsed<ModModule>)>);

impl Texts {
    /// Parses modules, which are known to be neither too long nor too deep. Paths end in `.py`.
    pub fn new<'t>(modules: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let parsed = modules.into_iter().map(|(path, text)| {
            let parsed = module::with_stack(text, || {
                ruff_python_parser::parse_unchecked_source(text, PySourceType::Python)
            });
            (path.trim_end_matches(".py").to_owned(), parsed)
        });
        Self(parsed.collect())
    }
}

enum Entry<'a> {
    Function(&'a ast::StmtFunctionDef),
    Value(&'a Expr),
    From(String, String),
    Module(String),
}

/// The definitions of a module.
struct Defined<'a> {
    body: &'a [Stmt],
    entries: HashMap<&'a str, Entry<'a>>,
    /// Functions inside of functions, by the name of the outermost one and their own.
    inner: HashMap<(&'a str, &'a str), &'a ast::StmtFunctionDef>,
}

/// The definitions of all modules.
pub struct Library<'a> {
    modules: HashMap<&'a str, Defined<'a>>,
}

impl<'a> Library<'a> {
    /// Looks through these modules.
    pub fn new(texts: &'a Texts) -> Self {
        let modules = texts.0.iter().map(|(name, parsed)| {
            let body = &parsed.syntax().body[..];
            let mut entries = HashMap::new();
            collect(body, &mut entries);
            let mut inner = HashMap::new();
            for (name, entry) in &entries {
                if let Entry::Function(def) = entry {
                    collect_inner(name, &def.body, &mut inner);
                }
            }
            let defined = Defined { body, entries, inner };
            (name.as_str(), defined)
        });
        Self {
            modules: modules.collect(),
        }
    }

    /// The statements of a module.
    pub fn find_body(&self, module: &str) -> &'a [Stmt] {
        self.modules.get(module).map_or(&[], |defined| defined.body)
    }

    fn find_entry(&self, module: &str, name: &str, depth: usize) -> Option<(&'a str, &Entry<'a>)> {
        let (key, defined) = self.modules.get_key_value(module)?;
        match defined.entries.get(name)? {
            Entry::From(other, name) if depth < DEPTH_MOST => self.find_entry(other, name, depth + 1),
            entry => Some((key, entry)),
        }
    }

    /// Finds the `@triton.jit` function that a name or an attribute of a module refers to, and the module that it is
    /// in. `outer` is the function that contains the name, if any.
    pub fn find_function(
        &self,
        module: &str,
        outer: Option<&str>,
        callee: &Expr,
    ) -> Option<(&'a str, &'a ast::StmtFunctionDef)> {
        if let (Some(outer), Expr::Name(name)) = (outer, callee)
            && let Some((home, defined)) = self.modules.get_key_value(module)
            && let Some(def) = defined.inner.get(&(outer, name.id.as_str()))
        {
            return is_kernel(def).then_some((home, def));
        }
        let (home, entry) = match callee {
            Expr::Name(name) => self.find_entry(module, &name.id, 0)?,
            Expr::Attribute(attribute) => {
                let object = attribute.value.as_name_expr()?;
                match self.find_entry(module, &object.id, 0)? {
                    (_, Entry::Module(other)) => self.find_entry(other, &attribute.attr, 0)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        match entry {
            Entry::Function(def) if is_kernel(def) => Some((home, def)),
            _ => None,
        }
    }

    /// The integer that a module calls by a name.
    pub fn find_number(&self, module: &str, name: &str) -> Option<i64> {
        match self.find_entry(module, name, 0)? {
            (home, Entry::Value(value)) => self.evaluate(home, value, 0),
            _ => None,
        }
    }

    fn evaluate(&self, module: &str, expr: &Expr, depth: usize) -> Option<i64> {
        if depth > DEPTH_MOST {
            return None;
        }
        match expr {
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => int.as_i64(),
                _ => None,
            },
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => {
                self.evaluate(module, &unary.operand, depth + 1)?.checked_neg()
            }
            Expr::BinOp(binary) => {
                let a = self.evaluate(module, &binary.left, depth + 1)?;
                let b = self.evaluate(module, &binary.right, depth + 1)?;
                match binary.op {
                    Operator::Add => a.checked_add(b),
                    Operator::Sub => a.checked_sub(b),
                    Operator::Mult => a.checked_mul(b),
                    _ => None,
                }
            }
            Expr::Name(name) => match self.find_entry(module, &name.id, 0)? {
                (home, Entry::Value(value)) => self.evaluate(home, value, depth + 1),
                _ => None,
            },
            // `tl.constexpr(4)`.
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => return None,
                };
                let value = call.arguments.args.first().filter(|_| name == "constexpr")?;
                self.evaluate(module, value, depth + 1)
            }
            _ => None,
        }
    }
}

fn collect_inner<'a>(
    outer: &'a str,
    body: &'a [Stmt],
    inner: &mut HashMap<(&'a str, &'a str), &'a ast::StmtFunctionDef>,
) {
    for stmt in body {
        if let Stmt::FunctionDef(def) = stmt {
            inner.insert((outer, &def.name), def);
            collect_inner(outer, &def.body, inner);
        } else {
            crate::excerpt::visit_bodies(stmt, &mut |body| collect_inner(outer, body, inner));
        }
    }
}

fn collect<'a>(body: &'a [Stmt], entries: &mut HashMap<&'a str, Entry<'a>>) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(def) => {
                entries.insert(&def.name, Entry::Function(def));
            }
            Stmt::Assign(assign) => {
                for target in assign.targets.iter().filter_map(Expr::as_name_expr) {
                    entries.insert(&target.id, Entry::Value(&assign.value));
                }
            }
            Stmt::AnnAssign(ast::StmtAnnAssign {
                target,
                value: Some(value),
                ..
            }) => {
                if let Expr::Name(target) = &**target {
                    entries.insert(&target.id, Entry::Value(value));
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                    entries.insert(bound, Entry::Module(alias.name.to_string()));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    let bound = alias.asname.as_ref().unwrap_or(&alias.name);
                    let module = import.module.as_ref().map_or("", |module| module.as_str());
                    entries.insert(bound, Entry::From(module.to_owned(), alias.name.to_string()));
                }
            }
            _ => crate::excerpt::visit_bodies(stmt, &mut |body| collect(body, entries)),
        }
    }
}
