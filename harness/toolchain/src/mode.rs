//! The tasks of a worker's Triton. See [`crate::worker`] for starting it, and [`crate::environment`] for its variables.

use crate::request::Device;

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
