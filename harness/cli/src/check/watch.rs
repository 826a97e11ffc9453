//! `cerith check --watch`: checks again when a file that decides the result changes.
//!
//! Metadata is compared twice a second, which needs no service of the system and works on network folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cerith_check::subject::FilesRead;
use cerith_check::target::find_targets;
use cerith_runner::Exit;

use super::check_once;
use super::settings::Settings;
use crate::args::CheckArgs;
use crate::interrupt::build_host;
use crate::terminal::Terminal;

/// The interval between two checks of the files.
const INTERVAL: Duration = Duration::from_millis(500);

/// The interval between two checks for a request to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// The properties of a file that change with its content: the device, the number, the size, and the time of the last change of
/// the content or of the entry. `None` if there is no such file.
type Stamp = Option<(u64, u64, u64, [i64; 4])>;

/// Checks until the user stops it.
pub fn watch(args: &CheckArgs, terminal: &Terminal) -> Exit {
    if args.kernels.iter().any(|name| name == cerith_check::text::STDIN) {
        terminal.note(
            "error: standard input cannot be watched\n  = help: name a file: `cerith check --watch softmax.py`",
        );
        return Exit::Wrong;
    }
    let host = build_host(terminal);
    let mut files = BTreeSet::new();
    for round in 1_u64.. {
        let began = Instant::now();
        files.extend(list_targets(args));
        // Taken before the check, so that a change during the check starts another round.
        let before = stamp_all(&files);
        let read = FilesRead::default();
        if check_once(args, terminal, &read) == Exit::Interrupted || host.is_stopped() {
            break;
        }
        files = read.into_list().into_iter().collect();
        files.extend(list_targets(args));
        let mut known = stamp_all(&files);
        known.extend(before.into_iter().filter(|(file, _)| files.contains(file)));
        terminal.note(&format!(
            "round {round} at {} UTC, {:.2} s: watching {} files, Ctrl-C ends",
            format_time(SystemTime::now()),
            began.elapsed().as_secs_f64(),
            files.len()
        ));
        let Some(changed) = wait_for_change(args, &known, &|| host.is_stopped()) else {
            break;
        };
        terminal.erase();
        terminal.note(&format!("changed: {}", changed.display()));
    }
    Exit::Interrupted
}

/// Waits until a file changes, or a new one belongs to the targets. `None` if the user stops it.
fn wait_for_change(
    args: &CheckArgs,
    known: &BTreeMap<PathBuf, Stamp>,
    is_stopped: &dyn Fn() -> bool,
) -> Option<PathBuf> {
    loop {
        let until = Instant::now() + INTERVAL;
        while Instant::now() < until {
            if is_stopped() {
                return None;
            }
            thread::sleep(PATIENCE);
        }
        let new = list_targets(args)
            .into_iter()
            .find(|file| !known.contains_key(file));
        let changed = known
            .iter()
            .find(|(file, stamp)| read_stamp(file) != **stamp)
            .map(|(file, _)| file.clone());
        if let Some(file) = changed.or(new) {
            return Some(file);
        }
    }
}

/// The files that the arguments and the configuration name now.
fn list_targets(args: &CheckArgs) -> BTreeSet<PathBuf> {
    let settings = Settings::read(args, &FilesRead::default());
    let names = settings.map_or_else(|_| args.kernels.clone(), |settings| settings.kernels);
    let targets = find_targets(&names).unwrap_or_default();
    let named = names.iter().map(PathBuf::from).filter(|path| path.is_file());
    targets
        .into_iter()
        .map(|target| target.file)
        .chain(named)
        .collect()
}

fn stamp_all(files: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Stamp> {
    files
        .iter()
        .map(|file| (file.clone(), read_stamp(file)))
        .collect()
}

fn read_stamp(file: &Path) -> Stamp {
    let metadata = fs::metadata(file).ok()?;
    let times = [
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    Some((metadata.dev(), metadata.ino(), metadata.len(), times))
}

/// The time of day, as `14:32:05`.
fn format_time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seconds: u64, expected: &str) {
        assert_eq!(format_time(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
    }

    #[test]
    fn the_time_of_day_has_six_digits() {
        check(0, "00:00:00");
        check(86_400 * 20_000 + 3600 * 14 + 32 * 60 + 5, "14:32:05");
        check(86_399, "23:59:59");
    }
}
