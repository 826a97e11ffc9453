//! Lines of a case's kernels that PTX comes from. Recorded machine code has no line information, and neither has the PTX that is
//! kept with it. So if there is something to report, the case is compiled once more, with lines. If that produces the same
//! instructions, its lines apply.

use std::cell::OnceCell;
use std::sync::Arc;

use cerith_case::Case;
use cerith_ptx::{InstructionLocation, Line, Module};
use cerith_tile::source::SourceFile;
use cerith_toolchain::Tuning;

use crate::compile::Compiler;
use crate::compiler_versions::first_column;
use crate::engine::Failure;
use crate::{Position, worker_request};

/// The compiler and the tuning for compiling a case once more.
#[derive(Debug)]
pub(super) struct Recompiler {
    pub compiler: Arc<Compiler>,
    pub tuning: Tuning,
}

/// The lines of one case's kernels, computed on first use.
pub(super) struct Lines<'a> {
    case: &'a Case,
    recompiler: Option<&'a Recompiler>,
    files: Vec<(String, &'a Arc<SourceFile>)>,
    /// The kernels' PTX that says lines; those of what does not compile so, or is not read, are not known.
    modules: OnceCell<Vec<Option<Module>>>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(case: &'a Case, again: Option<&'a Recompiler>) -> Self {
        Self {
            case,
            recompiler: again,
            files: worker_request::compiled_files(case).collect(),
            modules: OnceCell::new(),
        }
    }

    /// Gives an instruction of a kernel the lines that it comes from, as a user knows them, and says where the first is.
    pub(super) fn locate(
        &self,
        module: &Module,
        number: usize,
        at: &mut InstructionLocation,
    ) -> Result<Option<Position>, Failure> {
        if at.lines.is_empty()
            && let Some(Some(lined)) = self.modules()?.get(number)
        {
            at.lines = module.lines_in(lined, at.place);
        }
        let own = at.lines.iter().filter_map(|line| self.find_position(line));
        let own: Vec<Position> = own.collect();
        at.lines = if own.is_empty() {
            // The lines are in Triton's library, and their caller is unknown.
            at.lines.iter().map(shorten_path).collect()
        } else {
            own.iter().map(to_line).collect()
        };
        Ok(own.into_iter().next())
    }

    fn modules(&self) -> Result<&[Option<Module>], Failure> {
        if let Some(modules) = self.modules.get() {
            return Ok(modules);
        }
        let compiled = match self.recompiler {
            Some(again) => again.compiler.compile_with_lines(self.case, again.tuning)?,
            None => None,
        };
        let kernels = compiled.map(|compiled| compiled.kernels).unwrap_or_default();
        Ok(self.modules.get_or_init(|| {
            kernels
                .iter()
                .map(|kernel| cerith_ptx::parse(&kernel.ptx).ok())
                .collect()
        }))
    }

    /// The place of a line, if it is in a file of the case.
    fn find_position(&self, line: &Line) -> Option<Position> {
        let (_, file) = self.files.iter().find(|(name, _)| *name == line.file)?;
        // If the case is not compiled here, columns count as in a current version.
        let first = self
            .recompiler
            .map_or(1, |again| first_column(again.compiler.version()));
        let column = (line.column + 1).saturating_sub(first);
        let place = file.place_of(line.line, column);
        Some(Position {
            file: place.file.to_owned(),
            line: place.line,
            column: place.column,
            text: file.line(line.line).to_owned(),
        })
    }
}

fn to_line(position: &Position) -> Line {
    Line {
        file: position.file.clone(),
        line: position.line,
        column: position.column,
    }
}

/// A line of a package's file, named from the folder that holds the package.
fn shorten_path(line: &Line) -> Line {
    let file = line.file.rsplit("-packages/").next().unwrap_or(&line.file);
    Line {
        file: file.to_owned(),
        ..*line
    }
}
