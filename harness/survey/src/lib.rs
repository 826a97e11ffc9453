//! Case files that try a kernel: sizes at and around its blocks, layouts, dtypes, aliases. Left out: what a kernel does with its
//! parameters ([`cerith_module::usage`]), and what engines say to it.
//!
//! One thing is varied at a time, from a launch in which every size is a little more than a block: what fails with one variant and
//! not with the others says what it takes. A survey is no proof.

mod amount;
mod place;
mod plan;
mod reading;
mod varied;
mod written;

use std::collections::BTreeSet;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::rules::Version;
use cerith_tile::source::SourceId;

use self::plan::Planner;
pub use self::reading::Reading;
pub use cerith_launcher::Change;
use cerith_launcher::skeleton::storage_name;
use cerith_launcher::{HostLaunch, Origin, read_launches};
use cerith_module::excerpt::Part;
use cerith_module::excerpt::tuning::{self, Config, KernelMetadata};
use cerith_module::kernel::{Function, ParameterKind};
use cerith_module::module;
use cerith_module::usage::library::{Library, Texts};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Bound, Flags, Stride, TensorUse, Usage, read_usage};

/// The most configurations of an autotuner that are tried.
const CONFIGS_MOST: usize = 4;

/// The most elements of a tensor: larger sizes are not tried.
const ELEMENTS_MOST: i64 = 1 << 20;

/// A launch to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What is special about it: `n=33`, `x with padded rows`; empty for the launch that others differ from.
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
    /// Why the kernel cannot be launched from what its text says.
    pub not_tried: Option<NotTried>,
    /// The storages of tensors of which the text tells how many elements they have. Of others there are more than enough, which
    /// says nothing about the kernel.
    pub certain: BTreeSet<String>,
    /// The storages whose elements cannot meet by a guess of ours: the text tells the extent of every dimension except the outermost,
    /// or the kernel computes addresses from no stride that a launch passes.
    pub distinct: BTreeSet<String>,
    /// The storages of tensors that are only written, and of which the text tells the size.
    pub outputs: BTreeSet<String>,
    /// The accesses that nothing but the grid and a block bounds.
    pub unmasked: Option<Unmasked>,
    /// Parameters whose values are guessed: numbers that are neither sizes, strides nor blocks, as far as the text tells.
    pub guessed: Vec<String>,
    /// What the launches pass where the text leaves it open.
    pub reading: Reading,
    /// What is passed otherwise than the text suggests, in words: something else did not get through.
    pub changed: Vec<String>,
    /// The newest version of Triton that accepts the kernel, if it is not the newest of all.
    pub version: Option<Version>,
    /// Whether every launch that was tried instead failed too.
    pub is_searched: bool,
    /// The function of the file that launches the kernel in this way, if one was evaluated.
    pub host: Option<String>,
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: Vec<&'static str>,
}

/// Accesses that nothing but the grid and a block bounds: the block must divide the number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// The parameters of the tensors.
    pub tensors: Vec<String>,
    /// The block, as the kernel's text has it.
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
    /// It has no tensor among its parameters, as far as its text tells.
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
    /// Its launches would be too large, or take something that the text does not tell.
    #[error("no launch of a reasonable size can be made of what its text tells")]
    TooLarge,
    /// It has parameters of any number.
    #[error("it takes any number of arguments")]
    Variadic,
    /// Each launch breaks a declared precondition.
    #[error("no launch keeps its declared preconditions")]
    Declared,
}

/// A kernel of an excerpt, with what its text says.
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
    /// Whether it is meant by its name.
    is_named: bool,
}

/// The kernels of an excerpt's first module. `original` is the text that it was taken from; `only` names the kernels that are meant,
/// all if it is empty.
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
                text: main.text.clone(),
                is_named: !only.is_empty(),
                function,
            }
        })
        .collect())
}

/// The kernels of a module's text, to be taken out of it.
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

    /// The names of its parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> + Clone {
        self.function
            .parameters
            .iter()
            .map(|parameter| parameter.name.as_str())
    }

    /// The launches to try the kernel with, as this reading has them.
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
            distinct: BTreeSet::new(),
            outputs: BTreeSet::new(),
            unmasked: None,
            guessed: Vec::new(),
            reading: reading.clone(),
            changed: reading.words(),
            version: None,
            is_searched: false,
            host: None,
            omitted: self.metadata.hooks.clone(),
        }
    }

    /// The launches that functions of the kernel's file make; none if no such function was evaluated.
    pub fn host_survey(&self) -> Option<Survey> {
        // What an input is assumed to be may not fit, as a guess may not.
        let is_certain = |launch: &&HostLaunch| launch.unknown.is_empty() && launch.assumed.is_empty();
        let launches = || self.hosts.iter().filter(is_certain);
        let first = launches().next()?;
        let mut outputs = BTreeSet::new();
        let mut storages = BTreeSet::new();
        for tensor in launches().flat_map(|launch| &launch.tensors) {
            storages.insert(tensor.storage.clone());
        }
        // Another kernel of the same function may write the rest of an output.
        let is_alone = launches().all(|launch| launch.line == first.line);
        if is_alone {
            let made = first
                .tensors
                .iter()
                .filter(|tensor| tensor.origin == Origin::Empty && tensor.is_returned);
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
            certain: storages.clone(),
            distinct: storages,
            outputs,
            host: Some(first.host.clone()),
            ..self.start_survey(&Reading::ALL[0])
        })
    }

    /// Only the plain launch, as this reading has it; none if there is none.
    pub fn attempt(&self, reading: &Reading) -> Option<Attempt> {
        let usage = self.usage_by(reading);
        let mut configs = self.metadata.configs.clone();
        configs.sort_by_key(tuning::compute_volume);
        let config = configs.into_iter().next().unwrap_or_default();
        self.build_planner(&usage, reading, config).first()
    }

    /// A case file that varies sizes, dtypes and rows in its matrix; none if no launch can be written of what the text tells.
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
        Planner {
            function: &self.function,
            usage,
            by_flags: &self.by_flags,
            path: &self.path,
            config,
            reading,
        }
    }

    /// The parameters that are sizes.
    fn sizes(&self) -> Vec<String> {
        self.build_planner(&self.usage, &Reading::ALL[0], Config::default())
            .sizes()
    }

    /// What the text says, but for what the reading has otherwise.
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
                    unmasked: None,
                });
            }
        }
        for tensor in &mut usage.tensors {
            tensor.certain &= !reading.rooms.contains_key(&tensor.name);
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
        let before = self.text.get(..*at as usize).unwrap_or_default();
        Some(Unmasked {
            tensors: tensors.map(|(name, _)| name.clone()).collect(),
            block: text,
            line: before.matches('\n').count() + 1,
        })
    }

    /// The storages of tensors of which the text tells how many elements they have.
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

/// Finds the storages of tensors that are only written, and of which the text tells the size. A grid that decorators compute may
/// cover more than ours.
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
        let mut inner = tensor.dimensions.iter().skip(1);
        tensor.certain || !has_strides || inner.all(|dimension| dimension.bound != Bound::Unknown)
    };
    let tensors = usage.tensors.iter().filter(is_distinct);
    tensors.map(|tensor| storage_name(&tensor.name)).collect()
}
