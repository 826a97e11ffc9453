//! Reads a kernel's statements in order, keeping the value of each variable as a sum of products. See [`call`] for
//! calls, and [`super`] for the conclusions.

mod call;
mod unknown;

use std::collections::{BTreeSet, HashMap};

use ruff_python_ast::{self as ast, CmpOp, Expr, Number, Operator, Stmt, UnaryOp};

use self::call::Block;
use self::unknown::{apply_operator, build_unknown};
use super::access::Access;
use super::assigned;
use super::facts::{Flags, Sentinel, Usage};
use super::library::Library;
use super::polynomial::{Atom, Polynomial};

/// How deep functions call each other, and how many calls are followed in all.
const CALLS_DEEP: usize = 12;
const CALLS_MOST: usize = 512;

/// State of reading: everything learned from the statements so far.
pub(super) struct Reader<'a> {
    library: &'a Library<'a>,
    /// The module of the function that is read.
    module: &'a str,
    /// The function that the kernel is defined in.
    outer: Option<&'a str>,
    /// How many functions are around the statement, the kernel left out.
    depth: usize,
    calls: usize,
    /// The values that the current function returns.
    returned: Option<Vec<Polynomial>>,
    /// Block pointers and descriptors, by the number in their names.
    blocks: Vec<Block>,
    parameters: &'a [String],
    constants: &'a BTreeSet<String>,
    /// Flags whose values are known.
    flags: &'a Flags,
    variables: HashMap<String, Polynomial>,
    /// Variables that a loop adds to at every turn: what they are is known from its beginning.
    advanced: Vec<BTreeSet<String>>,
    pub accesses: Vec<Access>,
    /// Left side less right side of comparisons by `<` and `<=`, and the other way round of the others.
    pub compared: Vec<Polynomial>,
    /// Whether what is read is an argument of a load.
    loads: bool,
    /// Where the access that is read is in the module of the kernel.
    at: Option<u32>,
    /// Parameters that something is compared with by `<=`, other than in a load.
    pub at_most: BTreeSet<String>,
    /// Parameters that something is compared with by `<`.
    pub below: BTreeSet<String>,
    /// For each loop, the parameter that it counts to, if there is one.
    pub loops: Vec<Option<Counted>>,
    /// One more than the last axis of `tl.program_id`.
    pub axes: usize,
    /// Axes whose number of programs is a step.
    pub persistent: BTreeSet<u8>,
    /// Facts that need no further analysis.
    pub usage: Usage,
    /// Tensors whose values are indices.
    pub indexing: BTreeSet<String>,
    /// Tensors and the values with which theirs are compared.
    pub sentinels: BTreeSet<(String, Sentinel)>,
    /// Tensors with elements that `tl.atomic_cas` replaces.
    pub locks: BTreeSet<String>,
    /// Whether the arguments of an assertion are read.
    asserts: bool,
    /// Tensors whose values are integers.
    pub integers: BTreeSet<String>,
}

/// The index of `for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0))`: over all programs and iterations, it is each
/// row once.
fn find_shared_index(start: &Polynomial, end: &Polynomial, step: &Polynomial) -> Option<Polynomial> {
    let size = end.as_param()?;
    let Atom::Program(axis) = start.as_atom()? else {
        return None;
    };
    if step.as_number().is_some() {
        return None;
    }
    Some(Polynomial::from_atom(Atom::Other {
        text: format!("of all programs below {size}"),
        programs: BTreeSet::from([*axis]),
        below: Some(Box::new(end.clone())),
        part: None,
        loaded: None,
    }))
}

/// The end of a loop: `for k in range(0, K, BLOCK)`, or `for k in range(0, tl.cdiv(K, BLOCK))`.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    /// The parameter that no index exceeds which rises by `step` in each turn.
    pub size: String,
    pub step: Polynomial,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        library: &'a Library<'a>,
        module: &'a str,
        parameters: &'a [String],
        constants: &'a BTreeSet<String>,
        flags: &'a Flags,
    ) -> Self {
        Self {
            library,
            module,
            outer: None,
            depth: 0,
            calls: 0,
            returned: None,
            blocks: Vec::new(),
            parameters,
            constants,
            flags,
            variables: HashMap::new(),
            advanced: Vec::new(),
            accesses: Vec::new(),
            compared: Vec::new(),
            loads: false,
            at: None,
            at_most: BTreeSet::new(),
            below: BTreeSet::new(),
            loops: Vec::new(),
            axes: 0,
            persistent: BTreeSet::new(),
            usage: Usage::default(),
            indexing: BTreeSet::new(),
            sentinels: BTreeSet::new(),
            locks: BTreeSet::new(),
            asserts: false,
            integers: BTreeSet::new(),
        }
    }

    pub(super) fn read(&mut self, name: &'a str) {
        self.outer = name.split_once('.').map(|(outer, _)| outer);
        if let Some(body) = crate::module::body_of(self.library.find_body(self.module), name) {
            self.usage.assigned = assigned::read_assigned(body, self.parameters);
            self.read_body(body);
        }
    }

    fn read_body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.read_statement(stmt);
        }
    }

    fn read_statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(target, &assign.value);
                }
            }
            Stmt::AnnAssign(ast::StmtAnnAssign {
                target,
                value: Some(value),
                ..
            }) => self.assign(target, value),
            Stmt::AugAssign(assign) => {
                let value = self.evaluate(&assign.value);
                if let Expr::Name(name) = &*assign.target
                    && !self.advanced.iter().any(|names| names.contains(name.id.as_str()))
                {
                    let before = self.find_variable(&name.id);
                    let after = apply_operator(assign.op, &before, &value);
                    self.variables.insert(name.id.to_string(), after);
                }
            }
            Stmt::For(each) => self.for_loop(each),
            Stmt::While(each) => {
                self.read_test(&each.test);
                self.loops.push(None);
                self.read_loop_body(&each.body, None);
            }
            Stmt::If(branch) => self.read_branches(branch),
            Stmt::Expr(expr) => {
                self.evaluate(&expr.value);
            }
            Stmt::Return(ast::StmtReturn {
                value: Some(value), ..
            }) => {
                let values = match &**value {
                    Expr::Tuple(tuple) => tuple.elts.iter().map(|value| self.evaluate(value)).collect(),
                    value => vec![self.evaluate(value)],
                };
                self.returned = Some(values);
            }
            Stmt::With(with) => self.read_body(&with.body),
            _ => {}
        }
    }

    /// Reads the branches of an `if` that may be executed, each from the state before the `if`.
    fn read_branches(&mut self, branch: &ast::StmtIf) {
        let before = self.variables.clone();
        let mut ends = Vec::new();
        let first = (Some(&*branch.test), &branch.body);
        let others = branch.elif_else_clauses.iter();
        let others = others.map(|clause| (clause.test.as_ref(), &clause.body));
        let mut is_complete = false;
        for (test, body) in std::iter::once(first).chain(others) {
            let decided = test.map_or(Some(true), |test| {
                self.read_test(test);
                self.decide(test)
            });
            if decided == Some(false) {
                continue;
            }
            self.read_body(body);
            ends.push(std::mem::replace(&mut self.variables, before.clone()));
            if decided == Some(true) {
                is_complete = true;
                break;
            }
        }
        if !is_complete {
            ends.insert(0, before);
        }
        let (after, indexing) = join_branches(ends);
        self.variables = after;
        self.indexing.extend(indexing);
    }

    /// Evaluates a condition that flags alone decide.
    fn decide(&self, test: &Expr) -> Option<bool> {
        match test {
            Expr::Name(name) => self.flags.get(&self.find_parameter(&name.id)?).copied(),
            Expr::UnaryOp(not) if not.op == UnaryOp::Not => Some(!self.decide(&not.operand)?),
            _ => None,
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) {
        match (target, value) {
            (Expr::Name(name), Expr::NumberLiteral(_))
                if self.depth == 0
                    && !self.variables.contains_key(name.id.as_str())
                    && self.usage.assigned.contains_key(name.id.as_str()) => {}
            (Expr::Name(name), _) => {
                let value = self.evaluate(value);
                self.variables.insert(name.id.to_string(), value);
            }
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.elts.len() == values.elts.len() => {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    self.assign(target, value);
                }
            }
            (Expr::Tuple(targets), Expr::Call(call)) => {
                let values = if let Some((module, def)) =
                    self.library.find_function(self.module, self.outer, &call.func)
                {
                    self.inline_call(module, def, call)
                } else {
                    self.evaluate(value);
                    Vec::new()
                };
                for (nth, target) in targets.elts.iter().enumerate() {
                    if let Expr::Name(name) = target {
                        let unknown = || build_unknown(format!("{} {}", name.id, self.calls), &values);
                        let value = match values.get(nth) {
                            Some(value) if values.len() == targets.elts.len() => value.clone(),
                            _ => unknown(),
                        };
                        self.variables.insert(name.id.to_string(), value);
                    }
                }
            }
            _ => {
                self.evaluate(value);
            }
        }
    }

    /// Reads a function where it is called. Gives what it returns.
    fn inline_call(
        &mut self,
        module: &'a str,
        def: &'a ast::StmtFunctionDef,
        call: &ast::ExprCall,
    ) -> Vec<Polynomial> {
        let mut variables = HashMap::new();
        for (at, parameter) in def.parameters.iter_non_variadic_params().enumerate() {
            let given = call.arguments.find_argument_value(parameter.name(), at);
            let value = match (given, parameter.default()) {
                (Some(value), _) => self.evaluate(value),
                (None, Some(default)) => self.evaluate(default),
                (None, None) => continue,
            };
            variables.insert(parameter.name().to_string(), value);
        }
        self.calls += 1;
        if self.depth >= CALLS_DEEP || self.calls > CALLS_MOST {
            return Vec::new();
        }
        let variables = std::mem::replace(&mut self.variables, variables);
        let advanced = std::mem::take(&mut self.advanced);
        let returned = self.returned.take();
        let home = std::mem::replace(&mut self.module, module);
        self.depth += 1;
        self.read_body(&def.body);
        self.depth -= 1;
        self.module = home;
        self.variables = variables;
        self.advanced = advanced;
        std::mem::replace(&mut self.returned, returned).unwrap_or_default()
    }

    /// The parameter of the kernel that a name means, if it is one alone.
    fn find_parameter(&self, name: &str) -> Option<String> {
        self.find_variable(name).as_param().map(str::to_owned)
    }

    fn for_loop(&mut self, each: &ast::StmtFor) {
        let (start, end, step) = self.read_range(&each.iter);
        let size = end.as_ref().and_then(Polynomial::as_param).map(str::to_owned);
        let counted = size.map(|size| Counted {
            size,
            step: step.clone(),
        });
        let counted = counted.or_else(|| self.count_blocks(&each.iter));
        let shared = end.as_ref().and_then(|end| find_shared_index(&start, end, &step));
        let (start, step) = shared.map_or((start, step), |index| (index, Polynomial::default()));
        let variable = match &*each.target {
            Expr::Name(name) => Some((name.id.to_string(), start, step)),
            _ => None,
        };
        self.loops.push(counted);
        self.read_loop_body(&each.body, variable);
    }

    /// The size that the number of turns of `range(…)` is the number of blocks of.
    fn count_blocks(&mut self, iter: &Expr) -> Option<Counted> {
        let Expr::Call(call) = iter else { return None };
        let ([end] | [_, end]) = &*call.arguments.args else {
            return None;
        };
        // `cdiv(K, BLOCK)` or `(K + BLOCK - 1) // BLOCK`.
        let (size, block) = match end {
            Expr::Call(call) if is_cdiv(&call.func) => match &*call.arguments.args {
                [size, block] => (self.evaluate(size), self.evaluate(block)),
                _ => return None,
            },
            Expr::BinOp(quotient) if quotient.op == Operator::FloorDiv => {
                let (above, block) = (self.evaluate(&quotient.left), self.evaluate(&quotient.right));
                let size = above.minus(&block)?.plus(&Polynomial::from_number(1))?;
                (size, block)
            }
            _ => return None,
        };
        Some(Counted {
            size: size.as_param()?.to_owned(),
            step: block,
        })
    }

    /// The start, the end and the step of `range(…)`; by default, the start is 0 and the step is 1.
    fn read_range(&mut self, iter: &Expr) -> (Polynomial, Option<Polynomial>, Polynomial) {
        let one = Polynomial::from_number(1);
        let Expr::Call(call) = iter else {
            return (Polynomial::default(), None, one);
        };
        let values: Vec<Polynomial> = call
            .arguments
            .args
            .iter()
            .map(|value| self.evaluate(value))
            .collect();
        for keyword in &call.arguments.keywords {
            self.evaluate(&keyword.value);
        }
        for value in &values {
            for atom in value.atoms() {
                if let Atom::Other {
                    loaded: Some(loaded), ..
                } = atom
                {
                    self.indexing.insert(loaded.clone());
                }
            }
        }
        let (start, end, step) = match values.as_slice() {
            [end] => (Polynomial::default(), Some(end.clone()), one),
            [start, end] => (start.clone(), Some(end.clone()), one),
            [start, end, step, ..] => (start.clone(), Some(end.clone()), step.clone()),
            [] => (Polynomial::default(), None, one),
        };
        for atom in step.atoms() {
            if let Atom::Other { text, .. } = atom
                && let Some(axis) = text
                    .strip_prefix("num_programs ")
                    .and_then(|axis| axis.parse().ok())
            {
                self.persistent.insert(axis);
            }
        }
        (start, end, step)
    }

    /// Reads the body of a loop. A variable that each iteration increases is its start plus the step times the
    /// iteration number.
    fn read_loop_body(&mut self, body: &[Stmt], variable: Option<(String, Polynomial, Polynomial)>) {
        let turn = Polynomial::from_atom(Atom::Turn(self.loops.len().saturating_sub(1)));
        if let Some((name, start, step)) = variable {
            let value = step.times(&turn).and_then(|gone| start.plus(&gone));
            self.variables.insert(name, value.unwrap_or_else(|| turn.clone()));
        }
        let mut names = BTreeSet::new();
        let mut sums = Vec::new();
        collect_sums(body, &mut sums);
        for (name, op, value) in sums {
            // Drop the accesses of this evaluation: reading the body records them again.
            let noted = (self.accesses.len(), self.compared.len());
            let step = self.evaluate(value).times(&turn).unwrap_or_default();
            self.accesses.truncate(noted.0);
            self.compared.truncate(noted.1);
            let before = self.find_variable(name);
            let after = apply_operator(op, &before, &step);
            self.variables.insert(name.to_owned(), after);
            names.insert(name.to_owned());
        }
        self.advanced.push(names);
        self.read_body(body);
        self.advanced.pop();
    }

    fn find_variable(&self, name: &str) -> Polynomial {
        if let Some(known) = self.variables.get(name) {
            return known.clone();
        }
        if self.depth == 0 && self.parameters.iter().any(|one| one == name) {
            return Polynomial::from_atom(Atom::Param(name.to_owned()));
        }
        if let Some(number) = self.library.find_number(self.module, name) {
            return Polynomial::from_number(number);
        }
        build_unknown(name.to_owned(), &[])
    }

    fn read_test(&mut self, test: &Expr) {
        match test {
            Expr::Name(name) => {
                self.usage.flags.extend(self.find_parameter(&name.id));
            }
            Expr::UnaryOp(not) => self.read_test(&not.operand),
            Expr::BoolOp(both) => both.values.iter().for_each(|value| self.read_test(value)),
            _ => {
                self.evaluate(test);
            }
        }
    }

    fn evaluate(&mut self, expr: &Expr) -> Polynomial {
        match expr {
            Expr::Name(name) => self.find_variable(&name.id),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => int
                    .as_i64()
                    .map_or_else(|| build_unknown(format!("{int}"), &[]), Polynomial::from_number),
                _ => build_unknown("a float".to_owned(), &[]),
            },
            Expr::BinOp(binary) => {
                let (a, b) = (self.evaluate(&binary.left), self.evaluate(&binary.right));
                if matches!(
                    binary.op,
                    Operator::FloorDiv
                        | Operator::Mod
                        | Operator::LShift
                        | Operator::RShift
                        | Operator::BitAnd
                        | Operator::BitOr
                        | Operator::BitXor
                ) {
                    self.mark_integer(&a);
                    self.mark_integer(&b);
                }
                if matches!(binary.op, Operator::FloorDiv | Operator::Mod)
                    && let Some(name) = b.as_param()
                {
                    self.usage.divisors.insert(name.to_owned());
                }
                apply_operator(binary.op, &a, &b)
            }
            Expr::UnaryOp(unary) => {
                let value = self.evaluate(&unary.operand);
                match unary.op {
                    UnaryOp::USub => Polynomial::default().minus(&value).unwrap_or_default(),
                    UnaryOp::UAdd => value,
                    _ => build_unknown(format!("{:?} {value:?}", unary.op), std::slice::from_ref(&value)),
                }
            }
            Expr::Subscript(subscript) => {
                let value = self.evaluate(&subscript.value);
                if is_reshaping(&subscript.slice) {
                    value
                } else {
                    build_unknown(format!("{value:?}[…]"), std::slice::from_ref(&value))
                }
            }
            Expr::Compare(compare) => self.read_comparison(compare),
            Expr::BoolOp(both) => {
                let values: Vec<Polynomial> = both.values.iter().map(|value| self.evaluate(value)).collect();
                build_unknown(format!("{values:?}"), &values)
            }
            Expr::If(choice) => {
                self.read_test(&choice.test);
                if let Some(is_first) = self.decide(&choice.test) {
                    return self.evaluate(if is_first { &choice.body } else { &choice.orelse });
                }
                let values = [self.evaluate(&choice.body), self.evaluate(&choice.orelse)];
                build_unknown(format!("{values:?}"), &values)
            }
            Expr::Call(call) => self.read_call(call),
            Expr::Tuple(tuple) => {
                let values: Vec<Polynomial> = tuple.elts.iter().map(|value| self.evaluate(value)).collect();
                build_unknown(format!("{values:?}"), &values)
            }
            Expr::List(list) => {
                let values: Vec<Polynomial> = list.elts.iter().map(|value| self.evaluate(value)).collect();
                build_unknown(format!("{values:?}"), &values)
            }
            Expr::Attribute(attribute) => match &*attribute.value {
                Expr::Name(name) => build_unknown(format!("{}.{}", name.id, attribute.attr), &[]),
                object => {
                    let value = self.evaluate(object);
                    build_unknown(
                        format!("{value:?}.{}", attribute.attr),
                        std::slice::from_ref(&value),
                    )
                }
            },
            _ => build_unknown("something".to_owned(), &[]),
        }
    }

    /// Notes that a value that was loaded is an integer, as what is done with it needs one.
    fn mark_integer(&mut self, value: &Polynomial) {
        for atom in value.atoms() {
            if let Atom::Other {
                loaded: Some(loaded), ..
            } = atom
            {
                self.integers.insert(loaded.clone());
            }
        }
    }

    /// Notes a value with which values of a tensor are compared, if it may be none of its indices. A value that is compared with 0 may be
    /// negative. What the kernel asserts does not happen.
    fn note_sentinel(&mut self, op: CmpOp, left: &Polynomial, right: &Polynomial) {
        if self.asserts {
            return;
        }
        for (value, other, is_left) in [(left, right, true), (right, left, false)] {
            let Some(Atom::Other {
                loaded: Some(loaded), ..
            }) = value.as_atom()
            else {
                continue;
            };
            let number = other.as_number();
            let sentinel = match (op, number, other.as_param()) {
                (CmpOp::Eq | CmpOp::NotEq, Some(number), _) if number < 0 => Sentinel::Number(number),
                (CmpOp::Eq | CmpOp::NotEq, None, Some(name)) => Sentinel::Param(name.to_owned()),
                (CmpOp::Lt | CmpOp::GtE, Some(0), _) | (CmpOp::Gt | CmpOp::LtE, Some(-1), _) if is_left => {
                    Sentinel::Number(-1)
                }
                (CmpOp::Gt | CmpOp::LtE, Some(0), _) if !is_left => Sentinel::Number(-1),
                _ => continue,
            };
            self.sentinels.insert((loaded.clone(), sentinel));
        }
    }

    fn read_comparison(&mut self, compare: &ast::ExprCompare) -> Polynomial {
        if let (Expr::Name(name), [Expr::StringLiteral(text)]) = (&*compare.left, &*compare.comparators) {
            if let Some(parameter) = self.find_parameter(&name.id) {
                self.usage.texts.push((parameter, text.value.to_str().to_owned()));
            }
            return build_unknown(format!("{}?", name.id), &[]);
        }
        if let (Expr::Name(name), [CmpOp::Eq | CmpOp::NotEq], [Expr::NumberLiteral(number)]) =
            (&*compare.left, &*compare.ops, &*compare.comparators)
            && let (Some(parameter), Number::Int(number)) = (self.find_parameter(&name.id), &number.value)
            && let Some(number) = number.as_i64()
        {
            self.usage.numbers.push((parameter, number));
        }
        if let (Expr::Name(name), [Expr::NoneLiteral(_)]) = (&*compare.left, &*compare.comparators) {
            self.usage.optional.extend(self.find_parameter(&name.id));
            return build_unknown(format!("{} is None", name.id), &[]);
        }
        let mut left = self.evaluate(&compare.left);
        let mut all = vec![left.clone()];
        for (op, right) in compare.ops.iter().zip(&compare.comparators) {
            let right = self.evaluate(right);
            self.note_sentinel(*op, &left, &right);
            let difference = match op {
                CmpOp::Lt | CmpOp::LtE => left.minus(&right),
                CmpOp::Gt | CmpOp::GtE => right.minus(&left),
                _ => None,
            };
            if let Some(difference) = &difference {
                let names = find_sizes(difference);
                match op {
                    CmpOp::LtE | CmpOp::GtE if self.loads => {}
                    CmpOp::LtE | CmpOp::GtE => self.at_most.extend(names),
                    _ => self.below.extend(names),
                }
            }
            self.compared.extend(difference);
            all.push(right.clone());
            left = right;
        }
        build_unknown(format!("{all:?}"), &all)
    }
}

/// Merges the variables of a branch's parts. A variable gets its value from the last part whose value is not loaded
/// from memory. If one part's value depends on a program id, loaded values of the variable are indices too; the
/// second result lists the tensors that they are loaded from.
fn join_branches(ends: Vec<HashMap<String, Polynomial>>) -> (HashMap<String, Polynomial>, BTreeSet<String>) {
    let loaded_from = |value: &Polynomial| {
        value.atoms().find_map(|atom| match atom {
            Atom::Other { loaded, .. } => loaded.clone(),
            _ => None,
        })
    };
    let mut all: HashMap<String, Polynomial> = HashMap::new();
    let mut indexing = BTreeSet::new();
    for (name, value) in ends.into_iter().flatten() {
        let Some(known) = all.get(&name) else {
            all.insert(name, value);
            continue;
        };
        let (before, after) = (loaded_from(known), loaded_from(&value));
        match (&before, &after) {
            (Some(tensor), None) if !value.programs().is_empty() => indexing.extend([tensor.clone()]),
            (None, Some(tensor)) if !known.programs().is_empty() => indexing.extend([tensor.clone()]),
            _ => {}
        }
        if after.is_none() || before.is_some() {
            all.insert(name, value);
        }
    }
    (all, indexing)
}

/// Whether a function is `cdiv`, of any module.
fn is_cdiv(func: &Expr) -> bool {
    match func {
        Expr::Name(name) => name.id.as_str() == "cdiv",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "cdiv",
        _ => false,
    }
}

/// Whether a subscript only adds dimensions: `[:, None]`.
fn is_reshaping(slice: &Expr) -> bool {
    match slice {
        Expr::Slice(slice) => slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none(),
        Expr::NoneLiteral(_) => true,
        Expr::Attribute(attribute) => attribute.attr.as_str() == "newaxis",
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_reshaping),
        _ => false,
    }
}

/// Names that a body adds to or takes from, those in inner loops left out.
fn collect_sums<'b>(body: &'b [Stmt], found: &mut Vec<(&'b str, Operator, &'b Expr)>) {
    for stmt in body {
        match stmt {
            Stmt::AugAssign(assign) if matches!(assign.op, Operator::Add | Operator::Sub) => {
                if let Expr::Name(name) = &*assign.target {
                    found.push((&name.id, assign.op, &assign.value));
                }
            }
            Stmt::If(branch) => {
                collect_sums(&branch.body, found);
                for clause in &branch.elif_else_clauses {
                    collect_sums(&clause.body, found);
                }
            }
            _ => {}
        }
    }
}

/// Parameters that a comparison may be about: those that are subtracted alone.
pub(super) fn find_sizes(compared: &Polynomial) -> Vec<String> {
    compared
        .terms()
        .filter(|&(_, factor)| factor == -1)
        .filter_map(|(product, _)| match product.as_slice() {
            [Atom::Param(name)] => Some(name.clone()),
            _ => None,
        })
        .collect()
}
