//! Fences, barriers of a cluster, and instructions about a warp's or a grid's resources.

use super::memory::decode_address;
use super::{WORD, Words};
use crate::link::Linker;
use crate::op::fence::FenceSpace;
use crate::op::{Fence, Op, Order};
use crate::syntax::{Operand, Space, Type};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    match name {
        "fence" => decode_fence(linker, words, operands).map(|fence| Op::Fence(Box::new(fence))),
        "membar" => {
            words.take_one(&[("cta", ()), ("gl", ()), ("sys", ())])?;
            Some(Op::Fence(Box::new(Fence::Thread)))
        }
        "barrier" => decode_cluster_barrier(words, operands),
        "mapa" => {
            let [to, a, rank] = operands else { return None };
            let (generic, ty) = decode_address_type(words)?;
            Some(Op::MapShared {
                to: linker.target_slot(to)?,
                a: linker.source_slot(a, ty)?,
                rank: linker.source_slot(rank, WORD)?,
                generic,
            })
        }
        "getctarank" => {
            let [to, a] = operands else { return None };
            let (generic, ty) = decode_address_type(words)?;
            Some(Op::FindRank {
                to: linker.target_slot(to)?,
                a: linker.source_slot(a, ty)?,
                generic,
            })
        }
        "setmaxnreg" => {
            words.take_one(&[("inc", ()), ("dec", ())])?;
            let [Operand::Int(count)] = *operands else {
                return None;
            };
            if !words.take("sync") || !words.take("aligned") || !words.take("u32") {
                return None;
            }
            // The PTX ISA allows multiples of 8 from 24 to 256.
            let is_allowed = count % 8 == 0 && (24..=256).contains(&count);
            is_allowed.then_some(Op::SetMaxRegisters)
        }
        "elect" => {
            let [Operand::Two(to, flag), members] = operands else {
                return None;
            };
            if !words.take("sync") {
                return None;
            }
            Some(Op::Elect {
                to: linker.target_slot(to)?,
                flag: linker.flag_target(flag)?,
                members: linker.source_slot(members, WORD)?,
            })
        }
        "griddepcontrol" if operands.is_empty() => {
            words.take_one(&[("wait", ()), ("launch_dependents", ())])?;
            Some(Op::GridDependency)
        }
        _ => None,
    }
}

/// Decodes the space and the type of `mapa` and `getctarank`. Returns whether addresses are generic.
fn decode_address_type(words: &mut Words<'_>) -> Option<(bool, Type)> {
    let generic = !words.take("shared::cluster");
    let ty = words.ty()?;
    matches!(ty.bits, 32 | 64).then_some((generic, ty))
}

fn decode_cluster_barrier(words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    if !words.take("cluster") || !operands.is_empty() {
        return None;
    }
    words.take("aligned");
    let waits = words.take_one(&[("wait", true), ("arrive", false)])?;
    let (order, None) = words.order() else { return None };
    let order = match (waits, order) {
        (true, None | Some(Order::Acquire)) => Order::Acquire,
        (false, None | Some(Order::Release)) => Order::Release,
        (false, Some(Order::Relaxed)) => Order::Relaxed,
        _ => return None,
    };
    Some(Op::ClusterBarrier { waits, order })
}

fn decode_fence(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Fence> {
    if words.take("mbarrier_init") {
        let allowed = words.take("release") && words.take("cluster") && operands.is_empty();
        return allowed.then_some(Fence::MbarrierInit);
    }
    if words.take("proxy") {
        return decode_proxy_fence(linker, words, operands);
    }
    if !operands.is_empty() {
        return None;
    }
    if decode_restriction(words).is_some() {
        return Some(Fence::Restricted);
    }
    let (order, scope) = words.order();
    let order = order.unwrap_or(Order::AcquireRelease);
    if matches!(order, Order::Weak | Order::Relaxed) {
        return None;
    }
    scope.map(|_| Fence::Thread)
}

/// Decodes `.acquire.sync_restrict::shared::cluster.cluster` and `.release.sync_restrict::shared::cta.cluster`. Returns
/// whether it acquires.
fn decode_restriction(words: &mut Words<'_>) -> Option<bool> {
    let acquires = words.take_one(&[
        ("sync_restrict::shared::cluster", true),
        ("sync_restrict::shared::cta", false),
    ])?;
    let order = if acquires { "acquire" } else { "release" };
    (words.take(order) && words.take("cluster")).then_some(acquires)
}

fn decode_proxy_fence(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Fence> {
    if words.take("tensormap::generic") {
        let (order, scope) = words.order();
        scope?;
        return match (order?, operands) {
            (Order::Release, []) => Some(Fence::MapRelease),
            (Order::Acquire, [address @ Operand::Address(..), Operand::Int(128)]) => {
                decode_address(linker, Space::Generic, address).map(|_| Fence::MapAcquire)
            }
            _ => None,
        };
    }
    if !operands.is_empty() {
        return None;
    }
    if words.take("alias") {
        return Some(Fence::Alias);
    }
    if words.take("async::generic") {
        return decode_restriction(words).map(|_| Fence::Restricted);
    }
    if !words.take("async") {
        return None;
    }
    let space = words.take_one(&[
        ("global", FenceSpace::Global),
        ("shared::cta", FenceSpace::Shared),
        ("shared::cluster", FenceSpace::Cluster),
    ]);
    Some(Fence::Async(space.unwrap_or(FenceSpace::All)))
}
