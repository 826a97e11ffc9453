//! How a kernel uses its parameters, according to its text: which are tensors, how many dimensions they have, which
//! parameter is a stride and for which dimension, the bound of each index, and the meaning of the grid's axes. See
//! `cerith-survey` for choosing launches.
//!
//! The text is read as sums of products ([`polynomial`]). An address is the sum of a tensor and of an index times a
//! stride for each dimension. A comparison bounds an index, whether it is in a mask, in a condition or in the end of
//! a loop. A bound that is off by one is still the bound of its parameter.

mod contract;
mod control;
pub mod library;
pub mod polynomial;
mod reader;

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};

pub use self::contract::Contract;
use self::contract::{find_overlaps, find_repeated_axes, find_unused_stride};
use self::library::{Library, Texts};
use self::polynomial::{Atom, Extent, Polynomial, Product, divide_product};
use self::reader::Reader;
use crate::kernel::{Function, ParameterKind};
use crate::module::body_of;

/// Stack for reading a kernel and what it calls.
const READING_STACK: usize = 8 << 20;

/// How a kernel uses its parameters, according to its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Its tensors, in the order of the parameters.
    pub tensors: Vec<TensorUse>,
    /// The use of each axis of the grid.
    pub axes: Vec<AxisUse>,
    /// Sizes that one block of lanes must cover, with the block: no program has more of them.
    pub covered_sizes: Vec<(String, Extent)>,
    /// Sizes that loops cut into blocks, with the blocks.
    pub cut_sizes: Vec<(String, Extent)>,
    /// Names that decide an `if` by themselves.
    pub flags: BTreeSet<String>,
    /// Parameters that are given to `.to(…)` or `dtype=`.
    pub dtypes: BTreeSet<String>,
    /// Parameters that are compared with a string, and the string.
    pub texts: Vec<(String, String)>,
    /// Parameters that are compared with a number, and the number.
    pub numbers: Vec<(String, i64)>,
    /// Parameters that ranges of lanes end at.
    pub blocks: BTreeSet<String>,
    /// Parameters that such an end is a multiple of.
    pub factors: BTreeSet<String>,
    /// Parameters that the text names nowhere.
    pub unused: BTreeSet<String>,
    /// Names that an address, a mask, a condition, a loop or a shape may depend on. Others only reach values.
    pub control: BTreeSet<String>,
    /// Whether the kernel has matrix products, which need blocks of 16 or more.
    pub has_dots: bool,
    /// Parameters that are compared with `None`.
    pub optional: BTreeSet<String>,
    /// Parameters with a method `load` or `store`: tensor descriptors that the host makes.
    pub descriptors: BTreeMap<String, DescriptorUse>,
    /// How many accesses are through addresses whose tensor the text does not show.
    pub lost: usize,
    /// Conditions on its launches that the text states.
    pub contracts: Vec<Contract>,
}

/// A tensor descriptor that the host makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptorUse {
    /// How many dimensions it is indexed with.
    pub dimensions: usize,
    /// Whether it is loaded from.
    pub read: bool,
    /// Whether it is stored to.
    pub written: bool,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct TensorUse {
    /// Its parameter.
    pub name: String,
    /// Its dimensions, the one with the largest stride first if that is known.
    pub dimensions: Vec<Dimension>,
    /// Whether it is loaded from.
    pub read: bool,
    /// Whether it is stored to.
    pub written: bool,
    /// Whether values of it are indices into another tensor.
    pub indexes: bool,
    /// Whether values of it are used as only integers can be.
    pub is_whole: bool,
    /// Tensors that are loaded from at the very indices at which this one is stored to: it may be meant to take their place.
    pub mirrors: BTreeSet<String>,
    /// Whether the text determines its number of elements. If so, an access out of bounds is the kernel's fault.
    pub certain: bool,
    /// Whether other accesses determine its number of elements, and one that is moved or bounded in another way does
    /// not fit them.
    pub stated: bool,
    /// Whether an address in it depends on loaded values: the contents of other tensors place its elements.
    pub is_placed: bool,
    /// The first store to it in the module, in bytes.
    pub stored_at: Option<u32>,
    /// The first access that nothing but the grid and this block bounds, and where it is in the module, in bytes: the block must
    /// divide the number of elements.
    pub unmasked: Option<(Extent, u32)>,
}

/// A dimension of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The factor of an index.
    pub stride: Stride,
    /// How large indices get.
    pub bound: Bound,
}

/// How far apart the elements of a dimension are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stride {
    /// So many elements.
    Number(i64),
    /// The value of a parameter, which is called a stride or bounds nothing.
    Param(String),
    /// As many as the product of these parameters, which are sizes of further dimensions, and of this number.
    Sizes(Vec<String>, i64),
}

/// The bound of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A parameter that it is compared with.
    Size(String),
    /// Nothing but the grid: there are as many as programs on this axis.
    Programs(u8),
    /// Only the grid, on an axis that other dimensions share: the extent is the number of programs on this axis that
    /// agree in the other dimensions.
    Quotient(u8),
    /// Nothing but the block: there are as many as lanes.
    Lanes(Extent),
    /// Nothing but the grid and the block: as many as lanes of all programs on this axis.
    Blocks(u8, Extent),
    /// Unknown from the text.
    Unknown,
}

/// The use of an axis of the grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AxisUse {
    /// Sizes that are cut into blocks, with the blocks: there are as many programs as the product of the numbers of blocks.
    pub blocks: Vec<(String, Extent)>,
    /// Sizes that have one program for each element.
    pub sizes: Vec<String>,
    /// Whether what is left of a program's number without those sizes is an index too.
    pub quotient: bool,
    /// Whether programs go on in steps of their number, so that any number will do.
    pub persistent: bool,
}

/// An access of a tensor, as written in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Access {
    tensor: String,
    /// The stride and the index of each dimension.
    dimensions: Vec<(Product, i64, Polynomial)>,
    /// Whether the address is moved by something other than an index: by a number of elements, or by a size.
    moved: bool,
    stores: bool,
    /// The address without its tensor.
    offset: Polynomial,
    /// Where the access is in the kernel's module, in bytes; `None` in a function that the kernel calls.
    at: Option<u32>,
}

/// How a kernel of a module uses its parameters; `None` if there is no such kernel, or the module can't be read.
pub fn usage_of(text: &str, name: &str) -> Option<Usage> {
    let mut sources = cerith_tile::source::Sources::default();
    let source = sources.add(cerith_tile::source::SourceFile::new("kernel", text));
    let contents = crate::module::parse(source, text).ok()?;
    let function = contents.functions.iter().find(|function| function.name == name)?;
    let texts = Texts::new([("kernel", text)]);
    Some(read_usage(
        &Library::new(&texts),
        "kernel",
        function,
        &Flags::new(),
    ))
}

/// Flags of a kernel, and what they are set to.
pub type Flags = BTreeMap<String, bool>;

/// Reads a kernel of a module of the library. It skips the branches of an `if` that these flags do not take.
pub fn read_usage(library: &Library<'_>, module: &str, function: &Function, flags: &Flags) -> Usage {
    let parameters: Vec<String> = function
        .parameters
        .iter()
        .filter(|parameter| {
            !matches!(
                parameter.kind,
                ParameterKind::VarPositional | ParameterKind::VarKeyword
            )
        })
        .map(|parameter| parameter.name.clone())
        .collect();
    let constants: BTreeSet<String> = function
        .parameters
        .iter()
        .filter(|parameter| parameter.constexpr)
        .map(|parameter| parameter.name.clone())
        .collect();
    let mut reader = Reader::new(library, module, &parameters, &constants, flags);
    // Calls nest deeper than any text.
    stacker::maybe_grow(READING_STACK, READING_STACK, || reader.read(&function.name));
    let mut usage = build_usage(&reader, &parameters);
    let body = body_of(library.find_body(module), &function.name).unwrap_or_default();
    let mut named = Names::default();
    stacker::maybe_grow(READING_STACK, READING_STACK, || named.visit_body(body));
    usage.control = control::find_control(body);
    usage.unused = parameters
        .iter()
        .filter(|name| !named.0.contains(*name))
        .cloned()
        .collect();
    usage.contracts = find_repeated_axes(body, &usage.control);
    let stores = reader.accesses.iter().filter(|access| access.stores);
    let stores = stores.map(|access| (&access.offset, access.at));
    usage.contracts.extend(find_overlaps(stores));
    let stride = find_unused_stride(&parameters, &usage.unused, body);
    usage.contracts.extend(stride);
    usage
}

/// Every name in a text.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'a> Visitor<'a> for Names {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr {
            self.0.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expr);
    }
}

/// Builds the usage from everything read, by tensor and by axis.
fn build_usage(reader: &Reader<'_>, parameters: &[String]) -> Usage {
    let mut usage = reader.usage.clone();
    for name in parameters {
        let accesses: Vec<&Access> = reader
            .accesses
            .iter()
            .filter(|access| access.tensor == *name)
            .collect();
        // The access with the most dimensions shows the most about the tensor.
        let Some(widest) = accesses.iter().max_by_key(|access| access.dimensions.len()) else {
            continue;
        };
        let mut dimensions: Vec<(usize, Dimension)> = widest
            .dimensions
            .iter()
            .map(|(product, factor, index)| {
                let stride = to_stride(product, *factor);
                let mut bound = find_bound(index, reader);
                if !matches!(bound, Bound::Size(_)) {
                    // Another access of the same dimension may be bounded.
                    let other = accesses.iter().flat_map(|access| &access.dimensions);
                    let mut bounds = other
                        .filter(|(other, times, _)| other == product && times == factor)
                        .map(|(_, _, index)| find_bound(index, reader));
                    bound = bounds.find(|one| matches!(one, Bound::Size(_))).unwrap_or(bound);
                }
                (place(&stride, parameters), Dimension { stride, bound })
            })
            .collect();
        let mut certain = is_certain(widest, &accesses, &dimensions, reader);
        dimensions.sort_by_key(|&(place, _)| place);
        let mut dimensions: Vec<Dimension> = dimensions.into_iter().map(|(_, dimension)| dimension).collect();
        if let Some(size) = find_flat_size(&accesses, reader) {
            certain = true;
            dimensions = vec![Dimension {
                stride: Stride::Number(1),
                bound: Bound::Size(size),
            }];
        }
        let mut stated = certain;
        if !certain && let Some(other) = find_stated(&accesses, reader, parameters) {
            stated = true;
            dimensions = other;
        }
        let is_flat = matches!(dimensions.as_slice(), [one] if matches!(one.bound, Bound::Size(_)));
        let unmasked = if certain && !is_flat {
            find_unmasked(&accesses, reader)
        } else {
            None
        };
        usage.tensors.push(TensorUse {
            name: name.clone(),
            certain,
            stated,
            is_placed: accesses.iter().any(|access| is_placed(access)),
            stored_at: accesses
                .iter()
                .filter(|access| access.stores)
                .find_map(|access| access.at),
            unmasked,
            mirrors: find_mirrors(name, &reader.accesses),
            dimensions,
            read: accesses.iter().any(|access| !access.stores),
            written: accesses.iter().any(|access| access.stores),
            indexes: reader.indexing.contains(name),
            is_whole: reader.integers.contains(name),
        });
    }
    strides_that_bound_nothing(&mut usage, reader);
    for (_, _, index) in reader.accesses.iter().flat_map(|access| &access.dimensions) {
        let index = index.without_number();
        let lane = index
            .terms()
            .find_map(|(product, factor)| match product.as_slice() {
                [Atom::Lane(extent)] if factor == 1 => Some(extent.clone()),
                _ => None,
            });
        let (Some(extent), Some(size)) = (lane, size_of(&index, reader)) else {
            continue;
        };
        let is_alone = index.terms().nth(1).is_none();
        let known = if is_alone {
            &mut usage.covered_sizes
        } else {
            &mut usage.cut_sizes
        };
        if !known.iter().any(|(known, _)| *known == size) {
            known.push((size, extent));
        }
    }
    usage.axes = (0..reader.axes)
        .map(|axis| axis_use(axis as u8, reader))
        .collect();
    usage
}

/// The dimensions of a tensor according to the accesses that nothing moves, if others are moved by a number of
/// elements. `None` if these don't determine the size, or several parts of the tensor are accessed on purpose.
fn find_stated(accesses: &[&Access], reader: &Reader<'_>, parameters: &[String]) -> Option<Vec<Dimension>> {
    let is_shifted = |access: &&&Access| access.offset.number_term() > 0;
    if accesses.iter().any(|access| is_moved_by_size(access)) {
        return None;
    }
    let (shifted, plain): (Vec<&Access>, Vec<&Access>) =
        accesses.iter().copied().partition(|access| is_shifted(&access));
    if shifted.is_empty() && plain.len() < 2 {
        return None;
    }
    // Neighbours of scalars are one table, such as the offsets of sequences.
    if !shifted.is_empty() && !plain.is_empty() && !shifted.iter().any(|access| has_lanes(access)) {
        return None;
    }
    let unshifted: Vec<Access>;
    let stating: Vec<&Access> = if plain.is_empty() {
        unshifted = shifted.iter().map(|access| without_number(access)).collect();
        unshifted.iter().collect()
    } else {
        plain
    };
    let complete: Vec<&&Access> = stating
        .iter()
        .filter(|access| !counts_twice(access) && is_bounded(access, reader))
        .collect();
    let widest = complete.iter().max_by_key(|access| access.dimensions.len())?;
    // Accesses in other strides are of another layout.
    let strides = |access: &Access| -> BTreeSet<(Vec<Atom>, i64)> {
        let dimensions = access.dimensions.iter();
        dimensions
            .map(|(product, factor, _)| (product.clone(), *factor))
            .collect()
    };
    let known = strides(widest);
    if stating.iter().any(|access| !strides(access).is_subset(&known)) {
        return None;
    }
    let mut dimensions: Vec<(usize, Dimension)> = widest
        .dimensions
        .iter()
        .map(|(product, factor, index)| {
            let stride = to_stride(product, *factor);
            let bound = find_bound(index, reader);
            (place(&stride, parameters), Dimension { stride, bound })
        })
        .collect();
    dimensions.sort_by_key(|&(place, _)| place);
    Some(dimensions.into_iter().map(|(_, dimension)| dimension).collect())
}

fn is_moved_by_size(access: &Access) -> bool {
    let mut terms = access.offset.terms();
    terms.any(|(product, _)| !product.is_empty() && product.iter().all(|atom| matches!(atom, Atom::Param(_))))
}

/// Whether the address of an access depends on a loaded value.
fn is_placed(access: &Access) -> bool {
    let is_loaded = |atom: &Atom| matches!(atom, Atom::Other { loaded: Some(_), .. });
    access.offset.atoms().any(is_loaded)
}

fn has_lanes(access: &Access) -> bool {
    access.offset.atoms().any(|atom| matches!(atom, Atom::Lane(_)))
}

/// The access without the number of elements that moves it.
fn without_number(access: &Access) -> Access {
    let offset = access.offset.without_number();
    Access {
        moved: false,
        dimensions: access
            .dimensions
            .iter()
            .map(|(product, factor, index)| (product.clone(), *factor, index.without_number()))
            .collect(),
        offset,
        ..access.clone()
    }
}

/// Whether the text bounds every index of an access by a size, or by the grid.
fn is_bounded(access: &Access, reader: &Reader<'_>) -> bool {
    access
        .dimensions
        .iter()
        .all(|(_, _, index): &(_, _, Polynomial)| {
            index.number_term() <= 0
                && matches!(
                    find_bound(index, reader),
                    Bound::Size(_) | Bound::Programs(_) | Bound::Lanes(_) | Bound::Blocks(..)
                )
        })
}

/// Finds the parameter that whole offsets of all accesses are compared with: a flat tensor has so many elements.
fn find_flat_size(accesses: &[&Access], reader: &Reader<'_>) -> Option<String> {
    let size_of = |access: &&Access| {
        let sizes = reader.compared.iter().flat_map(|compared| {
            let sizes = reader::find_sizes(compared).into_iter();
            sizes.map(move |size| (compared, size))
        });
        sizes.into_iter().find_map(|(compared, size)| {
            let bounded = compared.plus(&Polynomial::from_atom(Atom::Param(size.clone())))?;
            (bounded == access.offset).then_some(size)
        })
    };
    let mut sizes = accesses.iter().map(size_of);
    let first = sizes.next()??;
    sizes.all(|size| size.as_ref() == Some(&first)).then_some(first)
}

/// Finds an access that nothing but the grid and a block bounds.
fn find_unmasked(accesses: &[&Access], reader: &Reader<'_>) -> Option<(Extent, u32)> {
    accesses.iter().find_map(|access| {
        let mut bounds = access
            .dimensions
            .iter()
            .map(|(_, _, index)| find_bound(index, reader));
        let block = bounds.find_map(|bound| match bound {
            Bound::Blocks(_, extent) => Some(extent),
            _ => None,
        })?;
        Some((block, access.at?))
    })
}

/// The tensors that are loaded from wherever this one is stored to.
fn find_mirrors(name: &str, accesses: &[Access]) -> BTreeSet<String> {
    // Strides that are parameters have other names in another tensor. Numbers must be the same.
    let indices = |access: &Access| -> (BTreeSet<(i64, Polynomial)>, i64) {
        let dimensions = access.dimensions.iter();
        let all = dimensions.map(|(_, factor, index)| (*factor, index.clone()));
        (all.collect(), access.offset.number_term())
    };
    let stored: Vec<_> = accesses
        .iter()
        .filter(|access| access.stores && access.tensor == name)
        .map(indices)
        .collect();
    let mut loaded: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for access in accesses
        .iter()
        .filter(|access| !access.stores && access.tensor != name)
    {
        loaded.entry(&access.tensor).or_default().push(indices(access));
    }
    let is_gradient = |name: &str| {
        let lower = name.to_lowercase();
        lower.contains("grad")
            || name.starts_with('d') && name.chars().nth(1).is_some_and(|c| c.is_uppercase() || c == '_')
            || lower
                .split('_')
                .next()
                .is_some_and(|word| word.len() == 2 && word.starts_with('d'))
    };
    loaded
        .into_iter()
        .filter(|(other, indices)| {
            is_gradient(other) == is_gradient(name) && stored.iter().all(|at| indices.contains(at))
        })
        .map(|(other, _)| other.to_owned())
        .collect()
}

/// Whether the accesses of a tensor determine its number of elements: every index is bounded, in the same way by
/// every access, and none is moved by something else.
fn is_certain(
    widest: &Access,
    accesses: &[&Access],
    dimensions: &[(usize, Dimension)],
    reader: &Reader<'_>,
) -> bool {
    let known = |access: &&Access| {
        !access.moved
            && access.dimensions.iter().all(|(stride, factor, index)| {
                let mut of_widest = widest.dimensions.iter().zip(dimensions);
                of_widest.any(|((other, times, _), (_, dimension))| {
                    other == stride && times == factor && find_bound(index, reader) == dimension.bound
                }) && index.number_term() <= 0
            })
    };
    accesses.iter().all(known)
        && !accesses.iter().any(|access| counts_twice(access))
        && dimensions.iter().all(|(_, dimension)| match &dimension.bound {
            Bound::Unknown => false,
            // If each block has one access, the last block may be partial.
            Bound::Programs(_) => !is_of_blocks(&dimension.stride, reader),
            // The rest of a program's number may be split once more.
            Bound::Quotient(axis) => {
                let counted = axis_use(*axis, reader);
                counted.blocks.is_empty()
                    && counted.sizes.len() <= 1
                    && !is_of_blocks(&dimension.stride, reader)
            }
            // If the size is compared by `<` as well, an output is meant to have one element more than the size.
            Bound::Size(name) => {
                let stores = accesses.iter().any(|access| access.stores);
                !(stores && reader.at_most.contains(name) && reader.below.contains(name))
            }
            Bound::Lanes(_) | Bound::Blocks(..) => true,
        })
}

/// Whether a stride is the size of a block.
fn is_of_blocks(stride: &Stride, reader: &Reader<'_>) -> bool {
    matches!(stride, Stride::Sizes(names, _) if names.iter().any(|name| reader.usage.blocks.contains(name)))
}

/// Whether an index counts in two dimensions: `row * (n + 1) + column` has rows of `n + 1` elements, not of `n`.
fn counts_twice(access: &Access) -> bool {
    let mut seen = BTreeSet::new();
    let indices = access.dimensions.iter().map(|(_, _, index)| index);
    indices
        .flat_map(|index| index.atoms().collect::<BTreeSet<_>>())
        .any(|atom| {
            let counts = matches!(atom, Atom::Program(_) | Atom::Lane(_) | Atom::Turn(_));
            counts && !seen.insert(atom)
        })
}

/// A parameter that scales an index but bounds none is a stride, whatever its name; one that bounds an index is a
/// size. Rows may be longer than the text shows, if such a stride separates them.
fn strides_that_bound_nothing(usage: &mut Usage, reader: &Reader<'_>) {
    let dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
    let bounds: BTreeSet<String> = dimensions
        .filter_map(|dimension| match &dimension.bound {
            Bound::Size(size) | Bound::Lanes(Extent::Param(size)) => Some(size.clone()),
            _ => None,
        })
        .collect();
    let dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
    let free: BTreeSet<String> = dimensions
        .filter_map(|dimension| match &dimension.stride {
            Stride::Sizes(names, _) => Some(names),
            _ => None,
        })
        .flatten()
        .filter(|name| {
            !bounds.contains(*name) && !usage.blocks.contains(*name) && !usage.factors.contains(*name)
        })
        .cloned()
        .collect();
    let is_compared = |name: &String| reader.below.contains(name) || reader.at_most.contains(name);
    for tensor in &mut usage.tensors {
        for dimension in &mut tensor.dimensions {
            match &dimension.stride {
                Stride::Sizes(names, 1) if names.len() == 1 && free.contains(&names[0]) => {
                    dimension.stride = Stride::Param(names[0].clone());
                    (tensor.certain, tensor.stated) = (false, false);
                }
                Stride::Param(name) if is_compared(name) => {
                    tensor.certain &= bounds.contains(name);
                    tensor.stated &= bounds.contains(name);
                    dimension.stride = Stride::Sizes(vec![name.clone()], 1);
                }
                Stride::Sizes(names, _) => {
                    let is_bound = !names.iter().any(|name| free.contains(name));
                    tensor.certain &= is_bound;
                    tensor.stated &= is_bound;
                }
                _ => {}
            }
        }
    }
}

/// Sort key of a dimension: those with stride parameters in the order of the signature, sizes before numbers, the
/// larger number first.
fn place(stride: &Stride, parameters: &[String]) -> usize {
    match stride {
        Stride::Param(name) => parameters.iter().position(|one| one == name).unwrap_or(0),
        Stride::Sizes(sizes, _) => (1 << 20) - sizes.len(),
        Stride::Number(number) => (1 << 40) - (*number).clamp(0, 1 << 30) as usize,
    }
}

fn to_stride(product: &Product, factor: i64) -> Stride {
    let names: Vec<String> = product
        .iter()
        .filter_map(|atom| match atom {
            Atom::Param(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        [] => Stride::Number(factor),
        [name] if factor == 1 && name.to_lowercase().contains("stride") => Stride::Param(name.clone()),
        _ => Stride::Sizes(names, factor),
    }
}

/// Finds the bound of an index.
fn find_bound(index: &Polynomial, reader: &Reader<'_>) -> Bound {
    if let Some(size) = size_of(index, reader) {
        return Bound::Size(size);
    }
    // Only the caller knows a tensor whose size is a number: `rows < 83`.
    if is_compared_with_number(index, reader) {
        return Bound::Unknown;
    }
    let terms: Vec<_> = index.terms().filter(|(product, _)| !product.is_empty()).collect();
    let lane = terms
        .iter()
        .find_map(|(product, factor)| match product.as_slice() {
            [Atom::Lane(extent)] if *factor == 1 => Some(extent.clone()),
            _ => None,
        });
    let programs = index.programs();
    match (terms.len(), lane, programs.first()) {
        (1, Some(extent), _) => Bound::Lanes(extent),
        (1, None, Some(&axis)) => match terms[0].0.as_slice() {
            [Atom::Program(_)] => Bound::Programs(axis),
            [
                Atom::Other {
                    part: Some(axis),
                    below: None,
                    ..
                },
            ] if terms[0].1 == 1 => Bound::Quotient(*axis),
            _ => Bound::Unknown,
        },
        (2, Some(extent), Some(&axis)) => Bound::Blocks(axis, extent),
        _ => Bound::Unknown,
    }
}

/// The parameter that an index is compared with, counted to, or cut off at.
fn size_of(index: &Polynomial, reader: &Reader<'_>) -> Option<String> {
    let index = index.without_number();
    if let [(product, 1)] = index.terms().collect::<Vec<_>>().as_slice()
        && let [
            Atom::Other {
                below: Some(below), ..
            },
        ] = product.as_slice()
        && let Some(size) = below.as_param()
    {
        return Some(size.to_owned());
    }
    for compared in &reader.compared {
        for size in reader::find_sizes(compared) {
            let as_index = compared.plus(&Polynomial::from_atom(Atom::Param(size.clone())));
            if as_index.is_some_and(|one| one.without_number() == index || one.without_offset() == index) {
                return Some(size);
            }
        }
    }
    // A loop counts to it: `for k in range(0, K, BLOCK)`, or `for i in range(n)`.
    index.atoms().find_map(|atom| match atom {
        Atom::Turn(number) => {
            let counted = reader.loops.get(*number)?.as_ref()?;
            (index.factor_of(atom) == counted.step).then(|| counted.size.clone())
        }
        _ => None,
    })
}

/// Whether an index is compared with a number: `rows < 83`.
fn is_compared_with_number(index: &Polynomial, reader: &Reader<'_>) -> bool {
    let index = index.without_number();
    let mut compared = reader.compared.iter();
    compared.any(|compared| compared.number_term() < -1 && compared.without_number() == index)
}

/// The use of an axis, over all accesses.
fn axis_use(axis: u8, reader: &Reader<'_>) -> AxisUse {
    let mut found = AxisUse {
        persistent: reader.persistent.contains(&axis),
        ..AxisUse::default()
    };
    let indices = || reader.accesses.iter().flat_map(|access| &access.dimensions);
    // A size of the whole number of a program is the number of programs: `pid < M` beside `pid % C`.
    let whole = Polynomial::from_atom(Atom::Program(axis));
    let is_whole = |index: &Polynomial| index.without_number() == whole;
    let count = indices().find_map(|(_, _, index)| is_whole(index).then(|| size_of(index, reader))?);
    for (_, _, index) in indices() {
        if !index.programs().contains(&axis) || count.is_some() && !is_whole(index) && is_part(index) {
            continue;
        }
        if let Some(Atom::Other {
            part: Some(of),
            below,
            ..
        }) = index.without_number().as_atom()
            && *of == axis
        {
            match below.as_deref().and_then(Polynomial::as_param) {
                Some(size) if !found.sizes.iter().any(|known| known == size) => {
                    found.sizes.push(size.to_owned());
                }
                None if below.is_none() => found.quotient = true,
                _ => {}
            }
            continue;
        }
        let Some(size) = size_of(index, reader) else {
            continue;
        };
        let lane = index.atoms().find_map(|atom| match atom {
            Atom::Lane(extent) => Some(extent.clone()),
            _ => None,
        });
        match lane {
            Some(extent) => {
                if !found.blocks.iter().any(|(known, _)| *known == size) {
                    found.blocks.push((size, extent));
                }
            }
            // An index that wraps at a size (`% M`) does not show the number of programs.
            None if is_cut_off(index) || found.sizes.contains(&size) => {}
            None => found.sizes.push(size),
        }
    }
    found
}

/// Whether an index is the quotient or the remainder of a program's number.
fn is_part(index: &Polynomial) -> bool {
    matches!(
        index.without_number().as_atom(),
        Some(Atom::Other { part: Some(_), .. })
    )
}

fn is_cut_off(index: &Polynomial) -> bool {
    index
        .atoms()
        .any(|atom| matches!(atom, Atom::Other { below: Some(_), .. }))
}

/// The dimensions of an address without its tensor: for each stride, the index.
fn find_dimensions(rest: &Polynomial) -> Vec<(Product, i64, Polynomial)> {
    let is_index = |atom: &Atom| !matches!(atom, Atom::Param(_));
    let mut found: Vec<(Product, i64, Polynomial)> = Vec::new();
    // The factors of lanes are strides.
    for (product, factor) in rest.terms() {
        let Some(lane) = product.iter().find(|atom| matches!(atom, Atom::Lane(_))) else {
            continue;
        };
        let stride = divide_product(product, std::slice::from_ref(lane)).unwrap_or_default();
        if stride.iter().any(is_index) {
            continue;
        }
        let index = Polynomial::from_atom(lane.clone());
        match found
            .iter_mut()
            .find(|(known, times, _)| *known == stride && *times == factor)
        {
            Some((_, _, sum)) => {
                if let Some(both) = sum.plus(&index) {
                    *sum = both;
                }
            }
            None => found.push((stride, factor, index)),
        }
    }
    for (product, factor) in rest.terms() {
        if product.iter().any(|atom| matches!(atom, Atom::Lane(_))) || !product.iter().any(is_index) {
            continue;
        }
        // Rows of their own, if others are as far apart.
        let is_apart = rest.terms().any(|(other, times)| {
            let params = |product: &Product| -> Product {
                product.iter().filter(|atom| !is_index(atom)).cloned().collect()
            };
            other != product && times == factor && params(other).len() > 1 && params(other) == params(product)
        });
        let home = found.iter().position(|(stride, times, index)| {
            !is_apart
                && *times != 0
                && factor % *times == 0
                && divide_product(product, stride).is_some_and(|rest| steps_by(&rest, factor / *times, index))
        });
        if let Some((stride, times, index)) = home.and_then(|at| found.get_mut(at)) {
            let part =
                divide_product(product, stride).map(|rest| Polynomial::from_terms([(rest, factor / *times)]));
            if let Some(sum) = part.and_then(|part| index.plus(&part)) {
                *index = sum;
                continue;
            }
        }
        let (index, stride): (Product, Product) = product.iter().cloned().partition(is_index);
        found.push((stride, factor, Polynomial::from_terms([(index, 1)])));
    }
    found
}

/// Whether a term goes from block to block of an index's lanes: as many elements each as there are lanes.
fn steps_by(term: &[Atom], factor: i64, index: &Polynomial) -> bool {
    let (counted, width): (Vec<&Atom>, Vec<&Atom>) =
        term.iter().partition(|atom| !matches!(atom, Atom::Param(_)));
    if counted.is_empty() {
        return false;
    }
    // Which block it is may be computed: `(group * GROUP_SIZE + nth) * BLOCK`.
    let computed = counted
        .iter()
        .any(|atom| matches!(atom, Atom::Other { programs, .. } if !programs.is_empty()));
    index.atoms().any(|atom| match atom {
        Atom::Lane(Extent::Param(name)) => {
            let block = |atom: &&&Atom| matches!(atom, Atom::Param(one) if one == name);
            factor == 1 && width.iter().any(|atom| block(&atom)) && (width.len() == 1 || computed)
        }
        Atom::Lane(Extent::Number(number)) => width.is_empty() && factor == *number,
        _ => false,
    })
}
