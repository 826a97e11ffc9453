//! The assumptions of a proof: the number of elements of each tensor, the grid, and the ranges of sizes, each with its source.

use std::collections::BTreeMap;
use std::fmt;

/// An integer that a launch determines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// A number.
    Number(i64),
    /// A parameter of the kernel, or another size with a name that no parameter has: `x.shape[0]`.
    Name(String),
    /// The sum.
    Sum(Vec<Self>),
    /// The product.
    Product(Vec<Self>),
    /// The quotient, rounded up (`triton.cdiv`); both are at least 1.
    Cdiv(Box<Self>, Box<Self>),
}

impl Size {
    /// Its value in a launch; `None` if a name has no value there.
    pub fn evaluate(&self, numbers: &BTreeMap<String, i64>) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(name) => numbers.get(name).copied(),
            Self::Sum(parts) => parts
                .iter()
                .try_fold(0i64, |sum, part| sum.checked_add(part.evaluate(numbers)?)),
            Self::Product(parts) => parts
                .iter()
                .try_fold(1i64, |product, part| product.checked_mul(part.evaluate(numbers)?)),
            Self::Cdiv(a, b) => {
                let (a, b) = (a.evaluate(numbers)?, b.evaluate(numbers)?);
                (a > 0 && b > 0).then(|| (a - 1) / b + 1)
            }
        }
    }

    /// The names in it.
    pub fn list_names(&self) -> Vec<String> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Name(name) => vec![name.clone()],
            Self::Sum(parts) | Self::Product(parts) => parts.iter().flat_map(Self::list_names).collect(),
            Self::Cdiv(a, b) => [a, b].into_iter().flat_map(|part| part.list_names()).collect(),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |parts: &[Self], by: &str| {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    Self::Sum(_) if by != " + " => format!("({part})"),
                    _ => part.to_string(),
                })
                .collect();
            parts.join(by)
        };
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Sum(parts) => f.write_str(&join(parts, " + ")),
            Self::Product(parts) => f.write_str(&join(parts, " * ")),
            Self::Cdiv(a, b) => write!(f, "cdiv({a}, {b})"),
        }
    }
}

/// The source of an assumption, from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The kernel's file declares it.
    Declared,
    /// Its launcher passes it in all launches that were evaluated.
    Launcher,
    /// The kernel's text suggests it: names, strides, the bounds of other accesses.
    Text,
}

/// An assumption as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// Its source.
    pub source: Source,
    /// In words: `x has (M - 1) * stride_m + N elements`.
    pub text: String,
}

/// The assumptions of a proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// The number of elements from each tensor's pointer on, by parameter.
    pub elements: BTreeMap<String, Size>,
    /// The number of programs on each axis.
    pub grid: [Option<Size>; 3],
    /// The least and the largest value of sizes, by name.
    pub ranges: BTreeMap<String, (i64, i64)>,
    /// Numbers that sizes are multiples of, by name.
    pub multiples: BTreeMap<String, i64>,
    /// Pairs of sizes; the first one is at most the second one.
    pub orders: Vec<(Size, Size)>,
    /// All of it in words.
    pub assumptions: Vec<Assumption>,
}
