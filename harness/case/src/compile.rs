//! How a case is compiled under `torch.compile`, for the engines that do so. See `cerith-engine`, and the Python of
//! `cerith-worker`, for compiling.

use crate::argument::ArgValue;

/// The key `compile` of a case. An argument is named by its parameter, and means the argument of that name in every
/// launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compile {
    /// `torch.compile(dynamic=…)`. None is torch's default: static first, and dynamic when a call brings another size.
    pub dynamic: Option<bool>,
    /// Arguments, each with the dimensions that are passed to `torch._dynamo.mark_dynamic`.
    pub mark_dynamic: Vec<(String, Vec<usize>)>,
    /// Arguments, each with the dimensions that are passed to `torch._dynamo.maybe_mark_dynamic`.
    pub maybe_mark_dynamic: Vec<(String, Vec<usize>)>,
    /// Calls made before the one that counts, each with these arguments in place of the launches' own.
    pub before: Vec<Vec<(String, ArgValue)>>,
}
