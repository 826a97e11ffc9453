//! Known bugs of engines: each with its effect, engine family, versions and the files of its model. [`signature`] has the bugs
//! without a model. The models are in `cerith-quirk` (rewritten IR), `cerith-language` and `cerith-frontend` (tracing) and
//! `cerith-engine` (arguments).
//! A quirk violates a promise of its version; see [`crate::rules`] for the promises. The reference never models a quirk
//! by default: if an engine differs, the reference runs again with the quirks that apply, and if it then returns the
//! engine's bytes, the difference is explained.

pub mod by_parts;
pub mod signature;

use std::fmt;

use crate::rules::Version;

/// The engines that share a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Triton's interpreter and the code that runs in it.
    Interpreter,
    /// Triton's compiler, on any device.
    Compiler,
    /// Triton's Python code, which both depend on.
    Language,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interpreter => "the interpreter",
            Self::Compiler => "the compiler",
            Self::Language => "the language's own Python",
        })
    }
}

macro_rules! quirks {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal: $family:ident, ($from:expr, $to:expr), $origin:literal, [$($model:literal),+]; )+) => {
        /// A known bug that has a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Quirk { $( $(#[doc = $doc])+ $variant, )+ }

        impl Quirk {
            /// Every quirk.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The name that case files and reports use.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            /// The engines that have it.
            pub const fn family(self) -> Family {
                match self { $( Self::$variant => Family::$family, )+ }
            }

            /// The versions that have it: from the first to before the second, which fixed it.
            pub const fn versions(self) -> (Version, Option<Version>) {
                match self { $( Self::$variant => ($from, $to), )+ }
            }

            /// A sentence about the effect.
            pub const fn summary(self) -> &'static str {
                match self { $( Self::$variant => concat!($($doc),+), )+ }
            }

            /// The code that causes it.
            pub const fn origin(self) -> &'static str {
                match self { $( Self::$variant => $origin, )+ }
            }

            /// The files of its model, from `harness`.
            pub const fn models(self) -> &'static [&'static str] {
                match self { $( Self::$variant => &[$($model),+], )+ }
            }
        }
    };
}

const FIRST: Version = Version::new(3, 0, 0);
const fn v(major: u16, minor: u16, patch: u16) -> Version {
    Version::new(major, minor, patch)
}

quirks! {
    /// Arguments are copied to the host one by one and lose the strides that their storage has; views of one storage are
    /// copied apart, and each copy is written back.
    ArgumentsAreCopiedApart = "arguments-copied-apart": Interpreter, (FIRST, Some(v(3, 3, 0))),
        "GridExecutor._init_args_hst and _restore_args_dev; triton commit b99a3006",
        ["engine/src/followed.rs"];
    /// `bf16` is computed on its 16-bit pattern as if it were an unsigned integer.
    Bf16IsBits = "bf16-is-bits": Interpreter, (FIRST, None),
        "interpreter.py, _get_np_dtype: bf16 is np.uint16",
        ["frontend/src/tracer/statement.rs", "quirk/src/arithmetic.rs"];
    /// `f32` is cut off at the 16 bits of `bf16` and not rounded; a NaN may become an infinity.
    Bf16Truncates = "bf16-truncates": Interpreter, (FIRST, None),
        "interpreter.py, cast_impl: _convert_float without a rounding mode",
        ["language/src/semantic/promotion.rs", "quirk/src/cast.rs"];
    /// Subnormal numbers of `bf16` lose bits when they widen to `f32`.
    Bf16WidensShort = "bf16-widens-short": Interpreter, (FIRST, None),
        "interpreter.py, _convert_float",
        ["quirk/src/cast.rs"];
    /// An integer, or the integer part of an `f64`, becomes the 16 bits of a `bf16`.
    Bf16FromInteger = "bf16-from-integer": Interpreter, (FIRST, None),
        "interpreter.py, cast_impl: astype of np.uint16",
        ["quirk/src/cast.rs"];
    /// `dot` multiplies the bit patterns of `bf16` operands.
    Bf16DotOfBits = "bf16-dot-of-bits": Interpreter, (FIRST, None),
        "interpreter.py, create_dot: np.matmul of np.uint16",
        ["quirk/src/reduction.rs"];
    /// 8-bit floats are converted from exponent and significand: a carry is lost, infinities and NaN become numbers,
    /// and numbers that are too large become a number other than the largest.
    Fp8ConvertsByParts = "fp8-converts-by-parts": Interpreter, (FIRST, None),
        "interpreter.py, _convert_float",
        ["quirk/src/cast.rs", "quirk/src/reduction.rs"];
    /// An integer, or the integer part of a float, becomes the 8 bits of an 8-bit float.
    Fp8FromNumber = "fp8-from-number": Interpreter, (FIRST, None),
        "interpreter.py, cast_impl: astype of np.uint8",
        ["quirk/src/cast.rs"];
    /// `minimum`, `maximum` and `clamp` return a NaN although they don't propagate NaN.
    ExtremaLetNanThrough = "extrema-let-nan-through": Interpreter, (FIRST, Some(v(3, 8, 0))),
        "interpreter.py, create_minnumf: np.minimum; create_clampf: np.clip",
        ["quirk/src/arithmetic.rs"];
    /// `max` and `min` of a block that holds a NaN are NaN.
    ReductionsLetNanThrough = "reductions-let-nan-through": Interpreter, (FIRST, Some(v(3, 5, 0))),
        "interpreter.py, ReduceOps: np.max",
        ["quirk/src/arithmetic.rs"];
    /// A sum begins with +0.0, so that zeros that are all negative add up to it.
    SumBeginsWithZero = "sum-begins-with-zero": Interpreter, (FIRST, None),
        "interpreter.py, ReduceOps: np.sum",
        ["quirk/src/reduction.rs"];
    /// `fma` rounds the product before it adds.
    FmaRoundsTwice = "fma-rounds-twice": Interpreter, (FIRST, Some(v(3, 9, 0))),
        "interpreter.py, create_fma: x.data * y.data + z.data",
        ["quirk/src/arithmetic.rs"];
    /// `umulhi` takes its operands as signed.
    MulhiIsSigned = "mulhi-is-signed": Interpreter, (FIRST, Some(v(3, 9, 0))),
        "interpreter.py, create_umulhi: astype sign-extends",
        ["quirk/src/arithmetic.rs"];
    /// Bools add up as a logical or.
    BoolsAddAsOr = "bools-add-as-or": Interpreter, (FIRST, Some(v(3, 9, 0))),
        "interpreter.py, binary_op: np.add of np.bool_",
        ["quirk/src/arithmetic.rs"];
    /// Unsigned integers that are shifted right as signed ones stay signed.
    ShiftedStaysSigned = "shifted-stays-signed": Interpreter, (FIRST, None),
        "interpreter.py, create_ashr: the array keeps its signed dtype",
        ["quirk/src/cast.rs"];
    /// Counts have 64 bits, and are stored and carried on so.
    CountsWiden = "counts-widen": Interpreter, (FIRST, Some(v(3, 6, 0))),
        "interpreter.py, create_histogram: np.histogram gives np.int64",
        ["quirk/src/wide.rs"];
    /// Sums, running sums and indices have 64 bits, and are stored and carried on so.
    IntegersWiden = "integers-widen": Interpreter, (FIRST, Some(v(3, 3, 0))),
        "interpreter.py, ReduceOps.to_tensor: np.sum and np.argmax give np.int64",
        ["quirk/src/arithmetic.rs", "quirk/src/wide.rs"];
    /// The NaN that lanes outside of a tensor hold is zero, of dtypes that are kept as integers.
    PaddingNanIsZero = "padding-nan-is-zero": Interpreter, (FIRST, None),
        "interpreter.py: np.full_like of float('nan') as np.uint16",
        ["quirk/src/cast.rs"];
    /// A number argument of float is taken for a Python scalar: it follows the dtype of the block beside it instead of
    /// being `f32`.
    FloatArgumentsAreWeak = "float-arguments-are-weak": Interpreter, (FIRST, None),
        "interpreter.py, _implicit_cvt leaves floats as they are",
        ["engine/src/reference/arguments.rs"];
    /// Unsigned offsets below 64 bits are read as signed ones.
    OffsetsSignExtend = "offsets-sign-extend": Compiler, (FIRST, Some(v(3, 3, 1))),
        "semantic.add; wheels 3.2.0 and 3.3.1",
        ["language/src/semantic/arithmetic.rs"];
    /// `atomic_max` and `atomic_min` of floats go by comparison with 0.0, which loses NaN and the sign of zero.
    AtomicExtremaByComparison = "atomic-extrema-by-comparison": Language, (FIRST, Some(v(3, 4, 0))),
        "semantic.atomic_max; wheels 3.3.1 and 3.4.0",
        ["language/src/semantic/memory.rs"];
    /// `fdiv(…, ieee_rounding=True)` is no better rounded than without.
    FdivIgnoresRounding = "fdiv-ignores-rounding": Compiler, (FIRST, Some(v(3, 8, 0))),
        "semantic.fdiv; wheels 3.7.1 and 3.8.0",
        ["language/src/semantic/arithmetic.rs"];
    /// Every block is true where Python asks for a truth value: `not` of one is false, and Python's `min` and `max` pick a whole
    /// block.
    BlocksAreTrue = "blocks-are-true": Interpreter, (FIRST, None),
        "interpreter.py, _get_bool",
        ["language/src/builtin/math.rs", "language/src/semantic.rs"];
    /// An int argument of 1 is a tensor of `int32`, not a constant.
    ArgumentsOfOneAreTensors = "arguments-of-one-are-tensors": Interpreter, (FIRST, None),
        "interpreter.py, _implicit_cvt; triton#2939",
        ["frontend/src/tracer/specialise.rs"];
    /// An int argument that needs 33 bits with a sign is `int64` and has the 32 bits of a `uint32`.
    WideArgumentsAreShort = "wide-arguments-are-short": Interpreter, (FIRST, None),
        "interpreter.py, _implicit_cvt: np.uint32; triton#10435",
        ["frontend/src/tracer/specialise.rs", "quirk/src/passed.rs"];
    /// The index of a loop is a Python int: it never wraps, its division rounds down, and it follows the dtype beside it.
    LoopIndicesArePython = "loop-indices-are-python": Interpreter, (FIRST, None),
        "interpreter.py: a loop over Python's range",
        ["frontend/src/tracer/loops.rs", "language/src/semantic/python_int.rs"];
    /// Each step of a scan along a negative axis starts from zero.
    NegativeScansForget = "negative-scans-forget": Interpreter, (FIRST, None),
        "interpreter.py, ScanOps.generic_scan: i == self.axis",
        ["language/src/semantic/reduce.rs"];
    /// A block pointer's boundary check looks at the upper bound alone.
    BlockPointersCheckAbove = "block-pointers-check-above": Interpreter, (FIRST, Some(v(3, 3, 0))),
        "interpreter.py, BlockPointerHandle.materialize_pointers",
        ["language/src/semantic/block_pointer.rs"];
    /// A false scalar mask is ignored by stores and atomics.
    FalseMasksAreIgnored = "false-masks-are-ignored": Interpreter, (FIRST, Some(v(3, 3, 0))),
        "semantic.py: `if not mask`; triton#5049",
        ["quirk/src/cast.rs"];
    /// `atomic_min` of `f64` returns the bits of the old value as a number.
    AtomicMinGivesBits = "atomic-min-gives-bits": Interpreter, (FIRST, Some(v(3, 8, 0))),
        "interpreter.py, create_select: np.where of np.int64 and np.uint64 is np.float64; triton#8594",
        ["language/src/semantic/memory.rs"];
    /// The NaN that lanes outside of a tensor hold is converted to an 8-bit float from sign, exponent and significand, and comes
    /// out as a number.
    PaddingNanIsANumber = "padding-nan-is-a-number": Interpreter, (Version::new(3, 8, 0), Some(v(3, 9, 0))),
        "interpreter.py, create_fp_trunc of get_fp32(nan)",
        ["quirk/src/cast.rs"];
    /// A descriptor's flag for rounding to tf32 is ignored.
    DescriptorsNeverRound = "descriptors-never-round": Interpreter, (Version::new(3, 7, 0), Some(v(3, 9, 0))),
        "interpreter.py, create_descriptor_load",
        ["language/src/semantic/descriptor.rs"];
    /// An `e8m0` scale of 0, which is 2 to the power of -127, is zero.
    ScaleOfZeroIsZero = "scale-of-zero-is-zero": Interpreter, (Version::new(3, 8, 0), Some(v(3, 9, 0))),
        "interpreter.py, _e8m0_to_f32",
        ["language/src/semantic/dot_scaled.rs"];
    /// The absolute value of an `fp8e4b15` has 16 bits, and is stored so.
    AbsOfFp8Widens = "abs-of-fp8-widens": Interpreter, (FIRST, Some(v(3, 6, 0))),
        "math.abs: create_and of np.uint8 and np.int8 is np.int16",
        ["quirk/src/wide.rs"];
    /// A bool argument is an `int32` whose dtype is `int1`.
    BoolArgumentsAreInts = "bool-arguments-are-ints": Interpreter, (FIRST, Some(v(3, 6, 0))),
        "interpreter.py, _implicit_cvt; triton#10919",
        ["frontend/src/tracer/specialise.rs", "quirk/src/passed.rs"];
    /// `flip` multiplies by ones and zeros and adds up, in which infinities, NaN and negative zeros are lost.
    FlipMultiplies = "flip-by-products": Language, (FIRST, Some(v(3, 3, 0))),
        "standard.flip of 3.2.0",
        ["language/src/builtin/standard.rs"];
    /// `sort` takes its pairs apart by products and sums, in which infinities and NaN are lost.
    SortAddsUp = "sort-by-sums": Language, (FIRST, Some(v(3, 4, 0))),
        "standard._compare_and_swap of 3.3.1",
        ["language/src/builtin/standard.rs"];
    /// `histogram` looks at the low bits of a value alone, as many as number the bins and at least 5, so that what has no bin may
    /// be counted in one.
    HistogramTakesLowBits = "histogram-takes-low-bits": Compiler, (FIRST, Some(v(3, 8, 0))),
        "PTX of the wheels 3.7.1 and 3.8.0; triton#11194",
        ["language/src/semantic/reduce.rs"];
    /// Stores and atomics through tensor descriptors are of whole runs of 16 bytes, past the edge of the tensor.
    DescriptorsStoreWholeRuns = "descriptors-store-whole-runs": Compiler, (FIRST, None),
        "H200, wheels 3.4.0 to 3.9.0: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor",
        ["language/src/semantic/descriptor.rs"];
    /// The accumulator of a product of 8-bit integers saturates at the limits of `i32`.
    DotSaturates = "dot-saturates": Compiler, (FIRST, None),
        "H200, wheels 3.0.0 to 3.9.0: mma.sync with .satfinite",
        ["quirk/src/reduction.rs"];
    /// A sum of products along the middle of three dimensions is a dot of tf32 operands.
    ProductSumsAreTf32 = "product-sums-are-tf32": Compiler, (FIRST, Some(v(3, 8, 0))),
        "CombineBroadcastMulReducePattern; wheels 3.7.1 and 3.8.0",
        ["quirk/src/reduction.rs"];
    /// An `e8m0` scale of 0, which is 2 to the power of -127, is zero in compiled kernels.
    ScaleOfZeroFlushes = "scale-of-zero-flushes": Compiler, (FIRST, Some(v(3, 9, 0))),
        "H200, wheels 3.3.1 to 3.8.0; triton#10311",
        ["language/src/semantic/dot_scaled.rs"];
    /// Infinities and NaN of `fp8e5` become numbers of `bf16`.
    Fp8SpecialsAreNumbers = "fp8-specials-are-numbers": Compiler, (FIRST, None),
        "H200, wheels 3.0.0 to 3.9.0: fp8e5 to bf16",
        ["quirk/src/cast.rs"];
    /// Without an instruction for it, narrowing to `fp8e5` rounds halves up, and what is too large, infinite or NaN becomes
    /// whatever its bits say then.
    NarrowingToFp8e5Wraps = "narrowing-to-fp8e5-wraps": Compiler, (FIRST, Some(v(3, 9, 0))),
        "H200, the code for sm_80 by the wheels 3.2.0 and 3.6.0; PTX of the wheels 3.0.0 to 3.8.0",
        ["quirk/src/cast.rs"];
    /// A load of a loop passes the stores before it that are of the same iteration.
    LoadsPassStores = "loads-pass-stores": Compiler, (Version::new(3, 3, 0), None),
        "H200, wheels 3.3.1 to 3.9.0; triton#8259",
        ["quirk/src/loads.rs"];
    /// A number stays a Python number, and follows the dtype beside it, if a variable gets it in any way except a plain
    /// `=`, if it is in a tuple or returned by a function, or if it is chosen at run time.
    NumbersStayPython = "numbers-stay-python": Interpreter, (Version::new(3, 2, 0), None),
        "interpreter.py, ASTTransformer.visit_Assign",
        ["frontend/src/tracer/expression.rs", "frontend/src/tracer/statement.rs"];
    /// A variable that is annotated as a constexpr is still a tensor.
    AnnouncementsAreIgnored = "announcements-are-ignored": Interpreter, (Version::new(3, 8, 0), None),
        "interpreter.py, ASTTransformer.visit_Assign; triton#10322",
        ["frontend/src/tracer/statement.rs"];
    /// An argument has the dtype of its value, whatever its parameter is annotated with.
    AnnotationsAreIgnored = "annotations-are-ignored": Interpreter, (FIRST, None),
        "interpreter.py, _implicit_cvt",
        ["frontend/src/tracer/specialise.rs"];
    /// `is` and `isinstance` test a global constexpr itself, not its value.
    ConstexprsAreObjects = "constexprs-are-objects": Interpreter, (FIRST, None),
        "interpreter.py: `is` and `isinstance` are left to Python",
        ["frontend/src/tracer/operator.rs"];
    /// A number of the source becomes `f16` without becoming `f32` before.
    HalvesRoundOnce = "halves-round-once": Interpreter, (FIRST, None),
        "interpreter.py, get_fp16: np.float16",
        ["language/src/semantic/promotion.rs"];
    /// A conversion that rounds toward zero uses exponent and significand, and a number past the largest becomes a NaN.
    CutsConvertByParts = "cuts-convert-by-parts": Interpreter, (FIRST, None),
        "interpreter.py, _convert_float",
        ["quirk/src/cast.rs"];
    /// `and` and `or` give one of their operands, as Python's do, and every block is true.
    LogicPicksOperands = "logic-picks-operands": Interpreter, (FIRST, None),
        "interpreter.py: `and` and `or` are left to Python, which asks _get_bool",
        ["frontend/src/tracer/expression.rs", "frontend/src/tracer/operator.rs"];
    /// `dot_scaled` makes `f16` of every operand but 4-bit ones, from exponent and significand, takes the byte of a scale for an
    /// exponent whatever its dtype, and multiplies in `f32`.
    ScaledDotsByParts = "scaled-dots-by-parts": Interpreter, (Version::new(3, 8, 0), None),
        "interpreter.py, _mxfp_value_handle_to_float32 and _dot_scaled_scale_to_f32",
        ["language/src/semantic/dot_scaled.rs"];
    /// `histogram` counts a value that equals the number of bins in the last one.
    HistogramClosesLastBin = "histogram-closes-last-bin": Interpreter, (FIRST, Some(v(3, 9, 0))),
        "interpreter.py, create_histogram: np.histogram",
        ["language/src/semantic/reduce.rs"];
    /// A function of CUDA's math library returns None, which is compared and asked for a truth value as Python's None is.
    LibraryGivesNone = "library-gives-none": Interpreter, (v(3, 2, 0), None),
        "interpreter.py: the body of an external function is `...`",
        ["language/src/builtin/libdevice.rs"];
}

impl Quirk {
    /// The quirk of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|quirk| quirk.name() == name)
    }

    /// Whether a version has it.
    pub fn applies_to(self, family: Family, version: Version) -> bool {
        let (from, fixed) = self.versions();
        let is_of_family = self.family() == family || self.family() == Family::Language;
        is_of_family && version >= from && fixed.is_none_or(|fixed| version < fixed)
    }
}

impl fmt::Display for Quirk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Some quirks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Quirks(u64);

impl Quirks {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// Those that a version's engines of a family have.
    pub fn from_version(family: Family, version: Version) -> Self {
        let all = Quirk::ALL.iter().copied();
        all.filter(|quirk| quirk.applies_to(family, version)).collect()
    }

    const fn to_bit(quirk: Quirk) -> u64 {
        1 << quirk as u8
    }

    /// Whether a quirk is in the set.
    pub const fn has(self, quirk: Quirk) -> bool {
        self.0 & Self::to_bit(quirk) != 0
    }

    /// These and one more.
    #[must_use]
    pub const fn with_quirk(self, quirk: Quirk) -> Self {
        Self(self.0 | Self::to_bit(quirk))
    }

    /// These and others.
    #[must_use]
    pub const fn union(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These but one.
    #[must_use]
    pub const fn without_quirk(self, quirk: Quirk) -> Self {
        Self(self.0 & !Self::to_bit(quirk))
    }

    /// Whether all of them are among others.
    pub const fn is_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Those that are also among others.
    #[must_use]
    pub const fn intersect(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = Quirk> {
        Quirk::ALL.iter().copied().filter(move |&quirk| self.has(quirk))
    }
}

impl FromIterator<Quirk> for Quirks {
    fn from_iter<T: IntoIterator<Item = Quirk>>(quirks: T) -> Self {
        quirks.into_iter().fold(Self::NONE, Self::with_quirk)
    }
}

impl fmt::Debug for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Quirk::name)).finish()
    }
}

const _: () = assert!(Quirk::ALL.len() <= 64, "a set has a bit for each");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let set = Quirks::NONE
            .with_quirk(Quirk::Bf16IsBits)
            .with_quirk(Quirk::FmaRoundsTwice);
        assert!(set.has(Quirk::Bf16IsBits) && !set.has(Quirk::Bf16Truncates));
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Quirk::Bf16IsBits, Quirk::FmaRoundsTwice]
        );
        assert!(
            set.without_quirk(Quirk::Bf16IsBits)
                .without_quirk(Quirk::FmaRoundsTwice)
                .is_empty()
        );
    }

    #[test]
    fn names_are_told_apart_and_found_again() {
        for &quirk in Quirk::ALL {
            assert_eq!(Quirk::from_name(quirk.name()), Some(quirk));
            assert!(
                quirk
                    .versions()
                    .1
                    .is_none_or(|mended| quirk.versions().0 < mended),
                "{quirk}"
            );
        }
    }

    #[test]
    fn a_mended_version_has_it_no_more() {
        let has = |version| Quirks::from_version(Family::Interpreter, version).has(Quirk::FmaRoundsTwice);
        assert!(has(Version::new(3, 8, 0)) && !has(Version::new(3, 9, 0)));
        assert!(!Quirks::from_version(Family::Compiler, Version::new(3, 8, 0)).has(Quirk::FmaRoundsTwice));
    }
}
