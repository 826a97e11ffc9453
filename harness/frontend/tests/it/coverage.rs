//! Compares the dtypes that each public name takes with Triton 3.9.0's own compiler. `golden/coverage.py` writes
//! `golden/coverage_3.9.0.txt` with the same kernels that `cerith coverage` traces.

use cerith_frontend::coverage::{Support, check_support, has_dtypes};
use cerith_tile::DType;
use cerith_tile::rules::Rules;

/// The dtypes to test; those that no CUDA GPU has are omitted.
const DTYPES: [DType; 16] = [
    DType::I1,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::F8E4NV,
    DType::F8E5,
    DType::F8E4B15,
];

#[test]
fn names_take_the_dtypes_that_the_compiler_takes() {
    let rules = Rules::default();
    let (mut pairs, mut unlowered, mut wrong) = (0, 0, Vec::new());
    for line in include_str!("../golden/coverage_3.9.0.txt").lines() {
        let (name, taken) = line.split_once(':').expect("a name and dtypes");
        let taken: Vec<&str> = taken.split_whitespace().collect();
        let asked: &[DType] = if has_dtypes(name, rules) {
            &DTYPES
        } else {
            &[DType::I32]
        };
        for dtype in asked {
            pairs += 1;
            let theirs = taken.contains(&dtype.to_string().as_str());
            let ours = check_support(name, *dtype, rules);
            if (ours == Support::Supported) == theirs && !matches!(ours, Support::Unsupported(_)) {
                continue;
            }
            // The golden file records the compiler's frontend. The passes can't lower operations on 8-bit floats except
            // moves and conversions: cases/pairs covers these, with records from an H200's compiler.
            let lowered = |why: &str| why.contains("it can only be moved and converted");
            if theirs && matches!(&ours, Support::Rejected(why) if lowered(why)) {
                unlowered += 1;
                continue;
            }
            let verdict = if theirs { "takes" } else { "refuses" };
            wrong.push(format!("{name} of {dtype}: Triton {verdict} it, here {ours:?}"));
        }
    }
    assert!(pairs > 2500, "{pairs} names with dtypes");
    assert!(
        unlowered < 150,
        "{unlowered} names whose front the compiler's passes do not follow"
    );
    assert!(
        wrong.is_empty(),
        "{} of {pairs}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
