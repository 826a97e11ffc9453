//! The syntax tree of a PTX module: declarations and instructions with resolved names.

use std::fmt;

use smallvec::SmallVec;

/// A location in the text, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The line.
    pub line: u32,
    /// The column, in bytes.
    pub column: u32,
}

/// A syntax error. The message fits "failed to read PTX: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {message}", place.line, place.column)]
pub struct SyntaxError {
    /// Its location.
    pub place: Location,
    /// The message.
    pub message: String,
}

/// The state space of a variable or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Any: the address determines it.
    Generic,
    /// Global memory.
    Global,
    /// A block's shared memory.
    Shared,
    /// The shared memory of a cluster's blocks.
    Cluster,
    /// A thread's local memory.
    Local,
    /// Parameters.
    Param,
    /// Constant memory.
    Const,
}

/// The kind of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `.b32`
    Bits,
    /// `.u32`
    Unsigned,
    /// `.s32`
    Signed,
    /// `.f32`
    Float,
    /// `.bf16`
    Brain,
    /// `.tf32`
    Tensor,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
    /// `.pred`
    Predicate,
}

/// A fundamental type, or two packed numbers of at most 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Its kind.
    pub kind: Kind,
    /// Bits of one number; 1 for predicates.
    pub bits: u32,
    /// Whether it is two of them (`.f16x2`, `.u16x2`, `.e4m3x2`).
    pub pair: bool,
}

impl Type {
    /// Parses a type without its dot.
    pub fn from_word(word: &str) -> Option<Self> {
        let make = |kind, bits, pair| Some(Self { kind, bits, pair });
        match word {
            "pred" => return make(Kind::Predicate, 1, false),
            "bf16" => return make(Kind::Brain, 16, false),
            "bf16x2" => return make(Kind::Brain, 16, true),
            "f16x2" => return make(Kind::Float, 16, true),
            "tf32" => return make(Kind::Tensor, 32, false),
            "u16x2" => return make(Kind::Unsigned, 16, true),
            "s16x2" => return make(Kind::Signed, 16, true),
            "e4m3" => return make(Kind::E4m3, 8, false),
            "e5m2" => return make(Kind::E5m2, 8, false),
            "e4m3x2" => return make(Kind::E4m3, 8, true),
            "e5m2x2" => return make(Kind::E5m2, 8, true),
            _ => {}
        }
        let mut letters = word.chars();
        let kind = match letters.next()? {
            'b' => Kind::Bits,
            'u' => Kind::Unsigned,
            's' => Kind::Signed,
            'f' => Kind::Float,
            _ => return None,
        };
        let bits = match letters.as_str() {
            "8" if kind != Kind::Float => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            _ => return None,
        };
        make(kind, bits, false)
    }

    /// Bits in a register or in memory.
    pub const fn width(self) -> u32 {
        if self.pair { self.bits * 2 } else { self.bits }
    }

    /// Bytes in memory.
    pub const fn bytes(self) -> u32 {
        self.width().div_ceil(8)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, pair) = (self.bits, if self.pair { "x2" } else { "" });
        match self.kind {
            Kind::Bits => write!(f, ".b{bits}"),
            Kind::Unsigned => write!(f, ".u{bits}{pair}"),
            Kind::Signed => write!(f, ".s{bits}{pair}"),
            Kind::Float => write!(f, ".f{bits}{pair}"),
            Kind::Brain => write!(f, ".bf{bits}{pair}"),
            Kind::Tensor => f.write_str(".tf32"),
            Kind::E4m3 => write!(f, ".e4m3{pair}"),
            Kind::E5m2 => write!(f, ".e5m2{pair}"),
            Kind::Predicate => f.write_str(".pred"),
        }
    }
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid.x`, … by axis.
    Thread(u8),
    /// `%ntid.x`.
    Threads(u8),
    /// `%ctaid.x`.
    Block(u8),
    /// `%nctaid.x`.
    Blocks(u8),
    /// `%laneid`.
    Lane,
    /// `%warpid`.
    Warp,
    /// `%nwarpid`.
    Warps,
    /// `%lanemask_eq`, `lt`, `le`, `gt`, `ge`.
    Mask(MaskOf),
    /// `%clock`, `%clock64`, `%globaltimer`, …: any number.
    Clock,
    /// `%smid`, `%gridid`: 0.
    Zero,
    /// `%nsmid`: 1.
    One,
    /// `%cluster_ctarank`.
    ClusterRank,
    /// `%cluster_nctarank`.
    ClusterBlocks,
    /// `%cluster_ctaid.x`, … by axis.
    ClusterBlock(u8),
    /// `%cluster_nctaid.x`.
    ClusterBlocksAlong(u8),
    /// `%clusterid.x`.
    Cluster(u8),
    /// `%nclusterid.x`.
    Clusters(u8),
    /// `%dynamic_smem_size`.
    DynamicShared,
    /// `%total_smem_size`.
    TotalShared,
}

/// The lanes that a `%lanemask` register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskOf {
    /// This lane.
    Equal,
    /// The lanes before it.
    Less,
    /// This lane and the lanes before it.
    LessEqual,
    /// The lanes after it.
    Greater,
    /// This lane and the lanes after it.
    GreaterEqual,
}

/// A variable of a module or of a function, by its number in [`Module::variables`] or [`Function::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableId {
    /// A module's.
    Module(u32),
    /// A function's own, its parameters among them.
    Own(u32),
    /// A function, by its number.
    Function(u32),
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register's value.
    Register(u32),
    /// A variable's address.
    Variable(VariableId),
    /// Zero.
    Absolute,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register other than a predicate, by its number in [`Function::registers`].
    Register(u32),
    /// A predicate, by its number.
    Predicate {
        /// Its number.
        number: u32,
        /// Whether it is negated (`!%p1`).
        negated: bool,
    },
    /// A special register.
    Special(Special),
    /// An integer, in two's complement.
    Int(u64),
    /// The bits of an `f32`.
    Single(u32),
    /// The bits of an `f64`.
    Double(u64),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `[base + offset]`.
    Address(Base, i64),
    /// `[base + offset, {a, b}]`: a tensor map with coordinates.
    Coordinates(Base, i64, Vec<Operand>),
    /// A variable's address, or a function.
    Symbol(VariableId, i64),
    /// A label, by its number in the function.
    Label(u32),
    /// `d|p`.
    Two(Box<Operand>, Box<Operand>),
    /// `(a, b)` of a call, or the list of `.branchtargets`.
    List(Vec<Operand>),
    /// `_`.
    Nothing,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The predicate, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// The opcode and its modifiers: `["ld", "global", "b32"]`.
    pub opcode: SmallVec<[Box<str>; 4]>,
    /// Its operands.
    pub operands: Vec<Operand>,
    /// Its location.
    pub place: Location,
    /// The `.loc` before it.
    pub source: Option<Source>,
}

impl Instruction {
    /// The opcode with its modifiers, as written.
    pub fn name(&self) -> String {
        self.opcode.join(".")
    }
}

/// A line of the text that the PTX was compiled from (`.loc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The number of its file in [`Module::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The call that it was inlined at, as an index of [`Module::callers`].
    pub inlined: Option<u32>,
}

/// A variable's initial value.
#[derive(Clone, Debug, PartialEq)]
pub enum Initial {
    /// Zeros.
    Zero,
    /// Bytes, followed by zeros.
    Bytes(Vec<u8>),
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its state space.
    pub space: Space,
    /// Its alignment in bytes.
    pub align: u32,
    /// Its size in bytes; `None` for an array without a length (`global_smem[]`).
    pub size: Option<u64>,
    /// Its initial value.
    pub initial: Initial,
    /// Whether it is a parameter or a result of the function.
    pub role: Role,
}

/// The role of a function's variable in calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A local variable.
    Own,
    /// A parameter.
    Parameter,
    /// A result.
    Result,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it can be launched.
    pub entry: bool,
    /// Whether it has a body.
    pub defined: bool,
    /// Maximum dimensions of a block (`.reqntid`, `.maxntid`), if declared.
    pub threads: Option<[u32; 3]>,
    /// Blocks of a cluster along each axis (`.reqnctapercluster`), if declared.
    pub cluster: Option<[u32; 3]>,
    /// The types of the registers other than predicates.
    pub registers: Vec<Type>,
    /// Number of predicates.
    pub predicates: u32,
    /// Parameters, results and local variables, in order.
    pub variables: Vec<Variable>,
    /// Its instructions.
    pub body: Vec<Instruction>,
    /// The index in `body` of each label. A label at the end has the number of instructions.
    pub labels: Vec<u32>,
}

/// A PTX module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`, as written.
    pub version: String,
    /// `.target`, as written.
    pub target: String,
    /// Files, by their numbers in `.loc`.
    pub files: Vec<(u32, String)>,
    /// The calls that instructions were inlined at (`inlined_at`).
    pub callers: Vec<Source>,
    /// Variables.
    pub variables: Vec<Variable>,
    /// Functions, in order.
    pub functions: Vec<Function>,
}

impl Module {
    /// Finds a defined function by name.
    pub fn find_function(&self, name: &str) -> Option<&Function> {
        self.functions
            .iter()
            .find(|function| function.defined && function.name == name)
    }

    /// The name of a `.loc` file.
    pub(crate) fn file_name(&self, number: u32) -> Option<&str> {
        self.files
            .iter()
            .find(|(of, _)| *of == number)
            .map(|(_, name)| name.as_str())
    }
}
