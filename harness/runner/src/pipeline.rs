//! Processes many cases in parallel, with events in the order of the corpus. The caller passes the work for a case.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How far the fastest job may be ahead of the oldest result that is not out yet, for each job.
const AHEAD: u64 = 64;

/// Bytes of stack of a job: kernels are nested text, and walking them is recursive.
const STACK: usize = 64 << 20;

/// How far the run is.
struct Progress<I> {
    items: I,
    next: u64,
    emitted: u64,
}

/// Shared by the jobs.
struct Queue<I> {
    progress: Mutex<Progress<I>>,
    moved: Condvar,
    window: u64,
}

impl<T, I: Iterator<Item = T>> Queue<I> {
    fn lock(&self) -> MutexGuard<'_, Progress<I>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item with its number, once it is not too far ahead.
    fn take(&self) -> Option<(u64, T)> {
        let mut progress = self
            .moved
            .wait_while(self.lock(), |progress| {
                progress.next - progress.emitted >= self.window
            })
            .unwrap_or_else(PoisonError::into_inner);
        let item = progress.items.next()?;
        let number = progress.next;
        progress.next += 1;
        Some((number, item))
    }

    fn set_emitted(&self, count: u64) {
        self.lock().emitted = count;
        self.moved.notify_all();
    }
}

/// The number of jobs: the requested number, or the number of cores.
pub fn count_jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(count_cores, usize::from)
}

/// How many threads a launch may have: the cores that so many jobs leave free, if there are no more items than this.
pub fn count_threads(jobs: usize, items: u64) -> usize {
    let busy = usize::try_from(items).unwrap_or(jobs).min(jobs).max(1);
    (count_cores() / busy).max(1)
}

fn count_cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Does `work` on every item with so many jobs, and hands each result to `emit`, in order, on this thread. `work`
/// answers `None` to end the run early; results before it are still handed over.
pub fn in_order<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    jobs: usize,
    work: impl Fn(T) -> Option<R> + Sync,
    emit: impl FnMut(R),
) {
    let jobs = jobs.max(1);
    let queue = Queue {
        progress: Mutex::new(Progress {
            items,
            next: 0,
            emitted: 0,
        }),
        moved: Condvar::new(),
        window: AHEAD * jobs as u64,
    };
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(jobs * 2);
        for _ in 0..jobs {
            let sender: SyncSender<(u64, Option<R>)> = sender.clone();
            let (queue, work) = (&queue, &work);
            let job = move || {
                while let Some((number, item)) = queue.take() {
                    let result = work(item);
                    let last = result.is_none();
                    if sender.send((number, result)).is_err() || last {
                        break;
                    }
                }
            };
            let spawned = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, job);
            if spawned.is_err() {
                // The system cannot start more threads: the existing jobs do the work.
                break;
            }
        }
        drop(sender);
        reorder(&receiver, emit, |count| queue.set_emitted(count));
    });
}

fn reorder<R>(receiver: &Receiver<(u64, Option<R>)>, mut emit: impl FnMut(R), emitted: impl Fn(u64)) {
    let mut waiting: BTreeMap<u64, Option<R>> = BTreeMap::new();
    let mut next = 0;
    for (number, result) in receiver {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&next) {
            if let Some(result) = result {
                emit(result);
            }
            next += 1;
        }
        emitted(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute_squares(jobs: usize, stop_at: u64) -> Vec<u64> {
        let mut out = Vec::new();
        in_order(
            0..1000u64,
            jobs,
            |n| (n < stop_at).then_some(n * n),
            |n| out.push(n),
        );
        out
    }

    #[test]
    fn results_come_in_order_whatever_the_number_of_jobs() {
        let expected: Vec<u64> = (0..1000).map(|n| n * n).collect();
        for jobs in [0, 1, 2, 7] {
            assert_eq!(compute_squares(jobs, u64::MAX), expected, "{jobs} jobs");
        }
    }

    #[test]
    fn a_stopped_run_hands_over_what_was_done() {
        for jobs in [1, 3] {
            let out = compute_squares(jobs, 10);
            assert_eq!(out, (0..10).map(|n| n * n).collect::<Vec<_>>(), "{jobs} jobs");
        }
    }

    #[test]
    fn no_job_runs_far_ahead_of_the_oldest_result() {
        let (begun, oldest) = (Mutex::new(0u64), Mutex::new(0u64));
        in_order(
            0..2000u64,
            4,
            |n| {
                let mut begun = begun.lock().unwrap();
                *begun = (*begun).max(n);
                assert!(*begun - *oldest.lock().unwrap() <= AHEAD * 4 + 4);
                Some(n)
            },
            |n| *oldest.lock().unwrap() = n,
        );
        assert_eq!(*begun.lock().unwrap(), 1999);
    }
}
