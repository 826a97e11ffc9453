//! Links a kernel: decodes the functions that it reaches, with one numbering of registers and one memory layout. See
//! [`crate::decode`] for instructions.
//!
//! Triton's compiler emits no recursion, so each function has one set of registers and one location for its variables
//! in a thread's own memory. A recursive call is unsupported.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::decode;
use crate::kernel::{Kernel, LinkError, MODULE_WINDOW, PARAMETER_WINDOW, Parameter, Preset};
use crate::op::{Address, Flag, Foreign, Op, PassedBytes, Slot, Step};
use crate::registers;
use crate::syntax::{Function, Initial, Module, Operand, Role, Space, Special, Variable, VariableId};

/// Maximum bytes of a thread's own memory: the PTX ISA's limit of local memory.
const MOST_PRIVATE: u64 = 512 << 10;
/// Maximum bytes of a module's variables.
const MOST_GLOBALS: u64 = 64 << 20;
/// Maximum bytes of parameters.
const MOST_PARAMETERS: u64 = 32 << 10;

impl Kernel {
    /// Decodes a kernel of a module and the functions that it calls.
    ///
    /// # Errors
    /// There is no such kernel, it has an unsupported instruction, or its variables are too large.
    pub fn new(module: &Arc<Module>, name: &str) -> Result<Self, LinkError> {
        let at = module
            .functions
            .iter()
            .position(|function| function.entry && function.defined && function.name == name)
            .ok_or_else(|| LinkError::NoKernel(name.to_owned()))?;
        let mut linker = Linker::new(module)?;
        linker.link_functions(at as u32)?;
        linker.patch();
        if linker.private > MOST_PRIVATE {
            return Err(LinkError::TooLarge {
                item: "a thread's own memory",
                bytes: linker.private,
                limit: MOST_PRIVATE,
            });
        }
        let entry = module.functions.get(at);
        let (parameters, parameter_bytes) = entry.map(place_parameters).unwrap_or_default();
        if parameter_bytes > MOST_PARAMETERS {
            return Err(LinkError::TooLarge {
                item: "a kernel's parameters",
                bytes: parameter_bytes,
                limit: MOST_PARAMETERS,
            });
        }
        let has_products = linker.steps.iter().any(|step| matches!(step.op, Op::Wgmma(_)));
        let is_asynchronous = has_products
            || linker
                .steps
                .iter()
                .any(|step| matches!(step.op, Op::BulkCopy(_) | Op::TensorCopy(_) | Op::AsyncStore(_)));
        let touched = if has_products {
            registers::list_registers(module, &linker.origins, &linker.first_registers)
        } else {
            Vec::new()
        };
        Ok(Self {
            has_products,
            is_asynchronous,
            touched,
            cluster: entry.and_then(|entry| entry.cluster),
            module: Arc::clone(module),
            name: name.to_owned(),
            steps: linker.steps,
            origins: linker.origins,
            registers: linker.registers as usize,
            predicates: linker.predicates as usize,
            presets: linker.presets,
            parameters,
            private: linker.private,
            shared: linker.shared,
            globals: linker.globals,
        })
    }
}

/// Returns the offsets of parameters, and their total size in bytes.
fn place_parameters(function: &Function) -> (Vec<Parameter>, u64) {
    let mut end = 0u64;
    let mut all = Vec::new();
    for variable in &function.variables {
        if variable.role == Role::Parameter {
            let offset = end.next_multiple_of(u64::from(variable.align.max(1)));
            let size = variable.size.unwrap_or(0);
            end = offset.saturating_add(size);
            all.push(Parameter {
                name: variable.name.clone(),
                offset,
                size,
            });
        }
    }
    (all, end)
}

/// A linked function.
#[derive(Clone, Copy, Debug)]
struct Linked {
    /// Its first step.
    start: u32,
    /// The register with the step that it returns to.
    back: Slot,
}

/// The state while a kernel is linked.
pub(crate) struct Linker<'m> {
    module: &'m Module,
    /// Defined functions of the module, by name.
    defined: FxHashMap<&'m str, u32>,
    steps: Vec<Step>,
    origins: Vec<(u32, u32)>,
    registers: u32,
    predicates: u32,
    presets: Vec<(Slot, Preset)>,
    constants: FxHashMap<u64, Slot>,
    /// Registers with addresses in shared memory, by their offsets.
    shared_addresses: FxHashMap<u64, Slot>,
    specials: FxHashMap<Special, Slot>,
    /// Addresses of the module's variables.
    addresses: Vec<u64>,
    shared: u64,
    globals: Vec<u8>,
    private: u64,
    /// Addresses of the variables of functions.
    places: FxHashMap<u32, Vec<u64>>,
    linked: FxHashMap<u32, Linked>,
    /// The first register of each linked function.
    first_registers: FxHashMap<u32, Slot>,
    /// Functions that are being linked, the innermost last.
    open: Vec<Frame<'m>>,
    /// Calls of functions that are not linked yet: step and function.
    calls: Vec<(u32, u32)>,
    queue: Vec<u32>,
}

/// The function that is being linked.
struct Frame<'m> {
    function: &'m Function,
    first_register: Slot,
    first_predicate: Slot,
    addresses: Vec<u64>,
    back: Slot,
    after: Option<Op>,
}

impl<'m> Linker<'m> {
    fn new(module: &'m Module) -> Result<Self, LinkError> {
        let mut linker = Self {
            module,
            defined: FxHashMap::default(),
            steps: Vec::new(),
            origins: Vec::new(),
            // A register and a predicate that are never read. Predicate 0 always holds.
            registers: 1,
            predicates: 2,
            presets: Vec::new(),
            constants: FxHashMap::default(),
            shared_addresses: FxHashMap::default(),
            specials: FxHashMap::default(),
            addresses: Vec::new(),
            shared: 0,
            globals: Vec::new(),
            private: 0,
            places: FxHashMap::default(),
            linked: FxHashMap::default(),
            first_registers: FxHashMap::default(),
            open: Vec::new(),
            calls: Vec::new(),
            queue: Vec::new(),
        };
        for (number, function) in module.functions.iter().enumerate() {
            if function.defined {
                linker.defined.insert(&function.name, number as u32);
            }
        }
        // Arrays without a length are dynamic shared memory, after all other variables.
        let mut behind = Vec::new();
        for variable in &module.variables {
            let address = match (variable.space, variable.size) {
                (Space::Shared, None) => {
                    behind.push(linker.addresses.len());
                    0
                }
                (Space::Shared, Some(size)) => linker.place_shared(variable, size),
                _ => linker.place_global(variable)?,
            };
            linker.addresses.push(address);
        }
        if !behind.is_empty() {
            linker.shared = linker.shared.next_multiple_of(16);
        }
        for at in behind {
            if let Some(address) = linker.addresses.get_mut(at) {
                *address = linker.shared;
            }
        }
        Ok(linker)
    }

    fn place_shared(&mut self, variable: &Variable, size: u64) -> u64 {
        let at = self.shared.next_multiple_of(u64::from(variable.align.max(1)));
        self.shared = at.saturating_add(size);
        at
    }

    fn place_global(&mut self, variable: &Variable) -> Result<u64, LinkError> {
        let at = (self.globals.len() as u64).next_multiple_of(u64::from(variable.align.max(1)));
        let size = variable.size.unwrap_or(0);
        let end = at.saturating_add(size);
        if end > MOST_GLOBALS {
            return Err(LinkError::TooLarge {
                item: "the module's variables",
                bytes: end,
                limit: MOST_GLOBALS,
            });
        }
        self.globals.resize(end as usize, 0);
        if let (Initial::Bytes(bytes), Some(to)) = (&variable.initial, self.globals.get_mut(at as usize..)) {
            for (to, &byte) in to.iter_mut().zip(bytes) {
                *to = byte;
            }
        }
        Ok(MODULE_WINDOW + at)
    }

    /// Links a function, and then its callees.
    fn link_functions(&mut self, first: u32) -> Result<(), LinkError> {
        self.queue.push(first);
        while let Some(number) = self.queue.pop() {
            if self.linked.contains_key(&number) {
                continue;
            }
            self.link_body(number)?;
        }
        Ok(())
    }

    fn link_body(&mut self, number: u32) -> Result<(), LinkError> {
        let module = self.module;
        let Some(function) = module.functions.get(number as usize) else {
            return Ok(());
        };
        let addresses = self.own_places(number);
        let back = self.new_register();
        let frame = Frame {
            function,
            first_register: self.registers,
            first_predicate: self.predicates,
            addresses,
            back,
            after: None,
        };
        self.first_registers.insert(number, self.registers);
        self.registers = self.registers.saturating_add(function.registers.len() as u32);
        self.predicates = self.predicates.saturating_add(function.predicates);
        self.linked.insert(
            number,
            Linked {
                start: self.steps.len() as u32,
                back,
            },
        );
        self.open.push(frame);
        let first = self.steps.len();
        let mut starts = Vec::with_capacity(function.body.len() + 1);
        for (at, instruction) in function.body.iter().enumerate() {
            starts.push(self.steps.len() as u32);
            let guard = instruction.guard.map_or(Some(Flag::TRUE), |(number, negated)| {
                Some(Flag {
                    slot: self.predicate(number)?,
                    negated,
                })
            });
            let op = decode::decode(self, instruction);
            let (Some(guard), Some(op)) = (guard, op) else {
                let at = self.module.locate_instruction(instruction);
                return Err(LinkError::Unsupported(Box::new(at)));
            };
            let call = matches!(op, Op::Call { .. });
            self.push(guard, op, (number, at as u32));
            if call && let Some(after) = self.open.last_mut().and_then(|frame| frame.after.take()) {
                self.push(Flag::TRUE, after, (number, at as u32));
            }
        }
        starts.push(self.steps.len() as u32);
        let end = self.end();
        self.push(Flag::TRUE, end, (number, function.body.len() as u32));
        for step in self.steps.iter_mut().skip(first) {
            let targets = match &mut step.op {
                Op::Branch { to } => std::slice::from_mut(to),
                Op::BranchTo { targets, .. } => targets,
                _ => continue,
            };
            for to in targets {
                let at = function.labels.get(*to as usize).copied().unwrap_or(u32::MAX);
                *to = starts.get(at as usize).copied().unwrap_or(u32::MAX);
            }
        }
        self.open.pop();
        self.mark_whole_words(first);
        Ok(())
    }

    /// LLVM compiles a 16-bit atomic to a load of the word around it and an atomic at the same address.
    fn mark_whole_words(&mut self, first: usize) {
        let steps = self.steps.get_mut(first..).unwrap_or_default();
        let place = |address: &Address| (address.base, address.offset);
        let words: FxHashSet<(Slot, i64)> = steps
            .iter()
            .filter_map(|step| match &step.op {
                Op::Atomic(atomic) if atomic.bytes == 4 => Some(place(&atomic.address)),
                _ => None,
            })
            .collect();
        for step in steps {
            if let Op::Load(access) = &mut step.op
                && (access.bytes, access.count) == (4, 1)
                && words.contains(&place(&access.address))
            {
                access.whole_word = true;
            }
        }
    }

    fn push(&mut self, guard: Flag, op: Op, origin: (u32, u32)) {
        self.steps.push(Step { guard, op });
        self.origins.push(origin);
    }

    /// Allocates a function's variables in a thread's own memory, or in shared memory.
    fn own_places(&mut self, number: u32) -> Vec<u64> {
        if let Some(places) = self.places.get(&number) {
            return places.clone();
        }
        let Some(function) = self.module.functions.get(number as usize) else {
            return Vec::new();
        };
        let (laid_out, _) = place_parameters(function);
        let mut given = laid_out.iter();
        let mut addresses = Vec::with_capacity(function.variables.len());
        for variable in &function.variables {
            let size = variable.size.unwrap_or(0);
            let address = if variable.role == Role::Parameter && function.entry {
                PARAMETER_WINDOW + given.next().map_or(0, |parameter| parameter.offset)
            } else if variable.space == Space::Shared {
                self.place_shared(variable, size)
            } else {
                let at = self.private.next_multiple_of(u64::from(variable.align.max(1)));
                self.private = at.saturating_add(size);
                at
            };
            addresses.push(address);
        }
        self.places.insert(number, addresses.clone());
        addresses
    }

    /// Patches the calls with the start of each function.
    fn patch(&mut self) {
        for &(step, function) in &self.calls {
            let Some(&linked) = self.linked.get(&function) else {
                continue;
            };
            if let Some(Op::Call { to, back, .. }) =
                self.steps.get_mut(step as usize).map(|step| &mut step.op)
            {
                (*to, *back) = (linked.start, linked.back);
            }
        }
        let always = (0, Preset::Constant(0));
        self.presets.push(always);
    }

    fn new_register(&mut self) -> Slot {
        let slot = self.registers;
        self.registers = self.registers.saturating_add(1);
        slot
    }

    pub(crate) fn register(&self, number: u32) -> Option<Slot> {
        self.open.last().map(|frame| frame.first_register + number)
    }

    pub(crate) fn predicate(&self, number: u32) -> Option<Slot> {
        self.open.last().map(|frame| frame.first_predicate + number)
    }

    /// A register that is never read.
    pub(crate) const SINK: Slot = 0;

    /// A predicate that is never read.
    pub(crate) const FLAG_SINK: Slot = 1;

    pub(crate) fn constant(&mut self, bits: u64) -> Slot {
        if let Some(&slot) = self.constants.get(&bits) {
            return slot;
        }
        let slot = self.new_register();
        self.constants.insert(bits, slot);
        self.presets.push((slot, Preset::Constant(bits)));
        slot
    }

    /// The register with an address in a variable.
    pub(crate) fn address_slot(&mut self, named: VariableId, offset: i64) -> Option<Slot> {
        let address = self.address_of(named)?.wrapping_add_signed(offset);
        if self.variable(named)?.space != Space::Shared {
            return Some(self.constant(address));
        }
        if let Some(&slot) = self.shared_addresses.get(&address) {
            return Some(slot);
        }
        let slot = self.new_register();
        self.shared_addresses.insert(address, slot);
        self.presets.push((slot, Preset::Shared(address)));
        Some(slot)
    }

    pub(crate) fn special(&mut self, special: Special) -> Slot {
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.new_register();
        self.specials.insert(special, slot);
        self.presets.push((slot, Preset::Special(special)));
        slot
    }

    pub(crate) fn variable(&self, named: VariableId) -> Option<&'m Variable> {
        match named {
            VariableId::Module(number) => self.module.variables.get(number as usize),
            VariableId::Own(number) => self.open.last()?.function.variables.get(number as usize),
            VariableId::Function(_) => None,
        }
    }

    pub(crate) fn address_of(&self, named: VariableId) -> Option<u64> {
        match named {
            VariableId::Module(number) => self.addresses.get(number as usize).copied(),
            VariableId::Own(number) => self.open.last()?.addresses.get(number as usize).copied(),
            VariableId::Function(_) => None,
        }
    }

    /// Whether the current function is the kernel.
    pub(crate) fn is_entry(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.function.entry)
    }

    /// Returns the operation that ends the function.
    pub(crate) fn end(&self) -> Op {
        match self.open.last() {
            Some(frame) if !frame.function.entry => Op::Return { back: frame.back },
            _ => Op::Exit,
        }
    }

    /// Returns the offset and size of a call's argument in a thread's own memory.
    fn argument_bytes(&self, operand: &Operand) -> Option<(u32, u32)> {
        let Operand::Symbol(named @ VariableId::Own(_), 0) = *operand else {
            return None;
        };
        let variable = self.variable(named).filter(|of| of.space == Space::Param)?;
        let at = self.address_of(named)?;
        Some((u32::try_from(at).ok()?, u32::try_from(variable.size?).ok()?))
    }

    /// Links a call. Its results are copied after it returns.
    pub(crate) fn call(&mut self, function: u32, results: &[Operand], arguments: &[Operand]) -> Option<Op> {
        let name = &self.module.functions.get(function as usize)?.name;
        let arguments: Vec<(u32, u32)> = arguments
            .iter()
            .map(|operand| self.argument_bytes(operand))
            .collect::<Option<_>>()?;
        let results: Vec<(u32, u32)> = results
            .iter()
            .map(|operand| self.argument_bytes(operand))
            .collect::<Option<_>>()?;
        let Some(&number) = self.defined.get(name.as_str()) else {
            let which = match name.as_str() {
                "vprintf" if arguments.len() == 2 => Foreign::Print,
                "__assertfail" if arguments.len() == 5 => Foreign::Assert,
                _ => return None,
            };
            let mut at = [0; 5];
            for (to, (from, _)) in at.iter_mut().zip(arguments) {
                *to = from;
            }
            return Some(Op::Foreign {
                function: which,
                arguments: at,
                result: results.first().map(|&(at, _)| at),
            });
        };
        // The callee is one of the current callers, so its registers are in use.
        if self.reaches_back(number) {
            return None;
        }
        let callee = self.module.functions.get(number as usize)?;
        let places: Vec<u32> = self.own_places(number).iter().map(|&at| at as u32).collect();
        self.queue.push(number);
        let by_role = |role: Role| {
            callee
                .variables
                .iter()
                .zip(&places)
                .filter(move |(variable, _)| variable.role == role)
                .map(|(variable, &at)| (at, variable.size.unwrap_or(0) as u32))
        };
        let pair = |(from, bytes): (u32, u32), (to, room): (u32, u32)| PassedBytes {
            from,
            to,
            bytes: bytes.min(room),
        };
        let handed: Box<[PassedBytes]> = arguments
            .iter()
            .zip(by_role(Role::Parameter))
            .map(|(&from, to)| pair(from, to))
            .collect();
        let given: Box<[PassedBytes]> = by_role(Role::Result)
            .zip(&results)
            .map(|(from, &to)| pair(from, to))
            .collect();
        self.calls.push((self.steps.len() as u32, number));
        self.open.last_mut()?.after = Some(Op::Back { results: given });
        Some(Op::Call {
            to: 0,
            back: 0,
            arguments: handed,
        })
    }

    /// Returns whether a function calls the current one, directly or indirectly.
    fn reaches_back(&self, number: u32) -> bool {
        let Some(frame) = self.open.last() else {
            return false;
        };
        let mut seen = vec![number];
        let mut at = 0;
        while let Some(&number) = seen.get(at) {
            at += 1;
            let Some(function) = self.module.functions.get(number as usize) else {
                continue;
            };
            if std::ptr::eq(function, frame.function) {
                return true;
            }
            for called in find_callees(function) {
                let name = self
                    .module
                    .functions
                    .get(called as usize)
                    .map(|of| of.name.as_str());
                if let Some(&number) = name.and_then(|name| self.defined.get(name))
                    && !seen.contains(&number)
                {
                    seen.push(number);
                }
            }
        }
        false
    }
}

/// Returns the functions that a function calls.
fn find_callees(function: &Function) -> impl Iterator<Item = u32> {
    let calls = function
        .body
        .iter()
        .filter(|instruction| instruction.opcode.first().is_some_and(|name| &**name == "call"));
    calls.flat_map(|call| {
        call.operands.iter().filter_map(|operand| match operand {
            Operand::Symbol(VariableId::Function(number), _) => Some(*number),
            _ => None,
        })
    })
}
