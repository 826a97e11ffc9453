//! `torch.compile` around a case's launches: torch's `TorchInductor`, one version of it, in the Python workers of a toolchain
//! that holds torch.
//!
//! Inductor captures the launches, writes a module that makes them again, and loads it. Each launch of that module goes to
//! another engine as a case of its own ([`launch`]); memory goes back and forth as bytes. So this tests what Inductor does to a
//! program: which kernels, arguments, metadata and grids come out, on which memory, in which order. A module that reads a name
//! that nothing defines is rejected, whether it loads or not.
//!
//! One request serves all engines of a torch: the compiled function is called once for each engine that executes launches, and
//! the results are kept until each engine has taken its own.
//!
//! Every compile mode must produce the same result. If one does not, the outcome is that of the mode that differs from the
//! launches without torch.
//!
//! Which bytes are undefined is not known between launches. Every byte that a launch gets counts as defined, so this engine does
//! not notice a kernel that reads what an earlier one left undefined. The reference, which makes the same launches in one go,
//! does.
//!
//! See `cerith_worker/inductor.py` for torch itself, and `cerith-toolchain` for keeping workers alive.

mod answer;
mod launch;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cerith_case::{ArgValue, Case, Compile, ContentHash, Launch};
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::inductor::{CompileMode, Emitted};
use cerith_toolchain::pool::Limits;
use cerith_toolchain::request::{Device, Driver, Request, Storage};
use cerith_toolchain::{InductorRequest, Inductors, ToolchainId};

use self::launch::Modules;
use crate::engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation, Prepared};
use crate::id::LaunchExecutor;
use crate::sparse::reject_sparse;
use crate::{Complaint, EngineId, Outcome, worker_outcome, worker_request};

/// The maximum number of cases whose outcomes wait for an engine to take its part.
const WAITING: usize = 32;

/// `inductor@V`.
#[derive(Debug)]
pub struct Inductor {
    id: EngineId,
    capabilities: Capabilities,
    shared: Arc<Shared>,
    /// The index of the executing engine among the shared ones.
    index: usize,
}

/// Data that the engines of one torch share.
struct Shared {
    torch: Version,
    rules: Rules,
    inductors: Inductors,
    executing: Vec<(LaunchExecutor, Arc<dyn Engine>)>,
    limits: Limits,
    modules: Modules,
    waiting: Mutex<VecDeque<Waiting>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executing: Vec<LaunchExecutor> = self.executing.iter().map(|&(by, _)| by).collect();
        f.debug_struct("Shared")
            .field("torch", &self.torch)
            .field("executing", &executing)
            .finish_non_exhaustive()
    }
}

/// The outcomes of a case, for the engines that have not requested theirs yet.
#[derive(Debug)]
struct Waiting {
    key: (String, ContentHash),
    outcomes: Vec<Option<Outcome>>,
}

impl Inductor {
    /// The engines of the torch in the workers' toolchain: one for each engine that executes the launches of the generated code.
    /// Empty for a toolchain without torch.
    pub fn build_engines(
        inductors: Inductors,
        executing: Vec<(LaunchExecutor, Arc<dyn Engine>)>,
        limits: Limits,
    ) -> Vec<Self> {
        let toolchain = inductors.toolchain().id.clone();
        let Some(torch) = toolchain.torch() else {
            return Vec::new();
        };
        let shared = Arc::new(Shared {
            torch,
            rules: Rules::from_version(toolchain.triton()),
            inductors,
            executing,
            limits,
            modules: Modules::default(),
            waiting: Mutex::default(),
        });
        shared
            .executing
            .iter()
            .enumerate()
            .map(|(at, (by, engine))| Self {
                id: EngineId::Inductor { torch, executor: *by },
                capabilities: restrict_capabilities(&toolchain, engine.capabilities()),
                shared: Arc::clone(&shared),
                index: at,
            })
            .collect()
    }
}

/// The capabilities of an executing engine, as far as torch supports them.
fn restrict_capabilities(toolchain: &ToolchainId, executing: &Capabilities) -> Capabilities {
    let lost = |feature: &Feature| {
        matches!(
            feature,
            Feature::PointersInMemory | Feature::Definedness | Feature::AnyRules
        )
    };
    Capabilities {
        dtypes: DType::ALL
            .into_iter()
            .filter(|&dtype| dtype.torch_name().is_some() && executing.has_dtype(dtype))
            .collect(),
        features: executing
            .features
            .iter()
            .copied()
            .filter(|feature| !lost(feature))
            .collect(),
        needs: Needs {
            toolchain: Some(toolchain.clone()),
            gpu: executing.needs.gpu,
        },
    }
}

impl Engine for Inductor {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// There is nothing to prepare: torch compiles in the function's first call.
    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        if let Some(complaint) = reject_sparse(case) {
            return Ok(Preparation::Ended(Outcome::Unsupported(complaint)));
        }
        Ok(match find_unsupported(case) {
            Some(message) => {
                Preparation::Ended(Outcome::Unsupported(Box::new(Complaint::new("launch", message))))
            }
            None => Preparation::Ready(Box::new(Ready {
                shared: Arc::clone(&self.shared),
                index: self.index,
            })),
        })
    }

    fn stop(&self) {
        self.shared.inductors.stop();
        for (_, engine) in &self.shared.executing {
            engine.stop();
        }
    }
}

/// The reason why torch cannot be given a case.
fn find_unsupported(case: &Case) -> Option<String> {
    let pointing = |(_, storage): (_, &cerith_memory::Storage)| {
        (!storage.pointers().is_empty()).then(|| {
            format!(
                "storage `{}` holds addresses, and torch has no tensor of them",
                storage.name()
            )
        })
    };
    let foreign = |value: &ArgValue| match value {
        _ if value.holds_address() => Some(
            "an argument is an address, which is another one in each call of a compiled function".to_owned(),
        ),
        ArgValue::Tensor { name, tensor } if tensor.dtype.torch_name().is_none() => {
            Some(format!("`{name}` is of {}, which torch has not", tensor.dtype))
        }
        _ => None,
    };
    let mut arguments = case.launches.iter().flat_map(Launch::arguments);
    case.storages
        .iter()
        .find_map(pointing)
        .or_else(|| arguments.find_map(|(_, arg)| foreign(&arg.value)))
}

struct Ready {
    shared: Arc<Shared>,
    index: usize,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let key = (case.id.clone(), case.content_hash());
        if let Some(outcome) = self.shared.take(&key, self.index) {
            return Ok(outcome);
        }
        let mut outcomes: Vec<Option<Outcome>> = self.shared.run_case(case)?.into_iter().map(Some).collect();
        let outcome = outcomes
            .get_mut(self.index)
            .and_then(Option::take)
            .ok_or_else(|| {
                Failure::internal("call what was compiled", "an executing engine without an outcome")
            })?;
        self.shared.keep(Waiting { key, outcomes });
        Ok(outcome)
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, key: &(String, ContentHash), at: usize) -> Option<Outcome> {
        let mut waiting = self.waiting();
        let place = waiting.iter().position(|one| one.key == *key)?;
        let one = waiting.get_mut(place)?;
        let outcome = one.outcomes.get_mut(at).and_then(Option::take);
        if one.outcomes.iter().all(Option::is_none) {
            waiting.remove(place);
        }
        outcome
    }

    fn keep(&self, one: Waiting) {
        let mut waiting = self.waiting();
        waiting.retain(|other| other.key != one.key);
        if one.outcomes.iter().any(Option::is_some) {
            waiting.push_back(one);
        }
        while waiting.len() > WAITING {
            waiting.pop_front();
        }
    }

    /// Compiles and calls a case. Returns its outcome for each executing engine.
    fn run_case(&self, case: &Case) -> Result<Vec<Outcome>, Failure> {
        let memory = case.memory();
        let request = self.request(case, &memory);
        let limits = Limits {
            time: case.timeout.unwrap_or(self.limits.time),
            ..self.limits
        };
        let mut calls = Calls::new(self, &request.modes);
        let answer = self
            .inductors
            .request(&request, limits, &mut |emitted| calls.execute(&emitted));
        let Calls {
            stopped,
            printed,
            failure,
            ..
        } = calls;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let induction = match answer {
            Ok(induction) => induction,
            Err(failure) => {
                let outcome = worker_outcome::translate_failure(case, failure)?;
                return Ok(vec![outcome; self.executing.len()]);
            }
        };
        let undefined = answer::reject_undefined(self.torch, &request.modes, &induction);
        let mut outcomes = Vec::with_capacity(self.executing.len());
        for (run, (stopped, printed)) in stopped.into_iter().zip(printed).enumerate() {
            outcomes.push(match (&undefined, stopped, &induction.result) {
                (Some(outcome), _, _) => outcome.clone(),
                (None, Some(outcome), _) => outcome,
                (None, None, Err(raised)) => {
                    answer::translate_torch_exception(case, &request.modes, &induction, raised)
                }
                (None, None, Ok(())) => {
                    let plainly = || self.run_without_torch(run, case);
                    answer::merge_modes(&memory, &induction, run, printed, plainly)?
                }
            });
        }
        Ok(outcomes)
    }

    /// The memory that an executing engine leaves after the launches without torch, if it finishes.
    fn run_without_torch(&self, run: usize, case: &Case) -> Result<Option<Memory>, Failure> {
        let Some((_, engine)) = self.executing.get(run) else {
            return Ok(None);
        };
        let outcome = engine.run(case, self.rules)?.outcome;
        Ok(outcome.finished().map(|finished| finished.memory.clone()))
    }

    fn request(&self, case: &Case, memory: &Memory) -> InductorRequest {
        let storages = memory
            .ids()
            .map(|id| {
                let (front, back) = memory.guards(id);
                Storage {
                    bytes: [front, memory.bytes(id), back].concat().into(),
                    front: front.len(),
                    back: back.len(),
                    ..Storage::default()
                }
            })
            .collect();
        InductorRequest {
            request: Request {
                module: worker_request::convert_module(case, &case.module),
                storages,
                launches: worker_request::convert_launches(case),
                device: Device::Cuda,
                driver: Driver::Fake,
                inspectable: case.inspectable,
                isolated: worker_request::shares_nothing(case),
            },
            modes: choose_modes(case),
            runs: self.executing.len(),
        }
    }
}

/// The compile modes of a case: the case's own, or static and then dynamic.
fn choose_modes(case: &Case) -> Vec<CompileMode> {
    if case.is_import_only() {
        return Vec::new();
    }
    let Some(compile) = &case.compile else {
        let way = |dynamic| CompileMode {
            dynamic: Some(dynamic),
            ..CompileMode::default()
        };
        return vec![way(false), way(true)];
    };
    let Compile {
        dynamic,
        mark_dynamic,
        maybe_mark_dynamic,
        before,
    } = compile;
    let marks = |marks: &[(String, Vec<usize>)]| {
        let each = |(name, dimensions): &(String, Vec<usize>)| {
            let name = name.clone();
            dimensions
                .clone()
                .into_iter()
                .map(move |dimension| (name.clone(), dimension))
        };
        marks.iter().flat_map(each).collect()
    };
    let call = |args: &Vec<(String, ArgValue)>| {
        args.iter()
            .map(|(name, value)| (name.clone(), worker_request::convert_value(value)))
            .collect()
    };
    vec![CompileMode {
        dynamic: *dynamic,
        mark_dynamic: marks(mark_dynamic),
        maybe_mark_dynamic: marks(maybe_mark_dynamic),
        before: before.iter().map(call).collect(),
    }]
}

/// The launches of a request as they come.
struct Calls<'a> {
    shared: &'a Shared,
    modes: &'a [CompileMode],
    /// The run and the way of the last launch, and how many there were in it.
    last_launch: (usize, usize, usize),
    /// The first launch of each run that did not finish.
    stopped: Vec<Option<Outcome>>,
    /// Output of the launches, for each run; of the first mode only, because the others print the same.
    printed: Vec<Vec<String>>,
    failure: Option<Failure>,
}

impl<'a> Calls<'a> {
    fn new(shared: &'a Shared, ways: &'a [CompileMode]) -> Self {
        Self {
            shared,
            modes: ways,
            last_launch: (0, 0, 0),
            stopped: vec![None; shared.executing.len()],
            printed: vec![Vec::new(); shared.executing.len()],
            failure: None,
        }
    }

    /// Executes a launch; what its storages hold afterwards, if it finished.
    fn execute(&mut self, emitted: &Emitted) -> Option<Vec<Vec<u8>>> {
        let Emitted { run, mode: way, .. } = *emitted;
        let before = if (self.last_launch.0, self.last_launch.1) == (run, way) {
            self.last_launch.2
        } else {
            0
        };
        self.last_launch = (run, way, before + 1);
        if self.failure.is_some() {
            return None;
        }
        let (_, engine) = self.shared.executing.get(run)?;
        let made = launch::execute(engine.as_ref(), self.shared.rules, emitted, &self.shared.modules);
        match made {
            Ok(Ok(done)) => {
                if way == 0 {
                    self.printed.get_mut(run)?.extend(done.printed);
                }
                Some(done.storages)
            }
            Ok(Err(outcome)) => {
                let place = format!(
                    "launch {} of the code of torch {}{}",
                    before + 1,
                    self.shared.torch,
                    answer::describe_mode(self.modes, way)
                );
                self.stopped
                    .get_mut(run)?
                    .get_or_insert_with(|| answer::add_location(outcome, &place));
                None
            }
            Err(failure) => {
                self.failure = Some(failure);
                None
            }
        }
    }
}
