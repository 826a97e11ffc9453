//! Traces and kernels that sets of quirks share. Most quirks change the meaning of a kernel's operations and not how its text is
//! read, so that one trace serves many sets. Many sets produce the same kernel. See [`super::cache`] for kernels without quirks.

use std::sync::Arc;

use cerith_frontend::{Refused, Request, Traced};
use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::source::SourceFile;

use super::cache::{CACHED_BYTES, estimate_bytes};
use super::kernel::Kernel;

/// The maximum number of kernels with traces. Differences are explained case by case, in as many threads as there are.
const KERNELS: usize = 64;

/// A trace or why there is none.
pub(super) type Read = Result<Arc<Traced>, Arc<Refused>>;

/// A trace, and the function rewritten by the models of quirks, if they change anything.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(super) traced: Arc<Traced>,
    pub(super) followed: Option<Function>,
}

impl Rewritten {
    fn function(&self) -> &Function {
        self.followed.as_ref().unwrap_or(&self.traced.function)
    }

    /// The trace with the rewritten kernel in it.
    pub fn into_traced(self) -> Arc<Traced> {
        let Some(function) = self.followed else {
            return self.traced;
        };
        let Traced {
            function: _,
            bindings,
            arguments,
            uses,
            clears,
            consulted_quirks: asked,
        } = &*self.traced;
        Arc::new(Traced {
            function,
            bindings: bindings.clone(),
            arguments: arguments.clone(),
            uses: uses.clone(),
            clears: clears.clone(),
            consulted_quirks: *asked,
        })
    }

    /// Whether a kernel is this one, and takes its arguments from the same places.
    pub fn is(&self, kernel: &Kernel) -> bool {
        let (one, other) = (&self.traced, &kernel.traced);
        let same_arguments = one.bindings == other.bindings && one.arguments == other.arguments;
        same_arguments
            && one.uses == other.uses
            && one.clears == other.clears
            && *self.function() == other.function
    }
}

impl PartialEq for Rewritten {
    fn eq(&self, other: &Self) -> bool {
        let unchanged = self.followed.is_none() && other.followed.is_none();
        // Most quirks change nothing, and a kernel need not be compared with itself.
        unchanged && Arc::ptr_eq(&self.traced, &other.traced) || self.function() == other.function()
    }
}

/// A trace with the quirks that it was made with.
#[derive(Debug)]
struct Trace {
    quirks: Quirks,
    read: Read,
}

/// The traces of a kernel with quirks, and its file. The key contains the file's address, so the file must stay alive.
#[derive(Debug)]
struct TraceEntry {
    key: String,
    _file: Arc<SourceFile>,
    traces: Vec<Trace>,
    kernels: Vec<(Quirks, Arc<Kernel>)>,
    /// About how much the kernels take.
    bytes: usize,
}

/// The traces and kernels of late, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Traces {
    entries: Vec<TraceEntry>,
}

impl Traces {
    fn get(&self, key: &str) -> Option<&TraceEntry> {
        self.entries.iter().find(|known| known.key == key)
    }

    /// The entry of a request's kernel, added if there is none.
    fn get_mut(&mut self, key: &str, request: &Request) -> Option<&mut TraceEntry> {
        let at = self.entries.iter().position(|known| known.key == key);
        let at = at.unwrap_or_else(|| {
            if self.entries.len() >= KERNELS {
                self.entries.remove(0);
            }
            self.entries.push(TraceEntry {
                key: key.to_owned(),
                _file: Arc::clone(&request.file),
                traces: Vec::new(),
                kernels: Vec::new(),
                bytes: 0,
            });
            self.entries.len() - 1
        });
        self.entries.get_mut(at)
    }

    /// A trace that is the same with these quirks, if there is one.
    pub fn find(&self, key: &str, quirks: Quirks) -> Option<Read> {
        let traces = &self.get(key)?.traces;
        let same = |trace: &&Trace| {
            let asked = find_quirks(&trace.read);
            trace.quirks.intersect(asked) == quirks.intersect(asked)
        };
        Some(traces.iter().find(same)?.read.clone())
    }

    /// Keeps another one.
    pub fn keep(&mut self, key: &str, request: &Request, read: Read) {
        let quirks = request.rules.quirks;
        if let Some(known) = self.get_mut(key, request) {
            known.traces.push(Trace { quirks, read });
        }
    }

    /// The kernel of a set of quirks.
    pub fn find_kernel(&self, key: &str, quirks: Quirks) -> Option<Arc<Kernel>> {
        let mut kernels = self.get(key)?.kernels.iter();
        kernels
            .find(|(set, _)| *set == quirks)
            .map(|(_, kernel)| Arc::clone(kernel))
    }

    /// The kernel of another set of quirks that is the same.
    pub fn same_kernel(&self, key: &str, rewritten: &Rewritten) -> Option<Arc<Kernel>> {
        let mut kernels = self.get(key)?.kernels.iter();
        kernels
            .find(|(_, kernel)| rewritten.is(kernel))
            .map(|(_, kernel)| Arc::clone(kernel))
    }

    /// Keeps the kernel of a request's set of quirks.
    pub fn keep_kernel(&mut self, key: &str, request: &Request, kernel: &Arc<Kernel>) {
        let Some(known) = self.get_mut(key, request) else {
            return;
        };
        let is_new = !known.kernels.iter().any(|(_, kept)| Arc::ptr_eq(kept, kernel));
        known.bytes += if is_new {
            estimate_bytes(&kernel.traced.function)
        } else {
            0
        };
        known.kernels.push((request.rules.quirks, Arc::clone(kernel)));
        // Drop the oldest kernels first; drop all sets of a single kernel at once.
        let mut bytes: usize = self.entries.iter().map(|known| known.bytes).sum();
        while bytes > CACHED_BYTES && self.entries.len() > 1 {
            bytes -= self.entries.remove(0).bytes;
        }
        if bytes > CACHED_BYTES
            && let Some(known) = self.entries.first_mut()
        {
            known.kernels.clear();
            known.bytes = 0;
        }
    }
}

/// The quirks that a trace depends on.
pub(super) fn find_quirks(read: &Read) -> Quirks {
    match read {
        Ok(traced) => traced.consulted_quirks,
        Err(refused) => refused.consulted_quirks,
    }
}
