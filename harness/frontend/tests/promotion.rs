//! Promotion and casts, against what Triton 3.9.0's own semantics made of the same expressions
//! (`golden/promotion.py` writes the file).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use conch_frontend::{Arg, Refusal, Request, trace};
use conch_tile::DType;
use conch_tile::ir::{Elem, OpKind};
use conch_tile::rules::{Rules, Version};
use conch_tile::source::SourceFile;

/// What Triton calls a dtype in messages.
fn shown(dtype: DType) -> String {
    match dtype {
        DType::BF16 => "bf16".to_owned(),
        _ => dtype.triton_name().replacen("float", "fp", 1),
    }
}

/// The dtype of an expression over `x` and `y`, or `rejected`.
fn result(expression: &str, dtypes: &[DType], version: Version) -> String {
    let mut text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, q):\n".to_owned();
    for (name, pointer) in [("x", "p"), ("y", "q")].iter().take(dtypes.len()) {
        let _ = writeln!(text, "    {name} = tl.load({pointer} + tl.arange(0, 4))");
    }
    let _ = writeln!(text, "    tl.device_print('r', {expression})");
    let pointer = |at: usize| Arg::Pointer(Elem::Num(dtypes.get(at).copied().unwrap_or(DType::F32)));
    let request = Request {
        file: SourceFile::new("k.py", text).into(),
        modules: Vec::new(),
        kernel: "k".into(),
        positional: vec![pointer(0), pointer(1)],
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::of(version),
    };
    match trace(&request) {
        Ok(traced) => {
            let printed = traced
                .function
                .body
                .ops
                .iter()
                .find(|op| matches!(op.kind, OpKind::Print { .. }));
            let value = printed
                .and_then(|op| op.operands.first())
                .expect("the print has an operand");
            traced
                .function
                .ty(*value)
                .elem
                .num()
                .map_or_else(|| "pointer".to_owned(), shown)
        }
        Err(refused) => match refused.refusal {
            Refusal::Rejected(_) => "rejected".to_owned(),
            Refusal::Unsupported(diagnostic) => diagnostic.render(&refused.sources, false),
        },
    }
}

#[test]
fn every_expression_has_the_dtype_that_triton_gives_it() {
    let golden: BTreeMap<String, String> =
        serde_json::from_str(include_str!("golden/promotion_3.9.0.json")).expect("the golden file is JSON");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (key, wanted) in golden.iter().filter(|(key, _)| *key != "triton") {
        let mut parts = key.split(" ; ");
        let expression = parts
            .next()
            .unwrap_or_default()
            .replace("tl.where(", "tl.where(True, ");
        let dtypes: Vec<DType> = parts.map(|name| name.parse().expect("a dtype")).collect();
        let got = result(&expression, &dtypes, Version::NEWEST);
        seen += 1;
        if got != *wanted {
            wrong.push(format!("{key}: {wanted} in Triton, {got} here"));
        }
    }
    assert!(seen > 8000, "{seen} expressions");
    assert!(
        wrong.is_empty(),
        "{} of {seen} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
