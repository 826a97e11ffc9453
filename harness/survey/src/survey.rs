//! The result of reading a kernel: the launches to try it with, and the facts about them that its text shows.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::Reading;
use cerith_launcher::{Change, THE_GRID, is_of_callers};
use cerith_tile::rules::Version;

/// A launch to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The difference from the plain launch: `n=33`, `x with padded rows`; empty for the plain launch.
    pub variant: String,
    /// The kind of difference.
    pub change: Change,
    /// Its case file.
    pub text: String,
}

/// A kernel and the launches to try it with, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Survey {
    /// The kernel.
    pub kernel: String,
    /// The launches, the plain one first.
    pub attempts: Vec<Attempt>,
    /// Launches that are not executed: they show which numbers of a launch follow from which sizes.
    pub sized: Vec<Attempt>,
    /// Why the kernel's text is not enough to launch it.
    pub not_tried: Option<NotTried>,
    /// The storages of tensors whose number of elements the text determines. Other storages have more room than
    /// needed, so their size shows nothing about the kernel.
    pub certain: BTreeSet<String>,
    /// The storages of tensors whose other accesses determine their number of elements: one does not fit them, or the
    /// tensor is larger.
    pub stated: BTreeSet<String>,
    /// The parameters of tensors whose values place the elements that the kernel accesses, by the storages of these elements.
    pub placed_by: BTreeMap<String, BTreeSet<String>>,
    /// The conditions that the kernel's text states.
    pub contracts: Vec<Condition>,
    /// The lines of the first stores to tensors, from 1, by their parameters.
    pub stores: BTreeMap<String, usize>,
    /// The storages whose elements can only overlap through the kernel's own fault, not through a guess of the
    /// survey: the text determines the extent of every dimension except the outermost, or the kernel computes
    /// addresses from no stride that a launch passes.
    pub distinct: BTreeSet<String>,
    /// The storages of tensors that are only written, and whose size the text determines.
    pub outputs: BTreeSet<String>,
    /// The storages that the kernel's launcher makes and no function returns: their values may depend on blocks.
    pub buffers: BTreeSet<String>,
    /// Whether the kernel's launcher passes values that another kernel or torch computed: the launches have others.
    pub is_after_others: bool,
    /// The accesses that nothing but the grid and a block bounds.
    pub unmasked: Option<Unmasked>,
    /// Names that the kernel's module binds anywhere.
    pub bound: BTreeSet<String>,
    /// Parameters with guessed values: numbers that, according to the text, are neither sizes, strides nor blocks.
    pub guessed: Vec<String>,
    /// The values that the launches pass if the text leaves them open.
    pub reading: Reading,
    /// Descriptions of values that differ from those that the text suggests; with the suggested values, the launch
    /// failed.
    pub changed: Vec<String>,
    /// The newest version of Triton that accepts the kernel, if it is not the newest of all.
    pub version: Option<Version>,
    /// Whether a function of the file launches the kernel, even if it was not evaluated.
    pub is_launched: bool,
    /// Whether every launch that was tried instead failed too.
    pub is_searched: bool,
    /// The function of the file that launches the kernel in this way, if one was evaluated.
    pub host: Option<String>,
    /// Whether the launcher gets only one tensor.
    pub is_of_one_tensor: bool,
    /// The storages whose sizes that function passes to the kernel.
    pub measured: BTreeSet<String>,
    /// The storages whose rows segments divide, with the inputs of that function that they are. The launches have as many rows as the
    /// segments, so no other number of rows is missing.
    pub divided: BTreeMap<String, String>,
    /// The inputs of that function that nothing decides: sizes that may have to be equal, numbers without a default.
    pub assumed: Vec<String>,
    /// Those of them that are numbers.
    pub numbers: BTreeSet<String>,
    /// Those of them that are tensors which the function makes with sizes that depend on these numbers.
    pub made: BTreeSet<String>,
    /// The parts of the kernel's autotuner that the launches omit.
    pub omitted: Vec<&'static str>,
    /// Functions that launch the kernel, if none of their launches is used.
    pub unused_launchers: Vec<UnusedLauncher>,
    /// The launches of a function that are rejected, although the kernel compiles with the launches above.
    pub rejected: Option<RejectedLaunches>,
}

impl Survey {
    /// Whether a failure is the kernel's fault, whatever else its launcher passes: an access outside of storages whose sizes the kernel
    /// gets, or a race in them, if nothing is assumed of the launch itself.
    pub fn is_of_measured(&self, code: &str, storages: &[String]) -> bool {
        let is_fault = match code {
            "out-of-bounds" | "conflicting-lanes" => true,
            "race" => self.assumed.iter().all(|one| self.is_kept(one)),
            _ => false,
        };
        let mut all = storages.iter();
        is_fault && !storages.is_empty() && all.all(|storage| self.measured.contains(storage))
    }

    /// Whether a kernel has to work with something assumed, whatever it is: how callers pass other inputs, or the only number by which
    /// the launcher sizes its own tensors and the grid. Several numbers may have to fit each other.
    fn is_kept(&self, assumed: &str) -> bool {
        let is_of_number =
            self.made.contains(assumed) || self.numbers.contains(assumed) || assumed == THE_GRID;
        is_of_callers(assumed) || is_of_number && self.numbers.len() == 1 && !self.made.is_empty()
    }

    /// Whether a failure is an access after the last segment of tensors, if nothing is assumed but their rows and numbers: one segment is
    /// shorter than another, so no number bounds them.
    pub fn is_of_segments(&self, code: &str, storages: &[String]) -> bool {
        let is_rows = |assumed: &String| {
            self.numbers.contains(assumed) || self.divided.values().any(|input| input == assumed)
        };
        code == "out-of-bounds"
            && !storages.is_empty()
            && storages.iter().all(|storage| self.divided.contains_key(storage))
            && self.assumed.iter().all(is_rows)
    }
}

/// A function that launches a kernel in a way that can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedLauncher {
    /// The function.
    pub host: String,
    /// The line of the launch, from 1, or that of the function if its evaluation doesn't reach the launch.
    pub line: u32,
    /// Why its launches are not used.
    pub reason: String,
}

/// The launches of a function with which its kernel does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLaunches {
    /// The function.
    pub host: String,
    /// The launches, the plain one first.
    pub attempts: Vec<Attempt>,
}

/// A condition on the launches of a kernel that its text states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its kind, for reports.
    pub kind: &'static str,
    /// The reason for it.
    pub message: String,
    /// The condition.
    pub demand: String,
    /// The line, from 1.
    pub line: usize,
}

/// Accesses that nothing but the grid and a block bounds: the block must divide the number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmasked {
    /// The parameters of the tensors.
    pub tensors: Vec<String>,
    /// The block, as written in the kernel's text.
    pub block: String,
    /// The line of the first access, from 1.
    pub line: usize,
}

/// Why a kernel is not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotTried {
    /// Other kernels call it, or it returns a value, and nothing in its file launches it.
    #[error("it is a function that kernels call")]
    Function,
    /// Its text shows no tensor among its parameters.
    #[error("its text shows no tensor that it accesses")]
    NoTensor,
    /// Nothing that it does could be seen.
    #[error("its text shows no tensor that it stores to")]
    NoStore,
    /// A tensor descriptor is among its parameters.
    #[error("it takes a tensor descriptor that the host makes")]
    Descriptor,
    /// It is written in Gluon.
    #[error("it is written in Gluon, not in Triton")]
    Gluon,
    /// Its launches would be too large, or need something that the text does not determine.
    #[error("its text does not determine a launch of a reasonable size")]
    TooLarge,
    /// It has parameters of any number.
    #[error("it takes any number of arguments")]
    Variadic,
    /// Each launch breaks a declared precondition.
    #[error("no launch keeps its declared preconditions")]
    Declared,
}
