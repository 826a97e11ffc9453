//! Edits of a kernel's file that are certain to be meant: a misspelt name, a function of `libdevice`, a missing import.
//!
//! An edit is suggested only if the kernel compiles with it.

use cerith_case::replace::{add_import, imports_name, rename};
use similar::TextDiff;

use super::finding::Finding;
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

/// The text of a kernel's file with the edit that a finding suggests. `None` if no edit is certain.
pub fn suggest_edit(report: &KernelReport<'_>, text: &str) -> Option<String> {
    let wrong = report.list_wrong();
    let mut edits = wrong.filter_map(|one| build_edit(one.finding, report.kernel, text));
    edits.next()
}

fn build_edit(finding: &Finding, kernel: &str, text: &str) -> Option<String> {
    let quoted = |part: &str| -> Option<String> { Some(part.split('`').nth(1)?.to_owned()) };
    let near = || {
        let help = finding
            .text
            .lines()
            .find_map(|line| line.split_once("help: did you mean `"));
        help.and_then(|(_, rest)| rest.split('`').next())
    };
    match finding.key.code() {
        "undefined-name" => {
            let name = quoted(&finding.summary.message)?;
            if let Some((_, import)) = MODULES.iter().find(|(module, _)| *module == name) {
                return add_import(text, import);
            }
            rename(text, kernel, &name, near()?)
        }
        "unknown-attribute" => {
            let (module, attribute) = finding.summary.message.split_once("has no attribute")?;
            let attribute = quoted(attribute)?;
            if quoted(module)? != "triton.language" {
                return None;
            }
            let old = format!("tl.{attribute}");
            if LIBDEVICE.contains(&attribute.as_str()) {
                let edited = rename(text, kernel, &old, &format!("libdevice.{attribute}"))?;
                if imports_name(&edited, "libdevice") {
                    return Some(edited);
                }
                return add_import(&edited, LIBDEVICE_IMPORT);
            }
            rename(text, kernel, &old, &format!("tl.{}", near()?))
        }
        _ => None,
    }
}

/// The edits of a file as a diff.
pub fn render_diff(file: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(1)
        .header(file, file)
        .to_string()
}
