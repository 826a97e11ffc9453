//! Case files: the format of Cerith's corpus, and how such a file becomes cases that an engine can run.
//!
#![doc = include_str!("../FORMAT.md")]
//!
//! # The crate
//!
//! [`Corpus::read`] reads a folder and reports all problems in it ([`Corpus::problems`]); a file with a problem is
//! skipped, and the others run. [`Corpus::select`] returns [`Entry`]s one at a time. [`Entry::resolve`] turns one
//! into a [`Case`], or reports all problems at that point of the matrix ([`Problems`] reports each problem once).
//! [`Case::canonical`] is a case as plain data, [`Case::content_hash`] its identity, [`Case::to_case_file`] a case
//! file of its own.
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
//! let corpus = Corpus::load([Input::from_text("area/copy.yaml", case_file), Input::from_text("area/copy.py", kernel)]);
//! assert_eq!(corpus.problems(), []);
//!
//! let filter = Filter::parse(&["area/copy:n=64"], "cases").unwrap();
//! let entry = corpus.select(&filter, Shard::ALL).next().unwrap();
//! let case = entry.resolve().unwrap();
//! assert_eq!(case.launches[0].keyword[0].0, "x");
//!
//! // A problem is reported with its location and the nearest valid spelling.
//! let wrong = case_file.replace("n: n", "m: n");
//! let corpus = Corpus::load([Input::from_text("area/copy.yaml", wrong), Input::from_text("area/copy.py", kernel)]);
//! assert!(corpus.problems()[0].render(corpus.sources(), false).contains("area/copy.yaml:9:"));
//! ```
//!
//! See [`cerith_expression`] for the expressions. A [`Variant`] changes a case, and a [`Relayout`] moves its memory back for a comparison.
//! [`mod@format`] has the text above, and a JSON schema of it for editors.
//!
//! See `cerith-engine` for running cases, `cerith-frontend` for the meaning of kernels, and `cerith-verdict` for
//! checking expectations.
//!
//! Invariants: no text of a case file or kernel, and no data archive, makes it panic or takes more than a bounded time and
//! memory. Files are opened in two places: [`Corpus::read`] reads texts and notes where archives are, and
//! [`Entry::resolve`] reads the entries of these archives that the case names. Once an expanded case is dropped, nothing of it
//! stays in memory; of an archive, the places of its entries stay.
#![warn(missing_docs)]

mod archive;
mod argument;
mod bind;
mod canonical;
mod case;
mod case_file;
mod comment;
mod compile;
mod corpus;
mod descriptor;
mod discovery;
pub mod edit;
mod entry;
mod expectation;
mod expected_content;
mod fill;
mod filter;
pub mod format;
mod input;
pub mod like;
mod load;
mod matrix;
pub mod print;
mod problems;
mod read;
mod recorded;
mod relayout;
pub mod replace;
mod resolve;
mod schema;
mod shard;
mod template;
mod variant;
mod versions;
mod yaml;

pub use argument::{Arg, ArgValue};
pub use canonical::{Canonical, CanonicalLaunch, CanonicalStorage, ContentHash};
pub use case::{Case, Declared, Launch};
pub use case_file::{CaseFile, Exception};
pub use comment::{BadRequirement, Declarations, Ignore, Requirement, RequirementError, read_declarations};
pub use compile::Compile;
pub use corpus::{Corpus, PythonFiles};
pub use descriptor::{Descriptor, Padding};
pub use discovery::{Discovery, Finder, FoundState};
pub use edit::{EditError, NewExpectation};
pub use entry::{Entry, NotApplicable};
pub use expectation::{EnginePattern, Expectation, OutcomeKind, VerdictKind};
pub use expected_content::ExpectedContent;
pub use filter::{BadPattern, Filter};
pub use input::{Input, MAX_TEXT, Missing};
pub use load::{LoadError, load_case};
pub use matrix::is_name;
pub use problems::Problems;
pub use read::ReadError;
pub use recorded::{After, Ending, RecordedRun, Source};
pub use relayout::Relayout;
pub use shard::{BadShard, Shard};
pub use variant::{Axes, Axis, BadVariant, Layout, Variant};
pub use versions::VersionRange;
