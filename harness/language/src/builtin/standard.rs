//! Triton's standard library as rows: each is a call of the prelude, with every argument passed by position.

use cerith_tile::quirk::Quirk;

use super::argument::get_argument;
use super::row::{Row, call_row};
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Caller;

/// A row that calls a function of the prelude.
macro_rules! prelude {
    ($signature:literal, $module:literal, $function:literal) => {
        call_row($signature, |caller, args| call(caller, $module, $function, args))
    };
}

pub(super) const ROWS: &[Row] = &[
    prelude!("tl.standard.cdiv(x, div)", "standard", "cdiv_left_to_right")
        .removed_in(3, 6, 0)
        .method(),
    prelude!("tl.standard.cdiv(x, div)", "standard", "cdiv")
        .since(3, 6, 0)
        .method(),
    prelude!("tl.standard.sigmoid(x)", "standard", "sigmoid").method(),
    call_row("tl.standard.softmax(x, ieee_rounding=False)", |caller, args| {
        let args = [
            get_argument(args, 0).clone(),
            Value::from_int(0),
            Value::from_bool(false),
            get_argument(args, 1).clone(),
        ];
        call(caller, "standard", "softmax_keep_dims", &args)
    })
    .removed_in(3, 4, 0)
    .method(),
    prelude!(
        "tl.standard.softmax(x, dim=None, keep_dims=False, ieee_rounding=False)",
        "standard",
        "softmax_keep_dims"
    )
    .since(3, 4, 0)
    .removed_in(3, 9, 0)
    .method(),
    call_row(
        "tl.standard.softmax(x, dim=None, *, keep_dims=None, ieee_rounding=False)",
        |caller, args| {
            let args = [
                get_argument(args, 0).clone(),
                get_argument(args, 1).clone(),
                get_argument(args, 3).clone(),
            ];
            call(caller, "standard", "softmax", &args)
        },
    )
    .since(3, 9, 0)
    .method(),
    call_row("tl.standard.ravel(x)", |caller, args| {
        call(
            caller,
            "standard",
            "ravel",
            &[get_argument(args, 0).clone(), Value::from_bool(true)],
        )
    })
    .removed_in(3, 3, 1)
    .method(),
    prelude!("tl.standard.ravel(x, can_reorder=False)", "standard", "ravel")
        .since(3, 3, 1)
        .method(),
    prelude!(
        "tl.standard.swizzle2d(i, j, size_i, size_j, size_g)",
        "standard",
        "swizzle2d_whole_groups"
    )
    .removed_in(3, 2, 0),
    prelude!(
        "tl.standard.swizzle2d(i, j, size_i, size_j, size_g)",
        "standard",
        "swizzle2d"
    )
    .since(3, 2, 0),
    prelude!("tl.standard.zeros(shape, dtype)", "standard", "zeros"),
    prelude!("tl.standard.zeros_like(input)", "standard", "zeros_like"),
    prelude!(
        "tl.standard.max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, \
         keep_dims=False)",
        "standard",
        "max_bf16_in_f32"
    )
    .removed_in(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, \
         keep_dims=False)",
        "standard",
        "max"
    )
    .since(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, \
         keep_dims=False)",
        "standard",
        "min_bf16_in_f32"
    )
    .removed_in(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, \
         keep_dims=False)",
        "standard",
        "min"
    )
    .since(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.argmax(input, axis, tie_break_left=True, keep_dims=False)",
        "standard",
        "argmax"
    )
    .method(),
    prelude!(
        "tl.standard.argmin(input, axis, tie_break_left=True, keep_dims=False)",
        "standard",
        "argmin"
    )
    .method(),
    prelude!(
        "tl.standard.sum(input, axis=None, keep_dims=False)",
        "standard",
        "sum_as_it_is"
    )
    .removed_in(3, 3, 1)
    .method(),
    prelude!(
        "tl.standard.sum(input, axis=None, keep_dims=False, dtype=None)",
        "standard",
        "sum"
    )
    .since(3, 3, 1)
    .method(),
    prelude!(
        "tl.standard.xor_sum(input, axis=None, keep_dims=False)",
        "standard",
        "xor_sum"
    )
    .method(),
    prelude!(
        "tl.standard.reduce_or(input, axis, keep_dims=False)",
        "standard",
        "reduce_or"
    )
    .since(3, 4, 0)
    .method(),
    prelude!(
        "tl.standard.cumsum(input, axis=0, reverse=False)",
        "standard",
        "cumsum_as_it_is"
    )
    .removed_in(3, 4, 0)
    .method(),
    prelude!(
        "tl.standard.cumsum(input, axis=0, reverse=False, dtype=None)",
        "standard",
        "cumsum_bf16_in_f32"
    )
    .since(3, 4, 0)
    .removed_in(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.cumsum(input, axis=0, reverse=False, dtype=None)",
        "standard",
        "cumsum"
    )
    .since(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.cumprod(input, axis=0, reverse=False)",
        "standard",
        "cumprod_as_it_is"
    )
    .removed_in(3, 9, 0)
    .method(),
    prelude!(
        "tl.standard.cumprod(input, axis=0, reverse=False, dtype=None)",
        "standard",
        "cumprod"
    )
    .since(3, 9, 0)
    .method(),
    prelude!("tl.standard.interleave(a, b)", "standard", "interleave"),
    prelude!("tl.standard.squeeze(x, dim)", "standard", "squeeze_as_sliced")
        .since(3, 7, 1)
        .removed_in(3, 9, 0),
    prelude!("tl.standard.squeeze(x, dim)", "standard", "squeeze").since(3, 9, 0),
    prelude!("tl.standard.unsqueeze(x, dim)", "standard", "unsqueeze_as_sliced")
        .since(3, 7, 1)
        .removed_in(3, 9, 0),
    prelude!("tl.standard.unsqueeze(x, dim)", "standard", "unsqueeze").since(3, 9, 0),
    call_row("tl.standard.sort(x, dim=None, descending=0)", |caller, args| {
        call_unless_quirk(
            caller,
            Quirk::SortAddsUp,
            [["sorting", "sort_wide"], ["sorting", "sort_by_sums"]],
            args,
        )
    })
    .removed_in(3, 2, 0)
    .method(),
    call_row("tl.standard.sort(x, dim=None, descending=0)", |caller, args| {
        call_unless_quirk(
            caller,
            Quirk::SortAddsUp,
            [["sorting", "sort"], ["sorting", "sort_by_sums"]],
            args,
        )
    })
    .since(3, 2, 0)
    .removed_in(3, 4, 0)
    .method(),
    prelude!("tl.standard.sort(x, dim=None, descending=0)", "sorting", "sort").since(3, 4, 0),
    prelude!(
        "tl.standard.sort_impl(x, k=None, dim=None, descending=0)",
        "sorting",
        "sort_impl"
    )
    .since(3, 4, 0),
    call_row("tl.standard.topk(x, k, dim=None)", |caller, args| {
        let args = [
            get_argument(args, 0).clone(),
            get_argument(args, 1).clone(),
            get_argument(args, 2).clone(),
            Value::from_bool(true),
        ];
        call(caller, "sorting", "topk_of_several", &args)
    })
    .since(3, 4, 0)
    .removed_in(3, 8, 0),
    prelude!(
        "tl.standard.topk(x, k, dim=None, descending=True)",
        "sorting",
        "topk_of_several"
    )
    .since(3, 8, 0)
    .removed_in(3, 9, 0),
    prelude!(
        "tl.standard.topk(x, k, dim=None, descending=True)",
        "sorting",
        "topk"
    )
    .since(3, 9, 0),
    prelude!(
        "tl.standard.bitonic_merge(x, dim=None, descending=0)",
        "sorting",
        "bitonic_merge"
    )
    .since(3, 4, 0),
    call_row("tl.standard.flip(x, dim=None)", |caller, args| {
        call_unless_quirk(
            caller,
            Quirk::FlipMultiplies,
            [["sorting", "flip_last"], ["sorting", "flip_by_products"]],
            args,
        )
    })
    .removed_in(3, 4, 0)
    .method(),
    prelude!("tl.standard.flip(x, dim=None)", "sorting", "flip_along")
        .since(3, 4, 0)
        .removed_in(3, 9, 0)
        .method(),
    prelude!("tl.standard.flip(x, dim=None)", "sorting", "flip")
        .since(3, 9, 0)
        .method(),
    prelude!(
        "tl.random.philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=10)",
        "random",
        "philox_impl"
    ),
    prelude!(
        "tl.random.philox(seed, c0, c1, c2, c3, n_rounds=10)",
        "random",
        "philox"
    ),
    prelude!(
        "tl.random.randint(seed, offset, n_rounds=10)",
        "random",
        "randint"
    ),
    prelude!(
        "tl.random.randint4x(seed, offset, n_rounds=10)",
        "random",
        "randint4x_whole_offset"
    )
    .removed_in(3, 4, 0),
    prelude!(
        "tl.random.randint4x(seed, offset, n_rounds=10)",
        "random",
        "randint4x"
    )
    .since(3, 4, 0),
    prelude!(
        "tl.random.uint_to_uniform_float(x)",
        "random",
        "uint_to_uniform_float"
    ),
    prelude!("tl.random.rand(seed, offset, n_rounds=10)", "random", "rand"),
    prelude!("tl.random.rand4x(seed, offsets, n_rounds=10)", "random", "rand4x"),
    prelude!(
        "tl.random.pair_uniform_to_normal(u1, u2)",
        "random",
        "pair_uniform_to_normal"
    ),
    prelude!("tl.random.randn(seed, offset, n_rounds=10)", "random", "randn"),
    prelude!(
        "tl.random.randn4x(seed, offset, n_rounds=10)",
        "random",
        "randn4x"
    ),
];

/// Calls the first of two functions of the prelude, or the second one if a known bug is modelled.
fn call_unless_quirk(
    caller: &mut dyn Caller,
    quirk: Quirk,
    [right, other]: [[&str; 2]; 2],
    args: &[Value],
) -> Traced<Value> {
    let [module, function] = if caller.lo().has_quirk(quirk) {
        other
    } else {
        right
    };
    call(caller, module, function, args)
}

fn call(caller: &mut dyn Caller, module: &str, function: &str, args: &[Value]) -> Traced<Value> {
    match caller.find_in_prelude(module, function) {
        Some(callee) => caller.call(&callee, args.to_vec()),
        None => Err(caller
            .lo()
            .report_unsupported(format!("`{function}` of the standard library's `{module}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    /// Every prelude function that a row names is defined in the prelude.
    #[test]
    fn the_prelude_has_what_rows_call() {
        let source = include_str!("standard.rs");
        let (table, _) = source.split_once("fn call").unwrap_or((source, ""));
        let mut names = 0;
        for (module, text) in crate::builtin::PRELUDE {
            let quoted = format!("\"{module}\"");
            for (at, _) in table.match_indices(quoted.as_str()) {
                let after = table[at + quoted.len()..].split('"').nth(1).unwrap_or_default();
                assert!(text.contains(&format!("\ndef {after}(")), "{module}.{after}");
                names += 1;
            }
        }
        assert!(names >= ROWS.len(), "{names} calls in {} rows", ROWS.len());
    }
}
