//! The contract of a kernel, from the launches that are tried: the arguments that are sizes or strides of tensors, and the sizes that
//! the grid follows from.
//!
//! A relation is part of the contract if it holds in all launches, and at least two of them differ in its value. A size
//! that no argument equals gets a name of its own, `x.shape[0]`, and may be anything from 1.

use std::collections::{BTreeMap, BTreeSet};

use cerith_case::{ArgValue, Case, Launch};
use cerith_prove::{Assumption, Contract, Size, Source};
use cerith_tile::DType;
use cerith_tile::ir::{Elem, Function};

/// The distance of sizes from the largest `i32`: a block fits between.
const MARGIN: i64 = 1 << 16;

/// Numbers that sizes may be multiplied with.
const FACTORS: [i64; 4] = [2, 3, 4, 8];

/// Numbers of blocks that must occur before they are taken for those of a size: small ones are equal by chance.
const MIN_QUOTIENTS: usize = 4;

/// The largest size.
const MAX_SIZE: i64 = i32::MAX as i64 - MARGIN;

/// A launch as far as a contract is concerned.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaunchNumbers {
    /// Integers by name: parameters, `x.shape[0]`, `x.stride(0)`.
    pub(crate) numbers: BTreeMap<String, i64>,
    /// Sizes and strides of tensors, by parameter.
    pub(crate) tensors: BTreeMap<String, (Vec<i64>, Vec<i64>)>,
    pub(crate) grid: [i64; 3],
}

/// The shape and the strides of a tensor, in terms of the sizes of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sizes of its dimensions.
    pub shape: Vec<Size>,
    /// Their strides.
    pub strides: Vec<Size>,
}

/// The layouts of tensors, by parameter.
pub type Layouts = BTreeMap<String, Layout>;

/// Launches of one kernel, and the relations between their arguments.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    pub(crate) launches: Vec<LaunchNumbers>,
    /// Parameters whose values are known when the kernel is compiled.
    pub(crate) constants: BTreeSet<String>,
    source: Option<Source>,
}

impl Relations {
    /// The relations of no launches yet. `source` is where these come from.
    pub fn new(source: Source) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }

    /// Adds the launches of a kernel in a case.
    pub fn add(&mut self, kernel: &str, case: &Case) {
        for launch in case.launches.iter().filter(|launch| launch.kernel.name == kernel) {
            self.launches.extend(see_launch(launch));
            let function = launch.kernel.function();
            let parameters = function.into_iter().flat_map(|function| &function.parameters);
            let constants = parameters.filter(|parameter| parameter.constexpr);
            self.constants
                .extend(constants.map(|parameter| parameter.name.clone()));
        }
    }

    /// Adds other launches of the kernel.
    pub fn extend(&mut self, other: Self) {
        self.launches.extend(other.launches);
        self.constants.extend(other.constants);
    }

    /// Number of launches.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Whether a size has these values in all launches.
    pub(crate) fn holds(&self, size: &Size, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> bool {
        self.launches.iter().all(|seen| {
            let value = value(seen);
            value.is_some() && size.evaluate(&seen.numbers) == value
        })
    }

    /// The contract of a kernel that was traced for a launch, and the layouts of its tensors.
    pub fn build_contract(&self, function: &Function, launch: &Launch) -> Option<(Contract, Layouts)> {
        let own = see_launch(launch)?;
        let mut fit = Fit {
            relations: self,
            launch: &own,
            runtime: list_runtime(function),
            contract: Contract::default(),
            sizes: Vec::new(),
            layouts: Layouts::new(),
        };
        for name in own.tensors.keys() {
            fit.add_tensor(name);
        }
        fit.add_grid();
        fit.add_multiples();
        fit.add_equalities(function);
        let layouts = std::mem::take(&mut fit.layouts);
        Some((fit.finish(), layouts))
    }
}

/// The names that layouts and a grid depend on.
pub(crate) fn list_names(layouts: &Layouts, grid: &[Option<Size>; 3]) -> BTreeSet<String> {
    let dims = layouts
        .values()
        .flat_map(|layout| layout.shape.iter().chain(&layout.strides));
    let all = dims.chain(grid.iter().flatten());
    all.flat_map(Size::list_names).collect()
}

/// The integer parameters that are passed at run time.
pub(crate) fn list_runtime(function: &Function) -> Vec<&str> {
    let is_integer = |elem: Elem| matches!(elem, Elem::Num(dtype) if dtype.is_int() && dtype != DType::I1);
    let parameters = function.params.iter();
    parameters
        .filter(|parameter| is_integer(function.ty(parameter.value).elem))
        .map(|parameter| parameter.name.as_str())
        .collect()
}

pub(crate) fn see_launch(launch: &Launch) -> Option<LaunchNumbers> {
    let mut seen = LaunchNumbers {
        grid: launch.grid.map(i64::from),
        ..LaunchNumbers::default()
    };
    for (name, argument) in launch.arguments() {
        let name = name?;
        if let Some(number) = argument.value.as_integer() {
            seen.numbers.insert(name.to_owned(), i64::try_from(number).ok()?);
        }
        if let ArgValue::Tensor { tensor, .. } = &argument.value {
            for (dim, (&size, &stride)) in tensor.shape.iter().zip(&tensor.strides).enumerate() {
                seen.numbers.insert(name_dim(name, dim), size);
                seen.numbers.insert(name_stride(name, dim), stride);
            }
            let sizes = (tensor.shape.to_vec(), tensor.strides.to_vec());
            seen.tensors.insert(name.to_owned(), sizes);
        }
    }
    // Empty tensors are not part of a contract: sizes are at least 1.
    let is_empty = seen.tensors.values().any(|(shape, _)| shape.contains(&0));
    (!is_empty && seen.grid.iter().all(|&count| count > 0)).then_some(seen)
}

fn name_dim(tensor: &str, dim: usize) -> String {
    format!("{tensor}.shape[{dim}]")
}

pub(crate) fn name_stride(tensor: &str, dim: usize) -> String {
    format!("{tensor}.stride({dim})")
}

/// Whether a name is that of an argument, and not of a size or a stride.
fn is_argument(name: &str) -> bool {
    !name.contains(['.', '[', '('])
}

/// A contract in the making.
struct Fit<'a> {
    relations: &'a Relations,
    launch: &'a LaunchNumbers,
    /// Integer parameters that are passed at run time.
    runtime: Vec<&'a str>,
    contract: Contract,
    /// Sizes that the grid may depend on.
    sizes: Vec<Size>,
    layouts: Layouts,
}

impl Fit<'_> {
    /// Whether a size has these values in all launches.
    fn holds(&self, size: &Size, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> bool {
        self.relations.holds(size, value)
    }

    /// Number of values in all launches.
    fn count_values(&self, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> usize {
        let values: BTreeSet<Option<i64>> = self.relations.launches.iter().map(value).collect();
        values.len()
    }

    /// Whether launches differ in a value.
    fn varies(&self, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> bool {
        self.count_values(value) > 1
    }

    /// Whether a factor or a divisor is more than 1 in some launch. One that is always 1 shows nothing.
    fn exceeds_one(&self, size: &Size) -> bool {
        let mut values = self
            .relations
            .launches
            .iter()
            .map(|seen| size.evaluate(&seen.numbers));
        values.any(|value| value.is_some_and(|value| value > 1))
    }

    /// The integer arguments, then the sizes that already have a name.
    fn list_factors(&self) -> Vec<Size> {
        let mut factors = self.list_arguments();
        let sizes = self.sizes.iter().filter(|size| !factors.contains(size));
        let sizes: Vec<Size> = sizes.cloned().collect();
        factors.extend(sizes);
        factors
    }

    /// The integer arguments, those that are passed at run time first.
    fn list_arguments(&self) -> Vec<Size> {
        let mut names: Vec<&String> = self
            .launch
            .numbers
            .keys()
            .filter(|name| is_argument(name))
            .collect();
        names.sort_by_key(|name| self.relations.constants.contains(*name));
        names.into_iter().cloned().map(Size::Name).collect()
    }

    /// The argument, or the size that already has a name, that equals a value in all launches.
    fn find_argument(&self, value: &dyn Fn(&LaunchNumbers) -> Option<i64>, is_stride: bool) -> Option<Size> {
        if !self.varies(value) {
            return None;
        }
        let mut sizes = self.list_arguments();
        // A stride's name says so.
        sizes.sort_by_key(|size| matches!(size, Size::Name(name) if name.contains("stride") != is_stride));
        sizes.extend(self.sizes.iter().filter(|_| !is_stride).cloned());
        // A block that is the next power of two of a size equals it in launches with such sizes.
        let is_even = self
            .relations
            .launches
            .iter()
            .all(|seen| value(seen).is_some_and(|value| value.count_ones() <= 1));
        let is_block =
            |size: &Size| matches!(size, Size::Name(name) if self.relations.constants.contains(name));
        sizes
            .into_iter()
            .find(|size| !(is_even && is_block(size)) && self.holds(size, value))
    }

    fn add_tensor(&mut self, name: &str) {
        let Some((shape, _)) = self.launch.tensors.get(name) else {
            return;
        };
        let rank = shape.len();
        let has_rank = |seen: &LaunchNumbers| {
            seen.tensors
                .get(name)
                .is_some_and(|(shape, _)| shape.len() == rank)
        };
        if !self.relations.launches.iter().all(has_rank) {
            return;
        }
        let is_contiguous = self.relations.launches.iter().all(|seen| {
            seen.tensors.get(name).is_some_and(|(shape, strides)| {
                let mut next = 1i64;
                shape.iter().zip(strides).rev().all(|(&size, &stride)| {
                    let holds = size == 1 || stride == next;
                    next = next.saturating_mul(size);
                    holds
                })
            })
        });
        let count = |seen: &LaunchNumbers| {
            let (shape, _) = seen.tensors.get(name)?;
            shape
                .iter()
                .try_fold(1i64, |count, &size| count.checked_mul(size))
        };
        let whole = is_contiguous.then(|| self.find_argument(&count, false)).flatten();
        let mut dims = Vec::new();
        for dim in 0..rank {
            let key = name_dim(name, dim);
            let value = |seen: &LaunchNumbers| seen.numbers.get(&key).copied();
            let size = self
                .find_argument(&value, false)
                .or_else(|| self.find_product(&value))
                .or_else(|| self.find_quotient(&value))
                .unwrap_or_else(|| Size::Name(key.clone()));
            dims.push(size);
        }
        let elements = if let Some(whole) = whole {
            self.note(format!("`{name}` has {whole} elements"));
            let layout = Layout {
                shape: vec![whole.clone()],
                strides: vec![Size::Number(1)],
            };
            self.layouts.insert(name.to_owned(), layout);
            whole
        } else if is_contiguous {
            self.note(format!("`{name}` is contiguous, of shape [{}]", list(&dims)));
            let inner = |dim: usize| Size::Product(dims.get(dim + 1..).unwrap_or_default().to_vec());
            let layout = Layout {
                shape: dims.clone(),
                strides: (0..rank).map(inner).collect(),
            };
            self.layouts.insert(name.to_owned(), layout);
            Size::Product(dims.clone())
        } else {
            let mut span = vec![Size::Number(1)];
            let mut strides = Vec::new();
            for (dim, size) in dims.iter().enumerate() {
                let stride = self.find_stride(name, dim, &dims);
                let last = Size::Sum(vec![size.clone(), Size::Number(-1)]);
                span.push(Size::Product(vec![last, stride.clone()]));
                strides.push(stride);
            }
            let layout = Layout {
                shape: dims.clone(),
                strides: strides.clone(),
            };
            self.layouts.insert(name.to_owned(), layout);
            let (shape, strides) = (list(&dims), list(&strides));
            self.note(format!(
                "`{name}` has shape [{shape}] and strides [{strides}], without overlap"
            ));
            let span = Size::Sum(span);
            self.contract
                .orders
                .push((Size::Product(dims.clone()), span.clone()));
            span
        };
        for size in dims.iter().chain([&elements]) {
            let is_plain = matches!(size, Size::Name(_));
            if is_plain && !self.sizes.contains(size) {
                self.sizes.push(size.clone());
            }
        }
        self.contract.elements.insert(name.to_owned(), elements);
    }

    /// The product of two arguments or sizes, or of one and a small number, that equals a value in all launches.
    fn find_product(&self, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> Option<Size> {
        if !self.varies(value) {
            return None;
        }
        let factors = self.list_factors();
        let numbers = FACTORS.map(Size::Number);
        for (nth, a) in factors.iter().enumerate() {
            for b in numbers.iter().chain(factors.iter().skip(nth)) {
                let parts = [a.clone(), b.clone()];
                let is_proper = parts.iter().all(|part| self.exceeds_one(part));
                let product = Size::Product(parts.to_vec());
                if is_proper && self.holds(&product, value) {
                    return Some(product);
                }
            }
        }
        None
    }

    /// The number of blocks of an argument or a size that equals a value in all launches of a launcher.
    fn find_quotient(&self, value: &dyn Fn(&LaunchNumbers) -> Option<i64>) -> Option<Size> {
        if self.count_values(value) < MIN_QUOTIENTS || self.relations.source != Some(Source::Launcher) {
            return None;
        }
        let blocks = self.relations.constants.iter().cloned().map(Size::Name);
        let blocks: Vec<Size> = blocks.filter(|block| self.exceeds_one(block)).collect();
        let quotients = list_quotients(&self.list_factors(), &blocks);
        quotients.into_iter().find(|quotient| self.holds(quotient, value))
    }

    fn find_stride(&self, name: &str, dim: usize, dims: &[Size]) -> Size {
        let key = name_stride(name, dim);
        let value = |seen: &LaunchNumbers| seen.numbers.get(&key).copied();
        for small in [1, 0] {
            if self.holds(&Size::Number(small), &value) {
                return Size::Number(small);
            }
        }
        if let Some(argument) = self.find_argument(&value, true) {
            return argument;
        }
        let inner = Size::Product(dims.get(dim + 1..).unwrap_or_default().to_vec());
        if self.holds(&inner, &value) && self.varies(&value) {
            return inner;
        }
        Size::Name(key)
    }

    fn add_grid(&mut self) {
        let blocks: Vec<Size> = self.relations.constants.iter().cloned().map(Size::Name).collect();
        for axis in 0..3 {
            let value = |seen: &LaunchNumbers| seen.grid.get(axis).copied();
            if self.holds(&Size::Number(1), &value) {
                if let Some(to) = self.contract.grid.get_mut(axis) {
                    *to = Some(Size::Number(1));
                }
                continue;
            }
            if !self.varies(&value) {
                continue;
            }
            let mut factors: Vec<Size> = self.sizes.clone();
            let arguments = self.list_arguments().into_iter();
            factors.extend(arguments.filter(|one| !self.sizes.contains(one)));
            factors.extend(list_quotients(&factors, &blocks));
            // A factor that is 1 in all launches shows nothing.
            factors.retain(|one| self.varies(&|seen| one.evaluate(&seen.numbers)));
            let single = factors.iter().find(|one| self.holds(one, &value)).cloned();
            let found = single.or_else(|| {
                let pairs = factors.iter().enumerate().flat_map(|(nth, a)| {
                    factors
                        .iter()
                        .skip(nth + 1)
                        .map(move |b| Size::Product(vec![a.clone(), b.clone()]))
                });
                pairs.into_iter().find(|pair| self.holds(pair, &value))
            });
            if let Some(size) = found {
                self.note(format!("axis {axis} of the grid has {size} programs"));
                if let Some(to) = self.contract.grid.get_mut(axis) {
                    *to = Some(size);
                }
            }
        }
    }

    /// Sizes that a launcher only passes as multiples of a block.
    fn add_multiples(&mut self) {
        if self.relations.source != Some(Source::Launcher) {
            return;
        }
        let mut found = Vec::new();
        for &name in &self.runtime {
            let values = |seen: &LaunchNumbers| seen.numbers.get(name).copied();
            for block in &self.relations.constants {
                let mut quotients = BTreeSet::new();
                let divides = self.relations.launches.iter().all(|seen| {
                    let pair = values(seen).zip(seen.numbers.get(block).copied());
                    pair.is_some_and(|(value, by)| {
                        if by > 1 {
                            quotients.insert(value / by);
                        }
                        by > 1 && value % by == 0
                    })
                });
                if divides && quotients.len() >= 4 {
                    found.push((name.to_owned(), block.clone()));
                }
            }
        }
        for (name, block) in found {
            if let Some(&by) = self.launch.numbers.get(&block) {
                self.note(format!("`{name}` is a multiple of `{block}`"));
                self.contract.multiples.insert(name, by);
            }
        }
    }

    /// Arguments that follow from sizes, such as the strides of tensors without gaps.
    fn add_equalities(&mut self, function: &Function) {
        let names = list_names(&self.layouts, &self.contract.grid);
        for (name, size) in self.relations.list_ties(function, &names) {
            self.note(format!("`{name}` is {size}"));
            let own = Size::Name(name);
            self.contract.orders.push((own.clone(), size.clone()));
            self.contract.orders.push((size, own));
        }
    }

    fn note(&mut self, text: String) {
        let source = self.relations.source.unwrap_or(Source::Text);
        self.contract.assumptions.push(Assumption { source, text });
    }

    /// The contract, with numbers in place of what the kernel was compiled for.
    fn finish(mut self) -> Contract {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut contract = std::mem::take(&mut self.contract);
        let orders = contract.orders.iter_mut().flat_map(|(a, b)| [a, b]);
        let grid = contract.grid.iter_mut().flatten();
        for size in contract.elements.values_mut().chain(grid).chain(orders) {
            self.replace_constants(size, &mut names);
        }
        for name in names {
            let range = if name.contains("stride") {
                // A launch may pass an expanded tensor.
                let values = self
                    .relations
                    .launches
                    .iter()
                    .filter_map(|seen| seen.numbers.get(&name));
                let least = values.min().copied().unwrap_or(1).clamp(0, 1);
                (least, i64::from(i32::MAX))
            } else {
                (1, MAX_SIZE)
            };
            contract.ranges.insert(name, range);
        }
        let source = self.relations.source.unwrap_or(Source::Text);
        contract.assumptions.push(Assumption {
            source,
            text: format!(
                "sizes are from 1 to {MAX_SIZE}, and strides at least 1, or 0 if a launch passes that"
            ),
        });
        contract
    }

    fn replace_constants(&self, size: &mut Size, names: &mut BTreeSet<String>) {
        match size {
            Size::Number(_) => {}
            Size::Name(name) => {
                if is_argument(name) && !self.runtime.contains(&name.as_str()) {
                    if let Some(&number) = self.launch.numbers.get(name) {
                        *size = Size::Number(number);
                    }
                } else {
                    names.insert(name.clone());
                }
            }
            Size::Sum(parts) | Size::Product(parts) => {
                for part in parts {
                    self.replace_constants(part, names);
                }
            }
            Size::Cdiv(a, b) => {
                self.replace_constants(a, names);
                self.replace_constants(b, names);
            }
        }
    }
}

/// The numbers of blocks of each size.
fn list_quotients(sizes: &[Size], blocks: &[Size]) -> Vec<Size> {
    let pairs = sizes
        .iter()
        .flat_map(|size| blocks.iter().map(move |block| (size, block)));
    pairs
        .map(|(size, block)| Size::Cdiv(Box::new(size.clone()), Box::new(block.clone())))
        .collect()
}

fn list(sizes: &[Size]) -> String {
    let sizes: Vec<String> = sizes.iter().map(Size::to_string).collect();
    sizes.join(", ")
}
