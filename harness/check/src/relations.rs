//! Compares launches of a kernel on the same data. Other layouts, blocks and numbers of programs must leave the same values in the same
//! elements.
//!
//! Every tensor of a variant gets the elements of the plain launch's tensor, and nothing else in its storage has a value. In another
//! layout the kernel computes the same, so bits must be equal. Other blocks add in another order: such a difference counts if it
//! exceeds half of the digits of the least precise dtype and the intervals of conforming results don't meet.

use cerith_accept::Accepted;
use cerith_case::{ArgValue, Case, Launch};
use cerith_engine::{Complaint, Conforming, Position, Reference};
use cerith_memory::element_text::describe_element;
use cerith_memory::{ByteState, Memory, Storage, Storages, Tensor};
use cerith_survey::Draft;
use cerith_tile::rules::Rules;
use cerith_tile::{DType, numeric};

/// The most launches that are compared with the plain one.
pub const MAX_RELATED: usize = 24;

/// A difference between two launches that must not change values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Tensors with other strides and offsets.
    Layout,
    /// A tensor with strides that its launcher does not pass. The kernel takes them as arguments.
    Strides,
    /// Other blocks, or another number of programs.
    Blocks,
}

impl Relation {
    /// The code of a finding.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Layout | Self::Strides => "layout-dependent",
            Self::Blocks => "block-dependent",
        }
    }
}

/// A tensor of two launches, by its parameter.
#[derive(Debug)]
struct Pair {
    name: String,
    plain: Tensor,
    varied: Tensor,
}

impl Pair {
    /// Whether the tensor lies in the same way in both launches, and its storage holds the same bytes. Most do: elements are
    /// compared only for the others.
    fn is_same(&self, plain: &Memory, varied: &Memory) -> bool {
        let (from, to) = (self.plain.storage, self.varied.storage);
        self.plain.strides == self.varied.strides
            && self.plain.offset == self.varied.offset
            && plain.bytes(from) == varied.bytes(to)
            && plain.states(from) == varied.states(to)
    }
}

/// A variant of a launch, with the plain launch's data.
pub struct Related {
    /// The variant.
    pub case: Case,
    /// The difference.
    pub relation: Relation,
    pairs: Vec<Pair>,
}

/// A difference between two related launches.
pub struct Difference {
    /// The parameter of the tensor.
    pub parameter: String,
    /// The element in both launches, in words.
    pub text: String,
    /// The storages whose tensors have another layout in the second launch.
    pub moved: Vec<String>,
    /// The location of the second launch's failure, if it fails.
    pub failure: Option<Position>,
}

/// The values of an element in one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Bits(u64),
    /// No program has written it.
    Unwritten,
    /// It has no defined value.
    Undefined,
}

/// Makes a variant that has the plain launch's data. `None` if the two launches differ in another way.
pub fn build_related(plain: &Case, other: Case, relation: Relation) -> Option<Related> {
    let ([from], [to]) = (plain.launches.as_slice(), other.launches.as_slice()) else {
        return None;
    };
    let pairs = pair_tensors(from, to)?;
    if relation != Relation::Blocks && from.grid != to.grid || !has_same_scalars(from, to, &pairs, relation) {
        return None;
    }
    let is_alone = |tensor: fn(&Pair) -> &Tensor| {
        let mut ids: Vec<u32> = pairs.iter().map(|pair| tensor(pair).storage.0).collect();
        ids.sort_unstable();
        ids.windows(2).all(|two| two.first() != two.last())
    };
    let has_pointers = |case: &Case| {
        case.storages
            .iter()
            .any(|(_, storage)| !storage.pointers().is_empty())
    };
    let is_equal = from.grid == to.grid
        && from
            .arguments()
            .map(|(_, arg)| &arg.value)
            .eq(to.arguments().map(|(_, arg)| &arg.value));
    if is_equal
        || !is_alone(|pair| &pair.plain)
        || !is_alone(|pair| &pair.varied)
        || has_pointers(plain)
        || has_pointers(&other)
    {
        return None;
    }
    let storages = move_elements(plain, &other, &pairs)?;
    let case = Case { storages, ..other };
    Some(Related {
        case,
        relation,
        pairs,
    })
}

/// A launch with blocks that are twice and half as large, with descriptions. Its grid follows, and its tensors stay the same. Other
/// kernels may have written some.
pub fn scale_blocks(draft: &Draft, launch: &Launch, is_after_others: bool) -> Vec<(String, Launch)> {
    let find_integer = |name: &str| {
        let mut arguments = launch.arguments();
        arguments.find_map(|(one, arg)| match arg.value {
            ArgValue::Int(value) if one == Some(name) => i64::try_from(value).ok(),
            _ => None,
        })
    };
    let scalings = draft
        .scale_blocks(launch.grid, is_after_others, find_integer)
        .into_iter();
    let scaled = scalings.map(|scaling| {
        let mut scaled = Launch {
            grid: scaling.grid,
            ..launch.clone()
        };
        for (name, lanes) in &scaling.blocks {
            set_integer(&mut scaled, name, *lanes);
        }
        (scaling.variant, scaled)
    });
    scaled.collect()
}

pub(super) fn set_integer(launch: &mut Launch, name: &str, value: i64) {
    let parameters = launch.kernel.function().map(|function| &function.parameters);
    let position = parameters.and_then(|all| all.iter().position(|one| one.name == name));
    let named = launch.keyword.iter_mut().find(|(one, _)| one == name);
    let arg = match named {
        Some((_, arg)) => Some(arg),
        None => position.and_then(|position| launch.positional.get_mut(position)),
    };
    if let Some(arg) = arg {
        arg.value = ArgValue::Int(i128::from(value));
    }
}

/// The tensors of two launches, by parameter. `None` if they have other shapes or dtypes.
fn pair_tensors(from: &Launch, to: &Launch) -> Option<Vec<Pair>> {
    let mut pairs = Vec::new();
    let mut others = to.arguments();
    for (name, arg) in from.arguments() {
        let (other_name, other) = others.next()?;
        if name != other_name {
            return None;
        }
        match (&arg.value, &other.value) {
            (ArgValue::Tensor { tensor: plain, .. }, ArgValue::Tensor { tensor: other, .. }) => {
                if plain.shape != other.shape || plain.dtype != other.dtype {
                    return None;
                }
                pairs.push(Pair {
                    name: name.unwrap_or_default().to_owned(),
                    plain: plain.clone(),
                    varied: other.clone(),
                });
            }
            (ArgValue::Tensor { .. }, _) | (_, ArgValue::Tensor { .. }) => return None,
            _ => {}
        }
    }
    others.next().is_none().then_some(pairs)
}

/// Whether the launches have the same numbers, except strides of their tensors and constants such as blocks.
fn has_same_scalars(from: &Launch, to: &Launch, pairs: &[Pair], relation: Relation) -> bool {
    let is_constant = |name: Option<&str>| {
        let parameters = from.kernel.function().map(|function| &function.parameters);
        let mut parameters = parameters.into_iter().flatten();
        parameters.any(|one| Some(one.name.as_str()) == name && one.constexpr)
    };
    let is_stride = |a: i128, b: i128| {
        pairs.iter().any(|pair| {
            let mut strides = pair.plain.strides.iter().zip(&pair.varied.strides);
            strides.any(|(&from, &to)| (i128::from(from), i128::from(to)) == (a, b))
        })
    };
    let mut arguments = from.arguments().zip(to.arguments());
    arguments.all(|((name, arg), (_, other))| match (&arg.value, &other.value) {
        (ArgValue::Tensor { .. }, ArgValue::Tensor { .. }) => true,
        (a, b) if a == b => true,
        (ArgValue::Int(a), ArgValue::Int(b)) => match relation {
            Relation::Layout | Relation::Strides => is_stride(*a, *b),
            Relation::Blocks => is_constant(name),
        },
        _ => false,
    })
}

/// The storages of a variant with the plain launch's elements.
fn move_elements(plain: &Case, other: &Case, pairs: &[Pair]) -> Option<Storages> {
    if plain
        .storages
        .first_sparse()
        .or(other.storages.first_sparse())
        .is_some()
    {
        return None;
    }
    let mut storages = Storages::new();
    for (_, storage) in other.storages.iter() {
        storages.add(storage.name(), storage.bytes().len() as u64).ok()?;
    }
    for pair in pairs {
        let from = plain.storages.get(pair.plain.storage)?;
        let size = pair.plain.element_size();
        let is_whole = |storage: &Storage, tensor: &Tensor| {
            tensor.offset == 0
                && tensor.is_contiguous()
                && usize::try_from(tensor.numel()).is_ok_and(|count| count * size == storage.bytes().len())
        };
        let into = storages.get(pair.varied.storage)?;
        if is_whole(from, &pair.plain)
            && is_whole(into, &pair.varied)
            && from.states().iter().all(|state| *state == ByteState::Init)
        {
            storages.write(pair.varied.storage, 0, from.bytes());
            continue;
        }
        for (at, to) in pair.plain.element_starts().zip(pair.varied.element_starts()) {
            let states = from.states().get(at..at.checked_add(size)?)?;
            let bytes = from.bytes().get(at..at.checked_add(size)?)?;
            if states.iter().all(|state| *state == ByteState::Init) {
                storages.write(pair.varied.storage, to, bytes);
            }
        }
    }
    Some(storages)
}

impl Related {
    /// The storages of tensors whose layout differs from the plain launch's.
    fn list_moved(&self) -> Vec<String> {
        let has_moved = |pair: &&Pair| {
            pair.plain.strides != pair.varied.strides || pair.plain.offset != pair.varied.offset
        };
        let moved = self.pairs.iter().filter(has_moved);
        let storages = moved.filter_map(|pair| self.case.storages.get(pair.varied.storage));
        storages.map(|storage| storage.name().to_owned()).collect()
    }

    /// The difference of a variant that traps, although the plain launch finishes. `None` if no tensor has another layout.
    pub fn describe_trap(&self, variant: &str, complaint: &Complaint) -> Option<Difference> {
        let has_moved = |pair: &&Pair| pair.plain.strides != pair.varied.strides;
        let pair = self.pairs.iter().find(has_moved)?;
        Some(Difference {
            parameter: pair.name.clone(),
            text: format!(
                "the plain launch finishes, and with {variant}: {}",
                complaint.message
            ),
            moved: self.list_moved(),
            failure: complaint.position.clone(),
        })
    }

    /// Compares what the variant leaves with what the plain launch leaves. `reference` launches both again if floats differ.
    pub fn compare(
        &self,
        (plain, other): ((&Case, &Memory), &Memory),
        names: (&str, &str),
        reference: &Reference,
        rules: Rules,
    ) -> Option<Difference> {
        let mut accepted = None;
        for pair in &self.pairs {
            let dtype = pair.plain.dtype;
            let size = pair.plain.element_size();
            if pair.is_same(plain.1, other) {
                continue;
            }
            let starts = pair.plain.element_starts().zip(pair.varied.element_starts());
            let mut slack = None;
            for (nth, (at, to)) in starts.enumerate() {
                let a = read(plain.1, &pair.plain, at, size)?;
                let b = read(other, &pair.varied, to, size)?;
                if let (Element::Bits(a), Element::Bits(b)) = (a, b) {
                    if a == b {
                        continue;
                    }
                    let (x, y) = (numeric::decode(dtype, a), numeric::decode(dtype, b));
                    if x.is_nan() && y.is_nan() || x == y {
                        continue;
                    }
                    if self.relation == Relation::Blocks {
                        let slack = *slack.get_or_insert_with(|| self.find_slack(pair, plain.1));
                        if (x - y).abs() <= slack {
                            continue;
                        }
                        let maps = accepted.get_or_insert_with(|| {
                            let find = |case: &Case| match reference.find_conforming(case, rules) {
                                Ok(Conforming::Known(map)) => Some(map),
                                _ => None,
                            };
                            find(plain.0).zip(find(&self.case))
                        });
                        let Some((one, two)) = maps else { return None };
                        let one = one.accepted_at(pair.plain.storage, at).1;
                        let two = two.accepted_at(pair.varied.storage, to).1;
                        if may_meet((one, x), (two, y)) {
                            continue;
                        }
                    }
                }
                let Some(words) = self.describe_change(dtype, (a, b), names) else {
                    continue;
                };
                return Some(Difference {
                    moved: self.list_moved(),
                    failure: None,
                    parameter: pair.name.clone(),
                    text: format!(
                        "`{}` is {words}",
                        describe_element(&pair.name, &unravel_index(nth, &pair.plain.shape))
                    ),
                });
            }
        }
        None
    }

    /// The largest difference that other blocks may make: half of the digits of the least precise dtype, relative to the largest
    /// value of the tensor. An integer may be a rounded float if there are floats.
    fn find_slack(&self, pair: &Pair, memory: &Memory) -> f64 {
        let digits = self
            .pairs
            .iter()
            .filter_map(|pair| count_digits(pair.plain.dtype));
        let Some(digits) = digits.min() else { return 0.0 };
        if count_digits(pair.plain.dtype).is_none() {
            return 1.0;
        }
        let size = pair.plain.element_size();
        let values =
            pair.plain
                .element_starts()
                .filter_map(|at| match read(memory, &pair.plain, at, size)? {
                    Element::Bits(bits) => Some(numeric::decode(pair.plain.dtype, bits).abs()),
                    _ => None,
                });
        let scale = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        scale * f64::powi(0.5, digits / 2)
    }

    /// The element in both launches, in words. `None` if the difference doesn't count.
    fn describe_change(
        &self,
        dtype: DType,
        elements: (Element, Element),
        names: (&str, &str),
    ) -> Option<String> {
        let show = |bits| numeric::format(dtype, bits);
        Some(match elements {
            (Element::Bits(a), Element::Bits(b)) => {
                format!("{} with {}, and {} with {}", show(a), names.0, show(b), names.1)
            }
            (Element::Bits(_), Element::Unwritten) => {
                format!("written with {}, and not with {}", names.0, names.1)
            }
            (Element::Unwritten, Element::Bits(_)) => {
                format!("written with {}, and not with {}", names.1, names.0)
            }
            // Only padding has no value in another layout.
            (Element::Bits(_), Element::Undefined) if self.relation != Relation::Blocks => {
                format!(
                    "defined with {}, and depends on padding with {}",
                    names.0, names.1
                )
            }
            _ => return None,
        })
    }
}

/// The bits of the significand of a float, without the first.
const fn count_digits(dtype: DType) -> Option<i32> {
    Some(match dtype {
        DType::F64 => 52,
        DType::F32 => 23,
        DType::F16 => 10,
        DType::BF16 => 7,
        _ if dtype.is_float() => 2,
        _ => return None,
    })
}

fn read(memory: &Memory, tensor: &Tensor, at: usize, size: usize) -> Option<Element> {
    let states = memory.states(tensor.storage).get(at..at + size)?;
    if states.contains(&ByteState::Uninit) {
        return Some(Element::Unwritten);
    }
    if states.iter().any(|state| *state != ByteState::Init) {
        return Some(Element::Undefined);
    }
    let bytes = memory.bytes(tensor.storage).get(at..at + size)?;
    let bits = bytes
        .iter()
        .rev()
        .fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    Some(Element::Bits(bits))
}

/// Whether conforming implementations may leave the same value in both launches.
fn may_meet(one: (Accepted, f64), two: (Accepted, f64)) -> bool {
    let range = |(accepted, value): (Accepted, f64)| match accepted {
        Accepted::Exact => Some((value, value)),
        Accepted::Within {
            low,
            high,
            infinities: [false, false],
            nan: false,
            ..
        } => Some((low.min(value), high.max(value))),
        Accepted::Within { .. } | Accepted::Unknown => None,
    };
    match (range(one), range(two)) {
        (Some(one), Some(two)) => one.0 <= two.1 && two.0 <= one.1,
        _ => true,
    }
}

/// The index of the element with this number, as torch's `unravel_index`.
fn unravel_index(nth: usize, shape: &[i64]) -> Vec<i64> {
    let mut rest = i64::try_from(nth).unwrap_or(i64::MAX);
    let mut index = Vec::new();
    for extent in shape.iter().rev() {
        index.push(rest % (*extent).max(1));
        rest /= (*extent).max(1);
    }
    index.reverse();
    index
}
