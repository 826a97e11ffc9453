//! A case file whose kernels were found: its content, and the kernel, host function and module of each launch. See
//! `corpus` for finding them, and [`Entry`](crate::Entry) for the cases that it expands to.

use std::collections::HashMap;
use std::sync::Arc;

use cerith_tile::diagnostic::Diagnostic;

use crate::archive::Archives;
use crate::discovery::Discovery;
use crate::expectation::EnginePattern;
use crate::fill::ArchiveLookup;
use crate::like::CaseLike;
use crate::schema::{LaunchSchema, Program, Schema};
use crate::variant::Axis;
use crate::versions::VersionRange;
use cerith_expression::Names;
use cerith_module::kernel::{Kernel, Module};

/// A case file whose kernels were found.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The path from the corpus root.
    pub path: String,
    /// The path without its extension: what ids of its cases begin with.
    pub id: String,
    pub(crate) schema: Schema,
    pub(crate) archives: Arc<Archives>,
    /// Kernels by `file.py:function`, as written in the file.
    pub(crate) kernels: HashMap<String, Kernel>,
    /// Host functions by `file.py:function`, as written in the file.
    pub(crate) hosts: HashMap<String, Kernel>,
    /// Modules by `file.py`, as written in the file.
    pub(crate) modules: HashMap<String, Arc<Module>>,
    /// The reference function.
    pub(crate) like: Option<CaseLike>,
}

impl CaseFile {
    /// A sentence about its cases.
    pub fn summary(&self) -> &str {
        &self.schema.summary
    }

    /// Who found what its cases show, where Cerith did.
    pub fn discovery(&self) -> Option<&Discovery> {
        self.schema.discovery.as_ref()
    }

    /// The file of its kernel, by its path from the corpus root; nothing where it depends on the point of the matrix.
    pub fn kernel_path(&self) -> Option<&str> {
        let mut paths = self.kernels.values().map(|kernel| kernel.module.path.as_str());
        let first = paths.next()?;
        paths.all(|path| path == first).then_some(first)
    }

    /// Engines whose bug the case shows: all that its expectations name except the reference, or only those that
    /// `found` names.
    pub fn exceptions(&self) -> impl Iterator<Item = Exception<'_>> {
        let named = self.discovery().map_or(&[][..], |found| &found.engines[..]);
        self.schema.expect.iter().flat_map(move |expect| {
            let meant = move |engine: &&EnginePattern| {
                if named.is_empty() {
                    engine.to_string() != "reference"
                } else {
                    named.contains(engine)
                }
            };
            expect.engines.iter().filter(meant).map(|engine| Exception {
                engine,
                versions: &expect.versions,
                axes: &expect.axes,
                reason: &expect.reason,
            })
        })
    }

    /// The location of recorded bytes.
    pub(crate) fn archive_lookup(&self) -> ArchiveLookup<'_> {
        ArchiveLookup {
            archives: &self.archives,
            from: &self.path,
        }
    }

    /// The kernel of a launch at a point.
    pub(crate) fn find_kernel(&self, launch: &LaunchSchema, names: &Names) -> Result<Kernel, Diagnostic> {
        let text = self.schema.kernel_text(launch, names)?;
        let span = launch
            .kernel
            .as_ref()
            .map_or(launch.span, |template| template.span);
        self.kernels
            .get(&text)
            .cloned()
            .ok_or_else(|| Diagnostic::error("unknown-kernel", span, format!("unknown kernel `{text}`")))
    }

    /// The host function of a launch at a point, if it has one.
    pub(crate) fn find_host(
        &self,
        launch: &LaunchSchema,
        names: &Names,
    ) -> Result<Option<Kernel>, Diagnostic> {
        let (Some(text), Some(template)) = (self.schema.host_text(launch, names)?, &launch.host) else {
            return Ok(None);
        };
        self.hosts.get(&text).cloned().map(Some).ok_or_else(|| {
            Diagnostic::error(
                "unknown-host",
                template.span,
                format!("unknown host function `{text}`"),
            )
        })
    }

    /// The module of the file's kernel, or the one that it imports, at a point.
    pub(crate) fn find_module(&self, names: &Names) -> Result<Arc<Module>, Diagnostic> {
        let template = self.schema.program.template();
        let text = template.render(names)?;
        let found = match &self.schema.program {
            Program::Kernel(_) => self.kernels.get(&*text).map(|kernel| Arc::clone(&kernel.module)),
            Program::Import(_) => self.modules.get(&*text).map(Arc::clone),
        };
        found.ok_or_else(|| {
            Diagnostic::error(
                "unknown-kernel",
                template.span,
                format!("unknown kernel file `{text}`"),
            )
        })
    }
}

/// An expectation of a case file for one engine.
#[derive(Clone, Copy, Debug)]
pub struct Exception<'a> {
    /// The engine that it applies to.
    pub engine: &'a EnginePattern,
    /// The version.
    pub versions: &'a VersionRange,
    /// The axes of a sweep, where it is about one.
    pub axes: &'a [Axis],
    /// The reason, as text.
    pub reason: &'a str,
}
