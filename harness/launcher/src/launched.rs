//! A launch that an evaluation reached, and what its parameters are bound to.

use std::collections::BTreeSet;

use super::host::Origin;
use super::value::{Number, Source, Value};
use cerith_module::usage::TensorUse;

/// A launch that was evaluated.
pub(super) struct Launched {
    pub host: String,
    pub line: u32,
    /// How many programs it has.
    pub programs: i64,
    /// The case file after its first line.
    pub text: String,
    /// As `text`, with the launches before it: they store what it loads.
    pub sequence: Option<String>,
    /// Its storages.
    pub tensors: Vec<LaunchedStorage>,
    /// Storages whose number of elements nothing decides.
    pub roomy: BTreeSet<usize>,
    /// Storages with sizes that the kernel's accesses decide.
    pub fitted: BTreeSet<usize>,
    /// Storages whose sizes are all passed.
    pub measured: BTreeSet<usize>,
    /// Storages of tensors whose rows segments divide.
    pub divided: Vec<usize>,
    /// The names of inputs that nothing decides.
    pub assumed: Vec<String>,
    /// The assumed inputs that are numbers.
    pub numbers: BTreeSet<String>,
    /// The tensors that the launcher makes with sizes that depend on assumed numbers.
    pub made: BTreeSet<String>,
}

/// A storage of a launch.
pub(super) struct LaunchedStorage {
    /// Its name in the case file.
    pub name: String,
    /// Its index among the machine's storages.
    pub index: usize,
    pub origin: Origin,
    /// Whether the contents of other tensors place the elements that the kernel accesses.
    pub is_placed: bool,
}

/// The parts of a case file with one launch.
pub(super) struct Written {
    /// The name of each storage, with its index in [`Machine::storages`].
    pub storages: Vec<(String, usize)>,
    /// The text of each storage.
    pub lines: Vec<String>,
    /// The text of the launch.
    pub launch: String,
    /// The storages of tensors whose rows segments divide: the last one ends at the last row.
    pub divided: Vec<usize>,
}

impl Written {
    /// The case file of a kernel without its `about` line.
    pub fn render(&self, kernel: &str) -> String {
        render(kernel, &self.lines, &[format!("  - {}", self.launch)])
    }

    /// A case file with other launches before this one, without its `about` line. `None` if a storage has several names, or a name
    /// several storages.
    pub fn render_after(&self, kernel: &str, stages: &[Stage]) -> Option<String> {
        let mut known: Vec<(&String, usize)> = Vec::new();
        let mut lines = Vec::new();
        for written in stages.iter().map(|stage| &stage.written).chain([self]) {
            for ((name, storage), line) in written.storages.iter().zip(&written.lines) {
                match known.iter().find(|(one, at)| *one == name || at == storage) {
                    Some(found) if *found != (name, *storage) => return None,
                    Some(_) => {}
                    None => {
                        known.push((name, *storage));
                        lines.push(line.clone());
                    }
                }
            }
        }
        let mut launches: Vec<String> = stages
            .iter()
            .map(|stage| format!("  - kernel: {}\n    {}", stage.kernel, stage.written.launch))
            .collect();
        launches.push(format!("  - {}", self.launch));
        Some(render(kernel, &lines, &launches))
    }
}

fn render(kernel: &str, storages: &[String], launches: &[String]) -> String {
    let (storages, launches) = (storages.concat(), launches.concat());
    format!("kernel: {kernel}\nstorages:\n{storages}launches:\n{launches}")
}

/// A launch that the same evaluation reached before others.
pub(super) struct Stage {
    /// The kernel.
    pub kernel: String,
    /// Its parts of a case file.
    pub written: Written,
    /// The storages that it stores to.
    pub stored: BTreeSet<usize>,
}

/// The arguments of a launch, by parameter.
pub(super) struct Bindings<'a> {
    pub values: Vec<(String, Value<'a>)>,
    pub options: Vec<(String, Value<'a>)>,
    /// Parameters that the kernel's own decorators compute.
    pub given: Vec<String>,
    pub grid: Vec<Number>,
}

impl<'a> Bindings<'a> {
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let found = self.values.iter().find(|(one, _)| one == name);
        found.map(|(_, value)| value)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.number().map(|number| number.value)
    }
}

/// The values of a launch that are none of a tensor's indices: negative ones, and sizes.
pub(super) fn list_sentinels(tensor_use: &TensorUse, bindings: &Bindings<'_>) -> Vec<i64> {
    tensor_use.list_sentinels(|name| {
        let number = bindings.get(name).and_then(Value::number)?;
        let is_size = matches!(number.source, Source::Size(_));
        (number.value < 0 || is_size).then_some(number.value)
    })
}
