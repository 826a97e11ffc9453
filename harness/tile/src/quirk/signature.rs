//! Known bugs of engines without a model: exceptions for valid kernels, and results for invalid ones. A signature
//! recognises a bug by the exception's type and message and the operation that raises it, or by the reason why the
//! reference rejects the kernel. For a failure of the compiler, it matches the failed pass, the file and text of the
//! assertion, or LLVM's message. See [`super::Quirk`] for bugs with a model.

use super::Family;
use crate::rules::Version;

/// The symptom of a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// An exception of this type, with this part of its message.
    Raises(&'static str, &'static str),
    /// An exception of this type, with this part of its message, in a kernel that uses a feature whose name contains this.
    RaisesIn(&'static str, &'static str, &'static str),
    /// A failed `assert` in a kernel.
    AssertsInKernel,
    /// A crash of the process, with this part of its message, in a kernel that uses this.
    CrashesIn(&'static str, &'static str),
    /// An exception or a crash of the compiler, whose messages contain all parts of one of these sets.
    Fails(&'static [&'static [&'static str]]),
    /// A result, although the reference rejects the kernel with this message.
    Runs(&'static str),
    /// The bytes of a model with alternatives (`cerith-quirk`, `lanes`), in a kernel of this form.
    Leaves(Form),
}

/// The form of a kernel for which a compiler with a wrong lane layout leaves wrong bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It scans fewer elements than its warps have lanes.
    ScanOfFewLanes,
    /// It reduces a block that was reshaped.
    ReductionOfReshaped,
}

/// The failure of an engine, or the rejection of the reference.
#[derive(Clone, Copy, Debug)]
pub struct FailureReport<'a> {
    /// The exception's type, or the kind of rejection.
    pub kind: &'a str,
    /// The message.
    pub message: &'a str,
    /// Further output: a traceback, and the compiler's messages.
    pub detail: Option<&'a str>,
    /// Whether Python outside of kernels raised it, for example a host function.
    pub by_host: bool,
    /// The source line, if known.
    pub line: Option<&'a str>,
    /// The language features that the kernels use, each with the dtype that it is used on: `tensor.__mod__ f32`. They
    /// replace the line if it is unknown.
    pub uses: &'a [String],
}

/// A known bug, recognised by its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BugSignature {
    /// The name that reports use.
    pub name: &'static str,
    /// The engines that have it.
    pub family: Family,
    /// The versions that have it: from the first to before the second, which fixed it.
    pub versions: (Version, Option<Version>),
    /// The symptom.
    pub shows: Shows,
    /// The line, or if it is unknown a used feature, must contain one of these texts. Empty if any line matches.
    pub operations: &'static [&'static str],
    /// A sentence about the bug.
    pub summary: &'static str,
}

macro_rules! signatures {
    ($( $name:literal: $family:ident, $from:expr, $to:expr, $shows:expr, $operations:expr, $about:literal; )+) => {
        /// All signatures. If several match, the first one applies.
        pub const ALL: &[BugSignature] = &[$( BugSignature {
            name: $name,
            family: Family::$family,
            versions: ($from, $to),
            shows: $shows,
            operations: &$operations,
            summary: $about,
        }, )+];
    };
}

use Shows::{AssertsInKernel, CrashesIn, Fails, Leaves, Raises, RaisesIn, Runs};

const fn v(major: u16, minor: u16, patch: u16) -> Version {
    Version::new(major, minor, patch)
}
const FIRST: Version = v(3, 0, 0);
const NEVER: Option<Version> = None;
const V32: Option<Version> = Some(v(3, 2, 0));
const V33: Option<Version> = Some(v(3, 3, 0));
const V34: Option<Version> = Some(v(3, 4, 0));
const V36: Option<Version> = Some(v(3, 6, 0));
const V37: Option<Version> = Some(v(3, 7, 0));
const V38: Option<Version> = Some(v(3, 8, 0));
const V39: Option<Version> = Some(v(3, 9, 0));

/// The recorded use of a kernel that calls a method of an aggregate.
pub const AGGREGATE_METHOD: &str = "a method of an aggregate";
/// The recorded use of a kernel that reduces along a negative axis, except with the library's sums and extrema.
pub const NEGATIVE_AXIS: &str = "tl.reduce along a negative axis";
/// The recorded use of a case that has addresses in its storages, or passes them as numbers.
pub const ADDRESSES: &str = "addresses in memory";
/// The recorded use of a kernel that keeps the dimensions of a reduction.
pub const KEPT_DIMENSIONS: &str = "tl.reduce with dimensions kept";

/// Methods of tensors that need a builder and receive it only from some versions.
const METHODS: [&str; 16] = [
    ".exp(",
    ".exp2(",
    ".log(",
    ".log2(",
    ".sin(",
    ".cos(",
    ".sqrt(",
    ".sqrt_rn(",
    ".rsqrt(",
    ".erf(",
    ".floor(",
    ".ceil(",
    ".abs(",
    ".umulhi(",
    ".div_rn(",
    ".fma(",
];

signatures! {
    "no-library": Interpreter, FIRST, NEVER, RaisesIn("TypeError", "cannot convert None of type <class 'NoneType'> to tensor", "libdevice"), [],
        "an external library function returns None";
    "no-library-builder": Interpreter, FIRST, V32, RaisesIn("ValueError", "`_builder` argument must be provided outside of JIT functions", "libdevice"), [],
        "an external library function requires a builder";
    "no-library-result": Interpreter, FIRST, NEVER, Raises("AttributeError", "'NoneType' object has no attribute 'to'"), ["libdevice"],
        "an external library function returns None";
    "no-library-operand": Interpreter, FIRST, NEVER, Raises("AttributeError", "'NoneType' object has no attribute 'type'"), ["libdevice"],
        "an external library function returns None";
    "no-library-number": Interpreter, FIRST, NEVER, Raises("TypeError", "and 'NoneType'"), ["libdevice"],
        "an external library function returns None";
    "no-library-dtype": Interpreter, FIRST, NEVER, Raises("AttributeError", "'NoneType' object has no attribute 'dtype'"), ["libdevice"],
        "an external library function returns None";
    "no-cuda-functions": Interpreter, FIRST, NEVER, Raises("ValueError", "`_semantic` argument must be provided outside of JIT functions"), [],
        "the interpreter lacks the functions that only CUDA has";
    "no-cuda-functions-before-3.4": Interpreter, FIRST, V34, Raises("ValueError", "`_builder` argument must be provided outside of JIT functions"), ["extra.cuda"],
        "the interpreter lacks the functions that only CUDA has";
    "no-descriptor-atomics": Interpreter, v(3, 4, 0), NEVER, Raises("AttributeError", "'InterpreterBuilder' object has no attribute 'create_descriptor_reduce'"), ["desc.atomic_", ".atomic_"],
        "descriptors have no atomics";
    "float-stays-python": Interpreter, FIRST, NEVER, Raises("AttributeError", "'float' object has no attribute '"), [".to(", ".shape", ".dtype"],
        "a float stays a Python number, which has no dtype, shape or conversion";
    "truth-is-python": Interpreter, FIRST, NEVER, Raises("AttributeError", "'bool' object has no attribute '"), ["not "],
        "`not` returns a Python bool, which lacks the attributes of tensors";
    "constexprs-are-their-values": Interpreter, FIRST, NEVER, Raises("AttributeError", "has no attribute 'value'"), [".value"],
        "a constexpr parameter is passed as its plain value";
    "int-stays-python": Interpreter, FIRST, NEVER, Raises("AttributeError", "'int' object has no attribute '"), [".to(", "tl."],
        "an int stays a Python number, which lacks the attributes of tensors";
    "constexpr-stays-python": Interpreter, FIRST, V32, Raises("AttributeError", "'constexpr' object has no attribute 'to'"), [".to("],
        "a constexpr stays a Python number, which has no conversion";
    "dot-scaled-format-names": Interpreter, FIRST, V38, Raises("AttributeError", "'str' object has no attribute 'value'"), ["dot_scaled"],
        "the interpreter has no dot_scaled, and its own names for formats fail first";
    "dot-scaled-scale": Interpreter, FIRST, V33, Raises("AssertionError", "NYI: rhs_scale not supported"), ["dot_scaled"],
        "the interpreter has no dot_scaled, and takes None for a scale";
    "no-bf16-number": Interpreter, FIRST, V39, Raises("AttributeError", "'InterpreterBuilder' object has no attribute 'get_bf16'"), [],
        "a Python number has no bf16 form";
    "no-map-elementwise": Interpreter, v(3, 5, 0), NEVER, Raises("AttributeError", "'InterpreterBuilder' object has no attribute 'new_block'"), ["map_elementwise"],
        "the interpreter has no map_elementwise";
    "no-method-builder": Interpreter, v(3, 4, 0), V39, Raises("AttributeError", "'NoneType' object has no attribute 'to_tensor'"), [],
        "tensor methods from tl.math get no builder";
    "no-method-builder-before-3.4": Interpreter, FIRST, V34, Raises("AttributeError", "'NoneType' object has no attribute 'create_"), METHODS,
        "tensor methods from tl.math get no builder";
    "no-bool-type": Interpreter, FIRST, V34, Raises("AttributeError", "'InterpreterBuilder' object has no attribute 'get_int1_ty'"), [],
        "the builder cannot make a bool";
    "no-warmup": Interpreter, FIRST, V36, Raises("AttributeError", "'InterpretedFunction' object has no attribute 'warmup'"), ["warmup"],
        "interpreted kernels have no warmup";
    "no-hooks": Interpreter, FIRST, V36, Raises("AttributeError", "'InterpretedFunction' object has no attribute 'add_pre_run_hook'"), ["add_pre_run_hook"],
        "interpreted kernels do not support hooks";
    "restores-what-is-no-tensor": Language, FIRST, V38, Raises("AttributeError", "'NoneType' object has no attribute 'clone'"), [],
        "the autotuner copies a restored argument without checking that it is a tensor";
    "aggregates-lose-methods": Interpreter, v(3, 8, 0), NEVER, RaisesIn("AttributeError", "' object has no attribute '", AGGREGATE_METHOD), [],
        "an aggregate keeps only compiled functions, so it loses interpreted ones";
    "no-narrow-atomics": Interpreter, FIRST, NEVER, Raises("ValueError", "Unsupported data type"), ["atomic_"],
        "atomics of these dtypes are not implemented";
    "no-driver": Interpreter, v(3, 2, 0), NEVER, Raises("RuntimeError", "active drivers ([]). There should only be one."), [],
        "an active driver is required, and there is none without a GPU";
    "no-driver-before-3.2": Interpreter, FIRST, V32, Raises("RuntimeError", "Found no NVIDIA driver on your system."), [],
        "an active driver is required, and there is none without a GPU";
    "copies-back-overlap": Interpreter, FIRST, V33, Raises("RuntimeError", "more than one element of the written-to tensor refers to a single memory location"), [],
        "each argument is copied back, and torch refuses to copy into a tensor with overlapping elements";
    "decorated-functions-replaced": Interpreter, FIRST, V34, Raises("TypeError", "'int' object is not iterable"), [".reduce(", ".associative_scan(", ".sum(", ".max(", ".min("],
        "the interpreter replaces the function, but not the method";
    "negative-as-unsigned": Interpreter, v(3, 2, 0), V39, Raises("OverflowError", "Python integer -1 out of bounds for uint"), ["~"],
        "NumPy 2 refuses -1 as an unsigned number";
    "high-product-overflows": Interpreter, v(3, 2, 0), V39, Raises("OverflowError", "out of bounds for uint64"), ["umulhi"],
        "operands of umulhi are taken as signed";
    "wrapped-sum-refused": Interpreter, v(3, 3, 0), V39, Raises("OverflowError", "out of bounds for int"), ["tl.sum", "tl.reduce", "tl.cumsum"],
        "NumPy raises for a sum that does not fit, and Triton's sum wraps";
    "numbers-of-arrays": Interpreter, FIRST, V37, Raises("TypeError", "only 0-dimensional arrays can be converted to Python scalars"), [],
        "a scalar of the interpreter is an array with dimensions, which NumPy 2.5 does not convert to a Python number";
    "half-sums-overflow": Interpreter, v(3, 3, 0), NEVER, Raises("OverflowError", ""), ["atomic_add"],
        "the library that adds f16 in memory raises if a sum is infinite";
    "descriptor-strides-in-elements": Interpreter, v(3, 4, 0), V36, Raises("AssertionError", "stride must be 16-byte aligned"), [],
        "the check counts elements, not bytes";
    "addresses-from-memory": Interpreter, FIRST, NEVER, CrashesIn("segmentation fault", ADDRESSES), ["load", "store", "atomic"],
        "an address that was loaded from memory is a device address, but is used on the host";
    "scalar-mask-keeps-dtype": Interpreter, v(3, 9, 0), NEVER, Raises("ValueError", "mask has unsupported dtype"), ["mask=", "tl.load", "tl.store"],
        "a scalar comparison that becomes a mask keeps the dtype of its operands";
    "comparison-keeps-dtype": Interpreter, FIRST, NEVER, Raises("ValueError", "cannot reshape array of size"), [],
        "a comparison keeps the dtype of its operands, and its bools are read as numbers of that width";
    "scalar-comparison-keeps-dtype": Interpreter, FIRST, NEVER, Raises("TypeError", "ufunc 'bitwise_"), [],
        "a comparison of scalars keeps the dtype of its operands, and floats have no bitwise operations";
    "sizes-are-a-tuple": Interpreter, FIRST, NEVER, Raises("TypeError", "can only concatenate list (not \"tuple\") to list"), [],
        "sizes are a tuple in the interpreter, and a list elsewhere";
    "few-precisions": Interpreter, v(3, 6, 0), NEVER, Raises("AssertionError", "input_precision must be one of ('tf32', 'tf32x3', 'ieee')"), ["tl.dot"],
        "the interpreter's options do not list these precisions";
    "no-bool-subtraction": Interpreter, v(3, 2, 0), V39, Raises("TypeError", "numpy boolean subtract"), ["-", ".sub("],
        "NumPy does not subtract bools";
    "kept-dimensions-lost": Interpreter, FIRST, V36, RaisesIn("ValueError", "Cannot broadcast, rank mismatch", KEPT_DIMENSIONS), [],
        "a reduction over all axes with keep_dims loses the dimensions";
    "negative-reduction-axis": Interpreter, FIRST, NEVER, RaisesIn("ValueError", "", NEGATIVE_AXIS), [],
        "a negative axis shapes the result or the combined blocks without being normalised, and the shapes don't match";
    "cache-modifier-cv": Language, FIRST, V32, Raises("ValueError", "Cache modifier .cv not supported"), [],
        "the modifier came with 3.2, compiled too";
    "floats-printed-as-hex": Interpreter, FIRST, V39, Raises("ValueError", "Unknown format code 'x' for object of type 'float'"), ["device_print"],
        "floats are formatted like integers";
    "permute-of-a-tuple": Language, FIRST, V33, Raises("ValueError", "permute dims must have the same length as input shape"), ["tl.trans"],
        "the dimensions of trans are not a tuple, compiled too";
    "debug-is-a-parameter": Interpreter, FIRST, V33, Raises("TypeError", "got an unexpected keyword argument 'debug'"), [],
        "the interpreter treats `debug` as a parameter";
    "launch-options-are-parameters": Interpreter, FIRST, V33, Raises("TypeError", "got an unexpected keyword argument 'launch_"), [],
        "the interpreter treats unknown launch options as parameters";
    "do-bench-unknown": Interpreter, FIRST, V32, Raises("TypeError", "autotune() got an unexpected keyword argument"), ["autotune"],
        "autotune accepts do_bench since 3.2";
    "options-swallow-arguments": Interpreter, FIRST, V33, Raises("TypeError", "missing 1 required positional argument: 'num_warps'"), [],
        "arguments named like launch options are swallowed";
    "grid-gets-pointers": Interpreter, FIRST, NEVER, Raises("TypeError", "'int' object is not callable"), ["numel()"],
        "the grid function gets Triton pointers instead of tensors";
    "surplus-values-dropped": Interpreter, FIRST, V39, Raises("ValueError", "too many values to unpack"), [" = "],
        "these compilers accept and drop surplus values, which Python rejects";
    "scan-of-one-is-a-tuple": Interpreter, FIRST, V34, Raises("", ",) of type <class 'tuple'> to tensor"), ["cum", "scan"],
        "a scan of one lane returns a tuple";
    "bits-of-bf16-sorted": Language, FIRST, V32, Raises("ValueError", "Cannot bitcast data-type of size"), ["tl.sort"],
        "the interpreter has no integer type for the bits of bf16";
    "pairs-are-not-laid-flat": Interpreter, FIRST, NEVER, Raises("ValueError", "can only convert an array of size 1 to a Python scalar"), ["tl.reduce"],
        "if several blocks are reduced over all axes, only the first is flattened";
    "docstrings-begin-functions": Interpreter, v(3, 2, 0), NEVER, Raises("SyntaxError", "unterminated triple-quoted string literal"), [],
        "the last line that begins with `def` is considered the start of the kernel, even inside a docstring";
    "constexprs-by-other-names": Interpreter, v(3, 4, 0), NEVER, Raises("ValueError", "arguments must be of type tl.constexpr"), ["arange("],
        "a parameter is a constexpr only if its annotation is spelled `constexpr` or `tl.constexpr`, and a variable only where its number is";
    "closures-are-lost": Interpreter, v(3, 2, 0), NEVER, Raises("NameError", "is not defined"), [],
        "the rewritten kernel is executed with its module's globals only";
    "bool-arguments-are-wide": Interpreter, v(3, 6, 0), V38, Raises("ValueError", "numpy data itemsize (32 bits) exceeds dtype primitive_bitwidth (1 bits)"), [],
        "a bool argument becomes a 32-bit number with a 1-bit dtype";
    "small-integer-dots": Interpreter, FIRST, V32, Raises("AssertionError", "small blocks not supported!"), ["tl.dot"],
        "the second dimension of both i8 operands must be 32, also compiled";
    "flip-multiplies": Interpreter, FIRST, V33, Raises("TypeError", "unexpected type fp8"), ["tl.flip"],
        "flip multiplies by bools and adds, which 8-bit floats do not support; compiled too";
    "sort-of-wide-integers": Interpreter, FIRST, V33, Raises("ValueError", "operands could not be broadcast together with shapes"), ["tl.sort"],
        "NumPy computes in 64 bits, and keeps bits that do not fit in the dtype";
    "no-configuration-left": Language, v(3, 3, 0), V39, Raises("ValueError", "min() arg is an empty sequence"), [],
        "a small fraction of few configurations is rounded down to zero";
    "no-configuration-left-python-3.12": Language, v(3, 3, 0), V39, Raises("ValueError", "min() iterable argument is empty"), [],
        "a small fraction of few configurations is rounded down to zero";
    "splat-takes-a-type": Language, v(3, 4, 0), NEVER, Raises("TypeError", "create_splat takes"), [],
        "the builder's create_splat takes the type of the result and a value";
    "no-overflow-checks": Interpreter, v(3, 2, 0), NEVER, Runs("overflow detected for operation"), [],
        "with debug, integer operations have no assertions";
    "asserts-always": Interpreter, FIRST, V32, Raises("AssertionError", "in unknown:unknown:0"), ["device_assert"],
        "a device assert is always active";
    "key-behind-constexpr": Language, FIRST, V32, Raises("IndexError", "list index out of range"), [],
        "the key is looked up among the given arguments by its index among all parameters";
    "all-nan-raises": Interpreter, v(3, 8, 0), NEVER, Raises("ValueError", "All-NaN slice encountered"), ["argmax", "argmin", "return_indices"],
        "NumPy raises if all candidates for the largest number are NaN";
    "asserts-never": Interpreter, v(3, 3, 0), NEVER, Runs("device assertion failed"), [],
        "the interpreter's debug option is always false";
    "names-of-later-versions": Interpreter, FIRST, Some(v(3, 5, 0)), Runs("has no attribute `"), [],
        "the interpreter skips branches that are not taken, and keeps methods that compilers lose";
    "lists-are-python": Interpreter, v(3, 3, 0), NEVER, Runs("a tuple has no attribute `append`"), [],
        "the interpreter runs any Python: lists that grow";
    "fp8-is-computed-in": Interpreter, FIRST, NEVER, Runs(": it can only be moved and converted"), [],
        "compiled kernels move and convert 8-bit floats, and divide them from 3.9 on; the interpreter computes in them";
    "fp8-becomes-fp8": Interpreter, FIRST, NEVER, Runs("cast of fp8"), [],
        "the compiler cannot convert between 8-bit floats; the interpreter can, from exponent and significand";
    "fp8-is-computed-in-before-3.2": Interpreter, FIRST, V32, Runs("no common type of fp8"), [],
        "compiled kernels move and convert 8-bit floats; the interpreter computes in them";
    "names-of-the-interpreter": Interpreter, v(3, 2, 0), NEVER, Runs("`math` is not defined"), [],
        "the interpreter adds the names of its own module to the kernel's";
    "static-ranges-are-python": Interpreter, FIRST, NEVER, Runs("bounds and step of `tl.static_range` have to be constexprs"), [],
        "a static range is Python's, which accepts a tensor";
    "static-asserts-are-python": Interpreter, FIRST, NEVER, Runs("could not be determined at compile time"), ["static_assert"],
        "a static assertion is Python's, which accepts a tensor";
    "hints-take-anything": Interpreter, FIRST, NEVER, Runs("must be a constexpr int, not a tensor"), ["multiple_of", "max_contiguous", "max_constancy"],
        "the interpreter accepts any value as a hint";
    "constant-pointers-are-pointers": Interpreter, FIRST, NEVER, Runs("Cannot store to a constant pointer"), [],
        "the interpreter checks annotations only for constexprs, so it stores through `tl.const`";
    "transposes-reverse": Interpreter, v(3, 3, 0), NEVER, Runs("permute dims must have the same length as the input's shape"), [".T"],
        "`.T` reverses all dimensions, and takes any number of them";
    "fractions-are-cut": Interpreter, FIRST, NEVER, Runs("is not a value of int"), [],
        "NumPy truncates a number with a fraction to an integer";
    "integers-are-fused": Interpreter, FIRST, NEVER, Runs("fma of int"), ["fma"],
        "the interpreter multiplies and adds operands of any dtype";
    "names-outlive-loops": Interpreter, FIRST, NEVER, Runs("is not defined"), [],
        "in Python, names stay bound after their loop, and keyword-only parameters are bound; in the compiler they are not";
    "tuples-are-carried": Interpreter, FIRST, V33, Runs("unsupported tensor index"), [],
        "a loop carries a tuple, which compilers reject and the interpreter accepts";
    "tuples-in-targets": Interpreter, FIRST, V38, Runs("tuples inside of assignment targets are not supported"), [],
        "the interpreter runs any Python: a tuple of tuples";
    "variable-parameters": Interpreter, FIRST, V38, Runs("are not bound"), [],
        "the interpreter runs any Python: parameters with a star";
    "comparisons-are-chained": Interpreter, FIRST, V39, Runs("simultaneous multiple comparison is not supported"), [],
        "the interpreter runs a chained comparison and drops the first test";
    "histogram-takes-all": Interpreter, FIRST, V39, Runs("a pass of the compiler fails"), ["tl.histogram"],
        "the interpreter accepts any integers; the compiler's passes accept only 32-bit ones";
    "tuple-arguments": Interpreter, FIRST, V33, Runs("is missing a required argument"), [],
        "a variable holds a tuple; compilers take only its first value, unlike the interpreter";
    "constexprs-hold-values": Interpreter, FIRST, V38, Runs("a constexpr that holds a run-time value has no operators"), [],
        "the interpreter runs any Python; compilers have no operators for such a name";
    "python-runs": Interpreter, FIRST, NEVER, Runs("cannot be compiled by Triton"), [],
        "the interpreter runs any Python";
    "globals-are-seen": Interpreter, FIRST, NEVER, Runs("cannot access global variable"), [],
        "the interpreter sees an ordinary global";
    "functions-are-arguments": Interpreter, FIRST, V33, Runs("is a function, which no argument can be"), [],
        "the compiler refuses functions as arguments, the interpreter calls them";
    "tensors-are-true": Interpreter, FIRST, NEVER, Runs("boolean value of a tensor with more than one value is ambiguous"), [],
        "every block is true";
    "branches-redefine-types": Interpreter, FIRST, NEVER, Runs("block redefines it as"), [],
        "the interpreter runs any Python";
    "negative-index-beside-unsigned": Interpreter, FIRST, NEVER, Raises("ValueError", "binary operation between an unsigned tensor and a negative scalar"), [],
        "a loop index stays a Python int, which is rejected beside unsigned tensors if it is negative";
    "loops-take-any-hint": Interpreter, FIRST, NEVER, Runs("range() got an unexpected keyword argument"), ["range("],
        "the interpreter accepts loop hints that this version does not have";
    "loops-change-types": Interpreter, FIRST, NEVER, Runs("its type has to stay the same"), [],
        "the interpreter runs any Python";
    "branches-change-types": Interpreter, FIRST, NEVER, Runs("mismatched type for"), [],
        "the interpreter runs any Python";
    "constexprs-not-specialised": Interpreter, v(3, 6, 0), NEVER, Runs("is a constexpr and listed in do_not_specialize"), [],
        "the compiler rejects it; the interpreter doesn't check";
    "small-dots": Interpreter, FIRST, NEVER, Runs("dot needs shapes with"), ["tl.dot"],
        "the compiler rejects extents below the hardware's; the interpreter takes them";
    "keywords-are-ignored": Interpreter, v(3, 3, 0), NEVER, Runs("and no launch option has that name"), [],
        "an unknown keyword is silently accepted";
    "truth-of-32-bits": Interpreter, FIRST, NEVER, Runs("cannot bitcast data-type of size"), [" and ", " or ", "not "],
        "the interpreter runs any Python; compilers accept only 1-bit conditions";
    "descriptor-stores-cast": Interpreter, v(3, 4, 0), Some(v(3, 5, 0)), Runs("the descriptor's elements are"), [],
        "the interpreter stores a value that the compiler rejects";
    "one-becomes-python": Compiler, FIRST, NEVER, Raises("triton.compiler.errors.CompilationError", "'int' object has no attribute 'to'"), [".to("],
        "an int argument of 1 becomes a Python int, which has no conversion";
    "wide-quotient-calls-narrow": Compiler, v(3, 8, 0), NEVER, Raises("RuntimeError", "llvm.nvvm.div.rn.f\" actually returns float"), [],
        "the compiler uses the f32 division for a quotient of another width, which LLVM does not translate";
    "descriptor-bits-of-64": Compiler, FIRST, NEVER, Raises("CUDA_ERROR_ILLEGAL_INSTRUCTION", ""), ["tensor_descriptor.atomic_and i64", "tensor_descriptor.atomic_or i64", "tensor_descriptor.atomic_xor i64"],
        "a signed 64-bit atomic through a descriptor compiles to an instruction that the GPU does not have";
    "descriptors-of-several-stages": Compiler, FIRST, V39, Raises("CUDA_ERROR_MISALIGNED_ADDRESS", ""), ["tl.make_tensor_descriptor"],
        "descriptors of several stages are made in scratch memory that is not aligned for all of them";
    "block-pointers-carried": Compiler, FIRST, V38, Fails(&[
        &["RewriteTensorPointer.cpp"],
        // Up to 3.2 the message doesn't name the pass. Python's frames name the pipeline: the first one, which rewrites
        // them.
        &["Result number is out of range for operation", "make_ttir"],
    ]), ["tl.advance", "tl.make_block_ptr"],
        "the compiler cannot rewrite block pointers that loops carry";
    "blocks-as-conditions-die": Compiler, FIRST, V34, Fails(&[&["llvm::cast", "TypedValue<mlir::IntegerType>", "argument of incompatible type"]]), [],
        "the compiler doesn't check for a condition with several elements, and crashes";
    "bf16-is-an-integer": Compiler, FIRST, V32, Fails(&[&["must be floating point LLVM type or LLVM dialect-compatible", "but got 'i16'"]]), ["bf16"],
        "bf16 is kept as an integer, and passed unconverted to an instruction for floats";
    "bf16-packed-as-integers": Compiler, FIRST, V32, Fails(&[&["invalid element type in packLLEElements. Expected 'i16' but got 'bf16'"]]), [],
        "the result of a combine function is packed as integers, the representation of bf16";
    "no-fp8-constants": Compiler, FIRST, V32, Raises("RuntimeError", "'llvm.mlir.constant' op result #0 must be LLVM dialect-compatible type, but got 'f8"), [],
        "the compiler cannot create constants of 8-bit floats";
    "integer-dots-add-floats": Compiler, FIRST, V32, Fails(&[&["'arith.addf' op operand", "must be floating-point-like, but got 'tensor<", "xi32"]]), ["tl.dot"],
        "an instruction for floats adds the accumulator of an integer product";
    "integer-dots-look-at-rows": Language, FIRST, V32, Raises("AssertionError", "small blocks not supported!"), ["tl.dot"],
        "the second dimension of both i8 operands must be 32";
    "constexpr-dtypes-stay": Language, FIRST, V32, Raises("AttributeError", "'constexpr' object has no attribute 'scalar'"), [],
        "a dtype in a constexpr is not unwrapped for a bitcast";
    "constexpr-elements-stay": Language, FIRST, V32, Raises("triton.compiler.errors.CompilationError", "element_ty is a constexpr"), [],
        "a dtype in a constexpr is not unwrapped for a pointer's type";
    "wide-swaps-stored-narrow": Compiler, FIRST, V36, Raises("subprocess.CalledProcessError", "Arguments mismatch for instruction 'st'"), ["tl.atomic_cas"],
        "the result of a 64-bit compare-and-swap of one lane is stored by a 32-bit instruction";
    "fp8-flips-multiply": Language, FIRST, V33, Raises("triton.compiler.errors.CompilationError", "unexpected type fp8"), ["tl.flip"],
        "flip multiplies by ones and zeros, which 8-bit floats do not support";
    "scaled-operands-not-widened": Compiler, FIRST, V39, Fails(&[
        &["LLVM ERROR: Unsupported rounding mode for conversion."],
        &["MMAv2.cpp", "Both $a and %b should be DotOperand layout."],
        &["failed to legalize operation 'tt.dot_scaled'"],
    ]), ["tl.dot_scaled"],
        "bf16 and f16 operands are not widened to one dtype, and operands that are packed along the outer dimension do not compile";
    "narrow-fdiv": Compiler, FIRST, V39, Fails(&[&["LLVM ERROR: Unsupported bitwidth"]]), ["fdiv f16", "fdiv bf16"],
        "the compiler has no fdiv of 16-bit floats before they are promoted";
    "f64-to-bf16-dies": Compiler, FIRST, V33, Fails(&[&["ElementwiseOpToLLVM.cpp", "TruncFOpConversion", "unsupported conversion"]]), [],
        "the compiler has no cast of f64 to bf16, and crashes";
    // triton#11612.
    "flattened-around-while": Compiler, v(3, 3, 0), V39, Fails(&[&["`TritonGPUFuseNestedLoops`", "ilist_iterator.h"]]), [],
        "the compiler cannot flatten a loop around a `while`";
    // triton#7125.
    "waits-on-atomics": Compiler, v(3, 3, 0), V39, Fails(&[&["`TritonGPURemoveLayoutConversions`", "Result number is out of range for operation"]]), ["atomic_"],
        "a `while` that waits for the result of an atomic of a block loses a result when layouts are removed";
    // triton#7817.
    "scan-counts-blocks": Compiler, v(3, 3, 0), V37, Fails(&[&["ScanOpToLLVM.cpp", "numScanBlocks * numParallelBlocks"]]), ["associative_scan", "cumsum", "cumprod"],
        "the lowering of scans counts more blocks than there are values";
    "remainder-narrowed": Compiler, v(3, 3, 0), NEVER, Fails(&[&["CastInst::CreateFPCast", "Invalid cast"]]), ["tensor.__mod__", "tensor.__rmod__"],
        "LLVM narrows a remainder to the operands' dtype, and then emits a cast between f16 and bf16 that does not exist";
    "scan-shuffles-short": Compiler, FIRST, V37, Leaves(Form::ScanOfFewLanes), [],
        "repeated lanes are shuffled up by too little";
    "reduction-shuffles-elsewhere": Compiler, FIRST, V37, Leaves(Form::ReductionOfReshaped), [],
        "the code shuffles the wrong lanes, not those of the axis";
    "no-inline-assembly": Interpreter, FIRST, NEVER, Raises("NotImplementedError", "inline_asm not supported"), [],
        "the interpreter can't execute inline assembly";
    "host-functions-run": Interpreter, FIRST, NEVER, Runs("Unsupported function referenced"), [],
        "the interpreter runs any Python";
    // A reduction across the blocks of a cluster.
    "cluster-layouts": Compiler, FIRST, V39, Fails(&[&["Result has an invalid layout: ", "CTASplitNum = ["]]), [],
        "the layout of a reduction across the blocks of a cluster is invalid";
    "cluster-addresses": Compiler, v(3, 5, 0), V38, Fails(&[&["'nvvm.mapa' op result #0 must be LLVM pointer"]]), [],
        "an address in the shared memory of another block of a cluster has the wrong address space";
    "reductions-used-twice": Compiler, FIRST, V39, Fails(&[&["OptimizeThreadLocality.cpp", "loopResult.hasOneUse()"]]), [],
        "the pass that keeps partial reductions in threads asserts that the result of the loop has one use";
    "fp8-to-fp8-dies": Compiler, FIRST, V33, Fails(&[&["FpToFpOpConversion::createDestOps", "Rounding mode must be specified"]]), [],
        "the compiler cannot convert between 8-bit floats, and crashes";
    "scaled-operands-as-integers": Compiler, v(3, 3, 0), V38, Fails(&[&["`TritonGPUAccelerateMatmul`", "DenseElementsAttr::get", "isIntOrIndex()"]]), ["tl.dot_scaled"],
        "a pass builds an integer constant from an operand of 8-bit floats";
    "cluster-reductions": Compiler, FIRST, V38, Fails(&[
        &["parent layout must have at least rank >= 2"],
        &["ReduceOpToLLVM.cpp", "helper.isReduceWithinCTA()"],
    ]), [],
        "the compiler gives up on a reduction across the blocks of a cluster";
    "python-asserts": Interpreter, FIRST, NEVER, AssertsInKernel, ["assert "],
        "an assertion of Python's is left to Python, which always checks; compiled, it is a device assertion";
}

impl BugSignature {
    /// Whether a version has it.
    pub fn is_in(&self, version: Version) -> bool {
        let (from, fixed) = self.versions;
        version >= from && fixed.is_none_or(|fixed| version < fixed)
    }

    fn fits(
        &self,
        family: Family,
        version: Version,
        shows: impl Fn(Shows) -> bool,
        failure: FailureReport<'_>,
    ) -> bool {
        let any_in = |text: &str| self.operations.iter().any(|operation| text.contains(operation));
        // A pass reports the line of the operation that it derived, if any.
        let line = failure.line.filter(|_| !matches!(self.shows, Fails(_)));
        let here = self.operations.is_empty()
            || line.map_or_else(|| failure.uses.iter().any(|one| any_in(one)), any_in);
        (self.family == family || self.family == Family::Language)
            && self.is_in(version)
            && shows(self.shows)
            && here
    }
}

/// Finds the bug that an exception or a crash shows.
pub fn find_raised_bug(
    family: Family,
    version: Version,
    failure: FailureReport<'_>,
    crashed: bool,
) -> Option<&'static BugSignature> {
    // A failed assertion of a host function is a symptom of another bug.
    if failure.by_host && failure.kind == "AssertionError" {
        return None;
    }
    let uses = |used: &str| failure.uses.iter().any(|one| one.contains(used));
    let says =
        |part: &str| failure.message.contains(part) || failure.detail.is_some_and(|text| text.contains(part));
    let shows = |shows: Shows| match shows {
        Raises(kind, message) => {
            !crashed && (kind.is_empty() || kind == failure.kind) && failure.message.contains(message)
        }
        RaisesIn(kind, message, used) => {
            !crashed && kind == failure.kind && failure.message.contains(message) && uses(used)
        }
        AssertsInKernel => !crashed && failure.kind == "AssertionError",
        CrashesIn(message, used) => crashed && failure.message.contains(message) && uses(used),
        Fails(sets) => sets.iter().any(|parts| parts.iter().all(|part| says(part))),
        Runs(_) | Leaves(_) => false,
    };
    ALL.iter().find(|bug| bug.fits(family, version, shows, failure))
}

/// Finds the bug by which an engine runs a kernel that the reference rejects.
pub fn find_run_bug(
    family: Family,
    version: Version,
    failure: FailureReport<'_>,
) -> Option<&'static BugSignature> {
    let shows = |shows: Shows| matches!(shows, Runs(message) if failure.message.contains(message));
    ALL.iter().find(|bug| bug.fits(family, version, shows, failure))
}

/// Finds the bug by which a compiler leaves the bytes of its form's model.
pub fn find_bytes_bug(
    family: Family,
    version: Version,
    has: impl Fn(Form) -> bool,
) -> Option<&'static BugSignature> {
    let failure = FailureReport {
        kind: "",
        message: "",
        detail: None,
        by_host: false,
        line: None,
        uses: &[],
    };
    let shows = |shows: Shows| matches!(shows, Leaves(form) if has(form));
    ALL.iter().find(|bug| bug.fits(family, version, shows, failure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quirk::Quirk;

    fn check(version: Version, kind: &str, message: &str, line: &str, expected: Option<&str>) {
        let failure = FailureReport {
            kind,
            message,
            detail: None,
            by_host: false,
            line: Some(line),
            uses: &[],
        };
        let found = find_raised_bug(Family::Interpreter, version, failure, false).map(|bug| bug.name);
        assert_eq!(found, expected, "{kind}: {message} at {line}");
    }

    #[test]
    fn an_exception_is_known_by_type_message_operation_and_version() {
        let subtract = "numpy boolean subtract, the `-` operator, is not supported";
        check(
            v(3, 6, 0),
            "TypeError",
            subtract,
            "r = a - b",
            Some("no-bool-subtraction"),
        );
        check(v(3, 9, 0), "TypeError", subtract, "r = a - b", None);
        check(v(3, 6, 0), "ValueError", subtract, "r = a - b", None);
        let data = "Unsupported data type";
        check(
            v(3, 6, 0),
            "ValueError",
            data,
            "tl.atomic_add(p, x)",
            Some("no-narrow-atomics"),
        );
        check(v(3, 6, 0), "ValueError", data, "tl.store(p, x)", None);
        // NumPy 2.5.
        let number = "only 0-dimensional arrays can be converted to Python scalars";
        let line = "for i in range(n):";
        check(v(3, 6, 0), "TypeError", number, line, Some("numbers-of-arrays"));
        check(v(3, 7, 0), "TypeError", number, line, None);
    }

    #[test]
    fn a_bug_is_told_by_what_its_kernel_uses() {
        let uses = [NEGATIVE_AXIS.to_owned(), "tl.reduce f32".to_owned()];
        let failure = FailureReport {
            kind: "ValueError",
            message: "Expected pointer argument to have shape [8, 1] but got [1]",
            detail: None,
            by_host: false,
            line: Some("tl.store(p, x)"),
            uses: &uses,
        };
        let name =
            |failure| find_raised_bug(Family::Interpreter, v(3, 9, 0), failure, false).map(|bug| bug.name);
        assert_eq!(name(failure), Some("negative-reduction-axis"));
        assert_eq!(name(FailureReport { uses: &[], ..failure }), None);
        assert_eq!(
            name(FailureReport {
                kind: "TypeError",
                ..failure
            }),
            None
        );
    }

    fn check_compiled(version: Version, detail: &str, uses: &[&str], expected: Option<&str>) {
        let uses: Vec<String> = uses.iter().map(|&one| one.to_owned()).collect();
        let failure = FailureReport {
            kind: "RuntimeError",
            message: "PassManager::run failed",
            detail: Some(detail),
            by_host: false,
            line: Some("tl.store(p, x)"),
            uses: &uses,
        };
        let name = |crashed| find_raised_bug(Family::Compiler, version, failure, crashed).map(|bug| bug.name);
        assert_eq!((name(false), name(true)), (expected, expected), "{detail}");
    }

    #[test]
    fn a_compilers_failure_is_told_by_the_pass_the_assertion_or_llvm() {
        let uses = [
            "tl.associative_scan f32",
            "fdiv f16",
            "tl.make_block_ptr",
            "tensor.__mod__ f16",
        ];
        let scan = "lib/Conversion/TritonGPUToLLVM/ScanOpToLLVM.cpp:265: AddPartialReduceOneWarp: Assertion `numScanBlocks * \
                    numParallelBlocks * parallelElementsPerThread * scanElementsPerThreads == srcValues.size()' failed.";
        check_compiled(v(3, 6, 0), scan, &uses, Some("scan-counts-blocks"));
        check_compiled(v(3, 7, 0), scan, &uses, None);
        check_compiled(v(3, 6, 0), scan, &["fdiv f16"], None);
        let fdiv = "LLVM ERROR: Unsupported bitwidth";
        check_compiled(v(3, 6, 0), fdiv, &uses, Some("narrow-fdiv"));
        let reduced = "ReduceOpToLLVM.cpp:31: ReduceOpConversion::matchAndRewrite(ReduceOp): Assertion `helper.isReduceWithinCTA() \
                       && \"Unexpected srcLayout in ReduceOpConversion\"' failed.";
        check_compiled(v(3, 3, 1), reduced, &uses, Some("cluster-reductions"));
        check_compiled(v(3, 9, 0), reduced, &uses, None);
        let layout = "Result has an invalid layout: #ttg.blocked<{sizePerThread = [1], CTAsPerCGA = [4], CTASplitNum = [2]}>.";
        check_compiled(v(3, 8, 0), layout, &uses, Some("cluster-layouts"));
        let mapped =
            "'nvvm.mapa' op result #0 must be LLVM pointer in address space 0, but got '!llvm.ptr<3>'";
        check_compiled(v(3, 6, 0), mapped, &uses, Some("cluster-addresses"));
        let twice =
            "OptimizeThreadLocality.cpp:341: runOnOperation(): Assertion `loopResult.hasOneUse()' failed.";
        check_compiled(v(3, 6, 0), twice, &uses, Some("reductions-used-twice"));
        check_compiled(
            v(3, 6, 0),
            "Other.cpp:341: Assertion `loopResult.hasOneUse()' failed.",
            &uses,
            None,
        );
        let rounded = "ElementwiseOpToLLVM.cpp:456: FpToFpOpConversion::createDestOps(FpToFpOp): Assertion `roundingMode.has_value() \
                       && \"Rounding mode must be specified for convertsions to fp8\"' failed.";
        check_compiled(v(3, 1, 0), rounded, &uses, Some("fp8-to-fp8-dies"));
        let constant = "BuiltinAttributes.cpp:1030: DenseElementsAttr::get(ShapedType): Assertion `type.getElementType().isIntOrIndex()' \
                        failed.\nPipeline failed while executing [`TritonGPUAccelerateMatmul` on 'builtin.module' operation]";
        check_compiled(
            v(3, 6, 0),
            constant,
            &["tl.dot_scaled"],
            Some("scaled-operands-as-integers"),
        );
        check_compiled(v(3, 6, 0), constant, &uses, None);
        let cast = "Instructions.cpp:3150: CastInst *llvm::CastInst::CreateFPCast(Value *): Assertion `(C->getType() == Ty || \
                    SrcBits != DstBits) && \"Invalid cast\"' failed.";
        check_compiled(v(3, 9, 0), cast, &uses, Some("remainder-narrowed"));
        let fused =
            "Pipeline failed while executing [`TritonGPUFuseNestedLoops` on 'builtin.module' operation]";
        check_compiled(v(3, 6, 0), fused, &uses, None);
        let result = "Assertion `resultNumber < getNumResults() && \"Result number is out of range for operation\"' failed.";
        check_compiled(v(3, 3, 1), result, &uses, None);
        let rewritten =
            "UNREACHABLE executed at /project/lib/Dialect/Triton/Transforms/RewriteTensorPointer.cpp:520!";
        check_compiled(v(3, 6, 0), rewritten, &uses, Some("block-pointers-carried"));
    }

    #[test]
    fn an_assertion_of_a_host_function_is_not_explained() {
        let failure = |by_host| FailureReport {
            kind: "AssertionError",
            message: "no",
            detail: None,
            by_host,
            line: Some("assert x"),
            uses: &[],
        };
        let name =
            |failure| find_raised_bug(Family::Interpreter, v(3, 9, 0), failure, false).map(|bug| bug.name);
        assert_eq!(name(failure(false)), Some("python-asserts"));
        assert_eq!(name(failure(true)), None);
    }

    #[test]
    fn names_are_of_one_bug() {
        let mut names: Vec<&str> = ALL.iter().map(|bug| bug.name).collect();
        names.extend(Quirk::ALL.iter().map(|quirk| quirk.name()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
