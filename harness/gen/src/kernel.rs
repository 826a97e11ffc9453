//! Kernels built by hand: IR, operation by operation, and memory for it to run on.
//!
//! Calls must make sense (a load needs a pointer): these functions are for callers who know what to build, and panic on
//! wrong use. See [`crate::program`] for choosing operations.

use cerith_interp::ParamValue;
use cerith_memory::{Memory, NamedTensor, StorageId, Storages, Tensor};
use cerith_tile::DType;
use cerith_tile::ir::{
    BinaryOp, Builder, CastKind, CmpPredicate, Combine, Elem, Function, InputPrecision, LocId, OpKind,
    Rounding, Type, UnaryOp, ValueId,
};
use cerith_tile::source::{SourceFile, SourceId, Sources, Span};

/// A builder that knows the kernel's text: [`Kernel::set_location`] says which part of it the next operations come from.
pub struct Kernel {
    /// The builder, for operations without a method here.
    pub b: Builder,
    text: String,
}

/// `f32` lanes.
pub const F32: Elem = Elem::Num(DType::F32);
/// `i32` lanes.
pub const I32: Elem = Elem::Num(DType::I32);
/// `i64` lanes.
pub const I64: Elem = Elem::Num(DType::I64);
/// `i1` lanes.
pub const I1: Elem = Elem::Num(DType::I1);

impl Kernel {
    /// Starts the IR of a kernel of this text, in a file `kernel.py`.
    pub fn new(text: &str) -> Self {
        let mut sources = Sources::default();
        let id = sources.add(SourceFile::new("kernel.py", text));
        Self {
            b: Builder::new("kernel", sources, Span::new(id, 0, text.len() as u32)),
            text: text.to_owned(),
        }
    }

    fn find_span(&self, part: &str) -> Span {
        let start = self
            .text
            .find(part)
            .unwrap_or_else(|| panic!("the text has no `{part}`")) as u32;
        Span::new(SourceId(0), start, start + part.len() as u32)
    }

    /// The next operations come from this part of the text.
    pub fn set_location(&mut self, part: &str) -> &mut Self {
        let span = self.find_span(part);
        let loc = self.b.add_loc(span, None);
        self.b.set_loc(loc);
        self
    }

    /// The next operations come from `part`, inlined where the text says `caller`.
    pub fn set_inlined_location(&mut self, part: &str, caller: &str) -> &mut Self {
        let (span, caller) = (self.find_span(part), self.find_span(caller));
        let outer: LocId = self.b.add_loc(caller, None);
        let loc = self.b.add_loc(span, Some(outer));
        self.b.set_loc(loc);
        self
    }

    /// A parameter that takes a tensor.
    pub fn add_pointer_param(&mut self, name: &str, dtype: DType) -> ValueId {
        self.b.add_param(name, Type::scalar(Elem::ptr_to(dtype)))
    }

    /// A parameter that takes a number.
    pub fn add_number_param(&mut self, name: &str, dtype: DType) -> ValueId {
        self.b.add_param(name, Type::num(dtype))
    }

    /// The extents of a value; none for a scalar.
    pub fn shape(&self, value: ValueId) -> Vec<usize> {
        self.b.ty(value).shape.to_vec()
    }

    /// `tl.program_id(axis)`.
    pub fn program_id(&mut self, axis: u8) -> ValueId {
        self.b.add_op(OpKind::ProgramId(axis), &[], Type::num(DType::I32))
    }

    /// A scalar `i32`.
    pub fn add_int(&mut self, value: i32) -> ValueId {
        self.b.add_constant(value as u32 as u64, Type::num(DType::I32))
    }

    /// A block of the same bits in every lane.
    pub fn add_full(&mut self, dtype: DType, bits: u64, shape: &[usize]) -> ValueId {
        self.b.add_constant(bits, Type::block(Elem::Num(dtype), shape))
    }

    /// `tl.arange(0, end)`.
    pub fn arange(&mut self, end: i32) -> ValueId {
        self.b.add_op(
            OpKind::Range { start: 0, end },
            &[],
            Type::block(I32, [end as usize].as_slice()),
        )
    }

    /// An operation whose result has the first operand's type.
    pub fn apply_op(&mut self, kind: OpKind, operands: &[ValueId]) -> ValueId {
        let ty = self.b.ty(operands[0]).clone();
        self.b.add_op(kind, operands, ty)
    }

    /// A binary operation; a scalar is spread to the other operand's shape.
    pub fn add_binary(&mut self, op: BinaryOp, x: ValueId, y: ValueId) -> ValueId {
        let (x, y) = self.broadcast_pair(x, y);
        self.apply_op(OpKind::Binary(op), &[x, y])
    }

    /// The sum, as [`Self::add_binary`] makes it.
    pub fn add(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.add_binary(BinaryOp::Add, x, y)
    }

    /// The product, as [`Self::add_binary`] makes it.
    pub fn mul(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.add_binary(BinaryOp::Mul, x, y)
    }

    /// An operation of one operand whose result has its type.
    pub fn add_unary(&mut self, op: UnaryOp, x: ValueId) -> ValueId {
        self.apply_op(OpKind::Unary(op), &[x])
    }

    /// A comparison; a scalar is spread to the other operand's shape.
    pub fn compare(&mut self, predicate: CmpPredicate, x: ValueId, y: ValueId) -> ValueId {
        let (x, y) = self.broadcast_pair(x, y);
        let ty = self.b.ty(x).with_elem(I1);
        self.b.add_op(OpKind::Compare(predicate), &[x, y], ty)
    }

    /// Whether `x` is less than `y`.
    pub fn compare_less(&mut self, x: ValueId, y: ValueId) -> ValueId {
        self.compare(CmpPredicate::Lt, x, y)
    }

    /// The value converted, to nearest even.
    pub fn cast(&mut self, x: ValueId, to: DType) -> ValueId {
        let ty = self.b.ty(x).with_elem(Elem::Num(to));
        self.b.add_op(
            OpKind::Cast {
                kind: CastKind::Value,
                rounding: Rounding::NearestEven,
            },
            &[x],
            ty,
        )
    }

    /// `x` in this shape: splat, expanded by hand before, broadcast.
    pub fn spread(&mut self, x: ValueId, shape: &[usize]) -> ValueId {
        let ty = self.b.ty(x).clone();
        if ty.shape.as_slice() == shape {
            return x;
        }
        let kind = if ty.is_scalar() {
            OpKind::Splat
        } else {
            OpKind::Broadcast
        };
        self.b.add_op(kind, &[x], Type::block(ty.elem, shape))
    }

    fn broadcast_pair(&mut self, x: ValueId, y: ValueId) -> (ValueId, ValueId) {
        let (a, b) = (self.shape(x), self.shape(y));
        let rank = a.len().max(b.len());
        let shape: Vec<usize> = (0..rank)
            .map(|d| a.get(d).copied().unwrap_or(1).max(b.get(d).copied().unwrap_or(1)))
            .collect();
        (self.spread(x, &shape), self.spread(y, &shape))
    }

    /// The same lanes in another shape.
    pub fn reshape(&mut self, x: ValueId, shape: &[usize]) -> ValueId {
        let elem = self.b.ty(x).elem;
        self.b
            .add_op(OpKind::Reshape { reorder: false }, &[x], Type::block(elem, shape))
    }

    /// `x[:, None]`.
    pub fn expand_column(&mut self, x: ValueId) -> ValueId {
        let n = self.shape(x)[0];
        self.reshape(x, &[n, 1])
    }

    /// `x[None, :]`.
    pub fn expand_row(&mut self, x: ValueId) -> ValueId {
        let n = self.shape(x)[0];
        self.reshape(x, &[1, n])
    }

    /// A pointer moved by so many elements; a scalar is spread to the other's shape.
    pub fn offset_pointer(&mut self, pointer: ValueId, offset: ValueId) -> ValueId {
        let (pointer, offset) = self.broadcast_pair(pointer, offset);
        self.apply_op(OpKind::AddPtr, &[pointer, offset])
    }

    /// The contents at a pointer, where a mask allows it.
    ///
    /// # Panics
    /// If the pointer is none.
    pub fn load(&mut self, pointer: ValueId, mask: Option<ValueId>, other: Option<ValueId>) -> ValueId {
        let ty = self.b.ty(pointer).clone();
        let elem = ty.elem.pointee().expect("a pointer");
        let operands: Vec<ValueId> = [Some(pointer), mask, other].into_iter().flatten().collect();
        let kind = OpKind::Load {
            mask: mask.is_some(),
            has_other: other.is_some(),
            volatile: false,
        };
        self.b.add_op(kind, &operands, ty.with_elem(elem))
    }

    /// A store, where a mask allows it; a scalar value is spread.
    pub fn store(&mut self, pointer: ValueId, value: ValueId, mask: Option<ValueId>) {
        let shape = self.shape(pointer);
        let value = self.spread(value, &shape);
        let operands: Vec<ValueId> = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
        self.b
            .add_effect(OpKind::Store { mask: mask.is_some() }, &operands);
    }

    /// `x` where the condition holds, else `y`.
    pub fn select(&mut self, condition: ValueId, x: ValueId, y: ValueId) -> ValueId {
        let ty = self.b.ty(x).clone();
        self.b.add_op(OpKind::Select, &[condition, x, y], ty)
    }

    /// A reduction by a well-known operation.
    pub fn reduce(&mut self, x: ValueId, axis: usize, combine: Combine, op: BinaryOp) -> ValueId {
        let ty = self.b.ty(x).clone();
        let scalar = Type::scalar(ty.elem);
        let (left, right) = (self.b.add_value(scalar.clone()), self.b.add_value(scalar.clone()));
        self.b.open_block(&[left, right]);
        let both = self.b.add_op(OpKind::Binary(op), &[left, right], scalar);
        let region = self.b.close_block(&[both]);
        let mut shape = ty.shape.clone();
        shape.remove(axis);
        self.b.add_op(
            OpKind::Reduce {
                axis,
                combine: Some(combine),
                region,
            },
            &[x],
            Type::block(ty.elem, shape),
        )
    }

    /// A matrix product with nothing rounded.
    pub fn dot(&mut self, x: ValueId, y: ValueId, accumulator: ValueId) -> ValueId {
        let ty = self.b.ty(accumulator).clone();
        let kind = OpKind::Dot {
            precision: InputPrecision::Ieee,
            max_imprecise: 0,
        };
        self.b.add_op(kind, &[x, y, accumulator], ty)
    }

    /// The kernel, verified.
    ///
    /// # Panics
    /// If it does not verify.
    pub fn finish(self) -> Function {
        let function = self.b.finish();
        if let Err(error) = function.verify() {
            panic!("{error}");
        }
        function
    }
}

/// Storages of one dtype each, with the other inputs of a launch.
#[derive(Default)]
pub struct World {
    storages: Storages,
    tensors: Vec<NamedTensor>,
}

impl World {
    /// A tensor that starts at its storage's start; `None` leaves it uninitialised.
    ///
    /// # Panics
    /// If a storage so large cannot be.
    pub fn tensor(&mut self, name: &str, dtype: DType, count: usize, bytes: Option<&[u8]>) -> StorageId {
        let id = self
            .storages
            .add(name, (count * dtype.size()) as u64)
            .expect("small");
        if let Some(bytes) = bytes {
            assert!(self.storages.write(id, 0, bytes));
        }
        let tensor = Tensor::new_contiguous(id, dtype, &[count as i64]);
        self.tensors.push(NamedTensor {
            name: name.to_owned(),
            tensor,
        });
        id
    }

    /// A tensor of `f32`.
    pub fn add_floats(&mut self, name: &str, values: &[f32]) -> StorageId {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.tensor(name, DType::F32, values.len(), Some(&bytes))
    }

    /// A tensor of `i32`.
    pub fn add_ints(&mut self, name: &str, values: &[i32]) -> StorageId {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.tensor(name, DType::I32, values.len(), Some(&bytes))
    }

    /// The storages so far.
    pub fn storages(&mut self) -> &mut Storages {
        &mut self.storages
    }

    /// The memory, and an argument for each tensor in order of creation.
    pub fn finish(self) -> (Memory, Vec<ParamValue>) {
        let memory = Memory::new(&self.storages, self.tensors.clone());
        let args = self
            .tensors
            .iter()
            .map(|t| ParamValue::tensor(&memory, &t.tensor, &t.name))
            .collect();
        (memory, args)
    }
}
