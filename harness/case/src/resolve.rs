//! Resolves a case file at one point of its matrix to a [`Case`]. See `corpus` for finding files and kernels, and
//! `schema` for problems of a file at every point.

mod compile;
mod expected_content;
mod launch;
mod recorded;
mod state;
mod storage;

use std::collections::HashSet;

use cerith_memory::Storages;
use cerith_tile::diagnostic::Diagnostic;

use self::state::Resolver;
pub(crate) use self::storage::without_addresses;
use crate::case::{Case, Launch};
use crate::case_file::CaseFile;
use crate::expectation::Expectation;
use crate::matrix::{Point, evaluate_condition};
use crate::schema::{Schema, StorageSchema};
use crate::variant::Layout;
use cerith_expression::Names;

/// Returns the case of a point, or all problems in it. With a layout, the tensors of storages are laid out that way,
/// and everything that depends on them follows. `storages` has none yet.
pub(crate) fn resolve(
    file: &CaseFile,
    id: &str,
    point: Point,
    layout: Option<Layout>,
    storages: Storages,
) -> Result<Case, Vec<Diagnostic>> {
    let schema = &file.schema;
    let mut state = Resolver {
        names: point.names,
        archive_lookup: file.archive_lookup(),
        layout,
        storages,
        tensors: Vec::with_capacity(schema.storages.len() + schema.tensors.len()),
        declared: Vec::with_capacity(schema.storages.len()),
        failed: HashSet::new(),
        problems: Vec::new(),
    };
    let variables = state.names.len();
    let mut fills: Vec<&StorageSchema> = Vec::new();
    for storage in &schema.storages {
        match state.resolve_storage(storage) {
            Ok(()) => fills.push(storage),
            Err(problem) => state.fail(Some(&storage.key.name), problem),
        }
    }
    let named_storages = state.storages.len();
    state.write_fills(&mut fills, false);
    for (key, value) in &schema.tensors {
        if state.resolve_tensor(key, value) {
            state.write_fills(&mut fills, false);
        }
    }
    state.write_fills(&mut fills, true);
    let launches: Vec<Launch> = schema
        .launches
        .iter()
        .filter_map(|launch| state.resolve_launch(file, launch))
        .collect();
    // `compile` names arguments of the launches, so it can't be checked if a launch is missing.
    let compile = match &schema.compile {
        Some(compile) if launches.len() == schema.launches.len() => state.resolve_compile(compile, &launches),
        _ => None,
    };
    // Recorded contents are only valid in the layout of the recorded run.
    let recorded = match &schema.recorded {
        Some(recorded) if state.problems.is_empty() && layout.is_none() => {
            state.resolve_recorded(recorded, &schema.storages)
        }
        _ => None,
    };
    // Another layout has its elements elsewhere.
    let given = if state.problems.is_empty() && layout.is_none() {
        state.resolve_expected_contents(&schema.gives, &schema.storages)
    } else {
        Vec::new()
    };
    for (declared, (_, storage)) in state.declared.iter_mut().zip(state.storages.iter()) {
        if let Some((_, hash)) = &mut declared.recorded {
            *hash = without_addresses(storage);
        }
    }
    let only_variables: Names = state
        .names
        .iter()
        .take(variables)
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let expectations = select_expectations(schema, &only_variables, &mut state.problems);
    let module = match file.find_module(&only_variables) {
        Ok(module) => Some(module),
        Err(problem) => {
            state.problems.push(problem);
            None
        }
    };
    match module {
        Some(module) if state.problems.is_empty() => Ok(Case {
            id: id.to_owned(),
            summary: schema.summary.clone(),
            origin: schema.origin.clone(),
            discovery: schema.discovery.clone(),
            point: point.labels,
            module,
            storages: state.storages,
            named_storages,
            declared: state.declared,
            tensors: state.tensors,
            launches,
            compile,
            timeout: schema.timeout,
            inspectable: schema.inspectable,
            recorded,
            expected_contents: given,
            like: file.like.clone(),
            expectations,
            span: schema.span,
        }),
        _ => Err(state.problems),
    }
}

/// The expectations whose condition holds at a point.
fn select_expectations(
    schema: &Schema,
    variables: &Names,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Expectation> {
    let mut found = Vec::with_capacity(schema.expect.len());
    for expect in &schema.expect {
        match expect
            .condition
            .as_ref()
            .map_or(Ok(true), |when| evaluate_condition(when, variables))
        {
            Ok(false) => {}
            Ok(true) => found.push(Expectation {
                engines: expect.engines.clone(),
                versions: expect.versions.clone(),
                axes: expect.axes.clone(),
                verdict: expect.verdict,
                outcome: expect.outcome,
                message: expect.message.clone(),
                quirks: expect.quirks,
                reason: expect.reason.clone(),
                link: expect.link.clone(),
                span: expect.span,
            }),
            Err(problem) => problems.push(problem),
        }
    }
    found
}
