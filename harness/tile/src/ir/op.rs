//! The operations of the IR. What each does to a lane is in [`crate::numeric`] for the arithmetic ones and in
//! `cerith-interp` for those that touch memory or move lanes. Adding an elementwise operation is adding one row to
//! [`UnaryOp`], [`BinaryOp`] or [`TernaryOp`].

use super::{Block, Foreign, Shape};
use crate::numeric::library::Symbol;

macro_rules! op_table {
    ($( #[$meta:meta] )* $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal; )+ }) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )+ }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The name in printed IR.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }
        }
    };
}

op_table! {
    /// Elementwise operations of one operand; the result has the operand's type unless said otherwise.
    UnaryOp {
        /// Two's complement negation, or the sign flip of a float.
        Neg = "neg";
        /// Bitwise complement; logical for `i1`.
        Not = "not";
        /// Absolute value; of the lowest signed integer, that integer.
        Abs = "abs";
        /// Largest integral value not above.
        Floor = "floor";
        /// Smallest integral value not below.
        Ceil = "ceil";
        /// Integral value nearest, ties to even (`libdevice.rint`, `nearbyint`).
        Rint = "rint";
        /// Integral value toward zero (`libdevice.trunc`).
        Trunc = "trunc_float";
        /// Integral value nearest, ties away from zero (`libdevice.round`).
        Round = "round";
        /// Square root, approximate (`sqrt.approx`).
        Sqrt = "sqrt";
        /// Square root, correctly rounded.
        SqrtRn = "sqrt_rn";
        /// Reciprocal square root.
        Rsqrt = "rsqrt";
        /// e to the x.
        Exp = "exp";
        /// 2 to the x.
        Exp2 = "exp2";
        /// e to the x, less 1 (`libdevice.expm1`).
        Expm1 = "expm1";
        /// Natural logarithm.
        Log = "log";
        /// Logarithm to base 2.
        Log2 = "log2";
        /// Logarithm to base 10 (`libdevice.log10`).
        Log10 = "log10";
        /// Natural logarithm of 1 + x (`libdevice.log1p`).
        Log1p = "log1p";
        /// Sine.
        Sin = "sin";
        /// Cosine.
        Cos = "cos";
        /// Tangent (`libdevice.tan`).
        Tan = "tan";
        /// Arc sine (`libdevice.asin`).
        Asin = "asin";
        /// Arc cosine (`libdevice.acos`).
        Acos = "acos";
        /// Arc tangent (`libdevice.atan`).
        Atan = "atan";
        /// Hyperbolic sine (`libdevice.sinh`).
        Sinh = "sinh";
        /// Hyperbolic cosine (`libdevice.cosh`).
        Cosh = "cosh";
        /// Hyperbolic tangent (`libdevice.tanh`).
        Tanh = "tanh";
        /// Error function.
        Erf = "erf";
        /// Whether a float is NaN; the result is `i1`.
        IsNan = "isnan";
        /// Whether a float is infinite; the result is `i1`.
        IsInf = "isinf";
    }
}

op_table! {
    /// Elementwise operations of two operands of one type, which is also the result's.
    BinaryOp {
        /// Sum, wrapping for integers; xor for `i1`.
        Add = "add";
        /// Difference, wrapping for integers.
        Sub = "sub";
        /// Product, wrapping for integers.
        Mul = "mul";
        /// Float quotient of `/` (for `f32`: `div.full`, within 2 ULP).
        Div = "div";
        /// Float quotient, correctly rounded.
        DivRn = "div_rn";
        /// Integer quotient toward zero, by the signedness of the dtype.
        IntDiv = "int_div";
        /// Remainder with the dividend's sign: integers by signedness, floats as `fmod`.
        Rem = "rem";
        /// Bitwise and.
        And = "and";
        /// Bitwise or.
        Or = "or";
        /// Bitwise exclusive or.
        Xor = "xor";
        /// Shift left; a count of the width or more is poison.
        Shl = "shl";
        /// Shift right: arithmetic for signed, logical for unsigned; a count of the width or more is poison.
        Shr = "shr";
        /// Shift right, logical, whatever the signedness.
        LShr = "lshr";
        /// Smaller one; of a NaN and a number, the number.
        Min = "min";
        /// Larger one; of a NaN and a number, the number.
        Max = "max";
        /// Smaller one; NaN when either is.
        MinPropagateNan = "min_nan";
        /// Larger one; NaN when either is.
        MaxPropagateNan = "max_nan";
        /// High half of the product of the bits as unsigned numbers, whatever the dtype (`tt.mulhiui`, `tl.umulhi`).
        MulHi = "mulhi";
        /// x to the y (`libdevice.pow`).
        Pow = "pow";
        /// Angle of (y, x) (`libdevice.atan2`).
        Atan2 = "atan2";
        /// Magnitude of the first, sign of the second (`libdevice.copysign`).
        CopySign = "copysign";
    }
}

op_table! {
    /// Elementwise operations of three operands of one type, which is also the result's.
    TernaryOp {
        /// x * y + z, rounded once.
        Fma = "fma";
        /// x limited to lo and hi; of a NaN, lo (`PropagateNan.NONE`).
        Clamp = "clamp";
        /// x limited to lo and hi; of a NaN, NaN.
        ClampPropagateNan = "clamp_nan";
    }
}

op_table! {
    /// Comparisons; by the signedness of the dtype, ordered for floats except `Ne`, which is true of a NaN.
    CmpPredicate {
        /// Equal.
        Eq = "eq";
        /// Not equal.
        Ne = "ne";
        /// Less.
        Lt = "lt";
        /// Less or equal.
        Le = "le";
        /// Greater.
        Gt = "gt";
        /// Greater or equal.
        Ge = "ge";
    }
}

op_table! {
    /// How a float is narrowed.
    Rounding {
        /// To nearest, ties to even.
        NearestEven = "rtne";
        /// Toward zero.
        TowardZero = "rtz";
    }
}

op_table! {
    /// What a cast keeps. The exact operation follows from the two dtypes.
    CastKind {
        /// The value, converted: widening, narrowing, between integers and floats. To `i1`, whether it is not zero.
        Value = "cast";
        /// The bits; both types have one width. Also between pointers and 64-bit integers.
        Bits = "bitcast";
    }
}

op_table! {
    /// What an atomic does with memory and its operand.
    AtomicOp {
        /// Sum.
        Add = "add";
        /// Bitwise and.
        And = "and";
        /// Bitwise or.
        Or = "or";
        /// Bitwise exclusive or.
        Xor = "xor";
        /// Larger one, by the signedness of the dtype.
        Max = "max";
        /// Smaller one, by the signedness of the dtype.
        Min = "min";
        /// Exchange.
        Xchg = "xchg";
    }
}

op_table! {
    /// How `f32` operands of a dot are rounded before they are multiplied.
    InputPrecision {
        /// To tf32.
        Tf32 = "tf32";
        /// Split in three tf32 products.
        Tf32x3 = "tf32x3";
        /// Not at all.
        Ieee = "ieee";
        /// Split in three bf16 products.
        Bf16x3 = "bf16x3";
        /// Split in six bf16 products.
        Bf16x6 = "bf16x6";
    }
}

op_table! {
    /// A combine region that is one well-known operation, so that the interpreter need not walk the region.
    Combine {
        /// Sum.
        Add = "add";
        /// Product.
        Mul = "mul";
        /// Smaller, numbers before NaN.
        Min = "min";
        /// Larger, numbers before NaN.
        Max = "max";
        /// Bitwise and.
        And = "and";
        /// Bitwise or.
        Or = "or";
        /// Bitwise exclusive or.
        Xor = "xor";
    }
}

/// What an operation does. Operands are listed in the order of [`super::Operation::operands`].
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// The same bits in every lane of the result. Bits above the element's width are zero.
    Constant(u64),
    /// `tl.program_id(axis)`: an `i32` scalar.
    ProgramId(u8),
    /// `tl.num_programs(axis)`: an `i32` scalar.
    NumPrograms(u8),
    /// `tl.arange(start, end)`: an `i32` block.
    Range {
        /// First value.
        start: i32,
        /// One past the last.
        end: i32,
    },
    /// One operand.
    Unary(UnaryOp),
    /// Two operands of one type.
    Binary(BinaryOp),
    /// Three operands of one type.
    Ternary(TernaryOp),
    /// A function of CUDA's math library (`tl.extra.libdevice`); operands and result of the dtypes that the symbol has.
    Library(&'static Symbol),
    /// Lanes of any dtypes, of the result's shape: a function of a model of somebody's bug.
    Foreign(Foreign),
    /// Two operands of one type; `i1` lanes. Pointers compare as unsigned addresses.
    Compare(CmpPredicate),
    /// `condition, if_true, if_false`; the condition is `i1` with the same shape, or a scalar.
    Select,
    /// One operand, converted to the result's element type.
    Cast {
        /// Value or bits.
        kind: CastKind,
        /// How floats are narrowed.
        rounding: Rounding,
    },
    /// A scalar operand in every lane of the result.
    Splat,
    /// A block operand with extents of 1 repeated to the result's shape (same number of dimensions).
    Broadcast,
    /// A block operand with the same lanes in the same row-major order and another shape. Also `expand_dims`.
    Reshape {
        /// Whether the order of lanes is unspecified (`can_reorder`).
        reorder: bool,
    },
    /// A block operand with its dimensions permuted: result dimension `i` is operand dimension `order[i]`.
    Trans {
        /// The permutation.
        order: Shape,
    },
    /// Two blocks of one type; the result has a new last dimension of 2.
    Join,
    /// A block with a last dimension of 2; two results without it.
    Split,
    /// Two blocks of one type, one after the other along dimension 0.
    Cat {
        /// Whether the order of lanes is unspecified (`can_reorder=True`).
        reorder: bool,
    },
    /// `source, index`: along an axis, `source` at `index`; the result has `index`'s shape.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// `pointer, offset`: the pointer moved by `offset` elements (sign-extended, or zero-extended when unsigned).
    AddPtr,
    /// `pointer [, mask [, other]]`. The result's element is the pointer's pointee.
    Load {
        /// Whether operand 1 is a mask.
        mask: bool,
        /// Whether operand 2 is what masked-off lanes hold; else they are poison.
        other: bool,
        /// Whether the load is volatile, for readers of other programs' writes.
        volatile: bool,
    },
    /// `pointer, value [, mask]`; no result.
    Store {
        /// Whether operand 2 is a mask.
        mask: bool,
    },
    /// `pointer, value [, mask]`; the result is what was in memory before.
    AtomicRmw {
        /// What it does.
        op: AtomicOp,
        /// Whether operand 2 is a mask.
        mask: bool,
        /// What it orders.
        order: MemoryOrder,
    },
    /// `pointer, compare, value`; the result is what was in memory before.
    AtomicCas {
        /// What it orders.
        order: MemoryOrder,
    },
    /// `pointer, expected`: waits until memory holds what is expected; `i1` lanes, false where time ran out first.
    AtomicPoll {
        /// Whether time can run out. How much there is of it is not told.
        timeout: bool,
    },
    /// Blocks of one shape; each result lacks the axis. The region takes two of each operand's elements, the
    /// accumulated ones first, and yields one of each.
    Reduce {
        /// The axis.
        axis: usize,
        /// The region, when it is a well-known one.
        combine: Option<Combine>,
        /// The region.
        region: Block,
    },
    /// Blocks of one shape; results of the operands' types. The region is as in `Reduce`.
    Scan {
        /// The axis.
        axis: usize,
        /// Whether it runs from the end.
        reverse: bool,
        /// The region, when it is a well-known one.
        combine: Option<Combine>,
        /// The region.
        region: Block,
    },
    /// `a, b, accumulator`: a matrix product, of 2 dimensions or batched in 3.
    Dot {
        /// How `f32` operands are rounded.
        precision: InputPrecision,
        /// `max_num_imprecise_acc` for fp8 operands.
        max_imprecise: u32,
    },
    /// `values [, mask]`: how many lanes hold each of 0 to the result's extent.
    Histogram {
        /// Whether operand 1 is a mask.
        mask: bool,
    },
    /// `lower, upper, step, initial…`: the region takes the induction variable and the carried values and yields the
    /// carried values. Results are the last carried values.
    For {
        /// The region.
        body: Block,
    },
    /// `condition`, an `i1` scalar. Each region yields the results.
    If {
        /// Taken when true.
        then_block: Block,
        /// Taken when false.
        else_block: Block,
    },
    /// `initial…`: `before` takes the carried values and yields an `i1` scalar and the values that `after` takes
    /// and the operation results in; `after` yields the carried values.
    While {
        /// The test.
        before: Block,
        /// The body.
        after: Block,
    },
    /// Ends a region with the region's results.
    Yield,
    /// `condition [, mask]`: `tl.device_assert`; a false lane traps when device asserts are on.
    Assert {
        /// The message.
        message: String,
        /// Whether operand 1 is a mask.
        mask: bool,
    },
    /// `tl.device_print(prefix, …)`.
    Print {
        /// The prefix.
        prefix: String,
        /// Whether numbers are printed in base 16.
        hex: bool,
    },
    /// `condition`: `tl.assume`; a false lane makes the program undefined.
    Assume,
    /// `condition`: what the language demands of a tensor descriptor; a false lane makes the program undefined.
    Demand(Demand),
    /// `tl.debug_barrier()`: lanes see each other's earlier writes.
    Barrier,
    /// What volatile loads just before it read is taken over: an atomic load acquires.
    Acquire,
    /// One operand, returned as it is, with promises (`multiple_of`, `max_contiguous`, `max_constancy`), one number a
    /// dimension; a false promise is undefined.
    Hint {
        /// Which promise.
        promise: Promise,
        /// The numbers.
        values: Shape,
    },
    /// A value that nothing defines: what a variable holds on a path that does not bind it, `tl.load` past a mask.
    Poison,
    /// The result cannot be computed by the reference yet; running it is `unsupported` with this name.
    Unsupported(String),
}

op_table! {
    /// What an atomic orders between programs. One whose scope is not the whole GPU orders nothing between them.
    MemoryOrder {
        /// Nothing.
        Relaxed = "relaxed";
        /// What comes after it comes after what was released there.
        Acquire = "acquire";
        /// What came before it is handed on to who acquires there.
        Release = "release";
        /// Both; Triton's default.
        AcquireRelease = "acq_rel";
    }
}

impl MemoryOrder {
    /// Whether it takes over what others hand on.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease)
    }

    /// Whether it hands on what came before.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease)
    }
}

op_table! {
    /// What the language demands of tensor descriptors and of their use.
    Demand {
        /// The base is a multiple of 16 bytes.
        AlignedBase = "aligned_base";
        /// Every stride but the last is a multiple of 16 bytes.
        AlignedStrides = "aligned_strides";
        /// The extents are not negative.
        ProperShape = "proper_shape";
        /// A block begins at a multiple of 16 bytes along the last dimension.
        AlignedOffset = "aligned_offset";
    }
}

op_table! {
    /// What a hint promises.
    Promise {
        /// Each lane that starts a run is a multiple.
        MultipleOf = "multiple_of";
        /// Runs of this length rise by 1.
        MaxContiguous = "max_contiguous";
        /// Runs of this length are equal.
        MaxConstancy = "max_constancy";
    }
}

impl OpKind {
    /// Whether it reads or writes memory itself; what its regions do does not count.
    pub const fn accesses_memory(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Store { .. }
                | Self::AtomicRmw { .. }
                | Self::AtomicCas { .. }
                | Self::AtomicPoll { .. }
        )
    }

    /// The regions, in order.
    pub fn regions(&self) -> impl Iterator<Item = &Block> {
        let (first, second) = match self {
            Self::Reduce { region, .. } | Self::Scan { region, .. } => (Some(region), None),
            Self::For { body } => (Some(body), None),
            Self::If {
                then_block,
                else_block,
            } => (Some(then_block), Some(else_block)),
            Self::While { before, after } => (Some(before), Some(after)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The regions, in order, to be changed.
    pub fn regions_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let (first, second) = match self {
            Self::Reduce { region, .. } | Self::Scan { region, .. } => (Some(region), None),
            Self::For { body } => (Some(body), None),
            Self::If {
                then_block,
                else_block,
            } => (Some(then_block), Some(else_block)),
            Self::While { before, after } => (Some(before), Some(after)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
