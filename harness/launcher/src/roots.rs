//! Calls of the functions that a module's users call, with inputs for their parameters.

use std::rc::Rc;

use ruff_python_ast::{self as ast, Expr, Stmt};

use super::arguments::Arguments;
use super::call::{is_simple, new_object};
use super::machine::Flow;
use super::machine::{Eval, Machine};
use super::module::{HostModule, Root};
use super::name_hint::guess_number;
use super::passed::find_passed_block;
use super::plan::{Kind, Plan, Scalar};
use super::tensor::Fill;
use super::value::{Dtype, Scope, Value};

/// Parameters of a root, with the plan's inputs for them.
pub(super) fn list_parameters(
    def: &ast::StmtFunctionDef,
) -> impl Iterator<Item = &ast::ParameterWithDefault> {
    def.parameters.iter_non_variadic_params()
}

pub(super) fn has_decorator(def: &ast::StmtFunctionDef, name: &str) -> bool {
    def.decorator_list
        .iter()
        .any(|decorator| matches!(&decorator.expression, Expr::Name(one) if one.id.as_str() == name))
}

/// The function whose parameters are inputs: `forward` for a `backward` of the same class.
pub(super) fn find_outer(root: Root<'_>) -> &ast::StmtFunctionDef {
    forward_of(root).unwrap_or_else(|| root.def())
}

fn forward_of(root: Root<'_>) -> Option<&ast::StmtFunctionDef> {
    match root {
        Root::Method(class, def) if def.name.as_str() == "backward" => {
            class.body.iter().find_map(|stmt| match stmt {
                Stmt::FunctionDef(forward) if forward.name.as_str() == "forward" => Some(forward),
                _ => None,
            })
        }
        _ => None,
    }
}

/// Whether a parameter is the first of a method.
fn is_receiver(root: Root<'_>, def: &ast::StmtFunctionDef, at: usize) -> bool {
    matches!(root, Root::Method(..)) && at == 0 && (is_context(def) || !has_decorator(def, "staticmethod"))
}

fn is_context(def: &ast::StmtFunctionDef) -> bool {
    list_parameters(def)
        .next()
        .is_some_and(|first| matches!(first.parameter.name.as_str(), "ctx" | "context"))
}

/// The first plan for a root of a module.
pub(super) fn first_plan(module: &HostModule<'_>, root: Root<'_>) -> Plan {
    let mut plan = Plan::new();
    let def = find_outer(root);
    for (at, parameter) in list_parameters(def).enumerate() {
        let name = parameter.parameter.name.as_str();
        if is_receiver(root, def, at) {
            let class = match root {
                Root::Method(class, _) => class.name.as_str(),
                Root::Function(_) => "",
            };
            plan.add(&format!("self of {class}"), Kind::Undecided);
            continue;
        }
        let default = parameter.default.as_deref().and_then(simple_value);
        let is_default = default.is_some();
        // It is not known like a default: other callers may pass another one.
        let passed = || find_passed_block(module.functions(), def, name).map(Scalar::Int);
        let kind = default.or_else(passed).map_or(Kind::Undecided, Kind::Scalar);
        let Some(input) = plan.add(name, kind) else { break };
        if is_default {
            if let Some(one) = plan.inputs.get_mut(input) {
                one.is_default = true;
            }
        } else if let Some(annotation) = &parameter.parameter.annotation {
            annotate(&mut plan, input, annotation);
        }
    }
    plan
}

/// A literal default.
fn simple_value(expr: &Expr) -> Option<Scalar> {
    if !is_simple(expr) {
        return None;
    }
    Some(match expr {
        Expr::NoneLiteral(_) => Scalar::None,
        Expr::BooleanLiteral(value) => Scalar::Bool(value.value),
        Expr::StringLiteral(text) => Scalar::Str(text.value.to_str().to_owned()),
        Expr::NumberLiteral(number) => match &number.value {
            ast::Number::Int(int) => Scalar::Int(int.as_i64()?),
            ast::Number::Float(float) => Scalar::Float(*float),
            ast::Number::Complex { .. } => return None,
        },
        Expr::UnaryOp(operation) => match (operation.op, simple_value(&operation.operand)?) {
            (ast::UnaryOp::USub, Scalar::Int(int)) => Scalar::Int(int.checked_neg()?),
            (ast::UnaryOp::USub, Scalar::Float(float)) => Scalar::Float(-float),
            _ => return None,
        },
        _ => return None,
    })
}

/// How many integers an annotation like `tuple[int, int]` has.
fn count_integers(annotation: &Expr) -> Option<usize> {
    let Expr::Subscript(subscript) = annotation else {
        return None;
    };
    let is_tuple =
        matches!(&*subscript.value, Expr::Name(name) if matches!(name.id.as_str(), "tuple" | "Tuple"));
    let Expr::Tuple(parts) = &*subscript.slice else {
        return None;
    };
    let is_int = |part: &Expr| matches!(part, Expr::Name(name) if name.id.as_str() == "int");
    (is_tuple && parts.elts.len() <= 4 && parts.elts.iter().all(is_int)).then_some(parts.elts.len())
}

/// Decides an input by its parameter's annotation.
fn annotate(plan: &mut Plan, input: usize, annotation: &Expr) {
    let name = plan
        .inputs
        .get(input)
        .map_or_else(String::new, |one| one.name.clone());
    // `torch.Tensor | None` without a default.
    let may_be_none = match annotation {
        Expr::BinOp(operation) => {
            operation.left.is_none_literal_expr() || operation.right.is_none_literal_expr()
        }
        Expr::Subscript(subscript) => match &*subscript.value {
            Expr::Name(name) => name.id.as_str() == "Optional",
            Expr::Attribute(attribute) => attribute.attr.as_str() == "Optional",
            _ => false,
        },
        _ => false,
    };
    if may_be_none {
        plan.set_scalar(input, Scalar::None);
        return;
    }
    if let Some(count) = count_integers(annotation) {
        let scalar = match guess_number(&name) {
            Scalar::Int(number) => Scalar::Int(number),
            _ => Scalar::Int(2),
        };
        let items: Option<Vec<usize>> = (0..count)
            .map(|at| plan.add(&format!("{name}_{at}"), Kind::Scalar(scalar.clone())))
            .collect();
        if let (Some(items), Some(one)) = (items, plan.inputs.get_mut(input)) {
            one.kind = Kind::Items(items);
        }
        return;
    }
    let simple = match annotation {
        Expr::Name(name) => name.id.to_string(),
        Expr::Attribute(attribute) => attribute.attr.to_string(),
        Expr::StringLiteral(text) => text
            .value
            .to_str()
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_owned(),
        _ => return,
    };
    match simple.as_str() {
        "Tensor" | "FloatTensor" | "HalfTensor" => {
            plan.make_tensor(input);
        }
        "LongTensor" | "IntTensor" | "BoolTensor" => {
            plan.make_tensor(input);
            let dtype = match simple.as_str() {
                "LongTensor" => "i64",
                "IntTensor" => "i32",
                _ => "i1",
            };
            plan.set_dtype(input, &Dtype::torch(dtype));
        }
        "int" => {
            let scalar = match guess_number(&name) {
                Scalar::Int(number) => Scalar::Int(number),
                _ => Scalar::Int(2),
            };
            plan.set_scalar(input, scalar);
        }
        "float" => {
            let scalar = match guess_number(&name) {
                Scalar::Float(float) => Scalar::Float(float),
                _ => Scalar::Float(0.5),
            };
            plan.set_scalar(input, scalar);
        }
        "bool" => {
            plan.set_scalar(input, Scalar::Bool(true));
        }
        _ => {}
    }
}

impl<'a> Machine<'a> {
    /// Calls a root with the plan's inputs.
    pub fn run_root(&mut self, root: Root<'a>) -> Eval<'a, ()> {
        let def = find_outer(root);
        let scope = self.enter(&format_name(root, def), None)?;
        let context = new_object();
        let mut context_name = None;
        for (at, parameter) in list_parameters(def).enumerate() {
            let name = parameter.parameter.name.as_str();
            let value = if is_receiver(root, def, at) {
                context_name = Some(name);
                if is_context(def) {
                    context.clone()
                } else if let (Root::Method(class, _), true) = (root, has_decorator(def, "classmethod")) {
                    Value::Class(class)
                } else {
                    Value::Input(at)
                }
            } else {
                match (&parameter.default, self.plan.kind(at)) {
                    (None, Some(Kind::Undecided)) if name == "device" => Value::Device,
                    (Some(default), Some(Kind::Undecided)) if !is_simple(default) => {
                        self.eval(default, &scope)?
                    }
                    _ => Value::Input(at),
                }
            };
            scope.bind(name, value);
        }
        self.bind_rest(def, &scope);
        let result = self.run(&def.body, &scope)?;
        let mut value = match result {
            Flow::Return(value) => value,
            _ => Value::NONE,
        };
        // A launcher that returns the launch as a function.
        if let Value::Closure(closure) = &value
            && closure.parameters.is_none_or(ast::Parameters::is_empty)
        {
            value = self.apply(&value.clone(), &Arguments::default())?;
        }
        self.mark_returned(&value, 0);
        self.leave();
        if forward_of(root).is_some() && context_name.is_some() {
            self.run_backward(root, context, &value)?;
        }
        Ok(())
    }

    /// Calls `forward` of a layer with the inputs that the file states, as those of `KernelBench` do: `get_init_inputs()` has the
    /// arguments of the layer's constructor, and `get_inputs()` those of `forward`. `None` if the file states none.
    pub fn run_stated(&mut self, root: Root<'a>) -> Eval<'a, Option<()>> {
        let Root::Method(class, def) = root else {
            return Ok(None);
        };
        if def.name.as_str() != "forward" || is_context(def) {
            return Ok(None);
        }
        self.is_stated = true;
        let Some(inputs) = self.call_stated("get_inputs")? else {
            return Ok(None);
        };
        let layer = new_object();
        let init = class.body.iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(def) if def.name.as_str() == "__init__" => Some(def),
            _ => None,
        });
        if let Some(init) = init {
            let mut all = vec![layer.clone()];
            all.extend(self.call_stated("get_init_inputs")?.unwrap_or_default());
            let closure = self.function_value(init, None);
            self.apply(&closure, &Arguments::of(all))?;
        }
        let required = list_parameters(def).filter(|one| one.default.is_none());
        if required.count() > 1 + inputs.len() {
            return Ok(None);
        }
        let mut all = vec![layer];
        all.extend(inputs);
        let closure = self.function_value(def, None);
        self.class_names.push(class.name.to_string());
        let result = self.apply(&closure, &Arguments::of(all));
        self.class_names.pop();
        self.mark_returned(&result?, 0);
        Ok(Some(()))
    }

    /// What a function of the module without parameters returns as a list; `None` if there is no such function.
    fn call_stated(&mut self, name: &str) -> Eval<'a, Option<Vec<Value<'a>>>> {
        let Some(Root::Function(def)) = self.module.find_root(name) else {
            return Ok(None);
        };
        let closure = self.function_value(def, None);
        let value = self.apply(&closure, &Arguments::default())?;
        Ok(value.elements())
    }

    #[expect(clippy::unused_self, reason = "a part of `run_root`")]
    fn bind_rest(&self, def: &'a ast::StmtFunctionDef, scope: &Scope<'a>) {
        if let Some(rest) = &def.parameters.vararg {
            scope.bind(rest.name.as_str(), Value::tuple(Vec::new()));
        }
        if let Some(rest) = &def.parameters.kwarg {
            scope.bind(rest.name.as_str(), Value::dict(Vec::new()));
        }
    }

    /// Calls `backward` with gradients of the forward function's results.
    fn run_backward(&mut self, root: Root<'a>, context: Value<'a>, result: &Value<'a>) -> Eval<'a, ()> {
        let def = root.def();
        let results = match result {
            Value::Tuple(values, _) => values.to_vec(),
            one => vec![one.clone()],
        };
        let names: Vec<&str> = list_parameters(def)
            .skip(1)
            .map(|one| one.parameter.name.as_str())
            .collect();
        let mut gradients = Vec::new();
        for (at, one) in results.iter().enumerate() {
            gradients.push(match one {
                Value::Tensor(tensor) => {
                    let gradient = self.like(&tensor.clone(), &tensor.dtype, Fill::Given);
                    if let Some(name) = names.get(at) {
                        self.name_storage(name, &gradient);
                    }
                    gradient
                }
                Value::Unknown(reason) => Value::Unknown(Rc::clone(reason)),
                _ => Value::NONE,
            });
        }
        let mut positional = vec![context];
        positional.extend(gradients);
        if let Root::Method(class, _) = root {
            self.class_names.push(class.name.to_string());
        }
        let closure = self.function_value(def, None);
        let result = self.apply(&closure, &Arguments::of(positional));
        self.class_names.pop();
        let value = result?;
        self.mark_returned(&value, 0);
        Ok(())
    }
}

fn format_name(root: Root<'_>, def: &ast::StmtFunctionDef) -> String {
    match root {
        Root::Method(class, _) => format!("{}.{}", class.name, def.name),
        Root::Function(def) => def.name.to_string(),
    }
}
