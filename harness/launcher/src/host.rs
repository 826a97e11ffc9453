//! Launches that functions of a kernel's file make, as the rest of the crate sees them.

use std::collections::BTreeSet;

use super::tensor::{Fill, Storage};

/// Who made a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The launcher's caller.
    Input,
    /// The launcher, and nothing has stored to it.
    Empty,
    /// The launcher, with content.
    Filled,
    /// The launcher, and another kernel or torch has computed its content, which nothing here knows.
    Computed,
}

impl Origin {
    pub(super) fn from_storage(storage: &Storage) -> Self {
        if storage.input.is_some() || storage.fill == Fill::Given {
            Self::Input
        } else if storage.fill == Fill::Uninit {
            Self::Empty
        } else if storage.fill == Fill::Computed {
            Self::Computed
        } else {
            Self::Filled
        }
    }
}

/// A storage of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct HostTensor {
    /// Its name in the case file.
    pub storage: String,
    /// Who made it.
    pub origin: Origin,
    /// Whether the launcher returns a tensor in it.
    pub is_returned: bool,
    /// Whether a function of the launcher returns a tensor in it, which others may use.
    pub is_result: bool,
    /// Whether the contents of other tensors place the elements that the kernel accesses.
    pub is_placed: bool,
    /// Whether the launcher or the kernel decides its number of elements. Otherwise it has more than the launch needs.
    pub is_sized: bool,
    /// Whether the kernel's accesses decide one of its sizes.
    pub is_fitted: bool,
    /// Whether the launcher passes all of its sizes to the kernel, which can keep to them.
    pub is_measured: bool,
    /// The launcher's input that it is, or its own name, if segments divide its rows: the last one ends at the last row.
    pub divided_input: Option<String>,
}

/// The difference between a launch and the plain launch of its kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// None, or one that does not excuse a failure.
    #[default]
    Other,
    /// A size is 0.
    EmptySize,
    /// A flag is on that is off otherwise, or off that is on. Nothing shows which flags go together.
    Flag,
    /// All tensors have another dtype.
    Dtype,
    /// Inputs of a launcher have other sizes.
    InputSize,
    /// An input of a launcher has other dimensions.
    InputRank,
    /// Rows of a launcher's input are padded.
    PaddedInput,
    /// An input of a launcher is transposed.
    TransposedInput,
    /// All indices are equal that the kernel loads.
    EqualIndices,
    /// The launches are made that the launcher makes before it: they store what it loads.
    Sequence,
    /// All sizes of a launcher's inputs are others. Such a launch shows relations of sizes, and is not executed.
    AllSizes,
}

impl Change {
    /// Whether it is the layout of an input.
    pub fn is_of_layout(self) -> bool {
        matches!(self, Self::PaddedInput | Self::TransposedInput)
    }

    /// Whether it is the shape of an input.
    pub fn is_of_shape(self) -> bool {
        matches!(self, Self::InputSize | Self::InputRank)
    }
}

/// A launch that a function of the kernel's file makes, or why it could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLaunch {
    /// The function with the launch; `Class.method` for the root's methods.
    pub host: String,
    /// The line of the launch, from 1; the function's, if the evaluation does not reach the launch.
    pub line: u32,
    /// The difference from the plain launch, which has none: `x[33, 1]`, `padded x`, `float16`.
    pub variant: String,
    /// The kind of difference.
    pub change: Change,
    /// The case file. Empty if there are unknown arguments.
    pub text: String,
    /// The storages of the case file.
    pub tensors: Vec<HostTensor>,
    /// Whether the launcher gets only one tensor: then no relation between inputs can excuse a failure.
    pub is_of_one_tensor: bool,
    /// Reasons for arguments that could not be evaluated.
    pub unknown: Vec<String>,
    /// Inputs that nothing in the launcher or the kernel decides: tensors whose required sizes are unknown, and
    /// numbers without a default. A failure of the launch may be its caller's fault.
    pub assumed: Vec<String>,
    /// The assumed inputs that are numbers.
    pub numbers: BTreeSet<String>,
    /// The tensors that the launcher makes with sizes that depend on assumed numbers.
    pub made: BTreeSet<String>,
}

/// Whether two case files differ in their first line only.
pub fn is_same_launch(a: &str, b: &str) -> bool {
    let rest = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    rest(a) == rest(b)
}
