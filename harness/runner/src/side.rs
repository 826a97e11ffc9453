//! A Triton as a user names it: a version, a Python, or a build.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::str::FromStr;

use cerith_tile::rules::Version;
use cerith_toolchain::ToolchainId;
use cerith_toolchain::id::is_build;

/// One side of a bump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// A toolchain by its name.
    Toolchain(ToolchainId),
    /// A Python, which is to be adopted.
    Python(PathBuf),
    /// A build that was adopted, by its name.
    Build(String),
}

/// The text names no side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSide {
    /// It is a torch.
    #[error("`{text}` is a torch; name the Triton in it: {triton}")]
    Torch {
        /// The text that the user gave.
        text: String,
        /// The Triton that this torch brings.
        triton: Version,
    },
    /// It is older than the language that is known.
    #[error("Cerith knows the language from Triton 3.0.0 on")]
    Early,
    /// It is a path that leads nowhere.
    #[error("there is no Python at {0}")]
    NoPython(String),
    /// It is nothing at all.
    #[error("{0}")]
    Nothing(String),
}

impl FromStr for Side {
    type Err = BadSide;

    fn from_str(text: &str) -> Result<Self, BadSide> {
        match text.parse::<ToolchainId>() {
            Ok(id) if id.torch().is_some() => Err(BadSide::Torch {
                text: text.to_owned(),
                triton: id.triton(),
            }),
            Ok(id) if id.triton() < Version::new(3, 0, 0) => Err(BadSide::Early),
            Ok(id) => Ok(Self::Toolchain(id)),
            Err(bad) => {
                let path = Path::new(text);
                let inside = ["bin/python", ".venv/bin/python"].map(|python| path.join(python));
                if path.is_file() {
                    Ok(Self::Python(path.to_owned()))
                } else if let Some(python) = inside.into_iter().find(|python| python.is_file()) {
                    Ok(Self::Python(python))
                } else if is_build(text) {
                    Ok(Self::Build(text.to_owned()))
                } else if text.contains(MAIN_SEPARATOR) {
                    Err(BadSide::NoPython(text.to_owned()))
                } else {
                    Err(BadSide::Nothing(bad.problem))
                }
            }
        }
    }
}
