//! The exhibit of a case in a report: its program, its memory, and the lines of kernels that belong to its
//! differences. See [`super::trial`] for the verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cerith_case::{ArgValue, Case, Padding};
use cerith_engine::{EngineId, Reference, catch_panic};
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_module::Kernel;
use cerith_tile::quirk::{Quirk, Quirks, signature};
use cerith_tile::rules::Rules;
use cerith_tile::source::Sources;
use cerith_verdict::{Comparison, Samples, SweepTrial, Trial};

use crate::event;

/// How many bytes of a storage are shown at most, and of all storages of a case.
const MAX_STORAGE_BYTES: usize = 16 << 10;
const MAX_TOTAL_BYTES: usize = 128 << 10;

/// The exhibit of a case that a panel judged.
pub fn of_trial(
    case: &Case,
    trial: &Trial,
    reference: Option<&Reference>,
    sources: &Sources,
) -> event::Exhibit {
    let rules = trial
        .references
        .first()
        .map_or_else(Rules::default, |first| first.rules);
    let mut exhibit = build_exhibit(case, sources);
    if let Some(reference) = reference {
        exhibit.uses = collect_uses(case, reference, rules);
    }
    let differences = &trial.verdict.differences;
    let compared: Vec<Compared<'_>> = differences
        .iter()
        .filter_map(|one| {
            Some((
                one.baseline.to_string(),
                one.engine.to_string(),
                one.comparison.as_ref()?,
            ))
        })
        .collect();
    let left: Vec<(String, &Memory)> = trial
        .references
        .iter()
        .chain(&trial.other_records)
        .filter_map(|record| {
            let finished = record.outcome.finished()?;
            // By other rules the reference may leave something else.
            let nth = trial
                .references
                .iter()
                .position(|other| std::ptr::eq(other, record));
            let name = match nth {
                Some(1..) => format!("{} (rules of {})", record.id, record.rules.version),
                _ => record.id.to_string(),
            };
            Some((name, &finished.memory))
        })
        .collect();
    let known = trial
        .references
        .iter()
        .find_map(|record| record.outcome.finished())
        .map(|finished| &finished.memory);
    add_memory(&mut exhibit, &compared, &left, known);
    if let Some(reference) = reference {
        let bugs = differences
            .iter()
            .filter(|one| !one.explained.is_empty())
            .map(|one| (&one.engine, one.explained));
        exhibit.marks = collect_marks(case, reference, rules, bugs, &exhibit.differs);
    }
    exhibit.known = known_bugs(differences.iter().flat_map(|one| {
        let quirks = one.explained.iter().map(to_known_bug);
        quirks.chain(one.known_bug.map(told_bug))
    }));
    exhibit
}

/// The exhibit of a case that was swept.
pub fn of_sweep(case: &Case, samples: &Samples, trial: &SweepTrial, sources: &Sources) -> event::Exhibit {
    let mut exhibit = build_exhibit(case, sources);
    let compared: Vec<Compared<'_>> = trial
        .verdict
        .differences
        .iter()
        .filter_map(|one| {
            Some((
                one.baseline.to_string(),
                one.variant.to_string(),
                one.comparison.as_ref()?,
            ))
        })
        .collect();
    let left: Vec<(String, &Memory)> = samples
        .samples
        .iter()
        .filter_map(|sample| Some((sample.variant.to_string(), &sample.outcome.finished()?.memory)))
        .collect();
    add_memory(&mut exhibit, &compared, &left, None);
    exhibit
}

fn build_exhibit(case: &Case, sources: &Sources) -> event::Exhibit {
    let (file, line) =
        super::locate_span(sources, case.span).map_or_else(Default::default, |at| (at.file, at.line));
    let mut texts: Vec<event::Text> = Vec::new();
    let modules = case.launches.iter().map(|launch| &launch.kernel.module);
    for module in modules.chain([&case.module]) {
        if !texts.iter().any(|text| text.file == module.file.name) {
            texts.push(event::Text {
                file: module.file.name.clone(),
                text: module.file.text.to_string(),
            });
        }
    }
    if let Some(file) = sources.get(case.span.source) {
        texts.push(event::Text {
            file: file.name.clone(),
            text: file.text.to_string(),
        });
    }
    event::Exhibit {
        about: case.summary.clone(),
        file,
        line,
        origin: case.origin.clone(),
        launches: collect_launches(case),
        storages: collect_storages(case),
        views: collect_views(case),
        texts,
        ..event::Exhibit::default()
    }
}

fn collect_launches(case: &Case) -> Vec<event::Launch> {
    case.launches
        .iter()
        .map(|launch| event::Launch {
            kernel: launch.kernel.name.clone(),
            file: launch.kernel.module.file.name.clone(),
            line: line_of(&launch.kernel),
            grid: launch
                .grid
                .iter()
                .take(launch.grid_dims.into())
                .copied()
                .collect(),
            args: launch
                .arguments()
                .enumerate()
                .map(|(nth, (name, arg))| {
                    let name = name.map_or_else(|| nth.to_string(), str::to_owned);
                    (name, render_value(&arg.value))
                })
                .collect(),
            options: launch
                .options
                .iter()
                .map(|(name, option)| (name.clone(), render_value(option)))
                .collect(),
            host: launch
                .host
                .as_ref()
                .map(|host| format!("{}:{}", host.module.file.name, host.name)),
        })
        .collect()
}

fn line_of(kernel: &Kernel) -> u32 {
    kernel.function().map_or(0, |function| {
        kernel.module.file.line_column(function.span.start).0
    })
}

fn collect_storages(case: &Case) -> Vec<event::Storage> {
    case.storages
        .iter()
        .map(|(id, storage)| {
            let declared = case.declared.get(id.0 as usize);
            event::Storage {
                name: storage.name().to_owned(),
                bytes: storage.bytes().len() as u64,
                dtype: declared.map_or_else(String::new, |declared| declared.dtype.to_string()),
                shape: declared.map_or_else(Vec::new, |declared| declared.shape.clone()),
                fill: declared.map_or_else(String::new, |declared| declared.fill.clone()),
            }
        })
        .collect()
}

fn collect_views(case: &Case) -> Vec<event::View> {
    let name = |id| {
        case.storages
            .get(id)
            .map_or_else(String::new, |storage| storage.name().to_owned())
    };
    case.tensors
        .iter()
        .filter(|named| named.name != name(named.tensor.storage))
        .map(|named| event::View {
            name: named.name.clone(),
            storage: name(named.tensor.storage),
            dtype: named.tensor.dtype.to_string(),
            shape: named.tensor.shape.to_vec(),
            strides: named.tensor.strides.to_vec(),
            offset: named.tensor.offset,
        })
        .collect()
}

/// A value as Python would write it.
pub fn render_value(value: &ArgValue) -> String {
    match value {
        ArgValue::None => "None".to_owned(),
        ArgValue::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        ArgValue::Int(number) => number.to_string(),
        ArgValue::Float(number) => format!("{number:?}"),
        ArgValue::Str(text) => format!("{text:?}"),
        ArgValue::DType(dtype) => format!("tl.{}", dtype.triton_name()),
        ArgValue::Constexpr(inner) => format!("tl.constexpr({})", render_value(inner)),
        ArgValue::Global(name) | ArgValue::Tensor { name, .. } | ArgValue::Address { name, .. } => {
            name.clone()
        }
        ArgValue::Descriptor(descriptor) => {
            let mut text = format!(
                "TensorDescriptor({}, {:?}, {:?}, {:?}",
                descriptor.name, descriptor.shape, descriptor.strides, descriptor.block_shape
            );
            if descriptor.padding != Padding::Zero {
                let _ = write!(text, ", padding='{}'", descriptor.padding);
            }
            if descriptor.round_f32_to_tf32 {
                text += ", round_f32_to_tf32=True";
            }
            text + ")"
        }
        ArgValue::Tuple(values) => format!(
            "({},)",
            values.iter().map(render_value).collect::<Vec<_>>().join(", ")
        ),
        ArgValue::NamedTuple { fields, items } => {
            let items = fields.iter().zip(items);
            let pairs: Vec<_> = items
                .map(|(name, item)| format!("{name}={}", render_value(item)))
                .collect();
            format!("({})", pairs.join(", "))
        }
    }
}

fn collect_uses(case: &Case, reference: &Reference, rules: Rules) -> Vec<String> {
    let mut used = catch_panic(|| reference.list_uses(case, rules))
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default();
    used.sort_unstable();
    used.dedup();
    used
}

/// By what something is measured, what differs from it, and how.
type Compared<'a> = (String, String, &'a Comparison);

/// Adds the storages that differ: their contents, and the locations of differences.
fn add_memory(
    exhibit: &mut event::Exhibit,
    compared: &[Compared<'_>],
    left: &[(String, &Memory)],
    known: Option<&Memory>,
) {
    let Some((_, any)) = left.first() else { return };
    let mut ids: BTreeMap<StorageId, usize> = BTreeMap::new();
    for (baseline, engine, comparison) in compared {
        let mut spans: BTreeMap<StorageId, Vec<[u64; 2]>> = BTreeMap::new();
        for (id, span) in &comparison.spans {
            let first = ids.entry(*id).or_insert(span.start);
            *first = span.start.min(*first);
            spans
                .entry(*id)
                .or_default()
                .push([span.start as u64, span.end as u64]);
        }
        for (id, spans) in spans {
            exhibit.differs.push(event::Differs {
                baseline: baseline.clone(),
                engine: engine.clone(),
                storage: any.name(id).to_owned(),
                spans,
                more: comparison.more_spans,
            });
        }
    }
    let mut room = MAX_TOTAL_BYTES;
    for (id, first) in ids {
        let of = any.size(id);
        let from = if of <= MAX_STORAGE_BYTES {
            0
        } else {
            (first / 64 * 64).min(of - MAX_STORAGE_BYTES)
        };
        let window = from..of.min(from + MAX_STORAGE_BYTES);
        let mut contents: Vec<(Cow<'_, [u8]>, Vec<String>)> = Vec::new();
        for (engine, memory) in left {
            let Some(part) = memory.read(id, window.clone()) else {
                continue;
            };
            match contents.iter_mut().find(|(known, _)| *known == part.bytes) {
                Some((_, engines)) => engines.push(engine.clone()),
                None => contents.push((part.bytes, vec![engine.clone()])),
            }
        }
        let needed = contents.len() * window.len();
        if needed > room {
            exhibit.memory_left_out += 1;
            continue;
        }
        room -= needed;
        // Only the window of a sparse storage is described.
        let described = known.map_or(0..0, |known| {
            if known.is_sparse(id) {
                window.clone()
            } else {
                0..of
            }
        });
        let known = known.and_then(|known| known.read(id, described));
        let states = known.as_ref().map_or(&[][..], |part| &*part.states);
        let first = known.as_ref().map_or(0, |part| part.offset);
        exhibit.memory.push(event::Contents {
            storage: any.name(id).to_owned(),
            from: from as u64,
            of: of as u64,
            undefined: find_byte_runs(first, states, ByteState::Poison),
            unwritten: find_byte_runs(first, states, ByteState::Uninit),
            left: contents
                .into_iter()
                .map(|(bytes, engines)| event::Left {
                    engines,
                    bytes: STANDARD.encode(bytes),
                })
                .collect(),
        });
    }
}

/// The runs of bytes in one state, from this byte on.
fn find_byte_runs(first: usize, states: &[ByteState], wanted: ByteState) -> Vec<[u64; 2]> {
    let mut runs: Vec<[u64; 2]> = Vec::new();
    for (at, _) in states.iter().enumerate().filter(|(_, state)| **state == wanted) {
        let at = (first + at) as u64;
        match runs.last_mut() {
            Some(run) if run[1] == at => run[1] = at + 1,
            _ => runs.push([at, at + 1]),
        }
    }
    runs
}

fn collect_marks<'a>(
    case: &Case,
    reference: &Reference,
    rules: Rules,
    bugs: impl Iterator<Item = (&'a EngineId, Quirks)>,
    differs: &[event::Differs],
) -> Vec<event::Mark> {
    let mut marks: BTreeMap<cerith_engine::Line, event::Mark> = BTreeMap::new();
    let mut asked: Vec<(Rules, Quirk)> = Vec::new();
    for (engine, quirks) in bugs {
        let rules = engine.version().map_or(rules, Rules::from_version);
        for quirk in quirks.iter() {
            if asked.contains(&(rules, quirk)) {
                continue;
            }
            asked.push((rules, quirk));
            let lines = catch_panic(|| reference.changed_lines(case, rules, Quirks::NONE.with_quirk(quirk)));
            for line in lines.ok().and_then(Result::ok).unwrap_or_default() {
                let mark = marks.entry(line).or_default();
                let name = quirk.name().to_owned();
                if !mark.bugs.contains(&name) {
                    mark.bugs.push(name);
                }
            }
        }
    }
    if !differs.is_empty() {
        let writing = catch_panic(|| reference.writing_lines(case, rules));
        for (id, lines) in writing.ok().and_then(Result::ok).unwrap_or_default() {
            let name = case.storages.get(id).map_or("", |storage| storage.name());
            if !differs.iter().any(|one| one.storage == name) {
                continue;
            }
            for line in lines {
                marks.entry(line).or_default().writes.push(name.to_owned());
            }
        }
    }
    marks
        .into_iter()
        .map(|(at, mark)| event::Mark {
            file: at.file,
            line: at.line,
            ..mark
        })
        .collect()
}

fn known_bugs(bugs: impl Iterator<Item = event::KnownBug>) -> Vec<event::KnownBug> {
    let mut known: Vec<event::KnownBug> = Vec::new();
    for bug in bugs {
        if !known.contains(&bug) {
            known.push(bug);
        }
    }
    known
}

fn to_known_bug(quirk: Quirk) -> event::KnownBug {
    let (from, to) = quirk.versions();
    event::KnownBug {
        name: quirk.name().to_owned(),
        family: quirk.family().to_string(),
        from: from.to_string(),
        to: to.map(|to| to.to_string()),
        about: quirk.summary().trim().to_owned(),
        origin: quirk.origin().to_owned(),
    }
}

fn told_bug(told: &signature::BugSignature) -> event::KnownBug {
    let (from, to) = told.versions;
    event::KnownBug {
        name: told.name.to_owned(),
        family: told.family.to_string(),
        from: from.to_string(),
        to: to.map(|to| to.to_string()),
        about: told.summary.trim().to_owned(),
        origin: String::new(),
    }
}
