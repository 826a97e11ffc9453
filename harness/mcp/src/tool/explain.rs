//! `explain`: the page of a finding's code, or a case of a corpus in full, by the reference alone.

use std::sync::Arc;

use cerith_case::{Entry, Shard};
use cerith_check::code;
use cerith_engine::Recorded;
use cerith_report::event::Event;
use cerith_report::{Palette, describe};
use cerith_runner::corpus::Selected;
use cerith_runner::explain::render_trial;
use cerith_verdict::{Panel, Stopped, try_case};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_size::cut_text;
use super::arguments::{build_schema, open_corpus, parse_arguments};
use super::error::{Choice, ToolError};
use super::{Answer, Request, ToolEntry};

/// More cases than this are not explained.
const MAX_CASES: usize = 5;

/// The maximum number of bytes of text about one case.
const MAX_CASE: usize = 8 << 10;

pub const TOOL: ToolEntry = ToolEntry {
    name: "explain",
    title: "Explain a finding or a case",
    description: "Explains the code of a finding of `check` (`out-of-bounds`): its meaning, an example and how to fix it. Or shows a case of a \
            corpus: the outcome of the reference, and the storages, tensors and launches. Only the reference executes the case; outcomes of \
            a recorded program are compared with it.",
    when_off: None,
    build_schema: build_own_schema,
    run: explain,
};

fn build_own_schema() -> Value {
    build_schema(
        &json!({
            "code": {"type": "string", "description": "The code of a finding."},
            "case": {"type": "string", "description": "The id of a case, or a filter that selects few."},
            "cases": {"type": "string", "description": "The folder of case files. Without it, `cases`."},
        }),
        &[],
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: Option<String>,
    case: Option<String>,
    cases: Option<String>,
}

fn explain(request: &Request<'_>, arguments: JsonObject) -> Result<Answer, ToolError> {
    let arguments: Arguments = parse_arguments(arguments)?;
    match (arguments.code, arguments.case) {
        (Some(code), None) => explain_code(&code),
        (None, Some(case)) => {
            let selected = open_corpus(request.root, arguments.cases.as_deref(), Some(&case))?;
            explain_cases(request, &selected)
        }
        _ => Err(ToolError::Choice(Choice::Explain)),
    }
}

fn explain_code(code: &str) -> Result<Answer, ToolError> {
    let Some(page) = code::find_page(code) else {
        let codes: Vec<&str> = code::list_codes().collect();
        let help = code::suggest(code).unwrap_or_else(|| format!("the codes are {}", codes.join(", ")));
        return Err(ToolError::UnknownCode {
            code: code.to_owned(),
            help,
        });
    };
    Ok(Answer {
        blocks: vec![format!("{code}\n\n{page}\n")],
        data: json!({"code": code, "page": page}),
    })
}

fn explain_cases(request: &Request<'_>, selected: &Selected) -> Result<Answer, ToolError> {
    let entries: Vec<Entry> = selected.entries(Shard::ALL).take(MAX_CASES + 1).collect();
    let mut panel = super::check::build_panel(1);
    if selected.is_recording() {
        panel.add(Arc::new(Recorded::default()));
    }
    let panel = Arc::new(panel);
    request.host.stop_on_interrupt(&panel);
    let mut answer = Answer::default();
    let mut verdicts = Vec::new();
    for entry in entries.iter().take(MAX_CASES) {
        match explain_case(selected, entry, &panel) {
            Ok(Some((text, verdict))) => {
                answer.blocks.push(cut_text(&text, MAX_CASE));
                verdicts.push(verdict);
            }
            Ok(None) => break,
            Err(error) if entries.len() == 1 => return Err(error),
            Err(error) => answer.blocks.push(cut_text(&error.to_string(), MAX_CASE)),
        }
    }
    if entries.len() > MAX_CASES {
        answer.blocks.push(format!(
            "more than {MAX_CASES} cases are selected: name one by its id\n"
        ));
    }
    answer.data = json!({"cases": verdicts, "complete": !request.host.is_stopped()});
    Ok(answer)
}

/// The text and the verdict of a case. `None` if the client stopped it.
fn explain_case(
    selected: &Selected,
    entry: &Entry,
    panel: &Arc<Panel>,
) -> Result<Option<(String, Value)>, ToolError> {
    let sources = selected.corpus.sources();
    let case = entry.resolve().map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| describe::to_problem(problem, sources).rendered);
        ToolError::Broken(shown.collect::<Vec<_>>().join("\n"))
    })?;
    let trial = match try_case(&case, panel) {
        Ok(trial) => trial,
        Err(Stopped) => return Ok(None),
    };
    let mut event = describe::to_verdict(&case, &trial, panel, sources);
    let verdict = serde_json::to_value(Event::Verdict(Box::new(event.clone()))).unwrap_or_default();
    let reference = panel.reference().cloned().unwrap_or_default();
    // The pictures of tensors need their bytes, which are too many for the data.
    event.exhibit = Some(Box::new(describe::of_trial(
        &case,
        &trial,
        Some(&reference),
        sources,
    )));
    let text = render_trial(&case, &trial, &event, &reference, Palette::default());
    Ok(Some((text, verdict)))
}
