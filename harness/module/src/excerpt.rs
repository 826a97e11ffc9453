//! Extracts kernels from their package, with everything in it that they need: files in one folder that import nothing
//! else of the package, and can be loaded without installing the package or its dependencies.
//!
//! Only the needed statements of a module stay, on their lines ([`crate::piece`]). Imports of the package's own
//! modules, relative ones too, are rewritten to name the extracted files. A kernel keeps only those of Triton's
//! decorators that change what it computes: `jit`, and `heuristics`. A library's own decorators and autotuners only
//! decide how a kernel is launched; see [`mod@tuning`] for those.
//!
//! The caller reads the files. Imports inside of functions are not followed.

mod alias;
mod branches;
mod decorators;
mod imports;
mod joined;
pub mod tuning;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceFile, Sources};
use ruff_python_ast::{ModModule, PySourceType, Stmt};
use ruff_python_parser::Parsed;

pub use self::alias::rename_jit;
pub use self::branches::is_elsewhere;
pub use self::decorators::{
    is_autotune, is_gluon, is_heuristics, is_jit, is_kernel, is_static_kernel, strip_arguments,
};
pub use self::imports::visit_bodies;
use self::imports::{Alias, Import, ImportedItem, imports_of};
pub use self::joined::{Joined, join_modules};
use crate::dependency::{blank_lines, find_needed_pieces, lines_of};
use crate::module;
use crate::piece::{Piece, read_pieces};

/// More modules than this are not followed.
const MODULES_MOST: usize = 256;

/// Packages that are never split: engines have them, or support them directly.
const FOREIGN: [&str; 4] = ["triton", "torch", "numpy", "math"];

/// Modules of these packages that have kernels' functions: the helpers of `TorchInductor`. They are followed if there is a text of them.
const KERNEL_MODULES: [&str; 2] = [
    "torch._inductor.runtime.triton_helpers",
    "torch._inductor.triton_helpers",
];

/// Reads a module of a package by its path from the folder that imports start from, with `/` between folders; `None`
/// if there is no such file.
pub type Read<'r> = dyn Fn(&str) -> Option<String> + 'r;

/// A file of an excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name beside the other files: `softmax.py`, `fla_ops_utils.py`.
    pub path: String,
    /// The file that it was taken from, as [`Read`] names it.
    pub origin: String,
    /// The extracted text, each line at its original line number.
    pub text: String,
}

/// Extracts functions from a module: returns the module first, then the others that they need. `flat` is the new name
/// of the module.
///
/// # Errors
/// A module that is needed has a syntax error, with the path of that module.
pub fn extract_functions(
    main: &str,
    flat: &str,
    functions: &[&str],
    read: &Read<'_>,
) -> Result<Vec<Part>, (String, Vec<Diagnostic>)> {
    let mut package = Package {
        read,
        modules: BTreeMap::new(),
        absent: BTreeSet::new(),
        failed: None,
    };
    package.open(main);
    let names = functions.iter().map(|name| (*name).to_owned()).collect();
    package.request_names(main, names);
    if let Some(failed) = package.failed {
        return Err(failed);
    }
    Ok(package.into_parts(main, flat))
}

/// A module of the package that was read.
struct Member {
    /// The text without decorators that are not needed.
    full_text: String,
    /// The text after deciding conditions that depend on the machine, in favour of the requested names.
    text: String,
    parsed: Parsed<ModModule>,
    pieces: Vec<Piece>,
    imports: Vec<Import>,
    requested_names: BTreeSet<String>,
    kept_pieces: Vec<bool>,
}

impl Member {
    fn new(path: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut sources = Sources::default();
        let source = sources.add(SourceFile::new(path, text));
        // Neither too long nor too deep.
        module::parse(source, text)?;
        let whole = module::with_stack(text, || decorators::blank_decorators(text));
        let mut member = Self {
            text: String::new(),
            parsed: ruff_python_parser::parse_unchecked_source("", PySourceType::Python),
            pieces: Vec::new(),
            imports: Vec::new(),
            requested_names: BTreeSet::new(),
            kept_pieces: Vec::new(),
            full_text: whole,
        };
        member.decide();
        Ok(member)
    }

    /// Decides what depends on the machine, and finds what is kept then.
    fn decide(&mut self) {
        let Self {
            full_text: whole,
            requested_names: wanted,
            ..
        } = self;
        let edits = module::with_stack(whole, || {
            let parsed = ruff_python_parser::parse_unchecked_source(whole, PySourceType::Python);
            let body = &parsed.syntax().body;
            let is_wanted = |name: &str| wanted.iter().any(|one| one.rsplit('.').next() == Some(name));
            branches::decide_conditions(whole, body, &imports_of(body), &is_wanted)
        });
        // Every edit leaves as many lines as there were.
        self.text = apply_edits(whole, edits);
        let text = &self.text;
        (self.parsed, self.pieces, self.imports) = module::with_stack(text, || {
            let parsed = ruff_python_parser::parse_unchecked_source(text, PySourceType::Python);
            let pieces = read_pieces(&parsed.syntax().body);
            let imports = imports_of(&parsed.syntax().body);
            (parsed, pieces, imports)
        });
        self.kept_pieces = if self.requested_names.is_empty() {
            vec![false; self.pieces.len()]
        } else {
            find_needed_pieces(
                &self.pieces,
                text,
                self.requested_names.iter().map(String::as_str),
            )
        };
    }

    fn body(&self) -> &[Stmt] {
        &self.parsed.syntax().body
    }

    fn is_kept(&self, range: &Range<usize>) -> bool {
        let holds = |piece: &Piece| piece.range.start <= range.start && range.end <= piece.range.end;
        self.pieces
            .iter()
            .zip(&self.kept_pieces)
            .any(|(piece, &kept)| kept && holds(piece))
    }

    /// Names that what is kept takes from the module, and those that others take.
    fn collect_needed_names(&self) -> BTreeSet<&str> {
        let kept = self
            .pieces
            .iter()
            .zip(&self.kept_pieces)
            .filter(|(_, kept)| **kept);
        kept.flat_map(|(piece, _)| &piece.takes)
            .chain(&self.requested_names)
            .map(String::as_str)
            .collect()
    }

    fn has_binding(&self, name: &str) -> bool {
        self.pieces
            .iter()
            .any(|piece| piece.binds.iter().any(|bound| bound == name))
    }

    /// Whether a name is one of Triton's, under any condition on its import.
    fn of_triton(&self, name: &str) -> Option<ImportedItem> {
        self.imports
            .iter()
            .flat_map(|import| &import.aliases)
            .find(|alias| alias.bound == name && alias.item.is_tritons())
            .map(|alias| alias.item.clone())
    }
}

struct Package<'r> {
    read: &'r Read<'r>,
    /// By path.
    modules: BTreeMap<String, Member>,
    /// Paths that are known not to be there.
    absent: BTreeSet<String>,
    failed: Option<(String, Vec<Diagnostic>)>,
}

/// The target of an import.
enum Target {
    /// A name of a module of the package.
    Name(String, String),
    /// A module of the package.
    Module(String),
    /// Something of Triton's, which the package hands on.
    Triton(ImportedItem),
    /// Something that is not in the package.
    Outside,
}

impl Package<'_> {
    /// Reads a module if it is there.
    fn open(&mut self, path: &str) -> bool {
        if self.modules.contains_key(path) {
            return true;
        }
        if self.absent.contains(path) || self.modules.len() >= MODULES_MOST {
            return false;
        }
        let Some(text) = (self.read)(path) else {
            self.absent.insert(path.to_owned());
            return false;
        };
        match Member::new(path, &text) {
            Ok(module) => {
                self.modules.insert(path.to_owned(), module);
                true
            }
            Err(problems) => {
                self.failed.get_or_insert((path.to_owned(), problems));
                self.absent.insert(path.to_owned());
                false
            }
        }
    }

    /// The file of a module by its dotted name, as the module at `from` imports it.
    fn file_of(&mut self, from: &str, dotted: &str) -> Option<String> {
        let first = dotted.split('.').next().unwrap_or_default();
        if first.is_empty() || FOREIGN.contains(&first) && !KERNEL_MODULES.contains(&dotted) {
            return None;
        }
        let path = dotted.replace('.', "/");
        let found = [format!("{path}.py"), format!("{path}/__init__.py")]
            .into_iter()
            .find(|path| self.open(path));
        if found.is_some() {
            return found;
        }
        // A package inside of another one, which puts it where imports find it.
        let inner = from.rfind(&format!("/{first}/"))?;
        let folder = from.get(..inner)?;
        [
            format!("{folder}/{path}.py"),
            format!("{folder}/{path}/__init__.py"),
        ]
        .into_iter()
        .find(|path| self.open(path))
    }

    /// Takes these names of a module, and all that they lead to.
    fn request_names(&mut self, path: &str, names: BTreeSet<String>) {
        let mut waiting = vec![(path.to_owned(), names)];
        while let Some((path, names)) = waiting.pop() {
            let Some(module) = self.modules.get_mut(&path) else {
                continue;
            };
            let before = module.requested_names.len();
            module.requested_names.extend(names);
            if module.requested_names.len() == before && module.kept_pieces.contains(&true) {
                continue;
            }
            module.decide();
            let mut more: Vec<(String, Alias)> = Vec::new();
            let taken = module.collect_needed_names();
            for import in module.imports.iter().filter(|one| module.is_kept(&one.range)) {
                for alias in &import.aliases {
                    if alias.is_star() {
                        let unbound = taken.iter().filter(|name| !module.has_binding(name));
                        more.extend(unbound.map(|name| ((*name).to_owned(), alias.clone())));
                    } else if taken.contains(alias.bound.as_str()) {
                        more.push((alias.bound.clone(), alias.clone()));
                    }
                }
            }
            for (name, alias) in more {
                match self.resolve_import(&path, &name, &alias) {
                    Target::Name(module, name) => waiting.push((module, BTreeSet::from([name]))),
                    Target::Module(module) => {
                        let names = self.collect_attributes(&path, &name, &module);
                        waiting.push((module, names));
                    }
                    Target::Triton(_) | Target::Outside => {}
                }
            }
        }
    }

    /// Resolves an import of the module at `path` under this name.
    fn resolve_import(&mut self, path: &str, name: &str, alias: &Alias) -> Target {
        let absolute = match alias.item.to_absolute(path) {
            Some(named) if !named.is_tritons() => named,
            _ => return Target::Outside,
        };
        match absolute {
            ImportedItem::Module(dotted) => match self.file_of(path, &dotted) {
                Some(file) => Target::Module(file),
                None => Target::Outside,
            },
            ImportedItem::From {
                module, name: asked, ..
            } => {
                let asked = if asked == "*" { name.to_owned() } else { asked };
                let file = self.file_of(path, &module);
                if let Some(file) = &file {
                    if let Some(named) = self.modules.get(file).and_then(|one| one.of_triton(&asked)) {
                        return Target::Triton(named);
                    }
                    if self.has_export(file, &asked, &mut BTreeSet::new()) {
                        return self.resolve_reexport(file, &asked);
                    }
                }
                match self.file_of(path, &format!("{module}.{asked}")) {
                    Some(file) => Target::Module(file),
                    None => Target::Outside,
                }
            }
        }
    }

    /// A name that a module gives: Triton's if it is handed on from there.
    fn resolve_reexport(&mut self, file: &str, name: &str) -> Target {
        let mut at = (file.to_owned(), name.to_owned());
        for _ in 0..8 {
            let alias = self.modules.get(&at.0).and_then(|module| {
                let mut aliases = module.imports.iter().flat_map(|import| &import.aliases);
                aliases.rfind(|alias| alias.bound == at.1).cloned()
            });
            let Some(ImportedItem::From { module, name, .. }) =
                alias.and_then(|alias| alias.item.to_absolute(&at.0))
            else {
                break;
            };
            let Some(next) = self.file_of(&at.0, &module) else {
                break;
            };
            if let Some(named) = self.modules.get(&next).and_then(|one| one.of_triton(&name)) {
                return Target::Triton(named);
            }
            at = (next, name);
        }
        Target::Name(file.to_owned(), name.to_owned())
    }

    /// Whether a module binds a name, by itself or by `from … import *`.
    fn has_export(&mut self, path: &str, name: &str, seen: &mut BTreeSet<String>) -> bool {
        if !seen.insert(path.to_owned()) {
            return false;
        }
        let Some(module) = self.modules.get(path) else {
            return false;
        };
        if module.has_binding(name) {
            return true;
        }
        let stars: Vec<ImportedItem> = (module.imports.iter().flat_map(|import| &import.aliases))
            .filter(|alias| alias.is_star())
            .filter_map(|alias| alias.item.to_absolute(path))
            .collect();
        stars.into_iter().any(|star| match star {
            ImportedItem::From { module, .. } => self
                .file_of(path, &module)
                .is_some_and(|file| self.has_export(&file, name, seen)),
            ImportedItem::Module(_) => false,
        })
    }

    /// The attributes of another module, imported as `name`, that the module at `path` uses; all names of the other
    /// module if that is unknown.
    fn collect_attributes(&self, path: &str, name: &str, other: &str) -> BTreeSet<String> {
        let all = || {
            let bound = self.modules.get(other).map(|module| {
                let binds = module.pieces.iter().flat_map(|piece| piece.binds.iter().cloned());
                binds.collect()
            });
            bound.unwrap_or_default()
        };
        let Some(module) = self.modules.get(path) else {
            return all();
        };
        module::with_stack(&module.text, || {
            imports::attributes_of(module.body(), name, &|range| module.is_kept(range))
        })
        .unwrap_or_else(all)
    }

    fn into_parts(mut self, main: &str, flat: &str) -> Vec<Part> {
        let mut names: BTreeMap<String, String> = BTreeMap::from([(main.to_owned(), flat.to_owned())]);
        let others: Vec<String> = self
            .modules
            .iter()
            .filter(|(path, module)| *path != main && module.kept_pieces.contains(&true))
            .map(|(path, _)| path.clone())
            .collect();
        for path in &others {
            let stem = path.trim_end_matches(".py").trim_end_matches("/__init__");
            let mut name = stem.replace('/', "_");
            while names.values().any(|known| *known == name) {
                name.push('_');
            }
            names.insert(path.clone(), name);
        }
        let all = std::iter::once(main.to_owned()).chain(others);
        all.filter_map(|path| {
            let text = self.text_of(&path, &names)?;
            Some(Part {
                path: format!("{}.py", names.get(&path)?),
                origin: path,
                text,
            })
        })
        .collect()
    }

    /// The kept text of a module, with imports that name the extracted files.
    fn text_of(&mut self, path: &str, names: &BTreeMap<String, String>) -> Option<String> {
        let module = self.modules.get(path)?;
        let taken: BTreeSet<String> = module
            .collect_needed_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let unbound: Vec<String> = taken
            .iter()
            .filter(|name| !module.has_binding(name))
            .cloned()
            .collect();
        let imports: Vec<Import> = (module.imports.iter())
            .filter(|one| module.is_kept(&one.range))
            .cloned()
            .collect();
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for import in imports {
            let mut said: Vec<String> = Vec::new();
            for alias in &import.aliases {
                let bound: Vec<&str> = if alias.is_star() {
                    unbound.iter().map(String::as_str).collect()
                } else if taken.contains(&alias.bound) || alias.item.is_preamble() {
                    vec![&alias.bound]
                } else {
                    Vec::new()
                };
                for bound in bound {
                    let target = self.resolve_import(path, bound, alias);
                    match target {
                        Target::Name(module, name) => match names.get(&module) {
                            Some(flat) => said.push(render_from_import(flat, &name, bound)),
                            None if alias.is_star() => {}
                            None => said.push(alias.render()),
                        },
                        Target::Module(module) if !alias.is_star() => match names.get(&module) {
                            Some(flat) => said.push(format!("import {flat} as {bound}")),
                            None => said.push(alias.render()),
                        },
                        Target::Triton(named) => said.push(named.render(bound)),
                        Target::Outside if !alias.is_star() => said.push(alias.render()),
                        Target::Module(_) | Target::Outside => {}
                    }
                }
                if alias.is_star() && self.is_outside(path, alias) {
                    said.push(alias.render());
                }
            }
            if said.is_empty() {
                said.push("pass".to_owned());
            }
            edits.push((import.range, said.join("; ")));
        }
        let module = self.modules.get(path)?;
        edits.retain(|(range, _)| module.is_kept(range));
        // Every edit leaves as many lines as there were.
        let lines = lines_of(&module.pieces, &module.text);
        Some(blank_lines(
            &lines,
            &apply_edits(&module.text, edits),
            &module.kept_pieces,
        ))
    }

    /// Whether a star is of a module that is not in the package.
    fn is_outside(&mut self, path: &str, alias: &Alias) -> bool {
        match alias.item.to_absolute(path) {
            Some(ImportedItem::From { module, .. }) => self.file_of(path, &module).is_none(),
            _ => true,
        }
    }
}

/// `from a import b as c`.
fn render_from_import(module: &str, name: &str, bound: &str) -> String {
    if name == bound {
        format!("from {module} import {name}")
    } else {
        format!("from {module} import {name} as {bound}")
    }
}

/// A text with other text in some places, and as many lines as before.
fn apply_edits(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in edits {
        let (Some(before), Some(old)) = (text.get(done..range.start), text.get(range.clone())) else {
            continue;
        };
        out.push_str(before);
        let lines = std::iter::repeat_n('\n', old.matches('\n').count());
        // A condition of several lines ends only after them.
        if matches!(new.as_str(), "True" | "False") && old.contains('\n') {
            out.push('(');
            out.push_str(&new);
            out.extend(lines);
            out.push(')');
        } else {
            out.push_str(&new);
            out.extend(lines);
        }
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}
