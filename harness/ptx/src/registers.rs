//! The registers that each step of a kernel accesses, read off its operands. See [`crate::product`] for their use.

use rustc_hash::FxHashMap;

use crate::kernel::StepRegisters;
use crate::op::Slot;
use crate::syntax::{Base, Module, Operand};

/// Lists the registers of each step. Those of `wgmma` are left to [`crate::product`]. `origins`: for each step, its function
/// and its instruction there.
pub(crate) fn list_registers(
    module: &Module,
    origins: &[(u32, u32)],
    first_registers: &FxHashMap<u32, Slot>,
) -> Vec<StepRegisters> {
    let list = |&(function, at): &(u32, u32)| {
        let mut all = StepRegisters::new();
        let body = module.functions.get(function as usize).map(|of| &of.body);
        let instruction = body.and_then(|body| body.get(at as usize));
        let first = first_registers.get(&function);
        let (Some(instruction), Some(&first)) = (instruction, first) else {
            return all;
        };
        let name = instruction.opcode.first().map_or("", |name| &**name);
        if name == "wgmma" {
            return all;
        }
        let has_result = !matches!(name, "st" | "red" | "bar" | "barrier" | "cp" | "stmatrix" | "brx");
        for (nth, operand) in instruction.operands.iter().enumerate() {
            let writes = nth == 0 && has_result;
            visit_registers(operand, &mut |number, in_address| {
                all.push((first.saturating_add(number), writes && !in_address));
            });
        }
        all
    };
    origins.iter().map(list).collect()
}

/// Visits the registers of an operand, and whether they are in an address.
fn visit_registers(operand: &Operand, visit: &mut impl FnMut(u32, bool)) {
    match operand {
        Operand::Register(number) => visit(*number, false),
        Operand::Vector(all) | Operand::List(all) => {
            for operand in all {
                visit_registers(operand, visit);
            }
        }
        Operand::Two(first, second) => {
            visit_registers(first, visit);
            visit_registers(second, visit);
        }
        Operand::Address(Base::Register(number), _) => visit(*number, true),
        Operand::Coordinates(base, _, all) => {
            if let Base::Register(number) = base {
                visit(*number, true);
            }
            for operand in all {
                visit_registers(operand, visit);
            }
        }
        _ => {}
    }
}
