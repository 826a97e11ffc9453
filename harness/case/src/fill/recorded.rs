//! Recorded bytes: an entry of a data archive, as a storage's first contents or as its contents after a recorded run.
//! See [`crate::archive`] for archives themselves.

use std::collections::HashSet;

use cerith_memory::{Pointer, Storage, Storages, Tensor};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use super::element::{takes_addresses, to_address};
use crate::archive::{ArchiveEntry, Archives};
use crate::recorded::Source;
use crate::template::{Template, ValueTemplate};
use crate::yaml::{Key, Node, Yaml};
use cerith_expression::Names;

/// `{ bytes: data.zip/3fa9c2, addresses: { 0: x.data_ptr() } }`.
#[derive(Clone, Debug)]
pub(crate) struct RecordedBytes {
    /// `FILE.zip/ENTRY`.
    source: Template,
    /// Elements that hold addresses.
    addresses: Vec<(u64, Span, ValueTemplate)>,
}

/// The location of the archives that a case file names.
#[derive(Clone, Copy)]
pub(crate) struct ArchiveLookup<'a> {
    pub archives: &'a Archives,
    /// The case file's path.
    pub from: &'a str,
}

impl RecordedBytes {
    /// Reads `FILE.zip/ENTRY`, or a mapping with the keys `bytes` and `addresses`.
    pub fn parse(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let Yaml::Map(pairs) = &node.value else {
            return Some(Self {
                source: parse_source(node, problems)?,
                addresses: Vec::new(),
            });
        };
        let mut read = None;
        let mut addresses = Some(Vec::new());
        for (key, node) in pairs {
            match key.name.as_str() {
                "bytes" => read = parse_source(node, problems),
                "addresses" => addresses = parse_addresses(node, problems),
                _ => {
                    problems.push(key.reject_unknown("recorded bytes", &["bytes", "addresses"]));
                    return None;
                }
            }
        }
        if !pairs.iter().any(|(key, _)| key.name == "bytes") {
            problems.push(
                Diagnostic::error("missing-key", node.span, "recorded bytes without `bytes`")
                    .help("name the archive and the entry: `{ bytes: data.zip/3fa9c2… }`"),
            );
        }
        Some(Self {
            source: read?,
            addresses: addresses?,
        })
    }

    /// Says what is wrong with the place of the bytes, where it is the same at every point of the matrix.
    pub fn check(&self, beside: ArchiveLookup<'_>) -> Result<(), Diagnostic> {
        match self.source.constant() {
            Some(text) => beside
                .archives
                .find(beside.from, text, self.source.span)
                .map(drop),
            None => Ok(()),
        }
    }

    pub fn is_known(&self, names: &Names) -> bool {
        self.addresses.iter().all(|(_, _, value)| value.is_known(names))
    }

    pub fn mentions_any(&self, names: &Names, wanted: &HashSet<String>) -> bool {
        self.addresses
            .iter()
            .any(|(_, _, value)| value.mentions_any(names, wanted))
    }

    /// A description at a point.
    pub fn describe(&self, names: &Names) -> Result<String, Diagnostic> {
        let count = self.addresses.len();
        let text = self.source.render(names)?;
        Ok(match count {
            0 => format!("bytes of {text}"),
            1 => format!("bytes of {text}, and an address"),
            _ => format!("bytes of {text}, and {count} addresses"),
        })
    }

    fn find<'a>(&self, names: &Names, beside: ArchiveLookup<'a>) -> Result<ArchiveEntry<'a>, Diagnostic> {
        let text = self.source.render(names)?;
        beside.archives.find(beside.from, &text, self.source.span)
    }

    /// The location of the bytes. This opens no file.
    pub fn find_source(&self, names: &Names, beside: ArchiveLookup<'_>) -> Result<Source, Diagnostic> {
        Ok(self.find(names, beside)?.into_source())
    }

    /// The bytes for a storage of so many, and where they come from.
    pub fn read_bytes(
        &self,
        storage: &str,
        size: usize,
        names: &Names,
        beside: ArchiveLookup<'_>,
    ) -> Result<(Vec<u8>, Source), Diagnostic> {
        let found = self.find(names, beside)?;
        let bytes = found.read(storage, size)?;
        Ok((bytes, found.into_source()))
    }

    /// Writes bytes and addresses. They lie in the storage as they were recorded, regardless of its tensor.
    pub fn write(
        &self,
        tensor: &Tensor,
        names: &Names,
        storages: &mut Storages,
        beside: ArchiveLookup<'_>,
    ) -> Result<(), Diagnostic> {
        let id = tensor.storage;
        let name = storages.get(id).map_or("?", Storage::name).to_owned();
        let (bytes, _) = self.read_bytes(&name, storages.size(id), names, beside)?;
        storages.write(id, 0, &bytes);
        for pointer in self.evaluate_addresses(tensor, names, storages)? {
            storages.write_pointer(id, pointer.offset, pointer.target, pointer.target_offset);
        }
        Ok(())
    }

    /// The addresses among the elements of a storage's tensor: the first byte, and what is pointed to.
    pub fn evaluate_addresses(
        &self,
        tensor: &Tensor,
        names: &Names,
        storages: &mut Storages,
    ) -> Result<Vec<Pointer>, Diagnostic> {
        let Some((_, first, _)) = self.addresses.first() else {
            return Ok(Vec::new());
        };
        takes_addresses(tensor.dtype, *first)?;
        let count = storages.size(tensor.storage) as u64 / 8;
        let mut found = Vec::with_capacity(self.addresses.len());
        for (element, span, value) in &self.addresses {
            if *element >= count {
                let message = format!("element {element} of a storage of {count}");
                let help = format!("name elements from 0 to {}", count.saturating_sub(1));
                return Err(Diagnostic::error("wrong-count", *span, message).help(help));
            }
            // The null pointer is what its bytes are.
            let target = to_address(&value.evaluate(names, storages)?).flatten();
            let (target, target_offset) = target.ok_or_else(|| {
                Diagnostic::error(
                    "wrong-type",
                    value.span(),
                    "an address of something that is not a tensor",
                )
                .help("name a tensor, or write `x.data_ptr() + 4`")
            })?;
            found.push(Pointer {
                offset: *element as usize * 8,
                target,
                target_offset,
            });
        }
        Ok(found)
    }
}

fn parse_source(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Template> {
    let read = if let Yaml::Str(text) = &node.value {
        Template::parse(text, node.span, node.text_at)
    } else {
        let message = format!("`bytes` is {}", node.value.kind());
        Err(Diagnostic::error("wrong-type", node.span, message)
            .help("name the archive and the entry: `data.zip/3fa9c2…`"))
    };
    read.map_err(|problem| problems.push(problem)).ok()
}

/// `{ 0: x.data_ptr(), 3: "y.data_ptr() + 16" }`.
fn parse_addresses(node: &Node, problems: &mut Vec<Diagnostic>) -> Option<Vec<(u64, Span, ValueTemplate)>> {
    let wrong = |span, message: String| {
        Diagnostic::error("wrong-type", span, message)
            .help("write elements and their addresses: `{ 0: x.data_ptr(), 3: \"y.data_ptr() + 16\" }`")
    };
    let Yaml::Map(pairs) = &node.value else {
        problems.push(wrong(node.span, format!("`addresses` is {}", node.value.kind())));
        return None;
    };
    let read: Vec<_> = pairs
        .iter()
        .filter_map(|(key, node): &(Key, Node)| {
            let element = key.name.parse().map_err(|_| {
                problems.push(wrong(
                    key.span,
                    format!("`{}` is not an element's number", key.name),
                ));
            });
            let value = ValueTemplate::parse(node, problems);
            Some((element.ok()?, key.span, value?))
        })
        .collect();
    (read.len() == pairs.len()).then_some(read)
}
