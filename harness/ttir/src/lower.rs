//! Lowers MLIR to the reference's IR. An MLIR value becomes a bundle of values: one, or the parts of a block pointer or
//! tensor descriptor.

mod access;
mod arith;
mod assembly;
mod constant;
mod control;
mod dot;
mod flow;
mod gpu;
mod library;
mod locations;
mod reduce;
mod shape;
mod stop;
mod tiles;
mod types;

use std::sync::Arc;

use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::{BinaryOp, Builder, Elem, Function, OpKind, Type, ValueId};
use cerith_tile::source::{SourceFile, Sources, Span};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::parse::SyntaxError;
use crate::syntax::{self, Func, Module, Operation};

use gpu::View;
use locations::LocationTable;
pub use locations::Origin;
use stop::{Lowered, Stop, stop};

/// The IR values of one MLIR value.
type Bundle = SmallVec<[ValueId; 1]>;

/// Maximum operations of a kernel, before and after inlining, which can double the text again and again.
const MOST_OPERATIONS: usize = 1 << 18;

/// Maximum nesting of calls, regions and branches together.
const DEEPEST: usize = 128;

/// Maximum stack of one level, and the amount to allocate if less is left.
const RED_ZONE: usize = 128 << 10;
const GROWTH: usize = 1 << 20;

/// The module has an unsupported construct.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .diagnostic.message)]
pub struct Refused {
    /// The operation and its line.
    pub diagnostic: Box<Diagnostic>,
    /// The files of the diagnostic.
    pub sources: Box<Sources>,
}

/// Lowers a module's kernel. The parameters are those of the compiled kernel, in order; a tensor descriptor is its
/// base, extents, strides and flags.
///
/// # Errors
/// The module has no kernel, or an unsupported construct. Limits keep it from running out of memory.
pub fn lower(module: &Module, origin: &Origin<'_>) -> Result<Function, Refused> {
    let mut sources = Sources::default();
    let file = Arc::new(SourceFile::new(origin.name, origin.text));
    let text = sources.add(Arc::clone(&file));
    let refuse = |sources: Sources, stop: Stop| {
        let start = stop.offset.unwrap_or_default().min(origin.text.len());
        let end = origin.text.get(start..).and_then(|rest| rest.find('\n'));
        let end = start + end.unwrap_or_default();
        let span = Span::new(text, start as u32, end as u32);
        Refused {
            diagnostic: Box::new(Diagnostic::error("unsupported", span, stop.message)),
            sources: Box::new(sources),
        }
    };
    let Some(kernel) = module.functions.iter().find(|func| func.is_public) else {
        let stop = Stop {
            message: "the module has no public function".to_owned(),
            offset: None,
        };
        return Err(refuse(sources, stop));
    };
    let span = Span::new(text, kernel.offset as u32, kernel.offset as u32);
    let mut lowering = Lowering {
        builder: Builder::new(kernel.name.clone(), sources.clone(), span),
        functions: module
            .functions
            .iter()
            .map(|func| (func.name.as_str(), func))
            .collect(),
        locations: LocationTable::new(module, origin, text),
        scope: Scope::default(),
        memories: Bundle::new(),
        numbers: FxHashMap::default(),
        depth: 0,
        steps: 0,
        flags: origin.descriptor_flags,
    };
    if let Err(stop) = lowering.lower_kernel(kernel) {
        return Err(refuse(sources, stop));
    }
    let function = lowering.builder.finish();
    match function.verify() {
        Ok(()) => Ok(function),
        Err(error) => {
            let message = format!("{}, in `{}`", error.violation, error.operation);
            Err(Refused {
                diagnostic: Box::new(Diagnostic::error("unsupported", error.span, message)),
                sources: Box::new(function.sources),
            })
        }
    }
}

impl SyntaxError {
    /// Reports it as an unsupported construct at a line of the text.
    pub fn to_refused(&self, origin: &Origin<'_>) -> Refused {
        let mut sources = Sources::default();
        let text = sources.add(SourceFile::new(origin.name, origin.text));
        let span = Span::new(text, self.offset as u32, self.offset as u32);
        Refused {
            diagnostic: Box::new(Diagnostic::error("unsupported", span, self.message.clone())),
            sources: Box::new(sources),
        }
    }
}

/// The entity that a name refers to.
#[derive(Clone, Debug)]
enum Binding {
    /// Values.
    Parts(Bundle),
    /// Local memory, or a part of it.
    View(View),
}

/// The values in scope, with the outer values that they shadow.
#[derive(Debug, Default)]
struct Scope<'m> {
    values: FxHashMap<(&'m str, usize), Binding>,
    /// The bindings to restore when a region ends.
    hidden: Vec<((&'m str, usize), Option<Binding>)>,
}

struct Lowering<'m> {
    builder: Builder,
    functions: FxHashMap<&'m str, &'m Func>,
    locations: LocationTable<'m>,
    scope: Scope<'m>,
    /// The current content of each local memory.
    memories: Bundle,
    /// Constants: values with the same number in every lane, with its bits.
    numbers: FxHashMap<ValueId, u64>,
    depth: usize,
    /// Operations lowered so far.
    steps: usize,
    /// Number of flags of a descriptor parameter.
    flags: usize,
}

impl<'m> Lowering<'m> {
    fn lower_kernel(&mut self, kernel: &'m Func) -> Lowered<()> {
        self.locations
            .enter(&mut self.builder, &kernel.place, kernel.offset);
        for arg in &kernel.args {
            let types = types::bundle_types(&arg.ty)?;
            let name = self
                .locations
                .argument_name(&arg.place)
                .unwrap_or(&arg.name)
                .to_owned();
            let passed = match &arg.ty {
                syntax::Type::Descriptor(..) => types.len() - types::FLAGS + self.flags.min(types::FLAGS),
                _ => types.len(),
            };
            let mut bundle = Bundle::new();
            for (nth, ty) in types.iter().enumerate() {
                if !ty.is_scalar() {
                    return stop("a kernel takes a tensor");
                }
                bundle.push(if nth >= passed {
                    self.builder.add_constant(0, ty.clone())
                } else if types.len() == 1 {
                    self.builder.add_param(name.clone(), ty.clone())
                } else {
                    self.builder.add_param(format!("{name}.{nth}"), ty.clone())
                });
            }
            self.define(&arg.name, 0, bundle);
        }
        let results = self.region_of(&kernel.body, Vec::new(), flow::Ends::Function)?;
        if results.is_empty() {
            Ok(())
        } else {
            stop("a kernel returns a value")
        }
    }

    /// Returns the dtype of a value's elements, if it is a number.
    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.builder.ty(value).elem.num()
    }

    fn ty(&self, value: ValueId) -> Type {
        self.builder.ty(value).clone()
    }

    /// Returns all parts of an operand.
    fn bundle(&self, operand: &syntax::Operand) -> Lowered<Bundle> {
        match self.scope.values.get(&(operand.name.as_str(), operand.nth)) {
            Some(Binding::Parts(bundle)) => Ok(bundle.clone()),
            Some(Binding::View(_)) => stop(format!(
                "`%{}` is local memory, which is not a value",
                operand.name
            )),
            None => stop(format!("`%{}` is not defined", operand.name)),
        }
    }

    /// Returns an operand with one part.
    fn single_operand(&self, op: &Operation, nth: usize) -> Lowered<ValueId> {
        let Some(operand) = op.operands.get(nth) else {
            return stop(format!("`{}` has no operand {nth}", op.name));
        };
        match self.bundle(operand)?.as_slice() {
            &[value] => Ok(value),
            _ => stop(format!("`{}` of a value with parts", op.name)),
        }
    }

    /// Returns exactly `N` operands, each with one part.
    fn single_operands<const N: usize>(&self, op: &Operation) -> Lowered<[ValueId; N]> {
        if op.operands.len() != N {
            return stop(format!("`{}` with {} operands", op.name, op.operands.len()));
        }
        let mut values = [ValueId(0); N];
        for (nth, value) in values.iter_mut().enumerate() {
            *value = self.single_operand(op, nth)?;
        }
        Ok(values)
    }

    /// Binds a name to a value.
    fn define(&mut self, name: &'m str, nth: usize, bundle: Bundle) {
        if let &[value] = bundle.as_slice()
            && !name.starts_with(|first: char| first.is_ascii_digit())
        {
            let stem = name.trim_end_matches(|last: char| last.is_ascii_digit());
            self.builder
                .name_value(value, stem.strip_suffix('_').unwrap_or(name));
        }
        self.bind(name, nth, Binding::Parts(bundle));
    }

    fn bind(&mut self, name: &'m str, nth: usize, named: Binding) {
        let before = self.scope.values.insert((name, nth), named);
        self.scope.hidden.push(((name, nth), before));
    }

    /// Binds the names of an operation's results.
    fn define_results(&mut self, op: &'m Operation, bundles: Vec<Bundle>) -> Lowered<()> {
        let wanted: usize = op
            .results
            .iter()
            .fold(0, |sum: usize, (_, count)| sum.saturating_add(*count));
        // An operation that defines local memory has bound its name itself.
        if wanted != bundles.len() && wanted != 0 && !bundles.is_empty() {
            return stop(format!(
                "`{}` has {} results, and {wanted} are named",
                op.name,
                bundles.len()
            ));
        }
        let mut bundles = bundles.into_iter();
        for (name, count) in &op.results {
            for nth in 0..*count {
                let Some(bundle) = bundles.next() else { break };
                self.define(name, nth, bundle);
            }
        }
        Ok(())
    }

    /// Removes the definitions after `since`.
    fn forget(&mut self, since: usize) {
        while self.scope.hidden.len() > since {
            let Some((key, before)) = self.scope.hidden.pop() else {
                break;
            };
            match before {
                Some(named) => self.scope.values.insert(key, named),
                None => self.scope.values.remove(&key),
            };
        }
    }

    /// Runs `inner` one level deeper.
    fn nest<T>(&mut self, inner: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        if self.depth >= DEEPEST {
            return stop(format!(
                "calls, regions and branches nest more than {DEEPEST} deep"
            ));
        }
        self.depth += 1;
        let result = stacker::maybe_grow(RED_ZONE, GROWTH, || inner(self));
        self.depth -= 1;
        result
    }

    fn push_op(&mut self, kind: OpKind, operands: &[ValueId], ty: Type) -> ValueId {
        self.builder.add_op(kind, operands, ty)
    }

    /// Emits an operation on two operands of the same type.
    fn push_binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        self.push_op(OpKind::Binary(op), &[a, b], ty)
    }

    /// Emits a number in every lane.
    fn push_number(&mut self, number: i64, ty: Type) -> ValueId {
        self.builder.add_constant(number as u64, ty)
    }

    /// Returns the type of `i1` lanes with this shape.
    fn bool_type(ty: &Type) -> Type {
        ty.with_elem(Elem::Num(DType::I1))
    }
}

/// Returns the type of the result, which must have one part.
fn result_type(op: &Operation) -> Lowered<Type> {
    match op.result_types().first() {
        Some(ty) => types::one_type(ty),
        None => stop(format!("`{}` has no result type", op.name)),
    }
}

impl<'m> Lowering<'m> {
    /// Lowers an operation other than a terminator.
    fn lower_operation(&mut self, op: &'m Operation) -> Lowered<()> {
        self.steps += 1;
        if self.builder.work().max(self.steps) > MOST_OPERATIONS {
            return stop(format!("the kernel is of more than {MOST_OPERATIONS} operations"));
        }
        let before = self.locations.enter(&mut self.builder, &op.place, op.offset);
        let done = self
            .lower_results(op)
            .and_then(|bundles| self.apply_promises(op, bundles))
            .and_then(|bundles| self.define_results(op, bundles));
        self.builder.set_loc(before);
        done.map_err(|stop| stop.or_at(op.offset))
    }

    fn lower_results(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        if let Some(value) = self.lower_arith(op)? {
            return Ok(vec![Bundle::from_slice(&[value])]);
        }
        if let Some(values) = self.lower_shape(op)? {
            return Ok(values
                .into_iter()
                .map(|value| Bundle::from_slice(&[value]))
                .collect());
        }
        for known in [
            Self::lower_assembly,
            Self::lower_access,
            Self::lower_tiles,
            Self::lower_control,
            Self::lower_reduce,
            Self::lower_dot,
            Self::lower_gpu,
        ] {
            if let Some(bundles) = known(self, op)? {
                return Ok(bundles);
            }
        }
        stop(format!("`{}` is not supported yet", op.name))
    }
}
