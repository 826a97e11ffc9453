//! Case files that try a kernel: sizes at and around its blocks, layouts, dtypes, aliases. See
//! [`cerith_module::usage`] for how a kernel uses its parameters. Running the case files is up to the caller.
//!
//! One thing is varied at a time, from a launch in which every size is a little more than a block. A failure of one
//! variant only shows its cause. A survey proves nothing.

mod formula;
mod imported;
mod place;
mod plan;
mod reading;
mod scaled;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Version;
use cerith_tile::source::SourceId;

use self::plan::Planner;
pub use self::reading::Reading;
pub use self::scaled::{Scaling, Shortage};
use cerith_launcher::skeleton::storage_name;
pub use cerith_launcher::{Change, ELEMENTS_OF, InputChoice, is_of_callers};
use cerith_launcher::{
    HostLaunch, HostTensor, Origin, read_launches, read_launches_after, read_launches_with,
};
use cerith_module::excerpt::tuning::{self, Config, KernelMetadata};
use cerith_module::excerpt::{Joined, Part};
use cerith_module::kernel::{Function, ParameterKind};
use cerith_module::module;
use cerith_module::usage::library::{Library, Texts};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Flags, Stride, TensorUse, Usage, read_usage};

/// Maximum number of an autotuner's configurations that are tried.
const CONFIGS_MOST: usize = 4;

/// Maximum number of elements of a tensor: larger sizes are not tried.
const ELEMENTS_MOST: i64 = 1 << 20;

/// A launch to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The difference from the plain launch: `n=33`, `x with padded rows`; empty for the plain launch.
    pub variant: String,
    /// The kind of difference.
    pub change: Change,
    /// Its case file.
    pub text: String,
}

/// A kernel and the launches to try it with, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The kernel.
    pub kernel: String,
    /// The launches, the plain one first.
    pub attempts: Vec<Attempt>,
    /// Why the kernel's text is not enough to launch it.
    pub not_tried: Option<NotTried>,
    /// The storages of tensors whose number of elements the text determines. Other storages have more room than
    /// needed, so their size shows nothing about the kernel.
    pub certain: BTreeSet<String>,
    /// The storages of tensors whose other accesses determine their number of elements: one does not fit them, or the
    /// tensor is larger.
    pub stated: BTreeSet<String>,
    /// The conditions that the kernel's text states.
    pub contracts: Vec<Condition>,
    /// The lines of the first stores to tensors, from 1, by their parameters.
    pub stores: BTreeMap<String, usize>,
    /// The storages whose elements can only overlap through the kernel's own fault, not through a guess of the
    /// survey: the text determines the extent of every dimension except the outermost, or the kernel computes
    /// addresses from no stride that a launch passes.
    pub distinct: BTreeSet<String>,
    /// The storages of tensors that are only written, and whose size the text determines.
    pub outputs: BTreeSet<String>,
    /// The storages that the kernel's launcher makes and no function returns: their values may depend on blocks.
    pub buffers: BTreeSet<String>,
    /// The accesses that nothing but the grid and a block bounds.
    pub unmasked: Option<Unmasked>,
    /// Parameters with guessed values: numbers that, according to the text, are neither sizes, strides nor blocks.
    pub guessed: Vec<String>,
    /// The values that the launches pass if the text leaves them open.
    pub reading: Reading,
    /// Descriptions of values that differ from those that the text suggests; with the suggested values, the launch
    /// failed.
    pub changed: Vec<String>,
    /// The newest version of Triton that accepts the kernel, if it is not the newest of all.
    pub version: Option<Version>,
    /// Whether a function of the file launches the kernel, even if it was not evaluated.
    pub is_launched: bool,
    /// Whether every launch that was tried instead failed too.
    pub is_searched: bool,
    /// The function of the file that launches the kernel in this way, if one was evaluated.
    pub host: Option<String>,
    /// The storages whose sizes that function passes to the kernel.
    pub measured: BTreeSet<String>,
    /// The inputs of that function that nothing decides: sizes that may have to be equal, numbers without a default.
    pub assumed: Vec<String>,
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: Vec<&'static str>,
    /// Functions that launch the kernel, if none of their launches is used.
    pub unused_launchers: Vec<UnusedLauncher>,
}

impl Survey {
    /// Whether a failure is the kernel's fault, whatever else its launcher passes: an access outside of storages whose sizes the kernel
    /// gets, or a race in them, if nothing is assumed of the launch itself.
    pub fn is_of_measured(&self, code: &str, storages: &[String]) -> bool {
        let is_fault = match code {
            "out-of-bounds" | "conflicting-lanes" => true,
            "race" => self.assumed.iter().all(|one| is_of_callers(one)),
            _ => false,
        };
        let mut all = storages.iter();
        is_fault && !storages.is_empty() && all.all(|storage| self.measured.contains(storage))
    }
}

/// A function that launches a kernel in a way that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedLauncher {
    /// The function.
    pub host: String,
    /// The line of the launch, from 1, or that of the function if its evaluation doesn't reach the launch.
    pub line: u32,
    /// Why its launches are not used.
    pub reason: String,
}

/// A condition on the launches of a kernel that its text states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its kind, for reports.
    pub kind: &'static str,
    /// The reason for it.
    pub message: String,
    /// The condition.
    pub demand: String,
    /// The line, from 1.
    pub line: usize,
}

/// Accesses that nothing but the grid and a block bounds: the block must divide the number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// The parameters of the tensors.
    pub tensors: Vec<String>,
    /// The block, as written in the kernel's text.
    pub block: String,
    /// The line of the first access, from 1.
    pub line: usize,
}

/// Why a kernel is not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotTried {
    /// Other kernels call it, or it returns a value, and nothing in its file launches it.
    #[error("it is a function that kernels call")]
    Function,
    /// Its text shows no tensor among its parameters.
    #[error("its text shows no tensor that it accesses")]
    NoTensor,
    /// Nothing that it does could be seen.
    #[error("its text shows no tensor that it stores to")]
    NoStore,
    /// A tensor descriptor is among its parameters.
    #[error("it takes a tensor descriptor that the host makes")]
    Descriptor,
    /// It is written in Gluon.
    #[error("it is written in Gluon, not in Triton")]
    Gluon,
    /// Its launches would be too large, or need something that the text does not determine.
    #[error("its text does not determine a launch of a reasonable size")]
    TooLarge,
    /// It has parameters of any number.
    #[error("it takes any number of arguments")]
    Variadic,
    /// Each launch breaks a declared precondition.
    #[error("no launch keeps its declared preconditions")]
    Declared,
}

/// A kernel of an excerpt, with the facts from its text.
#[derive(Clone, Debug)]
pub struct Draft {
    function: Function,
    usage: Usage,
    /// Its tensors for each setting of its flags ([`plan::list_settings`]).
    by_flags: Vec<(Flags, Vec<TensorUse>)>,
    metadata: KernelMetadata,
    path: String,
    /// The module.
    text: String,
    /// Its launches by functions of its file.
    hosts: Vec<HostLaunch>,
    /// The text that they are read from.
    launcher: LauncherText,
    /// Whether it is meant by its name.
    is_named: bool,
}

/// A text with functions that launch a kernel.
#[derive(Clone, Debug, Default)]
struct LauncherText {
    text: Rc<str>,
    /// Its lines that are of other modules.
    lines_before: u32,
    /// The name of the file, if that is not the kernel's.
    file: Option<String>,
}

/// The kernels of an excerpt's first module. `original` is the text that it was taken from; `only` names the kernels
/// that are meant, all if it is empty.
///
/// # Errors
/// The module has a syntax error.
pub fn build_drafts(
    source: SourceId,
    parts: &[Part],
    original: &str,
    only: &[&str],
) -> Result<Vec<Draft>, Vec<Diagnostic>> {
    let Some(main) = parts.first() else {
        return Ok(Vec::new());
    };
    let contents = module::parse(source, &main.text)?;
    let mut found = tuning::read_metadata(original);
    let whole: Rc<str> = original.into();
    let texts = Texts::new(parts.iter().map(|part| (part.path.as_str(), part.text.as_str())));
    let library = Library::new(&texts);
    let stem = main.path.trim_end_matches(".py");
    let kernels = contents
        .functions
        .into_iter()
        .filter(|function| function.jit && (only.is_empty() || only.contains(&function.name.as_str())));
    Ok(kernels
        .map(|function| {
            let usage = |flags: &Flags| read_usage(&library, stem, &function, flags);
            let any = usage(&Flags::new());
            let settings = plan::list_settings(&any).into_iter();
            let by_flags: Vec<(Flags, Usage)> = settings
                .map(|flags| {
                    let usage = usage(&flags);
                    (flags, usage)
                })
                .collect();
            // Flags may choose the tensors: `source = a if A_TO_B else b`.
            let mut chosen = by_flags.iter().map(|(_, usage)| usage);
            let first = chosen.rfind(|usage| usage.lost < any.lost);
            let usage = first.cloned().unwrap_or(any);
            Draft {
                usage,
                by_flags: by_flags
                    .into_iter()
                    .map(|(flags, usage)| (flags, usage.tensors))
                    .collect(),
                metadata: found.remove(&function.name).unwrap_or_default(),
                path: main.path.clone(),
                hosts: read_launches(original, &main.path, &function.name),
                launcher: LauncherText {
                    text: Rc::clone(&whole),
                    ..LauncherText::default()
                },
                text: main.text.clone(),
                is_named: !only.is_empty(),
                function,
            }
        })
        .collect())
}

/// Lists the kernels of a module's text.
///
/// # Errors
/// The module has a syntax error.
pub fn list_kernels(source: SourceId, text: &str) -> Result<Vec<String>, Vec<Diagnostic>> {
    let contents = module::parse(source, text)?;
    let kernels = contents.functions.into_iter().filter(|function| function.jit);
    Ok(kernels.map(|function| function.name).collect())
}

impl Draft {
    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.function.name
    }

    /// Whether nothing in the kernel depends on a parameter.
    pub fn is_unused(&self, parameter: &str) -> bool {
        self.usage.unused.contains(parameter)
    }

    /// The names of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> + Clone {
        self.function
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
    }

    /// The launches to try the kernel with, according to this reading.
    pub fn survey(&self, reading: &Reading) -> Survey {
        let usage = self.usage_by(reading);
        let mut not_tried = self.not_tried();
        let mut tried = Vec::new();
        let mut guessed = Vec::new();
        if not_tried.is_none() {
            let mut configs = self.metadata.configs.clone();
            // The smallest blocks first: they take the least time, and sizes around them are small.
            configs.sort_by_key(tuning::compute_volume);
            let planner = |config: Config| self.build_planner(&usage, reading, config);
            let first = planner(configs.first().cloned().unwrap_or_default());
            first.add_all(&mut tried);
            for (size, number) in &self.metadata.thresholds {
                first.add_threshold(size, *number, &mut tried);
            }
            guessed = first.guessed();
            let changed = reading.parameters().into_iter().cloned();
            guessed.extend(changed.filter(|name| !first.guessed().contains(name)));
            let others = configs.iter().skip(1);
            let step = (others.len() / (CONFIGS_MOST - 1)).max(1);
            for config in others.rev().step_by(step).take(CONFIGS_MOST - 1) {
                planner(config.clone()).add_plain(&mut tried);
            }
        }
        if not_tried.is_none() && tried.is_empty() {
            not_tried = Some(NotTried::TooLarge);
        }
        Survey {
            attempts: tried,
            not_tried,
            certain: self.find_certain_storages(&usage),
            stated: find_stated_storages(&usage),
            contracts: self.find_conditions(&usage),
            stores: self.find_stores(&usage),
            distinct: find_distinct(&usage),
            outputs: find_outputs(&usage, &self.function),
            unmasked: self.find_unmasked(&usage),
            guessed,
            ..self.start_survey(reading)
        }
    }

    /// A survey without launches.
    fn start_survey(&self, reading: &Reading) -> Survey {
        Survey {
            kernel: self.function.name.clone(),
            attempts: Vec::new(),
            not_tried: None,
            certain: BTreeSet::new(),
            stated: BTreeSet::new(),
            contracts: Vec::new(),
            stores: self.find_stores(&self.usage),
            distinct: BTreeSet::new(),
            outputs: BTreeSet::new(),
            buffers: BTreeSet::new(),
            unmasked: None,
            guessed: Vec::new(),
            reading: reading.clone(),
            changed: reading.words(),
            version: None,
            is_launched: self.is_launched(),
            is_searched: false,
            host: None,
            measured: BTreeSet::new(),
            assumed: Vec::new(),
            omitted: self.metadata.hooks.clone(),
            unused_launchers: Vec::new(),
        }
    }

    /// Whether functions of the kernel's file make launches that are known.
    pub fn has_host(&self) -> bool {
        self.hosts.iter().any(is_known)
    }

    /// Looks for launches in a text that has more than the kernel's file: what it imports, or another file that
    /// launches the kernel, by its name.
    pub fn add_hosts(&mut self, joined: &Joined, file: Option<&str>) {
        let (name, before) = (&self.function.name, joined.lines_before);
        let launcher = LauncherText {
            text: joined.text.as_str().into(),
            lines_before: before,
            file: file.map(str::to_owned),
        };
        let hosts = launcher.add_file(read_launches_after(&joined.text, &self.path, name, before));
        let is_better = hosts.iter().any(is_known) || self.assumed_survey().is_none();
        if is_better {
            self.hosts = hosts;
            self.launcher = launcher;
        }
    }

    /// The draft with other inputs of its launchers.
    #[must_use]
    pub fn choose_inputs(&self, choice: InputChoice) -> Self {
        let LauncherText {
            text, lines_before, ..
        } = &self.launcher;
        let hosts = read_launches_with(text, &self.path, &self.function.name, *lines_before, choice);
        Self {
            hosts: self.launcher.add_file(hosts),
            ..self.clone()
        }
    }

    /// Whether functions of the kernel's file launch it, known or not.
    pub fn is_launched(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// The functions that launch the kernel, one launch each. `reason` is why evaluated launches are not used.
    pub fn list_unused_launchers(&self, reason: &str) -> Vec<UnusedLauncher> {
        let mut unused: Vec<UnusedLauncher> = Vec::new();
        for launch in &self.hosts {
            if unused.iter().any(|known| known.host == launch.host) {
                continue;
            }
            unused.push(UnusedLauncher {
                host: launch.host.clone(),
                line: launch.line,
                reason: if launch.unknown.is_empty() {
                    reason.to_owned()
                } else {
                    launch.unknown.join("; ")
                },
            });
        }
        unused
    }

    /// The launches that functions of the kernel's file make; `None` if no such function was evaluated.
    pub fn host_survey(&self) -> Option<Survey> {
        self.survey_launches(is_known)
    }

    /// As [`Self::host_survey`], with inputs that nothing decides. They may not fit, as a guess may not.
    pub fn assumed_survey(&self) -> Option<Survey> {
        self.survey_launches(|launch| launch.unknown.is_empty())
    }

    fn survey_launches(&self, is_usable: fn(&HostLaunch) -> bool) -> Option<Survey> {
        let launches = || self.hosts.iter().filter(|launch| is_usable(launch));
        let first = launches().next()?;
        let mut outputs = BTreeSet::new();
        let mut storages = BTreeSet::new();
        let (mut roomy, mut unmeasured) = (BTreeSet::new(), BTreeSet::new());
        for tensor in launches().flat_map(|launch| &launch.tensors) {
            storages.insert(tensor.storage.clone());
            if !tensor.is_measured {
                unmeasured.insert(tensor.storage.clone());
            }
            if !tensor.is_sized {
                roomy.insert(tensor.storage.clone());
            }
        }
        let is_buffer = |tensor: &&HostTensor| tensor.origin != Origin::Input && !tensor.is_result;
        let buffers = first.tensors.iter().filter(is_buffer);
        // Another kernel of the same function may write the rest of an output.
        let is_alone = launches().all(|launch| launch.line == first.line);
        if is_alone {
            let made = first
                .tensors
                .iter()
                .filter(|tensor| tensor.origin == Origin::Empty && tensor.is_returned && !tensor.is_placed)
                .filter(|tensor| !tensor.is_fitted);
            outputs.extend(made.map(|tensor| tensor.storage.clone()));
        }
        Some(Survey {
            attempts: launches()
                .map(|launch| Attempt {
                    variant: launch.variant.clone(),
                    change: launch.change,
                    text: launch.text.clone(),
                })
                .collect(),
            certain: storages.difference(&roomy).cloned().collect(),
            measured: storages.difference(&unmeasured).cloned().collect(),
            distinct: storages,
            buffers: buffers.map(|tensor| tensor.storage.clone()).collect(),
            outputs,
            host: Some(first.host.clone()),
            assumed: first.assumed.clone(),
            ..self.start_survey(&Reading::ALL[0])
        })
    }

    /// Only the plain launch, according to this reading; `None` if there is none.
    pub fn attempt(&self, reading: &Reading) -> Option<Attempt> {
        let usage = self.usage_by(reading);
        let mut configs = self.metadata.configs.clone();
        configs.sort_by_key(tuning::compute_volume);
        let config = configs.into_iter().next().unwrap_or_default();
        self.build_planner(&usage, reading, config).first()
    }

    /// The plain launch with blocks of other sizes, and the sizes and tensors of the plain one. Empty if the size of
    /// a tensor depends on a block, or may.
    pub fn list_block_attempts(&self, reading: &Reading) -> Vec<Attempt> {
        let usage = self.usage_by(reading);
        let mut configs = self.metadata.configs.clone();
        configs.sort_by_key(tuning::compute_volume);
        let config = configs.into_iter().next().unwrap_or_default();
        if self.not_tried().is_some() {
            return Vec::new();
        }
        self.build_planner(&usage, reading, config).list_block_attempts()
    }

    /// Blocks that are twice and half as large as those of a launch with a grid and these integers. Its tensors stay the same.
    pub fn scale_blocks(&self, grid: [u32; 3], find_integer: impl Fn(&str) -> Option<i64>) -> Vec<Scaling> {
        scaled::scale_blocks(&self.usage, &self.function, grid, find_integer)
    }

    /// The axis of a launch's grid with too few programs for the sizes that the kernel cuts into blocks on it.
    pub fn find_shortage(
        &self,
        grid: [u32; 3],
        find_integer: impl Fn(&str) -> Option<i64>,
    ) -> Option<Shortage> {
        scaled::find_shortage(&self.usage, grid, find_integer)
    }

    /// A case file that varies sizes, dtypes and rows in its matrix; `None` if the text does not determine a launch.
    pub fn case_file(&self, reading: &Reading) -> Option<String> {
        if self.not_tried().is_some() {
            return None;
        }
        let usage = self.usage_by(reading);
        let mut configs = self.metadata.configs.clone();
        configs.sort_by_key(tuning::compute_volume);
        let config = configs.into_iter().next().unwrap_or_default();
        self.build_planner(&usage, reading, config).render_matrix_case()
    }

    fn build_planner<'a>(&'a self, usage: &'a Usage, reading: &'a Reading, config: Config) -> Planner<'a> {
        let planner = Planner {
            function: &self.function,
            usage,
            by_flags: &self.by_flags,
            path: &self.path,
            text: &self.text,
            computed: &self.metadata.computed,
            config,
            reading,
        };
        planner.with_heuristics(&planner.base()).unwrap_or(planner)
    }

    /// The parameters that are sizes.
    fn sizes(&self) -> Vec<String> {
        self.build_planner(&self.usage, &Reading::ALL[0], Config::default())
            .sizes()
    }

    /// The usage in the text, with the changes of the reading.
    fn usage_by(&self, reading: &Reading) -> Usage {
        let mut usage = self.usage.clone();
        for name in reading.dtypes.keys() {
            if !usage.tensors.iter().any(|tensor| tensor.name == *name) {
                usage.tensors.push(TensorUse {
                    name: name.clone(),
                    dimensions: Vec::new(),
                    read: true,
                    written: true,
                    indexes: false,
                    is_whole: false,
                    mirrors: BTreeSet::new(),
                    certain: false,
                    stated: false,
                    is_placed: false,
                    stored_at: None,
                    unmasked: None,
                });
            }
        }
        for tensor in &mut usage.tensors {
            tensor.certain &= !reading.rooms.contains_key(&tensor.name);
            tensor.stated &= !reading.rooms.contains_key(&tensor.name);
        }
        usage
    }

    fn not_tried(&self) -> Option<NotTried> {
        let (function, usage) = (&self.function, &self.usage);
        let is_variadic =
            |kind: ParameterKind| matches!(kind, ParameterKind::VarPositional | ParameterKind::VarKeyword);
        if self.metadata.is_gluon {
            Some(NotTried::Gluon)
        } else if self.metadata.is_function && !self.is_named {
            Some(NotTried::Function)
        } else if function.parameters.iter().any(|one| is_variadic(one.kind)) {
            Some(NotTried::Variadic)
        } else if !usage.descriptors.is_empty() {
            Some(NotTried::Descriptor)
        } else if usage.tensors.is_empty() {
            Some(NotTried::NoTensor)
        } else if usage.tensors.iter().all(|tensor| !tensor.written) {
            Some(NotTried::NoStore)
        } else {
            None
        }
    }

    /// The line of a byte of the module, from 1.
    fn line_of(&self, at: u32) -> usize {
        let before = self.text.get(..at as usize).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    fn find_conditions(&self, usage: &Usage) -> Vec<Condition> {
        let stated = usage.contracts.iter();
        let conditions = stated.map(|one| Condition {
            kind: one.kind,
            message: one.message.clone(),
            demand: one.demand.clone(),
            line: self.line_of(one.offset),
        });
        conditions.collect()
    }

    fn find_stores(&self, usage: &Usage) -> BTreeMap<String, usize> {
        let stored = usage.tensors.iter();
        let lines = stored.filter_map(|one| Some((one.name.clone(), self.line_of(one.stored_at?))));
        lines.collect()
    }

    /// Finds the tensors that nothing but the grid and one block bounds.
    fn find_unmasked(&self, usage: &Usage) -> Option<Unmasked> {
        let all = || {
            let tensors = usage.tensors.iter();
            tensors.filter_map(|tensor| Some((&tensor.name, tensor.unmasked.as_ref()?)))
        };
        let (_, (block, at)) = all().min_by_key(|(_, (_, at))| *at)?;
        let text = match block {
            Extent::Number(number) => number.to_string(),
            Extent::Param(name) => name.clone(),
            Extent::Text(_) => return None,
        };
        let tensors = all().filter(|(_, (other, _))| other == block);
        Some(Unmasked {
            tensors: tensors.map(|(name, _)| name.clone()).collect(),
            block: text,
            line: self.line_of(*at),
        })
    }

    /// Finds the storages of tensors whose number of elements the text determines.
    fn find_certain_storages(&self, usage: &Usage) -> BTreeSet<String> {
        let is_computed = |bound: &Bound| match bound {
            Bound::Lanes(extent) | Bound::Blocks(_, extent) => match extent {
                Extent::Number(_) => false,
                Extent::Param(name) => self.function.given_by_decorators.contains(name),
                Extent::Text(_) => true,
            },
            _ => false,
        };
        let is_told = |tensor: &&TensorUse| {
            let mut dimensions = tensor.dimensions.iter();
            tensor.certain && !dimensions.any(|dimension| is_computed(&dimension.bound))
        };
        let certain = usage.tensors.iter().filter(is_told);
        certain.map(|tensor| storage_name(&tensor.name)).collect()
    }
}

impl LauncherText {
    /// Adds the name of another file to its functions.
    fn add_file(&self, mut hosts: Vec<HostLaunch>) -> Vec<HostLaunch> {
        if let Some(file) = &self.file {
            for launch in &mut hosts {
                launch.host = format!("{file}:{}", launch.host);
            }
        }
        hosts
    }
}

/// Finds the storages of tensors whose sizes only other accesses determine.
fn find_stated_storages(usage: &Usage) -> BTreeSet<String> {
    let stated = usage
        .tensors
        .iter()
        .filter(|tensor| tensor.stated && !tensor.certain);
    stated.map(|tensor| storage_name(&tensor.name)).collect()
}

/// Whether all of a launch is known.
fn is_known(launch: &HostLaunch) -> bool {
    launch.unknown.is_empty() && launch.assumed.is_empty()
}

/// Finds the storages of tensors that are only written, and whose size the text determines. A grid that decorators
/// compute may cover more than the survey's grid.
fn find_outputs(usage: &Usage, function: &Function) -> BTreeSet<String> {
    let is_computed = |extent: &Extent| match extent {
        Extent::Number(_) => false,
        Extent::Param(name) => function.given_by_decorators.contains(name),
        Extent::Text(_) => true,
    };
    let mut blocks = usage.axes.iter().flat_map(|axis| &axis.blocks);
    if blocks.any(|(_, extent)| is_computed(extent)) {
        return BTreeSet::new();
    }
    let is_output = |tensor: &&TensorUse| tensor.written && !tensor.read && tensor.certain;
    let outputs = usage.tensors.iter().filter(is_output);
    outputs.map(|tensor| storage_name(&tensor.name)).collect()
}

/// Finds the storages of tensors whose elements no wrong guess of an extent lets meet.
fn find_distinct(usage: &Usage) -> BTreeSet<String> {
    let is_distinct = |tensor: &&TensorUse| {
        let has_strides = tensor
            .dimensions
            .iter()
            .any(|dimension| matches!(dimension.stride, Stride::Param(_)));
        // Other indices come from the contents of tensors, which the survey makes up: segments may overlap.
        let is_ragged = tensor.is_placed && tensor.dimensions.len() > 1;
        // A stride that a launch passes may have to follow from the sizes: `head * stride_h + row * DIM`.
        let is_mixed = has_strides
            && tensor
                .dimensions
                .iter()
                .any(|dimension| matches!(dimension.stride, Stride::Sizes(..)));
        let mut inner = tensor.dimensions.iter().skip(1);
        tensor.certain
            || !has_strides && !is_ragged
            || !is_mixed && inner.all(|dimension| dimension.bound != Bound::Unknown)
    };
    let tensors = usage.tensors.iter().filter(is_distinct);
    tensors.map(|tensor| storage_name(&tensor.name)).collect()
}
