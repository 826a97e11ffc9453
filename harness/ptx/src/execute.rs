//! Executes operations on a warp. See [`crate::access`] for memory, [`crate::exchange`] for shuffles and votes, and
//! [`crate::block`] for barriers of a block.

use crate::alu::bits::pack;
use crate::alu::integer;
use crate::exchange;
use crate::lanes::{ALL, LANES, lanes_of};
use crate::machine::{Machine, Stop};
use crate::matrix;
use crate::op::{Op, PassedBytes, Slot};
use crate::outcome::TrapKind;
use crate::synchronise::Wait;
use crate::warp::Warp;

/// The reason why a warp paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It waits at a barrier.
    Barrier,
    /// All its lanes have exited.
    Over,
    /// It is another warp's turn.
    Turn,
    /// All its groups wait for phases. `idle`: it did nothing else.
    Blocked { idle: bool },
}

/// The next step of the warp after an operation.
enum Next {
    Step,
    Jump(u32),
    /// Another group of lanes runs.
    Turned,
    Pause(Pause),
    /// The group waits for a phase, and executes the instruction again later.
    Park,
}

impl Machine<'_> {
    /// Runs a warp until it pauses, for at most this many steps.
    pub(crate) fn run(&mut self, warp: &mut Warp, steps: u64) -> Result<Pause, Stop> {
        let kernel = self.kernel;
        let mut failures = 0;
        for nth in 0..steps {
            if warp.group.step >= warp.next && !warp.turn() {
                return Ok(Pause::Over);
            }
            let step = kernel.steps.get(warp.group.step as usize);
            let Some(step) = step else {
                return Err(self.trap(
                    warp,
                    warp.group.lanes.trailing_zeros() as usize & 31,
                    TrapKind::NoStep,
                ));
            };
            self.spend()?;
            let guard = warp.read_flag(step.guard);
            let lanes = warp.group.lanes & guard;
            let unknown = warp.group.lanes & !warp.flag_known(step.guard);
            if unknown != 0 && has_effect(&step.op) {
                self.record_suspect(warp, unknown.trailing_zeros() as usize);
            }
            let next = if lanes == 0 {
                Next::Step
            } else {
                if let Some(executed) = self.executed.get_mut(warp.group.step as usize) {
                    *executed = true;
                }
                if kernel.has_products {
                    self.check_registers(warp, &step.op);
                }
                self.step(warp, &step.op, lanes)?
            };
            match next {
                Next::Step => warp.group.step += 1,
                Next::Jump(to) if lanes == warp.group.lanes => warp.group.step = to,
                Next::Jump(to) => {
                    warp.group.lanes &= !lanes;
                    warp.group.step += 1;
                    warp.split_off(to, lanes);
                }
                Next::Turned => {}
                Next::Pause(pause) => {
                    warp.group.step += 1;
                    return Ok(pause);
                }
                Next::Park => {
                    failures += 1;
                    if lanes != warp.group.lanes {
                        let rest = warp.group.lanes & !lanes;
                        warp.split_off(warp.group.step + 1, rest);
                        warp.group.lanes = lanes;
                    }
                    if !warp.park() {
                        let idle = failures == nth + 1;
                        return Ok(Pause::Blocked { idle });
                    }
                }
            }
        }
        Ok(Pause::Turn)
    }

    fn step(&mut self, warp: &mut Warp, op: &Op, lanes: u32) -> Result<Next, Stop> {
        match op {
            Op::Nothing => {}
            Op::Load(access) => self.load(warp, access, lanes)?,
            Op::Store(access) => self.store(warp, access, lanes)?,
            Op::Atomic(atomic) => self.execute_atomic(warp, atomic, lanes)?,
            Op::Copy(copy) => self.copy(warp, copy, lanes)?,
            Op::CommitCopies => Self::commit(warp, lanes),
            Op::WaitCopies(left) => self.wait(warp, *left, lanes),
            Op::WaitAllCopies => self.wait_all(warp, lanes),
            &Op::ActiveMask { to } => warp.put(to, lanes, &[lanes.into(); LANES], lanes),
            Op::MatrixLoad(_)
            | Op::MatrixStore(_)
            | Op::Mma(_)
            | Op::CopyMap(_)
            | Op::Wgmma(_)
            | Op::FenceWgmma
            | Op::CommitWgmma
            | Op::WaitWgmma(_) => return self.run_collective(warp, op, None, lanes),
            Op::Shuffle(shuffle) => return self.run_collective(warp, op, Some(shuffle.members), lanes),
            Op::Vote { members, .. }
            | Op::Match { members, .. }
            | Op::Reduce { members, .. }
            | Op::Elect { members, .. }
            | Op::SyncWarp { members } => return self.run_collective(warp, op, Some(*members), lanes),
            Op::Foreign {
                function: which,
                arguments,
                result,
            } => self.call_foreign(warp, *which, *arguments, *result, lanes)?,
            op => return self.run_control(warp, op, lanes),
        }
        Ok(Next::Step)
    }

    /// Runs an operation of several lanes: the lanes that a register names, or the whole warp.
    fn run_collective(
        &mut self,
        warp: &mut Warp,
        op: &Op,
        members: Option<Slot>,
        lanes: u32,
    ) -> Result<Next, Stop> {
        let first = lanes.trailing_zeros() as usize & 31;
        let named = members.map_or(ALL, |slot| warp.registers[slot as usize][first] as u32);
        // Named lanes that exited earlier aren't expected.
        let wanted = warp.expected_lanes(members.map_or(ALL, |_| named & warp.running));
        let missing = wanted & !lanes;
        if missing & warp.running != 0 && warp.hold(lanes, wanted) {
            return Ok(Next::Turned);
        }
        if missing != 0 || lanes & !named != 0 {
            let kind = TrapKind::Inactive {
                members: named,
                arrived: lanes,
            };
            return Err(self.trap(warp, first, kind));
        }
        warp.group.awaits = 0;
        match op {
            Op::MatrixLoad(load) => self.load_matrix(warp, load)?,
            Op::MatrixStore(store) => self.store_matrix(warp, store)?,
            Op::CopyMap(copy) => self.copy_map(warp, copy, lanes)?,
            Op::Mma(mma) => matrix::multiply(warp, mma),
            Op::Wgmma(wgmma) => {
                self.start_product(warp, wgmma)?;
                return Ok(Next::Pause(Pause::Barrier));
            }
            Op::FenceWgmma => warp.products.fence(),
            Op::CommitWgmma => warp.products.commit(),
            &Op::WaitWgmma(left) => self.wait_products(warp, left),
            Op::Shuffle(shuffle) => exchange::shuffle(warp, shuffle, lanes),
            &Op::Vote { mode, to, a, .. } => exchange::vote(warp, (mode, to, a), lanes),
            &Op::Match { to, a, bits, .. } => exchange::match_lanes(warp, (to, a, bits), lanes),
            &Op::Reduce { f, to, a, .. } => exchange::reduce(warp, (f, to, a), lanes),
            &Op::Elect { to, flag, .. } => exchange::elect(warp, (to, flag), lanes),
            _ => {}
        }
        Ok(Next::Step)
    }

    /// Runs an operation of control flow; computes any other.
    fn run_control(&mut self, warp: &mut Warp, op: &Op, lanes: u32) -> Result<Next, Stop> {
        let first = lanes.trailing_zeros() as usize & 31;
        match op {
            &Op::Branch { to } => return Ok(Next::Jump(to)),
            Op::BranchTo { index, targets } => {
                let unknown = lanes & !warp.defined[*index as usize];
                if unknown != 0 {
                    self.record_suspect(warp, unknown.trailing_zeros() as usize);
                }
                let indices = warp.registers[*index as usize];
                for lane in lanes_of(lanes) {
                    let Some(&to) = targets.get(indices[lane] as u32 as usize) else {
                        return Err(self.trap(warp, lane, TrapKind::NoStep));
                    };
                    warp.split_off(to, 1 << lane);
                }
                warp.group.lanes &= !lanes;
                if warp.group.lanes != 0 {
                    return Ok(Next::Step);
                }
                warp.turn();
                return Ok(Next::Turned);
            }
            Op::Call {
                to,
                back,
                arguments: handed,
            } => {
                self.pass_bytes(warp, handed, lanes);
                let behind = u64::from(warp.group.step) + 1;
                warp.put(*back, lanes, &[behind; LANES], lanes);
                return Ok(Next::Jump(*to));
            }
            Op::Back { results: handed } => self.pass_bytes(warp, handed, lanes),
            &Op::Return { back } => {
                let to = warp.registers[back as usize];
                warp.group.lanes &= !lanes;
                let stays = warp.group.lanes != 0;
                for lane in lanes_of(lanes) {
                    warp.split_off(to[lane] as u32, 1 << lane);
                }
                if stays {
                    return Ok(Next::Step);
                }
                warp.turn();
                return Ok(Next::Turned);
            }
            Op::Exit => {
                warp.end(lanes);
                if warp.is_over() {
                    return Ok(Next::Pause(Pause::Over));
                }
                if warp.group.lanes != 0 {
                    return Ok(Next::Step);
                }
                warp.turn();
                return Ok(Next::Turned);
            }
            Op::Trap => return Err(self.trap(warp, first, TrapKind::Trap)),
            &Op::Barrier { id, count, waits } => {
                let wanted = warp.expected_lanes(warp.running);
                if lanes != wanted {
                    if warp.hold(lanes, wanted) {
                        return Ok(Next::Turned);
                    }
                    let kind = TrapKind::DivergentBarrier {
                        arrived: lanes,
                        running: wanted,
                    };
                    return Err(self.trap(warp, first, kind));
                }
                warp.group.awaits = 0;
                let of = |slot: u32| warp.registers[slot as usize][first] as u32;
                let (id, count) = (of(id), count.map(of));
                let wait = self.arrive_at_barrier(warp, (id, count), waits);
                return match wait.map_err(|kind| self.trap(warp, first, kind))? {
                    Wait::Yes => Ok(Next::Pause(Pause::Barrier)),
                    Wait::No => Ok(Next::Step),
                };
            }
            Op::ReplaceMap(replacement) => self.replace_map(warp, replacement, lanes)?,
            Op::ClusterBarrier { .. }
            | Op::Mbarrier(_)
            | Op::Fence(_)
            | Op::BulkCopy(_)
            | Op::TensorCopy(_)
            | Op::CommitBulk
            | Op::WaitBulk { .. }
            | Op::MapShared { .. }
            | Op::FindRank { .. }
            | Op::SetMaxRegisters
            | Op::GridDependency => return self.run_asynchronous(warp, op, lanes),
            Op::AsyncStore(store) => self.start_stores(warp, store, lanes)?,
            op => compute(warp, op, lanes),
        }
        Ok(Next::Step)
    }

    /// Runs an operation on barriers, `mbarrier` objects, bulk copies or clusters.
    fn run_asynchronous(&mut self, warp: &mut Warp, op: &Op, lanes: u32) -> Result<Next, Stop> {
        match op {
            &Op::ClusterBarrier { waits, order } => {
                let wanted = warp.expected_lanes(warp.running);
                if lanes != wanted && warp.hold(lanes, wanted) {
                    return Ok(Next::Turned);
                }
                warp.group.awaits = 0;
                if self.run_cluster_barrier(warp, waits, order) == Wait::Yes {
                    return Ok(Next::Pause(Pause::Barrier));
                }
            }
            Op::Mbarrier(op) => {
                return Ok(match self.run_mbarrier(warp, op, lanes)? {
                    Wait::Yes => Next::Park,
                    Wait::No => Next::Step,
                });
            }
            Op::Fence(fence) => self.fence(warp, **fence),
            Op::BulkCopy(copy) => self.start_bulk_copy(warp, copy, lanes)?,
            Op::TensorCopy(copy) => self.start_tensor_copy(warp, copy, lanes)?,
            Op::CommitBulk => Self::commit_bulk(warp, lanes),
            &Op::WaitBulk { left, reads } => self.wait_bulk(warp, left, reads, lanes)?,
            &Op::MapShared { to, a, rank, generic } => {
                Self::map_shared(warp, [to, a, rank], generic, lanes);
            }
            &Op::FindRank { to, a, generic } => Self::find_rank(warp, [to, a], generic, lanes),
            _ => {}
        }
        Ok(Next::Step)
    }

    fn pass_bytes(&self, warp: &mut Warp, handed: &[PassedBytes], lanes: u32) {
        for lane in lanes_of(lanes) {
            for of in handed {
                let (from, to) = (self.own_bytes(lane, of.from), self.own_bytes(lane, of.to));
                let end = from + of.bytes as usize;
                if end <= warp.private.len() && to + of.bytes as usize <= warp.private.len() {
                    warp.private.copy_within(from..end, to);
                }
            }
        }
    }
}

/// Returns whether an operation affects more than the registers of its lanes.
const fn has_effect(op: &Op) -> bool {
    matches!(
        op,
        Op::Store(_) | Op::Atomic(_) | Op::Copy(_) | Op::Branch { .. } | Op::Exit | Op::Foreign { .. }
    )
}

/// Runs an operation from registers to registers.
fn compute(warp: &mut Warp, op: &Op, lanes: u32) {
    let mut out = [0; LANES];
    let known = |warp: &Warp, slot: u32| warp.defined[slot as usize];
    match *op {
        Op::Move { to, a } => {
            let value = warp.registers[a as usize];
            let known = known(warp, a);
            warp.put(to, lanes, &value, known);
        }
        Op::Unary { f, to, a } => {
            f(&warp.registers[a as usize], &mut out);
            let known = known(warp, a);
            warp.put(to, lanes, &out, known);
        }
        Op::Binary { f, to, a, b } => {
            f(&warp.registers[a as usize], &warp.registers[b as usize], &mut out);
            let known = known(warp, a) & known(warp, b);
            warp.put(to, lanes, &out, known);
        }
        Op::Ternary { f, to, a, b, c } => {
            let of = |slot: u32| &warp.registers[slot as usize];
            f(of(a), of(b), of(c), &mut out);
            let known = known(warp, a) & known(warp, b) & known(warp, c);
            warp.put(to, lanes, &out, known);
        }
        Op::Quaternary { f, to, from } => {
            f(from.map(|slot| &warp.registers[slot as usize]), &mut out);
            let known = from.iter().fold(lanes, |all, &slot| all & known(warp, slot));
            warp.put(to, lanes, &out, known);
        }
        Op::Pack {
            to,
            parts,
            count,
            width,
        } => {
            let parts = &parts[..usize::from(count).min(4)];
            for (lane, out) in out.iter_mut().enumerate() {
                let mut values = [0; 4];
                for (value, &slot) in values.iter_mut().zip(parts) {
                    *value = warp.registers[slot as usize][lane];
                }
                *out = pack(&values[..parts.len()], width.into());
            }
            let known = parts.iter().fold(lanes, |all, &slot| all & known(warp, slot));
            warp.put(to, lanes, &out, known);
        }
        Op::Unpack {
            parts,
            count,
            width,
            a,
        } => {
            let value = warp.registers[a as usize];
            let known = known(warp, a);
            let mask = u64::MAX >> (64 - u32::from(width));
            for (nth, &to) in parts.iter().take(count.into()).enumerate() {
                let part = value.map(|value| value >> (usize::from(width) * nth) & mask);
                warp.put(to, lanes, &part, known);
            }
        }
        Op::Carry {
            op,
            ty,
            takes,
            gives,
            to,
            a,
            b,
            c,
        } => {
            let of = |slot: u32| &warp.registers[slot as usize];
            let carried = if takes { warp.carry } else { 0 };
            let goes = integer::carry(op, ty, [of(a), of(b), of(c)], carried, &mut out);
            let known = known(warp, a) & known(warp, b) & known(warp, c);
            if gives {
                warp.carry = (warp.carry & !lanes) | (goes & lanes);
            }
            warp.put(to, lanes, &out, known);
        }
        Op::Select { to, a, b, flag } => {
            let picked = warp.read_flag(flag);
            let (x, y) = (&warp.registers[a as usize], &warp.registers[b as usize]);
            for (lane, (out, (&x, &y))) in out.iter_mut().zip(x.iter().zip(y)).enumerate() {
                *out = if picked >> lane & 1 == 1 { x } else { y };
            }
            let known = warp.flag_known(flag) & ((known(warp, a) & picked) | (known(warp, b) & !picked));
            warp.put(to, lanes, &out, known);
        }
        _ => compute_flags(warp, op, lanes),
    }
}

/// Runs an operation that writes predicates, or reads them.
fn compute_flags(warp: &mut Warp, op: &Op, lanes: u32) {
    let known = |warp: &Warp, slot: u32| warp.defined[slot as usize];
    match *op {
        Op::Test {
            f,
            to,
            complement: other,
            a,
            b,
            logic,
            operand: with,
        } => {
            let holds = f(&warp.registers[a as usize], &warp.registers[b as usize]);
            let known = known(warp, a) & known(warp, b) & warp.flag_known(with);
            let with = warp.read_flag(with);
            warp.put_flag(to, lanes, logic.combine(holds, with), known);
            if let Some(other) = other {
                warp.put_flag(other, lanes, logic.combine(!holds, with), known);
            }
        }
        Op::TestPair {
            low,
            high,
            to,
            high_to: other,
            a,
            b,
            logic,
            operand: with,
        } => {
            let (x, y) = (&warp.registers[a as usize], &warp.registers[b as usize]);
            let (lower, upper) = (low(x, y), high(x, y));
            let known = known(warp, a) & known(warp, b) & warp.flag_known(with);
            let with = warp.read_flag(with);
            warp.put_flag(to, lanes, logic.combine(lower, with), known);
            warp.put_flag(other, lanes, logic.combine(upper, with), known);
        }
        Op::Set {
            low,
            high,
            to,
            a,
            b,
            truth,
        } => {
            let (x, y) = (&warp.registers[a as usize], &warp.registers[b as usize]);
            let lower = low(x, y);
            let upper = high.map(|high| high(x, y));
            let mut out = [0; LANES];
            for (lane, out) in out.iter_mut().enumerate() {
                let is = |mask: u32| mask >> lane & 1 == 1;
                *out = match upper {
                    None => u64::from(is(lower)) * truth,
                    Some(upper) => {
                        (u64::from(is(lower)) * (truth & 0xffff))
                            | (u64::from(is(upper)) * (truth & 0xffff_0000))
                    }
                };
            }
            let known = known(warp, a) & known(warp, b);
            warp.put(to, lanes, &out, known);
        }
        Op::Flags { logic, to, a, b } => {
            let known = warp.flag_known(a) & warp.flag_known(b);
            let value = logic.combine(warp.read_flag(a), warp.read_flag(b));
            warp.put_flag(to, lanes, value, known);
        }
        Op::FlagSelect {
            to,
            a,
            b,
            condition: by,
        } => {
            let picked = warp.read_flag(by);
            let value = (warp.read_flag(a) & picked) | (warp.read_flag(b) & !picked);
            let known =
                warp.flag_known(by) & ((warp.flag_known(a) & picked) | (warp.flag_known(b) & !picked));
            warp.put_flag(to, lanes, value, known);
        }
        _ => {}
    }
}
