//! The syntax tree of MLIR: modules, functions, operations, types, attributes, locations.

/// A module: its functions, and the table of `#loc` names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The functions, in the order of the text.
    pub functions: Vec<Func>,
    /// `#name = loc(…)`, in the order of the text.
    pub places: Vec<(String, Location)>,
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
    /// Its source location.
    pub place: Location,
    /// Its offset in the text, in bytes.
    pub offset: usize,
}

/// An argument of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockArg {
    /// The name, without `%`.
    pub name: String,
    /// The type.
    pub ty: Type,
    /// Its source location.
    pub place: Location,
}

/// Code in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// The blocks; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A sequence of operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The label, without `^`; empty for an unlabelled entry.
    pub label: String,
    /// Its arguments.
    pub args: Vec<BlockArg>,
    /// The operations.
    pub ops: Vec<Operation>,
}

/// One operation, in the generic or a custom form.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The name: `tt.load`.
    pub name: String,
    /// The names of its results, with the number of values of each.
    pub results: Vec<(String, usize)>,
    /// The values that it uses, in the order of the text.
    pub operands: Vec<Operand>,
    /// The ranges of operands in brackets: `[%a, %b]`.
    pub brackets: Vec<std::ops::Range<usize>>,
    /// Names that its regions bind with an initial value: `%i = %start`, `(%x = %first)`.
    pub bindings: Vec<String>,
    /// Words and values outside of other parts, in order: `slt`, `dense<0>`, `"a message"`.
    pub words: Vec<Attr>,
    /// The number of operands before each word.
    pub words_at: Vec<usize>,
    /// `name = value`, in any position.
    pub attrs: Vec<(String, Attr)>,
    /// The types after the colon and before an arrow.
    pub types: Vec<Type>,
    /// The types after the arrow or `to`.
    pub results_types: Vec<Type>,
    /// The successors: labels, with the values passed.
    pub successors: Vec<(String, Vec<Operand>)>,
    /// The regions.
    pub regions: Vec<Region>,
    /// Its source location.
    pub place: Location,
    /// Its offset in the text, in bytes.
    pub offset: usize,
}

/// A use of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The name, without `%`.
    pub name: String,
    /// The index among the values of that name.
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
    /// `tensor<64x32xf16>`; the encoding doesn't affect its meaning.
    Tensor(Vec<u64>, Box<Self>),
    /// `!tt.ptr<f32>`; the address space doesn't affect its meaning.
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
    /// `0x7FC00000`: the bits of a float.
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

/// A source location (`loc`).
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Location {
    /// Unknown.
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
    /// Finds an attribute by name.
    pub fn find_attr(&self, name: &str) -> Option<&Attr> {
        self.attrs
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The types of its results, in either form: after the arrow, or after the colon if there is no arrow.
    pub fn result_types(&self) -> &[Type] {
        if self.results_types.is_empty() {
            &self.types
        } else {
            &self.results_types
        }
    }

    /// Whether the operation has this word.
    pub fn has_word(&self, word: &str) -> bool {
        self.words
            .iter()
            .any(|attr| matches!(attr, Attr::Word(text) if text == word))
    }

    /// The nth word, not counting values.
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
    /// The value of an integer.
    pub const fn int(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bool(flag) => Some(*flag as i128),
            _ => None,
        }
    }

    /// The integers of a list.
    pub fn ints(&self) -> Option<Vec<i128>> {
        match self {
            Self::List(items) => items.iter().map(Self::int).collect(),
            Self::Dense(inner) => inner.ints(),
            _ => None,
        }
    }

    /// The text of a word or a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Word(text) | Self::Text(text) | Self::Symbol(text) => Some(text),
            _ => None,
        }
    }
}
