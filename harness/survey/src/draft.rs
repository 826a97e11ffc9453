//! A kernel with the facts from its text, from which its launches are drafted.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::hosts::LauncherText;
use super::plan::{self, Planner};
use super::reading::Reading;
use super::scaled::{self, Scaling, Shortage};
use super::storages::{
    find_certain_storages, find_distinct_storages, find_output_storages, find_placing_tensors,
    find_stated_storages,
};
use super::survey::{Attempt, Condition, NotTried, Survey, Unmasked};
use cerith_launcher::{HostLaunch, read_launches};
use cerith_module::excerpt::Part;
use cerith_module::excerpt::tuning::{self, Config, KernelMetadata};
use cerith_module::kernel::{Function, ParameterKind};
use cerith_module::module;
use cerith_module::usage::library::{Library, Texts};
use cerith_module::usage::polynomial::Extent;
use cerith_module::usage::{Flags, TensorUse, Usage, read_usage};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::SourceId;

/// Maximum number of an autotuner's configurations that are tried.
const MAX_CONFIGS: usize = 4;
/// A kernel of an excerpt, with the facts from its text.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) function: Function,
    pub(super) usage: Usage,
    /// Its tensors for each setting of its flags ([`plan::list_settings`]).
    by_flags: Vec<(Flags, Vec<TensorUse>)>,
    metadata: KernelMetadata,
    pub(super) path: String,
    /// The module.
    text: String,
    /// Its launches by functions of its file.
    pub(super) hosts: Vec<HostLaunch>,
    /// The text that they are read from.
    pub(super) launcher: LauncherText,
    /// Whether it is meant by its name.
    is_named: bool,
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
            let step = (others.len() / (MAX_CONFIGS - 1)).max(1);
            for config in others.rev().step_by(step).take(MAX_CONFIGS - 1) {
                planner(config.clone()).add_plain(&mut tried);
            }
        }
        if not_tried.is_none() && tried.is_empty() {
            not_tried = Some(NotTried::TooLarge);
        }
        Survey {
            attempts: tried,
            not_tried,
            certain: find_certain_storages(&usage, &self.function),
            stated: find_stated_storages(&usage),
            contracts: self.find_conditions(&usage),
            stores: self.find_stores(&usage),
            distinct: find_distinct_storages(&usage),
            outputs: find_output_storages(&usage, &self.function),
            unmasked: self.find_unmasked(&usage),
            guessed,
            ..self.start_survey(reading)
        }
    }

    /// A survey without launches.
    pub(super) fn start_survey(&self, reading: &Reading) -> Survey {
        Survey {
            kernel: self.function.name.clone(),
            attempts: Vec::new(),
            sized: Vec::new(),
            not_tried: None,
            certain: BTreeSet::new(),
            stated: BTreeSet::new(),
            placed_by: find_placing_tensors(&self.usage),
            contracts: Vec::new(),
            stores: self.find_stores(&self.usage),
            distinct: BTreeSet::new(),
            outputs: BTreeSet::new(),
            buffers: BTreeSet::new(),
            is_after_others: false,
            unmasked: None,
            bound: self.usage.bound.clone(),
            guessed: Vec::new(),
            reading: reading.clone(),
            changed: reading.words(),
            version: None,
            is_launched: self.is_launched(),
            is_searched: false,
            host: None,
            is_of_one_tensor: false,
            measured: BTreeSet::new(),
            divided: BTreeMap::new(),
            assumed: Vec::new(),
            numbers: BTreeSet::new(),
            made: BTreeSet::new(),
            omitted: self.metadata.hooks.clone(),
            unused_launchers: Vec::new(),
            rejected: None,
        }
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

    /// Blocks that are twice and half as large as those of a launch with a grid and these integers. Its tensors stay the same, and
    /// other kernels may have written some.
    pub fn scale_blocks(
        &self,
        grid: [u32; 3],
        is_after_others: bool,
        find_integer: impl Fn(&str) -> Option<i64>,
    ) -> Vec<Scaling> {
        scaled::scale_blocks(&self.usage, &self.function, (grid, is_after_others), find_integer)
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

    fn build_planner<'a>(
        &'a self,
        usage: &'a Usage,
        reading: &'a Reading,
        mut config: Config,
    ) -> Planner<'a> {
        let assigned = usage.assigned.iter();
        config.extend(assigned.map(|(name, number)| (name.clone(), Some(number.to_string()))));
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
    pub(super) fn sizes(&self) -> Vec<String> {
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
                    placed_by: BTreeSet::new(),
                    is_segmented: false,
                    is_lock: false,
                    sentinels: BTreeSet::new(),
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
}
