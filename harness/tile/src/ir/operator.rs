//! The tables of the IR's operators: arithmetic, comparisons, rounding, memory orders, and their printed names. Adding
//! an elementwise operation is adding one row to [`UnaryOp`], [`BinaryOp`] or [`TernaryOp`]. See
//! [`OpKind`](super::OpKind) for operations with their operands and regions.

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
        /// Logical shift right, with any signedness.
        LShr = "lshr";
        /// Smaller one; of a NaN and a number, the number.
        Min = "min";
        /// Larger one; of a NaN and a number, the number.
        Max = "max";
        /// Smaller one; NaN when either is.
        MinPropagateNan = "min_nan";
        /// Larger one; NaN when either is.
        MaxPropagateNan = "max_nan";
        /// High half of the product of the bits as unsigned numbers, for any dtype (`tt.mulhiui`, `tl.umulhi`).
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
    /// The property that a cast preserves. The two dtypes determine the exact operation.
    CastKind {
        /// The value, converted: widening, narrowing, between integers and floats. To `i1`, whether it is not zero.
        Value = "cast";
        /// The bits; both types have one width. Also between pointers and 64-bit integers.
        Bits = "bitcast";
    }
}

op_table! {
    /// The function of an atomic on memory and its operand.
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
    /// The rounding of `f32` operands of a dot before the multiplication.
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

/// The origin of an assertion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AssertedBy {
    /// The kernel: `tl.device_assert`.
    #[default]
    Kernel,
    /// The compiler's check of an integer operation: `sanitize_overflow`.
    OverflowCheck,
    /// The compiler's check in a combine function. The compiler decides which elements are combined, and whether the
    /// function is executed at all.
    CombineOverflowCheck,
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

op_table! {
    /// The promise of a hint.
    Promise {
        /// Each lane that starts a run is a multiple.
        MultipleOf = "multiple_of";
        /// Runs of this length rise by 1.
        MaxContiguous = "max_contiguous";
        /// Runs of this length are equal.
        MaxConstancy = "max_constancy";
    }
}

op_table! {
    /// A requirement of the language for tensor descriptors and their use.
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
    /// The order of an atomic between programs. An atomic whose scope is not the whole GPU orders nothing between them.
    MemoryOrder {
        /// No order.
        Relaxed = "relaxed";
        /// Later accesses happen after everything that was released to the address before.
        Acquire = "acquire";
        /// Earlier accesses happen before everything that acquires from the address later.
        Release = "release";
        /// Both; Triton's default.
        AcquireRelease = "acq_rel";
    }
}

impl MemoryOrder {
    /// Whether it acquires.
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcquireRelease)
    }

    /// Whether it releases.
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcquireRelease)
    }
}
