//! Resolves `gives` at one point of the matrix. See `schema` for reading it.

use cerith_memory::{ByteState, Storage, Storages};
use cerith_tile::diagnostic::Diagnostic;

use super::state::Resolver;
use crate::expected_content::ExpectedContent;
use crate::fill::Fill;
use crate::schema::StorageSchema;
use crate::yaml::Key;
use cerith_expression::Value;
use cerith_python::nearest::suggest_spelling;

impl Resolver<'_> {
    /// Works out what storages hold at the end; what is wrong with it goes to the problems.
    pub(super) fn resolve_expected_contents(
        &mut self,
        gives: &[(Key, Fill)],
        storages: &[StorageSchema],
    ) -> Vec<ExpectedContent> {
        let mut all = Vec::with_capacity(gives.len());
        for (key, fill) in gives {
            match self.resolve_expected_content(key, fill, storages) {
                Ok(given) => all.push(given),
                Err(problem) => self.problems.push(problem),
            }
        }
        all
    }

    fn resolve_expected_content(
        &self,
        key: &Key,
        fill: &Fill,
        storages: &[StorageSchema],
    ) -> Result<ExpectedContent, Diagnostic> {
        let named = storages.iter().map(|storage| storage.key.name.as_str());
        let tensor = match self.names.get(&key.name) {
            Some(Value::Tensor(tensor)) if named.clone().any(|name| name == key.name) => tensor,
            _ => {
                let message = format!("`{}` is not a storage of the case", key.name);
                let mut problem = Diagnostic::error("unknown-name", key.span, message);
                problem.help = suggest_spelling(&key.name, named);
                return Err(problem);
            }
        };
        if self.storages.get(tensor.storage).is_some_and(Storage::is_sparse) {
            let message = format!(
                "storage `{}` of {} bytes is too large for `gives`, which needs a value for every element",
                key.name,
                self.storages.size(tensor.storage)
            );
            return Err(Diagnostic::error("too-large", key.span, message)
                .help("copy the elements to a smaller storage in the kernel, and give those"));
        }
        // Storages of the same sizes, so that addresses are the case's.
        let mut after = Storages::new();
        for (_, storage) in self.storages.iter() {
            let bytes = storage.size() as u64;
            let added = if storage.is_sparse() {
                after.add_sparse(storage.name(), bytes)
            } else {
                after.add(storage.name(), bytes)
            };
            added.map_err(|error| {
                Diagnostic::error("too-large", key.span, error.to_string()).help("make the shapes smaller")
            })?;
        }
        fill.write(tensor, &self.names, &mut after, self.archive_lookup)?;
        let content = after.get(tensor.storage).cloned().unwrap_or_default();
        if !content.states().contains(&ByteState::Init) && !content.bytes().is_empty() {
            return Err(Diagnostic::error(
                "says-nothing",
                key.span,
                format!("no element of `{}` is given", key.name),
            )
            .help("give at least one value, or leave the storage out"));
        }
        Ok(ExpectedContent {
            storage: tensor.storage,
            content,
        })
    }
}
