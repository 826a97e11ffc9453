//! The accesses of each thread between barriers, and the accesses that would race without one of the barriers or waits.
//!
//! A trace records a run of the whole kernel. The number of barriers that a warp has passed, without those of the removed line, shows
//! which barriers still enclose an access. It uses no clocks, and no code that finds races in `cerith-ptx`. Two accesses of one byte
//! meet if no barrier is between and one of them is a write. Two writes of one value do not, nor do two atomics. A `cp.async`
//! writes from its issue to its wait.
//!
//! Ignored: other behaviour of the kernel after it read wrong bytes, and races between blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::edit::{Edit, Kind, Text};
use crate::step::{AccessKind, Step, step};

/// The maximum number of steps.
const MAX_STEPS: usize = 200_000;

/// A step of a lane.
#[derive(Clone, Copy)]
struct Event {
    line: usize,
    step: Step,
    thread: u32,
    address: u64,
    value: [u8; 16],
}

/// The steps of each block.
pub struct Trace {
    blocks: Vec<Vec<Event>>,
}

/// The owners of two unordered accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeetingKind {
    /// Two warps.
    Warps,
    /// A warp and a copy of its own.
    Copy,
    /// Lanes of one warp, which run in lockstep.
    Lanes,
}

/// Two lines with unordered accesses to one byte, of shared memory or of the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meeting {
    pub kind: MeetingKind,
    pub shared: bool,
    pub lines: [usize; 2],
}

/// The runs of a removed line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How often the blocks reached it.
    pub times: usize,
    /// How often there were accesses between it and both barriers next to it; for a wait: how often copies were in flight.
    pub busy: usize,
}

/// An access of a byte.
#[derive(Clone, Copy)]
struct Touch {
    line: usize,
    warp: u32,
    lane: u32,
    /// How many barriers its warp has passed: all of them, and without those of the line.
    barriers: u32,
    from: u32,
    /// The barriers passed at its end: more only for copies.
    end_epoch: u32,
    /// Its position in the run, and its end.
    order: usize,
    over: usize,
    kind: AccessKind,
    value: u8,
}

impl Trace {
    /// Reads what a traced run printed; `None` if it is too long.
    pub fn read(text: &Text<'_>, printed: &[String]) -> Option<Self> {
        if printed.len() > MAX_STEPS {
            return None;
        }
        let steps: Vec<Option<Step>> = text.lines.iter().map(|line| step(line)).collect();
        let mut blocks: Vec<Vec<Event>> = Vec::new();
        for line in printed {
            let mut words = line.strip_prefix('~')?.split(' ');
            let number: usize = words.next()?.parse().ok()?;
            let thread = words.next()?.parse().ok()?;
            if number == 0 {
                blocks.push(Vec::new());
                continue;
            }
            let mut hexadecimal = || u64::from_str_radix(words.next().unwrap_or("0"), 16).ok();
            let (address, low, high) = (hexadecimal()?, hexadecimal()?, hexadecimal()?);
            let mut value = [0; 16];
            value[..8].copy_from_slice(&low.to_le_bytes());
            value[8..].copy_from_slice(&high.to_le_bytes());
            blocks.last_mut()?.push(Event {
                line: number - 1,
                step: (*steps.get(number - 1)?)?,
                thread,
                address,
                value,
            });
        }
        Some(Self { blocks })
    }

    /// Steps.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Finds the unordered accesses after a change, or in the unchanged kernel.
    pub fn find_meetings(&self, edit: Option<Edit>) -> BTreeSet<Meeting> {
        let mut all = BTreeSet::new();
        for block in &self.blocks {
            for touches in collect_touches(block, edit).values() {
                for (nth, first) in touches.iter().enumerate() {
                    let rest = touches.iter().skip(nth + 1);
                    for second in rest.take_while(|second| second.from <= first.end_epoch) {
                        if let Some(who) = classify_meeting(first, second) {
                            all.insert((who, first.line, second.line));
                        }
                    }
                }
            }
        }
        let shared = |line: usize, all: &Self| {
            let event = all.blocks.iter().flatten().find(|event| event.line == line);
            event.is_some_and(|event| matches!(event.step, Step::Access(access) if access.shared))
        };
        all.into_iter()
            .map(|(who, first, second)| Meeting {
                kind: who,
                shared: shared(first, self),
                lines: [first, second],
            })
            .collect()
    }

    /// Counts the runs of a line.
    pub fn count_passes(&self, edit: Edit) -> Passed {
        let mut passed = Passed::default();
        for block in &self.blocks {
            if edit.kind != Kind::Barrier {
                let mut copies = 0;
                for event in block.iter().filter(|event| event.thread < 32) {
                    match event.step {
                        Step::Access(access) if access.kind == AccessKind::Copy => copies += 1,
                        Step::Wait(left) if event.line != edit.line && left == 0 => copies = 0,
                        Step::Wait(_) if event.line == edit.line => {
                            passed.times += 1;
                            passed.busy += usize::from(copies > 0);
                        }
                        _ => {}
                    }
                }
                continue;
            }
            // Accesses between barriers, and the lines of these barriers in the order of the first warp.
            let mut stretches: BTreeMap<u32, usize> = BTreeMap::new();
            let mut barriers = Vec::new();
            let mut epochs: HashMap<u32, u32> = HashMap::new();
            for event in block {
                let warp = event.thread / 32;
                let epoch = epochs.entry(warp).or_default();
                match event.step {
                    Step::Barrier => {
                        *epoch += 1;
                        if warp == 0 {
                            barriers.push(event.line);
                        }
                    }
                    Step::Access(access) if access.shared => *stretches.entry(*epoch).or_default() += 1,
                    _ => {}
                }
            }
            for (nth, _) in barriers
                .iter()
                .enumerate()
                .filter(|(_, line)| **line == edit.line)
            {
                passed.times += 1;
                let is_busy = |at: usize| stretches.get(&(at as u32)).is_some_and(|&count| count > 0);
                passed.busy += usize::from(is_busy(nth) && is_busy(nth + 1));
            }
        }
        passed
    }
}

/// A warp's place among barriers, and its copies.
#[derive(Default)]
struct Warp {
    barriers: u32,
    epoch: u32,
    /// Copies of no group yet, then the groups, the oldest first: bytes, and the place among what touched them.
    loose: Vec<(u64, usize)>,
    groups: Vec<Vec<(u64, usize)>>,
}

/// Who touched each byte of a block, in order. Bytes of the device's memory are marked by the highest bit.
fn collect_touches(block: &[Event], edit: Option<Edit>) -> HashMap<u64, Vec<Touch>> {
    let mut all: HashMap<u64, Vec<Touch>> = HashMap::new();
    let mut warps: HashMap<u32, Warp> = HashMap::new();
    let is = |event: &Event, kind| edit.is_some_and(|edit| edit.line == event.line && edit.kind == kind);
    for (order, event) in block.iter().enumerate() {
        let (number, lane) = (event.thread / 32, event.thread % 32);
        let warp = warps.entry(number).or_default();
        match event.step {
            Step::Barrier => {
                warp.barriers += 1;
                warp.epoch += u32::from(!is(event, Kind::Barrier));
            }
            Step::Commit => {
                let group = std::mem::take(&mut warp.loose);
                warp.groups.push(group);
            }
            Step::Wait(_) if is(event, Kind::Wait) => {}
            Step::Wait(left) => {
                let left = left as usize + usize::from(is(event, Kind::Loosened));
                let over = warp.groups.len().saturating_sub(left);
                for (byte, nth) in warp.groups.drain(..over).flatten() {
                    if let Some(touch) = all.get_mut(&byte).and_then(|touches| touches.get_mut(nth)) {
                        touch.end_epoch = warp.epoch;
                        touch.over = order;
                    }
                }
            }
            Step::Access(access) => {
                if lane >= access.lanes {
                    continue;
                }
                let is_copy = access.kind == AccessKind::Copy;
                for nth in 0..access.bytes {
                    let space = u64::from(!access.shared) << 63;
                    let byte = event.address.wrapping_add(nth) | space;
                    let touches = all.entry(byte).or_default();
                    if is_copy {
                        warp.loose.push((byte, touches.len()));
                    }
                    touches.push(Touch {
                        line: event.line,
                        warp: number,
                        lane,
                        barriers: warp.barriers,
                        from: warp.epoch,
                        end_epoch: if is_copy { u32::MAX } else { warp.epoch },
                        order,
                        over: if is_copy { usize::MAX } else { order },
                        kind: access.kind,
                        value: event.value.get(nth as usize).copied().unwrap_or(0),
                    });
                }
            }
        }
    }
    all
}

/// Whether two accesses of a byte are a race. `first` comes first in the run.
fn classify_meeting(first: &Touch, second: &Touch) -> Option<MeetingKind> {
    match (first.kind, second.kind) {
        (AccessKind::Read, AccessKind::Read) | (AccessKind::Atomic, AccessKind::Atomic) => return None,
        (AccessKind::Write, AccessKind::Write) if first.value == second.value => return None,
        _ => {}
    }
    if first.warp != second.warp {
        return (first.end_epoch >= second.from).then_some(MeetingKind::Warps);
    }
    if first.over > second.order {
        return Some(MeetingKind::Copy);
    }
    (first.lane != second.lane && first.end_epoch == second.from && first.barriers != second.barriers)
        .then_some(MeetingKind::Lanes)
}
