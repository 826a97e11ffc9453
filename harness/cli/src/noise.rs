//! `--noise`: how much figures of compiled kernels may differ by chance. Left out: comparing them (`cerith_report::bump`).

use cerith_report::bump::Noise;
use clap::Args;

/// How much figures may differ for nothing.
#[derive(Clone, Copy, Debug, Args)]
pub struct NoiseArgs {
    /// Of `--engine cuda`: by how many percent a kernel's machine code and its compile time may change for nothing. They must also
    /// change by 256 bytes, or by 100 ms. A kernel's figure is the median of its cases; times are held to the median of all
    /// kernels' changes.
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
