//! Readings that differ from another in one value. Engines decide which reading a kernel accepts.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::reading::Reading;
use cerith_launcher::skeleton::{quote_literal, required_parameters};
use cerith_module::kernel::Parameter;
use cerith_module::usage::Stride;

/// Dtypes that a tensor may have which is not like the others.
const DTYPES: [&str; 8] = ["i32", "f32", "f16", "u8", "i8", "i64", "i1", "f8e4m3"];

/// Values that a number may have which is known when a kernel is compiled.
const CONSTANTS: [&str; 14] = [
    "1",
    "0",
    "2",
    "4",
    "16",
    "32",
    "64",
    "128",
    "true",
    "false",
    "null",
    "tl.float32",
    "tl.float16",
    "tl.int32",
];

/// Values that a number may have which is passed at run time.
const NUMBERS: [&str; 10] = ["1", "0", "2", "4", "16", "32", "64", "128", "0.5", "null"];

/// Values of a size.
const SIZES: [&str; 7] = ["16", "32", "64", "128", "1", "2", "4"];

/// Lanes of a block whose size nothing determines.
const BLOCKS: [i64; 3] = [64, 16, 128];

/// How often a tensor's room may be doubled.
const MAX_DOUBLINGS: u32 = 4;

impl Draft {
    /// The readings that differ from this one in one thing. Those about parameters in `named` come first: the failure
    /// of the launch names them. Other dtypes are worth a try only if the kernel was rejected: a value of another
    /// dtype hides what a kernel does, and a kernel that compiles takes this one.
    pub fn list_changes(
        &self,
        reading: &Reading,
        named: &BTreeSet<String>,
        is_rejected: bool,
    ) -> Vec<Reading> {
        let (named, others): (Vec<&Parameter>, Vec<&Parameter>) =
            required_parameters(&self.function).partition(|parameter| named.contains(&parameter.name));
        // The text shows the other values that these may have.
        let (choices, others): (Vec<&Parameter>, Vec<&Parameter>) = others
            .into_iter()
            .partition(|parameter| self.is_choice(&parameter.name));
        let mut all = Vec::new();
        for parameter in named.into_iter().chain(choices) {
            self.add_changes(parameter, reading, is_rejected, &mut all);
        }
        if !reading.even {
            all.push(Reading {
                even: true,
                ..reading.clone()
            });
        }
        all.extend(BLOCKS.into_iter().map(|lanes| Reading {
            block: Some(lanes),
            ..reading.clone()
        }));
        for parameter in others {
            self.add_changes(parameter, reading, is_rejected, &mut all);
        }
        all.retain(|other| other != reading);
        all
    }

    /// Whether a parameter decides what the kernel does.
    fn is_choice(&self, name: &str) -> bool {
        let usage = &self.usage;
        let texts = usage.texts.iter().map(|(one, _)| one);
        let mut compared = texts.chain(usage.numbers.iter().map(|(one, _)| one));
        usage.flags.contains(name) || compared.any(|one| one == name)
    }

    fn add_changes(
        &self,
        parameter: &Parameter,
        reading: &Reading,
        is_rejected: bool,
        all: &mut Vec<Reading>,
    ) {
        let name = &parameter.name;
        let usage = &self.usage;
        let with_dtype = |dtype: &'static str| {
            let mut one = reading.clone();
            one.dtypes.insert(name.clone(), dtype);
            one
        };
        let is_tensor = usage.tensors.iter().any(|tensor| tensor.name == *name);
        if is_tensor || reading.dtypes.contains_key(name) {
            let doubled = reading.rooms.get(name).copied().unwrap_or(0);
            if doubled < MAX_DOUBLINGS {
                let mut one = reading.clone();
                one.rooms.insert(name.clone(), doubled + 1);
                all.push(one);
            }
            if is_rejected {
                all.extend(DTYPES.into_iter().map(with_dtype));
            }
            return;
        }
        let mut dimensions = usage.tensors.iter().flat_map(|tensor| &tensor.dimensions);
        if dimensions.any(|dimension| dimension.stride == Stride::Param(name.clone())) {
            return;
        }
        let texts = usage.texts.iter().filter(|(one, _)| one == name);
        let numbers = usage.numbers.iter().filter(|(one, _)| one == name);
        let mut values: Vec<String> = texts
            .map(|(_, text)| quote_literal(text))
            .chain(numbers.map(|(_, number)| number.to_string()))
            .collect();
        if usage.flags.contains(name) {
            values.extend(["true", "false"].map(str::to_owned));
        }
        let usual: &[&str] = if self.sizes().contains(name) {
            &SIZES
        } else if parameter.constexpr {
            &CONSTANTS
        } else {
            &NUMBERS
        };
        values.extend(usual.iter().map(|value| (*value).to_owned()));
        for value in values {
            let mut one = reading.clone();
            one.values.insert(name.clone(), value);
            if !all.contains(&one) {
                all.push(one);
            }
        }
        if is_rejected && !parameter.constexpr {
            all.extend(["f32", "i32", "i64"].map(with_dtype));
        }
    }
}
