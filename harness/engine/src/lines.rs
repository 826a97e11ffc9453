//! Lines of a case's kernels, for reports: lines that known bugs change, and lines that write to a storage. See `cerith-report`
//! for their presentation.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cerith_case::{ArgValue, Case, Launch};
use cerith_memory::StorageId;
use cerith_tile::ir::{Block, Elem, Function, LocId, OpKind, Operation, Type};
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Rules;

use crate::engine::Failure;
use crate::reference::Reference;

/// A line of a kernel's file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The file's path, as a user would write it.
    pub file: String,
    /// From 1.
    pub line: u32,
}

impl Reference {
    /// The lines that behave differently with quirks. Empty if the quirks affect only the arguments of a kernel.
    ///
    /// # Errors
    /// A bug of Cerith's.
    pub fn changed_lines(
        &self,
        case: &Case,
        rules: Rules,
        quirks: Quirks,
    ) -> Result<BTreeSet<Line>, Failure> {
        let mut changed = BTreeSet::new();
        for launch in &case.launches {
            let (plain, followed) = (
                self.trace_kernel(launch, rules)?,
                self.trace_kernel(launch, rules.with_quirks(quirks))?,
            );
            let (Ok(plain), Ok(followed)) = (plain, followed) else {
                continue;
            };
            let (plain, followed) = (
                by_line(launch, &plain.traced.function),
                by_line(launch, &followed.traced.function),
            );
            let differing = plain
                .iter()
                .filter(|(line, does)| followed.get(*line) != Some(*does))
                .map(|(line, _)| line.clone());
            changed.extend(differing);
        }
        Ok(changed)
    }

    /// The lines that may write to each storage.
    ///
    /// # Errors
    /// A bug of Cerith's.
    pub fn writing_lines(
        &self,
        case: &Case,
        rules: Rules,
    ) -> Result<BTreeMap<StorageId, BTreeSet<Line>>, Failure> {
        let mut writing: BTreeMap<StorageId, BTreeSet<Line>> = BTreeMap::new();
        for launch in &case.launches {
            let Ok(kernel) = self.trace_kernel(launch, rules)? else {
                continue;
            };
            let function = &kernel.traced.function;
            let roots = find_roots(function);
            visit_operations(&function.body, &mut |op| {
                if !is_write(&op.kind) {
                    return;
                }
                let Some(line) = find_line(launch, function, op.loc) else {
                    return;
                };
                let pointer = op.operands.first().and_then(|pointer| roots.get(&pointer.0));
                for param in pointer.into_iter().flatten() {
                    let name = function.params.get(*param).map(|param| param.name.as_str());
                    if let Some(storage) = name.and_then(|name| find_storage(case, launch, name)) {
                        writing.entry(storage).or_default().insert(line.clone());
                    }
                }
            });
        }
        Ok(writing)
    }
}

const fn is_write(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Store { .. } | OpKind::AtomicRmw { .. } | OpKind::AtomicCas { .. }
    )
}

/// The storage that is passed for a parameter.
fn find_storage(case: &Case, launch: &Launch, param: &str) -> Option<StorageId> {
    // A descriptor is passed as several values, and so is a tuple: `desc.0`.
    let own = param.split('.').next().unwrap_or(param);
    let (_, arg) = launch
        .arguments()
        .find(|(name, _)| *name == Some(param) || *name == Some(own))?;
    let name = match &arg.value {
        ArgValue::Tensor { name, .. } => name,
        ArgValue::Descriptor(descriptor) => &descriptor.name,
        _ => return None,
    };
    Some(case.tensor(name)?.storage)
}

/// The parameters, by number, that each pointer may come from.
fn find_roots(function: &Function) -> HashMap<u32, HashSet<usize>> {
    let mut roots: HashMap<u32, HashSet<usize>> = function
        .params
        .iter()
        .enumerate()
        .map(|(nth, param)| (param.value.0, HashSet::from([nth])))
        .collect();
    let is_pointer = |value: u32| {
        let info = function.values.get(value as usize);
        info.is_some_and(|info| matches!(info.ty.elem, Elem::Ptr { .. }))
    };
    // Values that a loop carries derive from the values of its earlier iterations; the result settles soon.
    for _ in 0..4 {
        let before: usize = roots.values().map(HashSet::len).sum();
        visit_operations(&function.body, &mut |op| {
            let from: HashSet<usize> = op
                .operands
                .iter()
                .filter(|operand| is_pointer(operand.0))
                .filter_map(|operand| roots.get(&operand.0))
                .flatten()
                .copied()
                .collect();
            if from.is_empty() {
                return;
            }
            let args = op.kind.regions().flat_map(|block| block.args.iter());
            for made in op.results.iter().chain(args).filter(|made| is_pointer(made.0)) {
                roots.entry(made.0).or_default().extend(&from);
            }
        });
        if roots.values().map(HashSet::len).sum::<usize>() == before {
            break;
        }
    }
    roots
}

/// The behaviour of each line: its operations, and the types of their results.
fn by_line<'a>(launch: &Launch, function: &'a Function) -> BTreeMap<Line, Vec<(&'a OpKind, Vec<&'a Type>)>> {
    let mut lines: BTreeMap<Line, Vec<_>> = BTreeMap::new();
    visit_operations(&function.body, &mut |op| {
        // The lines inside of a loop or branch describe its behaviour.
        if op.kind.regions().next().is_some()
            && matches!(
                op.kind,
                OpKind::For { .. } | OpKind::If { .. } | OpKind::While { .. }
            )
        {
            return;
        }
        if let Some(line) = find_line(launch, function, op.loc) {
            let types = op.results.iter().map(|&result| function.ty(result)).collect();
            lines.entry(line).or_default().push((&op.kind, types));
        }
    });
    lines
}

/// The line of an operation in the kernel's own file. For code inlined from Triton's library, it is the line of the call.
fn find_line(launch: &Launch, function: &Function, loc: LocId) -> Option<Line> {
    let own = &launch.kernel.module.file.name;
    function.call_stack(loc).find_map(|span| {
        let file = function.sources.get(span.source)?;
        (file.name == *own).then(|| Line {
            file: own.clone(),
            line: file.line_column(span.start).0,
        })
    })
}

fn visit_operations<'a>(block: &'a Block, f: &mut impl FnMut(&'a Operation)) {
    for op in &block.ops {
        f(op);
        for region in op.kind.regions() {
            visit_operations(region, f);
        }
    }
}
