//! The assignment of lanes to threads, as Triton's compiler lays out the blocks of loads and stores.
//!
//! The compiler assigns each access a layout (`Coalesce.cpp`) based on its axis analysis of the pointers at compile time
//! (`AxisInfo.cpp`): the dimension along which they rise by one (*contiguity*), the multiples that they are
//! (*divisibility*), and where they stay the same (*constancy*). The dimension with most contiguity comes first; along it a
//! thread takes as many elements as fit 16 bytes and are known to be adjacent. A load takes as many as any access of the
//! same shape and order does, a store or atomic as many as it can itself. Two accesses of the same shape hold each lane in
//! the same thread if their dimensions have the same order and their threads take equally many elements; others need not.
//!
//! The analysis is independent of the number of warps: with few of them differences are observable, with many they may not
//! be.
//!
//! Not modelled: later passes that change loads and stores of fewer elements than threads; layouts of tensor cores, which
//! are converted before a store.

use std::sync::Arc;

use cerith_tile::ir::{BinaryOp, Block, Elem, Function, OpKind, Operation, Promise, ValueId};
use smallvec::{SmallVec, smallvec};

use crate::config::ParamValue;

/// Threads of a warp.
const WARP: usize = 32;

/// A power of two that everything is a multiple of.
const MAX_DIVISOR: i64 = 1 << 30;

type Numbers = SmallVec<[i64; 4]>;

/// The compiler's knowledge of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Axis {
    contiguity: Numbers,
    divisibility: Numbers,
    constancy: Numbers,
    constant: Option<i64>,
}

impl Axis {
    /// Nothing.
    fn unknown(rank: usize) -> Self {
        Self {
            contiguity: smallvec![1; rank],
            divisibility: smallvec![1; rank],
            constancy: smallvec![1; rank],
            constant: None,
        }
    }

    /// The properties common to both.
    fn join(&self, other: &Self) -> Self {
        let both = |a: &Numbers, b: &Numbers| a.iter().zip(b).map(|(&a, &b)| gcd(a, b)).collect();
        Self {
            contiguity: both(&self.contiguity, &other.contiguity),
            divisibility: both(&self.divisibility, &other.divisibility),
            constancy: both(&self.constancy, &other.constancy),
            constant: self.constant.filter(|_| self.constant == other.constant),
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.max(1), b.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The greatest power of two that divides a number.
fn find_power_of_two(number: i64) -> i64 {
    if number == 0 {
        return MAX_DIVISOR;
    }
    (1i64 << number.trailing_zeros().min(30)).min(MAX_DIVISOR)
}

fn multiply_clamped(a: i64, b: i64) -> i64 {
    a.saturating_mul(b).clamp(1, MAX_DIVISOR)
}

/// The properties of an argument that the analysis uses: Triton's specialisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Special {
    by_16: bool,
    is_one: bool,
}

impl Special {
    pub(crate) fn from_arg(arg: &ParamValue) -> Self {
        match *arg {
            ParamValue::Number(bits) => Self {
                by_16: bits.is_multiple_of(16),
                is_one: bits == 1,
            },
            ParamValue::Pointer { address, .. } => Self {
                by_16: address.is_multiple_of(16),
                is_one: false,
            },
        }
    }
}

/// The results of [`classes`], by the known properties of the arguments.
pub(crate) type Classes = Vec<(Vec<Special>, Arc<[u32]>)>;

/// For each access to memory, in the order of the kernel's text, which of them share their threads: equal numbers do. A
/// scalar's is 0.
pub(crate) fn classify_accesses(function: &Function, special: &[Special]) -> Vec<u32> {
    let mut analysis = Analysis {
        function,
        axes: vec![None; function.values.len()],
    };
    for (param, special) in function.params.iter().zip(special) {
        let divisibility = if special.by_16 { 16 } else { 1 };
        analysis.set(
            param.value,
            Axis {
                contiguity: smallvec![1],
                divisibility: smallvec![divisibility],
                constancy: smallvec![1],
                constant: special.is_one.then_some(1),
            },
        );
    }
    // Values that loops carry are joined until nothing changes; numbers only fall.
    for _ in 0..8 {
        let before = analysis.axes.clone();
        analysis.block(&function.body);
        if analysis.axes == before {
            break;
        }
    }
    let mut found = Vec::new();
    analysis.collect_accesses(&function.body, &mut found);
    let wide = |own: &AccessLayout, nth: usize, all: &[AccessLayout]| {
        all.iter()
            .filter(|other| other.shape == own.shape && other.orders[nth] == own.orders[nth])
            .map(|other| other.elements[nth])
            .max()
            .unwrap_or(1)
    };
    let mut keys: Vec<Key> = Vec::new();
    found
        .iter()
        .map(|own| {
            let lanes: usize = own.shape.iter().product();
            if lanes <= 1 {
                return 0;
            }
            let taken = [0, 1].map(|nth| {
                let taken = if own.load {
                    wide(own, nth, &found)
                } else {
                    own.elements[nth]
                };
                taken.min((lanes / WARP).max(1) as i64)
            });
            let key = (own.shape.clone(), own.orders.clone(), taken);
            let at = keys.iter().position(|other| *other == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            at as u32 + 1
        })
        .collect()
}

/// The inputs that assign lanes to threads: shape, orders, and elements of a thread.
type Key = (Vec<usize>, [Vec<usize>; 2], [i64; 2]);

/// The layout that an access requires by itself.
#[derive(Debug)]
struct AccessLayout {
    shape: Vec<usize>,
    /// Dimensions, the first one first: of equal ones 3.9 takes the last, and 3.0 to 3.6 the first.
    orders: [Vec<usize>; 2],
    /// Elements that a thread takes, in either order.
    elements: [i64; 2],
    load: bool,
}

struct Analysis<'a> {
    function: &'a Function,
    axes: Vec<Option<Axis>>,
}

impl Analysis<'_> {
    fn shape(&self, value: ValueId) -> &[usize] {
        self.function
            .values
            .get(value.0 as usize)
            .map_or(&[], |info| info.ty.shape.as_slice())
    }

    fn rank(&self, value: ValueId) -> usize {
        self.shape(value).len().max(1)
    }

    fn get(&self, value: ValueId) -> Axis {
        self.axes
            .get(value.0 as usize)
            .and_then(Clone::clone)
            .unwrap_or_else(|| Axis::unknown(self.rank(value)))
    }

    fn set(&mut self, value: ValueId, axis: Axis) {
        if let Some(to) = self.axes.get_mut(value.0 as usize) {
            *to = Some(axis);
        }
    }

    /// Joins what comes from several places.
    fn join(&mut self, to: &[ValueId], from: &[ValueId]) {
        for (&to, &from) in to.iter().zip(from) {
            let Some(new) = self.axes.get(from.0 as usize).and_then(Clone::clone) else {
                continue;
            };
            let joined = match self.axes.get(to.0 as usize).and_then(Option::as_ref) {
                Some(old) => old.join(&new),
                None => new,
            };
            self.set(to, joined);
        }
    }

    fn block(&mut self, block: &Block) {
        for op in &block.ops {
            self.analyse_operation(op);
        }
    }

    fn analyse_operation(&mut self, op: &Operation) {
        let yields = |block: &Block| -> Vec<ValueId> {
            let last = block.ops.last().filter(|op| matches!(op.kind, OpKind::Yield));
            last.map_or_else(Vec::new, |op| op.operands.to_vec())
        };
        match &op.kind {
            OpKind::For { body } => {
                let (bounds, initial) = op.operands.split_at(3.min(op.operands.len()));
                let (index, carried) = body.args.split_at(1.min(body.args.len()));
                if let (&[lower, _, step], &[index]) = (bounds, index) {
                    let (lower, step) = (self.get(lower), self.get(step));
                    let mut axis = Axis::unknown(1);
                    axis.divisibility[0] = gcd(first(&lower.divisibility), first(&step.divisibility));
                    self.set(index, axis);
                }
                self.join(carried, initial);
                self.block(body);
                self.join(carried, &yields(body));
                self.join(&op.results, initial);
                self.join(&op.results, &yields(body));
            }
            OpKind::If {
                then_block,
                else_block,
            } => {
                for block in [then_block, else_block] {
                    self.block(block);
                    self.join(&op.results, &yields(block));
                }
            }
            OpKind::While { before, after } => {
                self.join(&before.args, &op.operands);
                self.block(before);
                let passed: Vec<ValueId> = yields(before).into_iter().skip(1).collect();
                self.join(&after.args, &passed);
                self.join(&op.results, &passed);
                self.block(after);
                self.join(&before.args, &yields(after));
            }
            OpKind::Reduce { .. } | OpKind::Scan { .. } => {}
            _ => {
                if let &[out] = op.results.as_slice() {
                    let axis = self.analyse_result(op, out);
                    self.set(out, axis);
                }
            }
        }
    }

    fn analyse_result(&self, op: &Operation, out: ValueId) -> Axis {
        let rank = self.rank(out);
        let operand = |nth: usize| op.operands.get(nth).map(|&value| self.get(value));
        let known = match &op.kind {
            OpKind::Constant(bits) => self.analyse_constant(out, *bits),
            OpKind::Range { start, end } => Some(Axis {
                contiguity: smallvec![i64::from(*end) - i64::from(*start)],
                divisibility: smallvec![find_power_of_two(i64::from(*start))],
                constancy: smallvec![1],
                constant: None,
            }),
            OpKind::Splat => operand(0).map(|from| Axis {
                contiguity: smallvec![1; rank],
                divisibility: smallvec![first(&from.divisibility); rank],
                constancy: self.shape(out).iter().map(|&extent| extent as i64).collect(),
                constant: from.constant,
            }),
            OpKind::Broadcast => operand(0).map(|mut from| {
                let shape = op.operands.first().map_or(&[][..], |&value| self.shape(value));
                for (d, (&before, &after)) in shape.iter().zip(self.shape(out)).enumerate() {
                    if before == 1
                        && let (Some(contiguity), Some(constancy)) =
                            (from.contiguity.get_mut(d), from.constancy.get_mut(d))
                    {
                        (*contiguity, *constancy) = (1, after as i64);
                    }
                }
                from
            }),
            OpKind::Reshape { .. } => self.expand_axis(op, out),
            OpKind::Trans { order } => operand(0).map(|from| {
                let pick =
                    |from: &Numbers| order.iter().map(|&d| from.get(d).copied().unwrap_or(1)).collect();
                Axis {
                    contiguity: pick(&from.contiguity),
                    divisibility: pick(&from.divisibility),
                    constancy: pick(&from.constancy),
                    constant: from.constant,
                }
            }),
            OpKind::Cast { .. } => operand(0),
            OpKind::AddPtr => {
                let size = self.pointee_size(out);
                operand(0).zip(operand(1)).map(|(x, mut y)| {
                    y.divisibility
                        .iter_mut()
                        .for_each(|d| *d = multiply_clamped(*d, size));
                    sum(&x, &y, 1)
                })
            }
            OpKind::Binary(op) => operand(0)
                .zip(operand(1))
                .and_then(|(x, y)| analyse_binary(*op, &x, &y)),
            OpKind::Select => operand(1)
                .zip(operand(2))
                .zip(operand(0))
                .map(|((x, y), condition)| {
                    let mut both = x.join(&y);
                    for (to, &constancy) in both.contiguity.iter_mut().zip(&condition.constancy) {
                        *to = gcd(*to, constancy);
                    }
                    for (to, &constancy) in both.constancy.iter_mut().zip(&condition.constancy) {
                        *to = gcd(*to, constancy);
                    }
                    both
                }),
            OpKind::Hint { promise, values } => operand(0).map(|mut from| {
                let to = match promise {
                    Promise::MultipleOf => &mut from.divisibility,
                    Promise::MaxContiguous => &mut from.contiguity,
                    Promise::MaxConstancy => &mut from.constancy,
                };
                for (to, &given) in to.iter_mut().zip(values.iter()) {
                    *to = (given as i64).max(*to);
                }
                from
            }),
            _ => None,
        };
        known
            .filter(|axis| axis.contiguity.len() == rank)
            .unwrap_or_else(|| Axis::unknown(rank))
    }

    fn analyse_constant(&self, out: ValueId, bits: u64) -> Option<Axis> {
        let info = self.function.values.get(out.0 as usize)?;
        let dtype = info.ty.elem.num().filter(|dtype| dtype.is_int())?;
        let number = i64::try_from(cerith_tile::numeric::decode_int(dtype, bits)).ok()?;
        let rank = self.rank(out);
        Some(Axis {
            contiguity: smallvec![1; rank],
            divisibility: smallvec![find_power_of_two(number); rank],
            constancy: if info.ty.is_scalar() {
                smallvec![1]
            } else {
                info.ty.shape.iter().map(|&extent| extent as i64).collect()
            },
            constant: Some(number),
        })
    }

    /// A block with more dimensions of extent 1.
    fn expand_axis(&self, op: &Operation, out: ValueId) -> Option<Axis> {
        let &[a] = op.operands.as_slice() else { return None };
        let (from, to) = (self.shape(a), self.shape(out));
        let axis = self.get(a);
        let whole = |shape: &[usize]| shape.iter().copied().filter(|&e| e != 1).collect::<Vec<_>>();
        if to.len() < from.len() || whole(from) != whole(to) {
            return None;
        }
        let spread = (0..axis.contiguity.len()).map(|d| {
            if axis.contiguity[d] > 1 {
                1
            } else {
                axis.divisibility[d]
            }
        });
        let divisibility = axis
            .constant
            .map_or_else(|| spread.fold(MAX_DIVISOR, gcd), find_power_of_two);
        let mut old = (0..from.len()).filter(|&d| from[d] != 1);
        let mut result = Axis::unknown(0);
        result.constant = axis.constant;
        for &extent in to {
            let source = if extent == 1 { None } else { old.next() };
            if let Some(d) = source {
                result.contiguity.push(axis.contiguity[d]);
                result.divisibility.push(axis.divisibility[d]);
                result.constancy.push(axis.constancy[d]);
            } else {
                result.contiguity.push(1);
                result.divisibility.push(divisibility);
                result.constancy.push(1);
            }
        }
        Some(result)
    }

    fn pointee_size(&self, pointer: ValueId) -> i64 {
        self.function
            .values
            .get(pointer.0 as usize)
            .and_then(|info| info.ty.elem.pointee())
            .map_or(1, Elem::size) as i64
    }

    fn collect_accesses(&self, block: &Block, to: &mut Vec<AccessLayout>) {
        for op in &block.ops {
            if op.kind.accesses_memory()
                && let Some(&pointer) = op.operands.first()
            {
                to.push(self.build_access_layout(pointer, matches!(op.kind, OpKind::Load { .. })));
            }
            for region in op.kind.regions() {
                self.collect_accesses(region, to);
            }
        }
    }

    fn build_access_layout(&self, pointer: ValueId, load: bool) -> AccessLayout {
        let axis = self.get(pointer);
        let shape = self.shape(pointer).to_vec();
        let size = self.pointee_size(pointer);
        let mut newer: Vec<usize> = (0..shape.len()).rev().collect();
        let mut older: Vec<usize> = (0..shape.len()).collect();
        for order in [&mut newer, &mut older] {
            order.sort_by_key(|&d| std::cmp::Reverse(axis.contiguity.get(d).copied().unwrap_or(1)));
        }
        let orders = [newer, older];
        let elements = [0, 1].map(|nth: usize| {
            let d = orders[nth].first().copied().unwrap_or(0);
            let at = |numbers: &Numbers| numbers.get(d).copied().unwrap_or(1);
            let aligned = (at(&axis.divisibility) / size).max(1);
            let contiguous = at(&axis.contiguity).min(shape.get(d).map_or(1, |&extent| extent as i64));
            aligned.min(contiguous).min(16 / size.clamp(1, 16)).max(1)
        });
        AccessLayout {
            shape,
            orders,
            elements,
            load,
        }
    }
}

fn first(numbers: &Numbers) -> i64 {
    numbers.first().copied().unwrap_or(1)
}

fn zip(a: &Numbers, b: &Numbers, f: impl Fn(i64, i64) -> i64) -> Numbers {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn sum(x: &Axis, y: &Axis, sign: i64) -> Axis {
    let left = zip(&x.contiguity, &y.constancy, gcd);
    let contiguity = if sign > 0 {
        let right = zip(&x.constancy, &y.contiguity, gcd);
        zip(&left, &right, i64::max)
    } else {
        left
    };
    Axis {
        contiguity,
        divisibility: zip(&x.divisibility, &y.divisibility, gcd),
        constancy: zip(&x.constancy, &y.constancy, gcd),
        constant: x
            .constant
            .zip(y.constant)
            .map(|(x, y)| x.wrapping_add(sign.wrapping_mul(y))),
    }
}

fn multiply_axes(x: &Axis, y: &Axis) -> Axis {
    let kept = |x: &Axis, by: &Axis| -> Numbers {
        x.contiguity
            .iter()
            .map(|&contiguity| if by.constant == Some(1) { contiguity } else { 1 })
            .collect()
    };
    let multiple = |x: &Axis, by: &Axis| -> Numbers {
        let pairs = x.contiguity.iter().zip(&x.divisibility);
        pairs
            .map(|(&contiguity, &divisibility)| {
                if contiguity > 1 && by.constant != Some(1) {
                    1
                } else {
                    divisibility
                }
            })
            .collect()
    };
    Axis {
        contiguity: zip(&kept(x, y), &kept(y, x), i64::max),
        divisibility: zip(&multiple(x, y), &multiple(y, x), multiply_clamped),
        constancy: zip(&x.constancy, &y.constancy, gcd),
        constant: x.constant.zip(y.constant).map(|(x, y)| x.wrapping_mul(y)),
    }
}

fn analyse_binary(op: BinaryOp, x: &Axis, y: &Axis) -> Option<Axis> {
    Some(match op {
        BinaryOp::Add => sum(x, y, 1),
        BinaryOp::Sub => sum(x, y, -1),
        BinaryOp::Mul => multiply_axes(x, y),
        BinaryOp::Shl => {
            let by = y.constant.filter(|by| (0..31).contains(by))?;
            let rank = x.contiguity.len();
            let factor = Axis {
                contiguity: smallvec![1; rank],
                divisibility: smallvec![1 << by; rank],
                constancy: y.constancy.clone(),
                constant: Some(1 << by),
            };
            multiply_axes(x, &factor)
        }
        BinaryOp::IntDiv if y.constant == Some(1) => x.clone(),
        BinaryOp::IntDiv => {
            let mut axis = Axis::unknown(x.contiguity.len());
            for d in 0..x.contiguity.len() {
                let same = gcd(x.constancy[d], y.constancy[d]);
                let steps = gcd(x.contiguity[d], gcd(x.divisibility[d], y.divisibility[d]));
                let steps = if y.constancy[d] >= x.contiguity[d] {
                    steps
                } else {
                    1
                };
                axis.constancy[d] = same.max(steps);
            }
            axis
        }
        BinaryOp::Rem => {
            let mut axis = Axis::unknown(x.contiguity.len());
            for d in 0..x.contiguity.len() {
                let both = gcd(x.divisibility[d], y.divisibility[d]);
                axis.contiguity[d] = if y.constancy[d] >= x.contiguity[d] {
                    gcd(x.contiguity[d], both)
                } else {
                    1
                };
                axis.divisibility[d] = both;
                axis.constancy[d] = gcd(x.constancy[d], y.constancy[d]);
            }
            axis
        }
        _ => {
            let mut axis = Axis::unknown(x.contiguity.len());
            axis.constancy = zip(&x.constancy, &y.constancy, gcd);
            axis
        }
    })
}
