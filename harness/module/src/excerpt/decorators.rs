//! Decorators of kernels: which make one, and which of the others are left out of an excerpt.

use std::ops::Range;

use ruff_python_ast::{self as ast, Expr, PySourceType, Stmt};
use ruff_text_size::Ranged;

/// Names whose `jit` is not Triton's.
const FOREIGN_MODULES: [&str; 11] = [
    "T", "cuda", "cute", "cutlass", "flyc", "gluon", "jax", "nb", "njit", "numba", "torch",
];

/// Whether a decorator, or what is called in one, is `triton.jit` or `jit`.
pub fn is_jit(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) => name.id == "jit",
        Expr::Attribute(attribute) if attribute.attr.as_str() == "jit" => {
            !matches!(find_root(&attribute.value), Some(root) if FOREIGN_MODULES.contains(&root))
        }
        _ => false,
    }
}

/// Whether a decorator is `gluon.jit`.
pub fn is_gluon(callee: &Expr) -> bool {
    matches!(callee, Expr::Attribute(attribute)
        if attribute.attr.as_str() == "jit" && find_root(&attribute.value) == Some("gluon"))
}

/// Whether a function has Triton's decorator.
pub fn is_kernel(def: &ast::StmtFunctionDef) -> bool {
    def.decorator_list
        .iter()
        .any(|decorator| is_jit(strip_arguments(&decorator.expression)))
}

/// Whether a method is a kernel that does not take an instance. Methods of aggregates do, and a kernel calls them.
pub fn is_static_kernel(def: &ast::StmtFunctionDef) -> bool {
    let first = def.parameters.iter_non_variadic_params().next();
    let takes_instance = first.is_some_and(|one| matches!(one.parameter.name.as_str(), "self" | "cls"));
    is_kernel(def) && !takes_instance
}

/// A decorator without its arguments.
pub fn strip_arguments(decorator: &Expr) -> &Expr {
    match decorator {
        Expr::Call(call) => &call.func,
        other => other,
    }
}

fn find_root(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => find_root(&attribute.value),
        _ => None,
    }
}

/// A module's text with spaces in place of those decorators of kernels that decide how they are launched.
pub(super) fn blank_decorators(text: &str) -> String {
    let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
    let mut ranges = Vec::new();
    collect(&parsed.syntax().body, true, &mut ranges);
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        for byte in bytes.get_mut(range).into_iter().flatten() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    // Whole characters were replaced.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn collect(body: &[Stmt], of_module: bool, ranges: &mut Vec<Range<usize>>) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(def) => {
                if is_kernel(def) {
                    def.decorator_list
                        .iter()
                        .for_each(|decorator| decorator_of(decorator, ranges));
                } else if makes_kernels(&def.body) {
                    // A cache: the function is called once here.
                    ranges.extend(def.decorator_list.iter().map(|decorator| {
                        let range = decorator.range();
                        range.start().to_usize()..range.end().to_usize()
                    }));
                }
                collect(&def.body, false, ranges);
            }
            Stmt::ClassDef(def) => collect(&def.body, false, ranges),
            Stmt::Assign(assign) => {
                if of_module && is_decoration(assign) {
                    let range = stmt.range();
                    ranges.push(range.start().to_usize()..range.end().to_usize());
                }
            }
            _ => super::imports::visit_bodies(stmt, &mut |body| collect(body, of_module, ranges)),
        }
    }
}

/// Whether a function defines kernels.
pub(super) fn makes_kernels(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        if let Stmt::FunctionDef(def) = stmt {
            is_kernel(def)
        } else {
            let mut found = false;
            super::imports::visit_bodies(stmt, &mut |body| found |= makes_kernels(body));
            found
        }
    })
}

/// Whether a statement does what a decorator does, `kernel = autotune()(kernel)`, other than Triton's `jit` and `heuristics`.
fn is_decoration(assign: &ast::StmtAssign) -> bool {
    let ([Expr::Name(target)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else {
        return false;
    };
    let [Expr::Name(argument)] = &*call.arguments.args else {
        return false;
    };
    let kept = match &*call.func {
        Expr::Call(inner) => {
            is_jit(&inner.func)
                || is_heuristics(&inner.func)
                    && matches!(
                        inner.arguments.find_argument_value("values", 0),
                        Some(Expr::Dict(_))
                    )
        }
        callee => is_jit(callee),
    };
    target.id == argument.id && call.arguments.keywords.is_empty() && !kept
}

fn decorator_of(decorator: &ast::Decorator, ranges: &mut Vec<Range<usize>>) {
    let range = |node: &dyn Fn() -> ruff_text_size::TextRange| {
        let range = node();
        range.start().to_usize()..range.end().to_usize()
    };
    match &decorator.expression {
        Expr::Call(call) if is_jit(&call.func) => {
            // A name for profilers, or a function that counts operations: no launch here asks for them.
            let keywords = &call.arguments.keywords;
            if !keywords.iter().all(|keyword| is_literal(&keyword.value)) {
                ranges.push(range(&|| call.arguments.range()));
            }
        }
        Expr::Call(call) if is_heuristics(&call.func) => {
            let values = call.arguments.find_argument_value("values", 0);
            if !matches!(values, Some(Expr::Dict(_))) {
                ranges.push(range(&|| decorator.range()));
            }
        }
        other if is_jit(other) => {}
        _ => ranges.push(range(&|| decorator.range())),
    }
}

/// Whether a decorator is `triton.heuristics`.
pub fn is_heuristics(callee: &Expr) -> bool {
    matches!(callee, Expr::Attribute(attribute) if attribute.attr.as_str() == "heuristics")
        || matches!(callee, Expr::Name(name) if name.id == "heuristics")
}

/// Whether a decorator is `triton.autotune`.
pub fn is_autotune(callee: &Expr) -> bool {
    let name = match callee {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    name.contains("autotune") || name.contains("tuner")
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::List(list) => list.elts.iter().all(is_literal),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_literal),
        other => other.is_literal_expr(),
    }
}
