//! A case file as it is written: which keys there are, and what kind of thing each holds.
//! Left out: what becomes of it at a point of its matrix (`resolve`), and everything that needs other files (`corpus`).

mod argument;
mod compile;
mod expect;
mod found;
mod recorded;

use std::time::Duration;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::quirk::Quirks;
use cerith_tile::source::{SourceFile, SourceId, Span};

pub(crate) use self::argument::{ArgumentSchema, DescriptorSchema};
pub(crate) use self::compile::CompileSchema;
pub(crate) use self::recorded::RecordedSchema;
use crate::expectation::{EnginePattern, OutcomeKind, VerdictKind};
use crate::fill::{Fill, RecordedBytes, unknown_key};
use crate::found::Found;
use crate::matrix::{Matrix, identifier};
use crate::template::{Template, ValueTemplate};
use crate::variant::Axis;
use crate::versions::VersionRange;
use crate::yaml::{Key, Node, Yaml};
use cerith_python::nearest::suggestion;

/// A case file.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub about: String,
    /// The place of `about`, or of the file's beginning.
    pub span: Span,
    pub origin: Option<String>,
    pub found: Option<Found>,
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
    /// What storages hold at the end.
    pub gives: Vec<(Key, Fill)>,
    pub expect: Vec<ExpectSchema>,
}

/// What runs.
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

/// A launch.
#[derive(Clone, Debug)]
pub(crate) struct LaunchSchema {
    pub span: Span,
    /// Another kernel than the file's.
    pub kernel: Option<Template>,
    pub grid: ValueTemplate,
    pub positional: Vec<ArgumentSchema>,
    pub keyword: Vec<(Key, ArgumentSchema)>,
    pub options: Vec<(Key, ValueTemplate)>,
    /// The Python function that makes the launch.
    pub host: Option<Template>,
    pub unchecked: bool,
}

/// An expectation.
#[derive(Clone, Debug)]
pub(crate) struct ExpectSchema {
    pub span: Span,
    pub engines: Vec<EnginePattern>,
    pub versions: VersionRange,
    pub axes: Vec<Axis>,
    pub verdict: Option<VerdictKind>,
    pub outcome: Option<OutcomeKind>,
    pub message: Option<String>,
    pub when: Option<ValueTemplate>,
    pub quirks: Quirks,
    pub why: String,
    pub link: Option<String>,
}

const CASE_KEYS: [&str; 15] = [
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
    "expect",
];

/// Longest `timeout`, in seconds.
const MAX_TIMEOUT: f64 = 600.0;
const STORAGE_KEYS: [&str; 3] = ["dtype", "shape", "fill"];
const LAUNCH_KEYS: [&str; 6] = ["kernel", "grid", "args", "options", "host", "unchecked"];
const EXPECT_KEYS: [&str; 10] = [
    "engine", "versions", "when", "axis", "verdict", "outcome", "message", "quirk", "why", "link",
];

/// The launch options that some Triton version knows (`CUDAOptions` of 3.0.0 to 3.9.0).
pub(crate) const OPTIONS: [&str; 24] = [
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "debug",
    "enable_fp_fusion",
    "enable_reflect_ftz",
    "launch_cooperative_grid",
    "launch_pdl",
    "cluster_dims",
    "sanitize_overflow",
    "default_dot_input_precision",
    "allowed_dot_input_precisions",
    "max_num_imprecise_acc_default",
    "allow_fp8e4nv",
    "allow_fp8e4b15",
    "supported_fp8_dtypes",
    "instrumentation_mode",
    "fpsan_homomorphic_casts",
    "extern_libs",
    "ptx_version",
    "ptx_options",
    "ir_override",
    "num_consumer_groups",
];

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
        let top = reader.fields(&root, "a case file", &CASE_KEYS)?;
        let start = Span::new(source, root.span.start, root.span.start);
        let about = reader
            .need(
                &top,
                "about",
                "a case file",
                start,
                "say in a sentence what the case shows",
            )
            .map(|node| (reader.text(node, "about").unwrap_or_default(), node.span));
        let program = match (top.get("kernel"), top.get("import")) {
            (Some(kernel), None) => reader.template(kernel, "kernel").map(Program::Kernel),
            (None, Some(import)) => reader.template(import, "import").map(Program::Import),
            (None, None) => {
                reader.problems.push(
                    Diagnostic::error("missing-key", start, "a case file without `kernel`")
                        .help("name the file and the function: `kernel: add_one.py:add_one_kernel`, or a module to `import`"),
                );
                None
            }
            (Some(kernel), Some(import)) => {
                reader.problems.push(
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
        };
        let origin = top.get("origin").and_then(|node| reader.text(node, "origin"));
        let found = top.get("found").and_then(|node| reader.found(node));
        let matrix = top
            .get("matrix")
            .map_or_else(Matrix::none, |node| Matrix::parse(node, reader.problems));
        let storages = reader.storages(top.get("storages"));
        let tensors = reader.tensors(top.get("tensors"));
        reader.unique(&matrix, &storages, &tensors);
        let import = top.get("import").is_some() && top.get("kernel").is_none();
        let launches = match top.get("launches") {
            Some(node) => reader.launches(node, import),
            None if import => Vec::new(),
            None => {
                reader.problems.push(
                    Diagnostic::error("missing-key", start, "a case file without `launches`")
                        .help("write `launches: [{ grid: [1], args: { … } }]`"),
                );
                Vec::new()
            }
        };
        let compile = top.get("compile").and_then(|node| reader.compile(node));
        let timeout = top
            .get("timeout")
            .and_then(|node| reader.seconds(node, "timeout"));
        let inspectable = reader.flag(top.get("inspectable"), "inspectable", true);
        let recorded = top.get("recorded").and_then(|node| reader.recorded(node));
        let wanted = "a mapping of storages to what they hold, such as `{ out: [1, 2, 3] }`";
        let gives = reader
            .pairs(top.get("gives"), "gives", wanted)
            .iter()
            .filter_map(|(key, node)| Some((key.clone(), Fill::parse(node, reader.problems)?)))
            .collect();
        let expect = reader
            .list(top.get("expect"), "expect")
            .iter()
            .filter_map(|node| reader.expect(node))
            .collect();
        let (about, span) = about?;
        Some(Self {
            about,
            span,
            origin,
            found,
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
            expect,
        })
    }
}

impl Schema {
    /// Everything in data archives that the file names.
    pub fn recorded_bytes(&self) -> impl Iterator<Item = &RecordedBytes> {
        let before = self.storages.iter().filter_map(|storage| match &storage.fill {
            Some(Fill::Recorded(bytes)) => Some(bytes),
            _ => None,
        });
        let after = self
            .recorded
            .iter()
            .flat_map(|recorded| recorded.after.iter().flatten());
        before.chain(after.map(|(_, bytes)| bytes))
    }
}

/// The pairs of a mapping whose keys are known.
struct Fields<'n> {
    pairs: &'n [(Key, Node)],
}

impl<'n> Fields<'n> {
    fn get(&self, name: &str) -> Option<&'n Node> {
        self.pairs
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }
}

struct Reader<'a> {
    text: &'a str,
    problems: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str) {
        self.problems.push(
            Diagnostic::error(
                "wrong-type",
                node.span,
                format!("`{what}` is {}", node.value.kind()),
            )
            .help(format!("write {wanted}")),
        );
    }

    fn fields<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        let Yaml::Map(pairs) = &node.value else {
            self.problems.push(
                Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("{what} is {}", node.value.kind()),
                )
                .help(format!(
                    "write a mapping with the keys {}",
                    cerith_python::nearest::list(known)
                )),
            );
            return None;
        };
        for (key, _) in pairs
            .iter()
            .filter(|(key, _)| !known.contains(&key.name.as_str()))
        {
            self.problems.push(unknown_key(key, what, known));
        }
        Some(Fields { pairs })
    }

    fn need<'n>(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        what: &str,
        span: Span,
        help: &str,
    ) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() {
            self.problems
                .push(Diagnostic::error("missing-key", span, format!("{what} without `{key}`")).help(help));
        }
        found
    }

    /// Text that is no expression. A number is taken as it is written.
    fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.value {
            Yaml::Str(text) if !text.trim().is_empty() => Some(text.clone()),
            Yaml::Int(_) | Yaml::Float(_) => self
                .text
                .get(node.span.start as usize..node.span.end as usize)
                .map(|text| text.trim().to_owned()),
            Yaml::Str(_) => {
                self.problems.push(Diagnostic::error(
                    "wrong-type",
                    node.span,
                    format!("`{what}` is empty"),
                ));
                None
            }
            _ => {
                self.wrong_type(node, what, "text");
                None
            }
        }
    }

    fn flag(&mut self, node: Option<&Node>, what: &str, default: bool) -> bool {
        match node.map(|node| (node, &node.value)) {
            None => default,
            Some((_, Yaml::Bool(value))) => *value,
            Some((node, _)) => {
                self.wrong_type(node, what, "`true` or `false`");
                default
            }
        }
    }

    fn seconds(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let seconds = match node.value {
            Yaml::Int(whole) => whole as f64,
            Yaml::Float(seconds) => seconds,
            _ => f64::NAN,
        };
        if !(seconds > 0.0 && seconds <= MAX_TIMEOUT) {
            self.problems.push(
                Diagnostic::error("wrong-type", node.span, format!("`{what}` is no time to wait"))
                    .help(format!("write seconds, more than 0 and up to {MAX_TIMEOUT}")),
            );
            return None;
        }
        Some(Duration::from_secs_f64(seconds))
    }

    fn template(&mut self, node: &Node, what: &str) -> Option<Template> {
        let Yaml::Str(text) = &node.value else {
            self.wrong_type(node, what, "text");
            return None;
        };
        Template::parse(text, node.span, node.text_at)
            .map_err(|problem| self.problems.push(problem))
            .ok()
    }

    fn value(&mut self, node: &Node) -> Option<ValueTemplate> {
        ValueTemplate::parse(node, self.problems)
    }

    fn pairs<'n>(&mut self, node: Option<&'n Node>, what: &str, wanted: &str) -> &'n [(Key, Node)] {
        match node.map(|node| (node, &node.value)) {
            None => &[],
            Some((_, Yaml::Map(pairs))) => pairs,
            Some((node, _)) => {
                self.wrong_type(node, what, wanted);
                &[]
            }
        }
    }

    fn list<'n>(&mut self, node: Option<&'n Node>, what: &str) -> &'n [Node] {
        match node.map(|node| (node, &node.value)) {
            None => &[],
            Some((_, Yaml::Seq(items))) => items,
            Some((node, _)) => {
                self.wrong_type(node, what, "a list");
                &[]
            }
        }
    }

    fn storages(&mut self, node: Option<&Node>) -> Vec<StorageSchema> {
        let pairs = self.pairs(
            node,
            "storages",
            "a mapping of names to `{ dtype: f32, shape: [4, 6], fill: arange }`",
        );
        let mut storages = Vec::with_capacity(pairs.len());
        for (key, node) in pairs {
            if let Err(problem) = identifier(key, "storage") {
                self.problems.push(problem);
            }
            let Some(fields) = self.fields(node, &format!("storage `{}`", key.name), &STORAGE_KEYS) else {
                continue;
            };
            let what = format!("storage `{}`", key.name);
            let dtype = self.need(&fields, "dtype", &what, key.span, "name one: `dtype: f32`");
            let dtype = dtype.and_then(|node| self.template(node, "dtype"));
            let shape = self.need(&fields, "shape", &what, key.span, "give it one: `shape: [4, 6]`");
            let shape = shape.and_then(|node| self.value(node));
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

    fn tensors(&mut self, node: Option<&Node>) -> Vec<(Key, ValueTemplate)> {
        let pairs = self.pairs(
            node,
            "tensors",
            "a mapping of names to expressions: `left: original[:, :2]`",
        );
        let mut tensors = Vec::with_capacity(pairs.len());
        for (key, node) in pairs {
            if let Err(problem) = identifier(key, "tensor") {
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
            tensors.extend(self.value(node).map(|value| (key.clone(), value)));
        }
        tensors
    }

    /// Variables, storages and tensors share one set of names.
    fn unique(&mut self, matrix: &Matrix, storages: &[StorageSchema], tensors: &[(Key, ValueTemplate)]) {
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

    fn launches(&mut self, node: &Node, import: bool) -> Vec<LaunchSchema> {
        let items = self.list(Some(node), "launches");
        if items.is_empty() && matches!(node.value, Yaml::Seq(_)) && !import {
            self.problems.push(
                Diagnostic::error("missing-key", node.span, "a kernel that is never launched")
                    .help("add a launch, or `import` the module instead of naming a kernel"),
            );
        }
        items
            .iter()
            .filter_map(|node| self.launch(node, import))
            .collect()
    }

    fn launch(&mut self, node: &Node, import: bool) -> Option<LaunchSchema> {
        let fields = self.fields(node, "a launch", &LAUNCH_KEYS)?;
        let start = Span {
            end: node.span.start,
            ..node.span
        };
        let grid = self.need(
            &fields,
            "grid",
            "a launch",
            start,
            "give the number of programs: `grid: [1]`",
        );
        let grid = grid.and_then(|node| self.value(node));
        let kernel = fields.get("kernel").map(|node| self.template(node, "kernel"));
        let host = fields.get("host").and_then(|node| self.template(node, "host"));
        if import && kernel.is_none() {
            self.problems.push(
                Diagnostic::error(
                    "missing-key",
                    start,
                    "a launch without `kernel` in a case file that imports a module",
                )
                .help("name the function to launch: `kernel: name`"),
            );
        }
        let (mut positional, mut keyword) = (Vec::new(), Vec::new());
        match fields.get("args").map(|node| (node, &node.value)) {
            None | Some((_, Yaml::Null)) => {}
            Some((_, Yaml::Map(pairs))) => self.keywords(pairs, &mut keyword),
            Some((_, Yaml::Seq(items))) => {
                for item in items {
                    match &item.value {
                        // A descriptor by position; `{ descriptor: x }` alone is an argument by name.
                        Yaml::Map(pairs) if is_argument(pairs) => {
                            positional.extend(self.argument(item));
                        }
                        Yaml::Map(pairs) => self.keywords(pairs, &mut keyword),
                        _ if !keyword.is_empty() => self.problems.push(
                            Diagnostic::error(
                                "wrong-type",
                                item.span,
                                "a positional argument behind keyword arguments",
                            )
                            .help("move it before them"),
                        ),
                        _ => positional.extend(self.argument(item)),
                    }
                }
            }
            Some((node, _)) => {
                self.wrong_type(
                    node,
                    "args",
                    "a mapping of parameters to values, or a list of values",
                );
            }
        }
        if let (Some(host), Some(first)) = (&host, positional.first()) {
            self.problems.push(
                Diagnostic::error(
                    "conflicting-keys",
                    first.span(),
                    "an argument by position in a launch that a host function makes",
                )
                .label(host.span, "the host function")
                .help("give every argument by name: `args: { x: x, out: out }`"),
            );
        }
        let unchecked = self.flag(fields.get("unchecked"), "unchecked", false);
        let mut options = Vec::new();
        for (key, node) in self.pairs(
            fields.get("options"),
            "options",
            "a mapping such as `{ num_warps: 4 }`",
        ) {
            if !unchecked && !OPTIONS.contains(&key.name.as_str()) {
                let mut problem = Diagnostic::error(
                    "unknown-option",
                    key.span,
                    format!("unknown launch option `{}`", key.name),
                )
                .note("`unchecked: true` on the launch passes it all the same");
                problem.help = suggestion(&key.name, OPTIONS);
                self.problems.push(problem);
            }
            options.extend(self.value(node).map(|value| (key.clone(), value)));
        }
        Some(LaunchSchema {
            span: node.span,
            kernel: kernel.flatten(),
            grid: grid?,
            positional,
            keyword,
            options,
            host,
            unchecked,
        })
    }

    fn keywords(&mut self, pairs: &[(Key, Node)], keyword: &mut Vec<(Key, ArgumentSchema)>) {
        for (key, node) in pairs {
            keyword.extend(self.argument(node).map(|value| (key.clone(), value)));
        }
    }
}

/// Whether a mapping in a list of arguments is an argument itself, not arguments by name. Parameters called
/// `global` and `constexpr` are passed in a mapping of all arguments.
fn is_argument(pairs: &[(Key, Node)]) -> bool {
    let has = |name: &str| pairs.iter().any(|(key, _)| key.name == name);
    has("descriptor") && has("block_shape") || pairs.len() == 1 && (has("global") || has("constexpr"))
}
