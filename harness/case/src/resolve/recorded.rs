//! Resolves `recorded` at one point of the matrix: the bytes after a recorded run. See `schema` for reading it.

use cerith_memory::{Pointer, Storage, StorageId};
use cerith_tile::diagnostic::Diagnostic;

use super::state::Resolver;
use crate::fill::{Fill, RecordedBytes};
use crate::recorded::{After, Ending, RecordedRun};
use crate::schema::{RecordedSchema, StorageSchema};
use crate::yaml::Key;
use cerith_expression::Value;
use cerith_python::nearest::suggest_spelling;

/// The bytes of an address.
const ADDRESS: usize = 8;

impl Resolver<'_> {
    /// Resolves the recorded run; `None` if there was a problem.
    pub(super) fn resolve_recorded(
        &mut self,
        schema: &RecordedSchema,
        storages: &[StorageSchema],
    ) -> Option<RecordedRun> {
        let ending = match (&schema.raised, &schema.after) {
            (Some(raised), _) => Ending::Raised {
                kind: raised.kind.clone(),
                message: raised.message.clone(),
                compiling: raised.compiling,
            },
            (None, None) => Ending::Unknown,
            (None, Some(after)) => {
                let mut left = Vec::with_capacity(after.len());
                for (key, bytes) in after {
                    match self.resolve_after(key, bytes, storages) {
                        Ok(after) => left.push(after),
                        Err(problem) => self.problems.push(problem),
                    }
                }
                if left.len() < after.len() {
                    return None;
                }
                Ending::Finished(left)
            }
        };
        Some(RecordedRun {
            engine: schema.engine.clone(),
            ending,
        })
    }

    fn resolve_after(
        &mut self,
        key: &Key,
        recorded: &RecordedBytes,
        storages: &[StorageSchema],
    ) -> Result<After, Diagnostic> {
        let at = storages.iter().position(|storage| storage.key.name == key.name);
        let tensor = match self.names.get(&key.name) {
            Some(Value::Tensor(tensor)) if at.is_some() => tensor.clone(),
            _ => {
                let message = format!("`{}` is not a storage of the case", key.name);
                let mut problem = Diagnostic::error("unknown-name", key.span, message);
                problem.help = suggest_spelling(
                    &key.name,
                    storages.iter().map(|storage| storage.key.name.as_str()),
                );
                return Err(problem);
            }
        };
        let id = tensor.storage;
        let size = self.storages.size(id);
        if self.storages.get(id).is_some_and(Storage::is_sparse) {
            let message = format!("recorded bytes of storage `{}`, which has {size} bytes", key.name);
            return Err(Diagnostic::error("too-large", key.span, message)
                .help("leave out what the storage holds after the run"));
        }
        let (bytes, source) = recorded.read_bytes(&key.name, size, &self.names, self.archive_lookup)?;
        let mut pointers = recorded.evaluate_addresses(&tensor, &self.names, &mut self.storages)?;
        let fill = at.and_then(|at| storages.get(at)?.fill.as_ref());
        let kept = self.find_kept_addresses(id, fill, &bytes)?;
        for pointer in kept {
            if !pointers.iter().any(|other| other.offset == pointer.offset) {
                pointers.push(pointer);
            }
        }
        pointers.sort_unstable_by_key(|pointer| pointer.offset);
        Ok(After {
            storage: id,
            bytes,
            pointers,
            source,
        })
    }

    /// The addresses that a run left where they were: its own bytes of them are the same before and after.
    fn find_kept_addresses(
        &self,
        id: StorageId,
        fill: Option<&Fill>,
        after: &[u8],
    ) -> Result<Vec<Pointer>, Diagnostic> {
        let storage = self.storages.get(id);
        let pointers = storage.map_or(&[][..], Storage::pointers);
        let Some(Fill::RecordedRun(before)) = fill.filter(|_| !pointers.is_empty()) else {
            return Ok(Vec::new());
        };
        let name = storage.map_or("?", Storage::name);
        let (before, _) = before.read_bytes(name, after.len(), &self.names, self.archive_lookup)?;
        let same = |pointer: &&Pointer| {
            let place = pointer.offset..pointer.offset + ADDRESS;
            before.get(place.clone()) == after.get(place)
        };
        Ok(pointers.iter().filter(same).copied().collect())
    }
}
