//! A single case file whose matrix varies sizes at and around blocks, dtypes, and padding of rows, as a survey does.
//! Engines decide which reading the kernel accepts.

use std::fmt::Write as _;

use super::place::Layout;
use super::plan::{PADDING, Plan, Planner};
use super::written::{LaunchText, render_list};
use cerith_module::kernel::ParameterKind;
use cerith_module::usage::{Stride, TensorUse};

/// The matrix variable for the dtype of tensors.
const DTYPE: &str = "dtype";

/// Sizes whose values are multiplied with each other. More have one value each.
const VARIED_MOST: usize = 4;

impl Planner<'_> {
    /// A case file with a matrix; `None` if no launch can be written, or a parameter has the name of a matrix
    /// variable.
    pub fn render_matrix_case(&self) -> Option<String> {
        let is_positional = |kind: ParameterKind| kind == ParameterKind::PositionalOnly;
        let mut parameters = self.function.parameters.iter();
        if parameters.any(|one| is_positional(one.kind) || [DTYPE, PADDING].contains(&one.name.as_str())) {
            return None;
        }
        let base = self.base();
        let dtypes: &[&str] = if base.dtype == "f32" {
            &["f32", "f16", "bf16"]
        } else {
            &[]
        };
        let padded = self.usage.tensors.iter().filter(|tensor| has_rows(tensor));
        let plan = Plan {
            is_matrix: true,
            dtype: if dtypes.is_empty() {
                base.dtype
            } else {
                "\"{dtype}\""
            },
            layouts: padded
                .map(|tensor| (tensor.name.clone(), Layout::Padded))
                .collect(),
            ..base
        };
        Some(self.render_file(&plan, dtypes, &self.build_launch_text(&plan)?))
    }

    fn render_file(&self, plan: &Plan, dtypes: &[&str], written: &LaunchText) -> String {
        let name = &self.function.name;
        let mut text = format!(
            "# Written by `cerith import`: replace the values that are marked as guessed, and write `about`.\n\
             about: {name} as `cerith import` found it.\n\
             kernel: {}:{name}\n",
            self.path
        );
        let mut matrix = String::new();
        for (nth, (size, value)) in plan.sizes.iter().enumerate() {
            let (values, why) = self.choose_values(size, *value, nth, plan.sizes.len());
            // Writing to a string does not fail.
            let _ = writeln!(matrix, "  {size}: {values:?}  # {why}");
        }
        if !dtypes.is_empty() {
            let _ = writeln!(matrix, "  {DTYPE}: [{}]", dtypes.join(", "));
        }
        if !plan.layouts.is_empty() {
            let _ = writeln!(
                matrix,
                "  {PADDING}: [0, {}]  # elements between rows",
                plan.row_padding().value()
            );
        }
        if !matrix.is_empty() {
            let _ = write!(text, "matrix:\n{matrix}");
        }
        let _ = write!(text, "storages:\n{}", written.storages);
        if !written.tensors.is_empty() {
            text.push_str("tensors:\n");
            for (name, view) in &written.tensors {
                let _ = writeln!(text, "  {name}: \"{view}\"");
            }
        }
        let _ = write!(
            text,
            "launches:\n  - grid: {}\n    args:",
            render_list(&written.grid)
        );
        let guessed = self.guessed();
        for (name, value) in &written.args {
            let is_guess = guessed.contains(name) || self.usage.flags.contains(name);
            let mark = if is_guess { "  # guessed" } else { "" };
            let _ = write!(text, "\n      {name}: {value}{mark}");
        }
        text.push('\n');
        text
    }

    /// The values of a size, and a description of them. The more sizes there are, the fewer values each has.
    fn choose_values(&self, size: &str, value: i64, nth: usize, sizes: usize) -> (Vec<i64>, String) {
        if self.reading.even || self.reading.values.contains_key(size) {
            return (vec![value], "guessed".to_owned());
        }
        let many = nth >= VARIED_MOST;
        let (mut values, why) = match (self.block_of(size), sizes) {
            (Some((lanes, _)), _) if many => (vec![value], format!("beside a block of {lanes}")),
            (Some((lanes, true)), 1) => (
                vec![0, 1, value, lanes - 1, lanes],
                format!("up to a block of {lanes}"),
            ),
            (Some((lanes, true)), 2) => (vec![1, lanes - 1, lanes], format!("up to a block of {lanes}")),
            (Some((lanes, true)), _) => (vec![lanes - 1, lanes], format!("up to a block of {lanes}")),
            (Some((lanes, false)), 1) => {
                let around = vec![0, 1, lanes - 1, lanes, lanes + 1, value];
                (around, format!("none, and around a block of {lanes}"))
            }
            (Some((lanes, false)), 2) => {
                let around = vec![0, lanes - 1, lanes, lanes + 1];
                (around, format!("none, and around a block of {lanes}"))
            }
            (Some((lanes, false)), _) => (vec![lanes, lanes + 1], format!("around a block of {lanes}")),
            (None, _) if many => (vec![value], "any number".to_owned()),
            (None, 1 | 2) => (vec![1, value, 16], "any number".to_owned()),
            (None, _) => (vec![1, value], "any number".to_owned()),
        };
        values.sort_unstable();
        values.dedup();
        values.retain(|value| *value >= 0);
        (values, why)
    }
}

/// Whether a tensor has rows, and the distance between them is a parameter.
fn has_rows(tensor: &TensorUse) -> bool {
    let mut dimensions = tensor.dimensions.iter();
    tensor.dimensions.len() > 1 && dimensions.any(|one| matches!(one.stride, Stride::Param(_)))
}
