//! Parses Python files with limits, and finds spans and the names that statements bind.

use std::rc::Rc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_python_parser::{Mode, lexer};
use ruff_text_size::TextRange;

/// Brackets inside of brackets that a file may have; as `CPython`'s.
const MAX_BRACKETS: usize = 200;
/// Blocks inside of blocks that a file may have; as `CPython`'s.
const MAX_BLOCKS: usize = 100;
/// Operators that one expression may have, since each may nest the one before.
const MAX_OPERATORS: usize = 400;

/// A statement of a module; functions are shared so that values can keep them.
#[derive(Debug)]
pub(crate) enum TopLevel {
    /// A function.
    Function(Rc<ast::StmtFunctionDef>),
    /// Anything else.
    Other(Box<Stmt>),
}

/// The span of a node.
pub(crate) fn span_of(source: SourceId, range: TextRange) -> Span {
    Span::new(source, range.start().into(), range.end().into())
}

/// Runs `work` with a stack that is deep enough for text that passed [`check_nesting`].
pub(crate) fn with_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(1 << 20, 8 << 20, work)
}

/// Refuses text that nests so deep that walking its tree could exhaust the stack, with the line where it gets too deep.
fn check_nesting(source: SourceId, text: &str) -> Result<(), Box<Diagnostic>> {
    let Some((limit, what)) = too_deep(text) else {
        return Ok(());
    };
    // The lexer does not say where it is, but the lines before the one that is looked for are not too deep.
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    let line = ends.partition_point(|&end| text.get(..end).is_none_or(|before| too_deep(before).is_none()));
    let start = line
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .copied()
        .unwrap_or(0);
    let end = ends.get(line).map_or(text.len(), |end| end - 1);
    let message = format!("the limit of {limit} {what} was reached");
    Err(Box::new(
        Diagnostic::error("exhausted", Span::new(source, start as u32, end as u32), message)
            .help("split expressions over several statements"),
    ))
}

/// The limit that the nesting of a text exceeds, and what it limits.
fn too_deep(text: &str) -> Option<(usize, &'static str)> {
    let mut lexer = lexer::lex(text, Mode::Module);
    let mut blocks = 0usize;
    // For each open bracket, the operators since its last comma: an expression nests at most so deep.
    let mut operators = vec![0usize];
    let mut depth = 0usize;
    loop {
        let kind = lexer.next_token();
        let innermost = operators.last().copied().unwrap_or(0);
        match kind {
            TokenKind::EndOfFile => return None,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                if let Some(last) = operators.last_mut() {
                    *last += 1;
                }
                depth += 1;
                operators.push(0);
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace if operators.len() > 1 => {
                depth -= innermost;
                operators.pop();
            }
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline => {
                depth = 0;
                operators.clear();
                operators.push(0);
            }
            TokenKind::Comma | TokenKind::Semi => {
                depth -= innermost;
                if let Some(last) = operators.last_mut() {
                    *last = 0;
                }
            }
            TokenKind::NonLogicalNewline => {}
            kind if kind.is_operator() || kind.is_non_soft_keyword() => {
                if let Some(last) = operators.last_mut() {
                    *last += 1;
                }
                depth += 1;
            }
            _ => {}
        }
        if operators.len() > MAX_BRACKETS {
            return Some((MAX_BRACKETS, "brackets inside of each other"));
        }
        if blocks > MAX_BLOCKS {
            return Some((MAX_BLOCKS, "blocks inside of each other"));
        }
        if depth > MAX_OPERATORS {
            return Some((MAX_OPERATORS, "operators of one expression"));
        }
    }
}

/// Parses a file.
pub(crate) fn parse(source: SourceId, text: &str) -> Result<Vec<TopLevel>, Box<Diagnostic>> {
    check_nesting(source, text)?;
    let module = ruff_python_parser::parse_module(text).map_err(|error| {
        let message = error.error.to_string();
        let mut lowered = message.chars();
        let message = lowered
            .next()
            .map_or_else(String::new, |c| c.to_lowercase().chain(lowered).collect());
        Box::new(Diagnostic::error(
            "syntax-error",
            span_of(source, error.location),
            message,
        ))
    })?;
    Ok(module
        .into_syntax()
        .body
        .into_iter()
        .map(|statement| match statement {
            Stmt::FunctionDef(def) => TopLevel::Function(Rc::new(def)),
            other => TopLevel::Other(Box::new(other)),
        })
        .collect())
}

/// The names that statements bind, for code that is not known to run.
pub(crate) fn bound_names(body: &[Stmt], names: &mut Vec<Rc<str>>) {
    fn collect_names(expression: &Expr, names: &mut Vec<Rc<str>>) {
        match expression {
            Expr::Name(name) => names.push(name.id.as_str().into()),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|elt| collect_names(elt, names)),
            Expr::List(list) => list.elts.iter().for_each(|elt| collect_names(elt, names)),
            Expr::Starred(starred) => collect_names(&starred.value, names),
            _ => {}
        }
    }
    for statement in body {
        match statement {
            Stmt::Assign(node) => node.targets.iter().for_each(|node| collect_names(node, names)),
            Stmt::AnnAssign(node) => collect_names(&node.target, names),
            Stmt::AugAssign(node) => collect_names(&node.target, names),
            Stmt::FunctionDef(node) => names.push(node.name.as_str().into()),
            Stmt::ClassDef(node) => names.push(node.name.as_str().into()),
            Stmt::Import(node) => names.extend(node.names.iter().map(|alias| {
                let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                Rc::from(name.split('.').next().unwrap_or(name))
            })),
            Stmt::ImportFrom(node) => {
                names.extend(
                    node.names
                        .iter()
                        .map(|alias| Rc::from(alias.asname.as_ref().unwrap_or(&alias.name).as_str())),
                );
            }
            Stmt::If(node) => {
                bound_names(&node.body, names);
                node.elif_else_clauses
                    .iter()
                    .for_each(|clause| bound_names(&clause.body, names));
            }
            Stmt::For(node) => {
                collect_names(&node.target, names);
                bound_names(&node.body, names);
            }
            Stmt::While(node) => bound_names(&node.body, names),
            Stmt::With(node) => {
                node.items
                    .iter()
                    .filter_map(|item| item.optional_vars.as_deref())
                    .for_each(|v| collect_names(v, names));
                bound_names(&node.body, names);
            }
            Stmt::Try(node) => {
                bound_names(&node.body, names);
                bound_names(&node.finalbody, names);
            }
            _ => {}
        }
    }
}
