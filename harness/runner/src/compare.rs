//! `cerith compare`: compares two engines, bit for bit and word for word. See `cerith run` for finding the engine that is wrong.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use cerith_case::{Case, Entry, Expectation, Shard};
use cerith_cuda::record::normalize_message;
use cerith_engine::{Complaint, Engine, EngineId, Failure, Outcome, Reference, Trap, catch_panic};
use cerith_memory::{ByteState, Memory};
use cerith_report::{Palette, Tone};
use cerith_tile::rules::Rules;
use cerith_verdict::Panel;
use serde::Serialize;

use crate::corpus::Selected;
use crate::engines::set_up;
use crate::exit::Exit;
use crate::host::Host;
use crate::options::{PrintFormat, Selection};
use crate::pipeline::{self, in_order};

/// Options for comparing two engines.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The first engine.
    pub left: EngineId,
    /// The second engine.
    pub right: EngineId,
    /// The selected cases.
    pub selection: Selection,
    /// Use only installed toolchains.
    pub offline: bool,
    /// The number of cases to run at once.
    pub jobs: Option<u16>,
    /// Output format: text for people, or a line of JSON for every case.
    pub format: PrintFormat,
}

/// The result of one case; a line of `--format jsonl`.
#[derive(Serialize)]
struct Compared {
    case: String,
    same: bool,
    /// The outcome of each engine, in one word.
    outcomes: [&'static str; 2],
    /// Seconds that each took.
    seconds: [f64; 2],
    /// The difference, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// The reason that the program has no defined answer; only determined if the engines differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    undefined: Option<String>,
    /// The reason why the case's file expects of one of them what it does not expect of the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    foreseen: Option<String>,
}

/// How many cases had each result; the last line of `--format jsonl`.
#[derive(Default, Serialize)]
struct Counts {
    engines: [String; 2],
    cases: u64,
    same: u64,
    /// The cases with equal results that finished.
    finished: u64,
    differ: u64,
    /// Differences in programs that have no defined answer, not among `differ`.
    undefined: u64,
    /// Differences that case files foresee, not among `differ`.
    foreseen: u64,
    /// Cases that could not be made or run: mistakes in case files, bugs of ours.
    failed: u64,
    seconds: f64,
}

/// The reason why a case cannot be compared.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error("error: the case file of `{0}` has errors; `cerith run` shows them")]
    Broken(String),
    #[error("internal error: `{case}`: {message}")]
    Internal { case: String, message: String },
    #[error("internal error: `{case}`: {engine}: {message}")]
    Engine {
        case: String,
        engine: EngineId,
        message: String,
    },
}

/// Compares, and returns the exit code.
pub fn compare(options: &CompareOptions, host: Host<'_>) -> Exit {
    let began = Instant::now();
    let console = host.console;
    let selected = match Selected::open(options.selection.cases.as_deref(), &options.selection.filters) {
        Ok(selected) => selected,
        Err(error) => {
            console.note(&error.to_string());
            return Exit::Wrong;
        }
    };
    if options.left == options.right {
        console.note("error: both engines are the same; name two different ones");
        return Exit::Wrong;
    }
    let jobs = pipeline::count_jobs(options.jobs);
    let wanted = [options.left.clone(), options.right.clone()];
    let setup = set_up(
        Reference::default(),
        &wanted,
        options.offline,
        jobs,
        &selected,
        host,
    );
    for warning in &setup.warnings {
        console.note(&warning.rendered);
    }
    let problems = setup.problems().into_iter().chain(selected.problems());
    let problems: Vec<_> = problems.chain(selected.unmatched()).collect();
    for problem in &problems {
        console.note(&problem.rendered);
    }
    if !problems.is_empty() {
        return Exit::Wrong;
    }
    let panel = Arc::new(setup.panel);
    host.stop_on_interrupt(&panel);
    let [Some(left), Some(right)] = wanted.each_ref().map(|id| find_engine(&panel, id)) else {
        console.note("internal error: an engine was set up under another name\nThis is a bug in Cerith.");
        return Exit::Unexpected;
    };
    let mut counts = Counts {
        engines: wanted.each_ref().map(ToString::to_string),
        ..Counts::default()
    };
    console.begin(selected.entries(Shard::ALL).count() as u64);
    in_order(
        selected.entries(Shard::ALL),
        jobs,
        |entry| (!host.is_stopped()).then(|| compare_case(&entry, [&*left, &*right]))?,
        |done| {
            counts.cases += 1;
            match done {
                Ok(compared) => {
                    counts.count(&compared);
                    let text = match options.format {
                        PrintFormat::Jsonl => render_json_line(&compared),
                        PrintFormat::Human => render_difference(&compared, &wanted, console.palette()),
                    };
                    console.print(&text);
                }
                Err(error) => {
                    counts.failed += 1;
                    console.note(&error.to_string());
                }
            }
            console.advance(counts.differ + counts.failed);
        },
    );
    console.end();
    counts.seconds = began.elapsed().as_secs_f64();
    let text = match options.format {
        PrintFormat::Jsonl => render_json_line(&counts),
        PrintFormat::Human => counts.describe(),
    };
    console.print(&text);
    if host.is_stopped() {
        return Exit::Interrupted;
    }
    match &counts {
        Counts { failed: 1.., .. } => Exit::Wrong,
        Counts { differ: 1.., .. } => Exit::Unexpected,
        Counts { cases: 0, .. } => Exit::Nothing,
        _ => Exit::AsExpected,
    }
}

fn find_engine(panel: &Panel, id: &EngineId) -> Option<Arc<dyn Engine>> {
    if let (EngineId::Reference, Some(reference)) = (id, panel.reference()) {
        let reference: Arc<dyn Engine> = Arc::<Reference>::clone(reference);
        return Some(reference);
    }
    panel
        .other_engines()
        .iter()
        .find(|engine| engine.id() == id)
        .cloned()
}

/// Has both run a case; `None` if the user stopped it.
fn compare_case(entry: &Entry, engines: [&dyn Engine; 2]) -> Option<Result<Compared, CaseError>> {
    let case = match catch_panic(|| entry.resolve()) {
        Ok(Ok(case)) => case,
        Ok(Err(_)) => {
            return Some(Err(CaseError::Broken(entry.id.clone())));
        }
        Err(message) => {
            let case = entry.id.clone();
            return Some(Err(CaseError::Internal { case, message }));
        }
    };
    let failed = |engine: &dyn Engine, message| CaseError::Engine {
        case: case.id.clone(),
        engine: engine.id().clone(),
        message,
    };
    let mut runs = Vec::with_capacity(2);
    for engine in engines {
        match catch_panic(|| engine.run(&case, choose_rules(engine, &case))) {
            Ok(Ok(run)) => runs.push(run),
            Ok(Err(Failure::Stopped)) => return None,
            Ok(Err(failure)) => return Some(Err(failed(engine, format!("failed to {failure}")))),
            Err(panic) => return Some(Err(failed(engine, panic))),
        }
    }
    let [left, right] = &runs[..] else { return None };
    let outcomes = [&left.outcome, &right.outcome];
    let difference = describe_difference(outcomes);
    let undefined = difference
        .as_ref()
        .and_then(|_| explain_undefined(&case, choose_rules(engines[1], &case), outcomes));
    let foreseen = difference.as_ref().and_then(|_| explain_expected(&case, engines));
    Some(Ok(Compared {
        case: case.id.clone(),
        same: difference.is_none(),
        outcomes: outcomes.map(|outcome| outcome.kind().name()),
        seconds: [left, right].map(|run| run.total().as_secs_f64()),
        difference,
        undefined,
        foreseen,
    }))
}

fn choose_rules(engine: &dyn Engine, case: &Case) -> Rules {
    engine
        .origin(case)
        .version()
        .map_or_else(Rules::default, Rules::from_version)
}

/// The reason why the case's file expects something of one engine that it does not expect of the other.
fn explain_expected(case: &Case, engines: [&dyn Engine; 2]) -> Option<String> {
    let all = &case.expectations;
    let speaks = |expectation: &Expectation, engine: &dyn Engine| {
        expectation.applies_among(all, &engine.id().to_string(), choose_rules(engine, case).version)
    };
    let told = all
        .iter()
        .find(|one| speaks(one, engines[0]) != speaks(one, engines[1]));
    told.map(|one| one.reason.clone())
}

/// Why the reference says that a program has no defined answer: for the whole program, because the result depends on the order
/// of programs, or for the bytes that differ.
fn explain_undefined(case: &Case, rules: Rules, outcomes: [&Outcome; 2]) -> Option<String> {
    let reference = catch_panic(|| Reference::default().run(case, rules)).ok()?.ok()?;
    match &reference.outcome {
        Outcome::Trapped(Trap::Undefined, complaint) => Some(complaint.message.clone()),
        Outcome::Finished(finished) => {
            if finished.tracked?.order_dependent {
                return Some("the result depends on the order of programs".to_owned());
            }
            let [left, right] = outcomes.map(|outcome| outcome.finished().map(|finished| &finished.memory));
            let (left, right) = left.zip(right)?;
            only_poison(left, right, &finished.memory)
                .then(|| "only bytes with undefined values differ".to_owned())
        }
        _ => None,
    }
}

/// Whether two memories differ only in bytes that have no defined value by the reference.
fn only_poison(left: &Memory, right: &Memory, reference: &Memory) -> bool {
    left.ids().all(|id| {
        left.guards(id) == right.guards(id)
            && left.size(id) == right.size(id)
            && left.pair_parts(right, id).all(|(one, other)| {
                let known = reference.read(id, one.range());
                let state = |at: usize| known.as_ref().and_then(|part| part.states.get(at));
                let mut pairs = one.bytes.iter().zip(other.bytes.iter()).enumerate();
                pairs.all(|(at, (a, b))| a == b || state(at) == Some(&ByteState::Poison))
            })
    })
}

/// The difference of two outcomes, if there is one.
fn describe_difference([left, right]: [&Outcome; 2]) -> Option<String> {
    if let (Outcome::Finished(left), Outcome::Finished(right)) = (left, right) {
        return compare_memory(&left.memory, &right.memory);
    }
    // A record does not say where in the kernel it was.
    let placed = [left, right].map(|outcome| outcome.complaint().is_some_and(|one| one.position.is_some()));
    let placed = placed == [true; 2];
    let (left, right) = (describe_outcome(left, placed), describe_outcome(right, placed));
    (left != right).then(|| format!("{left}\n{right}"))
}

/// An outcome in words, without what differs from process to process.
fn describe_outcome(outcome: &Outcome, placed: bool) -> String {
    let kind = match outcome {
        Outcome::Trapped(trap, _) => format!("trapped ({trap:?})").to_lowercase(),
        _ => outcome.kind().to_string(),
    };
    match (outcome, outcome.complaint()) {
        (_, None) => kind,
        // The location at a timeout is arbitrary, and the time limit depends on the engine.
        (Outcome::Exhausted(_), Some(complaint)) => format!("{kind}: {}", complaint.kind),
        (_, Some(complaint)) => kind + &describe_complaint(complaint, placed),
    }
}

/// The message, and the place if both know it. If a GPU was stopped, only CUDA's sentence, because the threads that it then lists come
/// in any order.
fn describe_complaint(complaint: &Complaint, placed: bool) -> String {
    let message = if complaint.kind.starts_with("CUDA_ERROR_") {
        complaint.message.lines().next().unwrap_or_default()
    } else {
        &complaint.message
    };
    let mut words = format!(": {}: {}", complaint.kind, normalise_message(message));
    if let Some(launch) = complaint.launch {
        let _ = write!(words, ", launch {launch}");
    }
    if let Some(position) = complaint.position.as_ref().filter(|_| placed) {
        let _ = write!(words, ", at {}:{}", position.file, position.line);
    }
    words
}

/// A message without what differs from process to process, and without the elements of tensors, which stand-ins do not
/// show.
fn normalise_message(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("tensor(") {
        let mut open = 1;
        let end = after.find(|c| {
            open += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            open == 0
        });
        out.push_str(before);
        out.push_str("tensor(…");
        rest = end.and_then(|end| after.get(end..)).unwrap_or_default();
    }
    out.push_str(rest);
    normalize_message(&out)
}

/// Bytes of two memories: which ones, in words, the offset of the first, and both contents.
type Zone<'a> = (&'static str, usize, Cow<'a, [u8]>, Cow<'a, [u8]>);

/// The first byte in which two memories differ, guard zones included, and how many do.
fn compare_memory(left: &Memory, right: &Memory) -> Option<String> {
    let mut first = None;
    let mut count = 0u64;
    for id in left.ids() {
        if left.size(id) != right.size(id) {
            return Some(format!("`{}` has another size", left.name(id)));
        }
        let (left_guards, right_guards) = (left.guards(id), right.guards(id));
        let mut zones: Vec<Zone<'_>> = left
            .pair_parts(right, id)
            .map(|(one, other)| ("", one.offset, one.bytes, other.bytes))
            .collect();
        zones.extend([
            (
                "the guard zone before ",
                0,
                left_guards.0.into(),
                right_guards.0.into(),
            ),
            (
                "the guard zone behind ",
                0,
                left_guards.1.into(),
                right_guards.1.into(),
            ),
        ]);
        for (zone, offset, left_bytes, right_bytes) in zones {
            if left_bytes.len() != right_bytes.len() {
                return Some(format!("`{}` has another size", left.name(id)));
            }
            let differing = left_bytes
                .iter()
                .zip(right_bytes.iter())
                .enumerate()
                .filter(|(_, (a, b))| a != b);
            for (at, (a, b)) in differing {
                count += 1;
                first.get_or_insert_with(|| {
                    format!(
                        "byte {} of {zone}`{}` is 0x{a:02x} and 0x{b:02x}",
                        offset + at,
                        left.name(id)
                    )
                });
            }
        }
    }
    first.map(|first| {
        if count > 1 {
            format!("{count} bytes; {first}")
        } else {
            first
        }
    })
}

fn render_json_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).map_or_else(|_| String::new(), |line| line + "\n")
}

/// A difference, for people.
fn render_difference(compared: &Compared, engines: &[EngineId; 2], palette: Palette) -> String {
    let Some(difference) = &compared.difference else {
        return String::new();
    };
    let mut text = format!("{}\n", palette.paint(Tone::Name, &compared.case));
    let lines: Vec<&str> = difference.lines().collect();
    match lines[..] {
        [left, right] if compared.outcomes != ["finished"; 2] => {
            let _ = writeln!(text, "  {}: {left}\n  {}: {right}", engines[0], engines[1]);
        }
        _ => {
            let _ = writeln!(text, "  {}", lines.join("\n  "));
        }
    }
    if let Some(why) = &compared.undefined {
        let _ = writeln!(text, "  the program has no defined answer: {why}");
    } else if let Some(why) = &compared.foreseen {
        let _ = writeln!(text, "  expected by the case file: {why}");
    }
    text
}

impl Counts {
    fn count(&mut self, compared: &Compared) {
        match (compared.same, &compared.undefined, &compared.foreseen) {
            (true, ..) => {
                self.same += 1;
                self.finished += u64::from(compared.outcomes == ["finished"; 2]);
            }
            (false, Some(_), _) => self.undefined += 1,
            (false, None, Some(_)) => self.foreseen += 1,
            (false, None, None) => self.differ += 1,
        }
    }

    fn describe(&self) -> String {
        let [left, right] = &self.engines;
        format!(
            "{left} and {right}: {} cases, {} the same ({} finished), {} differ, {} differ as the case file \
             expects, {} differ and have no defined answer, {:.1} s\n",
            self.cases, self.same, self.finished, self.differ, self.foreseen, self.undefined, self.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_two_processes_have_in_common_is_left_out() {
        let check = |message: &str, expected: &str| assert_eq!(normalise_message(message), expected);
        check(
            "<function sum at 0x7f5831942b60> of 0x12",
            "<function sum at 0x…> of 0x12",
        );
        check(
            "ptxas '/a/cerith-workers-bBZHW7/tmp5sl_957_.ptx', -o x",
            "ptxas 'tmp….ptx', -o x",
        );
        check(
            "base=tensor([(1.,\n 2.)], size=(2,)), shape=tensor(3)",
            "base=tensor(…), shape=tensor(…)",
        );
        check("no end of tensor((", "no end of tensor(…");
    }

    #[test]
    fn of_a_fault_cudas_sentence_is_compared_and_of_a_time_out_that_it_is_one() {
        let complaint = |kind: &str, message: &str| Box::new(Complaint::new(kind, message));
        let assert = |message: &str| Outcome::Trapped(Trap::Assert, complaint("CUDA_ERROR_ASSERT", message));
        let same = |left: &Outcome, right: &Outcome| describe_difference([left, right]).is_none();
        assert!(same(&assert("failed\nthread 1"), &assert("failed\nthread 2")));
        assert!(!same(&assert("failed"), &assert("it failed")));
        let late = |message: &str| Outcome::Exhausted(complaint("time", message));
        assert!(same(&late("10 s"), &late("30 s")));
        let raised = Outcome::Trapped(Trap::Raised, complaint("CUDA_ERROR_ASSERT", "failed"));
        assert!(!same(&assert("failed"), &raised));
    }
}
