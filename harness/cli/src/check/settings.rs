//! The settings of `cerith check`: the command line, the configuration and the baseline.

use std::path::Path;
use std::time::Duration;

use cerith_check::baseline::Baseline;
use cerith_check::config::{Config as Configuration, NAMES};
use cerith_check::subject::FilesRead;
use cerith_engine::EngineId;

use super::error::SettingsError;
use crate::args::CheckArgs;

/// Everything that the configuration and the command line decide together.
pub struct Settings {
    pub config: Configuration,
    pub baseline: Baseline,
    /// Files and kernels.
    pub kernels: Vec<String>,
    pub engines: Vec<EngineId>,
    pub timeout: Option<Duration>,
    pub is_strict: bool,
}

impl Settings {
    /// Reads the configuration and the baseline, which are added to `read`.
    ///
    /// # Errors
    /// A file cannot be read, or there is nothing to check.
    pub fn read(args: &CheckArgs, read: &FilesRead) -> Result<Self, SettingsError> {
        // These decide the result even if they are wrong, or do not exist yet.
        for name in NAMES.iter().filter(|_| !args.no_config && args.config.is_none()) {
            read.add(Path::new(name));
        }
        let config = match &args.config {
            Some(path) => {
                read.add(path);
                Configuration::read(path)?
            }
            None if args.no_config => Configuration::without_file(),
            None => Configuration::find()?,
        };
        if !config.name.is_empty() {
            read.add(Path::new(&config.name));
        }
        if args.oracle.is_some() && args.launcher.is_none() && config.launchers.is_empty() {
            return Err(SettingsError::NoLauncher);
        }
        let kernels = if args.kernels.is_empty() {
            let paths = config.paths.iter();
            paths.map(|path| config.resolve(path)).collect()
        } else {
            args.kernels.clone()
        };
        if kernels.is_empty() {
            return Err(SettingsError::NoFile);
        }
        // A baseline does not hide findings from the run that writes it.
        let baseline = match args.baseline.as_ref().or(config.baseline.as_ref()) {
            Some(path) if args.write_baseline.is_none() => {
                read.add(path);
                Baseline::read(path)?
            }
            _ => Baseline::default(),
        };
        Ok(Self {
            engines: if args.engines.engines.is_empty() {
                config.engines.clone()
            } else {
                args.engines.engines.clone()
            },
            timeout: args.timeout.map(Duration::from_secs).or(config.timeout),
            is_strict: args.strict || config.is_strict,
            config,
            baseline,
            kernels,
        })
    }
}
