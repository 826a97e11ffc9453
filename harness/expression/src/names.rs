//! Names that an expression needs, found without evaluating it.

use std::ops::Range;

use cerith_python::parse::to_bytes;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use ruff_python_ast::{Comprehension, Expr, ExprContext};

use crate::builtin::is_reserved;

/// See [`Expression::free_names`].
pub(crate) fn free(body: &Expr) -> Vec<(String, Range<usize>)> {
    #[derive(Default)]
    struct Free {
        bound: Vec<String>,
        names: Vec<(String, Range<usize>)>,
    }
    impl Free {
        fn walk_comprehension<'a>(&mut self, generators: &'a [Comprehension], element: &'a Expr) {
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
                        self.names.push((name.id.to_string(), to_bytes(name.range)));
                    }
                }
                Expr::ListComp(list) => self.walk_comprehension(&list.generators, &list.elt),
                Expr::Generator(generator) => self.walk_comprehension(&generator.generators, &generator.elt),
                _ => walk_expr(self, expr),
            }
        }
    }
    let mut visitor = Free::default();
    visitor.visit_expr(body);
    visitor.names.sort_by_key(|(_, range)| range.start);
    visitor.names
}
