//! No operator and no builtin panics or runs long, whatever the operands.

use std::time::{Duration, Instant};

use cerith_python::builtin::Builtins;
use cerith_python::error::Error;
use cerith_python::math::Math;
use cerith_python::{Int, Value, operator, repr};
use proptest::prelude::*;
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

const OPERATORS: [Operator; 13] = [
    Operator::Add,
    Operator::Sub,
    Operator::Mult,
    Operator::MatMult,
    Operator::Div,
    Operator::Mod,
    Operator::Pow,
    Operator::LShift,
    Operator::RShift,
    Operator::BitOr,
    Operator::BitXor,
    Operator::BitAnd,
    Operator::FloorDiv,
];

const COMPARISONS: [CmpOp; 8] = [
    CmpOp::Eq,
    CmpOp::NotEq,
    CmpOp::Lt,
    CmpOp::LtE,
    CmpOp::Gt,
    CmpOp::GtE,
    CmpOp::In,
    CmpOp::Is,
];

fn arb_ints() -> impl Strategy<Value = Int> {
    prop_oneof![
        any::<i8>().prop_map(|value| Int::from(i128::from(value))),
        any::<i128>().prop_map(Int::from),
        "[1-9][0-9]{0,2400}".prop_map(|digits| {
            Int::from_digits(&digits, 10)
                .ok()
                .flatten()
                .unwrap_or_else(|| Int::from(0))
        }),
    ]
}

fn arb_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        arb_ints().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        "[ 0-9a-fx_.eé'\\\\-]{0,12}".prop_map(Value::Str),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Tuple),
            prop::collection::vec((inner.clone(), inner), 0..3).prop_map(Value::Dict),
        ]
    })
}

fn spend(items: usize) -> Result<(), Error> {
    if items > 10_000 {
        return Err(Error::too_many(items, 10_000, "items"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn nothing_panics_or_runs_long(a in arb_values(), b in arb_values(), c in arb_values()) {
        let start = Instant::now();
        for op in OPERATORS {
            let _ = operator::apply_binary(op, &a, &b);
        }
        for op in COMPARISONS {
            let _ = operator::compare(op, &a, &b);
        }
        for op in [UnaryOp::USub, UnaryOp::UAdd, UnaryOp::Invert, UnaryOp::Not] {
            let _ = operator::apply_unary(op, &a);
        }
        let _ = operator::get_item(&a, &b);
        let _ = operator::slice(&a, [Some(b.clone()), Some(c.clone()), None]);
        let _ = repr::repr_of(&a);
        let all = [a, b, c];
        for function in Builtins::TABLE.iter().chain(Math::TABLE) {
            for count in 0..=all.len() {
                let _ = function.call(&all[..count], &mut spend);
            }
        }
        prop_assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn floor_division_and_remainder_belong_together(a in arb_ints(), b in arb_ints()) {
        let Some((quotient, rest)) = a.floor_div_mod(&b) else {
            return Ok(());
        };
        if let Ok(product) = quotient.checked_mul(&b) {
            prop_assert_eq!(product.checked_add(&rest), Ok(a));
        }
        prop_assert!(rest.is_zero() || rest.is_negative() == b.is_negative());
    }
}
