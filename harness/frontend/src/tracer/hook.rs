//! The `pre_hook` of a tuner's configuration. A hook is Python code of the host. Only one form is supported: it sets
//! tensors of the launch to zero.

use ruff_python_ast::{Expr, Stmt};

use cerith_language::value::plain::{PlainBody, PlainFunction};

/// The parameters that a hook sets to zero, if it does nothing else: `def hook(args): args["out"].zero_()`.
pub(super) fn find_cleared(function: &PlainFunction) -> Option<Vec<String>> {
    match &function.body {
        PlainBody::Def(def) => {
            let [parameter] = def.parameters.args.as_slice() else {
                return None;
            };
            let parameter = parameter.parameter.name.as_str();
            let mut names = Vec::new();
            for statement in &def.body {
                match statement {
                    Stmt::Pass(_) => {}
                    Stmt::Expr(statement) if statement.value.is_string_literal_expr() => {}
                    Stmt::Expr(statement) => names.push(cleared_by(&statement.value, parameter)?),
                    _ => return None,
                }
            }
            Some(names)
        }
        PlainBody::Lambda(lambda) => {
            let [parameter] = lambda.parameters.as_ref()?.args.as_slice() else {
                return None;
            };
            Some(vec![cleared_by(&lambda.body, parameter.parameter.name.as_str())?])
        }
    }
}

/// `name` of `args["name"].zero_()`.
fn cleared_by(expression: &Expr, parameter: &str) -> Option<String> {
    let call = expression
        .as_call_expr()
        .filter(|call| call.arguments.is_empty())?;
    let method = call
        .func
        .as_attribute_expr()
        .filter(|method| method.attr.as_str() == "zero_")?;
    let subscript = method.value.as_subscript_expr()?;
    let from = subscript.value.as_name_expr()?;
    let name = subscript.slice.as_string_literal_expr()?;
    (from.id.as_str() == parameter).then(|| name.value.to_str().to_owned())
}
