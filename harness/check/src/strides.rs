//! Launches with other strides of one tensor, for kernels that take strides. A launcher may pass only tensors without gaps, so that a
//! stride which the kernel forgets is always 1. The kernel has to use the strides that it takes.

use cerith_case::{ArgValue, Case, Launch};
use cerith_memory::{Storages, Tensor};

use super::relations::set_integer;

/// The most elements from the first to the last of a tensor.
const MAX_SPAN: i64 = 1 << 20;

/// A tensor, and the parameters that are its first strides. There are no such parameters if they are unknown.
struct Strided {
    name: String,
    tensor: Tensor,
    strides: Vec<String>,
}

/// Launches with the elements of each tensor further apart, with descriptions. The last stride of a tensor stays if the kernel does not
/// use it: kernels that take it for 1 are many. Tensors of one shape may share the strides of one of them, so other launches spread
/// those too.
pub(super) fn list_strided(plain: &Case, is_unused: impl Fn(&str) -> bool) -> Vec<(String, Vec<Case>)> {
    let [launch] = plain.launches.as_slice() else {
        return Vec::new();
    };
    let all = find_tensors(launch);
    let passed = all.iter().enumerate().filter(|(_, one)| !one.strides.is_empty());
    passed
        .filter_map(|(nth, one)| {
            let is_alike = |other: &Strided| {
                other.tensor.strides == one.tensor.strides && other.tensor.shape == one.tensor.shape
            };
            let others = all.iter().enumerate().filter(|(other, _)| *other != nth);
            let alike: Vec<&Strided> = others
                .map(|(_, other)| other)
                .filter(|other| is_alike(other))
                .collect();
            let groups = list_groups(&alike);
            let spread = |group: Vec<&Strided>| spread(plain, launch, (one, &group), &is_unused);
            let cases: Vec<Case> = groups.into_iter().map(spread).collect::<Option<_>>()?;
            Some((format!("other strides of `{}`", one.name), cases))
        })
        .collect()
}

/// The most tensors whose subsets are all tried.
const MAX_CHOSEN: usize = 3;

/// The tensors that may have the same strides: a kernel may use the passed ones for several tensors, and an output may be of its own.
/// Every subset of few tensors. Many tensors have three: none, those whose strides are passed too, and all.
fn list_groups<'s>(alike: &[&'s Strided]) -> Vec<Vec<&'s Strided>> {
    if alike.len() <= MAX_CHOSEN {
        let choose = |chosen: usize| {
            let kept = alike
                .iter()
                .enumerate()
                .filter(move |(nth, _)| chosen >> nth & 1 == 1);
            kept.map(|(_, one)| *one).collect()
        };
        return (0..1 << alike.len()).map(choose).collect();
    }
    let with_strides = alike.iter().copied().filter(|other| !other.strides.is_empty());
    let mut groups = vec![Vec::new(), with_strides.collect(), alike.to_vec()];
    groups.dedup_by_key(|group| group.len());
    groups
}

/// The tensors of a launch, and the parameters that are their strides.
fn find_tensors(launch: &Launch) -> Vec<Strided> {
    let mut tensors: Vec<Strided> = Vec::new();
    let mut strides: Vec<(&str, i128)> = Vec::new();
    let parameters = launch.kernel.function().map(|function| &function.parameters);
    for parameter in parameters.into_iter().flatten() {
        let mut arguments = launch.arguments();
        let Some((_, arg)) = arguments.find(|(name, _)| *name == Some(parameter.name.as_str())) else {
            continue;
        };
        match &arg.value {
            ArgValue::Tensor { tensor, .. } => tensors.push(Strided {
                name: parameter.name.clone(),
                tensor: tensor.clone(),
                strides: Vec::new(),
            }),
            ArgValue::Int(value) if parameter.name.to_lowercase().contains("stride") => {
                strides.push((&parameter.name, *value));
            }
            _ => {}
        }
    }
    let names: Vec<String> = tensors.iter().map(|one| one.name.clone()).collect();
    for (name, _) in &strides {
        if let Some(nth) = find_owner(name, &names)
            && let Some(one) = tensors.get_mut(nth)
        {
            one.strides.push((*name).to_owned());
        }
    }
    let value_of = |name: &String| {
        strides
            .iter()
            .find(|(one, _)| one == name)
            .map(|(_, value)| *value)
    };
    for one in &mut tensors {
        let passed = one.strides.iter().map(value_of);
        let actual = one.tensor.strides.iter().map(|stride| Some(i128::from(*stride)));
        let is_passed = passed.eq(actual.take(one.strides.len()));
        if !is_passed || one.tensor.strides.iter().any(|stride| *stride <= 0) {
            one.strides.clear();
        }
    }
    tensors
}

/// The tensor that a stride's name is about: `stride_xm` is one of `x_ptr`, `input_row_stride` one of `input`.
fn find_owner(stride: &str, tensors: &[String]) -> Option<usize> {
    let lower = stride.to_lowercase().replace("strides", "").replace("stride", "");
    let rest = lower.trim_matches('_');
    let stems: Vec<String> = tensors.iter().map(|name| find_stem(name)).collect();
    let named = stems.iter().enumerate();
    let named = named.filter(|(_, stem)| !stem.is_empty() && rest.starts_with(stem.as_str()));
    if let Some((nth, _)) = named.max_by_key(|(_, stem)| stem.len()) {
        return Some(nth);
    }
    let initial = rest.chars().next()?;
    let mut alike = stems
        .iter()
        .enumerate()
        .filter(|(_, stem)| stem.starts_with(initial));
    match (alike.next(), alike.next()) {
        (Some((nth, _)), None) => Some(nth),
        _ => None,
    }
}

/// The name of a tensor without a suffix for pointers.
fn find_stem(name: &str) -> String {
    let lower = name.to_lowercase();
    let parts = lower
        .split('_')
        .filter(|part| !matches!(*part, "ptr" | "ptrs" | "pointer" | "p"));
    let stem = parts.collect::<Vec<_>>().join("_");
    stem.strip_suffix("ptr").unwrap_or(&stem).to_owned()
}

/// The launch with gaps in each dimension of a tensor whose stride it passes, and in the same dimensions of some others.
fn spread(
    plain: &Case,
    launch: &Launch,
    (strided, group): (&Strided, &[&Strided]),
    is_unused: &impl Fn(&str) -> bool,
) -> Option<Case> {
    let old = &strided.tensor;
    let last = old.shape.len().checked_sub(1)?;
    let is_kept = |at: usize| {
        let name = strided.strides.get(at);
        name.is_none_or(|name| at == last && is_unused(name))
    };
    let mut strides = old.strides.clone();
    let mut span = 1_i64;
    let dims = strides.iter_mut().zip(old.shape.iter()).enumerate();
    for (at, (stride, extent)) in dims.rev() {
        if !is_kept(at) {
            let gap = i64::try_from(old.shape.len() - at).ok()?;
            *stride = span.checked_add(2 * gap - 1)?;
        }
        span = extent.checked_sub(1)?.checked_mul(*stride)?.checked_add(span)?;
    }
    if strides == old.strides || !(1..=MAX_SPAN).contains(&span) {
        return None;
    }
    let all = || std::iter::once(strided).chain(group.iter().copied());
    let mut storages = Storages::new();
    for (id, storage) in plain.storages.iter() {
        if storage.is_sparse() {
            return None;
        }
        let now = storage.bytes().len() as u64;
        let needed = all().filter(|one| one.tensor.storage == id).map(|one| {
            let elements = u64::try_from(span.checked_add(one.tensor.offset)?).ok()?;
            elements.checked_mul(u64::try_from(one.tensor.element_size()).ok()?)
        });
        let needed: Option<Vec<u64>> = needed.collect();
        let size = needed?.into_iter().fold(now, u64::max);
        storages.add(storage.name(), size).ok()?;
    }
    let mut changed = launch.clone();
    for one in all() {
        for (name, stride) in one.strides.iter().zip(strides.iter()) {
            set_integer(&mut changed, name, *stride);
        }
    }
    let keyword = changed.keyword.iter_mut().map(|(_, arg)| arg);
    for arg in changed.positional.iter_mut().chain(keyword) {
        if let ArgValue::Tensor { tensor, .. } = &mut arg.value
            && all().any(|one| one.tensor == *tensor)
        {
            tensor.strides.clone_from(&strides);
        }
    }
    let launches = vec![changed];
    Some(Case {
        launches,
        storages,
        ..plain.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stride: &str, tensors: &[&str], expected: Option<usize>) {
        let tensors: Vec<String> = tensors.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(find_owner(stride, &tensors), expected, "{stride}");
    }

    #[test]
    fn strides_belong_to_tensors_by_name() {
        check("stride_am", &["a_ptr", "b_ptr", "c_ptr"], Some(0));
        check("stride_cn", &["A", "B", "C"], Some(2));
        check(
            "output_grad_batch_stride",
            &["output_pointer", "output_grad_pointer"],
            Some(1),
        );
        check(
            "output_batch_stride",
            &["output_pointer", "output_grad_pointer"],
            Some(0),
        );
        check("stride_om", &["q_ptr", "out_ptr"], Some(1));
        // Either may be meant.
        check("stride_om", &["out_ptr", "offsets_ptr"], None);
        check("stride_row", &["x_ptr", "y_ptr"], None);
    }
}
