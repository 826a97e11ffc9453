//! Language rules that changed between Triton versions, each with the first version that has it and the source. Bugs
//! are in [`crate::quirk`]: a rule is a promise of a version, a quirk a violation of one.

use std::fmt;
use std::str::FromStr;

use crate::quirk::{Quirk, Quirks};
use crate::releases::TRITON;

/// A Triton release, `3.9.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub patch: u16,
}

impl Version {
    /// The newest supported version.
    pub const NEWEST: Self = TRITON[TRITON.len() - 1];

    /// `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version like 3.9.0")]
pub struct BadVersion(pub String);

impl FromStr for Version {
    type Err = BadVersion;

    /// Parses `3.9.0`, or `3.9` and `3` with zeros for the missing parts.
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let mut parts = [0u16; 3];
        for (count, piece) in text.split('.').enumerate() {
            let digits = !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_digit());
            let (true, Some(slot), Ok(number)) = (digits, parts.get_mut(count), piece.parse()) else {
                return Err(BadVersion(text.to_owned()));
            };
            *slot = number;
        }
        Ok(Self::new(parts[0], parts[1], parts[2]))
    }
}

macro_rules! rules {
    ($( $(#[doc = $doc:literal])+ $name:ident: since ($major:literal, $minor:literal, $patch:literal), $source:literal; )+) => {
        /// A rule of the language that holds from some version on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $( $(#[doc = $doc])+ $name, )+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$( Self::$name, )+];

            /// The first version in which the rule holds.
            pub const fn since(self) -> Version {
                match self { $( Self::$name => Version::new($major, $minor, $patch), )+ }
            }

            /// The source of the change.
            pub const fn source(self) -> &'static str {
                match self { $( Self::$name => $source, )+ }
            }

            /// A sentence about the rule.
            pub const fn summary(self) -> &'static str {
                match self { $( Self::$name => concat!($($doc),+), )+ }
            }
        }
    };
}

rules! {
    /// `%` on floats is C's `fmod` (sign of the dividend), not Python's floored remainder.
    FloatRemainderIsFmod: since (3, 3, 1), "triton#4955; wheels 3.2.0 and 3.3.1";
    /// `-x` on floats flips the sign bit, so that `-(+0.0)` is `-0.0`; before, it was `0 - x`.
    NegationFlipsSign: since (3, 8, 0), "triton#10270, commit 153b63547f";
    /// A Python scalar operand takes the dtype of the tensor beside it when the kinds fit.
    WeakPythonScalars: since (3, 2, 0), "triton#4613, commit e14ee2d70e";
    /// A module's `X: tl.constexpr = 1` no longer makes `X` a constexpr; only `X = tl.constexpr(1)` does.
    AnnotatedGlobalsAreNotConstexprs: since (3, 3, 0), "wheels 3.2.0 and 3.3.1, code_generator.py";
    /// Parameters annotated with float types, `int` or `float` have that type; before, only integer widths and `bool`.
    FloatAnnotationsAreTypes: since (3, 4, 0), "wheels 3.3.1 and 3.4.0, runtime/jit.py";
    /// A constexpr that a `@triton.jit` function returns stays a constexpr; before, it became a tensor.
    ReturnedConstexprsStay: since (3, 7, 0), "wheels 3.6.0 and 3.7.1, code_generator.py visit_Return";
    /// `a < b < c` is accepted and evaluates `b` once.
    ChainedComparisons: since (3, 9, 0), "wheels 3.8.0 and 3.9.0, code_generator.py";
    /// Two different 8-bit floats compute in `f16`; before, they had no common type.
    Fp8PairsPromote: since (3, 2, 0), "computation_type_impl; wheels 3.1.0 and 3.2.0";
    /// `/` and `%` with any float below `f64` compute in `f32`; before, 8-bit floats beside a Python scalar stayed as
    /// they were, and beside an integer tensor they had no type.
    NarrowDivisionIsF32: since (3, 9, 0), "computation_type_impl; wheels 3.8.0 and 3.9.0";
    /// A Python int beside a tensor must fit in the dtype that is computed in; before, it wrapped.
    ScalarsMustFit: since (3, 3, 1), "binary_op_type_checking_impl; wheels 3.2.0 and 3.3.1";
    /// The literal `-0.0` keeps its sign; before, every zero was `+0.0`.
    NegativeZeroLiteral: since (3, 9, 0), "scalar_constant; wheels 3.8.0 and 3.9.0";
    /// Python scalars are weak in comparisons, `minimum`, `maximum`, `clamp`, `fma`, `fdiv`, `div_rn` and `umulhi` too.
    WeakScalarsInFunctions: since (3, 9, 0), "tensor.__eq__, core.minimum, math.fma; wheels 3.8.0 and 3.9.0";
    /// `fdiv` promotes its operands as `/` does; before, they had to be floats of one dtype, and stayed so.
    FdivPromotes: since (3, 9, 0), "semantic.fdiv; wheels 3.8.0 and 3.9.0";
    /// Python scalars other than zero can become 8-bit floats.
    Fp8Constants: since (3, 7, 1), "scalar_constant; wheels 3.6.0 and 3.7.1";
    /// `minimum`, `maximum`, `clamp` and scans of `bf16` stay in `bf16`; before, they computed in `f32`.
    BfloatExtremaStayBfloat: since (3, 9, 0), "_promote_bfloat16_to_float32 is gone; wheels 3.8.0 and 3.9.0";
    /// `clamp` takes integers.
    IntegerClamp: since (3, 9, 0), "semantic.clamp; wheels 3.8.0 and 3.9.0";
    /// A load through a pointer to `i1` gives `i1`; before, it gave `i8`.
    LoadedBoolsAreI1: since (3, 2, 0), "semantic._load_legacy; wheels 3.1.0 and 3.2.0";
    /// A store through a pointer to `i1` writes whether the value is not zero; before, its low byte.
    StoredBoolsAreNormal: since (3, 9, 0), "semantic.store; wheels 3.8.0 and 3.9.0";
    /// A load broadcasts its pointer to the mask too; before, the mask had to have the pointer's rank.
    LoadBroadcastsPointer: since (3, 5, 1), "semantic._load_legacy; wheels 3.4.0 and 3.5.1";
    /// A store adds missing dimensions to its value and mask; before, they had to have the pointer's rank.
    StoreAddsDimensions: since (3, 6, 0), "semantic._store_legacy; wheels 3.5.1 and 3.6.0";
    /// `atomic_add` takes `bf16`.
    AtomicAddTakesBfloat: since (3, 4, 0), "atom_red_typechecking_impl; wheels 3.3.1 and 3.4.0";
    /// `cat` keeps the order of elements unless told otherwise, along any dimension.
    OrderedCat: since (3, 7, 1), "core.cat; wheels 3.6.0 and 3.7.1";
    /// `dot` takes `f64`.
    DotTakesDouble: since (3, 5, 1), "semantic.dot; wheels 3.4.0 and 3.5.1";
    /// `dot` takes any number of rows and columns; before, at least 16.
    SmallDots: since (3, 5, 1), "min_dot_size of the CUDA backend; wheels 3.4.0 and 3.5.1";
    /// `dot` takes inner dimensions of 8 for `f32` and 4 for `f64`; before, at least 16.
    ShallowDots: since (3, 8, 0), "min_dot_size of the CUDA backend; wheels 3.7.1 and 3.8.0";
    /// `dot` without `out_dtype` results in its accumulator's dtype; before, in `f32`.
    DotFollowsAccumulator: since (3, 8, 0), "core.dot; wheels 3.7.1 and 3.8.0";
    /// `dot` takes `input_precision` "bf16x3" and "bf16x6".
    DotSplitsIntoBfloats: since (3, 6, 0), "allowed_dot_input_precisions of the CUDA backend; wheels 3.5.1 and 3.6.0";
    /// `dot_scaled` takes scales on either side or on none, any inner dimension, operands in the dtypes of their
    /// formats, and the formats `bf16` and `fp16`; before, a scale on the left only, at least 64, and bytes.
    ScaledDotScalesBoth: since (3, 3, 1), "semantic.dot_scaled; wheels 3.2.0 and 3.3.1";
    /// `dot_scaled` takes `float8e4nv` scales; before, the compiler aborted.
    ScaledDotTakesFp8Scales: since (3, 6, 0), "semantic.verify_scaled_shape; wheels 3.5.1 and 3.6.0";
    /// `dot_scaled` of 3 dimensions takes scales.
    ScaledDotScalesBatches: since (3, 7, 1), "semantic.verify_scaled_shape; wheels 3.6.0 and 3.7.1";
    /// How many elements share a scale of `dot_scaled` follows from the shapes: 16 or 32; before, from the scale's
    /// dtype.
    ScaledDotDeducesGroup: since (3, 8, 0), "semantic.deduce_scale_factor; wheels 3.7.1 and 3.8.0";
    /// `histogram` takes 32-bit integers only.
    HistogramTakes32Bits: since (3, 9, 0), "semantic.histogram; wheels 3.8.0 and 3.9.0";
    /// Python's `min` and `max` of compile-time values are compile-time values and take any number of them; before,
    /// they were `tl.minimum` and `tl.maximum`.
    CompileTimeExtrema: since (3, 6, 0), "code_generator.builtin_namespace; wheels 3.5.1 and 3.6.0";
    /// `libdevice.isnan`, `isinf`, `finitef` and `isfinited` give `i1`; before, `i32`.
    LibdeviceTestsAreBool: since (3, 2, 0), "extra/cuda/libdevice.py; wheels 3.1.0 and 3.2.0";
    /// `x[:, :, :]` of a tensor with fewer dimensions is an error; before, surplus `:` had no effect.
    SurplusIndices: since (3, 9, 0), "tensor.__getitem__; wheels 3.8.0 and 3.9.0";
    /// The mask of an atomic may be a compile-time bool.
    AtomicMaskMayBeConstexpr: since (3, 8, 0), "_broadcast_ptr_val_mask; wheels 3.7.1 and 3.8.0";
    /// A libdevice function takes exactly the dtypes it has a symbol for; before, it tried promotion.
    LibdeviceTypesAreExact: since (3, 5, 1), "core.extern_elementwise; wheels 3.4.0 and 3.5.1";
    /// Functions of the standard library are methods of tensors that can be called; before, they lost their tensor.
    LibraryMethods: since (3, 4, 0), "code_generator BoundJITMethod; wheels 3.3.1 and 3.4.0";
    /// `xor_sum` is a jitted function, which no tensor has as a method before [`Rule::LibraryMethods`].
    XorSumIsJitted: since (3, 3, 0), "standard.xor_sum; wheels 3.2.0 and 3.3.1";
    /// `reshape` to no dimensions gives a scalar.
    ReshapeToScalar: since (3, 4, 0), "core.reshape; wheels 3.3.1 and 3.4.0";
    /// `dot` of 8-bit operands needs an inner dimension of at least 32.
    EightBitDotsAreDeep: since (3, 3, 1), "min_dot_size of the CUDA backend; wheels 3.2.0 and 3.3.1";
    /// `dot` of `i8` takes an inner dimension of 16, in 3.2 only.
    ShallowIntegerDots: since (3, 2, 0), "semantic.dot; wheels 3.1.0 and 3.2.0";
    /// `atomic_cas` checks that its operands have the type that the pointer points to.
    AtomicCasIsChecked: since (3, 5, 1), "tt.atomic_cas verifier; wheels 3.4.0 and 3.5.1";
    /// A constexpr parameter that `do_not_specialize` names is an error; before, it was a constexpr like any other.
    ConstexprsAreSpecialised: since (3, 6, 0), "triton#8273; code_generator.visit_arg; wheels 3.5.1 and 3.6.0";
    /// A function can be an argument of a kernel, constexpr or not, and is known at compile time; before, it was refused.
    FunctionArguments: since (3, 3, 0), "runtime/jit.py (\"Callable constexpr at index\"); wheels 3.2.0 and 3.3.1";
    /// There are tensor descriptors, made by the host or by kernels.
    Descriptors: since (3, 4, 0), "core.make_tensor_descriptor, tools/tensor_descriptor.py; wheels 3.3.1 and 3.4.0";
    /// Offsets of blocks may be `u32`, read as signed; before, they were refused.
    UnsignedBlockOffsets: since (3, 5, 1), "semantic._convert_elem_to_ir_value; wheels 3.4.0 and 3.5.1";
    /// Block pointers are an aggregate of Triton's own: offsets of 64 bits, stored values that are cast and broadcast.
    BlockPointersAreAggregates: since (3, 8, 0), "core._block_ptr; wheels 3.7.1 and 3.8.0";
    /// A value stored through a tensor descriptor is cast to its dtype; before, it had to have it.
    DescriptorStoreCasts: since (3, 5, 1), "semantic.descriptor_store; wheels 3.4.0 and 3.5.1";
    /// Rows are gathered by offsets of `i16` or `i32`; before, by what the compiler's IR takes for `i32`.
    GatherOffsetsAreTyped: since (3, 8, 0), "semantic.descriptor_gather; wheels 3.7.1 and 3.8.0";
    /// A descriptor's strides that are known at compile time must be multiples of 16 bytes.
    DescriptorStridesAreChecked: since (3, 9, 0), "_check_tensor_descriptor_alignment_static; wheels 3.8.0 and 3.9.0";
    /// `a, b = …` takes exactly as many values as there are names; before, surplus values were dropped.
    UnpackingIsExact: since (3, 9, 0), "triton#11053, commit 7cda925d77; wheels 3.8.0 and 3.9.0";
    /// `a, b = …` of fewer values than names is an error; before, the names left over stayed as they were.
    UnpackingFillsNames: since (3, 3, 0), "code_generator.visit_Assign; wheels 3.2.0 and 3.3.1";
    /// A tuner measures nothing if pruning leaves one configuration; before, it measured that one.
    OneConfigurationIsNotMeasured: since (3, 8, 0), "Autotuner.run; wheels 3.7.1 and 3.8.0";
    /// With `debug`, each integer `+`, `-` and `*` below 64 bits has an assertion, unless `sanitize_overflow` is off.
    OverflowIsChecked: since (3, 2, 0), "semantic.binary_op_sanitize_overflow_impl; wheels 3.1.0 and 3.2.0";
    /// The launch option `debug` compiles asserts in; before, it was overwritten by that of `@triton.jit`.
    DebugIsAnOption: since (3, 2, 0), "JITFunction.run; wheels 3.1.0 and 3.2.0";
    /// `@triton.jit(debug=True)` holds for launches that do not say otherwise; in 3.2, it had no effect.
    DebugHasADefault: since (3, 3, 0), "JITFunction.run; wheels 3.2.0 and 3.3.1";
    /// Keyword-only parameters are bound; before, their names were not defined inside of the function.
    KeywordOnlyParameters: since (3, 9, 0), "code_generator.visit_arguments; wheels 3.8.0 and 3.9.0";
    /// An extent of 0 is not a power of two, so no block has one.
    BlocksHaveElements: since (3, 8, 0), "triton#10687; wheels 3.7.1 and 3.8.0";
    /// There are aggregates of the user's own: `@triton.aggregate`, `tl.aggregate_replace`.
    Aggregates: since (3, 8, 0), "triton/__init__.py; wheels 3.7.1 and 3.8.0";
    /// Aggregates may define operators.
    AggregateOperators: since (3, 9, 0), "code_generator._apply_binary_method; wheels 3.8.0 and 3.9.0";
    /// `@triton.constexpr_function` makes functions that run while a kernel is compiled.
    ConstexprFunctions: since (3, 5, 0), "triton/__init__.py; wheels 3.4.0 and 3.5.1";
    /// List comprehensions over tuples are compiled.
    Comprehensions: since (3, 5, 0), "code_generator.visit_ListComp; wheels 3.4.0 and 3.5.1";
    /// A comprehension may unpack into several names, and have conditions.
    ComprehensionsUnpack: since (3, 9, 0), "code_generator.visit_ListComp; wheels 3.8.0 and 3.9.0";
    /// `name := value` is compiled.
    NamedExpressions: since (3, 8, 0), "code_generator.visit_NamedExpr; wheels 3.7.1 and 3.8.0";
    /// `and` and `or` take any number of operands, and what is known at compile time decides or drops out; before, they
    /// took two, evaluated both and combined them as `i1`.
    ShortCircuits: since (3, 4, 0), "code_generator.visit_BoolOp; wheels 3.3.1 and 3.4.0";
    /// Kernels may ask `hasattr`.
    HasAttribute: since (3, 4, 0), "code_generator.builtin_namespace; wheels 3.3.1 and 3.4.0";
    /// A run-time value with the annotation `x: tl.constexpr = …` stays a tensor; before, it was a constexpr that holds
    /// a tensor, which has no operators beside other constexprs, no items, and can't be used as a pointer.
    AnnotatedTensorsAreTensors: since (3, 8, 0), "code_generator.visit_AnnAssign; wheels 3.7.1 and 3.8.0";
    /// The attributes of what a constexpr holds are the constexpr's own.
    HeldAttributes: since (3, 4, 0), "code_generator.visit_Attribute; wheels 3.3.1 and 3.4.0";
    /// A call may unpack a tuple with `*`.
    StarredArguments: since (3, 3, 0), "code_generator.visit_Call; wheels 3.2.0 and 3.3.1";
    /// Variables may have annotations other than `constexpr`.
    PlainAnnotations: since (3, 2, 0), "code_generator.visit_AnnAssign; wheels 3.1.0 and 3.2.0";
    /// A global that is `None` may be used.
    NoneGlobals: since (3, 3, 0), "code_generator.global_lookup; wheels 3.2.0 and 3.4.0";
    /// The message of `static_assert` is evaluated only if it is needed.
    AssertMessagesWait: since (3, 4, 0), "code_generator.execute_static_assert; wheels 3.3.1 and 3.4.0";
    /// `if` takes a block of one element; before, the compiler aborted.
    BranchesOnBlocksOfOne: since (3, 4, 0), "code_generator.visit_If; wheels 3.3.1 and 3.4.0";
    /// A name that was only annotated `x: tl.constexpr` is a constexpr when it is assigned.
    BareAnnotationsCount: since (3, 8, 0), "code_generator.visit_AnnAssign; wheels 3.7.1 and 3.8.0";
    /// `(a, b), c = …` unpacks tuples inside of tuples.
    NestedUnpacking: since (3, 8, 0), "runtime/jit.py DependenciesFinder; wheels 3.7.1 and 3.8.0";
    /// A variable may hold a tuple; before, it was unpacked: the variable took its first value.
    TupleVariables: since (3, 3, 0), "code_generator.visit_Assign; wheels 3.2.0 and 3.3.1";
    /// Loads take the cache modifier `.cs`, and loads and stores the eviction policy `evict_normal`.
    StreamingHints: since (3, 8, 0), "semantic._str_to_load_cache_modifier; wheels 3.7.1 and 3.8.0";
    /// `*rest` of a function is bound to the arguments that are left.
    VariableArguments: since (3, 8, 0), "code_generator.visit_arguments; wheels 3.7.1 and 3.8.0";
    /// Block pointers (`make_block_ptr`, `advance`) are gone.
    NoBlockPointers: since (3, 9, 0), "core.make_block_ptr; wheels 3.8.0 and 3.9.0";
}

/// The rules of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The version of the language.
    pub version: Version,
    /// Bugs of that version's engines that are modelled. Empty, except to explain a difference.
    pub quirks: Quirks,
    /// A rule of the version that is disabled, to find the rules that determine a kernel's meaning.
    pub except: Option<Rule>,
}

impl Default for Rules {
    fn default() -> Self {
        Self::from_version(Version::NEWEST)
    }
}

impl Rules {
    /// The rules of a version.
    pub const fn from_version(version: Version) -> Self {
        Self {
            version,
            quirks: Quirks::NONE,
            except: None,
        }
    }

    /// Returns the same rules with these quirks modelled.
    #[must_use]
    pub const fn with_quirks(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }

    /// Returns the same rules without one.
    #[must_use]
    pub const fn without_rule(self, rule: Rule) -> Self {
        Self {
            except: Some(rule),
            ..self
        }
    }

    /// Whether a quirk is modelled.
    pub const fn has_quirk(self, quirk: Quirk) -> bool {
        self.quirks.has(quirk)
    }

    /// Whether a rule holds.
    pub fn holds(self, rule: Rule) -> bool {
        self.version >= rule.since() && self.except != Some(rule)
    }

    /// The rules that hold in exactly one of the two versions.
    pub fn changed_rules(self, other: Self) -> impl Iterator<Item = Rule> {
        Rule::ALL
            .iter()
            .copied()
            .filter(move |&rule| self.holds(rule) != other.holds(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        assert_eq!("3.9".parse(), Ok(Version::new(3, 9, 0)));
        assert!("3.10.0".parse::<Version>().is_ok_and(|v| v > Version::NEWEST));
        for wrong in ["", "3.", "3.x", "3.9.0.1", "+3", "99999999"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rule_holds_from_its_version_on() {
        let old = Rules::from_version(Version::new(3, 2, 0));
        assert!(!old.holds(Rule::FloatRemainderIsFmod));
        assert!(Rules::default().holds(Rule::FloatRemainderIsFmod));
        assert!(
            old.changed_rules(Rules::default())
                .any(|rule| rule == Rule::FloatRemainderIsFmod)
        );
    }
}
