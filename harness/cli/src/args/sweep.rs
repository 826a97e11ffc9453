//! Arguments of `cerith sweep`.

use std::path::PathBuf;

use cerith_engine::EngineId;
use clap::Args;

use super::run::Reports;
use super::selection::{Selection, engine_id};

/// Arguments of `cerith sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith sweep dot reduction --engine cuda@3.9.0                  on a machine with a GPU and Triton
  cerith sweep dot reduction --engine ptx@3.9.0                   on any machine: its PTX for sm_80, executed here
  cerith sweep --axis num_warps --axis num_ctas=1,2 --axis layout
  cerith bundle --sweep --engine cuda@3.9.0 -o sweep.cerith        without a GPU: compile here,
  cerith exec sweep.cerith -o sweep-results.cerith                  execute there,
  cerith sweep --results sweep-results.cerith                      and judge here

The variants of a case must agree bit for bit, except where the reference says that rounding may differ.")]
pub struct SweepArgs {
    /// The selected cases.
    #[command(flatten)]
    pub selection: Selection,

    /// A compiler: `cuda@3.9.0`, or `ptx@3.9.0`, which needs no GPU. Repeat for more. Without it, the newest; with --results, those in the results.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// The axes of the variants.
    #[command(flatten)]
    pub axis_args: AxisArgs,

    /// Judge what `cerith exec` wrote for a bundle made with `cerith bundle --sweep`. Repeat for more; they are judged
    /// together.
    #[arg(long, value_name = "RESULTS", conflicts_with = "axes")]
    pub results: Vec<PathBuf>,

    /// How many cases to work on at once. Without it, as many as there are cores.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,

    /// The output format, and the folder of the reports.
    #[command(flatten)]
    pub reports: Reports,
}

/// The axes of a sweep.
#[derive(Debug, Args)]
pub struct AxisArgs {
    /// An axis, with all its values (`num_warps`) or some (`num_warps=1,8`): `num_warps`, `num_stages`, `num_ctas`,
    /// `enable_fp_fusion`, `specialize`, `config`, `layout`. Repeat for more. Without it, all.
    #[arg(long = "axis", value_name = "AXIS")]
    pub axes: Vec<String>,
}
