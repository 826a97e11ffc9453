//! The tasks of a worker's Triton, and the environment of its Python. See [`crate::worker`] for starting it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::process;
use crate::request::Device;

/// Variables of the environment that reach a worker. Others could change what Triton or Python do.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ"];

/// Variables that reach a worker that has a GPU besides: which one, and what Triton builds its launchers with.
const PASSED_WITH_GPU: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CC",
    "TRITON_LIBCUDA_PATH",
];

/// The task of a worker's Triton with a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It interprets it.
    Interpret,
    /// It compiles it.
    Compile,
    /// torch is beside it, and launches go through `torch.compile`.
    Inductor,
    /// A program of ours makes launches, which it asks us about. torch may be beside it.
    Program,
    /// It interprets it, and tensors are torch's own.
    Torch(Device),
    /// It compiles and launches it on a GPU; tensors are torch's own.
    Jit,
}

impl Mode {
    /// The device of torch's own tensors, if those are passed.
    pub(crate) const fn torch(self) -> Option<Device> {
        match self {
            Self::Interpret | Self::Compile | Self::Inductor | Self::Program => None,
            Self::Torch(device) => Some(device),
            Self::Jit => Some(Device::Cuda),
        }
    }

    pub(crate) fn has_gpu(self) -> bool {
        self.torch() == Some(Device::Cuda)
    }

    /// Whether a C compiler may be wanted: for what launches on a GPU, and by torch.
    pub(crate) const fn wants_c(self) -> bool {
        !matches!(self, Self::Interpret | Self::Torch(Device::Host) | Self::Program)
    }

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
            .env(process::SAFE_PATH, "1")
            .env("HIP_VISIBLE_DEVICES", "-1")
            .env("HOME", folder)
            // Or it would be looked up among the system's users.
            .env("USER", "cerith")
            .env("TMPDIR", folder)
            .env("TRITON_HOME", folder)
            .env("TRITON_CACHE_DIR", folder.join("cache"));
    }

    /// Folders of Triton and NVIDIA's driver that a worker keeps from one request to the next. Compiled code is only
    /// kept for the next request of the same file ([`crate::worker::Worker::turn_to`]).
    pub(crate) const fn kept_folders(self) -> &'static [&'static str] {
        match self {
            Self::Interpret | Self::Torch(Device::Host) | Self::Inductor | Self::Program => &[],
            Self::Compile => &["cache"],
            Self::Torch(Device::Cuda) | Self::Jit => &["cache", ".nv"],
        }
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
