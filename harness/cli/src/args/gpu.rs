//! Arguments of the commands that bring cases to a GPU and records back: `bundle`, `exec`, `accept`.

use std::path::PathBuf;
use std::time::Duration;

use cerith_engine::EngineId;
use cerith_toolchain::compiled::Target;
use clap::Args;

use super::bad_value::BadValue;
use super::output::output_file;
use super::selection::{Selection, engine_id};
use super::sweep::AxisArgs;

/// Arguments of `cerith bundle`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith bundle -o cases.cerith
  cerith bundle alias layout --engine cuda@3.9.0 --engine cuda@3.6.0 -o cases.cerith
  cerith bundle --sweep --axis num_warps --engine cuda@3.9.0 -o sweep.cerith

No GPU is needed. Copy the bundle and this binary to a machine that has one, and run `cerith exec` there.")]
pub struct BundleArgs {
    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// A compiler: `cuda@3.9.0`. Repeat for more. Without it, the newest.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// The GPU that executes the bundle: `sm_80`, `sm_90`, or another that the compiler knows. Kernels are compiled for it,
    /// unless the engine names another target (`cuda@3.9.0:sm_80`).
    #[arg(long, value_name = "SM", default_value = "sm_90")]
    pub target: Target,

    /// Bundle the variants of every case, for `cerith sweep --results`.
    #[arg(long)]
    pub sweep: bool,

    /// The axes of the variants.
    #[command(flatten)]
    pub axis_args: AxisArgs,

    /// The file for the bundle.
    #[arg(long, short, value_name = "CASES", value_parser = output_file)]
    pub out: PathBuf,

    /// How many cases to compile at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `cerith exec`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith exec cases.cerith -o results.cerith
  cerith exec cases.cerith -o results.cerith --repeat 10 --time-limit 60

The machine needs a GPU, its driver and this binary, and nothing else. A case that faults, hangs or kills its process is \
a result like any other.")]
pub struct ExecArgs {
    /// The bundle that `cerith bundle` wrote.
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,

    /// The file for the bundle of results.
    #[arg(long, short, value_name = "RESULTS", value_parser = output_file)]
    pub out: PathBuf,

    /// How often each case is launched, each time with its first memory. Results that differ are reported.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,

    /// How many seconds a case may take, all repetitions together.
    #[arg(long, value_name = "S", default_value = "10", value_parser = parse_seconds)]
    pub time_limit: Duration,
}

/// Arguments of `cerith accept`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith accept results.cerith
  cargo insta review          review what is pending

A record of the same kernel and layout is not overwritten. A new outcome that differs from it is pending until a person \
reviews it.")]
pub struct AcceptArgs {
    /// Bundles that `cerith exec` wrote.
    #[arg(required = true, value_name = "RESULTS")]
    pub results: Vec<PathBuf>,

    /// The folder of case files. Without it, `cases` in this folder or the nearest one above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,

    /// Overwrite records.
    #[arg(long)]
    pub replace: bool,
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, BadValue> {
    let seconds: f64 = text.parse().map_err(|_| BadValue::Seconds)?;
    if (0.001..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(BadValue::SecondsRange)
    }
}
