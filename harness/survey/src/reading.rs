//! Values that launches pass if a kernel's text leaves them open. See [`super::plan`] for everything that is the same
//! for all kernels, and [`super::alternatives`] for other values.

use std::collections::{BTreeMap, BTreeSet};

/// The values that the plain launch of a kernel passes if its text leaves them open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The dtype of its tensors.
    pub dtype: &'static str,
    /// Whether its flags are on.
    pub flags: bool,
    /// Whether every size is a multiple of its block.
    pub even: bool,
    /// Lanes of a block, if not as usual.
    pub block: Option<i64>,
    /// Values of parameters, as written in a case file, in place of those that their names and uses suggest.
    pub values: BTreeMap<String, String>,
    /// Tensors with a dtype of their own. A parameter that the text does not show to be a tensor is one then.
    pub dtypes: BTreeMap<String, &'static str>,
    /// Tensors with more room than the text shows: how often each of their dimensions is doubled.
    pub rooms: BTreeMap<String, u32>,
}

impl Reading {
    /// All that are worth a try for any kernel, the likeliest first.
    pub const ALL: [Self; 6] = [
        Self::new("f32", true),
        Self::new("f32", false),
        Self::new("f16", true),
        Self::new("f16", false),
        Self::new("i32", true),
        Self::new("i32", false),
    ];

    const fn new(dtype: &'static str, flags: bool) -> Self {
        Self {
            dtype,
            flags,
            even: false,
            block: None,
            values: BTreeMap::new(),
            dtypes: BTreeMap::new(),
            rooms: BTreeMap::new(),
        }
    }

    /// The parameters for which something else is passed than they suggest.
    pub fn parameters(&self) -> BTreeSet<&String> {
        let tensors = self.dtypes.keys().chain(self.rooms.keys());
        self.values.keys().chain(tensors).collect()
    }

    /// Descriptions of all differences from the defaults.
    pub fn words(&self) -> Vec<String> {
        let values = self
            .values
            .iter()
            .map(|(name, value)| format!("`{name}` is {value}"));
        let dtypes = self
            .dtypes
            .iter()
            .map(|(name, dtype)| format!("`{name}` holds {dtype}"));
        let rooms = self.rooms.keys().map(|name| format!("`{name}` has more room"));
        let even = self
            .even
            .then(|| "sizes are multiples of their blocks".to_owned());
        let block = self.block.map(|lanes| format!("blocks have {lanes} lanes"));
        values
            .chain(dtypes)
            .chain(rooms)
            .chain(even)
            .chain(block)
            .collect()
    }
}
