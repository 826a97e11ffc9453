//! Types of IR values. The reference has no layouts (`ttg` encodings).

use std::fmt;

use smallvec::SmallVec;

use crate::DType;

/// The extents of a block, outermost first. Empty for a scalar.
pub type Shape = SmallVec<[usize; 4]>;

/// The type of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// A number.
    Num(DType),
    /// A pointer: `depth` 1 points to `pointee`, 2 to a pointer to it, and so on.
    Ptr {
        /// The type at the end of the chain of pointers.
        pointee: DType,
        /// The length of the chain of pointers, at least 1.
        depth: u8,
    },
}

impl Elem {
    /// The dtype of a number, `None` for a pointer.
    pub const fn num(self) -> Option<DType> {
        match self {
            Self::Num(dtype) => Some(dtype),
            Self::Ptr { .. } => None,
        }
    }

    /// A pointer to a number.
    pub const fn ptr_to(pointee: DType) -> Self {
        Self::Ptr { pointee, depth: 1 }
    }

    /// The type that a pointer points to; `None` for a number.
    pub const fn pointee(self) -> Option<Self> {
        match self {
            Self::Num(_) => None,
            Self::Ptr { pointee, depth } if depth <= 1 => Some(Self::Num(pointee)),
            Self::Ptr { pointee, depth } => Some(Self::Ptr {
                pointee,
                depth: depth - 1,
            }),
        }
    }

    /// A pointer to this.
    #[must_use]
    pub const fn pointer(self) -> Self {
        match self {
            Self::Num(pointee) => Self::Ptr { pointee, depth: 1 },
            Self::Ptr { pointee, depth } => Self::Ptr {
                pointee,
                depth: depth.saturating_add(1),
            },
        }
    }

    /// Whether this is a pointer.
    pub const fn is_ptr(self) -> bool {
        matches!(self, Self::Ptr { .. })
    }

    /// Bytes in memory; 8 for a pointer.
    pub const fn size(self) -> usize {
        match self {
            Self::Num(dtype) => dtype.size(),
            Self::Ptr { .. } => 8,
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Num(dtype) => write!(f, "{dtype}"),
            Self::Ptr { pointee, depth } => {
                for _ in 0..*depth {
                    f.write_str("*")?;
                }
                write!(f, "{pointee}")
            }
        }
    }
}

/// A value's type: a scalar, or a block of lanes in row-major order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The type of each lane.
    pub elem: Elem,
    /// The extents; empty for a scalar.
    pub shape: Shape,
    /// Whether this is a block. A block always has a shape of one or more dimensions.
    pub block: bool,
}

impl Type {
    /// A scalar.
    pub fn scalar(elem: Elem) -> Self {
        Self {
            elem,
            shape: Shape::new(),
            block: false,
        }
    }

    /// A scalar number.
    pub fn num(dtype: DType) -> Self {
        Self::scalar(Elem::Num(dtype))
    }

    /// A block; a scalar when `shape` is empty.
    pub fn block(elem: Elem, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        Self {
            elem,
            block: !shape.is_empty(),
            shape,
        }
    }

    /// The same shape with other lanes.
    #[must_use]
    pub fn with_elem(&self, elem: Elem) -> Self {
        Self { elem, ..self.clone() }
    }

    /// Lanes in the block; 1 for a scalar, and `usize::MAX` on overflow.
    pub fn numel(&self) -> usize {
        self.shape
            .iter()
            .fold(1, |lanes, &extent| lanes.saturating_mul(extent))
    }

    /// Whether this is a scalar.
    pub const fn is_scalar(&self) -> bool {
        !self.block
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_scalar() {
            return write!(f, "{}", self.elem);
        }
        f.write_str("[")?;
        for extent in &self.shape {
            write!(f, "{extent}x")?;
        }
        write!(f, "{}]", self.elem)
    }
}
