//! The blocks of a cluster: their shared memory and barriers, addresses in them, and their ends.
//!
//! An address in shared memory has the rank of the block above [`RANK_SHIFT`], as on a GPU. The PTX ISA does not define
//! that, but Triton clears bits of the rank to find the first of two blocks.

use crate::cta::{Cta, RemoteAccess};
use crate::kernel::SHARED_WINDOW;
use crate::lanes::{LANES, lanes_of};
use crate::machine::{Machine, Target};
use crate::mbarrier::Object;
use crate::op::{Address, Slot};
use crate::outcome::{FindingKind, TrapKind};
use crate::shared::Shared;
use crate::warp::Warp;

/// The lowest bit of a rank in an address.
pub(crate) const RANK_SHIFT: u32 = 24;
/// Maximum blocks of a cluster: 16, if a kernel permits clusters that are not portable.
pub(crate) const MAX_BLOCKS: u32 = 16;

impl Machine<'_> {
    /// Makes another block of the cluster the current one.
    pub(crate) fn enter(&mut self, rank: u16) {
        if rank == self.rank {
            return;
        }
        self.swap_current();
        self.rank = rank;
        self.swap_current();
        self.block = self.cta.block;
    }

    /// Exchanges the state of the current block with that in its slot.
    fn swap_current(&mut self) {
        if let Some((cta, shared)) = self.other_blocks.get_mut(usize::from(self.rank)) {
            std::mem::swap(&mut self.cta, cta);
            std::mem::swap(&mut self.shared, shared);
        }
    }

    /// The shared memory of a block of the cluster.
    pub(crate) fn shared_of(&mut self, rank: u16) -> Option<&mut Shared> {
        if rank == self.rank {
            return Some(&mut self.shared);
        }
        self.other_blocks
            .get_mut(usize::from(rank))
            .map(|(_, shared)| shared)
    }

    pub(crate) fn cta_of(&mut self, rank: u16) -> Option<&mut Cta> {
        if rank == self.rank {
            return Some(&mut self.cta);
        }
        self.other_blocks.get_mut(usize::from(rank)).map(|(cta, _)| cta)
    }

    /// The `mbarrier` at an offset in the shared memory of a block.
    pub(crate) fn object(&mut self, rank: u16, offset: u32) -> Option<&mut Object> {
        self.cta_of(rank)?.objects.get_mut(&offset)
    }

    /// Number of blocks of the cluster.
    pub(crate) fn blocks(&self) -> u32 {
        self.other_blocks.len().max(1) as u32
    }

    /// The offset of an address in the shared memory of the executing block.
    #[inline]
    pub(crate) fn strip_rank(&self, at: u32) -> u64 {
        let has_own = at >> RANK_SHIFT == u32::from(self.rank);
        u64::from(if has_own { at & ((1 << RANK_SHIFT) - 1) } else { at })
    }

    /// Resolves an address in the window of the cluster.
    pub(crate) fn in_cluster(&self, at: u64, bytes: usize) -> Result<Target, TrapKind> {
        let rank = at >> RANK_SHIFT;
        if rank == u64::from(self.rank) {
            return self.in_shared(at & ((1 << RANK_SHIFT) - 1), bytes);
        }
        if rank >= u64::from(self.blocks()) {
            return Err(TrapKind::NoBlock { rank });
        }
        // All blocks have shared memory of the same size.
        match self.in_shared(at & ((1 << RANK_SHIFT) - 1), bytes)? {
            Target::Shared(at) => Ok(Target::Cluster(rank as u16, at)),
            other => Ok(other),
        }
    }

    /// Resolves an address that must be in shared memory, to a rank and an offset.
    pub(crate) fn locate_shared(
        &self,
        warp: &Warp,
        address: &Address,
        lane: usize,
        bytes: usize,
        align: u64,
    ) -> Result<(u16, usize), TrapKind> {
        let at = warp.registers[address.base as usize][lane].wrapping_add_signed(address.offset);
        if !at.is_multiple_of(align) {
            return Err(TrapKind::Misaligned { address: at, align });
        }
        match self.locate(warp, address, lane, bytes)? {
            Target::Shared(at) => Ok((self.rank, at)),
            Target::Cluster(rank, at) => Ok((rank, at)),
            _ => Err(TrapKind::OutsideOf {
                memory: "the block's shared memory",
                offset: at,
                bytes: bytes as u64,
                size: self.shared.len() as u64,
            }),
        }
    }

    /// Records an access to the shared memory of another block, which must not exit before.
    pub(crate) fn record_remote(&mut self, warp: &Warp, lane: usize, rank: u16) {
        if rank == self.rank {
            return;
        }
        let access = RemoteAccess {
            component: warp.component,
            time: warp.time,
            step: warp.group.step,
            thread: self.thread(warp, lane),
        };
        let Some(cta) = self.cta_of(rank) else { return };
        if cta.running == 0 {
            self.report_exit(access);
            return;
        }
        let last = cta
            .remote
            .iter_mut()
            .find(|other| (other.component, other.step) == (access.component, access.step));
        match last {
            Some(last) => *last = access,
            None => cta.remote.push(access),
        }
    }

    /// Records that the current block's warp has exited.
    pub(crate) fn exit_warp(&mut self, warp: &Warp) {
        let threads = warp.threads;
        self.check_exit(warp);
        self.cta.barriers.exit(threads);
        self.cluster.exit(threads);
        self.cta.running = self.cta.running.saturating_sub(1);
        let later: Vec<RemoteAccess> = self
            .cta
            .remote
            .iter()
            .filter(|access| !warp.knowledge.ordered.knows(access.component, access.time))
            .copied()
            .collect();
        // Another warp of the block may be ordered after the access, and exit after it.
        self.cta.remote = later;
        if self.cta.running == 0 {
            for access in std::mem::take(&mut self.cta.remote) {
                self.report_exit(access);
            }
        }
    }

    fn report_exit(&mut self, access: RemoteAccess) {
        self.report(FindingKind::ClusterExit, access.step, None, access.thread, None);
    }

    /// `mapa`.
    pub(crate) fn map_shared(warp: &mut Warp, [to, a, rank]: [Slot; 3], generic: bool, lanes: u32) {
        let (addresses, ranks) = (warp.registers[a as usize], warp.registers[rank as usize]);
        let known = warp.defined[a as usize] & warp.defined[rank as usize];
        let window = if generic { SHARED_WINDOW } else { 0 };
        let mut values = [0; LANES];
        for lane in lanes_of(lanes) {
            let offset = addresses[lane].wrapping_sub(window) & ((1 << RANK_SHIFT) - 1);
            // A rank that the cluster lacks is found by the access.
            let rank = (ranks[lane] as u32).min(255);
            values[lane] = window + (u64::from(rank) << RANK_SHIFT | offset);
        }
        warp.put(to, lanes, &values, known);
    }

    /// `getctarank`.
    pub(crate) fn find_rank(warp: &mut Warp, [to, a]: [Slot; 2], generic: bool, lanes: u32) {
        let window = if generic { SHARED_WINDOW } else { 0 };
        let values = warp.registers[a as usize].map(|at| at.wrapping_sub(window) >> RANK_SHIFT & 0xff);
        let known = warp.defined[a as usize];
        warp.put(to, lanes, &values, known);
    }

    /// Executes `barrier.cluster.arrive`. If it `releases`, it publishes all accesses of the warp, otherwise only those that a
    /// fence released.
    pub(crate) fn arrive_at_cluster(&mut self, warp: &mut Warp, releases: bool) {
        let threads = warp.running.count_ones();
        let knowledge = if releases { &warp.knowledge } else { &warp.released };
        warp.cluster_phase = self.cluster.arrive(threads, knowledge);
        let epoch = self.new_epoch();
        warp.advance(epoch);
    }
}
