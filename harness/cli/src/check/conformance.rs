//! Launchers of `cerith check` that are compared with reference functions.

use std::path::Path;

use cerith_check::conformance::{ConformanceReport, LauncherEntry, Rules, compare_launcher};
use cerith_runner::Host;
use cerith_toolchain::{Home, Toolchain, ToolchainId};

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
/// The message for the user.
pub fn compare(
    args: &CheckArgs,
    file: &Path,
    entry: &LauncherEntry,
    host: Host<'_>,
) -> Result<ConformanceReport, String> {
    match &args.oracle {
        None => Ok(ConformanceReport::without_oracle(file, entry)),
        Some(name) => compare_launcher(file, entry, &find_toolchain(name)?, host),
    }
}

/// The toolchain of this name; without a name, the newest one with torch, or else the newest.
fn find_toolchain(name: &str) -> Result<Toolchain, String> {
    let home = Home::discover().map_err(|error| format!("error: failed to {error}"))?;
    if !name.is_empty() {
        let id: ToolchainId = name.parse().map_err(|error| format!("error: {error}"))?;
        return home.find(&id).or_else(|| home.resolve(&id)).ok_or_else(|| {
            format!("error: Triton {id} is not installed\n  = help: `cerith toolchain add {id}` installs it")
        });
    }
    let all = home.list().map_err(|error| format!("error: failed to {error}"))?;
    let with_torch = all.iter().find(|one| one.contents.torch.is_some());
    with_torch.or_else(|| all.first()).cloned().ok_or_else(|| {
        "error: no toolchain is installed\n  = help: adopt an environment with Triton and torch, `cerith toolchain adopt .venv`, \
         or install one without torch, `cerith toolchain add 3.9.0`"
            .to_owned()
    })
}
