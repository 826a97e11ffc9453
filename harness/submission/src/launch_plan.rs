//! The launches of a call, without their data. Two calls that differ only in their data must make the same launches: a scalar, a
//! constant or a table that differs was computed by the program from the data.

use std::rc::Rc;

use cerith_case::{ArgValue, Launch};
use cerith_memory::{Memory, StorageId, Tensor};
use cerith_tile::DType;

use crate::gather::{Arranged, is_gathered};
use crate::provenance::{Content, Recipe, Source, SourceKey, find_copied_view};
use crate::trial::Trial;
use cerith_runner::oracle::session::{Executed, list_places};
use cerith_runner::preflight::find_kernel_name;

/// The launches of a call.
#[derive(Debug)]
pub(super) struct Plan {
    /// Which trial.
    pub trial: usize,
    launches: Vec<Planned>,
    /// The outputs: the launch that left each, and the view of its storage.
    outputs: Vec<(usize, Tensor)>,
}

#[derive(Debug)]
struct Planned {
    number: u64,
    executed: Rc<Executed>,
    /// The contents of its storages before it.
    before: Memory,
    /// Kernel, grid, scalars and views.
    settings: String,
    recipes: Vec<Recipe>,
}

/// A difference between the launches of two calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The kernel of the launch.
    pub kernel: String,
    /// The difference, in words.
    pub text: String,
}

impl Plan {
    /// The launches of a call of a trial.
    pub fn new(trial: usize) -> Self {
        Self {
            trial,
            launches: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// How many launches there are.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Adds a launch, and finds the origins of its storages.
    pub fn add(&mut self, trial: &Trial, number: u64, executed: Rc<Executed>) {
        let before = executed.case.memory();
        let recipes = {
            let sources = self.list_sources(trial, self.launches.len());
            let find = |storage| Recipe::find(read_content(&executed, &before, storage), &sources);
            (0..count_storages(&executed)).map(find).collect()
        };
        self.launches.push(Planned {
            number,
            settings: describe_settings(&executed),
            before,
            recipes,
            executed,
        });
    }

    /// Sets the outputs: the number of a launch, and the view.
    pub fn set_outputs(&mut self, outputs: impl IntoIterator<Item = (u64, Tensor)>) {
        let find = |number| self.launches.iter().position(|planned| planned.number == number);
        let outputs = outputs
            .into_iter()
            .filter_map(|(number, tensor)| Some((find(number)?, tensor)));
        self.outputs = outputs.collect();
    }

    /// The elements of a view of a storage that a launch left.
    fn read_elements(&self, (nth, tensor): &(usize, Tensor)) -> Option<Vec<u8>> {
        let executed = &self.launches.get(*nth)?.executed;
        read_elements(executed, tensor)
    }

    /// Whether an output is the same view in another call. Views are also the same if one has the other's elements.
    fn has_same_output(&self, other: &Self, nth: usize) -> bool {
        let (Some(mine), Some(others)) = (self.outputs.get(nth), other.outputs.get(nth)) else {
            return false;
        };
        mine == others
            || self.read_elements(mine) == self.read_elements(others)
            || other.read_elements(mine) == other.read_elements(others)
    }

    /// The sources of the call's launch `nth`.
    fn list_sources<'a>(&'a self, trial: &'a Trial, nth: usize) -> Vec<Source<'a>> {
        let inputs = trial.storages.iter().enumerate().map(|(at, (_, bytes))| {
            let views = trial.views.iter().filter(|(storage, _)| *storage == at);
            Source {
                key: SourceKey::Input(at),
                bytes,
                views: views.map(|(_, tensor)| tensor.clone()).collect(),
            }
        });
        let left = self
            .launches
            .iter()
            .take(nth)
            .enumerate()
            .flat_map(|(launch, planned)| {
                (0..count_storages(&planned.executed)).map(move |storage| Source {
                    key: SourceKey::Left(launch, storage),
                    bytes: planned.executed.kernel.bytes(StorageId(storage)),
                    views: list_views(&planned.executed, storage),
                })
            });
        inputs.chain(left).collect()
    }

    /// The first storage with values that the program computed: the launch's kernel, and the tensor.
    pub fn find_computed(&self) -> Option<(String, String)> {
        self.launches.iter().find_map(|planned| {
            let nth = planned
                .recipes
                .iter()
                .position(|recipe| matches!(recipe, Recipe::Computed(_)))?;
            let tensor = planned.executed.case.tensors.get(nth);
            let tensor = tensor.map_or_else(|| format!("storage {nth}"), |named| named.name.clone());
            Some((find_kernel_name(&planned.executed.case), tensor))
        })
    }

    /// The first difference between the launches of a call and those of the first of other calls, that is not one of its inputs.
    pub fn find_difference(&self, trial: &Trial, others: &[(&Self, &Trial)]) -> Option<Difference> {
        let &(first, first_trial) = others.first()?;
        first.compare(first_trial, self, trial, others)
    }

    fn compare(
        &self,
        trial: &Trial,
        other: &Self,
        other_trial: &Trial,
        calls: &[(&Self, &Trial)],
    ) -> Option<Difference> {
        for (nth, (mine, others)) in self.launches.iter().zip(&other.launches).enumerate() {
            let kernel = find_kernel_name(&mine.executed.case);
            if mine.settings != others.settings {
                let text = "it is launched otherwise for other data of the same shapes: the program computes its grid or its \
                            scalars from the data";
                return Some(Difference {
                    kernel,
                    text: text.to_owned(),
                });
            }
            let sources = self.list_sources(trial, nth);
            let other_sources = other.list_sources(other_trial, nth);
            for (storage, (recipe, other_recipe)) in (0..).zip(mine.recipes.iter().zip(&others.recipes)) {
                let content = read_content(&mine.executed, &mine.before, storage);
                let other_content = read_content(&others.executed, &others.before, storage);
                if recipe != other_recipe
                    && !recipe.produces(other_content, &other_sources)
                    && !other_recipe.produces(content, &sources)
                    && !is_gathered_in(calls.iter().copied().chain([(other, other_trial)]), nth, storage)
                {
                    let tensor = mine.executed.case.tensors.get(storage as usize);
                    let tensor = tensor.map_or("a storage", |named| named.name.as_str());
                    return Some(Difference {
                        kernel,
                        text: format!("`{tensor}` holds values that the program computes from the data"),
                    });
                }
            }
        }
        let text = if self.len() != other.len() {
            "there are more launches, or fewer, for other data of the same shapes"
        } else if (0..self.outputs.len()).any(|nth| !self.has_same_output(other, nth)) {
            "its result is another part of the memory for other data of the same shapes"
        } else {
            return None;
        };
        let last = self.launches.last();
        Some(Difference {
            kernel: last.map_or_else(String::new, |planned| find_kernel_name(&planned.executed.case)),
            text: text.to_owned(),
        })
    }

    /// The storage that some launch left and that these elements are a copy of: the launch's number, and the view.
    pub fn find_copy(&self, bits: &[u8], dtype: DType) -> Option<(u64, Tensor)> {
        let left = self.launches.iter().enumerate().flat_map(|(launch, planned)| {
            (0..count_storages(&planned.executed)).map(move |storage| Source {
                key: SourceKey::Left(launch, storage),
                bytes: planned.executed.kernel.bytes(StorageId(storage)),
                views: list_views(&planned.executed, storage),
            })
        });
        let sources: Vec<Source<'_>> = left.collect();
        let (key, view) = find_copied_view(bits, dtype, &sources)?;
        let SourceKey::Left(launch, storage) = key else {
            return None;
        };
        let view = Tensor {
            storage: StorageId(storage),
            ..view
        };
        Some((self.launches.get(launch)?.number, view))
    }
}

/// Whether a storage of the launch `nth` holds the same elements in all calls. See [`is_gathered`].
fn is_gathered_in<'a>(calls: impl Iterator<Item = (&'a Plan, &'a Trial)>, nth: usize, storage: u32) -> bool {
    let calls: Vec<_> = calls
        .filter_map(|(plan, trial)| {
            let launch = plan.launches.get(nth)?;
            Some((launch, plan.list_sources(trial, nth)))
        })
        .collect();
    let arranged = calls.iter().map(|(launch, sources)| Arranged {
        content: read_content(&launch.executed, &launch.before, storage),
        sources,
    });
    is_gathered(&arranged.collect::<Vec<_>>())
}

/// The storages of a launch that its frame names.
pub(super) fn count_storages(executed: &Executed) -> u32 {
    u32::try_from(executed.case.named_storages).unwrap_or(u32::MAX)
}

/// The elements of a view of a storage that a launch left, in row-major order. `None` if the view leaves it.
pub(super) fn read_elements(executed: &Executed, tensor: &Tensor) -> Option<Vec<u8>> {
    if tensor.storage.0 as usize >= executed.kernel.len() || !tensor.is_proper() {
        return None;
    }
    let bytes = executed.kernel.bytes(tensor.storage);
    let size = tensor.dtype.size();
    let places = list_places(tensor, bytes.len())?;
    let elements = places.iter().filter_map(|&place| bytes.get(place..place + size));
    Some(elements.collect::<Vec<_>>().concat())
}

fn read_content<'a>(executed: &Executed, memory: &'a Memory, storage: u32) -> Content<'a> {
    let declared = executed.case.declared.get(storage as usize);
    Content {
        bytes: memory.bytes(StorageId(storage)),
        states: memory.states(StorageId(storage)),
        dtype: declared.map_or(DType::U8, |declared| declared.dtype),
    }
}

/// The tensors of a launch that show a storage.
fn list_views(executed: &Executed, storage: u32) -> Vec<Tensor> {
    let arguments = executed.case.launches.iter().flat_map(Launch::arguments);
    let views = arguments.filter_map(|(_, arg)| match &arg.value {
        ArgValue::Tensor { tensor, .. } if tensor.storage == StorageId(storage) => Some(tensor.clone()),
        _ => None,
    });
    views.collect()
}

/// All of a launch except the contents of its storages.
fn describe_settings(executed: &Executed) -> String {
    let case = &executed.case;
    let text = case.text_of(&case.module);
    let launches = case.launches.iter().map(|launch| {
        let arguments: Vec<_> = launch.arguments().map(|(name, arg)| (name, &arg.value)).collect();
        format!(
            "{} {:?} {arguments:?} {:?}",
            launch.kernel.name, launch.grid, launch.options
        )
    });
    format!("{} {text}", launches.collect::<Vec<_>>().join("; "))
}
