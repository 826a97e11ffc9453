//! `tl.inline_asm_elementwise`. See `cerith-assembly` for the meaning of assembly.

use cerith_assembly::{Argument, MOST_PACKED, Refusal, Snippet, assemble};

use super::argument::{expect_dtype, expect_int, expect_text, get_argument, to_tensor};
use super::row::{Row, row};
use crate::constant::Constant;
use crate::lowering::Lowering;
use crate::semantic::shape::broadcast_all;
use crate::semantic::types::as_items;
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[row(
    "tl.inline_asm_elementwise(asm, constraints, args, dtype, is_pure, pack)",
    inline,
)];

fn inline(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let asm = expect_text(lo, get_argument(args, 0), "asm")?.unwrap_or_default();
    let constraints = expect_text(lo, get_argument(args, 1), "constraints")?.unwrap_or_default();
    let several = matches!(get_argument(args, 3), Value::Tuple { .. } | Value::List(_));
    let mut dtypes = Vec::new();
    for item in as_items(get_argument(args, 3)) {
        dtypes.push(expect_dtype(lo, item, "dtype")?);
    }
    let pack = expect_int(lo, get_argument(args, 5), "pack")?;
    let pack = match usize::try_from(pack) {
        Ok(pack) if pack.is_power_of_two() && pack <= MOST_PACKED => pack,
        _ => return Err(lo.report_unsupported(format!("assembly for {pack} elements at once"))),
    };
    let (mut values, mut numbers) = (Vec::new(), Vec::new());
    for item in as_items(get_argument(args, 2)) {
        let known = match item {
            Value::Constant(Constant::Int(number)) => Some(*number as u64),
            _ => None,
        };
        let value = to_tensor(lo, item)?;
        let bits = lo.dtype(value).map_or(64, cerith_tile::DType::bits);
        let known = known.map(|known| {
            if bits < 64 {
                known & ((1 << bits) - 1)
            } else {
                known
            }
        });
        values.push(value);
        numbers.push(known);
    }
    let arguments: Vec<Argument> = broadcast_all(lo, &values)?
        .into_iter()
        .zip(numbers)
        .map(|(value, known)| Argument {
            value,
            known_bits: known,
        })
        .collect();
    let snippet = Snippet {
        asm,
        constraints,
        pack,
        dtypes,
    };
    lo.charge(snippet.statements())?;
    let results = assemble(&mut lo.builder, &snippet, &arguments).map_err(|refusal| match refusal {
        Refusal::Unknown(what) => lo.report_unsupported(what),
        Refusal::Wrong(message) => lo.reject(message),
    })?;
    Ok(match results.as_slice() {
        &[result] if !several => Value::Tensor(result),
        _ => Value::new_tuple(results.into_iter().map(Value::Tensor)),
    })
}
