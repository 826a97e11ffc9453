//! Compares promotion and casts with the results of Triton's own semantics for the same expressions (`golden/promotion.py`
//! writes the files).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cerith_frontend::{Refusal, Request, RequestArg, trace};
use cerith_tile::DType;
use cerith_tile::ir::{Elem, OpKind};
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;

/// Triton's name for a dtype in messages.
fn describe_dtype(dtype: DType) -> String {
    match dtype {
        DType::BF16 => "bf16".to_owned(),
        _ => dtype.triton_name().replacen("float", "fp", 1),
    }
}

/// The dtype of an expression over `x` and `y`, or `rejected`.
fn infer_dtype(expression: &str, dtypes: &[DType], version: Version) -> String {
    let mut text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(p, q):\n".to_owned();
    for ((name, pointer), dtype) in [("x", "p"), ("y", "q")].into_iter().zip(dtypes) {
        let _ = writeln!(text, "    {name} = tl.load({pointer} + tl.arange(0, 4))");
        if *dtype == DType::I1 {
            // Before 3.2, loading it gave `int8`.
            let _ = writeln!(text, "    {name} = {name}.to(tl.int1)");
        }
    }
    let _ = writeln!(text, "    tl.device_print('r', {expression})");
    let pointer = |at: usize| RequestArg::Pointer(Elem::Num(dtypes.get(at).copied().unwrap_or(DType::F32)));
    let request = Request {
        file: SourceFile::new("k.py", text).into(),
        modules: Vec::new(),
        kernel: "k".into(),
        positional: vec![pointer(0), pointer(1)],
        keyword: Vec::new(),
        options: Vec::new(),
        rules: Rules::from_version(version),
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
                .map_or_else(|| "pointer".to_owned(), describe_dtype)
        }
        Err(refused) => match refused.refusal {
            Refusal::Rejected(diagnostic)
                if UNLOWERED.iter().any(|end| diagnostic.message.ends_with(end)) =>
            {
                "unlowered".to_owned()
            }
            Refusal::Rejected(_) => "rejected".to_owned(),
            Refusal::Unsupported(diagnostic) | Refusal::Exhausted(diagnostic) => {
                diagnostic.render(&refused.sources, false)
            }
        },
    }
}

/// The ends of messages that refuse programs which the compiler's frontend accepts, as in the tables, but its passes do
/// not.
const UNLOWERED: [&str; 2] = [
    "it can only be moved and converted",
    "a pass of the compiler fails",
];

/// The golden table of a version: the table of 3.9.0 with the changes in the version's own file.
fn read_golden(version: &str) -> BTreeMap<String, String> {
    let newest = include_str!("../golden/promotion_3.9.0.json");
    let mut table: BTreeMap<String, String> = serde_json::from_str(newest).expect("the golden file is JSON");
    let changes = match version {
        "3.9.0" => "{}",
        // Nothing in it changed from 3.7 to 3.8, from 3.3 to 3.6 and from 3.0 to 3.1.
        "3.8.0" => include_str!("../golden/promotion_3.8.0.json"),
        "3.6.0" => include_str!("../golden/promotion_3.6.0.json"),
        "3.2.0" => include_str!("../golden/promotion_3.2.0.json"),
        "3.1.0" => include_str!("../golden/promotion_3.1.0.json"),
        _ => panic!("there is no golden file of {version}"),
    };
    table.extend(serde_json::from_str::<BTreeMap<String, String>>(changes).expect("the golden file is JSON"));
    table.remove("triton");
    table
}

fn check(version: &str) {
    let golden = read_golden(version);
    let version: Version = version.parse().expect("a version");
    let (mut wrong, mut unlowered) = (Vec::new(), 0);
    for (key, wanted) in &golden {
        let mut parts = key.split(" ; ");
        let expression = parts
            .next()
            .unwrap_or_default()
            .replace("tl.where(", "tl.where(True, ");
        let dtypes: Vec<DType> = parts.map(|name| name.parse().expect("a dtype")).collect();
        let got = infer_dtype(&expression, &dtypes, version);
        // Arithmetic on 8-bit floats has a type but can't be lowered: it is refused if the operands are promoted to one.
        let narrow = |dtype: &&DType| matches!(dtype, DType::F8E4NV | DType::F8E5 | DType::F8E4B15);
        if got == "unlowered" && (wanted == "rejected" || dtypes.iter().any(|dtype| narrow(&dtype))) {
            unlowered += 1;
            continue;
        }
        if got != *wanted {
            wrong.push(format!("{key}: {wanted} in Triton, {got} here"));
        }
    }
    assert!(golden.len() > 8000, "{} expressions", golden.len());
    assert!(unlowered < 600, "{unlowered} expressions without a lowering");
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        golden.len(),
        wrong.join("\n")
    );
}

#[test]
fn promotion_of_3_9() {
    check("3.9.0");
}

#[test]
fn promotion_of_3_7_and_3_8() {
    check("3.8.0");
}

#[test]
fn promotion_of_3_3_to_3_6() {
    check("3.6.0");
}

#[test]
fn promotion_of_3_2() {
    check("3.2.0");
}

#[test]
fn promotion_of_3_0_and_3_1() {
    check("3.1.0");
}
