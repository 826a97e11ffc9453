//! `--noise`: the accepted noise in measurements of compiled kernels. See `cerith_report::bump` for the comparison.

use cerith_report::bump::Noise;
use clap::Args;

/// How much figures may differ by chance.
#[derive(Clone, Copy, Debug, Args)]
pub struct NoiseArgs {
    /// With `--engine cuda`: by how many percent the size of a kernel's machine code and its compile time may change by chance. A
    /// change also counts only from 256 bytes, or from 100 ms. A kernel's figure is the median of its cases. Times are first
    /// divided by the median change of all kernels.
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    noise: u32,
}

impl From<NoiseArgs> for Noise {
    fn from(args: NoiseArgs) -> Self {
        Self {
            share: f64::from(args.noise) / 100.0,
            ..Self::default()
        }
    }
}
