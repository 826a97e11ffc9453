//! The maker: turns choices into operations, with the pool of values that they use.
//!
//! See `shapes` and `regions` for operations that move lanes or have a region.

mod regions;
mod shapes;

use cerith_tile::ir::{
    AssertedBy, AtomicOp, BinaryOp, CastKind, CmpPredicate, Elem, Function, MemoryOrder, OpKind, Promise,
    Rounding, TernaryOp, Type, UnaryOp, ValueId,
};
use cerith_tile::{DType, numeric};

use super::{DTYPES, ELEMENTS};
use crate::kernel::Kernel;

/// The kind of a random operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub op: u8,
    pub a: u16,
    pub b: u16,
    pub c: u16,
}

/// Makes a kernel of choices: each one takes values that are there and adds another.
pub(super) struct Maker {
    k: Kernel,
    pointers: [ValueId; 3],
    pool: Vec<ValueId>,
    /// Regions inside of each other.
    depth: usize,
}

const SHAPES: [&[usize]; 5] = [&[16], &[4, 8], &[8, 1], &[32], &[16, 16]];
/// In the order that recorded inputs mean: an operation that goes leaves its place to another one.
const BINARY: [BinaryOp; 22] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::DivRn,
    BinaryOp::IntDiv,
    BinaryOp::Rem,
    BinaryOp::Rem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::LShr,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::MinPropagateNan,
    BinaryOp::MaxPropagateNan,
    BinaryOp::MulHi,
    BinaryOp::Pow,
    BinaryOp::Atan2,
    BinaryOp::CopySign,
];

/// Types of random values, some more often than others.
const ELEMS: [DType; 16] = [
    DType::F32,
    DType::I32,
    DType::F32,
    DType::I1,
    DType::F16,
    DType::F32,
    DType::I64,
    DType::U8,
    DType::BF16,
    DType::F64,
    DType::I16,
    DType::U32,
    DType::F8E5,
    DType::I8,
    DType::F8E4NV,
    DType::U64,
];

impl Maker {
    pub fn new(k: Kernel, pointers: [ValueId; 3], first: ValueId) -> Self {
        Self {
            k,
            pointers,
            pool: vec![first],
            depth: 0,
        }
    }

    /// Makes operations of the next `most` choices. One that fits nothing there adds nothing.
    pub fn add_operations(&mut self, choices: &mut dyn Iterator<Item = Choice>, most: usize) {
        for _ in 0..most {
            let Some(choice) = choices.next() else { return };
            let _ = self.step(choice, choices);
        }
    }

    /// Ends the kernel. The last value is stored, so that it is observed.
    pub fn finish(mut self) -> Function {
        let seen = |ty: &Type| ty.elem.num().is_some() && ty.numel() <= ELEMENTS;
        let last: Vec<ValueId> = self.pool.iter().rev().copied().take(3).collect();
        for value in last {
            let ty = self.k.b.ty(value).clone();
            if !seen(&ty) {
                continue;
            }
            let value = if ty.is_scalar() {
                self.k.spread(value, &[1])
            } else {
                self.k.reshape(value, &[ty.numel()])
            };
            let float = self.dtype(value).is_some_and(DType::is_float);
            let (pointer, to) = if float {
                (self.pointers[0], DTYPES[0])
            } else {
                (self.pointers[1], DTYPES[1])
            };
            let value = self.k.cast(value, to);
            let index = self.k.arange(ty.numel() as i32);
            let place = self.k.offset_pointer(pointer, index);
            // Other lanes may have been here: without a barrier the program has no answer.
            self.barrier();
            self.k.store(place, value, None);
        }
        self.k.b.finish()
    }

    fn pick(&self, nth: u16, fits: impl Fn(&Type) -> bool) -> Option<ValueId> {
        let all: Vec<ValueId> = self
            .pool
            .iter()
            .copied()
            .filter(|&v| fits(self.k.b.ty(v)))
            .collect();
        (!all.is_empty()).then(|| all[nth as usize % all.len()])
    }

    fn pick_like(&self, nth: u16, value: ValueId) -> ValueId {
        let ty = self.k.b.ty(value).clone();
        self.pick(nth, |other| *other == ty).unwrap_or(value)
    }

    #[expect(clippy::unnecessary_wraps, reason = "every way to make a value ends with it")]
    fn put(&mut self, value: ValueId) -> Option<()> {
        self.pool.push(value);
        Some(())
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.k.b.ty(value).elem.num()
    }

    /// A mask for blocks of this shape.
    fn mask(&self, nth: u16, shape: &[usize]) -> Option<ValueId> {
        let mask = Type::block(Elem::Num(DType::I1), shape);
        self.pick(nth, |ty| *ty == mask)
    }

    /// A pointer block into a storage, mostly inside of it.
    fn build_pointer(&mut self, Choice { b, c, .. }: Choice) -> Option<ValueId> {
        let base = self.pointers[c as usize / 4 % self.pointers.len()];
        let index = self.pick(b, |ty| ty.elem == Elem::Num(DType::I32) && !ty.is_scalar())?;
        let index = if c.is_multiple_of(4) {
            index
        } else {
            let limit = self.k.add_int(ELEMENTS as i32 - 1);
            self.k.add_binary(BinaryOp::And, index, limit)
        };
        Some(self.k.offset_pointer(base, index))
    }

    fn step(&mut self, choice: Choice, more: &mut dyn Iterator<Item = Choice>) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        match choice.op % 48 {
            0 => {
                let range = self.k.arange([16, 32][a as usize % 2]);
                self.put(range)
            }
            1 | 2 => {
                let shape = SHAPES[a as usize % SHAPES.len()];
                let dtype = ELEMS[b as usize % ELEMS.len()];
                let bits = u64::from(c) << (dtype.bits().max(16) - 16);
                let value = self.k.b.add_constant(bits, Type::block(Elem::Num(dtype), shape));
                self.put(value)
            }
            10 | 11 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let op = UnaryOp::ALL[c as usize % UnaryOp::ALL.len()];
                let dtype = self.dtype(x)?;
                // Triton's mathematical functions take no fp8.
                let plain = matches!(op, UnaryOp::Neg | UnaryOp::Abs | UnaryOp::IsNan | UnaryOp::IsInf);
                (plain || !dtype.is_fp8()).then_some(())?;
                numeric::unary_defined(op, dtype).then_some(())?;
                let ty = self
                    .k
                    .b
                    .ty(x)
                    .with_elem(Elem::Num(numeric::unary_result(op, dtype)));
                let value = self.k.b.add_op(OpKind::Unary(op), &[x], ty);
                self.put(value)
            }
            12 | 13 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let y = self.pick_like(b, x);
                let value = self.k.compare(CmpPredicate::ALL[c as usize % 6], x, y);
                self.put(value)
            }
            14 | 15 => {
                let condition = self.pick(a, |ty| ty.elem == Elem::Num(DType::I1))?;
                let of = self.k.b.ty(condition).clone();
                let x = self.pick(b, |ty| ty.shape == of.shape)?;
                let y = self.pick_like(c, x);
                let value = self.k.select(condition, x, y);
                self.put(value)
            }
            16 | 17 => self.cast(choice),
            18..=25 => self.move_lanes(choice),
            26 | 27 => {
                let pointer = self.build_pointer(choice)?;
                let ty = self.k.b.ty(pointer).clone();
                let mask = self.mask(a, &ty.shape);
                let value = ty.with_elem(ty.elem.pointee()?);
                let other = mask.and_then(|_| self.pick(b, |ty| *ty == value));
                let value = self.k.load(pointer, mask, other.filter(|_| b % 3 != 0));
                self.put(value)
            }
            28 | 29 => {
                let pointer = self.build_pointer(choice)?;
                let ty = self.k.b.ty(pointer).clone();
                let of = ty.with_elem(ty.elem.pointee()?);
                let value = self.pick(a, |ty| *ty == of)?;
                let mask = self.mask(b, &ty.shape);
                if c % 4 != 0 {
                    self.barrier();
                }
                self.k.store(pointer, value, mask.filter(|_| b % 2 == 0));
                Some(())
            }
            30 | 31 => self.add_atomic(choice),
            32 => {
                let x = self.pick(a, |ty| ty.elem.num().is_some())?;
                let (y, z) = (self.pick_like(b, x), self.pick_like(c, x));
                let op = TernaryOp::ALL[b as usize % TernaryOp::ALL.len()];
                numeric::ternary_defined(op, self.dtype(x)?).then_some(())?;
                let value = self.k.apply_op(OpKind::Ternary(op), &[x, y, z]);
                self.put(value)
            }
            33 => {
                let x = self.pick(a, |ty| {
                    ty.shape.len() == 1 && ty.elem.num().is_some_and(DType::is_int)
                })?;
                let pid = self.k.program_id((c % 3) as u8);
                let pid = self.k.cast(pid, self.dtype(x)?);
                let op = [BinaryOp::Add, BinaryOp::Mul][b as usize % 2];
                let value = self.k.add_binary(op, x, pid);
                self.put(value)
            }
            34 => {
                let dtype = ELEMS[b as usize % ELEMS.len()];
                let bits = u64::from(c) << (dtype.bits().max(16) - 16);
                let value = self.k.b.add_constant(bits, Type::num(dtype));
                self.put(value)
            }
            35 => {
                let kind = if a % 2 == 0 {
                    OpKind::ProgramId((b % 3) as u8)
                } else {
                    OpKind::NumPrograms((b % 3) as u8)
                };
                let value = self.k.b.add_op(kind, &[], Type::num(DType::I32));
                self.put(value)
            }
            36 => self.promise(choice),
            37 | 38 => self.combine(choice),
            39 => self.dot(choice),
            40 => self.branch(choice, more),
            41 | 42 => self.count(choice, more),
            43 => self.repeat(choice, more),
            44 => {
                let x = self.pick(a, |_| true)?;
                let ty = self.k.b.ty(x).clone();
                let value = self.k.b.add_op(OpKind::Poison, &[], ty);
                (c % 4 == 0).then(|| self.put(value))?
            }
            _ => self.add_binary(choice),
        }
    }

    fn add_binary(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick(a, |ty| ty.elem.num().is_some())?;
        let y = self.pick_like(b, x);
        let op = BINARY[c as usize % BINARY.len()];
        // Most divisors here are zero in some lane.
        let divides = matches!(op, BinaryOp::IntDiv | BinaryOp::Rem);
        (!divides || self.dtype(x)?.is_float() || b % 8 == 0).then_some(())?;
        numeric::binary_defined(op, self.dtype(x)?).then_some(())?;
        let value = self.k.apply_op(OpKind::Binary(op), &[x, y]);
        self.put(value)
    }

    fn cast(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick(a, |ty| ty.elem.num().is_some())?;
        let (from, to) = (self.dtype(x)?, ELEMS[b as usize % ELEMS.len()]);
        let kind = if c % 8 == 0 {
            CastKind::Bits
        } else {
            CastKind::Value
        };
        match kind {
            CastKind::Bits => from.bits() == to.bits(),
            CastKind::Value => numeric::cast_defined(from, to),
        }
        .then_some(())?;
        let rounding = Rounding::ALL[usize::from(c % 8 == 1)];
        let ty = self.k.b.ty(x).with_elem(Elem::Num(to));
        let value = self.k.b.add_op(OpKind::Cast { kind, rounding }, &[x], ty);
        self.put(value)
    }

    fn add_atomic(&mut self, choice: Choice) -> Option<()> {
        let Choice { a, b, c, .. } = choice;
        let pointer = self.build_pointer(choice)?;
        let ty = self.k.b.ty(pointer).clone();
        let elem = ty.elem.pointee()?;
        let of = ty.with_elem(elem);
        let value = self.pick(a, |other| *other == of)?;
        if b % 5 == 4 {
            let compare = self.pick_like(c, value);
            let old = self.k.b.add_op(
                OpKind::AtomicCas {
                    order: MemoryOrder::AcquireRelease,
                },
                &[pointer, compare, value],
                of,
            );
            return self.put(old);
        }
        let float = elem.num()?.is_float();
        let op = AtomicOp::ALL[b as usize % AtomicOp::ALL.len()];
        let bitwise = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        (!(float && bitwise)).then_some(())?;
        let mask = self.mask(c, &ty.shape).filter(|_| a % 2 == 0);
        let operands: Vec<ValueId> = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
        let mask = mask.is_some();
        let old = self.k.b.add_op(
            OpKind::AtomicRmw {
                op,
                mask,
                order: MemoryOrder::AcquireRelease,
            },
            &operands,
            of,
        );
        self.put(old)
    }

    /// Something that is promised, assumed, asserted or printed.
    fn promise(&mut self, Choice { a, b, c, .. }: Choice) -> Option<()> {
        let x = self.pick(a, |ty| ty.elem.num().is_some_and(DType::is_int))?;
        let condition = self.pick(a, |ty| ty.elem == Elem::Num(DType::I1));
        match b % 5 {
            0 => {
                let rank = self.k.shape(x).len().max(1);
                let promise = Promise::ALL[c as usize / 4 % Promise::ALL.len()];
                let values = vec![1 << (c % 4); rank].into();
                let value = self.k.apply_op(OpKind::Hint { promise, values }, &[x]);
                self.put(value)
            }
            1 => {
                self.k.b.add_effect(OpKind::Assume, &[condition?]);
                Some(())
            }
            2 => {
                let message = "no".to_owned();
                self.k.b.add_effect(
                    OpKind::Assert {
                        message,
                        mask: false,
                        check: AssertedBy::Kernel,
                    },
                    &[condition?],
                );
                Some(())
            }
            3 => {
                let (prefix, hex) = ("x".to_owned(), c % 2 == 0);
                self.k.b.add_effect(OpKind::Print { prefix, hex }, &[x]);
                Some(())
            }
            _ => {
                self.barrier();
                Some(())
            }
        }
    }

    fn barrier(&mut self) {
        self.k.b.add_effect(OpKind::Barrier, &[]);
    }
}
