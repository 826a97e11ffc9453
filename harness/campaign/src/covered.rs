//! `cerith coverage --campaign DIR`: the features that the kernels of a campaign had, with counts, and the features that none
//! had. Does not check whether a kernel could have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use cerith_gen::case::Coverage;
use cerith_tile::DType;
use serde_json::json;

use crate::campaign::Campaign;
use cerith_runner::coverage::{CoverageFormat, CoverageOptions};
use cerith_runner::exit::Exit;
use cerith_runner::host::Console;

/// The cell of a combination that no kernel had.
const HOLE: &str = ".";

/// For each word of one kind, the number of kernels that have the operation with it.
type Counts<'a> = BTreeMap<&'a str, u64>;

/// The number of kinds of words: dtypes, shapes, contexts, layouts.
const KINDS: usize = 4;

/// The row of an operation.
#[derive(Default)]
struct Row<'a> {
    counts: [Counts<'a>; KINDS],
    /// The operations that produced its operands.
    after: BTreeSet<&'a str>,
}

/// Prints the coverage of a campaign, and returns the exit code.
pub fn print_campaign_coverage(folder: &Path, options: &CoverageOptions, console: &dyn Console) -> Exit {
    let campaign = match Campaign::resume(folder, None, &[]) {
        Ok(campaign) => campaign,
        Err(error) => {
            console.note(&format!("error: {error}"));
            return Exit::Wrong;
        }
    };
    let Some(seen) = &campaign.seen else {
        console.note(&format!(
            "error: the campaign in {} did not record what its kernels use\n  = help: begin a new one \
             without `--unsteered`",
            folder.display()
        ));
        return Exit::Wrong;
    };
    let coverage = seen.all();
    let rows = build_rows(&coverage);
    let holes = find_holes(&rows);
    match options.format {
        CoverageFormat::Json => {
            let holes: Vec<String> = holes
                .iter()
                .map(|(name, what)| format!("{what} {name}"))
                .collect();
            let all = json!({ "covered": coverage.counts(), "holes": holes });
            console.print(&format!("{all:#}\n"));
        }
        CoverageFormat::Text if options.holes => {
            let lines: String = rows.keys().fold(String::new(), |mut text, operation| {
                let own: Vec<&str> = holes
                    .iter()
                    .filter(|(name, _)| name == operation)
                    .map(|&(_, what)| what)
                    .collect();
                if !own.is_empty() {
                    let _ = writeln!(text, "{operation:<16} never: {}", own.join(" "));
                }
                text
            });
            console.print(&lines);
        }
        CoverageFormat::Text => console.print(&render_table(&rows)),
    }
    console.note(&format!(
        "{} features in {} cases: {} operations; {} pairs of an operation with a dtype, shape, context or \
         layout have no kernel (some of them are impossible)",
        coverage.counts().len(),
        campaign.done,
        rows.len(),
        holes.len()
    ));
    Exit::AsExpected
}

fn build_rows(coverage: &Coverage) -> BTreeMap<&str, Row<'_>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for (feature, &count) in coverage.counts() {
        let words: Vec<&str> = feature.split(' ').collect();
        match words[..] {
            ["op", operation, dtype, shape, context] => {
                let [dtypes, shapes, contexts, _] = &mut rows.entry(operation).or_default().counts;
                *dtypes.entry(dtype).or_default() += count;
                *shapes.entry(shape).or_default() += count;
                *contexts.entry(context).or_default() += count;
            }
            ["after", operation, before] => {
                rows.entry(operation).or_default().after.insert(before);
            }
            ["layout", layout, operation] => {
                let [.., layouts] = &mut rows.entry(operation).or_default().counts;
                *layouts.entry(layout).or_default() += count;
            }
            _ => {}
        }
    }
    rows
}

/// The words of each kind that any operation has. Dtypes are in the order of [`DType`].
fn collect_columns<'a>(rows: &BTreeMap<&'a str, Row<'a>>) -> [Vec<&'a str>; KINDS] {
    std::array::from_fn(|kind| {
        let words = rows.values().flat_map(|row| row.counts[kind].keys().copied());
        let all: BTreeSet<&str> = words.collect();
        let mut all: Vec<&str> = all.into_iter().collect();
        all.sort_by_key(|word| word.parse::<DType>().map_or((1, None), |dtype| (0, Some(dtype))));
        all
    })
}

/// Finds the pairs of an operation and a word that no kernel has, if the word occurs with another operation.
fn find_holes<'a>(rows: &BTreeMap<&'a str, Row<'a>>) -> Vec<(&'a str, &'a str)> {
    let mut holes = Vec::new();
    for (kind, words) in collect_columns(rows).into_iter().enumerate() {
        for word in words {
            let without = rows
                .iter()
                .filter(|(_, row)| !row.counts[kind].contains_key(word));
            holes.extend(without.map(|(&operation, _)| (operation, word)));
        }
    }
    holes
}

fn render_table(rows: &BTreeMap<&str, Row<'_>>) -> String {
    let columns = collect_columns(rows);
    let mut lines = vec![vec!["operation".to_owned(), "after".to_owned()]];
    lines[0].extend(columns.iter().flatten().map(|&word| word.to_owned()));
    for (operation, row) in rows {
        let mut line = vec![(*operation).to_owned(), row.after.len().to_string()];
        for (words, counts) in columns.iter().zip(&row.counts) {
            let cell = |word: &&str| counts.get(*word).map_or(HOLE.to_owned(), u64::to_string);
            line.extend(words.iter().map(cell));
        }
        lines.push(line);
    }
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(String::len).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    lines.iter().fold(String::new(), |mut text, line| {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, &width))| {
                if at == 0 {
                    format!("{cell:width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_kernel_has_is_a_hole() {
        let features = [
            "op sum i8 2d top",
            "op sum f32 1d loop",
            "op sort i8 1d top",
            "after sort sum",
            "layout strided sum",
        ];
        let mut coverage = Coverage::default();
        coverage.add(&features.map(str::to_owned));
        let rows = build_rows(&coverage);
        assert_eq!(
            find_holes(&rows),
            [
                ("sort", "f32"),
                ("sort", "2d"),
                ("sort", "loop"),
                ("sort", "strided")
            ]
        );
        assert_eq!(
            render_table(&rows),
            "operation  after  i8  f32  1d  2d  loop  top  strided\n\
             sort           1   1    .   1   .     .    1        .\n\
             sum            0   1    1   1   1     1    1        1\n"
        );
    }
}
