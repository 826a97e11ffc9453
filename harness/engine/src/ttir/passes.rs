//! The IR between the passes of Triton's compiler for a case. See [`super::Ttir::with_compiled`] for executing it.

use std::sync::Arc;

use cerith_toolchain::compiled::{Compiled, Kernel};
use cerith_ttir::{find_failed_pass, split_passes};

/// A failed pass, after which there is no code for a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPass {
    /// MLIR's name for the pass.
    pub name: String,
    /// Its place among the kernel's passes, from 1.
    pub place: usize,
    /// The IR before it.
    pub before: String,
    /// MLIR's message.
    pub message: String,
}

/// The IR of a case's kernels before each pass, and after the last one.
#[derive(Clone, Debug)]
pub struct Passes {
    compiled: Compiled,
    names: Vec<String>,
    /// The IR of each kernel, before each pass and after the last.
    kernels: Vec<Vec<String>>,
    failed: Option<FailedPass>,
}

impl Passes {
    /// Reads the passes of kernels whose IR is the output of MLIR's pass manager.
    pub(super) fn new(compiled: Compiled) -> Self {
        let mut names = Vec::new();
        let mut kernels = Vec::with_capacity(compiled.kernels.len());
        let mut failing = None;
        for kernel in &compiled.kernels {
            let found = split_passes(&kernel.ttir);
            let fails = find_failed_pass(&kernel.ttir);
            let last = match fails {
                Some(pass) => Some(pass.before.to_owned()),
                None => found.last().map(|pass| pass.after.to_owned()),
            };
            if let Some(pass) = fails.filter(|_| failing.is_none()) {
                failing = Some(FailedPass {
                    name: pass.name.to_owned(),
                    place: found.len() + 1,
                    before: pass.before.to_owned(),
                    message: pass.message.to_owned(),
                });
            }
            kernels.push(
                found
                    .iter()
                    .map(|pass| pass.before.to_owned())
                    .chain(last)
                    .collect(),
            );
            if found.len() > names.len() {
                names = found.iter().map(|pass| pass.name.to_owned()).collect();
            }
        }
        Self {
            compiled,
            names,
            kernels,
            failed: failing,
        }
    }

    /// The first pass that failed, of the first kernel that one failed for. It is not among the names.
    pub fn failed(&self) -> Option<&FailedPass> {
        self.failed.as_ref()
    }

    /// The names of the passes, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The IR of each kernel before pass `nth`, and after the last one for as many as there are. A kernel that goes through fewer
    /// passes stays as its last one left it.
    pub fn ir_before(&self, nth: usize) -> impl Iterator<Item = &str> {
        self.kernels
            .iter()
            .map(move |of| of.get(nth).or(of.last()).map_or("", String::as_str))
    }

    /// The kernels as they are before pass `nth`, to be executed.
    pub fn compiled_before(&self, nth: usize) -> Compiled {
        let kernels = self.compiled.kernels.iter().zip(self.ir_before(nth));
        Compiled {
            kernels: kernels
                .map(|(kernel, ir)| {
                    Arc::new(Kernel {
                        ttir: ir.to_owned(),
                        ..Kernel::clone(kernel)
                    })
                })
                .collect(),
            invocations: self.compiled.invocations.clone(),
        }
    }
}
