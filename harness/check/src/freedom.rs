//! The sizes and strides of a kernel's launches that a search for wrapping integers may choose, within the kernel's contract.

use std::collections::{BTreeMap, BTreeSet};

use cerith_case::Launch;
use cerith_prove::overflow::Freedom;
use cerith_prove::{Contract, Size};
use cerith_tile::ir::Function;

use super::contract::{LaunchNumbers, Layouts, Relations, list_names, list_runtime, name_stride, see_launch};

/// The largest size of a search: with it, a tensor has more elements than 32 bits count.
const MAX_SIZE: i64 = 1 << 33;

/// Maximum bytes of a launch's tensors together.
const MAX_BYTES: i128 = 1 << 46;

/// Maximum programs on the first axis of a grid, and on the others.
const MAX_PROGRAMS: [i64; 3] = [i32::MAX as i64, u16::MAX as i64, u16::MAX as i64];

/// A name that a launcher compares with a block is at most the block in so many launches.
const MIN_LAUNCHES: usize = 3;

impl Relations {
    /// The freedom of launches like this one.
    pub fn build_freedom(
        &self,
        function: &Function,
        launch: &Launch,
        contract: &Contract,
        layouts: &Layouts,
    ) -> Option<Freedom> {
        let own = see_launch(launch)?;
        let mut freedom = Freedom {
            start: own.numbers.clone(),
            ..Freedom::default()
        };
        for (axis, count) in own.grid.iter().enumerate() {
            freedom.start.insert(format!("num_programs({axis})"), *count);
        }
        let is_size = |name: &str| {
            let shapes = layouts.values().flat_map(|layout| &layout.shape);
            shapes.flat_map(Size::list_names).any(|one| one == name)
        };
        for (tensor, layout) in layouts {
            for (dim, stride) in layout.strides.iter().enumerate() {
                let Size::Name(name) = stride else { continue };
                if is_size(name) {
                    continue;
                }
                freedom.strides.insert(name.clone());
                // Tensors without gaps in all launches have none in a search.
                let inner = Size::Product(layout.shape.get(dim + 1..).unwrap_or_default().to_vec());
                let key = name_stride(tensor, dim);
                let is_dense = self.holds(&inner, &|seen| seen.numbers.get(&key).copied());
                if is_dense && !freedom.ties.iter().any(|(known, _)| known == name) {
                    freedom.ties.push((name.clone(), inner));
                }
            }
        }
        let names = list_names(layouts, &contract.grid);
        freedom.ties.extend(self.list_ties(function, &names));
        for (name, &(least, most)) in &contract.ranges {
            if freedom.ties.iter().any(|(known, _)| known == name) {
                continue;
            }
            // An argument of 1 is known when the kernel is compiled.
            let most = if freedom.strides.contains(name) {
                most
            } else {
                self.find_cap(&own, name).unwrap_or(MAX_SIZE)
            };
            freedom.ranges.insert(name.clone(), (least.max(2), most));
        }
        Some(freedom)
    }

    /// The arguments that follow from names, and how.
    pub fn list_ties(&self, function: &Function, names: &BTreeSet<String>) -> Vec<(String, Size)> {
        let others = list_runtime(function)
            .into_iter()
            .filter(|name| !names.contains(*name));
        others
            .filter_map(|name| Some((name.to_owned(), self.find_tie(name, names)?)))
            .collect()
    }

    /// The value of a block that a name never exceeds: a row that fits in a block.
    fn find_cap(&self, own: &LaunchNumbers, name: &str) -> Option<i64> {
        let fits = |block: &&String| {
            self.launches.len() >= MIN_LAUNCHES
                && self.launches.iter().all(|seen| {
                    let pair = seen.numbers.get(name).zip(seen.numbers.get(*block));
                    pair.is_some_and(|(size, block)| size <= block)
                })
        };
        let blocks = self.constants.iter().filter(fits);
        blocks.filter_map(|block| own.numbers.get(block).copied()).min()
    }

    /// An argument as a function of names that may change: one of them, a product of two, or a number of blocks.
    fn find_tie(&self, name: &str, names: &BTreeSet<String>) -> Option<Size> {
        let value = |seen: &LaunchNumbers| seen.numbers.get(name).copied();
        let varies = |size: &Size| {
            let mut values = self.launches.iter().map(|seen| size.evaluate(&seen.numbers));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let is_constant = |name: &&String| self.constants.contains(*name);
        let names = names.iter().filter(|name| !is_constant(name));
        let names: Vec<Size> = names.cloned().map(Size::Name).collect();
        let blocks = self.constants.iter().map(|block| Size::Name(block.clone()));
        let quotients = blocks.flat_map(|block| {
            let cdiv = move |size: &Size| Size::Cdiv(Box::new(size.clone()), Box::new(block.clone()));
            names.iter().map(cdiv).collect::<Vec<_>>()
        });
        let products = names.iter().enumerate().flat_map(|(nth, a)| {
            let others = names.iter().skip(nth);
            others.map(move |b| Size::Product(vec![a.clone(), b.clone()]))
        });
        let mut all = names.iter().cloned().chain(products).chain(quotients);
        all.find(|size| self.holds(size, &value) && varies(size))
    }
}

/// The shapes, strides and grid of a launch with chosen sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// The shape and the strides of each tensor.
    pub tensors: BTreeMap<String, (Vec<i64>, Vec<i64>)>,
    /// Programs on each axis.
    pub grid: [u32; 3],
}

impl Extents {
    /// The extents for sizes. `None` if they are outside of the contract, or no launch can have them.
    pub fn from_sizes(
        contract: &Contract,
        layouts: &Layouts,
        own: &Freedom,
        sizes: &BTreeMap<String, i64>,
    ) -> Option<Self> {
        let mut extents = Self::default();
        for (axis, to) in extents.grid.iter_mut().enumerate() {
            let count = match contract.grid.get(axis)? {
                Some(size) => size.evaluate(sizes)?,
                None => *own.start.get(&format!("num_programs({axis})"))?,
            };
            let fits = (1..=*MAX_PROGRAMS.get(axis)?).contains(&count);
            *to = u32::try_from(count).ok().filter(|_| fits)?;
        }
        let mut bytes = 0i128;
        for (name, layout) in layouts {
            let evaluate =
                |all: &[Size]| -> Option<Vec<i64>> { all.iter().map(|one| one.evaluate(sizes)).collect() };
            let (shape, strides) = (evaluate(&layout.shape)?, evaluate(&layout.strides)?);
            let is_broadcast = |dim: usize| own.start.get(&name_stride(name, dim)) == Some(&0);
            // Strides from the smallest on: each passes all elements of the dimensions before.
            let mut dims: Vec<(i64, i64, bool)> = shape
                .iter()
                .zip(&strides)
                .enumerate()
                .map(|(dim, (&size, &stride))| (stride, size, is_broadcast(dim)))
                .collect();
            dims.sort_unstable();
            let mut span = 1i128;
            for (stride, size, is_broadcast) in dims {
                if size < 1 || stride < 0 {
                    return None;
                }
                if size > 1 && !(is_broadcast && stride == 0) {
                    if i128::from(stride) < span {
                        return None;
                    }
                    span += i128::from(size - 1) * i128::from(stride);
                }
            }
            bytes += span * 8;
            extents.tensors.insert(name.clone(), (shape, strides));
        }
        let holds = |(a, b): &(Size, Size)| a.evaluate(sizes) <= b.evaluate(sizes);
        let divides = |(name, by): (&String, &i64)| sizes.get(name).is_some_and(|value| value % by == 0);
        let is_right =
            bytes <= MAX_BYTES && contract.orders.iter().all(holds) && contract.multiples.iter().all(divides);
        is_right.then_some(extents)
    }
}
