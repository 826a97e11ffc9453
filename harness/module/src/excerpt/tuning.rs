//! The configurations that an autotuner tries, as far as a module's text shows them. Configurations that are computed
//! from properties of a GPU are not read, and nothing here decides which one is the fastest.

use std::collections::{BTreeMap, HashMap, HashSet};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Number, Operator, PySourceType, Stmt};

use super::decorators::{is_autotune, is_gluon, is_heuristics, is_kernel, is_static_kernel, strip_arguments};
use crate::module;

/// Maximum number of configurations that are read for a kernel.
const CONFIGS_MOST: usize = 64;

/// Maximum number of expressions and statements that are read for a kernel.
const STEPS_MOST: usize = 4096;

/// How deep names lead to others.
const DEPTH_MOST: usize = 12;

/// A configuration: the value of each parameter, as written in a case file; `None` if the value is unknown.
pub type Config = BTreeMap<String, Option<String>>;

/// Facts about a kernel in a module's text, other than what the kernel computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelMetadata {
    /// The configurations of its autotuner.
    pub configs: Vec<Config>,
    /// The parts of its autotuner that change memory around a launch, by their names.
    pub hooks: Vec<&'static str>,
    /// Whether other kernels call it or it returns something, and nothing in the file launches it.
    pub is_function: bool,
    /// Whether it is written in Gluon.
    pub is_gluon: bool,
    /// Parameters that its heuristics compute.
    pub computed: Vec<String>,
    /// Parameters that its heuristics compare with numbers.
    pub thresholds: Vec<(String, i64)>,
}

/// Reads the metadata of a module's kernels, by name.
pub fn read_metadata(text: &str) -> HashMap<String, KernelMetadata> {
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        let body = &parsed.syntax().body;
        let mut calls = Calls::default();
        calls.visit_body(body);
        let mut all = HashMap::new();
        visit_kernels(body, "", &mut |name, def| {
            let mut reader = Reader {
                body,
                configs: Vec::new(),
                steps: 0,
            };
            let autotuners = def.decorator_list.iter().filter_map(|decorator| {
                let call = decorator.expression.as_call_expr()?;
                is_autotune(strip_arguments(&decorator.expression)).then_some(call)
            });
            let mut hooks = Vec::new();
            for call in autotuners {
                hooks.extend(hooks_of(call));
                if let Some(configs) = call.arguments.find_argument_value("configs", 0) {
                    reader.collect_configs(configs, &Names::new(), 0);
                }
            }
            let mut thresholds = ThresholdFinder::default();
            let mut computed = Vec::new();
            for decorator in &def.decorator_list {
                if let Expr::Call(call) = &decorator.expression
                    && is_heuristics(&call.func)
                {
                    thresholds.visit_expr(&decorator.expression);
                    if let Some(Expr::Dict(values)) = call.arguments.find_argument_value("values", 0) {
                        let keys = values.items.iter().filter_map(|item| item.key.as_ref());
                        let names = keys.filter_map(|key| key.as_string_literal_expr());
                        computed.extend(names.map(|name| name.value.to_string()));
                    }
                }
            }
            let mut decorators = def.decorator_list.iter();
            let found = KernelMetadata {
                configs: reader.configs,
                hooks,
                is_function: !calls.launched.contains(def.name.as_str())
                    && (calls.by_kernels.contains(def.name.as_str()) || has_return_value(&def.body)),
                is_gluon: decorators.any(|decorator| is_gluon(strip_arguments(&decorator.expression))),
                computed,
                thresholds: thresholds.thresholds,
            };
            all.insert(name, found);
        });
        all
    })
}

/// The parts of an autotuner that change memory around a launch: its own, and the hooks of configurations inside the
/// call.
fn hooks_of(call: &ast::ExprCall) -> Vec<&'static str> {
    let given = |call: &ast::ExprCall, name: &str| {
        let argument = call.arguments.find_keyword(name);
        argument.is_some_and(|argument| !argument.value.is_none_literal_expr())
    };
    let mut found = HookFinder::default();
    found.visit_expr(&Expr::Call(call.clone()));
    let own = ["reset_to_zero", "restore_value", "post_hook"];
    let own = own.into_iter().filter(|name| given(call, name));
    own.chain(found.has_pre_hook.then_some("pre_hook")).collect()
}

/// Finds comparisons of a heuristic's arguments with numbers: `args["N"] < 64`.
#[derive(Default)]
struct ThresholdFinder {
    thresholds: Vec<(String, i64)>,
}

impl<'a> Visitor<'a> for ThresholdFinder {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Compare(compare) = expr
            && let [other] = &*compare.comparators
        {
            let number = |expr: &Expr| match expr {
                Expr::NumberLiteral(literal) => match &literal.value {
                    Number::Int(int) => int.as_i64(),
                    _ => None,
                },
                _ => None,
            };
            let argument = |expr: &Expr| {
                Some(
                    expr.as_subscript_expr()?
                        .slice
                        .as_string_literal_expr()?
                        .value
                        .to_string(),
                )
            };
            let found = argument(&compare.left)
                .zip(number(other))
                .or_else(|| argument(other).zip(number(&compare.left)));
            self.thresholds
                .extend(found.filter(|one| !self.thresholds.contains(one)));
        }
        walk_expr(self, expr);
    }
}

/// Finds a `pre_hook` among the arguments of calls.
#[derive(Default)]
struct HookFinder {
    has_pre_hook: bool,
}

impl<'a> Visitor<'a> for HookFinder {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let hook = call.arguments.find_keyword("pre_hook");
            self.has_pre_hook |= hook.is_some_and(|hook| !hook.value.is_none_literal_expr());
        }
        walk_expr(self, expr);
    }
}

/// Whether a function returns a value, which no kernel does.
fn has_return_value(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        if let Stmt::Return(returned) = stmt {
            returned
                .value
                .as_ref()
                .is_some_and(|value| !value.is_none_literal_expr())
        } else {
            let mut found = false;
            super::imports::visit_bodies(stmt, &mut |body| found |= has_return_value(body));
            found
        }
    })
}

/// Which functions of a module are called by kernels, and which are launched.
#[derive(Default)]
struct Calls<'a> {
    in_kernel: bool,
    by_kernels: HashSet<&'a str>,
    launched: HashSet<&'a str>,
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let around = self.in_kernel;
        if let Stmt::FunctionDef(def) = stmt {
            self.in_kernel = is_kernel(def);
        }
        walk_stmt(self, stmt);
        self.in_kernel = around;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            match &*call.func {
                Expr::Name(name) if self.in_kernel => {
                    self.by_kernels.insert(&name.id);
                }
                Expr::Subscript(subscript) => {
                    match &*subscript.value {
                        Expr::Name(name) => self.launched.insert(name.id.as_str()),
                        Expr::Attribute(attribute) => self.launched.insert(attribute.attr.as_str()),
                        _ => false,
                    };
                }
                _ => {}
            }
        }
        walk_expr(self, expr);
    }
}

fn visit_kernels<'a>(
    body: &'a [Stmt],
    prefix: &str,
    visit: &mut impl FnMut(String, &'a ast::StmtFunctionDef),
) {
    for stmt in body {
        if let Stmt::FunctionDef(def) = stmt {
            let name = format!("{prefix}{}", def.name);
            let mut decorators = def.decorator_list.iter();
            if is_kernel(def) || decorators.any(|decorator| is_gluon(strip_arguments(&decorator.expression)))
            {
                visit(name.clone(), def);
            }
            visit_kernels(&def.body, &format!("{name}."), visit);
        }
        if let Stmt::ClassDef(class) = stmt {
            for stmt in &class.body {
                if let Stmt::FunctionDef(def) = stmt
                    && is_static_kernel(def)
                {
                    visit(format!("{prefix}{}.{}", class.name, def.name), def);
                }
            }
        }
        let mut bodies = Vec::new();
        super::imports::visit_bodies(stmt, &mut |body| bodies.push(body));
        for body in bodies {
            visit_kernels(body, prefix, visit);
        }
    }
}

/// A value of plain Python.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    /// Any other value that a case file can contain, as written there.
    Text(String),
    List(Vec<Value>),
}

impl Value {
    fn to_text(&self) -> Option<String> {
        match self {
            Self::Int(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::List(_) => None,
        }
    }
}

type Names = HashMap<String, Value>;

struct Reader<'a> {
    body: &'a [Stmt],
    configs: Vec<Config>,
    steps: usize,
}

impl<'a> Reader<'a> {
    /// Notes the configurations that an expression is made of.
    fn collect_configs(&mut self, expr: &'a Expr, names: &Names, depth: usize) {
        self.steps += 1;
        if depth > DEPTH_MOST || self.configs.len() >= CONFIGS_MOST || self.steps > STEPS_MOST {
            return;
        }
        match expr {
            Expr::Call(call) => self.read_call(call, names, depth),
            Expr::List(list) => {
                for one in &list.elts {
                    self.collect_configs(one, names, depth + 1);
                }
            }
            Expr::Tuple(tuple) => {
                for one in &tuple.elts {
                    self.collect_configs(one, names, depth + 1);
                }
            }
            Expr::Starred(starred) => self.collect_configs(&starred.value, names, depth + 1),
            Expr::If(choice) => {
                self.collect_configs(&choice.body, names, depth + 1);
                self.collect_configs(&choice.orelse, names, depth + 1);
            }
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                self.collect_configs(&sum.left, names, depth + 1);
                self.collect_configs(&sum.right, names, depth + 1);
            }
            Expr::ListComp(list) => self.expand_comprehension(&list.elt, &list.generators, names, depth + 1),
            Expr::Generator(list) => self.expand_comprehension(&list.elt, &list.generators, names, depth + 1),
            Expr::Name(name) => {
                if let Some(value) = find_assignment(self.body, &name.id) {
                    self.collect_configs(value, names, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn expand_comprehension(
        &mut self,
        elt: &'a Expr,
        generators: &'a [ast::Comprehension],
        names: &Names,
        depth: usize,
    ) {
        self.steps += 1;
        if self.steps > STEPS_MOST {
            return;
        }
        let Some((first, rest)) = generators.split_first() else {
            self.collect_configs(elt, names, depth);
            return;
        };
        let Some(Value::List(values)) = self.evaluate(&first.iter, names, depth) else {
            // Whatever it goes through: once.
            self.expand_comprehension(elt, rest, names, depth + 1);
            return;
        };
        for value in values {
            let mut names = names.clone();
            bind(&first.target, value, &mut names);
            self.expand_comprehension(elt, rest, &names, depth + 1);
        }
    }

    fn read_call(&mut self, call: &'a ast::ExprCall, names: &Names, depth: usize) {
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        if name == "Config" {
            let Some(Expr::Dict(dict)) = call.arguments.find_argument_value("kwargs", 0) else {
                return;
            };
            let mut config = Config::new();
            for item in &dict.items {
                if let Some(Expr::StringLiteral(key)) = &item.key {
                    let value = self.evaluate(&item.value, names, depth + 1);
                    config.insert(
                        key.value.to_str().to_owned(),
                        value.as_ref().and_then(Value::to_text),
                    );
                }
            }
            if !self.configs.contains(&config) {
                self.configs.push(config);
            }
            return;
        }
        let function = self.body.iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(def) if def.name.as_str() == name => Some(def),
            _ => None,
        });
        match function {
            Some(def) => {
                let mut inner = Names::new();
                let parameters = def.parameters.iter_non_variadic_params();
                for (at, parameter) in parameters.enumerate() {
                    let given = call.arguments.find_argument_value(parameter.name(), at);
                    let value = given.or_else(|| parameter.default());
                    if let Some(value) = value.and_then(|value| self.evaluate(value, names, depth + 1)) {
                        inner.insert(parameter.name().to_string(), value);
                    }
                }
                self.read_statements(&def.body, &mut inner, depth + 1);
            }
            // `list(filter(keep, configs))`.
            None => {
                for argument in &call.arguments.args {
                    self.collect_configs(argument, names, depth + 1);
                }
            }
        }
    }

    fn read_statements(&mut self, body: &'a [Stmt], names: &mut Names, depth: usize) {
        self.steps += 1;
        if depth > DEPTH_MOST || self.steps > STEPS_MOST {
            return;
        }
        for stmt in body {
            match stmt {
                Stmt::Return(ast::StmtReturn {
                    value: Some(value), ..
                }) => self.collect_configs(value, names, depth + 1),
                Stmt::Expr(expr) => self.collect_configs(&expr.value, names, depth + 1),
                Stmt::Assign(assign) => {
                    self.collect_configs(&assign.value, names, depth + 1);
                    if let (Some(value), [target]) = (
                        self.evaluate(&assign.value, names, depth + 1),
                        &assign.targets[..],
                    ) {
                        bind(target, value, names);
                    }
                }
                Stmt::For(each) => {
                    let values = match self.evaluate(&each.iter, names, depth + 1) {
                        Some(Value::List(values)) => values,
                        _ => Vec::new(),
                    };
                    for value in values {
                        bind(&each.target, value, names);
                        self.read_statements(&each.body, names, depth + 1);
                    }
                }
                _ => {
                    let mut bodies = Vec::new();
                    super::imports::visit_bodies(stmt, &mut |body| bodies.push(body));
                    for body in bodies {
                        self.read_statements(body, names, depth + 1);
                    }
                }
            }
        }
    }

    fn evaluate(&self, expr: &Expr, names: &Names, depth: usize) -> Option<Value> {
        if depth > DEPTH_MOST {
            return None;
        }
        let list = |elts: &[Expr]| {
            let values: Option<Vec<Value>> = elts
                .iter()
                .map(|one| self.evaluate(one, names, depth + 1))
                .collect();
            values.map(Value::List)
        };
        match expr {
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => int.as_i64().map(Value::Int),
                Number::Float(float) => Some(Value::Text(format!("{float:?}"))),
                Number::Complex { .. } => None,
            },
            Expr::BooleanLiteral(one) => Some(Value::Text(one.value.to_string())),
            Expr::NoneLiteral(_) => Some(Value::Text("null".to_owned())),
            Expr::List(one) => list(&one.elts),
            Expr::Tuple(one) => list(&one.elts),
            Expr::Name(name) => match names.get(name.id.as_str()) {
                Some(value) => Some(value.clone()),
                None => self.evaluate(find_assignment(self.body, &name.id)?, names, depth + 1),
            },
            Expr::If(choice) => self.evaluate(&choice.orelse, names, depth + 1),
            Expr::BinOp(binary) => {
                let (Value::Int(a), Value::Int(b)) = (
                    self.evaluate(&binary.left, names, depth + 1)?,
                    self.evaluate(&binary.right, names, depth + 1)?,
                ) else {
                    return None;
                };
                let result = match binary.op {
                    Operator::Add => a.checked_add(b),
                    Operator::Sub => a.checked_sub(b),
                    Operator::Mult => a.checked_mul(b),
                    Operator::FloorDiv => a.checked_div_euclid(b),
                    Operator::Pow => a.checked_pow(u32::try_from(b).ok()?),
                    Operator::LShift => 1_i64
                        .checked_shl(u32::try_from(b).ok()?)
                        .and_then(|factor| a.checked_mul(factor)),
                    _ => None,
                };
                result.map(Value::Int)
            }
            _ => None,
        }
    }
}

fn bind(target: &Expr, value: Value, names: &mut Names) {
    match (target, value) {
        (Expr::Name(name), value) => {
            names.insert(name.id.to_string(), value);
        }
        (Expr::Tuple(targets), Value::List(values)) => {
            for (target, value) in targets.elts.iter().zip(values) {
                bind(target, value, names);
            }
        }
        _ => {}
    }
}

/// The value that a module assigns to a name.
fn find_assignment<'a>(body: &'a [Stmt], name: &str) -> Option<&'a Expr> {
    body.iter().rev().find_map(|stmt| match stmt {
        Stmt::Assign(assign) => assign
            .targets
            .iter()
            .any(|target| matches!(target, Expr::Name(one) if one.id == *name))
            .then_some(&*assign.value),
        Stmt::AnnAssign(ast::StmtAnnAssign {
            target,
            value: Some(value),
            ..
        }) => matches!(&**target, Expr::Name(one) if one.id == *name).then_some(&**value),
        _ => {
            let mut found = None;
            super::imports::visit_bodies(stmt, &mut |body| {
                found = found.or_else(|| find_assignment(body, name));
            });
            found
        }
    })
}

/// The product of the numbers of a configuration.
pub fn compute_volume(config: &Config) -> i64 {
    let numbers = config.values().flatten().filter_map(|value| value.parse().ok());
    numbers.fold(1_i64, |all, one: i64| all.saturating_mul(one.max(1)))
}
