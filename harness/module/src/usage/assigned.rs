//! Parameters with one value only: `xnumel = 128` at the beginning of a kernel, as `TorchInductor` writes it, or
//! `tl.assume(n == 4)`. They stay parameters, because their names say which sizes are equal.

use std::collections::BTreeMap;

use ruff_python_ast::{CmpOp, Expr, Stmt};

use super::contract::read_number;

/// The numbers that a kernel's body gives its parameters.
pub(super) fn read_assigned(body: &[Stmt], parameters: &[String]) -> BTreeMap<String, i64> {
    let numbers = body.iter().map_while(read_assignment);
    let promised = body.iter().filter_map(read_promise);
    let all = numbers.chain(promised);
    all.filter(|(name, _)| parameters.contains(name)).collect()
}

/// The name and the number of `name = 128`.
fn read_assignment(stmt: &Stmt) -> Option<(String, i64)> {
    let Stmt::Assign(assign) = stmt else { return None };
    let [Expr::Name(name)] = assign.targets.as_slice() else {
        return None;
    };
    Some((name.id.to_string(), read_number(&assign.value)?))
}

/// The name and the number of `tl.assume(name == 128)`. Strides follow from layouts.
fn read_promise(stmt: &Stmt) -> Option<(String, i64)> {
    let Stmt::Expr(expr) = stmt else { return None };
    let Expr::Call(call) = &*expr.value else {
        return None;
    };
    let Expr::Attribute(function) = &*call.func else {
        return None;
    };
    let [Expr::Compare(compare)] = &*call.arguments.args else {
        return None;
    };
    let (Expr::Name(name), [CmpOp::Eq], [number]) = (&*compare.left, &*compare.ops, &*compare.comparators)
    else {
        return None;
    };
    let is_assumed = function.attr.as_str() == "assume" && !name.id.contains("stride");
    let number = read_number(number)?;
    is_assumed.then(|| (name.id.to_string(), number))
}
