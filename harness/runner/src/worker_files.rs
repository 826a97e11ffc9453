//! The files of a corpus that workers may read: the modules that its cases execute, and the modules next to them that those
//! import. See `cerith-toolchain` for the enforcement.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cerith_case::{Corpus, MAX_TEXT};
use cerith_tile::source::SourceId;

/// Files that workers may read. Each is a rule for every worker that starts.
const MAX_FILES: usize = 10_000;

/// The folder of a corpus, and the files in it that workers may read.
#[derive(Clone, Debug)]
pub struct Readable {
    root: PathBuf,
    files: Vec<PathBuf>,
    generated: bool,
}

impl Readable {
    /// The modules of a corpus, and the modules beside them that they import.
    pub fn new(corpus: &Corpus, root: &Path) -> Self {
        let sources = corpus.sources();
        let modules = (0..).map_while(|number| sources.get(SourceId(number)));
        let modules = modules.map(|file| PathBuf::from(&file.name));
        let modules = modules.filter(|path| path.extension().is_some_and(|end| end == "py"));
        Self {
            root: root.to_owned(),
            files: find_imported_files(root, modules),
            generated: false,
        }
    }

    /// No files, for cases that Cerith generates. They import nothing, and may share a process.
    pub fn new_generated(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            files: Vec::new(),
            generated: true,
        }
    }

    /// Whether Cerith generated the cases.
    pub fn is_generated(&self) -> bool {
        self.generated
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// These modules and what they import, directly or through others, as far as it is in `root` and not hidden.
fn find_imported_files(root: &Path, modules: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else {
        return Vec::new();
    };
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<(PathBuf, PathBuf)> = modules
        .filter_map(|path| Some((path.parent()?.to_owned(), path)))
        .collect();
    while let Some((base, path)) = waiting.pop() {
        if found.len() >= MAX_FILES || !seen.insert((base.clone(), path.clone())) {
            continue;
        }
        let Some(real) = resolve_visible(&root, &path) else {
            continue;
        };
        let Ok(text) = cerith_files::read_text(&real, MAX_TEXT as u64) else {
            continue;
        };
        found.insert(real);
        let candidates = parse_imports(&text)
            .into_iter()
            .flat_map(|name| name.list_files(&base, &path));
        let files = candidates.filter(|file| file.is_file());
        waiting.extend(files.map(|file| (base.clone(), file)));
    }
    found.into_iter().collect()
}

/// The real path of a file in `root`, if neither it nor a folder around it is hidden.
fn resolve_visible(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let hidden = |part: &std::ffi::OsStr| part.as_encoded_bytes().starts_with(b".");
    let inside = real.strip_prefix(root).ok()?;
    let seen =
        !inside.iter().any(hidden) && real.is_file() && real.extension().is_some_and(|end| end == "py");
    seen.then_some(real)
}

/// A module that an import names.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    /// Leading dots.
    level: usize,
    parts: Vec<String>,
}

impl Name {
    fn read(text: &str) -> Self {
        let rest = text.trim_start_matches('.');
        let parts = rest.split('.').map(str::to_owned).filter(|part| !part.is_empty());
        Self {
            level: text.len() - rest.len(),
            parts: parts.collect(),
        }
    }

    /// The name of something in it.
    fn join(&self, name: &str) -> Self {
        let mut parts = self.parts.clone();
        parts.push(name.to_owned());
        Self {
            level: self.level,
            parts,
        }
    }

    /// The files that it may be or that Python executes for it, for an import in `file`, with modules looked up in `base`.
    fn list_files(&self, base: &Path, file: &Path) -> Vec<PathBuf> {
        let mut at = match self.level {
            0 => base.to_owned(),
            level => file.ancestors().nth(level).unwrap_or(base).to_owned(),
        };
        let mut files = vec![at.join("__init__.py")];
        for part in &self.parts {
            files.push(at.join(format!("{part}.py")));
            at.push(part);
            files.push(at.join("__init__.py"));
        }
        files
    }
}

/// The modules that a text's imports name, wherever they stand. It takes what looks like an import for one: a file too many can be
/// read then.
fn parse_imports(text: &str) -> Vec<Name> {
    let mut names = Vec::new();
    let statements = text.split(['\n', ';', ':']).map(str::trim_start);
    let mut rest = text;
    for statement in statements {
        // The offset of the statement in the text: names in parentheses may span lines.
        let start = statement.as_ptr() as usize - text.as_ptr() as usize;
        rest = text.get(start..).unwrap_or(rest);
        if let Some(list) = statement.strip_prefix("import ") {
            names.extend(list.split(',').filter_map(first_word).map(Name::read));
        } else if let Some(from) = statement.strip_prefix("from ")
            && let Some((module, list)) = from.split_once(" import")
        {
            let module = Name::read(module.trim());
            let list = if list.trim_start().starts_with('(') {
                rest.split_once('(').map_or("", |(_, inside)| inside)
            } else {
                list
            };
            let list = list.split(')').next().unwrap_or_default();
            let items = list
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default());
            let items = items.flat_map(|line| line.split(',')).filter_map(first_word);
            names.extend(items.map(|name| module.join(name)));
            names.push(module);
        }
    }
    // A host function may run a module as a program: `"program.py"`. It could import it as well.
    let quoted = text
        .split(['"', '\''])
        .filter_map(|part| part.strip_suffix(".py"));
    let is_name = |stem: &&str| stem.chars().all(|c| c.is_alphanumeric() || c == '_');
    names.extend(quoted.filter(is_name).map(Name::read));
    names
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parse_names(text: &str) -> Vec<String> {
        let mut names: Vec<String> = parse_imports(text)
            .into_iter()
            .map(|name| format!("{}{}", ".".repeat(name.level), name.parts.join(".")))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn imports_are_found_wherever_they_stand() {
        assert_eq!(parse_names("import a, b.c as d\n"), ["a", "b.c"]);
        assert_eq!(
            parse_names("def f():\n    from a.b import c as d, e\n"),
            ["a.b", "a.b.c", "a.b.e"]
        );
        assert_eq!(parse_names("try: import a; import b\nexcept: pass"), ["a", "b"]);
        assert_eq!(
            parse_names("from a import (b, # c\n  d,\n)\nimport e"),
            ["a", "a.b", "a.d", "e"]
        );
        assert_eq!(
            parse_names("from . import a\nfrom ..b import c"),
            [".", "..b", "..b.c", ".a"]
        );
        assert_eq!(parse_names("path = join(here, \"program.py\")"), ["program"]);
        assert_eq!(parse_names("important = 1\nx = 'from here to there'\n"), [""; 0]);
    }

    #[test]
    fn only_what_is_imported_is_readable() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there").join("root");
        for path in ["root/.git", "root/p/q", "root/.hidden"] {
            fs::create_dir_all(folder.path().join(path)).expect("made");
        }
        for (path, text) in [
            (
                "root/k.py",
                "import a, secret\nfrom p import q\nimport outside, pipe",
            ),
            ("root/a.py", "def f(): import b"),
            ("root/b.py", "import a"),
            ("root/other.py", ""),
            ("root/.env", ""),
            ("root/.hidden/k.py", ""),
            ("root/p/__init__.py", "from .r import x"),
            ("root/p/r.py", ""),
            ("root/p/s.py", ""),
            ("root/p/q/__init__.py", ""),
            ("outside.py", ""),
        ] {
            fs::write(folder.path().join(path), text).expect("written");
        }
        std::os::unix::fs::symlink("../outside.py", root.join("outside.py")).expect("linked");
        std::os::unix::fs::symlink(".hidden/k.py", root.join("secret.py")).expect("linked");
        let found = find_imported_files(&root, std::iter::once(root.join("k.py")));
        let found: Vec<_> = found
            .iter()
            .map(|path| path.strip_prefix(&root).expect("inside"))
            .collect();
        let expected = [
            "a.py",
            "b.py",
            "k.py",
            "p/__init__.py",
            "p/q/__init__.py",
            "p/r.py",
        ];
        assert_eq!(found, expected.map(Path::new));
    }
}
