//! Figures of compiled kernels, and their noise. See `compiled` for measuring them.

use serde::Serialize;

/// How much figures may differ by chance. A change counts only beyond both the share and the amount.
///
/// A kernel's figure is the median of those of its cases. With [`Noise::MIN_KERNELS`] kernels, times are first divided by the median of
/// all kernels' ratios: a machine under load, or a slower Python, is slower for all alike, and that is reported separately. A
/// time is measured once, so a kernel with fewer than [`Noise::MIN_COMPILATIONS`] compilations is not judged by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// The share: 0.25 is a quarter of the old figure more, or of the new one less.
    pub share: f64,
    /// Seconds of a case.
    pub seconds: f64,
    /// Bytes of instructions of a case.
    pub bytes: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            share: 0.25,
            seconds: 0.1,
            bytes: 256.0,
        }
    }
}

impl Noise {
    /// The minimum number of kernels for a median that measures the machine's load.
    pub const MIN_KERNELS: usize = 8;
    /// The minimum number of compilations for a meaningful median of a kernel's time.
    pub const MIN_COMPILATIONS: usize = 3;

    pub(super) fn is_beyond(self, old: f64, new: f64, least: f64) -> bool {
        let (low, high) = if old < new { (old, new) } else { (new, old) };
        high - low > least && high > low * (1.0 + self.share)
    }
}

/// A figure of a kernel in two versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Shift {
    /// The kernel: its file and the functions that are launched.
    pub kernel: String,
    /// The figure in the old version: bytes, or microseconds.
    pub old: u64,
    /// In the new one.
    pub new: u64,
    /// Registers of a thread, in both; of several kernels the most.
    pub registers: [u32; 2],
    /// Bytes of local memory of a thread, where spilled registers go.
    pub stack: [u32; 2],
    /// How many cases it is the median of.
    pub cases: u64,
}

/// A figure over all kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The measured figure: `code` or `time`.
    pub of: &'static str,
    /// How many kernels were compiled by both.
    pub kernels: u64,
    /// How many of them had too few compilations to be judged by themselves.
    pub few: u64,
    /// How many of them changed beyond noise.
    pub changed: u64,
    /// The median over kernels of the new figure by the old one.
    pub ratio: f64,
}
