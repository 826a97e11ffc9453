//! Traced kernels, kept by the inputs of a trace. See [`super::traces`] for kernels with quirks.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use cerith_frontend::{Refused, Request};
use cerith_tile::fault::{Fault, is_planted};
use cerith_tile::ir::Function;
use cerith_tile::source::SourceFile;

use super::kernel::Kernel;

/// The maximum number of traced kernels that are kept. A run over cases that share nothing stays within this.
const CACHED: usize = 512;

/// And how many bytes they may take, by [`estimate_bytes`]: what loops unrolled is thousands of operations.
pub(super) const CACHED_BYTES: usize = 96 << 20;

/// The traced kernels of late, with their weight. They all go at once when there are too many.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub entries: HashMap<String, Entry>,
    bytes: usize,
}

impl Cache {
    /// Keeps another one.
    pub fn insert(&mut self, key: String, entry: Entry) {
        let bytes = entry
            .kernel
            .as_ref()
            .map_or(0, |kernel| estimate_bytes(&kernel.traced.function));
        if self.entries.len() >= CACHED || self.bytes.saturating_add(bytes) > CACHED_BYTES {
            self.entries.clear();
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.entries.insert(key, entry);
    }
}

/// Estimates the bytes of a kernel that was prepared and launched: the facts about each value, and its lanes.
pub(super) fn estimate_bytes(function: &Function) -> usize {
    function
        .values
        .iter()
        .map(|value| value.ty.numel().saturating_mul(8).saturating_add(VALUE))
        .fold(0, usize::saturating_add)
}

/// About what a value takes besides its lanes, with the operation that made it, in a kernel and its prepared program.
const VALUE: usize = 640;

/// A traced kernel or why there is none, with the file, which keeps the address that the key names it by.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub kernel: Result<Arc<Kernel>, Arc<Refused>>,
    pub _file: Arc<SourceFile>,
}

/// The key of a kernel, without the quirks that are followed. A file is named by its address, which the cache keeps alive.
pub(super) fn build_key(request: &Request) -> String {
    let mut key = String::with_capacity(160);
    let Request {
        file,
        modules: _,
        kernel,
        positional,
        keyword,
        options,
        rules,
    } = request;
    let keyword = if is_planted(Fault::CacheForgetsConstants) {
        &keyword[..0]
    } else {
        &keyword[..]
    };
    let _ = write!(
        key,
        "{:p} {kernel} {positional:?} {keyword:?} {options:?} {} {:?}",
        Arc::as_ptr(file),
        rules.version,
        rules.except
    );
    key
}
