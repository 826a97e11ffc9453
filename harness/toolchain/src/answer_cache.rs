//! Answers of interpreters, kept in a folder by their request, so that a hundred runs of one corpus ask once. Only in builds with
//! the feature `planted-faults`: a planted fault may change a request, but never the answer to the same request.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Keeps the answers of this process in a folder, and takes those that are there.
pub fn keep_in(folder: PathBuf) {
    // A second folder would have to wait for the next process.
    let _ = FOLDER.set(folder);
}

/// The path of a frame's answer, which may not exist yet.
pub(crate) fn place(toolchain: &str, frame: &[u8]) -> Option<PathBuf> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(toolchain.as_bytes()).update(b"\0").update(frame);
    FOLDER
        .get()
        .map(|folder| folder.join(hasher.finalize().to_hex().as_str()))
}

/// A kept answer: header, blobs, stderr.
pub(crate) fn find(place: &Path) -> Option<(Vec<u8>, Vec<u8>, String)> {
    let all = fs::read(place).ok()?;
    let (lengths, rest) = all.split_first_chunk::<16>()?;
    let (header, blobs) = lengths.split_at(8);
    let length = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?) as usize);
    let (header, rest) = rest.split_at_checked(length(header)?)?;
    let (blobs, stderr) = rest.split_at_checked(length(blobs)?)?;
    Some((
        header.to_vec(),
        blobs.to_vec(),
        String::from_utf8_lossy(stderr).into_owned(),
    ))
}

/// Keeps an answer. One that cannot be kept is asked for again.
pub(crate) fn keep(place: Option<&Path>, header: &[u8], blobs: &[u8], stderr: &str) {
    let Some(place) = place else { return };
    let mut all = Vec::with_capacity(16 + header.len() + blobs.len() + stderr.len());
    all.extend((header.len() as u64).to_le_bytes());
    all.extend((blobs.len() as u64).to_le_bytes());
    all.extend(header);
    all.extend(blobs);
    all.extend(stderr.as_bytes());
    // Another process may look for it meanwhile: it is there as a whole, or not.
    let writing = place.with_extension(std::process::id().to_string());
    if fs::write(&writing, all).is_ok() {
        let _ = fs::rename(writing, place);
    }
}
