//! Random kernels, as typed IR that verifies: each choice uses existing values and adds another.
//!
//! See `law` and [`check`] for the laws of kernels.

mod law;
mod maker;

use arbitrary::{Arbitrary, Unstructured};
use cerith_interp::ParamValue;
use cerith_memory::Memory;
use cerith_tile::DType;
use cerith_tile::ir::Function;

pub use self::law::{check, check_within};
use self::maker::{Choice, Maker};
use crate::kernel::{Kernel, World};

/// Elements of each of the three tensors that a program has: `f` of `f32`, `i` of `i32`, `h` of `f16`.
pub const ELEMENTS: usize = 64;
/// Their types.
pub(crate) const DTYPES: [DType; 3] = [DType::F32, DType::I32, DType::F16];
/// The maximum number of operations that are chosen.
const MAX_OPERATIONS: usize = 64;

/// The design of a random program: its operations, and the number of programs in a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    choices: Vec<Choice>,
    /// Programs of a launch.
    pub programs: u32,
}

impl<'a> Arbitrary<'a> for Program {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let programs = if u.ratio(1, 5)? { 2 } else { 1 };
        let mut choices = Vec::new();
        while choices.len() < MAX_OPERATIONS && !u.is_empty() {
            choices.push(Choice {
                op: u.arbitrary()?,
                a: u.arbitrary()?,
                b: u.arbitrary()?,
                c: u.arbitrary()?,
            });
        }
        Ok(Self { choices, programs })
    }
}

impl Program {
    /// The program of some bytes: any bytes are one.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Unstructured::new(bytes).arbitrary().unwrap_or(Self {
            choices: Vec::new(),
            programs: 1,
        })
    }

    /// Its kernel.
    pub fn function(&self) -> Function {
        let mut k = Kernel::new("kernel\n");
        let pointers =
            [("f", DTYPES[0]), ("i", DTYPES[1]), ("h", DTYPES[2])].map(|(n, d)| k.add_pointer_param(n, d));
        let range = k.arange(16);
        let mut maker = Maker::new(k, pointers, range);
        maker.add_operations(&mut self.choices.iter().copied(), MAX_OPERATIONS);
        maker.finish()
    }

    /// Its input: small numbers of both signs, the same in every trial.
    pub fn build_world() -> (Memory, Vec<ParamValue>) {
        let mut world = World::default();
        let floats: Vec<f32> = (0..ELEMENTS).map(|i| (i as f32 - 20.0) * 0.37).collect();
        world.add_floats("f", &floats);
        let ints: Vec<i32> = (0..ELEMENTS as i32).map(|i| i * 7 - 90).collect();
        world.add_ints("i", &ints);
        let halves: Vec<u8> = (0..ELEMENTS as u16)
            .flat_map(|i| (0x3400 + i * 91).to_le_bytes())
            .collect();
        world.tensor("h", DType::F16, ELEMENTS, Some(&halves));
        world.finish()
    }
}
