//! Variants: a case with one thing changed that must not change what it gives.
//!
//! A [`Variant`] is written `num_warps=8`. The unchanged case is a variant too: `as-is`. An [`Axis`] names the
//! changed property. [`Axes`] list the axes that a sweep tries, and the values of each.
//! [`Entry::vary`](crate::Entry::vary) returns the case of a variant, or the reason why the variant does not apply.
//!
//! | variant | what is changed |
//! |---|---|
//! | `num_warps=1`, `2`, `4`, `8` | the launch option |
//! | `num_stages=1` to `4` | the launch option |
//! | `num_ctas=1`, `2` | the launch option |
//! | `enable_fp_fusion=true`, `false` | the launch option |
//! | `specialize=false` | no parameter is specialised on: not on being 1, not on being a multiple of 16 |
//! | `config=0`, … | of an autotuned kernel's configurations only this one is there |
//! | `layout=offset` | the tensor of every storage begins one element further on, and is not aligned to 16 bytes |
//! | `layout=padded` | rows of two or more dimensions have three elements of padding between them |
//! | `layout=transposed` | tensors of two or more dimensions are column-major |
//!
//! See `cerith-engine` for compiling and executing, and `cerith-verdict` for whether variants agree.

use std::fmt;
use std::str::FromStr;

use cerith_tile::DType;
use smallvec::SmallVec;

use cerith_memory::{Dims, StorageId, Tensor};

use cerith_python::nearest::{list, suggest_spelling};

/// Elements between the rows of a padded tensor: an odd number, so that no stride stays a multiple of 16.
const PADDING: i64 = 3;

/// The property that a variant changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// The option `num_warps`.
    NumWarps,
    /// The option `num_stages`.
    NumStages,
    /// The option `num_ctas`.
    NumCtas,
    /// The option `enable_fp_fusion`.
    FpFusion,
    /// Whether parameters are specialised on.
    Specialize,
    /// The autotuner's configuration.
    Config,
    /// How tensors lie in their storages.
    Layout,
}

impl Axis {
    /// Every one of them.
    pub const ALL: [Self; 7] = [
        Self::NumWarps,
        Self::NumStages,
        Self::NumCtas,
        Self::FpFusion,
        Self::Specialize,
        Self::Config,
        Self::Layout,
    ];

    /// The word that files, variants and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NumWarps => "num_warps",
            Self::NumStages => "num_stages",
            Self::NumCtas => "num_ctas",
            Self::FpFusion => "enable_fp_fusion",
            Self::Specialize => "specialize",
            Self::Config => "config",
            Self::Layout => "layout",
        }
    }

    /// The one of this word.
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|axis| axis.name() == word)
    }

    /// The nearest valid spelling, for messages.
    pub(crate) fn suggest(word: &str) -> Option<String> {
        suggest_spelling(word, Self::ALL.map(Self::name))
    }

    /// The values that a sweep tries by default. Only Triton knows the number of configurations.
    fn list_values(self, configs: usize) -> Vec<Variant> {
        match self {
            Self::NumWarps => [1, 2, 4, 8].map(Variant::NumWarps).to_vec(),
            Self::NumStages => [1, 2, 3, 4].map(Variant::NumStages).to_vec(),
            Self::NumCtas => [1, 2].map(Variant::NumCtas).to_vec(),
            Self::FpFusion => [true, false].map(Variant::FpFusion).to_vec(),
            Self::Specialize => vec![Variant::Unspecialized],
            Self::Config => (0..configs).map(Variant::Config).collect(),
            Self::Layout => Layout::ALL.map(Variant::Layout).to_vec(),
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Another way for tensors to lie in their storages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// One element in.
    Offset,
    /// With padding between rows.
    Padded,
    /// Column-major.
    Transposed,
}

impl Layout {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::Offset, Self::Padded, Self::Transposed];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offset => "offset",
            Self::Padded => "padded",
            Self::Transposed => "transposed",
        }
    }

    /// The tensor of a storage's name, and how many elements the storage has; `None` if the layout is that of a
    /// contiguous tensor.
    pub(crate) fn tensor(self, id: StorageId, dtype: DType, shape: &[i64]) -> Option<(Tensor, i64)> {
        let mut tensor = Tensor::new_contiguous(id, dtype, shape);
        let numel = tensor.numel();
        if numel == 0 || numel == i64::MAX {
            return None;
        }
        match self {
            Self::Offset => {
                tensor.offset = 1;
                Some((tensor, numel.checked_add(1)?))
            }
            Self::Padded => {
                let (&last, outer) = shape.split_last()?;
                if outer.iter().all(|&size| size == 1) {
                    return None;
                }
                let pitch = last.checked_add(PADDING)?;
                let rows = numel / last.max(1);
                let mut wide: SmallVec<[i64; 4]> = outer.into();
                wide.push(pitch);
                tensor.strides = Tensor::new_contiguous(id, dtype, &wide).strides;
                Some((tensor, rows.checked_mul(pitch)?))
            }
            Self::Transposed => {
                if shape.iter().filter(|&&size| size > 1).count() < 2 {
                    return None;
                }
                let reversed: Dims = shape.iter().rev().copied().collect();
                tensor.strides = Tensor::new_contiguous(id, dtype, &reversed).strides;
                tensor.strides.reverse();
                Some((tensor, numel))
            }
        }
    }
}

/// A case with one thing changed. `Display` and `FromStr` are inverses of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// Nothing is.
    AsIs,
    /// `num_warps=8`.
    NumWarps(u32),
    /// `num_stages=2`.
    NumStages(u32),
    /// `num_ctas=2`.
    NumCtas(u32),
    /// `enable_fp_fusion=false`.
    FpFusion(bool),
    /// `specialize=false`.
    Unspecialized,
    /// `config=3`: the autotuner's fourth.
    Config(usize),
    /// `layout=padded`.
    Layout(Layout),
}

const AS_IS: &str = "as-is";

impl Variant {
    /// The axis that is changed; `None` for the unchanged case.
    pub const fn axis(self) -> Option<Axis> {
        Some(match self {
            Self::AsIs => return None,
            Self::NumWarps(_) => Axis::NumWarps,
            Self::NumStages(_) => Axis::NumStages,
            Self::NumCtas(_) => Axis::NumCtas,
            Self::FpFusion(_) => Axis::FpFusion,
            Self::Unspecialized => Axis::Specialize,
            Self::Config(_) => Axis::Config,
            Self::Layout(_) => Axis::Layout,
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(axis) = self.axis() else {
            return f.pad(AS_IS);
        };
        let value = match self {
            Self::NumWarps(value) | Self::NumStages(value) | Self::NumCtas(value) => value.to_string(),
            Self::FpFusion(value) => value.to_string(),
            Self::Config(at) => at.to_string(),
            Self::Layout(layout) => layout.name().to_owned(),
            Self::Unspecialized | Self::AsIs => "false".to_owned(),
        };
        f.pad(&format!("{axis}={value}"))
    }
}

/// The text names no variant, or no axis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a variant of a case: {reason}")]
pub struct BadVariant {
    /// The text as given.
    pub text: String,
    /// The error in it, with a suggestion.
    pub reason: String,
}

impl BadVariant {
    fn from_unknown_axis(text: &str, word: &str) -> Self {
        let names = Axis::ALL.map(Axis::name);
        Self {
            text: text.to_owned(),
            reason: Axis::suggest(word).unwrap_or_else(|| format!("the axes are {}", list(&names))),
        }
    }

    fn from_bad_value(text: &str, axis: Axis) -> Self {
        let reason = match axis {
            Axis::FpFusion => "write `enable_fp_fusion=true` or `enable_fp_fusion=false`".to_owned(),
            Axis::Specialize => "there is only `specialize=false`".to_owned(),
            Axis::Layout => format!("the layouts are {}", list(&Layout::ALL.map(Layout::name))),
            Axis::Config => "write the configuration's number, from 0: `config=2`".to_owned(),
            _ => format!("write a number from 1 to 32: `{axis}=2`"),
        };
        Self {
            text: text.to_owned(),
            reason,
        }
    }
}

impl FromStr for Variant {
    type Err = BadVariant;

    fn from_str(text: &str) -> Result<Self, BadVariant> {
        if text == AS_IS {
            return Ok(Self::AsIs);
        }
        let (word, value) = text.split_once('=').unwrap_or((text, ""));
        let axis = Axis::from_name(word).ok_or_else(|| BadVariant::from_unknown_axis(text, word))?;
        let bad = || BadVariant::from_bad_value(text, axis);
        let number = || {
            let plain = value.bytes().all(|byte| byte.is_ascii_digit()) && !value.starts_with("00");
            let number: Option<u32> = value.parse().ok().filter(|_| plain);
            number.filter(|number| (1..=32).contains(number)).ok_or_else(bad)
        };
        Ok(match axis {
            Axis::NumWarps => Self::NumWarps(number()?),
            Axis::NumStages => Self::NumStages(number()?),
            Axis::NumCtas => Self::NumCtas(number()?),
            Axis::FpFusion => Self::FpFusion(value.parse().map_err(|_| bad())?),
            Axis::Specialize if value == "false" => Self::Unspecialized,
            Axis::Specialize => return Err(bad()),
            Axis::Config => Self::Config(value.parse::<u16>().map_err(|_| bad())?.into()),
            Axis::Layout => {
                let layout = Layout::ALL.into_iter().find(|layout| layout.name() == value);
                Self::Layout(layout.ok_or_else(bad)?)
            }
        })
    }
}

/// The axes, and the values of each, that a sweep tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes(Vec<(Axis, Option<Vec<Variant>>)>);

impl Default for Axes {
    /// All of them.
    fn default() -> Self {
        Self(Axis::ALL.into_iter().map(|axis| (axis, None)).collect())
    }
}

impl Axes {
    /// Reads `num_ctas` (all its values) and `num_warps=1,8` (these). An empty list means all axes.
    ///
    /// # Errors
    /// The first text that names no axis, or no value of its axis.
    pub fn parse(texts: &[impl AsRef<str>]) -> Result<Self, BadVariant> {
        let mut axes: Vec<(Axis, Option<Vec<Variant>>)> = Vec::new();
        for text in texts.iter().map(AsRef::as_ref) {
            let (word, values) = match text.split_once('=') {
                Some((word, values)) => (word, Some(values)),
                None => (text, None),
            };
            let axis = Axis::from_name(word).ok_or_else(|| BadVariant::from_unknown_axis(text, word))?;
            let values = values.map(|values| {
                let named = values.split(',').map(|value| format!("{axis}={value}").parse());
                named.collect::<Result<Vec<Variant>, _>>()
            });
            let values = values.transpose()?;
            match axes.iter_mut().find(|(known, _)| *known == axis) {
                None => axes.push((axis, values)),
                Some((_, known)) => match (known.as_mut(), values) {
                    (Some(known), Some(values)) => known.extend(values),
                    _ => *known = None,
                },
            }
        }
        Ok(if axes.is_empty() {
            Self::default()
        } else {
            Self(axes)
        })
    }

    /// The axes, in the order given.
    pub fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        self.0.iter().map(|(axis, _)| *axis)
    }

    /// The variants of a case whose kernels have so many configurations, without the unchanged case.
    pub fn list_variants(&self, configs: usize) -> Vec<Variant> {
        let mut variants = Vec::new();
        for (axis, values) in &self.0 {
            for variant in values.clone().unwrap_or_else(|| axis.list_values(configs)) {
                if !variants.contains(&variant) {
                    variants.push(variant);
                }
            }
        }
        variants
    }
}

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (axis, values)) in self.0.iter().enumerate() {
            write!(f, "{}{axis}", if nth > 0 { " " } else { "" })?;
            for (nth, value) in values.iter().flatten().enumerate() {
                let value = value.to_string();
                let value = value.split_once('=').map_or("", |(_, value)| value);
                write!(f, "{}{value}", if nth > 0 { "," } else { "=" })?;
            }
        }
        Ok(())
    }
}
