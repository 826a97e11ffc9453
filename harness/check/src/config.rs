//! The configuration of `cerith check`: `cerith.toml`, or `[tool.cerith]` in `pyproject.toml`.
//!
//! The file of a checkout is untrusted. It chooses no engine that starts Python, and it names no path outside of its folder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use cerith_engine::EngineId;
use cerith_files::Folder;
use cerith_python::nearest::suggest_spelling;
use cerith_report::describe;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceFile, SourceId, Sources, Span};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::code;
use super::conformance::{
    BadLike, LauncherEntry, Like, LikeSource, Rules, read_argument, read_contract, read_tolerance,
};
use super::error::ConfigError;

/// The most bytes of a configuration.
const MAX_CONFIG: u64 = 1 << 20;

/// The most entries of a list.
const MAX_ENTRIES: usize = 1000;

/// Names of the file, the preferred one first.
pub const NAMES: [&str; 2] = ["cerith.toml", "pyproject.toml"];

const KEYS: [&str; 9] = [
    "paths", "exclude", "engines", "timeout", "strict", "baseline", "kernel", "launcher", "ignore",
];
const KERNEL_KEYS: [&str; 2] = ["name", "requires"];
const LAUNCHER_KEYS: [&str; 7] = ["name", "like", "args", "accumulate", "tf32", "rtol", "atol"];
const IGNORE_KEYS: [&str; 4] = ["file", "kernel", "code", "reason"];

/// The configuration of a folder.
#[derive(Debug, Default)]
pub struct Config {
    /// The file as the user sees it; empty without a file.
    pub name: String,
    /// The folder that its paths start from.
    pub root: PathBuf,
    /// Files and folders to check if the command line names none.
    pub paths: Vec<String>,
    /// Files of folders that are not checked.
    pub exclude: Option<GlobSet>,
    /// The engines if the command line names none.
    pub engines: Vec<EngineId>,
    /// The most time for a kernel.
    pub timeout: Option<Duration>,
    /// Whether a kernel that is not judged is a failure.
    pub is_strict: bool,
    /// The file of known findings.
    pub baseline: Option<PathBuf>,
    /// Promises about kernels.
    pub kernels: Vec<KernelEntry>,
    /// Launchers with their reference functions, and their files from the configuration's folder.
    pub launchers: Vec<(String, LauncherEntry)>,
    /// Findings to ignore.
    pub ignores: Vec<IgnoreEntry>,
}

/// Promises about one kernel.
#[derive(Clone, Debug)]
pub struct KernelEntry {
    /// The kernel's file, from the configuration's folder.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Expressions that hold for each of its launches.
    pub requires: Vec<String>,
    /// `cerith.toml:12`.
    pub place: String,
}

/// A finding to ignore.
#[derive(Clone, Debug)]
pub struct IgnoreEntry {
    /// The files whose findings are meant.
    pub files: GlobSet,
    /// The kernel; all of the files' kernels without it.
    pub kernel: Option<String>,
    /// The code of the finding.
    pub code: String,
    /// Why it is ignored.
    pub reason: String,
}

/// Whether a configuration may be untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The user named it.
    Named,
    /// It was found in a checkout.
    Found,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    paths: Vec<Spanned<String>>,
    #[serde(default)]
    exclude: Vec<Spanned<String>>,
    #[serde(default)]
    engines: Vec<Spanned<String>>,
    timeout: Option<Spanned<u64>>,
    #[serde(default)]
    strict: bool,
    baseline: Option<Spanned<String>>,
    #[serde(default)]
    kernel: Vec<KernelTable>,
    #[serde(default)]
    launcher: Vec<LauncherTable>,
    #[serde(default)]
    ignore: Vec<IgnoreTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelTable {
    name: Spanned<String>,
    requires: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LauncherTable {
    name: Spanned<String>,
    like: Spanned<String>,
    #[serde(default)]
    args: BTreeMap<String, Spanned<String>>,
    accumulate: Option<Spanned<String>>,
    tf32: Option<bool>,
    rtol: Option<Spanned<f64>>,
    atol: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IgnoreTable {
    file: Spanned<String>,
    kernel: Option<String>,
    code: Spanned<String>,
    reason: Spanned<String>,
}

#[derive(Debug, Deserialize)]
struct Project {
    tool: Option<Tools>,
}

#[derive(Debug, Deserialize)]
struct Tools {
    cerith: Option<ConfigFile>,
}

impl Config {
    /// Reads the file that the user names. Its paths start from the current folder.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = cerith_files::read_text(path, MAX_CONFIG).map_err(|error| ConfigError::Read {
            name: name.clone(),
            error,
        })?;
        let is_project = path.file_name().is_some_and(|name| name == NAMES[1]);
        let config = parse(&name, &text, PathBuf::from("."), Trust::Named, is_project)?;
        config.ok_or(ConfigError::NoTable(name))
    }

    /// Reads the configuration of the current folder, or of the nearest folder above it in the same repository.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong.
    pub fn find() -> Result<Self, ConfigError> {
        Self::find_in(list_folders())
    }

    /// Reads the configuration of the current folder, and not of a folder above it.
    ///
    /// # Errors
    /// A file cannot be read, or is wrong.
    pub fn find_here() -> Result<Self, ConfigError> {
        Self::find_in(vec![PathBuf::from(".")])
    }

    fn find_in(folders: Vec<PathBuf>) -> Result<Self, ConfigError> {
        for folder in folders {
            for name in NAMES {
                let shown = folder.join(name);
                let shown = shown.strip_prefix(".").unwrap_or(&shown).display().to_string();
                let failed = |error| ConfigError::Read {
                    name: shown.clone(),
                    error,
                };
                let opened = Folder::open(&folder).map_err(failed)?;
                let is_project = name == NAMES[1];
                match opened.has_file(name) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    // A project's own file may be anything, as long as it has nothing for Cerith.
                    Err(_) if is_project => continue,
                    Err(error) => return Err(failed(error)),
                }
                // The folder was opened without following links.
                let text = cerith_files::read_text(folder.join(name), MAX_CONFIG).map_err(failed)?;
                if is_project && !text.contains("cerith") {
                    continue;
                }
                if let Some(config) = parse(&shown, &text, folder.clone(), Trust::Found, is_project)? {
                    return Ok(config);
                }
            }
        }
        Ok(Self::without_file())
    }

    /// The configuration without a file.
    pub fn without_file() -> Self {
        Self {
            root: PathBuf::from("."),
            ..Self::default()
        }
    }

    /// A path of the configuration, as the command line would name it.
    pub fn resolve(&self, path: &str) -> String {
        let path = self.root.join(path);
        path.strip_prefix(".").unwrap_or(&path).display().to_string()
    }

    /// A file's path from the configuration's folder, with `/` between folders. `None` if the file is elsewhere.
    pub fn find_relative(&self, file: &Path) -> Option<String> {
        let root = self.root.canonicalize().ok()?;
        let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        let path = folder.join(file.file_name()?);
        let parts = path.strip_prefix(root).ok()?.components();
        let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
        Some(parts?.join("/"))
    }

    /// Whether a file of a folder is not checked.
    pub fn is_excluded(&self, file: &Path) -> bool {
        let Some(exclude) = &self.exclude else {
            return false;
        };
        self.find_relative(file)
            .is_some_and(|path| exclude.is_match(path))
    }
}

/// The folders that may have a configuration: this one, and those above it up to the repository's own.
fn list_folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(".")];
    let Ok(here) = std::env::current_dir() else {
        return folders;
    };
    let user = rustix::process::geteuid().as_raw();
    let is_repository = |folder: &Path| {
        // Another user may have put a repository around this folder, into `/tmp` say.
        fs::symlink_metadata(folder.join(".git")).is_ok_and(|git| git.uid() == user)
    };
    let above: Vec<&Path> = here.ancestors().collect();
    if let Some(last) = above.iter().position(|folder| is_repository(folder)) {
        let others = above.iter().take(last + 1).skip(1);
        folders.extend(others.map(|folder| folder.to_path_buf()));
    }
    folders
}

/// Reads the text of a configuration. `None` if it is a project's file that has nothing for Cerith.
fn parse(
    name: &str,
    text: &str,
    root: PathBuf,
    trust: Trust,
    is_project: bool,
) -> Result<Option<Config>, ConfigError> {
    let mut sources = Sources::default();
    let source = sources.add(SourceFile::new(name, text));
    let reader = Reader {
        source,
        name,
        text,
        root,
        trust,
    };
    reader.read(is_project).map_err(|problems| {
        let shown = problems
            .iter()
            .map(|problem| describe::to_problem(problem, &sources).rendered);
        ConfigError::Broken(shown.collect::<Vec<_>>().join("\n"))
    })
}

struct Reader<'a> {
    source: SourceId,
    name: &'a str,
    text: &'a str,
    root: PathBuf,
    trust: Trust,
}

type Problems = Vec<Diagnostic>;

impl Reader<'_> {
    fn build_error(&self, range: std::ops::Range<usize>, message: impl Into<String>) -> Diagnostic {
        let span = Span::new(self.source, range.start as u32, range.end as u32);
        Diagnostic::error("bad-configuration", span, message)
    }

    fn describe_syntax_error(&self, error: &toml::de::Error) -> Problems {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        vec![self.build_error(error.span().unwrap_or(0..0), message)]
    }

    fn place(&self, byte: usize) -> String {
        let before = self.text.get(..byte).unwrap_or_default();
        format!("{}:{}", self.name, before.matches('\n').count() + 1)
    }

    fn read(self, is_project: bool) -> Result<Option<Config>, Problems> {
        let document = DeTable::parse(self.text).map_err(|error| self.describe_syntax_error(&error))?;
        let mut table = Some(document.get_ref());
        if is_project {
            for part in ["tool", "cerith"] {
                let inner = table.and_then(|table| table.get(part));
                table = inner.and_then(|value| value.get_ref().as_table());
            }
        }
        let Some(table) = table else { return Ok(None) };
        self.check_keys(table, &KEYS)?;
        for (key, known) in [
            ("kernel", &KERNEL_KEYS[..]),
            ("launcher", &LAUNCHER_KEYS[..]),
            ("ignore", &IGNORE_KEYS[..]),
        ] {
            let entries = table.get(key).and_then(|value| value.get_ref().as_array());
            for entry in entries.into_iter().flat_map(|entries| entries.iter()) {
                if let DeValue::Table(entry) = entry.get_ref() {
                    self.check_keys(entry, known)?;
                }
            }
        }
        let file = if is_project {
            let project: Project =
                toml::from_str(self.text).map_err(|error| self.describe_syntax_error(&error))?;
            project.tool.and_then(|tools| tools.cerith).unwrap_or_default()
        } else {
            toml::from_str(self.text).map_err(|error| self.describe_syntax_error(&error))?
        };
        let lengths = [
            file.paths.len(),
            file.exclude.len(),
            file.kernel.iter().map(|entry| entry.requires.len() + 1).sum(),
            file.launcher.len(),
            file.ignore.len(),
        ];
        if lengths.iter().any(|&length| length > MAX_ENTRIES) {
            let message = format!("a list of a configuration has at most {MAX_ENTRIES} entries");
            return Err(vec![self.build_error(0..0, message)]);
        }
        self.build(file).map(Some)
    }

    fn check_keys(&self, table: &DeTable<'_>, known: &[&str]) -> Result<(), Problems> {
        let is_unknown = |key: &&Spanned<_>| {
            let key: &std::borrow::Cow<'_, str> = key.get_ref();
            !known.contains(&&**key)
        };
        let unknown = table.keys().filter(is_unknown).map(|key| {
            let problem = self.build_error(key.span(), format!("unknown key `{}`", key.get_ref()));
            match suggest_spelling(key.get_ref(), known.iter().copied()) {
                Some(help) => problem.help(help),
                None => problem,
            }
        });
        let problems: Problems = unknown.collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }

    fn build(&self, file: ConfigFile) -> Result<Config, Problems> {
        let mut problems = Problems::new();
        let mut accept = |result: Result<(), Diagnostic>| problems.extend(result.err());
        for path in file.paths.iter().chain(&file.baseline) {
            accept(self.check_path(path));
        }
        let mut engines = Vec::new();
        for engine in &file.engines {
            accept(self.read_engine(engine).map(|id| engines.push(id)));
        }
        let mut exclude = GlobSetBuilder::new();
        for pattern in &file.exclude {
            accept(self.read_glob(pattern).map(|glob| {
                exclude.add(glob);
            }));
            // A folder includes its files.
            let inside = Spanned::new(
                pattern.span(),
                format!("{}/**", pattern.get_ref().trim_end_matches('/')),
            );
            accept(self.read_glob(&inside).map(|glob| {
                exclude.add(glob);
            }));
        }
        let mut kernels = Vec::new();
        for entry in &file.kernel {
            accept(self.read_kernel(entry).map(|entry| kernels.push(entry)));
        }
        let mut launchers = Vec::new();
        for entry in &file.launcher {
            accept(self.read_launcher(entry).map(|entry| launchers.push(entry)));
        }
        let mut ignores = Vec::new();
        for entry in &file.ignore {
            accept(self.read_ignore(entry).map(|entry| ignores.push(entry)));
        }
        if let Some(timeout) = file.timeout.as_ref().filter(|timeout| *timeout.get_ref() == 0) {
            accept(Err(
                self.build_error(timeout.span(), "`timeout` needs at least 1 second")
            ));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let exclude = exclude
            .build()
            .map_err(|error| vec![self.build_error(0..0, format!("`exclude` is too large: {error}"))])?;
        Ok(Config {
            name: self.name.to_owned(),
            paths: file.paths.into_iter().map(Spanned::into_inner).collect(),
            exclude: (!exclude.is_empty()).then_some(exclude),
            engines,
            timeout: file
                .timeout
                .map(|seconds| Duration::from_secs(seconds.into_inner())),
            is_strict: file.strict,
            baseline: file.baseline.map(|path| self.root.join(path.into_inner())),
            kernels,
            launchers,
            ignores,
            root: self.root.clone(),
        })
    }

    /// Refuses a path that may lead out of the configuration's folder.
    fn check_path(&self, path: &Spanned<String>) -> Result<(), Diagnostic> {
        let text = Path::new(path.get_ref());
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let bad = |message: &str| {
            let help = "write a path inside of the folder of this file";
            Err(self
                .build_error(path.span(), format!("`{}` {message}", path.get_ref()))
                .help(help))
        };
        if !text.components().all(is_inside) || path.get_ref().is_empty() {
            return bad("is not a path inside of this folder");
        }
        let mut whole = self.root.clone();
        for part in text.components() {
            whole.push(part);
            if fs::symlink_metadata(&whole).is_ok_and(|found| found.is_symlink()) {
                return bad("leads through a link");
            }
        }
        Ok(())
    }

    fn read_engine(&self, engine: &Spanned<String>) -> Result<EngineId, Diagnostic> {
        let id: EngineId = engine
            .get_ref()
            .parse()
            .map_err(|error: cerith_engine::BadEngineId| {
                let problem = self.build_error(engine.span(), error.reason);
                match error.suggestion {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None => problem,
                }
            })?;
        if self.trust == Trust::Found && id != EngineId::Reference {
            let message = format!("the configuration of a checkout can't start `{id}`, only `reference`");
            let help = format!("use `--engine {id}`, or name this file with `--config`");
            return Err(self.build_error(engine.span(), message).help(help));
        }
        Ok(id)
    }

    fn read_glob(&self, pattern: &Spanned<String>) -> Result<globset::Glob, Diagnostic> {
        let built = GlobBuilder::new(pattern.get_ref().trim_end_matches('/'))
            .literal_separator(true)
            .build();
        built.map_err(|error| self.build_error(pattern.span(), format!("bad pattern: {}", error.kind())))
    }

    /// The file and the function of `FILE.py:FUNCTION`.
    fn split_name<'a>(
        &self,
        name: &'a Spanned<String>,
        what: &str,
        example: &str,
    ) -> Result<(&'a str, &'a str), Diagnostic> {
        let text = name.get_ref();
        let parts = text
            .rsplit_once(':')
            .filter(|(file, function)| !file.is_empty() && !function.is_empty());
        let (file, function) = parts.ok_or_else(|| {
            self.build_error(name.span(), format!("`{text}` is not the name of {what}"))
                .help(format!("write the file and {example}"))
        })?;
        Ok((file.trim_start_matches("./"), function))
    }

    fn read_kernel(&self, entry: &KernelTable) -> Result<KernelEntry, Diagnostic> {
        let (file, kernel) = self.split_name(
            &entry.name,
            "a kernel",
            "the kernel: `kernels/matmul.py:matmul_kernel`",
        )?;
        Ok(KernelEntry {
            file: file.to_owned(),
            kernel: kernel.to_owned(),
            requires: entry.requires.iter().map(|one| one.get_ref().clone()).collect(),
            place: self.place(entry.name.span().start),
        })
    }

    fn read_launcher(&self, entry: &LauncherTable) -> Result<(String, LauncherEntry), Diagnostic> {
        let (file, launcher) = self.split_name(
            &entry.name,
            "a launcher",
            "the function: `kernels/softmax.py:softmax`",
        )?;
        let mut like: Like = entry
            .like
            .get_ref()
            .parse()
            .map_err(|error: BadLike| self.build_error(entry.like.span(), error.to_string()))?;
        if let LikeSource::File(path) = &mut like.source {
            self.check_path(&Spanned::new(entry.like.span(), path.display().to_string()))?;
            let whole = self.root.join(&*path);
            whole.strip_prefix(".").unwrap_or(&whole).clone_into(path);
        }
        let read = |(name, value): (&String, &Spanned<String>)| {
            let argument = read_argument(value.get_ref())
                .map_err(|error| self.build_error(value.span(), error.to_string()))?;
            Ok((name.clone(), argument))
        };
        let arguments = entry.args.iter().map(read).collect::<Result<_, Diagnostic>>()?;
        let tolerance = |number: &Option<Spanned<f64>>| {
            let Some(number) = number else { return Ok(None) };
            read_tolerance(&number.get_ref().to_string())
                .map(Some)
                .map_err(|error| self.build_error(number.span(), error.to_string()))
        };
        self.check_path(&Spanned::new(entry.name.span(), file.to_owned()))?;
        if !self.root.join(file).is_file() {
            let message = format!("there is no file `{file}`");
            return Err(self.build_error(entry.name.span(), message));
        }
        let defaults = Rules::default();
        let launcher = LauncherEntry {
            launcher: launcher.to_owned(),
            like,
            rules: Rules {
                accumulate: match &entry.accumulate {
                    Some(name) => read_contract(name.get_ref())
                        .map_err(|error| self.build_error(name.span(), error.to_string()))?,
                    None => defaults.accumulate,
                },
                tf32: entry.tf32.unwrap_or(defaults.tf32),
                rtol: tolerance(&entry.rtol)?,
                atol: tolerance(&entry.atol)?,
                seed: None,
            },
            arguments,
        };
        Ok((file.to_owned(), launcher))
    }

    fn read_ignore(&self, entry: &IgnoreTable) -> Result<IgnoreEntry, Diagnostic> {
        if entry.reason.get_ref().trim().is_empty() {
            let problem = self.build_error(entry.reason.span(), "`reason` is empty");
            return Err(problem.help("say why this finding is ignored"));
        }
        let name = entry.code.get_ref();
        if !code::is_known(name) {
            let problem = self.build_error(entry.code.span(), format!("no finding has the code `{name}`"));
            return Err(match code::suggest(name) {
                Some(help) => problem.help(help),
                None => problem,
            });
        }
        let files = GlobSet::builder().add(self.read_glob(&entry.file)?).build();
        let files = files.map_err(|error| self.build_error(entry.file.span(), error.to_string()))?;
        Ok(IgnoreEntry {
            files,
            kernel: entry.kernel.clone(),
            code: name.clone(),
            reason: entry.reason.get_ref().clone(),
        })
    }
}
