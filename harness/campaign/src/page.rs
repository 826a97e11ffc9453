//! `report.md` of a finding, in the shape of Triton's issue template: "Describe the bug" with a program, the expected and the
//! actual result, and "Environment details". Cerith does not send it; a person must read it first.

use std::fmt::Write as _;

use cerith_engine::EngineId;
use cerith_toolchain::{Home, ToolchainId};
use cerith_verdict::{Difference, Trial, Zone};

use crate::facts::{Facts, REPRO};
use crate::signature::Signature;

/// The documentation of Triton's functions and operators.
const DOCS: &str = "https://triton-lang.org/main/python-api";

/// The result of a kernel whose launches all finish.
const FINISHES: &str = "All launches finish.";

/// The maximum length of an engine's message in a title, in characters.
const MAX_MESSAGE: usize = 120;

/// Describes a finding in a line, as the title of an issue. `expected` is the first half of [`describe_contrast`].
pub fn build_title(signature: &Signature, expected: &str) -> String {
    let engine = &signature.engine;
    let is_valid = expected == FINISHES;
    let pass = signature.stage.as_ref().map_or_else(String::new, |stage| {
        let name = stage.rsplit(' ').next().unwrap_or_default();
        let is_pass = name.starts_with(|c: char| c.is_ascii_uppercase());
        if is_pass {
            format!(" in the pass {name}")
        } else {
            String::new()
        }
    });
    let words = error_words(&signature.first);
    let of = describe_operation(signature).map_or_else(String::new, |operation| format!(" of {operation}"));
    match signature.kind.as_str() {
        "memory" => format!("{engine} computes wrong results{of}{pass}"),
        "guard" => format!("{engine} writes outside of the tensors{of}"),
        "nondeterminism" => format!("{engine} computes different results{of} for the same launch"),
        "acceptance" if is_valid => format!("{engine} rejects a valid kernel{pass}: {words}"),
        "acceptance" => format!("{engine} accepts an invalid kernel: {words}"),
        "trap" if is_valid => format!("{engine} raises in a valid kernel: {words}"),
        "trap" => format!("{engine} misses an error: {words}"),
        "crash" => format!("{engine} crashes{pass}: {words}"),
        "time" => format!("{engine} does not end"),
        "taken" => format!("{engine} accepts an illegal program: {}", signature.first),
        "unnoticed" => format!("{engine} does not notice a broken rule: {}", signature.first),
        kind => format!("{engine}: {kind}: {}", signature.first),
    }
}

/// An error's words without what every such error has, as long as a title may be.
fn error_words(first: &str) -> String {
    let (kind, message) = first.split_once(' ').unwrap_or((first, ""));
    let message = message
        .strip_prefix("PassManager::run failed: ")
        .unwrap_or(message);
    let words = match (kind, message) {
        (kind, "") => kind.to_owned(),
        ("RuntimeError" | "subprocess.CalledProcessError", message) => message.to_owned(),
        (kind, message) => format!("{kind}: {message}"),
    };
    match words.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

/// The operation that is wrong, as a kernel calls it, with its dtypes and axis; `None` if it is unknown.
fn describe_operation(signature: &Signature) -> Option<String> {
    let (name, dtypes) = signature.first.split_once(' ').unwrap_or((&signature.first, ""));
    if signature.remaining.len() > 1 {
        let all: Vec<String> = signature.remaining.iter().map(|one| format!("`{one}`")).collect();
        return Some(all.join(", "));
    }
    if name.is_empty() || name == "somewhere" || name == "expression" {
        return None;
    }
    let dtypes = if dtypes.is_empty() {
        String::new()
    } else {
        format!(" of {dtypes}")
    };
    let axis = signature
        .axis
        .as_ref()
        .map_or_else(String::new, |axis| format!(" along axis {axis}"));
    Some(format!("`{name}`{dtypes}{axis}"))
}

/// How many lines of a kernel's file do something.
pub fn count_lines(kernel: &str) -> usize {
    let counts = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with(['#', '@'])
            && !line.starts_with("import ")
            && !line.starts_with("def ")
    };
    kernel.lines().filter(counts).count()
}

/// The expected and the actual result, a line for each stored element; or the engine's message.
pub fn describe_contrast(trial: &Trial, news: &Difference) -> (String, String) {
    let record = |id: &EngineId| {
        let mut records = trial.references.iter().chain(&trial.other_records);
        records.find(|record| record.id == *id)
    };
    let Some(comparison) = &news.comparison else {
        let said = |id: &EngineId| match record(id).map(|record| &record.outcome) {
            Some(outcome) if outcome.finished().is_some() => FINISHES.to_owned(),
            Some(outcome) => outcome.complaint().map_or_else(
                || outcome.kind().to_string(),
                |complaint| {
                    let detail = complaint.detail.as_deref().unwrap_or(&complaint.message);
                    format!("{}: {}\n{}", outcome.kind(), complaint.message, detail)
                        .trim_end()
                        .to_owned()
                },
            ),
            None => "The outcome is not known.".to_owned(),
        };
        return (said(&news.baseline), said(&news.engine));
    };
    let (mut wanted, mut got) = (String::new(), String::new());
    for element in &comparison.first {
        let place = match (&element.tensor, element.zone) {
            (Some((name, index)), Zone::Inside) => {
                let index: Vec<String> = index.iter().map(ToString::to_string).collect();
                format!("{name}[{}]", index.join(", "))
            }
            (None, Zone::Inside) => format!("byte {} of {}", element.byte, element.storage),
            (_, Zone::Before) => format!("byte {} before {}", element.byte, element.storage),
            (_, Zone::Behind) => format!("byte {} after {}", element.byte, element.storage),
        };
        let [left, right] = &element.values;
        let room = element.accepted.map_or_else(String::new, |[low, high]| {
            format!(" (or {low} to {high}, by rounding)")
        });
        let _ = writeln!(wanted, "{place} = {left}{room}");
        let _ = writeln!(got, "{place} = {right}");
    }
    let more = comparison.differing.saturating_sub(comparison.first.len() as u64);
    if more > 0 {
        let _ = writeln!(got, "and {more} more elements differ");
    }
    (wanted.trim_end().to_owned(), got.trim_end().to_owned())
}

/// The link to Triton's documentation of the finding's operation.
fn link(signature: &Signature) -> String {
    const OPERATORS: [&str; 20] = [
        "floordiv",
        "lshift",
        "rshift",
        "eq",
        "ne",
        "le",
        "ge",
        "lt",
        "gt",
        "add",
        "sub",
        "mul",
        "truediv",
        "mod",
        "and",
        "or",
        "xor",
        "neg",
        "invert",
        "expression",
    ];
    let said = signature.first.split(" at ").last().unwrap_or_default();
    let operation = said.split(' ').next().unwrap_or_default();
    let is_name = operation
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_name && !operation.is_empty() && !OPERATORS.contains(&operation) && operation != "somewhere" {
        format!("`tl.{operation}`: {DOCS}/generated/triton.language.{operation}.html")
    } else {
        format!("operators and the promotion of dtypes: {DOCS}/triton-semantics.html")
    }
}

/// Describes the engine's environment, a line each.
pub fn describe_environment(engine: &EngineId) -> Vec<String> {
    let toolchain = match engine {
        EngineId::Jit { version } => Some(ToolchainId::from_triton(*version)),
        other => other.toolchain().cloned(),
    };
    let found = toolchain.and_then(|id| {
        let home = Home::discover().ok()?;
        home.resolve(&id).or_else(|| home.resolve_compiler(&id))
    });
    let mut lines: Vec<String> = found
        .map(|toolchain| {
            let contents = &toolchain.contents;
            vec![
                format!("Triton: {}", contents.triton),
                format!("Python: {}, NumPy: {}", contents.python, contents.numpy),
            ]
        })
        .unwrap_or_default();
    lines.push(match engine {
        EngineId::Interpret { .. } => "GPU: none, `TRITON_INTERPRET=1`".to_owned(),
        _ => format!("GPU: `{REPRO}` prints its name"),
    });
    lines.push(format!(
        "System: {} {}; found by Cerith {}",
        std::env::consts::OS,
        std::env::consts::ARCH,
        env!("CARGO_PKG_VERSION")
    ));
    lines
}

/// The page.
pub fn render_page(facts: &Facts, kernel: &str, yaml: &str, repro: Option<&str>) -> String {
    let signature = &facts.signature;
    let mut page = format!(
        "# {}\n\n## Describe the bug\n\n",
        build_title(signature, &facts.expected)
    );
    let _ = writeln!(page, "```python\n{}\n```\n", kernel.trim_end());
    match repro {
        Some(repro) => {
            let _ = writeln!(
                page,
                "<details><summary>{REPRO}: needs torch and triton, runs it interpreted and compiled</summary>\n\n```python\n{}\n```\n\n</details>\n",
                repro.trim_end()
            );
        }
        None => page
            .push_str("The case cannot be written as one script; the case file below is all there is.\n\n"),
    }
    let _ = writeln!(page, "### Expected\n\n```\n{}\n```\n", facts.expected);
    let _ = writeln!(
        page,
        "Why: that is what the language says, as Cerith's reference reads it. See {}.\n",
        link(signature)
    );
    let _ = writeln!(
        page,
        "### Observed with {}\n\n```\n{}\n```\n",
        signature.engine, facts.got
    );
    if let Ok(EngineId::Ptx { toolchain, target }) = signature.engine.parse() {
        let same = EngineId::Cuda {
            toolchain,
            target: Some(target),
        };
        let _ = writeln!(
            page,
            "This is Cerith's result for the compiler's PTX, which no GPU has executed. Before you report it, execute the same \
             PTX on a GPU: `cerith run --cases FOLDER --engine reference --engine {same}`.\n"
        );
    }
    let blame = if facts.blame.is_empty() {
        "nobody".to_owned()
    } else {
        facts.blame.join(", ")
    };
    let _ = writeln!(page, "Verdict: {}; blamed: {blame}.\n", facts.verdict);
    for stage in facts.stages.iter().flatten() {
        let stage = stage.to_string();
        let mut letters = stage.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let _ = writeln!(page, "{}{}.\n", first.unwrap_or_default(), letters.as_str());
    }
    page.push_str("### Versions\n\n");
    if facts.range.is_empty() {
        page.push_str(
            "Not asked yet: `cerith fuzz range` with this folder asks every installed version.\n\n",
        );
    } else {
        page.push_str("| engine | same difference | verdict | outcome |\n|---|---|---|---|\n");
        for asked in &facts.range {
            let same = if asked.same { "yes" } else { "no" };
            let _ = writeln!(
                page,
                "| {} | {same} | {} | {}{} |",
                asked.engine,
                asked.verdict,
                asked.outcome,
                asked.message.as_deref().map_or_else(String::new, |message| {
                    let first = message.lines().next().unwrap_or_default();
                    format!(": {}", first.replace('|', "\\|"))
                })
            );
        }
        page.push('\n');
    }
    page.push_str("## Environment details\n\n");
    for line in &facts.environment {
        let _ = writeln!(page, "- {line}");
    }
    let _ = writeln!(
        page,
        "\n## For users of Cerith\n\nFrom {}; {} lines then, {} now.\n\n    cerith explain --cases FOLDER case\n",
        facts.origin,
        facts.lines,
        count_lines(kernel)
    );
    let _ = writeln!(
        page,
        "```yaml\n{}\n```\n\n```\n{}\n```",
        yaml.trim_end(),
        facts.observed
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, first: &str, stage: Option<&str>, expected: &str, right: &str) {
        let signature = Signature {
            stage: stage.map(str::to_owned),
            ..Signature::of_breach("cuda@3.6.0".to_owned(), kind, first)
        };
        assert_eq!(build_title(&signature, expected), right);
    }

    #[test]
    fn title_names_engine_and_operation() {
        check(
            "memory",
            "dot f32",
            Some("ttgir TritonGPUF32DotTC"),
            "o[0] = 1.0",
            "cuda@3.6.0 computes wrong results of `dot` of f32 in the pass TritonGPUF32DotTC",
        );
        check(
            "memory",
            "somewhere",
            Some("llvm to ptxas"),
            "o[0] = 1.0",
            "cuda@3.6.0 computes wrong results",
        );
        check(
            "acceptance",
            "RuntimeError PassManager::run failed: Result has an invalid layout",
            Some("ttgir TritonGPUPlanCTAPass"),
            FINISHES,
            "cuda@3.6.0 rejects a valid kernel in the pass TritonGPUPlanCTAPass: Result has an invalid layout",
        );
        check(
            "acceptance",
            "CompilationError at 4:8: x",
            None,
            "rejected: x",
            "cuda@3.6.0 accepts an invalid kernel: CompilationError: at 4:8: x",
        );
        check(
            "trap",
            "TypeError an integer is required",
            None,
            FINISHES,
            "cuda@3.6.0 raises in a valid kernel: TypeError: an integer is required",
        );
    }
}
