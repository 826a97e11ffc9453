//! The syntax tree of a kernels' file, with the queries of the passes.

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Decorator, Expr, ExprContext, ModModule, Parameters, Stmt};
use ruff_python_parser::{Parsed, parse_module};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::candidate::Edit;

/// A parsed file.
pub(super) struct Tree<'t> {
    pub text: &'t str,
    parsed: Parsed<ModModule>,
}

/// A list of statements of one block.
pub(super) type Block<'a> = &'a [Stmt];

impl<'t> Tree<'t> {
    /// The tree of a text; `None` if it is not Python.
    pub fn parse(text: &'t str) -> Option<Self> {
        let parsed = parse_module(text).ok()?;
        Some(Self { text, parsed })
    }

    pub fn body(&self) -> Block<'_> {
        &self.parsed.syntax().body
    }

    pub fn tokens(&self) -> &ruff_python_ast::token::Tokens {
        self.parsed.tokens()
    }

    /// Every function, also those inside of others.
    pub fn functions(&self) -> Vec<&ast::StmtFunctionDef> {
        self.statements()
            .into_iter()
            .filter_map(|(stmt, _)| match stmt {
                Stmt::FunctionDef(def) => Some(def),
                _ => None,
            })
            .collect()
    }

    /// The function of a dotted name: the last of its last part.
    pub fn find_function(&self, name: &str) -> Option<&ast::StmtFunctionDef> {
        let last = name.rsplit('.').next().unwrap_or(name);
        self.functions()
            .into_iter()
            .rfind(|def| def.name.as_str() == last)
    }

    /// Every statement with the block that it is in, outer ones first.
    pub fn statements(&self) -> Vec<(&Stmt, Block<'_>)> {
        let mut found = Vec::new();
        let mut blocks: Vec<Block<'_>> = vec![self.body()];
        while let Some(block) = blocks.pop() {
            for stmt in block {
                found.push((stmt, block));
                blocks.extend(collect_blocks(stmt));
            }
        }
        found.sort_by_key(|(stmt, _)| (stmt.start(), std::cmp::Reverse(stmt.end())));
        found
    }

    /// The statements inside of functions.
    pub fn inner(&self) -> Vec<(&Stmt, Block<'_>)> {
        let defs = self.functions();
        let inside = |stmt: &Stmt| {
            defs.iter().any(|def| {
                def.body
                    .first()
                    .is_some_and(|first| first.start() <= stmt.start())
                    && stmt.end() <= def.end()
            })
        };
        let all = self.statements();
        all.into_iter().filter(|(stmt, _)| inside(stmt)).collect()
    }

    pub fn slice(&self, range: TextRange) -> &'t str {
        self.text
            .get(range.start().to_usize()..range.end().to_usize())
            .unwrap_or_default()
    }

    /// An expression's text, in parentheses where it could come apart.
    pub fn render_operand(&self, expr: &Expr) -> String {
        parenthesize(expr, self.slice(expr.range()))
    }

    /// The lines of a range, if nothing else is on them.
    pub fn find_lines(&self, range: TextRange) -> Option<TextRange> {
        let (start, end) = (range.start().to_usize(), range.end().to_usize());
        let before = self.text.get(..start)?;
        let first = before.rfind('\n').map_or(0, |at| at + 1);
        let behind = self.text.get(end..)?;
        let length = behind.find('\n').map_or(behind.len(), |at| at + 1);
        let rest = behind.get(..length)?.trim();
        let alone = before.get(first..)?.trim().is_empty() && (rest.is_empty() || rest.starts_with('#'));
        alone.then(|| TextRange::new(to_text_size(first), to_text_size(end + length)))
    }

    /// The text before a statement on its line.
    pub fn indent(&self, stmt: &Stmt) -> &'t str {
        let before = self.text.get(..stmt.start().to_usize()).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() { line } else { "" }
    }

    /// Edits that take statements away. A block that would be empty has `pass`.
    pub fn remove_statements(&self, gone: &[&Stmt]) -> Vec<Edit> {
        let is_gone = |stmt: &Stmt| gone.iter().any(|other| other.range() == stmt.range());
        let mut edits = Vec::new();
        for (stmt, block) in self.statements() {
            if !is_gone(stmt) {
                continue;
            }
            let inside = gone
                .iter()
                .any(|other| other.range() != stmt.range() && other.range().contains_range(stmt.range()));
            if inside {
                continue;
            }
            let keeps = block.iter().any(|other| !is_gone(other));
            let first = block.first().is_some_and(|first| first.range() == stmt.range());
            let top = block.first().map(Ranged::range) == self.body().first().map(Ranged::range);
            match self.find_lines(stmt.range()) {
                Some(lines) if keeps || top || !first => edits.push(Edit::new(lines, "")),
                _ => edits.push(Edit::new(stmt.range(), "pass")),
            }
        }
        edits
    }

    /// The outermost expressions inside of functions: no targets of assignments, no decorators, no signatures.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut found = Outer(Vec::new());
        for def in self.functions() {
            for stmt in &def.body {
                found.visit_stmt(stmt);
            }
        }
        found
            .0
            .sort_by_key(|expr| (expr.start(), std::cmp::Reverse(expr.end())));
        found.0.dedup_by_key(|expr| expr.range());
        found.0
    }

    /// Every expression inside of functions, outer ones first.
    pub fn all_expressions(&self) -> Vec<&Expr> {
        let mut found = Vec::new();
        for expr in self.expressions() {
            found.push(expr);
            found.extend(collect_descendants(expr, usize::MAX));
        }
        found
    }
}

pub(super) fn to_text_size(at: usize) -> TextSize {
    TextSize::try_from(at).unwrap_or_default()
}

/// Text of an expression, in parentheses where it could come apart.
pub(super) fn parenthesize(expr: &Expr, text: &str) -> String {
    let whole = matches!(
        expr,
        Expr::Name(_)
            | Expr::Call(_)
            | Expr::Attribute(_)
            | Expr::Subscript(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::StringLiteral(_)
            | Expr::List(_)
            | Expr::Dict(_)
    ) || matches!(expr, Expr::Tuple(tuple) if tuple.parenthesized);
    if whole {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// The blocks of a statement.
pub(super) fn collect_blocks(stmt: &Stmt) -> Vec<Block<'_>> {
    match stmt {
        Stmt::FunctionDef(def) => vec![&def.body],
        Stmt::ClassDef(def) => vec![&def.body],
        Stmt::For(one) => vec![&one.body, &one.orelse],
        Stmt::While(one) => vec![&one.body, &one.orelse],
        Stmt::With(one) => vec![&one.body],
        Stmt::If(one) => std::iter::once::<Block<'_>>(&one.body)
            .chain(one.elif_else_clauses.iter().map(|clause| &*clause.body))
            .collect(),
        Stmt::Try(one) => vec![&one.body, &one.orelse, &one.finalbody],
        _ => Vec::new(),
    }
}

struct Outer<'a>(Vec<&'a Expr>);

impl<'a> Visitor<'a> for Outer<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if !is_target(expr) {
            self.0.push(expr);
        }
    }

    fn visit_decorator(&mut self, _: &'a Decorator) {}

    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_parameters(&mut self, _: &'a Parameters) {}

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }
}

fn is_target(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => name.ctx != ExprContext::Load,
        Expr::Tuple(tuple) => tuple.ctx != ExprContext::Load,
        Expr::List(list) => list.ctx != ExprContext::Load,
        _ => false,
    }
}

/// The operands of an expression: no names of functions and modules, no keywords' names.
pub(super) fn collect_operands(expr: &Expr) -> Vec<&Expr> {
    struct Direct<'a>(Vec<&'a Expr>);
    impl<'a> Visitor<'a> for Direct<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0.push(expr);
        }
    }
    let mut direct = Direct(Vec::new());
    match expr {
        Expr::Call(call) => {
            if let Expr::Attribute(attribute) = &*call.func
                && !is_module(&attribute.value)
            {
                direct.0.push(&attribute.value);
            }
            direct.visit_arguments(&call.arguments);
        }
        Expr::Attribute(attribute) if is_module(&attribute.value) => {}
        Expr::Slice(_) => {}
        other => walk_expr(&mut direct, other),
    }
    direct.0
}

/// `tl`, `triton`, `tl.math` and the like.
fn is_module(expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => matches!(
            name.id.as_str(),
            "tl" | "triton" | "language" | "math" | "libdevice"
        ),
        Expr::Attribute(attribute) => is_module(&attribute.value),
        _ => false,
    }
}

/// The inner expressions of an expression down to a depth, nearest first.
pub(super) fn collect_descendants(expr: &Expr, depth: usize) -> Vec<&Expr> {
    let mut found: Vec<&Expr> = Vec::new();
    let mut level = collect_operands(expr);
    let mut left = depth;
    while left > 0 && !level.is_empty() {
        left -= 1;
        let next = level.iter().flat_map(|one| collect_operands(one)).collect();
        found.append(&mut level);
        level = next;
    }
    found
}

/// The names that statements read and bind.
#[derive(Default)]
pub(super) struct Names<'a> {
    pub reads: Vec<&'a ast::ExprName>,
    pub binds: Vec<&'a ast::ExprName>,
}

impl<'a> Names<'a> {
    pub fn from_statements(stmts: impl IntoIterator<Item = &'a Stmt>) -> Self {
        let mut names = Self::default();
        for stmt in stmts {
            names.visit_stmt(stmt);
        }
        names
    }

    pub fn read(&self) -> HashSet<&'a str> {
        self.reads.iter().map(|name| name.id.as_str()).collect()
    }

    pub fn bound(&self) -> HashSet<&'a str> {
        self.binds.iter().map(|name| name.id.as_str()).collect()
    }
}

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            if name.ctx == ExprContext::Load {
                self.reads.push(name);
            } else {
                self.binds.push(name);
            }
        }
        walk_expr(self, expr);
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        // `x += 1` reads what it binds.
        if let Stmt::AugAssign(assign) = stmt
            && let Expr::Name(name) = &*assign.target
        {
            self.reads.push(name);
        }
        walk_stmt(self, stmt);
    }
}

/// The last part of a call's function: `load` of `tl.load(…)`.
pub(super) fn find_callee(call: &ast::ExprCall) -> Option<&str> {
    match &*call.func {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}
