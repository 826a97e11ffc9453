//! The files of a corpus before they are parsed, and how one names another. See `read` for finding them on disk, and
//! `schema`, `module` and `archive` for their contents.

/// Bytes of the longest case file or kernel that is read. Spans are of 32 bits.
pub const MAX_TEXT: usize = 16 << 20;

/// One file given to [`crate::Corpus::load`].
#[derive(Clone, Debug)]
pub struct Input {
    /// The path from the corpus root, with `/` between folders.
    pub path: String,
    /// The path as a user would write it, for messages.
    pub name: String,
    /// The content, or why there is none.
    pub content: Result<Vec<u8>, Missing>,
}

impl Input {
    /// A file whose text is at hand; messages call it by its path.
    pub fn from_text(path: impl Into<String>, text: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            name: path.clone(),
            path,
            content: Ok(text.into().into_bytes()),
        }
    }
}

/// The reason why a file that is there has no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It is a link that leads out of the corpus.
    Outside,
    /// It looks like a part of the corpus and is not read, because of its name or its place.
    Skipped(String),
}

/// `relative` from the folder of `from`, without `.` and `..`; `None` when it leaves the root.
pub(crate) fn join(from: &str, relative: &str) -> Option<String> {
    if relative.starts_with('/') || relative.contains(['\\', '\0']) {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_under_the_root() {
        assert_eq!(join("layout/a.yaml", "k.py").as_deref(), Some("layout/k.py"));
        assert_eq!(
            join("layout/a.yaml", "../alias/./k.py").as_deref(),
            Some("alias/k.py")
        );
        assert_eq!(join("a.yaml", "../k.py"), None);
        assert_eq!(join("layout/a.yaml", "../../layout/k.py"), None);
        assert_eq!(join("a.yaml", "/etc/k.py"), None);
        assert_eq!(join("a.yaml", "..\\k.py"), None);
    }
}
