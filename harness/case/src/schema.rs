//! A case file as it is written: its keys, and the kind of value of each. See `resolve` for its meaning at a point of
//! its matrix, and `corpus` for everything that needs other files.

mod argument;
mod compile;
mod discovery;
mod expect;
mod launch;
mod reader;
mod recorded;

use std::time::Duration;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceFile, SourceId, Span};

pub(crate) use self::argument::{ArgumentSchema, DESCRIPTOR_KEYS, DescriptorSchema};
pub(crate) use self::compile::{COMPILE_KEYS, CompileSchema};
pub(crate) use self::discovery::{FOUND_KEYS, NEW};
pub(crate) use self::expect::{EXPECT_KEYS, ExpectSchema};
pub(crate) use self::launch::{LAUNCH_KEYS, LaunchSchema, OPTIONS};
pub(crate) use self::reader::MAX_TIMEOUT;
use self::reader::{Fields, Reader};
pub(crate) use self::recorded::{RAISED_KEYS, RECORDED_KEYS, RecordedSchema};
use crate::discovery::Discovery;
use crate::fill::{Fill, RecordedBytes};
use crate::like::Like;
use crate::matrix::{Matrix, check_identifier};
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};
use cerith_expression::Names;

/// A case file.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub summary: String,
    /// The place of `about`, or of the file's beginning.
    pub span: Span,
    pub origin: Option<String>,
    pub discovery: Option<Discovery>,
    pub program: Program,
    /// Whether Triton's interpreter can see the kernels' text.
    pub inspectable: bool,
    pub matrix: Matrix,
    pub storages: Vec<StorageSchema>,
    pub tensors: Vec<(Key, ValueTemplate)>,
    pub launches: Vec<LaunchSchema>,
    pub compile: Option<CompileSchema>,
    pub timeout: Option<Duration>,
    pub recorded: Option<RecordedSchema>,
    /// Expected contents of storages at the end.
    pub gives: Vec<(Key, Fill)>,
    /// The reference function, and its place.
    pub like: Option<(Like, Span)>,
    pub expect: Vec<ExpectSchema>,
}

/// The program that runs.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// `kernel: file.py:name`.
    Kernel(Template),
    /// `import: file.py`.
    Import(Template),
}

/// A storage.
#[derive(Clone, Debug)]
pub(crate) struct StorageSchema {
    pub key: Key,
    pub dtype: Template,
    pub shape: ValueTemplate,
    pub fill: Option<Fill>,
}

pub(crate) const CASE_KEYS: [&str; 16] = [
    "about",
    "origin",
    "found",
    "kernel",
    "import",
    "inspectable",
    "matrix",
    "storages",
    "tensors",
    "launches",
    "compile",
    "timeout",
    "recorded",
    "gives",
    "like",
    "expect",
];

pub(crate) const STORAGE_KEYS: [&str; 3] = ["dtype", "shape", "fill"];
impl Schema {
    /// Reads a file. Everything that is wrong with it goes to `problems`; what comes back is usable only when nothing
    /// did.
    pub fn parse(source: SourceId, file: &SourceFile, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let root = match crate::yaml::parse(source, &file.text) {
            Ok(root) => root,
            Err(problem) => {
                problems.push(problem);
                return None;
            }
        };
        let mut reader = Reader {
            text: &file.text,
            problems,
        };
        let top = reader.parse_fields(&root, "a case file", &CASE_KEYS)?;
        let start = Span::new(source, root.span.start, root.span.start);
        let about = reader
            .require_field(
                &top,
                "about",
                "a case file",
                start,
                "say in a sentence what the case shows",
            )
            .map(|node| (reader.parse_text(node, "about").unwrap_or_default(), node.span));
        let program = reader.parse_program(&top, start);
        let origin = top
            .get("origin")
            .and_then(|node| reader.parse_text(node, "origin"));
        let found = top.get("found").and_then(|node| reader.parse_discovery(node));
        let matrix = top.get("matrix").map_or_else(Matrix::without_variables, |node| {
            Matrix::parse(node, reader.problems)
        });
        let storages = reader.parse_storages(top.get("storages"));
        let tensors = reader.parse_tensors(top.get("tensors"));
        reader.check_unique_names(&matrix, &storages, &tensors);
        let import = top.get("import").is_some() && top.get("kernel").is_none();
        let launches = reader.all_launches(&top, start, import);
        let compile = top.get("compile").and_then(|node| reader.parse_compile(node));
        let timeout = top
            .get("timeout")
            .and_then(|node| reader.parse_seconds(node, "timeout"));
        let inspectable = reader.parse_flag(top.get("inspectable"), "inspectable", true);
        let recorded = top.get("recorded").and_then(|node| reader.parse_recorded(node));
        let wanted = "a mapping of storages to their contents, such as `{ out: [1, 2, 3] }`";
        let gives = reader
            .parse_pairs(top.get("gives"), "gives", wanted)
            .iter()
            .filter_map(|(key, node)| Some((key.clone(), Fill::parse(node, reader.problems)?)))
            .collect();
        let like = top.get("like").and_then(|node| reader.parse_like(node));
        let expect = reader
            .parse_list(top.get("expect"), "expect")
            .iter()
            .filter_map(|node| reader.parse_expectation(node))
            .collect();
        let (about, span) = about?;
        Some(Self {
            summary: about,
            span,
            origin,
            discovery: found,
            program: program?,
            inspectable,
            matrix,
            storages,
            tensors,
            launches,
            compile,
            timeout,
            recorded,
            gives,
            like,
            expect,
        })
    }
}

impl Schema {
    /// Everything in data archives that the file names.
    pub fn recorded_bytes(&self) -> impl Iterator<Item = &RecordedBytes> {
        let before = self.storages.iter().filter_map(|storage| match &storage.fill {
            Some(Fill::RecordedRun(bytes)) => Some(bytes),
            _ => None,
        });
        let after = self
            .recorded
            .iter()
            .flat_map(|recorded| recorded.after.iter().flatten());
        before.chain(after.map(|(_, bytes)| bytes))
    }
}

impl Reader<'_> {
    fn parse_program(&mut self, top: &Fields<'_>, start: Span) -> Option<Program> {
        match (top.get("kernel"), top.get("import")) {
            (Some(kernel), None) => self.parse_template(kernel, "kernel").map(Program::Kernel),
            (None, Some(import)) => self.parse_template(import, "import").map(Program::Import),
            (None, None) => {
                self.problems.push(
                    Diagnostic::error("missing-key", start, "a case file without `kernel`")
                        .help("name the file and the function: `kernel: add_one.py:add_one_kernel`, or a module to `import`"),
                );
                None
            }
            (Some(kernel), Some(import)) => {
                self.problems.push(
                    Diagnostic::error(
                        "conflicting-keys",
                        import.span,
                        "`kernel` and `import` in one case file",
                    )
                    .label(kernel.span, "the kernel")
                    .help("a kernel's module is imported anyway: leave `import` out"),
                );
                None
            }
        }
    }

    fn parse_like(&mut self, node: &Node) -> Option<(Like, Span)> {
        let text = self.parse_text(node, "like")?;
        if let Ok(like) = text.parse() {
            return Some((like, node.span));
        }
        let problem = Diagnostic::error("bad-like", node.span, format!("`{text}` names no function"));
        self.problems.push(problem.help(
            "name a file and a function of it, `ref.py:softmax`, or a function of a module, `torch.softmax`",
        ));
        None
    }

    /// The launches of a file; one that only imports a module needs none.
    fn all_launches(&mut self, top: &Fields<'_>, start: Span, import: bool) -> Vec<LaunchSchema> {
        match top.get("launches") {
            Some(node) => self.parse_launches(node, import),
            None if import => Vec::new(),
            None => {
                self.problems.push(
                    Diagnostic::error("missing-key", start, "a case file without `launches`")
                        .help("write `launches: [{ grid: [1], args: { … } }]`"),
                );
                Vec::new()
            }
        }
    }

    fn parse_storages(&mut self, node: Option<&Node>) -> Vec<StorageSchema> {
        let pairs = self.parse_pairs(
            node,
            "storages",
            "a mapping of names to `{ dtype: f32, shape: [4, 6], fill: arange }`",
        );
        let mut storages = Vec::with_capacity(pairs.len());
        for (key, node) in pairs {
            if let Err(problem) = check_identifier(key, "storage") {
                self.problems.push(problem);
            }
            let Some(fields) = self.parse_fields(node, &format!("storage `{}`", key.name), &STORAGE_KEYS)
            else {
                continue;
            };
            let what = format!("storage `{}`", key.name);
            let dtype = self.require_field(&fields, "dtype", &what, key.span, "name one: `dtype: f32`");
            let dtype = dtype.and_then(|node| self.parse_template(node, "dtype"));
            let shape = self.require_field(&fields, "shape", &what, key.span, "give it one: `shape: [4, 6]`");
            let shape = shape.and_then(|node| self.parse_value(node));
            let fill = match fields.get("fill") {
                None => {
                    self.problems.push(
                        Diagnostic::error("missing-key", key.span, format!("{what} without `fill`")).help(
                            "say what it holds: `zeros`, `arange`, a list of values, or `uninit` for nothing",
                        ),
                    );
                    None
                }
                Some(node) => Fill::parse(node, self.problems),
            };
            if let (Some(dtype), Some(shape)) = (dtype, shape) {
                storages.push(StorageSchema {
                    key: key.clone(),
                    dtype,
                    shape,
                    fill,
                });
            }
        }
        storages
    }

    fn parse_tensors(&mut self, node: Option<&Node>) -> Vec<(Key, ValueTemplate)> {
        let pairs = self.parse_pairs(
            node,
            "tensors",
            "a mapping of names to expressions: `left: original[:, :2]`",
        );
        let mut tensors = Vec::with_capacity(pairs.len());
        for (key, node) in pairs {
            if let Err(problem) = check_identifier(key, "tensor") {
                self.problems.push(problem);
            }
            if !matches!(node.value, Yaml::Str(_)) {
                self.wrong_type(
                    node,
                    &key.name,
                    "an expression over the storages, such as `original[:, :2]`",
                );
                continue;
            }
            tensors.extend(self.parse_value(node).map(|value| (key.clone(), value)));
        }
        tensors
    }

    /// Variables, storages and tensors share one set of names.
    fn check_unique_names(
        &mut self,
        matrix: &Matrix,
        storages: &[StorageSchema],
        tensors: &[(Key, ValueTemplate)],
    ) {
        let names = (matrix.bound().map(|(name, span)| (name, span, "matrix variable")))
            .chain(
                storages
                    .iter()
                    .map(|storage| (storage.key.name.as_str(), storage.key.span, "storage")),
            )
            .chain(
                tensors
                    .iter()
                    .map(|(key, _)| (key.name.as_str(), key.span, "tensor")),
            );
        let mut seen: Vec<(&str, Span, &str)> = Vec::new();
        for (name, span, what) in names {
            if let Some((_, first, kind)) = seen.iter().find(|(other, ..)| *other == name) {
                self.problems.push(
                    Diagnostic::error(
                        "duplicate-name",
                        span,
                        format!("{what} `{name}` has the name of a {kind}"),
                    )
                    .label(*first, "here first")
                    .help("rename one: expressions could not tell them apart"),
                );
            }
            seen.push((name, span, what));
        }
    }
}

impl Program {
    /// The text that names it.
    pub(crate) fn template(&self) -> &Template {
        match self {
            Self::Kernel(template) | Self::Import(template) => template,
        }
    }
}

impl Schema {
    /// `file.py:function` of a launch at a point.
    pub(crate) fn kernel_text(&self, launch: &LaunchSchema, names: &Names) -> Result<String, Diagnostic> {
        let program = self.program.template().render(names)?;
        let Some(own) = &launch.kernel else {
            return Ok(program.into_owned());
        };
        self.function_text(own, names)
    }

    /// `file.py:function` of a launch's host function at a point.
    pub(crate) fn host_text(
        &self,
        launch: &LaunchSchema,
        names: &Names,
    ) -> Result<Option<String>, Diagnostic> {
        let host = launch.host.as_ref();
        host.map(|template| self.function_text(template, names))
            .transpose()
    }

    /// `file.py:function` of a launch's `kernel` or `host`, which may leave out the file.
    fn function_text(&self, template: &Template, names: &Names) -> Result<String, Diagnostic> {
        let own = template.render(names)?;
        if own.contains(':') {
            return Ok(own.into_owned());
        }
        let program = self.program.template().render(names)?;
        let file = program.rsplit_once(':').map_or(&*program, |(file, _)| file);
        Ok(format!("{file}:{own}"))
    }
}
