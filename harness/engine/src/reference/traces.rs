//! Traces and kernels that sets of quirks share. Most quirks change what a kernel's operations do and not how its text is read, so
//! that one trace does for many sets. Many sets make the same kernel. Left out: kernels without quirks, which are kept for longer
//! ([`super::cache`]).

use std::collections::HashMap;
use std::sync::Arc;

use cerith_frontend::{Refused, Request, Traced};
use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::source::SourceFile;

use super::kernel::Kernel;

/// How many kernels have traces here. What explains a difference is asked of one kernel after the other.
const KERNELS: usize = 8;

/// For how many sets of quirks kernels are kept.
const SETS: usize = 64;

/// A trace or why there is none.
pub(super) type Read = Result<Arc<Traced>, Arc<Refused>>;

/// A trace, and what the models of quirks make of it, where they change anything.
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
            asked,
        } = &*self.traced;
        Arc::new(Traced {
            function,
            bindings: bindings.clone(),
            arguments: arguments.clone(),
            uses: uses.clone(),
            asked: *asked,
        })
    }

    /// Whether a kernel is this one, and takes its arguments from the same places.
    fn is(&self, kernel: &Kernel) -> bool {
        let (one, other) = (&self.traced, &kernel.traced);
        let same_arguments = one.bindings == other.bindings && one.arguments == other.arguments;
        same_arguments && one.uses == other.uses && *self.function() == other.function
    }
}

impl PartialEq for Rewritten {
    fn eq(&self, other: &Self) -> bool {
        let unchanged = self.followed.is_none() && other.followed.is_none();
        // Most quirks change nothing, and a kernel need not be compared with itself.
        unchanged && Arc::ptr_eq(&self.traced, &other.traced) || self.function() == other.function()
    }
}

/// A trace with the quirks that it was made with, and the file, which keeps the address that the key names it by.
#[derive(Debug)]
struct Trace {
    quirks: Quirks,
    read: Read,
    _file: Arc<SourceFile>,
}

/// What is known of a kernel with any quirks.
#[derive(Debug, Default)]
struct Known {
    traces: Vec<Trace>,
    kernels: Vec<(Quirks, Arc<Kernel>)>,
}

/// The traces of late. They all go at once when there are too many.
#[derive(Debug, Default)]
pub(super) struct Traces {
    known: HashMap<String, Known>,
}

impl Traces {
    /// A trace that is the same with these quirks, if there is one.
    pub fn find(&self, key: &str, quirks: Quirks) -> Option<Read> {
        let traces = &self.known.get(key)?.traces;
        let same = |trace: &&Trace| {
            let asked = match &trace.read {
                Ok(traced) => traced.asked,
                Err(refused) => refused.asked,
            };
            trace.quirks.among(asked) == quirks.among(asked)
        };
        Some(traces.iter().find(same)?.read.clone())
    }

    /// Keeps another one.
    pub fn keep(&mut self, key: String, request: &Request, read: Read) {
        if self.known.len() >= KERNELS && !self.known.contains_key(&key) {
            self.known.clear();
        }
        self.known.entry(key).or_default().traces.push(Trace {
            quirks: request.rules.quirks,
            read,
            _file: Arc::clone(&request.file),
        });
    }

    /// The kernel of a set of quirks.
    pub fn kernel(&self, key: &str, quirks: Quirks) -> Option<Arc<Kernel>> {
        let mut kernels = self.known.get(key)?.kernels.iter();
        kernels
            .find(|(set, _)| *set == quirks)
            .map(|(_, kernel)| Arc::clone(kernel))
    }

    /// The kernel of another set of quirks that is the same.
    pub fn same_kernel(&self, key: &str, rewritten: &Rewritten) -> Option<Arc<Kernel>> {
        let mut kernels = self.known.get(key)?.kernels.iter();
        kernels
            .find(|(_, kernel)| rewritten.is(kernel))
            .map(|(_, kernel)| Arc::clone(kernel))
    }

    /// Keeps the kernel of a set of quirks, if there is a trace of it.
    pub fn keep_kernel(&mut self, key: &str, quirks: Quirks, kernel: &Arc<Kernel>) {
        let Some(Known { kernels, .. }) = self.known.get_mut(key) else {
            return;
        };
        if kernels.len() >= SETS {
            kernels.clear();
        }
        kernels.push((quirks, Arc::clone(kernel)));
    }
}
