//! Why a toolchain could not be made, found in what installers print. See [`crate::install`] for running them.

use std::io;
use std::path::{Path, PathBuf};

use cerith_tile::releases;

use crate::home::HomeError;
use crate::id::{self, ToolchainId};

/// Messages of installers when they cannot reach the package index, the most telling first.
const NO_NETWORK: &[&str] = &[
    "Temporary failure in name resolution",
    "Name or service not known",
    "failed to lookup address information",
    "Network is unreachable",
    "No route to host",
    "Connection refused",
    "timed out",
    "ProxyError",
    "Failed to establish a new connection",
    "tcp connect error",
    "dns error",
    "error sending request",
];

/// Their messages if they do not trust the package index, for example through a proxy that inspects traffic.
const UNTRUSTED: &[&str] = &[
    "self-signed certificate in certificate chain",
    "self signed certificate in certificate chain",
    "unable to get local issuer certificate",
    "certificate verify failed",
    "invalid peer certificate",
];

/// Releases named when one does not exist, the newest.
const LISTED: usize = 16;

/// About how many bytes an installation with pip has written in the end: the packed and the unpacked wheels.
pub(crate) fn about_size(id: &ToolchainId) -> u64 {
    let triton = id.triton();
    let megabytes = match (triton.major, triton.minor) {
        // Installed it is 5 GB, most of it NVIDIA's libraries; the wheels are there meanwhile.
        _ if id.torch().is_some() => 8_000,
        (0..=2, _) => 700,
        (3, 0 | 1 | 3 | 4) => 850,
        (3, 2 | 5..=7) => 1000,
        (3, 8) => 1200,
        _ => 1400,
    };
    megabytes << 20
}

/// A toolchain could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// No Python at all.
    #[error(
        "find Python: no python3 on PATH, and no uv that could fetch one; install Python {suitable}, or adopt one that has Triton: \
         `cerith toolchain adopt PYTHON`"
    )]
    NoPython {
        /// The versions that would do.
        suitable: String,
    },
    /// Pythons, but none that this Triton has wheels for.
    #[error(
        "find a Python for {id}: it needs Python {suitable}, and PATH has only {present}; `pip install uv` gives Cerith a way to fetch \
         one"
    )]
    WrongPython {
        /// The toolchain.
        id: ToolchainId,
        /// The versions that would do.
        suitable: String,
        /// The versions that are there.
        present: String,
    },
    /// The package index cannot be reached.
    #[error(
        "reach the package index: the network seems to be down ({reason}); `cerith toolchain adopt PYTHON` uses a Python that \
         has Triton, and `--offline` needs no network"
    )]
    NoNetwork {
        /// The installer's words.
        reason: String,
    },
    /// The package index, or a proxy in its place, has a certificate that is not known here.
    #[error(
        "trust the package index: {reason}; behind a proxy with a certificate of its own, set PIP_CERT (for uv, SSL_CERT_FILE) to a \
         file with that certificate, or adopt a Python that has Triton: `cerith toolchain adopt PYTHON`"
    )]
    Untrusted {
        /// The installer's words.
        reason: String,
    },
    /// There is no such release.
    #[error("find {package} {version} in the package index: {hint}")]
    NoSuchVersion {
        /// `triton`, `torch` or `numpy`.
        package: &'static str,
        /// The version asked for.
        version: String,
        /// The versions that exist.
        hint: String,
    },
    /// No room.
    #[error("write {}: the disk is full (about {needed_megabytes} MB are needed while it is installed); set CERITH_HOME to a folder \
         with more room", path.display())]
    DiskFull {
        /// The folder.
        path: PathBuf,
        /// About how much is needed, in megabytes.
        needed_megabytes: u64,
    },
    /// The folder cannot be written.
    #[error("write {}: {source}; set CERITH_HOME to a folder that can be written", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// The installer failed in another way.
    #[error("install {id} with {installer}: {reason}")]
    Installer {
        /// The toolchain.
        id: ToolchainId,
        /// `uv` or `pip`.
        installer: &'static str,
        /// The end of its output.
        reason: String,
    },
    /// It was installed and does not work, so it was removed again.
    #[error("use {id} once installed: {reason}")]
    Broken {
        /// The toolchain.
        id: ToolchainId,
        /// The problem.
        reason: String,
    },
    /// [`Observer::cancelled`](crate::Observer::cancelled) said so.
    #[error("finish installing {id}: cancelled, nothing was left behind")]
    Cancelled {
        /// The toolchain.
        id: ToolchainId,
    },
    /// An adopted environment isn't Cerith's to repair.
    #[error("repair {id}: it was adopted and is not Cerith's: {} is its Python", python.display())]
    Adopted {
        /// The toolchain.
        id: ToolchainId,
        /// Its Python.
        python: PathBuf,
    },
    /// The home folder.
    #[error(transparent)]
    Home(#[from] HomeError),
}

/// Explains an installer's output after it failed to put a toolchain into this folder.
pub(crate) fn explain_output(
    id: &ToolchainId,
    installer: &'static str,
    output: &str,
    folder: &Path,
) -> AddError {
    let says = |signs: &[&str]| {
        output
            .lines()
            .find(|line| signs.iter().any(|sign| line.contains(sign)))
            .map(|line| line.trim().to_owned())
    };
    if says(&["No space left on device", "os error 28"]).is_some() {
        return AddError::DiskFull {
            path: folder.to_owned(),
            needed_megabytes: about_size(id) >> 20,
        };
    }
    let sign = |signs: &[&'static str]| signs.iter().copied().find(|sign| output.contains(sign));
    if let Some(reason) = sign(UNTRUSTED) {
        return AddError::Untrusted {
            reason: reason.to_owned(),
        };
    }
    if let Some(reason) = sign(NO_NETWORK) {
        return AddError::NoNetwork {
            reason: reason.to_owned(),
        };
    }
    let missing = [
        "No matching distribution found for",
        "Because there is no version of",
        "is available and you require",
        "has no usable wheels",
    ];
    if let Some(line) = says(&missing) {
        let (package, version) = if line.contains("numpy") && !line.contains("triton") {
            let asked = line.split_once("numpy==").map_or("", |(_, rest)| rest);
            (
                "numpy",
                asked.split([' ', ',']).next().unwrap_or_default().to_owned(),
            )
        } else if let Some(torch) = id.torch() {
            ("torch", torch.to_string())
        } else {
            ("triton", id.triton().to_string())
        };
        let listed = output
            .split_once("(from versions: ")
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(all, _)| all);
        let is_known = package == "triton" && id::known_tritons().contains(&id.triton());
        if cfg!(target_os = "linux") && listed == Some("none") && is_known {
            return AddError::NoSuchVersion {
                package,
                version,
                hint: format!(
                    "there is no wheel of it for this Python on {}; `cerith toolchain adopt PYTHON` uses a Python that has Triton",
                    std::env::consts::ARCH
                ),
            };
        }
        let versions: Vec<String> = match listed {
            Some(all) if all != "none" => all.split(", ").map(str::to_owned).collect(),
            _ if package == "triton" => id::known_tritons().iter().map(ToString::to_string).collect(),
            _ if package == "torch" => releases::TORCH
                .iter()
                .map(|(torch, _)| torch.to_string())
                .collect(),
            _ => vec!["other versions".to_owned()],
        };
        let newest = versions
            .last()
            .filter(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let next = newest.map_or_else(String::new, |newest| {
            let prefix = if package == "torch" { "torch" } else { "" };
            format!("; `cerith toolchain add {prefix}{newest}` installs the newest")
        });
        let versions = versions
            .get(versions.len().saturating_sub(LISTED)..)
            .unwrap_or_default()
            .join(", ");
        let place = if cfg!(target_os = "linux") {
            ""
        } else {
            " (Triton has wheels for Linux only)"
        };
        return AddError::NoSuchVersion {
            package,
            version,
            hint: format!("there are {versions}{place}{next}"),
        };
    }
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let reason = lines
        .get(lines.len().saturating_sub(8)..)
        .unwrap_or_default()
        .join("\n");
    AddError::Installer {
        id: id.clone(),
        installer,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the explanation of an installer's output.
    fn check(id: &str, printed: &str, expected: &str) {
        let id = id.parse().expect("a toolchain");
        let error = explain_output(&id, "pip", printed, Path::new("/data"));
        assert_eq!(error.to_string(), expected);
    }

    // The outputs are pip 23.2's and uv 0.9's own, shortened.
    #[test]
    fn installers_are_understood() {
        check(
            "3.9.7",
            "ERROR: Could not find a version that satisfies the requirement triton==3.9.7 (from versions: 3.8.0, 3.9.0)
ERROR: No matching distribution found for triton==3.9.7",
            "find triton 3.9.7 in the package index: there are 3.8.0, 3.9.0; `cerith toolchain add 3.9.0` installs the newest",
        );
        check(
            "torch2.9.1",
            "ERROR: Could not find a version that satisfies the requirement torch==2.9.1 (from versions: 2.9.0, 2.10.0)
ERROR: No matching distribution found for torch==2.9.1",
            "find torch 2.9.1 in the package index: there are 2.9.0, 2.10.0; `cerith toolchain add torch2.10.0` installs the newest",
        );
        check(
            "3.9.0",
            "ERROR: No matching distribution found for numpy==2.99.*",
            "find numpy 2.99.* in the package index: there are other versions",
        );
        check(
            "3.1.0",
            "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError('<x>: Failed to \
             establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/triton/
ERROR: Could not find a version that satisfies the requirement triton==3.1.0 (from versions: none)
ERROR: No matching distribution found for triton==3.1.0",
            "reach the package index: the network seems to be down (Temporary failure in name resolution); `cerith toolchain \
             adopt PYTHON` uses a Python that has Triton, and `--offline` needs no network",
        );
        check(
            "3.9.0",
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: \
             CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain \
             (_ssl.c:992)'))': /simple/triton/
ERROR: Could not find a version that satisfies the requirement triton==3.9.0 (from versions: none)
ERROR: No matching distribution found for triton==3.9.0",
            "trust the package index: self-signed certificate in certificate chain; behind a proxy with a certificate of its own, \
             set PIP_CERT (for uv, SSL_CERT_FILE) to a file with that certificate, or adopt a Python that has Triton: `cerith \
             toolchain adopt PYTHON`",
        );
        check(
            "3.9.0",
            "error: Failed to fetch: `https://pypi.org/simple/triton/`
  Caused by: error sending request for url (https://pypi.org/simple/triton/)
  Caused by: client error (Connect)
  Caused by: invalid peer certificate: UnknownIssuer",
            "trust the package index: invalid peer certificate; behind a proxy with a certificate of its own, set PIP_CERT (for uv, \
             SSL_CERT_FILE) to a file with that certificate, or adopt a Python that has Triton: `cerith toolchain adopt PYTHON`",
        );
        check(
            "3.1.0",
            "ERROR: Could not find a version that satisfies the requirement triton==3.1.0 (from versions: none)
ERROR: No matching distribution found for triton==3.1.0",
            &format!(
                "find triton 3.1.0 in the package index: there is no wheel of it for this Python on {}; `cerith toolchain adopt \
                 PYTHON` uses a Python that has Triton",
                std::env::consts::ARCH
            ),
        );
        check(
            "3.9.0",
            "  cause: Because only numpy<=2.5.5 is available and you require numpy==2.99.*, we can conclude",
            "find numpy 2.99.* in the package index: there are other versions",
        );
        check(
            "3.1.0",
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "write /data: the disk is full (about 850 MB are needed while it is installed); set CERITH_HOME to a folder with more \
             room",
        );
        check(
            "3.1.0",
            "one\n\nERROR: other",
            "install 3.1.0 with pip: one\nERROR: other",
        );
    }
}
