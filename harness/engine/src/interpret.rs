//! Triton's own interpreter, one version of it, in the Python workers of a toolchain.
//!
//! The worker places arguments at addresses of its own; results are moved back to the addresses of the case's layout, and
//! addresses that a kernel left in memory are translated. If a launch has a host function, that function makes the launch. See
//! `cerith-toolchain` for keeping workers alive, and for handling a worker's crash.

use cerith_tile::fault::{Fault, is_planted};
use std::sync::Arc;

use cerith_case::Case;
use cerith_memory::{Memory, ORIGIN, StorageId};
use cerith_tile::DType;
use cerith_tile::rules::{Rules, Version};
use cerith_toolchain::Pool;
use cerith_toolchain::pool::Limits;
use cerith_toolchain::request::{self, Device, Driver, Relocation, Request};
use cerith_toolchain::response::{Memory as After, Response};

use crate::engine::{Capabilities, Engine, Failure, Feature, Needs, Preparation, Prepared, finish_import};
use crate::sparse::reject_sparse;
use crate::{Complaint, EngineId, Finished, Outcome, worker_outcome, worker_request};

/// `interpret@V`, and `interpret@V+torch` where the pool's workers pass torch's own tensors.
#[derive(Debug)]
pub struct Interpret {
    id: EngineId,
    capabilities: Capabilities,
    shared: Arc<Shared>,
}

/// The workers, and what every request has in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) limits: Limits,
    pub(crate) device: Device,
}

impl Interpret {
    /// The interpreter of the pool's toolchain. With `host`, tensors are the CPU's; otherwise they behave as CUDA's do.
    pub fn new(pool: Pool, host: bool, limits: Limits) -> Self {
        let toolchain = pool.toolchain().id.clone();
        let version = toolchain.triton();
        let mut features = vec![Feature::Import, Feature::StridedArguments];
        if host {
            features.push(Feature::PointersInMemory);
        }
        if version < Version::new(3, 9, 0) {
            features.push(Feature::BlockPointers);
        }
        let dtypes = DType::ALL
            .into_iter()
            .filter(|&dtype| dtype != DType::BF16 || version >= Version::new(3, 0, 0))
            .collect();
        let needs = Needs {
            toolchain: Some(toolchain.clone()),
            gpu: pool.torch() == Some(Device::Cuda),
        };
        let device = if host { Device::Host } else { Device::Cuda };
        let torch = pool.torch().is_some();
        Self {
            id: EngineId::Interpret {
                toolchain,
                host,
                torch,
            },
            capabilities: Capabilities {
                dtypes,
                features,
                needs,
            },
            shared: Arc::new(Shared { pool, limits, device }),
        }
    }
}

impl Engine for Interpret {
    fn id(&self) -> &EngineId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// An interpreter has nothing to prepare; the worker keeps imported modules by content.
    fn prepare(&self, case: &Case, _rules: Rules) -> Result<Preparation, Failure> {
        Ok(prepare_case(&self.shared, case))
    }

    fn confirm(&self, _case: &Case) -> Result<bool, Failure> {
        Ok(self.shared.pool.toolchain().check_again().is_ok())
    }

    fn stop(&self) {
        self.shared.pool.stop();
    }
}

/// A case that workers can be asked for.
pub(crate) fn prepare_case(shared: &Arc<Shared>, case: &Case) -> Preparation {
    if let Some(complaint) = reject_sparse(case) {
        return Preparation::Ended(Outcome::Unsupported(complaint));
    }
    let misplaced = case.storages.iter().find_map(|(_, storage)| {
        let pointer = storage
            .pointers()
            .iter()
            .find(|pointer| pointer.offset % 8 != 0)?;
        Some(format!(
            "storage `{}` holds an address at byte {}",
            storage.name(),
            pointer.offset
        ))
    });
    match misplaced {
        Some(message) => Preparation::Ended(Outcome::Unsupported(Box::new(Complaint::new(
            "misaligned-address",
            message + ", which is not a multiple of 8",
        )))),
        None => Preparation::Ready(Box::new(Ready {
            shared: Arc::clone(shared),
        })),
    }
}

struct Ready {
    shared: Arc<Shared>,
}

impl Prepared for Ready {
    fn launch(&self, case: &Case) -> Result<Outcome, Failure> {
        let memory = case.memory();
        let mut request = translate(case, &memory, self.shared.device);
        if self.shared.pool.toolchain().triton() < Version::new(3, 0, 0) {
            by_position(case, &mut request);
        }
        let limits = Limits {
            time: case.timeout.unwrap_or(self.shared.limits.time),
            ..self.shared.limits
        };
        match self.shared.pool.request(&request, limits) {
            Ok(response) => convert_response(case, memory, response),
            Err(failure) => worker_outcome::translate_failure(case, failure),
        }
    }
}

/// The case in the worker's words.
fn translate(case: &Case, memory: &Memory, device: Device) -> Request {
    let holding = worker_request::may_hold_addresses(case, memory);
    let storages = memory
        .ids()
        .map(|id| {
            let (front, back) = memory.guards(id);
            request::Storage {
                bytes: [front, memory.bytes(id), back].concat().into(),
                front: front.len(),
                back: back.len(),
                relocations: memory
                    .pointers(id)
                    .iter()
                    .map(|pointer| Relocation {
                        offset: pointer.offset,
                        storage: pointer.target.0 as usize,
                        addend: pointer.target_offset,
                    })
                    .collect(),
                holds_addresses: holding.contains(&(id.0 as usize)),
            }
        })
        .collect();
    Request {
        module: worker_request::convert_module(case, &case.module),
        storages,
        launches: worker_request::convert_launches(case),
        device,
        driver: Driver::Absent,
        inspectable: case.inspectable,
        isolated: worker_request::shares_nothing(case),
    }
}

/// Passes a launch's arguments by position if the case names them all and does not define how to pass them: interpreters before
/// 3.0 do not copy tensors to the host that are passed by name (triton#3777), and every case would show only that.
fn by_position(case: &Case, request: &mut Request) {
    for (launch, asked) in case.launches.iter().zip(&mut request.launches) {
        let parameters = launch
            .kernel
            .function()
            .map_or(&[][..], |function| &function.parameters);
        if !asked.args.is_empty() || launch.host.is_some() {
            continue;
        }
        for parameter in parameters {
            let Some(at) = asked.kwargs.iter().position(|(name, _)| *name == parameter.name) else {
                break;
            };
            asked.args.push(asked.kwargs.remove(at).1);
        }
    }
}

/// Puts what a worker's storages hold where the layout has them.
pub(crate) fn place(memory: &mut Memory, storages: &[After]) -> Result<(), Failure> {
    if storages.len() != memory.len() {
        return Err(Failure::internal(
            "read the worker's answer",
            format!("{} storages instead of {}", storages.len(), memory.len()),
        ));
    }
    for (id, after) in memory.ids().zip(storages) {
        let (front, back) = memory.guards(id);
        let start = (memory.address(id) - ORIGIN) as usize - front.len();
        let len = front.len() + memory.size(id) + back.len();
        if after.bytes.len() != len {
            return Err(Failure::internal(
                "read the worker's answer",
                format!(
                    "storage `{}` of {} bytes instead of {len}",
                    memory.name(id),
                    after.bytes.len()
                ),
            ));
        }
        let first = start + front.len();
        let (front_len, back_len) = (front.len(), back.len());
        let addresses: Vec<(usize, u64)> = after
            .relocations
            .iter()
            .map(|found| {
                let base = memory.address(StorageId(found.storage as u32));
                (first + found.offset, base.wrapping_add_signed(found.addend))
            })
            .collect();
        let (arena, _) = memory.arena_mut();
        if let Some(to) = arena.get_mut(start..start + len) {
            if is_planted(Fault::InterpreterLosesGuards) {
                to[front_len..len - back_len].copy_from_slice(&after.bytes[front_len..len - back_len]);
            } else {
                to.copy_from_slice(&after.bytes);
            }
        }
        for (at, address) in addresses
            .into_iter()
            .filter(|_| !is_planted(Fault::InterpreterLosesAddresses))
        {
            if let Some(to) = arena.get_mut(at..at + 8) {
                to.copy_from_slice(&address.to_le_bytes());
            }
        }
    }
    Ok(())
}

fn convert_response(case: &Case, mut memory: Memory, response: Response) -> Result<Outcome, Failure> {
    if let Err(raised) = response.result {
        return Ok(worker_outcome::translate_exception(
            case,
            &raised,
            &response.stderr,
        ));
    }
    if case.is_import_only() {
        return Ok(finish_import(memory));
    }
    place(&mut memory, &response.storages)?;
    let printed = response.stdout.lines().map(str::to_owned).collect();
    Ok(Outcome::Finished(Box::new(Finished {
        memory,
        tracked: None,
        unsteady: None,
        execution: None,
        printed,
        remark: None,
    })))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use cerith_case::{Corpus, Input};
    use cerith_toolchain::request::{Grid, Value};
    use cerith_toolchain::response::{Location, Phase, PythonError, Raised};
    use cerith_toolchain::{Exit, WorkerFailure};

    use super::*;
    use crate::Trap;
    use crate::worker_outcome::{find_position, translate_exception, translate_failure};

    const CASE: &str = "\
about: A table of addresses.
kernel: k.py:copy
storages:
  x: { dtype: f32, shape: [4], fill: arange }
  table: { dtype: i64, shape: [2], fill: { addresses: [x, x] } }
launches:
  - grid: [2, 3]
    args: [x, table, 7, true, null]
    options: { num_warps: 4 }
  - grid: [1]
    host: hosts.py:launch
    args: { x: x, table: table, n: 7, flag: true, nothing: null }
";

    const KERNEL: &str = "import triton\n\n\n@triton.jit\ndef copy(x, table, n, flag, nothing):\n    pass\n";

    const HOSTS: &str = "def launch(kernel, grid, args):\n    kernel[grid](**args)\n";

    fn build_case() -> Case {
        let input = |path: &str, text: &str| Input {
            path: path.to_owned(),
            name: format!("cases/{path}"),
            content: Ok(text.as_bytes().to_vec()),
        };
        let corpus = Corpus::load([
            input("area/table.yaml", CASE),
            input("area/k.py", KERNEL),
            input("area/hosts.py", HOSTS),
        ]);
        assert!(corpus.problems().is_empty(), "{:#?}", corpus.problems());
        corpus
            .entries()
            .next()
            .expect("a case")
            .resolve()
            .expect("a good case")
    }

    fn build_response(case: &Case, change: impl Fn(usize, &mut Vec<u8>, &mut Vec<Relocation>)) -> Response {
        let memory = case.memory();
        let storages = translate(case, &memory, Device::Cuda)
            .storages
            .into_iter()
            .enumerate()
            .map(|(nth, storage)| {
                let (mut bytes, mut relocations) = (storage.bytes.to_vec(), storage.relocations);
                change(nth, &mut bytes, &mut relocations);
                After {
                    bytes: bytes.into(),
                    relocations,
                }
            })
            .collect();
        Response {
            result: Ok(()),
            storages,
            stdout: "one\ntwo\n".to_owned(),
            stderr: String::new(),
            stdout_cut: false,
            seconds: Duration::ZERO,
        }
    }

    #[test]
    fn a_case_is_asked_for_as_it_is_written() {
        let case = build_case();
        let memory = case.memory();
        let request = translate(&case, &memory, Device::Cuda);
        let [x, table] = &request.storages[..] else {
            panic!("two storages")
        };
        assert_eq!((x.len(), table.len()), (16, 16));
        assert_eq!(&x.bytes[x.front..x.front + 16], memory.bytes(StorageId(0)));
        let relocation = |at| Relocation {
            offset: at,
            storage: 0,
            addend: 0,
        };
        assert_eq!(table.relocations, [relocation(0), relocation(8)]);
        assert!(table.holds_addresses);
        let launch = &request.launches[0];
        assert_eq!(
            (launch.kernel.as_str(), &launch.grid),
            ("copy", &Grid::Fixed(vec![2, 3]))
        );
        assert!(matches!(launch.args[0], Value::Tensor(_)));
        assert_eq!(launch.args[2..], [Value::Int(7), Value::Bool(true), Value::None]);
        assert_eq!(launch.options, [("num_warps".to_owned(), Value::Int(4))]);
        assert_eq!(request.module.path, PathBuf::from("cases/area/k.py"));
        assert_eq!(launch.host, None);
        let hosted = &request.launches[1];
        let host = hosted.host.as_ref().expect("a host function");
        assert_eq!(
            (host.module.path.as_path(), &*host.module.text),
            ("cases/area/hosts.py".as_ref(), HOSTS)
        );
        assert_eq!(host.function, "launch");
        assert_eq!((hosted.args.len(), hosted.kwargs.len()), (0, 5));
        let raised = find_position(
            &case,
            &Location {
                file: "/somewhere/cases/area/hosts.py".into(),
                line: 2,
                function: "launch".into(),
            },
        );
        assert_eq!(
            (raised.file.as_str(), raised.text.as_str()),
            ("cases/area/hosts.py", "    kernel[grid](**args)")
        );
    }

    #[test]
    fn whether_a_kernel_can_be_inspected_is_told() {
        let mut case = build_case();
        let inspectable = |case: &Case| translate(case, &case.memory(), Device::Host).inspectable;
        assert!(inspectable(&case));
        case.inspectable = false;
        assert!(!inspectable(&case));
    }

    #[test]
    fn an_answer_is_put_where_the_layout_has_it() {
        let case = build_case();
        let before = case.memory();
        let same =
            convert_response(&case, case.memory(), build_response(&case, |_, _, _| ())).expect("no bug");
        let finished = same.finished().expect("finished");
        assert_eq!(
            finished.memory.bytes(StorageId(1)),
            before.bytes(StorageId(1)),
            "addresses are the layout's"
        );
        assert_eq!(finished.printed, ["one", "two"]);
        let changed = build_response(&case, |nth, bytes, relocations| {
            if nth == 0 {
                let behind = bytes.len() - 1;
                bytes[behind] = 1;
            } else {
                relocations[1].addend = 12;
            }
        });
        let changed = convert_response(&case, case.memory(), changed).expect("no bug");
        let memory = &changed.finished().expect("finished").memory;
        assert_eq!(memory.guards(StorageId(0)).1.last(), Some(&1));
        let word = |memory: &Memory| {
            u64::from_le_bytes(memory.bytes(StorageId(1))[8..].try_into().expect("8 bytes"))
        };
        assert_eq!(word(memory), word(&before) + 12);
        let short = build_response(&case, |_, bytes, _| bytes.truncate(3));
        assert!(matches!(
            convert_response(&case, case.memory(), short),
            Err(Failure::Internal { .. })
        ));
    }

    #[test]
    fn exceptions_and_dead_workers_are_outcomes() {
        let case = build_case();
        let raised = |kind: &str| Raised {
            phase: Phase::Launch(0),
            chain: vec![PythonError {
                kind: kind.to_owned(),
                message: "no".to_owned(),
            }],
            location: Some(Location {
                file: "/somewhere/cases/area/k.py".into(),
                line: 5,
                function: "copy".into(),
            }),
            frame: None,
            compiling: false,
            origin: None,
            traceback: "Traceback".to_owned(),
        };
        let outcome = translate_exception(&case, &raised("AttributeError"), "");
        let Outcome::Trapped(Trap::Raised, complaint) = outcome else {
            panic!("{outcome:?}")
        };
        let position = complaint.position.expect("a place");
        assert_eq!((position.file.as_str(), position.line), ("cases/area/k.py", 5));
        assert_eq!(position.text, "def copy(x, table, n, flag, nothing):");
        assert_eq!(complaint.launch, Some(0));
        assert!(matches!(
            translate_exception(&case, &raised("triton.compiler.errors.CompilationError"), ""),
            Outcome::Rejected(_)
        ));
        // Errors that stop a GPU have CUDA's names, as they have without Python.
        for (kind, trap) in [
            ("CUDA_ERROR_ASSERT", Trap::Assert),
            ("CUDA_ERROR_ILLEGAL_ADDRESS", Trap::Raised),
        ] {
            let outcome = translate_exception(&case, &raised(kind), "so it failed\n");
            let complaint = outcome.complaint().expect("a complaint");
            assert_eq!(
                (complaint.message.as_str(), complaint.launch),
                ("no\nso it failed", None)
            );
            assert!(
                matches!(&outcome, Outcome::Trapped(is, complaint) if *is == trap && complaint.kind == kind)
            );
        }

        let dead = |failure| translate_failure(&case, failure).map(|outcome| outcome.kind().name());
        let (stderr, location) = (String::new(), None);
        let exit = Exit::Signal(11);
        assert_eq!(
            dead(WorkerFailure::Crashed {
                exit,
                stderr: stderr.clone(),
                location: None
            }),
            Ok("crashed")
        );
        let limit = Duration::from_secs(1);
        assert_eq!(
            dead(WorkerFailure::TimedOut {
                limit,
                stderr: stderr.clone(),
                location
            }),
            Ok("exhausted")
        );
        assert_eq!(
            dead(WorkerFailure::OutOfMemory { limit: 1, stderr }),
            Ok("exhausted")
        );
        assert_eq!(dead(WorkerFailure::Stopped), Err(Failure::Stopped));
        assert!(matches!(
            dead(WorkerFailure::Protocol("x".into())),
            Err(Failure::Internal { .. })
        ));
        let start = WorkerFailure::Start {
            toolchain: "3.9.0".into(),
            reason: "gone".into(),
        };
        assert_eq!(dead(start), Ok("unavailable"));
    }
}
