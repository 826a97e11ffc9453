//! Fewer functions and names: a function's body replaces its call, an argument replaces its parameter, and names that
//! nothing reads go. Statements with effects stay.

use std::collections::HashMap;

use cerith_case::{Arg, ArgValue, Launch};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::candidate::{Candidate, Change, Edit};
use super::tree::{Block, Names, Tree, find_callee, parenthesize};

/// The maximum length of texts after calls are inlined.
const MAX_LENGTH: usize = 2000;

/// Nothing that is not read: all of it, and each by itself.
pub(super) fn remove_unused(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let dead = dead_statements(tree);
    let top = dead_pieces(candidate, tree);
    let parameters = dead_parameters(candidate, tree);
    let mut changes = Vec::new();
    let gone: Vec<&Stmt> = dead.iter().chain(&top).copied().collect();
    if gone.len() > 1 {
        changes.push(Change::from_edits(tree.remove_statements(&gone)));
    }
    if !top.is_empty() && gone.len() > top.len() {
        changes.push(Change::from_edits(tree.remove_statements(&top)));
    }
    changes.extend(
        gone.iter()
            .map(|stmt| Change::from_edits(tree.remove_statements(&[*stmt]))),
    );
    if parameters.len() > 1 {
        changes.push(without_parameters(candidate, tree, &parameters));
    }
    let each = parameters
        .iter()
        .map(|&one| without_parameters(candidate, tree, &[one]));
    changes.extend(each);
    changes.extend(without_storages(candidate));
    changes
}

/// Assignments to names that nothing reads.
fn dead_statements<'a>(tree: &'a Tree<'_>) -> Vec<&'a Stmt> {
    let mut dead = Vec::new();
    for def in tree.functions() {
        let read = Names::from_statements(&def.body).read();
        for (stmt, _) in tree.inner() {
            if !def.range().contains_range(stmt.range()) {
                continue;
            }
            let targets = match stmt {
                Stmt::Assign(_) | Stmt::AnnAssign(_) => Names::from_statements([stmt]).bound(),
                Stmt::Pass(_) => {
                    let alone = tree
                        .statements()
                        .iter()
                        .any(|(other, block)| other.range() == stmt.range() && block.len() == 1);
                    if !alone {
                        dead.push(stmt);
                    }
                    continue;
                }
                _ => continue,
            };
            if !targets.is_empty() && targets.iter().all(|name| !read.contains(name)) {
                dead.push(stmt);
            }
        }
    }
    dead.sort_by_key(Ranged::start);
    dead.dedup_by_key(|stmt| stmt.range());
    dead
}

/// Functions, imports and other statements of the file whose names nothing reads.
fn dead_pieces<'a>(candidate: &Candidate, tree: &'a Tree<'_>) -> Vec<&'a Stmt> {
    let mut roots: Vec<String> = Vec::new();
    for launch in &candidate.launches {
        roots.extend(launch.kernel.name.split('.').map(str::to_owned));
        roots.extend(launch.host.iter().map(|host| host.name.clone()));
        for (_, arg) in launch.arguments() {
            collect_globals(&arg.value, &mut roots);
        }
    }
    let body = tree.body();
    let mut dead = Vec::new();
    for stmt in body {
        let bound: Vec<&str> = match stmt {
            Stmt::FunctionDef(def) => vec![def.name.as_str()],
            Stmt::ClassDef(def) => vec![def.name.as_str()],
            Stmt::Import(import) => import
                .names
                .iter()
                .map(|alias| {
                    let whole = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    whole.split('.').next().unwrap_or(whole)
                })
                .collect(),
            Stmt::ImportFrom(import) => import
                .names
                .iter()
                .map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str())
                .collect(),
            Stmt::Assign(_) | Stmt::AnnAssign(_) => {
                Names::from_statements([stmt]).bound().into_iter().collect()
            }
            Stmt::Expr(_) | Stmt::If(_) | Stmt::Try(_) => Vec::new(),
            _ => continue,
        };
        let others = body.iter().filter(|other| other.range() != stmt.range());
        let read = Names::from_statements(others).read();
        if bound
            .iter()
            .all(|name| !read.contains(name) && !roots.iter().any(|root| root == name))
        {
            dead.push(stmt);
        }
    }
    dead
}

fn collect_globals(value: &ArgValue, found: &mut Vec<String>) {
    match value {
        ArgValue::Global(name) => found.extend(name.split('.').map(str::to_owned)),
        ArgValue::Constexpr(inner) => collect_globals(inner, found),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            for item in items {
                collect_globals(item, found);
            }
        }
        _ => {}
    }
}

type FunctionParameter<'a> = (&'a ast::StmtFunctionDef, &'a ast::ParameterWithDefault);

/// Parameters of launched kernels that nothing reads.
fn dead_parameters<'a>(candidate: &Candidate, tree: &'a Tree<'_>) -> Vec<FunctionParameter<'a>> {
    let mut dead = Vec::new();
    for def in collect_launched(candidate, tree) {
        let read = Names::from_statements(&def.body).read();
        for parameter in plain_parameters(def) {
            if !read.contains(parameter.name().as_str()) {
                dead.push((def, parameter));
            }
        }
    }
    dead
}

fn plain_parameters(def: &ast::StmtFunctionDef) -> impl Iterator<Item = &ast::ParameterWithDefault> {
    def.parameters.args.iter().chain(&def.parameters.kwonlyargs)
}

/// The functions that launches name.
fn collect_launched<'a>(candidate: &Candidate, tree: &'a Tree<'_>) -> Vec<&'a ast::StmtFunctionDef> {
    let mut found: Vec<&ast::StmtFunctionDef> = Vec::new();
    for launch in &candidate.launches {
        if let Some(def) = tree.find_function(&launch.kernel.name)
            && !found.iter().any(|other| other.range() == def.range())
        {
            found.push(def);
        }
    }
    found
}

/// Without parameters of launched kernels, and without what is passed to them.
fn without_parameters(candidate: &Candidate, tree: &Tree<'_>, gone: &[FunctionParameter<'_>]) -> Change {
    let mut launches = candidate.launches.clone();
    let mut edits = Vec::new();
    for def in collect_launched(candidate, tree) {
        let names: Vec<&str> = gone
            .iter()
            .filter(|(of, _)| of.range() == def.range())
            .map(|(_, parameter)| parameter.name().as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        edits.push(rewrite_signature(tree, def, &names));
        for launch in of_kernel(&mut launches, def) {
            launch.keyword.retain(|(name, _)| !names.contains(&name.as_str()));
        }
    }
    Change {
        edits,
        launches: Some(launches),
        ..Change::default()
    }
}

fn of_kernel<'l>(
    launches: &'l mut [Launch],
    def: &ast::StmtFunctionDef,
) -> impl Iterator<Item = &'l mut Launch> {
    let name = def.name.to_string();
    launches
        .iter_mut()
        .filter(move |launch| launch.kernel.name.rsplit('.').next() == Some(name.as_str()))
}

/// A signature without these parameters.
fn rewrite_signature(tree: &Tree<'_>, def: &ast::StmtFunctionDef, gone: &[&str]) -> Edit {
    let parameters = &*def.parameters;
    let kept = |one: &&ast::ParameterWithDefault| !gone.contains(&one.name().as_str());
    let text = |one: &ast::ParameterWithDefault| tree.slice(one.range()).to_owned();
    let mut parts: Vec<String> = parameters.posonlyargs.iter().map(text).collect();
    if !parts.is_empty() {
        parts.push("/".to_owned());
    }
    parts.extend(parameters.args.iter().filter(kept).map(text));
    let keyword_only: Vec<String> = parameters.kwonlyargs.iter().filter(kept).map(text).collect();
    match &parameters.vararg {
        Some(rest) => parts.push(format!("*{}", tree.slice(rest.range()).trim_start_matches('*'))),
        None if !keyword_only.is_empty() => parts.push("*".to_owned()),
        None => {}
    }
    parts.extend(keyword_only);
    if let Some(rest) = &parameters.kwarg {
        parts.push(format!("**{}", tree.slice(rest.range()).trim_start_matches('*')));
    }
    Edit::new(parameters.range(), format!("({})", parts.join(", ")))
}

/// Without storages that nothing names: all of them, or nothing.
fn without_storages(candidate: &Candidate) -> Option<Change> {
    let mut used = vec![false; candidate.storages.len()];
    for launch in &candidate.launches {
        for (_, arg) in launch.arguments() {
            mark(&arg.value, &mut used);
        }
    }
    for held in &candidate.storages {
        if let super::candidate::Content::Own(own) = &held.content {
            for pointer in &own.pointers {
                if let Some(slot) = used.get_mut(pointer.target.0 as usize) {
                    *slot = true;
                }
            }
        }
    }
    if used.iter().all(|&used| used) {
        return None;
    }
    // Ids are positions, so later ones move up.
    let moved: Vec<u32> = used
        .iter()
        .scan(0, |next, &used| {
            let at = *next;
            *next += u32::from(used);
            Some(at)
        })
        .collect();
    let mut launches = candidate.launches.clone();
    for launch in &mut launches {
        let values = launch
            .positional
            .iter_mut()
            .chain(launch.keyword.iter_mut().map(|(_, arg)| arg));
        values.for_each(|arg| renumber(&mut arg.value, &moved));
    }
    let mut storages: Vec<super::candidate::CandidateStorage> = candidate
        .storages
        .iter()
        .zip(&used)
        .filter(|(_, used)| **used)
        .map(|(held, _)| held.clone())
        .collect();
    for held in &mut storages {
        if let super::candidate::Content::Own(own) = &mut held.content
            && !own.pointers.is_empty()
        {
            let own = std::sync::Arc::make_mut(own);
            for pointer in &mut own.pointers {
                pointer.target.0 = moved
                    .get(pointer.target.0 as usize)
                    .copied()
                    .unwrap_or(pointer.target.0);
            }
        }
    }
    Some(Change {
        storages: Some(storages),
        launches: Some(launches),
        ..Change::default()
    })
}

fn mark(value: &ArgValue, used: &mut [bool]) {
    let id = match value {
        ArgValue::Tensor { tensor, .. } => tensor.storage,
        ArgValue::Descriptor(descriptor) => descriptor.base.storage,
        ArgValue::Address { address: at, .. } => at.storage,
        ArgValue::Constexpr(inner) => return mark(inner, used),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            return items.iter().for_each(|item| mark(item, used));
        }
        _ => return,
    };
    if let Some(slot) = used.get_mut(id.0 as usize) {
        *slot = true;
    }
}

fn renumber(value: &mut ArgValue, moved: &[u32]) {
    let id = match value {
        ArgValue::Tensor { tensor, .. } => &mut tensor.storage,
        ArgValue::Descriptor(descriptor) => &mut descriptor.base.storage,
        ArgValue::Address { address: at, .. } => &mut at.storage,
        ArgValue::Constexpr(inner) => return renumber(inner, moved),
        ArgValue::Tuple(items) | ArgValue::NamedTuple { items, .. } => {
            return items.iter_mut().for_each(|item| renumber(item, moved));
        }
        _ => return,
    };
    id.0 = moved.get(id.0 as usize).copied().unwrap_or(id.0);
}

/// Without decorators beside `triton.jit`. The values of an autotuner's first configuration are passed.
pub(super) fn remove_decorators(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for def in tree.functions() {
        for decorator in &def.decorator_list {
            let call = match &decorator.expression {
                Expr::Call(call) => Some(call),
                _ => None,
            };
            let name = call.and_then(find_callee);
            if call.is_none() {
                continue;
            }
            if name == Some("jit") {
                let func = call.map_or(decorator.range(), |call| call.func.range());
                let plain = format!("@{}", tree.slice(func));
                changes.push(Change::from_edits(vec![Edit::new(decorator.range(), plain)]));
                continue;
            }
            let Some(lines) = tree.find_lines(decorator.range()) else {
                continue;
            };
            let given = call.map(first_configuration).unwrap_or_default();
            let mut launches = candidate.launches.clone();
            for launch in of_kernel(&mut launches, def) {
                for (name, value) in &given {
                    if launch.keyword.iter().all(|(other, _)| other != name) {
                        let span = launch.span;
                        let value = ArgValue::Int(*value);
                        launch.keyword.push((name.clone(), Arg { value, span }));
                    }
                }
            }
            changes.push(Change {
                edits: vec![Edit::new(lines, "")],
                launches: Some(launches),
                ..Change::default()
            });
        }
    }
    changes
}

/// The integers that an autotuner's first configuration gives.
fn first_configuration(call: &ast::ExprCall) -> Vec<(String, i128)> {
    let configs = call.arguments.find_argument_value("configs", 0);
    let first = match configs {
        Some(Expr::List(list)) => list.elts.first(),
        Some(Expr::Tuple(tuple)) => tuple.elts.first(),
        _ => None,
    };
    let Some(Expr::Call(config)) = first else {
        return Vec::new();
    };
    let Some(Expr::Dict(dict)) = config.arguments.find_argument_value("kwargs", 0) else {
        return Vec::new();
    };
    let pairs = dict
        .items
        .iter()
        .filter_map(|item| match (&item.key, &item.value) {
            (Some(Expr::StringLiteral(key)), Expr::NumberLiteral(number)) => {
                let ast::Number::Int(value) = &number.value else {
                    return None;
                };
                Some((key.value.to_str().to_owned(), i128::from(value.as_i64()?)))
            }
            _ => None,
        });
    pairs.collect()
}

/// Replaces calls of the file's own functions by their results.
pub(super) fn inline_calls(_: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let top: Vec<&ast::StmtFunctionDef> = tree.functions();
    for expr in tree.all_expressions() {
        let Expr::Call(call) = expr else { continue };
        let Expr::Name(name) = &*call.func else { continue };
        let Some(def) = top.iter().find(|def| def.name.as_str() == name.id.as_str()) else {
            continue;
        };
        if def.range().contains_range(call.range()) {
            continue;
        }
        let Some(passed) = match_arguments(tree, def, call) else {
            continue;
        };
        if let Some(text) = value_of(tree, &def.body, passed)
            && text.len() < MAX_LENGTH
        {
            changes.push(Change::from_edits(vec![Edit::new(
                call.range(),
                format!("({text})"),
            )]));
        }
    }
    changes
}

/// The arguments of a call, by parameter.
fn match_arguments(
    tree: &Tree<'_>,
    def: &ast::StmtFunctionDef,
    call: &ast::ExprCall,
) -> Option<HashMap<String, String>> {
    let parameters: Vec<&ast::ParameterWithDefault> = plain_parameters(def).collect();
    let mut found = HashMap::new();
    for (parameter, arg) in parameters.iter().zip(&*call.arguments.args) {
        found.insert(parameter.name().to_string(), tree.render_operand(arg));
    }
    for keyword in &call.arguments.keywords {
        found.insert(
            keyword.arg.as_ref()?.to_string(),
            tree.render_operand(&keyword.value),
        );
    }
    for parameter in parameters {
        let name = parameter.name().to_string();
        if let Some(default) = parameter.default()
            && !found.contains_key(&name)
        {
            found.insert(name.clone(), tree.render_operand(default));
        }
        found.contains_key(&name).then_some(())?;
    }
    Some(found)
}

/// The result of a function of assignments and a `return`, as one expression.
fn value_of(tree: &Tree<'_>, body: Block<'_>, mut known: HashMap<String, String>) -> Option<String> {
    for stmt in body {
        match stmt {
            Stmt::Expr(one) if matches!(&*one.value, Expr::StringLiteral(_)) => {}
            Stmt::Assign(assign) => {
                let [Expr::Name(target)] = &assign.targets[..] else {
                    return None;
                };
                let text = substitute_names(tree, &assign.value, &known);
                if text.len() > MAX_LENGTH {
                    return None;
                }
                known.insert(target.id.to_string(), parenthesize(&assign.value, &text));
            }
            Stmt::Return(one) => {
                return Some(substitute_names(tree, one.value.as_deref()?, &known));
            }
            _ => return None,
        }
    }
    None
}

/// An expression's text with other texts for names.
fn substitute_names(tree: &Tree<'_>, expr: &Expr, known: &HashMap<String, String>) -> String {
    use ruff_python_ast::visitor::Visitor as _;
    let mut names = Names::default();
    names.visit_expr(expr);
    let mut reads = names.reads;
    reads.sort_by_key(Ranged::start);
    let mut text = String::new();
    let mut at = expr.start();
    for name in reads {
        let Some(value) = known.get(name.id.as_str()) else {
            continue;
        };
        text.push_str(tree.slice(TextRange::new(at, name.start())));
        text.push_str(value);
        at = name.end();
    }
    text.push_str(tree.slice(TextRange::new(at, expr.end())));
    text
}

/// Replaces parameters by their arguments, if every launch passes the same number, word or `None`.
pub(super) fn inline_arguments(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut each = Vec::new();
    for def in collect_launched(candidate, tree) {
        let names = Names::from_statements(&def.body);
        let bound = names.bound();
        for parameter in plain_parameters(def) {
            let name = parameter.name().as_str();
            let mut launches = candidate.launches.clone();
            let mut values: Vec<Option<ArgValue>> = Vec::new();
            for launch in of_kernel(&mut launches, def) {
                let at = launch.keyword.iter().position(|(other, _)| other == name);
                values.push(at.map(|at| launch.keyword.remove(at).1.value));
            }
            let Some(Some(first)) = values.first() else {
                continue;
            };
            let same = values.iter().all(|value| value.as_ref() == Some(first));
            let Some(text) = render_literal(first).filter(|_| same && !bound.contains(name)) else {
                continue;
            };
            let mut edits = vec![rewrite_signature(tree, def, &[name])];
            let reads = names.reads.iter().filter(|read| read.id.as_str() == name);
            edits.extend(reads.map(|read| Edit::new(read.range(), text.clone())));
            each.push((def.range(), name.to_owned(), edits, launches));
        }
    }
    each.into_iter()
        .map(|(_, _, edits, launches)| Change {
            edits,
            launches: Some(launches),
            ..Change::default()
        })
        .collect()
}

/// A value as Python that a kernel may have.
fn render_literal(value: &ArgValue) -> Option<String> {
    Some(match value {
        ArgValue::None => "None".to_owned(),
        ArgValue::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        ArgValue::Int(number) if *number < 0 => format!("({number})"),
        ArgValue::Int(number) => number.to_string(),
        ArgValue::Float(number) if number.is_finite() && *number >= 0.0 => format!("{number:?}"),
        ArgValue::Float(number) => format!("float('{number}')"),
        ArgValue::Str(text)
            if text
                .chars()
                .all(|c| c.is_ascii_graphic() && c != '\'' && c != '\\') =>
        {
            format!("'{text}'")
        }
        ArgValue::DType(dtype) => format!("tl.{}", dtype.triton_name()),
        ArgValue::Constexpr(inner) => render_literal(inner)?,
        ArgValue::Global(name) if !name.contains('.') => name.clone(),
        _ => return None,
    })
}

/// One pointer in place of two of a dtype.
pub(super) fn merge_pointers(candidate: &Candidate, tree: &Tree<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for def in collect_launched(candidate, tree) {
        let names = Names::from_statements(&def.body);
        let pointers: Vec<&str> = plain_parameters(def)
            .map(|parameter| parameter.name().as_str())
            .filter(|name| candidate.find_pointee(name).is_some())
            .collect();
        if pointers.len() < 3 {
            continue;
        }
        for gone in &pointers {
            for kept in &pointers {
                if gone == kept || candidate.find_pointee(gone) != candidate.find_pointee(kept) {
                    continue;
                }
                let mut launches = candidate.launches.clone();
                for launch in of_kernel(&mut launches, def) {
                    launch.keyword.retain(|(name, _)| name != gone);
                }
                let mut edits = vec![rewrite_signature(tree, def, &[gone])];
                let reads = names.reads.iter().filter(|read| read.id.as_str() == *gone);
                edits.extend(reads.map(|read| Edit::new(read.range(), *kept)));
                changes.push(Change {
                    edits,
                    launches: Some(launches),
                    ..Change::default()
                });
            }
        }
    }
    changes
}
