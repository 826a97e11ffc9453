//! Loads, stores and atomics.

use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, MemoryOrder, OpKind, ValueId};
use cerith_tile::rules::Rule;

use super::argument::{at, flag, int, optional_tensor, text, to_tensor};
use super::row::{Row, row};
use crate::lowering::Lowering;
use crate::semantic::block_pointer;
use crate::semantic::memory::{atomic, atomic_cas, atomic_load, atomic_poll, atomic_store, load, store};
use crate::semantic::types::{items, tensor};
use crate::stop::Traced;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.load(pointer, mask=None, other=None, *, cache_modifier='', eviction_policy='', volatile=False)",
        |lo, args| {
            hints(lo, at(args, 3), at(args, 4), &LOAD_CACHE)?;
            loaded(lo, args, at(args, 5))
        },
    )
    .since(3, 9, 0),
    row(
        "tl.load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', \
         eviction_policy='', volatile=False)",
        |lo, args| {
            let option = text(lo, at(args, 4), "padding_option")?;
            hints(lo, at(args, 5), at(args, 6), &LOAD_CACHE)?;
            if let Value::BlockPointer(pointer) = at(args, 0) {
                no_mask(lo, &[at(args, 1), at(args, 2)])?;
                let volatile = flag(lo, at(args, 7), "volatile")?;
                return block_pointer::load(lo, pointer, at(args, 3), option, volatile).map(Value::Tensor);
            }
            no_boundary(lo, at(args, 3))?;
            if option.is_some_and(|option| !option.is_empty()) {
                return Err(lo.reject("`padding_option` is for block pointers"));
            }
            loaded(lo, args, at(args, 7))
        },
    )
    .until(3, 9, 0),
    row(
        "tl.store(pointer, value, mask=None, *, cache_modifier='', eviction_policy='')",
        |lo, args| {
            hints(lo, at(args, 3), at(args, 4), &STORE_CACHE)?;
            stored(lo, args)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.store(pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy='')",
        |lo, args| {
            hints(lo, at(args, 4), at(args, 5), &STORE_CACHE)?;
            if let Value::BlockPointer(pointer) = at(args, 0) {
                no_mask(lo, &[at(args, 2)])?;
                let value = to_tensor(lo, at(args, 1))?;
                block_pointer::store(lo, pointer, value, at(args, 3))?;
                return Ok(Value::NONE);
            }
            no_boundary(lo, at(args, 3))?;
            stored(lo, args)
        },
    )
    .until(3, 9, 0)
    .method(),
    row(
        "tl.atomic_add(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Add, args),
    )
    .method(),
    row(
        "tl.atomic_max(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Max, args),
    )
    .method(),
    row(
        "tl.atomic_min(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Min, args),
    )
    .method(),
    row(
        "tl.atomic_and(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::And, args),
    )
    .method(),
    row(
        "tl.atomic_or(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Or, args),
    )
    .method(),
    row(
        "tl.atomic_xor(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Xor, args),
    )
    .method(),
    row(
        "tl.atomic_xchg(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| rmw(lo, AtomicOp::Xchg, args),
    )
    .method(),
    row(
        "tl.atomic_cas(pointer, cmp, val, sem=None, scope=None)",
        |lo, args| {
            let pointer = tensor(lo, at(args, 0), "pointer")?;
            let (compare, value) = (to_tensor(lo, at(args, 1))?, to_tensor(lo, at(args, 2))?);
            let order = order(lo, at(args, 3), at(args, 4))?;
            atomic_cas(lo, pointer, compare, value, order).map(Value::Tensor)
        },
    )
    .method(),
    row(
        "tl.atomic_load(pointer, mask=None, sem=None, scope=None)",
        |lo, args| {
            let pointer = pointer(lo, at(args, 0))?;
            let mask = optional_tensor(lo, at(args, 1))?;
            let order = one_sided(lo, at(args, 2), at(args, 3), "acquire", "atomic_load")?;
            let loaded = atomic_load(lo, pointer, mask)?;
            if order.acquires() {
                lo.builder.effect(OpKind::Acquire, &[]);
            }
            Ok(Value::Tensor(loaded))
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_store(pointer, val, mask=None, sem=None, scope=None)",
        |lo, args| {
            let pointer = pointer(lo, at(args, 0))?;
            let value = to_tensor(lo, at(args, 1))?;
            let mask = optional_tensor(lo, at(args, 2))?;
            let order = one_sided(lo, at(args, 3), at(args, 4), "release", "atomic_store")?;
            atomic_store(lo, pointer, value, mask, order)?;
            Ok(Value::NONE)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None)",
        |lo, args| {
            let pointer = pointer(lo, at(args, 0))?;
            let expected = to_tensor(lo, at(args, 1))?;
            one_sided(lo, at(args, 2), at(args, 3), "acquire", "atomic_poll")?;
            let timeout = optional_tensor(lo, at(args, 4))?;
            if matches!(at(args, 4), Value::Constant(_))
                && timeout.is_some()
                && int(lo, at(args, 4), "timeout_ns")? < 0
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

/// Cache hints change no result, but a wrong one is refused.
fn hints(lo: &Lowering, cache: &Value, eviction: &Value, allowed: &[&str]) -> Traced<()> {
    for (what, value, allowed) in [
        ("cache_modifier", cache, allowed),
        ("eviction_policy", eviction, &EVICTION[..]),
    ] {
        let given = text(lo, value, what)?.unwrap_or("");
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
        Value::Tuple { .. } | Value::List(_) if items(boundary).is_empty() => Ok(()),
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

/// How an atomic of this memory order and scope orders programs.
fn order(lo: &Lowering, sem: &Value, scope: &Value) -> Traced<MemoryOrder> {
    let sem = text(lo, sem, "sem")?.unwrap_or("");
    if !["", "acquire", "release", "acq_rel", "relaxed"].contains(&sem) {
        return Err(lo.reject(format!("memory semantic `{sem}` is not supported")));
    }
    let scope = text(lo, scope, "scope")?.unwrap_or("");
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
    match text(lo, sem, "sem")?.unwrap_or("") {
        "" | "relaxed" => Ok(order),
        given if given == side => Ok(order),
        _ => Err(lo.reject(format!("{function} only supports {side} and relaxed semantics"))),
    }
}

fn pointer(lo: &Lowering, value: &Value) -> Traced<ValueId> {
    tensor(lo, value, "the pointer")
}

fn loaded(lo: &mut Lowering, args: &[Value], volatile: &Value) -> Traced<Value> {
    let pointer = pointer(lo, at(args, 0))?;
    let (mask, other) = (
        optional_tensor(lo, at(args, 1))?,
        optional_tensor(lo, at(args, 2))?,
    );
    let volatile = flag(lo, volatile, "volatile")?;
    load(lo, pointer, mask, other, volatile).map(Value::Tensor)
}

fn stored(lo: &mut Lowering, args: &[Value]) -> Traced<Value> {
    let pointer = pointer(lo, at(args, 0))?;
    let value = to_tensor(lo, at(args, 1))?;
    let mask = optional_tensor(lo, at(args, 2))?;
    store(lo, pointer, value, mask)?;
    Ok(Value::NONE)
}

fn rmw(lo: &mut Lowering, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let pointer = pointer(lo, at(args, 0))?;
    let value = to_tensor(lo, at(args, 1))?;
    if matches!(at(args, 2), Value::Constant(_))
        && !at(args, 2).is_none()
        && (!lo.rules.holds(Rule::AtomicMaskMayBeConstexpr) || !lo.is_block(pointer))
    {
        return Err(lo.reject("the mask of an atomic must be a tensor"));
    }
    let mask = optional_tensor(lo, at(args, 2))?;
    let order = order(lo, at(args, 3), at(args, 4))?;
    atomic(lo, op, pointer, value, mask, order).map(Value::Tensor)
}
