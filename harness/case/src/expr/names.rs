//! What can be known of an expression without evaluating it: its depth and the names it needs.

use std::ops::Range;

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal, walk_expr};
use ruff_python_ast::{AnyNodeRef, Comprehension, Expr, ExprContext};
use ruff_text_size::Ranged;

use super::eval::bytes;
use super::{ExprError, Expression, is_reserved};

/// Refuses a tree that is too deep to be walked by recursion. The walk here stops at that depth too.
pub(super) fn check_depth(body: &Expr) -> Result<(), ExprError> {
    struct Depth {
        depth: usize,
        too_deep: Option<Range<usize>>,
    }
    impl<'a> SourceOrderVisitor<'a> for Depth {
        fn enter_node(&mut self, _: AnyNodeRef<'a>) -> TraversalSignal {
            if self.too_deep.is_some() {
                TraversalSignal::Skip
            } else {
                TraversalSignal::Traverse
            }
        }

        fn visit_expr(&mut self, expr: &'a Expr) {
            if self.depth >= Expression::MAX_DEPTH {
                self.too_deep.get_or_insert_with(|| bytes(expr.range()));
                return;
            }
            self.depth += 1;
            walk_expr(self, expr);
            self.depth -= 1;
        }
    }
    let mut visitor = Depth {
        depth: 0,
        too_deep: None,
    };
    visitor.visit_expr(body);
    match visitor.too_deep {
        Some(range) => Err(ExprError::new(
            range,
            format!(
                "the expression is nested more than {} levels deep",
                Expression::MAX_DEPTH
            ),
        )),
        None => Ok(()),
    }
}

/// See [`Expression::free_names`].
pub(super) fn free(body: &Expr) -> Vec<(String, Range<usize>)> {
    #[derive(Default)]
    struct Free {
        bound: Vec<String>,
        found: Vec<(String, Range<usize>)>,
    }
    impl Free {
        fn comprehension<'a>(&mut self, generators: &'a [Comprehension], element: &'a Expr) {
            let outer = self.bound.len();
            for generator in generators {
                self.visit_expr(&generator.iter);
                self.visit_expr(&generator.target);
                for condition in &generator.ifs {
                    self.visit_expr(condition);
                }
            }
            self.visit_expr(element);
            self.bound.truncate(outer);
        }
    }
    impl<'a> SourceOrderVisitor<'a> for Free {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Name(name) if name.ctx == ExprContext::Store => self.bound.push(name.id.to_string()),
                Expr::Name(name) => {
                    if !is_reserved(&name.id) && !self.bound.iter().any(|bound| *bound == name.id.as_str()) {
                        self.found.push((name.id.to_string(), bytes(name.range)));
                    }
                }
                Expr::ListComp(list) => self.comprehension(&list.generators, &list.elt),
                Expr::Generator(generator) => self.comprehension(&generator.generators, &generator.elt),
                _ => walk_expr(self, expr),
            }
        }
    }
    let mut visitor = Free::default();
    visitor.visit_expr(body);
    visitor.found.sort_by_key(|(_, range)| range.start);
    visitor.found
}
