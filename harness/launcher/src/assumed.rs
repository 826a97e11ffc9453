//! What is assumed of a launch: inputs and numbers of programs that nothing decides.

use std::collections::BTreeSet;

use super::launched::Bindings;
use super::machine::Machine;
use super::plan::{Kind, Scalar};
use super::tensor::Fill;
use super::value::{GUESSED, Number, Source, Value};
use cerith_module::usage::Usage;

/// The beginning of an assumption about the values in a tensor.
pub const ELEMENTS_OF: &str = "the elements of ";

/// Names the assumption of a launch whose number of programs depends on a guessed number.
pub const THE_GRID: &str = "the grid";

/// Begins what is assumed of a launcher that other functions call: how they call it.
pub(super) const CALLERS_OF: &str = "the callers of ";

/// Whether an assumption is only about the callers of a launcher.
pub fn is_of_callers(assumed: &str) -> bool {
    assumed.starts_with(CALLERS_OF)
}

impl<'a> Machine<'a> {
    /// The inputs that nothing decides, and that a launch passes.
    pub fn list_assumed(&self, usage: &Usage, bindings: &Bindings<'a>) -> Vec<String> {
        let mut inputs = self.assumed.clone();
        let all = self.plan.inputs.iter().enumerate();
        inputs.extend(
            all.filter(|(_, one)| one.is_result && one.kind != Kind::Undecided)
                .map(|(at, _)| at),
        );
        for (name, value) in &bindings.values {
            if let Value::Int(Number {
                source: Source::Param(input),
                ..
            }) = value
                && usage.control.contains(name)
                && self.plan.inputs.get(*input).is_some_and(|one| !one.is_default)
            {
                inputs.insert(*input);
            }
        }
        let names = inputs.into_iter().filter_map(|input| self.plan.inputs.get(input));
        let mut names: Vec<String> = names.map(|input| input.name.clone()).collect();
        names.extend(self.list_assumed_tensors(usage, bindings));
        names
    }

    /// The assumed inputs that are numbers.
    pub fn list_assumed_numbers(&self, assumed: &[String]) -> BTreeSet<String> {
        let is_number = |name: &&String| {
            let mut inputs = self.plan.inputs.iter().filter(|input| input.name == **name);
            inputs.any(|input| matches!(input.kind, Kind::Scalar(Scalar::Int(_))))
        };
        assumed.iter().filter(is_number).cloned().collect()
    }

    /// The assumed tensors that the launcher makes: their sizes depend on assumed numbers.
    pub fn list_assumed_made(&self, assumed: &[String], bindings: &Bindings<'a>) -> BTreeSet<String> {
        let is_made = |name: &&String| match bindings.get(name) {
            Some(Value::Tensor(tensor)) => {
                let storage = self.storages.get(tensor.storage);
                storage.is_some_and(|storage| storage.input.is_none() && storage.fill == Fill::Uninit)
            }
            _ => false,
        };
        assumed.iter().filter(is_made).cloned().collect()
    }

    /// The tensors of a launch whose sizes depend on a number that nothing decides, or whose elements matter and are not known.
    fn list_assumed_tensors(&self, usage: &Usage, bindings: &Bindings<'a>) -> Vec<String> {
        let mut names = Vec::new();
        if bindings.grid.iter().any(|one| one.sizes & GUESSED != 0) {
            names.push(THE_GRID.to_owned());
        }
        for (name, value) in &bindings.values {
            let Value::Tensor(tensor) = value else { continue };
            let is_sized = value.sizes() & GUESSED == 0;
            let fill = self.storages.get(tensor.storage).map(|one| &one.fill);
            // Indices that another kernel or torch computes are valid there, and random ones are not.
            let is_index = usage.tensors.iter().any(|one| one.name == *name && one.indexes);
            let is_ordered =
                self.ordered.contains(&tensor.storage) || is_index && fill == Some(&Fill::Computed);
            // Addresses, perhaps: the text does not show the tensors of all accesses.
            let is_address =
                usage.lost > 0 && fill == Some(&Fill::Given) && matches!(tensor.dtype.name, "i64" | "u64");
            if is_ordered {
                names.push(format!("{ELEMENTS_OF}{name}"));
            } else if !is_sized || is_address {
                names.push(name.clone());
            }
        }
        names
    }
}
