//! A planted fault that takes more than a line: loads that do not see what was stored through another argument.
//! Only in builds with the feature `planted-faults`.

use std::cell::RefCell;

use cerith_memory::Memory;
use cerith_tile::fault::{Fault, is_planted};

use crate::origin::Origin;
use crate::run::Run;

/// Memory before the launch, and the bytes that were stored since with the parameter that they were stored through.
#[derive(Default)]
struct Before {
    bytes: Vec<u8>,
    /// First byte, one past the last, and the parameter.
    stored: Vec<(u64, u64, u32)>,
}

thread_local! {
    static BEFORE: RefCell<Before> = RefCell::default();
}

/// A launch begins.
pub(crate) fn begin(memory: &Memory) {
    if is_planted(Fault::ViewsAreApart) {
        BEFORE.set(Before {
            bytes: memory.arena().0.to_vec(),
            stored: Vec::new(),
        });
    }
}

/// Elements were stored through a pointer of this origin.
pub(crate) fn stored(origin: Origin, runs: &[Run], size: usize) {
    let Origin::Param(param) = origin else {
        return;
    };
    if !is_planted(Fault::ViewsAreApart) {
        return;
    }
    BEFORE.with_borrow_mut(|before| {
        for run in runs {
            for nth in 0..run.count {
                let at = run.address(nth);
                before.stored.push((at, at + size as u64, param));
            }
        }
    });
}

/// Restores the old bytes of elements loaded through a pointer of this origin, before stores through other pointers.
pub(crate) fn load(origin: Origin, memory: &Memory, runs: &[Run], size: usize, buf: &mut [u8]) {
    let Origin::Param(param) = origin else {
        return;
    };
    if !is_planted(Fault::ViewsAreApart) {
        return;
    }
    BEFORE.with_borrow(|before| {
        for run in runs {
            for nth in 0..run.count {
                let (at, lane) = (run.address(nth), run.lane + nth);
                let others =
                    |&(first, end, by): &(u64, u64, u32)| by != param && first < at + size as u64 && at < end;
                if before.stored.iter().any(others)
                    && let Some(index) = memory.index_of(at)
                    && let Some(old) = before.bytes.get(index..index + size)
                    && let Some(to) = buf.get_mut(lane * size..(lane + 1) * size)
                {
                    to.copy_from_slice(old);
                }
            }
        }
    });
}
