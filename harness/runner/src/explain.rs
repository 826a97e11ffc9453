//! `cerith explain`: one case in full.

mod layout;
mod room;
mod stages;
mod verdict;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use cerith_case::{Case, Problems, Shard};
use cerith_engine::{Reference, catch_panic};
use cerith_report::event::Verdict;
use cerith_report::{PageCase, Palette, Tone, describe, render_page};
use cerith_tile::rules::Rules;
use cerith_verdict::{Panel, Stopped, Trial, try_case};

use crate::corpus::Selected;
use crate::engines::set_up;
use crate::exit::Exit;
use crate::host::Host;
use crate::options::EngineChoice;
use crate::pipeline;
use crate::stages::{Means, Stages, choose_compiler};

/// Options for explaining a case.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Clone, Debug)]
pub struct ExplainOptions {
    /// The case's id, or a filter that selects few cases.
    pub case: Vec<String>,
    /// The folder of case files.
    pub cases: Option<PathBuf>,
    /// The selected engines.
    pub engines: EngineChoice,
    /// Whether a lane that a load masks off without `other` holds zero, and not an undefined value.
    pub masked_zero: bool,
    /// How many more times the reference and `ptx` launch the case, in other orders.
    pub schedules: u32,
    /// Also show the IR of each launch.
    pub ir: bool,
    /// Also ask each stage of Triton's compiler (frontend, TTIR, TTGIR, PTX) and name the one that is wrong: of the compiled engine that is to blame, else of any that `--engine` names, else of the newest Triton for `sm_80`.
    pub stages: bool,
    /// Also ask for the IR after each pass, name the pass that makes it wrong, and show what it changes.
    pub pass: bool,
    /// Print a page of HTML instead, which needs no script and loads nothing: for a notebook or a mail.
    pub html: bool,
}

/// More cases than this are listed instead of explained.
const MAX_CASES: usize = 5;

/// Explains, and returns the exit code.
pub fn explain(options: &ExplainOptions, host: Host<'_>) -> Exit {
    let console = host.console;
    let palette = console.palette();
    let selected = match Selected::open(options.cases.as_deref(), &options.case) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    let entries: Vec<_> = selected.entries(Shard::ALL).take(MAX_CASES + 1).collect();
    let unmatched = selected.unmatched();
    if entries.is_empty() || !unmatched.is_empty() {
        for problem in selected.problems().into_iter().chain(unmatched) {
            console.note(&problem.rendered);
        }
        return Exit::Wrong;
    }
    if entries.len() > MAX_CASES {
        console.note(&format!(
            "`{}` selects many cases; explaining the first {MAX_CASES}",
            options.case.join(" ")
        ));
    }
    let engines = &options.engines;
    let setup = set_up(
        Reference::default()
            .with_masked_zero(options.masked_zero)
            .with_schedules(options.schedules)
            .with_threads(pipeline::count_threads(1, 1)),
        &engines.engines,
        engines.offline,
        1,
        &selected,
        host,
    );
    for id in &setup.recorded {
        console.note(&format!("replayed {id} from records: no GPU is used"));
    }
    for left_out in &setup.left_out {
        console.note(&format!("left out {}: {}", left_out.engine, left_out.why));
    }
    for problem in setup.warnings.iter().chain(&setup.problems()) {
        console.note(&problem.rendered);
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
    host.stop_on_interrupt(&panel);
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
        if options.html {
            pages.push(PageCase {
                ir: collect_ir(&case, &reference, &panel),
                verdict: event,
            });
            continue;
        }
        if nth > 0 {
            console.print("\n");
        }
        console.print(&render_trial(&case, &trial, &event, &reference, palette));
        if options.ir {
            let ir = ir_text(&case, &reference, &panel, palette);
            console.print(&ir);
        }
        if options.stages || options.pass {
            let means = Means {
                reference: &reference,
                offline: engines.offline,
                jobs: 1,
                corpus: selected.readable(),
                host,
            };
            let opened = Stages::open(choose_compiler(&trial), &means);
            match opened {
                Ok(stages) => match explain_stages(&stages, &case, &trial, options.pass, palette) {
                    Ok(text) => console.print(&text),
                    Err(Stopped) => return Exit::Interrupted,
                },
                Err(why) => {
                    console.note(&format!("the stages cannot be run: {why}"));
                    exit = Exit::Wrong;
                }
            }
        }
    }
    if options.html {
        match render_page(&pages) {
            Ok(render_page) => console.print_page(&render_page),
            Err(error) => {
                console.note(&error.to_string());
                exit = Exit::Wrong;
            }
        }
    }
    for problem in wrong.finish() {
        console.note(&describe::to_problem(&problem, selected.corpus.sources()).rendered);
    }
    exit
}

/// A judged case in full: the verdict, the outcomes, the differences, the storages, tensors and launches.
pub fn render_trial(
    case: &Case,
    trial: &Trial,
    event: &Verdict,
    reference: &Reference,
    palette: Palette,
) -> String {
    [
        verdict::render_headline(case, event, palette),
        verdict::render_outcomes(case, trial, palette),
        verdict::render_differences(event, palette),
        room::render_room(case, trial, reference, palette),
        layout::render_layout(case, palette),
    ]
    .concat()
}

/// Describes the results of the stages for a case, and of the passes if `passes` is set.
fn explain_stages(
    stages: &Stages,
    case: &Case,
    trial: &Trial,
    passes: bool,
    palette: Palette,
) -> Result<String, Stopped> {
    let mut text = stages::render_stages(stages, &stages.ask(case, trial)?, palette);
    if passes {
        match stages.search_passes(case)? {
            Ok(passes) => text.push_str(&stages::render_passes(&passes, palette)),
            Err(failure) => {
                let _ = writeln!(text, "    failed to {failure}");
            }
        }
    }
    Ok(text)
}

fn render_heading(palette: Palette, words: &str) -> String {
    format!("\n{}\n", palette.paint(Tone::Strong, words))
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

fn ir_text(case: &Case, reference: &Reference, panel: &Panel, palette: Palette) -> String {
    let mut text = String::new();
    for (words, part) in collect_ir(case, reference, panel) {
        text.push_str(&render_heading(palette, &words));
        for line in part.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
