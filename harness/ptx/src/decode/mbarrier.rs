//! `mbarrier` and `cp.async.mbarrier.arrive`.

use super::memory::decode_address;
use super::{LONG, WORD, Words};
use crate::link::Linker;
use crate::op::mbarrier::{Arrival, Mbarrier, Phase, PhaseTest};
use crate::op::{Address, Op, Order, Scope, StateSpace};
use crate::syntax::{Operand, Space};

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    let operation = match name {
        "mbarrier" => decode_operation(linker, words, operands)?,
        "cp" if words.take("async") && words.take("mbarrier") && words.take("arrive") => {
            let counted = words.take("noinc");
            let [address] = operands else { return None };
            Mbarrier::ArriveAfterCopies {
                address: decode_own_object(linker, words, address)?,
                counted,
            }
        }
        _ => return None,
    };
    Some(Op::Mbarrier(Box::new(operation)))
}

/// Decodes an mbarrier object of the block.
fn decode_own_object(linker: &mut Linker<'_>, words: &mut Words<'_>, operand: &Operand) -> Option<Address> {
    decode_object(linker, words, operand).filter(|address| address.place != StateSpace::Cluster)
}

/// Decodes the space, `.b64`, and the address of an mbarrier object.
fn decode_object(linker: &mut Linker<'_>, words: &mut Words<'_>, operand: &Operand) -> Option<Address> {
    let space = words.space();
    if !words.take("b64") || !matches!(space, Space::Generic | Space::Shared | Space::Cluster) {
        return None;
    }
    decode_address(linker, space, operand)
}

/// Decodes a scope and one of the `allowed` memory orders. The first is the default.
fn decode_order(words: &mut Words<'_>, allowed: &[Order]) -> Option<(Order, Scope)> {
    let (order, scope) = words.order();
    let order = order.or(allowed.first().copied())?;
    let scope = scope.unwrap_or_default();
    (allowed.contains(&order) && matches!(scope, Scope::Block | Scope::Cluster)).then_some((order, scope))
}

fn decode_operation(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Mbarrier> {
    if words.take("init") {
        let [address, count] = operands else { return None };
        return Some(Mbarrier::Init {
            address: decode_own_object(linker, words, address)?,
            count: linker.source_slot(count, WORD)?,
        });
    }
    if words.take("inval") {
        let [address] = operands else { return None };
        let address = decode_own_object(linker, words, address)?;
        return Some(Mbarrier::Invalidate { address });
    }
    if words.take("pending_count") {
        let [to, state] = operands else { return None };
        return words.take("b64").then_some(Mbarrier::PendingCount {
            to: linker.target_slot(to)?,
            state: linker.source_slot(state, LONG)?,
        });
    }
    if let Some(drops) = words.take_one(&[("arrive", false), ("arrive_drop", true)]) {
        return decode_arrival(linker, words, operands, drops).map(Mbarrier::Arrive);
    }
    if let Some(may_block) = words.take_one(&[("try_wait", true), ("test_wait", false)]) {
        return decode_test(linker, words, operands, may_block).map(Mbarrier::Test);
    }
    let expects = words.take_one(&[("expect_tx", true), ("complete_tx", false)])?;
    let [address, bytes] = operands else { return None };
    decode_order(words, &[Order::Relaxed])?;
    let address = decode_object(linker, words, address)?;
    let bytes = linker.source_slot(bytes, WORD)?;
    Some(if expects {
        Mbarrier::Expect { address, bytes }
    } else {
        Mbarrier::Complete { address, bytes }
    })
}

fn decode_arrival(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    drops: bool,
) -> Option<Arrival> {
    let expects = words.take("expect_tx");
    let must_not_complete = words.take("noComplete");
    let (order, scope) = decode_order(words, &[Order::Release, Order::Relaxed])?;
    let (state, address, number) = match operands {
        [state, address] => (state, address, None),
        [state, address, number] => (state, address, Some(number)),
        _ => return None,
    };
    let state = match state {
        Operand::Nothing => None,
        state => Some(linker.target_slot(state)?),
    };
    let number = match number {
        Some(number) => Some(linker.source_slot(number, WORD)?),
        None => None,
    };
    if expects && must_not_complete || (expects || must_not_complete) && number.is_none() {
        return None;
    }
    let address = decode_object(linker, words, address)?;
    // Another block's object returns no state.
    if address.place == StateSpace::Cluster && state.is_some() {
        return None;
    }
    Some(Arrival {
        address,
        state,
        count: if expects { None } else { number },
        expected: if expects { number } else { None },
        drops,
        must_not_complete,
        order,
        scope,
    })
}

fn decode_test(
    linker: &mut Linker<'_>,
    words: &mut Words<'_>,
    operands: &[Operand],
    may_block: bool,
) -> Option<PhaseTest> {
    let parity = words.take("parity");
    let (order, _) = decode_order(words, &[Order::Acquire, Order::Relaxed])?;
    // The time limit of a suspended thread is only a hint.
    let (to, address, phase) = match operands {
        [to, address, phase] => (to, address, phase),
        [to, address, phase, _] if may_block => (to, address, phase),
        _ => return None,
    };
    let phase = if parity {
        Phase::Parity(linker.source_slot(phase, WORD)?)
    } else {
        Phase::State(linker.source_slot(phase, LONG)?)
    };
    Some(PhaseTest {
        to: linker.flag_target(to)?,
        address: decode_own_object(linker, words, address)?,
        phase,
        may_block,
        order,
    })
}
