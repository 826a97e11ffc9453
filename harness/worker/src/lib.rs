//! The Python package `cerith_worker`, as text: what runs inside a toolchain, next to Triton.
//!
//! The docstrings of its modules explain them. `cerith-toolchain` starts it and talks to it.
//!
//! Invariants: the package needs only Triton and NumPy, and torch or a GPU only for `inductor.py` and `real.py` in workers
//! started for them; its protocol is [`PROTOCOL`]; this crate does no IO.
#![warn(missing_docs)]

/// The package's folder name.
pub const PACKAGE: &str = "cerith_worker";

/// The files of the package: name and text.
pub const FILES: &[(&str, &str)] = &[
    ("__init__.py", include_str!("../cerith_worker/__init__.py")),
    ("apart.py", include_str!("../cerith_worker/apart.py")),
    ("beside.py", include_str!("../cerith_worker/beside.py")),
    ("capability.py", include_str!("../cerith_worker/capability.py")),
    ("contained.py", include_str!("../cerith_worker/contained.py")),
    ("dtypes.py", include_str!("../cerith_worker/dtypes.py")),
    ("emitted.py", include_str!("../cerith_worker/emitted.py")),
    ("errors.py", include_str!("../cerith_worker/errors.py")),
    ("fake_driver.py", include_str!("../cerith_worker/fake_driver.py")),
    ("hidden.py", include_str!("../cerith_worker/hidden.py")),
    ("inductor.py", include_str!("../cerith_worker/inductor.py")),
    ("layout.py", include_str!("../cerith_worker/layout.py")),
    ("memory.py", include_str!("../cerith_worker/memory.py")),
    ("modules.py", include_str!("../cerith_worker/modules.py")),
    ("program.py", include_str!("../cerith_worker/program.py")),
    ("real.py", include_str!("../cerith_worker/real.py")),
    ("recorder.py", include_str!("../cerith_worker/recorder.py")),
    ("serve.py", include_str!("../cerith_worker/serve.py")),
    ("stages.py", include_str!("../cerith_worker/stages.py")),
    ("tensor.py", include_str!("../cerith_worker/tensor.py")),
    ("tracked.py", include_str!("../cerith_worker/tracked.py")),
    ("tuning.py", include_str!("../cerith_worker/tuning.py")),
    ("warm.py", include_str!("../cerith_worker/warm.py")),
    ("wire.py", include_str!("../cerith_worker/wire.py")),
];

/// A program for `python -c`: serves its stdin and stdout with the package that lies in the folder that is its only
/// argument. Bytecode is written for the package and not for a user's modules. What the process inherited is closed by the
/// package, which others import too and lose nothing by it. The working folder is removed from `sys.path` first: `-c` puts it there.
pub const ENTRY: &str = "import sys; sys.path[:] = [entry for entry in sys.path if entry]; import os; folder = sys.argv.pop(); sys.path.insert(0, folder); \
     os.environ['CERITH_INHERITS'] = 'nothing'; \
     from cerith_worker.serve import main; sys.path.remove(folder); sys.dont_write_bytecode = True; main()";

/// A module that prints the public names of a Triton's language as JSON: lists by module.
pub const PUBLIC_NAMES: &str = include_str!("../public_names.py");

/// The version of the package's protocol.
pub const PROTOCOL: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_package_is_embedded() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PACKAGE);
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .expect("the package is in the repository")
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| name != "__pycache__")
            .collect();
        on_disk.sort();
        let embedded: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(embedded, on_disk);
    }

    #[test]
    fn both_sides_speak_the_same_protocol() {
        let wire = FILES
            .iter()
            .find(|(name, _)| *name == "wire.py")
            .expect("embedded")
            .1;
        assert!(wire.contains(&format!("\nPROTOCOL = {PROTOCOL}\n")));
    }
}
