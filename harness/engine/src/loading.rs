//! Files that cannot be loaded on this machine, because something that they import for the kernel is missing. It is neither a bug
//! of the engine nor one of the program.
//!
//! Exceptions that Triton itself raises while a file is loaded, and modules of its own that it lacks, are outcomes instead.

use cerith_case::Case;
use cerith_toolchain::response::{Phase, Raised};

use crate::{Complaint, MODULE_NOT_FOUND, worker_outcome};

/// Explains why the case's files cannot be loaded, and how to fix it, if that is what the exception is about.
pub(crate) fn explain_load_failure(case: &Case, raised: &Raised) -> Option<Complaint> {
    let by_triton = raised.origin.as_deref().is_some_and(|file| !file.is_empty());
    if raised.phase != Phase::Import || by_triton {
        return None;
    }
    let root = raised.root();
    let file = raised.location.as_ref().map_or_else(
        || case.module.file.name.clone(),
        |location| worker_outcome::find_position(case, location).file,
    );
    let message = match root.kind.as_str() {
        "ModuleNotFoundError" => {
            let module = root.message.split('\'').nth(1)?;
            let package = module.split('.').next().filter(|&package| package != "triton")?;
            let mend = if package == "torch" {
                "an engine with torch has it (`interpret@V+torch`, `jit@V`)"
            } else {
                "a file of that name beside the kernel's would be found"
            };
            format!(
                "{file} imports `{module}` for what the kernel uses, and there is no such module beside this Triton; {mend}, \
                 `cerith record` makes cases of a kernel in its program, and a value can be an argument instead"
            )
        }
        "ImportError" if root.message.starts_with("attempted relative import") => format!(
            "{file} imports a neighbour by a relative import for what the kernel uses, and is not in a package here; import it \
             by its name, as a file beside this one, or let `cerith record` make cases of the kernel"
        ),
        _ => return None,
    };
    Some(Complaint {
        position: raised
            .location
            .as_ref()
            .map(|location| worker_outcome::find_position(case, location)),
        detail: Some(raised.traceback.clone()).filter(|text| !text.is_empty()),
        ..Complaint::new(MODULE_NOT_FOUND, message)
    })
}

#[cfg(test)]
mod tests {
    use cerith_case::{Corpus, Input};
    use cerith_toolchain::response::{Location, PythonError};

    use super::*;

    const CASE: &str = "about: Nothing.\nkernel: k.py:k\nlaunches: [{ grid: [1], args: {} }]\n";

    fn build_case() -> Case {
        let kernel = "import triton\n@triton.jit\ndef k(): pass\n";
        let corpus = Corpus::load([Input::from_text("c.yaml", CASE), Input::from_text("k.py", kernel)]);
        let mut cases = corpus.entries().map(|entry| entry.resolve());
        cases.next().expect("a case").expect("a good case")
    }

    fn build_raised(kind: &str, message: &str) -> Raised {
        Raised {
            phase: Phase::Import,
            chain: vec![PythonError {
                kind: kind.to_owned(),
                message: message.to_owned(),
            }],
            location: Some(Location {
                file: "/somewhere/k.py".into(),
                line: 1,
                function: "<module>".to_owned(),
            }),
            frame: None,
            compiling: false,
            origin: Some(String::new()),
            traceback: String::new(),
        }
    }

    fn check(raised: &Raised, expected: Option<&str>) {
        let complaint = explain_load_failure(&build_case(), raised);
        let said = complaint.as_ref().map(|complaint| complaint.message.as_str());
        match (said, expected) {
            (Some(said), Some(part)) => assert!(said.contains(part), "{said}"),
            _ => assert_eq!(said, expected),
        }
    }

    #[test]
    fn a_module_that_is_not_there_is_nobodys_bug() {
        check(
            &build_raised("ModuleNotFoundError", "No module named 'torch.nn'"),
            Some("k.py imports `torch.nn` for what the kernel uses"),
        );
        check(
            &build_raised("ModuleNotFoundError", "No module named 'einops'"),
            Some("a file of that name beside the kernel's"),
        );
        check(
            &build_raised(
                "ImportError",
                "attempted relative import with no known parent package",
            ),
            Some("by a relative import"),
        );
    }

    #[test]
    fn what_triton_lacks_or_raises_is_an_outcome() {
        let torch = build_raised("ModuleNotFoundError", "No module named 'torch'");
        check(
            &build_raised("ModuleNotFoundError", "No module named 'triton.new'"),
            None,
        );
        check(
            &build_raised("ImportError", "cannot import name 'x' from 'triton'"),
            None,
        );
        check(&build_raised("RuntimeError", "0 active drivers"), None);
        check(
            &Raised {
                origin: Some("triton/runtime/autotuner.py".to_owned()),
                ..torch.clone()
            },
            None,
        );
        check(
            &Raised {
                phase: Phase::Launch(0),
                ..torch
            },
            None,
        );
    }
}
