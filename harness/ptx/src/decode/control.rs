//! Instructions of control flow, and those that exchange values between lanes.

use super::{WORD, Words, called_function};
use crate::alu::{bits, integer};
use crate::link::Linker;
use crate::op::{Op, Shuffle, ShuffleMode, VoteMode};
use crate::syntax::Operand;

pub(super) fn decode(
    linker: &mut Linker<'_>,
    name: &str,
    words: &mut Words<'_>,
    operands: &[Operand],
) -> Option<Op> {
    match name {
        "bra" => {
            words.take("uni");
            match *operands {
                [Operand::Label(label)] => Some(Op::Branch { to: label }),
                _ => None,
            }
        }
        "brx" => {
            if !words.take("idx") {
                return None;
            }
            words.take("uni");
            let [index, Operand::List(labels)] = operands else {
                return None;
            };
            let target = |label: &Operand| match *label {
                Operand::Label(label) => Some(label),
                _ => None,
            };
            Some(Op::BranchTo {
                index: linker.source_slot(index, WORD)?,
                targets: labels.iter().map(target).collect::<Option<_>>()?,
            })
        }
        "call" => {
            words.take("uni");
            decode_call(linker, operands)
        }
        "ret" => {
            words.take("uni");
            Some(linker.end())
        }
        "exit" => Some(Op::Exit),
        "trap" => Some(Op::Trap),
        "brkpt" | "nanosleep" | "pmevent" => {
            words.left.clear();
            Some(Op::Nothing)
        }
        "shfl" => decode_shuffle(linker, words, operands),
        "vote" => decode_vote(linker, words, operands),
        "match" => {
            if !words.take("any") || !words.take("sync") {
                return None;
            }
            let ty = words.ty()?;
            let [to, a, members] = operands else { return None };
            Some(Op::Match {
                to: linker.target_slot(to)?,
                a: linker.source_slot(a, ty)?,
                bits: ty.bits,
                members: linker.source_slot(members, WORD)?,
            })
        }
        "redux" => decode_reduce(linker, words, operands),
        "activemask" => {
            words.ty()?;
            Some(Op::ActiveMask {
                to: linker.target_slot(operands.first()?)?,
            })
        }
        "bar" | "barrier" => decode_barrier(linker, words, operands),
        _ => None,
    }
}

fn decode_barrier(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    if words.left.contains(&"cluster") {
        return None;
    }
    if words.take("warp") {
        if !words.take("sync") {
            return None;
        }
        return Some(Op::SyncWarp {
            members: linker.source_slot(operands.first()?, WORD)?,
        });
    }
    words.take("cta");
    words.take("aligned");
    let waits = words.take("sync");
    if !waits && !words.take("arrive") {
        return None;
    }
    let id = linker.source_slot(operands.first()?, WORD)?;
    let count = match operands.get(1) {
        Some(count) => Some(linker.source_slot(count, WORD)?),
        None => None,
    };
    Some(Op::Barrier { id, count, waits })
}

fn decode_shuffle(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    if !words.take("sync") || words.ty()?.bits != 32 {
        return None;
    }
    let mode = words.take_one(&[
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Butterfly),
        ("idx", ShuffleMode::Index),
    ])?;
    let [to, a, b, c, members] = operands else {
        return None;
    };
    let (to, valid) = match to {
        Operand::Two(to, valid) => (linker.target_slot(to)?, Some(linker.flag_target(valid)?)),
        to => (linker.target_slot(to)?, None),
    };
    Some(Op::Shuffle(Box::new(Shuffle {
        mode,
        to,
        valid,
        a: linker.source_slot(a, WORD)?,
        b: linker.source_slot(b, WORD)?,
        c: linker.source_slot(c, WORD)?,
        members: linker.source_slot(members, WORD)?,
    })))
}

fn decode_vote(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, a, members] = operands else { return None };
    if !words.take("sync") {
        return None;
    }
    let mode = words.take_one(&[
        ("all", VoteMode::All),
        ("any", VoteMode::Any),
        ("uni", VoteMode::Uniform),
        ("ballot", VoteMode::Ballot),
    ])?;
    words.ty()?;
    let to = match mode {
        VoteMode::Ballot => linker.target_slot(to)?,
        _ => linker.flag_target(to)?,
    };
    Some(Op::Vote {
        mode,
        to,
        a: linker.find_flag(a)?,
        members: linker.source_slot(members, WORD)?,
    })
}

fn decode_reduce(linker: &mut Linker<'_>, words: &mut Words<'_>, operands: &[Operand]) -> Option<Op> {
    let [to, a, members] = operands else { return None };
    if !words.take("sync") {
        return None;
    }
    let name = ["add", "min", "max", "and", "or", "xor"]
        .into_iter()
        .find(|name| words.take(name))?;
    let ty = words.ty()?;
    if ty.bits != 32 {
        return None;
    }
    let f = match name {
        "and" | "or" | "xor" => bits::find_binary(name, ty)?,
        _ => integer::find_binary(name, ty, false)?,
    };
    Some(Op::Reduce {
        f,
        to: linker.target_slot(to)?,
        a: linker.source_slot(a, ty)?,
        members: linker.source_slot(members, WORD)?,
    })
}

/// `call (result), f, (arguments)`.
fn decode_call(linker: &mut Linker<'_>, operands: &[Operand]) -> Option<Op> {
    let (results, rest) = match operands {
        [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
        rest => (&[][..], rest),
    };
    let (function, arguments) = match rest {
        [function] => (called_function(function)?, &[][..]),
        [function, Operand::List(arguments)] => (called_function(function)?, arguments.as_slice()),
        _ => return None,
    };
    linker.call(function, results, arguments)
}
