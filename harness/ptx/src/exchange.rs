//! Instructions that exchange values between lanes of a warp: `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp`. See
//! [`crate::matrix`] for matrices.

use crate::lanes::{Binary, LANES, lanes_of};
use crate::op::{Flag, Shuffle, ShuffleMode, Slot, VoteMode};
use crate::warp::Warp;

pub(crate) fn shuffle(warp: &mut Warp, shuffle: &Shuffle, lanes: u32) {
    let of = |slot: Slot| &warp.registers[slot as usize];
    let (a, b, c) = (of(shuffle.a), of(shuffle.b), of(shuffle.c));
    let known_from = warp.defined[shuffle.a as usize];
    let (mut values, mut valid) = ([0; LANES], 0);
    let mut known = warp.defined[shuffle.b as usize] & warp.defined[shuffle.c as usize];
    for lane in lanes_of(lanes) {
        let (b, c) = (b[lane] as u32 as usize & 31, c[lane] as u32 as usize);
        let (clamp, segment) = (c & 31, c >> 8 & 31);
        let most = (lane & segment) | (clamp & !segment);
        let least = lane & segment;
        let (from, inside) = match shuffle.mode {
            ShuffleMode::Up => {
                let from = lane as isize - b as isize;
                (from.max(0) as usize, from >= most as isize)
            }
            ShuffleMode::Down => (lane + b, lane + b <= most),
            ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= most),
            ShuffleMode::Index => {
                let from = least | (b & !segment);
                (from, from <= most)
            }
        };
        let from = if inside { from & 31 } else { lane };
        valid |= u32::from(inside) << lane;
        values[lane] = a[from];
        // An inactive lane provides no value.
        if lanes >> from & 1 == 0 || known_from >> from & 1 == 0 {
            known &= !(1 << lane);
        }
    }
    for value in &mut values {
        *value &= 0xffff_ffff;
    }
    warp.put(shuffle.to, lanes, &values, known);
    if let Some(to) = shuffle.valid {
        warp.put_flag(to, lanes, valid, lanes);
    }
}

pub(crate) fn vote(warp: &mut Warp, (mode, to, a): (VoteMode, Slot, Flag), lanes: u32) {
    let votes = warp.read_flag(a) & lanes;
    let known = if warp.flag_known(a) & lanes == lanes {
        lanes
    } else {
        0
    };
    let all = |holds: bool| if holds { lanes } else { 0 };
    match mode {
        VoteMode::All => warp.put_flag(to, lanes, all(votes == lanes), known),
        VoteMode::Any => warp.put_flag(to, lanes, all(votes != 0), known),
        VoteMode::Uniform => warp.put_flag(to, lanes, all(votes == lanes || votes == 0), known),
        VoteMode::Ballot => warp.put(to, lanes, &[votes.into(); LANES], known),
    }
}

pub(crate) fn match_lanes(warp: &mut Warp, (to, a, bits): (Slot, Slot, u32), lanes: u32) {
    let values = warp.registers[a as usize].map(|value| value & (u64::MAX >> (64 - bits.clamp(1, 64))));
    let mut same = [0; LANES];
    for lane in lanes_of(lanes) {
        same[lane] = lanes_of(lanes)
            .filter(|&other| values[other] == values[lane])
            .fold(0, |mask, other| mask | 1 << other);
    }
    let known = if warp.defined[a as usize] & lanes == lanes {
        lanes
    } else {
        0
    };
    warp.put(to, lanes, &same, known);
}

pub(crate) fn reduce(warp: &mut Warp, (f, to, a): (Binary, Slot, Slot), lanes: u32) {
    let values = warp.registers[a as usize];
    let known = if warp.defined[a as usize] & lanes == lanes {
        lanes
    } else {
        0
    };
    let mut sum: Option<[u64; LANES]> = None;
    for lane in lanes_of(lanes) {
        let one = [values[lane]; LANES];
        sum = Some(match sum {
            None => one,
            Some(sum) => {
                let mut next = [0; LANES];
                f(&sum, &one, &mut next);
                next
            }
        });
    }
    let sum = sum.unwrap_or([0; LANES]).map(|value| value & 0xffff_ffff);
    warp.put(to, lanes, &sum, known);
}

/// `elect.sync`: the lowest member is elected.
pub(crate) fn elect(warp: &mut Warp, (to, flag): (Slot, Slot), lanes: u32) {
    let elected = lanes.trailing_zeros();
    warp.put(to, lanes, &[elected.into(); LANES], lanes);
    warp.put_flag(flag, lanes, 1u32.checked_shl(elected).unwrap_or(0), lanes);
}
