//! Decides whether two failures are about the same problem, and whether a failure is evidence against the reference.
//!
//! Two failures are about the same thing if one of these holds:
//!
//! 1. Both are failed `static_assert`s with the same message.
//! 2. The messages match: they have the same words, or one has every word that the other has. Numbers, quotes and
//!    words that every message has (`cannot`, `expected`) do not count.
//! 3. No known bug explains the failure of an engine, and both failures are at the same line of the same file.
//! 4. No known bug explains it, the line of one of them is unknown, and the messages share a word, or both are refusals of
//!    the compiler's passes.
//! 5. No known bug explains it, the lines are different, and the messages share two words: a call and the called function, say.
//!
//! A known bug (`cerith_tile::quirk::signature`) is a lack of one engine. It stops that engine whatever else is wrong with the program, so
//! it says nothing about another complaint at the same line.
//!
//! A failure is evidence against the reference if it came from code that defines the language: Triton's frontend, the
//! Python that its engines share, or the kernel's own lines. A failure inside of one engine's machinery shows a limit of
//! that engine: `interpreter.py` and NumPy, MLIR's passes, LLVM, ptxas, a crash, a fault of a GPU.

use std::collections::BTreeSet;

use cerith_engine::{Complaint, Frame, Outcome, Trap};

/// Whether an outcome of an engine that no known bug explains is evidence against the reference.
pub(crate) fn speaks_against(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Finished(_) | Outcome::Trapped(Trap::Assert, _) => true,
        Outcome::Rejected(complaint) | Outcome::Trapped(_, complaint) => {
            is_device_assertion(complaint) || !is_machinery(complaint)
        }
        Outcome::Crashed(_) | Outcome::Unsupported(_) | Outcome::Exhausted(_) | Outcome::Unavailable(_) => {
            false
        }
    }
}

/// Whether an exception is the interpreter's `device_assert`, which is raised in `interpreter.py`.
fn is_device_assertion(complaint: &Complaint) -> bool {
    let line = complaint.position.as_ref().map_or("", |position| &position.text);
    complaint.kind == "AssertionError" && line.contains("device_assert")
}

/// Whether a failure came from the machinery of one engine, and not from code that decides what the language is.
fn is_machinery(complaint: &Complaint) -> bool {
    let file = complaint.raised.as_deref().unwrap_or_default();
    complaint.kind.starts_with("CUDA_ERROR_")
        || complaint.kind.starts_with("numpy.")
        || file == "triton/runtime/interpreter.py"
        || is_of_passes(complaint)
}

/// Whether a compiler's passes, LLVM or ptxas refused the program.
fn is_of_passes(complaint: &Complaint) -> bool {
    let file = complaint.raised.as_deref().unwrap_or_default();
    let kind = complaint.kind.rsplit('.').next().unwrap_or_default();
    file.starts_with("triton/backends/")
        || ["CalledProcessError", "PTXASError"].contains(&kind)
        || [
            "PassManager::run failed",
            "error encountered during parsing",
            "failed to translate module to LLVM IR",
        ]
        .iter()
        .any(|own| complaint.message.starts_with(own))
}

/// Whether a failed assertion of Python's is one of a kernel, as far as is known. Compiled, it is a device assertion.
pub(crate) fn is_kernels_assertion(complaint: &Complaint) -> bool {
    complaint.kind == "AssertionError" && complaint.frame != Some(Frame::Host)
}

/// Whether two refusals of a program are about the same thing. `explained` says that a known bug explains one of them.
pub(crate) fn is_same_refusal(left: &Complaint, right: &Complaint, explained: bool) -> bool {
    if is_static_assertion(left) && is_static_assertion(right) {
        // The reference puts words before the program's own message.
        return left.message.ends_with(&right.message) || right.message.ends_with(&left.message);
    }
    let (words, others) = (extract_words(&left.message), extract_words(&right.message));
    let shared = words.intersection(&others).count() + count_shared_stems(&words, &others);
    let fewest = words.len().min(others.len());
    if left.message == right.message || fewest > 0 && words.intersection(&others).count() == fewest {
        return true;
    }
    if explained {
        return false;
    }
    match (&left.position, &right.position) {
        (Some(one), Some(other)) if one.line == other.line && one.file == other.file => true,
        (Some(_), Some(_)) => shared > 1,
        _ => shared > 0 || is_refused_by_passes(left) && is_refused_by_passes(right),
    }
}

/// Whether a `tl.static_assert` of the program failed.
fn is_static_assertion(complaint: &Complaint) -> bool {
    complaint.kind == "static-assert" || complaint.kind.ends_with("CompileTimeAssertionFailure")
}

fn is_refused_by_passes(complaint: &Complaint) -> bool {
    complaint.is_by_pass || is_of_passes(complaint)
}

/// Words that say nothing about the subject of a message.
const COMMON: [&str; 44] = [
    "and",
    "are",
    "argument",
    "arguments",
    "attribute",
    "but",
    "can",
    "cannot",
    "class",
    "does",
    "error",
    "expected",
    "failed",
    "for",
    "from",
    "function",
    "get",
    "given",
    "got",
    "has",
    "have",
    "its",
    "must",
    "name",
    "need",
    "needs",
    "none",
    "nonetype",
    "not",
    "object",
    "only",
    "passmanager",
    "run",
    "runtimeerror",
    "should",
    "support",
    "supported",
    "tensor",
    "the",
    "triton",
    "type",
    "typeerror",
    "valueerror",
    "with",
];

/// Extracts the significant words from a message, in lower case.
fn extract_words(message: &str) -> BTreeSet<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    message
        .split(|c| !in_word(c))
        .filter(|word| word.len() > 2 && word.contains(|c: char| c.is_ascii_alphabetic()))
        .map(str::to_ascii_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
        .collect()
}

/// The number of words in one set that begin like a word of the other set: `align` and `aligned`, `float` and
/// `floating`.
fn count_shared_stems(words: &BTreeSet<String>, others: &BTreeSet<String>) -> usize {
    const STEM: usize = 5;
    let stem = |word: &String| word.get(..STEM).map(str::to_owned);
    let of_others: BTreeSet<String> = others.difference(words).filter_map(stem).collect();
    let of_words: BTreeSet<String> = words.difference(others).filter_map(stem).collect();
    of_words.intersection(&of_others).count()
}

#[cfg(test)]
mod tests {
    use cerith_engine::Position;

    use super::*;

    fn build_complaint(message: &str, line: Option<u32>) -> Complaint {
        Complaint {
            position: line.map(|line| Position {
                file: "k.py".to_owned(),
                line,
                column: 0,
                text: String::new(),
            }),
            ..Complaint::new("", message)
        }
    }

    #[test]
    fn refusals_are_the_same_by_words_or_place() {
        let check =
            |(left, at): (&str, Option<u32>), (right, other): (&str, Option<u32>), explained, same| {
                let (one, two) = (build_complaint(left, at), build_complaint(right, other));
                assert_eq!(is_same_refusal(&one, &two, explained), same, "{left} / {right}");
                assert_eq!(is_same_refusal(&two, &one, explained), same, "{right} / {left}");
            };
        let bitcast = "cannot bitcast data-type of size 32 to data-type of size 16";
        let library = "cannot convert None of type <class 'NoneType'> to tensor";
        check((bitcast, Some(9)), (library, Some(9)), true, false);
        check((bitcast, Some(9)), (library, Some(7)), false, false);
        check((bitcast, None), (library, None), false, false);
        check(
            (bitcast, Some(9)),
            ("Cannot bitcast data-type of size 8 to data-type of size 16", None),
            true,
            true,
        );
        check(
            ("`tl` has no attribute `gather`", None),
            ("module 'triton.language' has no attribute 'gather'", None),
            false,
            true,
        );
        check(
            ("`tl` has no attribute `gather`", None),
            ("module 'triton.language' has no attribute 'topk'", None),
            false,
            false,
        );
        let by_pass = Complaint {
            is_by_pass: true,
            ..build_complaint(
                "a comparison of fp8e4nv: it can only be moved and converted",
                Some(3),
            )
        };
        let by_compiler = build_complaint(
            "PassManager::run failed: 'llvm.fcmp' op operand #0 must be floating point LLVM type",
            None,
        );
        assert!(is_same_refusal(&by_pass, &by_compiler, false));
        assert!(is_same_refusal(&by_compiler, &by_pass, false));
        let by_front_end = Complaint {
            is_by_pass: false,
            ..by_pass
        };
        assert!(!is_same_refusal(&by_front_end, &by_compiler, false));
        check(
            (bitcast, Some(3)),
            (
                "PassManager::run failed: 'llvm.fcmp' op operand #0 must be floating point LLVM type",
                None,
            ),
            false,
            false,
        );
        check(
            ("strides must be multiples of 16 bytes", None),
            ("strides must be 16-byte aligned", None),
            false,
            true,
        );
        check(
            ("dot needs shapes with M >= 16", Some(4)),
            ("operands do not fit", Some(4)),
            false,
            true,
        );
    }

    #[test]
    fn machinery_of_one_engine_does_not_speak_against_the_reference() {
        let check = |kind: &str, message: &str, raised: Option<&str>, speaks: bool| {
            let complaint = Box::new(Complaint {
                raised: raised.map(str::to_owned),
                ..Complaint::new(kind, message)
            });
            let outcome = Outcome::Trapped(Trap::Raised, complaint);
            assert_eq!(speaks_against(&outcome), speaks, "{kind}: {message}");
        };
        check("TypeError", "no", Some("triton/runtime/interpreter.py"), false);
        check("TypeError", "no", Some("triton/language/semantic.py"), true);
        check("TypeError", "no", Some("triton/compiler/code_generator.py"), true);
        check("TypeError", "no", Some(""), true);
        check("RuntimeError", "PassManager::run failed", None, false);
        check(
            "RuntimeError",
            "no",
            Some("triton/backends/nvidia/compiler.py"),
            false,
        );
        check("subprocess.CalledProcessError", "ptxas a.ptx", None, false);
        check("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal address", None, false);
        check("numpy.exceptions.AxisError", "axis 3", None, false);
        assert!(!speaks_against(&Outcome::Crashed(Box::new(Complaint::new(
            "crash", "signal 6"
        )))));
    }
}
