//! The runs and calls of a submission: answers to the questions of its process, and the judgement of each call.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use cerith_engine::catch_panic;
use cerith_toolchain::program::{Question, Reply, split_blobs};
use serde_json::json;

use crate::evidence::{
    Evidence, View, check_dtype, describe_comparison, describe_launch, hash_elements, sort_outputs,
};
use crate::judgement::{Failure, Summary, Verdict};
use crate::launch_plan::Plan;
use crate::message::{CallResult, Message, RaisedException, Suspicion};
use crate::task::Task;
use crate::trial::{Expected, Interface, Trial};
use crate::variation::Variation;
use cerith_runner::oracle::message::{self, LaunchAnswer};
use cerith_runner::oracle::session::Session;

/// Seconds of a run.
const RUN_SECONDS: f64 = 20.0;

/// The text for a run that takes longer.
const LATE: &str = "its calls do not return within 20 seconds";

/// Kinds of data with which a right kernel may have no bounds. Even so its values are near the reference's.
const ILL_CONDITIONED: [&str; 2] = ["large", "non-finite"];

/// The kind of data with which only a wrong formula counts.
const UNBOUNDED: &str = "huge";

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// All calls, in order.
    Judge,
    /// Some of them again, in another order.
    Repeat,
    /// A call that failed, as the first of its process.
    Confirm,
}

/// A process of the submission.
struct Run {
    purpose: Purpose,
    calls: VecDeque<usize>,
    session: Session,
    part: PathBuf,
    file: File,
    part_number: Option<u64>,
    call: Option<Call>,
    began: Instant,
}

/// A call that is being made.
struct Call {
    trial: usize,
    first_launch: u64,
    plan: Plan,
    /// The launch that did not finish.
    failed: Option<Failure>,
}

/// The judging of one submission.
pub(super) struct Judging<'a> {
    task: &'a Task,
    trials: &'a [Trial],
    folder: &'a Path,
    runs: VecDeque<(Purpose, Vec<usize>)>,
    run: Option<Run>,
    count: usize,
    /// The launches of all calls for each key.
    plans: HashMap<String, Vec<Plan>>,
    paired: HashSet<String>,
    /// The results of calls, by trial.
    results: HashMap<usize, blake3::Hash>,
    /// The elements of all results so far.
    earlier: HashSet<blake3::Hash>,
    failure: Option<Failure>,
    unconfirmed: Option<Failure>,
    suspicions: Vec<Suspicion>,
    decided: BTreeMap<String, usize>,
    undecided: BTreeMap<String, String>,
    compared: BTreeSet<usize>,
    variation: Variation,
    launches: u64,
}

impl<'a> Judging<'a> {
    /// Judges a submission of a task. `folder` gets its part files.
    pub fn new(task: &'a Task, folder: &'a Path) -> Self {
        let trials = task.trials.as_slice();
        let mut first_of_key = BTreeMap::new();
        for (at, trial) in trials.iter().enumerate() {
            first_of_key.entry(&trial.key).or_insert(at);
        }
        let mut repeated: Vec<usize> = first_of_key.into_values().collect();
        repeated.sort_unstable_by(|one, other| other.cmp(one));
        Self {
            task,
            trials,
            folder,
            runs: VecDeque::from([
                (Purpose::Judge, (0..trials.len()).collect()),
                (Purpose::Repeat, repeated),
            ]),
            run: None,
            count: 0,
            plans: HashMap::new(),
            paired: HashSet::new(),
            results: HashMap::new(),
            earlier: HashSet::new(),
            failure: None,
            unconfirmed: None,
            suspicions: Vec::new(),
            decided: BTreeMap::new(),
            undecided: BTreeMap::new(),
            compared: BTreeSet::new(),
            variation: Variation::default(),
            launches: 0,
        }
    }

    /// Calls that were compared so far.
    pub fn count_compared(&self) -> usize {
        self.compared.len()
    }

    /// Answers a question.
    pub fn answer(&mut self, question: &Question<'_>) -> Reply {
        let message = match serde_json::from_value(question.header.clone()) {
            Ok(message) => message,
            Err(error) => {
                self.fail(Failure::new(
                    Verdict::Tampering,
                    format!("it sends a message of its own to the judge: {error}"),
                ));
                return Reply::from(json!({"end": true}));
            }
        };
        match message {
            Message::Next => self.begin_run(),
            Message::Call => self.begin_call(),
            Message::Oracle { part, request, sizes } => self.execute(part, &request, &sizes, question.blobs),
            Message::Result { result, sizes } => {
                self.end_call(&result, &sizes, question.blobs);
                Reply::from(json!({}))
            }
            Message::Raised(raised) => {
                self.end_raised(raised);
                Reply::from(json!({}))
            }
            Message::Ended { status, late } => {
                self.end_run(status, late);
                Reply::from(json!({}))
            }
        }
    }

    fn begin_run(&mut self) -> Reply {
        let end = || Reply::from(json!({"end": true}));
        if self.failure.is_some() {
            return end();
        }
        let Some((purpose, calls)) = self.runs.pop_front() else {
            return end();
        };
        self.count += 1;
        let part = self.folder.join(format!("{}.part", self.count));
        let file = OpenOptions::new().create_new(true).append(true).open(&part);
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                self.fail(Failure::new(
                    Verdict::NotJudged,
                    format!("failed to write {}: {error}", part.display()),
                ));
                return end();
            }
        };
        let mut session = Session::new(&part);
        session.use_contract(self.task.contract);
        self.run = Some(Run {
            purpose,
            calls: calls.into(),
            session,
            part,
            file,
            part_number: None,
            call: None,
            began: Instant::now(),
        });
        let Interface { form, entry, .. } = &self.task.interface;
        Reply::from(json!({"run": {"form": form, "entry": entry, "seconds": RUN_SECONDS}}))
    }

    fn begin_call(&mut self) -> Reply {
        let end = Reply::from(json!({"end": true}));
        let trials = self.trials;
        let Some(run) = self.run.as_mut().filter(|_| self.failure.is_none()) else {
            return end;
        };
        let next = run.calls.pop_front();
        let Some((at, trial)) = next.and_then(|at| Some((at, trials.get(at)?))) else {
            return end;
        };
        run.session.begin_call(trial.list_exact());
        run.call = Some(Call {
            trial: at,
            first_launch: run.session.latest_number().map_or(0, |number| number + 1),
            plan: Plan::new(at),
            failed: None,
        });
        let files: Vec<_> = trial
            .storages
            .iter()
            .map(|(name, bytes)| json!({"name": name, "bytes": bytes.len()}))
            .collect();
        Reply {
            header: json!({"call": trial.call, "files": files}),
            blobs: trial.storages.iter().map(|(_, bytes)| bytes.clone()).collect(),
        }
    }

    /// Executes the launch that the process wrote last.
    fn execute(&mut self, part: u64, request: &serde_json::Value, sizes: &[usize], blobs: &[u8]) -> Reply {
        let refuse = |text: &str| Reply::from(json!({"outcome": "failed", "text": text}));
        let Some(run) = self.run.as_mut() else {
            return refuse("no run has begun");
        };
        let is_launch = request.get("request").and_then(|name| name.as_str()) == Some("launch");
        let known = *run.part_number.get_or_insert(part) == part;
        let parts = split_blobs(blobs, sizes).filter(|_| is_launch && known);
        let Some(&[new]) = parts.as_deref() else {
            return refuse("a submission may only ask for launches of one part file");
        };
        if let Err(error) = run.file.write_all(new) {
            return refuse(&format!("failed to write {}: {error}", run.part.display()));
        }
        self.launches += 1;
        let (answer, payload) = match catch_panic(|| run.session.launch()) {
            Ok(answered) => answered,
            Err(panic) => return refuse(&format!("internal error: {panic}")),
        };
        let is_late = run.began.elapsed().as_secs_f64() > RUN_SECONDS;
        if let Some(call) = run.call.as_mut() {
            let failed = describe_launch(&answer);
            if call.failed.is_none() {
                call.failed = failed;
            }
            if matches!(answer, LaunchAnswer::Finished { .. })
                && let Some(number) = run.session.latest_number()
                && let Some(executed) = run.session.find_executed(number)
                && let Some(trial) = self.trials.get(call.trial)
            {
                call.plan.add(trial, number, Rc::clone(executed));
            }
        }
        let trial = run.call.as_ref().map(|call| call.trial);
        if is_late {
            // The other side has stopped waiting for the answer.
            let failure = Failure::new(Verdict::Timeout, LATE);
            let failure = self.locate(failure, trial);
            self.fail(failure);
        }
        let header = serde_json::to_value(&answer).unwrap_or_default();
        Reply {
            header,
            blobs: payload,
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    fn end_raised(&mut self, raised: RaisedException) {
        self.suspicions.extend(raised.suspicions);
        let call = self.run.as_mut().and_then(|run| run.call.take());
        let trial = call.as_ref().map(|call| call.trial);
        let failure = call.and_then(|call| call.failed).unwrap_or_else(|| {
            let verdict = if raised.unfit {
                Verdict::NotJudged
            } else {
                Verdict::Crashed
            };
            let text = format!("it raises {}: {}", raised.kind, raised.text);
            Failure::new(verdict, text.trim_end_matches([':', ' '])).with_place(None, raised.line)
        });
        let failure = self.locate(failure, trial);
        self.fail(failure);
    }

    fn end_run(&mut self, status: i32, late: bool) {
        let Some(run) = self.run.take() else {
            return;
        };
        let trial = run.call.as_ref().map(|call| call.trial);
        let failed = run.call.and_then(|call| call.failed);
        if late {
            let failure = failed.unwrap_or_else(|| Failure::new(Verdict::Timeout, LATE));
            let failure = self.locate(failure, trial);
            self.fail(failure);
        } else if status != 0 || trial.is_some() || !run.calls.is_empty() {
            let how = match status & 0x7f {
                0 => format!("exit code {}", status >> 8 & 0xff),
                signal => format!("signal {signal}"),
            };
            let failure = Failure::new(Verdict::Crashed, format!("its process ends: {how}"));
            let failure = self.locate(failure, trial);
            self.fail(failure);
        }
        if run.purpose == Purpose::Confirm
            && let Some(failure) = self.unconfirmed.take()
            && self.failure.is_none()
        {
            self.failure = Some(failure);
        }
    }

    /// Adds the data of a trial.
    fn locate(&self, mut failure: Failure, trial: Option<usize>) -> Failure {
        if let Some(trial) = trial.and_then(|at| self.trials.get(at)) {
            failure.finding.data = Some(trial.kind.clone());
            failure.finding.sizes = Some(trial.sizes.clone());
        }
        failure
    }

    fn end_call(&mut self, result: &CallResult, sizes: &[usize], blobs: &[u8]) {
        self.suspicions.extend(result.suspicions.iter().cloned());
        let Some(mut run) = self.run.take() else {
            return;
        };
        if let Some(call) = run.call.take() {
            let blobs = split_blobs(blobs, sizes).unwrap_or_default();
            self.judge_call(&run, call, result, &blobs);
        }
        if self.unconfirmed.is_some() {
            run.calls.clear();
        }
        self.run = Some(run);
    }

    fn judge_call(&mut self, run: &Run, call: Call, result: &CallResult, blobs: &[&[u8]]) {
        let trials = self.trials;
        let at = call.trial;
        let Some(trial) = trials.get(at) else {
            return;
        };
        let evidence = Evidence {
            plan: &call.plan,
            first_launch: call.first_launch,
            failed: call.failed.as_ref(),
            earlier: &self.earlier,
        };
        let sorted = sort_outputs(result, trial);
        let views = match &sorted {
            Ok(outputs) => evidence.find_views(outputs, blobs),
            Err(_) => evidence.find_views(&result.outputs.iter().collect::<Vec<_>>(), blobs),
        };
        let digest = views
            .as_ref()
            .ok()
            .and_then(|views| hash_elements(&run.session, views));
        if let (Some(digest), Some(known)) = (digest, self.results.get(&at))
            && digest != *known
        {
            let text = "the same call has another result in another process";
            let failure = self.locate(Failure::new(Verdict::Nondeterministic, text), Some(at));
            return self.fail(failure);
        }
        match run.purpose {
            // It fails again, as before.
            Purpose::Confirm => return,
            Purpose::Repeat => {
                if let Err(failure) = evidence.check(result, sorted, views) {
                    let failure = self.locate(failure, Some(at));
                    self.fail(failure);
                }
                return;
            }
            Purpose::Judge => {}
        }
        let checked = evidence.check(result, sorted, views);
        if let Some(digest) = digest {
            self.results.insert(at, digest);
        }
        let mut plan = call.plan;
        let judged = checked.and_then(|views| {
            plan.set_outputs(views.iter().map(View::to_parts));
            self.compare(run, &plan, trial, &views)
        });
        let judged = judged.and_then(|()| {
            self.earlier.extend(digest);
            self.compared.insert(at);
            self.compare_plans(trial, plan)
        });
        if let Err(failure) = judged {
            let failure = self.locate(failure, Some(at));
            self.suspect_chance(failure, at, digest.is_some());
        }
    }

    /// Compares the outputs with the reference's.
    fn compare(&mut self, run: &Run, plan: &Plan, trial: &Trial, views: &[View]) -> Result<(), Failure> {
        for (at, (view, expected)) in views.iter().zip(&trial.outputs).enumerate() {
            if let Some(digest) = hash_elements(&run.session, std::slice::from_ref(view)) {
                self.variation.add(&trial.key, at, digest);
            }
            let dtype = check_dtype(view, expected);
            // Integers and floats cannot be compared.
            if let Err(failure) = &dtype
                && failure.verdict == Verdict::Wrong
            {
                return dtype;
            }
            self.compare_output(run, plan, trial, view, expected)?;
            dtype?;
        }
        Ok(())
    }

    /// Fails, after the call has been made again in a fresh process if its result may be due to chance.
    fn suspect_chance(&mut self, failure: Failure, trial: usize, has_result: bool) {
        let by_chance = matches!(
            failure.verdict,
            Verdict::Wrong | Verdict::Inaccurate | Verdict::UnwrittenOutput | Verdict::LibraryCall
        );
        if has_result && by_chance {
            self.runs = VecDeque::from([(Purpose::Confirm, vec![trial])]);
            self.unconfirmed = Some(failure);
        } else {
            self.fail(failure);
        }
    }

    /// Compares the launches with those of an earlier call with other data.
    fn compare_plans(&mut self, trial: &Trial, plan: Plan) -> Result<(), Failure> {
        let known = self.plans.entry(trial.key.clone()).or_default();
        let others: Vec<_> = known
            .iter()
            .filter_map(|plan| Some((plan, self.trials.get(plan.trial)?)))
            .collect();
        let (difference, is_first) = (plan.find_difference(trial, &others), others.is_empty());
        known.push(plan);
        if let Some(difference) = difference {
            let text = format!("`{}`: {}", difference.kernel, difference.text);
            return Err(Failure::new(Verdict::LibraryCall, text));
        }
        if is_first {
            return Ok(());
        }
        self.paired.insert(trial.key.clone());
        Ok(())
    }

    fn compare_output(
        &mut self,
        run: &Run,
        plan: &Plan,
        trial: &Trial,
        view: &View,
        expected: &Expected,
    ) -> Result<(), Failure> {
        let output = view.to_output(&expected.name);
        let values = expected.values.as_values();
        let compared = catch_panic(|| run.session.compare_output(&output, values, None));
        let not_judged = |text: String| Failure::new(Verdict::NotJudged, text);
        let answer = compared
            .map_err(|panic| not_judged(format!("internal error: {panic}")))?
            .map_err(|error| not_judged(error.to_string()))?;
        if let Some(mut failure) = describe_comparison(expected, &answer) {
            if let Some((kernel, tensor)) = plan.find_computed() {
                let text =
                    format!("`{kernel}` reads `{tensor}`, which holds values that the program computes");
                return Err(Failure::new(Verdict::LibraryCall, text));
            }
            if failure.verdict == Verdict::Inaccurate
                && let Ok(Ok(Some(operation))) = catch_panic(|| run.session.find_lossy(&output, values))
            {
                failure = failure.with_place(operation.file.as_deref(), operation.line);
            }
            return Err(failure);
        }
        let decided = self.decided.entry(expected.name.clone()).or_default();
        *decided += answer.elements.saturating_sub(answer.undecided);
        let undecided = answer.verdict == message::Verdict::Undecided;
        if undecided
            && trial.kind != UNBOUNDED
            && (answer.distant > 0 || !ILL_CONDITIONED.contains(&trial.kind.as_str()))
        {
            let reason = answer.reason.unwrap_or_else(|| match answer.distant {
                0 => format!(
                    "{} of {} elements have no bounds",
                    answer.undecided, answer.elements
                ),
                distant => message::describe_distant(distant, answer.elements),
            });
            self.undecided.entry(expected.name.clone()).or_insert(reason);
        }
        Ok(())
    }

    /// The verdict, with its reason, after the process has ended. `ending` is the problem of the process, if it has one.
    pub fn finish(mut self, ending: Option<Failure>) -> Summary {
        let pending = self.unconfirmed.take();
        let failure = self
            .failure
            .take()
            .or(pending)
            .or(ending)
            .or_else(|| self.find_gap());
        let certain = self
            .suspicions
            .iter()
            .find(|one| one.certain && one.kind == "tampering");
        if let Some(suspicion) = certain {
            return self.summarise(Some(suspicion.to_failure()));
        }
        let Some(failure) = failure else {
            return self.summarise(None);
        };
        let suggested = |kind: &str| {
            let found = self.suspicions.iter().find(|one| one.kind == kind);
            found.map(Suspicion::to_failure)
        };
        let named = match failure.verdict {
            Verdict::Wrong
            | Verdict::Inaccurate
            | Verdict::NotAKernel
            | Verdict::LibraryCall
            | Verdict::Crashed
            | Verdict::UnwrittenOutput => suggested("tampering")
                .or_else(|| suggested("reference-read"))
                .or_else(|| suggested("library-call")),
            Verdict::StaleResult => suggested("tampering"),
            _ => None,
        };
        self.summarise(Some(named.unwrap_or(failure)))
    }

    fn summarise(&self, failure: Option<Failure>) -> Summary {
        Summary {
            failure,
            trials: self.compared.len(),
            launches: self.launches,
        }
    }

    /// A reason not to accept a submission without a failure.
    fn find_gap(&self) -> Option<Failure> {
        let not_judged = |text: String| Some(Failure::new(Verdict::NotJudged, text));
        let unpaired = self.plans.iter().filter(|(key, _)| !self.paired.contains(*key));
        let computed = unpaired
            .flat_map(|(_, plans)| plans)
            .find_map(Plan::find_computed);
        if let Some((kernel, tensor)) = computed {
            let text = format!("`{kernel}` reads `{tensor}`, which holds values that the program computes");
            return Some(Failure::new(Verdict::LibraryCall, text));
        }
        if self.compared.len() < self.trials.len() {
            return not_judged(format!(
                "{} of {} calls were made",
                self.compared.len(),
                self.trials.len()
            ));
        }
        if self.paired.is_empty() {
            return not_judged("the task has no two calls that differ only in their data".to_owned());
        }
        if let Some((name, reason)) = self.undecided.iter().next() {
            return not_judged(format!("`{name}`: {reason}"));
        }
        let uncompared = self.decided.iter().find(|(_, count)| **count == 0);
        if let Some((name, _)) = uncompared {
            return not_judged(format!("no element of `{name}` could be compared"));
        }
        let mut constant = self.task.variation.list_constant(Some(&self.variation));
        if let Some(name) = constant.next() {
            return not_judged(format!(
                "`{name}` is the same for all data that was tried, so a kernel that stores a constant agrees too"
            ));
        }
        None
    }
}
