//! Which code an outcome came from.
//!
//! Triton's interpreter and Triton's compiler execute with different code, but share some Python: `triton/language` (with every
//! library function that is itself written in Triton), `runtime/jit.py`, `runtime/autotuner.py`, `tools`. An outcome of that
//! shared code has one witness, for any number of engines.
//!
//! - An exception came from it if it was raised there: the worker says in which of Triton's files. So did an exception that the
//!   user's own Python raised outside of a kernel, because that calls nothing else.
//! - A value came from it if the kernel uses a library function that is Triton code in that version, or an operation that
//!   `semantic.py` makes of several others ([`expansion`]), or if an autotuner, heuristics or a host function make its launch.
//!
//! See `cerith-verdict` for which engine is right.

use cerith_case::Case;
use cerith_tile::rules::{Rules, Version};

use crate::{Complaint, EngineId, Family, Frame, Outcome, Reference, Trap};

/// Bodies of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Families(u8);

impl Families {
    /// The code of an engine, whatever comes out of it.
    pub fn from_engine(engine: &EngineId) -> Self {
        engine
            .families()
            .iter()
            .fold(Self::default(), |all, &family| all.with_family(family))
    }

    /// These and one more.
    #[must_use]
    pub const fn with_family(self, family: Family) -> Self {
        Self(self.0 | 1 << family as u8)
    }

    /// Whether a body is among them.
    pub const fn has(self, family: Family) -> bool {
        self.0 & 1 << family as u8 != 0
    }

    /// Whether two outcomes share no code, so that their agreement has two witnesses.
    pub const fn is_independent_of(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// The number of families.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}

/// The code that an outcome came from. `origin` is the engine whose code did it, and `through` the library functions in Triton
/// code that the case goes through ([`list_triton_code`]).
pub fn find_families(origin: &EngineId, outcome: &Outcome, through: &[String]) -> Families {
    let own = Families::from_engine(origin);
    let tritons = own.has(Family::Interpreter) || own.has(Family::Compiler);
    if tritons && is_shared(own, outcome, through) {
        own.with_family(Family::Language)
    } else {
        own
    }
}

fn is_shared(own: Families, outcome: &Outcome, through: &[String]) -> bool {
    match outcome {
        Outcome::Finished(_) | Outcome::Trapped(Trap::Assert, _) => !through.is_empty(),
        Outcome::Rejected(complaint) | Outcome::Trapped(_, complaint) => match &complaint.raised {
            // The user's Python, which calls Triton's: a parameter that is not there, say. Only an interpreter executes
            // a kernel's lines so.
            Some(file) if file.is_empty() => {
                complaint.launch.is_none()
                    || complaint.frame == Some(Frame::Host)
                    || own.has(Family::Compiler)
            }
            Some(file) => is_shared_file(file),
            // The record is older than this field, or nothing inspected the process that raised the exception.
            None => !is_compilers_own(complaint),
        },
        Outcome::Crashed(_) | Outcome::Unsupported(_) | Outcome::Exhausted(_) | Outcome::Unavailable(_) => {
            false
        }
    }
}

/// Triton's files that belong to the compiler or the interpreter alone. They share all others.
const UNSHARED_FILES: [&str; 7] = [
    "triton/compiler/",
    "triton/backends/",
    "triton/runtime/interpreter.py",
    "triton/runtime/build.py",
    "triton/runtime/cache.py",
    "triton/runtime/driver.py",
    "triton/runtime/errors.py",
];

/// Whether a file, named from the folder that holds Triton's package, serves the interpreter and the compiler.
fn is_shared_file(file: &str) -> bool {
    file.starts_with("triton/") && !UNSHARED_FILES.iter().any(|own| file.starts_with(own))
}

/// Whether an exception is one that only a compiler or a GPU makes: of MLIR's passes, LLVM, ptxas, CUDA, or of the walk over
/// the kernel's syntax tree. Everything else may come from the Python that the interpreter shares.
fn is_compilers_own(complaint: &Complaint) -> bool {
    let kind = complaint.kind.rsplit('.').next().unwrap_or_default();
    let message = complaint.message.as_str();
    complaint.kind.starts_with("CUDA_ERROR_")
        || [
            "UnsupportedLanguageConstruct",
            "CalledProcessError",
            "PTXASError",
            "OutOfResources",
        ]
        .contains(&kind)
        || [
            "PassManager::run failed",
            "error encountered during parsing",
            "failed to translate module to LLVM IR",
            // `visit_Name` and `visit_If` of `compiler/code_generator.py`.
            "NameError(",
            "AssertionError('Loop-carried variable",
            "AssertionError('Mismatched type for",
        ]
        .iter()
        .any(|own| message.starts_with(own))
}

/// Lists Triton's own Triton code, and the Python of its launchers, on which a case's result depends under a version's language:
/// names as a reader knows them, in order.
pub fn list_triton_code(case: &Case, reference: Option<&Reference>, rules: Rules) -> Vec<String> {
    let mut found = Vec::new();
    for launch in &case.launches {
        let decorated = launch.kernel.function();
        for (name, is_on) in [
            (
                "triton.autotune",
                decorated.is_some_and(|function| function.autotune),
            ),
            (
                "triton.heuristics",
                decorated.is_some_and(|function| function.heuristics),
            ),
        ] {
            if is_on {
                found.push(name.to_owned());
            }
        }
        found.extend(launch.host.as_ref().map(|host| host.name.clone()));
        match reference.and_then(|reference| reference.trace_kernel(launch, rules).ok()?.ok()) {
            Some(kernel) => {
                for used in &kernel.traced.uses {
                    let library = used
                        .name
                        .strip_prefix("tl.standard.")
                        .or(used.name.strip_prefix("tl.random."));
                    let version = rules.version;
                    if let Some(name) = library.filter(|name| is_triton_code(name, version)) {
                        found.push(format!("tl.{name}"));
                    } else if expansion::is_expanded(&used.name, used.dtype, version) {
                        found.push(used.name.clone());
                    }
                }
            }
            // The kernel was not traced: search its text for names.
            None => found.extend(
                launch
                    .kernel
                    .pieces()
                    .flat_map(|piece| find_library_names(piece, rules.version)),
            ),
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The library functions that follow a dot in a text.
fn find_library_names(text: &str, version: Version) -> Vec<String> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split('.')
        .skip(1)
        .map(|rest| rest.split(|c| !in_name(c)).next().unwrap_or_default())
        .filter(|name| is_triton_code(name, version))
        .map(|name| format!("tl.{name}"))
        .collect()
}

/// Functions of `triton/language/standard.py` and `random.py` that are Triton code themselves, each with the first version
/// in which it is. Read off the wheels 3.0.0 to 3.9.0; `triton/language/math.py` and `core.py` have none.
const LIBRARY: [(&str, Version); 34] = [
    ("argmax", FIRST),
    ("argmin", FIRST),
    ("bitonic_merge", Version::new(3, 4, 0)),
    ("cdiv", FIRST),
    ("cumprod", FIRST),
    ("cumsum", FIRST),
    ("flip", FIRST),
    ("interleave", FIRST),
    ("max", FIRST),
    ("min", FIRST),
    ("pair_uniform_to_normal", FIRST),
    ("philox", FIRST),
    ("philox_impl", FIRST),
    ("rand", FIRST),
    ("rand4x", FIRST),
    ("randint", FIRST),
    ("randint4x", FIRST),
    ("randn", FIRST),
    ("randn4x", FIRST),
    ("ravel", FIRST),
    ("reduce_or", Version::new(3, 4, 0)),
    ("sigmoid", FIRST),
    ("softmax", FIRST),
    ("sort", FIRST),
    ("sort_impl", Version::new(3, 4, 0)),
    ("squeeze", Version::new(3, 7, 0)),
    ("sum", FIRST),
    ("swizzle2d", FIRST),
    ("topk", Version::new(3, 4, 0)),
    ("uint_to_uniform_float", FIRST),
    ("unsqueeze", Version::new(3, 7, 0)),
    ("xor_sum", Version::new(3, 3, 0)),
    ("zeros", FIRST),
    ("zeros_like", FIRST),
];

const FIRST: Version = Version::new(2, 1, 0);

/// Whether a function of Triton's library is Triton code in a version, so that interpreter and compiler both execute it.
pub fn is_triton_code(name: &str, version: Version) -> bool {
    LIBRARY
        .iter()
        .any(|&(known, since)| known == name && since <= version)
}

mod expansion;

#[cfg(test)]
mod tests;
