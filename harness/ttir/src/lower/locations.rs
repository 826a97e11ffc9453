//! Source locations of operations: lines of Python that `loc` names, through calls, or lines of the MLIR. `loc` names
//! only arguments, no other values.

use std::sync::Arc;

use cerith_tile::ir::{Builder, LocId};
use cerith_tile::source::{SourceFile, SourceId, Span};
use rustc_hash::FxHashMap;

use crate::syntax::{Location, Module};

/// The origin of a module.
#[derive(Clone, Debug)]
pub struct Origin<'a> {
    /// The module's text.
    pub text: &'a str,
    /// Its name in messages.
    pub name: &'a str,
    /// The Python files that operations may come from, by their names in `loc`.
    pub files: &'a [(String, Arc<SourceFile>)],
    /// The number of the first column in `loc`: 0 up to Triton 3.1.
    pub first_column: u32,
    /// The number of flags after the strides of a tensor descriptor parameter: 1 (NaN padding) from Triton 3.5, 2
    /// (rounding to tf32) from 3.7.
    pub descriptor_flags: usize,
}

impl<'a> Origin<'a> {
    /// The origin of a module without Python files.
    pub const fn from_text(text: &'a str) -> Self {
        Self {
            text,
            name: "kernel.mlir",
            files: &[],
            first_column: 1,
            descriptor_flags: 0,
        }
    }
}

/// Maximum length of a chain of aliases and names.
const DEEPEST: usize = 64;

pub(super) struct LocationTable<'m> {
    table: FxHashMap<&'m str, &'m Location>,
    files: Vec<(String, Arc<SourceFile>)>,
    /// Files that locations refer to.
    added: FxHashMap<String, SourceId>,
    first_column: u32,
    text: SourceId,
    /// The registered locations.
    interned: FxHashMap<(Span, Option<LocId>), LocId>,
    /// The call that is being inlined.
    pub(super) caller: Option<LocId>,
}

impl<'m> LocationTable<'m> {
    pub fn new(module: &'m Module, origin: &Origin<'_>, text: SourceId) -> Self {
        Self {
            table: module
                .places
                .iter()
                .map(|(name, place)| (name.as_str(), place))
                .collect(),
            files: origin.files.to_vec(),
            added: FxHashMap::default(),
            first_column: origin.first_column,
            text,
            interned: FxHashMap::default(),
            caller: None,
        }
    }

    /// Makes this the location of the operations that follow. Returns the previous one.
    pub fn enter(&mut self, builder: &mut Builder, place: &'m Location, at: usize) -> LocId {
        let found = self.resolve(builder, place, self.caller, 0).or(self.caller);
        let loc = found.unwrap_or_else(|| {
            let span = Span::new(self.text, at as u32, at as u32);
            self.register(builder, span, None)
        });
        builder.set_loc(loc)
    }

    fn register(&mut self, builder: &mut Builder, span: Span, caller: Option<LocId>) -> LocId {
        *self
            .interned
            .entry((span, caller))
            .or_insert_with(|| builder.add_loc(span, caller))
    }

    /// Resolves a location to an available file. If there is none, uses the call that it was inlined at.
    fn resolve(
        &mut self,
        builder: &mut Builder,
        place: &'m Location,
        caller: Option<LocId>,
        depth: usize,
    ) -> Option<LocId> {
        if depth > DEEPEST {
            return None;
        }
        match place {
            Location::Unknown => None,
            Location::Alias(name) => {
                let place = *self.table.get(name.as_str())?;
                self.resolve(builder, place, caller, depth + 1)
            }
            Location::Named(_, inner) => self.resolve(builder, inner, caller, depth + 1),
            Location::Fused(places) => places
                .iter()
                .find_map(|place| self.resolve(builder, place, caller, depth + 1)),
            Location::CallSite(callee, at) => {
                let at = self.resolve(builder, at, caller, depth + 1).or(caller);
                self.resolve(builder, callee, at, depth + 1).or(at)
            }
            Location::File(name, line, column) => {
                let span = self.find_span(builder, name, *line, *column)?;
                Some(self.register(builder, span, caller))
            }
        }
    }

    fn find_span(&mut self, builder: &mut Builder, name: &str, line: u32, column: u32) -> Option<Span> {
        let (_, file) = self.files.iter().find(|(known, _)| known == name)?;
        let column = column.saturating_sub(self.first_column);
        let (start, end) = file.find_byte_range(line, column)?;
        let source = if let Some(&source) = self.added.get(name) {
            source
        } else {
            let source = builder.sources().add(Arc::clone(file));
            self.added.insert(name.to_owned(), source);
            source
        };
        Some(Span::new(source, start, end))
    }

    /// Returns the name that a location gives an argument.
    pub fn argument_name<'a>(&self, place: &'a Location) -> Option<&'a str>
    where
        'm: 'a,
    {
        let mut place = place;
        for _ in 0..DEEPEST {
            match place {
                Location::Named(name, _) => return Some(name),
                Location::Alias(alias) => place = self.table.get(alias.as_str())?,
                _ => return None,
            }
        }
        None
    }
}
