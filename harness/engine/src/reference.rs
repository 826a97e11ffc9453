//! The reference: our frontend and our interpreter, in this process.
//!
//! Traces are cached by the kernel's text, its specialisation and the language rules. A launch that a host function makes is
//! treated as the plain launch. See `cerith-frontend` for the meaning of a kernel, and `cerith-interp` for the meaning of its
//! operations.

mod arguments;
mod cache;
mod complaint;
mod formula;
mod intervals;
mod kernel;
mod orders;
mod subset;
mod traces;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cerith_accept::{AcceptanceMap, Widening};
use cerith_case::{Case, Launch};
use cerith_frontend::{Refused, Request};
use cerith_interp::{Checks, Config, Leaving, Numerics};
use cerith_memory::{Memory, StorageId};
use cerith_tile::DType;
use cerith_tile::quirk::Quirks;
use cerith_tile::rules::Rules;

use self::arguments::request;
use self::cache::{Cache, Entry, build_key};
use self::complaint::{convert_refusal, refused_descriptor};
use self::intervals::run_intervals;
use self::kernel::{differs_as_numpy, has_float_dot};
use self::orders::Ready;
use self::traces::{Read, Rewritten, Traces, find_quirks};
use crate::clears::reject_large;
use crate::engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation};
use crate::{Complaint, EngineId, Outcome};

pub(crate) use self::arguments::build_arguments;
pub(crate) use self::complaint::{build_complaint, find_position, to_failure};
pub use self::formula::{FormulaMemory, FormulaRun};
pub use self::intervals::{Conforming, Explanation, Widest};
pub use self::kernel::Kernel;
pub(crate) use self::watch::add_watch;

/// The limit of a launch, in operations and lanes: a matrix product of 1024^3 needs an eighth of it.
pub(crate) const FUEL: u64 = 1 << 33;

/// The limit of one program: some seconds for a loop over scalars that never ends, and more than a hundred times the need of a
/// program of the corpus.
pub(crate) const PROGRAM_FUEL: u64 = 1 << 27;

/// `reference`.
#[derive(Debug)]
pub struct Reference {
    capabilities: Capabilities,
    config: Config<'static>,
    schedules: u32,
    /// Set once it is to stop.
    stopped: Arc<AtomicBool>,
    cache: Mutex<Cache>,
    traces: Mutex<Traces>,
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
            traces: Mutex::default(),
        }
    }

    /// The limits of a case's launches, and what ends them from outside.
    pub(crate) fn config(&self, case: &Case) -> Config<'_> {
        add_watch(self.config, case, &self.stopped)
    }

    /// Sets which checks run.
    #[must_use]
    pub fn with_checks(mut self, checks: Checks) -> Self {
        self.config.checks = checks;
        self
    }

    /// Sets whether lanes that a load masks off without `other` are read as zero, as NVIDIA's kernels do, instead of as
    /// undefined.
    #[must_use]
    pub fn with_masked_zero(mut self, zero: bool) -> Self {
        self.config.masked_zero = zero;
        self
    }

    /// Sets whether it remarks on accesses that leave the tensor that their pointer was passed as, but not its storage.
    #[must_use]
    pub fn with_views(mut self, views: bool) -> Self {
        self.config.leaving = if views { Leaving::Remarked } else { Leaving::Silent };
        self
    }

    /// Sets the maximum number of threads for one launch.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.config.threads = u32::try_from(threads).unwrap_or(u32::MAX);
        self
    }

    /// Launches every case this many more times, with its programs in other orders. If a case is called defined, but has a
    /// different result in another order, that is a [`Failure`].
    #[must_use]
    pub fn with_schedules(mut self, schedules: u32) -> Self {
        self.schedules = schedules;
        self
    }

    /// The maximum number of threads for one launch.
    pub const fn threads(&self) -> u32 {
        self.config.threads
    }

    /// How many more times each case is launched in other orders.
    pub const fn schedules(&self) -> u32 {
        self.schedules
    }

    /// Whether a caller stopped it. If so, its later failures have no other cause.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether it uses the default settings, with which records were accepted and expectations written. With other checks, other
    /// masked lanes or more schedules, it may call other programs undefined.
    pub fn is_usual(&self) -> bool {
        self.config.checks == Checks::Full && !self.config.masked_zero && self.schedules == 0
    }

    /// The kernel of a launch, traced or taken from the cache.
    pub fn trace_kernel(
        &self,
        launch: &Launch,
        rules: Rules,
    ) -> Result<Result<Arc<Kernel>, Arc<Refused>>, Failure> {
        let request = request(launch, rules);
        if !rules.quirks.is_empty() {
            return self.kernel_with_quirks(&request);
        }
        let key = build_key(&request);
        if let Some(cached) = self.find_cached(&key) {
            return Ok(cached);
        }
        let kernel = match cerith_frontend::trace(&request) {
            Ok(traced) => Ok(Arc::new(Kernel::new(Arc::new(traced))?)),
            Err(refused) => Err(Arc::new(refused)),
        };
        let entry = Entry {
            kernel: kernel.clone(),
            _file: Arc::clone(&request.file),
        };
        self.cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, entry);
        Ok(kernel)
    }

    /// The kernel of a request without quirks, if it was launched of late.
    fn find_cached(&self, key: &str) -> Option<Result<Arc<Kernel>, Arc<Refused>>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.entries.get(key).map(|entry| entry.kernel.clone())
    }

    /// The kernel of a request whose rules follow quirks. It may be that of another set of them, or of none.
    fn kernel_with_quirks(&self, request: &Request) -> Result<Result<Arc<Kernel>, Arc<Refused>>, Failure> {
        let (key, quirks) = (build_key(request), request.rules.quirks);
        let known = self.traces().find_kernel(&key, quirks);
        if let Some(kernel) = known {
            return Ok(Ok(kernel));
        }
        let rewritten = match self.rewrite(request) {
            Ok(rewritten) => rewritten,
            Err(refused) => return Ok(Err(refused)),
        };
        let plain = self.find_cached(&key).and_then(Result::ok);
        let same = plain
            .filter(|kernel| rewritten.is(kernel))
            .or_else(|| self.traces().same_kernel(&key, &rewritten));
        let kernel = match same {
            Some(kernel) => kernel,
            None => Arc::new(Kernel::new(rewritten.into_traced())?),
        };
        self.traces().keep_kernel(&key, request, &kernel);
        Ok(Ok(kernel))
    }

    fn traces(&self) -> MutexGuard<'_, Traces> {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A kernel as it is read, from the trace of another set of quirks, or of none, where that is the same.
    fn read(&self, request: &Request) -> Read {
        let (key, quirks) = (build_key(request), request.rules.quirks);
        let plain = self
            .find_cached(&key)
            .map(|kernel| kernel.map(|kernel| Arc::clone(&kernel.traced)));
        let found = plain
            .filter(|read| quirks.intersect(find_quirks(read)).is_empty())
            .or_else(|| self.traces().find(&key, quirks));
        found.unwrap_or_else(|| {
            let read = cerith_frontend::trace(request).map(Arc::new).map_err(Arc::new);
            self.traces().keep(&key, request, read.clone());
            read
        })
    }

    /// Traces a kernel, and applies the models of the rules' quirks.
    fn rewrite(&self, request: &Request) -> Result<Rewritten, Arc<Refused>> {
        let traced = self.read(request)?;
        let followed = cerith_quirk::follow(&traced.function, request.rules.quirks, request.rules.version);
        Ok(Rewritten { traced, followed })
    }

    /// The quirks that may change a launch's kernel, where the rules' are followed. No other does by itself.
    pub(crate) fn find_quirks(&self, launch: &Launch, rules: Rules) -> Quirks {
        let request = request(launch, rules);
        let of_arguments = arguments::find_quirks(&request);
        let of_kernel = match self.read(&request) {
            Ok(traced) => {
                let of_models = cerith_quirk::find_quirks(&traced.function, rules.quirks, rules.version);
                traced.consulted_quirks.union(of_models)
            }
            Err(refused) => refused.consulted_quirks,
        };
        of_kernel.union(of_arguments)
    }

    /// The traced kernel of a launch under rules, not prepared for launching. `None` if it is refused.
    pub(crate) fn rewrite_launch(&self, launch: &Launch, rules: Rules) -> Option<Rewritten> {
        self.rewrite(&request(launch, rules)).ok()
    }

    /// Results that a conforming implementation may leave, from a second execution with intervals. It is slow, and only of
    /// interest if bits differ from the result of [`Engine::run`].
    pub fn find_conforming(&self, case: &Case, rules: Rules) -> Result<Conforming, Failure> {
        self.run_intervals(case, rules, AcceptanceMap::default())
    }

    /// The result of a case if NumPy adds floats and computes functions of them, as in Triton's interpreter. A conforming
    /// implementation may leave it. `None` if the reference's result is the same, if a kernel is refused, or if the launches do
    /// not finish.
    pub fn as_numpy(&self, case: &Case, rules: Rules) -> Result<Option<Memory>, Failure> {
        let Some(kernels) = self.trace_kernels(case, rules)? else {
            return Ok(None);
        };
        if !kernels
            .iter()
            .any(|kernel| differs_as_numpy(&kernel.traced.function))
        {
            return Ok(None);
        }
        let config = Config {
            checks: Checks::Fast,
            numerics: Numerics::Numpy,
            ..self.config
        };
        let outcome = self.prepare_launches(kernels, config).launch_once(case)?;
        Ok(match outcome {
            Outcome::Finished(finished) => Some(finished.memory),
            _ => None,
        })
    }

    /// Whether a kernel of a case multiplies matrices of floats.
    pub fn has_float_dot(&self, case: &Case, rules: Rules) -> Result<bool, Failure> {
        let kernels = self.trace_kernels(case, rules)?.unwrap_or_default();
        Ok(kernels
            .iter()
            .any(|kernel| has_float_dot(&kernel.traced.function)))
    }

    /// The values that a conforming implementation may leave in the element of `storage` that has this byte, and the operation
    /// that left it the most room. Slower than [`Reference::find_conforming`].
    pub fn explain(
        &self,
        case: &Case,
        rules: Rules,
        storage: StorageId,
        byte: usize,
    ) -> Result<Explanation, Failure> {
        let map = match self.run_intervals(case, rules, AcceptanceMap::with_book())? {
            Conforming::Known(map) => map,
            Conforming::Anything(why) => return Ok(Explanation::Anything(why)),
        };
        let accepted = map.accepted_at(storage, byte).1;
        let widest = match map.find_widening(storage, byte) {
            Some(widening) => self.find_widest(case, rules, &widening)?,
            None => None,
        };
        Ok(Explanation::Accepted(accepted, widest))
    }

    fn find_widest(&self, case: &Case, rules: Rules, widening: &Widening) -> Result<Option<Widest>, Failure> {
        let Some(launch) = case.launches.get(widening.launch) else {
            return Ok(None);
        };
        let Ok(kernel) = self.trace_kernel(launch, rules)? else {
            return Ok(None);
        };
        Ok(describe_widening(&kernel, widening))
    }

    fn run_intervals(&self, case: &Case, rules: Rules, map: AcceptanceMap) -> Result<Conforming, Failure> {
        let Some(kernels) = self.trace_kernels(case, rules)? else {
            return Ok(Conforming::Known(AcceptanceMap::default()));
        };
        let config = Config {
            device_asserts: true,
            ..self.config(case)
        };
        run_intervals(case, &kernels, map, &config)
    }

    /// The loads and stores outside of storages, the first of each operation. They are left out, so that a launch goes on after
    /// the first. Empty if a kernel is refused.
    pub fn find_out_of_bounds(&self, case: &Case, rules: Rules) -> Result<Vec<Complaint>, Failure> {
        match self.trace_kernels(case, rules)? {
            Some(kernels) => self
                .prepare_launches(kernels, self.config)
                .find_out_of_bounds(case),
            None => Ok(Vec::new()),
        }
    }

    /// The kernels of a case's launches; `None` if one is refused.
    pub(crate) fn trace_kernels(
        &self,
        case: &Case,
        rules: Rules,
    ) -> Result<Option<Vec<Arc<Kernel>>>, Failure> {
        let mut kernels = Vec::with_capacity(case.launches.len());
        for launch in &case.launches {
            let Ok(kernel) = self.trace_kernel(launch, rules)? else {
                return Ok(None);
            };
            kernels.push(kernel);
        }
        Ok(Some(kernels))
    }

    /// Kernels that are ready to be launched.
    fn prepare_launches(&self, kernels: Vec<Arc<Kernel>>, config: Config<'static>) -> Ready {
        Ready {
            kernels,
            config: Config {
                device_asserts: true,
                ..config
            },
            schedules: self.schedules,
            stopped: Arc::clone(&self.stopped),
        }
    }
}

/// The operation of a kernel that widened an element.
fn describe_widening(kernel: &Kernel, widening: &Widening) -> Option<Widest> {
    let operation = cerith_accept::find_operation(&kernel.program, widening.value);
    operation.map(|(operation, span)| Widest {
        operation,
        launch: widening.launch,
        growth: widening.growth,
        position: find_position(&kernel.traced.function.sources, span),
    })
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
            if let Some(outcome) = refused_descriptor(launch, rules, nth) {
                return Ok(Preparation::Ended(outcome));
            }
            match self.trace_kernel(launch, rules)? {
                Ok(kernel) => {
                    if let Some(complaint) = reject_large(case, &kernel.traced.clears) {
                        return Ok(Preparation::Ended(Outcome::Unsupported(complaint)));
                    }
                    kernels.push(kernel);
                }
                Err(refused) => return Ok(Preparation::Ended(convert_refusal(&refused, nth))),
            }
        }
        Ok(Preparation::Ready(Box::new(
            self.prepare_launches(kernels, self.config),
        )))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn rules_matter(&self) -> bool {
        true
    }
}
