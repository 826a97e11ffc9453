//! Conditions of a module that depend on the machine: which GPU it has, whether Triton is installed. An excerpt
//! decides them: a requested kernel is defined, Triton is installed and recent, and the GPU is NVIDIA's. Conditions
//! that can be computed anywhere stay, for example those on Triton's version.

use std::ops::Range;

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{self as ast, BoolOp, Expr, Stmt, UnaryOp};

use super::decorators::{is_kernel, makes_kernels};
use super::imports::{Import, ImportedItem, range_of, visit_bodies};

/// Maximum number of assignments that a name is followed through.
const DEPTH_MOST: usize = 4;

/// Functions that return the same on every machine.
const PURE: [&str; 12] = [
    "bool",
    "float",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "len",
    "max",
    "min",
    "str",
    "getenv",
    "get",
];

/// Parts of names that are about other machines, or about tools that read a file without running it.
const ELSEWHERE: [&str; 12] = [
    "amd",
    "ascend",
    "cpu",
    "hip",
    "interpret",
    "mthreads",
    "musa",
    "npu",
    "rocm",
    "tpu",
    "type_checking",
    "xpu",
];

/// The conditions to be replaced, and with what.
pub(super) fn decide_conditions(
    text: &str,
    body: &[Stmt],
    imports: &[Import],
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(Range<usize>, String)> {
    let mut decider = Decider {
        module: body,
        imports,
        is_requested: wanted,
        edits: Vec::new(),
    };
    decider.decide_body(body);
    let mut builds = Builds(Vec::new());
    builds.visit_body(body);
    let is_decided = |range: &Range<usize>| {
        let mut tests = decider.edits.iter();
        tests.any(|(test, _)| test.start <= range.start && range.end <= test.end)
    };
    builds.0.retain(|range| !is_decided(range));
    let nothing = builds.0.into_iter().map(|range| (range, "None".to_owned()));
    decider.edits.extend(nothing);
    let mut unset = Environment(Vec::new());
    unset.visit_body(body);
    for (call, default) in unset.0 {
        let is_inside =
            |(range, _): &(Range<usize>, String)| range.start <= call.start && call.end <= range.end;
        let default = default.map_or(Some("None"), |range| text.get(range));
        if let Some(default) = default.filter(|default| !default.contains('\n'))
            && !decider.edits.iter().any(is_inside)
        {
            decider.edits.push((call, format!("({default})")));
        }
    }
    decider.edits
}

/// Locations that read the version of another vendor's tools from torch: `torch.version.hip`, which is `None` for an
/// NVIDIA GPU.
struct Builds(Vec<Range<usize>>);

impl<'a> Visitor<'a> for Builds {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Attribute(attribute)
                if matches!(attribute.attr.as_str(), "hip" | "xpu")
                    && is_torchs_version(&attribute.value) =>
            {
                self.0.push(range_of(expr));
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// Reads of environment variables, each with its default: none is set.
struct Environment(Vec<(Range<usize>, Option<Range<usize>>)>);

impl<'a> Visitor<'a> for Environment {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) if is_environment_read(&call.func) => {
                let default = call.arguments.find_argument_value("default", 1);
                self.0.push((range_of(expr), default.map(range_of)));
            }
            _ => walk_expr(self, expr),
        }
    }
}

/// `os.environ.get` or `os.getenv`.
fn is_environment_read(function: &Expr) -> bool {
    let Expr::Attribute(method) = function else {
        return false;
    };
    let is_os = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id == "os");
    match (method.attr.as_str(), &*method.value) {
        ("getenv", module) => is_os(module),
        ("get", Expr::Attribute(environ)) => environ.attr.as_str() == "environ" && is_os(&environ.value),
        _ => false,
    }
}

fn is_torchs_version(expr: &Expr) -> bool {
    matches!(expr, Expr::Attribute(version) if version.attr.as_str() == "version"
        && matches!(&*version.value, Expr::Name(torch) if torch.id == "torch"))
}

struct Decider<'a> {
    module: &'a [Stmt],
    imports: &'a [Import],
    is_requested: &'a dyn Fn(&str) -> bool,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Decider<'a> {
    fn decide_body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::If(branch) => self.decide_branch(branch),
                // It is called, to get at its kernels.
                Stmt::FunctionDef(def) if makes_kernels(&def.body) => self.decide_body(&def.body),
                _ => {
                    let mut bodies = Vec::new();
                    visit_bodies(stmt, &mut |body| bodies.push(body));
                    for body in bodies {
                        self.decide_body(body);
                    }
                }
            }
        }
    }

    fn decide_branch(&mut self, branch: &'a ast::StmtIf) {
        let clauses = branch.elif_else_clauses.iter();
        let branches: Vec<(Option<&Expr>, &[Stmt])> =
            std::iter::once((Some(&*branch.test), &branch.body[..]))
                .chain(clauses.map(|clause| (clause.test.as_ref(), &clause.body[..])))
                .collect();
        let has_alternative = |own: usize| {
            let others = branches.iter().enumerate().filter(|(at, _)| *at != own);
            let bodies = others.flat_map(|(_, (_, body))| body.iter());
            bodies.into_iter().any(|stmt| self.is_requested_alternative(stmt))
        };
        let defining = branches
            .iter()
            .position(|(_, body)| self.has_requested_kernel(body))
            .filter(|at| !has_alternative(*at));
        let open = branches
            .iter()
            .filter_map(|(test, _)| *test)
            .any(|test| self.is_machine_dependent(test, 0));
        let taken = match defining {
            Some(taken) => Some(taken),
            None if open => branches
                .iter()
                .position(|(test, _)| test.is_none_or(is_likely))
                .or(Some(branches.len())),
            None => None,
        };
        for (at, (test, body)) in branches.into_iter().enumerate() {
            if let (Some(taken), Some(test)) = (taken, test)
                && at <= taken
                && !matches!(test, Expr::BooleanLiteral(_))
            {
                let decided = if at == taken { "True" } else { "False" };
                self.edits.push((range_of(test), decided.to_owned()));
            }
            if taken.is_none_or(|taken| taken == at) {
                self.decide_body(body);
            }
        }
    }

    /// Whether a statement gives a requested name to a function of a library: `cast = tl.cast`. A fallback such as `None` is none.
    fn is_requested_alternative(&self, stmt: &Stmt) -> bool {
        let Stmt::Assign(assign) = stmt else { return false };
        let is_requested =
            |target: &Expr| matches!(target, Expr::Name(name) if (self.is_requested)(&name.id));
        assign.value.is_attribute_expr() && assign.targets.iter().any(is_requested)
    }

    fn has_requested_kernel(&self, body: &[Stmt]) -> bool {
        body.iter().any(|stmt| {
            if let Stmt::FunctionDef(def) = stmt {
                (self.is_requested)(&def.name) && is_kernel(def)
            } else {
                let mut found = false;
                visit_bodies(stmt, &mut |body| found |= self.has_requested_kernel(body));
                found
            }
        })
    }

    /// Whether a condition depends on facts about the machine.
    fn is_machine_dependent(&self, test: &Expr, depth: usize) -> bool {
        let mut walk = Depends {
            decider: self,
            depth,
            is_dependent: depth > DEPTH_MOST,
        };
        walk.visit_expr(test);
        walk.is_dependent
    }

    fn name_depends(&self, name: &str, depth: usize) -> bool {
        let mut aliases = self.imports.iter().flat_map(|import| &import.aliases);
        if let Some(alias) = aliases.find(|alias| alias.bound == name) {
            let module = match &alias.item {
                ImportedItem::Module(module) | ImportedItem::From { level: 0, module, .. } => module.as_str(),
                ImportedItem::From { .. } => "",
            };
            let root = module.split('.').next().unwrap_or_default();
            return !matches!(root, "triton" | "os" | "sys" | "math" | "packaging");
        }
        let mut values = Vec::new();
        collect_assignments(self.module, name, &mut values);
        values
            .iter()
            .any(|value| self.is_machine_dependent(value, depth + 1))
    }
}

fn collect_assignments<'a>(body: &'a [Stmt], name: &str, values: &mut Vec<&'a Expr>) {
    for stmt in body {
        match stmt {
            Stmt::Assign(assign) => {
                let mut targets = assign.targets.iter();
                if targets.any(|target| matches!(target, Expr::Name(one) if one.id == *name)) {
                    values.push(&assign.value);
                }
            }
            Stmt::AnnAssign(ast::StmtAnnAssign {
                target,
                value: Some(value),
                ..
            }) if matches!(&**target, Expr::Name(one) if one.id == *name) => values.push(value),
            _ => visit_bodies(stmt, &mut |body| collect_assignments(body, name, values)),
        }
    }
}

struct Depends<'d, 'a> {
    decider: &'d Decider<'a>,
    depth: usize,
    is_dependent: bool,
}

impl<'a> Visitor<'a> for Depends<'_, '_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                let name = match &*call.func {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => "",
                };
                if PURE.contains(&name) || name == "parse" || name == "Version" {
                    walk_expr(self, expr);
                } else {
                    self.is_dependent = true;
                }
            }
            Expr::Name(name) => self.is_dependent |= self.decider.name_depends(&name.id, self.depth),
            _ => walk_expr(self, expr),
        }
    }
}

/// Whether a condition holds where Triton is installed with a GPU of NVIDIA's, by the names in it.
fn is_likely(test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => !is_likely(&unary.operand),
        Expr::BoolOp(both) if both.op == BoolOp::And => both.values.iter().all(is_likely),
        Expr::BoolOp(either) => either.values.iter().any(is_likely),
        _ => {
            let mut walk = Elsewhere(false);
            walk.visit_expr(test);
            !walk.0
        }
    }
}

struct Elsewhere(bool);

impl<'a> Visitor<'a> for Elsewhere {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let name = match expr {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            Expr::StringLiteral(text) => text.value.to_str(),
            _ => "",
        };
        self.0 |= is_elsewhere(name);
        walk_expr(self, expr);
    }
}

/// Whether a name is about machines or tools for which no kernel is compiled here.
pub fn is_elsewhere(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    lower == "type_checking"
        || words.any(|word| {
            let mut parts = word.split('_');
            ELSEWHERE.contains(&word) || parts.any(|part| ELSEWHERE.contains(&part))
        })
}
