//! The lines of PTX that a trace records: accesses of memory that threads share, barriers, groups of copies, and waits.

/// The effect of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Access(Access),
    /// `bar.sync`.
    Barrier,
    /// `cp.async.commit_group`.
    Commit,
    /// `cp.async.wait_group`, and how many groups it leaves in flight.
    Wait(u32),
}

/// How a lane accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Shared memory, otherwise the device's.
    pub shared: bool,
    pub kind: AccessKind,
    /// The size in bytes.
    pub bytes: u64,
    /// The lanes of a warp whose addresses count.
    pub lanes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
    /// A `cp.async`, which writes until it is waited for. Its read of the device's memory is omitted.
    Copy,
}

impl Access {
    /// Whether its values are in its text.
    pub fn stores(&self) -> bool {
        self.kind == AccessKind::Write
    }
}

/// Parses a line; `None` if traces omit it.
pub fn step(line: &str) -> Option<Step> {
    let mut words = line.split_whitespace();
    let mut opcode = words.next()?;
    if opcode.starts_with('@') {
        opcode = words.next()?;
    }
    let opcode = opcode.trim_end_matches(';');
    let parts: Vec<&str> = opcode.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let (first, last) = (*parts.first()?, *parts.last()?);
    if opcode.starts_with("bar.sync") {
        return Some(Step::Barrier);
    }
    if opcode.starts_with("cp.async.commit_group") {
        return Some(Step::Commit);
    }
    if opcode.starts_with("cp.async.wait_group") {
        return Some(Step::Wait(parse_number(words.next()?.trim_end_matches(';'))?));
    }
    let shared = has("shared") || has("shared::cta");
    if !shared && !has("global") {
        return None;
    }
    let of = |how, bytes, lanes| {
        Some(Step::Access(Access {
            shared,
            kind: how,
            bytes,
            lanes,
        }))
    };
    let count = if has("v2") {
        2
    } else if has("v4") {
        4
    } else {
        1
    };
    match first {
        "ld" => of(AccessKind::Read, parse_size(last)? * count, 32),
        "st" => of(AccessKind::Write, parse_size(last)? * count, 32),
        "atom" | "red" => of(AccessKind::Atomic, parse_size(last)? * count, 32),
        "ldmatrix" => {
            let matrices = ["x1", "x2", "x4"].iter().position(|count| has(count))?;
            of(AccessKind::Read, 16, 8 << matrices)
        }
        "cp" => {
            // Behind both addresses.
            let size = line.rsplit(']').next()?;
            let size = size.split(',').nth(1)?.trim().trim_end_matches(';');
            of(AccessKind::Copy, parse_number(size)?.into(), 32)
        }
        _ => None,
    }
}

fn parse_number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The bytes of a type: `b32`, `bf16`, `f16x2`.
fn parse_size(ty: &str) -> Option<u64> {
    let digits = ty.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let (each, count) = digits.split_once('x').unwrap_or((digits, "1"));
    Some(each.parse::<u64>().ok()? * count.parse::<u64>().ok()? / 8)
}
