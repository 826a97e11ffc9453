//! MLIR as it is written: modules, functions, operations, types, attributes, places. Left out: what any of it means.

/// A module: its functions, and the table of places that `#loc` names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The functions, in the order of the text.
    pub functions: Vec<Func>,
    /// `#name = loc(…)`, in the order of the text.
    pub places: Vec<(String, Place)>,
}

/// A `tt.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    /// The symbol, without `@`.
    pub name: String,
    /// Whether it is a kernel: only those are `public`.
    pub is_public: bool,
    /// The arguments.
    pub args: Vec<BlockArg>,
    /// The code.
    pub body: Region,
    /// Where it came from.
    pub place: Place,
    /// Where it is in the text, in bytes.
    pub offset: usize,
}

/// A value that a block takes.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockArg {
    /// The name, without `%`.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Where it came from.
    pub place: Place,
}

/// Code in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// The blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A run of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The label, without `^`; empty where the entry has none.
    pub label: String,
    /// What it takes.
    pub args: Vec<BlockArg>,
    /// The operations.
    pub ops: Vec<Operation>,
}

/// One operation, in whichever form it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The name: `tt.load`.
    pub name: String,
    /// The names of its results, with how many values each stands for.
    pub results: Vec<(String, usize)>,
    /// The values that it reads, in the order of the text.
    pub operands: Vec<Operand>,
    /// The ranges of operands that stand in brackets: `[%a, %b]`.
    pub brackets: Vec<std::ops::Range<usize>>,
    /// Names that regions of its bind, with what they are first: `%i = %start`, `(%x = %first)`.
    pub bindings: Vec<String>,
    /// Words and values that stand by themselves, in order: `slt`, `dense<0>`, `"a message"`.
    pub words: Vec<Attr>,
    /// Of each word, how many operands stand before it.
    pub words_at: Vec<usize>,
    /// `name = value`, wherever it is written.
    pub attrs: Vec<(String, Attr)>,
    /// The types behind the colon and before an arrow.
    pub types: Vec<Type>,
    /// The types behind the arrow or `to`.
    pub results_types: Vec<Type>,
    /// Where control goes: labels, with the values passed.
    pub successors: Vec<(String, Vec<Operand>)>,
    /// The regions.
    pub regions: Vec<Region>,
    /// Where it came from.
    pub place: Place,
    /// Where it is in the text, in bytes.
    pub offset: usize,
}

/// A use of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The name, without `%`.
    pub name: String,
    /// Which of the values of that name.
    pub nth: usize,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `i32`.
    Int(u32),
    /// `si8` or `ui8`: whether it has a sign, and its bits.
    Signed(bool, u32),
    /// `f16`, `bf16`, `f8E5M2`, by name.
    Float(String),
    /// `index`.
    Index,
    /// `tensor<64x32xf16>`; its encoding is no part of its meaning.
    Tensor(Vec<u64>, Box<Self>),
    /// `!tt.ptr<f32>`; its address space is no part of its meaning.
    Ptr(Box<Self>),
    /// `!tt.tensordesc<…>`: the extents and the element of a block.
    Descriptor(Vec<u64>, Box<Self>),
    /// `!ttg.memdesc<…>`: extents and element.
    Memory(Vec<u64>, Box<Self>),
    /// Anything else, by its text.
    Other(String),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// `7`.
    Int(i128),
    /// `0x7FC00000`: bits where the type is a float.
    Bits(u128),
    /// `1.5e+00`.
    Float(f64),
    /// `true`.
    Bool(bool),
    /// `"text"`.
    Text(String),
    /// `dense<…>`.
    Dense(Box<Self>),
    /// `[…]` or `array<i32: …>`.
    List(Vec<Self>),
    /// `{a = 1}`.
    Dict(Vec<(String, Self)>),
    /// `@name`.
    Symbol(String),
    /// A word.
    Word(String),
    /// A type.
    Type(Type),
    /// Anything else, by its text.
    Other(String),
}

/// Where something came from (`loc`).
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Place {
    /// Nobody knows.
    #[default]
    Unknown,
    /// `#loc7`.
    Alias(String),
    /// `"file":line:column`, from 1.
    File(String, u32, u32),
    /// `"name"(place)`.
    Named(String, Box<Self>),
    /// `callsite(callee at caller)`.
    CallSite(Box<Self>, Box<Self>),
    /// `fused[…]`.
    Fused(Vec<Self>),
}

impl Operation {
    /// The attribute of a name.
    pub fn find_attr(&self, name: &str) -> Option<&Attr> {
        self.attrs
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The types of its results, wherever the form writes them: behind the arrow, else behind the colon.
    pub fn result_types(&self) -> &[Type] {
        if self.results_types.is_empty() {
            &self.types
        } else {
            &self.results_types
        }
    }

    /// Whether a word stands by itself.
    pub fn has_word(&self, word: &str) -> bool {
        self.words
            .iter()
            .any(|attr| matches!(attr, Attr::Word(text) if text == word))
    }

    /// The words that stand by themselves, values left out.
    pub fn nth_word(&self, nth: usize) -> Option<&str> {
        self.words
            .iter()
            .filter_map(|attr| match attr {
                Attr::Word(text) => Some(text.as_str()),
                _ => None,
            })
            .nth(nth)
    }
}

impl Attr {
    /// A whole number.
    pub const fn int(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bool(flag) => Some(*flag as i128),
            _ => None,
        }
    }

    /// The whole numbers of a list.
    pub fn ints(&self) -> Option<Vec<i128>> {
        match self {
            Self::List(items) => items.iter().map(Self::int).collect(),
            Self::Dense(inner) => inner.ints(),
            _ => None,
        }
    }

    /// A word, a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Word(text) | Self::Text(text) | Self::Symbol(text) => Some(text),
            _ => None,
        }
    }
}
