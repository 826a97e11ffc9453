//! The environment variables of a worker's Python. A user's own variables would change what Triton and Python do, so a worker gets
//! those of this file only. See `docs/environment.md` for the variables of Cerith itself.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::mode::Mode;
use crate::request::Device;
use crate::uncontained;

/// Variables of the environment that reach a worker. Others could change what Triton or Python do.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"];

/// Variables that reach a worker that has a GPU besides: which one, and what Triton builds its launchers with.
const PASSED_WITH_GPU: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CC",
    "TRITON_LIBCUDA_PATH",
];

impl Mode {
    /// Gives a worker that has this folder for its own its environment, and nothing else of ours.
    pub(crate) fn set_environment(self, command: &mut Command, folder: &Path) {
        command.env_clear();
        command.envs(passed_variables(self.has_gpu()));
        if !self.has_gpu() {
            // A machine without a GPU, also on one that has some.
            command.env("CUDA_VISIBLE_DEVICES", "-1");
        }
        match self {
            Mode::Interpret | Mode::Torch(_) => {
                command.env("TRITON_INTERPRET", "1");
            }
            // Machine code does not say where its source lies.
            Mode::Compile | Mode::Jit => {
                command.env("TRITON_DISABLE_LINE_INFO", "1");
            }
            Mode::Program => {
                command.env("CERITH_PROGRAM", "1");
            }
            Mode::Inductor => {
                command
                    // Read when torch is imported; an older run's module would be taken again.
                    .env("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
                    .env("TORCHINDUCTOR_COMPILE_THREADS", "1")
                    .env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor"));
            }
        }
        match (self, self.torch()) {
            // It is there to be imported; the mode decides the kind of arguments.
            (Mode::Inductor | Mode::Program, _) => {}
            (_, None) => {
                command.env("CERITH_TORCH", "hidden");
            }
            (_, Some(Device::Host)) => {
                command.env("CERITH_TORCH", "cpu");
            }
            (_, Some(Device::Cuda)) => {
                command.env("CERITH_TORCH", "cuda");
            }
        }
        command
            // BLAS sums in another order with several threads.
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("MKL_NUM_THREADS", "1")
            .env("PYTHONHASHSEED", "0")
            .env("PYTHONNOUSERSITE", "1")
            .env(uncontained::SAFE_PATH, "1")
            .env("HIP_VISIBLE_DEVICES", "-1")
            .env("HOME", folder)
            // Or it would be looked up among the system's users.
            .env("USER", "cerith")
            .env("TMPDIR", folder)
            .env("TRITON_HOME", folder)
            .env("TRITON_CACHE_DIR", folder.join("cache"));
    }
}

/// The variables of our environment that a Python gets; with `gpu`, one that may see a GPU.
pub(crate) fn passed_variables(gpu: bool) -> impl Iterator<Item = (&'static str, OsString)> {
    let more = if gpu { PASSED_WITH_GPU } else { &[] };
    PASSED
        .iter()
        .chain(more)
        .filter_map(|&name| std::env::var_os(name).map(|value| (name, value)))
}
