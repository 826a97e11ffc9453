//! `cerith coverage`: which names of Triton's language the reference knows, and how many cases use each.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use cerith_case::Shard;
use cerith_engine::Reference;
use cerith_frontend::coverage::{Support, canonicalize_name, check_support, has_dtypes};
use cerith_report::{Palette, Tone};
use cerith_tile::DType;
use cerith_tile::rules::Rules;
use cerith_toolchain::names::{NamesError, public_names};
use cerith_toolchain::{Home, HomeError, Pool, ToolchainId};
use serde_json::json;

use crate::corpus::{CorpusError, Selected};
use crate::exit::Exit;
use crate::host::Console;

/// Options of the coverage table.
#[derive(Clone, Debug)]
pub struct CoverageOptions {
    /// Names, or beginnings of names: `tl.atomic`, `tensor.__`.
    pub names: Vec<String>,
    /// The installed Triton whose language is shown.
    pub triton: ToolchainId,
    /// Show only names that the reference lacks, or does not know on some dtype.
    pub holes: bool,
    /// Output format.
    pub format: CoverageFormat,
    /// The folder of case files, as in `cerith run`.
    pub cases: Option<PathBuf>,
}

/// How a table of names is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageFormat {
    /// A table.
    Text,
    /// One JSON object: each dtype on its own, with reasons.
    Json,
}

/// The reason why there is no table.
#[derive(Debug, thiserror::Error)]
enum CoverageError {
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error("error: failed to {0}")]
    Home(#[from] HomeError),
    #[error(
        "error: Triton {0} is not installed, and the names are read from it\n  = help: `cerith toolchain add {0}`"
    )]
    NotInstalled(ToolchainId),
    #[error("error: failed to start Triton {triton}: {error}")]
    Start { triton: ToolchainId, error: io::Error },
    #[error("error: failed to {0}")]
    Names(#[from] NamesError),
    #[error(
        "error: Triton {triton} has no name that begins with {}\n  = help: names are spelled `tl.load`, `tl.math.exp`, \
         `tensor.sum`, `tl.extra.libdevice.acos`",
        names.join(", ")
    )]
    NoName { triton: ToolchainId, names: Vec<String> },
}

/// Kinds of dtypes, a column each.
const KINDS: [(&str, &[DType]); 7] = [
    ("bool", &[DType::I1]),
    ("int", &[DType::I8, DType::I16, DType::I32, DType::I64]),
    ("uint", &[DType::U8, DType::U16, DType::U32, DType::U64]),
    ("half", &[DType::F16, DType::BF16]),
    ("f32", &[DType::F32]),
    ("f64", &[DType::F64]),
    ("fp8", &[DType::F8E4NV, DType::F8E5, DType::F8E4B15]),
];

/// A public name and its coverage.
struct Row {
    name: String,
    /// By dtype. A name that does not depend on dtypes has one answer without a dtype.
    answers: Vec<(Option<DType>, Support)>,
    /// Cases that use it.
    cases: usize,
    /// Cases that use it on a dtype.
    by_dtype: BTreeMap<DType, usize>,
}

/// How many cases use each name.
#[derive(Default)]
struct Counts {
    names: HashMap<String, usize>,
    dtypes: HashMap<(String, DType), usize>,
}

/// Prints the table, and returns the exit code.
pub fn print_coverage(options: &CoverageOptions, console: &dyn Console) -> Exit {
    match build_rows(options, console) {
        Ok(rows) => {
            let shown: Vec<&Row> = rows
                .iter()
                .filter(|row| !options.holes || row.has_hole())
                .collect();
            let holes = rows.iter().filter(|row| row.is_hole()).count();
            let text = match options.format {
                CoverageFormat::Text => render_table(&shown, console.palette()),
                CoverageFormat::Json => render_json(options, &shown),
            };
            console.print(&text);
            console.note(&describe_coverage(&rows, holes, options));
            Exit::unexpected_if(holes > 0)
        }
        Err(error) => {
            console.note(&error.to_string());
            Exit::Wrong
        }
    }
}

impl Row {
    /// Whether the reference has no such name.
    fn is_hole(&self) -> bool {
        self.answers.iter().any(|(_, answer)| *answer == Support::Missing)
    }

    /// Whether there is something that the reference does not know about it.
    fn has_hole(&self) -> bool {
        let unknown = |answer: &Support| matches!(answer, Support::Missing | Support::Unsupported(_));
        self.answers.iter().any(|(_, answer)| unknown(answer))
    }
}

fn build_rows(options: &CoverageOptions, console: &dyn Console) -> Result<Vec<Row>, CoverageError> {
    let selected = Selected::open(options.cases.as_deref(), &[])?;
    let home = Home::discover()?;
    let toolchain = home
        .resolve(&options.triton)
        .ok_or_else(|| CoverageError::NotInstalled(options.triton.clone()))?;
    let rules = Rules::from_version(options.triton.triton());
    let pool = Pool::new(toolchain, 1).map_err(|error| CoverageError::Start {
        triton: options.triton.clone(),
        error,
    })?;
    let names = public_names(&pool)?;
    let counts = count_uses(&selected, rules, console);
    let mut rows = Vec::new();
    for (home, name) in names
        .iter()
        .flat_map(|(home, names)| names.iter().map(move |name| (home, name)))
    {
        let name = format!("{home}.{name}");
        if !options.names.is_empty()
            && !options
                .names
                .iter()
                .any(|wanted| name.starts_with(wanted.as_str()))
        {
            continue;
        }
        let answers = if has_dtypes(&name, rules) {
            let dtypes = KINDS.iter().flat_map(|(_, dtypes)| dtypes.iter().copied());
            dtypes
                .map(|dtype| (Some(dtype), check_support(&name, dtype, rules)))
                .collect()
        } else {
            vec![(None, check_support(&name, DType::I32, rules))]
        };
        let key = canonicalize_name(&name, rules);
        let by_dtype = KINDS.iter().flat_map(|(_, dtypes)| dtypes.iter());
        rows.push(Row {
            answers,
            cases: counts.names.get(&key).copied().unwrap_or(0),
            by_dtype: by_dtype
                .filter_map(|&dtype| Some((dtype, *counts.dtypes.get(&(key.clone(), dtype))?)))
                .collect(),
            name,
        });
    }
    if rows.is_empty() {
        return Err(CoverageError::NoName {
            triton: options.triton.clone(),
            names: options.names.clone(),
        });
    }
    Ok(rows)
}

/// Traces the kernels of all cases by the rules, and counts what their lines use.
fn count_uses(selected: &Selected, rules: Rules, console: &dyn Console) -> Counts {
    let reference = Reference::default();
    let mut counts = Counts::default();
    for problem in selected.problems() {
        console.note(&problem.rendered);
    }
    for entry in selected.entries(Shard::ALL) {
        let Ok(case) = entry.resolve() else { continue };
        let mut uses = HashSet::new();
        for launch in &case.launches {
            if let Ok(Ok(kernel)) = reference.trace_kernel(launch, rules) {
                uses.extend(kernel.traced.uses.iter().cloned());
            }
        }
        let names: HashSet<&str> = uses.iter().map(|found| found.name.as_str()).collect();
        for name in names {
            *counts.names.entry(name.to_owned()).or_default() += 1;
        }
        for found in uses {
            if let Some(dtype) = found.dtype {
                *counts.dtypes.entry((found.name, dtype)).or_default() += 1;
            }
        }
    }
    counts
}

const fn describe_support(answer: &Support) -> &'static str {
    match answer {
        Support::Supported => "yes",
        Support::Rejected(_) => "no",
        Support::Unsupported(_) => "?",
        Support::Missing => "HOLE",
        Support::NotForKernels(_) => "-",
    }
}

/// The cell of a kind: one word if all dtypes have the same answer, or the dtypes that have the better one.
fn render_cell(row: &Row, dtypes: &[DType]) -> String {
    let answers: Vec<(DType, &str)> = row
        .answers
        .iter()
        .filter_map(|(dtype, answer)| Some(((*dtype)?, describe_support(answer))))
        .filter(|(dtype, _)| dtypes.contains(dtype))
        .collect();
    let Some(&(_, first)) = answers.first() else {
        return String::new();
    };
    let said = if answers.iter().all(|(_, word)| *word == first) {
        first.to_owned()
    } else {
        let known: Vec<String> = answers
            .iter()
            .filter(|(_, word)| *word == "yes")
            .map(|(dtype, _)| dtype.to_string())
            .collect();
        known.join(" ")
    };
    let cases: usize = dtypes.iter().filter_map(|dtype| row.by_dtype.get(dtype)).sum();
    if cases == 0 {
        said
    } else {
        format!("{said} {cases}")
    }
}

fn render_table(rows: &[&Row], palette: Palette) -> String {
    let mut lines = vec![
        ["name", "cases"]
            .into_iter()
            .chain(KINDS.iter().map(|(kind, _)| *kind))
            .map(str::to_owned)
            .collect::<Vec<String>>(),
    ];
    for row in rows {
        let mut line = vec![row.name.clone(), row.cases.to_string()];
        match row.answers.as_slice() {
            [(None, answer)] => line.push(describe_support(answer).to_owned()),
            _ => line.extend(KINDS.iter().map(|(_, dtypes)| render_cell(row, dtypes))),
        }
        lines.push(line);
    }
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..KINDS.len() + 2).map(width).collect();
    let mut text = String::new();
    for (nth, line) in lines.iter().enumerate() {
        let mut printed = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(printed, "{cell:width$}  ");
        }
        let row = nth.checked_sub(1).and_then(|nth| rows.get(nth));
        let tone = match row {
            None => Some(Tone::Strong),
            Some(row) if row.is_hole() => Some(Tone::Bad),
            Some(_) => None,
        };
        let printed = printed.trim_end();
        let _ = match tone {
            Some(tone) => writeln!(text, "{}", palette.paint(tone, printed)),
            None => writeln!(text, "{printed}"),
        };
        for why in row.into_iter().flat_map(|row| collect_reasons(row)) {
            let _ = writeln!(text, "    {}", palette.paint(Tone::Dim, &why));
        }
    }
    text
}

/// The reason why something is not known, each reason once.
fn collect_reasons(row: &Row) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for (_, answer) in &row.answers {
        let why = match answer {
            Support::Unsupported(why) => why.clone(),
            Support::NotForKernels(why) => format!("not for kernels: {why}"),
            Support::Supported | Support::Rejected(_) | Support::Missing => continue,
        };
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    reasons
}

fn render_json(options: &CoverageOptions, rows: &[&Row]) -> String {
    let rows: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| {
            let answers: Vec<serde_json::Value> = row
                .answers
                .iter()
                .map(|(dtype, answer)| {
                    let (support, why) = match answer {
                        Support::Supported => ("supported", None),
                        Support::Rejected(why) => ("rejected", Some(why.as_str())),
                        Support::Unsupported(why) => ("unsupported", Some(why.as_str())),
                        Support::Missing => ("missing", None),
                        Support::NotForKernels(why) => ("not-for-kernels", Some(*why)),
                    };
                    let cases = dtype.map_or(row.cases, |dtype| row.by_dtype.get(&dtype).copied().unwrap_or(0));
                    json!({
                        "dtype": dtype.map(|dtype| dtype.to_string()), "support": support, "why": why, "cases": cases,
                    })
                })
                .collect();
            json!({ "name": row.name, "cases": row.cases, "answers": answers })
        })
        .collect();
    format!(
        "{:#}\n",
        json!({ "triton": options.triton.to_string(), "names": rows })
    )
}

fn describe_coverage(rows: &[Row], holes: usize, options: &CoverageOptions) -> String {
    let pairs = |wanted: fn(&Support) -> bool| {
        let answers = rows.iter().flat_map(|row| &row.answers);
        answers.filter(|(_, answer)| wanted(answer)).count()
    };
    let unused = rows
        .iter()
        .filter(|row| row.cases == 0)
        .filter(|row| {
            row.answers
                .iter()
                .any(|(_, answer)| *answer == Support::Supported)
        })
        .count();
    format!(
        "{} names of Triton {}: {} (name, dtype) pairs supported, {} rejected, {} unsupported; {holes} holes; {unused} \
         supported names that no case uses",
        rows.len(),
        options.triton,
        pairs(|answer| *answer == Support::Supported),
        pairs(|answer| matches!(answer, Support::Rejected(_))),
        pairs(|answer| matches!(answer, Support::Unsupported(_))),
    )
}
