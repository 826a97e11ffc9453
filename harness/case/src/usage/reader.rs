//! Reads a kernel's statements in order, keeping what each variable is as a sum of products. Left out: what is made of it
//! ([`super`]).

use std::collections::{BTreeSet, HashMap};

use ruff_python_ast::{self as ast, CmpOp, Expr, Number, Operator, Stmt, UnaryOp};

use super::library::Library;
use super::polynomial::{Atom, Extent, Polynomial};
use super::{Access, Usage, dimensions};

/// Arguments by name that are strings, and one that is always right.
const WORDS: [(&str, &str); 4] = [
    ("cache_modifier", ""),
    ("eviction_policy", ""),
    ("input_precision", "ieee"),
    ("padding_option", ""),
];

/// How deep functions call each other, and how many calls are followed in all.
const CALLS_DEEP: usize = 12;
const CALLS_MOST: usize = 512;

/// Methods and functions that give their first argument in another shape, or with a promise about it.
const TRANSPARENT: [&str; 14] = [
    "broadcast_to",
    "cast",
    "expand_dims",
    "item",
    "max_constancy",
    "max_contiguous",
    "multiple_of",
    "ravel",
    "reshape",
    "to",
    "trans",
    "tensor",
    "unsqueeze",
    "view",
];

/// What the statements so far have said.
pub(super) struct Reader<'a> {
    library: &'a Library<'a>,
    /// The module of the function that is read.
    module: &'a str,
    /// How many functions are around the statement, the kernel left out.
    depth: usize,
    calls: usize,
    /// What the function that is read returns.
    returned: Option<Vec<Polynomial>>,
    /// Block pointers and descriptors, by the number in their names.
    blocks: Vec<Block>,
    parameters: &'a [String],
    constants: &'a BTreeSet<String>,
    variables: HashMap<String, Polynomial>,
    /// Variables that a loop adds to at every turn: what they are is known from its beginning.
    advanced: Vec<BTreeSet<String>>,
    pub accesses: Vec<Access>,
    /// Left side less right side of comparisons by `<` and `<=`, and the other way round of the others.
    pub compared: Vec<Polynomial>,
    /// For each loop, the parameter that it counts to.
    pub loops: Vec<Option<String>>,
    /// One more than the last axis of `tl.program_id`.
    pub axes: usize,
    /// Axes whose number of programs is a step.
    pub persistent: BTreeSet<u8>,
    /// What needs no further thought.
    pub usage: Usage,
    /// Tensors whose values are indices.
    pub indexing: BTreeSet<String>,
    /// Tensors whose values are integers.
    pub integers: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        library: &'a Library<'a>,
        module: &'a str,
        parameters: &'a [String],
        constants: &'a BTreeSet<String>,
    ) -> Self {
        Self {
            library,
            module,
            depth: 0,
            calls: 0,
            returned: None,
            blocks: Vec::new(),
            parameters,
            constants,
            variables: HashMap::new(),
            advanced: Vec::new(),
            accesses: Vec::new(),
            compared: Vec::new(),
            loops: Vec::new(),
            axes: 0,
            persistent: BTreeSet::new(),
            usage: Usage::default(),
            indexing: BTreeSet::new(),
            integers: BTreeSet::new(),
        }
    }

    pub(super) fn read(&mut self, name: &str) {
        if let Some(body) = crate::module::body_of(self.library.body(self.module), name) {
            self.body(body);
        }
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
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
                let value = self.value(&assign.value);
                if let Expr::Name(name) = &*assign.target
                    && !self.advanced.iter().any(|names| names.contains(name.id.as_str()))
                {
                    let before = self.variable(&name.id);
                    let after = computed(assign.op, &before, &value);
                    self.variables.insert(name.id.to_string(), after);
                }
            }
            Stmt::For(each) => self.for_loop(each),
            Stmt::While(each) => {
                self.tested(&each.test);
                self.loops.push(None);
                self.turns(&each.body, None);
            }
            Stmt::If(branch) => {
                self.tested(&branch.test);
                let before = self.variables.clone();
                self.body(&branch.body);
                let mut ends = vec![std::mem::replace(&mut self.variables, before.clone())];
                let mut is_complete = false;
                for clause in &branch.elif_else_clauses {
                    is_complete |= clause.test.is_none();
                    if let Some(test) = &clause.test {
                        self.tested(test);
                    }
                    self.body(&clause.body);
                    ends.push(std::mem::replace(&mut self.variables, before.clone()));
                }
                if !is_complete {
                    ends.insert(0, before);
                }
                self.variables = joined(ends);
            }
            Stmt::Expr(expr) => {
                self.value(&expr.value);
            }
            Stmt::Return(ast::StmtReturn {
                value: Some(value), ..
            }) => {
                let values = match &**value {
                    Expr::Tuple(tuple) => tuple.elts.iter().map(|value| self.value(value)).collect(),
                    value => vec![self.value(value)],
                };
                self.returned = Some(values);
            }
            Stmt::With(with) => self.body(&with.body),
            _ => {}
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) {
        match (target, value) {
            (Expr::Name(name), _) => {
                let value = self.value(value);
                self.variables.insert(name.id.to_string(), value);
            }
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.elts.len() == values.elts.len() => {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    self.assign(target, value);
                }
            }
            (Expr::Tuple(targets), Expr::Call(call)) => {
                let values = if let Some((module, def)) = self.library.function(self.module, &call.func) {
                    self.inlined(module, def, call)
                } else {
                    self.value(value);
                    Vec::new()
                };
                for (nth, target) in targets.elts.iter().enumerate() {
                    if let Expr::Name(name) = target {
                        let unknown = || other(format!("{} {}", name.id, self.calls), &values);
                        let value = match values.get(nth) {
                            Some(value) if values.len() == targets.elts.len() => value.clone(),
                            _ => unknown(),
                        };
                        self.variables.insert(name.id.to_string(), value);
                    }
                }
            }
            _ => {
                self.value(value);
            }
        }
    }

    /// Reads a function where it is called. Gives what it returns.
    fn inlined(
        &mut self,
        module: &'a str,
        def: &'a ast::StmtFunctionDef,
        call: &ast::ExprCall,
    ) -> Vec<Polynomial> {
        let mut variables = HashMap::new();
        for (at, parameter) in def.parameters.iter_non_variadic_params().enumerate() {
            let given = call.arguments.find_argument_value(parameter.name(), at);
            let value = match (given, parameter.default()) {
                (Some(value), _) => self.value(value),
                (None, Some(default)) => self.value(default),
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
        self.body(&def.body);
        self.depth -= 1;
        self.module = home;
        self.variables = variables;
        self.advanced = advanced;
        std::mem::replace(&mut self.returned, returned).unwrap_or_default()
    }

    /// The parameter of the kernel that a name means, if it is one alone.
    fn parameter(&self, name: &str) -> Option<String> {
        self.variable(name).as_param().map(str::to_owned)
    }

    fn for_loop(&mut self, each: &ast::StmtFor) {
        let (start, end, step) = self.range(&each.iter);
        let counted = end.as_ref().and_then(Polynomial::as_param).map(str::to_owned);
        let variable = match &*each.target {
            Expr::Name(name) => Some((name.id.to_string(), start, step)),
            _ => None,
        };
        self.loops.push(counted);
        self.turns(&each.body, variable);
    }

    /// The start, the end and the step of `range(…)`; a start of 0 and a step of 1 where they are not told.
    fn range(&mut self, iter: &Expr) -> (Polynomial, Option<Polynomial>, Polynomial) {
        let one = Polynomial::number(1);
        let Expr::Call(call) = iter else {
            return (Polynomial::default(), None, one);
        };
        let values: Vec<Polynomial> = call
            .arguments
            .args
            .iter()
            .map(|value| self.value(value))
            .collect();
        for keyword in &call.arguments.keywords {
            self.value(&keyword.value);
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

    /// The body of a loop. What it adds to a variable at every turn is told by the number of the turn.
    fn turns(&mut self, body: &[Stmt], variable: Option<(String, Polynomial, Polynomial)>) {
        let turn = Polynomial::atom(Atom::Turn(self.loops.len().saturating_sub(1)));
        if let Some((name, start, step)) = variable {
            let value = step.times(&turn).and_then(|gone| start.plus(&gone));
            self.variables.insert(name, value.unwrap_or_else(|| turn.clone()));
        }
        let mut names = BTreeSet::new();
        let mut sums = Vec::new();
        added(body, &mut sums);
        for (name, op, value) in sums {
            // Its accesses are those of the body, where what it is made of goes on too.
            let noted = (self.accesses.len(), self.compared.len());
            let step = self.value(value).times(&turn).unwrap_or_default();
            self.accesses.truncate(noted.0);
            self.compared.truncate(noted.1);
            let before = self.variable(name);
            let after = computed(op, &before, &step);
            self.variables.insert(name.to_owned(), after);
            names.insert(name.to_owned());
        }
        self.advanced.push(names);
        self.body(body);
        self.advanced.pop();
    }

    fn variable(&self, name: &str) -> Polynomial {
        if let Some(known) = self.variables.get(name) {
            return known.clone();
        }
        if self.depth == 0 && self.parameters.iter().any(|one| one == name) {
            return Polynomial::atom(Atom::Param(name.to_owned()));
        }
        if let Some(number) = self.library.number(self.module, name) {
            return Polynomial::number(number);
        }
        other(name.to_owned(), &[])
    }

    fn tested(&mut self, test: &Expr) {
        match test {
            Expr::Name(name) => {
                self.usage.flags.extend(self.parameter(&name.id));
            }
            Expr::UnaryOp(not) => self.tested(&not.operand),
            Expr::BoolOp(both) => both.values.iter().for_each(|value| self.tested(value)),
            _ => {
                self.value(test);
            }
        }
    }

    fn value(&mut self, expr: &Expr) -> Polynomial {
        match expr {
            Expr::Name(name) => self.variable(&name.id),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => int
                    .as_i64()
                    .map_or_else(|| other(format!("{int}"), &[]), Polynomial::number),
                _ => other("a float".to_owned(), &[]),
            },
            Expr::BinOp(binary) => {
                let (a, b) = (self.value(&binary.left), self.value(&binary.right));
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
                    self.whole(&a);
                    self.whole(&b);
                }
                computed(binary.op, &a, &b)
            }
            Expr::UnaryOp(unary) => {
                let value = self.value(&unary.operand);
                match unary.op {
                    UnaryOp::USub => Polynomial::default().minus(&value).unwrap_or_default(),
                    UnaryOp::UAdd => value,
                    _ => other(format!("{:?} {value:?}", unary.op), std::slice::from_ref(&value)),
                }
            }
            Expr::Subscript(subscript) => {
                let value = self.value(&subscript.value);
                if is_reshaping(&subscript.slice) {
                    value
                } else {
                    other(format!("{value:?}[…]"), std::slice::from_ref(&value))
                }
            }
            Expr::Compare(compare) => self.comparison(compare),
            Expr::BoolOp(both) => {
                let values: Vec<Polynomial> = both.values.iter().map(|value| self.value(value)).collect();
                other(format!("{values:?}"), &values)
            }
            Expr::If(choice) => {
                self.tested(&choice.test);
                let values = [self.value(&choice.body), self.value(&choice.orelse)];
                other(format!("{values:?}"), &values)
            }
            Expr::Call(call) => self.call(call),
            Expr::Tuple(tuple) => {
                let values: Vec<Polynomial> = tuple.elts.iter().map(|value| self.value(value)).collect();
                other(format!("{values:?}"), &values)
            }
            Expr::List(list) => {
                let values: Vec<Polynomial> = list.elts.iter().map(|value| self.value(value)).collect();
                other(format!("{values:?}"), &values)
            }
            Expr::Attribute(attribute) => match &*attribute.value {
                Expr::Name(name) => other(format!("{}.{}", name.id, attribute.attr), &[]),
                object => {
                    let value = self.value(object);
                    other(
                        format!("{value:?}.{}", attribute.attr),
                        std::slice::from_ref(&value),
                    )
                }
            },
            _ => other("something".to_owned(), &[]),
        }
    }

    /// Notes that a value that was loaded is an integer, as what is done with it needs one.
    fn whole(&mut self, value: &Polynomial) {
        for atom in value.atoms() {
            if let Atom::Other {
                loaded: Some(loaded), ..
            } = atom
            {
                self.integers.insert(loaded.clone());
            }
        }
    }

    fn comparison(&mut self, compare: &ast::ExprCompare) -> Polynomial {
        if let (Expr::Name(name), [Expr::StringLiteral(text)]) = (&*compare.left, &*compare.comparators) {
            if let Some(parameter) = self.parameter(&name.id) {
                self.usage.texts.push((parameter, text.value.to_str().to_owned()));
            }
            return other(format!("{}?", name.id), &[]);
        }
        if let (Expr::Name(name), [Expr::NoneLiteral(_)]) = (&*compare.left, &*compare.comparators) {
            self.usage.optional.extend(self.parameter(&name.id));
            return other(format!("{} is None", name.id), &[]);
        }
        let mut left = self.value(&compare.left);
        let mut all = vec![left.clone()];
        for (op, right) in compare.ops.iter().zip(&compare.comparators) {
            let right = self.value(right);
            let difference = match op {
                CmpOp::Lt | CmpOp::LtE => left.minus(&right),
                CmpOp::Gt | CmpOp::GtE => right.minus(&left),
                _ => None,
            };
            self.compared.extend(difference);
            all.push(right.clone());
            left = right;
        }
        other(format!("{all:?}"), &all)
    }

    fn call(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        if let Some(Expr::Name(name)) = argument("dtype", usize::MAX) {
            self.usage.dtypes.extend(self.parameter(&name.id));
        }
        for (keyword, text) in WORDS {
            if let Some(Expr::Name(name)) = argument(keyword, usize::MAX)
                && let Some(parameter) = self.parameter(&name.id)
            {
                self.usage.texts.push((parameter, text.to_owned()));
            }
        }
        if let Some((module, def)) = self.library.function(self.module, &call.func) {
            let values = self.inlined(module, def, call);
            return match values.as_slice() {
                [value] => value.clone(),
                values => other(format!("{} {}", def.name, self.calls), values),
            };
        }
        let (name, object) = match &*call.func {
            Expr::Name(name) => (name.id.as_str(), None),
            Expr::Attribute(attribute) => (attribute.attr.as_str(), Some(&*attribute.value)),
            _ => ("", None),
        };
        let of_language = object.is_none_or(|object| matches!(object, Expr::Name(_)));
        match name {
            "program_id" => {
                let axis = number(argument("axis", 0)).clamp(0, 2) as u8;
                self.axes = self.axes.max(usize::from(axis) + 1);
                Polynomial::atom(Atom::Program(axis))
            }
            "num_programs" => {
                let axis = number(argument("axis", 0)).clamp(0, 2);
                other(format!("num_programs {axis}"), &[])
            }
            "arange" => self.lanes(argument("start", 0), argument("end", 1)),
            "make_block_ptr" | "make_tensor_descriptor" => self.block(call),
            "advance" if of_language => {
                let value = argument("base", 0).map(|value| self.value(value));
                self.rest(call, 1);
                value.unwrap_or_default()
            }
            "load" | "store" | "gather" | "scatter" if !of_language || self.is_block(object) => {
                let block = object.and_then(|object| self.block_of(object));
                for value in &call.arguments.args {
                    self.value(value);
                }
                match (block, object.map(|object| self.value(object))) {
                    (Some(at), _) => self.block_access(at, name != "load" && name != "gather"),
                    (None, Some(object)) => {
                        self.usage
                            .descriptors
                            .extend(object.as_param().map(str::to_owned));
                    }
                    _ => {}
                }
                other(format!("{name} {}", self.accesses.len()), &[])
            }
            "load" if of_language => {
                let loaded = self.access(argument("pointer", 0), false);
                self.rest(call, 1);
                Polynomial::atom(Atom::Other {
                    text: short(format!("load {loaded:?} {:?}", self.accesses.len())),
                    programs: BTreeSet::new(),
                    below: None,
                    part: None,
                    loaded,
                })
            }
            "store" if of_language => {
                self.access(argument("pointer", 0), true);
                self.rest(call, 1);
                Polynomial::default()
            }
            _ if name.starts_with("atomic_") && of_language => {
                self.access(argument("pointer", 0), true);
                self.access(argument("pointer", 0), false);
                self.rest(call, 1);
                other(name.to_owned(), &[])
            }
            _ if TRANSPARENT.contains(&name) => {
                if name == "to"
                    && let Some(Expr::Name(dtype)) = argument("dtype", 0)
                {
                    self.usage.dtypes.extend(self.parameter(&dtype.id));
                }
                let is_module = matches!(object, Some(Expr::Name(module)) if matches!(module.id.as_str(), "tl" | "language" | "triton"));
                match (object, call.arguments.args.first()) {
                    (Some(object), _) if !is_module => self.value(object),
                    (_, Some(first)) => self.value(first),
                    _ => other(name.to_owned(), &[]),
                }
            }
            _ => {
                self.usage.has_dots |= name == "dot" || name == "dot_scaled";
                let mut values: Vec<Polynomial> = call
                    .arguments
                    .args
                    .iter()
                    .map(|value| self.value(value))
                    .collect();
                values.extend(
                    call.arguments
                        .keywords
                        .iter()
                        .map(|keyword| self.value(&keyword.value)),
                );
                other(format!("{name} {values:?}"), &values)
            }
        }
    }

    /// A block pointer or a descriptor that is made: its dimensions are what it says they are.
    fn block(&mut self, call: &ast::ExprCall) -> Polynomial {
        let argument = |name, at| call.arguments.find_argument_value(name, at);
        let is_pointer = argument("offsets", usize::MAX).is_some()
            || argument("order", usize::MAX).is_some()
            || call.arguments.args.len() > 4;
        let base = argument("base", 0)
            .map(|base| self.value(base))
            .unwrap_or_default();
        let shape = self.list(argument("shape", 1));
        let strides = self.list(argument("strides", 2));
        let (offsets, extents) = if is_pointer {
            (
                self.list(argument("offsets", 3)),
                self.list(argument("block_shape", 4)),
            )
        } else {
            (Vec::new(), self.list(argument("block_shape", 3)))
        };
        let mut address = Some(base.clone());
        for (at, (extent, stride)) in extents.iter().zip(&strides).enumerate() {
            let lane = Polynomial::atom(Atom::Lane(self.extent(extent)));
            let index = match offsets.get(at) {
                Some(offset) => lane.plus(offset).unwrap_or(lane),
                None => lane,
            };
            if let Some(size) = shape.get(at) {
                self.compared.extend(index.minus(size));
            }
            address = address
                .zip(index.times(stride))
                .and_then(|(address, step)| address.plus(&step));
        }
        self.blocks.push(Block {
            address: address.unwrap_or(base),
        });
        other(format!("block {}", self.blocks.len() - 1), &[])
    }

    fn list(&mut self, expr: Option<&Expr>) -> Vec<Polynomial> {
        match expr {
            Some(Expr::Tuple(tuple)) => tuple.elts.iter().map(|value| self.value(value)).collect(),
            Some(Expr::List(list)) => list.elts.iter().map(|value| self.value(value)).collect(),
            _ => Vec::new(),
        }
    }

    fn is_block(&mut self, object: Option<&Expr>) -> bool {
        object.is_some_and(|object| {
            self.block_of(object).is_some()
                || matches!(object, Expr::Name(name) if self.depth == 0 && self.parameters.iter().any(|one| *one == *name.id))
        })
    }

    /// The number of the block pointer or descriptor that a name is.
    fn block_of(&mut self, object: &Expr) -> Option<usize> {
        let Expr::Name(name) = object else { return None };
        block_number(&self.variable(&name.id))
    }

    fn block_access(&mut self, at: usize, stores: bool) {
        if let Some(block) = self.blocks.get(at) {
            let address = block.address.clone();
            self.access_at(&address, stores);
        }
    }

    /// Arguments but for the pointer.
    fn rest(&mut self, call: &ast::ExprCall, from: usize) {
        for value in call.arguments.args.iter().skip(from) {
            self.value(value);
        }
        for keyword in &call.arguments.keywords {
            if keyword.arg.as_ref().is_none_or(|name| name.as_str() != "pointer") {
                self.value(&keyword.value);
            }
        }
    }

    fn lanes(&mut self, start: Option<&Expr>, end: Option<&Expr>) -> Polynomial {
        let start = start.map(|start| self.value(start)).unwrap_or_default();
        let end = end.map(|end| self.value(end)).unwrap_or_default();
        let extent = self.extent(&end);
        let lane = Polynomial::atom(Atom::Lane(extent));
        lane.plus(&start).unwrap_or(lane)
    }

    fn extent(&mut self, end: &Polynomial) -> Extent {
        match (end.as_number(), end.as_param()) {
            (Some(number), _) => Extent::Number(number),
            (None, Some(name)) => {
                self.usage.blocks.insert(name.to_owned());
                Extent::Param(name.to_owned())
            }
            (None, None) => Extent::Text(short(format!("{end:?}"))),
        }
    }

    /// Notes an access through an address, and gives the tensor's name.
    fn access(&mut self, address: Option<&Expr>, stores: bool) -> Option<String> {
        let address = self.value(address?);
        if let Some(at) = block_number(&address) {
            self.block_access(at, stores);
            return None;
        }
        self.access_at(&address, stores)
    }

    fn access_at(&mut self, address: &Polynomial, stores: bool) -> Option<String> {
        let alone: Vec<String> = address
            .terms()
            .filter(|&(_, factor)| factor == 1)
            .filter_map(|(product, _)| match product.as_slice() {
                [Atom::Param(name)] if !self.constants.contains(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let is_pointer = |name: &&String| {
            let lower = name.to_lowercase();
            lower.split('_').any(|word| word == "ptr" || word == "pointer") || lower.ends_with("ptr")
        };
        let known = |name: &&String| self.accesses.iter().any(|access| access.tensor == **name);
        let tensor = alone
            .iter()
            .find(is_pointer)
            .or_else(|| alone.iter().find(known))
            .or_else(|| self.parameters.iter().find(|name| alone.contains(name)))
            .cloned();
        let Some(tensor) = tensor else {
            self.usage.lost += 1;
            return None;
        };
        for atom in address.atoms() {
            if let Atom::Other {
                loaded: Some(loaded), ..
            } = atom
            {
                self.indexing.insert(loaded.clone());
            }
        }
        let rest = address.minus(&Polynomial::atom(Atom::Param(tensor.clone())))?;
        self.accesses.push(Access {
            tensor: tensor.clone(),
            moved: rest.number_term() > 0
                || rest.terms().any(|(product, _)| {
                    !product.is_empty() && product.iter().all(|atom| matches!(atom, Atom::Param(_)))
                }),
            dimensions: dimensions(&rest),
            stores,
        });
        Some(tensor)
    }
}

/// What variables are after a branch: as after its last part that gives one a value which is not read from memory.
fn joined(ends: Vec<HashMap<String, Polynomial>>) -> HashMap<String, Polynomial> {
    let is_loaded = |value: &Polynomial| {
        let mut atoms = value.atoms();
        atoms.any(|atom| matches!(atom, Atom::Other { loaded: Some(_), .. }))
    };
    let mut all: HashMap<String, Polynomial> = HashMap::new();
    for end in ends {
        for (name, value) in end {
            if !is_loaded(&value) || all.get(&name).is_none_or(is_loaded) {
                all.insert(name, value);
            }
        }
    }
    all
}

/// A block pointer or a descriptor that the kernel makes.
#[derive(Debug)]
struct Block {
    /// The addresses of its first block.
    address: Polynomial,
}

fn block_number(value: &Polynomial) -> Option<usize> {
    match value.as_atom()? {
        Atom::Other { text, .. } => text.strip_prefix("block ")?.parse().ok(),
        _ => None,
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

fn number(expr: Option<&Expr>) -> i64 {
    match expr {
        Some(Expr::NumberLiteral(number)) => match &number.value {
            Number::Int(int) => int.as_i64().unwrap_or(0),
            _ => 0,
        },
        _ => 0,
    }
}

/// Names that a body adds to or takes from, those in inner loops left out.
fn added<'b>(body: &'b [Stmt], found: &mut Vec<(&'b str, Operator, &'b Expr)>) {
    for stmt in body {
        match stmt {
            Stmt::AugAssign(assign) if matches!(assign.op, Operator::Add | Operator::Sub) => {
                if let Expr::Name(name) = &*assign.target {
                    found.push((&name.id, assign.op, &assign.value));
                }
            }
            Stmt::If(branch) => {
                added(&branch.body, found);
                for clause in &branch.elif_else_clauses {
                    added(&clause.body, found);
                }
            }
            _ => {}
        }
    }
}

/// Parameters that a comparison may be about: those that are subtracted alone.
pub(super) fn sizes(compared: &Polynomial) -> Vec<String> {
    compared
        .terms()
        .filter(|&(_, factor)| factor == -1)
        .filter_map(|(product, _)| match product.as_slice() {
            [Atom::Param(name)] => Some(name.clone()),
            _ => None,
        })
        .collect()
}

/// A value that is not a sum of products: known again by its text.
fn other(text: String, of: &[Polynomial]) -> Polynomial {
    let programs = of.iter().flat_map(Polynomial::programs).collect();
    let loaded = of.iter().flat_map(Polynomial::atoms).find_map(|atom| match atom {
        Atom::Other { loaded, .. } => loaded.clone(),
        _ => None,
    });
    Polynomial::atom(Atom::Other {
        text: short(text),
        programs,
        below: None,
        part: None,
        loaded,
    })
}

/// The axis whose program id a value is, or is a part of.
fn program_of(value: &Polynomial) -> Option<u8> {
    match value.as_atom()? {
        Atom::Program(axis) => Some(*axis),
        Atom::Other { part, .. } => *part,
        Atom::Param(_) | Atom::Lane(_) | Atom::Turn(_) => None,
    }
}

fn computed(op: Operator, a: &Polynomial, b: &Polynomial) -> Polynomial {
    let sum = match op {
        Operator::Add => a.plus(b),
        Operator::Sub => a.minus(b),
        Operator::Mult => a.times(b),
        Operator::Mod => {
            let mut programs = a.programs();
            programs.extend(b.programs());
            return Polynomial::atom(Atom::Other {
                text: short(format!("{a:?} % {b:?}")),
                programs,
                below: Some(Box::new(b.clone())),
                part: program_of(a),
                loaded: None,
            });
        }
        Operator::FloorDiv if program_of(a).is_some() && b.as_number() != Some(1) => {
            return Polynomial::atom(Atom::Other {
                text: short(format!("{a:?} // {b:?}")),
                programs: a.programs(),
                below: None,
                part: program_of(a),
                loaded: None,
            });
        }
        _ => None,
    };
    sum.unwrap_or_else(|| other(format!("{a:?} {op:?} {b:?}"), &[a.clone(), b.clone()]))
}

/// A text, or its hash where it is long: the text of a value is made of those of others, and would double with every line.
fn short(text: String) -> String {
    const MOST: usize = 64;
    if text.len() <= MOST {
        return text;
    }
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
