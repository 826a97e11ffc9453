//! Statistics of a case's compilation: how its kernels are launched, how large their machine code is, and how long compiling
//! took. See [`cerith_toolchain::compiled`] for the machine code itself, and `cerith-report` for the comparison of two versions.

use std::time::Duration;

pub use cerith_toolchain::compiled::Scratch;
use cerith_toolchain::compiled::{Compiled, Metadata, Param, Target};
use object::read::elf::{ElfFile64, SectionHeader};
use object::{Endianness, Object, ObjectSection};

/// Statistics of a case's compilation.
#[derive(Clone, Debug, PartialEq)]
pub struct CompileStats {
    /// For what GPU.
    pub target: Target,
    /// Time in the compiler's process, loading and tuning included, when it was compiled: that may have been in another run.
    pub time: Duration,
    /// The kernels, in the order in which they are first launched.
    pub kernels: Vec<KernelStats>,
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelStats {
    /// The launch settings.
    pub metadata: Metadata,
    /// Parameters, without scratch memory. Constants are not parameters.
    pub params: Vec<Passed>,
    /// The number of launches.
    pub launches: u64,
    /// Bytes of the file that has the machine code.
    pub cubin: u64,
    /// Statistics of the machine code; `None` if the file could not be read.
    pub code: Option<Code>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Passed {
    /// An address.
    Pointer,
    /// A number of so many bytes.
    Number(usize),
    /// A tensor map for the TMA unit.
    TensorMap,
}

/// Figures of machine code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Bytes of instructions.
    pub bytes: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread, which is where registers are spilled to.
    pub stack: u32,
}

impl CompileStats {
    /// Statistics of compiled kernels.
    pub(crate) fn from_compiled(compiled: &Compiled, target: Target, time: Duration) -> Self {
        let kernels = compiled.kernels.iter().enumerate().map(|(index, kernel)| {
            let mut launches = compiled
                .invocations
                .iter()
                .filter(|invocation| invocation.kernel == index);
            let first = launches.next();
            KernelStats {
                metadata: kernel.metadata.clone(),
                params: first.map_or_else(Vec::new, |first| {
                    first.params.iter().map(classify_param).collect()
                }),
                launches: launches.count() as u64 + u64::from(first.is_some()),
                cubin: kernel.cubin.len() as u64,
                code: read_cubin(&kernel.cubin),
            }
        });
        Self {
            target,
            time,
            kernels: kernels.collect(),
        }
    }
}

const fn classify_param(param: &Param) -> Passed {
    match param {
        Param::Address { .. } => Passed::Pointer,
        Param::Bytes(bytes) => Passed::Number(bytes.len()),
        Param::TensorMap(_) => Passed::TensorMap,
    }
}

/// The figures of a cubin, which is an ELF file.
fn read_cubin(cubin: &[u8]) -> Option<Code> {
    let file = ElfFile64::<Endianness>::parse(cubin).ok()?;
    let mut code = Code::default();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        if name.starts_with(".text.") {
            code.bytes += section.elf_section_header().sh_size(file.endian());
        } else if name == ".nv.info" {
            read_attributes(section.data().ok()?, &mut code);
        }
    }
    (code.bytes > 0).then_some(code)
}

/// Reads `.nv.info`: attributes with a format and a kind; if the format has a size, that many bytes follow. In the attributes
/// read here, the bytes are a symbol's index and a number.
fn read_attributes(mut data: &[u8], code: &mut Code) {
    const SIZED: u8 = 4;
    const REGISTERS: u8 = 0x2f;
    const FRAME: u8 = 0x11;
    while let Some((&[format, kind, low, high], rest)) = data.split_first_chunk::<4>() {
        let size = if format == SIZED {
            usize::from(u16::from_le_bytes([low, high]))
        } else {
            0
        };
        let Some((value, rest)) = rest.split_at_checked(size) else {
            return;
        };
        let number = value
            .get(4..8)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u32::from_le_bytes);
        match (kind, number) {
            (REGISTERS, Some(number)) => code.registers = code.registers.max(number),
            (FRAME, Some(number)) => code.stack = code.stack.max(number),
            _ => {}
        }
        data = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_a_cubin_are_read_and_damage_is_not() {
        let mut data = vec![4, 0x2f, 8, 0, 7, 0, 0, 0, 40, 0, 0, 0];
        // An attribute without a size, one of an unused kind, and a stack.
        data.extend([3, 0x1b, 0xff, 0]);
        data.extend([4, 0x12, 4, 0, 1, 2, 3, 4]);
        data.extend([4, 0x11, 8, 0, 7, 0, 0, 0, 16, 1, 0, 0]);
        let mut code = Code::default();
        read_attributes(&data, &mut code);
        assert_eq!((code.registers, code.stack), (40, 272));
        for cut in 0..data.len() {
            read_attributes(&data[..cut], &mut Code::default());
        }
        assert_eq!(read_cubin(b"no cubin"), None);
        assert_eq!(read_cubin(&[]), None);
    }
}
