//! Lowers loops, conditions and calls. Calls are inlined: Triton has no recursion. See `flow` for branches between
//! blocks.

use cerith_tile::ir::{OpKind, Type, ValueId};

use smallvec::SmallVec;

use super::flow::Ends;
use super::{Bundle, Lowered, Lowering, stop};
use crate::syntax::{Attr, Operation, Region};

impl<'m> Lowering<'m> {
    pub(super) fn lower_control(&mut self, op: &'m Operation) -> Lowered<Option<Vec<Bundle>>> {
        Ok(Some(match op.name.as_str() {
            "scf.for" => self.lower_for(op)?,
            "scf.if" => self.lower_if(op)?,
            "scf.while" => self.lower_while(op)?,
            "scf.execute_region" => match op.regions.as_slice() {
                [region] => self.region_of(region, Vec::new(), Ends::Region)?,
                _ => return stop("`scf.execute_region` without a region"),
            },
            "tt.call" => self.lower_call(op)?,
            "arith.select" => self.select_parts(op)?,
            _ => return Ok(None),
        }))
    }

    fn bundle_types(&self, bundles: &[Bundle]) -> Vec<Type> {
        bundles.iter().flatten().map(|&value| self.ty(value)).collect()
    }

    /// Returns the initial content of local memory in the carried values, which end with it.
    fn initial_memory(&self, initial: &[Bundle]) -> Bundle {
        let count = initial.last().map_or(0, SmallVec::len);
        self.memories.iter().take(count).copied().collect()
    }

    /// Removes the content of local memory, which is the last result.
    fn without_memory(&mut self, mut results: Vec<Bundle>) -> Vec<Bundle> {
        self.memories = results.pop().unwrap_or_default();
        results
    }

    /// Creates new values with the types of these.
    fn new_bundles(&mut self, bundles: &[Bundle]) -> Vec<Bundle> {
        bundles
            .iter()
            .map(|bundle| {
                bundle
                    .iter()
                    .map(|&value| {
                        let ty = self.ty(value);
                        self.builder.add_value(ty)
                    })
                    .collect()
            })
            .collect()
    }

    /// Groups values into bundles of the same sizes.
    fn group_values(flat: impl IntoIterator<Item = ValueId>, shape: &[Bundle]) -> Vec<Bundle> {
        let mut flat = flat.into_iter();
        shape
            .iter()
            .map(|bundle| flat.by_ref().take(bundle.len()).collect())
            .collect()
    }

    /// `scf.for %i = %lower to %upper step %step iter_args(…)`.
    fn lower_for(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let ([counter, carried @ ..], [region]) = (op.bindings.as_slice(), op.regions.as_slice()) else {
            return stop("`scf.for` without a counter and a region");
        };
        if op.has_word("unsigned") {
            return stop("`scf.for unsigned` is not supported yet");
        }
        let [lower, upper, step] = [
            self.single_operand(op, 0)?,
            self.single_operand(op, 1)?,
            self.single_operand(op, 2)?,
        ];
        let mut initial = self.read_values(op.operands.get(3..).unwrap_or_default())?;
        if initial.len() != carried.len() {
            return stop("`scf.for` whose carried values differ from its initial values");
        }
        // The content of local memory is carried last.
        initial.push(self.memories.clone());
        let number = self.ty(lower);
        let index = self.builder.add_value(number);
        let inside = self.new_bundles(&initial);
        let args: Vec<ValueId> = std::iter::once(index)
            .chain(inside.iter().flatten().copied())
            .collect();
        self.builder.open_block(&args);
        let since = self.scope.hidden.len();
        self.define(counter, 0, Bundle::from_slice(&[index]));
        self.memories = inside.last().cloned().unwrap_or_default();
        for (name, bundle) in carried.iter().zip(inside) {
            self.define(name, 0, bundle);
        }
        let mut yields = self.region_of(region, Vec::new(), Ends::Region)?;
        self.forget(since);
        yields.push(self.initial_memory(&initial));
        let yields: Vec<ValueId> = yields.into_iter().flatten().collect();
        let body = self.builder.close_block(&yields);
        let types = self.bundle_types(&initial);
        let operands: Vec<ValueId> = [lower, upper, step]
            .into_iter()
            .chain(initial.iter().flatten().copied())
            .collect();
        let results = self.builder.op_multi(OpKind::For { body }, &operands, &types);
        Ok(self.without_memory(Self::group_values(results, &initial)))
    }

    /// `scf.if`.
    fn lower_if(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let [condition] = self.single_operands(op)?;
        let (then_region, else_region): (&Region, Option<&Region>) = match op.regions.as_slice() {
            [one] => (one, None),
            [one, other] => (one, Some(other)),
            _ => return stop("`scf.if` without a region"),
        };
        let before = self.memories.clone();
        self.builder.open_block(&[]);
        let mut yields = self.region_of(then_region, Vec::new(), Ends::Region)?;
        yields.push(self.memories[..before.len()].into());
        self.memories.clone_from(&before);
        let flat: Vec<ValueId> = yields.iter().flatten().copied().collect();
        let types = self.bundle_types(&yields);
        let then_block = self.builder.close_block(&flat);
        self.builder.open_block(&[]);
        let mut other = match else_region {
            Some(region) => self.region_of(region, Vec::new(), Ends::Region)?,
            None => Vec::new(),
        };
        other.push(self.memories[..before.len()].into());
        let flat: Vec<ValueId> = other.into_iter().flatten().collect();
        let else_block = self.builder.close_block(&flat);
        let kind = OpKind::If {
            then_block,
            else_block,
        };
        let results = self.builder.op_multi(kind, &[condition], &types);
        Ok(self.without_memory(Self::group_values(results, &yields)))
    }

    /// `scf.while (…) : … { … scf.condition(…) … } do { … }`.
    fn lower_while(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let [test, body] = op.regions.as_slice() else {
            return stop("`scf.while` without two regions");
        };
        let [block] = test.blocks.as_slice() else {
            return stop("`scf.while` with branches in its test");
        };
        let Some((condition, ops)) = block.ops.split_last() else {
            return stop("`scf.while` without a test");
        };
        let mut initial = self.read_values(&op.operands)?;
        initial.push(self.memories.clone());
        let mut inside = self.new_bundles(&initial);
        let args: Vec<ValueId> = inside.iter().flatten().copied().collect();
        self.builder.open_block(&args);
        let since = self.scope.hidden.len();
        let names = if op.bindings.is_empty() {
            block.args.iter().map(|arg| arg.name.as_str()).collect()
        } else {
            op.bindings.iter().map(String::as_str).collect::<Vec<_>>()
        };
        self.memories = inside.pop().unwrap_or_default();
        if names.len() != inside.len() || condition.name != "scf.condition" {
            return stop("`scf.while` whose carried values differ from its initial values");
        }
        for (name, bundle) in names.into_iter().zip(inside) {
            self.define(name, 0, bundle);
        }
        for op in ops {
            self.nest(|this| this.lower_operation(op))?;
        }
        let flag = self.single_operand(condition, 0)?;
        let mut passed = self.read_values(condition.operands.get(1..).unwrap_or_default())?;
        passed.push(self.initial_memory(&initial));
        let yields: Vec<ValueId> = std::iter::once(flag)
            .chain(passed.iter().flatten().copied())
            .collect();
        let types = self.bundle_types(&passed);
        self.forget(since);
        let before = self.builder.close_block(&yields);
        let mut taken = self.new_bundles(&passed);
        let args: Vec<ValueId> = taken.iter().flatten().copied().collect();
        self.builder.open_block(&args);
        self.memories = taken.pop().unwrap_or_default();
        let mut yields = self.region_of(body, taken, Ends::Region)?;
        yields.push(self.initial_memory(&initial));
        let yields: Vec<ValueId> = yields.into_iter().flatten().collect();
        let after = self.builder.close_block(&yields);
        let operands: Vec<ValueId> = initial.into_iter().flatten().collect();
        let results = self
            .builder
            .op_multi(OpKind::While { before, after }, &operands, &types);
        Ok(self.without_memory(Self::group_values(results, &passed)))
    }

    /// `tt.call`.
    fn lower_call(&mut self, op: &'m Operation) -> Lowered<Vec<Bundle>> {
        let name = op.words.iter().find_map(|attr| match attr {
            Attr::Symbol(name) => Some(name.as_str()),
            _ => None,
        });
        let name = name.or_else(|| op.find_attr("callee").and_then(Attr::text));
        let Some(&func) = name.and_then(|name| self.functions.get(name)) else {
            return stop(format!(
                "a call of `{}`, which is not defined",
                name.unwrap_or_default()
            ));
        };
        let args = self.read_values(&op.operands)?;
        if func.args.len() != args.len() {
            return stop(format!("a call of `{}` with {} arguments", func.name, args.len()));
        }
        let scope = std::mem::take(&mut self.scope);
        let at = self.builder.loc();
        let caller = self.locations.caller.replace(at);
        for (arg, value) in func.args.iter().zip(&args) {
            self.define(&arg.name, 0, value.clone());
        }
        // The arguments of a function's entry block are declared in its head.
        let results = self.region_of(&func.body, Vec::new(), Ends::Function);
        self.locations.caller = caller;
        self.scope = scope;
        self.builder.set_loc(at);
        results
    }

    /// Lowers `arith.select` of values with several parts.
    fn select_parts(&mut self, op: &Operation) -> Lowered<Vec<Bundle>> {
        let condition = self.single_operand(op, 0)?;
        let [_, one, other] = op.operands.as_slice() else {
            return stop("`arith.select` of other than three operands");
        };
        let (one, other) = (self.bundle(one)?, self.bundle(other)?);
        if one.len() != other.len() {
            return stop("`arith.select` of values with different parts");
        }
        let mut parts = Bundle::new();
        for (&a, &b) in one.iter().zip(&other) {
            let ty = self.ty(a);
            parts.push(self.push_op(OpKind::Select, &[condition, a, b], ty));
        }
        Ok(vec![parts])
    }
}
