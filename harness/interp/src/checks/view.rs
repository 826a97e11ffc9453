//! Accesses that stay inside their storage but leave the tensor that the pointer was passed as: a store to a neighbour of a
//! slice, a load of the padding after a row. They are defined, so this is a warning, and only on request
//! ([`crate::Config::leaving`]).
//!
//! A pointer may reach these elements without a warning: those of its tensor, and those of every other tensor of the launch
//! that shares a byte with it. A tensor is not checked if the launch passes a number named `…stride…` that leads out of it
//! and is not one of its own strides: such a kernel gets a view's address and continues from there (`x[0]` with
//! `x.stride(0)`).
//!
//! Not checked: pointers that were loaded from memory or made from numbers, and strides that are constants of the kernel.

use cerith_memory::element_text::{describe_beyond, describe_last};
use cerith_memory::overlap::{ByteRanges, find_covered_bytes};
use cerith_memory::{Memory, Tensor};
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::ir::Function;

use super::{Access, Home, Site, describe_bytes, place_at_address, storage_at};
use crate::config::ParamValue;
use crate::outcome::TrapKind;
use crate::run::Run;

/// The code of the warning.
pub(crate) const OUTSIDE_TENSOR: &str = "outside-tensor";

/// For each parameter, the bytes of its storage that it may access without a warning; `None` if there is no check.
#[derive(Debug)]
pub(crate) struct Views(Vec<Vec<ByteRanges>>);

impl Views {
    /// The views of a launch.
    pub(crate) fn new(function: &Function, args: &[ParamValue], memory: &Memory) -> Self {
        let passed: Vec<Option<(&Tensor, ByteRanges)>> = args
            .iter()
            .map(|arg| match arg {
                ParamValue::Pointer {
                    storage,
                    tensor: Some(tensor),
                    ..
                } if *storage == Some(tensor.storage) => Some((tensor, find_covered_bytes(tensor)?)),
                _ => None,
            })
            .collect();
        let strides: Vec<u64> = function
            .params
            .iter()
            .zip(args)
            .filter(|(param, _)| param.name.contains("stride"))
            .filter_map(|(_, arg)| match arg {
                ParamValue::Number(bits) => Some(*bits),
                ParamValue::Pointer { .. } => None,
            })
            .collect();
        let views = passed.iter().map(|one| {
            let Some((tensor, own)) = one else {
                return Vec::new();
            };
            if own.len() == memory.size(tensor.storage) as u64 || leads_out(&strides, tensor) {
                return Vec::new();
            }
            let others = passed
                .iter()
                .flatten()
                .filter(|(other, bytes)| other.storage == tensor.storage && !bytes.intersect(own).is_empty());
            let mut reached = vec![own.clone()];
            reached.extend(
                others
                    .map(|(_, bytes)| bytes.clone())
                    .filter(|bytes| bytes != own),
            );
            reached
        });
        Self(views.collect())
    }

    /// The first lane that leaves the tensor of a parameter, and where in the storage it goes.
    pub(crate) fn find_outside_lane(
        &self,
        parameter: u32,
        home: &Home,
        memory: &Memory,
        runs: &[Run],
        size: usize,
    ) -> Option<(usize, i64)> {
        let reached = self
            .0
            .get(parameter as usize)
            .filter(|reached| !reached.is_empty())?;
        let start = memory.address(home.storage);
        let outside = |byte: i64| !reached.iter().any(|bytes| bytes.contains(byte));
        runs.iter().find_map(|run| {
            (0..run.count).find_map(|nth| {
                let byte = run.address(nth).wrapping_sub(start) as i64;
                let end = byte.saturating_add(size as i64 - 1);
                (outside(byte) || outside(end)).then_some((run.lane + nth, byte))
            })
        })
    }
}

/// Whether one of the strides leads from a tensor's first element past its last, and is not a stride of it.
fn leads_out(strides: &[u64], tensor: &Tensor) -> bool {
    let size = tensor.element_size() as i64;
    let (first, end) = tensor.byte_range().unwrap_or_default();
    let reach = (end.saturating_sub(first) / size).max(1) as u64;
    let own = |stride: u64| tensor.strides.iter().any(|&own| own as u64 == stride);
    strides.iter().any(|&stride| stride >= reach && !own(stride))
}

/// The warning.
#[cold]
pub(crate) fn build_warning(
    site: Site<'_>,
    memory: &Memory,
    home: &Home,
    access: Access,
    (lane, byte): (usize, i64),
    size: usize,
) -> Diagnostic {
    let (name, tensor) = home.named_tensor().unzip();
    let name = name.unwrap_or_default();
    let beyond = tensor.and_then(|tensor| describe_beyond(name, tensor, byte));
    let beyond = beyond.map_or(String::new(), |beyond| format!(", {beyond}"));
    let message = format!(
        "{} of {} inside of storage `{}` and outside of tensor `{name}`{beyond}",
        access.name(),
        describe_bytes(size as u64),
        memory.name(home.storage),
    );
    let address = memory.address(home.storage).wrapping_add_signed(byte);
    let last = tensor.map(|tensor| match describe_last(name, tensor) {
        Some(last) => format!("the last element of `{name}` is `{last}`"),
        None => format!("`{name}` has no elements"),
    });
    let mut diagnostic = site
        .build_warning(TrapKind::OutOfBounds, Some(lane), message)
        .about_storages(
            [memory.name(home.storage)]
                .into_iter()
                .chain(storage_at(memory, address)),
        )
        .note(format!("it is {}", place_at_address(memory, address)));
    if let Some(last) = last {
        diagnostic = diagnostic.note(last);
    }
    diagnostic.code = OUTSIDE_TENSOR;
    diagnostic.help("look at the strides and the mask, or pass the tensor that the kernel means to reach")
}
