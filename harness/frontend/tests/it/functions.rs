//! Compares functions and methods of `tl` with the results of Triton's compilers for the same expressions
//! (`golden/functions.py` writes the files).

mod descriptors;
mod libdevice;

use std::fmt::Write as _;

use cerith_frontend::{Refusal, Refused, Request, RequestArg, Traced, trace};
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;

const HELPERS: &str = "import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def first(a, b):
    return a

@triton.jit
def add(a, b):
    return a + b

@triton.jit
def halve(a, b):
    return a / b

@triton.jit
def k(pf, ph, pb, pi, pl, pc, pu, p1, pd, p8, s, w, f, b):
";

fn build_arguments() -> Vec<RequestArg> {
    use DType::{BF16, F8E4NV, F16, F32, F64, I1, I8, I32, I64, U8};
    let pointers = [F32, F16, BF16, I32, I64, I8, U8, I1, F64, F8E4NV];
    let mut arguments: Vec<RequestArg> = pointers
        .into_iter()
        .map(|dtype| RequestArg::Pointer(Elem::Num(dtype)))
        .collect();
    arguments.extend([
        RequestArg::Int(7),
        RequestArg::Int(1 << 40),
        RequestArg::Float(0.5),
        RequestArg::Bool(true),
    ]);
    arguments
}

/// Traces a kernel that computes an expression, with the lines of the setup that it needs, and one line after it.
fn trace_expression(setup: &str, expression: &str, after: &str, version: Version) -> Result<Traced, Refused> {
    let words: Vec<&str> = expression
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let needed = |line: &&str| {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        name == "o" || words.contains(&name)
    };
    let setup: String = setup
        .lines()
        .filter(needed)
        .fold(String::new(), |text, line| text + line + "\n");
    let mut text = HELPERS.to_owned() + &setup;
    let _ = writeln!(text, "    r = {expression}\n    {after}");
    trace(&Request {
        file: SourceFile::new("k.py", text).into(),
        modules: Vec::new(),
        kernel: "k".into(),
        positional: build_arguments(),
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::from_version(version),
    })
}

/// The type of an expression as Triton prints it, `rejected`, or why the reference does not know.
fn describe_type(setup: &str, expression: &str, version: Version) -> String {
    let after = "tl.static_assert(False, f'TYPE {tl.constexpr(r.type)} END')";
    let Err(refused) = trace_expression(setup, expression, after, version) else {
        return "compiled".to_owned();
    };
    match refused.refusal {
        Refusal::Rejected(diagnostic) => diagnostic
            .message
            .split_once("TYPE ")
            .and_then(|(_, rest)| rest.split_once(" END"))
            .map_or_else(|| "rejected".to_owned(), |(ty, _)| ty.to_owned()),
        Refusal::Unsupported(diagnostic) => format!("unsupported: {}", diagnostic.message),
        Refusal::Exhausted(diagnostic) => format!("exhausted: {}", diagnostic.message),
    }
}

/// The first lines of `functions.txt`, which set up names.
fn setup() -> String {
    include_str!("../golden/functions.txt")
        .lines()
        .filter(|line| line.starts_with("    "))
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Before 3.5 the compiler accepted a mismatched `atomic_cas`, which has no defined meaning: the reference reports it as
/// unsupported.
const UNCHECKED_CAS: &str = "tl.atomic_cas(pl, 0, 1): \"int32\" in Triton, \"unsupported: the reference does not \
    support an atomic_cas whose `cmp` is not of the pointer's type yet\" here";

/// A golden table of a version: the table of 3.9.0 with the changes in the version's own file.
fn read_golden(newest: &str, changes: &str) -> serde_json::Map<String, serde_json::Value> {
    let read =
        |text: &str| serde_json::from_str::<serde_json::Map<_, _>>(text).expect("a golden file is JSON");
    let mut golden: serde_json::Map<String, serde_json::Value> = read(newest);
    golden.extend(read(changes));
    golden.remove("triton");
    golden
}

/// Lists the differences between the reference and a golden table.
fn find_mismatches(
    setup: &str,
    golden: &serde_json::Map<String, serde_json::Value>,
    version: &str,
) -> Vec<String> {
    let version: Version = version.parse().expect("a version");
    let mut wrong = Vec::new();
    for (expression, wanted) in golden {
        // An expression without a value has no type.
        if wanted == "void" && trace_expression(setup, expression, "pass", version).is_ok() {
            continue;
        }
        let got = describe_type(setup, expression, version);
        // The table records the compiler's frontend; its passes can't lower operations on 8-bit floats.
        if (expression.as_str(), got.as_str()) == ("tl.sum(e)", "rejected") {
            continue;
        }
        if wanted.as_str() != Some(got.as_str()) {
            wrong.push(format!("{expression}: {wanted} in Triton, {got:?} here"));
        }
    }
    wrong
}

/// Compares with the golden table of a version.
fn check(version: &str, changes: &str) -> String {
    let golden = read_golden(include_str!("../golden/functions_3.9.0.json"), changes);
    assert!(golden.len() > 490, "{} expressions", golden.len());
    find_mismatches(&setup(), &golden, version).join("\n")
}

#[test]
fn functions_of_3_9() {
    assert_eq!(check("3.9.0", "{}"), "");
}

#[test]
fn functions_of_3_8() {
    assert_eq!(check("3.8.0", include_str!("../golden/functions_3.8.0.json")), "");
}

#[test]
fn functions_of_3_7() {
    assert_eq!(check("3.7.1", include_str!("../golden/functions_3.7.1.json")), "");
}

#[test]
fn functions_of_3_6() {
    assert_eq!(check("3.6.0", include_str!("../golden/functions_3.6.0.json")), "");
}

#[test]
fn functions_of_3_5() {
    assert_eq!(check("3.5.1", include_str!("../golden/functions_3.5.1.json")), "");
}

#[test]
fn functions_of_3_4() {
    assert_eq!(
        check("3.4.0", include_str!("../golden/functions_3.4.0.json")),
        UNCHECKED_CAS
    );
}

#[test]
fn functions_of_3_3() {
    assert_eq!(
        check("3.3.1", include_str!("../golden/functions_3.3.1.json")),
        UNCHECKED_CAS
    );
}

#[test]
fn functions_of_3_2() {
    assert_eq!(
        check("3.2.0", include_str!("../golden/functions_3.2.0.json")),
        UNCHECKED_CAS
    );
}

#[test]
fn functions_of_3_1() {
    assert_eq!(
        check("3.1.0", include_str!("../golden/functions_3.1.0.json")),
        UNCHECKED_CAS
    );
}

/// The snapshot omits IR with more lines: Philox's rounds and sorting networks.
const MAX_LENGTH: usize = 60;

#[test]
fn every_function_has_its_ir_and_every_refusal_its_words() {
    let setup = setup();
    let expressions = include_str!("../golden/functions.txt").lines();
    let mut shown = String::new();
    for expression in expressions.filter(|line| !line.is_empty() && !line.starts_with([' ', '#'])) {
        let _ = writeln!(shown, "## {expression}");
        match trace_expression(&setup, expression, "tl.device_print('', r)", Version::NEWEST) {
            Ok(traced) => {
                let ir = traced.function.to_string();
                let lines = ir.lines().count();
                if lines > MAX_LENGTH {
                    let _ = writeln!(shown, "{lines} lines");
                } else {
                    shown += &ir;
                }
            }
            Err(refused) => {
                let (kind, diagnostic) = match &refused.refusal {
                    Refusal::Rejected(diagnostic) => ("rejected", diagnostic),
                    Refusal::Unsupported(diagnostic) => ("unsupported", diagnostic),
                    Refusal::Exhausted(diagnostic) => ("exhausted", diagnostic),
                };
                let _ = writeln!(shown, "{kind}: {}", diagnostic.message);
                if let Some(help) = &diagnostic.help {
                    let _ = writeln!(shown, "help: {help}");
                }
            }
        }
        shown.push('\n');
    }
    insta::with_settings!({
        snapshot_path => "../../../../snapshots/frontend",
        prepend_module_to_snapshot => false,
        omit_expression => true
    }, {
        insta::assert_snapshot!("functions", shown);
    });
}

/// Arguments that fit hardly anywhere.
const ODD: [&str; 22] = [
    "None",
    "-1",
    "0",
    "1",
    "3",
    "2**100",
    "1.5",
    "'x'",
    "()",
    "(4,)",
    "[2, 2]",
    "x",
    "y",
    "s",
    "pf",
    "pf + o",
    "tl.float16",
    "True",
    "add",
    "...",
    "(x, x)",
    "float('nan')",
];

/// The functions and methods that `functions.txt` calls.
fn collect_callees() -> Vec<String> {
    let mut names: Vec<String> = include_str!("../golden/functions.txt")
        .lines()
        .filter_map(|line| line.split_once('('))
        .map(|(name, _)| name.to_owned())
        .filter(|name| {
            ["tl.", "x.", "libdevice.", "min", "max"]
                .iter()
                .any(|start| name.starts_with(start))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config {
        cases: 2000,
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    })]

    /// For any arguments, a function is traced to IR that verifies, or refused with a reason.
    #[test]
    fn odd_arguments_are_refused(
        callee in proptest::sample::select(collect_callees()),
        arguments in proptest::collection::vec(proptest::sample::select(ODD.to_vec()), 0..5),
        version in proptest::sample::select(vec!["3.9.0", "3.6.0", "3.2.0", "3.0.0"]),
    ) {
        let expression = format!("{callee}({})", arguments.join(", "));
        let version: Version = version.parse().expect("a version");
        if let Err(refused) = trace_expression(&(setup() + "    x = tl.load(pf + o)\n"), &expression, "pass", version) {
            let (Refusal::Rejected(diagnostic)
            | Refusal::Unsupported(diagnostic)
            | Refusal::Exhausted(diagnostic)) = refused.refusal;
            proptest::prop_assert_ne!(diagnostic.code, "internal", "{}: {}", expression, diagnostic.message);
        }
    }
}
