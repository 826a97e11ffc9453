//! The reference: our frontend and our interpreter, in this process.
//!
//! Tracing is cached by what decides it: the kernel's text, its specialisation and the language rules. A launch that a
//! host function makes comes out as the plain launch. Left out: the meaning of a kernel (`cerith-frontend`) and of its
//! operations (`cerith-interp`).

use cerith_tile::fault::{Fault, is_planted};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cerith_case::{ArgValue, Case, Launch, Padding};
use cerith_frontend::{Part, Refusal, Refused, Request, Traced};
use cerith_interp::{
    Acceptance, AcceptanceMap, Accepted, Checks, Combining, Config, InternalError, Program, TrapKind, Watch,
    Widening,
};
use cerith_memory::{Memory, StorageId};
use cerith_tile::diagnostic::{Diagnostic, Severity};
use cerith_tile::ir::{Elem, Function, LaneOrder, LocId, Rounding};
use cerith_tile::quirk::Quirk;
use cerith_tile::rules::Rules;
use cerith_tile::source::{SourceFile, Sources, Span};
use cerith_tile::{DType, numeric};

use crate::combine_orders;
use crate::engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation, Prepared, imported};
use crate::lane_orders::{self, Dependent};
use crate::schedules;
use crate::{Complaint, EngineId, Finished, Outcome, Position, Tracked, Trap};

/// How many traced kernels are kept. A run over cases that share nothing stays within this.
const CACHED: usize = 512;

/// And how many bytes they may take, by [`weight`]: what loops unrolled is thousands of operations.
const CACHED_BYTES: usize = 96 << 20;

/// What a launch may do, in operations and lanes: a matrix product of 1024^3 needs an eighth of it.
const FUEL: u64 = 1 << 33;

/// What one program may do: some seconds for a loop over scalars that never ends, and more than a hundred times what a
/// program of the corpus needs.
const PROGRAM_FUEL: u64 = 1 << 27;

/// How long launches may take that are made one after the other, where their fuel lasts that long and the case does not say
/// more.
const TIME: Duration = Duration::from_mins(2);

/// What a launch may do when it is executed with intervals, which is slower by far.
const INTERVAL_FUEL: u64 = 1 << 30;

/// `reference`.
#[derive(Debug)]
pub struct Reference {
    capabilities: Capabilities,
    config: Config<'static>,
    schedules: u32,
    /// Set once it is to stop.
    stopped: Arc<AtomicBool>,
    cache: Mutex<Cache>,
}

/// The traced kernels of late, with their weight. They all go at once when there are too many.
#[derive(Debug, Default)]
struct Cache {
    entries: HashMap<String, Traceability>,
    bytes: usize,
}

impl Cache {
    fn insert(&mut self, key: String, entry: Traceability) {
        let bytes = entry
            .kernel
            .as_ref()
            .map_or(0, |kernel| weight(&kernel.traced.function));
        if self.entries.len() >= CACHED || self.bytes.saturating_add(bytes) > CACHED_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.entries.insert(key, entry);
    }
}

/// About how many bytes a kernel takes that was prepared and launched: what is known of each value, and its lanes.
fn weight(function: &Function) -> usize {
    function
        .values
        .iter()
        .map(|value| value.ty.numel().saturating_mul(8).saturating_add(VALUE))
        .fold(0, usize::saturating_add)
}

/// About what a value takes besides its lanes, with the operation that made it, in a kernel and its prepared program.
const VALUE: usize = 640;

/// A traced kernel or why there is none, with the file that the key names by its address.
#[derive(Clone, Debug)]
struct Traceability {
    kernel: Result<Arc<Kernel>, Arc<Refused>>,
    _file: Arc<SourceFile>,
}

/// A kernel that was traced for one specialisation.
#[derive(Debug)]
pub struct Kernel {
    /// The traced kernel.
    pub traced: Traced,
    program: Program,
    /// Whether an operation does something with lanes that may come in any order.
    lanes_open: bool,
    /// Where elements are combined by a function that is not well known, in any order.
    combines: Vec<LocId>,
}

/// What conforming implementations may leave behind.
#[derive(Clone, Debug, PartialEq)]
pub enum Conforming {
    /// For every element.
    Known(AcceptanceMap),
    /// Anything, for this reason.
    Anything(String),
}

/// What a conforming implementation may leave in one element, and why.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// This, and the operation that widened it most, where there is one.
    Accepted(Accepted, Option<Widest>),
    /// Anything, for this reason.
    Anything(String),
}

/// The operation that leaves conforming implementations the most room on the way to an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Widest {
    /// What it does: `exp`, `reduce`, `dot`.
    pub operation: &'static str,
    /// The launch, from 0.
    pub launch: usize,
    /// How much wider, by its magnitude, it leaves a value than its widest operand is.
    pub growth: f32,
    /// Where it is written.
    pub position: Option<Position>,
}

impl Kernel {
    /// What is executed.
    pub(crate) const fn program(&self) -> &Program {
        &self.program
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new(Config {
            fuel: FUEL,
            program_fuel: PROGRAM_FUEL,
            ..Config::default()
        })
    }
}

impl Reference {
    /// The reference with these limits.
    pub fn new(config: Config<'static>) -> Self {
        Self {
            capabilities: Capabilities {
                dtypes: DType::ALL.to_vec(),
                features: vec![
                    Feature::Import,
                    Feature::StridedArguments,
                    Feature::PointersInMemory,
                    Feature::Bf16Arithmetic,
                    Feature::DeviceAssert,
                    Feature::Definedness,
                    Feature::AnyRules,
                ],
                needs: Needs::default(),
            },
            config,
            schedules: 0,
            stopped: Arc::default(),
            cache: Mutex::default(),
        }
    }

    /// The limits of a case's launches, and what ends them from outside.
    pub(crate) fn config(&self, case: &Case) -> Config<'_> {
        watched(self.config, case, &self.stopped)
    }

    /// The same, watching so much.
    #[must_use]
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.config.checks = checks;
        self
    }

    /// The same, which reads lanes that a load masks off without `other` as zero, as NVIDIA's kernels do, and not as
    /// undefined.
    #[must_use]
    pub fn with_masked_zero(mut self, zero: bool) -> Self {
        self.config.masked_zero = zero;
        self
    }

    /// The same, which may use so many threads for one launch.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.config.threads = u32::try_from(threads).unwrap_or(u32::MAX);
        self
    }

    /// The same, which launches every case so many times more with its programs in other orders. A case that is called
    /// defined and comes out otherwise is a [`Failure`].
    #[must_use]
    pub fn with_schedules(mut self, schedules: u32) -> Self {
        self.schedules = schedules;
        self
    }

    /// Whether it was told to stop: what it fails with since then is that.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether it judges as it does where nothing is asked of it: what it was when records were accepted and expectations
    /// written down. With other checks, other masked lanes or more schedules it may call other programs undefined.
    pub fn is_usual(&self) -> bool {
        self.config.checks == Checks::Full && !self.config.masked_zero && self.schedules == 0
    }

    /// The kernel of a launch, traced or taken from the cache.
    pub fn kernel(
        &self,
        launch: &Launch,
        rules: Rules,
    ) -> Result<Result<Arc<Kernel>, Arc<Refused>>, Failure> {
        let request = request(launch, rules);
        let key = key(&request);
        let cached = self
            .cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entries
            .get(&key)
            .cloned();
        if let Some(cached) = cached {
            return Ok(cached.kernel);
        }
        let kernel = match cerith_frontend::trace(&request) {
            Ok(mut traced) => {
                if !rules.quirks.is_empty()
                    && let Some(function) =
                        cerith_quirk::follow(&traced.function, rules.quirks, rules.version)
                {
                    traced.function = function;
                }
                let program = prepare(traced.function.clone())?;
                let lanes_open = !traced.function.open_lane_orders().is_empty();
                let combines = combine_orders::open(&traced.function);
                Ok(Arc::new(Kernel {
                    traced,
                    program,
                    lanes_open,
                    combines,
                }))
            }
            Err(refused) => Err(Arc::new(refused)),
        };
        let entry = Traceability {
            kernel: kernel.clone(),
            _file: Arc::clone(&request.file),
        };
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, entry);
        Ok(kernel)
    }

    /// What a conforming implementation may leave behind, from a second execution with intervals. Slow, and only of
    /// interest where bits differ from what [`Engine::run`] left.
    pub fn conforming(&self, case: &Case, rules: Rules) -> Result<Conforming, Failure> {
        self.intervals(case, rules, AcceptanceMap::default())
    }

    /// What a conforming implementation may leave in the element of `storage` that has this byte, and which operation left
    /// it the most room. Slower than [`Reference::conforming`].
    pub fn explain(
        &self,
        case: &Case,
        rules: Rules,
        storage: StorageId,
        byte: usize,
    ) -> Result<Explanation, Failure> {
        let map = match self.intervals(case, rules, AcceptanceMap::explaining())? {
            Conforming::Known(map) => map,
            Conforming::Anything(why) => return Ok(Explanation::Anything(why)),
        };
        let accepted = map.at(storage, byte).1;
        let widest = match map.widened(storage, byte) {
            Some(widening) => self.widest(case, rules, &widening)?,
            None => None,
        };
        Ok(Explanation::Accepted(accepted, widest))
    }

    fn widest(&self, case: &Case, rules: Rules, widening: &Widening) -> Result<Option<Widest>, Failure> {
        let Some(launch) = case.launches.get(widening.launch) else {
            return Ok(None);
        };
        let Ok(kernel) = self.kernel(launch, rules)? else {
            return Ok(None);
        };
        let operation = kernel.program.operation(widening.value);
        Ok(operation.map(|(operation, span)| Widest {
            operation,
            launch: widening.launch,
            growth: widening.growth,
            position: position(&kernel.traced.function.sources, span),
        }))
    }

    fn intervals(&self, case: &Case, rules: Rules, map: AcceptanceMap) -> Result<Conforming, Failure> {
        let mut kernels = Vec::with_capacity(case.launches.len());
        for launch in &case.launches {
            let Ok(kernel) = self.kernel(launch, rules)? else {
                return Ok(Conforming::Known(AcceptanceMap::default()));
            };
            kernels.push(kernel);
        }
        let config = Config {
            device_asserts: true,
            ..self.config(case)
        };
        intervals(case, &kernels, map, &config)
    }
}

/// Limits with what ends a launch from outside: a flag, and the clock.
fn watched<'w>(config: Config<'static>, case: &Case, stop: &'w AtomicBool) -> Config<'w> {
    let given = case.timeout.map_or(TIME, |time| time.max(TIME));
    Config {
        watch: Watch {
            stop: Some(stop),
            until: Instant::now().checked_add(given).map(|until| (until, given)),
        },
        ..config
    }
}

/// What a launch that nobody but we can be blamed for comes to: that it was stopped, or a bug of ours.
pub(crate) fn failure(doing: String, error: InternalError) -> Failure {
    match error {
        InternalError::Stopped => Failure::Stopped,
        error => Failure::internal(doing, error),
    }
}

fn prepare(function: Function) -> Result<Program, Failure> {
    let name = function.name.clone();
    Program::prepare(function).map_err(|error| Failure::internal(format!("prepare `{name}`"), error))
}

/// What conforming implementations may leave behind, from launches with intervals.
fn intervals(
    case: &Case,
    kernels: &[Arc<Kernel>],
    mut map: AcceptanceMap,
    config: &Config<'_>,
) -> Result<Conforming, Failure> {
    let config = Config {
        fuel: config.fuel.min(INTERVAL_FUEL),
        ..*config
    };
    let mut memory = case.memory();
    for (launch, kernel) in case.launches.iter().zip(kernels) {
        let args = arguments(launch, kernel, &memory)?;
        let accepted = kernel
            .program
            .accept(launch.grid, &args, &mut memory, &mut map, &config)
            .map_err(|error| failure(format!("run `{}` with intervals", launch.kernel.name), error))?;
        match accepted {
            Acceptance::Known => {}
            Acceptance::Inconclusive { what, span } => {
                let place = kernel.traced.function.sources.position(span);
                return Ok(Conforming::Anything(format!(
                    "{what} depends on a value that a conforming implementation may have otherwise, at {place}"
                )));
            }
            Acceptance::Stopped(outcome) => {
                return Ok(Conforming::Anything(format!(
                    "running it with intervals did not finish: {outcome:?}"
                )));
            }
        }
    }
    Ok(Conforming::Known(map))
}

impl Engine for Reference {
    fn id(&self) -> &EngineId {
        &EngineId::Reference
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn prepare(&self, case: &Case, rules: Rules) -> Result<Preparation, Failure> {
        let mut kernels = Vec::with_capacity(case.launches.len());
        for (nth, launch) in case.launches.iter().enumerate() {
            if let Some(outcome) = impossible(launch, rules, nth) {
                return Ok(Preparation::Ended(outcome));
            }
            match self.kernel(launch, rules)? {
                Ok(kernel) => kernels.push(kernel),
                Err(refused) => return Ok(Preparation::Ended(refusal(&refused, nth))),
            }
        }
        Ok(Preparation::Ready(Box::new(Ready {
            kernels,
            config: Config {
                device_asserts: true,
                ..self.config
            },
            schedules: self.schedules,
            stopped: Arc::clone(&self.stopped),
        })))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn rules_matter(&self) -> bool {
        true
    }
}

/// What came of trying other orders.
enum Tried {
    /// The same, as far as rounding allows.
    Same,
    /// Something else.
    Dependent(Dependent),
    /// An end of its own.
    Ended(Outcome),
}

struct Ready {
    kernels: Vec<Arc<Kernel>>,
    config: Config<'static>,
    schedules: u32,
    stopped: Arc<AtomicBool>,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        if case.is_import_only() {
            return Ok(imported(case.memory()));
        }
        let outcome = self.launches(case, &self.config(case), None)?;
        self.reorder(case, &outcome)?;
        match outcome {
            Outcome::Finished(finished) => match self.in_lane_orders(case, finished)? {
                Outcome::Finished(finished) => self.in_combine_orders(case, finished),
                outcome => Ok(outcome),
            },
            Outcome::Trapped(Trap::Assert, complaint) => self.assert_in_lane_orders(case, complaint),
            outcome => Ok(outcome),
        }
    }
}

impl Ready {
    fn config(&self, case: &Case) -> Config<'_> {
        watched(self.config, case, &self.stopped)
    }

    /// Makes the launches again in other orders of programs, where none may change what came out.
    fn reorder(&self, case: &Case, outcome: &Outcome) -> Result<(), Failure> {
        let Outcome::Finished(first) = outcome else {
            return Ok(());
        };
        let alone = case
            .launches
            .iter()
            .all(|launch| launch.grid.iter().all(|&n| n <= 1));
        if alone || first.tracked.is_some_and(|tracked| tracked.order_dependent) {
            return Ok(());
        }
        for schedule in 1..=self.schedules {
            let config = Config {
                order: schedules::order(&case.id, schedule),
                ..self.config(case)
            };
            let reason = match self.launches(case, &config, None)? {
                Outcome::Finished(other) => schedules::difference(&first.memory, &other.memory),
                other => Some(other.complaint().map_or_else(
                    || other.kind().to_string(),
                    |complaint| format!("{} at {}: {}", other.kind(), place(complaint), complaint.message),
                )),
            };
            if let Some(reason) = reason {
                let name = schedules::name(schedule, self.schedules);
                let doing = format!("give the same in every order of programs: {name}");
                return Err(Failure::internal(doing, reason));
            }
        }
        Ok(())
    }

    /// Whether an assert does not hold in any order of lanes; where it holds in one, the program has no answer.
    fn assert_in_lane_orders(&self, case: &Case, complaint: Box<Complaint>) -> Result<Outcome, Failure> {
        if self.kernels.iter().any(|kernel| kernel.lanes_open) {
            for order in LaneOrder::FEW {
                if let Outcome::Finished(_) = self.launches(case, &self.config(case), Some(order))? {
                    return Ok(in_an_order(complaint));
                }
            }
        }
        Ok(Outcome::Trapped(Trap::Assert, complaint))
    }

    /// Makes the launches again in other orders of lanes, where Triton leaves them open, and poison of what depends on it.
    fn in_lane_orders(&self, case: &Case, finished: Box<Finished>) -> Result<Outcome, Failure> {
        let Some(nth) = self.kernels.iter().position(|kernel| kernel.lanes_open) else {
            return Ok(Outcome::Finished(finished));
        };
        let others = [LaneOrder::FEW.as_slice(), LaneOrder::MORE.as_slice()];
        let config = self.config(case);
        let tried = self.others(case, &finished, &config, others, in_an_order, |order| {
            self.launches(case, &config, Some(order))
        })?;
        let dependent = match tried {
            Tried::Dependent(dependent) => dependent,
            Tried::Same => return Ok(Outcome::Finished(finished)),
            Tried::Ended(outcome) => return Ok(outcome),
        };
        let function = &self.kernels[nth].traced.function;
        let diagnostic = lane_orders::diagnostic(function, &dependent, &finished.memory);
        Ok(self.without(case, finished, &dependent, diagnostic, nth))
    }

    /// Makes the launches again with elements combined in other orders, where a function combines them that is not well
    /// known, and poison of what depends on it.
    fn in_combine_orders(&self, case: &Case, finished: Box<Finished>) -> Result<Outcome, Failure> {
        let Some(nth) = self.kernels.iter().position(|kernel| !kernel.combines.is_empty()) else {
            return Ok(Outcome::Finished(finished));
        };
        let with = |combining| Config {
            combining,
            ..self.config(case)
        };
        // Intervals that do not make room for other orders themselves.
        let rounding = with(Combining::Halves);
        let tried = self.others(
            case,
            &finished,
            &rounding,
            combine_orders::orders(&self.kernels[nth].traced.function),
            combine_orders::in_an_order,
            |combining| self.launches(case, &with(combining), None),
        )?;
        let dependent = match tried {
            Tried::Dependent(dependent) => dependent,
            Tried::Same => return Ok(Outcome::Finished(finished)),
            Tried::Ended(outcome) => return Ok(outcome),
        };
        let kernel = &self.kernels[nth];
        let diagnostic = combine_orders::diagnostic(
            &kernel.traced.function,
            &kernel.combines,
            &dependent,
            &finished.memory,
        );
        Ok(self.without(case, finished, &dependent, diagnostic, nth))
    }

    /// What other orders leave otherwise, that rounding does not explain. The second ones are tried where the first tell.
    fn others<T: Copy>(
        &self,
        case: &Case,
        finished: &Finished,
        intervals_with: &Config<'_>,
        orders: [&[T]; 2],
        stopped: fn(Box<Complaint>) -> Outcome,
        launch: impl Fn(T) -> Result<Outcome, Failure>,
    ) -> Result<Tried, Failure> {
        let (mut conforming, mut ended) = (None, None);
        let mut dependent = Dependent::default();
        let [few, more] = orders;
        for (tried, &order) in few.iter().chain(more).enumerate() {
            if tried == few.len() && dependent.count() == 0 {
                break;
            }
            let other = match launch(order)? {
                Outcome::Finished(other) => other.memory,
                // What stops in one order and not in another has no answer.
                Outcome::Trapped(_, complaint) => return Ok(Tried::Ended(stopped(complaint))),
                other => {
                    ended.get_or_insert(other);
                    continue;
                }
            };
            if schedules::difference(&finished.memory, &other).is_none() {
                continue;
            }
            let map = match &mut conforming {
                Some(map) => map,
                none => {
                    let map = AcceptanceMap::default();
                    match intervals(case, &self.kernels, map, intervals_with)? {
                        Conforming::Known(map) => none.insert(map),
                        // Other values may come of rounding alone, which cannot be told here.
                        Conforming::Anything(_) => return Ok(Tried::Same),
                    }
                }
            };
            dependent.add(&finished.memory, &other, map);
        }
        Ok(if dependent.count() > 0 {
            Tried::Dependent(dependent)
        } else {
            ended.map_or(Tried::Same, Tried::Ended)
        })
    }

    /// The outcome with poison in what depends on an order, and a remark; undefined where nothing else is left.
    fn without(
        &self,
        case: &Case,
        mut finished: Box<Finished>,
        dependent: &Dependent,
        mut diagnostic: Diagnostic,
        nth: usize,
    ) -> Outcome {
        let poisoned = dependent.poison(&mut finished.memory);
        let tracked = finished.tracked.get_or_insert_default();
        tracked.poisoned += poisoned;
        // A program of which nothing has one value has no answer.
        let nothing =
            tracked.poisoned >= tracked.stored && !lane_orders::changed(&case.memory(), &finished.memory);
        if nothing {
            diagnostic.severity = Severity::Error;
        }
        let sources = &self.kernels[nth].traced.function.sources;
        let said = Box::new(complaint(&diagnostic, sources, nth));
        if nothing {
            return Outcome::Trapped(Trap::Undefined, said);
        }
        finished.remark.get_or_insert(said);
        Outcome::Finished(finished)
    }

    /// Makes the launches, from the case's first memory; in another order of lanes, if one is given.
    fn launches(
        &self,
        case: &Case,
        config: &Config<'_>,
        lane_order: Option<LaneOrder>,
    ) -> Result<Outcome, Failure> {
        let mut memory = case.memory();
        let mut tracked = Tracked::default();
        let mut updated = 0;
        let mut printed = Vec::new();
        let mut remark: Option<Box<Complaint>> = None;
        for (nth, (launch, kernel)) in case.launches.iter().zip(&self.kernels).enumerate() {
            if nth > 0 && is_planted(Fault::LaterLaunchesSkipped) {
                break;
            }
            let args = arguments(launch, kernel, &memory)?;
            let other = match lane_order {
                Some(order) if kernel.lanes_open => {
                    Some(prepare(kernel.traced.function.in_lane_order(order))?)
                }
                _ => None,
            };
            let outcome = other
                .as_ref()
                .unwrap_or(&kernel.program)
                .launch(launch.grid, &args, &mut memory, config)
                .map_err(|error| failure(format!("run `{}`", launch.kernel.name), error))?;
            let sources = &kernel.traced.function.sources;
            match outcome {
                cerith_interp::Outcome::Finished(finished) => {
                    tracked.stored += finished.stats.bytes_stored;
                    tracked.poisoned += finished.stats.bytes_poisoned;
                    updated += finished.stats.bytes_updated;
                    tracked.order_dependent |= finished.stats.order_dependent;
                    printed.extend(finished.prints);
                    for diagnostic in &finished.remarks {
                        let said = complaint(diagnostic, sources, nth);
                        if remark.as_ref().is_none_or(|one| said.doubts() && !one.doubts()) {
                            remark = Some(Box::new(said));
                        }
                    }
                }
                cerith_interp::Outcome::Trapped(trap) => {
                    let kind = if trap.kind == TrapKind::AssertionFailed {
                        Trap::Assert
                    } else {
                        Trap::Undefined
                    };
                    return Ok(Outcome::Trapped(
                        kind,
                        Box::new(complaint(&trap.diagnostic, sources, nth)),
                    ));
                }
                cerith_interp::Outcome::Exhausted(exhausted) => {
                    let mut complaint = Complaint::new("limit", exhausted.to_string());
                    complaint.position = exhausted.span.and_then(|span| position(sources, span));
                    complaint.launch = Some(nth);
                    return Ok(Outcome::Exhausted(Box::new(complaint)));
                }
                cerith_interp::Outcome::Unsupported(unsupported) => {
                    let mut complaint = Complaint::new(
                        "unsupported",
                        format!("`{}` is not supported yet", unsupported.construct),
                    );
                    complaint.position = position(sources, unsupported.span);
                    complaint.launch = Some(nth);
                    return Ok(Outcome::Unsupported(Box::new(complaint)));
                }
            }
        }
        // What an atomic put in is lost where a later one adds what has no value.
        let defined = tracked.stored.saturating_sub(tracked.poisoned);
        tracked.vacuous = tracked.poisoned > 0
            && (defined == 0 || defined == updated && !lane_orders::changed(&case.memory(), &memory));
        Ok(Outcome::Finished(Box::new(Finished {
            memory,
            tracked: Some(tracked),
            unsteady: None,
            printed,
            remark,
        })))
    }
}

/// What stopped in an order of lanes, and would not in another.
fn in_an_order(mut complaint: Box<Complaint>) -> Outcome {
    complaint.message += ", in one of the orders of lanes that Triton leaves open";
    Outcome::Trapped(Trap::Undefined, complaint)
}

/// Where a complaint is, in words.
fn place(complaint: &Complaint) -> String {
    complaint.position.as_ref().map_or_else(
        || "no line".to_owned(),
        |position| format!("{}:{}:{}", position.file, position.line, position.column),
    )
}

/// A tensor descriptor that Triton's class for them refuses to make.
fn impossible(launch: &Launch, rules: Rules, nth: usize) -> Option<Outcome> {
    let fault = launch.arguments().find_map(|(_, arg)| match &arg.value {
        ArgValue::Descriptor(descriptor) => descriptor.fault(rules.version),
        _ => None,
    })?;
    let mut complaint = Complaint::new("bad-descriptor", fault);
    complaint.launch = Some(nth);
    Some(Outcome::Rejected(Box::new(complaint)))
}

fn request(launch: &Launch, rules: Rules) -> Request {
    let compile_time = |value: &ArgValue| match compile_time(value) {
        // The interpreter leaves it the Python number that it is.
        cerith_frontend::Arg::Float(number) if rules.follows(Quirk::FloatArgumentsAreWeak) => {
            cerith_frontend::Arg::Constexpr(Box::new(cerith_frontend::Arg::Float(number)))
        }
        value => value,
    };
    Request {
        file: Arc::clone(&launch.kernel.module.file),
        modules: launch.kernel.module.imports.clone(),
        kernel: launch.kernel.name.clone(),
        positional: launch
            .positional
            .iter()
            .map(|arg| compile_time(&arg.value))
            .collect(),
        keyword: launch
            .keyword
            .iter()
            .map(|(name, arg)| (name.clone(), compile_time(&arg.value)))
            .collect(),
        options: launch
            .options
            .iter()
            .map(|(name, value)| (name.clone(), compile_time(value)))
            .collect(),
        rules,
    }
}

/// What decides a trace. A file is named by its address, which the cache keeps alive.
fn key(request: &Request) -> String {
    let mut key = String::with_capacity(160);
    let Request {
        file,
        modules: _,
        kernel,
        positional,
        keyword,
        options,
        rules,
    } = request;
    let keyword = if is_planted(Fault::CacheForgetsConstants) {
        &keyword[..0]
    } else {
        &keyword[..]
    };
    let _ = write!(
        key,
        "{:p} {kernel} {positional:?} {keyword:?} {options:?} {} {:?}",
        Arc::as_ptr(file),
        rules.version,
        rules.quirks
    );
    key
}

/// An argument as the compiler sees it.
fn compile_time(value: &ArgValue) -> cerith_frontend::Arg {
    use cerith_frontend::Arg;
    match value {
        ArgValue::None => Arg::None,
        ArgValue::Bool(flag) => Arg::Bool(*flag),
        ArgValue::Int(number) => Arg::Int(*number),
        ArgValue::Float(number) => Arg::Float(*number),
        ArgValue::Str(text) => Arg::Str(text.clone()),
        ArgValue::DType(dtype) => Arg::DType(*dtype),
        ArgValue::Constexpr(inner) => Arg::Constexpr(Box::new(compile_time(inner))),
        ArgValue::Global(name) => Arg::Global(name.clone()),
        ArgValue::Tensor { tensor, .. } => Arg::Pointer(Elem::Num(tensor.dtype)),
        ArgValue::Descriptor(descriptor) => Arg::Descriptor(cerith_frontend::Descriptor {
            dtype: descriptor.base.dtype,
            block_shape: descriptor.block_shape.clone(),
            nan: descriptor.padding == Padding::Nan,
            round_f32_to_tf32: descriptor.round_f32_to_tf32,
        }),
        ArgValue::Tuple(values) => Arg::Tuple(values.iter().map(compile_time).collect()),
    }
}

/// The values of the traced kernel's parameters.
pub(crate) fn arguments(
    launch: &Launch,
    kernel: &Kernel,
    memory: &Memory,
) -> Result<Vec<cerith_interp::Arg>, Failure> {
    let Traced {
        function,
        bindings,
        arguments: reached,
        uses: _,
    } = &kernel.traced;
    function
        .params
        .iter()
        .zip(bindings)
        .map(|(param, binding)| {
            let elem = function.ty(param.value).elem;
            let given = launch
                .arguments()
                .find(|(name, _)| *name == Some(binding.name.as_str()));
            let passed = match given {
                Some((_, arg)) => inside(&arg.value, &binding.path)
                    .and_then(|value| run_time(value, binding.part, elem, memory)),
                None => reached
                    .iter()
                    .find(|(name, _)| *name == binding.name)
                    .and_then(|(_, arg)| inside_default(arg, &binding.path))
                    .and_then(|arg| by_default(arg, elem)),
            };
            passed.ok_or_else(|| {
                Failure::internal(
                    format!("bind the arguments of `{}`", function.name),
                    format!("nothing fits parameter `{}`", param.name),
                )
            })
        })
        .collect()
}

fn inside<'a>(value: &'a ArgValue, path: &[usize]) -> Option<&'a ArgValue> {
    path.iter().try_fold(value, |value, &at| match value {
        ArgValue::Tuple(values) => values.get(at),
        _ => None,
    })
}

fn inside_default<'a>(arg: &'a cerith_frontend::Arg, path: &[usize]) -> Option<&'a cerith_frontend::Arg> {
    path.iter().try_fold(arg, |arg, &at| match arg {
        cerith_frontend::Arg::Tuple(args) => args.get(at),
        _ => None,
    })
}

fn run_time(value: &ArgValue, part: Part, elem: Elem, memory: &Memory) -> Option<cerith_interp::Arg> {
    if let ArgValue::Descriptor(descriptor) = value {
        let number = |numbers: &[i64], at| {
            let number: &i64 = numbers.get(at)?;
            Some(number_of_int(elem.num()?, i128::from(*number)))
        };
        return match part {
            Part::Whole => None,
            Part::Base => Some(cerith_interp::Arg::tensor(
                memory,
                &descriptor.base,
                descriptor.name.clone(),
            )),
            Part::Extent(at) => number(&descriptor.shape, at),
            Part::Stride(at) if is_planted(Fault::DescriptorsAreDense) => number(&descriptor.shape, at),
            Part::Stride(at) => number(&descriptor.strides, at),
        };
    }
    match (value, elem) {
        (ArgValue::Tensor { name, tensor }, Elem::Ptr { .. }) => {
            Some(cerith_interp::Arg::tensor(memory, tensor, name.clone()))
        }
        (ArgValue::Int(number), Elem::Ptr { .. }) => Some(cerith_interp::Arg::Pointer {
            address: *number as u64,
            storage: None,
            name: None,
        }),
        (ArgValue::Int(number), Elem::Num(dtype)) => Some(number_of_int(dtype, *number)),
        (ArgValue::Float(number), Elem::Num(dtype)) => Some(number_of_float(dtype, *number)),
        (ArgValue::Bool(flag), Elem::Num(dtype)) => Some(number_of_int(dtype, i128::from(*flag))),
        _ => None,
    }
}

/// A default value, or one that a heuristic decided, that reached a parameter of the launch.
fn by_default(arg: &cerith_frontend::Arg, elem: Elem) -> Option<cerith_interp::Arg> {
    match (arg, elem) {
        (cerith_frontend::Arg::Int(number), Elem::Num(dtype)) => Some(number_of_int(dtype, *number)),
        (cerith_frontend::Arg::Float(number), Elem::Num(dtype)) => Some(number_of_float(dtype, *number)),
        (cerith_frontend::Arg::Bool(flag), Elem::Num(dtype)) => Some(number_of_int(dtype, i128::from(*flag))),
        _ => None,
    }
}

fn number_of_int(dtype: DType, number: i128) -> cerith_interp::Arg {
    cerith_interp::Arg::Number(if dtype.is_float() {
        numeric::encode(dtype, number as f64, Rounding::NearestEven)
    } else {
        numeric::encode_int(
            dtype,
            if is_planted(Fault::NumbersAre32Bits) {
                i128::from(number as i32)
            } else {
                number
            },
        )
    })
}

fn number_of_float(dtype: DType, number: f64) -> cerith_interp::Arg {
    cerith_interp::Arg::Number(if dtype.is_float() {
        numeric::encode(dtype, number, Rounding::NearestEven)
    } else {
        numeric::encode_int(dtype, number as i128)
    })
}

fn refusal(refused: &Refused, launch: usize) -> Outcome {
    match &refused.refusal {
        Refusal::Rejected(diagnostic) => {
            Outcome::Rejected(Box::new(complaint(diagnostic, &refused.sources, launch)))
        }
        Refusal::Unsupported(diagnostic) => {
            Outcome::Unsupported(Box::new(complaint(diagnostic, &refused.sources, launch)))
        }
        Refusal::Exhausted(diagnostic) => {
            Outcome::Exhausted(Box::new(complaint(diagnostic, &refused.sources, launch)))
        }
    }
}

fn complaint(diagnostic: &Diagnostic, sources: &Sources, launch: usize) -> Complaint {
    Complaint {
        kind: diagnostic.code.to_owned(),
        message: diagnostic.message.clone(),
        position: diagnostic.span().and_then(|span| position(sources, span)),
        detail: Some(diagnostic.render(sources, false)),
        launch: Some(launch),
        raised: None,
    }
}

fn position(sources: &Sources, span: Span) -> Option<Position> {
    let file = sources.get(span.source)?;
    let (line, column) = file.line_column(span.start);
    Some(Position {
        file: file.name.clone(),
        line,
        column,
        text: file.line(line).to_owned(),
    })
}
