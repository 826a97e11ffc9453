//! `cerith explain`: one case in full.

mod room;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cerith_case::{Case, Problems, Shard};
use cerith_engine::{Reference, guarded};
use cerith_report::event::Event;
use cerith_report::{Human, Tone, describe, in_words, left_out, rules, table};
use cerith_tile::quirk::{Quirk, told};
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, Record, Trial, try_case};

use crate::args::{ExplainArgs, Masked};
use crate::corpus::Selected;
use crate::engines::set_up;
use crate::exit::Exit;
use crate::judge;
use crate::picture::picture;
use crate::pipeline;
use crate::terminal::Terminal;

/// More cases than this are listed instead of explained.
const MOST: usize = 5;

/// Explains, and answers with the exit code.
pub fn explain(args: &ExplainArgs, stop: &AtomicBool) -> Exit {
    let mut terminal = Terminal::new();
    let selected = match Selected::open(args.cases.as_deref(), &args.case) {
        Ok(selected) => selected,
        Err(message) => {
            terminal.note(&message);
            return Exit::Wrong;
        }
    };
    let entries: Vec<_> = selected.entries(Shard::ALL).take(MOST + 1).collect();
    let unmatched = selected.unmatched();
    if entries.is_empty() || !unmatched.is_empty() {
        for problem in selected.problems().into_iter().chain(unmatched) {
            terminal.note(&problem.rendered);
        }
        return Exit::Wrong;
    }
    if entries.len() > MOST {
        terminal.note(&format!(
            "`{}` selects many cases; explaining the first {MOST}",
            args.case.join(" ")
        ));
    }
    let engines = &args.engines;
    let setup = set_up(
        Reference::default()
            .with_masked_zero(args.masked == Masked::Zero)
            .with_threads(pipeline::threads(1, 1)),
        &engines.engines,
        engines.offline,
        1,
        &selected,
        stop,
    );
    for id in &setup.recorded {
        terminal.note(&format!("on record {id}: no GPU is used"));
    }
    for left_out in &setup.left_out {
        terminal.note(&format!("left out {}: {}", left_out.engine, left_out.why));
    }
    for problem in setup.warnings.iter().chain(&setup.problems()) {
        terminal.note(&problem.rendered);
    }
    let (mut wrong, mut exit) = (
        Problems::default(),
        if setup.failed.is_empty() {
            Exit::AsExpected
        } else {
            Exit::Wrong
        },
    );
    let panel = Arc::new(setup.panel);
    crate::interrupt::on_interrupt(&panel);
    for entry in entries.iter().take(MOST) {
        let case = match entry.resolve() {
            Ok(case) => case,
            Err(problems) => {
                wrong.add(&entry.id, problems);
                exit = Exit::Wrong;
                continue;
            }
        };
        let described = case_text(&case, &terminal);
        terminal.print(&described);
        let reference = panel.reference().cloned().unwrap_or_default();
        let ir = ir_text(&case, &reference, &panel, &terminal);
        terminal.print(&ir);
        let Ok(trial) = try_case(&case, &panel) else {
            return Exit::Interrupted;
        };
        let told = trial_text(&case, &trial, &panel, &selected, &terminal);
        terminal.print(&told);
        terminal.print(&room::text(&case, &trial, &reference, &terminal));
    }
    for problem in wrong.finish() {
        terminal.note(&describe::problem(&problem, selected.corpus.sources()).rendered);
    }
    exit
}

fn heading(terminal: &Terminal, words: &str) -> String {
    format!("\n{}\n", terminal.palette.paint(Tone::Strong, words))
}

/// Storages, tensors, launches.
fn case_text(case: &Case, terminal: &Terminal) -> String {
    let mut text = format!(
        "{}\n  {}\n",
        terminal.palette.paint(Tone::Name, &case.id),
        case.about
    );
    if let Some(origin) = &case.origin {
        let _ = writeln!(text, "  from {origin}");
    }
    let memory = case.memory();
    for (id, storage) in case.storages.iter() {
        text.push_str(&heading(terminal, &format!("storage {}", storage.name())));
        let declared = case.declared.get(id.0 as usize).map_or_else(
            || "made by an expression that copies".to_owned(),
            |declared| {
                format!(
                    "{} {:?}, filled with {}",
                    declared.dtype, declared.shape, declared.fill
                )
            },
        );
        let _ = writeln!(text, "    {} bytes, {declared}", storage.bytes().len());
        for pointer in storage.pointers() {
            let target = case
                .storages
                .get(pointer.target)
                .map_or("?", |target| target.name());
            let _ = writeln!(
                text,
                "    byte {} holds the address of {target} + {}",
                pointer.offset, pointer.target_offset
            );
        }
        for named in memory.tensors().iter().filter(|named| named.tensor.storage == id) {
            let tensor = &named.tensor;
            let _ = writeln!(
                text,
                "    {}: {} shape {:?} strides {:?} offset {}",
                named.name,
                tensor.dtype,
                tensor.shape.as_slice(),
                tensor.strides.as_slice(),
                tensor.offset
            );
        }
        text.push_str(&picture(id, storage.bytes().len(), memory.tensors()));
    }
    if case.is_import_only() {
        text.push_str(&heading(terminal, "import"));
        let _ = writeln!(
            text,
            "    {} must import on a machine without a GPU",
            case.module.file.name
        );
    }
    for (nth, launch) in case.launches.iter().enumerate() {
        text.push_str(&heading(terminal, &format!("launch {}", nth + 1)));
        let grid: Vec<String> = launch
            .grid
            .iter()
            .take(launch.grid_dims.into())
            .map(ToString::to_string)
            .collect();
        let arguments: Vec<String> = launch
            .arguments()
            .map(|(name, arg)| match name {
                Some(name) => format!("{name}={}", describe::value(&arg.value)),
                None => describe::value(&arg.value),
            })
            .chain(
                launch
                    .options
                    .iter()
                    .map(|(name, option)| format!("{name}={}", describe::value(option))),
            )
            .collect();
        let _ = writeln!(
            text,
            "    {}: {}[{}]({})",
            launch.kernel.module.file.name,
            launch.kernel.name,
            grid.join(", "),
            arguments.join(", ")
        );
        if let Some(host) = &launch.host {
            let _ = writeln!(
                text,
                "    made by {}:{}(kernel, grid, args)",
                host.module.file.name, host.name
            );
        }
    }
    if case.compile.is_some() {
        text.push_str(&heading(terminal, "compile"));
        for line in case.canonical().compile {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// The IR of each launch, by the rules of the first engine that has some.
fn ir_text(case: &Case, reference: &Reference, panel: &Panel, terminal: &Terminal) -> String {
    let version = panel
        .others()
        .iter()
        .find_map(|engine| engine.origin(case).version());
    let rules = version.map_or_else(Rules::default, Rules::of);
    let mut text = String::new();
    let mut seen: Vec<String> = Vec::new();
    for (nth, launch) in case.launches.iter().enumerate() {
        let shown = match guarded(|| reference.kernel(launch, rules)) {
            Ok(Ok(Ok(kernel))) => kernel.traced.function.to_string(),
            // Why there is none is among the outcomes.
            Ok(Ok(Err(_))) => continue,
            Ok(Err(failure)) => format!("failed to {failure}"),
            Err(panic) => format!("internal error: {panic}"),
        };
        text.push_str(&heading(
            terminal,
            &format!(
                "IR of launch {}, by the rules of Triton {}",
                nth + 1,
                rules.version
            ),
        ));
        if let Some(same) = seen.iter().position(|other| *other == shown) {
            let _ = writeln!(text, "    the same as that of launch {}", same + 1);
        } else {
            for line in shown.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        seen.push(shown);
    }
    text
}

/// Outcomes side by side, and the verdict.
fn trial_text(case: &Case, trial: &Trial, panel: &Panel, selected: &Selected, terminal: &Terminal) -> String {
    let mut text = heading(terminal, "outcomes");
    for record in trial.references.iter().chain(&trial.others) {
        text.push_str(&record_text(record, trial.references.len() > 1, terminal));
    }
    for internal in judge::internal(case, trial) {
        let event = Event::Internal(internal);
        text.push_str(&Human::new(terminal.palette).event(&event));
    }
    text.push_str(&heading(terminal, "verdict"));
    let event = describe::trial(case, trial, panel, selected.corpus.sources());
    let blame = if event.blame.is_empty() {
        String::new()
    } else {
        format!(": {} wrong", event.blame.join(", "))
    };
    let mut marks = Vec::new();
    if event.unconfirmed {
        marks.push("unconfirmed");
    }
    if event.vacuous {
        marks.push("vacuous");
    }
    marks.push(if event.passes() {
        "as expected"
    } else {
        "not as expected"
    });
    let _ = writeln!(text, "    {}{blame} ({})", event.verdict, marks.join(", "));
    if let Some(reason) = &event.reason {
        let _ = writeln!(text, "    {reason}");
    }
    let _ = writeln!(text, "    {}", in_words(event.bytes));
    for line in left_out(&event.left_out) {
        let _ = writeln!(text, "    {line}");
    }
    for said in event.suspected.iter().chain(&event.notes) {
        let _ = writeln!(text, "    {said}");
    }
    for line in rules(&event.rules) {
        let _ = writeln!(text, "    {line}");
    }
    for expectation in &event.expectations {
        let _ = writeln!(
            text,
            "    expectation {}: {} {}: {}",
            expectation.state,
            expectation.engines.join(", "),
            expectation.versions,
            expectation.why
        );
    }
    for difference in &event.differences {
        let _ = writeln!(
            text,
            "\n    {} against {}, {}: {} elements",
            difference.engine, difference.baseline, difference.kind, difference.elements
        );
        for name in &difference.explained {
            let _ = writeln!(text, "    explained by {name}: {}", about(name));
        }
        text.push_str(&table(
            &difference.baseline,
            &difference.engine,
            &difference.first,
        ));
    }
    text
}

/// What goes wrong with a known bug.
fn about(name: &str) -> &'static str {
    let of_model = Quirk::from_name(name).map(|quirk| quirk.about().trim());
    let told = || {
        told::ALL
            .iter()
            .find(|told| told.name == name)
            .map(|told| told.about)
    };
    of_model.or_else(told).unwrap_or_default()
}

fn record_text(record: &Record, by_rules: bool, terminal: &Terminal) -> String {
    let rules = if record.origin != record.id {
        format!(", of {}", record.origin)
    } else if by_rules && record.id.version().is_none() {
        format!(" by the rules of Triton {}", record.rules.version)
    } else {
        String::new()
    };
    let mut text = format!(
        "    {}{rules}: {} in {:.6} s\n",
        terminal.palette.paint(Tone::Strong, &record.id.to_string()),
        record.outcome.kind(),
        record.seconds
    );
    for line in record
        .outcome
        .finished()
        .into_iter()
        .flat_map(|finished| &finished.printed)
    {
        let _ = writeln!(text, "      printed: {line}");
    }
    if let Some(complaint) = record.outcome.complaint() {
        let _ = writeln!(text, "      {}: {}", complaint.kind, complaint.message);
        match (&complaint.detail, &complaint.position) {
            (Some(detail), _) => {
                for line in detail.trim_end().lines() {
                    let _ = writeln!(text, "      {line}");
                }
            }
            (None, Some(place)) => {
                let _ = writeln!(
                    text,
                    "      at {}:{}: {}",
                    place.file,
                    place.line,
                    place.text.trim()
                );
            }
            (None, None) => {}
        }
    }
    text
}
