//! How a case is compiled under `torch.compile`, for the engines that do so. Left out: compiling (`cerith-engine`, and the
//! Python of `cerith-worker`).

use crate::argument::ArgValue;

/// What a case says under `compile`. Arguments are named as the kernels' parameters are; every launch that gives a
/// parameter of that name is meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compile {
    /// `torch.compile(dynamic=…)`; none is torch's own way: static first, and dynamic where a call brings another size.
    pub dynamic: Option<bool>,
    /// Arguments, and which of their dimensions `torch._dynamo.mark_dynamic` is told of.
    pub mark_dynamic: Vec<(String, Vec<usize>)>,
    /// The same for `torch._dynamo.maybe_mark_dynamic`.
    pub maybe_mark_dynamic: Vec<(String, Vec<usize>)>,
    /// Calls made before the one that counts, each with these arguments in place of the launches' own.
    pub before: Vec<Vec<(String, ArgValue)>>,
}
