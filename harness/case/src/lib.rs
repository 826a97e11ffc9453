//! Case files: the format of Cerith's corpus, and how such a file becomes cases that an engine can run. **This page is the
//! specification of the format.**
//!
//! A case is one kernel, its storages and tensors, one or more launches, and what is expected. A case file expands to
//! many cases through its `matrix`.
//!
//! ```
//! # let text = r#"
//! about: The columns of a split tensor keep their parent's strides.
//! origin: triton commit b99a3006
//! kernel: add_one.py:add_one_kernel
//! matrix:
//!   dtype: [f32, f16, bf16, i32]
//! storages:
//!   original: { dtype: "{dtype}", shape: [4, 6], fill: arange }
//! tensors:
//!   left: original.split([2, 4], dim=1)[0]
//!   right: original.split([2, 4], dim=1)[1]
//! launches:
//!   - grid: [1]
//!     args: { ptr: left, stride_0: left.stride(0), stride_1: left.stride(1), BLOCK: 4 }
//!     options: { num_warps: 4 }
//!   - grid: [1]
//!     args: { ptr: right, stride_0: right.stride(0), stride_1: right.stride(1), BLOCK: 4 }
//! expect:
//!   - { engine: interpret, versions: "<3.3", verdict: differ, why: each argument was copied to the host alone
//!       and lost its strides, link: "triton b99a3006" }
//! # "#.replace("//! ", "");
//! # let kernel = "import triton\n@triton.jit\ndef add_one_kernel(ptr, stride_0, stride_1, BLOCK): pass\n";
//! # let file = cerith_case::Input::text;
//! # let corpus = cerith_case::Corpus::load([file("layout/split.yaml", &*text), file("layout/add_one.py", kernel)]);
//! # assert_eq!(corpus.problems(), []);
//! # let ids: Vec<_> = corpus.entries().map(|entry| entry.id).collect();
//! # assert_eq!(ids[1], "layout/split:dtype=f16");
//! # assert!(corpus.entries().all(|entry| entry.resolve().is_ok()));
//! ```
//!
//! # Files
//!
//! A corpus is a folder. Every `.yaml` (or `.yml`) file in it is a case file; kernels are `.py` files beside them that
//! Triton itself can run. A case's id is the file's path without its extension, and behind a colon the point of the
//! matrix: `layout/split_columns:dtype=f16`. Cases are ordered by path, then by matrix. Files and folders that begin
//! with a dot, and links to folders, are ignored; a link to a file must stay in the corpus.
//!
//! A **recording** is a corpus that `cerith record` wrote of somebody's program. Its storages' bytes are in **data
//! archives**, `.zip` files beside the case files. Reading a corpus opens none of them; making a case opens those that it
//! needs.
//!
//! Only the part of a kernel's file that its launches need is loaded: the kernel, the functions and globals that it uses,
//! those that these use, and their imports ([`Module::text_for`]). So a library's own file can be used unchanged, with its
//! imports for Python code around kernels, for tests and for `__main__`. Statements that bind no name are loaded if they may
//! change a value that is needed. A needed import that is missing is nobody's bug: the engine is `unavailable`, and says what
//! to do. Files that are imported from the kernel's folder, and the file of an `import` case, are loaded whole.
//!
//! The text is YAML with the usual scalars (`1`, `0x10`, `1.5`, `.inf`, `.nan`, `true`, `null`, text). Anchors,
//! aliases, tags and several documents in one file are errors: use a matrix variable or a tensor for what repeats.
//!
//! | key | holds |
//! |---|---|
//! | `about` | what the case shows, in a sentence. Required |
//! | `origin` | where it comes from: a commit, an issue, a catalogue entry |
//! | `found` | who found what it shows, if Cerith did: a line of `reports/findings.md` |
//! | `kernel` | `file.py:function`, the file by its path from the case file. Required, or else `import` |
//! | `import` | `file.py`: a module that must import on a machine without a GPU |
//! | `matrix` | variables and their values |
//! | `storages` | runs of bytes that own their memory |
//! | `tensors` | views of them |
//! | `inspectable` | `false` where Triton's interpreter could not see the kernel's text, as with kernels made with `exec`: it then does not rewrite the kernel's syntax tree. Left out, it is `true` |
//! | `launches` | what runs, in order, over the same memory. Required with `kernel` |
//! | `compile` | how the launches are compiled under `torch.compile`, for the engine `inductor` |
//! | `timeout` | seconds that an engine may take, in place of its own limit: for cases that are known to hang. The reference has fuel instead |
//! | `recorded` | the result of the run that the case was recorded from |
//! | `gives` | what storages hold at the end, worked out without Cerith |
//! | `expect` | written-down exceptions |
//!
//! An unknown key, name, dtype, parameter or engine is an error with the nearest valid spelling, never ignored.
//! Variables, storages and tensors share one set of names. Names that expressions know by themselves ([`expr::is_reserved`])
//! and Python's keywords cannot be used.
//!
//! # Expressions and placeholders
//!
//! Wherever a value belongs (shapes, tensors, grids, arguments, options, elements), text is an **expression**: Python
//! as a `PyTorch` user writes it, over matrix variables, storages and tensors; see [`expr`]. Numbers, booleans and
//! `null` (which is `None`) are themselves, a list is a list of values. A string is written as an expression too, so
//! it has two pairs of quotes: `ACTIVATION: "'relu'"`. A dtype for a `constexpr` is `tl.float32`.
//!
//! In any text, `{…}` is a **placeholder**: an expression over matrix variables, whose value takes its place before the
//! text is read (strings as they are, everything else as Python prints it). `"{dtype}"`, `"tl.{to[1]}"`,
//! `"kernels.py:{name}_kernel"`. A brace is written `{{` or `}}`.
//!
//! # `matrix`
//!
//! ```yaml
//! matrix:
//!   dtype: [f32, f16]                     # two values, text as it is
//!   shape: [[4, 6], [1, 24]]              # values may be lists: shape=4x6
//!   view: { rows: "x[1:]", columns: "x[:, 1:]" }      # named values: view=rows
//!   how:                                  # a value that is a mapping binds its keys as variables
//!     same:    { first: x, second: x }
//!     shifted: { first: "x[:-1]", second: "x[1:]" }
//!   include: [{ dtype: f64, shape: [2, 2], view: rows, how: same }]   # a point beside the product
//!   exclude: [{ dtype: f16, how: shifted }, "shape[0] == 1 and dtype != 'f32'"]
//! ```
//!
//! The points are the product of all values, the last variable changing fastest, without those that `exclude` names
//! (by values, or by a condition), and then those of `include`. There are at most 1,000,000. In an id, numbers are
//! written as Python would, `None` as `none`, a list of integers as `4x6`, other lists as `f32+float32`, and characters
//! of text that an id has no room for become `_`. Ids must differ: name the values where they would not.
//!
//! # `storages`
//!
//! `name: { dtype: …, shape: …, fill: … }`. The dtype is one of Triton's ([`cerith_tile::DType`]), in its short form
//! (`f32`, `bf16`, `i1`, `fp8e4nv`), Triton's (`float32`, `tl.float32`) or torch's (`torch.half`). The shape is a list of
//! sizes; 0 and `[]` are fine. A storage is also a tensor of its name: contiguous, and over all of it.
//!
//! | `fill` | holds |
//! |---|---|
//! | `zeros`, `ones` | 0 or 1 |
//! | `arange`, `{ arange: 5 }`, `{ arange: { start: 5, step: -2 } }` | `start + i * step`; integers wrap at the dtype, floats round |
//! | `{ full: 2.5 }` | one value everywhere |
//! | `[[1, 2], [3, 4]]`, `"[i * i for i in range(4)]"` | values, as nested as the shape or flat |
//! | `random`, `{ random: 7 }` | seeded values: integers of the whole range, floats of magnitudes around 1, and one in four an edge value of the dtype (zeros, ones, ends of the range, subnormals, infinities, NaN) |
//! | `{ random: { seed: 7, low: 0, high: 9, edges: false } }` | from `low` up to, and without, `high`; without edge values unless asked for |
//! | `uninit` | nothing: reading it is undefined |
//! | `{ addresses: [x, y[1:], null] }` | addresses of tensors, in a storage of `i64` or `u64`. Every engine has its own |
//! | `{ bytes: data.zip/3fa9c2, addresses: { 0: x.data_ptr() } }` | the bytes of an entry of a data archive, as many as the storage has. `addresses` may be left out: it says which elements hold addresses, in a storage of `i64` or `u64` |
//!
//! An element is a number (`inf`, `nan`, `-0.0`, `2**31` included), `bits(0x7fc00001)` for raw bits, `x.data_ptr() + 8`
//! for an address, or `null` for an uninitialised element. An integer that the dtype does not hold is an error, a float
//! is rounded to nearest even. Random numbers are those of `SplitMix64`, the same on every machine.
//!
//! An archive is named by its path from the case file and must be in the corpus. It is a zip archive with entries that are
//! deflated or stored as they are. No two entries have the same name, and none is encrypted. An entry that does not hold
//! exactly the storage's bytes is an error, and so is an archive that is damaged, has more than 4 GiB or more than
//! 262,144 entries, or in which entries overlap. Bytes of an archive keep the layout in which they were recorded, and so do
//! views of them and the strides among the arguments.
//!
//! # `tensors`
//!
//! `name: expression`, in order; each may use storages and the tensors above it. An operation that copies in torch
//! (`contiguous()`, `clone()`) copies here: the copy is a storage of its own.
//!
//! # `launches`
//!
//! | key | holds |
//! |---|---|
//! | `grid` | programs along x, y and z: `[4]`, `[2, "cdiv(n, 4)", 1]`. Required |
//! | `args` | `{ parameter: value }` by name, `[value, …]` by position, `[value, { parameter: value }]` both |
//! | `options` | launch options: `num_warps`, `num_stages`, `num_ctas`, `enable_fp_fusion`, `debug`, … |
//! | `kernel` | a kernel in place of the file's: `function` of the same module, or `file.py:function` |
//! | `host` | the Python function that makes the launch: `function` of the file's module, or `file.py:function` |
//! | `unchecked` | `true` to pass arguments and options that the checks below refuse |
//!
//! Arguments are checked against the function's signature: too many, unknown, repeated or missing ones are errors. Left-out
//! parameters take the kernel's defaults, and those that `@triton.autotune` or `@triton.heuristics` give are not
//! missing. A launch that tests what Triton does with wrong arguments or options says `unchecked: true`, and a comment
//! says why. A function inside of a function is `outer.inner`; where the module says `kernel = outer()`, and `outer`
//! returns `inner`, it is `kernel` as well.
//!
//! ## Host functions
//!
//! A launch is `kernel[grid](**args, **options)`. A program may launch a kernel otherwise: with a list as its grid, with a
//! function as its grid, with a hook, in a process of its own. A case does so with a **host function**:
//!
//! ```yaml
//! launches:
//!   - grid: [4]
//!     host: hosts.py:list_grid        # def list_grid(kernel, grid, args): kernel[list(grid)](**args)
//!     args: { x: x, out: out, n: n, BLOCK: 4 }
//! ```
//!
//! It is called as `function(kernel, grid, args)`, in place of the launch: with the kernel object, the grid as a tuple,
//! and a dict of arguments and options by name. (So arguments are given by name.) Tensors in it are stand-ins that know
//! what Triton asks of a tensor: dtype, shape, strides, sizes, addresses, copies; there is no torch.
//!
//! Whatever else it does, the memory must be as after the plain launch. An exception that it raises is a trap, so it can
//! assert what must hold: that a hook was called, or that a launch returns something. An engine that runs no Python makes
//! the plain launch, and so does the reference: how a kernel is launched does not change what it computes.
//! A host function is a plain function at its module's level, and its module is executed anew for every run.
//!
//! ## Tensor descriptors
//!
//! An argument that is a mapping is a `TensorDescriptor` that Python makes before the launch (Triton 3.4 and later):
//!
//! ```yaml
//!   - grid: [1]
//!     args: { desc: { descriptor: "x[:, :8]", block_shape: [16, 16], padding: nan }, n: 4 }
//! ```
//!
//! | key | holds |
//! |---|---|
//! | `descriptor` | the tensor. Required |
//! | `block_shape` | elements of a block. Required |
//! | `shape`, `strides` | in place of the tensor's own |
//! | `padding` | what lanes outside of the shape hold: `zero`, or `nan` (3.5 and later) |
//! | `round_f32_to_tf32` | whether loads round to tf32 (3.7 and later) |
//!
//! By position, it is the same mapping in the list. What the class refuses ([`Descriptor::fault`]: a base or strides that
//! are not multiples of 16 bytes, extents of a block that are no powers of 2, a last stride that is not 1, more than 5
//! dimensions, …) is an error of the case file, unless the launch is `unchecked`.
//!
//! ## Functions
//!
//! An argument that is a function of the kernel's module (or anything else that it defines) is `{ global: relu }`, by its
//! dotted name. Such parameters are usually constexprs. `{ constexpr: 4 }` is `tl.constexpr(4)`: known at compile time
//! wherever it is passed, for example in a tuple.
//!
//! # `compile`
//!
//! The engine `inductor@V` puts a case's launches into one Python function, compiles it with `torch.compile`, and calls
//! it. `compile` says how; other engines ignore it.
//!
//! ```yaml
//! compile:
//!   dynamic: null                     # torch.compile(dynamic=…): true, false, or null (left out: null)
//!   mark_dynamic: { q: 1, k: [0, 1] } # torch._dynamo.mark_dynamic: arguments and dimensions
//!   maybe_mark_dynamic: { v: 1 }
//!   before: [{ n: 5 }, { n: 7 }]      # calls before the one that counts, with these arguments changed
//! ```
//!
//! An argument is named by its parameter, and stands for the argument of that name in every launch. Values are expressions,
//! and so are placeholders (`dynamic: "{dynamic}"`). The launches of the calls in `before` are not executed: these calls only
//! show values to torch. A value that is given to a `tl.constexpr` parameter is a literal of
//! the compiled function, unless `before` changes it: then it is an argument of the function, as are all others.
//!
//! A case without `compile` is compiled with `dynamic=False` and then with `dynamic=True`, and both must give the same.
//!
//! # `recorded`
//!
//! ```yaml
//! recorded:
//!   engine: interpret@3.6.0+host      # what executed it
//!   after: { out: data.zip/88bb01 }   # what is in the storages that it changed; all others are as before
//! ```
//!
//! A launch that raised has `raised: { kind: ValueError, message: "…" }` in place of `after`, with `compiling: true` if the
//! exception came from Triton's compiler. With neither, there is no record. This is the outcome of the engine `recorded`, which
//! executes nothing.
//!
//! Bytes are written as in a `fill`: `data.zip/88bb01`, or `{ bytes: data.zip/88bb01, addresses: { 0: x.data_ptr() } }`. An
//! element that holds an address before, and whose recorded bytes are the same before and after, holds that address after.
//!
//! # `gives`
//!
//! ```yaml
//! storages:
//!   x: { dtype: i32, shape: [6], fill: arange }
//!   out: { dtype: i32, shape: [3], fill: uninit }
//! tensors:
//!   odd: x[1::2]
//! gives: { out: [1, 3, 5] }
//! ```
//!
//! What storages hold after the last launch: values as in a `fill`, of the whole storage and in the order of its memory. An
//! element that is `null` is not compared. If the reference leaves something else, it is wrong, whoever agrees with it. Views
//! are laid out by the same code for every engine, and only a value from elsewhere can show a mistake in that code. So the
//! values are worked out by hand or with torch, not by running Cerith. Results that rounding may change do not belong in
//! `gives`. With another layout ([`Layout`]), `gives` is ignored.
//!
//! # `expect`
//!
//! Without expectations, every engine must agree with the reference, and all launches must finish. An exception names
//!
//! | key | holds |
//! |---|---|
//! | `engine` | one engine or a list: `reference`, `interpret`, `interpret+host`, `interpret@3.2.0`, `interpret+numpy2`, `cuda`, `cuda:sm_80`, `jit`, `inductor`, `recorded`, … ([`EnginePattern`]). `interpret` is not `interpret+host`, and is `interpret+torch` too; `cuda` is `jit` too; `inductor` is `inductor@V`, `inductor@V+interpret` and `inductor@V+cuda`, and `inductor+reference` the first of them. Required |
//! | `versions` | `<3.3`, `>=3.2,<3.6`, `3.0 - 3.4`, `3.1`, several joined by ` or `, or a list ([`VersionRange`]). All when left out. The reference is of the version whose language it judges by, and `recorded` of the version that was recorded. Of `inductor` these are versions of torch: `<2.6` |
//! | `when` | a condition over matrix variables: `dtype in ('f16', 'bf16')`. Must hold at some point |
//! | `axis` | an axis of a sweep or a list of them: `num_warps`, `num_stages`, `num_ctas`, `enable_fp_fusion`, `specialize`, `config`, `layout` ([`Axis`]). The expectation is then only for `cerith sweep`: the variants of the case along such an axis do not agree |
//! | `verdict` | of the case with such an engine: `agree`, `differ`, `nondeterministic`, `undefined`, `inconclusive` |
//! | `outcome` | of the engine itself: `finished`, `rejected`, `trapped`, `unsupported`, `exhausted`, `crashed`, `unavailable`. This, `verdict` or `quirk` is required. Only `crashed` foresees a process that died |
//! | `message` | a part of the engine's message |
//! | `quirk` | the known bug that explains the difference, or a list of those that do together ([`Quirk`](cerith_tile::quirk::Quirk)): `bf16-is-bits`. Met where the reference, asked again with the quirks that the engine has, leaves the engine's bytes, and needs none but these for it. It says `verdict: differ` by itself |
//! | `why` | the reason, in words. Required, except beside `quirk` |
//! | `link` | where to read about it |
//!
//! An undefined program is written down as `{ engine: reference, verdict: undefined, outcome: trapped, why: … }`. An
//! expectation that no longer happens is an error of the run.
//!
//! A case about a rejection, a failing assertion or an exception says so for the reference, which stands for all engines that
//! agree with it: `{ engine: reference, outcome: rejected, why: … }`. A kernel that needs a newer language names the versions
//! that lack it: `{ engine: reference, versions: "<3.4", outcome: rejected, why: tl.topk came in 3.4 }`. What is written under
//! `recorded` needs no expectation.
//!
//! # `found`
//!
//! `{ by: fuzz, upstream: new, state: unreported }`: what the case shows is a bug that Cerith found. `cerith fuzz promote` writes
//! it, and `cerith fuzz trophies` makes `reports/findings.md` of all that say so.
//!
//! | key | holds |
//! |---|---|
//! | `by` | `fuzz`: a generated case, or another random kernel; `corpus`: a case that somebody wrote. Required |
//! | `engine` | whose bug it is, where expectations speak of other engines too: `cuda`, or a list |
//! | `upstream` | a link to where upstream has it, or `new`. Required |
//! | `state` | `unreported`, `reported`, or `fixed` where the newest Triton does not have it any more. Required |
//!
//! # Variants
//!
//! A case can be swept: the same case with another number of warps, another layout, … must give the same. See
//! [`variant`] for what is changed, and [`relayout`] for how the memory of another layout is compared with the case's.
//!
//! # The crate
//!
//! [`Corpus::read`] reads a folder and says everything that is wrong with it ([`Corpus::problems`]); a file with a
//! problem is left out, the others run. [`Corpus::select`] gives [`Entry`]s one at a time, and [`Entry::resolve`] makes a
//! [`Case`] of one, or says everything that is wrong at that point of the matrix ([`Problems`] says each thing once).
//! [`Case::canonical`] is a case as plain data, [`Case::content_hash`] its identity, [`Case::to_case_file`] a case file
//! of its own.
//!
//! ```
//! use cerith_case::{Corpus, Filter, Input, Shard};
//!
//! let case_file = "
//! about: Rows of a matrix are copied.
//! kernel: copy.py:copy
//! matrix: { n: [4, 64] }
//! storages:
//!   x: { dtype: f32, shape: [2, n], fill: arange }
//!   out: { dtype: f32, shape: [n], fill: uninit }
//! launches:
//!   - { grid: [1], args: { x: 'x[1]', out: out, n: n, BLOCK: 64 } }
//! ";
//! let kernel = "
//! import triton
//! import triton.language as tl
//!
//! @triton.jit
//! def copy(x, out, n, BLOCK: tl.constexpr):
//!     i = tl.arange(0, BLOCK)
//!     tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
//! ";
//! // From text here; `Corpus::read(folder)` reads files.
//! let corpus = Corpus::load([Input::text("area/copy.yaml", case_file), Input::text("area/copy.py", kernel)]);
//! assert_eq!(corpus.problems(), []);
//!
//! let filter = Filter::parse(&["area/copy:n=64"], "cases").unwrap();
//! let entry = corpus.select(&filter, Shard::ALL).next().unwrap();
//! let case = entry.resolve().unwrap();
//! assert_eq!(case.launches[0].keyword[0].0, "x");
//!
//! // What is wrong is said with its place and the nearest valid spelling.
//! let wrong = case_file.replace("n: n", "m: n");
//! let corpus = Corpus::load([Input::text("area/copy.yaml", wrong), Input::text("area/copy.py", kernel)]);
//! assert!(corpus.problems()[0].render(corpus.sources(), false).contains("area/copy.yaml:9:"));
//! ```
//!
//! [`skeleton`] makes a first case file for a kernel that has none, and [`surveys`] many that try it ([`usage`] says what its text
//! tells).
//!
//! Left out: running anything (`cerith-engine`), what a kernel means (`cerith-frontend`), whether an expectation came true
//! (`cerith-verdict`).
//!
//! Invariants: no text of a case file or kernel, and no data archive, makes it panic or takes more than a bounded time and
//! memory. Files are opened in two places: [`Corpus::read`] reads texts and notes where archives are, and
//! [`Entry::resolve`] reads the entries of these archives that the case names. Once an expanded case is dropped, nothing of it
//! stays in memory; of an archive, the places of its entries stay.
#![warn(missing_docs)]

mod archive;
pub mod argument;
mod bind;
pub mod canonical;
pub mod case;
mod case_file;
pub mod compile;
pub mod corpus;
pub mod descriptor;
pub mod edit;
mod entry;
pub mod expectation;
pub mod expr;
mod fill;
pub mod filter;
pub mod found;
mod free;
pub mod given;
mod input;
pub mod kernel;
mod matrix;
mod module;
mod needed;
pub mod piece;
pub mod print;
mod problems;
mod read;
pub mod recorded;
pub mod relayout;
mod resolve;
mod schema;
mod skeleton;
mod survey;
mod template;
pub mod usage;
pub mod variant;
pub mod versions;
mod yaml;

pub use argument::{Arg, ArgValue};
pub use canonical::{Canonical, CanonicalLaunch, CanonicalStorage, ContentHash};
pub use case::{Case, Declared, Launch};
pub use case_file::{CaseFile, Exception};
pub use compile::Compile;
pub use corpus::Corpus;
pub use descriptor::{Descriptor, Padding};
pub use edit::{EditError, NewExpectation};
pub use entry::Entry;
pub use expectation::{EnginePattern, Expectation, OutcomeKind, VerdictKind};
pub use filter::{BadPattern, BadShard, Filter, Shard};
pub use found::{Finder, Found, FoundState};
pub use given::Given;
pub use input::{Input, Missing};
pub use kernel::{Function, Kernel, Module, Parameter, ParameterKind};
pub use matrix::is_name;
pub use problems::Problems;
pub use read::ReadError;
pub use recorded::{After, Ending, RecordedRun, Source};
pub use relayout::Relayout;
pub use skeleton::skeleton;
pub use survey::{Attempt, Survey, surveys};
pub use usage::usage_of;
pub use variant::{Axes, Axis, BadVariant, Layout, Variant};
pub use versions::{RELEASED, TORCH_RELEASED, VersionRange};
