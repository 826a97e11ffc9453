//! Promises of a kernel to the compiler: `tl.assume`, `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`; and its
//! assertions. A false promise makes the program undefined, a false assertion stops it.

use cerith_tile::ir::{Demand, Promise};

use cerith_tile::diagnostic::Diagnostic;

use super::Site;
use crate::outcome::{Stop, TrapKind};

/// The trap for a false `tl.assume`.
#[cold]
pub(crate) fn assume(site: Site<'_>, lane: Option<usize>) -> Stop {
    let kind = TrapKind::FalseAssume;
    let diagnostic = site
        .build_diagnostic(kind, lane, "`tl.assume` of a condition that is false")
        .note("the compiler may rely on the condition anywhere in the kernel");
    site.trap(kind, lane, diagnostic)
}

/// The trap for a tensor descriptor, or a use of one, that is not as the language demands.
#[cold]
pub(crate) fn demand(site: Site<'_>, demand: Demand) -> Stop {
    let kind = TrapKind::DescriptorDemand;
    let (message, note) = match demand {
        Demand::AlignedBase => (
            "a tensor descriptor whose base is not 16-byte aligned",
            "descriptors are for the tensor memory accelerator, which takes multiples of 16 bytes",
        ),
        Demand::AlignedStrides => (
            "a tensor descriptor whose strides are not multiples of 16 bytes",
            "every stride but the last has to be, and the last is 1 element",
        ),
        Demand::ProperShape => (
            "a tensor descriptor with a negative extent",
            "`shape` is made of non-negative integers",
        ),
        Demand::AlignedOffset => (
            "a block of a tensor descriptor that does not begin at a multiple of 16 bytes",
            "the last offset, in elements of this size, has to be a multiple of 16 bytes",
        ),
    };
    let diagnostic = site.build_diagnostic(kind, None, message).note(note);
    site.trap(kind, None, diagnostic)
}

/// The warning about a false promise about a value; `lane` breaks it.
#[cold]
pub(crate) fn build_hint_warning(
    site: Site<'_>,
    lane: usize,
    promise: Promise,
    dimension: usize,
    number: usize,
    value: u64,
) -> Diagnostic {
    let kind = TrapKind::FalsePromise;
    let what = match promise {
        Promise::MultipleOf => format!("the first of every contiguous run is a multiple of {number}"),
        Promise::MaxContiguous => format!("runs of {number} rise by 1"),
        Promise::MaxConstancy => format!("runs of {number} are equal"),
    };
    let message = format!("`tl.{}` of a value that is not so", promise.name());
    site.build_warning(kind, Some(lane), message)
        .note(format!(
            "it promises that along dimension {dimension} {what}; this lane holds {}",
            value as i64
        ))
        .note("the compiler may rely on it: an engine with another result is not blamed")
}

/// The trap for a false `tl.device_assert`.
#[cold]
pub(crate) fn trap_assertion(site: Site<'_>, lane: Option<usize>, message: &str) -> Stop {
    let kind = TrapKind::AssertionFailed;
    let text = if message.is_empty() {
        "device assertion failed".to_owned()
    } else {
        format!("device assertion failed: {message}")
    };
    let diagnostic = site.build_diagnostic(kind, lane, text);
    site.trap(kind, lane, diagnostic)
}

/// The reason why the result of an overflow check is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// An operand has no value.
    NoValue,
    /// It is in a combine function.
    Combined,
}

/// The warning about an overflow check that may fail or not.
#[cold]
pub(crate) fn open_overflow_check(
    site: Site<'_>,
    lane: Option<usize>,
    message: &str,
    why: Open,
) -> Diagnostic {
    let what = match why {
        Open::NoValue => {
            format!("whether the check \"{message}\" fails is not defined: an operand has no value")
        }
        Open::Combined => format!(
            "whether the check \"{message}\" fails depends on how the compiler combines elements: it is in a combine function"
        ),
    };
    site.build_warning(TrapKind::OverflowCheck, lane, what)
        .note("an engine that stops with an overflow is not blamed")
}

/// The trap for an index that a gather's source does not have.
#[cold]
pub(crate) fn index(site: Site<'_>, lane: usize, index: i64, extent: usize) -> Stop {
    let kind = TrapKind::IndexOutOfRange;
    let diagnostic = site.build_diagnostic(
        kind,
        Some(lane),
        format!("`tl.gather` of index {index} from a dimension of {extent}"),
    );
    site.trap(kind, Some(lane), diagnostic)
}

/// The trap for a loop that cannot go on.
#[cold]
pub(crate) fn loop_step(site: Site<'_>, step: i64) -> Stop {
    let kind = TrapKind::LoopStep;
    let diagnostic = site
        .build_diagnostic(
            kind,
            None,
            format!("the step of a loop is {step}, which is not positive"),
        )
        .note("Triton's compiled loops count upward and stop at the first value that is not below the end");
    site.trap(kind, None, diagnostic)
}
