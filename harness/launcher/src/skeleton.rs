//! A first case file for a kernel that has none: its parameters are found, its layouts guessed, every guess marked.
//!
//! What a parameter is, is read off the kernel's own text: what `tl.load` and `tl.store` reach through is a tensor, what is
//! multiplied into such an address and is called a stride is that tensor's stride, what `tl.arange` counts to is a size of a
//! block. Names decide where the text does not. Left out: whether the guess runs, which an engine tells.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceId, Span};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Operator, PySourceType, Stmt};

use cerith_case::expr::is_reserved;
use cerith_module::kernel::{Function, Parameter, ParameterKind};
use cerith_module::module;
use cerith_python::nearest::suggestion;

/// Extent of every dimension of a tensor whose strides are passed; also the size of a block then.
const SIDE: i64 = 64;

/// Elements that a kernel without strides is told of: no multiple of a block, so that masks matter.
const LENGTH: i64 = 1000;

/// Elements of a tensor of a kernel without strides.
const FLAT: i64 = 1024;

/// Size of a block of a kernel without strides.
const BLOCK: i64 = 128;

/// The text of a case file for the kernel `name` of a module. `path` is the module's path as the case file will have it.
///
/// # Errors
/// The module has a syntax error, or no such kernel.
pub fn write_skeleton(
    source: SourceId,
    text: &str,
    path: &str,
    name: &str,
) -> Result<String, Vec<Diagnostic>> {
    let contents = module::parse(source, text)?;
    let Some(function) = contents.functions.iter().find(|function| function.name == name) else {
        let kernels = contents
            .functions
            .iter()
            .filter(|function| function.jit)
            .map(|function| function.name.as_str());
        let help = suggestion(name, kernels)
            .unwrap_or_else(|| "name a function with `@triton.jit` of this file".to_owned());
        let message = format!("no kernel `{name}` in {path}");
        return Err(vec![
            Diagnostic::error("unknown-kernel", Span::new(source, 0, 0), message).help(help),
        ]);
    };
    Ok(write(function, &read(text, name, function), path))
}

/// What the kernel does with its parameters.
#[derive(Debug, Default)]
struct Uses {
    parameters: HashSet<String>,
    /// What each variable is made of.
    made_of: HashMap<String, Vec<Expr>>,
    /// Addresses that are loaded from, and stored to.
    loaded: Vec<Expr>,
    stored: Vec<Expr>,
    /// Strides by the tensor that they belong to, in the order in which they appear.
    strides: HashMap<String, Vec<String>>,
    read: HashSet<String>,
    written: HashSet<String>,
    /// Parameters with a method `load`, `store` or the like: descriptors, and the dimensions they are indexed with.
    descriptors: HashMap<String, usize>,
    /// Names that `tl.arange` counts to.
    ranges: HashSet<String>,
    /// Names that decide an `if` by themselves.
    flags: HashSet<String>,
    /// Names that are compared with a string.
    texts: HashMap<String, String>,
    /// Names that are given to `.to(…)` or `dtype=`.
    dtypes: HashSet<String>,
    /// One more than the last axis of `tl.program_id`.
    axes: usize,
}

fn read(text: &str, name: &str, function: &Function) -> Uses {
    let mut uses = Uses {
        parameters: function
            .parameters
            .iter()
            .map(|parameter| parameter.name.clone())
            .collect(),
        ..Uses::default()
    };
    // `module::parse` has been through: it is neither too long nor too deep.
    module::with_stack(text, || {
        let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
        if let Some(body) = module::body_of(&parsed.syntax().body, name) {
            uses.visit_body(body);
        }
        uses.settle();
    });
    uses
}

/// The last name of `tl.load`, or of `load`.
fn find_last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

fn name_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        _ => None,
    }
}

impl<'a> Visitor<'a> for Uses {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.define(target, &assign.value);
                }
            }
            Stmt::AugAssign(assign) => self.define(&assign.target, &assign.value),
            Stmt::AnnAssign(ast::StmtAnnAssign {
                target,
                value: Some(value),
                ..
            }) => self.define(target, value),
            Stmt::If(branch) => {
                let tests = branch
                    .elif_else_clauses
                    .iter()
                    .filter_map(|clause| clause.test.as_ref());
                for test in tests.chain([&*branch.test]) {
                    self.read_test(test);
                }
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.read_call(call),
            Expr::Compare(compare) => {
                if let (Some(name), [Expr::StringLiteral(text)]) =
                    (name_of(&compare.left), &*compare.comparators)
                {
                    self.texts.insert(name.to_owned(), text.value.to_str().to_owned());
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

impl Uses {
    fn define(&mut self, target: &Expr, value: &Expr) {
        if let Some(name) = name_of(target) {
            self.made_of
                .entry(name.to_owned())
                .or_default()
                .push(value.clone());
        }
    }

    fn read_test(&mut self, test: &Expr) {
        match test {
            Expr::Name(name) => {
                self.flags.insert(name.id.to_string());
            }
            Expr::UnaryOp(not) => self.read_test(&not.operand),
            Expr::BoolOp(both) => both.values.iter().for_each(|value| self.read_test(value)),
            _ => {}
        }
    }

    fn read_call(&mut self, call: &ast::ExprCall) {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        if let Some(name) = argument("dtype", usize::MAX).and_then(name_of) {
            self.dtypes.insert(name.to_owned());
        }
        match find_last_name(&call.func) {
            Some("load") if self.is_method(call) => self.read_descriptor_call(call, false),
            Some("store" | "atomic_add" | "atomic_max" | "atomic_min") if self.is_method(call) => {
                self.read_descriptor_call(call, true);
            }
            Some("load") => self.loaded.extend(argument("pointer", 0).cloned()),
            Some("store") => self.stored.extend(argument("pointer", 0).cloned()),
            Some(atomic) if atomic.starts_with("atomic_") => {
                let address = argument("pointer", 0);
                self.loaded.extend(address.cloned());
                self.stored.extend(address.cloned());
            }
            Some("make_block_ptr" | "make_tensor_descriptor") => {
                let strides = match argument("strides", 2) {
                    Some(Expr::Tuple(tuple)) => &tuple.elts[..],
                    Some(Expr::List(list)) => &list.elts[..],
                    _ => &[],
                };
                if let Some(base) = argument("base", 0).and_then(name_of).map(str::to_owned) {
                    for stride in strides.iter().filter_map(name_of) {
                        self.add_stride(&base, stride.to_owned());
                    }
                    self.read.insert(base);
                }
            }
            Some("arange") => self
                .ranges
                .extend(argument("end", 1).and_then(name_of).map(str::to_owned)),
            Some("to") => self
                .dtypes
                .extend(argument("dtype", 0).and_then(name_of).map(str::to_owned)),
            Some("program_id") => {
                let axis = match argument("axis", 0) {
                    Some(Expr::NumberLiteral(ast::ExprNumberLiteral {
                        value: ast::Number::Int(axis),
                        ..
                    })) => axis.as_usize().unwrap_or(0).min(2),
                    _ => 0,
                };
                self.axes = self.axes.max(axis + 1);
            }
            _ => {}
        }
    }

    /// Whether it is a method of a parameter.
    fn is_method(&self, call: &ast::ExprCall) -> bool {
        matches!(&*call.func, Expr::Attribute(method)
            if name_of(&method.value).is_some_and(|name| self.parameters.contains(name)))
    }

    fn read_descriptor_call(&mut self, call: &ast::ExprCall, stores: bool) {
        let Expr::Attribute(method) = &*call.func else {
            return;
        };
        let Some(name) = name_of(&method.value).map(str::to_owned) else {
            return;
        };
        let dimensions = match call.arguments.find_argument_value("offsets", 0) {
            Some(Expr::List(list)) => list.elts.len(),
            Some(Expr::Tuple(tuple)) => tuple.elts.len(),
            _ => 2,
        };
        let end = if stores { &mut self.written } else { &mut self.read };
        end.insert(name.clone());
        self.descriptors.insert(name, dimensions);
    }

    fn add_stride(&mut self, tensor: &str, stride: String) {
        if self.parameters.contains(&stride) && !self.strides.values().flatten().any(|known| *known == stride)
        {
            self.strides.entry(tensor.to_owned()).or_default().push(stride);
        }
    }

    /// Finds the tensor that each address is in, and the strides that go into it.
    fn settle(&mut self) {
        let loaded = std::mem::take(&mut self.loaded);
        let stored = std::mem::take(&mut self.stored);
        for (address, stores) in loaded
            .iter()
            .map(|address| (address, false))
            .chain(stored.iter().map(|address| (address, true)))
        {
            let mut terms = Terms::default();
            self.collect_terms(address, &mut terms);
            let mut candidates = terms.names.iter().filter(|name| self.parameters.contains(*name));
            let tensor = candidates
                .clone()
                .find(|name| name.contains("ptr"))
                .or_else(|| candidates.next());
            let Some(tensor) = tensor.cloned() else { continue };
            for stride in terms.factors {
                if stride.contains("stride") {
                    self.add_stride(&tensor, stride);
                }
            }
            let end = if stores { &mut self.written } else { &mut self.read };
            end.insert(tensor);
        }
    }

    /// What an address is the sum of.
    fn collect_terms(&self, expr: &Expr, terms: &mut Terms) {
        match expr {
            Expr::BinOp(sum) if matches!(sum.op, Operator::Add | Operator::Sub) => {
                self.collect_terms(&sum.left, terms);
                self.collect_terms(&sum.right, terms);
            }
            Expr::Name(name) if self.parameters.contains(name.id.as_str()) => {
                terms.names.push(name.id.to_string());
                // A parameter may be moved on: `x_ptr += row * stride`.
                self.collect_definitions(&name.id, terms);
            }
            Expr::Name(name) => self.collect_definitions(&name.id, terms),
            Expr::Subscript(subscript) => self.collect_terms(&subscript.value, terms),
            // `tl.multiple_of(x, 16)`, `x.to(tl.int64)`.
            Expr::Call(call) => match (&*call.func, call.arguments.args.first()) {
                (Expr::Attribute(method), _) if method.attr.as_str() == "to" => {
                    self.collect_terms(&method.value, terms);
                }
                (_, Some(first)) => self.collect_terms(first, terms),
                _ => {}
            },
            Expr::BinOp(product) if product.op == Operator::Mult => {
                collect_factors(&product.left, terms);
                collect_factors(&product.right, terms);
            }
            _ => {}
        }
    }

    fn collect_definitions(&self, name: &str, terms: &mut Terms) {
        if terms.visited_names.insert(name.to_owned()) {
            for value in self.made_of.get(name).into_iter().flatten() {
                self.collect_terms(value, terms);
            }
        }
    }
}

/// Names that a product is of.
fn collect_factors(expr: &Expr, terms: &mut Terms) {
    match expr {
        Expr::Name(name) => terms.factors.push(name.id.to_string()),
        Expr::BinOp(inner) => {
            collect_factors(&inner.left, terms);
            collect_factors(&inner.right, terms);
        }
        Expr::Subscript(subscript) => collect_factors(&subscript.value, terms),
        _ => {}
    }
}

#[derive(Debug, Default)]
struct Terms {
    /// Parameters that stand in the sum by themselves.
    names: Vec<String>,
    /// Names in its products.
    factors: Vec<String>,
    /// Variables that were followed.
    visited_names: HashSet<String>,
}

/// Writes the case file.
fn write(function: &Function, uses: &Uses, path: &str) -> String {
    let strided = !uses.strides.is_empty() || !uses.descriptors.is_empty();
    let mut storages = String::new();
    let (mut by_position, mut by_name) = (String::new(), String::new());
    let mut block = None;
    // Writing to a string does not fail.
    let mut pass = |parameter: &Parameter, value: &str, guessed: bool| {
        let mark = if guessed { "  # guessed" } else { "" };
        let _ = if parameter.kind == ParameterKind::PositionalOnly {
            writeln!(by_position, "      - {value}{mark}")
        } else {
            writeln!(by_name, "{}: {value}{mark}", parameter.name)
        };
    };
    for (nth, parameter) in required_parameters(function).enumerate() {
        let name = &parameter.name;
        if is_tensor(parameter, uses) {
            let storage = storage_name(name);
            let shape = choose_shape(name, uses, strided);
            let (read, written) = (uses.read.contains(name), uses.written.contains(name));
            let fill = if read || !written {
                format!("{{ random: {{ seed: {}, edges: false }} }}", nth + 1)
            } else {
                "zeros".to_owned()
            };
            let how = match (read, written) {
                (true, true) => "read and written",
                (true, false) => "read",
                (false, true) => "written",
                (false, false) => "a tensor by its name",
            };
            let _ = writeln!(
                storages,
                "  {storage}: {{ dtype: f32, shape: {shape:?}, fill: {fill} }}  # {how}"
            );
            if uses.descriptors.contains_key(name) {
                let extents = vec![SIDE / 2; shape.len()];
                let descriptor = format!("{{ descriptor: {storage}, block_shape: {extents:?} }}");
                pass(parameter, &descriptor, true);
            } else {
                pass(parameter, &storage, false);
            }
        } else if let Some((tensor, dimension)) = stride_of(name, uses) {
            let stride = format!("{}.stride({dimension})", storage_name(tensor));
            pass(parameter, &stride, false);
        } else {
            let value = guess(parameter, uses, strided);
            if uses.ranges.contains(name) {
                block.get_or_insert(value.clone());
            }
            pass(parameter, &value, true);
        }
    }
    let grid = match (&block, strided, uses.axes) {
        (Some(block), false, 1) => format!("[\"cdiv({LENGTH}, {block})\"]"),
        (_, true, 1) => "[2]".to_owned(),
        (_, _, axes) => format!("{:?}", vec![1; axes.max(1)]),
    };
    let mut text = format!(
        "# A skeleton that `cerith import` made: what is marked as guessed is to be edited, and `about` to be written.\n\
         about: {name} as `cerith import` found it.\n\
         kernel: {path}:{name}\n",
        name = function.name
    );
    if !storages.is_empty() {
        let _ = write!(text, "storages:\n{storages}");
    }
    let _ = write!(text, "launches:\n  - grid: {grid}  # guessed\n");
    let named: Vec<&str> = by_name.lines().collect();
    match (by_position.is_empty(), named.is_empty()) {
        (true, true) => text.push_str("    args: {}\n"),
        (true, false) => {
            let _ = writeln!(text, "    args:\n      {}", named.join("\n      "));
        }
        (false, true) => {
            let _ = write!(text, "    args:\n{by_position}");
        }
        (false, false) => {
            let _ = write!(
                text,
                "    args:\n{by_position}      - {}\n",
                named.join("\n        ")
            );
        }
    }
    let given = list_omitted_parameters(function);
    if !given.is_empty() {
        let _ = writeln!(
            text,
            "    # Left to the kernel's defaults and decorators: {}.",
            given.join(", ")
        );
    }
    text
}

/// The shape of a tensor: as many dimensions as it has strides, or as its descriptor is indexed with.
fn choose_shape(name: &str, uses: &Uses, strided: bool) -> Vec<i64> {
    let strides = || uses.strides.get(name).map(|strides| strides.len().max(2));
    match uses.descriptors.get(name).copied().or_else(strides) {
        Some(dimensions) => vec![SIDE; dimensions],
        None if strided => vec![SIDE * SIDE],
        None => vec![FLAT],
    }
}

/// Parameters that a launch must give.
pub fn required_parameters(function: &Function) -> impl Iterator<Item = &Parameter> {
    function.parameters.iter().filter(|parameter| {
        !matches!(
            parameter.kind,
            ParameterKind::VarPositional | ParameterKind::VarKeyword
        ) && parameter.default.is_none()
            && !function.given_by_decorators.contains(&parameter.name)
    })
}

fn list_omitted_parameters(function: &Function) -> Vec<&str> {
    let wanted: HashSet<&str> = required_parameters(function)
        .map(|parameter| parameter.name.as_str())
        .collect();
    function
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .filter(|name| !wanted.contains(name))
        .collect()
}

fn is_tensor(parameter: &Parameter, uses: &Uses) -> bool {
    let name = &parameter.name;
    !parameter.constexpr
        && (uses.read.contains(name)
            || uses.written.contains(name)
            || name
                .to_lowercase()
                .split('_')
                .any(|word| word == "ptr" || word == "pointer"))
}

/// A name for a storage: the parameter's, where expressions leave it free.
pub fn storage_name(parameter: &str) -> String {
    if is_reserved(parameter) {
        format!("{parameter}_tensor")
    } else {
        parameter.to_owned()
    }
}

fn stride_of<'a>(name: &str, uses: &'a Uses) -> Option<(&'a str, usize)> {
    uses.strides.iter().find_map(|(tensor, strides)| {
        let at = strides.iter().position(|stride| stride == name)?;
        Some((tensor.as_str(), at))
    })
}

/// Words of names that floats have.
const FLOATS: [&str; 10] = [
    "eps", "scale", "alpha", "beta", "gamma", "p", "prob", "lr", "momentum", "slope",
];

/// A value for what is neither a tensor nor a stride.
fn guess(parameter: &Parameter, uses: &Uses, strided: bool) -> String {
    let name = &parameter.name;
    let lower = name.to_lowercase();
    let word = |wanted: &str| lower.split('_').any(|word| word == wanted);
    let length = if strided { SIDE } else { LENGTH };
    if let Some(text) = uses.texts.get(name) {
        return quote_literal(text);
    }
    if uses.flags.contains(name) || ["is", "has", "use", "even", "causal"].into_iter().any(word) {
        return "true".to_owned();
    }
    // The largest number of a dtype is none.
    let is_dtype = word("dtype") && !["max", "min", "bits", "bytes", "size"].into_iter().any(word);
    if parameter.constexpr {
        return if uses.dtypes.contains(name) || is_dtype {
            "tl.float32".to_owned()
        } else if uses.ranges.contains(name) || lower.contains("block") || lower.contains("tile") {
            if strided { SIDE } else { BLOCK }.to_string()
        } else if word("num") || word("group") {
            "2".to_owned()
        } else {
            SIDE.to_string()
        };
    }
    if lower.contains("stride") {
        return length.to_string();
    }
    if word("seed") {
        return "7".to_owned();
    }
    if FLOATS.into_iter().any(word) || parameter.annotation.as_deref() == Some("float") {
        return if word("eps") { "1e-5" } else { "0.5" }.to_owned();
    }
    length.to_string()
}

/// A value for a parameter that is neither a tensor, a stride, a size nor a block.
pub fn guess_of(parameter: &Parameter, usage: &cerith_module::usage::Usage) -> String {
    let uses = Uses {
        texts: usage.texts.iter().cloned().collect(),
        flags: usage.flags.iter().cloned().collect(),
        dtypes: usage.dtypes.iter().cloned().collect(),
        ..Uses::default()
    };
    guess(parameter, &uses, true)
}

/// A string as a case file has it: Python's quotes, no placeholders, YAML's quotes.
pub fn quote_literal(text: &str) -> String {
    let mut python = String::new();
    for c in text.chars() {
        match c {
            '\\' | '\'' => python.extend(['\\', c]),
            c if c.is_ascii_control() => {
                // Writing to a string does not fail.
                let _ = write!(python, "\\x{:02x}", c as u32);
            }
            c => python.push(c),
        }
    }
    let plain = python.replace('{', "{{").replace('}', "}}");
    format!("\"'{}'\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}
