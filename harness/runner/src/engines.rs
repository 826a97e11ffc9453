//! Opens engines by their ids, and finds or installs their toolchains.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;

use cerith_case::Shard;
use cerith_cuda::record::RecordStore;
use cerith_cuda::{Cuda, Standby};
use cerith_cuda::{Executor, Options};
use cerith_engine::compile::Compiler;
use cerith_engine::{Engine, EngineId, Interpret, Jit, LaunchExecutor, Ptx, Recorded, Reference, Ttir};
use cerith_report::event::{LeftOut, Problem, Severity};
use cerith_tile::rules::Version;
use cerith_toolchain::compiled::{Stage, Target};
use cerith_toolchain::pool::Limits;
use cerith_toolchain::request::Device;
use cerith_toolchain::{
    AddError, AdoptError, Cache, Compilers, Containment, Event, Home, Observer, Pool, Repaired, Toolchain,
    ToolchainId,
};
use cerith_verdict::Panel;

use crate::corpus::Selected;
use crate::host::Host;
use crate::inductor::{Means, build_inductors};
use crate::open_error::OpenError;
use crate::worker_files::Readable;

/// The result of setting engines up.
pub struct Setup {
    /// Those that can run.
    pub panel: Panel,
    /// Engines that would have run by default but cannot.
    pub left_out: Vec<LeftOut>,
    /// The engines among these whose outcomes come from records, or from a rejection by their compiler.
    pub recorded: Vec<String>,
    /// Requested engines that cannot run, with the reason.
    pub failed: Vec<LeftOut>,
    /// Further messages for the user.
    pub warnings: Vec<Problem>,
}

impl Setup {
    /// No engines, for a run of no cases.
    pub fn without_engines() -> Self {
        let panel = Panel::default();
        Self {
            panel,
            left_out: Vec::new(),
            recorded: Vec::new(),
            failed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Errors for the requested engines that cannot run.
    pub fn problems(&self) -> Vec<Problem> {
        self.failed.iter().map(build_problem).collect()
    }
}

/// Sets up the requested engines, or the default ones of a corpus, with this reference. Each uses at most `jobs` workers. `ptx`
/// launches each case in as many other schedules, and with as many threads, as the reference.
pub fn set_up(
    reference: Reference,
    wanted: &[EngineId],
    offline: bool,
    jobs: usize,
    selected: &Selected,
    host: Host<'_>,
) -> Setup {
    let opener = Opener {
        reference: Arc::new(reference),
        by_default: wanted.is_empty(),
        offline,
        jobs,
        corpus: selected.readable(),
        host,
        store: Arc::new(RecordStore::new(selected.records_folder())),
        gpus: OnceCell::new(),
    };
    let wanted = if wanted.is_empty() {
        opener.choose_defaults(selected)
    } else {
        add_reference(wanted)
    };
    let mut setup = Setup::without_engines();
    let mut has_workers = false;
    for id in &wanted {
        if setup.panel.has(id) {
            continue;
        }
        match opener.open(id) {
            Ok(Opened::Reference(reference)) => setup.panel.add_reference(reference),
            Ok(Opened::Engines(engines)) => {
                has_workers |= *id != EngineId::Recorded;
                for engine in engines {
                    setup.panel.add(engine);
                }
            }
            Ok(Opened::OnRecord { engine, compiles }) => {
                let id = engine.id().to_string();
                if setup.panel.add(engine) {
                    has_workers |= compiles;
                    setup.recorded.push(id);
                }
            }
            // Why the interpreter of the same toolchain cannot run says it already.
            Err(_) if opener.by_default && matches!(id, EngineId::Ptx { .. }) => {}
            Err(why) if opener.by_default => setup.left_out.push(leave_out(id, &why)),
            Err(why) => setup.failed.push(leave_out(id, &why)),
        }
    }
    if has_workers {
        setup.warnings.extend(check_containment());
    }
    setup
}

/// The result of opening an id.
enum Opened {
    /// The reference.
    Reference(Arc<Reference>),
    /// Engines that run here: one, or those that an Inductor brings.
    Engines(Vec<Arc<dyn Engine>>),
    /// A compiler without a GPU, which answers from records.
    OnRecord {
        /// The engine.
        engine: Arc<dyn Engine>,
        /// Whether its compiler is installed.
        compiles: bool,
    },
}

/// The requirements for opening engines.
struct Opener<'a> {
    reference: Arc<Reference>,
    /// Whether no engine was named: then nothing is installed for a compiler.
    by_default: bool,
    offline: bool,
    jobs: usize,
    corpus: &'a Readable,
    host: Host<'a>,
    store: Arc<RecordStore>,
    /// Looked up once, by the first engine that needs a GPU.
    gpus: OnceCell<Option<Arc<Executor>>>,
}

impl Opener<'_> {
    /// The default engines of a corpus.
    fn choose_defaults(&self, selected: &Selected) -> Vec<EngineId> {
        let mut defaults = vec![EngineId::Reference];
        defaults.extend(selected.is_recording().then_some(EngineId::Recorded));
        defaults.push(EngineId::interpreter(ToolchainId::from_triton(Version::NEWEST)));
        let has_gpu = self.gpus().is_some();
        if has_gpu || self.store.holds(Version::NEWEST, Target::HOPPER) {
            defaults.push(EngineId::cuda(Version::NEWEST));
        }
        let on_record = |case: &str| self.store.has(Version::NEWEST, Target::HOPPER, case);
        if !has_gpu && selected.entries(Shard::ALL).any(|entry| !on_record(&entry.id)) {
            defaults.push(EngineId::Ptx {
                toolchain: ToolchainId::from_triton(Version::NEWEST),
                target: Ptx::TARGET,
            });
        }
        defaults
    }

    fn gpus(&self) -> Option<&Arc<Executor>> {
        let gpus = self.gpus.get_or_init(|| {
            let executor = Executor::start(Options::default()).ok()?;
            (!executor.gpus().is_empty()).then(|| Arc::new(executor))
        });
        gpus.as_ref()
    }

    /// The engine of an id, its toolchain found or installed; or why it cannot run.
    fn open(&self, id: &EngineId) -> Result<Opened, OpenError> {
        let engine: Arc<dyn Engine> = match id {
            EngineId::Reference => return Ok(Opened::Reference(Arc::clone(&self.reference))),
            EngineId::Recorded => Arc::new(Recorded::default()),
            EngineId::Inductor { torch, executor: by } => return self.open_inductors(*torch, *by),
            EngineId::Cuda { toolchain, target } => return self.open_cuda(id, toolchain, *target),
            EngineId::Ptx { .. } => self.open_ptx(id)?,
            EngineId::Jit { version } => open_jit(*version, self.jobs, self.corpus, self.host)?,
            EngineId::Ttir { toolchain, stage } => self.open_ttir(toolchain, *stage)?,
            EngineId::Interpret {
                toolchain,
                host,
                torch: true,
            } => open_torch_interpreter(toolchain, *host, self.jobs, self.corpus, self.host)?,
            EngineId::Interpret { toolchain, host, .. } => {
                open_interpreter(toolchain, *host, self.offline, self.jobs, self.corpus, self.host)?
            }
        };
        Ok(Opened::Engines(vec![engine]))
    }

    /// An Inductor engine, with the engines that execute its launches.
    fn open_inductors(&self, torch: Version, by: LaunchExecutor) -> Result<Opened, OpenError> {
        let means = Means {
            reference: &self.reference,
            gpus: self.gpus(),
            jobs: self.jobs,
            corpus: self.corpus,
            host: self.host,
        };
        let engines = build_inductors(torch, by, &means)?;
        let engines = engines
            .into_iter()
            .map(|engine| Arc::new(engine) as Arc<dyn Engine>);
        Ok(Opened::Engines(engines.collect()))
    }

    /// Triton's IR at a stage of its compiler. It is what Triton makes for Hopper, as records are.
    fn open_ttir(&self, toolchain: &ToolchainId, stage: Stage) -> Result<Arc<dyn Engine>, OpenError> {
        let id = EngineId::compiler(toolchain);
        let compiler = open_compiler(
            &id,
            Target::HOPPER,
            self.offline,
            self.jobs,
            self.corpus,
            self.host,
        )?;
        Ok(Arc::new(Ttir::new(compiler, stage)))
    }

    /// Triton's PTX, executed here. The assembler produces what `cuda@…:sm_80` caches, so that both share it. If the engine was
    /// not named by the user, it runs only without a record.
    fn open_ptx(&self, id: &EngineId) -> Result<Arc<dyn Engine>, OpenError> {
        let offline = self.offline || self.by_default;
        let compiler = open_compiler(id, Target::HOPPER, offline, self.jobs, self.corpus, self.host)?;
        let ptx = Ptx::new(compiler)
            .with_schedules(self.reference.schedules())
            .with_threads(self.reference.threads());
        let ptx = Arc::new(ptx);
        if !self.by_default {
            return Ok(ptx);
        }
        let store = Arc::clone(&self.store);
        Ok(Arc::new(Standby::new(
            ptx,
            Version::NEWEST,
            Target::HOPPER,
            store,
        )))
    }

    /// A compiler with a GPU, or with records.
    fn open_cuda(
        &self,
        id: &EngineId,
        toolchain: &ToolchainId,
        target: Option<Target>,
    ) -> Result<Opened, OpenError> {
        if let Some(executor) = self.gpus()
            && let Some(gpu) = executor.gpus().first()
        {
            let offline = self.offline || self.by_default;
            match open_compiler(
                id,
                Target(gpu.capability),
                offline,
                self.jobs,
                self.corpus,
                self.host,
            ) {
                Ok(compiler) => {
                    let live = Cuda::from_executor(compiler, Arc::clone(executor));
                    return Ok(Opened::Engines(vec![Arc::new(live)]));
                }
                Err(why) if !self.by_default || !self.store.holds(toolchain.triton(), Target::HOPPER) => {
                    return Err(why);
                }
                Err(_) => {}
            }
        }
        // Don't install a toolchain if there is a record.
        let gpu = Target::HOPPER;
        let compiler = open_compiler(id, gpu, true, self.jobs, self.corpus, self.host).ok();
        let compiles = compiler.is_some();
        let store = Arc::clone(&self.store);
        let engine = Arc::new(Cuda::from_records(toolchain, target, gpu, store, compiler));
        Ok(Opened::OnRecord { engine, compiles })
    }
}

/// The warning if workers cannot be contained in full.
pub fn check_containment() -> Option<Problem> {
    let containment = Containment::of_this_system();
    let message = format!(
        "workers are not contained in full: {}",
        containment.missing.join("; ")
    );
    let help = "run kernels that you do not trust where they can do no harm; docs/containment.md says what \
        is contained"
        .to_owned();
    (!containment.is_whole()).then(|| Problem {
        severity: Severity::Warning,
        code: "containment".to_owned(),
        rendered: format!("warning[containment]: {message}\n  = help: {help}"),
        message,
        position: None,
        help: Some(help),
    })
}

/// The requested engines of a run, and the reference if an Inductor is among them, because other engines execute its launches. An
/// Inductor with all executors includes those with one executor, so these are removed.
fn add_reference(wanted: &[EngineId]) -> Vec<EngineId> {
    let brought = |id: &EngineId| match id {
        EngineId::Inductor { torch, executor: by } => {
            *by != LaunchExecutor::Reference
                && wanted.contains(&EngineId::Inductor {
                    torch: *torch,
                    executor: LaunchExecutor::Reference,
                })
        }
        _ => false,
    };
    let joins = wanted.iter().any(|id| matches!(id, EngineId::Inductor { .. }))
        && !wanted.contains(&EngineId::Reference);
    let asked = wanted.iter().filter(|id| !brought(id)).cloned();
    joins
        .then_some(EngineId::Reference)
        .into_iter()
        .chain(asked)
        .collect()
}

fn build_problem(failed: &LeftOut) -> Problem {
    let message = format!("engine {} cannot run: {}", failed.engine, failed.why);
    Problem {
        severity: Severity::Error,
        code: "engine".to_owned(),
        rendered: format!("error[engine]: {message}"),
        message,
        position: None,
        help: None,
    }
}

fn leave_out(id: &EngineId, why: &OpenError) -> LeftOut {
    LeftOut {
        engine: id.to_string(),
        why: why.to_string(),
    }
}

/// Checks that workers may read from the corpus.
pub fn check_readable(corpus: &Readable) -> Result<(), OpenError> {
    Containment::of_this_system()
        .explain_refusal(corpus.root())
        .map_or(Ok(()), |reason| Err(OpenError::Unreadable(reason)))
}

fn open_interpreter(
    id: &ToolchainId,
    on_host: bool,
    offline: bool,
    jobs: usize,
    corpus: &Readable,
    host: Host<'_>,
) -> Result<Arc<dyn Engine>, OpenError> {
    check_readable(corpus)?;
    let toolchain = find_or_add(id, offline, host)?;
    let mut pool = Pool::new(toolchain, jobs)
        .map_err(OpenError::start("workers"))?
        .with_readable_files(corpus.root(), corpus.files());
    if corpus.is_generated() {
        pool = pool.with_generated_files();
    }
    Ok(Arc::new(Interpret::new(pool, on_host, Limits::INTERPRETER)))
}

/// Triton's interpreter with torch's own tensors.
fn open_torch_interpreter(
    id: &ToolchainId,
    on_host: bool,
    jobs: usize,
    corpus: &Readable,
    host: Host<'_>,
) -> Result<Arc<dyn Engine>, OpenError> {
    check_readable(corpus)?;
    let toolchain = find_with_torch(id, false, host)?;
    let device = if on_host { Device::Host } else { Device::Cuda };
    let pool = start_pool(Pool::with_torch(toolchain, jobs, device), corpus)?;
    Ok(Arc::new(Interpret::new(pool, on_host, Limits::INTERPRETER)))
}

/// Triton's launcher on a GPU.
fn open_jit(
    version: Version,
    jobs: usize,
    corpus: &Readable,
    host: Host<'_>,
) -> Result<Arc<dyn Engine>, OpenError> {
    check_readable(corpus)?;
    let toolchain = find_with_torch(&ToolchainId::from_triton(version), true, host)?;
    let pool = start_pool(Pool::new_jit(toolchain, jobs), corpus)?;
    Ok(Arc::new(Jit::new(pool, Limits::LAUNCHER)))
}

/// A pool in which a worker is known to start. One whose worker wants a GPU may not.
fn start_pool(pool: io::Result<Pool>, corpus: &Readable) -> Result<Pool, OpenError> {
    let pool = pool
        .map_err(OpenError::start("workers"))?
        .with_readable_files(corpus.root(), corpus.files());
    pool.start()?;
    Ok(pool)
}

fn find_with_torch(id: &ToolchainId, any_numpy: bool, host: Host<'_>) -> Result<Toolchain, OpenError> {
    let home = Home::discover()?;
    let found = home
        .resolve_torch(id, any_numpy)
        .ok_or_else(|| OpenError::NoTorch(id.clone()))?;
    check_toolchain(found, host)
}

/// The newest Triton that has torch beside it, for commands that name none.
pub fn newest_with_torch() -> Option<Version> {
    Home::discover().ok()?.newest_with_torch()
}

/// The compiler of an engine, for the kernels of a corpus and the GPU that executes them, its toolchain found or installed.
pub fn open_compiler(
    id: &EngineId,
    gpu: Target,
    offline: bool,
    jobs: usize,
    corpus: &Readable,
    host: Host<'_>,
) -> Result<Compiler, OpenError> {
    check_readable(corpus)?;
    let (toolchain, target) = match id {
        EngineId::Cuda { toolchain, target } => (toolchain, *target),
        EngineId::Ptx { toolchain, target } => (toolchain, Some(*target)),
        _ => return Err(OpenError::NoCompiler),
    };
    if let Some(target) = target.filter(|target| !gpu.can_execute(*target)) {
        return Err(OpenError::WrongTarget { gpu, target });
    }
    let toolchain = find_or_add_compiler(toolchain, offline, host)?;
    // Without a cache, everything is compiled from scratch.
    let cache = Home::discover().ok().and_then(|home| Cache::open(&home).ok());
    let compilers = Compilers::new(toolchain, jobs, cache)
        .map_err(OpenError::start("compilers"))?
        .with_readable_files(corpus.root(), corpus.files());
    let compiler = Compiler::new(compilers, gpu, Limits::COMPILER);
    Ok(compiler.with_target(target.unwrap_or(gpu)))
}

/// An installed toolchain to compile with, with any NumPy; if there is none, one is installed now.
pub fn find_or_add_compiler(id: &ToolchainId, offline: bool, host: Host<'_>) -> Result<Toolchain, OpenError> {
    let there = Home::discover().ok().and_then(|home| home.resolve_compiler(id));
    there.map_or_else(
        || find_or_add(id, offline, host),
        |found| check_toolchain(found, host),
    )
}

/// A toolchain whose files are those that were installed. If only its Python is gone, its environment is made again.
fn check_toolchain(toolchain: Toolchain, host: Host<'_>) -> Result<Toolchain, OpenError> {
    let Some(reason) = toolchain.explain_missing() else {
        toolchain.check()?;
        return Ok(toolchain);
    };
    let home = Home::discover()?;
    let renewed = match home.renew_python(&toolchain) {
        Ok(renewed) => renewed,
        Err(error) => {
            let error = Box::new(error);
            return Err(OpenError::Renew { reason, error });
        }
    };
    if renewed.explain_missing().is_some() {
        return Err(OpenError::Broken(reason));
    }
    host.console.note(&format!(
        "toolchain {}: its Python was gone, and its environment was made again with Python {}",
        renewed.id, renewed.contents.python
    ));
    renewed.check()?;
    Ok(renewed)
}

/// An installed toolchain; if there is none, one is installed now. One with torch is installed only by `cerith toolchain add`.
pub fn find_or_add(id: &ToolchainId, offline: bool, host: Host<'_>) -> Result<Toolchain, OpenError> {
    let home = Home::discover()?;
    if let Some(toolchain) = home.resolve(id) {
        return check_toolchain(toolchain, host);
    }
    if let Some(reason) = home.why_broken(id) {
        return Err(OpenError::Broken(reason));
    }
    if let Some(torch) = id.torch() {
        return Err(OpenError::TorchMissing {
            torch,
            id: id.clone(),
        });
    }
    if offline {
        return Err(OpenError::Missing(id.clone()));
    }
    Ok(install(&home, id, host)?)
}

/// Installs a toolchain, showing how it goes.
pub fn install(home: &Home, id: &ToolchainId, host: Host<'_>) -> Result<Toolchain, AddError> {
    let installation = Installation::new(id.to_string(), host);
    home.add(id, &installation)
}

/// Repairs a toolchain, showing how it goes.
pub fn repair_toolchain(
    home: &Home,
    id: &ToolchainId,
    host: Host<'_>,
) -> Result<(Toolchain, Repaired), AddError> {
    let installation = Installation::new(id.to_string(), host);
    home.repair(id, &installation)
}

/// Registers an existing Python that Cerith did not create, and shows the progress.
pub fn adopt(
    home: &Home,
    python: &OsStr,
    name: Option<&str>,
    host: Host<'_>,
) -> Result<Toolchain, AdoptError> {
    let installation = Installation::new(python.to_string_lossy().into_owned(), host);
    home.adopt(python, name, &installation)
}

/// Shows an installation, until it is dropped.
struct Installation<'a> {
    toolchain: String,
    host: Host<'a>,
}

impl<'a> Installation<'a> {
    const fn new(toolchain: String, host: Host<'a>) -> Self {
        Self { toolchain, host }
    }
}

impl Observer for Installation<'_> {
    fn report_event(&self, event: Event) {
        self.host.console.show_installation(&self.toolchain, event);
    }

    fn cancelled(&self) -> bool {
        self.host.is_stopped()
    }
}

impl Drop for Installation<'_> {
    fn drop(&mut self) {
        self.host.console.end_installation();
    }
}
