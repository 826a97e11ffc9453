//! The memory that a kernel's tuner sets to zero between launches. See `cerith_frontend::Clears` for details.

use cerith_case::{ArgValue, Case, Launch};
use cerith_frontend::Clears;
use cerith_memory::{ByteState, MAX_BYTES, Memory, PAGE, StorageId};
use cerith_toolchain::compiled::Invocation;

use crate::Complaint;

/// Sets to zero what a recorded launch finds at zero.
pub(crate) fn clear(invocation: &Invocation, memory: &mut Memory) {
    for cleared in &invocation.clears {
        if let Some(id) = memory.ids().nth(cleared.storage) {
            set_to_zero(memory, id, cleared.start, cleared.len);
        }
    }
}

/// Sets to zero what a launch of a case finds at zero. Whether that is anything.
pub(crate) fn clear_before(case: &Case, nth: usize, clears: &Clears, memory: &mut Memory) -> bool {
    let Some(launch) = case.launches.get(nth) else {
        return false;
    };
    let tunes = !clears.when_tuning.is_empty() && is_first_tuning(&case.launches, nth, &clears.key);
    let when_tuning = clears.when_tuning.iter().filter(|_| tunes);
    let mut any = false;
    for name in clears.always.iter().chain(when_tuning) {
        let passed = launch
            .arguments()
            .find(|(parameter, _)| *parameter == Some(name.as_str()));
        if let Some((_, arg)) = passed
            && let ArgValue::Tensor { tensor, .. } = &arg.value
        {
            for start in tensor.element_starts() {
                set_to_zero(memory, tensor.storage, start, tensor.element_size());
            }
            any = true;
        }
    }
    any
}

/// Whether a launch is the first of its tuner with this key: the values of some parameters, and the dtypes of all tensors
/// (`Autotuner.run`).
fn is_first_tuning(launches: &[Launch], nth: usize, key: &[String]) -> bool {
    let Some((launch, before)) = launches.get(..=nth).and_then(<[Launch]>::split_last) else {
        return false;
    };
    !before.iter().any(|other| {
        other.kernel.name == launch.kernel.name
            && other.kernel.module.file.name == launch.kernel.module.file.name
            && same_key(other, launch, key)
    })
}

fn same_key(one: &Launch, other: &Launch, key: &[String]) -> bool {
    let parts = |launch: &Launch| {
        let mut parts: Vec<_> = launch
            .arguments()
            .filter_map(|(name, arg)| match &arg.value {
                ArgValue::Tensor { tensor, .. } => Some((name?.to_owned(), Err(tensor.dtype))),
                value if key.iter().any(|key| name == Some(key.as_str())) => {
                    Some((name?.to_owned(), Ok(value.clone())))
                }
                _ => None,
            })
            .collect();
        parts.sort_by(|(one, _), (other, _)| one.cmp(other));
        parts
    };
    parts(one) == parts(other)
}

fn set_to_zero(memory: &mut Memory, id: StorageId, start: usize, len: usize) {
    let end = start.saturating_add(len).min(memory.size(id));
    let mut at = start;
    while at < end {
        let next = (at / PAGE + 1).saturating_mul(PAGE).min(end);
        if let Ok(Some((bytes, states))) = memory.part_mut(id, at..next) {
            bytes.fill(0);
            states.fill(ByteState::Init);
        }
        at = next;
    }
}

/// Reports a storage that would be set to zero and is too large for that.
pub(crate) fn reject_large(case: &Case, clears: &Clears) -> Option<Box<Complaint>> {
    if clears.always.is_empty() && clears.when_tuning.is_empty() {
        return None;
    }
    let mut all = case.storages.iter().map(|(_, storage)| storage);
    let large = all.find(|storage| storage.size() as u64 > MAX_BYTES)?;
    let message = format!(
        "the tuner's hooks set memory to zero between launches, which is not done in a case with a storage of {} bytes (`{}`)",
        large.size(),
        large.name()
    );
    Some(Box::new(Complaint::new("unsupported", message)))
}
