//! `cerith explain`: one case in full.

mod layout;
mod room;
mod stages;
mod verdict;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cerith_case::{Case, Problems, Shard};
use cerith_engine::{Reference, catch_panic};
use cerith_report::{PageCase, Tone, describe, render_page};
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, Stopped, Trial, try_case};

use crate::args::{ExplainArgs, Masked};
use crate::check::code;
use crate::corpus::Selected;
use crate::engines::set_up;
use crate::exit::Exit;
use crate::pipeline;
use crate::stages::{Means, Stages, choose_compiler};
use crate::terminal::Terminal;

/// More cases than this are listed instead of explained.
const MAX_CASES: usize = 5;

/// Explains, and answers with the exit code.
pub fn explain(args: &ExplainArgs, stop: &AtomicBool) -> Exit {
    let mut terminal = Terminal::new();
    if let [code] = args.case.as_slice()
        && args.cases.is_none()
        && let Some(page) = code::find_page(code)
    {
        terminal.print(&format!("{code}\n\n{page}\n"));
        return Exit::AsExpected;
    }
    let selected = match Selected::open(args.cases.as_deref(), &args.case) {
        Ok(selected) => selected,
        Err(message) => {
            terminal.note(&message);
            if let Some(help) = args.case.first().and_then(|word| code::suggest(word)) {
                terminal.note(&format!("  = help: for the code of a finding, {help}"));
            }
            return Exit::Wrong;
        }
    };
    let entries: Vec<_> = selected.entries(Shard::ALL).take(MAX_CASES + 1).collect();
    let unmatched = selected.unmatched();
    if entries.is_empty() || !unmatched.is_empty() {
        for problem in selected.problems().into_iter().chain(unmatched) {
            terminal.note(&problem.rendered);
        }
        return Exit::Wrong;
    }
    if entries.len() > MAX_CASES {
        terminal.note(&format!(
            "`{}` selects many cases; explaining the first {MAX_CASES}",
            args.case.join(" ")
        ));
    }
    let engines = &args.engines;
    let setup = set_up(
        Reference::default()
            .with_masked_zero(args.masked == Masked::Zero)
            .with_threads(pipeline::count_threads(1, 1)),
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
    let mut pages = Vec::new();
    let panel = Arc::new(setup.panel);
    crate::interrupt::on_interrupt(&panel);
    for (nth, entry) in entries.iter().take(MAX_CASES).enumerate() {
        let case = match entry.resolve() {
            Ok(case) => case,
            Err(problems) => {
                wrong.add(&entry.id, problems);
                exit = Exit::Wrong;
                continue;
            }
        };
        let Ok(trial) = try_case(&case, &panel) else {
            return Exit::Interrupted;
        };
        let reference = panel.reference().cloned().unwrap_or_default();
        let sources = selected.corpus.sources();
        let mut event = describe::to_verdict(&case, &trial, &panel, sources);
        event.exhibit = Some(Box::new(describe::of_trial(
            &case,
            &trial,
            panel.reference().map(AsRef::as_ref),
            sources,
        )));
        if args.html {
            pages.push(PageCase {
                ir: collect_ir(&case, &reference, &panel),
                verdict: event,
            });
            continue;
        }
        if nth > 0 {
            terminal.print("\n");
        }
        terminal.print(&verdict::render_headline(&case, &event, &terminal));
        terminal.print(&verdict::render_outcomes(&case, &trial, &terminal));
        terminal.print(&verdict::render_differences(&event, &terminal));
        terminal.print(&room::render_room(&case, &trial, &reference, &terminal));
        terminal.print(&layout::render_layout(&case, &terminal));
        if args.ir {
            let ir = ir_text(&case, &reference, &panel, &terminal);
            terminal.print(&ir);
        }
        if args.stages || args.pass {
            let means = Means {
                reference: &reference,
                offline: engines.offline,
                jobs: 1,
                corpus: selected.readable(),
                stop,
            };
            let opened = Stages::open(choose_compiler(&trial), &means);
            match opened {
                Ok(stages) => match explain_stages(&stages, &case, &trial, args.pass, &terminal) {
                    Ok(text) => terminal.print(&text),
                    Err(Stopped) => return Exit::Interrupted,
                },
                Err(why) => {
                    terminal.note(&format!("the stages cannot be asked: {why}"));
                    exit = Exit::Wrong;
                }
            }
        }
    }
    if args.html {
        match render_page(&pages) {
            Ok(render_page) => terminal.print_page(&render_page),
            Err(error) => {
                terminal.note(&error.to_string());
                exit = Exit::Wrong;
            }
        }
    }
    for problem in wrong.finish() {
        terminal.note(&describe::to_problem(&problem, selected.corpus.sources()).rendered);
    }
    exit
}

/// What the stages say of a case, and the passes if they are asked too.
fn explain_stages(
    stages: &Stages,
    case: &Case,
    trial: &Trial,
    passes: bool,
    terminal: &Terminal,
) -> Result<String, Stopped> {
    let mut text = stages::render_stages(stages, &stages.ask(case, trial)?, terminal);
    if passes {
        match stages.search_passes(case)? {
            Ok(passes) => text.push_str(&stages::render_passes(&passes, terminal)),
            Err(failure) => {
                let _ = writeln!(text, "    failed to {failure}");
            }
        }
    }
    Ok(text)
}

fn render_heading(terminal: &Terminal, words: &str) -> String {
    format!("\n{}\n", terminal.palette.paint(Tone::Strong, words))
}

/// The IR of each launch, by the rules of the first engine that has some, with a heading.
fn collect_ir(case: &Case, reference: &Reference, panel: &Panel) -> Vec<(String, String)> {
    let version = panel
        .other_engines()
        .iter()
        .find_map(|engine| engine.origin(case).version());
    let rules = version.map_or_else(Rules::default, Rules::from_version);
    let mut parts: Vec<(String, String)> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (nth, launch) in case.launches.iter().enumerate() {
        let shown = match catch_panic(|| reference.trace_kernel(launch, rules)) {
            Ok(Ok(Ok(kernel))) => kernel.traced.function.to_string(),
            // Why there is none is among the outcomes.
            Ok(Ok(Err(_))) => continue,
            Ok(Err(failure)) => format!("failed to {failure}"),
            Err(panic) => format!("internal error: {panic}"),
        };
        let same = seen.iter().position(|other| *other == shown);
        let text = match same {
            Some(same) => format!("the same as that of launch {}", same + 1),
            None => shown.clone(),
        };
        parts.push((
            format!(
                "IR of launch {}, by the rules of Triton {}",
                nth + 1,
                rules.version
            ),
            text,
        ));
        seen.push(shown);
    }
    parts
}

fn ir_text(case: &Case, reference: &Reference, panel: &Panel, terminal: &Terminal) -> String {
    let mut text = String::new();
    for (words, part) in collect_ir(case, reference, panel) {
        text.push_str(&render_heading(terminal, &words));
        for line in part.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
