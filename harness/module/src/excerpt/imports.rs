//! Import statements of a module: the meaning and the location of each name that they bind. See [`super`] for the
//! files.

use std::collections::BTreeSet;
use std::ops::Range;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

/// An import statement that is not inside of a function or class.
#[derive(Clone, Debug)]
pub(super) struct Import {
    pub range: Range<usize>,
    pub aliases: Vec<Alias>,
}

/// A name that an import binds.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    /// The name in the module; `*` for all of another module's.
    pub bound: String,
    pub item: ImportedItem,
    /// `a.b` of `import a.b`, which binds `a`.
    dotted: Option<String>,
}

/// The meaning of an imported name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ImportedItem {
    /// A module, by its dotted name.
    Module(String),
    /// `from module import name`, so many levels up.
    From {
        level: u32,
        module: String,
        name: String,
    },
}

impl Alias {
    pub fn is_star(&self) -> bool {
        self.bound == "*"
    }

    /// The import of this name alone.
    pub fn render(&self) -> String {
        match &self.dotted {
            Some(dotted) => format!("import {dotted}"),
            None => self.item.render(&self.bound),
        }
    }
}

impl ImportedItem {
    /// Whether it is Triton, a module of it, or something that one holds.
    pub fn is_tritons(&self) -> bool {
        let module = match self {
            Self::Module(module) | Self::From { level: 0, module, .. } => module,
            Self::From { .. } => return false,
        };
        module == "triton" || module.starts_with("triton.")
    }

    /// Whether it decides how the rest of the file is read.
    pub fn is_preamble(&self) -> bool {
        matches!(self, Self::From { module, .. } if module == "__future__")
    }

    /// The absolute form of an import in the module at `path`; `None` if it leads out of the package.
    pub fn to_absolute(&self, path: &str) -> Option<Self> {
        let Self::From { level, module, name } = self else {
            return Some(self.clone());
        };
        if *level == 0 {
            return Some(self.clone());
        }
        let mut folders: Vec<&str> = path.split('/').collect();
        folders.pop();
        for _ in 1..*level {
            folders.pop()?;
        }
        if !module.is_empty() {
            folders.push(module);
        }
        let module = folders.join(".");
        Some(if module.is_empty() {
            Self::Module(name.clone())
        } else {
            Self::From {
                level: 0,
                module,
                name: name.clone(),
            }
        })
    }

    pub fn render(&self, bound: &str) -> String {
        match self {
            Self::Module(module) if module == bound => format!("import {module}"),
            Self::Module(module) => format!("import {module} as {bound}"),
            Self::From { level, module, name } => {
                let dots = ".".repeat(usize::try_from(*level).unwrap_or(0));
                if name == bound {
                    format!("from {dots}{module} import {name}")
                } else {
                    format!("from {dots}{module} import {name} as {bound}")
                }
            }
        }
    }
}

/// The imports of a module, those in branches, `try` and `with` among them.
pub(super) fn imports_of(body: &[Stmt]) -> Vec<Import> {
    let mut found = Vec::new();
    collect(body, &mut found);
    found
}

fn collect(body: &[Stmt], found: &mut Vec<Import>) {
    for stmt in body {
        let aliases = match stmt {
            Stmt::Import(import) => import.names.iter().map(build_alias).collect(),
            Stmt::ImportFrom(import) => import
                .names
                .iter()
                .map(|alias| build_from_alias(import, alias))
                .collect(),
            _ => {
                visit_bodies(stmt, &mut |body| collect(body, found));
                continue;
            }
        };
        found.push(Import {
            range: range_of(stmt),
            aliases,
        });
    }
}

fn build_alias(alias: &ast::Alias) -> Alias {
    let dotted = alias.name.to_string();
    let first = dotted.split('.').next().unwrap_or_default().to_owned();
    match &alias.asname {
        Some(bound) => Alias {
            bound: bound.to_string(),
            item: ImportedItem::Module(dotted),
            dotted: None,
        },
        None if first == dotted => Alias {
            bound: first,
            item: ImportedItem::Module(dotted),
            dotted: None,
        },
        None => Alias {
            bound: first.clone(),
            item: ImportedItem::Module(first),
            dotted: Some(dotted),
        },
    }
}

fn build_from_alias(import: &ast::StmtImportFrom, alias: &ast::Alias) -> Alias {
    let module = import.module.as_ref().map_or(String::new(), ToString::to_string);
    let name = alias.name.to_string();
    Alias {
        bound: alias
            .asname
            .as_ref()
            .map_or_else(|| name.clone(), ToString::to_string),
        item: ImportedItem::From {
            level: import.level,
            module,
            name,
        },
        dotted: None,
    }
}

/// The bodies of a statement that are of the scope that it is in.
pub fn visit_bodies<'s>(stmt: &'s Stmt, visit: &mut impl FnMut(&'s [Stmt])) {
    match stmt {
        Stmt::If(branch) => {
            visit(&branch.body);
            for clause in &branch.elif_else_clauses {
                visit(&clause.body);
            }
        }
        Stmt::Try(attempt) => {
            visit(&attempt.body);
            for ast::ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                visit(&handler.body);
            }
            visit(&attempt.orelse);
            visit(&attempt.finalbody);
        }
        Stmt::With(with) => visit(&with.body),
        Stmt::For(each) => visit(&each.body),
        _ => {}
    }
}

pub(super) fn range_of(node: &impl Ranged) -> Range<usize> {
    node.range().start().to_usize()..node.range().end().to_usize()
}

/// The attributes of a name that statements use; `None` if they also use the name by itself.
pub(super) fn attributes_of(
    body: &[Stmt],
    name: &str,
    is_kept: &dyn Fn(&Range<usize>) -> bool,
) -> Option<BTreeSet<String>> {
    let mut walk = Attributes {
        name,
        accessed: BTreeSet::new(),
        has_bare_use: false,
    };
    for stmt in body.iter().filter(|stmt| is_kept(&range_of(*stmt))) {
        walk.visit_stmt(stmt);
    }
    (!walk.has_bare_use).then_some(walk.accessed)
}

struct Attributes<'n> {
    name: &'n str,
    accessed: BTreeSet<String>,
    has_bare_use: bool,
}

impl<'a> Visitor<'a> for Attributes<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(attribute) => match &*attribute.value {
                Expr::Name(name) if name.id == *self.name => {
                    self.accessed.insert(attribute.attr.to_string());
                }
                _ => walk_expr(self, expr),
            },
            Expr::Name(name) => self.has_bare_use |= name.id == *self.name,
            _ => walk_expr(self, expr),
        }
    }
}
