//! Events as `JUnit` XML, which every CI can show: a suite per area, a test per case. The stream has everything that `JUnit`
//! cannot hold.

use std::time::Duration;

use indexmap::IndexMap;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::bytes::left_out;
use crate::event::{Event, Severity, Verdict, VerdictKind};
use crate::human::Human;
use crate::safe;

/// The report cannot be written down.
#[derive(Debug, thiserror::Error)]
#[error("write JUnit XML: {0}")]
pub struct JunitError(#[from] quick_junit::SerializeError);

/// The report of a whole stream.
#[derive(Clone, Debug, Default)]
pub struct Junit {
    areas: IndexMap<String, Vec<TestCase>>,
    seconds: f64,
    ended: bool,
}

impl Junit {
    /// Takes in one event.
    pub fn add_event(&mut self, event: &Event) {
        match &*safe::escape_event(event) {
            Event::Verdict(verdict) | Event::Sweep(verdict) => {
                let case = test_case(verdict);
                self.areas
                    .entry(verdict.area().to_owned())
                    .or_default()
                    .push(case);
            }
            Event::Problem(problem) if problem.severity == Severity::Error => {
                let name = problem.position.as_ref().map_or_else(
                    || problem.code.clone(),
                    |at| format!("{}:{}:{}", at.file, at.line, at.column),
                );
                self.add_error("input", &name, &problem.message, &problem.rendered);
            }
            Event::Internal(internal) => {
                let name = internal.case.clone().unwrap_or_else(|| "run".to_owned());
                self.add_error("internal", &name, "internal error of Cerith", &internal.message);
            }
            Event::Summary(summary) => {
                self.seconds = summary.seconds;
                self.ended = true;
                if summary.interrupted {
                    self.add_error(
                        "run",
                        "interrupted",
                        "the run was interrupted",
                        "the cases that are missing were not judged",
                    );
                }
            }
            Event::Start(_) | Event::Problem(_) => {}
        }
    }

    /// Adds a test for a kernel that no case file describes. `failed` has the first finding on one line, and the text of all.
    pub fn add_kernel(
        &mut self,
        file: &str,
        kernel: &str,
        failed: Option<(&str, &str)>,
        skipped: Option<&str>,
    ) {
        let mut status = match (failed, skipped) {
            (Some(_), _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            (None, Some(_)) => TestCaseStatus::skipped(),
            (None, None) => TestCaseStatus::success(),
        };
        if let Some((message, text)) = failed {
            status.set_message(message).set_description(text);
        } else if let Some(why) = skipped {
            status.set_message(why);
        }
        let mut case = TestCase::new(kernel, status);
        case.set_classname(file);
        case.extra.insert("file".into(), file.into());
        self.areas.entry(file.to_owned()).or_default().push(case);
    }

    /// Notes that nothing is missing, if the tests are not those of a stream with a summary.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    fn add_error(&mut self, suite: &str, name: &str, message: &str, text: &str) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(message).set_description(text);
        self.areas
            .entry(suite.to_owned())
            .or_default()
            .push(TestCase::new(name, status));
    }

    /// The XML. A stream without its summary is an error in it.
    pub fn finish(mut self) -> Result<String, JunitError> {
        if !self.ended {
            self.add_error(
                "run",
                "cut short",
                "the stream ends without its summary",
                "the run was killed; the cases that are missing were not judged",
            );
        }
        let mut report = Report::new("cerith");
        report.set_time(Duration::from_secs_f64(self.seconds.max(0.0)));
        for (area, cases) in self.areas {
            let mut suite = TestSuite::new(area);
            suite.add_test_cases(cases);
            report.add_test_suite(suite);
        }
        // A name in an attribute may still hold a command of a workflow; XML has another way to write it.
        Ok(safe::escape_page(report.to_string()?).replace("##[", "#&#35;["))
    }
}

/// The failure, on one line: an engine's message with its location, or the wrong value and the expected one; without either, the
/// first line of the text.
pub(crate) fn describe_error(verdict: &Verdict) -> String {
    let first = || {
        let text = Human::default().render_event(&Event::Verdict(Box::new(verdict.clone())));
        text.lines().next().unwrap_or_default().to_owned()
    };
    if verdict.blame.iter().any(|engine| engine == "reference") {
        // Our own bug comes first.
        return first();
    }
    let wrong = || verdict.unexpected.iter().chain(&verdict.blame);
    let said = wrong().find_map(|engine| Some((engine, verdict.outcomes.get(engine)?)));
    if let Some((engine, outcome)) = said.filter(|(_, outcome)| !outcome.message.is_empty()) {
        let place = outcome.position.as_ref();
        let place = place.map_or_else(String::new, |at| format!(" ({}:{})", at.file, at.line));
        let kind = if outcome.error.is_empty() {
            outcome.outcome.name()
        } else {
            &outcome.error
        };
        let message = outcome.message.lines().next().unwrap_or_default();
        return safe::escape_line(&format!("{engine}: {kind}: {message}{place}")).into_owned();
    }
    let differs = wrong().find_map(|engine| {
        let one = verdict.differences.iter().find(|one| one.engine == *engine)?;
        Some((engine, one, one.first.first()?))
    });
    if let Some((engine, one, element)) = differs {
        let name = if element.tensor.is_empty() {
            &element.storage
        } else {
            &element.tensor
        };
        let place = if element.at.is_empty() {
            format!("{name}, byte {}", element.byte)
        } else {
            let at: Vec<String> = element.at.iter().map(ToString::to_string).collect();
            format!("{name}[{}]", at.join(", "))
        };
        let [right, came] = &element.values;
        let (baseline, count) = (&one.baseline, one.elements);
        let words = if baseline == engine {
            format!(
                "{engine}: {place} is {right}, and {came} when it is launched again; {count} in all differ"
            )
        } else {
            format!("{engine}: {place} is {came}, and {right} by {baseline}; {count} in all differ")
        };
        return safe::escape_line(&words).into_owned();
    }
    first()
}

fn test_case(verdict: &Verdict) -> TestCase {
    let mut status = if verdict.passes() {
        if let Some(against) = verdict.against.as_deref().filter(|_| verdict.is_in_baseline()) {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("as in the baseline: {}", against.same.join("; ")));
            status
        } else if verdict.verdict == VerdictKind::Inconclusive {
            let mut status = TestCaseStatus::skipped();
            status.set_message(verdict.reason.clone().unwrap_or_default());
            status
        } else {
            TestCaseStatus::success()
        }
    } else {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    };
    if !verdict.passes() {
        let text = Human::default().render_event(&Event::Verdict(Box::new(verdict.clone())));
        status
            .set_message(describe_error(verdict))
            .set_type(verdict.verdict.name())
            .set_description(text);
    }
    let mut case = TestCase::new(verdict.case.clone(), status);
    if verdict.hides() {
        case.set_system_out(left_out(&verdict.left_out).join("\n"));
    }
    case.set_classname(verdict.area().to_owned());
    if let Some(at) = &verdict.position {
        case.extra.insert("file".into(), at.file.as_str().into());
        case.extra.insert("line".into(), at.line.to_string().into());
    }
    case.set_time(Duration::from_secs_f64(
        verdict.seconds.values().sum::<f64>().max(0.0),
    ));
    case
}
