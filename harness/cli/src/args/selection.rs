//! Arguments that several commands take: which cases, and which engines.

use std::path::PathBuf;

use cerith_engine::EngineId;
use cerith_runner::engines;
use clap::Args;

use super::bad_value::BadValue;

/// The corpus, and the selected part of it.
#[derive(Debug, Args)]
pub struct Selection {
    /// Which cases: an area (`alias` or `alias/`), a case file (`alias/same_twice`), an id
    /// (`alias/same_twice:dtype=f32`) or a pattern (`'alias/*:dtype=bf16'`). Several filters add up. Without any, all cases. If
    /// the first is a folder and not an area of the corpus, it is the corpus itself: a recording, for example.
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,

    /// The folder of case files. Without it, the first filter if that is such a folder, and otherwise `cases` in this folder or
    /// in the nearest folder above that has it.
    #[arg(long, value_name = "DIR")]
    pub cases: Option<PathBuf>,
}

/// The selected engines.
#[derive(Debug, Args)]
pub struct Engines {
    /// An engine: `reference`, `interpret@3.9.0` (Triton's interpreter, with tensors that behave as CUDA's), `interpret@3.9.0+host`
    /// (with CPU tensors), `interpret@3.0.0+numpy2` (with another NumPy), `interpret@3.6.0+torch` (with torch's own
    /// tensors), `cuda@3.9.0` (its compiler), `cuda@3.9.0:sm_80` (its code for another GPU), `ptx@3.9.0` (its PTX for `sm_80`, executed
    /// without a GPU), `ttir@3.9.0:source`, `ttir@3.9.0` and `ttgir@3.9.0` (its compiler's IR at three stages, executed by the
    /// reference's interpreter), `jit@3.6.0` or `jit` (Triton's launcher on this machine's GPU, with torch), `inductor@2.11.0` (under
    /// torch.compile; executed by the reference and by
    /// Triton's interpreter), `recorded` (the results of the program that was recorded). Repeat for more. Without it, the
    /// reference, the newest Triton's interpreter, if that is installed or can be, and its compiler: on this machine's GPU, or replayed
    /// from records, or `ptx` for cases without a record. Also `recorded` for a recording.
    #[arg(long = "engine", value_name = "ID", value_parser = engine_id)]
    pub engines: Vec<EngineId>,

    /// Do not install toolchains; use those that are installed.
    #[arg(long)]
    pub offline: bool,
}

/// More orders in which cases are launched.
#[derive(Debug, Args)]
pub struct Schedules {
    /// Launch every case N more times in other orders, which are the same in every run. The reference runs its programs first
    /// reversed, then permuted; if the result of a defined case differs, that is a bug in Cerith, and an internal error. `ptx` runs
    /// its warps in other orders, starves warp groups, and completes copies earlier; if the result differs, the case is
    /// nondeterministic.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub schedules: u32,
}

pub(super) fn engine_id(text: &str) -> Result<EngineId, BadValue> {
    if text == "jit" {
        return engines::newest_with_torch()
            .map(|version| EngineId::Jit { version })
            .ok_or(BadValue::NoTorch);
    }
    Ok(text.parse()?)
}
