//! Kernels: the Python modules of the corpus and the functions in them, as far as a launch needs them. See
//! `cerith-frontend` for a kernel's computation.

use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::{SourceFile, SourceId, Span};

use crate::piece::{Piece, find_reachable};

/// A Python file of the corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The path from the corpus root, with `/` between folders: `layout/add_one.py`.
    pub path: String,
    /// The text; its name is the path as a user would write it.
    pub file: Arc<SourceFile>,
    /// The file's id in the corpus' [`Sources`](cerith_tile::source::Sources).
    pub source: SourceId,
    /// Every function, in the order of the file; functions inside of functions have dotted names (`make.kernel`).
    pub functions: Vec<Function>,
    /// The top-level statements, in order.
    pub pieces: Vec<Piece>,
    /// Modules of the corpus that this one imports, directly or through others, by the name that `import` uses
    /// (`helpers` for `helpers.py` beside it), sorted by name. A file is never in its own list.
    pub imports: Vec<(String, Arc<SourceFile>)>,
}

impl Module {
    /// A module that is not a file of a corpus, for example generated text. It imports no modules of a corpus.
    ///
    /// # Errors
    /// Errors in its syntax.
    pub fn from_text(name: impl Into<String>, text: impl Into<Arc<str>>) -> Result<Self, Vec<Diagnostic>> {
        let source = SourceId(0);
        let file = SourceFile::new(name, text);
        let contents = crate::module::parse(source, &file.text)?;
        Ok(Self {
            path: file.name.clone(),
            file: Arc::new(file),
            source,
            functions: contents.functions,
            pieces: contents.pieces,
            imports: Vec::new(),
        })
    }
}

/// A function of a module. Its decorators state four facts that do not exclude each other.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name, dotted when the function is inside of another one.
    pub name: String,
    /// The name in the `def`.
    pub span: Span,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Whether `@triton.jit` (or `@jit`, `@triton.jit(…)`) is on it.
    pub jit: bool,
    /// Whether `@triton.autotune(…)` is on it.
    pub autotune: bool,
    /// Whether `@triton.heuristics(…)` is on it.
    pub heuristics: bool,
    /// Parameters that autotune configurations or heuristics give, where those are written as literals.
    pub given_by_decorators: Vec<String>,
    /// Whether `given_by_decorators` is certain: no autotuner's configurations or heuristics came from a variable.
    pub decorators_are_literal: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// How it takes arguments.
    pub kind: ParameterKind,
    /// Whether it is annotated `tl.constexpr`.
    pub constexpr: bool,
    /// The annotation's text.
    pub annotation: Option<String>,
    /// The default value's text.
    pub default: Option<String>,
    /// Where its name is.
    pub span: Span,
}

/// How a parameter takes arguments, as Python's `inspect` calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// Before a `/`.
    PositionalOnly,
    /// An ordinary one.
    PositionalOrKeyword,
    /// `*args`.
    VarPositional,
    /// Behind a `*`.
    KeywordOnly,
    /// `**kwargs`.
    VarKeyword,
}

/// A function that a launch names: its kernel, or the host function that makes the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The file that defines it.
    pub module: Arc<Module>,
    /// The function's name; `make.kernel` for `kernel` defined inside the function `make`.
    pub name: String,
    pub(crate) index: usize,
}

impl Kernel {
    /// The kernel of a name in a module.
    pub fn find(module: &Arc<Module>, name: &str) -> Option<Self> {
        let index = module
            .functions
            .iter()
            .position(|function| function.name == name)?;
        Some(Self {
            module: Arc::clone(module),
            name: name.to_owned(),
            index,
        })
    }

    /// The top-level statements of the kernel's file that decide what it does, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.pieces_of(&self.name)
    }

    /// The top-level statements that decide what another name of the kernel's file means, in order.
    pub fn pieces_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let outermost = name.split('.').next().unwrap_or_default();
        find_reachable(&self.module.pieces, outermost)
            .into_iter()
            .filter_map(|at| {
                self.module
                    .file
                    .text
                    .get(self.module.pieces.get(at)?.range.clone())
            })
    }

    /// The function's signature and decorators.
    pub fn function(&self) -> Option<&Function> {
        self.module.functions.get(self.index)
    }
}
