//! The memory that a kernel's tuner sets to zero between launches. See `cerith_frontend::Clears` for details.

use cerith_case::{ArgValue, Case, Launch};
use cerith_frontend::Clears;
use cerith_memory::{ByteState, Memory, StorageId};
use cerith_toolchain::compiled::Invocation;

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
    let (bytes, states) = memory.parts_mut(id);
    let range = start..start.saturating_add(len);
    if let (Some(bytes), Some(states)) = (bytes.get_mut(range.clone()), states.get_mut(range)) {
        bytes.fill(0);
        states.fill(ByteState::Init);
    }
}
