//! The operations that a kernel executes, each with its dtype. `cerith-frontend` records the functions of the language
//! that emitted them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::function::Function;
use super::op::OpKind;
use crate::dtype::DType;

impl OpKind {
    /// Its name in printed IR.
    pub fn mnemonic(&self) -> Cow<'static, str> {
        let text = match self {
            Self::Constant(_) => "constant",
            Self::ProgramId(_) => "program_id",
            Self::NumPrograms(_) => "num_programs",
            Self::Range { .. } => "range",
            Self::Unary(op) => op.name(),
            Self::Binary(op) => op.name(),
            Self::Ternary(op) => op.name(),
            Self::Library(symbol) => return Cow::Owned(format!("libdevice {}", symbol.name)),
            Self::Foreign(foreign) => return Cow::Owned(format!("foreign {:?}", foreign.name())),
            Self::Compare(predicate) => return Cow::Owned(format!("cmp {}", predicate.name())),
            Self::Select => "select",
            Self::Cast { kind, .. } => kind.name(),
            Self::Splat => "splat",
            Self::Broadcast => "broadcast",
            Self::Reshape { .. } => "reshape",
            Self::Trans { .. } => "trans",
            Self::Join => "join",
            Self::Split => "split",
            Self::Cat { .. } => "cat",
            Self::Gather { .. } => "gather",
            Self::AddPtr => "addptr",
            Self::Load { .. } => "load",
            Self::Store { .. } => "store",
            Self::AtomicRmw { op, .. } => return Cow::Owned(format!("atomic_rmw {}", op.name())),
            Self::AtomicCas { .. } => "atomic_cas",
            Self::AtomicPoll { .. } => "atomic_poll",
            Self::Reduce { .. } => "reduce",
            Self::Scan { .. } => "scan",
            Self::Dot { .. } => "dot",
            Self::Histogram { .. } => "histogram",
            Self::For { .. } => "for",
            Self::If { .. } => "if",
            Self::While { .. } => "while",
            Self::Yield => "yield",
            Self::Assert { .. } => "assert",
            Self::Print { .. } => "print",
            Self::Assume => "assume",
            Self::Demand(demand) => return Cow::Owned(format!("demand {}", demand.name())),
            Self::Barrier => "barrier",
            Self::Acquire => "acquire",
            Self::Hint { promise, .. } => return Cow::Owned(format!("hint {}", promise.name())),
            Self::Poison => "poison",
            Self::Unsupported(_) => "unsupported",
        };
        Cow::Borrowed(text)
    }
}

impl Function {
    /// The operations, by their names in printed IR, each with the dtype of its first operand, or of its result if
    /// there is none. Includes the combine functions of reductions and scans.
    pub fn executed(&self) -> BTreeSet<(Cow<'static, str>, Option<DType>)> {
        let mut executed = BTreeSet::new();
        self.body.visit_operations(&mut |op| {
            let values = op.operands.iter().chain(&op.results);
            let dtype = values
                .filter_map(|value| self.values.get(value.0 as usize))
                .find_map(|info| info.ty.elem.num());
            executed.insert((op.kind.mnemonic(), dtype));
            if let OpKind::Reduce {
                combine: Some(combine),
                ..
            }
            | OpKind::Scan {
                combine: Some(combine),
                ..
            } = &op.kind
            {
                executed.insert((Cow::Borrowed(combine.name()), dtype));
            }
        });
        executed
    }
}
