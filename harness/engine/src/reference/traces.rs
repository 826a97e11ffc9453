//! Traces that sets of quirks share. Most quirks change what a kernel's operations do and not how its text is read, so that one
//! trace does for many sets. Left out: kernels that are ready to be launched ([`super::cache`]).

use std::collections::HashMap;
use std::sync::Arc;

use cerith_frontend::{Refused, Request, Traced};
use cerith_tile::ir::Function;
use cerith_tile::quirk::Quirks;
use cerith_tile::source::SourceFile;

/// How many kernels have traces here. What explains a difference is asked of one kernel after the other.
const KERNELS: usize = 8;

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

    /// A trace of its own with the rewritten kernel.
    pub fn into_traced(self) -> Traced {
        let mut traced = Arc::unwrap_or_clone(self.traced);
        if let Some(function) = self.followed {
            traced.function = function;
        }
        traced
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

/// The traces of late. They all go at once when there are too many.
#[derive(Debug, Default)]
pub(super) struct Traces {
    kernels: HashMap<String, Vec<Trace>>,
}

impl Traces {
    /// A trace that is the same with these quirks, if there is one.
    pub fn find(&self, key: &str, quirks: Quirks) -> Option<Read> {
        let traces = self.kernels.get(key)?;
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
        if self.kernels.len() >= KERNELS && !self.kernels.contains_key(&key) {
            self.kernels.clear();
        }
        self.kernels.entry(key).or_default().push(Trace {
            quirks: request.rules.quirks,
            read,
            _file: Arc::clone(&request.file),
        });
    }
}
