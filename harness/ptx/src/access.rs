//! Loads, stores, atomics and asynchronous copies of the lanes of a warp. [`crate::machine`] resolves addresses.

use cerith_memory::{ByteState, Fault, ORIGIN};
use smallvec::SmallVec;

use crate::lanes::{LANES, lanes_of};
use crate::machine::{Machine, Stop, Target};
use crate::op::{Access, Address, Atomic, Copy};
use crate::outcome::TrapKind;
use crate::race::Accessor;
use crate::warp::{Pending, Warp};

/// Maximum bytes that one lane accesses at once.
const WIDEST: usize = 64;

impl Machine<'_> {
    /// Returns the address of a lane, which must be a multiple of `align`.
    pub(crate) fn compute_address(
        warp: &Warp,
        address: &Address,
        lane: usize,
        align: usize,
    ) -> Result<u64, TrapKind> {
        let at = warp.registers[address.base as usize][lane].wrapping_add_signed(address.offset);
        if !at.is_multiple_of(align as u64) {
            return Err(TrapKind::Misaligned {
                address: at,
                align: align as u64,
            });
        }
        Ok(at)
    }

    /// Records the first of these lanes whose address is undefined.
    pub(crate) fn look_at_address(&mut self, warp: &Warp, address: &Address, lanes: u32) {
        let unknown = lanes & !warp.defined[address.base as usize];
        if unknown != 0 {
            self.record_suspect(warp, unknown.trailing_zeros() as usize);
        }
    }

    /// Reads the bytes of a lane. Returns whether all of them were written.
    pub(crate) fn read(
        &mut self,
        warp: &Warp,
        lane: usize,
        target: Target,
        to: &mut [u8],
        atomic: bool,
    ) -> bool {
        let mut known = true;
        self.record_access(target, to.len(), false);
        let from = match target {
            Target::Arena(at) => {
                self.record_read(warp, lane, at, to.len(), atomic);
                let (bytes, states) = self.memory.arena();
                // Only an earlier launch marks bytes as poison.
                known = states
                    .get(at..at + to.len())
                    .is_some_and(|states| !states.contains(&ByteState::Poison));
                bytes.get(at..at + to.len())
            }
            Target::Private(at) => {
                let at = lane * self.kernel.private as usize + at;
                warp.private.get(at..at + to.len())
            }
            Target::Parameters(at) => self.launch.parameters.get(at..at + to.len()),
            Target::Module(at) => self.globals.get(at..at + to.len()),
            Target::Scratch(at) => self.scratch.get(at..at + to.len()),
            Target::Shared(at) => {
                let mut met = None;
                let by = Accessor::from_warp(warp, atomic);
                let known = self.shared.read(at, to, &by, &mut met);
                self.note(warp, lane, met);
                return known;
            }
            Target::Cluster(rank, at) => {
                let mut met = None;
                let by = Accessor::from_warp(warp, atomic);
                let shared = self.shared_of(rank);
                let known = shared.is_some_and(|shared| shared.read(at, to, &by, &mut met));
                self.note(warp, lane, met);
                self.record_remote(warp, lane, rank);
                return known;
            }
        };
        if let Some(from) = from {
            to.copy_from_slice(from);
        }
        known
    }

    /// Writes the bytes of a lane.
    pub(crate) fn write(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        target: Target,
        from: &[u8],
        known: bool,
        atomic: bool,
    ) -> Result<(), TrapKind> {
        self.record_access(target, from.len(), true);
        let to = match target {
            Target::Arena(at) => {
                self.record_write(warp, lane, at, from, atomic);
                let (bytes, states) = self.memory.arena_mut();
                if let Some(states) = states.get_mut(at..at + from.len()) {
                    states.fill(ByteState::Init);
                }
                bytes.get_mut(at..at + from.len())
            }
            Target::Private(at) => {
                let at = lane * self.kernel.private as usize + at;
                warp.private.get_mut(at..at + from.len())
            }
            Target::Parameters(_) => {
                return Err(TrapKind::ReadOnly {
                    memory: "the parameters",
                });
            }
            Target::Module(at) => {
                self.has_written_module = true;
                self.globals.get_mut(at..at + from.len())
            }
            Target::Scratch(at) => self.scratch.get_mut(at..at + from.len()),
            Target::Shared(at) => {
                let mut met = None;
                let by = Accessor::from_warp(warp, atomic);
                self.shared.write(at, from, known, &by, &mut met);
                self.note(warp, lane, met);
                return Ok(());
            }
            Target::Cluster(rank, at) => {
                let mut met = None;
                let by = Accessor::from_warp(warp, atomic);
                if let Some(shared) = self.shared_of(rank) {
                    shared.write(at, from, known, &by, &mut met);
                }
                self.note(warp, lane, met);
                self.record_remote(warp, lane, rank);
                return Ok(());
            }
        };
        if let Some(to) = to {
            to.copy_from_slice(from);
        }
        if !known && !matches!(target, Target::Private(_)) {
            self.record_suspect(warp, lane);
        }
        Ok(())
    }

    pub(crate) fn load(&mut self, warp: &mut Warp, access: &Access, lanes: u32) -> Result<(), Stop> {
        self.look_at_address(warp, &access.address, lanes);
        let (each, count) = (usize::from(access.bytes), usize::from(access.count));
        let all = (each * count).min(WIDEST);
        let mut values = [[0u64; LANES]; 8];
        let mut known = lanes;
        let mut buffer = [0; WIDEST];
        for lane in lanes_of(lanes) {
            let bytes = &mut buffer[..all];
            let target = Self::compute_address(warp, &access.address, lane, all)
                .and_then(|_| self.locate(warp, &access.address, lane, all))
                .or_else(|kind| {
                    if access.whole_word {
                        part_of_word(kind)
                    } else {
                        Err(kind)
                    }
                })
                .map_err(|kind| self.trap(warp, lane, kind))?;
            if !self.read(warp, lane, target, bytes, false) {
                known &= !(1 << lane);
            }
            if access.order.is_ordered() {
                self.synchronise_access(warp, target, (access.order, access.scope), (true, false));
            }
            for (value, element) in values.iter_mut().zip(bytes.chunks_exact(each)) {
                value[lane] = decode_element(element, access.signed);
            }
        }
        for (&register, value) in access.registers.iter().zip(&values).take(count) {
            warp.put(register, lanes, value, known);
        }
        Ok(())
    }

    pub(crate) fn store(&mut self, warp: &mut Warp, access: &Access, lanes: u32) -> Result<(), Stop> {
        self.look_at_address(warp, &access.address, lanes);
        let (each, count) = (usize::from(access.bytes), usize::from(access.count));
        let all = (each * count).min(WIDEST);
        let mut buffer = [0; WIDEST];
        let registers = &access.registers[..count.min(8)];
        let known = registers.iter().fold(u32::MAX, |known, &register| {
            known & warp.defined[register as usize]
        });
        let mut stored = StoredAddresses::default();
        for lane in lanes_of(lanes) {
            let bytes = &mut buffer[..all];
            for (&register, element) in registers.iter().zip(bytes.chunks_exact_mut(each)) {
                let value = warp.registers[register as usize][lane].to_le_bytes();
                element.copy_from_slice(&value[..each]);
            }
            let done = Self::compute_address(warp, &access.address, lane, all)
                .and_then(|at| Ok((at, self.locate(warp, &access.address, lane, all)?)))
                .and_then(|(at, target)| {
                    // Private memory belongs to one lane, so lanes can't collide in it.
                    if matches!(target, Target::Private(_)) || stored.is_first(at) {
                        if access.order.is_ordered() {
                            let order = (access.order, access.scope);
                            self.synchronise_access(warp, target, order, (false, true));
                        }
                        self.write(warp, lane, target, bytes, known >> lane & 1 == 1, false)
                    } else {
                        Ok(())
                    }
                });
            done.map_err(|kind| self.trap(warp, lane, kind))?;
        }
        Ok(())
    }

    pub(crate) fn execute_atomic(
        &mut self,
        warp: &mut Warp,
        atomic: &Atomic,
        lanes: u32,
    ) -> Result<(), Stop> {
        self.look_at_address(warp, &atomic.address, lanes);
        let bytes = usize::from(atomic.bytes);
        let operands_known = warp.defined[atomic.b as usize] & warp.defined[atomic.c as usize];
        let mut values = [0; LANES];
        let mut known = lanes;
        for lane in lanes_of(lanes) {
            let mut buffer = [0; 8];
            let target = Self::compute_address(warp, &atomic.address, lane, bytes)
                .and_then(|_| self.locate(warp, &atomic.address, lane, bytes))
                .or_else(part_of_word)
                .map_err(|kind| self.trap(warp, lane, kind))?;
            let was_known = self.read(warp, lane, target, &mut buffer[..bytes], true);
            if !was_known {
                known &= !(1 << lane);
            }
            let old = u64::from_le_bytes(buffer);
            let of = |slot: u32| warp.registers[slot as usize][lane];
            let new = (atomic.update)(old, of(atomic.b), of(atomic.c)).to_le_bytes();
            values[lane] = old;
            if atomic.order.is_ordered() {
                self.synchronise_access(warp, target, (atomic.order, atomic.scope), (true, true));
            }
            let new_known = was_known && operands_known >> lane & 1 == 1;
            self.write(warp, lane, target, &new[..bytes], new_known, true)
                .map_err(|kind| self.trap(warp, lane, kind))?;
        }
        if let Some(to) = atomic.to {
            warp.put(to, lanes, &values, known);
        }
        Ok(())
    }

    /// `cp.async`. Reads the source now. The bytes are written when the warp waits for the copy.
    pub(crate) fn copy(&mut self, warp: &mut Warp, copy: &Copy, lanes: u32) -> Result<(), Stop> {
        self.look_at_address(warp, &copy.from, lanes);
        self.look_at_address(warp, &copy.to, lanes);
        let bytes = usize::from(copy.bytes);
        for lane in lanes_of(lanes) {
            let read = (warp.registers[copy.read as usize][lane] as u32 as usize).min(bytes);
            let mut content = [0; 16];
            let target = Self::compute_address(warp, &copy.to, lane, bytes)
                .and_then(|_| self.locate(warp, &copy.to, lane, bytes));
            if read > 0 {
                let from = Self::compute_address(warp, &copy.from, lane, bytes)
                    .and_then(|_| self.locate(warp, &copy.from, lane, read))
                    .map_err(|kind| self.trap(warp, lane, kind))?;
                if !self.read(warp, lane, from, &mut content[..read], false) {
                    self.record_suspect(warp, lane);
                }
            }
            let at = match target {
                Ok(Target::Shared(at)) => at,
                Ok(_) => continue,
                Err(kind) => return Err(self.trap(warp, lane, kind)),
            };
            let mut met = None;
            let by = Accessor::from_warp(warp, false);
            self.shared.begin_copy(at, bytes, &by, &mut met);
            self.note(warp, lane, met);
            warp.loose.push(Pending {
                lane: lane as u8,
                bytes: copy.bytes,
                to: at as u64,
                content,
                step: warp.group.step,
            });
        }
        Ok(())
    }

    /// `cp.async.commit_group`.
    pub(crate) fn commit(warp: &mut Warp, lanes: u32) {
        let all = std::mem::take(&mut warp.loose);
        let (group, rest) = all.into_iter().partition(|copy| lanes >> copy.lane & 1 == 1);
        warp.loose = rest;
        warp.copies.push_back((lanes, group));
    }

    /// `cp.async.wait_group`: completes all groups of a lane except the `left` youngest ones.
    pub(crate) fn wait(&mut self, warp: &mut Warp, left: u32, lanes: u32) {
        let mut copies = std::mem::take(&mut warp.copies);
        let mut younger = [0u32; LANES];
        for (of, group) in copies.iter_mut().rev() {
            let mut lands = 0;
            for lane in lanes_of(*of & lanes) {
                if younger[lane] >= left {
                    lands |= 1 << lane;
                }
                younger[lane] += 1;
            }
            *of &= !lands;
            let landed = std::mem::take(group);
            let (lands, stays): (Vec<_>, Vec<_>) =
                landed.into_iter().partition(|copy| lands >> copy.lane & 1 == 1);
            *group = stays;
            for copy in lands {
                self.land(warp, &copy);
            }
        }
        copies.retain(|(of, _)| *of != 0);
        warp.copies = copies;
    }

    /// `cp.async.wait_all`.
    pub(crate) fn wait_all(&mut self, warp: &mut Warp, lanes: u32) {
        Self::commit(warp, lanes);
        self.wait(warp, 0, lanes);
    }

    fn land(&mut self, warp: &Warp, copy: &Pending) {
        let by = Accessor {
            step: copy.step,
            ..Accessor::from_warp(warp, false)
        };
        self.shared
            .land(copy.to as usize, &copy.content[..usize::from(copy.bytes)], &by);
    }

    /// The bytes of a memory that all threads share, without a record. Empty for others.
    pub(crate) fn peek(&self, target: Target, len: usize) -> &[u8] {
        self.record_access(target, len, false);
        let bytes = match target {
            Target::Arena(at) => self.memory.arena().0.get(at..at + len),
            Target::Parameters(at) => self.launch.parameters.get(at..at + len),
            Target::Module(at) => self.globals.get(at..at + len),
            Target::Scratch(at) => self.scratch.get(at..at + len),
            Target::Shared(_) | Target::Private(_) | Target::Cluster(..) => None,
        };
        bytes.unwrap_or_default()
    }

    /// Writes bytes of the device's memory without a record.
    pub(crate) fn poke(&mut self, target: Target, from: &[u8]) -> Result<(), TrapKind> {
        let len = from.len();
        self.record_access(target, len, true);
        let to = match target {
            Target::Arena(at) => {
                let (bytes, states) = self.memory.arena_mut();
                if let Some(states) = states.get_mut(at..at + len) {
                    states.fill(ByteState::Init);
                }
                bytes.get_mut(at..at + len)
            }
            Target::Module(at) => {
                self.has_written_module = true;
                self.globals.get_mut(at..at + len)
            }
            Target::Scratch(at) => self.scratch.get_mut(at..at + len),
            _ => {
                return Err(TrapKind::ReadOnly {
                    memory: "a memory that copies cannot write",
                });
            }
        };
        if let Some(to) = to {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Returns the offset of a byte of a lane's own memory.
    pub(crate) fn own_bytes(&self, lane: usize, at: u32) -> usize {
        lane * self.kernel.private as usize + at as usize
    }

    /// Reads a string from an address, up to the first invalid byte.
    pub(crate) fn read_text(&self, warp: &Warp, lane: usize, address: u64) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < 4096 {
            let at = address.wrapping_add(bytes.len() as u64);
            let target = self.generic_target(at);
            if let Some(target) = target {
                self.record_access(target, 1, false);
            }
            let byte = match target {
                Some(Target::Module(at)) => self.globals.get(at).copied(),
                Some(Target::Arena(at)) => self.memory.arena().0.get(at).copied(),
                Some(Target::Private(at)) => warp.private.get(self.own_bytes(lane, at as u32)).copied(),
                _ => None,
            };
            match byte {
                Some(byte) if byte != 0 => bytes.push(byte),
                _ => break,
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads a byte at a generic address of a lane, for foreign functions.
    pub(crate) fn bytes_at(&self, warp: &Warp, lane: usize, address: u64) -> Option<u8> {
        let target = self.generic_target(address)?;
        self.record_access(target, 1, false);
        match target {
            Target::Private(at) => warp.private.get(self.own_bytes(lane, at as u32)).copied(),
            Target::Module(at) => self.globals.get(at).copied(),
            Target::Arena(at) => self.memory.arena().0.get(at).copied(),
            _ => None,
        }
    }

    /// Reads a 64-bit argument of a call.
    pub(crate) fn read_argument(&self, warp: &Warp, lane: usize, at: u32) -> u64 {
        let at = self.own_bytes(lane, at);
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(warp.private.get(at..).unwrap_or_default()) {
            *to = *from;
        }
        u64::from_le_bytes(bytes)
    }
}

/// Resolves an access of a whole word that begins in a storage and extends past its end. LLVM compiles 16-bit atomics
/// to atomics of the aligned word around them, which keep the other half. A storage begins at a multiple of 512, so the
/// word contains no other storage.
fn part_of_word(kind: TrapKind) -> Result<Target, TrapKind> {
    match kind {
        TrapKind::OutOfBounds {
            address,
            bytes: 4,
            fault: Fault::Straddles { .. },
        } => Ok(Target::Arena(address.wrapping_sub(ORIGIN) as usize)),
        other => Err(other),
    }
}

/// The addresses of a store, lane by lane. If several lanes store to one address, PTX doesn't define which value
/// remains. On an H200 it is the value of the lowest lane.
#[derive(Default)]
pub(crate) struct StoredAddresses {
    addresses: SmallVec<[u64; LANES]>,
    max_address: u64,
}

impl StoredAddresses {
    /// Returns whether no earlier lane stored to an address.
    pub(crate) fn is_first(&mut self, at: u64) -> bool {
        // Addresses usually ascend.
        let first = self.addresses.is_empty() || at > self.max_address || !self.addresses.contains(&at);
        self.max_address = self.max_address.max(at);
        if first {
            self.addresses.push(at);
        }
        first
    }
}

/// A loaded element.
#[inline]
fn decode_element(bytes: &[u8], signed: bool) -> u64 {
    match *bytes {
        [a] if signed => a as i8 as i64 as u64,
        [a] => a.into(),
        [a, b] if signed => i16::from_le_bytes([a, b]) as i64 as u64,
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] if signed => i32::from_le_bytes([a, b, c, d]) as i64 as u64,
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}
