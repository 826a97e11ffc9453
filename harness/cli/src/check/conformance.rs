//! Launchers of `cerith check` that are compared with reference functions.

use std::path::Path;

use cerith_check::conformance::{ConformanceReport, LauncherEntry, Rules, compare_launcher};
use cerith_runner::Host;
use cerith_runner::oracle::find_toolchain;

use super::error::CheckError;
use super::settings::Settings;
use crate::args::CheckArgs;

/// The launchers of a file that the command line and the configuration name.
pub fn list_launchers(args: &CheckArgs, settings: &Settings, file: &Path) -> Vec<LauncherEntry> {
    if let (Some(launcher), Some(like)) = (&args.launcher, &args.like) {
        return vec![LauncherEntry {
            launcher: launcher.clone(),
            like: like.clone(),
            rules: Rules {
                accumulate: args.accumulate.clone(),
                tf32: !args.no_tf32,
                rtol: args.rtol,
                atol: args.atol,
                seed: args.seed,
            },
            arguments: args.arguments.clone(),
        }];
    }
    let Some(relative) = settings.config.find_relative(file) else {
        return Vec::new();
    };
    let own = settings.config.launchers.iter().filter(|(of, _)| *of == relative);
    own.map(|(_, entry)| entry.clone()).collect()
}

/// Compares a launcher, if that is requested.
///
/// # Errors
/// There is no toolchain, or the launcher cannot be compared.
pub fn compare(
    args: &CheckArgs,
    file: &Path,
    entry: &LauncherEntry,
    host: Host<'_>,
) -> Result<ConformanceReport, CheckError> {
    match &args.oracle {
        None => Ok(ConformanceReport::without_oracle(file, entry)),
        Some(name) => {
            let toolchain = find_toolchain(name)?;
            Ok(compare_launcher(file, entry, &toolchain, host)?)
        }
    }
}
