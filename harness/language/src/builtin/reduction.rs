//! Reductions with the user's functions, scans, histograms and matrix products.

use cerith_tile::DType;
use cerith_tile::rules::Rule;

use super::argument::{
    block_shape, expect_dtype, expect_flag, expect_int, expect_text, get_argument, optional_tensor,
};
use super::row::{Row, call_row, row};
use crate::constant::Constant;
use crate::lowering::Lowering;
use crate::semantic::dot::{self, Options};
use crate::semantic::dot_scaled::{self, Side};
use crate::semantic::promotion::describe_dtype;
use crate::semantic::shape::{arange, broadcast_to, expand_dims, wrap_axis};
use crate::semantic::types::{expect_tensor, expect_tensors};
use crate::semantic::{map, reduce};
use crate::stop::Traced;
use crate::value::Value;
use crate::value::callable::Caller;

pub(super) const ROWS: &[Row] = &[
    call_row(
        "tl.reduce(input, axis, combine_fn, keep_dims=False)",
        |caller, args| {
            let lo = caller.lo();
            let inputs = expect_tensors(lo, get_argument(args, 0), "the input of a reduction")?;
            let axis = if get_argument(args, 1).is_none() {
                None
            } else {
                Some(expect_int(lo, get_argument(args, 1), "axis")?)
            };
            let keep = expect_flag(lo, get_argument(args, 3), "keep_dims")?;
            let results = reduce::reduce(caller, &inputs, axis, get_argument(args, 2), keep)?;
            Ok(as_given(get_argument(args, 0), results))
        },
    )
    .method(),
    call_row(
        "tl._reduce_with_indices(input, axis, combine_fn, keep_dims=False)",
        with_indices,
    ),
    call_row(
        "tl.associative_scan(input, axis, combine_fn, reverse=False)",
        |caller, args| {
            let lo = caller.lo();
            let inputs = expect_tensors(lo, get_argument(args, 0), "the input of a scan")?;
            let axis = expect_int(lo, get_argument(args, 1), "axis")?;
            let reverse = expect_flag(lo, get_argument(args, 3), "reverse")?;
            let results = reduce::scan(caller, &inputs, axis, get_argument(args, 2), reverse)?;
            Ok(as_given(get_argument(args, 0), results))
        },
    )
    .method(),
    row("tl.histogram(input, num_bins)", histogram)
        .removed_in(3, 4, 0)
        .method(),
    row("tl.histogram(input, num_bins, mask=None)", |lo, args| {
        histogram(lo, args)
    })
    .since(3, 4, 0)
    .method(),
    call_row(
        "tl.map_elementwise(scalar_fn, *args, pack=1)",
        lower_map_elementwise,
    )
    .since(3, 5, 1),
    row(
        "tl.dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, \
         out_dtype=None)",
        lower_dot,
    ),
    row(
        "tl.dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, out_dtype=None)",
        scaled_product_3_2,
    )
    .since(3, 2, 0)
    .removed_in(3, 3, 0),
    row(
        "tl.dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, \
         out_dtype=None)",
        scaled_product_3_3,
    )
    .since(3, 3, 0)
    .removed_in(3, 4, 0),
    row(
        "tl.dot_scaled(lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, \
         lhs_k_pack=True, rhs_k_pack=True, out_dtype=None)",
        scaled_product,
    )
    .since(3, 4, 0),
];

/// Elements that a mapped function may take at once.
const MAX_PACK: i128 = 64;

fn lower_map_elementwise(caller: &mut dyn Caller, args: &[Value]) -> Traced<Value> {
    let lo = caller.lo();
    let inputs = expect_tensors(lo, get_argument(args, 1), "what is mapped")?;
    let pack = match expect_int(lo, get_argument(args, 2), "pack")? {
        pack @ 1..=MAX_PACK => pack as usize,
        ..1 => return Err(lo.reject("pack must be at least 1")),
        _ => {
            return Err(lo.report_unsupported(format!(
                "`tl.map_elementwise` of more than {MAX_PACK} elements a call"
            )));
        }
    };
    let results = map::map_elementwise(caller, get_argument(args, 0), &inputs, pack)?;
    // A function of several elements returns a tuple, and so does the call.
    Ok(match results.as_slice() {
        &[result] if pack == 1 => Value::Tensor(result),
        _ => Value::new_tuple(results.into_iter().map(Value::Tensor)),
    })
}

/// One result for one tensor, a tuple for a tuple.
fn as_given(input: &Value, results: Vec<cerith_tile::ir::ValueId>) -> Value {
    match (input, results.as_slice()) {
        (Value::Tensor(_), &[result]) => Value::Tensor(result),
        _ => Value::new_tuple(results.into_iter().map(Value::Tensor)),
    }
}

/// A reduction of a tensor together with the index of each element along the axis.
fn with_indices(caller: &mut dyn Caller, args: &[Value]) -> Traced<Value> {
    let lo = caller.lo();
    let input = expect_tensor(lo, get_argument(args, 0), "the input of a reduction")?;
    let shape = lo.ty(input).shape.clone();
    if get_argument(args, 1).is_none() {
        return Err(lo.reject("a reduction that returns indices needs an axis"));
    }
    let along = expect_int(lo, get_argument(args, 1), "axis")?;
    let along = wrap_axis(lo, along, shape.len())?;
    let extent = shape.get(along).copied().unwrap_or(1);
    let mut index = arange(lo, 0, extent as i128)?;
    if shape.len() > 1 {
        let others: Vec<i128> = (0..shape.len())
            .filter(|&dim| dim != along)
            .map(|dim| dim as i128)
            .collect();
        index = expand_dims(lo, index, &others)?;
        index = broadcast_to(lo, index, &shape)?;
    }
    let keep = expect_flag(lo, get_argument(args, 3), "keep_dims")?;
    let results = reduce::reduce(
        caller,
        &[input, index],
        Some(along as i128),
        get_argument(args, 2),
        keep,
    )?;
    Ok(Value::new_tuple(results.into_iter().map(Value::Tensor)))
}

fn histogram(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let input = expect_tensor(lo, get_argument(args, 0), "the input of a histogram")?;
    let shape = lo.ty(input).shape.clone();
    if shape.len() != 1 {
        return Err(lo.reject("histogram only supports 1D input"));
    }
    let narrow = lo.rules.holds(Rule::HistogramTakes32Bits);
    match lo.dtype(input) {
        Some(dtype) if dtype.is_int() && (!narrow || dtype.bits() == 32) => {}
        dtype => {
            let got = dtype.map_or_else(|| "pointers".to_owned(), describe_dtype);
            let wanted = if narrow { "32-bit integer" } else { "integer" };
            return Err(lo.reject(format!("histogram only supports {wanted} input, but got {got}")));
        }
    }
    let bins = block_shape(lo, std::slice::from_ref(get_argument(args, 1)))?;
    let mask = match optional_tensor(lo, get_argument(args, 2))? {
        None => None,
        Some(mask) => {
            let mask = broadcast_to(lo, mask, &shape)?;
            if lo.dtype(mask) != Some(DType::I1) {
                return Err(lo.reject("mask must have boolean scalar type"));
            }
            Some(mask)
        }
    };
    reduce::histogram(lo, input, bins.iter().product(), mask).map(Value::Tensor)
}

/// `tl.dot_scaled` of 3.2: without `fast_math`, packed along the inner dimension.
fn scaled_product_3_2(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let (seven, out) = (args.get(..7).unwrap_or(args), get_argument(args, 7).clone());
    let no = || Value::Constant(Constant::Bool(false));
    let yes = || Value::Constant(Constant::Bool(true));
    let all: Vec<Value> = seven.iter().cloned().chain([no(), yes(), yes(), out]).collect();
    scaled_product(lo, &all)
}

/// `tl.dot_scaled` of 3.3: packed along the inner dimension.
fn scaled_product_3_3(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let (eight, out) = (args.get(..8).unwrap_or(args), get_argument(args, 8).clone());
    let yes = || Value::Constant(Constant::Bool(true));
    let all: Vec<Value> = eight.iter().cloned().chain([yes(), yes(), out]).collect();
    scaled_product(lo, &all)
}

fn scaled_product(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let side = |lo: &Lowering, name: &str, first: usize, pack: usize| -> Traced<Side> {
        let value = expect_tensor(lo, get_argument(args, first), name)?;
        let scale = match get_argument(args, first + 1) {
            none if none.is_none() => None,
            scale => Some(expect_tensor(lo, scale, &format!("{name}_scale"))?),
        };
        let what = format!("{name}_format");
        let Some(format) = expect_text(lo, get_argument(args, first + 2), &what)? else {
            return Err(lo.reject(format!("{what} must be a string, not None")));
        };
        Ok(Side {
            value,
            scale,
            format: dot_scaled::format(lo, name, format)?,
            k_pack: expect_flag(lo, get_argument(args, pack), &format!("{name}_k_pack"))?,
        })
    };
    let lhs = side(lo, "lhs", 0, 8)?;
    let rhs = side(lo, "rhs", 3, 9)?;
    let acc = match get_argument(args, 6) {
        none if none.is_none() => None,
        acc => Some(expect_tensor(lo, acc, "acc")?),
    };
    let fast_math = expect_flag(lo, get_argument(args, 7), "fast_math")?;
    let out = get_argument(args, 10);
    if !out.is_none() && expect_dtype(lo, out, "out_dtype")? != DType::F32 {
        return Err(lo.reject("out_dtype of dot_scaled must be float32"));
    }
    dot_scaled::dot_scaled(lo, lhs, rhs, acc, fast_math).map(Value::Tensor)
}

fn lower_dot(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let (lhs, rhs) = (
        expect_tensor(lo, get_argument(args, 0), "input")?,
        expect_tensor(lo, get_argument(args, 1), "other")?,
    );
    let acc = if get_argument(args, 2).is_none() {
        None
    } else {
        Some(expect_tensor(lo, get_argument(args, 2), "acc")?)
    };
    let named = expect_text(lo, get_argument(args, 3), "input_precision")?;
    let tf32 = get_argument(args, 4);
    let name = match (named, tf32.is_none()) {
        (Some(_), false) => {
            return Err(lo.reject("only one of input_precision and allow_tf32 can be specified"));
        }
        (Some(name), true) => name,
        (None, true) => "tf32",
        (None, false) => {
            if expect_flag(lo, tf32, "allow_tf32")? {
                "tf32"
            } else {
                "ieee"
            }
        }
    };
    let precision = dot::parse_precision(lo, name)?;
    let most = get_argument(args, 5);
    let max_imprecise = if most.is_none() {
        None
    } else {
        Some(expect_int(lo, most, "max_num_imprecise_acc")?)
    };
    let out = get_argument(args, 6);
    let out_dtype = if out.is_none() {
        None
    } else {
        Some(expect_dtype(lo, out, "out_dtype")?)
    };
    let options = Options {
        precision,
        max_imprecise,
        out_dtype,
    };
    dot::dot(lo, lhs, rhs, acc, options).map(Value::Tensor)
}
