//! Edits of a kernel's file that are certain to be meant: a misspelt name, a function of `libdevice`, a missing import, a value for
//! masked-off lanes.
//!
//! An edit is suggested only if the kernel compiles with it.

use cerith_case::replace::{add_import, imports_name, rename};
use cerith_engine::Complaint;
use similar::TextDiff;

use super::masked::add_other;
use super::report::KernelReport;

/// Functions that Triton has in `libdevice` and not in `tl`.
const LIBDEVICE: [&str; 20] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erfc", "exp10", "expm1", "fmod",
    "isinf", "isnan", "log10", "log1p", "pow", "sinh", "tan", "tanh",
];

const LIBDEVICE_IMPORT: &str = "from triton.language.extra import libdevice";

/// Names of modules that kernels' files import, and how.
const MODULES: [(&str, &str); 3] = [
    ("tl", "import triton.language as tl"),
    ("triton", "import triton"),
    ("libdevice", LIBDEVICE_IMPORT),
];

/// A mistake that an edit may fix.
struct Mistake<'a> {
    code: &'a str,
    /// The name that nothing defines, and a similar one.
    misspelling: Option<(&'a str, Option<&'a str>)>,
    /// The line, from 1.
    line: Option<u32>,
}

/// The text of a kernel's file with all edits that its findings suggest. `None` if no edit is certain.
pub fn suggest_edits(report: &KernelReport<'_>, text: &str) -> Option<String> {
    let mut edited: Option<String> = None;
    let mut wrong: Vec<Mistake<'_>> = report
        .list_wrong()
        .map(|one| Mistake {
            code: one.finding.key.code(),
            misspelling: one
                .finding
                .summary
                .misspelling
                .as_ref()
                .map(|one| (one.name.as_str(), one.near.as_deref())),
            line: one.finding.summary.position.as_ref().map(|at| at.line),
        })
        .collect();
    // Later lines first: an edit moves those after it.
    wrong.sort_by_key(|one| std::cmp::Reverse(one.line));
    for mistake in wrong {
        let before = edited.as_deref().unwrap_or(text);
        if let Some(after) = build_edit(&mistake, report.kernel, before) {
            edited = Some(after);
        }
    }
    edited
}

/// The text with the edit that a compile error suggests.
pub fn fix_error(complaint: &Complaint, kernel: &str, text: &str) -> Option<String> {
    let mistake = Mistake {
        code: &complaint.kind,
        misspelling: complaint
            .misspelling
            .as_ref()
            .map(|one| (one.name.as_str(), one.near.as_deref())),
        line: None,
    };
    build_edit(&mistake, kernel, text)
}

fn build_edit(mistake: &Mistake<'_>, kernel: &str, text: &str) -> Option<String> {
    if mistake.code == "undefined-value" {
        return add_other(text, mistake.line?);
    }
    let (name, near) = mistake.misspelling?;
    // An attribute of a value has no path, and `rename` is for names.
    if mistake.code != "undefined-name" && !name.contains('.') {
        return None;
    }
    if let Some((_, import)) = MODULES.iter().find(|(module, _)| *module == name) {
        return add_import(text, import);
    }
    let function = name.strip_prefix("tl.");
    if !function.is_some_and(|function| LIBDEVICE.contains(&function)) {
        return rename(text, kernel, name, near?);
    }
    let edited = rename(text, kernel, name, &format!("libdevice.{}", function?))?;
    if imports_name(&edited, "libdevice") {
        return Some(edited);
    }
    add_import(&edited, LIBDEVICE_IMPORT)
}

/// The edits of a file as a diff.
pub fn render_diff(file: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(1)
        .header(file, file)
        .to_string()
}
