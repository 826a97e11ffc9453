//! A case while it is reduced: the text of its kernels' file, its storages, its launches. See the other modules for changes.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use cerith_case::{ArgValue, Case, Declared, Input, Launch};
use cerith_memory::{ByteState, NamedTensor, Pointer, Storage, StorageId, Storages, Tensor};
use cerith_module::{Kernel, Module};
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::numeric;
use ruff_text_size::{Ranged, TextRange};

use super::tree::{Tree, find_callee};

/// The name that a reduced case's kernel file has.
const KERNEL: &str = "kernel.py";

/// The reason why a case differs from its texts.
#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    /// Case files have no form for it.
    #[error("there is no way to write it")]
    Inexpressible,
    /// The texts are not a corpus: the first problem.
    #[error("{}", .0.message)]
    Corpus(Box<Diagnostic>),
    /// The texts have no case.
    #[error("no case")]
    NoCase,
    /// The case of the texts is wrong.
    #[error("{0:?}")]
    Case(Vec<Diagnostic>),
}

/// A case that may become smaller.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The parts that stay unchanged: the id, the description, files beside the kernels'.
    frame: Arc<Case>,
    pub(super) text: Arc<str>,
    pub(super) storages: Vec<CandidateStorage>,
    pub(super) launches: Vec<Launch>,
}

/// A storage with its contents.
#[derive(Clone, Debug)]
pub(super) struct CandidateStorage {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub content: Content,
}

/// The contents of a storage, the plainest last.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Own(Arc<StorageBytes>),
    Arange,
    Ones,
    Zeros,
}

/// Bytes of a storage.
#[derive(Clone, Debug, Hash)]
pub(super) struct StorageBytes {
    pub bytes: Vec<u8>,
    pub states: Vec<ByteState>,
    pub pointers: Vec<Pointer>,
}

/// Something to replace in a text.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub range: TextRange,
    pub text: String,
}

/// A change of a candidate.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub edits: Vec<Edit>,
    pub storages: Option<Vec<CandidateStorage>>,
    pub launches: Option<Vec<Launch>>,
}

/// How large a case is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Lines of the first launch's kernel, without its signature and decorators.
    pub lines: usize,
    /// Arguments of the launch that has most.
    pub arguments: usize,
    /// Elements of all storages.
    pub elements: usize,
    /// Programs of all launches.
    pub programs: usize,
}

impl CandidateStorage {
    pub fn count(&self) -> usize {
        let count: i64 = self
            .shape
            .iter()
            .fold(1, |count, &extent| count.saturating_mul(extent.max(0)));
        usize::try_from(count).unwrap_or(0)
    }

    /// Its bytes, if it holds no addresses.
    pub fn to_bytes(&self) -> Option<StorageBytes> {
        let mut storages = Storages::new();
        let bytes = (self.count() as u64).checked_mul(self.dtype.size() as u64)?;
        let id = storages.add("alone", bytes).ok()?;
        self.fill(&mut storages, id);
        let storage = storages.get(id)?;
        Some(StorageBytes {
            bytes: storage.bytes().to_vec(),
            states: storage.states().to_vec(),
            pointers: Vec::new(),
        })
    }

    fn fill(&self, storages: &mut Storages, id: StorageId) {
        let size = self.dtype.size();
        let each = |storages: &mut Storages, value: &dyn Fn(usize) -> u64| {
            for at in 0..self.count() {
                let bits = value(at).to_le_bytes();
                storages.write(id, at * size, bits.get(..size).unwrap_or_default());
            }
        };
        let int = |value: usize| {
            if self.dtype.is_float() {
                numeric::encode(self.dtype, value as f64, cerith_tile::ir::Rounding::NearestEven)
            } else {
                numeric::encode_int(self.dtype, value as i128)
            }
        };
        match &self.content {
            Content::Zeros => each(storages, &|_| 0),
            Content::Ones => each(storages, &|_| int(1)),
            Content::Arange => each(storages, &int),
            Content::Own(own) => {
                let have = storages.size(id);
                for (at, (byte, state)) in own.bytes.iter().zip(&own.states).enumerate().take(have) {
                    if *state == ByteState::Init {
                        storages.write(id, at, &[*byte]);
                    }
                }
                for pointer in &own.pointers {
                    storages.write_pointer(id, pointer.offset, pointer.target, pointer.target_offset);
                }
            }
        }
    }
}

impl Content {
    fn from_storage(storage: &Storage) -> Self {
        let init = storage.states().iter().all(|&state| state == ByteState::Init);
        if init && storage.pointers().is_empty() && storage.bytes().iter().all(|&byte| byte == 0) {
            return Self::Zeros;
        }
        Self::Own(Arc::new(StorageBytes {
            bytes: storage.bytes().to_vec(),
            states: storage.states().to_vec(),
            pointers: storage.pointers().to_vec(),
        }))
    }

    /// Whether it holds addresses.
    pub fn has_pointers(&self) -> bool {
        matches!(self, Self::Own(own) if !own.pointers.is_empty())
    }
}

impl Edit {
    pub fn new(range: TextRange, text: impl Into<String>) -> Self {
        Self {
            range,
            text: text.into(),
        }
    }
}

impl Change {
    pub fn from_edits(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            ..Self::default()
        }
    }
}

impl Candidate {
    /// The candidate of a case: one file of kernels, which holds what its launches need; arguments by name; all storages
    /// named. `None` if it cannot be reduced: nothing is launched, kernels are in several files, or a storage is sparse.
    pub fn from_case(case: &Case) -> Option<Self> {
        let module = &case.module;
        if case.launches.is_empty()
            || case.storages.first_sparse().is_some()
            || case
                .launches
                .iter()
                .any(|launch| launch.kernel.module.path != module.path)
        {
            return None;
        }
        let text = squeeze_blank_lines(&case.text_of(module));
        let mut storages = Vec::with_capacity(case.storages.len());
        for (at, (_, storage)) in case.storages.iter().enumerate() {
            let bytes = storage.bytes().len();
            let (name, dtype, shape) = if let Some(declared) = case.declared.get(at) {
                (storage.name().to_owned(), declared.dtype, declared.shape.clone())
            } else {
                let dtype = find_view_dtype(case, at).filter(|dtype| bytes % dtype.size() == 0);
                let dtype = dtype.unwrap_or(DType::U8);
                (format!("copy_{at}"), dtype, vec![(bytes / dtype.size()) as i64])
            };
            storages.push(CandidateStorage {
                name,
                dtype,
                shape,
                content: Content::from_storage(storage),
            });
        }
        let mut launches = case.launches.clone();
        for launch in &mut launches {
            by_name(launch);
        }
        let mut frame = case.clone();
        frame.storages = Storages::new();
        frame.declared = Vec::new();
        frame.tensors = Vec::new();
        frame.launches = Vec::new();
        frame.expected_contents = Vec::new();
        frame.like = None;
        frame.expectations = Vec::new();
        frame.recorded = None;
        frame.discovery = None;
        frame.compile = None;
        frame.point = Vec::new();
        Some(Self {
            frame: Arc::new(frame),
            text: text.into(),
            storages,
            launches,
        })
    }

    /// The text of the kernels' file.
    pub fn kernel(&self) -> &str {
        &self.text
    }

    /// The text of the case file, for a kernel's file `kernel.py` beside it. `None` if it cannot be written.
    pub fn case_file(&self) -> Option<String> {
        self.case()?.to_case_file()
    }

    /// The case of the two texts, as in a corpus.
    ///
    /// # Errors
    /// The case cannot be written, or its texts are wrong in a corpus.
    pub fn read_back(&self) -> Result<Case, ReadBackError> {
        let yaml = self.case_file().ok_or(ReadBackError::Inexpressible)?;
        let beside = self
            .imported_files()
            .map(|(path, text)| Input::from_text(path, text));
        let inputs = [
            Input::from_text("case.yaml", yaml),
            Input::from_text(KERNEL, &*self.text),
        ];
        let corpus = cerith_case::Corpus::load(inputs.into_iter().chain(beside));
        if let Some(problem) = corpus.problems().first() {
            return Err(ReadBackError::Corpus(Box::new(problem.clone())));
        }
        let entry = corpus.entries().next().ok_or(ReadBackError::NoCase)?;
        entry.resolve().map_err(ReadBackError::Case)
    }

    /// Files that the kernels' file imports, by the path that they must have beside it.
    pub fn imported_files(&self) -> impl Iterator<Item = (String, String)> + '_ {
        self.frame.module.imports.iter().map(|(name, file)| {
            let path = format!("{}.py", name.replace('.', "/"));
            (path, file.text.to_string())
        })
    }

    /// The case that engines run. `None` if the text has no such kernels, or if storages are too large.
    pub fn case(&self) -> Option<Case> {
        let mut module = Module::from_text(KERNEL, Arc::clone(&self.text)).ok()?;
        module.imports.clone_from(&self.frame.module.imports);
        let module = Arc::new(module);
        let mut storages = Storages::new();
        let mut ids = Vec::with_capacity(self.storages.len());
        for held in &self.storages {
            let bytes = (held.count() as u64).checked_mul(held.dtype.size() as u64)?;
            ids.push(storages.add(held.name.clone(), bytes).ok()?);
        }
        for (held, &id) in self.storages.iter().zip(&ids) {
            held.fill(&mut storages, id);
        }
        let mut launches = self.launches.clone();
        for launch in &mut launches {
            let (old, name) = (&launch.kernel.module.path, &launch.kernel.name);
            let host = match &launch.host {
                Some(host) if host.module.path == *old => Some(Kernel::find(&module, &host.name)?),
                other => other.clone(),
            };
            launch.kernel = Kernel::find(&module, name)?;
            launch.host = host;
        }
        let declared = self.storages.iter().map(|held| Declared {
            dtype: held.dtype,
            shape: held.shape.clone(),
            fill: String::new(),
            recorded: None,
            span: self.frame.span,
        });
        let tensors = self.storages.iter().zip(&ids).map(|(held, &id)| NamedTensor {
            name: held.name.clone(),
            tensor: Tensor::new_contiguous(id, held.dtype, &held.shape),
        });
        Some(Case {
            module,
            named_storages: self.storages.len(),
            declared: declared.collect(),
            tensors: tensors.collect(),
            storages,
            launches,
            ..(*self.frame).clone()
        })
    }

    /// How large it is.
    pub fn size(&self) -> Size {
        let kernel = self.launches.first().map(|launch| launch.kernel.name.as_str());
        let lines = Tree::parse(&self.text).zip(kernel).and_then(|(tree, kernel)| {
            let def = tree.find_function(kernel)?;
            let (first, last) = (def.body.first()?, def.body.last()?);
            let body = self.text.get(first.start().to_usize()..last.end().to_usize())?;
            Some(
                body.lines()
                    .filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'))
                    .count(),
            )
        });
        Size {
            lines: lines.unwrap_or(0),
            arguments: self
                .launches
                .iter()
                .map(|launch| launch.positional.len() + launch.keyword.len())
                .max()
                .unwrap_or(0),
            elements: self.storages.iter().map(CandidateStorage::count).sum(),
            programs: self
                .launches
                .iter()
                .map(|launch| launch.grid.iter().map(|&n| n as usize).product::<usize>())
                .sum(),
        }
    }

    /// The candidate with a change; `None` if edits overlap.
    pub(super) fn apply_change(&self, change: &Change) -> Option<Self> {
        let text = if change.edits.is_empty() {
            Arc::clone(&self.text)
        } else {
            apply_edits(&self.text, &change.edits)?.into()
        };
        Some(Self {
            frame: Arc::clone(&self.frame),
            text,
            storages: change.storages.clone().unwrap_or_else(|| self.storages.clone()),
            launches: change.launches.clone().unwrap_or_else(|| self.launches.clone()),
        })
    }

    /// A key, which is the same for equal candidates.
    pub(super) fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        for held in &self.storages {
            (&held.name, held.dtype, &held.shape).hash(&mut hasher);
            match &held.content {
                Content::Own(own) => own.hash(&mut hasher),
                Content::Arange => 1.hash(&mut hasher),
                Content::Ones => 2.hash(&mut hasher),
                Content::Zeros => 3.hash(&mut hasher),
            }
        }
        for launch in &self.launches {
            (
                &launch.kernel.name,
                launch.grid,
                launch.grid_dims,
                launch.host.is_some(),
            )
                .hash(&mut hasher);
            let values = (&launch.positional, &launch.keyword, &launch.options);
            format!("{values:?}").hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The candidate with a different description.
    #[must_use]
    pub fn with_description(mut self, about: String, origin: Option<String>) -> Self {
        let frame = Arc::make_mut(&mut self.frame);
        frame.summary = about;
        frame.origin = origin;
        self
    }

    /// Whether its text still calls a function of this name.
    pub fn has_call(&self, name: &str) -> bool {
        Tree::parse(&self.text).is_some_and(|tree| {
            tree.all_expressions().iter().any(|expr| match expr {
                ruff_python_ast::Expr::Call(call) => find_callee(call) == Some(name),
                _ => false,
            })
        })
    }

    /// The dtype that a pointer argument of a kernel has, by its parameter.
    pub(super) fn find_pointee(&self, parameter: &str) -> Option<DType> {
        self.launches
            .iter()
            .flat_map(Launch::arguments)
            .find_map(|(name, arg)| match &arg.value {
                ArgValue::Tensor { tensor, .. } if name == Some(parameter) => Some(tensor.dtype),
                _ => None,
            })
    }
}

/// The dtype that some view has of a storage.
fn find_view_dtype(case: &Case, at: usize) -> Option<DType> {
    let values = case.launches.iter().flat_map(Launch::arguments);
    values
        .filter_map(|(_, arg)| match &arg.value {
            ArgValue::Tensor { tensor, .. } => Some(tensor),
            _ => None,
        })
        .find(|tensor| tensor.storage.0 as usize == at)
        .map(|tensor| tensor.dtype)
}

/// Gives what is given by position by name, where a name is known and may be used.
fn by_name(launch: &mut Launch) {
    let Some(function) = launch.kernel.function() else {
        return;
    };
    let plain = function
        .parameters
        .iter()
        .all(|one| one.kind == cerith_module::ParameterKind::PositionalOrKeyword);
    if !plain || launch.positional.len() > function.parameters.len() {
        return;
    }
    let names: Vec<String> = function.parameters.iter().map(|one| one.name.clone()).collect();
    let positional = std::mem::take(&mut launch.positional);
    let named = names.into_iter().zip(positional);
    launch.keyword.splice(0..0, named);
}

/// The text without runs of blank lines and without blank lines at its ends.
pub(super) fn squeeze_blank_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines() {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        if blank > 0 && !out.is_empty() {
            let top = !line.starts_with([' ', '\t']);
            out.push_str(if top { "\n\n" } else { "" });
        }
        blank = 0;
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The text after replacements; `None` if they overlap.
fn apply_edits(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        let range = edit.range.start().to_usize()..edit.range.end().to_usize();
        out.push_str(text.get(at..range.start)?);
        out.push_str(&edit.text);
        at = range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}
