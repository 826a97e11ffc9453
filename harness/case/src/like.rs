//! Reference functions that kernels are compared with: their names. Nothing executes them here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cerith_module::kernel::Module;

/// The location of a reference function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LikeSource {
    /// A file.
    File(PathBuf),
    /// An installed module: `torch.nn.functional`.
    Module(String),
}

/// A reference function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    /// Its location.
    pub source: LikeSource,
    /// Its name there.
    pub function: String,
}

/// A text that names no reference function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no function: write a file and a function, `ref.py:softmax`, or a module's, `torch.softmax`"
)]
pub struct BadLike(pub String);

impl std::str::FromStr for Like {
    type Err = BadLike;

    fn from_str(text: &str) -> Result<Self, BadLike> {
        let is_name = |name: &str| {
            let is_part = |part: &str| {
                let mut letters = part.chars();
                letters
                    .next()
                    .is_some_and(|first| first.is_alphabetic() || first == '_')
                    && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
            };
            name.split('.').all(is_part)
        };
        let found = match text.rsplit_once(':') {
            Some((file, function)) if Path::new(file).extension().is_some_and(|end| end == "py") => {
                Some((LikeSource::File(PathBuf::from(file)), function))
            }
            Some(_) => None,
            None => text
                .rsplit_once('.')
                .filter(|(module, function)| is_name(module) && *function != "py")
                .map(|(module, function)| (LikeSource::Module(module.to_owned()), function)),
        };
        match found {
            Some((source, function)) if is_name(function) => Ok(Self {
                source,
                function: function.to_owned(),
            }),
            _ => Err(BadLike(text.to_owned())),
        }
    }
}

impl std::fmt::Display for Like {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.source {
            LikeSource::File(file) => write!(f, "{}:{}", file.display(), self.function),
            LikeSource::Module(module) => write!(f, "{module}.{}", self.function),
        }
    }
}

/// The reference function of a case.
#[derive(Clone, Debug)]
pub struct CaseLike {
    /// As the case file names it.
    pub written: Like,
    /// Its file; `None` for a function of an installed module.
    pub module: Option<Arc<Module>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_of_files_or_of_modules() {
        for (text, source, function) in [
            ("ref.py:softmax", LikeSource::File("ref.py".into()), "softmax"),
            (
                "a/b.py:Class.method",
                LikeSource::File("a/b.py".into()),
                "Class.method",
            ),
            ("torch.softmax", LikeSource::Module("torch".to_owned()), "softmax"),
            (
                "torch.nn.functional.softmax",
                LikeSource::Module("torch.nn.functional".to_owned()),
                "softmax",
            ),
        ] {
            let like: Like = text.parse().expect("a function");
            assert_eq!((&like.source, like.function.as_str()), (&source, function));
            assert_eq!(like.to_string(), text);
        }
        for text in [
            "",
            "softmax",
            "ref.py",
            "ref.py:",
            "ref.py:a b",
            "ref.txt:softmax",
            "a..b",
            ":f",
            "os.system('x')",
        ] {
            assert_eq!(text.parse::<Like>(), Err(BadLike(text.to_owned())), "{text}");
        }
    }
}
