//! `reduce`: the smallest kernel and data that still show a finding of `check`, or what the reference reports for a case.

use std::sync::Arc;

use cerith_campaign::reduce::{Bounds, Smaller, reduce_fault};
use cerith_case::{Case, Shard};
use cerith_check::baseline::Baseline;
use cerith_check::config::Config;
use cerith_check::report::KernelReport;
use cerith_check::subject::Subject;
use cerith_survey::Survey;
use cerith_tile::rules::Version;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_size::cut_text;
use super::arguments::{build_schema, find_named, open_corpus, parse_arguments};
use super::check::{Means, build_panel, check_target};
use super::error::{Choice, ToolError};
use super::{Answer, Request, ToolEntry};

/// Seconds for a reduction if the client names none.
const SECONDS: u64 = 20;

/// The maximum number of bytes of a smaller kernel's text.
const MAX_KERNEL: usize = 8 << 10;

pub const TOOL: ToolEntry = ToolEntry {
    name: "reduce",
    title: "Reduce a finding",
    description: "Makes a kernel and its launch as small as possible while the reference still reports the same kind of failure for the same \
            line: for a finding of `check`, or for a case. Returns the smaller kernel and a case file; writes nothing. Call it if a finding \
            in a long kernel is hard to understand.",
    when_off: None,
    build_schema: build_own_schema,
    run: reduce,
};

fn build_own_schema() -> Value {
    build_schema(
        &json!({
            "path": {"type": "string", "description": "The kernel's file."},
            "text": {"type": "string", "description": "Python with the kernel, in place of `path`."},
            "kernel": {"type": "string", "description": "The kernel. Without it, the first with such a finding."},
            "finding": {"type": "string", "description": "The id or the code of the finding. Without it, the first."},
            "case": {"type": "string", "description": "The id of a case, in place of a finding."},
            "cases": {"type": "string", "description": "The folder of case files. Without it, `cases`."},
            "seconds": {"type": "integer", "minimum": 1, "description": "The most seconds for the reduction. Default: 20."},
        }),
        &[],
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    text: Option<String>,
    kernel: Option<String>,
    finding: Option<String>,
    case: Option<String>,
    cases: Option<String>,
    seconds: Option<u64>,
}

fn reduce(request: &Request<'_>, arguments: JsonObject) -> Result<Answer, ToolError> {
    let arguments: Arguments = parse_arguments(arguments)?;
    let (case, version) = match &arguments.case {
        Some(id) if arguments.path.is_none() && arguments.text.is_none() => {
            (find_case(request, arguments.cases.as_deref(), id)?, None)
        }
        Some(_) => return Err(ToolError::Choice(Choice::Reduce)),
        None => find_finding(request, &arguments)?,
    };
    let panel = build_panel(1);
    let panel = Arc::new(version.map_or_else(|| panel.clone(), |version| panel.with_language(version)));
    request.host.stop_on_interrupt(&panel);
    let bounds = Bounds {
        time: request.measure_remaining(Some(arguments.seconds.unwrap_or(SECONDS))),
        jobs: 1,
        host: request.host,
        keeps: None,
    };
    let smaller = reduce_fault(&case, &panel, bounds).map_err(|error| ToolError::Reduce {
        case: case.id.clone(),
        error,
    })?;
    Ok(describe_smaller(&smaller))
}

fn describe_smaller(smaller: &Smaller) -> Answer {
    let candidate = &smaller.reduced.candidate;
    let (kernel, file) = (candidate.kernel(), candidate.case_file());
    let after = candidate.size();
    let case = file.as_deref().unwrap_or_default();
    Answer {
        blocks: vec![
            smaller.render(),
            cut_text(&format!("kernel.py:\n{}\n", kernel.trim_end()), MAX_KERNEL),
            cut_text(&format!("case.yaml:\n{}\n", case.trim_end()), MAX_KERNEL),
        ],
        data: json!({
            "kept": smaller.preserved,
            "kernel": kernel,
            "case": case,
            "lines": [smaller.before.lines, after.lines],
            "elements": [smaller.before.elements, after.elements],
            "programs": [smaller.before.programs, after.programs],
            "complete": smaller.reduced.complete,
        }),
    }
}

/// The one case of a corpus that an id names.
fn find_case(request: &Request<'_>, folder: Option<&str>, id: &str) -> Result<Case, ToolError> {
    let selected = open_corpus(request.root, folder, Some(id))?;
    let mut entries = selected.entries(Shard::ALL);
    match (entries.next(), entries.next()) {
        (Some(entry), None) => entry.resolve().map_err(|problems| {
            let shown = problems
                .iter()
                .map(|one| cerith_report::describe::to_problem(one, selected.corpus.sources()).rendered);
            ToolError::Broken(shown.collect::<Vec<_>>().join("\n"))
        }),
        (Some(first), Some(second)) => Err(ToolError::SeveralCases {
            filter: id.to_owned(),
            first: first.id,
            second: second.id,
        }),
        _ => Err(ToolError::NoCase(id.to_owned())),
    }
}

/// The case of the first launch that shows a finding, and the version of the language that it is judged by.
fn find_finding(request: &Request<'_>, arguments: &Arguments) -> Result<(Case, Option<Version>), ToolError> {
    let named = find_named(
        request.root,
        arguments.path.as_deref(),
        arguments.text.clone(),
        arguments.kernel.as_deref(),
    )?;
    let config = Config::find_here()?;
    let baseline = Baseline::default();
    let means = Means {
        config: &config,
        baseline: &baseline,
        timeout: None,
        is_verbose: false,
    };
    let mut found = None;
    let mut conditions = 0;
    for target in &named.targets {
        check_target(request, &means, &named, target, &mut |subject, survey, report| {
            conditions += report.preconditions.len();
            if found.is_none() {
                found = find_shown(subject, survey, report, arguments.finding.as_deref());
            }
        })?;
        if found.is_some() || request.host.is_stopped() {
            break;
        }
    }
    found.ok_or_else(|| match &arguments.finding {
        Some(finding) => ToolError::NoFinding(finding.clone()),
        None if conditions > 0 => ToolError::OnlyPreconditions,
        None => ToolError::NothingFound,
    })
}

/// The case of a finding that its id or its code names, or of the first one.
fn find_shown(
    subject: &Subject,
    survey: &Survey,
    report: &KernelReport<'_>,
    finding: Option<&str>,
) -> Option<(Case, Option<Version>)> {
    let is_named = |id: &str, code: &str| finding.is_none_or(|name| name == id || name == code);
    let mut all = report
        .list_wrong()
        .chain(&report.warned)
        .filter(|one| one.has_cases());
    let shown = all.find(|one| is_named(&one.id, one.finding.key.code()))?;
    let id = shown.case_id(survey);
    let corpus = subject.build_launch_corpus(std::iter::once(survey));
    let entry = corpus.entries().find(|entry| entry.id == id)?;
    Some((entry.resolve().ok()?, survey.version))
}
