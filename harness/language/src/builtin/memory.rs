//! Loads, stores and atomics.

use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, MemoryOrder, OpKind, ValueId};
use cerith_tile::rules::Rule;

use super::argument::{expect_flag, expect_int, expect_text, get_argument, optional_tensor, to_tensor};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::block_pointer;
use crate::semantic::memory::{
    atomic_cas, atomic_load, atomic_poll, atomic_store, load, lower_atomic, store,
};
use crate::semantic::types::{as_items, expect_tensor};
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.load(pointer, mask=None, other=None, *, cache_modifier='', eviction_policy='', volatile=False)",
        |lo, args| {
            check_cache_hints(lo, get_argument(args, 3), get_argument(args, 4), &LOAD_CACHE)?;
            lower_load(lo, args, get_argument(args, 5))
        },
    )
    .since(3, 9, 0),
    row(
        "tl.load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', \
         eviction_policy='', volatile=False)",
        |lo, args| {
            let option = expect_text(lo, get_argument(args, 4), "padding_option")?;
            check_cache_hints(lo, get_argument(args, 5), get_argument(args, 6), &LOAD_CACHE)?;
            if let Value::BlockPointer(pointer) = get_argument(args, 0) {
                no_mask(lo, &[get_argument(args, 1), get_argument(args, 2)])?;
                let volatile = expect_flag(lo, get_argument(args, 7), "volatile")?;
                return block_pointer::load(lo, pointer, get_argument(args, 3), option, volatile)
                    .map(Value::Tensor);
            }
            no_boundary(lo, get_argument(args, 3))?;
            if option.is_some_and(|option| !option.is_empty()) {
                return Err(lo.reject("`padding_option` is for block pointers"));
            }
            lower_load(lo, args, get_argument(args, 7))
        },
    )
    .removed_in(3, 9, 0),
    row(
        "tl.store(pointer, value, mask=None, *, cache_modifier='', eviction_policy='')",
        |lo, args| {
            check_cache_hints(lo, get_argument(args, 3), get_argument(args, 4), &STORE_CACHE)?;
            lower_store(lo, args)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.store(pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy='')",
        |lo, args| {
            check_cache_hints(lo, get_argument(args, 4), get_argument(args, 5), &STORE_CACHE)?;
            if let Value::BlockPointer(pointer) = get_argument(args, 0) {
                no_mask(lo, &[get_argument(args, 2)])?;
                let value = to_tensor(lo, get_argument(args, 1))?;
                block_pointer::store(lo, pointer, value, get_argument(args, 3))?;
                return Ok(Value::NONE);
            }
            no_boundary(lo, get_argument(args, 3))?;
            lower_store(lo, args)
        },
    )
    .removed_in(3, 9, 0)
    .method(),
    row(
        "tl.atomic_add(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Add, args),
    )
    .method(),
    row(
        "tl.atomic_max(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Max, args),
    )
    .method(),
    row(
        "tl.atomic_min(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Min, args),
    )
    .method(),
    row(
        "tl.atomic_and(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::And, args),
    )
    .method(),
    row(
        "tl.atomic_or(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Or, args),
    )
    .method(),
    row(
        "tl.atomic_xor(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Xor, args),
    )
    .method(),
    row(
        "tl.atomic_xchg(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| lower_atomic_rmw(lo, AtomicOp::Xchg, args),
    )
    .method(),
    row(
        "tl.atomic_cas(pointer, cmp, val, sem=None, scope=None)",
        |lo, args| {
            let pointer = expect_tensor(lo, get_argument(args, 0), "pointer")?;
            let (compare, value) = (
                to_tensor(lo, get_argument(args, 1))?,
                to_tensor(lo, get_argument(args, 2))?,
            );
            let order = order(lo, get_argument(args, 3), get_argument(args, 4))?;
            atomic_cas(lo, pointer, compare, value, order).map(Value::Tensor)
        },
    )
    .method(),
    row(
        "tl.atomic_load(pointer, mask=None, sem=None, scope=None)",
        |lo, args| {
            let pointer = expect_pointer(lo, get_argument(args, 0))?;
            let mask = optional_tensor(lo, get_argument(args, 1))?;
            let order = one_sided(
                lo,
                get_argument(args, 2),
                get_argument(args, 3),
                "acquire",
                "atomic_load",
            )?;
            let loaded = atomic_load(lo, pointer, mask)?;
            if order.acquires() {
                lo.builder.add_effect(OpKind::Acquire, &[]);
            }
            Ok(Value::Tensor(loaded))
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_store(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| {
            let pointer = expect_pointer(lo, get_argument(args, 0))?;
            let value = to_tensor(lo, get_argument(args, 1))?;
            let mask = optional_tensor(lo, get_argument(args, 2))?;
            let order = one_sided(
                lo,
                get_argument(args, 3),
                get_argument(args, 4),
                "release",
                "atomic_store",
            )?;
            atomic_store(lo, pointer, value, mask, order)?;
            Ok(Value::NONE)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None)",
        |lo, args| {
            let pointer = expect_pointer(lo, get_argument(args, 0))?;
            let expected = to_tensor(lo, get_argument(args, 1))?;
            one_sided(
                lo,
                get_argument(args, 2),
                get_argument(args, 3),
                "acquire",
                "atomic_poll",
            )?;
            let timeout = optional_tensor(lo, get_argument(args, 4))?;
            if matches!(get_argument(args, 4), Value::Constant(_))
                && timeout.is_some()
                && expect_int(lo, get_argument(args, 4), "timeout_ns")? < 0
            {
                return Err(lo.reject("atomic_poll timeout_ns must be non-negative"));
            }
            let scalar_int = |timeout| !lo.is_block(timeout) && lo.dtype(timeout).is_some_and(DType::is_int);
            if !timeout.is_none_or(scalar_int) {
                return Err(lo.reject("atomic_poll timeout_ns must be a scalar integer"));
            }
            atomic_poll(lo, pointer, expected, timeout.is_some()).map(Value::Tensor)
        },
    )
    .since(3, 9, 0)
    .method(),
];

const LOAD_CACHE: [&str; 5] = ["", ".ca", ".cg", ".cv", ".cs"];
const STORE_CACHE: [&str; 5] = ["", ".wb", ".cg", ".cs", ".wt"];
const EVICTION: [&str; 4] = ["", "evict_normal", "evict_first", "evict_last"];

/// Checks cache hints. They do not change results, but an invalid hint is an error.
fn check_cache_hints(lo: &Lowering, cache: &Value, eviction: &Value, allowed: &[&str]) -> Traced<()> {
    for (what, value, allowed) in [
        ("cache_modifier", cache, allowed),
        ("eviction_policy", eviction, &EVICTION[..]),
    ] {
        let given = expect_text(lo, value, what)?.unwrap_or("");
        let late =
            matches!(given, ".cs" | "evict_normal") && allowed == LOAD_CACHE || given == "evict_normal";
        if !allowed.contains(&given) || late && !lo.rules.holds(Rule::StreamingHints) {
            return Err(lo.reject(format!("{what} `{given}` is not supported")));
        }
    }
    Ok(())
}

fn no_boundary(lo: &Lowering, boundary: &Value) -> Traced<()> {
    match boundary {
        Value::Tuple { .. } | Value::List(_) if as_items(boundary).is_empty() => Ok(()),
        value if value.is_none() => Ok(()),
        _ => Err(lo.reject("`boundary_check` is for block pointers, not for tensors of pointers")),
    }
}

fn no_mask(lo: &Lowering, values: &[&Value]) -> Traced<()> {
    if values.iter().all(|value| value.is_none()) {
        return Ok(());
    }
    Err(lo.reject("`mask` and `other` cannot be specified for block pointers"))
}

/// Parses the memory order and scope of an atomic, and returns the order that it has for other programs.
fn order(lo: &Lowering, sem: &Value, scope: &Value) -> Traced<MemoryOrder> {
    let sem = expect_text(lo, sem, "sem")?.unwrap_or("");
    if !["", "acquire", "release", "acq_rel", "relaxed"].contains(&sem) {
        return Err(lo.reject(format!("memory semantic `{sem}` is not supported")));
    }
    let scope = expect_text(lo, scope, "scope")?.unwrap_or("");
    if !["", "gpu", "cta", "sys"].contains(&scope) {
        return Err(lo.reject(format!("memory scope `{scope}` is not supported")));
    }
    Ok(match sem {
        _ if scope == "cta" => MemoryOrder::Relaxed,
        "relaxed" => MemoryOrder::Relaxed,
        "acquire" => MemoryOrder::Acquire,
        "release" => MemoryOrder::Release,
        _ => MemoryOrder::AcquireRelease,
    })
}

/// The order of an atomic that only reads or only writes.
fn one_sided(lo: &Lowering, sem: &Value, scope: &Value, side: &str, function: &str) -> Traced<MemoryOrder> {
    let order = order(lo, sem, scope)?;
    match expect_text(lo, sem, "sem")?.unwrap_or("") {
        "" | "relaxed" => Ok(order),
        given if given == side => Ok(order),
        _ => Err(lo.reject(format!("{function} only supports {side} and relaxed semantics"))),
    }
}

fn expect_pointer(lo: &Lowering, value: &Value) -> Traced<ValueId> {
    expect_tensor(lo, value, "the pointer")
}

fn lower_load(lo: &mut Lowering, args: &[Value], volatile: &Value) -> Traced<Value> {
    let pointer = expect_pointer(lo, get_argument(args, 0))?;
    let (mask, other) = (
        optional_tensor(lo, get_argument(args, 1))?,
        optional_tensor(lo, get_argument(args, 2))?,
    );
    let volatile = expect_flag(lo, volatile, "volatile")?;
    load(lo, pointer, mask, other, volatile).map(Value::Tensor)
}

fn lower_store(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let pointer = expect_pointer(lo, get_argument(args, 0))?;
    let value = to_tensor(lo, get_argument(args, 1))?;
    let mask = optional_tensor(lo, get_argument(args, 2))?;
    store(lo, pointer, value, mask)?;
    Ok(Value::NONE)
}

fn lower_atomic_rmw(lo: &mut Lowering, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let pointer = expect_pointer(lo, get_argument(args, 0))?;
    let value = to_tensor(lo, get_argument(args, 1))?;
    if matches!(get_argument(args, 2), Value::Constant(_))
        && !get_argument(args, 2).is_none()
        && (!lo.rules.holds(Rule::AtomicMaskMayBeConstexpr) || !lo.is_block(pointer))
    {
        return Err(lo.reject("the mask of an atomic must be a tensor"));
    }
    let mask = optional_tensor(lo, get_argument(args, 2))?;
    let order = order(lo, get_argument(args, 3), get_argument(args, 4))?;
    lower_atomic(lo, op, pointer, value, mask, order).map(Value::Tensor)
}
