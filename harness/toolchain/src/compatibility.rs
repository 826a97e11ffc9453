//! The Pythons and the NumPy that a Triton works with, and the Pythons of this machine. See [`crate::install`] for installing.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use cerith_tile::rules::Version;

use crate::{ToolchainId, uncontained};

/// The second number of a Python 3 version.
pub(crate) type Minor = u16;

/// Every Triton here has wheels for it, so does every NumPy, and of those it is the newest.
const BEST: Minor = 11;

/// Pythons that a toolchain has wheels for, torch's among them where it holds one. Source: the file names in the package
/// index.
fn wheel_pythons(id: &ToolchainId) -> std::ops::RangeInclusive<Minor> {
    let triton = wheels_of_triton(id.triton());
    let torch = match id.torch().map(|torch| (torch.major, torch.minor)) {
        None => return triton,
        Some((2, ..=4)) => 8..=12,
        // torch.compile takes Python 3.13 from 2.6 on.
        Some((2, 5)) => 9..=12,
        Some((2, 6..=8)) => 9..=13,
        Some(_) => 10..=14,
    };
    (*triton.start()).max(*torch.start())..=(*triton.end()).min(*torch.end())
}

fn wheels_of_triton(triton: Version) -> std::ops::RangeInclusive<Minor> {
    match (triton.major, triton.minor) {
        (0..=2, _) | (3, 0 | 1) => 8..=12,
        (3, 2..=4) => 9..=13,
        (3, 5..=8) => 10..=14,
        // From 3.9 on there is an abi3 wheel for 3.12 and later.
        _ => 11..=14,
    }
}

/// The NumPy to install beside a Triton, as a version requirement; `None` if no NumPy fits that Python.
///
/// Without a wish: up to Triton 3.1 the last of NumPy 1, because with NumPy 2 their loads and stores silently do
/// nothing. From 3.2 on the last of the 2.3 series, because with NumPy 2.4 the interpreters of 3.2 to 3.6 raise a
/// `TypeError` for `range(0, n)` with an `n` known only at run time, and one NumPy for all of them means that two of
/// them differ by Triton alone. Older Pythons get the last NumPy that they can have.
pub(crate) fn numpy_for(id: &ToolchainId, python: Minor) -> Option<String> {
    let second = match python {
        11..=14 => Some("2.3.5"),
        10 => Some("2.2.6"),
        9 => Some("2.0.2"),
        _ => None,
    };
    let first = match python {
        9..=12 => Some("1.26.4"),
        8 => Some("1.24.4"),
        _ => None,
    };
    match id.numpy() {
        None if id.triton() < Version::new(3, 2, 0) => first.map(str::to_owned),
        None | Some("2") => second.map(str::to_owned),
        Some("1") => first.map(str::to_owned),
        Some(wish) if wish.split('.').count() == 3 => Some(wish.to_owned()),
        Some(wish) => Some(format!("{wish}.*")),
    }
}

/// Whether a Triton's interpreter works with a NumPy, for the reasons that [`numpy_for`] gives.
pub(crate) fn fits(triton: Version, numpy: Version) -> bool {
    if triton < Version::new(3, 2, 0) {
        numpy.major < 2
    } else {
        triton >= Version::new(3, 7, 0) || numpy < Version::new(2, 4, 0)
    }
}

/// The Pythons that can hold a toolchain, the one to be preferred first.
pub(crate) fn suitable_pythons(id: &ToolchainId) -> Vec<Minor> {
    let mut minors: Vec<Minor> = wheel_pythons(id)
        .filter(|&minor| numpy_for(id, minor).is_some())
        .collect();
    minors.sort_by_key(|&minor| (minor.abs_diff(BEST), minor));
    minors
}

/// `3.8 to 3.12`.
pub(crate) fn describe_range(minors: &[Minor]) -> String {
    match (minors.iter().min(), minors.iter().max()) {
        (Some(low), Some(high)) if low < high => format!("3.{low} to 3.{high}"),
        (Some(only), _) => format!("3.{only}"),
        _ => "that no release is known for".to_owned(),
    }
}

/// A Python on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    pub path: PathBuf,
    pub minor: Minor,
}

/// The result of a search of PATH.
#[derive(Debug, Default)]
pub(crate) struct PathSearch {
    /// A Python that fits.
    pub fit: Option<Python>,
    /// The versions of all that were looked at.
    pub rejected: Vec<Minor>,
}

impl PathSearch {
    /// `3.6 and 3.14`, of those that do not fit.
    pub(crate) fn phrase(&self) -> String {
        let mut text = String::new();
        for (index, minor) in self.rejected.iter().enumerate() {
            let join = match index {
                0 => "",
                _ if index + 1 == self.rejected.len() => " and ",
                _ => ", ",
            };
            let _ = write!(text, "{join}3.{minor}");
        }
        text
    }
}

/// Looks for a Python that fits, along `path` (the value of PATH).
pub(crate) fn find(minors: &[Minor], path: Option<&OsStr>) -> PathSearch {
    let named = minors.iter().map(|minor| format!("python3.{minor}"));
    let names: Vec<String> = named.chain(["python3".to_owned(), "python".to_owned()]).collect();
    let mut found = PathSearch::default();
    for name in &names {
        for program in uncontained::on_path(name.as_ref(), path) {
            let Some(minor) = version_of(&program) else {
                continue;
            };
            if minors.contains(&minor) {
                found.fit = Some(Python { path: program, minor });
                return found;
            }
            if !found.rejected.contains(&minor) {
                found.rejected.push(minor);
                found.rejected.sort_unstable();
            }
        }
    }
    found
}

/// The version of a `CPython` that can make environments; `None` for other programs, and for shims of versions that are
/// not enabled.
fn version_of(program: &std::path::Path) -> Option<Minor> {
    const ASK: &str = "import sys, sysconfig, venv; \
         print(sys.version_info[0], sys.version_info[1], sys.implementation.name, \
         sysconfig.get_config_var('Py_GIL_DISABLED') or 0)";
    let output = uncontained::python_command(program)
        .args(["-c", ASK])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let [major, minor, name, free_threaded] = text.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
    (output.status.success() && major == "3" && name == "cpython" && free_threaded == "0")
        .then(|| minor.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn parse_id(text: &str) -> ToolchainId {
        text.parse().expect("a toolchain")
    }

    #[test]
    fn every_known_triton_has_a_python_and_a_numpy() {
        for &triton in crate::id::known_tritons() {
            let id = ToolchainId::from_triton(triton);
            assert_eq!(suitable_pythons(&id).first(), Some(&BEST), "{id}");
            assert!(numpy_for(&id, BEST).is_some(), "{id}");
        }
        for (torch, _) in cerith_tile::releases::TORCH {
            let id = ToolchainId::of_torch(torch).expect("known");
            assert_eq!(suitable_pythons(&id).first(), Some(&BEST), "{id}");
        }
    }

    #[test]
    fn numpy_follows_triton_python_and_wishes() {
        let check = |text: &str, python, expected: Option<&str>| {
            assert_eq!(
                numpy_for(&parse_id(text), python).as_deref(),
                expected,
                "{text} on 3.{python}"
            );
        };
        check("3.1.0", 11, Some("1.26.4"));
        check("3.1.0", 8, Some("1.24.4"));
        check("3.2.0", 11, Some("2.3.5"));
        check("3.9.0", 11, Some("2.3.5"));
        check("3.4.0", 10, Some("2.2.6"));
        check("3.0.0+numpy2", 12, Some("2.3.5"));
        check("3.0.0+numpy2", 8, None);
        check("3.9.0+numpy1", 13, None);
        check("torch2.5.1", 11, Some("1.26.4"));
        check("torch2.11.0", 11, Some("2.3.5"));
        check("3.9.0+numpy2.4", 12, Some("2.4.*"));
        check("3.9.0+numpy2.4.6", 12, Some("2.4.6"));
        assert_eq!(
            describe_range(&suitable_pythons(&parse_id("3.0.0+numpy2"))),
            "3.9 to 3.12"
        );
    }

    /// A folder of programs that answer as Pythons of these versions would; 0 fails, as a shim does.
    fn fake_pythons(programs: &[(&str, Minor)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, minor) in programs {
            let path = folder.path().join(name);
            let answer = if *minor == 0 {
                "exit 127".to_owned()
            } else {
                format!("echo 3 {minor} cpython 0")
            };
            fs::write(&path, format!("#!/bin/sh\n{answer}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        folder
    }

    #[test]
    fn a_python_that_fits_is_found_past_shims_and_wrong_versions() {
        let folder = fake_pythons(&[
            ("python3.11", 0),
            ("python3.12", 12),
            ("python3", 14),
            ("python", 9),
        ]);
        let wanted = suitable_pythons(&parse_id("3.1.0"));
        let found = find(&wanted, Some(folder.path().as_os_str()));
        assert_eq!(
            found.fit,
            Some(Python {
                path: folder.path().join("python3.12"),
                minor: 12
            })
        );

        let folder = fake_pythons(&[("python3", 14), ("python", 7)]);
        let found = find(&wanted, Some(folder.path().as_os_str()));
        assert_eq!(
            (found.fit.clone(), found.phrase().as_str()),
            (None, "3.7 and 3.14")
        );
    }
}
