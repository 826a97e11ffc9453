//! Functions and methods of `tl`, against what Triton 3.9.0's compiler made of the same expressions
//! (`golden/functions.py` writes the file).

use std::fmt::Write as _;

use conch_frontend::{Arg, Refusal, Request, trace};
use conch_tile::DType;
use conch_tile::ir::Elem;
use conch_tile::rules::{Rules, Version};
use conch_tile::source::SourceFile;

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

fn arguments() -> Vec<Arg> {
    use DType::{BF16, F8E4NV, F16, F32, F64, I1, I8, I32, I64, U8};
    let pointers = [F32, F16, BF16, I32, I64, I8, U8, I1, F64, F8E4NV];
    let mut arguments: Vec<Arg> = pointers
        .into_iter()
        .map(|dtype| Arg::Pointer(Elem::Num(dtype)))
        .collect();
    arguments.extend([Arg::Int(7), Arg::Int(1 << 40), Arg::Float(0.5), Arg::Bool(true)]);
    arguments
}

/// The type of an expression as Triton prints it, `rejected`, or why the reference does not know.
fn result(setup: &str, expression: &str) -> String {
    let mut text = HELPERS.to_owned() + setup;
    let _ = writeln!(
        text,
        "    r = {expression}\n    tl.static_assert(False, f'TYPE {{tl.constexpr(r.type)}} END')"
    );
    let request = Request {
        file: SourceFile::new("k.py", text).into(),
        modules: Vec::new(),
        kernel: "k".into(),
        positional: arguments(),
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::of(Version::NEWEST),
    };
    let Err(refused) = trace(&request) else {
        return "compiled".to_owned();
    };
    match refused.refusal {
        Refusal::Rejected(diagnostic) => diagnostic
            .message
            .split_once("TYPE ")
            .and_then(|(_, rest)| rest.split_once(" END"))
            .map_or_else(|| "rejected".to_owned(), |(ty, _)| ty.to_owned()),
        Refusal::Unsupported(diagnostic) => format!("unsupported: {}", diagnostic.message),
    }
}

#[test]
fn every_function_has_the_type_that_triton_gives_it() {
    let golden: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(include_str!("golden/functions_3.9.0.json")).expect("the golden file is JSON");
    let lines = include_str!("golden/functions.txt").lines();
    let setup: String = lines
        .filter(|line| line.starts_with("    "))
        .fold(String::new(), |text, line| text + line + "\n");
    let mut wrong = Vec::new();
    for (expression, wanted) in golden.iter().filter(|(key, _)| *key != "triton") {
        let got = result(&setup, expression);
        if wanted.as_str() != Some(got.as_str()) {
            wrong.push(format!("{expression}: {wanted} in Triton, {got:?} here"));
        }
    }
    insta::assert_snapshot!(wrong.join("\n"), @"");
}
