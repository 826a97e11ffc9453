//! Runs a case with quirks: it launches kernels with an engine's errors, on copies of storages in the host's memory, as Triton's
//! interpreter makes them. A copy has its original's guard zones around it, and zeros beyond them, so that an access outside of a
//! storage reads the same as in the interpreter.

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use cerith_accept::{Acceptance, AcceptanceMap, Accepted};
use cerith_case::{ArgValue, Case, Launch};
use cerith_interp::{Checks, Config, InternalError, LaunchOutcome, Numerics, ParamValue};
use cerith_memory::{Memory, ORIGIN, StorageId, Storages, Tensor};
use cerith_quirk::Alternative;
use cerith_tile::quirk::signature::Form;
use cerith_tile::quirk::{Quirk, Quirks};
use cerith_tile::rules::Rules;

use crate::clears::clear_before;
use crate::engine::Failure;
use crate::reference::{Kernel, Reference, build_arguments, to_failure};

/// Warps of a launch that asks for none in particular.
const DEFAULT_WARPS: i128 = 4;

const LANES_PER_WARP: usize = 32;

/// Zeros on either side of a copy.
const SLACK: usize = 4096;

/// The content of a copy.
#[derive(Clone, Debug)]
enum Content {
    /// A storage, as it is.
    Whole,
    /// The elements of one argument: where they are in the storage, and where in the copy.
    Elements { in_storage: Tensor, in_copy: Tensor },
}

/// A copy in the host's memory.
#[derive(Clone, Debug)]
struct Copied {
    origin: StorageId,
    /// The first byte of the content.
    start: usize,
    content: Content,
}

/// The host's memory.
#[derive(Clone, Debug)]
struct Host {
    memory: Memory,
    /// The storages in it, by number.
    copies: Vec<Copied>,
}

impl Host {
    /// Copies of this, of so many bytes each.
    fn new(device: &Memory, copies: Vec<(StorageId, usize, Content)>) -> Option<Self> {
        let mut storages = Storages::new();
        let mut placed = Vec::with_capacity(copies.len());
        for (origin, bytes, content) in copies {
            let (front, back) = device.guards(origin);
            let start = SLACK + front.len();
            let id = storages
                .add(device.name(origin), (start + bytes + back.len() + SLACK) as u64)
                .ok()?;
            let zeros = [0; SLACK];
            storages.write(id, 0, &zeros);
            storages.write(id, SLACK, front);
            storages.write(id, start + bytes, back);
            storages.write(id, start + bytes + back.len(), &zeros);
            placed.push(Copied {
                origin,
                start,
                content,
            });
        }
        let mut memory = Memory::new(&storages, Vec::new());
        for (id, copy) in memory.ids().zip(&placed) {
            let (bytes, states) = memory.parts_mut(id);
            let (from, known) = (device.bytes(copy.origin), device.states(copy.origin));
            for (there, here, size) in copy.list_pieces(from.len()) {
                bytes
                    .get_mut(here..here + size)?
                    .copy_from_slice(from.get(there..there + size)?);
                states
                    .get_mut(here..here + size)?
                    .copy_from_slice(known.get(there..there + size)?);
            }
        }
        Some(Self {
            memory,
            copies: placed,
        })
    }

    /// A copy of every storage.
    fn of_storages(device: &Memory) -> Option<Self> {
        let all = device.ids().map(|id| (id, device.size(id), Content::Whole));
        Self::new(device, all.collect())
    }

    /// A copy of every argument that is a tensor, in the order in which they are given.
    fn of_arguments(device: &Memory, launch: &Launch) -> Option<Self> {
        let mut all = Vec::new();
        for (_, arg) in launch.arguments() {
            match &arg.value {
                ArgValue::Tensor { tensor, .. } => {
                    let here = Tensor {
                        storage: StorageId(u32::try_from(all.len()).ok()?),
                        strides: tensor.preserved_strides(),
                        offset: 0,
                        ..tensor.clone()
                    };
                    let there = tensor.clone();
                    let bytes = usize::try_from(tensor.numel()).ok()? * tensor.element_size();
                    all.push((
                        tensor.storage,
                        bytes,
                        Content::Elements {
                            in_storage: there,
                            in_copy: here,
                        },
                    ));
                }
                ArgValue::Descriptor(_) | ArgValue::Tuple(_) | ArgValue::NamedTuple { .. } => return None,
                _ => {}
            }
        }
        Self::new(device, all)
    }

    /// Copies a kernel's writes back to their storages, each copy over those before it. Writes into guard zones are kept apart,
    /// by their place in the arena. `None` if torch refuses the copy: it looks for strides of 0 only.
    fn write_back(&self, device: &mut Memory, strays: &mut Vec<(usize, u8)>) -> Option<()> {
        for (id, copy) in self.memory.ids().zip(&self.copies) {
            let (bytes, states) = (self.memory.bytes(id), self.memory.states(id));
            let whole = device.size(copy.origin);
            if let Content::Elements {
                in_storage: there, ..
            } = &copy.content
                && there
                    .shape
                    .iter()
                    .zip(&there.strides)
                    .any(|(&n, &stride)| n > 1 && stride == 0)
            {
                return None;
            }
            let (to, known) = device.parts_mut(copy.origin);
            let mut length = 0;
            for (there, here, size) in copy.list_pieces(whole) {
                to.get_mut(there..there + size)?
                    .copy_from_slice(bytes.get(here..here + size)?);
                known
                    .get_mut(there..there + size)?
                    .copy_from_slice(states.get(here..here + size)?);
                length += size;
            }
            let start = usize::try_from(device.address(copy.origin).checked_sub(ORIGIN)?).ok()?;
            let (front, back) = device.guards(copy.origin);
            let zones = [
                (start.checked_sub(front.len())?, copy.start - front.len(), front),
                (start + whole, copy.start + length, back),
            ];
            for (there, here, zone) in zones {
                let now = bytes.get(here..here + zone.len())?;
                let changed = zone
                    .iter()
                    .zip(now)
                    .enumerate()
                    .filter(|(_, (old, now))| old != now);
                strays.extend(changed.map(|(at, (_, &now))| (there + at, now)));
            }
        }
        Some(())
    }

    /// Finds the origin of a storage's byte: the copy that is written back last, and the byte in it.
    fn find(&self, device: &Memory, storage: StorageId, byte: usize) -> Option<(StorageId, usize)> {
        let copies = self.memory.ids().zip(&self.copies).collect::<Vec<_>>();
        copies
            .into_iter()
            .rev()
            .filter(|(_, copy)| copy.origin == storage)
            .find_map(|(id, copy)| {
                let pieces = copy.list_pieces(device.size(storage));
                let (there, here, _) = pieces
                    .into_iter()
                    .rev()
                    .find(|&(there, _, size)| (there..there + size).contains(&byte))?;
                Some((id, here + byte - there))
            })
    }

    /// Converts arguments to this memory.
    fn place_arguments(
        &self,
        args: Vec<ParamValue>,
        launch: &Launch,
        kernel: &Kernel,
        device: &Memory,
    ) -> Option<Vec<ParamValue>> {
        // Which of the launch's tensors each parameter is.
        let tensors: Vec<Option<&str>> = launch
            .arguments()
            .filter(|(_, arg)| matches!(arg.value, ArgValue::Tensor { .. }))
            .map(|(name, _)| name)
            .collect();
        let bindings = &kernel.traced.bindings;
        args.into_iter()
            .zip(bindings)
            .map(|(arg, binding)| {
                let ParamValue::Pointer {
                    address,
                    storage: Some(origin),
                    name,
                    tensor: _,
                } = arg
                else {
                    return Some(arg);
                };
                let at = self
                    .copies
                    .iter()
                    .enumerate()
                    .position(|(nth, copy)| match copy.content {
                        Content::Whole => copy.origin == origin,
                        Content::Elements { .. } => tensors.get(nth) == Some(&Some(binding.name.as_str())),
                    })?;
                let copy = self.copies.get(at)?;
                let id = StorageId(u32::try_from(at).ok()?);
                let within = match copy.content {
                    Content::Whole => address.wrapping_sub(device.address(origin)),
                    Content::Elements { .. } => 0,
                };
                Some(ParamValue::Pointer {
                    address: self.memory.address(id) + copy.start as u64 + within,
                    storage: Some(id),
                    name,
                    tensor: None,
                })
            })
            .collect()
    }
}

impl Copied {
    /// Runs of bytes: where they begin in the origin, where in the copy, and how many.
    fn list_pieces(&self, whole: usize) -> Vec<(usize, usize, usize)> {
        match &self.content {
            Content::Whole => vec![(0, self.start, whole)],
            Content::Elements {
                in_storage: there,
                in_copy: here,
            } => {
                let size = here.element_size();
                there
                    .element_starts()
                    .zip(here.element_starts())
                    .map(|(there, here)| (there, self.start + here, size))
                    .collect()
            }
        }
    }
}

/// The execution of a case with quirks. Two sets of quirks may lead to the same execution.
#[derive(Clone)]
pub struct Following<'a> {
    reference: &'a Reference,
    case: &'a Case,
    kernels: Vec<Arc<Kernel>>,
    /// Whether each argument is copied by itself.
    copies_apart: bool,
}

impl PartialEq for Following<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&Arc<Kernel>, &Arc<Kernel>)| Arc::ptr_eq(one, other);
        std::ptr::eq(self.case, other.case)
            && self.copies_apart == other.copies_apart
            && self.kernels.len() == other.kernels.len()
            && self.kernels.iter().zip(&other.kernels).all(same)
    }
}

impl std::fmt::Debug for Following<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following")
            .field("case", &self.case.id)
            .field("apart", &self.copies_apart)
            .finish_non_exhaustive()
    }
}

impl<'a> Following<'a> {
    /// Executes the case, with all programs or only one, and with these numerics. `None` if the launches do not finish, or if
    /// copies cannot be made.
    pub fn execute(self, only: Option<u64>, numerics: Numerics) -> Result<Option<Followed<'a>>, Failure> {
        let mut device = self.case.memory();
        let config = Config {
            only_program: only,
            numerics,
            ..self.config()
        };
        // Copies are made with the guard zones that there were at first.
        let mut strays = Vec::new();
        for (nth, (launch, kernel)) in self.case.launches.iter().zip(&self.kernels).enumerate() {
            clear_before(self.case, nth, &kernel.traced.clears, &mut device);
            let host = self.build_host(&device, launch);
            let args = build_arguments(launch, kernel, &device)?;
            let placed = host
                .as_ref()
                .and_then(|host| host.place_arguments(args, launch, kernel, &device));
            let (Some(mut host), Some(args)) = (host, placed) else {
                return Ok(None);
            };
            let outcome = kernel
                .program()
                .launch(launch.grid, &args, &mut host.memory, &config)
                .map_err(|error| wrap_error(launch, error))?;
            if !matches!(outcome, LaunchOutcome::Finished(_))
                || host.write_back(&mut device, &mut strays).is_none()
            {
                return Ok(None);
            }
        }
        let (arena, _) = device.arena_mut();
        for (at, byte) in strays {
            if let Some(to) = arena.get_mut(at) {
                *to = byte;
            }
        }
        Ok(Some(Followed {
            memory: device,
            following: self,
            only_program: only,
            accepted: OnceCell::new(),
        }))
    }

    /// Executes the case with intervals. Returns them with the host's memory that they apply to.
    fn accepts(&self, only: Option<u64>) -> Result<Option<(AcceptanceMap, Host)>, Failure> {
        let clears = self.kernels.iter().any(|kernel| !kernel.traced.clears.is_empty());
        if clears {
            return Ok(None);
        }
        let device = self.case.memory();
        let host = match self.case.launches.as_slice() {
            [launch] => self.build_host(&device, launch),
            _ if self.copies_apart => None,
            _ => Host::of_storages(&device),
        };
        let Some(mut host) = host else {
            return Ok(None);
        };
        let mut map = AcceptanceMap::default();
        let config = Config {
            only_program: only,
            ..self.config()
        };
        for (launch, kernel) in self.case.launches.iter().zip(&self.kernels) {
            let args = build_arguments(launch, kernel, &device)?;
            let Some(args) = host.place_arguments(args, launch, kernel, &device) else {
                return Ok(None);
            };
            let accepted = cerith_accept::accept(
                kernel.program(),
                launch.grid,
                &args,
                &mut host.memory,
                &mut map,
                &config,
            )
            .map_err(|error| wrap_error(launch, error))?;
            if accepted != Acceptance::Known {
                return Ok(None);
            }
        }
        Ok(Some((map, host)))
    }

    fn build_host(&self, device: &Memory, launch: &Launch) -> Option<Host> {
        if self.copies_apart {
            Host::of_arguments(device, launch)
        } else {
            Host::of_storages(device)
        }
    }

    /// The interpreter's configuration, with only the checks that stop it.
    fn config(&self) -> Config<'a> {
        Config {
            checks: Checks::Fast,
            masked_zero: true,
            device_asserts: false,
            unaligned: true,
            ..self.reference.config(self.case)
        }
    }
}

fn wrap_error(launch: &Launch, error: InternalError) -> Failure {
    to_failure(format!("run `{}` with quirks", launch.kernel.name), error)
}

/// The result of executing a case with quirks.
#[derive(Debug)]
pub struct Followed<'a> {
    /// The memory, laid out as the case's.
    pub memory: Memory,
    following: Following<'a>,
    only_program: Option<u64>,
    /// Computed on first use, with the host's memory that it applies to; `None` if each launch has its own memory.
    accepted: OnceCell<Option<(AcceptanceMap, Host)>>,
}

impl Followed<'_> {
    /// The values that an implementation with the same quirks may leave in an element, and the element's first byte.
    pub fn find_accepted(&self, storage: StorageId, byte: usize) -> (usize, Accepted) {
        let accepted = self
            .accepted
            .get_or_init(|| self.following.accepts(self.only_program).ok().flatten());
        let here = accepted
            .as_ref()
            .and_then(|(map, host)| Some((map, host.find(&self.memory, storage, byte)?)));
        let Some((map, (copy, at))) = here else {
            return (byte, Accepted::Exact);
        };
        let (first, accepted) = map.accepted_at(copy, at);
        ((byte + first).saturating_sub(at), accepted)
    }
}

impl Reference {
    /// Those of some quirks that may change something about a case, each by itself, where the rules' quirks are followed. No other
    /// does; most of these do.
    pub fn find_relevant_quirks(&self, case: &Case, rules: Rules, quirks: Quirks) -> Quirks {
        let apart = case.launches.iter().any(is_copied_apart);
        let apart = apart.then_some(Quirk::ArgumentsAreCopiedApart);
        let asked = case.launches.iter().map(|launch| self.find_quirks(launch, rules));
        let asked = asked.fold(apart.into_iter().collect(), Quirks::union);
        let others = quirks
            .intersect(asked)
            .iter()
            .filter(|&quirk| !rules.has_quirk(quirk));
        others.collect()
    }

    /// Those of some quirks that change something about a case, each by itself, where the rules' quirks are followed.
    pub fn find_touching(&self, case: &Case, rules: Rules, quirks: Quirks) -> Quirks {
        let kernels = |rules| {
            let of = case
                .launches
                .iter()
                .map(|launch| self.rewrite_launch(launch, rules));
            of.collect::<Vec<_>>()
        };
        let unchanged = kernels(rules);
        let touches = |quirk| {
            quirk == Quirk::ArgumentsAreCopiedApart
                || kernels(rules.with_quirks(rules.quirks.with_quirk(quirk))) != unchanged
        };
        let asked = self.find_relevant_quirks(case, rules, quirks);
        asked.iter().filter(|&quirk| touches(quirk)).collect()
    }

    /// Lists the language functions that a case's kernels use, each with the dtype that it is used on.
    pub fn list_uses(&self, case: &Case, rules: Rules) -> Result<Vec<String>, Failure> {
        let mut used = Vec::new();
        for launch in &case.launches {
            if let Ok(kernel) = self.trace_kernel(launch, rules)? {
                used.extend(kernel.traced.uses.iter().map(|one| match one.dtype {
                    Some(dtype) => format!("{} {dtype}", one.name),
                    None => one.name.clone(),
                }));
            }
        }
        Ok(used)
    }

    /// Which operations a case's kernels execute, by their names in printed IR, each with the dtype that it works on.
    pub fn list_executed(&self, case: &Case, rules: Rules) -> Result<Vec<String>, Failure> {
        let mut executed = BTreeSet::new();
        for launch in &case.launches {
            if let Ok(kernel) = self.trace_kernel(launch, rules)? {
                let operations = kernel.traced.function.executed();
                executed.extend(operations.into_iter().map(|(name, dtype)| match dtype {
                    Some(dtype) => format!("{name} {dtype}"),
                    None => name.into_owned(),
                }));
            }
        }
        Ok(executed.into_iter().collect())
    }

    /// Whether programs of a case's launches may share the address of an atomic operation.
    pub fn has_atomics(&self, case: &Case, rules: Rules) -> Result<bool, Failure> {
        let executed = self.list_executed(case, rules)?;
        Ok(executed.iter().any(|name| name.starts_with("atomic")))
    }

    /// The alternatives of a form's model for a case's kernels.
    pub fn list_alternatives(
        &self,
        case: &Case,
        rules: Rules,
        form: Form,
    ) -> Result<Vec<Alternative>, Failure> {
        let mut alternatives = Vec::new();
        for launch in &case.launches {
            if let Ok(kernel) = self.trace_kernel(launch, rules)? {
                let function = &kernel.traced.function;
                for one in cerith_quirk::list_alternatives(function, form, count_lanes(launch), rules.version)
                {
                    if !alternatives.contains(&one) {
                        alternatives.push(one);
                    }
                }
            }
        }
        Ok(alternatives)
    }

    /// The memory that a case leaves if the operations of a form have no values: the bytes that depend on them are poison. `None` if there are
    /// no such operations, or if the launches don't finish without their values.
    pub fn find_dependents(&self, case: &Case, rules: Rules, form: Form) -> Result<Option<Memory>, Failure> {
        let Some(plain) = self.prepare_following(case, rules)? else {
            return Ok(None);
        };
        let mut kernels = Vec::with_capacity(plain.kernels.len());
        let mut changed = false;
        for (launch, kernel) in case.launches.iter().zip(&plain.kernels) {
            let function = &kernel.traced.function;
            kernels.push(
                match cerith_quirk::without_values(function, form, count_lanes(launch)) {
                    Some(function) => {
                        changed = true;
                        Arc::new(kernel.with_function(function)?)
                    }
                    None => Arc::clone(kernel),
                },
            );
        }
        if !changed {
            return Ok(None);
        }
        let followed = Following { kernels, ..plain }.execute(None, Numerics::Own)?;
        Ok(followed.map(|followed| followed.memory))
    }

    /// The executions of a case under an alternative, one for each copy of a result that may be used. Empty if a kernel is
    /// refused, or if memory or arguments hold addresses.
    pub fn following_alternative<'a>(
        &'a self,
        case: &'a Case,
        rules: Rules,
        form: Form,
        alternative: &Alternative,
    ) -> Result<Vec<Following<'a>>, Failure> {
        let Some(plain) = self.prepare_following(case, rules)? else {
            return Ok(Vec::new());
        };
        let mut by_launch = Vec::with_capacity(case.launches.len());
        for (launch, kernel) in case.launches.iter().zip(&plain.kernels) {
            let function = &kernel.traced.function;
            let mut copies = Vec::new();
            for function in cerith_quirk::follow_alternative(function, form, count_lanes(launch), alternative)
            {
                copies.push(Arc::new(kernel.with_function(function)?));
            }
            by_launch.push(copies);
        }
        let most = by_launch.iter().map(Vec::len).max().unwrap_or(0);
        let of_copy = |copy: usize| {
            let launches = plain.kernels.iter().zip(&by_launch);
            let kernels = launches.map(|(plain, copies)| {
                let rewritten = (!copies.is_empty()).then(|| copies.get(copy % copies.len()));
                Arc::clone(rewritten.flatten().unwrap_or(plain))
            });
            Following {
                kernels: kernels.collect(),
                ..plain.clone()
            }
        };
        Ok((0..most).map(of_copy).collect())
    }

    /// The execution of a case with the rules' quirks; `None` if a kernel is refused, or if memory or arguments hold addresses,
    /// which copies cannot follow.
    pub fn prepare_following<'a>(
        &'a self,
        case: &'a Case,
        rules: Rules,
    ) -> Result<Option<Following<'a>>, Failure> {
        let memory = case.memory();
        let addresses = memory.ids().any(|id| !memory.pointers(id).is_empty()) || case.passes_addresses();
        if addresses || memory.has_sparse() {
            return Ok(None);
        }
        let kernels = self.trace_kernels(case, rules)?;
        Ok(kernels.map(|kernels| Following {
            reference: self,
            case,
            kernels,
            copies_apart: rules.has_quirk(Quirk::ArgumentsAreCopiedApart),
        }))
    }
}

/// The number of lanes that execute a launch's program.
fn count_lanes(launch: &Launch) -> usize {
    let warps = launch.int_option("num_warps").unwrap_or(DEFAULT_WARPS);
    usize::try_from(warps).unwrap_or(0).saturating_mul(LANES_PER_WARP)
}

/// Whether copying each argument by itself may change what a launch does.
fn is_copied_apart(launch: &Launch) -> bool {
    let tensors: Vec<&Tensor> = launch
        .arguments()
        .filter_map(|(_, arg)| match &arg.value {
            ArgValue::Tensor { tensor, .. } => Some(tensor),
            _ => None,
        })
        .collect();
    let strided = tensors
        .iter()
        .any(|tensor| tensor.preserved_strides() != tensor.strides);
    let shared = tensors.iter().enumerate().any(|(nth, one)| {
        tensors
            .iter()
            .skip(nth + 1)
            .any(|other| one.storage == other.storage)
    });
    strided || shared || tensors.iter().any(|tensor| tensor.offset != 0)
}
