//! The reference's launches again, with the elements of reductions and scans combined in the other orders that Triton leaves open
//! ([`cerith_interp::Combining`]). A compiled reduction combines what a thread holds, then what neighbouring threads hold, each
//! from its own side, then what warps hold. So elements are combined out of order, and two lanes that the result is broadcast to
//! may have different answers. A compiled scan keeps the order of the elements. If a function is not associative on the elements
//! at hand (or, in a reduction, not commutative), its result has no one value: a subtraction, or `tl.argmax` with a NaN. Those
//! bytes are poison from then on, and the reference says where that comes from.
//!
//! A function that chooses one of two elements by a float key, as that of `tl.argmax` does, leaves another one of a row with a NaN if
//! the NaN comes first than if it comes last. Any other function's result that is stored once has the first element on the left of
//! all others and the last one on the right, as in the thread that stores it.
//!
//! Well-known functions (sums, products, extrema) are not tried: intervals bound every order of them. The diagnostic names the
//! first of several reductions, even if another one caused the difference.

use cerith_interp::Combining;
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{Block, Function, LocId, OpKind, Operation};

use crate::lane_orders::Dependent;
use crate::{Complaint, Outcome, Trap};

/// Whether an operation combines elements by a function that is not well known.
fn is_open(op: &Operation) -> bool {
    matches!(&op.kind, OpKind::Reduce { combine, .. } | OpKind::Scan { combine, .. }
        if combine.is_none() || op.operands.len() != 1)
}

/// Whether a reduction does, here or in a block within.
fn has_open_reduction(block: &Block) -> bool {
    block.ops.iter().any(|op| {
        is_open(op) && matches!(op.kind, OpKind::Reduce { .. }) || op.kind.regions().any(has_open_reduction)
    })
}

/// The locations where a kernel combines elements by a function that is not well known.
pub(crate) fn open(function: &Function) -> Vec<LocId> {
    let mut open = Vec::new();
    function.body.visit_operations(&mut |op| {
        if is_open(op) {
            open.push(op.loc);
        }
    });
    open
}

/// The orders to try for a kernel: first the orders that show most differences; then, if one shows a difference, the others.
///
/// If a function lets a NaN win on one side, the order from the first element to the last returns the result of the elements
/// after the last NaN, and the reverse order returns the result of the elements before the first NaN. So these two always differ;
/// trees hide most NaN of long axes. In threads other than the first, the result comes from the last element's side. It shows
/// only if the result goes to more than one lane, because the first thread stores the result itself.
fn list_orders(function: &Function) -> [&'static [Combining]; 2] {
    use Combining::{
        Backwards, Forwards, Halves, NanFirst, NanLast, Neighbours, Random, RandomLevels, Turned,
    };
    if !has_open_reduction(&function.body) {
        // Scans keep the elements' order: only the brackets are open.
        return [&[Halves, Random(1)], &[]];
    }
    let choices = find_choices(function);
    let spread = spread(&function.body, &mut vec![false; function.values.len()]);
    match (choices, spread) {
        // Without a NaN, all orders produce the same result. With one, these two differ.
        (Choices::Orderly, _) => [&[NanFirst, NanLast], &[Backwards, Halves, Random(1), Random(2)]],
        (Choices::Open, true) => [
            &[Forwards, Backwards, NanFirst, NanLast, Random(1), Random(2)],
            &[Halves, Turned, Neighbours],
        ],
        (Choices::Open, false) => [
            &[
                Forwards,
                Halves,
                Neighbours,
                NanFirst,
                NanLast,
                RandomLevels(1),
                RandomLevels(2),
            ],
            &[],
        ],
        (Choices::Others, true) => [
            &[Forwards, Backwards, Random(1), Random(2)],
            &[Halves, Turned, Neighbours],
        ],
        (Choices::Others, false) => [
            &[Forwards, Halves, Neighbours, RandomLevels(1), RandomLevels(2)],
            &[],
        ],
    }
}

/// The orders to try for several kernels, each once.
pub(crate) fn orders_of_all<'f>(functions: impl Iterator<Item = &'f Function>) -> [Vec<Combining>; 2] {
    let mut all: [Vec<Combining>; 2] = Default::default();
    for function in functions {
        for (all, orders) in all.iter_mut().zip(list_orders(function)) {
            for order in orders {
                if !all.contains(order) {
                    all.push(*order);
                }
            }
        }
    }
    all
}

/// Classifies a kernel's combining functions that are not well known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choices {
    /// All are choices that break ties, in reductions.
    Orderly,
    /// All are choices, in reductions.
    Open,
    Others,
}

/// Finds the class of a kernel's combining functions that are not well known.
pub(crate) fn find_choices(function: &Function) -> Choices {
    let is_float = |value| function.ty(value).elem.num().is_some_and(DType::is_float);
    let mut all = Choices::Orderly;
    function.body.visit_operations(&mut |op| {
        if !is_open(op) {
            return;
        }
        let choice = match &op.kind {
            OpKind::Reduce { region, .. } => region.find_choice(is_float),
            _ => None,
        };
        match choice {
            Some(choice) if choice.breaks_ties => {}
            Some(_) if all == Choices::Orderly => all = Choices::Open,
            Some(_) => {}
            None => all = Choices::Others,
        }
    });
    all
}

/// Whether a combined result goes to more lanes than it has. `from` marks the values that derive from a combined result.
fn spread(block: &Block, from: &mut [bool]) -> bool {
    block.ops.iter().any(|op| {
        let comes = op
            .operands
            .iter()
            .any(|id| from.get(id.0 as usize) == Some(&true));
        let wider = matches!(op.kind, OpKind::Splat | OpKind::Broadcast);
        let inner = op.kind.regions().next().is_some();
        let combines = is_open(op) && matches!(op.kind, OpKind::Reduce { .. });
        if comes && (wider || inner) {
            return true;
        }
        if comes || combines {
            for result in &op.results {
                if let Some(from) = from.get_mut(result.0 as usize) {
                    *from = true;
                }
            }
        }
        // A result of a branch or a loop may come from any value inside of it.
        !combines
            && op.kind.regions().any(|region| {
                let before = from.iter().filter(|&&from| from).count();
                spread(region, from) || {
                    let found = from.iter().filter(|&&from| from).count() > before;
                    found && !op.results.is_empty()
                }
            })
    })
}

/// The diagnostic for a kernel whose result depends on the order in which elements are combined.
pub(crate) fn build_diagnostic(
    function: &Function,
    open: &[LocId],
    dependent: &Dependent,
    memory: &Memory,
) -> Diagnostic {
    let mut stack = open.first().into_iter().flat_map(|&loc| function.call_stack(loc));
    let span = stack.next().unwrap_or_default();
    let others = match open.len() {
        1 => String::new(),
        more => format!(" (one of {more} such operations)"),
    };
    let diagnostic = Diagnostic::warning(
        "combine-order",
        span,
        format!(
            "{} on the order in which elements are combined, which Triton leaves open",
            dependent.describe_bytes(memory)
        ),
    )
    .label_primary(format!("its function is not associative and commutative on these elements{others}"))
    .note("they have no one value, and are not compared")
    .help("keep what has no order (a NaN, for one) from the elements, or use a function that does not depend on it");
    stack.fold(diagnostic, |diagnostic, call| {
        diagnostic.label(call, "called here")
    })
}

/// A trap that occurs if elements are combined in another order, but not in the reference's order.
pub(crate) fn in_an_order(mut complaint: Box<Complaint>) -> Outcome {
    complaint.message += ", in one of the orders in which elements may be combined";
    Outcome::Trapped(Trap::Undefined, complaint)
}
