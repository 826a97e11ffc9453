//! The stable ids of findings: a hash of the kernel, the code and the text of the line, so an id survives moved lines.

use std::collections::BTreeMap;

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 16;

/// Numbers the equal findings of a kernel, so that each has its own id.
#[derive(Default)]
pub struct Ids {
    counts: BTreeMap<String, u32>,
}

impl Ids {
    /// The id of the next finding.
    pub fn next(&mut self, file: &str, kernel: &str, code: &str, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let text = [file, kernel, code, &words.join(" ")].join("\0");
        let count = self.counts.entry(text.clone()).or_default();
        let hash = blake3::hash(format!("{text}\0{count}").as_bytes()).to_hex();
        *count += 1;
        hash.as_str().chars().take(ID_DIGITS).collect()
    }
}
