//! Planted faults, which test that Cerith detects its own mistakes. Each is in the code behind [`is_planted`], which is
//! a constant `false` unless this crate has the feature `planted-faults`, so a normal build doesn't contain them. With
//! the feature, `plant` selects one fault for the process.
//!
//! `.ci/faults` runs the corpus once for each of them, and judges the results.

macro_rules! faults {
    ($($fault:ident $name:literal $place:literal $about:literal;)+) => {
        /// A mistake that can be planted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Fault {
            $(#[doc = $about] $fault,)+
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$fault,)+];

            /// The name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)+
                }
            }

            /// The part of Cerith that it is in: `numeric`, `frontend`, `interp`, `memory`, `verdict` or `engine`.
            pub const fn place(self) -> &'static str {
                match self {
                    $(Self::$fault => $place,)+
                }
            }

            /// A sentence about its effect.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Self::$fault => $about,)+
                }
            }
        }
    };
}

faults! {
    CastsRoundTwice "casts-round-twice" "numeric" "A cast of f64 to a narrow float goes through f32, rounded to nearest.";
    F16TiesUp "f16-ties-up" "numeric" "Halfway values become the larger f16, not the even one.";
    F16SubnormalsFlush "f16-subnormals-flush" "numeric" "Subnormal f16 numbers become zero.";
    Bf16Truncates "bf16-truncates" "numeric" "Values are cut to bf16, not rounded.";
    Fp8CastsOverflow "fp8-casts-overflow" "numeric" "A cast beyond the largest fp8 gives infinity or NaN.";
    Fp8TiesAway "fp8-ties-away" "numeric" "Halfway values become the fp8 further from zero.";
    Fp8SubnormalsHalve "fp8-subnormals-halve" "numeric" "Subnormal fp8 decode to half their value.";
    IntegersRoundTwice "integers-round-twice" "numeric" "A 64-bit integer becomes a narrow float through f64.";
    WideningForgetsSign "widening-forgets-sign" "numeric" "Signed integers are widened with zeros.";
    FloatsRoundToIntegers "floats-round-to-integers" "numeric" "A float becomes the nearest integer, not the one toward zero.";
    NanIsFalse "nan-is-false" "numeric" "A NaN cast to i1 is false.";
    ShiftRightIsLogical "shift-right-is-logical" "numeric" "`>>` of a signed integer shifts zeros in.";
    DivisionFloors "division-floors" "numeric" "`//` of a negative integer rounds down.";
    RemainderIsPositive "remainder-is-positive" "numeric" "`%` of a negative integer is not negative.";
    HighProductIsSigned "high-product-is-signed" "numeric" "`umulhi` reads signed integers as signed.";
    UnsignedComparesSigned "unsigned-compares-signed" "numeric" "u32 are compared as i32.";
    MinimumGivesNan "minimum-gives-nan" "numeric" "`minimum` of a number and a NaN is a NaN.";
    MaximumLosesNan "maximum-loses-nan" "numeric" "`maximum` that propagates NaNs gives the number.";
    MinimumOfZeros "minimum-of-zeros" "numeric" "`minimum` of -0 and +0 is +0.";
    ClampGivesNan "clamp-gives-nan" "numeric" "`clamp` of a NaN is a NaN although it doesn't propagate NaN.";
    RintTiesAway "rint-ties-away" "numeric" "`rint` takes halves away from zero.";
    FmaRoundsTwice "fma-rounds-twice" "numeric" "`fma` rounds the product.";
    QuotientDrifts "quotient-drifts" "numeric" "`/` is off by 17 ULPs of f32.";
    ExponentialDrifts "exponential-drifts" "numeric" "`exp` and `exp2` of f32 are off by 17 ULPs.";
    LogarithmDrifts "logarithm-drifts" "numeric" "`log` of f32 is off by about 17 ULPs.";
    RootDrifts "root-drifts" "numeric" "`sqrt` is off by 4 ULPs.";
    SineDrifts "sine-drifts" "numeric" "`sin` is off by about 17 ULPs of f32.";

    SignsPromoteToSigned "signs-promote-to-signed" "frontend" "u32 with i32 computes in i32.";
    NumbersAreStrong "numbers-are-strong" "frontend" "A Python number widens the tensor that it meets.";
    Bf16StaysNarrow "bf16-stays-narrow" "frontend" "bf16 with an integer tensor computes in bf16.";
    ConstantDivisionTruncates "constant-division-truncates" "frontend" "`//` of constexprs rounds toward zero.";
    ConstantRemainderTruncates "constant-remainder-truncates" "frontend" "`%` of constexprs has the dividend's sign.";
    DoubleNumbersAreSingle "double-numbers-are-single" "frontend" "A number in f64 arithmetic is rounded to f32.";
    DownwardStopIgnored "downward-stop-ignored" "frontend" "A downward `range` continues to 1.";
    StaticRangeCountsByOne "static-range-counts-by-one" "frontend" "`static_range` counts by 1, as often as its step says.";
    RanksPadBehind "ranks-pad-behind" "frontend" "Broadcasting adds missing dimensions at the end.";
    NegativeAxisIsOff "negative-axis-is-off" "frontend" "A negative axis counts one too far.";
    KeptDimensionIsFirst "kept-dimension-is-first" "frontend" "`keep_dims` puts the dimension first.";
    IntegersDivideWhole "integers-divide-whole" "frontend" "`/` of integers is their whole quotient.";
    UnsignedOffsetsAreSigned "unsigned-offsets-are-signed" "frontend" "Unsigned offsets of pointers are sign-extended.";
    PointersMoveForward "pointers-move-forward" "frontend" "A number subtracted from a pointer is added.";
    PermutationIsInverse "permutation-is-inverse" "frontend" "`permute` permutes the other way round.";
    ComparisonChainIsCut "comparison-chain-is-cut" "frontend" "`a < b < c` is `b < c`.";

    GatherTakesRows "gather-takes-rows" "interp" "`gather` along axis 0 of a square block goes along axis 1.";
    ScanRunsForward "scan-runs-forward" "interp" "A reverse scan is not reversed.";
    MiddleScanIsLast "middle-scan-is-last" "interp" "A scan along the middle of three axes goes along the last.";
    MiddleReductionIsFirst "middle-reduction-is-first" "interp" "A reduction along the middle of three axes goes along the first where both are as long.";
    CombineSwaps "combine-swaps" "interp" "A combine function gets its operands the other way round.";
    LastLaneUnmasked "last-lane-unmasked" "interp" "The last lane of a block is accessed even if it is masked off.";
    OtherIsZero "other-is-zero" "interp" "Masked-off lanes hold zero, not `other`.";
    MaskedLanesDefined "masked-lanes-defined" "interp" "Masked-off lanes without `other` count as defined.";
    LoopSwapsCarried "loop-swaps-carried" "interp" "A loop that carries two values swaps them.";
    LoopNeedsWholeStep "loop-needs-whole-step" "interp" "A loop omits its last step if that is a partial one.";
    DotDropsAccumulator "dot-drops-accumulator" "interp" "`dot` forgets its accumulator.";
    AtomicGivesNew "atomic-gives-new" "interp" "An atomic returns the value that it wrote.";
    UnsignedAtomicsAreSigned "unsigned-atomics-are-signed" "interp" "Atomics compare u32 and u64 as signed.";
    SwapAlwaysSwaps "swap-always-swaps" "interp" "`atomic_cas` stores whatever it found.";
    ViewsAreApart "views-are-apart" "interp" "A load does not see what was stored through another argument.";
    CatTakesRightFirst "cat-takes-right-first" "interp" "`cat` puts its second block first.";
    JoinTakesRightFirst "join-takes-right-first" "interp" "`join` puts its second block first.";
    LastBinIsFirst "last-bin-is-first" "interp" "`histogram` counts the last bin in the first.";
    RangeStartsAtZero "range-starts-at-zero" "interp" "`arange` starts at 0.";
    GridTransposed "grid-transposed" "interp" "The second and third program id are swapped.";
    EndsFourLate "ends-four-late" "interp" "Four bytes past the end of a storage may be accessed.";
    UninitialisedIsKnown "uninitialised-is-known" "interp" "Reads of uninitialised bytes are defined.";
    RacesUnseen "races-unseen" "interp" "Races between programs are not detected.";
    ConflictsUnseen "conflicts-unseen" "interp" "Lanes of a store may write differently to the same bytes.";
    MisalignedUnseen "misaligned-unseen" "interp" "Addresses may have any alignment.";

    UnevenSplitOverlaps "uneven-split-overlaps" "memory" "The last piece of an uneven `split(n)` is whole and overlaps.";
    SplitSizesStartEven "split-sizes-start-even" "memory" "Pieces of `split([…])` start where even pieces would.";
    ChunkRoundsDown "chunk-rounds-down" "memory" "`chunk` rounds the size of a piece down.";
    SelectForgetsOffset "select-forgets-offset" "memory" "`x[i]` forgets where `x` began.";
    SliceForgetsStep "slice-forgets-step" "memory" "`x[::2]` has the stride of `x`.";
    SliceClampsNegative "slice-clamps-negative" "memory" "A negative start of a slice is 0.";
    SquareTransposeIsNone "square-transpose-is-none" "memory" "`transpose` leaves a square as it is.";
    PermuteIsInverse "permute-is-inverse" "memory" "`permute` permutes the other way round.";
    ExpandKeepsStride "expand-keeps-stride" "memory" "`expand` keeps the stride of a repeated dimension.";
    AsStridedStartsAtZero "as-strided-starts-at-zero" "memory" "`as_strided` without an offset starts at 0.";
    DtypeViewForgetsOffset "dtype-view-forgets-offset" "memory" "A view under a wider dtype starts where the narrow one counted.";
    UnfoldStepsByOne "unfold-steps-by-one" "memory" "Windows of `unfold` are one element apart.";
    DiagonalStartsAtZero "diagonal-starts-at-zero" "memory" "`diagonal(1)` starts at the main diagonal.";
    GuardsBehindUnseen "guards-behind-unseen" "memory" "There are no guard zones after storages.";

    ReferenceNeverConvicted "reference-never-convicted" "verdict" "Two others never overrule the reference.";
    NanEqualsAnything "nan-equals-anything" "verdict" "A NaN on either side is agreement.";
    GuardsNotCompared "guards-not-compared" "verdict" "Guard zones are not compared.";
    AnyBoundAdmits "any-bound-admits" "verdict" "Results with a bound are accepted outside of it.";
    StaleUnreported "stale-unreported" "verdict" "An expectation that does not happen is not reported.";
    UnwrittenNotCompared "unwritten-not-compared" "verdict" "Bytes that must stay unwritten are not compared.";
    UndefinedCompared "undefined-compared" "verdict" "Bytes with an undefined value are compared.";
    OneStorageCompared "one-storage-compared" "verdict" "Only the first storage is compared.";
    RejectionAgrees "rejection-agrees" "verdict" "An engine that rejects a program agrees with every other.";
    UnsteadyAgrees "unsteady-agrees" "verdict" "An engine whose launches differ is steady.";
    VacuousUnreported "vacuous-unreported" "verdict" "A trial that compares nothing passes.";
    MessagesUnread "messages-unread" "verdict" "An expectation's message is not checked.";
    UndefinedIsExpected "undefined-is-expected" "verdict" "An undefined program needs no expectation.";
    ExceptionsAreAlike "exceptions-are-alike" "verdict" "All Python exceptions are the same.";

    OffsetForgotten "offset-forgotten" "engine" "Every engine gets tensors that start at their storage's start.";
    NumbersAre32Bits "numbers-are-32-bits" "engine" "The reference gets integers cut to 32 bits.";
    CacheForgetsConstants "cache-forgets-constants" "engine" "A traced kernel is used again for other constants.";
    LaterLaunchesSkipped "later-launches-skipped" "engine" "The reference makes the first launch only.";
    DescriptorsAreDense "descriptors-are-dense" "engine" "The reference gives a descriptor its shape for strides.";
    InterpreterLosesGrid "interpreter-loses-grid" "engine" "The interpreter gets one program along z.";
    InterpreterLosesAddresses "interpreter-loses-addresses" "engine" "Addresses that the interpreter left are not translated.";
    InterpreterLosesGuards "interpreter-loses-guards" "engine" "Guard bytes that the interpreter wrote are not copied.";
    InterpreterSwapsNumbers "interpreter-swaps-numbers" "engine" "The interpreter gets integers without their sign.";
    StaleRecordsTaken "stale-records-taken" "engine" "A record of another kernel or layout is used.";
    RecordsLoseLastChange "records-lose-last-change" "engine" "The last change of a record is omitted.";
}

#[cfg(feature = "planted-faults")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(u8::MAX);

/// Plants a fault, or none, for the whole process.
#[cfg(feature = "planted-faults")]
pub fn plant(fault: Option<Fault>) {
    let number = fault.map_or(u8::MAX, |fault| fault as u8);
    PLANTED.store(number, std::sync::atomic::Ordering::Relaxed);
}

/// Returns whether this fault is planted.
#[cfg(feature = "planted-faults")]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is used in loops over lanes")]
pub fn is_planted(fault: Fault) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == fault as u8
}

/// Returns whether this fault is planted: always false without the feature `planted-faults`.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is used in loops over lanes")]
pub const fn is_planted(_: Fault) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_part_has_faults() {
        let mut names: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all < usize::from(u8::MAX));
        for place in ["numeric", "frontend", "interp", "memory", "verdict", "engine"] {
            let count = Fault::ALL.iter().filter(|fault| fault.place() == place).count();
            assert!(count >= 5, "{place} has {count}");
        }
    }

    #[cfg(not(feature = "planted-faults"))]
    #[test]
    fn a_normal_build_has_none() {
        assert!(!Fault::ALL.iter().any(|&fault| is_planted(fault)));
    }
}
