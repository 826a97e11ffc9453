//! Loads, stores and atomics.

use cerith_tile::DType;
use cerith_tile::ir::{AtomicOp, MemoryOrder, OpKind, ValueId};
use cerith_tile::rules::Rule;

use super::argument::{at, flag, int, items, optional_tensor, tensor, text, to_tensor};
use super::{Row, row};
use crate::semantic::block_pointer;
use crate::semantic::memory::{atomic, atomic_cas, atomic_load, atomic_poll, atomic_store, load, store};
use crate::tracer::{Traced, Tracer};
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row(
        "tl.load(pointer, mask=None, other=None, *, cache_modifier='', eviction_policy='', volatile=False)",
        |tr, args| {
            hints(tr, at(args, 3), at(args, 4), &LOAD_CACHE)?;
            loaded(tr, args, at(args, 5))
        },
    )
    .since(3, 9, 0),
    row(
        "tl.load(pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', \
         eviction_policy='', volatile=False)",
        |tr, args| {
            let option = text(tr, at(args, 4), "padding_option")?;
            hints(tr, at(args, 5), at(args, 6), &LOAD_CACHE)?;
            if let Value::BlockPointer(pointer) = at(args, 0) {
                no_mask(tr, &[at(args, 1), at(args, 2)])?;
                let volatile = flag(tr, at(args, 7), "volatile")?;
                return block_pointer::load(tr, pointer, at(args, 3), option, volatile).map(Value::Tensor);
            }
            no_boundary(tr, at(args, 3))?;
            if option.is_some_and(|option| !option.is_empty()) {
                return Err(tr.reject("`padding_option` is for block pointers"));
            }
            loaded(tr, args, at(args, 7))
        },
    )
    .until(3, 9, 0),
    row(
        "tl.store(pointer, value, mask=None, *, cache_modifier='', eviction_policy='')",
        |tr, args| {
            hints(tr, at(args, 3), at(args, 4), &STORE_CACHE)?;
            stored(tr, args)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.store(pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy='')",
        |tr, args| {
            hints(tr, at(args, 4), at(args, 5), &STORE_CACHE)?;
            if let Value::BlockPointer(pointer) = at(args, 0) {
                no_mask(tr, &[at(args, 2)])?;
                let value = to_tensor(tr, at(args, 1))?;
                block_pointer::store(tr, pointer, value, at(args, 3))?;
                return Ok(Value::NONE);
            }
            no_boundary(tr, at(args, 3))?;
            stored(tr, args)
        },
    )
    .until(3, 9, 0)
    .method(),
    row(
        "tl.atomic_add(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Add, args),
    )
    .method(),
    row(
        "tl.atomic_max(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Max, args),
    )
    .method(),
    row(
        "tl.atomic_min(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Min, args),
    )
    .method(),
    row(
        "tl.atomic_and(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::And, args),
    )
    .method(),
    row(
        "tl.atomic_or(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Or, args),
    )
    .method(),
    row(
        "tl.atomic_xor(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Xor, args),
    )
    .method(),
    row(
        "tl.atomic_xchg(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| rmw(tr, AtomicOp::Xchg, args),
    )
    .method(),
    row(
        "tl.atomic_cas(pointer, cmp, val, sem=None, scope=None)",
        |tr, args| {
            let pointer = tensor(tr, at(args, 0), "pointer")?;
            let (compare, value) = (to_tensor(tr, at(args, 1))?, to_tensor(tr, at(args, 2))?);
            let order = order(tr, at(args, 3), at(args, 4))?;
            atomic_cas(tr, pointer, compare, value, order).map(Value::Tensor)
        },
    )
    .method(),
    row(
        "tl.atomic_load(pointer, mask=None, sem=None, scope=None)",
        |tr, args| {
            let pointer = pointer(tr, at(args, 0))?;
            let mask = optional_tensor(tr, at(args, 1))?;
            let order = one_sided(tr, at(args, 2), at(args, 3), "acquire", "atomic_load")?;
            let loaded = atomic_load(tr, pointer, mask)?;
            if order.acquires() {
                tr.builder.effect(OpKind::Acquire, &[]);
            }
            Ok(Value::Tensor(loaded))
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_store(pointer, val, mask=None, sem=None, scope=None)",
        |tr, args| {
            let pointer = pointer(tr, at(args, 0))?;
            let value = to_tensor(tr, at(args, 1))?;
            let mask = optional_tensor(tr, at(args, 2))?;
            let order = one_sided(tr, at(args, 3), at(args, 4), "release", "atomic_store")?;
            atomic_store(tr, pointer, value, mask, order)?;
            Ok(Value::NONE)
        },
    )
    .since(3, 9, 0)
    .method(),
    row(
        "tl.atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None)",
        |tr, args| {
            let pointer = pointer(tr, at(args, 0))?;
            let expected = to_tensor(tr, at(args, 1))?;
            one_sided(tr, at(args, 2), at(args, 3), "acquire", "atomic_poll")?;
            let timeout = optional_tensor(tr, at(args, 4))?;
            if matches!(at(args, 4), Value::Constant(_))
                && timeout.is_some()
                && int(tr, at(args, 4), "timeout_ns")? < 0
            {
                return Err(tr.reject("atomic_poll timeout_ns must be non-negative"));
            }
            let scalar_int = |timeout| !tr.is_block(timeout) && tr.dtype(timeout).is_some_and(DType::is_int);
            if !timeout.is_none_or(scalar_int) {
                return Err(tr.reject("atomic_poll timeout_ns must be a scalar integer"));
            }
            atomic_poll(tr, pointer, expected, timeout.is_some()).map(Value::Tensor)
        },
    )
    .since(3, 9, 0)
    .method(),
];

const LOAD_CACHE: [&str; 5] = ["", ".ca", ".cg", ".cv", ".cs"];
const STORE_CACHE: [&str; 5] = ["", ".wb", ".cg", ".cs", ".wt"];
const EVICTION: [&str; 4] = ["", "evict_normal", "evict_first", "evict_last"];

/// Cache hints change no result, but a wrong one is refused.
fn hints(tr: &Tracer<'_>, cache: &Value, eviction: &Value, allowed: &[&str]) -> Traced<()> {
    for (what, value, allowed) in [
        ("cache_modifier", cache, allowed),
        ("eviction_policy", eviction, &EVICTION[..]),
    ] {
        let given = text(tr, value, what)?.unwrap_or("");
        let late =
            matches!(given, ".cs" | "evict_normal") && allowed == LOAD_CACHE || given == "evict_normal";
        if !allowed.contains(&given) || late && !tr.rules.holds(Rule::StreamingHints) {
            return Err(tr.reject(format!("{what} `{given}` is not supported")));
        }
    }
    Ok(())
}

fn no_boundary(tr: &Tracer<'_>, boundary: &Value) -> Traced<()> {
    match boundary {
        Value::Tuple { .. } | Value::List(_) if items(boundary).is_empty() => Ok(()),
        value if value.is_none() => Ok(()),
        _ => Err(tr.reject("`boundary_check` is for block pointers, not for tensors of pointers")),
    }
}

fn no_mask(tr: &Tracer<'_>, values: &[&Value]) -> Traced<()> {
    if values.iter().all(|value| value.is_none()) {
        return Ok(());
    }
    Err(tr.reject("`mask` and `other` cannot be specified for block pointers"))
}

/// What an atomic of this memory order and scope orders between programs.
fn order(tr: &Tracer<'_>, sem: &Value, scope: &Value) -> Traced<MemoryOrder> {
    let sem = text(tr, sem, "sem")?.unwrap_or("");
    if !["", "acquire", "release", "acq_rel", "relaxed"].contains(&sem) {
        return Err(tr.reject(format!("memory semantic `{sem}` is not supported")));
    }
    let scope = text(tr, scope, "scope")?.unwrap_or("");
    if !["", "gpu", "cta", "sys"].contains(&scope) {
        return Err(tr.reject(format!("memory scope `{scope}` is not supported")));
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
fn one_sided(tr: &Tracer<'_>, sem: &Value, scope: &Value, side: &str, function: &str) -> Traced<MemoryOrder> {
    let order = order(tr, sem, scope)?;
    match text(tr, sem, "sem")?.unwrap_or("") {
        "" | "relaxed" => Ok(order),
        given if given == side => Ok(order),
        _ => Err(tr.reject(format!("{function} only supports {side} and relaxed semantics"))),
    }
}

fn pointer(tr: &Tracer<'_>, value: &Value) -> Traced<ValueId> {
    tensor(tr, value, "the pointer")
}

fn loaded(tr: &mut Tracer<'_>, args: &[Value], volatile: &Value) -> Traced<Value> {
    let pointer = pointer(tr, at(args, 0))?;
    let (mask, other) = (
        optional_tensor(tr, at(args, 1))?,
        optional_tensor(tr, at(args, 2))?,
    );
    let volatile = flag(tr, volatile, "volatile")?;
    load(tr, pointer, mask, other, volatile).map(Value::Tensor)
}

fn stored(tr: &mut Tracer<'_>, args: &[Value]) -> Traced<Value> {
    let pointer = pointer(tr, at(args, 0))?;
    let value = to_tensor(tr, at(args, 1))?;
    let mask = optional_tensor(tr, at(args, 2))?;
    store(tr, pointer, value, mask)?;
    Ok(Value::NONE)
}

fn rmw(tr: &mut Tracer<'_>, op: AtomicOp, args: &[Value]) -> Traced<Value> {
    let pointer = pointer(tr, at(args, 0))?;
    let value = to_tensor(tr, at(args, 1))?;
    if matches!(at(args, 2), Value::Constant(_))
        && !at(args, 2).is_none()
        && (!tr.rules.holds(Rule::AtomicMaskMayBeConstexpr) || !tr.is_block(pointer))
    {
        return Err(tr.reject("the mask of an atomic must be a tensor"));
    }
    let mask = optional_tensor(tr, at(args, 2))?;
    let order = order(tr, at(args, 3), at(args, 4))?;
    atomic(tr, op, pointer, value, mask, order).map(Value::Tensor)
}
